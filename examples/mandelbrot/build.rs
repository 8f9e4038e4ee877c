//! Compiles the kernels.

fn main() -> hidp_build::Result {
    hidp_build::compile("src/kernels")
}
