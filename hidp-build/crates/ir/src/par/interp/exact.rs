//! Whether an operation on floats is rounded.

use super::super::{BinOp, FoldFn, MathFn};
use super::value::Value;

macro_rules! sum_is_rounded {
    ($a:expr, $b:expr) => {{
        // The part of the sum that its digits lose (Knuth's TwoSum).
        let (a, b) = ($a, $b);
        let sum = a + b;
        let of_b = sum - a;
        (a - (sum - of_b)) + (b - of_b) != 0.0
    }};
}

/// Comparisons, which are exact, and operators of integers.
macro_rules! others {
    () => {
        BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::Lt
            | BinOp::Le
            | BinOp::Gt
            | BinOp::Ge
            | BinOp::Eq
            | BinOp::Ne
    };
}

/// Whether the result of an operator on these is another number than that of the operator on real numbers, or none.
pub(super) fn binary(op: BinOp, left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::F32(a), Value::F32(b)) => match op {
            BinOp::Add => sum_is_rounded!(*a, *b),
            BinOp::Sub => sum_is_rounded!(*a, -*b),
            // Products of two have 48 digits.
            BinOp::Mul => f64::from(*a) * f64::from(*b) != f64::from(*a * *b),
            BinOp::Div => f64::from(*a / *b) * f64::from(*b) != f64::from(*a),
            others!() => false,
        },
        (Value::F64(a), Value::F64(b)) => match op {
            BinOp::Add => sum_is_rounded!(*a, *b),
            BinOp::Sub => sum_is_rounded!(*a, -*b),
            BinOp::Mul => a.mul_add(*b, -(*a * *b)) != 0.0,
            BinOp::Div => (*a / *b).mul_add(*b, -*a) != 0.0,
            others!() => false,
        },
        _ => false,
    }
}

/// The same of a step of a fold.
pub(super) fn fold_step(func: FoldFn, left: &Value, right: &Value) -> bool {
    match func {
        FoldFn::Add => binary(BinOp::Add, left, right),
        FoldFn::Mul => binary(BinOp::Mul, left, right),
        FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Fn(_) => false,
    }
}

/// The same of a conversion.
pub(super) fn cast(from: &Value, to: &Value) -> bool {
    match (from.as_integer(), from.as_float(), to.as_float()) {
        (Some(integer), _, Some(float)) => float as i128 != integer,
        (None, Some(wide), Some(narrow)) => wide != narrow,
        (_, _, None) | (None, None, Some(_)) => false,
    }
}

/// The same of a maths function.
pub(super) fn math(function: MathFn, operands: &[Value], result: &Value) -> bool {
    match function {
        MathFn::Abs
        | MathFn::Min
        | MathFn::Max
        | MathFn::Floor
        | MathFn::Ceil
        | MathFn::Trunc
        | MathFn::Round
        | MathFn::Rint
        | MathFn::Copysign
        | MathFn::Fmod
        | MathFn::Isnan
        | MathFn::Isinf
        | MathFn::Isfinite => false,
        MathFn::Sqrt => binary(BinOp::Mul, result, result) || operands[0].as_float() != squared(result),
        MathFn::Fma
        | MathFn::Cbrt
        | MathFn::Hypot
        | MathFn::Exp
        | MathFn::Exp2
        | MathFn::Expm1
        | MathFn::Log
        | MathFn::Log2
        | MathFn::Log10
        | MathFn::Log1p
        | MathFn::Pow
        | MathFn::Sin
        | MathFn::Cos
        | MathFn::Tan
        | MathFn::Asin
        | MathFn::Acos
        | MathFn::Atan
        | MathFn::Atan2
        | MathFn::Sinh
        | MathFn::Cosh
        | MathFn::Tanh
        | MathFn::Asinh
        | MathFn::Acosh
        | MathFn::Atanh
        | MathFn::Erf
        | MathFn::Erfc
        | MathFn::Tgamma
        | MathFn::Lgamma => true,
    }
}

fn squared(value: &Value) -> Option<f64> {
    value.as_float().map(|value| value * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_seen() {
        let small = f64::EPSILON / 4.0;
        for (op, a, b, rounded) in [
            (BinOp::Add, 1.0, 2.0, false),
            (BinOp::Add, 1.0, small, true),
            (BinOp::Sub, 1.0, small, true),
            (BinOp::Sub, small, 1.0, true),
            (BinOp::Mul, 3.0, -0.5, false),
            (BinOp::Mul, 1.0 + f64::EPSILON, 1.0 + f64::EPSILON, true),
            (BinOp::Div, 3.0, 4.0, false),
            (BinOp::Div, 1.0, 3.0, true),
            (BinOp::Div, 1.0, 0.0, true),
            (BinOp::Add, f64::MAX, f64::MAX, true),
            (BinOp::Lt, 1.0, small, false),
        ] {
            assert_eq!(binary(op, &Value::F64(a), &Value::F64(b)), rounded, "{op:?} {a} {b}");
        }
        assert!(binary(BinOp::Add, &Value::F32(1.0), &Value::F32(1e-30)));
        assert!(binary(BinOp::Mul, &Value::F32(1.1), &Value::F32(1.1)));
        assert!(!binary(BinOp::Mul, &Value::F32(1.5), &Value::F32(1.5)));
        assert!(binary(BinOp::Div, &Value::F32(1.0), &Value::F32(3.0)));
        assert!(cast(&Value::I32((1 << 24) + 1), &Value::F32(16_777_216.0)));
        assert!(!cast(&Value::I32(5), &Value::F32(5.0)));
        assert!(cast(&Value::F64(0.1), &Value::F32(0.1)));
        assert!(!math(MathFn::Sqrt, &[Value::F64(9.0)], &Value::F64(3.0)));
        assert!(math(MathFn::Sqrt, &[Value::F64(2.0)], &Value::F64(2_f64.sqrt())));
    }
}
