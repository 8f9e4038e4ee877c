//! Variables that count the turns of a loop which lanes leave at different times (`plan::wide::counters`).
//!
//! A scalar beside the lanes' own holds what they are in the lanes that are inside still: tests of them are branches of all lanes, and elements
//! that they say are the same in all.

use super::super::build::Binding;
use super::super::{Lowerer, make};
use hidp_ir::par::{self, Expr, StmtKind};
use hidp_plan::wide::{self, Counter};

impl Lowerer<'_> {
    /// Declares scalars for the counters that a loop tests, and says which they are.
    pub(super) fn enter_counters(&mut self, before: &[par::Stmt], stmt: &par::Stmt) -> Vec<par::VarId> {
        let StmtKind::Loop(node) = &stmt.kind else { return Vec::new() };
        let Some(state) = &self.wide else { return Vec::new() };
        let counters = wide::counters(self.program, self.func, &state.classes, before, node);
        for Counter { var, start } in &counters {
            let declared = &self.func.vars[*var];
            let start = self.expr(start);
            let scalar = self.body.slot(&declared.name, declared.ty, Some(start));
            self.body.bindings.insert(*var, Binding::Slot { var: scalar, backing: None });
            if let Some(wide) = &mut self.wide {
                wide.counters.insert(*var, scalar);
                wide.others.remove(var);
            }
        }
        counters.into_iter().map(|counter| counter.var).collect()
    }

    pub(super) fn leave_counters(&mut self, counters: &[par::VarId]) {
        for var in counters {
            self.body.bindings.remove(var);
            if let Some(wide) = &mut self.wide {
                wide.counters.remove(var);
                wide.others.insert(*var);
            }
        }
    }

    /// The counters of the loops around.
    pub(super) fn counters(&self) -> Vec<par::VarId> {
        self.wide.as_ref().map_or_else(Vec::new, |wide| wide.counters.keys().copied().collect())
    }

    /// Assigns to the scalar of a counter what its lanes have been assigned.
    pub(super) fn count_on(&mut self, var: par::VarId, value: &Expr) {
        let Some(scalar) = self.wide.as_ref().and_then(|wide| wide.counters.get(&var)).copied() else { return };
        let value = self.expr(value);
        self.body.push(make::set(scalar, value));
    }
}

#[cfg(test)]
mod tests {
    use hidp_ir::imp::visit::each_stmt;
    use hidp_ir::imp::{self, Stmt, WideIndex, WideKind, WideStmt, each_wide, wides_of};
    use hidp_plan::{self as plan, target::Model};
    use hidp_syntax::ty::Scalar;

    /// Calls `each` with the statements of the kernels of `wide` if iterations do this with `x`.
    fn each_of_wide(iteration: &str, each: &mut dyn FnMut(&Stmt)) {
        let text = format!(
            "function f input float x[N]; input int c[N], most; output int y[N]; output float z[N];
            {{ map {{ i := [0:N); float v = x[i]; {iteration} y[i] = k; z[i] = v; }} }}"
        );
        let (program, func) = crate::tests::optimised(&text);
        // No loop keeps so few numbers alive that there are groups of two sizes, and the last group is as large as the others.
        let model = Model { flight_live: 0, flight_last: 2, ..Model::cpu() };
        let plans = plan::candidates(&program, func, &model);
        let (entry, defects) = crate::lower(&program, func, "test_entry", &plans, &model);
        assert_eq!(defects, []);
        imp::verify(&program, &entry).unwrap_or_else(|errors| panic!("{errors:?}"));
        let unit = entry.units.iter().find(|unit| unit.plan == "wide").expect("a plan");
        unit.kernels.iter().for_each(|(_, kernel)| each_stmt(&kernel.function.body, each));
    }

    /// How many variables the iterations of `wide` count by in scalars, all of which are `int`.
    fn counted(before: &str, text: &str) -> usize {
        let mut found = 0;
        each_of_wide(&format!("{before} {text}"), &mut |stmt| {
            found += usize::from(matches!(stmt, Stmt::Set { value, .. } if value.ty == Scalar::I32.into()));
        });
        found
    }

    /// How many accesses of iterations' arrays are at an index of each lane.
    fn apart(iteration: &str) -> usize {
        let mut found = 0;
        each_of_wide(iteration, &mut |stmt| {
            let Stmt::Wide(stmt) = stmt else { return };
            if let WideStmt::Store { target, .. } = stmt {
                found += usize::from(matches!(target.index, WideIndex::Each(_)));
            }
            for value in wides_of(stmt) {
                each_wide(value, &mut |wide| {
                    let WideKind::Load(element) = &wide.kind else { return };
                    found += usize::from(matches!(element.index, WideIndex::Each(_)));
                });
            }
        });
        found
    }

    #[test]
    fn elements_at_a_counter_are_the_same_in_lanes_that_go_on() {
        let shift = "while (k > 0 && v < a[k - 1]) { a[k] = a[k - 1]; k = k - 1; }";
        assert_eq!(apart(&format!("float a[8]; int k = 7; {shift}")), 0);
        assert_eq!(apart(&format!("float a[8]; int k = 7; {shift} a[k] = v;")), 1, "behind the loop");
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
