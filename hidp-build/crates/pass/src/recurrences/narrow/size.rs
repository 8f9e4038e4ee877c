//! Bounds of values: expressions of `long`, which cannot wrap where all that they are made of is small.

use hidp_ir::par::{BinOp, Expr, ExprKind, MathFn, VarId, same};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;

use super::super::build;

/// What is known of the scalars that bounds are made of: their size is less than two to this power.
pub(super) const LEAF: u32 = 16;

/// Expressions below two to this power do not wrap.
const MOST: u32 = 62;

/// The smallest value of something or the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Low,
    High,
}

impl End {
    pub(super) fn other(self) -> End {
        match self {
            End::Low => End::High,
            End::High => End::Low,
        }
    }
}

/// A comparison that holds, or does not.
pub(super) fn stated(op: BinOp, holds: bool) -> Option<BinOp> {
    Some(match (op, holds) {
        (BinOp::Lt, true) | (BinOp::Ge, false) => BinOp::Lt,
        (BinOp::Le, true) | (BinOp::Gt, false) => BinOp::Le,
        (BinOp::Gt, true) | (BinOp::Le, false) => BinOp::Gt,
        (BinOp::Ge, true) | (BinOp::Lt, false) => BinOp::Ge,
        (BinOp::Eq, true) | (BinOp::Ne, false) => BinOp::Eq,
        (BinOp::Ne, true) | (BinOp::Eq, false) => BinOp::Ne,
        (
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr,
            _,
        ) => return None,
    })
}

/// An integer that is found out when the function runs.
#[derive(Clone, Debug)]
pub(super) struct Size {
    pub(super) expr: Expr,
    /// Its size is less than two to this power, where leaves are as small as they have to be.
    bits: u32,
}

impl Size {
    /// A dimension or a scalar.
    pub(super) fn leaf(expr: Expr) -> Size {
        Size { expr, bits: LEAF }
    }

    /// A sum of leaves, `factors` in all.
    pub(super) fn sum(expr: Expr, factors: u64) -> Size {
        Size { expr, bits: LEAF + 64 - factors.leading_zeros() }
    }

    pub(super) fn constant(value: i64, span: Span) -> Size {
        Size { expr: Expr::int(value, span), bits: 64 - value.unsigned_abs().leading_zeros() }
    }

    /// Whether it is certainly a value of `int`.
    pub(super) fn is_int(&self) -> bool {
        self.bits < 32
    }

    fn value(&self) -> Option<i64> {
        self.expr.as_int().and_then(|value| i64::try_from(value).ok())
    }

    fn made(bits: u32, expr: impl FnOnce() -> Expr) -> Option<Size> {
        (bits <= MOST).then(|| Size { expr: expr(), bits })
    }

    pub(super) fn plus(&self, other: &Size) -> Option<Size> {
        match (self.value(), other.value()) {
            (Some(0), _) => Some(other.clone()),
            (_, Some(0)) => Some(self.clone()),
            (Some(left), Some(right)) => Some(Size::constant(left.checked_add(right)?, self.expr.span)),
            (Some(_), None) | (None, Some(_)) | (None, None) => {
                Size::made(self.bits.max(other.bits) + 1, || build::add(self.expr.clone(), other.expr.clone()))
            }
        }
    }

    pub(super) fn minus(&self, other: &Size) -> Option<Size> {
        match (self.value(), other.value()) {
            (_, Some(0)) => Some(self.clone()),
            (Some(left), Some(right)) => Some(Size::constant(left.checked_sub(right)?, self.expr.span)),
            (Some(_) | None, Some(_) | None) => {
                Size::made(self.bits.max(other.bits) + 1, || build::sub(self.expr.clone(), other.expr.clone()))
            }
        }
    }

    pub(super) fn times(&self, other: &Size) -> Option<Size> {
        match (self.value(), other.value()) {
            (Some(0), _) | (_, Some(1)) => Some(self.clone()),
            (_, Some(0)) | (Some(1), _) => Some(other.clone()),
            (Some(left), Some(right)) => Some(Size::constant(left.checked_mul(right)?, self.expr.span)),
            (Some(_) | None, Some(_) | None) => {
                Size::made(self.bits + other.bits, || Expr::long(BinOp::Mul, self.expr.clone(), other.expr.clone()))
            }
        }
    }

    /// Rounded towards 0.
    pub(super) fn over(&self, divisor: i64) -> Size {
        match (self.value(), divisor) {
            (_, 1) => self.clone(),
            (Some(value), _) => Size::constant(value / divisor, self.expr.span),
            (None, _) => {
                let [left, right] = [self.expr.clone(), Expr::int(divisor, self.expr.span)].map(Box::new);
                let kind = ExprKind::Binary { op: BinOp::Div, left, right, checked: false };
                Size { expr: Expr { kind, ..self.expr.clone() }, bits: self.bits }
            }
        }
    }

    /// The smaller one, or the larger one.
    pub(super) fn extreme(&self, other: &Size, end: End) -> Size {
        if has(&self.expr, &other.expr, end) {
            return self.clone();
        }
        if has(&other.expr, &self.expr, end) {
            return other.clone();
        }
        let bits = self.bits.max(other.bits);
        let (left, right) = (self.expr.clone(), other.expr.clone());
        match (self.value(), other.value(), end) {
            (Some(left), Some(right), End::Low) => Size::constant(left.min(right), self.expr.span),
            (Some(left), Some(right), End::High) => Size::constant(left.max(right), self.expr.span),
            (Some(_) | None, Some(_) | None, End::Low) => Size { expr: build::min(left, right), bits },
            (Some(_) | None, Some(_) | None, End::High) => Size { expr: build::max(left, right), bits },
        }
    }
}

/// Whether a value is one of those of which an expression is the smallest, or the largest.
fn has(expr: &Expr, value: &Expr, end: End) -> bool {
    let function = match end {
        End::Low => MathFn::Min,
        End::High => MathFn::Max,
    };
    let in_operands = match &expr.kind {
        ExprKind::Math(found, operands) if *found == function => operands.iter().any(|part| has(part, value, end)),
        ExprKind::Const(_)
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
        | ExprKind::Struct(..) => false,
    };
    in_operands || same::expr(expr, value)
}

/// The values that something can have, all of them included.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) low: Size,
    pub(super) high: Size,
}

impl Range {
    pub(super) fn new(low: Size, high: Size) -> Range {
        Range { low, high }
    }

    pub(super) fn one(size: Size) -> Range {
        Range { low: size.clone(), high: size }
    }

    /// The bounds of a value of which `value op plain` holds.
    pub(super) fn stated(op: BinOp, plain: &Range) -> [Option<Size>; 2] {
        let one = Size::constant(1, plain.low.expr.span);
        match op {
            BinOp::Gt => [plain.low.plus(&one), None],
            BinOp::Ge => [Some(plain.low.clone()), None],
            BinOp::Lt => [None, plain.high.minus(&one)],
            BinOp::Le => [None, Some(plain.high.clone())],
            BinOp::Eq => [Some(plain.low.clone()), Some(plain.high.clone())],
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::Ne => [None, None],
        }
    }

    /// Whether they are certainly values of `int`.
    pub(super) fn are_ints(&self) -> bool {
        self.low.is_int() && self.high.is_int()
    }

    pub(super) fn plus(&self, other: &Range) -> Option<Range> {
        Some(Range::new(self.low.plus(&other.low)?, self.high.plus(&other.high)?))
    }

    pub(super) fn minus(&self, other: &Range) -> Option<Range> {
        Some(Range::new(self.low.minus(&other.high)?, self.high.minus(&other.low)?))
    }

    pub(super) fn times(&self, other: &Range) -> Option<Range> {
        let ends = |range: &Range| [range.low.clone(), range.high.clone()];
        let mut products = Vec::new();
        for left in ends(self) {
            for right in ends(other) {
                products.push(left.times(&right)?);
            }
        }
        let extreme = |end| products.iter().skip(1).fold(products[0].clone(), |all, one| all.extreme(one, end));
        Some(Range::new(extreme(End::Low), extreme(End::High)))
    }

    /// The values of both.
    pub(super) fn join(&self, other: &Range) -> Range {
        Range::new(self.low.extreme(&other.low, End::Low), self.high.extreme(&other.high, End::High))
    }

    /// Those of the smaller one of two values, or of the larger one.
    pub(super) fn extreme(&self, other: &Range, end: End) -> Range {
        Range::new(self.low.extreme(&other.low, end), self.high.extreme(&other.high, end))
    }
}

/// A bound of a cell: no value exceeds all of `plain`, the far value with `far` added to it, and the extreme cell of so many steps before with what
/// `more` has for these added to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound {
    pub(super) more: OrdMap<i64, Size>,
    pub(super) plain: Option<Size>,
    pub(super) far: Option<Size>,
}

impl Bound {
    fn plus(&self, size: &Size) -> Option<Bound> {
        let sum = |part: &Option<Size>| match part {
            Some(part) => part.plus(size).map(Some),
            None => Some(None),
        };
        let more = self.more.iter().map(|(steps, part)| Some((*steps, part.plus(size)?))).collect::<Option<_>>()?;
        Some(Bound { more, plain: sum(&self.plain)?, far: sum(&self.far)? })
    }

    /// What bounds both.
    pub(super) fn both(&self, other: &Bound, end: End) -> Bound {
        let both = |left: &Option<Size>, right: &Option<Size>| match (left, right) {
            (Some(left), Some(right)) => Some(left.extreme(right, end)),
            (one, None) | (None, one) => one.clone(),
        };
        let mut more = self.more.clone();
        for (steps, size) in &other.more {
            let size = more.get(steps).map_or_else(|| size.clone(), |known| known.extreme(size, end));
            more.insert(*steps, size);
        }
        Bound { more, plain: both(&self.plain, &other.plain), far: both(&self.far, &other.far) }
    }

    /// What bounds one of them at least: the closer one, where that is known.
    fn either(&self, other: &Bound, end: End) -> Bound {
        let closer = |left: &Size, right: &Size| left.extreme(right, end.other());
        match (self.only(), other.only()) {
            (Some((None, _)), None | Some((Some(_), _))) => self.clone(),
            (None | Some((Some(_), _)), Some((None, _))) => other.clone(),
            (Some((None, left)), Some((None, right))) => Bound { plain: Some(closer(left, right)), ..Bound::default() },
            (Some((Some(steps), left)), Some((Some(others), right))) if steps == others => {
                Bound { more: OrdMap::from([(steps, closer(left, right))]), ..Bound::default() }
            }
            (Some(_) | None, Some(_) | None) => self.both(other, end),
        }
    }

    /// Whether the closer one of both bounds the better one of two values only if neither of these stands for no value.
    pub(super) fn is_loose(&self, other: &Bound) -> bool {
        let steps = |bound: &Bound| bound.only().and_then(|(steps, _)| steps);
        steps(self).is_some() && steps(self) == steps(other)
    }

    /// A plain value bounds it as well.
    pub(super) fn limit(&mut self, size: Size) {
        *self = Bound { plain: Some(size), ..Bound::default() };
    }

    /// The bound where it is one by a plain value, or by cells of so many steps before.
    fn only(&self) -> Option<(Option<i64>, &Size)> {
        let mut more = self.more.iter().map(|(steps, size)| (Some(*steps), size));
        match (more.next(), more.next(), &self.plain, &self.far) {
            (Some(only), None, None, None) => Some(only),
            (None, None, Some(plain), None) => Some((None, plain)),
            (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => None,
        }
    }
}

/// The values of an expression over cells.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) low: Bound,
    pub(super) high: Bound,
}

impl Bounds {
    /// Any cell of so many steps before.
    pub(super) fn earlier(steps: i64, span: Span) -> Bounds {
        let cell = Bound { more: OrdMap::from([(steps, Size::constant(0, span))]), ..Bound::default() };
        Bounds { low: cell.clone(), high: cell }
    }

    /// The far value.
    pub(super) fn far(span: Span) -> Bounds {
        let far = Bound { far: Some(Size::constant(0, span)), ..Bound::default() };
        Bounds { low: far.clone(), high: far }
    }

    pub(super) fn plain(range: Range) -> Bounds {
        let bound = |size| Bound { plain: Some(size), ..Bound::default() };
        Bounds { low: bound(range.low), high: bound(range.high) }
    }

    pub(super) fn end(&self, end: End) -> &Bound {
        match end {
            End::Low => &self.low,
            End::High => &self.high,
        }
    }

    pub(super) fn plus(&self, range: &Range) -> Option<Bounds> {
        Some(Bounds { low: self.low.plus(&range.low)?, high: self.high.plus(&range.high)? })
    }

    /// The values of both.
    pub(super) fn join(&self, other: &Bounds) -> Bounds {
        Bounds { low: self.low.both(&other.low, End::Low), high: self.high.both(&other.high, End::High) }
    }

    /// Those of the smaller one of two values, or of the larger one.
    pub(super) fn extreme(&self, other: &Bounds, end: End) -> Bounds {
        match end {
            End::Low => {
                Bounds { low: self.low.both(&other.low, End::Low), high: self.high.either(&other.high, End::High) }
            }
            End::High => {
                Bounds { low: self.low.either(&other.low, End::Low), high: self.high.both(&other.high, End::High) }
            }
        }
    }
}

/// What is known of variables at a place of the program.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) plain: OrdMap<VarId, Range>,
    pub(super) cells: OrdMap<VarId, Bounds>,
}

impl Known {
    /// What holds where two branches meet.
    pub(super) fn join(self, other: &Known) -> Known {
        let plain = self.plain.into_iter().filter_map(|(var, range)| Some((var, range.join(other.plain.get(&var)?))));
        let cells = self.cells.into_iter().filter_map(|(var, bounds)| Some((var, bounds.join(other.cells.get(&var)?))));
        Known { plain: plain.collect(), cells: cells.collect() }
    }
}
