//! Nests of graphics processors that have the lines which directives ask for.

use super::{Asked, AskedLine, Refused};
use crate::blame::span_of;
use crate::blocks::{BlockLine, Blocks, blocks_nest, no_loop};
use crate::candidates::{Explored, Limits};
use crate::device::{explore_all, level_nest, unsuited};
use crate::mapping::{Mapping, Names};
use crate::notation::Nest;
use crate::refusal::{BLOCK_THREADS, COVER, GAIN, NAMED, Refusal, SHAPE};
use crate::target::DeviceModel;
use crate::tiled::{Sides, tiled, tiled_with};
use crate::{Natives, inner_maps, iterators, key};
use hidp_ir::par::{Func, FuncId, Map, Program, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};
use hidp_syntax::source::Span;

/// Every plan that the planner makes when nobody asks for anything.
pub(super) fn usual(program: &Program, id: FuncId, model: &DeviceModel) -> Explored {
    explore_all(program, id, model, Limits { most: usize::MAX, ..Limits::default() }, Natives::Everywhere)
}

/// The nest that has what is asked for; else why there is none, and which of the planner's is nearest to it.
pub(super) fn nest(
    program: &Program,
    func: &Func,
    map: &Map,
    asked: &Asked,
    usual: Vec<Nest>,
    model: &DeviceModel,
) -> Result<Nest, Refused> {
    let names = Names::of(func, map);
    let refused = |(at, refusal): (Span, Refusal)| {
        let nearest = asked.nearest(&names, usual.iter().cloned()).map(Box::new);
        Refused { at, refusal, nearest }
    };
    let nest = Builder { program, func, map, asked, model };
    match nest.build() {
        Ok(Some(mapping)) => Ok(mapping.lines(func, map)),
        Ok(None) => usual.iter().find(|nest| asked.met_by(&names, nest).1).cloned().ok_or_else(|| {
            let why = "no mapping has these lines, and nothing else on the iterators that are named";
            refused((asked.first(map), SHAPE.refused(span_of(map), why)))
        }),
        Err(why) => Err(refused(why)),
    }
}

struct Builder<'a> {
    program: &'a Program,
    func: &'a Func,
    map: &'a Map,
    asked: &'a Asked,
    model: &'a DeviceModel,
}

/// A directive that cannot be honoured, and why.
type Unfit = (Span, Refusal);

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
        let in_registers = !self.asked.some.is_empty();
        if !self.asked.stages.is_empty() || in_parts || (in_registers && folds) {
            if shaped || in_parts || in_registers { self.tiles().map(Some) } else { Ok(None) }
        } else if inside.iter().any(on_lanes) {
            self.groups().map(Some)
        } else if shaped || in_registers {
            self.blocks().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Which directive is about an iterator.
    fn at(&self, var: VarId) -> Span {
        self.asked.span_of(var).unwrap_or_else(|| self.asked.first(self.map))
    }

    /// Blocks whose shape the lines say.
    fn blocks(&self) -> Result<Mapping, Unfit> {
        for var in inner_maps(&self.map.body).into_iter().flat_map(iterators) {
            self.is_in_order(var)?;
        }
        // Phases of a block: where it is in the grid, its turns, its lanes, and what a lane does.
        let mut lines: Vec<(u32, BlockLine)> = Vec::new();
        for iter in &self.map.iters {
            let var = iter.var;
            let Some(asked) = self.asked.lines_of(var) else { continue };
            let lanes = asked.lines.iter().position(|line| matches!(line.place, Place::Thread(_)));
            let mut phase = 0;
            for (at, AskedLine { place, size }) in asked.lines.iter().enumerate() {
                phase = phase.max(match place {
                    Place::Grid(axis) => 3 - *axis as u32,
                    Place::Thread(axis) => 13 - *axis as u32,
                    _ if at == 0 && lanes.is_some() => 0,
                    _ if lanes.is_some_and(|lanes| at < lanes) => 5,
                    _ => 15,
                });
                lines.push((phase, BlockLine { var, place: *place, size: *size }));
            }
        }
        let used = |axis: Axis| lines.iter().any(|(_, line)| line.place == Place::Grid(axis));
        let mut free: Vec<Axis> = Axis::ALL.into_iter().filter(|axis| !used(*axis)).collect();
        for iter in self.map.iters.iter().rev() {
            if self.asked.lines_of(iter.var).is_none() {
                let axis = if free.is_empty() { Axis::Z } else { free.remove(0) };
                let place = Place::Grid(axis);
                lines.push((3 - axis as u32, BlockLine { var: iter.var, place, size: None }));
            }
        }
        for (var, line, span) in &self.asked.some {
            if !self.map.iters.iter().any(|iter| iter.var == *var) {
                let why = "registers of blocks are of the outermost map's iterators";
                return Err((*span, SHAPE.refused(span_of(self.map), why)));
            }
            lines.push((15, BlockLine { var: *var, place: line.place, size: line.size }));
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

    /// Tiles of results whose operands a block keeps.
    fn tiles(&self) -> Result<Mapping, Unfit> {
        let first = self.asked.stages.first().map_or_else(|| self.asked.first(self.map), |(_, span)| *span);
        let tiled = tiled(self.program, self.func, self.map).map_err(|why| (first, why))?;
        for (array, span) in &self.asked.stages {
            if !tiled.operands.iter().any(|operand| operand.place.array == *array) {
                let why =
                    format!("`{}` is no array whose elements the results of a tile share", self.func.vars[*array].name);
                return Err((*span, GAIN.refused(span_of(self.map), why)));
            }
        }
        for (array, span) in &self.asked.global {
            if tiled.operands.iter().any(|operand| operand.place.array == *array) {
                let why = format!("tiles stage `{}`, and `global` forbids it", self.func.vars[*array].name);
                return Err((*span, NAMED.refused(span_of(self.map), why)));
            }
        }
        let ([.., row, column], [inner]) = (&self.map.iters[..], &inner_maps(&self.map.body)[..]) else {
            return Err((first, SHAPE.refused(span_of(self.map), "tiles have rows and columns, and one map inside")));
        };
        let others = self.map.iters.len() - 2;
        for iter in &self.map.iters[..others] {
            let plain = |line: &AskedLine| matches!(line.place, Place::Grid(_)) && line.size.is_none();
            if let Some(asked) = self.asked.lines_of(iter.var).filter(|asked| !asked.lines.iter().all(plain)) {
                let why = "iterators before rows and columns are of the grid alone";
                return Err((asked.span, SHAPE.refused(iter.span, why)));
            }
        }
        let (rows, columns) = (self.side(row.var, Axis::Y)?, self.side(column.var, Axis::X)?);
        let depth = self.depth(inner)?;
        let at = self.asked.stages.first().map_or_else(|| self.at(row.var), |(_, span)| *span);
        let sides = Sides { rows, columns, depth };
        tiled_with(self.program, self.func, self.map, &tiled, &sides, self.model).map_err(|why| (at, why))
    }

    /// Rows or columns of tiles: blocks, lanes and registers.
    fn side(&self, var: VarId, axis: Axis) -> Result<crate::tiled::Side, Unfit> {
        let name = &self.func.vars[var].name;
        let refuse = |asked: &super::AskedIter| {
            let lanes = Place::Thread(axis);
            let why = format!(
                "`{name}` has lines of the grid, perhaps of turns, of lanes along `{lanes}`, and perhaps of registers: `grid {lanes}(16) reg(4)`"
            );
            Err((asked.span, SHAPE.refused(span_of(self.map), why)))
        };
        if let Some((_, _, span)) = self.asked.tiles.iter().find(|(other, _, _)| *other == var) {
            let why = format!("`{name}` is shared out over lanes, whose tiles follow from their numbers");
            return Err((*span, COVER.refused(span_of(self.map), why)));
        }
        let registers = self.asked.some.iter().find(|(other, _, _)| *other == var).and_then(|(_, line, _)| line.size);
        let Some(asked) = self.asked.lines_of(var) else {
            return Ok(crate::tiled::Side { own: registers, ..crate::tiled::Side::default() });
        };
        let (blocks, rest) = match &asked.lines[..] {
            [AskedLine { place: Place::Grid(of), size: None }, rest @ ..] if *of == axis => (None, rest),
            [
                AskedLine { place: Place::Grid(of), size: Some(blocks) },
                AskedLine { place: Place::Seq, size: None },
                rest @ ..,
            ] if *of == axis && *blocks > 0 => (Some(*blocks), rest),
            _ => return refuse(asked),
        };
        let (lanes, rest) = match rest {
            [AskedLine { place: Place::Thread(of), size: Some(lanes) }, rest @ ..] if *of == axis => {
                (Some(*lanes), rest)
            }
            [] => (None, rest),
            _ => return refuse(asked),
        };
        let own = match rest {
            [AskedLine { place: Place::Reg, size: Some(own) }] => Some(*own),
            [] => registers,
            _ => return refuse(asked),
        };
        Ok(crate::tiled::Side { blocks, own: own.or(lanes.map(|_| 1)), lanes })
    }

    /// How many terms of the folds are staged at a time, if lines say it.
    fn depth(&self, inner: &Map) -> Result<Option<u32>, Unfit> {
        let Some(var) = key(inner) else { return Ok(None) };
        let tile = self.asked.tiles.iter().find(|(other, _, _)| *other == var);
        if let Some((other, _, span)) = self.asked.tiles.iter().find(|(other, _, _)| *other != var) {
            let why = format!("`{}` is not what the map inside folds over", self.func.vars[*other].name);
            return Err((*span, SHAPE.refused(span_of(inner), why)));
        }
        match (self.asked.lines_of(var), tile) {
            (None, tile) => Ok(tile.map(|(_, size, _)| *size)),
            (Some(asked), Some(_)) => {
                let why = "its lines say how long its tiles are";
                Err((asked.span, NAMED.refused(span_of(inner), why)))
            }
            (Some(asked), None) => match &asked.lines[..] {
                [AskedLine { place: Place::Seq, size: None }, AskedLine { place: Place::Seq, size: Some(size) }] => {
                    Ok(Some(*size))
                }
                _ => {
                    let name = &self.func.vars[var].name;
                    let why = format!("a block takes `{name}` in parts: `{name}: seq seq(8)`");
                    Err((asked.span, SHAPE.refused(span_of(inner), why)))
                }
            },
        }
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
