//! Runs functions with several bodies in each of their versions, and says which was fastest here and which would have run untuned.

use std::time::{Duration, Instant};

use anyhow::Result;
use hidp_std::{Context, Error};
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::codelets::{ascending, clusters, distances, gemv, histogram_of_bytes, product, running, sparse_gemv, sum};

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
    let (left, right) = (matrix([side, side], 3), matrix([side, side], 5));
    let (mut ints_out, mut counts, mut row) = (vec![0; elements], vec![0; 256], vec![0.0; side]);
    let mut out = Array2::zeros((side, side));
    let (first, edges) = graph(elements / 8);
    let nodes = first.len() - 1;
    let (values, vector) = (vec![0.5; edges.len()], vec![2.0; nodes]);
    let (mut products, mut far) = (vec![0.0; nodes], vec![0; nodes]);
    let (points, centres) = (matrix([elements / 32, 8], 3), matrix([5, 8], 2));
    let (mut cluster, mut sums, mut many) = (vec![0; elements / 32], Array2::zeros((5, 8)), [0; 5]);
    let keys: Vec<u32> = (0..elements as u32).map(|at| at.wrapping_mul(2_654_435_769)).collect();
    let mut sorted = vec![0; elements];
    let ratios = [
        report("sum", &cx, |cx| sum(cx, &floats).map(drop))?,
        report("running", &cx, |cx| running(cx, &ints, &mut ints_out))?,
        report("gemv", &cx, |cx| gemv(cx, &left, &right.row(0), &mut row))?,
        report("product", &cx, |cx| product(cx, &left, &right, &mut out))?,
        report("histogram_of_bytes", &cx, |cx| histogram_of_bytes(cx, &bytes, &mut counts))?,
        report("sparse_gemv", &cx, |cx| sparse_gemv(cx, &first, &edges, &values, &vector, &mut products))?,
        report("distances", &cx, |cx| distances(cx, &first, &edges, 0, &mut far))?,
        report("clusters", &cx, |cx| clusters(cx, &points, &centres, &mut cluster, &mut sums, &mut many))?,
        report("ascending", &cx, |cx| ascending(cx, &keys, &mut sorted))?,
    ];
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    println!("untuned: {:.2} times the quickest versions, on geometric mean", mean.exp());
    Ok(())
}

fn matrix([rows, columns]: [usize; 2], step: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(row, column)| ((row * step + column) % 7) as f32 - 3.0)
}

/// Where the edges of each of so many nodes begin, and where they end: six each, all over the graph, so that almost all nodes are reached.
fn graph(nodes: usize) -> (Vec<i32>, Vec<i32>) {
    let first = (0..=nodes).map(|node| 6 * node as i32).collect();
    let mixed = |edge: usize| {
        let mixed = edge.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32
    };
    let edges = (0..6 * nodes).map(|edge| mixed(edge) % nodes.max(1));
    (first, edges.map(|node| node as i32).collect())
}

/// Prints the time of each version, the fastest first, and which one runs by default. Returns the ratio of the default's time to the fastest.
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
