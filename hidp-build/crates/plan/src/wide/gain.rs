//! Which nests gain by whole iterations in lanes: those whose loops compilers make no vectors of, and in which little is done lane by lane.

use super::{Classes, is_row, packed};
use crate::blame::span_of;
use crate::refusal::{GAIN, Refusal};
use crate::shape::{Stride, stride_of};
use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{BinOp, Expr, ExprKind, Func, Map, MathFn, Place, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ty::Scalar;
use std::collections::BTreeSet;

/// Whether a nest that can run so gains by it.
pub(crate) fn gain(program: &Program, func: &Func, map: &Map) -> Result<(), Refusal> {
    let Some(lane) = map.iters.last() else { return Ok(()) };
    let classes = Classes::of(map);
    let mut others = classes.varying().clone();
    others.remove(&lane.var);
    let packed = packed(program, func, map, &classes).into_iter().map(|packed| packed.array).collect();
    let mut look = Look { classes: &classes, others, lane: lane.var, packed, depth: 0, loops: false, slow: None };
    look.visit_block(&map.body);
    match look.slow {
        Some(refusal) => Err(refusal),
        None if !look.loops => {
            let why = "iterations have no loops, or maps alone, so that vectors run along neighbours anyhow";
            Err(GAIN.refused(span_of(map), why))
        }
        None => Ok(()),
    }
}

struct Look<'a> {
    classes: &'a Classes,
    /// What differs from lane to lane but for the iterator along them.
    others: BTreeSet<VarId>,
    lane: VarId,
    /// Arrays whose rows are packed.
    packed: BTreeSet<VarId>,
    /// Loops and maps around.
    depth: usize,
    /// Whether there is a loop of the program.
    loops: bool,
    /// What takes one lane after the other, inside of loops.
    slow: Option<Refusal>,
}

impl Visitor for Look<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        self.loops |= matches!(stmt.kind, StmtKind::Loop(_));
        let deeper = usize::from(matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
        self.depth += deeper;
        look::walk_stmt(self, stmt);
        self.depth -= deeper;
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        let lane_by_lane = match stride_of(place, self.lane, &self.others) {
            Stride::Invariant | Stride::Unit => false,
            Stride::Strided | Stride::Irregular => true,
        };
        let packed = self.packed.contains(&place.array) && is_row(self.lane, self.classes, place);
        if self.depth > 0 && lane_by_lane && !packed {
            self.slow.get_or_insert(GAIN.refused(place.span, "a loop accesses elements one lane after the other"));
        }
        look::walk_place(self, place, role);
    }

    fn visit_expr(&mut self, expr: &Expr) {
        let slow = match &expr.kind {
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem, .. } => {
                let integers = expr.ty.scalar().is_some_and(Scalar::is_integer);
                integers.then_some("a loop divides integers one lane after the other")
            }
            ExprKind::Call(..) => Some("a loop calls a function one lane after the other"),
            ExprKind::Math(MathFn::Tgamma | MathFn::Lgamma | MathFn::Fmod, _) => {
                Some("a loop calls a function of the C library one lane after the other")
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        };
        if let Some(why) = slow.filter(|_| self.depth > 0 && self.classes.varies(expr)) {
            self.slow.get_or_insert(GAIN.refused(expr.span, why));
        }
        look::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, explore};

    /// What became of `wide`, and the first plan.
    fn of(text: &str) -> (String, String) {
        let program = optimised(text);
        let explored = explore(&program, program.entries[0], &Model::cpu(), Limits::default());
        let row = explored.candidates.iter().find(|row| row.name == "wide").expect("a row");
        (row.fate.to_string(), explored.plans[0].name.clone())
    }

    #[test]
    fn loops_that_data_end_run_in_lanes() {
        let text = "function f input float x[N]; output int y[N];
            { map { i := [0:N); float v = x[i]; int k = 0; while (v > 1) { v = v * 0.5; k = k + 1; } y[i] = k; } }";
        assert_eq!(of(text), ("kept".into(), "wide".into()));
    }

    #[test]
    fn rows_that_loops_read_again_are_packed() {
        let text = |access: &str| {
            format!(
                "function f input float x[N][D], z[D]; output int y[N];
                {{ map {{ i := [0:N); int best = 0; float least = 9;
                   for (int k = 0; k < 8; k = k + 1) {{
                     float s = 0;
                     for (int d = 0; d < D; d = d + 1) {{ s = s + {access} * z[d]; }}
                     if (s < least) {{ least = s; best = k; }}
                   }}
                   y[i] = best; }} }}"
            )
        };
        let gathered = "excluded: a loop accesses elements one lane after the other";
        assert_eq!(of(&text("x[i][d]")), ("kept".into(), "wide".into()));
        assert_eq!(of(&text("x[N - 1 - i][d]")).0, gathered, "rows in another order");
        assert_eq!(of(&text("x[i][(d + best) % D]")).0, gathered, "columns that differ");
        let once = "function f input float x[N][D]; output float y[N];
            { map { i := [0:N); float s = 0; for (int d = 0; d < D; d = d + 1) { s = s * 0.5 + x[i][d]; } y[i] = s; } }";
        assert_eq!(of(once).0, gathered, "each element is read once");
    }

    #[test]
    fn what_cannot_be_done_again_stays_in_order() {
        let text = |inside: &str| {
            format!(
                "function int h(int a) {{ return 8 / a; }}
                function f inout int y[N]; input int x[N], t[M];
                {{ map {{ i := [0:N); int v = x[i]; while (v > 1) {{ {inside} v = v >> 1; }} }} }}"
            )
        };
        let why = |inside: &str| of(&text(inside)).0;
        let stored = "excluded: a check remains inside, and iterations store what they read, so that they cannot be done again in order";
        assert_eq!(why("y[i] = y[i] + t[4];"), stored);
        assert_eq!(why("y[i] = t[4];"), "kept");
        assert_eq!(why("y[i] = h(v);"), "excluded: a check remains in a function that iterations call");
    }

    #[test]
    fn what_is_done_lane_by_lane_is_not() {
        let text = |inside: &str| {
            format!(
                "function int h(int a) {{ return a + 1; }}
                function f input int x[N], t[8]; output int y[N];
                {{ map {{ i := [0:N); int v = x[i]; int k = 0; while (v > 1) {{ {inside} v = v >> 1; }} y[i] = k; }} }}"
            )
        };
        let why = |inside: &str| of(&text(inside));
        let gathered = "excluded: a loop accesses elements one lane after the other";
        assert_eq!(why("k = k + t[v & 7];"), (gathered.into(), "rows".into()));
        assert_eq!(why("k = k + v / 3;").0, "excluded: a loop divides integers one lane after the other");
        assert_eq!(why("k = k + t[3];").0, "kept", "the same element in all lanes");
        let flat = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        assert!(of(flat).0.starts_with("excluded: iterations have no loops"), "{}", of(flat).0);
    }
}
