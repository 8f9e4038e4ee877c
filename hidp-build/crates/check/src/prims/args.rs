//! Rows, sizes and vectors as arguments of primitives.

use hidp_ir::par::{ArrayRef, ConvertMode, Expr, Stmt, VarId};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::access::{Sub, dimensions};
use super::super::cx::Cx;
use super::super::shape;
use super::Use;

/// A row of an array and the type of its elements.
pub(super) struct Row {
    pub(super) array: ArrayRef,
    pub(super) ty: Ty,
}

impl Cx<'_> {
    /// A size, a bound or a number of segments.
    pub(super) fn size(&mut self, e: &ast::Expr) -> Option<Expr> {
        self.long(e, "a size", ConvertMode::Checked)
    }

    /// An array of one dimension, or a row of an array.
    pub(super) fn row(&mut self, e: &ast::Expr, what: &str, out: &mut Vec<Stmt>) -> Option<Row> {
        match &e.kind {
            ast::ExprKind::Name(name) => {
                let array = self.array_named(name, e.span, what)?;
                self.whole_row(array, e.span)
            }
            ast::ExprKind::Index { base, subscripts } => {
                let array = self.subscripted_array(base)?;
                let subs = self.subscripts_of(array, subscripts, e.span, true)?;
                self.section_row(array, subs, e.span, out)
            }
            ast::ExprKind::Error => self.silent(),
            _ => self.error(
                Diagnostic::new(Code::PrimitiveArray, e.span, format!("{what} must be an array"))
                    .label("not an array")
                    .help("compute it into a local array first"),
            ),
        }
    }

    fn whole_row(&mut self, array: VarId, span: Span) -> Option<Row> {
        let known = &self.vars[array];
        if let [extent] = known.shape.as_slice() {
            let len = extent.clone();
            let array = ArrayRef { array, prefix: Vec::new(), offset: Expr::int(0, span), len, span };
            return Some(Row { ty: self.vars[array.array].ty, array });
        }
        let (name, rank, declared) = (known.name.clone(), known.shape.len(), known.span);
        let row = format!("{name}{}[*]", "[0]".repeat(rank.saturating_sub(1)));
        self.error(
            Diagnostic::new(
                Code::PrimitiveArray,
                span,
                format!("`{name}` has {}, primitives take rows", dimensions(rank)),
            )
            .label(dimensions(rank))
            .also(declared, "declared here")
            .suggest(span, row, "name a row"),
        )
    }

    fn section_row(&mut self, array: VarId, subs: Vec<Sub>, span: Span, out: &mut Vec<Stmt>) -> Option<Row> {
        let mut prefix = Vec::new();
        let mut subs = subs.into_iter().peekable();
        while let Some(Sub::At(_)) = subs.peek() {
            if let Some(Sub::At(index)) = subs.next() {
                prefix.push(self.hoisted(index, out));
            }
        }
        let (Some(Sub::Range { lo, hi, step }), None) = (subs.next(), subs.next()) else {
            return self.not_a_row(array, span);
        };
        if step.as_int() != Some(1) {
            return self.error(
                Diagnostic::new(Code::PrimitiveArray, span, "a primitive takes neighbouring elements")
                    .label("a stride between the elements")
                    .help("copy the section into a local array first"),
            );
        }
        let (lo, hi) = (self.hoisted(lo, out), self.hoisted(hi, out));
        let len = shape::sub(&hi, &lo);
        let ty = self.vars[array].ty;
        Some(Row { array: ArrayRef { array, prefix, offset: lo, len, span }, ty })
    }

    fn not_a_row<T>(&mut self, array: VarId, span: Span) -> Option<T> {
        let name = self.vars[array].name.clone();
        let rank = self.vars[array].shape.len();
        let row = format!("{name}{}[*]", "[i]".repeat(rank.saturating_sub(1)));
        self.error(
            Diagnostic::new(Code::PrimitiveArray, span, "a primitive takes a row: one range, in the last dimension")
                .label("not a row")
                .help(format!("a row looks like `{row}`; copy other sections into a local array first")),
        )
    }

    /// A row that is written.
    pub(super) fn output_row(&mut self, e: &ast::Expr, what: &str, out: &mut Vec<Stmt>) -> Option<Row> {
        let row = self.row(e, what, out)?;
        self.check_writable(row.array.array, e.span)?;
        Some(row)
    }

    pub(super) fn integer_row(&mut self, row: &Row, span: Span, what: &str) -> Option<()> {
        if row.ty.scalar().is_some_and(Scalar::is_integer) {
            return Some(());
        }
        let ty = self.show_ty(row.ty);
        self.error(
            Diagnostic::new(Code::PrimitiveType, span, format!("{what} must be integers, but these are `{ty}`"))
                .label(format!("`{ty}`")),
        )
    }

    /// A vector of segment bounds, outside of maps.
    pub(super) fn bounds_vector(&mut self, call: &Use<'_>, e: &ast::Expr, out: &mut Vec<Stmt>) -> Option<Row> {
        let is_scalar = match &e.kind {
            ast::ExprKind::Name(name) => {
                matches!(self.lookup(name), Some(super::super::cx::Named::Scalar(_)))
            }
            ast::ExprKind::Index { subscripts, .. } => {
                subscripts.iter().all(|sub| matches!(sub, ast::Subscript::At(_)))
            }
            _ => true,
        };
        if is_scalar {
            let array = call.args.first().map_or("a", |first| self.text(first.span));
            return self.error(
                Diagnostic::new(
                    Code::PrimitiveForm,
                    e.span,
                    format!("outside of maps, `{}` takes vectors of bounds", call.name.name),
                )
                .label("one value")
                .help(format!("for one segment, name a section and its size: `{array}[low:high)`, `high - low`")),
            );
        }
        let row = self.row(e, "a vector of bounds", out)?;
        self.info_mut(row.array.array).read = true;
        self.integer_row(&row, e.span, "segment bounds")?;
        Some(row)
    }

    /// Input and output may be one row, but not overlap otherwise.
    pub(super) fn same_or_apart(
        &mut self,
        input: &ArrayRef,
        input_span: Span,
        output: &ArrayRef,
        output_span: Span,
        call: &Use<'_>,
    ) -> Option<()> {
        let same = input.prefix.len() == output.prefix.len()
            && input.prefix.iter().zip(&output.prefix).all(|(a, b)| shape::same(a, b))
            && shape::same(&input.offset, &output.offset);
        if input.array != output.array || same {
            return Some(());
        }
        self.in_place(input.array, input_span, output_span, call, "two parts of it may overlap")
    }

    /// Input and output must be different arrays.
    pub(super) fn refuse_same(
        &mut self,
        input: &ArrayRef,
        input_span: Span,
        output: &ArrayRef,
        output_span: Span,
        call: &Use<'_>,
    ) -> Option<()> {
        if input.array != output.array {
            return Some(());
        }
        let why = "it cannot work in place";
        self.in_place(input.array, input_span, output_span, call, why)
    }

    pub(super) fn in_place<T>(
        &mut self,
        array: VarId,
        first: Span,
        second: Span,
        call: &Use<'_>,
        why: &str,
    ) -> Option<T> {
        let name = self.vars[array].name.clone();
        self.error(
            Diagnostic::new(
                Code::InPlace,
                second,
                format!("`{}` reads and writes `{name}`, and {why}", call.name.name),
            )
            .label("written here")
            .also(first, "read here")
            .help("write to another array, and copy or `swap` it back"),
        )
    }
}
