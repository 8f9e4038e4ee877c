//! Parasail, where the machine has it; found at run time.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;

use libloading::Library;

type Create = unsafe extern "C" fn(*const c_char, c_int, c_int) -> *mut c_void;
type Set = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int);
type Align =
    unsafe extern "C" fn(*const c_char, c_int, *const c_char, c_int, c_int, c_int, *const c_void) -> *mut c_void;
type Score = unsafe extern "C" fn(*const c_void) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void);

/// The library, kept loaded, with a matrix of costs.
pub struct Parasail {
    align: Align,
    score: Score,
    free: Free,
    free_matrix: Free,
    matrix: *mut c_void,
    _library: Library,
}

impl Parasail {
    /// Looks for the library under its usual names. The costs of pairs of letters are a matrix, row by row.
    pub fn find(letters: &str, costs: &[i32]) -> Option<Parasail> {
        let count = letters.len() as c_int;
        assert_eq!(costs.len(), letters.len() * letters.len());
        let alphabet = CString::new(letters).expect("letters");
        let names = ["libparasail.so.8", "libparasail.so", "libparasail.dylib"];
        names.iter().map(PathBuf::from).chain(of_package()).find_map(|name| {
            // SAFETY: the library's initialisers have no conditions; the symbols have the signatures of its header; the matrix has a row for
            // each letter.
            unsafe {
                let library = Library::new(&name).ok()?;
                let create = *library.get::<Create>(b"parasail_matrix_create\0").ok()?;
                let set = *library.get::<Set>(b"parasail_matrix_set_value\0").ok()?;
                let align = *library.get::<Align>(b"parasail_nw_scan_16\0").ok()?;
                let score = *library.get::<Score>(b"parasail_result_get_score\0").ok()?;
                let free = *library.get::<Free>(b"parasail_result_free\0").ok()?;
                let free_matrix = *library.get::<Free>(b"parasail_matrix_free\0").ok()?;
                let matrix = create(alphabet.as_ptr(), 0, 0);
                let places = (0..count).flat_map(|row| (0..count).map(move |column| (row, column)));
                places.zip(costs).for_each(|((row, column), cost)| set(matrix, row, column, *cost));
                Some(Parasail { align, score, free, free_matrix, matrix, _library: library })
            }
        })
    }

    /// The score of a global alignment: `open` for the first letter of a gap, `ext` for each other one.
    pub fn align(&self, s: &[u8], t: &[u8], open: i32, ext: i32) -> i32 {
        let (n, m) = (s.len() as c_int, t.len() as c_int);
        // SAFETY: lengths are those of the slices; the result is freed once.
        unsafe {
            let result = (self.align)(s.as_ptr().cast(), n, t.as_ptr().cast(), m, open, ext, self.matrix);
            let score = (self.score)(result);
            (self.free)(result);
            score
        }
    }
}

/// The library in Python's package, where `cargo xtask bench` has installed that.
fn of_package() -> Option<PathBuf> {
    let folders = std::fs::read_dir(crate::python::environment().join("lib")).ok()?;
    let within = |folder: PathBuf| folder.join("site-packages/parasail/libparasail.so");
    folders.flatten().map(|folder| within(folder.path())).find(|file| file.exists())
}

impl Drop for Parasail {
    fn drop(&mut self) {
        // SAFETY: made by `find`, freed once.
        unsafe { (self.free_matrix)(self.matrix) }
    }
}
