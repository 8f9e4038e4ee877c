//! The parts: each fits into eight minutes.

mod gemm;
mod limits;
mod programs;
mod scan;
mod segmented;
mod sort;
mod spmv;
mod stencil;
mod streaming;
mod sums;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use crate::machine::Machine;

type Part = (&'static str, fn(&Machine) -> Result<()>);

/// Every part, in order.
pub const PARTS: &[Part] = &[
    ("limits", limits::run),
    ("streaming", streaming::run),
    ("scan", scan::run),
    ("sort", sort::run),
    ("sort-pairs", sort::run_pairs),
    ("segmented", segmented::run),
    ("spmv", spmv::run),
    ("stencil", stencil::run),
    ("sums", sums::run),
    ("gemm", gemm::run),
    ("programs", programs::run),
];

/// `PART [--gpu N | --simulated] [--data FOLDER] [--goals FILE]`
pub fn main(args: impl Iterator<Item = String>) -> Result<()> {
    let (mut names, mut gpu, mut simulated) = (Vec::new(), 0, false);
    let (mut data, mut goals) = (PathBuf::from("data"), None);
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--gpu" => gpu = value()?.parse().context("--gpu needs a number")?,
            "--simulated" => simulated = true,
            "--data" => data = value()?.into(),
            "--goals" => goals = Some(PathBuf::from(value()?)),
            name => names.push(name.to_owned()),
        }
    }
    let machine = if simulated { Machine::simulated(data)? } else { Machine::gpu(gpu, data)? };
    println!("{}; rates: median [smallest, largest] over rounds in which all of a row take turns", machine.cx.device());
    ensure!(!names.is_empty(), "which part? There are: {}", known());
    for name in &names {
        run(&machine, name)?;
    }
    let report = machine.report.borrow();
    let lines: Vec<&String> = report.goals().iter().chain(report.failures()).collect();
    println!();
    lines.iter().for_each(|line| println!("{line}"));
    if let Some(file) = goals {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    match report.failures().len() {
        0 => Ok(()),
        count => bail!("{count} rows failed"),
    }
}

/// Measures a part.
pub fn run(machine: &Machine, name: &str) -> Result<()> {
    let Some((_, part)) = PARTS.iter().find(|(known, _)| *known == name) else {
        bail!("there is no part {name}; there are: {}", known());
    };
    part(machine)
}

fn known() -> String {
    PARTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

/// Stops a benchmark whose contenders disagree: a wrong answer must not win.
fn assert_close(name: &str, found: &[f64], expected: &[f64], relative: f64) -> Result<()> {
    ensure!(found.len() == expected.len(), "{name}: {} elements, but must be {}", found.len(), expected.len());
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |a, e| a.max(e.abs()));
    let wrong =
        found.iter().zip(expected).position(|(f, e)| (f - e).abs().is_nan() || (f - e).abs() > relative * scale);
    match wrong {
        Some(at) => bail!("{name}: element {at} is {}, but must be {}", found[at], expected[at]),
        None => Ok(()),
    }
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Small multiples of 1/16: sums of a few thousand are exact.
fn small(count: usize) -> Vec<f32> {
    (0..count).map(|index| ((index * 7919) % 17) as f32 / 16.0 - 0.5).collect()
}

/// `2^20`, or the number itself.
fn power(count: usize) -> String {
    if count.is_power_of_two() { format!("2^{}", count.trailing_zeros()) } else { count.to_string() }
}
