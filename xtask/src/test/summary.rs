//! What was run, what it cost, and what was skipped and why.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::kind::{Kind, Work};

#[derive(Debug, Default)]
pub(super) struct Summary {
    kinds: Vec<(&'static Kind, Ended, Duration)>,
}

/// What became of a kind.
#[derive(Debug)]
pub(super) enum Ended {
    Ran(Ran),
    Skipped(String),
}

#[derive(Debug)]
pub(super) struct Ran {
    pub(super) passed: bool,
    /// Where the system says it.
    pub(super) processor: Option<Duration>,
    /// What the same compilation took meanwhile, where that is known.
    pub(super) pace: Option<Duration>,
    /// What tests of it skipped, and why.
    pub(super) skipped: Vec<String>,
}

impl Ran {
    /// Processor time per budget, had the machine been as fast as it was at best.
    fn cost(&self, kind: &Kind, best: Option<Duration>) -> Option<f64> {
        let slower = self.pace.zip(best).map_or(1.0, |(pace, best)| pace.as_secs_f64() / best.as_secs_f64());
        self.processor.map(|time| time.as_secs_f64() / f64::from(kind.budget) / slower)
    }
}

/// How much dearer than its budget a kind may be, beside the others.
const MOST: f64 = 1.5;

impl Summary {
    pub(super) fn add(&mut self, kind: &'static Kind, ended: Ended, wall: Duration) {
        self.kinds.push((kind, ended, wall));
    }

    /// Whether the rest cannot be run.
    pub(super) fn must_end(&self) -> bool {
        let failed = |(kind, ended, _): &(&Kind, Ended, Duration)| {
            kind.work == Work::Build && matches!(ended, Ended::Ran(Ran { passed: false, .. }))
        };
        self.kinds.last().is_some_and(failed)
    }

    pub(super) fn passed(&self) -> bool {
        let usual = self.usual();
        self.ran().all(|(kind, ran, _)| ran.passed && !is_over(kind, ran, usual))
    }

    /// The kinds that ran, and how long.
    fn ran(&self) -> impl Iterator<Item = (&'static Kind, &Ran, Duration)> {
        self.kinds.iter().filter_map(|(kind, ended, wall)| match ended {
            Ended::Ran(ran) => Some((*kind, ran, *wall)),
            Ended::Skipped(_) => None,
        })
    }

    /// Budgets are times of one machine, and others are slower: the median cost of the kinds that ran is the usual one. It is at least 1, as a kind
    /// within its budget is never too dear.
    fn usual(&self) -> Usual {
        let best = self.ran().filter_map(|(_, ran, _)| ran.pace).min();
        let mut costs: Vec<f64> = self.ran().filter_map(|(kind, ran, _)| ran.cost(kind, best)).collect();
        costs.sort_by(f64::total_cmp);
        Usual { cost: costs.get(costs.len() / 2).map_or(1.0, |median| median.max(1.0)), best }
    }
}

/// What kinds are compared with.
#[derive(Clone, Copy)]
struct Usual {
    cost: f64,
    /// The pace of the kind during which the machine was fastest.
    best: Option<Duration>,
}

fn is_over(kind: &Kind, ran: &Ran, usual: Usual) -> bool {
    ran.cost(kind, usual.best).is_some_and(|cost| cost > MOST * usual.cost)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<22} {:>12} {:>8} {:>8} {:>9}", "kind", "processor", "budget", "wall", "pace")?;
        let (mut all, mut wall_of_all) = (Duration::ZERO, Duration::ZERO);
        let usual = self.usual();
        for (kind, ran, wall) in self.ran() {
            all += ran.processor.unwrap_or_default();
            wall_of_all += wall;
            let time = ran.processor.map_or("?".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
            let pace = ran.pace.map_or("?".to_owned(), |pace| format!("{} ms", pace.as_millis()));
            let verdict = match (ran.passed, is_over(kind, ran, usual)) {
                (false, _) => "  FAILED",
                (true, true) => "  FAILED: more than half as much again as its budget, beside the other kinds",
                (true, false) => "",
            };
            let (budget, wall) = (kind.budget, wall.as_secs_f64());
            writeln!(f, "{:<22} {time:>12} {budget:>6} s {wall:>6.1} s {pace:>9}{verdict}", kind.name)?;
        }
        writeln!(f, "{:<22} {:>10.1} s {:>8} {:>6.1} s", "all", all.as_secs_f64(), "", wall_of_all.as_secs_f64())?;
        for (kind, ended, _) in &self.kinds {
            match ended {
                Ended::Skipped(why) => writeln!(f, "skipped: {}: {why}", kind.name)?,
                Ended::Ran(ran) => {
                    let mut whys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
                    for said in &ran.skipped {
                        let (what, why) = said.split_once(": ").unwrap_or((said, "no reason"));
                        whys.entry(why).or_default().push(what);
                    }
                    for (why, what) in whys {
                        writeln!(f, "skipped: {}: {}: {why}", kind.name, what.join(", "))?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::KINDS;
    use super::*;

    fn ran(kind: &Kind, passed: bool, part_of_budget: f64) -> Ended {
        let processor = Some(Duration::from_secs_f64(f64::from(kind.budget) * part_of_budget));
        Ended::Ran(Ran { passed, processor, pace: None, skipped: vec!["a test: no compiler".to_owned()] })
    }

    /// One kind, between others that are as slow as the machine.
    fn summary(passed: bool, part_of_budget: f64, machine: f64) -> Summary {
        let mut summary = Summary::default();
        let [_, tested, skipped, others @ ..] = KINDS else { panic!("there are several kinds") };
        summary.add(tested, ran(tested, passed, part_of_budget), Duration::from_secs(2));
        summary.add(skipped, Ended::Skipped("no reason".to_owned()), Duration::ZERO);
        for other in others {
            summary.add(other, ran(other, true, machine), Duration::ZERO);
        }
        summary
    }

    #[test]
    fn half_as_much_again_as_the_budget_fails() {
        assert!(summary(true, 1.4, 1.0).passed());
        assert!(!summary(true, 1.7, 1.0).passed());
        assert!(!summary(true, 1.7, 0.5).passed());
        assert!(summary(true, 1.7, 1.0).to_string().contains("more than half as much again"));
        assert!(!summary(false, 0.1, 1.0).passed());
    }

    #[test]
    fn slow_machines_and_fast_ones_change_no_verdict() {
        assert!(summary(true, 2.5, 2.0).passed());
        assert!(!summary(true, 3.2, 2.0).passed());
        assert!(summary(true, 1.0, 0.5).passed());
    }

    #[test]
    fn a_machine_that_slows_down_for_a_while_changes_no_verdict() {
        let with_pace = |of_tested, of_others| {
            let mut summary = summary(true, 2.0, 1.0);
            for (kind, ended, _) in &mut summary.kinds {
                let Ended::Ran(ran) = ended else { continue };
                ran.pace = Some(Duration::from_millis(if kind.name == KINDS[1].name { of_tested } else { of_others }));
            }
            summary
        };
        assert!(with_pace(200, 100).passed());
        assert!(!with_pace(100, 100).passed());
        assert!(!with_pace(100, 200).passed());
    }

    #[test]
    fn what_was_skipped_is_said_with_its_reason() {
        let text = summary(true, 1.0, 1.0).to_string();
        let expected = [
            format!("skipped: {}: a test: no compiler", KINDS[1].name),
            format!("skipped: {}: no reason", KINDS[2].name),
        ];
        assert!(expected.iter().all(|line| text.contains(line)), "{text}");
    }
}
