//! Contexts: device, threads, memory and the choice of versions.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hidp_sys::hidp_context;

use crate::device::{Asked, Copies, Device, Machine, Queue};
use crate::rt::entry::{Entry, MOST_MEASURES, Measure, Rule};
use crate::tuning::{TuneFile, Tuning};
use crate::{Error, Isa};

/// Device, threads and memory that calls run with, and which versions they choose.
///
/// Cheap to clone, and usable from several threads at once; clones share device, threads and memory. All work of a context and its clones
/// on a device goes into one stream: it keeps its order, and several contexts run side by side.
///
/// Environment variables that [`Context::new`] reads:
///
/// - `HIDP_DEVICE`: `cpu`, `cuda` or `cuda:1`, or `auto` as if it were not set: a device if there is one that can run the program's
///   kernels, else the processor.
/// - `HIDP_THREADS`: number of threads, at most 1024; all of the machine's if it is not set.
/// - `HIDP_ISA`: `base`, `v2`, `v3` or `v4` (x86-64-v2, …); the best that the machine has if it is not set.
/// - `HIDP_FORCE`: the plan that entries run; each entry's own choice if it is not set.
/// - `HIDP_TUNE`: a file of tuning records that go before those of the build, or `off` for no records at all.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
    isa: Isa,
    isa_forced: bool,
    plan: Option<Arc<str>>,
    tuning: Tuning,
}

struct Shared {
    raw: NonNull<hidp_context>,
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

// SAFETY: the ABI says that a context is usable from several threads at once, and nothing ties it to the one that made it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `raw` came from `hidp2_context_new`, and this is its only owner.
        unsafe { hidp_sys::hidp2_context_free(self.raw.as_ptr()) }
    }
}

impl Context {
    /// The first device that can run all kernels of this program, else the processor, with the settings of the environment.
    /// [`Context::device`] says which and why; so does the log.
    ///
    /// An entry that has no version for devices runs on the processor all the same, with its arrays in the host's memory;
    /// [`Context::last_run`] and, the first time, the log say so.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }
    /// The processor, with the settings of the environment.
    pub fn cpu() -> Result<Self, Error> {
        Self::builder().cpu().build()
    }
    /// The device of this number and no other, with the settings of the environment. An error says why not.
    ///
    /// An entry that has no version for devices returns [`Error::NoDeviceVersion`].
    pub fn cuda(ordinal: u32) -> Result<Self, Error> {
        Self::builder().cuda(ordinal).build()
    }
    /// A context made to measure. What is not set there comes from the environment.
    pub fn builder() -> Builder {
        Builder::default()
    }
    /// The same threads and memory, but entries run this plan. An entry that has no such plan returns [`Error::UnknownPlan`].
    #[must_use]
    pub fn with_plan(&self, plan: &str) -> Self {
        Self { plan: Some(plan.into()), ..self.clone() }
    }
    /// The same threads and memory, but entries run the code for this instruction set.
    pub fn with_isa(&self, isa: Isa) -> Result<Self, Error> {
        Ok(Self { isa: supported(isa)?, isa_forced: true, ..self.clone() })
    }
    /// Where calls run, and why there.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }
    /// What was copied between the host's memory and the device's since the context was made. Nothing on the processor.
    pub fn copies(&self) -> Copies {
        self.queue().map_or_else(Copies::default, |queue| queue.copies())
    }
    /// Waits until the device has done all that was asked of it; at once on the processor.
    ///
    /// Calls return before the device is done where nothing that it computes is wanted on the host.
    pub fn synchronize(&self) -> Result<(), Error> {
        let Some(queue) = self.queue() else { return Ok(()) };
        queue.enter()?;
        Ok(queue.synchronize()?)
    }
    /// How many threads of the processor calls run with.
    pub fn threads(&self) -> u32 {
        self.shared.threads
    }
    /// The instruction set that is used where an entry was compiled for it.
    pub fn isa(&self) -> Isa {
        self.isa
    }
    /// Bytes of the device's memory that the context holds, in use or not; 0 on the processor.
    pub fn device_pool_bytes(&self) -> usize {
        self.queue().map_or(0, |queue| queue.pool_bytes())
    }
    /// Bytes of the host's memory that the context holds for local arrays, in use or not.
    pub fn pool_bytes(&self) -> usize {
        // SAFETY: the context lives as long as `self`.
        unsafe { hidp_sys::hidp2_pool_bytes(self.raw()) }
    }
    /// What this thread's last call with this context (or a clone of it) ran, and why that.
    pub fn last_run(&self) -> Option<LastRun> {
        LAST_RUN.get().filter(|(context, _)| *context == self.shared.number).map(|(_, run)| run)
    }

    pub(crate) fn raw(&self) -> *mut hidp_context {
        self.shared.raw.as_ptr()
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
    pub(crate) fn note_run(&self, run: LastRun) {
        LAST_RUN.set(Some((self.shared.number, run)));
    }

    pub(crate) fn plan(&self) -> Option<&str> {
        self.plan.as_deref()
    }
    pub(crate) fn tuning(&self) -> Tuning {
        self.tuning
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

/// How many contexts were made.
static CONTEXTS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static LAST_RUN: Cell<Option<(u64, LastRun)>> = const { Cell::new(None) };
}

/// What a call ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// The entry, `file::function`.
    pub entry: &'static str,
    /// The plan.
    pub plan: &'static str,
    /// The number of the device that ran it; `None` for the processor.
    pub device: Option<u32>,
    /// The number of the context's device if the processor ran the entry because it has no version for devices.
    pub instead_of: Option<u32>,
    /// The instruction set; `Base` on a device.
    pub isa: Isa,
    /// How many threads it could use.
    pub threads: u32,
    /// Why this version.
    pub why: Why,
}

impl fmt::Display for LastRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, plan, device, instead_of, isa, threads, why } = self;
        write!(f, "{entry}: plan {plan}, ")?;
        match device {
            Some(ordinal) => write!(f, "cuda:{ordinal} (")?,
            None => write!(f, "{isa}, {threads} thread{} (", if *threads == 1 { "" } else { "s" })?,
        }
        if let Some(ordinal) = instead_of {
            write!(f, "no version for cuda:{ordinal}; ")?;
        }
        write!(f, "{why})")
    }
}

/// Why a version was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The compiler prefers it, and this machine can run it.
    Preferred,
    /// The plan was asked for.
    ForcedPlan,
    /// The instruction set was asked for.
    ForcedIsa,
    /// The entry's rules looked at the sizes of the call.
    Rule(Reason),
}

/// What the rules of an entry saw, and which of them decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    pub(crate) measures: &'static [Measure],
    /// `None` if no rule held, so that the first version ran.
    pub(crate) rule: Option<&'static Rule>,
    /// -1 where nothing is known.
    pub(crate) values: [i64; MOST_MEASURES],
    pub(crate) tuned: bool,
}

impl Reason {
    /// What was measured: names and values.
    pub fn measures(&self) -> impl Iterator<Item = (&'static str, Option<i64>)> {
        let known = |value: i64| (value >= 0).then_some(value);
        self.measures.iter().zip(self.values).map(move |(measure, value)| (measure.name, known(value)))
    }
    /// Whether the rules were measured, rather than guessed by the compiler.
    pub fn tuned(&self) -> bool {
        self.tuned
    }
    /// Whether a rule held; the first version ran otherwise.
    pub fn held(&self) -> bool {
        self.rule.is_some()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tuned {
            f.write_str("tuned: ")?;
        }
        let Some(rule) = self.rule else {
            f.write_str("no rule holds")?;
            for (at, (name, value)) in self.measures().enumerate() {
                f.write_str(if at == 0 { ": " } else { ", " })?;
                match value {
                    Some(value) => write!(f, "{name} = {value}")?,
                    None => write!(f, "{name} unknown")?,
                }
            }
            return Ok(());
        };
        if rule.conditions.is_empty() {
            return write!(f, "otherwise{}", rule.settings);
        }
        for (at, condition) in rule.conditions.iter().enumerate() {
            let (name, value) = (self.measures[condition.measure].name, self.values[condition.measure]);
            let and = if at == 0 { "" } else { " and " };
            write!(f, "{and}{name} = {value} {} {}", if condition.least { ">=" } else { "<" }, condition.bound)?;
        }
        rule.settings.fmt(f)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Preferred => f.write_str("preferred"),
            Why::ForcedPlan => f.write_str("plan forced"),
            Why::ForcedIsa => f.write_str("instruction set forced"),
            Why::Rule(reason) => reason.fmt(f),
        }
    }
}

/// Makes a [`Context`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    device: Option<Asked>,
    machine: Machine,
    threads: Option<u32>,
    isa: Option<Isa>,
    plan: Option<Arc<str>>,
    tuning: Option<OsString>,
}

impl Builder {
    /// The processor runs everything.
    pub fn cpu(mut self) -> Self {
        self.device = Some(Asked::Cpu);
        self
    }
    /// A device that runs device code on the host, for tests where there is no GPU. Slow; what the code does wrong is an error of the call.
    ///
    /// Build the program with `HIDP_CUDA=simulated` to have such code. The seed says in which order blocks and threads run: 0 in order, 1
    /// backwards, others at random.
    #[cfg(feature = "simulated-device")]
    pub fn simulated(self, seed: u64) -> Self {
        let simulation = crate::device::Simulation { world: Default::default(), devices: 1, seed };
        self.on(simulation.machine()).cuda(0)
    }
    /// On a stand-in for this machine.
    #[cfg(any(test, feature = "simulated-device"))]
    pub(crate) fn on(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }
    /// The device of this number runs everything, or there is no context.
    pub fn cuda(mut self, ordinal: u32) -> Self {
        self.device = Some(Asked::Cuda(ordinal));
        self
    }
    /// Number of threads, from 1 to 1024.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }
    /// The instruction set whose code entries run.
    pub fn isa(mut self, isa: Isa) -> Self {
        self.isa = Some(isa);
        self
    }
    /// The plan that entries run.
    pub fn plan(mut self, plan: &str) -> Self {
        self.plan = Some(plan.into());
        self
    }
    /// A file of tuning records that go before those of the build, or `off` for no records at all.
    pub fn tuning(mut self, file: impl AsRef<Path>) -> Self {
        self.tuning = Some(file.as_ref().into());
        self
    }
    /// Makes it.
    pub fn build(self) -> Result<Context, Error> {
        self.build_in(|name| std::env::var_os(name))
    }

    fn build_in(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Context, Error> {
        let machine = self.machine.clone();
        let settings = self.resolve(variable)?;
        // SAFETY: takes a number; null is handled.
        let raw = unsafe { hidp_sys::hidp2_context_new(settings.threads) };
        let raw = NonNull::new(raw).ok_or(Error::Allocation)?;
        // SAFETY: made just above.
        let threads = unsafe { hidp_sys::hidp2_context_threads(raw.as_ptr()) };
        let number = CONTEXTS.fetch_add(1, Ordering::Relaxed);
        let Settings { isa, isa_forced, plan, tuning, asked, threads: _ } = settings;
        let mut shared = Shared {
            raw,
            threads,
            number,
            device: Device::processor("asked for"),
            queue: None,
            strict: matches!(asked, Asked::Cuda(_)),
            told: Mutex::default(),
        };
        (shared.device, shared.queue) = machine.open(asked)?;
        log::info!("context {number} runs on {}", shared.device);
        Ok(Context { shared: Arc::new(shared), isa, isa_forced, plan, tuning })
    }

    /// What is set here, else in the environment, else the default.
    fn resolve(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Settings, Error> {
        let read = |name: &'static str| variable(name).map(|value| value.to_string_lossy().trim().to_owned());
        let asked = self.threads.map(|threads| ("Builder::threads", threads.to_string()));
        let threads = match asked.or_else(|| Some((THREADS, read(THREADS)?))) {
            None => 0,
            Some((name, value)) => match value.parse() {
                Ok(threads @ 1..=MOST_THREADS) => threads,
                Ok(_) | Err(_) => return Err(setting(name, &value, THREADS_EXPECTED)),
            },
        };
        let isa = match (self.isa, read(ISA)) {
            (Some(isa), _) => Some(isa),
            (None, Some(value)) => Some(Isa::from_name(&value).ok_or_else(|| setting(ISA, &value, ISA_EXPECTED))?),
            (None, None) => None,
        };
        let plan = match (self.plan, read(FORCE)) {
            (Some(plan), _) => Some(plan),
            (None, Some(value)) if value.is_empty() => return Err(setting(FORCE, &value, FORCE_EXPECTED)),
            (None, Some(value)) => Some(value.into()),
            (None, None) => None,
        };
        let tuning = match self.tuning.or_else(|| variable(TUNE).filter(|value| !value.is_empty())) {
            None => Tuning::Embedded,
            Some(value) if value == "off" => Tuning::Off,
            Some(path) => Tuning::File(TuneFile::load(Path::new(&path))),
        };
        let asked = match (self.device, read(DEVICE)) {
            (Some(asked), _) => asked,
            (None, Some(value)) => Asked::read(&value).ok_or_else(|| setting(DEVICE, &value, DEVICE_EXPECTED))?,
            (None, None) => Asked::Auto,
        };
        Ok(Settings {
            asked,
            tuning,
            threads,
            isa: isa.map_or_else(|| Ok(Isa::detect()), supported)?,
            isa_forced: isa.is_some(),
            plan,
        })
    }
}

const DEVICE: &str = "HIDP_DEVICE";
const DEVICE_EXPECTED: &str = "`auto`, `cpu`, `cuda` or `cuda:<number>`";
const THREADS: &str = "HIDP_THREADS";
const THREADS_EXPECTED: &str = "a number of threads from 1 to 1024";
/// OpenMP ends the process where the system has no more threads to give.
const MOST_THREADS: u32 = 1024;
const ISA: &str = "HIDP_ISA";
const ISA_EXPECTED: &str = "`base`, `v2`, `v3` or `v4`";
const FORCE: &str = "HIDP_FORCE";
const FORCE_EXPECTED: &str = "the name of a plan";

const TUNE: &str = "HIDP_TUNE";

/// All that a context is made from. 0 threads means all.
#[derive(Debug)]
struct Settings {
    asked: Asked,
    threads: u32,
    isa: Isa,
    isa_forced: bool,
    plan: Option<Arc<str>>,
    tuning: Tuning,
}

fn setting(name: &'static str, value: &str, expected: &'static str) -> Error {
    Error::Setting { name, value: value.into(), expected }
}

fn supported(asked: Isa) -> Result<Isa, Error> {
    let detected = Isa::detect();
    if asked <= detected { Ok(asked) } else { Err(Error::UnsupportedIsa { asked, detected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(builder: Builder, variables: &[(&str, &str)]) -> Result<Settings, Error> {
        builder
            .resolve(|name| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).into()))
    }

    #[test]
    fn the_environment_is_read() {
        let settings =
            resolve(Context::builder(), &[("HIDP_THREADS", "3"), ("HIDP_ISA", "base"), ("HIDP_FORCE", "rows")])
                .unwrap();
        assert_eq!((settings.threads, settings.isa, settings.isa_forced), (3, Isa::Base, true));
        assert_eq!(settings.plan.as_deref(), Some("rows"));
        let settings = resolve(Context::builder(), &[]).unwrap();
        assert_eq!((settings.threads, settings.isa, settings.isa_forced), (0, Isa::detect(), false));
        assert_eq!(settings.plan, None);
    }

    #[test]
    fn the_builder_has_the_last_word() {
        let builder = Context::builder().threads(2).isa(Isa::Base).plan("lanes");
        let variables = [("HIDP_THREADS", "junk"), ("HIDP_ISA", "junk"), ("HIDP_FORCE", "rows")];
        let settings = resolve(builder, &variables).unwrap();
        assert_eq!((settings.threads, settings.isa), (2, Isa::Base));
        assert_eq!(settings.plan.as_deref(), Some("lanes"));
    }

    #[test]
    fn records_come_from_the_build_unless_a_file_is_named() {
        let tuning = |builder: Builder, value: &str| resolve(builder, &[("HIDP_TUNE", value)]).unwrap().tuning;
        assert!(matches!(tuning(Context::builder(), ""), Tuning::Embedded));
        assert!(matches!(tuning(Context::builder(), "off"), Tuning::Off));
        assert!(matches!(tuning(Context::builder(), "no such file"), Tuning::File(file) if file.records.is_empty()));
        assert!(matches!(tuning(Context::builder().tuning("off"), "no such file"), Tuning::Off));
    }

    #[test]
    fn senseless_settings_are_errors() {
        let message = |name, value| resolve(Context::builder(), &[(name, value)]).unwrap_err().to_string();
        for value in ["0", "-1", "many", "", "1025", "4000000000", "1e9"] {
            let expected = format!("HIDP_THREADS is `{value}`, expected a number of threads from 1 to 1024");
            assert_eq!(message("HIDP_THREADS", value), expected);
        }
        assert_eq!(message("HIDP_ISA", "avx2"), "HIDP_ISA is `avx2`, expected `base`, `v2`, `v3` or `v4`");
        assert_eq!(message("HIDP_FORCE", ""), "HIDP_FORCE is ``, expected the name of a plan");
        let error = resolve(Context::builder().threads(0), &[]).unwrap_err();
        assert_eq!(error.to_string(), "Builder::threads is `0`, expected a number of threads from 1 to 1024");
        assert!(resolve(Context::builder().threads(u32::MAX), &[]).is_err());
    }

    #[test]
    fn contexts_can_be_shared_between_threads() {
        fn shared<T: Send + Sync + Clone>() {}
        shared::<Context>();
    }
}
