//! How many vectors are in flight together: two, or more where loops wait for the latency of what they carry from turn to turn.

use super::{Classes, jams};
use crate::target::Model;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, Func, Map, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// Whether all innermost loops of whole iterations in lanes wait for values that they carry, with registers for more of them. Loops that
/// store do not: arrays of iterations are in memory, and more lanes of them exceed a first-level cache.
pub(crate) fn waits(func: &Func, map: &Map, model: &Model) -> bool {
    let classes = Classes::of(map);
    let (mut any, mut all) = (false, true);
    visit::walk_stmts(&map.body, |stmt| {
        if is_innermost(stmt) {
            any = true;
            all &= carries(func, &classes, stmt, model.flight_live as usize);
        }
    });
    any && all && jams(func, map, &classes, model.jam_rows).is_empty()
}

/// Whether a statement is a loop, or a map inside, without others in it.
fn is_innermost(stmt: &Stmt) -> bool {
    let is_loop = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_));
    let mut loops = 0;
    visit::walk_stmts(&Block { stmts: vec![stmt.clone()] }, |inside| loops += usize::from(is_loop(inside)));
    is_loop(stmt) && loops == 1
}

/// Whether a loop carries numbers in lanes, keeps at most `live` alive, and stores nothing.
fn carries(func: &Func, classes: &Classes, stmt: &Stmt, live: usize) -> bool {
    let block = Block { stmts: vec![stmt.clone()] };
    let declared: OrdSet<VarId> = visit::declared(&block).into_iter().collect();
    let (mut carried, mut stores) = (false, false);
    let mut alive = OrdSet::new();
    visit::walk_vars(&block, |var, role| {
        let is_array = func.vars[var].is_array();
        let writes = match role {
            Role::Write | Role::Update | Role::Argument { .. } => true,
            Role::Declare | Role::Iterate | Role::Read => false,
        };
        stores |= is_array && writes;
        if !is_array && classes.is_varying(var) && !declared.contains(&var) {
            carried |= writes;
            alive.insert(var);
        }
    });
    carried && !stores && alive.len() <= live
}

#[cfg(test)]
mod tests {
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, explore};

    /// The lines that say how many vectors are in flight.
    fn of(declared: &str, inside: &str) -> Vec<String> {
        let program = optimised(&format!(
            "function f input float x[N]; input float t[M]; output float y[N];
            {{ map {{ i := [0:N); float v = x[i]; {declared} while (v > 1) {{ {inside} v = v * 0.5; }} y[i] = v; }} }}"
        ));
        let limits = Limits { variants: true, ..Limits::default() };
        let plans = explore(&program, program.entries[0], &Model::cpu(), limits).plans;
        let plan = plans.iter().find(|plan| plan.name == "wide").expect("a plan").to_string();
        let flight = |line: &&str| ["reg", "flight", "registers"].iter().any(|word| line.contains(word));
        plan.lines().filter(flight).map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn loops_that_wait_for_what_they_carry_have_more_vectors_in_flight() {
        let more = ["i reg(2)", "flight(4)", "registers(32)"];
        assert_eq!(of("", ""), more);
        assert_eq!(of("", "map { k := [0:M); _u = t[k] * v; } reduce(\"+\", _s, _u, k := [*]); v = v - _s;"), more);
    }

    #[test]
    fn others_have_two() {
        let kept = "for (int k = 0; k < 9; k = k + 1) { a[k] = a[k] * v; }";
        assert_eq!(of("float a[9];", kept), ["i reg(2)"], "rows of lanes in memory");
        let many: String = (0..9).map(|at| format!("float a{at} = v + {at};")).collect();
        let changed: String = (0..9).map(|at| format!("a{at} = a{at} * v;")).collect();
        let read: String = (0..9).map(|at| format!("v = v + a{at};")).collect();
        assert_eq!(of(&many, &format!("{changed} {read}")), ["i reg(2)"], "more than registers hold");
    }
}
