//! Recurrences.

use super::super::{Func, Recur, StmtKind, Table, VarKind};
use super::{Check, Rule, always_returns};
use hidp_syntax::ast::Direction;

impl Check<'_> {
    pub(super) fn recur(&mut self, func: &Func, recur: &Recur) {
        let empty = func.body.stmts.is_empty();
        self.require(empty, Rule::Recurrences, || "a body beside a recurrence".into());
        for system in &recur.systems {
            let ordered = system.order.steps.len() == system.tables.len();
            self.require(ordered, Rule::Recurrences, || "a table without its place in the order".into());
            system.tables.iter().for_each(|table| self.table(table));
        }
    }

    fn table(&mut self, table: &Table) {
        let array = &self.vars[table.array];
        let fits = array.kind == VarKind::Param(Direction::Output) && array.shape.len() == table.index.len();
        self.require(fits && array.is_array(), Rule::Recurrences, || {
            format!("`{}` is no output with a dimension for each index", array.name)
        });
        self.scoped(|check| {
            check.depth += 1;
            for iter in &table.index {
                check.long("a bound", &iter.lo);
                check.long("a bound", &iter.hi);
                let unit = iter.step.as_int() == Some(1);
                check.require(unit, Rule::Recurrences, || "an index with a stride".into());
                check.iterator(iter.var);
            }
            let outer = check.cell.replace(array.ty);
            check.block(&table.body);
            check.cell = outer;
            check.depth -= 1;
        });
        let returns = always_returns(&table.body);
        self.require(returns, Rule::Recurrences, || "a path of a cell does not end in `return`".into());
    }

    /// Bodies of cells hold a part of the statements only.
    pub(super) fn only_of_cell(&mut self, kind: &StmtKind) {
        let allowed = match kind {
            StmtKind::Declare { var, .. } => self.vars.get(*var).is_some_and(|var| !var.is_array()),
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Map(_) => true,
            StmtKind::Return(_) => self.depth == 1,
            StmtKind::Leave
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => false,
        };
        self.require(allowed, Rule::Recurrences, || "cannot stand in the body of a cell".into());
    }
}
