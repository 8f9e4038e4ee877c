//! The tiles of a table of intervals, those of a diagonal at once.

use hidp_ir::par::visit::{self, Mutator};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, Fold, Loop, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::build::{self, Builder};
use super::super::visits::both;
use super::cell::Cell;
use super::{Intervals, element};

/// So many splits share a load and a store of what is folded so far.
const TOGETHER: i64 = 8;

impl Intervals<'_> {
    /// Computes all cells.
    pub(in super::super) fn made(&self, builder: &mut Builder<'_>, side: u32) -> Vec<Stmt> {
        let span = self.table.span;
        let cells = i64::from(side);
        let side = Expr::int(cells, span);
        let of_table = builder.vars[self.table.array].clone();
        let name = format!("{}_turned", of_table.name);
        let shape = vec![of_table.shape[0].clone(), side.clone()];
        let turned = builder.vars.push(Var { name, shape, kind: VarKind::Local, ..of_table });
        let (one, none) = (Expr::int(1, span), Expr::int(0, span));
        let extent = self.index[0].hi.clone();
        let all = build::add(extent.clone(), build::sub(side.clone(), one));
        let count = Expr::long(BinOp::Div, all, side.clone());
        let (wave, tile) = (builder.local("wave", Ty::LONG, span), builder.iterator("tile", span));
        let number = build::read(wave, span);
        let starts = [build::read(tile, span), build::add(build::read(tile, span), number.clone())];
        let starts = starts.map(|at| Expr::long(BinOp::Mul, at, side.clone()));
        let ends = [0, 1].map(|at| build::min(extent.clone(), build::add(starts[at].clone(), side.clone())));
        let tiles = Tiles { of: self, starts, ends, cells, turned, span };
        let on_diagonal = tiles.on_diagonal(builder);
        let body =
            build::either(Expr::long(BinOp::Eq, number.clone(), none.clone()), on_diagonal, tiles.beside(builder));
        let range = build::iter(tile, none.clone(), build::sub(count.clone(), number));
        let mut out = vec![Stmt { kind: StmtKind::Declare { var: turned, zero: false }, span }];
        out.extend(builder.count(wave, [none, count], true, vec![build::map(vec![range], vec![body])]));
        out
    }
}

/// The tile under construction.
pub(super) struct Tiles<'a> {
    pub(super) of: &'a Intervals<'a>,
    /// The first row and column.
    pub(super) starts: [Expr; 2],
    ends: [Expr; 2],
    /// Rows and columns of a whole tile.
    cells: i64,
    /// The transposed tiles of the diagonal: a row for each column.
    pub(super) turned: VarId,
    span: Span,
}

impl Tiles<'_> {
    fn int(&self, value: i64) -> Expr {
        Expr::int(value, self.span)
    }

    fn side(&self) -> Expr {
        self.int(self.cells)
    }

    /// A tile on the diagonal: one cell after the other.
    fn on_diagonal(&self, builder: &mut Builder<'_>) -> Vec<Stmt> {
        let [first, second] = self.of.index;
        let [i, j] = ["i", "j"].map(|name| builder.local(name, Ty::LONG, self.span));
        let cell = self.cell(builder, None, [i, j].map(|var| build::read(var, self.span)));
        let mut begin = second.lo.clone();
        visit::substitute_expr(&mut begin, |var| (var == first.var).then(|| build::read(i, self.span)));
        let columns = builder.count(j, [begin, self.ends[1].clone()], true, cell);
        builder.count(i, [self.starts[0].clone(), self.ends[0].clone()], false, columns)
    }

    /// Another one: what finished tiles give, then rows from the last one up.
    fn beside(&self, builder: &mut Builder<'_>) -> Vec<Stmt> {
        let span = self.span;
        let ty = self.of.fold.op.ty;
        let shape = vec![self.side(), self.side()];
        let folded = builder.vars.push(Var { name: "folded".into(), ty, shape, kind: VarKind::Local, span });
        let mut out = vec![Stmt { kind: StmtKind::Declare { var: folded, zero: false }, span }];
        let [row, column] = ["row", "column"].map(|name| builder.iterator(name, span));
        let at = [row, column].map(|var| build::read(var, span));
        let iters = [row, column].map(|var| build::iter(var, self.int(0), self.side()));
        let begun = build::store(element(folded, at.to_vec()), self.of.neutral.clone());
        out.push(build::map(iters.into(), vec![begun]));

        let begin = build::add(build::add(self.starts[0].clone(), self.side()), self.int(self.of.begin - 1));
        let end = build::add(self.starts[1].clone(), self.int(self.of.end));
        let [from, i] = ["from", "i"].map(|name| builder.local(name, Ty::LONG, span));
        let first = build::read(from, span);
        let part = [first.clone(), build::min(end.clone(), build::add(first, self.side()))];
        let rows = self.splits(builder, folded, &build::read(i, span), part);
        let rows = builder.count(i, [self.starts[0].clone(), self.ends[0].clone()], true, rows);
        out.extend(builder.strides(from, [begin.clone(), end.clone()], self.cells, rows));

        let [i, j] = ["i", "j"].map(|name| builder.local(name, Ty::LONG, span));
        let row = build::read(i, span);
        let first = build::add(row.clone(), self.int(self.of.begin));
        let mut body = self.splits(builder, folded, &row, [first, begin]);
        let cell = self.cell(builder, Some((folded, end)), [row, build::read(j, span)]);
        body.extend(builder.count(j, [self.starts[1].clone(), self.ends[1].clone()], true, cell));
        out.extend(builder.count(i, [self.starts[0].clone(), self.ends[0].clone()], false, body));
        out
    }

    /// Folds these splits of all cells of a row.
    fn splits(&self, builder: &mut Builder<'_>, folded: VarId, row: &Expr, [lo, hi]: [Expr; 2]) -> Vec<Stmt> {
        let span = self.span;
        let k = builder.local("k", Ty::LONG, span);
        let count = build::sub(hi.clone(), lo.clone());
        let together = Expr::int(TOGETHER, span);
        let whole = Expr::long(BinOp::Mul, Expr::long(BinOp::Div, count, together.clone()), together);
        let left = build::add(lo.clone(), whole);
        let several = self.at_once(builder, folded, (row, k), TOGETHER);
        let one = self.at_once(builder, folded, (row, k), 1);
        let rest = builder.local("rest", Ty::LONG, span);
        let mut out = vec![build::declare(rest, span), build::assign(rest, left)];
        out.extend(builder.strides(k, [lo, build::read(rest, span)], TOGETHER, vec![several]));
        let step = Block { stmts: vec![build::assign(k, build::add(build::read(k, span), self.int(1)))] };
        let cond = Expr::long(BinOp::Lt, build::read(k, span), hi);
        let ones = Loop { cond, body: Block { stmts: vec![one] }, step };
        out.push(Stmt { kind: StmtKind::Loop(ones), span });
        out
    }

    /// Folds so many splits from `k` on of all cells of a row.
    fn at_once(&self, builder: &mut Builder<'_>, folded: VarId, (row, k): (&Expr, VarId), count: i64) -> Stmt {
        let span = self.span;
        let column = builder.iterator("column", span);
        let at = build::read(column, span);
        let cell = [row.clone(), build::add(self.starts[1].clone(), at.clone())];
        let kept = element(folded, vec![build::sub(row.clone(), self.starts[0].clone()), at]);
        let Fold { op, value, .. } = &self.of.fold;
        let held = builder.local("so_far", op.ty, span);
        let load = Expr { kind: ExprKind::Load(kept.clone()), ty: op.ty, span };
        let mut body = vec![build::declare(held, span), build::assign(held, load)];
        let so_far = || Expr::read(held, op.ty, span);
        for later in 0..count {
            let split = build::add(build::read(k, span), self.int(later));
            let (from, mut own) = (builder.vars.clone(), Default::default());
            let mut block = visit::clone_block(&self.of.map.body, &from, builder.vars, &mut own);
            self.put(&mut block, &cell, Some(&split));
            body.extend(block.stmts);
            let found = Expr::read(own.get(value).copied().unwrap_or(*value), op.ty, span);
            body.push(build::assign(held, both(op.func, so_far(), found)));
        }
        body.push(build::store(kept, so_far()));
        let width = build::sub(self.ends[1].clone(), self.starts[1].clone());
        build::map(vec![build::iter(column, self.int(0), width)], body)
    }

    /// Puts indices into their places.
    fn put(&self, block: &mut Block, cell: &[Expr; 2], split: Option<&Expr>) {
        let index = self.of.index_vars();
        visit::substitute(block, |var| match index.iter().position(|index| *index == var) {
            Some(at) => Some(cell[at].clone()),
            None => split.filter(|_| var == self.of.split()).cloned(),
        });
    }

    /// A cell; with what is folded of its splits before one, if they are.
    fn cell(&self, builder: &mut Builder<'_>, folded: Option<(VarId, Expr)>, cell: [Expr; 2]) -> Vec<Stmt> {
        let mut body = self.of.body.clone();
        Cell { tiles: self, builder, folded: folded.as_ref() }.visit_block(&mut body);
        let mut body = visit::duplicate_block(&body, builder.vars);
        self.put(&mut body, &cell, None);
        body.stmts
    }
}
