//! Loops whose variable counts through a range: `for (int k = 0; k < K; k += 1)`.

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, Iter, Loop, Stmt, StmtKind, VarId};
use hidp_syntax::ty::{Scalar, Ty};

use super::counters;
use super::functions::leaves;
use super::shape;

/// The turns of a loop as an iterator, if all are certainly taken, to the end of the body: from a constant, by a constant, below a bound.
pub(super) fn of(node: &Loop, before: &[Stmt]) -> Option<Iter> {
    let [Stmt { kind: StmtKind::Assign { var, value }, span }] = node.step.stmts.as_slice() else { return None };
    let (var, span) = (*var, *span);
    let step = i64::try_from(counters::step(var, value)?).ok()?;
    let hi = behind_last(var, &node.cond)?;
    let lo = first_value(var, before)?;
    if ends_turns(&node.body) || changes(&node.body, var) {
        return None;
    }
    Some(Iter { var, lo: Expr::int(lo, span), hi, step: Expr::int(step, span), span })
}

/// The variable whose value, in this type or a wider one, an expression is.
pub(super) fn variable(expr: &Expr) -> Option<VarId> {
    if let ExprKind::Convert { operand, mode: ConvertMode::Cast } = &expr.kind {
        let (from, to) = (integer(operand)?, integer(expr)?);
        return if from.converts_to(to) { variable(operand) } else { None };
    }
    let ExprKind::Read(var) = expr.kind else { return None };
    integer(expr).map(|_| var)
}

fn integer(expr: &Expr) -> Option<Scalar> {
    expr.ty.scalar().filter(|ty| ty.is_integer())
}

/// One past the largest value for which a condition holds.
fn behind_last(var: VarId, cond: &Expr) -> Option<Expr> {
    let ExprKind::Binary { op, left, right, .. } = &cond.kind else { return None };
    let (op, bound) = if variable(left) == Some(var) {
        (*op, right)
    } else if variable(right) == Some(var) {
        (op.mirrored(), left)
    } else {
        return None;
    };
    let passed = match op {
        BinOp::Lt => 0,
        BinOp::Le => 1,
        BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => return None,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem => return None,
        BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => return None,
    };
    Some(shape::add(&as_long(bound)?, &Expr::int(passed, bound.span)))
}

fn as_long(expr: &Expr) -> Option<Expr> {
    if expr.ty == Ty::LONG || expr.as_int().is_some() {
        return Some(expr.clone());
    }
    integer(expr).filter(|ty| ty.converts_to(Scalar::I64))?;
    let kind = ExprKind::Convert { operand: Box::new(expr.clone()), mode: ConvertMode::Cast };
    Some(Expr { kind, ty: Ty::LONG, span: expr.span })
}

/// The constant that a variable is before a loop. Between them only other variables get values.
fn first_value(var: VarId, before: &[Stmt]) -> Option<i64> {
    let of_others = |stmt: &&Stmt| match &stmt.kind {
        StmtKind::Assign { var: set, .. } => *set != var,
        kind => matches!(kind, StmtKind::Declare { .. }),
    };
    let last = before.iter().rev().find(|stmt| !of_others(stmt))?;
    let StmtKind::Assign { value, .. } = &last.kind else { return None };
    i64::try_from(value.as_int()?).ok()
}

/// Whether a turn may end before the end of the body, or be the last one. Jumps in loops of the body are theirs.
fn ends_turns(body: &Block) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Return(_) => true,
        StmtKind::If { then, otherwise, .. } => ends_turns(then) || ends_turns(otherwise),
        StmtKind::Loop(inner) => leaves(&inner.body),
        StmtKind::Scope(block) => ends_turns(block),
        StmtKind::Map(_) | StmtKind::Prim(_) | StmtKind::Call { .. } | StmtKind::Require { .. } => false,
        StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::AssignField { .. } => false,
        StmtKind::Store { .. } | StmtKind::Atomic { .. } | StmtKind::Swap(..) => false,
    })
}

fn changes(body: &Block, var: VarId) -> bool {
    let mut changed = false;
    visit::walk_vars(body, |seen, role| changed |= seen == var && role != Role::Read);
    changed
}
