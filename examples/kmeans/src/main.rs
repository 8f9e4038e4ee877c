//! Clusters points by k-means and writes them, coloured by cluster, as a picture.

mod picture;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use hidp_std::Context;
use ndarray::Array2;

hidp_std::include_kernels!();
use kernels::kmeans::{assign, update};

const USAGE: &str = "usage: kmeans [--points N] [--clusters K] [--output FILE.png]   (default 200000, 12, kmeans.png)";

struct Options {
    points: usize,
    clusters: usize,
    output: PathBuf,
}

/// Where points belong and how far from their centres they are in all.
struct Clusters {
    centre: Array2<f32>,
    cluster: Vec<i32>,
    errors: Vec<f64>,
}

fn main() -> Result<()> {
    let options = parse_arguments(std::env::args().skip(1))?;
    let cx = Context::new()?;
    let point = blobs(options.points, options.clusters);
    let start = Instant::now();
    let found = cluster(&cx, &point, options.clusters, 100)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{} points, {} clusters, {} steps: {seconds:.3} s", options.points, options.clusters, found.errors.len());
    println!("mean squared distance {:.6}", found.errors.last().unwrap_or(&0.0) / options.points.max(1) as f64);
    picture::write(&options.output, &point, &found.cluster, &found.centre)?;
    println!("wrote {}", options.output.display());
    Ok(())
}

/// Steps until the error falls by less than a thousandth, at most `steps`.
fn cluster(cx: &Context, point: &Array2<f32>, clusters: usize, steps: usize) -> hidp_std::Result<Clusters> {
    let points = point.nrows();
    let centre = first_centres(point, clusters);
    let mut found = Clusters { centre, cluster: vec![0; points], errors: Vec::new() };
    for _ in 0..steps {
        let error = assign(cx, point, &found.centre, &mut found.cluster)?;
        let settled = found.errors.last().is_some_and(|last| error > 0.999 * last);
        found.errors.push(error);
        if settled {
            break;
        }
        update(cx, point, &found.cluster, &mut found.centre)?;
    }
    Ok(found)
}

/// The first point, then always the one of the first thousand that is farthest from all chosen so far (Gonzalez, Clustering to
/// minimize the maximum intercluster distance, 1985).
fn first_centres(point: &Array2<f32>, clusters: usize) -> Array2<f32> {
    let sample = point.nrows().min(1000.max(clusters));
    let mut distance = vec![f32::INFINITY; sample];
    let mut chosen = 0;
    let mut centre = Array2::zeros((clusters, point.ncols()));
    for mut row in centre.rows_mut() {
        row.assign(&point.row(chosen));
        for (i, distance) in distance.iter_mut().enumerate() {
            let squared = (&point.row(i) - &row).mapv(|d| d * d).sum();
            *distance = distance.min(squared);
        }
        chosen = (0..sample).max_by(|&a, &b| distance[a].total_cmp(&distance[b])).unwrap_or(0);
    }
    centre
}

/// Points in round clouds around places on a spiral.
fn blobs(points: usize, clouds: usize) -> Array2<f32> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 + 0.5) / (1 << 24) as f32
    };
    let mut point = Array2::zeros((points, 2));
    for mut row in point.rows_mut() {
        let cloud = (uniform() * clouds as f32).min(clouds as f32 - 1.0).floor();
        let (angle, out) = (2.4 * cloud, 0.12 + 0.3 * (cloud / clouds as f32).sqrt());
        let (turn, distance) = (uniform() * std::f32::consts::TAU, (-2.0 * uniform().ln()).sqrt() * 0.035);
        row[0] = 0.5 + out * angle.cos() + distance * turn.cos();
        row[1] = 0.5 + out * angle.sin() + distance * turn.sin();
    }
    point
}

fn parse_arguments(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { points: 200_000, clusters: 12, output: "kmeans.png".into() };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            "--points" => options.points = value()?.parse().context("--points needs a number")?,
            "--clusters" => options.clusters = value()?.parse().context("--clusters needs a number")?,
            "--output" => options.output = value()?.into(),
            _ => bail!("there is no option `{word}`\n{USAGE}"),
        }
    }
    if options.clusters == 0 || options.clusters > options.points {
        bail!("there must be at least one cluster, and not more than points\n{USAGE}");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_agrees_with_plain_loops() {
        let cx = Context::new().unwrap();
        for (points, clusters) in [(1, 1), (7, 3), (1000, 5), (5003, 17)] {
            let point = blobs(points, clusters);
            let found = cluster(&cx, &point, clusters, 1).unwrap();
            let first = first_centres(&point, clusters);
            let squared = |i: usize, k: usize| {
                let (dx, dy) = (point[[i, 0]] - first[[k, 0]], point[[i, 1]] - first[[k, 1]]);
                f64::from(dx) * f64::from(dx) + f64::from(dy) * f64::from(dy)
            };
            let mut members = vec![Vec::new(); clusters];
            for i in 0..points {
                let least = (0..clusters).map(|k| squared(i, k)).fold(f64::INFINITY, f64::min);
                let own = squared(i, found.cluster[i] as usize);
                assert!(own <= least * 1.0001 + 1e-9, "point {i} of {points}: {own} instead of {least}");
                members[found.cluster[i] as usize].push(i);
            }
            for (k, members) in members.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
                let mean = members.iter().map(|&i| f64::from(point[[i, 0]])).sum::<f64>() / members.len() as f64;
                assert!((f64::from(found.centre[[k, 0]]) - mean).abs() < 1e-5, "centre {k} of {clusters}");
            }
        }
    }

    #[test]
    fn the_error_never_grows() {
        let cx = Context::new().unwrap();
        let found = cluster(&cx, &blobs(4000, 9), 9, 20).unwrap();
        assert!(found.errors.len() > 2 && found.errors.windows(2).all(|pair| pair[1] <= pair[0] * 1.000_01));
    }

    #[test]
    fn the_picture_is_a_png() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out.png");
        picture::write(&file, &blobs(50, 2), &[1; 50], &Array2::zeros((2, 2))).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).unwrap()));
        assert_eq!(decoder.read_info().unwrap().info().size(), (picture::SIZE as u32, picture::SIZE as u32));
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let error =
            |words: &[&str]| format!("{:#}", parse_arguments(words.iter().map(|w| w.to_string())).err().unwrap());
        assert!(error(&["--clusters", "0"]).contains("at least one cluster"));
        assert!(error(&["--point", "3"]).contains("usage: kmeans"));
    }
}
