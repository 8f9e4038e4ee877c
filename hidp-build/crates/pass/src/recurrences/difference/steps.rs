//! Edges of which it is known how far neighbours are apart: cells that an index gives, such as `i * gap`.

use hidp_ir::par::{BinOp, Block, Expr, ExprKind, StmtKind, UnOp, VarId};

use super::super::regions::{self, At};
use super::closure::{Known, Range, ran};
use super::{Edge, FAR};

/// An edge that needs no test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    /// What the second cell is more than the first one.
    pub(super) first: i64,
    /// What each later one is more than that before it.
    pub(super) later: i64,
}

impl Steps {
    pub(super) fn of(edge: &Edge) -> Option<Steps> {
        let at = |at: i64| -> Option<i64> {
            let [low, high] = ran(&edge.body, Known::default().with(edge.index, [at; 2]))?.of(edge.value)?;
            (low == high && low.abs() <= FAR).then_some(low)
        };
        let later = regions::within(&edge.body, [(edge.index, At::Later); 2]);
        let (factor, offset) = linear(assigned(&later, edge.value)?, edge.index)?;
        let (first, second) = (at(0)?, at(1)?);
        (second == factor.checked_add(offset)?).then_some(Steps { first: second - first, later: factor })
    }

    pub(super) fn are_within(self, [low, high]: Range) -> bool {
        [self.first, self.later].iter().all(|step| (low..=high).contains(step))
    }
}

/// What a block assigns, and nothing else.
fn assigned(block: &Block, to: VarId) -> Option<&Expr> {
    let [declared, stmt] = &block.stmts[..] else { return None };
    match (&declared.kind, &stmt.kind) {
        (StmtKind::Declare { .. }, StmtKind::Assign { var, value }) if *var == to => Some(value),
        _ => None,
    }
}

/// `factor * index + offset`, in types in which intermediate values may wrap while the result does not.
fn linear(expr: &Expr, index: VarId) -> Option<(i64, i64)> {
    let bytes = |expr: &Expr| expr.ty.scalar().filter(|ty| ty.is_integer()).map(|ty| ty.size());
    if bytes(expr)? < 4 {
        return None;
    }
    if let Some(value) = expr.as_int() {
        return Some((0, i64::try_from(value).ok()?));
    }
    match &expr.kind {
        ExprKind::Read(var) => (*var == index).then_some((1, 0)),
        ExprKind::Unary(UnOp::Neg, operand) => {
            let (factor, offset) = linear(operand, index)?;
            Some((factor.checked_neg()?, offset.checked_neg()?))
        }
        ExprKind::Convert { operand, .. } if bytes(operand)? >= bytes(expr)? => linear(operand, index),
        ExprKind::Binary { op, left, right, .. } => combined(*op, linear(left, index)?, linear(right, index)?),
        ExprKind::Const(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

fn combined(op: BinOp, (factor, offset): (i64, i64), (other, more): (i64, i64)) -> Option<(i64, i64)> {
    match op {
        BinOp::Add => Some((factor.checked_add(other)?, offset.checked_add(more)?)),
        BinOp::Sub => Some((factor.checked_sub(other)?, offset.checked_sub(more)?)),
        BinOp::Mul if other == 0 => Some((factor.checked_mul(more)?, offset.checked_mul(more)?)),
        BinOp::Mul if factor == 0 => Some((other.checked_mul(offset)?, more.checked_mul(offset)?)),
        BinOp::Mul
        | BinOp::Div
        | BinOp::Rem
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Shl
        | BinOp::Shr
        | BinOp::Eq
        | BinOp::Ne
        | BinOp::Lt
        | BinOp::Le
        | BinOp::Gt
        | BinOp::Ge => None,
    }
}
