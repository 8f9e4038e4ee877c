//! Sizes and values of tunables for which codelets are compared.

use super::constants;
use crate::par::{Codelet, Func};

/// Sizes beyond which nothing is compared.
const LARGEST: i64 = 5000;
/// Elements of one array.
const ELEMENTS: i64 = 6000;

/// Values of the tunables, each with smaller ones, in the same ratio if those are small enough: the first of all, and the last.
pub(super) fn values(codelet: &Codelet) -> Vec<(Vec<i64>, Vec<i64>)> {
    let first: Vec<i64> = codelet.tunables.iter().map(|tunable| tunable.values[0]).collect();
    let last: Vec<i64> = codelet.tunables.iter().map(|tunable| tunable.values[tunable.values.len() - 1]).collect();
    let mut found = vec![(first.clone(), smaller(&first, 3))];
    if last != first {
        found.push((last.clone(), smaller(&last, 2)));
    }
    found
}

/// Whether sizes go beyond all values, so that arrays have more than one piece of so many elements.
pub(super) fn are_exceeded(values: &[i64]) -> bool {
    values.iter().all(|value| *value < LARGEST)
}

/// The numbers divided by the largest common divisor that leaves each at least `least`. What no size exceeds even so becomes the next number
/// after the smaller ones.
fn smaller(values: &[i64], least: i64) -> Vec<i64> {
    let common = values.iter().fold(0, |a, b| divisor(a, *b));
    let fits = |by: &i64| common % by == 0 && values.iter().all(|value| value / by >= least);
    let by = (1..=common).rev().filter(|by| common / by <= 4096).find(fits).unwrap_or(1);
    let mut found: Vec<i64> = values.iter().map(|value| value / by).collect();
    let mut next = found.iter().copied().filter(|value| are_exceeded(&[*value])).max().map_or(least, |most| most + 1);
    while let Some(large) = found.iter().copied().filter(|value| !are_exceeded(&[*value])).min() {
        found.iter_mut().filter(|value| **value == large).for_each(|value| *value = next);
        next += 1;
    }
    found
}

/// The greatest common divisor.
fn divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Sizes of the dimensions: few elements, as many as tunables and conditions say, one more and one fewer; alike and mixed.
pub(super) fn sizes(function: &Func, codelet: &Codelet, values: &[i64]) -> Vec<Vec<i64>> {
    let mut wanted = vec![0, 1, 2, 3, 7];
    let bounds: Vec<i64> = codelet.when.iter().flat_map(constants).filter(|bound| *bound > 0).collect();
    for value in values {
        wanted.extend([value - 1, *value, value + 1, 2 * value + 1]);
        wanted.extend(bounds.iter().filter_map(|bound| bound.checked_mul(*value)).flat_map(|size| [size, size + 1]));
    }
    wanted.extend(bounds.iter().flat_map(|bound| [bound - 1, *bound, bound + 1]));
    wanted.retain(|size| (0..=LARGEST).contains(size));
    wanted.sort_unstable();
    wanted.dedup();
    let dims = function.dims.len();
    if dims == 0 {
        return vec![Vec::new()];
    }
    let mut found: Vec<Vec<i64>> = Vec::new();
    for (at, &size) in wanted.iter().enumerate() {
        let alike = vec![size; dims];
        // Each dimension has another one of the numbers.
        let mixed =
            (0..dims).map(|dim| if dim == at % dims { size } else { wanted[(at + 2 * dim + 3) % wanted.len()] });
        // Only one is this, the others are few. Arrays with too many elements are refused where they are filled.
        let long = (0..dims).map(|dim| if dim == at % dims { size } else { 3 });
        for (sizes, most) in [(alike, ELEMENTS), (mixed.collect(), ELEMENTS), (long.collect(), i64::MAX)] {
            let elements = sizes.iter().try_fold(1_i64, |all, size| all.checked_mul((*size).max(1)));
            if elements.is_some_and(|all| all <= most) && !found.contains(&sizes) {
                found.push(sizes);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunables_become_small_in_their_ratio() {
        assert_eq!(smaller(&[64], 3), [4]);
        assert_eq!(smaller(&[3], 3), [3]);
        assert_eq!(smaller(&[5], 3), [5]);
        assert_eq!(smaller(&[1024, 32], 2), [64, 2]);
        assert_eq!(smaller(&[7, 64], 2), [7, 64]);
        assert_eq!(smaller(&[], 3), Vec::<i64>::new());
        // Beyond all sizes, in no ratio that leaves small numbers.
        assert_eq!(smaller(&[8191], 3), [3]);
        assert_eq!(smaller(&[1 << 20, 3, 8191, 1 << 20], 2), [5, 3, 4, 5]);
    }
}
