//! Which level of a device runs each iterator of a nest.

use super::choices::is_in_loop;
use super::mapping::{Exec, LevelPlan, Mapping, key};
use super::private::is_small;
use super::shape::{Stride, stride_of};
use super::{cuts, inner_maps};
use crate::target::DeviceModel;
use hidp_ir::par::effects::{Effects, may_fault};
use hidp_ir::par::visit;
use hidp_ir::par::{Access, Fold, FoldKind, Func, Map, Place, Program, StmtKind, Target, VarId, VarKind};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;

/// Assigns levels, outermost iterators first, in the order of [`super::iterators`].
pub(super) struct Levels<'a> {
    pub(super) program: &'a Program,
    pub(super) func: &'a Func,
    pub(super) model: &'a DeviceModel,
    pub(super) mapping: Mapping,
}

impl Levels<'_> {
    /// A map that the host meets, run by groups of `level`.
    pub(super) fn launched(&mut self, map: &Map, level: Level) {
        if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            let ordered = map.folds.iter().any(is_ordered);
            let exec = if ordered { Exec::Seq } else { Exec::Device(Level::Thread) };
            self.shared(map, exec, &source_order(map));
            self.inside(map, Level::Thread);
        } else if map.folds.is_empty() && level == Level::Kernel {
            return self.on_host(map);
        } else if leaves_values(self.func, map, level, self.model.small_array) {
            self.shared(map, Exec::Device(level), &source_order(map));
            self.inside(map, level);
        } else if map.folds.is_empty() {
            self.shared(map, Exec::Device(level), &self.order(map));
            self.inside(map, level);
        } else {
            let over = self.fold_level(map, level);
            self.shared(map, over.map_or(Exec::Seq, Exec::Device), &source_order(map));
            self.inside(map, over.unwrap_or(Level::Thread));
        }
        let usual = if self.is_apart(map, level) { self.model.apart } else { self.model.block };
        let block = map.directives.block.unwrap_or(usual);
        self.mapping.blocks.extend(key(map).map(|key| (key, block)));
        usual_cut(self.func, map, self.model, &mut self.mapping);
    }

    /// Whether threads of a block share nothing: neither a fold nor copies of what they update. Launches of a loop of the host are joined
    /// to others, in blocks of one size.
    fn is_apart(&self, map: &Map, level: Level) -> bool {
        let mut updates = false;
        visit::walk_stmts(&map.body, |stmt| updates |= matches!(stmt.kind, StmtKind::Atomic { .. }));
        let in_loop = key(map).is_some_and(|key| is_in_loop(&self.func.body, key));
        level == Level::Thread && map.folds.is_empty() && !updates && !in_loop
    }

    /// Iterations in order on the host; what is inside is launched.
    fn on_host(&mut self, map: &Map) {
        self.shared(map, Exec::Device(Level::Kernel), &source_order(map));
        for inner in inner_maps(&map.body) {
            let deep = !inner_maps(&inner.body).is_empty();
            self.launched(inner, if deep { Level::Block } else { Level::Thread });
        }
    }

    fn shared(&mut self, map: &Map, exec: Exec, order: &[u32]) {
        let levels = map.iters.iter().zip(order).map(|(iter, dim)| (iter.var, LevelPlan { exec, dim: *dim, tile: 1 }));
        self.mapping.levels.extend(levels);
    }

    fn inside(&mut self, map: &Map, scope: Level) {
        inner_maps(&map.body).into_iter().for_each(|inner| self.within(inner, scope));
    }

    /// A map inside of an iteration that a group of level `scope` runs.
    fn within(&mut self, map: &Map, scope: Level) {
        let over = self.below(map, scope);
        self.shared(map, over.map_or(Exec::Seq, Exec::Device), &source_order(map));
        self.inside(map, over.unwrap_or(scope));
    }

    /// The groups that share an inner map's iterations; `None` if all lanes run them in order together.
    fn below(&self, map: &Map, scope: Level) -> Option<Level> {
        let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
        let in_order = map.folds.iter().any(is_ordered) || (scans && !scans_in_place(self.program, self.func, map));
        if scope == Level::Thread || in_order || holds_primitives(map) {
            return None;
        }
        let deep = !inner_maps(&map.body).is_empty();
        let level = if deep && scope == Level::Block { Level::Warp } else { Level::Thread };
        let fits = declared_arrays(self.func, map)
            .into_iter()
            .all(|array| level == Level::Thread && is_small(self.func, array, self.model.small_array));
        fits.then_some(level)
    }

    /// Who takes the iterations of a map with reductions, within the part that a block gets: `None` is one lane, in order. A
    /// block that takes them one after the other has memory for what an iteration declares; its parts have none.
    fn fold_level(&self, map: &Map, level: Level) -> Option<Level> {
        let flat = inner_maps(&map.body).is_empty() && !holds_primitives(map);
        let over = match level {
            _ if map.folds.iter().any(is_ordered) => return None,
            _ if flat => Level::Thread,
            Level::Kernel | Level::Block => Level::Block,
            Level::Warp | Level::Subwarp | Level::Subwarp2 | Level::Thread => level,
        };
        let arrays = declared_arrays(self.func, map);
        let small = |array: &VarId| over == Level::Thread && is_small(self.func, *array, self.model.small_array);
        Some(if arrays.iter().all(small) && !holds_primitives(map) { over } else { Level::Block })
    }

    /// For each iterator its dimension, 0 fastest: neighbouring lanes take the iterator along which most accesses move to the
    /// next element, unless the order of faults is that of the program.
    fn order(&self, map: &Map) -> Vec<u32> {
        let plain = source_order(map);
        if may_fault(self.program, &self.func.vars, &map.body) {
            return plain;
        }
        let declared = Effects::of_block(self.program, &self.func.vars, &map.body).declares;
        let varying: OrdSet<VarId> =
            declared.into_iter().filter(|var| self.func.vars[*var].kind != VarKind::Iter).collect();
        let near = |var: VarId| {
            let mut count = 0;
            visit::walk_places(&map.body, |place, _| {
                count += usize::from(stride_of(place, var, &varying) == Stride::Unit);
            });
            count
        };
        let best = (0..map.iters.len()).max_by_key(|&at| (near(map.iters[at].var), at));
        let Some(best) = best else { return plain };
        plain.iter().enumerate().map(|(at, dim)| if at == best { 0 } else { dim + u32::from(at > best) }).collect()
    }
}

/// Whether the values of a map's prefix folds can be left where the prefixes belong, neighbour by neighbour, for a primitive to
/// make prefixes of them.
pub fn scans_in_place(program: &Program, func: &Func, map: &Map) -> bool {
    let [iter] = &map.iters[..] else { return false };
    let body = Effects::of_block(program, &func.vars, &map.body);
    let places: Option<Vec<&Place>> = map.folds.iter().map(target_place).collect();
    let Some(places) = places else { return false };
    let apart = |at: usize| places[..at].iter().all(|other| other.array != places[at].array);
    iter.step.as_int() == Some(1)
        && places.iter().enumerate().all(|(at, place)| {
            let touched = body.reads.contains(&place.array) || body.writes.contains(&place.array);
            let near = stride_of(place, iter.var, &body.declares) == Stride::Unit;
            near && apart(at) && !touched && place.path.is_empty() && place.access == Access::Exclusive
        })
}

fn target_place(fold: &Fold) -> Option<&Place> {
    match &fold.target {
        Target::Element(place) => Some(place),
        Target::Scalar(_) => None,
    }
}

/// How a launched map cuts the range that it folds.
fn usual_cut(func: &Func, map: &Map, model: &DeviceModel, mapping: &mut Mapping) {
    let reduces = !map.folds.is_empty() && map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
    let exec = key(map).and_then(|key| mapping.exec(key));
    if let (true, Some(Exec::Device(level))) = (reduces, exec) {
        let values = leaves_values(func, map, level, model.small_array);
        mapping.cuts.extend(key(map).map(|key| (key, cuts::on_device(map, values, model))));
    }
}

/// The same of all maps of a nest that are launched.
pub(super) fn usual_cuts(func: &Func, map: &Map, model: &DeviceModel, mapping: &mut Mapping) {
    let exec = |var| mapping.exec(var);
    for launched in super::private::launched(map, &exec) {
        usual_cut(func, launched, model, mapping);
    }
}

/// The last iterator varies fastest.
fn source_order(map: &Map) -> Vec<u32> {
    (0..map.iters.len() as u32).rev().collect()
}

/// Whether groups of `level` that run the iterations of a map leave its values for another launch to fold: part of a block, they would
/// have no memory for what an iteration declares.
pub fn leaves_values(func: &Func, map: &Map, level: Level, small: u32) -> bool {
    let folds = &map.folds;
    let in_any_order = folds.iter().all(|fold| fold.kind == FoldKind::Reduce && !is_ordered(fold));
    let part = !matches!(level, Level::Kernel | Level::Block);
    let own = |array: &VarId| level != Level::Thread || !is_small(func, *array, small);
    let deep = !inner_maps(&map.body).is_empty() || holds_primitives(map);
    let needs = deep && (holds_primitives(map) || declared_arrays(func, map).iter().any(own));
    !folds.is_empty() && in_any_order && part && needs
}

/// Whether only the order of the iterations gives the right result.
pub(super) fn is_ordered(fold: &Fold) -> bool {
    fold.op.ordered && fold.op.ty.scalar().is_none_or(|scalar| scalar.is_float())
}

/// Whether an iteration calls a primitive.
pub(super) fn holds_primitives(map: &Map) -> bool {
    let mut found = false;
    visit::walk_stmts(&map.body, |stmt| found |= matches!(stmt.kind, StmtKind::Prim(_)));
    found
}

fn declared_arrays(func: &Func, map: &Map) -> Vec<VarId> {
    visit::declared(&map.body).into_iter().filter(|var| func.vars[*var].is_array()).collect()
}

#[cfg(test)]
mod tests {
    use crate::target::DeviceModel;
    use crate::testing::optimised;
    use crate::{Limits, Natives, explore_device};

    /// The blocks of the launches of the plan with this name.
    fn blocks(text: &str, plan: &str) -> String {
        let program = optimised(text);
        let func = *program.entries.last().expect("an entry");
        let plans = explore_device(&program, func, &DeviceModel::cuda(), Limits::default(), Natives::Everywhere).plans;
        let plan = plans.iter().find(|own| own.name == plan).expect("a plan of this name").to_string();
        plan.lines().map(str::trim).filter(|line| line.starts_with("block")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn blocks_are_small_where_threads_share_nothing() {
        let scaled = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        let asked = "function f input float x[N]; output float y[N];
            {
            #pragma hidp block(512)
            map { n := [0:N); y[n] = 2 * x[n]; } }";
        let folded = "function f input float x[N]; output float s;
            { map { n := [0:N); _t = x[n]; } reduce(\"+\", s, _t, n := [*]); }";
        let counted = "function f input uint8 x[N]; output uint y[256];
            { y = 0; map { n := [0:N); atomic y[x[n]] += 1; } }";
        let rows = "function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
        let looped = "function f input int steps; inout float x[N];
            { for (int s = 0; s < steps; s += 1) { map { n := [0:N); x[n] = 2 * x[n]; } } }";
        let table = [
            (scaled, "thread", "block(128)"),
            (asked, "thread", "block(512)"),
            (folded, "thread", "block(256)"),
            (counted, "thread", "block(128) block(256)"),
            (rows, "thread", "block(128)"),
            (rows, "warp", "block(256)"),
            (looped, "thread", "block(256)"),
        ];
        for (text, plan, expected) in table {
            assert_eq!(blocks(text, plan), expected, "{plan} of {text}");
        }
    }
}
