//! Several streams of one device: what they do with one array keeps its order, and nothing else does.

use super::axpy::axpy;
use super::*;

/// A context and a fork of it.
fn two(world: &World) -> (Context, Context) {
    let cx = cuda(world);
    let fork = cx.fork().unwrap();
    (cx, fork)
}

#[test]
fn who_reads_waits_for_who_wrote() {
    for other_context in [false, true] {
        let world = World::default();
        let cx = cuda(&world);
        let other = if other_context { cuda(&world) } else { cx.fork().unwrap() };
        // What is in a simulated stream happens when somebody waits for it: the upload has not happened when the call begins.
        let x = DeviceArray::from_host(&cx, &[1.0, 2.0]).unwrap();
        let mut y = DeviceArray::zeros(&cx, [2]).unwrap();
        axpy(&other, &x, &x, &mut y, &mut [0.0; 2]).unwrap();
        assert_eq!(y.to_vec().unwrap(), [3.0, 6.0]);
        // And the other way round, with copies alone.
        let mut z = DeviceArray::from_host(&other, &[7.0, 8.0]).unwrap();
        y.copy_from(&z).unwrap();
        z.copy_from(&[0.0, 0.0]).unwrap();
        other.synchronize().unwrap();
        assert_eq!(y.to_vec().unwrap(), [7.0, 8.0], "read before it was written again");
        drop((cx, other, x, y, z));
        assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
    }
}

#[test]
fn memory_is_given_back_after_the_last_use_of_all() {
    let world = World::default();
    let (cx, fork) = two(&world);
    let mut kept = DeviceArray::<f32, 1>::zeros(&fork, [1000]).unwrap();
    for round in 0..10 {
        // The fork copies from an array of the other context, which is dropped, and whose memory is used again at once.
        let array = DeviceArray::from_host(&cx, &[round as f32; 1000]).unwrap();
        kept.copy_from(&array).unwrap();
        drop(array);
        let next = DeviceArray::from_host(&cx, &[-1.0_f32; 1000]).unwrap();
        cx.synchronize().unwrap();
        assert_eq!(kept.to_vec().unwrap(), [round as f32; 1000]);
        assert_eq!(next.to_vec().unwrap(), [-1.0; 1000]);
    }
    // A block that nobody wrote yet, of a pool whose blocks were used.
    let used = DeviceArray::from_host(&cx, &[5.0_f32; 1000]).unwrap();
    drop(used);
    let mut again = DeviceArray::<f32, 1>::zeros(&cx, [1000]).unwrap();
    again.copy_from(&kept).unwrap();
    assert_eq!(again.to_vec().unwrap(), [9.0; 1000]);
}

#[test]
fn contexts_wait_for_each_other_when_told_to() {
    let world = World::default();
    let (cx, fork) = two(&world);
    let mut array = DeviceArray::from_host(&cx, &[1.0; 4]).unwrap();
    fork.after(&cx).unwrap();
    cx.after(&cx.clone()).unwrap();
    fork.synchronize().unwrap();
    assert!(world.is_idle(), "the upload is done, since the fork came after it");
    array.copy_from(&[2.0; 4]).unwrap();
    fork.synchronize().unwrap();
    assert!(!world.is_idle(), "a context waits for another one only where it has to");
    cpu().after(&cx).unwrap();
    assert!(world.is_idle());
    cx.after(&cpu()).unwrap();
    assert_eq!(array.to_vec().unwrap(), [2.0; 4]);
    // A device of another world, which the thread waits for.
    let elsewhere = World::default();
    let other = cuda(&elsewhere);
    let _array = DeviceArray::from_host(&other, &[1.0; 4]).unwrap();
    cx.after(&other).unwrap();
    assert!(elsewhere.is_idle());
}

#[test]
fn a_fork_is_a_context_of_its_own() {
    let world = World::default();
    let cx = cuda(&world).with_plan("warp");
    axpy(&cx, &[1.0], &[0.0], &mut [0.0], &mut [0.0]).unwrap();
    let fork = cx.fork().unwrap();
    assert_eq!((fork.device(), fork.threads(), fork.isa()), (cx.device(), cx.threads(), cx.isa()));
    assert_eq!((fork.copies(), fork.last_run()), (Copies::default(), None));
    let mut y = [0.0];
    axpy(&fork, &[1.0], &[0.0], &mut y, &mut [0.0]).unwrap();
    assert_eq!((y, fork.last_run().unwrap().plan, cx.copies()), ([20.0], "warp", fork.copies()));
    // It outlives what it was made from, and so do arrays.
    let array = DeviceArray::from_host(&cx, &[3.0]).unwrap();
    drop(cx);
    axpy(&fork, &array, &[0.0], &mut y, &mut [0.0]).unwrap();
    drop(fork);
    assert_eq!(array.to_vec().unwrap(), [3.0]);
    assert!(cpu().fork().unwrap().device().is_cpu());
}

#[test]
fn a_lost_device_is_lost_for_forks_too() {
    let world = World::default();
    let (cx, fork) = two(&world);
    let array = DeviceArray::from_host(&cx, &[1.0]).unwrap();
    world.break_down();
    for error in [fork.after(&cx), cx.after(&fork), cx.fork().map(|_| ()), array.to_vec().map(|_| ())] {
        assert!(matches!(&error, Err(Error::Device(error)) if error.is_lost()), "{error:?}");
    }
    assert!(axpy(&fork, &array, &array, &mut [0.0], &mut [0.0]).is_err());
    assert!(cpu().after(&cx).is_err());
    drop((cx, fork, array));
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn streams_of_several_threads() {
    let world = World::default();
    let cx = cuda(&world);
    let shared = DeviceArray::from_host(&cx, &[1.0; 100]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let fork = cx.fork().unwrap();
            let (shared, cx) = (&shared, &cx);
            scope.spawn(move || {
                for round in 0..50 {
                    let mut y = DeviceArray::zeros(if round % 2 == 0 { cx } else { &fork }, [100]).unwrap();
                    axpy(&fork, shared, shared, &mut y, &mut [0.0; 100]).unwrap();
                    axpy(cx, shared, shared, &mut y, &mut [0.0; 100]).unwrap();
                    assert_eq!(y.to_vec().unwrap(), [6.0; 100]);
                }
            });
        }
    });
    assert_eq!(shared.to_vec().unwrap(), [1.0; 100]);
    drop((cx, shared));
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn any_call_may_fail() {
    let calls = fail_everywhere(false, |cx, _| {
        let fork = cx.fork()?;
        let x = DeviceArray::from_host(cx, &[1.0, 2.0])?;
        let mut y = DeviceArray::zeros(&fork, [2])?;
        axpy(&fork, &x, &x, &mut y, &mut [0.0; 2])?;
        axpy(cx, &x, &x, &mut y, &mut [0.0; 2])?;
        drop(x);
        let mut z = DeviceArray::zeros(cx, [2])?;
        z.copy_from(&y)?;
        fork.after(cx)?;
        y.copy_from(&z)?;
        assert_eq!(y.to_vec()?, [6.0, 12.0]);
        Ok(())
    });
    assert!(calls > 60, "{calls}");
}

#[test]
fn one_stream_records_no_event() {
    let world = World::default();
    let cx = cuda(&world);
    let x = DeviceArray::from_host(&cx, &[1.0; 10]).unwrap();
    let mut y = DeviceArray::from_host(&cx, &[1.0; 10]).unwrap();
    let mut w = DeviceArray::zeros(&cx, [10]).unwrap();
    cx.synchronize().unwrap();
    let before = world.recorded();
    axpy(&cx, &x, &x, &mut y, &mut w).unwrap();
    assert_eq!(world.recorded(), before);
}
