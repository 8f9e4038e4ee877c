//! Tuning one entry.

use std::time::Instant;

use super::arms::Arms;
use super::data::{self, Data};
use super::decide::decide;
use super::fit::{Point, Vetoes, chosen, fit};
use super::measure::Bench;
use super::outcome::Outcome;
use super::partial::Partial;
use super::progress::Progress;
use super::record::with_rules;
use super::sweep::{Limits, sizes};
use super::{Registered, places};
use crate::Context;
use crate::rt::entry::Entry;

/// Arguments that are made when it is their turn.
pub(super) struct Job<'a> {
    pub(super) name: String,
    pub(super) make: Box<dyn Fn() -> Option<Vec<Data>> + 'a>,
}

/// Of the time, this part is for versions, and this one for versions and settings; the rest for comparing what was found.
const VERSIONS: f64 = 0.5;
const SETTINGS: f64 = 0.7;
/// The part for versions for a device, where calls are compared with the processor's afterwards.
const ON_DEVICE: f64 = 0.6;
/// Sizes that are made up where no time is given: all of them are measured, and everything that is found there is compared.
const SIZES: usize = 48;

/// The time that an entry has.
#[derive(Clone, Copy)]
struct Time {
    start: Instant,
    /// As long as it takes, if there is none.
    end: Option<Instant>,
}

impl Time {
    /// When this part of it is over.
    fn part(self, part: f64) -> Option<Instant> {
        self.end.map(|end| self.start + end.saturating_duration_since(self.start).mul_f64(part))
    }
}

/// Measures an entry until `end`, or as long as it takes, and finds rules for it.
pub(super) fn tune(
    entry: &'static Entry,
    registered: &[&Registered],
    sweeps: bool,
    cx: &Context,
    end: Option<Instant>,
    partial: &mut Partial,
) -> Result<Outcome, String> {
    let mut outcome = Outcome::new(entry);
    outcome.arms = Arms::of(entry, cx);
    let versions_here = (0..outcome.arms.len()).filter(|&arm| outcome.arms.runs(arm)).count();
    let on_device = outcome.arms.are_on_device();
    let varied = !(on_device || entry.dispatch.tunables.is_empty()) || !entry.dispatch.settings.is_empty();
    let several = versions_here >= 2 || varied;
    let both_sides = on_device && versions_here > 0 && !cx.is_strict();
    if entry.dispatch.measures.is_empty() || !(several || both_sides) {
        outcome.skipped = Some("it has one version, or none of its sizes is known before it runs".into());
        return Ok(outcome);
    }
    let obstacle = data::cannot_make_up(entry);
    let mut jobs: Vec<Job<'_>> = registered.iter().map(|input| job_of(input)).collect();
    match obstacle {
        _ if !sweeps && !jobs.is_empty() => {}
        None => jobs.extend(made_up(entry, end.is_some())),
        Some(why) if jobs.is_empty() => {
            outcome.skipped = Some(why);
            return Ok(outcome);
        }
        Some(_) => {}
    }
    let all = Time { start: Instant::now(), end };
    let share = if both_sides && several { ON_DEVICE } else { 1.0 };
    if several {
        compare(&mut outcome, &jobs, cx, Time { end: all.part(share), ..all }, partial)?;
    }
    // Versions take their part of what is left of the whole.
    outcome.needed = outcome.needed.map(|needed| needed.div_f64(share));
    if both_sides {
        let device = outcome.rules().map_or_else(|| cx.clone(), |rules| with_rules(entry, cx, rules));
        outcome.places = Some(places::find(entry, &jobs, (cx, &device), end, &mut outcome.complaints));
    }
    Ok(outcome)
}

/// Compares versions, and settings of those that may be best.
fn compare(
    outcome: &mut Outcome,
    jobs: &[Job<'_>],
    cx: &Context,
    time: Time,
    partial: &mut Partial,
) -> Result<(), String> {
    let entry = outcome.arms.entry;
    versions(outcome, jobs, cx, Progress::new(entry.name, "versions", jobs.len(), time.part(VERSIONS)), partial)?;
    if outcome.measured() {
        settings(outcome, jobs, cx, time.part(SETTINGS), partial)?;
        decide(outcome, jobs, cx, time.end)?;
    }
    Ok(())
}

fn job_of<'a>(input: &'a Registered) -> Job<'a> {
    Job { name: input.name.clone(), make: Box::new(|| Some((input.make)())) }
}

/// Arguments of all sizes, or of those that are measured where no time is given.
fn made_up<'a>(entry: &'static Entry, all: bool) -> impl Iterator<Item = Job<'a>> {
    let most = if all { usize::MAX } else { SIZES };
    sizes(entry, Limits::default()).into_iter().take(most).map(move |dims| sized(entry, dims))
}

fn sized<'a>(entry: &'static Entry, dims: Vec<i64>) -> Job<'a> {
    let sizes: Vec<String> = entry.dims.iter().zip(&dims).map(|(name, size)| format!("{name} = {size}")).collect();
    Job { name: sizes.join(", "), make: Box::new(move || data::make_up(entry, &dims)) }
}

/// Measures every version for all arguments.
fn versions(
    outcome: &mut Outcome,
    jobs: &[Job<'_>],
    cx: &Context,
    mut progress: Progress,
    partial: &mut Partial,
) -> Result<(), String> {
    for job in jobs {
        if let Some(point) = partial.find(&outcome.arms, cx, &job.name) {
            outcome.points.push(point);
            progress.skip();
            continue;
        }
        if progress.is_over() && outcome.measured() {
            outcome.left_out += 1;
            continue;
        }
        progress.show();
        let Some(data) = (job.make)() else { continue };
        let point = Bench::new(&outcome.arms, job.name.clone(), &data, cx)
            .and_then(|mut bench| bench.point(&mut outcome.complaints));
        match point {
            Ok(point) => {
                partial.add(&outcome.arms, cx, &point)?;
                outcome.points.push(point);
            }
            Err(why) => outcome.complaints.push(format!("{} at {}: {why}", outcome.arms.entry.name, job.name)),
        }
        progress.step();
    }
    if outcome.left_out > 0 {
        outcome.needed = progress.needed().map(|needed| needed.div_f64(VERSIONS));
    }
    Ok(())
}

/// A version whose usual settings take at most so many times the best time at a point contends there: others may make it the best.
const CONTENDING: f64 = 1.5;

/// Versions, and the points at which each is chosen or contends; first those that most points choose.
fn contenders(points: &[Point], versions: usize) -> Vec<(usize, Vec<usize>)> {
    let choices = fit(&points.iter().collect::<Vec<_>>(), versions, &Vetoes::new());
    let choice: Vec<usize> = points.iter().map(|point| chosen(&choices, point)).collect();
    let contends =
        |version: usize, point: &Point| point.times[version].is_some_and(|time| time <= CONTENDING * point.best());
    let at = |version: usize| -> Vec<usize> {
        (0..points.len()).filter(|&at| choice[at] == version || contends(version, &points[at])).collect()
    };
    let mut found: Vec<(usize, Vec<usize>)> = (0..versions).map(|version| (version, at(version))).collect();
    found.retain(|(_, points)| !points.is_empty());
    let wins = |version: usize| choice.iter().filter(|chosen| **chosen == version).count();
    found.sort_by_key(|(version, points)| std::cmp::Reverse((wins(*version), points.len())));
    found
}

/// Measures other settings of versions where they are chosen or contend.
fn settings(
    outcome: &mut Outcome,
    jobs: &[Job<'_>],
    cx: &Context,
    stop: Option<Instant>,
    partial: &mut Partial,
) -> Result<(), String> {
    for (version, points) in contenders(&outcome.points, outcome.arms.len()) {
        let arms = outcome.arms.with_settings(version, cx);
        let mut progress = Progress::new(outcome.arms.entry.name, "settings", points.len(), stop);
        for at in points.into_iter().filter(|_| !arms.is_empty()) {
            if let Some(point) = partial.find(&outcome.arms, cx, &outcome.points[at].name) {
                outcome.points[at] = point;
                progress.skip();
                continue;
            }
            let Some(job) = jobs.iter().find(|job| job.name == outcome.points[at].name) else { continue };
            if progress.is_over() {
                break;
            }
            progress.show();
            let Some(data) = (job.make)() else { continue };
            let mut bench = Bench::new(&outcome.arms, job.name.clone(), &data, cx)?;
            bench.extend(&mut outcome.points[at], &arms, &mut outcome.complaints)?;
            partial.add(&outcome.arms, cx, &outcome.points[at])?;
            progress.step();
        }
        // Elsewhere nothing is hoped for from them.
        for point in &mut outcome.points {
            for arm in point.times.len()..outcome.arms.len() {
                point.times.push(point.times[outcome.arms.usual(arm)]);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::clock;
    use super::*;
    use crate::Isa;
    use crate::rt::entry::{Code, Codes, Dispatch, Elem, Measure, Op, Param, Tunable, Version};
    use crate::rt::hidp_call;
    use std::time::Duration;

    /// Writes the sum of `x`, after as many microseconds as `delay` says for its length.
    unsafe fn sum(call: *mut hidp_call, delay: fn(i64) -> u64, wrong: f32) -> i32 {
        // SAFETY: the entry below has an array of as many `f32` as its dimension says, and a scalar.
        unsafe {
            let count = *(*call).dims;
            let x = std::slice::from_raw_parts((*(*call).params).cast::<f32>(), count as usize);
            *(*(*call).params.add(1)).cast::<f32>() = x.iter().sum::<f32>() * (1.0 + wrong);
            clock::pass(delay(count));
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
    /// Takes its time, so that who waits finds it unfinished.
    unsafe extern "C" fn awaited(call: *mut hidp_call) -> i32 {
        std::thread::sleep(Duration::from_millis(1));
        // SAFETY: as above.
        unsafe { sum(call, |_| 1200, 0.0) }
    }
    unsafe extern "C" fn wrong(call: *mut hidp_call) -> i32 {
        // SAFETY: as above.
        unsafe { sum(call, |_| 0, 1.0) }
    }
    const fn version(plan: &'static str, code: Codes) -> Version {
        Version { plan, hash: "", code }
    }
    const fn param(name: &'static str, writes: bool, shape: &'static [&'static [Op]]) -> Param {
        Param { name, reads: !writes, writes, elem: Elem::F32, positions: !writes, shape, shape_text: &[] }
    }
    const EVEN: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: even }]);
    const GROWING: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: growing }]);
    const AWAITED: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: awaited }]);
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
        let short = tune(entry, &inputs.iter().collect::<Vec<_>>(), true, &cx, Some(end), &mut partial).unwrap();
        assert!(short.left_out > 0 && short.measured());
        assert!(short.to_string().contains("left out for want of time, "), "{short}");
        let outcome = tune(entry, &inputs.iter().collect::<Vec<_>>(), true, &cx, None, &mut partial).unwrap();
        assert_eq!((outcome.left_out, outcome.needed), (0, None));
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
        assert!(super::super::report::html(&[outcome]).unwrap().contains("<svg"));
    }

    /// As slow as its settings say.
    unsafe extern "C" fn settable(call: *mut hidp_call) -> i32 {
        // SAFETY: as above.
        unsafe {
            let usual = (*call).tunables.thread_work == 0;
            sum(call, if usual { |_| 1500 } else { |count| if count < 5000 { 300 } else { 3000 } }, 0.0)
        }
    }

    const SETTABLE: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: settable }]);

    #[test]
    fn settings_are_found() {
        static ENTRY: Entry = Entry {
            versions: &[version("rows", SETTABLE)],
            dispatch: Dispatch {
                measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }],
                tunables: &[Tunable { name: "thread_work", domain: &[4096] }],
                ..Dispatch::NONE
            },
            ..SUM
        };
        let outcome = tuned(&ENTRY, "settings");
        let rules = outcome.rules().unwrap();
        assert!(rules.ends_with(": rows with thread_work = 4096; otherwise: rows"), "{rules}");
        let table = outcome.markdown();
        assert!(table.contains("- tuned is slower than untuned at 0 points"), "{table}");
        assert!(table.contains("within 5 % at 4 of 4 points") && table.contains("| x of 1000 |"), "{table}");
    }

    #[test]
    fn settings_of_versions_that_lose_as_they_are_count() {
        static ENTRY: Entry = Entry {
            versions: &[version("rows", EVEN), version("late", SETTABLE)],
            dispatch: Dispatch {
                measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }],
                tunables: &[Tunable { name: "thread_work", domain: &[4096] }],
                ..Dispatch::NONE
            },
            ..SUM
        };
        let outcome = tuned(&ENTRY, "contenders");
        let rules = outcome.rules().unwrap();
        assert!(rules.ends_with(": late with thread_work = 4096; otherwise: rows"), "{rules}");
    }

    /// Names of what a file of points holds, a line each.
    #[cfg(unix)]
    fn measured(partial: &std::path::Path) -> Vec<String> {
        let text = std::fs::read_to_string(partial).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter_map(|line| line.split('\t').nth(6)).map(str::to_owned).collect()
    }

    /// A run that is interrupted, and the next one, which measures only what is missing. The first is another process. It is ended by another
    /// signal than Ctrl-C's, which shells have background processes ignore.
    #[cfg(unix)]
    #[test]
    fn an_interrupted_run_goes_on() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::Command;
        const CHILD: &str = "HIDP_TEST_INTERRUPTED";
        static ENTRY: Entry = Entry { versions: &[version("rows", AWAITED), version("serial", AWAITED)], ..SUM };
        let inputs: Vec<Registered> = (1..=12)
            .map(|count| Registered {
                entry: ENTRY.name.into(),
                name: format!("x of {count}"),
                make: Box::new(move || vec![Data::vector(&vec![0.5f32; count]), Data::scalar(0.0f32)]),
            })
            .collect();
        let inputs: Vec<&Registered> = inputs.iter().collect();
        let run = |file: &std::path::Path, fresh: bool| {
            let cx = Context::builder().threads(1).tuning("off").build().unwrap();
            let mut partial = Partial::open(file, fresh).unwrap();
            tune(&ENTRY, &inputs, true, &cx, None, &mut partial).unwrap()
        };
        if let Some(file) = std::env::var_os(CHILD) {
            run(file.as_ref(), true);
            // Ended by the signal, here at the latest.
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        let file = std::env::temp_dir().join(format!("hidp-tune-interrupted-{}", std::process::id()));
        let points = file.with_extension("partial");
        let name = "tune::entry::tests::an_interrupted_run_goes_on";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.args(["--exact", name, "--nocapture"]).env(CHILD, &file).spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while measured(&points).len() < 3 && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The shell's own: not every system has the program.
        let interrupt = format!("kill -TERM {}", child.id());
        assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(15), "ended by the signal");
        let before = measured(&points);
        assert!(before.len() >= 3, "{before:?}");

        let outcome = run(&file, false);
        let after = measured(&points);
        assert_eq!(outcome.points.len(), inputs.len());
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(after.len(), inputs.len(), "each is measured once: {after:?}");
        std::fs::remove_file(points).unwrap();
    }

    #[test]
    fn without_a_time_as_many_sizes_are_measured_as_are_promised() {
        static ENTRY: Entry = Entry {
            params: &[param("x", false, &[&[Op::Dim(0)], &[Op::Dim(1)]])],
            dims: &["R", "C"],
            dispatch: Dispatch {
                measures: &[
                    Measure { name: "parallel", program: &[Op::Dim(0)] },
                    Measure { name: "inner", program: &[Op::Dim(1)] },
                ],
                ..Dispatch::NONE
            },
            ..SUM
        };
        let names = |all| made_up(&ENTRY, all).map(|job| job.name).collect::<Vec<_>>();
        let (few, all) = (names(false), names(true));
        assert!(few.len() == SIZES && all.len() > SIZES, "{} of {}", few.len(), all.len());
        assert_eq!(few[..], all[..SIZES]);
    }

    #[test]
    fn nothing_is_recorded_that_is_not_faster() {
        static ENTRY: Entry = Entry { versions: &[version("rows", EVEN), version("serial", EVEN)], ..SUM };
        let mut recorded = Vec::new();
        for seed in 0..20 {
            clock::seed(seed);
            recorded.extend(tuned(&ENTRY, "even").rules().map(str::to_owned));
        }
        assert!(recorded.is_empty(), "{recorded:?}");
    }

    #[test]
    fn entries_without_a_choice_are_skipped() {
        static ONE: Entry = Entry { versions: &[version("rows", EVEN)], ..SUM };
        static POSITIONS: Entry = SUM;
        let cx = Context::builder().threads(1).build().unwrap();
        let mut partial = Partial::open(&std::env::temp_dir().join("hidp-none"), true).unwrap();
        let mut skipped = |entry| tune(entry, &[], true, &cx, Some(Instant::now()), &mut partial).unwrap().to_string();
        assert!(skipped(&ONE).contains("it has one version"));
        assert!(skipped(&POSITIONS).contains("`x` holds positions: register inputs"));
    }
}
