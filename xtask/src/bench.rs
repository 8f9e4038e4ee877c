//! `cargo xtask bench`: the benchmarks beside their peers.

use anyhow::Result;

use crate::command::cargo;

/// Runs the table of ratios; arguments name the cases. `huge` is none: it checks, with 7 GiB of memory, primitives of more than
/// 2^31 elements.
pub(crate) fn run(cases: &[&str]) -> Result<()> {
    let (huge, cases): (Vec<&str>, Vec<&str>) = cases.iter().partition(|case| **case == "huge");
    if !huge.is_empty() {
        let test = ["test", "--release", "--package", "hidp-std", "--features", "prim", "--test", "prim_huge"];
        cargo(&test).args(&["--", "--ignored", "--nocapture"]).run()?;
        if cases.is_empty() {
            return Ok(());
        }
    }
    cargo(&["run", "--release", "--package", "hidp-benches", "--bin", "table", "--"]).args(&cases).run()
}
