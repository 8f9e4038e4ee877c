//! Primitives on a whole array.

use super::element::cast_mut;
use super::element::sealed::Bits;
use super::operator::sealed::Apply;
use super::{Element, Front, Op, Operator, Order};
use crate::{Context, Result, View, ViewMut};

/// Sorts the whole array in place, stably.
///
/// # Errors
/// See the [module](super).
pub fn sort<T: Element>(cx: &Context, keys: &mut (impl ViewMut<T, 1> + ?Sized), order: Order) -> Result {
    T::sort(cx, &mut { keys }, None, order.dir())
}

/// Replaces each element by the fold of all elements up to and including it (an inclusive scan).
///
/// # Errors
/// See the [module](super).
pub fn scan<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized), op: impl Operator<T>) -> Result {
    op.scan(cx, &mut { data }, None, false)
}

/// Replaces each element by the fold of all elements before it (an exclusive scan); the first by the operator's neutral element.
///
/// # Errors
/// See the [module](super).
pub fn exscan<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized), op: impl Operator<T>) -> Result {
    op.scan(cx, &mut { data }, None, true)
}

/// Folds all elements; of an empty array, the operator's neutral element.
///
/// # Errors
/// See the [module](super).
pub fn reduce<T: Element>(cx: &Context, data: &(impl View<T, 1> + ?Sized), op: impl Operator<T>) -> Result<T> {
    op.reduce(cx, &data)
}

/// The smallest element; `None` for an empty array.
///
/// # Errors
/// See the [module](super).
pub fn min<T: Element>(cx: &Context, data: &(impl View<T, 1> + ?Sized)) -> Result<Option<T>> {
    let least = Op::Min.reduce(cx, &data)?;
    Ok(any(data).then_some(least))
}

/// The greatest element; `None` for an empty array.
///
/// # Errors
/// See the [module](super).
pub fn max<T: Element>(cx: &Context, data: &(impl View<T, 1> + ?Sized)) -> Result<Option<T>> {
    let most = Op::Max.reduce(cx, &data)?;
    Ok(any(data).then_some(most))
}

fn any<T>(data: &(impl View<T, 1> + ?Sized)) -> bool {
    data.elements().is_ok_and(|(elements, _)| !elements.is_empty())
}

/// Reverses the order of the elements, in place.
///
/// # Errors
/// See the [module](super).
pub fn reverse<T: Element>(cx: &Context, data: &mut (impl ViewMut<T, 1> + ?Sized)) -> Result {
    T::Bits::reverse(cx, &mut cast_mut(&mut { data }), None)
}

/// Copies to `output` first the elements that compare with the pivot as `front` says, then the others, both in their old order. Returns
/// the number of the former.
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
    Ok(T::partition(cx, &input, pivot, front.bits(), &mut { output })? as usize)
}

/// Folds each value into the bin that its key names, `bins[keys[i]] = op(bins[keys[i]], values[i])`, in order: with the same
/// bits on every run. The previous contents of the bins are included.
///
/// ```
/// # use hidp_std::{Context, prim::{self, Op}};
/// # fn main() -> hidp_std::Result {
/// # let cx = Context::new()?;
/// let mut greatest = [0; 3];
/// prim::histogram(&cx, &[0, 2, 0, 2], &[5, 1, 3, 4], Op::Max, &mut greatest)?;
/// assert_eq!(greatest, [5, 0, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If there are not as many values as keys, or a key has no bin; see also the [module](super).
pub fn histogram<T: Element>(
    cx: &Context,
    keys: &(impl View<u32, 1> + ?Sized),
    values: &(impl View<T, 1> + ?Sized),
    op: impl Operator<T>,
    bins: &mut (impl ViewMut<T, 1> + ?Sized),
) -> Result {
    op.histogram(cx, &keys, &values, &mut { bins })
}
