//! Loops that count to an end of each lane, in lanes that are much narrower than the ends.
//!
//! A turn of 8-bit lanes that compares ends of 64 bits takes several times as long for that as for its body. So the least end is looked up whenever a
//! lane has left, and all turns before it run without comparisons.

use super::super::{Lowerer, make};
use super::control::Around;
use hidp_ir::imp::{Expr, ExprKind, Stmt, VarId, WideKind};
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::{self, BinOp, Loop};
use hidp_syntax::ty::{Scalar, Ty};

/// `count < end`, of which the end differs from lane to lane, and does not change in the loop.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    count: &'a par::Expr,
    end: &'a par::Expr,
}

impl Lowerer<'_> {
    /// What a loop of narrow lanes counts to, if that is all it tests, and lanes leave it by nothing else.
    pub(super) fn ends_of<'a>(&self, node: &'a Loop) -> Option<Ends<'a>> {
        let par::ExprKind::Binary { op: BinOp::Lt, left, right, .. } = &node.cond.kind else { return None };
        let is_narrow = u32::from(self.lanes().bits) * self.model.narrow_lanes <= bits(right.ty)?;
        let blocks = [&node.body, &node.step];
        let of_end = Effects::of_expr(right);
        let writes = blocks.map(|block| Effects::of_block(self.program, &self.func.vars, block).writes);
        let is_fixed = writes.iter().all(|writes| writes.is_disjoint(&of_end));
        let stays = blocks.into_iter().all(|block| !effects::may_jump(block));
        let parts = !self.varies(left) && self.varies(right) && right.ty == left.ty;
        (is_narrow && is_fixed && stays && parts).then_some(Ends { count: left, end: right })
    }

    /// Turns up to the least end of the lanes that are here, with what `lower` makes of the body and then of the step.
    pub(super) fn up_to_least(
        &mut self,
        ends: Ends<'_>,
        (live, around): (VarId, Around),
        lower: &mut dyn FnMut(&mut Self, bool),
    ) {
        let mut end = self.wide(ends.end);
        if end.ty != Scalar::I64 {
            end = self.wide_of(WideKind::Cast(Box::new(end)), Scalar::I64);
        }
        let of = self.wide_slot("end", end);
        let least = Expr { kind: ExprKind::Least { of, mask: live }, ty: Ty::LONG };
        let least = self.body.fix("least", least);
        self.body.enter();
        let count = make::cast(self.expr(ends.count), Scalar::I64);
        let before = make::binary(BinOp::Lt, count, least);
        self.body.push(make::when(make::not(before), vec![Stmt::Break]));
        self.inside(around, |this| lower(this, false));
        let body = self.body.leave();
        self.body.enter();
        lower(self, true);
        let step = self.body.leave();
        self.body.push(Stmt::Forever { body, step });
    }
}

fn bits(ty: Ty) -> Option<u32> {
    Some(ty.scalar()?.size() as u32 * 8)
}
