//! Arithmetic of narrow integers whose result becomes a `long` is done in `long` where no operation wraps.
//!
//! ```text
//! x[long(j - 1:int)]      becomes  x[long(j) - 1]
//! ```

use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ty::{Scalar, Ty};

use super::context::Context;
use super::walk::{Client, Start, walk};

/// Does so in a body; gives the new extents of its locals.
pub(super) fn widen(vars: &Arena<VarId, Var>, body: &mut Block, start: Start) -> Vec<(VarId, Vec<Expr>)> {
    walk(vars, body, &mut Widener, start).into_iter().collect()
}

struct Widener;

impl Client for Widener {
    fn expr(&mut self, cx: &mut Context<'_>, expr: &mut Expr) {
        if let ExprKind::Convert { operand, mode: ConvertMode::Cast } = &expr.kind
            && expr.ty == Ty::LONG
            && operand.ty.scalar().is_some_and(|ty| ty.is_integer() && ty.converts_to(Scalar::I64))
        {
            expr.kind = long(cx, operand).kind;
        }
    }
}

/// The value of a narrower integer as a `long`.
fn long(cx: &mut Context<'_>, expr: &Expr) -> Expr {
    let kind = match &expr.kind {
        ExprKind::Const(value) => ExprKind::Const(*value),
        ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), left, right, .. }
            if is_exact(cx, *op, left, right, expr.scalar()) =>
        {
            let (left, right) = (Box::new(long(cx, left)), Box::new(long(cx, right)));
            ExprKind::Binary { op: *op, left, right, checked: false }
        }
        _ => ExprKind::Convert { operand: Box::new(expr.clone()), mode: ConvertMode::Cast },
    };
    Expr { kind, ty: Ty::LONG, span: expr.span }
}

/// Whether the type keeps every value of the operation.
fn is_exact(cx: &mut Context<'_>, op: BinOp, left: &Expr, right: &Expr, ty: Scalar) -> bool {
    let (left, right) = (cx.lin(left), cx.lin(right));
    let value = match op {
        BinOp::Add => left.add(&right),
        BinOp::Sub => left.sub(&right),
        _ => left.mul(&right),
    };
    value.is_some_and(|value| cx.fits(&value, ty))
}
