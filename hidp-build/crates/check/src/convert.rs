//! Giving values their types: literals, implicit conversions, casts.

use hidp_ir::par::{BinOp, Const, ConvertMode, Expr, ExprKind, UnOp};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::cx::Cx;
use super::fold;
use super::value::{Untyped, UntypedKind, Val, fits};

fn constant(value: Const, ty: Scalar, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value), ty: ty.into(), span }
}

/// A conversion that is done at once where the operand is a constant.
pub(super) fn convert(operand: Expr, to: Scalar, mode: ConvertMode) -> Expr {
    let span = operand.span;
    if operand.ty == Ty::Scalar(to) {
        return operand;
    }
    match operand.kind {
        ExprKind::Const(value) if mode == ConvertMode::Cast => constant(fold::convert(value, to), to, span),
        ExprKind::Const(Const::Int(value)) if fits(value, to) => constant(Const::Int(value), to, span),
        _ => Expr { kind: ExprKind::Convert { operand: Box::new(operand), mode }, ty: to.into(), span },
    }
}

/// What a value is wanted for, as messages say it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose<'t> {
    /// `the assignment`, `parameter _a of saxpy`: completes "but … needs `float`".
    pub(super) what: &'t str,
    /// Where the wanted type comes from.
    pub(super) because: Option<Span>,
}

impl<'t> Purpose<'t> {
    pub(super) fn new(what: &'t str) -> Self {
        Purpose { what, because: None }
    }
    pub(super) fn since(what: &'t str, because: Span) -> Self {
        Purpose { what, because: Some(because) }
    }
}

impl Cx<'_> {
    /// Gives a literal expression the type `ty`; reports values that do not fit.
    pub(super) fn materialize(&mut self, value: &Untyped, ty: Scalar) -> Option<Expr> {
        let span = value.span;
        if ty == Scalar::Bool || (value.is_integer_operation() && ty.is_float()) {
            let own = self.materialize(value, value.default_scalar())?;
            return Some(convert(own, ty, ConvertMode::Cast));
        }
        match &value.kind {
            UntypedKind::Int(v) => self.materialize_int(*v, ty, span),
            UntypedKind::Char(c) if ty == Scalar::I8 => Some(constant(Const::Int((*c as i8).into()), ty, span)),
            UntypedKind::Char(c) => self.materialize_int((*c).into(), ty, span),
            UntypedKind::Float(text) => self.materialize_float(text, ty, span),
            UntypedKind::Infinity => Some(constant(Const::Float(f64::INFINITY), ty, span)),
            UntypedKind::Nan => Some(constant(Const::Float(f64::NAN), ty, span)),
            UntypedKind::Unary(op, operand) => {
                let operand = self.materialize(operand, ty)?;
                Some(folded_negation(*op, operand, ty, span))
            }
            UntypedKind::Binary(op, left, right) => {
                let (left, right) = (self.materialize(left, ty), self.materialize(right, ty));
                Some(arithmetic(*op, left?, right?, ty, span))
            }
            UntypedKind::Shift(op, left, right) => {
                let left = self.materialize(left, ty)?;
                Some(arithmetic(*op, left, (**right).clone(), ty, span))
            }
            UntypedKind::Select(cond, then, otherwise) => {
                let (then, otherwise) = (self.materialize(then, ty), self.materialize(otherwise, ty));
                let kind =
                    ExprKind::Select { cond: cond.clone(), then: Box::new(then?), otherwise: Box::new(otherwise?) };
                Some(Expr { kind, ty: ty.into(), span })
            }
            UntypedKind::Math(function, args) => {
                let args: Option<Vec<Expr>> = args.iter().map(|arg| self.materialize(arg, ty)).collect();
                Some(Expr { kind: ExprKind::Math(*function, args?), ty: ty.into(), span })
            }
        }
    }

    fn materialize_int(&mut self, value: i128, ty: Scalar, span: Span) -> Option<Expr> {
        if ty.is_float() {
            return Some(constant(fold::convert(Const::Int(value), ty), ty, span));
        }
        if fits(value, ty) {
            return Some(constant(Const::Int(value), ty, span));
        }
        let (low, high) = ty.integer_range().expect("floats were handled above");
        let wider = Scalar::ALL.into_iter().filter(|s| s.is_integer() && fits(value, *s)).min_by_key(|s| s.size());
        let mut diagnostic =
            Diagnostic::new(Code::LiteralOutOfRange, span, format!("`{value}` is not a value of type `{ty}`"))
                .label(format!("`{ty}` holds {low} to {high}"))
                .note(format!("the literal takes the type `{ty}` from where it stands"));
        if let Some(wider) = wider {
            diagnostic = diagnostic
                .suggest(span, format!("({ty})({wider})({value})"), "convert it explicitly, which wraps it")
                .help(format!("`{wider}` holds it: perhaps the other operand or the target should be `{wider}`"));
        }
        self.error(diagnostic)
    }

    fn materialize_float(&mut self, text: &str, ty: Scalar, span: Span) -> Option<Expr> {
        let value = match ty {
            Scalar::F32 => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse::<f64>().ok(),
        };
        match value {
            Some(value) if value.is_finite() => Some(constant(Const::Float(value), ty, span)),
            _ => self.error(
                Diagnostic::new(Code::LiteralOutOfRange, span, format!("`{text}` is not a value of type `{ty}`"))
                    .label("too large")
                    .suggest(span, "INFINITY", "write infinity as"),
            ),
        }
    }

    /// The value in its own type; literals take their default.
    pub(super) fn settle(&mut self, value: Val) -> Option<Expr> {
        match value {
            Val::Untyped(untyped) => self.materialize(&untyped, untyped.default_scalar()),
            Val::Typed { expr, .. } => Some(expr),
        }
    }

    /// Converts implicitly to `to`, or reports that a cast is needed.
    pub(super) fn coerce(&mut self, value: Val, to: Ty, purpose: Purpose<'_>) -> Option<Expr> {
        match (value, to) {
            (Val::Untyped(untyped), Ty::Scalar(scalar))
                if scalar != Scalar::Bool && (scalar.is_float() || !untyped.is_float()) =>
            {
                self.materialize(&untyped, scalar)
            }
            (Val::Untyped(untyped), to) => {
                let own = self.materialize(&untyped, untyped.default_scalar())?;
                self.mismatch(&own, to, purpose)
            }
            (Val::Typed { expr, .. }, to) if expr.ty == to => Some(expr),
            (Val::Typed { expr, dimension }, to) => match (expr.ty.scalar(), to.scalar()) {
                (Some(from), Some(to)) if from.converts_to(to) => Some(convert(expr, to, ConvertMode::Cast)),
                (Some(Scalar::I64), Some(to)) if dimension && to.is_integer() => self.narrow_dimension(expr, to),
                _ => self.mismatch(&expr, to, purpose),
            },
        }
    }

    fn narrow_dimension(&mut self, expr: Expr, to: Scalar) -> Option<Expr> {
        match expr.as_int() {
            Some(value) => self.materialize_int(value, to, expr.span),
            None => Some(convert(expr, to, ConvertMode::Checked)),
        }
    }

    fn mismatch(&mut self, value: &Expr, to: Ty, purpose: Purpose<'_>) -> Option<Expr> {
        let (from_name, to_name) = (self.show_ty(value.ty), self.show_ty(to));
        let source = self.text(value.span);
        let mut diagnostic = Diagnostic::new(
            Code::MismatchedTypes,
            value.span,
            format!("{} needs `{to_name}`, but this is `{from_name}`", purpose.what),
        )
        .label(format!("`{from_name}`"));
        if let Some(because) = purpose.because {
            diagnostic = diagnostic.also(because, format!("`{to_name}` because of this"));
        }
        diagnostic = match (value.ty, to) {
            (_, Ty::Scalar(Scalar::Bool)) if value.as_int().is_some_and(|v| v == 0 || v == 1) => {
                let text = if value.as_int() == Some(1) { "true" } else { "false" };
                diagnostic.suggest(value.span, text, "write the truth value")
            }
            (Ty::Scalar(from), Ty::Scalar(Scalar::Bool)) => {
                let zero = if from.is_float() { "0.0" } else { "0" };
                let compared = format!("{} != {zero}", operand_text(source));
                // `!` binds tighter than the comparison.
                let text = if purpose.what == "`!`" { format!("({compared})") } else { compared };
                diagnostic.suggest(value.span, text, "compare it")
            }
            (Ty::Scalar(from), Ty::Scalar(to)) => diagnostic.note(loss(from, to)).suggest(
                value.span,
                cast_text(to.hidp_name(), source),
                "convert it explicitly",
            ),
            (Ty::Struct(_), _) | (_, Ty::Struct(_)) => diagnostic,
        };
        self.error(diagnostic)
    }

    /// `(ty)value`
    pub(super) fn cast(&mut self, value: Val, to: Ty, span: Span) -> Option<Expr> {
        let operand = match (value, to) {
            (Val::Untyped(untyped), Ty::Scalar(scalar)) if scalar != Scalar::Bool => {
                let direct = match &untyped.kind {
                    UntypedKind::Int(v) => fits(*v, scalar),
                    UntypedKind::Char(_) => true,
                    _ => scalar.is_float() && untyped.is_float(),
                };
                let ty = if direct { scalar } else { untyped.default_scalar() };
                self.materialize(&untyped, ty)?
            }
            (value, _) => self.settle(value)?,
        };
        if operand.ty == to {
            return Some(Expr { span, ..operand });
        }
        match (operand.ty, to) {
            (Ty::Scalar(_), Ty::Scalar(scalar)) => Some(Expr { span, ..convert(operand, scalar, ConvertMode::Cast) }),
            (from, to) => {
                let (from, to) = (self.show_ty(from), self.show_ty(to));
                self.error(
                    Diagnostic::new(Code::MismatchedTypes, span, format!("`{from}` cannot be converted to `{to}`"))
                        .label("no such conversion")
                        .help("structs have no conversions: write a struct value, or take a field"),
                )
            }
        }
    }

    /// A `long` for an index, an extent or a bound: any integer will do. `ulong` beyond `long` is outside every array.
    pub(super) fn coerce_long(&mut self, value: Val, what: &str, mode: ConvertMode) -> Option<Expr> {
        match value {
            Val::Typed { expr, .. } => match expr.ty.scalar() {
                Some(Scalar::U64) => Some(convert(expr, Scalar::I64, mode)),
                Some(scalar) if scalar.is_integer() => Some(convert(expr, Scalar::I64, ConvertMode::Cast)),
                _ => self.not_an_integer(&expr, what),
            },
            Val::Untyped(untyped) if untyped.is_float() => {
                let own = self.materialize(&untyped, Scalar::F64)?;
                self.not_an_integer(&own, what)
            }
            Val::Untyped(untyped) => self.materialize(&untyped, Scalar::I64),
        }
    }

    fn not_an_integer(&mut self, value: &Expr, what: &str) -> Option<Expr> {
        let ty = self.show_ty(value.ty);
        let source = self.text(value.span);
        let mut diagnostic =
            Diagnostic::new(Code::NotAnInteger, value.span, format!("{what} must be an integer, but this is `{ty}`"))
                .label(format!("`{ty}`"));
        if value.ty.scalar().is_some() {
            diagnostic = diagnostic.suggest(value.span, cast_text("long", source), "convert it explicitly");
        }
        self.error(diagnostic)
    }

    /// A condition.
    pub(super) fn coerce_bool(&mut self, value: Val, what: &str) -> Option<Expr> {
        self.coerce(value, Ty::BOOL, Purpose::new(what))
    }
}

fn loss(from: Scalar, to: Scalar) -> String {
    if from.is_float() {
        let what = if to.is_float() { "digits" } else { "the fraction and large values" };
        format!("`{from}` to `{to}` loses {what}, so it is never done implicitly")
    } else {
        format!("`{to}` does not hold every value of `{from}`, so it is never done implicitly")
    }
}

/// Source text as an operand of something that binds tightly.
pub(super) fn operand_text(source: &str) -> String {
    let simple = source.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'));
    let wrapped = source.starts_with('(') && source.ends_with(')') && closes_at_end(source);
    if simple || wrapped { source.to_string() } else { format!("({source})") }
}

/// Whether the parenthesis that opens the text is closed by its last character.
fn closes_at_end(source: &str) -> bool {
    let mut depth = 0usize;
    for (at, c) in source.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == source.len();
                }
            }
            _ => {}
        }
    }
    false
}

/// `(int)(a + b)`, `(int)a`
pub(super) fn cast_text(ty: &str, source: &str) -> String {
    format!("({ty}){}", operand_text(source))
}

fn folded_negation(op: UnOp, operand: Expr, ty: Scalar, span: Span) -> Expr {
    let expr = Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty: ty.into(), span };
    folded(expr)
}

/// The constant the expression has, or the expression.
pub(super) fn folded(expr: Expr) -> Expr {
    // Operands were folded when they were made: a look at them is enough.
    let constant = |e: &Expr| matches!(e.kind, ExprKind::Const(_));
    let worth_it = match &expr.kind {
        ExprKind::Unary(_, operand) => constant(operand),
        ExprKind::Binary { left, right, .. } => constant(left) && constant(right),
        _ => false,
    };
    if !worth_it {
        return expr;
    }
    match fold::eval(&expr) {
        Some(value) => Expr { kind: ExprKind::Const(value), ..expr },
        None => expr,
    }
}

/// `left op right` on operands of type `ty` (shifts: any integer on the right), folded if constant.
pub(super) fn arithmetic(op: BinOp, left: Expr, right: Expr, ty: Scalar, span: Span) -> Expr {
    let checked = match op {
        BinOp::Div | BinOp::Rem => !ty.is_float(),
        BinOp::Shl | BinOp::Shr => true,
        _ => false,
    };
    let result = if op.is_comparison() { Ty::BOOL } else { ty.into() };
    let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), checked };
    folded(Expr { kind, ty: result, span })
}
