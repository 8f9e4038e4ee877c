//! Short loops that compute in each turn of a loop around what they did in the turn before: written out, so that nvcc computes it in front of the loop
//! around. It does so with what keeps its value, which the same expression does not have from turn to turn of a loop.

use super::beside::{reads_any, trips, varying};
use hidp_ir::imp::visit::{child_blocks, child_blocks_mut, each_expr, each_stmt, operands, stmt_exprs};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId};
use hidp_ir::par::BinOp;
use hidp_plan::target::WrittenOut;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;

/// Writes such loops of a kernel out.
pub(super) fn out(function: &mut Function, most: WrittenOut) {
    in_block(&mut function.body, &function.vars, most);
}

fn in_block(block: &mut Block, vars: &Arena<VarId, Var>, most: WrittenOut) {
    for stmt in &mut block.stmts {
        if let Stmt::Loop(around) = stmt {
            let anew = varying(around.var, &[&around.body.stmts], vars);
            inside(&mut around.body, &anew, vars, most);
        }
        child_blocks_mut(stmt).into_iter().for_each(|child| in_block(child, vars, most));
    }
}

/// Loops directly inside of one in whose turns these variables differ. Loops further in compute nothing again that differs in those between.
fn inside(block: &mut Block, anew: &OrdSet<VarId>, vars: &Arena<VarId, Var>, most: WrittenOut) {
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::Loop(node) if repeats(node, anew, vars, most) => write_out(node),
            Stmt::Loop(_) => {}
            _ => child_blocks_mut(stmt).into_iter().for_each(|child| inside(child, anew, vars, most)),
        }
    }
}

/// Whether a loop is short and computes again what takes long, few enough values for registers.
fn repeats(node: &Loop, anew: &OrdSet<VarId>, vars: &Arena<VarId, Var>, most: WrittenOut) -> bool {
    let Some(turns) = turns(node).filter(|turns| (2..=most.turns).contains(turns)) else { return false };
    let (mut own, mut expressions) = (varying(node.var, &[&node.body.stmts], vars), 0);
    each_stmt(&node.body, &mut |stmt| {
        if let Stmt::Loop(inner) = stmt {
            own.extend(varying(inner.var, &[&inner.body.stmts], vars));
        }
    });
    each_expr(&node.body, &mut |_| expressions += 1);
    let mut values = 0;
    each_stmt(&node.body, &mut |stmt| {
        stmt_exprs(stmt).into_iter().for_each(|expr| values += again(expr, anew, &own));
    });
    (1..=most.values).contains(&(values * turns)) && expressions * turns <= most.expressions
}

/// Values of an expression that differ from turn to turn of a loop, but not of that around.
fn again(expr: &Expr, anew: &OrdSet<VarId>, own: &OrdSet<VarId>) -> u32 {
    if takes_long(expr) && reads_any(expr, own) && !reads_any(expr, anew) {
        return 1;
    }
    operands(expr).into_iter().map(|operand| again(operand, anew, own)).sum()
}

/// Whether an expression takes as long as many others, without what is in it.
fn takes_long(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(op, _, by) => matches!(op, BinOp::Div | BinOp::Rem) && !matches!(by.kind, ExprKind::Int(_)),
        ExprKind::Math(..) | ExprKind::Call(..) => true,
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Var(_) | ExprKind::Load(_) => false,
        ExprKind::Unary(..) | ExprKind::MulAdd(..) | ExprKind::Lazy(..) | ExprKind::Select(..) => false,
        ExprKind::Cast(_) | ExprKind::Near(..) | ExprKind::Field(..) | ExprKind::Struct(..) => false,
        ExprKind::WorkerIndex | ExprKind::WorkerCount | ExprKind::GroupCount(_) | ExprKind::LaneCount(_) => false,
        ExprKind::IsAligned(..) | ExprKind::Broadcast(..) | ExprKind::Any(_) | ExprKind::Least { .. } => false,
        ExprKind::AbsDiffAdd(..) | ExprKind::Gather(..) | ExprKind::VectorRegisters => false,
    }
}

/// How often the innermost of a loop and those inside runs, where all of them run in order and say how often.
fn turns(node: &Loop) -> Option<u32> {
    let own = trips(node).filter(|_| node.kind == LoopKind::Seq)?;
    own.checked_mul(turns_in(&node.body)?)
}

fn turns_in(block: &Block) -> Option<u32> {
    block.stmts.iter().try_fold(1, |most, stmt| {
        let found = match stmt {
            Stmt::Loop(inner) => turns(inner)?,
            Stmt::Forever { .. } => return None,
            _ => child_blocks(stmt).into_iter().try_fold(1, |most, child| Some(turns_in(child)?.max(most)))?,
        };
        Some(found.max(most))
    })
}

fn write_out(node: &mut Loop) {
    if let Some(turns) = trips(node) {
        node.kind = LoopKind::Unroll(turns);
    }
    inner_loops(&mut node.body);
}

fn inner_loops(block: &mut Block) {
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::Loop(inner) => write_out(inner),
            _ => child_blocks_mut(stmt).into_iter().for_each(inner_loops),
        }
    }
}
