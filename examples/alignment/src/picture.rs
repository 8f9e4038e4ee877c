//! The matrix of scores as a picture.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// The most pixels of a side.
const LARGEST: usize = 8192;

const PATH: [u8; 3] = [230, 60, 50];

/// Writes scores of `rows` by `columns` pairs of beginnings, light where they are high, with a line through these cells.
pub(crate) fn write(path: &Path, scores: &[i32], [rows, columns]: [usize; 2], line: &[[usize; 2]]) -> Result<()> {
    ensure!(
        rows.max(columns) <= LARGEST,
        "a picture of {rows} x {columns} cells is too large: sides have up to {LARGEST} pixels"
    );
    let (low, high) =
        scores.iter().fold((i32::MAX, i32::MIN), |(low, high), score| (low.min(*score), high.max(*score)));
    let shade = |score: &i32| {
        let part = (f64::from(*score) - f64::from(low)) / (f64::from(high) - f64::from(low)).max(1.0);
        [0.15, 0.25, 0.4].map(|dark: f64| (255.0 * (dark * (1.0 - part) + part)) as u8)
    };
    let mut pixels: Vec<[u8; 3]> = scores.iter().map(shade).collect();
    for [row, column] in line {
        pixels[row * columns + column] = PATH;
    }
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let side = |count: usize| u32::try_from(count).context("a side of the picture");
    let mut encoder = png::Encoder::new(BufWriter::new(file), side(columns)?, side(rows)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().with_context(|| format!("cannot write {}", path.display()))?;
    writer.write_image_data(pixels.as_flattened()).with_context(|| format!("cannot write {}", path.display()))
}
