//! Primitives on many segments of one array at once: segment i is `[low[i], high[i])`, empty if that ends before it starts.
//!
//! Segments may differ much in length, come in any order, and need not cover the array; what they do not cover is left as it is.
//!
//! # Errors
//! If `low` and `high` differ in length, a segment lies outside of the array, or two segments that are written overlap; see
//! also the [module above](super).

use super::{Element, Op, Order};
use crate::{Context, Result, View, ViewMut};

/// Sorts every segment in place, stably.
///
/// ```
/// # use hidp_std::{Context, prim::{segmented, Order}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut data = [3, 2, 1, 9, 5, 4];
/// segmented::sort(&cx, &mut data, &[0, 4], &[3, 6], Order::Ascending)?;
/// assert_eq!(data, [1, 2, 3, 9, 4, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See the [module](self).
pub fn sort<T: Element>(
    cx: &Context,
    keys: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    order: Order,
) -> Result {
    T::segmented_sort(cx, keys, low, high, order.dir())
}

/// Replaces each element of a segment by the sum of the segment's elements up to it.
///
/// # Errors
/// See the [module](self).
pub fn scan<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
) -> Result {
    T::segmented_scan(cx, data, low, high)
}

/// Replaces each element of a segment by the sum of the segment's elements before it.
///
/// # Errors
/// See the [module](self).
pub fn exscan<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
) -> Result {
    T::segmented_exscan(cx, data, low, high)
}

/// `out[i]` becomes the fold of segment i. Segments may overlap.
///
/// # Errors
/// If `out` has another length than `low`; see also the [module](self).
pub fn reduce<T: Element>(
    cx: &Context,
    data: &(impl View<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    op: Op,
    out: &mut (impl ViewMut<T, 1> + ?Sized),
) -> Result {
    T::segmented_reduce(cx, data, low, high, op, out)
}

/// Turns the order of every segment round, in place.
///
/// # Errors
/// See the [module](self).
pub fn reverse<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
) -> Result {
    T::segmented_reverse(cx, data, low, high)
}
