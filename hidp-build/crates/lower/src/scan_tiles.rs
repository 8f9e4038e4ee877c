//! Prefix folds in tiles: lanes compute the values of a tile, prefixes form in vectors, and lanes store them. One iteration after the other, each
//! would wait for its branches and for the sum before it.

use super::fold::Acc;
use super::prim::truth;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Prim, PrimArg, Stmt, TemplateArg, VarId};
use hidp_ir::par::{FoldKind, Map};
use hidp_plan as plan;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// Whether a map's iterations can be computed in lanes before their prefixes are.
    pub(super) fn in_tiles(&mut self, map: &Map) -> bool {
        let iterators: Vec<_> = map.iters.iter().map(|iter| iter.var).collect();
        let mut sums = map.clone();
        sums.folds.iter_mut().for_each(|fold| fold.kind = FoldKind::Reduce);
        let mut in_lanes = false;
        self.with_lanes(&iterators, |this| in_lanes = this.in_lanes(&sums));
        in_lanes && plan::prefixes_in_tiles(self.program, self.func, map)
    }

    /// A block from the prefixes in `accs` on.
    pub(super) fn scan_tiles(&mut self, map: &Map, range: &Range, from: Expr, to: &Expr, accs: &[Acc<'_>]) {
        let tile = self.model.packed_tile;
        let tiles: Vec<VarId> = accs.iter().map(|acc| self.body.tile("prefixes", acc.fold.op.ty, tile)).collect();
        let turn = self.body.enter_loop("start");
        let start = make::var(turn, Ty::LONG);
        let stop = make::min(make::add(start.clone(), make::long(tile.into())), to.clone());
        let stop = self.body.fix("stop", stop);
        let first = self.body.fix("first", make::add(range.lo.clone(), start.clone()));
        let lanes = || LoopKind::Simd { reductions: Vec::new() };
        self.range_loop(range, start.clone(), stop.clone(), lanes(), &mut |this| {
            this.enter_iteration(map);
            this.stmts(&map.body.stmts);
            this.leave_iteration();
            for (acc, tile) in accs.iter().zip(&tiles) {
                let value = this.read(acc.fold.value);
                let at = make::sub(this.read(range.var), first.clone());
                this.body.push(Stmt::Store { target: make::element(*tile, at), value });
            }
        });
        let length = self.body.fix("length", make::sub(stop.clone(), start.clone()));
        accs.iter().zip(&tiles).for_each(|(acc, tile)| self.scan_tile(acc, *tile, &length));
        self.range_loop(range, start, stop, lanes(), &mut |this| {
            for (acc, tile) in accs.iter().zip(&tiles) {
                let at = make::sub(this.read(range.var), first.clone());
                this.store_prefix(acc, make::load(make::element(*tile, at), acc.fold.op.ty));
            }
        });
        self.body.leave_loop_step(turn, from, to.clone(), make::long(tile.into()), LoopKind::Seq);
    }

    fn scan_tile(&mut self, acc: &Acc<'_>, tile: VarId, length: &Expr) {
        let op = &acc.fold.op;
        self.body.push(Stmt::Prim(Prim {
            function: "scan_tile".into(),
            header: "prim/tile_scan.hpp".into(),
            template: vec![TemplateArg::Ty(op.ty), TemplateArg::Op(op.func, op.ty)],
            args: vec![
                PrimArg::Address { base: tile, offset: make::long(0) },
                PrimArg::Value(length.clone()),
                PrimArg::Value(make::var(acc.var, op.ty)),
                PrimArg::Value(truth(acc.fold.kind == FoldKind::Exscan)),
                PrimArg::Out(acc.var),
            ],
            sites: Vec::new(),
        }));
    }
}
