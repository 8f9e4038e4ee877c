//! Which device a context takes.

use hidp_std::{Context, Error};

use super::{Test, context, cpu};
use crate::kernels::device_checks::gather;
use crate::place::Place;

pub(super) const TESTS: &[Test] = &[
    ("the device is named", named),
    ("the processor can be asked for", processor),
    ("devices that are not there are refused", missing),
];

fn named(place: Place) {
    let cx = context(place);
    let Place::Gpu(ordinal) = place else {
        assert_eq!((cx.device().is_cpu(), cx.device().ordinal()), (false, Some(0)));
        return;
    };
    assert_eq!((cx.device().is_cpu(), cx.device().ordinal()), (false, Some(ordinal)));
    // Nothing else is said, and the first GPU can run the program: it is taken.
    let chosen = Context::builder().threads(1).build().unwrap();
    assert!(!chosen.device().is_cpu() || ordinal > 0, "{}", chosen.device());
}

fn processor(_: Place) {
    let cx = cpu();
    assert!(cx.device().is_cpu());
    let mut y = [0.0];
    gather(&cx, &[7.0], &[0], &mut y).unwrap();
    assert_eq!((y, cx.last_run().unwrap().device), ([7.0], None));
    assert_eq!((cx.device_pool_bytes(), cx.copies().to_device), (0, 0));
}

fn missing(_: Place) {
    match Context::builder().threads(1).cuda(4096).build() {
        Err(Error::NoDevice { .. }) => {}
        other => panic!("{other:?}"),
    }
}
