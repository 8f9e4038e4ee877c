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
/// The same of a first run that is no sample.
const HOPELESS_FIRST: u32 = 400;
/// Trials of versions that turn out slower than the rules' choice cost at most one part in so many of the time of all runs, but for the last one.
const COST: u32 = 20;
/// A part that takes less is not measured.
const SHORT: Duration = Duration::from_micros(50);
/// By how much parts are lengthened at most so that they can be.
const LONGEST: u32 = 8;

/// What versions are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trials {
    Calls,
    /// Parts of calls, of equal sizes. All versions take one, or the same one, before one of them takes the next.
    Parts,
}

/// The versions that calls of a kind may run, and what they took.
#[derive(Debug)]
pub(super) struct Bucket {
    trials: Trials,
    /// How many times the shortest parts are what versions take, once that is known.
    length: Option<u32>,
    /// The row at which the part begins that versions take.
    from: i64,
    /// Of the first call. Times of other sizes are not compared with its.
    dims: Box<[i64]>,
    /// The rules' choice is number 0.
    arms: Vec<Arm>,
    found: Option<usize>,
    /// What measured runs took, those that only wait for it included.
    spent: Duration,
    /// What trials of other versions took beyond the rules' choice.
    lost: Duration,
}

#[derive(Debug)]
struct Arm {
    version: usize,
    /// How often it ran.
    runs: usize,
    warm: bool,
    /// What its first run took, if that is no sample.
    first: Option<Duration>,
    dropped: bool,
    samples: Vec<Duration>,
}

impl Arm {
    fn new(version: usize) -> Arm {
        Arm { version, runs: 0, warm: false, first: None, dropped: false, samples: Vec::new() }
    }
}

impl Bucket {
    pub(super) fn new(trials: Trials, dims: &[i64], usual: usize, others: Vec<usize>) -> Bucket {
        let found = others.is_empty().then_some(0);
        let arms = std::iter::once(usual).chain(others).map(Arm::new).collect();
        let [spent, lost] = [Duration::ZERO; 2];
        Bucket { trials, length: None, from: 0, dims: dims.into(), arms, found, spent, lost }
    }
    /// Whether a call has the sizes that are measured.
    pub(super) fn is_of(&self, dims: &[i64]) -> bool {
        *self.dims == *dims
    }
    pub(super) fn trials(&self) -> Trials {
        self.trials
    }
    /// How many times the shortest parts are what versions take: 1 until a first one has run.
    pub(super) fn length(&self) -> u32 {
        self.length.unwrap_or(1)
    }
    /// The shortest part took so long, if that is not known yet: says how long parts are, or that calls are compared.
    pub(super) fn is_first(&mut self, took: Duration) -> bool {
        let is_first = self.trials == Trials::Parts && self.length.is_none();
        if is_first {
            let length = SHORT.as_nanos().div_ceil(took.as_nanos().max(1));
            match u32::try_from(length) {
                Ok(length @ 0..=LONGEST) => self.length = Some(length.max(1)),
                Ok(_) | Err(_) => self.trials = Trials::Calls,
            }
        }
        is_first
    }
    /// The row at which the next part begins of those that all versions take.
    pub(super) fn from(&self) -> i64 {
        self.from
    }
    /// All versions have taken what is before this row.
    pub(super) fn go_on_from(&mut self, row: i64) {
        self.from = row;
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
    /// Whether another version may be tried: what trials cost has been made up for.
    pub(super) fn may_try(&self) -> bool {
        self.lost * COST <= self.spent
    }
    /// The arm that runs where none may be tried: the fastest one as far as is known.
    pub(super) fn so_far(&self) -> usize {
        let least = |at: &usize| self.arms[*at].samples.iter().min().copied().unwrap_or(Duration::MAX);
        (0..self.arms.len()).filter(|at| *at == 0 || !self.arms[*at].dropped).min_by_key(least).unwrap_or(0)
    }
    /// The arm that runs next: the first of those with fewest samples, or that took fewest parts.
    pub(super) fn next(&self) -> usize {
        if !self.may_try() {
            return self.so_far();
        }
        let had = |at: &usize| match self.trials {
            Trials::Calls => self.arms[*at].samples.len(),
            Trials::Parts => self.arms[*at].runs,
        };
        (0..self.arms.len()).filter(|at| self.is_open(*at)).min_by_key(had).unwrap_or(0)
    }
    /// Whether all arms that are still tried took the part that ran last.
    pub(super) fn is_round_over(&self) -> bool {
        let most = self.arms.iter().map(|arm| arm.runs).max();
        (0..self.arms.len()).filter(|at| self.is_open(*at)).all(|at| Some(self.arms[at].runs) == most)
    }
    /// What ran took so long and is no sample.
    pub(super) fn passed(&mut self, took: Duration) {
        self.spent += took;
    }
    /// An arm has run, and took so long if that can be compared.
    pub(super) fn ran(&mut self, at: usize, took: Option<Duration>) {
        let is_trial = self.is_open(at);
        if let Some(took) = took {
            self.passed(took);
            // Times of the rules' choice scatter, which is no cost of trials.
            if at > 0 && is_trial {
                self.lost += took.saturating_sub(self.usual().unwrap_or(took));
            }
        }
        let arm = &mut self.arms[at];
        if !is_trial {
            // Versions are compared with what it takes by now.
            arm.samples.extend(took);
            if arm.samples.len() > SAMPLES {
                arm.samples.remove(0);
            }
            return;
        }
        arm.runs += 1;
        if let Some(took) = took {
            if arm.warm || (took >= WARM && self.trials == Trials::Calls) {
                arm.samples.push(took);
            } else {
                arm.first = Some(took);
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
    /// What the rules' choice takes, as far as is known.
    fn usual(&self) -> Option<Duration> {
        self.arms[0].samples.iter().chain(&self.arms[0].first).min().copied()
    }
    fn drop_hopeless(&mut self) {
        let first = self.arms.iter().filter_map(|arm| arm.first).min().unwrap_or_default();
        for arm in self.arms.iter_mut().skip(1) {
            arm.dropped |= arm.first.is_some_and(|own| own * 100 > first * HOPELESS_FIRST);
        }
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
        let mut bucket = Bucket::new(Trials::Calls, &[], 0, (1..times.len()).collect());
        let mut ran = Vec::new();
        while bucket.found().is_none() {
            let arm = bucket.next();
            ran.push(arm);
            bucket.ran(arm, Some(Duration::from_millis(times[arm])));
            assert!(ran.len() < 1000, "it ends");
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
        // What has cost half a call waits for nine others.
        assert_eq!(run(&[100, 151, 90]).0, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2]);
        // The rules' choice is measured however slow it is.
        assert_eq!(run(&[1000, 20]).1, 1);
    }

    #[test]
    fn trials_cost_a_twentieth_and_the_last_one() {
        let times = [10, 100, 60, 12, 90];
        let (ran, found) = run(&times);
        assert_eq!(found, 0);
        let (mut spent, mut lost, mut last) = (0, 0, 0);
        for arm in ran {
            spent += times[arm];
            lost += times[arm] - times[0];
            last = if arm > 0 { times[arm] - times[0] } else { last };
            assert!((lost - last) * 20 <= spent, "{lost} of {spent}");
        }
        assert!(lost > 200, "all are tried");
    }

    #[test]
    fn times_that_scatter_do_not_end_trials() {
        let mut bucket = Bucket::new(Trials::Calls, &[], 0, vec![1, 2]);
        let mut calls = 0;
        while bucket.found().is_none() {
            let arm = bucket.next();
            let took = [if calls % 2 == 0 { 100 } else { 125 }, 149, 80][arm];
            bucket.ran(arm, Some(Duration::from_millis(took)));
            calls += 1;
            assert!(calls < 1000, "it ends");
        }
        assert_eq!(bucket.found(), Some(2));
    }

    #[test]
    fn tries_are_bounded_where_nothing_can_be_measured() {
        let mut bucket = Bucket::new(Trials::Calls, &[], 0, vec![1, 2]);
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
    fn parts_go_round() {
        let mut bucket = Bucket::new(Trials::Parts, &[], 0, vec![1, 2, 3]);
        let (mut ran, mut ends) = (Vec::new(), Vec::new());
        assert!(bucket.is_first(Duration::from_millis(1)) && !bucket.is_first(Duration::from_millis(1)));
        while bucket.found().is_none() {
            if !bucket.may_try() {
                bucket.passed(Duration::from_secs(1));
            }
            let arm = bucket.next();
            bucket.ran(arm, Some(Duration::from_millis([20, 15, 50, 61][arm])));
            ran.push(arm);
            if bucket.is_round_over() {
                ends.push(ran.len());
            }
        }
        // A first part only warms up, however long it takes, unless it takes four times the best one.
        assert_eq!((ran, ends), (vec![0, 1, 2, 3, 0, 1, 2, 0, 1, 0, 1], vec![4, 7, 9, 11]));
        assert_eq!(bucket.found(), Some(1));
    }

    #[test]
    fn parts_are_long_enough_to_be_measured() {
        for (took, length, trials) in [
            (0, 1, Trials::Calls),
            (6, 1, Trials::Calls),
            (7, 8, Trials::Parts),
            (49, 2, Trials::Parts),
            (50, 1, Trials::Parts),
        ] {
            let mut bucket = Bucket::new(Trials::Parts, &[], 0, vec![1]);
            assert!(bucket.is_first(Duration::from_micros(took)));
            assert_eq!((bucket.length(), bucket.trials()), (length, trials), "{took}");
        }
        assert!(!Bucket::new(Trials::Calls, &[], 0, vec![1]).is_first(Duration::ZERO));
    }

    #[test]
    fn one_version_is_found_at_once() {
        assert_eq!(Bucket::new(Trials::Calls, &[], 3, Vec::new()).found(), Some(0));
    }
}
