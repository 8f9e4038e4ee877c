//! Plain values: those that depend on no cell.

use hidp_ir::par::{BinOp, Const, Expr, ExprKind, MathFn, UnOp, VarId, VarKind, same};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::build;
use super::size::{End, LEAF, Range, Size};
use super::{Narrowing, TY, is_wide};

/// The low bits of a plain value in a narrow type. Variables have them in others, `twins`.
pub(in super::super) fn low_bits(expr: &Expr, ty: Ty, twins: &OrdMap<VarId, VarId>) -> Expr {
    let span = expr.span;
    let low = |expr: &Expr| Box::new(low_bits(expr, ty, twins));
    let kind = match &expr.kind {
        _ if !is_wide(expr.ty) => return build::cast(expr.clone(), ty),
        ExprKind::Const(Const::Int(value)) => ExprKind::Const(Const::Int(wrapped(*value, ty))),
        ExprKind::Read(var) => match twins.get(var) {
            Some(twin) => ExprKind::Read(*twin),
            None => return build::cast(expr.clone(), ty),
        },
        ExprKind::Unary(op @ UnOp::Neg, operand) => ExprKind::Unary(*op, low(operand)),
        ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), left, right, checked } => {
            ExprKind::Binary { op: *op, left: low(left), right: low(right), checked: *checked }
        }
        ExprKind::Select { cond, then, otherwise } => {
            ExprKind::Select { cond: cond.clone(), then: low(then), otherwise: low(otherwise) }
        }
        ExprKind::Convert { operand, .. } if is_wide(operand.ty) => return *low(operand),
        ExprKind::Convert { operand, .. } if operand.ty.scalar().is_some_and(Scalar::is_integer) => {
            return build::cast((**operand).clone(), ty);
        }
        ExprKind::Const(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => return build::cast(expr.clone(), ty),
    };
    Expr { kind, ty, span }
}

/// A constant in a type that may not hold it.
fn wrapped(value: i128, ty: Ty) -> i128 {
    match ty.scalar().and_then(Scalar::integer_range) {
        Some((low, high)) => low + (value - low).rem_euclid(high - low + 1),
        None => value,
    }
}

impl Narrowing<'_, '_> {
    /// The low bits of a plain value.
    pub(super) fn low_bits(&self, expr: &Expr) -> Expr {
        low_bits(expr, TY, &self.twins)
    }

    /// What a plain integer can be.
    pub(super) fn range(&mut self, expr: &Expr) -> Option<Range> {
        let span = expr.span;
        let range = match &expr.kind {
            ExprKind::Const(_) => {
                let value = i64::try_from(expr.as_int()?).ok().filter(|value| value.unsigned_abs() < 1 << LEAF)?;
                Some(Range::one(Size::constant(value, span)))
            }
            ExprKind::Read(var) => self.known.plain.get(var).cloned().or_else(|| self.variable(*var, expr)),
            ExprKind::Unary(UnOp::Neg, operand) if is_wide(expr.ty) => {
                Range::one(Size::constant(0, span)).minus(&self.range(operand)?)
            }
            ExprKind::Binary { op: BinOp::Add, left, right, .. } if is_wide(expr.ty) => {
                self.range(left)?.plus(&self.range(right)?)
            }
            ExprKind::Binary { op: BinOp::Sub, left, right, .. } if is_wide(expr.ty) => {
                self.range(left)?.minus(&self.range(right)?)
            }
            ExprKind::Binary { op: BinOp::Mul, left, right, .. } if is_wide(expr.ty) => {
                self.range(left)?.times(&self.range(right)?)
            }
            ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
                let [left, right] = operands.as_slice() else { return None };
                let end = if *function == MathFn::Min { End::Low } else { End::High };
                Some(self.range(left)?.extreme(&self.range(right)?, end))
            }
            ExprKind::Select { then, otherwise, .. } => Some(self.range(then)?.join(&self.range(otherwise)?)),
            ExprKind::Convert { operand, .. }
                if is_wide(expr.ty) && operand.ty.scalar().is_some_and(Scalar::is_integer) =>
            {
                self.range(operand)
            }
            ExprKind::Load(place) if place.path.is_empty() => match self.contents.extremes(self.builder, place.array) {
                Some([least, most]) => Some(Range::new(self.leaf(least)?, self.leaf(most)?)),
                None => of_type(expr.ty, span),
            },
            ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => of_type(expr.ty, span),
        }?;
        if expr.ty == Ty::Scalar(Scalar::I32) && !range.are_ints() {
            self.ints = Some(self.ints.take().map_or_else(|| range.clone(), |ints| ints.join(&range)));
        }
        Some(range)
    }

    /// What a variable can be that no statement of the body changes.
    fn variable(&mut self, var: VarId, expr: &Expr) -> Option<Range> {
        let span = expr.span;
        let table = &self.system.tables[self.at];
        if let Some(at) = table.index.iter().position(|index| index.var == var) {
            let extent = self.builder.vars[table.array].shape[at].clone();
            let last = self.leaf(extent)?.minus(&Size::constant(1, span))?;
            return Some(Range::new(Size::constant(0, span), last));
        }
        match self.builder.vars[var].kind {
            VarKind::Dim | VarKind::Param(Direction::Input) => Some(Range::one(self.leaf(expr.clone())?)),
            VarKind::Iter | VarKind::Local | VarKind::Param(_) => of_type(expr.ty, span),
        }
    }

    /// A scalar whose size is tested.
    pub(super) fn leaf(&mut self, expr: Expr) -> Option<Size> {
        let ty = expr.ty.scalar().filter(|ty| ty.is_integer() && ty.converts_to(Scalar::I64))?;
        let expr = if ty == Scalar::I64 { expr } else { build::cast(expr, Ty::LONG) };
        if !self.leaves.iter().any(|known| same::expr(known, &expr)) {
            self.leaves.push(expr.clone());
        }
        Some(Size::leaf(expr))
    }
}

/// The values of a small type.
fn of_type(ty: Ty, span: Span) -> Option<Range> {
    let (low, high) = ty.scalar()?.integer_range()?;
    let size = |value: i128| {
        i64::try_from(value)
            .ok()
            .filter(|value| value.unsigned_abs() < 1 << LEAF)
            .map(|value| Size::constant(value, span))
    };
    Some(Range::new(size(low)?, size(high)?))
}
