//! What makes a wrapper `unsafe`.

use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{Expr, ExprKind, FoldFn, FoldOp, FuncId, PrimCall, Program, ScalarFnId, Stmt, StmtKind};
use hidp_syntax::ordered::OrdSet;

/// What the caller of an entry must answer for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Danger {
    /// Functions under `unchecked` that it runs.
    pub(super) unchecked: OrdSet<String>,
    /// Native functions that it calls.
    pub(super) natives: OrdSet<String>,
}

impl Danger {
    /// What `func`, its other forms and all that they call do.
    pub(super) fn of(program: &Program, func: FuncId) -> Self {
        let mut walk = Walk { program, danger: Danger::default(), funcs: OrdSet::new(), scalars: OrdSet::new() };
        walk.func(func);
        program.alternatives_of(func).for_each(|other| walk.func(other.func));
        walk.danger
    }
    pub(super) fn is_none(&self) -> bool {
        self.unchecked.is_empty() && self.natives.is_empty()
    }
}

struct Walk<'a> {
    program: &'a Program,
    danger: Danger,
    funcs: OrdSet<FuncId>,
    scalars: OrdSet<ScalarFnId>,
}

impl Walk<'_> {
    fn func(&mut self, id: FuncId) {
        if self.funcs.insert(id) {
            let func = &self.program.funcs[id];
            if func.unchecked {
                self.danger.unchecked.insert(func.name.clone());
            }
            for (_, var) in func.vars.iter() {
                var.shape.iter().for_each(|extent| self.visit_expr(extent));
            }
            self.visit_block(&func.body);
        }
    }
    fn scalar(&mut self, id: ScalarFnId) {
        if self.scalars.insert(id) {
            let function = &self.program.scalar_fns[id];
            match &function.body {
                Some(body) => self.visit_block(body),
                None => {
                    self.danger.natives.insert(function.name.clone());
                }
            }
        }
    }
}

impl Visitor for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            self.func(*callee);
        }
        look::walk_stmt(self, stmt);
    }
    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(callee, _) = &expr.kind {
            self.scalar(*callee);
        }
        look::walk_expr(self, expr);
    }
    fn visit_fold_op(&mut self, op: &FoldOp) {
        if let FoldFn::Fn(function) = op.func {
            self.scalar(function);
        }
        look::walk_fold_op(self, op);
    }
    fn visit_prim(&mut self, call: &PrimCall) {
        if let Some(predicate) = call.predicate {
            self.scalar(predicate);
        }
        look::walk_prim(self, call);
    }
}
