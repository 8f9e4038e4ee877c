//! Hot shapes cool down: solves the heat equation in two dimensions and writes a picture.

mod picture;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use hidp_std::Context;
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::heat::diffuse;

const USAGE: &str = "usage: heat [--size N] [--steps N] [--output FILE.png]   (default 512, 2000, heat.png)";

struct Options {
    size: usize,
    steps: i32,
    output: PathBuf,
}

fn main() -> Result<()> {
    let options = parse_arguments(std::env::args().skip(1))?;
    let cx = Context::new()?;
    let mut u = initial(options.size);
    let start = Instant::now();
    diffuse(&cx, 0.24, options.steps, &mut u)?;
    let seconds = start.elapsed().as_secs_f64();
    picture::write(&options.output, &u)?;
    let updates = options.steps as f64 * (u.len() as f64);
    println!(
        "{} x {0}, {} steps: {seconds:.3} s, {:.0} million points/s",
        options.size,
        options.steps,
        updates / seconds / 1e6
    );
    println!("wrote {}", options.output.display());
    Ok(())
}

/// A hot ring and a hot bar between cold edges, from 0 to 1.
fn initial(size: usize) -> Array2<f32> {
    Array2::from_shape_fn((size, size), |(y, x)| {
        let (fx, fy) = (x as f32 / size as f32 - 0.5, y as f32 / size as f32 - 0.5);
        let radius = fx.hypot(fy);
        let ring = (0.28..0.36).contains(&radius);
        let bar = fx.abs() < 0.14 && fy.abs() < 0.03;
        if ring || bar { 1.0 } else { 0.0 }
    })
}

fn parse_arguments(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { size: 512, steps: 2000, output: "heat.png".into() };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            "--size" => options.size = value()?.parse().context("--size needs a count of points")?,
            "--steps" => options.steps = value()?.parse().context("--steps needs a count")?,
            "--output" => options.output = value()?.into(),
            _ => bail!("there is no option `{word}`\n{USAGE}"),
        }
    }
    if !(1..=16384).contains(&options.size) || options.steps < 0 {
        bail!("the size must lie between 1 and 16384, the number of steps must not be negative\n{USAGE}");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_loop() {
        let cx = Context::new().unwrap();
        for size in [1, 2, 3, 17, 64] {
            let mut u = initial(size);
            let mut expected = u.clone();
            diffuse(&cx, 0.2, 5, &mut u).unwrap();
            for _ in 0..5 {
                let old = expected.clone();
                for y in 1..size.saturating_sub(1) {
                    for x in 1..size - 1 {
                        let around = old[[y - 1, x]] + old[[y + 1, x]] + old[[y, x - 1]] + old[[y, x + 1]];
                        expected[[y, x]] = old[[y, x]] + 0.2 * (around - 4.0 * old[[y, x]]);
                    }
                }
            }
            let difference = (&u - &expected).iter().fold(0.0, |a: f32, d| a.max(d.abs()));
            assert!(difference < 1e-5, "size {size}: {difference}");
        }
    }

    #[test]
    fn the_picture_is_a_png_of_the_right_size() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.png");
        picture::write(&file, &initial(33)).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).unwrap()));
        let reader = decoder.read_info().unwrap();
        assert_eq!(reader.info().size(), (33, 33));
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let error =
            |words: &[&str]| format!("{:#}", parse_arguments(words.iter().map(|w| w.to_string())).err().unwrap());
        assert!(error(&["--size", "0"]).contains("between 1 and 16384"));
        assert!(error(&["--sise", "3"]).contains("usage: heat"));
    }
}
