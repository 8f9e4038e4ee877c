//! The programs of `peers/codelets.cpp`.

use std::rc::Rc;

use super::papers::Graph;
use crate::buffer::Buffer;

mod raw {
    unsafe extern "C" {
        pub(super) fn peer_codelets_sum(x: *const f32, n: i64) -> f32;
        pub(super) fn peer_codelets_dot(x: *const f32, y: *const f32, n: i64) -> f32;
        pub(super) fn peer_codelets_standard_dot(x: *const f32, y: *const f32, n: i64) -> f32;
        pub(super) fn peer_codelets_words(counts: *mut u32, bins: i64, keys: *const u32, n: i64);
        pub(super) fn peer_codelets_words_tbb(counts: *mut u32, bins: i64, keys: *const u32, n: i64);
        pub(super) fn peer_codelets_histogram(counts: *mut u32, keys: *const u8, n: i64);
        pub(super) fn peer_codelets_directions(
            far: *mut i32,
            first: *const i32,
            edges: *const i32,
            into_first: *const i32,
            into: *const i32,
            source: i32,
            n: i64,
        );
        pub(super) fn peer_codelets_clusters(
            cluster: *mut i32,
            sums: *mut f32,
            counts: *mut u32,
            point: *const f32,
            centre: *const f32,
            n: i64,
            d: i64,
            k: i64,
        );
    }
}

/// One step of k-means: clusters of points, and sums and numbers of the points of each.
pub fn clusters(cluster: &mut [i32], sums: &mut [f32], counts: &mut [u32], point: &[f32], centre: &[f32]) {
    let (n, k) = (cluster.len(), counts.len());
    assert!(n > 0 && k > 0);
    let d = point.len() / n;
    assert!(point.len() == n * d && centre.len() == k * d && sums.len() == k * d);
    let (cluster, sums, counts) = (cluster.as_mut_ptr(), sums.as_mut_ptr(), counts.as_mut_ptr());
    let (n, d, k) = (n as i64, d as i64, k as i64);
    // SAFETY: lengths agree; nothing is aliased.
    unsafe { raw::peer_codelets_clusters(cluster, sums, counts, point.as_ptr(), centre.as_ptr(), n, d, k) }
}

/// The sum, by OpenMP.
pub fn sum(x: &[f32]) -> f32 {
    // SAFETY: reads below the length only.
    unsafe { raw::peer_codelets_sum(x.as_ptr(), x.len() as i64) }
}

/// The inner product, by OpenMP.
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    assert_eq!(x.len(), y.len());
    // SAFETY: reads below the lengths only.
    unsafe { raw::peer_codelets_dot(x.as_ptr(), y.as_ptr(), x.len() as i64) }
}

/// The inner product, by C++17 on TBB.
///
/// # Panics
///
/// If TBB was not there when this was built.
pub fn standard_dot(x: &[f32], y: &[f32]) -> f32 {
    assert!(super::has_tbb() && x.len() == y.len());
    // SAFETY: reads below the lengths only.
    unsafe { raw::peer_codelets_standard_dot(x.as_ptr(), y.as_ptr(), x.len() as i64) }
}

/// Keys below a number of counts.
#[derive(Clone)]
pub struct Words {
    keys: Rc<Buffer<u32>>,
    bins: usize,
}

impl Words {
    /// # Panics
    ///
    /// If a key has no count.
    pub fn new(keys: Rc<Buffer<u32>>, bins: usize) -> Words {
        assert!(keys.iter().all(|key| (*key as usize) < bins));
        Words { keys, bins }
    }

    /// How often each occurs, by OpenMP.
    pub fn counted(&self, counts: &mut [u32]) {
        assert_eq!(counts.len(), self.bins);
        let (bins, n) = (self.bins as i64, self.keys.len() as i64);
        // SAFETY: each key has a count.
        unsafe { raw::peer_codelets_words(counts.as_mut_ptr(), bins, self.keys.as_ptr(), n) }
    }

    /// The same by TBB.
    ///
    /// # Panics
    ///
    /// If TBB was not there when this was built.
    pub fn counted_by_tbb(&self, counts: &mut [u32]) {
        assert!(super::has_tbb() && counts.len() == self.bins);
        let (bins, n) = (self.bins as i64, self.keys.len() as i64);
        // SAFETY: each key has a count.
        unsafe { raw::peer_codelets_words_tbb(counts.as_mut_ptr(), bins, self.keys.as_ptr(), n) }
    }
}

/// How often each byte occurs, by TBB.
///
/// # Panics
///
/// If TBB was not there when this was built.
pub fn histogram(counts: &mut [u32; 256], keys: &[u8]) {
    assert!(super::has_tbb());
    // SAFETY: reads below the length only, and there is a count for each byte.
    unsafe { raw::peer_codelets_histogram(counts.as_mut_ptr(), keys.as_ptr(), keys.len() as i64) }
}

/// How far nodes are from the source, by steps along edges or against them; `into` is the graph with all edges turned round.
pub fn directions(far: &mut [i32], graph: &Graph, into: &Graph, source: i32) {
    let nodes = graph.nodes();
    assert!(far.len() == nodes && into.nodes() == nodes);
    assert!(usize::try_from(source).is_ok_and(|source| source < nodes));
    let ([first, edges], [into_first, into]) = (graph.arrays(), into.arrays());
    let (out, n) = (far.as_mut_ptr(), nodes as i64);
    // SAFETY: edges lie inside and end at nodes in both graphs, and the source is a node.
    unsafe {
        raw::peer_codelets_directions(
            out,
            first.as_ptr(),
            edges.as_ptr(),
            into_first.as_ptr(),
            into.as_ptr(),
            source,
            n,
        );
    }
}
