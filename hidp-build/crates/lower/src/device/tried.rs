//! Folds whose loads are not proved: tried without branches, and repeated in order if a check failed.
//!
//! A check that leaves the loop keeps all later loads waiting. So indices that are affine in the iterator are tested once, at both ends of the
//! range; others are clamped and set a flag. The compiler can then unroll the loop and issue all loads of one kind at once. If the flag is set,
//! the loop runs again with faults, and finds the first.

use super::super::fold::Acc;
use super::super::map::turns;
use super::super::space::Range;
use super::super::{Lowerer, make};
use hidp_ir::imp::Level;
use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{FoldFn, FoldKind, Map};
use hidp_plan as plan;

impl Lowerer<'_> {
    /// Whether a fold can be done twice: its iterations compute values, and nothing else.
    pub(super) fn can_try(&self, map: &Map) -> bool {
        let mut writes = false;
        visit::walk_places(&map.body, |_, role| writes |= role != Role::Read);
        let folds = &map.folds;
        let plain = folds.iter().all(|fold| fold.kind == FoldKind::Reduce && !matches!(fold.op.func, FoldFn::Fn(_)));
        let good = map.iters.len() == 1 && !folds.is_empty() && plain && !writes && !self.func.unchecked;
        good && plan::straight(self.program, self.func, &map.body)
            && may_fault(self.program, &self.func.vars, &map.body)
    }

    /// The fold over a range, shared by groups of level `over`, or by one lane in order.
    pub(super) fn tried_fold(&mut self, map: &Map, range: &Range, accs: &[Acc<'_>], over: Option<Level>) {
        let count = self.body.fix("count", range.count.clone());
        let (inside, proved) = self.ends_inside(map, range, &make::long(0), &count);
        self.tried(
            inside,
            &proved.body,
            |this| this.fold_range(&proved, range, accs, over),
            |this| {
                accs.iter().for_each(|acc| this.reset(acc));
                this.fold_range(map, range, accs, over);
            },
        );
    }

    fn fold_range(&mut self, map: &Map, range: &Range, accs: &[Acc<'_>], over: Option<Level>) {
        let count = range.count.clone();
        let Some(over) = over else {
            return self.range_loop(range, make::long(0), count, turns(map), &mut |this| this.iteration(map, accs));
        };
        self.spread(over, accs, make::long(0), count, &mut |this, position| {
            this.bind_position(range, position);
            this.iteration(map, accs);
        });
    }
}
