//! Small expressions of [`imp`](hidp_ir::imp), simplified where that is plain.

use hidp_ir::imp::{Block, Element, Expr, ExprKind, Stmt, VarId};
use hidp_ir::par::{BinOp, MathFn, UnOp};
use hidp_syntax::ty::{Scalar, Ty};

/// A `long` constant.
pub(super) fn long(value: i64) -> Expr {
    Expr { kind: ExprKind::Int(value.into()), ty: Ty::LONG }
}

/// A variable's value, or a buffer as an argument.
pub(super) fn var(var: VarId, ty: Ty) -> Expr {
    Expr { kind: ExprKind::Var(var), ty }
}

/// The constant, if it is one.
pub(super) fn as_int(expr: &Expr) -> Option<i128> {
    match expr.kind {
        ExprKind::Int(value) => Some(value),
        _ => None,
    }
}

/// `left op right`.
pub(super) fn binary(op: BinOp, left: Expr, right: Expr) -> Expr {
    let ty = if op.is_comparison() { Ty::BOOL } else { left.ty };
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty }
}

/// The result on constants if no `long` overflows.
fn folded(left: &Expr, right: &Expr, apply: fn(i64, i64) -> Option<i64>) -> Option<Expr> {
    let narrow = |expr: &Expr| as_int(expr).and_then(|value| i64::try_from(value).ok());
    apply(narrow(left)?, narrow(right)?).map(long)
}

/// `left + right` on `long`s.
pub(super) fn add(left: Expr, right: Expr) -> Expr {
    match (as_int(&left), as_int(&right)) {
        (Some(0), _) => right,
        (_, Some(0)) => left,
        _ => folded(&left, &right, i64::checked_add).unwrap_or_else(|| binary(BinOp::Add, left, right)),
    }
}

/// `left - right` on `long`s.
pub(super) fn sub(left: Expr, right: Expr) -> Expr {
    match as_int(&right) {
        Some(0) => left,
        _ => folded(&left, &right, i64::checked_sub).unwrap_or_else(|| binary(BinOp::Sub, left, right)),
    }
}

/// `left * right` on `long`s.
pub(super) fn mul(left: Expr, right: Expr) -> Expr {
    match (as_int(&left), as_int(&right)) {
        (Some(1), _) => right,
        (_, Some(1)) => left,
        _ => folded(&left, &right, i64::checked_mul).unwrap_or_else(|| binary(BinOp::Mul, left, right)),
    }
}

/// `left / right` on `long`s; the divisor is positive.
pub(super) fn div(left: Expr, right: Expr) -> Expr {
    match as_int(&right) {
        Some(1) => left,
        _ => folded(&left, &right, i64::checked_div).unwrap_or_else(|| binary(BinOp::Div, left, right)),
    }
}

/// The quotient rounded up; `left` is not negative, `right` positive.
pub(super) fn ceil_div(left: Expr, right: Expr) -> Expr {
    match as_int(&right) {
        Some(1) => left,
        _ => div(add(left, sub(right.clone(), long(1))), right),
    }
}

/// The smaller `long`.
pub(super) fn min(left: Expr, right: Expr) -> Expr {
    folded(&left, &right, |a, b| Some(a.min(b))).unwrap_or_else(|| math(MathFn::Min, vec![left, right]))
}

/// The larger `long`.
pub(super) fn max(left: Expr, right: Expr) -> Expr {
    folded(&left, &right, |a, b| Some(a.max(b))).unwrap_or_else(|| math(MathFn::Max, vec![left, right]))
}

/// A maths function on operands of one type.
pub(super) fn math(function: MathFn, operands: Vec<Expr>) -> Expr {
    let ty = operands.first().map_or(Ty::LONG, |operand| operand.ty);
    Expr { kind: ExprKind::Math(function, operands), ty }
}

/// `!operand` on `bool`.
pub(super) fn not(operand: Expr) -> Expr {
    Expr { kind: ExprKind::Unary(UnOp::Not, Box::new(operand)), ty: Ty::BOOL }
}

/// `-operand`.
pub(super) fn neg(operand: Expr) -> Expr {
    let ty = operand.ty;
    Expr { kind: ExprKind::Unary(UnOp::Neg, Box::new(operand)), ty }
}

/// `cond ? then : otherwise`.
pub(super) fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let ty = then.ty;
    Expr { kind: ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise)), ty }
}

/// Rust's `as`.
pub(super) fn cast(operand: Expr, scalar: Scalar) -> Expr {
    let ty = Ty::Scalar(scalar);
    if operand.ty == ty { operand } else { Expr { kind: ExprKind::Cast(Box::new(operand)), ty } }
}

/// `a * b + c`.
pub(super) fn mul_add(a: Expr, b: Expr, c: Expr) -> Expr {
    let ty = c.ty;
    Expr { kind: ExprKind::MulAdd(Box::new(a), Box::new(b), Box::new(c)), ty }
}

/// `0 <= index < extent` in one comparison; extents are never negative.
pub(super) fn inside(index: Expr, extent: Expr) -> Expr {
    binary(BinOp::Lt, cast(index, Scalar::U64), cast(extent, Scalar::U64))
}

/// `base[index]`, plain.
pub(super) fn element(base: VarId, index: Expr) -> Element {
    Element { base, index: Box::new(index), path: Vec::new(), relaxed: false }
}

/// The value of an element of type `ty`.
pub(super) fn load(element: Element, ty: Ty) -> Expr {
    Expr { kind: ExprKind::Load(element), ty }
}

/// `var = value`.
pub(super) fn set(var: VarId, value: Expr) -> Stmt {
    Stmt::Set { var, path: Vec::new(), value }
}

/// `if (cond) { then }`.
pub(super) fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then: Block { stmts: then }, otherwise: Block::default() }
}
