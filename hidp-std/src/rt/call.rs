//! Calling an entry.

use std::ffi::c_void;

use hidp_sys::{HIDP_OK, hidp_call, hidp_fault};

use super::args::Arg;
use super::bind::bind;
use super::choose::{Choice, choose};
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
    unsafe { run(cx, entry, choose(cx, entry, &args, &dims)?, &params, &dims) }
}

/// A call whose entry is known only while the program runs.
#[cfg(feature = "tune")]
pub(crate) struct Dynamic<'a> {
    entry: &'static Entry,
    args: Vec<Arg<'a>>,
    params: Vec<*mut c_void>,
    dims: Vec<i64>,
}

#[cfg(feature = "tune")]
impl<'a> Dynamic<'a> {
    /// Binds the dimensions and checks the shapes.
    pub(crate) fn new(entry: &'static Entry, args: Vec<Arg<'a>>) -> Result<Self, Error> {
        let mut dims = vec![0; entry.dims.len()];
        bind(entry, &args, &mut dims)?;
        Ok(Self { entry, params: args.iter().map(|arg| arg.address).collect(), args, dims })
    }
    /// Position of the version that the context chooses.
    pub(crate) fn chosen(&self, cx: &Context) -> Result<usize, Error> {
        let choice = choose(cx, self.entry, &self.args, &self.dims)?;
        let same = |version: &super::entry::Version| std::ptr::eq(version, choice.version);
        Ok(self.entry.versions.iter().position(same).unwrap_or(0))
    }
    /// Values of the entry's measures.
    pub(crate) fn measures(&self) -> [i64; super::entry::MOST_MEASURES] {
        super::choose::measure(self.entry, &self.args, &self.dims)
    }
    /// Runs version number `version` with these settings.
    ///
    /// # Safety
    /// As [`call`].
    pub(crate) unsafe fn run_as(
        &self,
        cx: &Context,
        version: usize,
        settings: super::entry::Settings,
    ) -> Result<(), Error> {
        let choice = super::choose::forced(cx, self.entry, version, settings)?;
        // SAFETY: the caller's promise; `new` bound the dimensions.
        unsafe { run(cx, self.entry, choice, &self.params, &self.dims) }
    }
}

/// The extents of parameter number `param` for these dimensions, and these scalars among `args`.
#[cfg(feature = "tune")]
pub(crate) fn shape_of(entry: &Entry, param: usize, args: &[Arg<'_>], dims: &[i64]) -> Option<Vec<usize>> {
    use super::extent::{Evaluator, Extent};
    let extent = |program: &&[super::entry::Op]| match (Evaluator { args, dims, unknown: None }).extent(program) {
        Extent::Linear { scale: 0, offset } => usize::try_from(offset).ok(),
        Extent::Linear { .. } | Extent::Open | Extent::Undefined => None,
    };
    entry.params.get(param)?.shape.iter().map(extent).collect()
}

/// # Safety
/// As [`call`], and `dims` are the entry's dimensions, agreeing with the arrays at `params`.
unsafe fn run(
    cx: &Context,
    entry: &'static Entry,
    choice: Choice,
    params: &[*mut c_void],
    dims: &[i64],
) -> Result<(), Error> {
    let mut call = hidp_call {
        context: cx.raw(),
        device: std::ptr::null(),
        params: params.as_ptr(),
        dims: dims.as_ptr(),
        fault: hidp_fault { site: 0, count: 0, values: [0; 4] },
        tunables: choice.settings.raw(),
    };
    // SAFETY: the caller's promise. This machine has the instruction set: `choose` saw to it.
    let status = unsafe { (choice.code.function)(&raw mut call) };
    cx.note_run(LastRun {
        entry: entry.name,
        plan: choice.version.plan,
        isa: choice.code.isa,
        threads: choice.settings.threads(cx.threads()),
        why: choice.why,
    });
    if status == HIDP_OK as i32 { Ok(()) } else { Err(Error::Fault(Fault::new(entry, call.fault))) }
}
