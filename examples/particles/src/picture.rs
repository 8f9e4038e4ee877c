//! Particles as an animated PNG.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result};
use ndarray::Array2;

/// Pixels in a row and in a column.
const SIZE: usize = 400;

const BACKGROUND: [u8; 3] = [14, 16, 24];

/// A picture that is being written.
pub(crate) struct Film {
    writer: png::Writer<BufWriter<File>>,
}

impl Film {
    pub(crate) fn create(path: &Path, frames: usize) -> Result<Film> {
        let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut encoder = png::Encoder::new(BufWriter::new(file), SIZE as u32, SIZE as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_animated(frames as u32, 0)?;
        encoder.set_frame_delay(1, 30)?;
        Ok(Film { writer: encoder.write_header()? })
    }

    /// Adds a picture of discs, coloured by speed; y points up.
    pub(crate) fn frame(&mut self, position: &Array2<f32>, velocity: &Array2<f32>, radius: f32) -> Result<()> {
        let mut pixels = vec![BACKGROUND; SIZE * SIZE];
        for (place, velocity) in position.rows().into_iter().zip(velocity.rows()) {
            disc(&mut pixels, [place[0], 1.0 - place[1]], radius, colour(velocity[0].hypot(velocity[1])));
        }
        self.writer.write_image_data(pixels.as_flattened()).context("cannot write a frame")
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.writer.finish().context("cannot finish the picture")
    }
}

fn disc(pixels: &mut [[u8; 3]], centre: [f32; 2], radius: f32, colour: [u8; 3]) {
    let [x, y] = centre.map(|place| place * SIZE as f32);
    let radius = (radius * SIZE as f32).max(0.6);
    let range = |middle: f32| {
        let low = (middle - radius).floor().max(0.0) as usize;
        low..((middle + radius).ceil().max(0.0) as usize + 1).min(SIZE)
    };
    for row in range(y) {
        for column in range(x) {
            if (column as f32 + 0.5 - x).hypot(row as f32 + 0.5 - y) <= radius {
                pixels[row * SIZE + column] = colour;
            }
        }
    }
}

/// From blue, at rest, over violet to yellow.
fn colour(speed: f32) -> [u8; 3] {
    let heat = (speed / 3.0).min(1.0);
    [60.0 + 195.0 * heat.sqrt(), 90.0 + 140.0 * heat * heat, 220.0 - 160.0 * heat].map(|channel| channel as u8)
}
