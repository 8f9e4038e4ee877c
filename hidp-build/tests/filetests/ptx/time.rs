//! How long a launch takes at least, by the machine's numbers that plans are predicted with: the longest of what its parts need. It compares programs, and nothing else.

use hidp_build::compiler::target::DeviceModel;
use hidp_explain::traffic::occupancy;
use hidp_ptx::{Counts, Needs};

/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// What bounds a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bound {
    Issue,
    Special,
    Shared,
    Cache,
    Memory,
    Updates,
    Latency,
}

impl Bound {
    pub(super) fn name(self) -> &'static str {
        match self {
            Bound::Issue => "issue",
            Bound::Special => "narrow parts",
            Bound::Shared => "near memory",
            Bound::Cache => "cache",
            Bound::Memory => "memory",
            Bound::Updates => "updates",
            Bound::Latency => "latency",
        }
    }
}

/// Nanoseconds of a launch without what launching takes, and what they are for.
pub(super) fn busy(counts: &Counts, needs: Needs, model: &DeviceModel) -> (f64, Bound) {
    let machine = &model.machine;
    let clock = f64::from(machine.clock) / 1000.0;
    let (blocks, processors) = (counts.blocks as f64, f64::from(machine.multiprocessors));
    // The last blocks have multiprocessors to themselves.
    let at_work = blocks / (blocks / processors).ceil();
    let schedulers = at_work * f64::from(machine.schedulers) * clock;
    let warps = occupancy(counts.threads as u32, needs.registers, needs.shared, model).warps;
    let of_processor = (f64::from(warps) * 32.0 / counts.threads as f64).floor().max(1.0);
    let at_once = blocks.min(of_processor * processors);
    let of = |count: u64| count as f64;
    let parts = [
        (of(counts.slots) / schedulers, Bound::Issue),
        (of(counts.held) / schedulers, Bound::Special),
        (of(counts.turns + counts.lines) / (at_work * clock), Bound::Shared),
        (of(counts.block_sectors) * SECTOR / f64::from(machine.cache_bandwidth), Bound::Cache),
        (of(counts.launch_sectors) * SECTOR / f64::from(machine.bandwidth), Bound::Memory),
        (of(counts.hottest) / clock, Bound::Updates),
        (of(counts.slowest).max(of(counts.alone) / at_once) / clock, Bound::Latency),
    ];
    parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are parts")
}

/// Cycles of a load from memory.
pub(super) fn far(model: &DeviceModel) -> u64 {
    u64::from(model.machine.latency) * u64::from(model.machine.clock) / 1000
}
