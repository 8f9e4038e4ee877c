//! The vectors by hand of `peers/simulations.cpp`, behind safe functions.

use hidp_std::Isa;

/// Black-Scholes: calls, puts, prices, strikes, years, rate, volatility, options.
type Options<T> = unsafe extern "C" fn(*mut T, *mut T, *const T, *const T, *const T, T, T, i64);

mod raw {
    use super::Options;

    /// As at the end of `peers/simulations.cpp`.
    #[repr(C)]
    pub(super) struct Table {
        pub(super) raymarch: unsafe extern "C" fn(light: *mut f32, h: i64, w: i64),
        pub(super) neighbours:
            unsafe extern "C" fn(near: *mut i32, query: *const f32, point: *const f32, queries: i64, n: i64, d: i64),
        pub(super) inside: unsafe extern "C" fn(seed: u64, walks: i64, points: i32) -> i64,
        pub(super) boxes: unsafe extern "C" fn(
            out: *const *mut f32,
            of: *const *const f32,
            few: *const i32,
            near: *const i32,
            alpha: f32,
            count: i64,
            m: i64,
            n: i64,
        ),
        pub(super) particles: unsafe extern "C" fn(
            x: *mut f32,
            y: *mut f32,
            vx: *const f32,
            vy: *mut f32,
            dt: f32,
            width: f32,
            height: f32,
            n: i64,
        ),
        pub(super) options_f32: Option<Options<f32>>,
        pub(super) options_f64: Option<Options<f64>>,
    }

    unsafe extern "C" {
        pub(super) static peer_simulations_base: Table;
        #[cfg(target_arch = "x86_64")]
        pub(super) static peer_simulations_v2: Table;
        #[cfg(target_arch = "x86_64")]
        pub(super) static peer_simulations_v3: Table;
        #[cfg(target_arch = "x86_64")]
        pub(super) static peer_simulations_v4: Table;
    }
}

/// Vectors of one instruction set.
#[derive(Clone, Copy)]
pub struct Simulations(&'static raw::Table);

/// Prices, strikes and years of options.
pub type Terms<'a, T> = (&'a [T], &'a [T], &'a [T]);

impl Simulations {
    /// Those of the set that the kernels beside them run on, which this machine has.
    pub fn of(isa: Isa) -> Simulations {
        // SAFETY: the tables are constants.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            match isa {
                Isa::V4 => return Simulations(&raw::peer_simulations_v4),
                Isa::V3 => return Simulations(&raw::peer_simulations_v3),
                Isa::V2 => return Simulations(&raw::peer_simulations_v2),
                _ => {}
            }
            assert_eq!(isa, Isa::Base, "vectors by hand are not compiled for {isa}");
            Simulations(&raw::peer_simulations_base)
        }
    }

    /// A picture of `h` by `w` pixels.
    pub fn raymarch(self, light: &mut [f32], [h, w]: [usize; 2]) {
        assert_eq!(light.len(), h * w);
        // SAFETY: the length agrees.
        unsafe { (self.0.raymarch)(light.as_mut_ptr(), h as i64, w as i64) }
    }

    /// The 8 nearest points of each query, of at most 64 coordinates.
    pub fn neighbours(self, near: &mut [i32], query: &[f32], point: &[f32], d: usize) {
        let (queries, n) = (near.len() / 8, point.len() / d);
        assert!(d <= 64 && near.len() == queries * 8 && query.len() == queries * d && point.len() == n * d);
        let (out, sizes) = (near.as_mut_ptr(), [queries, n, d].map(|size| size as i64));
        // SAFETY: lengths agree; `near` is not aliased.
        unsafe { (self.0.neighbours)(out, query.as_ptr(), point.as_ptr(), sizes[0], sizes[1], sizes[2]) }
    }

    /// How many of `points` random points of each walk are inside of a circle.
    pub fn inside(self, seed: u64, walks: usize, points: i32) -> i64 {
        // SAFETY: it touches no memory.
        unsafe { (self.0.inside)(seed, walks as i64, points) }
    }

    /// Potentials and forces of particles, `n` a box, under those of `few[b]` boxes `near[b]`: from places and charges.
    pub fn boxes(self, out: [&mut [f32]; 4], of: [&[f32]; 4], few: &[i32], near: &[i32], alpha: f32) {
        let count = few.len();
        let (m, n) = (near.len() / count, of[0].len() / count);
        assert!(near.len() == m * count && few.iter().all(|few| (0..=m as i32).contains(few)));
        assert!(near.iter().all(|near| (0..count as i32).contains(near)));
        assert!(of.iter().all(|of| of.len() == n * count) && out.iter().all(|out| out.len() == n * count));
        let (out, of) = (out.map(<[f32]>::as_mut_ptr), of.map(<[f32]>::as_ptr));
        let sizes = [count, m, n].map(|size| size as i64);
        let [count, m, n] = sizes;
        // SAFETY: lengths and boxes agree; what is written is not aliased.
        unsafe { (self.0.boxes)(out.as_ptr(), of.as_ptr(), few.as_ptr(), near.as_ptr(), alpha, count, m, n) }
    }

    /// A step of particles: a multiple of 16 of them.
    pub fn particles(self, place: [&mut [f32]; 2], vx: &[f32], vy: &mut [f32], dt: f32, [width, height]: [f32; 2]) {
        let [x, y] = place;
        let n = x.len();
        assert!(n.is_multiple_of(16) && [y.len(), vx.len(), vy.len()] == [n; 3]);
        let (x, y, uy) = (x.as_mut_ptr(), y.as_mut_ptr(), vy.as_mut_ptr());
        // SAFETY: lengths agree; what is written is not aliased.
        unsafe { (self.0.particles)(x, y, vx.as_ptr(), uy, dt, width, height, n as i64) }
    }

    /// Calls and puts with SLEEF's functions, if it is there for these vectors.
    pub fn options_f32(self) -> Option<Priced<f32>> {
        self.0.options_f32.map(Priced)
    }

    /// The same in `f64`.
    pub fn options_f64(self) -> Option<Priced<f64>> {
        self.0.options_f64.map(Priced)
    }
}

/// Options priced with SLEEF's functions.
#[derive(Clone, Copy)]
pub struct Priced<T>(Options<T>);

impl<T> Priced<T> {
    /// Calls and puts of a multiple of 16 options.
    pub fn run(self, (call, put): (&mut [T], &mut [T]), (price, strike, years): Terms<'_, T>, rate: T, volatility: T) {
        let n = call.len();
        assert!(n.is_multiple_of(16) && [put.len(), price.len(), strike.len(), years.len()] == [n; 4]);
        let (call, put) = (call.as_mut_ptr(), put.as_mut_ptr());
        // SAFETY: lengths agree and are whole vectors; what is written is not aliased.
        unsafe { (self.0)(call, put, price.as_ptr(), strike.as_ptr(), years.as_ptr(), rate, volatility, n as i64) }
    }
}
