//! Primitives: which one a name means, its forms, and the type rules of its arguments.

use crate::compiler::diag::{Code, Diagnostic};
use crate::compiler::ir::par::{Directives, Extent, FoldOp, PrimCall, PrimValue, Stmt, StmtKind, Target};
use crate::compiler::prim::{Form, Prim};
use crate::compiler::source::Span;
use crate::compiler::syntax::ast::{self, Arg};
use crate::compiler::ty::{Scalar, Ty};

use super::access::{Sub, TargetRef, dimensions, stmt};
use super::convert::Purpose;
use super::cx::{Cx, Named};
use super::maps::OpArg;

mod args;
mod moves;

use args::Row;

/// The primitive of a name, and whether it is the form for regular segments.
fn named(name: &str) -> Option<(Prim, bool)> {
    let (plain, regular) = match name.strip_prefix("reg_") {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let prim = match plain {
        "min" => Prim::Min,
        "max" => Prim::Max,
        "reduce" => Prim::Reduce,
        "scan" => Prim::Scan,
        "exscan" => Prim::Exscan,
        "sort" => Prim::Sort,
        "partition" if !regular => Prim::Partition,
        "reverse" => Prim::Reverse,
        "reverse_inplace" if !regular => Prim::ReverseInplace,
        "histogram" if !regular => Prim::Histogram,
        _ => return None,
    };
    Some((prim, regular))
}

/// Whether a name is reserved for a primitive.
pub(super) fn is_primitive(name: &str) -> bool {
    named(name).is_some()
}

/// All names of primitives that are called as statements.
pub(super) const NAMES: &[&str] = &[
    "reduce",
    "scan",
    "exscan",
    "sort",
    "partition",
    "reverse",
    "reverse_inplace",
    "histogram",
    "reg_min",
    "reg_max",
    "reg_reduce",
    "reg_scan",
    "reg_exscan",
    "reg_sort",
    "reg_reverse",
];

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
        (Prim::Histogram, _) => "`histogram(op, keys, vals, out, size)`",
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
        let takes_op = matches!(prim, Prim::Reduce | Prim::Scan | Prim::Exscan | Prim::Histogram);
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
    fn extent(&mut self, call: &Use<'_>, args: &[&ast::Expr]) -> Option<(Form, Extent)> {
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
                let (low, high) = (self.bounds_vector(call, low), self.bounds_vector(call, high));
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
            directives,
            span: call.span,
        }
    }

    // ---- folds

    /// `min`, `max`, `reduce` in all forms. `target` is the left side of `_m = min(…)`.
    fn fold_primitive(&mut self, call: &Use<'_>, target: Option<&ast::Expr>, out: &mut Vec<Stmt>) -> Option<()> {
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
        let extent = self.extent(call, bounds);
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
        out.push(stmt(StmtKind::Prim(Box::new(prim)), call.span));
        Some(())
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
    fn scalar_result(&mut self, e: &ast::Expr, new: Ty) -> Option<(Target, Ty)> {
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

    // ---- scans

    fn scan_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        let [input, output, bounds @ ..] = call.args.as_slice() else { return self.wrong_count(call) };
        let (row, to) = (self.row(input, "the input", out), self.output_row(output, "the output", out));
        let extent = self.extent(call, bounds);
        let (row, to, (form, extent)) = (row?, to?, extent?);
        self.info_mut(row.array.array).read = true;
        self.same_or_apart(&row.array, input.span, &to.array, output.span, call)?;
        let op = self.primitive_op(call, to.ty, directives.ordered, output.span)?;
        self.folds_to(row.ty, to.ty, input.span, output.span)?;
        let mut prim = self.new_call(call, form, extent, row, directives);
        prim.op = Some(op);
        prim.output = Some(to.array);
        out.push(stmt(StmtKind::Prim(Box::new(prim)), call.span));
        Some(())
    }

    // ---- histogram

    fn histogram_primitive(&mut self, call: &Use<'_>, out: &mut Vec<Stmt>) -> Option<()> {
        let directives = self.take_directives();
        if self.in_map() {
            return self.error(
                Diagnostic::new(Code::PrimitiveForm, call.name.span, "`histogram` stands outside of maps only")
                    .label("inside a map")
                    .help("use `atomic` updates in the map"),
            );
        }
        let [keys, values, output, size] = call.args.as_slice() else { return self.wrong_count(call) };
        if call.op.is_none() {
            return self.wrong_count(call);
        }
        let keys_row = self.row(keys, "the keys", out);
        let values_row = self.row(values, "the values", out);
        let to = self.output_row(output, "the output", out);
        let size = self.size(size);
        let (keys_row, values_row, to) = (keys_row?, values_row?, to?);
        for row in [&keys_row, &values_row, &to] {
            self.info_mut(row.array.array).read = true;
        }
        self.integer_row(&keys_row, keys.span, "the keys of a histogram")?;
        self.refuse_same(&keys_row.array, keys.span, &to.array, output.span, call)?;
        self.refuse_same(&values_row.array, values.span, &to.array, output.span, call)?;
        let op = self.primitive_op(call, to.ty, directives.ordered, output.span)?;
        self.folds_to(values_row.ty, to.ty, values.span, output.span)?;
        let mut prim = self.new_call(call, Form::Whole, Extent::Whole { size: size? }, keys_row, directives);
        prim.op = Some(op);
        prim.values = Some((values_row.array, None));
        prim.output = Some(to.array);
        out.push(stmt(StmtKind::Prim(Box::new(prim)), call.span));
        Some(())
    }

    fn direction(&mut self, e: &ast::Expr) -> Option<crate::compiler::ir::par::Expr> {
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

    fn pivot(&mut self, e: &ast::Expr, ty: Ty, vectors: bool, out: &mut Vec<Stmt>) -> Option<PrimValue> {
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
