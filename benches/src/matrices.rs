//! Sparse matrices that are generated.

use crate::random::Random;

/// Compressed sparse rows of a square matrix.
pub struct Matrix {
    pub rowptr: Vec<i32>,
    pub col: Vec<i32>,
    pub val: Vec<f64>,
}

impl Default for Matrix {
    fn default() -> Matrix {
        Matrix::new()
    }
}

impl Matrix {
    /// A matrix without rows.
    pub fn new() -> Matrix {
        Matrix { rowptr: vec![0], col: Vec::new(), val: Vec::new() }
    }

    /// The row below all others.
    pub fn push_row(&mut self, columns: impl IntoIterator<Item = usize>) {
        for column in columns {
            self.col.push(column as i32);
            self.val.push((self.val.len() % 13) as f64 / 8.0 - 0.5);
        }
        self.rowptr.push(self.col.len() as i32);
    }
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

/// So many rows, each of `width` neighbouring columns.
pub fn band_matrix(rows: usize, width: usize) -> Matrix {
    let mut matrix = Matrix::new();
    for row in 0..rows {
        let first = row.saturating_sub(width / 2).min(rows - width);
        matrix.push_row(first..first + width);
    }
    matrix
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

/// So many rows, each of `width` uniform columns.
pub fn scattered_matrix(rows: usize, width: usize) -> Matrix {
    let mut random = Random::new(2);
    let mut matrix = Matrix::new();
    for _ in 0..rows {
        let mut columns: Vec<usize> = (0..width).map(|_| random.below(rows)).collect();
        columns.sort_unstable();
        matrix.push_row(columns);
    }
    matrix
}
