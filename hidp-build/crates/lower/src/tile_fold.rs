//! Reductions over all rows and lanes of a tile at once.

use super::build::Binding;
use super::expr::product;
use super::lanes::Tile;
use super::map::turns;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Element, Expr, LoopKind, Stmt, VarId};
use hidp_ir::par::{self, Fold, FoldFn, Map, StmtKind, Target, visit};
use hidp_plan::notation::FoldOption;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// A reduction over all rows and lanes at once. Long ones run in blocks so that running sums stay accurate.
    pub(super) fn tile_fold(&mut self, map: &Map, tile: &Tile, shared: &OrdMap<par::VarId, VarId>) {
        let tile = &tile.of_folds();
        let ranges = self.ranges(map);
        let targets: Vec<VarId> = map.folds.iter().filter_map(|fold| target_tile(fold, shared)).collect();
        if targets.len() != map.folds.len() {
            return self.defect("the folds of a tile leave scalars that live across them");
        }
        let rounds = map.folds.iter().any(|fold| fold.op.ty.scalar().is_none_or(|scalar| scalar.is_float()));
        self.fill_neutral(map, tile, shared, &targets);
        let ([range], true, Some(block)) = (&ranges[..], rounds, self.run_of(map)) else {
            self.outer_loops(&ranges, &mut |this, range| {
                let count = range.count.clone();
                this.fold_rows(map, range, make::long(0), count, tile, shared, &targets);
            });
            return;
        };
        let runs: Vec<VarId> = map.folds.iter().map(|fold| self.body.tile("run", fold.op.ty, tile.size)).collect();
        self.block_loop(make::long(0), range.count.clone(), block, &mut |this, low, high| {
            this.fill_neutral(map, tile, shared, &runs);
            this.fold_rows(map, range, low, high, tile, shared, &runs);
            this.every_element(tile, shared, &mut |this, at| {
                for ((fold, run), target) in map.folds.iter().zip(&runs).zip(&targets) {
                    let (target, run) = (make::element(*target, at.clone()), make::element(*run, at.clone()));
                    let before = make::load(target.clone(), fold.op.ty);
                    let value = this.apply(&fold.op, before, make::load(run, fold.op.ty));
                    this.body.push(Stmt::Store { target, value });
                }
            });
        });
    }

    fn fill_neutral(&mut self, map: &Map, tile: &Tile, shared: &OrdMap<par::VarId, VarId>, tiles: &[VarId]) {
        self.every_element(tile, shared, &mut |this, at| {
            for (fold, base) in map.folds.iter().zip(tiles) {
                let neutral = fold.op.neutral.as_deref().map(|neutral| this.expr(neutral));
                let value = neutral.unwrap_or_else(|| this.zero_value(fold.op.ty));
                this.body.push(Stmt::Store { target: make::element(*base, at.clone()), value });
            }
        });
    }

    /// The loop of a reduction, rows and lanes inside of it.
    #[allow(clippy::too_many_arguments)]
    fn fold_rows(
        &mut self,
        map: &Map,
        range: &Range,
        low: Expr,
        high: Expr,
        tile: &Tile,
        shared: &OrdMap<par::VarId, VarId>,
        accs: &[VarId],
    ) {
        let low = self.body.fix("low", low);
        let high = self.body.fix("high", high);
        let low = match (&tile.rows, make::as_int(&tile.lanes.count)) {
            // Accumulators stay in registers.
            (Some(_), _) | (None, Some(_)) => low,
            (None, None) => self.fold_several(map, range, low, high.clone(), tile, shared, accs),
        };
        self.range_loop(range, low, high, turns(map), &mut |this| {
            if !this.panels.is_empty() {
                let position = make::sub(this.read(range.var), range.lo.clone());
                this.start_panels(&position, &tile.panel_stride());
            }
            this.prefetch_rows(map, range, tile);
            this.every_element(tile, shared, &mut |this, at| {
                let targets: Vec<Element> = accs.iter().map(|base| make::element(*base, at.clone())).collect();
                let before = map.folds.iter().zip(&targets).map(|(fold, at)| make::load(at.clone(), fold.op.ty));
                let before = before.collect();
                let after = this.fold_lane(map, before);
                for (target, value) in targets.into_iter().zip(after) {
                    this.body.push(Stmt::Store { target, value });
                }
            });
        });
    }

    /// Without rows that share loads, several iterations of the reduction at once, so that accumulators are loaded and stored
    /// less often than what they add. Gives the first position that is left.
    #[allow(clippy::too_many_arguments)]
    fn fold_several(
        &mut self,
        map: &Map,
        range: &Range,
        low: Expr,
        high: Expr,
        tile: &Tile,
        shared: &OrdMap<par::VarId, VarId>,
        accs: &[VarId],
    ) -> Expr {
        let Some(several) = self.mapping.cut(map).and_then(|cut| cut.number(FoldOption::Repeat)) else { return low };
        let several = i64::from(several);
        let groups = make::div(make::sub(high, low.clone()), make::long(several));
        let past = make::add(low.clone(), make::mul(groups, make::long(several)));
        let past = self.body.fix("past", past);
        let first = self.body.enter_loop("group");
        let iterators: Vec<Expr> = (0..several)
            .map(|next| {
                let position = make::add(make::var(first, Ty::LONG), make::long(next));
                self.body.fix("iteration", make::add(range.lo.clone(), make::mul(position, range.step.clone())))
            })
            .collect();
        self.every_element(tile, shared, &mut |this, at| {
            let targets: Vec<Element> = accs.iter().map(|base| make::element(*base, at.clone())).collect();
            let slots: Vec<(VarId, Ty)> = map
                .folds
                .iter()
                .zip(&targets)
                .map(|(fold, at)| {
                    let init = make::load(at.clone(), fold.op.ty);
                    (this.body.slot("acc", fold.op.ty, Some(init)), fold.op.ty)
                })
                .collect();
            for iterator in &iterators {
                this.body.bindings.insert(range.var, Binding::Fixed(iterator.clone()));
                let before = slots.iter().map(|(slot, ty)| make::var(*slot, *ty)).collect();
                let after = this.fold_lane(map, before);
                for ((slot, _), value) in slots.iter().zip(after) {
                    this.body.push(make::set(*slot, value));
                }
            }
            for ((slot, ty), target) in slots.into_iter().zip(targets) {
                this.body.push(Stmt::Store { target, value: make::var(slot, ty) });
            }
        });
        self.body.leave_loop_step(first, low, past.clone(), make::long(several), LoopKind::Seq);
        past
    }

    /// The accumulators of one row and lane after one more iteration of a reduction.
    pub(super) fn fold_lane(&mut self, map: &Map, before: Vec<Expr>) -> Vec<Expr> {
        let factors = self.lane_product(map);
        let plain = map.body.stmts.len() - usize::from(factors.is_some());
        self.stmts(&map.body.stmts[..plain]);
        let step = |this: &mut Self, (fold, before): (&Fold, Expr)| match factors {
            Some((a, b)) => {
                let (a, b) = (this.expr(a), this.expr(b));
                make::mul_add(a, b, before)
            }
            None => {
                let value = this.read(fold.value);
                this.apply(&fold.op, before, value)
            }
        };
        map.folds.iter().zip(before).map(|pair| step(self, pair)).collect()
    }

    fn lane_product<'m>(&self, map: &'m Map) -> Option<(&'m par::Expr, &'m par::Expr)> {
        let [fold] = &map.folds[..] else { return None };
        let StmtKind::Assign { var, value } = &map.body.stmts.last()?.kind else { return None };
        let mut uses = 0;
        visit::walk_vars(&map.body, |used, role| {
            uses += usize::from(used == *var && role != visit::Role::Declare);
        });
        let fits = self.func.contract && *var == fold.value && fold.op.func == FoldFn::Add && uses == 1;
        if fits { product(value) } else { None }
    }
}

fn target_tile(fold: &Fold, shared: &OrdMap<par::VarId, VarId>) -> Option<VarId> {
    match &fold.target {
        Target::Scalar(var) => shared.get(var).copied(),
        Target::Element(_) => None,
    }
}
