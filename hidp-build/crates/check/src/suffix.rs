//! The folds behind a map: `} reduce("+", y[r], _t, k := [*]);`.

use hidp_ir::par::{
    self, Directives, Expr, ExprKind, Fold, FoldKind, FoldOp, Iter, Stmt, StmtKind, Target, VarId, VarKind,
};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::{dimensions, stmt};
use super::convert::Purpose;
use super::cx::Cx;
use super::maps::collect_names;
use super::ops::OpArg;
use super::shape;
use super::target::TargetRef;
use super::value::Val;

/// A suffix whose inside was checked; the target belongs to the level outside.
pub(super) struct HalfFold<'e> {
    kind: FoldKind,
    op: OpArg<'e>,
    target: &'e ast::Expr,
    value: Expr,
    over: Vec<VarId>,
    span: Span,
    /// Name of the scalar that holds the value where it needs one of its own.
    name: String,
}

/// The arguments of a suffix, apart.
struct SuffixArgs<'e> {
    op: OpArg<'e>,
    target: &'e ast::Expr,
    value: &'e ast::Expr,
    over: Vec<(&'e ast::Ident, Span)>,
}

impl Cx<'_> {
    // ---- suffixes, seen from inside the body

    pub(super) fn suffix_inside<'e>(&mut self, call: &'e ast::Call, iters: &[Option<Iter>]) -> Option<HalfFold<'e>> {
        let kind = match call.callee.name.as_str() {
            "reduce" => FoldKind::Reduce,
            "scan" => FoldKind::Scan,
            "exscan" => FoldKind::Exscan,
            _ => return self.bad_suffix(call),
        };
        let span = suffix_span(call);
        let SuffixArgs { op, target, value, over } = self.suffix_args(call, kind)?;
        let over = self.over(kind, &over, iters.len(), span);
        let value = self.expr(value).and_then(|value| self.settle(value));
        let name = self.vars_name(value.as_ref());
        Some(HalfFold { kind, op, target, value: value?, over: over?, span, name })
    }

    /// A fold over cells, whose value is known; the innermost so many iterators are its indices.
    pub(super) fn half_of_cells<'e>(&mut self, call: &'e ast::Call, value: Expr, own: usize) -> Option<HalfFold<'e>> {
        let (kind, span) = (FoldKind::Reduce, suffix_span(call));
        let SuffixArgs { op, target, over, .. } = self.suffix_args(call, kind)?;
        let over = self.over(kind, &over, own, span)?;
        Some(HalfFold { kind, op, target, value, over, span, name: "value".to_string() })
    }

    fn vars_name(&self, value: Option<&Expr>) -> String {
        match value.map(|v| &v.kind) {
            Some(ExprKind::Read(var)) => self.vars[*var].name.clone(),
            _ => "value".to_string(),
        }
    }

    fn bad_suffix<T>(&mut self, call: &ast::Call) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadSuffix, call.callee.span, format!("`{}` is no suffix of a map", call.callee.name))
                .label("not `reduce`, `scan` or `exscan`"),
        )
    }

    fn suffix_args<'e>(&mut self, call: &'e ast::Call, kind: FoldKind) -> Option<SuffixArgs<'e>> {
        let mut plain = Vec::new();
        let mut over = Vec::new();
        for arg in &call.args {
            match arg {
                ast::Arg::Over { iter, span } => over.push((iter, *span)),
                ast::Arg::Expr(_) | ast::Arg::Operator { .. } | ast::Arg::WithNeutral { .. } => plain.push(arg),
            }
        }
        let (op, rest) = match plain.as_slice() {
            [ast::Arg::Operator { name, span }, rest @ ..] => (OpArg::Quoted(name, *span), rest),
            [ast::Arg::WithNeutral { op, neutral }, rest @ ..] => (OpArg::WithNeutral(op, neutral), rest),
            [ast::Arg::Expr(first), rest @ ..] if rest.len() == 2 => (self.named_op(first)?, rest),
            rest if kind != FoldKind::Reduce => (OpArg::Default(call.callee.span), rest),
            // Only scans have an operator that may be left out.
            _ => (OpArg::Default(call.callee.span), &[] as &[&ast::Arg]),
        };
        if let [ast::Arg::Expr(target), ast::Arg::Expr(value)] = rest {
            return Some(SuffixArgs { op, target, value, over });
        }
        let name = &call.callee.name;
        self.error(
            Diagnostic::new(
                Code::BadSuffix,
                suffix_span(call),
                format!("`{name}` behind a map takes an operator, a target, a value and iterators"),
            )
            .label("other arguments")
            .help(format!("write `{name}(\"+\", out, _x, i := [*]);`")),
        )
    }

    fn over(&mut self, kind: FoldKind, names: &[(&ast::Ident, Span)], own: usize, span: Span) -> Option<Vec<VarId>> {
        let mut over = Vec::new();
        let own: Vec<VarId> = self.iters[self.iters.len() - own..].to_vec();
        for (name, whole) in names {
            let Some(var) = own.iter().copied().find(|var| self.vars[*var].name == name.name) else {
                return self.not_an_iterator(name, &own);
            };
            if over.contains(&var) {
                return self.error(
                    Diagnostic::new(Code::FoldOver, *whole, format!("`{}` is folded over twice", name.name))
                        .label("named again"),
                );
            }
            over.push(var);
        }
        let what = match kind {
            FoldKind::Reduce => None,
            FoldKind::Scan | FoldKind::Exscan => (over.len() != 1).then_some("runs along exactly one iterator"),
        };
        if let Some(what) = what {
            return self.error(
                Diagnostic::new(Code::FoldOver, span, format!("a scan {what}")).label(format!("names {}", over.len())),
            );
        }
        if over.is_empty() {
            return self.error(
                Diagnostic::new(Code::FoldOver, span, "no iterator is folded over")
                    .label("names none")
                    .help("name the iterators to fold over: `k := [*]`"),
            );
        }
        Some(over)
    }

    fn not_an_iterator<T>(&mut self, name: &ast::Ident, own: &[VarId]) -> Option<T> {
        let names: Vec<&str> = own.iter().map(|var| self.vars[*var].name.as_str()).collect();
        let outer = self.iters.iter().any(|var| self.vars[*var].name == name.name);
        let near = near::suggest(&name.name, names.iter().copied());
        let mut diagnostic = Diagnostic::new(
            Code::FoldOver,
            name.span,
            format!("`{}` is no iterator of the map that the suffix follows", name.name),
        )
        .label(if outer { "an iterator of an outer map" } else { "not an iterator" });
        diagnostic = match near {
            Some(near) => diagnostic.suggest(name.span, near, "a similar iterator exists"),
            None => {
                let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
                diagnostic.note(format!("its iterators are {}", list.join(", ")))
            }
        };
        self.error(diagnostic)
    }

    /// Values that are no scalars of the body's own get one, at the end of the body.
    pub(super) fn fold_values<'e>(
        &mut self,
        halves: Vec<Option<HalfFold<'e>>>,
        body: &mut Vec<Stmt>,
    ) -> Vec<Option<HalfFold<'e>>> {
        let level = self.level();
        halves
            .into_iter()
            .map(|half| {
                let mut half = half?;
                let own = match half.value.kind {
                    ExprKind::Read(var) => {
                        self.info(var).level == level
                            && self.vars[var].kind == VarKind::Local
                            && !self.vars[var].is_array()
                    }
                    _ => false,
                };
                if !own {
                    half.value = self.temporary(&half.name, half.value.clone(), body);
                }
                Some(half)
            })
            .collect()
    }

    // ---- suffixes, seen from outside

    pub(super) fn suffix_outside(
        &mut self,
        half: HalfFold<'_>,
        own: &[VarId],
        directives: &Directives,
        body: &mut Vec<Stmt>,
    ) -> Option<Fold> {
        let reduce = half.kind == FoldKind::Reduce;
        let free: Vec<VarId> = own.iter().copied().filter(|iter| !reduce || !half.over.contains(iter)).collect();
        let folded: Vec<VarId> = if reduce { half.over.clone() } else { Vec::new() };
        let target = self.fold_target(half.target, &free, &folded, half.value.ty);
        let (target, ty) = target?;
        let op = self.fold_op(half.op, ty, directives.ordered, half.target.span)?;
        let what = format!("`{}`", self.text(half.target.span));
        let value = self.coerce(Val::typed(half.value), ty, Purpose::since(&what, half.target.span))?;
        let value = self.fold_value(value, &op, body);
        Some(Fold { kind: half.kind, op, target, value, over: half.over, span: half.span })
    }

    pub(super) fn poison_new_of(&mut self, arg: &ast::Arg) {
        if let ast::Arg::Expr(target) = arg {
            self.poison_new(target);
        }
    }

    /// The scalar that holds the value of a fold: the value itself, or a converted copy at the end of the body.
    fn fold_value(&mut self, value: Expr, op: &FoldOp, body: &mut Vec<Stmt>) -> VarId {
        if let ExprKind::Read(var) = value.kind {
            return var;
        }
        let span = value.span;
        let var = self.new_var("value", op.ty, Vec::new(), VarKind::Local, span);
        let info = self.info_mut(var);
        (info.read, info.written) = (true, true);
        body.push(stmt(StmtKind::Declare { var, zero: true }, span));
        body.push(stmt(StmtKind::Assign { var, value }, span));
        var
    }

    /// Where a fold's results go. `free` are the iterators that index it; they have names while it is checked.
    fn fold_target(&mut self, e: &ast::Expr, free: &[VarId], folded: &[VarId], value: Ty) -> Option<(Target, Ty)> {
        self.push_scope();
        for iter in free {
            let name = self.vars[*iter].name.clone();
            self.bind(&name, *iter);
        }
        let before = self.iters.len();
        self.iters.extend(free);
        let target = self.fold_place(e, free, folded);
        self.iters.truncate(before);
        self.pop_scope();
        match target? {
            TargetRef::Element { place, ty } => {
                self.each_iterator_indexes(&place, free, e.span)?;
                Some((Target::Element(place), ty))
            }
            TargetRef::Scalar { var, path, ty } if path.is_empty() => {
                if let Some(iter) = free.first() {
                    let (iter, name) = (self.vars[*iter].name.clone(), self.vars[var].name.clone());
                    return self.error(
                        Diagnostic::new(
                            Code::FoldTarget,
                            e.span,
                            format!("`{name}` is one value, but there is a result for every `{iter}`"),
                        )
                        .label("a scalar")
                        .help(format!("fold over it too, `{iter} := [*]`, or use an array indexed by it")),
                    );
                }
                self.mark_assigned(var);
                Some((Target::Scalar(var), ty))
            }
            TargetRef::Scalar { .. } => self.error(
                Diagnostic::new(Code::FoldTarget, e.span, "a fold cannot end in a field of a scalar")
                    .label("a field")
                    .help("fold into a scalar and assign the field afterwards"),
            ),
            TargetRef::Parallel { array, .. } => {
                let name = self.vars[array].name.clone();
                let rank = self.vars[array].shape.len();
                let index: String = free.iter().map(|iter| format!("[{}]", self.vars[*iter].name)).collect();
                let mut diagnostic = Diagnostic::new(
                    Code::FoldTarget,
                    e.span,
                    format!("`{name}` is an array of {}, but each fold gives one value", dimensions(rank)),
                )
                .label("not one element");
                if !index.is_empty() && free.len() == rank {
                    diagnostic = diagnostic.suggest(e.span, format!("{name}{index}"), "name the element");
                }
                self.error(diagnostic)
            }
            TargetRef::New => {
                if let Some(iter) = free.first() {
                    let iter = self.vars[*iter].name.clone();
                    return self.error(
                        Diagnostic::new(
                            Code::FoldTarget,
                            e.span,
                            format!("one value would hold a result for every `{iter}`"),
                        )
                        .label("a scalar"),
                    );
                }
                let name = self.text(e.span);
                let var = self.make_implicit(name, Some(value), e.span);
                self.mark_assigned(var);
                Some((Target::Scalar(var), value))
            }
        }
    }

    /// The target of a fold as seen from the level outside the map, where only free iterators have names.
    fn fold_place(&mut self, e: &ast::Expr, free: &[VarId], folded: &[VarId]) -> Option<TargetRef> {
        let mut names = Vec::new();
        collect_names(e, &mut names);
        for (name, span) in names {
            let hidden = folded.iter().any(|iter| self.vars[*iter].name == name);
            if hidden && self.lookup(&name).is_none() {
                return self.error(
                    Diagnostic::new(
                        Code::FoldTarget,
                        span,
                        format!("`{name}` is folded over, so results have no `{name}`"),
                    )
                    .label("gone after the fold")
                    .help("index the target by the iterators that are not named in the suffix"),
                );
            }
        }
        // An element named by the rule of the iteration: `_y` or `y` for `y[r]`.
        if let ast::ExprKind::Name(name) = &e.kind
            && let Some(super::cx::Named::Array(array)) = self.lookup(name)
            && let Some(index) = self.iteration_index(array, e.span).filter(|_| !free.is_empty() || self.in_map())
        {
            self.check_writable(array, e.span)?;
            let ty = self.vars[array].ty;
            return Some(TargetRef::Element { place: self.place(array, index, e.span), ty });
        }
        self.target(e)
    }

    fn each_iterator_indexes(&mut self, place: &par::Place, free: &[VarId], span: Span) -> Option<()> {
        for iter in free {
            if !place.index.iter().any(|index| shape::mentions(index, *iter)) {
                let name = self.vars[*iter].name.clone();
                let declared = self.vars[*iter].span;
                return self.error(
                    Diagnostic::new(
                        Code::FoldTarget,
                        span,
                        format!("the results for every `{name}` would go to one element"),
                    )
                    .label(format!("not indexed by `{name}`"))
                    .also(declared, "not folded over")
                    .help(format!("index the target by `{name}`, or fold over it: `{name} := [*]`")),
                );
            }
        }
        Some(())
    }
}

/// From the word to the last argument.
fn suffix_span(call: &ast::Call) -> Span {
    match call.args.last() {
        Some(ast::Arg::Over { span, .. } | ast::Arg::Operator { span, .. }) => call.callee.span.to(*span),
        Some(ast::Arg::Expr(e) | ast::Arg::WithNeutral { neutral: e, .. }) => call.callee.span.to(e.span),
        None => call.callee.span,
    }
}
