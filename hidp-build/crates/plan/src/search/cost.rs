//! The predicted time of a nest under a mapping, before anything is lowered: the requests of warps against the peak rates of the machine.
//!
//! A time is a sum of parts, each the difference that one effect makes: the minimum, with all lanes busy, every byte requested once and enough
//! loads in flight; then idle lanes, sectors fetched partially or repeatedly, too few loads in flight; folds across lanes and parts, and
//! launches. Lee et al.'s soft constraints are four of these. It compares mappings, and nothing else.

use std::fmt;

use super::asked::Asked;
use super::facts::{Facts, Numbers};
use super::lanes::resident;
use crate::mapping::Mapping;
use crate::target::DeviceModel;

/// A predicted time in nanoseconds, by what it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// What has to be done at least.
    pub work: f64,
    /// Lanes without work, also since ranges of their neighbours are longer.
    pub divergence: f64,
    /// Parts of memory that are fetched for few lanes, or again.
    pub coalescing: f64,
    /// Too few threads, or too little under way.
    pub parallelism: f64,
    /// What folds take that lanes or groups share.
    pub combining: f64,
    /// Launches.
    pub launches: f64,
    /// Lines that multiprocessors look up, which decide between times that are alike.
    pub lines: f64,
    /// Sectors that requests of warps touch, of all launches.
    pub sectors: f64,
}

impl Predicted {
    /// The parts, with their names.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        [
            ("work", self.work),
            ("divergence", self.divergence),
            ("coalescing", self.coalescing),
            ("parallelism", self.parallelism),
            ("combining", self.combining),
            ("launches", self.launches),
        ]
    }

    /// The time.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, part)| part).sum()
    }
}

impl fmt::Display for Predicted {
    /// `12.3 us: work 4.1, launches 5.0`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |time: f64| time / 1000.0;
        write!(f, "{:.1} us:", us(self.total()))?;
        let shown = self.parts().into_iter().filter(|(_, part)| *part >= 50.0);
        for (at, (name, part)) in shown.enumerate() {
            write!(f, "{} {name} {:.1}", if at == 0 { "" } else { "," }, us(part))?;
        }
        Ok(())
    }
}

/// The time of a nest as a mapping has it; nothing of mappings that keep parts of arrays near, which are not predicted.
pub(super) fn predict(
    facts: &Facts<'_>,
    numbers: &Numbers,
    mapping: &Mapping,
    model: &DeviceModel,
) -> Option<Predicted> {
    let mut asked = Asked::new(facts, numbers, mapping, model);
    asked.launched(0)?;
    Some(time(&asked, model))
}

/// The same, or nothing if it is longer than this: as soon as what has been counted takes that long.
pub(super) fn predict_within(
    facts: &Facts<'_>,
    numbers: &Numbers,
    mapping: &Mapping,
    model: &DeviceModel,
    limit: f64,
) -> Option<Predicted> {
    let mut asked = Asked { limit, ..Asked::new(facts, numbers, mapping, model) };
    asked.launched(0)?;
    (!asked.is_over).then(|| time(&asked, model))
}

/// Maps of a nest from which on it pays to look at times before all of them are counted.
pub(super) const MANY_MAPS: usize = 5;

impl Asked<'_> {
    /// Whether what has been counted of many maps takes longer than is asked for.
    pub(super) fn has_reached_limit(&mut self) -> bool {
        let may_end = self.limit < f64::INFINITY && self.facts.loops.len() >= MANY_MAPS;
        self.is_over |= may_end && time(self, self.model).total() > self.limit;
        self.is_over
    }
}

/// Times of all parts. Whatever is added to what is asked for, none of them and of their sum becomes less.
fn time(asked: &Asked<'_>, model: &DeviceModel) -> Predicted {
    let machine = &model.machine;
    let processors = f64::from(machine.multiprocessors);
    let clock = f64::from(machine.clock) / 1000.0;
    let live = asked.warps.min(resident(asked.block, model) * processors).max(1.0);
    let blocks = (asked.warps / asked.warps_of_block()).ceil().clamp(1.0, processors);
    let least: f64 = asked.arrays.iter().map(|[needed, ..]| needed).sum();
    let cache = f64::from(machine.cache);
    // Arrays that the cache holds come from memory once.
    let of_memory = |[needed, fetched]: &[f64; 2]| if *needed <= cache { *needed } else { fetched.max(*needed) };
    let moved: f64 = asked.arrays.iter().map(of_memory).sum();
    let issue = processors * f64::from(machine.schedulers) * clock;
    let (memory, near) = (f64::from(machine.bandwidth), f64::from(machine.cache_bandwidth));
    let bound = |bytes: f64, fetched: f64, lines: f64, issued: f64| {
        (bytes / memory).max(fetched / near).max(lines / (processors * clock)).max(issued / issue)
    };
    let work = bound(least, 0.0, 0.0, asked.useful);
    let with_idle = bound(least, 0.0, 0.0, asked.issued.max(asked.useful));
    let with_sectors = bound(moved, asked.fetched, asked.lines, asked.issued.max(asked.useful));
    let few = (asked.waits * f64::from(machine.latency) / live).max(asked.lines / (blocks * clock));
    let of_live = live * clock / f64::from(machine.dependent);
    let of_longest = asked.longest / asked.warps.max(1.0) * f64::from(machine.dependent) / clock;
    let with_few = few.max(asked.issued / issue).max(asked.slots / of_live).max(of_longest).max(with_sectors);
    let combined = asked.combined / issue.min(of_live);
    Predicted {
        work,
        divergence: with_idle - work,
        coalescing: with_sectors - with_idle,
        parallelism: with_few - with_sectors,
        combining: combined + asked.folding,
        launches: asked.launches * f64::from(machine.launch),
        lines: asked.lines,
        sectors: asked.sectors,
    }
}
