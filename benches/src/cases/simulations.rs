//! Rays, walks, particles and neighbours: iterations with loops, and some without.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hidp_std::Context;
use rayon::prelude::*;

use super::lanes::beside_rows;
use super::{Recipes, assert_alike, assert_close, widen};
use crate::buffer::Buffer;
use crate::kernels::simulations;
use crate::peers::simulations::Simulations;
use crate::{Case, Contender, Limit};

pub(super) const RECIPES: Recipes = &[
    ("lanes ray marching f32 720 x 1280", || raymarch(720, 1280)),
    ("lanes neighbours f32 8 of 4096 x 16", || neighbours("neighbours", false)),
    ("lanes neighbours shifted f32 8 of 4096 x 16", || neighbours("neighbours shifted", true)),
    ("lanes Monte-Carlo 2^16 x 256", || inside(1 << 16, 256)),
    ("lanes boxes f32 512 x 100", || boxes(8, 100)),
    ("lanes particles f32 2^18", || particles(1 << 18)),
];

fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

fn raymarch(h: usize, w: usize) -> Case {
    let cx = context();
    let vectors = Simulations::of(cx.isa());
    let light = Rc::new(RefCell::new(Buffer::from_fn(h * w, |_| 0.0f32)));
    let hidp = {
        let light = light.clone();
        move |cx: &Context| {
            let mut light = light.borrow_mut();
            simulations::raymarch(cx, &mut (&mut light[..], [h, w])).expect("it runs");
        }
    };
    let peer = {
        let light = light.clone();
        move || vectors.raymarch(&mut light.borrow_mut(), [h, w])
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer)]);
    // Rays that pass an edge closely end before or behind it as sums are rounded: the light of all together.
    assert_alike("ray marching", &mut contenders, 1e-3, || vec![light.borrow().iter().map(|l| f64::from(*l)).sum()]);
    Case { name: format!("lanes ray marching f32 {h} x {w}"), limit: Limit::Cells((h * w) as f64), contenders }
}

/// Whole numbers from 0 to 31.
fn scattered(i: usize) -> f32 {
    (((i * 2_654_435_761) >> 7) & 31) as f32
}

fn neighbours(name: &str, shifted: bool) -> Case {
    let (queries, n, d) = (8192, 4096, 16);
    let cx = context();
    let vectors = Simulations::of(cx.isa());
    let query = Rc::new(Buffer::from_fn(queries * d, scattered));
    let point = Rc::new(Buffer::from_fn(n * d, |i| scattered(i + 1_000_003)));
    let near = Rc::new(RefCell::new(vec![0i32; queries * 8]));
    let hidp = {
        let (q, p, near) = (query.clone(), point.clone(), near.clone());
        move |cx: &Context| {
            let mut near = near.borrow_mut();
            let (q, p, near) = (&(&q[..], [queries, d]), &(&p[..], [n, d]), &mut (&mut near[..], [queries, 8]));
            let run = if shifted { simulations::neighbours_shifted } else { simulations::neighbours };
            run(cx, q, p, near).expect("it runs");
        }
    };
    let peer = {
        let near = near.clone();
        move || vectors.neighbours(&mut near.borrow_mut(), &query, &point, d)
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer)]);
    assert_alike("neighbours", &mut contenders, 0.0, || near.borrow().iter().map(|k| f64::from(*k)).collect());
    let limit = Limit::Cells((queries * n * d) as f64);
    Case { name: format!("lanes {name} f32 8 of {n} x {d}"), limit, contenders }
}

fn inside(walks: usize, points: i32) -> Case {
    const SEED: u64 = 12345;
    let cx = context();
    let vectors = Simulations::of(cx.isa());
    let hits = Rc::new(Cell::new(0));
    let hidp = {
        let hits = hits.clone();
        move |cx: &Context| hits.set(simulations::inside(cx, SEED, walks as i64, points).expect("it runs"))
    };
    let peer = {
        let hits = hits.clone();
        move || hits.set(vectors.inside(SEED, walks, points))
    };
    let rayon = {
        let hits = hits.clone();
        move || hits.set((0..walks as u64).into_par_iter().map(|walk| inside_of(SEED, walk, points)).sum())
    };
    let peers = vec![Contender::new("vectors", peer), Contender::new("rayon", rayon)];
    let mut contenders = beside_rows(&cx, hidp, peers);
    // Fused or not, a point at the border of the circle may be on either side.
    assert_alike("Monte-Carlo", &mut contenders, 1e-5, || vec![hits.get() as f64]);
    let limit = Limit::Cells(walks as f64 * f64::from(points));
    Case { name: format!("lanes Monte-Carlo 2^{} x {points}", walks.ilog2()), limit, contenders }
}

fn inside_of(seed: u64, walk: u64, points: i32) -> i64 {
    let mut state = seed.wrapping_add(walk.wrapping_mul(11_400_714_819_323_198_485));
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as i32 as f32 * 0.000_000_059_604_645
    };
    let hit = |_: &i32| {
        let (x, y) = (next(), next());
        x * x + y * y < 1.0
    };
    (0..points).filter(hit).count() as i64
}

/// A cube of boxes, of whose neighbours those outside are left out.
fn boxes(side: usize, n: usize) -> Case {
    const ALPHA: f32 = 0.5;
    let (count, most) = (side * side * side, 27);
    let cx = context();
    let vectors = Simulations::of(cx.isa());
    let (mut few, mut near) = (vec![0i32; count], vec![0i32; count * most]);
    for at in 0..count {
        let [i, j, k] = [at / side / side, at / side % side, at % side];
        let around = |x: usize| x.saturating_sub(1)..=(x + 1).min(side - 1);
        let all =
            around(i).flat_map(|i| around(j).flat_map(move |j| around(k).map(move |k| (i * side + j) * side + k)));
        for (slot, other) in near[at * most..].iter_mut().zip(all) {
            *slot = other as i32;
            few[at] += 1;
        }
    }
    let random = |seed: usize| Rc::new(Buffer::from_fn(count * n, move |i| scattered(i + seed) / 16.0));
    let of = [1, 100_003, 200_003, 300_007].map(random);
    let out: [_; 4] = std::array::from_fn(|_| Rc::new(RefCell::new(Buffer::from_fn(count * n, |_| 0.0f32))));
    let hidp = {
        let ([x, y, z, q], [v, fx, fy, fz]) = (of.clone(), out.clone());
        let (few, near) = (few.clone(), near.clone());
        move |cx: &Context| {
            let (mut v, mut fx, mut fy, mut fz) = (v.borrow_mut(), fx.borrow_mut(), fy.borrow_mut(), fz.borrow_mut());
            let size = [count, n];
            let (x, y, z, q) = ((&x[..], size), (&y[..], size), (&z[..], size), (&q[..], size));
            let (v, fx, fy, fz) =
                (&mut (&mut v[..], size), &mut (&mut fx[..], size), &mut (&mut fy[..], size), &mut (&mut fz[..], size));
            simulations::boxes(cx, &x, &y, &z, &q, &few[..], &(&near[..], [count, most]), ALPHA, v, fx, fy, fz)
                .expect("it runs");
        }
    };
    let peer = {
        let [v, fx, fy, fz] = out.clone();
        move || {
            let (mut v, mut fx, mut fy, mut fz) = (v.borrow_mut(), fx.borrow_mut(), fy.borrow_mut(), fz.borrow_mut());
            let of = std::array::from_fn(|at| &of[at][..]);
            vectors.boxes([&mut v, &mut fx, &mut fy, &mut fz], of, &few, &near, ALPHA);
        }
    };
    let pairs: f64 = few_of(side) * (n * n) as f64;
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer)]);
    assert_alike("boxes", &mut contenders, 1e-4, || out.iter().flat_map(|out| widen(&out.borrow())).collect());
    Case { name: format!("lanes boxes f32 {count} x {n}"), limit: Limit::Cells(pairs), contenders }
}

/// Neighbours of all boxes of a cube together.
fn few_of(side: usize) -> f64 {
    ((3 * side - 2) as f64).powi(3)
}

fn particles(n: usize) -> Case {
    const SIZE: [f32; 2] = [100.0, 50.0];
    let cx = context();
    let vectors = Simulations::of(cx.isa());
    let start = |seed: usize, scale: f32| Buffer::from_fn(n, move |i| (scattered(i + seed) - 8.0) * scale);
    let all = Rc::new(RefCell::new([start(0, 3.0), start(7, 2.0), start(77, 1.0), start(777, 1.0)]));
    let reset = {
        let all = all.clone();
        let from = [start(0, 3.0), start(7, 2.0), start(77, 1.0), start(777, 1.0)];
        move || all.borrow_mut().iter_mut().zip(&from).for_each(|(all, from)| all.copy_from_slice(from))
    };
    let hidp = {
        let all = all.clone();
        move |cx: &Context| {
            let [x, y, vx, vy] = &mut *all.borrow_mut();
            let [width, height] = SIZE;
            simulations::particles(cx, &mut x[..], &mut y[..], &mut vx[..], &mut vy[..], 0.01, width, height)
                .expect("it runs");
        }
    };
    let peer = {
        let all = all.clone();
        move || {
            let [x, y, vx, vy] = &mut *all.borrow_mut();
            vectors.particles([x, y], vx, vy, 0.01, SIZE);
        }
    };
    let mut contenders = beside_rows(&cx, hidp, vec![Contender::new("vectors", peer)]);
    let mut expected = None;
    for contender in &mut contenders {
        reset();
        (contender.run)();
        let found: Vec<f64> = all.borrow().iter().flat_map(|all| widen(all)).collect();
        assert_close("particles", &found, expected.get_or_insert(found.clone()), 1e-5);
    }
    Case { name: format!("lanes particles f32 2^{}", n.ilog2()), limit: Limit::Cells(n as f64), contenders }
}
