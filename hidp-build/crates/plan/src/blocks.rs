//! Nests whose blocks have the shape that their lines say: each iterator is shared out over the grid, the lanes of a block and turns, in the
//! order of its lines.

use super::blame::{self, span_of};
use super::device_levels::holds_primitives;
use super::mapping::{Exec, LevelPlan, Mapping, Recipe, Strategy, key};
use super::private::private_arrays;
use super::refusal::{BLOCK_THREADS, COVER, DIMS, FAULT_ORDER, HOST, INSIDE, LOOP, MEMORY_SIZE, Refusal};
use super::{choices, inner_maps, iterators};
use crate::target::DeviceModel;
use hidp_ir::par::effects;
use hidp_ir::par::{Func, Map, Program, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};

/// How the outermost map of a nest is shared out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The lines of its iterators, outermost first.
    pub lines: Vec<BlockLine>,
}

/// A line of an iterator: where some of its iterations run, and how many; none takes what the others leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLine {
    /// The iterator.
    pub var: VarId,
    /// Where.
    pub place: Place,
    /// How many.
    pub size: Option<u32>,
}

impl Blocks {
    /// Lanes of a block; none if there are too many to count.
    pub fn threads(&self) -> Option<u32> {
        let lanes = self.lines.iter().filter(|line| matches!(line.place, Place::Thread(_)));
        lanes.map(|line| line.size.unwrap_or(1)).try_fold(1u32, u32::checked_mul)
    }

    /// Positions of the lines of one place, for each dimension that has some, the slowest first.
    pub fn along(&self, place: fn(Axis) -> Place) -> Vec<Vec<usize>> {
        let of = |axis: &Axis| (0..self.lines.len()).filter(|at| self.lines[*at].place == place(*axis)).collect();
        Axis::ALL.iter().rev().map(of).filter(|lines: &Vec<usize>| !lines.is_empty()).collect()
    }

    /// The lines of an iterator, outermost first.
    pub fn of(&self, var: VarId) -> impl Iterator<Item = &BlockLine> {
        self.lines.iter().filter(move |line| line.var == var)
    }

    /// Position of the line whose loop `unroll(4)` before the map writes out: the innermost turns over its last iterator.
    pub fn written_out(&self, map: &Map) -> Option<usize> {
        let last = map.iters.last()?.var;
        self.lines.iter().rposition(|line| line.var == last && line.place == Place::Seq)
    }
}

/// The nest with such blocks; why it cannot run like that otherwise.
pub(super) fn blocks_nest(
    program: &Program,
    func: &Func,
    map: &Map,
    blocks: Blocks,
    model: &DeviceModel,
) -> Result<Mapping, Refusal> {
    judge(program, func, map, &blocks, model)?;
    let mut mapping = with_blocks(map, blocks);
    mapping.joined = choices::is_joined(program, func, map, &mapping);
    Ok(mapping)
}

/// Whether the nest can run in such blocks.
pub(super) fn judge(
    program: &Program,
    func: &Func,
    map: &Map,
    blocks: &Blocks,
    model: &DeviceModel,
) -> Result<(), Refusal> {
    suits(program, func, map, model.small_array)?;
    covers(func, map, blocks)?;
    has_loop(func, map, blocks)?;
    full_warps(map, blocks, model)
}

/// That mapping, whether or not it suits the nest.
pub(super) fn with_blocks(map: &Map, blocks: Blocks) -> Mapping {
    let mut mapping = Mapping::new(Strategy::Device(Level::Thread));
    for (at, iter) in map.iters.iter().rev().enumerate() {
        let level = LevelPlan { exec: Exec::Device(Level::Thread), dim: at as u32, tile: 1 };
        mapping.levels.insert(iter.var, level);
    }
    for var in inner_maps(&map.body).into_iter().flat_map(iterators) {
        mapping.levels.insert(var, LevelPlan { exec: Exec::Seq, dim: 0, tile: 1 });
    }
    mapping.blocks.extend(key(map).map(|key| (key, blocks.threads().unwrap_or(0))));
    mapping.recipe = Recipe::Blocks(blocks);
    mapping
}

/// Whether single lanes can run the iterations of a nest in any order.
pub(super) fn suits(program: &Program, func: &Func, map: &Map, small: u32) -> Result<(), Refusal> {
    if !map.folds.is_empty() {
        let why = "the outermost map folds what its iterations leave, and a block's shape is one of maps that do not";
        return Err(HOST.refused(span_of(map), why));
    }
    if effects::may_fault(program, &func.vars, &map.body) {
        let why =
            "a check remains inside, and lanes that take iterations in another order might fail at a later one first";
        return Err(FAULT_ORDER.refused(blame::check(program, func, map), why));
    }
    if holds_primitives(map) {
        return Err(INSIDE.refused(span_of(map), "a group of lanes runs a primitive, not a single one"));
    }
    let seq = |_: VarId| Some(Exec::Seq);
    let own = private_arrays(program, func, map, Level::Thread, &seq, small);
    match own {
        Ok(own) if own.is_empty() => Ok(()),
        Ok(_) | Err(_) => {
            let why =
                format!("an iteration declares an array of more than {small} bytes, or of a size that is not known");
            Err(MEMORY_SIZE.refused(span_of(map), why))
        }
    }
}

/// Whether the lines of each iterator cover its range once.
pub(super) fn covers(func: &Func, map: &Map, blocks: &Blocks) -> Result<(), Refusal> {
    for iter in &map.iters {
        let name = &func.vars[iter.var].name;
        let rests = blocks.of(iter.var).filter(|line| line.size.is_none()).count();
        if rests != 1 {
            let why = format!("{rests} lines of `{name}` have no size, and one has to take what the others leave");
            return Err(COVER.refused(iter.span, why));
        }
        let unsized_lane = |line: &&BlockLine| line.size.is_none() && !can_take_the_rest(line.place);
        if let Some(line) = blocks.of(iter.var).find(unsized_lane) {
            let why = format!("`{name} {}` has no size, and such lines need one", line.place);
            return Err(COVER.refused(iter.span, why));
        }
        let sized: Option<u32> = blocks.of(iter.var).map(|line| line.size.unwrap_or(1)).try_fold(1, u32::checked_mul);
        if sized.is_none_or(|sized| sized > 1 << 30) {
            return Err(COVER.refused(iter.span, format!("the sizes of `{name}` are too large together")));
        }
    }
    for place in [Place::Grid as fn(Axis) -> Place, Place::Thread] {
        let used = |axis: Axis| blocks.lines.iter().any(|line| line.place == place(axis));
        let gap = [(Axis::X, Axis::Y), (Axis::Y, Axis::Z)].into_iter().find(|(low, high)| !used(*low) && used(*high));
        if let Some((low, high)) = gap {
            let why = format!("`{}` is used without `{}`", place(high), place(low));
            return Err(DIMS.refused(span_of(map), why));
        }
    }
    if !blocks.lines.iter().any(|line| matches!(line.place, Place::Grid(_))) {
        return Err(DIMS.refused(span_of(map), "no iterator is shared out over a grid"));
    }
    Ok(())
}

fn can_take_the_rest(place: Place) -> bool {
    match place {
        Place::Grid(_) | Place::Seq => true,
        Place::Host | Place::Thread(_) | Place::Threads | Place::Lanes | Place::Unroll | Place::Reg | Place::Vec => {
            false
        }
    }
}

/// Whether a loop over the last iterator is left, where a directive asks for it to be written out.
fn has_loop(func: &Func, map: &Map, blocks: &Blocks) -> Result<(), Refusal> {
    match (blocks.written_out(map), no_loop(func, map)) {
        (None, Some(why)) => Err(why),
        (None, None) | (Some(_), _) => Ok(()),
    }
}

/// Why the loop over a map's last iterator is not written out where others share it, if a directive asks for that.
pub(super) fn no_loop(func: &Func, map: &Map) -> Option<Refusal> {
    let (last, times) = (map.iters.last()?, map.directives.unroll?);
    let name = &func.vars[last.var].name;
    let why = format!("`{name}` is shared out, and no loop over it is left for `unroll({times})`");
    Some(LOOP.refused(map.directives.spans.unroll.unwrap_or(last.span), why))
}

fn full_warps(map: &Map, blocks: &Blocks, model: &DeviceModel) -> Result<(), Refusal> {
    let threads = blocks.threads().unwrap_or(u32::MAX);
    if model.is_block(threads) {
        return Ok(());
    }
    let (warp, most) = (model.warp, model.most_threads);
    let why = format!("{threads} threads are no multiple of {warp}, or more than {most}");
    Err(BLOCK_THREADS.refused(span_of(map), why))
}
