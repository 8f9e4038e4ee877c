//! The tuner over the kernels of the benchmarks.

use std::process::ExitCode;

use hidp_benches::cases::sparse::{Matrix, band_matrix, five_point_matrix, zipf_matrix};
use hidp_benches::kernels;
use hidp_std::tune::{Data, Tuner};

fn main() -> ExitCode {
    let mut tuner = Tuner::new(kernels::ENTRIES);
    for side in [20, 100, 1000] {
        tuner = matrix(tuner, &format!("5-point {side} x {side}"), move || five_point_matrix(side));
    }
    // Few long rows, as many columns as rows or more.
    for (rows, width) in [(100, 10), (2000, 30), (200_000, 30), (100_000, 100), (2000, 2000)] {
        tuner = matrix(tuner, &format!("band {rows} x {width}"), move || band_matrix(rows, width));
    }
    for rows in [1000, 500_000] {
        tuner = matrix(tuner, &format!("Zipf {rows}"), move || zipf_matrix(rows));
    }
    for (rows, width) in [(1, 1 << 22), (3, 1 << 20), (16, 1 << 18)] {
        tuner = matrix(tuner, &format!("{rows} rows of {width}"), move || long_rows(rows, width));
    }
    tuner.main()
}

fn matrix(tuner: Tuner, name: &str, make: impl Fn() -> Matrix + 'static) -> Tuner {
    tuner.input("sparse::spmv", name, move || {
        let Matrix { rowptr, col, val } = make();
        let rows = rowptr.len() - 1;
        let columns = col.iter().max().map_or(0, |&column| column as usize + 1).max(rows);
        let x: Vec<f64> = (0..columns).map(|i| (i % 11) as f64 - 5.0).collect();
        vec![
            Data::vector(&rowptr),
            Data::vector(&col),
            Data::vector(&val),
            Data::vector(&x),
            Data::vector(&vec![0.0; rows]),
        ]
    })
}

fn long_rows(rows: usize, width: usize) -> Matrix {
    Matrix {
        rowptr: (0..=rows).map(|row| (row * width) as i32).collect(),
        col: (0..rows * width).map(|at| (at % width) as i32).collect(),
        val: (0..rows * width).map(|at| (at % 13) as f64 / 8.0 - 0.5).collect(),
    }
}
