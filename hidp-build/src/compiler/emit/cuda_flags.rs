//! How nvcc has to be called for generated CUDA.

/// Flags without which the generated code does not mean what it should (or is slow), for nvcc 12 and later. A build adds
/// architectures, the host compiler and include directories.
pub const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O3",
    // Contraction is explicit, as on the CPU.
    "--fmad=false",
    // Profilers and debuggers find the `.hdp` lines; code is optimised as without.
    "-lineinfo",
    "-Xcompiler=-fPIC,-fwrapv,-fno-math-errno,-fno-trapping-math,-ffp-contract=off",
    "-Xcompiler=-fvisibility=hidden,-fno-exceptions,-fno-rtti",
];
