//! Parts of calls, with a clock that kernels set.

use std::cell::{Cell, RefCell};
use std::slice;
use std::time::Duration;

use super::*;
use crate::rt::entry::{Code, Codes, Dispatch, Elem, Measure, Op, Param, Parts, Site, Version};
use crate::rt::{Array, call};
use crate::{Context, Error, Isa};

thread_local! {
    /// Nanoseconds that calls of this test's thread took so far.
    static TIME: Cell<u64> = const { Cell::new(0) };
    /// What a row takes in each version.
    static ROW: Cell<[u64; 2]> = const { Cell::new([4000, 2000]) };
    /// What ran: a version's number, and how many rows.
    static RAN: RefCell<Vec<(usize, i64)>> = const { RefCell::new(Vec::new()) };
}

struct OfThread;
impl Clock for OfThread {
    fn now(&self) -> Duration {
        Duration::from_nanos(TIME.get())
    }
}

/// Computes rows of `y` from what stands a row further in `x`, in which a negative number is a fault.
unsafe fn rows(version: usize, adds: bool, call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: the parameters are an array of a row more than the dimension says, and one of so many rows of three.
    let (count, x, y, fault) = unsafe {
        let call = &mut *call;
        let count = *call.dims;
        let x = slice::from_raw_parts((*call.params).cast::<i32>(), count as usize + 1);
        let y = slice::from_raw_parts_mut((*call.params.add(1)).cast::<i32>(), 3 * count as usize);
        (count, x, y, &mut call.fault)
    };
    RAN.with_borrow_mut(|ran| ran.push((version, count)));
    TIME.set(TIME.get() + ROW.get()[version] * count as u64);
    for (of, x) in y.chunks_exact_mut(3).zip(&x[1..]) {
        if *x < 0 {
            (fault.count, fault.values[0]) = (1, (*x).into());
            return 1;
        }
        let column = |y: i32, at: usize| x * 3 + at as i32 + if adds { y } else { 0 };
        of.iter_mut().enumerate().for_each(|(at, y)| *y = column(*y, at));
    }
    0
}
unsafe extern "C" fn slow_adding(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as `call` promises.
    unsafe { rows(0, true, call) }
}
unsafe extern "C" fn quick_adding(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as above.
    unsafe { rows(1, true, call) }
}
unsafe extern "C" fn slow(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as above.
    unsafe { rows(0, false, call) }
}
unsafe extern "C" fn quick(call: *mut hidp_sys::hidp_call) -> i32 {
    // SAFETY: as above.
    unsafe { rows(1, false, call) }
}

const X: Param = Param {
    name: "x",
    reads: true,
    writes: false,
    elem: Elem::I32,
    positions: false,
    shape: &[&[Op::Dim(0), Op::Const(1), Op::Add]],
    shape_text: &["N + 1"],
};
const Y: Param = Param {
    name: "y",
    reads: true,
    writes: true,
    elem: Elem::I32,
    positions: false,
    shape: &[&[Op::Dim(0)], &[Op::Const(3)]],
    shape_text: &["N", "3"],
};
const SITE: Site = Site { file: "f.hdp", line: 1, column: 1, text: "x[i]", kind: 7, names: &["count"] };

/// An entry of two versions with the same bits unless `classes` are others.
const fn entry(versions: &'static [Version], classes: &'static [u32], uneven: bool) -> Entry {
    let parts = Some(Parts { dim: 0, besides: &[Some(1), Some(0)], uneven });
    let measures = &[Measure { name: "parallel", program: &[Op::Dim(0)] }];
    let dispatch = Dispatch { measures, classes, parts, ..Dispatch::NONE };
    Entry { name: "f::rows", params: &[X, Y], dims: &["N"], versions, dispatch, sites: &[SITE] }
}
const fn version(plan: &'static str, code: &'static [Code; 1]) -> Version {
    Version { plan, hash: "", code: Codes::Cpu(code) }
}
/// Adds to `y`.
const ADDING: [Version; 2] = [
    version("slow", &[Code { isa: Isa::Base, function: slow_adding }]),
    version("quick", &[Code { isa: Isa::Base, function: quick_adding }]),
];
/// Writes `y` alone.
const WRITING: [Version; 2] = [
    version("slow", &[Code { isa: Isa::Base, function: slow }]),
    version("quick", &[Code { isa: Isa::Base, function: quick }]),
];
static EVEN: Entry = entry(&ADDING, &[0, 0], false);
static OTHER_BITS: Entry = entry(&ADDING, &[0, 1], false);
static UNEVEN: Entry = entry(&WRITING, &[0, 0], true);

fn context(trials: Trials) -> Context {
    RAN.take();
    let cx = Context::builder().cpu().threads(1).build().unwrap();
    cx.with_selector(Selector::with_clock(trials, false, Arc::new(OfThread)))
}

const ROWS: usize = 100_000;
/// Rows of a part.
const PART: i64 = ROWS as i64 / 128;

fn inputs(rows: usize) -> Vec<i32> {
    (0..=rows as i32).map(|at| at % 1009).collect()
}

fn run(cx: &Context, entry: &'static Entry, x: &Vec<i32>, y: &mut [[i32; 3]]) -> Result<(), Error> {
    let x = Array::<1>::input::<i32, _>(entry, 0, x)?;
    let mut view = ndarray::ArrayViewMut2::from_shape((y.len(), 3), y.as_flattened_mut()).unwrap();
    let y = Array::<2>::output::<i32, _>(entry, 1, &mut view)?;
    // SAFETY: the entry's parameters are such arrays, of which its functions write the second alone.
    unsafe { call::<2, 1>(cx, entry, [x.arg(), y.arg()]) }
}

/// What a row holds after so many calls that add.
fn row(x: i32, calls: i32) -> [i32; 3] {
    [0, 1, 2].map(|at| calls * (3 * x + at))
}

#[test]
fn even_rows_are_computed_once_and_the_fastest_version_is_found_in_the_first_call() {
    let cx = context(Trials::Parts);
    let (x, mut y) = (inputs(ROWS), vec![[0; 3]; ROWS]);
    run(&cx, &EVEN, &x, &mut y).unwrap();
    // The first part says how long parts are.
    let trials = [0].into_iter().chain((0..8).map(|at| at % 2)).map(|version| (version, PART));
    let rest = (1, ROWS as i64 - 9 * PART);
    assert_eq!(RAN.take(), trials.chain([rest]).collect::<Vec<_>>());
    let told = cx.last_run().unwrap().to_string();
    assert_eq!(told, "f::rows: plan quick, base, 1 thread (selected: one of 2 versions, 6 samples)");
    run(&cx, &EVEN, &x, &mut y).unwrap();
    assert_eq!(RAN.take(), [(1, ROWS as i64)]);
    assert!(y.iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, 2)));
    assert_eq!(cx.selections()[0].rule(), "parallel >= 65536 and parallel < 131072: quick");
}

#[test]
fn uneven_rows_are_computed_by_all_versions() {
    let cx = context(Trials::Parts);
    let (x, mut y) = (inputs(ROWS), vec![[7; 3]; ROWS]);
    run(&cx, &UNEVEN, &x, &mut y).unwrap();
    let trials = [0].into_iter().chain((0..8).map(|at| at % 2)).map(|version| (version, PART));
    let rest = (1, ROWS as i64 - 5 * PART);
    assert_eq!(RAN.take(), trials.chain([rest]).collect::<Vec<_>>());
    assert!(y.iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, 1)));
}

#[test]
fn few_rows_are_computed_again_in_a_call() {
    // Parts are seven times the shortest: 7000 rows, of which a call may compute 10666 again.
    ROW.set([8, 4]);
    let cx = context(Trials::Parts);
    let rows = 128 * 1000;
    let (x, mut y) = (inputs(rows), vec![[7; 3]; rows]);
    let ran: Vec<Vec<(usize, i64)>> = (0..3)
        .map(|_| {
            run(&cx, &UNEVEN, &x, &mut y).unwrap();
            assert!(y.iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, 1)));
            RAN.take()
        })
        .collect();
    // What comes before the part that is compared runs as ever.
    let [first, second, third] = &ran[..] else { panic!("three calls") };
    assert_eq!(first, &[(0, 1000), (0, 7000), (1, 7000), (0, 7000), (0, 113_000)]);
    assert_eq!(second, &[(0, 8000), (1, 7000), (0, 7000), (1, 7000), (0, 7000), (0, 99_000)]);
    assert_eq!(third, &[(0, 22_000), (1, 7000), (1, 99_000)]);
}

#[test]
fn the_first_fault_ends_a_call() {
    for entry in [&EVEN, &UNEVEN] {
        let cx = context(Trials::Parts);
        let (mut x, mut y) = (inputs(ROWS), vec![[0; 3]; ROWS]);
        let first = 5 * PART as usize / 2;
        (x[first + 1], x[first + 40_000]) = (-5, -6);
        for calls in 1..20 {
            let error = run(&cx, entry, &x, &mut y).unwrap_err();
            assert!(error.to_string().contains("-5"), "{error}");
            let adds = if std::ptr::eq(entry, &EVEN) { calls } else { 1 };
            assert!(y[..first].iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, adds)), "up to it all is done, once");
            assert!(y[first..].iter().all(|y| *y == [0; 3]), "and nothing behind it");
        }
        assert_eq!(cx.selector().unwrap().state().running, 0);
        // Nothing is tried for ever.
        assert_eq!(RAN.take().last().map(|(_, rows)| *rows), Some(ROWS as i64));
    }
}

#[test]
fn short_calls_run_whole() {
    let cx = context(Trials::Parts);
    ROW.set([380, 190]);
    // A part has 16 rows for each thread, or more.
    for (few, first) in [(16 * 128 - 1, vec![(0, 16 * 128 - 1)]), (16 * 128, vec![(0, 16), (0, 16 * 127)])] {
        let (x, mut y) = (inputs(few), vec![[0; 3]; few]);
        run(&cx, &EVEN, &x, &mut y).unwrap();
        assert_eq!(RAN.take(), first);
        // 128 rows take less than can be measured: calls are compared from then on.
        (0..20).for_each(|_| run(&cx, &EVEN, &x, &mut y).unwrap());
        assert!(RAN.take().iter().all(|(_, rows)| *rows == few as i64));
        assert!(y.iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, 21)));
    }
}

#[test]
fn calls_are_not_cut_where_nobody_asks_for_it_or_bits_differ() {
    let (x, mut y) = (inputs(ROWS), vec![[0; 3]; ROWS]);
    for (trials, entry) in [(Trials::Calls, &EVEN), (Trials::Parts, &OTHER_BITS)] {
        let cx = context(trials);
        (0..20).for_each(|_| run(&cx, entry, &x, &mut y).unwrap());
        assert!(RAN.take().iter().all(|(_, rows)| *rows == ROWS as i64));
    }
    assert!(y.iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, 40)));
}

#[test]
fn parts_are_compared_while_nothing_else_runs_and_from_the_first_row_again() {
    let selector = Selector::with_clock(Trials::Parts, false, Arc::new(OfThread));
    let others = |_: bool| vec![1];
    let values = [-1; MOST_MEASURES];
    let call =
        || Call { entry: &UNEVEN, usual: (0, Settings::USUAL), others: &others, values, can_be_cut: true, dims: &[] };
    let part = |turn: &mut Turn<'_>, end: i64| {
        TIME.set(TIME.get() + 60_000);
        turn.part_has_run(end, true)
    };
    let (mut turn, _) = selector.begin(Some(call()));
    assert_eq!((turn.is_in_parts(), part(&mut turn, 700), turn.part()), (true, Next::Part(None), (700, 1)));
    turn.is_at_end();
    drop(turn);
    let (mut turn, _) = selector.begin(Some(call()));
    assert_eq!(turn.part(), (0, 1));
    // A call beside it makes times senseless; neither it nor this one tries anything.
    let (other, tried) = selector.begin(Some(call()));
    assert_eq!((other.is_in_parts(), tried, part(&mut turn, 700)), (false, None, Next::Rest(None)));
    drop((turn, other));
    let whole = Call { can_be_cut: false, ..call() };
    assert!(!selector.begin(Some(whole)).0.is_in_parts(), "arrays that are elsewhere are brought here whole");
}

#[test]
fn calls_beside_others_compute_every_row_once() {
    let cx = context(Trials::Parts);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (x, mut y) = (inputs(ROWS), vec![[0; 3]; ROWS]);
                for calls in 1..20 {
                    run(&cx, &EVEN, &x, &mut y).unwrap();
                    assert!(y.iter().zip(&x[1..]).all(|(y, x)| *y == row(*x, calls)));
                }
            });
        }
    });
    assert_eq!(cx.selector().unwrap().state().running, 0);
}
