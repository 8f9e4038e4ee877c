//! Statements of lanes: declarations, assignments, stores, updates.

use super::super::Lowerer;
use super::control::Jump;
use hidp_ir::imp::{Expr, Stmt, VarId, Wide, WideElement, WideKind, WideStmt};
use hidp_ir::par::{self, FoldOp, Place, StmtKind};
use hidp_plan::wide::live::{Jumps, Live};
use hidp_syntax::ty::Scalar;

impl Lowerer<'_> {
    pub(super) fn wide_stmt(&mut self, stmt: &par::Stmt, after: &Live, jumps: &Jumps) {
        let around = self.body.here.replace(stmt.span);
        match &stmt.kind {
            StmtKind::Declare { var, zero } if self.is_varying(*var) => self.wide_declare(*var, *zero),
            StmtKind::Assign { var, value } if self.is_varying(*var) && value.ty.scalar().is_none() => {
                self.wide_assign_struct(*var, &[], value);
            }
            StmtKind::AssignField { var, path, value } if self.is_varying(*var) => {
                self.wide_assign_struct(*var, path, value);
            }
            StmtKind::Assign { var, value } if self.is_varying(*var) => {
                let lanes = self.wide(value);
                self.wide_assign(*var, lanes);
                self.count_on(*var, value);
            }
            StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::AssignField { .. } => self.stmt(stmt),
            StmtKind::Store { place, value } => self.wide_store(stmt, place, value),
            StmtKind::Atomic { place, op, value } => self.wide_update(stmt, place, op, value),
            StmtKind::If { cond, then, otherwise } => self.wide_if(cond, (then, otherwise), after, jumps),
            StmtKind::Loop(node) => self.wide_sequential(node, after, jumps),
            StmtKind::Break => self.wide_jump(Jump::Break),
            StmtKind::Continue => self.wide_jump(Jump::Continue),
            StmtKind::Leave => self.wide_jump(Jump::Leave),
            StmtKind::Scope(body) => self.wide_scope(body, after, jumps),
            StmtKind::Map(map) => self.wide_map(map, after),
            StmtKind::Require { cond, fault, .. } => {
                if self.varies(cond) {
                    let cond = self.wide(cond);
                    self.wide_require(cond);
                } else {
                    let cond = self.expr(cond);
                    self.require(cond, *fault, stmt.span, Vec::new());
                }
            }
            StmtKind::Prim(call) => self.wide_prim(stmt, call),
            StmtKind::Return(_) | StmtKind::Swap(..) | StmtKind::Call { .. } => {
                self.defect("iterations in lanes are plain computations on numbers")
            }
        }
        self.body.here = around;
    }

    fn wide_declare(&mut self, var: par::VarId, zero: bool) {
        let declared = &self.func.vars[var];
        if declared.is_array() {
            return self.wide_array(var, zero);
        }
        if declared.ty.scalar().is_none() {
            return self.wide_declare_struct(var);
        }
        let none = self.splat(self.zero_value(declared.ty));
        let slot = self.wide_slot(&declared.name, none);
        if let Some(wide) = &mut self.wide {
            wide.vars.insert(var, slot);
        }
    }

    /// What a variable is in lanes.
    pub(super) fn wide_binding(&mut self, var: par::VarId) -> Option<VarId> {
        let found = self.wide.as_ref().and_then(|wide| wide.vars.get(&var)).copied();
        if found.is_none() {
            self.defect(format!("`{}` is something in each lane", self.func.vars[var].name));
        }
        found
    }

    pub(super) fn wide_assign(&mut self, var: par::VarId, value: Wide) {
        let Some(slot) = self.wide_binding(var) else { return };
        let lanes = self.set_lanes(self.is_joined(var));
        self.wide_set(slot, value, lanes);
    }

    fn wide_store(&mut self, stmt: &par::Stmt, place: &Place, value: &par::Expr) {
        let own = self.func.vars[place.array].is_array() && self.is_of_iteration(place.array);
        if own && !self.is_varying(place.array) {
            return self.stmt(stmt);
        }
        if value.ty.scalar().is_none() {
            return self.wide_store_struct(place, value);
        }
        let value = self.wide(value);
        let Some(target) = self.wide_place(place, true) else { return };
        self.body.mark_written(target.base);
        self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
    }

    /// An update, of elements from outside by one lane after the other.
    fn wide_update(&mut self, stmt: &par::Stmt, place: &Place, op: &FoldOp, value: &par::Expr) {
        let own = self.is_of_iteration(place.array);
        if own && !self.is_varying(place.array) {
            return self.stmt(stmt);
        }
        let value = self.wide(value);
        let Some(target) = self.wide_place(place, true) else { return };
        if !own {
            self.body.mark_written(target.base);
            let relaxed = !self.updates_alone(target.base);
            let target = WideElement { relaxed, ..target };
            return self.body.push(Stmt::Wide(WideStmt::Update { target, op: op.func, value }));
        }
        let target = self.fixed_element(target);
        let before = self.wide_of(WideKind::Load(target.clone()), value.ty);
        let Some(value) = self.wide_folded(op.func, before, value) else { return };
        self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
    }

    /// Whether a variable is declared by iterations.
    pub(super) fn is_of_iteration(&self, var: par::VarId) -> bool {
        self.enclosing.iter().any(|frame| frame.declares.contains(&var))
    }

    /// Zero in all lanes, or what stands for a value of another type.
    pub(super) fn wide_int(&self, value: i128, ty: Scalar) -> Wide {
        self.splat(Expr { kind: hidp_ir::imp::ExprKind::Int(value), ty: ty.into() })
    }
}
