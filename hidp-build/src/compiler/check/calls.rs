//! Calls: maths functions, scalar functions, functions over arrays; struct values.

use crate::compiler::diag::{Code, Diagnostic, near};
use crate::compiler::ir::par::{
    CallArg, ConvertMode, Expr, ExprKind, FuncId, MathFn, ScalarFnId, Section, SectionDim, Stmt, StmtKind, VarId,
};
use crate::compiler::source::Span;
use crate::compiler::syntax::ast::{self, Direction};
use crate::compiler::ty::{Scalar, Ty};

use super::access::{Sub, TargetRef, all_at, dimensions, stmt};
use super::convert::{Purpose, convert};
use super::cx::{BodyKind, Cx, Named};
use super::items::{Global, ParamSig};
use super::value::{Untyped, UntypedKind, Val, is_predicate, works_on_integers};

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
    // ---- calls in expressions

    pub(super) fn call_value(&mut self, call: &ast::Call, span: Span) -> Option<Val> {
        let name = call.callee.name.as_str();
        match self.lookup(name) {
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

    fn unknown_function<T>(&mut self, callee: &ast::Ident, near: Option<String>) -> Option<T> {
        let mut diagnostic =
            Diagnostic::new(Code::UnknownFunction, callee.span, format!("there is no function `{}`", callee.name))
                .label("not found");
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(callee.span, near, "a similar name exists");
        }
        self.error(diagnostic)
    }

    fn plain_args<'e>(&mut self, call: &'e ast::Call) -> Option<Vec<&'e ast::Expr>> {
        let mut args = Vec::new();
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

    fn count_args<T>(&mut self, call: &ast::Call, wanted: usize, declared: Option<Span>) -> Option<T> {
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

    // ---- struct values

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

    // ---- calls as statements

    pub(super) fn call_stmt(&mut self, call: &ast::Call, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let name = call.callee.name.as_str();
        match self.lookup(name) {
            Some(Named::Global(Global::Func(id))) => return self.func_call(id, call, span, out),
            Some(Named::Global(Global::Scalar(_))) => {
                return self.error(
                    Diagnostic::new(
                        Code::NotAValue,
                        call.callee.span,
                        format!("the value of scalar function `{name}` is not used"),
                    )
                    .label("has no other effect")
                    .help("assign its value"),
                );
            }
            Some(Named::Global(Global::Poisoned)) => return self.silent(),
            Some(_) | None => {}
        }
        if super::prims::is_primitive(name) {
            return self.primitive(call, span, out);
        }
        let candidates: Vec<&str> = self
            .names_in_scope()
            .into_iter()
            .filter(|n| matches!(self.lookup(n), Some(Named::Global(Global::Func(_)))))
            .chain(super::prims::NAMES.iter().copied())
            .collect();
        let near = near::suggest(name, candidates).map(str::to_string);
        self.unknown_function(&call.callee, near)
    }

    fn func_call(&mut self, id: FuncId, call: &ast::Call, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        self.calls.push((id, call.callee.span));
        let args = self.plain_args(call)?;
        let sig = self.globals.funcs[id].clone();
        if args.len() != sig.params.len() {
            return self.count_args(call, sig.params.len(), Some(sig.span));
        }
        let checked: Vec<Option<CallArg>> =
            args.iter().zip(&sig.params).map(|(arg, param)| self.func_arg(arg, param, &sig.name, out)).collect();
        let checked: Option<Vec<CallArg>> = checked.into_iter().collect();
        let Some(checked) = checked else {
            for (arg, _) in
                args.iter().zip(&sig.params).filter(|(_, p)| p.rank == 0 && p.direction == Direction::Output)
            {
                self.poison_new(arg);
            }
            return None;
        };
        let uses: Vec<(Option<VarId>, Direction, Span)> = checked
            .iter()
            .zip(&sig.params)
            .zip(&args)
            .map(|((arg, param), e)| (variable_of(arg), param.direction, e.span))
            .collect();
        self.refuse_aliases(&uses, &sig.name)?;
        out.push(stmt(StmtKind::Call { callee: id, args: checked }, span));
        Some(())
    }

    fn func_arg(&mut self, arg: &ast::Expr, param: &ParamSig, callee: &str, out: &mut Vec<Stmt>) -> Option<CallArg> {
        let what = format!("parameter `{}` of `{callee}`", param.name);
        if param.rank > 0 {
            return self.array_arg(arg, param, &what, out);
        }
        if param.direction == Direction::Input {
            let value = self.expr_of(arg, param.ty?, Purpose::since(&what, param.span))?;
            return Some(CallArg::Value(value));
        }
        let reads = param.direction == Direction::Inout;
        match self.target(arg)? {
            TargetRef::Scalar { var, path, ty } if path.is_empty() => {
                self.same_type(ty, param, arg.span, &what)?;
                if reads {
                    self.mark_read(var, arg.span)?;
                }
                self.mark_assigned(var);
                Some(CallArg::Scalar(var))
            }
            TargetRef::Scalar { .. } => self.error(
                Diagnostic::new(Code::BadArgument, arg.span, format!("{what} is written, so it takes a variable"))
                    .label("a field"),
            ),
            TargetRef::Element { place, ty } => {
                self.same_type(ty, param, arg.span, &what)?;
                self.info_mut(place.array).read |= reads;
                Some(CallArg::Element(place))
            }
            TargetRef::New if !reads => {
                let var = self.make_implicit(self.text(arg.span), param.ty, arg.span);
                self.mark_assigned(var);
                Some(CallArg::Scalar(var))
            }
            TargetRef::New => self.unknown_name(self.text(arg.span), arg.span),
            TargetRef::Parallel { array, .. } => {
                let name = self.vars[array].name.clone();
                self.error(
                    Diagnostic::new(
                        Code::RankMismatch,
                        arg.span,
                        format!("{what} is a scalar, but `{name}` is an array"),
                    )
                    .label("an array")
                    .also(param.span, "a scalar"),
                )
            }
        }
    }

    fn same_type(&mut self, ty: Ty, param: &ParamSig, span: Span, what: &str) -> Option<()> {
        let wanted = param.ty?;
        if ty == wanted {
            return Some(());
        }
        let (ty, wanted) = (self.show_ty(ty), self.show_ty(wanted));
        self.error(
            Diagnostic::new(Code::MismatchedTypes, span, format!("{what} needs `{wanted}`, but this is `{ty}`"))
                .label(format!("`{ty}`"))
                .also(param.span, format!("`{wanted}`"))
                .note("what is passed by reference must have exactly the parameter's type"),
        )
    }

    fn array_arg(&mut self, arg: &ast::Expr, param: &ParamSig, what: &str, out: &mut Vec<Stmt>) -> Option<CallArg> {
        let (array, subs) = match &arg.kind {
            ast::ExprKind::Name(name) => (self.array_named(name, arg.span, what)?, None),
            ast::ExprKind::Index { base, subscripts } => {
                let array = self.subscripted_array(base)?;
                (array, Some(self.subscripts(array, subscripts, arg.span)?))
            }
            ast::ExprKind::Error => return self.silent(),
            _ => {
                return self.error(
                    Diagnostic::new(Code::NotAnArray, arg.span, format!("{what} takes an array"))
                        .label("not an array")
                        .also(param.span, "an array")
                        .help("compute it into a local array first"),
                );
            }
        };
        self.same_type(self.vars[array].ty, param, arg.span, what)?;
        let rank = match &subs {
            None => self.vars[array].shape.len(),
            Some(subs) if all_at(subs).is_some() => 0,
            Some(subs) => subs.iter().filter(|sub| matches!(sub, Sub::Range { .. })).count(),
        };
        if rank != param.rank {
            return self.error(
                Diagnostic::new(
                    Code::RankMismatch,
                    arg.span,
                    format!("{what} has {}, but this has {rank}", dimensions(param.rank)),
                )
                .label(dimensions(rank))
                .also(param.span, dimensions(param.rank)),
            );
        }
        match param.direction {
            Direction::Input => self.info_mut(array).read = true,
            Direction::Output => self.check_writable(array, arg.span)?,
            Direction::Inout => {
                self.check_writable(array, arg.span)?;
                self.info_mut(array).read = true;
            }
        }
        let Some(subs) = subs else { return Some(CallArg::Array(array)) };
        let dims = subs
            .into_iter()
            .map(|sub| match sub {
                Sub::At(index) => SectionDim::At(self.hoisted(index, out)),
                Sub::Range { lo, hi, step } => SectionDim::Range {
                    low: self.hoisted(lo, out),
                    high: self.hoisted(hi, out),
                    step: self.hoisted(step, out),
                },
            })
            .collect();
        Some(CallArg::Section(Section { array, dims, span: arg.span }))
    }

    /// Reports one variable passed twice where one of the two is written.
    pub(super) fn refuse_aliases(&mut self, uses: &[(Option<VarId>, Direction, Span)], callee: &str) -> Option<()> {
        for (at, (var, direction, span)) in uses.iter().enumerate() {
            let Some(var) = var else { continue };
            let clash = uses[..at].iter().find(|(other, other_direction, _)| {
                *other == Some(*var) && (*direction != Direction::Input || *other_direction != Direction::Input)
            });
            let Some((_, other_direction, other)) = clash else { continue };
            let name = self.vars[*var].name.clone();
            let how = |direction: Direction| if direction == Direction::Input { "read" } else { "written" };
            let (first, second) = (how(*other_direction), how(*direction));
            return self.error(
                Diagnostic::new(
                    Code::Aliasing,
                    *span,
                    format!("`{name}` is passed to `{callee}` twice, and one of the two is written"),
                )
                .label(format!("{second} here"))
                .also(*other, format!("{first} here"))
                .help("copy it into a local array and pass that"),
            );
        }
        Some(())
    }
}

fn variable_of(arg: &CallArg) -> Option<VarId> {
    match arg {
        CallArg::Value(_) => None,
        CallArg::Scalar(var) | CallArg::Array(var) => Some(*var),
        CallArg::Element(place) => Some(place.array),
        CallArg::Section(section) => Some(section.array),
    }
}
