//! Calls: what is copied for them, faults, plans, threads.

use hidp_std::{DeviceArray, Error, FaultKind, Why};

use super::{Test, context, copies, cpu};
use crate::kernels::device_checks::{axpy, gather, running, sorted};
use crate::place::Place;

pub(super) const TESTS: &[Test] = &[
    ("arrays are copied as they are read and written", copied),
    ("arrays of the device are not copied", not_copied),
    ("faults come back and the context goes on", faults),
    ("the first of many faults is reported", first_fault),
    ("plans are forced", plans),
    ("threads share a context", threads),
    ("contexts run side by side", side_by_side),
    ("calls follow one another", in_order),
];

fn copied(place: Place) {
    let cx = context(place);
    let (x, b) = (vec![1.0, 2.0, 3.0], [10.0; 3]);
    let mut y = vec![100.0; 3];
    let mut w = [f32::NAN; 3];
    // x, b and y go there; y and w come back; the scalar stays.
    assert_eq!(copies(&cx, || axpy(&cx, 2.0, &x, &b, &mut y, &mut w).unwrap()), (3, 2, 36, 24));
    assert_eq!((&y[..], w), (&[112.0, 114.0, 116.0][..], [224.0, 228.0, 232.0]));
    // One array in two places goes once.
    assert_eq!(copies(&cx, || axpy(&cx, 2.0, &x, &x, &mut y, &mut w).unwrap()), (2, 2, 24, 24));
    assert_eq!(y, [115.0, 120.0, 125.0]);
    // Empty ones stay.
    let none = || axpy(&cx, 2.0, &[0.0; 0], &[0.0; 0], &mut [0.0; 0], &mut [0.0; 0]).unwrap();
    assert_eq!(copies(&cx, none), (0, 0, 0, 0));
}

fn not_copied(place: Place) {
    let cx = context(place);
    let x = DeviceArray::from_host(&cx, &[1.0_f32, 2.0, 3.0]).unwrap();
    let mut y = DeviceArray::zeros(&cx, [3]).unwrap();
    let mut w = [0.0; 3];
    assert_eq!(copies(&cx, || axpy(&cx, 2.0, &x, &x, &mut y, &mut w).unwrap()), (0, 1, 0, 12));
    assert_eq!((y.to_vec().unwrap(), w), (vec![3.0, 6.0, 9.0], [6.0, 12.0, 18.0]));
    let mut w = DeviceArray::zeros(&cx, [3]).unwrap();
    let before = cx.copies();
    (0..20).for_each(|_| axpy(&cx, 0.0, &x, &x, &mut y, &mut w).unwrap());
    assert_eq!(cx.copies(), before);
    assert_eq!(y.to_vec().unwrap(), [23.0, 46.0, 69.0]);
}

fn faults(place: Place) {
    let cx = context(place);
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut y = [5.0; 4];
    for _ in 0..3 {
        let error = gather(&cx, &x, &[3, 99, -7, 100], &mut y).unwrap_err();
        let Error::Fault(fault) = error else { panic!("{error:?}") };
        assert_eq!((fault.kind(), fault.values()), (FaultKind::Index, &[-7, 100, 0][..]), "{fault}");
        assert_eq!(fault.to_string(), gather(&cpu(), &x, &[3, 99, -7, 100], &mut y.clone()).unwrap_err().to_string());
        assert_eq!(y, [5.0; 4], "arrays of the host are as they were");
        gather(&cx, &x, &[3, 99, 0, 98], &mut y).unwrap();
        assert_eq!(y, [3.0, 99.0, 0.0, 98.0]);
        y = [5.0; 4];
    }
}

fn first_fault(place: Place) {
    let cx = context(place);
    let count = if matches!(place, Place::Gpu(_)) { 1 << 20 } else { 1 << 10 };
    let mut cols = vec![0; count];
    for at in [count - 1, count / 2, count / 3 + 1, count / 3] {
        cols[at] = -(at as i32);
    }
    for plan in ["thread", "warp", "block"] {
        match gather(&cx.with_plan(plan), &[1.0], &cols, &mut vec![0.0; count]) {
            Err(Error::Fault(fault)) => assert_eq!(fault.values(), [-((count / 3) as i64), 1, 0], "plan {plan}"),
            Err(Error::UnknownPlan { .. }) => {}
            other => panic!("plan {plan}: {other:?}"),
        }
    }
}

fn plans(place: Place) {
    let cx = context(place);
    let mut y = [0.0; 4];
    gather(&cx.with_plan("thread"), &[1.0, 2.0], &[1, 0, 1, 0], &mut y).unwrap();
    let run = cx.last_run().unwrap();
    assert_eq!((y, run.plan, run.device, run.why), ([2.0, 1.0, 2.0, 1.0], "thread", Some(0), Why::ForcedPlan));
    let error = gather(&cx.with_plan("no such"), &[1.0], &[0], &mut y[..1]).unwrap_err();
    assert!(matches!(error, Error::UnknownPlan { .. }), "{error}");
    let error = gather(&cpu().with_plan("thread"), &[1.0], &[0], &mut y[..1]).unwrap_err();
    assert!(matches!(error, Error::DevicePlan { .. }), "{error}");
}

fn threads(place: Place) {
    let cx = context(place);
    let calls = if matches!(place, Place::Gpu(_)) { 50 } else { 4 };
    std::thread::scope(|scope| {
        for start in 0..4 {
            let cx = cx.clone();
            scope.spawn(move || {
                let x = vec![start as f32; 100];
                let kept = DeviceArray::from_host(&cx, &x).unwrap();
                for _ in 0..calls {
                    let (mut y, mut w) = (vec![0.0; 100], vec![0.0; 100]);
                    axpy(&cx, 1.0, &x, &kept, &mut y, &mut w).unwrap();
                    assert!(y.iter().all(|y| *y == 2.0 * x[0]));
                    assert!(kept.to_vec().unwrap() == x);
                }
            });
        }
    });
}

fn side_by_side(place: Place) {
    let results: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..3_u32)
            .map(|seed| {
                scope.spawn(move || {
                    let cx = context(place);
                    let mut keys: Vec<u32> = (0..200).map(|i: u32| i.wrapping_mul(2_654_435_761) ^ seed).collect();
                    for _ in 0..3 {
                        sorted(&cx, &mut keys).unwrap();
                        keys.reverse();
                    }
                    keys
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(results.iter().all(|keys| keys.is_sorted_by(|a, b| a >= b) && keys.len() == 200));
}

fn in_order(place: Place) {
    let cx = context(place);
    let count: u32 = if matches!(place, Place::Gpu(_)) { 3_000_017 } else { 700 };
    let keys: Vec<u32> = (0..count).map(|i| i.wrapping_mul(2_654_435_761) % count).collect();
    let mut on_device = DeviceArray::from_host(&cx, &keys).unwrap();
    let mut sums = DeviceArray::zeros(&cx, [keys.len()]).unwrap();
    sorted(&cx, &mut on_device).unwrap();
    running(&cx, &on_device, &mut sums).unwrap();
    let mut expected = keys.clone();
    expected.sort_unstable();
    assert!(on_device.to_vec().unwrap() == expected);
    let mut sum = 0_u32;
    let running = expected.iter().map(|key| {
        sum = sum.wrapping_add(*key);
        sum
    });
    assert!(sums.to_vec().unwrap() == running.collect::<Vec<_>>());
}
