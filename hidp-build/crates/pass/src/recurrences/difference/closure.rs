//! How far apart neighbouring cells are: a fixed point over all pairs of differences.
//!
//! A body gives a cell less its corner from two differences. It is computed for each pair of them within bounds, with ranges for all that it takes from elsewhere, and
//! either way where a condition is free. What comes out are the differences of the next cells. Bounds that hold these
//! too are *closed*: by induction over cells, no cell of a table that begins within them leaves them.

use hidp_ir::par::{BinOp, Block, Const, Expr, ExprKind, MathFn, StmtKind, UnOp, VarId};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Scalar;

/// The smallest value and the largest one.
pub(super) type Range = [i64; 2];

/// Bounds of differences along the first index, and along the second.
pub(super) type Bounds = [Range; 2];

/// Differences stay within these, so that both values beyond stand for all others.
pub(super) const MOST: i64 = i8::MAX as i64 - 1;

/// Bounds are looked at so often.
const ROUNDS: usize = 24;

/// More pairs than this are not looked at.
const PAIRS: i64 = 1 << 13;

/// What is known of variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known(OrdMap<VarId, Range>);

impl Known {
    pub(super) fn with(mut self, var: VarId, range: Range) -> Known {
        self.0.insert(var, range);
        self
    }

    pub(super) fn of(&self, var: VarId) -> Option<Range> {
        self.0.get(&var).copied()
    }

    fn set(&mut self, var: VarId, range: Option<Range>) {
        match range {
            Some(range) => self.0.insert(var, range),
            None => self.0.remove(&var),
        };
    }

    fn join(self, other: &Known) -> Known {
        let both = self.0.into_iter().filter_map(|(var, range)| Some((var, hull(range, other.of(var)?))));
        Known(both.collect())
    }
}

/// A body over variables: it sets `cell`, the cell less its corner, from differences `along` both indices.
pub(super) struct Step<'a> {
    pub(super) body: &'a Block,
    pub(super) along: [VarId; 2],
    pub(super) cell: VarId,
}

impl Step<'_> {
    /// Closed bounds that hold the seeds.
    pub(super) fn closed(&self, seeds: Bounds) -> Option<Bounds> {
        let mut bounds = seeds;
        for _ in 0..ROUNDS {
            let [first, second] = bounds;
            let within = |[low, high]: Range| -MOST <= low && high <= MOST;
            let pairs = (first[1] - first[0] + 1).saturating_mul(second[1] - second[0] + 1);
            if !within(first) || !within(second) || pairs > PAIRS {
                return None;
            }
            let next = self.next(bounds)?;
            let joined = [hull(first, next[0]), hull(second, next[1])];
            if joined == bounds {
                return Some(bounds);
            }
            bounds = joined;
        }
        None
    }

    /// What differences follow from those within bounds. `None` where a value may not fit its type.
    pub(super) fn next(&self, [first, second]: Bounds) -> Option<Bounds> {
        let mut all: Option<Bounds> = None;
        for one in first[0]..=first[1] {
            for other in second[0]..=second[1] {
                let known = Known::default().with(self.along[0], [one; 2]).with(self.along[1], [other; 2]);
                let [low, high] = ran(self.body, known)?.of(self.cell)?;
                let found = [[low - other, high - other], [low - one, high - one]];
                all = Some(all.map_or(found, |all| [hull(all[0], found[0]), hull(all[1], found[1])]));
            }
        }
        all
    }
}

pub(super) fn hull(left: Range, right: Range) -> Range {
    [left[0].min(right[0]), left[1].max(right[1])]
}

/// What is known after a block.
pub(super) fn ran(block: &Block, mut known: Known) -> Option<Known> {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => known.set(*var, Some([0; 2])),
            StmtKind::Assign { var, value } => {
                let range = range(value, &known);
                known.set(*var, range);
            }
            StmtKind::If { cond, then, otherwise } => {
                known = match truth(cond, &known) {
                    Some(true) => ran(then, known)?,
                    Some(false) => ran(otherwise, known)?,
                    None => ran(then, known.clone())?.join(&ran(otherwise, known)?),
                };
            }
            StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => return None,
        }
    }
    Some(known)
}

/// What a condition is, where that is certain.
fn truth(cond: &Expr, known: &Known) -> Option<bool> {
    let decided = |yes: bool, no: bool| (yes || no).then_some(yes);
    match &cond.kind {
        ExprKind::Const(Const::Bool(value)) => Some(*value),
        ExprKind::Unary(UnOp::Not, operand) => truth(operand, known).map(|value| !value),
        ExprKind::Lazy { and, left, right } => match (truth(left, known), truth(right, known)) {
            (Some(value), _) | (_, Some(value)) if value != *and => Some(value),
            (Some(_), Some(value)) => Some(value),
            (None, _) | (_, None) => None,
        },
        ExprKind::Binary { op, left, right, .. } if op.is_comparison() => {
            let ([a, b], [c, d]) = (range(left, known)?, range(right, known)?);
            let (alike, apart) = (a == b && [a, b] == [c, d], b < c || d < a);
            match op {
                BinOp::Lt => decided(b < c, a >= d),
                BinOp::Le => decided(b <= c, a > d),
                BinOp::Gt => decided(a > d, b <= c),
                BinOp::Ge => decided(a >= d, b < c),
                BinOp::Eq => decided(alike, apart),
                BinOp::Ne => decided(apart, alike),
                BinOp::Add
                | BinOp::Sub
                | BinOp::Mul
                | BinOp::Div
                | BinOp::Rem
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Shl
                | BinOp::Shr => None,
            }
        }
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// What an integer can be, if nothing on the way wraps.
pub(super) fn range(expr: &Expr, known: &Known) -> Option<Range> {
    let holds = |scalar: Scalar| {
        let (low, high) = scalar.integer_range()?;
        Some([i64::try_from(low).ok()?, i64::try_from(high).ok()?])
    };
    let ty = expr.ty.scalar().filter(|ty| ty.is_integer())?;
    let of = |expr: &Expr| range(expr, known);
    // Nothing more is known of these.
    let any = || holds(ty).filter(|_| ty.size() < 4);
    let found = match &expr.kind {
        ExprKind::Const(_) => i64::try_from(expr.as_int()?).ok().map(|value| [value; 2]),
        ExprKind::Read(var) => known.of(*var).or_else(any),
        ExprKind::Load(_) => any(),
        ExprKind::Unary(UnOp::Neg, operand) => {
            of(operand).and_then(|[a, b]| Some([b.checked_neg()?, a.checked_neg()?]))
        }
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => {
            let ([a, b], [c, d]) = (of(left)?, of(right)?);
            Some([a.checked_add(c)?, b.checked_add(d)?])
        }
        ExprKind::Binary { op: BinOp::Sub, left, right, .. } => {
            let ([a, b], [c, d]) = (of(left)?, of(right)?);
            Some([a.checked_sub(d)?, b.checked_sub(c)?])
        }
        ExprKind::Binary { op: BinOp::Mul, left, right, .. } => {
            let ([a, b], [c, d]) = (of(left)?, of(right)?);
            let all = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            Some([*all.iter().min()?, *all.iter().max()?])
        }
        ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
            let [left, right] = operands.as_slice() else { return None };
            let ([a, b], [c, d]) = (of(left)?, of(right)?);
            Some(if *function == MathFn::Min { [a.min(c), b.min(d)] } else { [a.max(c), b.max(d)] })
        }
        ExprKind::Select { cond, then, otherwise } => match truth(cond, known) {
            Some(true) => of(then),
            Some(false) => of(otherwise),
            None => Some(hull(of(then)?, of(otherwise)?)),
        },
        ExprKind::Convert { operand, .. } if operand.ty.scalar().is_some_and(Scalar::is_integer) => of(operand),
        ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }?;
    let [low, high] = holds(ty)?;
    (low <= found[0] && found[1] <= high).then_some(found)
}
