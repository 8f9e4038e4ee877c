//! Iterations of groups in which a check failed, in order.

use super::super::build::Binding;
use super::super::fold::Acc;
use super::super::map::turns;
use super::super::space::Range;
use super::super::{Lowerer, make};
use super::last_inside;
use hidp_ir::imp::{self, Expr, Lanes, VarId};
use hidp_ir::par::Map;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// The iterations of a group, one after the other; maps inside have lanes of their own where lanes leave branches to them.
    pub(super) fn once_more(
        &mut self,
        (map, accs, leaves): (&Map, &[Acc<'_>], bool),
        range: &Range,
        lanes: Lanes,
        first: VarId,
        hi: &Expr,
    ) -> imp::Block {
        self.body.enter();
        let first = make::var(first, Ty::LONG);
        let count = Expr { kind: imp::ExprKind::LaneCount(lanes), ty: Ty::LONG };
        let past = self.body.fix("past", make::min(make::add(first.clone(), count), hi.clone()));
        let low = make::sub(first.clone(), range.lo.clone());
        let high = make::sub(past.clone(), range.lo.clone());
        if self.run_apart(map, range, [low, high]) {
            return self.body.leave();
        }
        let at = self.body.enter_loop(&self.func.vars[range.var].name);
        self.body.bindings.insert(range.var, Binding::Fixed(make::var(at, Ty::LONG)));
        let inner = last_inside(map);
        if leaves {
            self.with_lanes(&inner, |this| this.iteration(map, accs))
        } else {
            self.iteration(map, accs)
        }
        self.body.leave_loop(at, first, past, turns(map));
        self.body.leave()
    }
}
