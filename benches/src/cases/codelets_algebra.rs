//! The functions of the example `codelets` and others that compute with vectors and matrices, beside libraries.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::{Context, Error};

use super::codelets::{case, versions};
use super::first::{context, shared};
use super::{Recipes, widen};
use crate::buffer::Buffer;
use crate::kernels::{codelets, spectra};
use crate::matrices::{Matrix, band_matrix, five_point_matrix, frame_matrix, zipf_matrix};
use crate::mkl::Sparse;
use crate::onednn::OneDnn;
use crate::openblas::OpenBlas;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("codelets dot f32 2^12", || dot(12)),
    ("codelets dot f32 2^26", || dot(26)),
    ("codelets gemv f32 512K x 128", || gemv("512K x 128", [1 << 19, 128])),
    ("codelets gemv f32 128 x 512K", || gemv("128 x 512K", [128, 1 << 19])),
    ("codelets product f32 256", || product(256)),
    ("codelets product f32 1024", || product(1024)),
    ("codelets product f32 4096", || product(4096)),
    ("codelets product f64 256", || product_f64(256)),
    ("codelets product f64 1024", || product_f64(1024)),
    ("codelets product f64 4096", || product_f64(4096)),
    ("codelets spmv f64 frame 11880", || sparse("frame 11880", frame_matrix([44, 45]))),
    ("codelets spmv f64 5-point 1000 x 1000", || sparse("5-point 1000 x 1000", five_point_matrix(1000))),
    ("codelets spmv f64 band 200000 x 30", || sparse("band 200000 x 30", band_matrix(200_000, 30))),
    ("codelets spmv f64 Zipf 500000", || sparse("Zipf 500000", zipf_matrix(500_000))),
];

/// Products of matrices from this side on have versions that take minutes.
const LARGE: usize = 4096;

/// The contender that runs by default.
fn untuned(call: impl Fn(&Context) -> Result<(), Error> + 'static) -> Vec<Contender> {
    let cx = context();
    vec![Contender::new("HiDP", move || call(&cx).expect("it runs"))]
}

fn dot(log: u32) -> Case {
    let n = 1 << log;
    let [x, y] = [7, 5].map(|of| Rc::new(Buffer::from_fn(n, |at| (at % of) as f32 - 2.0)));
    let out = Rc::new(RefCell::new(0f32));
    let (left, right, own) = (x.clone(), y.clone(), out.clone());
    let mut contenders =
        versions(move |cx| spectra::inner(cx, &left[..], &right[..]).map(|sum| *own.borrow_mut() = sum));
    let (left, right, own) = (x.clone(), y.clone(), out.clone());
    contenders.push(Contender::new("OpenMP", move || *own.borrow_mut() = peers::codelets::dot(&left, &right)));
    if peers::has_tbb() {
        let own = out.clone();
        contenders.push(Contender::new("C++17 par", move || {
            *own.borrow_mut() = peers::codelets::standard_dot(&x, &y);
        }));
    }
    let found = move || vec![f64::from(*out.borrow())];
    case(&format!("dot f32 2^{log}"), Limit::Read((8 * n) as f64), 1e-5, contenders, found)
}

fn small(at: usize) -> f32 {
    ((at * 7919) % 17) as f32 / 16.0 - 0.5
}

fn gemv(name: &str, shape: [usize; 2]) -> Case {
    let [m, k] = shape;
    let (a, x) = (Rc::new(Buffer::from_fn(m * k, small)), Rc::new(Buffer::from_fn(k, small)));
    let y = shared(m, |_| 0f32);
    let limit = Limit::Read(4.0 * (m * k) as f64);
    let (matrix, vector, own) = (a.clone(), x.clone(), y.clone());
    let mut contenders =
        versions(move |cx| codelets::gemv(cx, &(&matrix[..], shape), &vector[..], &mut own.borrow_mut()[..]));
    for (name, library) in [("OpenBLAS", OpenBlas::find()), ("MKL", OpenBlas::mkl())] {
        if let Some(library) = library {
            let (a, x, own) = (a.clone(), x.clone(), y.clone());
            contenders.push(Contender::new(name, move || library.sgemv(shape, &a, &x, &mut own.borrow_mut())));
        }
    }
    case(&format!("gemv f32 {name}"), limit, 1e-3, contenders, move || widen(&y.borrow()))
}

fn product(n: usize) -> Case {
    let [a, b] = [0, 5].map(|from| Rc::new(Buffer::from_fn(n * n, |at| small(at + from))));
    let c = shared(n * n, |_| 0f32);
    let (left, right, own) = (a.clone(), b.clone(), c.clone());
    let shape = [n, n];
    let call = move |cx: &Context| {
        codelets::product(cx, &(&left[..], shape), &(&right[..], shape), &mut (&mut own.borrow_mut()[..], shape))
    };
    let mut contenders = if n < LARGE { versions(call) } else { untuned(call) };
    if let Some(library) = OneDnn::find() {
        let (a, b, own) = (a.clone(), b.clone(), c.clone());
        contenders.push(Contender::new("oneDNN", move || library.sgemm([n; 3], &a, &b, &mut own.borrow_mut())));
    }
    for (name, library) in [("OpenBLAS", OpenBlas::find()), ("MKL", OpenBlas::mkl())] {
        if let Some(library) = library {
            let (a, b, own) = (a.clone(), b.clone(), c.clone());
            contenders.push(Contender::new(name, move || library.sgemm([n; 3], &a, &b, &mut own.borrow_mut())));
        }
    }
    let limit = Limit::Flops(2.0 * (n * n * n) as f64);
    case(&format!("product f32 {n}"), limit, 1e-4, contenders, move || widen(&c.borrow()))
}

fn product_f64(n: usize) -> Case {
    let [a, b] = [0, 5].map(|from| Rc::new(Buffer::from_fn(n * n, |at| f64::from(small(at + from)))));
    let c = shared(n * n, |_| 0f64);
    let (left, right, own) = (a.clone(), b.clone(), c.clone());
    let shape = [n, n];
    let call = move |cx: &Context| {
        spectra::product_f64(cx, &(&left[..], shape), &(&right[..], shape), &mut (&mut own.borrow_mut()[..], shape))
    };
    let mut contenders = if n < LARGE { versions(call) } else { untuned(call) };
    for (name, library) in [("OpenBLAS", OpenBlas::find()), ("MKL", OpenBlas::mkl())] {
        if let Some(library) = library {
            let (a, b, own) = (a.clone(), b.clone(), c.clone());
            contenders.push(Contender::new(name, move || library.dgemm([n; 3], &a, &b, &mut own.borrow_mut())));
        }
    }
    let limit = Limit::DoubleFlops(2.0 * (n * n * n) as f64);
    case(&format!("product f64 {n}"), limit, 1e-12, contenders, move || c.borrow().to_vec())
}

/// So many products by one matrix are a call: what MKL does before the first counts.
const PRODUCTS: usize = 10;

fn sparse(name: &str, matrix: Matrix) -> Case {
    let (rows, nonzeros) = (matrix.rowptr.len() - 1, matrix.col.len());
    let x = Rc::new(Buffer::from_fn(rows, |at| (at % 11) as f64 - 5.0));
    let [rowptr, col] =
        [&matrix.rowptr, &matrix.col].map(|array| Rc::new(Buffer::from_fn(array.len(), |at| array[at])));
    let (val, y) = (Rc::new(Buffer::from_fn(nonzeros, |at| matrix.val[at])), shared(rows, |_| 0f64));
    let (starts, columns, values) = (rowptr.clone(), col.clone(), val.clone());
    let (vector, own) = (x.clone(), y.clone());
    let mut contenders = versions(move |cx| {
        (0..PRODUCTS).try_for_each(|_| {
            let y = &mut own.borrow_mut()[..];
            codelets::sparse_gemv(cx, &starts[..], &columns[..], &values[..], &vector[..], y)
        })
    });
    let (starts, columns, values) = (rowptr.clone(), col.clone(), val.clone());
    let (vector, own) = (x.clone(), y.clone());
    contenders.push(Contender::new("OpenMP", move || {
        (0..PRODUCTS).for_each(|_| peers::spmv(&mut own.borrow_mut(), &starts, &columns, &values, &vector));
    }));
    if OpenBlas::mkl().is_some() {
        let own = y.clone();
        contenders.push(Contender::new("MKL, inspector-executor", move || {
            let prepared = Sparse::new(&rowptr, &col, &val, Some(PRODUCTS as i32)).expect("the library is there");
            (0..PRODUCTS).for_each(|_| prepared.multiply(&x, &mut own.borrow_mut()));
        }));
    }
    let limit = Limit::Read((PRODUCTS * (12 * nonzeros + 20 * rows)) as f64);
    case(&format!("spmv f64 {name}"), limit, 1e-12, contenders, move || y.borrow().to_vec())
}
