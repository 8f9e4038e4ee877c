//! Page-locked arrays, and copies that outlast the function that began them.

use ndarray::{Array2, arr2};

use super::axpy::axpy;
use super::*;

fn buffer(cx: &Context, elements: &[f32]) -> PinnedArray<f32, 1> {
    PinnedArray::from_host(cx, elements).unwrap()
}

#[test]
fn page_locked_arrays_are_arrays() {
    let world = World::default();
    for cx in [cuda(&world), cpu()] {
        let mut array = PinnedArray::<i32, 2>::zeros(&cx, [2, 3]).unwrap();
        assert_eq!((array.is_page_locked(), array.extents()), (!cx.device().is_cpu(), [2, 3]));
        assert_eq!(*array, Array2::<i32>::zeros((2, 3)));
        array[[1, 2]] = 5;
        array.row_mut(0).fill(7);
        assert_eq!(*array, arr2(&[[7, 7, 7], [0, 0, 5]]));
        let there = DeviceArray::from_host(&cx, &array).unwrap();
        assert_eq!(there.to_array().unwrap(), *array);
        array.fill(0);
        there.copy_to(&mut array).unwrap();
        assert_eq!(array.sum(), 26);
        // Whoever turns its axes around cannot copy it as what it was.
        array.swap_axes(0, 1);
        assert!(matches!(View::<i32, 2>::elements(&array), Err(crate::ViewError::NotContiguous)));
        assert!(DeviceArray::from_host(&cx, &array).is_err());
        array.swap_axes(0, 1);
        array.slice_collapse(s![1.., ..]);
        assert!(ViewMut::<i32, 2>::elements_mut(&mut array).is_err());
        let empty = PinnedArray::<f64, 2>::zeros(&cx, [0, 4]).unwrap();
        assert!(!empty.is_page_locked() && empty.is_empty());
        assert!(DeviceArray::from_host(&cx, &empty).unwrap().is_empty());
        assert!(PinnedArray::<u8, 2>::zeros(&cx, [usize::MAX, 2]).is_err());
        assert!(PinnedArray::from_host(&cx, &there).is_err() || cx.device().is_cpu());
    }
    assert_eq!((world.blocks(), world.events()), (0, 0));
}

#[test]
fn copies_of_page_locked_memory_are_not_staged() {
    let world = World::default();
    let cx = cuda(&world);
    let mut array = PinnedArray::<f32, 1>::zeros(&cx, [1 << 16]).unwrap();
    array.fill(3.0);
    let made = world.made();
    let mut there = DeviceArray::<f32, 1>::zeros(&cx, [1 << 16]).unwrap();
    assert_eq!(copies(&cx, || there.copy_from(&array).unwrap()), (1, 0, 4 << 16, 0));
    // What the host does then is not seen.
    array.fill(4.0);
    assert_eq!(copies(&cx, || there.copy_to(&mut array).unwrap()), (0, 1, 0, 4 << 16));
    assert!(array.iter().all(|element| *element == 3.0));
    assert_eq!(world.made(), made + 1, "the array on the device alone");
    // Also a part of it, as an argument.
    let mut y = PinnedArray::<f32, 1>::zeros(&cx, [100]).unwrap();
    let (x, _) = View::<f32, 1>::elements(&array).unwrap();
    axpy(&cx, &x[..100], &x[100..200], &mut y, &mut [0.0; 100]).unwrap();
    assert!(y.iter().all(|element| *element == 9.0));
    // For another device it is memory like any other.
    let other = cuda(&World::default());
    assert_eq!(DeviceArray::from_host(&other, &y).unwrap().to_vec().unwrap(), [9.0; 100]);
    drop((cx, array, there, y));
    assert_eq!((world.blocks(), world.events()), (0, 0));
}

#[test]
fn copies_come_to_an_end() {
    let world = World::default();
    for cx in [cuda(&world), cpu()] {
        let mut array = DeviceArray::from_host(&cx, &[1.0_f32, 2.0]).unwrap();
        let there = array.upload(buffer(&cx, &[3.0, 4.0]));
        let back = array.download(PinnedArray::zeros(&cx, [2]).unwrap());
        // Nothing has happened yet.
        assert_eq!((there.is_done(), back.is_done()), (cx.device().is_cpu(), cx.device().is_cpu()));
        array.copy_from(&[9.0, 9.0]).unwrap();
        let back = back.wait().unwrap();
        assert!(there.is_done());
        assert_eq!((back.to_vec(), there.wait().unwrap().to_vec()), (vec![3.0, 4.0], vec![3.0, 4.0]));
        let back = array.download(back).wait().unwrap();
        assert_eq!(back.to_vec(), [9.0; 2]);
        // A buffer is in its own shape again.
        let mut matrix = PinnedArray::<f32, 2>::zeros(&cx, [1, 2]).unwrap();
        matrix.swap_axes(0, 1);
        let array = array.into_shape([1, 2]).unwrap();
        assert_eq!(*array.download(matrix).wait().unwrap(), arr2(&[[9.0, 9.0]]));
        let empty = DeviceArray::<f32, 1>::zeros(&cx, [0]).unwrap();
        assert!(empty.download(PinnedArray::zeros(&cx, [0]).unwrap()).wait().unwrap().is_empty());
    }
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn copies_run_beside_what_the_other_context_does() {
    let world = World::default();
    let cx = cuda(&world);
    let copies = cx.fork().unwrap();
    let mut array = DeviceArray::from_host(&cx, &[1.0_f32; 4]).unwrap();
    let pending = array.download_in(&copies, PinnedArray::zeros(&cx, [4]).unwrap());
    let other = DeviceArray::from_host(&cx, &[5.0_f32; 4]).unwrap();
    cx.synchronize().unwrap();
    assert!(!pending.is_done(), "the array's context does not wait for the copy");
    array.copy_from(&other).unwrap();
    cx.synchronize().unwrap();
    assert!(pending.is_done(), "unless it writes to the array");
    let buffer = pending.wait().unwrap();
    assert_eq!(buffer.to_vec(), [1.0; 4]);
    let pending = array.upload_in(&copies, buffer);
    cx.synchronize().unwrap();
    assert!(!pending.is_done());
    assert_eq!(array.to_vec().unwrap(), [1.0; 4]);
    drop(pending);
}

#[test]
fn they_outlive_the_array_and_the_context() {
    let world = World::default();
    let cx = cuda(&world);
    let mut array = DeviceArray::from_host(&cx, &[1.0_f32, 2.0]).unwrap();
    let (back, there) = {
        let fork = cx.fork().unwrap();
        let back = array.download_in(&fork, buffer(&cx, &[0.0; 2]));
        (back, array.upload(buffer(&fork, &[7.0; 2])))
    };
    drop((array, cx));
    assert_eq!(back.wait().unwrap().to_vec(), [1.0, 2.0]);
    // Dropping waits, and gives everything back.
    drop(there);
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn a_forgotten_copy_leaks_and_harms_nobody() {
    let world = World::default();
    let cx = cuda(&world);
    let array = DeviceArray::from_host(&cx, &[1.0_f32; 8]).unwrap();
    std::mem::forget(array.download(buffer(&cx, &[0.0; 8])));
    drop(array);
    // Memory of the same size is not the buffer's.
    let next = buffer(&cx, &[2.0; 8]);
    let again = DeviceArray::from_host(&cx, &next).unwrap();
    cx.synchronize().unwrap();
    assert_eq!((next.to_vec(), again.to_vec().unwrap()), (vec![2.0; 8], vec![2.0; 8]));
    drop((next, again, cx));
    assert!(world.blocks() > 0 && world.streams() == 1, "the buffer and its queue are never freed");
}

#[test]
fn what_is_wrong_comes_with_the_buffer() {
    let (world, elsewhere) = (World::default(), World::default());
    let (cx, other) = (cuda(&world), cuda(&elsewhere));
    let mut array = DeviceArray::from_host(&cx, &[1.0_f32; 4]).unwrap();
    let failed = array.download(buffer(&cx, &[5.0; 3])).wait().unwrap_err();
    assert_eq!(failed.to_string(), "the array on the device has shape [4], the other one [3]");
    assert_eq!(failed.into_buffer().unwrap().to_vec(), [5.0; 3]);
    for pending in [array.download_in(&other, buffer(&cx, &[5.0; 4])), array.upload_in(&cpu(), buffer(&cx, &[5.0; 4]))]
    {
        assert!(pending.is_done());
        let failed = pending.wait().unwrap_err();
        assert!(matches!(failed.error(), Error::Array(ArrayError::OtherDevice)), "{failed:?}");
        assert!(failed.into_buffer().is_some());
    }
    // A buffer of another device, or of none, is ordinary memory: the copy is made at once.
    for home in [&other, &cpu()] {
        let pending = array.download(buffer(home, &[5.0; 4]));
        assert!(pending.is_done());
        assert_eq!(pending.wait().unwrap().to_vec(), [1.0; 4]);
    }
    let mut turned = buffer(&cx, &[5.0; 4]);
    turned.invert_axis(ndarray::Axis(0));
    assert!(array.upload(turned).wait().is_err());
    let pending = array.download(buffer(&cx, &[5.0; 4]));
    world.break_down();
    let failed = pending.wait().unwrap_err();
    assert!(matches!(failed.error(), Error::Device(error) if error.is_lost()), "{failed:?}");
    assert!(failed.into_buffer().is_none(), "half an element may be in it");
    drop(array.upload(buffer(&cpu(), &[5.0; 4])));
}

#[test]
fn copies_may_be_waited_for_by_another_thread() {
    let world = World::default();
    let cx = cuda(&world);
    let array = DeviceArray::from_host(&cx, &[1.0_f32; 100]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            for _ in 0..20 {
                let pending = array.download(PinnedArray::zeros(&cx, [100]).unwrap());
                scope.spawn(move || assert_eq!(pending.wait().unwrap().sum(), 100.0));
            }
        }
    });
    drop((cx, array));
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn any_call_may_fail() {
    let calls = fail_everywhere(false, |cx, _| {
        let fork = cx.fork()?;
        let mut array = DeviceArray::<f32, 1>::zeros(cx, [100])?;
        let mut source = PinnedArray::<f32, 1>::zeros(cx, [100])?;
        source.fill(2.0);
        let source = array.upload_in(&fork, source).wait()?;
        let back = array.download_in(&fork, source);
        let other = array.download(PinnedArray::zeros(cx, [100])?);
        let (back, other) = (back.wait()?, other.wait()?);
        assert_eq!((back.sum(), other.sum()), (200.0, 200.0));
        let mut y = PinnedArray::<f32, 1>::zeros(cx, [100])?;
        axpy(cx, &back, &other, &mut y, &mut [0.0; 100])?;
        drop(array.upload(back));
        cx.synchronize()
    });
    assert!(calls > 60, "{calls}");
}
