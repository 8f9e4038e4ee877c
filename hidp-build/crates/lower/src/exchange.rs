//! Arrays that exchange names, of which at least one is the caller's.
//!
//! A caller expects results in its own memory, so the names of its arrays cannot stay exchanged. Two arrays that exchange names only with each
//! other do so like local ones, with a flag for an odd number of exchanges: then elements are copied once, where the lifetime of the shorter-lived
//! one ends. Other exchanges copy elements each time.

use super::build::{ArrayBinding, Role};
use super::{Binding, Lowerer, make};
use hidp_ir::imp::{self, Expr, ExprKind, LoopKind, Stmt};
use hidp_ir::par::{self, Block, Func, StmtKind, VarKind, visit};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// Two arrays that exchange names with each other alone.
pub(super) struct Pair {
    /// The caller's.
    param: par::VarId,
    other: par::VarId,
    /// Whether they have each other's memory.
    odd: Option<imp::VarId>,
}

/// The pairs of a function.
pub(super) fn pairs(func: &Func) -> Vec<Pair> {
    let mut found: OrdSet<(par::VarId, par::VarId)> = OrdSet::new();
    visit::walk_stmts(&func.body, |stmt| {
        if let StmtKind::Swap(a, b) = stmt.kind {
            found.insert((a.min(b), a.max(b)));
        }
    });
    let is_param = |var: par::VarId| matches!(func.vars[var].kind, VarKind::Param(_));
    let with = |var: par::VarId| found.iter().filter(|(a, b)| [*a, *b].contains(&var)).count();
    let alone = found.iter().filter(|(a, b)| a != b && with(*a) == 1 && with(*b) == 1);
    let pair = |(a, b): &(par::VarId, par::VarId)| {
        let (param, other) = if is_param(*a) { (*a, *b) } else { (*b, *a) };
        let home = if is_param(other) { Some(&func.body) } else { home(&func.body, other) };
        let stays = home.is_some_and(|home| !jumps_out(home));
        (is_param(param) && stays).then_some(Pair { param, other, odd: None })
    };
    alone.filter_map(pair).collect()
}

/// The block that declares a local.
fn home(block: &Block, var: par::VarId) -> Option<&Block> {
    let declares = |stmt: &par::Stmt| matches!(&stmt.kind, StmtKind::Declare { var: declared, .. } if *declared == var);
    if block.stmts.iter().any(declares) {
        return Some(block);
    }
    block.stmts.iter().flat_map(visit::child_blocks).find_map(|inner| home(inner, var))
}

/// Whether a block may end elsewhere than at its end.
fn jumps_out(block: &Block) -> bool {
    jumps(block, false, false)
}

fn jumps(block: &Block, in_loop: bool, in_scope: bool) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue => !in_loop,
        StmtKind::Leave => !in_scope,
        StmtKind::Return(_) => true,
        StmtKind::Loop(node) => jumps(&node.body, true, in_scope) || jumps(&node.step, true, in_scope),
        StmtKind::Scope(body) => jumps(body, in_loop, true),
        StmtKind::If { then, otherwise, .. } => jumps(then, in_loop, in_scope) || jumps(otherwise, in_loop, in_scope),
        // What is in a map leaves its iteration at most.
        StmtKind::Map(_)
        | StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    })
}

impl Lowerer<'_> {
    /// Two host-level arrays exchange names.
    pub(super) fn swap(&mut self, a: par::VarId, b: par::VarId) {
        let (Binding::Array(first), Binding::Array(second)) = (self.binding(a), self.binding(b)) else {
            return self.defect("what exchanges names are arrays");
        };
        if !self.body.params.contains(&first.base) && !self.body.params.contains(&second.base) {
            self.body.push(Stmt::Swap(first.base, second.base));
            return;
        }
        self.body.mark_written(first.base);
        self.body.mark_written(second.base);
        let pair = self.pairs.iter().find(|pair| [pair.param, pair.other].contains(&a));
        match pair.and_then(|pair| pair.odd) {
            Some(odd) => {
                self.body.push(Stmt::Swap(first.base, second.base));
                self.body.push(make::set(odd, make::not(make::var(odd, Ty::BOOL))));
            }
            None => self.exchange_elements(&first, &second, self.func.vars[a].ty),
        }
    }

    fn exchange_elements(&mut self, first: &ArrayBinding, second: &ArrayBinding, ty: Ty) {
        let count = self.elements(first);
        if self.device.is_some() {
            return self.swap_elements((first.base, second.base), ty, &count);
        }
        let at = self.body.enter_loop("at");
        self.exchange_element((first.base, second.base), ty, &make::var(at, Ty::LONG));
        self.body.leave_loop(at, make::long(0), count, LoopKind::Seq);
    }

    fn elements(&mut self, array: &ArrayBinding) -> Expr {
        let count = array.extents.iter().cloned().fold(make::long(1), make::mul);
        self.body.fix("count", count)
    }

    pub(super) fn exchange_element(&mut self, (first, second): (imp::VarId, imp::VarId), ty: Ty, at: &Expr) {
        let place = |base| make::element(base, at.clone());
        let kept = self.body.fix("kept", make::load(place(first), ty));
        self.body.push(Stmt::Store { target: place(first), value: make::load(place(second), ty) });
        self.body.push(Stmt::Store { target: place(second), value: kept });
    }

    /// Where a pair begins: a local is declared, or (without one) the function begins.
    pub(super) fn begin_pair(&mut self, local: Option<par::VarId>) {
        if self.body.role != Role::Host {
            return;
        }
        for at in 0..self.pairs.len() {
            if self.local_of(&self.pairs[at]) == local {
                let odd = Some(Expr { kind: ExprKind::Bool(false), ty: Ty::BOOL });
                self.pairs[at].odd = Some(self.body.slot("exchanged", Ty::BOOL, odd));
            }
        }
    }

    fn local_of(&self, pair: &Pair) -> Option<par::VarId> {
        let is_param = matches!(self.func.vars[pair.other].kind, VarKind::Param(_));
        (!is_param).then_some(pair.other)
    }

    /// Where a local's pair ends, if it has one: the caller's memory gets the caller's values.
    pub(super) fn end_pair(&mut self, local: par::VarId) {
        if let Some(at) = self.pairs.iter().position(|pair| pair.other == local) {
            self.settle(at);
        }
    }

    /// At the end of the function.
    pub(super) fn end_pairs(&mut self) {
        (0..self.pairs.len()).for_each(|at| self.settle(at));
    }

    fn settle(&mut self, at: usize) {
        let Some(odd) = self.pairs[at].odd.take() else { return };
        let (param, other) = (self.pairs[at].param, self.pairs[at].other);
        let both = self.local_of(&self.pairs[at]).is_none();
        let (Binding::Array(first), Binding::Array(second)) = (self.binding(param), self.binding(other)) else {
            return self.defect("what exchanges names are arrays");
        };
        let (ty, span) = (self.func.vars[param].ty, self.func.span);
        self.body.enter();
        let count = self.elements(&first);
        let ends = |this: &mut Self| {
            let (from, to) = (this.capture(first.base), this.capture(second.base));
            this.body.mark_written(to);
            (from, to)
        };
        let settle_one = |this: &mut Self, (from, to): (imp::VarId, imp::VarId), place: &Expr| {
            if both {
                this.body.mark_written(from);
                this.exchange_element((from, to), ty, place);
            } else {
                let value = make::load(make::element(from, place.clone()), ty);
                this.body.push(Stmt::Store { target: make::element(to, place.clone()), value });
            }
        };
        if self.device.is_some() {
            self.launch_over_elements("settle", &count, |this, at| {
                let ends = ends(this);
                settle_one(this, ends, at);
            });
        } else {
            let (kernel, args) = self.kernel("settle", span, |this, begin, end| {
                let ends = ends(this);
                let at = this.body.enter_loop("at");
                settle_one(this, ends, &make::var(at, Ty::LONG));
                this.body.leave_loop(at, begin, end, LoopKind::Seq);
            });
            let schedule = self.schedule(self.model.line, count.clone().into());
            self.body.push(Stmt::Launch { kernel, args, extent: count, schedule });
        }
        self.body.push(Stmt::Swap(first.base, second.base));
        let settle = self.body.leave();
        self.body.push(make::when(make::var(odd, Ty::BOOL), settle.stmts));
    }
}
