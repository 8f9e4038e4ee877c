//! Operators, conversions and maths functions on values.

use super::super::{BinOp, FaultKind, FoldFn, MathFn, UnOp};
use super::maths;
use super::special;
use super::value::Value;
use hidp_syntax::ty::Scalar;

/// A fault without its place.
#[derive(Clone, Debug, PartialEq)]
pub struct OpFault {
    /// Kind.
    pub kind: FaultKind,
    /// The values that [`FaultKind`] lists.
    pub values: Vec<i64>,
}

/// A value, or why there is none.
pub type Op = Result<Value, OpFault>;

fn no_value(what: &str, of: &Value) -> ! {
    unreachable!("the verifier lets no {what} of {of:?} through")
}

/// An integer as faults show it: `ulong` values beyond `long` wrap.
fn shown(value: &Value) -> i64 {
    value.as_integer().unwrap_or(0) as i64
}

macro_rules! each_integer {
    ($value:expr, $bind:ident, $variant:ident => $result:expr, else $other:expr) => {
        match $value {
            Value::I8($bind) => {
                type $variant = i8;
                $result
            }
            Value::U8($bind) => {
                type $variant = u8;
                $result
            }
            Value::I16($bind) => {
                type $variant = i16;
                $result
            }
            Value::U16($bind) => {
                type $variant = u16;
                $result
            }
            Value::I32($bind) => {
                type $variant = i32;
                $result
            }
            Value::U32($bind) => {
                type $variant = u32;
                $result
            }
            Value::I64($bind) => {
                type $variant = i64;
                $result
            }
            Value::U64($bind) => {
                type $variant = u64;
                $result
            }
            Value::Bool(_) | Value::F32(_) | Value::F64(_) | Value::Struct(_) => $other,
        }
    };
}

/// A prefix operator.
pub fn unary(op: UnOp, operand: &Value) -> Value {
    match (op, operand) {
        (UnOp::Not, Value::Bool(value)) => Value::Bool(!value),
        (UnOp::Neg, Value::F32(value)) => Value::F32(-value),
        (UnOp::Neg, Value::F64(value)) => Value::F64(-value),
        (UnOp::Neg, _) => {
            each_integer!(operand, value, T => Value::from((*value as T).wrapping_neg()), else no_value("negation", operand))
        }
        (UnOp::BitNot, _) => {
            each_integer!(operand, value, T => Value::from(!(*value as T)), else no_value("complement", operand))
        }
        (UnOp::Not, _) => no_value("`!`", operand),
    }
}

macro_rules! int_binary {
    ($op:expr, $a:expr, $b:expr, $wrap:path) => {
        match $op {
            BinOp::Add => $wrap($a.wrapping_add($b)),
            BinOp::Sub => $wrap($a.wrapping_sub($b)),
            BinOp::Mul => $wrap($a.wrapping_mul($b)),
            BinOp::Div | BinOp::Rem if $b == 0 => {
                return Err(OpFault { kind: FaultKind::DivisionByZero, values: vec![$a as i64] })
            }
            BinOp::Div => $wrap($a.wrapping_div($b)),
            BinOp::Rem => $wrap($a.wrapping_rem($b)),
            BinOp::And => $wrap($a & $b),
            BinOp::Or => $wrap($a | $b),
            BinOp::Xor => $wrap($a ^ $b),
            BinOp::Lt => Value::Bool($a < $b),
            BinOp::Le => Value::Bool($a <= $b),
            BinOp::Gt => Value::Bool($a > $b),
            BinOp::Ge => Value::Bool($a >= $b),
            BinOp::Eq => Value::Bool($a == $b),
            BinOp::Ne => Value::Bool($a != $b),
            BinOp::Shl | BinOp::Shr => return shift($op, &$wrap($a), &$wrap($b)),
        }
    };
}

macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr, $wrap:path) => {
        match $op {
            BinOp::Add => $wrap($a + $b),
            BinOp::Sub => $wrap($a - $b),
            BinOp::Mul => $wrap($a * $b),
            BinOp::Div => $wrap($a / $b),
            BinOp::Lt => Value::Bool($a < $b),
            BinOp::Le => Value::Bool($a <= $b),
            BinOp::Gt => Value::Bool($a > $b),
            BinOp::Ge => Value::Bool($a >= $b),
            BinOp::Eq => Value::Bool($a == $b),
            BinOp::Ne => Value::Bool($a != $b),
            BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => {
                no_value("integer operator", &$wrap($a))
            }
        }
    };
}

/// An infix operator.
pub fn binary(op: BinOp, left: &Value, right: &Value) -> Op {
    Ok(match (left, right) {
        (Value::I64(a), Value::I64(b)) => int_binary!(op, *a, *b, Value::I64),
        (Value::I32(a), Value::I32(b)) => int_binary!(op, *a, *b, Value::I32),
        (Value::F32(a), Value::F32(b)) => float_binary!(op, *a, *b, Value::F32),
        (Value::F64(a), Value::F64(b)) => float_binary!(op, *a, *b, Value::F64),
        (Value::U32(a), Value::U32(b)) => int_binary!(op, *a, *b, Value::U32),
        (Value::U64(a), Value::U64(b)) => int_binary!(op, *a, *b, Value::U64),
        (Value::I8(a), Value::I8(b)) => int_binary!(op, *a, *b, Value::I8),
        (Value::U8(a), Value::U8(b)) => int_binary!(op, *a, *b, Value::U8),
        (Value::I16(a), Value::I16(b)) => int_binary!(op, *a, *b, Value::I16),
        (Value::U16(a), Value::U16(b)) => int_binary!(op, *a, *b, Value::U16),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(bool_binary(op, *a, *b)),
        (
            Value::Bool(_)
            | Value::I8(_)
            | Value::U8(_)
            | Value::I16(_)
            | Value::U16(_)
            | Value::I32(_)
            | Value::U32(_)
            | Value::I64(_)
            | Value::U64(_)
            | Value::F32(_)
            | Value::F64(_)
            | Value::Struct(_),
            _,
        ) => match op {
            BinOp::Shl | BinOp::Shr => return shift(op, left, right),
            _ => no_value("mixed operands", left),
        },
    })
}

fn bool_binary(op: BinOp, a: bool, b: bool) -> bool {
    match op {
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor | BinOp::Ne => a != b,
        BinOp::Eq => a == b,
        BinOp::Lt => !a & b,
        BinOp::Le => a <= b,
        BinOp::Gt => a & !b,
        BinOp::Ge => a >= b,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr => {
            no_value("arithmetic", &Value::Bool(a))
        }
    }
}

/// A shift; the count may be of another integer type. `>>` keeps the sign.
fn shift(op: BinOp, left: &Value, right: &Value) -> Op {
    let count = right.as_integer().unwrap_or(0);
    let width = left.scalar().map_or(0, |scalar| scalar.size() as i128 * 8);
    if count < 0 || count >= width {
        return Err(OpFault { kind: FaultKind::Shift, values: vec![shown(right), width as i64] });
    }
    let count = count as u32;
    Ok(each_integer!(left, value, T => {
        let value: T = *value;
        Value::from(if op == BinOp::Shl { value << count } else { value >> count })
    }, else no_value("shift", left)))
}

/// As Rust's `as`; to `bool`: whether it is not zero.
pub fn cast(value: &Value, to: Scalar) -> Value {
    match (value.as_integer(), value.as_float()) {
        (Some(integer), _) => Value::wrapping(to, integer),
        (None, Some(float)) => Value::saturating(to, float),
        (None, None) => no_value("conversion", value),
    }
}

/// Integer to integer; a fault if it does not fit.
pub(super) fn narrow(value: &Value, to: Scalar) -> Op {
    let integer = value.as_integer().unwrap_or(0);
    let fits = to.integer_range().is_some_and(|(low, high)| low <= integer && integer <= high);
    if fits {
        Ok(Value::wrapping(to, integer))
    } else {
        Err(OpFault { kind: FaultKind::Narrowing, values: vec![shown(value)] })
    }
}

/// One step of a fold with a built-in operator.
pub fn fold_step(func: FoldFn, left: &Value, right: &Value) -> Value {
    let by = |op: BinOp| match binary(op, left, right) {
        Ok(value) => value,
        Err(fault) => unreachable!("a fold's operator does not fault: {fault:?}"),
    };
    match func {
        FoldFn::Add => by(BinOp::Add),
        FoldFn::Mul => by(BinOp::Mul),
        FoldFn::And => by(BinOp::And),
        FoldFn::Or => by(BinOp::Or),
        FoldFn::Xor => by(BinOp::Xor),
        FoldFn::Min => min_max(MathFn::Min, left, right),
        FoldFn::Max => min_max(MathFn::Max, left, right),
        FoldFn::Fn(_) => no_value("built-in fold", left),
    }
}

/// `min` and `max`: of floats, a NaN operand gives the other.
fn min_max(function: MathFn, a: &Value, b: &Value) -> Value {
    let min = function == MathFn::Min;
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => Value::F32(if min { a.min(*b) } else { a.max(*b) }),
        (Value::F64(a), Value::F64(b)) => Value::F64(if min { a.min(*b) } else { a.max(*b) }),
        _ => {
            let first_is_less = a.as_integer() <= b.as_integer();
            if first_is_less == min { a.clone() } else { b.clone() }
        }
    }
}

macro_rules! float_math {
    ($function:expr, $args:expr, $wrap:path, $ty:ty) => {{
        let args: &[$ty] = $args;
        let x = args[0];
        let y = args.get(1).copied().unwrap_or(0.0);
        $wrap(match $function {
            MathFn::Abs => x.abs(),
            MathFn::Min => x.min(y),
            MathFn::Max => x.max(y),
            MathFn::Fma => x.mul_add(y, args[2]),
            MathFn::Sqrt => x.sqrt(),
            MathFn::Cbrt => maths::cbrt(x),
            MathFn::Hypot => maths::hypot(x, y),
            MathFn::Exp => maths::exp(x),
            MathFn::Exp2 => maths::exp2(x),
            MathFn::Expm1 => maths::expm1(x),
            MathFn::Log => maths::log(x),
            MathFn::Log2 => maths::log2(x),
            MathFn::Log10 => maths::log10(x),
            MathFn::Log1p => maths::log1p(x),
            MathFn::Pow => maths::pow(x, y),
            MathFn::Sin => maths::sin(x),
            MathFn::Cos => maths::cos(x),
            MathFn::Tan => maths::tan(x),
            MathFn::Asin => maths::asin(x),
            MathFn::Acos => maths::acos(x),
            MathFn::Atan => maths::atan(x),
            MathFn::Atan2 => maths::atan2(x, y),
            MathFn::Sinh => maths::sinh(x),
            MathFn::Cosh => maths::cosh(x),
            MathFn::Tanh => maths::tanh(x),
            MathFn::Asinh => maths::asinh(x),
            MathFn::Acosh => maths::acosh(x),
            MathFn::Atanh => maths::atanh(x),
            MathFn::Floor => x.floor(),
            MathFn::Ceil => x.ceil(),
            MathFn::Trunc => x.trunc(),
            MathFn::Round => x.round(),
            MathFn::Rint => x.round_ties_even(),
            MathFn::Fmod => x % y,
            MathFn::Copysign => x.copysign(y),
            MathFn::Erf => maths::erf(x),
            MathFn::Erfc => maths::erfc(x),
            MathFn::Tgamma => special::gamma(f64::from(x)) as $ty,
            MathFn::Lgamma => special::ln_gamma(f64::from(x)) as $ty,
            MathFn::Isnan => return Value::Bool(x.is_nan()),
            MathFn::Isinf => return Value::Bool(x.is_infinite()),
            MathFn::Isfinite => return Value::Bool(x.is_finite()),
        })
    }};
}

/// A maths function of as many operands as it takes.
pub fn math(function: MathFn, args: &[Value]) -> Value {
    match &args[0] {
        Value::F32(_) => {
            let mut floats = [0.0_f32; 3];
            for (float, arg) in floats.iter_mut().zip(args) {
                *float = arg.as_float().unwrap_or(f64::NAN) as f32;
            }
            float_math!(function, &floats, Value::F32, f32)
        }
        Value::F64(_) => {
            let mut floats = [0.0_f64; 3];
            for (float, arg) in floats.iter_mut().zip(args) {
                *float = arg.as_float().unwrap_or(f64::NAN);
            }
            float_math!(function, &floats, Value::F64, f64)
        }
        integer => match function {
            MathFn::Min | MathFn::Max => min_max(function, integer, &args[1]),
            MathFn::Abs if integer.as_integer().is_some_and(|value| value < 0) => unary(UnOp::Neg, integer),
            MathFn::Abs => integer.clone(),
            _ => no_value("float function", integer),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap() {
        let add = |a: Value, b: Value| binary(BinOp::Add, &a, &b);
        assert_eq!(add(Value::I8(127), Value::I8(1)), Ok(Value::I8(-128)));
        assert_eq!(add(Value::U64(u64::MAX), Value::U64(2)), Ok(Value::U64(1)));
        assert_eq!(binary(BinOp::Div, &Value::I32(i32::MIN), &Value::I32(-1)), Ok(Value::I32(i32::MIN)));
        assert_eq!(binary(BinOp::Rem, &Value::I32(i32::MIN), &Value::I32(-1)), Ok(Value::I32(0)));
        assert_eq!(binary(BinOp::Rem, &Value::I32(-7), &Value::I32(3)), Ok(Value::I32(-1)));
        assert_eq!(unary(UnOp::Neg, &Value::I16(i16::MIN)), Value::I16(i16::MIN));
        assert_eq!(math(MathFn::Abs, &[Value::I64(i64::MIN)]), Value::I64(i64::MIN));
    }

    #[test]
    fn shifts_and_divisions_fault() {
        let fault = |op, a: Value, b: Value| binary(op, &a, &b).expect_err("a fault");
        assert_eq!(
            fault(BinOp::Shl, Value::U8(1), Value::I64(8)),
            OpFault { kind: FaultKind::Shift, values: vec![8, 8] }
        );
        assert_eq!(fault(BinOp::Shr, Value::I32(1), Value::I32(-1)).values, [-1, 32]);
        assert_eq!(fault(BinOp::Div, Value::I32(9), Value::I32(0)).values, [9]);
        assert_eq!(binary(BinOp::Shr, &Value::I8(-128), &Value::U8(7)), Ok(Value::I8(-1)));
    }

    #[test]
    fn casts_saturate_and_wrap() {
        assert_eq!(cast(&Value::F32(3e9), Scalar::I32), Value::I32(i32::MAX));
        assert_eq!(cast(&Value::F64(f64::NAN), Scalar::U8), Value::U8(0));
        assert_eq!(cast(&Value::F64(-5.5), Scalar::U64), Value::U64(0));
        assert_eq!(cast(&Value::I32(-1), Scalar::U16), Value::U16(u16::MAX));
        assert_eq!(cast(&Value::F32(f32::NAN), Scalar::Bool), Value::Bool(true));
        // Rounded once: by way of `double` it would be 2^60.
        assert_eq!(cast(&Value::I64((1 << 60) + (1 << 36) + 1), Scalar::F32), Value::F32(1.152_921_6e18));
        assert_eq!(narrow(&Value::I64(300), Scalar::U8).expect_err("too large").values, [300]);
        assert_eq!(narrow(&Value::I64(255), Scalar::U8), Ok(Value::U8(255)));
    }

    #[test]
    fn minima_skip_nan() {
        let min = |a: f32, b: f32| fold_step(FoldFn::Min, &Value::F32(a), &Value::F32(b));
        assert_eq!(min(f32::NAN, 1.0), Value::F32(1.0));
        assert_eq!(min(1.0, f32::NAN), Value::F32(1.0));
        assert_eq!(fold_step(FoldFn::Max, &Value::U8(3), &Value::U8(200)), Value::U8(200));
    }

    #[test]
    fn rounding_functions_differ_at_halves() {
        let of = |function, x: f64| math(function, &[Value::F64(x)]);
        assert_eq!(of(MathFn::Round, 2.5), Value::F64(3.0));
        assert_eq!(of(MathFn::Rint, 2.5), Value::F64(2.0));
        assert_eq!(of(MathFn::Round, -2.5), Value::F64(-3.0));
        assert_eq!(math(MathFn::Fmod, &[Value::F64(-7.0), Value::F64(3.0)]), Value::F64(-1.0));
    }
}
