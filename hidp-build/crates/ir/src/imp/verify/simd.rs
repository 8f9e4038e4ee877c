//! What loops in vector lanes hold.

use hidp_syntax::ordered::OrdSet;

use super::{Checker, holds};
use crate::imp::visit::{each_expr, each_stmt, each_subexpr, introduced};
use crate::imp::{Expr, ExprKind, Loop, Stmt, VarId, VarKind};
use crate::par::FoldFn;

impl Checker<'_> {
    /// The loop as a whole: reductions, and nothing else that one iteration leaves for another.
    pub(super) fn simd(&mut self, node: &Loop, reductions: &[(VarId, FoldFn)]) {
        for (var, op) in reductions {
            self.use_var(*var);
            let is_scalar = matches!(self.kind(*var), VarKind::Value(ty) if ty.scalar().is_some());
            self.require(
                is_scalar && !matches!(op, FoldFn::Fn(_)),
                "a reduction folds a scalar by a built-in operator",
            );
        }
        let mut local = OrdSet::new();
        each_stmt(&node.body, &mut |stmt| local.extend(introduced(stmt)));
        let reduced: OrdSet<VarId> = reductions.iter().map(|(var, _)| *var).collect();
        let carried = holds(&node.body, |stmt| match stmt {
            Stmt::Set { var, .. } => !local.contains(var) && !reduced.contains(var),
            _ => false,
        });
        self.require(!carried, "a value that outlives a simd iteration is one of the reductions");
        let lost = holds(&node.body, |stmt| match stmt {
            Stmt::Set { var, value, .. } => reduced.contains(var) && !mentions(value, *var),
            _ => false,
        });
        self.require(!lost, "a reduction is set to itself `op` something");
        let mut relaxed = false;
        each_expr(&node.body, &mut |expr| relaxed |= matches!(&expr.kind, ExprKind::Load(element) if element.relaxed));
        self.require(!relaxed, "simd loops hold no relaxed accesses");
    }

    /// One statement of it.
    pub(super) fn in_simd(&mut self, stmt: &Stmt) {
        let fits = match stmt {
            Stmt::At(_) | Stmt::Let { .. } | Stmt::Set { .. } | Stmt::If { .. } | Stmt::Loop(_) => true,
            Stmt::Store { target, .. } => !target.relaxed,
            // Those of loops inside: whether there is one is tested for them.
            Stmt::Break | Stmt::Continue => true,
            Stmt::Atomic { .. }
            | Stmt::Forever { .. }
            | Stmt::Scope { .. }
            | Stmt::Leave(_)
            | Stmt::Fault { .. }
            | Stmt::CheckTrap
            | Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Scratch { .. }
            | Stmt::Part { .. }
            | Stmt::Either { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Swap(..)
            | Stmt::Run { .. }
            | Stmt::Launch { .. }
            | Stmt::LaunchGrid { .. }
            | Stmt::Single { .. }
            | Stmt::Sync(_)
            | Stmt::Lanes { .. }
            | Stmt::Shuffle(_)
            | Stmt::Move { .. }
            | Stmt::StreamOut { .. }
            | Stmt::Prim(_)
            | Stmt::Group(_)
            | Stmt::InTurn(_)
            | Stmt::Wide(_) => false,
        };
        self.require(fits, "simd loops hold only values, plain stores, branches and counted loops");
    }
}

fn mentions(value: &Expr, var: VarId) -> bool {
    let mut found = false;
    each_subexpr(value, &mut |sub| found |= sub.kind == ExprKind::Var(var));
    found
}
