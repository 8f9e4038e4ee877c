//! Values that are tested for being one of several constants.
//!
//! C++ compilers make one test of a bit of three and more comparisons, shifted by the value, and then make no lanes of the loop. So in
//! lanes the least of the differences from all constants is compared with 0.

use std::mem;

use super::make;
use hidp_ir::imp::visit::{child_blocks_mut, operands_mut, stmt_exprs_mut};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt};
use hidp_ir::par::{BinOp, MathFn};
use hidp_plan::target::LoopRules;
use hidp_syntax::ty::{Scalar, Ty};

/// Rewrites the tests in all loops of a function that run in lanes.
pub(super) fn at_once(function: &mut Function, rules: LoopRules) {
    in_block(&mut function.body, rules.members as usize, false);
}

fn in_block(block: &mut Block, fewest: usize, in_lanes: bool) {
    for stmt in &mut block.stmts {
        let lanes = in_lanes || matches!(stmt, Stmt::Loop(Loop { kind: LoopKind::Simd { .. }, .. }));
        child_blocks_mut(stmt).into_iter().for_each(|child| in_block(child, fewest, lanes));
        if in_lanes {
            stmt_exprs_mut(stmt).into_iter().for_each(|expr| in_expr(expr, fewest));
        }
    }
}

fn in_expr(expr: &mut Expr, fewest: usize) {
    if let Some(any) = joins(expr) {
        let whole = mem::replace(expr, Expr { kind: ExprKind::Bool(any), ty: Ty::BOOL });
        let mut terms = Vec::new();
        flatten(whole, any, &mut terms);
        *expr = joined(terms, any, fewest);
    }
    operands_mut(expr).into_iter().for_each(|operand| in_expr(operand, fewest));
}

/// Whether an expression is `||`, or `&&`.
fn joins(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Lazy(and, ..) => Some(!and),
        _ => None,
    }
}

fn flatten(expr: Expr, any: bool, terms: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Lazy(and, left, right) if and != any => {
            flatten(*left, any, terms);
            flatten(*right, any, terms);
        }
        _ => terms.push(expr),
    }
}

/// The terms with one test in place of all comparisons of a value, where its first one was.
fn joined(mut terms: Vec<Expr>, any: bool, fewest: usize) -> Expr {
    let mut at = 0;
    while at < terms.len() {
        if let Some((value, constants)) = comparisons(&terms[at..], any)
            && constants.len() >= fewest
            && let Some(test) = test(value, &constants, any)
        {
            let value = value.clone();
            let mut rest = terms.split_off(at);
            rest.retain(|term| compared(term, any).is_none_or(|(other, _)| *other != value));
            terms.push(test);
            terms.extend(rest);
        }
        at += 1;
    }
    let join = |left, right| Expr { kind: ExprKind::Lazy(!any, Box::new(left), Box::new(right)), ty: Ty::BOOL };
    terms.into_iter().reduce(join).unwrap_or(Expr { kind: ExprKind::Bool(!any), ty: Ty::BOOL })
}

/// The value that the first term compares, and the constants that all terms compare it with.
fn comparisons(terms: &[Expr], any: bool) -> Option<(&Expr, Vec<i128>)> {
    let (value, _) = compared(terms.first()?, any)?;
    let of_value = terms.iter().filter_map(|term| compared(term, any)).filter(|(other, _)| *other == value);
    Some((value, of_value.map(|(_, constant)| constant).collect()))
}

/// The value and the constant of a term that compares for being equal, or different where all terms have to hold.
fn compared(term: &Expr, any: bool) -> Option<(&Expr, i128)> {
    let ExprKind::Binary(op, left, right) = &term.kind else { return None };
    let wanted = if any { BinOp::Eq } else { BinOp::Ne };
    (*op == wanted).then_some(())?;
    make::as_int(right)
        .map(|constant| (&**left, constant))
        .or_else(|| make::as_int(left).map(|constant| (&**right, constant)))
}

/// Whether a value is one of the constants, or none of them.
fn test(value: &Expr, constants: &[i128], any: bool) -> Option<Expr> {
    let unsigned = unsigned(value.ty.scalar()?)?;
    let ty = Ty::Scalar(unsigned);
    let bits = (1i128 << (8 * unsigned.size())) - 1;
    let apart = |constant: &i128| {
        let constant = Expr { kind: ExprKind::Int(constant & bits), ty };
        make::binary(BinOp::Xor, make::cast(value.clone(), unsigned), constant)
    };
    let least = constants.iter().map(apart).reduce(|left, right| make::math(MathFn::Min, vec![left, right]))?;
    let zero = Expr { kind: ExprKind::Int(0), ty };
    Some(make::binary(if any { BinOp::Eq } else { BinOp::Ne }, least, zero))
}

fn unsigned(scalar: Scalar) -> Option<Scalar> {
    match scalar {
        Scalar::I8 | Scalar::U8 => Some(Scalar::U8),
        Scalar::I16 | Scalar::U16 => Some(Scalar::U16),
        Scalar::I32 | Scalar::U32 => Some(Scalar::U32),
        Scalar::I64 | Scalar::U64 => Some(Scalar::U64),
        Scalar::Bool | Scalar::F32 | Scalar::F64 => None,
    }
}
