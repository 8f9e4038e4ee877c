//! Contexts: device, threads, memory and the choice of versions.

mod builder;
mod last_run;
mod memory;

use std::cell::RefCell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use hidp_sys::hidp_context;

use crate::device::{Copies, Device, KernelTraffic, Queue};
use crate::rt::entry::Entry;
use crate::selection::Selector;
use crate::tuning::Tuning;
use crate::{Error, Isa, Selection};

pub use builder::Builder;
use builder::supported;
pub(crate) use last_run::{Because, Decided, PlacedBy, RunNote};
pub use last_run::{LastRun, Placed, Reason, Why};

/// Device, threads and memory that calls run with, and which versions they choose.
///
/// Cheap to clone, and usable from several threads at once; clones share device, threads and memory. All work of a context and its clones
/// on a device goes into one stream: it keeps its order, and several contexts run side by side ([`Context::fork`]).
///
/// Environment variables that [`Context::new`] reads:
///
/// - `HIDP_DEVICE`: `cpu`, `cuda`, `cuda:1` or `auto`. Default: `auto`, a device if there is one that can run the program's kernels, else the
///   processor.
/// - `HIDP_THREADS`: number of threads, at most 1024. Default: all of the machine's. They are started when a context is made;
///   [`Error::Threads`] if the system cannot provide them.
/// - `HIDP_ISA`: `base`, `v2`, `v3` or `v4` (x86-64-v2, …). Default: the best of the machine.
/// - `HIDP_FORCE`: the plan that entries run, or `host` or `device` for where they run. Default: each entry's own choice.
/// - `HIDP_TUNE`: a file of tuning records that override those of the build, or `off` for no records at all.
/// - `HIDP_SELECT`: `off`, `calls`, `parts`, `calls,any` or `parts,any`: see [`Select`](crate::Select) and [`Builder::select_any_bits`]. Default: `off`.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
    isa: Isa,
    isa_forced: bool,
    plan: Option<Arc<str>>,
    tuning: Tuning,
    selector: Option<Arc<Selector>>,
}

struct Shared {
    host: Arc<Host>,
    threads: u32,
    /// Tells contexts apart, also one from another that was freed before.
    number: u64,
    device: Device,
    queue: Option<Arc<Queue>>,
    /// Whether the device was asked for, so that nothing may run elsewhere.
    strict: bool,
    /// Entries of which it was said that the processor runs them.
    told: Mutex<Vec<&'static str>>,
}

/// Threads and memory of the processor.
struct Host(NonNull<hidp_context>);

// SAFETY: the ABI says that a context is usable from several threads at once, and nothing ties it to the one that made it.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    /// Starts threads that are missing: all of them in a new context, and again in a process that was forked since.
    fn start_threads(&self) -> Result<(), Error> {
        let raw = self.0.as_ptr();
        // SAFETY: the context lives as long as `self`, and may be used from several threads.
        unsafe {
            if hidp_sys::hidp2_context_started(raw) != 0 {
                return Ok(());
            }
            let mut available = 0;
            match hidp_sys::hidp2_context_start(raw, &raw mut available) {
                0 => Ok(()),
                code => Err(Error::Threads { asked: hidp_sys::hidp2_context_threads(raw), available, code }),
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `hidp2_context_new`, and this is its only owner.
        unsafe { hidp_sys::hidp2_context_free(self.0.as_ptr()) }
    }
}

impl Context {
    /// The first device that can run all kernels of this program, else the processor, with the settings of the environment.
    /// [`Context::device`] reports which and why; so does the log.
    ///
    /// With a device, each call runs where it is predicted to finish first. A [`DeviceArray`](crate::DeviceArray) among its arguments makes
    /// that the device; for arrays in host memory the time of the copies counts. An entry without a version for devices runs on the processor.
    /// [`Context::last_run`] reports where a call ran and why.
    ///
    /// # Errors
    /// [`Error::Setting`] for an invalid environment variable, [`Error::Threads`] if the system cannot provide the threads,
    /// [`Error::Allocation`] without memory, [`Error::Device`] or [`Error::NoDevice`] if a device that was asked for fails.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }
    /// The processor, with the settings of the environment.
    pub fn cpu() -> Result<Self, Error> {
        Self::builder().cpu().build()
    }
    /// This device and no other, with the settings of the environment.
    ///
    /// Every call runs there, whatever has to be copied. An entry without a version for devices returns [`Error::NoDeviceVersion`].
    ///
    /// # Errors
    /// [`Error::NoDevice`], with the reason, if the device cannot be used; otherwise as [`Context::new`].
    pub fn cuda(ordinal: u32) -> Result<Self, Error> {
        Self::builder().cuda(ordinal).build()
    }
    /// A builder for a context. Settings that it leaves open come from the environment.
    pub fn builder() -> Builder {
        Builder::default()
    }
    /// The same threads and memory, but entries run this plan. An entry that has no such plan returns [`Error::UnknownPlan`].
    ///
    /// `host` and `device` are places rather than plans: the processor, or the context's device, runs the plan that its rules choose.
    #[must_use]
    pub fn with_plan(&self, plan: &str) -> Self {
        Self { plan: Some(plan.into()), ..self.clone() }
    }
    /// The same threads and memory, but entries run the code for this instruction set.
    ///
    /// # Errors
    /// [`Error::UnsupportedIsa`] if this machine lacks it.
    pub fn with_isa(&self, isa: Isa) -> Result<Self, Error> {
        // What is fast with one instruction set need not be with another.
        let selector = self.selector().map(|selector| Arc::new(selector.afresh()));
        Ok(Self { isa: supported(isa)?, isa_forced: true, selector, ..self.clone() })
    }
    /// Where calls run, and why there.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }
    /// Arrays and bytes copied between host and device memory since the context was made. Zero on the processor.
    pub fn copies(&self) -> Copies {
        self.queue().map_or_else(Copies::default, |queue| queue.copies())
    }
    /// Waits until the device has finished all work of this context. Returns at once on the processor.
    ///
    /// Calls return before the device has finished if none of their results are wanted on the host.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails or is lost.
    pub fn synchronize(&self) -> Result<(), Error> {
        let Some(queue) = self.queue() else { return Ok(()) };
        queue.enter()?;
        Ok(queue.synchronize()?)
    }
    /// A context with its own stream on the same device, which begins after all work of this context so far. From then on the two are
    /// unordered: their kernels and copies may overlap.
    ///
    /// Both may use the same arrays: if one of them writes an array, their streams wait for each other, but only for that array.
    /// [`Context::after`] orders everything else. Each has its own device memory, and counts its own copies; threads and memory of the
    /// processor are shared.
    ///
    /// On the processor calls have finished when they return, so nothing could overlap: then this is a clone.
    ///
    /// ```
    /// # fn main() -> hidp_std::Result {
    /// let cx = hidp_std::Context::new()?;
    /// let copies = cx.fork()?;
    /// let array = hidp_std::DeviceArray::from_host(&copies, &[1.0, 2.0])?;
    /// cx.after(&copies)?; // not needed for `array`, which knows of its copy
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Device`] if the driver has no other stream to give, or the device is lost.
    pub fn fork(&self) -> Result<Self, Error> {
        let Some(queue) = self.queue() else { return Ok(self.clone()) };
        let Shared { host, threads, device, strict, .. } = &*self.shared;
        let shared = Shared {
            host: host.clone(),
            threads: *threads,
            number: builder::next_number(),
            device: device.clone(),
            queue: Some(Arc::new(queue.fork()?)),
            strict: *strict,
            told: Mutex::default(),
        };
        log::debug!("context {} is a fork of context {}", shared.number, self.shared.number);
        Ok(Self { shared: Arc::new(shared), ..self.clone() })
    }
    /// Orders all later work of this context after all work of the other one so far.
    ///
    /// Streams wait, not the calling thread, unless the two contexts run on devices that cannot wait for each other, or this one runs on the
    /// processor: then the call returns when the other one has finished.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails, or one of the devices is lost.
    pub fn after(&self, other: &Context) -> Result<(), Error> {
        match (self.queue(), other.queue()) {
            (Some(queue), Some(other)) => Ok(queue.after(other)?),
            (None, Some(_)) => other.synchronize(),
            (Some(_) | None, None) => Ok(()),
        }
    }
    /// Number of processor threads that calls use.
    pub fn threads(&self) -> u32 {
        self.shared.threads
    }
    /// The instruction set that entries use if they were compiled for it.
    pub fn isa(&self) -> Isa {
        self.isa
    }
    /// Bytes of device memory that the context holds, in use or idle; 0 on the processor.
    pub fn device_pool_bytes(&self) -> usize {
        self.queue().map_or(0, |queue| queue.pool_bytes())
    }
    /// Bytes of host memory that the context holds for local arrays, in use or idle.
    pub fn pool_bytes(&self) -> usize {
        // SAFETY: the context lives as long as `self`.
        unsafe { hidp_sys::hidp2_pool_bytes(self.raw()) }
    }
    /// What this thread's last call with this context (or a clone of it) ran, where, and why. `None` before the first call.
    pub fn last_run(&self) -> Option<LastRun> {
        LAST_RUN.with_borrow(|last| {
            let last = last.as_ref().filter(|last| last.0 == self.shared.number);
            last.map(|(_, note, traffic)| note.told(traffic))
        })
    }

    /// The versions that calls of this context and its clones have found to be faster than the rules' choice, if they
    /// [select](crate::Select) versions. With the feature `tune`, `tune::record_selections` makes tuning records of them.
    pub fn selections(&self) -> Vec<Selection> {
        self.selector().map_or_else(Vec::new, Selector::selections)
    }

    #[cfg(test)]
    pub(crate) fn with_selector(&self, selector: Selector) -> Self {
        Self { selector: Some(Arc::new(selector)), ..self.clone() }
    }
    #[cfg(feature = "tune")]
    pub(crate) fn with_tuning(&self, tuning: Tuning) -> Self {
        Self { tuning, ..self.clone() }
    }
    /// One that the processor runs alone, with as many threads and without records.
    #[cfg(feature = "tune")]
    pub(crate) fn on_processor(&self) -> Result<Self, Error> {
        if self.queue().is_none() {
            return Ok(self.clone());
        }
        let builder = Self::builder().cpu().threads(self.threads()).tuning("off");
        if self.isa_forced { builder.isa(self.isa) } else { builder }.build()
    }
    /// Sees to it that there are threads: those of the process that this one was forked from are not here.
    pub(crate) fn start_threads(&self) -> Result<(), Error> {
        self.shared.host.start_threads()
    }
    pub(crate) fn raw(&self) -> *mut hidp_context {
        self.shared.host.0.as_ptr()
    }
    pub(crate) fn queue(&self) -> Option<&Arc<Queue>> {
        self.shared.queue.as_ref()
    }
    pub(crate) fn is_strict(&self) -> bool {
        self.shared.strict
    }
    /// Says once for each entry that the processor runs it.
    pub(crate) fn tell_of(&self, entry: &'static Entry) {
        let mut told = self.shared.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&entry.name) {
            told.push(entry.name);
            log::warn!("{} has no version for {}: the processor runs it", entry.name, self.device().name());
        }
    }
    /// `traffic` is what was counted of a call on a device.
    pub(crate) fn note_run(&self, run: &RunNote, traffic: Option<Vec<KernelTraffic>>) {
        log::trace!(target: "hidp", "{}", run.told(&[]));
        LAST_RUN.with_borrow_mut(|last| {
            // Where there is one, its parts are written in place: a whole one is moved there twice.
            if let Some((number, note, counted)) = last {
                (*number, *note) = (self.shared.number, *run);
                if traffic.is_some() || !counted.is_empty() {
                    *counted = traffic.unwrap_or_default();
                }
            } else {
                *last = Some((self.shared.number, *run, traffic.unwrap_or_default()));
            }
        });
    }

    pub(crate) fn plan(&self) -> Option<&str> {
        self.plan.as_deref()
    }
    pub(crate) fn tuning(&self) -> Tuning {
        self.tuning
    }
    pub(crate) fn selector(&self) -> Option<&Selector> {
        self.selector.as_deref()
    }
    pub(crate) fn isa_forced(&self) -> bool {
        self.isa_forced
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.device().name())
            .field("threads", &self.threads())
            .field("isa", &self.isa)
            .field("plan", &self.plan)
            .finish()
    }
}

thread_local! {
    static LAST_RUN: RefCell<Option<(u64, RunNote, Vec<KernelTraffic>)>> = const { RefCell::new(None) };
}
