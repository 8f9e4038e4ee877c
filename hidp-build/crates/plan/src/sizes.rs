//! Sizes at which versions are compared before anything has run.

use std::collections::BTreeMap;

use hidp_ir::par::{Func, VarId};

/// Binary logarithms of the elements at which versions are compared.
const POINTS: std::ops::RangeInclusive<u32> = 8..=26;
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
    for sizes in others {
        let elements = sizes.iter().map(|size| i128::from(*size)).product::<i128>();
        if elements > 1 << POINTS.end() && fits(func, &sizes) && !found.contains(&sizes) {
            found.push(sizes);
        }
    }
    found
}

/// Whether no array has more elements than versions are compared at.
fn fits(func: &Func, sizes: &[i64]) -> bool {
    let known: BTreeMap<VarId, i64> = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
    func.params.iter().all(|param| {
        let extents = func.vars[*param].shape.iter().map(|extent| extent.value(&known).map(i128::from));
        extents.product::<Option<i128>>().is_some_and(|elements| elements <= 2 << POINTS.end())
    })
}
