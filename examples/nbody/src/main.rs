//! Lets bodies move under each other's gravity, and says how long plain Rust takes for it.

use anyhow::Result;
use hidp_std::Context;
use rayon::prelude::*;

hidp_std::include_kernels!();
use kernels::nbody::{accelerate, drift, energy, kick};

const STEP: f32 = 1.0 / 256.0;
const STEPS: usize = 4;

/// Closer bodies than this do not pull much harder.
const SOFTENING: f32 = 0.05;

/// A vector for each body.
type Vectors = [Vec<f32>; 3];

#[derive(Clone)]
struct System {
    place: Vectors,
    velocity: Vectors,
    /// At the present places.
    acceleration: Vectors,
    mass: Vec<f32>,
}

impl System {
    /// A ball of bodies at rest, which together weigh 1.
    fn ball(count: usize) -> System {
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut place: Vectors = Default::default();
        while place[0].len() < count {
            let body = [uniform(), uniform(), uniform()];
            if body.iter().map(|v| v * v).sum::<f32>() <= 1.0 {
                place.iter_mut().zip(body).for_each(|(axis, v)| axis.push(v));
            }
        }
        let zeros = || [(); 3].map(|()| vec![0.0; count]);
        System { place, velocity: zeros(), acceleration: zeros(), mass: vec![1.0 / count.max(1) as f32; count] }
    }

    fn pull(&mut self, cx: &Context) -> hidp_std::Result {
        let ([x, y, z], [ax, ay, az]) = (&self.place, &mut self.acceleration);
        accelerate(cx, x, y, z, &self.mass, SOFTENING, ax, ay, az)
    }

    /// Steps of velocity Verlet.
    fn advance(&mut self, cx: &Context, steps: usize) -> hidp_std::Result {
        self.pull(cx)?;
        for _ in 0..steps {
            let ([x, y, z], [vx, vy, vz], [ax, ay, az]) = (&mut self.place, &mut self.velocity, &self.acceleration);
            drift(cx, ax, ay, az, STEP, x, y, z, vx, vy, vz)?;
            self.pull(cx)?;
            let ([vx, vy, vz], [ax, ay, az]) = (&mut self.velocity, &self.acceleration);
            kick(cx, ax, ay, az, STEP, vx, vy, vz)?;
        }
        Ok(())
    }

    fn energy(&self, cx: &Context) -> hidp_std::Result<f64> {
        let ([x, y, z], [vx, vy, vz]) = (&self.place, &self.velocity);
        energy(cx, x, y, z, vx, vy, vz, &self.mass, SOFTENING)
    }

    fn pull_in_plain_rust(&mut self) {
        let ([x, y, z], mass) = (&self.place, &self.mass);
        let [ax, ay, az] = &mut self.acceleration;
        ax.par_iter_mut().zip(ay).zip(az).enumerate().for_each(|(i, ((ax, ay), az))| {
            (*ax, *ay, *az) = (0.0, 0.0, 0.0);
            for j in 0..mass.len() {
                let (dx, dy, dz) = (x[j] - x[i], y[j] - y[i], z[j] - z[i]);
                let squared = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING;
                let pull = mass[j] / (squared * squared.sqrt());
                *ax += pull * dx;
                *ay += pull * dy;
                *az += pull * dz;
            }
        });
    }

    fn advance_in_plain_rust(&mut self, steps: usize) {
        self.pull_in_plain_rust();
        for _ in 0..steps {
            self.kick_in_plain_rust();
            for (place, velocity) in self.place.iter_mut().zip(&self.velocity) {
                place.iter_mut().zip(velocity).for_each(|(place, velocity)| *place += STEP * velocity);
            }
            self.pull_in_plain_rust();
            self.kick_in_plain_rust();
        }
    }

    fn kick_in_plain_rust(&mut self) {
        for (velocity, acceleration) in self.velocity.iter_mut().zip(&self.acceleration) {
            velocity.iter_mut().zip(acceleration).for_each(|(velocity, a)| *velocity += 0.5 * STEP * a);
        }
    }
}

fn main() -> Result<()> {
    let count = gallery::count("nbody", "bodies", 8192, 1 << 20, std::env::args().skip(1))?;
    let cx = Context::new()?;
    let start = System::ball(count);
    println!("{count} bodies, {STEPS} steps");
    let (mut system, mut expected) = (start.clone(), start.clone());
    gallery::side_by_side(
        || {
            system.clone_from(&start);
            Ok(system.advance(&cx, STEPS)?)
        },
        || {
            expected.clone_from(&start);
            expected.advance_in_plain_rust(STEPS);
        },
    )?;
    let (before, after) = (start.energy(&cx)?, system.energy(&cx)?);
    println!("energy      {before:.6} before, {after:.6} after");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bodies_fall_toward_each_other() {
        let cx = Context::new().unwrap();
        let mut two = System::ball(2);
        two.place = [vec![0.0, 3.0], vec![0.0, 4.0], vec![0.0, 0.0]];
        two.mass = vec![2.0, 5.0];
        two.pull(&cx).unwrap();
        // Mass over the square of the distance, 5, along (3, 4) / 5; softening takes a ten-thousandth.
        let expected = [[5.0 / 25.0 * 0.6, -2.0 / 25.0 * 0.6], [5.0 / 25.0 * 0.8, -2.0 / 25.0 * 0.8], [0.0, 0.0]];
        for (axis, expected) in two.acceleration.iter().zip(expected) {
            for (found, expected) in axis.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-4, "{:?}", two.acceleration);
            }
        }
    }

    #[test]
    fn places_are_those_of_plain_rust() {
        let cx = Context::new().unwrap();
        for count in [0, 1, 2, 65, 700] {
            let mut found = System::ball(count);
            let mut expected = found.clone();
            found.advance(&cx, 6).unwrap();
            expected.advance_in_plain_rust(6);
            for (found, expected) in found.place.iter().flatten().zip(expected.place.iter().flatten()) {
                assert!((found - expected).abs() < 1e-5, "{count} bodies: {found} {expected}");
            }
        }
    }

    #[test]
    fn energy_and_momentum_stay() {
        let cx = Context::new().unwrap();
        let mut system = System::ball(500);
        let before = system.energy(&cx).unwrap();
        system.advance(&cx, 100).unwrap();
        let after = system.energy(&cx).unwrap();
        assert!(before < 0.0 && (after - before).abs() < 2e-3 * before.abs(), "{before} {after}");
        for axis in &system.velocity {
            let momentum = axis.iter().map(|&v| f64::from(v) / 500.0).sum::<f64>();
            assert!(momentum.abs() < 1e-5, "{momentum}");
        }
        assert!(system.velocity[0].iter().any(|v| v.abs() > 0.1), "nothing has moved");
    }
}
