//! Operators of folds: `"+"`, a scalar function, and their neutral elements.

use hidp_ir::par::{Expr, ExprKind, FoldFn, FoldOp, ScalarFnId};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::convert::Purpose;
use super::cx::{Cx, Named};
use super::items::Global;

/// An operator as written.
#[derive(Clone, Copy)]
pub(super) enum OpArg<'e> {
    /// None was written: `+`.
    Default(Span),
    /// In quotes.
    Quoted(&'e str, Span),
    /// A scalar function.
    Named(&'e str, Span),
    /// With its neutral element.
    WithNeutral(&'e ast::Ident, &'e ast::Expr),
}

const OPERATORS: &str =
    "`\"+\"`, `\"*\"`, `\"min\"`, `\"max\"`, `\"&\"`, `\"|\"`, `\"^\"` and scalar functions of two arguments";

/// The built-in operator of this name.
fn built_in(name: &str) -> Option<FoldFn> {
    Some(match name {
        "+" => FoldFn::Add,
        "*" => FoldFn::Mul,
        "min" => FoldFn::Min,
        "max" => FoldFn::Max,
        "&" => FoldFn::And,
        "|" => FoldFn::Or,
        "^" => FoldFn::Xor,
        _ => return None,
    })
}

impl Cx<'_> {
    /// The first argument of a primitive or suffix as an operator.
    pub(super) fn named_op<'e>(&mut self, e: &'e ast::Expr) -> Option<OpArg<'e>> {
        match &e.kind {
            ast::ExprKind::Name(name) => Some(OpArg::Named(name, e.span)),
            ast::ExprKind::Error => self.silent(),
            _ => self.not_an_operator(e.span),
        }
    }

    /// Whether a name here means a scalar function.
    pub(super) fn scalar_function(&self, name: &str) -> Option<ScalarFnId> {
        match self.lookup(name) {
            Some(Named::Global(Global::Scalar(id))) => Some(id),
            _ => None,
        }
    }

    fn not_an_operator<T>(&mut self, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadOperator, span, "this is no operator to fold with")
                .label("not an operator")
                .note(format!("operators are {OPERATORS}")),
        )
    }

    /// The operator that folds values of type `ty`.
    pub(super) fn fold_op(&mut self, op: OpArg<'_>, ty: Ty, ordered: bool, because: Span) -> Option<FoldOp> {
        match op {
            OpArg::Default(span) => self.built_in_op("+", span, ty, ordered, because),
            OpArg::Quoted(name, span) => self.built_in_op(name, span, ty, ordered, because),
            OpArg::Named(name, span) => {
                let id = self.operator_function(name, span, ty)?;
                Some(FoldOp { func: FoldFn::Fn(id), ty, neutral: None, ordered })
            }
            OpArg::WithNeutral(op, value) => {
                if let Some(func) = built_in(&op.name) {
                    return self.needless_neutral(func, op, value);
                }
                let id = self.operator_function(&op.name, op.span, ty)?;
                let neutral = self.expr_of(value, ty, Purpose::since("the neutral element", because))?;
                Some(FoldOp { func: FoldFn::Fn(id), ty, neutral: Some(Box::new(neutral)), ordered })
            }
        }
    }

    fn needless_neutral<T>(&mut self, _: FoldFn, op: &ast::Ident, value: &ast::Expr) -> Option<T> {
        let name = op.name.clone();
        self.error(
            Diagnostic::new(Code::BadOperator, value.span, format!("`\"{name}\"` has its own neutral element"))
                .label("not needed")
                .suggest(op.span.to(value.span), format!("\"{name}\""), "leave it out"),
        )
    }

    fn built_in_op(&mut self, name: &str, span: Span, ty: Ty, ordered: bool, because: Span) -> Option<FoldOp> {
        let Some(func) = built_in(name) else {
            if let Some(id) = self.scalar_function(name) {
                let _ = id;
                return self.error(
                    Diagnostic::new(
                        Code::BadOperator,
                        span,
                        format!("`{name}` is a scalar function, written without quotes"),
                    )
                    .label("quotes name built-in operators")
                    .suggest(span, name, "name it plainly"),
                );
            }
            return self.error(
                Diagnostic::new(Code::BadOperator, span, format!("there is no operator `\"{name}\"`"))
                    .label("unknown operator")
                    .note(format!("operators are {OPERATORS}")),
            );
        };
        let scalar = ty.scalar();
        let fits = match func {
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max => scalar.is_some_and(|s| s != Scalar::Bool),
            FoldFn::And | FoldFn::Or | FoldFn::Xor => scalar.is_some_and(|s| !s.is_float()),
            FoldFn::Fn(_) => false,
        };
        let (Some(scalar), true) = (scalar, fits) else {
            let ty_name = self.show_ty(ty);
            let mut diagnostic = Diagnostic::new(
                Code::BadOperator,
                span,
                format!("`\"{name}\"` does not fold values of type `{ty_name}`"),
            )
            .label(format!("cannot fold `{ty_name}`"))
            .also(because, format!("`{ty_name}`"));
            if ty == Ty::BOOL {
                diagnostic =
                    diagnostic.help("fold truth values with `\"&\"`, `\"|\"` or `\"^\"`, or count in an `int`");
            } else if scalar.is_none() {
                diagnostic = diagnostic.help("structs fold with a scalar function of two arguments");
            }
            return self.error(diagnostic);
        };
        let neutral = func.neutral(scalar).map(|value| Box::new(Expr { kind: ExprKind::Const(value), ty, span }));
        Some(FoldOp { func, ty, neutral, ordered })
    }

    /// A scalar function as an operator on `ty`.
    fn operator_function(&mut self, name: &str, span: Span, ty: Ty) -> Option<ScalarFnId> {
        let id = match self.lookup(name) {
            Some(Named::Global(Global::Scalar(id))) => id,
            Some(Named::Global(Global::Poisoned) | Named::Poisoned) => return self.silent(),
            Some(_) => return self.not_an_operator(span),
            None => return self.unknown_name(name, span),
        };
        self.scalar_calls.push((id, span));
        let sig = &self.globals.scalars[id];
        let unknown = sig.result.is_none() || sig.params.iter().any(|(_, ty)| ty.is_none());
        let fits =
            sig.result == Some(ty) && sig.params.len() == 2 && sig.params.iter().all(|(_, param)| *param == Some(ty));
        if unknown {
            return self.silent();
        }
        if !fits {
            let declared = sig.span;
            let wanted = self.show_ty(ty);
            return self.error(
                Diagnostic::new(Code::BadOperator, span, format!("`{name}` does not fold values of type `{wanted}`"))
                    .label("other types")
                    .also(declared, format!("should be `{wanted} {name}({wanted}, {wanted})`")),
            );
        }
        Some(id)
    }
}
