//! OpenBLAS and MKL, where the machine has them; found at run time.

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

type Gemv = unsafe extern "C" fn(
    order: i32,
    trans: i32,
    m: i32,
    n: i32,
    alpha: f32,
    a: *const f32,
    lda: i32,
    x: *const f32,
    step_x: i32,
    beta: f32,
    y: *mut f32,
    step_y: i32,
);

const ROW_MAJOR: i32 = 101;
const NO_TRANSPOSE: i32 = 111;

/// A library with CBLAS's interface, kept loaded.
pub struct OpenBlas {
    sgemm: Gemm<f32>,
    dgemm: Gemm<f64>,
    sgemv: Gemv,
    _library: Library,
}

impl OpenBlas {
    /// Looks for OpenBLAS under its usual names.
    pub fn find() -> Option<OpenBlas> {
        OpenBlas::of(&["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"])
    }

    /// Looks for MKL, of which `libmkl_rt` has the same interface.
    pub fn mkl() -> Option<OpenBlas> {
        OpenBlas::of(&crate::mkl::NAMES)
    }

    fn of(names: &[&str]) -> Option<OpenBlas> {
        names.iter().find_map(|name| {
            // SAFETY: the libraries' initialisers have no conditions; the symbols have CBLAS's documented signatures.
            unsafe {
                let library = Library::new(*name).ok()?;
                let sgemm = *library.get::<Gemm<f32>>(b"cblas_sgemm\0").ok()?;
                let dgemm = *library.get::<Gemm<f64>>(b"cblas_dgemm\0").ok()?;
                let sgemv = *library.get::<Gemv>(b"cblas_sgemv\0").ok()?;
                Some(OpenBlas { sgemm, dgemm, sgemv, _library: library })
            }
        })
    }

    /// `C = A B` for row-major `A[m][k]`, `B[k][n]`, `C[m][n]`.
    pub fn sgemm(&self, shape: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
        multiply(self.sgemm, [1.0, 0.0], shape, a, b, c);
    }

    /// `y = A x` for row-major `A[m][k]`.
    pub fn sgemv(&self, [m, k]: [usize; 2], a: &[f32], x: &[f32], y: &mut [f32]) {
        assert!(a.len() == m * k && x.len() == k && y.len() == m);
        let (a, x, y, m, k) = (a.as_ptr(), x.as_ptr(), y.as_mut_ptr(), m as i32, k as i32);
        // SAFETY: sizes agree with the slices.
        unsafe { (self.sgemv)(ROW_MAJOR, NO_TRANSPOSE, m, k, 1.0, a, k, x, 1, 0.0, y, 1) }
    }

    /// The product of doubles.
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
