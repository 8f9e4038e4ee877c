//! The functions of the example `codelets`: what runs untuned, the quickest of their versions here, and peers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hidp_std::{Context, Error};
use rayon::prelude::*;

use super::first::{context, shared};
use super::{Recipes, assert_alike, assert_close, widen};
use crate::buffer::Buffer;
use crate::kernels::{codelets, prims, spectra};
use crate::peers::papers::Graph;
use crate::python::{self, bytes};
use crate::random::Random;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("codelets sum f32 2^12", || sum(12)),
    ("codelets sum f32 2^26", || sum(26)),
    ("codelets scan i32 2^24", || running(24)),
    ("codelets scan i32 2^26", || running(26)),
    ("codelets histogram 2^26", || histogram("2^26", |random| random.bits() as u8)),
    ("codelets histogram 2^26, one key", || histogram("2^26, one key", |_| 7)),
    ("codelets histogram u32 2^26, 65536 bins", || words("65536 bins", |random| random.bits() as u32 % BINS as u32)),
    ("codelets histogram u32 2^26, 65536 bins, one key", || words("65536 bins, one key", |_| 7)),
    ("codelets k-means 494020 x 34, 5", || clusters(5)),
    ("codelets k-means 494020 x 34, 64", || clusters(64)),
    ("codelets distances 10^6 x 6", distances),
    ("codelets sort u32 2^22", ascending),
];

/// Calls of each version, of which the quickest counts.
const CALLS: usize = 5;
/// Versions that take so many times the quickest one's time are called once.
const HOPELESS: u32 = 3;
/// Different keys of a large histogram.
const BINS: usize = 1 << 16;

/// A context that calls the quickest version.
pub(super) fn quickest(call: &dyn Fn(&Context) -> Result<(), Error>) -> Context {
    let cx = context();
    let Err(Error::UnknownPlan { plans, .. }) = call(&cx.with_plan("none")) else { panic!("a version of that name") };
    let plans = plans.to_string();
    let mut best: Option<(Duration, Context)> = None;
    for name in plans.split('`').skip(1).step_by(2) {
        let cx = cx.with_plan(name);
        for _ in 0..CALLS {
            let start = Instant::now();
            call(&cx).expect("a version runs");
            let time = start.elapsed();
            if best.as_ref().is_none_or(|(least, _)| time < *least) {
                best = Some((time, cx.clone()));
            }
            if best.as_ref().is_some_and(|(least, _)| time > *least * HOPELESS) {
                break;
            }
        }
    }
    best.expect("a function has a version").1
}

/// HiDP's contenders.
pub(super) fn versions(call: impl Fn(&Context) -> Result<(), Error> + 'static) -> Vec<Contender> {
    let (call, cx) = (Rc::new(call), context());
    let (best, untuned) = (quickest(&*call), call.clone());
    vec![
        Contender::new("HiDP", move || untuned(&cx).expect("it runs")),
        Contender::new("HiDP, quickest version", move || call(&best).expect("it runs")),
    ]
}

/// A case whose contenders leave the same values in what `found` reads.
pub(super) fn case(
    name: &str,
    limit: Limit,
    relative: f64,
    mut contenders: Vec<Contender>,
    found: impl Fn() -> Vec<f64>,
) -> Case {
    assert_alike(name, &mut contenders, relative, found);
    Case { name: format!("codelets {name}"), limit, contenders }
}

fn sum(log: u32) -> Case {
    let x = Rc::new(Buffer::from_fn(1 << log, |at| (at % 7) as f32 - 2.0));
    let out = Rc::new(RefCell::new(0f32));
    let limit = Limit::Read(size_of_val(&x[..]) as f64);
    let (input, own) = (x.clone(), out.clone());
    let mut contenders = versions(move |cx| codelets::sum(cx, &input[..]).map(|sum| *own.borrow_mut() = sum));
    let (input, own) = (x.clone(), out.clone());
    let chunk = |x: &[f32]| x.iter().sum::<f32>();
    contenders.push(Contender::new("rayon", move || {
        *own.borrow_mut() = input.par_chunks(1 << 12).map(chunk).sum();
    }));
    let (input, own) = (x.clone(), out.clone());
    contenders.push(Contender::new("OpenMP", move || *own.borrow_mut() = peers::codelets::sum(&input)));
    if peers::has_tbb() {
        let (input, own) = (x.clone(), out.clone());
        contenders.push(Contender::new("C++17 par", move || *own.borrow_mut() = peers::sum_f32(&input)));
    }
    let (cx, own) = (context(), out.clone());
    contenders.push(Contender::new("HiDP, `reduce`", move || {
        *own.borrow_mut() = prims::sum_f32(&cx, &x[..]).expect("it runs");
    }));
    case(&format!("sum f32 2^{log}"), limit, 1e-5, contenders, move || vec![f64::from(*out.borrow())])
}

fn running(log: u32) -> Case {
    let n = 1 << log;
    let x = Rc::new(Buffer::from_fn(n, |at| (at % 7) as i32 - 3));
    let y = shared(n, |_| 0i32);
    let (input, own) = (x.clone(), y.clone());
    let mut contenders = versions(move |cx| codelets::running(cx, &input[..], &mut own.borrow_mut()[..]));
    if peers::has_tbb() {
        let (input, own) = (x.clone(), y.clone());
        contenders.push(Contender::new("C++17 par", move || peers::scan_i32(&input, &mut own.borrow_mut())));
    }
    let (cx, own) = (context(), y.clone());
    contenders.push(Contender::new("HiDP, `scan`", move || {
        prims::scan_i32(&cx, &x[..], &mut own.borrow_mut()[..]).expect("it runs");
    }));
    case(&format!("scan i32 2^{log}"), Limit::Stream(8.0 * n as f64), 0.0, contenders, move || widen(&y.borrow()))
}

fn histogram(name: &str, key: fn(&mut Random) -> u8) -> Case {
    let n = 1 << 26;
    let mut random = Random::new(7);
    let x = Rc::new(Buffer::from_fn(n, |_| key(&mut random)));
    let counts = Rc::new(RefCell::new([0u32; 256]));
    let (input, own) = (x.clone(), counts.clone());
    let mut contenders = versions(move |cx| codelets::histogram_of_bytes(cx, &input[..], &mut own.borrow_mut()[..]));
    let (input, own) = (x.clone(), counts.clone());
    contenders.push(Contender::new("OpenMP", move || peers::first::histogram(&mut own.borrow_mut(), &input)));
    if peers::has_tbb() {
        let own = counts.clone();
        contenders.push(Contender::new("TBB", move || peers::codelets::histogram(&mut own.borrow_mut(), &x)));
    }
    let found = move || counts.borrow().iter().map(|count| f64::from(*count)).collect();
    case(&format!("histogram {name}"), Limit::Read(n as f64), 0.0, contenders, found)
}

fn words(name: &str, key: fn(&mut Random) -> u32) -> Case {
    let n = 1 << 26;
    let mut random = Random::new(7);
    let x = Rc::new(Buffer::from_fn(n, |_| key(&mut random)));
    let counts = shared(BINS, |_| 0u32);
    let (input, own) = (x.clone(), counts.clone());
    let mut contenders = versions(move |cx| spectra::histogram_of_words(cx, &input[..], &mut own.borrow_mut()[..]));
    let words = peers::codelets::Words::new(x, BINS);
    let (of, own) = (words.clone(), counts.clone());
    contenders.push(Contender::new("OpenMP", move || of.counted(&mut own.borrow_mut())));
    if peers::has_tbb() {
        let own = counts.clone();
        contenders.push(Contender::new("TBB", move || words.counted_by_tbb(&mut own.borrow_mut())));
    }
    let found = move || widen(&counts.borrow());
    case(&format!("histogram u32 2^26, {name}"), Limit::Read(4.0 * n as f64), 0.0, contenders, found)
}

fn clusters(k: usize) -> Case {
    let (n, d) = (494_020, 34);
    let mut random = Random::new(11);
    let point = Rc::new(Buffer::from_fn(n * d, |_| random.unit() as f32));
    let centre = Rc::new(Buffer::from_fn(k * d, |_| random.unit() as f32));
    let (cluster, counts) = (shared(n, |_| 0i32), shared(k, |_| 0u32));
    let sums = shared(k * d, |_| 0f32);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let files = [
        ("point", bytes(&point[..], f32::to_le_bytes)),
        ("centre", bytes(&centre[..], f32::to_le_bytes)),
        ("sizes", bytes(&[n, d, k, threads].map(|size| size as i64), i64::to_le_bytes)),
    ];
    let scikit = python::contender("scikit-learn", "lloyd", &files);
    let (points, centres) = (point.clone(), centre.clone());
    let (of_points, of_each, many) = (cluster.clone(), sums.clone(), counts.clone());
    let mut contenders = versions(move |cx| {
        let (points, centres) = ((&points[..], [n, d]), (&centres[..], [k, d]));
        let (mut cluster, mut sums) = (of_points.borrow_mut(), of_each.borrow_mut());
        let sums = &mut (&mut sums[..], [k, d]);
        codelets::clusters(cx, &points, &centres, &mut cluster[..], sums, &mut many.borrow_mut()[..])
    });
    let (of_points, of_each, many) = (cluster, sums.clone(), counts.clone());
    contenders.push(Contender::new("OpenMP", move || {
        let (mut cluster, mut sums) = (of_points.borrow_mut(), of_each.borrow_mut());
        peers::codelets::clusters(&mut cluster, &mut sums, &mut many.borrow_mut(), &point, &centre);
    }));
    if let Some((peer, result)) = scikit {
        (contenders[0].run)();
        let expected: Vec<f64> = result.split(' ').map(|count| count.parse().expect("a number of points")).collect();
        assert_close("k-means", &widen(&counts.borrow()), &expected, 1e-3);
        contenders.push(peer);
    }
    // Points between two centres may go to either, and sums are of some 10^5 floats.
    let found =
        move || [widen(&sums.borrow()), counts.borrow().iter().map(|count| f64::from(*count)).collect()].concat();
    case(&format!("k-means 494020 x 34, {k}"), Limit::Flops((3 * n * d * k) as f64), 1e-3, contenders, found)
}

fn distances() -> Case {
    let (n, degree) = (1_000_000, 6);
    let mut random = Random::new(6);
    let first = Rc::new(Buffer::from_fn(n + 1, |node| (degree * node) as i32));
    let edges = Rc::new(Buffer::from_fn(degree * n, |_| random.below(n) as i32));
    let (graph, far) = (Rc::new(Graph::new(&first, &edges)), shared(n, |_| 0i32));
    let own = far.clone();
    let mut contenders =
        versions(move |cx| codelets::distances(cx, &first[..], &edges[..], 1, &mut own.borrow_mut()[..]));
    let (of, own) = (graph.clone(), far.clone());
    contenders.push(Contender::new("OpenMP, by levels", move || peers::papers::levels(&mut own.borrow_mut(), &of, 1)));
    let (into, own) = (graph.turned(), far.clone());
    contenders.push(Contender::new("OpenMP, in both directions", move || {
        peers::codelets::directions(&mut own.borrow_mut(), &graph, &into, 1);
    }));
    let limit = Limit::Cells((degree * n) as f64);
    case("distances 10^6 x 6", limit, 0.0, contenders, move || widen(&far.borrow()))
}

fn ascending() -> Case {
    let n = 1 << 22;
    let mut random = Random::new(4);
    let keys = Rc::new(Buffer::from_fn(n, |_| random.bits() as u32));
    let sorted = shared(n, |_| 0u32);
    let (input, own) = (keys.clone(), sorted.clone());
    let mut contenders = versions(move |cx| codelets::ascending(cx, &input[..], &mut own.borrow_mut()[..]));
    let peer = |sort: fn(&mut [u32])| {
        let (input, own) = (keys.clone(), sorted.clone());
        move || {
            let mut own = own.borrow_mut();
            own.copy_from_slice(&input);
            sort(&mut own);
        }
    };
    contenders.push(Contender::new("rayon", peer(|keys| keys.par_sort_unstable())));
    if peers::has_tbb() {
        contenders.push(Contender::new("C++17 par", peer(peers::sorts::u32::standard)));
    }
    let limit = Limit::Cells(n as f64);
    case("sort u32 2^22", limit, 0.0, contenders, move || sorted.borrow().iter().map(|key| f64::from(*key)).collect())
}
