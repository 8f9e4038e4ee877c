//! Atoms: the unknowns of polynomials, with their known divisors and ranges.

use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::claim::gcd;
use super::poly::{Atom, Poly};

/// What is known of an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// It is a multiple of this.
    pub(super) step: i64,
    /// Where it lies.
    pub(super) range: Range,
}

/// The least and the most that a value is, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: Option<i64>,
    pub(super) high: Option<i64>,
}

impl Facts {
    pub(super) const NONE: Facts = Facts { step: 1, range: Range::ALL };

    pub(super) fn multiple_of(step: i64) -> Facts {
        Facts { step, range: Range::ALL }
    }
}

impl Range {
    pub(super) const ALL: Range = Range { low: None, high: None };

    pub(super) fn known(value: i64) -> Range {
        Range { low: Some(value), high: Some(value) }
    }

    /// From 0 to an end.
    pub(super) fn up_to(high: Option<i64>) -> Range {
        Range { low: Some(0), high }
    }

    pub(super) fn both(self) -> Option<(i64, i64)> {
        Some((self.low?, self.high?))
    }

    fn plus(self, other: Range) -> Range {
        let sum = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        Range { low: sum(self.low, other.low), high: sum(self.high, other.high) }
    }

    fn times(self, other: Range) -> Range {
        let (Some((a, b)), Some((c, d))) = (self.both(), other.both()) else {
            // Of what is not below 0 that is all that is known.
            let low = (self.low.is_some_and(|low| low >= 0) && other.low.is_some_and(|low| low >= 0)).then_some(0);
            return Range { low, high: None };
        };
        let ends = [(a, c), (a, d), (b, c), (b, d)].map(|(a, b)| a.checked_mul(b));
        let all: Option<Vec<i64>> = ends.into_iter().collect();
        all.map_or(Range::ALL, |all| Range { low: all.iter().copied().min(), high: all.iter().copied().max() })
    }

    /// The quotient by a positive number.
    pub(super) fn over(self, divisor: i64) -> Range {
        Range { low: self.low.map(|low| low.div_euclid(divisor)), high: self.high.map(|high| high.div_euclid(divisor)) }
    }

    /// Whatever lies in one of both.
    pub(super) fn or(self, other: Range) -> Range {
        let with = |a: Option<i64>, b: Option<i64>, of: fn(i64, i64) -> i64| Some(of(a?, b?));
        Range { low: with(self.low, other.low, i64::min), high: with(self.high, other.high, i64::max) }
    }
}

/// The atoms that were met.
#[derive(Clone, Debug, Default)]
pub(super) struct Atoms {
    names: Vec<String>,
    facts: Vec<Facts>,
    keys: OrdMap<String, Atom>,
}

impl Atoms {
    /// The atom of this key; `name` is for readers.
    pub(super) fn atom(&mut self, key: &str, name: &str, facts: Facts) -> Poly {
        if let Some(atom) = self.keys.get(key) {
            return Poly::atom(*atom);
        }
        let atom = self.names.len() as Atom;
        self.names.push(name.to_owned());
        self.facts.push(facts);
        self.keys.insert(key.to_owned(), atom);
        Poly::atom(atom)
    }

    /// What turned out about the atom of a key that has one.
    pub(super) fn learn(&mut self, key: &str, facts: Facts) {
        if let Some(known) = self.keys.get(key).and_then(|atom| self.facts.get_mut(*atom as usize)) {
            *known = facts;
        }
    }

    pub(super) fn text(&self, poly: &Poly) -> String {
        poly.text(&|atom| self.names.get(atom as usize).cloned().unwrap_or_default())
    }

    fn facts(&self, atom: Atom) -> Facts {
        self.facts.get(atom as usize).copied().unwrap_or(Facts::NONE)
    }

    /// What a value is a multiple of; 0 of 0.
    pub(super) fn step(&self, poly: &Poly) -> i64 {
        let of = |(factors, times): (&[Atom], i64)| {
            factors.iter().fold(times.saturating_abs(), |step, atom| {
                // Beyond all sizes that matter.
                step.checked_mul(self.facts(*atom).step).map_or(1 << 40, |step| step.min(1 << 40))
            })
        };
        poly.terms().map(of).fold(0, gcd)
    }

    /// Where a value lies.
    pub(super) fn range(&self, poly: &Poly) -> Range {
        let of = |(factors, times): (&[Atom], i64)| {
            factors.iter().fold(Range::known(times), |range, atom| {
                let own = self.facts(*atom).range;
                // A negative number of times what is not below 0.
                match (range.both(), own) {
                    (Some((low, high)), Range { low: Some(least), high: None }) if high <= 0 && least >= 0 => {
                        Range { low: None, high: high.checked_mul(least).filter(|_| low == high).or(Some(0)) }
                    }
                    _ => range.times(own),
                }
            })
        };
        poly.terms().map(of).fold(Range::known(0), Range::plus)
    }

    /// What may be left of so many times a value when it is divided by a unit.
    pub(super) fn rests(&self, poly: &Poly, times: i64, unit: i64) -> OrdSet<i64> {
        let mut found = OrdSet::from([0]);
        for (factors, own) in poly.terms() {
            let own = own.wrapping_mul(times);
            let values: Vec<i64> = match self.few(factors, unit) {
                Some(values) => values.into_iter().map(|value| value.wrapping_mul(own)).collect(),
                None => {
                    let step = self.step(&Poly::term(factors)).wrapping_mul(own);
                    (0..unit).step_by(gcd(step, unit) as usize).collect()
                }
            };
            let sums = found.iter().flat_map(|sum| values.iter().map(move |value| (sum + value).rem_euclid(unit)));
            found = sums.collect();
        }
        found
    }

    /// The values of a product, if they are fewer than so many.
    fn few(&self, factors: &[Atom], unit: i64) -> Option<Vec<i64>> {
        let (low, high) = self.range(&Poly::term(factors)).both()?;
        let [atom] = factors else { return (low == high).then(|| vec![low]) };
        let step = self.facts(*atom).step.max(1);
        let first = low + (-low).rem_euclid(step);
        ((high - low) / step < unit).then(|| (first..=high).step_by(step as usize).collect())
    }

    /// The least that a value is away from 0, if that is known to be on one side of it.
    pub(super) fn least(&self, poly: &Poly) -> Option<i64> {
        let Range { low, high } = self.range(poly);
        low.filter(|low| *low > 0).or(high.filter(|high| *high < 0).map(i64::saturating_neg))
    }

    /// Whether values lie between the same two multiples of something that all of them begin at and that divides `of`. Then they have the same
    /// quotient by `of`, and, for 0, are all negative or none is.
    pub(super) fn in_one_part(&self, values: &[Poly], of: i64) -> bool {
        let mut rests = values.iter().map(|value| value.split().1);
        let Some(mut rest) = rests.next() else { return true };
        if rests.any(|other| other != rest) {
            return false;
        }
        let known = values.iter().map(|value| value.split().0);
        let (Some(mut low), Some(mut high)) = (known.clone().min(), known.max()) else { return true };
        // What is not known, but not more than a bound, may count as known: the finest first.
        let mut bounded: Vec<(i64, Poly, (i64, i64))> = rest.terms().filter_map(|term| self.bounded(term)).collect();
        bounded.sort_unstable();
        let mut bounded = bounded.into_iter();
        loop {
            let part = gcd(self.step(&rest), of);
            let of = |end: i64| if part == 0 { i64::from(end >= 0) } else { end.div_euclid(part) };
            if of(low) == of(high) {
                return true;
            }
            let Some((_, term, ends)) = bounded.next() else { return false };
            rest = rest.minus(&term);
            (low, high) = (low + ends.0, high + ends.1);
        }
    }

    /// How fine a term is, the term, and where it lies, if both ends are known.
    fn bounded(&self, (factors, times): (&[Atom], i64)) -> Option<(i64, Poly, (i64, i64))> {
        let term = Poly::term(factors).times_known(times);
        let ends = self.range(&term).both()?;
        Some((self.step(&term), term, ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_from_those_of_atoms() {
        let mut atoms = Atoms::default();
        let mut atom = |name: &str, low, high| atoms.atom(name, name, Facts { step: 1, range: Range { low, high } });
        let (x, n, any) = (atom("x", Some(0), Some(31)), atom("n", Some(64), Some(64)), atom("any", None, None));
        let long = atom("long", Some(0), None);
        let at = n.times(&x).expect("few terms").plus(&Poly::constant(5));
        assert_eq!(atoms.range(&at).both(), Some((5, 64 * 31 + 5)));
        assert_eq!(atoms.range(&at.minus(&n)).both(), Some((5 - 64, 64 * 30 + 5)));
        assert_eq!(atoms.range(&at.plus(&any)), Range::ALL);
        assert_eq!(atoms.range(&n.times(&long).expect("few terms")).low, Some(0));
        assert_eq!(atoms.range(&long.times_known(-1)), Range { low: None, high: Some(0) });
        assert_eq!((atoms.least(&n), atoms.least(&n.times_known(-2)), atoms.least(&x)), (Some(64), Some(128), None));
    }
}
