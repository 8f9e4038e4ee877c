//! `cargo xtask bench`: the benchmarks beside their peers.

use anyhow::Result;

use crate::command::cargo;

/// Runs the table of ratios; arguments name the cases.
pub(crate) fn run(cases: &[&str]) -> Result<()> {
    cargo(&["run", "--release", "--package", "hidp-benches", "--bin", "table", "--"]).args(cases).run()
}
