//! Maps whose blocks keep parts of arrays in shared memory: tiles of iterations, which first copy what they share, and then read the copies.
//! Where iterations share planes too, a block takes planes one after the other and keeps as many as an iteration reaches.

use super::super::fold::Acc;
use super::super::space::Range;
use super::super::{Binding, Lowerer, make};
use super::reduce::Folded;
use hidp_ir::imp::{Element, Expr, Grid, Level, LoopKind, Stmt, VarId, VarKind};
use hidp_ir::par::{self, BinOp, Fold, Map, Place};
use hidp_plan::{self as plan, Near, NearArray, NearDim};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// A copy of a part of an array.
#[derive(Clone, Debug)]
pub(in super::super) struct Copied {
    array: NearArray,
    /// The shared array, and elements of it from plane to plane and from row to row.
    base: VarId,
    plane: u32,
    pitch: u32,
    /// Extents of the part in the dimensions of rows and columns, which are those of the array.
    sides: [Side; 2],
    /// The map's iterators.
    iters: Vec<par::VarId>,
    /// Where the element without offsets is that belongs to the iteration at hand, but for the plane.
    own: Expr,
    /// Where the planes begin that an iteration reaches, the lowest offset first, and which that is.
    planes: Vec<Expr>,
    lowest: i64,
}

/// A dimension of a part.
#[derive(Clone, Copy, Debug)]
struct Side {
    dim: usize,
    iter: usize,
    low: i64,
    extent: u32,
}

/// The tile that a block works on.
struct Tile<'m> {
    map: &'m Map,
    near: &'m Near,
    ranges: Vec<Range>,
    /// Iterations along the lanes and across.
    size: [u32; 2],
    /// The first position of the tile along each iterator.
    first: Vec<Expr>,
}

impl Lowerer<'_> {
    /// A map whose blocks take tiles.
    pub(super) fn near_map(&mut self, map: &Map, near: &Near, span: Span) {
        let threads = self.block_of(map);
        let grid = self.leaving_registers(map, Grid::new(Level::Block, threads));
        let ranges = self.ranges(map);
        let order: Vec<usize> = near.third.into_iter().chain([near.rows, near.lanes]).collect();
        let sizes: Vec<u32> = map.iters.iter().map(|iter| self.tile_of(iter.var)).collect();
        let mut extents = Vec::new();
        for &at in &order {
            let tiles = make::ceil_div(ranges[at].count.clone(), make::long(sizes[at].into()));
            extents.push(self.body.fix("tiles", tiles));
        }
        let runs = extents.iter().cloned().reduce(make::mul).unwrap_or(make::long(1));
        let runs = if map.folds.is_empty() { runs } else { self.body.fix("runs", runs) };
        let partials: Vec<VarId> = map.folds.iter().map(|fold| self.partials(fold, &runs)).collect();
        let (kernel, args) = self.grid_kernel("tile", span, grid, order.len(), Vec::new(), |this, positions| {
            this.mark_outputs(map);
            let ranges = this.import_ranges(&ranges);
            let mut first = vec![make::long(0); ranges.len()];
            for (at, position) in order.iter().zip(positions) {
                let start = make::mul(position.clone(), make::long(sizes[*at].into()));
                first[*at] = this.body.fix("first", start);
            }
            let size = [sizes[near.lanes], sizes[near.rows]];
            let accs = this.accumulators(map);
            this.tile_item(&Tile { map, near, ranges, size, first }, &accs);
            if !accs.is_empty() {
                let extents: Vec<Expr> = extents.iter().map(|extent| this.import(extent)).collect();
                let number = this.linear(&extents, positions.to_vec());
                let number = this.body.fix("number", number);
                accs.iter().zip(&partials).for_each(|(acc, partial)| this.store_partial(acc, *partial, number.clone()));
            }
        });
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: None });
        if !map.folds.is_empty() {
            let total = runs.clone();
            let folded = Folded::by_lanes((&ranges, &[], &total), grid.block, (make::long(1), runs), span);
            self.fold_partials(&folded, &map.folds, &partials);
            for (fold, partial) in map.folds.iter().zip(partials) {
                self.deliver_first(fold, partial, &folded.runs);
            }
        }
    }

    fn tile_of(&self, var: par::VarId) -> u32 {
        self.mapping.levels.get(&var).map_or(1, |level| level.tile.max(1))
    }

    /// In the kernel: one tile.
    fn tile_item(&mut self, tile: &Tile<'_>, accs: &[Acc<'_>]) {
        let staging = self.mapping.staging.clone();
        let mut copies = Vec::new();
        for array in tile.near.arrays.iter().cloned() {
            let Some(staging) = staging.iter().find(|staging| staging.array == array.var) else {
                self.defect("each array that is near has its `stage` line");
                continue;
            };
            let planes = staging.tile.first().copied().unwrap_or(1);
            let plane = staging.elements() / planes.max(1);
            let elem = self.func.vars[array.var].ty;
            let kind = VarKind::Shared { elem, len: staging.elements(), declared: false };
            let base = self.body.declare(&format!("near_{}", self.func.vars[array.var].name), kind);
            self.body.push(Stmt::Let { var: base, init: None });
            let sides = sides(&array, tile);
            let iters = tile.map.iters.iter().map(|iter| iter.var).collect();
            let (own, planes) = (make::long(0), vec![make::long(0)]);
            let lowest = tile.near.march.map_or(0, |(low, _)| low);
            copies.push(Copied { array, base, plane, pitch: staging.pitch(), sides, iters, own, planes, lowest });
        }
        match (tile.near.march, tile.near.third) {
            (Some(reach), Some(third)) => self.march(tile, copies, (third, reach), accs),
            _ => {
                if let Some(third) = tile.near.third {
                    self.bind_position(&tile.ranges[third], tile.first[third].clone());
                }
                copies.iter().for_each(|copied| self.copy_near(tile, copied, None));
                self.tile_iterations(tile, &copies, accs);
            }
        }
    }

    /// Planes one after the other: the next one is copied over the one that no iteration reaches any more.
    fn march(
        &mut self,
        tile: &Tile<'_>,
        mut copies: Vec<Copied>,
        (third, (low, high)): (usize, (i64, i64)),
        accs: &[Acc<'_>],
    ) {
        let range = &tile.ranges[third];
        let first = tile.first[third].clone();
        let planes = high - low + 1;
        let deep = make::long(self.tile_of(range.var).into());
        let past = self.body.fix("past", make::min(make::add(first.clone(), deep), range.count.clone()));
        let start = self.body.fix("start", make::add(first.clone(), make::long(low)));
        let stop = self.body.fix("stop", make::add(past, make::long(high)));
        let at = self.body.enter_loop("plane");
        let position = make::var(at, Ty::LONG);
        let turn = make::binary(BinOp::Rem, make::sub(position.clone(), start.clone()), make::long(planes));
        let turn = self.body.fix("turn", turn);
        copies.iter().for_each(|copied| self.copy_near(tile, copied, Some((&position, &turn))));
        // The plane with the highest offset has just come.
        let slots: Vec<Expr> = (0..planes)
            .map(|offset| {
                let later = make::add(turn.clone(), make::long(offset + 1));
                let around = make::sub(later.clone(), make::long(planes));
                let wraps = make::binary(BinOp::Ge, later.clone(), make::long(planes));
                self.body.fix("slot", make::select(wraps, around, later))
            })
            .collect();
        let own = make::sub(position, make::long(high));
        let own = self.body.fix("own", own);
        let ready = make::binary(BinOp::Ge, own.clone(), first);
        self.body.enter();
        self.bind_position(range, own);
        for copied in &mut copies {
            let plane = make::long(copied.plane.into());
            copied.planes =
                slots.iter().map(|slot| self.body.fix("start", make::mul(slot.clone(), plane.clone()))).collect();
        }
        // What the lanes of a block fold together begins with every plane anew.
        let folds: &[Fold] = if accs.is_empty() { &[] } else { &tile.map.folds };
        let own_accs = self.accumulators_of(folds);
        self.tile_iterations(tile, &copies, &own_accs);
        for (acc, own) in accs.iter().zip(&own_accs) {
            self.fold_value(acc, make::var(own.var, own.fold.op.ty));
        }
        let iterations = self.body.leave();
        self.body.push(make::when(ready, iterations.stmts));
        self.body.leave_loop(at, start, stop, LoopKind::Seq);
    }

    /// All lanes: copies a plane of a part, as far as the array has it. `plane` is its position along the third iterator and where it
    /// goes.
    fn copy_near(&mut self, tile: &Tile<'_>, copied: &Copied, plane: Option<(&Expr, &Expr)>) {
        let [rows, columns] = copied.sides;
        let elements = make::long((rows.extent * columns.extent).into());
        let start = plane.map_or(make::long(0), |(_, turn)| make::mul(turn.clone(), make::long(copied.plane.into())));
        let start = self.body.fix("start", start);
        self.spread(Level::Thread, &[], make::long(0), elements, &mut |this, at| {
            let (row, column) = this.row_and_column(&at, columns.extent);
            let indices = this.copied_indices(tile, copied, plane.map(|(at, _)| at), (&row, &column));
            let Binding::Array(array) = this.binding(copied.array.var) else {
                return this.defect("what is copied near is an array");
            };
            let mut inside: Option<Expr> = None;
            for (dim, index) in indices.iter().enumerate() {
                if matches!(copied.array.dims[dim], NearDim::Along { .. }) {
                    let this_one = make::inside(index.clone(), array.extents[dim].clone());
                    inside = Some(match inside {
                        Some(before) => make::binary(BinOp::And, before, this_one),
                        None => this_one,
                    });
                }
            }
            this.body.enter();
            let ty = this.func.vars[copied.array.var].ty;
            let from = this.linear(&array.extents, indices);
            let value = make::load(make::element(array.base, from), ty);
            let place = make::add(make::mul(row, make::long(copied.pitch.into())), column);
            let target = make::element(copied.base, make::add(start.clone(), place));
            this.body.push(Stmt::Store { target, value });
            let copy = this.body.leave();
            match inside {
                Some(inside) => this.body.push(make::when(inside, copy.stmts)),
                None => copy.stmts.into_iter().for_each(|stmt| this.body.push(stmt)),
            }
        });
    }

    /// The element of the array that is copied to a row and column.
    fn copied_indices(
        &mut self,
        tile: &Tile<'_>,
        copied: &Copied,
        plane: Option<&Expr>,
        (row, column): (&Expr, &Expr),
    ) -> Vec<Expr> {
        let [rows, columns] = copied.sides;
        let mut indices = Vec::new();
        for (number, dim) in copied.array.dims.iter().enumerate() {
            let index = match *dim {
                NearDim::Fixed(value) => make::long(value),
                NearDim::Along { iter, low, .. } => {
                    let begin = make::add(tile.first[iter].clone(), make::long(low));
                    let position = match plane {
                        _ if number == rows.dim => make::add(begin, row.clone()),
                        _ if number == columns.dim => make::add(begin, column.clone()),
                        Some(plane) => plane.clone(),
                        None => begin,
                    };
                    make::add(tile.ranges[iter].lo.clone(), position)
                }
            };
            indices.push(self.body.fix("index", index));
        }
        indices
    }

    /// Both of a number in rows of so many columns; tiles are small.
    fn row_and_column(&mut self, at: &Expr, columns: u32) -> (Expr, Expr) {
        let columns = make::long(columns.into());
        let short = |value: &Expr| make::cast(value.clone(), Scalar::U32);
        let divided = |op| make::cast(make::binary(op, short(at), short(&columns)), Scalar::I64);
        let row = self.body.fix("row", divided(BinOp::Div));
        let column = self.body.fix("column", divided(BinOp::Rem));
        (row, column)
    }

    /// The iterations of a tile, which read the copies.
    fn tile_iterations(&mut self, tile: &Tile<'_>, copies: &[Copied], accs: &[Acc<'_>]) {
        let [width, height] = tile.size;
        let elements = make::long((width * height).into());
        self.spread(Level::Thread, accs, make::long(0), elements, &mut |this, at| {
            let (row, lane) = this.row_and_column(&at, width);
            let mut inside = None;
            let mut positions = Vec::new();
            for (iter, local) in [(tile.near.rows, &row), (tile.near.lanes, &lane)] {
                let position = make::add(tile.first[iter].clone(), local.clone());
                let position = this.body.fix("at", position);
                let this_one = make::binary(BinOp::Lt, position.clone(), tile.ranges[iter].count.clone());
                positions.push((iter, position));
                inside = Some(match inside {
                    Some(before) => make::binary(BinOp::And, before, this_one),
                    None => this_one,
                });
            }
            this.body.enter();
            positions.into_iter().for_each(|(iter, position)| this.bind_position(&tile.ranges[iter], position));
            let local = |iter: usize| if iter == tile.near.lanes { lane.clone() } else { row.clone() };
            for copied in copies {
                let own = this.body.fix("near", copied.place_of(&local));
                this.near.push(Copied { own, ..copied.clone() });
            }
            this.iteration(tile.map, accs);
            this.near.clear();
            let iteration = this.body.leave();
            if let Some(inside) = inside {
                this.body.push(make::when(inside, iteration.stmts));
            }
        });
    }

    /// The copy of an element, if there is one.
    pub(in super::super) fn near_element(&self, place: &Place) -> Option<Element> {
        let copied = self.near.iter().find(|copied| copied.array.var == place.array)?;
        let offsets =
            place.index.iter().map(|index| plan::index_offset(&copied.iters, index).map(|(_, offset)| offset));
        let offsets: Vec<i64> = offsets.collect::<Option<_>>()?;
        let [rows, columns] = copied.sides;
        let shift = offsets[rows.dim] * i64::from(copied.pitch) + offsets[columns.dim];
        let is_deep = |dim: &usize| {
            ![rows.dim, columns.dim].contains(dim) && matches!(copied.array.dims[*dim], NearDim::Along { .. })
        };
        let plane = match (&copied.planes[..], (0..offsets.len()).find(is_deep)) {
            ([only], _) => only,
            (planes, Some(dim)) => planes.get(usize::try_from(offsets[dim] - copied.lowest).ok()?)?,
            (_, None) => return None,
        };
        let index = make::add(make::add(plane.clone(), copied.own.clone()), make::long(shift));
        Some(make::element(copied.base, index))
    }
}

impl Copied {
    /// Where an iteration's own element is, but for the plane.
    fn place_of(&self, local: &dyn Fn(usize) -> Expr) -> Expr {
        let [rows, columns] = self.sides;
        let row = make::sub(local(rows.iter), make::long(rows.low));
        let column = make::sub(local(columns.iter), make::long(columns.low));
        make::add(make::mul(row, make::long(self.pitch.into())), column)
    }
}

/// The dimensions of an array that a tile's rows and columns of its copy are, as the array has them.
fn sides(array: &NearArray, tile: &Tile<'_>) -> [Side; 2] {
    let side = |iter: usize, size: u32| {
        let (low, offsets) = array.reach(iter);
        Side { dim: array.dim_of(iter).unwrap_or(0), iter, low, extent: size + offsets - 1 }
    };
    let (lanes, rows) = (side(tile.near.lanes, tile.size[0]), side(tile.near.rows, tile.size[1]));
    if lanes.dim < rows.dim { [lanes, rows] } else { [rows, lanes] }
}
