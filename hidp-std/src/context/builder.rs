//! How contexts are made.

use std::ffi::OsString;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::memory::Memory;
use super::{Context, Host, Shared};
use crate::device::{Asked, Device, Machine};
use crate::selection::Selector;
use crate::tuning::{TuneFile, Tuning};
use crate::{Error, Isa, Select};

/// How many contexts were made.
static CONTEXTS: AtomicU64 = AtomicU64::new(0);

/// Tells contexts apart.
pub(super) fn next_number() -> u64 {
    CONTEXTS.fetch_add(1, Ordering::Relaxed)
}

/// Settings of a [`Context`]. Those that are not set come from the environment, else from the default.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    device: Option<Asked>,
    machine: Machine,
    threads: Option<u32>,
    isa: Option<Isa>,
    plan: Option<Arc<str>>,
    tuning: Option<OsString>,
    select: Option<Select>,
    any_bits: Option<bool>,
    memory: Option<usize>,
    counting: bool,
}

impl Builder {
    /// Runs everything on the processor.
    pub fn cpu(mut self) -> Self {
        self.device = Some(Asked::Cpu);
        self
    }
    /// Uses the first device that can run the program, for calls that gain from it, else the processor: as [`Context::new`], but overrides
    /// `HIDP_DEVICE`.
    pub fn auto(mut self) -> Self {
        self.device = Some(Asked::Auto);
        self
    }
    /// Uses a device that runs device code on the host, for tests without a GPU. Slow; races, accesses out of bounds and other mistakes of the
    /// code are errors of the call.
    ///
    /// Build the program with `HIDP_CUDA=simulated` to have such code. The seed sets the order in which blocks and threads run: 0 in order, 1
    /// backwards, others at random. The device runs every call; only those that gain from it if [`Builder::auto`] is called afterwards.
    #[cfg(feature = "simulated-device")]
    pub fn simulated(self, seed: u64) -> Self {
        let simulation = crate::device::Simulation { world: Default::default(), devices: 1, seed };
        self.on(simulation.machine()).cuda(0)
    }
    /// Whether the simulated device counts memory requests as a GPU's warps would make them: see
    /// [`LastRun::traffic`](crate::LastRun::traffic). Calls take several times as long. [`Builder::build`] fails if another device, or the
    /// processor, runs calls.
    #[cfg(feature = "simulated-device")]
    pub fn counting(mut self, counting: bool) -> Self {
        self.counting = counting;
        self
    }
    #[cfg(feature = "tune")]
    pub(crate) fn asked(mut self, device: Asked) -> Self {
        self.device = Some(device);
        self
    }
    /// On a stand-in for this machine.
    #[cfg(any(test, feature = "simulated-device"))]
    pub(crate) fn on(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }
    /// Runs everything on this device; [`Builder::build`] fails if it cannot be used.
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
    /// The plan that entries run: see [`Context::with_plan`].
    pub fn plan(mut self, plan: &str) -> Self {
        self.plan = Some(plan.into());
        self
    }
    /// A file of tuning records that override those of the build, or `off` for no records at all.
    pub fn tuning(mut self, file: impl AsRef<Path>) -> Self {
        self.tuning = Some(file.as_ref().into());
        self
    }
    /// Whether calls look for versions that are faster than the rules' choice. Default: [`Select::Off`]. A forced plan, and calls on a device,
    /// are never selected.
    pub fn select(mut self, select: Select) -> Self {
        self.select = Some(select);
        self
    }
    /// Whether selection may try versions whose results differ in their last bits from those of the rules' choice. Results then depend on
    /// measured times. Default: `false`, which leaves a choice only to entries that compute with integers and truth values alone.
    pub fn select_any_bits(mut self, any_bits: bool) -> Self {
        self.any_bits = Some(any_bits);
        self
    }
    /// How many bytes the context's local arrays, and what its calls need besides, may take of the host's memory together. A call that needs more
    /// returns a [fault](crate::Error::Fault) of kind [`FaultKind::Allocation`](crate::FaultKind::Allocation) before it takes them. Default:
    /// what the machine, or the control group of the process, has free at that time.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }
    /// Makes the context: starts its threads and opens its device.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn build(self) -> Result<Context, Error> {
        self.build_in(|name| std::env::var_os(name))
    }

    fn build_in(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Context, Error> {
        let (machine, counting) = (self.machine.clone(), self.counting);
        let settings = self.resolve(variable)?;
        // SAFETY: takes a number; null is handled.
        let raw = unsafe { hidp_sys::hidp2_context_new(settings.threads) };
        let raw = NonNull::new(raw).ok_or(Error::Allocation)?;
        settings.memory.apply(raw);
        let host = Arc::new(Host(raw));
        // SAFETY: made just above.
        let threads = unsafe { hidp_sys::hidp2_context_threads(raw.as_ptr()) };
        let number = next_number();
        let Settings { isa, isa_forced, plan, tuning, asked, select, any_bits, threads: _, memory: _ } = settings;
        let mut shared = Shared {
            host,
            threads,
            number,
            device: Device::processor("asked for"),
            queue: None,
            strict: matches!(asked, Asked::Cuda(_)),
            told: Mutex::default(),
        };
        shared.host.start_threads()?;
        (shared.device, shared.queue) = machine.open(asked)?;
        if counting && !shared.queue.as_ref().is_some_and(|queue| queue.driver().count()) {
            return Err(setting("Builder::counting", "true", "a simulated device that runs generated code"));
        }
        let selector = Selector::new(select, any_bits).map(Arc::new);
        log::info!("context {number} runs on {}", shared.device);
        Ok(Context { shared: Arc::new(shared), isa, isa_forced, plan, tuning, selector })
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
        let asked_for = match read(SELECT) {
            Some(value) if self.select.is_none() || self.any_bits.is_none() => {
                read_select(&value).ok_or_else(|| setting(SELECT, &value, SELECT_EXPECTED))?
            }
            Some(_) | None => (Select::Off, false),
        };
        let memory = match (self.memory, read(MEMORY)) {
            (Some(bytes), _) => Memory::Bytes(bytes),
            (None, Some(value)) => Memory::read(&value).ok_or_else(|| setting(MEMORY, &value, MEMORY_EXPECTED))?,
            (None, None) => Memory::Free,
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
            select: self.select.unwrap_or(asked_for.0),
            any_bits: self.any_bits.unwrap_or(asked_for.1),
            memory,
        })
    }
}

/// `calls,any` and the like: what is selected, and whether bits may differ.
fn read_select(value: &str) -> Option<(Select, bool)> {
    match value {
        "off" => Some((Select::Off, false)),
        "calls" => Some((Select::Calls, false)),
        "calls,any" => Some((Select::Calls, true)),
        "parts" => Some((Select::Parts, false)),
        "parts,any" => Some((Select::Parts, true)),
        _ => None,
    }
}

const DEVICE: &str = "HIDP_DEVICE";
const DEVICE_EXPECTED: &str = "`auto`, `cpu`, `cuda` or `cuda:<number>`";
const THREADS: &str = "HIDP_THREADS";
const THREADS_EXPECTED: &str = "a number of threads from 1 to 1024";
/// As many members as a launch of the run time can have.
const MOST_THREADS: u32 = 1024;
const ISA: &str = "HIDP_ISA";
const ISA_EXPECTED: &str = "`base`, `v2`, `v3` or `v4`";
const FORCE: &str = "HIDP_FORCE";
const FORCE_EXPECTED: &str = "the name of a plan, `host` or `device`";

const MEMORY: &str = "HIDP_MEMORY";
const MEMORY_EXPECTED: &str = "`free` or a number of bytes, such as `1500M` or `8G`";
const SELECT: &str = "HIDP_SELECT";
const SELECT_EXPECTED: &str = "`off`, `calls`, `parts`, `calls,any` or `parts,any`";
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
    select: Select,
    any_bits: bool,
    memory: Memory,
}

fn setting(name: &'static str, value: &str, expected: &'static str) -> Error {
    Error::Setting { name, value: value.into(), expected }
}

pub(super) fn supported(asked: Isa) -> Result<Isa, Error> {
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
        assert_eq!((settings.plan, settings.asked), (None, Asked::Auto));
        for (value, asked) in [("cpu", Asked::Cpu), ("cuda:2", Asked::Cuda(2)), (" auto ", Asked::Auto)] {
            assert_eq!(resolve(Context::builder(), &[("HIDP_DEVICE", value)]).unwrap().asked, asked);
        }
    }

    #[test]
    fn the_builder_has_the_last_word() {
        let builder = Context::builder().threads(2).isa(Isa::Base).plan("lanes").cuda(1);
        let variables =
            [("HIDP_DEVICE", "junk"), ("HIDP_THREADS", "junk"), ("HIDP_ISA", "junk"), ("HIDP_FORCE", "rows")];
        let settings = resolve(builder, &variables).unwrap();
        assert_eq!((settings.threads, settings.isa, settings.asked), (2, Isa::Base, Asked::Cuda(1)));
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
    fn selection_is_off_unless_it_is_asked_for() {
        let select = |builder: Builder, value: &str| {
            let settings = resolve(builder, &[("HIDP_SELECT", value)]).unwrap();
            (settings.select, settings.any_bits)
        };
        let settings = resolve(Context::builder(), &[]).unwrap();
        assert_eq!((settings.select, settings.any_bits), (Select::Off, false));
        assert_eq!(select(Context::builder(), "calls"), (Select::Calls, false));
        assert_eq!(select(Context::builder(), "calls,any"), (Select::Calls, true));
        assert_eq!(select(Context::builder(), "parts"), (Select::Parts, false));
        assert_eq!(select(Context::builder(), "parts,any"), (Select::Parts, true));
        assert_eq!(select(Context::builder().select(Select::Off), "calls,any"), (Select::Off, true));
        assert_eq!(
            select(Context::builder().select(Select::Calls).select_any_bits(false), "junk"),
            (Select::Calls, false)
        );
    }

    #[test]
    fn local_arrays_have_what_is_free_unless_a_limit_is_set() {
        let memory = |builder: Builder, variables: &[(&str, &str)]| resolve(builder, variables).unwrap().memory;
        assert_eq!(memory(Context::builder(), &[]), Memory::Free);
        assert_eq!(memory(Context::builder(), &[("HIDP_MEMORY", "free")]), Memory::Free);
        assert_eq!(memory(Context::builder(), &[("HIDP_MEMORY", "3G")]), Memory::Bytes(3 << 30));
        assert_eq!(memory(Context::builder().memory_limit(5), &[("HIDP_MEMORY", "junk")]), Memory::Bytes(5));
    }

    #[test]
    fn senseless_settings_are_errors() {
        let message = |name, value| resolve(Context::builder(), &[(name, value)]).unwrap_err().to_string();
        for value in ["0", "-1", "many", "", "1025", "4000000000", "1e9"] {
            let expected = format!("HIDP_THREADS is `{value}`, expected a number of threads from 1 to 1024");
            assert_eq!(message("HIDP_THREADS", value), expected);
        }
        let expected = "HIDP_DEVICE is `gpu`, expected `auto`, `cpu`, `cuda` or `cuda:<number>`";
        assert_eq!(message("HIDP_DEVICE", "gpu"), expected);
        assert_eq!(message("HIDP_ISA", "avx2"), "HIDP_ISA is `avx2`, expected `base`, `v2`, `v3` or `v4`");
        let expected = "HIDP_SELECT is `all`, expected `off`, `calls`, `parts`, `calls,any` or `parts,any`";
        assert_eq!(message("HIDP_SELECT", "all"), expected);
        let expected = "HIDP_MEMORY is `lots`, expected `free` or a number of bytes, such as `1500M` or `8G`";
        assert_eq!(message("HIDP_MEMORY", "lots"), expected);
        assert_eq!(message("HIDP_FORCE", ""), "HIDP_FORCE is ``, expected the name of a plan, `host` or `device`");
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
