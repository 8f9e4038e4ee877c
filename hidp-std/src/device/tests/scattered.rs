//! Sections whose elements are not next to each other, as arguments.

use ndarray::{Array2, arr2};

use super::axpy::axpy;
use super::*;

/// Adds 2 x + b to the third column, where x is the second column and b the first one; w gets every third element of nine.
fn columns(cx: &Context, place: &Context, sign: f32) -> (Result<(), Error>, Array2<f32>, Vec<f32>) {
    let matrix = Array2::from_shape_fn((3, 5), |(row, column)| (10 * row + column) as f32);
    let source = DeviceArray::from_host(place, &(&matrix * sign)).unwrap();
    let mut target = DeviceArray::from_host(place, &matrix).unwrap();
    let mut w = DeviceArray::<f32, 1>::zeros(place, [9]).unwrap();
    let (x, b) = (source.section(s![.., 1..2]).unwrap(), source.section(s![.., ..;5]).unwrap());
    let mut y = target.section_mut(s![.., 2..3]).unwrap();
    let mut every_third = w.section_mut(s![..;3]).unwrap();
    let ended = axpy(cx, &Flat(&x), &Flat(&b), &mut Flat(&mut y), &mut every_third);
    (ended, target.to_array().unwrap(), w.to_vec().unwrap())
}

fn check(cx: &Context, place: &Context) {
    let (ended, matrix, w) = columns(cx, place, 1.0);
    ended.unwrap();
    let expected = arr2(&[[0., 1., 4., 3., 4.], [10., 11., 44., 13., 14.], [20., 21., 84., 23., 24.]]);
    assert_eq!(matrix, expected);
    assert_eq!(w, [8., 0., 0., 88., 0., 0., 168., 0., 0.]);
    // After a fault nothing is as the call would have it, but as it was.
    let (ended, matrix, w) = columns(cx, place, -1.0);
    assert!(matches!(ended, Err(Error::Fault(_))), "{ended:?}");
    assert_eq!((matrix[[0, 2]], matrix[[2, 2]], w), (2.0, 22.0, vec![0.0; 9]));
}

#[test]
fn they_are_packed_and_spread() {
    let world = World::default();
    let cx = cuda(&world);
    let fork = cx.fork().unwrap();
    // On the device, of the context or of a fork; on the host, for the device and for the processor.
    check(&cx, &cx);
    assert_eq!(cx.last_run().unwrap().copied, Copies::default());
    check(&fork, &cx);
    check(&cx, &cpu());
    assert_eq!((cx.last_run().unwrap().copied.to_device, cx.last_run().unwrap().copied.to_host), (3, 2));
    check(&cpu(), &cpu());
    // An empty section is next to itself.
    let mut array = DeviceArray::<f32, 1>::zeros(&cx, [9]).unwrap();
    let none = array.section(s![4..4;2]).unwrap().to_device().unwrap();
    axpy(&cx, &none, &none, &mut array.section_mut(s![9..;3]).unwrap(), &mut [0.0; 0]).unwrap();
    drop((cx, fork, array, none));
    assert_eq!((world.blocks(), world.events(), world.streams()), (0, 0, 0));
}

#[test]
fn they_are_refused_elsewhere() {
    let (cx, other) = (cuda(&World::default()), cuda(&World::default()));
    for (cx, said) in [(&other, "of another device"), (&cpu(), "but the processor runs this call")] {
        let error = columns(cx, &other.fork().unwrap(), 1.0).0.err();
        let error =
            if std::ptr::eq(cx, &other) { columns(&other, &cuda(&World::default()), 1.0).0.err() } else { error };
        assert!(error.is_some_and(|error| error.to_string().contains(said)));
    }
    drop(cx);
}

#[test]
fn rules_take_them_for_what_is_on_the_device() {
    let cx = auto(1);
    let array = DeviceArray::from_host(&cx, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let odd = array.section(s![1..;2]).unwrap();
    axpy(&cx, &odd, &odd, &mut [0.0; 2], &mut [0.0; 2]).unwrap();
    assert_eq!(cx.last_run().unwrap().device, Some(0));
}

#[test]
fn sections_are_copied_from_other_sections() {
    for cx in [cuda(&World::default()), cpu()] {
        let array = DeviceArray::from_host(&cx, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut other = DeviceArray::<f64, 1>::zeros(&cx, [4]).unwrap();
        let odd = array.section(s![1..;2]).unwrap();
        let copied = other.section_mut(s![..;2]).unwrap().copy_from(&odd);
        assert_eq!(copied.is_ok(), !cx.device().is_cpu(), "on the host by `copy_from_section`");
        other.section_mut(s![..;2]).unwrap().copy_from_section(&odd).unwrap();
        assert_eq!(other.to_vec().unwrap(), [2.0, 0.0, 4.0, 0.0]);
    }
}

#[test]
fn any_call_may_fail() {
    let calls = fail_everywhere(false, |cx, _| {
        let mut array = DeviceArray::<f32, 2>::zeros(cx, [4, 4])?;
        let fork = cx.fork()?;
        for cx in [cx, &fork] {
            let x = DeviceArray::<f32, 1>::from_host(cx, &[1.0; 4])?;
            let before = array.to_array()?;
            let mut column = array.section_mut(s![.., 1..2])?;
            let ended = axpy(cx, &x, &x, &mut Flat(&mut column), &mut [0.0; 4]);
            // Whatever happened: the rest is as it was.
            if let Ok(after) = array.to_array() {
                assert_eq!((after.column(0), after.column(2)), (before.column(0), before.column(2)));
            }
            ended?;
        }
        assert_eq!(array.to_array()?.column(1).to_vec(), [6.0; 4]);
        drop((array, fork));
        cx.synchronize()
    });
    assert!(calls > 60, "{calls}");
}
