//! Sums of rows and columns, from one row to one column.

use anyhow::Result;
use hidp_std::DeviceArray;

use super::{assert_close, small, widen};
use crate::kernels::blas;
use crate::machine::Machine;
use crate::peers::{Address, peer_blas_sums, peer_cub_segmented_sum_f32, peer_has_blas};
use crate::report::{Contender, LIMIT_COPY, Measured, Work};

/// Measures a row of this name.
type Row = fn(&Shape<'_>, &str) -> Result<Measured>;

const ROWS: [(&str, Row); 2] = [("row sums", of_rows), ("column sums", of_columns)];

pub(super) fn run(machine: &Machine) -> Result<()> {
    let bits = machine.size(28, 9) as u32;
    let has_blas = peer_has_blas(machine.stream()).is_ok();
    if !has_blas {
        println!("cuBLAS: LEFT OUT, the library was not found");
    }
    let values = small(1 << bits);
    for (kind, row) in ROWS {
        let mut reached: Vec<Option<Option<f64>>> = Vec::new();
        for power in (0..=bits).step_by(4) {
            let (rows, columns) = (1 << power, 1 << (bits - power));
            let shape = Shape { machine, values: &values, rows, columns, has_blas };
            let title = format!("{kind} 2^{power} x 2^{}", bits - power);
            reached.push(machine.row(&title, || row(&shape, &title)).map(|measured| measured.over(LIMIT_COPY)));
        }
        // Where a row failed, that is said instead.
        if let Some(reached) = reached.into_iter().collect::<Option<Vec<Option<f64>>>>() {
            let worst = reached.into_iter().reduce(|a, b| Some(a?.min(b?))).flatten();
            let what = format!("{kind} of 2^{bits} elements of copy bandwidth, the worst shape");
            machine.report.borrow_mut().goal(&what, worst, 0.9);
        }
    }
    Ok(())
}

/// A matrix, row by row.
struct Shape<'a> {
    machine: &'a Machine,
    values: &'a [f32],
    rows: usize,
    columns: usize,
    has_blas: bool,
}

impl Shape<'_> {
    fn work(&self) -> Work {
        Work::Bytes(4.0 * self.values.len() as f64)
    }
    /// cuBLAS multiplies with ones.
    fn ones(&self, count: usize) -> Result<(DeviceArray<f32, 1>, Address)> {
        self.machine.vector(&vec![1.0_f32; if self.has_blas { count } else { 1 }])
    }
}

fn of_rows(shape: &Shape<'_>, title: &str) -> Result<Measured> {
    let Shape { machine, values, rows, columns, has_blas } = *shape;
    let (cx, stream, r, c) = (&machine.cx, machine.stream(), rows as i64, columns as i64);
    let (a, a_at) = machine.array(values, [rows, columns])?;
    let ((_ones, ones), (_other, other)) = (shape.ones(columns)?, machine.zeros::<f32, 1>([rows])?);
    let (mut y, _) = machine.zeros::<f32, 1>([rows])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(blas::row_sums(cx, &a, &mut y)?))];
    let cut: Vec<i32> =
        if machine.is_tiny() { Vec::new() } else { (0..=rows).map(|row| (row * columns) as i32).collect() };
    let (_cut, cut_at) = machine.vector(&cut)?;
    if !machine.is_tiny() {
        contenders.push(Contender::new("CUB", move || peer_cub_segmented_sum_f32(stream, a_at, cut_at, other, r)));
    }
    if has_blas {
        contenders.push(Contender::new("cuBLAS", move || peer_blas_sums(stream, 0, r, c, a_at, ones, other)));
    }
    let measured = machine.compare(title, shape.work(), contenders)?;
    let expected = values.chunks(columns).map(|row| row.iter().map(|&value| f64::from(value)).sum());
    assert_close(title, &widen(&y.to_vec()?), &expected.collect::<Vec<f64>>(), 1e-3)?;
    Ok(measured)
}

fn of_columns(shape: &Shape<'_>, title: &str) -> Result<Measured> {
    let Shape { machine, values, rows, columns, has_blas } = *shape;
    let (cx, stream, r, c) = (&machine.cx, machine.stream(), rows as i64, columns as i64);
    let (a, a_at) = machine.array(values, [rows, columns])?;
    let ((_ones, ones), (_other, other)) = (shape.ones(rows)?, machine.zeros::<f32, 1>([columns])?);
    let (mut y, _) = machine.zeros::<f32, 1>([columns])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(blas::column_sums(cx, &a, &mut y)?))];
    if has_blas {
        contenders.push(Contender::new("cuBLAS", move || peer_blas_sums(stream, 1, r, c, a_at, ones, other)));
    }
    let measured = machine.compare(title, shape.work(), contenders)?;
    let mut expected = vec![0.0; columns];
    for row in values.chunks(columns) {
        expected.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    assert_close(title, &widen(&y.to_vec()?), &expected, 1e-3)?;
    Ok(measured)
}
