//! `cargo xtask tune`: measures the versions of the benchmarks' kernels.

use anyhow::Result;

use crate::command::cargo;

/// Runs the tuner; arguments are its own. Records go to `target`: copied beside `Cargo.toml` they are embedded.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let files = ["--file", "target/hidp-tune.toml", "--report", "target/hidp-tune.html"];
    cargo(&["run", "--release", "--package", "hidp-benches", "--bin", "tune", "--"]).args(&files).args(args).run()
}
