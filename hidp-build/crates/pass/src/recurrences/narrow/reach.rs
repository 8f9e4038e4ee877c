//! How far apart cells can be, and whether that is close enough.
//!
//! A constant beyond all others becomes a *far value*, nearer to them by so much that no chain of cells leads from it to the *line*, which is where
//! real cells are expected to end. A cell on this side of the line is the same in both versions: by induction, each value is the same in
//! both, or beyond the line in both. That holds for sums with plain values, for conditions on these, and for the larger one of two values where the far value is
//! below them; not for the smaller one, nor for comparisons of cells. A cell beyond the line is computed again from wide ones.

use hidp_ir::par::{BinOp, Const, Expr, ExprKind, Stmt, UnOp, VarId};
use hidp_syntax::source::Span;

use super::super::build;
use super::size::{Bound, End, LEAF, Range, Size};
use super::{Doubt, Narrowing, TY, VALUES};

/// A constant that is beyond all cells.
pub(super) struct Far {
    /// On which side.
    pub(super) end: End,
    /// The smallest and the largest such constant.
    ends: [i64; 2],
    /// The low bits of the far value, without the offset.
    pub(super) low: VarId,
}

/// What cells can be.
pub(super) struct Reach {
    pub(super) ends: Range,
    /// Whether that is so, and 16 bits are enough.
    pub(super) fits: Expr,
    /// The far value, and which cells may depend on it.
    pub(super) far: Option<(Size, Doubt)>,
    /// Finds what is in arrays.
    pub(super) before: Vec<Stmt>,
}

/// A constant that stands for no value.
pub(super) fn constant(expr: &Expr) -> Option<i64> {
    let value = match &expr.kind {
        ExprKind::Const(Const::Int(value)) => i64::try_from(*value).ok()?,
        ExprKind::Unary(UnOp::Neg, operand) => operand.as_int().and_then(|value| i64::try_from(-value).ok())?,
        ExprKind::Const(Const::Float(_) | Const::Bool(_))
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => return None,
    };
    (value.unsigned_abs() >= 1 << LEAF && value.unsigned_abs() < 1 << 31).then_some(value)
}

impl Narrowing<'_, '_> {
    /// What takes the place of a constant beyond all cells. `None` if there are such on both sides.
    pub(super) fn far_value(&mut self, value: i64, span: Span) -> Option<Expr> {
        let end = if value < 0 { End::Low } else { End::High };
        let far = match self.far.take() {
            Some(far) => Far { ends: [far.ends[0].min(value), far.ends[1].max(value)], ..far },
            None => Far { end, ends: [value; 2], low: self.builder.local("far", TY, span) },
        };
        let low = far.low;
        let same = far.end == end;
        self.far = Some(far);
        same.then(|| Expr::read(low, TY, span))
    }

    pub(super) fn reach(mut self, steps: &Size) -> Option<Reach> {
        let span = steps.expr.span;
        let stored = self.stored.iter().flatten().cloned().reduce(|all, bounds| all.join(&bounds))?;
        let all = self.all.take()?;
        for table in &self.system.tables {
            for extent in self.builder.vars[table.array].shape.clone() {
                self.leaf(extent)?;
            }
        }
        let one = Size::constant(1, span);
        let mut conds = Vec::new();
        let mut far = None;
        if let Some(Far { end, ends, .. }) = self.far {
            let cells = stored.end(end);
            match end {
                End::Low if !self.lowers => {}
                End::High if !self.raises => {}
                End::Low | End::High => return None,
            }
            if self.compares && (self.loose || ends[0] != ends[1]) {
                return None;
            }
            let real = if self.compares {
                let plain = |bound: &Bound| Bound { far: None, ..bound.clone() };
                reached([&plain(cells), &plain(all.end(end))], None, end, steps)?
            } else {
                cells.plain.as_ref()?.plus(&grown(cells, end, steps)?)?
            };
            let line = match end {
                End::Low => real.minus(&one)?,
                End::High => real.plus(&one)?,
            };
            let back = stored.end(end.other());
            let mut back = grown(back, end.other(), steps)?.plus(&towards(&back.far, end.other(), span))?;
            if self.compares {
                let on_the_way = all.end(end.other());
                let more = on_the_way.more.values().chain(&on_the_way.far);
                back = back.plus(&towards(more, end.other(), span))?;
            }
            let value = line.minus(&back)?;
            // The program's own constants are further away, and what is computed from them does not wrap.
            let [least, most] = ends.map(|constant| Size::constant(constant, span));
            let (near, furthest) = match end {
                End::Low => (Expr::long(BinOp::Ge, value.expr.clone(), most.expr), least),
                End::High => (Expr::long(BinOp::Le, value.expr.clone(), least.expr), most),
            };
            conds.push(near);
            conds.extend(fits_int(&reached([cells, all.end(end)], Some(&furthest), end, steps)?, end));
            far = Some((value, Doubt { end, line: line.expr }));
        }
        let value = far.as_ref().map(|(value, _)| value);
        let end = |end: End| reached([stored.end(end), all.end(end)], value, end, steps);
        let ends = Range::new(end(End::Low)?, end(End::High)?);
        let small = (1 << LEAF) - 1;
        let at_most = |value: &Expr, size: i64| Expr::long(BinOp::Le, value.clone(), Expr::int(size, span));
        let at_least = |value: &Expr, size: i64| Expr::long(BinOp::Ge, value.clone(), Expr::int(size, span));
        conds.extend(self.leaves.iter().flat_map(|leaf| [at_most(leaf, small), at_least(leaf, -small)]));
        conds.push(at_most(&ends.high.minus(&ends.low)?.expr, VALUES - 1));
        for range in [&ends].into_iter().chain(&self.ints) {
            conds.extend(fits_int(&range.high, End::High));
            conds.extend(fits_int(&range.low, End::Low));
        }
        conds.splice(..0, self.contents.conds);
        Some(Reach { ends, fits: build::all(conds, span), far, before: self.contents.before })
    }
}

/// Nothing, or what leads furthest to this end.
fn towards<'a>(added: impl IntoIterator<Item = &'a Size>, end: End, span: Span) -> Size {
    added.into_iter().fold(Size::constant(0, span), |most, added| added.extreme(&most, end))
}

/// What all steps add at most: what is added to a cell of several steps before is added once for all of these.
fn grown(cells: &Bound, end: End, steps: &Size) -> Option<Size> {
    let span = steps.expr.span;
    let each = cells.more.iter().map(|(back, added)| Some(towards([added], end, span).times(steps)?.over(*back)));
    Some(towards(&each.collect::<Option<Vec<Size>>>()?, end, span))
}

/// The extreme value of all that is computed, where `cells` bounds what is stored and `all` whatever is computed on the way.
fn reached([cells, all]: [&Bound; 2], far: Option<&Size>, end: End, steps: &Size) -> Option<Size> {
    let span = steps.expr.span;
    let from_far = |bound: &Bound| match (far, &bound.far) {
        (Some(far), Some(more)) => far.plus(more).map(Some),
        (_, None) | (None, _) => Some(None),
    };
    let both = |parts: [Option<Size>; 2]| parts.into_iter().flatten().reduce(|left, right| left.extreme(&right, end));
    let first = both([cells.plain.clone(), from_far(cells)?])?;
    let cell = first.plus(&grown(cells, end, steps)?)?.plus(&towards(all.more.values(), end, span))?;
    both([Some(cell), both([all.plain.clone(), from_far(all)?])])
}

/// The condition under which a bound is a value of `int`, where that is not certain.
fn fits_int(bound: &Size, end: End) -> Option<Expr> {
    let span = bound.expr.span;
    let (op, most) = match end {
        End::Low => (BinOp::Ge, i32::MIN),
        End::High => (BinOp::Le, i32::MAX),
    };
    (!bound.is_int()).then(|| Expr::long(op, bound.expr.clone(), Expr::int(most.into(), span)))
}
