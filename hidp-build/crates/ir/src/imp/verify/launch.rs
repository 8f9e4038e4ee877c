//! Launches and primitives: arguments against parameters.

use super::{Checker, is_long};
use crate::imp::visit::schedule_work;
use crate::imp::{Expr, ExprKind, Kernel, KernelId, Prim, PrimArg, Schedule, Stmt, TemplateArg, VarKind, can_trap};
use crate::par::{FoldFn, ScalarFnId};
use hidp_syntax::index::Id;
use hidp_syntax::ty::Ty;

impl Checker<'_> {
    pub(super) fn launch(&mut self, kernel: KernelId, args: &[Expr], extent: &Expr, schedule: &Schedule) {
        self.require(self.is_host() && !self.on_device(), "`launch` stands in host functions of CPU units only");
        self.typed(extent, Ty::LONG);
        if let Some(work) = schedule_work(schedule) {
            self.typed(&work.operations, Ty::LONG);
        }
        let least = match schedule {
            Schedule::Serial => 1,
            Schedule::Static { grain, least, .. } => *grain.min(least),
            Schedule::Dynamic { grain, .. } => *grain,
        };
        self.require(least > 0, "a part has at least one iteration");
        let unit = self.unit;
        let Some(kernel) = unit.kernels.get(kernel) else { return self.fail("a kernel is one of the version") };
        self.arguments(args, kernel, 2);
    }

    pub(super) fn run(&mut self, kernel: KernelId, args: &[Expr], bounds: [&Expr; 2]) {
        self.require(!self.is_host() && !self.on_device(), "`run` stands in kernels of CPU units only");
        bounds.into_iter().for_each(|bound| self.typed(bound, Ty::LONG));
        self.require(self.kernel.is_some_and(|own| kernel < own), "a kernel runs those before it only");
        let unit = self.unit;
        let Some(kernel) = unit.kernels.get(kernel) else { return self.fail("a kernel is one of the version") };
        self.arguments(args, kernel, 2);
    }

    pub(super) fn launch_grid(&mut self, kernel: KernelId, args: &[Expr], extents: &[Expr], most: Option<&Expr>) {
        self.require(self.is_host() && self.on_device(), "`launch grid` stands in host functions of device units only");
        self.require((1..=3).contains(&extents.len()), "a grid has one to three dimensions");
        extents.iter().chain(most).for_each(|extent| self.typed(extent, Ty::LONG));
        let unit = self.unit;
        let Some(kernel) = unit.kernels.get(kernel) else { return self.fail("a kernel is one of the version") };
        let bounded = most.is_some() && kernel.grid.is_some_and(|grid| grid.items > 1);
        self.require(!bounded, "threads of a launch with a limit take one item at a time");
        self.arguments(args, kernel, extents.len());
    }

    /// Arguments against all parameters but the last ones, which are `long` positions.
    fn arguments(&mut self, args: &[Expr], kernel: &Kernel, positions: usize) {
        let params = &kernel.function.params;
        if args.len() + positions != params.len() {
            return self.fail("a launch has an argument for each parameter but the positions");
        }
        let are_long = params[args.len()..].iter().all(|param| is_long(&kernel.function, *param));
        self.require(are_long, "the last parameters of a kernel are `long` positions");
        for (arg, param) in args.iter().zip(params) {
            match kernel.function.vars.get(*param).map(|var| var.kind) {
                Some(VarKind::Value(ty)) => self.typed(arg, ty),
                Some(VarKind::Buffer { elem, writable }) => self.buffer_arg(arg, elem, writable),
                Some(
                    VarKind::HostCell { .. }
                    | VarKind::Tile { .. }
                    | VarKind::Shared { .. }
                    | VarKind::Registers { .. }
                    | VarKind::Divisor(_)
                    | VarKind::Wide { .. }
                    | VarKind::WideTile { .. },
                )
                | None => self.fail("a kernel takes values and buffers"),
            }
        }
        self.distinct_buffers(args, kernel);
    }

    fn buffer_arg(&mut self, arg: &Expr, elem: Ty, writable: bool) {
        let ExprKind::Var(var) = arg.kind else { return self.fail("a buffer parameter gets a buffer") };
        self.use_var(var);
        let fits = match self.kind(var) {
            VarKind::Buffer { elem: of, writable: may } => of == elem && (may || !writable),
            VarKind::Value(_)
            | VarKind::HostCell { .. }
            | VarKind::Tile { .. }
            | VarKind::Shared { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { .. } => false,
        };
        self.require(fits, "a buffer parameter gets a buffer of its element type, writable if it is");
    }

    /// Parameters are `__restrict`: what one writes no other reaches.
    fn distinct_buffers(&mut self, args: &[Expr], kernel: &Kernel) {
        let is_written = |position: usize| {
            let param = kernel.function.params[position];
            matches!(kernel.function.vars.get(param).map(|v| v.kind), Some(VarKind::Buffer { writable: true, .. }))
        };
        let is_buffer = |arg: &Expr| match arg.kind {
            ExprKind::Var(var) => matches!(self.kind(var), VarKind::Buffer { .. }),
            _ => false,
        };
        let clash = args.iter().enumerate().any(|(at, arg)| {
            is_written(at) && args.iter().enumerate().any(|(other, same)| other != at && same == arg && is_buffer(arg))
        });
        self.require(!clash, "a buffer that a kernel writes is passed once");
    }

    pub(super) fn prim(&mut self, prim: &Prim) {
        for arg in &prim.args {
            match arg {
                PrimArg::Value(value) => self.expr(value),
                PrimArg::Address { base, offset } => {
                    self.use_var(*base);
                    self.typed(offset, Ty::LONG);
                    let has_address = matches!(
                        self.kind(*base),
                        VarKind::Buffer { .. } | VarKind::Tile { .. } | VarKind::Shared { declared: true, .. }
                    );
                    self.require(
                        has_address,
                        "an address is one of a buffer, a tile, or a shared array of the program",
                    );
                }
                PrimArg::Out(var) => {
                    self.use_var(*var);
                    let is_value = matches!(self.kind(*var), VarKind::Value(_)) && !self.read_only.contains(var);
                    self.require(is_value, "a primitive's result is a value that may be set");
                }
            }
        }
        for function in functions(prim) {
            self.sites_of_function(function);
        }
        let known = prim.sites.iter().all(|site| site.index() < self.entry.sites.len());
        self.require(known, "a site is one of the entry");
    }

    /// Whether a primitive gets a function that can raise.
    pub(super) fn passes_raising_function(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Prim(prim) => functions(prim).into_iter().any(|function| can_trap(self.program, function)),
            _ => false,
        }
    }
}

fn functions(prim: &Prim) -> Vec<ScalarFnId> {
    let function = |arg: &TemplateArg| match arg {
        TemplateArg::Fn(function) | TemplateArg::Op(FoldFn::Fn(function), _) => Some(*function),
        TemplateArg::Op(..) | TemplateArg::Ty(_) | TemplateArg::Group(_) => None,
    };
    prim.template.iter().filter_map(function).collect()
}
