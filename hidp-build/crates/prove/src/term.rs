//! Products of atoms, and sums of such products.
//!
//! The prover does little else than compare and merge these, and build scripts are compiled without optimisation: so a product is one
//! number, and a sum is a sorted list.

use std::fmt;
use std::ops::Deref;

use super::linear::AtomId;

/// A product of at most [`Term::DEGREE`] atoms, the smallest first.
///
/// Each atom takes 32 bits, the first one the highest, and 0 is none: terms compare as the sequences of their atoms do.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term(u128);

impl Term {
    /// Products of more atoms are not pursued.
    pub(crate) const DEGREE: usize = 4;

    /// One atom.
    pub(crate) fn of(atom: AtomId) -> Term {
        Term((u128::from(atom.0) + 1) << 96)
    }
    /// Its atoms, with repetitions.
    pub(crate) fn atoms(self) -> TermAtoms {
        TermAtoms(self.0)
    }
    /// The bit of each of its atoms: of every 64th the same.
    pub(crate) fn mask(self) -> u64 {
        let (mut rest, mut mask) = (self.0, 0);
        while rest != 0 {
            mask |= 1 << (((rest >> 96) as u32 - 1) % 64);
            rest <<= 32;
        }
        mask
    }
    /// How many atoms it has.
    pub(crate) fn degree(self) -> usize {
        Self::DEGREE - self.0.trailing_zeros() as usize / 32
    }
    /// Whether it is the product of nothing, which is 1.
    pub(crate) fn is_one(self) -> bool {
        self.0 == 0
    }
    /// `self * other`. `None` where that has too many atoms.
    pub(crate) fn times(self, other: Term) -> Option<Term> {
        if self.degree() + other.degree() > Self::DEGREE {
            return None;
        }
        let (mut left, mut right, mut product) = (self.0, other.0, 0);
        for place in (0..Self::DEGREE).rev() {
            let from = if right >> 96 == 0 || (left >> 96 != 0 && left <= right) { &mut left } else { &mut right };
            product |= (*from >> 96) << (32 * place);
            *from <<= 32;
        }
        Some(Term(product))
    }
    /// Without the atom at this place.
    pub(crate) fn without(self, place: usize) -> Term {
        self.atoms().enumerate().filter(|(at, _)| *at != place).map(|(_, atom)| atom).collect()
    }
}

/// The product of atoms that come in ascending order, at most [`Term::DEGREE`].
impl FromIterator<AtomId> for Term {
    fn from_iter<I: IntoIterator<Item = AtomId>>(atoms: I) -> Term {
        let mut product = 0;
        for (place, atom) in atoms.into_iter().enumerate() {
            product |= (u128::from(atom.0) + 1) << (96 - 32 * place);
        }
        Term(product)
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.atoms()).finish()
    }
}

/// The atoms of a term.
#[derive(Clone)]
pub(crate) struct TermAtoms(u128);

impl Iterator for TermAtoms {
    type Item = AtomId;

    fn next(&mut self) -> Option<AtomId> {
        let first = (self.0 >> 96) as u32;
        self.0 <<= 32;
        first.checked_sub(1).map(AtomId)
    }
}

/// Terms with their factors, by term. No factor is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Terms(Vec<(Term, i128)>);

impl Terms {
    /// One term.
    pub(crate) fn of(term: Term, factor: i128) -> Terms {
        Terms(vec![(term, factor)])
    }
    /// Whether this term is there.
    pub(crate) fn contains(&self, term: Term) -> bool {
        self.0.iter().any(|(other, _)| *other == term)
    }
    /// `self + factor * other`. `None` where a factor becomes too large.
    pub(crate) fn plus(&self, other: &Terms, factor: i128) -> Option<Terms> {
        let (mut left, mut right) = (self.0.as_slice(), other.0.as_slice());
        let mut sum = Vec::with_capacity(left.len() + right.len());
        while let [(term, value), rest @ ..] = right {
            match left {
                [before, others @ ..] if before.0 < *term => {
                    sum.push(*before);
                    left = others;
                    continue;
                }
                [same, others @ ..] if same.0 == *term => {
                    let value = same.1.checked_add(value.checked_mul(factor)?)?;
                    if value != 0 {
                        sum.push((*term, value));
                    }
                    left = others;
                }
                _ => {
                    let value = value.checked_mul(factor)?;
                    if value != 0 {
                        sum.push((*term, value));
                    }
                }
            }
            right = rest;
        }
        sum.extend_from_slice(left);
        Some(Terms(sum))
    }
    /// The sum of terms that come in any order and may come again.
    pub(crate) fn sum(mut terms: Vec<(Term, i128)>) -> Option<Terms> {
        terms.sort_unstable_by_key(|(term, _)| *term);
        let mut sum: Vec<(Term, i128)> = Vec::with_capacity(terms.len());
        for (term, factor) in terms {
            match sum.last_mut() {
                Some((last, so_far)) if *last == term => *so_far = so_far.checked_add(factor)?,
                _ => sum.push((term, factor)),
            }
        }
        sum.retain(|(_, factor)| *factor != 0);
        Some(Terms(sum))
    }
    /// Those for which it holds.
    pub(crate) fn filter(&self, mut holds: impl FnMut(Term, i128) -> bool) -> Terms {
        Terms(self.0.iter().copied().filter(|&(term, factor)| holds(term, factor)).collect())
    }
}

impl Deref for Terms {
    type Target = [(Term, i128)];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(atoms: &[u32]) -> Term {
        atoms.iter().map(|&atom| AtomId(atom)).collect()
    }

    #[test]
    fn terms_compare_as_sequences_of_atoms() {
        let lists: [&[u32]; 8] = [&[], &[0], &[0, 0], &[0, 0, 7, 9], &[0, 3], &[1], &[1, u32::MAX - 1], &[2, 2, 2]];
        for a in lists {
            assert_eq!(term(a).atoms().map(|atom| atom.0).collect::<Vec<_>>(), a);
            assert_eq!(term(a).degree(), a.len());
            for b in lists {
                assert_eq!(term(a).cmp(&term(b)), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn products_are_sorted() {
        assert_eq!(term(&[1, 5]).times(term(&[1, 3])), Some(term(&[1, 1, 3, 5])));
        assert_eq!(term(&[4]).times(term(&[2])), Some(term(&[2, 4])));
        assert_eq!(term(&[]).times(term(&[2])), Some(term(&[2])));
        assert_eq!(term(&[1, 2, 3]).times(term(&[0, 1])), None);
        assert_eq!(term(&[1, 1, 3]).without(1), term(&[1, 3]));
    }

    #[test]
    fn sums_have_each_term_once() {
        let [a, b, c] = [[1].as_slice(), &[1, 2], &[3]].map(term);
        let terms = |parts: &[(Term, i128)]| Terms::sum(parts.to_vec()).expect("no overflow");
        let sum = terms(&[(c, 1), (a, 2), (c, 3), (b, 1), (b, -1)]);
        assert_eq!(&*sum, [(a, 2), (c, 4)]);
        assert_eq!(
            sum.plus(&terms(&[(a, 1), (b, 5), (c, -1)]), 2).as_deref(),
            Some([(a, 4), (b, 10), (c, 2)].as_slice())
        );
        assert_eq!(sum.plus(&sum, -1).as_deref(), Some([].as_slice()));
        assert_eq!(sum.plus(&terms(&[(a, i128::MAX)]), 1), None);
    }
}
