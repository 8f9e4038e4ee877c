//! The vectors by hand of `peers/lanes.cpp`, behind safe functions.

use hidp_std::Isa;

use super::forward_by;

mod raw {
    /// As at the end of `peers/lanes.cpp`.
    #[repr(C)]
    pub(super) struct Table {
        pub(super) mandelbrot:
            unsafe extern "C" fn(turns: *mut i32, x0: f32, dx: f32, y0: f32, dy: f32, most: i32, h: i64, w: i64),
        pub(super) binomial: unsafe extern "C" fn(
            value: *mut f32,
            price: *const f32,
            strike: *const f32,
            up: f32,
            down: f32,
            chance: f32,
            discount: f32,
            n: i64,
        ),
        pub(super) nearest:
            unsafe extern "C" fn(cluster: *mut i32, point: *const f32, centre: *const f32, n: i64, d: i64, k: i64),
        pub(super) edit_rows:
            unsafe extern "C" fn(distance: *mut i32, a: *const u8, b: *const u8, pairs: i64, n: i64, m: i64),
        pub(super) forward_rows: super::super::Forward,
        pub(super) black_scholes: unsafe extern "C" fn(
            call: *mut f32,
            put: *mut f32,
            price: *const f32,
            strike: *const f32,
            years: *const f32,
            rate: f32,
            volatility: f32,
            n: i64,
        ),
    }

    unsafe extern "C" {
        pub(super) static peer_lanes_base: Table;
        #[cfg(target_arch = "x86_64")]
        pub(super) static peer_lanes_v2: Table;
        #[cfg(target_arch = "x86_64")]
        pub(super) static peer_lanes_v3: Table;
        #[cfg(target_arch = "x86_64")]
        pub(super) static peer_lanes_v4: Table;
    }
}

/// Vectors of one instruction set.
#[derive(Clone, Copy)]
pub struct Lanes(&'static raw::Table);

impl Lanes {
    /// Those of the set that the kernels beside them run on, which this machine has.
    pub fn of(isa: Isa) -> Lanes {
        // SAFETY: the tables are constants.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            match isa {
                Isa::V4 => return Lanes(&raw::peer_lanes_v4),
                Isa::V3 => return Lanes(&raw::peer_lanes_v3),
                Isa::V2 => return Lanes(&raw::peer_lanes_v2),
                _ => {}
            }
            assert_eq!(isa, Isa::Base, "vectors by hand are not compiled for {isa}");
            Lanes(&raw::peer_lanes_base)
        }
    }

    /// Turns before each point of a grid leaves: its corner and distances, and turns at most.
    pub fn mandelbrot(self, turns: &mut [i32], (x0, dx, y0, dy, most): (f32, f32, f32, f32, i32), [h, w]: [usize; 2]) {
        assert_eq!(turns.len(), h * w);
        // SAFETY: the length agrees.
        unsafe { (self.0.mandelbrot)(turns.as_mut_ptr(), x0, dx, y0, dy, most, h as i64, w as i64) }
    }

    /// American puts by a tree of 64 steps: up, down, chance of up, discount.
    pub fn binomial(
        self,
        value: &mut [f32],
        price: &[f32],
        strike: &[f32],
        (up, down, chance, discount): (f32, f32, f32, f32),
    ) {
        assert!(value.len() == price.len() && value.len() == strike.len());
        let (out, n) = (value.as_mut_ptr(), value.len() as i64);
        // SAFETY: lengths agree; `value` is not aliased.
        unsafe { (self.0.binomial)(out, price.as_ptr(), strike.as_ptr(), up, down, chance, discount, n) }
    }

    /// The nearest centre of each point, of at most 128 coordinates.
    pub fn nearest(self, cluster: &mut [i32], point: &[f32], centre: &[f32], d: usize) {
        let (n, k) = (cluster.len(), centre.len() / d);
        assert!(d <= 128 && point.len() == n * d && centre.len() == k * d);
        let (out, d) = (cluster.as_mut_ptr(), d as i64);
        // SAFETY: lengths agree; `cluster` is not aliased.
        unsafe { (self.0.nearest)(out, point.as_ptr(), centre.as_ptr(), n as i64, d, k as i64) }
    }

    /// Edit distances of pairs of rows of `n` and `m` letters, with a row of the table at a time.
    pub fn edit_rows(self, distance: &mut [i32], a: &[u8], b: &[u8], [n, m]: [usize; 2]) {
        assert!(a.len() == distance.len() * n && b.len() == distance.len() * m && n <= 256 && m <= 256);
        let (n, m) = (n as i64, m as i64);
        // SAFETY: lengths agree, and are as the peer needs them.
        unsafe { (self.0.edit_rows)(distance.as_mut_ptr(), a.as_ptr(), b.as_ptr(), distance.len() as i64, n, m) }
    }

    /// Likelihoods of rows of `x` under a hidden Markov model.
    pub fn forward_rows(self, likelihood: &mut [f32], model: [&[f32]; 3], x: &[u8]) {
        forward_by(self.0.forward_rows, likelihood, model, x);
    }

    /// Calls and puts by prices, strikes and years.
    pub fn black_scholes(
        self,
        out: (&mut [f32], &mut [f32]),
        of: (&[f32], &[f32], &[f32]),
        rate: f32,
        volatility: f32,
    ) {
        let n = out.0.len();
        assert!([out.1.len(), of.0.len(), of.1.len(), of.2.len()].iter().all(|len| *len == n));
        let (call, put) = (out.0.as_mut_ptr(), out.1.as_mut_ptr());
        let (price, strike, years) = (of.0.as_ptr(), of.1.as_ptr(), of.2.as_ptr());
        // SAFETY: lengths agree; nothing is aliased.
        unsafe { (self.0.black_scholes)(call, put, price, strike, years, rate, volatility, n as i64) }
    }
}
