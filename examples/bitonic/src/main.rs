//! Bitonic sort written in HiDP, as a network of compare-and-exchange steps and by sorting regular segments.

use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use hidp_std::Context;

hidp_std::include_kernels!();
use kernels::bitonic::{bitonic, by_segments};

const USAGE: &str = "usage: bitonic [LOG2]   (default 20: 2^20 keys)";

/// One way to sort keys.
type Sort<'a> = dyn Fn(&mut Vec<u32>) -> hidp_std::Result + 'a;

fn main() -> Result<()> {
    let bits = parse_arguments(std::env::args().skip(1))?;
    let cx = Context::new()?;
    let keys = keys(1 << bits);
    let mut expected = keys.clone();
    expected.sort_unstable();
    let sorts: [(&str, &Sort<'_>); 2] = [
        ("network", &|keys| bitonic(&cx, keys)),
        ("regular segments", &|keys| by_segments(&cx, keys, 1024.min(1 << bits))),
    ];
    for (name, sort) in sorts {
        let mut sorted = keys.clone();
        let start = Instant::now();
        sort(&mut sorted)?;
        let seconds = start.elapsed().as_secs_f64();
        ensure!(sorted == expected, "the keys are not sorted");
        println!("2^{bits} keys, {name}: {seconds:.3} s");
    }
    Ok(())
}

fn keys(count: usize) -> Vec<u32> {
    (0..count as u32).map(|number| number.wrapping_mul(2_654_435_761).rotate_left(13) ^ number).collect()
}

fn parse_arguments(mut words: impl Iterator<Item = String>) -> Result<u32> {
    let bits = words.next().map_or(Ok(20), |word| word.parse().context(USAGE))?;
    if words.next().is_some() || bits > 28 {
        bail!("one number from 0 to 28\n{USAGE}");
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_sorted() {
        let cx = Context::new().unwrap();
        for bits in [0, 1, 2, 3, 6, 10, 13] {
            let input = keys(1 << bits);
            let mut expected = input.clone();
            expected.sort_unstable();
            let mut network = input.clone();
            bitonic(&cx, &mut network).unwrap();
            assert!(network == expected, "network, 2^{bits}");
            let mut segments = input;
            by_segments(&cx, &mut segments, 16.min(1 << bits)).unwrap();
            assert!(segments == expected, "segments, 2^{bits}");
        }
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let error =
            |words: &[&str]| format!("{:#}", parse_arguments(words.iter().map(|w| w.to_string())).err().unwrap());
        assert!(error(&["x"]).contains("usage: bitonic"));
        assert!(error(&["29"]).contains("from 0 to 28"));
    }
}
