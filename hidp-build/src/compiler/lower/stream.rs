//! Outputs far larger than the caches are computed into a tile, a run at a time, and copied out with non-temporal stores.

use super::space::Range;
use super::{Binding, Lowerer, make};
use crate::compiler::ir::imp::{Element, Expr, Stmt, VarId};
use crate::compiler::ir::par::{self, BinOp, Map, Place, StmtKind};

/// Stores to `array` go to `tile`, at the iterator's distance from `first`.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    array: par::VarId,
    iter: par::VarId,
    tile: VarId,
    first: Expr,
}

impl Lowerer<'_> {
    /// On the host: whether the nest's streamed outputs are large, if it has any.
    pub(super) fn stream_flag(&mut self, total: &Expr) -> Option<Expr> {
        if self.streamed.is_empty() {
            return None;
        }
        let bytes: usize = self.streamed.iter().map(|var| self.size_of(self.func.vars[*var].ty)).sum();
        let bytes = make::mul(total.clone(), make::long(bytes as i64));
        let limit = make::long(i64::try_from(self.model.stream).unwrap_or(i64::MAX));
        Some(self.body.fix("large", make::binary(BinOp::Ge, bytes, limit)))
    }

    /// The loop over positions of the last range, streamed outputs through tiles.
    pub(super) fn stream_loop(&mut self, map: &Map, range: &Range, low: Expr, high: Expr) {
        let low = self.body.fix("low", low);
        let high = self.body.fix("high", high);
        let length = self.model.stream_tile;
        let streamed = self.streamed.clone();
        let tiles: Vec<VarId> =
            streamed.iter().map(|var| self.body.tile("run", self.func.vars[*var].ty, length)).collect();
        self.block_loop(low, high, make::long(length.into()), &mut |this, from, to| {
            let first = this.body.fix("first", make::add(range.lo.clone(), from.clone()));
            let redirects = streamed.iter().zip(&tiles).map(|(array, tile)| Redirect {
                array: *array,
                iter: range.var,
                tile: *tile,
                first: first.clone(),
            });
            this.redirects = redirects.collect();
            this.innermost(map, range, from.clone(), to.clone(), &[]);
            this.redirects.clear();
            this.body.bindings.insert(range.var, Binding::Fixed(first));
            let count = this.body.fix("count", make::sub(to, from));
            for (array, tile) in streamed.iter().zip(&tiles) {
                this.copy_out(map, *array, *tile, count.clone());
            }
        });
    }

    fn copy_out(&mut self, map: &Map, array: par::VarId, tile: VarId, count: Expr) {
        let stored = map.body.stmts.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Store { place, .. } if place.array == array => Some(place),
            _ => None,
        });
        let Some(place) = stored else { return };
        let (target, _) = self.element(place);
        self.body.mark_written(target.base);
        self.body.push(Stmt::StreamOut { target, tile, count });
    }

    /// Where a store goes that a tile catches.
    pub(super) fn redirected(&mut self, place: &Place) -> Option<Element> {
        let redirect = self.redirects.iter().find(|redirect| redirect.array == place.array)?.clone();
        let at = self.read(redirect.iter);
        Some(make::element(redirect.tile, make::sub(at, redirect.first)))
    }
}
