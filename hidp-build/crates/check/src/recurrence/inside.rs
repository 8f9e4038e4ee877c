//! Cells that functions ask for are cells of the domain: beyond the bounds of the array, which every access has, those of the ranges.

use hidp_ir::par::{BinOp, Expr, ExprKind, VarId, visit};
use hidp_syntax::ty::Ty;

use super::super::cx::Cx;
use super::super::shape;

/// An index that no array has.
const NOWHERE: i64 = -1;

impl Cx<'_> {
    /// The indices of a cell, counted from the first one, each with the test that its range has it where the array has elements
    /// beside the range.
    pub(super) fn of_domain(&self, id: usize, array: VarId, index: Vec<Expr>) -> Option<Vec<Expr>> {
        let (_, table) = self.globals.table_of(id)?;
        let mut meaning = self.instance_of(array)?.meaning.clone();
        let mut tested = Vec::new();
        for (iter, index) in table.index.iter().zip(index) {
            let depends = table.index.iter().any(|other| shape::mentions(&iter.hi, other.var));
            let bound = |bound: &Expr| {
                let mut bound = bound.clone();
                visit::substitute_expr(&mut bound, |var| meaning.get(&var).cloned());
                shape::simplified(bound)
            };
            // An array ends where a range does that is the same for all other indices, and begins at 0.
            let below = depends.then(|| compare(BinOp::Lt, index.clone(), bound(&iter.hi)));
            let above = (iter.lo.as_int() != Some(0)).then(|| compare(BinOp::Le, bound(&iter.lo), index.clone()));
            meaning.insert(iter.var, index.clone());
            tested.push(match (above, below) {
                (Some(above), Some(below)) => or_nowhere(both(above, below), index),
                (Some(cond), None) | (None, Some(cond)) => or_nowhere(cond, index),
                (None, None) => index,
            });
        }
        Some(tested)
    }
}

fn compare(op: BinOp, left: Expr, right: Expr) -> Expr {
    let span = left.span;
    let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), checked: false };
    Expr { kind, ty: Ty::BOOL, span }
}

fn both(left: Expr, right: Expr) -> Expr {
    let span = left.span;
    let kind = ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) };
    Expr { kind, ty: Ty::BOOL, span }
}

fn or_nowhere(cond: Expr, index: Expr) -> Expr {
    let (span, otherwise) = (index.span, Expr::int(NOWHERE, index.span));
    let kind = ExprKind::Select { cond: Box::new(cond), then: Box::new(index), otherwise: Box::new(otherwise) };
    Expr { kind, ty: Ty::LONG, span }
}
