//! Whole programs: quicksort, bitonic sort, particles.

use std::cell::RefCell;

use anyhow::{Result, ensure};
use hidp_std::{Context, DeviceArray};

use super::{assert_close, power, widen};
use crate::kernels::{bitonic, particles, quicksort};
use crate::machine::Machine;
use crate::peers::peer_cub_sort_u32;
use crate::random::Random;
use crate::report::{Contender, Work};

/// Measures a row of this name: keys, and how they are when sorted.
type Sort = fn(&Machine, &str, &[u32], &[u32]) -> Result<()>;

const SORTS: [(&str, Sort); 2] = [("quicksort", quicksort), ("bitonic", bitonic)];

pub(super) fn run(machine: &Machine) -> Result<()> {
    for n in [machine.size(1 << 20, 1 << 6), machine.size(1 << 24, 1 << 8)] {
        let mut random = Random::new(9);
        let keys: Vec<u32> = (0..n).map(|_| random.bits() as u32).collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        for (what, row) in SORTS {
            let name = format!("{what} u32 {}", power(n));
            machine.row(&name, || row(machine, &name, &keys, &expected));
        }
    }
    for count in [machine.size(10_000, 30), machine.size(1_000_000, 60)] {
        let name = format!("particles, {count}: steps");
        machine.row(&name, || particles(machine, &name, count));
    }
    Ok(())
}

fn quicksort(machine: &Machine, name: &str, keys: &[u32], expected: &[u32]) -> Result<()> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), keys.len() as i64);
    let (input, input_at) = machine.vector(keys)?;
    let (mut sorted, _) = machine.zeros::<u32, 1>([keys.len()])?;
    let (_other, other) = machine.zeros::<u32, 1>([keys.len()])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(quicksort::quicksort(cx, &input, &mut sorted)?))];
    if !machine.is_tiny() {
        contenders.push(Contender::new("CUB's sort", move || peer_cub_sort_u32(stream, input_at, other, count)));
    }
    machine.compare(name, Work::Items(count as f64), contenders)?;
    ensure!(sorted.to_vec()? == expected, "not sorted");
    Ok(())
}

fn bitonic(machine: &Machine, name: &str, keys: &[u32], expected: &[u32]) -> Result<()> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), keys.len() as i64);
    let (input, input_at) = machine.vector(keys)?;
    let (_other, other) = machine.zeros::<u32, 1>([keys.len()])?;
    let ((all, _), (parts, _)) = (machine.zeros::<u32, 1>([keys.len()])?, machine.zeros::<u32, 1>([keys.len()])?);
    let (all, parts) = (RefCell::new(all), RefCell::new(parts));
    let network = || Ok(bitonic::bitonic(cx, &mut *all.borrow_mut())?);
    let segments = || Ok(bitonic::by_segments(cx, &mut *parts.borrow_mut(), 1024.min(count))?);
    let mut contenders = vec![
        Contender::new("HiDP", network).after(|| Ok(all.borrow_mut().copy_from(&input)?)),
        Contender::new("HiDP by segments", segments).after(|| Ok(parts.borrow_mut().copy_from(&input)?)),
    ];
    if !machine.is_tiny() {
        let cub = move || peer_cub_sort_u32(stream, input_at, other, count);
        contenders.push(Contender::new("CUB's sort", cub).after(|| Ok(())));
    }
    machine.compare(name, Work::Items(count as f64), contenders)?;
    for (what, sorted) in [("the network", &all), ("by segments", &parts)] {
        ensure!(sorted.borrow().to_vec()? == expected, "{what}: not sorted");
    }
    Ok(())
}

/// A tilted block of particles that falls: steps a second.
fn particles(machine: &Machine, name: &str, count: usize) -> Result<()> {
    let columns = (count as f32).sqrt().ceil();
    let radius = 0.24 / columns;
    let place = |index: usize| {
        let (i, d) = (index / 2, index % 2);
        let (x, y) = ((i as f32 % columns) / columns, (i as f32 / columns).floor() / columns);
        let shaken = ((i * 7919 + d * 104_729) % 1000) as f32 * 1e-6;
        if d == 0 { 0.12 + 0.5 * x + 0.16 * y + shaken } else { 0.3 + 0.5 * y + 0.12 * x + shaken }
    };
    let places: Vec<f32> = (0..2 * count).map(place).collect();
    let side = ((0.5 / radius) as i32).max(1);
    let step = |cx: &Context, position: &mut DeviceArray<f32, 2>, velocity: &mut DeviceArray<f32, 2>| {
        Ok(particles::step(cx, position, velocity, 0.0005, radius, 400_000.0, 0.6, 6.0, side)?)
    };
    let (mut position, _) = machine.array(&places, [count, 2])?;
    let (mut velocity, _) = machine.zeros::<f32, 2>([count, 2])?;
    // The first steps, as the processor makes them.
    let cpu = Context::builder().threads(1).cpu().build()?;
    let mut expected = DeviceArray::from_host(&cpu, &places)?.into_shape([count, 2])?;
    let mut expected_velocity = DeviceArray::zeros(&cpu, [count, 2])?;
    for _ in 0..3 {
        step(&machine.cx, &mut position, &mut velocity)?;
        step(&cpu, &mut expected, &mut expected_velocity)?;
    }
    assert_close(name, &widen(&position.to_vec()?), &widen(&expected.to_vec()?), 1e-5)?;
    assert_close(name, &widen(&velocity.to_vec()?), &widen(&expected_velocity.to_vec()?), 1e-2)?;
    let run = || step(&machine.cx, &mut position, &mut velocity);
    let measured = machine.compare(name, Work::Items(1.0), vec![Contender::new("HiDP", run)])?;
    println!("{:<34} | {:.1} steps a second", measured.title(), measured.first());
    let inside = |p: &f32| (0.0..=1.0).contains(p);
    ensure!(position.to_vec()?.iter().all(inside), "particles left the box");
    Ok(())
}
