//! Maps inside a kernel: the lanes of a group share the iterations, or all lanes run each iteration together.

use super::super::fold::Acc;
use super::super::prim::truth;
use super::super::space::Range;
use super::super::{Checks, Lowerer, make};
use hidp_ir::imp::{Expr, Level, LoopKind, PrimArg, Reduction, Share};
use hidp_ir::par::{BinOp, FaultKind, Fold, FoldFn, FoldKind, Map, Place, Target};
use hidp_plan::Exec;
use hidp_syntax::prim::Prim;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// A map inside of a kernel.
    pub(in super::super) fn group_map(&mut self, map: &Map) {
        match (self.shared_scope(), self.exec_of(map)) {
            (Some(_), Exec::Device(_)) if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) => {
                self.scan_map(map);
            }
            (Some(_), Exec::Device(over)) => self.exchanging(map, |this| this.spread_map(map, over)),
            (None, _) if self.can_try(map) => {
                let ranges = self.ranges(map);
                let accs = self.accumulators(map);
                self.tried_fold(map, &ranges[0], &accs, None);
                self.deliver(&accs);
            }
            (None, _) if let Some(row) = self.row_of(map) => {
                let ranges = self.ranges(map);
                let accs = self.accumulators(map);
                self.fold_row(map, &ranges[0], &row, &accs);
                self.deliver(&accs);
            }
            _ => self.thread_map(map),
        }
    }

    /// The iterations are dealt out to the parts of the group.
    fn spread_map(&mut self, map: &Map, over: Level) {
        let ranges = self.ranges(map);
        let accs = self.accumulators(map);
        if over == Level::Thread && self.can_try(map) {
            self.tried_fold(map, &ranges[0], &accs, Some(over));
        } else {
            let (strides, total, narrow) = self.product(&ranges);
            self.spread(over, &accs, make::long(0), total, &mut |this, position| {
                this.bind_linear(&ranges, &strides, &narrow, position);
                this.iteration(map, &accs);
            });
        }
        self.deliver(&accs);
    }

    /// The lanes leave their values where the prefixes belong, and a primitive makes prefixes of them.
    fn scan_map(&mut self, map: &Map) {
        let ranges = self.ranges(map);
        let [range] = &ranges[..] else { return self.defect("prefixes in place have one iterator") };
        self.spread(Level::Thread, &[], make::long(0), range.count.clone(), &mut |this, position| {
            this.bind_position(range, position.clone());
            this.iteration(map, &[]);
            for fold in &map.folds {
                this.leave_value(fold, &position);
            }
        });
        let some = make::binary(BinOp::Gt, range.count.clone(), make::long(0));
        self.body.enter();
        self.bind_position(range, make::long(0));
        map.folds.iter().for_each(|fold| self.scan_segment(fold, range.count.clone()));
        let scans = self.body.leave();
        self.body.push(make::when(some, scans.stmts));
    }

    /// After an iteration: its value, in the place of its prefix.
    fn leave_value(&mut self, fold: &Fold, position: &Expr) {
        let value = self.read(fold.value);
        let value = self.body.fix("value", value);
        if fold.kind == FoldKind::Exscan && fold.op.neutral.is_none() {
            let later = make::binary(BinOp::Gt, position.clone(), make::long(0));
            self.require(later, FaultKind::EmptyFold, fold.span, Vec::new());
        }
        if let Target::Element(place) = &fold.target {
            let (target, _) = self.element(place);
            self.body.mark_written(target.base);
            self.store_element(target, value, fold.op.ty);
        }
    }

    /// All lanes: the values from the place of the first one on become prefixes.
    fn scan_segment(&mut self, fold: &Fold, count: Expr) {
        let Target::Element(place) = &fold.target else { return self.defect("prefixes in place are elements") };
        // Its checks were made when the values were left there.
        let proved = Place { unproved: 0, ..place.clone() };
        let (target, _) = self.element(&proved);
        let start = self.body.fix("start", *target.index);
        let (template, [neutral, has]) = self.operator(&fold.op);
        let address = || PrimArg::Address { base: target.base, offset: start.clone() };
        let exclusive = truth(fold.kind == FoldKind::Exscan);
        let args = vec![address(), address(), PrimArg::Value(count), neutral, has, PrimArg::Value(exclusive)];
        self.call_library(self.group_symbol(Prim::Scan), template, args, Vec::new());
    }

    /// Strides, number of positions and whether they fit 32 bits.
    fn product(&mut self, ranges: &[Range]) -> (Vec<Expr>, Expr, Expr) {
        if let [range] = ranges {
            return (vec![make::long(1)], range.count.clone(), truth(true));
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
        let high = self.shared_end(over, high);
        let at = self.body.enter_loop("at");
        let position = make::var(at, Ty::LONG);
        if over <= group {
            body(self, position);
            self.body.leave_loop(at, low, high, LoopKind::Seq);
            return;
        }
        self.in_scope(over, |this| body(this, position));
        let mut reductions = reductions_of(accs);
        if let Checks::Flag(bad) = self.checks {
            reductions.push(Reduction { var: bad, op: FoldFn::Or, ty: Ty::LONG, seen: None });
        }
        let kind = LoopKind::Spread { group, over, share: share_of(accs), reductions };
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
