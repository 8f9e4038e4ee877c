//! Reductions of floats in vector lanes. Each lane of a small tile, which the C++ compiler keeps in registers, folds every n-th element;
//! lanes combine pairwise at the end. OpenMP's own reductions would combine them one after the other.
//! If loads follow indices, lanes are separate scalar accumulators: each does its own loads and checks anyway.

use super::fold::Acc;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{self, Expr, LoopKind, Stmt};
use hidp_ir::par::{BinOp, FoldFn, Map};
use hidp_plan::notation::FoldOption;
use hidp_syntax::ty::Ty;

/// How many results a fold has side by side.
#[derive(Clone, Copy)]
pub(super) struct SideBySide {
    /// In the lanes of one vector, or by themselves.
    lanes: u32,
    /// So many times as many, as long as there are iterations for all of them.
    vectors: u32,
}

/// Positions that one turn of a loop takes.
struct Turn {
    /// Position of lane 0.
    first: Expr,
    lanes: Expr,
}

impl Lowerer<'_> {
    /// How the plan has the results of a fold side by side, if it does.
    pub(super) fn side_by_side(&self, map: &Map) -> Option<SideBySide> {
        let apart = self.option_of(map, FoldOption::Apart);
        let lanes = apart.or_else(|| self.option_of(map, FoldOption::Sums))?;
        let vectors = self.option_of(map, FoldOption::Vectors).unwrap_or(1);
        Some(SideBySide { lanes, vectors })
    }

    /// Folds the positions `[low, high)` into the accumulators.
    pub(super) fn lane_fold(
        &mut self,
        map: &Map,
        range: &Range,
        (low, high): (Expr, Expr),
        accs: &[Acc<'_>],
        SideBySide { lanes, vectors }: SideBySide,
    ) {
        let tiles: Vec<imp::VarId> =
            accs.iter().map(|acc| self.body.tile("lanes", acc.fold.op.ty, lanes * vectors)).collect();
        let mut next = low;
        if vectors > 1 {
            let start = self.body.slot("start", Ty::LONG, Some(next.clone()));
            let many = make::long((lanes * vectors).into());
            let long = make::binary(BinOp::Ge, make::sub(high.clone(), next.clone()), many);
            let (from, end) = (next, high.clone());
            self.branch(
                long,
                |this| {
                    this.fill(accs, &tiles, lanes * vectors);
                    let past = this.whole_turns(map, range, from, &end, lanes * vectors, accs, &tiles);
                    this.join_vectors(accs, &tiles, lanes, vectors);
                    this.body.push(make::set(start, past));
                },
                |this| this.fill(accs, &tiles, lanes),
            );
            next = self.body.fix("next", make::var(start, Ty::LONG));
        } else {
            self.fill(accs, &tiles, lanes);
        }
        next = self.whole_turns(map, range, next, &high, lanes, accs, &tiles);
        let rest = self.body.fix("rest", make::sub(high, next.clone()));
        self.turn(map, range, &Turn { first: next, lanes: rest }, accs, &tiles);
        self.join_lanes(accs, &tiles, lanes);
        for (acc, tile) in accs.iter().zip(tiles) {
            let op = &acc.fold.op;
            let value = make::load(make::element(tile, make::long(0)), op.ty);
            let joined = self.apply(op, make::var(acc.var, op.ty), value);
            self.body.push(make::set(acc.var, joined));
        }
    }

    fn fill(&mut self, accs: &[Acc<'_>], tiles: &[imp::VarId], lanes: u32) {
        let lane = self.body.enter_loop("lane");
        for (acc, tile) in accs.iter().zip(tiles) {
            let neutral = acc.fold.op.neutral.as_deref().map(|neutral| self.expr(neutral));
            let value = neutral.unwrap_or_else(|| self.zero_value(acc.fold.op.ty));
            self.body.push(Stmt::Store { target: make::element(*tile, make::var(lane, Ty::LONG)), value });
        }
        self.close_lanes(lane, make::long(lanes.into()), Vec::new());
    }

    fn close_lanes(&mut self, lane: imp::VarId, lanes: Expr, reductions: Vec<(imp::VarId, FoldFn)>) {
        self.body.leave_loop(lane, make::long(0), lanes, LoopKind::Simd { reductions });
    }

    /// As many turns of so many lanes as fit. Gives the first position that is left.
    #[allow(clippy::too_many_arguments)]
    fn whole_turns(
        &mut self,
        map: &Map,
        range: &Range,
        low: Expr,
        high: &Expr,
        lanes: u32,
        accs: &[Acc<'_>],
        tiles: &[imp::VarId],
    ) -> Expr {
        let lanes = make::long(lanes.into());
        let turns = make::div(make::sub(high.clone(), low.clone()), lanes.clone());
        let past = make::add(low.clone(), make::mul(turns, lanes.clone()));
        let past = self.body.fix("past", past);
        let first = self.body.enter_loop("turn");
        let turn = Turn { first: make::var(first, Ty::LONG), lanes: lanes.clone() };
        self.turn(map, range, &turn, accs, tiles);
        self.body.leave_loop_step(first, low, past.clone(), lanes, LoopKind::Seq);
        past
    }

    /// One iteration of the map in every lane.
    fn turn(&mut self, map: &Map, range: &Range, turn: &Turn, accs: &[Acc<'_>], tiles: &[imp::VarId]) {
        let start = self.body.fix("first", turn.first.clone());
        let lane = self.body.enter_loop("lane");
        let at = make::var(lane, Ty::LONG);
        self.bind_position(range, make::add(start, at.clone()));
        let own: Vec<Acc<'_>> = accs
            .iter()
            .zip(tiles)
            .map(|(acc, tile)| {
                let before = make::load(make::element(*tile, at.clone()), acc.fold.op.ty);
                Acc { fold: acc.fold, var: self.body.slot("acc", acc.fold.op.ty, Some(before)), seen: None }
            })
            .collect();
        self.iteration(map, &own);
        for (acc, tile) in own.iter().zip(tiles) {
            let value = make::var(acc.var, acc.fold.op.ty);
            self.body.push(Stmt::Store { target: make::element(*tile, at.clone()), value });
        }
        if let Some(apart) = self.option_of(map, FoldOption::Apart) {
            let kind = make::as_int(&turn.lanes).map_or(LoopKind::Seq, |_| LoopKind::Unroll(apart));
            self.body.leave_loop(lane, make::long(0), turn.lanes.clone(), kind);
        } else {
            let reductions = self.reductions(&[]);
            self.close_lanes(lane, turn.lanes.clone(), reductions);
        }
    }

    /// Joins the vectors of a tile to one.
    fn join_vectors(&mut self, accs: &[Acc<'_>], tiles: &[imp::VarId], lanes: u32, vectors: u32) {
        let mut left = vectors;
        while left > 1 {
            left /= 2;
            self.join_halves(accs, tiles, lanes * left);
        }
    }

    /// Joins the lanes of a vector to one.
    fn join_lanes(&mut self, accs: &[Acc<'_>], tiles: &[imp::VarId], lanes: u32) {
        let mut left = lanes;
        while left > 1 {
            left /= 2;
            self.join_halves(accs, tiles, left);
        }
    }

    /// `tile[i] = op(tile[i], tile[i + half])` for the first half.
    fn join_halves(&mut self, accs: &[Acc<'_>], tiles: &[imp::VarId], half: u32) {
        let lane = self.body.enter_loop("lane");
        let at = make::var(lane, Ty::LONG);
        for (acc, tile) in accs.iter().zip(tiles) {
            let op = &acc.fold.op;
            let low = make::element(*tile, at.clone());
            let high = make::element(*tile, make::add(at.clone(), make::long(half.into())));
            let value = self.apply(op, make::load(low.clone(), op.ty), make::load(high, op.ty));
            self.body.push(Stmt::Store { target: low, value });
        }
        self.close_lanes(lane, make::long(half.into()), Vec::new());
    }
}
