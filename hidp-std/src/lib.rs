//! Run time of HiDP kernels: contexts, views of arrays, errors.
//!
//! `hidp-build` compiles `.hdp` files from a build script into one safe function per entry; [`include_kernels!`] includes them:
//!
//! ```ignore
//! hidp_std::include_kernels!();
//!
//! let cx = hidp_std::Context::new()?;
//! kernels::gemm::gemm(&cx, 1.0, 0.0, &a, &b, &mut c)?;
//! ```
//!
//! Arrays are anything that implements [`View`] or [`ViewMut`]: `ndarray` arrays and views, vectors and slices, and
//! `(slice, [rows, columns])`. They are contiguous and row-major.
//!
//! A call checks the shapes first and returns [`Error::ShapeMismatch`] or another [`Error`] before anything runs. An index out of range, a
//! division by zero or another [`Fault`] in a kernel ends the call with [`Error::Fault`], which has file, line, expression and values:
//!
//! ```ignore
//! match kernels::sparse::spmv(&cx, &rowptr, &col, &val, &x, &mut y) {
//!     Err(hidp_std::Error::Fault(fault)) => eprintln!("{:?} in line {}: {:?}", fault.kind(), fault.line(), fault.values()),
//!     other => other?,
//! }
//! ```
//!
//! [`Context::last_run`] reports which version ran and why.
//!
//! With the feature `prim`, the module `prim` has the language's primitives as functions on such arrays, without any `.hdp`
//! file: sort, scan, reduce, partition, reverse, histogram, whole, segmented and regular. It needs a C++ compiler to build.
//!
//! With the feature `sparse`, the module `sparse` prepares sparse matrices for many products. It needs a C++ compiler, too.

#[cfg(any(feature = "prim", feature = "sparse"))]
extern crate self as hidp_std; // generated code names this crate from outside

mod context;
#[cfg(feature = "cuda")]
mod cuda;
// Without either feature there is no driver.
#[cfg_attr(not(any(feature = "cuda", feature = "simulated-device")), allow(dead_code))]
mod device;
mod error;
mod fault;
mod isa;
#[cfg(feature = "prim")]
pub mod prim;
pub mod rt;
mod selection;
#[cfg(feature = "sparse")]
pub mod sparse;
#[cfg(feature = "tune")]
pub mod tune;
mod tuning;
mod view;

pub use context::{Builder, Context, LastRun, Placed, Reason, Why};
pub use device::{
    ArrayError, Copies, CopyFailed, Device, DeviceArray, DeviceError, KernelTraffic, Mirror, NoDevice, Pending,
    PinnedArray, Section, SectionMut, SiteTraffic, Together, Zeroed,
};
pub use error::{ArrayText, Binding, Error, IsaNames, PlanNames};
pub use fault::{Fault, FaultKind};
pub use isa::Isa;
pub use selection::{Select, Selected, Selection};
pub use view::{OnDevice, OnDeviceMut, View, ViewError, ViewMut};

/// The result of a kernel call.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// Includes the functions that `hidp_build` generated, as `mod kernels { pub mod <file> { pub fn <function>(…) } }`.
///
/// `include_kernels!(pub mod physics)` sets the visibility and the name of the module.
#[macro_export]
macro_rules! include_kernels {
    () => {
        $crate::include_kernels!(mod kernels);
    };
    ($(#[$meta:meta])* $vis:vis mod $name:ident) => {
        $(#[$meta])*
        #[allow(dead_code, unreachable_pub)] // not every kernel need be called, from everywhere
        $vis mod $name {
            include!(concat!(env!("OUT_DIR"), "/hidp_kernels.rs"));
        }
    };
}

#[cfg(any(feature = "prim", feature = "sparse"))]
include_kernels!(mod kernels);

/// The blocks of Rust in the guides.
#[cfg(doctest)]
#[doc = include_str!("../../docs/gpu.md")]
#[doc = include_str!("../../docs/tuning.md")]
struct Guides;
