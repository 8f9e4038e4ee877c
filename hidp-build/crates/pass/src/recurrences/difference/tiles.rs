//! By tiles: those on a diagonal of tiles need nothing of each other, so threads share them. Within a tile, the cells of a step are lanes.
//!
//! Between tiles, only the differences along their edges are kept: those of the column on the right of the last tiles, and those of the row below them. Within a tile
//! each difference has its place by the one index that it keeps from step to step: along the first index by `i`, along the second by `j`. Both lie such that the cells of a step are neighbours,
//! so the former are backwards, as are inputs that `i` chooses. From step to step, two arrays take turns, since cells of one step are computed twice where that saves a rest (`lower::remainder`).

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    BinOp, Block, Directives, Expr, ExprKind, Fold, FoldFn, FoldKind, FoldOp, Map, Place, Stmt, StmtKind, Target, Var,
    VarId, VarKind,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::asked::Ask;
use super::super::build::{self, Builder};
use super::super::window::Linear;
use super::rows::{element, loaded, stored};
use super::{Differences, Made, TY};
use crate::extremes::find;

/// Computes the cell that is asked for.
pub(super) fn tiles(builder: &mut Builder<'_>, table: &Differences, ask: &Ask, sides: [u32; 2]) -> Made {
    let span = table.table.span;
    let size = [0, 1].map(|at| build::read(ask.index[at], span));
    let fits = builder.local("fits", Ty::BOOL, span);
    let mut before = vec![build::declare(fits, span)];
    let edges = ["column", "row"].map(|name| builder.local(name, TY, span));
    let extents = builder.vars[table.table.array].shape.clone();
    for ((edge, asked), extent) in edges.iter().zip(&size).zip(extents) {
        // Where there is no such cell, its index can be anything, and there are no differences.
        let inside = build::max(Expr::int(0, span), build::min(asked.clone(), extent));
        builder.vars[*edge].shape = vec![inside];
        before.push(build::declare(*edge, span));
    }
    let mut found = Vec::new();
    let (stmts, first) = table.edge(builder, 0, &Expr::int(0, span));
    found.extend(stmts);
    let mut conds = vec![table.small(size.clone()), Differences::near(first)];
    for (along, extent) in size.iter().enumerate() {
        found.push(begun(builder, table, along, (edges[along], extent.clone())));
        let ends = ["least", "most"].map(|name| builder.local(name, TY, span));
        found.extend(ends.map(|end| build::declare(end, span)));
        found.push(find(builder.vars, edges[along], vec![extent.clone()], ends));
        let value = |end: VarId| build::cast(Expr::read(end, TY, span), Ty::LONG);
        let [low, high] = table.bounds[along].map(|end| Expr::int(end, span));
        conds.push(Expr::long(BinOp::Ge, value(ends[0]), low));
        conds.push(Expr::long(BinOp::Le, value(ends[1]), high));
    }
    found.push(build::assign(fits, build::all(conds, span)));
    before.push(build::guarded(ask.exists(builder.vars, span), found));
    let then = Tiles::new(builder, table, edges, (size, sides), span).computed(ask);
    Made { before, fits: Expr::read(fits, Ty::BOOL, span), then }
}

/// The differences of an edge of the table; those beyond what bounds can be as one beyond.
fn begun(builder: &mut Builder<'_>, table: &Differences, along: usize, (edge, extent): (VarId, Expr)) -> Stmt {
    let span = extent.span;
    let at = builder.iterator("at", span);
    let (mut body, difference) = table.difference(builder, along, &build::read(at, span));
    let [low, high] = [i8::MIN, i8::MAX].map(|end| Expr::int(end.into(), span));
    let held = build::max(low, build::min(difference, high));
    body.push(stored(edge, build::read(at, span), build::cast(held, TY)));
    build::map(vec![build::iter(at, Expr::int(0, span), extent)], body)
}

struct Tiles<'a, 'b> {
    builder: &'a mut Builder<'b>,
    table: &'a Differences,
    /// What is kept between tiles: differences of a column by its rows, and of a row by its columns.
    edges: [VarId; 2],
    size: [Expr; 2],
    /// Of the largest tiles.
    sides: [u32; 2],
    /// Inputs that the first index chooses, backwards.
    backwards: OrdMap<VarId, VarId>,
    span: Span,
}

/// A tile: where it begins, how many cells it has along each index, and two arrays for the differences along each.
struct Tile {
    start: [Expr; 2],
    size: [Expr; 2],
    kept: [[VarId; 2]; 2],
}

impl<'a, 'b> Tiles<'a, 'b> {
    fn new(
        builder: &'a mut Builder<'b>,
        table: &'a Differences,
        edges: [VarId; 2],
        (size, sides): ([Expr; 2], [u32; 2]),
        span: Span,
    ) -> Self {
        let mut backwards = OrdMap::new();
        let index = table.table.index[0].var;
        visit::walk_exprs(&table.body, |expr| {
            if let Some((place, _)) = chosen(builder, expr, index) {
                backwards.entry(place.array).or_insert_with(|| {
                    let input = builder.vars[place.array].clone();
                    builder.vars.push(Var { kind: VarKind::Local, ..input })
                });
            }
        });
        Tiles { builder, table, edges, size, sides, backwards, span }
    }

    fn computed(mut self, ask: &Ask) -> Vec<Stmt> {
        let span = self.span;
        let (none, one) = (Expr::int(0, span), Expr::int(1, span));
        let mut out = Vec::new();
        for (input, turned) in self.backwards.clone() {
            out.extend([build::declare(turned, span), self.turned(input, turned)]);
        }
        let counts = ["tall", "wide"].map(|name| self.builder.local(name, Ty::LONG, span));
        let sides = ["height", "width"].map(|name| self.builder.local(name, Ty::LONG, span));
        let rounded = |value: Expr, by: Expr| {
            let up = build::sub(build::add(value, by.clone()), Expr::int(1, span));
            Expr::long(BinOp::Div, up, by)
        };
        for at in [0, 1] {
            let count = rounded(self.size[at].clone(), Expr::int(self.sides[at].into(), span));
            let side = rounded(self.size[at].clone(), build::max(build::read(counts[at], span), one.clone()));
            for (var, value) in [(counts[at], count), (sides[at], side)] {
                out.extend([build::declare(var, span), build::assign(var, value)]);
            }
        }
        let [tall, wide] = counts.map(|count| build::read(count, span));
        let wave = self.builder.local("wave", Ty::LONG, span);
        let number = build::read(wave, span);
        let tile = self.builder.iterator("tile", span);
        let first = build::add(build::sub(number.clone(), tall.clone()), one.clone());
        let range = build::iter(
            tile,
            build::max(none.clone(), first),
            build::min(wide.clone(), build::add(number.clone(), one.clone())),
        );
        let column = build::read(tile, span);
        let body = self.tile([build::sub(number, column.clone()), column], sides);
        let waves = build::sub(build::add(tall, wide), one);
        out.extend(self.builder.count(wave, [none, waves], true, vec![build::map(vec![range], body)]));
        out.extend(self.taken(ask));
        out
    }

    /// A copy of an input, last element first.
    fn turned(&mut self, input: VarId, turned: VarId) -> Stmt {
        let span = self.span;
        let at = self.builder.iterator("at", span);
        let (extent, ty) = (self.builder.vars[input].shape[0].clone(), self.builder.vars[input].ty);
        let from = build::sub(build::sub(extent.clone(), Expr::int(1, span)), build::read(at, span));
        let value = Expr { ty, ..loaded(input, from) };
        let body = vec![stored(turned, build::read(at, span), value)];
        build::map(vec![build::iter(at, Expr::int(0, span), extent)], body)
    }

    /// The cell at the end: the last one of the first column, and all differences along the row.
    fn taken(&mut self, ask: &Ask) -> Vec<Stmt> {
        let span = self.span;
        let (ty, [rows, columns]) = (self.table.ty, self.size.clone());
        let (mut out, first) = self.table.edge(self.builder, 0, &rows);
        let [total, more] = ["total", "more"].map(|name| self.builder.local(name, ty, span));
        let at = self.builder.iterator("at", span);
        let value = build::cast(loaded(self.edges[1], build::read(at, span)), ty);
        let zero = Expr { ty, ..Expr::int(0, span) };
        let op = FoldOp { func: FoldFn::Add, ty, neutral: Some(Box::new(zero)), ordered: false };
        let fold =
            Fold { kind: FoldKind::Reduce, op, target: Target::Scalar(total), value: more, over: vec![at], span };
        let body = Block { stmts: vec![build::declare(more, span), build::assign(more, value)] };
        let iters = vec![build::iter(at, Expr::int(0, span), columns)];
        let sum = Map { iters, body, folds: vec![fold], directives: Directives::default() };
        out.extend([build::declare(total, span), Stmt { kind: StmtKind::Map(sum), span }]);
        let total = Expr::read(total, ty, span);
        out.push(build::assign(ask.cell, self.table.sum(first, total)));
        out
    }

    /// All cells of a tile.
    fn tile(&mut self, number: [Expr; 2], sides: [VarId; 2]) -> Vec<Stmt> {
        let span = self.span;
        let mut out = Vec::new();
        let mut set = |builder: &mut Builder<'_>, name: &str, value: Expr| {
            let var = builder.local(name, Ty::LONG, span);
            out.extend([build::declare(var, span), build::assign(var, value)]);
            build::read(var, span)
        };
        let product = |left: Expr, right: Expr| Expr::long(BinOp::Mul, left, right);
        let side = |at: usize| build::read(sides[at], span);
        let start = [0, 1].map(|at| set(self.builder, "start", product(number[at].clone(), side(at))));
        let size = [0, 1].map(|at| {
            let rest = build::sub(self.size[at].clone(), start[at].clone());
            set(self.builder, "size", build::min(side(at), rest))
        });
        let kept = [("above", self.sides[0]), ("beside", self.sides[1])].map(|(name, side)| {
            [0, 1].map(|_| {
                let shape = vec![Expr::int(side.into(), span)];
                self.builder.vars.push(Var { name: name.into(), ty: TY, shape, kind: VarKind::Local, span })
            })
        });
        out.extend(kept.iter().flatten().map(|array| build::declare(*array, span)));
        let tile = Tile { start, size, kept };
        out.extend([0, 1].map(|along| self.entered(&tile, along)));
        let step = self.builder.local("step", Ty::LONG, span);
        let number = build::read(step, span);
        let one = Expr::int(1, span);
        let body = [0, 1].map(|later| {
            let number = build::add(number.clone(), Expr::int(later, span));
            self.step(&tile, number, later as usize)
        });
        let steps = build::sub(build::add(tile.size[0].clone(), tile.size[1].clone()), one);
        out.extend(self.builder.strides(step, [Expr::int(0, span), steps], 2, body.into()));
        out.extend([0, 1].map(|along| self.left(&tile, along)));
        out
    }

    /// Where a tile keeps the difference of its row or column `at`.
    fn place(tile: &Tile, along: usize, at: Expr) -> Expr {
        if along == 0 { build::sub(build::sub(tile.size[0].clone(), Expr::int(1, at.span)), at) } else { at }
    }

    /// What comes in from the tiles before.
    fn entered(&mut self, tile: &Tile, along: usize) -> Stmt {
        let span = self.span;
        let at = self.builder.iterator("at", span);
        let from = build::add(tile.start[along].clone(), Self::place(tile, along, build::read(at, span)));
        let body =
            tile.kept[along].map(|array| stored(array, build::read(at, span), loaded(self.edges[along], from.clone())));
        build::map(vec![build::iter(at, Expr::int(0, span), tile.size[along].clone())], body.into())
    }

    /// What goes on to the next tiles: of the step in which the last cell of a row or column was computed.
    fn left(&mut self, tile: &Tile, along: usize) -> Stmt {
        let span = self.span;
        let at = self.builder.iterator("at", span);
        let one = Expr::int(1, span);
        let number = build::read(at, span);
        let last = build::sub(build::add(number.clone(), tile.size[1 - along].clone()), one.clone());
        let is_odd = Expr::long(BinOp::Eq, Expr::long(BinOp::And, last, one.clone()), one);
        let [even, odd] = tile.kept[along].map(|array| loaded(array, Self::place(tile, along, number.clone())));
        let kind = ExprKind::Select { cond: Box::new(is_odd), then: Box::new(odd), otherwise: Box::new(even) };
        let place = build::add(tile.start[along].clone(), number);
        let body = vec![stored(self.edges[along], place, Expr { kind, ty: TY, span })];
        build::map(vec![build::iter(at, Expr::int(0, span), tile.size[along].clone())], body)
    }

    /// The cells of a step: `(step - lane, lane)` of the tile.
    fn step(&mut self, tile: &Tile, step: Expr, later: usize) -> Stmt {
        let span = self.span;
        let (none, one) = (Expr::int(0, span), Expr::int(1, span));
        let lane = self.builder.iterator("lane", span);
        let at = build::read(lane, span);
        let [height, width] = tile.size.clone();
        // Rows are kept backwards, so that they move with the lane.
        let row = build::add(at.clone(), build::sub(build::sub(height.clone(), one.clone()), step.clone()));
        let places = [row, at.clone()];
        let (from, mut own) = (self.builder.vars.clone(), OrdMap::new());
        let vars = self.table.vars;
        let mut block = Block { stmts: Vec::new() };
        block.stmts.extend([vars.along[0], vars.along[1], vars.cell].map(|var| build::declare(var, span)));
        for along in [0, 1] {
            let value = loaded(tile.kept[along][1 - later], places[along].clone());
            block.stmts.push(build::assign(vars.along[along], value));
        }
        block.stmts.extend(self.table.body.stmts.clone());
        for along in [0, 1] {
            block.stmts.push(stored(tile.kept[along][later], places[along].clone(), self.table.after(along, span)));
        }
        let mut block = visit::clone_block(&block, &from, self.builder.vars, &mut own);
        let index = [0, 1].map(|along| self.table.table.index[along].var);
        // The first index less the lane's part of it.
        let first = build::add(build::add(tile.start[0].clone(), one.clone()), step.clone());
        Backwards { tiles: self, index: index[0], first: first.clone(), lane: at.clone() }.visit_block(&mut block);
        let values = [build::sub(first, at.clone()), build::add(build::add(tile.start[1].clone(), one.clone()), at)];
        visit::substitute(&mut block, |var| {
            let along = index.iter().position(|index| *index == var)?;
            Some(values[along].clone())
        });
        let begin = build::max(none, build::add(build::sub(step.clone(), height), one.clone()));
        let end = build::min(width, build::add(step, one));
        build::map(vec![build::iter(lane, begin, end)], block.stmts)
    }
}

/// A load from an input that the first index chooses, and what is added to it.
fn chosen<'a>(builder: &Builder<'_>, expr: &'a Expr, index: VarId) -> Option<(&'a Place, i64)> {
    let ExprKind::Load(place) = &expr.kind else { return None };
    let [at] = &place.index[..] else { return None };
    let is_input = builder.vars[place.array].kind == VarKind::Param(Direction::Input);
    let more = Linear::of(at)?.past(index)?;
    (is_input && place.path.is_empty() && place.unproved == 0).then_some((place, more))
}

/// Makes a body load from inputs that are backwards.
struct Backwards<'a, 'b, 'c> {
    tiles: &'a Tiles<'b, 'c>,
    index: VarId,
    first: Expr,
    lane: Expr,
}

impl Mutator for Backwards<'_, '_, '_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        let Some((place, more)) = chosen(self.tiles.builder, expr, self.index) else { return };
        let Some(turned) = self.tiles.backwards.get(&place.array) else { return };
        let span = expr.span;
        let extent = self.tiles.builder.vars[place.array].shape[0].clone();
        let last =
            build::sub(build::sub(extent, Expr::int(1, span)), build::add(self.first.clone(), Expr::int(more, span)));
        expr.kind = ExprKind::Load(element(*turned, build::add(self.lane.clone(), last)));
    }
}
