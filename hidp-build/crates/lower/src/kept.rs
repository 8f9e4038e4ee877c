//! Elements that a loop in vector lanes reads in all iterations, of arrays that it writes.
//!
//! No iteration writes what another one reads, so such an element keeps its value. C++ compilers do not conclude that from `omp simd` when they
//! move loads out of loops: `A[i][j] -= A[i][k] * A[k][j]` would load `A[i][k]` for every vector of `j`. So it is read before the loop.

use super::expr::zero_of;
use super::{make, unswitch};
use hidp_ir::imp::visit::{
    accessed, child_blocks, child_blocks_mut, each_expr, each_stmt, operands, operands_mut, stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Element, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::BinOp;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// Rewrites all such loops of a function.
pub(super) fn before_loops(function: &mut Function) {
    in_block(&mut function.body, &mut function.vars);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars));
        if let Stmt::Loop(node) = &mut stmt
            && matches!(node.kind, LoopKind::Simd { .. })
        {
            block.stmts.extend(read_before(node, vars));
        }
        block.stmts.push(stmt);
    }
}

/// Reads elements that stay, in front of the loop, and lets the body name their values.
fn read_before(node: &mut Loop, vars: &mut Arena<VarId, Var>) -> Vec<Stmt> {
    let mut read = Vec::new();
    for base in written_plainly(&node.body) {
        for (element, ty) in staying(node, base).into_iter().filter(|(_, ty)| ty.scalar().is_some()) {
            let name = format!("{}_kept", vars[base].name);
            let var = vars.push(Var { name, kind: VarKind::Value(ty) });
            replace(&mut node.body, &element, var);
            // Where there are no iterations, there may be no such element.
            let runs = make::binary(BinOp::Lt, node.lo.clone(), node.hi.clone());
            let load = Expr { kind: ExprKind::Load(element), ty };
            read.push(Stmt::Let { var, init: Some(make::select(runs, load, zero_of(ty))) });
        }
    }
    read
}

/// What is written, and accessed by nothing but plain loads and stores.
fn written_plainly(body: &Block) -> OrdSet<VarId> {
    let (mut written, mut others) = (OrdSet::new(), OrdSet::new());
    each_stmt(body, &mut |stmt| match stmt {
        Stmt::Store { target, .. } => {
            written.insert(target.base);
            others.extend(target.relaxed.then_some(target.base));
        }
        Stmt::At(_) | Stmt::Let { .. } | Stmt::Set { .. } | Stmt::If { .. } => {}
        other => others.extend(accessed(other)),
    });
    each_expr(body, &mut |expr| match &expr.kind {
        ExprKind::Load(element) if element.relaxed => others.extend([element.base]),
        _ => {}
    });
    &written - &others
}

/// Elements of `base` that every iteration reads before it writes any, at places that are the same for all.
fn staying(node: &Loop, base: VarId) -> Vec<(Element, Ty)> {
    let mut found: Vec<(Element, Ty)> = Vec::new();
    for stmt in &node.body.stmts {
        let always: Vec<&Expr> = match stmt {
            Stmt::Let { init, .. } => init.iter().collect(),
            Stmt::Set { value, .. } => vec![value],
            Stmt::Store { target, value } => vec![&target.index, value],
            Stmt::If { cond, .. } => vec![cond],
            _ => Vec::new(),
        };
        always.into_iter().for_each(|expr| look(expr, node, base, &mut found));
        if writes(stmt, base) {
            break;
        }
    }
    found
}

/// Collects such loads of what an expression always computes.
fn look(expr: &Expr, node: &Loop, base: VarId, found: &mut Vec<(Element, Ty)>) {
    match &expr.kind {
        ExprKind::Load(element) if element.base == base && unswitch::stays(&element.index, node) => {
            if found.iter().all(|(known, _)| known != element) {
                found.push((element.clone(), expr.ty));
            }
        }
        ExprKind::Lazy(_, left, _) => look(left, node, base, found),
        ExprKind::Select(cond, ..) => look(cond, node, base, found),
        _ => operands(expr).into_iter().for_each(|operand| look(operand, node, base, found)),
    }
}

fn writes(stmt: &Stmt, base: VarId) -> bool {
    matches!(stmt, Stmt::Store { target, .. } if target.base == base)
        || child_blocks(stmt).into_iter().any(|block| block.stmts.iter().any(|stmt| writes(stmt, base)))
}

/// Names the value in place of the element, up to the statement that writes the array.
fn replace(body: &mut Block, element: &Element, var: VarId) {
    for stmt in &mut body.stmts {
        stmt_exprs_mut(stmt).into_iter().for_each(|expr| replace_in(expr, element, var));
        if writes(stmt, element.base) {
            return;
        }
        child_blocks_mut(stmt).into_iter().for_each(|child| replace(child, element, var));
    }
}

fn replace_in(expr: &mut Expr, element: &Element, var: VarId) {
    match &expr.kind {
        ExprKind::Load(own) if own == element => *expr = make::var(var, expr.ty),
        _ => operands_mut(expr).into_iter().for_each(|operand| replace_in(operand, element, var)),
    }
}
