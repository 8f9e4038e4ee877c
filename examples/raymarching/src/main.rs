//! Draws a scene of distance functions by sphere tracing, and says how long plain Rust takes for it.

mod plain;

use std::path::Path;

use anyhow::Result;
use hidp_std::Context;
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::raymarching::brightness;

const HEIGHT: usize = 720;
const WIDTH: usize = 1280;

/// Of the camera around the scene.
const TURN: f32 = 0.6;

fn main() -> Result<()> {
    let output = gallery::picture("raymarching", std::env::args().skip(1))?;
    let cx = Context::new()?;
    println!("{WIDTH} x {HEIGHT} pixels");
    let (mut light, mut expected) = (Array2::zeros((HEIGHT, WIDTH)), Array2::zeros((HEIGHT, WIDTH)));
    gallery::side_by_side(|| Ok(brightness(&cx, TURN, &mut light)?), || plain::brightness(TURN, &mut expected))?;
    write(&output, &light)?;
    println!("wrote {}", output.display());
    Ok(())
}

fn write(path: &Path, light: &Array2<f32>) -> Result<()> {
    let pixels: Vec<_> =
        light.iter().map(|&light| [255.0 * light, 250.0 * light, 240.0 * light].map(|c| c as u8)).collect();
    gallery::write_png(path, light.ncols(), &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rays that pass an edge closely may end before or behind it, depending on how sums are rounded.
    #[test]
    fn the_picture_is_that_of_plain_rust() {
        let cx = Context::new().unwrap();
        for (size, turn) in [((45, 80), TURN), ((33, 20), 2.9), ((1, 1), 0.0)] {
            let (mut light, mut expected) = (Array2::zeros(size), Array2::zeros(size));
            brightness(&cx, turn, &mut light).unwrap();
            plain::brightness(turn, &mut expected);
            let close = light.iter().zip(&expected).filter(|(a, b)| (*a - *b).abs() < 0.01).count();
            let differ = light.len() - close;
            assert!(differ * 50 <= light.len(), "{differ} of {} pixels", light.len());
        }
    }

    /// The ball is lit from above, the sky has no shadows, and the ball throws one.
    #[test]
    fn there_are_sky_light_and_shadow() {
        let mut light = Array2::zeros((180, 320));
        brightness(&Context::new().unwrap(), TURN, &mut light).unwrap();
        assert!(light.row(0).iter().all(|&sky| sky > 0.9), "the sky is dark");
        let below = |most: f32| light.iter().filter(|&&light| light < most).count();
        assert!(below(0.45) > 1000 && below(0.45) < light.len() / 3, "{} dark pixels", below(0.45));
        assert!(light.iter().all(|light| (0.0..=1.0).contains(light)));
    }
}
