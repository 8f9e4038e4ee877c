//! Calls of the run-time library. On the host all threads work (`run_*`), in a kernel one worker does (`worker_*`). Arguments
//! stand in the order of the language, then options, then sites; an array is its address and, where segments are
//! checked by the library, how many elements may be used.

use super::build::Role;
use super::{BOUNDS, Binding, Lowerer, OPERATOR, OUTPUT, PREDICATE, make};
use hidp_ir::imp::{self, Expr, ExprKind, PrimArg, SiteId, Stmt, TemplateArg, VarId};
use hidp_ir::par::{self, ArrayRef, BinOp, Extent, FaultKind, FoldOp, PrimCall, PrimValue, ScalarFnId};
use hidp_syntax::prim::{Prim, Symbol};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// A row of an array, or a part of one.
#[derive(Clone)]
pub(super) struct View {
    pub(super) base: VarId,
    /// Linear index of element 0.
    pub(super) start: Expr,
    /// Elements that may be used.
    pub(super) len: Expr,
    pub(super) elem: Ty,
}

/// The operands of a call.
pub(super) struct Operands {
    pub(super) input: View,
    pub(super) output: Option<View>,
    pub(super) values: Option<(View, Option<View>)>,
}

/// The segments of a call.
enum Segments {
    /// `[low, high)`
    One(Expr, Expr),
    /// `[low[i], high[i])`: two arrays and how many.
    Vectors(View, View, Expr),
    /// Size and number.
    Regular(Expr, Expr),
}

impl Lowerer<'_> {
    /// A primitive.
    pub(super) fn prim(&mut self, call: &PrimCall) {
        let segments = self.segments(call);
        let descending = self.descending(call);
        let operands = self.operands(call);
        match segments {
            Segments::One(low, high) => {
                self.check_segment(call, &operands, &low, &high);
                match self.body.role {
                    Role::Host => self.whole(call, &operands, &low, &high, descending),
                    Role::Kernel if self.device.is_some() => {
                        self.of_group(call, &operands, &low, &high, descending);
                    }
                    Role::Kernel => self.of_worker(call, &operands, &low, &high, descending),
                }
            }
            Segments::Vectors(..) | Segments::Regular(..) => self.segmented(call, &operands, &segments, descending),
        }
    }

    fn segments(&mut self, call: &PrimCall) -> Segments {
        match &call.extent {
            Extent::Whole { size } => Segments::One(make::long(0), self.fixed("size", size)),
            Extent::Segment { low, high } => Segments::One(self.fixed("low", low), self.fixed("high", high)),
            Extent::Vectors { low, high } => {
                let (low, high) = (self.view(low), self.view(high));
                let same = make::binary(BinOp::Eq, low.len.clone(), high.len.clone());
                self.require(same, FaultKind::Shape, call.span, vec![low.len.clone(), high.len.clone()]);
                let count = low.len.clone();
                Segments::Vectors(low, high, count)
            }
            Extent::Regular { seg_size, num_seg } => {
                let (size, count) = (self.fixed("size", seg_size), self.fixed("count", num_seg));
                for value in [&size, &count] {
                    let ok = make::binary(BinOp::Ge, value.clone(), make::long(0));
                    self.require(ok, FaultKind::NegativeSize, call.span, vec![value.clone()]);
                }
                let most = make::div(make::long(i64::MAX), make::max(count.clone(), make::long(1)));
                let fits = make::binary(BinOp::Le, size.clone(), most);
                self.require(fits, FaultKind::SizeOverflow, call.span, vec![size.clone(), count.clone()]);
                Segments::Regular(size, count)
            }
        }
    }

    /// Whether a sort is descending, after the check of its direction.
    fn descending(&mut self, call: &PrimCall) -> Expr {
        let Some(dir) = &call.dir else { return truth(false) };
        let dir = self.fixed("dir", dir);
        let is = |value: i128| {
            let one = Expr { kind: ExprKind::Int(value), ty: dir.ty };
            make::binary(BinOp::Eq, dir.clone(), one)
        };
        match make::as_int(&dir) {
            Some(1) => truth(false),
            Some(-1) => truth(true),
            _ => {
                let ok = make::binary(BinOp::Or, is(1), is(-1));
                let value = make::cast(dir.clone(), Scalar::I64);
                self.require(ok, FaultKind::SortDirection, call.span, vec![value]);
                self.body.fix("descending", is(-1))
            }
        }
    }

    fn operands(&mut self, call: &PrimCall) -> Operands {
        let input = self.view(&call.input);
        let output = call.output.as_ref().map(|array| self.view(array));
        let values = call.values.as_ref().map(|(values_in, values_out)| {
            let values_in = self.view(values_in);
            (values_in, values_out.as_ref().map(|array| self.view(array)))
        });
        Operands { input, output, values }
    }

    /// Where a row starts, after checks that it lies in its array.
    fn view(&mut self, array: &ArrayRef) -> View {
        let elem = self.func.vars[array.array].ty;
        let Binding::Array(binding) = self.binding(array.array) else {
            self.defect("what a primitive works on is an array");
            return View { base: hidp_syntax::index::Id::new(0), start: make::long(0), len: make::long(0), elem };
        };
        let mut indices = Vec::new();
        for (dim, index) in array.prefix.iter().enumerate() {
            let index = self.fixed("index", index);
            let extent = binding.extents[dim].clone();
            let values = vec![index.clone(), extent.clone(), make::long(dim as i64)];
            self.require(make::inside(index.clone(), extent), FaultKind::Index, array.span, values);
            indices.push(index);
        }
        let extent = binding.extents.last().cloned().unwrap_or(make::long(0));
        let offset = self.fixed("offset", &array.offset);
        let len = self.fixed("length", &array.len);
        let whole = make::as_int(&offset) == Some(0) && len == extent;
        let len = if whole {
            len
        } else {
            let end = make::add(offset.clone(), len.clone());
            let none = make::binary(BinOp::Le, len.clone(), make::long(0));
            let starts = make::binary(BinOp::Ge, offset.clone(), make::long(0));
            let ends = make::binary(BinOp::Le, len.clone(), make::sub(extent.clone(), offset.clone()));
            let ok = make::binary(BinOp::Or, none, make::binary(BinOp::And, starts, ends));
            self.require(ok, FaultKind::Segment, array.span, vec![offset.clone(), end, extent]);
            self.body.fix("length", make::max(len, make::long(0)))
        };
        indices.push(offset);
        let start = self.linear(&binding.extents, indices);
        let start = binding.window.map_or(start.clone(), |window| make::add(window, start));
        let start = self.body.fix("start", start);
        View { base: binding.base, start, len, elem }
    }

    /// A fault unless the segment is empty or lies inside every array that it selects from.
    fn check_segment(&mut self, call: &PrimCall, operands: &Operands, low: &Expr, high: &Expr) {
        let mut views = vec![operands.input.len.clone()];
        if call.prim != Prim::Histogram {
            views.extend(operands.output.iter().map(|view| view.len.clone()));
        }
        if let Some((values_in, values_out)) = &operands.values {
            views.push(values_in.len.clone());
            views.extend(values_out.iter().map(|view| view.len.clone()));
        }
        let mut seen: Vec<Expr> = Vec::new();
        for len in views {
            if seen.contains(&len) || (make::as_int(low) == Some(0) && *high == len) {
                continue;
            }
            let empty = make::binary(BinOp::Le, high.clone(), low.clone());
            let starts = make::binary(BinOp::Ge, low.clone(), make::long(0));
            let ends = make::binary(BinOp::Le, high.clone(), len.clone());
            let ok = make::binary(BinOp::Or, empty, make::binary(BinOp::And, starts, ends));
            self.require(ok, FaultKind::Segment, call.span, vec![low.clone(), high.clone(), len.clone()]);
            seen.push(len);
        }
    }

    /// The address of an element; `writes` if the callee stores there.
    pub(super) fn address(&mut self, view: &View, at: &Expr, writes: bool) -> PrimArg {
        if writes {
            self.body.mark_written(view.base);
        }
        PrimArg::Address { base: view.base, offset: make::add(view.start.clone(), at.clone()) }
    }

    pub(super) fn memory_site(&mut self, span: Span) -> SiteId {
        self.site(FaultKind::Allocation, span, vec![String::new()])
    }

    /// Emits a call. A function of the program that it gets may have raised.
    pub(super) fn call_library(
        &mut self,
        symbol: Option<Symbol>,
        template: Vec<TemplateArg>,
        args: Vec<PrimArg>,
        sites: Vec<SiteId>,
    ) {
        let Some(Symbol { function, header }) = symbol else {
            return self.defect("the library has the primitive for those who call it here");
        };
        let functions: Vec<ScalarFnId> = template.iter().filter_map(function_of).collect();
        let raises = functions.into_iter().fold(false, |raises, function| self.trap_sites(function) | raises);
        let header = match self.device {
            Some(_) => format!("cuda/prim/{header}.cuh"),
            None => format!("prim/{header}.hpp"),
        };
        self.body.push(Stmt::Prim(imp::Prim { function: function.into(), header, template, args, sites }));
        if raises {
            self.body.push(Stmt::CheckTrap);
        }
    }

    /// Type and operator as template arguments, and the neutral element with whether there is one.
    pub(super) fn operator(&mut self, op: &FoldOp) -> (Vec<TemplateArg>, [PrimArg; 2]) {
        let neutral = op.neutral.as_deref().map(|neutral| self.expr(neutral));
        let has = truth(neutral.is_some());
        let neutral = neutral.unwrap_or_else(|| self.zero_value(op.ty));
        let neutral = self.body.fix("neutral", neutral);
        (vec![TemplateArg::Ty(op.ty), TemplateArg::Op(op.func, op.ty)], [PrimArg::Value(neutral), PrimArg::Value(has)])
    }

    /// One segment, all threads.
    fn whole(&mut self, call: &PrimCall, operands: &Operands, low: &Expr, high: &Expr, descending: Expr) {
        let length = make::max(make::sub(high.clone(), low.clone()), make::long(0));
        let n = self.body.fix("n", length);
        self.note_segments(call, operands, low, &n);
        let count = PrimArg::Value(n.clone());
        let input = self.address(&operands.input, low, call.prim == Prim::ReverseInplace);
        let output = operands.output.as_ref().map(|view| self.address(view, low, true));
        let values = self.value_addresses(operands, low);
        let symbol = self.whole_symbol(call.prim);
        let memory = vec![self.memory_site(call.span)];
        match (call.prim, output) {
            (Prim::Scan | Prim::Exscan, Some(output)) => {
                let Some(op) = &call.op else { return self.defect(OPERATOR) };
                let exclusive = call.prim == Prim::Exscan;
                self.require_neutral(op, exclusive, &n, call.span);
                let (template, [neutral, has]) = self.operator(op);
                let args = vec![input, output, count, neutral, has, PrimArg::Value(truth(exclusive))];
                self.call_library(symbol, template, args, memory);
            }
            (Prim::Sort, Some(output)) => {
                let mut args = vec![input, output];
                args.extend(values);
                args.extend([count, PrimArg::Value(descending)]);
                self.call_library(symbol, Vec::new(), args, memory);
            }
            (Prim::Partition, Some(output)) => {
                let (Some(predicate), Some(PrimValue::Scalar(pivot))) = (call.predicate, &call.pivot) else {
                    return self.defect(PREDICATE);
                };
                let pivot = self.fixed("pivot", pivot);
                let front = self.body.slot("front", Ty::LONG, Some(make::long(0)));
                let mut args = vec![input, output];
                args.extend(values);
                args.extend([PrimArg::Value(pivot), count, PrimArg::Out(front)]);
                let template = vec![TemplateArg::Fn(predicate)];
                self.call_library(symbol, template, args, memory);
                let instance = call.new_bounds.map(|_| self.instance());
                self.partition_results(call, low, high, front, instance);
            }
            (Prim::Reverse, Some(output)) => {
                self.call_library(symbol, Vec::new(), vec![input, output, count], Vec::new());
            }
            (Prim::ReverseInplace, _) => {
                self.call_library(symbol, Vec::new(), vec![input, count], Vec::new());
            }
            (Prim::Histogram, _) => self.histogram(call, operands, low, count),
            // Folds of one segment are maps: see the pass `expand`.
            (Prim::Min | Prim::Max | Prim::Reduce, _)
            | (Prim::Scan | Prim::Exscan | Prim::Sort | Prim::Partition | Prim::Reverse, None) => self.defect(OUTPUT),
        }
    }

    fn histogram(&mut self, call: &PrimCall, operands: &Operands, low: &Expr, count: PrimArg) {
        let (Some(op), Some(bins)) = (&call.op, &operands.output) else {
            return self.defect("a histogram has an operator and bins");
        };
        let keys = self.address(&operands.input, low, false);
        let values = operands.values.as_ref().map(|(values, _)| self.address(values, low, false));
        let out = self.address(bins, &make::long(0), true);
        let (template, [neutral, has]) = self.operator(op);
        let memory = self.memory_site(call.span);
        let key = self.site(FaultKind::HistogramKey, call.span, vec![String::new(); 2]);
        let bin_count = PrimArg::Value(bins.len.clone());
        let args = [Some(keys), values, Some(out), Some(count), Some(bin_count), Some(neutral), Some(has)];
        let args = args.into_iter().flatten().collect();
        self.call_library(self.whole_symbol(call.prim), template, args, vec![memory, key]);
    }

    pub(super) fn value_addresses(&mut self, operands: &Operands, at: &Expr) -> Vec<PrimArg> {
        match &operands.values {
            Some((values_in, Some(values_out))) => {
                vec![self.address(values_in, at, false), self.address(values_out, at, true)]
            }
            Some((_, None)) | None => Vec::new(),
        }
    }

    /// The first exclusive prefix is the fold of nothing.
    pub(super) fn require_neutral(&mut self, op: &FoldOp, exclusive: bool, n: &Expr, span: Span) {
        if exclusive && op.neutral.is_none() {
            let empty = make::binary(BinOp::Eq, n.clone(), make::long(0));
            self.require(empty, FaultKind::EmptyFold, span, Vec::new());
        }
    }

    /// Many segments, all threads.
    fn segmented(&mut self, call: &PrimCall, operands: &Operands, segments: &Segments, descending: Expr) {
        let (segmented, regular) = self.many_symbols(call.prim);
        let (symbol, parts, count) = match segments {
            Segments::Regular(size, count) => {
                (regular, vec![PrimArg::Value(size.clone()), PrimArg::Value(count.clone())], count.clone())
            }
            Segments::Vectors(low, high, count) => {
                let lows = self.address(low, &make::long(0), false);
                let highs = self.address(high, &make::long(0), false);
                (segmented, vec![lows, highs, PrimArg::Value(count.clone())], count.clone())
            }
            Segments::One(..) => return self.defect("many segments are those of vectors, or of one size"),
        };
        let zero = make::long(0);
        let per_segment = call.prim.per_segment();
        let extent = self.usable(operands, per_segment);
        if let Segments::Regular(size, count) = segments {
            let all = make::mul(size.clone(), count.clone());
            let ok = make::binary(BinOp::Le, all.clone(), extent.clone());
            self.require(ok, FaultKind::Segment, call.span, vec![zero.clone(), all, extent.clone()]);
        }
        let extent = PrimArg::Value(extent);
        let input = self.address(&operands.input, &zero, call.prim == Prim::ReverseInplace);
        let output = operands.output.as_ref().map(|view| self.address(view, &zero, true));
        let values = self.value_addresses(operands, &zero);
        let range = self.site(FaultKind::Segment, call.span, vec![String::new(); 3]);
        let overlap = self.site(FaultKind::SegmentOverlap, call.span, vec![String::new(); 2]);
        let memory = self.memory_site(call.span);
        let sites = vec![range, overlap, memory];
        match (call.prim, output) {
            (Prim::Min | Prim::Max | Prim::Reduce, Some(output)) => {
                let Some(op) = &call.op else { return self.defect(OPERATOR) };
                if let Some(out) = &operands.output {
                    let ok = make::binary(BinOp::Le, count.clone(), out.len.clone());
                    self.require(ok, FaultKind::Segment, call.span, vec![zero, count, out.len.clone()]);
                }
                let (template, [neutral, has]) = self.operator(op);
                let empty = self.site(FaultKind::EmptyFold, call.span, Vec::new());
                let mut args = vec![input, extent, output];
                args.extend(parts);
                args.extend([neutral, has]);
                self.call_library(symbol, template, args, vec![range, memory, empty]);
            }
            (Prim::Scan | Prim::Exscan, Some(output)) => {
                let Some(op) = &call.op else { return self.defect(OPERATOR) };
                let exclusive = call.prim == Prim::Exscan;
                let (template, [neutral, has]) = self.operator(op);
                let mut args = vec![input, output, extent];
                args.extend(parts);
                args.extend([neutral, has, PrimArg::Value(truth(exclusive))]);
                let empty = self.site(FaultKind::EmptyFold, call.span, Vec::new());
                self.call_library(symbol, template, args, [sites, vec![empty]].concat());
            }
            (Prim::Sort, Some(output)) => {
                let mut args = vec![input, output];
                args.extend(values);
                args.push(extent);
                args.extend(parts);
                args.push(PrimArg::Value(descending));
                self.call_library(symbol, Vec::new(), args, sites);
            }
            (Prim::Partition, Some(output)) => {
                let args = self.partition_args(call, (input, output, values), extent, parts, &count);
                let Some((template, args)) = args else { return self.defect(PREDICATE) };
                let narrow = self.site(FaultKind::Narrowing, call.span, vec![String::new()]);
                self.call_library(symbol, template, args, [sites, vec![narrow]].concat());
            }
            (Prim::Reverse, Some(output)) => {
                let mut args = vec![input, output, extent];
                args.extend(parts);
                self.call_library(symbol, Vec::new(), args, sites);
            }
            (Prim::ReverseInplace, _) => {
                let mut args = vec![input, extent];
                args.extend(parts);
                self.call_library(symbol, Vec::new(), args, sites);
            }
            (
                Prim::Min
                | Prim::Max
                | Prim::Reduce
                | Prim::Scan
                | Prim::Exscan
                | Prim::Sort
                | Prim::Partition
                | Prim::Reverse,
                None,
            )
            | (Prim::Histogram, _) => self.defect(OUTPUT),
        }
    }

    #[allow(clippy::type_complexity)]
    fn partition_args(
        &mut self,
        call: &PrimCall,
        (input, output, values): (PrimArg, PrimArg, Vec<PrimArg>),
        extent: PrimArg,
        parts: Vec<PrimArg>,
        count: &Expr,
    ) -> Option<(Vec<TemplateArg>, Vec<PrimArg>)> {
        let (Some(predicate), Some(PrimValue::Array(pivots))) = (call.predicate, &call.pivot) else { return None };
        let (new_low, new_high) = call.new_bounds?;
        let pivots = self.view(pivots);
        let zero = make::long(0);
        let enough = make::binary(BinOp::Le, count.clone(), pivots.len.clone());
        self.require(enough, FaultKind::Segment, call.span, vec![zero.clone(), count.clone(), pivots.len.clone()]);
        let mut bounds = Vec::new();
        for bound in [new_low, new_high] {
            let Binding::Array(array) = self.binding(bound) else {
                self.defect(BOUNDS);
                return None;
            };
            let extent = array.extents.first().cloned().unwrap_or(make::long(0));
            let wanted = make::mul(count.clone(), make::long(2));
            let ok = make::binary(BinOp::Le, wanted, extent.clone());
            self.require(ok, FaultKind::Index, call.span, vec![extent.clone(), extent, make::long(0)]);
            self.body.mark_written(array.base);
            bounds.push(PrimArg::Address { base: array.base, offset: zero.clone() });
        }
        let pivots = self.address(&pivots, &zero, false);
        let mut args = vec![input, output];
        args.extend(values);
        args.extend([pivots, extent]);
        args.extend(parts);
        args.extend(bounds);
        Some((vec![TemplateArg::Fn(predicate)], args))
    }

    /// Elements that segments may select from in all arrays.
    fn usable(&mut self, operands: &Operands, per_segment: bool) -> Expr {
        let mut extent = operands.input.len.clone();
        if let Some(output) = operands.output.as_ref().filter(|_| !per_segment) {
            extent = make::min(extent, output.len.clone());
        }
        if let Some((values_in, values_out)) = &operands.values {
            extent = make::min(extent, values_in.len.clone());
            if let Some(values_out) = values_out {
                extent = make::min(extent, values_out.len.clone());
            }
        }
        self.body.fix("extent", extent)
    }
}

pub(super) fn truth(value: bool) -> Expr {
    Expr { kind: ExprKind::Bool(value), ty: Ty::BOOL }
}

fn function_of(arg: &TemplateArg) -> Option<ScalarFnId> {
    match arg {
        TemplateArg::Fn(function) | TemplateArg::Op(par::FoldFn::Fn(function), _) => Some(*function),
        TemplateArg::Op(..) | TemplateArg::Ty(_) | TemplateArg::Group(_) => None,
    }
}
