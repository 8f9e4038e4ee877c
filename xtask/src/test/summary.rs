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
    /// What tests of it skipped, and why.
    pub(super) skipped: Vec<String>,
}

impl Ran {
    /// Whether it took more than half as much again as it may.
    fn is_over(&self, kind: &Kind) -> bool {
        self.processor.is_some_and(|time| time.as_secs() * 2 > u64::from(kind.budget) * 3)
    }
}

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
        self.kinds.iter().all(|(kind, ended, _)| match ended {
            Ended::Ran(ran) => ran.passed && !ran.is_over(kind),
            Ended::Skipped(_) => true,
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<22} {:>12} {:>8} {:>8}", "kind", "processor", "budget", "wall")?;
        let (mut all, mut wall_of_all) = (Duration::ZERO, Duration::ZERO);
        for (kind, ended, wall) in &self.kinds {
            let Ended::Ran(ran) = ended else { continue };
            all += ran.processor.unwrap_or_default();
            wall_of_all += *wall;
            let time = ran.processor.map_or("?".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
            let verdict = match (ran.passed, ran.is_over(kind)) {
                (false, _) => "  FAILED",
                (true, true) => "  FAILED: more than half as much again as its budget",
                (true, false) => "",
            };
            let (budget, wall) = (kind.budget, wall.as_secs_f64());
            writeln!(f, "{:<22} {time:>12} {budget:>6} s {wall:>6.1} s{verdict}", kind.name)?;
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

    fn summary(passed: bool, part_of_budget: f64) -> Summary {
        let kind = &KINDS[1];
        let processor = Some(Duration::from_secs_f64(f64::from(kind.budget) * part_of_budget));
        let mut summary = Summary::default();
        let ran = Ran { passed, processor, skipped: vec!["a test: no compiler".to_owned()] };
        summary.add(kind, Ended::Ran(ran), Duration::from_secs(2));
        summary.add(&KINDS[2], Ended::Skipped("no reason".to_owned()), Duration::ZERO);
        summary
    }

    #[test]
    fn half_as_much_again_as_the_budget_fails() {
        assert!(summary(true, 1.4).passed());
        assert!(!summary(true, 1.7).passed());
        assert!(summary(true, 1.7).to_string().contains("more than half as much again"));
        assert!(!summary(false, 0.1).passed());
    }

    #[test]
    fn what_was_skipped_is_said_with_its_reason() {
        let text = summary(true, 1.0).to_string();
        let expected = [
            format!("skipped: {}: a test: no compiler", KINDS[1].name),
            format!("skipped: {}: no reason", KINDS[2].name),
        ];
        assert!(expected.iter().all(|line| text.contains(line)), "{text}");
    }
}
