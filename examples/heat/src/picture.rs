//! Temperatures as a picture.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result};
use ndarray::Array2;

/// Colours from cold to hot; values between are interpolated.
const PALETTE: [[f32; 3]; 5] =
    [[8.0, 10.0, 40.0], [88.0, 20.0, 110.0], [200.0, 50.0, 70.0], [250.0, 150.0, 30.0], [255.0, 250.0, 200.0]];

/// Writes temperatures from 0 to 1 as a PNG, one pixel a point.
pub(crate) fn write(path: &Path, u: &Array2<f32>) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), u.ncols() as u32, u.nrows() as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = u.iter().flat_map(|&value| colour(value)).collect();
    let mut writer = encoder.write_header().with_context(|| format!("cannot write {}", path.display()))?;
    writer.write_image_data(&pixels).with_context(|| format!("cannot write {}", path.display()))
}

fn colour(value: f32) -> [u8; 3] {
    let position = value.clamp(0.0, 1.0).sqrt() * (PALETTE.len() - 1) as f32;
    let below = (position as usize).min(PALETTE.len() - 2);
    let part = position - below as f32;
    std::array::from_fn(|channel| {
        let (low, high) = (PALETTE[below][channel], PALETTE[below + 1][channel]);
        (low + part * (high - low)) as u8
    })
}
