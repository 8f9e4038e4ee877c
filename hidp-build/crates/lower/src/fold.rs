//! Reductions. Results do not depend on the number of threads: runs of a fixed number of elements are folded one by one (in
//! lanes where possible), and the results of the runs combine pairwise in a tree whose shape follows from sizes alone.

use super::build::Role;
use super::expr::product;
use super::space::Range;
use super::{ITERATORS, Lowerer, make};
use hidp_ir::imp::{self, Expr, LoopKind, Schedule, Stmt, VarId, VarKind};
use hidp_ir::par::visit;
use hidp_ir::par::{self, BinOp, FaultKind, Fold, FoldFn, FoldOp, Map, MathFn, StmtKind, Target};
use hidp_plan::notation::FoldOption;
use hidp_plan::{self as plan, Strategy};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// Enough levels of a pairwise tree for any number of runs.
const TREE_LEVELS: u32 = 48;

/// The accumulator of a fold.
pub(super) struct Acc<'a> {
    pub(super) fold: &'a Fold,
    /// The value so far.
    pub(super) var: VarId,
    /// Whether there is one yet, for operators without neutral element.
    pub(super) seen: Option<VarId>,
}

/// Results of finished runs, combined pairwise like the carries of a binary counter.
struct Tree {
    levels: Vec<VarId>,
    runs: VarId,
}

impl Lowerer<'_> {
    /// `op(left, right)`.
    pub(super) fn apply(&mut self, op: &FoldOp, left: Expr, right: Expr) -> Expr {
        match op.func {
            FoldFn::Add => make::binary(BinOp::Add, left, right),
            FoldFn::Mul => make::binary(BinOp::Mul, left, right),
            FoldFn::Min => make::math(MathFn::Min, vec![left, right]),
            FoldFn::Max => make::math(MathFn::Max, vec![left, right]),
            FoldFn::And => make::binary(BinOp::And, left, right),
            FoldFn::Or => make::binary(BinOp::Or, left, right),
            FoldFn::Xor => make::binary(BinOp::Xor, left, right),
            FoldFn::Fn(function) => self.call(function, vec![left, right], op.ty),
        }
    }

    /// Accumulators for a map's folds, neutral or empty.
    pub(super) fn accumulators<'m>(&mut self, map: &'m Map) -> Vec<Acc<'m>> {
        self.accumulators_of(&map.folds)
    }

    /// Accumulators for folds, neutral or empty.
    pub(super) fn accumulators_of<'m>(&mut self, folds: &'m [Fold]) -> Vec<Acc<'m>> {
        let make_one = |this: &mut Self, fold: &'m Fold| {
            let neutral = fold.op.neutral.as_deref().map(|neutral| this.expr(neutral));
            let empty = neutral.is_none();
            let init = neutral.unwrap_or_else(|| this.zero_value(fold.op.ty));
            let var = this.body.slot("acc", fold.op.ty, Some(init));
            let unset = Expr { kind: imp::ExprKind::Bool(false), ty: Ty::BOOL };
            let seen = empty.then(|| this.body.slot("seen", Ty::BOOL, Some(unset)));
            Acc { fold, var, seen }
        };
        folds.iter().map(|fold| make_one(self, fold)).collect()
    }

    /// Adds the value of this iteration.
    pub(super) fn fold_step(&mut self, acc: &Acc<'_>) {
        let value = self.read(acc.fold.value);
        self.fold_value(acc, value);
    }

    /// Adds a value.
    pub(super) fn fold_value(&mut self, acc: &Acc<'_>, value: Expr) {
        let op = &acc.fold.op;
        let Some(seen) = acc.seen else {
            let result = self.apply(op, make::var(acc.var, op.ty), value);
            self.body.push(make::set(acc.var, result));
            return;
        };
        let value = self.body.fix("value", value);
        let first = value.clone();
        self.branch(
            make::var(seen, Ty::BOOL),
            |this| {
                let result = this.apply(op, make::var(acc.var, op.ty), value);
                this.body.push(make::set(acc.var, result));
            },
            |this| {
                this.body.push(make::set(acc.var, first));
                this.body.push(make::set(seen, Expr { kind: imp::ExprKind::Bool(true), ty: Ty::BOOL }));
            },
        );
    }

    /// The factors, if the only fold is a sum and its value, a product, is computed by the last statement and for nothing else.
    pub(super) fn fused_product<'m>(&self, map: &'m Map, accs: &[Acc<'_>]) -> Option<(&'m par::Expr, &'m par::Expr)> {
        let [acc] = accs else { return None };
        let last = map.body.stmts.last()?;
        let StmtKind::Assign { var, value } = &last.kind else { return None };
        let uses = {
            let mut uses = 0;
            visit::walk_vars(&map.body, |used, role| {
                uses += usize::from(used == *var && role != visit::Role::Declare);
            });
            uses
        };
        let fits = self.func.contract && *var == acc.fold.value && acc.fold.op.func == FoldFn::Add && uses == 1;
        if fits { product(value) } else { None }
    }

    /// `acc += a * b` in one operation.
    pub(super) fn fold_product(&mut self, acc: &Acc<'_>, a: &par::Expr, b: &par::Expr) {
        let (a, b) = (self.expr(a), self.expr(b));
        let sum = make::mul_add(a, b, make::var(acc.var, acc.fold.op.ty));
        self.body.push(make::set(acc.var, sum));
    }

    /// A reduction inside a kernel.
    pub(super) fn thread_fold(&mut self, map: &Map) {
        let ranges = self.ranges(map);
        let accs = self.accumulators(map);
        // A device's threads take short rows each; long ones are shared by groups, whose lanes' results combine in a tree.
        let run = self.run_of(map).filter(|_| self.device.is_none() && map.folds.iter().any(plan::rounds));
        let Some(run) = run else {
            self.outer_loops(&ranges, &mut |this, range| {
                let count = range.count.clone();
                this.innermost(map, range, make::long(0), count, &accs);
            });
            return self.deliver(&accs);
        };
        if let ([range], true) = (&ranges[..], self.in_lanes(map)) {
            self.branch(
                make::binary(BinOp::Le, range.count.clone(), run.clone()),
                |this| this.innermost(map, range, make::long(0), range.count.clone(), &accs),
                |this| this.tree_fold(map, &ranges, &run, &accs),
            );
        } else {
            self.tree_fold(map, &ranges, &run, &accs);
        }
        self.deliver(&accs);
    }

    /// Iterations of a run of a map's folds, as planned; none where their order is fixed.
    pub(super) fn run_of(&self, map: &Map) -> Option<Expr> {
        self.mapping.cut(map).and_then(|cut| cut.number(FoldOption::Runs)).map(|run| make::long(run.into()))
    }

    /// Runs of at least so many iterations, combined pairwise.
    fn tree_fold(&mut self, map: &Map, ranges: &[Range], block: &Expr, accs: &[Acc<'_>]) {
        let tree = Tree {
            levels: accs.iter().map(|acc| self.body.tile("tree", acc.fold.op.ty, TREE_LEVELS)).collect(),
            runs: self.body.slot("runs", Ty::LONG, Some(make::long(0))),
        };
        let pending = self.body.slot("pending", Ty::LONG, Some(make::long(0)));
        let pending_value = make::var(pending, Ty::LONG);
        self.outer_loops(ranges, &mut |this, range| {
            let count = range.count.clone();
            this.block_loop(make::long(0), count, block.clone(), &mut |this, low, high| {
                let length = make::sub(high.clone(), low.clone());
                this.innermost(map, range, low, high, accs);
                this.body.push(make::set(pending, make::add(pending_value.clone(), length)));
                let full = make::binary(BinOp::Ge, pending_value.clone(), block.clone());
                this.branch(full, |this| this.push_run(accs, &tree, pending), |_| {});
            });
        });
        self.collapse(accs, &tree);
    }

    /// Ends a run: its result joins those of equal size before it.
    fn push_run(&mut self, accs: &[Acc<'_>], tree: &Tree, pending: VarId) {
        let runs = make::var(tree.runs, Ty::LONG);
        let carry = self.body.slot("carry", Ty::LONG, Some(runs.clone()));
        let level = self.body.slot("level", Ty::LONG, Some(make::long(0)));
        let (carry_value, at) = (make::var(carry, Ty::LONG), make::var(level, Ty::LONG));
        self.body.enter();
        let odd = make::binary(BinOp::And, carry_value.clone(), make::long(1));
        let done = make::binary(BinOp::Eq, odd, make::long(0));
        self.body.push(make::when(done, vec![Stmt::Break]));
        self.join_level(accs, tree, &at);
        self.body.push(make::set(level, make::add(at.clone(), make::long(1))));
        self.body.push(make::set(carry, make::binary(BinOp::Shr, carry_value, make::long(1))));
        let body = self.body.leave();
        self.body.push(Stmt::Forever { body, step: imp::Block::default() });
        for (acc, tile) in accs.iter().zip(&tree.levels) {
            let ty = acc.fold.op.ty;
            self.body.push(Stmt::Store { target: make::element(*tile, at.clone()), value: make::var(acc.var, ty) });
            self.reset(acc);
        }
        self.body.push(make::set(tree.runs, make::add(runs, make::long(1))));
        self.body.push(make::set(pending, make::long(0)));
    }

    /// Combines the run under way with all finished ones.
    fn collapse(&mut self, accs: &[Acc<'_>], tree: &Tree) {
        let runs = make::var(tree.runs, Ty::LONG);
        let level = self.body.slot("level", Ty::LONG, Some(make::long(0)));
        let at = make::var(level, Ty::LONG);
        self.body.enter();
        let done = make::binary(BinOp::Eq, runs.clone(), make::long(0));
        self.body.push(make::when(done, vec![Stmt::Break]));
        let odd = make::binary(BinOp::And, runs.clone(), make::long(1));
        let odd = make::binary(BinOp::Ne, odd, make::long(0));
        self.branch(odd, |this| this.join_level(accs, tree, &at), |_| {});
        self.body.push(make::set(level, make::add(at, make::long(1))));
        self.body.push(make::set(tree.runs, make::binary(BinOp::Shr, runs, make::long(1))));
        let body = self.body.leave();
        self.body.push(Stmt::Forever { body, step: imp::Block::default() });
    }

    /// `acc = op(earlier, acc)`, where there is an `acc` yet.
    fn join_level(&mut self, accs: &[Acc<'_>], tree: &Tree, at: &Expr) {
        for (acc, tile) in accs.iter().zip(&tree.levels) {
            let op = &acc.fold.op;
            let earlier = make::load(make::element(*tile, at.clone()), op.ty);
            let Some(seen) = acc.seen else {
                let joined = self.apply(op, earlier, make::var(acc.var, op.ty));
                self.body.push(make::set(acc.var, joined));
                continue;
            };
            let alone = earlier.clone();
            self.branch(
                make::var(seen, Ty::BOOL),
                |this| {
                    let joined = this.apply(op, earlier, make::var(acc.var, op.ty));
                    this.body.push(make::set(acc.var, joined));
                },
                |this| {
                    this.body.push(make::set(acc.var, alone));
                    this.body.push(make::set(seen, Expr { kind: imp::ExprKind::Bool(true), ty: Ty::BOOL }));
                },
            );
        }
    }

    /// Makes an accumulator neutral or empty again.
    pub(super) fn reset(&mut self, acc: &Acc<'_>) {
        if let Some(seen) = acc.seen {
            self.body.push(make::set(seen, Expr { kind: imp::ExprKind::Bool(false), ty: Ty::BOOL }));
        }
        if let Some(neutral) = acc.fold.op.neutral.as_deref() {
            let neutral = self.expr(neutral);
            self.body.push(make::set(acc.var, neutral));
        }
    }

    /// Results go to their targets; an empty fold without neutral element is a fault.
    pub(super) fn deliver(&mut self, accs: &[Acc<'_>]) {
        for acc in accs {
            if let Some(seen) = acc.seen {
                self.require(make::var(seen, Ty::BOOL), FaultKind::EmptyFold, acc.fold.span, Vec::new());
            }
            self.deliver_value(acc.fold, make::var(acc.var, acc.fold.op.ty));
        }
    }

    fn deliver_value(&mut self, fold: &Fold, value: Expr) {
        match &fold.target {
            Target::Scalar(var) => self.assign(*var, value),
            Target::Element(place) => {
                let (target, _) = self.element(place);
                self.body.mark_written(target.base);
                self.store_element(target, value, fold.op.ty);
            }
        }
    }

    /// A reduction on the host: runs of a fixed number of iterations are shared out, their results combine pairwise.
    pub(super) fn host_fold(&mut self, map: &Map, span: Span) {
        let ranges = self.ranges(map);
        let (strides, total) = self.strides(&ranges);
        let block = self.host_run(map, &total);
        let block = self.body.fix("block", block);
        let runs = self.body.fix("runs", make::ceil_div(total.clone(), block.clone()));
        let partials: Vec<VarId> = map.folds.iter().map(|fold| self.partials(fold, &runs)).collect();
        let work = self.work_of(map, total.clone());
        let (kernel, args) = self.kernel("fold", span, |this, begin, end| {
            this.fold_runs(map, &ranges, &strides, &partials, (&block, &total), (begin, end));
        });
        let schedule = match self.mapping.strategy {
            Strategy::Serial => Schedule::Serial,
            _ if plan::irregular(map) => self.in_turn(work),
            Strategy::Rows | Strategy::Lanes | Strategy::Wide | Strategy::Team | Strategy::Device(_) => {
                Schedule::Static { grain: 1, least: 1, threads: self.mapping.threads, work }
            }
        };
        self.body.push(Stmt::Launch { kernel, args, extent: runs.clone(), schedule });
        for (fold, partial) in map.folds.iter().zip(partials) {
            self.combine(fold, partial, &runs);
        }
    }

    /// Iterations of a run that threads share. Where any runs have the same result, few iterations of unequal work are dealt in short ones.
    fn host_run(&self, map: &Map, total: &Expr) -> Expr {
        // One run is everything where the order is fixed.
        let Some(run) = self.run_of(map) else { return make::max(total.clone(), make::long(1)) };
        let in_lanes = self.in_lanes(map) || self.mapping.strategy == Strategy::Wide;
        if !plan::irregular(map) || in_lanes || map.folds.iter().any(plan::rounds) {
            return run;
        }
        let share = make::div(total.clone(), make::long(self.model.irregular_parts.into()));
        make::min(make::add(share, make::long(1)), run)
    }

    pub(super) fn partials(&mut self, fold: &Fold, runs: &Expr) -> VarId {
        let var = self.body.declare("partial", VarKind::Buffer { elem: fold.op.ty, writable: true });
        let site = self.site(FaultKind::Allocation, fold.span, Vec::new());
        self.body.push(Stmt::Alloc { var, count: make::max(runs.clone(), make::long(1)), zero: false, site });
        var
    }

    fn fold_runs(
        &mut self,
        map: &Map,
        ranges: &[Range],
        strides: &[Expr],
        partials: &[VarId],
        (block, total): (&Expr, &Expr),
        (begin, end): (Expr, Expr),
    ) {
        let ranges = self.import_ranges(ranges);
        let ranges = self.in_whole_rows(map, ranges);
        let strides: Vec<Expr> = strides.iter().take(ranges.len()).map(|stride| self.import(stride)).collect();
        let (block, total) = (self.import(block), self.import(total));
        let Some(last) = ranges.last().cloned() else { return self.defect(ITERATORS) };
        let partials: Vec<VarId> = partials.iter().map(|partial| self.capture(*partial)).collect();
        let run = self.body.enter_loop("run");
        let at = make::var(run, Ty::LONG);
        let from = self.body.fix("from", make::mul(at.clone(), block.clone()));
        let to = self.body.fix("to", make::min(make::add(from.clone(), block), total));
        let accs = self.accumulators(map);
        self.clipped(&ranges, &strides, from, to, &mut |this, low, high| this.innermost(map, &last, low, high, &accs));
        for (acc, partial) in accs.iter().zip(partials) {
            self.body.mark_written(partial);
            let value = make::var(acc.var, acc.fold.op.ty);
            self.body.push(Stmt::Store { target: make::element(partial, at.clone()), value });
        }
        self.body.leave_loop(run, begin, end, LoopKind::Seq);
    }

    /// Combines the runs' results in place, neighbours first, and delivers the last one.
    fn combine(&mut self, fold: &Fold, partial: VarId, runs: &Expr) {
        debug_assert_eq!(self.body.role, Role::Host);
        let op = &fold.op;
        let width = self.body.slot("width", Ty::LONG, Some(make::long(1)));
        let distance = make::var(width, Ty::LONG);
        self.body.enter();
        let done = make::binary(BinOp::Ge, distance.clone(), runs.clone());
        self.body.push(make::when(done, vec![Stmt::Break]));
        let last = self.body.fix("last", make::sub(runs.clone(), distance.clone()));
        let step = self.body.fix("step", make::mul(distance.clone(), make::long(2)));
        let at = self.body.enter_loop("at");
        let left = make::element(partial, make::var(at, Ty::LONG));
        let right = make::element(partial, make::add(make::var(at, Ty::LONG), distance.clone()));
        let joined = self.apply(op, make::load(left.clone(), op.ty), make::load(right, op.ty));
        self.body.push(Stmt::Store { target: left, value: joined });
        self.body.leave_loop_step(at, make::long(0), last, step, LoopKind::Seq);
        let body = self.body.leave();
        let step = imp::Block { stmts: vec![make::set(width, make::mul(distance, make::long(2)))] };
        self.body.push(Stmt::Forever { body, step });
        self.deliver_first(fold, partial, runs);
    }

    /// On the host: the first of the runs' results is that of all, if there is a run.
    pub(super) fn deliver_first(&mut self, fold: &Fold, partial: VarId, runs: &Expr) {
        let op = &fold.op;
        let none = make::binary(BinOp::Eq, runs.clone(), make::long(0));
        let first = make::load(make::element(partial, make::long(0)), op.ty);
        let value = match op.neutral.as_deref() {
            Some(neutral) => {
                let neutral = self.expr(neutral);
                let value = self.body.slot("value", op.ty, Some(neutral));
                let set = make::set(value, first);
                self.body.push(make::when(make::not(none), vec![set]));
                make::var(value, op.ty)
            }
            None => {
                self.require(make::not(none), FaultKind::EmptyFold, fold.span, Vec::new());
                self.body.fix("value", first)
            }
        };
        self.body.push(Stmt::Free(partial));
        self.deliver_value(fold, value);
    }
}
