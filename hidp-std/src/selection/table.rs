//! The trials for one kind of call: which versions, in which order, and when one is found to be the fastest.

use std::time::Duration;

/// Samples of a version that is found.
const SAMPLES: usize = 3;
/// Runs of a version besides the rules' choice.
const TRIES: usize = SAMPLES + 1;
/// A first run that took less only warms up.
const WARM: Duration = Duration::from_millis(10);
/// A version is dropped whose best sample took so many percent of the best one of all.
const HOPELESS: u32 = 150;
/// Percent of the rules' choice's time that a version takes at most in each of its samples, if it is to be found.
const BETTER: u32 = 98;

/// The versions that calls of a kind may run, and what they took.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Of the first call. Times of other sizes are not compared with its.
    dims: Box<[i64]>,
    /// The rules' choice is number 0.
    arms: Vec<Arm>,
    found: Option<usize>,
}

#[derive(Debug)]
struct Arm {
    version: usize,
    /// How often it ran.
    runs: usize,
    warm: bool,
    dropped: bool,
    samples: Vec<Duration>,
}

impl Bucket {
    pub(super) fn new(dims: &[i64], usual: usize, others: Vec<usize>) -> Bucket {
        let arm = |version| Arm { version, runs: 0, warm: false, dropped: false, samples: Vec::new() };
        let found = others.is_empty().then_some(0);
        Bucket { dims: dims.into(), arms: std::iter::once(usual).chain(others).map(arm).collect(), found }
    }
    /// Whether a call has the sizes that are measured.
    pub(super) fn is_of(&self, dims: &[i64]) -> bool {
        *self.dims == *dims
    }
    /// The arm that is fastest, once that is known.
    pub(super) fn found(&self) -> Option<usize> {
        self.found
    }
    /// The version of an arm.
    pub(super) fn version(&self, arm: usize) -> usize {
        self.arms[arm].version
    }
    pub(super) fn versions(&self) -> u32 {
        u32::try_from(self.arms.len()).unwrap_or(u32::MAX)
    }
    /// How many calls were measured.
    pub(super) fn samples(&self) -> u32 {
        self.arms.iter().map(|arm| arm.samples.len() as u32).sum()
    }
    /// The arm that runs next: the first of those with fewest samples.
    pub(super) fn next(&self) -> usize {
        let open = (0..self.arms.len()).filter(|at| self.is_open(*at));
        open.min_by_key(|at| self.arms[*at].samples.len()).unwrap_or(0)
    }
    /// An arm has run, and took so long if that can be compared.
    pub(super) fn ran(&mut self, at: usize, took: Option<Duration>) {
        let arm = &mut self.arms[at];
        arm.runs += 1;
        if let Some(took) = took {
            if arm.warm || took >= WARM {
                arm.samples.push(took);
            }
            arm.warm = true;
        }
        // What cannot be measured is not tried for ever.
        arm.dropped |= at > 0 && arm.runs >= TRIES && arm.samples.len() < SAMPLES;
        self.drop_hopeless();
        if !(0..self.arms.len()).any(|at| self.is_open(at)) || self.is_alone() {
            self.found = Some(self.best());
        }
    }

    /// Whether samples of an arm are still wanted.
    fn is_open(&self, at: usize) -> bool {
        let arm = &self.arms[at];
        !arm.dropped && arm.samples.len() < SAMPLES
    }
    /// Whether all but the rules' choice were dropped.
    fn is_alone(&self) -> bool {
        self.arms.iter().skip(1).all(|arm| arm.dropped)
    }
    fn drop_hopeless(&mut self) {
        let Some(best) = self.arms.iter().flat_map(|arm| &arm.samples).min().copied() else { return };
        for arm in self.arms.iter_mut().skip(1) {
            arm.dropped |= arm.samples.iter().min().is_some_and(|least| *least * 100 > best * HOPELESS);
        }
    }
    /// The fastest arm with all samples that is better than the rules' choice in every sample; that otherwise.
    fn best(&self) -> usize {
        let usual = &self.arms[0].samples;
        let better = |at: &usize| {
            let samples = &self.arms[*at].samples;
            let complete = samples.len() == SAMPLES && usual.len() == SAMPLES;
            complete && samples.iter().zip(usual).all(|(own, usual)| *own * 100 <= *usual * BETTER)
        };
        let total = |at: &usize| self.arms[*at].samples.iter().sum::<Duration>();
        (1..self.arms.len()).filter(better).min_by_key(total).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a bucket whose arms always take so many milliseconds: which arms ran, and what was found.
    fn run(times: &[u64]) -> (Vec<usize>, usize) {
        let mut bucket = Bucket::new(&[], 0, (1..times.len()).collect());
        let mut ran = Vec::new();
        while bucket.found().is_none() {
            let arm = bucket.next();
            ran.push(arm);
            bucket.ran(arm, Some(Duration::from_millis(times[arm])));
            assert!(ran.len() < 100, "it ends");
        }
        (ran, bucket.found().unwrap())
    }

    #[test]
    fn the_fastest_is_found_in_turns() {
        assert_eq!(run(&[20, 15, 18]), (vec![0, 1, 2, 0, 1, 2, 0, 1, 2], 1));
        // Short ones warm up first.
        assert_eq!(run(&[8, 6]), (vec![0, 0, 1, 1, 0, 1, 0, 1], 1));
    }

    #[test]
    fn ties_keep_the_rules_choice() {
        assert_eq!(run(&[100, 100, 100]).1, 0);
        assert_eq!(run(&[100, 99]).1, 0, "less than 2 % is no difference");
        assert_eq!(run(&[100, 98]).1, 1);
    }

    #[test]
    fn the_hopeless_are_dropped_at_once() {
        assert_eq!(run(&[100, 151]), (vec![0, 1], 0));
        assert_eq!(run(&[100, 151, 90]).0, [0, 1, 2, 0, 2, 0, 2]);
        // The rules' choice is measured however slow it is.
        assert_eq!(run(&[1000, 20]).1, 1);
    }

    #[test]
    fn tries_are_bounded_where_nothing_can_be_measured() {
        let mut bucket = Bucket::new(&[], 0, vec![1, 2]);
        let mut tries = 0;
        bucket.ran(0, Some(Duration::from_millis(50)));
        while bucket.found().is_none() {
            let arm = bucket.next();
            tries += usize::from(arm > 0);
            bucket.ran(arm, None);
        }
        assert_eq!((tries, bucket.found()), (8, Some(0)));
    }

    #[test]
    fn one_version_is_found_at_once() {
        assert_eq!(Bucket::new(&[], 3, Vec::new()).found(), Some(0));
    }
}
