//! Domains: the ranges of indices, and the array that holds a cell for each of their points.

use hidp_ir::par::{BinOp, ConvertMode, Expr, ExprKind, Iter, MathFn, UnOp, Var, VarId, VarKind};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::cx::Cx;
use super::super::shape;

/// The least and the largest value of an expression over all points of a domain.
type Extremes = (Expr, Expr);

/// Domains begin here at the earliest.
const LEAST_INDEX: i64 = -(1 << 20);

impl Cx<'_> {
    /// The indices of a recurrence, whose names come into the scope that is open.
    pub(super) fn indices(&mut self, item: &ast::Recurrence) -> Option<Vec<Iter>> {
        let indices: Vec<Option<Iter>> = item.index.iter().map(|index| self.one_index(index)).collect();
        indices.into_iter().collect()
    }

    fn one_index(&mut self, index: &ast::Iter) -> Option<Iter> {
        let range = self.range(&index.range);
        let var = self.new_var(&index.name.name, Ty::LONG, Vec::new(), VarKind::Iter, index.name.span);
        self.declare(&index.name, var);
        let (lo, hi, step) = range?;
        if let Some(written) = &index.range.step {
            return self.error(
                Diagnostic::new(Code::BadRecurrence, written.span, "the range of an index has no stride")
                    .label("not possible here")
                    .help("let the index count, and multiply it where it is used"),
            );
        }
        self.bound_parts(&lo)?;
        self.bound_parts(&hi)?;
        Some(Iter { var, lo, hi, step, span: index.span })
    }

    /// Bounds are evaluated in any order and more than once.
    fn bound_parts(&mut self, bound: &Expr) -> Option<()> {
        if is_bound(bound) {
            return Some(());
        }
        self.error(
            Diagnostic::new(
                Code::BadRecurrence,
                bound.span,
                "a bound of an index is made of dimensions, scalar inputs, earlier indices and constants",
            )
            .label("cannot stand in a bound")
            .help(
                "sums, differences, products, `min` and `max` of these are possible; a `ulong` needs a cast to `long`",
            ),
        )
    }

    /// The extents of the smallest array with an element for each point, and the index of its first element: 0, or a negative number.
    pub(super) fn extents(&mut self, indices: &[Iter]) -> Option<Vec<(Expr, i64)>> {
        let mut known: OrdMap<VarId, Extremes> = OrdMap::new();
        let mut extents = Vec::new();
        for index in indices {
            let one = Expr::int(1, index.span);
            let (Some((low, _)), Some((_, high))) = (extremes(&index.lo, &known), extremes(&index.hi, &known)) else {
                return self.error(
                    Diagnostic::new(Code::BadRecurrence, index.span, "this range is not linear in earlier indices")
                        .label("its largest size is not known before"),
                );
            };
            let first = match shape::simplified(low.clone()).as_int().map(i64::try_from) {
                Some(Ok(first @ LEAST_INDEX..0)) => first,
                _ if never_negative(&low, &self.vars) => 0,
                _ => {
                    return self.error(
                        Diagnostic::new(Code::BadRecurrence, index.lo.span, "this bound might be negative")
                            .label("not provably 0 or more")
                            .note(format!(
                                "the least index of a domain is a constant from {LEAST_INDEX} on, or not negative"
                            ))
                            .help("move the index, or bound it: `max(…, 0)`"),
                    );
                }
            };
            known.insert(index.var, (low, shape::sub(&high, &one)));
            let count = shape::sub(&high, &Expr::int(first, index.span));
            let count = if never_negative(&count, &self.vars) {
                count
            } else {
                let span = count.span;
                Expr { kind: ExprKind::Math(MathFn::Max, vec![count, Expr::int(0, span)]), ty: Ty::LONG, span }
            };
            extents.push((count, first));
        }
        Some(extents)
    }
}

fn is_bound(bound: &Expr) -> bool {
    match &bound.kind {
        ExprKind::Const(_) | ExprKind::Read(_) => true,
        ExprKind::Unary(UnOp::Neg, operand) => is_bound(operand),
        ExprKind::Convert { operand, mode } => *mode == ConvertMode::Cast && is_bound(operand),
        ExprKind::Binary { op, left, right, .. } => {
            matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul) && is_bound(left) && is_bound(right)
        }
        ExprKind::Math(MathFn::Min | MathFn::Max, operands) => operands.iter().all(is_bound),
        ExprKind::Unary(..)
        | ExprKind::Math(..)
        | ExprKind::Load(_)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

/// What an expression ranges over, given what the indices in it do. `None` where that is not known.
fn extremes(expr: &Expr, known: &OrdMap<VarId, Extremes>) -> Option<Extremes> {
    if !known.keys().any(|index| shape::mentions(expr, *index)) {
        return Some((expr.clone(), expr.clone()));
    }
    match &expr.kind {
        ExprKind::Read(var) => known.get(var).cloned(),
        ExprKind::Unary(UnOp::Neg, operand) => {
            let (low, high) = extremes(operand, known)?;
            let zero = Expr::int(0, expr.span);
            Some((shape::sub(&zero, &high), shape::sub(&zero, &low)))
        }
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => {
            let (left, right) = (extremes(left, known)?, extremes(right, known)?);
            Some((shape::add(&left.0, &right.0), shape::add(&left.1, &right.1)))
        }
        ExprKind::Binary { op: BinOp::Sub, left, right, .. } => {
            let (left, right) = (extremes(left, known)?, extremes(right, known)?);
            Some((shape::sub(&left.0, &right.1), shape::sub(&left.1, &right.0)))
        }
        ExprKind::Binary { op: BinOp::Mul, left, right, .. } => {
            let (factor, other) = match (left.as_int(), right.as_int()) {
                (Some(_), _) => (left, right),
                (None, Some(_)) => (right, left),
                (None, None) => return None,
            };
            let (low, high) = extremes(other, known)?;
            let times = |value: Expr| shape::simplified(Expr::long(BinOp::Mul, (**factor).clone(), value));
            let (low, high) = (times(low), times(high));
            Some(if factor.as_int()? >= 0 { (low, high) } else { (high, low) })
        }
        ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
            let each: Vec<Extremes> = operands.iter().map(|operand| extremes(operand, known)).collect::<Option<_>>()?;
            let of =
                |values: Vec<Expr>| Expr { kind: ExprKind::Math(*function, values), ty: Ty::LONG, span: expr.span };
            let (lows, highs) = each.into_iter().unzip();
            Some((of(lows), of(highs)))
        }
        ExprKind::Const(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// Whether a value is certainly 0 or more. (Sums and products of extents do not wrap: arrays of them exist.)
fn never_negative(expr: &Expr, vars: &Arena<VarId, Var>) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => expr.as_int().is_some_and(|value| value >= 0),
        ExprKind::Read(var) => vars[*var].kind == VarKind::Dim,
        ExprKind::Convert { operand, .. } => {
            let from = operand.ty.scalar();
            from.is_some_and(|ty| ty != Scalar::U64 && ty.integer_range().is_some_and(|(low, _)| low == 0))
        }
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => {
            never_negative(left, vars) && never_negative(right, vars)
        }
        ExprKind::Math(MathFn::Max, operands) => operands.iter().any(|operand| never_negative(operand, vars)),
        ExprKind::Math(MathFn::Min, operands) => operands.iter().all(|operand| never_negative(operand, vars)),
        ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}
