//! Calls of the run-time library: by the host function for the whole device, and by the lanes of a group for its segment.

use super::super::prim::{Operands, View, truth};
use super::super::{Lowerer, OPERATOR, OUTPUT, PREDICATE, make};
use hidp_ir::imp::TemplateArg;
use hidp_ir::imp::{Expr, Level, PrimArg, VarId};
use hidp_ir::par::{PrimCall, PrimValue};
use hidp_syntax::prim::{Prim, Symbol};
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// What all threads of the target call for one segment.
    pub(in super::super) fn whole_symbol(&self, prim: Prim) -> Option<Symbol> {
        if self.device.is_some() { prim.row().device.whole } else { prim.row().cpu.whole }
    }

    /// What all threads of the target call for segments between two vectors, and for those of one size.
    pub(in super::super) fn many_symbols(&self, prim: Prim) -> (Option<Symbol>, Option<Symbol>) {
        let row = prim.row();
        match self.device {
            Some(_) => (row.device.segmented, row.device.regular),
            None => (row.cpu.segmented, row.cpu.regular),
        }
    }

    /// One segment, one group.
    pub(in super::super) fn of_group(
        &mut self,
        call: &PrimCall,
        operands: &Operands,
        low: &Expr,
        high: &Expr,
        descending: Expr,
    ) {
        let length = make::max(make::sub(high.clone(), low.clone()), make::long(0));
        let n = self.body.fix("n", length);
        self.note_segments(call, operands, low, &n);
        let count = PrimArg::Value(n.clone());
        match (call.prim, &operands.output) {
            (Prim::Scan | Prim::Exscan, Some(output)) if self.group_here() == Level::Thread => {
                self.worker_scan(call, &operands.input, output, low, &n);
            }
            (Prim::Scan | Prim::Exscan, Some(output)) => self.group_scan(call, &operands.input, output, low, &n),
            (Prim::Sort, Some(output)) => self.group_sort(call, operands, output, low, &n, descending),
            (Prim::Partition, Some(output)) => {
                let (Some(predicate), Some(PrimValue::Scalar(pivot))) = (call.predicate, &call.pivot) else {
                    return self.defect(PREDICATE);
                };
                let pivot = self.fixed("pivot", pivot);
                let front = self.body.slot("front", Ty::LONG, Some(make::long(0)));
                let mut args = vec![self.address(&operands.input, low, false), self.address(output, low, true)];
                args.extend(self.value_addresses(operands, low));
                args.extend([PrimArg::Value(pivot), count, PrimArg::Out(front)]);
                self.call_library(self.group_symbol(call.prim), vec![TemplateArg::Fn(predicate)], args, Vec::new());
                let instance = self.instance();
                self.partition_results(call, low, high, front, Some(instance));
            }
            (Prim::Reverse, Some(output)) => {
                let args = vec![self.address(&operands.input, low, false), self.address(output, low, true), count];
                self.call_library(self.group_symbol(call.prim), Vec::new(), args, Vec::new());
            }
            (Prim::ReverseInplace, _) => {
                let args = vec![self.address(&operands.input, low, true), count];
                self.call_library(self.group_symbol(call.prim), Vec::new(), args, Vec::new());
            }
            // Folds are maps; a histogram stands outside of maps.
            (Prim::Min | Prim::Max | Prim::Reduce | Prim::Histogram, _)
            | (Prim::Scan | Prim::Exscan | Prim::Sort | Prim::Partition | Prim::Reverse, None) => self.defect(OUTPUT),
        }
    }

    pub(super) fn group_symbol(&self, prim: Prim) -> Option<Symbol> {
        prim.row().device.of_group(self.group_here().name())
    }

    fn group_scan(&mut self, call: &PrimCall, input: &View, output: &View, low: &Expr, n: &Expr) {
        let Some(op) = &call.op else { return self.defect(OPERATOR) };
        let exclusive = call.prim == Prim::Exscan;
        self.require_neutral(op, exclusive, n, call.span);
        let (template, [neutral, has]) = self.operator(op);
        let (from, to) = (self.address(input, low, false), self.address(output, low, true));
        let args = vec![from, to, PrimArg::Value(n.clone()), neutral, has, PrimArg::Value(truth(exclusive))];
        self.call_library(self.group_symbol(call.prim), template, args, Vec::new());
    }

    /// Sorts a copy: iterations that write one segment, a fault found later, must not disturb each other.
    fn group_sort(&mut self, call: &PrimCall, operands: &Operands, out: &View, low: &Expr, n: &Expr, descending: Expr) {
        let Some(copies) = self.given_copies(call.span) else {
            return self.defect("the host has allocated what a primitive works on");
        };
        let values = operands.values.as_ref().and_then(|(from, to)| to.as_ref().map(|to| (from, to)));
        let views = [Some((&operands.input, out)), values].into_iter().flatten();
        let pairs: Vec<_> = views.zip(copies.chunks(2)).collect();
        let mut args = Vec::new();
        for ((from, _), buffers) in &pairs {
            self.copy_segment(call, from, low, &buffers[0], n, false);
            args.extend(buffers.iter().map(|(base, offset)| PrimArg::Address { base: *base, offset: offset.clone() }));
        }
        args.extend([PrimArg::Value(n.clone()), PrimArg::Value(descending)]);
        self.call_library(self.group_symbol(call.prim), Vec::new(), args, Vec::new());
        for ((_, to), buffers) in &pairs {
            self.body.mark_written(to.base);
            self.copy_segment(call, to, low, &buffers[0], n, true);
        }
    }

    /// Copies a segment to memory of the iteration, or back.
    fn copy_segment(
        &mut self,
        call: &PrimCall,
        view: &View,
        low: &Expr,
        (base, offset): &(VarId, Expr),
        n: &Expr,
        back: bool,
    ) {
        let start = self.body.fix("start", make::add(view.start.clone(), low.clone()));
        self.spread(Level::Thread, &[], make::long(0), n.clone(), &mut |this, at| {
            let outer = this.own_or_shared(view.base, make::add(start.clone(), at.clone()), call.access);
            let own = make::element(*base, make::add(offset.clone(), at));
            let (target, from) = if back { (outer, own) } else { (own, outer) };
            let value = this.load_element(from, view.elem);
            this.store_element(target, value, view.elem);
        });
    }
}
