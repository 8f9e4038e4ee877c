//! Calling an entry.

use std::ffi::c_void;

use hidp_sys::{HIDP_DEVICE_ERROR, HIDP_OK, hidp_call, hidp_fault};

use super::args::Arg;
use super::bind::bind;
use super::choose::{Choice, choose, instead_of, replaceable, select};
use super::entry::{Entry, MOST_MEASURES};
use super::measures::Values;
use super::on_host::OnHost;
use super::on_queue::{OnQueue, copies};
use super::parts::Cut;
use crate::context::RunNote;
use crate::device::{Copies, Queue};
use crate::selection::{Call, Next, Turn};
use crate::{Context, Error, Fault, Isa, Selected};

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
    bind(entry, &args, &mut dims[..entry.dims.len()])?;
    let mut values = Values::new(entry, &args, &dims);
    let choice = choose(cx, entry, &args, &mut values)?;
    let chosen = Chosen { choice, values: values.found() };
    let mut room = [[std::ptr::null_mut(); 2]; N];
    // SAFETY: the caller's promise; the dimensions are bound and agree with the shapes.
    unsafe { run(cx, entry, &chosen, &args, &params, &mut dims, room.as_flattened_mut()) }
}

/// A call whose entry is known only while the program runs, for tools.
#[cfg(feature = "tune")]
#[derive(Debug)]
pub struct Dynamic<'a> {
    entry: &'static Entry,
    args: Vec<Arg<'a>>,
    params: Vec<*mut c_void>,
    dims: Vec<i64>,
}

#[cfg(feature = "tune")]
impl<'a> Dynamic<'a> {
    /// Binds the dimensions and checks the shapes.
    pub fn new(entry: &'static Entry, args: Vec<Arg<'a>>) -> Result<Self, Error> {
        let mut dims = vec![0; entry.dims.len() + entry.dispatch.settings.len()];
        bind(entry, &args, &mut dims[..entry.dims.len()])?;
        Ok(Self { entry, params: args.iter().map(|arg| arg.address).collect(), args, dims })
    }
    /// Runs the version that the context chooses.
    ///
    /// # Safety
    /// As [`call`].
    pub unsafe fn run(&self, cx: &Context) -> Result<(), Error> {
        let chosen = self.choose(cx)?;
        // SAFETY: the caller's promise.
        unsafe { self.run_choice(cx, &chosen) }
    }
    /// Position of the version that the context chooses.
    pub(crate) fn chosen(&self, cx: &Context) -> Result<usize, Error> {
        let choice = self.choose(cx)?.choice;
        let same = |version: &super::entry::Version| std::ptr::eq(version, choice.version);
        Ok(self.entry.versions.iter().position(same).unwrap_or(0))
    }
    /// Whether the processor runs it in this context.
    pub(crate) fn is_for_processor(&self, cx: &Context) -> Result<bool, Error> {
        Ok(self.choose(cx)?.choice.isa.is_some())
    }
    /// Values of the entry's measures; of those for devices too if they are wanted.
    pub(crate) fn measures(&self, for_devices: bool) -> [i64; MOST_MEASURES] {
        super::measures::measure(self.entry, &self.args, &self.dims, for_devices)
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
        let values = Values::new(self.entry, &self.args, &self.dims).found();
        // SAFETY: the caller's promise.
        unsafe { self.run_choice(cx, &Chosen { choice, values }) }
    }
    fn choose(&self, cx: &Context) -> Result<Chosen, Error> {
        let mut values = Values::new(self.entry, &self.args, &self.dims);
        let choice = choose(cx, self.entry, &self.args, &mut values)?;
        Ok(Chosen { choice, values: values.found() })
    }
    /// # Safety
    /// As [`call`].
    unsafe fn run_choice(&self, cx: &Context, chosen: &Chosen) -> Result<(), Error> {
        let places = if cx.queue().is_some() { 2 * self.args.len() } else { 0 };
        let mut room = vec![std::ptr::null_mut(); places];
        let mut dims = self.dims.clone();
        // SAFETY: the caller's promise; `new` bound the dimensions.
        unsafe { run(cx, self.entry, chosen, &self.args, &self.params, &mut dims, &mut room) }
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

/// A choice, and the values of measures that it rests on.
struct Chosen {
    choice: Choice,
    values: [i64; MOST_MEASURES],
}

/// # Safety
/// As [`call`], and `dims` are the entry's dimensions, agreeing with the arrays at `params`, and places for its settings. `room` has two places a parameter if the
/// context has a device.
unsafe fn run(
    cx: &Context,
    entry: &'static Entry,
    chosen: &Chosen,
    args: &[Arg<'_>],
    params: &[*mut c_void],
    dims: &mut [i64],
    room: &mut [*mut c_void],
) -> Result<(), Error> {
    let count = entry.dims.len();
    let Some(selector) = cx.selector() else {
        chosen.choice.settings.write(entry, &mut dims[count..]);
        // SAFETY: the caller's promise.
        return unsafe { run_chosen(cx, entry, chosen, args, params, dims, room) };
    };
    let usual = replaceable(entry, &chosen.choice);
    let others = |any_bits| usual.map_or_else(Vec::new, |usual| instead_of(cx, entry, usual, any_bits));
    let (values, settings) = (chosen.values, chosen.choice.settings);
    let cut = usual.filter(|_| selector.cuts_calls()).and_then(|_| Cut::of(cx, entry, args, &dims[..count]));
    let call = usual.map(|usual| {
        let (usual, can_be_cut, dims) = ((usual, settings), cut.is_some(), &dims[..count]);
        Call { entry, usual, others: &others, values, can_be_cut, dims }
    });
    let (turn, other) = selector.begin(call);
    if let Some(cut) = cut.filter(|_| turn.is_in_parts()) {
        // SAFETY: the caller's promise.
        return unsafe { run_in_parts(cx, entry, (chosen, &cut), args, dims, (turn, other)) };
    }
    let other = other.map(|other| select(cx, entry, &chosen.choice, other)).transpose()?;
    let other = other.map(|choice| Chosen { choice, values });
    let taken = other.as_ref().unwrap_or(chosen);
    taken.choice.settings.write(entry, &mut dims[count..]);
    // SAFETY: the caller's promise; what is selected has code for this machine.
    let result = unsafe { run_chosen(cx, entry, taken, args, params, dims, room) };
    turn.has_run(result.is_ok());
    result
}

/// Runs parts in versions that are compared, in the order of the rows, and what is left in the one that was found.
///
/// # Safety
/// As [`run`], of a call that the processor runs on arrays in its memory.
unsafe fn run_in_parts(
    cx: &Context,
    entry: &'static Entry,
    (chosen, cut): (&Chosen, &Cut),
    args: &[Arg<'_>],
    dims: &mut [i64],
    (mut turn, mut other): (Turn<'_>, Option<(usize, Selected)>),
) -> Result<(), Error> {
    let mut params: Vec<*mut c_void> = args.iter().map(|arg| arg.address).collect();
    let mut run = |other: Option<(usize, Selected)>, rows: (i64, i64)| {
        let other = other.map(|other| select(cx, entry, &chosen.choice, other)).transpose()?;
        let other = other.map(|choice| Chosen { choice, values: chosen.values });
        let taken = other.as_ref().unwrap_or(chosen);
        cut.narrow(args, rows, dims, &mut params);
        taken.choice.settings.write(entry, &mut dims[entry.dims.len()..]);
        // SAFETY: the caller's promise: the rows are some of those of the arrays.
        unsafe { run_chosen(cx, entry, taken, args, &params, dims, &mut []) }
    };
    let mut from = 0;
    let mut repeated = 0;
    if cut.repeats() && turn.part().0 > 0 {
        from = turn.part().0;
        run(None, (0, from))?;
        turn.begin_again();
    }
    loop {
        let length = cut.length * i64::from(turn.part().1);
        if cut.rows - from < length {
            turn.is_at_end();
            other = None;
            break;
        }
        let end = from + length;
        if let Err(error) = run(other, (from, length)) {
            turn.has_run(false);
            return Err(error);
        }
        match turn.part_has_run(end, !cut.repeats() || repeated + length <= cut.most_repeated()) {
            Next::Again(next) if cut.repeats() => (other, repeated) = (next, repeated + length),
            Next::Again(next) | Next::Part(next) => (from, other) = (end, next),
            Next::Rest(next) => {
                (from, other) = (end, next);
                break;
            }
        }
    }
    let result = if from < cut.rows { run(other, (from, cut.rows - from)) } else { Ok(()) };
    turn.has_run(result.is_ok());
    result
}

/// # Safety
/// As [`run`].
unsafe fn run_chosen(
    cx: &Context,
    entry: &'static Entry,
    chosen: &Chosen,
    args: &[Arg<'_>],
    params: &[*mut c_void],
    dims: &[i64],
    room: &mut [*mut c_void],
) -> Result<(), Error> {
    let choice = &chosen.choice;
    let device = if choice.isa.is_none() { cx.queue() } else { None };
    let mut note = RunNote {
        entry,
        version: choice.version,
        device: device.and(cx.device().ordinal()),
        instead_of: cx.device().ordinal().filter(|_| choice.placed.is_instead()),
        placed: choice.placed,
        copied: device.map_or_else(Copies::default, |_| copies(entry, args)),
        isa: choice.isa.unwrap_or(Isa::Base),
        threads: device.map_or(choice.settings.threads(cx.threads()), |queue| queue.facts().threads()),
        ran: 0,
        why: choice.why,
        values: chosen.values,
    };
    let Some(queue) = device else {
        cx.start_threads()?;
        let mut run = |params: &[*mut c_void]| {
            // SAFETY: the caller's promise. This machine has the instruction set: `choose` saw to it.
            let (status, call) = unsafe {
                // Calls that the entry makes in turn count for themselves alone.
                let outer = hidp_sys::hidp2_threads_ran(1);
                let (status, call) = enter(cx, choice, None, params, dims);
                note.ran = hidp_sys::hidp2_threads_ran(outer);
                (status, call)
            };
            cx.note_run(&note, None);
            if status == HIDP_OK as i32 { Ok(()) } else { Err(Error::Fault(Fault::new(entry, call.fault))) }
        };
        if args.iter().all(|arg| arg.away.is_none()) {
            return run(params);
        }
        let host = OnHost::bind(entry, args)?;
        run(host.addresses())?;
        host.bring_back();
        return Ok(());
    };
    let (addresses, blocks) = room.split_at_mut(args.len());
    let bound = OnQueue::bind(queue, entry, args, addresses, blocks)?;
    // SAFETY: as above; the arrays are on the device, whose code this is.
    let (status, call, traffic) = unsafe {
        // No other call comes in between.
        let _turn = queue.driver().turn();
        let (status, call) = enter(cx, choice, Some(queue), bound.addresses(), dims);
        (status, call, queue.driver().counts())
    };
    cx.note_run(&note, traffic);
    let noted = bound.has_run(status == HIDP_OK as i32);
    match status {
        status if status == HIDP_OK as i32 => noted.and_then(|()| bound.bring_back()),
        status if status == HIDP_DEVICE_ERROR as i32 => {
            let code = i32::try_from(call.fault.values[0]).unwrap_or(i32::MAX);
            Err(Error::Device(queue.failed_with(code)))
        }
        _ => Err(Error::Fault(Fault::new(entry, call.fault))),
    }
}

/// # Safety
/// As [`run`]; this machine, or the device, has what the chosen code needs.
unsafe fn enter(
    cx: &Context,
    choice: &Choice,
    queue: Option<&Queue>,
    params: &[*mut c_void],
    dims: &[i64],
) -> (i32, hidp_call) {
    let device = queue.map(Queue::raw);
    let mut call = hidp_call {
        context: cx.raw(),
        device: device.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
        params: params.as_ptr(),
        dims: dims.as_ptr(),
        fault: hidp_fault { site: 0, count: 0, values: [0; 4] },
        tunables: choice.settings.raw(),
    };
    // SAFETY: the caller's promise.
    let status = unsafe {
        match queue {
            Some(queue) => queue.driver().call(choice.function, &mut call),
            None => (choice.function)(&raw mut call),
        }
    };
    (status, call)
}
