//! Which nests gain from whole iterations in lanes: those whose loops compilers do not vectorise, or not well, and which do little lane by lane.

use super::costs::{
    ADDED, ATOMIC, BRANCH, CALL, Calls, Cost, ELEMENT, FIELD, OPERATION, PRIMITIVE, SAME, SEARCH, UPDATE, of_operator,
};
use super::{
    Classes, WideShape, apart, counters, in_lanes, is_long, is_row, jams, numbers, numbers_at, packed, wide_shape,
};
use crate::blame::span_of;
use crate::copied::copied_targets;
use crate::mapping::{Strategy, key};
use crate::refusal::{GAIN, Refusal, SHAPE};
use crate::shape::{Stride, coefficient, stride_of};
use crate::target::Model;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::lanes::vectorisable;
use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{
    Access, Block, Expr, ExprKind, Fold, FoldFn, Func, Iter, Map, Place, Program, Stmt, StmtKind, VarId,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// Turns of a loop that nothing is known of.
const TURNS: f64 = 16.0;
/// Iterations in lanes for one of these that is busy in a loop which lanes leave at different times.
const IDLE: f64 = 1.25;
/// The same of a map inside whose range differs from lane to lane: as many as a longest range has more than ranges have on average.
const RAGGED: f64 = 2.0;
/// Iterations of a map inside of which nothing is known.
const ITERATIONS: f64 = 64.0;
/// Lanes of such a map's own, in plans that have one iteration of the outer map at a time.
const OWN_LANES: f64 = 8.0;
/// Its iterations in as much time as begin and end of those lanes take; with folds, their lanes meet in the end.
const ENDS: f64 = 24.0;
const FOLDED_ENDS: f64 = 48.0;
/// Of both sides of a branch, what one iteration alone takes.
const ONE_SIDE: f64 = 0.75;
/// Below so much gain by lanes those of maps inside are near: without any, operators gain five times as much.
const RIVALLED: f64 = 3.0;
/// As much better lanes must be: more code is compiled.
const MARGIN: f64 = 1.25;

/// Whether a nest that can run so gains by it.
pub(crate) fn gain(program: &Program, func: &Func, map: &Map, model: &Model) -> Result<(), Refusal> {
    let map = &*in_lanes(program, func, map);
    let Some(lane) = map.iters.last() else { return Ok(()) };
    let classes = Classes::of(map);
    let look = looked(program, func, map, &classes, model)?;
    if !look.apart {
        let why = "iterations have no loops, or maps alone, so that vectors run along neighbours anyhow";
        return Err(GAIN.refused(span_of(map), why));
    }
    let least = if look.goes_together(map, model) { model.narrow_together } else { model.narrow_whole };
    if constant_count(lane).is_some_and(|count| count < i128::from(least)) {
        return Err(GAIN.refused(lane.span, "its range has fewer iterations than pay for lanes"));
    }
    if MARGIN * look.in_lanes <= look.in_order {
        return Ok(());
    }
    let neighbours = "maps inside have vector lanes along neighbours of their own";
    let (at, why) = look.slowest.map_or((span_of(map), neighbours), |(_, at, why)| (at, why));
    Err(GAIN.refused(at, why))
}

/// Whether lanes go through all loops together, and the last group has one vector: it takes hardly longer than a few iterations in order.
pub(crate) fn goes_together(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let map = &*in_lanes(program, func, map);
    let classes = Classes::of(map);
    looked(program, func, map, &classes, model).is_ok_and(|look| look.goes_together(map, model))
}

/// Whether iterations one at a time gain as much by lanes of maps inside: few of them are quicker so.
pub(crate) fn has_rivals(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let map = &*in_lanes(program, func, map);
    let classes = Classes::of(map);
    let has_rivals = |look: Look<'_>| look.rivals && look.in_order < RIVALLED * look.in_lanes;
    looked(program, func, map, &classes, model).is_ok_and(has_rivals)
}

/// What an iteration costs, in order and in lanes.
fn looked<'a>(
    program: &'a Program,
    func: &'a Func,
    map: &Map,
    classes: &'a Classes,
    model: &Model,
) -> Result<Look<'a>, Refusal> {
    let WideShape { bits, groups: _ } = wide_shape(program, func, map)?;
    let lane = key(map).ok_or_else(|| SHAPE.refused(span_of(map), "the outermost map has no iterators"))?;
    let mut others = classes.varying().clone();
    others.remove(&lane);
    let packed = packed(program, func, map, classes).into_iter().map(|packed| packed.array).collect();
    let copied = copied_targets(func, map, Strategy::Wide).into_iter().chain(visit::declared(&map.body)).collect();
    let mut look = Look {
        program,
        func,
        classes,
        others,
        lane,
        copied,
        packed,
        width: f64::from(bits.max(32)) / 32.0,
        weight: Weight { in_order: 1.0, in_lanes: 1.0 },
        calls: Calls::of(program),
        until: OrdSet::new(),
        inside: None,
        apart: apart(program, func, map, classes, model),
        parts: false,
        rivals: false,
        in_order: 0.0,
        in_lanes: 0.0,
        slowest: None,
    };
    look.visit_block(&map.body);
    map.folds.iter().for_each(|fold| look.count(ADDED, fold.span));
    Ok(look)
}

/// How many values an iterator that advances by one takes, if that is a constant.
fn constant_count(iter: &Iter) -> Option<i128> {
    Some(iter.hi.as_int()? - iter.lo.as_int()?)
}

/// What is left in order of the cost of a map inside whose neighbours run in lanes of their own.
fn own_lanes(map: &Map) -> f64 {
    let last = map.iters.last().and_then(constant_count);
    let iterations = last.map_or(ITERATIONS, |count| count.max(1) as f64);
    let ends = if map.folds.is_empty() { ENDS } else { FOLDED_ENDS };
    (1.0 / OWN_LANES + ends / iterations).min(1.0)
}

/// How often something runs.
#[derive(Clone, Copy, Debug)]
struct Weight {
    in_order: f64,
    in_lanes: f64,
}

/// What the loop over the last iterator of a map changes.
struct Inside {
    changes: OrdSet<VarId>,
    /// How often the loop begins.
    before: Weight,
}

impl Inside {
    fn of(program: &Program, func: &Func, map: &Map, before: Weight) -> Self {
        let effects = Effects::of_block(program, &func.vars, &map.body);
        let last = map.iters.last().map(|iter| iter.var);
        let changes = effects.declares.iter().copied().chain(effects.outer_writes()).chain(last).collect();
        Inside { changes, before }
    }

    /// Whether an access loads the same in all of its iterations.
    fn keeps(&self, place: &Place) -> bool {
        let mut keeps = !self.changes.contains(&place.array);
        place
            .index
            .iter()
            .for_each(|index| visit::walk_expr_vars(index, |var, _| keeps &= !self.changes.contains(&var)));
        keeps
    }
}

struct Look<'a> {
    program: &'a Program,
    func: &'a Func,
    classes: &'a Classes,
    /// What differs from lane to lane but for the iterator along them, and for counters of the loops around.
    others: OrdSet<VarId>,
    lane: VarId,
    /// Arrays of which threads have copies to update, and those of iterations.
    copied: OrdSet<VarId>,
    /// Arrays whose rows are packed.
    packed: OrdSet<VarId>,
    /// Bits of lanes, in 32.
    width: f64,
    weight: Weight,
    calls: Calls<'a>,
    /// What the masked loop around ends by.
    until: OrdSet<VarId>,
    /// The innermost map inside around.
    inside: Option<Inside>,
    /// Whether vectors along neighbours do badly or not at all: a map inside says so, or there is a loop of the program.
    apart: bool,
    /// Whether lanes leave a loop at different times.
    parts: bool,
    /// Whether maps inside that do not fold have vector lanes along neighbours of their own.
    rivals: bool,
    in_order: f64,
    in_lanes: f64,
    /// What costs the most of what goes lane by lane, where that stands, and what it is.
    slowest: Option<(f64, Span, &'static str)>,
}

impl Look<'_> {
    fn goes_together(&self, map: &Map, model: &Model) -> bool {
        !self.parts && !is_long(map, model) && jams(self.func, map, self.classes, model.jam_rows).is_empty()
    }

    fn count(&mut self, cost: Cost, at: Span) {
        let wide = if cost.slow.is_some() { 1.0 } else { self.width };
        let in_lanes = self.weight.in_lanes * cost.in_lanes * wide;
        self.in_order += self.weight.in_order * cost.in_order;
        self.in_lanes += in_lanes;
        if let Some(why) = cost.slow
            && self.slowest.is_none_or(|(most, ..)| in_lanes > most)
        {
            self.slowest = Some((in_lanes, at, why));
        }
    }

    fn count_place(&mut self, place: &Place, role: Role) {
        let elem = self.func.vars[place.array].ty;
        let numbers = numbers_at(self.program, elem, &place.path);
        if role == Role::Update {
            let cost = if self.copied.contains(&place.array) { UPDATE } else { ATOMIC };
            self.count(cost, place.span);
            return;
        }
        match stride_of(place, self.lane, &self.others) {
            Stride::Invariant if !self.classes.is_varying(place.array) => {}
            stride @ (Stride::Invariant | Stride::Unit)
                if elem.scalar().is_none() || place.access == Access::Shared =>
            {
                let cost = if stride == Stride::Invariant { SAME } else { FIELD };
                numbers.for_each(|_| self.count(cost, place.span));
            }
            Stride::Invariant | Stride::Unit => self.count(OPERATION, place.span),
            Stride::Strided | Stride::Irregular => {
                let packed =
                    self.packed.contains(&place.array) && is_row(self.lane, |column| self.differs(column), place);
                let cost = if packed { OPERATION } else { ELEMENT };
                numbers.for_each(|_| self.count(cost, place.span));
            }
        }
    }

    /// Whether something differs between the lanes that are here.
    fn differs(&self, expr: &Expr) -> bool {
        Effects::of_expr(expr).iter().any(|var| *var == self.lane || self.others.contains(var))
    }

    /// Counts what an access costs: before the loop over the last iterator of a map, if nothing in it changes that.
    fn count_access(&mut self, place: &Place, role: Role) {
        let before = self.inside.as_ref().filter(|inside| role == Role::Read && inside.keeps(place));
        let weight = before.map_or(self.weight, |inside| inside.before);
        let around = std::mem::replace(&mut self.weight, weight);
        self.count_place(place, role);
        self.weight = around;
    }

    /// Whether lanes wait for ones with longer ranges; those that grow by a constant from lane to lane are about as long.
    fn waits(&self, map: &Map) -> bool {
        let grows = |bound: &Expr| coefficient(bound, self.lane, &self.others).is_some();
        self.classes.is_ragged(map) && !map.iters.iter().all(|iter| grows(&iter.lo) && grows(&iter.hi))
    }

    /// Whether a branch decides where a loop searches on: both sides change what it ends by.
    fn searches(&self, then: &Block, otherwise: &Block) -> bool {
        let changes = |block: &Block| {
            let writes = Effects::of_block(self.program, &self.func.vars, block).writes;
            !writes.is_disjoint(&self.until)
        };
        changes(then) && changes(otherwise)
    }

    fn with(&mut self, in_order: f64, in_lanes: f64, visit: impl FnOnce(&mut Self)) {
        let Weight { in_order: order, in_lanes: lanes } = self.weight;
        let around =
            std::mem::replace(&mut self.weight, Weight { in_order: order * in_order, in_lanes: lanes * in_lanes });
        visit(self);
        self.weight = around;
    }
}

impl Visitor for Look<'_> {
    fn visit_block(&mut self, block: &Block) {
        for (at, stmt) in block.stmts.iter().enumerate() {
            let StmtKind::Loop(node) = &stmt.kind else {
                self.visit_stmt(stmt);
                continue;
            };
            let counters = counters(self.program, self.func, self.classes, &block.stmts[..at], node);
            counters.iter().for_each(|counter| _ = self.others.remove(&counter.var));
            self.visit_stmt(stmt);
            self.others.extend(counters.iter().map(|counter| counter.var));
        }
    }

    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Loop(node) => {
                self.apart = true;
                let masked = self.classes.is_masked_loop(node);
                self.parts |= masked;
                let idle = if masked { IDLE } else { 1.0 };
                let until = if masked { Effects::of_expr(&node.cond) } else { OrdSet::new() };
                let around = std::mem::replace(&mut self.until, until);
                self.with(TURNS, TURNS * idle, |look| look::walk_stmt(look, stmt));
                self.until = around;
            }
            StmtKind::Map(map) => {
                let own = if vectorisable(self.program, self.func, map) { own_lanes(map) } else { 1.0 };
                self.rivals |= own < 1.0 && map.folds.is_empty();
                self.parts |= self.classes.is_ragged(map);
                let waiting = if self.waits(map) { RAGGED } else { 1.0 };
                let around = self.inside.replace(Inside::of(self.program, self.func, map, self.weight));
                self.with(TURNS * own, TURNS * waiting, |look| look::walk_stmt(look, stmt));
                self.inside = around;
            }
            StmtKind::If { cond, then, otherwise } if self.classes.varies(cond) => {
                self.count(if self.searches(then, otherwise) { SEARCH } else { BRANCH }, cond.span);
                self.visit_expr(cond);
                self.with(ONE_SIDE, 1.0, |look| {
                    look.visit_block(then);
                    look.visit_block(otherwise);
                });
            }
            StmtKind::Prim(_) => {
                self.count(PRIMITIVE, stmt.span);
                look::walk_stmt(self, stmt);
            }
            StmtKind::If { .. }
            | StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => look::walk_stmt(self, stmt),
        }
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        self.count_access(place, role);
        look::walk_place(self, place, role);
    }

    fn visit_fold(&mut self, fold: &Fold) {
        if let FoldFn::Fn(_) = fold.op.func {
            numbers(self.program, fold.op.ty).iter().for_each(|_| self.count(CALL, fold.span));
        }
        look::walk_fold(self, fold);
    }

    fn visit_expr(&mut self, expr: &Expr) {
        let cost = match &expr.kind {
            ExprKind::Call(function, _) => Some(self.calls.cost(*function)),
            _ => of_operator(expr),
        };
        if let Some(cost) = cost.filter(|_| self.classes.varies(expr)) {
            self.count(cost, expr.span);
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
    fn ranges_that_are_always_short_have_no_lanes() {
        let why = |count: u32, turns: &str| {
            of(&format!(
                "function f input float x[8]; inout int y[8];
                {{ map {{ i := [0:{count}); float v = x[i]; int k = 0; {turns} {{ v = v * 0.5; k = k + 1; }} y[i] = k; }} }}"
            ))
            .0
        };
        let short = "excluded: its range has fewer iterations than pay for lanes";
        assert_eq!([4, 3].map(|count| why(count, "while (v > 1)")), ["kept", short]);
        assert_eq!(
            [3, 2].map(|count| why(count, "while (k < 99)")),
            ["kept", short],
            "lanes go through the loop together"
        );
    }

    #[test]
    fn rows_that_loops_read_again_are_packed() {
        let within = |range: &str, access: &str| {
            format!(
                "function f input float x[N][D], z[D]; input long a, b; inout int y[N];
                {{ map {{ i := {range}; int best = 0; float least = 9;
                   for (int k = 0; k < 8; k = k + 1) {{
                     float s = 0;
                     for (int d = 0; d < D; d = d + 1) {{ s = s + {access} * z[d]; }}
                     if (s < least) {{ least = s; best = k; }}
                   }}
                   y[i] = best; }} }}"
            )
        };
        let text = |access: &str| within("[0:N)", access);
        let gathered = "excluded: a loop accesses elements one lane after the other";
        assert_eq!(of(&text("x[i][d]")), ("kept".into(), "wide".into()));
        assert_eq!(of(&within("[a:b)", "x[i][d]")), ("kept".into(), "wide".into()));
        assert_eq!(of(&text("x[N - 1 - i][d]")).0, gathered, "rows in another order");
        assert_eq!(of(&text("x[i][min(d, best)]")).0, gathered, "columns that differ");
        let once = "function f input float x[N][D]; output float y[N];
            { map { i := [0:N); float s = 0; for (int d = 0; d < D; d = d + 1) { s = s * 0.5 + x[i][d]; } y[i] = s; } }";
        assert_eq!(of(once).0, gathered, "each element is read once");
    }

    #[test]
    fn numbers_of_structs_go_lane_by_lane() {
        let text = |turn: &str| {
            format!(
                "struct Item {{ float v; int k; }}
                function f input Item x[N]; input int few[N]; input Item z[M]; output float y[N];
                {{ map {{ i := [0:N); float s = 1; for (int k = 0; k < few[i]; k = k + 1) {{ {turn} }} y[i] = s; }} }}"
            )
        };
        let gathered = "excluded: a loop accesses elements one lane after the other";
        assert_eq!(of(&text("s = s * 3 + x[i].v;")).0, "kept");
        assert_eq!(of(&text("Item own = x[i]; s = s * 3 + own.v;")).0, gathered, "each number of a whole one");
        assert_eq!(of(&text("s = s * 3 + z[k & 1].v;")).0, "kept", "the same one in all lanes");
    }

    #[test]
    fn one_struct_of_those_that_iterations_store_costs_as_much_as_all() {
        let text = "struct Step { double value; int from; }
            function f inout Step x[T][S]; input double move[S][S]; input long t;
            { map { q := [0:S);
                double most = x[0][0].value; int from = 0;
                for (int p = 1; p < S; p = p + 1) { double value = x[0][p].value + move[p][q]; if (value > most) { most = value; from = p; } }
                x[1][q] = Step{value: most, from: from};
            } }";
        assert_eq!(of(text).0, "excluded: a loop accesses elements one lane after the other");
    }

    #[test]
    fn what_goes_lane_by_lane_may_be_little_beside_the_rest() {
        let text = |once: &str, turn: &str| {
            format!(
                "function f input float t[K], z[D]; input uint8 x[N]; output float y[N];
                {{ map {{ i := [0:N); float s = 1;
                   for (int k = 0; k < 9; k = k + 1) {{
                     {once}
                     for (int d = 0; d < D; d = d + 1) {{ s = s * z[d] + s; {turn} }}
                   }}
                   y[i] = s; }} }}"
            )
        };
        let gathered = "excluded: a loop accesses elements one lane after the other";
        assert_eq!(of(&text("s = s + t[(x[i] + k) & 3];", "")).0, "kept", "once a turn of the outer loop");
        assert_eq!(of(&text("", "s = s + t[(x[i] + d) & 3];")).0, gathered, "in the inner one");
        let much = "for (int n = 0; n < 4; n = n + 1) { s = s * s + 3; }";
        assert_eq!(of(&text("", &format!("s = s + t[(x[i] + d) & 3]; {much}"))).0, "kept", "with more to do");
    }

    #[test]
    fn maps_inside_may_have_lanes_of_their_own() {
        let text = |inside: &str| {
            format!(
                "function f input float x[N]; output float y[N];
                {{ map {{ i := [0:N); float v[2000]; float s = x[i];
                   for (int k = 0; k < 9; k = k + 1) {{ {inside} }}
                   y[i] = v[3]; }} }}"
            )
        };
        let own = "excluded: maps inside have vector lanes along neighbours of their own";
        assert_eq!(of(&text("map { j := [0:2000); v[j] = v[j] * s + k; }")).0, own);
        assert_eq!(of(&text("map { j := [0:40); v[j] = v[j] * s + k; }")).0, "kept", "too short for lanes");
        assert_eq!(of(&text("for (int j = 1; j < 2000; j = j + 1) { v[j] = v[j - 1] * s + k; }")).0, "kept");
    }

    #[test]
    fn what_cannot_be_done_again_stays_in_order() {
        let text = |inside: &str| {
            format!(
                "#pragma hidp nocontract
                function int h(int a) {{ return 8 / a; }}
                function f inout int y[N]; input int x[N], t[M], z[1];
                {{ map {{ i := [0:N); int v = x[i]; while (v > 1) {{ {inside} v = v >> 1; }} }} }}"
            )
        };
        let why = |inside: &str| of(&text(inside)).0;
        let stored =
            "excluded: a check depends on what iterations store and read, so that they cannot be done again in order";
        assert_eq!(why("y[i] = y[i] + t[y[i]];"), stored);
        assert_eq!(why("y[i] = y[i] + t[z[0]];"), "kept");
        assert_eq!(why("y[i] = t[z[0]];"), "kept");
        assert_eq!(why("y[i] = h(v);"), "excluded: a check remains in a function that iterations call");
    }

    #[test]
    fn lanes_that_go_on_access_one_element_at_a_time() {
        let text = |next: &str, start: &str| {
            format!(
                "function f input int x[N], t[M]; output int y[N];
                {{ map {{ i := [0:N); int v[8]; int s = x[i]; int k = {start};
                   while (k > 0 && s < v[k - 1]) {{ v[k] = v[k - 1]; v[k - 1] = t[k]; {next} }}
                   v[0] = k; y[i] = v[s & 7]; }} }}"
            )
        };
        let gathered = "excluded: a loop accesses elements one lane after the other";
        assert_eq!(of(&text("k = k - 1;", "7")).0, "kept");
        assert_eq!(of(&text("if (s < 9) { k = k - 1; }", "7")).0, gathered, "some lanes stay where they are");
        assert_eq!(of(&text("k = k - 1;", "s & 7")).0, gathered, "they begin at different ones");
    }

    #[test]
    fn primitives_go_lane_by_lane_beside_loops() {
        let text = |array: &str, turn: &str| {
            format!(
                "function f input int x[N], r[N][8]; inout int y[N][8];
                {{ map {{ i := [0:N); int own[8]; int k = x[i]; while (k > 1) {{ {turn} k = k >> 1; }} own[0] = k;
                   sort(r[i][*], {array}, 0, k, 1); y[i][0] = own[0]; }} }}"
            )
        };
        let much = "for (int n = 0; n < 4; n = n + 1) { k = k ^ (k >> 3); }";
        assert_eq!(of(&text("y[i][*]", much)).0, "kept");
        let slow = "excluded: a loop calls a primitive one lane after the other";
        assert_eq!(of(&text("y[i][*]", "sort(r[i][*], y[i][*], 0, k, 1);")).0, slow);
        assert_eq!(of(&text("own", much)).0, "excluded: a primitive works on an array of the iteration");
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
        assert_eq!(why("k = k + v / (k + 3);").0, "kept", "a quotient of floats");
        assert_eq!(why("long w = v; long by = k + 3; k = k + (int)(w / by);").0, "kept", "the same and what is left");
        assert_eq!(why("k = k + v / 3;").0, "kept", "a product and shifts");
        assert_eq!(why("k = k + t[3];").0, "kept", "the same element in all lanes");
        let flat = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        assert!(of(flat).0.starts_with("excluded: iterations have no loops"), "{}", of(flat).0);
    }
}
