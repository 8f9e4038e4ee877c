//! Outputs far larger than the caches are computed a cache line at a time and copied out with non-temporal stores.

use super::space::Range;
use super::{Binding, Lowerer, make};
use hidp_ir::imp::{Element, Expr, LoopKind, Prim, PrimArg, Stmt, VarId};
use hidp_ir::par::{self, BinOp, Map, Place, StmtKind, visit};
use hidp_plan::{self as plan, Stride};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// Stores to `array` go to element `lane` of `tile`.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    array: par::VarId,
    tile: VarId,
    lane: Expr,
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

    /// The loop over positions of the last range. Streamed outputs leave a cache line at a time, computed in registers; what
    /// stands before the first whole line of the first output, and after its last, is stored the usual way, by turns of one loop
    /// so that the C++ compiler sees the body once for both.
    pub(super) fn stream_loop(&mut self, map: &Map, range: &Range, low: Expr, high: Expr) {
        let low = self.body.fix("low", low);
        let high = self.body.fix("high", high);
        let streamed = self.streamed.clone();
        let line = make::long(i64::from(self.model.line) / self.narrowest(map, range, &streamed) as i64);
        let head = self.elements_to_line(map, range, &low);
        let start = self.body.fix("start", make::min(make::add(low.clone(), head), high.clone()));
        let lines = make::div(make::sub(high.clone(), start.clone()), line.clone());
        let stop = self.body.fix("stop", make::add(start.clone(), make::mul(lines, line.clone())));
        let end = self.body.enter_loop("end");
        let is_first = make::binary(BinOp::Eq, make::var(end, Ty::LONG), make::long(0));
        let from = make::select(is_first.clone(), low, stop.clone());
        let to = self.body.fix("to", make::select(is_first, start, high));
        self.innermost(map, range, from, to.clone(), &[]);
        // No line stands behind the second end.
        let position = self.body.enter_loop("line");
        let first = self.body.fix("first", make::add(range.lo.clone(), make::var(position, Ty::LONG)));
        self.line(map, range, &first, &line, &streamed);
        self.body.leave_loop_step(position, to, stop, line, LoopKind::Seq);
        self.body.leave_loop(end, make::long(0), make::long(2), LoopKind::Seq);
    }

    /// Bytes of the smallest element that lanes load or stream: a vector of those is computed at once, in several lines of others. Elements
    /// that lines do not hold a whole number of count for nothing.
    fn narrowest(&self, map: &Map, range: &Range, streamed: &[par::VarId]) -> usize {
        let mut arrays = streamed.to_vec();
        visit::walk_places(&map.body, |place, _| {
            if plan::stride_of(place, range.var, &OrdSet::new()) == Stride::Unit {
                arrays.push(place.array);
            }
        });
        let sizes = arrays.into_iter().map(|var| self.size_of(self.func.vars[var].ty));
        sizes.filter(|size| size.is_power_of_two()).min().unwrap_or(1)
    }

    /// Elements from a position to the next start of a cache line in the first streamed output.
    fn elements_to_line(&mut self, map: &Map, range: &Range, low: &Expr) -> Expr {
        let Some(place) = self.streamed.first().and_then(|array| stored_place(map, *array)) else {
            return make::long(0);
        };
        let first = self.body.fix("first", make::add(range.lo.clone(), low.clone()));
        self.body.bindings.insert(range.var, Binding::Fixed(first));
        let (target, _) = self.element(place);
        let head = self.body.slot("head", Ty::LONG, Some(make::long(0)));
        self.body.push(Stmt::Prim(Prim {
            function: "elements_to_line".into(),
            header: "stream.hpp".into(),
            template: Vec::new(),
            args: vec![PrimArg::Address { base: target.base, offset: *target.index }, PrimArg::Out(head)],
            sites: Vec::new(),
        }));
        make::var(head, Ty::LONG)
    }

    /// One line of every streamed output.
    fn line(&mut self, map: &Map, range: &Range, first: &Expr, line: &Expr, streamed: &[par::VarId]) {
        let length = make::as_int(line).and_then(|length| u32::try_from(length).ok()).unwrap_or(1);
        let tiles: Vec<VarId> =
            streamed.iter().map(|var| self.body.tile("line", self.func.vars[*var].ty, length)).collect();
        let lane = self.body.enter_loop("lane");
        let at = make::var(lane, Ty::LONG);
        let value = self.body.fix("at", make::add(first.clone(), at.clone()));
        self.body.bindings.insert(range.var, Binding::Fixed(value));
        let redirect = |(array, tile): (&par::VarId, &VarId)| Redirect { array: *array, tile: *tile, lane: at.clone() };
        self.redirects = streamed.iter().zip(&tiles).map(redirect).collect();
        self.iteration(map, &[]);
        self.redirects.clear();
        self.body.leave_loop(lane, make::long(0), line.clone(), LoopKind::Simd { reductions: Vec::new() });
        self.body.bindings.insert(range.var, Binding::Fixed(first.clone()));
        for (array, tile) in streamed.iter().zip(&tiles) {
            self.copy_out(map, *array, *tile, line.clone());
        }
    }

    fn copy_out(&mut self, map: &Map, array: par::VarId, tile: VarId, count: Expr) {
        let Some(place) = stored_place(map, array) else {
            return self.defect("an array past the caches is stored to once in an iteration");
        };
        let (target, _) = self.element(place);
        self.body.mark_written(target.base);
        self.body.push(Stmt::StreamOut { target, tile, count });
    }

    /// Where a store goes that a tile catches.
    pub(super) fn redirected(&mut self, place: &Place) -> Option<Element> {
        let redirect = self.redirects.iter().find(|redirect| redirect.array == place.array)?.clone();
        Some(make::element(redirect.tile, redirect.lane))
    }
}

/// The place that a body stores to in an array that is streamed.
fn stored_place(map: &Map, array: par::VarId) -> Option<&Place> {
    map.body.stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Store { place, .. } if place.array == array => Some(place),
        _ => None,
    })
}
