//! Programs that Lee et al. map, without directives, beside hand-written OpenMP.

use std::rc::Rc;

use super::first::{context, shared};
use super::papers_hicuda::case;
use super::{Recipes, widen};
use crate::Case;
use crate::buffer::Buffer;
use crate::kernels::papers_lee::{self as kernels, Place};
use crate::peers::papers::{self as peers, Graph};
use crate::random::Random;

pub(super) const RECIPES: Recipes = &[
    ("papers NN 2^22", nearest),
    ("papers Gaussian 600", eliminated),
    ("papers Hotspot 1024 x 1024, 10 steps", heated),
    ("papers Mandelbrot 512 x 512", turns),
    ("papers SRAD 512 x 512, 10 steps", evened),
    ("papers Pathfinder 100 x 200000", walked),
    ("papers LUD 600", factored),
    ("papers BFS 500000 nodes", levels),
];

fn nearest() -> Case {
    let n = 1 << 22;
    let mut random = Random::new(1);
    let mut degrees = || (90.0 * random.unit()) as f32;
    let places = Rc::new(Buffer::from_fn(n, |_| Place { latitude: degrees(), longitude: degrees() }));
    let (latitude, longitude) = (30.0, 60.0);
    let (distance, least) = (shared(n, |_| 0f32), shared(1, |_| 0f32));
    let hidp = {
        let (cx, places, distance, least) = (context(), places.clone(), distance.clone(), least.clone());
        move || {
            let mut distance = distance.borrow_mut();
            let found = kernels::nearest(&cx, &places[..], latitude, longitude, &mut distance[..]);
            least.borrow_mut()[0] = found.expect("it runs");
        }
    };
    let (own, own_least) = (distance.clone(), least.clone());
    let peer = move || {
        own_least.borrow_mut()[0] = peers::nearest(&mut own.borrow_mut(), &places, [latitude, longitude]);
    };
    case("NN 2^22", n, 1e-6, hidp, peer, move || [widen(&distance.borrow()), widen(&least.borrow())].concat())
}

/// Diagonally dominant.
fn dominant(n: usize) -> Rc<Buffer<f64>> {
    let value = |i: usize, j: usize| if i == j { n as f64 } else { ((i + j) % 7) as f64 / 7.0 - 0.4 };
    Rc::new(Buffer::from_fn(n * n, |at| value(at / n, at % n)))
}

fn eliminated() -> Case {
    let n = 600;
    let (start, right) = (dominant(n), Rc::new(Buffer::from_fn(n, |i| (i % 11) as f64)));
    let (a, b) = (shared(n * n, |_| 0f64), shared(n, |_| 0f64));
    let fresh = {
        let (a, b) = (a.clone(), b.clone());
        move || {
            a.borrow_mut().copy_from_slice(&start);
            b.borrow_mut().copy_from_slice(&right);
        }
    };
    let hidp = {
        let (cx, a, b, fresh) = (context(), a.clone(), b.clone(), fresh.clone());
        move || {
            fresh();
            let (mut a, mut b) = (a.borrow_mut(), b.borrow_mut());
            kernels::eliminated(&cx, &mut (&mut a[..], [n, n]), &mut b[..]).expect("it runs");
        }
    };
    let (own_a, own_b) = (a.clone(), b.clone());
    let peer = move || {
        fresh();
        peers::eliminated(&mut own_a.borrow_mut(), &mut own_b.borrow_mut());
    };
    let found = move || [&a.borrow()[..], &b.borrow()[..]].concat();
    case("Gaussian 600", n * n * n / 3, 1e-10, hidp, peer, found)
}

fn heated() -> Case {
    let (shape, steps) = ([1024, 1024], 10);
    let size = shape[0] * shape[1];
    let mut random = Random::new(2);
    let mut field = || Rc::new(Buffer::from_fn(size, |_| random.unit() as f32));
    let (power, start) = (field(), field());
    let heat = shared(size, |_| 0f32);
    let hidp = {
        let (cx, power, start, heat) = (context(), power.clone(), start.clone(), heat.clone());
        move || {
            let mut heat = heat.borrow_mut();
            heat.copy_from_slice(&start);
            kernels::heated(&cx, &(&power[..], shape), steps, &mut (&mut heat[..], shape)).expect("it runs");
        }
    };
    let own = heat.clone();
    let peer = move || {
        let mut heat = own.borrow_mut();
        heat.copy_from_slice(&start);
        peers::heated(&mut heat, &power, shape, steps);
    };
    let found = move || widen(&heat.borrow());
    case("Hotspot 1024 x 1024, 10 steps", size * steps as usize, 1e-5, hidp, peer, found)
}

fn turns() -> Case {
    let (shape, most) = ([512, 512], 200);
    let (left, top, step) = (-2.0, -1.25, 2.5 / 512.0);
    let turns = shared(shape[0] * shape[1], |_| 0i32);
    let hidp = {
        let (cx, turns) = (context(), turns.clone());
        move || {
            let mut turns = turns.borrow_mut();
            kernels::turns(&cx, left, top, step, most, &mut (&mut turns[..], shape)).expect("it runs");
        }
    };
    let own = turns.clone();
    let vectors = crate::peers::lanes::Lanes::of(context().isa());
    let peer = move || vectors.mandelbrot(&mut own.borrow_mut(), (left, step, top, step, most), shape);
    // At the border of the set the last bits are all.
    let found = move || vec![turns.borrow().iter().map(|count| f64::from(*count)).sum()];
    case("Mandelbrot 512 x 512", shape[0] * shape[1], 1e-2, hidp, peer, found)
}

fn evened() -> Case {
    let (shape, steps) = ([512, 512], 10);
    let size = shape[0] * shape[1];
    let mut random = Random::new(4);
    let start = Rc::new(Buffer::from_fn(size, |_| 1.0 + random.unit() as f32));
    let image = shared(size, |_| 0f32);
    let hidp = {
        let (cx, start, image) = (context(), start.clone(), image.clone());
        move || {
            let mut image = image.borrow_mut();
            image.copy_from_slice(&start);
            kernels::evened(&cx, steps, &mut (&mut image[..], shape)).expect("it runs");
        }
    };
    let own = image.clone();
    let peer = move || {
        let mut image = own.borrow_mut();
        image.copy_from_slice(&start);
        peers::evened(&mut image, shape, steps);
    };
    let found = move || widen(&image.borrow());
    case("SRAD 512 x 512, 10 steps", size * steps as usize, 1e-3, hidp, peer, found)
}

fn walked() -> Case {
    let (steps, n) = (100, 200_000);
    let mut random = Random::new(5);
    let wall = Rc::new(Buffer::from_fn(steps * n, |_| random.below(10) as i32));
    let cost = shared(n, |_| 0i32);
    let hidp = {
        let (cx, wall, cost) = (context(), wall.clone(), cost.clone());
        move || kernels::walked(&cx, &(&wall[..], [steps, n]), &mut cost.borrow_mut()[..]).expect("it runs")
    };
    let own = cost.clone();
    let peer = move || peers::walked(&mut own.borrow_mut(), &wall);
    case("Pathfinder 100 x 200000", steps * n, 0.0, hidp, peer, move || widen(&cost.borrow()))
}

fn factored() -> Case {
    let n = 600;
    let start = dominant(n);
    let a = shared(n * n, |_| 0f64);
    let hidp = {
        let (cx, start, a) = (context(), start.clone(), a.clone());
        move || {
            let mut a = a.borrow_mut();
            a.copy_from_slice(&start);
            kernels::factored(&cx, &mut (&mut a[..], [n, n])).expect("it runs");
        }
    };
    let own = a.clone();
    let peer = move || {
        let mut a = own.borrow_mut();
        a.copy_from_slice(&start);
        peers::factored(&mut a, n);
    };
    case("LUD 600", n * n * n / 3, 1e-10, hidp, peer, move || a.borrow().to_vec())
}

fn levels() -> Case {
    let (n, degree) = (500_000, 6);
    let mut random = Random::new(6);
    let first = Rc::new(Buffer::from_fn(n + 1, |node| (degree * node) as i32));
    let edges = Rc::new(Buffer::from_fn(degree * n, |_| random.below(n) as i32));
    let graph = Graph::new(&first, &edges);
    let level = shared(n, |_| 0i32);
    let hidp = {
        let (cx, level) = (context(), level.clone());
        move || kernels::levels(&cx, &first[..], &edges[..], 1, &mut level.borrow_mut()[..]).expect("it runs")
    };
    let own = level.clone();
    let peer = move || peers::levels(&mut own.borrow_mut(), &graph, 1);
    case("BFS 500000 nodes", degree * n, 0.0, hidp, peer, move || widen(&level.borrow()))
}
