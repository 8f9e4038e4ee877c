//! Whole iterations in vector lanes: which nests can run so, how wide lanes are, and what differs between them.
//!
//! Consecutive iterations of the outermost map's last iterator are the lanes of a group; all that is inside runs in order, in all lanes
//! together. Where they part, those that are elsewhere wait.

mod apart;
mod classes;
mod costly;
mod costs;
mod counters;
mod ends;
mod flight;
mod gain;
mod jam;
mod left;
mod lengths;
pub mod live;
mod numbers;
mod own;
mod packed;
mod steady;

use std::borrow::Cow;

use super::blame::span_of;
use super::refusal::{FAULT_ORDER, LANES, NAMED, Refusal, SEQUENCE, SHAPE};
use crate::target::Model;
use crate::{has_loops, inner_maps};
use apart::apart;
pub use classes::{Classes, Joins, continues, joins_of_branch, joins_of_loop};
pub use costly::{is_costly, is_costly_block};
pub use counters::{Counter, counted, counters, tests};
pub use ends::{Ends, ends, narrow, times_wider};
pub(crate) use ends::{has_ends, has_wide_ends};
use flight::is_long;
pub(crate) use flight::{comes_first, ends_apart, part_early, suits_few_registers, with_one_copy};
pub(crate) use gain::{gain, goes_together, has_rivals};
use hidp_ir::par::effects;
use hidp_ir::par::visit::{self, Visitor, look};
use hidp_syntax::ordered::OrdSet;
pub use jam::{Apart, Jam, has_loop, jam, jams};
pub(crate) use jam::{NOTHING_SHARED, tried};
pub(crate) use left::{asks_for_lanes, held};
pub use left::{in_lanes, is_for_devices, is_for_lanes};
pub(crate) use lengths::has_lengths;
pub use lengths::length;

use hidp_ir::par::{
    Access, Block, Expr, ExprKind, Fold, FoldFn, FoldKind, Func, Map, PrimCall, Program, Stmt, StmtKind, VarId,
};
use hidp_syntax::source::Span;
pub use numbers::{Number, numbers, numbers_at};
pub use own::{Allocated, allocated};
pub(crate) use packed::same_size;
pub use packed::{Packed, is_row, packed};

/// How many vectors may be under way together.
pub(super) const GROUPS: [u8; 4] = [1, 2, 4, 8];
/// Loops that are told apart by how deep they stand.
const DEEPEST: usize = 8;

/// How a nest runs with whole iterations in lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideShape {
    /// Bits of a lane: of the widest numbers that the innermost loops compute.
    pub bits: u8,
    /// Vectors that are under way together.
    pub groups: u8,
}

/// How `map` runs with whole iterations in lanes, if it can.
pub fn wide_shape(program: &Program, func: &Func, nest: &Map) -> Result<WideShape, Refusal> {
    let map = &*in_lanes(program, func, nest);
    let Some(lane) = map.iters.last() else {
        return Err(SHAPE.refused(span_of(map), "the outermost map has no iterators"));
    };
    map.folds.iter().try_for_each(|fold| foldable(map, fold))?;
    if map.directives.unroll.is_some() {
        return Err(NAMED.refused(
            map.directives.spans.unroll.unwrap_or(span_of(map)),
            "a directive asks for the loop over its iterations to be written out",
        ));
    }
    if lane.step.as_int() != Some(1) {
        let why = format!("`{}` does not advance by one", func.vars[lane.var].name);
        return Err(SHAPE.refused(lane.span, why));
    }
    let classes = Classes::of(map);
    let declared = visit::declared(&map.body).into_iter().collect();
    let mut look = Look { program, func, declared, classes: &classes, depth: 0, widest: [0; DEEPEST], refused: None };
    look.visit_block(&map.body);
    map.folds.iter().for_each(|fold| look.visit_fold(fold));
    if let Some(refusal) = look.refused {
        return Err(refusal);
    }
    let kept = allocated(program, func, map, &classes)?;
    if let Some(at) = steady::unsteady(program, func, map) {
        return Err(FAULT_ORDER.refused(
            at,
            "a check depends on what iterations store and read, so that they cannot be done again in order",
        ));
    }
    let is_long = |kept: &Allocated| func.vars[kept.array].shape.iter().any(|extent| extent.as_int().is_none());
    // Arrays of two vectors' lanes exceed a first-level cache where those of one do not. Measured with lines of tables, which have lengths.
    let groups = if kept.iter().any(is_long) && length(program, func, nest).is_some() { 1 } else { 2 };
    Ok(WideShape { bits: innermost(&look.widest).unwrap_or(32), groups })
}

/// Whether lanes can add their values of a fold of the outermost map one after the other.
fn foldable(map: &Map, fold: &Fold) -> Result<(), Refusal> {
    if !has_loops(map) && inner_maps(&map.body).is_empty() {
        return Err(SHAPE.refused(fold.span, "the outermost map folds, and iterations have no loops"));
    }
    if fold.kind != FoldKind::Reduce {
        return Err(SHAPE.refused(fold.span, "the outermost map computes prefixes"));
    }
    if fold.op.ty.scalar().is_none() {
        return Err(SHAPE.refused(fold.span, "the outermost map folds structs"));
    }
    Ok(())
}

/// Bits of the widest number in the innermost loops.
fn innermost(widest: &[u8; DEEPEST]) -> Option<u8> {
    widest.iter().rev().copied().find(|bits| *bits > 0)
}

/// Whether iterations of a nest that can run so run in order at times: where they exceed a limit, or take a branch that lanes leave.
pub fn may_be_in_order(program: &Program, func: &Func, map: &Map) -> bool {
    !limits(program, func, map).is_empty() || matches!(in_lanes(program, func, map), Cow::Owned(_))
}

/// Whether whole iterations in lanes gain, and run in order at times: for that reason, or where a check fails.
pub fn runs_apart(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let may_be = || may_be_in_order(program, func, map) || effects::may_fault(program, &func.vars, &map.body);
    wide_shape(program, func, map).is_ok() && may_be() && gain(program, func, map, model).is_ok()
}

/// What lanes take of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The array.
    pub array: VarId,
    /// How much of it.
    pub taken: Taken,
}

/// What is taken of an array at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// So many elements, of a row that is packed, or of an iteration's own array.
    Elements(u32),
    /// The rows that it has: an iteration's number may exceed them.
    Rows,
}

/// The limits that sizes may exceed, of a nest that can run in lanes.
pub fn limits(program: &Program, func: &Func, map: &Map) -> Vec<Limit> {
    let map = &*in_lanes(program, func, map);
    let classes = Classes::of(map);
    let may_exceed = |extents: &[Expr], most: u32| {
        let elements = extents.iter().try_fold(1, |all: i128, extent| extent.as_int()?.checked_mul(all));
        elements.is_none_or(|elements| elements > i128::from(most))
    };
    let shape = |array: VarId| &func.vars[array].shape[..];
    let rows = packed(program, func, map, &classes);
    let kept = allocated(program, func, map, &classes).unwrap_or_default();
    let outside = rows.iter().filter(|row| !row.is_walked);
    let rows = rows.iter().filter(|row| may_exceed(&shape(row.array)[1..], row.most));
    let kept = kept.iter().filter(|kept| may_exceed(shape(kept.array), kept.most));
    let rows = rows.map(|row| Limit { array: row.array, taken: Taken::Elements(row.most) });
    let outside = outside.map(|row| Limit { array: row.array, taken: Taken::Rows });
    let kept = kept.map(|kept| Limit { array: kept.array, taken: Taken::Elements(kept.most) });
    rows.chain(outside).chain(kept).collect()
}

/// Looks at all that an iteration does.
struct Look<'a> {
    program: &'a Program,
    func: &'a Func,
    /// What iterations declare.
    declared: OrdSet<VarId>,
    classes: &'a Classes,
    /// Loops around.
    depth: usize,
    /// Bits of the widest number that varies, by depth.
    widest: [u8; DEEPEST],
    refused: Option<Refusal>,
}

impl Look<'_> {
    fn refuse(&mut self, refusal: Refusal) {
        self.refused.get_or_insert(refusal);
    }

    fn unknown(&mut self, at: Span, what: &'static str) {
        self.refuse(LANES.refused(at, what));
    }

    /// Where all lanes take the same branch and both have loops, numbers are those of the branch with the narrower ones: the other is there for
    /// what these do not hold, and has vectors of several registers.
    fn branches(&mut self, then: &Block, otherwise: &Block) {
        let around = self.widest;
        let mut of = |block: &Block| {
            self.widest = [0; DEEPEST];
            self.visit_block(block);
            self.widest
        };
        let (then, otherwise) = (of(then), of(otherwise));
        let has_loops = |widest: &[u8; DEEPEST]| widest[(self.depth + 1).min(DEEPEST)..].iter().any(|bits| *bits > 0);
        let both = has_loops(&then) && has_loops(&otherwise);
        let most = |left: [u8; DEEPEST], right: [u8; DEEPEST]| std::array::from_fn(|at| left[at].max(right[at]));
        let branches = match (innermost(&then), innermost(&otherwise)) {
            (Some(left), Some(right)) if both && left < right => then,
            (Some(left), Some(right)) if both && right < left => otherwise,
            (Some(_) | None, Some(_) | None) => most(then, otherwise),
        };
        self.widest = most(around, branches);
    }

    /// Lanes call it one after the other.
    fn primitive(&mut self, stmt: &Stmt, call: &PrimCall) {
        if call.access == Access::Shared {
            self.unknown(stmt.span, "iterations may write elements of each other's segments");
        }
        let functions = call.op.iter().filter_map(|op| match op.func {
            FoldFn::Fn(function) => Some(function),
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => None,
        });
        if functions.chain(call.predicate).any(|function| effects::scalar_fn_may_fault(self.program, function)) {
            self.refuse(FAULT_ORDER.refused(stmt.span, "a check remains in a function that a primitive calls"));
        }
        let mut refused = None;
        visit::walk_vars(&Block { stmts: vec![stmt.clone()] }, |var, _| {
            let own = self.declared.contains(&var);
            let declared = &self.func.vars[var];
            refused = refused.or(match (declared.is_array(), declared.ty.scalar()) {
                (true, _) if own => Some("a primitive works on an array of the iteration"),
                (false, None) if self.classes.is_varying(var) => Some("a primitive is given a struct of the iteration"),
                (true | false, Some(_) | None) => None,
            });
        });
        refused.into_iter().for_each(|why| self.unknown(stmt.span, why));
    }

    /// A value that some statement keeps.
    fn kept(&mut self, value: &Expr) {
        let size = numbers(self.program, value.ty).iter().map(|number| number.ty.size()).max().unwrap_or(0);
        // Counters and positions are `long` in any program; of a nest of nothing else lanes have 64 bits.
        if self.classes.varies(value) && size > 0 {
            let slot = &mut self.widest[self.depth.min(DEEPEST - 1)];
            *slot = (*slot).max((size * 8) as u8);
        }
    }
}

impl Visitor for Look<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { value, .. }
            | StmtKind::AssignField { value, .. }
            | StmtKind::Store { value, .. }
            | StmtKind::Atomic { value, .. } => self.kept(value),
            StmtKind::Prim(call) => self.primitive(stmt, call),
            StmtKind::Return(_) | StmtKind::Swap(..) | StmtKind::Call { .. } => {
                self.unknown(stmt.span, "a statement is none of an iteration by itself");
            }
            StmtKind::Declare { .. }
            | StmtKind::Require { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Map(_) => {}
        }
        if let StmtKind::If { cond, then, otherwise } = &stmt.kind
            && !self.classes.varies(cond)
        {
            self.visit_expr(cond);
            return self.branches(then, otherwise);
        }
        let deeper = usize::from(matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
        self.depth += deeper;
        look::walk_stmt(self, stmt);
        self.depth -= deeper;
    }

    fn visit_map(&mut self, map: &Map) {
        for iter in &map.iters {
            let step = iter.step.as_int();
            let ragged = self.classes.varies(&iter.lo) || self.classes.varies(&iter.hi);
            if step.is_none_or(|step| step <= 0) {
                self.refuse(SHAPE.refused(iter.span, "an inner range advances by steps that are no constant"));
            } else if ragged && step != Some(1) {
                self.unknown(iter.span, "a range that differs from iteration to iteration advances by more than one");
            }
        }
        let prefixes = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
        if prefixes && map.iters.len() > 1 {
            self.refuse(SEQUENCE.refused(span_of(map), "prefixes inside go along one of several iterators"));
        }
        look::walk_map(self, map);
    }

    fn visit_fold(&mut self, fold: &Fold) {
        if let FoldFn::Fn(function) = fold.op.func
            && effects::scalar_fn_may_fault(self.program, function)
        {
            self.refuse(FAULT_ORDER.refused(fold.span, "a check remains in the operator of a fold"));
        }
        if fold.kind == FoldKind::Exscan && fold.op.neutral.is_none() {
            self.unknown(fold.span, "prefixes inside begin with no value");
        }
        look::walk_fold(self, fold);
    }

    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(function, _) = &expr.kind
            && effects::scalar_fn_may_fault(self.program, *function)
        {
            self.refuse(FAULT_ORDER.refused(expr.span, "a check remains in a function that iterations call"));
        }
        look::walk_expr(self, expr);
    }
}
