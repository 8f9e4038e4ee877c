//! Sizes at which versions are compared before anything has run.

use hidp_ir::par::{Func, VarId};
use hidp_syntax::ordered::OrdMap;

/// Points for a function at most, unless shapes alone give more: each costs predictions of many mappings.
const MOST: usize = 96;
/// Binary logarithms of the elements at which versions are compared.
const POINTS: std::ops::RangeInclusive<u32> = 8..=26;
const MOST_ELEMENTS: f64 = (1_u64 << *POINTS.end()) as f64;
/// What the other dimensions are where one is long.
const SHORT: i64 = 16;
/// What they are at least.
const THIN: i64 = 2;

/// Sizes at which versions are compared: all dimensions alike, and each of them long; so many binary logarithms lie between them.
pub(crate) fn points(dims: usize, step: usize) -> Vec<Vec<i64>> {
    beside(dims, step, SHORT)
}

/// The same where the other dimensions are so many where one is long.
fn beside(dims: usize, step: usize, short: i64) -> Vec<Vec<i64>> {
    let mut found: Vec<Vec<i64>> = Vec::new();
    for power in POINTS.step_by(step) {
        let elements = f64::from(1_u32 << power);
        let side = elements.powf(1.0 / dims.max(1) as f64).round() as i64;
        let mut all = vec![vec![side; dims]];
        let others = short.saturating_pow(dims.saturating_sub(1) as u32);
        let long = (1_i64 << power) / others;
        if dims > 1 && long > short {
            let longest = |dim: usize| (0..dims).map(|other| if other == dim { long } else { short }).collect();
            all.extend((0..dims).map(longest));
        }
        found.extend(all.into_iter().filter(|sizes| !found.contains(sizes)).collect::<Vec<_>>());
    }
    found
}

/// The same for a function whose other dimensions are hardly any where one is long: columns of three, say.
pub(crate) fn thin_points_of(func: &Func, step: usize) -> Vec<Vec<i64>> {
    let mut found = points_of(func, step);
    found.extend(beside(func.dims.len(), step, THIN).into_iter().filter(|sizes| sizes.contains(&THIN)));
    found
}

/// The same for a function, and with two dimensions or all that are long at once, where no array has both: rows and elements of sparse matrices.
pub(crate) fn points_of(func: &Func, step: usize) -> Vec<Vec<i64>> {
    let dims = func.dims.len();
    let mut found = points(dims, step);
    let long: Vec<i64> =
        POINTS.step_by(step).map(|power| 1_i64 << power).filter(|long| *long > SHORT * SHORT).collect();
    let others: Vec<Vec<i64>> = (0..dims)
        .flat_map(|first| (0..dims).filter(move |second| *second != first).map(move |second| (first, second)))
        .flat_map(|(first, second)| {
            long.iter().flat_map(|a| long.iter().map(move |b| (*a, *b))).map(move |(a, b)| {
                (0..dims)
                    .map(|dim| {
                        if dim == first {
                            a
                        } else if dim == second {
                            b
                        } else {
                            SHORT
                        }
                    })
                    .collect()
            })
        })
        .chain(long.iter().map(|long| vec![*long; dims]))
        .collect();
    let is_far = |sizes: &Vec<i64>| sizes.iter().map(|size| *size as f64).product::<f64>() > MOST_ELEMENTS;
    let mut far: Vec<Vec<i64>> = Vec::new();
    for sizes in others {
        if is_far(&sizes) && fits(func, &sizes) && !found.contains(&sizes) && !far.contains(&sizes) {
            far.push(sizes);
        }
    }
    let room = MOST.saturating_sub(found.len()).max(1);
    let step = far.len().div_ceil(room).max(1);
    found.extend(far.into_iter().step_by(step));
    found
}

/// Whether no array has more elements than versions are compared at.
fn fits(func: &Func, sizes: &[i64]) -> bool {
    let known: OrdMap<VarId, i64> = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
    func.params.iter().all(|param| {
        let extents = func.vars[*param].shape.iter().map(|extent| Some(extent.value(&known)? as f64));
        extents.product::<Option<f64>>().is_some_and(|elements| elements <= 2.0 * MOST_ELEMENTS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    #[test]
    fn points_are_bounded() {
        // All six are long at once, too: more elements than an integer counts.
        let text = "function f input float a[A], b[B], c[C], d[D], e[E], g[G]; output float y[A];
            { map { i := [0:A); j := [0:B); _t = a[i] * b[j]; } reduce(\"+\", y[i], _t, j := [*]); }";
        let program = optimised(text);
        let func = &program.funcs[program.entries[0]];
        assert_eq!(func.dims.len(), 6);
        let (all, shaped) = (points_of(func, 4), points(6, 4));
        assert!((MOST - MOST / 4..=MOST).contains(&all.len()), "{}", all.len());
        assert_eq!(all[..shaped.len()], shaped);
        // Further ones are spread over all pairs of dimensions: each of them is long somewhere.
        let is_long = |dim: usize| all[shaped.len()..].iter().any(|sizes| sizes[dim] > SHORT);
        assert!((0..6).all(is_long));
    }
}
