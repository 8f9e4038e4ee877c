//! The outcome of tuning an entry, in readable form.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::arms::Arms;
use super::fit::{Choice, Point, Test, chosen, mean_loss, regression, worst_loss};
use super::measure::Compared;
use super::places::Found;
use super::record::Recorded;
use super::sample::median;
use crate::rt::entry::{Bound, Condition, Entry, Rule};
use crate::tuning;

/// The result of tuning an entry.
#[derive(Debug)]
pub struct Outcome {
    pub(super) arms: Arms,
    pub(super) points: Vec<Point>,
    pub(super) choices: Vec<Choice>,
    rules: Option<String>,
    pub(super) complaints: Vec<String>,
    /// Points left out for want of time.
    pub(super) left_out: usize,
    /// The time in which none would be, as those that were measured tell.
    pub(super) needed: Option<Duration>,
    pub(super) skipped: Option<String>,
    /// Which calls with arrays of the host are for the processor, if that was measured.
    pub(super) places: Option<Found>,
    /// Runs in pairs, the last of equal ones counts.
    pub(super) compared: Vec<Comparison>,
}

/// Two arms that ran in pairs at a point.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) point: String,
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) found: Compared,
}

/// Ratios that are known this badly, usually, say little.
const UNSURE: f64 = 0.05;

/// A loss that the summary counts.
const NEAR: f64 = 1.05;

impl Outcome {
    pub(super) fn new(entry: &'static Entry) -> Outcome {
        Outcome {
            arms: Arms::new(entry),
            points: Vec::new(),
            choices: Vec::new(),
            rules: None,
            complaints: Vec::new(),
            left_out: 0,
            needed: None,
            skipped: None,
            places: None,
            compared: Vec::new(),
        }
    }
    /// What goes into a record: the rules for `host`, then those of versions.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        let host = self.places.as_ref().and_then(|found| found.rules.as_deref());
        let rules: Vec<&str> = host.into_iter().chain(self.rules()).collect();
        (!rules.is_empty()).then(|| Recorded { rules: rules.join("; "), places: host.is_some() })
    }
    /// `file::function`
    pub fn entry(&self) -> &'static str {
        self.arms.entry.name
    }
    /// The recorded rules; `None` if none are better than the compiler's own.
    pub fn rules(&self) -> Option<&str> {
        self.rules.as_deref()
    }
    /// Whether anything could be measured.
    pub fn measured(&self) -> bool {
        !self.points.is_empty()
    }
    /// Problems of single versions or inputs.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }
    /// Mean and worst time, relative to the best version at each point: without records, with the rules, and with the
    /// switching points of the HiDP paper's regression.
    pub fn losses(&self) -> [(f64, f64); 3] {
        let points: Vec<&Point> = self.points.iter().collect();
        let lines = regression(&points, self.arms.len());
        let untuned = |point: &Point| point.untuned;
        let tuned = |point: &Point| self.tuned(point);
        [
            (mean_loss(&points, untuned), worst_loss(&points, untuned)),
            (mean_loss(&points, tuned), worst_loss(&points, tuned)),
            (mean_loss(&points, &lines), worst_loss(&points, &lines)),
        ]
    }
    /// The point where a choice costs most, if it costs anything.
    fn worst(&self, choose: &dyn Fn(&Point) -> usize) -> Option<&Point> {
        let loss = |point: &Point| point.loss(choose(point));
        self.points.iter().filter(|point| loss(point) > 0.0).max_by(|a, b| loss(a).total_cmp(&loss(b)))
    }
    /// What is known of two arms at a point.
    pub(super) fn find(&self, point: &Point, a: usize, b: usize) -> Option<&Comparison> {
        self.compared.iter().rev().find(|known| known.point == point.name && (known.a, known.b) == (a, b))
    }
    /// How far the ratios of runs in pairs may be from the truth: usually, and at worst.
    fn uncertainty(&self) -> Option<(f64, f64)> {
        let all: Vec<f64> = self.compared.iter().map(|known| known.found.uncertainty).collect();
        (!all.is_empty()).then(|| (median(&all), all.iter().copied().fold(0.0, f64::max)))
    }
    /// Complains if something disturbed the measurements.
    pub(super) fn judge_noise(&mut self) {
        if let Some((usual, _)) = self.uncertainty().filter(|(usual, _)| *usual > UNSURE) {
            let (name, percent) = (self.entry(), usual * 100.0);
            self.complaints.push(format!(
                "{name}: runs in pairs scatter so that their ratios are known to {percent:.0} % only: differences below are not found"
            ));
        }
    }
    /// The arm that runs at a point after tuning.
    pub(super) fn tuned(&self, point: &Point) -> usize {
        if self.rules.is_some() { chosen(&self.choices, point) } else { point.untuned }
    }
    /// These rules are better than none.
    pub(super) fn keep(&mut self, choices: Vec<Choice>) {
        let rules: Vec<Rule> = choices.iter().map(|choice| self.rule(choice)).collect();
        self.rules = Some(tuning::print(self.arms.entry, &rules));
        self.choices = choices;
    }
    fn rule(&self, (tests, arm): &Choice) -> Rule {
        let condition =
            |test: &Test| Condition { measure: test.measure, least: test.least, bound: Bound::Fixed(test.bound) };
        let arm = self.arms.get(*arm);
        // A handful in the life of the program.
        let conditions = Vec::leak(tests.iter().map(condition).collect());
        Rule { conditions, version: arm.version, settings: arm.settings }
    }

    /// A Markdown section: a summary, and a table of all points.
    pub fn markdown(&self) -> String {
        let mut text = format!("### `{}`\n\n", self.entry());
        if !self.measured() {
            let _ = writeln!(text, "Not tuned: {}.", self.skipped.as_deref().unwrap_or("nothing could be measured"));
            return text;
        }
        let near = |arm: &dyn Fn(&Point) -> usize| {
            self.points.iter().filter(|point| point.loss(arm(point)).exp() <= NEAR).count()
        };
        let all = self.points.len();
        let [untuned, tuned, lines] = self.losses();
        let rows: [(&str, (f64, f64), usize); 2] = [
            ("untuned", untuned, near(&|point: &Point| point.untuned)),
            ("tuned", tuned, near(&|point: &Point| self.tuned(point))),
        ];
        for (name, (mean, worst), near) in rows {
            let _ = writeln!(
                text,
                "- {name}: {mean:.3} of the best version's time on average, {worst:.3} at worst; within 5 % at {near} of {all} points"
            );
        }
        let slower = self.points.iter().filter(|point| self.tuned(point) != point.untuned);
        let slower = slower.filter(|point| point.loss(self.tuned(point)) > point.loss(point.untuned)).count();
        let _ = writeln!(
            text,
            "- tuned is slower than untuned at {slower} points; the paper's regression: {:.3}, {:.3} at worst",
            lines.0, lines.1
        );
        if let Some((usual, worst)) = self.uncertainty() {
            let _ = writeln!(
                text,
                "- {} pairs of versions were run in turn; their ratios are known to {:.1} %, the least certain one to {:.1} %",
                self.compared.len(),
                usual * 100.0,
                worst * 100.0
            );
        }
        let _ = writeln!(
            text,
            "- rules: `{}`\n",
            self.rules().unwrap_or("none are reliably faster than the compiler's own")
        );
        text.push_str("| input | best | µs | untuned | x best | tuned | x best |\n|---|---|---|---|---|---|---|\n");
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by_key(|point| point.values);
        for point in points {
            let factor = |arm: usize| point.loss(arm).exp();
            let (untuned, tuned) = (point.untuned, self.tuned(point));
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} | {} | {:.2} | {} | {:.2} |",
                point.name,
                self.arms.name(point.fastest()),
                point.best() * 1e6,
                self.arms.name(untuned),
                factor(untuned),
                self.arms.name(tuned),
                factor(tuned)
            );
        }
        text
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.skipped {
            return write!(f, "{}: not tuned: {why}", self.entry());
        }
        if let Some(found) = &self.places {
            writeln!(f, "{}: {found}", self.entry())?;
        }
        self.complaints.iter().try_for_each(|complaint| writeln!(f, "warning: {complaint}"))?;
        let [untuned, tuned, lines] = self.losses();
        let percent = |(mean, worst): (f64, f64)| {
            format!("{:.1} % over the best version, {:.1} % at worst", (mean - 1.0) * 100.0, (worst - 1.0) * 100.0)
        };
        let place = |choose: &dyn Fn(&Point) -> usize| match self.worst(choose) {
            Some(point) => format!(" ({})", point.name),
            None => String::new(),
        };
        write!(f, "{}: {} points", self.entry(), self.points.len())?;
        if self.left_out > 0 {
            write!(f, " ({} left out for want of time", self.left_out)?;
            let needed = self.needed.map(|needed| format!(", about {:.0} s would do", needed.as_secs_f64().ceil()));
            write!(f, "{})", needed.unwrap_or_default())?;
        }
        writeln!(f, "\n  untuned:    {}{}", percent(untuned), place(&|point| point.untuned))?;
        writeln!(f, "  tuned:      {}{}", percent(tuned), place(&|point| self.tuned(point)))?;
        writeln!(f, "  regression: {}", percent(lines))?;
        write!(
            f,
            "  rules:      {}",
            self.rules.as_deref().unwrap_or("none are reliably faster than the compiler's own")
        )
    }
}
