//! Statements other than maps.

use super::build::{ArrayBinding, Binding, Role};
use super::{Lowerer, device, make};
use hidp_ir::imp::{self, Element, Expr, ExprKind, LoopKind, Stmt};
use hidp_ir::par::{self, BinOp, FAULT_VALUES, FaultKind, FoldOp, Place, StmtKind};
use hidp_plan as plan;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// Arrays of more bytes than this are never asked for.
const MOST_BYTES: i64 = 1 << 60;

impl Lowerer<'_> {
    /// Statements in order.
    pub(super) fn stmts(&mut self, stmts: &[par::Stmt]) {
        let in_kernel = self.device.is_some() && self.body.role == Role::Kernel;
        let behind = in_kernel.then(|| device::loaded_behind_conditions(stmts)).flatten();
        for stmt in behind.as_deref().unwrap_or(stmts) {
            self.stmt(stmt);
        }
    }

    /// A block of its own: arrays that the host function allocates in it are given back at its end.
    fn block(&mut self, block: &par::Block) -> imp::Block {
        self.body.enter();
        self.stmts(&block.stmts);
        self.free_locals(block);
        self.body.leave()
    }

    pub(super) fn free_locals(&mut self, block: &par::Block) {
        if self.body.role != Role::Host || ends_in_jump(block) {
            return;
        }
        for stmt in block.stmts.iter().rev() {
            let StmtKind::Declare { var, .. } = stmt.kind else { continue };
            if let Some(Binding::Array(array)) = self.body.bindings.get(&var) {
                let base = array.base;
                self.end_pair(var);
                self.body.push(Stmt::Free(base));
            }
        }
    }

    /// One statement.
    pub(super) fn stmt(&mut self, stmt: &par::Stmt) {
        let around = self.body.here.replace(stmt.span);
        self.stmt_here(stmt);
        self.body.here = around;
    }

    fn stmt_here(&mut self, stmt: &par::Stmt) {
        match &stmt.kind {
            StmtKind::Declare { var, zero } => self.declare(*var, *zero, stmt.span),
            StmtKind::Assign { var, value } => {
                let value = self.expr(value);
                self.assign(*var, value);
            }
            StmtKind::AssignField { var, path, value } => self.assign_field(*var, path, value),
            StmtKind::Store { place, value } => self.store(place, value),
            StmtKind::Atomic { place, op, value } => self.atomic(place, op, value),
            StmtKind::If { cond, then, otherwise } if plan::wide::is_for_lanes(self.program, cond) => {
                let rest = plan::wide::is_for_devices(self.program, cond).filter(|_| self.device.is_some());
                match rest {
                    Some(rest) => self.either(&rest, then, otherwise),
                    None => self.scope(otherwise),
                }
            }
            StmtKind::If { cond, then, otherwise } => self.either(cond, then, otherwise),
            StmtKind::Loop(node) => self.sequential_loop(node),
            StmtKind::Break => self.body.push(Stmt::Break),
            StmtKind::Continue => self.body.push(Stmt::Continue),
            StmtKind::Scope(body) => self.scope(body),
            StmtKind::Leave => {
                let label = self.body.scopes.last().copied();
                self.body.push(Stmt::Leave(label));
            }
            StmtKind::Return(_) => self.defect("a function over arrays has no value"),
            StmtKind::Call { .. } => self.defect("instantiation left no call"),
            StmtKind::Map(map) => self.map(map, stmt.span),
            StmtKind::Prim(call) => self.prim(call),
            StmtKind::Swap(a, b) => self.swap(*a, *b),
            StmtKind::Require { cond, fault, values } => {
                let cond = self.expr(cond);
                let names = values.iter().map(|(name, _)| name.clone()).collect();
                self.body.enter();
                let values = values.iter().map(|(_, value)| self.expr(value)).collect();
                let site = self.site(*fault, stmt.span, names);
                self.body.push(Stmt::Fault { site, values });
                let fault = self.body.leave();
                self.body.push(make::when(make::not(cond), fault.stmts));
            }
        }
    }

    fn either(&mut self, cond: &par::Expr, then: &par::Block, otherwise: &par::Block) {
        let cond = self.expr(cond);
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.body.push(Stmt::If { cond, then, otherwise });
    }

    /// Assigns a scalar.
    pub(super) fn assign(&mut self, var: par::VarId, value: Expr) {
        let ty = self.func.vars[var].ty;
        match self.binding(var) {
            Binding::Slot { var, backing } => {
                self.body.push(make::set(var, value));
                if let Some(buffer) = backing {
                    let target = make::element(buffer, make::long(0));
                    self.body.push(Stmt::Store { target, value: make::var(var, ty) });
                }
            }
            Binding::Lane(target) => self.body.push(Stmt::Store { target, value }),
            Binding::Fixed(_) | Binding::Array(_) => self.defect("what is assigned can change here"),
        }
    }

    fn assign_field(&mut self, var: par::VarId, path: &[u32], value: &par::Expr) {
        let value = self.expr(value);
        let ty = self.func.vars[var].ty;
        match self.binding(var) {
            Binding::Slot { var, backing } => {
                self.body.push(Stmt::Set { var, path: path.to_vec(), value });
                if let Some(buffer) = backing {
                    let target = make::element(buffer, make::long(0));
                    self.body.push(Stmt::Store { target, value: make::var(var, ty) });
                }
            }
            Binding::Lane(target) => {
                self.body.push(Stmt::Store { target: Element { path: path.to_vec(), ..target }, value });
            }
            Binding::Fixed(_) | Binding::Array(_) => self.defect("what is assigned can change here"),
        }
    }

    fn store(&mut self, place: &Place, value: &par::Expr) {
        let ty = value.ty;
        if let Some(target) = self.redirected(place) {
            let value = self.expr(value);
            self.body.push(Stmt::Store { target, value });
            return;
        }
        let value = self.expr(value);
        let (target, ok) = self.element(place);
        self.body.mark_written(target.base);
        match ok {
            None => self.store_element(target, value, ty),
            Some(ok) => {
                self.body.enter();
                self.store_element(target, value, ty);
                let store = self.body.leave();
                self.body.push(make::when(ok, store.stmts));
            }
        }
    }

    /// Stores; a struct that others may touch at the same time field by field.
    pub(super) fn store_element(&mut self, target: Element, value: Expr, ty: Ty) {
        match ty {
            Ty::Struct(id) if target.relaxed => {
                let index = self.body.fix("at", (*target.index).clone());
                let value = self.body.fix("value", value);
                let fields: Vec<Ty> = self.program.structs[id].fields.iter().map(|(_, ty)| *ty).collect();
                for (field, ty) in fields.into_iter().enumerate() {
                    let mut part = Element { index: Box::new(index.clone()), ..target.clone() };
                    part.path.push(field as u32);
                    let value = Expr { kind: ExprKind::Field(Box::new(value.clone()), field as u32), ty };
                    self.store_element(part, value, ty);
                }
            }
            Ty::Struct(_) | Ty::Scalar(_) => self.push_store(target, value),
        }
    }

    fn atomic(&mut self, place: &Place, op: &FoldOp, value: &par::Expr) {
        let value = self.expr(value);
        let (target, _) = self.element(place);
        self.body.mark_written(target.base);
        if self.updates_alone(target.base) {
            return self.update_alone(target, op, value);
        }
        self.push_write(Stmt::Atomic { target: Element { relaxed: true, ..target }, op: op.func, value });
    }

    /// An update of an element that no other thread can access in the meantime.
    pub(super) fn update_alone(&mut self, target: Element, op: &FoldOp, value: Expr) {
        let index = self.body.fix("at", *target.index);
        let target = Element { index: Box::new(index), relaxed: false, ..target };
        let value = self.apply(op, make::load(target.clone(), op.ty), value);
        self.body.push(Stmt::Store { target, value });
    }

    fn sequential_loop(&mut self, node: &par::Loop) {
        self.body.enter();
        let cond = self.expr(&node.cond);
        if cond.kind != ExprKind::Bool(true) {
            self.body.push(make::when(make::not(cond), vec![Stmt::Break]));
        }
        self.stmts(&node.body.stmts);
        self.free_locals(&node.body);
        let body = self.body.leave();
        let step = self.block(&node.step);
        self.body.push(Stmt::Forever { body, step });
    }

    fn scope(&mut self, block: &par::Block) {
        let label = self.body.new_label();
        self.body.scopes.push(label);
        let body = self.block(block);
        self.body.scopes.pop();
        self.body.push(Stmt::Scope { label, body });
    }

    /// A local comes to life.
    fn declare(&mut self, var: par::VarId, zero: bool, span: Span) {
        let declared = &self.func.vars[var];
        if declared.is_array() {
            self.declare_array(var, zero, span);
            return;
        }
        let init = zero.then(|| self.zero_value(declared.ty));
        let slot = self.body.slot(&declared.name, declared.ty, init);
        self.body.bindings.insert(var, Binding::Slot { var: slot, backing: None });
    }

    /// Zero of any type.
    pub(super) fn zero_value(&self, ty: Ty) -> Expr {
        match ty {
            Ty::Scalar(_) => super::expr::zero_of(ty),
            Ty::Struct(id) => {
                let fields = self.program.structs[id].fields.iter().map(|(_, ty)| self.zero_value(*ty)).collect();
                Expr { kind: ExprKind::Struct(id, fields), ty }
            }
        }
    }

    fn declare_array(&mut self, var: par::VarId, zero: bool, span: Span) {
        let declared = &self.func.vars[var];
        let elem_size = self.size_of(declared.ty);
        let mut extents = Vec::new();
        for extent in &declared.shape {
            let extent = self.fixed("extent", extent);
            self.require_size(&extent, span);
            extents.push(extent);
        }
        let count = self.count_of(&extents, elem_size, span);
        if let Some(array) = self.given_array(var, &extents, &count, zero) {
            self.body.bindings.insert(var, Binding::Array(array));
            return;
        }
        let small = make::as_int(&count)
            .and_then(|count| u32::try_from(count).ok())
            .filter(|count| u64::from(*count) * elem_size as u64 <= u64::from(self.small_array()));
        let base = match (self.body.role, small) {
            (Role::Kernel, Some(len)) => self.private_tile(&declared.name, declared.ty, len.max(1), zero),
            (Role::Kernel, None) | (Role::Host, _) => {
                let kind = imp::VarKind::Buffer { elem: declared.ty, writable: true };
                let base = self.body.declare(&declared.name, kind);
                let site = self.site(FaultKind::Allocation, span, Vec::new());
                self.body.push(match self.body.role {
                    Role::Host => Stmt::Alloc { var: base, count, zero, site },
                    Role::Kernel => Stmt::Scratch { var: base, count, zero, site },
                });
                base
            }
        };
        self.body.bindings.insert(var, Binding::Array(ArrayBinding { base, extents, window: None, stride: None }));
        self.begin_pair(Some(var));
    }

    fn private_tile(&mut self, name: &str, ty: Ty, len: u32, zero: bool) -> imp::VarId {
        let tile = self.body.tile(name, ty, len);
        if zero {
            let at = self.body.enter_loop("at");
            let target = make::element(tile, make::var(at, Ty::LONG));
            let value = self.zero_value(ty);
            self.body.push(Stmt::Store { target, value });
            self.body.leave_loop(at, make::long(0), make::long(len.into()), LoopKind::Seq);
        }
        tile
    }

    fn require_size(&mut self, extent: &Expr, span: Span) {
        let never_negative = make::as_int(extent).is_some_and(|value| value >= 0) || self.is_dim(extent);
        if !never_negative {
            let ok = make::binary(BinOp::Ge, extent.clone(), make::long(0));
            self.require(ok, FaultKind::NegativeSize, span, vec![extent.clone()]);
        }
    }

    fn is_dim(&self, value: &Expr) -> bool {
        self.func.dims.iter().any(|dim| matches!(self.body.bindings.get(dim), Some(Binding::Fixed(v)) if v == value))
    }

    /// The number of elements, after checks that it and its bytes fit.
    fn count_of(&mut self, extents: &[Expr], elem_size: usize, span: Span) -> Expr {
        let most = MOST_BYTES / (elem_size.max(1) as i64);
        let mut count = make::long(1);
        for extent in extents {
            let plain = make::as_int(&count).is_some_and(|v| v <= 1 << 30)
                && make::as_int(extent).is_some_and(|v| v <= 1 << 24);
            if !plain {
                let divisor = make::max(extent.clone(), make::long(1));
                let ok = make::binary(BinOp::Le, count.clone(), make::div(make::long(most), divisor));
                self.require(ok, FaultKind::SizeOverflow, span, extents.iter().take(FAULT_VALUES).cloned().collect());
            }
            count = self.body.fix("count", make::mul(count, extent.clone()));
        }
        count
    }

    /// Bytes of a value, an upper bound for structs.
    pub(super) fn size_of(&self, ty: Ty) -> usize {
        match ty {
            Ty::Scalar(scalar) => scalar.size(),
            Ty::Struct(id) => {
                let fields = &self.program.structs[id].fields;
                fields
                    .iter()
                    .map(|(_, ty)| self.size_of(*ty).next_multiple_of(Scalar::F64.size()))
                    .sum::<usize>()
                    .max(1)
            }
        }
    }
}

/// Whether the end of a block is never reached.
fn ends_in_jump(block: &par::Block) -> bool {
    matches!(block.stmts.last().map(|stmt| &stmt.kind), Some(StmtKind::Break | StmtKind::Continue | StmtKind::Leave))
}
