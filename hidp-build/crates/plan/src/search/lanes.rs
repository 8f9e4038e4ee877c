//! The positions of a warp's lanes in a nest, and the sectors that one request touches.

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
    /// Iterations from the first lane of a warp to that of the next; of another number of lanes where this is the last warp.
    pub(super) apart: f64,
}

impl Digit {
    /// Of lanes at neighbouring iterations.
    pub(super) fn next(iter: usize, count: u32) -> Digit {
        Digit { iter, count, step: 1.0, apart: f64::from(count) }
    }
}

/// Where the first lanes of warps ask for something: at this byte and every so many more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Starts {
    pub(super) first: f64,
    pub(super) apart: f64,
}

impl Starts {
    /// Of an access, by warps with these lanes in a nest of iterators that have so many iterations.
    pub(super) fn of(site: &SiteNumbers, lanes: &Lanes, counts: &[f64]) -> Starts {
        let Some(first) = site.first else { return Starts { first: 0.0, apart: site.size } };
        let moved = site.strides.iter().zip(counts).enumerate().filter_map(|(iter, (stride, count))| {
            let cover = lanes.0.iter().find(|digit| digit.iter == iter).map_or(1.0, |digit| digit.apart);
            let moves = *count > cover;
            moves.then(|| stride.map_or(site.size, |stride| (stride * cover).abs()))
        });
        Starts { first, apart: moved.fold(0.0, common) }
    }
}

/// The greatest common divisor, of whole numbers.
fn common(a: f64, b: f64) -> f64 {
    let (mut a, mut b) = (a as u64, b as u64);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a as f64
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

    /// Where the lanes of a request are that starts there.
    pub(super) fn reach(&self, site: &SiteNumbers, starts: Starts) -> Reach {
        let mut between = Vec::with_capacity(self.0.len());
        let mut scattered = 1.0;
        for digit in &self.0 {
            match site.strides[digit.iter] {
                Some(stride) => between.push(((stride * digit.step).abs(), f64::from(digit.count))),
                None => scattered *= f64::from(digit.count),
            }
        }
        between.sort_by(|a, b| a.0.total_cmp(&b.0));
        Reach { starts, between, scattered, whole: site.whole }
    }
}

/// Where the lanes of a request are in an array.
pub(super) struct Reach {
    starts: Starts,
    /// Bytes from a lane to the next, ascending, and how many lanes are so far apart.
    between: Vec<(f64, f64)>,
    /// Lanes that are anywhere.
    scattered: f64,
    /// Bytes of the array.
    whole: f64,
}

impl Reach {
    /// Parts of memory of so many bytes that a request touches, on average over where it may start. Each lane asks for `size` bytes.
    pub(super) fn touched(&self, size: f64, bytes: u32) -> f64 {
        let bytes = f64::from(bytes);
        // Lanes whose places lie in one run, with no whole part between them, and how many runs there are.
        let (mut run, mut runs, mut apart) = (size, 1.0, common(self.starts.apart, bytes));
        for (between, count) in self.between.iter().copied() {
            if between < run + bytes {
                run += between * (count - 1.0);
            } else {
                runs *= count;
                apart = common(apart, between);
            }
        }
        if self.scattered > 1.0 {
            // All places of an array are as likely.
            let parts = (self.whole / bytes).ceil().max(1.0);
            runs *= parts * (1.0 - (1.0 - 1.0 / parts).powf(self.scattered));
        }
        // The mean over all starts: those of whole multiples follow from Hermite's identity.
        runs * (1.0 + ((self.starts.first % apart + run - 1.0) / apart).floor() * apart / bytes)
    }
}

/// So many lanes along iterators, the last of which is fastest: each takes as many as its range fills, and the first all that are left.
pub(super) fn along(iters: std::ops::Range<usize>, counts: &[f64], mut lanes: u32) -> Vec<Digit> {
    let mut digits = Vec::new();
    for iter in iters.clone().rev() {
        let filled = (counts[iter].max(1.0).min(f64::from(lanes)) as u32).next_power_of_two();
        let count = if iter == iters.start { lanes } else { filled.min(lanes) };
        // Where rows of an index are no multiple of that, warps begin anywhere in them.
        let is_even = iter == iters.start || counts[iter] % f64::from(count) == 0.0;
        digits.push(Digit { apart: if is_even { f64::from(count) } else { 1.0 }, ..Digit::next(iter, count) });
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
    use hidp_syntax::ordered::OrdSet;

    /// Parts of memory that lanes touch, one by one.
    fn counted(lanes: &Lanes, site: &SiteNumbers, (start, bytes): (i64, i64)) -> usize {
        let mut places = vec![start];
        for digit in &lanes.0 {
            let step = site.strides[digit.iter].unwrap() as i64;
            let at = |place: i64| (0..i64::from(digit.count)).map(move |lane| place + lane * step);
            places = places.into_iter().flat_map(at).collect();
        }
        let last = |first: i64| first + site.size as i64 - 1;
        let parts = places.into_iter().flat_map(|first| first.div_euclid(bytes)..=last(first).div_euclid(bytes));
        parts.collect::<OrdSet<i64>>().len()
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
                        let digit = |iter: usize| Digit::next(iter, counts[iter]);
                        for order in [[0, 1], [1, 0]] {
                            let lanes = Lanes(order.map(digit).to_vec());
                            for (bytes, first, apart) in
                                [(32, 0, 32), (128, 0, 128), (32, 16, 32), (128, 16, 32), (32, 0, 16)]
                            {
                                let starts = Starts { first: f64::from(first), apart: f64::from(apart) };
                                let found = lanes.reach(&site, starts).touched(site.size, bytes);
                                let all: Vec<i64> =
                                    (first..bytes as i32 + first).step_by(apart as usize).map(i64::from).collect();
                                let sum: usize =
                                    all.iter().map(|start| counted(&lanes, &site, (*start, i64::from(bytes)))).sum();
                                let which = format!(
                                    "{size} bytes, {counts:?} lanes by {near} and {far}, {order:?}, {bytes} from {first} by {apart}"
                                );
                                assert_eq!(found, sum as f64 / all.len() as f64, "{which}");
                            }
                        }
                    }
                }
            }
        }
    }
}
