//! What rows of the space come to: the mappings that lines, and lowering, have for them.

use super::beside::Beside;
use super::facts::Facts;
use super::space::{Cut, Level as Row, Span, inner_span, is_group, outer_span};
use crate::blocks::{BlockLine, Blocks, covers, suits, with_blocks};
use crate::device::{level_nest, unsuited};
use crate::loads;
use crate::mapping::{Exec, Mapping, key};
use crate::notation::FoldOption;
use crate::refusal::{BLOCK_THREADS, Constraint, DIMS, GROUP, INSIDE, LOOP, SEQUENCE, SHAPE};
use crate::split::{split_at, split_in, splits};
use crate::target::DeviceModel;
use crate::{choices, has_loops, inner_maps};
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::place::{Axis, Place};

/// A nest whose rows become mappings.
pub(super) struct Carrier<'a> {
    program: &'a Program,
    func: &'a Func,
    map: &'a Map,
    model: &'a DeviceModel,
    /// Levels of maps.
    depth: usize,
    /// Threads of a block at most.
    most_threads: u32,
    /// The nest by groups of each level, or why there is none.
    groups: OrdMap<Level, Result<Mapping, &'static Constraint>>,
    /// Whether other groups can take parts of the folds inside; the nest where threads do, and blocks.
    split: Result<(), &'static Constraint>,
    parts: OrdMap<Level, Mapping>,
    /// Whether blocks can have any shape.
    blocks: Result<(), &'static Constraint>,
    /// Whether a thread can take several iterations of the outermost map side by side.
    side_by_side: bool,
    /// Whether it can with maps inside; those are next to each other where they load what their neighbours do.
    beside: Option<Beside>,
}

impl<'a> Carrier<'a> {
    pub(super) fn of(
        program: &'a Program,
        func: &'a Func,
        map: &'a Map,
        facts: &Facts<'_>,
        model: &'a DeviceModel,
    ) -> Self {
        let of = |level: Level| {
            let own = match unsuited(map, level) {
                Some(refusal) => Err(refusal.constraint),
                None => Ok(level_nest(program, func, map, level, model)),
            };
            (level, own)
        };
        let split = splits(program, func, map).map_err(|refusal| refusal.constraint);
        let of_parts = [Level::Thread, Level::Block].into_iter().filter(|_| split.is_ok());
        let of_parts = of_parts.map(|level| (level, split_at(program, func, map, level, model)));
        let levels = [Level::Thread, Level::Subwarp2, Level::Subwarp, Level::Warp, Level::Block];
        Carrier {
            program,
            func,
            map,
            model,
            depth: facts.depth(),
            most_threads: if has_loops(map) { model.most_threads_with_loops } else { model.most_threads },
            groups: levels.into_iter().map(of).collect(),
            parts: of_parts.collect(),
            split,
            blocks: suits(program, func, map, model.small_array).map_err(|refusal| refusal.constraint),
            side_by_side: loads::can_be_side_by_side(program, func, map),
            beside: facts.beside,
        }
    }

    /// Levels of a row.
    pub(super) fn levels(&self) -> usize {
        self.map.iters.len() + self.depth - 1
    }

    /// Whether a level is an iterator of the outermost map.
    pub(super) fn is_outer(&self, at: usize) -> bool {
        at < self.map.iters.len()
    }

    /// Default number of threads per block.
    pub(super) fn usual_block(&self) -> u32 {
        self.model.block
    }

    pub(super) fn most_threads(&self) -> u32 {
        self.most_threads
    }

    /// Whether a level can have a span, whatever else a row says.
    pub(super) fn span(&self, at: usize, span: Span) -> Result<(), Cut> {
        match at.checked_sub(self.map.iters.len()) {
            None if !self.may_be_beside(at, span) => Err(Cut::By(&SHAPE)),
            None if self.side_by_side && matches!(span, Span::Some(_)) && self.map.iters.len() == 1 => Ok(()),
            None => outer_span(span, &self.blocks),
            Some(0) => inner_span(span, &self.split),
            Some(_) => inner_span(span, &Err(&SHAPE)),
        }
    }

    /// Whether a level can have such lanes, whatever those around it have.
    pub(super) fn lanes(&self, at: usize, level: Row) -> Result<(), Cut> {
        if self.is_outer(at) { Ok(()) } else { is_group(level, at + 1 < self.levels()) }
    }

    /// Whether a level has a span that its iterator can have: iterations side by side are along one of them.
    pub(super) fn may_be_beside(&self, at: usize, span: Span) -> bool {
        !matches!(span, Span::Beside(_)) || self.beside.is_some_and(|beside| beside.iter == at)
    }

    /// Whether a level can be taken side by side, if it is to be, with these further in, the innermost last.
    pub(super) fn beside<'l>(
        &self,
        (at, level): (usize, Row),
        inner: impl Iterator<Item = &'l Row>,
    ) -> Result<(), Cut> {
        match (level.span, self.beside) {
            (Span::Beside(_), Some(beside)) => beside.fits((at, level), inner, self.map.iters.len() - at - 1),
            (Span::Beside(_), None) => Err(Cut::By(&SHAPE)),
            (Span::One | Span::Some(_) | Span::All | Span::Split(_), _) => Ok(()),
        }
    }

    /// The mapping that a row says. What early cuts look at is looked at again: a row may come from anywhere.
    pub(super) fn mapping(&self, row: &[Row]) -> Result<Mapping, Cut> {
        let (outer, inner) = row.split_at(self.map.iters.len());
        for (at, level) in row.iter().enumerate() {
            self.span(at, level.span)?;
            self.lanes(at, *level)?;
            self.beside((at, *level), row[at + 1..].iter())?;
            let taken = row[..at].iter().any(|other| other.dim == level.dim);
            if level.dim.is_some() != (level.size > 1)
                || (level.dim.is_some() && (taken || row.len() - at > Axis::ALL.len()))
            {
                return Err(Cut::By(&DIMS));
            }
        }
        let threads = row.iter().map(|level| u64::from(level.size)).product::<u64>();
        let threads = u32::try_from(threads).ok().filter(|threads| self.model.is_block(*threads));
        let threads = threads.ok_or(Cut::By(&BLOCK_THREADS))?;
        let used = |axis: Axis| row.iter().any(|level| level.dim == Some(axis));
        if !used(Axis::X) || (used(Axis::Z) && !used(Axis::Y)) {
            return Err(Cut::By(&DIMS));
        }
        let grouped = inner.iter().any(|level| level.size > 1);
        match inner.first().map(|level| level.span) {
            Some(Span::Split(parts)) => self.split(outer, inner, parts, threads),
            _ if grouped => self.group(outer, inner, threads),
            Some(Span::All | Span::One | Span::Some(_) | Span::Beside(_)) | None => self.lane(outer, threads),
        }
    }

    /// Whether a block's lanes are laid out as a launch does it: a warp along the fastest iterator of several, then along the next.
    fn is_usual(&self, outer: &[Row], mapping: &Mapping) -> bool {
        let fastest = mapping.fastest(self.map);
        let own = outer.iter().zip(&self.map.iters);
        let others = own.clone().filter(|(level, iter)| Some(iter.var) != fastest && level.size > 1).count();
        let along = own.filter(|(_, iter)| Some(iter.var) == fastest).map(|(level, _)| level.size).product::<u32>();
        let alone = outer.len() == 1 || along == self.model.warp;
        alone && others <= 1 && outer.iter().all(|level| level.span == Span::One)
    }

    fn with_block(&self, mapping: &Mapping, threads: u32) -> Mapping {
        let mut mapping = mapping.clone();
        mapping.blocks.values_mut().for_each(|block| *block = threads);
        mapping
    }

    /// Groups of lanes share a map inside.
    fn group(&self, outer: &[Row], inner: &[Row], threads: u32) -> Result<Mapping, Cut> {
        let (around, lanes) = match inner {
            [lanes] => (None, *lanes),
            [around, lanes] => (Some(*around), *lanes),
            _ => return Err(Cut::By(&SHAPE)),
        };
        // Lanes of the map around and none of what is inside of it are a group too.
        let (outermost, shared) = if lanes.size == 1 { (true, around.unwrap_or(lanes)) } else { (false, lanes) };
        if shared.dim != Some(Axis::X) {
            return Err(Cut::By(&GROUP));
        }
        let warps = around.filter(|around| !outermost && around.size > 1);
        let alone = outer.iter().all(|level| level.size == 1);
        let level = match (shared.size, warps) {
            (32, Some(warps)) if alone && warps.dim == Some(Axis::Y) => Level::Block,
            (_, Some(_)) => return Err(Cut::By(&GROUP)),
            (4, None) => Level::Subwarp2,
            (8, None) => Level::Subwarp,
            (32, None) => Level::Warp,
            (size, None) if size == threads && alone => Level::Block,
            (_, None) => return Err(Cut::By(&GROUP)),
        };
        if outer.iter().any(|level| level.span != Span::One) {
            return Err(Cut::By(&SHAPE));
        }
        let mapping = self.groups[&level].as_ref().map_err(|constraint| Cut::By(constraint))?;
        let mut mapping = self.with_block(mapping, threads);
        let others: Vec<&Row> = outer.iter().filter(|level| level.size > 1).collect();
        let fastest = mapping.fastest(self.map).and_then(|var| self.map.iters.iter().position(|iter| iter.var == var));
        if others.len() > 1 || others.first().is_some_and(|other| fastest.is_none_or(|at| outer[at] != **other)) {
            return Err(Cut::Alike);
        }
        if others.iter().any(|other| other.dim != Some(Axis::Y)) {
            return Err(Cut::By(&GROUP));
        }
        self.place(&mut mapping, warps.is_some(), outermost)?;
        Ok(mapping)
    }

    /// Which map inside the lanes of a group share: that at the first depth, or the one within.
    fn place(&self, mapping: &mut Mapping, by_warps: bool, outermost: bool) -> Result<(), Cut> {
        let mut is_changed = false;
        for map in inner_maps(&self.map.body) {
            let Some(exec) = key(map).and_then(|key| mapping.exec(key)) else { continue };
            if exec == Exec::Seq {
                return Err(Cut::By(&SEQUENCE));
            }
            let deeper = inner_maps(&map.body);
            if self.depth == 2 || by_warps {
                continue;
            }
            let lanes = Exec::Device(Level::Thread);
            let (own, within) = if outermost { (lanes, Exec::Seq) } else { (Exec::Seq, lanes) };
            if !outermost && deeper.is_empty() {
                return Err(Cut::By(&INSIDE));
            }
            let put = |mapping: &mut Mapping, map: &Map, exec: Exec| {
                for iter in &map.iters {
                    mapping.levels.entry(iter.var).and_modify(|level| level.exec = exec);
                }
            };
            put(mapping, map, own);
            deeper.into_iter().for_each(|inner| put(mapping, inner, within));
            is_changed |= own != exec;
        }
        if is_changed {
            // What single lanes fold is chosen once more.
            for cut in mapping.cuts.values_mut() {
                cut.options.retain(|option| !matches!(option, FoldOption::Moves(_)));
            }
            mapping.cuts.retain(|_, cut| !cut.options.is_empty());
            choices::choose_on_device(self.program, self.func, self.map, mapping, self.model);
        }
        Ok(())
    }

    /// Groups of their own take parts of the folds inside: a lane or a block each.
    fn split(&self, outer: &[Row], inner: &[Row], parts: Option<u32>, threads: u32) -> Result<Mapping, Cut> {
        let [inner] = inner else { return Err(Cut::By(&SHAPE)) };
        if outer.iter().any(|level| level.span != Span::One) {
            return Err(Cut::By(&SHAPE));
        }
        let level = match inner.size {
            1 => Level::Thread,
            size if size == threads && size >= 2 * self.model.warp => Level::Block,
            _ => return Err(Cut::By(&GROUP)),
        };
        let mapping = self.parts.get(&level).cloned().ok_or(Cut::By(&SHAPE))?;
        let mapping = parts.map_or(mapping.clone(), |parts| split_in(mapping, parts));
        if level == Level::Thread && !self.is_usual(outer, &mapping) {
            return Err(Cut::Alike);
        }
        Ok(self.with_block(&mapping, threads))
    }

    /// Single lanes take iterations of the outermost map.
    fn lane(&self, outer: &[Row], threads: u32) -> Result<Mapping, Cut> {
        let thread = self.groups[&Level::Thread].as_ref().map_err(|constraint| Cut::By(constraint))?;
        if let ([Row { span: Span::Some(items), .. }], true) = (outer, self.side_by_side) {
            let mut mapping = self.with_block(thread, threads);
            mapping.items.extend(key(self.map).map(|key| (key, *items)));
            return Ok(mapping);
        }
        if self.is_usual(outer, thread) {
            return Ok(self.with_block(thread, threads));
        }
        self.blocks.map_err(Cut::By)?;
        let blocks = Blocks { lines: self.lines(outer) };
        covers(self.func, self.map, &blocks).map_err(|refusal| Cut::By(refusal.constraint))?;
        if self.map.directives.unroll.is_some() {
            return Err(Cut::By(&LOOP));
        }
        let mut mapping = with_blocks(self.map, blocks);
        choices::choose_on_device(self.program, self.func, self.map, &mut mapping, self.model);
        Ok(mapping)
    }

    /// The lines of the outermost map's iterators.
    fn lines(&self, outer: &[Row]) -> Vec<BlockLine> {
        let line = |at: usize, place: Place, size: Option<u32>| BlockLine { var: self.map.iters[at].var, place, size };
        let mut lines = Vec::new();
        // The iterator along which lanes are next to each other is the fastest of the grid too.
        let mut order: Vec<usize> = (0..outer.len()).filter(|at| outer[*at].span != Span::All).collect();
        order.sort_by_key(|at| (outer[*at].dim.map_or(2, |dim| dim as usize), std::cmp::Reverse(*at)));
        for (axis, at) in order.iter().enumerate().rev() {
            let axis = Axis::ALL.get(axis).copied().unwrap_or(Axis::Z);
            lines.push(line(*at, Place::Grid(axis), None));
        }
        for (at, level) in outer.iter().enumerate() {
            match level.span {
                Span::One | Span::Split(_) | Span::Beside(_) => {}
                Span::Some(items) => lines.push(line(at, Place::Seq, Some(items))),
                Span::All => lines.push(line(at, Place::Seq, None)),
            }
        }
        for axis in Axis::ALL.iter().rev() {
            let along = outer.iter().position(|level| level.dim == Some(*axis));
            lines.extend(along.map(|at| line(at, Place::Thread(*axis), Some(outer[at].size))));
        }
        // Windows that overlap are next to each other; else neighbours are in other lanes.
        let own = outer.iter().enumerate().find_map(|(at, level)| match level.span {
            Span::Beside(count) => Some((at, count)),
            Span::One | Span::Some(_) | Span::All | Span::Split(_) => None,
        });
        if let Some((at, count)) = own {
            let overlaps = self.beside.is_some_and(|beside| beside.overlaps);
            let lanes = lines.iter().position(|line| matches!(line.place, Place::Thread(_)));
            let place = lanes.filter(|_| !overlaps).unwrap_or(lines.len());
            lines.insert(place, line(at, Place::Reg, Some(count)));
        }
        lines
    }
}
