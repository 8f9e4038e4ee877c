//! From noisy times to numbers: what other programs disturb is left out, and measured again where it matters.

/// Seconds that a sample takes at least, if more than one call fits.
pub(super) const SLICE: f64 = 0.003;
/// Pairs of samples that compare two arms, at first and at most.
pub(super) const PAIRS: usize = 9;
pub(super) const MOST_PAIRS: usize = 27;
/// A difference that counts.
pub(super) const DIFFERENCE: f64 = 1.02;

/// Which of two arms is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    First,
    Second,
    Neither,
}

/// Of so many pairs as many must agree: by chance they do so in less than 2 of 100 cases.
fn agreeing(pairs: usize) -> usize {
    // The normal approximation of the binomial distribution, rounded up.
    let pairs = pairs as f64;
    (pairs / 2.0 + 1.06 * pairs.sqrt()).ceil() as usize
}

/// Of ratios of the second's time to the first's. `None` if they scatter too much to say: more pairs may help.
pub(super) fn verdict(ratios: &[f64]) -> Option<Verdict> {
    let first = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    let second = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let (typical, needed) = (median(ratios), agreeing(ratios.len()));
    if first >= needed && typical >= DIFFERENCE {
        Some(Verdict::First)
    } else if second >= needed && typical <= 1.0 / DIFFERENCE {
        Some(Verdict::Second)
    } else if (1.0 / DIFFERENCE..DIFFERENCE).contains(&typical) || ratios.len() >= MOST_PAIRS {
        Some(Verdict::Neither)
    } else {
        None
    }
}

/// What a call takes when little disturbs it: a quarter of the samples are faster.
pub(super) fn typical(samples: &[f64]) -> f64 {
    quantile(samples, 1, 4)
}

pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 1, 2)
}

/// How far the typical ratio may be from the median of these, as a part of it: between the ranks of an interval that holds the
/// median in about 95 of 100 cases.
pub(super) fn uncertainty(ratios: &[f64]) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let beside = ratios.len().saturating_sub(agreeing(ratios.len()));
    match (sorted.get(beside), sorted.iter().rev().nth(beside)) {
        (Some(low), Some(high)) if low <= high => (high / low).sqrt() - 1.0,
        (Some(_) | None, Some(_) | None) => f64::INFINITY,
    }
}

/// How far apart the quarters are, as a part of the lower one.
pub(super) fn spread(samples: &[f64]) -> f64 {
    quantile(samples, 1, 2) / quantile(samples, 1, 4) - 1.0
}

fn quantile(values: &[f64], part: usize, of: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * part / of).copied().unwrap_or(f64::INFINITY)
}

/// How often an arm that takes so long is called in one sample.
pub(super) fn calls(seconds: Option<f64>) -> usize {
    seconds.map_or(1, |seconds| (SLICE / seconds.max(1e-8)).ceil() as usize).clamp(1, 4000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_differences_count() {
        assert_eq!(verdict(&[1.1; 9]), Some(Verdict::First));
        assert_eq!(verdict(&[0.9; 9]), Some(Verdict::Second));
        assert_eq!(verdict(&[1.01; 9]), Some(Verdict::Neither));
        assert_eq!(verdict(&[1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 0.9, 0.9]), None);
        assert_eq!(verdict(&[[1.1, 1.2, 0.9]; 9].concat()), Some(Verdict::Neither), "18 of 27 may be chance");
    }

    #[test]
    fn single_samples_do_not_matter() {
        assert_eq!(typical(&[1.0, 1.01, 10.0, 1.02, 1.0]), 1.0);
        assert_eq!(typical(&[0.1, 1.0, 1.0, 1.01, 9.0]), 1.0);
        assert!(spread(&[1.0, 1.5, 2.0, 1.9, 1.8]) > 0.1 && spread(&[1.0, 1.0, 1.0, 1.0, 9.0]) == 0.0);
    }

    #[test]
    fn chance_rarely_agrees() {
        assert_eq!([9, 15, 27].map(agreeing), [8, 12, 20]);
    }

    #[test]
    fn scattered_ratios_are_uncertain() {
        assert_eq!(uncertainty(&[1.5; 9]), 0.0);
        let one_off = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0];
        assert_eq!(uncertainty(&one_off), 0.0, "a single one does not matter");
        let wide = uncertainty(&[0.5, 0.8, 0.8, 1.0, 1.0, 1.0, 1.25, 1.25, 2.0]);
        assert!((wide - 0.25).abs() < 1e-9, "{wide}");
        assert!(uncertainty(&[]).is_infinite());
    }

    #[test]
    fn short_calls_are_made_often() {
        assert_eq!([calls(None), calls(Some(1.0)), calls(Some(1e-5)), calls(Some(0.0))], [1, 1, 300, 4000]);
    }
}
