//! Entries written by hand, as `hidp-build` generates them, over functions written in Rust.
//!
//! Safe to call because each entry's table says what its function does with which parameter.
#![allow(dead_code)] // not every test uses every entry
#![allow(unreachable_pub)] // a module of tests
#![allow(clippy::undocumented_unsafe_blocks)] // the sentence above, at each of them

use std::sync::atomic::{AtomicI32, Ordering};

use hidp_std::rt::entry::{Code, Codes, Dispatch, Elem, Entry, Op, Param, Site, Version};
use hidp_std::rt::{Arg, Array, call, hidp_call};
use hidp_std::{Context, Error, Isa, View, ViewMut};

/// Parameter `number` of a call.
unsafe fn param<'a, T>(call: *mut hidp_call, number: usize, len: i64) -> &'a mut [T] {
    unsafe { std::slice::from_raw_parts_mut((*(*call).params.add(number)).cast(), len as usize) }
}

unsafe fn dim(call: *mut hidp_call, number: usize) -> i64 {
    unsafe { *(*call).dims.add(number) }
}

unsafe fn fault(call: *mut hidp_call, site: u32, values: &[i64]) -> i32 {
    unsafe {
        (*call).fault.site = site;
        (*call).fault.count = values.len() as u32;
        (&mut (*call).fault.values)[..values.len()].copy_from_slice(values);
    }
    1
}

const fn param_row(name: &'static str, writes: bool) -> Param {
    Param { name, reads: true, writes, elem: Elem::Other, positions: false, shape: &[], shape_text: &[] }
}

// y[i] = a * x[cols[i]]; faults at an index outside x.

unsafe extern "C" fn gather_plain(call: *mut hidp_call) -> i32 {
    unsafe { gather_any(call, 1.0) }
}
unsafe extern "C" fn gather_twice(call: *mut hidp_call) -> i32 {
    unsafe { gather_any(call, 2.0) }
}
unsafe fn gather_any(call: *mut hidp_call, factor: f32) -> i32 {
    unsafe {
        let (n, z) = (dim(call, 0), dim(call, 1));
        let a = param::<f32>(call, 0, 1)[0];
        let (x, cols) = (param::<f32>(call, 1, n), param::<i32>(call, 2, z));
        let y = param::<f32>(call, 3, z);
        // An empty array has a readable element 0, aligned for vectors.
        assert_eq!(*param::<f32>(call, 1, 1).as_ptr(), if n == 0 { 0.0 } else { x[0] });
        for (y, &col) in y.iter_mut().zip(&*cols) {
            let Some(&x) = usize::try_from(col).ok().and_then(|col| x.get(col)) else {
                return fault(call, 0, &[col.into(), n, 0]);
            };
            *y = factor * a * x;
        }
        0
    }
}

static GATHER: Entry = Entry {
    name: "gather::Gather",
    params: &[
        param_row("_a", false),
        Param { shape: &[&[Op::Dim(0)]], shape_text: &["N"], ..param_row("x", false) },
        Param { shape: &[&[Op::Dim(1)]], shape_text: &["Z"], ..param_row("cols", false) },
        Param { shape: &[&[Op::Dim(1)]], shape_text: &["Z"], ..param_row("y", true) },
    ],
    dims: &["N", "Z"],
    versions: &[
        Version {
            plan: "rows",
            hash: "",
            code: Codes::Cpu(&[
                Code { isa: Isa::V3, function: gather_plain },
                Code { isa: Isa::Base, function: gather_plain },
            ]),
        },
        Version { plan: "twice", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: gather_twice }]) },
    ],
    dispatch: Dispatch::NONE,
    sites: &[Site {
        file: "kernels/gather.hdp",
        line: 4,
        column: 12,
        text: "x[cols[i]]",
        kind: 1,
        names: &["cols[i]", "", ""],
    }],
};

pub fn gather(
    cx: &Context,
    a: f32,
    x: &(impl View<f32, 1> + ?Sized),
    cols: &(impl View<i32, 1> + ?Sized),
    y: &mut (impl ViewMut<f32, 1> + ?Sized),
) -> Result<(), Error> {
    let x = Array::input(&GATHER, 1, x)?;
    let cols = Array::input(&GATHER, 2, cols)?;
    let y = Array::output(&GATHER, 3, y)?;
    unsafe { call::<4, 2>(cx, &GATHER, [Arg::scalar(&a), x.arg(), cols.arg(), y.arg()]) }
}

// sums[r] = sum of vals[ptr[r]..ptr[r+1]], with `R` bound by `ptr[R+1]` and, if asked for, by `sums[R]`.

unsafe extern "C" fn shapes(call: *mut hidp_call) -> i32 {
    unsafe {
        for number in 0..3 {
            param::<i64>(call, 3, 3)[number] = dim(call, number);
        }
    }
    0
}

static SHAPES: Entry = Entry {
    name: "shapes::shapes",
    params: &[
        Param { shape: &[&[Op::Dim(0), Op::Const(1), Op::Add]], shape_text: &["R+1"], ..param_row("rowptr", false) },
        Param {
            shape: &[&[Op::Dim(1)], &[Op::Const(2), Op::Dim(2), Op::Mul, Op::Dim(1), Op::Sub]],
            shape_text: &["M", "2*Q-M"],
            ..param_row("a", false)
        },
        param_row("_k", false),
        Param { shape: &[&[Op::Scalar(2)]], shape_text: &["_k"], ..param_row("out", true) },
    ],
    dims: &["R", "M", "Q"],
    versions: &[Version { plan: "serial", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: shapes }]) }],
    dispatch: Dispatch::NONE,
    sites: &[],
};

/// Writes the values of R, M, Q.
pub fn shapes_of(
    cx: &Context,
    rowptr: &(impl View<i32, 1> + ?Sized),
    a: &(impl View<f64, 2> + ?Sized),
    k: u64,
    out: &mut (impl ViewMut<i64, 1> + ?Sized),
) -> Result<(), Error> {
    let rowptr = Array::input(&SHAPES, 0, rowptr)?;
    let a = Array::input(&SHAPES, 1, a)?;
    let out = Array::output(&SHAPES, 3, out)?;
    unsafe { call::<4, 3>(cx, &SHAPES, [rowptr.arg(), a.arg(), Arg::size(&k), out.arg()]) }
}

// C = C + A B

unsafe extern "C" fn gemm_serial(call: *mut hidp_call) -> i32 {
    unsafe {
        let (m, k, n) = (dim(call, 0), dim(call, 1), dim(call, 2));
        let (a, b, c) = (param::<f32>(call, 0, m * k), param::<f32>(call, 1, k * n), param::<f32>(call, 2, m * n));
        for (i, c) in c.iter_mut().enumerate() {
            let (row, column) = (i / n as usize, i % n as usize);
            *c += (0..k as usize).map(|t| a[row * k as usize + t] * b[t * n as usize + column]).sum::<f32>();
        }
    }
    0
}

static GEMM: Entry = Entry {
    name: "gemm::GEMM",
    params: &[
        Param { shape: &[&[Op::Dim(0)], &[Op::Dim(1)]], shape_text: &["M", "K"], ..param_row("A", false) },
        Param { shape: &[&[Op::Dim(1)], &[Op::Dim(2)]], shape_text: &["K", "N"], ..param_row("B", false) },
        Param { shape: &[&[Op::Dim(0)], &[Op::Dim(2)]], shape_text: &["M", "N"], ..param_row("C", true) },
    ],
    dims: &["M", "K", "N"],
    versions: &[Version {
        plan: "serial",
        hash: "",
        code: Codes::Cpu(&[Code { isa: Isa::Base, function: gemm_serial }]),
    }],
    dispatch: Dispatch::NONE,
    sites: &[],
};

pub fn gemm(
    cx: &Context,
    a: &(impl View<f32, 2> + ?Sized),
    b: &(impl View<f32, 2> + ?Sized),
    c: &mut (impl ViewMut<f32, 2> + ?Sized),
) -> Result<(), Error> {
    let a = Array::input(&GEMM, 0, a)?;
    let b = Array::input(&GEMM, 1, b)?;
    let c = Array::output(&GEMM, 2, c)?;
    unsafe { call::<3, 3>(cx, &GEMM, [a.arg(), b.arg(), c.arg()]) }
}

// y += a * x, on the processor and on a device whose memory is the host's; faults at a negative x.

unsafe extern "C" fn axpy_rows(call: *mut hidp_call) -> i32 {
    unsafe {
        assert!((*call).device.is_null());
        axpy_any(call)
    }
}
unsafe extern "C" fn axpy_thread(call: *mut hidp_call) -> i32 {
    unsafe {
        let device = (*call).device.as_ref().expect("a device");
        let block = device.take.expect("never null")(device.state, 1000);
        if block.is_null() {
            return device_error(call, 2);
        }
        assert!(block.addr().is_multiple_of(256));
        let pinned = device.take_pinned.expect("never null")(device.state, 100);
        if !pinned.is_null() {
            device.give_pinned.expect("never null")(device.state, pinned);
        }
        device.give.expect("never null")(device.state, block);
        let code = LAUNCH_FAILS.load(Ordering::Relaxed);
        match (code, pinned.is_null()) {
            (0, false) => axpy_any(call),
            (0, true) => device_error(call, 2),
            (code, _) => device_error(call, code),
        }
    }
}

/// What the launches of [`axpy`] on a device end with, unless 0: a `cudaError_t`.
pub static LAUNCH_FAILS: AtomicI32 = AtomicI32::new(0);

unsafe fn device_error(call: *mut hidp_call, code: i32) -> i32 {
    unsafe { (*call).fault.values[0] = code.into() };
    hidp_sys::HIDP_DEVICE_ERROR as i32
}

unsafe fn axpy_any(call: *mut hidp_call) -> i32 {
    unsafe {
        let n = dim(call, 0);
        let (a, x, y) = (param::<f32>(call, 0, 1)[0], param::<f32>(call, 1, n), param::<f32>(call, 2, n));
        for (i, (y, &mut x)) in y.iter_mut().zip(x).enumerate() {
            if x < 0.0 {
                return fault(call, 0, &[i as i64, 0, 0]);
            }
            *y += a * x;
        }
        0
    }
}

static AXPY: Entry = Entry {
    name: "axpy::axpy",
    params: &[
        param_row("_a", false),
        Param { shape: &[&[Op::Dim(0)]], shape_text: &["N"], ..param_row("x", false) },
        Param { shape: &[&[Op::Dim(0)]], shape_text: &["N"], ..param_row("y", true) },
    ],
    dims: &["N"],
    versions: &[
        Version { plan: "rows", hash: "", code: Codes::Cpu(&[Code { isa: Isa::Base, function: axpy_rows }]) },
        Version { plan: "thread", hash: "", code: Codes::Device(axpy_thread) },
    ],
    dispatch: Dispatch::NONE,
    sites: &[Site { file: "axpy.hdp", line: 3, column: 7, text: "x[i]", kind: 1, names: &["i", "", ""] }],
};

pub fn axpy(
    cx: &Context,
    a: f32,
    x: &(impl View<f32, 1> + ?Sized),
    y: &mut (impl ViewMut<f32, 1> + ?Sized),
) -> Result<(), Error> {
    let x = Array::input(&AXPY, 1, x)?;
    let y = Array::output(&AXPY, 2, y)?;
    unsafe { call::<3, 1>(cx, &AXPY, [Arg::scalar(&a), x.arg(), y.arg()]) }
}

/// What the constructor of an object file of device code does.
pub fn add_device_code(architectures: &'static [i32]) {
    let code = hidp_sys::hidp_device_code {
        architectures: architectures.as_ptr(),
        count: architectures.len() as i32,
        toolkit: 13000,
        next: std::ptr::null_mut(),
    };
    unsafe { hidp_sys::hidp2_device_code_add(Box::leak(Box::new(code))) }
}
