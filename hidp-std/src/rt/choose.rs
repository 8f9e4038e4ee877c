//! Which version of an entry a call runs.

use super::args::Arg;
use super::entry::{Code, Codes, Condition, Entry, EntryFn, MOST_MEASURES, Measure, Op, Rule, Settings, Version};
use super::extent::{Evaluator, Extent};
use crate::error::{IsaNames, PlanNames};
use crate::tuning::tuned;
use crate::{Context, Error, Isa, Reason, Why};

/// A version, its code for this machine, and why it runs.
pub(super) struct Choice {
    pub(super) version: &'static Version,
    pub(super) function: EntryFn,
    /// `None` if the context's device runs it.
    pub(super) isa: Option<Isa>,
    /// Whether the context has a device, but the entry no version for it.
    pub(super) instead: bool,
    pub(super) settings: Settings,
    pub(super) why: Why,
}

/// What runs a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Processor,
    Device,
}

/// The version that the context's settings ask for, else the one that the entry's rules choose.
pub(super) fn choose(cx: &Context, entry: &'static Entry, args: &[Arg<'_>], dims: &[i64]) -> Result<Choice, Error> {
    if let Some(plan) = cx.plan() {
        let Some(version) = entry.versions.iter().find(|version| version.plan == plan) else {
            return Err(Error::UnknownPlan { entry: entry.name, plan: plan.into(), plans: PlanNames(entry.versions) });
        };
        let place = place_of_forced(cx, entry, version)?;
        return with_code(cx, entry, version, place, Settings::USUAL, Why::ForcedPlan);
    }
    let place = place_of(cx, entry)?;
    let (version, settings, why) = preferred(cx, entry, place, args, dims);
    let Some(version) = version else {
        return Err(Error::UnknownPlan { entry: entry.name, plan: "".into(), plans: PlanNames(entry.versions) });
    };
    let forced = cx.isa_forced() && place == Place::Processor;
    let choice = with_code(cx, entry, version, place, settings, if forced { Why::ForcedIsa } else { why })?;
    Ok(Choice { instead: place == Place::Processor && cx.queue().is_some(), ..choice })
}

/// A version and settings that a tool asks for.
#[cfg(feature = "tune")]
pub(super) fn forced(cx: &Context, entry: &'static Entry, version: usize, settings: Settings) -> Result<Choice, Error> {
    match entry.versions.get(version) {
        Some(version) => {
            let place = place_of_forced(cx, entry, version)?;
            with_code(cx, entry, version, place, settings, Why::ForcedPlan)
        }
        None => Err(Error::UnknownPlan { entry: entry.name, plan: "".into(), plans: PlanNames(entry.versions) }),
    }
}

/// What runs an entry that may run in any plan.
fn place_of(cx: &Context, entry: &'static Entry) -> Result<Place, Error> {
    if cx.queue().is_none() {
        Ok(Place::Processor)
    } else if entry.versions.iter().any(|version| version.code.on_device()) {
        Ok(Place::Device)
    } else if cx.is_strict() {
        Err(Error::NoDeviceVersion { entry: entry.name, plan: None, device: cx.device().name().into() })
    } else {
        cx.tell_of(entry);
        Ok(Place::Processor)
    }
}

fn place_of_forced(cx: &Context, entry: &'static Entry, version: &'static Version) -> Result<Place, Error> {
    match (&version.code, cx.queue()) {
        (Codes::Device(_), Some(_)) => Ok(Place::Device),
        (Codes::Device(_), None) => {
            Err(Error::DevicePlan { entry: entry.name, plan: version.plan, why: cx.device().why().into() })
        }
        (Codes::Cpu(_), Some(_)) if cx.is_strict() => {
            let device = cx.device().name().into();
            Err(Error::NoDeviceVersion { entry: entry.name, plan: Some(version.plan.into()), device })
        }
        (Codes::Cpu(_), Some(_) | None) => Ok(Place::Processor),
    }
}

/// What the rules say. A version that cannot run here is never chosen.
fn preferred(
    cx: &Context,
    entry: &'static Entry,
    place: Place,
    args: &[Arg<'_>],
    dims: &[i64],
) -> (Option<&'static Version>, Settings, Why) {
    let tuned = if place == Place::Processor { tuned(cx, entry) } else { None };
    let rules: &'static [Rule] = tuned.map_or(entry.dispatch.rules, |tuned| &tuned.rules);
    let first = || entry.versions.iter().find(|version| version.code.on_device() == (place == Place::Device));
    if rules.is_empty() {
        return (first(), Settings::USUAL, Why::Preferred);
    }
    let threads = match (place, cx.queue()) {
        (Place::Device, Some(queue)) => queue.facts().threads(),
        (Place::Device, None) | (Place::Processor, _) => cx.threads(),
    };
    let mut values = [UNKNOWN; MOST_MEASURES];
    fill(entry, args, dims, &mut values, |measure| !is_costly(measure));
    let mut decides = |rule: &&Rule| {
        let version = entry.versions.get(rule.version);
        let runs = version.is_some_and(|version| eligible(cx, version, place).is_some());
        runs && rule.conditions.iter().all(|condition| {
            let needed = entry.dispatch.measures.get(condition.measure).is_some_and(is_costly);
            if needed && values[condition.measure] == UNKNOWN {
                fill(entry, args, dims, &mut values, |measure| {
                    std::ptr::eq(measure, &entry.dispatch.measures[condition.measure])
                });
            }
            holds(condition, &values, threads)
        })
    };
    let rule = rules.iter().find(|rule| decides(rule));
    let version = rule.map_or_else(first, |rule| entry.versions.get(rule.version));
    let settings = rule.map_or(Settings::USUAL, |rule| rule.settings);
    (version, settings, Why::Rule(Reason { measures: entry.dispatch.measures, rule, values, tuned: tuned.is_some() }))
}

/// The value of a measure of which nothing is known.
const UNKNOWN: i64 = -1;

/// Whether a measure looks at arrays: only where a rule asks for it.
fn is_costly(measure: &Measure) -> bool {
    matches!(measure.program.last(), Some(Op::Longest(_) | Op::Balance(_)))
}

/// Values of the entry's measures; -1 for those that these shapes do not give.
#[cfg(feature = "tune")]
pub(crate) fn measure(entry: &Entry, args: &[Arg<'_>], dims: &[i64]) -> [i64; MOST_MEASURES] {
    let mut values = [UNKNOWN; MOST_MEASURES];
    fill(entry, args, dims, &mut values, |_| true);
    values
}

fn fill(
    entry: &Entry,
    args: &[Arg<'_>],
    dims: &[i64],
    values: &mut [i64; MOST_MEASURES],
    wanted: impl Fn(&'static Measure) -> bool,
) {
    for (value, measure) in values.iter_mut().zip(entry.dispatch.measures).filter(|(_, measure)| wanted(measure)) {
        *value = match quick(measure.program, dims) {
            Some(value) => value.max(0),
            None => match (Evaluator { args, dims, unknown: None }).extent(measure.program) {
                Extent::Linear { scale: 0, offset } => i64::try_from(offset).map_or(UNKNOWN, |value| value.max(0)),
                Extent::Linear { .. } | Extent::Open | Extent::Undefined => UNKNOWN,
            },
        };
    }
}

/// What the evaluator gives, at once for the usual programs: products, quotients and sums of dimensions.
fn quick(program: &[Op], dims: &[i64]) -> Option<i64> {
    let mut stack = [0_i64; 4];
    let mut height = 0_usize;
    for &op in program {
        let operands = height.checked_sub(2).map(|below| (stack[below], stack[below + 1]));
        let value = match (op, operands) {
            (Op::Const(value), _) => value,
            (Op::Dim(number), _) => *dims.get(usize::from(number))?,
            (Op::Add, Some((a, b))) => a.checked_add(b)?,
            (Op::Sub, Some((a, b))) => a.checked_sub(b)?,
            (Op::Mul, Some((a, b))) => a.checked_mul(b)?,
            (Op::Div, Some((a, b))) => a.checked_div(b)?,
            _ => return None,
        };
        height -= if matches!(op, Op::Const(_) | Op::Dim(_)) { 0 } else { 2 };
        *stack.get_mut(height)? = value;
        height += 1;
    }
    (height == 1).then_some(stack[0])
}

/// Nothing is said of a measure that has no value.
fn holds(condition: &Condition, values: &[i64; MOST_MEASURES], threads: u32) -> bool {
    let bound = condition.bound.value(threads);
    values.get(condition.measure).is_some_and(|&value| value >= 0 && (value >= bound) == condition.least)
}

/// The code of a version that this context can run there, and the instruction set it is for.
fn eligible(cx: &Context, version: &'static Version, place: Place) -> Option<(EntryFn, Option<Isa>)> {
    let fits = |isa: Isa| if cx.isa_forced() { isa == cx.isa() } else { isa <= cx.isa() };
    match (&version.code, place) {
        (Codes::Cpu(codes), Place::Processor) => {
            codes.iter().find(|code| fits(code.isa)).map(|Code { isa, function }| (*function, Some(*isa)))
        }
        (Codes::Device(function), Place::Device) => Some((*function, None)),
        (Codes::Cpu(_), Place::Device) | (Codes::Device(_), Place::Processor) => None,
    }
}

fn with_code(
    cx: &Context,
    entry: &'static Entry,
    version: &'static Version,
    place: Place,
    settings: Settings,
    why: Why,
) -> Result<Choice, Error> {
    match eligible(cx, version, place) {
        Some((function, isa)) => Ok(Choice { version, function, isa, instead: false, settings, why }),
        None => {
            let compiled = IsaNames(version.code.cpu());
            Err(Error::NoCode { entry: entry.name, plan: version.plan, isa: cx.isa(), compiled })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::{Bound, Codes, Dispatch, Elem, SegmentBound};

    unsafe extern "C" fn nothing(_: *mut hidp_sys::hidp_call) -> i32 {
        0
    }
    const CODE: Codes = Codes::Cpu(&[Code { isa: Isa::Base, function: nothing }]);
    const V4: Codes = Codes::Cpu(&[Code { isa: Isa::V4, function: nothing }]);
    const FEW: Condition = Condition { measure: 0, least: false, bound: Bound::PerThread(2) };
    const LONG: Condition = Condition { measure: 1, least: true, bound: Bound::Fixed(1000) };

    const fn entry(versions: &'static [Version]) -> Entry {
        Entry {
            name: "sums::rows",
            params: &[],
            dims: &["R", "C"],
            versions,
            dispatch: Dispatch {
                source: "",
                toolchain: "",
                records: &[],
                tunables: &[],
                measures: &[
                    Measure { name: "parallel", program: &[Op::Dim(0)] },
                    Measure { name: "inner", program: &[Op::Dim(1), Op::Dim(0), Op::Div] },
                ],
                rules: &[Rule { conditions: &[FEW, LONG], version: 1, settings: Settings::USUAL }],
            },
            sites: &[],
        }
    }
    static SUMS: Entry = entry(&[Version { plan: "rows", code: CODE }, Version { plan: "team", code: CODE }]);
    static UNRUNNABLE: Entry = entry(&[Version { plan: "rows", code: CODE }, Version { plan: "team", code: V4 }]);

    fn chosen(cx: &Context, entry: &'static Entry, dims: [i64; 2]) -> (&'static str, String) {
        let choice = choose(cx, entry, &[], &dims).unwrap();
        (choice.version.plan, choice.why.to_string())
    }

    #[test]
    fn the_first_rule_that_holds_decides() {
        let cx = Context::builder().threads(2).build().unwrap();
        let why = "parallel = 3 < 2 * threads and inner = 1000 >= 1000";
        assert_eq!(chosen(&cx, &SUMS, [3, 3000]), ("team", why.into()));
        assert_eq!(chosen(&cx, &SUMS, [3, 2999]), ("rows", "no rule holds: parallel = 3, inner = 999".into()));
        assert_eq!(chosen(&cx, &SUMS, [4, 4000]).0, "rows");
        assert_eq!(chosen(&cx, &SUMS, [0, 4000]), ("rows", "no rule holds: parallel = 0, inner unknown".into()));
        let one = Context::builder().threads(1).build().unwrap();
        assert_eq!(chosen(&one, &SUMS, [3, 3000]).0, "rows");
        assert_eq!(chosen(&cx.with_plan("rows"), &SUMS, [3, 3000]), ("rows", "plan forced".into()));
    }

    #[test]
    fn the_quick_way_agrees_with_the_evaluator() {
        use Op::{Add, Const, Dim, Div, Max, Mul, Sub};
        let dims = [7, 3, 0, i64::MAX];
        let programs: [&[Op]; 9] = [
            &[Dim(0)],
            &[Dim(0), Dim(1), Mul],
            &[Dim(0), Dim(1), Sub, Const(2), Div, Dim(1), Add],
            &[Const(1), Dim(0), Dim(1), Const(5), Const(6), Add, Add, Add, Add],
            &[Dim(0), Dim(2), Div],
            &[Dim(3), Const(1), Add],
            &[Dim(0), Dim(1), Max],
            &[Dim(0), Dim(1)],
            &[],
        ];
        for program in programs {
            let whole = match (Evaluator { args: &[], dims: &dims, unknown: None }).extent(program) {
                Extent::Linear { scale: 0, offset } => i64::try_from(offset).ok(),
                Extent::Linear { .. } | Extent::Open | Extent::Undefined => None,
            };
            assert!(quick(program, &dims).is_none_or(|value| Some(value) == whole), "{program:?}");
        }
        assert_eq!(quick(&[Dim(0), Dim(1), Mul], &dims), Some(21));
        assert_eq!(quick(&[Dim(0), Dim(1), Sub], &dims), Some(4));
        assert_eq!(quick(&[Dim(0), Dim(1)], &dims), None);
    }

    #[test]
    fn segments_are_looked_at_where_a_rule_asks() {
        const CUT: SegmentBound = SegmentBound { param: 0, elem: Elem::I32, offset: 0 };
        const BOUNDS: &[SegmentBound; 2] = &[CUT, SegmentBound { offset: 1, ..CUT }];
        const ONE_LONG: &[Condition] = &[
            Condition { measure: 1, least: true, bound: Bound::Fixed(60_000) },
            Condition { measure: 2, least: false, bound: Bound::Fixed(2) },
        ];
        static RAGGED: Entry = Entry {
            dispatch: Dispatch {
                measures: &[
                    Measure { name: "parallel", program: &[Op::Dim(0)] },
                    Measure { name: "longest", program: &[Op::Dim(0), Op::Longest(BOUNDS)] },
                    Measure { name: "balance", program: &[Op::Dim(0), Op::Balance(BOUNDS)] },
                ],
                rules: &[Rule { conditions: ONE_LONG, version: 1, settings: Settings::USUAL }],
                ..Dispatch::NONE
            },
            ..entry(&[Version { plan: "rows", code: CODE }, Version { plan: "team", code: CODE }])
        };
        let cx = Context::builder().threads(2).build().unwrap();
        let chosen = |cut: &[i32]| {
            let array = crate::rt::Array::<1>::input::<i32, _>(&RAGGED, 0, cut).unwrap();
            let choice = choose(&cx, &RAGGED, &[array.arg()], &[cut.len() as i64 - 1]).unwrap();
            (choice.version.plan, choice.why.to_string())
        };
        let why = "longest = 70000 >= 60000 and balance = 1 < 2";
        assert_eq!(chosen(&[0, 70_000, 80_000, 90_000]), ("team", why.into()));
        let why = "no rule holds: parallel = 3, longest = 70000, balance = 2";
        assert_eq!(chosen(&[0, 70_000, 100_000, 150_000]), ("rows", why.into()));
        // Too little work to look, too many segments, or bounds that are not there.
        let unknown = |count: usize| format!("no rule holds: parallel = {count}, longest unknown, balance unknown");
        assert_eq!(chosen(&[0, 60_000]), ("rows", unknown(1)));
        let many: Vec<i32> = (0..=5000).map(|at| at * 40_000).collect();
        assert_eq!(chosen(&many), ("rows", unknown(5000)));
        assert_eq!(chosen(&[5]), ("rows", unknown(0)));
    }

    #[test]
    fn a_version_that_cannot_run_is_never_chosen() {
        let cx = Context::builder().threads(2).isa(Isa::Base).build().unwrap();
        assert_eq!(chosen(&cx, &SUMS, [1, 5000]).0, "team");
        assert_eq!(chosen(&cx, &UNRUNNABLE, [1, 5000]).0, "rows");
    }
}
