//! Iterations whose last statements compute maths functions: maps of a tile of iterations one after the other, then these statements of all in
//! lanes. Maths functions have the same bits in lanes as alone.

use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Stmt, VarId};
use hidp_ir::par::{Block, Map};
use hidp_plan::{self as plan, Tail};
use hidp_syntax::ty::Ty;
use std::slice;

impl Lowerer<'_> {
    /// Iterations at `[low, high)` in tiles.
    pub(super) fn tails_in_tiles(&mut self, map: &Map, tail: &Tail<'_>, range: &Range, (low, high): (Expr, Expr)) {
        let tile = self.model.update_tile;
        let tiles: Vec<VarId> =
            tail.kept.iter().map(|(var, _)| self.body.tile("kept", self.func.vars[*var].ty, tile)).collect();
        let turn = self.body.enter_loop("start");
        let start = make::var(turn, Ty::LONG);
        let stop = make::min(make::add(start.clone(), make::long(tile.into())), high.clone());
        let stop = self.body.fix("stop", stop);
        let first = self.body.fix("first", make::add(range.lo.clone(), start.clone()));
        let head = Map { body: tail.head.clone(), ..map.clone() };
        self.range_loop(range, start.clone(), stop.clone(), LoopKind::Seq, &mut |this| {
            this.enter_iteration(&head);
            this.stmts(&head.body.stmts);
            for ((var, _), tile) in tail.kept.iter().zip(&tiles) {
                let at = make::sub(this.read(range.var), first.clone());
                let value = this.read(*var);
                this.body.push(Stmt::Store { target: make::element(*tile, at), value });
            }
            this.free_locals(&head.body);
            this.leave_iteration();
        });
        let rest = Map { body: Block { stmts: tail.rest.to_vec() }, ..map.clone() };
        let lanes = LoopKind::Simd { reductions: Vec::new() };
        self.range_loop(range, start, stop, lanes, &mut |this| {
            this.enter_iteration(&rest);
            for ((var, declaration), tile) in tail.kept.iter().zip(&tiles) {
                this.stmts(slice::from_ref(*declaration));
                let at = make::sub(this.read(range.var), first.clone());
                this.assign(*var, make::load(make::element(*tile, at), this.func.vars[*var].ty));
            }
            this.stmts(&rest.body.stmts);
            this.leave_iteration();
        });
        self.body.leave_loop_step(turn, low, high, make::long(tile.into()), LoopKind::Seq);
    }

    /// The parts of a map's iterations, if the second one is to run in lanes.
    pub(super) fn tail<'m>(&self, map: &'m Map) -> Option<Tail<'m>> {
        plan::tail(self.program, self.func, map)
    }
}
