//! Sorts of keys and of pairs.

use anyhow::{Result, ensure};

use super::power;
use crate::kernels::prims;
use crate::machine::Machine;
use crate::peers::{peer_cub_sort_f32, peer_cub_sort_pairs, peer_cub_sort_u32, peer_thrust_sort_u32};
use crate::random::Random;
use crate::report::{Contender, Work};
use crate::shapes::{EQUAL, FEW, Keys, REVERSED, SORTED, UNIFORM};

const DISTRIBUTIONS: [Keys; 5] = [UNIFORM, SORTED, REVERSED, EQUAL, FEW];

/// What is larger is not looked at on the processor.
const CHECKED: usize = 1 << 24;

fn sizes(machine: &Machine) -> Vec<usize> {
    if machine.is_tiny() { vec![1 << 6, 300] } else { [16, 20, 24, 28].map(|bits| 1 << bits).to_vec() }
}

fn keys(n: usize, (_, key): Keys) -> Vec<u32> {
    let mut random = Random::new(1);
    (0..n).map(|index| key(index, n, random.bits())).collect()
}

fn goal(machine: &Machine, what: &str, ratios: &[Option<f64>]) {
    let worst = ratios.iter().copied().reduce(|a, b| Some(a?.min(b?))).flatten();
    machine.report.borrow_mut().goal(&format!("{what} over CUB, the worst of {}", ratios.len()), worst, 0.95);
}

/// Keys alone.
pub(super) fn run(machine: &Machine) -> Result<()> {
    for n in sizes(machine) {
        let (mut of_u32, mut of_f32) = (Vec::new(), Vec::new());
        for distribution in DISTRIBUTIONS {
            let keys = keys(n, distribution);
            of_u32.push(sort_u32(machine, distribution.0, &keys)?);
            of_f32.push(sort_f32(machine, distribution.0, &keys)?);
        }
        goal(machine, &format!("sort u32 {}", power(n)), &of_u32);
        goal(machine, &format!("sort f32 {}", power(n)), &of_f32);
    }
    Ok(())
}

fn sort_u32(machine: &Machine, distribution: &str, keys: &[u32]) -> Result<Option<f64>> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let (input, input_at) = machine.vector(keys)?;
    // Sorts in place get a fresh copy before each run.
    let (a, _) = machine.zeros::<u32, 1>([n])?;
    let a = std::cell::RefCell::new(a);
    let (b, b_at) = machine.zeros::<u32, 1>([n])?;
    let b = std::cell::RefCell::new(b);
    let (count, name) = (n as i64, format!("sort u32 {} {distribution}", power(n)));
    let mut contenders = vec![
        Contender::new("HiDP", || Ok(prims::sort_u32(cx, &mut *a.borrow_mut())?))
            .after(|| Ok(a.borrow_mut().copy_from(&input)?)),
    ];
    if !machine.is_tiny() {
        contenders
            .push(Contender::new("CUB", move || peer_cub_sort_u32(stream, input_at, b_at, count)).after(|| Ok(())));
        let fresh = || Ok(b.borrow_mut().copy_from(&input)?);
        contenders.push(Contender::new("Thrust", move || peer_thrust_sort_u32(stream, b_at, count)).after(fresh));
    }
    let measured = machine.compare(&name, Work::Items(n as f64), contenders)?;
    if n <= CHECKED {
        let mut expected = keys.to_vec();
        expected.sort_unstable();
        ensure!(a.borrow().to_vec()? == expected, "{name}: not sorted");
    }
    Ok(measured.over("CUB"))
}

/// The same bits as floats; those of NaN are made others.
fn sort_f32(machine: &Machine, distribution: &str, keys: &[u32]) -> Result<Option<f64>> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let keys: Vec<f32> = keys.iter().map(|&key| key as f32 - 2e9).collect();
    let (input, input_at) = machine.vector(&keys)?;
    let (a, _) = machine.zeros::<f32, 1>([n])?;
    let a = std::cell::RefCell::new(a);
    let (_b, b_at) = machine.zeros::<f32, 1>([n])?;
    let (count, name) = (n as i64, format!("sort f32 {} {distribution}", power(n)));
    let mut contenders = vec![
        Contender::new("HiDP", || Ok(prims::sort_f32(cx, &mut *a.borrow_mut())?))
            .after(|| Ok(a.borrow_mut().copy_from(&input)?)),
    ];
    if !machine.is_tiny() {
        contenders
            .push(Contender::new("CUB", move || peer_cub_sort_f32(stream, input_at, b_at, count)).after(|| Ok(())));
    }
    let measured = machine.compare(&name, Work::Items(n as f64), contenders)?;
    if n <= CHECKED {
        let mut expected = keys;
        expected.sort_unstable_by(f32::total_cmp);
        ensure!(a.borrow().to_vec()? == expected, "{name}: not sorted");
    }
    Ok(measured.over("CUB"))
}

/// Keys with values.
pub(super) fn run_pairs(machine: &Machine) -> Result<()> {
    for n in sizes(machine) {
        let mut ratios = Vec::new();
        for distribution in DISTRIBUTIONS {
            ratios.push(sort_pairs(machine, distribution.0, &keys(n, distribution))?);
        }
        goal(machine, &format!("sort pairs {}", power(n)), &ratios);
    }
    Ok(())
}

fn sort_pairs(machine: &Machine, distribution: &str, keys: &[u32]) -> Result<Option<f64>> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let places: Vec<u32> = (0..n as u32).collect();
    let ((input, input_at), (values, values_at)) = (machine.vector(keys)?, machine.vector(&places)?);
    let pair = std::cell::RefCell::new((machine.zeros::<u32, 1>([n])?.0, machine.zeros::<u32, 1>([n])?.0));
    let ((_b, b_at), (_c, c_at)) = (machine.zeros::<u32, 1>([n])?, machine.zeros::<u32, 1>([n])?);
    let (count, name) = (n as i64, format!("sort pairs u32 {} {distribution}", power(n)));
    let sort = || {
        let (keys, values) = &mut *pair.borrow_mut();
        Ok(prims::sort_pairs_u32(cx, keys, values)?)
    };
    let fresh = || {
        let (keys, moved) = &mut *pair.borrow_mut();
        keys.copy_from(&input)?;
        Ok(moved.copy_from(&values)?)
    };
    let mut contenders = vec![Contender::new("HiDP", sort).after(fresh)];
    if !machine.is_tiny() {
        let cub = move || peer_cub_sort_pairs(stream, input_at, b_at, values_at, c_at, count);
        contenders.push(Contender::new("CUB", cub).after(|| Ok(())));
    }
    let measured = machine.compare(&name, Work::Items(n as f64), contenders)?;
    if n <= CHECKED {
        let mut expected = places;
        expected.sort_by_key(|&place| keys[place as usize]);
        ensure!(pair.borrow().1.to_vec()? == expected, "{name}: not sorted, or not stable");
    }
    Ok(measured.over("CUB"))
}
