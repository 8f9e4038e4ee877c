//! Hard constraints: what a strategy asks of a nest, in one place. What they let through is ordered by [`super::Score`].

use std::collections::BTreeSet;
use std::fmt;

use super::inner_maps;
use super::shape::{Stride, invariant, straight, stride_of};
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, FoldKind, Func, Iter, Map, Program, StmtKind, Target, VarId, VarKind};

/// Why a strategy does not apply to a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Lanes: the outermost map folds, so that its iterations have no results of their own.
    OuterFold,
    /// Lanes: a directive asks for a loop over the iterations that lanes would take together.
    Unrolled,
    /// Lanes: an iterator does not advance by one.
    Steps(String),
    /// Lanes: a check would have to run in the middle of a tile.
    Faults,
    /// Lanes: a statement cannot run in lanes.
    Statement,
    /// Lanes: an access moves with the lanes in a way that depends on data.
    Irregular(String),
    /// Lanes: no inner map reduces to scalars.
    NoReduction,
    /// Lanes: an inner range differs from lane to lane.
    UnequalRanges(String),
    /// Lanes: a load is neither of neighbours nor of one element along the lanes.
    FarLoads(String),
    /// Lanes: no load has neighbours along the lanes and distant elements along the reduction.
    NoGain,
    /// Team: an iteration has nothing inside that threads could share.
    NothingInside,
    /// Team: iterations of several iterators would come one after the other.
    SeveralIterators,
    /// Team: tiles do the same with fewer starts of threads.
    Tiled,
    /// Device: other plans are for graphics processors.
    OtherTarget,
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constraint::OuterFold => f.write_str("the outermost map folds"),
            Constraint::Unrolled => f.write_str("a directive asks for the loop over its iterations to be written out"),
            Constraint::Steps(iter) => write!(f, "`{iter}` does not advance by one"),
            Constraint::Faults => f.write_str("a check remains inside, which cannot run in the middle of a tile"),
            Constraint::Statement => f.write_str("a statement inside cannot run in vector lanes"),
            Constraint::Irregular(iter) => write!(f, "an access moves with `{iter}` as data says"),
            Constraint::NoReduction => f.write_str("no inner map reduces to scalars of its own"),
            Constraint::UnequalRanges(iter) => write!(f, "an inner range depends on `{iter}`"),
            Constraint::FarLoads(iter) => write!(f, "a load takes distant elements along `{iter}`"),
            Constraint::NoGain => {
                f.write_str("no load has neighbours along the lanes and distant elements along the reduction")
            }
            Constraint::NothingInside => f.write_str("there is no map inside that threads could share"),
            Constraint::SeveralIterators => f.write_str("the outermost map has not exactly one iterator, or folds"),
            Constraint::Tiled => f.write_str("`lanes` shares the same work with fewer starts of threads"),
            Constraint::OtherTarget => f.write_str("that is a level of graphics processors"),
        }
    }
}

/// Whether all threads could share what is inside one iteration: a row after the other.
pub fn gives_to_team(map: &Map) -> bool {
    team_obstacle(map).is_none()
}

fn team_obstacle(map: &Map) -> Option<Constraint> {
    if !map.folds.is_empty() || map.iters.len() != 1 {
        Some(Constraint::SeveralIterators)
    } else if inner_maps(&map.body).is_empty() {
        Some(Constraint::NothingInside)
    } else {
        None
    }
}

/// The constraint that keeps a nest from being run by `team`, if any.
pub(super) fn team_constraint(program: &Program, func: &Func, map: &Map) -> Option<Constraint> {
    let tiled = || lane_iterator(program, func, map).map(|_| Constraint::Tiled);
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
/// reductions load neighbours along that iterator and distant elements along their own.
pub fn lane_shape(program: &Program, func: &Func, map: &Map) -> Result<LaneShape, Constraint> {
    let Some(lane) = map.iters.last().filter(|_| map.folds.is_empty()) else { return Err(Constraint::OuterFold) };
    if map.directives.unroll.is_some() {
        return Err(Constraint::Unrolled);
    }
    if let Some(iter) = map.iters.iter().find(|iter| iter.step.as_int() != Some(1)) {
        return Err(Constraint::Steps(name(func, iter.var)));
    }
    if effects::may_fault(program, &func.vars, &map.body) {
        return Err(Constraint::Faults);
    }
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let locals: BTreeSet<VarId> = declared.into_iter().filter(|var| func.vars[*var].kind != VarKind::Iter).collect();
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
                    return Err(Constraint::Statement);
                }
                if !regular(&one, lane.var, &locals) {
                    return Err(Constraint::Irregular(name(func, lane.var)));
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
            | StmtKind::Require { .. } => return Err(Constraint::Statement),
        }
    }
    let Some(shape) = shape else { return Err(Constraint::NoReduction) };
    if !gains {
        return Err(Constraint::NoGain);
    }
    let fixed =
        |rows: usize| inner_maps(&map.body).iter().all(|inner| bounds_do_not_depend(inner, map.iters[rows].var));
    Ok(LaneShape { reuse: shape.reuse.filter(|rows| fixed(*rows)), ..shape })
}

fn name(func: &Func, var: VarId) -> String {
    func.vars[var].name.clone()
}

/// Whether no access of the block moves irregularly with `var`.
fn regular(block: &Block, var: VarId, varying: &BTreeSet<VarId>) -> bool {
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
    locals: &BTreeSet<VarId>,
) -> Result<Reduction, Constraint> {
    let (Some(lane), Some(own)) = (outer.iters.last(), inner.iters.last()) else {
        return Err(Constraint::NoReduction);
    };
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
        return Err(Constraint::NoReduction);
    }
    let unequal = |iter: &Iter| {
        iter.step.as_int() != Some(1) || !invariant(&iter.lo, lane, locals) || !invariant(&iter.hi, lane, locals)
    };
    if inner.iters.iter().any(unequal) {
        return Err(Constraint::UnequalRanges(name(func, lane)));
    }
    if !straight(program, func, &inner.body) {
        return Err(Constraint::Statement);
    }
    let elem_size = inner.folds.iter().filter_map(|fold| fold.op.ty.scalar()).map(|s| s.size()).max().unwrap_or(1);
    let mut facts = Reduction { gains: false, reuse: None, elem_size };
    let mut good = true;
    visit::walk_places(&inner.body, |place, role| {
        let along_lane = stride_of(place, lane, locals);
        good &= role == Role::Read && matches!(along_lane, Stride::Unit | Stride::Invariant);
        facts.gains |= along_lane == Stride::Unit && stride_of(place, own, locals) == Stride::Strided;
        if along_lane == Stride::Unit {
            let rows = &outer.iters[..outer.iters.len() - 1];
            let fixed = rows.iter().position(|iter| {
                stride_of(place, iter.var, locals) == Stride::Invariant && bounds_do_not_depend(inner, iter.var)
            });
            facts.reuse = facts.reuse.or(fixed);
        }
    });
    if good { Ok(facts) } else { Err(Constraint::FarLoads(name(func, lane))) }
}

pub(super) fn bounds_do_not_depend(map: &Map, var: VarId) -> bool {
    let none = BTreeSet::new();
    map.iters.iter().all(|iter| invariant(&iter.lo, var, &none) && invariant(&iter.hi, var, &none))
}
