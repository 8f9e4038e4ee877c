//! `widen`: variables of loops that stand in indices are `long`.
//!
//! An `int` of the program must wrap as an `int` does. If nothing wraps, C++ compilers do not know it: to them `x[j]` and `x[j-1]` are
//! unrelated, instead of adjacent.

use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{ConvertMode, Expr, ExprKind, Func, FuncId, Loop, Program, Stmt, StmtKind, VarId, VarKind};
use hidp_prove as prove;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::{Scalar, Ty};

use super::Pass;

/// The pass.
pub(super) const PASS: Pass =
    Pass { name: "widen", about: "does the arithmetic of indices in `long` where that gives the same", run };

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        let counters = counters(&program.funcs[id]);
        if counters.is_empty() {
            continue;
        }
        Through(&counters).visit_block(&mut program.funcs[id].body);
        prove::widen(program, id);
        let func = &mut program.funcs[id];
        let mut wide = Wide(&counters);
        wide.visit_block(&mut func.body);
        for (var, known) in func.vars.iter_mut() {
            known.shape.iter_mut().for_each(|extent| wide.visit_expr(extent));
            if counters.contains_key(&var) {
                known.ty = Ty::LONG;
            }
        }
    }
}

/// The narrow integers that a loop steps, that become `long`s somewhere, and that nothing but assignments changes, with their types.
fn counters(func: &Func) -> OrdMap<VarId, Scalar> {
    let mut uses = Uses::default();
    uses.visit_block(&func.body);
    let ty = |var: VarId| func.vars[var].ty.scalar().filter(|_| func.vars[var].kind == VarKind::Local);
    let narrow = |ty: &Scalar| ty.is_integer() && *ty != Scalar::I64 && ty.converts_to(Scalar::I64);
    let counters = uses.stepped.intersection(&uses.widened).filter(|var| !uses.other.contains(*var));
    counters.filter_map(|&var| Some((var, ty(var).filter(narrow)?))).collect()
}

#[derive(Default)]
struct Uses {
    stepped: OrdSet<VarId>,
    widened: OrdSet<VarId>,
    /// Changed other than by an assignment.
    other: OrdSet<VarId>,
}

impl Visitor for Uses {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Assign { value, .. } = &stmt.kind {
            self.visit_expr(value);
        } else {
            look::walk_stmt(self, stmt);
        }
    }
    fn visit_loop(&mut self, node: &Loop) {
        for stmt in &node.step.stmts {
            if let StmtKind::Assign { var, .. } = &stmt.kind {
                self.stepped.insert(*var);
            }
        }
        look::walk_loop(self, node);
    }
    fn visit_var(&mut self, var: &VarId, role: Role) {
        match role {
            Role::Declare | Role::Read => {}
            Role::Iterate | Role::Write | Role::Update | Role::Argument { .. } => {
                self.other.insert(*var);
            }
        }
    }
    fn visit_expr(&mut self, expr: &Expr) {
        if expr.ty == Ty::LONG
            && let ExprKind::Convert { operand, .. } = &expr.kind
        {
            visit::walk_expr_vars(operand, |var, _| {
                self.widened.insert(var);
            });
        }
        look::walk_expr(self, expr);
    }
}

fn cast(operand: Expr, ty: Ty) -> Expr {
    let span = operand.span;
    if ty == Ty::LONG && matches!(operand.kind, ExprKind::Const(_)) {
        return Expr { ty, ..operand };
    }
    Expr { kind: ExprKind::Convert { operand: Box::new(operand), mode: ConvertMode::Cast }, ty, span }
}

/// What a counter is given goes through `long`.
struct Through<'a>(&'a OrdMap<VarId, Scalar>);

impl Mutator for Through<'_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        if let StmtKind::Assign { var, value } = &mut stmt.kind
            && self.0.contains_key(var)
        {
            let ty = value.ty;
            *value = cast(cast(value.clone(), Ty::LONG), ty);
        }
        change::walk_stmt(self, stmt);
    }
}

/// Counters are `long`s.
struct Wide<'a>(&'a OrdMap<VarId, Scalar>);

impl Wide<'_> {
    fn counter(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Read(var) if self.0.contains_key(&var)) && expr.ty != Ty::LONG
    }
}

impl Mutator for Wide<'_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        change::walk_stmt(self, stmt);
        if let StmtKind::Assign { var, value } = &mut stmt.kind
            && self.0.contains_key(var)
            && let ExprKind::Convert { operand, .. } = &value.kind
        {
            *value = (**operand).clone();
        }
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        if self.counter(expr) {
            let ty = std::mem::replace(&mut expr.ty, Ty::LONG);
            *expr = cast(expr.clone(), ty);
            return;
        }
        if let ExprKind::Convert { operand, .. } = &expr.kind
            && expr.ty == Ty::LONG
            && self.counter(operand)
        {
            // Of a type that `long` holds, so it is as large as before.
            expr.kind = operand.kind.clone();
        } else if let ExprKind::Binary { op, left, right, .. } = &mut expr.kind
            && op.is_comparison()
            && (self.counter(left) || self.counter(right))
        {
            for side in [left, right] {
                **side = cast((**side).clone(), Ty::LONG);
                self.visit_expr(side);
            }
        } else {
            change::walk_expr(self, expr);
        }
    }
}
