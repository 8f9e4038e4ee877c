//! Plans: how each nest of an entry runs. The one place where levels, tiles and placements are decided.
//!
//! A plan is text: for every nest (a map at host level with all that is inside) an ordered list of lines ([`notation`]), each of which
//! says where an iterator runs and how much of it, which part of an array is kept near, how a fold is cut, where an array lives.
//! [`Mapping`] is what the lines of one nest come to. The planner writes lines from it, lowering reads it from lines.
//!
//! A part of `hidp-build`, which is what build scripts use. Its interface is internal: no version promises anything of it.

use hidp_ir::par::visit::{child_blocks, walk_stmts};
use hidp_ir::par::{Block, Func, Map, StmtKind, VarId};

pub mod target;

mod alone;
mod asked;
mod bits;
mod blame;
mod blocks;
mod bounded;
mod candidates;
mod choices;
mod compose;
mod constraint;
mod copied;
mod cost;
mod counted;
mod cuts;
mod device;
mod device_levels;
mod device_rules;
mod directives;
mod dispatch;
mod estimate;
mod fit;
mod gains;
mod homes;
mod host_rules;
mod indexes;
mod inside;
mod iteration;
mod judge;
mod loads;
mod mapping;
mod measures;
mod moved;
mod near;
pub mod notation;
mod old;
mod packed;
mod parts;
mod pins;
mod prefixes;
mod private;
mod record;
mod refusal;
#[cfg(test)]
mod refusal_tests;
mod registers;
mod score;
pub mod search;
mod shape;
mod short;
mod sizes;
mod split;
mod tails;
#[cfg(test)]
mod testing;
mod tiled;
mod updates;
mod variants;
mod ways;
pub mod wide;
mod work;

pub use asked::{Shown, as_directives, expanded};
pub use bits::{Form, classes};
pub use blocks::{BlockLine, Blocks};
pub use candidates::{Candidate, Explored, Fate, Limits, candidates, constraint, explore};
pub use compose::{
    CodeletFate, Composed, Lack, LeftOut, Promise, Searched, compose, composed, form_of, loops, promise, shown,
};
pub use constraint::{LaneShape, gives_to_team, lane_iterator, lane_shape};
pub use copied::{COPY_PADDING, copied_by_blocks, copied_targets};
pub use cost::{Cost, cost};
pub use cuts::rounds;
pub use device::{
    NEAR, Natives, SEARCHED, SPLIT, explore_device, explore_with_times, is_searched, native_name, scope_of,
};
pub use device_levels::{leaves_values, scans_in_place};
pub use directives::check_directives;
pub use dispatch::{Bound, Condition, Dispatch, Rule, VersionsSet, add_device_rules, add_size, dispatch};
pub use homes::{Home, Reason, array_homes, homes};
pub use indexes::index_vars;
pub use mapping::{Cut, Exec, LevelPlan, Mapping, Misfit, Recipe, Staging, Strategy, Tiling, key};
pub use measures::{Bounds, Measure, MeasureOf, ragged_extent};
pub use moved::{MovedRow, moved_row};
pub use near::{Near, NearArray, NearDim, index_offset, near};
pub use notation::{Nest, Plan};
pub use packed::{Packed, PackedStore, packed};
pub use parts::{Parts, parts};
pub use pins::{Models, PinFile, Pinned, check_pins, pinned, pinned_courses};
pub use prefixes::{prefixes_in_tiles, prefixes_of_library};
pub use private::{Private, Store, direct_segments, private_arrays, repeated_segments};
pub use record::{Record, read_records, stable_hash};
pub use refusal::{CONSTRAINTS, Constraint, Refusal};
pub use registers::is_own;
pub use score::Score;
pub use search::Predictions;
pub use shape::{
    Stride, coefficient, gathers, invariant, irregular, straight, streamed_outputs, stride_of, vectorisable,
};
pub use split::splits;
pub use tails::{Tail, tail};
pub use tiled::{Operand, Tiled, tiled};
pub use updates::{Update, update, updates};
pub use wide::{WideShape, wide_shape};

/// Bytes that one access of a device moves at most.
const MOST_MOVED: u32 = 16;

/// The host-level maps of a function in the order of its text: the nests of a plan.
pub fn nests(func: &Func) -> Vec<&Map> {
    let mut found = Vec::new();
    collect_nests(&func.body, &mut found);
    found
}

fn collect_nests<'a>(block: &'a Block, found: &mut Vec<&'a Map>) {
    for stmt in &block.stmts {
        if let StmtKind::Map(map) = &stmt.kind {
            found.push(map);
        } else {
            child_blocks(stmt).into_iter().for_each(|child| collect_nests(child, found));
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

/// Whether there is a loop of the program in a map.
pub(crate) fn has_loops(map: &Map) -> bool {
    let mut found = false;
    walk_stmts(&map.body, |stmt| found |= matches!(stmt.kind, StmtKind::Loop(_)));
    found
}

/// The maps directly inside a block, those under branches and loops included.
pub fn inner_maps(block: &Block) -> Vec<&Map> {
    let mut found = Vec::new();
    collect_nests(block, &mut found);
    found
}
