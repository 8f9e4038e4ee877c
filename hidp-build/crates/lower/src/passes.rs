//! Passes over the rows of tiles: where what the rows of a nest load is far larger than the caches, all columns of tiles take so many
//! rows before any takes the next ones, so that each row comes from memory once and not once per column.

use super::lanes::Shape;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, ExprKind, LoopKind};
use hidp_ir::par::effects::expr_may_fault;
use hidp_ir::par::{self, BinOp, Map, visit};
use hidp_plan::{self as plan, Stride};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// The tiles of rows that all columns take before any takes others.
pub(super) struct Pass {
    /// Position among the ranges of the rows' iterator.
    pub(super) rows: usize,
    pub(super) first: Expr,
    pub(super) count: Expr,
}

impl Lowerer<'_> {
    /// Tiles of rows, in one pass or in several.
    pub(super) fn launch_passes(&mut self, map: &Map, span: Span, shape: &Shape, rows: usize) {
        let Some(bytes) = self.row_bytes(map, shape, rows) else { return self.launch_tiles(map, span, shape, None) };
        let tile = make::long(shape.row_tile.into());
        let total = self.body.fix("tiles", make::ceil_div(shape.ranges[rows].count.clone(), tile.clone()));
        let tile_bytes = make::max(make::mul(bytes, tile), make::long(1));
        let some = make::max(
            make::div(make::long(self.model.pass.into()), tile_bytes),
            make::long(self.model.pass_tiles.into()),
        );
        let all = make::max(total.clone(), make::long(1));
        let most = self.body.fix("pass", make::select(self.has_many_columns(shape), some, all));
        let turn = self.body.enter_loop("first");
        let first = make::var(turn, Ty::LONG);
        let count = make::min(make::sub(total.clone(), first.clone()), most.clone());
        self.launch_tiles(map, span, shape, Some(Pass { rows, first, count }));
        self.body.leave_loop_step(turn, make::long(0), total, most, LoopKind::Seq);
    }

    /// Whether threads take more than one column of tiles each: otherwise each row is loaded once anyway.
    fn has_many_columns(&self, shape: &Shape) -> Expr {
        let lanes = shape.ranges.last().map_or(make::long(0), |range| range.count.clone());
        let workers = Expr { kind: ExprKind::WorkerCount, ty: Ty::LONG };
        make::binary(BinOp::Gt, make::ceil_div(lanes, shape.width.clone()), workers)
    }

    /// Bytes that a row loads and no lane or other row does, where its one fold has the same range everywhere.
    fn row_bytes(&mut self, map: &Map, shape: &Shape, rows: usize) -> Option<Expr> {
        let [inner] = &plan::inner_maps(&map.body)[..] else { return None };
        let [iter] = &inner.iters[..] else { return None };
        let none = hidp_syntax::ordered::OrdSet::new();
        let ends = [&iter.lo, &iter.hi];
        let same = |var: par::VarId| ends.iter().all(|end| plan::invariant(end, var, &none));
        let known = shape.ranges.iter().all(|range| same(range.var));
        if !known || ends.iter().any(|end| expr_may_fault(self.program, end)) {
            return None;
        }
        let (row, lane) = (shape.ranges[rows].var, shape.ranges.last()?.var);
        let mut bytes = 0;
        visit::walk_places(&inner.body, |place, _| {
            let varies = |var| plan::stride_of(place, var, &none) != Stride::Invariant;
            if varies(row) && !varies(lane) && varies(iter.var) {
                bytes += self.size_of(self.func.vars[place.array].ty) as i64;
            }
        });
        let count = self.ranges(inner).last()?.count.clone();
        (bytes > 0).then(|| make::mul(count, make::long(bytes)))
    }
}
