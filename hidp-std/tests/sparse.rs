//! Products of prepared matrices.
#![cfg(feature = "sparse")]

use hidp_std::Context;
use hidp_std::sparse::{Malformed, Prepared};

/// A matrix in compressed rows; numbers are small and whole, so that sums are exact in every order.
#[derive(Default)]
struct Matrix {
    rowptr: Vec<i32>,
    col: Vec<i32>,
    val: Vec<f64>,
    columns: usize,
}

impl Matrix {
    fn new(columns: usize, rows: impl IntoIterator<Item = Vec<usize>>) -> Self {
        let mut matrix = Self { rowptr: vec![0], columns, ..Self::default() };
        for row in rows {
            matrix.col.extend(row.iter().map(|&column| column as i32));
            matrix.rowptr.push(matrix.col.len() as i32);
        }
        matrix.val = (0..matrix.col.len()).map(|entry| (entry % 7) as f64 - 3.0).collect();
        matrix
    }

    fn prepared(&self) -> Prepared<f64> {
        Prepared::new(&self.rowptr, &self.col, &self.val, self.columns).expect("the matrix is right")
    }

    fn product(&self, x: &[f64]) -> Vec<f64> {
        let row = |ends: &[i32]| (ends[0]..ends[1]).map(|k| self.val[k as usize] * x[self.col[k as usize] as usize]);
        self.rowptr.windows(2).map(|ends| row(ends).sum()).collect()
    }

    /// Checks products by one thread and by three; `blocks` entries are to be in blocks.
    fn check(&self, blocks: usize) {
        let x: Vec<f64> = (0..self.columns).map(|column| (column % 11) as f64 - 5.0).collect();
        let expected = self.product(&x);
        let prepared = self.prepared();
        assert_eq!(prepared.entries(), [blocks, self.col.len() - blocks]);
        let small =
            (self.val.iter().map(|&v| v as f32).collect::<Vec<_>>(), x.iter().map(|&v| v as f32).collect::<Vec<_>>());
        let prepared_f32 = Prepared::new(&self.rowptr, &self.col, &small.0, self.columns).expect("the matrix is right");
        for threads in [1, 3] {
            let cx = Context::builder().threads(threads).build().expect("a CPU context");
            let mut y = vec![f64::NAN; expected.len()];
            prepared.multiply(&cx, &x, &mut y).expect("the product runs");
            assert_eq!(y, expected);
            let mut y = vec![f32::NAN; expected.len()];
            prepared_f32.multiply(&cx, &small.1, &mut y).expect("the product runs");
            assert!(y.iter().zip(&expected).all(|(&found, &expected)| f64::from(found) == expected));
        }
    }
}

/// Neighbours in a grid, row by row.
fn grid(width: usize, height: usize) -> Matrix {
    let neighbours = |at: usize| {
        let (x, y) = (at % width, at / width);
        let all =
            [(y > 0, -(width as isize)), (x > 0, -1), (true, 0), (x + 1 < width, 1), (y + 1 < height, width as isize)];
        all.into_iter().filter(|(is_inside, _)| *is_inside).map(|(_, by)| at.wrapping_add_signed(by)).collect()
    };
    Matrix::new(width * height, (0..width * height).map(neighbours))
}

#[test]
fn rows_with_equal_neighbours_stand_in_blocks() {
    // Blocks of 16 rows, except where one line of 100 points ends and the next begins. Lines on the border have 4 neighbours.
    let matrix = grid(100, 8);
    let alike = |block: usize| (block * 16..block * 16 + 16).all(|at| at % 100 != 0 && at % 100 != 99);
    let neighbours = |block: usize| if [0, 7].contains(&(block * 16 / 100)) { 4 } else { 5 };
    let entries = (0..50).filter(|&block| alike(block)).map(|block| 16 * neighbours(block)).sum();
    assert!(entries > 1000);
    matrix.check(entries);
}

#[test]
fn bands_have_blocks_and_what_is_left_over() {
    // 70 rows are four blocks and 6 rows.
    Matrix::new(90, (0..70).map(|row| (row..row + 20).rev().collect())).check(64 * 20);
    Matrix::new(64, (0..64).map(|row| vec![row])).check(64);
}

#[test]
fn rows_of_any_length_are_products_too() {
    let lengths = [0, 1, 3, 15, 16, 17, 40];
    let row = |at: usize| (0..lengths[at * 5 % 7]).map(|k| (at * 31 + k * 17) % 200).collect();
    Matrix::new(200, (0..9000).map(row)).check(0);
    // Of one length, but not equally far from the diagonal.
    Matrix::new(200, (0..200).map(|row| (0..5).map(|k| (row * 31 + k * 17) % 200).collect())).check(0);
    Matrix::new(3, [vec![1, 1], vec![], vec![2]]).check(0);
    Matrix::new(3, []).check(0);
    Matrix::new(0, [vec![], vec![]]).check(0);
}

#[test]
fn nothing_is_multiplied_that_is_no_entry() {
    // Some padding would make these sums NaN.
    let matrix = Matrix::new(40, (0..40).map(|row| if row % 2 == 0 { vec![row, 1] } else { vec![row] }));
    let cx = Context::cpu().expect("a CPU context");
    let x: Vec<f64> = (0..40).map(|column| if column % 2 == 0 { f64::INFINITY } else { 1.0 }).collect();
    let mut y = vec![0.0; 40];
    matrix.prepared().multiply(&cx, &x, &mut y).expect("the product runs");
    assert!((0..40).filter(|row| row % 2 == 1).all(|row| y[row] == matrix.val[matrix.rowptr[row] as usize]));
}

#[test]
fn arrays_that_are_no_matrix_are_refused() {
    let of = |rowptr: &[i32], col: &[i32]| Prepared::new(rowptr, col, &[1.0f32; 2], 2).err();
    assert_eq!(of(&[0, 2], &[0, 1]), None);
    assert_eq!(of(&[], &[0, 1]), Some(Malformed::NoRowPointers));
    assert_eq!(of(&[1, 2], &[0, 1]), Some(Malformed::RowPointer { at: 0 }));
    assert_eq!(of(&[0, 2, 1], &[0, 1]), Some(Malformed::RowPointer { at: 2 }));
    assert_eq!(of(&[0, 3], &[0, 1]), Some(Malformed::Entries { pointers: 3, columns: 2, values: 2 }));
    assert_eq!(of(&[0, 2], &[0, 2]), Some(Malformed::Column { at: 1 }));
    assert_eq!(of(&[0, 2], &[-1, 0]), Some(Malformed::Column { at: 0 }));
    let matrix = grid(5, 5).prepared();
    let cx = Context::cpu().expect("a CPU context");
    let mut y = [0.0; 25];
    let error = matrix.multiply(&cx, &[0.0; 24], &mut y).expect_err("a vector is too short").to_string();
    assert!(error.contains("25") && error.contains("24"), "{error}");
    let error = matrix.multiply(&cx, &[0.0; 25], &mut y[1..]).expect_err("a result is too short").to_string();
    assert!(error.contains("25") && error.contains("24"), "{error}");
}
