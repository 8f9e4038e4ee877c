//! Arrays on a simulated device and on the processor.

use ndarray::{Array2, arr2, s};

use super::axpy::axpy;
use super::*;
use crate::device::staging::CHUNK;

#[test]
fn arrays_of_the_device_are_not_copied() {
    let cx = cuda(&World::default());
    let x = DeviceArray::from_host(&cx, &[1.0, 2.0, 3.0]).unwrap();
    let mut y = DeviceArray::zeros(&cx, [3]).unwrap();
    let mut w = [0.0; 3];
    assert_eq!(copies(&cx, || axpy(&cx, &x, &x, &mut y, &mut w).unwrap()), (0, 1, 0, 12));
    assert_eq!((y.to_vec().unwrap(), w), (vec![3.0, 6.0, 9.0], [6.0, 12.0, 18.0]));
    // Mixed, with a shape, by reference, and as a section.
    let flat = DeviceArray::from_host(&cx, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let (rows, mut pair) = (flat.section(s![2..]).unwrap(), DeviceArray::zeros(&cx, [2]).unwrap());
    let used = copies(&cx, || axpy(&cx, &(&rows, [2]), &[0.0; 2], &mut (&mut pair, [2]), &mut w[..2]).unwrap());
    assert_eq!(used, (1, 1, 8, 8));
    assert_eq!(pair.to_vec().unwrap(), [6.0, 8.0]);
    let error = axpy(&cx, &(&rows, [3]), &[0.0; 3], &mut [0.0; 3], &mut [0.0; 3]).unwrap_err();
    assert!(matches!(error, Error::View { reason: crate::ViewError::OnDevice, .. }), "{error}");
    let columns = flat.section(s![..;2]).unwrap();
    let error = DeviceArray::from_host(&cx, &columns).unwrap_err();
    assert!(error.to_string().contains("`.to_device()`"), "{error}");
    let mut whole = DeviceArray::from_host(&cx, &[1.0, 1.0, 1.0, 1.0]).unwrap();
    let mut end = whole.section_mut(s![2..]).unwrap();
    axpy(&cx, &[1.0, 2.0], &[0.0; 2], &mut end, &mut w[..2]).unwrap();
    assert_eq!(whole.to_vec().unwrap(), [1.0, 1.0, 3.0, 5.0]);
}

#[test]
fn large_arrays_travel_in_parts() {
    let cx = cuda(&World::default());
    for extra in [0, 1] {
        let elements: Vec<u32> = (0..).take(5 * CHUNK / 4 + extra).collect();
        let mut changed = elements.clone();
        let array = DeviceArray::from_host(&cx, &elements).unwrap();
        // What the host does afterwards is not seen.
        changed.fill(7);
        assert!(array.to_vec().unwrap() == elements);
        array.copy_to(&mut changed).unwrap();
        assert!(changed == elements);
    }
    let mut source = vec![1_u8; 3 * CHUNK];
    let array = DeviceArray::from_host(&cx, &source).unwrap();
    source.fill(2);
    assert!(array.to_vec().unwrap().iter().all(|byte| *byte == 1), "copied before the call returned");
}

#[test]
fn sections_go_both_ways() {
    for cx in [cuda(&World::default()), cpu()] {
        let matrix = Array2::from_shape_fn((5, 6), |(row, column)| 10 * row as i32 + column as i32);
        let mut array = DeviceArray::from_host(&cx, &matrix).unwrap();
        assert_eq!(array.is_on_device(), !cx.device().is_cpu());
        macro_rules! same {
            ($($part:tt)*) => {{
                let expected = matrix.slice(s![$($part)*]).to_owned();
                assert_eq!(array.section(s![$($part)*]).unwrap().to_array().unwrap(), expected);
                assert_eq!(array.section(s![$($part)*]).unwrap().to_device().unwrap().to_array().unwrap(), expected);
                let mut copy = Array2::zeros(expected.dim());
                array.section(s![$($part)*]).unwrap().copy_to(&mut copy).unwrap();
                assert_eq!(copy, expected);
                // There and back again.
                let (mut there, mut model) = (array.try_clone().unwrap(), matrix.clone());
                there.section_mut(s![$($part)*]).unwrap().copy_from(&(&expected * 100)).unwrap();
                model.slice_mut(s![$($part)*]).assign(&(&expected * 100));
                assert_eq!(there.to_array().unwrap(), model);
                let other = DeviceArray::from_host(&cx, &(&matrix * 7)).unwrap();
                there.section_mut(s![$($part)*]).unwrap().copy_from_section(&other.section(s![$($part)*]).unwrap()).unwrap();
                model.slice_mut(s![$($part)*]).assign(&(&expected * 7));
                assert_eq!(there.to_array().unwrap(), model);
            }};
        }
        same!(.., ..);
        same!(1..3, ..);
        same!(.., 1..4);
        same!(..;2, 1..;3);
        same!(-1.., -2..);
        same!(2..2, ..);
        let error = array.section(s![..6, ..]).err().unwrap().to_string();
        assert_eq!(error, "dimension 0 of the section is no part of the array's 0..5");
        let error = array.section(s![.., ..;-1]).err().unwrap().to_string();
        assert!(error.starts_with("dimension 1 of the section has a negative step"), "{error}");
        let error = array.copy_from(&Array2::zeros((6, 5))).unwrap_err();
        assert_eq!(error.to_string(), "the array on the device has shape [5, 6], the other one [6, 5]");
    }
}

#[test]
fn arrays_have_shapes_and_copies() {
    let cx = cuda(&World::default());
    let strided = arr2(&[[1, 2, 3], [4, 5, 6]]);
    assert!(DeviceArray::from_host(&cx, &strided.t()).is_err());
    let array = DeviceArray::from_strided(&cx, &strided.t()).unwrap();
    assert_eq!((array.shape(), array.len(), array.is_empty()), ([3, 2], 6, false));
    assert_eq!(array.to_array().unwrap(), strided.t());
    let mut copy = array.clone();
    copy.copy_from(&Array2::zeros((3, 2))).unwrap();
    assert_eq!((array.to_vec().unwrap()[1], copy.to_vec().unwrap()[1]), (4, 0));
    let flat = array.into_shape([6]).unwrap();
    assert_eq!(format!("{flat:?}"), "DeviceArray { shape: [6], place: cuda:0 (simulated, sm_90) }");
    assert!(flat.into_shape([4]).is_err());
    let empty = DeviceArray::<f64, 2>::zeros(&cx, [0, 5]).unwrap();
    assert_eq!(empty.to_array().unwrap().shape(), [0, 5]);
    assert_eq!(empty.clone().to_vec().unwrap(), [0.0; 0]);
    assert!(DeviceArray::<u8, 2>::zeros(&cx, [usize::MAX, 2]).is_err());
    assert!(DeviceArray::<u64, 1>::zeros(&cpu(), [1 << 55]).is_err());
}

#[test]
fn arrays_stay_with_their_device() {
    let (one, two) = (cuda(&World::default()), cuda(&World::default()));
    let array = DeviceArray::from_host(&one, &[1.0; 2]).unwrap();
    let error = |cx: &Context| axpy(cx, &[1.0; 2], &array, &mut [1.0; 2], &mut [1.0; 2]).unwrap_err().to_string();
    assert_eq!(error(&two), "axpy::axpy: the argument for b[N] is in the memory of another device");
    assert_eq!(
        error(&cpu()),
        "axpy::axpy: the argument for b[N] is in a device's memory, but the processor runs this call"
    );
    let mut other = DeviceArray::<f32, 1>::zeros(&two, [2]).unwrap();
    assert!(matches!(other.copy_from(&array), Err(Error::Array(ArrayError::OtherDevice))));
    axpy(&one.clone(), &array, &array, &mut [1.0; 2], &mut [1.0; 2]).unwrap();
    // Its memory outlives the context.
    drop(one);
    assert_eq!(array.to_vec().unwrap(), [1.0; 2]);
    // Without a device the array is the host's, and good for any context.
    let host = DeviceArray::from_host(&cpu(), &[1.0; 2]).unwrap();
    let mut y = DeviceArray::zeros(&cpu(), [2]).unwrap();
    axpy(&cpu(), &host, &host, &mut y, &mut [1.0; 2]).unwrap();
    axpy(&two, &host, &host, &mut y, &mut [1.0; 2]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [6.0; 2]);
}
