//! Draws the Mandelbrot set, and says how long plain Rust takes for it.

use std::path::Path;

use anyhow::Result;
use hidp_std::Context;
use ndarray::Array2;
use rayon::prelude::*;

hidp_std::include_kernels!();
use kernels::mandelbrot::turns;

/// What is drawn: a part of the plane in pixels.
struct View {
    left: f32,
    top: f32,
    /// From one pixel to the next.
    step: f32,
    height: usize,
    width: usize,
    /// Points that stay for so many turns count as points of the set.
    most: i32,
}

const WHOLE: View = View { left: -2.25, top: -1.125, step: 3.0 / 1600.0, height: 1200, width: 1600, most: 1000 };

fn main() -> Result<()> {
    let output = gallery::picture("mandelbrot", std::env::args().skip(1))?;
    let cx = Context::new()?;
    let view = WHOLE;
    println!("{} x {} pixels, at most {} turns", view.width, view.height, view.most);
    let mut found = Array2::zeros((view.height, view.width));
    let mut expected = vec![0; view.height * view.width];
    gallery::side_by_side(|| Ok(draw(&cx, &view, &mut found)?), || in_plain_rust(&view, &mut expected))?;
    write(&output, &view, &found)?;
    println!("wrote {}", output.display());
    Ok(())
}

fn draw(cx: &Context, view: &View, found: &mut Array2<i32>) -> hidp_std::Result {
    turns(cx, view.left, view.top, view.step, view.most, found)
}

fn in_plain_rust(view: &View, turns: &mut [i32]) {
    turns.par_chunks_mut(view.width).enumerate().for_each(|(i, row)| {
        for (j, turns) in row.iter_mut().enumerate() {
            let (cx, cy) = (view.left + j as f32 * view.step, view.top + i as f32 * view.step);
            let (mut x, mut y, mut k) = (0.0f32, 0.0f32, 0);
            while k < view.most && x * x + y * y <= 4.0 {
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                k += 1;
            }
            *turns = k;
        }
    });
}

fn write(path: &Path, view: &View, turns: &Array2<i32>) -> Result<()> {
    let pixels: Vec<_> = turns.iter().map(|&k| if k == view.most { [0; 3] } else { colour(k) }).collect();
    gallery::write_png(path, view.width, &pixels)
}

/// From dark blue over white and gold back to blue, slower the later a point leaves.
fn colour(turns: i32) -> [u8; 3] {
    let phase = 0.9 * (turns as f32).sqrt();
    [3.3, 2.9, 2.4].map(|shift: f32| (127.5 - 127.5 * (phase + shift - 2.4).cos()) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: View = View { left: -2.25, top: -1.125, step: 3.0 / 203.0, height: 151, width: 203, most: 300 };

    /// Points of the main cardioid and of the disc left of it never leave (both have a formula); outside of the circle of radius 2 they leave at once.
    #[test]
    fn points_that_are_known_stay_or_leave() {
        let mut found = Array2::zeros((SMALL.height, SMALL.width));
        draw(&Context::new().unwrap(), &SMALL, &mut found).unwrap();
        let (mut stay, mut leave) = (0, 0);
        for ((i, j), &turns) in found.indexed_iter() {
            let x = f64::from(SMALL.left) + j as f64 * f64::from(SMALL.step);
            let y = f64::from(SMALL.top) + i as f64 * f64::from(SMALL.step);
            let q = (x - 0.25).powi(2) + y * y;
            if q * (q + (x - 0.25)) < 0.249 * y * y || (x + 1.0).powi(2) + y * y < 0.062 {
                assert_eq!(turns, SMALL.most, "{x} {y}");
                stay += 1;
            }
            if x * x + y * y > 4.001 {
                assert_eq!(turns, 1, "{x} {y}");
                leave += 1;
            }
        }
        assert!(stay > 5000 && leave > 2000, "{stay} {leave}");
    }

    /// Sums and products may be rounded once here and twice there, which moves the turn at which a point leaves; by far most agree.
    #[test]
    fn most_pixels_are_those_of_plain_rust() {
        let mut found = Array2::zeros((SMALL.height, SMALL.width));
        draw(&Context::new().unwrap(), &SMALL, &mut found).unwrap();
        let mut expected = vec![0; SMALL.height * SMALL.width];
        in_plain_rust(&SMALL, &mut expected);
        let differ = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
        assert!(differ * 100 < expected.len(), "{differ} of {}", expected.len());
    }

    #[test]
    fn the_picture_has_black_for_the_set_alone() {
        assert!((1..WHOLE.most).all(|turns| colour(turns) != [0; 3]));
    }
}
