//! The number of an iteration, and the segments that iterations write through primitives: where it is not proved that those of
//! different iterations share no element they are noted, and compared when their map ends (`prim/segment_log.hpp`).

use super::build::Role;
use super::prim::{Operands, View};
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, ExprKind, PrimArg, SiteId, Stmt, TemplateArg, VarId, VarKind};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::walk_stmts;
use hidp_ir::par::{self, Access, ArrayRef, FaultKind, Map, PrimCall, StmtKind};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::prim::{Prim, Symbol};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// Words of a worker's log.
const LOG: i64 = 8;

/// What holds where segments are noted.
const LOG_OPEN: &str = "segments are noted in a log that a map around has begun";

/// A map around what is lowered.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    iterators: Vec<par::VarId>,
    /// What each iteration has for itself.
    pub(super) declares: OrdSet<par::VarId>,
}

/// An output of a call, the same in all versions of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The address of the call.
    call: usize,
    /// Whether it is the one of values.
    values: bool,
}

/// The end of a map that was begun.
#[must_use]
pub(super) enum Log {
    /// Nothing is noted.
    None,
    /// On the host.
    Run,
    /// In a kernel: where the window of the map around begins.
    Worker(VarId),
}

impl Lowerer<'_> {
    /// Enters an iteration of a map.
    pub(super) fn enter_iteration(&mut self, map: &Map) {
        let iterators = map.iters.iter().map(|iter| iter.var).collect();
        let declares = Effects::of_block(self.program, &self.func.vars, &map.body).declares;
        self.enclosing.push(Frame { iterators, declares });
    }

    /// Leaves it.
    pub(super) fn leave_iteration(&mut self) {
        self.enclosing.pop();
    }

    /// The linear number of the iteration of the innermost map.
    pub(super) fn instance(&mut self) -> Expr {
        let Some(iters) = self.enclosing.last().map(|frame| frame.iterators.clone()) else {
            self.defect("what has a number is an iteration");
            return make::long(0);
        };
        let mut number = make::long(0);
        for var in iters {
            let Some(Range { lo, step, count, .. }) = self.known_ranges.get(&var).cloned() else {
                self.defect("the range of an iterator is known inside its map");
                continue;
            };
            let position = make::div(make::sub(self.read(var), lo), step);
            number = make::add(make::mul(number, count), position);
        }
        self.body.fix("instance", number)
    }

    /// A map begins.
    pub(super) fn open_log(&mut self, map: &Map, span: Span) -> Log {
        match self.body.role {
            Role::Host if any_shared_segments(map) => {
                let log = self.body.declare("segments", VarKind::Buffer { elem: Ty::LONG, writable: true });
                let workers = Expr { kind: ExprKind::WorkerCount, ty: Ty::LONG };
                let count = self.body.fix("words", make::mul(workers, make::long(LOG)));
                let site = self.memory_site(span);
                self.body.push(Stmt::Alloc { var: log, count, zero: true, site });
                self.log_call("run_open_segments", vec![whole(log)], Vec::new());
                self.logs.push(log);
                Log::Run
            }
            Role::Kernel if has_shared_segments(map) => {
                let window = self.body.slot("window", Ty::LONG, Some(make::long(0)));
                let args = self.worker_log().into_iter().chain([PrimArg::Out(window)]).collect();
                self.log_call(self.worker_function("open_segments", "worker_open_segments"), args, Vec::new());
                Log::Worker(window)
            }
            Role::Host | Role::Kernel => Log::None,
        }
    }

    /// A map ends.
    pub(super) fn close_log(&mut self, log: Log, span: Span) {
        match log {
            Log::None => {}
            Log::Worker(window) => {
                let memory = vec![self.memory_site(span)];
                let (mut args, instance) = (self.worker_log(), self.instance());
                args.extend([PrimArg::Value(make::var(window, Ty::LONG)), PrimArg::Value(instance)]);
                self.log_call(self.worker_function("close_segments", "worker_close_segments"), args, memory);
            }
            Log::Run => {
                let Some(log) = self.logs.pop() else { return self.defect("a log that ends was begun") };
                let memory = vec![self.memory_site(span)];
                let keys = make::long(self.noted.len() as i64);
                let mut args = vec![whole(log), PrimArg::Value(keys)];
                match self.logs.last() {
                    Some(outer) => {
                        args.push(whole(*outer));
                        args.push(PrimArg::Value(self.instance()));
                        self.log_call("run_close_inner_segments", args, memory);
                    }
                    None => self.log_call("run_close_segments", args, memory),
                }
                self.body.push(Stmt::Free(log));
            }
        }
    }

    /// Notes the segment `[low, low + n)` of every array that a call writes, if iterations of the maps around share it.
    pub(super) fn note_segments(&mut self, call: &PrimCall, operands: &Operands, low: &Expr, n: &Expr) {
        if call.access == Access::Exclusive || !call.prim.writes_segments() {
            return;
        }
        if self.device.is_some() && self.logs.is_empty() {
            return self.record_segments(call, operands, low, n);
        }
        let (keys, values) = outputs(call);
        let values_view = operands.values.as_ref().and_then(|(_, out)| out.as_ref());
        let views = [(keys, operands.output.as_ref().or(Some(&operands.input))), (values, values_view)];
        for (is_values, (array, view)) in views.into_iter().enumerate() {
            let (Some(array), Some(view)) = (array, view) else { continue };
            let levels = self.levels_sharing(array.array);
            if levels > 0 {
                let key = Key { call: std::ptr::from_ref(call).addr(), values: is_values == 1 };
                self.note(call, key, levels, view, low, n);
            }
        }
    }

    fn note(&mut self, call: &PrimCall, key: Key, levels: usize, view: &View, low: &Expr, n: &Expr) {
        let key = self.noted.iter().position(|noted| *noted == key).unwrap_or_else(|| {
            self.noted.push(key);
            self.noted.len() - 1
        });
        let (function, log) = match self.body.role {
            Role::Host => {
                let Some(log) = self.logs.last() else { return self.defect(LOG_OPEN) };
                let function = if self.device.is_some() { "kernel_note_segment" } else { "run_note_segment" };
                (function, vec![whole(*log)])
            }
            Role::Kernel => (self.worker_function("note_segment", "worker_note_segment"), self.worker_log()),
        };
        let instance = self.instance();
        let first = self.body.fix("from", make::add(view.start.clone(), low.clone()));
        let past = make::add(first.clone(), n.clone());
        let values = [make::long(key as i64), make::long(levels as i64), instance, first, past];
        let args = log.into_iter().chain(values.map(PrimArg::Value)).collect();
        let overlap = self.site(FaultKind::SegmentOverlap, call.span, vec![String::new(); 2]);
        let memory = self.memory_site(call.span);
        self.log_call(function, args, vec![overlap, memory]);
    }

    /// How many of the innermost maps have iterations that share the array.
    pub(super) fn levels_sharing(&self, array: par::VarId) -> usize {
        self.enclosing.iter().rev().take_while(|frame| !frame.declares.contains(&array)).count()
    }

    /// In a kernel: the log of this worker; on a device the log and the group's slot in it.
    fn worker_log(&mut self) -> Vec<PrimArg> {
        let Some(&log) = self.logs.last() else {
            self.defect(LOG_OPEN);
            return Vec::new();
        };
        let base = self.capture(log);
        self.body.mark_written(base);
        let worker = Expr { kind: ExprKind::WorkerIndex, ty: Ty::LONG };
        if self.device.is_some() {
            return vec![whole(base), PrimArg::Value(worker)];
        }
        vec![PrimArg::Address { base, offset: make::mul(worker, make::long(LOG)) }]
    }

    fn worker_function(&self, group: &'static str, worker: &'static str) -> &'static str {
        if self.device.is_some() { group } else { worker }
    }

    /// A call of the log's functions. In kernels of a device those of a group.
    pub(super) fn log_call(&mut self, function: &'static str, args: Vec<PrimArg>, sites: Vec<SiteId>) {
        let symbol = Symbol { function, header: "segment_log" };
        let in_group = self.device.is_some() && self.body.role == Role::Kernel;
        let template = if in_group { vec![TemplateArg::Group(self.group_here())] } else { Vec::new() };
        self.call_library(Some(symbol), template, args, sites);
    }
}

pub(super) fn whole(buffer: VarId) -> PrimArg {
    PrimArg::Address { base: buffer, offset: make::long(0) }
}

/// The arrays of keys and of values that a call writes.
pub(super) fn outputs(call: &PrimCall) -> (Option<&ArrayRef>, Option<&ArrayRef>) {
    let keys = call.output.as_ref().or((call.prim == Prim::ReverseInplace).then_some(&call.input));
    (keys, call.values.as_ref().and_then(|(_, out)| out.as_ref()))
}

/// Whether iterations of a map, or of one inside, may write overlapping segments of an array that they share.
pub(super) fn any_shared_segments(map: &Map) -> bool {
    let mut found = has_shared_segments(map);
    walk_stmts(&map.body, |stmt| {
        if let StmtKind::Map(inner) = &stmt.kind {
            found |= has_shared_segments(inner);
        }
    });
    found
}

/// Whether iterations of this map may.
fn has_shared_segments(map: &Map) -> bool {
    let mut own = OrdSet::new();
    let mut written = OrdSet::new();
    walk_stmts(&map.body, |stmt| {
        if let StmtKind::Declare { var, .. } = stmt.kind {
            own.insert(var);
        }
        if let StmtKind::Prim(call) = &stmt.kind
            && call.access == Access::Shared
            && call.prim.writes_segments()
        {
            let (keys, values) = outputs(call);
            written.extend([keys, values].into_iter().flatten().map(|array| array.array));
        }
    });
    !written.is_subset(&own)
}
