//! Solves `A x = b` for a sparse symmetric positive definite matrix from a Matrix Market file.
//!
//! The right-hand side is `A` times the vector of ones, so that the solution is known.

mod matrix;
mod reference;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use hidp_std::Context;

use matrix::Csr;

hidp_std::include_kernels!();
use kernels::{cg, coo};

const USAGE: &str = "\
usage: quickstart [FILE.mtx] [--tolerance T] [--max-iterations N]

Solves A x = b by conjugate gradients. FILE holds a sparse symmetric positive definite matrix in Matrix Market form; without
one a power network of 1138 nodes is solved. Stops when |r| <= T |b| (default 1e-10).
";

struct Options {
    file: PathBuf,
    tolerance: f64,
    max_iterations: usize,
}

/// What a solve gives.
struct Solution {
    x: Vec<f64>,
    iterations: usize,
    relative_residual: f64,
    time: Duration,
}

fn main() -> Result<()> {
    let Some(options) = parse_arguments(std::env::args().skip(1))? else {
        print!("{USAGE}");
        return Ok(());
    };
    let a = Csr::read(&options.file)?;
    print_facts(&options, &a);
    ensure!(a.rows == a.columns, "conjugate gradients need a square matrix, this one is {} x {}", a.rows, a.columns);
    ensure!(a.rows > 0, "the matrix is empty");
    ensure!(a.is_symmetric(), "conjugate gradients need a symmetric matrix");
    let inv_diag: Vec<f64> = a.positive_diagonal()?.iter().map(|d| 1.0 / d).collect();

    let cx = Context::new()?;
    let mut b = vec![0.0; a.rows];
    coo::multiply(&cx, &rows_of_entries(&a), &a.col, &a.val, &vec![1.0; a.columns], &mut b)?;

    let solution = solve(&cx, &a, &inv_diag, &b, &options)?;
    check(&a, &inv_diag, &b, &solution, &options)
}

fn parse_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>> {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/data/1138_bus.mtx");
    let mut options = Options { file: shipped.into(), tolerance: 1e-10, max_iterations: 100_000 };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--tolerance" => options.tolerance = value()?.parse().context("--tolerance needs a number")?,
            "--max-iterations" => {
                options.max_iterations = value()?.parse().context("--max-iterations needs a count")?
            }
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`\n\n{USAGE}"),
            file => options.file = file.into(),
        }
    }
    Ok(Some(options))
}

fn print_facts(options: &Options, a: &Csr) {
    let lengths = || a.rowptr.windows(2).map(|pair| pair[1] - pair[0]);
    println!("matrix     {}", options.file.file_name().unwrap_or_default().to_string_lossy());
    println!("size       {} x {}, {} entries", a.rows, a.columns, a.val.len());
    println!(
        "rows       {} to {} entries, {:.2} on average",
        lengths().min().unwrap_or(0),
        lengths().max().unwrap_or(0),
        a.val.len() as f64 / a.rows.max(1) as f64
    );
}

/// The row of each entry.
fn rows_of_entries(a: &Csr) -> Vec<i32> {
    let rows = (0..).zip(a.rowptr.windows(2));
    rows.flat_map(|(row, pair)| std::iter::repeat_n(row, (pair[1] - pair[0]) as usize)).collect()
}

/// Iterates until the residual is small, and prints it as it goes.
fn solve(cx: &Context, a: &Csr, inv_diag: &[f64], b: &[f64], options: &Options) -> Result<Solution> {
    let n = a.rows;
    let (mut x, mut r, mut p) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let norm_b = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    let start = Instant::now();
    let (mut rz, mut rr) = cg::start(cx, &a.rowptr, &a.col, &a.val, inv_diag, b, &x, &mut r, &mut p)?;
    let mut iterations = 0;
    let mut next_line = 1;
    println!("\n iteration   |r| / |b|");
    while rr.sqrt() > options.tolerance * norm_b {
        if iterations == options.max_iterations {
            bail!("no convergence in {iterations} iterations: |r| / |b| is still {:.3e}", rr.sqrt() / norm_b);
        }
        (rz, rr) = cg::step(cx, &a.rowptr, &a.col, &a.val, inv_diag, rz, &mut x, &mut r, &mut p)?;
        iterations += 1;
        ensure!(rr.is_finite(), "the iteration broke down: the matrix is not positive definite");
        if iterations == next_line {
            println!("{iterations:>10}   {:.3e}", rr.sqrt() / norm_b);
            next_line += (iterations / 4).max(1);
        }
    }
    let relative_residual = if norm_b > 0.0 { rr.sqrt() / norm_b } else { 0.0 };
    println!("{iterations:>10}   {relative_residual:.3e}   converged\n");
    Ok(Solution { x, iterations, relative_residual, time: start.elapsed() })
}

/// Compares with the reference and with the known solution, and prints times.
fn check(a: &Csr, inv_diag: &[f64], b: &[f64], solution: &Solution, options: &Options) -> Result<()> {
    let start = Instant::now();
    let expected = reference::solve(a, inv_diag, b, solution.iterations);
    let reference_time = start.elapsed();

    let mut ax = vec![0.0; a.rows];
    reference::multiply(a, &solution.x, &mut ax);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|e| e * e).sum::<f64>().sqrt();
    let norm_b = norm(&mut b.iter().copied());
    let true_residual = norm(&mut ax.iter().zip(b).map(|(ax, b)| ax - b)) / norm_b.max(f64::MIN_POSITIVE);
    let difference = largest(solution.x.iter().zip(&expected).map(|(x, e)| (x - e).abs()));
    let error = largest(solution.x.iter().map(|x| (x - 1.0).abs()));

    println!(
        "residual   {true_residual:.3e} computed anew in plain Rust, {:.3e} by recurrence",
        solution.relative_residual
    );
    println!("answer     at most {error:.3e} from the known solution, {difference:.3e} from plain Rust");
    print_time("HiDP", a, solution.iterations, solution.time);
    print_time("plain Rust", a, solution.iterations, reference_time);
    let allowed = 100.0 * options.tolerance.max(f64::EPSILON);
    ensure!(true_residual <= allowed, "the answer is wrong: its residual is {true_residual:.3e}");
    Ok(())
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Time and bandwidth; an iteration reads the matrix once and moves 13 vectors.
fn print_time(who: &str, a: &Csr, iterations: usize, time: Duration) {
    let bytes = (12 * a.val.len() + 4 * a.rowptr.len() + 13 * 8 * a.rows) * iterations;
    let seconds = time.as_secs_f64();
    println!("{who:<10} {:.3} ms, {:.2} GB/s", seconds * 1e3, bytes as f64 / seconds / 1e9);
}
