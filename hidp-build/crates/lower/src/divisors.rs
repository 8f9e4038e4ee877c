//! Divisors that keep their value in a loop.
//!
//! A division takes as long as ten other operations, and loops in vector lanes have none of integers. So what all iterations of an innermost
//! loop divide by becomes a divisor in front of the outermost loop in which it keeps its value, which makes products and shifts of their
//! divisions.

use std::mem;

use super::make;
use hidp_ir::imp::visit::{
    child_blocks, child_blocks_mut, each_expr, each_stmt, each_subexpr, introduced, operands_mut, overwritten,
    stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::BinOp;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Scalar;

/// Rewrites the divisions in all loops of a function.
pub(super) fn before_loops(function: &mut Function) {
    in_block(&mut function.body, &mut function.vars);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>) {
    for mut stmt in mem::take(&mut block.stmts) {
        if repeats(&stmt) {
            block.stmts.extend(made_before(&mut stmt, vars));
        }
        if !matches!(&stmt, Stmt::Loop(Loop { kind: LoopKind::Simd { .. } | LoopKind::Across, .. })) {
            child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars));
        }
        block.stmts.push(stmt);
    }
}

/// Whether a statement is a loop.
fn repeats(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Loop(_) | Stmt::Forever { .. } | Stmt::Group(_))
}

/// Whether loops are in a statement.
fn has_loops(stmt: &Stmt) -> bool {
    child_blocks(stmt).into_iter().any(|block| block.stmts.iter().any(|inner| repeats(inner) || has_loops(inner)))
}

fn is_innermost(stmt: &Stmt) -> bool {
    repeats(stmt) && !has_loops(stmt)
}

/// Makes divisors in front of a loop, and lets the loop divide by them.
fn made_before(node: &mut Stmt, vars: &mut Arena<VarId, Var>) -> Vec<Stmt> {
    let seen = Seen::of(node);
    let mut made: Vec<(Expr, VarId)> = Vec::new();
    each_innermost(node, &mut |expr| {
        if let Some((scalar, by)) = seen.divisor(expr, vars)
            && made.iter().all(|(known, _)| known != by)
        {
            let var = vars.push(Var { name: "by".to_owned(), kind: VarKind::Divisor(scalar) });
            made.push((by.clone(), var));
        }
    });
    if !made.is_empty() {
        replace(node, &|expr| {
            let (_, by) = seen.divisor(expr, vars)?;
            made.iter().find(|(known, _)| known == by).map(|(by, var)| make::var(*var, by.ty))
        });
    }
    made.into_iter().map(|(by, var)| Stmt::Let { var, init: Some(by) }).collect()
}

/// What is known of a loop.
struct Seen {
    /// The variables that it introduces or changes.
    changed: OrdSet<VarId>,
    /// Values that say whether another one is not 0.
    tests: OrdMap<VarId, Expr>,
}

impl Seen {
    fn of(node: &Stmt) -> Seen {
        let mut seen = Seen { changed: OrdSet::new(), tests: OrdMap::new() };
        seen.note(node);
        child_blocks(node).into_iter().for_each(|block| each_stmt(block, &mut |stmt| seen.note(stmt)));
        seen
    }

    fn note(&mut self, stmt: &Stmt) {
        self.changed.extend(introduced(stmt));
        self.changed.extend(overwritten(stmt));
        if let Stmt::InTurn(turn) = stmt {
            self.changed.extend(turn.taken.iter().map(|taken| taken.scalar));
        }
        if let Stmt::Let { var, init: Some(Expr { kind: ExprKind::Binary(BinOp::Ne, left, right), .. }) } = stmt
            && make::as_int(right) == Some(0)
        {
            self.tests.insert(*var, (**left).clone());
        }
    }

    /// What a division divides by, if that keeps its value, the dividend does not, and it can be computed where nobody divides.
    fn divisor<'e>(&self, expr: &'e Expr, vars: &Arena<VarId, Var>) -> Option<(Scalar, &'e Expr)> {
        let ExprKind::Binary(BinOp::Div | BinOp::Rem, left, right) = &expr.kind else { return None };
        let scalar = expr
            .ty
            .scalar()
            .filter(|scalar| matches!(scalar, Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64))?;
        let by = self.tested(right);
        let stays = make::as_int(by).is_none() && self.stays(by, vars) && !self.stays(left, vars);
        stays.then_some((scalar, by))
    }

    /// Without the choice of 1 in place of 0: a divisor makes it, too.
    fn tested<'e>(&self, by: &'e Expr) -> &'e Expr {
        match &by.kind {
            ExprKind::Select(test, value, instead) => match test.kind {
                ExprKind::Var(test) if make::as_int(instead) == Some(1) && self.tests.get(&test) == Some(&**value) => {
                    value
                }
                _ => by,
            },
            _ => by,
        }
    }

    fn stays(&self, by: &Expr, vars: &Arena<VarId, Var>) -> bool {
        let mut stays = true;
        each_subexpr(by, &mut |sub| {
            stays &= match &sub.kind {
                ExprKind::Var(var) => !self.changed.contains(var) && matches!(vars[*var].kind, VarKind::Value(_)),
                ExprKind::Binary(op, ..) => !matches!(op, BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr),
                ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Unary(..) => true,
                ExprKind::Lazy(..) | ExprKind::Select(..) | ExprKind::Cast(_) => true,
                ExprKind::Float(_) | ExprKind::Load(_) | ExprKind::MulAdd(..) | ExprKind::Math(..) => false,
                ExprKind::AbsDiffAdd(..) | ExprKind::Gather(..) => false,
                ExprKind::Near(..) | ExprKind::Call(..) | ExprKind::Field(..) | ExprKind::Struct(..) => false,
                ExprKind::WorkerIndex | ExprKind::WorkerCount | ExprKind::GroupCount(_) => false,
                ExprKind::IsAligned(..) | ExprKind::Broadcast(..) | ExprKind::Any(_) => false,
                ExprKind::Least { .. } => false,
                ExprKind::LaneCount(_) | ExprKind::VectorRegisters => false,
            };
        });
        stays
    }
}

/// Visits the expressions of innermost loops.
fn each_innermost(node: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    for block in child_blocks(node) {
        if is_innermost(node) {
            each_expr(block, &mut |expr| visit(expr));
        } else {
            block.stmts.iter().for_each(|stmt| each_innermost(stmt, visit));
        }
    }
}

/// Replaces right sides of divisions in innermost loops.
fn replace(node: &mut Stmt, by: &dyn Fn(&Expr) -> Option<Expr>) {
    let innermost = is_innermost(node);
    for block in child_blocks_mut(node) {
        match innermost {
            true => replace_all(block, by),
            false => block.stmts.iter_mut().for_each(|stmt| replace(stmt, by)),
        }
    }
}

fn replace_all(block: &mut Block, by: &dyn Fn(&Expr) -> Option<Expr>) {
    for stmt in &mut block.stmts {
        stmt_exprs_mut(stmt).into_iter().for_each(|expr| replace_in(expr, by));
        child_blocks_mut(stmt).into_iter().for_each(|child| replace_all(child, by));
    }
}

fn replace_in(expr: &mut Expr, by: &dyn Fn(&Expr) -> Option<Expr>) {
    let divisor = by(expr);
    if let (ExprKind::Binary(_, _, right), Some(divisor)) = (&mut expr.kind, divisor) {
        **right = divisor;
    }
    operands_mut(expr).into_iter().for_each(|operand| replace_in(operand, by));
}
