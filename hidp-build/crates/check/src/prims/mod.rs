//! Primitives: which one a name means, its forms, and the type rules of its arguments.

use hidp_ir::par::{Access, Directives, Extent, PrimCall, PrimValue, Stmt, StmtKind, VarId};
use hidp_syntax::ast::{self, Arg};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::prim::{Form, Prim, named};
use hidp_syntax::source::Span;

use super::access::stmt;
use super::cx::{Cx, Named};
use super::ops::OpArg;

mod args;
mod folds;
mod moves;

use args::Row;

/// Whether a name is reserved for a primitive.
pub(super) fn is_primitive(name: &str) -> bool {
    named(name).is_some()
}

/// How the arguments of a primitive are written, for messages.
fn usage(prim: Prim, regular: bool, in_map: bool) -> &'static str {
    match (prim, regular) {
        (Prim::Min | Prim::Max, true) => "`reg_min(in, out, seg_size, num_seg)`",
        (Prim::Min | Prim::Max, false) if in_map => "`_m = min(in, low, high)`",
        (Prim::Min | Prim::Max, false) => "`_m = min(in, size)`, or `m = min(in, low, high)` with vectors",
        (Prim::Reduce, true) => "`reg_reduce(op, in, out, seg_size, num_seg)`",
        (Prim::Reduce, false) if in_map => "`reduce(op, in, out, low, high)`",
        (Prim::Reduce, false) => "`reduce(op, in, out, size)`, or `reduce(op, in, out, low, high)` with vectors",
        (Prim::Scan | Prim::Exscan, true) => "`reg_scan([op,] in, out, seg_size, num_seg)`",
        (Prim::Scan | Prim::Exscan, false) if in_map => "`scan([op,] in, out, low, high)`",
        (Prim::Scan | Prim::Exscan, false) => "`scan([op,] in, out, size)`, or with vectors `low, high` for `size`",
        (Prim::Sort, true) => "`reg_sort(in_key, out_key, [in_val, out_val,] seg_size, num_seg, dir)`",
        (Prim::Sort, false) if in_map => "`sort(in_key, out_key, [in_val, out_val,] low, high, dir)`",
        (Prim::Sort, false) => {
            "`sort(in_key, out_key, [in_val, out_val,] size, dir)`, or with vectors `low, high` for `size`"
        }
        (Prim::Partition, _) if in_map => {
            "`partition(in, out, [in_val, out_val,] pivot, low, high, new_low, new_high, f)`"
        }
        (Prim::Partition, _) => {
            "`partition(in, out, [in_val, out_val,] pivot, size, f [, count])`, or \
             `partition(in, out, [in_val, out_val,] pivots, low, high, new_low, new_high, f)` with vectors"
        }
        (Prim::Reverse, true) => "`reg_reverse(in, out, seg_size, num_seg)` or `reg_reverse(inout, seg_size, num_seg)`",
        (Prim::Reverse, false) if in_map => "`reverse(in, out, low, high)`",
        (Prim::Reverse, false) => "`reverse(in, out, size)`, or with vectors `low, high` for `size`",
        (Prim::ReverseInplace, _) if in_map => "`reverse_inplace(a, low, high)`",
        (Prim::ReverseInplace, _) => "`reverse_inplace(a, size)`, or with vectors `low, high` for `size`",
        (Prim::Histogram, _) => "`histogram(op, keys, vals, out, size)`, or `histogram(keys, out, size)` to count",
    }
}

/// A call of a primitive while it is checked.
struct Use<'e> {
    prim: Prim,
    regular: bool,
    name: &'e ast::Ident,
    op: Option<OpArg<'e>>,
    args: Vec<&'e ast::Expr>,
    span: Span,
}

impl Cx<'_> {
    /// The call on the right side of an assignment if it is a primitive there: `_m = min(a, n);`.
    pub(super) fn primitive_value<'e>(&mut self, assign: &'e ast::Assign) -> Option<&'e ast::Call> {
        let ast::ExprKind::Call(call) = &assign.value.kind else { return None };
        if assign.op.is_some() || !matches!(call.callee.name.as_str(), "min" | "max") {
            return None;
        }
        let Some(Arg::Expr(first)) = call.args.first() else { return None };
        let names_array = match &first.kind {
            ast::ExprKind::Name(name) => matches!(self.lookup(name), Some(Named::Array(_))),
            ast::ExprKind::Index { subscripts, .. } => {
                subscripts.iter().any(|sub| !matches!(sub, ast::Subscript::At(_)))
            }
            _ => false,
        };
        let primitive = match call.args.len() {
            3 => names_array,
            2 => names_array && self.is_scalar_target(&assign.target),
            _ => false,
        };
        primitive.then_some(call)
    }

    fn is_scalar_target(&self, target: &ast::Expr) -> bool {
        match &target.kind {
            ast::ExprKind::Name(name) => match self.lookup(name) {
                Some(Named::Scalar(_)) => true,
                Some(Named::Array(_) | Named::ElementOf(_) | Named::Global(_) | Named::Poisoned) => false,
                None => true,
            },
            ast::ExprKind::Index { subscripts, .. } => {
                !self.in_map() && subscripts.iter().all(|sub| matches!(sub, ast::Subscript::At(_)))
            }
            _ => false,
        }
    }

    /// `target = min(in, …);`
    pub(super) fn assign_primitive(
        &mut self,
        target: &ast::Expr,
        call: &ast::Call,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let prim = if call.callee.name == "min" { Prim::Min } else { Prim::Max };
        let args = call
            .args
            .iter()
            .filter_map(|arg| match arg {
                Arg::Expr(e) => Some(e),
                Arg::Operator { .. } | Arg::WithNeutral { .. } | Arg::Over { .. } => None,
            })
            .collect();
        let call = Use { prim, regular: false, name: &call.callee, op: None, args, span };
        let done = self.fold_primitive(&call, Some(target), out);
        if done.is_none() {
            self.poison_new(target);
        }
        done
    }

    /// A primitive called as a statement.
    pub(super) fn primitive(&mut self, call: &ast::Call, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let (prim, regular) = named(&call.callee.name)?;
        let (op, args) = self.primitive_args(call, prim)?;
        let call = Use { prim, regular, name: &call.callee, op, args, span };
        if regular && self.in_map() {
            return self.wrong_form(&call, "regular segments are all handled by one call outside of maps");
        }
        match prim {
            Prim::Min | Prim::Max if !regular => self.error(
                Diagnostic::new(Code::PrimitiveForm, span, format!("the value of `{}` is not used", call.name.name))
                    .label("has no other effect")
                    .help(format!("write {}", usage(prim, false, self.in_map()))),
            ),
            Prim::Min | Prim::Max | Prim::Reduce => self.fold_primitive(&call, None, out),
            Prim::Scan | Prim::Exscan => self.scan_primitive(&call, out),
            Prim::Sort => self.sort_primitive(&call, out),
            Prim::Partition => self.partition_primitive(&call, out),
            Prim::Reverse | Prim::ReverseInplace => self.reverse_primitive(&call, out),
            Prim::Histogram => self.histogram_primitive(&call, out),
        }
    }

    /// The operator, if there is one, and the plain arguments.
    fn primitive_args<'e>(
        &mut self,
        call: &'e ast::Call,
        prim: Prim,
    ) -> Option<(Option<OpArg<'e>>, Vec<&'e ast::Expr>)> {
        let takes_op = prim.row().laws.operator;
        let mut op = None;
        let mut args = Vec::new();
        for (position, arg) in call.args.iter().enumerate() {
            match arg {
                Arg::Operator { name, span } if position == 0 && takes_op => op = Some(OpArg::Quoted(name, *span)),
                Arg::WithNeutral { op: name, neutral } if position == 0 && takes_op => {
                    op = Some(OpArg::WithNeutral(name, neutral));
                }
                Arg::Expr(e) if position == 0 && takes_op && self.names_scalar_function(e) => op = self.named_op(e),
                Arg::Expr(e) => args.push(e),
                Arg::Operator { span, .. } => return self.misplaced_argument(*span),
                Arg::WithNeutral { op, neutral } => return self.misplaced_argument(op.span.to(neutral.span)),
                Arg::Over { span, .. } => {
                    return self.error(
                        Diagnostic::new(Code::PrimitiveArguments, *span, "only a suffix names iterators")
                            .label("no map ends directly before")
                            .help(format!(
                                "write the suffix directly behind the map's `}}`, or {}",
                                usage(prim, false, self.in_map())
                            )),
                    );
                }
            }
        }
        Some((op, args))
    }

    fn names_scalar_function(&self, e: &ast::Expr) -> bool {
        match &e.kind {
            ast::ExprKind::Name(name) => self.scalar_function(name).is_some(),
            _ => false,
        }
    }

    fn misplaced_argument<T>(&mut self, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::PrimitiveArguments, span, "an operator cannot stand here")
                .label("only the first argument is an operator, and only where the primitive takes one"),
        )
    }

    fn wrong_count<T>(&mut self, call: &Use<'_>) -> Option<T> {
        let given = call.args.len() + usize::from(call.op.is_some());
        let usage = usage(call.prim, call.regular, self.in_map());
        self.error(
            Diagnostic::new(
                Code::PrimitiveArguments,
                call.name.span,
                format!("`{}` does not take {given} arguments here", call.name.name),
            )
            .label(format!("{given} arguments"))
            .help(format!("write {usage}")),
        )
    }

    fn wrong_form<T>(&mut self, call: &Use<'_>, why: &str) -> Option<T> {
        let usage = usage(call.prim, false, self.in_map());
        self.error(
            Diagnostic::new(
                Code::PrimitiveForm,
                call.name.span,
                format!("this form of `{}` does not fit here", call.name.name),
            )
            .label(why)
            .help(format!("write {usage}")),
        )
    }

    /// Segment bounds from the arguments behind the arrays: one for a whole array, two for segments.
    fn extent(&mut self, call: &Use<'_>, args: &[&ast::Expr], out: &mut Vec<Stmt>) -> Option<(Form, Extent)> {
        match args {
            [seg_size, num_seg] if call.regular => {
                let (seg_size, num_seg) = (self.size(seg_size), self.size(num_seg));
                Some((Form::Regular, Extent::Regular { seg_size: seg_size?, num_seg: num_seg? }))
            }
            [size] if self.in_map() => {
                let text = format!("0, {}", self.text(size.span));
                let diagnostic = Diagnostic::new(
                    Code::PrimitiveForm,
                    size.span,
                    format!("in a map, `{}` takes this iteration's segment", call.name.name),
                )
                .label("a size alone")
                .suggest(size.span, text, "give both bounds, first and one past the last");
                let diagnostic = match call.prim {
                    Prim::Min | Prim::Max => diagnostic.help(
                        "if the smaller of two values is meant: with an array's name first, `min` folds that array; `_a` is this iteration's element",
                    ),
                    _ => diagnostic,
                };
                self.error(diagnostic)
            }
            [size] if !call.regular => Some((Form::Whole, Extent::Whole { size: self.size(size)? })),
            [low, high] if self.in_map() => {
                let (low, high) = (self.size(low), self.size(high));
                Some((Form::Segments, Extent::Segment { low: low?, high: high? }))
            }
            [low, high] if !call.regular => {
                let (low, high) = (self.bounds_vector(call, low, out), self.bounds_vector(call, high, out));
                Some((Form::Segments, Extent::Vectors { low: low?.array, high: high?.array }))
            }
            _ => self.wrong_count(call),
        }
    }

    fn new_call(&mut self, call: &Use<'_>, form: Form, extent: Extent, input: Row, directives: Directives) -> PrimCall {
        PrimCall {
            prim: call.prim,
            form,
            extent,
            op: None,
            predicate: None,
            pivot: None,
            dir: None,
            input: input.array,
            output: None,
            values: None,
            result: None,
            new_bounds: None,
            access: Access::Shared,
            directives,
            span: call.span,
        }
    }

    /// The call is complete: bounds, pivots and inputs must not be arrays that it writes.
    fn finish_primitive(&mut self, call: &Use<'_>, prim: PrimCall, out: &mut Vec<Stmt>) -> Option<()> {
        let mut written: Vec<(VarId, Span)> = Vec::new();
        let values = prim.values.as_ref();
        written.extend(prim.output.iter().chain(values.and_then(|(_, out)| out.as_ref())).map(|a| (a.array, a.span)));
        let mut read: Vec<(VarId, Span)> = Vec::new();
        if let Extent::Vectors { low, high } = &prim.extent {
            read.extend([(low.array, low.span), (high.array, high.span)]);
        }
        if let Some(PrimValue::Array(pivots)) = &prim.pivot {
            read.push((pivots.array, pivots.span));
        }
        if let Some((low, high)) = prim.new_bounds {
            // The rows were compared with each other before; new bounds are compared with everything.
            written.extend([(low, call.span), (high, call.span)]);
            let rows =
                [Some(&prim.input), prim.output.as_ref(), values.map(|(v, _)| v), values.and_then(|(_, v)| v.as_ref())];
            let clash = rows.into_iter().flatten().find(|row| row.array == low || row.array == high);
            read.extend(clash.map(|row| (row.array, row.span)));
        }
        for (array, span) in read {
            if let Some((_, written_at)) = written.iter().find(|(other, _)| *other == array) {
                return self.in_place(array, span, *written_at, call, "it needs both while it runs");
            }
        }
        out.push(stmt(StmtKind::Prim(Box::new(prim)), call.span));
        Some(())
    }
}
