//! Variables that count the turns of a loop which lanes leave at different times.
//!
//! They differ from lane to lane once lanes have left, but have one value in those that are inside still. A scalar beside the lanes' own
//! holds that, so that tests of such variables are branches of all lanes.

use super::super::build::Binding;
use super::super::{Lowerer, make};
use super::value::is_costly;
use hidp_ir::imp::{self, VarId};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{self, Expr, ExprKind, Loop, StmtKind};
use hidp_plan::wide::continues;

/// The tests of a condition that must all hold, in order.
pub(super) fn tests(cond: &Expr) -> Vec<&Expr> {
    match &cond.kind {
        ExprKind::Lazy { and: true, left, right } => [tests(left), tests(right)].concat(),
        _ => vec![cond],
    }
}

impl Lowerer<'_> {
    /// Declares scalars for the counters that a loop tests, and says which they are.
    pub(super) fn enter_counters(&mut self, before: &[par::Stmt], stmt: &par::Stmt) -> Vec<par::VarId> {
        let StmtKind::Loop(node) = &stmt.kind else { return Vec::new() };
        if !self.wide.as_ref().is_some_and(|wide| wide.classes.is_masked_loop(node)) {
            return Vec::new();
        }
        let starts: Vec<(par::VarId, &Expr)> = self
            .varying_in(&node.cond)
            .into_iter()
            .filter(|var| self.counts(*var, node))
            .filter_map(|var| Some((var, self.start(var, before)?)))
            .collect();
        let counters: Vec<par::VarId> = starts.iter().map(|(var, _)| *var).collect();
        let used = self.counted(&tests(&node.cond), &counters);
        let used: Vec<par::VarId> = used.into_iter().flat_map(|test| self.varying_in(test)).collect();
        for (var, start) in starts.into_iter().filter(|(var, _)| used.contains(var)) {
            let declared = &self.func.vars[var];
            let start = self.expr(start);
            let scalar = self.body.slot(&declared.name, declared.ty, Some(start));
            if let Some(wide) = &mut self.wide {
                wide.counters.insert(var, scalar);
            }
        }
        used
    }

    pub(super) fn leave_counters(&mut self, counters: &[par::VarId]) {
        if let Some(wide) = &mut self.wide {
            wide.counters.retain(|var, _| !counters.contains(var));
        }
    }

    /// Of the tests of a loop, those that only ask for counters, and come before all that may fault.
    pub(super) fn counted<'e>(&self, tests: &[&'e Expr], counters: &[par::VarId]) -> Vec<&'e Expr> {
        let first = tests.iter().take_while(|test| !is_costly(test));
        first.copied().filter(|test| self.varying_in(test).iter().all(|var| counters.contains(var))).collect()
    }

    /// The counters of the loops around.
    pub(super) fn counters(&self) -> Vec<par::VarId> {
        self.wide.as_ref().map_or_else(Vec::new, |wide| wide.counters.keys().copied().collect())
    }

    /// What an expression is in the lanes that are inside.
    pub(super) fn for_all_inside(&mut self, expr: &Expr) -> imp::Expr {
        let counters: Vec<(par::VarId, VarId)> =
            self.wide.iter().flat_map(|wide| &wide.counters).map(|(var, scalar)| (*var, *scalar)).collect();
        for (var, scalar) in &counters {
            self.body.bindings.insert(*var, Binding::Slot { var: *scalar, backing: None });
        }
        let value = self.expr(expr);
        for (var, _) in &counters {
            self.body.bindings.remove(var);
        }
        value
    }

    /// Assigns to the scalar of a counter what its lanes have been assigned.
    pub(super) fn count_on(&mut self, var: par::VarId, value: &Expr) {
        let Some(scalar) = self.wide.as_ref().and_then(|wide| wide.counters.get(&var)).copied() else { return };
        let value = self.for_all_inside(value);
        self.body.push(make::set(scalar, value));
    }

    fn varying_in(&self, expr: &Expr) -> Vec<par::VarId> {
        Effects::of_expr(expr).into_iter().filter(|var| self.is_varying(*var)).collect()
    }

    fn writes(&self, stmt: &par::Stmt, var: par::VarId) -> bool {
        Effects::of_stmt(self.program, &self.func.vars, stmt).outer_writes().contains(&var)
    }

    /// Whether a loop gives a variable its next value in each turn, in all lanes that stay, from nothing that differs between them.
    fn counts(&self, var: par::VarId, node: &Loop) -> bool {
        let step = node.step.stmts.iter().filter(|stmt| self.writes(stmt, var));
        let mut inside = node.body.stmts.iter().filter(|stmt| self.writes(stmt, var)).peekable();
        if inside.peek().is_some() && continues(&node.body) {
            return false;
        }
        let writes: Vec<&par::Stmt> = inside.chain(step).collect();
        let [par::Stmt { kind: StmtKind::Assign { var: to, value }, .. }] = writes[..] else { return false };
        *to == var && !is_costly(value) && self.varying_in(value).iter().all(|of| *of == var)
    }

    /// What a variable is when a loop begins, where that is the same in all lanes.
    fn start<'e>(&self, var: par::VarId, before: &'e [par::Stmt]) -> Option<&'e Expr> {
        let at = before.iter().rposition(|stmt| self.writes(stmt, var))?;
        let StmtKind::Assign { var: to, value } = &before[at].kind else { return None };
        let read = Effects::of_expr(value);
        let changed = before[at..].iter().any(|stmt| read.iter().any(|of| self.writes(stmt, *of)));
        (*to == var && !is_costly(value) && !self.varies(value) && !changed).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use hidp_ir::imp::visit::each_stmt;
    use hidp_ir::imp::{self, Stmt};
    use hidp_plan::{self as plan, target::Model};
    use hidp_syntax::ty::Scalar;

    /// How many variables the iterations of `wide` count by in scalars, all of which are `int`.
    fn counted(before: &str, text: &str) -> usize {
        let text = format!(
            "function f input float x[N]; input int c[N], most; output int y[N]; output float z[N];
            {{ map {{ i := [0:N); float v = x[i]; {before} {text} y[i] = k; z[i] = v; }} }}"
        );
        let (program, func) = crate::tests::optimised(&text);
        let plans = plan::candidates(&program, func, &Model::cpu());
        let (entry, defects) = crate::lower(&program, func, "test_entry", &plans, &Model::cpu());
        assert_eq!(defects, []);
        imp::verify(&program, &entry).unwrap_or_else(|errors| panic!("{errors:?}"));
        let unit = entry.units.iter().find(|unit| unit.plan == "wide").expect("a plan");
        let mut found = 0;
        for (_, kernel) in unit.kernels.iter() {
            each_stmt(&kernel.function.body, &mut |stmt| {
                found += usize::from(matches!(stmt, Stmt::Set { value, .. } if value.ty == Scalar::I32.into()));
            });
        }
        found
    }

    #[test]
    fn what_all_lanes_count_is_tested_once_for_them() {
        let count = "while (k < most && v > 1) { v = v * 0.5; k = k + 1; }";
        assert_eq!(counted("int k = 0;", count), 1);
        assert_eq!(counted("int k = most & 3; v = v + 1;", count), 1);
        assert_eq!(
            counted("int k;", "for (k = 0; v > 1 && k < most; k = k + 1) { if (v > 9) { continue; } v = v * 0.5; }"),
            1
        );
    }

    #[test]
    fn what_differs_between_lanes_that_stay_is_not() {
        let count = "while (k < most && v > 1) { v = v * 0.5; k = k + 1; }";
        assert_eq!(counted("int k = c[i];", count), 0, "where it begins");
        assert_eq!(counted("int k = 0;", &format!("{count} v = x[i] * 2; {count}")), 1, "where lanes left it");
        let skipped = "while (k < most && v > 1) { v = v * 0.5; if (v > 9) { continue; } k = k + 1; }";
        assert_eq!(counted("int k = 0;", skipped), 0, "some lanes skip it");
        let branch = "while (k < most && v > 1) { v = v * 0.5; if (v > 9) { k = k + 1; } }";
        assert_eq!(counted("int k = 0;", branch), 0, "some lanes do it");
        let other = "while (k < most && v > 1) { v = v * 0.5; k = k + c[i]; }";
        assert_eq!(counted("int k = 0;", other), 0, "by what differs");
        assert_eq!(counted("int k = 0;", "while (k < 9 && exp(-v) > 0.1) { v = v + 1; k = k + 1; }"), 1);
        let costly = "while (exp(-v) > 0.1 && k < 9) { v = v + 1; k = k + 1; }";
        assert_eq!(counted("int k = 0;", costly), 0, "after what asks for a lane");
    }
}
