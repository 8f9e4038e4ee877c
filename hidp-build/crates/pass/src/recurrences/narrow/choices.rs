//! What comparisons of cells choose: conditions over narrow cells, values that depend on nothing else of them, and what holds where a
//! condition does.

use hidp_ir::par::{BinOp, Expr, ExprKind, UnOp};

use super::reach;
use super::size::{self, End, Range};
use super::{Narrowing, narrow};

impl Narrowing<'_, '_> {
    /// A condition, over narrow cells.
    pub(super) fn cond(&mut self, expr: &Expr) -> Option<Expr> {
        if !self.is_cell(expr) {
            return Some(expr.clone());
        }
        let kind = match &expr.kind {
            ExprKind::Binary { op, left, right, .. } if op.is_comparison() => {
                self.compares = true;
                return Some(narrow(*op, self.cell(left)?.1, self.cell(right)?.1));
            }
            ExprKind::Lazy { and, left, right } => {
                let (left, right) = (Box::new(self.cond(left)?), Box::new(self.cond(right)?));
                ExprKind::Lazy { and: *and, left, right }
            }
            ExprKind::Unary(op @ UnOp::Not, operand) => ExprKind::Unary(*op, Box::new(self.cond(operand)?)),
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
            | ExprKind::Struct(..) => return None,
        };
        Some(Expr { kind, ..expr.clone() })
    }

    /// A value that is no cell, though which one it is may depend on cells.
    pub(super) fn other(&mut self, expr: &Expr) -> Option<Expr> {
        if !self.is_cell(expr) {
            return Some(expr.clone());
        }
        let kind = match &expr.kind {
            ExprKind::Select { cond, then, otherwise } => {
                let cond = Box::new(self.cond(cond)?);
                let (then, otherwise) = (Box::new(self.other(then)?), Box::new(self.other(otherwise)?));
                ExprKind::Select { cond, then, otherwise }
            }
            ExprKind::Binary { op, left, right, checked } if !op.is_comparison() => {
                let (left, right) = (Box::new(self.other(left)?), Box::new(self.other(right)?));
                ExprKind::Binary { op: *op, left, right, checked: *checked }
            }
            ExprKind::Convert { operand, mode } => {
                ExprKind::Convert { operand: Box::new(self.other(operand)?), mode: *mode }
            }
            ExprKind::Binary { .. } | ExprKind::Lazy { .. } | ExprKind::Unary(UnOp::Not, _) => return self.cond(expr),
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => return None,
        };
        Some(Expr { kind, ..expr.clone() })
    }

    /// What a condition says of variables, where it holds or does not.
    pub(super) fn learn(&mut self, cond: &Expr, holds: bool) {
        match &cond.kind {
            ExprKind::Lazy { and, left, right } if *and == holds => {
                self.learn(left, holds);
                self.learn(right, holds);
            }
            ExprKind::Unary(UnOp::Not, operand) => self.learn(operand, !holds),
            ExprKind::Binary { op, left, right, .. } => {
                let Some(op) = size::stated(*op, holds) else { return };
                self.learn_of(left, op, right);
                self.learn_of(right, op.mirrored(), left);
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => {}
        }
    }

    /// What `expr op plain` says of a variable.
    fn learn_of(&mut self, expr: &Expr, op: BinOp, plain: &Expr) {
        let ExprKind::Read(var) = expr.kind else { return };
        if self.is_cell(plain) || reach::constant(plain).is_some() || !self.known.cells.contains_key(&var) {
            return;
        }
        let Some(range) = self.range(plain) else { return };
        let Some(bounds) = self.known.cells.get_mut(&var) else { return };
        let [low, high] = Range::stated(op, &range);
        // A value on the side of the far one may be far, which the other end's bound has to tell.
        let far = self.far.as_ref().map(|far| far.end);
        if far != Some(End::High) {
            low.into_iter().for_each(|low| bounds.low.limit(low));
        }
        if far != Some(End::Low) {
            high.into_iter().for_each(|high| bounds.high.limit(high));
        }
    }
}
