//! Copies from arrays that die with the copy.

use super::unused::size_tests;
use crate::zero;
use hidp_ir::par::effects::{Effects, may_jump};
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{Access, Block, Expr, ExprKind, Func, Iter, Loop, Map, Program, Stmt, StmtKind, VarId, VarKind};
use hidp_prove::Facts;
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdSet;

/// Makes copies free if the source is a local that is dead afterwards.
pub(super) fn drop_copies(program: &Program, func: &mut Func) {
    zero::clear(func);
    let mut body = std::mem::take(&mut func.body);
    let mut uses = vec![0; func.vars.len()];
    visit::walk_vars(&body, |var, _| uses[var.index()] += 1);
    // What the passes see of the function while its body is taken out of it.
    let known = Func { body: body.clone(), ..func.clone() };
    Copies { program, func: &known, uses }.visit_block(&mut body);
    func.body = body;
}

struct Copies<'f> {
    program: &'f Program,
    func: &'f Func,
    /// How often each variable is named.
    uses: Vec<usize>,
}

impl Mutator for Copies<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        change::walk_block(self, block);
        let mut at = 0;
        while at < block.stmts.len() {
            match self.copy(&block.stmts[at]) {
                Some((to, from)) if self.rename(block, at, to, from) => at = 0,
                Some(_) | None => at += 1,
            }
        }
    }

    fn visit_loop(&mut self, node: &mut Loop) {
        change::walk_loop(self, node);
        for at in 0..node.body.stmts.len() {
            if let Some((to, from)) = self.copy(&node.body.stmts[at])
                // The caller sees a parameter's own storage, which cannot change places.
                && self.func.vars[to].kind == VarKind::Local
                && self.dies_in(node, at, from)
            {
                node.body.stmts[at].kind = StmtKind::Swap(to, from);
            }
        }
    }

    /// Inside maps arrays are not whole.
    fn visit_map(&mut self, _: &mut Map) {}
    fn visit_expr(&mut self, _: &mut Expr) {}
}

impl Copies<'_> {
    /// Target and source, if a statement copies one whole array into another of the same shape.
    fn copy(&self, stmt: &Stmt) -> Option<(VarId, VarId)> {
        let StmtKind::Map(map) = &stmt.kind else { return None };
        let mut iters: Vec<&Iter> = Vec::new();
        let mut inner = map;
        let (to, from) = loop {
            iters.extend(&inner.iters);
            match &inner.body.stmts[..] {
                [Stmt { kind: StmtKind::Map(next), .. }] if inner.folds.is_empty() => inner = next,
                [Stmt { kind: StmtKind::Store { place, value }, .. }] if inner.folds.is_empty() => match &value.kind {
                    ExprKind::Load(source) => break (place, source),
                    _ => return None,
                },
                _ => return None,
            }
        };
        let facts = Facts::new(self.func);
        let (target, source) = (&self.func.vars[to.array], &self.func.vars[from.array]);
        let alike = to.array != from.array
            && target.ty == source.ty
            && source.kind == VarKind::Local
            && target.shape.len() == source.shape.len()
            && target.shape.iter().zip(&source.shape).all(|(a, b)| facts.same_extent(a, b));
        let plain = to.access == Access::Exclusive
            && from.access == Access::Exclusive
            && from.path.is_empty()
            && same::exprs(&to.index, &from.index);
        (alike && plain && zero::covers(self.func, &facts, to, &iters)).then_some((to.array, from.array))
    }

    fn effects(&self, stmt: &Stmt) -> Effects {
        Effects::of_stmt(self.program, &self.func.vars, stmt)
    }

    /// Makes `from` another name of `to` from its first use to the copy at `at`, if nothing else happens to `to` meanwhile.
    fn rename(&mut self, block: &mut Block, at: usize, to: VarId, from: VarId) -> bool {
        let touches = |stmt: &Stmt, var: VarId| {
            let effects = self.effects(stmt);
            effects.reads.contains(&var) || effects.writes.contains(&var) || effects.declares.contains(&var)
        };
        let declared = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Declare { var, zero: false } if var == from);
        let Some(birth) = block.stmts[..at].iter().position(declared) else { return false };
        let Some(first) = (birth + 1..at).find(|at| touches(&block.stmts[*at], from)) else { return false };
        let life = Block { stmts: block.stmts[first..at].to_vec() };
        let mut named = 2;
        let mut swapped = false;
        visit::walk_vars(&life, |var, _| named += usize::from(var == from));
        visit::walk_stmts(&life, |stmt| swapped |= matches!(stmt.kind, StmtKind::Swap(a, b) if a == from || b == from));
        let in_extents = visit::declared(&life)
            .iter()
            .flat_map(|var| &self.func.vars[*var].shape)
            .any(|extent| Effects::of_expr(extent).contains(&from));
        let other_uses = named != self.uses[from.index()];
        if other_uses || swapped || in_extents || may_jump(&life) || life.stmts.iter().any(|stmt| touches(stmt, to)) {
            return false;
        }
        let mut life = life;
        visit::rename_vars(&mut life, |var| if var == from { to } else { var });
        let born = block.stmts[birth].span;
        let made_before = !block.stmts[birth..first].iter().any(|stmt| touches(stmt, to));
        let tests = if made_before { Vec::new() } else { size_tests(self.func, from, false, born) };
        block.stmts.splice(first..=at, life.stmts);
        block.stmts.splice(birth..=birth, tests);
        // The target gains the source's uses in between and loses the copy's.
        self.uses[to.index()] += named - 3;
        true
    }

    /// Whether each iteration of a loop writes `from` in full before it reads it, and nothing uses it after the copy at `at` or
    /// outside the loop.
    fn dies_in(&self, node: &Loop, at: usize, from: VarId) -> bool {
        let mut named = 0;
        let up_to = Block { stmts: node.body.stmts[..=at].to_vec() };
        let mut swapped = false;
        visit::walk_vars(&up_to, |var, role| {
            named += usize::from(var == from && role != Role::Declare);
            swapped |= var == from && role == Role::Declare;
        });
        visit::walk_stmts(&up_to, |stmt| {
            swapped |= matches!(stmt.kind, StmtKind::Swap(a, b) if a == from || b == from)
        });
        let fresh = OrdSet::from([from]);
        // One name more is the declaration.
        named + 1 == self.uses[from.index()] && !swapped && !zero::read_early(self.func, &up_to, &fresh).contains(&from)
    }
}
