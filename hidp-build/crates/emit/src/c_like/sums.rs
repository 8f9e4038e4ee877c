//! What lanes do one after the other, and vectors can do at once with the same bits.

use hidp_ir::imp::{Expr, ExprKind, InTurn, Stmt, Taken, VarId};
use hidp_ir::par::BinOp;
use hidp_syntax::ty::Scalar;

/// What lanes that do nothing else add to, and the integers that they add.
pub(super) fn of_integers(turn: &InTurn) -> Option<(VarId, VarId)> {
    let mut stmts = turn.body.stmts.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
    let ([Taken { scalar, wide }], Some(Stmt::Set { var, path, value }), None) =
        (&turn.taken[..], stmts.next(), stmts.next())
    else {
        return None;
    };
    let ExprKind::Binary(BinOp::Add, left, right) = &value.kind else { return None };
    let is = |expr: &Expr, var: VarId| matches!(expr.kind, ExprKind::Var(own) if own == var);
    let integer = value.ty.scalar().is_some_and(Scalar::is_integer);
    (path.is_empty() && integer && is(left, *var) && is(right, *scalar)).then_some((*var, *wide))
}
