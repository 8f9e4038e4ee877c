//! Which calls the processor runs although there is a device.

use super::axpy::{AXPY, axpy_of};
use super::{auto, cpu, cuda};
use crate::device::tests::World;
use crate::rt::entry::{Bound, Condition, Dispatch, Entry, Measure, Op, Rule, Settings};
use crate::{Context, DeviceArray, Error, Placed};

const fn less(measure: usize, per_thread: i64) -> Condition {
    Condition { measure, least: false, bound: Bound::PerThread(per_thread) }
}
const fn host(conditions: &'static [Condition]) -> Rule {
    Rule { conditions, version: Rule::HOST, settings: Settings::USUAL }
}

/// Sixteen operations an element, of which twenty bytes are copied: 819 for every 1024 bytes.
static WORTH: Entry = Entry {
    dispatch: Dispatch {
        measures: &[
            Measure { name: "parallel", program: &[Op::Dim(0)] },
            Measure { name: "operations", program: &[Op::Const(16), Op::Dim(0), Op::Mul, Op::Work] },
            Measure { name: "intensity", program: &[Op::Const(16), Op::Dim(0), Op::Mul, Op::PerKib] },
            Measure { name: "copied", program: &[Op::Copied] },
        ],
        rules: &[host(&[less(1, 1000)]), host(&[less(2, 400)])],
        ..Dispatch::NONE
    },
    ..AXPY
};

fn run(cx: &Context, n: usize) -> Result<String, Error> {
    let (x, b, mut y, mut w) = (vec![1.0; n], vec![2.0; n], vec![0.0; n], vec![0.0; n]);
    axpy_of(&WORTH, cx, 2.0, &x, &b, &mut y, &mut w)?;
    assert!(y.iter().all(|y| *y == 4.0));
    Ok(cx.last_run().unwrap().to_string())
}

#[test]
fn small_calls_are_not_worth_copies() {
    let cx = auto(1);
    let before = cx.copies();
    let expected = "axpy::axpy: plan rows, base, 1 thread (not cuda:0, operations = 992 < 1000 * threads; preferred)";
    assert_eq!(run(&cx, 62).unwrap(), expected);
    assert_eq!(cx.copies(), before);
    let last = cx.last_run().unwrap();
    assert_eq!((last.device, last.instead_of, last.copied.to_device), (None, Some(0), 0));
    let Placed::Host(reason) = last.placed else { panic!("{last:?}") };
    assert_eq!(reason.measures().collect::<Vec<_>>(), [("parallel", Some(62)), ("operations", Some(992))]);
    // 63 elements are enough work, and 819 operations for 1024 bytes suffice for one and two threads, but not for three.
    let expected = "axpy::axpy: plan thread, cuda:0, 3 arrays of 756 bytes to it, 2 arrays of 504 bytes from it \
                    (no rule holds: parallel = 63, operations = 1008, intensity = 819)";
    assert_eq!(run(&cx, 63).unwrap(), expected);
    let last = cx.last_run().unwrap();
    assert_eq!((cx.copies() - before, last.placed), (last.copied, Placed::Device));
}

#[test]
fn the_processors_threads_count() {
    let auto = |threads: u32| {
        let simulation = super::Simulation { world: World::default(), devices: 1, seed: 0 };
        Context::builder().on(simulation.machine()).threads(threads).build().unwrap()
    };
    assert!(run(&auto(2), 1000).unwrap().contains("plan thread, cuda:0"));
    let expected =
        "axpy::axpy: plan rows, base, 1 of 3 threads (not cuda:0, intensity = 819 < 400 * threads; preferred)";
    assert_eq!(run(&auto(3), 1000).unwrap(), expected);
}

#[test]
fn arrays_on_the_device_stay_there() {
    let cx = auto(1);
    let x = DeviceArray::from_host(&cx, &[1.0]).unwrap();
    let (mut y, mut w) = ([0.0], [0.0]);
    axpy_of(&WORTH, &cx, 2.0, &x, &[2.0], &mut y, &mut w).unwrap();
    let last = cx.last_run().unwrap();
    assert_eq!((last.device, last.placed, last.copied.to_device), (Some(0), Placed::Resident, 2));
    assert_eq!(y, [4.0]);
    // Asked for, the processor refuses what it cannot reach.
    let error = axpy_of(&WORTH, &cx.with_plan("host"), 2.0, &x, &[2.0], &mut y, &mut w).unwrap_err();
    assert!(matches!(error, Error::Elsewhere { on_device: false, .. }), "{error}");
}

#[test]
fn one_array_in_two_places_counts_once() {
    let cx = auto(1);
    let (x, mut y, mut w) = (vec![1.0; 100], vec![0.0; 100], vec![0.0; 100]);
    axpy_of(&WORTH, &cx.with_plan("device"), 1.0, &x, &x, &mut y, &mut w).unwrap();
    let copied = cx.last_run().unwrap().copied;
    assert_eq!((copied.to_device, copied.bytes_to_device, copied.bytes_to_host), (2, 800, 800));
    assert_eq!(copied, cx.copies());
}

#[test]
fn places_are_forced() {
    let cx = auto(1);
    let where_it_ran = |cx: &Context, n: usize| run(cx, n).map(|_| cx.last_run().unwrap().device);
    assert_eq!(where_it_ran(&cx.with_plan("device"), 1).unwrap(), Some(0));
    assert_eq!(cx.last_run().unwrap().placed, Placed::Forced);
    assert_eq!(where_it_ran(&cx.with_plan("host"), 1000).unwrap(), None);
    assert_eq!(cx.last_run().unwrap().instead_of, None);
    // A context for the device alone has no choice, one of the processor neither.
    let strict = cuda(&World::default());
    assert_eq!(where_it_ran(&strict, 1).unwrap(), Some(0));
    let error = run(&strict.with_plan("host"), 1).unwrap_err().to_string();
    assert!(error.contains("plan `host` is for the processor, and the context is for cuda:0"), "{error}");
    assert_eq!(where_it_ran(&cpu().with_plan("host"), 1).unwrap(), None);
    let error = run(&cpu().with_plan("device"), 1).unwrap_err().to_string();
    assert_eq!(error, "axpy::axpy: plan `device` is for devices, and the context has none: asked for");
    let nowhere = axpy_of(&super::CPU_ONLY, &cx.with_plan("device"), 1.0, &[1.0], &[1.0], &mut [0.0], &mut [0.0]);
    assert!(matches!(nowhere, Err(Error::UnknownPlan { .. })));
}

#[test]
fn on_the_processor_nothing_is_said_of_devices() {
    assert_eq!(run(&cpu(), 1000).unwrap(), "axpy::axpy: plan rows, base, 1 thread (preferred)");
}
