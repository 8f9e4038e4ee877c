//! Equality of expressions wherever they were written: positions, and which checks have been proved, do not count.

use super::{Expr, ExprKind, FoldOp, Place};

/// Whether `a` and `b` are the same expression.
pub fn expr(a: &Expr, b: &Expr) -> bool {
    a.ty == b.ty && kind(&a.kind, &b.kind)
}

/// Whether `a` and `b` are the same lists of expressions.
pub fn exprs(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| expr(a, b))
}

/// Whether `a` and `b` name the same element, or field, in the same way.
pub fn place(a: &Place, b: &Place) -> bool {
    a.array == b.array && a.path == b.path && exprs(&a.index, &b.index)
}

/// Whether `a` and `b` fold in the same way.
pub fn op(a: &FoldOp, b: &FoldOp) -> bool {
    let neutral = match (&a.neutral, &b.neutral) {
        (Some(a), Some(b)) => expr(a, b),
        (None, None) => true,
        (Some(_) | None, _) => false,
    };
    a.func == b.func && a.ty == b.ty && a.ordered == b.ordered && neutral
}

fn kind(a: &ExprKind, b: &ExprKind) -> bool {
    match (a, b) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Read(a), ExprKind::Read(b)) => a == b,
        (ExprKind::Load(a), ExprKind::Load(b)) => place(a, b),
        (ExprKind::Unary(p, a), ExprKind::Unary(q, b)) => p == q && expr(a, b),
        (
            ExprKind::Binary { op: p, left: a, right: b, checked: _ },
            ExprKind::Binary { op: q, left: c, right: d, checked: _ },
        ) => p == q && expr(a, c) && expr(b, d),
        (ExprKind::Lazy { and: p, left: a, right: b }, ExprKind::Lazy { and: q, left: c, right: d }) => {
            p == q && expr(a, c) && expr(b, d)
        }
        (ExprKind::Select { cond: p, then: a, otherwise: b }, ExprKind::Select { cond: q, then: c, otherwise: d }) => {
            expr(p, q) && expr(a, c) && expr(b, d)
        }
        (ExprKind::Convert { operand: a, mode: _ }, ExprKind::Convert { operand: b, mode: _ }) => expr(a, b),
        (ExprKind::Math(p, a), ExprKind::Math(q, b)) => p == q && exprs(a, b),
        (ExprKind::Call(p, a), ExprKind::Call(q, b)) => p == q && exprs(a, b),
        (ExprKind::Field(a, p), ExprKind::Field(b, q)) => p == q && expr(a, b),
        (ExprKind::Struct(p, a), ExprKind::Struct(q, b)) => p == q && exprs(a, b),
        (
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..),
            _,
        ) => false,
    }
}
