//! Assignments.

use hidp_ir::par::{BinOp, Expr, ExprKind, Stmt, StmtKind};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::stmt;
use super::convert::Purpose;
use super::cx::{Cx, Named};
use super::expr::arithmetic_op;
use super::parallel::ParallelTarget;
use super::shape;
use super::target::TargetRef;
use super::value::Val;

impl Cx<'_> {
    pub(super) fn assign(&mut self, assign: &ast::Assign, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        if let Some(call) = self.primitive_value(assign) {
            return self.assign_primitive(&assign.target, call, span, out);
        }
        self.refuse_missing_map(assign, span)?;
        let Some(target) = self.target(&assign.target) else {
            // A second look at the value finds its own errors; sections on it are fine only if the target was one.
            return self.value_of_bad_target(&assign.value);
        };
        let op = assign.op.map(|op| (op, self.operator_span(assign)));
        match target {
            TargetRef::Parallel { array, subs, path, ty } => {
                let directives = self.take_directives();
                let target = ParallelTarget { array, subs, path, ty, span: assign.target.span };
                self.parallel_assign(target, op, &assign.value, directives, out)
            }
            TargetRef::New => self.first_assignment(assign, span, out),
            TargetRef::Scalar { var, path, ty } => {
                let value = self.expr(&assign.value)?;
                let declared = self.vars[var].span;
                let value = match op {
                    None => value,
                    Some((op, op_span)) => {
                        self.mark_read(var, assign.target.span)?;
                        let mut old = Expr::read(var, self.vars[var].ty, assign.target.span);
                        for field in &path {
                            let ty = self.field_ty(old.ty, *field);
                            let kind = ExprKind::Field(Box::new(old), *field);
                            old = Expr { kind, ty, span: assign.target.span };
                        }
                        self.compound(op, Val::typed(old), value, op_span, span)?
                    }
                };
                let what = format!("`{}`", self.text(assign.target.span));
                let value = self.coerce(value, ty, Purpose::since(&what, declared))?;
                if path.is_empty() {
                    self.mark_assigned(var);
                    out.push(stmt(StmtKind::Assign { var, value }, span));
                } else {
                    out.push(stmt(StmtKind::AssignField { var, path, value }, span));
                }
                Some(())
            }
            TargetRef::Element { place, ty } => {
                let value = self.expr(&assign.value)?;
                let declared = self.vars[place.array].span;
                let value = match op {
                    None => value,
                    Some((op, op_span)) => {
                        self.info_mut(place.array).read = true;
                        let old = Expr { kind: ExprKind::Load(place.clone()), ty, span: place.span };
                        self.compound(op, Val::typed(old), value, op_span, span)?
                    }
                };
                let what = format!("`{}`", self.text(assign.target.span));
                let value = self.coerce(value, ty, Purpose::since(&what, declared))?;
                out.push(stmt(StmtKind::Store { place, value }, span));
                Some(())
            }
        }
    }

    /// Reports `y[i] = …;` outside of maps where there is no `i`: the statement wants a map.
    fn refuse_missing_map(&mut self, assign: &ast::Assign, span: Span) -> Option<()> {
        let ast::ExprKind::Index { base, subscripts } = &assign.target.kind else { return Some(()) };
        let ast::ExprKind::Name(array) = &base.kind else { return Some(()) };
        let (false, Some(Named::Array(array))) = (self.in_map(), self.lookup(array)) else { return Some(()) };
        let mut iterators: Vec<(&str, Span, String)> = Vec::new();
        for (subscript, extent) in subscripts.iter().zip(&self.vars[array].shape) {
            let ast::Subscript::At(ast::Expr { kind: ast::ExprKind::Name(name), span }) = subscript else { continue };
            if self.lookup(name).is_none() && !self.unknown.contains(name) {
                iterators.push((name, *span, format!("{name} := [0:{});", self.text(extent.span))));
            }
        }
        let Some(&(name, at, _)) = iterators.first() else { return Some(()) };
        let ranges: Vec<&str> = iterators.iter().map(|(_, _, range)| range.as_str()).collect();
        let map = format!("map {{ {} {} }}", ranges.join(" "), self.text(span));
        let diagnostic =
            Diagnostic::new(Code::UnknownName, at, format!("there is no `{name}` here: a map declares iterators"))
                .label("not found in this scope")
                .suggest(span, map, "write a map, which runs the statement for every element");
        for (name, ..) in iterators {
            self.unknown.insert(name.to_owned());
        }
        self.error(diagnostic)
    }

    /// The target is wrong; the value's own errors are worth having where no data-parallel statement can be meant.
    fn value_of_bad_target(&mut self, value: &ast::Expr) -> Option<()> {
        if self.in_map() {
            let _ = self.expr(value);
        }
        None
    }

    pub(super) fn field_ty(&self, ty: Ty, field: u32) -> Ty {
        match ty {
            Ty::Struct(id) => self.globals.structs[id].fields[field as usize].1,
            Ty::Scalar(_) => ty,
        }
    }

    /// `_x = e;` where nothing is called `_x`: makes a scalar of this iteration.
    fn first_assignment(&mut self, assign: &ast::Assign, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let name = self.text(assign.target.span);
        if assign.op.is_some() {
            return self.unknown_name(name, assign.target.span);
        }
        let value = self.expr(&assign.value).and_then(|value| self.settle(value));
        let var = self.make_implicit(name, value.as_ref().map(|v| v.ty), assign.target.span);
        self.mark_assigned(var);
        out.push(stmt(StmtKind::Assign { var, value: value? }, span));
        Some(())
    }

    /// The characters of the operator of a compound assignment.
    pub(super) fn operator_span(&self, assign: &ast::Assign) -> Span {
        let gap = Span { start: assign.target.span.end, end: assign.value.span.start, ..assign.target.span };
        let text = self.text(gap);
        let trimmed = text.trim();
        let start = gap.start + (text.len() - text.trim_start().len()) as u32;
        Span { start, end: start + trimmed.len() as u32, ..gap }
    }

    /// The value of `old op= right`: the right side converts to the target's type, in which the operation is done.
    pub(super) fn compound(
        &mut self,
        op: ast::BinaryOp,
        old: Val,
        right: Val,
        op_span: Span,
        span: Span,
    ) -> Option<Val> {
        let op = arithmetic_op(op);
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return self.shift(op, old, right, span);
        }
        let ty = old.default_ty();
        let old_span = old.span();
        let what = format!("`{}`", self.text(old_span));
        let right = self.coerce(right, ty, Purpose::since(&what, old_span))?;
        let value = self.operate(op, old, Val::typed(right), op_span, span)?;
        match value.default_ty() {
            result if result == ty => Some(value),
            // `+=` on a bool gives an int.
            result => {
                let (result, ty) = (self.show_ty(result), self.show_ty(ty));
                self.error(
                    Diagnostic::new(
                        Code::BadOperand,
                        op_span,
                        format!("`{}=` on `{ty}` gives `{result}`", shape::bin_op(op)),
                    )
                    .label(format!("the result is no `{ty}`"))
                    .help("use `|=`, `&=` or `^=` on truth values"),
                )
            }
        }
    }
}
