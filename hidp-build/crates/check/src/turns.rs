//! Loops whose variable counts through a range: `for (int k = 0; k < K; k += 1)`, or back: `for (int k = K - 1; k >= 0; k -= 1)`.

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, Iter, Loop, Stmt, StmtKind, VarId};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::counters;
use super::functions::leaves;
use super::shape;

/// The turns of a loop, all of which are certainly taken, to the end of the body.
#[derive(Clone)]
pub(super) struct Turns {
    /// The values of the variable, from the least one.
    pub iter: Iter,
    /// From the largest value to the least one.
    pub down: bool,
}

/// The turns of a loop whose variable counts by a constant to a bound, upwards or one by one downwards.
pub(super) fn of(node: &Loop, before: &[Stmt]) -> Option<Turns> {
    let [Stmt { kind: StmtKind::Assign { var, value }, span }] = node.step.stmts.as_slice() else { return None };
    let (var, span) = (*var, *span);
    let (bound, passed) = bound(var, &node.cond)?;
    let first = first_value(var, before)?;
    let one = Expr::int(1, span);
    let (lo, hi, step, down) = match (counters::step(var, value), passed) {
        (Some(step), Passed::Below(more)) => (first, shape::add(&bound, &more), i64::try_from(step).ok()?, false),
        (None, Passed::Above(more)) if falls(var, value) => {
            (shape::add(&bound, &more), shape::add(&first, &one), 1, true)
        }
        (Some(_), Passed::Above(_)) | (None, Passed::Below(_) | Passed::Above(_)) => return None,
    };
    let changed = changed(&node.body);
    let fixed = |bound: &Expr| !changed.iter().any(|var| shape::mentions(bound, *var));
    if ends_turns(&node.body) || changed.contains(&var) || !fixed(&lo) || !fixed(&hi) {
        return None;
    }
    Some(Turns { iter: Iter { var, lo, hi, step: Expr::int(step, span), span }, down })
}

/// Variables that get values in a block, and the iterators of its maps.
pub(super) fn changed(block: &Block) -> Vec<VarId> {
    let mut vars = Vec::new();
    visit::walk_vars(block, |var, role| vars.extend((role != Role::Read).then_some(var)));
    vars
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

/// The value of a variable as a `long`.
pub(super) fn read(var: VarId, span: Span) -> Expr {
    Expr { kind: ExprKind::Read(var), ty: Ty::LONG, span }
}

/// The most that is added to a variable of 32 bits in a sum that counts as one of `long`.
const NEAR: i128 = 1 << 12;

/// An index or a bound as a sum of `long`, where it is one of a variable that counts and of one in a narrower type: such a sum does not wrap, or it wraps to
/// where no element is.
pub(super) fn sum(expr: &Expr, counts: &dyn Fn(VarId) -> bool) -> Expr {
    if let Some(var) = variable(expr).filter(|var| counts(*var)) {
        return read(var, expr.span);
    }
    match &expr.kind {
        ExprKind::Convert { operand, mode: ConvertMode::Checked } => sum(operand, counts),
        ExprKind::Convert { operand, mode: ConvertMode::Cast } if integer(operand) == Some(Scalar::I32) => {
            let ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), left, right, .. } = &operand.kind else {
                return expr.clone();
            };
            let near = right.as_int().filter(|by| by.abs() <= NEAR).and_then(|by| i64::try_from(by).ok());
            match (variable(left).filter(|var| counts(*var)), near) {
                (Some(var), Some(by)) => Expr::long(*op, read(var, left.span), Expr::int(by, right.span)),
                (None, _) | (_, None) => expr.clone(),
            }
        }
        ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), left, right, .. } if expr.ty == Ty::LONG => {
            Expr::long(*op, sum(left, counts), sum(right, counts))
        }
        ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::Load(_) | ExprKind::Unary(..) => expr.clone(),
        ExprKind::Binary { .. } | ExprKind::Convert { .. } | ExprKind::Lazy { .. } => expr.clone(),
        ExprKind::Select { .. } | ExprKind::Math(..) | ExprKind::Call(..) => expr.clone(),
        ExprKind::Field(..) | ExprKind::Struct(..) => expr.clone(),
    }
}

fn integer(expr: &Expr) -> Option<Scalar> {
    expr.ty.scalar().filter(|ty| ty.is_integer())
}

/// Whether `var = value` makes a variable less by one.
fn falls(var: VarId, value: &Expr) -> bool {
    let ExprKind::Binary { op: BinOp::Sub, left, right, .. } = &value.kind else { return false };
    left.kind == ExprKind::Read(var) && right.as_int() == Some(1)
}

/// Where a condition bounds a variable.
enum Passed {
    /// It stays below the bound and this.
    Below(Expr),
    /// It is at least the bound and this.
    Above(Expr),
}

/// The bound in a condition on a variable.
fn bound(var: VarId, cond: &Expr) -> Option<(Expr, Passed)> {
    let ExprKind::Binary { op, left, right, .. } = &cond.kind else { return None };
    let (op, bound) = if variable(left) == Some(var) {
        (*op, right)
    } else if variable(right) == Some(var) {
        (op.mirrored(), left)
    } else {
        return None;
    };
    let more = |by| Expr::int(by, bound.span);
    let passed = match op {
        BinOp::Lt => Passed::Below(more(0)),
        BinOp::Le => Passed::Below(more(1)),
        BinOp::Gt => Passed::Above(more(1)),
        BinOp::Ge => Passed::Above(more(0)),
        BinOp::Eq | BinOp::Ne => return None,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem => return None,
        BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => return None,
    };
    Some((as_long(bound)?, passed))
}

fn as_long(expr: &Expr) -> Option<Expr> {
    if let ExprKind::Convert { operand, mode: ConvertMode::Checked } = &expr.kind {
        return as_long(operand);
    }
    if expr.ty == Ty::LONG || expr.as_int().is_some() {
        return Some(expr.clone());
    }
    integer(expr).filter(|ty| ty.converts_to(Scalar::I64))?;
    let kind = ExprKind::Convert { operand: Box::new(expr.clone()), mode: ConvertMode::Cast };
    Some(Expr { kind, ty: Ty::LONG, span: expr.span })
}

/// What a variable is before a loop. Between them only others get values, on which it does not depend.
fn first_value(var: VarId, before: &[Stmt]) -> Option<Expr> {
    let mut since = Vec::new();
    for stmt in before.iter().rev() {
        match &stmt.kind {
            StmtKind::Assign { var: set, value } if *set == var => {
                since.push(var);
                return as_long(value).filter(|value| !since.iter().any(|var| shape::mentions(value, *var)));
            }
            StmtKind::Assign { var: set, .. } => since.push(*set),
            StmtKind::Declare { var: new, .. } => since.push(*new),
            StmtKind::AssignField { .. } | StmtKind::Store { .. } | StmtKind::Atomic { .. } => return None,
            StmtKind::If { .. } | StmtKind::Loop(_) | StmtKind::Scope(_) | StmtKind::Map(_) => return None,
            StmtKind::Prim(_) | StmtKind::Call { .. } | StmtKind::Return(_) | StmtKind::Require { .. } => return None,
            StmtKind::Swap(..) | StmtKind::Break | StmtKind::Continue | StmtKind::Leave => return None,
        }
    }
    None
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
