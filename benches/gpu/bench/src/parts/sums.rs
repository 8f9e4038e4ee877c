//! Sums of rows and columns, from one row to one column.

use anyhow::Result;

use super::{assert_close, small, widen};
use crate::kernels::blas;
use crate::machine::Machine;
use crate::peers::{peer_blas_sums, peer_cub_segmented_sum_f32, peer_has_blas};
use crate::report::{Contender, LIMIT_COPY, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    let bits = machine.size(28, 9) as u32;
    let has_blas = peer_has_blas(machine.stream()).is_ok();
    if !has_blas {
        println!("cuBLAS: LEFT OUT, the library was not found");
    }
    let values = small(1 << bits);
    let mut worst: [Option<f64>; 2] = [Some(f64::INFINITY); 2];
    for power in (0..=bits).step_by(4) {
        let (rows, columns) = (1 << power, 1 << (bits - power));
        let reached = shape(machine, &values, rows, columns, has_blas)?;
        for (worst, reached) in worst.iter_mut().zip(reached) {
            *worst = worst.zip(reached).map(|(worst, reached)| worst.min(reached));
        }
    }
    for (name, worst) in ["row sums", "column sums"].into_iter().zip(worst) {
        let what = format!("{name} of 2^{bits} elements of copy bandwidth, the worst shape");
        machine.report.borrow_mut().goal(&what, worst, 0.9);
    }
    Ok(())
}

fn shape(machine: &Machine, values: &[f32], rows: usize, columns: usize, has_blas: bool) -> Result<[Option<f64>; 2]> {
    let (cx, stream) = (&machine.cx, machine.stream());
    let (r, c) = (rows as i64, columns as i64);
    let (a, a_at) = machine.array(values, [rows, columns])?;
    let most = rows.max(columns);
    let (_ones, ones) = machine.vector(&vec![1.0_f32; most])?;
    let (_other, other) = machine.zeros::<f32, 1>([most])?;
    let title = |what: &str| format!("{what} 2^{} x 2^{}", rows.trailing_zeros(), columns.trailing_zeros());
    let work = Work::Bytes(4.0 * values.len() as f64);

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
    let of_rows = machine.compare(&title("row sums"), work, contenders)?;
    let expected: Vec<f64> = values.chunks(columns).map(|row| widen(row).iter().sum()).collect();
    assert_close(&title("row sums"), &widen(&y.to_vec()?), &expected, 1e-3)?;

    let (mut y, _) = machine.zeros::<f32, 1>([columns])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(blas::column_sums(cx, &a, &mut y)?))];
    if has_blas {
        contenders.push(Contender::new("cuBLAS", move || peer_blas_sums(stream, 1, r, c, a_at, ones, other)));
    }
    let of_columns = machine.compare(&title("column sums"), work, contenders)?;
    let mut expected = vec![0.0; columns];
    for row in values.chunks(columns) {
        expected.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    assert_close(&title("column sums"), &widen(&y.to_vec()?), &expected, 1e-3)?;
    Ok([of_rows.over(LIMIT_COPY), of_columns.over(LIMIT_COPY)])
}
