//! From what was measured to rules that may be recorded: what they change is run in pairs with what runs without them, and what
//! they choose with what was best.

use std::time::Instant;

use super::entry::Job;
use super::fit::{Choice, Point, TOLERATED, chosen, fit};
use super::measure::Bench;
use super::outcome::Outcome;
use super::progress::Progress;
use super::sample::Verdict;
use crate::Context;

/// Times that rules are fitted and compared before they are taken as they are.
const MOST_FITS: usize = 6;

/// Comparisons of two arms at a point.
struct Compared {
    list: Vec<(String, usize, usize, Verdict)>,
}

impl Compared {
    fn find(&self, point: &Point, a: usize, b: usize) -> Option<Verdict> {
        let same =
            |(name, one, other, _): &&(String, usize, usize, Verdict)| (name, *one, *other) == (&point.name, a, b);
        self.list.iter().find(same).map(|(.., verdict)| *verdict)
    }
}

/// Fits rules, compares, fits again with what that showed; keeps rules that gain somewhere and lose nowhere.
pub(super) fn decide(outcome: &mut Outcome, jobs: &[Job<'_>], cx: &Context, end: Instant) -> Result<(), String> {
    let mut compared = Compared { list: Vec::new() };
    let mut choices = Vec::new();
    for round in 0..MOST_FITS {
        choices = fit(&outcome.points.iter().collect::<Vec<_>>(), outcome.arms.len());
        if round + 1 == MOST_FITS {
            cautious(&mut choices, &outcome.points, &compared);
        }
        if !compare_all(outcome, &choices, jobs, cx, end, &mut compared)? {
            break;
        }
    }
    let changed = |point: &&Point| chosen(&choices, point) != point.untuned;
    let verdicts: Vec<Option<Verdict>> = outcome
        .points
        .iter()
        .filter(changed)
        .map(|point| compared.find(point, chosen(&choices, point), point.untuned))
        .collect();
    if verdicts.contains(&None) {
        outcome.complaints.push("there was no time to compare the rules with what runs without them".into());
    } else if verdicts.contains(&Some(Verdict::First)) && !verdicts.contains(&Some(Verdict::Second)) {
        outcome.keep(choices);
    }
    Ok(())
}

/// Compares what the rules choose with what runs without them and with what was best. Whether anything was new.
fn compare_all(
    outcome: &mut Outcome,
    choices: &[Choice],
    jobs: &[Job<'_>],
    cx: &Context,
    end: Instant,
    compared: &mut Compared,
) -> Result<bool, String> {
    let mut wanted = Vec::new();
    for (at, point) in outcome.points.iter().enumerate() {
        let tuned = chosen(choices, point);
        if tuned != point.untuned {
            wanted.push((at, tuned, point.untuned));
        }
        if point.loss(tuned) > TOLERATED && point.fastest() != point.untuned {
            wanted.push((at, tuned, point.fastest()));
        }
    }
    wanted.retain(|(at, a, b)| a != b && compared.find(&outcome.points[*at], *a, *b).is_none());
    let mut progress = Progress::new(outcome.arms.entry.name, "comparisons", wanted.len(), end);
    let mut news = false;
    for (at, a, b) in wanted {
        if progress.is_over() {
            return Ok(false);
        }
        progress.show();
        let point = &mut outcome.points[at];
        let Some(data) = jobs.iter().find(|job| job.name == point.name).and_then(|job| (job.make)()) else { continue };
        let verdict = Bench::new(&outcome.arms, point.name.clone(), &data, cx)?.compare(point, a, b)?;
        compared.list.push((point.name.clone(), a, b, verdict));
        progress.step();
        news = true;
    }
    Ok(news)
}

/// Where a rule lost somewhere, and what runs without rules is one version, the rule chooses that.
fn cautious(choices: &mut [Choice], points: &[Point], compared: &Compared) {
    for at in 0..choices.len() {
        let mine: Vec<&Point> = points.iter().filter(|point| deciding(choices, point) == Some(at)).collect();
        let (arm, first) = (choices[at].1, mine.first().map(|point| point.untuned));
        let lost = mine.iter().any(|point| compared.find(point, arm, point.untuned) == Some(Verdict::Second));
        if let Some(untuned) = first.filter(|first| lost && mine.iter().all(|point| point.untuned == *first)) {
            choices[at].1 = untuned;
        }
    }
}

/// Number of the rule that decides.
fn deciding(choices: &[Choice], point: &Point) -> Option<usize> {
    (0..choices.len()).find(|&at| choices[at].0.iter().all(|test| test.holds(point)))
}

#[cfg(test)]
mod tests {
    use super::super::fit::Test;
    use super::*;
    use crate::rt::entry::MOST_MEASURES;

    #[test]
    fn a_rule_that_lost_is_withdrawn() {
        let point = |name: &str, parallel: i64| {
            let mut values = [-1; MOST_MEASURES];
            values[0] = parallel;
            Point { name: name.into(), values, times: vec![Some(1.0), Some(1.0)], untuned: 0 }
        };
        let points = [point("a", 1), point("b", 9)];
        let rules = vec![(vec![Test { measure: 0, least: false, bound: 4 }], 1), (Vec::new(), 1)];
        let mut choices = rules.clone();
        let mut compared = Compared { list: vec![("a".into(), 1, 0, Verdict::First)] };
        cautious(&mut choices, &points, &compared);
        assert_eq!(choices, rules);
        compared.list.push(("b".into(), 1, 0, Verdict::Second));
        cautious(&mut choices, &points, &compared);
        assert_eq!(choices[1].1, 0);
        assert_eq!(choices[0], rules[0]);
    }
}
