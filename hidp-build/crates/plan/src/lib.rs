//! Plans: how each nest of an entry runs. The one place where levels, tiles and placements are decided.
//!
//! A plan says for every nest (a map at host level with all that is inside) which strategy it follows, for every iterator
//! of it the execution level, the order, the tile size and whether a part covers the range at once (`span`) or takes
//! turns (`split`), and where arrays live. A plan prints as text and reads back. What it does not mention runs in order.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

use hidp_ir::par::{Block, Func, Map, StmtKind, VarId};
use hidp_syntax::ast;

pub mod target;

mod candidates;
mod constraint;
mod cost;
mod device;
mod device_levels;
mod device_pins;
mod device_rules;
mod directives;
mod dispatch;
mod host_rules;
mod indexes;
mod iteration;
mod measures;
mod near;
pub mod notation;
mod pins;
mod private;
mod record;
mod score;
mod shape;
mod split;
#[cfg(test)]
mod testing;
mod text;
mod tiled;
mod variants;
mod work;

pub use candidates::{Considered, Explored, Fate, Limits, candidates, constraint, explore};
pub use constraint::{Constraint, LaneShape, gives_to_team, lane_iterator, lane_shape};
pub use cost::{Cost, cost};
pub use device::{DeviceExplored, DeviceFate, NEAR, Natives, Obstacle, SPLIT, explore_device, native_name};
pub use device_levels::{leaves_values, scans_in_place};
pub use directives::check_directives;
pub use dispatch::{Bound, Condition, Dispatch, Rule, add_device_rules, dispatch};
pub use indexes::index_vars;
pub use measures::{Bounds, Measure, MeasureOf, ragged_extent};
pub use near::{Far, Near, NearArray, NearDim, index_offset, near};
pub use pins::{Models, PinFile, Pinned, check_pins, pinned};
pub use private::{Private, Store, direct_segments, private_arrays, repeated_segments};
pub use record::{Record, read_records, stable_hash};
pub use score::Score;
pub use shape::{Stride, coefficient, invariant, irregular, straight, streamed_outputs, stride_of, vectorisable};
pub use split::splits;
pub use text::PlanError;
pub use tiled::{Operand, Tiled, tiled};

/// Bytes that one access of a device moves at most.
const MOST_MOVED: u32 = 16;

/// How one version of an entry runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// An identifier, unique among the entry's plans.
    pub name: String,
    /// Host-level maps in the order of the program text.
    pub nests: Vec<Nest>,
}

/// How one nest runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// What it is called in short.
    pub strategy: Strategy,
    /// Iterators in the order of [`iterators`].
    pub levels: Vec<LevelPlan>,
    /// Arrays that do not live where they would by default.
    pub places: Vec<Placement>,
    /// Device: parts of arrays that a block copies to where its threads share them, or a lane keeps for itself.
    pub staging: Vec<Staging>,
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
    Device(ast::Level),
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
    /// A level of a graphics processor.
    Device(ast::Level),
}

/// Whether one child covers a range at once or parts of it take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The whole range at once.
    Span,
    /// Parts.
    Split,
    /// Of a fold on a device: about so many groups in all get parts, and another launch folds what they leave. The level's
    /// `tile` is how many iterations a part has at least, where they are not those of a tile.
    Dealt(u32),
}

/// How one iterator runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelPlan {
    /// Its name, for readers.
    pub iter: String,
    /// Where.
    pub exec: Exec,
    /// Position in the level's order: 0 varies fastest.
    pub dim: u32,
    /// Iterations that belong together: the rows or columns of a tile, the block of a fold; 1 if none. Of what a device's
    /// grid shares out: threads of a block.
    pub tile: u32,
    /// Whether parts take turns.
    pub share: Share,
}

/// Where an array lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Its name, for readers.
    pub array: String,
    /// Which variable of the function it is.
    pub var: u32,
    /// Where.
    pub memory: Memory,
}

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Written past the caches when it is large.
    Stream,
}

/// A part of an array that a group keeps near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staging {
    /// The array's name, for readers.
    pub array: String,
    /// Which variable of the function it is.
    pub var: u32,
    /// Where, and what for.
    pub kind: Stage,
    /// Extents of the part as it is stored, outermost first.
    pub tile: Vec<u32>,
    /// How many of them there are: with two, one is filled while the other is used.
    pub buffers: u32,
    /// Elements between the end of a row of the part and the next row.
    pub pad: u32,
}

/// What a group keeps a part of an array for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// In shared memory, in the array's order of dimensions: many iterations of the tile use each element.
    Rows,
    /// In shared memory, last dimension first: lanes that are neighbours load along it, and use it across.
    Transposed,
    /// In shared memory, with the elements around that iterations at the tile's edges use.
    Halo,
    /// In registers of each lane: what its iterations fold.
    Registers,
}

impl Stage {
    /// Every kind.
    pub const ALL: [Stage; 4] = [Stage::Rows, Stage::Transposed, Stage::Halo, Stage::Registers];

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Rows => "rows",
            Stage::Transposed => "transposed",
            Stage::Halo => "halo",
            Stage::Registers => "registers",
        }
    }
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

impl Plan {
    /// Whether two plans run alike.
    pub fn same_as(&self, other: &Plan) -> bool {
        self.nests == other.nests
    }

    /// Whether it is for devices. One without nests is if it is called like a level of theirs.
    pub fn is_for_device(&self) -> bool {
        let level = || ast::Level::ALL.iter().any(|level| level.name() == self.name);
        self.nests.first().map_or_else(level, |nest| matches!(nest.strategy, Strategy::Device(_)))
    }
}

impl Nest {
    /// What is kept of an array, and how.
    pub fn staged(&self, array: VarId, kind: Stage) -> Option<&Staging> {
        use hidp_syntax::index::Id;
        self.staging.iter().find(|staging| staging.var as usize == array.index() && staging.kind == kind)
    }
    /// Whether a part of an array is kept in this way.
    pub fn stages(&self, kind: Stage) -> bool {
        self.staging.iter().any(|staging| staging.kind == kind)
    }
    /// Whether blocks keep what iterations share or lanes would load with gaps.
    pub fn is_near(&self) -> bool {
        (self.stages(Stage::Halo) || self.stages(Stage::Transposed)) && !self.stages(Stage::Registers)
    }
    /// Whether groups of their own take parts of a fold.
    pub fn is_split(&self) -> bool {
        self.levels.iter().any(|level| matches!(level.share, Share::Dealt(_)))
    }
    /// Whether writes to `array` go past the caches when it is large.
    pub fn streams(&self, array: VarId) -> bool {
        use hidp_syntax::index::Id;
        self.places.iter().any(|place| place.memory == Memory::Stream && place.var as usize == array.index())
    }
}

/// The host-level maps of a function in the order of its text: the nests of a plan.
pub fn nests(func: &Func) -> Vec<&Map> {
    let mut found = Vec::new();
    collect_nests(&func.body, &mut found);
    found
}

fn collect_nests<'a>(block: &'a Block, found: &mut Vec<&'a Map>) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Map(map) => found.push(map),
            StmtKind::If { then, otherwise, .. } => {
                collect_nests(then, found);
                collect_nests(otherwise, found);
            }
            StmtKind::Loop(node) => {
                collect_nests(&node.body, found);
                collect_nests(&node.step, found);
            }
            StmtKind::Scope(body) => collect_nests(body, found),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
    }
}

/// All iterators of a nest, those of outer maps first.
pub fn iterators(map: &Map) -> Vec<VarId> {
    let mut found: Vec<VarId> = map.iters.iter().map(|iter| iter.var).collect();
    for inner in inner_maps(&map.body) {
        found.extend(iterators(inner));
    }
    found
}

/// The maps directly inside a block, those under branches and loops included.
pub fn inner_maps(block: &Block) -> Vec<&Map> {
    let mut found = Vec::new();
    collect_nests(block, &mut found);
    found
}
