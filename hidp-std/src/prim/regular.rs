//! Primitives on segments of one size: segment i is `[i * size, (i + 1) * size)`.
//!
//! # Errors
//! If `size * count` elements are more than there are; see also the [module above](super).

use super::{Element, Op, Order};
use crate::{Context, Result, View, ViewMut};

/// Sorts the first `count` segments in place, stably.
///
/// ```
/// # use hidp_std::{Context, prim::{regular, Order}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut data = [3, 2, 1, 9, 5, 4];
/// regular::sort(&cx, &mut data, 3, 2, Order::Ascending)?;
/// assert_eq!(data, [1, 2, 3, 4, 5, 9]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See the [module](self).
pub fn sort<T: Element>(
    cx: &Context,
    keys: &mut (impl ViewMut<T, 1> + ?Sized),
    size: usize,
    count: usize,
    order: Order,
) -> Result {
    T::regular_sort(cx, keys, long(size), long(count), order.dir())
}

/// Replaces each element of a segment by the sum of the segment's elements up to it.
///
/// # Errors
/// See the [module](self).
pub fn scan<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized), size: usize, count: usize) -> Result {
    T::regular_scan(cx, data, long(size), long(count))
}

/// Replaces each element of a segment by the sum of the segment's elements before it.
///
/// # Errors
/// See the [module](self).
pub fn exscan<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized), size: usize, count: usize) -> Result {
    T::regular_exscan(cx, data, long(size), long(count))
}

/// `out[i]` becomes the fold of segment i, for every element of `out`.
///
/// # Errors
/// See the [module](self).
pub fn reduce<T: Element>(
    cx: &Context,
    data: &(impl View<T, 1> + ?Sized),
    size: usize,
    op: Op,
    out: &mut (impl ViewMut<T, 1> + ?Sized),
) -> Result {
    T::regular_reduce(cx, data, long(size), op, out)
}

/// Turns the order of the first `count` segments round, in place.
///
/// # Errors
/// See the [module](self).
pub fn reverse<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    size: usize,
    count: usize,
) -> Result {
    T::regular_reverse(cx, data, long(size), long(count))
}

/// No array is as long as the greatest `long`.
fn long(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
