//! `neighbours`: rewrites neighbours on a ring, or clamped at a border, as a choice that differs in one iteration.
//!
//! `(j + 1) % M` of `j := [0:M)` is `j + 1` except for the last `j`, and `max(j - 1, 0)` is `j - 1` except for the first. In this form the other
//! iterations access neighbouring elements, in vector lanes (lowering runs such borders apart), without a division.

use hidp_ir::par::visit::{Mutator, change};
use hidp_ir::par::{BinOp, Expr, ExprKind, FuncId, Map, MathFn, Program, VarId, VarKind};
use hidp_syntax::ty::Ty;

use super::Pass;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "neighbours",
    about: "writes neighbours by `%`, `min` and `max` as what they are but for one iteration",
    run,
};

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        let func = &mut program.funcs[id];
        let is_dim: Vec<VarId> = func.dims.iter().copied().filter(|dim| func.vars[*dim].kind == VarKind::Dim).collect();
        Rewrite { dims: &is_dim, around: Vec::new() }.visit_block(&mut func.body);
    }
}

/// An iterator that runs from 0 to below a number that never changes.
struct Around {
    var: VarId,
    end: Expr,
}

struct Rewrite<'a> {
    dims: &'a [VarId],
    around: Vec<Around>,
}

/// `iters * j + ends * M + rest`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Linear {
    iters: i64,
    ends: i64,
    rest: i64,
}

impl Linear {
    const fn new(iters: i64, ends: i64, rest: i64) -> Self {
        Linear { iters, ends, rest }
    }

    fn of(expr: &Expr, around: &Around) -> Option<Linear> {
        if expr.ty != Ty::LONG {
            return None;
        }
        if let Some(value) = expr.as_int() {
            let of_end = around.end.as_int().is_some_and(|end| value == end || value == end - 1);
            // Where the end is a constant, numbers that may stand for it do.
            let rest = i64::try_from(if of_end { value - around.end.as_int()? } else { value }).ok()?;
            return Some(Linear::new(0, i64::from(of_end), rest));
        }
        match &expr.kind {
            ExprKind::Read(var) if *var == around.var => Some(Linear::new(1, 0, 0)),
            ExprKind::Read(_) if expr.kind == around.end.kind => Some(Linear::new(0, 1, 0)),
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), left, right, .. } => {
                let (a, b) = (Linear::of(left, around)?, Linear::of(right, around)?);
                let sign = if *op == BinOp::Add { 1 } else { -1 };
                let sum = |a: i64, b: i64| a.checked_add(sign * b);
                Some(Linear::new(sum(a.iters, b.iters)?, sum(a.ends, b.ends)?, sum(a.rest, b.rest)?))
            }
            _ => None,
        }
    }
}

const ZERO: Linear = Linear::new(0, 0, 0);
const LAST: Linear = Linear::new(0, 1, -1);
const NEXT: Linear = Linear::new(1, 0, 1);
const PREVIOUS: Linear = Linear::new(1, 0, -1);
const PREVIOUS_ON_RING: Linear = Linear::new(1, 1, -1);

impl Around {
    fn iter(&self) -> Expr {
        Expr::read(self.var, Ty::LONG, self.end.span)
    }
    fn one(&self) -> Expr {
        Expr::int(1, self.end.span)
    }
    fn last(&self) -> Expr {
        Expr::long(BinOp::Sub, self.end.clone(), self.one())
    }
    fn zero(&self) -> Expr {
        Expr::int(0, self.end.span)
    }

    /// `j == M - 1 ? at_end : j + 1`
    fn next_or(&self, at_end: Expr) -> ExprKind {
        self.unless(self.last(), at_end, Expr::long(BinOp::Add, self.iter(), self.one()))
    }
    /// `j == 0 ? at_begin : j - 1`
    fn previous_or(&self, at_begin: Expr) -> ExprKind {
        self.unless(self.zero(), at_begin, Expr::long(BinOp::Sub, self.iter(), self.one()))
    }
    fn unless(&self, position: Expr, there: Expr, elsewhere: Expr) -> ExprKind {
        let kind =
            ExprKind::Binary { op: BinOp::Eq, left: Box::new(self.iter()), right: Box::new(position), checked: false };
        let cond = Box::new(Expr { kind, ty: Ty::BOOL, span: self.end.span });
        ExprKind::Select { cond, then: Box::new(there), otherwise: Box::new(elsewhere) }
    }

    fn neighbour(&self, expr: &Expr) -> Option<ExprKind> {
        let linear = |expr: &Expr| Linear::of(expr, self);
        match &expr.kind {
            ExprKind::Binary { op: BinOp::Rem, left, right, checked: false }
                if linear(right)? == Linear::new(0, 1, 0) =>
            {
                match linear(left)? {
                    NEXT => Some(self.next_or(self.zero())),
                    PREVIOUS_ON_RING => Some(self.previous_or(self.last())),
                    _ => None,
                }
            }
            ExprKind::Math(function, operands) => {
                let [left, right] = operands.as_slice() else { return None };
                let (left, right) = (linear(left)?, linear(right)?);
                let are = |a, b| (left, right) == (a, b) || (left, right) == (b, a);
                match function {
                    MathFn::Max if are(PREVIOUS, ZERO) => Some(self.previous_or(self.zero())),
                    MathFn::Min if are(NEXT, LAST) => Some(self.next_or(self.last())),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl Mutator for Rewrite<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        let outer = self.around.len();
        for iter in &map.iters {
            let fixed = match iter.hi.kind {
                ExprKind::Read(var) => self.dims.contains(&var),
                _ => iter.hi.as_int().is_some(),
            };
            if fixed && iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1) {
                self.around.push(Around { var: iter.var, end: iter.hi.clone() });
            }
        }
        change::walk_map(self, map);
        self.around.truncate(outer);
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if expr.ty == Ty::LONG
            && let Some(kind) = self.around.iter().find_map(|around| around.neighbour(expr))
        {
            expr.kind = kind;
        }
    }
}
