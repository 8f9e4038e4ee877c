//! The programs that hiCUDA was shown with, without directives, beside hand-written OpenMP.

use std::rc::Rc;

use super::first::{context, shared};
use super::{Recipes, assert_close, widen};
use crate::buffer::Buffer;
use crate::kernels::papers_hicuda::{self as kernels, Atom, Point, Quartet};
use crate::peers::papers as peers;
use crate::random::Random;
use crate::{Case, Contender, Limit};

pub(super) const RECIPES: Recipes = &[
    ("papers matrix product 768", multiplied),
    ("papers CP 256 x 256, 1000 atoms", potential),
    ("papers SAD 144 x 176, 32 x 32 places", differences),
    ("papers TPACF 3000 points", correlated),
    ("papers RPES 40000 quartets", repulsion),
];

/// A case whose contenders leave the same values in what `found` reads, but for `relative` of the largest.
pub(super) fn case(
    name: &str,
    count: usize,
    relative: f64,
    hidp: impl FnMut() + 'static,
    peer: impl FnMut() + 'static,
    found: impl Fn() -> Vec<f64>,
) -> Case {
    let mut contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    let results = contenders.iter_mut().map(|contender| {
        (contender.run)();
        found()
    });
    let results: Vec<Vec<f64>> = results.collect();
    assert_close(name, &results[0], &results[1], relative);
    Case { name: format!("papers {name}"), limit: Limit::Cells(count as f64), contenders }
}

fn multiplied() -> Case {
    let n = 768;
    let value = |i: usize| ((i * 31) % 101) as f32 / 101.0;
    let (a, b) = (Rc::new(Buffer::from_fn(n * n, value)), Rc::new(Buffer::from_fn(n * n, |i| value(i + 7))));
    let c = shared(n * n, |_| 0f32);
    let hidp = {
        let (cx, a, b, c) = (context(), a.clone(), b.clone(), c.clone());
        move || {
            let (a, b) = ((&a[..], [n, n]), (&b[..], [n, n]));
            kernels::multiplied(&cx, &a, &b, &mut (&mut c.borrow_mut()[..], [n, n])).expect("it runs");
        }
    };
    let own = c.clone();
    let peer = move || peers::multiplied(&mut own.borrow_mut(), &a, &b, [n; 3]);
    case("matrix product 768", n * n * n, 1e-5, hidp, peer, move || widen(&c.borrow()))
}

fn potential() -> Case {
    let (shape, count) = ([256, 256], 1000);
    let mut random = Random::new(3);
    let mut to = |most: f64| (most * random.unit()) as f32;
    let atoms =
        Rc::new(Buffer::from_fn(count, |_| Atom { x: to(25.0), y: to(25.0), z: to(5.0), charge: to(2.0) - 1.0 }));
    let (spacing, height) = (0.1, 1.0);
    let energy = shared(shape[0] * shape[1], |_| 0f32);
    let hidp = {
        let (cx, atoms, energy) = (context(), atoms.clone(), energy.clone());
        move || {
            let mut energy = energy.borrow_mut();
            kernels::potential(&cx, &atoms[..], spacing, height, &mut (&mut energy[..], shape)).expect("it runs");
        }
    };
    let own = energy.clone();
    let peer = move || peers::potential(&mut own.borrow_mut(), &atoms, [spacing, height], shape);
    let found = move || widen(&energy.borrow());
    case("CP 256 x 256, 1000 atoms", shape[0] * shape[1] * count, 1e-5, hidp, peer, found)
}

fn differences() -> Case {
    let [b, c, s] = [18, 22, 32];
    let mut random = Random::new(6);
    let mut picture = |h: usize, w: usize| Rc::new(Buffer::from_fn(h * w, |_| random.bits() as u8));
    let (current, before) = (picture(8 * b, 8 * c), picture(8 * b + s, 8 * c + s));
    let (fours, eights) = (shared(4 * b * c * s * s, |_| 0u16), shared(b * c * s * s, |_| 0u16));
    let hidp = {
        let (cx, current, before) = (context(), current.clone(), before.clone());
        let (fours, eights) = (fours.clone(), eights.clone());
        move || {
            let (mut fours, mut eights) = (fours.borrow_mut(), eights.borrow_mut());
            let (current, before) = ((&current[..], [8 * b, 8 * c]), (&before[..], [8 * b + s, 8 * c + s]));
            let fours = &mut (&mut fours[..], [2 * b, 2 * c, s, s]);
            let eights = &mut (&mut eights[..], [b, c, s, s]);
            kernels::differences(&cx, &current, &before, fours, eights).expect("it runs");
        }
    };
    let (own_fours, own_eights) = (fours.clone(), eights.clone());
    let peer = move || {
        let outputs = [&mut own_fours.borrow_mut()[..], &mut own_eights.borrow_mut()[..]];
        peers::differences(outputs, &current, &before, [b, c, s]);
    };
    let found = move || [widen(&fours.borrow()), widen(&eights.borrow())].concat();
    case("SAD 144 x 176, 32 x 32 places", 64 * b * c * s * s, 0.0, hidp, peer, found)
}

fn points(random: &mut Random, count: usize) -> Rc<Buffer<Point>> {
    let mut direction = |_| {
        let [x, y, z] = [(); 3].map(|()| random.unit() - 0.5);
        let length = (x * x + y * y + z * z).sqrt().max(1e-3);
        let [x, y, z] = [x, y, z].map(|part| (part / length) as f32);
        Point { x, y, z }
    };
    Rc::new(Buffer::from_fn(count, &mut direction))
}

fn correlated() -> Case {
    let (n, bins) = (3000, 20);
    let mut random = Random::new(8);
    let (points, others) = (points(&mut random, n), points(&mut random, n));
    let edges = Rc::new(Buffer::from_fn(bins, |i| -((i as f32 + 0.5) / bins as f32 * std::f32::consts::PI).cos()));
    let counts = [(); 2].map(|()| shared(bins + 1, |_| 0i64));
    let hidp = {
        let (cx, points, others, edges, counts) =
            (context(), points.clone(), others.clone(), edges.clone(), counts.clone());
        move || {
            let [mut own, mut mixed] = counts.each_ref().map(|counts| counts.borrow_mut());
            kernels::correlated(&cx, &points[..], &others[..], &edges[..], &mut own[..], &mut mixed[..])
                .expect("it runs");
        }
    };
    let own = counts.clone();
    let peer = move || {
        let [mut own, mut mixed] = own.each_ref().map(|counts| counts.borrow_mut());
        peers::correlated([&mut own, &mut mixed], &points, &others, &edges);
    };
    let found = move || {
        counts.iter().flat_map(|counts| counts.borrow().iter().map(|n| *n as f64).collect::<Vec<_>>()).collect()
    };
    // Where a sum of products is rounded once, a pair may fall into the bin beside.
    case("TPACF 3000 points", n * (n - 1) / 2 + n * n, 1e-4, hidp, peer, found)
}

fn repulsion() -> Case {
    let (shells, count) = (30, 40_000);
    let mut random = Random::new(10);
    let mut to = |low: f64, high: f64| (low + (high - low) * random.unit()) as f32;
    let centres = Rc::new(Buffer::from_fn(shells, |_| Point { x: to(0.0, 2.0), y: to(0.0, 2.0), z: to(0.0, 2.0) }));
    let exponents = Rc::new(Buffer::from_fn(3 * shells, |_| to(0.5, 3.0)));
    let weights = Rc::new(Buffer::from_fn(3 * shells, |_| to(0.1, 1.0)));
    let mut random = Random::new(12);
    let mut shell = || random.below(shells) as i32;
    let quartets = Rc::new(Buffer::from_fn(count, |_| Quartet { a: shell(), b: shell(), c: shell(), d: shell() }));
    let integrals = shared(count, |_| 0f32);
    let hidp = {
        let (cx, centres, quartets, integrals) = (context(), centres.clone(), quartets.clone(), integrals.clone());
        let (exponents, weights) = (exponents.clone(), weights.clone());
        move || {
            let (exponents, weights) = ((&exponents[..], [shells, 3]), (&weights[..], [shells, 3]));
            let mut integrals = integrals.borrow_mut();
            kernels::repulsion(&cx, &centres[..], &exponents, &weights, &quartets[..], &mut integrals[..])
                .expect("it runs");
        }
    };
    let own = integrals.clone();
    let peer = move || peers::repulsion(&mut own.borrow_mut(), &centres, [&exponents, &weights], &quartets);
    case("RPES 40000 quartets", 81 * count, 1e-5, hidp, peer, move || widen(&integrals.borrow()))
}
