//! Rules on single expressions, applied from the leaves to the root.

use super::fold;
use hidp_ir::par::doubt::can_fault;
use hidp_ir::par::effects::expr_may_fault;
use hidp_ir::par::same;
use hidp_ir::par::{BinOp, Const, ConvertMode, Expr, ExprKind, Program, UnOp, visit};
use hidp_syntax::ty::{Scalar, Ty};

/// Simplifies an expression and everything in it.
pub(super) fn simplify(program: &Program, expr: &mut Expr) {
    visit::map_subexprs(expr, |node| {
        match rule(program, node) {
            Some(Simpler::Computed(kind)) => node.kind = kind,
            // A fault names the place of the operation that fails.
            Some(Simpler::Part(part)) => (node.kind, node.span) = (part.kind, part.span),
            None => {}
        }
    });
}

/// What takes the place of an expression.
enum Simpler {
    /// Something of the same place.
    Computed(ExprKind),
    /// A part of it, which keeps its own.
    Part(Expr),
}

impl Simpler {
    fn constant(value: Const) -> Self {
        Simpler::Computed(ExprKind::Const(value))
    }
}

/// What to put in the place of an expression whose operands are simplified already.
fn rule(program: &Program, expr: &mut Expr) -> Option<Simpler> {
    let ty = expr.ty.scalar()?;
    match &mut expr.kind {
        ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::Load(_) | ExprKind::Call(..) | ExprKind::Struct(..) => None,
        ExprKind::Unary(op, operand) => unary(*op, operand, ty),
        ExprKind::Binary { op, left, right, checked } => binary(program, *op, left, right, checked),
        ExprKind::Lazy { and, left, right } => lazy(program, *and, left, right),
        ExprKind::Select { cond, then, otherwise } => select(program, cond, then, otherwise),
        ExprKind::Convert { operand, mode } => convert(operand, *mode, ty),
        ExprKind::Math(function, args) => {
            let values: Option<Vec<Const>> = args.iter().map(fold::constant).collect();
            fold::math(*function, &values?, ty).map(Simpler::constant)
        }
        ExprKind::Field(value, position) => field(program, value, *position),
    }
}

fn unary(op: UnOp, operand: &mut Expr, ty: Scalar) -> Option<Simpler> {
    if let Some(value) = fold::constant(operand) {
        return fold::unary(op, value, ty).map(Simpler::constant);
    }
    match &mut operand.kind {
        // Twice the same prefix cancels out, on floats too.
        ExprKind::Unary(inner, value) if *inner == op => Some(take(value)),
        _ => None,
    }
}

fn take(expr: &mut Expr) -> Simpler {
    let (ty, span) = (expr.ty, expr.span);
    Simpler::Part(std::mem::replace(expr, Expr { kind: ExprKind::Const(Const::Bool(false)), ty, span }))
}

fn binary(program: &Program, op: BinOp, left: &mut Expr, right: &mut Expr, checked: &mut bool) -> Option<Simpler> {
    let ty = left.ty.scalar()?;
    if let (Some(a), Some(b)) = (fold::constant(left), fold::constant(right)) {
        return fold::binary(op, a, b, ty).map(Simpler::constant);
    }
    *checked &= can_fault(op, right, ty);
    if ty == Scalar::Bool || ty.is_float() {
        return None;
    }
    match op {
        BinOp::Add | BinOp::Sub => sum(program, op, left, right, ty),
        BinOp::Mul => product(program, left, right, ty),
        BinOp::Div => (right.as_int() == Some(1)).then(|| take(left)),
        BinOp::Rem => {
            (right.as_int() == Some(1) && !expr_may_fault(program, left)).then_some(Simpler::constant(Const::Int(0)))
        }
        BinOp::Shl | BinOp::Shr => (right.as_int() == Some(0)).then(|| take(left)),
        BinOp::Lt | BinOp::Gt | BinOp::Ne => same(left, right).then_some(Simpler::constant(Const::Bool(false))),
        BinOp::Le | BinOp::Ge | BinOp::Eq => same(left, right).then_some(Simpler::constant(Const::Bool(true))),
        BinOp::And | BinOp::Or => same(left, right).then(|| take(left)),
        BinOp::Xor => same(left, right).then_some(Simpler::constant(Const::Int(0))),
    }
}

/// Whether two expressions of scalars only are the same (elements may be written by others between two reads).
fn same(left: &Expr, right: &Expr) -> bool {
    same::expr(left, right) && is_plain(left)
}

/// Whether an expression only computes with scalars and cannot fault.
pub(super) fn is_plain(expr: &Expr) -> bool {
    let mut plain = true;
    visit::walk_subexprs(expr, |node| {
        plain &= match &node.kind {
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => true,
            ExprKind::Binary { checked, .. } => !checked,
            ExprKind::Convert { mode, .. } => *mode == ConvertMode::Cast,
            ExprKind::Load(_) | ExprKind::Call(..) => false,
        };
    });
    plain
}

/// `value` as an addend and a constant: `x + 3`, `x - 3`, `x`.
fn split_sum(expr: &Expr) -> Option<(&Expr, i128)> {
    match &expr.kind {
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => Some((left, right.as_int()?)),
        ExprKind::Binary { op: BinOp::Sub, left, right, .. } => Some((left, right.as_int()?.checked_neg()?)),
        _ => None,
    }
}

/// `x + constant`, written as `x - 3` rather than `x + -3`.
fn offset(base: Expr, by: i128, ty: Scalar) -> ExprKind {
    let span = base.span;
    let constant = |value| Expr { kind: ExprKind::Const(Const::Int(value)), ty: Ty::Scalar(ty), span };
    let smallest = ty.integer_range().map_or(0, |(low, _)| low);
    let (op, by) = if by < 0 && by != smallest { (BinOp::Sub, -by) } else { (BinOp::Add, by) };
    ExprKind::Binary { op, left: Box::new(base), right: Box::new(constant(by)), checked: false }
}

/// Integer `left ± right`: constants to the right and into one, zeros away. Wrapping addition is associative.
fn sum(program: &Program, op: BinOp, left: &mut Expr, right: &mut Expr, ty: Scalar) -> Option<Simpler> {
    if op == BinOp::Sub && same(left, right) {
        return Some(Simpler::constant(Const::Int(0)));
    }
    if op == BinOp::Add && left.as_int().is_some() {
        // Constants cannot fault, so the order of evaluation does not matter.
        std::mem::swap(left, right);
    }
    if let Some(by) = right.as_int() {
        if by == 0 {
            return Some(take(left));
        }
        let by = if op == BinOp::Sub { -by } else { by };
        let (base, inner) = split_sum(left)?;
        let total = fold::wrap(by.wrapping_add(inner), ty);
        let base = base.clone();
        return Some(if total == 0 { Simpler::Part(base) } else { Simpler::Computed(offset(base, total, ty)) });
    }
    cancel(program, op, left, right)
}

/// `(a + b) - b`, `(b + a) - b` and `(a - b) + b` are `a`.
fn cancel(program: &Program, op: BinOp, left: &mut Expr, right: &Expr) -> Option<Simpler> {
    if expr_may_fault(program, right) {
        return None;
    }
    match (&mut left.kind, op) {
        (ExprKind::Binary { op: BinOp::Add, left: a, right: b, .. }, BinOp::Sub) if same(b, right) => Some(take(a)),
        (ExprKind::Binary { op: BinOp::Add, left: b, right: a, .. }, BinOp::Sub) if same(b, right) => Some(take(a)),
        (ExprKind::Binary { op: BinOp::Sub, left: a, right: b, .. }, BinOp::Add) if same(b, right) => Some(take(a)),
        _ => None,
    }
}

fn product(program: &Program, left: &mut Expr, right: &mut Expr, ty: Scalar) -> Option<Simpler> {
    if left.as_int().is_some() {
        std::mem::swap(left, right);
    }
    let by = right.as_int()?;
    match by {
        1 => Some(take(left)),
        0 if !expr_may_fault(program, left) => Some(Simpler::constant(Const::Int(0))),
        _ => match &left.kind {
            ExprKind::Binary { op: BinOp::Mul, left: base, right: inner, .. } => {
                let total = fold::wrap(by.wrapping_mul(inner.as_int()?), ty);
                let constant = Expr { kind: ExprKind::Const(Const::Int(total)), ty: right.ty, span: right.span };
                let (op, left) = (BinOp::Mul, base.clone());
                Some(Simpler::Computed(ExprKind::Binary { op, left, right: Box::new(constant), checked: false }))
            }
            _ => None,
        },
    }
}

fn truth(expr: &Expr) -> Option<bool> {
    match fold::constant(expr)? {
        Const::Bool(value) => Some(value),
        Const::Int(_) | Const::Float(_) => None,
    }
}

fn lazy(program: &Program, and: bool, left: &mut Expr, right: &mut Expr) -> Option<Simpler> {
    match (truth(left), truth(right)) {
        (Some(value), _) if value == and => Some(take(right)),
        (Some(value), _) => Some(Simpler::constant(Const::Bool(value))),
        (None, Some(value)) if value == and => Some(take(left)),
        (None, Some(value)) if !expr_may_fault(program, left) => Some(Simpler::constant(Const::Bool(value))),
        (None, _) => None,
    }
}

fn select(program: &Program, cond: &Expr, then: &mut Expr, otherwise: &mut Expr) -> Option<Simpler> {
    match truth(cond) {
        Some(true) => Some(take(then)),
        Some(false) => Some(take(otherwise)),
        None => {
            // A fault names its place, and a check that was proved for one arm may fail in the other.
            let free = |expr: &Expr| !expr_may_fault(program, expr);
            (same::expr(then, otherwise) && free(cond) && free(then) && free(otherwise)).then(|| take(then))
        }
    }
}

fn convert(operand: &mut Expr, mode: ConvertMode, to: Scalar) -> Option<Simpler> {
    if operand.ty == Ty::Scalar(to) {
        return Some(take(operand));
    }
    fold::convert(fold::constant(operand)?, mode, to).map(Simpler::constant)
}

fn field(program: &Program, value: &mut Expr, position: u32) -> Option<Simpler> {
    match &mut value.kind {
        ExprKind::Struct(_, fields) => {
            let position = position as usize;
            let others_are_free =
                fields.iter().enumerate().all(|(at, field)| at == position || !expr_may_fault(program, field));
            if others_are_free { fields.get_mut(position).map(take) } else { None }
        }
        _ => None,
    }
}
