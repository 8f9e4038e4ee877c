//! The hand-written C++ of `peers/peers.cpp`, behind safe functions.

mod raw {
    unsafe extern "C" {
        pub(super) fn peer_triad_f32(a: *mut f32, b: *const f32, c: *const f32, s: f32, n: i64);
        pub(super) fn peer_triad_stream_f32(a: *mut f32, b: *const f32, c: *const f32, s: f32, n: i64);
        pub(super) fn peer_dot_f32(x: *const f32, y: *const f32, n: i64) -> f32;
        pub(super) fn peer_read_f32(x: *const f32, n: i64) -> f64;
        pub(super) fn peer_fma_f32(rounds: i64, out: *mut f32) -> f64;
        pub(super) fn peer_spmv_f64(
            y: *mut f64,
            rowptr: *const i32,
            col: *const i32,
            val: *const f64,
            x: *const f64,
            rows: i64,
        );
        pub(super) fn peer_sort_u32(keys: *mut u32, n: i64);
        pub(super) fn peer_row_sums_f32(y: *mut f32, a: *const f32, rows: i64, columns: i64);
        pub(super) fn peer_column_sums_f32(y: *mut f32, a: *const f32, rows: i64, columns: i64);
        pub(super) fn peer_jacobi7_f64(out: *mut f64, inp: *const f64, c0: f64, c1: f64, i: i64, j: i64, k: i64);
        pub(super) fn peer_jacobi7_stream_f64(out: *mut f64, inp: *const f64, c0: f64, c1: f64, i: i64, j: i64, k: i64);
        pub(super) fn peer_himeno_f32(
            wrk2: *mut f32,
            arrays: *const *const f32,
            omega: f32,
            i: i64,
            j: i64,
            k: i64,
        ) -> f32;
    }
}

/// `a = b + s c`. All of one length.
pub fn triad(a: &mut [f32], b: &[f32], c: &[f32], s: f32) {
    assert!(a.len() == b.len() && a.len() == c.len());
    // SAFETY: lengths agree; `a` is not aliased.
    unsafe { raw::peer_triad_f32(a.as_mut_ptr(), b.as_ptr(), c.as_ptr(), s, a.len() as i64) }
}

/// `a = b + s c` with non-temporal stores. The length is a multiple of 16, `a` is aligned to 64 bytes.
pub fn triad_stream(a: &mut [f32], b: &[f32], c: &[f32], s: f32) {
    assert!(
        a.len() == b.len() && a.len() == c.len() && a.len().is_multiple_of(16) && a.as_ptr().addr().is_multiple_of(64)
    );
    // SAFETY: lengths agree, alignment and multiple as the intrinsics need them; `a` is not aliased.
    unsafe { raw::peer_triad_stream_f32(a.as_mut_ptr(), b.as_ptr(), c.as_ptr(), s, a.len() as i64) }
}

/// The dot product.
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    assert_eq!(x.len(), y.len());
    // SAFETY: lengths agree.
    unsafe { raw::peer_dot_f32(x.as_ptr(), y.as_ptr(), x.len() as i64) }
}

/// Reads everything once.
pub fn read(x: &[f32]) -> f64 {
    // SAFETY: reads below the length only.
    unsafe { raw::peer_read_f32(x.as_ptr(), x.len() as i64) }
}

/// Does fused multiply-adds in registers and gives the number of floating-point operations done.
pub fn fma(rounds: i64) -> f64 {
    let mut out = 0.0;
    // SAFETY: writes one float.
    unsafe { raw::peer_fma_f32(rounds, &mut out) }
}

/// `y = A x` for compressed sparse rows.
pub fn spmv(y: &mut [f64], rowptr: &[i32], col: &[i32], val: &[f64], x: &[f64]) {
    assert!(rowptr.len() == y.len() + 1 && col.len() == val.len() && *rowptr.last().unwrap() as usize == col.len());
    debug_assert!(col.iter().all(|&c| (c as usize) < x.len()));
    // SAFETY: benchmark matrices have ascending row pointers and columns inside `x`.
    unsafe {
        raw::peer_spmv_f64(y.as_mut_ptr(), rowptr.as_ptr(), col.as_ptr(), val.as_ptr(), x.as_ptr(), y.len() as i64);
    }
}

/// The parallel sort of GCC's standard library.
pub fn sort_u32(keys: &mut [u32]) {
    // SAFETY: sorts the slice's elements.
    unsafe { raw::peer_sort_u32(keys.as_mut_ptr(), keys.len() as i64) }
}

/// Sum of each row of a row-major matrix.
pub fn row_sums(y: &mut [f32], a: &[f32]) {
    assert!(a.len().is_multiple_of(y.len()));
    // SAFETY: `a` has `y.len()` rows.
    unsafe { raw::peer_row_sums_f32(y.as_mut_ptr(), a.as_ptr(), y.len() as i64, (a.len() / y.len()) as i64) }
}

/// Sum of each column of a row-major matrix.
pub fn column_sums(y: &mut [f32], a: &[f32]) {
    assert!(a.len().is_multiple_of(y.len()));
    // SAFETY: `a` has `y.len()` columns.
    unsafe { raw::peer_column_sums_f32(y.as_mut_ptr(), a.as_ptr(), (a.len() / y.len()) as i64, y.len() as i64) }
}

/// A 7-point Jacobi sweep over the interior, with plain or non-temporal stores.
pub fn jacobi7(out: &mut [f64], input: &[f64], c: [f64; 2], [i, j, k]: [usize; 3], stream: bool) {
    assert!(out.len() == i * j * k && input.len() == out.len());
    let sweep = if stream { raw::peer_jacobi7_stream_f64 } else { raw::peer_jacobi7_f64 };
    // SAFETY: both arrays have the shape; `out` is not aliased.
    unsafe { sweep(out.as_mut_ptr(), input.as_ptr(), c[0], c[1], i as i64, j as i64, k as i64) }
}

/// A Himeno sweep; arrays in the order a0 a1 a2 a3 b0 b1 b2 c0 c1 c2 p wrk1 bnd.
pub fn himeno(wrk2: &mut [f32], arrays: [&[f32]; 13], omega: f32, [i, j, k]: [usize; 3]) -> f32 {
    assert!(wrk2.len() == i * j * k && arrays.iter().all(|array| array.len() == wrk2.len()));
    let pointers = arrays.map(<[f32]>::as_ptr);
    // SAFETY: all arrays have the shape; `wrk2` is not aliased.
    unsafe { raw::peer_himeno_f32(wrk2.as_mut_ptr(), pointers.as_ptr(), omega, i as i64, j as i64, k as i64) }
}
