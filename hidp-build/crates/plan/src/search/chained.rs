//! Loads of a loop whose place the turn before found by a load, as those of a binary search: they wait for each other.

use hidp_ir::par::visit::{self, Role, child_blocks, declared, walk_expr_vars, walk_subexprs};
use hidp_ir::par::{Block, Expr, ExprKind, Loop, Place, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// Such loads of a turn.
pub(super) fn loads(node: &Loop) -> usize {
    let blocks = [&node.body, &node.step];
    let own: OrdSet<VarId> = blocks.into_iter().flat_map(declared).collect();
    let loaded = Follow { loads: true, from: OrdSet::new() }.all(blocks);
    let carried: OrdSet<VarId> = loaded.iter().copied().filter(|var| !own.contains(var)).collect();
    let found = Follow { loads: false, from: carried }.all(blocks);
    let mut count = 0;
    for block in blocks {
        visit::walk_places(block, |place, role| count += usize::from(role == Role::Read && is_found_by(place, &found)));
    }
    count
}

fn is_found_by(place: &Place, found: &OrdSet<VarId>) -> bool {
    place.index.iter().any(|index| reads_any(index, found))
}

fn reads_any(expr: &Expr, vars: &OrdSet<VarId>) -> bool {
    let mut reads = false;
    walk_expr_vars(expr, |var, _| reads |= vars.contains(&var));
    reads
}

/// Variables that follow from others, or from loads.
struct Follow {
    loads: bool,
    from: OrdSet<VarId>,
}

impl Follow {
    fn all(mut self, blocks: [&Block; 2]) -> OrdSet<VarId> {
        loop {
            let before = self.from.len();
            blocks.into_iter().for_each(|block| self.block(block, false));
            if self.from.len() == before {
                return self.from;
            }
        }
    }

    /// Statements that run under a condition that follows, or under none.
    fn block(&mut self, block: &Block, under: bool) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt, under));
    }

    fn stmt(&mut self, stmt: &Stmt, under: bool) {
        let inside = match &stmt.kind {
            StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } => {
                if under || self.is_from(value) {
                    self.from.insert(*var);
                }
                under
            }
            StmtKind::If { cond, .. } => under || self.is_from(cond),
            StmtKind::Loop(node) => under || self.is_from(&node.cond),
            StmtKind::Declare { .. }
            | StmtKind::Scope(_)
            | StmtKind::Map(_)
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_) => under,
        };
        child_blocks(stmt).into_iter().for_each(|child| self.block(child, inside));
    }

    fn is_from(&self, expr: &Expr) -> bool {
        let mut loads = false;
        walk_subexprs(expr, |sub| loads |= matches!(sub.kind, ExprKind::Load(_)));
        (self.loads && loads) || reads_any(expr, &self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    /// Those of the only loop of a function.
    fn loads_of(turn: &str) -> usize {
        let text = format!(
            "function f input int a[M], x[N], steps; output int y[N];
             {{ map {{ n := [0:N); int low = 0, high = x[n], sum = 0, k = 0; while (low < high) {{ {turn} }} y[n] = sum + low + k; }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[*program.entries.last().expect("an entry")];
        let mut found = Vec::new();
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Loop(node) = &stmt.kind {
                found.push(loads(node));
            }
        });
        assert_eq!(found.len(), 1, "{turn}");
        found[0]
    }

    #[test]
    fn loads_wait_for_those_that_find_their_place() {
        let search =
            "int middle = (low + high) / 2; if (x[n] < a[middle]) { high = middle; } else { low = middle + 1; }";
        assert_eq!(loads_of(search), 1, "not of `x[n]`");
        assert_eq!(loads_of("low = a[low];"), 1, "a list");
        assert_eq!(loads_of("sum += a[low]; low += 1;"), 0, "the place is known before");
        assert_eq!(loads_of("int at = a[low]; sum += a[at]; low += 1;"), 0, "turns do not wait for each other");
        assert_eq!(loads_of("int at = a[k]; k = a[at]; low += 1;"), 2, "two in each turn");
        assert_eq!(loads_of("low += 1; if (a[low] > 3) { k += 1; } sum += k;"), 0, "no place follows");
    }
}
