//! A warp: its lanes' registers, and which of them go on where.

use crate::instr::{Instr, Operand, Special};
use crate::text::Kernel;

pub(crate) type Lanes = [u64; 32];

/// Lanes that go the same way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) at: usize,
    /// Where they wait for those that went another way.
    pub(crate) end: usize,
    pub(crate) lanes: u32,
}

pub(crate) struct Warp {
    /// Its first thread's number in the block.
    pub(crate) first: u64,
    pub(crate) registers: Vec<Lanes>,
    pub(crate) ways: Vec<Way>,
    /// Lanes that have not returned.
    pub(crate) live: u32,
    pub(crate) local: Vec<u8>,
    pub(crate) clock: Clock,
    pub(crate) vote: Option<BlockVote>,
}

/// What a warp brings to a vote of the block.
#[derive(Clone, Copy)]
pub(crate) struct BlockVote {
    pub(crate) holds: bool,
    /// Whether one that holds is enough.
    pub(crate) any: bool,
    pub(crate) target: usize,
}

/// When the results of a warp that is alone are there: instructions between two branches begin as soon as their operands are there, since the compiler orders them.
#[derive(Default)]
pub(crate) struct Clock {
    ready: Vec<u64>,
    /// When the instructions since the last branch began.
    since: u64,
    slots: u64,
    /// When the last store began.
    pub(crate) stored: u64,
}

impl Clock {
    fn begin(&self, instr: &Instr) -> u64 {
        instr.reads.iter().map(|register| self.ready[*register]).fold(self.since, u64::max)
    }

    /// Notes an instruction whose result takes so many cycles; gives when it begins.
    pub(crate) fn note(&mut self, instr: &Instr, cycles: u64) -> u64 {
        let begin = self.begin(instr);
        let cycles = if instr.slots == 0 { 0 } else { cycles };
        instr.targets.iter().for_each(|target| self.ready[*target] = begin + cycles);
        self.slots += u64::from(instr.slots);
        begin
    }

    /// A branch, before which nothing behind it begins.
    pub(crate) fn turn(&mut self, begin: u64) {
        self.since = begin.max(self.since + self.slots);
        self.slots = 0;
    }

    pub(crate) fn now(&self) -> u64 {
        (self.since + self.slots).max(self.stored)
    }

    pub(crate) fn wait_until(&mut self, time: u64) {
        self.since = time;
        self.slots = 0;
    }
}

/// Position and size of a block in its grid.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) block: [u32; 3],
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: [u32; 3],
}

impl Warp {
    pub(crate) fn new(kernel: &Kernel, first: u64, threads: u64) -> Warp {
        let count = (threads - first).min(32) as u32;
        let lanes = u32::MAX >> (32 - count);
        Warp {
            first,
            registers: vec![[0; 32]; kernel.registers],
            ways: vec![Way { at: 0, end: crate::flow::END, lanes }],
            live: lanes,
            local: vec![0; 32 * kernel.local as usize],
            clock: Clock { ready: vec![0; kernel.registers], ..Clock::default() },
            vote: None,
        }
    }

    pub(crate) fn values(&self, operand: &Operand, position: &Position) -> Lanes {
        match operand {
            Operand::Register(register) => self.registers[*register],
            Operand::Value(value) => [*value; 32],
            Operand::Special(special) => self.special(*special, position),
            Operand::Place { register: None, offset } => [*offset as u64; 32],
            Operand::Place { register: Some(register), offset } => {
                self.registers[*register].map(|value| value.wrapping_add(*offset as u64))
            }
            Operand::Several(_) => unreachable!("several values are taken apart before"),
        }
    }

    fn special(&self, special: Special, position: &Position) -> Lanes {
        let [x, y, _] = position.threads.map(u64::from);
        let of_thread = |lane: u64, dimension: usize| {
            let rank = self.first + lane;
            [rank % x, rank / x % y, rank / (x * y)][dimension]
        };
        std::array::from_fn(|lane| match special {
            Special::Thread(dimension) => of_thread(lane as u64, dimension),
            Special::Threads(dimension) => u64::from(position.threads[dimension]),
            Special::Block(dimension) => u64::from(position.block[dimension]),
            Special::Blocks(dimension) => u64::from(position.blocks[dimension]),
            Special::Lane => lane as u64,
            Special::Warp => self.first / 32,
            Special::LanesBelow => (1 << lane) - 1,
        })
    }

    pub(crate) fn set(&mut self, register: usize, values: &Lanes, lanes: u32) {
        let old = &mut self.registers[register];
        if lanes == u32::MAX {
            *old = *values;
            return;
        }
        for (lane, (old, new)) in old.iter_mut().zip(values).enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = *new;
            }
        }
    }

    /// Lanes for which a predicate holds.
    pub(crate) fn holds(&self, (register, is_not): (usize, bool)) -> u32 {
        let bits = self.registers[register].iter().enumerate();
        let set = bits.fold(0, |set, (lane, value)| set | (u32::from(*value != 0) << lane));
        if is_not { !set } else { set }
    }

    /// Lanes that go on together, after those that wait have been joined; `None` where all have returned.
    pub(crate) fn way(&mut self) -> Option<Way> {
        while let Some(way) = self.ways.last() {
            if way.lanes & self.live != 0 && way.at != way.end {
                return Some(Way { lanes: way.lanes & self.live, ..*way });
            }
            self.ways.pop();
        }
        None
    }

    pub(crate) fn go_to(&mut self, at: usize) {
        if let Some(way) = self.ways.last_mut() {
            way.at = at;
        }
    }

    /// Some of the lanes go to a place, others on, until all meet.
    pub(crate) fn part(&mut self, way: Way, (taken, to): (u32, usize), meets: usize) {
        if meets == way.end {
            self.ways.pop();
        } else {
            self.go_to(meets);
        }
        let others = way.lanes & !taken;
        for (lanes, at) in [(others, way.at + 1), (taken, to)] {
            if lanes != 0 && at != meets {
                self.ways.push(Way { at, end: meets, lanes });
            }
        }
    }
}
