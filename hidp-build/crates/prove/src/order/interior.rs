//! Bodies of cells that are far from the border of the domain, in which base cases are no more.

use hidp_ir::par::{BinOp, Block, Const, Expr, ExprKind, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ty::Scalar;

use super::Recurrence;
use super::model::Model;
use crate::bounds::always_holds;
use crate::context::Context;
use crate::linear::Lin;
use crate::walk::{Client, may_fault};

/// For each index, how many of its first and last values are border.
pub type Margins = Vec<[u32; 2]>;

/// Wider borders are not looked at.
const WIDEST: u32 = 2;

/// The narrowest border beyond which as many comparisons in the body are decided as beyond one that is 2 wide everywhere.
pub fn margins(vars: &Arena<VarId, Var>, table: &Recurrence<'_>) -> Margins {
    let mut margins = vec![[WIDEST; 2]; table.index.len()];
    let most = decide(vars, table, &margins).1;
    for index in 0..margins.len() {
        for side in 0..2 {
            while margins[index][side] > 0 {
                margins[index][side] -= 1;
                if decide(vars, table, &margins).1 < most {
                    margins[index][side] += 1;
                    break;
                }
            }
        }
    }
    margins
}

/// The body for cells beyond that border: comparisons that are certain there are constants.
pub fn interior(vars: &Arena<VarId, Var>, table: &Recurrence<'_>, margins: &[[u32; 2]]) -> Block {
    decide(vars, table, margins).0
}

/// The body with its decided comparisons as constants, and how many these are.
fn decide(vars: &Arena<VarId, Var>, table: &Recurrence<'_>, margins: &[[u32; 2]]) -> (Block, usize) {
    let mut model = Model::tables(vars, std::slice::from_ref(table));
    let known = &model.tables[0];
    let beyond =
        known.index.iter().zip(&known.bounds).zip(margins).flat_map(|((&index, [low, last]), [first, end])| {
            let index = Lin::atom(index);
            let above = index.sub(low).and_then(|lin| lin.offset(-i128::from(*first)));
            let below = last.sub(&index).and_then(|lin| lin.offset(-i128::from(*end)));
            [above, below].into_iter().flatten()
        });
    let beyond: Vec<Lin> = beyond.collect();
    let (mut body, mut decider) = (table.body.clone(), Decider::default());
    model.walk_body(0, table, &beyond, &mut body, &mut decider);
    (body, decider.decided)
}

/// Replaces comparisons of integers that are certain, but for those whose operands may fault.
#[derive(Default)]
struct Decider {
    decided: usize,
}

impl Client for Decider {
    fn expr(&mut self, cx: &mut Context<'_>, expr: &mut Expr) {
        let ExprKind::Binary { op, left, right, checked } = &expr.kind else { return };
        let integers = left.ty.scalar().is_some_and(Scalar::is_integer);
        let Some(opposite) = opposite(*op).filter(|_| integers && !may_fault(expr)) else { return };
        let (left, right) = (left.clone(), right.clone());
        let kind = ExprKind::Binary { op: opposite, left, right, checked: *checked };
        let opposite = Expr { kind, ty: expr.ty, span: expr.span };
        let truth = if always_holds(cx, expr) {
            true
        } else if always_holds(cx, &opposite) {
            false
        } else {
            return;
        };
        expr.kind = ExprKind::Const(Const::Bool(truth));
        self.decided += 1;
    }
}

/// The comparison that holds when this one does not.
fn opposite(op: BinOp) -> Option<BinOp> {
    match op {
        BinOp::Lt => Some(BinOp::Ge),
        BinOp::Le => Some(BinOp::Gt),
        BinOp::Gt => Some(BinOp::Le),
        BinOp::Ge => Some(BinOp::Lt),
        BinOp::Eq => Some(BinOp::Ne),
        BinOp::Ne => Some(BinOp::Eq),
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
