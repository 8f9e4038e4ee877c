//! The programs of `peers/first.cpp`.

mod raw {
    unsafe extern "C" {
        pub(super) fn peer_first_histogram(counts: *mut u32, x: *const u8, n: i64);
        pub(super) fn peer_first_life_border(b: *mut u8, a: *const u8, n: i64, m: i64);
        pub(super) fn peer_first_life(b: *mut u8, a: *const u8, n: i64, m: i64, torus: i32);
        pub(super) fn peer_first_compact(y: *mut f32, x: *const f32, n: i64) -> i64;
        pub(super) fn peer_first_compact_threads(y: *mut f32, x: *const f32, n: i64) -> i64;
        pub(super) fn peer_first_runs(value: *mut i32, length: *mut i32, x: *const i32, n: i64) -> i64;
        pub(super) fn peer_first_cholesky(a: *mut f64, n: i64);
        pub(super) fn peer_first_fft(
            re: *mut f64,
            im: *mut f64,
            sr: *mut f64,
            si: *mut f64,
            wr: *const f64,
            wi: *const f64,
            n: i64,
        );
        pub(super) fn peer_first_floyd_warshall(d: *mut f32, n: i64);
        pub(super) fn peer_first_diagonals(s: *const u8, t: *const u8, n: i64, m: i64) -> i32;
        pub(super) fn peer_first_forward(
            first: *const f32,
            step: *const f32,
            emit: *const f32,
            x: *const u8,
            states: i64,
            length: i64,
        ) -> f32;
        pub(super) fn peer_first_pairs(counts: *mut u32, x: *const f32, y: *const f32, scale: f32, n: i64, bins: i64);
        pub(super) fn peer_first_sines(y: *mut f64, x: *const f64, n: i64, terms: i64);
        pub(super) fn peer_first_both_products(
            u: *mut f64,
            v: *mut f64,
            a: *const f64,
            x: *const f64,
            y: *const f64,
            n: i64,
        );
        pub(super) fn peer_first_column_means(mean: *mut f32, a: *const f32, n: i64, m: i64);
        pub(super) fn peer_first_coo(
            y: *mut f64,
            row: *const i32,
            col: *const i32,
            val: *const f64,
            x: *const f64,
            rows: i64,
            entries: i64,
        );
    }
}

/// How often each byte stands in `x`.
pub fn histogram(counts: &mut [u32; 256], x: &[u8]) {
    // SAFETY: there is a bin for each byte.
    unsafe { raw::peer_first_histogram(counts.as_mut_ptr(), x.as_ptr(), x.len() as i64) }
}

/// What is around the outermost cells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// They stay as they are.
    Border,
    /// Those of the other side.
    Torus,
    /// They themselves.
    Clamped,
}

/// A step of Life.
pub fn life(b: &mut [u8], a: &[u8], [n, m]: [usize; 2], around: Around) {
    assert!(a.len() == n * m && b.len() == a.len() && n > 1 && m > 1);
    let (b, a, n, m) = (b.as_mut_ptr(), a.as_ptr(), n as i64, m as i64);
    // SAFETY: both arrays have the shape, and neighbours lie inside.
    unsafe {
        match around {
            Around::Border => raw::peer_first_life_border(b, a, n, m),
            Around::Torus => raw::peer_first_life(b, a, n, m, 1),
            Around::Clamped => raw::peer_first_life(b, a, n, m, 0),
        }
    }
}

/// Elements above 0, by one thread or by all. How many there are.
pub fn compact(y: &mut [f32], x: &[f32], threads: bool) -> usize {
    assert!(y.len() > x.len());
    let compact = if threads { raw::peer_first_compact_threads } else { raw::peer_first_compact };
    // SAFETY: there is a place for each element, and for one that is not kept.
    unsafe { compact(y.as_mut_ptr(), x.as_ptr(), x.len() as i64) as usize }
}

/// Values and lengths of runs, and how many there are.
pub fn runs(value: &mut [i32], length: &mut [i32], x: &[i32]) -> usize {
    assert!(value.len() >= x.len() && length.len() >= x.len());
    // SAFETY: there are no more runs than elements.
    unsafe { raw::peer_first_runs(value.as_mut_ptr(), length.as_mut_ptr(), x.as_ptr(), x.len() as i64) as usize }
}

/// The left factor, below and on the diagonal.
pub fn cholesky(a: &mut [f64], n: usize) {
    assert_eq!(a.len(), n * n);
    // SAFETY: the array has the shape.
    unsafe { raw::peer_first_cholesky(a.as_mut_ptr(), n as i64) }
}

/// The transform of a power of two of complex numbers; `s` is for what is between.
pub fn fft([re, im]: [&mut [f64]; 2], [sr, si]: [&mut [f64]; 2], [wr, wi]: [&[f64]; 2]) {
    let n = re.len();
    assert!(n.is_power_of_two() && [im.len(), sr.len(), si.len()] == [n; 3] && [wr.len(), wi.len()] == [n / 2; 2]);
    let (re, im, sr, si) = (re.as_mut_ptr(), im.as_mut_ptr(), sr.as_mut_ptr(), si.as_mut_ptr());
    // SAFETY: lengths agree.
    unsafe { raw::peer_first_fft(re, im, sr, si, wr.as_ptr(), wi.as_ptr(), n as i64) }
}

/// Lengths of shortest paths from lengths of edges.
pub fn floyd_warshall(d: &mut [f32], n: usize) {
    assert_eq!(d.len(), n * n);
    // SAFETY: the array has the shape.
    unsafe { raw::peer_first_floyd_warshall(d.as_mut_ptr(), n as i64) }
}

/// Edit distance by diagonals.
pub fn diagonals(s: &[u8], t: &[u8]) -> i32 {
    // SAFETY: reads below the lengths only.
    unsafe { raw::peer_first_diagonals(s.as_ptr(), t.as_ptr(), s.len() as i64, t.len() as i64) }
}

/// Likelihood of a sequence under a hidden Markov model.
pub fn forward([first, step, emit]: [&[f32]; 3], x: &[u8]) -> f32 {
    let states = first.len();
    assert!(step.len() == states * states && !x.is_empty());
    assert!(x.iter().all(|symbol| (usize::from(*symbol) + 1) * states <= emit.len()));
    let (first, step, emit) = (first.as_ptr(), step.as_ptr(), emit.as_ptr());
    // SAFETY: sizes agree, symbols are those of the model.
    unsafe { raw::peer_first_forward(first, step, emit, x.as_ptr(), states as i64, x.len() as i64) }
}

/// How many pairs of points are so far apart. Coordinates and `scale` are not negative.
pub fn pairs(counts: &mut [u32], x: &[f32], y: &[f32], scale: f32) {
    assert!(y.len() == x.len());
    let bins = counts.len() as i64;
    // SAFETY: lengths agree, bins are compared with their number.
    unsafe { raw::peer_first_pairs(counts.as_mut_ptr(), x.as_ptr(), y.as_ptr(), scale, x.len() as i64, bins) }
}

/// A sum of sines for each element.
pub fn sines(y: &mut [f64], x: &[f64], terms: usize) {
    assert!(y.len() == x.len());
    // SAFETY: lengths agree.
    unsafe { raw::peer_first_sines(y.as_mut_ptr(), x.as_ptr(), x.len() as i64, terms as i64) }
}

/// Products of a square matrix with `x` from the right and `y` from the left.
pub fn both_products([u, v]: [&mut [f64]; 2], a: &[f64], [x, y]: [&[f64]; 2]) {
    let n = x.len();
    assert!(a.len() == n * n && [u.len(), v.len(), y.len()] == [n; 3]);
    // SAFETY: lengths agree.
    unsafe {
        raw::peer_first_both_products(u.as_mut_ptr(), v.as_mut_ptr(), a.as_ptr(), x.as_ptr(), y.as_ptr(), n as i64);
    }
}

/// Mean of each column.
pub fn column_means(mean: &mut [f32], a: &[f32]) {
    assert!(a.len().is_multiple_of(mean.len()));
    let (rows, columns) = ((a.len() / mean.len()) as i64, mean.len() as i64);
    // SAFETY: the matrix has so many columns.
    unsafe { raw::peer_first_column_means(mean.as_mut_ptr(), a.as_ptr(), rows, columns) }
}

/// Entries of a sparse matrix by row, which lie inside of it.
pub struct Entries {
    row: Vec<i32>,
    col: Vec<i32>,
    val: Vec<f64>,
    shape: [usize; 2],
}

impl Entries {
    /// # Panics
    ///
    /// If an entry lies outside, or there are not as many of one as of the other.
    pub fn new(row: &[i32], col: &[i32], val: &[f64], shape: [usize; 2]) -> Self {
        let inside = |at: &i32, extent| usize::try_from(*at).is_ok_and(|at| at < extent);
        assert!(row.len() == val.len() && col.len() == val.len());
        assert!(row.iter().all(|row| inside(row, shape[0])) && col.iter().all(|col| inside(col, shape[1])));
        Self { row: row.to_vec(), col: col.to_vec(), val: val.to_vec(), shape }
    }
}

/// Product of a sparse matrix with a vector.
pub fn coo(y: &mut [f64], entries: &Entries, x: &[f64]) {
    let Entries { row, col, val, shape } = entries;
    assert_eq!([y.len(), x.len()], *shape);
    let (rows, count) = (y.len() as i64, val.len() as i64);
    // SAFETY: entries lie inside.
    unsafe { raw::peer_first_coo(y.as_mut_ptr(), row.as_ptr(), col.as_ptr(), val.as_ptr(), x.as_ptr(), rows, count) }
}
