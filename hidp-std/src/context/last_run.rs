//! What a call ran, and why that.

use std::fmt;

use crate::device::{Copies, KernelTraffic};
use crate::rt::entry::{Entry, MOST_MEASURES, Measure, Rule, Version};
use crate::rt::is_for_devices;
use crate::{Isa, Selected};

/// What is kept of a call, with the values of measures once: [`LastRun`] is made from it on demand.
#[derive(Clone, Copy)]
pub(crate) struct RunNote {
    pub(crate) entry: &'static Entry,
    pub(crate) version: &'static Version,
    pub(crate) device: Option<u32>,
    pub(crate) instead_of: Option<u32>,
    pub(crate) placed: PlacedBy,
    pub(crate) copied: Copies,
    pub(crate) isa: Isa,
    pub(crate) threads: u32,
    pub(crate) ran: u32,
    pub(crate) why: Because,
    pub(crate) values: [i64; MOST_MEASURES],
}

impl RunNote {
    pub(crate) fn told(&self, traffic: &[KernelTraffic]) -> LastRun {
        let traffic = traffic.to_vec();
        let Self { entry, version, device, instead_of, copied, isa, threads, ran, .. } = *self;
        let measures = entry.dispatch.measures;
        let placed = self.placed.told(measures, &self.values);
        let why = self.why.told(measures, &self.values);
        LastRun {
            entry: entry.name,
            plan: version.plan,
            device,
            instead_of,
            placed,
            copied,
            isa,
            threads,
            ran,
            why,
            traffic,
        }
    }
}

/// A rule that decided, and whether it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) rule: &'static Rule,
    pub(crate) tuned: bool,
}

/// [`Placed`] without what rules saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlacedBy {
    Only,
    NoVersion,
    Resident,
    Forced,
    Host(Decided),
    Device,
}

impl PlacedBy {
    /// Whether the processor ran the call because the context's device could not, or had better not.
    pub(crate) fn is_instead(self) -> bool {
        match self {
            Self::NoVersion | Self::Host(_) => true,
            Self::Only | Self::Resident | Self::Forced | Self::Device => false,
        }
    }

    fn told(self, measures: &'static [Measure], values: &[i64; MOST_MEASURES]) -> Placed {
        match self {
            Self::Only => Placed::Only,
            Self::NoVersion => Placed::NoVersion,
            Self::Resident => Placed::Resident,
            Self::Forced => Placed::Forced,
            Self::Host(decided) => Placed::Host(Reason::new(Some(decided), measures, values)),
            Self::Device => Placed::Device,
        }
    }
}

/// [`Why`] without what rules saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Because {
    Preferred,
    ForcedPlan,
    ForcedIsa,
    /// `None` if no rule held.
    Rule(Option<Decided>),
    Selected(Selected),
}

impl Because {
    pub(crate) fn told(self, measures: &'static [Measure], values: &[i64; MOST_MEASURES]) -> Why {
        match self {
            Self::Preferred => Why::Preferred,
            Self::ForcedPlan => Why::ForcedPlan,
            Self::ForcedIsa => Why::ForcedIsa,
            Self::Rule(decided) => Why::Rule(Reason::new(decided, measures, values)),
            Self::Selected(selected) => Why::Selected(selected),
        }
    }
}

/// What a call ran, where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// The entry, `file::function`.
    pub entry: &'static str,
    /// The plan.
    pub plan: &'static str,
    /// The number of the device that ran it; `None` for the processor.
    pub device: Option<u32>,
    /// The number of the context's device if the processor ran the entry nevertheless: because the entry has no version for devices, or
    /// because copies of its arguments are not worth it.
    pub instead_of: Option<u32>,
    /// Why it ran on the processor, or on the device.
    pub placed: Placed,
    /// Arrays and bytes copied to the device and back.
    pub copied: Copies,
    /// The instruction set; `Base` on a device.
    pub isa: Isa,
    /// Maximum number of threads.
    pub threads: u32,
    /// Threads that took part, the calling thread included, in the launch with the most. 0 on a device.
    pub ran: u32,
    /// Why this version ran.
    pub why: Why,
    traffic: Vec<KernelTraffic>,
}

impl LastRun {
    /// Memory requests of its kernels, one row per kernel, ordered by name. Empty unless the context counts them: see `Builder::counting`.
    pub fn traffic(&self) -> &[KernelTraffic] {
        &self.traffic
    }
}

impl fmt::Display for LastRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, plan, device, instead_of, placed, copied, isa, threads, ran, why, traffic: _ } = self;
        write!(f, "{entry}: plan {plan}, ")?;
        match device {
            Some(ordinal) if *copied == Copies::default() => write!(f, "cuda:{ordinal} (")?,
            Some(ordinal) => write!(f, "cuda:{ordinal}, {copied} (")?,
            None => {
                let of = if ran == threads { String::new() } else { format!("{ran} of ") };
                write!(f, "{isa}, {of}{threads} thread{} (", if *threads == 1 { "" } else { "s" })?;
            }
        }
        match (placed, instead_of) {
            (Placed::NoVersion, Some(ordinal)) => write!(f, "no version for cuda:{ordinal}; ")?,
            (Placed::Host(reason), Some(ordinal)) => write!(f, "not cuda:{ordinal}, {reason}; ")?,
            (
                Placed::Only | Placed::NoVersion | Placed::Resident | Placed::Forced | Placed::Host(_) | Placed::Device,
                _,
            ) => {}
        }
        write!(f, "{why})")
    }
}

/// Why the processor ran a call, or the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placed {
    /// The context has no other place.
    Only,
    /// The entry has no version for devices.
    NoVersion,
    /// Arrays of the call are on the device.
    Resident,
    /// The plan, or the place, was forced.
    Forced,
    /// This rule chose the processor.
    Host(Reason),
    /// No rule chose the processor.
    Device,
}

/// Why a version was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The compiler prefers it, and this machine can run it.
    Preferred,
    /// The plan was forced.
    ForcedPlan,
    /// The instruction set was forced.
    ForcedIsa,
    /// The entry's rules, applied to the sizes of the call.
    Rule(Reason),
    /// Another version than the rules' choice, which is being tried or was [found](crate::Select) to be faster.
    Selected(Selected),
}

/// What the rules of an entry saw, and which of them decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    measures: &'static [Measure],
    /// `None` if no rule held, so that the first version ran.
    rule: Option<&'static Rule>,
    /// -1 where nothing is known.
    values: [i64; MOST_MEASURES],
    tuned: bool,
}

impl Reason {
    fn new(decided: Option<Decided>, measures: &'static [Measure], values: &[i64; MOST_MEASURES]) -> Self {
        let tuned = decided.is_some_and(|decided| decided.tuned);
        Self { measures, rule: decided.map(|decided| decided.rule), values: *values, tuned }
    }
    /// Names and values of the measures; `None` if unknown. Measures for contexts with a device are included only if a rule asked for them.
    pub fn measures(&self) -> impl Iterator<Item = (&'static str, Option<i64>)> {
        let known = |value: i64| (value >= 0).then_some(value);
        let asked = |(measure, value): &(&Measure, i64)| *value >= 0 || !is_for_devices(measure);
        let all = self.measures.iter().zip(self.values).filter(asked);
        all.map(move |(measure, value)| (measure.name, known(value)))
    }
    /// Whether the rules come from a tuning record, rather than from the compiler's predictions.
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
            Why::Selected(selected) => selected.fmt(f),
        }
    }
}
