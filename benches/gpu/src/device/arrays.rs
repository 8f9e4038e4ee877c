//! Arrays that stay on the device.

use hidp_std::{ArrayError, Context, DeviceArray, Error};
use ndarray::{Array2, arr2, s};

use super::{Test, context, copies, cpu};
use crate::kernels::device_checks::axpy;
use crate::place::Place;

pub(super) const TESTS: &[Test] = &[
    ("large arrays travel in parts", in_parts),
    ("sections go both ways", sections),
    ("sections are arguments", section_arguments),
    ("arrays have shapes and copies", shapes),
    ("arrays stay with their device", contexts),
    ("arrays without elements", empty),
];

fn in_parts(place: Place) {
    /// Bytes of the page-locked parts.
    const PART: usize = 4 << 20;
    let cx = context(place);
    for count in [PART / 4 - 1, PART / 4, PART / 4 + 1, 5 * PART / 4, 5 * PART / 4 + 3] {
        let elements: Vec<u32> = (0..).take(count).collect();
        let mut changed = elements.clone();
        let array = DeviceArray::from_host(&cx, &changed).unwrap();
        // What the host does afterwards is not seen.
        changed.fill(7);
        assert!(array.to_vec().unwrap() == elements);
        array.copy_to(&mut changed).unwrap();
        assert!(changed == elements);
    }
}

fn sections(place: Place) {
    let cx = context(place);
    let matrix = Array2::from_shape_fn((5, 6), |(row, column)| 10 * row as i32 + column as i32);
    let array = DeviceArray::from_host(&cx, &matrix).unwrap();
    assert!(array.is_on_device());
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
    assert!(array.section(s![..6, ..]).is_err());
}

fn section_arguments(place: Place) {
    let cx = context(place);
    let flat = DeviceArray::from_host(&cx, &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let rows = flat.section(s![2..]).unwrap();
    let mut w = [0.0; 2];
    let mut pair = DeviceArray::zeros(&cx, [2]).unwrap();
    let used = copies(&cx, || axpy(&cx, 2.0, &rows, &[0.0; 2], &mut pair, &mut w).unwrap());
    assert_eq!(used, (1, 1, 8, 8));
    assert_eq!(pair.to_vec().unwrap(), [6.0, 8.0]);
    let mut whole = DeviceArray::from_host(&cx, &[1.0; 4]).unwrap();
    let mut end = whole.section_mut(s![2..]).unwrap();
    axpy(&cx, 2.0, &[1.0, 2.0], &[0.0; 2], &mut end, &mut w).unwrap();
    assert_eq!(whole.to_vec().unwrap(), [1.0, 1.0, 3.0, 5.0]);
    let columns = flat.section(s![..;2]).unwrap();
    let mut apart = [0.0; 2];
    axpy(&cx, 2.0, &columns, &[0.0; 2], &mut apart, &mut w).unwrap();
    assert_eq!(apart, [2.0, 6.0], "scattered sections travel as copies");
}

fn shapes(place: Place) {
    let cx = context(place);
    let strided = arr2(&[[1, 2, 3], [4, 5, 6]]);
    assert!(DeviceArray::from_host(&cx, &strided.t()).is_err());
    let array = DeviceArray::from_strided(&cx, &strided.t()).unwrap();
    assert_eq!((array.shape(), array.len(), array.is_empty()), ([3, 2], 6, false));
    assert_eq!(array.to_array().unwrap(), strided.t());
    let mut copy = array.clone();
    copy.copy_from(&Array2::zeros((3, 2))).unwrap();
    assert_eq!((array.to_vec().unwrap()[1], copy.to_vec().unwrap()[1]), (4, 0));
    let flat = array.into_shape([6]).unwrap();
    assert!(flat.into_shape([4]).is_err());
    assert!(DeviceArray::<u8, 2>::zeros(&cx, [usize::MAX, 2]).is_err());
}

fn empty(place: Place) {
    let cx = context(place);
    let empty = DeviceArray::<f64, 2>::zeros(&cx, [0, 5]).unwrap();
    assert_eq!(empty.to_array().unwrap().shape(), [0, 5]);
    assert_eq!(empty.clone().to_vec().unwrap(), [0.0; 0]);
}

fn contexts(place: Place) {
    let (one, two) = (context(place), context(place));
    let array = DeviceArray::from_host(&one, &[1.0_f32; 2]).unwrap();
    let run = |cx: &Context| axpy(cx, 1.0, &[1.0; 2], &array, &mut [1.0; 2], &mut [1.0; 2]);
    let error = run(&cpu()).unwrap_err();
    assert!(matches!(error, Error::Elsewhere { .. }), "{error}");
    let mut other = DeviceArray::<f32, 1>::zeros(&two, [2]).unwrap();
    let copied = other.copy_from(&array);
    match place {
        // Two contexts on one device.
        Place::Gpu(_) => {
            run(&two).unwrap();
            copied.unwrap();
            assert_eq!(other.to_vec().unwrap(), [1.0; 2]);
        }
        // Each has a device of its own.
        Place::Simulated(_) => {
            let error = run(&two).unwrap_err();
            assert!(matches!(error, Error::Elsewhere { .. }), "{error}");
            assert!(matches!(copied, Err(Error::Array(ArrayError::OtherDevice))));
        }
    }
    // A fork has the same device everywhere.
    let fork = one.fork().unwrap();
    run(&fork).unwrap();
    other = DeviceArray::zeros(&fork, [2]).unwrap();
    other.copy_from(&array).unwrap();
    assert_eq!(other.to_vec().unwrap(), [1.0; 2]);
    axpy(&one.clone(), 1.0, &array, &array, &mut [1.0; 2], &mut [1.0; 2]).unwrap();
    // Its memory outlives the context.
    drop(one);
    assert_eq!(array.to_vec().unwrap(), [1.0; 2]);
}
