//! Folds that pick the best of all cells, and say where it is: a function that takes one of its two operands, by an integer in both.
//!
//! Which cell that is follows from the values alone: of equal ones, the first in the order of the indices, or the last. So
//! lines of cells may go along any index. Each keeps its best value and the number of that cell's step, both in the type of the cells, so that
//! they fit into the lanes of a step. What else is folded is made of the one cell that is found.

use hidp_ir::par::visit;
use hidp_ir::par::{
    BinOp, Expr, ExprKind, FoldFn, FoldOp, Place, Program, ScalarFn, Stmt, StmtKind, System, Var, VarId, VarKind,
};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::build::{self, Builder};
use super::super::narrow;
use super::super::window::{Cells, Window};
use super::{Dim, Folded, Tree, folding};

/// Steps beside narrow cells: the low bits, which say which one it is, as extents are smaller than that.
const NARROW_STEP: Ty = Ty::Scalar(Scalar::U16);
const STEP_BITS: i64 = u16::MAX as i64;

/// Which operand is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    /// The field that decides.
    key: u32,
    /// Whether the greatest is the best.
    greatest: bool,
    /// Whether the first of equal ones is taken.
    first: bool,
}

impl Pick {
    /// If a value is folded like that, and the cell is what decides.
    pub(super) fn of(program: &Program, op: &FoldOp, value: &Expr) -> Option<Pick> {
        let FoldFn::Fn(function) = op.func else { return None };
        let pick = taken(&program.scalar_fns[function])?;
        let path = path(pick, value)?;
        let mut alone = true;
        visit::walk_subexprs(value, |part| {
            if let ExprKind::Load(place) = &part.kind {
                alone &= place.path == path;
            }
        });
        alone.then_some(pick)
    }

    pub(super) fn extreme(self) -> FoldFn {
        if self.greatest { FoldFn::Max } else { FoldFn::Min }
    }

    /// The type of what decides.
    fn ty(self, value: &Expr) -> Option<Ty> {
        let ExprKind::Struct(_, fields) = &value.kind else { return None };
        fields.get(self.key as usize).map(|key| key.ty)
    }

    /// What decides, of a cell.
    pub(super) fn key_of(self, value: &Expr, cell: Expr) -> Expr {
        let path = path(self, value).unwrap_or_default();
        let (ty, span) = (self.ty(value).unwrap_or(cell.ty), cell.span);
        path.iter().fold(cell, |cell, field| Expr { kind: ExprKind::Field(Box::new(cell), *field), ty, span })
    }

    /// The field of a folded value that decides.
    pub(super) fn key_of_value(self, value: &Expr, folded: Expr) -> Expr {
        let (ty, span) = (self.ty(value).unwrap_or(folded.ty), folded.span);
        Expr { kind: ExprKind::Field(Box::new(folded), self.key), ty, span }
    }

    /// Whether a value is the better one of two, or none is.
    fn op(self, strict: bool) -> BinOp {
        match (self.greatest, strict) {
            (true, true) => BinOp::Gt,
            (true, false) => BinOp::Ge,
            (false, true) => BinOp::Lt,
            (false, false) => BinOp::Le,
        }
    }
}

/// Where the deciding field comes from: nothing of a cell that is a number, a field of one that is a struct.
fn path(pick: Pick, value: &Expr) -> Option<Vec<u32>> {
    let ExprKind::Struct(_, fields) = &value.kind else { return None };
    let key = fields.get(pick.key as usize)?;
    let is_integer = key.ty.scalar().is_some_and(Scalar::is_integer);
    let ExprKind::Load(place) = &key.kind else { return None };
    (is_integer && place.path.len() <= 1).then(|| place.path.clone())
}

/// Which operand a function takes, if it does nothing else: `return b.key > a.key ? b : a;`
fn taken(function: &ScalarFn) -> Option<Pick> {
    let [a, b] = function.params[..] else { return None };
    let [Stmt { kind: StmtKind::Return(result), .. }] = &function.body.as_ref()?.stmts[..] else { return None };
    let ExprKind::Select { cond, then, otherwise } = &result.kind else { return None };
    let ExprKind::Binary { op, left, right, .. } = &cond.kind else { return None };
    let (greater, strict) = match op {
        BinOp::Gt => (true, true),
        BinOp::Ge => (true, false),
        BinOp::Lt => (false, true),
        BinOp::Le => (false, false),
        BinOp::Add
        | BinOp::Sub
        | BinOp::Mul
        | BinOp::Div
        | BinOp::Rem
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Shl
        | BinOp::Shr
        | BinOp::Eq
        | BinOp::Ne => return None,
    };
    let ((left, key), (right, other)) = (field(left)?, field(right)?);
    let (then, otherwise) = (operand(then)?, operand(otherwise)?);
    let of_both = [[a, b], [b, a]].contains(&[left, right]) && [[a, b], [b, a]].contains(&[then, otherwise]);
    let of_equal_ones = if strict { otherwise } else { then };
    (key == other && of_both).then_some(Pick { key, greatest: greater == (then == left), first: of_equal_ones == a })
}

fn operand(expr: &Expr) -> Option<VarId> {
    if let ExprKind::Read(var) = expr.kind { Some(var) } else { None }
}

fn field(expr: &Expr) -> Option<(VarId, u32)> {
    if let ExprKind::Field(of, field) = &expr.kind { Some((operand(of)?, *field)) } else { None }
}

/// The best cell of each line so far.
pub(in super::super) struct Picks<'a> {
    fold: &'a Folded,
    pick: Pick,
    /// The index that the lines go along.
    along: usize,
    /// Coefficients of the indices in the number of a cell's step.
    row: &'a [i64],
    /// What decides, of each line's best cell.
    best: VarId,
    /// The number of its step.
    when: VarId,
    as_kept: bool,
}

impl<'a> Picks<'a> {
    /// `None` for other folds.
    pub(in super::super) fn new(
        builder: &mut Builder<'_>,
        fold: &'a Folded,
        window: &Window,
        row: &'a [i64],
    ) -> Option<Picks<'a>> {
        let Tree::Pick { along, pick } = fold.tree else { return None };
        let as_kept = matches!(window.cells, Cells::Narrow { .. });
        let (ty, step) = if as_kept { (narrow::TY, NARROW_STEP) } else { (pick.ty(&fold.value)?, Ty::LONG) };
        let table = &builder.vars[fold.table];
        let mut shape = table.shape.clone();
        shape.remove(along);
        let span = table.span;
        let var = |name: &str, ty: Ty| Var { name: name.into(), ty, shape: shape.clone(), kind: VarKind::Local, span };
        let (best, when) = (var("best", ty), var("when", step));
        let (best, when) = (builder.vars.push(best), builder.vars.push(when));
        Some(Picks { fold, pick, along, row, best, when, as_kept })
    }

    pub(in super::super) fn table(&self) -> VarId {
        self.fold.table
    }

    /// The value that loses against all others, and the step of the line's first cell, which is the best where no other is better.
    pub(in super::super) fn begun(&self, builder: &mut Builder<'_>, span: Span) -> Vec<Stmt> {
        let shape = &builder.vars[self.fold.table].shape;
        let [lo, hi] = self.fold.part[self.along].range(&shape[self.along]);
        let first = if self.row[self.along] > 0 { lo } else { build::sub(hi, Expr::int(1, span)) };
        let line = builder.vars[self.best].shape.clone();
        let iters: Vec<VarId> = line.iter().map(|_| builder.iterator("at", span)).collect();
        let mut index: Vec<Expr> = iters.iter().map(|iter| build::read(*iter, span)).collect();
        let places = [self.best, self.when].map(|array| place(array, index.clone()));
        index.insert(self.along, first);
        let step = self.row.iter().zip(index).fold(Expr::int(0, span), |sum, (factor, at)| match factor {
            0 => sum,
            _ => build::add(sum, build::times(*factor, at)),
        });
        let worst = self.constant(builder, self.pick.extreme(), span);
        let [best, when] = places;
        let when = build::store(when, build::cast(step, builder.vars[self.when].ty));
        let ranges = iters.iter().zip(line).map(|(iter, extent)| build::iter(*iter, Expr::int(0, span), extent));
        let all = build::map(ranges.collect(), vec![build::store(best, worst), when]);
        vec![build::declare(self.best, span), build::declare(self.when, span), all]
    }

    /// What every value of the lines is at least as good as.
    fn constant(&self, builder: &Builder<'_>, func: FoldFn, span: Span) -> Expr {
        let ty = builder.vars[self.best].ty;
        let neutral = ty.scalar().and_then(|scalar| func.neutral(scalar)).expect("integers have one");
        Expr { kind: ExprKind::Const(neutral), ty, span }
    }

    /// Takes the cell with these indices, if it is better than its line: `kept` as its window has it, `declared` as the program says.
    pub(in super::super) fn folded(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        step: &Expr,
        (kept, declared): (Expr, Expr),
    ) -> Vec<Stmt> {
        let span = kept.span;
        let mut index = self.fold.index(system, span);
        let visited = self.fold.visited_cell(&index);
        index.remove(self.along);
        let (best, when) = (self.element(builder, self.best, &index), self.element(builder, self.when, &index));
        let value = if self.as_kept { kept } else { self.pick.key_of(&self.fold.value, declared) };
        // Cells come upwards or downwards.
        let strict = self.pick.first == (self.row[self.along] > 0);
        let [left, right] = [value.clone(), best.clone()].map(Box::new);
        let kind = ExprKind::Binary { op: self.pick.op(strict), left, right, checked: false };
        let better = builder.local("better", Ty::BOOL, span);
        let taken = |new: Expr, old: Expr| {
            let (ty, cond) = (old.ty, Box::new(Expr::read(better, Ty::BOOL, span)));
            let kind = ExprKind::Select { cond, then: Box::new(new), otherwise: Box::new(old) };
            Expr { kind, ty, span }
        };
        let number = build::cast(step.clone(), when.ty);
        let stmts = vec![
            build::declare(better, span),
            build::assign(better, Expr { kind, ty: Ty::BOOL, span }),
            build::store(place(self.best, index.clone()), taken(value, best)),
            build::store(place(self.when, index), taken(number, when)),
        ];
        if visited.is_empty() { stmts } else { vec![build::guarded(build::all(visited, span), stmts)] }
    }

    fn element(&self, builder: &Builder<'_>, array: VarId, index: &[Expr]) -> Expr {
        let span = builder.vars[array].span;
        Expr { kind: ExprKind::Load(place(array, index.to_vec())), ty: builder.vars[array].ty, span }
    }

    /// The best of all lines, and of its cells the first one or the last.
    pub(in super::super) fn ended(&self, builder: &mut Builder<'_>, window: &Window, span: Span) -> Vec<Stmt> {
        let kept = builder.vars[self.best].ty;
        let best = builder.local("best", kept, span);
        let mut out = vec![build::declare(best, span)];
        let (ranges, index) = self.lines(builder, span);
        let value = self.element(builder, self.best, &index);
        out.push(folding(
            builder,
            (self.built_in(builder, self.pick.extreme(), best), best),
            ranges,
            (Vec::new(), value),
        ));
        let mut found: Vec<Expr> = Vec::new();
        for (at, dim) in self.fold.part.iter().enumerate() {
            if let Dim::At(index) = dim {
                found.push(index.clone());
                continue;
            }
            let (ranges, line) = self.lines(builder, span);
            let all = self.indices(builder, &line, span);
            let is_best = Expr {
                kind: ExprKind::Binary {
                    op: BinOp::Eq,
                    left: Box::new(self.element(builder, self.best, &line)),
                    right: Box::new(Expr::read(best, kept, span)),
                    checked: false,
                },
                ty: Ty::BOOL,
                span,
            };
            let same = all.iter().zip(&found).map(|(at, found)| Expr::long(BinOp::Eq, at.clone(), found.clone()));
            let cond = Box::new(build::all([is_best].into_iter().chain(same).collect(), span));
            let place = builder.local("place", Ty::LONG, span);
            let func = if self.pick.first { FoldFn::Min } else { FoldFn::Max };
            let op = self.built_in(builder, func, place);
            let none = op.neutral.as_deref().expect("a built-in operator has one").clone();
            let kind = ExprKind::Select { cond, then: Box::new(all[at].clone()), otherwise: Box::new(none) };
            out.push(build::declare(place, span));
            out.push(folding(builder, (op, place), ranges, (Vec::new(), Expr { kind, ty: Ty::LONG, span })));
            found.push(build::read(place, span));
        }
        let best = Expr::read(best, kept, span);
        let declared = self.pick.ty(&self.fold.value).expect("what decides is an integer");
        let best = if self.as_kept { window.declared(best, declared) } else { best };
        out.push(build::assign(self.fold.cell, self.fold.made_of(&found, &best, true)));
        self.fold.guarded(builder, out, span)
    }

    fn built_in(&self, builder: &Builder<'_>, func: FoldFn, target: VarId) -> FoldOp {
        let ty = builder.vars[target].ty;
        let neutral = ty
            .scalar()
            .and_then(|scalar| func.neutral(scalar))
            .map(|neutral| Box::new(Expr { kind: ExprKind::Const(neutral), ty, span: builder.vars[target].span }));
        FoldOp { func, ty, neutral, ordered: false }
    }

    /// Iterators over the lines that are visited, and the indices that these are.
    fn lines(&self, builder: &mut Builder<'_>, span: Span) -> (Vec<(VarId, [Expr; 2])>, Vec<Expr>) {
        let shape = builder.vars[self.fold.table].shape.clone();
        let others = self.fold.part.iter().zip(&shape).enumerate().filter(|(at, _)| *at != self.along);
        let ranges = others.map(|(_, (dim, extent))| (builder.iterator("at", span), dim.range(extent)));
        let ranges: Vec<(VarId, [Expr; 2])> = ranges.collect();
        let index = ranges.iter().map(|(iter, _)| build::read(*iter, span)).collect();
        (ranges, index)
    }

    /// The indices of a line's best cell: the one along it follows from its step.
    fn indices(&self, builder: &Builder<'_>, line: &[Expr], span: Span) -> Vec<Expr> {
        let step = build::cast(self.element(builder, self.when, line), Ty::LONG);
        let mut index = line.to_vec();
        index.insert(self.along, Expr::int(0, span));
        let rest = self.row.iter().zip(&index).fold(step, |rest, (factor, at)| match factor {
            0 => rest,
            _ => build::sub(rest, build::times(*factor, at.clone())),
        });
        let at = build::times(self.row[self.along], rest);
        index[self.along] = if self.as_kept { Expr::long(BinOp::And, at, Expr::int(STEP_BITS, span)) } else { at };
        index
    }
}

fn place(array: VarId, index: Vec<Expr>) -> Place {
    let span = index[0].span;
    Place { unproved: 0, ..build::place(array, index, span) }
}
