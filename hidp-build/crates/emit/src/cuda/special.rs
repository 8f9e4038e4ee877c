//! What CUDA prints its own way: memory and launches.

use crate::c_like::expr::expr;
use crate::c_like::group::{level, raises};
use crate::c_like::memory::Memory;
use crate::c_like::prim::{is_simple, launch_argument};
use crate::c_like::text::Text;
use crate::c_like::{Dialect, Scope, name};
use hidp_ir::imp::{BlockCopy, Expr, Grid, Kernel, KernelId, Level, Size, Stmt, Sum, Unit, VarId, VarKind};
use hidp_ir::par::FoldFn;
use hidp_syntax::index::Id;
use hidp_syntax::ty::Ty;

/// Device units.
pub(super) enum Cuda<'a> {
    /// In a kernel, there is a `worker`.
    Kernel {
        /// Who takes an item.
        grid: Grid,
        /// Arrays of which blocks have copies.
        copies: &'a [BlockCopy],
    },
    /// In a host function, there is a `host`.
    Host {
        /// The version, whose kernels it launches.
        unit: &'a Unit,
    },
}

impl Dialect for Cuda<'_> {
    fn frame(&self) -> &'static str {
        match self {
            Cuda::Kernel { .. } => "worker",
            Cuda::Host { .. } => "host",
        }
    }
    fn called_from(&self, number: &str) -> String {
        format!("hidp::here({}{number})", self.frame())
    }
    fn trap(&self) -> &'static str {
        match self {
            Cuda::Kernel { .. } => "worker.trap",
            Cuda::Host { .. } => "host.trap",
        }
    }
    fn leave(&self) -> &'static str {
        match self {
            Cuda::Kernel { .. } => "return;",
            Cuda::Host { .. } => "return host.finish();",
        }
    }
    fn worker_index(&self) -> &'static str {
        match self.group() {
            None | Some(Level::Kernel | Level::Block) => "hidp::group_number<hidp::Block>(worker)",
            Some(Level::Warp) => "hidp::group_number<hidp::Warp>(worker)",
            Some(Level::Subwarp) => "hidp::group_number<hidp::Subwarp>(worker)",
            Some(Level::Subwarp2) => "hidp::group_number<hidp::Subwarp2>(worker)",
            Some(Level::Thread) => "hidp::group_number<hidp::Thread>(worker)",
        }
    }
    /// Of the CPU; a device unit asks for groups.
    fn worker_count(&self) -> &'static str {
        "host.groups<hidp::Block, 32>()"
    }
    fn group_count(&self, grid: Grid) -> String {
        format!("host.groups<{}, {}>()", level(grid.level), grid.block)
    }
    fn memory(&self, kind: VarKind) -> Memory {
        match (self, kind) {
            (_, VarKind::Shared { .. }) | (Cuda::Kernel { .. }, VarKind::Buffer { .. }) => Memory::Place,
            (Cuda::Host { .. }, VarKind::Buffer { .. }) => Memory::Remote,
            (_, VarKind::Value(_) | VarKind::HostCell { .. } | VarKind::Tile { .. } | VarKind::Registers { .. }) => {
                Memory::Plain
            }
            // Of processors; a device unit has none.
            (_, VarKind::Divisor(_) | VarKind::Wide { .. } | VarKind::WideTile { .. }) => Memory::Plain,
        }
    }
    fn buffer(&self, scope: &Scope<'_>, elem: Ty, writable: bool) -> String {
        let constant = if writable { "" } else { "const " };
        format!("hidp::Any<{constant}{}> ", name::ty(scope.program, elem))
    }
    fn has_copy(&self, base: VarId) -> bool {
        match self {
            Cuda::Kernel { copies, .. } => copies.iter().any(|copy| copy.all == base),
            Cuda::Host { .. } => false,
        }
    }
    fn group(&self) -> Option<Level> {
        match self {
            Cuda::Kernel { grid, .. } => Some(grid.level),
            Cuda::Host { .. } => None,
        }
    }
    /// Of the CPU; a device unit holds no such loop.
    fn simd_pragma(&self, _: &Scope<'_>, _: &[(VarId, FoldFn)]) -> String {
        "#pragma unroll 1".to_owned()
    }
    fn unroll(&self, factor: u32) -> String {
        format!("HIDP_UNROLL_BY({factor})")
    }
    fn special(&self, scope: &Scope<'_>, stmt: &Stmt, leave: &str, out: &mut Text) {
        let text = |node: &Expr| expr(scope, self, node).text;
        match stmt {
            Stmt::Alloc { var, count, zero, site } => {
                let VarKind::Buffer { elem, writable } = scope.var(*var).kind else { return };
                let fixed = if scope.usage.is_changed(*var) { "" } else { "const " };
                let attribute = if scope.usage.is_read(*var) { "" } else { "[[maybe_unused]] " };
                let head = format!("{attribute}{fixed}{}{}", self.buffer(scope, elem, writable), scope.name(*var));
                let elem = name::ty(scope.program, elem);
                out.line(format!("{head} = host.alloc<{elem}>({}, {zero}, {});", text(count), site.index()));
                out.line(format!("if (HIDP_UNLIKELY(host.failed())) {leave}"));
            }
            Stmt::Free(var) => out.line(format!("host.free({});", scope.name(*var))),
            Stmt::Swap(a, b) => out.line(format!("hidp::swap_buffers({}, {});", scope.name(*a), scope.name(*b))),
            Stmt::LaunchGrid { kernel, args, extents, most } => {
                self.launch(scope, *kernel, args, extents, most.as_ref(), leave, out);
            }
            // Of the CPU; a device unit holds none.
            Stmt::Scratch { .. }
            | Stmt::Part { .. }
            | Stmt::Either { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Run { .. }
            | Stmt::Launch { .. }
            | Stmt::StreamOut { .. }
            | Stmt::Group(_)
            | Stmt::InTurn(_)
            | Stmt::Wide(_) => {}
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
            | Stmt::Single { .. }
            | Stmt::Sync(_)
            | Stmt::Lanes { .. }
            | Stmt::Shuffle(_)
            | Stmt::Move { .. }
            | Stmt::CheckTrap
            | Stmt::Prim(_) => {}
        }
    }
}

impl Cuda<'_> {
    /// Whether blocks have copies of anything in a launch, where they may.
    fn with_copies(&self, scope: &Scope<'_>, kernel: &Kernel, args: &[Expr]) -> Option<String> {
        let count = |copy: &BlockCopy| {
            let position = kernel.function.params.iter().position(|param| *param == copy.count);
            position.and_then(|position| args.get(position)).map(|arg| expr(scope, self, arg).operand() + " > 0")
        };
        let counts: Vec<String> = kernel.copies.iter().filter_map(count).collect();
        (!counts.is_empty()).then(|| counts.join(" || "))
    }

    #[allow(clippy::too_many_arguments)]
    fn launch(
        &self,
        scope: &Scope<'_>,
        id: KernelId,
        args: &[Expr],
        extents: &[Expr],
        most: Option<&Expr>,
        leave: &str,
        out: &mut Text,
    ) {
        let Cuda::Host { unit } = self else { return };
        let Some(kernel) = unit.kernels.get(id) else { return };
        let Some(grid) = kernel.grid else { return };
        let text = |node: &Expr| expr(scope, self, node).text;
        let mut over = format!("hidp::over({})", extents.iter().map(text).collect::<Vec<_>>().join(", "));
        if let Some(most) = most {
            over.push_str(&format!(".most({})", text(most)));
        }
        if let Some(has_copies) = self.with_copies(scope, kernel, args) {
            over.push_str(&format!(".with_copies({has_copies})"));
        }
        if raises(scope.program, &kernel.function.body) {
            over.push_str(".can_fault()");
        }
        let hoists = !args.iter().all(is_simple);
        if hoists {
            out.open("{");
        }
        let args = args.iter().enumerate().map(|(at, arg)| launch_argument(scope, self, at, arg, out));
        let args: Vec<String> = args.collect();
        let fits = kernel.narrow.as_ref().map(|narrow| {
            let extents: Vec<String> = extents.iter().map(text).collect();
            fits(&narrow.most, &args, &extents)
        });
        let items = if grid.items == 1 { String::new() } else { format!(", {}", grid.items) };
        let (own, level) = (name::kernel(unit, id), level(grid.level));
        let (either, kernels) = match fits {
            Some(_) => ("_either", format!("{}_items, {own}_items", name::narrow_kernel(unit, id))),
            None => ("", format!("{own}_items")),
        };
        let launch = if grid.joined {
            format!("joining{}.launch{either}<{kernels}, {}, {level}{items}>", grid.block, id.index())
        } else {
            format!("hidp::launch{either}<{kernels}, {level}, {}{items}>", grid.block)
        };
        let args: Vec<String> = fits.into_iter().chain([self.called_from(""), over]).chain(args).collect();
        out.line(format!("if (!{launch}({})) {leave}", args.join(", ")));
        if hoists {
            out.close("}");
        }
    }
}

/// Whether `int`s hold what a kernel computes, given what its parameters get and what it is launched over.
fn fits(most: &Sum, args: &[String], extents: &[String]) -> String {
    let size = |size: &Size| match size {
        Size::Param(at) => format!("hidp::size({})", args[*at]),
        Size::Extent(at) => format!("hidp::size({})", extents[*at]),
    };
    let term = |(sizes, factor): (&[Size], f64)| {
        let factor = (factor != 1.0 || sizes.is_empty()).then(|| format!("{factor:?}"));
        factor.into_iter().chain(sizes.iter().map(size)).collect::<Vec<_>>().join(" * ")
    };
    format!("hidp::fits({})", most.terms().map(term).collect::<Vec<_>>().join(" + "))
}
