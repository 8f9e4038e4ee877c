//! Calls on a simulated device.

mod arrays;
mod axpy;
mod between;
mod mirror;
mod pending;
mod places;
mod scattered;
mod streams;

use super::simulated::Simulation;
pub(crate) use super::simulated::World;
use super::*;
use crate::{Context, Error, FaultKind, View, ViewMut, Why};
pub(crate) use axpy::AXPY;
use axpy::{CPU_ONLY, axpy, axpy_of};
use ndarray::s;

/// A context on the device of a world, which one may look at.
pub(crate) fn cuda(world: &World) -> Context {
    let simulation = Simulation { world: world.clone(), devices: 1, seed: 0 };
    Context::builder().on(simulation.machine()).threads(1).cuda(0).build().expect("a context")
}

/// The same of a world with two devices.
pub(crate) fn cuda_of_two(world: &World, ordinal: u32) -> Context {
    let simulation = Simulation { world: world.clone(), devices: 2, seed: 0 };
    Context::builder().on(simulation.machine()).threads(1).cuda(ordinal).build().expect("a context")
}

/// Lets the driver fail at its n-th call of what `work` does, for each n: once, twice, and from then on. `work` says what it does, up to the
/// first error, on a context of its own. Nothing is left behind; the number of calls that failed at least once.
/// There is a second device, which copies from the first one unless they are `apart`.
pub(crate) fn fail_everywhere(apart: bool, work: impl Fn(&Context, &Context) -> Result<(), Error>) -> u64 {
    let mut calls = 0;
    for count in [1, 2, u64::MAX] {
        for first in 1.. {
            let world = World::default();
            if apart {
                world.part();
            }
            let (cx, other) = (cuda_of_two(&world, 0), cuda_of_two(&world, 1));
            world.fail(first, count);
            let ended = work(&cx, &other);
            let failed = world.works() >= first;
            assert!(failed || ended.is_ok(), "call {first}, {count} times: {ended:?}");
            let lost = match &ended {
                Ok(()) => false,
                Err(Error::Device(error)) => error.is_lost(),
                Err(error) => panic!("call {first}, {count} times: {error}"),
            };
            // Unless it is lost, the context works as before.
            assert_eq!(work(&cx, &other).is_err(), lost, "call {first}, {count} times: {ended:?}");
            drop((cx, other, ended));
            assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0), "call {first}, {count} times");
            if !failed {
                calls = first - 1;
                break;
            }
        }
    }
    calls
}

/// A machine with one device, whose world one may look at.
#[cfg(feature = "tune")]
pub(crate) fn simulation(world: World) -> Machine {
    Simulation { world, devices: 1, seed: 0 }.machine()
}

/// A matrix as a vector.
struct Flat<V>(V);

impl<V: View<f32, 2>> View<f32, 1> for Flat<V> {
    fn elements(&self) -> Result<(&[f32], [usize; 1]), crate::ViewError> {
        self.0.elements().map(|(elements, _)| (elements, [elements.len()]))
    }
    fn on_device(&self) -> Option<crate::OnDevice<'_, f32, 1>> {
        let array = self.0.on_device()?;
        let count = array.shape.iter().product();
        array.with_shape([count])
    }
}

impl<V: ViewMut<f32, 2>> ViewMut<f32, 1> for Flat<V> {
    fn elements_mut(&mut self) -> Result<(&mut [f32], [usize; 1]), crate::ViewError> {
        self.0.elements_mut().map(|(elements, _)| {
            let count = elements.len();
            (elements, [count])
        })
    }
    fn on_device_mut(&mut self) -> Option<crate::OnDeviceMut<'_, f32, 1>> {
        let array = self.0.on_device_mut()?;
        let count = array.array.shape.iter().product();
        array.with_shape([count])
    }
}

fn auto(devices: u32) -> Context {
    let simulation = Simulation { world: World::default(), devices, seed: 0 };
    Context::builder().on(simulation.machine()).threads(1).build().expect("a context")
}

fn cpu() -> Context {
    Context::builder().threads(1).cpu().build().expect("a context")
}

fn copies(cx: &Context, work: impl FnOnce()) -> (u64, u64, u64, u64) {
    let before = cx.copies();
    work();
    let Copies { to_device, to_host, bytes_to_device, bytes_to_host } = cx.copies() - before;
    (to_device, to_host, bytes_to_device, bytes_to_host)
}

#[test]
fn arrays_of_the_host_are_copied_as_they_are_read_and_written() {
    let cx = cuda(&World::default());
    let (x, b) = (vec![1.0, 2.0, 3.0], [10.0; 3]);
    let (mut y, mut w) = (vec![100.0; 3], [f32::NAN; 3]);
    // x, b and y go there; y and w come back; the scalar stays.
    assert_eq!(copies(&cx, || axpy(&cx, &x, &b, &mut y, &mut w).unwrap()), (3, 2, 36, 24));
    assert_eq!((&y[..], w), (&[112.0, 114.0, 116.0][..], [224.0, 228.0, 232.0]));
    // One array in two places goes once.
    assert_eq!(copies(&cx, || axpy(&cx, &x, &x, &mut y, &mut w).unwrap()), (2, 2, 24, 24));
    assert_eq!(y, [115.0, 120.0, 125.0]);
    // A part of it is another array.
    assert_eq!(copies(&cx, || axpy(&cx, &x[..2], &x[1..], &mut y[..2], &mut w[..2]).unwrap()).0, 3);
    // Empty ones stay.
    let none = || axpy(&cx, &[0.0; 0], &[0.0; 0], &mut [0.0; 0], &mut [0.0; 0]).unwrap();
    assert_eq!(copies(&cx, none), (0, 0, 0, 0));
    let run = cx.last_run().unwrap();
    assert_eq!((run.plan, run.device, run.instead_of, run.threads), ("thread", Some(0), None, 512));
    assert_eq!(run.to_string(), "axpy::axpy: plan thread, cuda:0 (otherwise)");
}

#[test]
fn faults_come_back_and_the_context_goes_on() {
    let cx = cuda(&World::default());
    let (mut y, mut w) = ([5.0; 2], [6.0; 2]);
    let error = axpy(&cx, &[1.0, -1.0], &[0.0; 2], &mut y, &mut w).unwrap_err();
    let Error::Fault(fault) = error else { panic!("{error:?}") };
    assert_eq!((fault.kind(), fault.values(), fault.line()), (FaultKind::Index, &[1][..], 3));
    assert_eq!((y, w), ([5.0; 2], [6.0; 2]), "arrays of the host are as they were");
    axpy(&cx, &[1.0, 1.0], &[0.0; 2], &mut y, &mut w).unwrap();
    assert_eq!(y, [7.0; 2]);
    // The device says no, and goes on.
    let error = axpy(&cx, &[2e9, 1.0], &[0.0; 2], &mut y, &mut w).unwrap_err();
    assert_eq!(error.to_string(), "the device could not run the kernels: simulated error 719");
    axpy(&cx, &[1.0, 1.0], &[0.0; 2], &mut y, &mut w).unwrap();
    assert_eq!(y, [9.0; 2]);
}

#[test]
fn a_lost_device_is_lost_and_the_processor_stays() {
    let world = World::default();
    let cx = cuda(&world);
    let mut array = DeviceArray::from_host(&cx, &[1.0; 4]).unwrap();
    world.break_down();
    for _ in 0..2 {
        let error = axpy(&cx, &[1.0], &[1.0], &mut [1.0], &mut [1.0]).unwrap_err();
        let Error::Device(failure) = &error else { panic!("{error:?}") };
        assert!(failure.is_lost() && failure.code() == Some(700), "{error}");
        assert!(error.to_string().contains("Context::cpu()"), "{error}");
    }
    assert!(matches!(array.to_vec(), Err(Error::Device(_))));
    assert!(matches!(array.copy_from(&[1.0; 4]), Err(Error::Device(_))));
    assert!(array.try_clone().is_err() && cx.synchronize().is_err());
    let mut y = [1.0];
    axpy(&cpu(), &[1.0], &[1.0], &mut y, &mut [0.0]).unwrap();
    assert_eq!(y, [4.0]);
}

#[test]
fn steady_state_allocates_nothing_and_everything_is_given_back() {
    let world = World::default();
    let cx = cuda(&world);
    let (x, mut y, mut w) = (vec![1.0; 5000], vec![0.0; 5000], vec![0.0; 5000]);
    let once = |y: &mut Vec<f32>, w: &mut Vec<f32>| {
        axpy(&cx, &x, &x, y, w).unwrap();
        let array = DeviceArray::from_host(&cx, &x).unwrap();
        assert_eq!(array.section(s![..;2]).unwrap().to_vec().unwrap(), [1.0; 2500]);
    };
    once(&mut y, &mut w);
    once(&mut y, &mut w);
    let made = world.made();
    (0..10).for_each(|_| once(&mut y, &mut w));
    assert_eq!(world.made(), made);
    assert_eq!(y[0], 12.0 * 21.0);
    assert!(cx.device_pool_bytes() > 0);
    drop(cx);
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn a_failing_device_has_its_blocks_given_back_too() {
    let world = World::default();
    let cx = cuda(&world);
    let array = DeviceArray::<f32, 1>::zeros(&cx, [100]).unwrap();
    world.limit(1 << 20);
    let large = vec![0.0_f32; 1 << 20];
    assert!(matches!(DeviceArray::from_host(&cx, &large), Err(Error::Device(_))));
    let error = axpy(&cx, &large, &large, &mut large.clone(), &mut large.clone()).unwrap_err();
    assert_eq!(error.to_string(), "the device could not allocate memory: out of memory");
    assert_eq!(array.to_vec().unwrap(), [0.0; 100]);
    drop((cx, array));
    assert_eq!(world.blocks(), 0);
}

#[test]
fn the_best_device_is_taken_and_said() {
    let cx = auto(2);
    assert_eq!(cx.device().to_string(), "cuda:0 (simulated, sm_90): it can run this program's kernels");
    let none = auto(0);
    assert_eq!(none.device().to_string(), "cpu: the driver knows no device");
    assert_eq!(cpu().device().to_string(), "cpu: asked for");
    let missing = || Simulation { world: World::default(), devices: 1, seed: 0 };
    let error = Context::builder().on(missing().machine()).cuda(3).build().unwrap_err();
    assert_eq!(error.to_string(), "cuda:3 cannot be used: there is no device 3, only device 0");
    let broken = missing();
    broken.world.break_down();
    let cx = Context::builder().on(broken.machine()).build().unwrap();
    assert!(cx.device().is_cpu() && cx.device().why().contains("illegal"), "{}", cx.device());
}

#[test]
fn entries_without_a_version_for_devices() {
    let cx = auto(1);
    let mut y = [0.0];
    let run = |cx: &Context, y: &mut [f32]| axpy_of(&CPU_ONLY, cx, 1.0, &[1.0], &[1.0], y, &mut [0.0]);
    run(&cx, &mut y).unwrap();
    let last = cx.last_run().unwrap();
    assert_eq!((y, last.device, last.instead_of), ([2.0], None, Some(0)));
    assert_eq!(last.to_string(), "axpy::axpy: plan rows, base, 1 thread (no version for cuda:0; preferred)");
    let strict = cuda(&World::default());
    assert_eq!(
        run(&strict, &mut y).unwrap_err().to_string(),
        "axpy::axpy has no version for devices, and the context is for cuda:0 (simulated, sm_90) alone"
    );
    let array = DeviceArray::from_host(&cx, &[1.0]).unwrap();
    let error = axpy_of(&CPU_ONLY, &cx, 1.0, &array, &[1.0], &mut y, &mut [0.0]).unwrap_err();
    assert!(matches!(error, Error::Elsewhere { on_device: false, .. }), "{error}");
}

#[test]
fn plans_are_forced_and_chosen_by_rules() {
    let (cx, n) = (auto(1), 512);
    let run = |cx: &Context, n: usize| {
        let mut y = vec![0.0; n];
        axpy(cx, &vec![1.0; n], &vec![0.0; n], &mut y, &mut vec![0.0; n]).map(|()| y[0])
    };
    // As many elements as the device has threads: the rule holds.
    assert_eq!(run(&cx, n).unwrap(), 20.0);
    assert_eq!(
        cx.last_run().map(|run| run.to_string()).unwrap(),
        "axpy::axpy: plan warp, cuda:0, 3 arrays of 6144 bytes to it, 2 arrays of 4096 bytes from it (parallel = 512 >= 1 * threads)"
    );
    assert_eq!(run(&cx, n - 1).unwrap(), 2.0);
    assert_eq!(run(&cx.with_plan("warp"), 1).unwrap(), 20.0);
    assert_eq!(cx.last_run().map(|run| (run.device, run.why)), Some((Some(0), Why::ForcedPlan)));
    // The processor's versions are never chosen there, but may be asked for.
    assert_eq!(run(&cx.with_plan("rows"), 1).unwrap(), 2.0);
    assert_eq!(cx.last_run().map(|run| (run.device, run.instead_of)), Some((None, None)));
    let error = run(&cuda(&World::default()).with_plan("rows"), 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "axpy::axpy: plan `rows` is for the processor, and the context is for cuda:0 (simulated, sm_90) alone"
    );
    let error = run(&cpu().with_plan("warp"), 1).unwrap_err().to_string();
    assert_eq!(error, "axpy::axpy: plan `warp` is for devices, and the context has none: asked for");
    // On the processor, the rule for a device's version is passed over.
    assert_eq!(run(&cpu(), n).unwrap(), 2.0);
}

#[test]
fn threads_share_a_context() {
    let world = World::default();
    let cx = cuda(&world);
    std::thread::scope(|scope| {
        for start in 0..4 {
            let cx = cx.clone();
            scope.spawn(move || {
                let x = vec![start as f32; 1000];
                let kept = DeviceArray::from_host(&cx, &x).unwrap();
                for _ in 0..50 {
                    let (mut y, mut w) = (vec![0.0; 1000], vec![0.0; 1000]);
                    axpy(&cx, &x, &kept, &mut y, &mut w).unwrap();
                    assert!(y.iter().all(|y| *y == 21.0 * x[0]));
                    assert!(kept.to_vec().unwrap() == x);
                }
            });
        }
    });
    drop(cx);
    assert_eq!((world.blocks(), world.events()), (0, 0));
}
