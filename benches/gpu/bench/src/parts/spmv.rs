//! Sparse matrix times vector.

use anyhow::Result;

use super::assert_close;
use crate::kernels::sparse;
use crate::machine::Machine;
use crate::matrices::{Matrix, band_matrix, five_point_matrix, zipf_matrix};
use crate::matrix::Csr;
use crate::peers::{peer_has_sparse, peer_sparse_multiply, peer_sparse_prepare};
use crate::random::Random;
use crate::report::{Contender, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    let has_sparse = peer_has_sparse(machine.stream()).is_ok();
    if !has_sparse {
        println!("cuSPARSE: LEFT OUT, the library was not found");
    }
    let size = |full, tiny| machine.size(full, tiny);
    let read = Csr::read(&machine.data.join("1138_bus.mtx"))?;
    let matrices = [
        ("5-point", five_point_matrix(size(2000, 7))),
        ("7-point", seven_point(size(160, 4))),
        ("band of 30", band_matrix(size(1_000_000, 60), 30)),
        ("diagonal", band_matrix(size(8_000_000, 50), 1)),
        ("Zipf", zipf_matrix(size(500_000, 40))),
        ("uniform 16 a row", uniform(size(2_000_000, 40), 16)),
        ("dense rows of 2000", uniform(size(8000, 10), size(2000, 10))),
        ("arrow", arrow(size(2_000_000, 60))),
        ("R-MAT", power_law(size(1 << 20, 32), 16)),
        ("1138_bus", Matrix { rowptr: read.rowptr, col: read.col, val: read.val }),
    ];
    let mut ratios = Vec::new();
    for (name, matrix) in matrices {
        let name = format!("SpMV f64 {name}");
        // A wrong product is no win.
        ratios.push(machine.row(&name, || multiply(machine, &name, &matrix, has_sparse)).flatten());
    }
    let ahead = ratios.iter().filter(|ratio| ratio.is_some_and(|ratio| ratio >= 1.0)).count();
    let share = has_sparse.then(|| ahead as f64 / ratios.len() as f64);
    machine.report.borrow_mut().goal("share of matrices on which SpMV is at least cuSPARSE", share, 0.5);
    Ok(())
}

fn multiply(machine: &Machine, name: &str, matrix: &Matrix, has_sparse: bool) -> Result<Option<f64>> {
    let (cx, stream) = (&machine.cx, machine.stream());
    let (rows, nonzeros) = (matrix.rowptr.len() - 1, matrix.col.len());
    let vector: Vec<f64> = (0..rows).map(|i| (i % 11) as f64 - 5.0).collect();
    let (rowptr, rowptr_at) = machine.vector(&matrix.rowptr)?;
    let (col, col_at) = machine.vector(&matrix.col)?;
    let ((val, val_at), (x, x_at)) = (machine.vector(&matrix.val)?, machine.vector(&vector)?);
    let (mut y, _) = machine.zeros::<f64, 1>([rows])?;
    let (_other, other) = machine.zeros::<f64, 1>([rows])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(sparse::spmv(cx, &rowptr, &col, &val, &x, &mut y)?))];
    if has_sparse {
        let (r, z) = (rows as i64, nonzeros as i64);
        peer_sparse_prepare(stream, r, r, z, rowptr_at, col_at, val_at, x_at, other)?;
        contenders.push(Contender::new("cuSPARSE", move || peer_sparse_multiply(stream)));
    }
    let work = Work::Bytes((12 * nonzeros + 4 * rows + 16 * rows) as f64);
    let measured = machine.compare(name, work, contenders)?;
    let expected: Vec<f64> = matrix
        .rowptr
        .windows(2)
        .map(|pair| {
            (pair[0] as usize..pair[1] as usize).map(|at| matrix.val[at] * vector[matrix.col[at] as usize]).sum()
        })
        .collect();
    assert_close(name, &y.to_vec()?, &expected, 1e-11)?;
    Ok(measured.over("cuSPARSE"))
}

/// The 7-point stencil on a cube.
fn seven_point(side: usize) -> Matrix {
    let mut matrix = Matrix::new();
    let plane = side * side;
    for at in 0..plane * side {
        let (z, y, x) = (at / plane, at / side % side, at % side);
        let neighbours = [
            (z > 0, at.wrapping_sub(plane)),
            (y > 0, at.wrapping_sub(side)),
            (x > 0, at.wrapping_sub(1)),
            (true, at),
            (x + 1 < side, at + 1),
            (y + 1 < side, at + side),
            (z + 1 < side, at + plane),
        ];
        matrix.push_row(neighbours.into_iter().filter(|(inside, _)| *inside).map(|(_, column)| column));
    }
    matrix
}

/// So many columns a row, anywhere.
fn uniform(rows: usize, width: usize) -> Matrix {
    let mut random = Random::new(3);
    let mut matrix = Matrix::new();
    for _ in 0..rows {
        let mut columns: Vec<usize> = (0..width).map(|_| random.below(rows)).collect();
        columns.sort_unstable();
        columns.dedup();
        matrix.push_row(columns);
    }
    matrix
}

/// One row with every column, all others with three.
fn arrow(rows: usize) -> Matrix {
    let mut matrix = Matrix::new();
    for row in 0..rows {
        if row == rows / 2 {
            matrix.push_row(0..rows);
        } else {
            matrix.push_row([row.saturating_sub(1), row, (row + 1).min(rows - 1)]);
        }
    }
    matrix
}

/// Edges of R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004), `degree` a row on average; rows as they come.
fn power_law(rows: usize, degree: usize) -> Matrix {
    let mut random = Random::new(4);
    let mut of_row: Vec<Vec<usize>> = vec![Vec::new(); rows];
    for _ in 0..rows * degree {
        let (mut row, mut column) = (0, 0);
        for _ in 0..rows.trailing_zeros() {
            let part = random.unit();
            (row, column) = (
                2 * row + usize::from(part >= 0.76),
                2 * column + usize::from((0.57..0.76).contains(&part) || part >= 0.95),
            );
        }
        of_row[row].push(column);
    }
    let mut matrix = Matrix::new();
    for mut columns in of_row {
        columns.sort_unstable();
        columns.dedup();
        matrix.push_row(columns);
    }
    matrix
}
