//! Strips of iterations of one quotient.
//!
//! A loop that divides its variable by what keeps its value, `t / width` or `t % width`, waits for a division of 64 bits in each iteration,
//! which takes longer than most of what iterations do besides. So it runs in strips, at whose ends the quotient changes: within one, the
//! quotient is a value and the remainder a difference.

use std::mem;

use super::make;
use hidp_ir::imp::visit::{
    child_blocks, child_blocks_mut, each_stmt, each_subexpr, introduced, operands_mut, overwritten, stmt_exprs,
    stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Loop, LoopKind, Stmt, Var, VarId, VarKind};
use hidp_ir::par::{BinOp, FoldFn};
use hidp_plan::target::LoopRules;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Ty;

/// Rewrites all such loops of a function.
pub(super) fn of_quotients(function: &mut Function, rules: LoopRules) {
    in_block(&mut function.body, &mut function.vars, rules);
}

fn in_block(block: &mut Block, vars: &mut Arena<VarId, Var>, rules: LoopRules) {
    for mut stmt in mem::take(&mut block.stmts) {
        // Loops in lanes hold no loops that look where they end, and what goes across an array is one copy.
        if !matches!(&stmt, Stmt::Loop(Loop { kind: LoopKind::Simd { .. } | LoopKind::Across, .. })) {
            child_blocks_mut(&mut stmt).into_iter().for_each(|child| in_block(child, vars, rules));
        }
        match stmt {
            Stmt::Loop(node) => in_loop(node, vars, &mut block.stmts, rules),
            _ => block.stmts.push(stmt),
        }
    }
}

fn in_loop(node: Loop, vars: &mut Arena<VarId, Var>, stmts: &mut Vec<Stmt>, rules: LoopRules) {
    match divisor(&node) {
        Some(divisor) => strips((node, divisor), vars, stmts, rules),
        None => stmts.push(Stmt::Loop(node)),
    }
}

/// What every iteration divides the loop's variable by, if strips may take the loop's place.
fn divisor(node: &Loop) -> Option<VarId> {
    let fits = match &node.kind {
        LoopKind::Seq | LoopKind::Unroll(_) => true,
        // Flags are the same in whichever parts of a loop they are raised, sums are not.
        LoopKind::Simd { reductions } => reductions.iter().all(|(_, op)| *op == FoldFn::Or),
        LoopKind::Across | LoopKind::Pack | LoopKind::Spread { .. } => false,
    };
    if !fits || make::as_int(&node.step) != Some(1) || breaks(&node.body) {
        return None;
    }
    let mut changed = OrdSet::from([node.var]);
    each_stmt(&node.body, &mut |stmt| {
        changed.extend(introduced(stmt));
        changed.extend(overwritten(stmt));
    });
    let tested = tested(node);
    let mut found = None;
    // Not what some iterations divide by at most: strips divide wherever they begin.
    for expr in node.body.stmts.iter().flat_map(stmt_exprs) {
        each_subexpr(expr, &mut |sub| {
            if let Some((_, by)) = divided(sub, node.var, &tested)
                && !changed.contains(&by)
            {
                found = found.or(Some(by));
            }
        });
    }
    found
}

/// Whether a `break` leaves the loop of this body: it would leave a strip.
fn breaks(body: &Block) -> bool {
    body.stmts.iter().any(|stmt| match stmt {
        Stmt::Break => true,
        Stmt::Loop(_) | Stmt::Forever { .. } => false,
        _ => child_blocks(stmt).into_iter().any(breaks),
    })
}

/// Values that say whether a variable is not 0, with the variable, where the loop's flag is raised if it is.
fn tested(node: &Loop) -> OrdMap<VarId, VarId> {
    let LoopKind::Simd { reductions } = &node.kind else { return OrdMap::new() };
    let flags: OrdSet<VarId> = reductions.iter().map(|(flag, _)| *flag).collect();
    let (mut tests, mut raising) = (OrdMap::new(), OrdSet::new());
    each_stmt(&node.body, &mut |stmt| {
        if let Stmt::Let { var, init: Some(Expr { kind: ExprKind::Binary(BinOp::Ne, left, right), .. }) } = stmt
            && let ExprKind::Var(by) = left.kind
            && make::as_int(right) == Some(0)
        {
            tests.insert(*var, by);
        }
        if let Stmt::Set { var, value, .. } = stmt
            && flags.contains(var)
        {
            raising.extend(raised_without(*var, value));
        }
    });
    tests.retain(|test, _| raising.contains(test));
    tests
}

/// The value without which a flag is raised: `flag | (value ? 0 : 1)`.
fn raised_without(flag: VarId, value: &Expr) -> Option<VarId> {
    let ExprKind::Binary(BinOp::Or, before, miss) = &value.kind else { return None };
    let (ExprKind::Var(before), ExprKind::Select(test, then, otherwise)) = (&before.kind, &miss.kind) else {
        return None;
    };
    let ExprKind::Var(test) = test.kind else { return None };
    let is_raised = *before == flag && make::as_int(then) == Some(0) && make::as_int(otherwise) == Some(1);
    is_raised.then_some(test)
}

/// Whether it is the variable's quotient or remainder, and by what. Where a flag is raised nobody sees by what else.
fn divided(expr: &Expr, var: VarId, tested: &OrdMap<VarId, VarId>) -> Option<(BinOp, VarId)> {
    let ExprKind::Binary(op @ (BinOp::Div | BinOp::Rem), left, right) = &expr.kind else { return None };
    if !matches!(&left.kind, ExprKind::Var(left) if *left == var) {
        return None;
    }
    match &right.kind {
        ExprKind::Var(by) => Some((*op, *by)),
        ExprKind::Select(test, by, instead) => match (&test.kind, &by.kind) {
            (ExprKind::Var(test), ExprKind::Var(by))
                if tested.get(test) == Some(by) && make::as_int(instead) == Some(1) =>
            {
                Some((*op, *by))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Strips from the loop's first iteration on. Above 0 each begins where the one before ends, at a multiple of the divisor. Short ones leave
/// lanes empty, so a loop whose flag has its iterations run again in order raises it at once.
fn strips((node, divisor): (Loop, VarId), vars: &mut Arena<VarId, Var>, stmts: &mut Vec<Stmt>, rules: LoopRules) {
    let mut value = |name: &str| vars.push(Var { name: name.to_owned(), kind: VarKind::Value(Ty::LONG) });
    let long = |var| make::var(var, Ty::LONG);
    let (by, size, one, end) = (value("by"), value("size"), value("one"), value("end"));
    let (from, quotient, below, stop) = (value("from"), value("quotient"), value("below"), value("stop"));
    let parts = Parts { var: node.var, divisor, quotient, below, tested: tested(&node) };
    let mut body = node.body;
    parts.in_block(&mut body);
    // Iterations that divide by 0 fault before they read what stands for the quotient.
    let is_zero = make::binary(BinOp::Eq, long(divisor), make::long(0));
    let by_something = make::select(is_zero, make::long(i64::MAX), long(divisor));
    let magnitude = make::max(long(by), make::neg(make::max(long(by), make::long(-i64::MAX))));
    let is_below_0 = |var| make::binary(BinOp::Lt, long(var), make::long(0));
    stmts.extend([
        set_first(by, by_something),
        set_first(size, magnitude),
        set_first(one, make::select(is_below_0(by), make::long(-1), make::long(1))),
        set_first(end, node.hi),
    ]);
    let first = match flag(&node.kind) {
        Some(bad) => {
            let is_short = || make::binary(BinOp::Lt, long(size), make::long(rules.strip.into()));
            stmts.push(make::when(is_short(), vec![make::set(bad, make::long(1))]));
            make::select(is_short(), long(end), node.lo)
        }
        None => node.lo,
    };
    stmts.push(set_first(from, first));
    let divided = || make::binary(BinOp::Div, long(from), long(by));
    let multiple = || make::mul(long(quotient), long(by));
    stmts.extend([set_first(quotient, divided()), set_first(below, multiple())]);
    let into = make::sub(long(from), long(below));
    let turns = make::min(make::sub(long(size), into), make::sub(long(end), long(from)));
    // Quotients of negative numbers change elsewhere.
    let turns = make::select(is_below_0(from), make::long(1), turns);
    let mut strip = vec![
        make::when(make::binary(BinOp::Ge, long(from), long(end)), vec![Stmt::Break]),
        set_first(stop, make::add(long(from), turns)),
    ];
    in_loop(Loop { lo: long(from), hi: long(stop), body, ..node }, vars, &mut strip, rules);
    // Strips of one or two iterations would wait for a division of their own.
    let next = vec![make::set(quotient, make::add(long(quotient), long(one))), make::set(below, long(from))];
    let anew = vec![make::set(quotient, divided()), make::set(below, multiple())];
    let cond = make::binary(BinOp::Gt, long(from), make::long(0));
    strip.extend([
        make::set(from, long(stop)),
        Stmt::If { cond, then: Block { stmts: next }, otherwise: Block { stmts: anew } },
    ]);
    stmts.push(Stmt::Forever { body: Block { stmts: strip }, step: Block::default() });
}

/// The flag of a loop in lanes. Whatever raises it, the iterations run again in order.
fn flag(kind: &LoopKind) -> Option<VarId> {
    match kind {
        LoopKind::Simd { reductions } => reductions.first().map(|(flag, _)| *flag),
        LoopKind::Seq | LoopKind::Unroll(_) | LoopKind::Across | LoopKind::Pack | LoopKind::Spread { .. } => None,
    }
}

fn set_first(var: VarId, init: Expr) -> Stmt {
    Stmt::Let { var, init: Some(init) }
}

/// What stands for quotient and remainder within a strip.
struct Parts {
    var: VarId,
    divisor: VarId,
    quotient: VarId,
    /// The multiple of the divisor that the remainder is counted from.
    below: VarId,
    tested: OrdMap<VarId, VarId>,
}

impl Parts {
    fn in_block(&self, block: &mut Block) {
        for stmt in &mut block.stmts {
            stmt_exprs_mut(stmt).into_iter().for_each(|expr| self.in_expr(expr));
            child_blocks_mut(stmt).into_iter().for_each(|child| self.in_block(child));
        }
    }

    fn in_expr(&self, expr: &mut Expr) {
        match divided(expr, self.var, &self.tested) {
            Some((op, by)) if by == self.divisor => {
                *expr = match op {
                    BinOp::Div => make::var(self.quotient, Ty::LONG),
                    _ => make::sub(make::var(self.var, Ty::LONG), make::var(self.below, Ty::LONG)),
                };
            }
            _ => operands_mut(expr).into_iter().for_each(|operand| self.in_expr(operand)),
        }
    }
}
