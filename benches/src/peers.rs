//! The hand-written C++ of `peers/peers.cpp`, behind safe functions, and what is longer in Rust.

pub mod codelets;
pub mod fft;
pub mod first;
pub mod lanes;
pub mod papers;
pub mod simulations;

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
        pub(super) fn peer_has_tbb() -> bool;
        pub(super) fn peer_has_sleef() -> bool;
        pub(super) fn peer_has_mvec() -> bool;
        pub(super) fn peer_has_vqsort() -> bool;
        pub(super) fn peer_vqsort_segments_u32(keys: *mut u32, cut: *const i32, segments: i64);
        pub(super) fn peer_scan_i32(x: *const i32, y: *mut i32, n: i64);
        pub(super) fn peer_sum_f32(x: *const f32, n: i64) -> f32;
        pub(super) fn peer_min_f32(x: *const f32, n: i64) -> f32;
        pub(super) fn peer_max_i32(x: *const i32, n: i64) -> i32;
        pub(super) fn peer_partition_u32(x: *const u32, front: *mut u32, back: *mut u32, n: i64, pivot: u32);
        pub(super) fn peer_count_u8(counts: *mut u32, x: *const u8, n: i64);
        pub(super) fn peer_segmented_sums_u32(y: *mut u32, x: *const u32, cut: *const i32, segments: i64);
        pub(super) fn peer_row_sums_f32(y: *mut f32, a: *const f32, rows: i64, columns: i64);
        pub(super) fn peer_column_sums_f32(y: *mut f32, a: *const f32, rows: i64, columns: i64);
        pub(super) fn peer_jacobi7_f64(out: *mut f64, inp: *const f64, c0: f64, c1: f64, i: i64, j: i64, k: i64);
        pub(super) fn peer_jacobi7_stream_f64(out: *mut f64, inp: *const f64, c0: f64, c1: f64, i: i64, j: i64, k: i64);
        pub(super) fn peer_lines_f64(x: *mut f64, a: *const f64, rows: i64, columns: i64);
        pub(super) fn peer_edit_wave(s: *const u8, n: i64, t: *const u8, m: i64) -> i32;
        pub(super) fn peer_edit_pairs(distance: *mut i32, a: *const u8, b: *const u8, pairs: i64, n: i64, m: i64);
        pub(super) fn peer_affine_wave(s: *const u8, n: i64, t: *const u8, m: i64, costs: *const i32) -> i32;
        pub(super) fn peer_affine_letters(
            s: *const u8,
            n: i64,
            t: *const u8,
            m: i64,
            costs: *const i32,
            kinds: i32,
            gaps: *const i32,
        ) -> i32;
        pub(super) fn peer_needleman(table: *mut i32, reference: *const i32, n: i64, m: i64, penalty: i32);
        pub(super) fn peer_fold_letters(letters: *const u8, n: i64) -> i32;
        pub(super) fn peer_chained(sizes: *const i64, n: i64) -> i64;
        pub(super) fn peer_forward(
            likelihood: *mut f32,
            start: *const f32,
            step: *const f32,
            emit: *const f32,
            x: *const u8,
            sequences: i64,
            length: i64,
            states: i64,
            symbols: i64,
        );
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

/// Whether the C++17 parallel algorithms run in parallel: whether TBB was there at build time. The functions that follow need it.
pub fn has_tbb() -> bool {
    // SAFETY: has no arguments.
    unsafe { raw::peer_has_tbb() }
}

/// Whether SLEEF was there at build time.
pub fn has_sleef() -> bool {
    // SAFETY: has no arguments.
    unsafe { raw::peer_has_sleef() }
}

/// Whether libmvec was there at build time.
pub fn has_mvec() -> bool {
    // SAFETY: has no arguments.
    unsafe { raw::peer_has_mvec() }
}

/// `std::inclusive_scan` with `std::execution::par_unseq`.
pub fn scan_i32(x: &[i32], y: &mut [i32]) {
    assert_eq!(x.len(), y.len());
    // SAFETY: lengths agree.
    unsafe { raw::peer_scan_i32(x.as_ptr(), y.as_mut_ptr(), x.len() as i64) }
}

/// `std::reduce` with `std::execution::par_unseq`: the sum.
pub fn sum_f32(x: &[f32]) -> f32 {
    // SAFETY: reads below the length only.
    unsafe { raw::peer_sum_f32(x.as_ptr(), x.len() as i64) }
}

/// Likewise the least.
pub fn min_f32(x: &[f32]) -> f32 {
    // SAFETY: reads below the length only.
    unsafe { raw::peer_min_f32(x.as_ptr(), x.len() as i64) }
}

/// Likewise the greatest.
pub fn max_i32(x: &[i32]) -> i32 {
    // SAFETY: reads below the length only.
    unsafe { raw::peer_max_i32(x.as_ptr(), x.len() as i64) }
}

/// `std::partition_copy` with `std::execution::par`.
pub fn partition_u32(x: &[u32], front: &mut [u32], back: &mut [u32], pivot: u32) {
    assert!(front.len() == x.len() && back.len() == x.len());
    // SAFETY: each part has room for all.
    unsafe { raw::peer_partition_u32(x.as_ptr(), front.as_mut_ptr(), back.as_mut_ptr(), x.len() as i64, pivot) }
}

/// Whether Highway was there at build time. Its sorts need it.
pub fn has_vqsort() -> bool {
    // SAFETY: has no arguments.
    unsafe { raw::peer_has_vqsort() }
}

/// Sorts `keys[cut[i]..cut[i + 1]]` for each `i`, several at a time, with Highway's quicksort.
pub fn vqsort_segments(keys: &mut [u32], cut: &[i32]) {
    assert!(cut[0] == 0 && cut[cut.len() - 1] as usize == keys.len() && cut.is_sorted());
    // SAFETY: segments lie in the slice and do not overlap.
    unsafe { raw::peer_vqsort_segments_u32(keys.as_mut_ptr(), cut.as_ptr(), cut.len() as i64 - 1) }
}

/// Sorts of C++: `gnu` the parallel mode of GCC's library, `standard` `std::sort` with `std::execution::par` (needs TBB),
/// `vqsort` Highway's for the part of each thread, and merges (needs Highway).
pub mod sorts {
    macro_rules! sorts {
        ($($key:ident, $gnu:ident, $gnu_pairs:ident, $standard:ident, $vqsort:ident;)*) => {$(
            pub mod $key {
                use crate::cases::Pair;

                unsafe extern "C" {
                    fn $gnu(keys: *mut $key, n: i64);
                    fn $gnu_pairs(pairs: *mut Pair<$key>, n: i64);
                    fn $standard(keys: *mut $key, n: i64);
                    fn $vqsort(keys: *mut $key, n: i64);
                }
                pub fn gnu(keys: &mut [$key]) {
                    // SAFETY: sorts the slice's elements.
                    unsafe { $gnu(keys.as_mut_ptr(), keys.len() as i64) }
                }
                pub fn gnu_pairs(pairs: &mut [Pair<$key>]) {
                    // SAFETY: sorts the slice's elements, whose layout is C's.
                    unsafe { $gnu_pairs(pairs.as_mut_ptr(), pairs.len() as i64) }
                }
                pub fn standard(keys: &mut [$key]) {
                    // SAFETY: sorts the slice's elements.
                    unsafe { $standard(keys.as_mut_ptr(), keys.len() as i64) }
                }
                pub fn vqsort(keys: &mut [$key]) {
                    // SAFETY: sorts the slice's elements.
                    unsafe { $vqsort(keys.as_mut_ptr(), keys.len() as i64) }
                }
            }
        )*};
    }
    sorts! {
        u32, peer_gnu_sort_u32, peer_gnu_sort_pairs_u32, peer_std_sort_u32, peer_vqsort_u32;
        f32, peer_gnu_sort_f32, peer_gnu_sort_pairs_f32, peer_std_sort_f32, peer_vqsort_f32;
        u64, peer_gnu_sort_u64, peer_gnu_sort_pairs_u64, peer_std_sort_u64, peer_vqsort_u64;
    }
}

/// Where segments begin and end: looked at once, not in each measured call.
pub struct Cuts(Vec<i32>);

impl Cuts {
    /// # Panics
    ///
    /// If there is no cut, one is negative, or lies before the one before it.
    pub fn new(cuts: &[i32]) -> Self {
        assert!(cuts.is_sorted() && cuts[0] >= 0);
        Self(cuts.to_vec())
    }
}

/// Sums of the segments between neighbouring cuts.
pub fn segmented_sums(y: &mut [u32], x: &[u32], cuts: &Cuts) {
    assert_eq!(y.len() + 1, cuts.0.len());
    assert!(cuts.0[y.len()] as usize <= x.len());
    // SAFETY: cuts ascend from 0 to the length of `x`, and there is a sum for each segment.
    unsafe { raw::peer_segmented_sums_u32(y.as_mut_ptr(), x.as_ptr(), cuts.0.as_ptr(), y.len() as i64) }
}

/// How often each byte stands in `x`, added to what `counts` holds.
pub fn count_u8(counts: &mut [u32; 256], x: &[u8]) {
    // SAFETY: there is a bin for each byte.
    unsafe { raw::peer_count_u8(counts.as_mut_ptr(), x.as_ptr(), x.len() as i64) }
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

/// Lines solved in place, forwards and backwards.
pub fn lines(x: &mut [f64], a: &[f64], [rows, columns]: [usize; 2]) {
    assert!(x.len() == rows * columns && a.len() == x.len());
    // SAFETY: both arrays have the shape; `x` is not aliased.
    unsafe { raw::peer_lines_f64(x.as_mut_ptr(), a.as_ptr(), rows as i64, columns as i64) }
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

/// Edit distance, by diagonals.
pub fn edit_wave(s: &[u8], t: &[u8]) -> i32 {
    // SAFETY: reads below the lengths only.
    unsafe { raw::peer_edit_wave(s.as_ptr(), s.len() as i64, t.as_ptr(), t.len() as i64) }
}

/// Edit distances of pairs of rows of `n` and `m` letters, in bits of words.
pub fn edit_pairs(distance: &mut [i32], a: &[u8], b: &[u8], [n, m]: [usize; 2]) {
    assert!(a.len() == distance.len() * n && b.len() == distance.len() * m && n <= 256);
    assert!(a.iter().chain(b).all(|letter| *letter < 64));
    let (n, m) = (n as i64, m as i64);
    // SAFETY: lengths agree, and are as the peer needs them.
    unsafe { raw::peer_edit_pairs(distance.as_mut_ptr(), a.as_ptr(), b.as_ptr(), distance.len() as i64, n, m) }
}

/// Score of a global alignment; what a match, a mismatch, the first letter of a gap and each other one count.
pub fn affine_wave(s: &[u8], t: &[u8], costs: [i32; 4]) -> i32 {
    // SAFETY: reads below the lengths, and four costs.
    unsafe { raw::peer_affine_wave(s.as_ptr(), s.len() as i64, t.as_ptr(), t.len() as i64, costs.as_ptr()) }
}

/// The same with costs of pairs of letters, a row for each letter; `gaps` are what gaps cost.
pub fn affine_letters(s: &[u8], t: &[u8], costs: &[i32], gaps: [i32; 2]) -> i32 {
    let kinds = costs.len().isqrt();
    assert!(kinds * kinds == costs.len() && s.iter().chain(t).all(|letter| usize::from(*letter) < kinds));
    let (n, m) = (s.len() as i64, t.len() as i64);
    // SAFETY: lengths are those of the slices; all letters have costs.
    unsafe { raw::peer_affine_letters(s.as_ptr(), n, t.as_ptr(), m, costs.as_ptr(), kinds as i32, gaps.as_ptr()) }
}

/// The table of a global alignment by tiles; `reference` has `m` columns.
pub fn needleman(table: &mut [i32], reference: &[i32], m: usize, penalty: i32) {
    let n = reference.len() / m;
    assert!(reference.len() == n * m && table.len() == (n + 1) * (m + 1));
    // SAFETY: the table has a row and a column more than the reference.
    unsafe { raw::peer_needleman(table.as_mut_ptr(), reference.as_ptr(), n as i64, m as i64, penalty) }
}

/// The most pairs of letters that add up to 3 and do not cross.
pub fn fold_letters(letters: &[u8]) -> i32 {
    // SAFETY: reads below the length only.
    unsafe { raw::peer_fold_letters(letters.as_ptr(), letters.len() as i64) }
}

/// The fewest products of numbers in a product of matrices, whose rows and columns are neighbours in `sizes`.
pub fn chained(sizes: &[i64]) -> i64 {
    assert!(!sizes.is_empty());
    // SAFETY: a matrix lies between two sizes.
    unsafe { raw::peer_chained(sizes.as_ptr(), sizes.len() as i64 - 1) }
}

/// Likelihoods of rows of `x` under a hidden Markov model, 16 rows in lanes.
pub fn forward(likelihood: &mut [f32], model: [&[f32]; 3], x: &[u8]) {
    forward_by(raw::peer_forward, likelihood, model, x);
}

type Forward = unsafe extern "C" fn(
    *mut f32,
    *const f32,
    *const f32,
    *const f32,
    *const u8,
    sequences: i64,
    length: i64,
    states: i64,
    symbols: i64,
);

fn forward_by(peer: Forward, likelihood: &mut [f32], [start, step, emit]: [&[f32]; 3], x: &[u8]) {
    let (sequences, states) = (likelihood.len(), start.len());
    let (length, symbols) = (x.len() / sequences, emit.len() / states);
    assert!(states <= 64 && length > 0 && step.len() == states * states && emit.len() == states * symbols);
    assert!(x.len() == sequences * length && x.iter().all(|symbol| usize::from(*symbol) < symbols));
    let (start, step, emit) = (start.as_ptr(), step.as_ptr(), emit.as_ptr());
    let [sequences, length, states, symbols] = [sequences, length, states, symbols].map(|count| count as i64);
    // SAFETY: sizes agree with the slices, symbols are those of the model.
    unsafe { peer(likelihood.as_mut_ptr(), start, step, emit, x.as_ptr(), sequences, length, states, symbols) }
}
