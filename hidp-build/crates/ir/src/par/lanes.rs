//! What can run in vector lanes, as far as a map itself says. What a plan makes of it is its own matter.

use super::effects::{self, Effects};
use super::visit::{self, Role, Visitor, look};
use super::{Access, Block, Expr, ExprKind, Fold, FoldFn, FoldKind, Func, Map, Place, Program, Stmt, StmtKind, VarId};

/// Whether the innermost iterator of `map` can run in vector lanes: no inner maps, loops, shared accesses or jumps, and
/// folds that lanes can share. Faults may remain if no store of the body can change what is checked.
pub fn vectorisable(program: &Program, func: &Func, map: &Map) -> bool {
    map.folds.iter().all(lane_fold)
        && straight(program, func, &map.body)
        && (!effects::may_fault(program, &func.vars, &map.body) || checks_are_stable(program, func, &map.body))
}

/// Whether partial results of lanes combine to the result: a built-in operator, and the order is free.
fn lane_fold(fold: &Fold) -> bool {
    let scalar = fold.op.ty.scalar();
    let free = |ordered: bool| !ordered || scalar.is_some_and(|scalar| !scalar.is_float());
    fold.kind == FoldKind::Reduce
        && scalar.is_some()
        && free(fold.op.ordered)
        && match fold.op.func {
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => true,
            FoldFn::Fn(_) => false,
        }
}

/// Whether a block holds only what runs in lanes: scalars, plain stores and branches, and calls that cannot fault.
pub fn straight(program: &Program, func: &Func, block: &Block) -> bool {
    let mut search = Straight { program, func, good: true };
    search.visit_block(block);
    search.good
}

/// Whether a value is such a one.
pub fn straight_expr(program: &Program, func: &Func, expr: &Expr) -> bool {
    let mut search = Straight { program, func, good: true };
    search.visit_expr(expr);
    search.good
}

struct Straight<'a> {
    program: &'a Program,
    func: &'a Func,
    good: bool,
}

impl Visitor for Straight<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        self.good &= match &stmt.kind {
            StmtKind::Declare { var, .. } => !self.func.vars[*var].is_array(),
            StmtKind::Assign { .. } | StmtKind::AssignField { .. } | StmtKind::Store { .. } | StmtKind::If { .. } => {
                true
            }
            StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => false,
        };
        look::walk_stmt(self, stmt);
    }
    fn visit_place(&mut self, place: &Place, role: Role) {
        self.good &=
            place.access == Access::Exclusive && !(role == Role::Write && place.unproved != 0 && !affine_store(place));
        look::walk_place(self, place, role);
    }
    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(function, _) = &expr.kind {
            self.good &= !effects::scalar_fn_may_fault(self.program, *function);
        }
        look::walk_expr(self, expr);
    }
}

/// Whether the index of a store holds no load, so that a test for it costs little.
fn affine_store(place: &Place) -> bool {
    let mut loads = false;
    place.index.iter().for_each(|index| visit::walk_subexprs(index, |e| loads |= matches!(e.kind, ExprKind::Load(_))));
    !loads
}

/// Whether no store of the block writes an array that the block also reads, so that running it again finds the same faults.
pub fn checks_are_stable(program: &Program, func: &Func, block: &Block) -> bool {
    let effects = Effects::of_block(program, &func.vars, block);
    let array = |var: &VarId| func.vars[*var].is_array();
    !effects.outer_writes().into_iter().filter(array).any(|var| effects.reads.contains(&var))
}
