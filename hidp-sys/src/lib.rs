//! Raw bindings to the run-time ABI of HiDP kernels, and the C++ core behind it.
//!
//! The functions hold no policy: `hidp-std` wraps them safely. The header is `include/hidp_abi.h`; build scripts of dependent
//! crates find its directory in `DEP_HIDP_INCLUDE`.
#![allow(non_camel_case_types, missing_docs)]

mod bindings;

pub use bindings::*;

impl hidp_tunables {
    /// Everything as usual.
    pub const USUAL: Self = Self { threads: 0, thread_work: 0, segment_work: 0, team_segment: 0 };
}

#[cfg(test)]
mod tests;
