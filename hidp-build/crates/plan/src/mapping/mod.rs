//! The meaning of the lines of a nest: names resolved to variables, and lines to levels, blocks, tiles and cuts, as the planner chooses them
//! and lowering needs them.
//!
//! A plan holds lines only. [`Mapping::lines`] writes the planner's choice, [`Mapping::read`] reads it back, and rejects lines that it would
//! write differently: so no line is read and then ignored.

mod names;
mod read;
mod read_device;
#[cfg(test)]
mod tests;
mod write;
mod write_device;

use std::fmt;

use super::notation::{FoldOption, Property};
use super::{Blocks, LaneShape, MOST_MOVED, Near, Tiled, WideShape};
use hidp_ir::par::{Map, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdMap;

pub(super) use names::Names;
pub(super) use read::strategy_of_threads;
pub(super) use write_device::level_of;

/// How a nest runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// What it is called in short.
    pub strategy: Strategy,
    /// How each iterator runs.
    pub levels: OrdMap<VarId, LevelPlan>,
    /// Threads of a block of each map that is launched, by its [`key`].
    pub blocks: OrdMap<VarId, u32>,
    /// How many iterations a thread takes side by side, of each map that is launched, by its [`key`]; none where it takes one.
    pub items: OrdMap<VarId, u32>,
    /// Threads of a multiprocessor that registers are left for, of each map that is launched, by its [`key`]; none where that is left to
    /// the compiler of the device.
    pub resident: OrdMap<VarId, u32>,
    /// How the range of each map that folds is cut, by its [`key`]; none where one thread or group takes it as it is.
    pub cuts: OrdMap<VarId, Cut>,
    /// Parts of arrays that a block copies to where its threads share them.
    pub staging: Vec<Staging>,
    /// Parts of the fold inside, if groups of their own take so many of them.
    pub parts: Option<u32>,
    /// Threads of a processor at most; none if all may.
    pub threads: Option<u32>,
    /// Arrays that are written past the caches when they are large.
    pub streamed: Vec<VarId>,
    /// Arrays of which each thread has a copy that it updates without atoms, or each block of a device one that its threads update, where they
    /// are small.
    pub copied: Vec<VarId>,
    /// Whether one grid may do its launches and those around them.
    pub joined: bool,
    /// What else is chosen, by a number each: what is done where sizes allow it.
    pub choices: Vec<Property>,
    /// The maps whose iterations have rows that may be written out, by their [`key`].
    pub rows: Vec<VarId>,
    /// The maps inside of iterations that have tiles of lanes, by their [`key`].
    pub inside: Vec<VarId>,
    /// What the nest is made for, besides its levels.
    pub recipe: Recipe,
}

/// Threads of a warp: those of a line `thread.x(32)`.
pub(super) const WARP: u32 = 32;

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
    /// Threads share the outermost iterators; vector lanes hold whole iterations, all that is inside runs in order.
    Wide,
    /// On a graphics processor: the groups of this level share the iterations of the outermost map.
    Device(Level),
}

impl Strategy {
    /// Every strategy of multicore processors.
    pub const ALL: [Strategy; 5] = [Strategy::Rows, Strategy::Lanes, Strategy::Team, Strategy::Serial, Strategy::Wide];

    /// Its name in plans and symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Rows => "rows",
            Strategy::Lanes => "lanes",
            Strategy::Team => "team",
            Strategy::Serial => "serial",
            Strategy::Wide => "wide",
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
    /// Whole, in vector lanes, so many vectors together as its tile says.
    Wide,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// What its line says, in the order of the registry.
    pub options: Vec<FoldOption>,
    /// Iterations leave their values in memory; what is cut is the range of those.
    pub values: bool,
}

impl Cut {
    /// One with these options.
    pub fn of(options: impl IntoIterator<Item = FoldOption>) -> Self {
        let mut options: Vec<FoldOption> = options.into_iter().collect();
        options.sort();
        Cut { options, values: false }
    }

    /// The number behind a word, if the line has it: `cut.number(FoldOption::Runs)`.
    pub fn number(&self, word: fn(u32) -> FoldOption) -> Option<u32> {
        FoldOption::number_of(&self.options, word)
    }

    /// Changes the number behind a word that the line has.
    pub fn change(&mut self, word: fn(u32) -> FoldOption, change: impl FnOnce(u32) -> u32) {
        let found = self.options.iter_mut().find_map(|option| {
            let number = FoldOption::number_of(std::slice::from_ref(option), word)?;
            Some((option, number))
        });
        if let Some((option, number)) = found {
            *option = word(change(number));
        }
    }
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
#[derive(Clone, Debug, PartialEq)]
pub enum Recipe {
    /// Levels say all.
    Plain,
    /// Tiles of vector lanes, perhaps over several rows.
    Lanes(LaneShape),
    /// Whole iterations in lanes.
    Wide(WideShape),
    /// Blocks keep what neighbouring iterations read.
    Near(Near),
    /// Blocks keep the operands of tiles of results, and each lane some results.
    Tiled(Tiling),
    /// Blocks have the shape that lines say.
    Blocks(Blocks),
}

/// Tiles of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiling {
    /// What the fold loads.
    pub tiled: Tiled,
    /// Rows of results that a lane has.
    pub rows: u32,
    /// Columns of results that a lane has.
    pub columns: u32,
    /// Elements of an operand that one access moves, where they are neighbours.
    pub vector: u32,
    /// Blocks that share the tiles along rows and along columns; none where there is one for each tile.
    pub blocks: [Option<u32>; 2],
}

impl Mapping {
    /// One of a strategy, without anything in it.
    pub fn new(strategy: Strategy) -> Self {
        Mapping {
            strategy,
            levels: OrdMap::new(),
            blocks: OrdMap::new(),
            items: OrdMap::new(),
            resident: OrdMap::new(),
            cuts: OrdMap::new(),
            staging: Vec::new(),
            parts: None,
            threads: None,
            streamed: Vec::new(),
            copied: Vec::new(),
            joined: false,
            choices: Vec::new(),
            rows: Vec::new(),
            inside: Vec::new(),
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

    /// The number behind the word of a choice, if it is made: `mapping.number(Property::Turns)`.
    pub fn number(&self, word: fn(u32) -> Property) -> Option<u32> {
        Property::number_of(&self.choices, word)
    }

    /// The iterator of a launched map along which neighbouring threads have neighbouring iterations.
    pub(super) fn fastest(&self, map: &Map) -> Option<VarId> {
        let dim = |var: VarId| self.levels.get(&var).map(|level| level.dim);
        map.iters.iter().map(|iter| iter.var).find(|var| dim(*var) == Some(0))
    }

    /// What groups of their own take parts of, if they do.
    pub fn is_split(&self) -> bool {
        self.parts.is_some() || self.cuts.values().any(|cut| cut.number(FoldOption::Groups).is_some())
    }

    /// The iterator, among a map's, of which a tile of lanes has several rows.
    pub fn rows_of_tile(&self, map: &Map) -> Option<usize> {
        let tile = |at: &usize| self.levels.get(&map.iters[*at].var).map_or(1, |level| level.tile);
        (0..map.iters.len().saturating_sub(1)).find(|at| tile(at) > 1)
    }

    /// Whether iterations run in vector lanes.
    pub fn in_vectors(&self) -> bool {
        self.levels.values().any(|level| matches!(level.exec, Exec::Simd | Exec::Lanes | Exec::Wide))
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
