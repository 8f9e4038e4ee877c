//! The same of programs about matrices.

use std::rc::Rc;

use super::first::{case, context, shared};
use super::{Recipes, widen};
use crate::buffer::Buffer;
use crate::kernels::first;
use crate::matrices::five_point_matrix;
use crate::peers::first::{self as peers, Entries};
use crate::random::Random;
use crate::{Case, Contender};

pub(super) const RECIPES: Recipes = &[
    ("first cholesky 1000", cholesky),
    ("first fft 2^20", fft),
    ("first floyd-warshall 1000", floyd_warshall),
    ("first both products 2000", both_products),
    ("first column means 4000 x 4000", column_means),
    ("first coo 5-point 1000 x 1000", coo),
];

fn cholesky() -> Case {
    let n = 1000;
    // Diagonally dominant.
    let start = Rc::new(Buffer::from_fn(n * n, |at| {
        let (i, j) = (at / n, at % n);
        if i == j { n as f64 } else { ((i + j) % 7) as f64 / 7.0 - 0.4 }
    }));
    let a = shared(n * n, |_| 0f64);
    let hidp = {
        let (cx, start, a) = (context(), start.clone(), a.clone());
        move || {
            let mut a = a.borrow_mut();
            a.copy_from_slice(&start);
            first::cholesky(&cx, &mut (&mut a[..], [n, n])).expect("it runs");
        }
    };
    let peer = {
        let a = a.clone();
        move || {
            let mut a = a.borrow_mut();
            a.copy_from_slice(&start);
            peers::cholesky(&mut a, n);
        }
    };
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    case("cholesky 1000", (n * n * n) as f64 / 3.0, 1e-10, contenders, move || a.borrow().to_vec())
}

/// Transforms an array with the help of another one; the last arrays are twiddles.
type Transform = fn([&mut [f64]; 2], [&mut [f64]; 2], [&[f64]; 2]);

fn fft() -> Case {
    let bits = 20;
    let n = 1usize << bits;
    let turn = |i: usize| -std::f64::consts::TAU * i as f64 / n as f64;
    let wr = Rc::new(Buffer::from_fn(n / 2, |i| turn(i).cos()));
    let wi = Rc::new(Buffer::from_fn(n / 2, |i| turn(i).sin()));
    let start = Rc::new(Buffer::from_fn(n, |i| ((i * 7919) % 17) as f64 / 16.0 - 0.5));
    let (re, im) = (shared(n, |_| 0f64), shared(n, |_| 0f64));
    let hidp = {
        let (cx, start, re, im) = (context(), start.clone(), re.clone(), im.clone());
        let (wr, wi) = (wr.clone(), wi.clone());
        move || {
            let (mut re, mut im) = (re.borrow_mut(), im.borrow_mut());
            re.copy_from_slice(&start);
            im.fill(0.0);
            first::fft(&cx, &wr[..], &wi[..], bits, &mut re[..], &mut im[..]).expect("it runs");
        }
    };
    let by = |transform: Transform| {
        let (start, re, im, wr, wi) = (start.clone(), re.clone(), im.clone(), wr.clone(), wi.clone());
        let (mut sr, mut si) = (Buffer::from_fn(n, |_| 0f64), Buffer::from_fn(n, |_| 0f64));
        move || {
            let (mut re, mut im) = (re.borrow_mut(), im.borrow_mut());
            re.copy_from_slice(&start);
            im.fill(0.0);
            transform([&mut re, &mut im], [&mut sr, &mut si], [&wr, &wi]);
        }
    };
    let peers = [("OpenMP", by(peers::fft)), ("rayon", by(crate::peers::fft::fft))];
    let mut contenders = vec![Contender::new("HiDP", hidp)];
    contenders.extend(peers.map(|(name, run)| Contender::new(name, run)));
    let found = move || [&re.borrow()[..], &im.borrow()[..]].concat();
    case("fft 2^20", f64::from(bits) * n as f64 / 2.0, 1e-12, contenders, found)
}

fn floyd_warshall() -> Case {
    let n = 1000;
    let mut random = Random::new(11);
    let start = Rc::new(Buffer::from_fn(n * n, |at| if at / n == at % n { 0.0 } else { 1.0 + random.unit() as f32 }));
    let d = shared(n * n, |_| 0f32);
    let hidp = {
        let (cx, start, d) = (context(), start.clone(), d.clone());
        move || {
            let mut d = d.borrow_mut();
            d.copy_from_slice(&start);
            first::floyd_warshall(&cx, &mut (&mut d[..], [n, n])).expect("it runs");
        }
    };
    let peer = {
        let d = d.clone();
        move || {
            let mut d = d.borrow_mut();
            d.copy_from_slice(&start);
            peers::floyd_warshall(&mut d, n);
        }
    };
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    case("floyd-warshall 1000", (n * n * n) as f64, 0.0, contenders, move || widen(&d.borrow()))
}

fn both_products() -> Case {
    let n = 2000;
    let value = |i: usize| ((i * 31) % 101) as f64 / 101.0;
    let a = Rc::new(Buffer::from_fn(n * n, value));
    let (x, y) = (Rc::new(Buffer::from_fn(n, value)), Rc::new(Buffer::from_fn(n, value)));
    let (u, v) = (shared(n, |_| 0f64), shared(n, |_| 0f64));
    let hidp = {
        let (cx, a, x, y, u, v) = (context(), a.clone(), x.clone(), y.clone(), u.clone(), v.clone());
        move || {
            let (mut u, mut v) = (u.borrow_mut(), v.borrow_mut());
            first::both_products(&cx, &(&a[..], [n, n]), &x[..], &y[..], &mut u[..], &mut v[..]).expect("it runs");
        }
    };
    let (p, q) = (u.clone(), v.clone());
    let peer = move || peers::both_products([&mut p.borrow_mut(), &mut q.borrow_mut()], &a, [&x, &y]);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    let found = move || [&u.borrow()[..], &v.borrow()[..]].concat();
    case("both products 2000", (2 * n * n) as f64, 1e-12, contenders, found)
}

fn column_means() -> Case {
    let (n, m) = (4000, 4000);
    let a = Rc::new(Buffer::from_fn(n * m, |i| ((i * 31) % 101) as f32 / 101.0));
    let mean = shared(m, |_| 0f32);
    let hidp = {
        let (cx, a, mean) = (context(), a.clone(), mean.clone());
        move || first::column_means(&cx, &(&a[..], [n, m]), &mut mean.borrow_mut()[..]).expect("it runs")
    };
    let own = mean.clone();
    let peer = move || peers::column_means(&mut own.borrow_mut(), &a);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    case("column means 4000 x 4000", (n * m) as f64, 1e-4, contenders, move || widen(&mean.borrow()))
}

fn coo() -> Case {
    let matrix = five_point_matrix(1000);
    let rows = matrix.rowptr.len() - 1;
    let rows_of = |row: usize| std::iter::repeat_n(row as i32, (matrix.rowptr[row + 1] - matrix.rowptr[row]) as usize);
    let row: Vec<i32> = (0..rows).flat_map(rows_of).collect();
    let entries = Entries::new(&row, &matrix.col, &matrix.val, [rows, rows]);
    let count = row.len() as f64;
    let x = Rc::new(Buffer::from_fn(rows, |i| (i % 11) as f64 - 5.0));
    let y = shared(rows, |_| 0f64);
    let hidp = {
        let (cx, x, y) = (context(), x.clone(), y.clone());
        move || {
            let mut y = y.borrow_mut();
            let (col, cut) = (&matrix.col[..], &matrix.rowptr[..]);
            first::spmv_coo(&cx, col, cut, &matrix.val[..], &x[..], &mut y[..]).expect("it runs");
        }
    };
    let own = y.clone();
    let peer = move || peers::coo(&mut own.borrow_mut(), &entries, &x);
    let contenders = vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", peer)];
    case("coo 5-point 1000 x 1000", count, 1e-12, contenders, move || y.borrow().to_vec())
}
