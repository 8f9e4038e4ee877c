//! Iterations by their lengths: lanes that end at about the same time do not wait for each other.
//!
//! Some iterations at a time are sorted, the longest ones first, and lanes take them from there. Those of groups that are left are marked, and run in
//! order behind the last group: the first fault of all iterations is in one of them.

use super::super::build::Binding;
use super::super::map::turns;
use super::super::{Lowerer, make};
use super::{Iterations, last_inside};
use hidp_ir::imp::{self, Expr, Lanes, LoopKind, PrimArg, VarId, WideElement, WideIndex, WideKind};
use hidp_ir::par;
use hidp_ir::par::effects::may_fault;
use hidp_plan as plan;
use hidp_syntax::prim::Symbol;
use hidp_syntax::ty::{Scalar, Ty};

/// Iterations that were sorted.
pub(super) struct Sorted {
    /// The iteration at each place.
    order: VarId,
    /// Marks of iterations whose groups are left, if any may be: by the distance from the first one, with whether there are any.
    marks: Option<Marks>,
}

struct Marks {
    each: VarId,
    any: VarId,
    /// The first iteration of all.
    first: Expr,
}

/// Sorts places by what stands there: in `prim/worker_order.hpp`.
const ORDER: Symbol = Symbol { function: "worker_order", header: "worker_order" };

impl Lowerer<'_> {
    /// Positions `[low, high)` of a map's only range, so many at a time by their lengths.
    pub(super) fn sorted(&mut self, mut iterations: Iterations<'_>, most: u32, low: Expr, high: Expr) {
        let (map, range) = (iterations.map, iterations.range);
        let Some(length) = plan::wide::length(self.program, self.func, map) else {
            return self.defect("iterations that are sorted have lengths");
        };
        let low = self.body.fix("low", make::add(range.lo.clone(), low));
        let high = self.body.fix("high", make::add(range.lo.clone(), high));
        let most = make::long(most.into());
        let [lengths, order] = ["lengths", "order"].map(|name| self.scratch(name, Ty::LONG, &most, map.iters[0].span));
        let is_left = may_fault(self.program, &self.func.vars, &iterations.in_lanes.body);
        let marks = is_left.then(|| self.scratch("marks", Ty::BOOL, &most, map.iters[0].span));
        let first = self.body.enter_loop("first");
        let from = make::var(first, Ty::LONG);
        let count = self.body.fix("count", make::min(make::sub(high.clone(), from.clone()), most.clone()));
        let at = self.body.enter_loop("at");
        let position = make::var(at, Ty::LONG);
        let iteration = self.body.fix("iteration", make::add(from.clone(), position.clone()));
        self.body.bindings.insert(range.var, Binding::Fixed(iteration.clone()));
        let length = self.expr(&length);
        self.store_element(make::element(lengths, position.clone()), length, Ty::LONG);
        let no = || Expr { kind: imp::ExprKind::Bool(false), ty: Ty::BOOL };
        marks.into_iter().for_each(|marks| self.store_element(make::element(marks, position.clone()), no(), Ty::BOOL));
        self.body.leave_loop(at, make::long(0), count.clone(), LoopKind::Seq);
        let [from_lengths, to_order] = [lengths, order].map(|base| PrimArg::Address { base, offset: make::long(0) });
        let args = vec![from_lengths, to_order, PrimArg::Value(from.clone()), PrimArg::Value(count.clone())];
        self.call_library(Some(ORDER), Vec::new(), args, Vec::new());
        let marks = marks.map(|each| Marks { each, any: self.body.slot("any", Ty::BOOL, Some(no())), first: from });
        iterations.sorted = Some(Sorted { order, marks });
        self.flights(&iterations, make::long(0), count.clone());
        if let Some(Sorted { marks: Some(marks), .. }) = &iterations.sorted {
            self.body.enter();
            self.marked_in_order(&iterations, marks, count);
            let then = self.body.leave();
            self.body.push(make::when(make::var(marks.any, Ty::BOOL), then.stmts));
        }
        self.body.leave_loop_step(first, low, high, most, LoopKind::Seq);
    }

    /// The iterations of a group's lanes, of which the first one has this place.
    pub(super) fn sorted_lanes(&mut self, sorted: &Sorted, var: par::VarId, first: VarId) {
        let Some(here) = self.here() else { return };
        let index = WideIndex::Every { first: Box::new(make::var(first, Ty::LONG)), stride: Box::new(make::long(1)) };
        let element = WideElement { base: sorted.order, index, path: Vec::new(), relaxed: false, mask: Some(here) };
        let value = self.wide_of(WideKind::Load(element), Scalar::I64);
        let name = self.func.vars[var].name.clone();
        let at = self.wide_slot(&name, value);
        if let Some(wide) = &mut self.wide {
            wide.vars.insert(var, at);
        }
    }

    /// Marks the iterations of a group that is left.
    pub(super) fn marked(&mut self, sorted: &Sorted, lanes: Lanes, first: VarId, hi: &Expr) -> imp::Block {
        self.body.enter();
        let Some(Marks { each, any, first: from }) = &sorted.marks else {
            self.defect("groups that may be left have marks");
            return self.body.leave();
        };
        let first = make::var(first, Ty::LONG);
        let count = Expr { kind: imp::ExprKind::LaneCount(lanes), ty: Ty::LONG };
        let past = self.body.fix("past", make::min(make::add(first.clone(), count), hi.clone()));
        let yes = || Expr { kind: imp::ExprKind::Bool(true), ty: Ty::BOOL };
        self.body.push(make::set(*any, yes()));
        let at = self.body.enter_loop("at");
        let iteration = make::load(make::element(sorted.order, make::var(at, Ty::LONG)), Ty::LONG);
        self.store_element(make::element(*each, make::sub(iteration, from.clone())), yes(), Ty::BOOL);
        self.body.leave_loop(at, first, past, LoopKind::Seq);
        self.body.leave()
    }

    /// All iterations that are marked, in order.
    fn marked_in_order(&mut self, iterations: &Iterations<'_>, marks: &Marks, count: Expr) {
        let Iterations { map, in_lanes, range, accs, .. } = *iterations;
        let leaves = !std::ptr::eq(map, in_lanes);
        let at = self.body.enter_loop("at");
        let position = make::var(at, Ty::LONG);
        self.body.enter();
        let iteration = self.body.fix("iteration", make::add(marks.first.clone(), position.clone()));
        let low = make::sub(iteration.clone(), range.lo.clone());
        let high = make::add(low.clone(), make::long(1));
        if !self.run_apart(map, range, [low, high]) {
            self.body.bindings.insert(range.var, Binding::Fixed(iteration));
            if leaves {
                self.with_lanes(&last_inside(map), |this| this.iteration(map, accs));
            } else {
                self.iteration(map, accs);
            }
        }
        let then = self.body.leave();
        let is_marked = make::load(make::element(marks.each, position), Ty::BOOL);
        self.body.push(make::when(is_marked, then.stmts));
        self.body.leave_loop(at, make::long(0), count, turns(map));
    }
}
