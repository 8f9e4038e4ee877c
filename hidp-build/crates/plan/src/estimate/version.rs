//! What is known of a version whatever the sizes: found once, since versions are compared at many of them.

use std::iter::once;

use super::{Call, Estimate};
use crate::candidates::mapping;
use crate::target::Model;
use crate::wide::{Classes, allocated, in_lanes, packed};
use crate::{Mapping, Plan, Strategy, inner_maps, nests};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit;
use hidp_ir::par::{Block, Func, Map, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// A version: a function and how a plan runs it.
pub(crate) struct Version<'a> {
    program: &'a Program,
    func: &'a Func,
    model: &'a Model,
    nests: Vec<Nest<'a>>,
}

impl<'a> Version<'a> {
    /// Nothing if the plan does not fit the function.
    pub(crate) fn new(program: &'a Program, func: &'a Func, plan: &Plan, model: &'a Model) -> Option<Version<'a>> {
        let read = |(map, nest)| {
            let mapping = Mapping::read(program, func, map, nest).ok()?;
            Some(Nest::new((program, func), map, mapping, model))
        };
        let nests: Option<Vec<Nest<'a>>> = nests(func).into_iter().zip(&plan.nests).map(read).collect();
        Some(Version { program, func, model, nests: nests? })
    }

    /// A call whose dimensions have these sizes, on so many threads.
    pub(crate) fn at(&self, sizes: &[i64], threads: f64) -> Estimate {
        let Version { program, func, model, ref nests } = *self;
        let dims = func.dims.iter().copied().zip(sizes.iter().copied());
        let mut call = Call {
            program,
            func,
            model,
            of: model.estimates,
            threads,
            nests,
            known: dims.chain(program.usual_settings(func)).collect(),
            loaded: OrdSet::new(),
            conditions: [0, 0],
        };
        let time = call.host(&func.body);
        let [held, failed] = call.conditions;
        Estimate { time, declined: failed > 0 && held == 0 }
    }
}

/// A nest and how a plan runs it.
pub(super) struct Nest<'a> {
    pub(super) map: &'a Map,
    pub(super) mapping: Mapping,
    /// Where iterations are in lanes.
    wide: Option<Wide>,
    /// The array of each access, and variables of the nest on which its position depends.
    accesses: Vec<(VarId, Vec<VarId>)>,
    /// Arrays that it has to have: what it reads, then what it writes.
    transferred: Vec<VarId>,
    /// Arrays from outside that loops in iterations store to.
    stored: Vec<VarId>,
}

/// What iterations in lanes need.
struct Wide {
    /// Arrays of iterations, and rows that are packed, with the elements that they may have; nothing if there is an array without a bound.
    bounds: Option<[Vec<(VarId, u32)>; 2]>,
    /// How iterations run where something is longer: in order.
    otherwise: Mapping,
}

impl<'a> Nest<'a> {
    pub(super) fn new((program, func): (&Program, &Func), map: &'a Map, own: Mapping, model: &Model) -> Nest<'a> {
        let whole = Block { stmts: vec![Stmt { kind: StmtKind::Map(map.clone()), span: func.span }] };
        let effects = Effects::of_block(program, &func.vars, &whole);
        let mut accesses = Vec::new();
        visit::walk_places(&whole, |place, _| {
            let positions: OrdSet<VarId> = place.index.iter().flat_map(Effects::of_expr).collect();
            let inside = positions.iter().copied().filter(|var| effects.declares.contains(var)).collect();
            accesses.push((place.array, inside));
        });
        let wide = (own.strategy == Strategy::Wide).then(|| Wide {
            bounds: bounds(program, func, map),
            otherwise: mapping(program, func, map, Strategy::Rows, model),
        });
        let transferred = effects.outer_reads().into_iter().chain(effects.outer_writes()).collect();
        Nest { map, mapping: own, wide, accesses, transferred, stored: stored_in_loops(map) }
    }
}

/// The elements that arrays of iterations in lanes, and rows that are packed for them, may have.
fn bounds(program: &Program, func: &Func, map: &Map) -> Option<[Vec<(VarId, u32)>; 2]> {
    let map = &*in_lanes(program, func, map);
    let classes = Classes::of(map);
    let kept = allocated(program, func, map, &classes).ok()?;
    let rows = packed(program, func, map, &classes);
    let kept = kept.iter().map(|kept| (kept.array, kept.most)).collect();
    Some([kept, rows.iter().map(|packed| (packed.array, packed.most)).collect()])
}

/// Arrays from outside that loops in iterations store to.
fn stored_in_loops(map: &Map) -> Vec<VarId> {
    let own = visit::declared(&map.body);
    let mut found: Vec<VarId> = Vec::new();
    visit::walk_stmts(&map.body, |stmt| {
        let StmtKind::Loop(node) = &stmt.kind else { return };
        visit::walk_stmts(&node.body, |stmt| {
            let StmtKind::Store { place, .. } = &stmt.kind else { return };
            if !own.contains(&place.array) && !found.contains(&place.array) {
                found.push(place.array);
            }
        });
    });
    found
}

impl Call<'_> {
    /// How a nest runs at these sizes, and the arrays whose rows are packed for iterations in lanes.
    pub(super) fn runs<'n>(&self, nest: &'n Nest<'_>) -> (&'n Mapping, Vec<VarId>) {
        let Some(wide) = &nest.wide else { return (&nest.mapping, Vec::new()) };
        let row = |array: VarId| -> f64 {
            self.func.vars[array].shape.iter().skip(1).map(|extent| self.size(extent)).product()
        };
        let fitting = wide.bounds.as_ref().filter(|[kept, rows]| {
            kept.iter().all(|(array, most)| self.elements(*array) <= f64::from(*most))
                && rows.iter().all(|(array, most)| row(*array) <= f64::from(*most))
        });
        match fitting {
            Some([_, rows]) => (&nest.mapping, rows.iter().map(|(array, _)| *array).collect()),
            None => (&wide.otherwise, Vec::new()),
        }
    }

    /// What a nest takes besides to have its arrays: all of each, or what iterators with known ranges touch. These have their means.
    pub(super) fn transferred(&self, nest: &Nest<'_>) -> f64 {
        let iters = once(nest.map).chain(inner_maps(&nest.map.body)).flat_map(|map| &map.iters);
        let ranges: OrdMap<VarId, f64> = iters.filter_map(|iter| Some((iter.var, self.known_range(iter)?))).collect();
        let mut touched: OrdMap<VarId, f64> = OrdMap::new();
        for (array, inside) in &nest.accesses {
            let ways: Option<f64> = inside.iter().map(|var| ranges.get(var).copied()).product();
            let most = touched.entry(*array).or_default();
            *most = most.max(ways.unwrap_or(f64::INFINITY));
        }
        let transfer = |array: &VarId| {
            let elements = self.elements(*array);
            let touched = touched.get(array).map_or(elements, |touched| touched.min(elements));
            touched * self.element(*array) * self.moved(self.bytes(*array))
        };
        nest.transferred.iter().map(transfer).sum()
    }

    /// Arrays of a line each that loops in iterations store to, if there are several: a thread that stores to one line alone does so many times
    /// while it has the line, but with two of them stores wait for the one and the other in turn.
    pub(super) fn crowded(&self, nest: &Nest<'_>) -> Vec<VarId> {
        let is_one_line = |array: &VarId| self.bytes(*array) <= f64::from(self.model.line);
        let found: Vec<VarId> = nest.stored.iter().copied().filter(is_one_line).collect();
        if found.len() > 1 { found } else { Vec::new() }
    }
}
