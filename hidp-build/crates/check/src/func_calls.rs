//! Calls of functions over arrays.

use hidp_ir::par::{CallArg, FuncId, Section, SectionDim, Stmt, StmtKind, VarId};
use hidp_syntax::ast::{self, Direction, DirectiveKind};
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::prim;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::{dimensions, stmt};
use super::convert::Purpose;
use super::cx::{Cx, Named};
use super::items::{Global, ParamSig};
use super::target::TargetRef;

impl Cx<'_> {
    pub(super) fn call_stmt(&mut self, call: &ast::Call, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let name = call.callee.name.as_str();
        if call.args.iter().any(|arg| matches!(arg, ast::Arg::Over { .. })) {
            return self.fold_of_cells(call, span, out);
        }
        match self.lookup(name) {
            Some(Named::Global(Global::Func(id))) => return self.func_call(id, call, span, out),
            Some(Named::Global(Global::Recurrence(_))) => {
                return self.error(
                    Diagnostic::new(Code::MisplacedCell, span, format!("the value of recurrence `{name}` is not used"))
                        .label("has no other effect")
                        .help("assign its value"),
                );
            }
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
            .chain(prim::statements().map(|name| -> &str { name }))
            .collect();
        let near = near::suggest(name, candidates).map(str::to_string);
        self.unknown_function(&call.callee, near)
    }

    fn func_call(&mut self, id: FuncId, call: &ast::Call, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        self.calls.push((id, call.callee.span));
        if let Some(at) = self.pending.iter().position(|directive| directive.kind == DirectiveKind::Ordered) {
            self.pending.remove(at);
            self.ordered.calls.push(span);
        }
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

    pub(super) fn func_arg(
        &mut self,
        arg: &ast::Expr,
        param: &ParamSig,
        callee: &str,
        out: &mut Vec<Stmt>,
    ) -> Option<CallArg> {
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
        let (array, dims) = match &arg.kind {
            ast::ExprKind::Name(name) => (self.array_named(name, arg.span, what)?, None),
            ast::ExprKind::Index { base, subscripts } => {
                let array = self.subscripted_array(base)?;
                (array, Some(self.section_dims(array, subscripts, arg.span, out)?))
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
        let rank = match &dims {
            None => self.vars[array].shape.len(),
            Some(dims) => dims.iter().filter(|dim| !matches!(dim, SectionDim::At(_))).count(),
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
        let Some(dims) = dims else { return Some(CallArg::Array(array)) };
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
