//! OpenBLAS, where the machine has it; found at run time.

use libloading::Library;

type Gemm<T> = unsafe extern "C" fn(
    order: i32,
    trans_a: i32,
    trans_b: i32,
    m: i32,
    n: i32,
    k: i32,
    alpha: T,
    a: *const T,
    lda: i32,
    b: *const T,
    ldb: i32,
    beta: T,
    c: *mut T,
    ldc: i32,
);

const ROW_MAJOR: i32 = 101;
const NO_TRANSPOSE: i32 = 111;

/// The library, kept loaded.
pub struct OpenBlas {
    sgemm: Gemm<f32>,
    dgemm: Gemm<f64>,
    _library: Library,
}

impl OpenBlas {
    /// Looks for the library under its usual names.
    pub fn find() -> Option<OpenBlas> {
        ["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"].iter().find_map(|name| {
            // SAFETY: OpenBLAS's initialisers have no conditions; the symbols have CBLAS's documented signatures.
            unsafe {
                let library = Library::new(*name).ok()?;
                let sgemm = *library.get::<Gemm<f32>>(b"cblas_sgemm\0").ok()?;
                let dgemm = *library.get::<Gemm<f64>>(b"cblas_dgemm\0").ok()?;
                Some(OpenBlas { sgemm, dgemm, _library: library })
            }
        })
    }

    /// `C = A B` for row-major `A[m][k]`, `B[k][n]`, `C[m][n]`.
    pub fn sgemm(&self, shape: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
        multiply(self.sgemm, [1.0, 0.0], shape, a, b, c);
    }

    /// The same of doubles.
    pub fn dgemm(&self, shape: [usize; 3], a: &[f64], b: &[f64], c: &mut [f64]) {
        multiply(self.dgemm, [1.0, 0.0], shape, a, b, c);
    }
}

fn multiply<T>(gemm: Gemm<T>, [one, zero]: [T; 2], [m, n, k]: [usize; 3], a: &[T], b: &[T], c: &mut [T]) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    let (m, n, k) = (m as i32, n as i32, k as i32);
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    // SAFETY: sizes agree with the slices.
    unsafe { gemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, one, a, k, b, n, zero, c, n) }
}
