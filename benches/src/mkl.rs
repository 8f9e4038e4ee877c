//! MKL's sparse products (the inspector-executor interface), where the machine has the library; found at run time.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::rc::Rc;

use libloading::Library;

use crate::buffer::Buffer;

/// What the library has: names with and without the version that Python's packages install.
pub const NAMES: [&str; 4] = ["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", "libmkl_rt.dylib"];

const SUCCESS: i32 = 0;
const ZERO_BASED: i32 = 0;
const NO_TRANSPOSE: i32 = 10;
/// A matrix without structure: of its three fields only the first counts.
const GENERAL: Description = Description { kind: 20, mode: 0, diagonal: 0 };
#[repr(C)]
#[derive(Clone, Copy)]
struct Description {
    kind: i32,
    mode: i32,
    diagonal: i32,
}

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle, i32, i32, i32, *const i32, *const i32, *const i32, *const f64) -> i32;
type Product = unsafe extern "C" fn(i32, f64, Handle, Description, *const f64, f64, *mut f64) -> i32;
type Hint = unsafe extern "C" fn(Handle, i32, Description, i32) -> i32;
type OfHandle = unsafe extern "C" fn(Handle) -> i32;

/// What a handle points into.
struct Arrays {
    _integers: [Rc<Buffer<i32>>; 2],
    _values: Rc<Buffer<f64>>,
}

/// A sparse matrix in the library's form.
pub struct Sparse {
    handle: Handle,
    product: Product,
    destroy: OfHandle,
    rows: usize,
    columns: usize,
    _arrays: Arrays,
    _library: Library,
}

impl Sparse {
    /// A square matrix in rows, prepared for so many products, or as it is; `None` without the library.
    pub fn new(
        rowptr: &Rc<Buffer<i32>>,
        col: &Rc<Buffer<i32>>,
        val: &Rc<Buffer<f64>>,
        prepared: Option<i32>,
    ) -> Option<Self> {
        let rows = rowptr.len() - 1;
        let count = i32::try_from(rows).ok()?;
        assert!(rowptr[0] == 0 && rowptr[rows] as usize == col.len() && col.len() == val.len());
        // SAFETY: the library's initialisers have no conditions, the symbols have the documented signatures, and the arrays live as long as
        // the handle.
        unsafe {
            let library = NAMES.iter().find_map(|name| Library::new(*name).ok())?;
            let create = *library.get::<Create>(b"mkl_sparse_d_create_csr\0").ok()?;
            let product = *library.get::<Product>(b"mkl_sparse_d_mv\0").ok()?;
            let hint = *library.get::<Hint>(b"mkl_sparse_set_mv_hint\0").ok()?;
            let optimise = *library.get::<OfHandle>(b"mkl_sparse_optimize\0").ok()?;
            let destroy = *library.get::<OfHandle>(b"mkl_sparse_destroy\0").ok()?;
            let mut handle = null_mut();
            let (starts, ends) = (rowptr.as_ptr(), rowptr.as_ptr().add(1));
            let made = create(&mut handle, ZERO_BASED, count, count, starts, ends, col.as_ptr(), val.as_ptr());
            assert_eq!(made, SUCCESS, "MKL takes the matrix");
            if let Some(products) = prepared {
                assert_eq!(hint(handle, NO_TRANSPOSE, GENERAL, products), SUCCESS, "MKL takes the hint");
                assert_eq!(optimise(handle), SUCCESS, "MKL prepares the matrix");
            }
            let _arrays = Arrays { _integers: [rowptr.clone(), col.clone()], _values: val.clone() };
            Some(Self { handle, product, destroy, rows, columns: rows, _arrays, _library: library })
        }
    }

    /// `y = A x`.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        assert!(x.len() == self.columns && y.len() == self.rows);
        // SAFETY: sizes agree with the slices; columns are those that other contenders' tests passed.
        let done = unsafe { (self.product)(NO_TRANSPOSE, 1.0, self.handle, GENERAL, x.as_ptr(), 0.0, y.as_mut_ptr()) };
        assert_eq!(done, SUCCESS, "MKL multiplies");
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        // SAFETY: the handle is not used again.
        let gone = unsafe { (self.destroy)(self.handle) };
        debug_assert_eq!(gone, SUCCESS);
    }
}
