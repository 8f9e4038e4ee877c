//! Branches that a loop in vector lanes takes in all iterations or in none.
//!
//! Both sides of a branch run in lanes by masked loads and stores; where a C++ compiler has none for these accesses, it makes no lanes at all,
//! though one side by itself has them. So a loop that is one such branch becomes a branch between two loops. A choice between what is loaded and
//! another value is usually decided for what is loaded, as in all rows of a stencil but the first and the last: a copy of the loop loads always.

use super::borders::loads;
use super::decided::decide;
use super::{copy, make};
use hidp_ir::imp::visit::{
    child_blocks_mut, each_expr, each_stmt, each_subexpr, introduced, operands_mut, overwritten, stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId};
use hidp_ir::par::BinOp;
use hidp_plan::target::LoopRules;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

/// Rewrites all such loops of a function.
pub(super) fn apart(function: &mut Function) {
    in_block(&mut function.body, &mut function.vars);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>) {
    for stmt in &mut block.stmts {
        if let Stmt::Loop(node) = stmt
            && let Some(branch) = between_loops(node, vars)
        {
            *stmt = branch;
        }
        child_blocks_mut(stmt).into_iter().for_each(|child| in_block(child, vars));
    }
}

/// The branch that a loop becomes.
fn between_loops(node: &Loop, vars: &mut Arena<VarId, Var>) -> Option<Stmt> {
    let mut done = node.body.stmts.iter().filter(|stmt| !matches!(stmt, Stmt::At(_)));
    let (Some(Stmt::If { cond, then, otherwise }), None) = (done.next(), done.next()) else { return None };
    let in_lanes = matches!(&node.kind, LoopKind::Simd { reductions } if reductions.is_empty());
    if !in_lanes || !stays(cond, node) {
        return None;
    }
    let of = |body: &Block| Loop { body: body.clone(), ..node.clone() };
    let mut other = of(otherwise);
    other.var = vars.push(vars[node.var].clone());
    rename(&mut other.body, node.var, other.var);
    let loops = |all: Loop| if all.body.stmts.is_empty() { all.body } else { Block { stmts: vec![Stmt::Loop(all)] } };
    Some(Stmt::If { cond: cond.clone(), then: loops(of(then)), otherwise: loops(other) })
}

/// A branch between a loop and a copy of it without the choices that are the same in all iterations, if there are some.
pub(super) fn choices(node: &Loop, vars: &mut Arena<VarId, Var>, rules: LoopRules) -> Option<Stmt> {
    let in_lanes = matches!(&node.kind, LoopKind::Simd { reductions } if reductions.is_empty());
    let usual = if in_lanes { chosen(node) } else { Vec::new() };
    if usual.len() > rules.choices as usize {
        return None;
    }
    let each = usual.iter().map(|(cond, value)| if *value { cond.clone() } else { make::not(cond.clone()) });
    let cond = each.reduce(|left, right| make::binary(BinOp::And, left, right))?;
    let mut copied = copy::of(node.clone(), vars);
    decide(&mut copied.body, &|expr| usual.iter().find(|(cond, _)| cond == expr).map(|(_, value)| *value));
    let block = |node| Block { stmts: vec![Stmt::Loop(node)] };
    Some(Stmt::If { cond, then: block(copied), otherwise: block(node.clone()) })
}

/// Conditions that choose to load or not to, each with its value where it is loaded.
fn chosen(node: &Loop) -> Vec<(Expr, bool)> {
    let mut found: Vec<(Expr, bool)> = Vec::new();
    each_expr(&node.body, &mut |expr| {
        each_subexpr(expr, &mut |sub| {
            if let ExprKind::Select(cond, then, otherwise) = &sub.kind
                && loads(then) != loads(otherwise)
                && stays(cond, node)
                && found.iter().all(|(known, _)| *known != **cond)
            {
                found.push(((**cond).clone(), loads(then)));
            }
        });
    });
    found
}

/// Whether an expression has one value in all iterations, which can be computed where there are none.
pub(super) fn stays(expr: &Expr, node: &Loop) -> bool {
    keeps(expr, &changed(node))
}

/// What differs from iteration to iteration.
pub(super) fn changed(node: &Loop) -> OrdSet<VarId> {
    let mut changed = OrdSet::from([node.var]);
    each_stmt(&node.body, &mut |stmt| {
        changed.extend(introduced(stmt));
        changed.extend(overwritten(stmt));
    });
    changed
}

/// Whether an expression keeps its value where these variables change, and can be computed where nothing is known of it.
pub(super) fn keeps(expr: &Expr, changed: &OrdSet<VarId>) -> bool {
    let mut keeps = true;
    each_subexpr(expr, &mut |sub| {
        keeps &= match &sub.kind {
            ExprKind::Var(var) => !changed.contains(var),
            ExprKind::Binary(BinOp::Div | BinOp::Rem, ..) => sub.ty.scalar().is_some_and(Scalar::is_float),
            ExprKind::Binary(BinOp::Shl | BinOp::Shr, _, count) => make::as_int(count).is_some(),
            ExprKind::Binary(..)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy(..)
            | ExprKind::Select(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Math(..)
            | ExprKind::Cast(_) => true,
            ExprKind::Load(_)
            | ExprKind::Gather(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Broadcast(..)
            | ExprKind::Any(_)
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => false,
        };
    });
    keeps
}

fn rename(block: &mut Block, old: VarId, new: VarId) {
    for stmt in &mut block.stmts {
        stmt_exprs_mut(stmt).into_iter().for_each(|expr| rename_in(expr, old, new));
        child_blocks_mut(stmt).into_iter().for_each(|child| rename(child, old, new));
    }
}

fn rename_in(expr: &mut Expr, old: VarId, new: VarId) {
    if let ExprKind::Var(var) = &mut expr.kind
        && *var == old
    {
        *var = new;
    }
    operands_mut(expr).into_iter().for_each(|operand| rename_in(operand, old, new));
}
