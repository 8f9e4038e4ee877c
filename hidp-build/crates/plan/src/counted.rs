//! How often loops run.

use std::collections::BTreeMap;

use hidp_ir::par::{BinOp, ExprKind, Loop, Stmt, StmtKind, VarId};

/// How often a loop runs, if it counts up to what is known. Its body is taken to change neither the counter nor the bound.
pub(crate) fn counted(node: &Loop, known: &BTreeMap<VarId, i64>) -> Option<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::checked;
    use hidp_ir::par::visit::walk_stmts;

    /// Turns of a loop for 1000 elements, where what is assigned before it is known too.
    fn turns(head: &str) -> Option<f64> {
        let program = checked(&format!("function f inout int x[N]; {{ for ({head}) x[0] += 1; }}"));
        let func = &program.funcs[program.entries[0]];
        let mut known: BTreeMap<VarId, i64> = func.dims.iter().map(|dim| (*dim, 1000)).collect();
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
}
