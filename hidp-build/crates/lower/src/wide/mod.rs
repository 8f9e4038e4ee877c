//! Whole iterations in vector lanes.
//!
//! Consecutive iterations of a map are the lanes of a group. What is the same in all of them (`plan::wide::Classes`) is lowered as it is
//! elsewhere, to scalars and branches; of what differs each lane has its own, and where lanes part, masks say who goes on:
//!
//! - `here` are the lanes that execute what is being lowered. Others hold anything: what they compute meanwhile is never looked at, they
//!   access no memory, and divide by 1.
//! - An assignment is made under `here` only if one of the lanes that are elsewhere reads the variable when it comes back (`joins`).
//! - A branch computes both sides, one after the other; a side that costs something is skipped where no lane takes it.
//! - A loop goes on while any lane does. Lanes that leave it, or go on to its step, wait.
//! - A check that fails in a lane that is here leaves the group. Its iterations are done again one after the other, as they are in other
//!   plans, which finds the first fault; the planner saw that nothing is stored which they read.
//!
//! | file | what it lowers |
//! |---|---|
//! | `control` | branches, loops, scopes, jumps |
//! | `ends` | loops up to an end of each lane |
//! | `counters` | scalars beside variables that count turns |
//! | `folds` | what whole iterations fold |
//! | `maps` | maps inside, their folds and prefixes |
//! | `jam` | iterations of a map inside that share the turns of a loop |
//! | `stmt` | declarations, assignments, stores, updates |
//! | `value` | expressions |
//! | `access` | elements |
//! | `own` | arrays of iterations |
//! | `packed` | copies of rows |
//! | `prims` | primitives, lane by lane |
//! | `sorted` | iterations by their lengths |
//! | `again` | iterations of groups that were left |
//! | `structs` | structs, number by number |

mod access;
mod again;
mod control;
mod counters;
mod ends;
mod fit;
mod folds;
mod jam;
mod maps;
mod own;
mod packed;
mod prims;
mod sorted;
mod stmt;
mod structs;
mod value;

use super::build::Binding;
use super::defect::{IN_LANES, UNCHECKED};
use super::fold::Acc;
use super::map::turns;
use super::space::Range;
use super::{Checks, Lowerer, make};
use control::Around;
use hidp_ir::imp::{self, Again, Expr, Group, Lanes, SetLanes, Stmt, VarId, VarKind, Wide, WideKind, WideStmt};
use hidp_ir::par::effects::{Effects, may_fault};
use hidp_ir::par::{self, BinOp, Map, UnOp};
use hidp_plan::notation::Property;
use hidp_plan::wide::live::{self, Jumps};
use hidp_plan::wide::{Allocated, Classes, Joins, Packed};
use hidp_plan::{self as plan, Recipe, WideShape};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::{Scalar, Ty};
use own::Own;
use sorted::Sorted;

/// The group under construction.
pub(super) struct State {
    classes: Classes,
    lanes: Lanes,
    /// The iterator along which the lanes are; nothing where it is no neighbour's that the next lane has.
    lane: Option<par::VarId>,
    /// What else differs from lane to lane, in those that are here.
    others: OrdSet<par::VarId>,
    /// What a variable is in lanes.
    vars: OrdMap<par::VarId, VarId>,
    /// The same of structs: what their numbers are, in order.
    structs: OrdMap<par::VarId, Vec<VarId>>,
    /// What an array of an iteration is.
    own: OrdMap<par::VarId, Own>,
    /// Copies of the rows of arrays.
    packed: OrdMap<par::VarId, VarId>,
    /// What counts the turns of the loops around, as the lanes that are inside have it.
    counters: OrdMap<par::VarId, VarId>,
    /// The lanes that execute what is being lowered.
    here: VarId,
    /// What lanes that are elsewhere read when they come back.
    joins: Joins,
    /// Loops and scopes around, outermost first.
    around: Vec<Around>,
}

/// The iterations of a map that are in lanes.
struct Iterations<'a> {
    map: &'a Map,
    /// The map as lanes run it.
    in_lanes: &'a Map,
    range: &'a Range,
    accs: &'a [Acc<'a>],
    classes: Classes,
    packed: Vec<Packed>,
    allocated: Vec<Allocated>,
    sorted: Option<Sorted>,
}

impl Lowerer<'_> {
    /// Positions `[low, high)` of a map's last range, whole iterations in lanes; in order where rows are too long to be packed, or
    /// arrays of iterations to be kept.
    pub(super) fn wide_loop(&mut self, map: &Map, range: &Range, low: Expr, high: Expr, accs: &[Acc<'_>]) {
        let in_lanes = &*plan::wide::in_lanes(self.program, self.func, map);
        let classes = Classes::of(in_lanes);
        let packed = plan::wide::packed(self.program, self.func, in_lanes, &classes);
        let allocated = match plan::wide::allocated(self.program, self.func, in_lanes, &classes) {
            Ok(allocated) => allocated,
            Err(refusal) => return self.defect(refusal.why),
        };
        let fit = if self.fits { None } else { self.sizes_fit(&packed, &allocated, range) };
        let iterations = Iterations { map, in_lanes, range, accs, classes, packed, allocated, sorted: None };
        let Some(fit) = fit else { return self.in_groups(iterations, low, high) };
        let (low2, high2) = (low.clone(), high.clone());
        let inner = last_inside(map);
        self.branch(
            fit,
            |this| this.in_groups(iterations, low, high),
            |this| {
                if this.run_apart(map, range, [low2.clone(), high2.clone()]) {
                    return;
                }
                this.with_lanes(&inner, |this| {
                    this.range_loop(range, low2, high2, turns(map), &mut |this| this.iteration(map, accs));
                });
            },
        );
    }

    /// As they follow each other, or by their lengths.
    fn in_groups(&mut self, iterations: Iterations<'_>, low: Expr, high: Expr) {
        match self.mapping.number(Property::Sorted) {
            Some(most) => self.sorted(iterations, most, low, high),
            None => self.flights(&iterations, low, high),
        }
    }

    /// Groups of as many vectors as are in flight together, and smaller ones of what is left.
    fn flights(&mut self, iterations: &Iterations<'_>, low: Expr, high: Expr) {
        let Recipe::Wide(WideShape { bits, groups }) = self.mapping.recipe else {
            return self.defect("whole iterations are in lanes of a known width");
        };
        let few = Lanes { bits, groups };
        let Some(flight) = self.mapping.number(Property::Flight) else {
            return self.few(iterations, few, low, high);
        };
        let many = Lanes { bits, groups: flight as u8 };
        let suits = self.mapping.number(Property::Registers).map(|least| {
            let registers = Expr { kind: imp::ExprKind::VectorRegisters, ty: Ty::LONG };
            make::binary(BinOp::Ge, registers, make::long(least.into()))
        });
        let count = Expr { kind: imp::ExprKind::LaneCount(many), ty: Ty::LONG };
        let low = self.body.fix("low", low);
        let groups = make::div(make::sub(high.clone(), low.clone()), count.clone());
        let groups = self.mapping.number(Property::FlightGroups).map_or(groups.clone(), |least| {
            let groups = self.body.fix("groups", groups);
            let is_enough = make::binary(BinOp::Ge, groups.clone(), make::long(least.into()));
            make::select(is_enough, groups, make::long(0))
        });
        let past = make::add(low.clone(), make::max(make::mul(groups, count), make::long(0)));
        let Some(suits) = suits else {
            let past = self.body.fix("past", past);
            self.groups(iterations, (many, true), low, past.clone());
            return self.few(iterations, few, past, high);
        };
        let past = self.body.fix("past", make::select(suits.clone(), past, low.clone()));
        // The condition is a constant: compilers leave out what it excludes.
        self.branch(suits, |this| this.groups(iterations, (many, true), low, past.clone()), |_| {});
        self.few(iterations, few, past, high);
    }

    /// Groups of few vectors, the last of which may have fewer if these hold what is left.
    fn few(&mut self, iterations: &Iterations<'_>, few: Lanes, low: Expr, high: Expr) {
        let last = self.mapping.number(Property::Last).map(|last| Lanes { groups: last as u8, ..few });
        let Some(last) = last.filter(|last| last.groups != few.groups) else {
            return self.groups(iterations, (few, false), low, high);
        };
        let count = |lanes| Expr { kind: imp::ExprKind::LaneCount(lanes), ty: Ty::LONG };
        let low = self.body.fix("low", low);
        let beyond = make::max(make::sub(make::sub(high.clone(), low.clone()), count(last)), make::long(0));
        let groups = make::div(make::add(beyond, make::sub(count(few), make::long(1))), count(few));
        let past = make::min(make::add(low.clone(), make::mul(groups, count(few))), high.clone());
        let past = self.body.fix("past", past);
        self.groups(iterations, (few, false), low, past.clone());
        self.groups(iterations, (last, false), past, high);
    }

    /// Groups of lanes, perhaps only whole ones.
    fn groups(&mut self, iterations: &Iterations<'_>, (lanes, is_whole): (Lanes, bool), low: Expr, high: Expr) {
        let Iterations { map, in_lanes, range, accs, classes, packed, allocated, sorted } = iterations;
        let (map, in_lanes, range, accs, classes) = (*map, *in_lanes, *range, *accs, classes.clone());
        let sorted = sorted.as_ref();
        let from = if sorted.is_some() { make::long(0) } else { range.lo.clone() };
        let shift = |position: Expr| make::add(from.clone(), position);
        let lo = self.body.fix("low", shift(low));
        let hi = self.body.fix("high", shift(high));
        let own = allocated.iter().map(|array| self.allocate_array(array, lanes)).collect();
        let name = self.func.vars[range.var].name.clone();
        let first = self.body.enter_loop(&name);
        let here = self.body.declare("here", VarKind::Wide { elem: Scalar::Bool, lanes });
        let mut others = classes.varying().clone();
        match sorted {
            Some(_) => self.body.bindings.remove(&range.var),
            None => self.body.bindings.insert(range.var, Binding::Fixed(make::var(first, Ty::LONG))),
        };
        if sorted.is_none() {
            others.remove(&range.var);
        }
        self.wide = Some(State {
            classes,
            lanes,
            lane: sorted.is_none().then_some(range.var),
            others,
            vars: OrdMap::new(),
            structs: OrdMap::new(),
            own,
            packed: OrdMap::new(),
            counters: OrdMap::new(),
            here,
            joins: Joins::new(),
            around: Vec::new(),
        });
        self.body.lanes = Some(here);
        let label = may_fault(self.program, &self.func.vars, &in_lanes.body).then(|| self.body.new_label());
        let checks = label.map_or(self.checks, Checks::Again);
        let checks = std::mem::replace(&mut self.checks, checks);
        packed.iter().for_each(|packed| self.pack_rows(packed, first));
        sorted.into_iter().for_each(|sorted| self.sorted_lanes(sorted, range.var, first));
        self.enter_iteration(in_lanes);
        self.wide_block(&in_lanes.body, &live::folded(in_lanes), &Jumps::default());
        if !accs.is_empty() {
            self.wide_added(map, accs);
        }
        self.leave_iteration();
        self.wide = None;
        self.body.lanes = None;
        self.checks = checks;
        let body = self.body.leave();
        let leaves = !std::ptr::eq(map, in_lanes);
        let again = label.map(|label| match sorted {
            Some(sorted) => Again { label, body: self.marked(sorted, lanes, first, &hi) },
            None => Again { label, body: self.once_more((map, accs, leaves), range, lanes, first, &hi) },
        });
        self.body.push(Stmt::Group(Box::new(Group { lanes, first, here, lo, hi, is_whole, body, again })));
    }

    /// Leaves the group unless something holds in all lanes that are here.
    fn wide_require(&mut self, ok: Wide) {
        let Checks::Again(label) = self.checks else { return self.defect(UNCHECKED) };
        let Some(here) = self.here() else { return };
        let failed = self.wide_binary(BinOp::And, self.mask(here), self.wide_not(ok));
        let failed = self.wide_slot("failed", failed);
        self.body.push(make::when(any(failed), vec![Stmt::Leave(Some(label))]));
    }

    /// The same of what all lanes have in common, which is asked once.
    fn wide_require_same(&mut self, ok: Expr) {
        let Checks::Again(label) = self.checks else { return self.defect(UNCHECKED) };
        let Some(here) = self.here() else { return };
        let leave = make::when(any(here), vec![Stmt::Leave(Some(label))]);
        self.body.push(make::when(make::not(ok), vec![leave]));
    }

    /// The group under construction; there is one wherever this is asked.
    fn lanes(&self) -> Lanes {
        self.wide.as_ref().map_or(Lanes { bits: 32, groups: 1 }, |wide| wide.lanes)
    }

    fn here(&mut self) -> Option<VarId> {
        let here = self.wide.as_ref().map(|wide| wide.here);
        if here.is_none() {
            self.defect(IN_LANES);
        }
        here
    }

    fn varies(&self, expr: &par::Expr) -> bool {
        self.wide.as_ref().is_some_and(|wide| wide.classes.varies(expr))
    }

    /// Whether an expression differs between lanes that are here: counters of the loops around do not.
    fn differs(&self, expr: &par::Expr) -> bool {
        self.wide.as_ref().is_some_and(|wide| {
            Effects::of_expr(expr).iter().any(|var| Some(*var) == wide.lane || wide.others.contains(var))
        })
    }

    fn is_varying(&self, var: par::VarId) -> bool {
        self.wide.as_ref().is_some_and(|wide| wide.classes.is_varying(var))
    }

    /// Whether lanes that are elsewhere read a variable when they come back.
    fn is_joined(&self, var: par::VarId) -> bool {
        self.wide.as_ref().is_some_and(|wide| wide.joins.contains(&var))
    }

    /// Lowers something with other lanes, and others that wait.
    fn with_lanes_here(&mut self, here: VarId, joins: Joins, build: impl FnOnce(&mut Self)) {
        let Some(wide) = &mut self.wide else { return self.defect(IN_LANES) };
        let joins = std::mem::replace(&mut wide.joins, joins);
        let around = wide.here;
        self.enter_lanes(here);
        build(self);
        self.enter_lanes(around);
        if let Some(wide) = &mut self.wide {
            wide.joins = joins;
        }
    }

    /// What follows is lowered for these lanes.
    fn enter_lanes(&mut self, here: VarId) {
        self.body.lanes = Some(here);
        if let Some(wide) = &mut self.wide {
            wide.here = here;
        }
    }

    fn joins(&self) -> Joins {
        self.wide.as_ref().map_or_else(Joins::new, |wide| wide.joins.clone())
    }

    /// A wide value of this kind.
    fn wide_of(&self, kind: WideKind, ty: Scalar) -> Wide {
        Wide { kind, ty, lanes: self.lanes() }
    }

    fn wide_var(&self, var: VarId, ty: Scalar) -> Wide {
        self.wide_of(WideKind::Var(var), ty)
    }

    fn mask(&self, var: VarId) -> Wide {
        self.wide_var(var, Scalar::Bool)
    }

    fn splat(&self, value: Expr) -> Wide {
        let ty = value.ty.scalar().unwrap_or(Scalar::I64);
        self.wide_of(WideKind::Splat(Box::new(value)), ty)
    }

    fn wide_binary(&self, op: BinOp, left: Wide, right: Wide) -> Wide {
        let ty = if op.is_comparison() { Scalar::Bool } else { left.ty };
        self.wide_of(WideKind::Binary(op, Box::new(left), Box::new(right)), ty)
    }

    fn wide_not(&self, mask: Wide) -> Wide {
        self.wide_of(WideKind::Unary(UnOp::Not, Box::new(mask)), Scalar::Bool)
    }

    fn wide_select(&self, mask: Wide, yes: Wide, no: Wide) -> Wide {
        let ty = yes.ty;
        self.wide_of(WideKind::Select(Box::new(mask), Box::new(yes), Box::new(no)), ty)
    }

    /// `left & !right`
    fn without(&self, left: VarId, right: VarId) -> Wide {
        self.wide_binary(BinOp::And, self.mask(left), self.wide_not(self.mask(right)))
    }

    /// `left & right`
    fn both(&self, left: VarId, right: VarId) -> Wide {
        self.wide_binary(BinOp::And, self.mask(left), self.mask(right))
    }

    /// A wide variable.
    fn wide_slot(&mut self, name: &str, init: Wide) -> VarId {
        let var = self.body.declare(name, VarKind::Wide { elem: init.ty, lanes: init.lanes });
        self.body.push(Stmt::Wide(WideStmt::Let { var, init: Some(init) }));
        var
    }

    /// A mask as a variable: itself if it is one.
    fn mask_of(&mut self, name: &str, mask: Wide) -> VarId {
        if let WideKind::Var(var) = mask.kind { var } else { self.wide_slot(name, mask) }
    }

    fn wide_set(&mut self, var: VarId, value: Wide, lanes: SetLanes) {
        self.body.push(Stmt::Wide(WideStmt::Set { var, value, lanes }));
    }

    /// Whether lanes that are elsewhere keep what they have.
    fn set_lanes(&mut self, kept: bool) -> SetLanes {
        self.here().filter(|_| kept).map_or(SetLanes::Here, SetLanes::Only)
    }

    /// Runs what `build` lowers only if a mask has any lane.
    fn if_any(&mut self, mask: VarId, build: impl FnOnce(&mut Self)) {
        self.body.enter();
        build(self);
        let then = self.body.leave();
        if !then.stmts.is_empty() {
            self.body.push(make::when(any(mask), then.stmts));
        }
    }
}

/// The last iterators of the maps inside.
pub(super) fn last_inside(map: &Map) -> Vec<par::VarId> {
    plan::inner_maps(&map.body).into_iter().filter_map(|inner| Some(inner.iters.last()?.var)).collect()
}

/// Whether a mask has any lane.
fn any(mask: VarId) -> Expr {
    Expr { kind: imp::ExprKind::Any(mask), ty: Ty::BOOL }
}
