//! Constant expressions: conversion and arithmetic at compile time, exactly as at run time.

use hidp_ir::par::{BinOp, Const, Expr, ExprKind, UnOp};
use hidp_syntax::ty::Scalar;

use super::value::fits;

/// `value as to`, with Rust's rules for `as`.
pub(super) fn convert(value: Const, to: Scalar) -> Const {
    match (value, to) {
        (Const::Int(v), Scalar::Bool) => Const::Bool(v != 0),
        (Const::Float(v), Scalar::Bool) => Const::Bool(v != 0.0),
        (Const::Bool(v), Scalar::Bool) => Const::Bool(v),
        (Const::Int(v), Scalar::F32) => Const::Float(f64::from(v as f32)),
        (Const::Int(v), Scalar::F64) => Const::Float(v as f64),
        (Const::Bool(v), Scalar::F32 | Scalar::F64) => Const::Float(f64::from(u8::from(v))),
        (Const::Float(v), Scalar::F32) => Const::Float(f64::from(v as f32)),
        (Const::Float(v), Scalar::F64) => Const::Float(v),
        (Const::Int(v), to) => Const::Int(wrap(v, to)),
        (Const::Bool(v), _) => Const::Int(i128::from(v)),
        (Const::Float(v), to) => Const::Int(saturate(v, to)),
    }
}

/// The value of the type that is equal modulo 2^width.
pub(super) fn wrap(value: i128, to: Scalar) -> i128 {
    match to {
        Scalar::Bool => i128::from(value != 0),
        Scalar::I8 => i128::from(value as i8),
        Scalar::U8 => i128::from(value as u8),
        Scalar::I16 => i128::from(value as i16),
        Scalar::U16 => i128::from(value as u16),
        Scalar::I32 => i128::from(value as i32),
        Scalar::U32 => i128::from(value as u32),
        Scalar::I64 => i128::from(value as i64),
        Scalar::U64 => i128::from(value as u64),
        Scalar::F32 | Scalar::F64 => value,
    }
}

fn saturate(value: f64, to: Scalar) -> i128 {
    let (low, high) = to.integer_range().expect("an integer type");
    // `as` saturates and gives 0 for NaN; 64-bit bounds are inside i128, so clamping afterwards is exact.
    (value as i128).clamp(low, high)
}

/// The constant an expression without variables has; `None` where it has variables, calls, or would fault.
pub(super) fn eval(expr: &Expr) -> Option<Const> {
    match &expr.kind {
        ExprKind::Const(value) => Some(*value),
        ExprKind::Convert { operand, .. } => Some(convert(eval(operand)?, expr.ty.scalar()?)),
        ExprKind::Unary(op, operand) => unary(*op, eval(operand)?, expr.ty.scalar()?),
        ExprKind::Binary { op, left, right, .. } => binary(*op, eval(left)?, eval(right)?, left.ty.scalar()?),
        ExprKind::Lazy { and, left, right } => match (eval(left)?, and) {
            (Const::Bool(false), true) => Some(Const::Bool(false)),
            (Const::Bool(true), false) => Some(Const::Bool(true)),
            _ => eval(right),
        },
        ExprKind::Select { cond, then, otherwise } => match eval(cond)? {
            Const::Bool(true) => eval(then),
            _ => eval(otherwise),
        },
        ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

fn unary(op: UnOp, value: Const, ty: Scalar) -> Option<Const> {
    Some(match (op, value) {
        (UnOp::Neg, Const::Int(v)) => Const::Int(wrap(-v, ty)),
        (UnOp::Neg, Const::Float(v)) => Const::Float(-v),
        (UnOp::BitNot, Const::Int(v)) => Const::Int(wrap(!v, ty)),
        (UnOp::Not, Const::Bool(v)) => Const::Bool(!v),
        _ => return None,
    })
}

fn binary(op: BinOp, left: Const, right: Const, ty: Scalar) -> Option<Const> {
    match (left, right) {
        (Const::Int(a), Const::Int(b)) => integer(op, a, b, ty),
        (Const::Float(a), Const::Float(b)) => float(op, a, b, ty),
        (Const::Bool(a), Const::Bool(b)) => integer(op, a.into(), b.into(), ty),
        _ => None,
    }
}

fn integer(op: BinOp, a: i128, b: i128, ty: Scalar) -> Option<Const> {
    let width = 8 * ty.size() as i128;
    let value = match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::Div if b != 0 => a / b,
        BinOp::Rem if b != 0 => a % b,
        BinOp::Div | BinOp::Rem => return None,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl if (0..width).contains(&b) => a << b,
        BinOp::Shr if (0..width).contains(&b) => a >> b,
        BinOp::Shl | BinOp::Shr => return None,
        BinOp::Lt => return Some(Const::Bool(a < b)),
        BinOp::Le => return Some(Const::Bool(a <= b)),
        BinOp::Gt => return Some(Const::Bool(a > b)),
        BinOp::Ge => return Some(Const::Bool(a >= b)),
        BinOp::Eq => return Some(Const::Bool(a == b)),
        BinOp::Ne => return Some(Const::Bool(a != b)),
    };
    let wrapped = wrap(value, ty);
    debug_assert!(fits(wrapped, ty));
    Some(Const::Int(wrapped))
}

fn float(op: BinOp, a: f64, b: f64, ty: Scalar) -> Option<Const> {
    let value = match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Lt => return Some(Const::Bool(a < b)),
        BinOp::Le => return Some(Const::Bool(a <= b)),
        BinOp::Gt => return Some(Const::Bool(a > b)),
        BinOp::Ge => return Some(Const::Bool(a >= b)),
        BinOp::Eq => return Some(Const::Bool(a == b)),
        BinOp::Ne => return Some(Const::Bool(a != b)),
        BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => return None,
    };
    // One operation on floats computed in double and rounded is the float operation, correctly rounded.
    Some(convert(Const::Float(value), ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_follow_rust() {
        assert_eq!(convert(Const::Int(300), Scalar::U8), Const::Int(300i32 as u8 as i128));
        assert_eq!(convert(Const::Float(f64::NAN), Scalar::I32), Const::Int(0));
        assert_eq!(convert(Const::Float(1e30), Scalar::I32), Const::Int(i32::MAX.into()));
        assert_eq!(convert(Const::Float(-1.5), Scalar::U16), Const::Int(0));
        assert_eq!(convert(Const::Int(-1), Scalar::U64), Const::Int(u64::MAX.into()));
    }

    #[test]
    fn faults_are_not_folded() {
        assert_eq!(integer(BinOp::Div, 1, 0, Scalar::I32), None);
        assert_eq!(integer(BinOp::Shl, 1, 32, Scalar::I32), None);
        assert_eq!(integer(BinOp::Div, i32::MIN.into(), -1, Scalar::I32), Some(Const::Int(i32::MIN.into())));
    }
}
