//! Sizes to measure at: dimensions that cover the space of an entry's measures.

use std::collections::BTreeMap;

use super::data::{Data, scalars, shapes, size_of_elem};
use crate::rt::entry::{Entry, MOST_MEASURES};
use crate::rt::{Arg, element_count, measures_of};

/// What a sweep is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of all arguments together.
    pub(super) bytes: usize,
    /// Innermost iterations of a call, at least and at most.
    pub(super) work: (i64, i64),
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 128 << 20, work: (256, 1 << 26) }
    }
}

/// Largest size of a dimension, as a power of 2.
const LARGEST: u32 = 24;
/// Combinations to look at, at most.
const MOST_COMBINATIONS: u64 = 100_000;

/// Sizes of an entry's dimensions: one point for all measures that are reached, in an order in which every beginning
/// covers the space.
pub(super) fn sizes(entry: &'static Entry, limits: Limits) -> Vec<Vec<i64>> {
    let count = entry.dims.len() as u32;
    let step = [2, 4, 6, 8, 12, 24]
        .into_iter()
        .find(|step| u64::from(LARGEST / step + 1).saturating_pow(count) <= MOST_COMBINATIONS)
        .unwrap_or(LARGEST);
    let choices = u64::from(LARGEST / step + 1);
    let mut found: BTreeMap<[i64; MOST_MEASURES], Vec<i64>> = BTreeMap::new();
    for number in 0..choices.saturating_pow(count).min(MOST_COMBINATIONS) {
        let exponent = |at: u32| (number / choices.pow(at) % choices) as u32 * step;
        let dims: Vec<i64> = (0..count).map(|at| 1 << exponent(at)).collect();
        let Some(measures) = admitted(entry, &dims, limits) else { continue };
        // Of several ways to the same measures the one with the most even sizes is the most usual.
        match found.get(&measures) {
            Some(known) if spread(known) <= spread(&dims) => {}
            Some(_) | None => {
                found.insert(measures, dims);
            }
        }
    }
    scattered(found)
}

/// The measures, if the sizes are within the limits.
fn admitted(entry: &'static Entry, dims: &[i64], limits: Limits) -> Option<[i64; MOST_MEASURES]> {
    let mut bytes = 0_usize;
    for (shape, param) in shapes(entry, dims)?.iter().zip(entry.params) {
        bytes = bytes.checked_add(element_count(shape)?.checked_mul(size_of_elem(param.elem))?)?;
    }
    let mut scalars = scalars(entry);
    let args: Vec<Arg<'_>> = scalars.iter_mut().map(Data::arg).collect();
    let measures = measures_of(entry, &args, dims, false);
    let inner = entry.dispatch.measures.iter().position(|measure| measure.name == "inner");
    let inner = inner.map_or(1, |at| measures[at]);
    let work = measures[0].checked_mul(inner)?;
    let fits = bytes <= limits.bytes && measures[0] >= 0 && (limits.work.0..=limits.work.1).contains(&work);
    fits.then_some(measures)
}

fn spread(dims: &[i64]) -> i64 {
    dims.iter().max().unwrap_or(&1) / dims.iter().min().unwrap_or(&1).max(&1)
}

/// Corners first, then always what is farthest from all before it, by the logarithms of the measures: any beginning covers the space.
fn scattered(found: BTreeMap<[i64; MOST_MEASURES], Vec<i64>>) -> Vec<Vec<i64>> {
    let mut left: Vec<Left> = found.into_iter().map(|(measures, dims)| Left::new(measures, dims)).collect();
    let mut order = Vec::with_capacity(left.len());
    while let Some(at) = (0..left.len()).rev().max_by(|a, b| left[*a].apart.total_cmp(&left[*b].apart)) {
        let Left { position, dims, .. } = left.swap_remove(at);
        left.iter_mut().for_each(|other| other.apart = other.apart.min(distance(&position, &other.position)));
        order.push(dims);
    }
    order
}

/// Sizes that have no place in the order yet.
struct Left {
    position: [f64; MOST_MEASURES],
    dims: Vec<i64>,
    /// Distance from the nearest that has one.
    apart: f64,
}

impl Left {
    fn new(measures: [i64; MOST_MEASURES], dims: Vec<i64>) -> Left {
        Left { position: measures.map(|measure| (measure.max(1) as f64).log2()), dims, apart: f64::INFINITY }
    }
}

fn distance(a: &[f64; MOST_MEASURES], b: &[f64; MOST_MEASURES]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::{Dispatch, Elem, Measure, Op, Param};

    const MATRIX: Param = Param {
        name: "A",
        reads: true,
        writes: false,
        elem: Elem::F32,
        positions: false,
        shape: &[&[Op::Dim(0)], &[Op::Dim(1)]],
        shape_text: &["R", "C"],
    };
    static SUMS: Entry = Entry {
        name: "sums::rows",
        params: &[MATRIX],
        dims: &["R", "C"],
        versions: &[],
        dispatch: Dispatch {
            measures: &[
                Measure { name: "parallel", program: &[Op::Dim(0)] },
                Measure { name: "inner", program: &[Op::Dim(1)] },
            ],
            ..Dispatch::NONE
        },
        sites: &[],
    };

    #[test]
    fn sizes_cover_the_plane_within_the_limits() {
        let limits = Limits { bytes: 4 << 20, work: (256, 1 << 20) };
        let sizes = sizes(&SUMS, limits);
        assert!(
            sizes.contains(&vec![1, 1 << 20]) && sizes.contains(&vec![1 << 20, 1]) && sizes.contains(&vec![16, 16])
        );
        assert!(sizes.iter().all(|dims| (256..=1 << 20).contains(&(dims[0] * dims[1]))));
        let mut distinct = sizes.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), sizes.len());
        let first: Vec<i64> = sizes.iter().take(8).map(|dims| dims[0]).collect();
        assert!(first.iter().any(|&rows| rows < 64) && first.iter().any(|&rows| rows > 4096), "{first:?}");
    }

    /// How far the sizes are from the nearest of the first `count`, at most.
    fn uncovered(order: &[Vec<i64>], count: usize) -> f64 {
        let position = |dims: &Vec<i64>| {
            let mut position = [0.0; MOST_MEASURES];
            dims.iter().zip(&mut position).for_each(|(size, at)| *at = (*size as f64).log2());
            position
        };
        let nearest = |dims: &Vec<i64>| {
            let first = order.iter().take(count).map(position);
            first.map(|first| distance(&first, &position(dims))).fold(f64::INFINITY, f64::min)
        };
        order.iter().map(nearest).fold(0.0, f64::max)
    }

    #[test]
    fn a_few_sizes_cover_the_space() {
        let sizes = sizes(&SUMS, Limits::default());
        for (count, most) in [(8, 6.5), (20, 3.5)] {
            let found = uncovered(&sizes, count);
            assert!(found <= most, "{found} powers of 2 from the first {count} of {}", sizes.len());
        }
    }
}
