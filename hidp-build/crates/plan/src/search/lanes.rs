//! Where the lanes of a warp are in a nest, and what one request of theirs touches.

use super::facts::SiteNumbers;
use crate::target::DeviceModel;

/// Lanes along an iterator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Digit {
    /// The iterator, by number.
    pub(super) iter: usize,
    pub(super) count: u32,
    /// Iterations from one lane to the next.
    pub(super) step: f64,
}

/// The lanes of a warp, those next to each other first. Lanes of which nothing is said are at the same iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lanes(pub(super) Vec<Digit>);

impl Lanes {
    /// With these nearer to each other than those before.
    pub(super) fn within(&self, nearer: impl IntoIterator<Item = Digit>) -> Lanes {
        Lanes(nearer.into_iter().chain(self.0.iter().copied()).filter(|digit| digit.count > 1).collect())
    }

    /// Lanes that are at iterations of their own.
    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|digit| digit.count).product()
    }

    /// Parts of memory of so many bytes that a request touches, if the first lane's place begins one.
    pub(super) fn touched(&self, site: &SiteNumbers, bytes: u32) -> f64 {
        self.touched_by(site, site.size, bytes)
    }

    /// The same where each lane asks for so many bytes.
    pub(super) fn touched_by(&self, site: &SiteNumbers, size: f64, bytes: u32) -> f64 {
        let bytes = f64::from(bytes);
        // Lanes whose places lie in one run, and how many of those there are.
        let (mut run, mut runs) = (size, 1.0);
        for digit in &self.0 {
            let (count, apart) =
                (f64::from(digit.count), site.strides[digit.iter].map(|stride| (stride * digit.step).abs()));
            match apart {
                Some(0.0) => {}
                Some(apart) if apart <= run || apart < bytes => run += apart * (count - 1.0),
                Some(_) | None => runs *= count,
            }
        }
        runs * (run / bytes).ceil()
    }
}

/// So many lanes along iterators, the last of which is fastest: each takes as many as its range fills, and the first all that are left.
pub(super) fn along(iters: std::ops::Range<usize>, counts: &[f64], mut lanes: u32) -> Vec<Digit> {
    let mut digits = Vec::new();
    for iter in iters.clone().rev() {
        let filled = (counts[iter].max(1.0).min(f64::from(lanes)) as u32).next_power_of_two();
        let count = if iter == iters.start { lanes } else { filled.min(lanes) };
        digits.push(Digit { iter, count, step: 1.0 });
        lanes /= count.max(1);
    }
    digits
}

/// Warps of a multiprocessor at a time, in blocks of so many threads.
pub(super) fn resident(block: u32, model: &DeviceModel) -> f64 {
    let warps = block.div_ceil(model.warp).max(1);
    let by_registers = model.registers / (model.machine.thread_registers * model.warp).max(1);
    let blocks = (by_registers.min(model.resident / model.warp.max(1)) / warps).clamp(1, model.resident_blocks);
    f64::from(blocks * warps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Parts of memory that lanes touch, one by one.
    fn counted(lanes: &Lanes, site: &SiteNumbers, bytes: i64) -> usize {
        let mut places = vec![0i64];
        for digit in &lanes.0 {
            let step = site.strides[digit.iter].unwrap() as i64;
            let at = |place: i64| (0..i64::from(digit.count)).map(move |lane| place + lane * step);
            places = places.into_iter().flat_map(at).collect();
        }
        let last = |first: i64| first + site.size as i64 - 1;
        let parts = places.into_iter().flat_map(|first| first.div_euclid(bytes)..=last(first).div_euclid(bytes));
        parts.collect::<BTreeSet<i64>>().len()
    }

    #[test]
    fn requests_touch_what_their_lanes_do_one_by_one() {
        for size in [1i64, 4, 8, 16] {
            for first in [1i64, 4, 8, 16, 32] {
                // Neighbours, the same place, every other, whole lines apart; then rows that follow, are whole lines apart, or the same.
                for near in [0, size, 2 * size, 128, 4096] {
                    for far in [0, first * near.max(size), 128 * first, 65536] {
                        let counts = [first as u32, 32 / first as u32];
                        let strides = [near, far].map(|stride| Some(stride as f64)).to_vec();
                        let site = SiteNumbers { size: size as f64, strides, ..SiteNumbers::default() };
                        let digit = |iter: usize| Digit { iter, count: counts[iter], step: 1.0 };
                        for order in [[0, 1], [1, 0]] {
                            let lanes = Lanes(order.map(digit).to_vec());
                            for bytes in [32, 128] {
                                let found = lanes.touched(&site, bytes as u32) as usize;
                                let which =
                                    format!("{size} bytes, {counts:?} lanes by {near} and {far}, {order:?}, {bytes}");
                                assert_eq!(found, counted(&lanes, &site, bytes), "{which}");
                            }
                        }
                    }
                }
            }
        }
    }
}
