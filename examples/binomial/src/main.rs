//! Prices American options by binomial trees, and says how long plain Rust takes for them.

use anyhow::Result;
use hidp_std::Context;
use rayon::prelude::*;

hidp_std::include_kernels!();
use kernels::binomial::american_put;

/// Steps of the tree, those of the kernel.
const STEPS: usize = 128;

/// A tree over the time of an option.
struct Tree {
    up: f32,
    chance: f32,
    discount: f32,
}

impl Tree {
    fn new(years: f64, rate: f64, volatility: f64) -> Tree {
        let step = years / STEPS as f64;
        let up = (volatility * step.sqrt()).exp();
        let chance = ((rate * step).exp() - 1.0 / up) / (up - 1.0 / up);
        Tree { up: up as f32, chance: chance as f32, discount: (-rate * step).exp() as f32 }
    }
}

fn main() -> Result<()> {
    let count = gallery::count("binomial", "options", 20_000, 1 << 26, std::env::args().skip(1))?;
    let cx = Context::new()?;
    let tree = Tree::new(1.0, 0.05, 0.3);
    let (spot, strike) = options(count);
    println!("{count} options, {STEPS} steps");
    let (mut value, mut expected) = (vec![0.0; count], vec![0.0; count]);
    gallery::side_by_side(
        || Ok(in_hidp(&cx, &tree, &spot, &strike, &mut value)?),
        || in_plain_rust(&tree, &spot, &strike, &mut expected),
    )?;
    println!("a put costs {:.4} on average", value.iter().map(|&v| f64::from(v)).sum::<f64>() / count.max(1) as f64);
    Ok(())
}

/// Prices of shares and prices that were agreed.
fn options(count: usize) -> (Vec<f32>, Vec<f32>) {
    let between =
        |low: f32, high: f32, turn: f64| (0..count).map(move |i| low + (high - low) * (i as f64 * turn).fract() as f32);
    (between(20.0, 80.0, 0.618_034).collect(), between(20.0, 80.0, 0.414_214).collect())
}

fn in_hidp(cx: &Context, tree: &Tree, spot: &[f32], strike: &[f32], value: &mut [f32]) -> hidp_std::Result {
    american_put(cx, spot, strike, tree.up, tree.chance, tree.discount, value)
}

fn in_plain_rust(tree: &Tree, spot: &[f32], strike: &[f32], value: &mut [f32]) {
    let Tree { up, chance, discount } = *tree;
    spot.par_iter().zip(strike).zip(value).for_each(|((&spot, &strike), value)| {
        let mut worth = [0.0f32; STEPS + 1];
        let mut lowest = spot;
        for _ in 0..STEPS {
            lowest /= up;
        }
        let mut share = lowest;
        for worth in &mut worth {
            *worth = (strike - share).max(0.0);
            share *= up * up;
        }
        for step in (0..STEPS).rev() {
            lowest *= up;
            share = lowest;
            for k in 0..=step {
                let later = discount * (chance * worth[k + 1] + (1.0 - chance) * worth[k]);
                worth[k] = later.max(strike - share);
                share *= up * up;
            }
        }
        *value = worth[0];
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(tree: &Tree, spot: &[f32], strike: &[f32]) -> Vec<f32> {
        let mut value = vec![0.0; spot.len()];
        in_hidp(&Context::new().unwrap(), tree, spot, strike, &mut value).unwrap();
        value
    }

    /// The example of Hull, Options, Futures, and Other Derivatives: a share of 50, five months, where many steps come to 4.28.
    #[test]
    fn the_example_of_the_textbook() {
        let value = values(&Tree::new(5.0 / 12.0, 0.1, 0.4), &[50.0], &[50.0]);
        assert!((value[0] - 4.28).abs() < 0.01, "{value:?}");
    }

    #[test]
    fn values_are_those_of_plain_rust() {
        let tree = Tree::new(1.0, 0.05, 0.3);
        let (spot, strike) = options(1003);
        let found = values(&tree, &spot, &strike);
        let mut expected = vec![0.0; spot.len()];
        in_plain_rust(&tree, &spot, &strike, &mut expected);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 2e-4 * strike[i], "option {i}: {found} {expected}");
        }
    }

    /// It can be used at once, so it is never worth less than what it pays now.
    #[test]
    fn never_worth_less_than_it_pays() {
        let (spot, strike) = options(257);
        for (i, value) in values(&Tree::new(2.0, 0.08, 0.2), &spot, &strike).into_iter().enumerate() {
            assert!(value >= (strike[i] - spot[i]).max(0.0) - 1e-3, "option {i}: {value}");
        }
    }
}
