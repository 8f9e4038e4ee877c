//! OpenBLAS, where the machine has it; found at run time.

use libloading::Library;

type Sgemm = unsafe extern "C" fn(
    order: i32,
    trans_a: i32,
    trans_b: i32,
    m: i32,
    n: i32,
    k: i32,
    alpha: f32,
    a: *const f32,
    lda: i32,
    b: *const f32,
    ldb: i32,
    beta: f32,
    c: *mut f32,
    ldc: i32,
);

const ROW_MAJOR: i32 = 101;
const NO_TRANSPOSE: i32 = 111;

/// The library, kept loaded.
pub struct OpenBlas {
    sgemm: Sgemm,
    _library: Library,
}

impl OpenBlas {
    /// Looks for the library under its usual names.
    pub fn find() -> Option<OpenBlas> {
        ["libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"].iter().find_map(|name| {
            // SAFETY: OpenBLAS's initialisers have no conditions; the symbol has CBLAS's documented signature.
            unsafe {
                let library = Library::new(*name).ok()?;
                let sgemm = *library.get::<Sgemm>(b"cblas_sgemm\0").ok()?;
                Some(OpenBlas { sgemm, _library: library })
            }
        })
    }

    /// `C = A B` for row-major `A[m][k]`, `B[k][n]`, `C[m][n]`.
    pub fn sgemm(&self, [m, n, k]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
        assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
        let (m, n, k) = (m as i32, n as i32, k as i32);
        // SAFETY: sizes agree with the slices.
        unsafe {
            (self.sgemm)(
                ROW_MAJOR,
                NO_TRANSPOSE,
                NO_TRANSPOSE,
                m,
                n,
                k,
                1.0,
                a.as_ptr(),
                k,
                b.as_ptr(),
                n,
                0.0,
                c.as_mut_ptr(),
                n,
            );
        }
    }
}
