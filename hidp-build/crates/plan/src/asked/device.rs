//! Nests of graphics processors that have the lines which directives ask for.

use std::cell::OnceCell;

use super::{Asked, AskedLine, Refused};
use crate::blame::span_of;
use crate::blocks::{BlockLine, Blocks, blocks_nest, no_loop, suits};
use crate::candidates::{Explored, Limits};
use crate::device::{explore_all, level_nest, unsuited};
use crate::mapping::{Mapping, Misfit, Names};
use crate::near::near_nest;
use crate::notation::Nest;
use crate::refusal::{BLOCK_THREADS, GAIN, Refusal, SHAPE};
use crate::search::Predictions;
use crate::target::DeviceModel;
use crate::{Natives, inner_maps, iterators, key};
use hidp_ir::par::{Func, FuncId, Map, Program, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};
use hidp_syntax::source::Span;

/// Every plan that the planner makes without directives, computed on demand: nests whose lines are pinned do not need them.
pub(super) struct Usual<'a> {
    explored: OnceCell<Explored>,
    program: &'a Program,
    id: FuncId,
    model: &'a DeviceModel,
}

impl<'a> Usual<'a> {
    pub(super) fn new(program: &'a Program, id: FuncId, model: &'a DeviceModel) -> Self {
        Usual { explored: OnceCell::new(), program, id, model }
    }

    /// Whether they were computed.
    #[cfg(test)]
    pub(super) fn are_explored(&self) -> bool {
        self.explored.get().is_some()
    }

    /// What these plans do with the nest of this number.
    fn nests(&self, number: usize) -> Vec<Nest> {
        let limits = Limits { most: usize::MAX, ..Limits::default() };
        let model = (self.model, &mut Predictions::default());
        let explored =
            self.explored.get_or_init(|| explore_all(self.program, self.id, model, limits, Natives::Everywhere));
        explored.plans.iter().filter_map(|plan| plan.nests.get(number).cloned()).collect()
    }
}

/// The nest that has what is asked for; else why there is none, and which of the planner's is nearest to it.
pub(super) fn nest(
    program: &Program,
    func: &Func,
    map: &Map,
    asked: &Asked,
    (usual, number): (&Usual<'_>, usize),
    model: &DeviceModel,
) -> Result<Nest, Refused> {
    let names = Names::of(func, map);
    let refused = |(at, refusal): (Span, Refusal)| {
        let nearest = asked.nearest(&names, usual.nests(number).into_iter()).map(Box::new);
        Refused { at, refusal, nearest }
    };
    asked.sections_hold(func, map).map_err(refused)?;
    let nest = Builder { program, func, map, asked, model };
    let met = |nest: &Nest| asked.met_by(&names, nest).1;
    match nest.build() {
        Ok(Some(mut mapping)) => {
            asked.give_stages(program, (func, map), &mut mapping, model).map_err(refused)?;
            asked.give_registers(map, &mut mapping, model).map_err(refused)?;
            asked.give_launches(program, (func, map), &mut mapping, model).map_err(refused)?;
            let lines = mapping.lines(func, map);
            if let Err(Misfit(expected)) = Mapping::read(program, func, map, &lines) {
                let why = || (asked.first(map), SHAPE.refused(span_of(map), format!("it would need that {expected}")));
                return Err(refused(asked.without_bound(map).unwrap_or_else(why)));
            }
            match asked.others_met(&names, &lines) {
                (_, true) => Ok(lines),
                (_, false) => {
                    let order = asked.misses_order(func, &names, &lines, span_of(map));
                    Err(refused(order.unwrap_or_else(|| nest.without_lines())))
                }
            }
        }
        Ok(None) => {
            let (mut made, mut refusal) = (Vec::new(), None);
            for own in [nest.turned(), nest.staged()] {
                match own {
                    Ok(own) => made.extend(own.map(|mapping| mapping.lines(func, map))),
                    Err(why) => refusal = refusal.or(Some(why)),
                }
            }
            for own in usual.nests(number).iter().chain(&made) {
                match numbered(program, func, map, asked, own, model) {
                    Ok(nest) if met(&nest) => return Ok(nest),
                    Ok(_) => {}
                    Err(why) => refusal = refusal.or(Some(why)),
                }
            }
            let order = || asked.orders.first().map(|pair| asked.no_order(func, pair, span_of(map)));
            Err(refused(refusal.or_else(order).unwrap_or_else(|| nest.without_lines())))
        }
        Err(why) => Err(refused(why)),
    }
}

/// A nest of the planner's with the numbers, the launches and the options of stages that are asked for.
pub(super) fn numbered(
    program: &Program,
    func: &Func,
    map: &Map,
    asked: &Asked,
    nest: &Nest,
    model: &DeviceModel,
) -> Result<Nest, Unfit> {
    let bound = asked.without_bound(map);
    if bound.is_none() && !asked.changes_stages() && asked.launches.is_empty() {
        return Ok(nest.clone());
    }
    let Ok(mut mapping) = Mapping::read(program, func, map, nest) else { return Ok(nest.clone()) };
    if asked.are_staged(&mapping) {
        asked.give_stages(program, (func, map), &mut mapping, model)?;
    }
    asked.give_registers(map, &mut mapping, model)?;
    asked.give_launches(program, (func, map), &mut mapping, model)?;
    let lines = mapping.lines(func, map);
    match (Mapping::read(program, func, map, &lines), bound) {
        (Err(_), Some(why)) => Err(why),
        (Err(_), None) => Ok(nest.clone()),
        (Ok(_), _) => Ok(lines),
    }
}

pub(super) struct Builder<'a> {
    pub(super) program: &'a Program,
    pub(super) func: &'a Func,
    pub(super) map: &'a Map,
    pub(super) asked: &'a Asked,
    pub(super) model: &'a DeviceModel,
}

/// A directive that cannot be honoured, and why.
pub(super) type Unfit = (Span, Refusal);

impl Builder<'_> {
    /// The nest as lines have it; nothing if one of the planner's may have what is asked for.
    fn build(&self) -> Result<Option<Mapping>, Unfit> {
        let inside: Vec<VarId> = inner_maps(&self.map.body).into_iter().flat_map(iterators).collect();
        let on_lanes = |var: &VarId| {
            self.asked
                .lines_of(*var)
                .is_some_and(|iter| iter.lines.iter().any(|line| matches!(line.place, Place::Thread(_))))
        };
        let own = self.map.iters.iter().filter_map(|iter| self.asked.lines_of(iter.var));
        let plain = |line: &AskedLine| matches!(line.place, Place::Grid(_) | Place::Host) && line.size.is_none();
        let shaped = own.flat_map(|iter| &iter.lines).any(|line| !plain(line));
        let in_parts = |var: &VarId| {
            let sized = |line: &AskedLine| line.place == Place::Seq && line.size.is_some();
            self.asked.lines_of(*var).is_some_and(|iter| iter.lines.iter().any(sized))
        };
        let in_parts = !self.asked.tiles.is_empty() || inside.iter().any(in_parts);
        let folds = inner_maps(&self.map.body).iter().any(|inner| !inner.folds.is_empty());
        let in_registers = self.asked.some.iter().any(|(_, line, _)| line.place != Place::Seq);
        let in_turns = self.asked.some.iter().any(|(_, line, _)| line.place == Place::Seq);
        let own = |var: &VarId| self.map.iters.iter().any(|iter| iter.var == *var);
        let shaped = shaped || in_turns || self.asked.whole.iter().any(|(var, _)| own(var));
        if !self.asked.splits.is_empty() {
            self.split().map(Some)
        } else if !self.asked.stages.is_empty() || in_parts || (in_registers && folds) {
            if shaped || in_parts || in_registers { self.tiles().map(Some) } else { Ok(None) }
        } else if inside.iter().any(on_lanes) {
            self.groups().map(Some)
        } else if let Some(count) = self.at_a_time() {
            self.items(count).map(Some)
        } else if shaped || in_registers {
            self.blocks().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Single lanes, with the dimensions of their grid in the order that is asked for, if one is.
    fn turned(&self) -> Result<Option<Mapping>, Unfit> {
        let Some(pair) = self.asked.orders.first() else { return Ok(None) };
        let (program, func, map) = (self.program, self.func, self.map);
        suits(program, func, map, self.model.small_array).map_err(|why| (pair.span, why))?;
        let mut mapping = level_nest(program, func, map, Level::Thread, self.model);
        let vars = self.asked.ordered(map.iters.iter().map(|iter| iter.var).collect());
        for (at, var) in vars.iter().rev().enumerate() {
            mapping.levels.entry(*var).and_modify(|level| level.dim = at as u32);
        }
        let lines = mapping.lines(func, map);
        Ok(Mapping::read(program, func, map, &lines).ok())
    }

    /// What a block keeps of the arrays that are asked for, though the planner would not choose it.
    fn staged(&self) -> Result<Option<Mapping>, Unfit> {
        let Some((_, first)) = self.asked.stages.first() else { return Ok(None) };
        if !inner_maps(&self.map.body).is_empty() {
            return self.tiles().map(Some);
        }
        let is_asked = |array: VarId| self.asked.stages.iter().any(|(own, _)| *own == array);
        let mapping = near_nest(self.program, self.func, self.map, self.model, &|array| is_asked(array.var));
        let mapping = mapping.map_err(|why| (*first, why))?;
        let is_kept = |array: VarId| mapping.staging.iter().any(|staging| staging.array == array);
        match self.asked.stages.iter().find(|(array, _)| !is_kept(*array)) {
            Some((array, span)) => {
                let name = &self.func.vars[*array].name;
                let why = format!("`{name}` is not read at places that the tiles of the other arrays share");
                Err((*span, GAIN.refused(span_of(self.map), why)))
            }
            None => Ok(Some(mapping)),
        }
    }

    /// That no nest has what is asked for.
    fn without_lines(&self) -> Unfit {
        let why = "no mapping has these lines, and nothing else on the iterators that are named";
        (self.asked.first(self.map), SHAPE.refused(span_of(self.map), why))
    }

    /// Which directive is about an iterator.
    pub(super) fn at(&self, var: VarId) -> Span {
        self.asked.span_of(var).unwrap_or_else(|| self.asked.first(self.map))
    }

    /// Blocks whose shape the lines say.
    fn blocks(&self) -> Result<Mapping, Unfit> {
        for var in inner_maps(&self.map.body).into_iter().flat_map(iterators) {
            self.is_in_order(var)?;
        }
        // Phases of a block: where it is in the grid, its turns, its lanes, and what a lane does.
        let mut lines: Vec<(u32, BlockLine)> = Vec::new();
        let vars = self.asked.ordered(self.map.iters.iter().map(|iter| iter.var).collect());
        for &var in &vars {
            let Some(asked) = self.asked.lines_of(var) else { continue };
            let lanes = asked.lines.iter().position(|line| matches!(line.place, Place::Thread(_)));
            let mut phase = 0;
            for (at, AskedLine { place, size }) in asked.lines.iter().enumerate() {
                phase = phase.max(match place {
                    Place::Grid(axis) => 3 - *axis as u32,
                    Place::Thread(axis) => LANES - *axis as u32,
                    Place::Host
                    | Place::Threads
                    | Place::Lanes
                    | Place::Seq
                    | Place::Unroll
                    | Place::Reg
                    | Place::Vec => phase_of_turns(at, lanes),
                });
                lines.push((phase, BlockLine { var, place: *place, size: *size }));
            }
        }
        let used = |axis: Axis| lines.iter().any(|(_, line)| line.place == Place::Grid(axis));
        let mut free: Vec<Axis> = Axis::ALL.into_iter().filter(|axis| !used(*axis)).collect();
        for var in vars.into_iter().rev() {
            if self.asked.whole.iter().any(|(other, _)| *other == var) {
                lines.push((BETWEEN, BlockLine { var, place: Place::Seq, size: None }));
            } else if self.asked.lines_of(var).is_none() {
                let axis = if free.is_empty() { Axis::Z } else { free.remove(0) };
                let place = Place::Grid(axis);
                lines.push((3 - axis as u32, BlockLine { var, place, size: None }));
            }
        }
        for (var, line, span) in &self.asked.some {
            let phase = if line.place == Place::Seq { BETWEEN } else { INSIDE };
            if !self.map.iters.iter().any(|iter| iter.var == *var) {
                let why = "registers and turns of lanes are of the outermost map's iterators";
                return Err((*span, SHAPE.refused(span_of(self.map), why)));
            }
            lines.push((phase, BlockLine { var: *var, place: line.place, size: line.size }));
        }
        let last = self.map.iters.last().map(|last| last.var);
        if let (Some(var), false) = (last, lines.iter().any(|(_, line)| matches!(line.place, Place::Thread(_)))) {
            let place = Place::Thread(Axis::X);
            lines.push((LANES, BlockLine { var, place, size: Some(self.model.block) }));
        }
        lines.sort_by_key(|(phase, _)| *phase);
        if let Some((_, line)) = lines.iter().find(|(_, line)| !is_of_blocks(line.place)) {
            let why = format!("`{}` is no place of the outermost map of a launch", line.place);
            return Err((self.at(line.var), SHAPE.refused(span_of(self.map), why)));
        }
        let blocks = Blocks { lines: lines.into_iter().map(|(_, line)| line).collect() };
        blocks_nest(self.program, self.func, self.map, blocks, self.model)
            .map_err(|why| (self.asked.first(self.map), why))
    }

    /// What is inside of single lanes runs in order.
    fn is_in_order(&self, var: VarId) -> Result<(), Unfit> {
        let usual = [AskedLine::new(Place::Seq, None)];
        match self.asked.lines_of(var) {
            Some(asked) if asked.lines != usual => {
                let name = &self.func.vars[var].name;
                let why = format!("a lane takes `{name}` in order, which is the line `{name} seq`");
                Err((asked.span, SHAPE.refused(span_of(self.map), why)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Groups of lanes share what is inside.
    fn groups(&self) -> Result<Mapping, Unfit> {
        let inside = inner_maps(&self.map.body);
        let lanes = inside.iter().flat_map(|inner| iterators(inner)).find_map(|var| {
            let asked = self.asked.lines_of(var)?;
            let line = asked.lines.iter().find(|line| line.place == Place::Thread(Axis::X))?;
            Some((var, line.size))
        });
        let Some((var, Some(lanes))) = lanes else {
            let why = "lanes that share what is inside are along `thread.x`, and have a number";
            return Err((self.asked.first(self.map), SHAPE.refused(span_of(self.map), why)));
        };
        let shared = inside.iter().find(|inner| inner.iters.last().is_some_and(|last| last.var == var));
        if let Some(why) = shared.and_then(|inner| no_loop(self.func, inner)) {
            return Err((self.at(var), why));
        }
        let groups = self.groups_of_block()?;
        let level = match (lanes, groups) {
            (4, _) => Level::Subwarp2,
            (8, _) => Level::Subwarp,
            (32, _) => Level::Warp,
            (_, None) => Level::Block,
            (_, Some((at, _))) => {
                let why = format!("groups of {lanes} lanes have no way to fold together: those of 4, 8 and 32 have");
                return Err((at, crate::refusal::GROUP.refused(span_of(self.map), why)));
            }
        };
        if let Some(why) = unsuited(self.map, level) {
            return Err((self.at(var), why));
        }
        let mut mapping = level_nest(self.program, self.func, self.map, level, self.model);
        let threads = match (level, groups) {
            (Level::Block, _) => Some(lanes),
            (_, Some((_, groups))) => Some(groups.saturating_mul(lanes)),
            (_, None) => None,
        };
        if let Some(threads) = threads {
            if !self.model.is_block(threads) {
                let (warp, most) = (self.model.warp, self.model.most_threads);
                let why = format!("{threads} threads are no multiple of {warp}, or more than {most}");
                return Err((self.asked.first(self.map), BLOCK_THREADS.refused(span_of(self.map), why)));
            }
            mapping.blocks.extend(key(self.map).map(|key| (key, threads)));
        }
        self.has_groups(&mapping, lanes)?;
        Ok(mapping)
    }

    /// How many groups a block has, if lines say it.
    fn groups_of_block(&self) -> Result<Option<(Span, u32)>, Unfit> {
        let mut found = None;
        for iter in &self.map.iters {
            let Some(asked) = self.asked.lines_of(iter.var) else { continue };
            match &asked.lines[..] {
                [AskedLine { place: Place::Grid(_), size: None }] => {}
                [
                    AskedLine { place: Place::Grid(_), size: None },
                    AskedLine { place: Place::Thread(Axis::Y), size: Some(groups) },
                ] if found.is_none() => {
                    found = Some((asked.span, *groups));
                }
                _ => {
                    let name = &self.func.vars[iter.var].name;
                    let why = format!(
                        "where lanes share what is inside, `{name}` has a line of the grid without a number, and one iterator has `thread.y`"
                    );
                    return Err((asked.span, SHAPE.refused(span_of(self.map), why)));
                }
            }
        }
        Ok(found)
    }

    /// Whether the groups of a level take what is inside as lines say.
    fn has_groups(&self, mapping: &Mapping, lanes: u32) -> Result<(), Unfit> {
        let names = Names::of(self.func, self.map);
        let lines = mapping.lines(self.func, self.map);
        for var in inner_maps(&self.map.body).into_iter().flat_map(iterators) {
            let Some(asked) = self.asked.lines_of(var) else { continue };
            let mut own = super::lines_of(&lines, &names.iter(var));
            for line in own.iter_mut().filter(|line| line.place == Place::Thread(Axis::X)) {
                line.size = line.size.or(Some(lanes));
            }
            if own != asked.lines {
                let name = &self.func.vars[var].name;
                let shown: Vec<String> = own.iter().map(|line| shown(name, *line)).collect();
                let why = format!("groups of {lanes} lanes take it by {}", shown.join(", "));
                return Err((asked.span, SHAPE.refused(span_of(self.map), why)));
            }
        }
        Ok(())
    }
}

/// Phases of a block: turns below the grid, lanes, and what a lane does by itself.
const BETWEEN: u32 = 5;
const LANES: u32 = 13;
const INSIDE: u32 = 15;

/// When the turns of an iterator's line run, of which the lanes have another one.
fn phase_of_turns(at: usize, lanes: Option<usize>) -> u32 {
    match lanes {
        Some(_) if at == 0 => 0,
        Some(lanes) if at < lanes => BETWEEN,
        Some(_) | None => INSIDE,
    }
}

/// Whether an iterator of a launched map can have such a line.
fn is_of_blocks(place: Place) -> bool {
    match place {
        Place::Grid(_) | Place::Thread(_) | Place::Seq | Place::Unroll | Place::Reg => true,
        Place::Host | Place::Threads | Place::Lanes | Place::Vec => false,
    }
}

fn shown(name: &str, line: AskedLine) -> String {
    format!("`{name} {}`", line.text())
}
