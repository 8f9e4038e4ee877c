//! Lets a random board of the Game of Life go on, draws it, and says how long plain Rust takes for it.

use std::path::Path;

use anyhow::{Result, ensure};
use hidp_std::Context;
use ndarray::Array2;
use rayon::prelude::*;

hidp_std::include_kernels!();
use kernels::life::step;

/// Cells on a side.
const SIDE: usize = 2048;

const GENERATIONS: usize = 100;

fn main() -> Result<()> {
    let output = gallery::picture("life", std::env::args().skip(1))?;
    let cx = Context::new()?;
    let start = soup(SIDE, SIDE);
    println!("{SIDE} x {SIDE} cells, {GENERATIONS} generations");
    let (mut board, mut expected) = (start.clone(), start.clone());
    gallery::side_by_side(
        || {
            board.assign(&start);
            Ok(in_hidp(&cx, &mut board, GENERATIONS)?)
        },
        || {
            expected.assign(&start);
            in_plain_rust(&mut expected, GENERATIONS);
        },
    )?;
    ensure!(board == expected, "the boards of HiDP and of plain Rust differ");
    println!("{} cells live", board.iter().filter(|&&cell| cell == 1).count());
    write(&output, &board)?;
    println!("wrote {}", output.display());
    Ok(())
}

/// A quarter of the cells lives.
fn soup(height: usize, width: usize) -> Array2<u8> {
    let mut state = 1u64;
    Array2::from_shape_simple_fn((height, width), || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::from(state >> 33 & 3 == 0)
    })
}

fn in_hidp(cx: &Context, board: &mut Array2<u8>, generations: usize) -> hidp_std::Result {
    let mut next = Array2::zeros(board.dim());
    for _ in 0..generations {
        step(cx, &*board, &mut next)?;
        std::mem::swap(board, &mut next);
    }
    Ok(())
}

fn in_plain_rust(board: &mut Array2<u8>, generations: usize) {
    let (height, width) = board.dim();
    let mut next = Array2::zeros((height, width));
    for _ in 0..generations {
        let now = board.as_slice().expect("boards are contiguous");
        let rows = next.as_slice_mut().expect("boards are contiguous").par_chunks_mut(width).enumerate();
        rows.for_each(|(i, row): (usize, &mut [u8])| {
            let line = |i: usize| &now[i * width..][..width];
            let (above, here, below) = (line((i + height - 1) % height), line(i), line((i + 1) % height));
            for (j, cell) in row.iter_mut().enumerate() {
                let (left, right) = ((j + width - 1) % width, (j + 1) % width);
                let sides = above[left] + above[right] + here[left] + here[right] + below[left] + below[right];
                let neighbours = sides + above[j] + below[j];
                *cell = u8::from(neighbours == 3 || (neighbours == 2 && here[j] == 1));
            }
        });
        std::mem::swap(board, &mut next);
    }
}

fn write(path: &Path, board: &Array2<u8>) -> Result<()> {
    let pixels: Vec<_> = board.iter().map(|&cell| if cell == 1 { [250, 210, 90] } else { [16, 20, 38] }).collect();
    gallery::write_png(path, board.ncols(), &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(rows: &[&str]) -> Array2<u8> {
        let cells = rows.iter().flat_map(|row| row.bytes().map(|cell| u8::from(cell == b'#'))).collect();
        Array2::from_shape_vec((rows.len(), rows[0].len()), cells).unwrap()
    }

    fn after(mut board: Array2<u8>, generations: usize) -> Array2<u8> {
        in_hidp(&Context::new().unwrap(), &mut board, generations).unwrap();
        board
    }

    #[test]
    fn three_in_a_row_turn() {
        let flat = board(&[".....", ".....", ".###.", ".....", "....."]);
        let upright = board(&[".....", "..#..", "..#..", "..#..", "....."]);
        assert_eq!(after(flat.clone(), 1), upright);
        assert_eq!(after(flat.clone(), 2), flat);
    }

    /// A glider moves by one row and one column in four generations, across the edges too.
    #[test]
    fn a_glider_comes_back() {
        let mut start = Array2::zeros((9, 9));
        start.slice_mut(ndarray::s![6..9, 6..9]).assign(&board(&[".#.", "..#", "###"]));
        assert_ne!(after(start.clone(), 4), start);
        assert_eq!(after(start.clone(), 4 * 9), start);
    }

    #[test]
    fn boards_are_those_of_plain_rust() {
        for (height, width) in [(1, 1), (2, 3), (3, 64), (17, 100), (130, 259)] {
            let start = soup(height, width);
            let mut expected = start.clone();
            in_plain_rust(&mut expected, 5);
            assert_eq!(after(start, 5), expected, "{height} x {width}");
        }
    }
}
