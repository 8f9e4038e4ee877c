//! Hard constraints: what a strategy asks of a nest, in one place. What they let through is ordered by [`super::Score`].

use super::blame::{self, span_of};
use super::inner_maps;
use super::refusal::{FAULT_ORDER, GAIN, INSIDE, NAMED, ORDER, RAGGED, Refusal, SECTION, SHAPE};
use super::shape::{Stride, invariant, straight, stride_of};
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::once::tested_once;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, FoldKind, Func, Iter, Map, Program, StmtKind, Target, VarId, VarKind};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// Whether all threads could share what is inside one iteration: a row after the other.
pub fn gives_to_team(map: &Map) -> bool {
    team_obstacle(map).is_none()
}

fn team_obstacle(map: &Map) -> Option<Refusal> {
    if !map.folds.is_empty() || map.iters.len() != 1 {
        Some(SHAPE.refused(span_of(map), "the outermost map has not exactly one iterator, or folds"))
    } else if inner_maps(&map.body).is_empty() {
        Some(INSIDE.refused(span_of(map), "there is no map inside that threads could share"))
    } else {
        None
    }
}

/// The constraint that keeps a nest from being run by `team`, if any.
pub(super) fn team_constraint(program: &Program, func: &Func, map: &Map) -> Option<Refusal> {
    let tiled = || {
        lane_iterator(program, func, map)
            .map(|_| GAIN.refused(span_of(map), "`lanes` shares the same work with fewer starts of threads"))
    };
    team_obstacle(map).or_else(tiled)
}

/// What makes a nest worth tiling over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneShape {
    /// Position of the iterator among the map's that several rows of a tile take: elements that lanes load serve all of them.
    pub reuse: Option<usize>,
    /// Bytes of the widest folded value.
    pub elem_size: usize,
}

/// [`lane_shape`], where it does not matter why there is none.
pub fn lane_iterator(program: &Program, func: &Func, map: &Map) -> Option<LaneShape> {
    lane_shape(program, func, map).ok()
}

/// How `map` runs with lanes over its last iterator and its reductions outside of them, if it can and gains from it: the
/// reductions load neighbours along that iterator and distant elements along their own. Tests that all iterations share stand before it.
pub fn lane_shape(program: &Program, func: &Func, map: &Map) -> Result<LaneShape, Refusal> {
    let map = &tested_once(program, func, map).map;
    let Some(lane) = map.iters.last().filter(|_| map.folds.is_empty()) else {
        return Err(SHAPE.refused(span_of(map), "the outermost map folds"));
    };
    if map.directives.unroll.is_some() {
        return Err(NAMED.refused(
            map.directives.spans.unroll.unwrap_or(span_of(map)),
            "a directive asks for the loop over its iterations to be written out",
        ));
    }
    if let Some(iter) = map.iters.iter().find(|iter| iter.step.as_int() != Some(1)) {
        return Err(SHAPE.refused(iter.span, format!("`{}` does not advance by one", name(func, iter.var))));
    }
    if effects::may_fault(program, &func.vars, &map.body) {
        return Err(FAULT_ORDER.refused(
            blame::check(program, func, map),
            "a check remains inside, which cannot run in the middle of a tile",
        ));
    }
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let locals: OrdSet<VarId> = declared.into_iter().filter(|var| func.vars[*var].kind != VarKind::Iter).collect();
    let mut shape: Option<LaneShape> = None;
    let mut gains = false;
    for stmt in &map.body.stmts {
        match &stmt.kind {
            StmtKind::Map(inner) => {
                let facts = lane_reduction(program, func, map, inner, &locals)?;
                gains |= facts.gains;
                let elem_size = facts.elem_size.max(shape.map_or(0, |shape| shape.elem_size));
                let reuse = facts.reuse.or(shape.and_then(|shape| shape.reuse));
                shape = Some(LaneShape { reuse, elem_size });
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::If { .. } => {
                let one = Block { stmts: vec![stmt.clone()] };
                if !straight(program, func, &one) {
                    return Err(statement(stmt.span));
                }
                if !regular(&one, lane.var, &locals) {
                    let why = format!("an access moves with `{}` as data says", name(func, lane.var));
                    return Err(SECTION.refused(stmt.span, why));
                }
            }
            StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => return Err(statement(stmt.span)),
        }
    }
    let Some(shape) = shape else { return Err(no_reduction(map)) };
    if !gains {
        let why = "no load has neighbours along the lanes and distant elements along the reduction";
        return Err(GAIN.refused(span_of(map), why));
    }
    let fixed =
        |rows: usize| inner_maps(&map.body).iter().all(|inner| bounds_do_not_depend(inner, map.iters[rows].var));
    Ok(LaneShape { reuse: shape.reuse.filter(|rows| fixed(*rows)), ..shape })
}

fn statement(at: Span) -> Refusal {
    ORDER.refused(at, "a statement inside cannot run in vector lanes")
}

fn no_reduction(map: &Map) -> Refusal {
    SHAPE.refused(span_of(map), "no inner map reduces to scalars of its own")
}

fn name(func: &Func, var: VarId) -> String {
    func.vars[var].name.clone()
}

/// Whether no access of the block moves irregularly with `var`.
fn regular(block: &Block, var: VarId, varying: &OrdSet<VarId>) -> bool {
    let mut good = true;
    visit::walk_places(block, |place, _| good &= stride_of(place, var, varying) != Stride::Irregular);
    good
}

struct Reduction {
    gains: bool,
    reuse: Option<usize>,
    elem_size: usize,
}

fn lane_reduction(
    program: &Program,
    func: &Func,
    outer: &Map,
    inner: &Map,
    locals: &OrdSet<VarId>,
) -> Result<Reduction, Refusal> {
    let (Some(lane), Some(own)) = (outer.iters.last(), inner.iters.last()) else {
        return Err(no_reduction(inner));
    };
    // Loops over a few of several iterators fill no lanes, however close together they load.
    let starts_anew = inner.iters.len() > 1 && own.lo.as_int().is_some() && own.hi.as_int().is_some();
    let (lane, own) = (lane.var, own.var);
    let reduces = !inner.folds.is_empty()
        && inner.folds.iter().all(|fold| {
            fold.kind == FoldKind::Reduce && matches!(fold.target, Target::Scalar(_)) && fold.op.ty.scalar().is_some()
        });
    let effects = Effects::of_block(program, &func.vars, &inner.body);
    let read_back = inner.folds.iter().any(|fold| match &fold.target {
        Target::Scalar(var) => effects.reads.contains(var) || !locals.contains(var),
        Target::Element(_) => true,
    });
    if !reduces || read_back {
        return Err(no_reduction(inner));
    }
    let unequal = |iter: &Iter| {
        iter.step.as_int() != Some(1) || !invariant(&iter.lo, lane, locals) || !invariant(&iter.hi, lane, locals)
    };
    if let Some(iter) = inner.iters.iter().find(|iter| unequal(iter)) {
        return Err(RAGGED.refused(iter.span, format!("an inner range depends on `{}`", name(func, lane))));
    }
    if !straight(program, func, &inner.body) {
        return Err(statement(blame::statement(program, func, inner)));
    }
    let elem_size = inner.folds.iter().filter_map(|fold| fold.op.ty.scalar()).map(|s| s.size()).max().unwrap_or(1);
    let mut facts = Reduction { gains: false, reuse: None, elem_size };
    let mut far = None;
    visit::walk_places(&inner.body, |place, role| {
        let along_lane = stride_of(place, lane, locals);
        if role != Role::Read || !matches!(along_lane, Stride::Unit | Stride::Invariant) {
            far.get_or_insert(place.span);
        }
        let far_apart = matches!(stride_of(place, own, locals), Stride::Strided | Stride::Irregular);
        facts.gains |= along_lane == Stride::Unit && (far_apart || starts_anew);
        if along_lane == Stride::Unit {
            let rows = &outer.iters[..outer.iters.len() - 1];
            let fixed = rows.iter().position(|iter| {
                stride_of(place, iter.var, locals) == Stride::Invariant && bounds_do_not_depend(inner, iter.var)
            });
            facts.reuse = facts.reuse.or(fixed);
        }
    });
    let refused = |at| SECTION.refused(at, format!("a load takes distant elements along `{}`", name(func, lane)));
    far.map_or(Ok(facts), |at| Err(refused(at)))
}

pub(super) fn bounds_do_not_depend(map: &Map, var: VarId) -> bool {
    let none = OrdSet::new();
    map.iters.iter().all(|iter| invariant(&iter.lo, var, &none) && invariant(&iter.hi, var, &none))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    /// Whether tiles of lanes suit a product whose iterations end like this.
    fn suits(end: &str) -> bool {
        let text = format!(
            "function f input float A[R][C], x[R]; input long at[N]; output float y[C];
            {{ map {{ c := [0:C);
              map {{ r := [0:R); _t = A[r][c] * x[r]; }} reduce(\"+\", _s, _t, r := [*]);
              {end} }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        lane_shape(&program, func, crate::nests(func)[0]).is_ok()
    }

    /// The iterators of the outermost map of a program, and whether tiles of lanes suit it.
    fn nested(body: &str) -> (usize, bool) {
        let text = format!(
            "function f input float A[B][R][C], x[R]; input long n; output float y[B][C]; {{ map {{ b := [0:B); {body} }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        let map = crate::nests(func)[0];
        (map.iters.len(), lane_shape(&program, func, map).is_ok())
    }

    #[test]
    fn folds_of_nested_maps_have_the_lanes_of_one_map() {
        let fold =
            |rows: &str| format!("map {{ r := {rows}; _t = A[b][r][c] * x[r]; }} reduce(\"+\", _s, _t, r := [*]);");
        let columns = |rows: &str| format!("map {{ c := [0:C); {} y[b][c] = _s + 1; }}", fold(rows));
        assert_eq!(nested(&columns("[0:R)")), (2, true));
        assert_eq!(nested(&columns("[1:R-1)")), (2, true));
        assert_eq!(nested(&columns("[0:min(b,R))")), (1, false), "rows differ");
        assert_eq!(nested(&format!("y[b][0] = 1; {}", columns("[0:R)"))), (1, false), "more than a map");
        let ragged = format!("map {{ c := [0:min(b+1,C)); {} y[b][c] = _s; }}", fold("[0:R)"));
        assert_eq!(nested(&ragged), (1, false), "a triangle");
        assert_eq!(nested("map { c := [0:C); y[b][c] = x[0]; }").0, 1, "nothing is folded");
        let steps = format!("map {{ c := [0:C:n); {} y[b][c] = _s; }}", fold("[0:R)"));
        assert_eq!(nested(&steps).0, 1, "a stride that may fail");
        let asked = format!("#pragma hidp unroll(2)\n map {{ c := [0:C); {} y[b][c] = _s; }}", fold("[0:R)"));
        assert_eq!(nested(&asked).0, 1, "a directive asks for this map");
    }

    #[test]
    fn short_loops_of_a_fold_leave_the_lanes_to_its_results() {
        let suited = |window: &str| {
            let text = format!(
                "function f input float x[C][W], k[C][5]; output float y[W-4]; {{ map {{ j := [0:W-4);
                   map {{ c := [0:C); a := {window}; _p = x[c][j+a] * k[c][a]; }} reduce(\"+\", y[j], _p, c := [*], a := [*]); }} }}"
            );
            let program = optimised(&text);
            let func = &program.funcs[program.entries[0]];
            lane_shape(&program, func, crate::nests(func)[0]).is_ok()
        };
        assert!(suited("[0:5)"));
        assert!(!suited("[0:min(C,5))"), "a loop that may be long has lanes of its own");
    }

    #[test]
    fn tests_that_all_iterations_share_stand_before_them() {
        assert!(suits("y[c] = _s;") && suits("y[c] = _s * A[at[0]][c];"));
        assert!(suits("y[c] = _s * A[at[0]][c] + A[at[1]][c];"));
        assert!(!suits("y[c] = _s * x[at[c]];"), "another one in each iteration");
        assert!(!suits("y[c] = _s; if (_s > 0) y[c] = x[at[0]];"), "not in all iterations");
        assert!(!suits("y[c] = _s > 0 ? x[at[0]] : 0;"), "nor here");
        assert!(!suits("long k = 7 / at[0]; y[c] = _s * x[at[k]];"), "a division fails before it");
        assert!(!suits("y[c] = _s; y[at[0]] = _s;"), "what is written is not that of one iteration");
    }
}
