//! Times of the versions of an entry for one set of arguments.

use std::time::Instant;

use super::data::Data;
use super::fit::Point;
use crate::rt::entry::{Elem, Entry};
use crate::rt::{Arg, Dynamic};
use crate::{Context, Error};

/// Rounds in which every version runs in turn.
const ROUNDS: usize = 5;
/// Pairs of runs that compare two versions.
const PAIRS: usize = 9;
/// Of so many pairs as many must agree: by chance they do so in 2 of 100 cases.
const AGREEING: usize = 8;
/// A difference that counts.
const DIFFERENCE: f64 = 1.02;
/// Seconds that a version runs for in one round at least, if more than one call fits.
const SLICE: f64 = 0.002;
/// A version that is so many times slower than another at its first run is not measured more often.
const HOPELESS: f64 = 8.0;

/// Arguments, their working copy, and the result that is right.
pub(super) struct Bench<'a> {
    entry: &'static Entry,
    name: String,
    pristine: &'a [Data],
    working: Vec<Data>,
    forced: Vec<Context>,
    plain: Context,
}

/// Which of two versions is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    First,
    Second,
    Neither,
}

impl<'a> Bench<'a> {
    /// A bench. Says what is wrong with the arguments otherwise.
    pub(super) fn new(
        entry: &'static Entry,
        name: String,
        pristine: &'a [Data],
        plain: &Context,
    ) -> Result<Self, String> {
        let fits = pristine.len() == entry.params.len()
            && pristine.iter().zip(entry.params).all(|(data, param)| {
                data.elem() == param.elem && param.elem != Elem::Other && data.shape().len() == param.shape.len()
            });
        if !fits {
            return Err("the arguments have not the types and ranks of the parameters".into());
        }
        let forced = entry.versions.iter().map(|version| plain.with_plan(version.plan)).collect();
        Ok(Self { entry, name, pristine, working: pristine.to_vec(), forced, plain: plain.clone() })
    }

    fn restore(&mut self) {
        for ((working, pristine), param) in self.working.iter_mut().zip(self.pristine).zip(self.entry.params) {
            if param.writes {
                working.restore(pristine);
            }
        }
    }

    fn with_call<T>(&mut self, act: impl FnOnce(&Dynamic<'_>, &[Context], &Context) -> T) -> Result<T, Error> {
        let args: Vec<Arg<'_>> = self.working.iter_mut().map(Data::arg).collect();
        let call = Dynamic::new(self.entry, args)?;
        Ok(act(&call, &self.forced, &self.plain))
    }

    /// Runs a version on fresh arguments, some times; seconds a call.
    fn time(&mut self, version: usize, calls: usize) -> Result<f64, Error> {
        let keeps = !self.entry.params.iter().any(|param| param.writes && param.reads);
        let (mut seconds, mut left) = (0.0, calls);
        while left > 0 {
            self.restore();
            // What a call writes is what the next one reads: only entries that do not read it run without a pause.
            let batch = if keeps { left } else { 1 };
            seconds += self.with_call(|call, forced, _| {
                let start = Instant::now();
                for _ in 0..batch {
                    // SAFETY: the entry comes from `Entries`, whose functions are safe to call with arguments of these types.
                    unsafe { call.run(&forced[version]) }?;
                }
                Ok::<f64, Error>(start.elapsed().as_secs_f64())
            })??;
            left -= batch;
        }
        Ok(seconds / calls as f64)
    }

    /// Whether what is in the working copy is what `expected` holds.
    fn is_right(&self, expected: &[Data]) -> bool {
        let written = self.entry.params.iter().zip(self.working.iter().zip(expected)).filter(|(param, _)| param.writes);
        written.into_iter().all(|(_, (found, expected))| found.agrees(expected))
    }

    /// Measures every version. Says why nothing could be measured, and adds to `complaints` what is wrong with some versions.
    pub(super) fn point(&mut self, complaints: &mut Vec<String>) -> Result<Point, String> {
        let text = |error: Error| error.to_string();
        let (values, untuned) = self.with_call(|call, _, plain| (call.measures(), call.chosen(plain))).map_err(text)?;
        let untuned = untuned.map_err(text)?;
        let count = self.entry.versions.len();
        let oracle = self.entry.versions.iter().position(|version| version.plan == "serial").unwrap_or(0);
        let mut first = vec![None; count];
        first[oracle] = Some(self.time(oracle, 1).map_err(text)?);
        let expected = self.working.clone();
        for version in (0..count).filter(|version| *version != oracle) {
            match self.time(version, 1) {
                Ok(seconds) if self.is_right(&expected) => first[version] = Some(seconds),
                Ok(_) => complaints.push(self.complaint(version, "gives other results than", oracle)),
                Err(error) => complaints.push(format!("{}: {error}", self.complaint(version, "fails, unlike", oracle))),
            }
        }
        let mut times = first.clone();
        let quickest = first.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let worthy: Vec<usize> =
            (0..count).filter(|&version| first[version].is_some_and(|time| time < HOPELESS * quickest)).collect();
        let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); count];
        for round in 0..ROUNDS {
            for turn in 0..worthy.len() {
                let version = worthy[(round + turn) % worthy.len()];
                rounds[version].push(self.time(version, calls(first[version])).map_err(text)?);
            }
        }
        for &version in &worthy {
            times[version] = Some(median(&mut rounds[version]));
        }
        let mut point = Point { name: self.name.clone(), values, times, untuned };
        self.settle(&mut point)?;
        Ok(point)
    }

    /// The best two, if they are close, are compared in pairs.
    fn settle(&mut self, point: &mut Point) -> Result<(), String> {
        let mut order: Vec<usize> = (0..point.times.len()).filter(|version| point.times[*version].is_some()).collect();
        order.sort_by(|a, b| point.loss(*a).total_cmp(&point.loss(*b)));
        let [first, second, ..] = order[..] else { return Ok(()) };
        if point.loss(second) < 0.1 {
            self.compare(point, first, second)?;
        }
        Ok(())
    }

    /// Runs two versions in turn and puts their times into `point`: equal ones if neither is reliably faster.
    pub(super) fn compare(&mut self, point: &mut Point, a: usize, b: usize) -> Result<Verdict, String> {
        let text = |error: Error| error.to_string();
        let (mut ones, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            let order = if pair % 2 == 0 { [a, b] } else { [b, a] };
            let mut seconds = [0.0; 2];
            for version in order {
                let time = self.time(version, calls(point.times[version])).map_err(text)?;
                seconds[usize::from(version == b)] = time;
            }
            ones.push(seconds[0]);
            others.push(seconds[1]);
            ratios.push(seconds[1] / seconds[0]);
        }
        let verdict = verdict(&mut ratios);
        let (one, other) = (median(&mut ones), median(&mut others));
        let (one, other) = match verdict {
            Verdict::Neither => ((one * other).sqrt(), (one * other).sqrt()),
            Verdict::First | Verdict::Second => (one, other),
        };
        (point.times[a], point.times[b]) = (Some(one), Some(other));
        Ok(verdict)
    }

    fn complaint(&self, version: usize, what: &str, oracle: usize) -> String {
        let plan = |version: usize| self.entry.versions[version].plan;
        format!("{} at {}: plan {} {what} plan {}", self.entry.name, self.name, plan(version), plan(oracle))
    }
}

/// Of ratios of the second's time to the first's.
fn verdict(ratios: &mut [f64]) -> Verdict {
    let (first, second) =
        (ratios.iter().filter(|ratio| **ratio > 1.0).count(), ratios.iter().filter(|ratio| **ratio < 1.0).count());
    let typical = median(ratios);
    if first >= AGREEING && typical >= DIFFERENCE {
        Verdict::First
    } else if second >= AGREEING && typical <= 1.0 / DIFFERENCE {
        Verdict::Second
    } else {
        Verdict::Neither
    }
}

/// How often a version that takes so long is called in one round.
fn calls(seconds: Option<f64>) -> usize {
    seconds.map_or(1, |seconds| (SLICE / seconds.max(1e-8)) as usize).clamp(1, 2000)
}

pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
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
        std::thread::sleep(std::time::Duration::from_micros(delay.into()));
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
            Version { plan: "wrong", code: Codes::Cpu(&[Code { isa: Isa::Base, function: wrong }]) },
            Version { plan: "quick", code: Codes::Cpu(&[Code { isa: Isa::Base, function: quick }]) },
            Version { plan: "serial", code: Codes::Cpu(&[Code { isa: Isa::Base, function: slow }]) },
        ],
        dispatch: Dispatch { measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }], ..Dispatch::NONE },
        sites: &[],
    };
    static DOUBLE: Entry = ENTRY;

    #[test]
    fn wrong_versions_have_no_time() {
        let cx = Context::builder().threads(1).build().unwrap();
        let data = [Data::vector(&[1.0f32, 2.0, 3.0])];
        let mut bench = Bench::new(&DOUBLE, "N = 3".into(), &data, &cx).unwrap();
        let mut complaints = Vec::new();
        let point = bench.point(&mut complaints).unwrap();
        assert_eq!(complaints, ["test::double at N = 3: plan wrong gives other results than plan serial"]);
        assert_eq!((point.times[0], point.untuned, point.values[0]), (None, 0, 3));
        let seconds = |version: usize| point.times[version].unwrap();
        assert!(seconds(1) >= 300e-6 && seconds(2) >= 900e-6, "{point:?}");
    }

    #[test]
    fn arguments_of_other_types_are_refused() {
        let cx = Context::builder().threads(1).build().unwrap();
        for data in [Data::vector(&[1.0f64]), Data::scalar(1.0f32), Data::array(&[1.0f32], &[1, 1])] {
            assert!(Bench::new(&DOUBLE, String::new(), &[data], &cx).is_err());
        }
        assert!(Bench::new(&DOUBLE, String::new(), &[], &cx).is_err());
    }

    #[test]
    fn only_clear_differences_count() {
        assert_eq!(verdict(&mut [1.1; 9]), Verdict::First);
        assert_eq!(verdict(&mut [0.9; 9]), Verdict::Second);
        assert_eq!(verdict(&mut [1.01; 9]), Verdict::Neither);
        assert_eq!(verdict(&mut [1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 0.9, 0.9]), Verdict::Neither);
    }
}
