//! Integer sums of products of atoms, exact over the mathematical integers.
//!
//! An atom is a *value*, not a variable: it never changes while facts about it are in use. Two atoms made from equal keys are
//! the same atom, so equality of opaque terms is structural.

use std::collections::BTreeMap;

use hidp_ir::par::VarId;
use hidp_syntax::ty::Scalar;

/// An atom of an [`Atoms`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AtomId(u32);

/// A product of atoms, sorted, not empty.
pub(crate) type Term = Vec<AtomId>;

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
    ids: BTreeMap<AtomKey, AtomId>,
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
    pub(crate) fn term_range(&self, term: &Term) -> Option<Interval> {
        term.iter().try_fold(Interval::point(1), |product, &atom| product.mul(self.range(atom)))
    }
    /// The values that `lin` can have, as far as the ranges of its atoms tell.
    pub(crate) fn lin_range(&self, lin: &Lin) -> Option<Interval> {
        lin.terms.iter().try_fold(Interval::point(lin.constant), |sum, (term, &factor)| {
            sum.add(self.term_range(term)?.mul(Interval::point(factor))?)
        })
    }
}

/// `constant + Σ factor × term`. No factor is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lin {
    /// The constant.
    pub constant: i128,
    /// The other summands.
    pub terms: BTreeMap<Term, i128>,
}

/// Sums with more terms, or terms with more factors, are not pursued.
const MAX_TERMS: usize = 24;
const MAX_DEGREE: usize = 4;

impl Lin {
    /// A constant.
    pub(crate) fn constant(value: i128) -> Lin {
        Lin { constant: value, terms: BTreeMap::new() }
    }
    /// One atom.
    pub(crate) fn atom(id: AtomId) -> Lin {
        Lin { constant: 0, terms: BTreeMap::from([(vec![id], 1)]) }
    }
    /// The value, if it has no terms.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }
    /// The atom, if it is nothing else.
    pub(crate) fn as_atom(&self) -> Option<AtomId> {
        let (term, &factor) = self.terms.iter().next()?;
        (self.constant == 0 && self.terms.len() == 1 && factor == 1 && term.len() == 1).then(|| term[0])
    }
    /// `self + factor * other`.
    pub(crate) fn plus(&self, other: &Lin, factor: i128) -> Option<Lin> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (term, &value) in &other.terms {
            sum.add_term(term.clone(), value.checked_mul(factor)?)?;
        }
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
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
        self.plus(&Lin::constant(value), 1)
    }
    /// `factor * self`.
    pub(crate) fn scale(&self, factor: i128) -> Option<Lin> {
        Lin::default().plus(self, factor)
    }
    /// `self * other`.
    pub(crate) fn mul(&self, other: &Lin) -> Option<Lin> {
        let mut product = self.scale(other.constant)?;
        for (right, &right_factor) in &other.terms {
            product.add_term(right.clone(), right_factor.checked_mul(self.constant)?)?;
            for (left, &left_factor) in &self.terms {
                let mut term: Term = left.iter().chain(right).copied().collect();
                if term.len() > MAX_DEGREE {
                    return None;
                }
                term.sort_unstable();
                product.add_term(term, left_factor.checked_mul(right_factor)?)?;
            }
        }
        (product.terms.len() <= MAX_TERMS).then_some(product)
    }
    fn add_term(&mut self, term: Term, factor: i128) -> Option<()> {
        let entry = self.terms.entry(term);
        match entry {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                if factor != 0 {
                    vacant.insert(factor);
                }
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                let sum = occupied.get().checked_add(factor)?;
                if sum == 0 {
                    occupied.remove();
                } else {
                    *occupied.get_mut() = sum;
                }
            }
        }
        Some(())
    }
    /// Whether no term is a product.
    pub(crate) fn is_linear(&self) -> bool {
        self.terms.keys().all(|term| term.len() == 1)
    }
    /// Every atom in it, with repetitions.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = AtomId> + '_ {
        self.terms.keys().flatten().copied()
    }
    /// Replaces every atom. `None` if it becomes too large.
    pub(crate) fn substitute(&self, replace: &mut impl FnMut(AtomId) -> Lin) -> Option<Lin> {
        let mut result = Lin::constant(self.constant);
        for (term, &factor) in &self.terms {
            let mut product = Lin::constant(factor);
            for &atom in term {
                product = product.mul(&replace(atom))?;
            }
            result = result.add(&product)?;
        }
        Some(result)
    }
}
