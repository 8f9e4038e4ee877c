//! Points as a picture.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result};
use ndarray::Array2;

/// Pixels in a row and in a column.
pub(crate) const SIZE: usize = 720;

const BACKGROUND: [u8; 3] = [14, 16, 24];

/// Writes the points of the unit square, coloured by cluster, and white crosses for the centres.
pub(crate) fn write(path: &Path, point: &Array2<f32>, cluster: &[i32], centre: &Array2<f32>) -> Result<()> {
    let mut pixels = vec![BACKGROUND; SIZE * SIZE];
    for (place, &cluster) in point.rows().into_iter().zip(cluster) {
        dot(&mut pixels, place[0], place[1], 0, 0, colour(cluster));
    }
    for place in centre.rows() {
        for offset in -6..=6 {
            dot(&mut pixels, place[0], place[1], offset, 0, [255; 3]);
            dot(&mut pixels, place[0], place[1], 0, offset, [255; 3]);
        }
    }
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), SIZE as u32, SIZE as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().with_context(|| format!("cannot write {}", path.display()))?;
    writer.write_image_data(pixels.as_flattened()).with_context(|| format!("cannot write {}", path.display()))
}

fn dot(pixels: &mut [[u8; 3]], x: f32, y: f32, dx: isize, dy: isize, colour: [u8; 3]) {
    let at = |place: f32, offset: isize| (place * SIZE as f32) as isize + offset;
    let (x, y) = (at(x, dx), at(y, dy));
    let inside = 0..SIZE as isize;
    if inside.contains(&x) && inside.contains(&y) {
        pixels[y as usize * SIZE + x as usize] = colour;
    }
}

/// Hues that lie far apart for neighbouring numbers.
fn colour(cluster: i32) -> [u8; 3] {
    let hue = (cluster as f32 * 0.618_034).fract() * std::f32::consts::TAU;
    [0.0, 2.1, 4.2].map(|shift: f32| (150.0 + 100.0 * (hue + shift).cos()) as u8)
}
