//! Mappings of graphics processors as lines.

use super::write::{Writer, iters};
use super::{Exec, Recipe, Staging, Strategy, Tiling, key};
use crate::notation::{self, Axis, Index, Line, Place, Property, Size, StageOption, Step};
use crate::{Blocks, Near, inner_maps, iterators};
use hidp_ir::par::{FoldFn, FoldKind, Map, VarId};
use hidp_syntax::ast::Level;

/// Of a launch among several: as many threads as the compiler of the device leaves registers for.
pub(super) const NOT_SAID: u32 = 1;

impl Writer<'_> {
    pub(super) fn on_device(&mut self, map: &Map) {
        let mapping = self.mapping;
        match &mapping.recipe {
            Recipe::Near(near) => self.near(map, near),
            Recipe::Tiled(tiling) => self.tiled(map, tiling),
            Recipe::Blocks(blocks) => self.shaped(map, blocks),
            Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) if mapping.is_split() => self.split(map),
            Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) => self.launched(map),
        }
        let mut blocks: Vec<u32> = Vec::new();
        self.blocks(map, &mut blocks);
        if blocks.windows(2).all(|pair| pair[0] == pair[1]) {
            blocks.truncate(1);
        }
        self.nest.properties.extend(blocks.into_iter().map(Property::Block));
        let mut resident: Vec<u32> = Vec::new();
        self.resident(map, &mut resident);
        if resident.iter().all(|threads| *threads == NOT_SAID) {
            resident.clear();
        } else if resident.windows(2).all(|pair| pair[0] == pair[1]) {
            resident.truncate(1);
        }
        self.nest.properties.extend(resident.into_iter().map(Property::Resident));
    }

    /// Threads that registers are left for, of each launch in the order of the text.
    fn resident(&self, map: &Map, found: &mut Vec<u32>) {
        let launch = key(map).filter(|key| self.mapping.blocks.contains_key(key));
        found.extend(launch.map(|key| self.mapping.resident.get(&key).copied().unwrap_or(NOT_SAID)));
        inner_maps(&map.body).into_iter().for_each(|inner| self.resident(inner, found));
    }

    /// Threads of a block, of each launch in the order of the text.
    fn blocks(&self, map: &Map, found: &mut Vec<u32>) {
        found.extend(key(map).and_then(|key| self.mapping.blocks.get(&key)));
        inner_maps(&map.body).into_iter().for_each(|inner| self.blocks(inner, found));
    }

    /// A map that the host meets.
    fn launched(&mut self, map: &Map) {
        let vars = iters(map);
        let exec = self.exec_of(map).unwrap_or(Exec::Seq);
        let values = self.mapping.cut(map).is_some_and(|cut| cut.values);
        let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
        match exec {
            Exec::Device(Level::Kernel) => {
                vars.iter().for_each(|var| self.line(&[*var], Place::Host, Size::Rest));
                inner_maps(&map.body).into_iter().for_each(|inner| self.launched(inner));
            }
            Exec::Device(level) if map.folds.is_empty() => {
                let items = key(map).and_then(|key| self.mapping.items.get(&key));
                if let Some((items, fastest)) = items.zip(self.mapping.fastest(map)) {
                    self.line(&[fastest], Place::Unroll, Size::Count(*items));
                }
                self.grid(map);
                self.inside(map, level);
            }
            Exec::Device(level) if values || scans => {
                self.line(&vars, Place::Grid(Axis::X), Size::Rest);
                self.inside(map, if scans { Level::Thread } else { level });
            }
            Exec::Device(level) => {
                self.line(&vars, Place::Grid(Axis::X), Size::Rest);
                match level {
                    Level::Thread => self.turns(map, Place::Thread(Axis::X), Size::Rest),
                    Level::Kernel | Level::Block => self.line(&vars, Place::Seq, Size::Rest),
                    Level::Warp | Level::Subwarp | Level::Subwarp2 => {
                        self.turns(map, Place::Thread(Axis::Y), Size::Rest);
                    }
                }
                self.inside(map, level);
            }
            Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq => {
                self.line(&vars, Place::Seq, Size::Rest);
                self.inside(map, Level::Thread);
            }
        }
    }

    /// A line for each iterator of a grid, the slowest dimension first.
    fn grid(&mut self, map: &Map) {
        self.grid_of(map, &|_| None);
    }

    /// The same, where some have a number of blocks, each of which takes what it gets in turns.
    fn grid_of(&mut self, map: &Map, blocks: &dyn Fn(VarId) -> Option<u32>) {
        let dim = |var: &VarId| self.mapping.levels.get(var).map_or(0, |level| level.dim);
        let mut vars: Vec<(u32, VarId)> = iters(map).into_iter().map(|var| (dim(&var), var)).collect();
        vars.sort_by_key(|(dim, _)| std::cmp::Reverse(*dim));
        for (dim, var) in &vars {
            self.line(&[*var], Place::Grid(axis(*dim)), blocks(*var).map_or(Size::Rest, Size::Count));
        }
        let in_turns = vars.into_iter().map(|(_, var)| var).filter(|var| blocks(*var).is_some());
        in_turns.for_each(|var| self.line(&[var], Place::Seq, Size::Rest));
    }

    /// Lanes or groups take turns: neighbours have neighbouring iterations, unless the order of the operands matters.
    fn turns(&mut self, map: &Map, place: Place, size: Size) {
        let vars = iters(map);
        if in_order(map) {
            self.line(&vars, place, size);
            self.line(&vars, Place::Seq, Size::Rest);
        } else {
            self.line(&vars, Place::Seq, Size::Rest);
            self.line(&vars, place, size);
        }
    }

    /// What a group of this level does of a map's iteration. Where no map is shared, a line of its own says how many lanes it has.
    fn inside(&mut self, map: &Map, scope: Level) {
        let before = self.nest.steps.len();
        inner_maps(&map.body).into_iter().for_each(|inner| self.within(inner, scope));
        let lanes = |step: &Step| matches!(step, Step::Line(line) if line.place == Place::Thread(Axis::X));
        if let (Some(size), Some(last), false) =
            (lanes_of(scope), key(map), self.nest.steps[before..].iter().any(lanes))
        {
            let index = Index::Inside(self.names.iter(last));
            self.nest.steps.push(Step::Line(Line { index, place: Place::Thread(Axis::X), size }));
        }
    }

    fn within(&mut self, map: &Map, scope: Level) {
        match (self.exec_of(map), lanes_of(scope)) {
            (Some(Exec::Device(Level::Thread)), Some(size)) => {
                self.turns(map, Place::Thread(Axis::X), size);
                inner_maps(&map.body).into_iter().for_each(|inner| self.within(inner, Level::Thread));
            }
            (Some(Exec::Device(over)), Some(_)) => {
                self.turns(map, Place::Thread(Axis::Y), Size::Rest);
                self.inside(map, over);
            }
            _ => {
                iters(map).iter().for_each(|var| self.line(&[*var], Place::Seq, Size::Rest));
                inner_maps(&map.body).into_iter().for_each(|inner| self.within(inner, scope));
            }
        }
    }

    /// Groups of their own take parts of the fold inside: runs, or, where neighbouring threads have neighbouring parts, terms in turn.
    fn split(&mut self, map: &Map) {
        let [inner] = inner_maps(&map.body)[..] else { return };
        let terms = iters(inner);
        let parts = part_axis(map);
        let count = self.mapping.parts.map_or(Size::Rest, Size::Count);
        match self.mapping.strategy {
            Strategy::Device(Level::Thread) if !in_order(inner) => {
                self.line(&terms, Place::Seq, Size::Rest);
                self.line(&terms, parts, count.clone());
                self.grid(map);
            }
            Strategy::Device(Level::Thread) => {
                self.line(&terms, parts, count.clone());
                self.grid(map);
                self.line(&terms, Place::Seq, Size::Rest);
            }
            _ => {
                self.line(&terms, parts, count.clone());
                self.grid(map);
                self.turns(inner, Place::Thread(Axis::X), Size::Rest);
            }
        }
    }

    /// Blocks of the shape that lines say; what is inside runs in order.
    fn shaped(&mut self, map: &Map, blocks: &Blocks) {
        for line in &blocks.lines {
            self.line(&[line.var], line.place, line.size.map_or(Size::Rest, Size::Count));
        }
        for inner in inner_maps(&map.body) {
            iterators(inner).into_iter().for_each(|var| self.line(&[var], Place::Seq, Size::Rest));
        }
    }

    /// Tiles of iterations that share what they read; planes one after the other, if they share those too.
    fn near(&mut self, map: &Map, near: &Near) {
        let var = |at: usize| map.iters[at].var;
        let tile = |at: usize| self.mapping.levels.get(&var(at)).map_or(1, |level| level.tile);
        let (width, height) = (tile(near.lanes), tile(near.rows));
        let deep = near.third.map(|third| (var(third), tile(third)));
        if let Some((third, _)) = deep {
            self.line(&[third], Place::Grid(Axis::Z), Size::Rest);
        }
        self.line(&[var(near.rows)], Place::Grid(Axis::Y), Size::Rest);
        self.line(&[var(near.lanes)], Place::Grid(Axis::X), Size::Rest);
        if let (Some((third, planes)), Some(_)) = (deep, near.march) {
            self.line(&[third], Place::Seq, Size::Count(planes));
        }
        self.stages();
        self.line(&[var(near.rows), var(near.lanes)], Place::Thread(Axis::X), Size::Extents(vec![height, width]));
    }

    /// Tiles of results, with their operands some terms of the fold at a time.
    fn tiled(&mut self, map: &Map, tiling: &Tiling) {
        let [inner] = inner_maps(&map.body)[..] else { return };
        let ([.., row, column], [depth]) = (&iters(map)[..], &iters(inner)[..]) else { return };
        let tile = |var: &VarId| self.mapping.levels.get(var).map_or(1, |level| level.tile);
        let (rows, columns, terms) = (tile(row), tile(column), tile(depth));
        if self.mapping.is_split() {
            self.line(&[*depth], part_axis(map), self.mapping.parts.map_or(Size::Rest, Size::Count));
        }
        self.grid_of(map, &|var| {
            let at = [*row, *column].iter().position(|side| *side == var)?;
            tiling.blocks[at]
        });
        self.line(&[*depth], Place::Seq, Size::Rest);
        self.stages();
        self.line(&[*depth], Place::Seq, Size::Count(terms));
        self.line(&[*row], Place::Thread(Axis::Y), Size::Count(rows / tiling.rows.max(1)));
        self.line(&[*column], Place::Thread(Axis::X), Size::Count(columns / tiling.columns.max(1)));
        for (side, own) in [(*row, tiling.rows), (*column, tiling.columns)] {
            if own > 1 {
                self.line(&[side], Place::Reg, Size::Count(own));
            }
        }
    }

    fn stages(&mut self) {
        let wide = match &self.mapping.recipe {
            Recipe::Tiled(tiling) => tiling.vector,
            Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) | Recipe::Near(_) | Recipe::Blocks(_) => 1,
        };
        for Staging { array, turned, tile, buffers, pad } in &self.mapping.staging {
            // Planes come first, and are kept in turn; there is one where a part has none.
            let (extents, ring) = match &tile[..] {
                [1, rows, columns] => (vec![*rows, *columns], None),
                [planes, _, _] => (tile.clone(), Some(StageOption::Ring(*planes))),
                _ => (tile.clone(), None),
            };
            let options = [
                (*pad > 0).then_some(StageOption::Pad(*pad)),
                (*buffers > 1).then_some(StageOption::Bufs(*buffers)),
                ring,
                (wide > 1).then_some(StageOption::Wide(wide)),
                turned.then_some(StageOption::Turned),
            ];
            self.nest.steps.push(Step::Stage(notation::Stage {
                array: self.names.array(*array),
                near: notation::Near::Shared,
                extents,
                layout: Vec::new(),
                options: options.into_iter().flatten().collect(),
            }));
        }
    }
}

/// The dimension of a grid that an iterator is, by its position in the order.
fn axis(dim: u32) -> Axis {
    match dim {
        0 => Axis::X,
        1 => Axis::Y,
        _ => Axis::Z,
    }
}

/// Where parts of folds are in the grid of a map: its slowest dimension, which they may have to share.
pub(super) fn part_axis(map: &Map) -> Place {
    Place::Grid(axis(map.iters.len() as u32))
}

/// The lanes of a group that share what is inside; none for a single lane.
fn lanes_of(level: Level) -> Option<Size> {
    match level {
        Level::Thread | Level::Kernel => None,
        Level::Block => Some(Size::Rest),
        Level::Warp => Some(Size::Count(32)),
        Level::Subwarp => Some(Size::Count(8)),
        Level::Subwarp2 => Some(Size::Count(4)),
    }
}

/// The group that has so many lanes.
pub(crate) fn level_of(lanes: &Size) -> Option<Level> {
    [Level::Block, Level::Warp, Level::Subwarp, Level::Subwarp2]
        .into_iter()
        .find(|level| lanes_of(*level).as_ref() == Some(lanes))
}

/// Whether lanes must have runs of a fold, as the order of its operands matters.
fn in_order(map: &Map) -> bool {
    let reduces = map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
    reduces && map.folds.iter().any(|fold| matches!(fold.op.func, FoldFn::Fn(_)))
}
