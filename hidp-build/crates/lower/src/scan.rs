//! Prefix folds. On the host in two passes over blocks: sums of blocks, their prefixes, then each block with its prefix.

use super::fold::Acc;
use super::space::Range;
use super::{Binding, ITERATORS, Lowerer, make};
use hidp_ir::imp::{Element, Expr, ExprKind, KernelId, LoopKind, PrimArg, Schedule, Stmt, VarId, VarKind, Work};
use hidp_ir::par::{self, FaultKind, Fold, FoldKind, Map, Place, Target};
use hidp_plan::{self as plan, Strategy};
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// A map with prefix folds inside a kernel.
    pub(super) fn thread_scan(&mut self, map: &Map) {
        let ranges = self.ranges(map);
        self.scan_in_order(map, &ranges);
    }

    /// Iterations one after the other.
    pub(super) fn scan_in_order(&mut self, map: &Map, ranges: &[Range]) {
        let accs = self.accumulators(map);
        self.outer_loops(ranges, &mut |this, range| {
            let count = range.count.clone();
            this.scan_loop(map, range, make::long(0), count, &accs);
        });
    }

    /// Iterations in order, each leaving its prefixes.
    fn scan_loop(&mut self, map: &Map, range: &Range, low: Expr, high: Expr, accs: &[Acc<'_>]) {
        self.range_loop(range, low, high, LoopKind::Seq, &mut |this| {
            this.enter_iteration(map);
            this.stmts(&map.body.stmts);
            this.leave_iteration();
            accs.iter().for_each(|acc| this.scan_step(acc));
        });
    }

    fn scan_step(&mut self, acc: &Acc<'_>) {
        match acc.fold.kind {
            FoldKind::Reduce => self.fold_step(acc),
            FoldKind::Scan => {
                self.fold_step(acc);
                self.store_prefix(acc, make::var(acc.var, acc.fold.op.ty));
            }
            FoldKind::Exscan => {
                let value = self.read(acc.fold.value);
                let value = self.body.fix("value", value);
                if let Some(seen) = acc.seen {
                    self.require(make::var(seen, Ty::BOOL), FaultKind::EmptyFold, acc.fold.span, Vec::new());
                }
                self.store_prefix(acc, make::var(acc.var, acc.fold.op.ty));
                self.fold_value(acc, value);
            }
        }
    }

    /// Stores a prefix where this iteration's goes.
    pub(super) fn store_prefix(&mut self, acc: &Acc<'_>, prefix: Expr) {
        let ty = acc.fold.op.ty;
        match &acc.fold.target {
            Target::Scalar(var) => self.assign(*var, prefix),
            Target::Element(place) => {
                let (target, _) = self.element(place);
                self.body.mark_written(target.base);
                self.store_element(target, prefix, ty);
            }
        }
    }

    /// A map with prefix folds on the host.
    pub(super) fn host_scan(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        let Some(range) = ranges.last().cloned() else { return self.defect(ITERATORS) };
        let Some(block) = self.run_of(map) else {
            let serial = self.mapping.strategy == Strategy::Serial;
            match plan::prefixes_of_library(self.program, self.func, map).filter(|_| !serial) {
                Some((from, to)) => self.library_scan(&map.folds[0], &range, from, to, span),
                None => self.host_scan_in_order(map, span),
            }
            return;
        };
        let total = range.count.clone();
        let runs = self.body.fix("runs", make::ceil_div(total.clone(), block.clone()));
        let partials: Vec<VarId> = map.folds.iter().map(|fold| self.prefix_buffer(fold, &runs)).collect();
        let work = self.work_of(map, total.clone());
        let packed = self.packed(map);
        // No block needs the sum of the last one.
        let wants_total = packed.as_ref().is_some_and(|(packed, _)| !packed.totals.is_empty());
        let summed = if wants_total { runs.clone() } else { make::sub(runs.clone(), make::long(1)) };
        self.sum_blocks(map, span, &ranges, (&block, &total), &summed, &partials, work.clone());
        let prefixes = |(fold, partial): (&Fold, &VarId)| self.prefixes(fold, *partial, &runs, &summed);
        let sums: Vec<VarId> = map.folds.iter().zip(&partials).map(prefixes).collect();
        let (kernel, args) = match (&packed, &partials[..], &sums[..]) {
            (Some((packed, tile)), [partial], [sum]) => {
                self.leave_rest(packed, *sum);
                self.pack_blocks((packed, *tile), map, span, &ranges, (&block, &total), *partial)
            }
            (Some(_), _, _) => return self.defect("what is packed is kept by one prefix sum"),
            (None, _, _) => self.scan_blocks(map, span, &ranges, (&block, &total), &partials),
        };
        let schedule = self.schedule(1, work);
        self.body.push(Stmt::Launch { kernel, args, extent: runs, schedule });
        partials.iter().for_each(|partial| self.body.push(Stmt::Free(*partial)));
    }

    /// The second pass: each block from the prefix that stands before it.
    fn scan_blocks(
        &mut self,
        map: &Map,
        span: Span,
        ranges: &[Range],
        (block, total): (&Expr, &Expr),
        partials: &[VarId],
    ) -> (KernelId, Vec<Expr>) {
        let in_tiles = self.in_tiles(map);
        self.kernel("scan", span, |this, begin, end| {
            let (range, total) = (this.import_ranges(ranges), this.import(total));
            let Some(range) = range.last().cloned() else { return this.defect(ITERATORS) };
            let partials: Vec<VarId> = partials.iter().map(|partial| this.capture(*partial)).collect();
            this.runs_loop(begin, end, (block, &total), &mut |this, run, from, to| {
                let accs = this.accumulators(map);
                for (acc, partial) in accs.iter().zip(&partials) {
                    let prefix = make::load(make::element(*partial, run.clone()), acc.fold.op.ty);
                    this.body.push(make::set(acc.var, prefix));
                }
                if in_tiles {
                    this.scan_tiles(map, &range, from, &to, &accs);
                } else {
                    this.scan_loop(map, &range, from, to, &accs);
                }
            });
        })
    }

    /// One thread takes everything.
    fn host_scan_in_order(&mut self, map: &Map, span: Span) {
        let (kernel, args) = self.kernel("scan", span, |this, _, _| this.thread_scan(map));
        self.body.push(Stmt::Launch { kernel, args, extent: make::long(1), schedule: Schedule::Serial });
    }

    /// Prefixes of neighbouring elements of an array: the library reads them once.
    fn library_scan(&mut self, fold: &Fold, range: &Range, from: &Place, to: &Place, span: Span) {
        self.body.bindings.insert(range.var, Binding::Fixed(range.lo.clone()));
        let (from, _) = self.element(from);
        let (to, _) = self.element(to);
        self.body.mark_written(to.base);
        let (template, [neutral, has]) = self.operator(&fold.op);
        let address = |element: Element| PrimArg::Address { base: element.base, offset: *element.index };
        let exclusive = fold.kind == FoldKind::Exscan;
        let exclusive = Expr { kind: ExprKind::Bool(exclusive), ty: Ty::BOOL };
        let count = PrimArg::Value(range.count.clone());
        let args = vec![address(from), address(to), count, neutral, has, PrimArg::Value(exclusive)];
        let site = self.site(FaultKind::Allocation, span, vec![String::new()]);
        self.call_library(self.whole_symbol(Prim::Scan), template, args, vec![site]);
    }

    fn prefix_buffer(&mut self, fold: &Fold, runs: &Expr) -> VarId {
        let var = self.body.declare("prefix", VarKind::Buffer { elem: fold.op.ty, writable: true });
        let site = self.site(FaultKind::Allocation, fold.span, Vec::new());
        self.body.push(Stmt::Alloc { var, count: make::max(runs.clone(), make::long(1)), zero: false, site });
        var
    }

    /// `for run in begin..end` with the positions of each run.
    pub(super) fn runs_loop(
        &mut self,
        begin: Expr,
        end: Expr,
        (block, total): (&Expr, &Expr),
        body: &mut dyn FnMut(&mut Self, Expr, Expr, Expr),
    ) {
        let run = self.body.enter_loop("run");
        let at = make::var(run, Ty::LONG);
        let from = self.body.fix("from", make::mul(at.clone(), block.clone()));
        let to = self.body.fix("to", make::min(make::add(from.clone(), block.clone()), total.clone()));
        body(self, at, from, to);
        self.body.leave_loop(run, begin, end, LoopKind::Seq);
    }

    /// The first pass: the folds of the first `summed` blocks.
    #[allow(clippy::too_many_arguments)]
    fn sum_blocks(
        &mut self,
        map: &Map,
        span: Span,
        ranges: &[Range],
        (block, total): (&Expr, &Expr),
        summed: &Expr,
        partials: &[VarId],
        work: Work,
    ) {
        let mut sums = map.clone();
        sums.folds.iter_mut().for_each(|fold| fold.kind = FoldKind::Reduce);
        let last: Vec<par::VarId> = map.iters.last().map(|iter| iter.var).into_iter().collect();
        let (kernel, args) = self.kernel("sums", span, |this, begin, end| {
            let (range, total) = (this.import_ranges(ranges), this.import(total));
            let Some(range) = range.last().cloned() else { return this.defect(ITERATORS) };
            let partials: Vec<VarId> = partials.iter().map(|partial| this.capture(*partial)).collect();
            this.runs_loop(begin, end, (block, &total), &mut |this, run, from, to| {
                let accs = this.accumulators(&sums);
                this.with_lanes(&last, |this| this.innermost(&sums, &range, from, to, &accs));
                for (acc, partial) in accs.iter().zip(&partials) {
                    this.body.mark_written(*partial);
                    let value = make::var(acc.var, acc.fold.op.ty);
                    this.body.push(Stmt::Store { target: make::element(*partial, run.clone()), value });
                }
            });
        });
        let extent = make::max(summed.clone(), make::long(0));
        let schedule = self.schedule(1, work);
        self.body.push(Stmt::Launch { kernel, args, extent, schedule });
    }

    /// The blocks' folds become the prefixes that stand before them. Gives the sum of those that there are.
    fn prefixes(&mut self, fold: &Fold, partial: VarId, runs: &Expr, summed: &Expr) -> VarId {
        let op = &fold.op;
        let neutral = op.neutral.as_deref().map(|neutral| self.expr(neutral));
        let init = neutral.unwrap_or_else(|| self.zero_value(op.ty));
        let sum = self.body.slot("sum", op.ty, Some(init));
        let at = self.body.enter_loop("at");
        let place = make::element(partial, make::var(at, Ty::LONG));
        let before = self.body.fix("before", make::var(sum, op.ty));
        let inner = make::binary(hidp_ir::par::BinOp::Lt, make::var(at, Ty::LONG), summed.clone());
        let value = make::load(place.clone(), op.ty);
        self.branch(
            inner,
            |this| {
                let joined = this.apply(op, make::var(sum, op.ty), value);
                this.body.push(make::set(sum, joined));
            },
            |_| {},
        );
        self.body.push(Stmt::Store { target: place, value: before });
        self.body.leave_loop(at, make::long(0), runs.clone(), LoopKind::Seq);
        sum
    }
}
