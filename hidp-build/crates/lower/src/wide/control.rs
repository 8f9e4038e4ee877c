//! Branches, loops, scopes and jumps of lanes.

use std::{mem, ptr};

use super::super::defect::IN_LANES;
use super::super::{Lowerer, make};
use super::any;
use hidp_ir::imp::{self, ExprKind, SetLanes, Stmt, VarId, Wide, WideKind};
use hidp_ir::par::effects;
use hidp_ir::par::{self, Block, Loop};
use hidp_plan::wide::live::{self, Jumps, Live};
use hidp_plan::wide::{
    continues, counted, is_costly, is_costly_block, joins_of_branch, joins_of_loop, tests as tests_of,
};

/// A loop or scope around what is being lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    is_loop: bool,
    /// Where lanes leave it at different times: those that have not left it, and those of them that are in this turn.
    masks: Option<Masks>,
}

#[derive(Clone, Copy, Debug)]
struct Masks {
    /// Lanes that have not left.
    live: VarId,
    /// Of a loop with `continue`: of those, the ones that are not at its step yet.
    turn: Option<VarId>,
}

/// Where lanes go that leave what they are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    Break,
    Continue,
    Leave,
}

impl Masks {
    /// Those that are inside still.
    fn inside(self) -> VarId {
        self.turn.unwrap_or(self.live)
    }
}

impl Lowerer<'_> {
    /// The statements of a block. Where some lanes have left by a jump, the others go on.
    pub(super) fn wide_block(&mut self, block: &Block, after: &Live, jumps: &Jumps) {
        let (afters, _) = live::in_block(block, after, jumps);
        let Some(around) = self.here() else { return };
        let mut guards = Vec::new();
        for (at, (stmt, after)) in block.stmts.iter().zip(&afters).enumerate() {
            let counters = self.enter_counters(&block.stmts[..at], stmt);
            self.wide_stmt(stmt, after, jumps);
            self.leave_counters(&counters);
            let rest = &block.stmts[at + 1..];
            let Some(inside) = self.left_by(stmt).filter(|_| !rest.is_empty()) else { continue };
            let Some(here) = self.here() else { return };
            let left = self.both(here, inside);
            let here = if here == inside { here } else { self.wide_slot("here", left) };
            self.enter_lanes(here);
            if is_costly_block(rest) {
                self.body.enter();
                guards.push(here);
            }
        }
        while let Some(mask) = guards.pop() {
            let rest = self.body.leave();
            // As it was where the block began.
            self.enter_lanes(mask);
            self.body.push(make::when(any(mask), rest.stmts));
        }
        self.enter_lanes(around);
    }

    /// If some lanes leave a statement by a jump to what is around it: those that are inside of the innermost still.
    fn left_by(&self, stmt: &par::Stmt) -> Option<VarId> {
        let one = Block { stmts: vec![stmt.clone()] };
        if !effects::may_jump(&one) {
            return None;
        }
        let around = &self.wide.as_ref()?.around;
        around.iter().rev().find_map(|around| around.masks).map(Masks::inside)
    }

    pub(super) fn wide_if(&mut self, cond: &par::Expr, sides: (&Block, &Block), after: &Live, jumps: &Jumps) {
        let (then, otherwise) = sides;
        if !self.varies(cond) {
            let cond = self.expr(cond);
            self.body.enter();
            self.wide_block(then, after, jumps);
            let on_true = self.body.leave();
            self.body.enter();
            self.wide_block(otherwise, after, jumps);
            let on_false = self.body.leave();
            self.body.push(Stmt::If { cond, then: on_true, otherwise: on_false });
            return;
        }
        let Some(here) = self.here() else { return };
        let cond = self.wide(cond);
        let cond = self.mask_of("cond", cond);
        let taken = self.both(here, cond);
        let on_true = (!then.stmts.is_empty()).then(|| self.wide_slot("then", taken));
        let left = self.without(here, cond);
        let on_false = (!otherwise.stmts.is_empty()).then(|| self.wide_slot("otherwise", left));
        let other = live::before_block(otherwise, after, jumps);
        for (mask, block, other) in [(on_true, then, Some(&other)), (on_false, otherwise, None)] {
            let Some(mask) = mask else { continue };
            let joins = joins_of_branch(&self.joins(), after, other);
            self.with_lanes_here(mask, joins, |this| {
                if is_costly_block(&block.stmts) {
                    this.if_any(mask, |this| this.wide_block(block, after, jumps));
                } else {
                    this.wide_block(block, after, jumps);
                }
            });
        }
    }

    pub(super) fn wide_sequential(&mut self, node: &Loop, after: &Live, jumps: &Jumps) {
        let masked = self.wide.as_ref().is_some_and(|wide| wide.classes.is_masked_loop(node));
        let (head, inside) = live::of_loop(node, after, jumps);
        if masked {
            return self.masked_loop(node, &head, &inside, jumps);
        }
        self.together(node, &mut |this, is_step| match is_step {
            false => this.wide_block(&node.body, &inside.next, &inside),
            true => this.wide_block(&node.step, &head, jumps),
        });
    }

    /// A loop that all lanes leave together, with what `lower` makes of its body and then of its step.
    pub(super) fn together(&mut self, node: &Loop, lower: &mut dyn FnMut(&mut Self, bool)) {
        self.body.enter();
        let cond = self.expr(&node.cond);
        if cond.kind != ExprKind::Bool(true) {
            self.body.push(make::when(make::not(cond), vec![Stmt::Break]));
        }
        self.inside(Around { is_loop: true, masks: None }, |this| lower(this, false));
        let body = self.body.leave();
        self.body.enter();
        lower(self, true);
        let step = self.body.leave();
        self.body.push(Stmt::Forever { body, step });
    }

    /// Goes on while any lane does.
    fn masked_loop(&mut self, node: &Loop, head: &Live, inside: &Jumps, jumps: &Jumps) {
        let Some(here) = self.here() else { return };
        let here = self.mask(here);
        let live = self.wide_slot("live", here);
        let joins = joins_of_loop(&self.joins(), inside, false);
        let in_body = joins_of_loop(&self.joins(), inside, continues(&node.body));
        self.body.enter();
        let jumping = effects::may_jump(&node.body);
        self.with_lanes_here(live, joins.clone(), |this| this.masked_test(node, live, jumping));
        if let Some(ends) = self.ends_of(node) {
            let around = Around { is_loop: true, masks: Some(Masks { live, turn: None }) };
            self.with_lanes_here(live, joins, |this| {
                this.up_to_least(ends, (live, around), &mut |this, is_step| match is_step {
                    false => this.wide_block(&node.body, &inside.next, inside),
                    true => this.wide_block(&node.step, head, jumps),
                });
            });
            let body = self.body.leave();
            self.body.push(Stmt::Forever { body, step: imp::Block::default() });
            return;
        }
        let turn = continues(&node.body).then(|| {
            let all = self.mask(live);
            self.wide_slot("turn", all)
        });
        let masks = Masks { live, turn };
        self.with_lanes_here(masks.inside(), in_body, |this| {
            let around = Around { is_loop: true, masks: Some(masks) };
            this.inside(around, |this| this.wide_block(&node.body, &inside.next, inside));
        });
        if jumping {
            // The step, and the next test, load what is the same in all lanes: some lane has to be there. To the first test all come that began.
            self.body.push(make::when(make::not(any(live)), vec![Stmt::Break]));
        }
        let body = self.body.leave();
        self.body.enter();
        self.with_lanes_here(live, joins, |this| this.wide_block(&node.step, head, jumps));
        let step = self.body.leave();
        self.body.push(Stmt::Forever { body, step });
    }

    /// The test before each turn. `tested` if some lane is known to be there.
    fn masked_test(&mut self, node: &Loop, live: VarId, tested: bool) {
        if self.varies(&node.cond) {
            return self.varying_test(&node.cond, live);
        }
        if !tested {
            self.body.push(make::when(make::not(any(live)), vec![Stmt::Break]));
        }
        let cond = self.expr(&node.cond);
        if cond.kind != ExprKind::Bool(true) {
            self.body.push(make::when(make::not(cond), vec![Stmt::Break]));
        }
    }

    /// First what is the same in all lanes that are there. The rest one after the other, since a comparison under a mask is one instruction.
    fn varying_test(&mut self, cond: &par::Expr, live: VarId) {
        let mut tests = tests_of(cond);
        let Some(wide) = &self.wide else { return self.defect(IN_LANES) };
        let counted = counted(&wide.classes, &tests, &self.counters());
        tests.retain(|test| !counted.iter().any(|counted| ptr::eq(*counted, *test)));
        for test in counted {
            let holds = self.expr(test);
            self.body.push(make::when(make::not(holds), vec![Stmt::Break]));
        }
        if tests.is_empty() {
            return;
        }
        let mut left = self.mask(live);
        for test in tests {
            if is_costly(test) && !matches!(left.kind, WideKind::Var(_)) {
                left = self.go_on(live, left);
            }
            let holds = self.narrow_test(test).unwrap_or_else(|| self.wide(test));
            left = self.wide_binary(par::BinOp::And, left, holds);
        }
        self.go_on(live, left);
    }

    /// The lanes that go on with a loop, which ends if there are none.
    fn go_on(&mut self, live: VarId, left: Wide) -> Wide {
        self.wide_set(live, left, SetLanes::All);
        self.body.push(make::when(make::not(any(live)), vec![Stmt::Break]));
        self.mask(live)
    }

    pub(super) fn wide_scope(&mut self, body: &Block, after: &Live, jumps: &Jumps) {
        let jumps = Jumps { left: after.clone(), ..jumps.clone() };
        if !self.wide.as_ref().is_some_and(|wide| wide.classes.is_masked_scope(body)) {
            let label = self.body.new_label();
            self.body.scopes.push(label);
            self.body.enter();
            self.inside(Around { is_loop: false, masks: None }, |this| this.wide_block(body, after, &jumps));
            let block = self.body.leave();
            self.body.scopes.pop();
            self.body.push(Stmt::Scope { label, body: block });
            return;
        }
        let Some(here) = self.here() else { return };
        let here = self.mask(here);
        let live = self.wide_slot("inside", here);
        let joins = joins_of_branch(&self.joins(), after, None);
        // What is inside asks for the lanes that are left wherever some leave.
        self.with_lanes_here(live, joins, |this| {
            let around = Around { is_loop: false, masks: Some(Masks { live, turn: None }) };
            this.inside(around, |this| this.wide_block(body, after, &jumps));
        });
    }

    pub(super) fn inside(&mut self, around: Around, build: impl FnOnce(&mut Self)) {
        if let Some(wide) = &mut self.wide {
            wide.around.push(around);
        }
        build(self);
        if let Some(wide) = &mut self.wide {
            wide.around.pop();
        }
    }

    /// A jump of the lanes that are here: out of the innermost loop or scope, or to the loop's step.
    pub(super) fn wide_jump(&mut self, kind: Jump) {
        let to_loop = match kind {
            Jump::Break | Jump::Continue => true,
            Jump::Leave => false,
        };
        let around = self.wide.as_ref().map_or_else(Vec::new, |wide| wide.around.clone());
        let Some(at) = around.iter().rposition(|around| around.is_loop == to_loop) else {
            return self.defect("a jump has a target");
        };
        let Some(here) = self.here() else { return };
        let Some(target) = around[at].masks else {
            let label = self.body.scopes.last().copied();
            return self.body.push(match kind {
                Jump::Break => Stmt::Break,
                Jump::Continue => Stmt::Continue,
                Jump::Leave => Stmt::Leave(label),
            });
        };
        let going_on = kind == Jump::Continue;
        let mut reduced: Vec<VarId> = Vec::new();
        for inner in &around[at + 1..] {
            reduced.extend(inner.masks.into_iter().flat_map(|masks| [Some(masks.live), masks.turn]).flatten());
        }
        reduced.extend(target.turn);
        if !going_on {
            reduced.push(target.live);
        }
        // `here` may be one of them.
        let kept = self.mask(here);
        let leaving = if reduced.contains(&here) { self.wide_slot("leaving", kept) } else { here };
        for mask in mem::take(&mut reduced) {
            let left = self.without(mask, leaving);
            self.wide_set(mask, left, SetLanes::All);
        }
    }
}
