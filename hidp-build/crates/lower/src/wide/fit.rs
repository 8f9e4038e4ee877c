//! Nests whose sizes exceed what lanes hold: iterations run in order.

use super::super::space::Range;
use super::super::{Lowerer, make};
use super::last_inside;
use hidp_ir::imp::Expr;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{BinOp, Map};
use hidp_plan::wide::{Allocated, Classes, Packed, allocated, in_lanes, packed};
use hidp_plan::{Exec, Recipe, Strategy, key};

impl Lowerer<'_> {
    /// Shares the iterations of a nest out, whole ones in lanes if sizes allow it. Where the host can tell, it does: parts of iterations in
    /// order are smaller, so that more threads have some.
    pub(in super::super) fn in_lanes_or_order(&mut self, map: &Map, ranges: &[Range], share: impl Fn(&mut Self)) {
        let Some(fit) = self.fit_on_host(map, ranges) else { return share(self) };
        self.branch(
            fit,
            |this| {
                this.fits = true;
                share(this);
                this.fits = false;
            },
            |this| {
                let planned = this.mapping.clone();
                this.mapping.strategy = Strategy::Rows;
                this.mapping.recipe = Recipe::Plain;
                for (vars, exec) in [(key(map).into_iter().collect(), Exec::Seq), (last_inside(map), Exec::Simd)] {
                    for var in vars {
                        this.mapping.levels.entry(var).and_modify(|level| level.exec = exec);
                    }
                }
                share(this);
                this.mapping = planned;
            },
        );
    }

    /// The test of a nest in lanes before its launch, if it needs one, and no size is one of an iteration.
    fn fit_on_host(&mut self, map: &Map, ranges: &[Range]) -> Option<Expr> {
        let is_wide = key(map).and_then(|key| self.mapping.exec(key)) == Some(Exec::Wide);
        // One launch updates copies.
        if !is_wide || !self.copies.is_empty() {
            return None;
        }
        let lanes = &*in_lanes(self.program, self.func, map);
        let kept = allocated(self.program, self.func, lanes, &Classes::of(lanes)).ok()?;
        let of_iterations = |kept: &Allocated| {
            let mut extents = self.func.vars[kept.array].shape.iter();
            extents.any(|extent| map.iters.iter().any(|iter| Effects::of_expr(extent).contains(&iter.var)))
        };
        if kept.iter().any(of_iterations) {
            return None;
        }
        let rows = packed(self.program, self.func, lanes, &Classes::of(lanes));
        self.sizes_fit(&rows, &kept, ranges.last()?)
    }

    /// What sizes must be for iterations to be in lanes.
    pub(super) fn sizes_fit(&mut self, packed: &[Packed], allocated: &[Allocated], range: &Range) -> Option<Expr> {
        let mut fit = self.rows_fit(packed, range);
        fit.extend(self.arrays_fit(allocated));
        fit.into_iter().reduce(|all, one| make::binary(BinOp::And, all, one))
    }
}
