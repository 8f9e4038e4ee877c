//! Maps inside of a kernel: the lanes of a group share the iterations, or all of them run each together.

use super::super::fold::Acc;
use super::super::space::Range;
use super::super::{Lowerer, make};
use crate::compiler::ir::imp::{Expr, Level, LoopKind, Reduction, Share};
use crate::compiler::ir::par::{FoldFn, Map};
use crate::compiler::plan::Exec;
use crate::compiler::ty::Ty;

impl Lowerer<'_> {
    /// A map inside of a kernel.
    pub(in super::super) fn group_map(&mut self, map: &Map) {
        match (self.shared_scope(), self.exec_of(map)) {
            (Some(_), Exec::Device(over)) => self.spread_map(map, over),
            _ => self.thread_map(map),
        }
    }

    /// The iterations are dealt out to the parts of the group.
    fn spread_map(&mut self, map: &Map, over: Level) {
        let ranges = self.ranges(map);
        let accs = self.accumulators(map);
        let (strides, total, narrow) = self.product(&ranges);
        self.spread(over, &accs, make::long(0), total, &mut |this, position| {
            this.bind_linear(&ranges, &strides, &narrow, position);
            this.iteration(map, &accs);
        });
        self.deliver(&accs);
    }

    /// Strides, number of positions and whether they fit 32 bits.
    fn product(&mut self, ranges: &[Range]) -> (Vec<Expr>, Expr, Expr) {
        if let [range] = ranges {
            return (vec![make::long(1)], range.count.clone(), super::super::prim::truth(true));
        }
        let (strides, total) = self.strides(ranges);
        let narrow = self.is_narrow(&total);
        (strides, total, narrow)
    }

    /// A loop over positions `[low, high)` that groups of level `over` share; all at once if that is the group at hand, whose
    /// lanes then run each iteration together.
    pub(super) fn spread(
        &mut self,
        over: Level,
        accs: &[Acc<'_>],
        low: Expr,
        high: Expr,
        body: &mut dyn FnMut(&mut Self, Expr),
    ) {
        let group = self.group_here();
        let at = self.body.enter_loop("at");
        let position = make::var(at, Ty::LONG);
        if over <= group {
            body(self, position);
            self.body.leave_loop(at, low, high, LoopKind::Seq);
            return;
        }
        self.in_scope(over, |this| body(this, position));
        let kind = LoopKind::Spread { group, over, share: share_of(accs), reductions: reductions_of(accs) };
        self.body.leave_loop(at, low, high, kind);
    }
}

fn reductions_of(accs: &[Acc<'_>]) -> Vec<Reduction> {
    let reduction =
        |acc: &Acc<'_>| Reduction { var: acc.var, op: acc.fold.op.func, ty: acc.fold.op.ty, seen: acc.seen };
    accs.iter().map(reduction).collect()
}

/// Neighbouring lanes take neighbouring iterations, unless the order of the operands matters.
fn share_of(accs: &[Acc<'_>]) -> Share {
    let in_order = accs.iter().any(|acc| matches!(acc.fold.op.func, FoldFn::Fn(_)));
    if in_order { Share::Blocked } else { Share::Cyclic }
}
