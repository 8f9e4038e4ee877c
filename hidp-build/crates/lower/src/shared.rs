//! What all iterations of a loop in vector lanes choose alike.
//!
//! C++ compilers move arithmetic that keeps its value out of loops, but choices become masks, and GCC makes no lanes of a loop that needs a
//! mask of a value from outside. So what compares, clamps or chooses is computed before the loop, and so are the values that it follows from
//! and those that follow from it: the rows of an image that hold the neighbours of its pixels, with the tests of their indices.

use std::mem;

use super::make;
use super::unswitch::{changed, keeps};
use hidp_ir::imp::visit::{
    child_blocks, child_blocks_mut, each_expr, each_stmt, each_subexpr, operands_mut, overwritten, stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, FoldFn, MathFn};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Scalar;

/// Rewrites all such loops of a function.
pub(super) fn before_loops(function: &mut Function) {
    in_block(&mut function.body, &mut function.vars);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>) {
    for mut stmt in mem::take(&mut block.stmts) {
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars));
        if let Stmt::Loop(node) = &mut stmt
            && let LoopKind::Simd { reductions } = &node.kind
            && chooses_alike(node)
        {
            let flags = reductions.iter().filter(|(_, op)| *op == FoldFn::Or).map(|(flag, _)| *flag).collect();
            let runs = make::binary(BinOp::Lt, node.lo.clone(), node.hi.clone());
            let mut shared = Shared { vars, changed: changed(node), flags, runs, before: Vec::new() };
            shared.take_from(&mut node.body);
            block.stmts.append(&mut shared.before);
        }
        block.stmts.push(stmt);
    }
}

/// Whether a loop makes a choice that is the same in all iterations.
fn chooses_alike(node: &Loop) -> bool {
    let mut changed = changed(node);
    let once = assigned(&node.body);
    for stmt in &node.body.stmts {
        if let Stmt::Let { var, init: Some(value) } | Stmt::Set { var, value, .. } = stmt
            && once.get(var).is_none_or(|once| *once && matches!(stmt, Stmt::Set { .. }))
            && keeps(value, &changed)
        {
            changed.remove(var);
        }
    }
    let mut found = false;
    each_expr(&node.body, &mut |expr| found |= chooses(expr) && keeps(expr, &changed));
    found
}

/// Whether an operator itself becomes a comparison, a choice or several of them.
fn chooses(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Select(..) | ExprKind::Lazy(..) => true,
        ExprKind::Binary(op, ..) => op.is_comparison(),
        ExprKind::Math(function, _) => matches!(function, MathFn::Min | MathFn::Max),
        ExprKind::Cast(operand) => {
            operand.ty.scalar().is_some_and(Scalar::is_float) && !expr.ty.scalar().is_some_and(Scalar::is_float)
        }
        _ => false,
    }
}

/// The values that are assigned, each with whether that is once, in every iteration.
fn assigned(body: &Block) -> OrdMap<VarId, bool> {
    let mut found = OrdMap::new();
    for stmt in &body.stmts {
        let always = matches!(stmt, Stmt::Set { path, .. } if path.is_empty());
        overwritten(stmt)
            .into_iter()
            .for_each(|var| _ = found.entry(var).and_modify(|once| *once = false).or_insert(always));
        for child in child_blocks(stmt) {
            each_stmt(child, &mut |inner| overwritten(inner).into_iter().for_each(|var| _ = found.insert(var, false)));
        }
    }
    found
}

struct Shared<'a> {
    vars: &'a mut Arena<VarId, Var>,
    /// What differs from iteration to iteration.
    changed: OrdSet<VarId>,
    /// Values that iterations raise.
    flags: OrdSet<VarId>,
    /// Whether there is an iteration.
    runs: Expr,
    /// What is computed before the loop.
    before: Vec<Stmt>,
}

impl Shared<'_> {
    fn take_from(&mut self, body: &mut Block) {
        let assigned = assigned(body);
        // Where the statements stand that introduce values which nothing has read since.
        let mut unread = OrdMap::new();
        let mut left: Vec<Option<Stmt>> = Vec::new();
        for mut stmt in mem::take(&mut body.stmts) {
            match &stmt {
                Stmt::Let { var, init: Some(value) } if !assigned.contains_key(var) && keeps(value, &self.changed) => {
                    self.keep(*var, value.clone());
                    continue;
                }
                Stmt::Set { var, value, .. } if assigned.get(var) == Some(&true) && keeps(value, &self.changed) => {
                    if let Some(at) = unread.remove(var) {
                        left[at] = None;
                        self.keep(*var, value.clone());
                        continue;
                    }
                }
                Stmt::Set { var, value, .. } if self.flags.contains(var) => {
                    if let Some(raised) = self.raised(*var, value) {
                        self.before.push(make::set(*var, raised));
                        continue;
                    }
                }
                _ => {}
            }
            self.choices_of(&mut stmt);
            let block = Block { stmts: vec![stmt] };
            each_expr(&block, &mut |expr| {
                if let ExprKind::Var(var) = expr.kind {
                    unread.remove(&var);
                }
            });
            left.extend(block.stmts.into_iter().map(Some));
            if let Some(Some(Stmt::Let { var, .. })) = left.last() {
                unread.insert(*var, left.len() - 1);
            }
        }
        body.stmts = left.into_iter().flatten().collect();
    }

    fn keep(&mut self, var: VarId, value: Expr) {
        self.changed.remove(&var);
        self.before.push(Stmt::Let { var, init: Some(value) });
    }

    /// The value of a flag that all iterations raise alike, where there are some: `flag | value`.
    fn raised(&self, flag: VarId, value: &Expr) -> Option<Expr> {
        let ExprKind::Binary(BinOp::Or, own, value) = &value.kind else { return None };
        if !matches!(own.kind, ExprKind::Var(var) if var == flag) || !keeps(value, &self.changed) {
            return None;
        }
        let none = Expr { kind: ExprKind::Int(0), ty: value.ty };
        let raised = make::select(self.runs.clone(), (**value).clone(), none);
        Some(make::binary(BinOp::Or, (**own).clone(), raised))
    }

    /// Names the values of choices before the loop.
    fn choices_of(&mut self, stmt: &mut Stmt) {
        stmt_exprs_mut(stmt).into_iter().for_each(|expr| self.choices_in(expr));
        for child in child_blocks_mut(stmt) {
            child.stmts.iter_mut().for_each(|stmt| self.choices_of(stmt));
        }
    }

    fn choices_in(&mut self, expr: &mut Expr) {
        if !keeps(expr, &self.changed) {
            operands_mut(expr).into_iter().for_each(|operand| self.choices_in(operand));
            return;
        }
        let mut found = false;
        each_subexpr(expr, &mut |sub| found |= chooses(sub));
        if found {
            let var = self.vars.push(Var { name: "same".to_owned(), kind: VarKind::Value(expr.ty) });
            let value = mem::replace(expr, make::var(var, expr.ty));
            self.before.push(Stmt::Let { var, init: Some(value) });
        }
    }
}
