//! How keys are distributed, and how long segments are.

use crate::random::Random;

/// How keys are distributed: a name, and the key from the index, the number of keys and random bits.
pub type Keys = (&'static str, fn(usize, usize, u64) -> u32);

pub const UNIFORM: Keys = ("uniform", |_, _, bits| bits as u32);
pub const SORTED: Keys = ("sorted", |i, n, _| (i << 32).wrapping_div(n) as u32);
pub const REVERSED: Keys = ("reversed", |i, n, _| ((n - 1 - i) << 32).wrapping_div(n) as u32);
pub const EQUAL: Keys = ("equal", |_, _, _| 7);
pub const FEW: Keys = ("few", |_, _, bits| (bits % 10) as u32 * 1_000_003);

/// Bounds of segments of one length.
pub fn even(segments: usize, length: usize) -> Vec<i32> {
    (0..=segments).map(|i| (i * length) as i32).collect()
}

/// Lengths proportional to 1 / rank, in random order, n elements in all.
pub fn zipf(n: usize) -> Vec<i32> {
    let segments = 1usize << 16;
    let harmonic: f64 = (1..=segments).map(|rank| 1.0 / rank as f64).sum();
    let mut lengths: Vec<usize> = (1..=segments).map(|rank| (n as f64 / harmonic / rank as f64) as usize).collect();
    let mut random = Random::new(6);
    (1..segments).rev().for_each(|last| lengths.swap(last, random.below(last + 1)));
    let mut cut = vec![0i32];
    cut.extend(lengths.iter().scan(0, |at, length| {
        *at += length;
        Some(*at as i32)
    }));
    cut
}
