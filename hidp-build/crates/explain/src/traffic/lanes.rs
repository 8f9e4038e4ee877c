//! Values in the lanes of a warp, as far as they follow from the program.

use super::atoms::{Atoms, Facts, Range};
use super::claim::{Reason, gcd};
use super::poly::Poly;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// Why a value may be another one, if it may.
pub(super) type Doubt = Option<Reason>;

/// A `long` of each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// All lanes have this one.
    Uniform(Poly, Doubt),
    /// One for each lane.
    Lanes(Vec<Poly>, Doubt),
    /// Depends on data.
    Unknown,
}

impl Value {
    pub(super) fn known(value: i64) -> Value {
        Value::Uniform(Poly::constant(value), None)
    }

    pub(super) fn uniform(value: Poly) -> Value {
        Value::Uniform(value, None)
    }

    /// `base` and, in each lane, so much more.
    pub(super) fn spread(base: &Poly, more: impl Fn(usize) -> Poly) -> Value {
        Value::Lanes((0..LANES).map(|lane| base.plus(&more(lane))).collect(), None).simplified()
    }

    fn simplified(self) -> Value {
        match self {
            Value::Lanes(lanes, doubt) if lanes.iter().all(|lane| *lane == lanes[0]) => {
                Value::Uniform(lanes[0].clone(), doubt)
            }
            other => other,
        }
    }

    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Value::Uniform(..))
    }

    /// Whether all lanes have the same, without doubt.
    pub(super) fn is_surely_uniform(&self) -> bool {
        matches!(self, Value::Uniform(_, None))
    }

    pub(super) fn doubt(&self) -> Doubt {
        match self {
            Value::Uniform(_, doubt) | Value::Lanes(_, doubt) => *doubt,
            Value::Unknown => Some(Reason::Data),
        }
    }

    /// The same, in doubt for a reason unless there is an earlier one.
    pub(super) fn doubted(self, doubt: Doubt) -> Value {
        match self {
            Value::Uniform(value, own) => Value::Uniform(value, own.or(doubt)),
            Value::Lanes(lanes, own) => Value::Lanes(lanes, own.or(doubt)),
            Value::Unknown => Value::Unknown,
        }
    }

    /// The value of each lane, if it is one of those that follow from the program.
    pub(super) fn lanes(&self) -> Option<Vec<Poly>> {
        match self {
            Value::Uniform(all, _) => Some(vec![all.clone(); LANES]),
            Value::Lanes(lanes, _) => Some(lanes.clone()),
            Value::Unknown => None,
        }
    }

    fn combined(&self, other: &Value, combine: impl Fn(&Poly, &Poly) -> Option<Poly>) -> Value {
        let (Some(left), Some(right)) = (self.lanes(), other.lanes()) else { return Value::Unknown };
        let lanes: Option<Vec<Poly>> = left.iter().zip(&right).map(|(left, right)| combine(left, right)).collect();
        let doubt = self.doubt().or(other.doubt());
        lanes.map_or(Value::Unknown, |lanes| Value::Lanes(lanes, doubt).simplified())
    }

    pub(super) fn plus(&self, other: &Value) -> Value {
        self.combined(other, |left, right| Some(left.plus(right)))
    }

    pub(super) fn minus(&self, other: &Value) -> Value {
        self.combined(other, |left, right| Some(left.minus(right)))
    }

    pub(super) fn times(&self, other: &Value) -> Value {
        self.combined(other, Poly::times)
    }

    /// The quotient by a constant. What is not known of the dividend counts as a multiple of it, as the first lane of a warp has it; where
    /// it may be none, the quotient is in doubt unless it is the same in all lanes.
    pub(super) fn over(&self, divisor: i64, atoms: &mut Atoms) -> Value {
        let Some(lanes) = self.lanes() else { return Value::Unknown };
        let exact = lanes.iter().all(|lane| atoms.step(&lane.split().1) % divisor == 0);
        if !exact && let Some((rest, low, _)) = in_one_part(&lanes, divisor, atoms) {
            let range = lanes.iter().map(|lane| atoms.range(lane).over(divisor)).reduce(Range::or);
            let facts = Facts { step: 1, range: range.unwrap_or(Range::ALL) };
            let name = named(&rest, '/', divisor, atoms);
            return Value::Uniform(atoms.atom(&format!("{rest:?}/{divisor}+{low}"), &name, facts), self.doubt());
        }
        let quotients = lanes.iter().map(|lane| {
            let (known, rest) = lane.split();
            quotient(&rest, divisor, atoms).plus(&Poly::constant(known.div_euclid(divisor)))
        });
        let quotients = quotients.collect();
        Value::Lanes(quotients, self.doubt().or((!exact).then_some(Reason::Quotient))).simplified()
    }

    /// The remainder by a constant, with the same assumption.
    pub(super) fn modulo(&self, divisor: i64, atoms: &mut Atoms) -> Value {
        let Some(lanes) = self.lanes() else { return Value::Unknown };
        let exact = lanes.iter().all(|lane| atoms.step(&lane.split().1) % divisor == 0);
        if !exact && let Some((rest, low, high)) = in_one_part(&lanes, divisor, atoms) {
            // What is left of what is not known, with the same quotient in all lanes.
            let range = Range { low: Some(-low), high: Some(divisor - 1 - high) };
            let facts = Facts { step: gcd(atoms.step(&rest), divisor), range };
            let name = named(&rest, '%', divisor, atoms);
            let left = atoms.atom(&format!("{rest:?}%{divisor}+{low}"), &name, facts);
            let rests = lanes.iter().map(|lane| left.plus(&Poly::constant(lane.split().0)));
            return Value::Lanes(rests.collect(), self.doubt()).simplified();
        }
        let rests = lanes.iter().map(|lane| Poly::constant(lane.split().0.rem_euclid(divisor))).collect();
        Value::Lanes(rests, self.doubt().or((!exact).then_some(Reason::Quotient))).simplified()
    }
}

/// What lanes with the same quotient have in common that is not known, and the least and most that they have besides.
fn in_one_part(lanes: &[Poly], divisor: i64, atoms: &Atoms) -> Option<(Poly, i64, i64)> {
    let known = lanes.iter().map(|lane| lane.split().0);
    let (low, high) = (known.clone().min()?, known.max()?);
    atoms.in_one_part(lanes, divisor).then(|| (lanes[0].split().1, low, high))
}

fn quotient(rest: &Poly, divisor: i64, atoms: &mut Atoms) -> Poly {
    if let Some(quotient) = rest.divided(divisor) {
        return quotient;
    }
    let step = atoms.step(rest);
    let facts =
        Facts { step: if step % divisor == 0 { step / divisor } else { 1 }, range: atoms.range(rest).over(divisor) };
    let name = named(rest, '/', divisor, atoms);
    atoms.atom(&format!("{rest:?}/{divisor}"), &name, facts)
}

fn named(rest: &Poly, op: char, divisor: i64, atoms: &Atoms) -> String {
    let inner = atoms.text(rest);
    if inner.contains(' ') { format!("({inner}){op}{divisor}") } else { format!("{inner}{op}{divisor}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_come_apart_into_rows_and_columns() {
        let mut atoms = Atoms::default();
        let base = atoms.atom("at", "at", Facts::multiple_of(32));
        let at = Value::spread(&base, |lane| Poly::constant(lane as i64));
        let (row, column) = (at.over(16, &mut atoms), at.modulo(16, &mut atoms));
        let padded = row.times(&Value::known(17)).plus(&column);
        let Value::Lanes(lanes, None) = padded else { panic!("lanes differ") };
        assert_eq!(lanes[16].minus(&lanes[0]).known(), Some(17));
        assert_eq!(lanes[15].minus(&lanes[0]).known(), Some(15));
        assert!(at.over(32, &mut atoms).is_uniform());
        assert_eq!(atoms.text(&lanes[0]), "17*at/16");
    }

    #[test]
    fn quotients_are_sure_where_warps_begin_at_multiples() {
        let mut atoms = Atoms::default();
        let of = |step: i64, range: Range, divisor: i64, atoms: &mut Atoms| {
            let base = atoms.atom(&format!("{step} {range:?}"), "base", Facts { step, range });
            let at = Value::spread(&base, |lane| Poly::constant(lane as i64));
            [at.over(divisor, atoms), at.modulo(divisor, atoms)]
        };
        for value in of(32, Range::ALL, 8, &mut atoms) {
            assert_eq!((value.doubt(), value.is_uniform()), (None, false));
        }
        let [quotient, rest] = of(32, Range::ALL, 64, &mut atoms);
        assert!(quotient.is_surely_uniform(), "a warp is within half of 64");
        let Value::Lanes(lanes, None) = rest else { panic!("a row of lanes") };
        assert_eq!((atoms.step(&lanes[0]), atoms.range(&lanes[0]).both()), (32, Some((0, 32))));
        for value in of(32, Range::ALL, 34, &mut atoms) {
            assert_eq!(value.doubt(), Some(Reason::Quotient));
        }
        // Warps that begin anywhere, but not far from 0.
        let [quotient, _] = of(1, Range::up_to(Some(8)), 64, &mut atoms);
        assert!(quotient.is_surely_uniform());
        let [quotient, _] = of(1, Range::up_to(Some(33)), 64, &mut atoms);
        assert_eq!(quotient.doubt(), Some(Reason::Quotient));
    }
}
