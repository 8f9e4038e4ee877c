//! Colliding particles fall into a box: a simulation in HiDP, written as an animated picture.

mod picture;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use hidp_std::Context;
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::particles::step;

const USAGE: &str = "usage: particles [--count N] [--frames F] [--output FILE.png]   (default 4000, 60, particles.png)";

/// Simulated time of one step, and steps between pictures.
const STEP: f32 = 0.0005;
const STEPS_PER_FRAME: usize = 40;

struct Options {
    count: usize,
    frames: usize,
    output: PathBuf,
}

/// Particles in the unit square.
struct Box2 {
    position: Array2<f32>,
    velocity: Array2<f32>,
    radius: f32,
    gravity: f32,
    /// How much of its speed a particle keeps at a wall.
    damping: f32,
}

impl Box2 {
    fn advance(&mut self, cx: &Context, steps: usize) -> hidp_std::Result {
        let side = ((0.5 / self.radius) as i32).max(1);
        for _ in 0..steps {
            let (position, velocity) = (&mut self.position, &mut self.velocity);
            step(cx, position, velocity, STEP, self.radius, 400_000.0, self.damping, self.gravity, side)?;
        }
        Ok(())
    }

    /// The sum of all velocities; all particles have one mass.
    #[cfg(test)]
    fn momentum(&self) -> [f64; 2] {
        [0, 1].map(|d| self.velocity.index_axis(ndarray::Axis(1), d).iter().map(|&v| f64::from(v)).sum())
    }

    fn all_inside(&self) -> bool {
        self.position.iter().all(|p| (0.0..=1.0).contains(p)) && self.velocity.iter().all(|v| v.is_finite())
    }
}

fn main() -> Result<()> {
    let options = parse_arguments(std::env::args().skip(1))?;
    let cx = Context::new()?;
    let mut particles = block(options.count);
    let mut film = picture::Film::create(&options.output, options.frames)?;
    let start = Instant::now();
    for _ in 0..options.frames {
        particles.advance(&cx, STEPS_PER_FRAME)?;
        film.frame(&particles.position, &particles.velocity, particles.radius)?;
    }
    film.finish()?;
    let (seconds, steps) = (start.elapsed().as_secs_f64(), options.frames * STEPS_PER_FRAME);
    ensure!(particles.all_inside(), "particles left the box");
    println!("{} particles, {steps} steps: {seconds:.3} s with pictures", options.count);
    println!("wrote {}", options.output.display());
    Ok(())
}

/// A tilted block of particles above the floor, not quite regular, falling.
fn block(count: usize) -> Box2 {
    let columns = (count as f32).sqrt().ceil().max(1.0);
    let radius = 0.24 / columns;
    let place = |i: usize, d: usize| {
        let (x, y) = ((i as f32 % columns) / columns, (i as f32 / columns).floor() / columns);
        let shaken = ((i * 7919 + d * 104_729) % 1000) as f32 * 1e-6;
        if d == 0 { 0.12 + 0.5 * x + 0.16 * y + shaken } else { 0.3 + 0.5 * y + 0.12 * x + shaken }
    };
    let position = Array2::from_shape_fn((count, 2), |(i, d)| place(i, d));
    Box2 { position, velocity: Array2::zeros((count, 2)), radius, gravity: 6.0, damping: 0.6 }
}

fn parse_arguments(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { count: 4000, frames: 60, output: "particles.png".into() };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            "--count" => options.count = value()?.parse().context("--count needs a number")?,
            "--frames" => options.frames = value()?.parse().context("--frames needs a number")?,
            "--output" => options.output = value()?.into(),
            _ => bail!("there is no option `{word}`\n{USAGE}"),
        }
    }
    if !(1..=1_000_000).contains(&options.count) || !(1..=10_000).contains(&options.frames) {
        bail!("from 1 to 1000000 particles and from 1 to 10000 frames\n{USAGE}");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two clouds that fly into each other, far from walls, without gravity and losses.
    fn collision(count: usize) -> Box2 {
        let mut particles = block(count);
        particles.position.mapv_inplace(|p| 0.3 + 0.4 * p);
        particles.radius *= 0.4;
        (particles.gravity, particles.damping) = (0.0, 1.0);
        for (mut velocity, position) in particles.velocity.rows_mut().into_iter().zip(particles.position.rows()) {
            velocity[0] = if position[0] < 0.5 { 1.0 } else { -1.0 };
            velocity[1] = 0.1;
        }
        particles
    }

    #[test]
    fn collisions_keep_momentum() {
        let cx = Context::new().unwrap();
        for count in [1, 2, 30, 1000] {
            let mut particles = collision(count);
            let (before, speeds) = (particles.momentum(), particles.velocity.clone());
            particles.advance(&cx, 200).unwrap();
            let after = particles.momentum();
            assert!(particles.all_inside());
            for d in 0..2 {
                assert!((before[d] - after[d]).abs() < 1e-4 * count as f64, "{count}: {before:?} became {after:?}");
            }
            assert!(count < 30 || particles.velocity != speeds, "nothing collided");
        }
    }

    #[test]
    fn particles_fall_and_stay_in_the_box() {
        let cx = Context::new().unwrap();
        let mut particles = block(300);
        let height = |particles: &Box2| particles.position.column(1).sum() / 300.0;
        let before = height(&particles);
        particles.advance(&cx, 1500).unwrap();
        assert!(particles.all_inside() && height(&particles) < before - 0.1, "{} after {before}", height(&particles));
    }

    #[test]
    fn the_film_has_its_frames() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.png");
        let particles = block(10);
        let mut film = picture::Film::create(&file, 3).unwrap();
        for _ in 0..3 {
            film.frame(&particles.position, &particles.velocity, particles.radius).unwrap();
        }
        film.finish().unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).unwrap()));
        let reader = decoder.read_info().unwrap();
        assert_eq!(reader.info().animation_control.map(|control| control.num_frames), Some(3));
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let error =
            |words: &[&str]| format!("{:#}", parse_arguments(words.iter().map(|w| w.to_string())).err().unwrap());
        assert!(error(&["--count", "0"]).contains("from 1 to 1000000"));
        assert!(error(&["--frame", "3"]).contains("usage: particles"));
    }
}
