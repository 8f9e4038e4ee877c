//! Code whose checks set a flag instead of leaving, so that lanes and groups stay converged; if the flag is set it runs again, with
//! faults.
//!
//! A failed check clamps the index to 0 ([`Checks::Flag`]): the value read is discarded, but element 0 must exist. So such code starts
//! only if every array with a checked index has elements.

use std::mem;

use super::{Binding, Checks, Lowerer, make};
use hidp_ir::imp::{Expr, VarId};
use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{self, BinOp, Block, ExprKind, Place};
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// Does work without faults if a test made before allows it, and again with faults if that failed or a check did. `body` is what
    /// may fail in the first attempt.
    pub(super) fn tried(
        &mut self,
        allowed: Option<Expr>,
        body: &Block,
        attempt: impl FnOnce(&mut Self),
        again: impl FnOnce(&mut Self),
    ) {
        let checked = may_fault(self.program, &self.func.vars, body);
        let readable = checked.then(|| self.readable(body, &[])).flatten();
        let bad = self.flag(allowed.into_iter().chain(readable).reduce(both));
        self.body.enter();
        let checks = if checked { Checks::Flag(bad) } else { self.checks };
        self.with_checks(checks, attempt);
        let attempt = self.body.leave();
        self.body.push(make::when(flag_is(BinOp::Eq, bad), attempt.stmts));
        self.body.enter();
        again(self);
        let again = self.body.leave();
        self.body.push(make::when(flag_is(BinOp::Ne, bad), again.stmts));
    }

    /// Work that only raises the flag it gives back, if one of its checks failed or a test before it. `body` and `values` hold all
    /// that it reads.
    pub(super) fn flagged(&mut self, body: &Block, values: &[par::Expr], work: impl FnOnce(&mut Self)) -> VarId {
        let readable = self.readable(body, values);
        let always = readable.is_none();
        let bad = self.flag(readable);
        if always {
            self.with_checks(Checks::Flag(bad), work);
            return bad;
        }
        self.body.enter();
        self.with_checks(Checks::Flag(bad), work);
        let work = self.body.leave();
        self.body.push(make::when(flag_is(BinOp::Eq, bad), work.stmts));
        bad
    }

    fn with_checks(&mut self, checks: Checks, work: impl FnOnce(&mut Self)) {
        let before = mem::replace(&mut self.checks, checks);
        work(self);
        self.checks = before;
    }

    /// A flag that is up if a test fails.
    fn flag(&mut self, allowed: Option<Expr>) -> VarId {
        let start = allowed.map_or(make::long(0), |allowed| make::select(allowed, make::long(0), make::long(1)));
        self.body.slot("bad", Ty::LONG, Some(start))
    }

    /// Whether element 0 exists along each dimension in which reads are checked; `None` where that is certain.
    fn readable(&mut self, body: &Block, values: &[par::Expr]) -> Option<Expr> {
        let mut checked = Vec::new();
        let mut note = |place: &Place| {
            let dims = (0..place.index.len()).filter(|dim| self.is_unproved(place, *dim));
            checked.extend(dims.map(|dim| (place.array, dim)));
        };
        visit::walk_places(body, |place, role| {
            if role == Role::Read {
                note(place);
            }
        });
        for value in values {
            visit::walk_subexprs(value, |part| {
                if let ExprKind::Load(place) = &part.kind {
                    note(place);
                }
            });
        }
        let mut tests: Vec<Expr> = Vec::new();
        for (array, dim) in checked {
            let Binding::Array(array) = self.binding(array) else {
                self.defect("what is indexed is an array");
                continue;
            };
            let extent = array.extents[dim].clone();
            let test = make::binary(BinOp::Gt, extent.clone(), make::long(0));
            if make::as_int(&extent).is_none_or(|extent| extent <= 0) && !tests.contains(&test) {
                tests.push(test);
            }
        }
        tests.into_iter().reduce(both)
    }
}

/// Whether a flag is down (`Eq`) or up (`Ne`).
pub(super) fn flag_is(op: BinOp, bad: VarId) -> Expr {
    make::binary(op, make::var(bad, Ty::LONG), make::long(0))
}

fn both(left: Expr, right: Expr) -> Expr {
    make::binary(BinOp::And, left, right)
}
