//! Branches that lanes leave to iterations in order: ways to compute the same for what another branch does not hold.
//!
//! A branch may have tables of two sizes where the other one has lines, as a recurrence has for sizes that exceed an `int`, or arrays whose sizes are
//! known in the iteration alone, as for long ones of many sequences. Memory for such in all lanes would keep the nest out of lanes, or to a few elements. So a lane that takes the branch leaves its group as if a check failed there, and the
//! iterations of the group run in order.
//!
//! There are ways that only lanes are to take, too (`Program::lanes`).

use std::borrow::Cow;

use hidp_ir::par::effects::{Effects, expr_may_fault};
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{Block, Const, Expr, ExprKind, FaultKind, Func, Map, Program, Stmt, StmtKind, UnOp, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// A map as lanes run it: in place of a branch that they leave, a test stands that the other one is taken.
pub fn in_lanes<'a>(program: &Program, func: &Func, map: &'a Map) -> Cow<'a, Map> {
    let unknown = unknown(program, func, map);
    let leave = Leave { program, func, unknown };
    if !leave.has_apart(&map.body) && !asks_for_lanes(program, map) {
        return Cow::Borrowed(map);
    }
    let mut map = map.clone();
    { leave }.visit_block(&mut map.body);
    Cow::Owned(map)
}

/// What is not known before the first group.
pub(super) fn unknown(program: &Program, func: &Func, map: &Map) -> OrdSet<VarId> {
    let effects = Effects::of_block(program, &func.vars, &map.body);
    let mut unknown: OrdSet<VarId> = effects.writes.union(&effects.declares).copied().collect();
    unknown.extend(map.iters.last().map(|iter| iter.var));
    unknown
}

/// Whether lanes have ways of their own.
pub(crate) fn asks_for_lanes(program: &Program, map: &Map) -> bool {
    let mut found = false;
    if program.lanes.is_some() {
        visit::walk_exprs(&map.body, |expr| found |= is_question(program, expr));
    }
    found
}

/// Whether only lanes take the first side of a branch with this condition.
pub fn is_for_lanes(program: &Program, cond: &Expr) -> bool {
    if let ExprKind::Lazy { and: true, left, .. } = &cond.kind {
        is_for_lanes(program, left)
    } else {
        is_question(program, cond)
    }
}

/// Whether devices take that side, too, where the rest of the condition holds; this rest.
pub fn is_for_devices(program: &Program, cond: &Expr) -> Option<Expr> {
    let mut on_device = false;
    visit::walk_subexprs(cond, |expr| {
        if let ExprKind::Call(_, args) = &expr.kind
            && is_question(program, expr)
        {
            on_device |= matches!(&args[..], [Expr { kind: ExprKind::Const(Const::Bool(true)), .. }]);
        }
    });
    let mut rest = cond.clone();
    Answer { program }.visit_expr(&mut rest);
    on_device.then_some(rest)
}

fn is_question(program: &Program, expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Call(function, _) if Some(function) == program.lanes)
}

/// The length of the longest array of constant size that lanes have where they leave a branch for it: iterations of longer ones leave.
pub(crate) fn held(program: &Program, func: &Func, map: &Map) -> Option<i64> {
    let leave = Leave { program, func, unknown: unknown(program, func, map) };
    let mut held = None;
    visit::walk_stmts(&map.body, |stmt| {
        let StmtKind::If { then, otherwise, .. } = &stmt.kind else { return };
        let Some(left) = leave.left(then, otherwise) else { return };
        for var in visit::declared(if left { otherwise } else { then }) {
            let extents = func.vars[var].shape.iter().filter_map(Expr::as_int);
            held = held.max(extents.filter_map(|extent| i64::try_from(extent).ok()).max());
        }
    });
    held
}

/// Whether a block computes more than a few values.
fn computes(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
    found
}

struct Leave<'a> {
    program: &'a Program,
    func: &'a Func,
    /// What is not known before the first group.
    unknown: OrdSet<VarId>,
}

impl Leave<'_> {
    /// Whether a block declares an array of which several extents are no constants, or one is known in the iteration alone.
    fn has_apart(&self, block: &Block) -> bool {
        let mut found = false;
        visit::walk_stmts(block, |stmt| {
            if let StmtKind::Declare { var, .. } = &stmt.kind {
                let sizes: Vec<&Expr> =
                    self.func.vars[*var].shape.iter().filter(|extent| extent.as_int().is_none()).collect();
                found |= sizes.len() > 1 || sizes.into_iter().any(|extent| !self.is_known(extent));
            }
        });
        found
    }

    fn is_known(&self, extent: &Expr) -> bool {
        Effects::of_expr(extent).is_disjoint(&self.unknown) && !expr_may_fault(self.program, extent)
    }

    /// The side of a branch that lanes leave: whether it is the one behind a true condition.
    fn left(&self, then: &Block, otherwise: &Block) -> Option<bool> {
        if ![then, otherwise].into_iter().all(computes) {
            return None;
        }
        match [then, otherwise].map(|side| self.has_apart(side)) {
            [true, false] => Some(true),
            [false, true] => Some(false),
            [true, true] | [false, false] => None,
        }
    }
}

impl Mutator for Leave<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            // Of a side, what is left when it has been done itself.
            change::walk_stmt(self, &mut stmt);
            let side =
                if let StmtKind::If { then, otherwise, .. } = &stmt.kind { self.left(then, otherwise) } else { None };
            match (side, stmt.kind) {
                (Some(left), StmtKind::If { cond, then, otherwise }) => {
                    let (cond, mut taken) = if left { (not(cond), otherwise) } else { (cond, then) };
                    let kind = StmtKind::Require { cond, fault: FaultKind::Index, values: Vec::new() };
                    block.stmts.push(Stmt { kind, span: stmt.span });
                    block.stmts.append(&mut taken.stmts);
                }
                (_, kind) => block.stmts.push(Stmt { kind, span: stmt.span }),
            }
        }
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        if self.program.lanes.is_some() {
            Answer { program: self.program }.visit_expr(expr);
        }
    }
}

/// Says yes to the question whether iterations are in lanes.
struct Answer<'a> {
    program: &'a Program,
}

impl Mutator for Answer<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if is_question(self.program, expr) {
            expr.kind = ExprKind::Const(Const::Bool(true));
        }
        if let ExprKind::Lazy { and: true, left, right } = &expr.kind
            && left.kind == ExprKind::Const(Const::Bool(true))
        {
            *expr = (**right).clone();
        }
    }
}

fn not(cond: Expr) -> Expr {
    let span = cond.span;
    Expr { kind: ExprKind::Unary(UnOp::Not, Box::new(cond)), ty: Ty::BOOL, span }
}

#[cfg(test)]
mod tests {
    use super::super::limits;
    use super::{asks_for_lanes, in_lanes, is_for_devices, is_for_lanes};
    use crate::testing::optimised;
    use hidp_ir::par::{ExprKind, Map, StmtKind, visit};

    /// The arrays that limit lanes where iterations do this, and how many tests stand in place of branches.
    fn limited(iteration: &str) -> (Vec<String>, usize) {
        let text = format!(
            "function f input int x[N], t[M]; output int y[N];
            {{ map {{ i := [0:N); int s = 0; {iteration} y[i] = s; }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        let mut nest: Option<Map> = None;
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Map(map) = &stmt.kind
                && map.folds.is_empty()
            {
                nest = Some(map.clone());
            }
        });
        let map = &nest.expect("a nest");
        let mut tests = 0;
        visit::walk_stmts(&in_lanes(&program, func, map).body, |stmt| {
            tests += usize::from(matches!(stmt.kind, StmtKind::Require { .. }));
        });
        let arrays = limits(&program, func, map);
        (arrays.iter().map(|limit| func.vars[limit.array].name.clone()).collect(), tests)
    }

    const LINE: &str = "int v[M]; for (long k = 0; k < M; k += 1) { v[k] = x[i]; } for (long k = 0; k < M; k += 1) { s = s * 2 + v[k]; }";
    const TABLE: &str = "int w[M][M]; for (long k = 0; k < M; k += 1) { w[k][M - 1 - k] = x[i]; } for (long k = 0; k < M; k += 1) { s = s * 2 + w[k][k]; }";

    #[test]
    fn a_branch_with_a_table_is_left_where_the_other_one_has_none() {
        for (then, otherwise) in [(LINE, TABLE), (TABLE, LINE)] {
            let branch = format!("if (x[i] < 3) {{ {then} }} else {{ {otherwise} }}");
            assert_eq!(limited(&branch), (vec!["v".to_owned()], 1), "{branch}");
        }
    }

    #[test]
    fn lanes_alone_take_ways_of_their_own() {
        let text = "recurrence int d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
            { if (i == 0 || j == 0) return 0; return max(d(i-1, j-1) + (s[i-1] == t[j-1] ? 2 : -1), max(d(i-1, j), d(i, j-1)) - 1); }
            function f input uint8 s[N], t[Z]; input long first[R+1]; output int best[R];
            { map { r := [0:R); reduce(\"max\", best[r], d(; s = s, t = t[first[r]:first[r+1])), i := [*], j := [*]); } }";
        let program = optimised(text);
        let func = &program.funcs[program.entries[0]];
        let mut found: Option<Map> = None;
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Map(map) = &stmt.kind
                && asks_for_lanes(&program, map)
            {
                found = Some(map.clone());
            }
        });
        let map = &found.expect("lanes have a way of their own");
        let (mut branches, mut devices) = (0, 0);
        visit::walk_stmts(&map.body, |stmt| {
            let StmtKind::If { cond, .. } = &stmt.kind else { return };
            branches += usize::from(is_for_lanes(&program, cond));
            devices += usize::from(is_for_devices(&program, cond).is_some());
        });
        assert_eq!((branches, devices), (1, 0), "others leave it out");
        assert!(!asks_for_lanes(&program, &in_lanes(&program, func, map)));
        let arrays = limits(&program, func, map);
        assert_eq!(arrays.iter().map(|limit| &func.vars[limit.array].name[..]).collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn steps_of_sections_are_tested_once() {
        let text = "recurrence int d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
            { if (i == 0) return j; if (j == 0) return i;
              return min(d(i-1, j-1) + (s[i-1] == t[j-1] ? 0 : 1), min(d(i-1, j), d(i, j-1)) + 1); }
            function f input uint8 s[Y], t[Z]; input long a[R+1], b[R+1]; output int y[R];
            { map { r := [0:R); y[r] = d(a[r+1]-a[r], b[r+1]-b[r]; s = s[a[r]:a[r+1]), t = t[b[r]:b[r+1])); } }";
        let program = optimised(text);
        let (mut steps, mut tested, mut short) = (0, 0, None);
        visit::walk_stmts(&program.funcs[program.entries[0]].body, |stmt| {
            if let StmtKind::If { cond, .. } = &stmt.kind {
                short =
                    short.take().or_else(|| is_for_devices(&program, cond).filter(|_| is_for_lanes(&program, cond)));
            }
            let StmtKind::Loop(node) = &stmt.kind else { return };
            visit::walk_stmts(&node.body, |stmt| {
                let StmtKind::Map(map) = &stmt.kind else { return };
                steps += 1;
                visit::walk_places(&map.body, |place, _| tested += usize::from(place.unproved != 0));
            });
        });
        assert!(steps > 0 && tested == 0, "{tested} tests in {steps} steps");
        assert!(matches!(short.map(|rest| rest.kind), Some(ExprKind::Read(_))), "short ones are for lanes and devices");
    }

    /// Whether lanes have a way of their own to find the greatest cell of a table of such gaps, of which some cells stand for no value.
    fn asks_for_greatest(table: &str) -> bool {
        let text = format!(
            "recurrence int both(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
            {{ if (i == 0 || j == 0) return 0; return max(max(0, both(i-1, j-1) + (s[i-1] == t[j-1] ? 2 : -1)), max(gap(i, j), up(i, j))); }}
            recurrence int gap(i := [0:N], j := [0:M])
            {{ if (j == 0) return -100000000; return max(gap(i, j-1) - 1, both(i, j-1) - 3); }}
            recurrence int up(i := [0:N], j := [0:M])
            {{ if (i == 0) return -100000000; return max(up(i-1, j) - 1, both(i-1, j) - 3); }}
            function f input uint8 s[N], t[Z]; input long first[R+1]; output int best[R];
            {{ map {{ r := [0:R); reduce(\"max\", best[r], {table}(; s = s, t = t[first[r]:first[r+1])), i := [*], j := [*]); }} }}"
        );
        let program = optimised(&text);
        let mut found = false;
        visit::walk_stmts(&program.funcs[program.entries[0]].body, |stmt| {
            found |= matches!(&stmt.kind, StmtKind::Map(map) if asks_for_lanes(&program, map));
        });
        found
    }

    #[test]
    fn lanes_do_not_find_the_greatest_cell_where_all_may_stand_for_none() {
        assert!(asks_for_greatest("both"), "a cell of the first row is 0");
        assert!(!asks_for_greatest("gap"), "one with an empty sequence has no other cells");
    }

    #[test]
    fn tables_that_have_no_alternative_stay() {
        let few = format!("if (x[i] < 3) {{ {TABLE} }} else {{ s = 1; }}");
        assert_eq!(limited(&few), (vec!["w".to_owned()], 0));
        let both = format!("if (x[i] < 3) {{ {TABLE} }} else {{ {} }}", TABLE.replace('w', "u"));
        assert_eq!(limited(&both).1, 0);
    }
}
