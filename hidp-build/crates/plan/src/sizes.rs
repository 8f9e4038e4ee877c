//! Sizes at which versions are compared before anything has run.

/// Binary logarithms of the elements at which versions are compared.
const POINTS: std::ops::RangeInclusive<u32> = 8..=26;
/// What the other dimensions are where one is long.
const SHORT: i64 = 16;

/// Sizes at which versions are compared: all dimensions alike, and each of them long; so many binary logarithms lie between them.
pub(crate) fn points(dims: usize, step: usize) -> Vec<Vec<i64>> {
    let mut found: Vec<Vec<i64>> = Vec::new();
    for power in POINTS.step_by(step) {
        let elements = f64::from(1_u32 << power);
        let side = elements.powf(1.0 / dims.max(1) as f64).round() as i64;
        let mut all = vec![vec![side; dims]];
        let others = SHORT.saturating_pow(dims.saturating_sub(1) as u32);
        let long = (1_i64 << power) / others;
        if dims > 1 && long > SHORT {
            let longest = |dim: usize| (0..dims).map(|other| if other == dim { long } else { SHORT }).collect();
            all.extend((0..dims).map(longest));
        }
        found.extend(all.into_iter().filter(|sizes| !found.contains(sizes)).collect::<Vec<_>>());
    }
    found
}
