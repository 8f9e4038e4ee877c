//! Memory of the device: used again, given back, and exhausted.

use hidp_std::{DeviceArray, Error, FaultKind};
use ndarray::s;

use super::{Test, context};
use crate::kernels::device_checks::{axpy, roomy, sorted};
use crate::place::Place;

pub(super) const TESTS: &[Test] = &[
    ("steady state allocates nothing", steady),
    ("an array that is too large is an error", too_large),
    ("a local array that is too large is a fault", local_too_large),
    ("memory of cudarc", cudarc_memory),
];

fn steady(place: Place) {
    let cx = context(place);
    let (x, mut y, mut w) = (vec![1.0_f32; 500], vec![0.0; 500], vec![0.0; 500]);
    let mut once = || {
        axpy(&cx, 2.0, &x, &x, &mut y, &mut w).unwrap();
        let array = DeviceArray::from_host(&cx, &x).unwrap();
        assert_eq!(array.section(s![..;2]).unwrap().to_vec().unwrap(), [1.0; 250]);
        let mut keys: Vec<u32> = (0..500).rev().collect();
        sorted(&cx, &mut keys).unwrap();
        assert!(keys.is_sorted());
    };
    once();
    once();
    let held = cx.device_pool_bytes();
    (0..10).for_each(|_| once());
    assert_eq!(cx.device_pool_bytes(), held);
    assert!(held > 0);
    assert_eq!(y[0], 12.0 * 3.0);
}

/// Of so many elements there is no array of numbers in any device's memory, nor as a promise in the host's.
const FAR_TOO_MANY: usize = 1 << 50;

fn too_large(place: Place) {
    if matches!(place, Place::Simulated(_)) {
        return; // its memory is the host's, which ends the process
    }
    let cx = context(place);
    let array = DeviceArray::from_host(&cx, &[1.0_f32; 100]).unwrap();
    for _ in 0..2 {
        let error = DeviceArray::<f32, 1>::zeros(&cx, [FAR_TOO_MANY]).unwrap_err();
        let Error::Device(failure) = &error else { panic!("{error:?}") };
        assert!(!failure.is_lost(), "{error}");
        let (mut y, mut w) = ([0.0; 100], [0.0; 100]);
        axpy(&cx, 1.0, &array, &array, &mut y, &mut w).unwrap();
        assert_eq!(y, [2.0; 100]);
    }
}

fn local_too_large(place: Place) {
    let cx = context(place);
    assert_eq!(roomy(&cx, 100, &[1.0, 2.0, 3.0]).unwrap(), 1.0);
    if matches!(place, Place::Simulated(_)) {
        return; // its memory is the host's, which ends the process
    }
    for _ in 0..2 {
        let error = roomy(&cx, FAR_TOO_MANY as i64, &[1.0, 2.0, 3.0]).unwrap_err();
        let Error::Fault(fault) = &error else { panic!("{error:?}") };
        assert_eq!((fault.kind(), fault.values()), (FaultKind::Allocation, &[8 * FAR_TOO_MANY as i64][..]), "{error}");
        assert_eq!(roomy(&cx, 101, &[1.0, 2.0, 3.0]).unwrap(), 2.0);
    }
}

fn cudarc_memory(place: Place) {
    let cx = context(place);
    let array = DeviceArray::from_host(&cx, &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let Place::Gpu(_) = place else {
        assert!(array.into_cuda_slice().is_err(), "no memory of the driver");
        return;
    };
    let slice = array.into_cuda_slice().unwrap();
    let back = DeviceArray::from_cuda_slice(&cx, slice, [2, 2]).unwrap();
    assert_eq!(back.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let stream = back.into_cuda_slice().unwrap().stream().clone();
    let theirs = stream.clone_htod(&[5.0_f32, 6.0]).unwrap();
    let mut array = DeviceArray::from_cuda_slice(&cx, theirs, [2]).unwrap();
    axpy(&cx, 1.0, &[1.0, 1.0], &[0.0, 0.0], &mut array, &mut [0.0, 0.0]).unwrap();
    assert_eq!(stream.clone_dtoh(&array.into_cuda_slice().unwrap()).unwrap(), [6.0, 7.0]);
}
