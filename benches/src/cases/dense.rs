//! Vectors and dense matrices.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use hidp_std::Context;
use rayon::prelude::*;

use super::{Recipes, assert_close, widen};
use crate::buffer::{Buffer, Number};
use crate::kernels::blas;
use crate::openblas::OpenBlas;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    // On one thread these three take about 1, 10 and 100 us: what it costs to start a launch.
    ("triad f32 2^13", || triad(13)),
    ("triad f32 2^16", || triad(16)),
    ("triad f32 2^18", || triad(18)),
    ("triad f32 2^26", || triad(26)),
    ("dot f32 2^26", dot),
    ("row sums f32 1 x 2^26", || row_sums(1, 1 << 26)),
    ("row sums f32 2^13 x 2^13", || row_sums(1 << 13, 1 << 13)),
    ("row sums f32 2^22 x 2^4", || row_sums(1 << 22, 1 << 4)),
    ("column sums f32 2^4 x 2^22", || column_sums(1 << 4, 1 << 22)),
    ("column sums f32 2^13 x 2^13", || column_sums(1 << 13, 1 << 13)),
    ("column sums f32 2^22 x 2^4", || column_sums(1 << 22, 1 << 4)),
    ("gemm f32 256", || gemm::<f32>([256; 3])),
    ("gemm f32 1024", || gemm::<f32>([1024; 3])),
    ("gemm f32 2048", || gemm::<f32>([2048; 3])),
    ("gemm f32 64 x 64 x 4096", || gemm::<f32>([64, 64, 4096])),
    ("gemm f32 8 x 8 x 4096", || gemm::<f32>([8, 8, 4096])),
    ("gemm f32 128 x 1 x 524288", || gemm::<f32>([128, 1, 524_288])),
    ("gemm f64 256", || gemm::<f64>([256; 3])),
    ("gemm f64 1024", || gemm::<f64>([1024; 3])),
    ("gemm f64 2048", || gemm::<f64>([2048; 3])),
];

fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

fn small(index: usize) -> f32 {
    ((index * 7919) % 17) as f32 / 16.0 - 0.5
}

fn triad(bits: u32) -> Case {
    let n = 1 << bits;
    let b = Rc::new(Buffer::from_fn(n, small));
    let c = Rc::new(Buffer::from_fn(n, |i| small(i + 5)));
    let a = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f32)));
    let cx = context();
    blas::triad(&cx, &b[..], &c[..], 3.0, &mut a.borrow_mut()[..]).expect("triad runs");
    assert!(a.borrow().iter().zip(b.iter().zip(c.iter())).all(|(a, (b, c))| (a - (b + 3.0 * c)).abs() < 1e-5));

    let hidp = {
        let (a, b, c) = (a.clone(), b.clone(), c.clone());
        move || blas::triad(&cx, &b[..], &c[..], 3.0, &mut a.borrow_mut()[..]).expect("triad runs")
    };
    let openmp = {
        let (a, b, c) = (a.clone(), b.clone(), c.clone());
        move || peers::triad(&mut a.borrow_mut(), &b, &c, 3.0)
    };
    let streamed = {
        let (a, b, c) = (a.clone(), b.clone(), c.clone());
        move || peers::triad_stream(&mut a.borrow_mut(), &b, &c, 3.0)
    };
    // At least four parts for each of two threads.
    let part = (n / 8).min(1 << 16);
    let rayon = move || {
        let mut a = a.borrow_mut();
        let parts = a.par_chunks_mut(part).zip(b.par_chunks(part)).zip(c.par_chunks(part));
        parts.for_each(|((a, b), c)| a.iter_mut().zip(b.iter().zip(c)).for_each(|(a, (b, c))| *a = b + 3.0 * c));
    };
    Case {
        name: format!("triad f32 2^{bits}"),
        limit: Limit::Stream(12.0 * n as f64),
        contenders: vec![
            Contender::new("HiDP", hidp),
            Contender::new("OpenMP", openmp),
            Contender::new("OpenMP stream", streamed),
            Contender::new("rayon", rayon),
        ],
    }
}

fn dot() -> Case {
    let n = 1 << 26;
    let x = Rc::new(Buffer::from_fn(n, small));
    let y = Rc::new(Buffer::from_fn(n, |i| small(i + 3)));
    let cx = context();
    let found = blas::dot(&cx, &x[..], &y[..]).expect("dot runs");
    let expected: f64 = x.iter().zip(y.iter()).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    assert_close("dot", &[f64::from(found)], &[expected], 1e-5);

    let hidp = {
        let (x, y) = (x.clone(), y.clone());
        move || {
            black_box(blas::dot(&cx, &x[..], &y[..]).expect("dot runs"));
        }
    };
    let openmp = {
        let (x, y) = (x.clone(), y.clone());
        move || {
            black_box(peers::dot(&x, &y));
        }
    };
    let rayon = move || {
        let parts = x.par_chunks(1 << 16).zip(y.par_chunks(1 << 16));
        black_box(parts.map(|(x, y)| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>()).sum::<f32>());
    };
    Case {
        name: "dot f32 2^26".into(),
        limit: Limit::Read(8.0 * n as f64),
        contenders: vec![
            Contender::new("HiDP", hidp),
            Contender::new("OpenMP", openmp),
            Contender::new("rayon", rayon),
        ],
    }
}

fn row_sums(rows: usize, columns: usize) -> Case {
    let a = Rc::new(Buffer::from_fn(rows * columns, small));
    let cx = context();
    let mut y = Buffer::from_fn(rows, |_| 0.0f32);
    blas::row_sums(&cx, &(&a[..], [rows, columns]), &mut y[..]).expect("row sums run");
    let expected: Vec<f64> = a.chunks(columns).map(|row| row.iter().map(|&e| f64::from(e)).sum()).collect();
    assert_close("row sums", &widen(&y), &expected, 1e-5);

    let mut z = Buffer::from_fn(rows, |_| 0.0f32);
    let b = a.clone();
    Case {
        name: format!("row sums f32 {rows} x {columns}"),
        limit: Limit::Read(4.0 * (rows * columns) as f64),
        contenders: vec![
            Contender::new("HiDP", move || {
                blas::row_sums(&cx, &(&a[..], [rows, columns]), &mut y[..]).expect("row sums run");
            }),
            Contender::new("OpenMP", move || peers::row_sums(&mut z, &b)),
        ],
    }
}

fn column_sums(rows: usize, columns: usize) -> Case {
    let a = Rc::new(Buffer::from_fn(rows * columns, small));
    let cx = context();
    let mut y = Buffer::from_fn(columns, |_| 0.0f32);
    blas::column_sums(&cx, &(&a[..], [rows, columns]), &mut y[..]).expect("column sums run");
    let mut expected = vec![0.0; columns];
    for row in a.chunks(columns) {
        expected.iter_mut().zip(row).for_each(|(sum, &e)| *sum += f64::from(e));
    }
    assert_close("column sums", &widen(&y), &expected, 1e-4);

    let mut z = Buffer::from_fn(columns, |_| 0.0f32);
    let b = a.clone();
    Case {
        name: format!("column sums f32 {rows} x {columns}"),
        limit: Limit::Read(4.0 * (rows * columns) as f64),
        contenders: vec![
            Contender::new("HiDP", move || {
                blas::column_sums(&cx, &(&a[..], [rows, columns]), &mut y[..]).expect("column sums run");
            }),
            Contender::new("OpenMP", move || peers::column_sums(&mut z, &b)),
        ],
    }
}

/// Elements of products.
trait Element: Number + Into<f64> + From<f32> {
    const NAME: &'static str;
    const LIMIT: fn(f64) -> Limit;
    fn hidp(cx: &Context, shape: [usize; 3], a: &[Self], b: &[Self], c: &mut [Self]);
    /// By the crate matrixmultiply.
    fn multiply(shape: [usize; 3], a: &[Self], b: &[Self], c: &mut [Self]);
    fn openblas(library: &OpenBlas, shape: [usize; 3], a: &[Self], b: &[Self], c: &mut [Self]);
}

macro_rules! element {
    ($type:ident, $limit:ident, $hidp:ident, $multiply:ident, $openblas:ident) => {
        impl Element for $type {
            const NAME: &'static str = stringify!($type);
            const LIMIT: fn(f64) -> Limit = Limit::$limit;

            fn hidp(cx: &Context, [m, n, k]: [usize; 3], a: &[$type], b: &[$type], c: &mut [$type]) {
                blas::$hidp(cx, 1.0, 0.0, &(a, [m, k]), &(b, [k, n]), &mut (c, [m, n])).expect("gemm runs");
            }

            fn multiply([m, n, k]: [usize; 3], a: &[$type], b: &[$type], c: &mut [$type]) {
                assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
                let row = |columns: usize| columns as isize;
                // SAFETY: row-major strides of slices whose lengths were just checked.
                unsafe {
                    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                    matrixmultiply::$multiply(m, k, n, 1.0, a, row(k), 1, b, row(n), 1, 0.0, c, row(n), 1);
                }
            }

            fn openblas(library: &OpenBlas, shape: [usize; 3], a: &[$type], b: &[$type], c: &mut [$type]) {
                library.$openblas(shape, a, b, c);
            }
        }
    };
}

element!(f32, Flops, gemm, sgemm, sgemm);
element!(f64, DoubleFlops, dgemm, dgemm, dgemm);

fn gemm<T: Element>([m, n, k]: [usize; 3]) -> Case {
    let (shape, zeros) = ([m, n, k], || Buffer::from_fn(m * n, |_| T::from(0.0)));
    let a = Rc::new(Buffer::from_fn(m * k, |i| T::from(small(i))));
    let b = Rc::new(Buffer::from_fn(k * n, |i| T::from(small(i + 1))));
    let (cx, mut c, mut expected) = (context(), zeros(), zeros());
    T::hidp(&cx, shape, &a, &b, &mut c);
    T::multiply(shape, &a, &b, &mut expected);
    assert_close("gemm", &widen(&c), &widen(&expected), 1e-4);

    let (own_a, own_b) = (a.clone(), b.clone());
    let hidp = move || T::hidp(&cx, shape, &own_a, &own_b, &mut c);
    let (own_a, own_b) = (a.clone(), b.clone());
    let by_crate = move || T::multiply(shape, &own_a, &own_b, &mut expected);
    let mut contenders = vec![Contender::new("HiDP", hidp), Contender::new("matrixmultiply", by_crate)];
    if let Some(openblas) = OpenBlas::find() {
        let mut c = zeros();
        contenders.push(Contender::new("OpenBLAS", move || T::openblas(&openblas, shape, &a, &b, &mut c)));
    }
    Case { name: format!("gemm {} {m} x {n} x {k}", T::NAME), limit: T::LIMIT(2.0 * (m * n * k) as f64), contenders }
}
