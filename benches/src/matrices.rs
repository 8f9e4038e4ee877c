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

/// The stiffness of a frame of beams: nodes on a grid with six displacements each, which a beam couples as far as bending and torsion do.
pub fn frame_matrix([rows, columns]: [usize; 2]) -> Matrix {
    const COUPLED: [&[usize]; 6] = [&[0], &[1, 5], &[2, 4], &[3], &[2, 4], &[1, 5]];
    let mut matrix = Matrix::new();
    for node in 0..rows * columns {
        let (y, x) = (node / columns, node % columns);
        let neighbours = [
            (y > 0, node.wrapping_sub(columns)),
            (x > 0, node.wrapping_sub(1)),
            (true, node),
            (x + 1 < columns, node + 1),
            (y + 1 < rows, node + columns),
        ];
        for coupled in COUPLED {
            let present = neighbours.into_iter().filter(|(inside, _)| *inside).map(|(_, other)| other);
            matrix.push_row(present.flat_map(|other| {
                let of: &[usize] = if other == node { &[0, 1, 2, 3, 4, 5] } else { coupled };
                of.iter().map(move |way| 6 * other + way)
            }));
        }
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
