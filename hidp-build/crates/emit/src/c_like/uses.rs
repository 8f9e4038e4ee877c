//! Uses of a function or an entry: which names must be declared, and how.

use hidp_ir::imp::visit::{accessed, each_expr, each_stmt, overwritten};
use hidp_ir::imp::{
    Entry, Expr, ExprKind, Function, LoopKind, Prim, Stmt, TemplateArg, Unit, UnitTarget, VarId, VarKind, WideKind,
    WideStmt, each_wide, wides_of,
};
use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{self, BinOp, FoldFn, Program, ScalarFnId};
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{StructId, Ty};

/// How one function uses its variables.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    read: Vec<bool>,
    changed: Vec<bool>,
    left: OrdSet<u32>,
}

impl Usage {
    /// Looks at a whole function.
    pub fn of(function: &Function) -> Usage {
        let count = function.vars.len();
        let mut usage = Usage { read: vec![false; count], changed: vec![false; count], left: OrdSet::new() };
        each_stmt(&function.body, &mut |stmt| usage.stmt(stmt));
        each_expr(&function.body, &mut |expr| usage.expr(expr));
        usage
    }
    fn stmt(&mut self, stmt: &Stmt) {
        overwritten(stmt).into_iter().for_each(|var| self.changed[var.index()] = true);
        accessed(stmt).into_iter().for_each(|var| self.read[var.index()] = true);
        if let Stmt::Loop(node) = stmt {
            self.read[node.var.index()] = true;
            if let LoopKind::Simd { reductions } = &node.kind {
                reductions.iter().for_each(|(var, _)| self.read[var.index()] = true);
            }
        }
        if let Stmt::Leave(Some(label)) = stmt {
            self.left.insert(*label);
        }
    }
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Var(var) | ExprKind::IsAligned(var, _) | ExprKind::Any(var) => self.read[var.index()] = true,
            ExprKind::Least { of, mask } => [of, mask].into_iter().for_each(|var| self.read[var.index()] = true),
            ExprKind::Load(element) => self.read[element.base.index()] = true,
            _ => {}
        }
    }
    /// Whether its value is used.
    pub fn is_read(&self, var: VarId) -> bool {
        self.read[var.index()]
    }
    /// Whether it changes after it was introduced.
    pub fn is_changed(&self, var: VarId) -> bool {
        self.changed[var.index()]
    }
    /// Whether a statement leaves the scope of this label.
    pub fn is_left(&self, label: u32) -> bool {
        self.left.contains(&label)
    }
}

/// What an entry needs from outside its functions.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Struct types, with those of their fields.
    pub structs: OrdSet<StructId>,
    /// Scalar functions, with those that they call.
    pub functions: OrdSet<ScalarFnId>,
    /// Scalar functions that are passed to primitives.
    pub functors: OrdSet<ScalarFnId>,
    /// Headers of primitives.
    pub headers: OrdSet<String>,
}

impl Needs {
    /// Looks at all versions of an entry for one target.
    pub fn of(program: &Program, entry: &Entry, target: UnitTarget) -> Needs {
        let mut collector = Collector { program, needs: Needs::default() };
        entry.units_for(target).for_each(|unit| collector.unit(unit));
        collector.needs
    }
    /// Whether anything of it is in native headers.
    pub fn natives(&self, program: &Program) -> bool {
        self.functions.iter().any(|id| program.scalar_fns[*id].body.is_none())
            || self.structs.iter().any(|id| program.structs[*id].native)
    }
}

struct Collector<'a> {
    program: &'a Program,
    needs: Needs,
}

impl Collector<'_> {
    fn unit(&mut self, unit: &Unit) {
        self.function(&unit.host);
        unit.kernels.iter().for_each(|(_, kernel)| self.function(&kernel.function));
    }
    fn function(&mut self, function: &Function) {
        for (_, var) in function.vars.iter() {
            match var.kind {
                VarKind::Value(ty)
                | VarKind::Buffer { elem: ty, .. }
                | VarKind::HostCell { elem: ty, .. }
                | VarKind::Tile { elem: ty, .. }
                | VarKind::Shared { elem: ty, .. }
                | VarKind::Registers { elem: ty, .. } => self.ty(ty),
                VarKind::Divisor(_) => {
                    self.needs.headers.insert("divisors.hpp".to_owned());
                }
                VarKind::Wide { .. } | VarKind::WideTile { .. } => {}
            }
        }
        each_expr(&function.body, &mut |expr| {
            self.ty(expr.ty);
            if let ExprKind::Call(callee, _) = expr.kind {
                self.scalar_fn(callee);
            }
            if let ExprKind::Least { .. } = expr.kind {
                self.needs.headers.insert("lane_sums.hpp".to_owned());
            }
        });
        each_stmt(&function.body, &mut |stmt| match stmt {
            Stmt::Prim(prim) => self.prim(prim),
            Stmt::Group(_) => {
                self.needs.headers.insert("lanes.hpp".to_owned());
            }
            Stmt::Wide(stmt) => self.wide(stmt),
            Stmt::Loop(node) => self.loop_of(&node.kind),
            _ => {}
        });
    }
    fn loop_of(&mut self, kind: &LoopKind) {
        match kind {
            LoopKind::Across => {
                self.needs.headers.insert("across.hpp".to_owned());
            }
            LoopKind::Pack => {
                self.needs.headers.insert("lane_rows.hpp".to_owned());
            }
            // Lanes combine what they folded by functions of the run time, as primitives do.
            LoopKind::Spread { reductions, .. } => {
                for reduction in reductions {
                    if let FoldFn::Fn(function) = reduction.op {
                        self.scalar_fn(function);
                        self.needs.functors.insert(function);
                    }
                }
            }
            LoopKind::Seq | LoopKind::Unroll(_) | LoopKind::Simd { .. } => {}
        }
    }
    fn wide(&mut self, stmt: &WideStmt) {
        let mut own_way = match stmt {
            WideStmt::Store { target, .. } => target.has_own_way(),
            WideStmt::Update { .. } => true,
            WideStmt::AddUp { .. } => {
                self.needs.headers.insert("lane_sums.hpp".to_owned());
                false
            }
            WideStmt::Let { .. } | WideStmt::Here(_) | WideStmt::Anew(_) | WideStmt::Set { .. } => false,
        };
        let mut quotients = false;
        for value in wides_of(stmt) {
            each_wide(value, &mut |wide| match &wide.kind {
                WideKind::Call(call) => self.scalar_fn(call.function),
                WideKind::Load(element) => own_way |= element.has_own_way(),
                WideKind::Binary(op, ..) => quotients |= matches!(op, BinOp::Div | BinOp::Rem),
                WideKind::Splat(_)
                | WideKind::Iota(_)
                | WideKind::Var(_)
                | WideKind::Unary(..)
                | WideKind::MulAdd(..)
                | WideKind::Select(..)
                | WideKind::Cast(_)
                | WideKind::Math(..) => {}
            });
        }
        if own_way {
            self.needs.headers.insert("lane_accesses.hpp".to_owned());
        }
        if quotients {
            self.needs.headers.insert("lane_quotients.hpp".to_owned());
        }
    }
    fn prim(&mut self, prim: &Prim) {
        self.needs.headers.insert(prim.header.clone());
        for argument in &prim.template {
            match argument {
                TemplateArg::Ty(ty) => self.ty(*ty),
                TemplateArg::Fn(function) | TemplateArg::Op(FoldFn::Fn(function), _) => {
                    self.scalar_fn(*function);
                    self.needs.functors.insert(*function);
                }
                TemplateArg::Op(_, ty) => self.ty(*ty),
                TemplateArg::Group(_) => {}
            }
        }
    }
    fn ty(&mut self, ty: Ty) {
        let Ty::Struct(id) = ty else { return };
        if self.needs.structs.insert(id) {
            self.program.structs[id].fields.iter().for_each(|(_, field)| self.ty(*field));
        }
    }
    fn scalar_fn(&mut self, id: ScalarFnId) {
        if !self.needs.functions.insert(id) {
            return;
        }
        let function = &self.program.scalar_fns[id];
        self.ty(function.result);
        function.vars.iter().for_each(|(_, var)| self.ty(var.ty));
        if let Some(body) = &function.body {
            self.visit_block(body);
        }
    }
}

impl Visitor for Collector<'_> {
    fn visit_expr(&mut self, expr: &par::Expr) {
        self.ty(expr.ty);
        if let par::ExprKind::Call(callee, _) = expr.kind {
            self.scalar_fn(callee);
        }
        look::walk_expr(self, expr);
    }
}
