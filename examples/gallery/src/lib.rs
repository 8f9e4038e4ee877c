//! What the examples that compare themselves with plain Rust have in common: their argument, times side by side, and pictures.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

const ROUNDS: usize = 7;

/// How many `things` an example works on: its only argument, if there is one.
///
/// # Errors
/// Where there are more arguments than one, or it is no number up to `most`.
pub fn count(
    example: &str,
    things: &str,
    default: usize,
    most: usize,
    arguments: impl Iterator<Item = String>,
) -> Result<usize> {
    let count = match arguments.collect::<Vec<_>>().as_slice() {
        [] => default,
        [count] => count.parse().with_context(|| format!("`{count}` is no number of {things}"))?,
        _ => bail!("usage: {example} [{}]   (default {default})", things.to_uppercase()),
    };
    ensure!(count <= most, "at most {most} {things}, not {count}");
    Ok(count)
}

/// Where an example writes its picture: its only argument, or else a file of its name.
///
/// # Errors
/// Where there are more arguments than one, or it is an option.
pub fn picture(example: &str, arguments: impl Iterator<Item = String>) -> Result<PathBuf> {
    match arguments.collect::<Vec<_>>().as_slice() {
        [] => Ok(PathBuf::from(format!("{example}.png"))),
        [file] if !file.starts_with('-') => Ok(PathBuf::from(file)),
        _ => bail!("usage: {example} [FILE.png]   (default {example}.png)"),
    }
}

/// Runs both seven times in turn, and prints the medians of their times and of their ratio.
///
/// Both run once before that, so that neither is measured while its threads start and its memory is new.
///
/// # Errors
/// Those of `hidp`.
pub fn side_by_side(mut hidp: impl FnMut() -> Result<()>, mut plain: impl FnMut()) -> Result<()> {
    hidp()?;
    plain();
    let mut rounds = [(0.0, 0.0); ROUNDS];
    for (of_hidp, of_plain) in &mut rounds {
        let start = Instant::now();
        hidp()?;
        *of_hidp = milliseconds(start);
        let start = Instant::now();
        plain();
        *of_plain = milliseconds(start);
    }
    let ratio = sorted(rounds.map(|(hidp, plain)| plain / hidp));
    let (hidp, plain) = (sorted(rounds.map(|(hidp, _)| hidp)), sorted(rounds.map(|(_, plain)| plain)));
    println!("HiDP        {:8.2} ms", hidp[ROUNDS / 2]);
    println!("plain Rust  {:8.2} ms   rayon, {} threads", plain[ROUNDS / 2], rayon::current_num_threads());
    println!("speed-up    {:8.2}      from {:.2} to {:.2}", ratio[ROUNDS / 2], ratio[0], ratio[ROUNDS - 1]);
    Ok(())
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn sorted(mut times: [f64; ROUNDS]) -> [f64; ROUNDS] {
    times.sort_by(f64::total_cmp);
    times
}

/// Writes rows of pixels (red, green, blue), `width` in each, as a PNG.
///
/// # Errors
/// Where the pixels are no whole rows, or the file cannot be written.
pub fn write_png(path: &Path, width: usize, pixels: &[[u8; 3]]) -> Result<()> {
    ensure!(
        width > 0 && !pixels.is_empty() && pixels.len().is_multiple_of(width),
        "{} pixels are no rows of {width}",
        pixels.len()
    );
    let problem = || format!("cannot write {}", path.display());
    let file = File::create(path).with_context(problem)?;
    let size = [width, pixels.len() / width].map(u32::try_from);
    let mut encoder = png::Encoder::new(BufWriter::new(file), size[0]?, size[1]?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().with_context(problem)?;
    writer.write_image_data(pixels.as_flattened()).with_context(problem)?;
    writer.finish().with_context(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> impl Iterator<Item = String> {
        text.split_whitespace().map(str::to_owned)
    }

    #[test]
    fn the_argument_is_a_number_of_things() {
        let count = |text| count("nbody", "bodies", 8192, 1 << 20, words(text)).map_err(|error| error.to_string());
        assert_eq!(["", "0", "1048576"].map(count), [Ok(8192), Ok(0), Ok(1 << 20)]);
        assert_eq!(count("1048577"), Err("at most 1048576 bodies, not 1048577".to_owned()));
        for wrong in ["many", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(count(wrong), Err(format!("`{wrong}` is no number of bodies")));
        }
        assert_eq!(count("1 2"), Err("usage: nbody [BODIES]   (default 8192)".to_owned()));
    }

    #[test]
    fn the_argument_is_a_file() {
        let picture = |text| picture("life", words(text)).map_err(|error| error.to_string());
        assert_eq!(picture(""), Ok(PathBuf::from("life.png")));
        assert_eq!(picture("a/b.png"), Ok(PathBuf::from("a/b.png")));
        for wrong in ["--help", "a.png b.png"] {
            assert_eq!(picture(wrong), Err("usage: life [FILE.png]   (default life.png)".to_owned()));
        }
    }

    #[test]
    fn a_picture_has_its_pixels() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.png");
        let pixels = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15], [16, 17, 18]];
        write_png(&file, 3, &pixels).unwrap();
        let mut reader = png::Decoder::new(std::io::BufReader::new(File::open(&file).unwrap())).read_info().unwrap();
        let mut read = [0; 18];
        reader.next_frame(&mut read).unwrap();
        assert_eq!((reader.info().size(), read.as_slice()), ((3, 2), pixels.as_flattened()));
    }

    #[test]
    fn pixels_that_are_no_rows_are_refused() {
        let refused =
            |width, pixels: &[[u8; 3]]| write_png(Path::new("never.png"), width, pixels).unwrap_err().to_string();
        assert_eq!(refused(2, &[[0; 3]; 3]), "3 pixels are no rows of 2");
        assert_eq!(refused(0, &[[0; 3]; 3]), "3 pixels are no rows of 0");
        assert_eq!(refused(2, &[]), "0 pixels are no rows of 2");
    }

    #[test]
    fn both_run_as_often_and_errors_end_it() {
        let (mut first, mut second) = (0, 0);
        side_by_side(
            || {
                first += 1;
                Ok(())
            },
            || second += 1,
        )
        .unwrap();
        assert_eq!((first, second), (ROUNDS + 1, ROUNDS + 1));
        assert!(side_by_side(|| anyhow::bail!("no"), || ()).is_err());
    }
}
