//! An entry with versions for the processor and for devices, as `hidp-build` generates it, over functions written in Rust.
//!
//! Safe to call because its table says what its functions do with which parameter.
#![allow(clippy::undocumented_unsafe_blocks)] // the sentence above, at each of them

use std::ffi::c_void;

use hidp_sys::{hidp_call, hidp_device};

use crate::rt::entry::{
    Bound, Code, Codes, Condition, Dispatch, Elem, Entry, Measure, Op, Param, Rule, Settings, Site, Version,
};
use crate::rt::{Arg, Array, call};
use crate::{Context, Error, Isa, View, ViewMut};

// y[i] = a * x[i] + b[i], and w = y * 2; faults where x is negative.

unsafe fn device<'a>(call: *mut hidp_call) -> Option<&'a hidp_device> {
    unsafe { (*call).device.as_ref() }
}

unsafe fn run(call: *mut hidp_call, factor: f32) -> i32 {
    unsafe {
        let n = usize::try_from(*(*call).dims).unwrap();
        let at = |number: usize| (*(*call).params.add(number)).cast::<f32>();
        let a = *at(0);
        let (x, b) = (std::slice::from_raw_parts(at(1), n), std::slice::from_raw_parts(at(2), n));
        let (y, w) = (std::slice::from_raw_parts_mut(at(3), n), std::slice::from_raw_parts_mut(at(4), n));
        for i in 0..n {
            if x[i] < 0.0 {
                (*call).fault = hidp_sys::hidp_fault { site: 0, count: 1, values: [i as i64, 0, 0, 0] };
                return 1;
            }
            if x[i] > 1e9 {
                (*call).fault.values[0] = 719;
                return 2;
            }
            y[i] += factor * a * x[i] + b[i];
            w[i] = 2.0 * y[i];
        }
        0
    }
}

unsafe extern "C" fn rows(call: *mut hidp_call) -> i32 {
    unsafe {
        assert!(device(call).is_none());
        run(call, 1.0)
    }
}
unsafe extern "C" fn thread(call: *mut hidp_call) -> i32 {
    unsafe { on_device(call, 1.0) }
}
unsafe extern "C" fn warp(call: *mut hidp_call) -> i32 {
    unsafe { on_device(call, 10.0) }
}
/// Takes memory of all kinds, as generated code does.
unsafe fn on_device(call: *mut hidp_call, factor: f32) -> i32 {
    unsafe {
        let device = device(call).expect("a device");
        assert_eq!((device.multiprocessors, device.threads_per_multiprocessor), (2, 256));
        assert!((0..2).contains(&device.ordinal));
        for (take, give) in [(device.take, device.give), (device.take_pinned, device.give_pinned)] {
            let (take, give) = (take.unwrap(), give.unwrap());
            let blocks: Vec<*mut c_void> = [0, 1, 5000].map(|bytes| take(device.state, bytes)).into();
            assert!(blocks.iter().all(|block| block.addr().is_multiple_of(64)));
            let is_full = blocks.iter().any(|block| block.is_null());
            blocks.into_iter().filter(|block| !block.is_null()).for_each(|block| give(device.state, block));
            if is_full {
                (*call).fault.values[0] = 2;
                return 2;
            }
        }
        assert!(device.take.unwrap()(device.state, usize::MAX).is_null());
        run(call, factor)
    }
}

const fn scalar(name: &'static str) -> Param {
    Param { name, reads: true, writes: false, elem: Elem::F32, positions: false, shape: &[], shape_text: &[] }
}
const fn vector(name: &'static str, reads: bool, writes: bool) -> Param {
    Param { reads, writes, shape: &[&[Op::Dim(0)]], shape_text: &["N"], ..scalar(name) }
}

const ROWS: Version = Version { plan: "rows", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: rows }]) };
const THREAD: Version = Version { plan: "thread", hash: "", code: Codes::Device(thread) };
const WARP: Version = Version { plan: "warp", hash: "", code: Codes::Device(warp) };

const PARAMS: &[Param] = &[
    scalar("_a"),
    vector("x", true, false),
    vector("b", true, false),
    vector("y", true, true),
    vector("w", false, true),
];
const RULES: &[Rule] = &[
    Rule {
        conditions: &[Condition { measure: 0, least: true, bound: Bound::PerThread(1) }],
        version: 2,
        settings: Settings::USUAL,
    },
    Rule { conditions: &[], version: 0, settings: Settings::USUAL },
    Rule { conditions: &[], version: 1, settings: Settings::USUAL },
];

pub(crate) static AXPY: Entry = Entry {
    name: "axpy::axpy",
    params: PARAMS,
    dims: &["N"],
    versions: &[ROWS, THREAD, WARP],
    dispatch: Dispatch {
        measures: &[Measure { name: "parallel", program: &[Op::Dim(0)] }],
        rules: RULES,
        ..Dispatch::NONE
    },
    sites: &[Site { file: "axpy.hdp", line: 3, column: 7, text: "x[i]", kind: 1, names: &["i"] }],
};
pub(super) static CPU_ONLY: Entry = Entry { versions: &[ROWS], dispatch: Dispatch::NONE, ..AXPY };

pub(super) fn axpy_of(
    entry: &'static Entry,
    cx: &Context,
    a: f32,
    x: &(impl View<f32, 1> + ?Sized),
    b: &(impl View<f32, 1> + ?Sized),
    y: &mut (impl ViewMut<f32, 1> + ?Sized),
    w: &mut (impl ViewMut<f32, 1> + ?Sized),
) -> Result<(), Error> {
    let x = Array::input(entry, 1, x)?;
    let b = Array::input(entry, 2, b)?;
    let y = Array::output(entry, 3, y)?;
    let w = Array::output(entry, 4, w)?;
    // SAFETY: the table says what the functions do.
    unsafe { call::<5, 1>(cx, entry, [Arg::scalar(&a), x.arg(), b.arg(), y.arg(), w.arg()]) }
}

pub(super) fn axpy(
    cx: &Context,
    x: &(impl View<f32, 1> + ?Sized),
    b: &(impl View<f32, 1> + ?Sized),
    y: &mut (impl ViewMut<f32, 1> + ?Sized),
    w: &mut (impl ViewMut<f32, 1> + ?Sized),
) -> Result<(), Error> {
    axpy_of(&AXPY, cx, 2.0, x, b, y, w)
}
