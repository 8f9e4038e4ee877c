//! What C++ with OpenMP prints its own way: memory, launches, primitives, simd loops.

use crate::c_like::expr::expr;
use crate::c_like::memory::{Memory, element};
use crate::c_like::prim::launch_argument;
use crate::c_like::text::Text;
use crate::c_like::{Dialect, Scope, name, wide};
use hidp_ir::imp::{Expr, Grid, KernelId, Level, Schedule, SiteId, Stmt, VarId, VarKind, Work};
use hidp_ir::par::FoldFn;
use hidp_syntax::index::Id;
use hidp_syntax::ty::{Scalar, Ty};

/// C++ with OpenMP.
pub(super) enum OpenMp<'a> {
    /// In a kernel, there is a `worker`.
    Kernel {
        /// The names of the kernels before it.
        before: &'a [String],
    },
    /// In a host function, there is a `host`.
    Host {
        /// The names of the kernels that it launches.
        kernels: &'a [String],
    },
}

/// `const float *` for a buffer or tile.
pub(super) fn pointer(scope: &Scope<'_>, var: VarId) -> String {
    match scope.var(var).kind {
        VarKind::Buffer { elem, writable: false } | VarKind::HostCell { elem, writable: false } => {
            format!("const {} *", name::ty(scope.program, elem))
        }
        VarKind::Buffer { elem, writable: true }
        | VarKind::HostCell { elem, writable: true }
        | VarKind::Tile { elem, .. }
        // Of devices.
        | VarKind::Shared { elem, .. }
        | VarKind::Registers { elem, .. }
        | VarKind::Value(elem) => {
            format!("{} *", name::ty(scope.program, elem))
        }
        VarKind::Divisor(elem) => format!("{} *", name::scalar(elem)),
        // Of lanes.
        VarKind::Wide { elem, lanes } | VarKind::WideTile { elem, lanes, .. } => format!("{} *", wide::ty(elem, lanes)),
    }
}

impl Dialect for OpenMp<'_> {
    fn frame(&self) -> &'static str {
        match self {
            OpenMp::Kernel { .. } => "worker",
            OpenMp::Host { .. } => "host",
        }
    }
    fn trap(&self) -> &'static str {
        match self {
            OpenMp::Kernel { .. } => "worker.trap",
            OpenMp::Host { .. } => "host.trap",
        }
    }
    fn leave(&self) -> &'static str {
        match self {
            OpenMp::Kernel { .. } => "return;",
            OpenMp::Host { .. } => "return host.finish();",
        }
    }
    fn worker_index(&self) -> &'static str {
        "worker.index"
    }
    fn worker_count(&self) -> &'static str {
        "host.workers()"
    }
    /// Of devices; a CPU unit holds none.
    fn group_count(&self, _: Grid) -> String {
        self.worker_count().to_owned()
    }
    fn memory(&self, _: VarKind) -> Memory {
        Memory::Plain
    }
    fn buffer(&self, scope: &Scope<'_>, elem: Ty, _: bool) -> String {
        format!("{} *", name::ty(scope.program, elem))
    }
    fn group(&self) -> Option<Level> {
        None
    }
    fn simd_pragma(&self, scope: &Scope<'_>, reductions: &[(VarId, FoldFn)]) -> String {
        let clause = |(var, op): &(VarId, FoldFn)| {
            format!(" reduction({} : {})", reduction_operator(scope, *var, *op), scope.name(*var))
        };
        format!("#pragma omp simd{}", reductions.iter().map(clause).collect::<String>())
    }
    fn unroll(&self, factor: u32) -> String {
        format!("#pragma GCC unroll {factor}")
    }
    fn special(&self, scope: &Scope<'_>, stmt: &Stmt, _: &str, out: &mut Text) {
        let text = |node: &Expr| expr(scope, self, node).text;
        match stmt {
            Stmt::Alloc { var, count, zero, site } => {
                self.storage(scope, "host.alloc<", ">(", *var, &text(count), *zero, *site, out);
            }
            Stmt::Free(var) => out.line(format!("host.free({});", scope.name(*var))),
            Stmt::Scratch { var, count, zero, site } => {
                out.line(format!("const hidp::ScratchBlock {}_block(worker);", scope.name(*var)));
                self.storage(scope, "hidp::scratch<", ">(worker, ", *var, &text(count), *zero, *site, out);
            }
            Stmt::Part { var, of, first } => {
                let (part, name) = (pointer(scope, *var), scope.name(*var));
                let (of, first) = (scope.name(*of), text(first));
                out.line(format!("{part}const __restrict {name} = hidp::part_of({of}, {first});"));
            }
            // The panel was written before, so it cannot be `restrict`.
            Stmt::Either { var, cond, then, otherwise } => {
                let (kind, name) = (pointer(scope, *var), scope.name(*var));
                let (cond, then, otherwise) = (text(cond), scope.name(*then), scope.name(*otherwise));
                let attribute = if scope.usage.is_read(*var) { "" } else { "[[maybe_unused]] " };
                out.line(format!("{attribute}{kind}const {name} = {cond} ? {then} : {otherwise};"));
            }
            Stmt::Prefetch { of, index } => out.line(format!("hidp::prefetch({}, {});", scope.name(*of), text(index))),
            Stmt::Swap(a, b) => out.line(format!("hidp::swap_buffers({}, {});", scope.name(*a), scope.name(*b))),
            Stmt::Run { kernel, args, begin, end } => {
                let OpenMp::Kernel { before } = self else { return };
                let args = args.iter().chain([begin, end]).map(text);
                let passed: Vec<String> = std::iter::once("worker".to_owned()).chain(args).collect();
                out.line(format!("{}({});", before[kernel.index()], passed.join(", ")));
            }
            Stmt::Launch { kernel, args, extent, schedule } => {
                self.launch(scope, *kernel, args, &text(extent), schedule, out);
            }
            Stmt::StreamOut { target, tile, count } => {
                let target = element(scope, self, target);
                out.line(format!("hidp::stream_out(worker, &{target}, {}, {});", scope.name(*tile), text(count)));
            }
            // Of devices; a CPU unit holds none.
            Stmt::LaunchGrid { .. }
            | Stmt::Single { .. }
            | Stmt::Sync(_)
            | Stmt::Lanes { .. }
            | Stmt::Shuffle(_)
            | Stmt::Move { .. } => {}
            // Common to all targets.
            Stmt::At(_)
            | Stmt::Let { .. }
            | Stmt::Set { .. }
            | Stmt::Store { .. }
            | Stmt::Atomic { .. }
            | Stmt::If { .. }
            | Stmt::Loop(_)
            | Stmt::Forever { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Scope { .. }
            | Stmt::Leave(_)
            | Stmt::Fault { .. }
            | Stmt::CheckTrap
            | Stmt::Prim(_)
            | Stmt::Group(_)
            | Stmt::InTurn(_)
            | Stmt::Wide(_) => {}
        }
    }
}

/// OpenMP's `min` and `max` of floats know no NaN, so those are the run time's own; `&` and `|` of truth values are logical.
fn reduction_operator(scope: &Scope<'_>, var: VarId, op: FoldFn) -> &'static str {
    let scalar = match scope.var(var).kind {
        VarKind::Value(Ty::Scalar(scalar)) => scalar,
        VarKind::Value(Ty::Struct(_))
        | VarKind::Buffer { .. }
        | VarKind::HostCell { .. }
        | VarKind::Tile { .. }
        | VarKind::Shared { .. }
        | VarKind::Registers { .. }
        | VarKind::Divisor(_)
        | VarKind::Wide { .. }
        | VarKind::WideTile { .. } => Scalar::I64,
    };
    match op {
        FoldFn::Add => "+",
        FoldFn::Mul => "*",
        FoldFn::Min if scalar.is_float() => "hidp::minimum",
        FoldFn::Max if scalar.is_float() => "hidp::maximum",
        FoldFn::Min => "min",
        FoldFn::Max => "max",
        FoldFn::And if scalar == Scalar::Bool => "&&",
        FoldFn::Or if scalar == Scalar::Bool => "||",
        FoldFn::And => "&",
        FoldFn::Or => "|",
        FoldFn::Xor | FoldFn::Fn(_) => "^",
    }
}

impl OpenMp<'_> {
    /// `float *a_1 = host.alloc<float>(n, true, 3);` and the way out if there is none.
    #[allow(clippy::too_many_arguments)]
    fn storage(
        &self,
        scope: &Scope<'_>,
        head: &str,
        args: &str,
        var: VarId,
        count: &str,
        zero: bool,
        site: SiteId,
        out: &mut Text,
    ) {
        let ty = match scope.var(var).kind {
            VarKind::Buffer { elem, .. } => name::ty(scope.program, elem),
            VarKind::WideTile { elem, lanes, .. } => wide::ty(elem, lanes),
            // The verifier knows none.
            VarKind::Value(_)
            | VarKind::HostCell { .. }
            | VarKind::Tile { .. }
            | VarKind::Shared { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. } => return,
        };
        let name = scope.name(var);
        let fixed = match (self, scope.usage.is_changed(var)) {
            (OpenMp::Kernel { .. }, _) => "__restrict ",
            (OpenMp::Host { .. }, false) => "const ",
            (OpenMp::Host { .. }, true) => "",
        };
        let pointer = pointer(scope, var);
        out.line(format!("{pointer}{fixed}{name} = {head}{ty}{args}{count}, {zero}, {});", site.index()));
        out.line(format!("if (HIDP_UNLIKELY({name} == nullptr)) {}", self.leave()));
    }

    fn launch(
        &self,
        scope: &Scope<'_>,
        kernel: KernelId,
        args: &[Expr],
        extent: &str,
        schedule: &Schedule,
        out: &mut Text,
    ) {
        let OpenMp::Host { kernels } = self else { return };
        let name = &kernels[kernel.index()];
        out.open("{");
        let passed: Vec<String> = std::iter::once("worker".to_owned())
            .chain(args.iter().enumerate().map(|(at, arg)| launch_argument(scope, self, at, arg, out)))
            .chain(["begin".to_owned(), "end".to_owned()])
            .collect();
        let head = match schedule {
            Schedule::Serial => format!("launch_serial(host, {extent}"),
            Schedule::Static { grain, least, threads, work } => {
                let least = (*least > 1 || threads.is_some()).then_some(*least);
                let function = joined("launch_static", work);
                let function = with_numbers(&function, least.into_iter().chain(*threads));
                self.shared(scope, &function, extent, *grain, work)
            }
            Schedule::Dynamic { grain, threads, work, in_order } => {
                let function = joined(if *in_order { "launch_ordered" } else { "launch_dynamic" }, work);
                self.shared(scope, &with_numbers(&function, threads.iter().copied()), extent, *grain, work)
            }
        };
        out.open(format!("const bool ok = hidp::{head}, [=](hidp::Worker &worker, int64_t begin, int64_t end) {{"));
        out.line(format!("{name}({});", passed.join(", ")));
        out.close("});");
        out.line(format!("if (!ok) {}", self.leave()));
        out.close("}");
    }

    fn shared(&self, scope: &Scope<'_>, function: &str, extent: &str, grain: u32, work: &Work) -> String {
        format!("{function}(host, {extent}, {}, {}", grain.max(1), expr(scope, self, &work.operations).text)
    }
}

/// The function that begins with one thread, for work that may turn out to be more than it seems.
fn joined(function: &str, work: &Work) -> String {
    format!("{function}{}", if work.is_guess() { "_joined" } else { "" })
}

/// A function with numbers as arguments of its template.
fn with_numbers(function: &str, numbers: impl Iterator<Item = u32>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    if numbers.is_empty() { function.to_owned() } else { format!("{function}<{}>", numbers.join(", ")) }
}
