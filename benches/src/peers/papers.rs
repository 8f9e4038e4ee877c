//! The programs of `peers/papers.cpp`.

use crate::kernels::papers_hicuda::{Atom, Point, Quartet};
use crate::kernels::papers_lee::Place;

mod raw {
    use super::{Atom, Place, Point, Quartet};

    unsafe extern "C" {
        pub(super) fn peer_papers_multiplied(c: *mut f32, a: *const f32, b: *const f32, m: i64, n: i64, depth: i64);
        pub(super) fn peer_papers_potential(
            energy: *mut f32,
            atoms: *const Atom,
            spacing: f32,
            height: f32,
            h: i64,
            w: i64,
            count: i64,
        );
        pub(super) fn peer_papers_differences(
            fours: *mut u16,
            eights: *mut u16,
            current: *const u8,
            before: *const u8,
            b: i64,
            c: i64,
            s: i64,
        );
        pub(super) fn peer_papers_correlated(
            selves: *mut i64,
            others: *mut i64,
            points: *const Point,
            random: *const Point,
            edges: *const f32,
            n: i64,
            m: i64,
            bins: i64,
        );
        pub(super) fn peer_papers_repulsion(
            integrals: *mut f32,
            centres: *const Point,
            exponents: *const f32,
            weights: *const f32,
            quartets: *const Quartet,
            count: i64,
        );
        pub(super) fn peer_papers_nearest(
            distance: *mut f32,
            places: *const Place,
            latitude: f32,
            longitude: f32,
            n: i64,
        ) -> f32;
        pub(super) fn peer_papers_eliminated(a: *mut f64, b: *mut f64, n: i64);
        pub(super) fn peer_papers_heated(heat: *mut f32, power: *const f32, h: i64, w: i64, steps: i32);
        pub(super) fn peer_papers_evened(image: *mut f32, h: i64, w: i64, steps: i32);
        pub(super) fn peer_papers_walked(cost: *mut i32, wall: *const i32, steps: i64, n: i64);
        pub(super) fn peer_papers_factored(a: *mut f64, n: i64);
        pub(super) fn peer_papers_levels(level: *mut i32, first: *const i32, edges: *const i32, source: i32, n: i64);
    }
}

/// Product of matrices of which `c` has a multiple of 8 rows and of 32 columns.
pub fn multiplied(c: &mut [f32], a: &[f32], b: &[f32], [m, n, depth]: [usize; 3]) {
    assert!(c.len() == m * n && a.len() == m * depth && b.len() == depth * n);
    assert!(m.is_multiple_of(8) && n.is_multiple_of(32));
    // SAFETY: sizes agree, and tiles of the product lie inside.
    unsafe { raw::peer_papers_multiplied(c.as_mut_ptr(), a.as_ptr(), b.as_ptr(), m as i64, n as i64, depth as i64) }
}

/// The potential of charges at the points of a plane.
pub fn potential(energy: &mut [f32], atoms: &[Atom], [spacing, height]: [f32; 2], [h, w]: [usize; 2]) {
    assert_eq!(energy.len(), h * w);
    let (out, count) = (energy.as_mut_ptr(), atoms.len() as i64);
    // SAFETY: sizes agree.
    unsafe { raw::peer_papers_potential(out, atoms.as_ptr(), spacing, height, h as i64, w as i64, count) }
}

/// Sums of differences of blocks of 4 by 4, and of 8 by 8: as many of these as `shape` says, at as many places in both directions.
pub fn differences([fours, eights]: [&mut [u16]; 2], current: &[u8], before: &[u8], [b, c, s]: [usize; 3]) {
    assert!(fours.len() == 4 * b * c * s * s && eights.len() == b * c * s * s);
    assert!(current.len() == 64 * b * c && before.len() == (8 * b + s) * (8 * c + s));
    let (fours, eights, current, before) = (fours.as_mut_ptr(), eights.as_mut_ptr(), current.as_ptr(), before.as_ptr());
    // SAFETY: sizes agree.
    unsafe { raw::peer_papers_differences(fours, eights, current, before, b as i64, c as i64, s as i64) }
}

/// How many pairs of points, and of a point and a random one, have which angle. Edges rise.
pub fn correlated([selves, others]: [&mut [i64]; 2], points: &[Point], random: &[Point], edges: &[f32]) {
    assert!(selves.len() == edges.len() + 1 && others.len() == selves.len());
    let (n, m, bins) = (points.len() as i64, random.len() as i64, edges.len() as i64);
    let (selves, others, edges) = (selves.as_mut_ptr(), others.as_mut_ptr(), edges.as_ptr());
    // SAFETY: there is a bin for each edge, and one after the last.
    unsafe { raw::peer_papers_correlated(selves, others, points.as_ptr(), random.as_ptr(), edges, n, m, bins) }
}

/// The repulsion of electrons in shells, three exponents and weights each.
pub fn repulsion(integrals: &mut [f32], centres: &[Point], [exponents, weights]: [&[f32]; 2], quartets: &[Quartet]) {
    assert!(integrals.len() == quartets.len());
    assert!(exponents.len() == 3 * centres.len() && weights.len() == exponents.len());
    let inside = |shell: i32| usize::try_from(shell).is_ok_and(|shell| shell < centres.len());
    assert!(quartets.iter().all(|&Quartet { a, b, c, d }| [a, b, c, d].into_iter().all(inside)));
    let (centres, count) = (centres.as_ptr(), quartets.len() as i64);
    let (exponents, weights) = (exponents.as_ptr(), weights.as_ptr());
    // SAFETY: sizes agree, and there are the shells of all quartets.
    unsafe {
        raw::peer_papers_repulsion(integrals.as_mut_ptr(), centres, exponents, weights, quartets.as_ptr(), count);
    }
}

/// How far places are, and the least of it.
pub fn nearest(distance: &mut [f32], places: &[Place], [latitude, longitude]: [f32; 2]) -> f32 {
    assert_eq!(distance.len(), places.len());
    let (out, n) = (distance.as_mut_ptr(), places.len() as i64);
    // SAFETY: lengths agree.
    unsafe { raw::peer_papers_nearest(out, places.as_ptr(), latitude, longitude, n) }
}

/// Gaussian elimination without pivots.
pub fn eliminated(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    assert_eq!(a.len(), n * n);
    // SAFETY: sizes agree.
    unsafe { raw::peer_papers_eliminated(a.as_mut_ptr(), b.as_mut_ptr(), n as i64) }
}

/// So many steps of heat, which has the shape.
pub fn heated(heat: &mut [f32], power: &[f32], [h, w]: [usize; 2], steps: i32) {
    assert!(heat.len() == h * w && power.len() == heat.len() && h > 0 && w > 1);
    // SAFETY: sizes agree, and the array has a place at each end of a row.
    unsafe { raw::peer_papers_heated(heat.as_mut_ptr(), power.as_ptr(), h as i64, w as i64, steps) }
}

/// So many steps that even out a picture of the shape.
pub fn evened(image: &mut [f32], [h, w]: [usize; 2], steps: i32) {
    assert!(image.len() == h * w && h > 0 && w > 1);
    // SAFETY: sizes agree, and the array has a place at each end of a row.
    unsafe { raw::peer_papers_evened(image.as_mut_ptr(), h as i64, w as i64, steps) }
}

/// The least sums down a wall.
pub fn walked(cost: &mut [i32], wall: &[i32]) {
    assert!(cost.len() > 1 && wall.len().is_multiple_of(cost.len()));
    let steps = (wall.len() / cost.len()) as i64;
    // SAFETY: the wall has so many rows.
    unsafe { raw::peer_papers_walked(cost.as_mut_ptr(), wall.as_ptr(), steps, cost.len() as i64) }
}

/// A square matrix as a product of triangular ones, in place.
pub fn factored(a: &mut [f64], n: usize) {
    assert_eq!(a.len(), n * n);
    // SAFETY: the array has the shape.
    unsafe { raw::peer_papers_factored(a.as_mut_ptr(), n as i64) }
}

/// Edges of nodes: those of node `n` are from `first[n]` to `first[n + 1]`, and end at nodes.
pub struct Graph {
    first: Vec<i32>,
    edges: Vec<i32>,
}

impl Graph {
    /// # Panics
    ///
    /// If an edge ends nowhere, or edges of a node are none of the graph.
    pub fn new(first: &[i32], edges: &[i32]) -> Self {
        let nodes = first.len() - 1;
        assert!(first[0] >= 0 && first.is_sorted() && first[nodes] as usize <= edges.len());
        assert!(edges.iter().all(|edge| usize::try_from(*edge).is_ok_and(|edge| edge < nodes)));
        Self { first: first.to_vec(), edges: edges.to_vec() }
    }

    /// The graph with all edges turned round.
    pub fn turned(&self) -> Self {
        let mut first = vec![0; self.first.len()];
        self.edges.iter().for_each(|edge| first[*edge as usize + 1] += 1);
        for node in 1..first.len() {
            first[node] += first[node - 1];
        }
        let (mut next, mut edges) = (first.clone(), vec![0; self.edges.len()]);
        for node in 0..self.nodes() {
            for edge in &self.edges[self.first[node] as usize..self.first[node + 1] as usize] {
                let at = &mut next[*edge as usize];
                edges[*at as usize] = node as i32;
                *at += 1;
            }
        }
        Self::new(&first, &edges)
    }

    pub(super) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// Where the edges of each node begin, and where they end.
    pub(super) fn arrays(&self) -> [&[i32]; 2] {
        [&self.first, &self.edges]
    }
}

/// How far nodes are from the source.
pub fn levels(level: &mut [i32], Graph { first, edges }: &Graph, source: i32) {
    assert_eq!(first.len(), level.len() + 1);
    assert!(usize::try_from(source).is_ok_and(|source| source < level.len()));
    let (out, n) = (level.as_mut_ptr(), level.len() as i64);
    // SAFETY: edges lie inside, and end at nodes, of which the source is one.
    unsafe { raw::peer_papers_levels(out, first.as_ptr(), edges.as_ptr(), source, n) }
}
