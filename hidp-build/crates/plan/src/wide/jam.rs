//! Unroll-and-jam of maps inside of lanes: several iterations of a map share the turns of the loop in each of them.
//!
//! With lanes over sequences, `for (p …) sum += seen[p] * move[p][q]` for each `q` waits for its own sum, and loads `seen[p]`, a vector, for
//! each product. The loop of several `q` at once has as many sums in registers, and loads `seen[p]` once: a register tile of lanes and iterations.

use super::Classes;
use crate::inner_maps;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Access, Block, Expr, ExprKind, Func, Loop, Map, Stmt, StmtKind, VarId};
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
    /// How many iterations run at once, if registers hold the sums of `rows`.
    fn rows(&self, rows: u32) -> Result<u32, Apart> {
        require(self.shares && self.changed > 0, NOTHING_SHARED)?;
        let at_once = rows / self.changed as u32;
        require(at_once > 1, MANY)?;
        Ok(at_once)
    }

    /// Whether statements are the same in all iterations but for values that are their own: such are lowered once.
    pub fn is_shared(&self, stmt: &Stmt) -> bool {
        match Part::of(stmt) {
            Part::Declare(var) | Part::Assign(var, _) => !self.own.contains(&var),
            Part::Store | Part::Check | Part::If { .. } | Part::Loop(_) | Part::Never(_) => false,
        }
    }
}

/// Why iterations run one after the other, as what they do.
pub type Apart = &'static str;

/// A statement of iterations that run together.
enum Part<'a> {
    Declare(VarId),
    Assign(VarId, &'a Expr),
    Store,
    Check,
    If {
        cond: &'a Expr,
        then: &'a Block,
        otherwise: &'a Block,
    },
    Loop(&'a Loop),
    /// No such iteration has one.
    Never(Apart),
}

impl Part<'_> {
    fn of(stmt: &Stmt) -> Part<'_> {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => Part::Declare(*var),
            StmtKind::Assign { var, value } => Part::Assign(*var, value),
            StmtKind::Store { .. } => Part::Store,
            StmtKind::Require { .. } => Part::Check,
            StmtKind::If { cond, then, otherwise } => Part::If { cond, then, otherwise },
            StmtKind::Loop(node) => Part::Loop(node),
            StmtKind::AssignField { .. } => Part::Never("assign fields of structs"),
            StmtKind::Atomic { .. } => Part::Never("update elements that others update, too"),
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Leave | StmtKind::Scope(_) => {
                Part::Never("leave loops or blocks early")
            }
            StmtKind::Map(_) => Part::Never("have maps inside"),
            StmtKind::Prim(_) | StmtKind::Call { .. } => Part::Never("call a primitive or a function with arrays"),
            StmtKind::Swap(..) => Part::Never("exchange arrays"),
        }
    }
}

const ITERATORS: Apart = "have several iterators";
const FOLDED: Apart = "are folded";
const STEPS: Apart = "advance by more than one";
const RAGGED: Apart = "differ in number from lane to lane";
const NUMBERS: Apart = "declare arrays or structs";
const PARTED: Apart = "come to a loop in some lanes only";
const COMMON: Apart = "assign what all of them have in common";
const OTHERS: Apart = "access elements that others may write";
const UNLIKE: Apart = "have loops of unlike length";
const LOOPS: Apart = "have loops inside of loops or branches without others";
const MEMORY: Apart = "have loops that do more than to assign numbers";
const MANY: Apart = "change more numbers in a loop than registers hold";
pub(crate) const NOTHING_SHARED: Apart = "share no loop that loads vectors for all of them";

/// The maps inside that gain by it, each with its iterator and how many iterations it runs at once, if registers hold the sums of `rows`.
pub fn jams(func: &Func, map: &Map, classes: &Classes, rows: u32) -> Vec<(VarId, u32)> {
    let tried = tried(func, map, classes, rows).into_iter();
    tried.filter_map(|(var, rows)| Some((var, rows.ok()?))).collect()
}

/// The same of all maps inside, with why others do not.
pub(crate) fn tried(func: &Func, map: &Map, classes: &Classes, rows: u32) -> Vec<(VarId, Result<u32, Apart>)> {
    let mut found = Vec::new();
    for inner in inner_maps(&map.body) {
        let at_once = jam(func, inner, classes).and_then(|jam| jam.rows(rows));
        found.extend(inner.iters.iter().map(|iter| (iter.var, at_once)));
        if at_once.is_err() {
            found.extend(tried(func, inner, classes, rows));
        }
    }
    found
}

/// Whether iterations of a map inside can run together, with what each needs for itself.
pub fn jam(func: &Func, map: &Map, classes: &Classes) -> Result<Jam, Apart> {
    let [iter] = &map.iters[..] else { return Err(ITERATORS) };
    let declared: OrdSet<VarId> = visit::declared(&map.body).into_iter().collect();
    let is_number = |var: &VarId| !func.vars[*var].is_array() && func.vars[*var].ty.scalar().is_some();
    let conditions = [
        (map.folds.is_empty(), FOLDED),
        (iter.step.as_int() == Some(1), STEPS),
        (!classes.is_ragged(map), RAGGED),
        (declared.iter().all(is_number), NUMBERS),
    ];
    conditions.into_iter().try_for_each(|(holds, why)| require(holds, why))?;
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
    look.block(&map.body)?;
    look.jam.own.retain(|var| !written.contains(var));
    Ok(look.jam)
}

fn require(holds: bool, why: Apart) -> Result<(), Apart> {
    if holds { Ok(()) } else { Err(why) }
}

struct Look<'a> {
    classes: &'a Classes,
    /// What iterations declare.
    declared: OrdSet<VarId>,
    jam: Jam,
}

impl Look<'_> {
    fn is_own(&self, expr: &Expr) -> bool {
        !Effects::of_expr(expr).is_disjoint(&self.jam.own)
    }

    /// Finds variables that are assigned something of one iteration, or where one iteration alone comes.
    fn owned(&mut self, block: &Block, parted: bool) {
        for stmt in &block.stmts {
            match Part::of(stmt) {
                Part::Assign(var, value) if parted || self.is_own(value) => _ = self.jam.own.insert(var),
                Part::If { cond, then, otherwise } => {
                    let parted = parted || self.is_own(cond) || !has_loop(stmt);
                    self.owned(then, parted);
                    self.owned(otherwise, parted);
                }
                Part::Loop(node) => {
                    self.owned(&node.body, parted);
                    self.owned(&node.step, parted);
                }
                Part::Assign(..) | Part::Declare(_) | Part::Store | Part::Check | Part::Never(_) => {}
            }
        }
    }

    /// All iterations come to the same loops, and each of these runs equally often.
    fn block(&mut self, block: &Block) -> Result<(), Apart> {
        block.stmts.iter().try_for_each(|stmt| match Part::of(stmt) {
            Part::If { cond, then, otherwise } if has_loop(stmt) => {
                require(!self.classes.varies(cond) && !self.is_own(cond), PARTED)?;
                self.block(then)?;
                self.block(otherwise)
            }
            Part::Loop(node) => self.sequential(node),
            Part::Declare(_) | Part::Assign(..) | Part::Store | Part::Check | Part::If { .. } => self.by_itself(stmt),
            Part::Never(why) => Err(why),
        })
    }

    /// A statement that each iteration has for itself, without loops or jumps, and elements that are nobody else's.
    fn by_itself(&self, stmt: &Stmt) -> Result<(), Apart> {
        let one = Block { stmts: vec![stmt.clone()] };
        let mut plain = Ok(());
        visit::walk_stmts(&one, |stmt| {
            plain = plain.and(match Part::of(stmt) {
                Part::Assign(var, _) => require(self.declared.contains(&var), COMMON),
                Part::Declare(_) | Part::Store | Part::Check | Part::If { .. } => Ok(()),
                Part::Loop(_) => Err(LOOPS),
                Part::Never(why) => Err(why),
            });
        });
        visit::walk_places(&one, |place, _| plain = plain.and(require(place.access == Access::Exclusive, OTHERS)));
        plain
    }

    /// A block of a loop that only computes numbers; those of its step are the same in all iterations.
    fn numbers(&self, block: &Block, shared: bool) -> Result<(), Apart> {
        block.stmts.iter().try_for_each(|stmt| match Part::of(stmt) {
            Part::Declare(_) => self.by_itself(stmt),
            Part::Assign(var, _) => {
                require(!(shared && self.jam.own.contains(&var)), UNLIKE)?;
                self.by_itself(stmt)
            }
            Part::Store | Part::Check | Part::If { .. } | Part::Loop(_) => Err(MEMORY),
            Part::Never(why) => Err(why),
        })
    }

    /// A loop of numbers: what it changes for each iteration stays in registers.
    fn sequential(&mut self, node: &Loop) -> Result<(), Apart> {
        let even = !self.classes.is_masked_loop(node) && !self.is_own(&node.cond) && !self.classes.varies(&node.cond);
        require(even, UNLIKE)?;
        self.numbers(&node.body, false)?;
        self.numbers(&node.step, true)?;
        let inside: OrdSet<VarId> = visit::declared(&node.body).into_iter().collect();
        let changed: OrdSet<VarId> = node.body.stmts.iter().filter_map(|stmt| self.changed(stmt, &inside)).collect();
        let mut shares = false;
        visit::walk_exprs(&node.body, |expr| {
            shares |= matches!(expr.kind, ExprKind::Load(_)) && self.classes.varies(expr) && !self.is_own(expr);
        });
        self.jam.changed = self.jam.changed.max(changed.len());
        self.jam.shares |= shares;
        require(changed.len() <= MOST_CHANGED, MANY)
    }

    /// What a statement of a loop changes in lanes for the turns after it.
    fn changed(&self, stmt: &Stmt, inside: &OrdSet<VarId>) -> Option<VarId> {
        match Part::of(stmt) {
            Part::Assign(var, _) => {
                let own = self.jam.own.contains(&var) && self.classes.is_varying(var) && !inside.contains(&var);
                own.then_some(var)
            }
            Part::Declare(_) | Part::Store | Part::Check | Part::If { .. } | Part::Loop(_) | Part::Never(_) => None,
        }
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
        let refused = |body: &str| read(body, "n seq", "n seq\n  n reg(4)").expect_err("iterations run apart");
        assert_eq!(refused(OWN), "iterations of `n` share no loop that loads vectors for all of them");
        let early = SUM.replace("s = s * 3", "if (s > 9) { break; } s = s * 3");
        assert_eq!(refused(&early), "iterations of `n` have loops of unlike length");
    }
}
