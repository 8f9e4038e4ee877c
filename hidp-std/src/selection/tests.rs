//! Selection with a clock of its own: kernels below say how long they took.

use std::cell::Cell;
use std::time::Duration;

use super::*;
use crate::rt::entry::{Code, Codes, Dispatch, Elem, Measure, Op, Param, Site, Version};
use crate::rt::{Array, call};
use crate::{Context, Error, Isa};

thread_local! {
    /// Milliseconds that calls of this test's thread took so far. Kernels run on the thread that calls.
    static TIME: Cell<u64> = const { Cell::new(0) };
    /// Which versions ran.
    static RAN: Cell<[u32; 3]> = const { Cell::new([0; 3]) };
    /// What calls of number 1 return.
    static STATUS: Cell<i32> = const { Cell::new(0) };
}

struct OfThread;
impl Clock for OfThread {
    fn now(&self) -> Duration {
        Duration::from_millis(TIME.get())
    }
}

/// What a version does: takes its time, and adds one to the first element.
unsafe fn ran(version: usize, milliseconds: u64, call: *mut hidp_sys::hidp_call) -> i32 {
    TIME.set(TIME.get() + milliseconds);
    let mut all = RAN.get();
    all[version] += 1;
    RAN.set(all);
    // SAFETY: the only parameter is a vector of integers, whose index 0 is readable; the caller has it for itself.
    unsafe {
        let first = (*(*call).params).cast::<i32>();
        *first += 1;
    }
    if version == 1 { STATUS.get() } else { 0 }
}
unsafe extern "C" fn slow(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as `call` promises.
    unsafe { ran(0, 40, call) }
}
unsafe extern "C" fn quick(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as above.
    unsafe { ran(1, 30, call) }
}
unsafe extern "C" fn quicker(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as above.
    unsafe { ran(2, 20, call) }
}

const fn code(codes: &'static [Code]) -> Codes {
    Codes::Cpu(codes)
}

/// The quickest version gives other bits.
static SUMS: Entry = Entry {
    name: "sums::rows",
    params: &[Param {
        name: "x",
        reads: true,
        writes: true,
        elem: Elem::I32,
        positions: false,
        shape: &[&[Op::Dim(0)]],
        shape_text: &["R"],
    }],
    dims: &["R"],
    versions: &[
        Version { plan: "rows", hash: "", code: code(&[Code { isa: Isa::Base, function: slow }]) },
        Version { plan: "tree", hash: "", code: code(&[Code { isa: Isa::Base, function: quick }]) },
        Version { plan: "lanes", hash: "", code: code(&[Code { isa: Isa::Base, function: quicker }]) },
    ],
    dispatch: Dispatch {
        measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }],
        classes: &[0, 0, 1],
        ..Dispatch::NONE
    },
    sites: &[Site { file: "sums.hdp", line: 1, column: 1, text: "x[i]", kind: 0, names: &[] }],
};

fn context(any_bits: bool) -> Context {
    STATUS.set(0);
    RAN.set([0; 3]);
    let cx = Context::builder().cpu().threads(1).build().unwrap();
    cx.with_selector(Selector::with_clock(Trials::Calls, any_bits, Arc::new(OfThread)))
}

fn run(cx: &Context, x: &mut Vec<i32>) -> Result<(), Error> {
    let array = Array::<1>::output::<i32, _>(&SUMS, 0, x)?;
    // SAFETY: the entry's only parameter is such a vector, and its functions write its first element alone.
    unsafe { call::<1, 1>(cx, &SUMS, [array.arg()]) }
}

fn told(cx: &Context) -> String {
    cx.last_run().unwrap().to_string()
}

#[test]
fn the_fastest_of_the_same_bits_runs_in_the_end() {
    let cx = context(false);
    let mut x = vec![0; 1000];
    run(&cx, &mut x).unwrap();
    assert_eq!(told(&cx), "sums::rows: plan rows, base, 1 thread (preferred)");
    run(&cx, &mut x).unwrap();
    assert_eq!(told(&cx), "sums::rows: plan tree, base, 1 thread (tried: one of 2 versions, 1 sample)");
    assert!(cx.selections().is_empty(), "nothing is known yet");
    (0..50).for_each(|_| run(&cx, &mut x).unwrap());
    assert_eq!(told(&cx), "sums::rows: plan tree, base, 1 thread (selected: one of 2 versions, 6 samples)");
    // Each call ran one version, once: `x` is `inout`.
    assert_eq!((RAN.get(), x[0]), ([3, 49, 0], 52));
    let found: Vec<String> = cx.selections().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["sums::rows: parallel >= 512 and parallel < 1024: tree (instead of rows)"]);
    // Clones know it too; a forced plan goes before.
    run(&cx.clone(), &mut x).unwrap();
    assert_eq!(RAN.get(), [3, 50, 0]);
    // What was learnt with other code is of no use.
    run(&cx.with_isa(Isa::Base).unwrap(), &mut x).unwrap();
    assert!(told(&cx).contains("instruction set forced"));
    assert_eq!(RAN.get(), [4, 50, 0]);
    run(&cx.with_plan("lanes"), &mut x).unwrap();
    assert_eq!((RAN.get(), told(&cx).contains("plan forced")), ([4, 50, 1], true));
}

#[test]
fn other_bits_are_tried_where_that_is_allowed() {
    let cx = context(true);
    let mut x = vec![0; 1000];
    (0..50).for_each(|_| run(&cx, &mut x).unwrap());
    assert_eq!(RAN.get(), [3, 3, 44]);
    assert_eq!(cx.selections()[0].plan(), "lanes");
}

#[test]
fn nothing_is_tried_unless_it_is_asked_for() {
    RAN.set([0; 3]);
    let cx = Context::builder().cpu().threads(1).build().unwrap();
    let mut x = vec![0; 1000];
    (0..20).for_each(|_| run(&cx, &mut x).unwrap());
    assert_eq!((RAN.get(), cx.selections().len()), ([20, 0, 0], 0));
}

#[test]
fn kinds_of_calls_are_apart_and_other_sizes_are_no_samples() {
    let cx = context(false);
    let (mut small, mut near, mut large) = (vec![0; 1000], vec![0; 900], vec![0; 5000]);
    for _ in 0..10 {
        run(&cx, &mut small).unwrap();
        let before = RAN.get();
        run(&cx, &mut near).unwrap();
        let found = !cx.selections().is_empty();
        assert_eq!(RAN.get()[1] > before[1], found, "what was found holds for sizes near it, which are not tried");
    }
    assert_eq!(cx.selections().len(), 1);
    let before = RAN.get();
    run(&cx, &mut large).unwrap();
    assert_eq!(RAN.get()[0], before[0] + 1, "of those nothing is known");
    (0..10).for_each(|_| run(&cx, &mut large).unwrap());
    assert_eq!(cx.selections().len(), 2);
}

#[test]
fn a_version_that_faults_is_no_sample_and_never_found() {
    let cx = context(false);
    STATUS.set(1);
    let mut x = vec![0; 1000];
    let faults = (0..50).filter(|_| run(&cx, &mut x).is_err()).count();
    assert_eq!((faults, RAN.get(), cx.selections().len()), (4, [46, 4, 0], 0));
}

#[test]
fn calls_beside_others_are_no_samples() {
    let selector = Selector::with_clock(Trials::Calls, false, Arc::new(OfThread));
    let others = |_: bool| vec![1];
    let values = std::array::from_fn(|at| if at == 0 { 1000 } else { -1 });
    let begin = || {
        selector.begin(Some(Call {
            entry: &SUMS,
            usual: (0, Settings::USUAL),
            others: &others,
            values,
            can_be_cut: false,
            dims: &[],
        }))
    };
    // The other one begins while the first runs: neither is measured.
    let (first, _) = begin();
    let (second, tried) = begin();
    assert!(tried.is_none(), "nothing is tried beside another call");
    TIME.set(TIME.get() + 40);
    first.has_run(true);
    second.has_run(true);
    let samples = || selector.state().kinds.values().map(|kind| kind.bucket.samples()).sum::<u32>();
    assert_eq!((samples(), selector.state().running), (0, 0));
    let (alone, _) = begin();
    TIME.set(TIME.get() + 40);
    alone.has_run(true);
    assert_eq!(samples(), 1);
    // A call that selects nothing is company, too.
    let (alone, _) = begin();
    drop(selector.begin(None));
    TIME.set(TIME.get() + 40);
    alone.has_run(true);
    assert_eq!(samples(), 1);
}

#[test]
fn threads_share_what_is_learnt() {
    let cx = context(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut x = vec![0; 1000];
                (0..200).for_each(|_| run(&cx, &mut x).unwrap());
                assert_eq!((x[0], RAN.get().iter().sum::<u32>(), RAN.get()[2]), (200, 200, 0));
            });
        }
    });
    assert_eq!(cx.selector().unwrap().state().running, 0);
}

#[cfg(feature = "tune")]
#[test]
fn what_was_learnt_becomes_a_record() {
    let cx = context(false);
    let path = std::env::temp_dir().join(format!("hidp-selections-{}.toml", std::process::id()));
    assert_eq!(crate::tune::record_selections(&cx, &path), Ok(0));
    assert!(!path.exists(), "nothing is known");
    let mut x = vec![0; 1000];
    (0..20).for_each(|_| run(&cx, &mut x).unwrap());
    assert_eq!(crate::tune::record_selections(&cx, &path), Ok(1));
    let recorded = Context::builder().cpu().threads(1).tuning(&path).build().unwrap();
    for (size, plan) in [(511, "rows"), (512, "tree"), (1023, "tree"), (1024, "rows")] {
        run(&recorded, &mut vec![0; size]).unwrap();
        assert_eq!(recorded.last_run().unwrap().plan, plan, "{size} elements");
    }
    // What was learnt with a record goes before it, and it stays for other sizes.
    STATUS.set(0);
    let again = recorded.with_selector(Selector::with_clock(Trials::Calls, true, Arc::new(OfThread)));
    (0..30).for_each(|_| run(&again, &mut x).unwrap());
    let rules: Vec<String> = again.selections().iter().map(Selection::rule).collect();
    assert_eq!(rules, ["parallel >= 512 and parallel < 1024: lanes"]);
    assert_eq!(crate::tune::record_selections(&again, &path), Ok(1));
    let text = std::fs::read_to_string(&path).unwrap();
    let both = "parallel >= 512 and parallel < 1024: lanes; parallel >= 512 and parallel < 1024: tree";
    assert!(text.contains(both) && text.matches("[[record]]").count() == 1, "{text}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn samples_are_of_equal_sizes_and_rules_of_all_calls_within_them() {
    let selector = Selector::with_clock(Trials::Calls, false, Arc::new(OfThread));
    let values = std::array::from_fn(|at| if at == 0 { 1000 } else { -1 });
    let call = |usual: usize, dims: &[i64], took: u64| {
        let others = |_: bool| vec![1 - usual];
        let usual = (usual, Settings::USUAL);
        let call = Call { entry: &SUMS, usual, others: &others, values, can_be_cut: false, dims };
        let (turn, other) = selector.begin(Some(call));
        TIME.set(TIME.get() + if other.is_some() { took / 2 } else { took });
        turn.has_run(true);
    };
    let samples = || selector.state().kinds.values().map(|kind| kind.bucket.samples()).sum::<u32>();
    (0..2).for_each(|_| call(0, &[1000, 5], 40));
    assert_eq!(samples(), 2);
    (0..9).for_each(|_| call(0, &[1000, 900], 4000));
    assert_eq!(samples(), 2, "measures are the same, sizes are not");
    (0..9).for_each(|_| call(0, &[1000, 5], 40));
    assert_eq!(selector.selections().len(), 1);
    // Its conditions would hold for these calls, of which nothing is known.
    call(1, &[1000, 5], 40);
    assert!(selector.selections().is_empty());
}

#[test]
fn kinds_are_bounded() {
    let selector = Selector::with_clock(Trials::Calls, false, Arc::new(OfThread));
    let others = |_: bool| vec![1];
    let begin = |kind: u32| {
        let values =
            std::array::from_fn(|at| if at < 2 { 1_i64 << (if at == 0 { kind % 60 } else { kind / 60 }) } else { -1 });
        selector
            .begin(Some(Call {
                entry: &SUMS,
                usual: (0, Settings::USUAL),
                others: &others,
                values,
                can_be_cut: false,
                dims: &[],
            }))
            .0
            .has_run(true);
    };
    (0..2000).for_each(begin);
    assert_eq!(selector.state().kinds.len(), KINDS);
}

#[test]
fn powers_are_told_by_conditions() {
    for value in [0, 1, 2, 3, 1000, 1 << 61, 1 << 62, i64::MAX] {
        let power = Power::around(value);
        let holds = |value: i64| {
            power.conditions(0).iter().all(|condition| (value >= condition.bound.value(1)) == condition.least)
        };
        for other in [0, 1, 2, 3, 4, 999, 1000, 1024, (1 << 61) - 1, 1 << 61, 1 << 62, i64::MAX] {
            assert_eq!(holds(other), Power::around(other) == power, "{value} and {other}");
        }
    }
    assert!(Power::around(-1).conditions(0).is_empty());
}
