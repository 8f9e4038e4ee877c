//! The program of `peers/codelets.cpp`.

mod raw {
    unsafe extern "C" {
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
