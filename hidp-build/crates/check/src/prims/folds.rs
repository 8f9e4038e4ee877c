//! Primitives that fold: min, max, reduce, scan, exscan, histogram.

use hidp_ir::par::{Expr, Extent, FoldOp, PrimValue, Stmt, Target};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::prim::{Form, Prim};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::access::{Sub, dimensions};
use super::super::convert::Purpose;
use super::super::cx::Cx;
use super::super::ops::OpArg;
use super::super::target::TargetRef;
use super::{Use, usage};

impl Cx<'_> {
    /// `min`, `max`, `reduce` in all forms. `target` is the left side of `_m = min(…)`.
    pub(super) fn fold_primitive(
        &mut self,
        call: &Use<'_>,
        target: Option<&ast::Expr>,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let directives = self.take_directives();
        let (input, target, bounds) = match (target, call.args.as_slice()) {
            (Some(target), [input, bounds @ ..]) => (*input, target, bounds),
            (None, [input, target, bounds @ ..]) => (*input, *target, bounds),
            _ => return self.wrong_count(call),
        };
        if bounds.is_empty() || bounds.len() > 2 {
            return self.wrong_count(call);
        }
        if call.prim == Prim::Reduce && call.op.is_none() {
            return self.error(
                Diagnostic::new(
                    Code::PrimitiveArguments,
                    call.name.span,
                    format!("`{}` needs an operator", call.name.name),
                )
                .label("the first argument is missing")
                .help(format!("write {}", usage(call.prim, call.regular, self.in_map()))),
            );
        }
        let row = self.row(input, "the input", out);
        let extent = self.extent(call, bounds, out);
        let (row, (form, extent)) = (row?, extent?);
        self.info_mut(row.array.array).read = true;
        let many = matches!(extent, Extent::Vectors { .. } | Extent::Regular { .. });
        let element = row.ty;
        let mut prim = self.new_call(call, form, extent, row, directives);
        let ty = if many {
            let output = self.output_row(target, "the output", out)?;
            self.refuse_same(&prim.input, input.span, &output.array, target.span, call)?;
            let ty = output.ty;
            prim.output = Some(output.array);
            ty
        } else {
            let (result, ty) = self.scalar_result(target, element)?;
            prim.result = Some(result);
            ty
        };
        prim.op = Some(self.primitive_op(call, ty, prim.directives.ordered, target.span)?);
        self.folds_to(element, ty, input.span, target.span)?;
        self.finish_primitive(call, prim, out)
    }

    fn primitive_op(&mut self, call: &Use<'_>, ty: Ty, ordered: bool, because: Span) -> Option<FoldOp> {
        let op = match (call.prim, call.op) {
            (Prim::Min, _) => OpArg::Quoted("min", call.name.span),
            (Prim::Max, _) => OpArg::Quoted("max", call.name.span),
            (_, Some(op)) => op,
            (_, None) => OpArg::Default(call.name.span),
        };
        self.fold_op(op, ty, ordered, because)
    }

    /// Values of type `from` are folded in type `to`.
    fn folds_to(&mut self, from: Ty, to: Ty, input: Span, output: Span) -> Option<()> {
        let fits = match (from.scalar(), to.scalar()) {
            (Some(from), Some(to)) => from.converts_to(to),
            _ => from == to,
        };
        if fits {
            return Some(());
        }
        let (from, to) = (self.show_ty(from), self.show_ty(to));
        self.error(
            Diagnostic::new(Code::PrimitiveType, output, format!("values of type `{from}` are not folded into `{to}`"))
                .label(format!("`{to}` does not hold every `{from}`"))
                .also(input, format!("`{from}`"))
                .note("values convert to the output's type, in which they are folded"),
        )
    }

    /// Where the one result of a fold goes; makes a scalar of this iteration if the name is new.
    pub(super) fn scalar_result(&mut self, e: &ast::Expr, new: Ty) -> Option<(Target, Ty)> {
        match self.target(e)? {
            TargetRef::Scalar { var, path, ty } if path.is_empty() => {
                self.mark_assigned(var);
                Some((Target::Scalar(var), ty))
            }
            TargetRef::Scalar { .. } => self.error(
                Diagnostic::new(
                    Code::PrimitiveArguments,
                    e.span,
                    "a primitive's result cannot go to a field of a scalar",
                )
                .label("a field"),
            ),
            TargetRef::Element { place, ty } => Some((Target::Element(place), ty)),
            TargetRef::New => {
                let name = self.text(e.span);
                let var = self.make_implicit(name, Some(new), e.span);
                self.mark_assigned(var);
                Some((Target::Scalar(var), new))
            }
            TargetRef::Parallel { array, subs, .. } => {
                let name = self.vars[array].name.clone();
                let rank = subs.iter().filter(|sub| matches!(sub, Sub::Range { .. })).count();
                self.error(
                    Diagnostic::new(
                        Code::PrimitiveArguments,
                        e.span,
                        "the whole array gives one value, but this is an array",
                    )
                    .label(dimensions(rank))
                    .suggest(
                        e.span,
                        format!("{name}{}", "[0]".repeat(self.vars[array].shape.len())),
                        "name an element",
                    ),
                )
            }
        }
    }

    pub(super) fn scan_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        let [input, output, bounds @ ..] = call.args.as_slice() else { return self.wrong_count(call) };
        let (row, to) = (self.row(input, "the input", out), self.output_row(output, "the output", out));
        let extent = self.extent(call, bounds, out);
        let (row, to, (form, extent)) = (row?, to?, extent?);
        self.info_mut(row.array.array).read = true;
        self.same_or_apart(&row.array, input.span, &to.array, output.span, call)?;
        let op = self.primitive_op(call, to.ty, directives.ordered, output.span)?;
        self.folds_to(row.ty, to.ty, input.span, output.span)?;
        let mut prim = self.new_call(call, form, extent, row, directives);
        prim.op = Some(op);
        prim.output = Some(to.array);
        self.finish_primitive(call, prim, out)
    }

    pub(super) fn histogram_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        if self.in_map() {
            return self.error(
                Diagnostic::new(Code::PrimitiveForm, call.name.span, "`histogram` stands outside of maps only")
                    .label("inside a map")
                    .help("use `atomic` updates in the map"),
            );
        }
        let (keys, values, output, size) = match (call.op, call.args.as_slice()) {
            (Some(_), [keys, values, output, size]) => (*keys, Some(*values), *output, *size),
            (None, [keys, output, size]) => (*keys, None, *output, *size),
            _ => return self.wrong_count(call),
        };
        let keys_row = self.row(keys, "the keys", out);
        let values_row = values.map(|values| (values.span, self.row(values, "the values", out)));
        let to = self.output_row(output, "the output", out);
        let size = self.size(size);
        let (keys_row, to) = (keys_row?, to?);
        for row in [&keys_row, &to] {
            self.info_mut(row.array.array).read = true;
        }
        self.integer_row(&keys_row, keys.span, "the keys of a histogram")?;
        self.refuse_same(&keys_row.array, keys.span, &to.array, output.span, call)?;
        let op = self.primitive_op(call, to.ty, directives.ordered, output.span)?;
        let values = match values_row {
            Some((span, row)) => {
                let row = row?;
                self.info_mut(row.array.array).read = true;
                self.refuse_same(&row.array, span, &to.array, output.span, call)?;
                self.folds_to(row.ty, to.ty, span, output.span)?;
                Some((row.array, None))
            }
            None => {
                self.integer_row(&to, output.span, "counts")?;
                None
            }
        };
        let mut prim = self.new_call(call, Form::Whole, Extent::Whole { size: size? }, keys_row, directives);
        prim.op = Some(op);
        prim.values = values;
        prim.output = Some(to.array);
        self.finish_primitive(call, prim, out)
    }

    pub(super) fn direction(&mut self, e: &ast::Expr) -> Option<Expr> {
        let dir = self.expr_of(e, Scalar::I32.into(), Purpose::new("the direction of a sort"))?;
        if dir.as_int().is_some_and(|dir| dir != 1 && dir != -1) {
            return self.error(
                Diagnostic::new(Code::PrimitiveArguments, e.span, "the direction of a sort is 1 or -1")
                    .label("neither")
                    .help("1 sorts upwards, -1 downwards"),
            );
        }
        Some(dir)
    }

    pub(super) fn pivot(&mut self, e: &ast::Expr, ty: Ty, vectors: bool, out: &mut Vec<Stmt>) -> Option<PrimValue> {
        if !vectors {
            return Some(PrimValue::Scalar(self.expr_of(e, ty, Purpose::new("the pivot"))?));
        }
        let row = self.row(e, "the pivots", out)?;
        self.info_mut(row.array.array).read = true;
        if row.ty != ty {
            let (have, want) = (self.show_ty(row.ty), self.show_ty(ty));
            return self.error(
                Diagnostic::new(
                    Code::PrimitiveType,
                    e.span,
                    format!("the pivots are `{have}`, but the predicate takes `{want}`"),
                )
                .label(format!("`{have}`")),
            );
        }
        Some(PrimValue::Array(row.array))
    }
}
