//! Folds over the places where an interval can be split, as of `f(i, k) + f(k+1, j)` over `k`, by square tiles of the table, those of a diagonal at once.
//!
//! Most splits of a tile's cells have both operands in tiles that are finished. They are folded as a product of matrices is computed, with `+` and `*` of
//! another kind: lanes are cells of a row, and several `k` share a load and a store of what is folded so far. What is left of a cell are splits whose left
//! operand is in the first tile of its row, which the cells of a row fold together as well, and those whose right operand is in the last tile of its column. These follow each
//! other; the right operands come from a transposed copy of the tiles on the diagonal.

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Fold, FoldFn, FoldKind, Map, Place, Stmt, StmtKind, System, Table, Target,
    UnOp, Var, VarId, VarKind, same,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::build::{self, Builder};
use super::visits::both;
use super::window::Linear;

/// So many splits share a load and a store of what is folded so far.
const TOGETHER: i64 = 8;

/// Constants that are added to indices are not further from 0.
const FARTHEST: i64 = 2;

/// A table whose cells fold over intervals.
pub(super) struct Intervals<'a> {
    table: &'a Table,
    body: &'a Block,
    map: Map,
    fold: Fold,
    neutral: Expr,
    /// What the range of a fold begins with, more than the first index.
    begin: i64,
    /// Where it ends, more than the second index.
    end: i64,
}

/// What indices of cells are more than a split is.
#[derive(Default)]
struct Operands {
    /// Second indices of those with the first index of the cell.
    left: OrdSet<i64>,
    /// First indices of those with its second index.
    right: OrdSet<i64>,
    /// Whether other arrays are loaded.
    others: bool,
    /// Whether other cells are.
    strange: bool,
}

impl<'a> Intervals<'a> {
    /// The system as such a table.
    pub(super) fn of(builder: &Builder<'_>, system: &'a System, bodies: &'a [Block]) -> Option<Intervals<'a>> {
        let ([table], [body]) = (&system.tables[..], bodies) else { return None };
        let [first, second] = &table.index[..] else { return None };
        let upwards = system.order.nest.as_ref().is_some_and(|nest| nest.flips == [-1, 1]);
        let triangle = first.lo.as_int() == Some(0) && same::expr(&first.hi, &second.hi);
        if !upwards || !triangle || !(0..=1).contains(&Linear::of(&second.lo)?.past(first.var)?) {
            return None;
        }
        let mut maps: Vec<Map> = Vec::new();
        visit::walk_stmts(body, |stmt| {
            if let StmtKind::Map(map) = &stmt.kind {
                maps.push(map.clone());
            }
        });
        let [map] = &maps[..] else { return None };
        let ([iter], [fold]) = (&map.iters[..], &map.folds[..]) else { return None };
        let neutral = neutral(fold)?;
        let [begin, end] = [(&iter.lo, first.var), (&iter.hi, second.var)].map(|(end, var)| Linear::of(end)?.past(var));
        let (begin, end) = (begin?, end?);
        let intervals = Intervals { table, body, map: map.clone(), fold: fold.clone(), neutral, begin, end };
        let operands = intervals.operands(builder)?;
        let fits = iter.step.as_int() == Some(1) && intervals.fit(&operands) && intervals.looks_back();
        // Where it is not known that a cell folds, operands are loaded that nobody may have asked for.
        let always = executed(body, [first.var, second.var]).unwrap_or_else(|| intervals.are_cells(&operands));
        (fits && always).then_some(intervals)
    }

    fn index(&self) -> [VarId; 2] {
        [self.table.index[0].var, self.table.index[1].var]
    }

    fn split(&self) -> VarId {
        self.map.iters[0].var
    }

    /// What a split is folded from, if it is made of cells, of inputs and of indices alone.
    fn operands(&self, builder: &Builder<'_>) -> Option<Operands> {
        let [i, j] = self.index();
        let (mut own, mut plain) = (OrdSet::from([i, j, self.split()]), true);
        for stmt in &self.map.body.stmts {
            match &stmt.kind {
                StmtKind::Declare { var, .. } => {
                    own.insert(*var);
                }
                StmtKind::Assign { .. } => {}
                StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::If { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Map(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => plain = false,
            }
        }
        let mut operands = Operands::default();
        visit::walk_vars(&self.map.body, |var, _| {
            let known = match builder.vars[var].kind {
                VarKind::Dim | VarKind::Param(hidp_syntax::ast::Direction::Input) => true,
                VarKind::Param(_) | VarKind::Local | VarKind::Iter => own.contains(&var) || var == self.table.array,
            };
            plain &= known;
        });
        visit::walk_places(&self.map.body, |place, _| {
            if place.array != self.table.array {
                operands.others = true;
                return;
            }
            match self.operand(place) {
                Some((0, more)) => operands.left.insert(more),
                Some((_, more)) => operands.right.insert(more),
                None => {
                    operands.strange = true;
                    false
                }
            };
        });
        (plain && !operands.strange).then_some(operands)
    }

    /// Whether a cell is a left operand (0) or a right one (1), and what its other index is more than the split.
    fn operand(&self, place: &Place) -> Option<(usize, i64)> {
        let [first, second] = &place.index[..] else { return None };
        let [i, j] = self.index();
        let past = |index: &Expr, var: VarId| Linear::of(index).and_then(|sum| sum.past(var));
        if !place.path.is_empty() {
            return None;
        }
        match (past(first, i), past(second, j)) {
            (Some(0), _) => Some((0, past(second, self.split())?)),
            (_, Some(0)) => Some((1, past(first, self.split())?)),
            (_, _) => None,
        }
    }

    /// Whether each part of a fold finds its operands where it looks for them.
    fn fit(&self, operands: &Operands) -> bool {
        let Intervals { begin, end, .. } = *self;
        let near = |more: &i64| more.abs() <= FARTHEST;
        let left = |more: &i64| near(more) && begin + more <= 1 && end + more <= 0;
        let right = |more: &i64| near(more) && begin + more >= 1 && end + more >= 0 && end + more <= 1;
        let found = !operands.left.is_empty() && !operands.right.is_empty();
        let ends = near(&begin) && near(&end) && end + 1 >= begin;
        found && ends && operands.left.iter().all(left) && operands.right.iter().all(right)
    }

    /// Whether a fold loads cells alone, and such that there certainly are.
    fn are_cells(&self, operands: &Operands) -> bool {
        !operands.others && operands.left.iter().all(|more| self.begin + more >= 0)
    }

    /// Whether all other cells that a cell needs are further down, and not to the right of it.
    fn looks_back(&self) -> bool {
        let [i, j] = self.index();
        let past = |index: &Expr, var: VarId| Linear::of(index).and_then(|sum| sum.past(var));
        let mut body = self.body.clone();
        Without.visit_block(&mut body);
        let mut back = true;
        visit::walk_places(&body, |place, _| {
            let [first, second] = &place.index[..] else { return };
            if place.array == self.table.array {
                let down = past(first, i).is_some_and(|more| more >= 0);
                back &= down && past(second, j).is_some_and(|more| more <= 0);
            }
        });
        back
    }

    /// Computes all cells.
    pub(super) fn made(&self, builder: &mut Builder<'_>, side: u32) -> Vec<Stmt> {
        let span = self.table.span;
        let side = Expr::int(side.into(), span);
        let of_table = builder.vars[self.table.array].clone();
        let name = format!("{}_turned", of_table.name);
        let shape = vec![of_table.shape[0].clone(), side.clone()];
        let turned = builder.vars.push(Var { name, shape, kind: VarKind::Local, ..of_table });
        let (one, none) = (Expr::int(1, span), Expr::int(0, span));
        let extent = self.table.index[0].hi.clone();
        let all = build::add(extent.clone(), build::sub(side.clone(), one));
        let count = Expr::long(BinOp::Div, all, side.clone());
        let (wave, tile) = (builder.local("wave", Ty::LONG, span), builder.iterator("tile", span));
        let number = build::read(wave, span);
        let starts = [build::read(tile, span), build::add(build::read(tile, span), number.clone())];
        let starts = starts.map(|at| Expr::long(BinOp::Mul, at, side.clone()));
        let ends = [0, 1].map(|at| build::min(extent.clone(), build::add(starts[at].clone(), side.clone())));
        let tiles = Tiles { of: self, starts, ends, side, turned, span };
        let on_diagonal = tiles.on_diagonal(builder);
        let body =
            build::either(Expr::long(BinOp::Eq, number.clone(), none.clone()), on_diagonal, tiles.beside(builder));
        let range = build::iter(tile, none.clone(), build::sub(count.clone(), number));
        let mut out = vec![Stmt { kind: StmtKind::Declare { var: turned, zero: false }, span }];
        out.extend(builder.count(wave, [none, count], true, vec![build::map(vec![range], vec![body])]));
        out
    }
}

/// The neutral element of a fold whose values may meet in any order.
fn neutral(fold: &Fold) -> Option<Expr> {
    let scalar = fold.op.ty.scalar()?;
    let any = match fold.op.func {
        FoldFn::Fn(_) => false,
        FoldFn::Min | FoldFn::Max => true,
        FoldFn::Add | FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor => scalar.is_integer(),
    };
    let neutral = fold.op.neutral.as_deref().filter(|neutral| matches!(neutral.kind, ExprKind::Const(_)))?;
    let fits = any && fold.kind == FoldKind::Reduce && matches!(fold.target, Target::Scalar(_));
    fits.then(|| neutral.clone())
}

/// Takes maps out.
struct Without;

impl Mutator for Without {
    fn visit_block(&mut self, block: &mut Block) {
        block.stmts.retain(|stmt| !matches!(stmt.kind, StmtKind::Map(_)));
        change::walk_block(self, block);
    }
}

/// Whether the map of a block is executed for all cells beside the diagonal; `None` where that is not known.
fn executed(block: &Block, index: [VarId; 2]) -> Option<bool> {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Map(_) => return Some(true),
            StmtKind::If { cond, then, otherwise } => {
                let sides = [then, otherwise].map(has_map);
                let holds = holds(cond, index);
                match sides {
                    [false, false] => {}
                    [true, _] => return executed(then, index).filter(|_| holds == Some(true)),
                    [false, true] => return executed(otherwise, index).filter(|_| holds == Some(false)),
                }
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. } => {}
            StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => return None,
        }
    }
    None
}

fn has_map(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Map(_)));
    found
}

/// Whether a condition holds for all cells whose second index is larger than the first one, or for none of them.
fn holds(cond: &Expr, index: [VarId; 2]) -> Option<bool> {
    match &cond.kind {
        ExprKind::Unary(UnOp::Not, operand) => holds(operand, index).map(|holds| !holds),
        ExprKind::Lazy { and, left, right } => {
            let decided = [left, right].map(|side| holds(side, index));
            let decides = Some(!and);
            if decided.contains(&decides) { decides } else { decided[0].and(decided[1]) }
        }
        ExprKind::Binary { op, left, right, .. } => {
            let [factor, more] = Linear::between(left, right)?.of_gap(index)?;
            // Of the smallest gap, with the sign that makes larger ones larger.
            let (op, least) = match factor {
                1 => (*op, 1 + more),
                -1 => (op.mirrored(), 1 - more),
                _ => return None,
            };
            match op {
                BinOp::Gt => (least > 0).then_some(true),
                BinOp::Ge => (least >= 0).then_some(true),
                BinOp::Lt => (least >= 0).then_some(false),
                BinOp::Le => (least > 0).then_some(false),
                BinOp::Eq => (least > 0).then_some(false),
                BinOp::Ne => (least > 0).then_some(true),
                BinOp::Add
                | BinOp::Sub
                | BinOp::Mul
                | BinOp::Div
                | BinOp::Rem
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Shl
                | BinOp::Shr => None,
            }
        }
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// The tile under construction.
struct Tiles<'a> {
    of: &'a Intervals<'a>,
    /// The first row and column.
    starts: [Expr; 2],
    ends: [Expr; 2],
    side: Expr,
    /// The transposed tiles of the diagonal: a row for each column.
    turned: VarId,
    span: Span,
}

impl Tiles<'_> {
    fn int(&self, value: i64) -> Expr {
        Expr::int(value, self.span)
    }

    /// A tile on the diagonal: one cell after the other.
    fn on_diagonal(&self, builder: &mut Builder<'_>) -> Vec<Stmt> {
        let [first, second] = &self.of.table.index[..] else { return Vec::new() };
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
        let shape = vec![self.side.clone(), self.side.clone()];
        let folded = builder.vars.push(Var { name: "folded".into(), ty, shape, kind: VarKind::Local, span });
        let mut out = vec![Stmt { kind: StmtKind::Declare { var: folded, zero: false }, span }];
        let [row, column] = ["row", "column"].map(|name| builder.iterator(name, span));
        let at = [row, column].map(|var| build::read(var, span));
        let iters = [row, column].map(|var| build::iter(var, self.int(0), self.side.clone()));
        let begun = build::store(element(folded, at.to_vec()), self.of.neutral.clone());
        out.push(build::map(iters.into(), vec![begun]));

        let begin = build::add(build::add(self.starts[0].clone(), self.side.clone()), self.int(self.of.begin - 1));
        let end = build::add(self.starts[1].clone(), self.int(self.of.end));
        let [from, i] = ["from", "i"].map(|name| builder.local(name, Ty::LONG, span));
        let first = build::read(from, span);
        let part = [first.clone(), build::min(end.clone(), build::add(first, self.side.clone()))];
        let rows = self.splits(builder, folded, &build::read(i, span), part);
        let rows = builder.count(i, [self.starts[0].clone(), self.ends[0].clone()], true, rows);
        let side = self.side.as_int().and_then(|side| i64::try_from(side).ok()).unwrap_or(1);
        out.extend(builder.strides(from, [begin.clone(), end.clone()], side, rows));

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
        let ones = hidp_ir::par::Loop { cond, body: Block { stmts: vec![one] }, step };
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
        let index = self.of.index();
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

/// Makes the body of a cell load right operands from the copy.
struct Cell<'a, 'b, 'c> {
    tiles: &'a Tiles<'a>,
    builder: &'a mut Builder<'b>,
    folded: Option<&'c (VarId, Expr)>,
}

impl Cell<'_, '_, '_> {
    /// Where the cell of a column is in the copy.
    fn turned(&self, row: Expr, column: Expr) -> Place {
        // On the diagonal both begin with the same number.
        element(self.tiles.turned, vec![column, build::sub(row, self.tiles.starts[1].clone())])
    }
}

impl Mutator for Cell<'_, '_, '_> {
    fn visit_block(&mut self, block: &mut Block) {
        let of = self.tiles.of;
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            let span = stmt.span;
            match (&mut stmt.kind, self.folded) {
                (StmtKind::Map(map), folded) => {
                    let mut right = Right { cell: self };
                    right.visit_block(&mut map.body);
                    let (op, target) = (map.folds[0].op.clone(), map.folds[0].target.clone());
                    if let Some((_, first)) = folded {
                        map.iters[0].lo = first.clone();
                    }
                    out.push(stmt);
                    if let (Some((folded, _)), Target::Scalar(split)) = (folded, target) {
                        let [i, j] = of.index().map(|index| build::read(index, span));
                        let starts = &self.tiles.starts;
                        let at = vec![build::sub(i, starts[0].clone()), build::sub(j, starts[1].clone())];
                        let before = Expr { kind: ExprKind::Load(element(*folded, at)), ty: op.ty, span };
                        out.push(build::assign(split, both(op.func, Expr::read(split, op.ty, span), before)));
                    }
                }
                (StmtKind::Store { place, value }, None) => {
                    let held = self.builder.local("cell", value.ty, span);
                    let cell = Expr::read(held, value.ty, span);
                    let value = std::mem::replace(value, cell.clone());
                    let turned = self.turned(place.index[0].clone(), place.index[1].clone());
                    out.extend([
                        build::declare(held, span),
                        build::assign(held, value),
                        build::store(turned, cell),
                        stmt,
                    ]);
                }
                (
                    StmtKind::Store { .. }
                    | StmtKind::Declare { .. }
                    | StmtKind::Assign { .. }
                    | StmtKind::AssignField { .. }
                    | StmtKind::Atomic { .. }
                    | StmtKind::If { .. }
                    | StmtKind::Loop(_)
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Return(_)
                    | StmtKind::Scope(_)
                    | StmtKind::Leave
                    | StmtKind::Prim(_)
                    | StmtKind::Swap(..)
                    | StmtKind::Call { .. }
                    | StmtKind::Require { .. },
                    _,
                ) => {
                    change::walk_stmt(self, &mut stmt);
                    out.push(stmt);
                }
            }
        }
        block.stmts = out;
    }
}

/// The same of a fold.
struct Right<'a, 'b, 'c, 'd> {
    cell: &'d Cell<'a, 'b, 'c>,
}

impl Mutator for Right<'_, '_, '_, '_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        let of = self.cell.tiles.of;
        if let ExprKind::Load(place) = &mut expr.kind
            && place.array == of.table.array
            && matches!(of.operand(place), Some((1, _)))
        {
            *place = self.cell.turned(place.index[0].clone(), place.index[1].clone());
        }
    }
}

/// An element that is certainly there.
fn element(array: VarId, index: Vec<Expr>) -> Place {
    let span = index[0].span;
    Place { array, index, path: Vec::new(), unproved: 0, access: Access::Exclusive, span }
}
