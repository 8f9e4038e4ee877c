//! Compiles the kernels of the benchmarks, and for a GPU the peers too.

#[path = "../build/cxx.rs"]
mod cxx;

use std::path::{Path, PathBuf};
use std::process::Command;

use hidp_build::{Builder, Cuda, Isa};

/// The programs that are measured; those of the examples besides. Other files of the benchmarks have rows for processors alone.
const KERNELS: [&str; 8] = [
    "../../src/kernels/blas.hdp",
    "../../src/kernels/prims.hdp",
    "../../src/kernels/segments.hdp",
    "../../src/kernels/sparse.hdp",
    "../../src/kernels/stencil.hdp",
    "../../../examples/quicksort/src/kernels",
    "../../../examples/bitonic/src/kernels",
    "../../../examples/particles/src/kernels",
];

const PEERS: [&str; 4] = ["basic", "segments", "libraries", "sort"];

fn main() -> hidp_build::Result {
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/lib");
    println!("cargo::rerun-if-changed=peers");
    let is_set = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let cuda = match (is_set("BUNDLE"), is_set("SIMULATED")) {
        (true, _) => {
            peers();
            Cuda::Required
        }
        (false, true) => Cuda::Simulated,
        (false, false) => return Ok(()),
    };
    cxx::link_statically(Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets it")));
    // Nothing here is measured on the processor.
    let builder = Builder::new().isas([Isa::Base]).line_directives(cuda == Cuda::Simulated).cuda(cuda);
    KERNELS.iter().fold(builder, |builder, folder| builder.folder(folder)).compile()
}

/// What the kernels are compared with. Each file alone, so that a change costs one run of nvcc.
fn peers() {
    let variable = |name: &str| {
        println!("cargo::rerun-if-env-changed={name}");
        std::env::var(name).unwrap_or_default()
    };
    let nvcc = Path::new(&variable("CUDA_HOME")).join("bin/nvcc");
    let archs = variable("HIDP_CUDA_ARCH");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for peer in PEERS {
        let object = out.join(format!("peer_{peer}.o"));
        let mut command = Command::new(&nvcc);
        command.args(["-std=c++17", "-O3", "-w", "-Xcompiler=-fPIC", "-c", "-o"]).arg(&object);
        for arch in archs.split(',').filter(|arch| !arch.is_empty()) {
            let number = arch.trim_start_matches("sm_");
            command.arg(format!("-gencode=arch=compute_{number},code=[sm_{number},compute_{number}]"));
        }
        let status =
            command.arg(format!("peers/{peer}.cu")).status().expect("nvcc starts: `CUDA_HOME` names its folder");
        assert!(status.success(), "nvcc failed on peers/{peer}.cu");
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
}
