//! Which version of an entry a call runs.

use super::args::Arg;
use super::entry::{Code, Codes, Condition, Entry, EntryFn, Rule, Settings, Version};
use super::measures::Values;
use super::place::{Place, Places, forced_place, place_of_forced, places};
use crate::context::{Because, Decided, PlacedBy};
use crate::error::{IsaNames, PlanNames};
use crate::tuning::tuned;
use crate::{Context, Error, Isa, Selected};

/// A version, its code for this machine, and why it runs.
pub(super) struct Choice {
    pub(super) version: &'static Version,
    pub(super) function: EntryFn,
    /// `None` if the context's device runs it.
    pub(super) isa: Option<Isa>,
    /// Why there.
    pub(super) placed: PlacedBy,
    pub(super) settings: Settings,
    pub(super) why: Because,
}

/// The version that the context's settings ask for, else the one that the entry's rules choose by the values of measures.
pub(super) fn choose(
    cx: &Context,
    entry: &'static Entry,
    args: &[Arg<'_>],
    values: &mut Values<'_>,
) -> Result<Choice, Error> {
    let places = match cx.plan() {
        None => places(cx, entry, args)?,
        Some(plan) => match entry.versions.iter().find(|version| version.plan == plan) {
            Some(version) => return forced_version(cx, entry, version, Settings::USUAL),
            None => forced_place(cx, entry, plan)?,
        },
    };
    values.look_at_shapes();
    let (place, placed, rule) = match places {
        Places::One(place, placed) => (place, placed, None),
        Places::Either => either(cx, entry, values),
    };
    let (version, settings, why) = preferred(cx, entry, (place, placed), rule, values);
    let Some(version) = version else {
        return Err(Error::UnknownPlan { entry: entry.name, plan: "".into(), plans: PlanNames(entry.versions) });
    };
    let why = if cx.isa_forced() && place == Place::Processor { Because::ForcedIsa } else { why };
    with_code(cx, entry, version, place, settings, (placed, why))
}

/// The position of a version that rules chose on the processor, which another may replace; nothing for other calls.
pub(super) fn replaceable(entry: &'static Entry, choice: &Choice) -> Option<usize> {
    match choice.why {
        Because::Preferred | Because::ForcedIsa | Because::Rule(_) if choice.isa.is_some() => {
            entry.versions.iter().position(|version| std::ptr::eq(version, choice.version))
        }
        Because::Preferred | Because::ForcedIsa | Because::Rule(_) | Because::ForcedPlan | Because::Selected(_) => None,
    }
}

/// The versions that the processor may run in place of number `usual`: those of the same bits, or all that have code here.
pub(super) fn instead_of(cx: &Context, entry: &'static Entry, usual: usize, any_bits: bool) -> Vec<usize> {
    let class = |version: usize| entry.dispatch.classes.get(version);
    let same = |version: usize| any_bits || class(version).is_some_and(|own| class(usual) == Some(own));
    let runs = |version: usize| code(cx, &entry.versions[version], Place::Processor).is_some();
    (0..entry.versions.len()).filter(|version| *version != usual && same(*version) && runs(*version)).collect()
}

/// The choice of another version, which was selected.
pub(super) fn select(
    cx: &Context,
    entry: &'static Entry,
    choice: &Choice,
    (version, selected): (usize, Selected),
) -> Result<Choice, Error> {
    let why = (choice.placed, Because::Selected(selected));
    with_code(cx, entry, &entry.versions[version], Place::Processor, Settings::USUAL, why)
}

fn forced_version(
    cx: &Context,
    entry: &'static Entry,
    version: &'static Version,
    settings: Settings,
) -> Result<Choice, Error> {
    let place = place_of_forced(cx, entry, version)?;
    with_code(cx, entry, version, place, settings, (PlacedBy::Forced, Because::ForcedPlan))
}

/// A version and settings that a tool asks for.
#[cfg(feature = "tune")]
pub(super) fn forced(cx: &Context, entry: &'static Entry, version: usize, settings: Settings) -> Result<Choice, Error> {
    match entry.versions.get(version) {
        Some(version) => forced_version(cx, entry, version, settings),
        None => Err(Error::UnknownPlan { entry: entry.name, plan: "".into(), plans: PlanNames(entry.versions) }),
    }
}

/// Where a call runs that could run on both sides; on the device the rule that said so, if one did.
fn either(cx: &Context, entry: &'static Entry, values: &mut Values<'_>) -> (Place, PlacedBy, Option<Decided>) {
    let host = |rule: &Rule| rule.version == Rule::HOST;
    let here = |rule: &Rule| host(rule) || eligible(cx, entry, rule, Place::Device);
    match decides(cx, entry, Place::Device, here, values) {
        Some(decided) if host(decided.rule) => (Place::Processor, PlacedBy::Host(decided), None),
        decided => (Place::Device, PlacedBy::Device, decided),
    }
}

/// What the rules say, of which one may have decided before. A version that cannot run here is never chosen.
fn preferred(
    cx: &Context,
    entry: &'static Entry,
    (place, placed): (Place, PlacedBy),
    decided: Option<Decided>,
    values: &mut Values<'_>,
) -> (Option<&'static Version>, Settings, Because) {
    let first = || entry.versions.iter().find(|version| version.code.on_device() == (place == Place::Device));
    let here = |rule: &Rule| eligible(cx, entry, rule, place);
    let decided = decided.or_else(|| decides(cx, entry, place, here, values));
    let rule = decided.map(|decided| decided.rule);
    let compared = placed == PlacedBy::Device;
    if rule.is_none() && !compared && !entry.dispatch.rules.iter().any(|rule| has_code_for(entry, rule, place)) {
        return (first(), Settings::USUAL, Because::Preferred);
    }
    let version = rule.map_or_else(first, |rule| entry.versions.get(rule.version));
    let settings = rule.map_or(Settings::USUAL, |rule| rule.settings);
    (version, settings, Because::Rule(decided))
}

/// The first rule that holds, of those that were measured, else of the compiler's.
fn decides(
    cx: &Context,
    entry: &'static Entry,
    place: Place,
    here: impl Fn(&Rule) -> bool,
    values: &mut Values<'_>,
) -> Option<Decided> {
    let mut first = |rules: &'static [Rule], tuned: bool, wanted: fn(&Rule) -> bool| {
        let rule = rules.iter().find(|rule| {
            wanted(rule)
                && here(rule)
                && rule.conditions.iter().all(|condition| holds(condition, values, threads(cx, rule, place)))
        });
        rule.map(|rule| Decided { rule, tuned })
    };
    let compiled = entry.dispatch.rules;
    let (host, plan) = (|rule: &Rule| rule.version == Rule::HOST, |rule: &Rule| rule.version != Rule::HOST);
    let Some(tuned) = tuned(cx, entry, place == Place::Device) else { return first(compiled, false, |_| true) };
    // What is for the processor the compiler's rules say, where that was not measured.
    let unmeasured = place == Place::Device && !tuned.places;
    let for_host = if unmeasured { first(compiled, false, host) } else { None };
    for_host.or_else(|| first(&tuned.rules, true, |_| true)).or_else(|| first(compiled, false, plan))
}

/// What `threads` in a rule stands for: those that would run the call.
fn threads(cx: &Context, rule: &Rule, place: Place) -> u32 {
    match (place, cx.queue()) {
        (Place::Device, Some(queue)) if rule.version != Rule::HOST => queue.facts().threads(),
        (Place::Device | Place::Processor, _) => cx.threads(),
    }
}

/// Nothing is said of a measure that has no value.
fn holds(condition: &Condition, values: &mut Values<'_>, threads: u32) -> bool {
    let bound = condition.bound.value(threads);
    values.get(condition.measure).is_some_and(|value| (value >= bound) == condition.least)
}

fn has_code_for(entry: &'static Entry, rule: &Rule, place: Place) -> bool {
    let version = entry.versions.get(rule.version);
    version.is_some_and(|version| version.code.on_device() == (place == Place::Device))
}

/// Whether the version that a rule chooses can run there.
fn eligible(cx: &Context, entry: &'static Entry, rule: &Rule, place: Place) -> bool {
    entry.versions.get(rule.version).is_some_and(|version| code(cx, version, place).is_some())
}

/// The code of a version that this context can run there, and the instruction set it is for.
fn code(cx: &Context, version: &'static Version, place: Place) -> Option<(EntryFn, Option<Isa>)> {
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
    (placed, why): (PlacedBy, Because),
) -> Result<Choice, Error> {
    match code(cx, version, place) {
        Some((function, isa)) => Ok(Choice { version, function, isa, placed, settings, why }),
        None => {
            let compiled = IsaNames(version.code.cpu());
            Err(Error::NoCode { entry: entry.name, plan: version.plan, isa: cx.isa(), compiled })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::entry::{Bound, Codes, Dispatch, Elem, Measure, Op, SegmentBound};

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
                device_source: "",
                device_toolchain: "",
                kernels: &[],
                classes: &[],
                parts: None,
                records: &[],
                tunables: &[],
                settings: &[],
                measures: &[
                    Measure { name: "parallel", program: &[Op::Dim(0)] },
                    Measure { name: "inner", program: &[Op::Dim(1), Op::Dim(0), Op::Div] },
                ],
                rules: &[Rule { conditions: &[FEW, LONG], version: 1, settings: Settings::USUAL }],
            },
            sites: &[],
        }
    }
    static SUMS: Entry =
        entry(&[Version { plan: "rows", hash: "", code: CODE }, Version { plan: "team", hash: "", code: CODE }]);
    static UNRUNNABLE: Entry =
        entry(&[Version { plan: "rows", hash: "", code: CODE }, Version { plan: "team", hash: "", code: V4 }]);

    fn chosen(cx: &Context, entry: &'static Entry, dims: [i64; 2]) -> (&'static str, String) {
        told(cx, entry, &[], &dims)
    }

    fn told(cx: &Context, entry: &'static Entry, args: &[Arg<'_>], dims: &[i64]) -> (&'static str, String) {
        let mut values = Values::new(entry, args, dims);
        let choice = choose(cx, entry, args, &mut values).unwrap();
        (choice.version.plan, choice.why.told(entry.dispatch.measures, &values.found()).to_string())
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
            ..entry(&[Version { plan: "rows", hash: "", code: CODE }, Version { plan: "team", hash: "", code: CODE }])
        };
        let cx = Context::builder().threads(2).build().unwrap();
        let chosen = |cut: &[i32]| {
            let array = crate::rt::Array::<1>::input::<i32, _>(&RAGGED, 0, cut).unwrap();
            told(&cx, &RAGGED, &[array.arg()], &[cut.len() as i64 - 1])
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
