//! Statements where some conditions have one value.

use std::mem;

use hidp_ir::imp::visit::{child_blocks_mut, operands_mut, stmt_exprs_mut};
use hidp_ir::imp::{Block, Expr, ExprKind, Stmt};
use hidp_ir::par::UnOp;

/// Puts values in place of the conditions that `known` says, and leaves out branches that are not taken.
pub(super) fn decide(block: &mut Block, known: &dyn Fn(&Expr) -> Option<bool>) {
    for mut stmt in mem::take(&mut block.stmts) {
        stmt_exprs_mut(&mut stmt).into_iter().for_each(|expr| decide_in(expr, known));
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| decide(child, known));
        match stmt {
            Stmt::If { cond: Expr { kind: ExprKind::Bool(value), .. }, then, otherwise } => {
                block.stmts.extend(if value { then.stmts } else { otherwise.stmts });
            }
            other => block.stmts.push(other),
        }
    }
}

fn decide_in(expr: &mut Expr, known: &dyn Fn(&Expr) -> Option<bool>) {
    if let Some(value) = known(expr) {
        expr.kind = ExprKind::Bool(value);
        return;
    }
    operands_mut(expr).into_iter().for_each(|operand| decide_in(operand, known));
    let truth = |expr: &Expr| if let ExprKind::Bool(value) = expr.kind { Some(value) } else { None };
    let decided = match &expr.kind {
        ExprKind::Unary(UnOp::Not, operand) => truth(operand).map(|value| ExprKind::Bool(!value)),
        ExprKind::Lazy(and, left, right) => match truth(left) {
            Some(value) if value == *and => Some(right.kind.clone()),
            Some(value) => Some(ExprKind::Bool(value)),
            None => (truth(right) == Some(*and)).then(|| left.kind.clone()),
        },
        ExprKind::Select(cond, then, otherwise) => {
            truth(cond).map(|value| if value { then.kind.clone() } else { otherwise.kind.clone() })
        }
        _ => None,
    };
    if let Some(kind) = decided {
        expr.kind = kind;
    }
}
