//! Triad, sums and dot products.

use anyhow::Result;

use super::{assert_close, power, small, widen};
use crate::kernels::{blas, prims};
use crate::machine::Machine;
use crate::peers::{peer_cub_dot, peer_cub_sum, peer_thrust_dot, peer_triad};
use crate::report::{Contender, LIMIT_COPY, Measured, Work};

/// Measures a row of this name.
type Row = fn(&Machine, &str, &[f32]) -> Result<Measured>;

const ROWS: [(&str, Row); 3] = [("triad", triad), ("sum", sum), ("dot", dot)];

pub(super) fn run(machine: &Machine) -> Result<()> {
    for n in [machine.size(1 << 20, 500), machine.size(1 << 24, 1000), machine.size(1 << 28, 1 << 10)] {
        let values = small(n);
        for (what, row) in ROWS {
            let title = format!("{what} f32 {}", power(n));
            let measured = machine.row(&title, || row(machine, &title, &values));
            // What is smaller fits into caches.
            if let Some(measured) = measured.filter(|_| n >= 1 << 28 || machine.is_tiny()) {
                let figure = measured.over(LIMIT_COPY);
                machine.report.borrow_mut().goal(&format!("{title} of copy bandwidth"), figure, 0.9);
            }
        }
    }
    Ok(())
}

fn triad(machine: &Machine, title: &str, values: &[f32]) -> Result<Measured> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), values.len() as i64);
    let ((x, x_at), (y, y_at)) = (machine.vector(values)?, machine.vector(values)?);
    let ((mut a, _), (_other, other)) =
        (machine.zeros::<f32, 1>([values.len()])?, machine.zeros::<f32, 1>([values.len()])?);
    let mut contenders = vec![Contender::new("HiDP", || Ok(blas::triad(cx, &x, &y, 3.0, &mut a)?))];
    if !machine.is_tiny() {
        contenders.push(Contender::new("by hand", move || peer_triad(stream, other, x_at, y_at, 3.0, count)));
    }
    let measured = machine.compare(title, Work::Bytes(12.0 * values.len() as f64), contenders)?;
    let expected: Vec<f64> = values.iter().map(|&value| 4.0 * f64::from(value)).collect();
    assert_close(title, &widen(&a.to_vec()?), &expected, 1e-6)?;
    Ok(measured)
}

fn sum(machine: &Machine, title: &str, values: &[f32]) -> Result<Measured> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), values.len() as i64);
    let ((x, x_at), (_other, other)) = (machine.vector(values)?, machine.zeros::<f32, 1>([1])?);
    let mut sum = 0.0;
    let mut contenders = vec![Contender::new("HiDP", || {
        sum = prims::sum_f32(cx, &x)?;
        Ok(())
    })];
    if !machine.is_tiny() {
        contenders.push(Contender::new("CUB", move || peer_cub_sum(stream, x_at, other, count)));
    }
    let measured = machine.compare(title, Work::Bytes(4.0 * values.len() as f64), contenders)?;
    let exact = values.iter().map(|&value| f64::from(value)).sum();
    assert_close(title, &[f64::from(sum)], &[exact], 1e-3)?;
    Ok(measured)
}

fn dot(machine: &Machine, title: &str, values: &[f32]) -> Result<Measured> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), values.len() as i64);
    let ((x, x_at), (y, y_at)) = (machine.vector(values)?, machine.vector(values)?);
    let (_other, other) = machine.zeros::<f32, 1>([1])?;
    let mut dot = 0.0;
    let mut contenders = vec![Contender::new("HiDP", || {
        dot = blas::dot(cx, &x, &y)?;
        Ok(())
    })];
    if !machine.is_tiny() {
        contenders.push(Contender::new("CUB", move || peer_cub_dot(stream, x_at, y_at, other, count)));
        let mut out = 0.0;
        contenders.push(Contender::new("Thrust", move || peer_thrust_dot(stream, x_at, y_at, &mut out, count)));
    }
    let measured = machine.compare(title, Work::Bytes(8.0 * values.len() as f64), contenders)?;
    let exact = values.iter().map(|&value| f64::from(value).powi(2)).sum();
    assert_close(title, &[f64::from(dot)], &[exact], 1e-4)?;
    Ok(measured)
}
