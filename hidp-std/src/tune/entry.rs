//! Tuning one entry.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::Registered;
use super::data::{self, Data};
use super::fit::{Choice, Point, chosen, fit, mean_loss, regression, worst_loss};
use super::measure::{Bench, Verdict};
use super::partial::Partial;
use super::sweep::{Limits, sizes};
use crate::Context;
use crate::rt::entry::{Bound, Condition, Entry, Rule};
use crate::tuning;

/// What tuning an entry gave.
#[derive(Debug)]
pub struct Outcome {
    pub(super) entry: &'static Entry,
    pub(super) points: Vec<Point>,
    pub(super) choices: Vec<Choice>,
    rules: Option<String>,
    complaints: Vec<String>,
    /// Points left out for want of time.
    left_out: usize,
    skipped: Option<String>,
}

impl Outcome {
    /// The rules that were recorded, if any are better than none.
    pub fn rules(&self) -> Option<&str> {
        self.rules.as_deref()
    }
    /// Whether anything could be measured.
    pub fn measured(&self) -> bool {
        !self.points.is_empty()
    }
    /// What was wrong with some versions, or inputs.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }
    /// Mean and worst time, as factors of the best version's at each point: without records, with the rules, and with the
    /// switching points of the HiDP paper's regression.
    pub fn losses(&self) -> [(f64, f64); 3] {
        let points: Vec<&Point> = self.points.iter().collect();
        let lines = regression(&points, self.entry.versions.len());
        let untuned = |point: &Point| point.untuned;
        let tuned = |point: &Point| self.tuned(point);
        [
            (mean_loss(&points, untuned), worst_loss(&points, untuned)),
            (mean_loss(&points, tuned), worst_loss(&points, tuned)),
            (mean_loss(&points, &lines), worst_loss(&points, &lines)),
        ]
    }
    /// The version that runs at a point after tuning.
    pub(super) fn tuned(&self, point: &Point) -> usize {
        if self.rules.is_some() { chosen(&self.choices, point) } else { point.untuned }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.skipped {
            return write!(f, "{}: not tuned: {why}", self.entry.name);
        }
        self.complaints.iter().try_for_each(|complaint| writeln!(f, "warning: {complaint}"))?;
        let [untuned, tuned, lines] = self.losses();
        let percent = |(mean, worst): (f64, f64)| {
            format!("{:.1} % over the best version, {:.1} % at worst", (mean - 1.0) * 100.0, (worst - 1.0) * 100.0)
        };
        write!(f, "{}: {} points", self.entry.name, self.points.len())?;
        if self.left_out > 0 {
            write!(f, " ({} left out for want of time)", self.left_out)?;
        }
        writeln!(f, "\n  untuned:    {}", percent(untuned))?;
        writeln!(f, "  tuned:      {}", percent(tuned))?;
        writeln!(f, "  regression: {}", percent(lines))?;
        write!(
            f,
            "  rules:      {}",
            self.rules.as_deref().unwrap_or("none are reliably faster than the compiler's own")
        )
    }
}

/// Arguments that are made when it is their turn.
struct Job<'a> {
    name: String,
    make: Box<dyn Fn() -> Option<Vec<Data>> + 'a>,
}

/// Measures an entry until `end` and finds rules for it.
pub(super) fn tune(
    entry: &'static Entry,
    registered: &[&Registered],
    cx: &Context,
    end: Instant,
    partial: &mut Partial,
) -> Result<Outcome, String> {
    let mut outcome = Outcome {
        entry,
        points: Vec::new(),
        choices: Vec::new(),
        rules: None,
        complaints: Vec::new(),
        left_out: 0,
        skipped: None,
    };
    if entry.versions.len() < 2 || entry.dispatch.measures.is_empty() {
        outcome.skipped = Some("it has one version, or none of its sizes is known before it runs".into());
        return Ok(outcome);
    }
    let made_up = data::cannot_make_up(entry);
    let mut jobs: Vec<Job<'_>> = registered.iter().map(|input| job_of(input)).collect();
    match made_up {
        None => jobs.extend(sizes(entry, Limits::default()).into_iter().map(|dims| sized(entry, dims))),
        Some(why) if jobs.is_empty() => {
            outcome.skipped = Some(why);
            return Ok(outcome);
        }
        Some(_) => {}
    }
    measure(&mut outcome, &jobs, cx, end, partial)?;
    if outcome.measured() {
        decide(&mut outcome, &jobs, cx)?;
    }
    Ok(outcome)
}

fn job_of<'a>(input: &'a Registered) -> Job<'a> {
    Job { name: input.name.clone(), make: Box::new(|| Some((input.make)())) }
}

fn sized(entry: &'static Entry, dims: Vec<i64>) -> Job<'static> {
    let sizes: Vec<String> = entry.dims.iter().zip(&dims).map(|(name, size)| format!("{name} = {size}")).collect();
    Job { name: sizes.join(", "), make: Box::new(move || data::make_up(entry, &dims)) }
}

/// Of the time, this part is for measuring; the rest for comparing what was found.
const MEASURING: f64 = 0.75;

fn measure(
    outcome: &mut Outcome,
    jobs: &[Job<'_>],
    cx: &Context,
    end: Instant,
    partial: &mut Partial,
) -> Result<(), String> {
    let start = Instant::now();
    let stop = start + end.saturating_duration_since(start).mul_f64(MEASURING);
    let entry = outcome.entry;
    for (at, job) in jobs.iter().enumerate() {
        if let Some(point) = partial.find(entry, cx, &job.name) {
            outcome.points.push(point);
            continue;
        }
        if Instant::now() >= stop && !outcome.points.is_empty() {
            outcome.left_out += 1;
            continue;
        }
        progress(entry, at, jobs.len(), start, stop);
        let Some(data) = (job.make)() else { continue };
        let point =
            Bench::new(entry, job.name.clone(), &data, cx).and_then(|mut bench| bench.point(&mut outcome.complaints));
        match point {
            Ok(point) => {
                partial.add(entry, cx, &point)?;
                outcome.points.push(point);
            }
            Err(why) => outcome.complaints.push(format!("{} at {}: {why}", entry.name, job.name)),
        }
    }
    clear();
    Ok(())
}

/// Times that rules are fitted and compared before they are given up.
const MOST_FITS: usize = 4;

/// Fits rules; compares them, where they change anything, with what runs without them; fits again with what that showed.
fn decide(outcome: &mut Outcome, jobs: &[Job<'_>], cx: &Context) -> Result<(), String> {
    let (entry, versions) = (outcome.entry, outcome.entry.versions.len());
    let mut compared: Vec<(String, usize, Verdict)> = Vec::new();
    for _ in 0..MOST_FITS {
        let choices = fit(&outcome.points.iter().collect::<Vec<_>>(), versions);
        let mut news = false;
        let mut verdicts = Vec::new();
        for point in &mut outcome.points {
            let tuned = chosen(&choices, point);
            if tuned == point.untuned {
                continue;
            }
            let known = compared.iter().find(|(name, version, _)| *name == point.name && *version == tuned);
            if let Some((_, _, verdict)) = known {
                verdicts.push(*verdict);
                continue;
            }
            let Some(data) = jobs.iter().find(|job| job.name == point.name).and_then(|job| (job.make)()) else {
                continue;
            };
            let untuned = point.untuned;
            let verdict = Bench::new(entry, point.name.clone(), &data, cx)?.compare(point, tuned, untuned)?;
            compared.push((point.name.clone(), tuned, verdict));
            verdicts.push(verdict);
            news = true;
        }
        let gains = verdicts.contains(&Verdict::First);
        let losses = verdicts.contains(&Verdict::Second);
        if !news || !gains || !losses {
            if gains && !losses {
                let rules: Vec<Rule> = choices.iter().map(rule).collect();
                outcome.rules = Some(tuning::print(entry, &rules));
                outcome.choices = choices;
            }
            if gains || !news {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn rule((tests, version): &Choice) -> Rule {
    let condition = |test: &super::fit::Test| Condition {
        measure: test.measure,
        least: test.least,
        bound: Bound::Fixed(test.bound),
    };
    // A handful in the life of the program.
    Rule { conditions: Vec::leak(tests.iter().map(condition).collect()), version: *version }
}

fn progress(entry: &Entry, done: usize, all: usize, start: Instant, stop: Instant) {
    let spent = start.elapsed();
    let estimate = if done == 0 { Duration::MAX } else { spent.mul_f64((all - done) as f64 / done as f64) };
    let left = estimate.min(stop.saturating_duration_since(Instant::now()));
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{}: {done} of {all} points, at most {} s left", entry.name, left.as_secs());
        let _ = std::io::stderr().flush();
    } else if done == 0 {
        eprintln!("{}: {all} points, at most {} s", entry.name, left.as_secs());
    }
}

fn clear() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::rt::entry::{Code, Codes, Dispatch, Elem, Measure, Op, Param, Version};
    use crate::rt::hidp_call;

    /// Writes the sum of `x`, after as many microseconds as `delay` says for its length.
    unsafe fn sum(call: *mut hidp_call, delay: fn(i64) -> i64, wrong: f32) -> i32 {
        // SAFETY: the entry below has an array of as many `f32` as its dimension says, and a scalar.
        unsafe {
            let count = *(*call).dims;
            let x = std::slice::from_raw_parts((*(*call).params).cast::<f32>(), count as usize);
            *(*(*call).params.add(1)).cast::<f32>() = x.iter().sum::<f32>() * (1.0 + wrong);
            std::thread::sleep(Duration::from_micros(delay(count) as u64));
        }
        0
    }
    unsafe extern "C" fn even(call: *mut hidp_call) -> i32 {
        // SAFETY: as above.
        unsafe { sum(call, |_| 1200, 0.0) }
    }
    unsafe extern "C" fn growing(call: *mut hidp_call) -> i32 {
        // SAFETY: as above.
        unsafe { sum(call, |count| if count < 5000 { 200 } else { 4000 }, 0.0) }
    }
    unsafe extern "C" fn wrong(call: *mut hidp_call) -> i32 {
        // SAFETY: as above.
        unsafe { sum(call, |_| 0, 1.0) }
    }
    const fn version(plan: &'static str, code: Codes) -> Version {
        Version { plan, code }
    }
    const fn param(name: &'static str, writes: bool, shape: &'static [&'static [Op]]) -> Param {
        Param { name, reads: !writes, writes, elem: Elem::F32, positions: !writes, shape, shape_text: &[] }
    }
    const EVEN: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: even }]);
    const GROWING: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: growing }]);
    const WRONG: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: wrong }]);
    const SUM: Entry = Entry {
        name: "test::sum",
        params: &[param("x", false, &[&[Op::Dim(0)]]), param("_s", true, &[])],
        dims: &["N"],
        versions: &[version("rows", EVEN), version("quick", WRONG), version("serial", GROWING)],
        dispatch: Dispatch { measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }], ..Dispatch::NONE },
        sites: &[],
    };

    fn tuned(entry: &'static Entry, name: &str) -> Outcome {
        let cx = Context::builder().threads(1).tuning("off").build().unwrap();
        let file = std::env::temp_dir().join(format!("hidp-tune-{name}-{}", std::process::id()));
        let mut partial = Partial::open(&file, true).unwrap();
        let sizes = |count: usize| super::super::Registered {
            entry: entry.name.into(),
            name: format!("x of {count}"),
            make: Box::new(move || vec![Data::vector(&vec![0.5f32; count]), Data::scalar(0.0f32)]),
        };
        let inputs = [1000, 4000, 16000, 64000].map(sizes);
        let end = Instant::now() + Duration::from_millis(1);
        // No time: one point is measured all the same.
        let short = tune(entry, &inputs.iter().collect::<Vec<_>>(), &cx, end, &mut partial).unwrap();
        assert!(short.left_out > 0 && short.measured());
        let end = Instant::now() + Duration::from_secs(60);
        let outcome = tune(entry, &inputs.iter().collect::<Vec<_>>(), &cx, end, &mut partial).unwrap();
        partial.finish();
        outcome
    }

    #[test]
    fn switching_points_are_found_and_wrong_versions_are_not() {
        static ENTRY: Entry = SUM;
        let outcome = tuned(&ENTRY, "switch");
        let [(untuned, _), (tuned, _), _] = outcome.losses();
        assert!(untuned > 1.5 && tuned < 1.1, "{outcome}");
        assert!(!outcome.complaints().is_empty());
        let rules = outcome.rules().unwrap();
        assert!(rules.starts_with("parallel < ") && rules.ends_with(": serial; otherwise: rows"), "{rules}");
        assert!(!rules.contains("quick"), "its results are wrong");
        assert!(super::super::report::html(&[outcome]).contains("<svg"));
    }

    #[test]
    fn nothing_is_recorded_that_is_not_faster() {
        static ENTRY: Entry = Entry { versions: &[version("rows", EVEN), version("serial", EVEN)], ..SUM };
        let outcome = tuned(&ENTRY, "even");
        assert_eq!(outcome.rules(), None, "{outcome}");
    }

    #[test]
    fn entries_without_a_choice_are_skipped() {
        static ONE: Entry = Entry { versions: &[version("rows", EVEN)], ..SUM };
        static POSITIONS: Entry = SUM;
        let cx = Context::builder().threads(1).build().unwrap();
        let mut partial = Partial::open(&std::env::temp_dir().join("hidp-none"), true).unwrap();
        let mut skipped = |entry| tune(entry, &[], &cx, Instant::now(), &mut partial).unwrap().to_string();
        assert!(skipped(&ONE).contains("it has one version"));
        assert!(skipped(&POSITIONS).contains("`x` holds positions: register inputs"));
    }
}
