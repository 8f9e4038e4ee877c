//! Names, elements, fields and sections as values.

use hidp_ir::par::{BinOp, ConvertMode, Expr, ExprKind, Place, StmtKind, VarId, VarKind};
use hidp_syntax::ast::{self, Subscript};
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::cx::{BodyKind, Cx, Named};
use super::items::Global;
use super::shape;
use super::value::Val;

/// One checked subscript.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "short-lived, a few at a time")]
pub(super) enum Sub {
    /// `[e]`
    At(Expr),
    /// `[lo:hi:step)`, half-open.
    Range {
        /// First index.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// Stride.
        step: Expr,
    },
}

impl Cx<'_> {
    pub(super) fn name_value(&mut self, name: &str, span: Span) -> Option<Val> {
        match self.lookup(name) {
            Some(Named::Scalar(var)) => self.read_scalar(var, span),
            Some(Named::Array(array)) => self.array_value(array, span),
            Some(Named::ElementOf(array)) => {
                let place = self.iteration_element(array, span)?;
                Some(self.load(place))
            }
            Some(Named::Global(Global::Const(id))) => {
                let value = self.globals.consts[id].value.clone();
                match value {
                    Some(value) => Some(Val::typed(Expr { span, ..value })),
                    None => self.silent(),
                }
            }
            Some(Named::Global(Global::Recurrence(id))) => self.recurrence_name(id, span),
            Some(Named::Global(Global::Poisoned) | Named::Poisoned) => self.silent(),
            Some(Named::Global(global)) => self.error(
                Diagnostic::new(Code::NotAValue, span, format!("`{name}` is a {}, not a value", global.noun()))
                    .label("not a value"),
            ),
            None => self.unknown_name(name, span),
        }
    }

    /// Something is wrong that was already reported.
    pub(super) fn silent<T>(&mut self) -> Option<T> {
        self.failed = true;
        None
    }

    pub(super) fn unknown_name<T>(&mut self, name: &str, span: Span) -> Option<T> {
        // One message a name is enough.
        if !self.unknown.insert(name.to_string()) {
            return self.silent();
        }
        let mut diagnostic = Diagnostic::new(Code::UnknownName, span, format!("there is no `{name}` here"))
            .label("not found in this scope");
        let other = match name.strip_prefix('_') {
            Some(rest) => rest.to_string(),
            None => format!("_{name}"),
        };
        let in_scope = self.names_in_scope();
        let near = if in_scope.contains(&other.as_str()) {
            Some(other.as_str())
        } else {
            near::suggest(name, in_scope.iter().copied())
        };
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(span, near, "a similar name exists");
        } else if name.starts_with('_') && !self.in_map() && self.kind == BodyKind::Func {
            diagnostic = diagnostic.help(format!("outside maps scalars are declared: `float {name};`"));
        }
        self.error(diagnostic)
    }

    fn array_value(&mut self, array: VarId, span: Span) -> Option<Val> {
        if self.parallel.is_some() {
            let subs = self.whole(array, span);
            return self.parallel_leaf(array, subs, span);
        }
        if self.in_map() && self.iteration_index(array, span).is_some() {
            let place = self.iteration_element(array, span)?;
            return Some(self.load(place));
        }
        self.array_as_value(array, span)
    }

    /// Every index of an array.
    pub(super) fn whole(&self, array: VarId, span: Span) -> Vec<Sub> {
        self.vars[array]
            .shape
            .iter()
            .map(|extent| Sub::Range { lo: Expr::int(0, span), hi: extent.clone(), step: Expr::int(1, span) })
            .collect()
    }

    fn array_as_value<T>(&mut self, array: VarId, span: Span) -> Option<T> {
        let name = self.vars[array].name.clone();
        let rank = self.vars[array].shape.len();
        let declared = self.vars[array].span;
        let mut diagnostic = Diagnostic::new(
            Code::ArrayAsValue,
            span,
            format!("`{name}` is an array of {}, but one value is needed here", dimensions(rank)),
        )
        .label("an array")
        .also(declared, "declared here");
        diagnostic = if self.in_map() {
            let count = self.iters.len() - self.info(array).iters.min(self.iters.len());
            diagnostic.note(format!(
                "the bare name of an array means this iteration's element only where its rank equals the number of iterators \
                 since its declaration, which is {count} here"
            ))
        } else {
            diagnostic.help(format!("name an element, `{name}{}`, or fold the array with `reduce`", "[0]".repeat(rank)))
        };
        self.error(diagnostic)
    }

    /// This iteration's element of an array that was named with an underscore.
    pub(super) fn iteration_element(&mut self, array: VarId, span: Span) -> Option<Place> {
        if let Some(index) = self.iteration_index(array, span) {
            return Some(self.place(array, index, span));
        }
        let name = self.vars[array].name.clone();
        let rank = self.vars[array].shape.len();
        let declared = self.vars[array].span;
        let count = self.iters.len() - self.info(array).iters.min(self.iters.len());
        self.error(
            Diagnostic::new(
                Code::IterationElement,
                span,
                format!("`_{name}` would be this iteration's element of `{name}`, but the rank does not fit"),
            )
            .label(match count {
                1 => format!("1 iterator encloses this since `{name}` was declared"),
                _ => format!("{count} iterators enclose this since `{name}` was declared"),
            })
            .also(declared, format!("`{name}` has {}", dimensions(rank)))
            .help(format!("write the indices: `{name}{}`", "[…]".repeat(rank))),
        )
    }

    pub(super) fn load(&mut self, place: Place) -> Val {
        self.info_mut(place.array).read = true;
        let ty = self.vars[place.array].ty;
        let span = place.span;
        Val::typed(Expr { kind: ExprKind::Load(place), ty, span })
    }

    /// The array that a subscripted expression names.
    pub(super) fn subscripted_array(&mut self, base: &ast::Expr) -> Option<VarId> {
        let ast::ExprKind::Name(name) = &base.kind else {
            let _: Option<()> = match base.kind {
                ast::ExprKind::Error => self.silent(),
                _ => self.error(
                    Diagnostic::new(Code::NotAnArray, base.span, "only arrays have elements").label("not an array"),
                ),
            };
            return None;
        };
        match self.lookup(name) {
            Some(Named::Array(array)) => Some(array),
            Some(Named::ElementOf(array)) => {
                let plain = self.vars[array].name.clone();
                self.error(
                    Diagnostic::new(
                        Code::NotAnArray,
                        base.span,
                        format!("`{name}` is one element, which has no indices"),
                    )
                    .label("already this iteration's element")
                    .suggest(base.span, plain, "name the array"),
                )
            }
            Some(Named::Scalar(var)) => {
                let declared = self.vars[var].span;
                self.error(
                    Diagnostic::new(
                        Code::NotAnArray,
                        base.span,
                        format!("`{name}` is a scalar, which has no elements"),
                    )
                    .label("a scalar")
                    .also(declared, "declared here"),
                )
            }
            Some(Named::Poisoned | Named::Global(Global::Poisoned)) => self.silent(),
            Some(Named::Global(global)) => self.error(
                Diagnostic::new(Code::NotAnArray, base.span, format!("`{name}` is a {}, not an array", global.noun()))
                    .label("not an array"),
            ),
            None => self.unknown_name(name, base.span),
        }
    }

    /// Checked subscripts, one a dimension.
    pub(super) fn subscripts(&mut self, array: VarId, subs: &[Subscript], span: Span) -> Option<Vec<Sub>> {
        self.subscripts_of(array, subs, span, false)
    }

    /// The same, where `rows` says whether a row may stand.
    pub(super) fn subscripts_of(
        &mut self,
        array: VarId,
        subs: &[Subscript],
        span: Span,
        rows: bool,
    ) -> Option<Vec<Sub>> {
        let parallel = self.parallel.take();
        let checked: Vec<Option<Sub>> =
            subs.iter().enumerate().map(|(dim, sub)| self.subscript(array, dim, sub)).collect();
        self.parallel = parallel;
        let rank = self.vars[array].shape.len();
        if subs.len() != rank {
            let name = self.vars[array].name.clone();
            let declared = self.vars[array].span;
            let headline = format!("`{name}` has {}, but {} written", dimensions(rank), is_are(subs.len()));
            let diagnostic = Diagnostic::new(Code::RankMismatch, span, headline)
                .label("every dimension is written")
                .also(declared, "declared here");
            let rest = rank.saturating_sub(subs.len());
            let row = format!("{}{}", self.text(span), "[*]".repeat(rest));
            return self.error(match (rest, rows || self.parallel.is_some()) {
                (0, _) => diagnostic,
                (_, true) => diagnostic.suggest(span, row, "all of a dimension is `[*]`"),
                (_, false) => diagnostic.help(format!("`{row}` is a row, for primitives and functions over arrays")),
            });
        }
        checked.into_iter().collect()
    }

    fn subscript(&mut self, array: VarId, dim: usize, sub: &Subscript) -> Option<Sub> {
        match sub {
            Subscript::At(index) => Some(Sub::At(self.long(index, "an index", ConvertMode::Cast)?)),
            Subscript::All(span) => {
                let hi = self.vars[array].shape.get(dim)?.clone();
                Some(Sub::Range { lo: Expr::int(0, *span), hi, step: Expr::int(1, *span) })
            }
            Subscript::Range(range) => {
                let (lo, hi, step) = self.range(range)?;
                Some(Sub::Range { lo, hi, step })
            }
            Subscript::Piece(piece) => self.misplaced_piece(piece.span),
        }
    }

    /// The bounds of a range as `lo`, exclusive `hi`, stride.
    pub(super) fn range(&mut self, range: &ast::Range) -> Option<(Expr, Expr, Expr)> {
        let low = self.long(&range.low, "a bound", ConvertMode::Checked);
        let high = self.long(&range.high, "a bound", ConvertMode::Checked);
        let step = match &range.step {
            Some(step) => self.long(step, "a stride", ConvertMode::Checked),
            None => Some(Expr::int(1, range.span)),
        };
        let (mut low, mut high, step) = (low?, high?, step?);
        if !range.low_inclusive {
            let span = low.span;
            low = Expr { span, ..shape::add(&low, &Expr::int(1, span)) };
        }
        if range.high_inclusive {
            let span = high.span;
            high = Expr { span, ..shape::add(&high, &Expr::int(1, span)) };
        }
        if step.as_int().is_some_and(|step| step <= 0) {
            return self
                .error(Diagnostic::new(Code::BadStride, step.span, "a stride must be positive").label("not positive"));
        }
        Some((low, high, step))
    }

    pub(super) fn index_value(&mut self, base: &ast::Expr, subs: &[Subscript], span: Span) -> Option<Val> {
        let Some(array) = self.subscripted_array(base) else {
            // Messages about the subscripts are worth having all the same.
            for sub in subs {
                if let Subscript::At(index) = sub {
                    let parallel = self.parallel.take();
                    let _ = self.expr(index);
                    self.parallel = parallel;
                }
            }
            return None;
        };
        let subs = self.subscripts(array, subs, span)?;
        match all_at(&subs) {
            Some(index) => {
                let place = self.place(array, index, span);
                if let Some(parallel) = &mut self.parallel {
                    parallel.note_element(array);
                }
                Some(self.load(place))
            }
            None if self.parallel.is_some() => self.parallel_leaf(array, subs, span),
            None => self.section_as_value(array, span),
        }
    }

    fn section_as_value<T>(&mut self, array: VarId, span: Span) -> Option<T> {
        let name = self.vars[array].name.clone();
        let diagnostic = Diagnostic::new(
            Code::ArrayAsValue,
            span,
            format!("a section of `{name}` is an array, but one value is needed here"),
        )
        .label("a section");
        let diagnostic = if self.in_map() {
            diagnostic.help("in a map, write a nested map over the section's indices")
        } else {
            diagnostic.help("assign it to an array, or fold it with `reduce`")
        };
        self.error(diagnostic)
    }

    pub(super) fn field_value(&mut self, base: &ast::Expr, field: &ast::Ident, span: Span) -> Option<Val> {
        let value = self.expr(base)?;
        let base = self.settle(value)?;
        let (position, ty) = self.field_of(base.ty, field)?;
        let kind = match base.kind {
            ExprKind::Load(mut place) => {
                place.path.push(position);
                place.span = span;
                ExprKind::Load(place)
            }
            _ => ExprKind::Field(Box::new(base), position),
        };
        Some(Val::typed(Expr { kind, ty, span }))
    }

    pub(super) fn field_of(&mut self, ty: Ty, field: &ast::Ident) -> Option<(u32, Ty)> {
        let Ty::Struct(id) = ty else {
            let name = self.show_ty(ty);
            return self.error(
                Diagnostic::new(Code::UnknownField, field.span, format!("`{name}` has no fields"))
                    .label("not a field of a struct"),
            );
        };
        let strukt = &self.globals.structs[id];
        if let Some(position) = strukt.fields.iter().position(|(name, _)| *name == field.name) {
            return Some((position as u32, strukt.fields[position].1));
        }
        let diagnostic = self.unknown_field(id, field);
        self.error(diagnostic)
    }

    pub(super) fn unknown_field(&self, id: hidp_syntax::ty::StructId, field: &ast::Ident) -> Diagnostic {
        let strukt = &self.globals.structs[id];
        let names = strukt.fields.iter().map(|(name, _)| name.as_str());
        let mut diagnostic = Diagnostic::new(
            Code::UnknownField,
            field.span,
            format!("struct `{}` has no field `{}`", strukt.name, field.name),
        )
        .label("no such field")
        .also(strukt.span, "declared here");
        if let Some(near) = near::suggest(&field.name, names.clone()) {
            diagnostic = diagnostic.suggest(field.span, near, "a similar field exists");
        } else {
            let list: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            diagnostic = diagnostic.note(format!("its fields are {}", list.join(", ")));
        }
        diagnostic
    }

    /// A value that later expressions may repeat: constants and scalars stand for themselves, the rest is computed once.
    pub(super) fn hoisted(&mut self, value: Expr, out: &mut Vec<hidp_ir::par::Stmt>) -> Expr {
        if is_repeatable(&value) { value } else { self.temporary("bound", value, out) }
    }

    /// A value for a shape: made of dimensions, inputs, iterators and constants, so that it means the same everywhere.
    pub(super) fn stable(&mut self, value: Expr, out: &mut Vec<hidp_ir::par::Stmt>) -> Expr {
        if self.is_stable(&value) { value } else { self.temporary("extent", value, out) }
    }

    fn is_stable(&self, value: &Expr) -> bool {
        if !is_repeatable(value) {
            return false;
        }
        let mut stable = true;
        shape::walk(value, &mut |e| {
            if let ExprKind::Read(var) = e.kind {
                stable &= match self.vars[var].kind {
                    VarKind::Dim | VarKind::Iter => true,
                    VarKind::Param(_) => self.is_input(var),
                    VarKind::Local => self.info(var).fixed,
                };
            }
        });
        stable
    }
}

/// The indices, if no subscript is a range.
pub(super) fn all_at(subs: &[Sub]) -> Option<Vec<Expr>> {
    subs.iter()
        .map(|sub| match sub {
            Sub::At(index) => Some(index.clone()),
            Sub::Range { .. } => None,
        })
        .collect()
}

/// Whether an expression is cheap, cannot fault and reads no array.
pub(super) fn is_repeatable(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Const(_) | ExprKind::Read(_) => true,
        ExprKind::Unary(_, operand) => is_repeatable(operand),
        ExprKind::Convert { operand, mode } => *mode == ConvertMode::Cast && is_repeatable(operand),
        ExprKind::Binary { op, left, right, .. } => {
            matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul) && is_repeatable(left) && is_repeatable(right)
        }
        _ => false,
    }
}

/// `1 dimension`, `2 dimensions`
pub(super) fn dimensions(count: usize) -> String {
    if count == 1 { "1 dimension".to_string() } else { format!("{count} dimensions") }
}

/// `1 is`, `2 are`
fn is_are(count: usize) -> String {
    if count == 1 { "1 is".to_string() } else { format!("{count} are") }
}

/// A statement.
pub(super) fn stmt(kind: StmtKind, span: Span) -> hidp_ir::par::Stmt {
    hidp_ir::par::Stmt { kind, span }
}
