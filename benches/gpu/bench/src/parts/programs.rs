//! Whole programs: quicksort, bitonic sort, particles.

use std::cell::RefCell;

use anyhow::{Result, ensure};

use super::power;
use crate::kernels::{bitonic, particles, quicksort};
use crate::machine::Machine;
use crate::peers::peer_cub_sort_u32;
use crate::random::Random;
use crate::report::{Contender, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    for n in [machine.size(1 << 20, 1 << 6), machine.size(1 << 24, 1 << 8)] {
        sorts(machine, n)?;
    }
    for count in [machine.size(10_000, 30), machine.size(1_000_000, 60)] {
        particles(machine, count)?;
    }
    Ok(())
}

fn sorts(machine: &Machine, n: usize) -> Result<()> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), n as i64);
    let mut random = Random::new(9);
    let keys: Vec<u32> = (0..n).map(|_| random.bits() as u32).collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    let (input, input_at) = machine.vector(&keys)?;
    let (mut sorted, _) = machine.zeros::<u32, 1>([n])?;
    let (_other, other) = machine.zeros::<u32, 1>([n])?;
    let cub = || Contender::new("CUB's sort", move || peer_cub_sort_u32(stream, input_at, other, count));

    let mut contenders = vec![Contender::new("HiDP", || Ok(quicksort::quicksort(cx, &input, &mut sorted)?))];
    contenders.extend((!machine.is_tiny()).then(cub));
    machine.compare(&format!("quicksort u32 {}", power(n)), Work::Items(n as f64), contenders)?;
    ensure!(sorted.to_vec()? == expected, "quicksort: not sorted");

    let work = RefCell::new(sorted);
    let fresh = || Ok(work.borrow_mut().copy_from(&input)?);
    let network = || Ok(bitonic::bitonic(cx, &mut *work.borrow_mut())?);
    let segments = || Ok(bitonic::by_segments(cx, &mut *work.borrow_mut(), 1024.min(n as i64))?);
    let mut contenders =
        vec![Contender::new("HiDP", network).after(fresh), Contender::new("HiDP by segments", segments).after(fresh)];
    contenders.extend((!machine.is_tiny()).then(|| cub().after(|| Ok(()))));
    machine.compare(&format!("bitonic u32 {}", power(n)), Work::Items(n as f64), contenders)?;
    ensure!(work.borrow().to_vec()? == expected, "bitonic: not sorted");
    Ok(())
}

/// A tilted block of particles that falls: steps a second.
fn particles(machine: &Machine, count: usize) -> Result<()> {
    let columns = (count as f32).sqrt().ceil();
    let radius = 0.24 / columns;
    let place = |index: usize| {
        let (i, d) = (index / 2, index % 2);
        let (x, y) = ((i as f32 % columns) / columns, (i as f32 / columns).floor() / columns);
        let shaken = ((i * 7919 + d * 104_729) % 1000) as f32 * 1e-6;
        if d == 0 { 0.12 + 0.5 * x + 0.16 * y + shaken } else { 0.3 + 0.5 * y + 0.12 * x + shaken }
    };
    let places: Vec<f32> = (0..2 * count).map(place).collect();
    let (mut position, _) = machine.array(&places, [count, 2])?;
    let (mut velocity, _) = machine.zeros::<f32, 2>([count, 2])?;
    let side = ((0.5 / radius) as i32).max(1);
    let step =
        || Ok(particles::step(&machine.cx, &mut position, &mut velocity, 0.0005, radius, 400_000.0, 0.6, 6.0, side)?);
    let name = format!("particles, {count}: steps");
    let measured = machine.compare(&name, Work::Items(1.0), vec![Contender::new("HiDP", step)])?;
    println!("{:<34} | {:.1} steps a second", measured.title(), measured.first());
    let inside = |p: &f32| (0.0..=1.0).contains(p);
    ensure!(position.to_vec()?.iter().all(inside), "particles left the box");
    Ok(())
}
