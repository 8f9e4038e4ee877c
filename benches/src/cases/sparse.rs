//! Sparse matrix times vector.

use std::rc::Rc;

use hidp_std::Context;
use sprs::CsMatViewI;

use super::Recipes;
use super::assert_close;
use crate::buffer::Buffer;
use crate::kernels::sparse;
use crate::matrices::{Matrix, band_matrix, five_point_matrix, zipf_matrix};
use crate::mkl::Sparse;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("spmv f64 5-point 1000 x 1000", five_point),
    ("spmv f64 band 200000 x 30", band),
    ("spmv f64 Zipf 500000", zipf),
];

fn five_point() -> Case {
    case("spmv f64 5-point 1000 x 1000", five_point_matrix(1000))
}

fn band() -> Case {
    case("spmv f64 band 200000 x 30", band_matrix(200_000, 30))
}

fn zipf() -> Case {
    case("spmv f64 Zipf 500000", zipf_matrix(500_000))
}

fn case(name: &str, matrix: Matrix) -> Case {
    let rows = matrix.rowptr.len() - 1;
    let nonzeros = matrix.col.len();
    let rowptr = Rc::new(Buffer::from_fn(rows + 1, |i| matrix.rowptr[i]));
    let col = Rc::new(Buffer::from_fn(nonzeros, |i| matrix.col[i]));
    let val = Rc::new(Buffer::from_fn(nonzeros, |i| matrix.val[i]));
    let x = Rc::new(Buffer::from_fn(rows, |i| (i % 11) as f64 - 5.0));
    let y = || Buffer::from_fn(rows, |_| 0.0f64);

    let cx = Context::cpu().expect("a CPU context");
    let (mut y_hidp, mut y_openmp, mut y_sprs) = (y(), y(), y());
    sparse::spmv(&cx, &rowptr[..], &col[..], &val[..], &x[..], &mut y_hidp[..]).expect("spmv runs");
    peers::spmv(&mut y_openmp, &rowptr, &col, &val, &x);
    assert_close(name, &y_hidp, &y_openmp, 1e-12);

    let hidp = {
        let (rowptr, col, val, x) = (rowptr.clone(), col.clone(), val.clone(), x.clone());
        move || sparse::spmv(&cx, &rowptr[..], &col[..], &val[..], &x[..], &mut y_hidp[..]).expect("spmv runs")
    };
    let mkl = [("MKL", false), ("MKL, prepared", true)].map(|(contender, prepared)| {
        let (x, mut y) = (x.clone(), y());
        let matrix = Sparse::new(&rowptr, &col, &val, prepared)?;
        matrix.multiply(&x, &mut y);
        assert_close(name, &y, &y_openmp, 1e-12);
        Some(Contender::new(contender, move || matrix.multiply(&x, &mut y)))
    });
    let openmp = {
        let (rowptr, col, val, x) = (rowptr.clone(), col.clone(), val.clone(), x.clone());
        move || peers::spmv(&mut y_openmp, &rowptr, &col, &val, &x)
    };
    let sprs = move || {
        y_sprs.fill(0.0);
        let a = CsMatViewI::<f64, i32>::new((rows, rows), &rowptr[..], &col[..], &val[..]);
        sprs::prod::mul_acc_mat_vec_csr(a, &x[..], &mut y_sprs[..]);
    };
    let mut contenders =
        vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", openmp), Contender::new("sprs", sprs)];
    contenders.extend(mkl.into_iter().flatten());
    Case { name: name.into(), limit: Limit::Read((12 * nonzeros + 4 * rows + 16 * rows) as f64), contenders }
}
