//! [`OrdMap`].

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Bound, Index, RangeBounds};

/// A map whose entries stand in the order of their keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrdMap<K, V>(Vec<(K, V)>);

/// Iterates over the entries of a map by reference.
pub type Iter<'a, K, V> = std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

/// Iterates over the entries of a map, whose values may be changed.
pub type IterMut<'a, K, V> = std::iter::Map<std::slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

/// The place of a key in a map, taken or free.
pub struct Entry<'a, K, V> {
    map: &'a mut OrdMap<K, V>,
    key: K,
    at: Result<usize, usize>,
}

impl<K, V> OrdMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        OrdMap(Vec::new())
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The entries in the order of their keys, whose values may be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The keys alone.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.0.into_iter().map(|(key, _)| key)
    }

    /// The values alone.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.0.into_iter().map(|(_, value)| value)
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// The entry with the smallest key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.0.first().map(|(key, value)| (key, value))
    }

    /// The entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.0.last().map(|(key, value)| (key, value))
    }
}

impl<K: Ord, V> OrdMap<K, V> {
    /// Where `key` stands, or where it would.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        find(&self.0, key, |(key, _)| key.borrow())
    }

    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &mut self.0[at].1)
    }

    /// Whether `key` has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Gives `key` the value, and the one that it had before back.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes `key` and gives its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// Takes `key` and what is behind it out of the map.
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).unwrap_or_else(|at| at);
        OrdMap(self.0.split_off(at))
    }

    /// The place of `key`.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let at = self.find(&key);
        Entry { map: self, key, at }
    }

    /// The entries whose keys lie in `range`.
    pub fn range(&self, range: impl RangeBounds<K>) -> Iter<'_, K, V> {
        let (from, to) = between(range, |key| self.find(key), self.len());
        self.0[from..to].iter().map(|(key, value)| (key, value))
    }
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// The value, `value` if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, what `make` gives if there is none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let Entry { map, key, at } = self;
        let at = match at {
            Ok(at) => at,
            Err(at) => {
                map.0.insert(at, (key, make()));
                at
            }
        };
        &mut map.0[at].1
    }

    /// The value, its type's default if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(at) = self.at {
            change(&mut self.map.0[at].1);
        }
        self
    }
}

/// Where `key` stands among `items`, or where it would.
///
/// A key behind the last one, which is usual when a map is filled, takes one comparison.
pub(super) fn find<T, Q: Ord + ?Sized>(items: &[T], key: &Q, key_of: impl Fn(&T) -> &Q) -> Result<usize, usize> {
    let (mut from, mut to) = (0, items.len());
    let mut middle = to.wrapping_sub(1);
    while from < to {
        match key_of(&items[middle]).cmp(key) {
            Ordering::Less => from = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => to = middle,
        }
        middle = from + (to - from) / 2;
    }
    Err(from)
}

/// The positions of the keys in `range`, where `find` knows that of a key.
pub(super) fn between<K>(
    range: impl RangeBounds<K>,
    find: impl Fn(&K) -> Result<usize, usize>,
    len: usize,
) -> (usize, usize) {
    let after = |key: &K| find(key).map_or_else(|at| at, |at| at + 1);
    let at = |key: &K| find(key).unwrap_or_else(|at| at);
    let from = match range.start_bound() {
        Bound::Included(key) => at(key),
        Bound::Excluded(key) => after(key),
        Bound::Unbounded => 0,
    };
    let to = match range.end_bound() {
        Bound::Included(key) => after(key),
        Bound::Excluded(key) => at(key),
        Bound::Unbounded => len,
    };
    (from, to.max(from))
}

impl<K, V> Default for OrdMap<K, V> {
    fn default() -> Self {
        OrdMap::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrdMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord, V> Extend<(K, V)> for OrdMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for OrdMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = OrdMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for OrdMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for OrdMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a OrdMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut OrdMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for OrdMap<K, V> {
    type Output = V;

    /// The value of `key`, which must have one.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has a value")
    }
}
