//! What accesses take, and what is known of their positions.

use super::{Around, Call};
use crate::shape::{Stride, invariant};
use crate::{Exec, stride_of};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, Expr, ExprKind, Loop, Map, Place, StmtKind, VarId};

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

    /// A line of an array, for an element anywhere in it: a cache has as much of the array as it is large.
    fn line(&self, array: VarId) -> f64 {
        let beyond = 1.0 - f64::from(self.model.l2) / self.bytes(array).max(1.0);
        f64::from(self.model.line) * f64::from(self.of.byte) * beyond.max(0.0)
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
