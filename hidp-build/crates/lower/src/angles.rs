//! Angles in vector lanes: `sin`, `cos` and `tan` of small angles, which most are, take a fraction of the work of large ones.
//!
//! A vector loop cannot skip work that only some of its lanes need. So a loop with such functions computes a block of iterations as if all of
//! their angles were small, tests whether one was not, and if so recomputes the block in full. The result of an iteration does not depend on
//! its neighbours.
//!
//! This requires iterations that may be computed twice, the first time with an arbitrary result: they read nothing that they write, and the
//! addresses that they read and write do not depend on angles.

use std::mem;

use super::make;
use hidp_ir::imp::visit::{
    accessed, child_blocks, child_blocks_mut, each_subexpr, introduced, operands, operands_mut, overwritten, stmt_exprs,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, NearFn, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, FoldFn};
use hidp_plan::target::LoopRules;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::{Scalar, Ty};

/// Rewrites all such loops of a function.
pub(super) fn small_first(function: &mut Function, rules: LoopRules) {
    in_block(&mut function.body, &mut function.vars, rules);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>, rules: LoopRules) {
    for mut stmt in mem::take(&mut block.stmts) {
        if let Stmt::Loop(node) = &stmt
            && gains(node)
            && may_be_computed_twice(&node.body)
        {
            twice(node, vars, block, rules.angles);
            continue;
        }
        child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars, rules));
        block.stmts.push(stmt);
    }
}

/// Whether it is a loop in lanes in which an angle can be looked at.
fn gains(node: &Loop) -> bool {
    let found = |stmt| stmt_exprs(stmt).into_iter().any(|expr| has_angle(expr, true));
    matches!(&node.kind, LoopKind::Simd { reductions } if reductions.is_empty()) && node.body.stmts.iter().any(found)
}

fn has_angle(expr: &Expr, always: bool) -> bool {
    let here = matches!(&expr.kind, ExprKind::Math(function, args)
        if NearFn::of(*function).is_some() && args.iter().all(|arg| always || is_harmless(arg)));
    here || operands(expr)
        .into_iter()
        .enumerate()
        .any(|(at, operand)| has_angle(operand, always && is_always(expr, at)))
}

/// Whether an operand is evaluated whenever the expression is.
fn is_always(expr: &Expr, operand: usize) -> bool {
    !matches!(expr.kind, ExprKind::Lazy(..) | ExprKind::Select(..)) || operand == 0
}

/// Whether an expression may be evaluated where the program does not.
fn is_harmless(expr: &Expr) -> bool {
    let mut harmless = true;
    each_subexpr(expr, &mut |sub| {
        harmless &= !matches!(sub.kind, ExprKind::Load(_) | ExprKind::Call(..)) && demanding_operand(sub).is_none();
    });
    harmless
}

/// The divisor or count for which an operator of integers is not always defined.
fn demanding_operand(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Binary(BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr, _, right) = &expr.kind else { return None };
    (!is_float(right)).then_some(&**right)
}

fn is_float(expr: &Expr) -> bool {
    expr.ty.scalar().is_some_and(Scalar::is_float)
}

/// Loops in lanes hold nothing but values, plain stores, branches and loops (the verifier's rule); without reductions they set no
/// variable that outlives an iteration.
fn may_be_computed_twice(body: &Block) -> bool {
    let written = body.stmts.iter().flat_map(accessed).collect();
    let mut uncertain = OrdSet::new();
    body.stmts.iter().all(|stmt| {
        let read = stmt_exprs(stmt);
        if read.iter().any(|expr| is_uncertain(expr, &uncertain)) {
            uncertain.extend(introduced(stmt).into_iter().chain(overwritten(stmt)));
        }
        let place = if let Stmt::Store { target, .. } = stmt { Some(&*target.index) } else { None };
        child_blocks(stmt).is_empty()
            && read.into_iter().all(|expr| is_read_safely(expr, &written, &uncertain))
            && place.is_none_or(|index| !is_uncertain(index, &uncertain))
    })
}

/// Whether an expression depends on what may be anything at first.
fn is_uncertain(expr: &Expr, uncertain: &OrdSet<VarId>) -> bool {
    let mut found = false;
    each_subexpr(expr, &mut |sub| {
        found |= matches!(&sub.kind, ExprKind::Math(function, _) if NearFn::of(*function).is_some())
            || matches!(&sub.kind, ExprKind::Var(var) if uncertain.contains(var));
    });
    found
}

fn is_read_safely(expr: &Expr, written: &OrdSet<VarId>, uncertain: &OrdSet<VarId>) -> bool {
    let mut safe = true;
    let certain = |operand: &Expr| !is_uncertain(operand, uncertain);
    each_subexpr(expr, &mut |sub| {
        safe &= demanding_operand(sub).is_none_or(certain);
        if let ExprKind::Load(element) = &sub.kind {
            safe &= !written.contains(&element.base) && certain(&element.index);
        }
        // Loops of a function might not end.
        if let ExprKind::Call(_, args) = &sub.kind {
            safe &= args.iter().all(certain);
        }
        // Nor is anything done that an angle rules out: `unchecked` promises only what the program evaluates.
        if let ExprKind::Lazy(_, cond, _) | ExprKind::Select(cond, ..) = &sub.kind {
            safe &= certain(cond) || operands(sub).into_iter().skip(1).all(is_harmless);
        }
    });
    safe
}

/// The loop in turns of so many iterations, or at once if it is short.
fn twice(node: &Loop, vars: &mut Arena<VarId, Var>, block: &mut Block, turn: u32) {
    let length = make::as_int(&make::sub(node.hi.clone(), node.lo.clone()));
    if length.is_some_and(|length| length <= turn.into()) {
        return one_turn(node.clone(), vars, block);
    }
    let long = |name: &str, vars: &mut Arena<VarId, Var>| vars.push(value(name, Ty::LONG));
    let (stop, first, past) = (long("stop", vars), long("first", vars), long("past", vars));
    let variable = |var| make::var(var, Ty::LONG);
    let step = make::mul(node.step.clone(), make::long(turn.into()));
    let end = make::min(make::add(variable(first), step.clone()), variable(stop));
    let mut body = Block { stmts: vec![Stmt::Let { var: past, init: Some(end) }] };
    one_turn(Loop { lo: variable(first), hi: variable(past), ..node.clone() }, vars, &mut body);
    let (lo, hi) = (node.lo.clone(), variable(stop));
    block.stmts.push(Stmt::Let { var: stop, init: Some(node.hi.clone()) });
    block.stmts.push(Stmt::Loop(Loop { var: first, lo, hi, step, kind: LoopKind::Seq, body }));
}

fn one_turn(full: Loop, vars: &mut Arena<VarId, Var>, block: &mut Block) {
    let far = vars.push(value("far", Ty::LONG));
    block.stmts.push(Stmt::Let { var: far, init: Some(make::long(0)) });
    block.stmts.push(Stmt::Loop(Near { vars, far, renamed: OrdMap::new(), before: Vec::new() }.copy(&full)));
    let was_far = make::binary(BinOp::Ne, make::var(far, Ty::LONG), make::long(0));
    block.stmts.push(make::when(was_far, vec![Stmt::Loop(full)]));
}

fn value(name: &str, ty: Ty) -> Var {
    Var { name: name.to_owned(), kind: VarKind::Value(ty) }
}

/// A copy of a loop in which angles are taken to be near 0.
struct Near<'a> {
    vars: &'a mut Arena<VarId, Var>,
    /// Not 0 where one was not.
    far: VarId,
    renamed: OrdMap<VarId, VarId>,
    /// What is to be computed before the statement.
    before: Vec<Stmt>,
}

impl Near<'_> {
    fn copy(mut self, node: &Loop) -> Loop {
        let mut copy = node.clone();
        copy.kind = LoopKind::Simd { reductions: vec![(self.far, FoldFn::Or)] };
        copy.var = self.rename(node.var);
        copy.body.stmts.clear();
        for stmt in &node.body.stmts {
            let stmt = self.stmt(stmt.clone());
            copy.body.stmts.append(&mut self.before);
            copy.body.stmts.push(stmt);
        }
        copy
    }

    fn rename(&mut self, var: VarId) -> VarId {
        let copy = self.vars.push(self.vars[var].clone());
        self.renamed.insert(var, copy);
        copy
    }

    /// Of those that [`may_be_computed_twice`] lets through.
    fn stmt(&mut self, mut stmt: Stmt) -> Stmt {
        if let Stmt::Let { init: Some(value), .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } = &mut stmt {
            self.expr(value, true);
        }
        if let Stmt::Store { target, .. } = &mut stmt {
            self.expr(&mut target.index, true);
            self.set_name(&mut target.base);
        }
        if let Stmt::Set { var, .. } = &mut stmt {
            self.set_name(var);
        }
        if let Stmt::Let { var, .. } = &mut stmt {
            *var = self.rename(*var);
        }
        stmt
    }

    fn set_name(&self, var: &mut VarId) {
        if let Some(name) = self.renamed.get(var) {
            *var = *name;
        }
    }

    fn expr(&mut self, expr: &mut Expr, always: bool) {
        let conditional: Vec<bool> = (0..operands(expr).len()).map(|at| !is_always(expr, at)).collect();
        for (operand, conditional) in operands_mut(expr).into_iter().zip(conditional) {
            self.expr(operand, always && !conditional);
        }
        if let ExprKind::Var(var) = &mut expr.kind {
            self.set_name(var);
        }
        if let ExprKind::Load(element) = &mut expr.kind {
            self.set_name(&mut element.base);
        }
        if let ExprKind::Math(function, args) = &expr.kind
            && let (Some(near), [angle]) = (NearFn::of(*function), &args[..])
            && (always || is_harmless(angle))
        {
            expr.kind = ExprKind::Near(near, Box::new(self.angle(angle.clone())));
        }
    }

    /// Looks at an angle before the statement.
    fn angle(&mut self, angle: Expr) -> Expr {
        let var = self.vars.push(value("angle", angle.ty));
        let copy = make::var(var, angle.ty);
        let near = Expr { kind: ExprKind::Near(NearFn::IsNear, Box::new(copy.clone())), ty: Ty::BOOL };
        let far = make::select(near, make::long(0), make::long(1));
        let far = make::binary(BinOp::Or, make::var(self.far, Ty::LONG), far);
        self.before.push(Stmt::Let { var, init: Some(angle) });
        self.before.push(Stmt::Set { var: self.far, path: Vec::new(), value: far });
        copy
    }
}
