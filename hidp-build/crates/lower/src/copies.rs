//! Atomic updates of small arrays: each thread updates a private copy without atomics, and the copies are combined at the end.
//!
//! If the array is too large compared with the work, updates are atomic. A launch on one thread needs neither.

use super::build::{ArrayBinding, Role};
use super::map::{Shared, turns};
use super::space::Range;
use super::{Binding, Lowerer, make};
use hidp_ir::imp::{Expr, ExprKind, LoopKind, Stmt, VarId, VarKind};
use hidp_ir::par::{self, BinOp, FaultKind, FoldOp, Map, StmtKind, visit};
use hidp_plan::notation::Property;
use hidp_plan::{COPY_PADDING, Strategy};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// An array of which threads have copies.
#[derive(Clone)]
pub(super) struct Copied {
    array: par::VarId,
    /// All copies.
    all: VarId,
    /// Elements from one to the next.
    stride: Expr,
}

/// The same on the host, with what putting them together needs.
struct Target {
    copied: Copied,
    array: ArrayBinding,
    op: FoldOp,
    count: Expr,
}

impl Lowerer<'_> {
    /// Whether updates of an array are those of one thread alone.
    pub(super) fn updates_alone(&self, base: VarId) -> bool {
        let on_threads = self.device.is_none() && self.body.role == Role::Kernel;
        self.is_device_host() || self.body.is_own(base) || on_threads && self.mapping.strategy == Strategy::Serial
    }

    /// Launches a nest that updates arrays atomically.
    pub(super) fn share_updates(&mut self, map: &Map, span: Span, shared: &Shared<'_>) {
        let Some(targets) = self.copied_targets(map) else { return self.share_ranges(map, span, shared) };
        let workers = Expr { kind: ExprKind::WorkerCount, ty: Ty::LONG };
        let workers = self.body.fix("workers", workers);
        let elements = targets.iter().map(|target| target.copied.stride.clone()).fold(make::long(0), make::add);
        let elements = self.body.fix("elements", make::mul(elements, workers.clone()));
        // A copy's element is made, read, and put to the others.
        let each = make::long(self.model.copied_element.into());
        let pays = make::binary(BinOp::Ge, shared.work.operations.clone(), make::mul(elements, each));
        let most = make::long(self.model.most_copied.into());
        let fits = |target: &Target| make::binary(BinOp::Le, target.count.clone(), most.clone());
        let fit = targets.iter().map(fits).fold(pays, |all, fits| make::binary(BinOp::And, all, fits));
        // Tiles of updates write between copies, of which arrays have no room.
        let apart = self.mapping.number(Property::Updates).is_some();
        let alone = make::binary(BinOp::Eq, workers.clone(), make::long(1));
        let alone = (!apart).then(|| self.body.fix("alone", alone));
        let cond = alone.iter().cloned().fold(fit, |fit, alone| make::binary(BinOp::Or, alone, fit));
        self.branch(
            cond,
            |this| this.share_copies(map, span, shared, &targets, (&workers, alone)),
            |this| this.share_ranges(map, span, shared),
        );
    }

    /// The arrays that this map updates and of which there are copies, and how it does.
    pub(super) fn copied_arrays(&self, map: &Map) -> Vec<(par::VarId, FoldOp)> {
        let mut ops: OrdMap<par::VarId, FoldOp> = OrdMap::new();
        visit::walk_stmts(&map.body, |stmt| {
            if let StmtKind::Atomic { place, op, .. } = &stmt.kind {
                ops.insert(place.array, op.clone());
            }
        });
        self.mapping.copied.iter().filter_map(|array| Some((*array, ops.remove(array)?))).collect()
    }

    /// Of the nest's arrays those that this map updates: the host may start several maps of a nest, one after the other.
    fn copied_targets(&mut self, map: &Map) -> Option<Vec<Target>> {
        let own = self.copied_arrays(map).into_iter();
        let targets: Vec<Target> = own.filter_map(|(array, op)| self.copied_target(array, op)).collect();
        (!targets.is_empty()).then_some(targets)
    }

    fn copied_target(&mut self, var: par::VarId, op: FoldOp) -> Option<Target> {
        let Binding::Array(array) = self.binding(var) else {
            self.defect("what threads have copies of is an array that they update");
            return None;
        };
        let count = array.extents.iter().cloned().fold(make::long(1), make::mul);
        let count = self.body.fix("count", count);
        let padding = make::long(COPY_PADDING);
        let stride = make::mul(make::ceil_div(count.clone(), padding.clone()), padding.clone());
        let stride = make::add(stride, padding);
        let stride = self.body.fix("stride", stride);
        let kind = VarKind::Buffer { elem: op.ty, writable: true };
        let all = self.body.declare(&format!("{}_copies", self.func.vars[var].name), kind);
        Some(Target { copied: Copied { array: var, all, stride }, array, op, count })
    }

    /// Threads update copies. One thread alone runs the same kernel on the arrays themselves.
    fn share_copies(
        &mut self,
        map: &Map,
        span: Span,
        shared: &Shared<'_>,
        targets: &[Target],
        (workers, alone): (&Expr, Option<Expr>),
    ) {
        self.copies = targets.iter().map(|target| target.copied.clone()).collect();
        self.body.enter();
        self.share_ranges(map, span, shared);
        let mut stmts = self.body.leave().stmts;
        self.copies.clear();
        let Some(launch @ Stmt::Launch { .. }) = stmts.pop() else {
            return self.defect("a map that threads share ends in its launch");
        };
        stmts.into_iter().for_each(|stmt| self.body.push(stmt));
        let on_copies = |this: &mut Self, launch: Stmt| {
            targets.iter().for_each(|target| this.make_copies(target, span, workers));
            this.body.push(launch);
            for target in targets {
                this.put_together(target, span, workers);
                this.body.push(Stmt::Free(target.copied.all));
            }
        };
        match alone {
            Some(alone) => {
                let itself = on_arrays(launch.clone(), targets);
                self.branch(alone, |this| this.body.push(itself), |this| on_copies(this, launch));
            }
            None => on_copies(self, launch),
        }
    }

    /// Copies with what changes nothing in each element.
    fn make_copies(&mut self, target: &Target, span: Span, workers: &Expr) {
        let site = self.site(FaultKind::Allocation, span, Vec::new());
        let count = self.body.fix("count", make::mul(target.copied.stride.clone(), workers.clone()));
        let neutral = target.op.ty.scalar().and_then(|scalar| target.op.func.neutral(scalar));
        let Some(neutral) = neutral else { return self.defect("built-in operators have neutral elements") };
        let kind = par::ExprKind::Const(neutral);
        let neutral = self.expr(&par::Expr { kind, ty: target.op.ty, span });
        let zero = make::as_int(&neutral) == Some(0);
        self.body.push(Stmt::Alloc { var: target.copied.all, count: count.clone(), zero, site });
        if zero {
            return;
        }
        let at = self.body.enter_loop("at");
        let place = make::element(target.copied.all, make::var(at, Ty::LONG));
        self.body.push(Stmt::Store { target: place, value: neutral });
        self.body.leave_loop(at, make::long(0), count, LoopKind::Seq);
    }

    /// In a kernel: the arrays are this thread's copies.
    pub(super) fn bind_copies(&mut self) {
        for copied in self.copies.clone() {
            let found = self.host.as_ref().and_then(|host| host.bindings.get(&copied.array)).cloned();
            let Some(Binding::Array(array)) = found else {
                self.defect("what threads have copies of is an array that they update");
                continue;
            };
            let base = self.capture(copied.all);
            self.body.mark_written(base);
            let stride = self.import(&copied.stride);
            let extents = array.extents.iter().map(|extent| self.import(extent)).collect();
            let thread = Expr { kind: ExprKind::WorkerIndex, ty: Ty::LONG };
            let kind = self.body.vars[base].kind;
            let own = self.body.declare("own", kind);
            self.body.push(Stmt::Part { var: own, of: base, first: make::mul(thread, stride) });
            let array = ArrayBinding { base: own, extents, window: None, stride: None };
            self.body.bindings.insert(copied.array, Binding::Array(array));
            self.body.alone.push(own);
        }
    }

    /// Iterations in order. Where they are nothing but updates of copies, several are written out, so that an update finds the elements of the next
    /// ones loaded: many where the copies stay in a first-level cache, two where they are larger. One turn of such a loop is shorter than a
    /// line of instructions, but takes twice as long where it begins in one and ends in the next.
    pub(super) fn iterations_in_order(&mut self, map: &Map, range: &Range, (low, high): (Expr, Expr)) {
        let run = |this: &mut Self, (low, high): (&Expr, &Expr), kind| {
            this.range_loop(range, low.clone(), high.clone(), kind, &mut |this| this.iteration(map, &[]));
        };
        let elements = self.elements_of_copies(map).filter(|_| map.directives.unroll.is_none());
        let Some(elements) = elements else { return run(self, (&low, &high), turns(map)) };
        let [close, far] = [self.model.copied_turns, self.model.far_copied_turns].map(LoopKind::Unroll);
        let most = self.model.near_copies;
        match make::as_int(&elements) {
            Some(count) if count > most.into() => run(self, (&low, &high), far),
            Some(_) => run(self, (&low, &high), close),
            None => {
                let (low, high) = (self.body.fix("low", low), self.body.fix("high", high));
                let near = make::binary(BinOp::Le, elements, make::long(most.into()));
                self.branch(near, |this| run(this, (&low, &high), close), |this| run(this, (&low, &high), far));
            }
        }
    }

    /// Elements of a thread's copies, if the iterations of this map do nothing but update them.
    fn elements_of_copies(&self, map: &Map) -> Option<Expr> {
        let (mut updates, mut others) = (false, false);
        visit::walk_stmts(&map.body, |stmt| {
            updates |= matches!(stmt.kind, StmtKind::Atomic { .. });
            others |=
                matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_) | StmtKind::Scope(_) | StmtKind::Prim(_));
        });
        if !updates || others || self.body.alone.is_empty() {
            return None;
        }
        let arrays = self.copies.iter().filter_map(|copied| match self.body.bindings.get(&copied.array) {
            Some(Binding::Array(array)) => Some(array.extents.iter().cloned().fold(make::long(1), make::mul)),
            Some(Binding::Fixed(_) | Binding::Slot { .. } | Binding::Lane(_)) | None => None,
        });
        Some(arrays.fold(make::long(0), make::add))
    }

    fn put_together(&mut self, target: &Target, span: Span, workers: &Expr) {
        let Target { copied, array, op, count } = target;
        let (kernel, args) = self.kernel("together", span, |this, begin, end| {
            let (to, from) = (this.capture(array.base), this.capture(copied.all));
            this.body.mark_written(to);
            let (workers, stride) = (this.import(workers), this.import(&copied.stride));
            let thread = this.body.enter_loop("thread");
            let first = this.body.fix("first", make::mul(make::var(thread, Ty::LONG), stride));
            let at = this.body.enter_loop("at");
            let place = make::var(at, Ty::LONG);
            let one = make::load(make::element(from, make::add(first, place.clone())), op.ty);
            let to = make::element(to, place);
            let sum = this.apply(op, make::load(to.clone(), op.ty), one);
            this.body.push(Stmt::Store { target: to, value: sum });
            this.body.leave_loop(at, begin, end, LoopKind::Seq);
            this.body.leave_loop(thread, make::long(0), workers, LoopKind::Seq);
        });
        let work = make::mul(count.clone(), workers.clone());
        let work = self.body.fix("work", work);
        let schedule = self.schedule(self.model.line, work.into());
        self.body.push(Stmt::Launch { kernel, args, extent: count.clone(), schedule });
    }
}

/// A launch on the arrays in place of their copies.
fn on_arrays(mut launch: Stmt, targets: &[Target]) -> Stmt {
    if let Stmt::Launch { args, .. } = &mut launch {
        for arg in args {
            let of = |target: &&Target| matches!(arg.kind, ExprKind::Var(var) if var == target.copied.all);
            if let Some(target) = targets.iter().find(of) {
                arg.kind = ExprKind::Var(target.array.base);
            }
        }
    }
    launch
}
