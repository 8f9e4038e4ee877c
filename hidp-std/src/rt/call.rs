//! Calling an entry.

use std::ffi::c_void;

use hidp_sys::{HIDP_OK, hidp_call, hidp_fault};

use super::args::Arg;
use super::bind::bind;
use super::choose::choose;
use super::entry::Entry;
use crate::{Context, Error, Fault, LastRun};

/// Binds the dimensions, checks the shapes, chooses a version and runs it. Allocates nothing unless it fails.
///
/// # Safety
/// `entry` describes its functions truly, `args` has one argument for each of its parameters, made from values of the
/// parameter's type and rank, by a `mut` constructor if the entry writes it.
pub unsafe fn call<const N: usize, const D: usize>(
    cx: &Context,
    entry: &'static Entry,
    args: [Arg<'_>; N],
) -> Result<(), Error> {
    let mut dims = [0; D];
    let params = args.each_ref().map(|arg| arg.address);
    bind(entry, &args, &mut dims)?;
    // SAFETY: the caller's promise; the dimensions are bound and agree with the shapes.
    unsafe { run(cx, entry, &args, &params, &dims) }
}

/// # Safety
/// As [`call`], and `dims` are the entry's dimensions, agreeing with the arrays at `params`.
unsafe fn run(
    cx: &Context,
    entry: &'static Entry,
    args: &[Arg<'_>],
    params: &[*mut c_void],
    dims: &[i64],
) -> Result<(), Error> {
    let choice = choose(cx, entry, args, dims)?;
    let mut call = hidp_call {
        context: cx.raw(),
        params: params.as_ptr(),
        dims: dims.as_ptr(),
        fault: hidp_fault { site: 0, count: 0, values: [0; 4] },
    };
    // SAFETY: the caller's promise. This machine has the instruction set: `choose` saw to it.
    let status = unsafe { (choice.code.function)(&raw mut call) };
    cx.note_run(LastRun {
        entry: entry.name,
        plan: choice.version.plan,
        isa: choice.code.isa,
        threads: cx.threads(),
        why: choice.why,
    });
    if status == HIDP_OK as i32 { Ok(()) } else { Err(Error::Fault(Fault::new(entry, call.fault))) }
}
