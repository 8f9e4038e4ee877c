//! Lines as mappings of graphics processors.

use super::read::{Lines, Resolved, cut_of, dim_of};
use super::write_device::{NOT_SAID, level_of, part_axis};
use super::{Cut, Exec, LevelPlan, Mapping, Misfit, Recipe, Staging, Strategy, Tiling, key};
use crate::blocks::{BlockLine, Blocks, covers, suits, with_blocks};
use crate::choices::{self, Facts, Found};
use crate::notation::{Axis, FoldOption, Place, Size};
use crate::tiled::MOST_COPIES;
use crate::{MOST_MOVED, NearArray, inner_maps, iterators, near, private, splits, tiled};
use hidp_ir::par::{FoldKind, Func, Map, Program, VarId};
use hidp_syntax::ast::Level;

const LANES: Place = Place::Thread(Axis::X);
const GROUPS: Place = Place::Thread(Axis::Y);
/// Most iterations along a side of a tile that a block keeps.
const MOST_SIDE: u32 = 4096;

// Which parts of arrays a block shares follows from the nest and its tiles. `stage` lines are compared when they are written again.
impl Lines {
    pub(super) fn on_device(&self, program: &Program, func: &Func, map: &Map) -> Result<Mapping, Misfit> {
        let mut mapping = Mapping::new(Strategy::Device(Level::Thread));
        let parts = self.parts(map);
        let split = parts.is_some() || self.parts_follow_from_groups();
        if split && let Err(why) = splits(program, func, map) {
            return Err(Misfit(format!("folds that a plan deals out suit the nest, but {why}")));
        }
        let has_tiles = |var: VarId| {
            let lanes = |line: &Resolved| line.place == Place::Reg || (line.place == GROUPS && line.vars.len() == 1);
            self.lines_of(var).any(lanes)
        };
        if !self.stages.is_empty() && map.iters.iter().any(|iter| has_tiles(iter.var)) {
            mapping.parts = parts;
            self.tiled(program, func, map, &mut mapping)?;
        } else if !self.stages.is_empty() {
            self.near(program, func, map, &mut mapping)?;
        } else if split {
            self.split(map, &mut mapping);
            mapping.parts = parts;
        } else if let Some(blocks) = self.shaped(map) {
            let fits = suits(program, func, map, u32::MAX).and_then(|()| covers(func, map, &blocks));
            fits.map_err(|why| Misfit(format!("blocks may have any shape, but {why}")))?;
            mapping = with_blocks(map, blocks);
        } else {
            self.launched(map, &mut mapping);
            mapping.strategy = self.strategy(map, &mapping);
        }
        mapping.cuts = self.cuts.clone();
        self.values(map, &mapping.levels.clone(), &mut mapping);
        self.blocks_of(map, &mut mapping)?;
        self.loads_of(map, &mut mapping)?;
        mapping.choices = self.choices();
        mapping.joined = self.joined;
        choices::judge_on_device(&Facts { program, func, nest: map, mapping: &mapping, found: &Found::default() })?;
        Ok(mapping)
    }

    /// Parts of the fold inside, if a line of the grid says how many.
    fn parts(&self, map: &Map) -> Option<u32> {
        let inside: Vec<VarId> = inner_maps(&map.body).into_iter().flat_map(iterators_of).collect();
        let axis = part_axis(map);
        inside.into_iter().find_map(|var| self.count(var, axis)).filter(|parts| *parts > 0)
    }

    /// Whether a fold has as many parts as make a number of groups.
    fn parts_follow_from_groups(&self) -> bool {
        self.cuts.values().any(|cut| cut.number(FoldOption::Groups).is_some())
    }

    fn put(&self, mapping: &mut Mapping, map: &Map, exec: Exec) {
        for iter in &map.iters {
            mapping.levels.insert(iter.var, LevelPlan { exec, dim: dim_of(map, iter.var), tile: 1 });
        }
    }

    /// Positions in a grid: the slowest dimension stands first.
    fn put_grid(&self, mapping: &mut Mapping, map: &Map, exec: Exec) {
        let own = iterators_of(map);
        let in_grid = |var: &VarId| {
            self.steps.iter().position(|line| matches!(line.place, Place::Grid(_)) && line.vars == [*var])
        };
        let mut order = own.clone();
        order.sort_by_key(|var| in_grid(var).unwrap_or(usize::MAX));
        for (at, var) in order.iter().rev().enumerate() {
            mapping.levels.insert(*var, LevelPlan { exec, dim: at as u32, tile: 1 });
        }
    }

    /// A map that the host meets.
    fn launched(&self, map: &Map, mapping: &mut Mapping) {
        let Some(last) = key(map) else { return };
        let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
        if self.runs_at(last, Place::Host) {
            self.put(mapping, map, Exec::Device(Level::Kernel));
            return inner_maps(&map.body).into_iter().for_each(|inner| self.launched(inner, mapping));
        }
        let scope = self.scope(map);
        let in_turn = self.runs_at(last, Place::Seq);
        match (self.runs_at(last, Place::Grid(Axis::X)), in_turn) {
            _ if map.folds.is_empty() => {
                self.put_grid(mapping, map, Exec::Device(scope));
                self.inside(map, scope, mapping);
            }
            (false, _) => {
                self.put(mapping, map, Exec::Seq);
                self.inside(map, Level::Thread, mapping);
            }
            (true, _) if scans => {
                self.put(mapping, map, Exec::Device(Level::Thread));
                self.inside(map, Level::Thread, mapping);
            }
            (true, false) => {
                self.put(mapping, map, Exec::Device(scope));
                self.inside(map, scope, mapping);
            }
            (true, true) => {
                let over = if self.runs_at(last, LANES) {
                    Level::Thread
                } else if self.runs_at(last, GROUPS) {
                    scope
                } else {
                    Level::Block
                };
                self.put(mapping, map, Exec::Device(over));
                self.inside(map, over, mapping);
            }
        }
    }

    /// The groups that run the iterations of a map: what is inside says how many lanes they have.
    fn scope(&self, map: &Map) -> Level {
        let inside: Vec<VarId> = inner_maps(&map.body).into_iter().flat_map(iterators).collect();
        let own = iterators_of(map);
        let about = |var: &VarId, within: bool| inside.contains(var) || (within && own.contains(var));
        let found = |place: Place| {
            self.steps.iter().find(|line| line.place == place && line.vars.iter().any(|var| about(var, line.inside)))
        };
        match (found(GROUPS), found(LANES)) {
            (Some(_), _) => Level::Block,
            (None, Some(line)) => level_of(&line.size).unwrap_or(Level::Thread),
            (None, None) => Level::Thread,
        }
    }

    fn inside(&self, map: &Map, scope: Level, mapping: &mut Mapping) {
        for inner in inner_maps(&map.body) {
            let Some(last) = key(inner) else { continue };
            let over = if scope == Level::Thread {
                None
            } else if self.runs_at(last, GROUPS) {
                Some(self.scope(inner))
            } else {
                self.runs_at(last, LANES).then_some(Level::Thread)
            };
            self.put(mapping, inner, over.map_or(Exec::Seq, Exec::Device));
            self.inside(inner, over.unwrap_or(scope), mapping);
        }
    }

    /// The level that a nest is called after.
    fn strategy(&self, map: &Map, mapping: &Mapping) -> Strategy {
        match key(map).and_then(|key| mapping.exec(key)) {
            Some(Exec::Device(level)) => Strategy::Device(level),
            Some(Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq) | None => {
                Strategy::Device(Level::Thread)
            }
        }
    }

    /// Blocks whose lanes lines share out, if they say nothing else.
    pub(super) fn only_shaped(&self, map: &Map) -> Option<Blocks> {
        let own = iterators_of(map);
        let shares_inside = |line: &Resolved| {
            matches!(line.place, Place::Thread(_)) && (line.inside || line.vars.iter().any(|var| !own.contains(var)))
        };
        let others = !self.stages.is_empty() || self.parts(map).is_some() || self.parts_follow_from_groups();
        let on_lanes = |blocks: &Blocks| blocks.lines.iter().any(|line| matches!(line.place, Place::Thread(_)));
        if others || self.steps.iter().any(shares_inside) { None } else { self.shaped(map).filter(on_lanes) }
    }

    /// Blocks whose shape lines say, if they do: iterators of the outermost map have other lines than one for the grid each.
    fn shaped(&self, map: &Map) -> Option<Blocks> {
        if !map.folds.is_empty() {
            return None;
        }
        let own = iterators_of(map);
        let line = |line: &Resolved| {
            let [var] = line.vars[..] else { return None };
            let size = match line.size {
                Size::Count(count) => Some(count),
                Size::Rest => None,
                Size::Bits(_) | Size::Extents(_) => return None,
            };
            own.contains(&var).then_some(BlockLine { var, place: line.place, size })
        };
        let lines: Vec<BlockLine> = self.steps.iter().filter(|step| !step.inside).filter_map(line).collect();
        let plain = |line: &BlockLine| match line.place {
            Place::Grid(_) => line.size.is_none(),
            Place::Host | Place::Unroll => true,
            Place::Thread(_) | Place::Threads | Place::Lanes | Place::Seq | Place::Reg | Place::Vec => false,
        };
        (!lines.iter().all(plain)).then_some(Blocks { lines })
    }

    fn split(&self, map: &Map, mapping: &mut Mapping) {
        for inner in inner_maps(&map.body) {
            let blocks = key(inner).is_some_and(|last| self.runs_at(last, LANES));
            let level = if blocks { Level::Block } else { Level::Thread };
            mapping.strategy = Strategy::Device(level);
            self.put_grid(mapping, map, Exec::Device(level));
            self.put(mapping, inner, if blocks { Exec::Device(Level::Thread) } else { Exec::Seq });
        }
    }

    fn near(&self, program: &Program, func: &Func, map: &Map, mapping: &mut Mapping) -> Result<(), Misfit> {
        let staged = |array: &NearArray| self.stages.iter().any(|staged| staged.array == array.var);
        let near = near(program, func, map, &staged);
        let near = near.map_err(|why| Misfit(format!("what a plan keeps near suit the nest, but {why}")))?;
        mapping.strategy = Strategy::Device(Level::Block);
        for (at, iter) in map.iters.iter().enumerate() {
            let (exec, dim, tile) = match at {
                _ if at == near.lanes => (Exec::Device(Level::Block), 0, self.count(iter.var, LANES)),
                _ if at == near.rows => (Exec::Device(Level::Block), 1, self.count(iter.var, LANES)),
                _ if near.march.is_some() => (Exec::Seq, 2, self.count(iter.var, Place::Seq)),
                _ => (Exec::Device(Level::Block), 2, Some(1)),
            };
            let tile = tile.filter(|tile| (1..=MOST_SIDE).contains(tile));
            let tile =
                tile.ok_or_else(|| Misfit(format!("a line says how large the tiles are, {MOST_SIDE} at most")))?;
            mapping.levels.insert(iter.var, LevelPlan { exec, dim, tile });
        }
        let tile = |at: usize| mapping.levels.get(&map.iters[at].var).map_or(1, |level| level.tile);
        mapping.staging = self.stored(near.staging((tile(near.lanes), tile(near.rows))), 1);
        mapping.recipe = Recipe::Near(near);
        Ok(())
    }

    /// Parts with the padding that their lines say, and with as many copies, if tiles may have several.
    fn stored(&self, mut parts: Vec<Staging>, most: u32) -> Vec<Staging> {
        for (line, part) in self.stages.iter().zip(&mut parts).filter(|(line, part)| line.array == part.array) {
            part.pad = line.pad;
            part.buffers = line.copies.clamp(1, most);
        }
        parts
    }

    fn tiled(&self, program: &Program, func: &Func, map: &Map, mapping: &mut Mapping) -> Result<(), Misfit> {
        let tiled = tiled(program, func, map);
        let tiled = tiled.map_err(|why| Misfit(format!("what a plan tiles suit the nest, but {why}")))?;
        mapping.strategy = Strategy::Device(Level::Block);
        self.put_grid(mapping, map, Exec::Device(Level::Block));
        let unsized_line = || Misfit("a line says how large the tiles are".to_owned());
        let ([.., row, column], [inner]) = (&map.iters[..], &inner_maps(&map.body)[..]) else {
            return Err(Misfit("tiles have rows and columns, and one map inside".to_owned()));
        };
        let side = |var: VarId, lanes: Place| {
            let lanes = self.count(var, lanes).ok_or_else(unsized_line)?;
            let registers = self.count(var, Place::Reg).unwrap_or(1);
            let tile = lanes.checked_mul(registers).filter(|tile| *tile > 0).ok_or_else(unsized_line)?;
            Ok::<_, Misfit>((tile, registers))
        };
        let ((rows, own_rows), (columns, own_columns)) = (side(row.var, GROUPS)?, side(column.var, LANES)?);
        self.put(mapping, inner, Exec::Seq);
        let [depth] = &inner.iters[..] else { return Err(Misfit("the map inside has one iterator".to_owned())) };
        let terms = self.count(depth.var, Place::Seq).ok_or_else(unsized_line)?;
        for (var, tile) in [(row.var, rows), (column.var, columns), (depth.var, terms)] {
            mapping.levels.entry(var).and_modify(|level| level.tile = tile);
        }
        let vector = self.stages.first().map_or(1, |staged| staged.wide);
        if !vector.is_power_of_two() || vector.saturating_mul(tiled.widest) > MOST_MOVED {
            return Err(Misfit(format!("`wide` is a power of two, and {MOST_MOVED} bytes at most")));
        }
        mapping.staging = self.stored(tiled.staging([rows, columns], terms, vector), MOST_COPIES);
        if mapping.staging.iter().any(|staging| !staging.pad.is_multiple_of(vector)) {
            return Err(Misfit(format!("`pad` is a multiple of {vector} elements, which move at once")));
        }
        let blocks =
            [row, column].map(|iter| Axis::ALL.iter().find_map(|axis| self.count(iter.var, Place::Grid(*axis))));
        if blocks.iter().any(|blocks| blocks.is_some_and(|blocks| blocks == 0)) {
            return Err(Misfit("a grid has blocks".to_owned()));
        }
        if blocks.iter().any(Option::is_some) && (mapping.parts.is_some() || self.parts_follow_from_groups()) {
            return Err(Misfit("blocks take either several tiles or parts of folds".to_owned()));
        }
        mapping.recipe = Recipe::Tiled(Tiling { tiled, rows: own_rows, columns: own_columns, vector, blocks });
        Ok(())
    }

    /// Maps that fold what their iterations leave in memory: those of a grid without turns.
    fn values(&self, map: &Map, levels: &hidp_syntax::ordered::OrdMap<VarId, LevelPlan>, mapping: &mut Mapping) {
        let Some(last) = key(map) else { return };
        let grid = self.runs_at(last, Place::Grid(Axis::X)) && !self.runs_at(last, Place::Seq);
        let folds = cut_of(&self.cuts, map).is_some_and(|cut| cut.number(FoldOption::Runs).is_some());
        if grid && folds {
            mapping.cuts.entry(last).and_modify(|cut: &mut Cut| cut.values = true);
        }
        if levels.get(&last).is_some_and(|level| level.exec == Exec::Device(Level::Kernel)) {
            inner_maps(&map.body).into_iter().for_each(|inner| self.values(inner, levels, mapping));
        }
    }

    /// How many iterations threads take side by side, and for how many threads registers are left.
    fn loads_of(&self, map: &Map, mapping: &mut Mapping) -> Result<(), Misfit> {
        let mut launches = Vec::new();
        collect_launches(map, mapping, &mut launches);
        let several = self.resident.len() > 1;
        if several && self.resident.len() != launches.len() {
            return Err(Misfit(format!("`resident` lines are for {} launches", launches.len())));
        }
        for (at, launch) in launches.into_iter().enumerate() {
            let threads = self.resident.get(if several { at } else { 0 });
            mapping.resident.extend(threads.filter(|threads| **threads != NOT_SAID).map(|threads| (launch, *threads)));
        }
        if matches!(mapping.recipe, Recipe::Blocks(_)) {
            return Ok(());
        }
        let exec = mapping.levels.clone();
        for launched in private::launched(map, &|var| exec.get(&var).map(|level| level.exec)) {
            let items = mapping.fastest(launched).and_then(|fastest| self.count(fastest, Place::Unroll));
            mapping.items.extend(key(launched).zip(items));
        }
        Ok(())
    }

    /// Threads of the blocks of what is launched: one number for all, or one for each.
    fn blocks_of(&self, map: &Map, mapping: &mut Mapping) -> Result<(), Misfit> {
        let mut launches = Vec::new();
        collect_launches(map, mapping, &mut launches);
        let several = self.blocks.len() > 1;
        if (several || launches.is_empty()) && self.blocks.len() != launches.len() {
            return Err(Misfit(format!("`block` lines are for {} launches", launches.len())));
        }
        for (at, launch) in launches.into_iter().enumerate() {
            let threads = self.blocks.get(if several { at } else { 0 });
            let threads =
                threads.ok_or_else(|| Misfit("a line `block(n)` says how many threads a block has".to_owned()))?;
            mapping.blocks.insert(launch, *threads);
        }
        if let Recipe::Tiled(Tiling { rows, columns, .. }) = &mapping.recipe {
            let lanes = |at: usize, own: u32| {
                let var = map.iters.len().checked_sub(at).map(|at| map.iters[at].var);
                var.and_then(|var| mapping.levels.get(&var)).map_or(0, |level| level.tile / own.max(1))
            };
            let threads = lanes(2, *rows).saturating_mul(lanes(1, *columns));
            if mapping.blocks.values().any(|block| *block != threads) {
                return Err(Misfit(format!("the lanes of the tiles are a block of {threads} threads")));
            }
        }
        Ok(())
    }
}

/// The maps that are launched: those inside, if the host runs the iterations around.
fn collect_launches(map: &Map, mapping: &Mapping, found: &mut Vec<VarId>) {
    let Some(last) = key(map) else { return };
    if mapping.exec(last) == Some(Exec::Device(Level::Kernel)) {
        inner_maps(&map.body).into_iter().for_each(|inner| collect_launches(inner, mapping, found));
    } else {
        found.push(last);
    }
}

fn iterators_of(map: &Map) -> Vec<VarId> {
    map.iters.iter().map(|iter| iter.var).collect()
}
