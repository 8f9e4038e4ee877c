//! Primitives on many segments of one array at once: segment i is `[low[i], high[i])`, empty if that ends before it starts.
//!
//! Segments may differ much in length, come in any order, and need not cover the array; what they do not cover is left as it is.
//!
//! # Errors
//! If `low` and `high` differ in length, a segment lies outside of the array, or two segments that are written overlap; see
//! also the [module above](super).

use super::element::sealed::Bits;
use super::element::{Segments, cast_mut};
use super::{Element, Front, Operator, Order, by_key};
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
    T::sort(cx, &mut { keys }, Some(Segments::Between(&low, &high)), order.dir())
}

/// Sorts the keys of every segment in place, stably, and gives the values at the same places the same order.
///
/// ```
/// # use hidp_std::{Context, prim::{segmented, Order}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let (mut keys, mut values) = ([2, 1, 9, 5, 7], ['a', 'b', 'c', 'd', 'e']);
/// segmented::sort_by_key(&cx, &mut keys, &mut values, &[0, 3], &[2, 5], Order::Descending)?;
/// assert_eq!((keys, values), ([2, 1, 9, 7, 5], ['a', 'b', 'c', 'e', 'd']));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If there are not as many values as keys, or more than 2^32, because positions are 32-bit numbers: sort parts of such an array.
/// See also the [module](self).
pub fn sort_by_key<T: Element, V: Copy + Send + Sync>(
    cx: &Context,
    keys: &mut (impl ViewMut<T, 1> + ?Sized),
    values: &mut (impl ViewMut<V, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    order: Order,
) -> Result {
    by_key::by_positions(cx, &mut { keys }, &mut { values }, Some(Segments::Between(&low, &high)), order)
}

/// Replaces each element of a segment by the fold of the segment's elements up to and including it (an inclusive scan).
///
/// ```
/// # use hidp_std::{Context, prim::{segmented, Op}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut data = [3, 1, 2, 5, 4, 6];
/// segmented::scan(&cx, &mut data, &[3, 0], &[6, 3], Op::Max)?;
/// assert_eq!(data, [3, 3, 3, 5, 5, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See the [module](self).
pub fn scan<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    op: impl Operator<T>,
) -> Result {
    op.scan(cx, &mut { data }, Some(Segments::Between(&low, &high)), false)
}

/// Replaces each element of a segment by the fold of the segment's elements before it (an exclusive scan); the first by the operator's
/// neutral element.
///
/// # Errors
/// See the [module](self).
pub fn exscan<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    op: impl Operator<T>,
) -> Result {
    op.scan(cx, &mut { data }, Some(Segments::Between(&low, &high)), true)
}

/// `out[i]` becomes the fold of segment i. Segments may overlap.
///
/// ```
/// # use hidp_std::{Context, prim::{segmented, BitOp}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut any = [0u8; 3];
/// segmented::reduce(&cx, &[1, 2, 4, 8], &[0, 1, 3], &[4, 3, 3], BitOp::Or, &mut any)?;
/// assert_eq!(any, [15, 6, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If `out` has another length than `low`; see also the [module](self).
pub fn reduce<T: Element>(
    cx: &Context,
    data: &(impl View<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    op: impl Operator<T>,
    out: &mut (impl ViewMut<T, 1> + ?Sized),
) -> Result {
    op.reduce_parts(cx, &data, Segments::Between(&low, &high), &mut { out })
}

/// Copies to `output`, at the place of segment i, first its elements that compare with `pivots[i]` as `front` says, then the others, both in
/// their old order. The others of segment i start at `middle[i]`.
///
/// ```
/// # use hidp_std::{Context, prim::{segmented, Front}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let (mut output, mut middle) = ([0; 6], [0; 2]);
/// segmented::partition(&cx, &[5, 1, 4, 8, 7, 9], &mut output, &[0, 3], &[3, 6], Front::Less, &[5, 9], &mut middle)?;
/// assert_eq!((output, middle), ([1, 4, 5, 8, 7, 9], [2, 5]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If `output` has another length than `input`, or `pivots` or `middle` than `low`; see also the [module](self).
#[allow(clippy::too_many_arguments)] // Of an array, of segments, of a partition.
pub fn partition<T: Element>(
    cx: &Context,
    input: &(impl View<T, 1> + ?Sized),
    output: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
    front: Front,
    pivots: &(impl View<T, 1> + ?Sized),
    middle: &mut (impl ViewMut<i64, 1> + ?Sized),
) -> Result {
    T::partition_parts(cx, &input, &pivots, [&low, &high], front.bits(), &mut { output }, &mut { middle })
}

/// Reverses every segment, in place.
///
/// # Errors
/// See the [module](self).
pub fn reverse<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    low: &(impl View<i64, 1> + ?Sized),
    high: &(impl View<i64, 1> + ?Sized),
) -> Result {
    T::Bits::reverse(cx, &mut cast_mut(&mut { data }), Some(Segments::Between(&low, &high)))
}
