//! What accesses take, and what is known of their positions.

use std::iter::once;

use super::{Around, Call};
use crate::shape::{Stride, invariant};
use crate::wide::{Classes, allocated, in_lanes, packed};
use crate::{Exec, inner_maps, stride_of};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, Expr, ExprKind, Loop, Map, Place, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};

impl Call<'_> {
    /// A load or store. Where a tile of several iterations is in registers, those for which it is the same share it.
    pub(super) fn access(&self, place: &Place, around: &Around<'_>) -> f64 {
        let Some(lanes) = around.lanes else { return f64::from(self.of.scalar) + self.missed(place) };
        if around.packed.contains(&place.array) {
            return self.of.load.into();
        }
        let time = match stride_of(place, lanes, &around.varying) {
            Stride::Unit => f64::from(self.of.load),
            Stride::Invariant => 0.0,
            Stride::Strided | Stride::Irregular => f64::from(self.of.gathered) + self.line(place.array),
        };
        let tiles = around
            .mapping
            .into_iter()
            .flat_map(|mapping| &mapping.levels)
            .filter(|(var, level)| level.tile > 1 && **var != lanes);
        let shared = tiles.filter(|(var, _)| stride_of(place, **var, &around.varying) == Stride::Invariant);
        time / shared.map(|(_, level)| f64::from(level.tile)).product::<f64>()
    }

    /// Whether neighbours run in vector lanes: as the plan says it, or since compilers make vectors of such loops themselves.
    pub(super) fn has_lanes(&self, map: &Map, last: VarId, around: &Around<'_>) -> bool {
        let exec = around.mapping.and_then(|mapping| mapping.exec(last));
        match exec {
            Some(Exec::Simd | Exec::Lanes | Exec::Wide) => true,
            Some(Exec::Seq | Exec::Thread) => is_plain(map, last),
            Some(Exec::Team | Exec::Device(_)) | None => false,
        }
    }

    /// The additional cost of an access whose address depends on data.
    pub(super) fn missed(&self, place: &Place) -> f64 {
        if place.index.iter().any(|index| self.is_loaded(index)) { self.line(place.array) } else { 0.0 }
    }

    /// A line of an array, for an element of it; nothing where a cache has it.
    fn line(&self, array: VarId) -> f64 {
        f64::from(self.model.line) * self.moved(self.bytes(array))
    }

    /// Whether a value is one of an array, or computed from one.
    fn is_loaded(&self, value: &Expr) -> bool {
        let mut found = false;
        visit::walk_subexprs(value, |expr| {
            found |= match &expr.kind {
                ExprKind::Load(_) => true,
                ExprKind::Read(var) => self.loaded.contains(var),
                ExprKind::Const(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary { .. }
                | ExprKind::Lazy { .. }
                | ExprKind::Select { .. }
                | ExprKind::Convert { .. }
                | ExprKind::Math(..)
                | ExprKind::Call(..)
                | ExprKind::Field(..)
                | ExprKind::Struct(..) => false,
            };
        });
        found
    }

    /// The arrays whose rows are packed for iterations in lanes; nothing if these, or arrays of iterations, are too long.
    pub(super) fn packed(&self, map: &Map) -> Option<Vec<VarId>> {
        let map = &*in_lanes(self.program, self.func, map);
        let classes = Classes::of(map);
        let kept = allocated(self.program, self.func, map, &classes).ok()?;
        let kept_fit = kept.iter().all(|kept| self.elements(kept.array) <= f64::from(kept.most));
        let rows = packed(self.program, self.func, map, &classes);
        let row = |array: VarId| -> f64 {
            self.func.vars[array].shape.iter().skip(1).map(|extent| self.size(extent)).product()
        };
        let rows_fit = rows.iter().all(|packed| row(packed.array) <= f64::from(packed.most));
        (kept_fit && rows_fit).then(|| rows.iter().map(|packed| packed.array).collect())
    }

    /// What a nest takes besides to have its arrays: all of each, or what iterators with known ranges touch. These have their means.
    pub(super) fn transferred(&self, nest: &Map) -> f64 {
        let whole = Block { stmts: vec![Stmt { kind: StmtKind::Map(nest.clone()), span: self.func.span }] };
        let effects = Effects::of_block(self.program, &self.func.vars, &whole);
        let iters = once(nest).chain(inner_maps(&nest.body)).flat_map(|map| &map.iters);
        let ranges: OrdMap<VarId, f64> = iters.filter_map(|iter| Some((iter.var, self.known_range(iter)?))).collect();
        let mut touched: OrdMap<VarId, f64> = OrdMap::new();
        visit::walk_places(&whole, |place, _| {
            let positions: OrdSet<VarId> = place.index.iter().flat_map(Effects::of_expr).collect();
            let inside = positions.iter().filter(|var| effects.declares.contains(var));
            let ways: Option<f64> = inside.map(|var| ranges.get(var).copied()).product();
            let most = touched.entry(place.array).or_default();
            *most = most.max(ways.unwrap_or(f64::INFINITY));
        });
        let transfer = |array: VarId| {
            let elements = self.elements(array);
            let touched = touched.get(&array).map_or(elements, |touched| touched.min(elements));
            touched * self.element(array) * self.moved(self.bytes(array))
        };
        effects.outer_reads().into_iter().chain(effects.outer_writes()).map(transfer).sum()
    }

    /// Arrays of a line each that loops in iterations store to, if there are several: a thread that stores to one line alone does so many times
    /// while it has the line, but with two of them stores wait for the one and the other in turn.
    pub(super) fn crowded(&self, nest: &Map) -> Vec<VarId> {
        let own = visit::declared(&nest.body);
        let mut found: Vec<VarId> = Vec::new();
        visit::walk_stmts(&nest.body, |stmt| {
            let StmtKind::Loop(node) = &stmt.kind else { return };
            visit::walk_stmts(&node.body, |stmt| {
                let StmtKind::Store { place, .. } = &stmt.kind else { return };
                let one_line = self.bytes(place.array) <= f64::from(self.model.line);
                if one_line && !own.contains(&place.array) && !found.contains(&place.array) {
                    found.push(place.array);
                }
            });
        });
        if found.len() > 1 { found } else { Vec::new() }
    }

    /// What is known of a variable from now on.
    pub(super) fn learn(&mut self, var: VarId, value: &Expr) {
        if self.is_loaded(value) {
            self.loaded.insert(var);
        } else {
            self.loaded.remove(&var);
        }
        match value.value(&self.known) {
            Some(value) => self.known.insert(var, value),
            None => self.known.remove(&var),
        };
    }

    /// What a loop counts goes from one to the next, wherever it began.
    pub(super) fn count(&mut self, node: &Loop) {
        visit::walk_vars(&node.step, |var, role| {
            if role == Role::Write {
                self.loaded.remove(&var);
            }
        });
    }

    /// A block may have changed what it writes.
    pub(super) fn forget(&mut self, block: &Block) {
        visit::walk_vars(block, |var, role| {
            if role == Role::Write {
                self.known.remove(&var);
            }
        });
    }

    /// What a byte of an array of so many takes: nothing where a cache has it.
    pub(super) fn moved(&self, bytes: f64) -> f64 {
        if bytes < f64::from(self.model.l2) { 0.0 } else { self.of.byte.into() }
    }
}

/// Whether a loop has no others inside, goes along rows, and tests nothing that it did not test in its first turn.
fn is_plain(map: &Map, last: VarId) -> bool {
    let mut plain = map.folds.is_empty();
    visit::walk_stmts(&map.body, |stmt| {
        plain &= matches!(stmt.kind, StmtKind::Store { .. } | StmtKind::Assign { .. } | StmtKind::Declare { .. });
    });
    let own = visit::declared(&map.body).into_iter().collect();
    visit::walk_places(&map.body, |place, _| {
        plain &= matches!(stride_of(place, last, &own), Stride::Unit | Stride::Invariant);
        for (dim, index) in place.index.iter().enumerate() {
            plain &= place.unproved >> dim & 1 == 0 || invariant(index, last, &own);
        }
    });
    plain
}
