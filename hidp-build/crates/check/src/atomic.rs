//! Atomic updates.

use hidp_ir::par::{Expr, ExprKind, FoldFn, FoldOp, Stmt, StmtKind, UnOp};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::access::stmt;
use super::convert::Purpose;
use super::cx::Cx;
use super::target::TargetRef;

/// The operation of an atomic update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtomicOp {
    Fold(FoldFn),
    /// Adds the negated value.
    Sub,
}

impl Cx<'_> {
    pub(super) fn atomic(&mut self, assign: &ast::Assign, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let (op, value) = self.atomic_parts(assign)?;
        let target = self.target(&assign.target)?;
        let TargetRef::Element { place, ty } = target else {
            return self.error(
                Diagnostic::new(Code::BadAtomic, assign.target.span, "`atomic` updates an element of an array")
                    .label("not an element")
                    .help("fold scalars with `reduce`"),
            );
        };
        if !place.path.is_empty() {
            return self.error(
                Diagnostic::new(Code::BadAtomic, assign.target.span, "`atomic` cannot update a field of a struct")
                    .label("a field"),
            );
        }
        self.info_mut(place.array).read = true;
        let what = format!("`{}`", self.text(assign.target.span));
        let mut value = self.expr_of(value, ty, Purpose::since(&what, self.vars[place.array].span))?;
        if op == AtomicOp::Sub {
            let span = value.span;
            value = super::convert::folded(Expr { kind: ExprKind::Unary(UnOp::Neg, Box::new(value)), ty, span });
        }
        let func = self.atomic_fn(op, ty, assign.target.span, span)?;
        let op = FoldOp { func, ty, neutral: None, ordered: false };
        out.push(stmt(StmtKind::Atomic { place, op, value }, span));
        Some(())
    }

    fn atomic_parts<'e>(&mut self, assign: &'e ast::Assign) -> Option<(AtomicOp, &'e ast::Expr)> {
        if let Some(op) = assign.op {
            let op = match op {
                ast::BinaryOp::Add => AtomicOp::Fold(FoldFn::Add),
                ast::BinaryOp::Sub => AtomicOp::Sub,
                ast::BinaryOp::Mul => AtomicOp::Fold(FoldFn::Mul),
                ast::BinaryOp::BitAnd => AtomicOp::Fold(FoldFn::And),
                ast::BinaryOp::BitOr => AtomicOp::Fold(FoldFn::Or),
                ast::BinaryOp::BitXor => AtomicOp::Fold(FoldFn::Xor),
                _ => return self.bad_atomic_form(self.operator_span(assign)),
            };
            return Some((op, &assign.value));
        }
        if let ast::ExprKind::Call(call) = &assign.value.kind {
            let func = match call.callee.name.as_str() {
                "min" => Some(FoldFn::Min),
                "max" => Some(FoldFn::Max),
                _ => None,
            };
            if let (Some(func), [ast::Arg::Expr(first), ast::Arg::Expr(second)]) = (func, call.args.as_slice()) {
                let squeeze = |span| self.text(span).split_whitespace().collect::<String>();
                let target = squeeze(assign.target.span);
                if squeeze(first.span) == target {
                    return Some((AtomicOp::Fold(func), second));
                }
                if squeeze(second.span) == target {
                    return Some((AtomicOp::Fold(func), first));
                }
            }
        }
        self.bad_atomic_form(assign.value.span)
    }

    fn bad_atomic_form<T>(&mut self, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadAtomic, span, "this is not an atomic update")
                .label("cannot be done indivisibly")
                .help("`atomic` takes `x += e`, `-=`, `*=`, `&=`, `|=`, `^=`, `x = min(x, e)` and `x = max(x, e)`"),
        )
    }

    fn atomic_fn(&mut self, op: AtomicOp, ty: Ty, target: Span, span: Span) -> Option<FoldFn> {
        let func = match op {
            AtomicOp::Sub => FoldFn::Add,
            AtomicOp::Fold(func) => func,
        };
        let wide = ty.scalar().is_some_and(|s| s.size() >= 4);
        let float = ty.scalar().is_some_and(Scalar::is_float);
        if !wide {
            let name = self.show_ty(ty);
            return self.error(
                Diagnostic::new(Code::BadAtomic, target, format!("`atomic` does not work on `{name}`"))
                    .label("not a type of 32 or 64 bits"),
            );
        }
        match func {
            FoldFn::Min | FoldFn::Max => Some(func),
            FoldFn::Add if float && !self.is_unordered() => self.error(
                Diagnostic::new(Code::AtomicFloat, span, "an atomic sum of floats gives other bits from run to run")
                    .label("the order of the additions is not fixed")
                    .help("use a `reduce` suffix or `histogram`, or write `#pragma hidp unordered` before the map"),
            ),
            FoldFn::Add => Some(func),
            FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Fn(_) if float => self.error(
                Diagnostic::new(Code::BadAtomic, span, "this atomic update works on integers only")
                    .label("on a floating-point type"),
            ),
            FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Fn(_) => Some(func),
        }
    }
}
