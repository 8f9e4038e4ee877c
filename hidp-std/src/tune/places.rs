//! Host or device: from which intensity, and from how many operations on, calls with arrays of the host gain from the device.
//!
//! Such calls run on both sides, copies included. Only the bounds of two rules are fitted: they are the compiler's own rules, whose bounds are
//! not specific to this machine.

use std::time::Instant;

use super::arguments::Arguments;
use super::clock::Stopwatch;
use super::data::Data;
use super::entry::Job;
use super::fit::between;
use super::progress::Progress;
use super::sample::{calls, typical};
use crate::rt::Dynamic;
use crate::rt::entry::{Bound, Condition, Entry, MOST_MEASURES, Rule, Settings};
use crate::{Context, Error, tuning};

/// Rounds in which both sides run.
const ROUNDS: usize = 5;
/// What rules must save at least over all points, and may lose at one, as a logarithm of time.
const DIFFERENCE: f64 = 0.02;

/// A call on both sides.
#[derive(Clone, Debug)]
struct Point {
    values: [i64; MOST_MEASURES],
    /// Seconds on the processor and on the device.
    times: [f64; 2],
    /// Whether the compiler's rules choose the processor.
    untuned: bool,
}

impl Point {
    fn loss(&self, host: bool) -> f64 {
        (self.times[usize::from(!host)] / self.times[0].min(self.times[1])).ln()
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    points: usize,
    /// Mean losses without rules of one's own, and with them, if they are better.
    untuned: f64,
    tuned: Option<f64>,
    /// `intensity < 900: host; operations < 100000: host`
    pub(super) rules: Option<String>,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |loss: f64| (loss.exp() - 1.0) * 100.0;
        write!(f, "host or device: {} points, untuned {:.1} %", self.points, percent(self.untuned))?;
        match (&self.rules, self.tuned) {
            (Some(rules), Some(tuned)) => write!(f, ", tuned {:.1} % over the better side: {rules}", percent(tuned)),
            (_, _) => f.write_str(" over the better side: no rules are better"),
        }
    }
}

/// Measures calls of an entry on both sides of a context, whose device runs what `device` (a context with the rules that were found
/// for it) chooses, and finds rules.
pub(super) fn find(
    entry: &'static Entry,
    jobs: &[Job<'_>],
    (cx, device): (&Context, &Context),
    end: Option<Instant>,
    complaints: &mut Vec<String>,
) -> Found {
    let sides = [cx.with_plan(Rule::HOST_NAME), device.with_plan(Rule::DEVICE_NAME)];
    let mut progress = Progress::new(entry.name, "host or device", jobs.len(), end);
    let mut points = Vec::new();
    for job in jobs {
        if progress.is_over() && !points.is_empty() {
            break;
        }
        progress.show();
        let Some(data) = (job.make)() else { continue };
        match point(entry, &data, cx, &sides) {
            Ok(Some(point)) => points.push(point),
            Ok(None) => complaints.push(format!("{} at {}: host and device give other results", entry.name, job.name)),
            Err(error) => complaints.push(format!("{} at {}: {error}", entry.name, job.name)),
        }
        progress.step();
    }
    fit(entry, &points)
}

/// `None` if the results differ.
fn point(entry: &'static Entry, data: &[Data], cx: &Context, sides: &[Context; 2]) -> Result<Option<Point>, Error> {
    let mut arguments = Arguments::new(entry, data, None)?;
    let (values, untuned) = {
        let call = Dynamic::new(entry, arguments.args())?;
        (call.measures(true), call.is_for_processor(cx)?)
    };
    let first = time(entry, &mut arguments, &sides[0], 1)?;
    let expected = arguments.values()?.to_vec();
    let second = time(entry, &mut arguments, &sides[1], 1)?;
    let written = entry.params.iter().zip(arguments.values()?.iter().zip(&expected)).filter(|(param, _)| param.writes);
    if !written.into_iter().all(|(_, (found, expected))| found.agrees(expected)) {
        return Ok(None);
    }
    let mut samples = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let count = calls(Some([first, second][side]));
            samples[side].push(time(entry, &mut arguments, &sides[side], count)?);
        }
    }
    Ok(Some(Point { values, times: samples.map(|samples| typical(&samples)), untuned }))
}

/// Seconds a call.
fn time(entry: &'static Entry, arguments: &mut Arguments<'_>, cx: &Context, count: usize) -> Result<f64, Error> {
    let keeps = !entry.params.iter().any(|param| param.writes && param.reads);
    let (mut seconds, mut left) = (0.0, count);
    while left > 0 {
        arguments.restore()?;
        let batch = if keeps { left } else { 1 };
        let call = Dynamic::new(entry, arguments.args())?;
        let watch = Stopwatch::start();
        for _ in 0..batch {
            // SAFETY: the entry comes from `Entries`, whose functions are safe to call with arguments of these types.
            unsafe { call.run(cx) }?;
        }
        cx.synchronize()?;
        seconds += watch.seconds();
        left -= batch;
    }
    Ok(seconds / count as f64)
}

/// Bounds that lose least, and nowhere against the compiler's rules.
fn fit(entry: &'static Entry, points: &[Point]) -> Found {
    let mean = |choose: &dyn Fn(&Point) -> bool| {
        points.iter().map(|point| point.loss(choose(point))).sum::<f64>() / points.len().max(1) as f64
    };
    let untuned = mean(&|point| point.untuned);
    let find = |name: &str| entry.dispatch.measures.iter().position(|measure| measure.name == name);
    let measures: Vec<usize> = match (find("intensity"), find("operations"), find("parallel")) {
        (Some(intensity), Some(operations), _) => vec![intensity, operations],
        (_, _, Some(parallel)) => vec![parallel],
        (_, _, None) => Vec::new(),
    };
    let mut best: Option<(f64, Vec<i64>)> = None;
    for bounds in combinations(&measures, points) {
        let host =
            |point: &Point| measures.iter().zip(&bounds).any(|(at, bound)| (0..*bound).contains(&point.values[*at]));
        let loss = mean(&host);
        let loses = points.iter().any(|point| point.loss(host(point)) > point.loss(point.untuned) + DIFFERENCE);
        if !loses && loss + DIFFERENCE < untuned && best.as_ref().is_none_or(|(least, _)| loss < *least) {
            best = Some((loss, bounds));
        }
    }
    let rules = best.as_ref().map(|(_, bounds)| print(entry, &measures, bounds));
    Found { points: points.len(), untuned, tuned: best.map(|(loss, _)| loss), rules }
}

/// Bounds worth trying: between the values of points, below and above all.
fn combinations(measures: &[usize], points: &[Point]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for &measure in measures {
        let mut values: Vec<i64> =
            points.iter().map(|point| point.values[measure]).filter(|value| *value >= 0).collect();
        values.sort_unstable();
        values.dedup();
        let inner = values.windows(2).map(|pair| between(pair[0], pair[1]));
        let above = values.last().map(|last| last.saturating_add(1).min(1 << 62));
        let bounds: Vec<i64> = [0].into_iter().chain(inner).chain(above).collect();
        all = all
            .iter()
            .flat_map(|head: &Vec<i64>| bounds.iter().map(|bound| head.iter().copied().chain([*bound]).collect()))
            .collect();
    }
    all
}

fn print(entry: &'static Entry, measures: &[usize], bounds: &[i64]) -> String {
    let rules = measures.iter().zip(bounds).map(|(&measure, &bound)| {
        let condition = Condition { measure, least: false, bound: Bound::Fixed(bound) };
        // A handful in the life of the program.
        Rule { conditions: Vec::leak(vec![condition]), version: Rule::HOST, settings: Settings::USUAL }
    });
    tuning::print(entry, &rules.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::{Dispatch, Measure, Op};

    static ENTRY: Entry = Entry {
        name: "a::b",
        params: &[],
        dims: &[],
        versions: &[],
        dispatch: Dispatch {
            measures: &[
                Measure { name: "operations", program: &[Op::Const(1), Op::Work] },
                Measure { name: "intensity", program: &[Op::Const(1), Op::PerKib] },
            ],
            ..Dispatch::NONE
        },
        sites: &[],
    };

    fn point(operations: i64, intensity: i64, host: f64, device: f64) -> Point {
        let mut values = [-1; MOST_MEASURES];
        (values[0], values[1]) = (operations, intensity);
        Point { values, times: [host, device], untuned: operations < 1000 }
    }

    #[test]
    fn bounds_are_found_between_points() {
        let points = [
            point(100, 900, 1.0, 9.0),
            point(1_000_000, 100, 50.0, 90.0),
            point(10_000, 900, 5.0, 2.0),
            point(1_000_000, 900, 80.0, 5.0),
        ];
        let found = fit(&ENTRY, &points);
        assert_eq!(found.rules.as_deref(), Some("intensity < 300: host; operations < 1000: host"));
        assert_eq!((found.tuned, found.points), (Some(0.0), 4));
        assert!(found.untuned > 0.1 && found.to_string().contains("untuned 15.8 %"), "{found}");
    }

    #[test]
    fn what_is_no_better_is_not_kept() {
        let points = [point(100, 900, 1.0, 9.0), point(10_000, 900, 5.0, 2.0)];
        let found = fit(&ENTRY, &points);
        assert!(found.rules.is_none() && found.to_string().ends_with("no rules are better"), "{found}");
        assert!(fit(&ENTRY, &[]).rules.is_none());
        // A gain that costs another point something is none.
        let mixed = [point(2000, 900, 1.0, 9.0), point(2000, 900, 9.0, 8.0)];
        assert!(fit(&ENTRY, &mixed).rules.is_none());
    }
}
