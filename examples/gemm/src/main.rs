//! Multiplies two matrices and compares with a plain loop.

use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use hidp_std::Context;
use ndarray::Array2;

hidp_std::include_kernels!();

const USAGE: &str = "usage: gemm [M N K]   (default 768 768 768)";

fn main() -> Result<()> {
    let [m, n, k] = sizes()?;
    // Small integers: every product and sum is exact, so that the results must agree bit for bit.
    let a = Array2::from_shape_fn((m, k), |(i, j)| ((i * 7 + j * 3) % 8) as f32 - 3.0);
    let b = Array2::from_shape_fn((k, n), |(i, j)| ((i * 5 + j) % 8) as f32 - 4.0);
    let initial = Array2::from_shape_fn((m, n), |(i, j)| ((i + j) % 4) as f32);
    let (alpha, beta) = (2.0, -1.0);

    let cx = Context::new()?;
    let mut c = initial.clone();
    kernels::gemm::gemm(&cx, alpha, beta, &a, &b, &mut c)?;

    let start = Instant::now();
    let expected = plain(alpha, &a, &b, beta, &initial);
    let plain_seconds = start.elapsed().as_secs_f64();
    ensure!(c == expected, "the product is wrong");

    // With a mapping that the program pins.
    let mut product = Array2::<f32>::zeros((m, n));
    kernels::hicuda::product(&cx, &a, &b, &mut product)?;
    ensure!(product * alpha + &initial * beta == expected, "the product with directives is wrong");

    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            kernels::gemm::gemm(&cx, alpha, beta, &a, &b, &mut c)?;
            Ok(start.elapsed().as_secs_f64())
        })
        .collect::<Result<Vec<f64>>>()?
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    let flops = 2.0 * m as f64 * n as f64 * k as f64;
    println!("C[{m}][{n}] = {alpha} A[{m}][{k}] B[{k}][{n}] + {beta} C: right");
    println!("HiDP       {:.3} ms, {:.1} GFLOP/s", best * 1e3, flops / best / 1e9);
    println!("plain loop {:.3} ms, {:.1} GFLOP/s", plain_seconds * 1e3, flops / plain_seconds / 1e9);
    Ok(())
}

fn sizes() -> Result<[usize; 3]> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        return Ok([768; 3]);
    }
    let parsed: Result<Vec<usize>, _> = words.iter().map(|word| word.parse()).collect();
    let Ok(parsed) = parsed else { bail!("sizes are positive integers\n{USAGE}") };
    <[usize; 3]>::try_from(parsed).ok().context(USAGE)
}

fn plain(alpha: f32, a: &Array2<f32>, b: &Array2<f32>, beta: f32, c: &Array2<f32>) -> Array2<f32> {
    let mut product = Array2::<f32>::zeros(c.raw_dim());
    for i in 0..a.nrows() {
        for l in 0..a.ncols() {
            for j in 0..b.ncols() {
                product[[i, j]] += a[[i, l]] * b[[l, j]];
            }
        }
    }
    product * alpha + c * beta
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row of `a` selects a row of `b`. Two columns of tiles for one thread, and more than one pass over the rows for each.
    #[test]
    fn rows_beyond_the_caches_are_taken_in_passes() {
        let (m, n, k) = (521, 33, 4096);
        let cx = Context::builder().threads(1).plan("lanes").cpu().build().expect("a context");
        let selected = |row: usize| (row * 37 + 11) % k;
        let a = Array2::from_shape_fn((m, k), |(row, at)| if at == selected(row) { 1.0f32 } else { 0.0 });
        let b = Array2::from_shape_fn((k, n), |(at, column)| (at * n + column) as f32);
        let mut c = Array2::<f32>::ones((m, n));
        kernels::gemm::gemm(&cx, 2.0, 1.0, &a, &b, &mut c).expect("the product runs");
        let expected = Array2::from_shape_fn((m, n), |(row, column)| 2.0 * b[[selected(row), column]] + 1.0);
        assert_eq!(c, expected);
    }
}
