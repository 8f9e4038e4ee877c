//! What the warps of a launch did.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::instr::{Kind, Op, Type};

/// Bytes of memory that come at a time.
const SECTOR: u64 = 32;
/// Bytes that a multiprocessor's cache looks up at a time, and that its shared memory gives in a turn.
const LINE: u64 = 128;
const WORD: u64 = 4;

/// Kinds of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic on floats.
    Float,
    /// Arithmetic on integers, indices among them.
    Integer,
    /// Loads, stores and updates.
    Memory,
    /// Comparisons, branches and choices.
    Control,
    /// Barriers, shuffles and votes.
    Meeting,
}

/// Counts of a launch. Instructions are those of warps.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The kernel, as the linker has it.
    pub kernel: String,
    /// Of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u64,
    /// Instructions of PTX that have a place in machine code.
    pub instructions: u64,
    /// Of each `Class`, in their order.
    pub by_class: [u64; 5],
    /// Issue slots.
    pub slots: u64,
    /// Cycles for which the parts of multiprocessors that have fewer lanes are held.
    pub held: u64,
    /// Lanes that take part in instructions, and lanes of the same warps that do not.
    pub lanes: u64,
    /// See `lanes`.
    pub idle: u64,
    /// Requests to device memory, updates among them.
    pub requests: u64,
    /// Sectors that requests touch.
    pub sectors: u64,
    /// Lines that requests touch.
    pub lines: u64,
    /// Different sectors of each block, added up.
    pub block_sectors: u64,
    /// Different sectors of the launch.
    pub launch_sectors: u64,
    /// Requests to shared memory.
    pub shared: u64,
    /// Turns of the banks for them.
    pub turns: u64,
    /// Turns if no two lanes met at a bank.
    pub least_turns: u64,
    /// Updates of device memory, each lane's.
    pub updates: u64,
    /// Of the same place, the most of them.
    pub hottest: u64,
    /// Barriers of blocks, those of each warp.
    pub barriers: u64,
    /// Cycles that blocks would take if each were alone, added up.
    pub alone: u64,
    /// The same of the slowest one.
    pub slowest: u64,
    /// Whether it is part of the launch before, after a barrier over the grid.
    pub goes_on: bool,
}

impl Counts {
    /// The sum with another launch, whose kernel it keeps no name of.
    pub fn plus(self, other: &Counts) -> Counts {
        Counts {
            kernel: self.kernel,
            blocks: self.blocks + other.blocks,
            threads: self.threads.max(other.threads),
            instructions: self.instructions + other.instructions,
            by_class: std::array::from_fn(|at| self.by_class[at] + other.by_class[at]),
            slots: self.slots + other.slots,
            held: self.held + other.held,
            lanes: self.lanes + other.lanes,
            idle: self.idle + other.idle,
            requests: self.requests + other.requests,
            sectors: self.sectors + other.sectors,
            lines: self.lines + other.lines,
            block_sectors: self.block_sectors + other.block_sectors,
            launch_sectors: self.launch_sectors + other.launch_sectors,
            shared: self.shared + other.shared,
            turns: self.turns + other.turns,
            least_turns: self.least_turns + other.least_turns,
            updates: self.updates + other.updates,
            hottest: self.hottest + other.hottest,
            barriers: self.barriers + other.barriers,
            alone: self.alone + other.alone,
            slowest: self.slowest + other.slowest,
            goes_on: false,
        }
    }

    /// What so many times as many blocks do, if they are like these.
    pub(crate) fn times(self, factor: f64) -> Counts {
        let more = |count: u64| (count as f64 * factor).round() as u64;
        let Counts { kernel, blocks, threads, slowest, goes_on, .. } = self;
        Counts {
            kernel,
            blocks,
            threads,
            slowest,
            goes_on,
            instructions: more(self.instructions),
            by_class: self.by_class.map(more),
            slots: more(self.slots),
            held: more(self.held),
            lanes: more(self.lanes),
            idle: more(self.idle),
            requests: more(self.requests),
            sectors: more(self.sectors),
            lines: more(self.lines),
            block_sectors: more(self.block_sectors),
            launch_sectors: more(self.launch_sectors),
            shared: more(self.shared),
            turns: more(self.turns),
            least_turns: more(self.least_turns),
            updates: more(self.updates),
            hottest: more(self.hottest),
            barriers: more(self.barriers),
            alone: more(self.alone),
        }
    }

    pub(crate) fn instruction(&mut self, class: Class, slots: u32, held: u64, lanes: u32, live: u32) {
        self.instructions += u64::from(slots > 0);
        self.by_class[class as usize] += u64::from(slots > 0);
        self.slots += u64::from(slots);
        self.held += held;
        self.lanes += u64::from(lanes);
        self.idle += u64::from(live - lanes);
    }
}

pub(crate) fn class(op: &Op, ty: Type) -> Class {
    match op {
        Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Fence | Op::Sleep => Class::Memory,
        Op::Compare { .. } | Op::Select | Op::Branch | Op::Return | Op::Call => Class::Control,
        Op::Barrier
        | Op::BarrierVote { .. }
        | Op::WarpBarrier
        | Op::Shuffle(_)
        | Op::Vote(_)
        | Op::Reduce(_)
        | Op::ActiveLanes => Class::Meeting,
        Op::Move | Op::Unary(_) | Op::Binary(_) if ty.kind == Kind::Predicate => Class::Control,
        Op::FusedSum => Class::Float,
        Op::Unary(_) | Op::Binary(_) | Op::Convert { .. } if ty.is_float() => Class::Float,
        Op::Move
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Convert { .. }
        | Op::Address { .. }
        | Op::Product(_)
        | Op::ProductSum(_)
        | Op::ShortProduct
        | Op::SumOfDifferences { .. }
        | Op::FunnelShift { .. }
        | Op::Insert
        | Op::Extract
        | Op::Permute => Class::Integer,
    }
}

/// Sectors by their numbers, which are spread well enough by a product.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

type Set = HashSet<u64, BuildHasherDefault<Spread>>;

/// What a launch has touched so far.
#[derive(Default)]
pub(crate) struct Touched {
    of_block: Set,
    of_launch: Set,
    updated: HashMap<u64, u64, BuildHasherDefault<Spread>>,
}

/// From where the slowest sector of a request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    Near,
    Second,
    Far,
}

impl Touched {
    /// After a barrier over the grid: everything is new, as in another launch, but for what all update, such as the number of those that have come.
    pub(crate) fn next_part(&mut self) {
        self.of_block.clear();
        self.of_launch.clear();
        self.of_launch.extend(self.updated.keys().map(|address| address / SECTOR));
        self.updated.clear();
    }

    pub(crate) fn next_block(&mut self) {
        self.of_block.clear();
    }

    /// A request to device memory of lanes that each touch so many bytes.
    pub(crate) fn request(&mut self, counts: &mut Counts, addresses: &[u64], bytes: u64) -> Distance {
        let mut sectors: Vec<u64> = Vec::with_capacity(addresses.len());
        for address in addresses {
            sectors.extend(address / SECTOR..=(address + bytes - 1) / SECTOR);
        }
        sectors.sort_unstable();
        sectors.dedup();
        counts.requests += 1;
        counts.sectors += sectors.len() as u64;
        let mut farthest = Distance::Near;
        let mut last = u64::MAX;
        for sector in sectors {
            let line = sector / (LINE / SECTOR);
            counts.lines += u64::from(line != last);
            last = line;
            if self.of_block.insert(sector) {
                counts.block_sectors += 1;
                let is_new = self.of_launch.insert(sector);
                counts.launch_sectors += u64::from(is_new);
                farthest = farthest.max(if is_new { Distance::Far } else { Distance::Second });
            }
        }
        farthest
    }

    pub(crate) fn update(&mut self, counts: &mut Counts, addresses: &[u64]) {
        for address in addresses {
            let count = self.updated.entry(*address).or_insert(0);
            *count += 1;
            counts.updates += 1;
            counts.hottest = counts.hottest.max(*count);
        }
    }
}

/// Turns of the banks for a request to shared memory, and how many there are without conflicts. Lanes that read the same word share a turn, updates do not.
pub(crate) fn turns(addresses: &[(usize, u64)], bytes: u64, is_update: bool) -> (u64, u64) {
    // Lanes of wide accesses take turns in halves and quarters of a warp.
    let together = (LINE / bytes.max(WORD)) as usize;
    let (mut turns, mut least) = (0, 0);
    for part in 0..32usize.div_ceil(together) {
        let lanes = addresses.iter().filter(|(lane, _)| lane / together == part);
        let mut words: Vec<u64> = Vec::new();
        for (_, address) in lanes {
            words.extend(address / WORD..=(address + bytes - 1) / WORD);
        }
        if words.is_empty() {
            continue;
        }
        words.sort_unstable();
        if !is_update {
            words.dedup();
        }
        let mut banks = [0u64; 32];
        words.iter().for_each(|word| banks[(word % 32) as usize] += 1);
        turns += banks.into_iter().max().unwrap_or(0);
        least += (words.len() as u64).div_ceil(32);
    }
    (turns, least)
}
