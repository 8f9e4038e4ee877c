//! Reductions of host-level maps: a level has no barrier across blocks, so each block folds a run of iterations, and the block that
//! ends last folds the runs' results. How long a run is follows from the number of iterations alone.

use super::super::fold::Acc;
use super::super::space::Range;
use super::super::{Lowerer, make};
use super::private::Given;
use super::rows::Rows;
use hidp_ir::imp::{Element, Expr, Grid, Level, PrimArg, Stmt, VarId, VarKind};
use hidp_ir::par::{BinOp, FaultKind, Fold, Map};
use hidp_plan::Exec;
use hidp_plan::notation::FoldOption;
use hidp_syntax::prim::Symbol;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// What is folded, as the host knows it.
pub(super) struct Folded<'a> {
    pub(super) ranges: &'a [Range],
    pub(super) strides: &'a [Expr],
    pub(super) total: &'a Expr,
    /// The rows that warps take, if there are any and they are long.
    pub(super) rows: Option<Rows>,
    /// Who takes the iterations of a run; `None` is a single lane in order.
    pub(super) over: Option<Level>,
    pub(super) block: u32,
    /// Blocks of a multiprocessor that registers are left for.
    pub(super) at_once: u32,
    /// Whether its launch may be joined to others.
    pub(super) joined: bool,
    /// Iterations of a run, or rows, and how many runs there are.
    pub(super) run: Expr,
    pub(super) runs: Expr,
    pub(super) given: Vec<Given>,
    pub(super) most: Option<Expr>,
    /// The map, if its iterations write anything.
    pub(super) map: Option<&'a Map>,
    pub(super) span: Span,
}

impl<'a> Folded<'a> {
    /// What no map writes, by all lanes of blocks.
    pub(super) fn by_lanes(
        (ranges, strides, total): (&'a [Range], &'a [Expr], &'a Expr),
        block: u32,
        (run, runs): (Expr, Expr),
        span: Span,
    ) -> Folded<'a> {
        let (over, given) = (Some(Level::Thread), Vec::new());
        Folded {
            ranges,
            strides,
            total,
            rows: None,
            over,
            block,
            at_once: 1,
            joined: false,
            run,
            runs,
            given,
            most: None,
            map: None,
            span,
        }
    }

    fn grid(&self) -> Grid {
        let level = self.over.map_or(Level::Thread, |_| Level::Block);
        Grid { at_once: self.at_once, joined: self.joined, ..Grid::new(level, self.block) }
    }
}

impl Lowerer<'_> {
    /// A map with reductions that the host meets.
    pub(super) fn device_fold(&mut self, map: &Map, span: Span) {
        let over = match self.exec_of(map) {
            Exec::Device(level) => Some(level),
            Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq => None,
        };
        if let Some(level) = over
            && self.mapping.cut(map).is_some_and(|cut| cut.values)
        {
            return self.fold_values(map, level, span);
        }
        let ranges = self.ranges(map);
        let (strides, total) = self.strides(&ranges);
        let rows = self.rows_of(map, &ranges, &total);
        let (run, runs) = match &rows {
            Some(rows) => self.runs_of_rows(map, rows, &ranges),
            None => self.runs(map, &total),
        };
        let level = over.map_or(Level::Thread, |_| Level::Block);
        let Grid { block, at_once, joined, .. } = self.grid_of(map, level);
        let space = (&ranges[..], &strides[..], &total);
        let (given, most) = self.allocate_privates(map, space, Grid::new(level, block), &runs);
        let (ranges, strides, total) = space;
        let log = self.open_launch_log(map, span, total, &most, &given);
        let folded = Folded {
            ranges,
            strides,
            total,
            rows,
            over,
            block,
            at_once,
            joined,
            run,
            runs,
            given,
            most,
            map: Some(map),
            span,
        };
        let partials = self.fold_runs_on_device("fold", &folded, &map.folds, &mut |this, accs| {
            this.iteration(map, accs);
        });
        self.free_privates(&folded.given);
        self.close_device_log(log, span);
        for (fold, partial) in map.folds.iter().zip(partials) {
            self.deliver_first(fold, partial, &folded.runs);
        }
    }

    /// Iterations of a run and the number of runs: one of everything where the plan cuts nothing.
    pub(super) fn runs(&mut self, map: &Map, total: &Expr) -> (Expr, Expr) {
        match self.cut_on_device(map) {
            None => self.runs_of(make::max(total.clone(), make::long(1)), total),
            Some((least, most)) => self.runs_of(long_run(total, most, make::long(least)), total),
        }
    }

    /// The same of what is no fold of the program.
    pub(super) fn usual_runs(&mut self, total: &Expr) -> (Expr, Expr) {
        let (least, most) = (self.of_model(|model| model.run), self.of_model(|model| model.most_runs));
        self.runs_of(long_run(total, most, make::long(least.into())), total)
    }

    /// The same, of rows where they are long.
    fn runs_of_rows(&mut self, map: &Map, rows: &Rows, ranges: &[Range]) -> (Expr, Expr) {
        match self.cut_on_device(map) {
            None => self.runs_of(make::max(rows.units.clone(), make::long(1)), &rows.units),
            Some((least, most)) => self.runs_of(long_run(&rows.units, most, rows.least(ranges, least)), &rows.units),
        }
    }

    /// Iterations of a run at least, and runs at most.
    fn cut_on_device(&self, map: &Map) -> Option<(i64, u32)> {
        let cut = self.mapping.cut(map)?;
        Some((cut.number(FoldOption::Runs)?.into(), cut.number(FoldOption::Most)?))
    }

    fn runs_of(&mut self, run: Expr, units: &Expr) -> (Expr, Expr) {
        let run = self.body.fix("run", run);
        let runs = self.body.fix("runs", make::ceil_div(units.clone(), run.clone()));
        (run, runs)
    }

    /// Folds everything; the first element of each buffer is a result if there is a run. `body` makes an iteration, which adds to
    /// the accumulators.
    pub(super) fn fold_runs_on_device<'f>(
        &mut self,
        role: &str,
        folded: &Folded<'_>,
        folds: &'f [Fold],
        body: &mut dyn FnMut(&mut Self, &[Acc<'f>]),
    ) -> Vec<VarId> {
        let partials: Vec<VarId> = folds.iter().map(|fold| self.partials(fold, &folded.runs)).collect();
        let narrow = self.is_narrow(folded.total);
        let given = folded.given.clone();
        let ticket = folded.over.map(|_| self.ticket());
        let (kernel, args) = self.grid_kernel(role, folded.span, folded.grid(), 1, given, |this, positions| {
            this.fold_run(folded, folds, &partials, &narrow, &positions[0], body);
            if let Some(ticket) = ticket {
                this.fold_in_the_end(ticket, &folded.runs, folds, &partials);
            }
        });
        let extents = vec![folded.runs.clone()];
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: folded.most.clone() });
        partials
    }

    /// In a kernel: one run.
    fn fold_run<'f>(
        &mut self,
        folded: &Folded<'_>,
        folds: &'f [Fold],
        partials: &[VarId],
        narrow: &Expr,
        number: &Expr,
        body: &mut dyn FnMut(&mut Self, &[Acc<'f>]),
    ) {
        folded.map.into_iter().for_each(|map| self.mark_outputs(map));
        let units = folded.rows.as_ref().map_or(folded.total, |rows| &rows.units);
        let (units, run, narrow) = (self.import(units), self.import(&folded.run), self.import(narrow));
        let from = self.body.fix("from", make::mul(number.clone(), run.clone()));
        let to = self.body.fix("to", make::min(make::add(from.clone(), run), units));
        let accs = self.accumulators_of(folds);
        self.fold_units(folded, (folds, &accs), (from, to), &narrow, body);
        for (acc, partial) in accs.iter().zip(partials) {
            self.leave_partial(acc, *partial, number.clone());
        }
    }

    pub(super) fn store_partial(&mut self, acc: &Acc<'_>, partial: VarId, at: Expr) {
        let partial = self.capture(partial);
        self.body.mark_written(partial);
        self.push_store(make::element(partial, at), make::var(acc.var, acc.fold.op.ty));
    }

    /// The same where another block may load it in this launch.
    fn leave_partial(&mut self, acc: &Acc<'_>, partial: VarId, at: Expr) {
        let partial = self.capture(partial);
        self.body.mark_written(partial);
        let target = Element { relaxed: true, ..make::element(partial, at) };
        self.push_store(target, make::var(acc.var, acc.fold.op.ty));
    }

    /// In the kernel, after a run: if there are several, the block that ends last folds their results.
    fn fold_in_the_end(&mut self, ticket: VarId, runs: &Expr, folds: &[Fold], partials: &[VarId]) {
        let runs = self.import(runs);
        let ticket = self.capture(ticket);
        self.body.mark_written(ticket);
        let last = self.body.slot("last", Ty::LONG, Some(make::long(0)));
        let address = PrimArg::Address { base: ticket, offset: make::long(0) };
        let args = vec![address, PrimArg::Value(runs.clone()), PrimArg::Out(last)];
        let symbol = Symbol { function: "block_last", header: "block_last" };
        self.body.enter();
        self.call_library(Some(symbol), Vec::new(), args, Vec::new());
        let asks = self.body.leave();
        let several = make::binary(BinOp::Gt, runs.clone(), make::long(1));
        self.body.push(make::when(several, asks.stmts));
        self.body.enter();
        self.fold_results(runs, folds, partials);
        let folds = self.body.leave();
        let is_last = make::binary(BinOp::Ne, make::var(last, Ty::LONG), make::long(0));
        self.body.push(make::when(is_last, folds.stmts));
    }

    /// What tells the block that ends last: 0 between launches. All launches of a call have the same one.
    fn ticket(&mut self) -> VarId {
        let known = self.device.as_ref().and_then(|state| state.ticket);
        known.unwrap_or_else(|| {
            let ticket = self.body.declare("ticket", VarKind::Buffer { elem: Ty::Scalar(Scalar::U32), writable: true });
            if let Some(state) = &mut self.device {
                state.ticket = Some(ticket);
            }
            ticket
        })
    }

    /// In the host function, before everything else: the ticket.
    pub(in super::super) fn make_ticket(&mut self) -> Option<Stmt> {
        let var = self.device.as_ref().and_then(|state| state.ticket)?;
        let site = self.site(FaultKind::Allocation, self.func.span, vec![String::new()]);
        Some(Stmt::Alloc { var, count: make::long(1), zero: true, site })
    }

    /// Another launch, if there are several runs: one block folds their results.
    pub(super) fn fold_partials(&mut self, folded: &Folded<'_>, folds: &[Fold], partials: &[VarId]) {
        let grid = Grid::new(Level::Block, folded.block);
        let (kernel, args) = self.grid_kernel("combine", folded.span, grid, 1, Vec::new(), |this, _| {
            let runs = this.import(&folded.runs);
            this.fold_results(runs, folds, partials);
        });
        let several = make::binary(BinOp::Gt, folded.runs.clone(), make::long(1));
        let launch = Stmt::LaunchGrid { kernel, args, extents: vec![make::long(1)], most: None };
        self.body.push(make::when(several, vec![launch]));
    }

    /// In a kernel: a block folds what all left.
    fn fold_results(&mut self, runs: Expr, folds: &[Fold], partials: &[VarId]) {
        let inner: Vec<VarId> = partials.iter().map(|partial| self.capture(*partial)).collect();
        inner.iter().for_each(|partial| self.body.mark_written(*partial));
        let accs = self.accumulators_of(folds);
        self.spread(Level::Thread, &accs, make::long(0), runs, &mut |this, position| {
            for (acc, partial) in accs.iter().zip(&inner) {
                let place = Element { relaxed: true, ..make::element(*partial, position.clone()) };
                this.fold_value(acc, make::load(place, acc.fold.op.ty));
            }
        });
        for (acc, partial) in accs.iter().zip(partials) {
            self.leave_partial(acc, *partial, make::long(0));
        }
    }
}

/// The length of runs of which there are `most` at most.
fn long_run(units: &Expr, most: u32, least: Expr) -> Expr {
    make::max(make::ceil_div(units.clone(), make::long(most.into())), least)
}
