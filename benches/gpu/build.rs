//! Compiles the kernels of the tests, and the cases of the compiler's tests: all of them for a GPU, or some for the executor.

use std::path::{Path, PathBuf};

use hidp_build::{Builder, Cuda, Isa};

const CASES: &str = "../../hidp-build/tests/cases/run";

/// What cases use of C++.
const HEADER: &str = "../../hidp-build/tests/cases/run/natives/functions.h";

/// Needs libclang, which not every machine has.
const LEFT_OUT: &str = "native_structs.hdp";

/// Cases that together have grids of every level, folds, prefixes, sorts, private arrays, structs and faults, and are quick.
const SOME: [&str; 5] = ["bools", "prim_quicksort", "ranks", "sparse", "spmv_bad_index"];

fn main() -> hidp_build::Result {
    // The libraries of the C++ compiler lie beside the program where it is packed.
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/lib");
    println!("cargo::rerun-if-changed={CASES}");
    let is_set = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let (cases, cuda) = match (is_set("BUNDLE"), is_set("SIMULATED")) {
        (true, _) => (all(Path::new(CASES)), Cuda::Required),
        (false, true) => (SOME.map(|case| Path::new(CASES).join(case).with_extension("hdp")).to_vec(), Cuda::Simulated),
        (false, false) => (Vec::new(), Cuda::Off),
    };
    // What the processor's versions are good for here is to be there: one instruction set is enough.
    let builder = Builder::new().isas([Isa::Base]).cuda(cuda).header(HEADER).vouch_for_natives().folder("src/kernels");
    cases.iter().fold(builder, |builder, case| builder.folder(case)).compile()
}

fn all(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("the cases are part of the repository").flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "hdp") && !path.ends_with(LEFT_OUT));
    files.sort();
    files
}
