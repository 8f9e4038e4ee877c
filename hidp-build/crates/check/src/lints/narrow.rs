//! Arithmetic of 8 and 16 bits that is converted to a wider type at once. There is no integer promotion, so it has wrapped by then.

use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{BinOp, Block, Const, Expr, ExprKind};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::source::{SourceMap, Span};
use hidp_syntax::ty::Scalar;

use super::or_allow;

/// Warns of what is widened too late.
pub(super) fn lint(body: &Block, sources: &SourceMap, sink: &mut Sink) {
    Narrow { sources, sink }.visit_block(body);
}

struct Narrow<'a> {
    sources: &'a SourceMap,
    sink: &'a mut Sink,
}

impl Visitor for Narrow<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        if let (ExprKind::Convert { operand, mode: _ }, Some(to)) = (&expr.kind, expr.ty.scalar()) {
            self.widened(operand, to);
        }
        look::walk_expr(self, expr);
    }
}

impl Narrow<'_> {
    fn widened(&mut self, value: &Expr, to: Scalar) {
        let (ExprKind::Binary { op, .. }, Some(from)) = (&value.kind, value.ty.scalar()) else { return };
        let Some((low, high)) = from.integer_range().filter(|_| is_narrow(from)) else { return };
        let wider = to.is_float() || (to.is_integer() && to.size() > from.size());
        let wraps = exact(value).is_some_and(|(least, most)| least < low || most > high);
        if !wider || !wraps {
            return;
        }
        let headline = format!("this is computed in `{from}` and wraps before it becomes `{to}`");
        let mut diagnostic = Diagnostic::new(Code::NarrowArithmetic, value.span, headline)
            .label(format!("`{from}` holds {low} to {high}"))
            .note("there is no integer promotion: two operands meet in the smallest type that holds both");
        // A difference may be below zero, which no unsigned type holds.
        if to.is_float() || to.is_signed() || matches!(op, BinOp::Add | BinOp::Mul) {
            let first = self.first_operand(value);
            let text = format!("({to}){}", self.sources.snippet(first));
            diagnostic = diagnostic.suggest(first, text, format!("compute in `{to}`"));
        }
        self.sink.push(or_allow(diagnostic));
    }

    /// The operand that is evaluated first, below operations in the same type.
    fn first_operand(&self, value: &Expr) -> Span {
        match &value.kind {
            ExprKind::Binary { left, .. } if left.ty == value.ty => self.first_operand(left),
            ExprKind::Binary { .. }
            | ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => value.span,
        }
    }
}

fn is_narrow(scalar: Scalar) -> bool {
    scalar.is_integer() && scalar.size() < 4
}

/// The least and the largest value that an operation has if it does not wrap; `None` for operations that do not.
fn exact(expr: &Expr) -> Option<(i128, i128)> {
    let ExprKind::Binary { op, left, right, .. } = &expr.kind else { return None };
    let ((a, b), (c, d)) = (range(left)?, range(right)?);
    match op {
        BinOp::Add => Some((a + c, b + d)),
        BinOp::Sub => Some((a - d, b - c)),
        BinOp::Mul => {
            let corners = [a * c, a * d, b * c, b * d];
            Some((corners.into_iter().min()?, corners.into_iter().max()?))
        }
        // Bits are what a shift of a signed value is for.
        BinOp::Shl if expr.ty.scalar()?.is_signed() => None,
        BinOp::Shl => {
            let most = |value: i128| value << d.clamp(0, 31);
            Some((most(a).min(a), most(b).max(b)))
        }
        BinOp::Div | BinOp::Rem | BinOp::Shr | BinOp::And | BinOp::Or | BinOp::Xor => None,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => None,
    }
}

/// Least and largest value of an integer expression, as far as its operators tell.
fn range(expr: &Expr) -> Option<(i128, i128)> {
    let whole = expr.ty.scalar()?.integer_range()?;
    let within = |found: (i128, i128)| if whole.0 <= found.0 && found.1 <= whole.1 { found } else { whole };
    let found = match &expr.kind {
        ExprKind::Const(Const::Int(value)) => (*value, *value),
        ExprKind::Convert { operand, mode: _ } => range(operand).map_or(whole, within),
        ExprKind::Select { then, otherwise, .. } => {
            let ((a, b), (c, d)) = (range(then)?, range(otherwise)?);
            (a.min(c), b.max(d))
        }
        ExprKind::Binary { op, left, right, .. } => match (op, range(left)?, right.as_int()) {
            (BinOp::And, _, Some(mask)) if mask >= 0 => (0, mask),
            (BinOp::Rem, (low, high), Some(by)) if by > 0 => (low.clamp(1 - by, 0), high.clamp(0, by - 1)),
            (BinOp::Div, (low, high), Some(by)) if by > 0 => (low / by, high / by),
            (BinOp::Shr, (low, high), Some(by)) if (0..32).contains(&by) => (low >> by, high >> by),
            _ => exact(expr).map_or(whole, within),
        },
        ExprKind::Const(Const::Bool(_) | Const::Float(_))
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => whole,
    };
    Some(found)
}
