//! Tiles of results, and folds of which groups have parts, as directives ask for them.

use super::device::{Builder, Unfit};
use super::{AskedIter, AskedLine};
use crate::blame::span_of;
use crate::device::level_nest;
use crate::mapping::Mapping;
use crate::notation::FoldOption;
use crate::refusal::{COVER, GAIN, NAMED, SEQUENCE, SHAPE};
use crate::split::{split_in, split_nest};
use crate::tiled::{Side, Sides, tiled, tiled_with};
use crate::{inner_maps, key, splits};
use hidp_ir::par::{Map, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};
use hidp_syntax::source::Span;

impl Builder<'_> {
    /// Groups of their own take parts of a fold.
    pub(super) fn split(&self) -> Result<Mapping, Unfit> {
        let [(var, parts, span)] = self.asked.splits[..] else {
            let (_, _, span) = self.asked.splits[1];
            return Err((span, SHAPE.refused(span_of(self.map), "one fold of a nest is cut into parts")));
        };
        if !self.asked.iters.is_empty() || !self.asked.some.is_empty() || !self.asked.tiles.is_empty() {
            let why = "where groups have parts of a fold, no other lines of iterators are pinned";
            return Err((span, NAMED.refused(span_of(self.map), why)));
        }
        if self.map.iters.iter().any(|iter| iter.var == var) {
            let why =
                "runs of the outermost map follow from sizes where no directive is, and `split` has a number there";
            let parts = parts.ok_or_else(|| (span, SHAPE.refused(span_of(self.map), why)))?;
            return self.split_on_host(var, parts, span);
        }
        splits(self.program, self.func, self.map).map_err(|why| (span, why))?;
        let mapping = split_nest(self.program, self.func, self.map, self.model);
        Ok(parts.map_or(mapping.clone(), |parts| split_in(mapping, parts)))
    }

    /// The outermost map folds: blocks have runs.
    fn split_on_host(&self, var: VarId, parts: u32, span: Span) -> Result<Mapping, Unfit> {
        let mut mapping = level_nest(self.program, self.func, self.map, Level::Thread, self.model);
        let cut = key(self.map).and_then(|key| mapping.cuts.get_mut(&key)).filter(|_| !self.map.folds.is_empty());
        let Some(cut) = cut.filter(|cut| cut.number(FoldOption::Most).is_some()) else {
            let name = &self.func.vars[var].name;
            let why = format!("no map folds over `{name}` in any order");
            return Err((span, SEQUENCE.refused(span_of(self.map), why)));
        };
        cut.change(FoldOption::Runs, |_| 1);
        cut.change(FoldOption::Most, |_| parts);
        Ok(mapping)
    }

    /// Tiles of results whose operands a block keeps.
    pub(super) fn tiles(&self) -> Result<Mapping, Unfit> {
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
        let sides = Sides { rows, columns, depth, copies: self.asked.fewest_copies() };
        tiled_with(self.program, self.func, self.map, &tiled, &sides, self.model).map_err(|why| (at, why))
    }

    /// Rows or columns of tiles: blocks, lanes and registers.
    fn side(&self, var: VarId, axis: Axis) -> Result<Side, Unfit> {
        let name = &self.func.vars[var].name;
        let refuse = |asked: &AskedIter| {
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
            return Ok(Side { own: registers, ..Side::default() });
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
        Ok(Side { blocks, own: own.or(lanes.map(|_| 1)), lanes })
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
