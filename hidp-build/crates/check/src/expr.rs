//! Expressions.

use hidp_ir::par::{BinOp, Const, ConvertMode, Expr, ExprKind, UnOp, VarKind};
use hidp_syntax::ast::{self, Literal};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::convert::{Purpose, arithmetic, convert, folded};
use super::cx::Cx;
use super::value::{Untyped, UntypedKind, Val};

impl Cx<'_> {
    /// Checks an expression. `None`: it has an error, which was reported.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Option<Val> {
        match &e.kind {
            ast::ExprKind::Literal(literal) => Some(self.literal(literal, e.span)),
            ast::ExprKind::Name(name) => self.name_value(name, e.span),
            ast::ExprKind::Index { base, subscripts } => self.index_value(base, subscripts, e.span),
            ast::ExprKind::Field { base, field } => self.field_value(base, field, e.span),
            ast::ExprKind::Unary { op, operand } => self.unary(*op, operand, e.span),
            ast::ExprKind::Binary { op, left, right, op_span } => self.binary(*op, left, right, *op_span, e.span),
            ast::ExprKind::Select { condition, then, otherwise } => self.select(condition, then, otherwise, e.span),
            ast::ExprKind::Cast { ty, operand, .. } => {
                let to = self.type_name(ty);
                let value = self.expr(operand);
                Some(Val::typed(self.cast(value?, to?, e.span)?))
            }
            ast::ExprKind::Call(call) => self.call_value(call, e.span),
            ast::ExprKind::Limit { max, ty } => self.limit(*max, ty, e.span),
            ast::ExprKind::Struct { ty, fields } => self.struct_value(ty, fields, e.span),
            ast::ExprKind::Error => {
                self.failed = true;
                None
            }
        }
    }

    /// An expression of type `ty`.
    pub(super) fn expr_of(&mut self, e: &ast::Expr, ty: Ty, purpose: Purpose<'_>) -> Option<Expr> {
        let value = self.expr(e)?;
        self.coerce(value, ty, purpose)
    }

    /// A condition.
    pub(super) fn condition(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.expr(e)?;
        self.coerce_bool(value, "a condition")
    }

    /// An index, an extent or a bound: a `long` made from any integer.
    pub(super) fn long(&mut self, e: &ast::Expr, what: &str, mode: ConvertMode) -> Option<Expr> {
        let value = self.expr(e)?;
        self.coerce_long(value, what, mode)
    }

    /// The type a written name means; reports unknown ones.
    pub(super) fn type_name(&mut self, ty: &ast::TypeName) -> Option<Ty> {
        if let Some(found) = self.globals.type_of(self.file, &ty.name) {
            return Some(found);
        }
        let diagnostic = super::header::unknown_type(self.globals, self.file, ty);
        self.error(diagnostic)
    }

    fn literal(&mut self, literal: &Literal, span: Span) -> Val {
        let untyped = |kind| Val::Untyped(Untyped { kind, span });
        let typed = |value, ty: Scalar| Expr { kind: ExprKind::Const(value), ty: ty.into(), span };
        match literal {
            Literal::Int { value, unsigned: false, long: false } => untyped(UntypedKind::Int((*value).into())),
            Literal::Int { value, unsigned, long } => {
                let value = i128::from(*value);
                let narrow = if *unsigned { Scalar::U32 } else { Scalar::I32 };
                let wide = if *unsigned { Scalar::U64 } else { Scalar::I64 };
                let ty = if *long || !super::value::fits(value, narrow) { wide } else { narrow };
                if super::value::fits(value, ty) {
                    Val::Typed { expr: typed(Const::Int(value), ty), dimension: ty == Scalar::I64 }
                } else {
                    untyped(UntypedKind::Int(value))
                }
            }
            Literal::Float { text, single: false } => untyped(UntypedKind::Float(text.clone())),
            Literal::Float { text, single: true } => {
                let value = text.parse::<f32>().map_or(f64::NAN, f64::from);
                Val::typed(typed(Const::Float(value), Scalar::F32))
            }
            Literal::Char(c) => untyped(UntypedKind::Char(*c)),
            Literal::Bool(value) => Val::typed(typed(Const::Bool(*value), Scalar::Bool)),
            Literal::Infinity => untyped(UntypedKind::Infinity),
            Literal::Nan => untyped(UntypedKind::Nan),
        }
    }

    fn limit(&mut self, max: bool, ty: &ast::TypeName, span: Span) -> Option<Val> {
        let Some(scalar) = self.type_name(ty)?.scalar() else {
            return self.error(
                Diagnostic::new(Code::BadOperand, ty.span, format!("`{}` has no smallest or largest value", ty.name))
                    .label("a struct"),
            );
        };
        let value = match scalar.integer_range() {
            Some(_) if scalar == Scalar::Bool => Const::Bool(max),
            Some((low, high)) => Const::Int(if max { high } else { low }),
            None => Const::Float(match (scalar, max) {
                (Scalar::F32, true) => f32::MAX.into(),
                (Scalar::F32, false) => f32::MIN.into(),
                (_, true) => f64::MAX,
                (_, false) => f64::MIN,
            }),
        };
        Some(Val::typed(Expr { kind: ExprKind::Const(value), ty: scalar.into(), span }))
    }

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Option<Val> {
        let value = self.expr(operand)?;
        match op {
            ast::UnaryOp::Not => {
                let operand = self.coerce_bool(value, "`!`")?;
                let kind = ExprKind::Unary(UnOp::Not, Box::new(operand));
                Some(Val::typed(folded(Expr { kind, ty: Ty::BOOL, span })))
            }
            ast::UnaryOp::Neg => self.arithmetic_unary(Some(UnOp::Neg), value, span),
            ast::UnaryOp::Plus => self.arithmetic_unary(None, value, span),
            ast::UnaryOp::BitNot => self.arithmetic_unary(Some(UnOp::BitNot), value, span),
        }
    }

    fn arithmetic_unary(&mut self, op: Option<UnOp>, value: Val, span: Span) -> Option<Val> {
        if let Val::Untyped(operand) = value {
            let Some(op) = op else {
                return Some(Val::Untyped(Untyped { span, ..operand }));
            };
            if op == UnOp::BitNot && operand.is_float() {
                return self.bad_operand("~", "integers", "double", span);
            }
            let kind = match (op, &operand.kind) {
                (UnOp::Neg, UntypedKind::Int(v)) => UntypedKind::Int(-v),
                _ => UntypedKind::Unary(op, Box::new(operand)),
            };
            return Some(Val::Untyped(Untyped { kind, span }));
        }
        let Val::Typed { expr, dimension } = value else { return None };
        let Some(scalar) = expr.ty.scalar() else {
            let ty = self.show_ty(expr.ty);
            return self.bad_operand("-", "numbers", &ty, span);
        };
        let scalar = if scalar == Scalar::Bool { Scalar::I32 } else { scalar };
        if op == Some(UnOp::BitNot) && scalar.is_float() {
            return self.bad_operand("~", "integers", scalar.hidp_name(), span);
        }
        let operand = convert(expr, scalar, ConvertMode::Cast);
        let expr = match op {
            None => Expr { span, ..operand },
            Some(op) => folded(Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty: scalar.into(), span }),
        };
        Some(Val::Typed { expr, dimension })
    }

    fn bad_operand<T>(&mut self, op: &str, takes: &str, ty: &str, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadOperand, span, format!("`{op}` takes {takes}, but this is `{ty}`"))
                .label(format!("`{ty}`")),
        )
    }

    fn binary(
        &mut self,
        op: ast::BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        op_span: Span,
        span: Span,
    ) -> Option<Val> {
        let (l, r) = (self.expr(left), self.expr(right));
        let (l, r) = (l?, r?);
        match op {
            ast::BinaryOp::And | ast::BinaryOp::Or => {
                let and = op == ast::BinaryOp::And;
                let what = if and { "`&&`" } else { "`||`" };
                let (l, r) = (self.coerce_bool(l, what), self.coerce_bool(r, what));
                let kind = ExprKind::Lazy { and, left: Box::new(l?), right: Box::new(r?) };
                Some(Val::typed(Expr { kind, ty: Ty::BOOL, span }))
            }
            ast::BinaryOp::Shl | ast::BinaryOp::Shr => self.shift(bin_op(op), l, r, span),
            _ => self.operate(bin_op(op), l, r, op_span, span),
        }
    }

    pub(super) fn shift(&mut self, op: BinOp, left: Val, right: Val, span: Span) -> Option<Val> {
        for side in [&left, &right] {
            let integer = match side {
                Val::Untyped(untyped) => !untyped.is_float(),
                Val::Typed { expr, .. } => expr.ty.scalar().is_some_and(|s| !s.is_float()),
            };
            if !integer {
                let ty = self.show_ty(side.default_ty());
                return self.bad_operand(super::shape::bin_op(op), "integers", &ty, side.span());
            }
        }
        let count = self.settle(right)?;
        let count = if count.ty == Ty::BOOL { convert(count, Scalar::I32, ConvertMode::Cast) } else { count };
        match left {
            Val::Untyped(left) => {
                let kind = UntypedKind::Shift(op, Box::new(left), Box::new(count));
                Some(Val::Untyped(Untyped { kind, span }))
            }
            Val::Typed { expr, dimension } => {
                let scalar = if expr.ty == Ty::BOOL { Scalar::I32 } else { expr.scalar() };
                let value = convert(expr, scalar, ConvertMode::Cast);
                let dimension = dimension && matches!(count.kind, ExprKind::Const(_));
                Some(Val::Typed { expr: arithmetic(op, value, count, scalar, span), dimension })
            }
        }
    }

    /// Arithmetic, comparison and bit operations on two checked operands.
    pub(super) fn operate(&mut self, op: BinOp, left: Val, right: Val, op_span: Span, span: Span) -> Option<Val> {
        if let (Val::Untyped(l), Val::Untyped(r)) = (&left, &right)
            && !op.is_comparison()
        {
            return self.untyped_binary(op, l.clone(), r.clone(), span);
        }
        if matches!(op, BinOp::And | BinOp::Or | BinOp::Xor)
            && let (Val::Typed { expr: l, .. }, Val::Typed { expr: r, .. }) = (&left, &right)
            && l.ty == Ty::BOOL
            && r.ty == Ty::BOOL
        {
            return Some(Val::typed(arithmetic(op, l.clone(), r.clone(), Scalar::Bool, span)));
        }
        let (l, r, scalar, dimension) = self.meet(left, right, super::shape::bin_op(op), op_span)?;
        let whole = matches!(op, BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor);
        if whole && scalar.is_float() {
            return self.integers_only(op, scalar, &l, &r, op_span);
        }
        let expr = arithmetic(op, l, r, scalar, span);
        Some(Val::Typed { dimension: dimension && expr.ty == Ty::LONG, expr })
    }

    fn integers_only(&mut self, op: BinOp, ty: Scalar, l: &Expr, r: &Expr, op_span: Span) -> Option<Val> {
        let name = super::shape::bin_op(op);
        let mut diagnostic =
            Diagnostic::new(Code::BadOperand, op_span, format!("`{name}` takes integers, but these are `{ty}`"))
                .also(l.span, "")
                .also(r.span, "");
        if op == BinOp::Rem {
            let text = format!("fmod({}, {})", self.text(l.span), self.text(r.span));
            diagnostic = diagnostic.suggest(l.span.to(r.span), text, "use the remainder of floats");
        }
        self.error(diagnostic)
    }

    fn untyped_binary(&mut self, op: BinOp, left: Untyped, right: Untyped, span: Span) -> Option<Val> {
        let whole = matches!(op, BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor);
        if whole && (left.is_float() || right.is_float()) {
            return self.bad_operand(super::shape::bin_op(op), "integers", "double", span);
        }
        let folded = match (&left.kind, &right.kind, op) {
            (UntypedKind::Int(a), UntypedKind::Int(b), BinOp::Add) => a.checked_add(*b),
            (UntypedKind::Int(a), UntypedKind::Int(b), BinOp::Sub) => a.checked_sub(*b),
            (UntypedKind::Int(a), UntypedKind::Int(b), BinOp::Mul) => a.checked_mul(*b),
            _ => None,
        };
        let kind = match folded.filter(|v| super::value::fits(*v, Scalar::I64) || super::value::fits(*v, Scalar::U64)) {
            Some(value) => UntypedKind::Int(value),
            None => UntypedKind::Binary(op, Box::new(left), Box::new(right)),
        };
        Some(Val::Untyped(Untyped { kind, span }))
    }

    /// Both operands in the type in which they meet, and whether the result still is a dimension expression.
    pub(super) fn meet(
        &mut self,
        left: Val,
        right: Val,
        op: &str,
        op_span: Span,
    ) -> Option<(Expr, Expr, Scalar, bool)> {
        for side in [&left, &right] {
            if side.default_ty().scalar().is_none() {
                let ty = self.show_ty(side.default_ty());
                return self.bad_operand(op, "numbers", &ty, side.span());
            }
        }
        let scalar = match (&left, &right) {
            (Val::Untyped(l), Val::Untyped(r)) => l.default_scalar().meet(r.default_scalar()).unwrap_or(Scalar::U64),
            (Val::Untyped(literal), Val::Typed { expr, .. }) | (Val::Typed { expr, .. }, Val::Untyped(literal)) => {
                beside_literal(expr.scalar(), literal)
            }
            (Val::Typed { expr: l, .. }, Val::Typed { expr: r, .. }) => match l.scalar().meet(r.scalar()) {
                Some(scalar) => scalar,
                None => return self.no_common_type(l, r, op, op_span),
            },
        };
        let dimension = keeps_dimension(&left, &right);
        let l = self.in_scalar(left, scalar);
        let r = self.in_scalar(right, scalar);
        Some((l?, r?, scalar, dimension))
    }

    fn in_scalar(&mut self, value: Val, scalar: Scalar) -> Option<Expr> {
        match value {
            Val::Untyped(untyped) => self.materialize(&untyped, scalar),
            Val::Typed { expr, .. } => Some(convert(expr, scalar, ConvertMode::Cast)),
        }
    }

    fn no_common_type<T>(&mut self, l: &Expr, r: &Expr, op: &str, op_span: Span) -> Option<T> {
        let (lt, rt) = (l.scalar(), r.scalar());
        // The cast that is most likely meant: to the signed side's type, which indices and dimensions have.
        let (cast, to) = if lt.is_signed() { (r, lt) } else { (l, rt) };
        let text = super::convert::cast_text(to.hidp_name(), self.text(cast.span));
        self.error(
            Diagnostic::new(Code::NoCommonType, op_span, format!("`{lt} {op} {rt}` has no type that holds both"))
                .label("no integer type holds every value of both sides")
                .also(l.span, format!("`{lt}`"))
                .also(r.span, format!("`{rt}`"))
                .suggest(cast.span, text, "convert one side explicitly"),
        )
    }

    fn select(&mut self, condition: &ast::Expr, then: &ast::Expr, otherwise: &ast::Expr, span: Span) -> Option<Val> {
        let (cond, then, otherwise) = (self.condition(condition), self.expr(then), self.expr(otherwise));
        let (cond, then, otherwise) = (Box::new(cond?), then?, otherwise?);
        if let (Val::Untyped(t), Val::Untyped(o)) = (&then, &otherwise) {
            let kind = UntypedKind::Select(cond, Box::new(t.clone()), Box::new(o.clone()));
            return Some(Val::Untyped(Untyped { kind, span }));
        }
        let (then, otherwise, dimension) = if then.default_ty() == otherwise.default_ty() {
            let dimension = keeps_dimension(&then, &otherwise);
            (self.settle(then)?, self.settle(otherwise)?, dimension)
        } else {
            let (t, o, _, dimension) = self.meet(then, otherwise, "?:", span)?;
            (t, o, dimension)
        };
        let ty = then.ty;
        let kind = ExprKind::Select { cond, then: Box::new(then), otherwise: Box::new(otherwise) };
        Some(Val::Typed { expr: Expr { kind, ty, span }, dimension })
    }

    /// Reads a scalar variable.
    pub(super) fn read_scalar(&mut self, var: hidp_ir::par::VarId, span: Span) -> Option<Val> {
        self.mark_read(var, span)?;
        let ty = self.vars[var].ty;
        let expr = Expr::read(var, ty, span);
        let dimension = matches!(self.vars[var].kind, VarKind::Dim | VarKind::Iter) || self.tunables.contains(&var);
        Some(Val::Typed { expr, dimension })
    }
}

fn bin_op(op: ast::BinaryOp) -> BinOp {
    match op {
        ast::BinaryOp::Add => BinOp::Add,
        ast::BinaryOp::Sub => BinOp::Sub,
        ast::BinaryOp::Mul => BinOp::Mul,
        ast::BinaryOp::Div => BinOp::Div,
        ast::BinaryOp::Rem => BinOp::Rem,
        ast::BinaryOp::BitAnd | ast::BinaryOp::And => BinOp::And,
        ast::BinaryOp::BitOr | ast::BinaryOp::Or => BinOp::Or,
        ast::BinaryOp::BitXor => BinOp::Xor,
        ast::BinaryOp::Shl => BinOp::Shl,
        ast::BinaryOp::Shr => BinOp::Shr,
        ast::BinaryOp::Lt => BinOp::Lt,
        ast::BinaryOp::Le => BinOp::Le,
        ast::BinaryOp::Gt => BinOp::Gt,
        ast::BinaryOp::Ge => BinOp::Ge,
        ast::BinaryOp::Eq => BinOp::Eq,
        ast::BinaryOp::Ne => BinOp::Ne,
    }
}

/// The operator of a compound assignment or of arithmetic.
pub(super) fn arithmetic_op(op: ast::BinaryOp) -> BinOp {
    bin_op(op)
}

fn beside_literal(typed: Scalar, literal: &Untyped) -> Scalar {
    match (typed, literal.is_float()) {
        (Scalar::Bool, false) => Scalar::I32,
        (typed, true) if !typed.is_float() => Scalar::F64,
        (typed, _) => typed,
    }
}

/// Whether an operation on both is still made of dimension names, iterators and literals only.
fn keeps_dimension(left: &Val, right: &Val) -> bool {
    let part = |value: &Val| match value {
        Val::Untyped(untyped) => !untyped.is_float(),
        Val::Typed { expr, dimension } => {
            *dimension || (expr.ty.scalar().is_some_and(Scalar::is_integer) && matches!(expr.kind, ExprKind::Const(_)))
        }
    };
    let whole = |value: &Val| matches!(value, Val::Typed { dimension: true, .. });
    part(left) && part(right) && (whole(left) || whole(right))
}
