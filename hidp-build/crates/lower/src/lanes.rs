//! Tiles: lanes hold neighbouring iterations of the innermost parallel iterator, several rows of it share what the lanes
//! load, reductions run outside of both and accumulate in a tile that the C++ compiler keeps in registers.

use super::build::Binding;
use super::panels::padded_widths;
use super::passes::Pass;
use super::space::Range;
use super::{ITERATORS, Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Schedule, Stmt, VarId};
use hidp_ir::par::once::{TestedOnce, tested_once};
use hidp_ir::par::{self, BinOp, Map, StmtKind, visit};
use hidp_plan::notation::Property;
use hidp_plan::{self as plan, LaneShape, Recipe};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// A tile: which iterations it holds.
#[derive(Clone)]
pub(super) struct Tile {
    pub(super) rows: Option<Axis>,
    pub(super) lanes: Axis,
    /// Elements from one row of the tile to the next.
    pub(super) lane_tile: u32,
    /// Elements of the tile.
    pub(super) size: u32,
    /// Over how many lanes folds run: those that are there, or a constant number where what they load was made longer.
    pub(super) folded_lanes: Expr,
}

impl Tile {
    /// The same with the lanes that folds run over.
    pub(super) fn of_folds(&self) -> Self {
        Self { lanes: Axis { count: self.folded_lanes.clone(), ..self.lanes.clone() }, ..self.clone() }
    }
    /// Elements of a copy from one iteration of a fold to the next.
    pub(super) fn panel_stride(&self) -> Expr {
        match make::as_int(&self.folded_lanes) {
            Some(_) => self.folded_lanes.clone(),
            None => make::long(self.lane_tile.into()),
        }
    }
}

/// One direction of a tile.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) var: par::VarId,
    /// Value of the iterator at the first one.
    pub(super) first: Expr,
    /// How many.
    pub(super) count: Expr,
}

/// What the plan and the sizes say about the tiles of a nest; values of the host function or a kernel.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) ranges: Vec<Range>,
    /// Position among the ranges of the rows' iterator.
    pub(super) rows: Option<usize>,
    pub(super) row_tile: u32,
    pub(super) lane_tile: u32,
    /// Lanes of one vector.
    pub(super) vector: u32,
    /// Lanes of a tile, at most `lane_tile`.
    pub(super) width: Expr,
}

impl Lowerer<'_> {
    /// Tiles shared out over threads, columns of tiles outermost so that what lanes load is used by all rows.
    /// Rows instead if there are too few neighbours to fill lanes.
    pub(super) fn lane_map(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        let TestedOnce { tests, map } = &tested_once(self.program, self.func, map);
        self.test_once(&ranges, tests);
        let Some(shape) = self.tile_shape(map, ranges) else {
            return self.defect("the plan has tiles of lanes for a nest that they suit");
        };
        let Some(fewest) = self.mapping.number(Property::Fewest) else { return self.launch_lanes(map, span, shape) };
        let count = shape.ranges[shape.ranges.len() - 1].count.clone();
        if make::as_int(&count).is_some_and(|count| count >= fewest.into()) {
            return self.launch_lanes(map, span, shape);
        }
        let wide = make::binary(BinOp::Ge, count, make::long(fewest.into()));
        self.branch(
            wide,
            |this| this.launch_lanes(map, span, shape),
            |this| {
                let inner = plan::inner_maps(&map.body);
                let inner = inner.iter().filter(|inner| inner.directives.unroll.is_none());
                let rows: Vec<par::VarId> = inner.filter_map(|inner| inner.iters.last()).map(|iter| iter.var).collect();
                this.with_lanes(&rows, |this| this.share_map(map, span));
            },
        );
    }

    /// Tiles of rows, or of lanes alone where there are too few rows to make copies of what lanes load for them.
    fn launch_lanes(&mut self, map: &Map, span: Span, shape: Shape) {
        let numbers = self.mapping.number(Property::Alone).zip(self.mapping.number(Property::Columns));
        let (Some(rows), Some((alone, lane_tile))) = (shape.rows, numbers) else {
            return self.launch_tiles(map, span, &shape, None);
        };
        let many = make::binary(BinOp::Gt, shape.ranges[rows].count.clone(), make::long(alone.into()));
        self.branch(
            many,
            |this| this.launch_passes(map, span, &shape, rows),
            |this| {
                let width = this.width_of_lanes(&shape.ranges, lane_tile);
                let shape = Shape { rows: None, row_tile: 1, lane_tile, width, ..shape.clone() };
                this.launch_tiles(map, span, &shape, None);
            },
        );
    }

    pub(super) fn launch_tiles(&mut self, map: &Map, span: Span, shape: &Shape, pass: Option<Pass>) {
        let rows = shape.rows;
        let mut tiles: Vec<Range> = shape.tile_counts();
        if let Some(Pass { rows, first, count }) = pass {
            tiles[rows] = Range { lo: first, count, ..tiles[rows].clone() };
        }
        tiles.rotate_right(1);
        let mut counts = Vec::new();
        for range in tiles {
            let count = self.body.fix("tiles", range.count);
            counts.push(Range { count, ..range });
        }
        let (strides, total) = self.strides(&counts);
        let times = shape.ranges.iter().fold(make::long(1), |times, range| make::mul(times, range.count.clone()));
        let work = self.work_of(map, times);
        let (kernel, args) = self.kernel("tiles", span, |this, begin, end| {
            let (ranges, width) = (this.import_ranges(&shape.ranges), this.import(&shape.width));
            let shape = Shape { ranges, width, ..shape.clone() };
            let counts = this.import_ranges(&counts);
            let strides: Vec<Expr> = strides.iter().map(|stride| this.import(stride)).collect();
            this.tile_columns(map, &shape, &counts, &strides, begin, end);
        });
        let schedule = match self.schedule(1, work) {
            // Each part of a column makes copies of its own of what lanes load.
            Schedule::Static { grain, threads, work, .. } if rows.is_some() => {
                Schedule::Static { grain, least: self.model.part_tiles, threads, work }
            }
            other => other,
        };
        self.body.push(Stmt::Launch { kernel, args, extent: total, schedule });
    }

    fn tile_shape(&mut self, map: &Map, ranges: Vec<Range>) -> Option<Shape> {
        let Recipe::Lanes(LaneShape { elem_size, .. }) = self.mapping.recipe else { return None };
        let vector = self.model.vector_bytes / elem_size.max(1) as u32;
        let tile_of = |this: &Self, at: usize| this.mapping.levels.get(&map.iters.get(at)?.var).map(|level| level.tile);
        let last = map.iters.len().checked_sub(1)?;
        let most = tile_of(self, last)?.max(1);
        let rows = (0..last).find(|at| tile_of(self, *at).is_some_and(|tile| tile > 1));
        let row_tile = rows.and_then(|at| tile_of(self, at)).unwrap_or(1);
        let few = self.few_lanes(&ranges, elem_size).filter(|few| rows.is_none() && *few <= most);
        let lane_tile = few.unwrap_or(most);
        let width = match rows.or(few.map(|_| last)) {
            Some(_) => make::long(lane_tile.into()),
            None => self.width_of_lanes(&ranges, lane_tile),
        };
        Some(Shape { ranges, rows, row_tile, lane_tile, vector, width })
    }

    /// The number of all lanes where it is a constant and their sums stay in registers.
    pub(super) fn few_lanes(&self, ranges: &[Range], elem_size: usize) -> Option<u32> {
        let count = u32::try_from(make::as_int(&ranges.last()?.count)?).ok()?;
        let most = self.model.tile_vectors * self.model.vector_bytes / elem_size.max(1) as u32;
        (count > 0 && count <= most).then_some(count)
    }

    /// Lanes of a tile without rows: whole cache lines, and no more than leaves each worker some.
    pub(super) fn width_of_lanes(&mut self, ranges: &[Range], most: u32) -> Expr {
        let count = ranges.last().map_or(make::long(1), |range| range.count.clone());
        let workers = Expr { kind: hidp_ir::imp::ExprKind::WorkerCount, ty: Ty::LONG };
        let line = make::long(self.model.line.into());
        let lines = make::ceil_div(make::ceil_div(count, workers), line.clone());
        let wanted = make::max(make::mul(lines, line.clone()), line);
        self.body.fix("width", make::min(wanted, make::long(most.into())))
    }

    /// Loops over the columns of tiles in a part, and the tiles of each.
    fn tile_columns(&mut self, map: &Map, shape: &Shape, counts: &[Range], strides: &[Expr], begin: Expr, end: Expr) {
        let Some(lane) = shape.ranges.last().cloned() else { return self.defect(ITERATORS) };
        if shape.rows.is_none() && make::as_int(&counts[0].count) == Some(1) {
            let lanes = Axis { var: lane.var, first: lane.lo, count: lane.count };
            return self.tile_rows(map, shape, &counts[1..], &strides[1..], &lanes, (begin, end));
        }
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
        let panels = self.pack(map, shape, lanes, make::sub(high.clone(), low.clone()));
        self.clipped(counts, strides, low, high, &mut |this, low, high| {
            let Some(last) = counts.last() else { return this.defect(ITERATORS) };
            this.range_loop(last, low, high, LoopKind::Seq, &mut |this| {
                let rows = this.bind_rows(shape);
                match &panels {
                    Some(packed) => {
                        let (panels, edge_rows) = (packed.panels.clone(), rows.clone());
                        this.branch(
                            packed.fits.clone(),
                            |this| {
                                this.panels = panels;
                                match rows {
                                    Some(rows) if packed.padded => this.padded_tiles(map, shape, &rows, lanes),
                                    rows => this.whole_or_edge(map, shape, rows, lanes),
                                }
                                this.panels.clear();
                            },
                            |this| match edge_rows {
                                Some(rows) if packed.always_whole => this.edge(map, shape, rows, lanes),
                                rows => this.whole_or_edge(map, shape, rows, lanes),
                            },
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
        let Some(rows) = rows else { return self.tile(map, &shape.tile(None, lanes, lanes.count.clone())) };
        let (row_tile, lane_tile) = (make::long(shape.row_tile.into()), make::long(shape.lane_tile.into()));
        let whole = make::binary(
            BinOp::And,
            make::binary(BinOp::Eq, rows.count.clone(), row_tile.clone()),
            make::binary(BinOp::Eq, lanes.count.clone(), lane_tile.clone()),
        );
        let all_lanes = Axis { count: lane_tile.clone(), ..lanes.clone() };
        let full = shape.tile(Some(Axis { count: row_tile, ..rows.clone() }), &all_lanes, lane_tile);
        self.branch(whole, |this| this.tile(map, &full), |this| this.edge(map, shape, rows, lanes));
    }

    /// The tile at these places, of as many rows and lanes as there are.
    fn edge(&mut self, map: &Map, shape: &Shape, rows: Axis, lanes: &Axis) {
        self.tile(map, &shape.tile(Some(rows), lanes, lanes.count.clone()));
    }

    /// The tile at these places where copies of what lanes load are as wide as it: folds run over all its lanes, or those of one vector
    /// if there are no more, and over as many rows as a power of two, so that their sums stay in registers at edges as well.
    fn padded_tiles(&mut self, map: &Map, shape: &Shape, rows: &Axis, lanes: &Axis) {
        self.for_padded_width(shape, lanes, &mut |this, width| this.padded_rows(map, shape, rows, lanes, width));
    }

    /// Code for each number of lanes that folds run over where copies are padded.
    pub(super) fn for_padded_width(&mut self, shape: &Shape, lanes: &Axis, body: &mut dyn FnMut(&mut Self, u32)) {
        self.for_width(&padded_widths(shape), lanes, body);
    }

    fn for_width(&mut self, widths: &[u32], lanes: &Axis, body: &mut dyn FnMut(&mut Self, u32)) {
        let [width, narrower @ ..] = widths else { return self.defect("tiles have lanes") };
        let Some(next) = narrower.first() else { return body(self, *width) };
        self.body.enter();
        body(self, *width);
        let then = self.body.leave();
        self.body.enter();
        self.for_width(narrower, lanes, body);
        let otherwise = self.body.leave();
        let cond = make::binary(BinOp::Gt, lanes.count.clone(), make::long((*next).into()));
        self.body.push(Stmt::If { cond, then, otherwise });
    }

    fn padded_rows(&mut self, map: &Map, shape: &Shape, rows: &Axis, lanes: &Axis, width: u32) {
        let tile = |first: Expr, count: u32| {
            let rows = Axis { first, count: make::long(count.into()), ..rows.clone() };
            shape.tile(Some(rows), lanes, make::long(width.into()))
        };
        let whole = make::binary(BinOp::Eq, rows.count.clone(), make::long(shape.row_tile.into()));
        self.branch(
            whole,
            |this| this.tile(map, &tile(rows.first.clone(), shape.row_tile)),
            |this| {
                let powers = (0..u32::BITS).rev().map(|bit| 1 << bit).filter(|power| *power < shape.row_tile);
                for power in powers {
                    let bits = |mask: i64| make::binary(BinOp::And, rows.count.clone(), make::long(mask));
                    let wanted = make::binary(BinOp::Ne, bits(power.into()), make::long(0));
                    this.body.enter();
                    let before = make::add(rows.first.clone(), bits(-2 * i64::from(power)));
                    let first = this.body.fix("first", before);
                    this.tile(map, &tile(first, power));
                    let tile = this.body.leave();
                    this.body.push(make::when(wanted, tile.stmts));
                }
            },
        );
    }

    /// All iterations of a tile: statements between reductions for every row and lane, reductions outside of them.
    pub(super) fn tile(&mut self, map: &Map, tile: &Tile) {
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
    fn shared_locals(&mut self, map: &Map, tile: &Tile) -> OrdMap<par::VarId, VarId> {
        let mut first_seen: OrdMap<par::VarId, usize> = OrdMap::new();
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
        let mut shared = OrdMap::new();
        for var in declared.into_iter().filter(|var| across.contains(var)) {
            let declared = &self.func.vars[var];
            shared.insert(var, self.body.tile(&declared.name, declared.ty, tile.size));
        }
        shared
    }

    /// Statements of every row and lane.
    fn segment(&mut self, pending: &mut Vec<&par::Stmt>, tile: &Tile, shared: &OrdMap<par::VarId, VarId>) {
        if pending.is_empty() {
            return;
        }
        let stmts = std::mem::take(pending);
        self.every_element(tile, shared, &mut |this, _| stmts.iter().for_each(|stmt| this.stmt(stmt)));
    }

    /// Loops over rows and lanes; `body` gets the element's index in a tile.
    pub(super) fn every_element(
        &mut self,
        tile: &Tile,
        shared: &OrdMap<par::VarId, VarId>,
        body: &mut dyn FnMut(&mut Self, Expr),
    ) {
        let Some(rows) = &tile.rows else { return self.every_lane(tile, shared, make::long(0), body) };
        let row = self.body.enter_loop("row");
        let at = make::var(row, Ty::LONG);
        self.bind_fixed(rows.var, make::add(rows.first.clone(), at.clone()));
        let start = make::mul(at, make::long(tile.lane_tile.into()));
        self.every_lane(tile, shared, start, body);
        let constant = make::as_int(&rows.count).and_then(|count| u32::try_from(count).ok());
        let kind = constant.map_or(LoopKind::Seq, LoopKind::Unroll);
        self.body.leave_loop(row, make::long(0), rows.count.clone(), kind);
    }

    fn every_lane(
        &mut self,
        tile: &Tile,
        shared: &OrdMap<par::VarId, VarId>,
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
        let around = self.lane.replace(lane);
        body(self, index);
        self.lane = around;
        let kind = LoopKind::Simd { reductions: Vec::new() };
        self.body.leave_loop(lane, make::long(0), tile.lanes.count.clone(), kind);
    }

    pub(super) fn bind_fixed(&mut self, var: par::VarId, value: Expr) {
        let name = self.func.vars[var].name.clone();
        let value = self.body.fix(&name, value);
        self.body.bindings.insert(var, Binding::Fixed(value));
    }
}

impl Shape {
    fn tile(&self, rows: Option<Axis>, lanes: &Axis, folded_lanes: Expr) -> Tile {
        let size = self.row_tile * self.lane_tile;
        Tile { rows, lanes: lanes.clone(), lane_tile: self.lane_tile, size, folded_lanes }
    }
    /// For each range how many tiles it has.
    fn tile_counts(&self) -> Vec<Range> {
        let last = self.ranges.len() - 1;
        let count = |(at, range): (usize, &Range)| {
            let tile = match at {
                _ if at == last => self.width.clone(),
                _ if Some(at) == self.rows => make::long(self.row_tile.into()),
                _ => make::long(1),
            };
            let count = make::ceil_div(range.count.clone(), tile);
            Range { var: range.var, lo: make::long(0), step: make::long(1), count }
        };
        self.ranges.iter().enumerate().map(count).collect()
    }
}
