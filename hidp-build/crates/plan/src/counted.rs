//! How often loops run, and where their counters are meanwhile.

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, ExprKind, Loop, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdMap;

/// How often a loop runs, if it counts up to what is known. Its body is taken to change neither the counter nor the bound.
pub(crate) fn counted(node: &Loop, known: &OrdMap<VarId, i64>) -> Option<f64> {
    /// Turns of loops whose counter grows unevenly, as by doubling.
    const UNEVEN: u32 = 64;
    let [Stmt { kind: StmtKind::Assign { var, value }, .. }] = &node.step.stmts[..] else { return None };
    let ExprKind::Binary { op: op @ (BinOp::Lt | BinOp::Le), left, right, .. } = &node.cond.kind else { return None };
    if !matches!(&left.kind, ExprKind::Read(read) if read == var) {
        return None;
    }
    let (first, bound) = (*known.get(var)?, right.value(known)?);
    let end = bound.saturating_add(i64::from(*op == BinOp::Le));
    let mut known = known.clone();
    let mut after = |at: i64| {
        known.insert(*var, at);
        value.value(&known).filter(|next| *next > at)
    };
    let second = after(first)?;
    let step = second.checked_sub(first)?;
    if after(second)?.checked_sub(second)? == step {
        return Some((end.saturating_sub(first).max(0) as f64 / step as f64).ceil());
    }
    let (mut at, mut turns) = (first, 0);
    while at < end {
        turns += 1;
        at = after(at).filter(|_| turns < UNEVEN)?;
    }
    Some(turns.into())
}

/// Counters of sequential loops outside of maps, halfway between their first values and what they count up to: what maps inside see on
/// average. `known` are values at the beginning of the block.
pub(crate) fn halfway(block: &Block, known: &OrdMap<VarId, i64>) -> OrdMap<VarId, i64> {
    let mut search = Halfway { known: known.clone(), found: OrdMap::new() };
    search.block(block);
    search.found
}

struct Halfway {
    known: OrdMap<VarId, i64>,
    found: OrdMap<VarId, i64>,
}

impl Halfway {
    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Assign { var, value } => match value.value(&self.known) {
                    Some(value) => drop(self.known.insert(*var, value)),
                    None => drop(self.known.remove(var)),
                },
                StmtKind::Loop(node) => self.turns(node),
                StmtKind::Scope(block) => self.block(block),
                StmtKind::If { then, otherwise, .. } => {
                    for branch in [then, otherwise] {
                        self.block(branch);
                        self.forget(branch);
                    }
                }
                StmtKind::Prim(_) | StmtKind::Call { .. } | StmtKind::Map(_) | StmtKind::Atomic { .. } => {
                    visit::walk_stmt_vars(stmt, |var, role| self.forget_written(var, role));
                }
                StmtKind::Declare { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Leave
                | StmtKind::Return(_)
                | StmtKind::Swap(..)
                | StmtKind::Require { .. } => {}
            }
        }
    }

    fn turns(&mut self, node: &Loop) {
        let middle = self.middle(node);
        let forget = |this: &mut Self| [&node.body, &node.step].into_iter().for_each(|block| this.forget(block));
        forget(self);
        if let Some((counter, middle)) = middle {
            self.known.insert(counter, middle);
            self.found.insert(counter, middle);
        }
        self.block(&node.body);
        forget(self);
    }

    /// The counter of a loop that counts up evenly.
    fn middle(&self, node: &Loop) -> Option<(VarId, i64)> {
        let turns = counted(node, &self.known)?;
        let ExprKind::Binary { left, right, .. } = &node.cond.kind else { return None };
        let ExprKind::Read(counter) = left.kind else { return None };
        let (first, end) = (*self.known.get(&counter)?, right.value(&self.known)?);
        let all = end.saturating_sub(first).max(0);
        // Counters that jump, as by doubling, are elsewhere most of the time.
        (turns * 2.0 >= all as f64).then_some((counter, first + all / 2))
    }

    fn forget(&mut self, block: &Block) {
        visit::walk_vars(block, |var, role| self.forget_written(var, role));
    }

    fn forget_written(&mut self, var: VarId, role: Role) {
        if role != Role::Read {
            self.known.remove(&var);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::checked;
    use hidp_ir::par::visit::walk_stmts;

    /// Turns of a loop for 1000 elements, where what is assigned before it is known too.
    fn turns(head: &str) -> Option<f64> {
        let program = checked(&format!("function f inout int x[N]; {{ for ({head}) x[0] += 1; }}"));
        let func = &program.funcs[program.entries[0]];
        let mut known: OrdMap<VarId, i64> = func.dims.iter().map(|dim| (*dim, 1000)).collect();
        let mut found = Vec::new();
        walk_stmts(&func.body, |stmt| {
            if let StmtKind::Assign { var, value } = &stmt.kind {
                known.extend(value.value(&known).map(|value| (*var, value)));
            }
            if let StmtKind::Loop(node) = &stmt.kind {
                found.push(counted(node, &known));
            }
        });
        found.swap_remove(0)
    }

    #[test]
    fn loops_that_count_up_have_turns() {
        assert_eq!(turns("long i = 0; i < N; i += 1"), Some(1000.0));
        assert_eq!(turns("long i = 1; i <= N; i += 1"), Some(1000.0));
        assert_eq!(turns("long i = 10; i < N; i += 100"), Some(10.0));
        assert_eq!(turns("long i = 2000; i < N; i += 1"), Some(0.0));
        assert_eq!(turns("long i = 1; i < N; i *= 2"), Some(10.0));
        assert_eq!(turns("long i = 1; i <= N; i = i * i + 1"), Some(5.0));
    }

    #[test]
    fn other_loops_have_none() {
        let heads = ["long i = 0; i < x[0]; i += 1", "long i = N; i > 0; i -= 1", "long i = 0; i < N; i *= 2"];
        assert_eq!(heads.map(turns), [None; 3]);
    }

    /// The counters of loops around one map for 1000 elements, by name.
    fn middles(before: &str, head: &str) -> Vec<(String, i64)> {
        let body = "map { i := [k:N); x[i] += 1; }";
        let program = checked(&format!("function f inout int x[N]; {{ {before} for ({head}) {{ {body} }} }}"));
        let func = &program.funcs[program.entries[0]];
        let known = func.dims.iter().map(|dim| (*dim, 1000)).collect();
        halfway(&func.body, &known).into_iter().map(|(var, at)| (func.vars[var].name.clone(), at)).collect()
    }

    #[test]
    fn maps_see_counters_halfway() {
        let k = |at: i64| vec![("k".to_owned(), at)];
        assert_eq!(middles("", "long k = 0; k < N; k += 1"), k(500));
        assert_eq!(middles("", "long k = 200; k < N; k += 2"), k(600));
        assert_eq!(middles("long first = N / 2;", "long k = first; k < N; k += 1"), k(750));
        let around = "for (long m = 0; m < 10; m += 1)";
        assert_eq!(middles(around, "long k = m; k < 9; k += 1"), [("m".to_owned(), 5), ("k".to_owned(), 7)]);
        assert_eq!(middles("", "long k = 1; k < N; k += k"), []);
        assert_eq!(middles("", "long k = N - 1; k > 0; k -= 1"), []);
        // What a loop changes has no value in it.
        let changed = "long end = 8; while (end < N) end += end;";
        assert_eq!(middles(changed, "long k = 0; k < end; k += 1"), []);
    }
}
