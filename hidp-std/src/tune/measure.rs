//! Times of the arms of an entry for one set of arguments.

use super::arguments::Arguments;
use super::arms::{Arm, Arms};
use super::clock::Stopwatch;
use super::data::Data;
use super::fit::Point;
use super::sample::{PAIRS, Verdict, calls, median, spread, typical, uncertainty, verdict};
use crate::rt::Dynamic;
use crate::rt::entry::{Elem, Entry};
use crate::{Context, Error};

/// Rounds in which every arm runs in turn, at first and at most.
const ROUNDS: usize = 5;
const MOST_ROUNDS: usize = 15;
/// Samples that scatter more than this, where it matters which arm is best, are not enough.
const SCATTERED: f64 = 0.04;
/// An arm that is so many times slower than another at its first run is not measured more often.
const HOPELESS: f64 = 8.0;
/// Runs that an arm gets to show that it is not.
const CHANCES: usize = 4;
/// An arm that is so many times slower than another after some rounds is measured well enough.
const BEHIND: f64 = 1.3;
/// Arms whose times are this close, as a logarithm, are compared in pairs.
const CLOSE: f64 = 0.1;
/// Comparisons of what seems best, at most (each counts for both orders).
const MOST_SETTLED: usize = 10;

/// What runs in pairs say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compared {
    pub(super) verdict: Verdict,
    /// How far, as a part, the ratio may be from what was found.
    pub(super) uncertainty: f64,
}

/// Arguments, and what runs on them. Arrays are where the arms run: copies of them are another matter.
pub(super) struct Bench<'a> {
    entry: &'static Entry,
    name: String,
    arguments: Arguments<'a>,
    arms: &'a Arms,
    cx: Context,
    /// The processor's.
    host: Context,
}

impl<'a> Bench<'a> {
    /// A bench. Says what is wrong with the arguments otherwise.
    pub(super) fn new(arms: &'a Arms, name: String, pristine: &'a [Data], cx: &Context) -> Result<Self, String> {
        let entry = arms.entry;
        let fits = pristine.len() == entry.params.len()
            && pristine.iter().zip(entry.params).all(|(data, param)| {
                data.elem() == param.elem && param.elem != Elem::Other && data.shape().len() == param.shape.len()
            });
        if !fits {
            return Err("the arguments have not the types and ranks of the parameters".into());
        }
        let text = |error: Error| error.to_string();
        let queue = cx.queue().filter(|_| arms.are_on_device());
        let arguments = Arguments::new(entry, pristine, queue).map_err(text)?;
        let host = cx.on_processor().map_err(text)?;
        Ok(Self { entry, name, arguments, arms, cx: cx.clone(), host })
    }

    fn with_call<T>(&mut self, act: impl FnOnce(&Dynamic<'_>, &Context) -> T) -> Result<T, Error> {
        let cx = if self.arguments.are_at_home() { &self.host } else { &self.cx };
        let call = Dynamic::new(self.entry, self.arguments.args())?;
        Ok(act(&call, cx))
    }

    /// Runs an arm on fresh arguments, some times; seconds a call.
    fn time(&mut self, arm: usize, calls: usize) -> Result<f64, Error> {
        let Arm { version, settings } = self.arms.get(arm);
        let keeps = !self.entry.params.iter().any(|param| param.writes && param.reads);
        let (mut seconds, mut left) = (0.0, calls);
        while left > 0 {
            self.arguments.restore()?;
            // What a call writes is what the next one reads: only entries that do not read it run without a pause.
            let batch = if keeps { left } else { 1 };
            seconds += self.with_call(|call, cx| {
                let watch = Stopwatch::start();
                for _ in 0..batch {
                    // SAFETY: the entry comes from `Entries`, whose functions are safe to call with arguments of these types.
                    unsafe { call.run_as(cx, version, settings) }?;
                }
                cx.synchronize()?;
                Ok::<f64, Error>(watch.seconds())
            })??;
            left -= batch;
        }
        Ok(seconds / calls as f64)
    }

    /// Whether the last run left what `expected` holds.
    fn is_right(&mut self, expected: &[Data]) -> Result<bool, Error> {
        let found = self.arguments.values()?;
        let written = self.entry.params.iter().zip(found.iter().zip(expected)).filter(|(param, _)| param.writes);
        Ok(written.into_iter().all(|(_, (found, expected))| found.agrees(expected)))
    }

    /// What the processor's oracle makes of the arguments, and how long that takes.
    fn expected(&mut self) -> Result<(Vec<Data>, f64), Error> {
        self.arguments.stay_at_home(true);
        let seconds = self.time(self.arms.oracle(), 1)?;
        let expected = self.arguments.values()?.to_vec();
        self.arguments.stay_at_home(false);
        Ok((expected, seconds))
    }

    /// Measures every version. Says why nothing could be measured, and adds to `complaints` what is wrong with some versions.
    pub(super) fn point(&mut self, complaints: &mut Vec<String>) -> Result<Point, String> {
        let text = |error: Error| error.to_string();
        let (values, untuned) = self.with_call(|call, cx| (call.measures(false), call.chosen(cx))).map_err(text)?;
        let untuned = untuned.map_err(text)?;
        let mut point = Point { name: self.name.clone(), values, times: vec![None; self.arms.len()], untuned };
        let arms: Vec<usize> = (0..self.arms.len()).filter(|&arm| self.arms.runs(arm)).collect();
        self.extend(&mut point, &arms, complaints)?;
        Ok(point)
    }

    /// Measures arms, in turn with each other and with those that are best so far.
    pub(super) fn extend(
        &mut self,
        point: &mut Point,
        arms: &[usize],
        complaints: &mut Vec<String>,
    ) -> Result<(), String> {
        let first = self.first_runs(arms, complaints)?;
        point.times.resize(self.arms.len(), None);
        first.iter().for_each(|(arm, seconds)| point.times[*arm] = Some(*seconds));
        self.second_chance(&first, point)?;
        let known = point.best();
        // What is known is compared anew, under the same conditions.
        let usual = |arm: usize| arms.iter().any(|&other| self.arms.usual(other) == arm);
        let rivals = (0..point.times.len())
            .filter(|arm| !arms.contains(arm) && (usual(*arm) || point.loss(*arm) < CLOSE))
            .filter(|arm| point.times[*arm].is_some());
        let rivals: Vec<usize> = rivals.collect();
        let mut worthy: Vec<(usize, Vec<f64>)> = first
            .iter()
            .map(|(arm, _)| *arm)
            .chain(rivals)
            .filter(|&arm| point.times[arm].is_some_and(|time| time < HOPELESS * known))
            .map(|arm| (arm, Vec::new()))
            .collect();
        for round in 0..MOST_ROUNDS {
            if round >= ROUNDS && !undecided(&worthy) {
                break;
            }
            let best = worthy.iter().map(|(_, samples)| typical(samples)).fold(f64::INFINITY, f64::min);
            let turns = worthy.len();
            for turn in 0..turns {
                let (arm, samples) = &mut worthy[(round + turn) % turns];
                let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
                if round >= ROUNDS - 2 && least > BEHIND * best {
                    continue;
                }
                let seconds = self.time(*arm, calls(point.times[*arm])).map_err(|error| error.to_string())?;
                samples.push(seconds);
            }
        }
        for (arm, samples) in &worthy {
            point.times[*arm] = Some(typical(samples));
        }
        self.settle_all(point)
    }

    /// What seems hopeless may have been disturbed: it runs some times more.
    fn second_chance(&mut self, first: &[(usize, f64)], point: &mut Point) -> Result<(), String> {
        for &(arm, seconds) in first {
            let mut least = seconds;
            for _ in 0..CHANCES {
                if least < HOPELESS * point.best() {
                    break;
                }
                least = least.min(self.time(arm, 1).map_err(|error| error.to_string())?);
            }
            point.times[arm] = Some(least);
        }
        Ok(())
    }

    /// One run of each arm whose results are right.
    fn first_runs(&mut self, arms: &[usize], complaints: &mut Vec<String>) -> Result<Vec<(usize, f64)>, String> {
        let oracle = self.arms.oracle();
        let (expected, seconds) = self.expected().map_err(|error| error.to_string())?;
        let mut first = Vec::new();
        for &arm in arms {
            if arm == oracle {
                first.push((arm, seconds));
                continue;
            }
            // The first run finds caches and pages as the one before left them: the second one counts.
            match self.time(arm, 1).and_then(|_| self.is_right(&expected)) {
                Ok(true) => {
                    let seconds = self.time(arm, 1).map_err(|error| error.to_string())?;
                    first.push((arm, seconds));
                }
                Ok(false) => complaints.push(self.complaint(arm, "gives other results than", oracle)),
                Err(Error::DevicePlan { .. }) => {}
                Err(error) => complaints.push(format!("{}: {error}", self.complaint(arm, "fails, unlike", oracle))),
            }
        }
        Ok(first)
    }

    /// What seems best is compared in pairs with what it must be better than: other settings with the usual ones of their version,
    /// a version with the next one. Of many noisy times the smallest is the luckiest rather than the best.
    fn unsettled(&self, point: &Point) -> Vec<(usize, usize)> {
        let mut order: Vec<usize> = (0..point.times.len()).filter(|arm| point.times[*arm].is_some()).collect();
        order.sort_by(|a, b| point.loss(*a).total_cmp(&point.loss(*b)));
        let [first, second, ..] = order[..] else { return Vec::new() };
        let usual = self.arms.usual(first);
        let mut pairs = Vec::new();
        if usual != first && point.loss(usual) < CLOSE {
            pairs.push((first, usual));
        }
        if second != usual && point.loss(second) < CLOSE {
            pairs.push((first, second));
        }
        pairs
    }

    fn settle_all(&mut self, point: &mut Point) -> Result<(), String> {
        let mut done = Vec::new();
        while done.len() < MOST_SETTLED {
            let Some(&(a, b)) = self.unsettled(point).iter().find(|pair| !done.contains(*pair)) else { break };
            self.compare(point, a, b)?;
            done.extend([(a, b), (b, a)]);
        }
        Ok(())
    }

    /// Runs two arms in turn and puts into `point` how `a` compares with `b`: the same time if neither is reliably faster.
    pub(super) fn compare(&mut self, point: &mut Point, a: usize, b: usize) -> Result<Compared, String> {
        let mut ratios = Vec::new();
        let verdict = loop {
            for pair in 0..PAIRS {
                let order = if pair % 2 == 0 { [a, b] } else { [b, a] };
                let mut seconds = [0.0; 2];
                for arm in order {
                    let time = self.time(arm, calls(point.times[arm])).map_err(|error| error.to_string())?;
                    seconds[usize::from(arm == b)] = time;
                }
                ratios.push(seconds[1] / seconds[0]);
            }
            if let Some(verdict) = verdict(&ratios) {
                break verdict;
            }
        };
        let ratio = match verdict {
            Verdict::Neither => 1.0,
            Verdict::First | Verdict::Second => median(&ratios),
        };
        // The time of `b` stays: it was measured beside all others, which these runs were not.
        point.times[a] = point.times[b].map(|time| time / ratio);
        Ok(Compared { verdict, uncertainty: uncertainty(&ratios) })
    }

    fn complaint(&self, arm: usize, what: &str, oracle: usize) -> String {
        let plan = |arm: usize| self.arms.name(arm);
        format!("{} at {}: plan {} {what} plan {}", self.entry.name, self.name, plan(arm), plan(oracle))
    }
}

/// Whether the samples of arms that may be best scatter.
fn undecided(worthy: &[(usize, Vec<f64>)]) -> bool {
    let best = worthy.iter().map(|(_, samples)| typical(samples)).fold(f64::INFINITY, f64::min);
    let close = |samples: &Vec<f64>| typical(samples) <= BEHIND * best;
    worthy.iter().any(|(_, samples)| close(samples) && spread(samples) > SCATTERED)
}

#[cfg(test)]
mod tests {
    use super::super::clock;
    use super::*;
    use crate::rt::entry::{Code, Codes, Dispatch, Measure, Op, Param, Version};
    use crate::{Isa, rt::hidp_call};

    /// Doubles its argument, `delay` times over.
    unsafe fn double(call: *mut hidp_call, wrong: bool, delay: u32) -> i32 {
        // SAFETY: the entry below has one array of as many `f32` as its dimension says.
        let x = unsafe { std::slice::from_raw_parts_mut((*(*call).params).cast::<f32>(), *(*call).dims as usize) };
        for value in x.iter_mut() {
            *value *= if wrong { 3.0 } else { 2.0 };
        }
        clock::pass(delay.into());
        0
    }
    macro_rules! version {
        ($name:ident $wrong:literal $delay:literal) => {
            unsafe extern "C" fn $name(call: *mut hidp_call) -> i32 {
                // SAFETY: as above.
                unsafe { double(call, $wrong, $delay) }
            }
        };
    }
    version!(slow false 900);
    version!(quick false 300);
    version!(wrong true 0);

    const ENTRY: Entry = Entry {
        name: "test::double",
        params: &[Param {
            name: "x",
            reads: true,
            writes: true,
            elem: Elem::F32,
            positions: false,
            shape: &[&[Op::Dim(0)]],
            shape_text: &["N"],
        }],
        dims: &["N"],
        versions: &[
            Version { plan: "wrong", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: wrong }]) },
            Version { plan: "quick", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: quick }]) },
            Version { plan: "serial", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: slow }]) },
            Version { plan: "block", hash: "", code: Codes::Device(wrong) },
        ],
        dispatch: Dispatch { measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }], ..Dispatch::NONE },
        sites: &[],
    };
    static DOUBLE: Entry = ENTRY;

    #[test]
    fn wrong_versions_have_no_time() {
        let cx = Context::builder().threads(1).build().unwrap();
        let data = [Data::vector(&[1.0f32, 2.0, 3.0])];
        let arms = Arms::new(&DOUBLE);
        let mut bench = Bench::new(&arms, "N = 3".into(), &data, &cx).unwrap();
        let mut complaints = Vec::new();
        let point = bench.point(&mut complaints).unwrap();
        assert_eq!(complaints, ["test::double at N = 3: plan wrong gives other results than plan serial"]);
        assert_eq!((point.times[0], point.untuned, point.values[0]), (None, 0, 3));
        assert_eq!(point.times[3], None, "devices have their own rules");
        let seconds = |version: usize| point.times[version].unwrap();
        assert!(seconds(1) >= 300e-6 && seconds(2) >= 900e-6, "{point:?}");
    }

    /// As [`quick`], but for the first runs, which something disturbs.
    unsafe extern "C" fn disturbed(call: *mut hidp_call) -> i32 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let delay = if CALLS.fetch_add(1, Ordering::Relaxed) < 3 { 30_000 } else { 300 };
        // SAFETY: as above.
        unsafe { double(call, false, delay) }
    }

    #[test]
    fn disturbed_runs_do_not_count() {
        static DISTURBED: Entry = Entry {
            versions: &[
                Version { plan: "rows", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: disturbed }]) },
                Version { plan: "serial", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: slow }]) },
            ],
            ..ENTRY
        };
        let cx = Context::builder().threads(1).build().unwrap();
        let data = [Data::vector(&[1.0f32, 2.0, 3.0])];
        let arms = Arms::new(&DISTURBED);
        let point = Bench::new(&arms, "N = 3".into(), &data, &cx).unwrap().point(&mut Vec::new()).unwrap();
        assert!(point.fastest() == 0 && point.times[0].unwrap() < 0.005, "{point:?}");
    }

    #[test]
    fn arguments_of_other_types_are_refused() {
        let cx = Context::builder().threads(1).build().unwrap();
        let arms = Arms::new(&DOUBLE);
        for data in [Data::vector(&[1.0f64]), Data::scalar(1.0f32), Data::array(&[1.0f32], &[1, 1])] {
            assert!(Bench::new(&arms, String::new(), &[data], &cx).is_err());
        }
        assert!(Bench::new(&arms, String::new(), &[], &cx).is_err());
    }
}
