//! What a nest looks like to a planner: strides, what can be vectorised.

use std::collections::BTreeSet;

use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Fold, FoldFn, FoldKind, Func, Map, Place, Program, Stmt, StmtKind, UnOp,
    VarId,
};

/// How an access moves when an iterator advances by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// Not at all.
    Invariant,
    /// To the next element.
    Unit,
    /// By a fixed distance.
    Strided,
    /// In a way that depends on data.
    Irregular,
}

/// How `place` moves with `var`. What `varying` holds depends on `var` in unknown ways.
pub fn stride_of(place: &Place, var: VarId, varying: &BTreeSet<VarId>) -> Stride {
    let coefficients: Option<Vec<i128>> = place.index.iter().map(|index| coefficient(index, var, varying)).collect();
    let Some(coefficients) = coefficients else { return Stride::Irregular };
    let Some((last, outer)) = coefficients.split_last() else { return Stride::Invariant };
    match (outer.iter().all(|c| *c == 0), *last) {
        (true, 0) => Stride::Invariant,
        (true, 1) => Stride::Unit,
        _ => Stride::Strided,
    }
}

/// The factor of `var` in `expr`, if it is affine in it.
pub fn coefficient(expr: &Expr, var: VarId, varying: &BTreeSet<VarId>) -> Option<i128> {
    match &expr.kind {
        ExprKind::Read(read) if *read == var => Some(1),
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => {
            coefficient(left, var, varying)?.checked_add(coefficient(right, var, varying)?)
        }
        ExprKind::Binary { op: BinOp::Sub, left, right, .. } => {
            coefficient(left, var, varying)?.checked_sub(coefficient(right, var, varying)?)
        }
        ExprKind::Binary { op: BinOp::Mul, left, right, .. } => match (left.as_int(), right.as_int()) {
            (Some(factor), _) => coefficient(right, var, varying)?.checked_mul(factor),
            (_, Some(factor)) => coefficient(left, var, varying)?.checked_mul(factor),
            (None, None) => invariant(expr, var, varying).then_some(0),
        },
        ExprKind::Unary(UnOp::Neg, operand) => coefficient(operand, var, varying)?.checked_neg(),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => invariant(expr, var, varying).then_some(0),
    }
}

/// Whether `expr` has one value for all values of `var`.
pub fn invariant(expr: &Expr, var: VarId, varying: &BTreeSet<VarId>) -> bool {
    let mut found = false;
    visit::walk_expr_vars(expr, |read, _| found |= read == var || varying.contains(&read));
    !found
}

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
fn checks_are_stable(program: &Program, func: &Func, block: &Block) -> bool {
    let effects = Effects::of_block(program, &func.vars, block);
    let array = |var: &&VarId| func.vars[**var].is_array();
    !effects.writes.iter().filter(array).any(|var| effects.reads.contains(var))
}

/// Arrays that a nest without inner maps writes in full rows and never reads: they may bypass the caches.
pub fn streamed_outputs(program: &Program, func: &Func, map: &Map) -> Vec<VarId> {
    let Some(lane) = map.iters.last() else { return Vec::new() };
    let plain = map.folds.is_empty()
        && map.directives.unroll.is_none()
        && lane.step.as_int() == Some(1)
        && straight(program, func, &map.body)
        && !effects::may_fault(program, &func.vars, &map.body);
    if !plain {
        return Vec::new();
    }
    let effects = Effects::of_block(program, &func.vars, &map.body);
    let mut stores: Vec<(VarId, bool)> = Vec::new();
    visit::walk_places(&map.body, |place, role| {
        if role != Role::Read {
            let direct = map.body.stmts.iter().any(|stmt| is_store_of(stmt, place));
            let unit = stride_of(place, lane.var, &effects.declares) == Stride::Unit;
            stores
                .push((place.array, direct && unit && place.path.is_empty() && !effects.reads.contains(&place.array)));
        }
    });
    let once = |var: VarId| stores.iter().filter(|(other, _)| *other == var).count() == 1;
    stores.iter().filter(|(var, good)| *good && once(*var)).map(|(var, _)| *var).collect()
}

fn is_store_of(stmt: &Stmt, place: &Place) -> bool {
    matches!(&stmt.kind, StmtKind::Store { place: stored, .. } if stored == place)
}

/// Whether the work of an iteration depends on data: an inner range or loop whose length the sizes do not fix.
pub fn irregular(map: &Map) -> bool {
    let mut found = false;
    visit::walk_stmts(&map.body, |stmt| match &stmt.kind {
        StmtKind::Loop(_) | StmtKind::Prim(_) => found = true,
        StmtKind::Map(inner) => {
            for iter in &inner.iters {
                for bound in [&iter.lo, &iter.hi] {
                    visit::walk_subexprs(bound, |e| found |= matches!(e.kind, ExprKind::Load(_)));
                    visit::walk_expr_vars(bound, |read, _| found |= map.iters.iter().any(|outer| outer.var == read));
                }
            }
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::If { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => {}
    });
    found
}
