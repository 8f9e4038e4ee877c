//! Sparse matrix times vector.

use std::rc::Rc;

use hidp_std::Context;
use sprs::CsMatViewI;

use super::Recipes;
use super::assert_close;
use crate::buffer::Buffer;
use crate::kernels::sparse;
use crate::random::Random;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[
    ("spmv f64 5-point 1000 x 1000", five_point),
    ("spmv f64 band 200000 x 30", band),
    ("spmv f64 Zipf 500000", zipf),
];

/// Compressed sparse rows of a square matrix.
pub struct Matrix {
    pub rowptr: Vec<i32>,
    pub col: Vec<i32>,
    pub val: Vec<f64>,
}

impl Matrix {
    fn new() -> Matrix {
        Matrix { rowptr: vec![0], col: Vec::new(), val: Vec::new() }
    }

    fn push_row(&mut self, columns: impl IntoIterator<Item = usize>) {
        for column in columns {
            self.col.push(column as i32);
            self.val.push((self.val.len() % 13) as f64 / 8.0 - 0.5);
        }
        self.rowptr.push(self.col.len() as i32);
    }
}

fn five_point() -> Case {
    case("spmv f64 5-point 1000 x 1000", five_point_matrix(1000))
}

/// The 5-point stencil on a square grid.
pub fn five_point_matrix(side: usize) -> Matrix {
    let mut matrix = Matrix::new();
    for y in 0..side {
        for x in 0..side {
            let at = y * side + x;
            let neighbours = [
                (y > 0, at.wrapping_sub(side)),
                (x > 0, at.wrapping_sub(1)),
                (true, at),
                (x + 1 < side, at + 1),
                (y + 1 < side, at + side),
            ];
            matrix.push_row(neighbours.into_iter().filter(|(inside, _)| *inside).map(|(_, column)| column));
        }
    }
    matrix
}

fn band() -> Case {
    case("spmv f64 band 200000 x 30", band_matrix(200_000, 30))
}

/// So many rows, each of `width` neighbouring columns.
pub fn band_matrix(rows: usize, width: usize) -> Matrix {
    let mut matrix = Matrix::new();
    for row in 0..rows {
        let first = row.saturating_sub(width / 2).min(rows - width);
        matrix.push_row(first..first + width);
    }
    matrix
}

fn zipf() -> Case {
    case("spmv f64 Zipf 500000", zipf_matrix(500_000))
}

/// Row lengths follow Zipf's law with exponent 1 up to 50000; columns are uniform.
pub fn zipf_matrix(rows: usize) -> Matrix {
    let mut random = Random::new(1);
    let mut matrix = Matrix::new();
    for _ in 0..rows {
        let length = ((0.5 / (random.unit() + 1e-5)) as usize + 1).min(50_000);
        let mut columns: Vec<usize> = (0..length).map(|_| random.below(rows)).collect();
        columns.sort_unstable();
        columns.dedup();
        matrix.push_row(columns);
    }
    matrix
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
    let openmp = {
        let (rowptr, col, val, x) = (rowptr.clone(), col.clone(), val.clone(), x.clone());
        move || peers::spmv(&mut y_openmp, &rowptr, &col, &val, &x)
    };
    let sprs = move || {
        y_sprs.fill(0.0);
        let a = CsMatViewI::<f64, i32>::new((rows, rows), &rowptr[..], &col[..], &val[..]);
        sprs::prod::mul_acc_mat_vec_csr(a, &x[..], &mut y_sprs[..]);
    };
    Case {
        name: name.into(),
        limit: Limit::Read((12 * nonzeros + 4 * rows + 16 * rows) as f64),
        contenders: vec![Contender::new("HiDP", hidp), Contender::new("OpenMP", openmp), Contender::new("sprs", sprs)],
    }
}
