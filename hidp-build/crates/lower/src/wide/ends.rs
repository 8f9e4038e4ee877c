//! Loops that count to an end of each lane, in lanes that are much narrower than the ends.
//!
//! A turn of 8-bit lanes that compares ends of 64 bits takes several times as long for that as for its body. So the least end is looked up whenever a
//! lane has left, and all turns before it run without comparisons.

use super::super::{Lowerer, make};
use super::control::Around;
use hidp_ir::imp::{Expr, ExprKind, Stmt, VarId, WideKind};
use hidp_ir::par::{BinOp, Loop};
use hidp_plan::notation::Property;
use hidp_plan::wide::{Ends, ends, times_wider};
use hidp_syntax::ty::{Scalar, Ty};

impl Lowerer<'_> {
    /// What a loop of narrow lanes counts to, if each lane has an end of its own.
    pub(super) fn ends_of<'a>(&self, node: &'a Loop) -> Option<Ends<'a>> {
        let times = self.mapping.number(Property::Ends)?;
        let ends = ends(self.program, self.func, node)?;
        let of_lanes = !self.varies(ends.count) && self.varies(ends.end);
        (of_lanes && times_wider(ends, self.lanes().bits) >= times).then_some(ends)
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
