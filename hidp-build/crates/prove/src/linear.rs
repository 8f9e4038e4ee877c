//! Integer sums of products of atoms, exact over the mathematical integers.
//!
//! An atom is a *value*, not a variable: it never changes while facts about it are in use. Two atoms made from equal keys are
//! the same atom, so equality of opaque terms is structural.

use hidp_ir::par::VarId;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Scalar;

use super::term::{Term, Terms};

/// An atom of an [`Atoms`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AtomId(pub(super) u32);

/// An opaque operation: a function of its operands' values, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    /// Wraps.
    Add,
    /// Wraps.
    Sub,
    /// Wraps.
    Mul,
    /// Truncates.
    Div,
    /// Of the truncating division.
    Rem,
    /// Smaller.
    Min,
    /// Larger.
    Max,
    /// Wraps.
    Abs,
    /// Wraps.
    Neg,
    /// Bits.
    And,
    /// Bits.
    Or,
    /// Bits.
    Xor,
    /// Bits.
    Not,
    /// Wraps.
    Shl,
    /// Arithmetic on signed types.
    Shr,
    /// Conversion between integer types, which wraps.
    Convert,
    /// Elements of each of so many pieces.
    Piece,
}

/// What an atom stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AtomKey {
    /// Value of a dimension, of a parameter when the function starts, or position of an iterator.
    Var(VarId),
    /// Something about which nothing but its type is known.
    Fresh(u32),
    /// An element of an array that nothing writes, its index proved to be inside.
    Load(VarId, Vec<Lin>, Vec<u32>),
    /// The smallest element, or the largest, of an array that nothing writes.
    Extreme(VarId, Extreme),
    /// How many times this sum wraps around in this type.
    Turns(Scalar, Box<Lin>),
    /// An operation that could not be expressed, its result of this type.
    Op(Op, Scalar, Vec<Lin>),
}

/// One of the two ends of what an array contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extreme {
    /// The smallest element.
    Least,
    /// The largest element.
    Most,
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Smallest value.
    pub lo: i128,
    /// Largest value.
    pub hi: i128,
}

impl Interval {
    /// Exactly one value.
    pub(crate) fn point(value: i128) -> Self {
        Interval { lo: value, hi: value }
    }
    /// The values of an integer type (or `bool`).
    pub(crate) fn of(ty: Scalar) -> Option<Self> {
        ty.integer_range().map(|(lo, hi)| Interval { lo, hi })
    }
    /// Whether every value of `self` lies in `outer`.
    pub(crate) fn within(self, outer: Interval) -> bool {
        outer.lo <= self.lo && self.hi <= outer.hi
    }
    fn add(self, other: Interval) -> Option<Interval> {
        Some(Interval { lo: self.lo.checked_add(other.lo)?, hi: self.hi.checked_add(other.hi)? })
    }
    fn scale(self, factor: i128) -> Option<Interval> {
        let ends = [self.lo.checked_mul(factor)?, self.hi.checked_mul(factor)?];
        let [lo, hi] = if factor < 0 { [ends[1], ends[0]] } else { ends };
        Some(Interval { lo, hi })
    }
    fn mul(self, other: Interval) -> Option<Interval> {
        let corners = [
            self.lo.checked_mul(other.lo)?,
            self.lo.checked_mul(other.hi)?,
            self.hi.checked_mul(other.lo)?,
            self.hi.checked_mul(other.hi)?,
        ];
        Some(Interval { lo: corners.into_iter().min()?, hi: corners.into_iter().max()? })
    }
}

/// All atoms of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atoms {
    ids: OrdMap<AtomKey, AtomId>,
    entries: Vec<(AtomKey, Interval)>,
    fresh: u32,
}

impl Atoms {
    /// The atom of `key`; `range` counts when it is new.
    pub(crate) fn intern(&mut self, key: AtomKey, range: Interval) -> AtomId {
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = AtomId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.ids.insert(key.clone(), id);
        self.entries.push((key, range));
        id
    }
    /// A value that nothing else equals.
    pub(crate) fn fresh(&mut self, range: Interval) -> AtomId {
        self.fresh += 1;
        self.intern(AtomKey::Fresh(self.fresh), range)
    }
    /// What an atom stands for.
    pub(crate) fn key(&self, id: AtomId) -> &AtomKey {
        &self.entries[id.0 as usize].0
    }
    /// The values an atom can have.
    pub(crate) fn range(&self, id: AtomId) -> Interval {
        self.entries[id.0 as usize].1
    }
    /// Forgets all that were made since [`Atoms::mark`] gave `mark`.
    pub(crate) fn truncate(&mut self, mark: AtomId) {
        for (key, _) in self.entries.drain(mark.0 as usize..) {
            self.ids.remove(&key);
        }
    }
    /// How many there are; later ones have larger ids.
    pub(crate) fn mark(&self) -> AtomId {
        AtomId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
    }
    /// The values that a product of atoms can have.
    pub(crate) fn term_range(&self, term: Term) -> Option<Interval> {
        let mut atoms = term.atoms();
        let first = atoms.next().map_or(Interval::point(1), |atom| self.range(atom));
        atoms.try_fold(first, |product, atom| product.mul(self.range(atom)))
    }
    /// The values that `lin` can have, as far as the ranges of its atoms tell.
    pub(crate) fn lin_range(&self, lin: &Lin) -> Option<Interval> {
        let mut sum = Interval::point(lin.constant);
        for &(term, factor) in lin.terms.iter() {
            sum = sum.add(self.term_range(term)?.scale(factor)?)?;
        }
        Some(sum)
    }
}

/// `constant + Σ factor × term`. No factor is 0, no term is the product of nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lin {
    /// The constant.
    pub constant: i128,
    /// The other summands.
    pub terms: Terms,
}

/// Sums with more terms are not pursued.
const MAX_TERMS: usize = 24;

impl Lin {
    /// A constant.
    pub(crate) fn constant(value: i128) -> Lin {
        Lin { constant: value, terms: Terms::default() }
    }
    /// One atom.
    pub(crate) fn atom(id: AtomId) -> Lin {
        Lin { constant: 0, terms: Terms::of(Term::of(id), 1) }
    }
    /// `factor × term`; the factor is not 0.
    pub(crate) fn product(term: Term, factor: i128) -> Lin {
        if term.is_one() { Lin::constant(factor) } else { Lin { constant: 0, terms: Terms::of(term, factor) } }
    }
    /// The value, if it has no terms.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }
    /// The atom, if it is nothing else.
    pub(crate) fn as_atom(&self) -> Option<AtomId> {
        match (self.constant, &*self.terms) {
            (0, [(term, 1)]) if term.degree() == 1 => term.atoms().next(),
            _ => None,
        }
    }
    /// `self + factor * other`.
    pub(crate) fn plus(&self, other: &Lin, factor: i128) -> Option<Lin> {
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        let terms = self.terms.plus(&other.terms, factor)?;
        (terms.len() <= MAX_TERMS).then_some(Lin { constant, terms })
    }
    /// `self + other`.
    pub(crate) fn add(&self, other: &Lin) -> Option<Lin> {
        self.plus(other, 1)
    }
    /// `self - other`.
    pub(crate) fn sub(&self, other: &Lin) -> Option<Lin> {
        self.plus(other, -1)
    }
    /// `self + value`.
    pub(crate) fn offset(&self, value: i128) -> Option<Lin> {
        Some(Lin { constant: self.constant.checked_add(value)?, terms: self.terms.clone() })
    }
    /// `factor * self`.
    pub(crate) fn scale(&self, factor: i128) -> Option<Lin> {
        Lin::default().plus(self, factor)
    }
    /// `self * other`.
    pub(crate) fn mul(&self, other: &Lin) -> Option<Lin> {
        let mut terms = Vec::new();
        for &(left, factor) in self.terms.iter() {
            terms.push((left, factor.checked_mul(other.constant)?));
        }
        for &(right, right_factor) in other.terms.iter() {
            terms.push((right, right_factor.checked_mul(self.constant)?));
            for &(left, left_factor) in self.terms.iter() {
                terms.push((left.times(right)?, left_factor.checked_mul(right_factor)?));
            }
        }
        let product = Lin { constant: self.constant.checked_mul(other.constant)?, terms: Terms::sum(terms)? };
        (product.terms.len() <= MAX_TERMS).then_some(product)
    }
    /// Whether no term is a product.
    pub(crate) fn is_linear(&self) -> bool {
        self.terms.iter().all(|(term, _)| term.degree() == 1)
    }
    /// Every atom in it, with repetitions.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = AtomId> + '_ {
        self.terms.iter().flat_map(|(term, _)| term.atoms())
    }
    /// The bits of its atoms.
    pub(crate) fn mask(&self) -> u64 {
        let mut mask = 0;
        for (term, _) in self.terms.iter() {
            mask |= term.mask();
        }
        mask
    }
    /// Replaces every atom. `None` if it becomes too large.
    pub(crate) fn substitute(&self, replace: &mut impl FnMut(AtomId) -> Lin) -> Option<Lin> {
        let mut result = Lin::constant(self.constant);
        for &(term, factor) in self.terms.iter() {
            let mut product = Lin::constant(factor);
            for atom in term.atoms() {
                product = product.mul(&replace(atom))?;
            }
            result = result.add(&product)?;
        }
        Some(result)
    }
}
