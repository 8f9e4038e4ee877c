//! Exact evaluation of operations on constants.

use hidp_ir::par::{BinOp, Const, ConvertMode, Expr, ExprKind, MathFn, UnOp};
use hidp_syntax::ty::Scalar;

/// The constant that an expression is.
pub(super) fn constant(expr: &Expr) -> Option<Const> {
    match expr.kind {
        ExprKind::Const(value) => Some(value),
        ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// Number of bits of an integer type.
pub(super) fn width(ty: Scalar) -> i128 {
    ty.size() as i128 * 8
}

/// `value` modulo 2^width, in the range of `ty`; the value itself for types that are no integers.
pub(super) fn wrap(value: i128, ty: Scalar) -> i128 {
    match ty {
        Scalar::I8 => i128::from(value as i8),
        Scalar::U8 => i128::from(value as u8),
        Scalar::I16 => i128::from(value as i16),
        Scalar::U16 => i128::from(value as u16),
        Scalar::I32 => i128::from(value as i32),
        Scalar::U32 => i128::from(value as u32),
        Scalar::I64 => i128::from(value as i64),
        Scalar::U64 => i128::from(value as u64),
        Scalar::Bool | Scalar::F32 | Scalar::F64 => value,
    }
}

/// `a op b` of integers of type `ty`; `None` where that is a fault.
fn integers(op: BinOp, a: i128, b: i128, ty: Scalar) -> Option<Const> {
    let shift = || (0..width(ty)).contains(&b).then_some(b as u32);
    let value = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::Div => a.checked_div(b)?,
        BinOp::Rem => a.checked_rem(b)?,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => wrap(a, ty) << shift()?,
        BinOp::Shr => a >> shift()?,
        BinOp::Lt => return Some(Const::Bool(a < b)),
        BinOp::Le => return Some(Const::Bool(a <= b)),
        BinOp::Gt => return Some(Const::Bool(a > b)),
        BinOp::Ge => return Some(Const::Bool(a >= b)),
        BinOp::Eq => return Some(Const::Bool(a == b)),
        BinOp::Ne => return Some(Const::Bool(a != b)),
    };
    Some(Const::Int(wrap(value, ty)))
}

/// A float constant of type `ty`; `None` for NaN, whose bits the machine chooses.
fn float(value: f64, ty: Scalar) -> Option<Const> {
    let rounded = if ty == Scalar::F32 { f64::from(value as f32) } else { value };
    (!rounded.is_nan()).then_some(Const::Float(rounded))
}

/// `a op b` of floats of type `ty`. Sums, products and quotients of two `float`s are exact enough in `double` that rounding
/// twice gives the same as rounding once.
fn floats(op: BinOp, a: f64, b: f64, ty: Scalar) -> Option<Const> {
    match op {
        BinOp::Add => float(a + b, ty),
        BinOp::Sub => float(a - b, ty),
        BinOp::Mul => float(a * b, ty),
        BinOp::Div => float(a / b, ty),
        BinOp::Lt => Some(Const::Bool(a < b)),
        BinOp::Le => Some(Const::Bool(a <= b)),
        BinOp::Gt => Some(Const::Bool(a > b)),
        BinOp::Ge => Some(Const::Bool(a >= b)),
        BinOp::Eq => Some(Const::Bool(a == b)),
        BinOp::Ne => Some(Const::Bool(a != b)),
        BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => None,
    }
}

fn truths(op: BinOp, a: bool, b: bool) -> Option<Const> {
    let value = match op {
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor | BinOp::Ne => a != b,
        BinOp::Eq => a == b,
        BinOp::Lt => !a & b,
        BinOp::Le => a <= b,
        BinOp::Gt => a & !b,
        BinOp::Ge => a >= b,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr => return None,
    };
    Some(Const::Bool(value))
}

/// `a op b` for operands of type `ty` (of a shift: the left one's).
pub(super) fn binary(op: BinOp, a: Const, b: Const, ty: Scalar) -> Option<Const> {
    match (a, b) {
        (Const::Int(a), Const::Int(b)) => integers(op, a, b, ty),
        (Const::Float(a), Const::Float(b)) => floats(op, a, b, ty),
        (Const::Bool(a), Const::Bool(b)) => truths(op, a, b),
        (Const::Int(_) | Const::Float(_) | Const::Bool(_), _) => None,
    }
}

/// A prefix operator on a constant of type `ty`.
pub(super) fn unary(op: UnOp, value: Const, ty: Scalar) -> Option<Const> {
    match (op, value) {
        (UnOp::Neg, Const::Int(value)) => Some(Const::Int(wrap(value.wrapping_neg(), ty))),
        (UnOp::Neg, Const::Float(value)) => float(-value, ty),
        (UnOp::Not, Const::Bool(value)) => Some(Const::Bool(!value)),
        (UnOp::BitNot, Const::Int(value)) => Some(Const::Int(wrap(!value, ty))),
        (UnOp::Neg | UnOp::BitNot, Const::Bool(_))
        | (UnOp::Not, Const::Int(_) | Const::Float(_))
        | (UnOp::BitNot, Const::Float(_)) => None,
    }
}

/// The conversion of a constant to `to`; `None` where that is a fault.
pub(super) fn convert(value: Const, mode: ConvertMode, to: Scalar) -> Option<Const> {
    match (value, to) {
        (Const::Float(value), Scalar::F32 | Scalar::F64) => float(value, to),
        (Const::Int(value), Scalar::F64) => float(value as f64, to),
        (Const::Int(value), Scalar::F32) => float(f64::from(value as f32), to),
        (Const::Bool(value), Scalar::F32 | Scalar::F64) => float(f64::from(u8::from(value)), to),
        (Const::Int(value), Scalar::Bool) => Some(Const::Bool(value != 0)),
        (Const::Float(value), Scalar::Bool) => Some(Const::Bool(value != 0.0)),
        (Const::Bool(value), Scalar::Bool) => Some(Const::Bool(value)),
        (Const::Bool(value), integer) => Some(Const::Int(wrap(i128::from(value), integer))),
        (Const::Int(value), integer) => {
            let kept = wrap(value, integer);
            (mode == ConvertMode::Cast || kept == value).then_some(Const::Int(kept))
        }
        (Const::Float(value), integer) => {
            let (low, high) = integer.integer_range()?;
            // `as` to 128 bits saturates and turns NaN into 0, so clamping it gives the language's cast.
            Some(Const::Int((value as i128).clamp(low, high)))
        }
    }
}

/// A maths function of constants, where every machine computes the same: on integers only.
pub(super) fn math(function: MathFn, args: &[Const], ty: Scalar) -> Option<Const> {
    match (function, args) {
        (MathFn::Abs, [Const::Int(a)]) => Some(Const::Int(wrap(a.wrapping_abs(), ty))),
        (MathFn::Min, [Const::Int(a), Const::Int(b)]) => Some(Const::Int(*a.min(b))),
        (MathFn::Max, [Const::Int(a), Const::Int(b)]) => Some(Const::Int(*a.max(b))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on every pair of 8-bit integers gives what Rust's wrapping arithmetic gives, or nothing where it faults.
    #[test]
    fn bytes_fold_as_they_run() {
        for a in i8::MIN..=i8::MAX {
            for b in i8::MIN..=i8::MAX {
                let shift = u32::try_from(b).ok().filter(|count| *count < 8);
                let number = |value: i8| Some(Const::Int(value.into()));
                let expected = [
                    (BinOp::Add, number(a.wrapping_add(b))),
                    (BinOp::Sub, number(a.wrapping_sub(b))),
                    (BinOp::Mul, number(a.wrapping_mul(b))),
                    (BinOp::Div, (b != 0).then(|| Const::Int(a.wrapping_div(b).into()))),
                    (BinOp::Rem, (b != 0).then(|| Const::Int(a.wrapping_rem(b).into()))),
                    (BinOp::Shl, shift.map(|count| Const::Int((a << count).into()))),
                    (BinOp::Shr, shift.map(|count| Const::Int((a >> count).into()))),
                    (BinOp::Xor, number(a ^ b)),
                    (BinOp::Lt, Some(Const::Bool(a < b))),
                ];
                for (op, value) in expected {
                    assert_eq!(
                        binary(op, Const::Int(a.into()), Const::Int(b.into()), Scalar::I8),
                        value,
                        "{a} {op:?} {b}"
                    );
                }
            }
        }
    }

    #[test]
    fn floats_round_once_and_nan_is_left_to_the_machine() {
        let third = binary(BinOp::Div, Const::Float(1.0), Const::Float(3.0), Scalar::F32);
        assert_eq!(third, Some(Const::Float(f64::from(1.0_f32 / 3.0))));
        assert_eq!(binary(BinOp::Div, Const::Float(0.0), Const::Float(0.0), Scalar::F64), None);
        assert_eq!(binary(BinOp::Lt, Const::Float(f64::NAN), Const::Float(0.0), Scalar::F64), Some(Const::Bool(false)));
    }

    #[test]
    fn conversions_are_those_of_rust() {
        let cast = |value, to| convert(value, ConvertMode::Cast, to);
        assert_eq!(cast(Const::Float(300.7), Scalar::U8), Some(Const::Int(255)));
        assert_eq!(cast(Const::Float(-1e30), Scalar::I64), Some(Const::Int(i64::MIN.into())));
        assert_eq!(cast(Const::Float(f64::NAN), Scalar::I32), Some(Const::Int(0)));
        assert_eq!(cast(Const::Int(300), Scalar::U8), Some(Const::Int(44)));
        assert_eq!(cast(Const::Int(16_777_217), Scalar::F32), Some(Const::Float(16_777_216.0)));
        assert_eq!(convert(Const::Int(300), ConvertMode::Checked, Scalar::U8), None);
        assert_eq!(convert(Const::Int(200), ConvertMode::Checked, Scalar::U8), Some(Const::Int(200)));
    }
}
