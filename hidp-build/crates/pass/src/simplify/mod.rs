//! `simplify`: constants are folded exactly, index arithmetic is normalised, branches that are never taken go away.
//!
//! Nothing here changes a value: integers wrap as they do at run time, floats are folded where every machine rounds alike, and
//! a product never moves into a sum (that would let it be contracted). Nothing here removes a fault.

mod copies;
mod expr;
mod fold;

use super::Pass;
use hidp_ir::par::effects::{expr_may_fault, may_jump};
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{Block, Const, Expr, ExprKind, Map, Program, Stmt, StmtKind};

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "simplify",
    about: "folds constants, normalises index arithmetic and drops branches and maps that do nothing",
    run,
};

fn run(program: &mut Program) {
    let before = program.clone();
    for (_, function) in program.scalar_fns.iter_mut() {
        if let Some(body) = &mut function.body {
            simplify_block(&before, body);
        }
    }
    for (_, func) in program.funcs.iter_mut() {
        for (_, var) in func.vars.iter_mut() {
            var.shape.iter_mut().for_each(|extent| expr::simplify(&before, extent));
        }
        // Propagated copies make constants, constants make branches vanish, and what vanishes makes single uses.
        for _ in 0..4 {
            simplify_block(&before, &mut func.body);
            if !copies::propagate(func) {
                break;
            }
        }
        simplify_block(&before, &mut func.body);
    }
}

pub(super) fn simplify_block(program: &Program, block: &mut Block) {
    Simplify { program }.visit_block(block);
}

struct Simplify<'p> {
    program: &'p Program,
}

impl Mutator for Simplify<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        expr::simplify(self.program, expr);
    }

    fn visit_block(&mut self, block: &mut Block) {
        change::walk_block(self, block);
        let mut kept = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.keep(stmt, &mut kept);
            if kept.last().is_some_and(|last| never_ends(&last.kind)) {
                break;
            }
        }
        block.stmts = kept;
    }
}

impl Simplify<'_> {
    /// Appends what is left of `stmt`, whose parts are simplified already.
    fn keep(&self, stmt: Stmt, kept: &mut Vec<Stmt>) {
        let Stmt { kind, span } = stmt;
        match kind {
            StmtKind::If { cond, then, otherwise } => match truth(&cond) {
                Some(true) => kept.extend(then.stmts),
                Some(false) => kept.extend(otherwise.stmts),
                None if then.stmts.is_empty() && otherwise.stmts.is_empty() && !expr_may_fault(self.program, &cond) => {
                }
                None => kept.push(Stmt { kind: StmtKind::If { cond, then, otherwise }, span }),
            },
            StmtKind::Loop(node) if truth(&node.cond) == Some(false) => {}
            StmtKind::Map(map) if self.does_nothing(&map) => {}
            StmtKind::Scope(block) if !leaves(&block) => kept.extend(block.stmts),
            StmtKind::Require { cond, .. } if truth(&cond) == Some(true) => {}
            // `_t = t` for a fold, as `_t` is `t`.
            StmtKind::Assign { var, value } if matches!(value.kind, ExprKind::Read(read) if read == var) => {}
            kind => kept.push(Stmt { kind, span }),
        }
    }

    /// Whether a map has no effect: no body or an empty range, no results, and bounds that cannot fault.
    fn does_nothing(&self, map: &Map) -> bool {
        let bounds_are_free = map.iters.iter().all(|iter| {
            iter.step.as_int().is_some_and(|step| step > 0)
                && ![&iter.lo, &iter.hi].into_iter().any(|bound| expr_may_fault(self.program, bound))
        });
        let is_empty = map.iters.iter().any(|iter| match (iter.lo.as_int(), iter.hi.as_int()) {
            (Some(low), Some(high)) => high <= low,
            (Some(_) | None, _) => false,
        });
        map.folds.is_empty() && bounds_are_free && (is_empty || map.body.stmts.is_empty())
    }
}

/// Whether what follows a statement is never reached.
fn never_ends(kind: &StmtKind) -> bool {
    matches!(kind, StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Return(_))
}

/// Whether a block holds a `Leave` that could be meant for a scope around it.
fn leaves(block: &Block) -> bool {
    let mut found = may_jump(block);
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Leave));
    found
}

fn truth(expr: &Expr) -> Option<bool> {
    match fold::constant(expr)? {
        Const::Bool(value) => Some(value),
        Const::Int(_) | Const::Float(_) => None,
    }
}
