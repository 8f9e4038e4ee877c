//! Values of expressions over variables that are known.

use super::{BinOp, Const, Expr, ExprKind, MathFn, UnOp, VarId};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Scalar;

impl Expr {
    /// The value of an integer or a condition (1 if it holds) over what is known; none of what cannot be computed, or would wrap.
    pub fn value(&self, known: &OrdMap<VarId, i64>) -> Option<i64> {
        let fits = |value: &i64| match self.ty.scalar() {
            Some(Scalar::Bool) => (0..=1).contains(value),
            Some(scalar) => {
                scalar.integer_range().is_some_and(|(least, most)| (least..=most).contains(&i128::from(*value)))
            }
            None => false,
        };
        self.exact(known).filter(fits)
    }

    /// The value as it would be in a type that all numbers fit.
    fn exact(&self, known: &OrdMap<VarId, i64>) -> Option<i64> {
        let of = |expr: &Expr| expr.value(known);
        match &self.kind {
            ExprKind::Const(Const::Int(constant)) => i64::try_from(*constant).ok(),
            ExprKind::Const(Const::Bool(constant)) => Some((*constant).into()),
            ExprKind::Read(var) => known.get(var).copied(),
            ExprKind::Convert { operand, .. } if self.ty.scalar() == Some(Scalar::Bool) => {
                Some((of(operand)? != 0).into())
            }
            ExprKind::Convert { operand, .. } => of(operand),
            ExprKind::Unary(UnOp::Neg, operand) => of(operand)?.checked_neg(),
            ExprKind::Unary(UnOp::Not, operand) => Some((of(operand)? == 0).into()),
            ExprKind::Lazy { and, left, right } => match (of(left).map(|v| v != 0), of(right).map(|v| v != 0)) {
                (Some(left), Some(right)) => Some(if *and { left && right } else { left || right }.into()),
                (Some(one), None) | (None, Some(one)) if one != *and => Some(one.into()),
                (Some(_), None) | (None, Some(_)) | (None, None) => None,
            },
            ExprKind::Select { cond, then, otherwise } => {
                if of(cond)? != 0 {
                    of(then)
                } else {
                    of(otherwise)
                }
            }
            ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
                let [a, b] = &operands[..] else { return None };
                Some(if *function == MathFn::Min { of(a)?.min(of(b)?) } else { of(a)?.max(of(b)?) })
            }
            ExprKind::Binary { op, left, right, .. } => {
                let (a, b) = (of(left)?, of(right)?);
                match op {
                    BinOp::Add => a.checked_add(b),
                    BinOp::Sub => a.checked_sub(b),
                    BinOp::Mul => a.checked_mul(b),
                    BinOp::Div => a.checked_div(b),
                    BinOp::Rem => a.checked_rem(b),
                    BinOp::Lt => Some((a < b).into()),
                    BinOp::Le => Some((a <= b).into()),
                    BinOp::Gt => Some((a > b).into()),
                    BinOp::Ge => Some((a >= b).into()),
                    BinOp::Eq => Some((a == b).into()),
                    BinOp::Ne => Some((a != b).into()),
                    BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => None,
                }
            }
            ExprKind::Const(Const::Float(_))
            | ExprKind::Load(_)
            | ExprKind::Unary(UnOp::BitNot, _)
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::par::ConvertMode;
    use hidp_syntax::index::Id;
    use hidp_syntax::source::{FileId, Span};
    use hidp_syntax::ty::Ty;

    fn span() -> Span {
        Span::new(FileId::new(0), 0, 0)
    }

    fn long(value: i64) -> Expr {
        Expr::int(value, span())
    }

    fn converted(operand: Expr, to: Scalar) -> Expr {
        let kind = ExprKind::Convert { operand: Box::new(operand), mode: ConvertMode::Cast };
        Expr { kind, ty: Ty::Scalar(to), span: span() }
    }

    fn of_type(scalar: Scalar, expr: Expr) -> Expr {
        Expr { ty: Ty::Scalar(scalar), ..expr }
    }

    #[test]
    fn only_what_is_exact_has_a_value() {
        let (size, data) = (VarId::new(0), VarId::new(1));
        let known = OrdMap::from([(size, 7)]);
        let read = |var| Expr::read(var, Ty::LONG, span());
        let value = |expr: &Expr| expr.value(&known);
        let longs = |op, left, right| Expr::long(op, left, right);
        let compared = |op, left, right| of_type(Scalar::Bool, Expr::long(op, left, right));
        assert_eq!(value(&longs(BinOp::Div, read(size), long(2))), Some(3));
        assert_eq!(value(&read(data)), None);
        assert_eq!(value(&longs(BinOp::Div, read(size), long(0))), None);
        assert_eq!(value(&longs(BinOp::Mul, read(size), long(i64::MAX))), None);
        // 300 wraps in a byte, and halves of floats are no integers.
        assert_eq!(value(&converted(long(300), Scalar::I32)), Some(300));
        assert_eq!(value(&converted(long(300), Scalar::U8)), None);
        assert_eq!(value(&converted(long(-1), Scalar::U32)), None);
        assert_eq!(value(&converted(long(2), Scalar::Bool)), Some(1));
        assert_eq!(value(&converted(long(7), Scalar::F32)), None);
        let halved = of_type(Scalar::F32, longs(BinOp::Div, converted(read(size), Scalar::F32), long(2)));
        assert_eq!(value(&compared(BinOp::Lt, halved, long(4))), None);
        // One side settles a condition, if it does.
        let lazy = |and, left, right| {
            let kind = ExprKind::Lazy { and, left: Box::new(left), right: Box::new(right) };
            Expr { kind, ty: Ty::Scalar(Scalar::Bool), span: span() }
        };
        let open = || compared(BinOp::Lt, read(data), long(1));
        let holds = || compared(BinOp::Ge, read(size), long(7));
        assert_eq!(value(&lazy(false, open(), holds())), Some(1));
        assert_eq!(value(&lazy(true, open(), holds())), None);
        assert_eq!(value(&lazy(true, holds(), compared(BinOp::Gt, read(size), long(7)))), Some(0));
    }
}
