//! Raw bindings to the run-time ABI of HiDP kernels.
#![allow(non_camel_case_types)]

/// Arguments of one call of one entry; see `include/hidp_abi.h`.
#[repr(C)]
#[derive(Debug)]
pub struct hidp_call {
    _private: [u8; 0],
}
/// An entry point.
pub type hidp_entry = Option<unsafe extern "C" fn(call: *mut hidp_call) -> i32>;
