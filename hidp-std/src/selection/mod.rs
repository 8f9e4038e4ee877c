//! Versions chosen by measured call times: see [`Select`].
//!
//! A trial is a call, or a part of one that is a call by itself: it runs one version whole, so `inout`, atomic updates and faults behave
//! as always, and nothing is copied. The number of trials is bounded ([`table`]), and versions have the same bits unless the context allows
//! others.

#[cfg(test)]
mod part_tests;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::rt::entry::{Bound, Condition, Entry, MOST_MEASURES, Settings};
use crate::tuning::print_rule;
use table::{Bucket, Trials};

/// Whether calls look for versions that are faster than the rules' choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Select {
    /// Rules alone decide: the version is a function of a call's sizes.
    #[default]
    Off,
    /// The first calls of each kind run one version after the other, each call one version whole; from then on the fastest one runs.
    ///
    /// Calls are of one kind if their rules choose the same version and their measures are between the same powers of two. Versions other than
    /// the rules' choice take at most four calls each, and one of them is chosen if it took 2 % less time in all three samples. What slower
    /// ones cost is at most 1/20 of the time of all calls before the next one is tried. Unless
    /// [`Builder::select_any_bits`](crate::Builder::select_any_bits) is set, only versions with the same bits are tried.
    Calls,
    /// As [`Calls`](Select::Calls), but versions are compared on parts of a call where it can be cut: its maps run over the same rows, which
    /// have nothing to do with one another. A part is 1/128 to 1/16 of the rows, at least 16 for each thread; what is left of the call runs
    /// the version that was found.
    ///
    /// If rows may differ in what they cost, all versions compute the same part, but never more than 1/12 of a call's rows again; entries that
    /// read what they write, and have such rows, are not cut. Calls that cannot be cut, or of which 1/16 takes less than 50 µs, run whole.
    Parts,
}

/// How a call's version was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selected {
    /// Whether the version was found to be the fastest; otherwise it is being tried.
    pub found: bool,
    /// Number of versions to choose from.
    pub versions: u32,
    /// Number of calls, or parts of calls, measured before this one.
    pub samples: u32,
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, versions, samples } = self;
        let how = if *found { "selected" } else { "tried" };
        let plural = if *samples == 1 { "" } else { "s" };
        write!(f, "{how}: one of {versions} versions, {samples} sample{plural}")
    }
}

/// A kind of call for which a version other than the rules' choice is faster.
#[derive(Clone, Debug)]
pub struct Selection {
    entry: &'static Entry,
    conditions: Vec<Condition>,
    version: usize,
    usual: usize,
}

impl Selection {
    /// The entry, `file::function`.
    pub fn entry(&self) -> &'static str {
        self.entry.name
    }
    /// The plan that runs.
    pub fn plan(&self) -> &'static str {
        self.entry.versions[self.version].plan
    }
    /// The plan that rules choose.
    pub fn instead_of(&self) -> &'static str {
        self.entry.versions[self.usual].plan
    }
    /// The finding as a rule of a tuning record: `parallel >= 1024 and parallel < 2048: team`.
    pub fn rule(&self) -> String {
        print_rule(self.entry, &self.conditions, self.version, Settings::USUAL)
    }
    #[cfg(feature = "tune")]
    pub(crate) fn table(&self) -> &'static Entry {
        self.entry
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (instead of {})", self.entry.name, self.rule(), self.instead_of())
    }
}

/// Where times come from.
pub(crate) trait Clock: Send + Sync {
    /// Time since some moment.
    fn now(&self) -> Duration;
}

/// The machine's.
struct Ticking(Instant);

impl Clock for Ticking {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A call that may run another version than the rules choose.
pub(crate) struct Call<'a> {
    pub(crate) entry: &'static Entry,
    /// The rules' choice.
    pub(crate) usual: (usize, Settings),
    /// The versions that could run instead, in the entry's order, without that: those of the same bits, or any.
    pub(crate) others: &'a dyn Fn(bool) -> Vec<usize>,
    pub(crate) values: [i64; MOST_MEASURES],
    /// Whether it can be cut into parts.
    pub(crate) can_be_cut: bool,
    /// Its dimensions: measures are of one nest of the entry, or there are none.
    pub(crate) dims: &'a [i64],
}

/// What a context and its clones have learnt.
pub(crate) struct Selector {
    trials: Trials,
    /// Whether versions may be tried whose results differ in their last bits.
    any_bits: bool,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

/// Kinds of calls that a context knows at most: others run what rules choose.
const KINDS: usize = 1024;

#[derive(Default)]
struct State {
    kinds: HashMap<Key, Kind>,
    /// Calls that run now.
    running: u32,
    /// How often a call began while another one ran.
    meetings: u64,
    /// Whether it was said that there are more kinds.
    full: bool,
}

/// What is known of calls of a kind.
struct Kind {
    entry: &'static Entry,
    bucket: Bucket,
}

/// What calls of a kind have in common: entry, rules' choice, and powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    entry: usize,
    version: usize,
    settings: Settings,
    powers: [Power; MOST_MEASURES],
}

/// Where a measure's value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Power {
    Unknown,
    Zero,
    /// From this power of two to the next.
    Of(u32),
}

impl Power {
    fn around(value: i64) -> Power {
        match value {
            ..0 => Power::Unknown,
            0 => Power::Zero,
            1.. => Power::Of(value.ilog2()),
        }
    }
    /// The conditions that hold for these values alone.
    fn conditions(self, measure: usize) -> Vec<Condition> {
        /// Powers beyond are no bounds of rules.
        const MOST: u32 = 62;
        let at = |least: bool, bound: i64| Condition { measure, least, bound: Bound::Fixed(bound) };
        match self {
            Power::Unknown => Vec::new(),
            Power::Zero => vec![at(false, 1)],
            Power::Of(power @ 0..MOST) => vec![at(true, 1 << power), at(false, 1 << (power + 1))],
            Power::Of(_) => vec![at(true, 1 << MOST)],
        }
    }
}

/// What the next part of a call runs: another version than the rules' choice, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The same part may be run again.
    Again(Option<(usize, Selected)>),
    Part(Option<(usize, Selected)>),
    /// All that is left of the call.
    Rest(Option<(usize, Selected)>),
}

/// The part of a selector in one call: says when it is over.
pub(crate) struct Turn<'a> {
    selector: &'a Selector,
    trials: Trials,
    /// If it is measured.
    sampled: Option<Sampled>,
    meetings: u64,
}

struct Sampled {
    key: Key,
    /// None of what is left of a call.
    arm: Option<usize>,
    begun: Duration,
}

impl Selector {
    /// Nothing if nothing is to be selected.
    pub(crate) fn new(select: Select, any_bits: bool) -> Option<Selector> {
        let trials = match select {
            Select::Off => return None,
            Select::Calls => Trials::Calls,
            Select::Parts => Trials::Parts,
        };
        Some(Self::with_clock(trials, any_bits, Arc::new(Ticking(Instant::now()))))
    }
    fn with_clock(trials: Trials, any_bits: bool, clock: Arc<dyn Clock>) -> Selector {
        Selector { trials, any_bits, clock, state: Mutex::default() }
    }
    /// One of the same kind that has learnt nothing.
    pub(crate) fn afresh(&self) -> Selector {
        Self::with_clock(self.trials, self.any_bits, self.clock.clone())
    }
    /// Whether calls are cut into parts.
    pub(crate) fn cuts_calls(&self) -> bool {
        self.trials == Trials::Parts
    }

    /// Begins a call, of which only its time matters to others if there is nothing to select. Says which other version it runs, if any.
    pub(crate) fn begin(&self, call: Option<Call<'_>>) -> (Turn<'_>, Option<(usize, Selected)>) {
        let mut state = self.state();
        state.running += 1;
        let alone = state.running == 1;
        state.meetings += u64::from(!alone);
        let mut turn = Turn { selector: self, trials: Trials::Calls, sampled: None, meetings: state.meetings };
        let Some(call) = call else { return (turn, None) };
        let key = Key {
            entry: std::ptr::from_ref(call.entry) as usize,
            version: call.usual.0,
            settings: call.usual.1,
            powers: call.values.map(Power::around),
        };
        if !state.kinds.contains_key(&key) {
            if state.kinds.len() == KINDS {
                if !std::mem::replace(&mut state.full, true) {
                    log::info!("{}: {KINDS} kinds of calls are known, others run what rules choose", call.entry.name);
                }
                return (turn, None);
            }
            let trials = if call.can_be_cut { self.trials } else { Trials::Calls };
            let bucket = Bucket::new(trials, call.dims, call.usual.0, (call.others)(self.any_bits));
            state.kinds.insert(key, Kind { entry: call.entry, bucket });
        }
        let Some(Kind { bucket, .. }) = state.kinds.get_mut(&key) else { return (turn, None) };
        if let Some(found) = bucket.found() {
            return (turn, told(bucket, found));
        }
        if !alone || !bucket.is_of(call.dims) || (bucket.trials() == Trials::Parts && !call.can_be_cut) {
            return (turn, None);
        }
        // A call whose parts are not compared is none of their samples.
        let waits = bucket.trials() == Trials::Parts && !bucket.may_try();
        turn.trials = if waits { Trials::Calls } else { bucket.trials() };
        let arm = bucket.next();
        let other = told(bucket, arm);
        drop(state);
        turn.sampled = Some(Sampled { key, arm: (!waits).then_some(arm), begun: self.clock.now() });
        (turn, other)
    }

    /// What was learnt, entry by entry.
    pub(crate) fn selections(&self) -> Vec<Selection> {
        let state = self.state();
        let mut found: Vec<Selection> = Vec::new();
        for (key, Kind { entry, bucket }) in &state.kinds {
            let Some(arm) = bucket.found().filter(|arm| *arm > 0) else { continue };
            // Conditions have the powers alone: of calls that rules tell apart within them, they are true for all.
            let meets =
                |(a, b): (&Power, &Power)| a == b || matches!((a, b), (Power::Unknown, _) | (_, Power::Unknown));
            let is_like = |other: &Key| other.entry == key.entry && other.powers.iter().zip(&key.powers).all(meets);
            if state.kinds.keys().any(|other| other != key && is_like(other)) {
                continue;
            }
            let powers = key.powers.iter().enumerate();
            let conditions: Vec<Condition> = powers.flat_map(|(at, power)| power.conditions(at)).collect();
            // Without any, nothing tells these calls from others.
            if !conditions.is_empty() {
                found.push(Selection { entry, conditions, version: bucket.version(arm), usual: key.version });
            }
        }
        found.sort_by_cached_key(|selection| (selection.entry.name, selection.rule()));
        found
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The version of an arm if it is not the rules' choice.
fn told(bucket: &Bucket, arm: usize) -> Option<(usize, Selected)> {
    let (found, versions, samples) = (bucket.found().is_some(), bucket.versions(), bucket.samples());
    (arm > 0).then(|| (bucket.version(arm), Selected { found, versions, samples }))
}

impl Turn<'_> {
    /// Whether the call runs in parts.
    pub(crate) fn is_in_parts(&self) -> bool {
        self.trials == Trials::Parts && self.sampled.is_some()
    }
    /// The row of the next part that all versions take, and how many times the shortest parts it is.
    pub(crate) fn part(&self) -> (i64, u32) {
        let mut state = self.selector.state();
        let bucket =
            self.sampled.as_ref().and_then(|sampled| state.kinds.get_mut(&sampled.key)).map(|kind| &kind.bucket);
        bucket.map_or((0, 1), |bucket| (bucket.from(), bucket.length()))
    }

    /// The call has run, and is a sample unless it failed or another one ran beside it.
    pub(crate) fn has_run(mut self, succeeded: bool) {
        self.sample(succeeded);
    }

    /// A part has run without a fault, up to row `end`: what comes next. The same part runs again if it may.
    pub(crate) fn part_has_run(&mut self, end: i64, may_repeat: bool) -> Next {
        let Some(key) = self.sampled.as_ref().map(|sampled| sampled.key) else { return Next::Rest(None) };
        self.sample(true);
        let mut state = self.selector.state();
        let alone = state.meetings == self.meetings;
        let Kind { bucket, .. } = state.kinds.get_mut(&key).expect("kinds are never forgotten");
        if let Some(found) = bucket.found() {
            return Next::Rest(told(bucket, found));
        }
        let over = bucket.is_round_over();
        if over {
            bucket.go_on_from(end);
        }
        if !alone || bucket.trials() == Trials::Calls || (!over && !may_repeat) {
            return Next::Rest(None);
        }
        let (arm, tries) = (bucket.next(), bucket.may_try());
        let other = told(bucket, arm);
        drop(state);
        self.sampled = Some(Sampled { key, arm: tries.then_some(arm), begun: self.selector.clock.now() });
        match (tries, over) {
            (false, _) => Next::Rest(other),
            (true, true) => Next::Part(other),
            (true, false) => Next::Again(other),
        }
    }
    /// What ran until now is not measured.
    pub(crate) fn begin_again(&mut self) {
        let now = self.selector.clock.now();
        self.sampled.iter_mut().for_each(|sampled| sampled.begun = now);
    }
    /// There is no whole part left: the next call begins with its first row.
    pub(crate) fn is_at_end(&mut self) {
        let Some(Sampled { key, .. }) = self.sampled.take() else { return };
        if let Some(kind) = self.selector.state().kinds.get_mut(&key) {
            kind.bucket.go_on_from(0);
        }
    }

    /// Ends what is measured.
    fn sample(&mut self, succeeded: bool) {
        let Some(Sampled { key, arm, begun }) = self.sampled.take() else { return };
        let took = self.selector.clock.now().saturating_sub(begun);
        let mut state = self.selector.state();
        let alone = state.meetings == self.meetings;
        let Kind { entry, bucket } = state.kinds.get_mut(&key).expect("kinds are never forgotten");
        let took = (succeeded && alone).then_some(took);
        let Some(arm) = arm else { return took.into_iter().for_each(|took| bucket.passed(took)) };
        if took.is_some_and(|took| bucket.is_first(took)) {
            return;
        }
        bucket.ran(arm, took);
        let (name, usual, samples) = (entry.name, entry.versions[key.version].plan, bucket.samples());
        let found = bucket.found().map(|arm| (arm, entry.versions[bucket.version(arm)].plan));
        // A logger may call entries itself.
        drop(state);
        match found {
            Some((0, _)) => log::info!("{name}: {usual}, the rules' choice, stays after {samples} samples"),
            Some((_, plan)) => {
                log::info!("{name}: {plan} is selected where rules choose {usual}, after {samples} samples");
            }
            None => {}
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.selector.state().running -= 1;
    }
}
