//! Measures parts of the benchmarks on a GPU and says which goals are reached.

#[cfg(any(feature = "bundle", feature = "simulated"))]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    match hidp_gpu_bench::parts::main(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Nothing was compiled for a device.
#[cfg(not(any(feature = "bundle", feature = "simulated")))]
fn main() {
    eprintln!("built without kernels: `cargo xtask gpu-bundle` builds all");
    std::process::exit(2);
}
