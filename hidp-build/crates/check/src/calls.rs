//! Calls in expressions: maths functions and scalar functions; struct values.

use hidp_ir::par::{ConvertMode, Expr, ExprKind, MathFn, ScalarFnId};
use hidp_syntax::ast::{self};
use hidp_syntax::diag::{Code, Diagnostic, near, prints};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::convert::{Purpose, convert};
use super::cx::{BodyKind, Cx, Named};
use super::items::Global;
use super::value::{Untyped, UntypedKind, Val, is_predicate, works_on_integers};

/// Functions of other languages, and how they are written here.
const WRITTEN_OUT: [(&str, &str); 5] = [
    ("clamp", "min(max(x, low), high)"),
    ("fract", "x - floor(x)"),
    ("lerp", "a + t * (b - a)"),
    ("mix", "a + t * (b - a)"),
    ("saturate", "min(max(x, 0), 1)"),
];

/// The maths function of this name.
pub(super) fn math_fn(name: &str) -> Option<MathFn> {
    let name = match name {
        "fabs" => "abs",
        "fmin" => "min",
        "fmax" => "max",
        name => name,
    };
    MathFn::ALL.iter().copied().find(|function| function.name() == name)
}

impl Cx<'_> {
    pub(super) fn call_value(&mut self, call: &ast::Call, span: Span) -> Option<Val> {
        let name = call.callee.name.as_str();
        match self.lookup(name) {
            Some(Named::Global(Global::Recurrence(id))) => return self.recurrence_call(id, call, span),
            Some(Named::Global(Global::Scalar(id))) => return self.scalar_call(id, call, span),
            Some(Named::Global(Global::Func(_))) => {
                return self.error(
                    Diagnostic::new(
                        Code::NotAValue,
                        call.callee.span,
                        format!("`{name}` is a function over arrays, which has no value"),
                    )
                    .label("called as a value")
                    .help(format!("call it as a statement: `{name}(…);`")),
                );
            }
            Some(Named::Global(Global::Poisoned)) => return self.silent(),
            Some(_) | None => {}
        }
        if let Some(function) = math_fn(name) {
            return self.math(function, call, span);
        }
        if super::prims::is_primitive(name) {
            return self.error(
                Diagnostic::new(
                    Code::NotAValue,
                    call.callee.span,
                    format!("`{name}` is a primitive, which has no value"),
                )
                .label("called as a value")
                .help(format!("call it as a statement: `{name}(…);`")),
            );
        }
        let candidates: Vec<&str> = self
            .names_in_scope()
            .into_iter()
            .filter(|n| self.scalar_function(n).is_some())
            .chain(MathFn::ALL.iter().map(|f| f.name()))
            .collect();
        let near = near::suggest(name, candidates).map(str::to_string);
        self.unknown_function(&call.callee, near)
    }

    pub(super) fn unknown_function<T>(&mut self, callee: &ast::Ident, near: Option<String>) -> Option<T> {
        let mut diagnostic =
            Diagnostic::new(Code::UnknownFunction, callee.span, format!("there is no function `{}`", callee.name))
                .label("not found");
        if prints(&callee.name) {
            diagnostic = diagnostic.instead_of_printing();
        } else if let Some((name, form)) = WRITTEN_OUT.iter().find(|(name, _)| *name == callee.name) {
            diagnostic = diagnostic.help(format!("`{name}` is written out here: `{form}`"));
        } else if let Some(near) = near {
            diagnostic = diagnostic.suggest(callee.span, near, "a similar name exists");
        }
        self.error(diagnostic)
    }

    pub(super) fn plain_args<'e>(&mut self, call: &'e ast::Call) -> Option<Vec<&'e ast::Expr>> {
        let mut args = Vec::new();
        self.refuse_binds(call)?;
        for arg in &call.args {
            match arg {
                ast::Arg::Expr(e) => args.push(e),
                ast::Arg::Operator { span, .. } | ast::Arg::Over { span, .. } => return self.bad_argument(*span),
                ast::Arg::WithNeutral { op, neutral } => return self.bad_argument(op.span.to(neutral.span)),
            }
        }
        Some(args)
    }

    fn bad_argument<T>(&mut self, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadArgument, span, "such an argument belongs to primitives only")
                .label("not a value"),
        )
    }

    pub(super) fn count_args<T>(&mut self, call: &ast::Call, wanted: usize, declared: Option<Span>) -> Option<T> {
        let plural = if wanted == 1 { "" } else { "s" };
        let given = call.args.len();
        let name = &call.callee.name;
        let mut diagnostic = Diagnostic::new(
            Code::ArgumentCount,
            call.callee.span,
            format!("`{name}` takes {wanted} argument{plural}, but {given} are given"),
        )
        .label(format!("takes {wanted}"));
        if let Some(declared) = declared {
            diagnostic = diagnostic.also(declared, "declared here");
        }
        self.error(diagnostic)
    }

    fn scalar_call(&mut self, id: ScalarFnId, call: &ast::Call, span: Span) -> Option<Val> {
        self.scalar_calls.push((id, call.callee.span));
        if self.kind == BodyKind::Const {
            return self.not_constant(span, "calls a function");
        }
        let args = self.plain_args(call)?;
        let sig = &self.globals.scalars[id];
        let (result, declared) = (sig.result, sig.span);
        if args.len() != sig.params.len() {
            return self.count_args(call, sig.params.len(), Some(declared));
        }
        let mut values = Vec::new();
        for (arg, (name, ty)) in args.iter().zip(&sig.params) {
            let value = self.expr(arg);
            let what = format!("parameter `{name}` of `{}`", call.callee.name);
            values.push(match (value, ty) {
                (Some(value), Some(ty)) => self.coerce(value, *ty, Purpose::since(&what, declared)),
                _ => self.silent(),
            });
        }
        let values: Vec<Expr> = values.into_iter().collect::<Option<_>>()?;
        Some(Val::typed(Expr { kind: ExprKind::Call(id, values), ty: result?, span }))
    }

    /// Reports a constant whose value is not known at compile time.
    pub(super) fn not_constant<T>(&mut self, span: Span, why: &str) -> Option<T> {
        self.error(
            Diagnostic::new(Code::NotConstant, span, "a constant's value must be known at compile time")
                .label(why)
                .help("constants are made of literals, other constants, operators, casts and maths functions"),
        )
    }

    fn math(&mut self, function: MathFn, call: &ast::Call, span: Span) -> Option<Val> {
        let args = self.plain_args(call)?;
        if args.len() != function.arity() {
            return self.count_args(call, function.arity(), None);
        }
        let values: Vec<Option<Val>> = args.iter().map(|arg| self.expr(arg)).collect();
        let values: Vec<Val> = values.into_iter().collect::<Option<_>>()?;
        if let Some(bad) = values.iter().find(|v| v.default_ty().scalar().is_none()) {
            let (ty, at) = (self.show_ty(bad.default_ty()), bad.span());
            return self.error(
                Diagnostic::new(
                    Code::BadOperand,
                    at,
                    format!("`{}` takes numbers, but this is `{ty}`", call.callee.name),
                )
                .label(format!("`{ty}`")),
            );
        }
        self.math_of(function, values, call, span)
    }

    fn math_of(&mut self, function: MathFn, values: Vec<Val>, call: &ast::Call, span: Span) -> Option<Val> {
        let untyped: Option<Vec<Untyped>> = values
            .iter()
            .map(|value| match value {
                Val::Untyped(untyped) => Some(untyped.clone()),
                Val::Typed { .. } => None,
            })
            .collect();
        if let Some(args) = untyped.filter(|_| !is_predicate(function)) {
            return Some(Val::Untyped(Untyped { kind: UntypedKind::Math(function, args), span }));
        }
        let mut values = values.into_iter();
        let first = values.next()?;
        // All operands meet in one type, from left to right.
        let mut dimension = matches!(first, Val::Typed { dimension: true, .. });
        let mut exprs = Vec::new();
        let mut common = first;
        let rest: Vec<Val> = values.collect();
        let mut all = vec![common.clone()];
        for value in rest {
            all.push(value.clone());
            let (left, _, _, keeps) = self.meet(common, value, call.callee.name.as_str(), call.callee.span)?;
            dimension = keeps;
            common = Val::Typed { expr: left, dimension: keeps };
        }
        let mut scalar = common.default_ty().scalar()?;
        if !works_on_integers(function) && !scalar.is_float() || scalar == Scalar::Bool {
            scalar = if works_on_integers(function) { Scalar::I32 } else { Scalar::F64 };
        }
        for value in all {
            exprs.push(match value {
                Val::Untyped(untyped) => self.materialize(&untyped, scalar)?,
                Val::Typed { expr, .. } => convert(expr, scalar, ConvertMode::Cast),
            });
        }
        let ty = if is_predicate(function) { Ty::BOOL } else { scalar.into() };
        let expr = Expr { kind: ExprKind::Math(function, exprs), ty, span };
        Some(Val::Typed { dimension: dimension && ty == Ty::LONG, expr })
    }

    pub(super) fn struct_value(
        &mut self,
        ty: &ast::TypeName,
        fields: &[(ast::Ident, ast::Expr)],
        span: Span,
    ) -> Option<Val> {
        let known = self.type_name(ty);
        let Some(Ty::Struct(id)) = known else {
            known?;
            return self.error(
                Diagnostic::new(Code::StructValue, ty.span, format!("`{}` is no struct", ty.name))
                    .label("a number type"),
            );
        };
        let strukt = self.globals.structs[id].clone();
        let mut values: Vec<Option<Expr>> = vec![None; strukt.fields.len()];
        let mut complete = true;
        for (field, value) in fields {
            let value = self.expr(value);
            let Some(position) = strukt.fields.iter().position(|(name, _)| *name == field.name) else {
                let diagnostic = self.unknown_field(id, field);
                return self.error(diagnostic);
            };
            if values[position].is_some() {
                return self.error(
                    Diagnostic::new(Code::StructValue, field.span, format!("field `{}` is given twice", field.name))
                        .label("given again"),
                );
            }
            let what = format!("field `{}`", field.name);
            let value =
                value.and_then(|v| self.coerce(v, strukt.fields[position].1, Purpose::since(&what, strukt.span)));
            complete &= value.is_some();
            values[position] = value;
        }
        let missing: Vec<String> = strukt
            .fields
            .iter()
            .zip(&values)
            .filter(|((name, _), value)| value.is_none() && !fields.iter().any(|(f, _)| f.name == *name))
            .map(|((name, _), _)| format!("`{name}`"))
            .collect();
        if !missing.is_empty() {
            return self.error(
                Diagnostic::new(
                    Code::StructValue,
                    span,
                    if missing.len() == 1 {
                        format!("field {} has no value", missing[0])
                    } else {
                        format!("fields {} have no value", missing.join(", "))
                    },
                )
                .label("a struct value names every field")
                .also(strukt.span, "declared here"),
            );
        }
        if !complete {
            return None;
        }
        let values: Vec<Expr> = values.into_iter().collect::<Option<_>>()?;
        Some(Val::typed(Expr { kind: ExprKind::Struct(id, values), ty: Ty::Struct(id), span }))
    }
}
