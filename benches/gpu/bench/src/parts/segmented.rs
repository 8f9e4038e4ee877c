//! Sums, prefixes and sorts of segments of four shapes.

use std::cell::RefCell;

use anyhow::{Result, ensure};

use crate::kernels::{prims, segments};
use crate::machine::Machine;
use crate::peers::{
    peer_cub_scan_by_key, peer_cub_segmented_radix_sort, peer_cub_segmented_sort, peer_cub_segmented_sum,
};
use crate::random::Random;
use crate::report::{Contender, Work};
use crate::shapes::{even, zipf};

/// Measures a row of this name: bounds of segments, and keys.
type Row = fn(&Machine, &str, &[i32], &[u32]) -> Result<()>;

const ROWS: [(&str, Row); 3] = [("sum", sum), ("scan", scan), ("sort", sort)];

pub(super) fn run(machine: &Machine) -> Result<()> {
    let shapes = if machine.is_tiny() {
        vec![("30 x 7", even(30, 7)), ("3 x 90", even(3, 90))]
    } else {
        let n = 1 << 24;
        vec![
            ("2^14 x 1024", even(1 << 14, 1 << 10)),
            ("2^20 x 16", even(1 << 20, 16)),
            ("8 x 2^21", even(8, 1 << 21)),
            ("power law", zipf(n)),
        ]
    };
    for (shape, cut) in shapes {
        let mut random = Random::new(7);
        let keys: Vec<u32> = (0..cut[cut.len() - 1]).map(|_| random.bits() as u32).collect();
        for (what, row) in ROWS {
            let name = format!("segmented {what} u32 {shape}");
            machine.row(&name, || row(machine, &name, &cut, &keys));
        }
    }
    Ok(())
}

/// The elements of each segment.
fn pieces<'a>(data: &'a [u32], cut: &'a [i32]) -> impl Iterator<Item = &'a [u32]> {
    cut.windows(2).map(|pair| &data[pair[0] as usize..pair[1] as usize])
}

fn goal(machine: &Machine, what: &str, ratio: Option<f64>) {
    machine.report.borrow_mut().goal(what, ratio, 1.0);
}

fn sum(machine: &Machine, name: &str, cut: &[i32], keys: &[u32]) -> Result<()> {
    let (cx, stream, count) = (&machine.cx, machine.stream(), cut.len() - 1);
    let ((x, x_at), (cuts, cuts_at)) = (machine.vector(keys)?, machine.vector(cut)?);
    let (mut y, _) = machine.zeros::<u32, 1>([count])?;
    let (_other, other) = machine.zeros::<u32, 1>([count])?;
    let mut contenders = vec![Contender::new("HiDP", || Ok(prims::segmented_sum_u32(cx, &x, &cuts, &mut y)?))];
    if !machine.is_tiny() {
        let cub = move || peer_cub_segmented_sum(stream, x_at, cuts_at, other, count as i64);
        contenders.push(Contender::new("CUB", cub));
    }
    let measured = machine.compare(name, Work::Bytes(4.0 * (keys.len() + 2 * count) as f64), contenders)?;
    let expected = pieces(keys, cut).map(|piece| piece.iter().fold(0, |a: u32, b| a.wrapping_add(*b)));
    ensure!(y.to_vec()?.into_iter().eq(expected), "other sums");
    goal(machine, &format!("{name} over CUB"), measured.over("CUB"));
    Ok(())
}

fn scan(machine: &Machine, name: &str, cut: &[i32], keys: &[u32]) -> Result<()> {
    let (cx, stream, n) = (&machine.cx, machine.stream(), keys.len());
    let ((x, x_at), (cuts, _)) = (machine.vector(keys)?, machine.vector(cut)?);
    let numbers = cut.windows(2).enumerate().flat_map(|(s, pair)| (pair[0]..pair[1]).map(move |_| s as u32));
    let (_numbers, numbers_at) = machine.vector(&numbers.collect::<Vec<u32>>())?;
    let (y, _) = machine.zeros::<u32, 1>([n])?;
    let y = RefCell::new(y);
    let (z, _) = machine.zeros::<u32, 1>([n])?;
    let z = RefCell::new(z);
    let (_other, other) = machine.zeros::<u32, 1>([n])?;
    let mut contenders = vec![
        Contender::new("HiDP", || Ok(segments::scan_all(cx, &x, &cuts, &mut *y.borrow_mut())?)),
        Contender::new("HiDP in a map", || Ok(segments::scan_each(cx, &x, &cuts, &mut *z.borrow_mut())?)),
    ];
    if !machine.is_tiny() {
        let cub = move || peer_cub_scan_by_key(stream, numbers_at, x_at, other, n as i64);
        contenders.push(Contender::new("CUB by key", cub));
    }
    let measured = machine.compare(name, Work::Bytes(8.0 * n as f64), contenders)?;
    let mut expected = Vec::with_capacity(n);
    for piece in pieces(keys, cut) {
        let mut sum = 0_u32;
        expected.extend(piece.iter().map(|key| {
            sum = sum.wrapping_add(*key);
            sum
        }));
    }
    ensure!(y.borrow().to_vec()? == expected && z.borrow().to_vec()? == expected, "other prefixes");
    goal(machine, &format!("{name} over CUB's by key"), measured.over("CUB by key"));
    Ok(())
}

fn sort(machine: &Machine, name: &str, cut: &[i32], keys: &[u32]) -> Result<()> {
    let (cx, stream, n, count) = (&machine.cx, machine.stream(), keys.len() as i64, cut.len() as i64 - 1);
    let ((input, input_at), (cuts, cuts_at)) = (machine.vector(keys)?, machine.vector(cut)?);
    let ((all, _), (each, _)) = (machine.zeros::<u32, 1>([keys.len()])?, machine.zeros::<u32, 1>([keys.len()])?);
    let (all, each) = (RefCell::new(all), RefCell::new(each));
    let (_other, other) = machine.zeros::<u32, 1>([keys.len()])?;
    let sort_all = || Ok(prims::segmented_sort_u32(cx, &mut *all.borrow_mut(), &cuts)?);
    let sort_each = || Ok(segments::sort_each(cx, &mut *each.borrow_mut(), &cuts)?);
    let mut contenders = vec![
        Contender::new("HiDP", sort_all).after(|| Ok(all.borrow_mut().copy_from(&input)?)),
        Contender::new("HiDP in a map", sort_each).after(|| Ok(each.borrow_mut().copy_from(&input)?)),
    ];
    if !machine.is_tiny() {
        let sort = move || peer_cub_segmented_sort(stream, input_at, other, cuts_at, n, count);
        let radix = move || peer_cub_segmented_radix_sort(stream, input_at, other, cuts_at, n, count);
        contenders.push(Contender::new("CUB", sort).after(|| Ok(())));
        contenders.push(Contender::new("CUB radix", radix).after(|| Ok(())));
    }
    let measured = machine.compare(name, Work::Items(n as f64), contenders)?;
    let expected: Vec<u32> = pieces(keys, cut)
        .flat_map(|piece| {
            let mut piece = piece.to_vec();
            piece.sort_unstable();
            piece
        })
        .collect();
    for (what, sorted) in [("all at once", &all), ("in a map", &each)] {
        ensure!(sorted.borrow().to_vec()? == expected, "{what}: not sorted");
    }
    goal(machine, &format!("{name} over the best of CUB's"), measured.over_best("CUB"));
    Ok(())
}
