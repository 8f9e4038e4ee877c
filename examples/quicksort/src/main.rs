//! Sorts keys of several distributions with a quicksort written in HiDP, beside the standard library's sort.

use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use hidp_std::Context;

hidp_std::include_kernels!();
use kernels::quicksort::quicksort;

const USAGE: &str = "usage: quicksort [N]   (default 16777216 keys)";

fn main() -> Result<()> {
    let count = parse_arguments(std::env::args().skip(1))?;
    let cx = Context::new()?;
    let mut sorted = vec![0; count];
    for (name, keys) in distributions(count) {
        let mut expected = keys.clone();
        let start = Instant::now();
        expected.sort_unstable();
        let plain = start.elapsed().as_secs_f64();
        quicksort(&cx, &keys, &mut sorted)?;
        let start = Instant::now();
        quicksort(&cx, &keys, &mut sorted)?;
        let seconds = start.elapsed().as_secs_f64();
        ensure!(sorted == expected, "{name} keys are not sorted");
        println!("{count} {name} keys: {seconds:.3} s, `sort_unstable` {plain:.3} s");
    }
    Ok(())
}

fn distributions(count: usize) -> Vec<(&'static str, Vec<u32>)> {
    let uniform: Vec<u32> = (0..count as u64).map(scrambled).collect();
    let mut sorted = uniform.clone();
    sorted.sort_unstable();
    let reversed = sorted.iter().rev().copied().collect();
    let few = uniform.iter().map(|key| key % 10).collect();
    vec![
        ("uniform", uniform),
        ("sorted", sorted),
        ("reversed", reversed),
        ("equal", vec![7; count]),
        ("few distinct", few),
    ]
}

/// The high half of a fixed permutation of 64-bit numbers (SplitMix64).
fn scrambled(number: u64) -> u32 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

fn parse_arguments(mut words: impl Iterator<Item = String>) -> Result<usize> {
    let count = words.next().map_or(Ok(1 << 24), |word| word.parse().context(USAGE))?;
    if words.next().is_some() || count > 1 << 30 {
        bail!("one number of keys, at most 2^30\n{USAGE}");
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distribution_is_sorted() {
        let cx = Context::new().unwrap();
        for count in [0, 1, 2, 63, 64, 65, 1000, 1 << 16, (1 << 18) + 1] {
            for (name, keys) in distributions(count) {
                let mut expected = keys.clone();
                expected.sort_unstable();
                let mut sorted = vec![0; count];
                quicksort(&cx, &keys, &mut sorted).unwrap();
                assert!(sorted == expected, "{count} {name} keys");
            }
        }
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let error =
            |words: &[&str]| format!("{:#}", parse_arguments(words.iter().map(|w| w.to_string())).err().unwrap());
        assert!(error(&["many"]).contains("usage: quicksort"));
        assert!(error(&["1", "2"]).contains("one number of keys"));
    }
}
