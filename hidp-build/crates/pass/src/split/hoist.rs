//! Hoists values that are invariant in an inner map out of it.

use hidp_ir::par::doubt::doubt;
use hidp_ir::par::effects::{Effects, expr_may_fault};
use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{Block, Expr, FuncId, Map, Program, Stmt, StmtKind, VarId};
use hidp_prove as prove;
use hidp_syntax::ordered::OrdSet;

/// Moves what can be moved in one function.
///
/// An inner map may be empty, and then its values were never computed. What moves must therefore be unable to fault in its
/// new place too: it is proved again there, and what cannot be stays.
pub(super) fn run(program: &mut Program, func: FuncId) {
    let mut staying = OrdSet::new();
    loop {
        let mut trial = program.clone();
        let mut body = std::mem::take(&mut trial.funcs[func].body);
        let mut hoist = Hoist { program, func, staying: &staying, moved: Vec::new(), inside: false };
        hoist.visit_block(&mut body);
        let moved = hoist.moved;
        if moved.is_empty() {
            return;
        }
        trial.funcs[func].body = body;
        prove::bounds(&mut trial, func);
        let mut failed = Vec::new();
        visit::walk_stmts(&trial.funcs[func].body, |stmt| {
            if let StmtKind::Assign { var, value } = &stmt.kind
                && moved.contains(var)
                && expr_may_fault(&trial, value)
            {
                failed.push(*var);
            }
        });
        if failed.is_empty() {
            *program = trial;
            return;
        }
        staying.extend(failed);
    }
}

struct Hoist<'p> {
    program: &'p Program,
    func: FuncId,
    staying: &'p OrdSet<VarId>,
    moved: Vec<VarId>,
    /// Whether the block at hand belongs to a map.
    inside: bool,
}

impl Mutator for Hoist<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        let outside = std::mem::replace(&mut self.inside, true);
        change::walk_map(self, map);
        self.inside = outside;
    }
    fn visit_block(&mut self, block: &mut Block) {
        change::walk_block(self, block);
        if !self.inside {
            return;
        }
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let StmtKind::Map(map) = &mut stmt.kind {
                let moved = self.take_from(map);
                block.stmts.extend(moved);
            }
            block.stmts.push(stmt);
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

impl Hoist<'_> {
    /// Takes the declarations and assignments out of a map's body that are the same in every iteration.
    fn take_from(&mut self, map: &mut Map) -> Vec<Stmt> {
        let vars = &self.program.funcs[self.func].vars;
        let effects = Effects::of_block(self.program, vars, &map.body);
        let mut changing: OrdSet<VarId> = effects.declares.union(&effects.writes).copied().collect();
        changing.extend(map.iters.iter().map(|iter| iter.var));
        let mut moved = Vec::new();
        let mut moving = OrdSet::new();
        for at in 0..map.body.stmts.len() {
            let StmtKind::Assign { var, value } = &map.body.stmts[at].kind else { continue };
            let stays = self.staying.contains(var)
                || map.folds.iter().any(|fold| fold.value == *var)
                || !is_defined_here(&map.body, at, *var)
                || expr_may_fault(self.program, value)
                || Effects::of_expr(value).iter().any(|read| changing.contains(read));
            if !stays {
                changing.remove(var);
                moving.insert(*var);
            }
        }
        if moving.is_empty() {
            return moved;
        }
        map.body.stmts.retain_mut(|stmt| match &mut stmt.kind {
            StmtKind::Declare { var, .. } if moving.contains(var) => {
                moved.push(stmt.clone());
                false
            }
            StmtKind::Assign { var, value } if moving.contains(var) => {
                doubt(value);
                moved.push(stmt.clone());
                false
            }
            _ => true,
        });
        self.moved.extend(moving);
        moved
    }
}

/// Whether statement `at` of `body` is the only assignment of a variable that `body` declares and that nothing reads before.
fn is_defined_here(body: &Block, at: usize, var: VarId) -> bool {
    let declared =
        body.stmts[..at].iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare { var: other, .. } if other == var));
    let (mut writes, mut early) = (0, false);
    visit::walk_vars(body, |other, role| {
        writes += usize::from(other == var && matches!(role, Role::Write | Role::Update));
    });
    let before = Block { stmts: body.stmts[..at].to_vec() };
    visit::walk_vars(&before, |other, role| early |= other == var && role != Role::Declare);
    declared && writes == 1 && !early
}
