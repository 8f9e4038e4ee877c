//! What calls take. In tests the clock is moved by what runs, not by the machine: load does not change what they find.

#[cfg(not(test))]
pub(super) use real::Stopwatch;
#[cfg(test)]
pub(super) use simulated::{Stopwatch, pass, seed};

#[cfg(not(test))]
mod real {
    use std::time::Instant;

    pub(in super::super) struct Stopwatch(Instant);

    impl Stopwatch {
        pub(in super::super) fn start() -> Self {
            Self(Instant::now())
        }

        pub(in super::super) fn seconds(&self) -> f64 {
            self.0.elapsed().as_secs_f64()
        }
    }
}

#[cfg(test)]
mod simulated {
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<f64> = const { Cell::new(0.0) };
        static NOISE: Cell<u64> = const { Cell::new(1) };
    }

    pub(in super::super) struct Stopwatch(f64);

    impl Stopwatch {
        pub(in super::super) fn start() -> Self {
            Self(NOW.get())
        }

        pub(in super::super) fn seconds(&self) -> f64 {
            NOW.get() - self.0
        }
    }

    /// Other noise from here on.
    pub(in super::super) fn seed(seed: u64) {
        NOISE.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    }

    /// Moves this thread's clock as on a busy machine: calls take up to 3 % longer, and twice as long once in 16 times.
    pub(in super::super) fn pass(microseconds: u64) {
        let mut noise = NOISE.get();
        // Marsaglia 2003, Xorshift RNGs.
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        NOISE.set(noise);
        let disturbed = if noise >> 60 == 0 { 2.0 } else { 1.0 + 0.03 * ((noise >> 32) & 0xff) as f64 / 256.0 };
        NOW.set(NOW.get() + microseconds as f64 * 1e-6 * disturbed);
    }
}
