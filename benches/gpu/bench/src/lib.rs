//! Benchmarks of HiDP kernels on a GPU beside the libraries that do the same, over what the machine can do at most. At tiny sizes they
//! run on the executor, which is how they are tested.

#![allow(missing_docs)]
// Without kernels there is nothing to measure.
#![cfg(any(feature = "bundle", feature = "simulated"))]

pub mod machine;
#[path = "../../../src/matrices.rs"]
pub mod matrices;
#[allow(dead_code, reason = "the example uses all of it")]
#[path = "../../../../examples/quickstart/src/matrix.rs"]
mod matrix;
pub mod parts;
pub mod peers;
#[path = "../../../src/random.rs"]
pub mod random;
pub mod report;
#[path = "../../../src/shapes.rs"]
pub mod shapes;

hidp_std::include_kernels!(pub mod kernels);
