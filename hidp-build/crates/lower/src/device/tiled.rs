//! Nests whose results share operands: a block computes a tile of results, a lane several of them. Operands are staged in shared memory, some
//! terms of the folds at a time. While the lanes work on one part, the next one is loaded into registers, and then stored to the other of two
//! buffers, or, when all lanes are done, to the only one.

use super::super::build::Binding;
use super::super::panels::Panel;
use super::super::space::Range;
use super::super::{FOLD, Lowerer, POSITIONS, make};
use super::tiled_parts::{Part, move_or_store};
use hidp_ir::imp::{Expr, Grid, Level, LoopKind, Stmt, VarId, VarKind};
use hidp_ir::par::{self, BinOp, Fold, Map, StmtKind, Target};
use hidp_plan::notation::Property;
use hidp_plan::{self as plan, Mapping, Recipe, Staging, Tiled};
use hidp_syntax::index::Id;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// A tile, as the plan says.
#[derive(Clone)]
pub(super) struct Tiling {
    pub(super) shape: Tiled,
    /// How the operands are stored, in the same order.
    pub(super) stored: Vec<Staging>,
    pub(super) rows: Side,
    pub(super) columns: Side,
    pub(super) depth: u32,
    /// Elements that one access moves.
    pub(super) vector: u32,
    /// Blocks that share the tiles along rows and along columns; none where there is one for each tile.
    pub(super) blocks: [Option<u32>; 2],
}

/// One direction of a tile.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Results of the block, and of a lane.
    pub(super) tile: u32,
    pub(super) own: u32,
}

impl Side {
    fn lanes(self) -> u32 {
        self.tile / self.own
    }
}

impl Tiling {
    pub(super) fn threads(&self) -> u32 {
        self.rows.lanes() * self.columns.lanes()
    }
    /// Whether the lanes have equal shares of everything.
    fn divides(&self, warp: u32) -> bool {
        let threads = self.threads();
        let equal = |side: Side| {
            side.tile.is_multiple_of(side.own)
                && side.own.is_multiple_of(self.vector)
                && (side.tile * self.depth).is_multiple_of(threads * self.vector)
        };
        threads.is_multiple_of(warp) && threads > 0 && equal(self.rows) && equal(self.columns)
    }
    pub(super) fn side(&self, of_rows: bool) -> Side {
        if of_rows { self.rows } else { self.columns }
    }
}

/// What a kernel of tiles knows of the tile at hand.
pub(super) struct Place {
    pub(super) tiling: Tiling,
    pub(super) rows: Edge,
    pub(super) columns: Edge,
    pub(super) depth: Range,
    pub(super) parts: Vec<Part>,
    /// For each fold of the inner map the results of the lane.
    pub(super) results: Vec<VarId>,
}

/// One direction of the tile at hand.
#[derive(Clone)]
pub(super) struct Edge {
    pub(super) range: Range,
    /// Position of the tile's first result.
    pub(super) first: Expr,
}

impl Place {
    pub(super) fn edge(&self, of_rows: bool) -> &Edge {
        if of_rows { &self.rows } else { &self.columns }
    }
}

impl Lowerer<'_> {
    /// How the plan tiles the nest at hand, if it does.
    pub(super) fn tiling(&mut self, map: &Map) -> Option<Tiling> {
        let Recipe::Tiled(own) = &self.mapping.recipe else { return None };
        if self.inside_team {
            return None;
        }
        let tiling = planned_tiling(&self.mapping, own, map);
        let warp = self.of_model(|model| model.warp);
        let tiling = tiling.filter(|tiling| tiling.divides(warp));
        self.expected(tiling.ok_or("lanes have equal shares of everything"), "tiles")
    }

    /// One block a tile.
    pub(super) fn tiled_map(&mut self, map: &Map, tiling: &Tiling, span: Span) {
        let ranges = self.ranges(map);
        let tiles = self.tiles(tiling, &ranges);
        let first = tiles.len().saturating_sub(tiling.blocks.len());
        let blocks = |at: usize| at.checked_sub(first).and_then(|side| tiling.blocks[side]).map(i64::from);
        let extents: Vec<Expr> =
            tiles.iter().enumerate().map(|(at, tiles)| blocks(at).map_or(tiles.clone(), make::long)).collect();
        let grid = self.leaving_registers(map, Grid::new(Level::Block, tiling.threads()));
        let (kernel, args) = self.grid_kernel("tiles", span, grid, ranges.len(), Vec::new(), |this, positions| {
            this.mark_outputs(map);
            let ranges = this.import_ranges(&ranges);
            let tiles: Vec<Expr> = tiles.iter().map(|tiles| this.import(tiles)).collect();
            let shares: Vec<(usize, i64)> = (0..tiles.len()).filter_map(|at| Some((at, blocks(at)?))).collect();
            this.tiles_in_turns(&shares, &tiles, positions.to_vec(), &mut |this, positions| {
                if let Some(place) = this.tile_of_results(map, tiling, &ranges, positions, None) {
                    this.use_results(&place, map);
                }
            });
        });
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: None });
    }

    /// The tiles of a block, where blocks share those along some iterators: neighbouring ones, one after the other.
    fn tiles_in_turns(
        &mut self,
        shares: &[(usize, i64)],
        tiles: &[Expr],
        positions: Vec<Expr>,
        body: &mut dyn FnMut(&mut Self, &[Expr]),
    ) {
        let Some(((at, blocks), others)) = shares.split_first() else { return body(self, &positions) };
        let turns = make::ceil_div(tiles[*at].clone(), make::long(*blocks));
        let turns = self.body.fix("turns", turns);
        let own = self.body.fix("own", make::mul(positions[*at].clone(), turns.clone()));
        let turn = self.body.enter_loop("turn");
        let tile = self.body.fix("tile", make::add(own, make::var(turn, Ty::LONG)));
        let there = make::binary(BinOp::Lt, tile.clone(), tiles[*at].clone());
        let mut positions = positions;
        positions[*at] = tile;
        self.body.enter();
        self.tiles_in_turns(others, tiles, positions, body);
        let inside = self.body.leave();
        self.body.push(make::when(there, inside.stmts));
        self.body.leave_loop(turn, make::long(0), turns, LoopKind::Seq);
    }

    /// How many tiles there are along each iterator.
    pub(super) fn tiles(&mut self, tiling: &Tiling, ranges: &[Range]) -> Vec<Expr> {
        let sides = [tiling.rows.tile, tiling.columns.tile];
        let tiles = |(at, range): (usize, &Range)| match (at + 2).checked_sub(ranges.len()) {
            Some(side) => make::ceil_div(range.count.clone(), make::long(sides[side].into())),
            None => range.count.clone(),
        };
        let extents: Vec<Expr> = ranges.iter().enumerate().map(tiles).collect();
        extents.into_iter().map(|extent| self.body.fix("tiles", extent)).collect()
    }

    /// A tile whose results are complete, or, of `part`, fold the terms from there on, that many at most.
    pub(super) fn tile_of_results(
        &mut self,
        map: &Map,
        tiling: &Tiling,
        ranges: &[Range],
        positions: &[Expr],
        part: Option<(Expr, Expr)>,
    ) -> Option<Place> {
        let ([outer @ .., rows, columns], [own @ .., row, column]) = (ranges, positions) else {
            self.defect(POSITIONS);
            return None;
        };
        outer.iter().zip(own).for_each(|(range, position)| self.bind_position(range, position.clone()));
        let edge = |this: &mut Self, range: &Range, side: Side, position: &Expr| {
            let first = make::mul(position.clone(), make::long(side.tile.into()));
            Edge { range: range.clone(), first: this.body.fix("first", first) }
        };
        let (rows, columns) = (edge(self, rows, tiling.rows, row), edge(self, columns, tiling.columns, column));
        let inner = plan::inner_maps(&map.body).first().copied();
        let Some((inner, mut depth)) = inner.and_then(|inner| Some((inner, self.ranges(inner).pop()?))) else {
            self.defect(FOLD);
            return None;
        };
        if let Some((from, run)) = part {
            let left = make::sub(depth.count.clone(), from.clone());
            depth.lo = self.body.fix("lo", make::add(depth.lo, from));
            depth.count = self.body.fix("count", make::min(left, run));
        }
        let own = tiling.rows.own * tiling.columns.own;
        let results: Vec<VarId> = inner.folds.iter().map(|fold| self.registers("results", fold.op.ty, own)).collect();
        let parts = self.parts(tiling, &rows, &columns, &depth);
        let place = Place { tiling: tiling.clone(), rows, columns, depth, parts, results };
        self.clear_results(&place, &inner.folds);
        self.all_terms(&place, inner);
        Some(place)
    }

    pub(super) fn registers(&mut self, name: &str, elem: Ty, len: u32) -> VarId {
        let var = self.body.declare(name, VarKind::Registers { elem, len });
        self.body.push(Stmt::Let { var, init: None });
        var
    }

    /// Something that each lane does, given its number.
    pub(super) fn each_lane(&mut self, build: impl FnOnce(&mut Self, Expr)) {
        let (group, lane) = (self.group_here(), self.body.enter_loop("lane"));
        self.in_scope(Level::Thread, |this| build(this, make::var(lane, Ty::LONG)));
        let body = self.body.leave();
        self.body.push(Stmt::Lanes { group, lane, body });
    }

    /// A loop that is written out.
    pub(super) fn unrolled(&mut self, name: &str, times: u32, body: impl FnOnce(&mut Self, Expr)) {
        let at = self.body.enter_loop(name);
        body(self, make::var(at, Ty::LONG));
        self.body.leave_loop(at, make::long(0), make::long(times.into()), LoopKind::Unroll(times));
    }

    /// Which row and column of lanes a lane is in. Those of a warp are close to each other in both directions, so that few
    /// different operands are loaded at a time.
    fn lane_position(&mut self, tiling: &Tiling, lane: &Expr) -> [Expr; 2] {
        let columns = tiling.columns.lanes();
        let (quotient, rest) = (
            |value: Expr, divisor: u32| make::div(value, make::long(divisor.into())),
            |value: Expr, divisor: u32| make::binary(BinOp::Rem, value, make::long(divisor.into())),
        );
        let Some(wide) = self.mapping.number(Property::WarpColumns) else {
            let row = self.body.fix("row", quotient(lane.clone(), columns));
            return [row, self.body.fix("column", rest(lane.clone(), columns))];
        };
        let lanes = self.of_model(|model| model.warp);
        let high = lanes / wide;
        let warp = self.body.fix("warp", quotient(lane.clone(), lanes));
        let within = self.body.fix("within", rest(lane.clone(), lanes));
        let across = columns / wide;
        let scaled = |value: Expr, factor: u32| make::mul(value, make::long(factor.into()));
        let row = make::add(scaled(quotient(warp.clone(), across), high), quotient(within.clone(), wide));
        let column = make::add(scaled(rest(warp, across), wide), rest(within, wide));
        [self.body.fix("row", row), self.body.fix("column", column)]
    }

    /// Position in the tile of one of a lane's results: neighbours in groups as large as one access, groups far apart.
    fn position_of(&mut self, side: Side, vector: u32, lane: &Expr, at: &Expr) -> Expr {
        let (vector, apart) = (i64::from(vector), i64::from(side.lanes() * vector));
        let group = make::div(at.clone(), make::long(vector));
        let start = make::mul(lane.clone(), make::long(vector));
        let within = make::binary(BinOp::Rem, at.clone(), make::long(vector));
        make::add(make::add(make::mul(group, make::long(apart)), start), within)
    }

    fn clear_results(&mut self, place: &Place, folds: &[Fold]) {
        let own = place.tiling.rows.own * place.tiling.columns.own;
        self.each_lane(|this, _| {
            this.unrolled("at", own, |this, at| {
                for (fold, result) in folds.iter().zip(&place.results) {
                    let Some(neutral) = fold.op.neutral.as_deref() else {
                        this.defect("the folds of tiles have neutral elements");
                        continue;
                    };
                    let value = this.expr(neutral);
                    this.body.push(Stmt::Store { target: make::element(*result, at.clone()), value });
                }
            });
        });
    }

    /// All parts of the folds, in order.
    fn all_terms(&mut self, place: &Place, inner: &Map) {
        let depth = i64::from(place.tiling.depth);
        let count = place.depth.count.clone();
        self.fetch_if_any(place, make::long(0), 0);
        let steady = self.steady_terms(place, inner);
        let pair = self.body.enter_loop("start");
        let start = make::var(pair, Ty::LONG);
        self.half(place, inner, &start, 0);
        let next = self.body.fix("next", make::add(start, make::long(depth)));
        self.body.enter();
        self.half(place, inner, &next, 1);
        let second = self.body.leave();
        self.body.push(make::when(make::binary(BinOp::Lt, next, count.clone()), second.stmts));
        self.body.leave_loop_step(pair, steady, count, make::long(2 * depth), LoopKind::Seq);
    }

    /// As many pairs of parts as have a whole part behind them, if all operands can be fetched several neighbours at once: without a
    /// look at edges, alignment and what is left. Gives the first term after them, whose part is in the first buffer.
    fn steady_terms(&mut self, place: &Place, inner: &Map) -> Expr {
        let depth = i64::from(place.tiling.depth);
        let Some(wide) = place.all_aligned() else { return make::long(0) };
        let pairs = make::div(make::sub(place.depth.count.clone(), make::long(depth)), make::long(2 * depth));
        let terms = make::mul(make::max(pairs, make::long(0)), make::long(2 * depth));
        let steady = self.body.fix("steady", make::select(wide, terms, make::long(0)));
        let pair = self.body.enter_loop("start");
        let mut start = make::var(pair, Ty::LONG);
        for buffer in [0, 1] {
            let next = self.body.fix("next", make::add(start.clone(), make::long(depth)));
            self.fetch_whole(place, &next);
            self.add_terms(place, inner, &start, buffer, make::long(depth));
            self.keep(place, 1 - buffer);
            start = next;
        }
        self.body.leave_loop_step(pair, make::long(0), steady.clone(), make::long(2 * depth), LoopKind::Seq);
        steady
    }

    /// The part from `start` on is in this buffer; the one after it comes into the other.
    fn half(&mut self, place: &Place, inner: &Map, start: &Expr, buffer: usize) {
        let depth = i64::from(place.tiling.depth);
        let count = place.depth.count.clone();
        let next = self.body.fix("next", make::add(start.clone(), make::long(depth)));
        let more = self.body.fix("more", make::binary(BinOp::Lt, next.clone(), count.clone()));
        self.body.enter();
        self.fetch(place, &next);
        let fetch = self.body.leave();
        self.body.push(make::when(more.clone(), fetch.stmts));
        let left = self.body.fix("left", make::sub(count, start.clone()));
        self.branch(
            make::binary(BinOp::Ge, left.clone(), make::long(depth)),
            |this| this.add_terms(place, inner, start, buffer, make::long(depth)),
            |this| this.add_terms(place, inner, start, buffer, left),
        );
        self.body.enter();
        self.keep(place, 1 - buffer);
        let keep = self.body.leave();
        self.body.push(make::when(more, keep.stmts));
    }

    fn fetch_if_any(&mut self, place: &Place, start: Expr, buffer: usize) {
        let any = make::binary(BinOp::Gt, place.depth.count.clone(), start.clone());
        self.body.enter();
        self.fetch(place, &start);
        self.keep(place, buffer);
        let body = self.body.leave();
        self.body.push(make::when(any, body.stmts));
    }

    /// Each lane adds so many terms to each of its results.
    fn add_terms(&mut self, place: &Place, inner: &Map, start: &Expr, buffer: usize, terms: Expr) {
        let tiling = &place.tiling;
        self.each_lane(|this, lane| {
            let position = this.lane_position(tiling, &lane);
            let parts = place.parts.iter();
            let own: Vec<VarId> =
                parts.map(|part| this.body.tile("own", part.elem, tiling.side(part.of_rows()).own)).collect();
            let at = this.body.enter_loop("term");
            let term = make::var(at, Ty::LONG);
            this.bind_position(&place.depth, make::add(start.clone(), term.clone()));
            for (part, own) in place.parts.iter().zip(&own) {
                let lane = &position[usize::from(!part.of_rows())];
                this.load_own(part, tiling, buffer, &term, lane, *own);
            }
            this.add_term(place, inner, &own, &position);
            let kind = match make::as_int(&terms) {
                Some(_) => LoopKind::Unroll(tiling.depth),
                None => LoopKind::Seq,
            };
            this.body.leave_loop(at, make::long(0), terms, kind);
        });
    }

    /// What a lane needs of an operand for one term.
    fn load_own(&mut self, part: &Part, tiling: &Tiling, buffer: usize, term: &Expr, lane: &Expr, own: VarId) {
        let (side, vector) = (tiling.side(part.of_rows()), tiling.vector);
        let row = self.body.fix("row", make::mul(term.clone(), make::long(part.pitch.into())));
        for first in (0..side.own).step_by(vector as usize) {
            let at = self.position_of(side, vector, lane, &make::long(first.into()));
            let from = make::element(part.buffer(buffer), make::add(row.clone(), at));
            let to = make::element(own, make::long(first.into()));
            self.body.push(move_or_store(to, from, part.elem, vector));
        }
    }

    fn add_term(&mut self, place: &Place, inner: &Map, own: &[VarId], position: &[Expr; 2]) {
        self.each_result(place, position, |this, [row, column], at| {
            let panel = |(part, base): (&Part, &VarId)| {
                let index = if part.of_rows() { row.clone() } else { column.clone() };
                Panel::at(part.operand.place.clone(), *base, index)
            };
            this.panels = place.parts.iter().zip(own).map(panel).collect();
            let targets: Vec<_> = place.results.iter().map(|result| make::element(*result, at.clone())).collect();
            let before = inner.folds.iter().zip(&targets).map(|(fold, target)| make::load(target.clone(), fold.op.ty));
            let before = before.collect();
            let after = this.fold_lane(inner, before);
            this.panels.clear();
            for (target, value) in targets.into_iter().zip(after) {
                this.body.push(Stmt::Store { target, value });
            }
        });
    }

    /// Each of a lane's results: its row and column among them, and its number. The iterators are bound.
    fn each_result(&mut self, place: &Place, position: &[Expr; 2], body: impl FnOnce(&mut Self, [Expr; 2], Expr)) {
        let Tiling { rows, columns, .. } = place.tiling;
        let vector = place.tiling.vector;
        self.unrolled("x", rows.own, |this, x| {
            let at = this.position_of(rows, vector, &position[0], &x);
            this.bind_position(&place.rows.range, make::add(place.rows.first.clone(), at));
            this.unrolled("y", columns.own, |this, y| {
                let at = this.position_of(columns, vector, &position[1], &y);
                this.bind_position(&place.columns.range, make::add(place.columns.first.clone(), at));
                let number = make::add(make::mul(x.clone(), make::long(columns.own.into())), y.clone());
                body(this, [x, y], number);
            });
        });
    }

    /// What the nest does with the results that there are.
    fn use_results(&mut self, place: &Place, map: &Map) {
        let Some(inner) = plan::inner_maps(&map.body).first().copied() else { return self.defect(FOLD) };
        let rest: Vec<&par::Stmt> = map.body.stmts.iter().filter(|stmt| !is_fold(stmt, inner)).collect();
        self.each_result_there(place, |this, at| {
            for (fold, result) in inner.folds.iter().zip(&place.results) {
                if let Target::Scalar(target) = fold.target {
                    let element = make::element(*result, at.clone());
                    this.body.bindings.insert(target, Binding::Lane(element));
                }
            }
            rest.iter().for_each(|stmt| this.stmt(stmt));
        });
    }

    /// Each lane: each of its results, given its number, that is no place beyond an edge.
    pub(super) fn each_result_there(&mut self, place: &Place, body: impl FnOnce(&mut Self, Expr)) {
        self.each_lane(|this, lane| {
            let position = this.lane_position(&place.tiling, &lane);
            this.each_result(place, &position, |this, _, at| {
                let inside = |this: &mut Self, edge: &Edge| {
                    let end = make::add(edge.range.lo.clone(), edge.range.count.clone());
                    make::binary(BinOp::Lt, this.read(edge.range.var), end)
                };
                let there = make::binary(BinOp::And, inside(this, &place.rows), inside(this, &place.columns));
                this.body.enter();
                body(this, at);
                let uses = this.body.leave();
                this.body.push(make::when(there, uses.stmts));
            });
        });
    }
}

/// The tiles of a nest, if its lines are those of tiles.
fn planned_tiling(mapping: &Mapping, own: &plan::Tiling, map: &Map) -> Option<Tiling> {
    let [.., row, column] = &map.iters[..] else { return None };
    let inner = plan::inner_maps(&map.body).first()?.iters.first()?.var;
    let tile = |var: par::VarId| mapping.levels.get(&var).map(|level| level.tile);
    let side = |var, own: u32| Some(Side { tile: tile(var)?, own });
    let (rows, columns) = (side(row.var, own.rows)?, side(column.var, own.columns)?);
    let (shape, stored) = (own.tiled.clone(), mapping.staging.clone());
    Some(Tiling { shape, stored, rows, columns, depth: tile(inner)?, vector: own.vector, blocks: own.blocks })
}

/// Whether a statement is the fold, or declares what it leaves.
fn is_fold(stmt: &par::Stmt, inner: &Map) -> bool {
    match &stmt.kind {
        StmtKind::Map(_) => true,
        StmtKind::Declare { var, .. } => inner
            .folds
            .iter()
            .any(|fold| matches!(fold.target, Target::Scalar(target) if target.index() == var.index())),
        StmtKind::Assign { .. }
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
        | StmtKind::Require { .. } => false,
    }
}
