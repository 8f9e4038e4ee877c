//! Folds of whole iterations: at the end of a group its lanes add their values one after the other, in the order of iterations, or at once
//! if the order does not matter.

use super::super::fold::Acc;
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, InTurn, Stmt, Taken, VarId, VarKind, WideKind, WideStmt};
use hidp_ir::par::{self, Map};
use hidp_syntax::ty::{Scalar, Ty};

impl Lowerer<'_> {
    /// What the iterations of a group fold.
    pub(super) fn wide_added(&mut self, map: &Map, accs: &[Acc<'_>]) {
        let Some(mask) = self.here() else { return };
        if let Some(acc) = self.adds_integers(map, accs) {
            let Some(value) = self.lanes_of(&value_of(acc)) else { return };
            return self.body.push(Stmt::Wide(WideStmt::AddUp { sum: acc.var, mask, value: value.0 }));
        }
        let factors = self.fused_product(map, accs).map(|(a, b)| [a.clone(), b.clone()]);
        let mut taken = Vec::new();
        let values: Vec<Expr> = match &factors {
            Some(factors) => factors.iter().map(|factor| self.of_a_lane(factor, &mut taken)).collect(),
            None => accs.iter().map(|acc| self.of_a_lane(&value_of(acc), &mut taken)).collect(),
        };
        let lane = self.body.declare("lane", VarKind::Value(Ty::LONG));
        let state = self.wide.take();
        let lanes = self.body.lanes.take();
        self.body.enter();
        match (factors, &values[..], accs) {
            (Some(_), [a, b], [acc]) => {
                let sum = make::mul_add(a.clone(), b.clone(), make::var(acc.var, acc.fold.op.ty));
                self.body.push(make::set(acc.var, sum));
            }
            (Some(_) | None, values, accs) => {
                accs.iter().zip(values).for_each(|(acc, value)| self.fold_value(acc, value.clone()));
            }
        }
        let body = self.body.leave();
        self.wide = state;
        self.body.lanes = lanes;
        self.body.push(Stmt::InTurn(Box::new(InTurn { mask, lane, taken, body })));
    }

    /// A map's only fold, if it is a sum of integers, which vectors add up in any order with the same bits.
    fn adds_integers<'m>(&self, map: &Map, accs: &'m [Acc<'_>]) -> Option<&'m Acc<'m>> {
        let [acc] = accs else { return None };
        let op = &acc.fold.op;
        let adds = op.func == par::FoldFn::Add && op.ty.scalar().is_some_and(Scalar::is_integer);
        let suits = adds && acc.seen.is_none() && self.fused_product(map, accs).is_none();
        (suits && self.varies(&value_of(acc))).then_some(acc)
    }

    /// What an expression is in a lane whose turn it is.
    fn of_a_lane(&mut self, expr: &par::Expr, taken: &mut Vec<Taken>) -> Expr {
        if !self.varies(expr) {
            let value = self.expr(expr);
            return self.body.fix("value", value);
        }
        let Some((wide, elem)) = self.lanes_of(expr) else { return make::long(0) };
        let scalar = self.body.declare("one", VarKind::Value(elem.into()));
        taken.push(Taken { scalar, wide });
        make::var(scalar, elem.into())
    }

    /// A variable that holds an expression that varies, and the type of its elements.
    fn lanes_of(&mut self, expr: &par::Expr) -> Option<(VarId, Scalar)> {
        let value = self.wide(expr);
        let value = self.wide_fixed("value", value);
        let WideKind::Var(wide) = value.kind else {
            self.defect("a value that is used more than once is a variable");
            return None;
        };
        Some((wide, value.ty))
    }
}

fn value_of(acc: &Acc<'_>) -> par::Expr {
    par::Expr { kind: par::ExprKind::Read(acc.fold.value), ty: acc.fold.op.ty, span: acc.fold.span }
}
