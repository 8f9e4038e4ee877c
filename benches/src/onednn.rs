//! oneDNN's product of matrices, where the machine has the library; found at run time.

use libloading::Library;

use crate::python::environment;

type Sgemm = unsafe extern "C" fn(
    trans_a: i8,
    trans_b: i8,
    m: i64,
    n: i64,
    k: i64,
    alpha: f32,
    a: *const f32,
    lda: i64,
    b: *const f32,
    ldb: i64,
    beta: f32,
    c: *mut f32,
    ldc: i64,
) -> i32;

const SUCCESS: i32 = 0;
const AS_IT_IS: i8 = b'N' as i8;

/// The library, kept loaded.
pub struct OneDnn {
    sgemm: Sgemm,
    _library: Library,
}

impl OneDnn {
    /// Looks for the library where the system has it, and among Python's packages.
    pub fn find() -> Option<OneDnn> {
        let own = environment().join("lib/libdnnl.so.3");
        let names = ["libdnnl.so.3".into(), "libdnnl.so".into(), own];
        names.iter().find_map(|name| {
            // SAFETY: the library's initialisers have no conditions; the symbol has the documented signature.
            unsafe {
                let library = Library::new(name).ok()?;
                let sgemm = *library.get::<Sgemm>(b"dnnl_sgemm\0").ok()?;
                Some(OneDnn { sgemm, _library: library })
            }
        })
    }

    /// `C = A B` for row-major `A[m][k]`, `B[k][n]`, `C[m][n]`.
    pub fn sgemm(&self, [m, n, k]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
        assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
        let (m, n, k) = (m as i64, n as i64, k as i64);
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: sizes agree with the slices.
        let done = unsafe { (self.sgemm)(AS_IT_IS, AS_IT_IS, m, n, k, 1.0, a, k, b, n, 0.0, c, n) };
        assert_eq!(done, SUCCESS, "oneDNN multiplies");
    }
}
