//! What the lines of a nest come to: names are variables, and lines are levels, blocks, tiles and cuts, as the planner chooses them and
//! lowering asks for them.
//!
//! A plan holds lines alone. [`Mapping::lines`] writes what the planner chose, [`Mapping::read`] gives it back to whoever runs it, and
//! refuses lines that it would write differently: so no line is read and then ignored.

mod names;
mod read;
mod read_device;
#[cfg(test)]
mod tests;
mod write;
mod write_device;

use std::collections::BTreeMap;
use std::fmt;

use super::{LaneShape, MOST_MOVED, Near, Tiled};
use hidp_ir::par::{Map, VarId};
use hidp_syntax::ast::Level;

pub(super) use names::Names;
pub(super) use read::strategy_of_threads;
pub(super) use write_device::level_of;

/// How a nest runs.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// What it is called in short.
    pub strategy: Strategy,
    /// How each iterator runs.
    pub levels: BTreeMap<VarId, LevelPlan>,
    /// Threads of a block of each map that is launched, by its [`key`].
    pub blocks: BTreeMap<VarId, u32>,
    /// How the range of each map that folds is cut, by its [`key`]; none where one thread or group takes it as it is.
    pub cuts: BTreeMap<VarId, Cut>,
    /// Parts of arrays that a block copies to where its threads share them.
    pub staging: Vec<Staging>,
    /// Arrays that are written past the caches when they are large.
    pub streamed: Vec<VarId>,
    /// What is done where sizes allow it.
    pub by_size: BySize,
    /// The maps whose iterations have such rows, by their [`key`].
    pub rows: Vec<VarId>,
    /// What the nest is made for, besides its levels.
    pub recipe: Recipe,
}

/// What a nest on threads does where the sizes of a call allow it, each with the size at which it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BySize {
    /// Operations of an iteration from which on all threads share it, one after the other, where there are fewer than threads.
    pub together: Option<u32>,
    /// Elements up to which rows are written out, with lanes over the iterations around.
    pub written: Option<u32>,
    /// Neighbours below which rows run rather than tiles of lanes.
    pub fewest: Option<u32>,
    /// Rows up to which a tile loads what it needs by itself, rather than from a copy made for all.
    pub alone: Option<u32>,
    /// Iterations of a part, of unequal ones, which are taken in turn.
    pub turns: Option<u32>,
    /// About so many of these parts there should be, if they can be shorter.
    pub parts: Option<u32>,
}

/// What a map is known by in a [`Mapping`]: its last iterator.
pub fn key(map: &Map) -> Option<VarId> {
    map.iters.last().map(|iter| iter.var)
}

/// A named way of composing levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// Threads share the outermost iterators, the innermost map is vectorised.
    Rows,
    /// Threads share tiles; lanes hold neighbouring iterations of the innermost parallel iterator, reductions run outside of
    /// them and accumulate in a tile.
    Lanes,
    /// Outermost iterations one after the other; all threads work on the maps inside each.
    Team,
    /// One thread.
    Serial,
    /// On a graphics processor: the groups of this level share the iterations of the outermost map.
    Device(Level),
}

impl Strategy {
    /// Every strategy of multicore processors.
    pub const ALL: [Strategy; 4] = [Strategy::Rows, Strategy::Lanes, Strategy::Team, Strategy::Serial];

    /// Its name in plans and symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Rows => "rows",
            Strategy::Lanes => "lanes",
            Strategy::Team => "team",
            Strategy::Serial => "serial",
            Strategy::Device(level) => level.name(),
        }
    }
}

/// Where the iterations of an iterator run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exec {
    /// On the host, which starts all threads for what is inside.
    Team,
    /// Shared out over threads.
    Thread,
    /// In vector lanes, results in a tile, reductions outside.
    Lanes,
    /// In vector lanes.
    Simd,
    /// In order.
    Seq,
    /// Shared out over the groups of a graphics processor's level, or, of the whole device, one after the other on the host.
    Device(Level),
}

/// How one iterator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPlan {
    /// Where.
    pub exec: Exec,
    /// Position in the order of its map's iterators: 0 varies fastest.
    pub dim: u32,
    /// Iterations that belong to one tile, or planes that a block takes one after the other; 1 if there is none of both.
    pub tile: u32,
}

/// How the range of a fold is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Iterations of a run at least; the results of runs are folded by themselves.
    pub runs: Option<u32>,
    /// Runs at most: they get longer instead.
    pub most: Option<u32>,
    /// About so many groups in all get parts, and another launch folds what they leave.
    pub groups: Option<u32>,
    /// Iterations of such a part at least.
    pub terms: Option<u32>,
    /// Iterations leave their values in memory; what is cut is the range of those.
    pub values: bool,
}

/// A part of an array that a block shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staging {
    /// The array.
    pub array: VarId,
    /// Whether its last dimension comes first.
    pub turned: bool,
    /// Extents of the part as it is stored, outermost first.
    pub tile: Vec<u32>,
    /// How many of them there are: with two, one is filled while the other is used.
    pub buffers: u32,
    /// Elements between the end of a row of the part and the next row.
    pub pad: u32,
}

impl Staging {
    /// Elements from one row of the stored part to the next.
    pub fn pitch(&self) -> u32 {
        self.tile.last().map_or(0, |row| row + self.pad)
    }
    /// Elements of one buffer.
    pub fn elements(&self) -> u32 {
        let rows: u32 = self.tile.iter().rev().skip(1).product();
        rows * self.pitch()
    }
    /// Bytes of all buffers in shared memory, each as aligned as the widest access, if elements have `size`.
    pub fn bytes(&self, size: u32) -> u32 {
        self.buffers * (self.elements() * size).next_multiple_of(MOST_MOVED)
    }
}

/// What a nest is made for, with what was found out about it.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// Levels say all.
    Plain,
    /// Tiles of vector lanes, perhaps over several rows.
    Lanes(LaneShape),
    /// Blocks keep what neighbouring iterations read.
    Near(Near),
    /// Blocks keep the operands of tiles of results, and each lane some results.
    Tiled(Tiling),
}

/// Tiles of results.
#[derive(Clone, Debug)]
pub struct Tiling {
    /// What the fold loads.
    pub tiled: Tiled,
    /// Rows of results that a lane has.
    pub rows: u32,
    /// Columns of results that a lane has.
    pub columns: u32,
}

impl Mapping {
    /// One of a strategy, without anything in it.
    pub fn new(strategy: Strategy) -> Self {
        Mapping {
            strategy,
            levels: BTreeMap::new(),
            blocks: BTreeMap::new(),
            cuts: BTreeMap::new(),
            staging: Vec::new(),
            streamed: Vec::new(),
            by_size: BySize::default(),
            rows: Vec::new(),
            recipe: Recipe::Plain,
        }
    }

    /// How an iterator runs.
    pub fn exec(&self, var: VarId) -> Option<Exec> {
        self.levels.get(&var).map(|level| level.exec)
    }

    /// How the range of a map's folds is cut.
    pub fn cut(&self, map: &Map) -> Option<&Cut> {
        self.cuts.get(&key(map)?)
    }

    /// What groups of their own take parts of, if they do.
    pub fn is_split(&self) -> bool {
        self.cuts.values().any(|cut| cut.groups.is_some())
    }

    /// Whether iterations run in vector lanes.
    pub fn in_vectors(&self) -> bool {
        self.levels.values().any(|level| matches!(level.exec, Exec::Simd | Exec::Lanes))
    }
}

/// Why lines are none that a nest can run by: what should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit(pub String);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
