//! Sparse matrix times vector.

use std::rc::Rc;

use hidp_std::Context;
use hidp_std::sparse::Prepared;
use sprs::CsMatViewI;

use super::Recipes;
use super::assert_close;
use crate::buffer::Buffer;
use crate::kernels::sparse;
use crate::matrices::{Matrix, band_matrix, five_point_matrix, scattered_matrix, zipf_matrix};
use crate::mkl::Sparse;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("spmv f64 5-point 1000 x 1000", || as_it_is("spmv f64 5-point 1000 x 1000", &five_point_matrix(1000))),
    ("spmv f64 band 200000 x 30", || as_it_is("spmv f64 band 200000 x 30", &band_matrix(200_000, 30))),
    ("spmv f64 Zipf 500000", || as_it_is("spmv f64 Zipf 500000", &zipf_matrix(500_000))),
    ("prepared f64 5-point 1000 x 1000", || prepared("prepared f64 5-point 1000 x 1000", &five_point_matrix(1000))),
    ("prepared f64 band 200000 x 30", || prepared("prepared f64 band 200000 x 30", &band_matrix(200_000, 30))),
    ("prepared f64 Zipf 500000", || prepared("prepared f64 Zipf 500000", &zipf_matrix(500_000))),
    ("prepared f64 scattered 200000 x 30", || {
        prepared("prepared f64 scattered 200000 x 30", &scattered_matrix(200_000, 30))
    }),
];

/// A matrix in compressed rows, and what it is multiplied by.
struct Operands {
    rowptr: Rc<Buffer<i32>>,
    col: Rc<Buffer<i32>>,
    val: Rc<Buffer<f64>>,
    x: Rc<Buffer<f64>>,
}

impl Operands {
    fn of(matrix: &Matrix) -> Self {
        let (rows, entries) = (matrix.rowptr.len() - 1, matrix.col.len());
        Self {
            rowptr: Rc::new(Buffer::from_fn(rows + 1, |i| matrix.rowptr[i])),
            col: Rc::new(Buffer::from_fn(entries, |i| matrix.col[i])),
            val: Rc::new(Buffer::from_fn(entries, |i| matrix.val[i])),
            x: Rc::new(Buffer::from_fn(rows, |i| (i % 11) as f64 - 5.0)),
        }
    }

    fn rows(&self) -> usize {
        self.rowptr.len() - 1
    }

    fn limit(&self) -> Limit {
        Limit::Read((12 * self.col.len() + 4 * self.rows() + 16 * self.rows()) as f64)
    }

    /// A contender that multiplies into a result of its own, which is compared with what loops in C++ give.
    fn contender(&self, name: &'static str, multiply: impl Fn(&Self, &mut [f64]) + 'static) -> Contender {
        let own = Self { rowptr: self.rowptr.clone(), col: self.col.clone(), val: self.val.clone(), x: self.x.clone() };
        let result = || Buffer::from_fn(own.rows(), |_| 0.0);
        let (mut y, mut expected) = (result(), result());
        multiply(&own, &mut y);
        peers::spmv(&mut expected, &own.rowptr, &own.col, &own.val, &own.x);
        assert_close(name, &y, &expected, 1e-12);
        Contender::new(name, move || multiply(&own, &mut y))
    }

    fn openmp(&self) -> Contender {
        self.contender("OpenMP", |own, y| peers::spmv(y, &own.rowptr, &own.col, &own.val, &own.x))
    }

    /// `None` without the library.
    fn mkl(&self, name: &'static str, prepared: bool) -> Option<Contender> {
        let matrix = Sparse::new(&self.rowptr, &self.col, &self.val, prepared.then_some(PRODUCTS))?;
        Some(self.contender(name, move |own, y| matrix.multiply(&own.x, y)))
    }
}

/// Products that MKL is told to prepare a matrix for.
const PRODUCTS: i32 = 100;

/// A matrix in compressed rows, multiplied as it is.
fn as_it_is(name: &str, matrix: &Matrix) -> Case {
    let operands = Operands::of(matrix);
    let cx = Context::cpu().expect("a CPU context");
    let hidp = operands.contender("HiDP", move |own, mut y| {
        sparse::spmv(&cx, &own.rowptr[..], &own.col[..], &own.val[..], &own.x[..], &mut y).expect("spmv runs");
    });
    let sprs = operands.contender("sprs", |own, y| {
        y.fill(0.0);
        let a = CsMatViewI::<f64, i32>::new((own.rows(), own.rows()), &own.rowptr[..], &own.col[..], &own.val[..]);
        sprs::prod::mul_acc_mat_vec_csr(a, &own.x[..], y);
    });
    let mkl = [operands.mkl("MKL", false), operands.mkl("MKL, prepared", true)];
    let contenders = [hidp, operands.openmp(), sprs].into_iter().chain(mkl.into_iter().flatten()).collect();
    Case { name: name.into(), limit: operands.limit(), contenders }
}

/// A matrix that is prepared for many products; only they are measured.
fn prepared(name: &str, matrix: &Matrix) -> Case {
    let operands = Operands::of(matrix);
    let cx = Context::cpu().expect("a CPU context");
    let (rowptr, col, val) = (&operands.rowptr, &operands.col, &operands.val);
    let matrix = Prepared::new(rowptr, col, val, operands.rows()).expect("a matrix in compressed rows");
    let hidp = operands.contender("HiDP, prepared", move |own, mut y| {
        matrix.multiply(&cx, &own.x[..], &mut y).expect("the product runs");
    });
    let mkl = operands.mkl("MKL, prepared", true);
    let contenders = [hidp, operands.openmp()].into_iter().chain(mkl).collect();
    Case { name: name.into(), limit: operands.limit(), contenders }
}
