//! Primitives on segments of one size: segment i is `[i * size, (i + 1) * size)`.
//!
//! # Errors
//! If the array has fewer than `size * count` elements; see also the [module above](super).

use super::element::sealed::Bits;
use super::element::{Segments, cast_mut};
use super::{Element, Front, Operator, Order, by_key};
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
    T::sort(cx, &mut { keys }, Some(parts(size, count)), order.dir())
}

/// Sorts the keys of the first `count` segments in place, stably, and gives the values at the same places the same order.
///
/// ```
/// # use hidp_std::{Context, prim::{regular, Order}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let (mut keys, mut values) = ([2, 1, 9, 5], ['a', 'b', 'c', 'd']);
/// regular::sort_by_key(&cx, &mut keys, &mut values, 2, 2, Order::Ascending)?;
/// assert_eq!((keys, values), ([1, 2, 5, 9], ['b', 'a', 'd', 'c']));
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
    size: usize,
    count: usize,
    order: Order,
) -> Result {
    by_key::by_positions(cx, &mut { keys }, &mut { values }, Some(parts(size, count)), order)
}

/// Replaces each element of a segment by the fold of the segment's elements up to and including it (an inclusive scan).
///
/// ```
/// # use hidp_std::{Context, prim::{regular, Op}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut data = [1, 2, 3, 4, 5, 6];
/// regular::scan(&cx, &mut data, 3, 2, Op::Mul)?;
/// assert_eq!(data, [1, 2, 6, 4, 20, 120]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See the [module](self).
pub fn scan<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    size: usize,
    count: usize,
    op: impl Operator<T>,
) -> Result {
    op.scan(cx, &mut { data }, Some(parts(size, count)), false)
}

/// Replaces each element of a segment by the fold of the segment's elements before it (an exclusive scan); the first by the operator's
/// neutral element.
///
/// # Errors
/// See the [module](self).
pub fn exscan<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    size: usize,
    count: usize,
    op: impl Operator<T>,
) -> Result {
    op.scan(cx, &mut { data }, Some(parts(size, count)), true)
}

/// `out[i]` becomes the fold of segment i, for every element of `out`.
///
/// ```
/// # use hidp_std::{Context, prim::{regular, Op}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut sums = [0.0; 2];
/// regular::reduce(&cx, &[1.0, 2.0, 3.0, 4.0], 2, Op::Add, &mut sums)?;
/// assert_eq!(sums, [3.0, 7.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// See the [module](self).
pub fn reduce<T: Element>(
    cx: &Context,
    data: &(impl View<T, 1> + ?Sized),
    size: usize,
    op: impl Operator<T>,
    out: &mut (impl ViewMut<T, 1> + ?Sized),
) -> Result {
    op.reduce_parts(cx, &data, parts(size, 0), &mut { out })
}

/// Copies to `output`, at the place of segment i, first its elements that compare with `pivots[i]` as `front` says, then the others, both in
/// their old order, for every pivot. The others of segment i start at `middle[i]`.
///
/// ```
/// # use hidp_std::{Context, prim::{regular, Front}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let (mut output, mut middle) = ([0; 6], [0; 2]);
/// regular::partition(&cx, &[5, 1, 4, 8, 7, 9], &mut output, 3, Front::Equal, &[4, 9], &mut middle)?;
/// assert_eq!((output, middle), ([4, 5, 1, 9, 8, 7], [1, 4]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If `output` has another length than `input`, or `middle` than `pivots`; see also the [module](self).
pub fn partition<T: Element>(
    cx: &Context,
    input: &(impl View<T, 1> + ?Sized),
    output: &mut (impl ViewMut<T, 1> + ?Sized),
    size: usize,
    front: Front,
    pivots: &(impl View<T, 1> + ?Sized),
    middle: &mut (impl ViewMut<i64, 1> + ?Sized),
) -> Result {
    T::partition_regular(cx, &input, &pivots, long(size), front.bits(), &mut { output }, &mut { middle })
}

/// Reverses each of the first `count` segments, in place.
///
/// # Errors
/// See the [module](self).
pub fn reverse<T: Element>(
    cx: &Context,
    data: &mut (impl ViewMut<T, 1> + ?Sized),
    size: usize,
    count: usize,
) -> Result {
    T::Bits::reverse(cx, &mut cast_mut(&mut { data }), Some(parts(size, count)))
}

fn parts(size: usize, count: usize) -> Segments<'static> {
    Segments::Regular(long(size), long(count))
}

/// No array is as long as the greatest `long`.
fn long(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
