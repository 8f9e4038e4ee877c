//! Expressions with all checks set: nothing about them is proved.

use super::visit;
use super::{BinOp, Expr, ExprKind};
use hidp_syntax::ty::Scalar;

/// The bits of [`Place::unproved`](super::Place::unproved) of an array of so many dimensions.
pub fn every_dimension(rank: usize) -> u32 {
    u32::MAX.checked_shr(32_u32.saturating_sub(rank as u32)).unwrap_or(0)
}

/// Forgets what was proved about an expression in its old place.
pub fn doubt(value: &mut Expr) {
    visit::map_subexprs(value, |node| match &mut node.kind {
        ExprKind::Load(place) => place.unproved = every_dimension(place.index.len()),
        ExprKind::Binary { op, left, right, checked } => {
            let ty = left.ty.scalar().filter(|ty| !ty.is_float());
            *checked = ty.is_some_and(|ty| can_fault(*op, right, ty));
        }
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => {}
    });
}

/// Whether an integer operator has no result for some right operands, and this may be one of them.
pub fn can_fault(op: BinOp, right: &Expr, ty: Scalar) -> bool {
    match op {
        BinOp::Div | BinOp::Rem => right.as_int().is_none_or(|divisor| divisor == 0),
        BinOp::Shl | BinOp::Shr => right.as_int().is_none_or(|count| !(0..ty.size() as i128 * 8).contains(&count)),
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => false,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => false,
    }
}
