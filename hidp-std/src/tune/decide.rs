//! From what was measured to rules that may be recorded: what they change is run in pairs with what runs without them, and what
//! they choose with what was best.

use std::time::Instant;

use super::entry::Job;
use super::fit::{Choice, Point, Vetoes, chosen, fit};
use super::measure::Bench;
use super::outcome::{Comparison, Outcome};
use super::progress::Progress;
use super::sample::{DIFFERENCE, Verdict};
use crate::Context;

/// Times that rules are fitted and compared before they are taken as they are.
const MOST_FITS: usize = 10;

/// Fits rules, compares, fits again with what that showed; keeps rules that gain somewhere and lose nowhere.
pub(super) fn decide(
    outcome: &mut Outcome,
    jobs: &[Job<'_>],
    cx: &Context,
    end: Option<Instant>,
) -> Result<(), String> {
    let mut choices = Vec::new();
    let mut vetoes = Vetoes::new();
    for _ in 0..MOST_FITS {
        choices = fit(&outcome.points.iter().collect::<Vec<_>>(), outcome.arms.len(), &vetoes);
        let wanted = wanted(outcome, Some(&choices));
        let news = compare_all(outcome, wanted, jobs, cx, end)?;
        let before = vetoes.len();
        vetoes.extend(slower(outcome, &choices));
        if !news && vetoes.len() == before {
            break;
        }
    }
    cautious(outcome, &mut choices);
    let verdicts = verdicts(outcome, &choices);
    if verdicts.contains(&None) {
        outcome
            .complaints
            .push("there was no time to compare the rules with what runs without them, so none are recorded".into());
    } else if verdicts.contains(&Some(Verdict::First)) && !verdicts.contains(&Some(Verdict::Second)) {
        outcome.keep(choices);
    }
    // What the report says of the distance to the best must be a difference, not luck of the best.
    while compare_all(outcome, wanted(outcome, None), jobs, cx, end)? {}
    outcome.judge_noise();
    Ok(())
}

/// Where rules choose something else than what runs without them: which of both is faster.
fn verdicts(outcome: &Outcome, choices: &[Choice]) -> Vec<Option<Verdict>> {
    let changed = |point: &&Point| chosen(choices, point) != point.untuned;
    let verdict = |point: &Point| Some(outcome.find(point, chosen(choices, point), point.untuned)?.found.verdict);
    outcome.points.iter().filter(changed).map(verdict).collect()
}

/// Choices that were shown to be slower than what runs without rules.
fn slower(outcome: &Outcome, choices: &[Choice]) -> Vetoes {
    let lost = outcome.points.iter().map(|point| (point, chosen(choices, point))).filter(|(point, arm)| {
        let found = outcome.find(point, *arm, point.untuned);
        found.is_some_and(|comparison| comparison.found.verdict == Verdict::Second)
    });
    lost.map(|(point, arm)| (point.name.clone(), arm)).collect()
}

/// Pairs of arms at points that have to be compared: what the rules choose (or, without `choices`, what runs with and without the
/// rules that were kept) with what runs without them, and the best with both, where it is better by a difference that counts.
fn wanted(outcome: &Outcome, choices: Option<&[Choice]>) -> Vec<(usize, usize, usize)> {
    let mut wanted = Vec::new();
    for (at, point) in outcome.points.iter().enumerate() {
        let tuned = choices.map_or_else(|| outcome.tuned(point), |choices| chosen(choices, point));
        wanted.push((at, tuned, point.untuned));
        for arm in [tuned, point.untuned] {
            if point.loss(arm) > DIFFERENCE.ln() {
                wanted.push((at, point.fastest(), arm));
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted.retain(|(at, a, b)| a != b && outcome.find(&outcome.points[*at], *a, *b).is_none());
    wanted
}

/// Whether anything was compared.
fn compare_all(
    outcome: &mut Outcome,
    wanted: Vec<(usize, usize, usize)>,
    jobs: &[Job<'_>],
    cx: &Context,
    end: Option<Instant>,
) -> Result<bool, String> {
    let mut progress = Progress::new(outcome.arms.entry.name, "comparisons", wanted.len(), end);
    let mut news = false;
    for (at, a, b) in wanted {
        if progress.is_over() {
            return Ok(false);
        }
        progress.show();
        let point = &mut outcome.points[at];
        if point.times[a].is_none() || point.times[b].is_none() {
            continue;
        }
        let Some(data) = jobs.iter().find(|job| job.name == point.name).and_then(|job| (job.make)()) else { continue };
        let found = Bench::new(&outcome.arms, point.name.clone(), &data, cx)?.compare(point, a, b)?;
        outcome.compared.push(Comparison { point: point.name.clone(), a, b, found });
        progress.step();
        news = true;
    }
    Ok(news)
}

/// Where a rule lost somewhere, and what runs without rules is one version, the rule chooses that.
fn cautious(outcome: &Outcome, choices: &mut [Choice]) {
    for at in 0..choices.len() {
        let mine: Vec<&Point> = outcome.points.iter().filter(|point| deciding(choices, point) == Some(at)).collect();
        let (arm, first) = (choices[at].1, mine.first().map(|point| point.untuned));
        let lost = mine.iter().any(|point| {
            outcome.find(point, arm, point.untuned).is_some_and(|known| known.found.verdict == Verdict::Second)
        });
        if let Some(untuned) = first.filter(|first| lost && mine.iter().all(|point| point.untuned == *first)) {
            choices[at].1 = untuned;
        }
    }
}

/// Number of the rule that decides.
fn deciding(choices: &[Choice], point: &Point) -> Option<usize> {
    (0..choices.len()).find(|&at| choices[at].0.iter().all(|test| test.holds(&point.values)))
}

#[cfg(test)]
mod tests {
    use super::super::fit::Test;
    use super::super::measure::Compared;
    use super::*;
    use crate::rt::entry::MOST_MEASURES;
    use crate::tuning::testing::SUMS;

    fn compared(point: &str, verdict: Verdict) -> Comparison {
        Comparison { point: point.into(), a: 1, b: 0, found: Compared { verdict, uncertainty: 0.0 } }
    }

    /// Two points, at which the second arm is chosen by different rules.
    fn outcome() -> (Outcome, Vec<Choice>) {
        let point = |name: &str, parallel: i64| {
            let mut values = [-1; MOST_MEASURES];
            values[0] = parallel;
            Point { name: name.into(), values, times: vec![Some(1.0), Some(1.0)], untuned: 0 }
        };
        let mut outcome = Outcome::new(&SUMS);
        outcome.points = vec![point("a", 1), point("b", 9)];
        (outcome, vec![(vec![Test { measure: 0, least: false, bound: 4 }], 1), (Vec::new(), 1)])
    }

    #[test]
    fn a_rule_that_lost_is_withdrawn() {
        let (mut outcome, rules) = outcome();
        let mut choices = rules.clone();
        outcome.compared.push(compared("a", Verdict::First));
        cautious(&outcome, &mut choices);
        assert_eq!(choices, rules);
        assert!(slower(&outcome, &choices).is_empty());
        outcome.compared.push(compared("b", Verdict::Second));
        assert_eq!(slower(&outcome, &choices), Vetoes::from([("b".to_owned(), 1)]));
        assert_eq!(verdicts(&outcome, &choices), [Some(Verdict::First), Some(Verdict::Second)]);
        cautious(&outcome, &mut choices);
        assert_eq!(choices[1].1, 0);
        assert_eq!(choices[0], rules[0]);
        assert_eq!(verdicts(&outcome, &choices), [Some(Verdict::First)]);
    }

    #[test]
    fn what_seems_better_has_to_show_it() {
        let (mut outcome, rules) = outcome();
        assert_eq!(wanted(&outcome, Some(&rules)), [(0, 1, 0), (1, 1, 0)]);
        assert_eq!(wanted(&outcome, None), [], "nothing was kept and nothing seems better");
        outcome.points[1].times = vec![Some(1.1), Some(1.0)];
        assert_eq!(wanted(&outcome, None), [(1, 1, 0)]);
        outcome.compared.push(compared("b", Verdict::First));
        assert_eq!(wanted(&outcome, None), []);
    }
}
