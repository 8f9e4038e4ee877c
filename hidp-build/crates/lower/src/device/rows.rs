//! Runs of whole rows: if the last of several ranges is long, each warp takes a row, and the iterators before it are computed once per
//! row. Otherwise each iteration divides to find them, which takes longer than the loads of a stencil.

use super::super::fold::Acc;
use super::super::space::Range;
use super::super::{Lowerer, make};
use super::reduce::Folded;
use hidp_ir::imp::{Expr, Level};
use hidp_ir::par::{BinOp, Fold, Map};
use hidp_plan::notation::FoldOption;

/// How the rows of a nest are numbered.
pub(super) struct Rows {
    /// Whether they are long.
    are_long: Expr,
    /// Of the ranges before the last one.
    strides: Vec<Expr>,
    /// How many things runs consist of: rows, or positions.
    pub(super) units: Expr,
}

impl Rows {
    /// The least units of a run of so many positions.
    pub(super) fn least(&self, ranges: &[Range], positions: i64) -> Expr {
        let long = |range: &Range| make::ceil_div(make::long(positions), make::max(range.count.clone(), make::long(1)));
        let rows = ranges.last().map_or(make::long(1), long);
        make::select(self.are_long.clone(), rows, make::long(positions))
    }
}

impl Lowerer<'_> {
    /// On the host: the rows of a nest that has some.
    pub(super) fn rows_of(&mut self, map: &Map, ranges: &[Range], positions: &Expr) -> Option<Rows> {
        let least = self.option_of(map, FoldOption::Row)?;
        let (last, outer) = ranges.split_last()?;
        let (strides, count) = self.strides(outer);
        let long = make::binary(BinOp::Ge, last.count.clone(), make::long(least.into()));
        let are_long = self.body.fix("by_rows", long);
        let units = self.body.fix("units", make::select(are_long.clone(), count, positions.clone()));
        Some(Rows { are_long, strides, units })
    }

    /// In a kernel: folds `[from, to)`, which are rows if those are long.
    pub(super) fn fold_units<'f>(
        &mut self,
        folded: &Folded<'_>,
        (folds, accs): (&'f [Fold], &[Acc<'f>]),
        (from, to): (Expr, Expr),
        narrow: &Expr,
        body: &mut dyn FnMut(&mut Self, &[Acc<'f>]),
    ) {
        let ranges = self.import_ranges(folded.ranges);
        let strides: Vec<Expr> = folded.strides.iter().map(|stride| self.import(stride)).collect();
        let over = folded.over.unwrap_or(Level::Thread);
        let Some((rows, (last, outer))) = folded.rows.as_ref().zip(ranges.split_last()) else {
            return self.spread(over, accs, from, to, &mut |this, position| {
                this.bind_linear(&ranges, &strides, narrow, position);
                body(this, accs);
            });
        };
        let are_long = self.import(&rows.are_long);
        let row_strides: Vec<Expr> = rows.strides.iter().map(|stride| self.import(stride)).collect();
        self.body.enter();
        self.spread(Level::Warp, accs, from.clone(), to.clone(), &mut |this, row| {
            this.bind_linear(outer, &row_strides, narrow, row);
            let inner = this.accumulators_of(folds);
            this.spread(Level::Thread, &inner, make::long(0), last.count.clone(), &mut |this, position| {
                this.bind_position(last, position);
                body(this, &inner);
            });
            for (acc, row) in accs.iter().zip(&inner) {
                this.fold_value(acc, make::var(row.var, row.fold.op.ty));
            }
        });
        let by_rows = self.body.leave();
        self.body.enter();
        self.spread(over, accs, from, to, &mut |this, position| {
            this.bind_linear(&ranges, &strides, narrow, position);
            body(this, accs);
        });
        let one_by_one = self.body.leave();
        self.body.push(hidp_ir::imp::Stmt::If { cond: are_long, then: by_rows, otherwise: one_by_one });
    }
}
