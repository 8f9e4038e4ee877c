//! Sorts of keys and of pairs.

use anyhow::{Result, ensure};

use super::power;
use crate::kernels::prims;
use crate::machine::Machine;
use crate::peers::{
    Address, peer_cub_sort_f32, peer_cub_sort_pairs, peer_cub_sort_u32, peer_differences, peer_thrust_sort_u32,
};
use crate::random::Random;
use crate::report::{Contender, Work};
use crate::shapes::{EQUAL, FEW, Keys, REVERSED, SORTED, UNIFORM};

const DISTRIBUTIONS: [Keys; 5] = [UNIFORM, SORTED, REVERSED, EQUAL, FEW];

/// What is larger is compared with what CUB makes of it, on the GPU.
const CHECKED: usize = 1 << 24;

fn sizes(machine: &Machine) -> Vec<usize> {
    if machine.is_tiny() { vec![1 << 6, 300] } else { [16, 20, 24, 28].map(|bits| 1 << bits).to_vec() }
}

fn keys(n: usize, (_, key): Keys) -> Vec<u32> {
    let mut random = Random::new(1);
    (0..n).map(|index| key(index, n, random.bits())).collect()
}

/// `None` stands for a row that failed, which is said elsewhere.
fn goal(machine: &Machine, what: &str, ratios: &[Option<Option<f64>>]) {
    let Some(ratios) = ratios.iter().copied().collect::<Option<Vec<Option<f64>>>>() else { return };
    let worst = ratios.iter().copied().reduce(|a, b| Some(a?.min(b?))).flatten();
    machine.report.borrow_mut().goal(&format!("{what} over CUB, the worst of {}", ratios.len()), worst, 0.95);
}

/// Two arrays of words on the device have the same bits.
fn same(machine: &Machine, a: Address, b: Address, n: usize) -> Result<()> {
    let mut count = 0;
    peer_differences(machine.stream(), a, b, n as i64, &mut count)?;
    ensure!(count == 0, "{count} elements are not those of CUB's result");
    Ok(())
}

/// Keys alone.
pub(super) fn run(machine: &Machine) -> Result<()> {
    for n in sizes(machine) {
        let (mut of_u32, mut of_f32) = (Vec::new(), Vec::new());
        for distribution in DISTRIBUTIONS {
            let keys = keys(n, distribution);
            let title = |what: &str| format!("sort {what} {} {}", power(n), distribution.0);
            of_u32.push(machine.row(&title("u32"), || sort_u32(machine, &title("u32"), &keys)));
            of_f32.push(machine.row(&title("f32"), || sort_f32(machine, &title("f32"), &keys)));
        }
        goal(machine, &format!("sort u32 {}", power(n)), &of_u32);
        goal(machine, &format!("sort f32 {}", power(n)), &of_f32);
    }
    Ok(())
}

fn sort_u32(machine: &Machine, name: &str, keys: &[u32]) -> Result<Option<f64>> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let (input, input_at) = machine.vector(keys)?;
    // Sorts in place get a fresh copy before each run.
    let (a, a_at) = machine.zeros::<u32, 1>([n])?;
    let a = std::cell::RefCell::new(a);
    let (b, b_at) = machine.zeros::<u32, 1>([n])?;
    let b = std::cell::RefCell::new(b);
    let count = n as i64;
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
    let measured = machine.compare(name, Work::Items(n as f64), contenders)?;
    if n <= CHECKED {
        let mut expected = keys.to_vec();
        expected.sort_unstable();
        ensure!(a.borrow().to_vec()? == expected, "not sorted");
    } else if measured.over("CUB").is_some() {
        same(machine, a_at, b_at, n)?;
    }
    Ok(measured.over("CUB"))
}

/// The same bits as floats; those of NaN are made others.
fn sort_f32(machine: &Machine, name: &str, keys: &[u32]) -> Result<Option<f64>> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let keys: Vec<f32> = keys.iter().map(|&key| key as f32 - 2e9).collect();
    let (input, input_at) = machine.vector(&keys)?;
    let (a, a_at) = machine.zeros::<f32, 1>([n])?;
    let a = std::cell::RefCell::new(a);
    let (_b, b_at) = machine.zeros::<f32, 1>([n])?;
    let count = n as i64;
    let mut contenders = vec![
        Contender::new("HiDP", || Ok(prims::sort_f32(cx, &mut *a.borrow_mut())?))
            .after(|| Ok(a.borrow_mut().copy_from(&input)?)),
    ];
    if !machine.is_tiny() {
        contenders
            .push(Contender::new("CUB", move || peer_cub_sort_f32(stream, input_at, b_at, count)).after(|| Ok(())));
    }
    let measured = machine.compare(name, Work::Items(n as f64), contenders)?;
    if n <= CHECKED {
        let mut expected = keys;
        expected.sort_unstable_by(f32::total_cmp);
        ensure!(a.borrow().to_vec()? == expected, "not sorted");
    } else if measured.over("CUB").is_some() {
        same(machine, a_at, b_at, n)?;
    }
    Ok(measured.over("CUB"))
}

/// Keys with values.
pub(super) fn run_pairs(machine: &Machine) -> Result<()> {
    for n in sizes(machine) {
        let mut ratios = Vec::new();
        for distribution in DISTRIBUTIONS {
            let title = format!("sort pairs u32 {} {}", power(n), distribution.0);
            ratios.push(machine.row(&title, || sort_pairs(machine, &title, &keys(n, distribution))));
        }
        goal(machine, &format!("sort pairs {}", power(n)), &ratios);
    }
    Ok(())
}

fn sort_pairs(machine: &Machine, name: &str, keys: &[u32]) -> Result<Option<f64>> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let places: Vec<u32> = (0..n as u32).collect();
    let ((input, input_at), (values, values_at)) = (machine.vector(keys)?, machine.vector(&places)?);
    let ((a, keys_at), (moved, moved_at)) = (machine.zeros::<u32, 1>([n])?, machine.zeros::<u32, 1>([n])?);
    let pair = std::cell::RefCell::new((a, moved));
    let ((_b, b_at), (_c, c_at)) = (machine.zeros::<u32, 1>([n])?, machine.zeros::<u32, 1>([n])?);
    let count = n as i64;
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
    let measured = machine.compare(name, Work::Items(n as f64), contenders)?;
    if n <= CHECKED {
        let mut expected = places;
        expected.sort_by_key(|&place| keys[place as usize]);
        ensure!(pair.borrow().1.to_vec()? == expected, "not sorted, or not stable");
    } else if measured.over("CUB").is_some() {
        same(machine, keys_at, b_at, n)?;
        same(machine, moved_at, c_at, n)?;
    }
    Ok(measured.over("CUB"))
}
