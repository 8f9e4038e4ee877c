//! What the lanes of a warp compute: one value each, as far as it follows from the program.

use std::collections::BTreeMap;

use super::poly::{Atom, Poly};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A `long` of each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// All lanes have this one.
    Uniform(Poly),
    /// One for each lane.
    Lanes(Vec<Poly>),
    /// Depends on data.
    Unknown,
}

/// The atoms that were met.
#[derive(Clone, Debug, Default)]
pub(super) struct Atoms {
    names: Vec<String>,
    keys: BTreeMap<String, Atom>,
}

impl Atoms {
    /// The atom of this key; `name` is for readers.
    pub(super) fn atom(&mut self, key: &str, name: &str) -> Poly {
        if let Some(atom) = self.keys.get(key) {
            return Poly::atom(*atom);
        }
        let atom = self.names.len() as Atom;
        self.names.push(name.to_owned());
        self.keys.insert(key.to_owned(), atom);
        Poly::atom(atom)
    }

    pub(super) fn text(&self, poly: &Poly) -> String {
        poly.text(&|atom| self.names.get(atom as usize).cloned().unwrap_or_default())
    }
}

impl Value {
    pub(super) fn known(value: i64) -> Value {
        Value::Uniform(Poly::constant(value))
    }

    /// `base` and, in each lane, so much more.
    pub(super) fn spread(base: &Poly, more: impl Fn(usize) -> Poly) -> Value {
        Value::Lanes((0..LANES).map(|lane| base.plus(&more(lane))).collect()).simplified()
    }

    fn simplified(self) -> Value {
        match self {
            Value::Lanes(lanes) if lanes.iter().all(|lane| *lane == lanes[0]) => Value::Uniform(lanes[0].clone()),
            other => other,
        }
    }

    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Value::Uniform(_))
    }

    /// The value of each lane, if it is one of those that follow from the program.
    pub(super) fn lanes(&self) -> Option<Vec<Poly>> {
        match self {
            Value::Uniform(all) => Some(vec![all.clone(); LANES]),
            Value::Lanes(lanes) => Some(lanes.clone()),
            Value::Unknown => None,
        }
    }

    fn combined(&self, other: &Value, combine: impl Fn(&Poly, &Poly) -> Option<Poly>) -> Value {
        let (Some(left), Some(right)) = (self.lanes(), other.lanes()) else { return Value::Unknown };
        let lanes: Option<Vec<Poly>> = left.iter().zip(&right).map(|(left, right)| combine(left, right)).collect();
        lanes.map_or(Value::Unknown, |lanes| Value::Lanes(lanes).simplified())
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

    /// The quotient by a constant: what is not known of the dividend counts as a multiple of it, as the first lane of a
    /// warp has it.
    pub(super) fn over(&self, divisor: i64, atoms: &mut Atoms) -> Value {
        let Some(lanes) = self.lanes() else { return Value::Unknown };
        let quotients = lanes.iter().map(|lane| {
            let (known, rest) = lane.split();
            let unknown = if rest == Poly::default() {
                rest
            } else {
                let inner = atoms.text(&rest);
                let text =
                    if inner.contains(' ') { format!("({inner})/{divisor}") } else { format!("{inner}/{divisor}") };
                atoms.atom(&format!("{rest:?}/{divisor}"), &text)
            };
            unknown.plus(&Poly::constant(known.div_euclid(divisor)))
        });
        Value::Lanes(quotients.collect()).simplified()
    }

    /// The remainder by a constant, with the same assumption.
    pub(super) fn modulo(&self, divisor: i64) -> Value {
        let Some(lanes) = self.lanes() else { return Value::Unknown };
        let rests = lanes.iter().map(|lane| Poly::constant(lane.split().0.rem_euclid(divisor)));
        Value::Lanes(rests.collect()).simplified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_come_apart_into_rows_and_columns() {
        let mut atoms = Atoms::default();
        let base = atoms.atom("at", "at");
        let at = Value::spread(&base, |lane| Poly::constant(lane as i64));
        let (row, column) = (at.over(16, &mut atoms), at.modulo(16));
        let padded = row.times(&Value::known(17)).plus(&column);
        let Value::Lanes(lanes) = padded else { panic!("lanes differ") };
        assert_eq!(lanes[16].minus(&lanes[0]).known(), Some(17));
        assert_eq!(lanes[15].minus(&lanes[0]).known(), Some(15));
        assert!(at.over(32, &mut atoms).is_uniform());
        assert_eq!(atoms.text(&lanes[0]), "17*at/16");
    }
}
