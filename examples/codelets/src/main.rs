//! Runs functions with several bodies in each of their versions, and says which was fastest here and which would have run untuned.

use std::time::{Duration, Instant};

use anyhow::Result;
use hidp_std::{Context, Error};
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::codelets::{gemv, histogram_of_bytes, product, running, sum};

/// Calls of each version, of which the quickest counts.
const CALLS: usize = 50;
/// Time after which a version is called no more, if it was called three times.
const ENOUGH: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let elements = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 1 << 22,
    };
    let cx = Context::new()?;
    let floats: Vec<f32> = (0..elements).map(|at| (at % 7) as f32 - 3.0).collect();
    let ints: Vec<i32> = (0..elements).map(|at| (at % 5) as i32).collect();
    let bytes: Vec<u8> = (0..elements).map(|at| (at * at % 251) as u8).collect();
    let side = ((elements as f64).sqrt() as usize).min(512);
    let (left, right) = (matrix(side, 3), matrix(side, 5));
    let (mut ints_out, mut counts, mut row) = (vec![0; elements], vec![0; 256], vec![0.0; side]);
    let mut out = Array2::zeros((side, side));
    let ratios = [
        report("sum", &cx, |cx| sum(cx, &floats).map(drop))?,
        report("running", &cx, |cx| running(cx, &ints, &mut ints_out))?,
        report("gemv", &cx, |cx| gemv(cx, &left, &right.row(0), &mut row))?,
        report("product", &cx, |cx| product(cx, &left, &right, &mut out))?,
        report("histogram_of_bytes", &cx, |cx| histogram_of_bytes(cx, &bytes, &mut counts))?,
    ];
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    println!("untuned: {:.2} times the quickest versions, on geometric mean", mean.exp());
    Ok(())
}

fn matrix(side: usize, step: usize) -> Array2<f32> {
    Array2::from_shape_fn((side, side), |(row, column)| ((row * step + column) % 7) as f32 - 3.0)
}

/// Prints what each version takes, the quickest first, and which one runs if nobody says so. Gives how much longer that takes than the quickest.
fn report(name: &str, cx: &Context, mut call: impl FnMut(&Context) -> Result<(), Error>) -> Result<f64> {
    println!("{name}");
    call(cx)?;
    let untuned = cx.last_run().map_or("", |run| run.plan);
    let mut times: Vec<(Duration, String)> = Vec::new();
    for version in versions(&mut call, cx) {
        let cx = cx.with_plan(&version);
        let (mut least, begin) = (Duration::MAX, Instant::now());
        for number in 0..CALLS {
            if number >= 3 && begin.elapsed() > ENOUGH {
                break;
            }
            let start = Instant::now();
            call(&cx)?;
            least = least.min(start.elapsed());
        }
        times.push((least, version));
    }
    times.sort();
    for (time, version) in &times {
        let chosen = if *version == untuned { "untuned" } else { "" };
        println!("  {version:<32} {:10.1} µs  {chosen}", time.as_secs_f64() * 1e6);
    }
    let chosen = times.iter().find(|(_, version)| *version == untuned);
    Ok(chosen.map_or(1.0, |(time, _)| time.as_secs_f64() / times[0].0.as_secs_f64()))
}

/// The names of an entry's versions: a version that does not exist is an error that lists them.
fn versions(call: &mut impl FnMut(&Context) -> Result<(), Error>, cx: &Context) -> Vec<String> {
    match call(&cx.with_plan("none")) {
        Err(Error::UnknownPlan { plans, .. }) => {
            plans.to_string().split('`').skip(1).step_by(2).map(str::to_owned).collect()
        }
        Ok(()) | Err(_) => Vec::new(),
    }
}
