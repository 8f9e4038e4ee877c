//! Compiles the kernels, each in all its versions: the program measures them.

fn main() -> hidp_build::Result {
    hidp_build::Builder::new().folder("src/kernels").compositions(true).compile()
}
