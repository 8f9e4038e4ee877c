//! Compiles HiDP programs from a build script.
//!
//! ```no_run
//! // build.rs
//! fn main() -> hidp_build::Result {
//!     hidp_build::compile("src/kernels")
//! }
//! ```
//!
//! Every `.hdp` file in the folder becomes a module with one safe function per entry; `hidp_std::include_kernels!()` includes
//! them. The package needs `hidp-std` among its dependencies, and a C++ compiler (GCC or Clang).
//!
//! [`Builder`] has the settings: native headers, instruction sets, GPUs, tuning records. The modules [`compiler`], [`nvcc`] and [`tools`] are for
//! this project's own tools; no version promises anything of them.

mod builder;
mod cargo;
pub mod compiler;
#[cfg(feature = "bindgen")]
mod headers;
mod host_cc;
mod included;
mod isas;
mod kernels;
pub mod nvcc;
mod objects;
mod report;
mod simulated;
mod sizes;
mod sources;
mod toolchain;
pub mod tools;
mod workers;

use std::path::Path;

pub use builder::Builder;
pub use compiler::emit::rust::Isa;
pub use nvcc::Cuda;
pub use report::{Error, Result};

/// Compiles all `.hdp` files in a folder and the folders below it, with default settings. The folder is relative to the package's root.
///
/// # Errors
/// As [`Builder::compile`].
pub fn compile(folder: impl AsRef<Path>) -> Result {
    Builder::new().folder(folder).compile()
}
