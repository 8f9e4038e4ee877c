//! How many vectors are in flight together: two, or more where loops wait for the latency of what they carry from turn to turn.

use super::costly::is_in_each;
use super::{Classes, WideShape, goes_together, in_lanes, jams};
use crate::target::Model;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, Func, Map, MathFn, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

/// Whether all innermost loops of whole iterations in lanes wait for values that they carry, with registers for more of them. Loops that
/// store do not: arrays of iterations are in memory, and more lanes of them exceed a first-level cache.
fn waits(func: &Func, map: &Map, model: &Model) -> bool {
    let classes = Classes::of(map);
    let loops = innermost(func, &classes, map);
    let waits = |carried: &Option<Carried>| carried.as_ref().is_some_and(|own| own.alive <= model.flight_live as usize);
    !loops.is_empty() && loops.iter().all(waits) && jams(func, map, &classes, model.jam_rows).is_empty()
}

/// Whether groups of more vectors come first, and others behind them. Compilers take as long for each copy of an iteration as for all that
/// is not in lanes, so a long one has no more than one.
pub(crate) fn comes_first(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let map = &*in_lanes(program, func, map);
    !is_long(map, model) && waits(func, map, model)
}

/// Whether the last group has a copy of its own: iterations are short, and lanes part early, or go through all loops together.
pub(crate) fn ends_apart(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let is_short = || !is_long(&in_lanes(program, func, map), model);
    goes_together(program, func, map, model) || part_early(program, func, map) && is_short()
}

/// The groups of the only copy of a long iteration that waits: with more vectors, where all instruction sets have registers for them.
pub(crate) fn with_one_copy(shape: WideShape, program: &Program, func: &Func, map: &Map, model: &Model) -> WideShape {
    let lanes = &*in_lanes(program, func, map);
    let has_more = is_long(lanes, model) && waits(func, lanes, model) && suits_few_registers(program, func, map, model);
    WideShape { groups: if has_more { model.flight as u8 } else { shape.groups }, ..shape }
}

/// Whether an iteration has so many operators that compilers take long for a copy of it.
pub(super) fn is_long(map: &Map, model: &Model) -> bool {
    let mut operators = 0;
    visit::walk_exprs(&map.body, |expr| {
        let is_operator = match expr.kind {
            ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..) => true,
            ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::Load(_) | ExprKind::Field(..) | ExprKind::Struct(..) => {
                false
            }
        };
        operators += u32::from(is_operator);
    });
    operators > model.flight_operators
}

/// Whether half as many registers do: loops keep few numbers alive, or wait so long that it does not matter where these are.
pub(crate) fn suits_few_registers(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let map = &*in_lanes(program, func, map);
    let suits = |own: &Carried| own.is_slow || own.alive <= model.flight_few as usize;
    innermost(func, &Classes::of(map), map).iter().flatten().all(suits)
}

/// Whether lanes leave an innermost loop at different times, and its latencies are short: groups of more lanes go on for longer, which
/// costs short ranges as much as they gain.
pub(crate) fn part_early(program: &Program, func: &Func, map: &Map) -> bool {
    let map = &*in_lanes(program, func, map);
    innermost(func, &Classes::of(map), map).iter().flatten().any(|own| own.parts_early)
}

/// What a loop carries from turn to turn.
struct Carried {
    /// Numbers in lanes that live through it.
    alive: usize,
    /// Whether it has roots or quotients of floats, whose latencies are several times those of other operators.
    is_slow: bool,
    /// Whether lanes leave it at different times, and it has neither these nor functions.
    parts_early: bool,
}

/// The loops and maps inside of a map that have no others in them.
fn innermost(func: &Func, classes: &Classes, map: &Map) -> Vec<Option<Carried>> {
    let mut found = Vec::new();
    visit::walk_stmts(&map.body, |stmt| {
        if is_innermost(stmt) {
            found.push(carried(func, classes, stmt));
        }
    });
    found
}

fn is_innermost(stmt: &Stmt) -> bool {
    let is_loop = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_));
    let mut loops = 0;
    visit::walk_stmts(&Block { stmts: vec![stmt.clone()] }, |inside| loops += usize::from(is_loop(inside)));
    is_loop(stmt) && loops == 1
}

/// What a loop carries, if it carries numbers in lanes and stores nothing. A function that is applied in each lane has chains enough, unless
/// it waits itself.
fn carried(func: &Func, classes: &Classes, stmt: &Stmt) -> Option<Carried> {
    let block = Block { stmts: vec![stmt.clone()] };
    let declared: OrdSet<VarId> = visit::declared(&block).into_iter().collect();
    let mut stores = false;
    let (mut alive, mut carries) = (OrdSet::new(), OrdSet::new());
    visit::walk_vars(&block, |var, role| {
        let is_array = func.vars[var].is_array();
        let writes = match role {
            Role::Write | Role::Update | Role::Argument { .. } => true,
            Role::Declare | Role::Iterate | Role::Read => false,
        };
        stores |= is_array && writes;
        if !is_array && classes.is_varying(var) && !declared.contains(&var) {
            alive.insert(var);
            if writes {
                carries.insert(var);
            }
        }
    });
    let waiting = following(&block, &carries);
    let (mut is_slow, mut applies, mut has_functions) = (false, false, false);
    visit::walk_exprs(&block, |expr| {
        let is_float = expr.ty.scalar().is_some_and(Scalar::is_float);
        let slow = matches!(expr.kind, ExprKind::Binary { op: BinOp::Div, .. } | ExprKind::Math(MathFn::Sqrt, _));
        is_slow |= slow && is_float && classes.varies(expr);
        let applied = matches!(expr.kind, ExprKind::Math(function, _) if is_in_each(function)) && classes.varies(expr);
        has_functions |= applied;
        applies |= applied && !reads_any(expr, &waiting);
    });
    let is_masked = matches!(&stmt.kind, StmtKind::Loop(node) if classes.is_masked_loop(node));
    let parts_early = is_masked && !is_slow && !has_functions;
    (!carries.is_empty() && !stores && !applies).then_some(Carried { alive: alive.len(), is_slow, parts_early })
}

/// What is computed from these variables, and they themselves.
fn following(block: &Block, vars: &OrdSet<VarId>) -> OrdSet<VarId> {
    let mut found = vars.clone();
    loop {
        let known = found.len();
        visit::walk_stmts(block, |stmt| {
            if let StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } = &stmt.kind
                && reads_any(value, &found)
            {
                found.insert(*var);
            }
        });
        if found.len() == known {
            return found;
        }
    }
}

fn reads_any(expr: &Expr, vars: &OrdSet<VarId>) -> bool {
    let mut reads = false;
    visit::walk_subexprs(expr, |expr| reads |= matches!(&expr.kind, ExprKind::Read(var) if vars.contains(var)));
    reads
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
        let flight = |line: &&str| ["reg", "flight", "registers", "last"].iter().any(|word| line.contains(word));
        plan.lines().filter(flight).map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn loops_that_wait_for_what_they_carry_have_more_vectors_in_flight() {
        let more = ["i reg(2)", "flight(4)", "registers(32)", "flight_groups(2)", "last(1)"];
        let long = "v = v * (w - v) + u; w = v - w;";
        assert_eq!(of("float w = v; float u = v + 2;", long), more);
        assert_eq!(of("", ""), ["i reg(2)", "flight(4)", "flight_groups(2)", "last(1)"], "few registers do");
        let short = ["i reg(2)", "flight(4)"];
        assert_eq!(
            of("float w = v; float u = v + 2;", &format!("{long} v = sqrt(v);")),
            short,
            "it waits for the root"
        );
        assert_eq!(of("", "float e = -v; v = exp(e) + v * 0.1;"), short, "it waits for the function");
        assert_eq!(of("", "map { k := [0:M); _u = t[k] * v; } reduce(\"+\", _s, _u, k := [*]); v = v - _s;"), short);
    }

    #[test]
    fn long_iterations_have_one_copy() {
        let most = Model::cpu().flight_operators as usize;
        let before = |operators: usize| -> String { (0..operators).map(|at| format!("v = v * {at}.5;")).collect() };
        assert_eq!(of(&before(most - 2), ""), ["i reg(2)", "flight(4)", "flight_groups(2)", "last(1)"]);
        assert_eq!(of(&before(most - 1), ""), ["i reg(4)"], "few registers do");
        let long = "v = v * (w - v) + u; w = v - w;";
        assert_eq!(of(&format!("float w = v; float u = v + 2; {}", before(most)), long), ["i reg(2)"]);
    }

    #[test]
    fn groups_that_go_through_loops_together_end_with_one_vector() {
        let of = |turn: &str| {
            let text = format!("for (int k = 0; k < 9; k = k + 1) {{ {turn} }}");
            let program = optimised(&format!(
                "function f input float x[N]; input float t[M]; output float y[N];
                {{ map {{ i := [0:N); float a[9]; float v = x[i]; {text} y[i] = v + a[3]; }} }}"
            ));
            let plans = explore(&program, program.entries[0], &Model::cpu(), Limits::default()).plans;
            let plan = plans.iter().find(|plan| plan.name == "wide").expect("a plan").to_string();
            plan.contains("last(1)")
        };
        assert!(of("a[k] = a[k] * v + 3;"));
        assert!(of("a[k] = a[k] * v + t[(long)t[0]];"), "iterations of groups in which a check fails are no copy");
        let much = "for (int n = 0; n < 4; n = n + 1) { v = v * v - 2; }";
        assert!(of(&format!("a[k] = a[k] * v + x[N - 1 - i]; {much}")), "it gathers");
        assert!(!of("for (int n = 0; v < 9; n = n + 1) { v = sqrt(v); } a[k] = v;"), "lanes wait for each other");
    }

    #[test]
    fn others_have_two() {
        let kept = "for (int k = 0; k < 9; k = k + 1) { a[k] = a[k] * v; }";
        assert_eq!(of("float a[9];", kept), ["i reg(2)"], "rows of lanes in memory");
        let apart = "for (int k = 0; k < M; k = k + 1) { float e = x[i] - t[k]; v = v - exp(-e * e); }";
        assert_eq!(of("", apart), ["i reg(2)"], "a function in each lane");
        let many: String = (0..9).map(|at| format!("float a{at} = v + {at};")).collect();
        let changed: String = (0..9).map(|at| format!("a{at} = a{at} * v;")).collect();
        let read: String = (0..9).map(|at| format!("v = v + a{at};")).collect();
        assert_eq!(of(&many, &format!("{changed} {read}")), ["i reg(2)", "last(1)"], "more than registers hold");
    }
}
