//! Primitives in kernels: one segment, one worker.

use super::prim::{Operands, View};
use super::{BOUNDS, Binding, Lowerer, OPERATOR, OUTPUT, PREDICATE, make};
use hidp_ir::imp::{Element, Expr, LoopKind, PrimArg, Stmt, TemplateArg, VarId, VarKind};
use hidp_ir::par::{self, Access, BinOp, FaultKind, PrimCall, PrimValue, Target};
use hidp_syntax::prim::{Prim, Symbol};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// One segment, one worker.
    pub(super) fn of_worker(
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
        let input = |this: &mut Self| this.address(&operands.input, low, call.prim == Prim::ReverseInplace);
        let count = PrimArg::Value(n.clone());
        match (call.prim, &operands.output) {
            (Prim::Scan | Prim::Exscan, Some(output)) => self.worker_scan(call, &operands.input, output, low, &n),
            (Prim::Sort, Some(output)) => self.worker_sort(call, operands, output, low, &n, descending),
            (Prim::Partition, Some(output)) => {
                let (Some(predicate), Some(PrimValue::Scalar(pivot))) = (call.predicate, &call.pivot) else {
                    return self.defect(PREDICATE);
                };
                let pivot = self.fixed("pivot", pivot);
                let front = self.body.slot("front", Ty::LONG, Some(make::long(0)));
                let mut args = vec![input(self), self.address(output, low, true)];
                args.extend(self.value_addresses(operands, low));
                args.extend([PrimArg::Value(pivot), count, PrimArg::Out(front)]);
                let template = vec![TemplateArg::Fn(predicate)];
                self.call_library(worker_function(call), template, args, Vec::new());
                let instance = self.instance();
                self.partition_results(call, low, high, front, Some(instance));
            }
            (Prim::Reverse, Some(output)) => {
                let args = vec![input(self), self.address(output, low, true), count];
                self.call_library(worker_function(call), Vec::new(), args, Vec::new());
            }
            (Prim::ReverseInplace, _) => {
                let args = vec![input(self), count];
                self.call_library(worker_function(call), Vec::new(), args, Vec::new());
            }
            // Folds are maps; a histogram stands outside of maps.
            (Prim::Min | Prim::Max | Prim::Reduce | Prim::Histogram, _)
            | (Prim::Scan | Prim::Exscan | Prim::Sort | Prim::Partition | Prim::Reverse, None) => self.defect(OUTPUT),
        }
    }

    /// Prefixes in order.
    pub(super) fn worker_scan(&mut self, call: &PrimCall, input: &View, output: &View, low: &Expr, n: &Expr) {
        let Some(op) = &call.op else { return self.defect(OPERATOR) };
        let exclusive = call.prim == Prim::Exscan;
        self.require_neutral(op, exclusive, n, call.span);
        let neutral = op.neutral.as_deref().map(|neutral| self.expr(neutral));
        let first_seen = neutral.is_none();
        let init = neutral.unwrap_or_else(|| self.zero_value(op.ty));
        let acc = self.body.slot("acc", op.ty, Some(init));
        let at = self.body.enter_loop("at");
        let position = make::add(low.clone(), make::var(at, Ty::LONG));
        let from = self.own_or_shared(input.base, make::add(input.start.clone(), position.clone()), call.access);
        let to = self.own_or_shared(output.base, make::add(output.start.clone(), position), call.access);
        let value = self.load_element(from, input.elem);
        let value = match op.ty {
            Ty::Scalar(scalar) => make::cast(value, scalar),
            Ty::Struct(_) => value,
        };
        let value = self.body.fix("value", value);
        self.body.mark_written(output.base);
        if exclusive {
            self.store_element(to.clone(), make::var(acc, op.ty), op.ty);
        }
        let (first, later) = (value.clone(), value);
        if first_seen {
            let is_first = make::binary(BinOp::Eq, make::var(at, Ty::LONG), make::long(0));
            self.branch(
                is_first,
                |this| this.body.push(make::set(acc, first)),
                |this| {
                    let joined = this.apply(op, make::var(acc, op.ty), later);
                    this.body.push(make::set(acc, joined));
                },
            );
        } else {
            let joined = self.apply(op, make::var(acc, op.ty), later);
            self.body.push(make::set(acc, joined));
        }
        if !exclusive {
            self.store_element(to, make::var(acc, op.ty), op.ty);
        }
        self.body.leave_loop(at, make::long(0), n.clone(), LoopKind::Seq);
    }

    /// Sorts from one array to another, or a private copy: where iterations write one segment, a fault found later, they must not disturb each
    /// other, and parts of one array may overlap.
    fn worker_sort(
        &mut self,
        call: &PrimCall,
        operands: &Operands,
        out: &View,
        low: &Expr,
        n: &Expr,
        descending: Expr,
    ) {
        let input = &operands.input;
        let shared = [input, out].map(|view| self.shares(view.base, call.access));
        let at_once = match shared {
            [true, true] => Some(Symbol { function: "worker_sort_shared", header: "shared_sort" }),
            [false, false] if input.base != out.base => {
                Some(Symbol { function: "worker_sort_apart", header: "worker_prims" })
            }
            [true, false] | [false, true] | [false, false] => None,
        };
        if at_once.is_some() && operands.values.is_none() {
            let (from, to) = (self.address(input, low, false), self.address(out, low, true));
            let args = vec![from, to, PrimArg::Value(n.clone()), PrimArg::Value(descending)];
            let memory = self.memory_site(call.span);
            return self.call_library(at_once, Vec::new(), args, vec![memory]);
        }
        let pairs = [(Some(input), Some(out)), (operands.values.as_ref().map(|v| &v.0), self.values_out(operands))];
        let mut args = Vec::new();
        let mut copies = Vec::new();
        for (from, to) in pairs {
            let (Some(from), Some(to)) = (from, to) else { continue };
            let data = self.scratch("data", from.elem, n, call.span);
            let scratch = self.scratch("scratch", from.elem, n, call.span);
            self.copy(from, low, false, data, n, call.access);
            for base in [data, scratch] {
                args.push(PrimArg::Address { base, offset: make::long(0) });
            }
            copies.push((data, to));
        }
        args.extend([PrimArg::Value(n.clone()), PrimArg::Value(descending)]);
        self.call_library(worker_function(call), Vec::new(), args, Vec::new());
        for (data, to) in copies {
            self.body.mark_written(to.base);
            self.copy(to, low, true, data, n, call.access);
        }
    }

    fn values_out<'o>(&self, operands: &'o Operands) -> Option<&'o View> {
        operands.values.as_ref().and_then(|(_, out)| out.as_ref())
    }

    pub(super) fn scratch(&mut self, name: &str, elem: Ty, n: &Expr, span: Span) -> VarId {
        let var = self.body.declare(name, VarKind::Buffer { elem, writable: true });
        let site = self.memory_site(span);
        self.body.push(Stmt::Scratch { var, count: n.clone(), zero: false, site });
        var
    }

    /// Copies a segment to a private buffer, or back.
    fn copy(&mut self, view: &View, low: &Expr, back: bool, private: VarId, n: &Expr, access: Access) {
        if self.shares(view.base, access) {
            return self.copy_shared(view, low, back, private, n);
        }
        let start = self.body.fix("start", make::add(view.start.clone(), low.clone()));
        let at = self.body.enter_loop("at");
        let index = make::var(at, Ty::LONG);
        let whole = make::element(view.base, make::add(start, index.clone()));
        let own = make::element(private, index);
        let (target, from) = if back { (whole, own) } else { (own, whole) };
        let value = self.load_element(from, view.elem);
        self.store_element(target, value, view.elem);
        self.body.leave_loop(at, make::long(0), n.clone(), LoopKind::Seq);
    }

    /// The same where other iterations may touch the segment: by vectors, which a loop of relaxed accesses would not become.
    fn copy_shared(&mut self, view: &View, low: &Expr, back: bool, private: VarId, n: &Expr) {
        let segment = self.address(view, low, back);
        let own = PrimArg::Address { base: private, offset: make::long(0) };
        let (function, from, to) =
            if back { ("worker_to_shared", own, segment) } else { ("worker_from_shared", segment, own) };
        let symbol = Symbol { function, header: "shared_copy" };
        self.call_library(Some(symbol), Vec::new(), vec![from, to, PrimArg::Value(n.clone())], Vec::new());
    }

    /// What a partition leaves beside the elements: how many are in front, and the bounds of both parts.
    pub(super) fn partition_results(
        &mut self,
        call: &PrimCall,
        low: &Expr,
        high: &Expr,
        front: VarId,
        instance: Option<Expr>,
    ) {
        let front = self.body.fix("front", make::var(front, Ty::LONG));
        match &call.result {
            Some(Target::Scalar(var)) => {
                let value = self.narrowed(front.clone(), self.func.vars[*var].ty, call.span);
                self.assign(*var, value);
            }
            Some(Target::Element(place)) => {
                let ty = self.func.vars[place.array].ty;
                let value = self.narrowed(front.clone(), ty, call.span);
                let (target, _) = self.element(place);
                self.body.mark_written(target.base);
                self.store_element(target, value, ty);
            }
            None => {}
        }
        let (Some((new_low, new_high)), Some(instance)) = (call.new_bounds, instance) else { return };
        let first = self.body.fix("first", make::mul(instance, make::long(2)));
        let second = make::add(first.clone(), make::long(1));
        let middle = self.body.fix("middle", make::add(low.clone(), front));
        let bounds = [
            (new_low, first.clone(), low.clone()),
            (new_high, first, middle.clone()),
            (new_low, second.clone(), middle),
            (new_high, second, high.clone()),
        ];
        for (array, at, bound) in bounds {
            self.store_bound(array, at, bound, call.span);
        }
    }

    fn store_bound(&mut self, array: par::VarId, at: Expr, bound: Expr, span: Span) {
        let Binding::Array(binding) = self.binding(array) else { return self.defect(BOUNDS) };
        let ty = self.func.vars[array].ty;
        let at = self.body.fix("at", at);
        let extent = binding.extents.first().cloned().unwrap_or(make::long(0));
        let values = vec![at.clone(), extent.clone(), make::long(0)];
        self.require(make::inside(at.clone(), extent), FaultKind::Index, span, values);
        let value = self.narrowed(bound, ty, span);
        self.body.mark_written(binding.base);
        // The arrays may be memory of the iteration: on devices all groups have parts of one buffer.
        let at = binding.stride.map_or(at.clone(), |stride| make::mul(at, stride));
        let at = binding.window.map_or(at.clone(), |window| make::add(window, at));
        let target = self.own_or_shared(binding.base, at, Access::Shared);
        self.push_store(target, value);
    }

    /// An element that a primitive touches. Where segments of several iterations may overlap, which is noticed only after the
    /// map, accesses to arrays that live outside of it are relaxed until then, so that a wrong program has no data race.
    pub(super) fn own_or_shared(&self, base: VarId, index: Expr, access: Access) -> Element {
        Element { relaxed: self.shares(base, access), ..make::element(base, index) }
    }

    fn shares(&self, base: VarId, access: Access) -> bool {
        let outside = self.body.captures.iter().any(|(_, inner)| *inner == base) && !self.is_given(base);
        outside && access == Access::Shared
    }

    /// A position in the type of its target, after the check that it fits.
    fn narrowed(&mut self, value: Expr, ty: Ty, span: Span) -> Expr {
        let Ty::Scalar(scalar) = ty else {
            self.defect("a position is a number");
            return value;
        };
        if let Some(fits) = super::expr::fits(&value, scalar) {
            self.require(fits, FaultKind::Narrowing, span, vec![value.clone()]);
        }
        make::cast(value, scalar)
    }
}

/// What does a call in a kernel: other iterations may touch the same segment, or not.
fn worker_function(call: &PrimCall) -> Option<Symbol> {
    let cpu = &call.prim.row().cpu;
    match call.access {
        Access::Exclusive => cpu.worker,
        Access::Shared => cpu.shared_worker,
    }
}
