//! The Himeno benchmark with its own initial data: measures a Jacobi solver of Poisson's equation on a pressure field.

use std::time::Instant;

use anyhow::{Result, bail};
use hidp_std::Context;
use ndarray::Array3;

hidp_std::include_kernels!();
use kernels::himeno::himeno;

const USAGE: &str = "usage: himeno [xs|s|m|l] [ITERATIONS]   (default s 40)";

/// Floating-point operations for an inner point, as the benchmark counts them.
const FLOPS_PER_POINT: f64 = 34.0;

/// Coefficients and fields as the benchmark's `initmt` sets them.
struct Fields {
    ones: Array3<f32>,
    sixths: Array3<f32>,
    zeros: Array3<f32>,
    p: Array3<f32>,
    wrk2: Array3<f32>,
}

impl Fields {
    fn new(shape: [usize; 3]) -> Fields {
        let last = (shape[0] - 1) as f32;
        let p = Array3::from_shape_fn(shape, |(i, _, _)| (i * i) as f32 / (last * last));
        Fields {
            ones: Array3::ones(shape),
            sixths: Array3::from_elem(shape, 1.0 / 6.0),
            zeros: Array3::zeros(shape),
            wrk2: p.clone(),
            p,
        }
    }

    /// One sweep; the new pressure becomes the current one.
    fn sweep(&mut self, cx: &Context) -> Result<f32, hidp_std::Error> {
        let Fields { ones, sixths, zeros, p, wrk2 } = self;
        let gosa =
            himeno(cx, ones, ones, ones, sixths, zeros, zeros, zeros, ones, ones, ones, p, zeros, ones, 0.8, wrk2)?;
        std::mem::swap(p, wrk2);
        Ok(gosa)
    }
}

fn main() -> Result<()> {
    let (shape, iterations) = arguments()?;
    let [i, j, k] = shape;
    let cx = Context::new()?;
    let mut fields = Fields::new(shape);
    let mut gosa = fields.sweep(&cx)?;
    println!("size {i} x {j} x {k}, first gosa {gosa:.6e}");

    let start = Instant::now();
    for _ in 0..iterations {
        gosa = fields.sweep(&cx)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let points = ((i - 2) * (j - 2) * (k - 2) * iterations) as f64;
    println!("after {iterations} more iterations gosa {gosa:.6e}");
    println!("{:.3} s, {:.0} MFLOPS", seconds, points * FLOPS_PER_POINT / seconds / 1e6);
    Ok(())
}

fn arguments() -> Result<([usize; 3], usize)> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let shape = match words.first().map(String::as_str) {
        Some("xs") => [32, 32, 64],
        Some("s") | None => [64, 64, 128],
        Some("m") => [128, 128, 256],
        Some("l") => [256, 256, 512],
        Some(other) => bail!("there is no size `{other}`\n{USAGE}"),
    };
    let iterations = match words.get(1).map(|word| word.parse()) {
        Some(Ok(count)) if count > 0 => count,
        Some(_) => bail!("the number of iterations must be positive\n{USAGE}"),
        None => 40,
    };
    Ok((shape, iterations))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The benchmark's loop with its initial data, in double precision.
    fn reference(shape: [usize; 3], sweeps: usize) -> f64 {
        let last = (shape[0] - 1) as f64;
        let mut p = Array3::from_shape_fn(shape, |(i, _, _)| (i * i) as f64 / (last * last));
        let mut gosa = 0.0;
        for _ in 0..sweeps {
            let old = p.clone();
            gosa = 0.0;
            for ((i, j, k), new) in p.indexed_iter_mut() {
                let inner = |x: usize, n: usize| x > 0 && x + 1 < n;
                if inner(i, shape[0]) && inner(j, shape[1]) && inner(k, shape[2]) {
                    let sum = old[[i + 1, j, k]]
                        + old[[i, j + 1, k]]
                        + old[[i, j, k + 1]]
                        + old[[i - 1, j, k]]
                        + old[[i, j - 1, k]]
                        + old[[i, j, k - 1]];
                    let ss = sum / 6.0 - old[[i, j, k]];
                    gosa += ss * ss;
                    *new = old[[i, j, k]] + 0.8 * ss;
                }
            }
        }
        gosa
    }

    #[test]
    fn gosa_agrees_with_the_plain_loop() {
        let cx = Context::new().unwrap();
        for shape in [[32, 32, 64], [5, 7, 9], [3, 3, 3], [16, 33, 17]] {
            let mut fields = Fields::new(shape);
            let mut gosa = 0.0;
            for _ in 0..4 {
                gosa = fields.sweep(&cx).unwrap();
            }
            let expected = reference(shape, 4);
            // Single precision loses four digits where neighbours nearly cancel.
            assert!((f64::from(gosa) - expected).abs() <= 1e-3 * expected, "{shape:?}: {gosa} but {expected}");
        }
    }

    #[test]
    fn a_grid_without_interior_changes_nothing() {
        let cx = Context::new().unwrap();
        let mut fields = Fields::new([2, 2, 2]);
        let before = fields.p.clone();
        assert_eq!(fields.sweep(&cx).unwrap(), 0.0);
        assert_eq!(fields.p, before);
    }
}
