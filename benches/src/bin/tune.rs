//! The tuner over the kernels of the benchmarks.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (tuner, args) = hidp_benches::tuning::tuner(&args);
    tuner.main_with(args)
}
