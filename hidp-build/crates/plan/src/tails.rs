//! Iterations that compute maths functions behind their maps, as `1 / (1 + exp(-z))` of a row's product: their last statements run in vector
//! lanes, for a tile of iterations whose maps are done.

use super::work::{FUNCTION, of_function};
use hidp_ir::par::effects::{Effects, may_fault, may_jump};
use hidp_ir::par::visit::{self, declared};
use hidp_ir::par::{Block, ExprKind, Func, Map, Program, Stmt, StmtKind, VarId, lanes};
use hidp_syntax::ordered::OrdSet;

/// An iteration in two parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail<'m> {
    /// Up to the last map.
    pub head: Block,
    /// Behind it.
    pub rest: &'m [Stmt],
    /// Scalars of the iteration that `rest` uses and `head` declares, with their declarations.
    pub kept: Vec<(VarId, &'m Stmt)>,
}

/// The two parts of an iteration of this map, if the second has maths functions and can run in lanes.
pub fn tail<'m>(program: &Program, func: &Func, map: &'m Map) -> Option<Tail<'m>> {
    let [iter] = &map.iters[..] else { return None };
    let stmts = &map.body.stmts[..];
    let last = stmts.iter().rposition(|stmt| matches!(stmt.kind, StmtKind::Map(_)))?;
    let (head, rest) = stmts.split_at(last + 1);
    let behind = Block { stmts: rest.to_vec() };
    let plain = iter.step.as_int() == Some(1) && map.folds.is_empty() && map.directives.unroll.is_none();
    if !plain || !has_functions(&behind) || !lanes::straight(program, func, &behind) {
        return None;
    }
    let head = Block { stmts: head.to_vec() };
    let kept = kept(program, func, &head, &behind, stmts)?;
    let faults = may_fault(program, &func.vars, &behind) || may_jump(&head);
    (!faults).then_some(Tail { head, rest, kept })
}

fn has_functions(block: &Block) -> bool {
    let mut found = false;
    visit::walk_exprs(block, |node| {
        found |= matches!(node.kind, ExprKind::Math(function, _) if of_function(function) >= FUNCTION);
    });
    found
}

/// What goes from one part to the other, if these are numbers, and nothing that the second part sets belongs to others than its iteration.
fn kept<'m>(
    program: &Program,
    func: &Func,
    head: &Block,
    behind: &Block,
    stmts: &'m [Stmt],
) -> Option<Vec<(VarId, &'m Stmt)>> {
    let effects = Effects::of_block(program, &func.vars, behind);
    let own: OrdSet<VarId> = declared(head).into_iter().collect();
    let used: OrdSet<VarId> =
        effects.reads.iter().chain(&effects.writes).copied().filter(|var| own.contains(var)).collect();
    let others = effects.outer_writes();
    if others.iter().any(|var| !own.contains(var) && !func.vars[*var].is_array()) {
        return None;
    }
    let number = |var: &VarId| !func.vars[*var].is_array() && func.vars[*var].ty.scalar().is_some();
    let declares = |stmt: &Stmt, of: VarId| matches!(stmt.kind, StmtKind::Declare { var, .. } if var == of);
    let found = |var: VarId| stmts.iter().find(|stmt| declares(stmt, var)).map(|stmt| (var, stmt));
    used.iter().all(number).then(|| used.iter().map(|var| found(*var)).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::testing::optimised;

    fn kept_by(body: &str) -> Option<usize> {
        let text = format!(
            "function f input float x[N][M], w[M]; input int k[N]; inout float y[N], t[B]; {{ map {{ n := [0:N); {body} }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        tail(&program, func, nests(func)[0]).map(|tail| tail.kept.len())
    }

    #[test]
    fn maths_behind_a_row() {
        let row = "float z; map { m := [0:M); _p = x[n][m] * w[m]; } reduce(\"+\", z, _p, m := [*]);";
        assert_eq!(kept_by(&format!("{row} y[n] = 1 / (1 + exp(-z));")), Some(1));
        assert_eq!(kept_by(&format!("float a = y[n] + 1; {row} y[n] = a * exp(-z) + a;")), Some(2));
        let element = row.replace("float z;", "").replace("z, _p", "y[n], _p");
        assert_eq!(kept_by(&format!("{element} y[n] = exp(y[n]);")), Some(1), "a fold into an element is a scalar");
        assert_eq!(kept_by(&format!("{row} y[n] = 1 / (1 + z);")), None, "no function");
        assert_eq!(kept_by(&format!("{row} while (z > 1) {{ z = log(z); }} y[n] = z;")), None, "lanes go apart");
        assert_eq!(kept_by(&format!("{row} y[n] = exp(t[k[n]] - z);")), None, "a fault would come late");
        let array = "float q[2]; map { m := [0:2); q[m] = x[n][m] * y[n]; }";
        assert_eq!(kept_by(&format!("{array} {row} y[n] = exp(q[k[n] & 1] + z);")), None, "an array is kept");
    }
}
