//! Triad, sums and dot products.

use anyhow::Result;

use super::{assert_close, power, small};
use crate::kernels::{blas, prims};
use crate::machine::Machine;
use crate::peers::{peer_cub_dot, peer_cub_sum, peer_thrust_dot, peer_triad};
use crate::report::{Contender, LIMIT_COPY, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    for n in [machine.size(1 << 20, 500), machine.size(1 << 24, 1000), machine.size(1 << 28, 1 << 10)] {
        sizes(machine, n)?;
    }
    Ok(())
}

fn sizes(machine: &Machine, n: usize) -> Result<()> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), n as i64);
    let values = small(n);
    let ((x, x_at), (y, y_at)) = (machine.vector(&values)?, machine.vector(&values)?);
    let (mut a, _) = machine.zeros::<f32, 1>([n])?;
    let (_other, other) = machine.zeros::<f32, 1>([n])?;
    let shown = power(n);

    let mut contenders = vec![Contender::new("HiDP", || Ok(blas::triad(cx, &x, &y, 3.0, &mut a)?))];
    if !machine.is_tiny() {
        contenders.push(Contender::new("by hand", move || peer_triad(stream, other, x_at, y_at, 3.0, count)));
    }
    let triad = machine.compare(&format!("triad f32 {shown}"), Work::Bytes(12.0 * n as f64), contenders)?;
    let expected: Vec<f64> = values.iter().map(|&value| 4.0 * f64::from(value)).collect();
    assert_close("triad", &super::widen(&a.to_vec()?), &expected, 1e-6)?;

    let exact: f64 = values.iter().map(|&value| f64::from(value)).sum();
    let mut sum = 0.0;
    let mut contenders = vec![Contender::new("HiDP", || {
        sum = prims::sum_f32(cx, &x)?;
        Ok(())
    })];
    if !machine.is_tiny() {
        contenders.push(Contender::new("CUB", move || peer_cub_sum(stream, x_at, other, count)));
    }
    let sums = machine.compare(&format!("sum f32 {shown}"), Work::Bytes(4.0 * n as f64), contenders)?;
    assert_close("sum", &[f64::from(sum)], &[exact], 1e-3)?;

    let exact: f64 = values.iter().map(|&value| f64::from(value).powi(2)).sum();
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
    let dots = machine.compare(&format!("dot f32 {shown}"), Work::Bytes(8.0 * n as f64), contenders)?;
    assert_close("dot", &[f64::from(dot)], &[exact], 1e-4)?;
    if n >= 1 << 28 || machine.is_tiny() {
        for measured in [triad, sums, dots] {
            let what = format!("{} of copy bandwidth", measured.title());
            machine.report.borrow_mut().goal(&what, measured.over(LIMIT_COPY), 0.9);
        }
    }
    Ok(())
}
