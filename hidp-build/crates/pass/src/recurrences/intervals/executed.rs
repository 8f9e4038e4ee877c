//! Whether all cells beside the diagonal fold.

use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, StmtKind, UnOp, VarId};

use super::super::window::Linear;

/// Whether the map of a block is executed for all cells beside the diagonal; `None` where that is not known.
pub(super) fn executed(block: &Block, index: [VarId; 2]) -> Option<bool> {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Map(_) => return Some(true),
            StmtKind::If { cond, then, otherwise } => {
                let sides = [then, otherwise].map(has_map);
                let holds = holds(cond, index);
                match sides {
                    [false, false] => {}
                    [true, _] => return executed(then, index).filter(|_| holds == Some(true)),
                    [false, true] => return executed(otherwise, index).filter(|_| holds == Some(false)),
                }
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. } => {}
            StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => return None,
        }
    }
    None
}

fn has_map(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Map(_)));
    found
}

/// Whether a condition holds for all cells whose second index is larger than the first one, or for none of them.
fn holds(cond: &Expr, index: [VarId; 2]) -> Option<bool> {
    match &cond.kind {
        ExprKind::Unary(UnOp::Not, operand) => holds(operand, index).map(|holds| !holds),
        ExprKind::Lazy { and, left, right } => {
            let decided = [left, right].map(|side| holds(side, index));
            let decides = Some(!and);
            if decided.contains(&decides) { decides } else { decided[0].and(decided[1]) }
        }
        ExprKind::Binary { op, left, right, .. } => {
            let [factor, more] = Linear::between(left, right)?.of_gap(index)?;
            // Of the smallest gap, with the sign that makes larger ones larger.
            let (op, least) = match factor {
                1 => (*op, 1 + more),
                -1 => (op.mirrored(), 1 - more),
                _ => return None,
            };
            match op {
                BinOp::Gt => (least > 0).then_some(true),
                BinOp::Ge => (least >= 0).then_some(true),
                BinOp::Lt => (least >= 0).then_some(false),
                BinOp::Le => (least > 0).then_some(false),
                BinOp::Eq => (least > 0).then_some(false),
                BinOp::Ne => (least > 0).then_some(true),
                BinOp::Add
                | BinOp::Sub
                | BinOp::Mul
                | BinOp::Div
                | BinOp::Rem
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Shl
                | BinOp::Shr => None,
            }
        }
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}
