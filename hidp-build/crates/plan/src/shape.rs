//! What a nest looks like to a planner: strides, outputs that are written in full rows, work that depends on data.

use hidp_ir::par::effects::{self, Effects};
pub use hidp_ir::par::lanes::{straight, vectorisable};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Expr, ExprKind, Func, Map, Place, Program, Stmt, StmtKind, UnOp, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

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
pub fn stride_of(place: &Place, var: VarId, varying: &OrdSet<VarId>) -> Stride {
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
pub fn coefficient(expr: &Expr, var: VarId, varying: &OrdSet<VarId>) -> Option<i128> {
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
pub fn invariant(expr: &Expr, var: VarId, varying: &OrdSet<VarId>) -> bool {
    let mut found = false;
    visit::walk_expr_vars(expr, |read, _| found |= read == var || varying.contains(&read));
    !found
}

/// Whether a load of a map's body follows indices that data give. Folds of integers are none the worse for borders: loops are cut there.
pub fn gathers(map: &Map) -> bool {
    let Some(iter) = map.iters.last() else { return false };
    let declared = visit::declared(&map.body).into_iter().collect();
    let cut = map.folds.iter().all(|fold| fold.op.ty.scalar().is_some_and(Scalar::is_integer));
    let mut found = false;
    visit::walk_places(&map.body, |place, _| {
        found |= stride_of(place, iter.var, &declared) == Stride::Irregular
            && !(cut && place.index.iter().all(|index| is_bordered(index, iter.var, &declared)));
    });
    found
}

/// Whether an index is linear in `var`, or one of several such, which `var` chooses: most iterations choose the same.
fn is_bordered(index: &Expr, var: VarId, varying: &OrdSet<VarId>) -> bool {
    let is_linear = |expr: &Expr| coefficient(expr, var, varying).is_some();
    match &index.kind {
        ExprKind::Select { cond, then, otherwise } => {
            let compares = matches!(&cond.kind, ExprKind::Binary { op, left, right, .. }
                if op.is_comparison() && is_linear(left) && is_linear(right));
            compares && is_bordered(then, var, varying) && is_bordered(otherwise, var, varying)
        }
        _ => is_linear(index),
    }
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
