//! Iterations in a kernel of their own, which other kernels run: those that groups of lanes leave because a limit is exceeded, a check fails or a
//! branch is not theirs, and all of the same nest in order. So compilers see them once.

use std::mem;

use super::map::turns;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Expr, ExprKind, Stmt, VarId, VarKind};
use hidp_ir::par::Map;
use hidp_plan::{self as plan, Strategy};

impl Lowerer<'_> {
    /// Whether lanes would run iterations of a map in order at times.
    pub(super) fn runs_apart(&self, map: &Map) -> bool {
        plan::wide::runs_apart(self.program, self.func, map, self.model)
    }

    /// Runs positions `[low, high)` of a map's only range in a kernel of their own. Whether that is so: else they need what this kernel alone has.
    /// Where whole iterations are in lanes, maps inside have lanes of their own here; other plans have lines for them, the same ones by default.
    pub(super) fn run_apart(&mut self, map: &Map, range: &Range, [low, high]: [Expr; 2]) -> bool {
        let is_alone = map.iters.len() == 1 && map.folds.is_empty() && self.logs.is_empty() && self.copies.is_empty();
        let Some(outer) = self.outside(range).filter(|_| is_alone && self.host.is_some()) else { return false };
        let Some(host) = self.host.take() else { return false };
        let own = mem::replace(&mut self.body, host);
        let known = self.known_ranges.clone();
        let (kernel, args) = self.kernel("map", own.span.unwrap_or(map.iters[0].span), |this, begin, end| {
            let ranges = this.import_ranges(&[outer]);
            let inside =
                if this.mapping.strategy == Strategy::Wide { super::wide::last_inside(map) } else { Vec::new() };
            this.with_lanes(&inside, |this| {
                this.range_loop(&ranges[0], begin, end, turns(map), &mut |this| this.iteration(map, &[]));
            });
        });
        self.known_ranges = known;
        self.host = Some(mem::replace(&mut self.body, own));
        let written = self.kernels[kernel].function.params.iter().map(|param| {
            matches!(self.kernels[kernel].function.vars[*param].kind, VarKind::Buffer { writable: true, .. })
        });
        let written: Vec<bool> = written.collect();
        let args: Vec<Expr> = args.iter().map(|arg| self.import(arg)).collect();
        for (arg, _) in args.iter().zip(written).filter(|(_, written)| *written) {
            if let ExprKind::Var(var) = arg.kind {
                self.body.mark_written(var);
            }
        }
        self.body.push(Stmt::Run { kernel, args, begin: low, end: high });
        self.body.push(Stmt::CheckTrap);
        true
    }

    /// A range of this kernel as the host function has it.
    fn outside(&self, range: &Range) -> Option<Range> {
        let of_host = |inner: &Expr| match inner.kind {
            ExprKind::Var(var) => {
                let (outer, _) = self.body.captures.iter().find(|(_, own): &&(VarId, VarId)| *own == var)?;
                Some(make::var(*outer, inner.ty))
            }
            ExprKind::Int(_) => Some(inner.clone()),
            _ => None,
        };
        let Range { var, lo, step, count } = range;
        Some(Range { var: *var, lo: of_host(lo)?, step: of_host(step)?, count: of_host(count)? })
    }
}
