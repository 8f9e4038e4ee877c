//! Primitives on a whole array.

use super::{Element, Front, Op, Order};
use crate::{Context, Result, View, ViewMut};

/// Sorts in place, stably.
///
/// # Errors
/// See the [module](super).
pub fn sort<T: Element>(cx: &Context, keys: &mut (impl ViewMut<T, 1> + ?Sized), order: Order) -> Result {
    T::sort(cx, keys, order.dir())
}

/// Sorts keys in place, stably, and gives values the same order.
///
/// ```
/// # use hidp_std::{Context, prim::{self, Order}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let (mut keys, mut values) = (vec![2.5, -1.0, 2.5], ["b", "a", "c"]);
/// prim::sort_by_key(&cx, &mut keys, &mut values, Order::Descending)?;
/// assert_eq!((keys, values), (vec![2.5, 2.5, -1.0], ["b", "c", "a"]));
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If there are not as many values as keys, or more than 2^32.
///
/// # Errors
/// See the [module](super).
pub fn sort_by_key<T: Element, V: Copy>(cx: &Context, keys: &mut [T], values: &mut [V], order: Order) -> Result {
    assert_eq!(keys.len(), values.len(), "as many values as keys");
    let count = u32::try_from(keys.len()).expect("at most 2^32 keys");
    let mut positions: Vec<u32> = (0..count).collect();
    T::sort_order(cx, keys, &mut positions, order.dir())?;
    let old = values.to_vec();
    values.iter_mut().zip(positions).for_each(|(value, position)| *value = old[position as usize]);
    Ok(())
}

/// Replaces each element by the fold of all elements up to it.
///
/// # Errors
/// See the [module](super).
pub fn scan<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized), op: Op) -> Result {
    T::scan(cx, data, op)
}

/// Replaces each element by the fold of all elements before it; the first by the fold of nothing.
///
/// # Errors
/// See the [module](super).
pub fn exscan<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized), op: Op) -> Result {
    T::exscan(cx, data, op)
}

/// The fold of all elements.
///
/// # Errors
/// See the [module](super).
pub fn reduce<T: Element>(cx: &Context, data: &(impl View<T, 1> + ?Sized), op: Op) -> Result<T> {
    T::reduce(cx, data, op)
}

/// The smallest element; none of an empty array.
///
/// # Errors
/// See the [module](super).
pub fn min<T: Element>(cx: &Context, data: &(impl View<T, 1> + ?Sized)) -> Result<Option<T>> {
    let least = T::reduce(cx, data, Op::Min)?;
    Ok(any(data).then_some(least))
}

/// The greatest element; none of an empty array.
///
/// # Errors
/// See the [module](super).
pub fn max<T: Element>(cx: &Context, data: &(impl View<T, 1> + ?Sized)) -> Result<Option<T>> {
    let most = T::reduce(cx, data, Op::Max)?;
    Ok(any(data).then_some(most))
}

fn any<T>(data: &(impl View<T, 1> + ?Sized)) -> bool {
    data.elements().is_ok_and(|(elements, _)| !elements.is_empty())
}

/// Turns the order round, in place.
///
/// # Errors
/// See the [module](super).
pub fn reverse<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized)) -> Result {
    T::reverse(cx, data)
}

/// Copies to `output` first the elements that compare with the pivot as asked, then the others, both in their old order. Gives
/// how many are in front.
///
/// ```
/// # use hidp_std::{Context, prim::{self, Front}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut output = [0; 5];
/// let front = prim::partition(&cx, &[5, 1, 4, 2, 3], &mut output, Front::Less, 4)?;
/// assert_eq!((front, output), (3, [1, 2, 3, 5, 4]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If `output` has another length; see also the [module](super).
pub fn partition<T: Element>(
    cx: &Context,
    input: &(impl View<T, 1> + ?Sized),
    output: &mut (impl ViewMut<T, 1> + ?Sized),
    front: Front,
    pivot: T,
) -> Result<usize> {
    Ok(T::partition(cx, input, output, front, pivot)? as usize)
}

/// `bins[keys[i]] += values[i]`, with the same bits on every run.
///
/// # Errors
/// If there are not as many values as keys, or a key has no bin; see also the [module](super).
pub fn histogram<T: Element>(
    cx: &Context,
    keys: &(impl View<u32, 1> + ?Sized),
    values: &(impl View<T, 1> + ?Sized),
    bins: &mut (impl ViewMut<T, 1> + ?Sized),
) -> Result {
    T::histogram(cx, keys, values, bins)
}
