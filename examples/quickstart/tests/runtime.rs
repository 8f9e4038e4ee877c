//! What every compiled kernel must keep: same bits, calls from several threads, no growth, errors that leave the rest alone.

use std::thread;

use hidp_std::{Context, Error, Isa};

hidp_std::include_kernels!();
use kernels::{cg, coo};

/// A banded matrix with ragged rows, in compressed sparse rows.
struct Matrix {
    rowptr: Vec<i32>,
    col: Vec<i32>,
    val: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize) -> Matrix {
        let mut matrix = Matrix { rowptr: vec![0], col: Vec::new(), val: Vec::new() };
        for row in 0..rows {
            for step in 0..row % 13 {
                matrix.col.push(((row + step * 31) % rows) as i32);
                matrix.val.push(1.0 / (1.0 + (row * 7 + step) as f64));
            }
            matrix.rowptr.push(matrix.col.len() as i32);
        }
        matrix
    }

    fn rows(&self) -> usize {
        self.rowptr.len() - 1
    }

    fn times(&self, cx: &Context, x: &[f64]) -> Result<Vec<f64>, Error> {
        let mut y = vec![0.0; self.rows()];
        cg::multiply(cx, &self.rowptr, &self.col, &self.val, x, &mut y)?;
        Ok(y)
    }

    /// Residual, direction and the two dot products.
    fn start(&self, cx: &Context) -> (Vec<f64>, f64, f64) {
        let n = self.rows();
        let (b, x, dia): (Vec<f64>, Vec<f64>, Vec<f64>) =
            ((0..n).map(|i| (i as f64).sin()).collect(), vec![0.1; n], vec![0.5; n]);
        let (mut r, mut p) = (vec![0.0; n], vec![0.0; n]);
        let (rz, rr) =
            cg::start(cx, &self.rowptr, &self.col, &self.val, &dia, &b, &x, &mut r, &mut p).expect("start runs");
        (r, rz, rr)
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn the_same_bits_for_every_number_of_threads_run_after_run() {
    let matrix = Matrix::new(100_003);
    let first = matrix.start(&Context::builder().threads(1).build().unwrap());
    for threads in [1, 2, 3, 2, 1] {
        let again = matrix.start(&Context::builder().threads(threads).build().unwrap());
        assert_eq!(bits(&first.0), bits(&again.0), "{threads} threads");
        assert_eq!((first.1.to_bits(), first.2.to_bits()), (again.1.to_bits(), again.2.to_bits()), "{threads} threads");
    }
}

#[test]
fn calls_may_run_at_once() {
    let cx = Context::builder().threads(2).build().unwrap();
    let matrix = Matrix::new(20_001);
    let x: Vec<f64> = (0..matrix.rows()).map(|i| i as f64).collect();
    let expected = matrix.times(&cx, &x).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(bits(&matrix.times(&cx, &x).unwrap()), bits(&expected));
                }
            });
        }
    });
}

#[test]
fn repeated_calls_take_no_more_memory() {
    let cx = Context::builder().threads(2).build().unwrap();
    let matrix = Matrix::new(50_000);
    (0..3).for_each(|_| drop(matrix.start(&cx)));
    let warm = cx.pool_bytes();
    (0..50).for_each(|_| drop(matrix.start(&cx)));
    assert_eq!(cx.pool_bytes(), warm);
}

#[test]
fn one_bad_index_in_a_million_is_found_and_nothing_else_changes() {
    let cx = Context::new().unwrap();
    let mut matrix = Matrix::new(200_000);
    assert!(matrix.col.len() > 1_000_000);
    let bad = 765_432;
    matrix.col[bad] = 1_234_567;
    let x = vec![1.0; matrix.rows()];
    let (rowptr, col, val) = (matrix.rowptr.clone(), matrix.col.clone(), matrix.val.clone());
    let message = matrix.times(&cx, &x).unwrap_err().to_string();
    assert!(message.contains("1234567") && message.contains("200000") && message.contains("x[col[k]]"), "{message}");
    assert!(message.contains("cg.hdp"), "{message}");
    assert!(rowptr == matrix.rowptr && col == matrix.col && bits(&val) == bits(&matrix.val));
    assert!(x.iter().all(|&x| x == 1.0));

    matrix.col[bad] = 0;
    assert!(matrix.times(&cx, &x).is_ok(), "the context stays usable");
}

#[test]
fn every_plan_and_instruction_set_agrees() {
    let matrix = Matrix::new(5_000);
    let x: Vec<f64> = (0..matrix.rows()).map(|i| (i as f64).cos()).collect();
    let cx = Context::builder().threads(2).build().unwrap();
    let expected = matrix.times(&cx, &x).unwrap();
    let mut seen = 0;
    for plan in ["rows", "lanes", "team", "serial"] {
        for isa in [Isa::V2, Isa::V3, Isa::V4] {
            let Ok(cx) = cx.with_plan(plan).with_isa(isa) else { continue };
            let found = match matrix.times(&cx, &x) {
                Ok(found) => found,
                Err(Error::UnknownPlan { .. } | Error::NoCode { .. }) => continue,
                Err(other) => panic!("{plan} {isa:?}: {other}"),
            };
            let run = cx.last_run().expect("it ran");
            assert_eq!((run.plan, run.isa), (plan, isa));
            for (f, e) in found.iter().zip(&expected) {
                assert!((f - e).abs() <= 1e-12 * e.abs().max(1.0), "{plan} {isa:?}: {f} but {e}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 2, "only {seen} versions ran");
}

#[test]
fn entries_by_their_coordinates_give_the_same_products() {
    let cx = Context::builder().threads(2).build().unwrap();
    // The rows 0, 13, 26, … are empty; so is the whole matrix of one row.
    for rows in [1, 14, 20_000] {
        let mut matrix = Matrix::new(rows);
        let lengths = matrix.rowptr.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let row: Vec<i32> = lengths.enumerate().flat_map(|(row, length)| vec![row as i32; length]).collect();
        let x: Vec<f64> = (0..rows).map(|i| (i as f64).cos()).collect();
        let expected = matrix.times(&cx, &x).unwrap();
        let mut y = vec![f64::NAN; rows];
        coo::multiply(&cx, &row, &matrix.col, &matrix.val, &x, &mut y).unwrap();
        for (at, (y, expected)) in y.iter().zip(&expected).enumerate() {
            assert!((y - expected).abs() <= 1e-12, "row {at} of {rows}: {y} but {expected}");
        }
        let Some(last) = matrix.col.last_mut() else { continue };
        *last = rows as i32;
        let error = coo::multiply(&cx, &row, &matrix.col, &matrix.val, &x, &mut y).unwrap_err().to_string();
        assert!(error.contains("coo.hdp") && error.contains("x[col[z]]"), "{error}");
    }
}

#[test]
fn sizes_that_disagree_are_named() {
    let cx = Context::new().unwrap();
    let matrix = Matrix::new(10);
    let mut y = vec![0.0; 9];
    let error = cg::multiply(&cx, &matrix.rowptr, &matrix.col, &matrix.val, &[1.0; 10][..], &mut y).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("rowptr") && message.contains('y') && message.contains("10"), "{message}");
}
