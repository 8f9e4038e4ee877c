//! Loops that count to an end of each lane, which can be much wider than the lanes.

use super::{Classes, in_lanes};
use crate::choices::Facts;
use crate::mapping::Recipe;
use crate::target::Model;
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, ConvertMode, Expr, ExprKind, Func, Loop, Map, Program, StmtKind};
use hidp_syntax::ty::{Scalar, Ty};
use std::cell::LazyCell;

/// `count < end`, all that a loop tests, of which the end does not change in the loop.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// What counts.
    pub count: &'a Expr,
    /// What it counts to.
    pub end: &'a Expr,
}

/// What a loop counts to, if that is all it tests, and nothing else leaves it.
pub fn ends<'a>(program: &Program, func: &Func, node: &'a Loop) -> Option<Ends<'a>> {
    let ExprKind::Binary { op: BinOp::Lt, left, right, .. } = &node.cond.kind else { return None };
    let blocks = [&node.body, &node.step];
    let of_end = Effects::of_expr(right);
    let writes = blocks.map(|block| Effects::of_block(program, &func.vars, block).writes);
    let is_fixed = writes.iter().all(|writes| writes.is_disjoint(&of_end));
    let stays = blocks.into_iter().all(|block| !effects::may_jump(block));
    (is_fixed && stays && right.ty == left.ty).then_some(Ends { count: left, end: right })
}

/// What has become a `long` of a narrower integer, with which it can be compared as well.
pub fn narrow(end: &Expr) -> Option<&Expr> {
    let ExprKind::Convert { operand, mode: ConvertMode::Cast } = &end.kind else { return None };
    (end.ty == Ty::LONG && matches!(operand.ty.scalar(), Some(Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16)))
        .then_some(operand)
}

/// How many times an end is wider than lanes of so many bits.
pub fn times_wider(ends: Ends<'_>, lane: u8) -> u32 {
    let end = narrow(ends.end).unwrap_or(ends.end);
    end.ty.scalar().map_or(0, |scalar| scalar.size() as u32 * 8 / u32::from(lane))
}

/// Whether a nest with whole iterations in lanes has a loop that counts to an end of each lane.
pub(crate) fn has_ends(facts: &Facts<'_>, map: &Map) -> bool {
    widest(facts, map) > 0
}

/// Whether one of these ends is so many times wider than the lanes that comparing it takes longer than a loop's body.
pub(crate) fn has_wide_ends(facts: &Facts<'_>, map: &Map, model: &Model) -> bool {
    widest(facts, map) >= model.narrow_lanes
}

/// How many times the widest of these ends is wider than the lanes; nothing if there is none.
fn widest(facts: &Facts<'_>, map: &Map) -> u32 {
    let Recipe::Wide(shape) = facts.mapping.recipe else { return 0 };
    let map = &*in_lanes(facts.program, facts.func, map);
    let classes = LazyCell::new(|| Classes::of(map));
    let mut widest = 0;
    visit::walk_stmts(&map.body, |stmt| {
        let StmtKind::Loop(node) = &stmt.kind else { return };
        let of_lanes = ends(facts.program, facts.func, node).filter(|ends| classes.varies(ends.end));
        widest = of_lanes.map_or(widest, |ends| widest.max(times_wider(ends, shape.bits)));
    });
    widest
}

#[cfg(test)]
mod tests {
    use crate::target::Model;
    use crate::testing::optimised;
    use crate::{Limits, explore};

    /// Whether loops of bytes that count to this end look up the least one, in the plan with whole iterations in lanes.
    fn looked_up(end: &str, inside: &str) -> bool {
        let program = optimised(&format!(
            "function f input uint8 x[R][N]; input long n[R], m; input int few[R]; output uint8 y[R]; {{ map {{ r := [0:R);
                uint8 sum = 0; long end = min({end}, N); for (long i = 0; i < end; i += 1) {{ sum = max(sum, x[r][i]); {inside} }}
                y[r] = sum; }} }}"
        ));
        let limits = Limits { variants: true, ..Limits::default() };
        let plans = explore(&program, program.entries[0], &Model::cpu(), limits).plans;
        let plan = plans.iter().find(|plan| plan.name == "wide").expect("a plan").to_string();
        assert!(plan.contains("lanes(8 bits)"), "{plan}");
        plan.contains("  ends(4)\n")
    }

    #[test]
    fn plans_say_that_narrow_lanes_look_up_the_least_of_their_ends() {
        assert!(looked_up("n[r]", ""));
        assert!(!looked_up("m", ""), "all lanes have the same end");
        assert!(!looked_up("n[r]", "if (sum == 9) break;"), "lanes leave elsewhere, too");
    }
}
