//! The bound that a variable of `for` counts to must fit its type.
//!
//! ```text
//! for (int j = 1; j < M; j += 1) x[j] += x[j-1];
//! ```
//!
//! Dimension names are `long`, and convert implicitly to narrower integers, with a test. Here that test is at the beginning of the function:
//! it costs nothing there, and later phases know that `j` does not wrap.

use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, FaultKind, Loop, Map, MathFn, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

use super::access::stmt;
use super::shape;

/// The tests for all loops of a function: that the largest value which a variable is compared with is one of its type.
pub(super) fn tests(vars: &Arena<VarId, Var>, body: &Block) -> Vec<Stmt> {
    let mut counters = Counters { vars, ranges: OrdMap::new(), tests: Vec::new() };
    counters.visit_block(body);
    counters.tests
}

struct Counters<'a> {
    vars: &'a Arena<VarId, Var>,
    /// The first value of each iterator, and one past the last.
    ranges: OrdMap<VarId, [Expr; 2]>,
    tests: Vec<Stmt>,
}

impl Visitor for Counters<'_> {
    fn visit_map(&mut self, map: &Map) {
        self.ranges.extend(map.iters.iter().map(|iter| (iter.var, [iter.lo.clone(), iter.hi.clone()])));
        look::walk_map(self, map);
    }

    fn visit_loop(&mut self, node: &Loop) {
        for stmt in &node.step.stmts {
            if let StmtKind::Assign { var, value } = &stmt.kind
                && let Some(step) = step(*var, value)
            {
                self.condition(*var, step, &node.cond);
            }
        }
        look::walk_loop(self, node);
    }
}

impl Counters<'_> {
    /// A variable that grows by `step` while `cond` holds.
    fn condition(&mut self, var: VarId, step: i128, cond: &Expr) {
        if let ExprKind::Lazy { and: true, left, right } = &cond.kind {
            self.condition(var, step, left);
            return self.condition(var, step, right);
        }
        let ExprKind::Binary { op, left, right, .. } = &cond.kind else { return };
        // What the variable is below, or above what, while it grows.
        let (counted, bound, passed) = match op {
            BinOp::Lt => (left, right, step - 1),
            BinOp::Le => (left, right, step),
            BinOp::Gt => (right, left, step - 1),
            BinOp::Ge => (right, left, step),
            BinOp::Eq | BinOp::Ne => return,
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem => return,
            BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => return,
        };
        if !widened(counted, var) {
            return;
        }
        let most = self.vars[var].ty.scalar().and_then(|ty| ty.integer_range()).map(|(_, most)| most - passed);
        if let (Some(most), Some(largest)) =
            (most.and_then(|most| i64::try_from(most).ok()), self.extreme(bound, End::Largest))
            && largest.as_int().is_none()
        {
            let test = Expr::long(BinOp::Le, largest.clone(), Expr::int(most, cond.span));
            let values = vec![(shape::show(&largest, self.vars), largest)];
            let kind = StmtKind::Require { cond: test, fault: FaultKind::Narrowing, values };
            if !self.tests.iter().any(|known| known.kind == kind) {
                self.tests.push(stmt(kind, cond.span));
            }
        }
    }

    /// The largest value of an expression of dimensions, iterators and constants, or the smallest one. Of others the language says nothing.
    fn extreme(&self, expr: &Expr, end: End) -> Option<Expr> {
        let both = |op: BinOp, left: &Expr, right: &Expr, of_right: End| {
            let (left, right) = (self.extreme(left, end)?, self.extreme(right, of_right)?);
            Some(if right.as_int() == Some(0) { left } else { Expr::long(op, left, right) })
        };
        match &expr.kind {
            ExprKind::Const(_) => Some(expr.clone()),
            ExprKind::Read(var) => match (self.vars[*var].kind, end) {
                (VarKind::Dim, _) => Some(expr.clone()),
                (VarKind::Iter, End::Smallest) => self.extreme(&self.ranges.get(var)?[0], end),
                (VarKind::Iter, End::Largest) => {
                    let behind = self.extreme(&self.ranges.get(var)?[1], end)?;
                    Some(Expr::long(BinOp::Sub, behind, Expr::int(1, expr.span)))
                }
                (VarKind::Local | VarKind::Param(_), _) => None,
            },
            ExprKind::Binary { op: op @ BinOp::Add, left, right, .. } => both(*op, left, right, end),
            ExprKind::Binary { op: op @ BinOp::Sub, left, right, .. } => both(*op, left, right, end.other()),
            ExprKind::Binary { op: op @ BinOp::Mul, left, right, .. } => {
                let (factor, of) = match (left.as_int(), right.as_int()) {
                    (Some(factor), _) => (factor, right),
                    (None, Some(factor)) => (factor, left),
                    (None, None) => return None,
                };
                let of = self.extreme(of, if factor < 0 { end.other() } else { end })?;
                let factor = Expr::int(i64::try_from(factor).ok()?, expr.span);
                Some(if of.as_int() == Some(0) { of } else { Expr::long(*op, of, factor) })
            }
            ExprKind::Binary { op: op @ BinOp::Div, left, right, .. } => {
                right.as_int().filter(|by| *by > 0)?;
                Some(Expr::long(*op, self.extreme(left, end)?, (**right).clone()))
            }
            ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
                let operands: Option<Vec<Expr>> = operands.iter().map(|operand| self.extreme(operand, end)).collect();
                Some(Expr { kind: ExprKind::Math(*function, operands?), ..expr.clone() })
            }
            ExprKind::Binary { .. }
            | ExprKind::Unary(..)
            | ExprKind::Math(..)
            | ExprKind::Convert { .. }
            | ExprKind::Load(_)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }
}

/// Of the values of an expression.
#[derive(Clone, Copy)]
enum End {
    Smallest,
    Largest,
}

impl End {
    fn other(self) -> End {
        match self {
            End::Smallest => End::Largest,
            End::Largest => End::Smallest,
        }
    }
}

/// By how much `var = value` makes a variable grow, if that is a constant.
pub(super) fn step(var: VarId, value: &Expr) -> Option<i128> {
    let ExprKind::Binary { op: BinOp::Add, left, right, .. } = &value.kind else { return None };
    let step = match (&left.kind, &right.kind) {
        (ExprKind::Read(read), _) if *read == var => right.as_int(),
        (_, ExprKind::Read(read)) if *read == var => left.as_int(),
        _ => None,
    };
    step.filter(|step| *step > 0)
}

/// Whether an expression is a variable that becomes a `long` to be compared.
fn widened(expr: &Expr, var: VarId) -> bool {
    expr.ty == Ty::LONG
        && matches!(&expr.kind, ExprKind::Convert { operand, .. } if operand.kind == ExprKind::Read(var))
}
