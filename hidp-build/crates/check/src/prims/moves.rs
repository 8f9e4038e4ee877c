//! Primitives that move elements: sort, reverse, partition.

use hidp_ir::par::{Extent, ScalarFnId, Stmt, VarId};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::prim::{Form, Prim};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::cx::{Cx, Named};
use super::super::items::Global;
use super::Use;
use super::args::Row;

/// Input and output, or values in and out.
type Pair = (Row, Row);

impl Cx<'_> {
    /// An input and an output of one type.
    fn pair(
        &mut self,
        call: &Use<'_>,
        from: &ast::Expr,
        to: &ast::Expr,
        in_place: bool,
        out: &mut Vec<Stmt>,
    ) -> Option<Pair> {
        let (input, output) = (self.row(from, "the input", out), self.output_row(to, "the output", out));
        let (input, output) = (input?, output?);
        self.info_mut(input.array.array).read = true;
        if in_place {
            self.same_or_apart(&input.array, from.span, &output.array, to.span, call)?;
        } else {
            self.refuse_same(&input.array, from.span, &output.array, to.span, call)?;
        }
        if input.ty != output.ty {
            let (have, want) = (self.show_ty(output.ty), self.show_ty(input.ty));
            return self.error(
                Diagnostic::new(Code::PrimitiveType, to.span, format!("elements move from `{want}` to `{have}`"))
                    .label(format!("`{have}`"))
                    .also(from.span, format!("`{want}`"))
                    .note("elements keep their type"),
            );
        }
        Some((input, output))
    }

    /// Keys and values must be four different arrays but for sorting in place.
    fn key_values(
        &mut self,
        call: &Use<'_>,
        args: &[&ast::Expr],
        in_place: bool,
        out: &mut Vec<Stmt>,
    ) -> Option<(Pair, Option<Pair>)> {
        match args {
            [from, to] => Some((self.pair(call, from, to, in_place, out)?, None)),
            [from, to, values_from, values_to] => {
                let keys = self.pair(call, from, to, in_place, out);
                let values = self.pair(call, values_from, values_to, in_place, out);
                let (keys, values) = (keys?, values?);
                let crossings = [
                    (&values.0, *values_from, &keys.1, *to),
                    (&keys.0, *from, &values.1, *values_to),
                    (&keys.1, *to, &values.1, *values_to),
                ];
                for (read, read_at, written, written_at) in crossings {
                    self.refuse_same(&read.array, read_at.span, &written.array, written_at.span, call)?;
                }
                Some((keys, Some(values)))
            }
            _ => self.wrong_count(call),
        }
    }

    pub(super) fn sort_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        // Even counts have one bound and a direction, odd ones two bounds and a direction.
        let bounds = if call.args.len().is_multiple_of(2) { 1 } else { 2 };
        let Some(arrays) = call.args.len().checked_sub(bounds + 1).filter(|n| *n == 2 || *n == 4) else {
            return self.wrong_count(call);
        };
        let (arrays, rest) = call.args.split_at(arrays);
        let (bounds, dir) = rest.split_at(bounds);
        let rows = self.key_values(call, arrays, true, out);
        let extent = self.extent(call, bounds, out);
        let dir = self.direction(dir[0]);
        let ((keys, values), (form, extent)) = (rows?, extent?);
        if keys.0.ty.scalar().is_none() {
            let ty = self.show_ty(keys.0.ty);
            return self.error(
                Diagnostic::new(Code::PrimitiveType, arrays[0].span, format!("keys of type `{ty}` have no order"))
                    .label("a struct")
                    .help("sort by one field: copy it into an array of keys and sort the structs as values"),
            );
        }
        let mut prim = self.new_call(call, form, extent, keys.0, directives);
        prim.output = Some(keys.1.array);
        prim.values = values.map(|(from, to)| (from.array, Some(to.array)));
        prim.dir = Some(dir?);
        self.finish_primitive(call, prim, out)
    }

    pub(super) fn reverse_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        let in_place = call.prim == Prim::ReverseInplace || (call.regular && call.args.len() == 3);
        if in_place {
            let [array, bounds @ ..] = call.args.as_slice() else { return self.wrong_count(call) };
            let row = self.output_row(array, "the array", out);
            let extent = self.extent(call, bounds, out);
            let (row, (form, extent)) = (row?, extent?);
            self.info_mut(row.array.array).read = true;
            let mut prim = self.new_call(call, form, extent, row, directives);
            prim.prim = Prim::ReverseInplace;
            return self.finish_primitive(call, prim, out);
        }
        let [from, to, bounds @ ..] = call.args.as_slice() else { return self.wrong_count(call) };
        let pair = self.pair(call, from, to, false, out);
        let extent = self.extent(call, bounds, out);
        let ((input, output), (form, extent)) = (pair?, extent?);
        let mut prim = self.new_call(call, form, extent, input, directives);
        prim.output = Some(output.array);
        self.finish_primitive(call, prim, out)
    }

    // ---- partition

    pub(super) fn partition_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        let last_is_function = call.args.last().is_some_and(|last| self.names_scalar_function(last));
        let (arrays, whole, count) = match (call.args.len(), last_is_function) {
            (5, _) => (2, true, false),
            (6, _) => (2, true, true),
            (7, _) => (4, true, false),
            (8, false) => (4, true, true),
            (8, true) => (2, false, false),
            (10, _) => (4, false, false),
            _ => return self.wrong_count(call),
        };
        let (arrays, rest) = call.args.split_at(arrays);
        let ((input, output), values) = self.key_values(call, arrays, false, out)?;
        let function = if whole { rest[2] } else { rest[5] };
        let (predicate, pivot_ty) = self.predicate(function, input.ty, arrays[0].span)?;
        let bounds = if whole { &rest[1..2] } else { &rest[1..3] };
        let (form, extent) = self.extent(call, bounds, out)?;
        let vectors = matches!(extent, Extent::Vectors { .. });
        let pivot = self.pivot(rest[0], pivot_ty, vectors, out)?;
        let new_bounds = match form {
            Form::Segments => Some((self.new_bound(rest[3])?, self.new_bound(rest[4])?)),
            Form::Whole | Form::Regular => None,
        };
        if let Some((low, high)) = new_bounds.filter(|(low, high)| low == high) {
            let _ = high;
            let name = self.vars[low].name.clone();
            return self.error(
                Diagnostic::new(Code::Aliasing, rest[4].span, format!("`{name}` would take both bounds"))
                    .label("given again")
                    .also(rest[3].span, "first given here"),
            );
        }
        let result = if count { Some(self.count_result(rest[3])?) } else { None };
        let mut prim = self.new_call(call, form, extent, input, directives);
        prim.output = Some(output.array);
        prim.values = values.map(|(from, to)| (from.array, Some(to.array)));
        prim.predicate = Some(predicate);
        prim.pivot = Some(pivot);
        prim.new_bounds = new_bounds;
        prim.result = result;
        self.finish_primitive(call, prim, out)
    }

    fn count_result(&mut self, e: &ast::Expr) -> Option<hidp_ir::par::Target> {
        let (target, ty) = self.scalar_result(e, Ty::LONG)?;
        if ty.scalar().is_some_and(Scalar::is_integer) {
            return Some(target);
        }
        let ty = self.show_ty(ty);
        self.error(
            Diagnostic::new(Code::PrimitiveType, e.span, format!("the count is an integer, but this is `{ty}`"))
                .label(format!("`{ty}`")),
        )
    }

    /// `bool f(element, pivot)`, and the pivot's type.
    fn predicate(&mut self, e: &ast::Expr, element: Ty, because: Span) -> Option<(ScalarFnId, Ty)> {
        let ast::ExprKind::Name(name) = &e.kind else {
            return self.error(
                Diagnostic::new(Code::Predicate, e.span, "the predicate of `partition` is named here")
                    .label("not a scalar function"),
            );
        };
        let id = match self.lookup(name) {
            Some(Named::Global(Global::Scalar(id))) => id,
            Some(Named::Poisoned | Named::Global(Global::Poisoned)) => return self.silent(),
            Some(_) => {
                return self.error(
                    Diagnostic::new(Code::Predicate, e.span, format!("`{name}` is no scalar function"))
                        .label("the predicate of `partition` stands here"),
                );
            }
            None => return self.unknown_name(name, e.span),
        };
        self.scalar_calls.push((id, e.span));
        let sig = &self.globals.scalars[id];
        if sig.result.is_none() || sig.params.iter().any(|(_, ty)| ty.is_none()) {
            return self.silent();
        }
        match (sig.result, sig.params.as_slice()) {
            (Some(Ty::BOOL), [(_, Some(first)), (_, Some(pivot))]) if *first == element => Some((id, *pivot)),
            _ => {
                let declared = sig.span;
                let ty = self.show_ty(element);
                self.error(
                    Diagnostic::new(
                        Code::Predicate,
                        e.span,
                        format!("`{name}` does not tell elements of type `{ty}` apart"),
                    )
                    .label("as predicate")
                    .also(declared, format!("should be `bool {name}({ty} element, {ty} pivot)`"))
                    .also(because, format!("elements of type `{ty}`")),
                )
            }
        }
    }

    fn new_bound(&mut self, e: &ast::Expr) -> Option<VarId> {
        let ast::ExprKind::Name(name) = &e.kind else {
            return self.error(
                Diagnostic::new(Code::PrimitiveArray, e.span, "the new bounds go to whole vectors")
                    .label("not the name of a vector"),
            );
        };
        let array = self.array_named(name, e.span, "a vector of new bounds")?;
        self.check_writable(array, e.span)?;
        let known = &self.vars[array];
        if known.shape.len() == 1 && known.ty.scalar().is_some_and(Scalar::is_integer) {
            return Some(array);
        }
        let declared = known.span;
        self.error(
            Diagnostic::new(Code::PrimitiveType, e.span, "the new bounds go to vectors of integers")
                .label("another type or rank")
                .also(declared, "declared here"),
        )
    }
}
