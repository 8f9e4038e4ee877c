//! What is run on a GPU: the cases of the compiler's tests against the interpreter's answers, and tests of the run time's devices.
//! The same runs on the executor, which is how it is tested itself.

#![allow(missing_docs)]

#[allow(dead_code, reason = "shared with who writes them")]
#[path = "../../../hidp-build/tests/answers/mod.rs"]
pub mod answers;
pub mod cases;
pub mod children;
pub mod device;
pub mod options;
pub mod place;

hidp_std::include_kernels!(pub mod kernels);
