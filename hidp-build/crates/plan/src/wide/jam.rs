//! Unroll-and-jam of maps inside of lanes: several iterations of a map share the turns of the loop in each of them.
//!
//! With lanes over sequences, `for (p …) sum += seen[p] * move[p][q]` for each `q` waits for its own sum, and loads `seen[p]`, a vector, for
//! each product. The loop of several `q` at once has as many sums in registers, and loads `seen[p]` once: a register tile of lanes and iterations.

use super::Classes;
use crate::inner_maps;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Access, Block, ExprKind, Func, Loop, Map, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// Variables that loops change, as many as there are registers for in several iterations.
const MOST_CHANGED: usize = 2;

/// What iterations of a map need for themselves where they run together.
#[derive(Clone, Debug, Default)]
pub struct Jam {
    /// Numbers that differ between iterations of the map, its iterator included.
    pub own: OrdSet<VarId>,
    /// Variables of lanes that a loop changes and that live from turn to turn.
    changed: usize,
    /// Whether a loop loads vectors that all these iterations can use.
    shares: bool,
}

impl Jam {
    /// Whether statements are the same in all iterations but for values that are their own: such are lowered once.
    pub fn is_shared(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Declare { var, .. } | StmtKind::Assign { var, .. } => !self.own.contains(var),
            StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => false,
        }
    }
}

/// The maps inside that gain by it, each with its iterator and how many iterations it runs at once, if registers hold the sums of `rows`.
pub fn jams(func: &Func, map: &Map, classes: &Classes, rows: u32) -> Vec<(VarId, u32)> {
    let mut found = Vec::new();
    for inner in inner_maps(&map.body) {
        match (jam(func, inner, classes), &inner.iters[..]) {
            (Some(jam), [iter]) if jam.shares && jam.changed > 0 => found.push((iter.var, rows / jam.changed as u32)),
            (Some(_) | None, _) => found.extend(jams(func, inner, classes, rows)),
        }
    }
    found.retain(|(_, rows)| *rows > 1);
    found
}

/// Whether iterations of a map inside can run together, with what each needs for itself.
pub fn jam(func: &Func, map: &Map, classes: &Classes) -> Option<Jam> {
    let [iter] = &map.iters[..] else { return None };
    if !map.folds.is_empty() || iter.step.as_int() != Some(1) || classes.is_ragged(map) {
        return None;
    }
    let declared: OrdSet<VarId> = visit::declared(&map.body).into_iter().collect();
    let is_number = |var: &VarId| !func.vars[*var].is_array() && func.vars[*var].ty.scalar().is_some();
    if !declared.iter().all(is_number) {
        return None;
    }
    let mut look = Look { classes, declared, jam: Jam { own: OrdSet::from([iter.var]), ..Jam::default() } };
    // Each iteration reads its own elements of what it writes.
    let mut written = OrdSet::new();
    visit::walk_places(&map.body, |place, role| match role {
        Role::Write => _ = written.insert(place.array),
        Role::Declare | Role::Iterate | Role::Read | Role::Update | Role::Argument { .. } => {}
    });
    look.jam.own.extend(written.iter().copied());
    loop {
        let known = look.jam.own.len();
        look.owned(&map.body, false);
        if look.jam.own.len() == known {
            break;
        }
    }
    let together = look.block(&map.body);
    look.jam.own.retain(|var| !written.contains(var));
    together.then_some(look.jam)
}

struct Look<'a> {
    classes: &'a Classes,
    /// What iterations declare.
    declared: OrdSet<VarId>,
    jam: Jam,
}

impl Look<'_> {
    fn is_own(&self, expr: &hidp_ir::par::Expr) -> bool {
        !Effects::of_expr(expr).is_disjoint(&self.jam.own)
    }

    /// Finds variables that are assigned something of one iteration, or where one iteration alone comes.
    fn owned(&mut self, block: &Block, parted: bool) {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Assign { var, value } if parted || self.is_own(value) => _ = self.jam.own.insert(*var),
                StmtKind::If { cond, then, otherwise } => {
                    let parted = parted || self.is_own(cond) || !has_loop(stmt);
                    self.owned(then, parted);
                    self.owned(otherwise, parted);
                }
                StmtKind::Loop(node) => {
                    self.owned(&node.body, parted);
                    self.owned(&node.step, parted);
                }
                StmtKind::Assign { .. }
                | StmtKind::Declare { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Map(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => {}
            }
        }
    }

    /// Whether all iterations come to the same loops, and each of these runs equally often.
    fn block(&mut self, block: &Block) -> bool {
        block.stmts.iter().all(|stmt| match &stmt.kind {
            StmtKind::If { cond, then, otherwise } if has_loop(stmt) => {
                !self.classes.varies(cond) && !self.is_own(cond) && self.block(then) && self.block(otherwise)
            }
            StmtKind::Loop(node) => self.sequential(node),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::If { .. }
            | StmtKind::Require { .. } => self.by_itself(stmt),
            StmtKind::AssignField { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. } => false,
        })
    }

    /// A statement that each iteration has for itself, without loops or jumps, and elements that are nobody else's.
    fn by_itself(&self, stmt: &Stmt) -> bool {
        let one = Block { stmts: vec![stmt.clone()] };
        let mut plain = true;
        visit::walk_stmts(&one, |stmt| {
            plain &= match &stmt.kind {
                StmtKind::Assign { var, .. } => self.declared.contains(var),
                StmtKind::Declare { .. } | StmtKind::Store { .. } | StmtKind::If { .. } | StmtKind::Require { .. } => {
                    true
                }
                StmtKind::AssignField { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Map(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. } => false,
            };
        });
        visit::walk_places(&one, |place, _| plain &= place.access == Access::Exclusive);
        plain
    }

    /// A loop of numbers: what it changes for each iteration stays in registers.
    fn sequential(&mut self, node: &Loop) -> bool {
        let numbers = |block: &Block, shared: bool| {
            block.stmts.iter().all(|stmt| match &stmt.kind {
                StmtKind::Declare { .. } => self.by_itself(stmt),
                StmtKind::Assign { var, .. } => self.by_itself(stmt) && !(shared && self.jam.own.contains(var)),
                StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::If { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Map(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => false,
            })
        };
        let even = !self.classes.is_masked_loop(node) && !self.is_own(&node.cond) && !self.classes.varies(&node.cond);
        if !even || !numbers(&node.body, false) || !numbers(&node.step, true) {
            return false;
        }
        let inside: OrdSet<VarId> = visit::declared(&node.body).into_iter().collect();
        let mut changed: OrdSet<VarId> = OrdSet::new();
        for stmt in &node.body.stmts {
            if let StmtKind::Assign { var, .. } = &stmt.kind
                && self.jam.own.contains(var)
                && self.classes.is_varying(*var)
                && !inside.contains(var)
            {
                changed.insert(*var);
            }
        }
        let mut shares = false;
        visit::walk_exprs(&node.body, |expr| {
            shares |= matches!(expr.kind, ExprKind::Load(_)) && self.classes.varies(expr) && !self.is_own(expr);
        });
        self.jam.changed = self.jam.changed.max(changed.len());
        self.jam.shares |= shares;
        changed.len() <= MOST_CHANGED
    }
}

/// Whether a loop is in a statement.
pub fn has_loop(stmt: &Stmt) -> bool {
    let mut found = false;
    visit::walk_stmts(&Block { stmts: vec![stmt.clone()] }, |stmt| found |= matches!(stmt.kind, StmtKind::Loop(_)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, Mapping, explore, notation};
    use hidp_ir::par::Program;

    const SUM: &str = "float s = 0; for (int k = 0; k < 8; k = k + 1) { s = s * 3 + v[k] * b[k][n]; } c[r][n] = s;";
    const OWN: &str = "float s = 0; for (int k = 0; k < 8; k = k + 1) { s = s * 3 + b[k][n]; } c[r][n] = s * v[0];";

    fn program(body: &str) -> Program {
        optimised(&format!(
            "function f input float a[R][K], b[K][N]; input long few[N]; output float c[R][N];
            {{ map {{ r := [0:R); float v[8]; map {{ k := [0:8); v[k] = a[r][k]; }}
               for (int t = 0; t < 9; t = t + 1) {{ map {{ n := [0:N); {body} }} }} }} }}"
        ))
    }

    /// How many iterations of the maps inside run at once.
    fn of(body: &str) -> Vec<u32> {
        let program = program(body);
        let func = &program.funcs[program.entries[0]];
        let map = *nests(func).last().expect("a nest");
        jams(func, map, &Classes::of(map), 8).into_iter().map(|(_, rows)| rows).collect()
    }

    #[test]
    fn loops_that_share_vectors_run_together() {
        assert_eq!(of(SUM), [8]);
        assert_eq!(of(&format!("if (t > 3) {{ {SUM} }} else {{ c[r][n] = t; }}")), [8]);
        let two = "float s = 0; float m = 0; for (int k = 0; k < 8; k = k + 1) { float x = v[k] * b[k][n]; s = s * 3 + x; m = max(m, x); } c[r][n] = s + m;";
        assert_eq!(of(two), [4]);
    }

    #[test]
    fn others_run_one_after_the_other() {
        assert_eq!(of(OWN), [] as [u32; 0], "no vector is shared");
        let unlike = "float s = 0; for (int k = 0; k < few[n]; k = k + 1) { s = s * 3 + v[k & 7]; } c[r][n] = s;";
        assert_eq!(of(unlike), [] as [u32; 0], "loops of unlike length");
        let stored = "c[r][n] = 0; for (int k = 0; k < 8; k = k + 1) { c[r][n] = c[r][n] * 3 + v[k]; }";
        assert_eq!(of(stored), [] as [u32; 0], "sums in memory");
        let parted = "float s = 0; if (n > t) { for (int k = 0; k < 8; k = k + 1) { s = s * 3 + v[k]; } } c[r][n] = s;";
        assert_eq!(of(parted), [] as [u32; 0], "not all come to the loop");
    }

    /// What becomes of lines that are changed.
    fn read(body: &str, from: &str, to: &str) -> Result<(), String> {
        let program = program(body);
        let func = program.entries[0];
        let limits = Limits { variants: true, ..Limits::default() };
        let plans = explore(&program, func, &Model::cpu(), limits).plans;
        let plan = plans.iter().find(|plan| plan.name == "wide").expect("a plan").to_string();
        assert!(plan.contains(from), "{plan}");
        let changed = notation::read(&plan.replace(from, to)).expect("a plan");
        let (func, nest) = (&program.funcs[func], changed.nests.last().expect("a nest"));
        let map = *nests(func).last().expect("a nest");
        Mapping::read(&program, func, map, nest).map(|_| ()).map_err(|why| why.to_string())
    }

    #[test]
    fn lines_say_how_many_run_together() {
        assert_eq!(read(SUM, "n reg(4)", "n reg(3)"), Ok(()));
        assert_eq!(read(SUM, "  n reg(4)\n", ""), Ok(()));
        let none = "iterations of `n` share no loop that loads vectors for all of them";
        assert_eq!(read(OWN, "n seq", "n seq\n  n reg(4)"), Err(none.into()));
    }
}
