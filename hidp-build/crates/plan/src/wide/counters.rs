//! Variables that count the turns of a loop which lanes leave at different times: they differ from lane to lane once lanes have left, but have one
//! value in those that are inside still.

use super::{Classes, continues, is_costly};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{Expr, ExprKind, Func, Loop, Program, Stmt, StmtKind, VarId};

/// A counter of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a> {
    /// The variable.
    pub var: VarId,
    /// What it is when the loop begins, in all lanes.
    pub start: &'a Expr,
}

/// The tests of a condition that must all hold, in order.
pub fn tests(cond: &Expr) -> Vec<&Expr> {
    match &cond.kind {
        ExprKind::Lazy { and: true, left, right } => [tests(left), tests(right)].concat(),
        ExprKind::Lazy { and: false, .. }
        | ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Select { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Convert { .. }
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => vec![cond],
    }
}

/// Of the tests of a loop, those that only ask for counters, and come before all that may fault.
pub fn counted<'e>(classes: &Classes, tests: &[&'e Expr], counters: &[VarId]) -> Vec<&'e Expr> {
    let first = tests.iter().take_while(|test| !is_costly(test));
    first.copied().filter(|test| varying_in(classes, test).iter().all(|var| counters.contains(var))).collect()
}

/// The counters that a loop tests, if lanes leave it at different times; `before` are the statements before it.
pub fn counters<'a>(
    program: &Program,
    func: &Func,
    classes: &Classes,
    before: &'a [Stmt],
    node: &Loop,
) -> Vec<Counter<'a>> {
    if !classes.is_masked_loop(node) {
        return Vec::new();
    }
    let look = Look { program, func, classes };
    let mut found: Vec<Counter<'a>> = varying_in(classes, &node.cond)
        .into_iter()
        .filter(|var| look.counts(*var, node))
        .filter_map(|var| Some(Counter { var, start: look.start(var, before)? }))
        .collect();
    let all: Vec<VarId> = found.iter().map(|counter| counter.var).collect();
    let used = counted(classes, &tests(&node.cond), &all);
    let used: Vec<VarId> = used.into_iter().flat_map(|test| varying_in(classes, test)).collect();
    found.retain(|counter| used.contains(&counter.var));
    found
}

fn varying_in(classes: &Classes, expr: &Expr) -> Vec<VarId> {
    Effects::of_expr(expr).into_iter().filter(|var| classes.is_varying(*var)).collect()
}

struct Look<'a> {
    program: &'a Program,
    func: &'a Func,
    classes: &'a Classes,
}

impl Look<'_> {
    fn writes(&self, stmt: &Stmt, var: VarId) -> bool {
        Effects::of_stmt(self.program, &self.func.vars, stmt).outer_writes().contains(&var)
    }

    /// Whether a loop gives a variable its next value in each turn, in all lanes that stay, from nothing that differs between them.
    fn counts(&self, var: VarId, node: &Loop) -> bool {
        let step = node.step.stmts.iter().filter(|stmt| self.writes(stmt, var));
        let mut inside = node.body.stmts.iter().filter(|stmt| self.writes(stmt, var)).peekable();
        if inside.peek().is_some() && continues(&node.body) {
            return false;
        }
        let writes: Vec<&Stmt> = inside.chain(step).collect();
        let [Stmt { kind: StmtKind::Assign { var: to, value }, .. }] = writes[..] else { return false };
        *to == var && !is_costly(value) && varying_in(self.classes, value).iter().all(|of| *of == var)
    }

    /// What a variable is when a loop begins, where that is the same in all lanes.
    fn start<'e>(&self, var: VarId, before: &'e [Stmt]) -> Option<&'e Expr> {
        let at = before.iter().rposition(|stmt| self.writes(stmt, var))?;
        let StmtKind::Assign { var: to, value } = &before[at].kind else { return None };
        let read = Effects::of_expr(value);
        let changed = before[at..].iter().any(|stmt| read.iter().any(|of| self.writes(stmt, *of)));
        (*to == var && !is_costly(value) && !self.classes.varies(value) && !changed).then_some(value)
    }
}
