//! The peers of `peers/*.cu` behind functions that give an error where they are not built in or their library is missing.

use std::ffi::c_void;

use anyhow::{Result, bail};

/// An address of device memory.
pub type Address = u64;

macro_rules! peers {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),*);)*) => {
        #[cfg(feature = "bundle")]
        mod raw {
            use std::ffi::c_void;

            use super::Address;

            unsafe extern "C" {
                $(pub(super) fn $name(stream: *mut c_void, $($arg: $ty),*) -> i32;)*
            }
        }
        $(
            $(#[$meta])*
            #[cfg(feature = "bundle")]
            #[allow(clippy::too_many_arguments)]
            pub fn $name(stream: *mut c_void, $($arg: $ty),*) -> Result<()> {
                // SAFETY: addresses are of arrays of the sizes that are passed along, which the caller holds.
                said(stringify!($name), unsafe { raw::$name(stream, $($arg),*) })
            }
            $(#[$meta])*
            #[cfg(not(feature = "bundle"))]
            #[allow(clippy::too_many_arguments)]
            pub fn $name(stream: *mut c_void, $($arg: $ty),*) -> Result<()> {
                let _ = (stream, $($arg),*);
                said(stringify!($name), MISSING)
            }
        )*
    };
}

/// Not built in, or a library that is not on this machine.
const MISSING: i32 = -1;

fn said(name: &str, code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        MISSING => bail!("{name} is missing"),
        code => bail!("{name}: error {code}"),
    }
}

peers! {
    /// `count` floats, a multiple of 4.
    fn peer_copy(to: Address, from: Address, count: i64);
    fn peer_memcpy(to: Address, from: Address, count: i64);
    fn peer_triad(a: Address, b: Address, c: Address, s: f32, count: i64);
    /// 16 operations a turn of each thread.
    fn peer_fma(out: Address, turns: i32);
    fn peer_fma_threads(threads: *mut i64);
    /// How many of so many words differ.
    fn peer_differences(a: Address, b: Address, words: i64, count: *mut i64);
    fn peer_cub_sum(x: Address, out: Address, n: i64);
    fn peer_cub_dot(x: Address, y: Address, out: Address, n: i64);
    fn peer_thrust_dot(x: Address, y: Address, out: *mut f32, n: i64);
    fn peer_cub_scan(x: Address, y: Address, n: i64);
    fn peer_thrust_scan(x: Address, y: Address, n: i64);
    fn peer_cub_sort_u32(keys: Address, sorted: Address, n: i64);
    fn peer_cub_sort_f32(keys: Address, sorted: Address, n: i64);
    fn peer_cub_sort_pairs(keys: Address, sorted: Address, values: Address, moved: Address, n: i64);
    fn peer_thrust_sort_u32(keys: Address, n: i64);
    fn peer_cub_segmented_sum(x: Address, cut: Address, sums: Address, segments: i64);
    fn peer_cub_segmented_sum_f32(x: Address, cut: Address, sums: Address, segments: i64);
    fn peer_cub_segmented_sort(keys: Address, sorted: Address, cut: Address, n: i64, segments: i64);
    fn peer_cub_segmented_radix_sort(keys: Address, sorted: Address, cut: Address, n: i64, segments: i64);
    fn peer_cub_scan_by_key(keys: Address, x: Address, y: Address, n: i64);
    fn peer_has_blas();
    fn peer_has_sparse();
    /// `C = alpha A B + beta C`, row-major. `mode`: 0 as cuBLAS comes, 2 pedantic; none uses TF32.
    fn peer_blas_sgemm(mode: i32, m: i64, n: i64, k: i64, alpha: f32, a: Address, b: Address, beta: f32, c: Address);
    fn peer_blas_sums(of_columns: i32, rows: i64, columns: i64, a: Address, ones: Address, y: Address);
    fn peer_sparse_prepare(
        rows: i64,
        columns: i64,
        nonzeros: i64,
        rowptr: Address,
        col: Address,
        val: Address,
        x: Address,
        y: Address
    );
    fn peer_sparse_multiply();
}
