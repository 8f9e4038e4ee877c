//! Pieces of `par`.

use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::{
    Access, BinOp, Block, Const, ConvertMode, Directives, Expr, ExprKind, Func, Iter, Loop, Map, MathFn, Place, Stmt,
    StmtKind, Table, Var, VarId, VarKind, same,
};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// Makes statements over the variables of a function.
pub(super) struct Builder<'a> {
    pub(super) vars: &'a mut Arena<VarId, Var>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(func: &'a mut Func) -> Self {
        Builder { vars: &mut func.vars }
    }

    /// A new scalar.
    pub(super) fn local(&mut self, name: &str, ty: Ty, span: Span) -> VarId {
        self.var(name, ty, VarKind::Local, span)
    }

    /// A new iterator.
    pub(super) fn iterator(&mut self, name: &str, span: Span) -> VarId {
        self.var(name, Ty::LONG, VarKind::Iter, span)
    }

    fn var(&mut self, name: &str, ty: Ty, kind: VarKind, span: Span) -> VarId {
        self.vars.push(Var { name: name.into(), ty, shape: Vec::new(), kind, span })
    }

    /// `for (var = lo; var < hi; var += 1)`, or downwards from the last.
    pub(super) fn count(&self, var: VarId, [lo, hi]: [Expr; 2], up: bool, body: Vec<Stmt>) -> Vec<Stmt> {
        let span = lo.span;
        let at = read(var, span);
        let one = Expr::int(1, span);
        let (first, cond, next) = if up {
            (lo, Expr::long(BinOp::Lt, at.clone(), hi), Expr::long(BinOp::Add, at, one))
        } else {
            (sub(hi, one.clone()), Expr::long(BinOp::Ge, at.clone(), lo), Expr::long(BinOp::Sub, at, one))
        };
        let step = Block { stmts: vec![assign(var, next)] };
        let counted = Loop { cond, body: Block { stmts: body }, step };
        vec![declare(var, span), assign(var, first), Stmt { kind: StmtKind::Loop(counted), span }]
    }

    /// `for (var = lo; var < hi; var += by)`
    pub(super) fn strides(&self, var: VarId, [lo, hi]: [Expr; 2], by: i64, body: Vec<Stmt>) -> Vec<Stmt> {
        let span = lo.span;
        let at = read(var, span);
        let next = Expr::long(BinOp::Add, at.clone(), Expr::int(by, span));
        let step = Block { stmts: vec![assign(var, next)] };
        let counted = Loop { cond: Expr::long(BinOp::Lt, at, hi), body: Block { stmts: body }, step };
        vec![declare(var, span), assign(var, lo), Stmt { kind: StmtKind::Loop(counted), span }]
    }

    /// Statements in a map of one iteration.
    pub(super) fn alone(&mut self, body: Vec<Stmt>, span: Span) -> Stmt {
        let var = self.iterator("alone", span);
        map(vec![iter(var, Expr::int(0, span), Expr::int(1, span))], body)
    }

    /// Makes the indices of a table plain scalars, which loops can count.
    pub(super) fn unbind(&mut self, table: &Table) {
        for index in &table.index {
            self.vars[index.var].kind = VarKind::Local;
        }
    }
}

pub(super) fn read(var: VarId, span: Span) -> Expr {
    Expr::read(var, Ty::LONG, span)
}

/// An element without other users, whose existence is not proved.
pub(super) fn place(array: VarId, index: Vec<Expr>, span: Span) -> Place {
    Place { array, unproved: every_dimension(index.len()), index, path: Vec::new(), access: Access::Exclusive, span }
}

pub(super) fn declare(var: VarId, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Declare { var, zero: true }, span }
}

pub(super) fn assign(var: VarId, value: Expr) -> Stmt {
    let span = value.span;
    Stmt { kind: StmtKind::Assign { var, value }, span }
}

pub(super) fn store(place: Place, value: Expr) -> Stmt {
    let span = value.span;
    Stmt { kind: StmtKind::Store { place, value }, span }
}

/// `if (cond) { then }`
pub(super) fn guarded(cond: Expr, then: Vec<Stmt>) -> Stmt {
    let span = cond.span;
    let kind = StmtKind::If { cond, then: Block { stmts: then }, otherwise: Block::default() };
    Stmt { kind, span }
}

/// `if (cond) { then } else { otherwise }`
pub(super) fn either(cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    let span = cond.span;
    let [then, otherwise] = [then, otherwise].map(|stmts| Block { stmts });
    Stmt { kind: StmtKind::If { cond, then, otherwise }, span }
}

pub(super) fn iter(var: VarId, lo: Expr, hi: Expr) -> Iter {
    let span = lo.span;
    Iter { var, lo, hi, step: Expr::int(1, span), span }
}

pub(super) fn map(iters: Vec<Iter>, body: Vec<Stmt>) -> Stmt {
    let span = iters.first().map_or_else(|| body[0].span, |iter| iter.span);
    let map = Map { iters, body: Block { stmts: body }, folds: Vec::new(), directives: Directives::default() };
    Stmt { kind: StmtKind::Map(map), span }
}

/// One map inside the other, an index each.
pub(super) fn nest_of_maps(indices: &[Iter], body: Block) -> Stmt {
    let inner = |body: Vec<Stmt>, index: &Iter| vec![map(vec![index.clone()], body)];
    let nest = indices.iter().rev().fold(body.stmts, inner);
    nest.into_iter().next().expect("a table has an index")
}

/// What is inside of so many maps.
pub(super) fn inside(stmt: Stmt, maps: usize) -> Block {
    let mut block = Block { stmts: vec![stmt] };
    for _ in 0..maps {
        if let Some(StmtKind::Map(map)) = block.stmts.pop().map(|stmt| stmt.kind) {
            block = map.body;
        }
    }
    block
}

pub(super) fn add(left: Expr, right: Expr) -> Expr {
    match (left.as_int(), right.as_int()) {
        (Some(0), _) => right,
        (_, Some(0)) => left,
        _ => Expr::long(BinOp::Add, left, right),
    }
}

pub(super) fn sub(left: Expr, right: Expr) -> Expr {
    match right.as_int() {
        Some(0) => left,
        _ => Expr::long(BinOp::Sub, left, right),
    }
}

/// `factor * value`
pub(super) fn times(factor: i64, value: Expr) -> Expr {
    let span = value.span;
    match factor {
        0 => Expr::int(0, span),
        1 => value,
        -1 => Expr::long(BinOp::Sub, Expr::int(0, span), value),
        _ => Expr::long(BinOp::Mul, Expr::int(factor, span), value),
    }
}

/// `operand` in another type.
pub(super) fn cast(operand: Expr, ty: Ty) -> Expr {
    let span = operand.span;
    if operand.ty == ty {
        return operand;
    }
    Expr { kind: ExprKind::Convert { operand: Box::new(operand), mode: ConvertMode::Cast }, ty, span }
}

fn extreme(function: MathFn, left: Expr, right: Expr) -> Expr {
    if same::expr(&left, &right) {
        return left;
    }
    let span = left.span;
    Expr { kind: ExprKind::Math(function, vec![left, right]), ty: Ty::LONG, span }
}

pub(super) fn min(left: Expr, right: Expr) -> Expr {
    extreme(MathFn::Min, left, right)
}

pub(super) fn max(left: Expr, right: Expr) -> Expr {
    extreme(MathFn::Max, left, right)
}

/// `cond ? then : otherwise`
pub(super) fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let (span, ty) = (then.span, then.ty);
    let [cond, then, otherwise] = [cond, then, otherwise].map(Box::new);
    Expr { kind: ExprKind::Select { cond, then, otherwise }, ty, span }
}

/// All of them; `true` if there are none.
pub(super) fn all(conds: Vec<Expr>, span: Span) -> Expr {
    let both = |left: Expr, right: Expr| Expr {
        span,
        kind: ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) },
        ty: Ty::BOOL,
    };
    let mut conds = conds.into_iter();
    match conds.next() {
        Some(first) => conds.fold(first, both),
        None => constant(true, span),
    }
}

pub(super) fn constant(value: bool, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(Const::Bool(value)), ty: Ty::BOOL, span }
}

/// `lo <= value && value < hi`
pub(super) fn within(value: &Expr, lo: Expr, hi: Expr) -> [Expr; 2] {
    [Expr::long(BinOp::Le, lo, value.clone()), Expr::long(BinOp::Lt, value.clone(), hi)]
}
