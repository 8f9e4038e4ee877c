//! Iterations with loops, whole ones in vector lanes.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::Context;
use rayon::prelude::*;

use super::recur::{hidden_markov, letters};
use super::{Recipes, assert_alike, assert_close, widen};
use crate::buffer::Buffer;
use crate::kernels::lanes;
use crate::peers::lanes::Lanes;
use crate::{Case, Contender, Limit};

pub(super) const RECIPES: Recipes = &[
    ("lanes mandelbrot f32 1024 x 1024", || mandelbrot(1024, 1024)),
    ("lanes binomial f32 2^16", || binomial(1 << 16)),
    ("lanes nearest of 5 f32 2^16 x 34", || nearest(1 << 16, 34, 5)),
    ("lanes nearest of 64 f32 2^16 x 34", || nearest(1 << 16, 34, 64)),
    ("lanes edit distance 10000 x 200", || edit_distances(10_000, 200)),
    ("lanes forward f32 10 x 10000 x 100", || forward(10_000, 100)),
];

/// Corner and width of a pixel, and turns at most.
const PLANE: (f32, f32, f32, f32, i32) = (-2.0, 3.0 / 1024.0, -1.5, 3.0 / 1024.0, 256);

fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

/// What the rules choose, its peers, and one iteration at a time.
pub(super) fn beside_rows(
    cx: &Context,
    hidp: impl Fn(&Context) + Clone + 'static,
    peers: Vec<Contender>,
) -> Vec<Contender> {
    let by = |name, cx: Context| {
        let hidp = hidp.clone();
        Contender::new(name, move || hidp(&cx))
    };
    let (chosen, rows) = (by("HiDP", cx.clone()), by("rows", cx.with_plan("rows")));
    std::iter::once(chosen).chain(peers).chain([rows]).collect()
}

/// Turns of one point.
fn turns(i: usize, j: usize) -> i32 {
    let (x0, dx, y0, dy, most) = PLANE;
    let (cr, ci) = (x0 + j as f32 * dx, y0 + i as f32 * dy);
    let (mut zr, mut zi, mut k) = (0.0f32, 0.0f32, 0);
    while k < most && zr * zr + zi * zi <= 4.0 {
        let t = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        k += 1;
    }
    k
}

fn mandelbrot(h: usize, w: usize) -> Case {
    let (x0, dx, y0, dy, most) = PLANE;
    let cx = context();
    let vectors = Lanes::of(cx.isa());
    let found = Rc::new(RefCell::new(vec![0i32; h * w]));
    let hidp = {
        let found = found.clone();
        move |cx: &Context| {
            let mut found = found.borrow_mut();
            lanes::mandelbrot(cx, x0, dx, y0, dy, most, &mut (&mut found[..], [h, w])).expect("mandelbrot runs");
        }
    };
    let peer = {
        let found = found.clone();
        move || vectors.mandelbrot(&mut found.borrow_mut(), PLANE, [h, w])
    };
    let rayon = {
        let found = found.clone();
        move || {
            let mut found = found.borrow_mut();
            let rows = found.par_chunks_mut(w).enumerate();
            rows.for_each(|(i, row)| row.iter_mut().enumerate().for_each(|(j, k)| *k = turns(i, j)));
        }
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer), Contender::new("rayon", rayon)]);
    let mut sums = Vec::new();
    for contender in &mut contenders {
        (contender.run)();
        sums.push(found.borrow().iter().map(|k| f64::from(*k)).sum::<f64>());
    }
    // At the border of the set the last bits are all, and plain Rust fuses nothing.
    assert_close("mandelbrot", &sums[1..], &vec![sums[0]; sums.len() - 1], 1e-2);
    Case { name: format!("lanes mandelbrot f32 {h} x {w}"), limit: Limit::Cells(sums[0]), contenders }
}

/// Up, down, chance of up, discount of a step.
const TREE: (f32, f32, f32, f32) = (1.02, 1.0 / 1.02, 0.505, 0.9995);

fn option(price: f32, strike: f32) -> f32 {
    let (up, down, chance, discount) = TREE;
    let mut v = [0.0f32; 65];
    let mut s = price;
    for _ in 0..64 {
        s *= down;
    }
    let mut low = s;
    for v in &mut v {
        *v = (strike - s).max(0.0);
        s = s * up * up;
    }
    for t in (1..=64).rev() {
        low *= up;
        let mut at = low;
        for k in 0..t {
            v[k] = (discount * (chance * v[k + 1] + (1.0 - chance) * v[k])).max(strike - at);
            at = at * up * up;
        }
    }
    v[0]
}

fn binomial(n: usize) -> Case {
    let (up, down, chance, discount) = TREE;
    let price = Rc::new(Buffer::from_fn(n, |i| 80.0 + (i % 41) as f32));
    let strike = Rc::new(Buffer::from_fn(n, |i| 90.0 + (i % 23) as f32));
    let value = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f32)));
    let cx = context();
    let vectors = Lanes::of(cx.isa());
    let hidp = {
        let (p, s, v) = (price.clone(), strike.clone(), value.clone());
        move |cx: &Context| {
            let mut v = v.borrow_mut();
            lanes::binomial(cx, &p[..], &s[..], up, down, chance, discount, &mut v[..]).expect("binomial runs");
        }
    };
    let peer = {
        let (p, s, v) = (price.clone(), strike.clone(), value.clone());
        move || vectors.binomial(&mut v.borrow_mut(), &p, &s, TREE)
    };
    let rayon = {
        let v = value.clone();
        move || {
            let mut v = v.borrow_mut();
            let all = v.par_iter_mut().zip(price.par_iter()).zip(strike.par_iter());
            all.for_each(|((v, p), s)| *v = option(*p, *s));
        }
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer), Contender::new("rayon", rayon)]);
    check("binomial", &mut contenders, &value);
    Case { name: format!("lanes binomial f32 2^{}", n.ilog2()), limit: Limit::Cells(2080.0 * n as f64), contenders }
}

/// The nearest centre of one point.
fn nearest_of(point: &[f32], centre: &[f32]) -> i32 {
    let mut least = (f32::INFINITY, 0);
    for (k, centre) in (0..).zip(centre.chunks(point.len())) {
        let sum = point.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum::<f32>();
        if sum < least.0 {
            least = (sum, k);
        }
    }
    least.1
}

fn nearest(n: usize, d: usize, k: usize) -> Case {
    // Small integers: sums are exact in any order.
    let scattered = |i: usize| (((i * 2_654_435_761) >> 7) & 31) as f32;
    let point = Rc::new(Buffer::from_fn(n * d, scattered));
    let centre = Rc::new(Buffer::from_fn(k * d, |i| scattered(i + 1_000_003)));
    let cluster = Rc::new(RefCell::new(vec![0i32; n]));
    let cx = context();
    let vectors = Lanes::of(cx.isa());
    let hidp = {
        let (p, c, found) = (point.clone(), centre.clone(), cluster.clone());
        move |cx: &Context| {
            let mut found = found.borrow_mut();
            lanes::nearest(cx, &(&p[..], [n, d]), &(&c[..], [k, d]), &mut found[..]).expect("nearest runs");
        }
    };
    let peer = {
        let (p, c, found) = (point.clone(), centre.clone(), cluster.clone());
        move || vectors.nearest(&mut found.borrow_mut(), &p, &c, d)
    };
    let rayon = {
        let found = cluster.clone();
        move || {
            let mut found = found.borrow_mut();
            let centre = &centre[..];
            found.par_iter_mut().zip(point.par_chunks(d)).for_each(|(best, point)| *best = nearest_of(point, centre));
        }
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer), Contender::new("rayon", rayon)]);
    same("nearest", &mut contenders, &cluster);
    let limit = Limit::Cells((n * d * k) as f64);
    Case { name: format!("lanes nearest of {k} f32 2^{} x {d}", n.ilog2()), limit, contenders }
}

/// Edit distance of a pair.
fn distance(a: &[u8], b: &[u8]) -> i32 {
    let mut row: Vec<i32> = (0..=b.len() as i32).collect();
    for (i, a) in (1..).zip(a) {
        let mut before = std::mem::replace(&mut row[0], i);
        for (j, b) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (before + i32::from(a != b)).min(above.min(row[j]) + 1);
            before = above;
        }
    }
    row[b.len()]
}

fn edit_distances(pairs: usize, n: usize) -> Case {
    let (a, b) = (letters(pairs * n, 4, 3), letters(pairs * n, 4, 4));
    let found = Rc::new(RefCell::new(vec![0i32; pairs]));
    let cx = context();
    let vectors = Lanes::of(cx.isa());
    let hidp = {
        let (a, b, found) = (a.clone(), b.clone(), found.clone());
        move |cx: &Context| {
            let (a, b) = ((&a[..], [pairs, n]), (&b[..], [pairs, n]));
            lanes::edit_distances(cx, &a, &b, &mut found.borrow_mut()[..]).expect("it runs");
        }
    };
    let peer = {
        let (a, b, found) = (a.clone(), b.clone(), found.clone());
        move || vectors.edit_rows(&mut found.borrow_mut(), &a, &b, [n, n])
    };
    let rayon = {
        let found = found.clone();
        move || {
            let mut found = found.borrow_mut();
            let pairs = found.par_iter_mut().zip(a.par_chunks(n)).zip(b.par_chunks(n));
            pairs.for_each(|((found, a), b)| *found = distance(a, b));
        }
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer), Contender::new("rayon", rayon)]);
    same("edit distances", &mut contenders, &found);
    let limit = Limit::Cells((pairs * n * n) as f64);
    Case { name: format!("lanes edit distance {pairs} x {n}"), limit, contenders }
}

fn forward(sequences: usize, length: usize) -> Case {
    let (states, symbols) = (10, 4);
    let x = letters(sequences * length, symbols, 7);
    let [start, step, emit] = hidden_markov(states, symbols);
    let found = Rc::new(RefCell::new(Buffer::from_fn(sequences, |_| 0.0f32)));
    let cx = context();
    let vectors = Lanes::of(cx.isa());
    let hidp = {
        let (start, step, emit, x, found) = (start.clone(), step.clone(), emit.clone(), x.clone(), found.clone());
        move |cx: &Context| {
            let (step, emit) = ((&step[..], [states, states]), (&emit[..], [states, symbols]));
            let x = (&x[..], [sequences, length]);
            lanes::forward(cx, &start[..], &step, &emit, &x, &mut found.borrow_mut()[..]).expect("it runs");
        }
    };
    let peer = {
        let found = found.clone();
        move || vectors.forward_rows(&mut found.borrow_mut(), [&start, &step, &emit], &x)
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer)]);
    check("forward", &mut contenders, &found);
    let limit = Limit::Cells((states * sequences * length) as f64);
    Case { name: format!("lanes forward f32 {states} x {sequences} x {length}"), limit, contenders }
}

/// All contenders give what the first one does.
fn check(name: &str, contenders: &mut [Contender], value: &RefCell<Buffer<f32>>) {
    assert_alike(name, contenders, 1e-4, || widen(&value.borrow()));
}

/// All contenders give the same numbers.
fn same(name: &str, contenders: &mut [Contender], value: &RefCell<Vec<i32>>) {
    let mut expected: Option<Vec<i32>> = None;
    for contender in contenders {
        (contender.run)();
        let found = value.borrow().clone();
        assert_eq!(*expected.get_or_insert(found.clone()), found, "{name} by {}", contender.name);
    }
}
