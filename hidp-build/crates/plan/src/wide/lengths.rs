//! How long iterations take, where that is known before they begin: lanes that get iterations of similar lengths together wait less for each other.

use super::{Classes, in_lanes, packed};
use crate::choices::Facts;
use crate::mapping::Strategy;
use crate::shape::{Stride, stride_of};
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Access, BinOp, Block, Expr, ExprKind, Func, Map, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Ty;

/// Subexpressions that a length has at most: each iteration computes it once more.
const MOST_PARTS: usize = 48;

/// Whether iterations of a nest in lanes may be sorted by their lengths.
pub(crate) fn has_lengths(facts: &Facts<'_>, map: &Map) -> bool {
    facts.mapping.strategy == Strategy::Wide && length(facts.program, facts.func, map).is_some()
}

/// What the turns of the longest loop of an iteration follow, a `long` that can be computed before it, without a check. `None` where lanes
/// have no loops of different lengths with others inside, or iterations are not to be taken in another order.
pub fn length(program: &Program, func: &Func, map: &Map) -> Option<Expr> {
    let map = &*in_lanes(program, func, map);
    let classes = Classes::of(map);
    let [iter] = &map.iters[..] else { return None };
    if !map.folds.is_empty() || !is_apart(program, func, map) || !packed(program, func, map, &classes).is_empty() {
        return None;
    }
    let changes = unknown(program, func, map);
    if has_neighbours(map, iter.var, &classes, &changes) {
        return None;
    }
    let mut search = Search { program, func, classes: &classes, unknown: changes, known: OrdMap::new() };
    search.unknown.remove(&iter.var);
    search.block(&map.body, &mut true)
}

/// Whether no iteration reads what one of them writes: in whatever order they run, and however often, they leave the same.
fn is_apart(program: &Program, func: &Func, map: &Map) -> bool {
    let effects = Effects::of_block(program, &func.vars, &map.body);
    let mut apart = effects.outer_writes().is_disjoint(&effects.reads);
    visit::walk_stmts(&map.body, |stmt| apart &= !matches!(stmt.kind, StmtKind::Atomic { .. } | StmtKind::Prim(_)));
    visit::walk_places(&map.body, |place, _| apart &= place.access != Access::Shared);
    apart
}

/// Whether loops access elements that are neighbours in neighbouring iterations, others in each turn: those of other lanes are gathered.
fn has_neighbours(map: &Map, lane: VarId, classes: &Classes, changes: &OrdSet<VarId>) -> bool {
    let mut others = classes.varying().clone();
    others.remove(&lane);
    let mut found = false;
    visit::walk_stmts(&map.body, |stmt| {
        let Some(body) = repeated(stmt) else { return };
        visit::walk_places(body, |place, _| {
            let mut moves = false;
            for index in &place.index {
                visit::walk_expr_vars(index, |var, _| moves |= var != lane && changes.contains(&var));
            }
            found |= moves && stride_of(place, lane, &others) == Stride::Unit;
        });
    });
    found
}

/// What a loop or a map does again and again.
fn repeated(stmt: &Stmt) -> Option<&Block> {
    match &stmt.kind {
        StmtKind::Loop(node) => Some(&node.body),
        StmtKind::Map(map) => Some(&map.body),
        StmtKind::If { .. }
        | StmtKind::Prim(_)
        | StmtKind::Scope(_)
        | StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Return(_)
        | StmtKind::Swap(..)
        | StmtKind::Require { .. }
        | StmtKind::Call { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Leave => None,
    }
}

/// What an iteration writes and declares.
fn unknown(program: &Program, func: &Func, map: &Map) -> OrdSet<VarId> {
    let effects = Effects::of_block(program, &func.vars, &map.body);
    effects.writes.union(&effects.declares).copied().collect()
}

struct Search<'a> {
    program: &'a Program,
    func: &'a Func,
    classes: &'a Classes,
    /// What differs from place to place in an iteration.
    unknown: OrdSet<VarId>,
    /// Variables with what they are before the iteration begins.
    known: OrdMap<VarId, Expr>,
}

impl Search<'_> {
    /// The first length in a block that all lanes run. `sure` says that no check and no branch is before it: later
    /// loads and quotients may be proved by these.
    fn block(&mut self, block: &Block, sure: &mut bool) -> Option<Expr> {
        for stmt in &block.stmts {
            if let Some(length) = self.of_loop(stmt, *sure).or_else(|| self.inside(stmt, sure)) {
                return Some(length);
            }
            let of_stmt = Block { stmts: vec![stmt.clone()] };
            *sure &= !effects::may_fault(self.program, &self.func.vars, &of_stmt) && !effects::may_jump(&of_stmt);
            let assigned = if let StmtKind::Assign { var, value } = &stmt.kind {
                self.before(value, *sure).map(|value| (*var, value))
            } else {
                None
            };
            visit::walk_stmt_vars(stmt, |var, role| match role {
                Role::Write | Role::Update | Role::Declare | Role::Argument { .. } => {
                    self.known.remove(&var);
                }
                Role::Iterate | Role::Read => {}
            });
            self.known.extend(assigned);
        }
        None
    }

    /// The first length in a statement that holds others, and is no loop.
    fn inside(&mut self, stmt: &Stmt, sure: &mut bool) -> Option<Expr> {
        if let StmtKind::Scope(inside) = &stmt.kind {
            return self.block(inside, sure);
        }
        let StmtKind::If { cond, then, otherwise } = &stmt.kind else { return None };
        if self.classes.varies(cond) {
            return None;
        }
        let known = self.known.clone();
        for side in [then, otherwise] {
            if let Some(length) = self.block(side, &mut false) {
                return Some(length);
            }
            self.known.clone_from(&known);
        }
        None
    }

    /// What the turns of a loop follow, if they differ from lane to lane, and each has a loop inside.
    fn of_loop(&self, stmt: &Stmt, sure: bool) -> Option<Expr> {
        let inside = repeated(stmt)?;
        let length = if let StmtKind::Map(map) = &stmt.kind {
            let [iter] = &map.iters[..] else { return None };
            let (lo, hi) = (self.before(&iter.lo, sure)?, self.before(&iter.hi, sure)?);
            Expr::long(BinOp::Sub, hi, lo)
        } else if let StmtKind::Loop(node) = &stmt.kind {
            let ExprKind::Binary { op: BinOp::Lt | BinOp::Le, right, .. } = &node.cond.kind else { return None };
            self.before(right, sure)?
        } else {
            return None;
        };
        let mut has_loops = false;
        visit::walk_stmts(inside, |stmt| has_loops |= repeated(stmt).is_some());
        (has_loops && length.ty == Ty::LONG && self.classes.varies(&length)).then_some(length)
    }

    /// An expression as it can be computed before the iteration begins.
    fn before(&self, expr: &Expr, sure: bool) -> Option<Expr> {
        let mut guarded = false;
        visit::walk_subexprs(expr, |expr| guarded |= may_be_guarded(&expr.kind));
        let mut expr = expr.clone();
        visit::substitute_expr(&mut expr, |var| self.known.get(&var).cloned());
        let mut parts = 0;
        visit::walk_subexprs(&expr, |_| parts += 1);
        let mut known = parts <= MOST_PARTS;
        visit::walk_expr_vars(&expr, |var, _| known &= !self.unknown.contains(&var));
        let is_scalar = expr.ty.scalar().is_some();
        let faults = effects::expr_may_fault(self.program, &expr);
        (known && is_scalar && !faults && (sure || !guarded)).then_some(expr)
    }
}

/// Whether it may be a check or a branch before it that proves it harmless.
fn may_be_guarded(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Load(_) | ExprKind::Call(..) => true,
        ExprKind::Binary { op, .. } => matches!(op, BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, explore};

    /// The plan with whole iterations in lanes, of iterations with such a loop.
    fn plan(before: &str, inside: &str) -> String {
        let program = optimised(&format!(
            "function f input int n[R], d[R], t[M], x[M][R], start[R+1], few; inout int y[R], h[M]; {{ map {{ r := [0:R);
                int sum = 0; int v = n[r]; {before}
                for (long i = 0; i < end; i += 1) {{ int c = v; while (c > 1) {{ c = c / 2; sum = sum + c; }} {inside} }}
                y[r] = sum; }} }}"
        ));
        let limits = Limits { variants: true, ..Limits::default() };
        let plans = explore(&program, program.entries[0], &Model::cpu(), limits).plans;
        plans.iter().find(|plan| plan.name == "wide").expect("a plan").to_string()
    }

    /// Whether they are sorted there.
    fn sorted(before: &str, inside: &str) -> bool {
        plan(before, inside).contains("  sorted(2048)\n")
    }

    #[test]
    fn long_arrays_of_sorted_iterations_have_one_vector() {
        let inside = "kept[i & 3] = sum; sum = sum - kept[sum & 3];";
        assert!(!plan("int kept[M+4]; long end = n[r];", inside).contains("reg(2)"));
        assert!(plan("int kept[4]; long end = n[r];", inside).contains("reg(2)"), "short ones");
        assert!(plan("int kept[M+4]; long end = few;", inside).contains("reg(2)"), "all have the same length");
    }

    #[test]
    fn iterations_are_sorted_by_what_is_known_before_them() {
        assert!(sorted("long end = n[r];", ""));
        assert!(sorted("long end = start[r+1]; end = end - start[r];", ""));
        assert!(!sorted("long end = few;", ""), "all have the same length");
        assert!(!sorted("long end = n[r]; if (n[r] > 4) { end = end + r; }", ""), "a branch decides");
    }

    #[test]
    fn lengths_need_no_check() {
        assert!(!sorted("long end = t[n[r]];", ""));
        assert!(!sorted("sum = t[n[r]]; long end = n[r]; end = t[end];", ""), "proved by a check before it");
        assert!(!sorted("sum = t[d[r]] / d[r]; long end = n[r] / d[r];", ""), "a divisor that is none");
    }

    #[test]
    fn iterations_are_sorted_if_none_reads_what_others_write() {
        assert!(!sorted("long end = n[r]; sum = y[r];", ""));
        assert!(!sorted("long end = n[r];", "atomic h[i & 7] += 1;"));
    }

    #[test]
    fn neighbours_are_not_gathered() {
        assert!(!sorted("long end = min(n[r], M);", "sum = sum + x[i][r];"));
    }
}
