//! Prefix sums.

use anyhow::{Result, ensure};

use super::power;
use crate::kernels::prims;
use crate::machine::Machine;
use crate::peers::{peer_cub_scan, peer_thrust_scan};
use crate::report::{Contender, LIMIT_COPY, Measured, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    let sizes: Vec<usize> =
        if machine.is_tiny() { vec![1 << 8, 900] } else { (8..=14).map(|half| 1 << (2 * half)).collect() };
    let last = sizes.last().copied();
    for n in sizes {
        let title = format!("scan i32 {}", power(n));
        let measured = machine.row(&title, || scan(machine, &title, n));
        if let Some(measured) = measured.filter(|_| Some(n) == last) {
            let figure = measured.over(LIMIT_COPY);
            machine.report.borrow_mut().goal(&format!("{title} of copy bandwidth"), figure, 0.9);
        }
    }
    Ok(())
}

fn scan(machine: &Machine, title: &str, n: usize) -> Result<Measured> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), n as i64);
    let values: Vec<i32> = (0..n).map(|index| ((index * 7919) % 5) as i32 - 2).collect();
    let (x, x_at) = machine.vector(&values)?;
    let (mut y, _) = machine.zeros::<i32, 1>([n])?;
    let (_other, other) = machine.zeros::<i32, 1>([n])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(prims::scan_i32(cx, &x, &mut y)?))];
    if !machine.is_tiny() {
        contenders.push(Contender::new("CUB", move || peer_cub_scan(stream, x_at, other, count)));
        contenders.push(Contender::new("Thrust", move || peer_thrust_scan(stream, x_at, other, count)));
    }
    let measured = machine.compare(title, Work::Bytes(8.0 * n as f64), contenders)?;
    let mut sum = 0_i32;
    let expected = values.iter().map(|value| {
        sum += value;
        sum
    });
    ensure!(y.to_vec()?.into_iter().eq(expected), "other prefixes than the processor's");
    Ok(measured)
}
