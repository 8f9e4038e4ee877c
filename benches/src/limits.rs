//! The machine's limits, measured in the same round as what is compared with them.

use std::time::Instant;

use crate::buffer::Buffer;
use crate::{Limit, peers};

/// Elements of each of the three arrays: 256 MiB, well beyond any cache.
const STREAM_LENGTH: usize = 1 << 26;

/// Arrays for the bandwidth measurements.
pub struct Meter {
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new()
    }
}

impl Meter {
    /// Allocates and touches the arrays.
    pub fn new() -> Meter {
        let fill = || Buffer::from_fn(STREAM_LENGTH, |index| (index % 7) as f32);
        // The streaming triad needs 64-byte alignment, which every buffer has.
        Meter { a: fill(), b: fill(), c: fill() }
    }

    /// The rate that bounds a case now, in bytes or operations per second.
    pub fn rate(&mut self, limit: Limit) -> Option<f64> {
        match limit {
            Limit::Read(_) => Some(self.read()),
            Limit::Stream(_) => Some(self.stream()),
            Limit::Flops(_) => Some(flops()),
            Limit::DoubleFlops(_) => Some(flops() / 2.0),
            Limit::Cells(_) => None,
        }
    }

    fn read(&mut self) -> f64 {
        let seconds = time(|| {
            std::hint::black_box(peers::read(&self.a) + peers::read(&self.b) + peers::read(&self.c));
        });
        (3 * 4 * STREAM_LENGTH) as f64 / seconds
    }

    fn stream(&mut self) -> f64 {
        let seconds = time(|| peers::triad_stream(&mut self.a, &self.b, &self.c, 3.0));
        (3 * 4 * STREAM_LENGTH) as f64 / seconds
    }
}

fn flops() -> f64 {
    let mut operations = 0.0;
    let seconds = time(|| operations = peers::fma(2_000_000));
    operations / seconds
}

/// Seconds that `work` takes.
pub fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}
