//! Reductions whose iterations need private memory, or call primitives: groups of the plan's level store the values of their
//! iterations, which another launch folds.

use super::super::space::Range;
use super::super::{ITERATORS, Lowerer, make};
use super::reduce::Folded;
use hidp_ir::imp::{Expr, Grid, Level, Stmt, VarId};
use hidp_ir::par::{Fold, Map};
use hidp_syntax::source::Span;

impl Lowerer<'_> {
    /// A map with reductions that the host meets, run by groups of `level`.
    pub(super) fn fold_values(&mut self, map: &Map, level: Level, span: Span) {
        let ranges = self.ranges(map);
        let (strides, total) = self.strides(&ranges);
        let grid = Grid::new(level, self.block_of(map));
        let (given, most) = self.allocate_privates(map, (&ranges, &strides, &total), grid, &total);
        let log = self.open_launch_log(map, span, &total, &most, &given);
        let values: Vec<VarId> = map.folds.iter().map(|fold| self.partials(fold, &total)).collect();
        let narrow = self.is_narrow(&total);
        let (kernel, args) = self.grid_kernel("values", span, grid, 1, given.clone(), |this, positions| {
            this.mark_outputs(map);
            let ranges = this.import_ranges(&ranges);
            let strides: Vec<Expr> = strides.iter().map(|stride| this.import(stride)).collect();
            let narrow = this.import(&narrow);
            this.bind_linear(&ranges, &strides, &narrow, positions[0].clone());
            this.iteration(map, &[]);
            for (fold, buffer) in map.folds.iter().zip(&values) {
                let value = this.read(fold.value);
                let value = this.body.fix("value", value);
                let buffer = this.capture(*buffer);
                this.body.mark_written(buffer);
                this.push_store(make::element(buffer, positions[0].clone()), value);
            }
        });
        self.body.push(Stmt::LaunchGrid { kernel, args, extents: vec![total.clone()], most });
        self.free_privates(&given);
        self.close_device_log(log, span);
        self.fold_buffers(map, &values, &total, span);
        values.iter().rev().for_each(|buffer| self.body.push(Stmt::Free(*buffer)));
    }

    /// Folds what iterations left.
    fn fold_buffers(&mut self, map: &Map, values: &[VarId], total: &Expr, span: Span) {
        let Some(iter) = map.iters.last() else { return self.defect(ITERATORS) };
        // Stands for the number of the iteration.
        let range = Range { var: iter.var, lo: make::long(0), step: make::long(1), count: total.clone() };
        let (ranges, strides, runs) = ([range], [make::long(1)], self.runs(map, total));
        let folded = Folded::by_lanes((&ranges, &strides, total), self.block_of(map), runs, span);
        let partials = self.fold_runs_on_device("fold", &folded, &map.folds, &mut |this, accs| {
            let number = this.read(iter.var);
            for (acc, buffer) in accs.iter().zip(values) {
                let buffer = this.capture(*buffer);
                let value = make::load(make::element(buffer, number.clone()), acc.fold.op.ty);
                this.fold_value(acc, value);
            }
        });
        let delivered: Vec<(&Fold, VarId)> = map.folds.iter().zip(partials).collect();
        delivered.into_iter().for_each(|(fold, partial)| self.deliver_first(fold, partial, &folded.runs));
    }
}
