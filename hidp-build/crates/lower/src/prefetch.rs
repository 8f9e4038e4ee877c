//! Prefetches of what folds load: rows of a matrix come at up to twice the rate at which hardware prefetches them alone.

use super::build::Binding;
use super::lanes::Tile;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, Stmt};
use hidp_ir::par::{ExprKind, Map, Place, VarId, visit};
use hidp_plan::notation::FoldOption;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

impl Lowerer<'_> {
    /// Prefetches the entries of a later row, where a fold over a short row of a sparse matrix begins: entries of a row follow those of the row
    /// before, a row has about a line of them, and loads through indices come between theirs.
    pub(super) fn prefetch_short_row(&mut self, map: &Map, range: &Range, low: &Expr) {
        let starts_anywhere = make::as_int(&range.lo).is_none() && make::as_int(&range.step) == Some(1);
        if !starts_anywhere || self.option_of(map, FoldOption::Apart).is_none() {
            return;
        }
        let first = make::add(range.lo.clone(), low.clone());
        for (array, elem) in entries_at(map, range.var) {
            let Binding::Array(array) = self.binding(array) else { continue };
            if array.window.is_none() && array.stride.is_none() {
                let ahead = i64::from(self.model.ahead) / elem.size() as i64;
                self.body.push(Stmt::Prefetch { of: array.base, index: make::add(first.clone(), make::long(ahead)) });
            }
        }
    }

    /// Prefetches what a later iteration of a fold loads, where its iterations take whole rows of an array, one after the other.
    pub(super) fn prefetch_rows(&mut self, map: &Map, range: &Range, tile: &Tile) {
        let (None, Some(lanes)) = (&tile.rows, make::as_int(&tile.lanes.count)) else { return };
        for (array, elem) in loads_at(map, range.var, tile.lanes.var) {
            let Binding::Array(array) = self.binding(array) else { continue };
            let in_memory = array.window.is_none() && array.stride.is_none();
            if !in_memory || array.extents.get(1).and_then(make::as_int) != Some(lanes) {
                continue;
            }
            let size = elem.size() as i64;
            let [line, ahead] = [self.model.line, self.model.ahead].map(|bytes| i64::from(bytes) / size);
            let row = make::mul(self.read(range.var), array.extents[1].clone());
            for next in (0..lanes as i64).step_by(line as usize) {
                let index = make::add(row.clone(), make::long(ahead + next));
                self.body.push(Stmt::Prefetch { of: array.base, index });
            }
        }
    }
}

/// The vectors whose elements at this iterator a fold loads.
fn entries_at(map: &Map, entry: VarId) -> OrdSet<(VarId, Scalar)> {
    let mut arrays = OrdSet::new();
    visit::walk_exprs(&map.body, |expr| {
        if let ExprKind::Load(Place { array, index, .. }) = &expr.kind
            && let [only] = &index[..]
            && only.kind == ExprKind::Read(entry)
            && let Some(elem) = expr.ty.scalar()
        {
            arrays.insert((*array, elem));
        }
    });
    arrays
}

/// The arrays of two dimensions whose elements at these iterators a fold loads.
fn loads_at(map: &Map, row: VarId, lane: VarId) -> OrdSet<(VarId, Scalar)> {
    let mut arrays = OrdSet::new();
    visit::walk_exprs(&map.body, |expr| {
        if let ExprKind::Load(Place { array, index, .. }) = &expr.kind
            && let [first, second] = &index[..]
            && [&first.kind, &second.kind] == [&ExprKind::Read(row), &ExprKind::Read(lane)]
            && let Some(elem) = expr.ty.scalar()
        {
            arrays.insert((*array, elem));
        }
    });
    arrays
}
