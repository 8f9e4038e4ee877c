//! Mirrors against plain arrays.

use ndarray::{Array1, Array2, arr2};

use super::axpy::{axpy, axpy_of};
use super::*;

#[test]
fn elements_are_copied_when_somebody_wants_them() {
    let cx = cuda(&World::default());
    let mut y = Mirror::new(&cx, Array1::from(vec![1.0, 2.0])).unwrap();
    let mut w = Mirror::<f32, 1>::zeros(&cx, [2]).unwrap();
    let step = |y: &mut Mirror<f32, 1>, w: &mut Mirror<f32, 1>| axpy(&cx, &[1.0, 1.0], &[0.0, 0.0], y, w).unwrap();
    // x, b and y go; w is only written. Nothing comes back.
    assert_eq!(copies(&cx, || step(&mut y, &mut w)), (3, 0, 24, 0));
    assert_eq!(cx.last_run().unwrap().copied.bytes_to_device, 24);
    assert_eq!(copies(&cx, || step(&mut y, &mut w)), (2, 0, 16, 0));
    assert_eq!(copies(&cx, || assert_eq!(y.host().unwrap().to_vec(), [5.0, 6.0])), (0, 1, 0, 8));
    assert_eq!(copies(&cx, || assert_eq!(y.host().unwrap().to_vec(), [5.0, 6.0])), (0, 0, 0, 0));
    // What was only looked at stays there; what the host writes goes again.
    assert_eq!(copies(&cx, || step(&mut y, &mut w)), (2, 0, 16, 0));
    y.host_mut().unwrap().fill(0.0);
    assert_eq!(copies(&cx, || step(&mut y, &mut w)), (3, 0, 24, 0));
    assert_eq!((y.into_array().unwrap().to_vec(), w.host().unwrap().to_vec()), (vec![2.0; 2], vec![4.0; 2]));
}

#[test]
fn changed_sections_go_alone() {
    let cx = cuda(&World::default());
    let mut matrix = Mirror::new(&cx, Array2::<f32>::zeros((10, 10))).unwrap();
    let read = |matrix: &Mirror<f32, 2>| {
        axpy(&cx, &Flat(matrix), &Flat(matrix), &mut vec![0.0; 100], &mut vec![0.0; 100]).unwrap();
    };
    assert_eq!(copies(&cx, || read(&matrix)).2, 400 + 400);
    matrix.section_mut(s![2..3, ..]).unwrap().fill(1.0);
    matrix.section_mut(s![.., 4..;3]).unwrap().fill(2.0);
    let (arrays, _, bytes, _) = copies(&cx, || read(&matrix));
    assert_eq!((arrays, bytes), (3, 40 + 80 + 400));
    assert_eq!(cx.last_run().unwrap().copied.bytes_to_device, 40 + 80 + 400);
    for row in 0..20 {
        matrix.section_mut(s![row % 10..row % 10 + 1, ..1]).unwrap().fill(3.0);
    }
    assert_eq!(copies(&cx, || read(&matrix)).2, 400 + 400, "so many sections are the whole");
    let there = DeviceArray::<f32, 2>::zeros(&cx, [10, 10]);
    let mut there = there.unwrap();
    assert_eq!(copies(&cx, || there.copy_from(&matrix).unwrap()), (0, 0, 0, 0), "within the device");
    assert_eq!(there.to_array().unwrap(), matrix.host().unwrap());
    assert!(matrix.section_mut(s![..11, ..]).is_err() && matrix.section_mut(s![..;-1, ..]).is_err());
}

#[test]
fn every_context_takes_them() {
    let world = World::default();
    let cx = cuda(&world);
    let (fork, other) = (cx.fork().unwrap(), cuda(&World::default()));
    for home in [&cx, &cpu()] {
        let mut y = Mirror::new(home, Array1::from(vec![1.0; 4])).unwrap();
        let mut w = Mirror::zeros(home, [4]).unwrap();
        for (step, cx) in [&cx, &fork, &other, &cpu(), &fork, &cx, &other].into_iter().enumerate() {
            axpy(cx, &[1.0; 4], &[0.0; 4], &mut y, &mut w).unwrap();
            if step % 2 == 0 {
                assert_eq!(y.host().unwrap().to_vec(), [1.0 + 2.0 * (step + 1) as f32; 4]);
            }
        }
        assert_eq!(w.host().unwrap().to_vec(), [30.0; 4]);
        drop((y, w));
        let empty = Mirror::<f32, 1>::zeros(home, [0]).unwrap();
        axpy(&cx, &empty, &empty, &mut [0.0; 0], &mut [0.0; 0]).unwrap();
        axpy(&cpu(), &empty, &empty, &mut [0.0; 0], &mut [0.0; 0]).unwrap();
        assert!(empty.host().unwrap().is_empty() && empty.is_empty());
    }
    // Turned around, it is put in order.
    let turned = Mirror::new(&cx, arr2(&[[1, 2, 3], [4, 5, 6]]).reversed_axes()).unwrap();
    assert_eq!(View::<i32, 2>::elements(&turned).unwrap().0, [1, 4, 2, 5, 3, 6]);
    drop((cx, fork, turned));
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn rules_prefer_the_device_for_what_is_there() {
    let cx = auto(1);
    let mut y = Mirror::new(&cx, Array1::from(vec![1.0])).unwrap();
    let run = |cx: &Context, y: &mut Mirror<f32, 1>| axpy_of(&CPU_ONLY, cx, 1.0, &[1.0], &[0.0], y, &mut [0.0]);
    axpy(&cx.with_plan("thread"), &[1.0], &[0.0], &mut y, &mut [0.0]).unwrap();
    axpy(&cx, &[1.0], &[0.0], &mut y, &mut [0.0]).unwrap();
    assert_eq!(cx.last_run().unwrap().placed, crate::Placed::Resident);
    // Where only the processor can run it, the mirror comes along.
    run(&cx, &mut y).unwrap();
    assert_eq!((cx.last_run().unwrap().device, y.host().unwrap()[0]), (None, 6.0));
}

#[test]
fn faults_leave_both_sides_valid() {
    let cx = cuda(&World::default());
    let (mut y, mut w) = (Mirror::new(&cx, Array1::from(vec![5.0; 2])).unwrap(), Mirror::zeros(&cx, [2]).unwrap());
    w.host_mut().unwrap().fill(7.0);
    let error = axpy(&cx, &[1.0, -1.0], &[0.0; 2], &mut y, &mut w).unwrap_err();
    assert!(matches!(error, Error::Fault(_)), "{error}");
    // The first iteration was done. What was never on the device is what it was, since the copy there said nothing.
    assert_eq!((y.host().unwrap().to_vec(), w.host().unwrap().to_vec()), (vec![7.0, 5.0], vec![7.0, 7.0]));
}

#[test]
fn a_lost_device_takes_what_it_alone_had() {
    let world = World::default();
    let cx = cuda(&world);
    let mut y = Mirror::new(&cx, Array1::from(vec![1.0; 2])).unwrap();
    let kept = Mirror::new(&cx, Array1::from(vec![1.0; 2])).unwrap();
    axpy(&cx, &kept, &kept, &mut y, &mut [0.0; 2]).unwrap();
    world.break_down();
    assert_eq!(kept.host().unwrap().to_vec(), [1.0; 2]);
    assert!(matches!(y.host(), Err(Error::Device(error)) if error.is_lost()));
    let error = axpy(&cpu(), &[1.0; 2], &y, &mut [0.0; 2], &mut [0.0; 2]).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error}");
    assert!(matches!(View::<f32, 1>::elements(&y), Err(crate::ViewError::NotCopied)));
    assert!(ViewMut::<f32, 1>::elements_mut(&mut y).is_err() && y.host_mut().is_err() && y.into_array().is_err());
}

#[test]
fn threads_read_one_mirror() {
    let cx = cuda(&World::default());
    let mut y = Mirror::new(&cx, Array1::from(vec![1.0; 100])).unwrap();
    for round in 0..20 {
        axpy(&cx, &[1.0; 100], &[0.0; 100], &mut y, &mut [0.0; 100]).unwrap();
        let (y, cx) = (&y, &cx);
        let expected = 1.0 + 2.0 * (round + 1) as f32;
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || {
                    if number % 2 == 0 {
                        axpy(cx, y, y, &mut vec![0.0; 100], &mut vec![0.0; 100]).unwrap();
                    }
                    assert!(y.host().unwrap().iter().all(|element| *element == expected));
                });
            }
        });
    }
}

/// Numbers of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// A mirror does what a plain array does, whatever is done with it in which order and by whom.
#[test]
fn mirrors_are_arrays() {
    const SHAPE: [usize; 2] = [5, 6];
    let (world, elsewhere) = (World::default(), World::default());
    let home = cuda(&world);
    let contexts = [home.clone(), home.fork().unwrap(), cuda(&elsewhere), cpu()];
    let mut counts = [0_usize; 8];
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut plain = Array2::from_shape_fn(SHAPE, |(row, column)| (row * 6 + column) as f32);
        let mut mirror = Mirror::new(if seed % 8 == 7 { &contexts[3] } else { &home }, plain.clone()).unwrap();
        for _ in 0..60 {
            let cx = &contexts[random.below(contexts.len())];
            let what = random.below(counts.len());
            counts[what] += 1;
            let x = vec![random.below(9) as f32; 30];
            match what {
                0 => assert_eq!(mirror.host().unwrap(), plain),
                1 => {
                    let (row, column) = (random.below(5), random.below(6));
                    mirror.host_mut().unwrap()[[row, column]] = 50.0;
                    plain[[row, column]] = 50.0;
                }
                2 => {
                    let (from, step) = (random.below(6), 1 + random.below(3) as isize);
                    mirror.section_mut(s![from.., ..;step]).unwrap().fill(x[0]);
                    plain.slice_mut(s![from.., ..;step]).fill(x[0]);
                }
                // Read and written, only written, and only read by a call.
                3 => {
                    axpy(cx, &x, &x, &mut Flat(&mut mirror), &mut vec![0.0; 30]).unwrap();
                    plain += 3.0 * x[0];
                }
                4 => {
                    axpy(cx, &x, &x, &mut vec![1.0; 30], &mut Flat(&mut mirror)).unwrap();
                    plain.fill(2.0 * (1.0 + 3.0 * x[0]));
                }
                5 => {
                    let mut y = vec![0.0; 30];
                    axpy(cx, &x, &Flat(&mirror), &mut y, &mut vec![0.0; 30]).unwrap();
                    assert!(y.iter().zip(&plain).all(|(y, element)| *y == 2.0 * x[0] + element));
                }
                // A call that fails after it has done nothing, and a copy of it.
                6 => {
                    let negative = vec![-1.0; 30];
                    let error = axpy(cx, &negative, &x, &mut Flat(&mut mirror), &mut vec![0.0; 30]).unwrap_err();
                    assert!(matches!(error, Error::Fault(_)));
                }
                _ => {
                    let mut there = DeviceArray::<f32, 2>::zeros(cx, SHAPE).unwrap();
                    there.copy_from(&mirror).unwrap();
                    assert_eq!(there.to_array().unwrap(), plain);
                }
            }
            // So that numbers stay exact.
            if plain.iter().any(|element| *element > 1e5) {
                mirror.host_mut().unwrap().fill(0.0);
                plain.fill(0.0);
            }
        }
        assert_eq!(mirror.into_array().unwrap(), plain, "seed {seed}");
    }
    assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
    drop((home, contexts));
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn any_call_may_fail() {
    let calls = fail_everywhere(false, |cx, other| {
        let mut y = Mirror::new(cx, Array1::from(vec![1.0; 6]))?;
        let mut w = Mirror::<f32, 1>::zeros(cx, [6])?;
        axpy(cx, &[1.0; 6], &[0.0; 6], &mut y, &mut w)?;
        y.section_mut(s![1..;2])?.fill(0.0);
        axpy(cx, &[1.0; 6], &w, &mut y, &mut [0.0; 6])?;
        assert_eq!(y.host()?.to_vec(), [11.0, 8.0, 11.0, 8.0, 11.0, 8.0]);
        axpy(other, &[1.0; 6], &w, &mut y, &mut [0.0; 6])?;
        assert_eq!(w.into_array()?.to_vec(), [6.0; 6]);
        drop(y);
        other.synchronize()?;
        cx.synchronize()
    });
    assert!(calls > 60, "{calls}");
}
