//! Loops that count to an end of each lane, in lanes that are much narrower than the ends.
//!
//! A turn of 8-bit lanes that compares ends of 64 bits takes several times as long for that as for its body. So the least end is looked up whenever a
//! lane has left, and all turns before it run without comparisons.

use super::super::{Lowerer, make};
use super::control::Around;
use hidp_ir::imp::{Expr, ExprKind, Stmt, VarId, Wide, WideKind};
use hidp_ir::par::{self, BinOp, Loop};
use hidp_plan::notation::Property;
use hidp_plan::wide::{Ends, ends, narrow, times_wider};
use hidp_syntax::ty::{Scalar, Ty};

impl Lowerer<'_> {
    /// What a loop of narrow lanes counts to, if each lane has an end of its own.
    pub(super) fn ends_of<'a>(&self, node: &'a Loop) -> Option<Ends<'a>> {
        let times = self.mapping.number(Property::Ends)?;
        let ends = ends(self.program, self.func, node)?;
        let of_lanes = !self.varies(ends.count) && self.varies(ends.end);
        (of_lanes && times_wider(ends, self.lanes().bits) >= times).then_some(ends)
    }

    /// `count < end`, of a count that is the same in all lanes, in the narrower type that the end has become a `long` of.
    pub(super) fn narrow_test(&mut self, test: &par::Expr) -> Option<Wide> {
        let par::ExprKind::Binary { op: BinOp::Lt, left, right, .. } = &test.kind else { return None };
        let end = narrow(right).filter(|end| !self.varies(left) && self.varies(end))?;
        let ty = end.ty.scalar()?;
        let (low, high) = ty.integer_range()?;
        let [low, high] = [low, high].map(|bound| make::long(bound as i64));
        let count = self.expr(left);
        let count = self.body.fix("count", count);
        let is_below = make::binary(BinOp::Lt, count.clone(), low.clone());
        let within = make::cast(make::min(make::max(count, low), high), ty);
        let (within, is_below, end) = (self.splat(within), self.splat(is_below), self.wide(end));
        let holds = self.wide_binary(BinOp::Lt, within, end);
        Some(self.wide_binary(BinOp::Or, is_below, holds))
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
