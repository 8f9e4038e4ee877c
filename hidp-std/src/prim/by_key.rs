//! Sorts of keys that move values of any type: positions are sorted with the keys, then the values follow them.

use std::cmp::Ordering;
use std::thread;

use super::element::sealed::{Bits, Kernels};
use super::element::{Kind, Out, Segments, cast_mut};
use super::{Element, Order};
use crate::{Context, Error, Result, ViewError, ViewMut};

/// Positions are 32-bit numbers: they cost half as much as longer ones. More keys are sorted in parts.
pub(super) const MOST: usize = 1 << 32;
/// Fewer values are moved by one thread.
const WORTH_SHARING: usize = 1 << 16;

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
/// Beyond 2^32 keys, parts of that many are sorted and then merged by one thread.
///
/// # Errors
/// If there are not as many values as keys; see also the [module](super).
pub fn sort_by_key<T: Element, V: Copy + Send + Sync>(
    cx: &Context,
    keys: &mut (impl ViewMut<T, 1> + ?Sized),
    values: &mut (impl ViewMut<V, 1> + ?Sized),
    order: Order,
) -> Result {
    in_parts(cx, &mut { keys }, &mut { values }, order, MOST)
}

/// Sorts parts of at most `most` keys and merges them.
fn in_parts<T: Element, V: Copy + Send + Sync>(
    cx: &Context,
    keys: Out<'_, T>,
    values: Out<'_, V>,
    order: Order,
    most: usize,
) -> Result {
    let too_many = keys.elements_mut().is_ok_and(|(keys, _)| keys.len() > most);
    match (too_many, keys.elements_mut(), values.elements_mut()) {
        (true, Ok((keys, _)), Ok((values, _))) if keys.len() == values.len() => {
            for (mut keys, mut values) in keys.chunks_mut(most).zip(values.chunks_mut(most)) {
                by_positions(cx, &mut keys, &mut values, None, order)?;
            }
            merge_all(keys, values, order, most)
        }
        _ => by_positions(cx, keys, values, None, order),
    }
}

/// Sorts keys with their positions, then moves the values.
pub(super) fn by_positions<T: Element, V: Copy + Send + Sync>(
    cx: &Context,
    keys: Out<'_, T>,
    values: Out<'_, V>,
    parts: Option<Segments<'_>>,
    order: Order,
) -> Result {
    let mut positions = Positions(match values.elements_mut() {
        Ok((values, _)) => Ok(first_positions(values.len())?),
        Err(reason) => Err(reason),
    });
    sort_positions(cx, keys, &mut positions, parts, order)?;
    if let (Ok(positions), Ok((values, _))) = (&positions.0, values.elements_mut()) {
        gather(cx, values, positions)?;
    }
    Ok(())
}

fn sort_positions<T: Element>(
    cx: &Context,
    keys: Out<'_, T>,
    positions: &mut Positions,
    parts: Option<Segments<'_>>,
    order: Order,
) -> Result {
    let bits = &mut cast_mut(keys);
    let kind = T::KIND as i32;
    if T::KIND != Kind::Unsigned {
        <T as Kernels>::Bits::to_image(cx, bits, kind)?;
    }
    let sorted = <T as Kernels>::Bits::sort_order(cx, bits, positions, parts, order.dir());
    if T::KIND != Kind::Unsigned {
        <T as Kernels>::Bits::from_image(cx, bits, kind)?;
    }
    sorted
}

/// Positions of values, or why the values are no array: the call says so.
struct Positions(std::result::Result<Vec<u32>, ViewError>);

impl ViewMut<u32, 1> for Positions {
    fn elements_mut(&mut self) -> std::result::Result<(&mut [u32], [usize; 1]), ViewError> {
        match &mut self.0 {
            Ok(positions) => positions.elements_mut(),
            Err(reason) => Err(*reason),
        }
    }
}

/// 0, 1, 2, …; of more than [`MOST`] values none, which the call finds to be too few.
fn first_positions(count: usize) -> Result<Vec<u32>> {
    if count > MOST {
        return Err(Error::TooLong { length: count, most: MOST });
    }
    let mut positions = reserve(count)?;
    positions.extend((0..count).map(|position| position as u32));
    Ok(positions)
}

fn reserve<V>(count: usize) -> Result<Vec<V>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| Error::Allocation)?;
    Ok(room)
}

/// `values[i] = values[positions[i]]`, all at once.
fn gather<V: Copy + Send + Sync>(cx: &Context, values: &mut [V], positions: &[u32]) -> Result {
    let mut old = reserve(values.len())?;
    old.extend_from_slice(values);
    let threads = if values.len() < WORTH_SHARING { 1 } else { cx.threads() as usize };
    let part = values.len().div_ceil(threads.max(1)).max(1);
    let take = |(values, positions): (&mut [V], &[u32])| {
        values.iter_mut().zip(positions).for_each(|(value, position)| *value = old[*position as usize]);
    };
    thread::scope(|scope| {
        let mut parts = values.chunks_mut(part).zip(positions.chunks(part));
        let own = parts.next();
        for other in parts {
            scope.spawn(move || take(other));
        }
        own.into_iter().for_each(take);
    });
    Ok(())
}

/// Merges neighbouring sorted parts of `width` keys until there is one.
fn merge_all<T: Element, V: Copy>(keys: &mut [T], values: &mut [V], order: Order, mut width: usize) -> Result {
    while width < keys.len() {
        let parts = keys.chunks_mut(2 * width).zip(values.chunks_mut(2 * width));
        for (keys, values) in parts.filter(|(keys, _)| keys.len() > width) {
            merge(keys, values, order, width)?;
        }
        width *= 2;
    }
    Ok(())
}

/// Merges two sorted parts; equal keys of the first go first. What is left of the first part waits in a copy.
fn merge<T: Element, V: Copy>(keys: &mut [T], values: &mut [V], order: Order, middle: usize) -> Result {
    let (mut first_keys, mut first_values) = (reserve(middle)?, reserve(middle)?);
    first_keys.extend_from_slice(&keys[..middle]);
    first_values.extend_from_slice(&values[..middle]);
    let (mut first, mut second) = (0, middle);
    for at in 0..keys.len() {
        if first == middle {
            break;
        }
        let takes_second = second < keys.len() && {
            let compared = keys[second].total_order(&first_keys[first]);
            compared == if order == Order::Ascending { Ordering::Less } else { Ordering::Greater }
        };
        if takes_second {
            (keys[at], values[at]) = (keys[second], values[second]);
            second += 1;
        } else {
            (keys[at], values[at]) = (first_keys[first], first_values[first]);
            first += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beyond_the_most_are_sorted_in_parts() {
        let cx = Context::cpu().unwrap();
        for n in [0usize, 1, 7, 8, 9, 16, 17, 100, 1000] {
            for order in [Order::Ascending, Order::Descending] {
                let input: Vec<f32> = (0..n).map(|i| ((i * 7919 + 3) % 13) as f32 - 6.0).collect();
                let mut expected: Vec<(f32, usize)> = input.iter().copied().zip(0..).collect();
                expected.sort_by(|a, b| match order {
                    Order::Ascending => a.0.total_cmp(&b.0),
                    Order::Descending => b.0.total_cmp(&a.0),
                });
                let (mut keys, mut values) = (input, (0..n).collect::<Vec<usize>>());
                in_parts(&cx, &mut keys, &mut values, order, 8).unwrap();
                assert!(keys.into_iter().zip(values).eq(expected), "{n} {order:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let cx = Context::cpu().unwrap();
        let (mut keys, mut values) = (vec![1, 2, 3], vec!['a', 'b']);
        let error = in_parts(&cx, &mut keys, &mut values, Order::Ascending, 2).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
        assert_eq!(keys, [1, 2, 3]);
        assert!(matches!(first_positions(MOST + 1), Err(Error::TooLong { .. })));
    }
}
