//! Tiles: lanes hold neighbouring iterations of the innermost parallel iterator, several rows of it share what the lanes
//! load, reductions run outside of both and accumulate in a tile that the C++ compiler keeps in registers.

use std::collections::BTreeMap;

use super::build::Binding;
use super::expr::product;
use super::space::Range;
use super::{Lowerer, make};
use crate::compiler::ir::imp::{Element, Expr, LoopKind, Stmt, VarId, VarKind};
use crate::compiler::ir::par::{self, BinOp, FaultKind, Fold, FoldFn, Map, Place, StmtKind, Target, visit};
use crate::compiler::plan::{self, Exec, Stride};
use crate::compiler::source::Span;
use crate::compiler::ty::Ty;

/// Neighbours below which rows are the better choice.
const FEWEST_LANES: i64 = 8;
/// Statements of a reduction up to which several of its iterations are written out.
const MOST_REPEATED: usize = 4;

/// A copy of the elements that an access reads in one tile column: `panel[(k - first) * width + lane]`.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    place: Place,
    base: VarId,
    /// Index of the element for the current iteration.
    index: Expr,
}

/// A tile: which iterations it holds.
#[derive(Clone)]
struct Tile {
    rows: Option<Axis>,
    lanes: Axis,
    /// Elements from one row of the tile to the next.
    lane_tile: u32,
    /// Elements of the tile.
    size: u32,
    /// Whether rows and lanes are all there, so that bounds are constants.
    full: bool,
}

/// One direction of a tile.
#[derive(Clone)]
struct Axis {
    var: par::VarId,
    /// Value of the iterator at the first one.
    first: Expr,
    /// How many.
    count: Expr,
}

/// What the plan and the sizes say about the tiles of a nest; values of the host function or a kernel.
#[derive(Clone)]
struct Shape {
    ranges: Vec<Range>,
    /// Position among the ranges of the rows' iterator.
    rows: Option<usize>,
    row_tile: u32,
    lane_tile: u32,
    /// Lanes of a tile, at most `lane_tile`.
    width: Expr,
}

impl Lowerer<'_> {
    /// Tiles shared out over threads, columns of tiles outermost so that what lanes load is used by all rows.
    /// Rows instead if there are too few neighbours to fill lanes.
    pub(super) fn lane_map(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        let Some(shape) = self.tile_shape(map, ranges) else { return self.share_map(map, span) };
        let count = shape.ranges[shape.ranges.len() - 1].count.clone();
        let wide = make::binary(BinOp::Ge, count, make::long(FEWEST_LANES));
        self.branch(
            wide,
            |this| this.launch_tiles(map, span, shape),
            |this| {
                let inner = plan::inner_maps(&map.body);
                for iter in inner.iter().filter_map(|inner| inner.iters.last()) {
                    this.levels.entry(iter.var).and_modify(|level| level.exec = Exec::Simd);
                }
                this.share_map(map, span);
            },
        );
    }

    fn launch_tiles(&mut self, map: &Map, span: Span, shape: Shape) {
        let mut tiles = shape.tile_counts();
        tiles.rotate_right(1);
        let mut counts = Vec::new();
        for (range, count) in tiles {
            let count = self.body.fix("tiles", count);
            counts.push(Range { count, lo: make::long(0), step: make::long(1), var: range });
        }
        let (strides, total) = self.strides(&counts);
        let cost = self.cost_of(&map.body);
        let all = shape.ranges.iter().fold(cost, |work, range| make::mul(work, range.count.clone()));
        let work = self.body.fix("work", all);
        let (kernel, args) = self.kernel("tiles", span, |this, begin, end| {
            let shape = Shape { ranges: this.import_ranges(&shape.ranges), width: this.import(&shape.width), ..shape };
            let counts = this.import_ranges(&counts);
            let strides: Vec<Expr> = strides.iter().map(|stride| this.import(stride)).collect();
            this.tile_columns(map, &shape, &counts, &strides, begin, end);
        });
        let schedule = self.schedule(1, work);
        self.body.push(Stmt::Launch { kernel, args, extent: total, schedule });
    }

    fn tile_shape(&mut self, map: &Map, ranges: Vec<Range>) -> Option<Shape> {
        plan::lane_iterator(self.program, self.func, map)?;
        let tile_of = |this: &Self, at: usize| map.iters.get(at).and_then(|i| this.levels.get(&i.var)).map(|l| l.tile);
        let last = map.iters.len().checked_sub(1)?;
        let lane_tile = tile_of(self, last)?.max(1);
        let rows = (0..last).find(|at| tile_of(self, *at).is_some_and(|tile| tile > 1));
        let row_tile = rows.and_then(|at| tile_of(self, at)).unwrap_or(1);
        let width = if rows.is_some() {
            make::long(lane_tile.into())
        } else {
            let workers = Expr { kind: crate::compiler::ir::imp::ExprKind::WorkerCount, ty: Ty::LONG };
            let lines = make::ceil_div(make::ceil_div(ranges[last].count.clone(), workers), make::long(64));
            let wanted = make::max(make::mul(lines, make::long(64)), make::long(64));
            self.body.fix("width", make::min(wanted, make::long(lane_tile.into())))
        };
        Some(Shape { ranges, rows, row_tile, lane_tile, width })
    }

    /// Loops over the columns of tiles in a part, and the tiles of each.
    fn tile_columns(&mut self, map: &Map, shape: &Shape, counts: &[Range], strides: &[Expr], begin: Expr, end: Expr) {
        let Some(lane) = shape.ranges.last().cloned() else { return };
        let stride = strides[0].clone();
        let first = self.body.fix("first", make::div(begin.clone(), stride.clone()));
        let past = self.body.fix("past", make::ceil_div(end.clone(), stride.clone()));
        let at = self.body.enter_loop("column");
        let column = make::var(at, Ty::LONG);
        let position = self.body.fix("lane", make::mul(column.clone(), shape.width.clone()));
        let start = self.body.fix("start", make::mul(column, stride.clone()));
        let low = self.body.fix("low", make::max(make::sub(begin, start.clone()), make::long(0)));
        let high = self.body.fix("high", make::min(make::sub(end, start), stride));
        let left = make::sub(lane.count.clone(), position.clone());
        let count = self.body.fix("lanes", make::min(left, shape.width.clone()));
        let lane_first = self.body.fix("first", make::add(lane.lo.clone(), position));
        let lanes = Axis { var: lane.var, first: lane_first, count };
        self.tile_rows(map, shape, &counts[1..], &strides[1..], &lanes, (low, high));
        self.body.leave_loop(at, first, past, LoopKind::Seq);
    }

    fn tile_rows(
        &mut self,
        map: &Map,
        shape: &Shape,
        counts: &[Range],
        strides: &[Expr],
        lanes: &Axis,
        (low, high): (Expr, Expr),
    ) {
        if counts.is_empty() {
            self.whole_or_edge(map, shape, None, lanes);
            return;
        }
        let panels = self.pack(map, shape, lanes);
        self.clipped(counts, strides, low, high, &mut |this, low, high| {
            let Some(last) = counts.last() else { return };
            this.range_loop(last, low, high, LoopKind::Seq, &mut |this| {
                let rows = this.bind_rows(shape);
                match &panels {
                    Some((fits, panels)) => {
                        let (panels, edge_rows) = (panels.clone(), rows.clone());
                        this.branch(
                            fits.clone(),
                            |this| {
                                this.panels = panels;
                                this.whole_or_edge(map, shape, rows, lanes);
                                this.panels.clear();
                            },
                            |this| this.whole_or_edge(map, shape, edge_rows, lanes),
                        );
                    }
                    None => this.whole_or_edge(map, shape, rows, lanes),
                }
            });
        });
    }

    /// Makes outer iterators their values from the numbers of tiles, which they are bound to.
    fn bind_rows(&mut self, shape: &Shape) -> Option<Axis> {
        let mut rows = None;
        for (at, range) in shape.ranges[..shape.ranges.len() - 1].iter().enumerate() {
            let number = self.read(range.var);
            if Some(at) == shape.rows {
                let position = self.body.fix("row", make::mul(number, make::long(shape.row_tile.into())));
                let left = make::sub(range.count.clone(), position.clone());
                let count = self.body.fix("rows", make::min(left, make::long(shape.row_tile.into())));
                let first = self.body.fix("first", make::add(range.lo.clone(), position));
                rows = Some(Axis { var: range.var, first, count });
            } else {
                self.bind_position(range, number);
            }
        }
        rows
    }

    /// The tile at these places, with constant bounds where it is whole.
    fn whole_or_edge(&mut self, map: &Map, shape: &Shape, rows: Option<Axis>, lanes: &Axis) {
        let size = shape.row_tile * shape.lane_tile;
        let Some(rows) = rows else {
            let tile = Tile { rows: None, lanes: lanes.clone(), lane_tile: shape.lane_tile, size, full: false };
            return self.tile(map, &tile);
        };
        let (row_tile, lane_tile) = (make::long(shape.row_tile.into()), make::long(shape.lane_tile.into()));
        let whole = make::binary(
            BinOp::And,
            make::binary(BinOp::Eq, rows.count.clone(), row_tile.clone()),
            make::binary(BinOp::Eq, lanes.count.clone(), lane_tile.clone()),
        );
        let full = Tile {
            rows: Some(Axis { count: row_tile, ..rows.clone() }),
            lanes: Axis { count: lane_tile, ..lanes.clone() },
            lane_tile: shape.lane_tile,
            size,
            full: true,
        };
        let edge = Tile { rows: Some(rows), lanes: lanes.clone(), lane_tile: shape.lane_tile, size, full: false };
        self.branch(whole, |this| this.tile(map, &full), |this| this.tile(map, &edge));
    }

    /// All iterations of a tile: statements between reductions for every row and lane, reductions outside of them.
    fn tile(&mut self, map: &Map, tile: &Tile) {
        let shared = self.shared_locals(map, tile);
        let mut pending: Vec<&par::Stmt> = Vec::new();
        for stmt in &map.body.stmts {
            match &stmt.kind {
                StmtKind::Map(inner) => {
                    self.segment(&mut pending, tile, &shared);
                    self.tile_fold(inner, tile, &shared);
                }
                StmtKind::Declare { var, .. } if shared.contains_key(var) => {}
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::If { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Return(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => pending.push(stmt),
            }
        }
        self.segment(&mut pending, tile, &shared);
    }

    /// Tiles for the locals that live across a reduction.
    fn shared_locals(&mut self, map: &Map, tile: &Tile) -> BTreeMap<par::VarId, VarId> {
        let mut first_seen: BTreeMap<par::VarId, usize> = BTreeMap::new();
        let mut across: Vec<par::VarId> = Vec::new();
        let mut declared: Vec<par::VarId> = Vec::new();
        let mut segment = 0;
        for stmt in &map.body.stmts {
            let is_map = matches!(stmt.kind, StmtKind::Map(_));
            segment += usize::from(is_map);
            if let StmtKind::Declare { var, .. } = stmt.kind {
                declared.push(var);
            } else {
                let one = par::Block { stmts: vec![stmt.clone()] };
                visit::walk_vars(&one, |var, _| {
                    if is_map || *first_seen.entry(var).or_insert(segment) != segment {
                        across.push(var);
                    }
                });
            }
            segment += usize::from(is_map);
        }
        let mut shared = BTreeMap::new();
        for var in declared.into_iter().filter(|var| across.contains(var)) {
            let declared = &self.func.vars[var];
            shared.insert(var, self.body.tile(&declared.name, declared.ty, tile.size));
        }
        shared
    }

    /// Statements of every row and lane.
    fn segment(&mut self, pending: &mut Vec<&par::Stmt>, tile: &Tile, shared: &BTreeMap<par::VarId, VarId>) {
        if pending.is_empty() {
            return;
        }
        let stmts = std::mem::take(pending);
        self.every_element(tile, shared, &mut |this, _| stmts.iter().for_each(|stmt| this.stmt(stmt)));
    }

    /// Loops over rows and lanes; `body` gets the element's index in a tile.
    fn every_element(
        &mut self,
        tile: &Tile,
        shared: &BTreeMap<par::VarId, VarId>,
        body: &mut dyn FnMut(&mut Self, Expr),
    ) {
        let Some(rows) = &tile.rows else { return self.every_lane(tile, shared, make::long(0), body) };
        let row = self.body.enter_loop("row");
        let at = make::var(row, Ty::LONG);
        self.bind_fixed(rows.var, make::add(rows.first.clone(), at.clone()));
        let start = make::mul(at, make::long(tile.lane_tile.into()));
        self.every_lane(tile, shared, start, body);
        let rows_at_most = tile.full.then(|| make::as_int(&rows.count)).flatten();
        let kind = rows_at_most.and_then(|n| u32::try_from(n).ok()).map_or(LoopKind::Seq, LoopKind::Unroll);
        self.body.leave_loop(row, make::long(0), rows.count.clone(), kind);
    }

    fn every_lane(
        &mut self,
        tile: &Tile,
        shared: &BTreeMap<par::VarId, VarId>,
        start: Expr,
        body: &mut dyn FnMut(&mut Self, Expr),
    ) {
        let lane = self.body.enter_loop("lane");
        let at = make::var(lane, Ty::LONG);
        self.bind_fixed(tile.lanes.var, make::add(tile.lanes.first.clone(), at.clone()));
        self.place_panels(&at);
        let index = make::add(start, at);
        for (local, base) in shared {
            let element = make::element(*base, index.clone());
            self.body.bindings.insert(*local, Binding::Lane(element));
        }
        body(self, index);
        let kind = LoopKind::Simd { reductions: Vec::new() };
        self.body.leave_loop(lane, make::long(0), tile.lanes.count.clone(), kind);
    }

    fn bind_fixed(&mut self, var: par::VarId, value: Expr) {
        let name = self.func.vars[var].name.clone();
        let value = self.body.fix(&name, value);
        self.body.bindings.insert(var, Binding::Fixed(value));
    }

    /// A reduction over all rows and lanes at once. Long ones run in blocks so that running sums stay accurate.
    fn tile_fold(&mut self, map: &Map, tile: &Tile, shared: &BTreeMap<par::VarId, VarId>) {
        let ranges = self.ranges(map);
        let targets: Vec<VarId> = map.folds.iter().filter_map(|fold| target_tile(fold, shared)).collect();
        if targets.len() != map.folds.len() {
            return;
        }
        let rounds = map.folds.iter().any(|fold| fold.op.ty.scalar().is_none_or(|scalar| scalar.is_float()));
        let ordered = map.folds.iter().any(|fold| fold.op.ordered);
        self.fill_neutral(map, tile, shared, &targets);
        let block = make::long(self.model.fold_block.into());
        let ([range], true, false) = (&ranges[..], rounds, ordered) else {
            self.outer_loops(&ranges, &mut |this, range| {
                let count = range.count.clone();
                this.fold_rows(map, range, make::long(0), count, tile, shared, &targets);
            });
            return;
        };
        let runs: Vec<VarId> = map.folds.iter().map(|fold| self.body.tile("run", fold.op.ty, tile.size)).collect();
        self.block_loop(make::long(0), range.count.clone(), block, &mut |this, low, high| {
            this.fill_neutral(map, tile, shared, &runs);
            this.fold_rows(map, range, low, high, tile, shared, &runs);
            this.every_element(tile, shared, &mut |this, at| {
                for ((fold, run), target) in map.folds.iter().zip(&runs).zip(&targets) {
                    let (target, run) = (make::element(*target, at.clone()), make::element(*run, at.clone()));
                    let before = make::load(target.clone(), fold.op.ty);
                    let value = this.apply(&fold.op, before, make::load(run, fold.op.ty));
                    this.body.push(Stmt::Store { target, value });
                }
            });
        });
    }

    fn fill_neutral(&mut self, map: &Map, tile: &Tile, shared: &BTreeMap<par::VarId, VarId>, tiles: &[VarId]) {
        self.every_element(tile, shared, &mut |this, at| {
            for (fold, base) in map.folds.iter().zip(tiles) {
                let neutral = fold.op.neutral.as_deref().map(|neutral| this.expr(neutral));
                let value = neutral.unwrap_or_else(|| this.zero_value(fold.op.ty));
                this.body.push(Stmt::Store { target: make::element(*base, at.clone()), value });
            }
        });
    }

    /// The loop of a reduction, rows and lanes inside of it.
    #[allow(clippy::too_many_arguments)]
    fn fold_rows(
        &mut self,
        map: &Map,
        range: &Range,
        low: Expr,
        high: Expr,
        tile: &Tile,
        shared: &BTreeMap<par::VarId, VarId>,
        accs: &[VarId],
    ) {
        let low = self.body.fix("low", low);
        let high = self.body.fix("high", high);
        let low = match tile.rows {
            Some(_) => low,
            None => self.fold_several(map, range, low, high.clone(), tile, shared, accs),
        };
        self.range_loop(range, low, high, LoopKind::Seq, &mut |this| {
            if !this.panels.is_empty() {
                let position = make::sub(this.read(range.var), range.lo.clone());
                let depth = this.body.fix("depth", make::mul(position, make::long(tile.lane_tile.into())));
                this.depth = Some(depth);
            }
            this.every_element(tile, shared, &mut |this, at| {
                let targets: Vec<Element> = accs.iter().map(|base| make::element(*base, at.clone())).collect();
                let before = map.folds.iter().zip(&targets).map(|(fold, at)| make::load(at.clone(), fold.op.ty));
                let before = before.collect();
                let after = this.fold_lane(map, before);
                for (target, value) in targets.into_iter().zip(after) {
                    this.body.push(Stmt::Store { target, value });
                }
            });
            this.depth = None;
        });
    }

    /// Without rows that share loads, several iterations of the reduction at once, so that accumulators are loaded and stored
    /// less often than what they add. Gives the first position that is left.
    #[allow(clippy::too_many_arguments)]
    fn fold_several(
        &mut self,
        map: &Map,
        range: &Range,
        low: Expr,
        high: Expr,
        tile: &Tile,
        shared: &BTreeMap<par::VarId, VarId>,
        accs: &[VarId],
    ) -> Expr {
        let several = i64::from(self.model.lane_unroll);
        if map.body.stmts.len() > MOST_REPEATED || several < 2 {
            return low;
        }
        let groups = make::div(make::sub(high, low.clone()), make::long(several));
        let past = make::add(low.clone(), make::mul(groups, make::long(several)));
        let past = self.body.fix("past", past);
        let first = self.body.enter_loop("group");
        let iterators: Vec<Expr> = (0..several)
            .map(|next| {
                let position = make::add(make::var(first, Ty::LONG), make::long(next));
                self.body.fix("iteration", make::add(range.lo.clone(), make::mul(position, range.step.clone())))
            })
            .collect();
        self.every_element(tile, shared, &mut |this, at| {
            let targets: Vec<Element> = accs.iter().map(|base| make::element(*base, at.clone())).collect();
            let slots: Vec<(VarId, Ty)> = map
                .folds
                .iter()
                .zip(&targets)
                .map(|(fold, at)| {
                    let init = make::load(at.clone(), fold.op.ty);
                    (this.body.slot("acc", fold.op.ty, Some(init)), fold.op.ty)
                })
                .collect();
            for iterator in &iterators {
                this.body.bindings.insert(range.var, Binding::Fixed(iterator.clone()));
                let before = slots.iter().map(|(slot, ty)| make::var(*slot, *ty)).collect();
                let after = this.fold_lane(map, before);
                for ((slot, _), value) in slots.iter().zip(after) {
                    this.body.push(make::set(*slot, value));
                }
            }
            for ((slot, ty), target) in slots.into_iter().zip(targets) {
                this.body.push(Stmt::Store { target, value: make::var(slot, ty) });
            }
        });
        self.body.leave_loop_step(first, low, past.clone(), make::long(several), LoopKind::Seq);
        past
    }

    /// The accumulators of one row and lane after one more iteration of a reduction.
    fn fold_lane(&mut self, map: &Map, before: Vec<Expr>) -> Vec<Expr> {
        let factors = self.lane_product(map);
        let plain = map.body.stmts.len() - usize::from(factors.is_some());
        self.stmts(&map.body.stmts[..plain]);
        let step = |this: &mut Self, (fold, before): (&Fold, Expr)| match factors {
            Some((a, b)) => {
                let (a, b) = (this.expr(a), this.expr(b));
                make::mul_add(a, b, before)
            }
            None => {
                let value = this.read(fold.value);
                this.apply(&fold.op, before, value)
            }
        };
        map.folds.iter().zip(before).map(|pair| step(self, pair)).collect()
    }

    fn lane_product<'m>(&self, map: &'m Map) -> Option<(&'m par::Expr, &'m par::Expr)> {
        let [fold] = &map.folds[..] else { return None };
        let StmtKind::Assign { var, value } = &map.body.stmts.last()?.kind else { return None };
        let mut uses = 0;
        visit::walk_vars(&map.body, |used, role| {
            uses += usize::from(used == *var && role != visit::Role::Declare);
        });
        let fits = self.func.contract && *var == fold.value && fold.op.func == FoldFn::Add && uses == 1;
        if fits { product(value) } else { None }
    }

    /// Copies what the lanes of a column of tiles load into one place, for all rows. Gives whether it fits (a condition) and
    /// the copies.
    fn pack(&mut self, map: &Map, shape: &Shape, lanes: &Axis) -> Option<(Expr, Vec<Panel>)> {
        shape.rows?;
        let outer: Vec<par::VarId> = shape.ranges[..shape.ranges.len() - 1].iter().map(|range| range.var).collect();
        let inner = match &plan::inner_maps(&map.body)[..] {
            [inner] if inner.iters.len() == 1 => *inner,
            _ => return None,
        };
        let places = packable(inner, lanes.var, &outer);
        let written =
            crate::compiler::ir::par::effects::Effects::of_block(self.program, &self.func.vars, &map.body).writes;
        if places.is_empty() || places.iter().any(|place| written.contains(&place.array)) || !uniform(inner, &outer) {
            return None;
        }
        let ranges = self.ranges(inner);
        let range = ranges.last()?.clone();
        let bytes: usize = places.iter().map(|place| self.size_of(self.func.vars[place.array].ty)).sum();
        let most = i64::from(self.model.l2 / 2) / (i64::from(shape.lane_tile) * bytes.max(1) as i64);
        let fits = make::binary(BinOp::Le, range.count.clone(), make::long(most));
        let fits = self.body.fix("fits", fits);
        let elements = make::mul(range.count.clone(), make::long(shape.lane_tile.into()));
        let wanted = self.body.fix("wanted", make::select(fits.clone(), elements, make::long(0)));
        let mut panels = Vec::new();
        for place in places {
            let elem = self.func.vars[place.array].ty;
            let base = self.body.declare("panel", VarKind::Buffer { elem, writable: true });
            let site = self.site(FaultKind::Allocation, place.span, Vec::new());
            self.body.push(Stmt::Scratch { var: base, count: wanted.clone(), zero: false, site });
            panels.push(Panel { place, base, index: make::long(0) });
        }
        self.body.enter();
        self.fill_panels(&panels, &range, shape, lanes);
        let fill = self.body.leave();
        self.body.push(make::when(fits.clone(), fill.stmts));
        Some((fits, panels))
    }

    fn fill_panels(&mut self, panels: &[Panel], range: &Range, shape: &Shape, lanes: &Axis) {
        let row = self.body.enter_loop("depth");
        let depth = make::var(row, Ty::LONG);
        self.bind_position(range, depth.clone());
        let start = self.body.fix("start", make::mul(depth, make::long(shape.lane_tile.into())));
        let lane = self.body.enter_loop("lane");
        let at = make::var(lane, Ty::LONG);
        self.bind_fixed(lanes.var, make::add(lanes.first.clone(), at.clone()));
        for panel in panels {
            let value = self.element(&panel.place).0;
            let elem = self.func.vars[panel.place.array].ty;
            let value = make::load(value, elem);
            self.body
                .push(Stmt::Store { target: make::element(panel.base, make::add(start.clone(), at.clone())), value });
        }
        let kind = LoopKind::Simd { reductions: Vec::new() };
        self.body.leave_loop(lane, make::long(0), lanes.count.clone(), kind);
        self.body.leave_loop(row, make::long(0), range.count.clone(), LoopKind::Seq);
    }

    /// The copy of an element, if there is one.
    pub(super) fn panel_element(&self, place: &Place) -> Option<Element> {
        let panel = self.panels.iter().find(|panel| panel.place == *place)?;
        Some(Element { path: place.path.clone(), ..make::element(panel.base, panel.index.clone()) })
    }

    /// Computes where the copies for this lane stand.
    fn place_panels(&mut self, lane: &Expr) {
        if let Some(depth) = self.depth.clone() {
            self.panels.iter_mut().for_each(|panel| panel.index = make::add(depth.clone(), lane.clone()));
        }
    }
}

impl Shape {
    /// For each range how many tiles it has.
    fn tile_counts(&self) -> Vec<(par::VarId, Expr)> {
        let last = self.ranges.len() - 1;
        let count = |(at, range): (usize, &Range)| {
            let tile = match at {
                _ if at == last => self.width.clone(),
                _ if Some(at) == self.rows => make::long(self.row_tile.into()),
                _ => make::long(1),
            };
            (range.var, make::ceil_div(range.count.clone(), tile))
        };
        self.ranges.iter().enumerate().map(count).collect()
    }
}

fn target_tile(fold: &Fold, shared: &BTreeMap<par::VarId, VarId>) -> Option<VarId> {
    match &fold.target {
        Target::Scalar(var) => shared.get(var).copied(),
        Target::Element(_) => None,
    }
}

/// Accesses of a reduction that lanes make to neighbours and that do not depend on outer iterators.
fn packable(inner: &Map, lane: par::VarId, outer: &[par::VarId]) -> Vec<Place> {
    let none = std::collections::BTreeSet::new();
    let mut found: Vec<Place> = Vec::new();
    visit::walk_places(&inner.body, |place, _| {
        let along = plan::stride_of(place, lane, &none) == Stride::Unit;
        let fixed = outer.iter().all(|var| plan::stride_of(place, *var, &none) == Stride::Invariant);
        if along && fixed && !found.contains(place) {
            found.push(place.clone());
        }
    });
    found
}

/// Whether the range of a reduction is the same for all outer iterations.
fn uniform(inner: &Map, outer: &[par::VarId]) -> bool {
    let none = std::collections::BTreeSet::new();
    inner.iters.iter().all(|iter| {
        outer.iter().all(|var| plan::invariant(&iter.lo, *var, &none) && plan::invariant(&iter.hi, *var, &none))
    })
}
