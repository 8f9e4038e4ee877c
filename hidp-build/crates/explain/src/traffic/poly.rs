//! Polynomials with integer coefficients over atoms: values that a compiler does not know, but that are the same wherever they stand.

use hidp_syntax::ordered::OrdMap;

/// Terms at most; what has more is an atom of its own.
const MOST_TERMS: usize = 64;

/// A value that is not known, by number.
pub(super) type Atom = u32;

/// A sum of products of atoms: factors in order, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly(OrdMap<Vec<Atom>, i64>);

impl Poly {
    pub(super) fn constant(value: i64) -> Poly {
        Poly((value != 0).then(|| (Vec::new(), value)).into_iter().collect())
    }

    pub(super) fn atom(atom: Atom) -> Poly {
        Poly(OrdMap::from([(vec![atom], 1)]))
    }

    /// The product of these atoms.
    pub(super) fn term(factors: &[Atom]) -> Poly {
        Poly(OrdMap::from([(factors.to_vec(), 1)]))
    }

    /// The value, if it is known.
    pub(super) fn known(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The known summand, and the rest.
    pub(super) fn split(&self) -> (i64, Poly) {
        let mut rest = self.clone();
        let known = rest.0.remove(&Vec::new()).unwrap_or(0);
        (known, rest)
    }

    pub(super) fn plus(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        for (factors, times) in &other.0 {
            let entry = sum.0.entry(factors.clone()).or_insert(0);
            *entry = entry.wrapping_add(*times);
        }
        sum.0.retain(|_, times| *times != 0);
        sum
    }

    pub(super) fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.times_known(-1))
    }

    pub(super) fn times_known(&self, factor: i64) -> Poly {
        let terms = self.0.iter().map(|(factors, times)| (factors.clone(), times.wrapping_mul(factor)));
        Poly(terms.filter(|(_, times)| *times != 0).collect())
    }

    /// Its terms: factors, and how often. The known one has no factors.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&[Atom], i64)> {
        self.0.iter().map(|(factors, times)| (factors.as_slice(), *times))
    }

    /// The quotient by a number, if that divides all terms.
    pub(super) fn divided(&self, divisor: i64) -> Option<Poly> {
        let terms =
            self.0.iter().map(|(factors, times)| (times % divisor == 0).then(|| (factors.clone(), times / divisor)));
        terms.collect::<Option<_>>().map(Poly)
    }

    /// The product, unless it has too many terms.
    pub(super) fn times(&self, other: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        for (left, times) in &self.0 {
            for (right, more) in &other.0 {
                let mut factors = [left.as_slice(), right.as_slice()].concat();
                factors.sort_unstable();
                let term = Poly(OrdMap::from([(factors, times.wrapping_mul(*more))]));
                product = product.plus(&term);
            }
        }
        (product.0.len() <= MOST_TERMS).then_some(product)
    }

    /// As text, with the names of atoms.
    pub(super) fn text(&self, name: &dyn Fn(Atom) -> String) -> String {
        let mut text = String::new();
        let (known, rest) = self.split();
        for (factors, times) in &rest.0 {
            let mut parts: Vec<String> = factors.iter().map(|atom| name(*atom)).collect();
            if times.unsigned_abs() != 1 {
                parts.insert(0, times.unsigned_abs().to_string());
            }
            push_signed(&mut text, *times < 0, &parts.join("*"));
        }
        if known != 0 || text.is_empty() {
            push_signed(&mut text, known < 0, &known.unsigned_abs().to_string());
        }
        text
    }
}

fn push_signed(text: &mut String, negative: bool, term: &str) {
    text.push_str(match (text.is_empty(), negative) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    });
    text.push_str(term);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(poly: &Poly) -> String {
        poly.text(&|atom| ["x", "W", "y"][atom as usize].to_owned())
    }

    #[test]
    fn products_are_multiplied_out() {
        let [x, w, y] = [0, 1, 2].map(Poly::atom);
        let row = y.minus(&Poly::constant(1)).times(&w).unwrap();
        let index = row.plus(&x).plus(&Poly::constant(3));
        assert_eq!(shown(&index), "x - W + W*y + 3");
        assert_eq!(shown(&index.minus(&index)), "0");
        assert_eq!(index.minus(&row).minus(&x).known(), Some(3));
        assert_eq!(shown(&x.times_known(-2)), "-2*x");
        assert_eq!(index.split().0, 3);
    }
}
