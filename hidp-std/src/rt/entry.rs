//! The static description of an entry that generated code carries: enough to bind dimensions, check shapes, choose a version,
//! call it and say what went wrong.

use std::fmt;

pub use crate::Isa;

/// One entry: a `function` of a `.hdp` file.
#[derive(Debug)]
pub struct Entry {
    /// `file::function`, as messages show it.
    pub name: &'static str,
    /// Parameters in the header's order.
    pub params: &'static [Param],
    /// Dimension names in the order of first appearance; `hidp_call::dims` has this order, and [`Dispatch::settings`] after them.
    pub dims: &'static [&'static str],
    /// Versions, best guess first; the first one for the CPU can always run there.
    pub versions: &'static [Version],
    /// When which version runs.
    pub dispatch: Dispatch,
    /// Fault sites.
    pub sites: &'static [Site],
}

/// How a call finds its version.
#[derive(Debug, Default)]
pub struct Dispatch {
    /// A hash of what the entry was compiled to.
    pub source: &'static str,
    /// The C++ compiler.
    pub toolchain: &'static str,
    /// The same of versions for devices; empty where there are none.
    pub device_source: &'static str,
    /// The compiler of device code.
    pub device_toolchain: &'static str,
    /// Names of all entries that were built together, by file.
    pub kernels: &'static [&'static [&'static str]],
    /// Numbers that a call's shapes give.
    pub measures: &'static [Measure],
    /// The first whose conditions all hold, and whose version can run there, decides; the first version where none does.
    pub rules: &'static [Rule],
    /// For each version a number: equal ones give the same bits. Without numbers nothing is known.
    pub classes: &'static [u32],
    /// How calls can be cut into parts.
    pub parts: Option<Parts>,
    /// Rules that were measured: they go before `rules` on the processors and devices that they are for.
    pub records: &'static [Record],
    /// What a tuner may vary from call to call, with the values worth trying.
    pub tunables: &'static [Tunable],
    /// The same of codelets.
    pub settings: &'static [Setting],
}

/// A dimension by which calls can be cut: with fewer rows, an entry computes the same elements of these.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts {
    /// Its position.
    pub dim: usize,
    /// For each parameter how many rows a part has of it besides its own, or `None` if it has all of the parameter. What is written has none besides.
    pub besides: &'static [Option<i64>],
    /// Whether rows may differ in what they cost. Then the entry reads nothing that it writes.
    pub uneven: bool,
}

/// A `run` tunable of codelets.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// `sum.least`
    pub name: &'static str,
    /// What it can be, the usual value first.
    pub values: &'static [i64],
    /// Positions of the versions that it changes.
    pub versions: &'static [usize],
}

/// A number that a tuner may vary from call to call.
#[derive(Debug, PartialEq, Eq)]
pub struct Tunable {
    /// One of [`Settings::NAMES`].
    pub name: &'static str,
    /// The values worth trying.
    pub domain: &'static [u32],
}

/// What a call runs with besides its version; 0 stands for what is usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings {
    of_threads: [i64; Settings::NAMES.len()],
    of_codelets: &'static [Set],
}

/// A value that is not the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Set {
    /// Position among [`Dispatch::settings`].
    position: usize,
    name: &'static str,
    value: i64,
}

impl Settings {
    /// Everything as usual.
    pub const USUAL: Settings = Settings { of_threads: [0; Self::NAMES.len()], of_codelets: &[] };
    /// What can be set: workers at most, element operations that a worker should have before it is started, elements of segments
    /// that a worker takes at once, elements of a segment that is worth all workers.
    pub const NAMES: [&'static str; 4] = ["threads", "thread_work", "segment_work", "team_segment"];

    /// With this value; `None` if nothing is called so, or the value is impossible.
    #[must_use]
    pub fn with(mut self, name: &str, value: i64) -> Option<Settings> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        (1..=1 << 40).contains(&value).then(|| self.of_threads[at] = value)?;
        Some(self)
    }
    /// The same of what is one of an entry's own [`Dispatch::settings`], too. Kept as long as the program runs.
    pub(crate) fn with_any(self, entry: &Entry, name: &str, value: i64) -> Option<Settings> {
        let known = entry.dispatch.settings.iter().enumerate().find(|(_, setting)| setting.name == name);
        let Some((position, setting)) = known else { return self.with(name, value) };
        let at = setting.values.iter().position(|known| *known == value)?;
        let others = self.of_codelets.iter().filter(|set| set.position != position).copied();
        let own = (at > 0).then_some(Set { position, name: setting.name, value });
        let mut all: Vec<Set> = others.chain(own).collect();
        all.sort_by_key(|set| set.position);
        Some(Settings { of_codelets: Vec::leak(all), ..self })
    }
    /// Writes the values of [`Dispatch::settings`].
    pub(crate) fn write(self, entry: &Entry, values: &mut [i64]) {
        for (value, setting) in values.iter_mut().zip(entry.dispatch.settings) {
            *value = setting.values[0];
        }
        for Set { position, value, .. } in self.of_codelets {
            values[*position] = *value;
        }
    }
    /// What is not as usual.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let of_threads = Self::NAMES.into_iter().zip(self.of_threads).filter(|(_, value)| *value != 0);
        of_threads.chain(self.of_codelets.iter().map(|set| (set.name, set.value)))
    }
    /// How many threads a call may use of so many.
    pub(crate) fn threads(&self, all: u32) -> u32 {
        u32::try_from(self.of_threads[0]).map_or(all, |most| if most == 0 { all } else { all.min(most) })
    }
    pub(crate) fn raw(self) -> hidp_sys::hidp_tunables {
        let [threads, thread_work, segment_work, team_segment] = self.of_threads;
        hidp_sys::hidp_tunables { threads, thread_work, segment_work, team_segment }
    }
}

/// ` with threads = 1, thread_work = 4096`; nothing where everything is as usual.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.iter().enumerate() {
            write!(f, "{} {name} = {value}", if at == 0 { " with" } else { "," })?;
        }
        Ok(())
    }
}

/// Rules that were measured on a processor or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// [`Dispatch::source`], or [`Dispatch::device_source`], of the entry that was measured.
    pub source: &'static str,
    /// The model of the processor or device.
    pub device: &'static str,
    /// Its vendor and family, or its architecture: `sm_90`.
    pub architecture: &'static str,
    /// Its vendor.
    pub vendor: &'static str,
    /// The instruction set; `cuda` for devices.
    pub isa: &'static str,
    /// The number of threads.
    pub threads: u32,
    /// [`Dispatch::toolchain`], or [`Dispatch::device_toolchain`], of the entry that was measured.
    pub toolchain: &'static str,
    /// For devices: the processor that calls were compared with, if they were, its instruction set and number of threads.
    pub host: &'static str,
    /// `parallel < 4 and inner >= 32768: team; otherwise: rows`
    pub rules: &'static str,
    /// The versions that the rules name, each with its hash: `team 6d2c8a90517be3f4, rows 10e1959db8e46178`. Nothing where more
    /// than they decides what was measured.
    pub versions: &'static str,
}

impl Record {
    /// What stands in place of an instruction set for devices.
    pub(crate) const CUDA: &'static str = "cuda";
}

impl Dispatch {
    /// Always the first version.
    pub const NONE: Dispatch = Dispatch {
        source: "",
        toolchain: "",
        device_source: "",
        device_toolchain: "",
        kernels: &[],
        measures: &[],
        rules: &[],
        classes: &[],
        parts: None,
        records: &[],
        tunables: &[],
        settings: &[],
    };
}

/// Measures that an entry has at most.
pub const MOST_MEASURES: usize = 9;

/// A number that a call's shapes give.
#[derive(Debug, PartialEq, Eq)]
pub struct Measure {
    /// `parallel`, `inner`, `total`, `width`, `longest`, `balance`, `copied`, `operations` or `intensity`.
    pub name: &'static str,
    /// A postfix program over dimensions, scalars and constants.
    pub program: &'static [Op],
}

/// A version and when it runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// All must hold.
    pub conditions: &'static [Condition],
    /// Position among the versions, or [`Rule::HOST`].
    pub version: usize,
    /// What it runs with.
    pub settings: Settings,
}

impl Rule {
    /// In place of a version, for contexts with a device: the processor runs the call, in the version that its own rules say.
    pub const HOST: usize = usize::MAX;
    /// What it is called.
    pub(crate) const HOST_NAME: &'static str = "host";
    /// What a call is forced to that runs on the device, in the version that its rules say.
    pub(crate) const DEVICE_NAME: &'static str = "device";
}

/// A comparison of a measure with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Position among the measures.
    pub measure: usize,
    /// `>=` rather than `<`.
    pub least: bool,
    /// What it is compared with.
    pub bound: Bound,
}

/// What a measure is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A number.
    Fixed(i64),
    /// A multiple of the number of threads.
    PerThread(i64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Fixed(value) => write!(f, "{value}"),
            Bound::PerThread(value) => write!(f, "{value} * threads"),
        }
    }
}

impl Bound {
    /// Its value in a context with so many threads.
    pub(crate) fn value(self, threads: u32) -> i64 {
        match self {
            Bound::Fixed(value) => value,
            Bound::PerThread(value) => value.saturating_mul(threads.into()),
        }
    }
}

/// A parameter.
#[derive(Debug)]
pub struct Param {
    /// Name in the header, underscore included.
    pub name: &'static str,
    /// Whether the entry reads what the caller passes.
    pub reads: bool,
    /// Whether the entry writes it.
    pub writes: bool,
    /// Type of the value or of the elements.
    pub elem: Elem,
    /// Whether values are positions in arrays or sizes of loops, so that tools cannot make them up.
    pub positions: bool,
    /// Extents, outermost first; empty for a scalar. Each is a postfix program over dimensions, scalars and constants.
    pub shape: &'static [&'static [Op]],
    /// The extents as written, for messages.
    pub shape_text: &'static [&'static str],
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Elem {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    /// A truth value or a struct.
    Other,
}

/// One step of a postfix extent expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Pushes a constant.
    Const(i64),
    /// Pushes a dimension by its number.
    Dim(u16),
    /// Pushes the value of an integer scalar parameter by its number.
    Scalar(u16),
    /// Pops two, pushes the sum.
    Add,
    /// Pops two, pushes the difference.
    Sub,
    /// Pops two, pushes the product.
    Mul,
    /// Pops two, pushes the quotient (a call error if the divisor is 0).
    Div,
    /// Pops two, pushes the remainder (a call error if the divisor is 0).
    Rem,
    /// Pops two, pushes the smaller.
    Min,
    /// Pops two, pushes the larger.
    Max,
    /// Pops two, pushes the bits that both have.
    And,
    /// Pops two, pushes the bits that either has.
    Or,
    /// Pops two, pushes the bits that one has.
    Xor,
    /// Pops two, pushes the first shifted left by the second.
    Shl,
    /// Pops two, pushes the first shifted right by the second.
    Shr,
    /// Pops one, pushes its negative.
    Neg,
    /// Pops one, pushes it again (a call error if it is not from the first to the second).
    InRange(i64, i64),
    /// Pops the number of segments, pushes the length of the longest. Bounds are where they begin and where they end.
    Longest(&'static [SegmentBound; 2]),
    /// Pops the number of segments, pushes their elements over those of the longest.
    Balance(&'static [SegmentBound; 2]),
    /// Pops what a call computes, pushes it again. Stands last; such measures are for contexts that have a device, as those that
    /// end in the two below.
    Work,
    /// Pushes the bytes that would be copied between the host's memory and the device's. Stands alone.
    Copied,
    /// Pops what a call computes, pushes it for every 1024 of these bytes. Stands last.
    PerKib,
}

/// Where bounds of segments stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentBound {
    /// Number of the parameter, a vector.
    pub param: u16,
    /// Its elements: `I32` or `I64`.
    pub elem: Elem,
    /// Element of the first segment's bound.
    pub offset: i64,
}

/// One compiled version of an entry: one plan.
#[derive(Debug)]
pub struct Version {
    /// The plan's name.
    pub plan: &'static str,
    /// A hash of what it was compiled to, by itself.
    pub hash: &'static str,
    /// Its functions.
    pub code: Codes,
}

/// The functions of a version.
#[derive(Debug)]
pub enum Codes {
    /// One function an instruction set, most demanding first; the last one always runs.
    Cpu(&'static [Code]),
    /// The function that drives an accelerator: arrays are in its memory, scalars in the host's.
    Device(EntryFn),
}

impl Codes {
    /// The functions for the processor.
    pub(crate) fn cpu(&self) -> &'static [Code] {
        match self {
            Codes::Cpu(codes) => codes,
            Codes::Device(_) => &[],
        }
    }
    /// Whether it is for accelerators.
    pub(crate) fn on_device(&self) -> bool {
        match self {
            Codes::Cpu(_) => false,
            Codes::Device(_) => true,
        }
    }
}

/// An entry point.
pub type EntryFn = unsafe extern "C" fn(call: *mut hidp_sys::hidp_call) -> i32;

/// A version's code for one instruction set.
#[derive(Debug)]
pub struct Code {
    /// What the machine must have.
    pub isa: Isa,
    /// The function.
    pub function: EntryFn,
}

/// A fault site.
#[derive(Debug)]
pub struct Site {
    /// `.hdp` file as messages show it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Source text of the expression.
    pub text: &'static str,
    /// Number of a fault kind.
    pub kind: u32,
    /// Names of the values; may be empty strings.
    pub names: &'static [&'static str],
}
