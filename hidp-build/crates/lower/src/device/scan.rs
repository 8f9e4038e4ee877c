//! Prefix folds of host-level maps: one launch computes all values, the library scans them, and a last launch moves the prefixes to
//! their places, if necessary.

use super::super::space::Range;
use super::super::{ITERATORS, Lowerer, make};
use hidp_ir::imp::{Expr, Grid, Level, PrimArg, Stmt, VarId};
use hidp_ir::par::{BinOp, FaultKind, Fold, FoldKind, Map, Target};
use hidp_plan::Exec;
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;

impl Lowerer<'_> {
    /// A map with prefix folds that the host meets.
    pub(super) fn device_scan(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        let Some(range) = ranges.last().cloned() else { return self.defect(ITERATORS) };
        let (strides, total) = self.strides(&ranges);
        let grid = Grid::new(Level::Thread, self.block_of(map));
        let space = (&ranges[..], &strides[..], &total);
        if self.exec_of(map) == Exec::Seq {
            return self.device_scan_in_order(map, span, space, grid);
        }
        let (given, most) = self.allocate_privates(map, space, grid, &total);
        let log = self.open_launch_log(map, span, &total, &most, &given);
        let values: Vec<VarId> = map.folds.iter().map(|fold| self.partials(fold, &total)).collect();
        let (kernel, args) = self.grid_kernel("values", span, grid, 1, given.clone(), |this, positions| {
            this.mark_outputs(map);
            let range = this.import_ranges(&ranges).pop();
            range.into_iter().for_each(|range| this.bind_position(&range, positions[0].clone()));
            this.iteration(map, &[]);
            for (fold, buffer) in map.folds.iter().zip(&values) {
                this.keep_value(fold, *buffer, &positions[0]);
            }
        });
        self.body.push(Stmt::LaunchGrid { kernel, args, extents: vec![total.clone()], most });
        self.free_privates(&given);
        self.close_device_log(log, span);
        for (fold, buffer) in map.folds.iter().zip(&values) {
            self.scan_buffer(fold, *buffer, &total, span);
        }
        self.deliver_prefixes(map, span, &range, &values, &total);
        values.iter().rev().for_each(|buffer| self.body.push(Stmt::Free(*buffer)));
    }

    /// One lane takes all iterations.
    fn device_scan_in_order(&mut self, map: &Map, span: Span, space: (&[Range], &[Expr], &Expr), grid: Grid) {
        let (given, most) = self.allocate_privates(map, space, grid, &make::long(1));
        let log = self.open_launch_log(map, span, space.2, &most, &given);
        let (kernel, args) = self.grid_kernel("scan", span, grid, 1, given.clone(), |this, _| {
            this.mark_outputs(map);
            let ranges = this.import_ranges(space.0);
            this.scan_in_order(map, &ranges);
        });
        self.body.push(Stmt::LaunchGrid { kernel, args, extents: vec![make::long(1)], most });
        self.free_privates(&given);
        self.close_device_log(log, span);
    }

    /// In a kernel: keeps the value of an iteration, after the faults that come with its prefix.
    fn keep_value(&mut self, fold: &Fold, buffer: VarId, position: &Expr) {
        let value = self.read(fold.value);
        let value = self.body.fix("value", value);
        if fold.kind == FoldKind::Exscan && fold.op.neutral.is_none() {
            let later = make::binary(BinOp::Gt, position.clone(), make::long(0));
            self.require(later, FaultKind::EmptyFold, fold.span, Vec::new());
        }
        if let Target::Element(place) = &fold.target {
            self.element(place);
        }
        let buffer = self.capture(buffer);
        self.body.mark_written(buffer);
        self.push_store(make::element(buffer, position.clone()), value);
    }

    fn scan_buffer(&mut self, fold: &Fold, buffer: VarId, total: &Expr, span: Span) {
        let (template, [neutral, has]) = self.operator(&fold.op);
        let address = || PrimArg::Address { base: buffer, offset: make::long(0) };
        let exclusive = super::super::prim::truth(fold.kind == FoldKind::Exscan);
        let args = vec![address(), address(), PrimArg::Value(total.clone()), neutral, has, PrimArg::Value(exclusive)];
        let site = self.memory_site(span);
        self.call_library(self.whole_symbol(Prim::Scan), template, args, vec![site]);
    }

    /// The prefixes go to their targets.
    fn deliver_prefixes(&mut self, map: &Map, span: Span, range: &Range, values: &[VarId], total: &Expr) {
        let range = range.clone();
        let mut scalars = Vec::new();
        let elements: Vec<(&Fold, VarId)> = map.folds.iter().zip(values.iter().copied()).collect();
        let block = self.block_of(map);
        self.launch_over("prefixes", span, (total, block), |this, at| {
            let range = this.import_ranges(std::slice::from_ref(&range)).pop();
            range.into_iter().for_each(|range| this.bind_position(&range, at.clone()));
            for (fold, buffer) in &elements {
                let Target::Element(place) = &fold.target else {
                    scalars.push((*fold, *buffer));
                    continue;
                };
                let buffer = this.capture(*buffer);
                let value = make::load(make::element(buffer, at.clone()), fold.op.ty);
                let (target, _) = this.element(place);
                this.body.mark_written(target.base);
                this.store_element(target, value, fold.op.ty);
            }
        });
        let last = make::sub(total.clone(), make::long(1));
        for (fold, buffer) in scalars {
            self.deliver_last(fold, buffer, total, last.clone());
        }
    }

    /// A scalar keeps the last prefix.
    fn deliver_last(&mut self, fold: &Fold, buffer: VarId, total: &Expr, last: Expr) {
        let Target::Scalar(var) = fold.target else { return self.defect("a last prefix goes to a scalar") };
        let some = make::binary(BinOp::Gt, total.clone(), make::long(0));
        self.body.enter();
        let value = make::load(make::element(buffer, last), fold.op.ty);
        self.assign(var, value);
        let assign = self.body.leave();
        self.body.push(make::when(some, assign.stmts));
    }
}
