//! [`OrdSet`].

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{RangeBounds, Sub};

use super::map::{between, find};

/// A set whose elements stand in their order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrdSet<T>(Vec<T>);

impl<T> OrdSet<T> {
    /// A set without elements.
    pub const fn new() -> Self {
        OrdSet(Vec::new())
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The elements in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// Keeps the elements for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }

    /// The smallest element.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// The greatest element.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// Removes the smallest element.
    pub fn pop_first(&mut self) -> Option<T> {
        (!self.is_empty()).then(|| self.0.remove(0))
    }
}

impl<T: Ord> OrdSet<T> {
    /// Where `element` stands, or where it would.
    fn find<Q: Ord + ?Sized>(&self, element: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        find(&self.0, element, |element| element.borrow())
    }

    /// Whether `element` is in the set.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.find(element).is_ok()
    }

    /// The element of the set that equals `element`.
    pub fn get<Q: Ord + ?Sized>(&self, element: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.find(element).ok().map(|at| &self.0[at])
    }

    /// Adds `element`, and says whether it was not there yet.
    pub fn insert(&mut self, element: T) -> bool {
        match self.find(&element) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, element);
                true
            }
        }
    }

    /// Removes `element`, and says whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        match self.find(element) {
            Ok(at) => {
                self.0.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// The elements in `range`.
    pub fn range(&self, range: impl RangeBounds<T>) -> std::slice::Iter<'_, T> {
        let (from, to) = between(range, |element| self.find(element), self.len());
        self.0[from..to].iter()
    }

    /// Moves the elements of `other` here.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(other.0.drain(..));
    }

    /// The elements that are in one of both sets, in their order.
    pub fn union<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        std::iter::from_fn(move || {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => left.next(),
                Ordering::Greater => right.next(),
                Ordering::Equal => right.next().and(left.next()),
            }
        })
    }

    /// The elements that are in both sets, in their order.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|element| other.contains(*element))
    }

    /// The elements that are not in `other`, in their order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|element| !other.contains(*element))
    }

    /// Whether both sets have no element in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|element| other.contains(element))
    }

    /// Whether `other` has all elements of this set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|element| other.contains(element))
    }
}

impl<T> Default for OrdSet<T> {
    fn default() -> Self {
        OrdSet::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OrdSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Ord + Clone> Sub for &OrdSet<T> {
    type Output = OrdSet<T>;

    /// The elements that are not in `other`.
    fn sub(self, other: Self) -> OrdSet<T> {
        self.difference(other).cloned().collect()
    }
}

impl<T: Ord> Extend<T> for OrdSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

impl<'a, T: Ord + Copy> Extend<&'a T> for OrdSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, elements: I) {
        for element in elements {
            self.insert(*element);
        }
    }
}

impl<T: Ord> FromIterator<T> for OrdSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = OrdSet::new();
        set.extend(elements);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for OrdSet<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T> IntoIterator for OrdSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a OrdSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
