//! Primitives of lanes: one lane after the other, each with what its iteration alone would call.

use super::super::build::Binding;
use super::super::{Lowerer, make};
use hidp_ir::imp::{InTurn, Stmt, Taken, VarKind};
use hidp_ir::par::visit;
use hidp_ir::par::{self, Block, PrimCall};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// A primitive in the lanes that are here.
    pub(super) fn wide_prim(&mut self, stmt: &par::Stmt, call: &PrimCall) {
        let Some(mask) = self.here() else { return };
        let Some(along) = self.wide.as_ref().and_then(|wide| wide.lane) else {
            return self.defect("lanes that call a primitive have neighbouring iterations");
        };
        let mut used = OrdSet::new();
        visit::walk_vars(&Block { stmts: vec![stmt.clone()] }, |var, _| {
            used.insert(var);
        });
        used.retain(|var| *var != along && !self.func.vars[*var].is_array() && self.is_varying(*var));
        let first = self.read(along);
        let lane = self.body.declare("lane", VarKind::Value(Ty::LONG));
        let mut taken = Vec::new();
        let mut bindings = vec![(along, make::add(first, make::var(lane, Ty::LONG)))];
        for var in used {
            let Some(wide) = self.wide_binding(var) else { return };
            let declared = &self.func.vars[var];
            let scalar = self.body.declare(&declared.name, VarKind::Value(declared.ty));
            taken.push(Taken { scalar, wide });
            bindings.push((var, make::var(scalar, declared.ty)));
        }
        let bind = |(var, value): (par::VarId, _)| (var, self.body.bindings.insert(var, Binding::Fixed(value)));
        let around: Vec<_> = bindings.into_iter().map(bind).collect();
        let state = self.wide.take();
        let lanes = self.body.lanes.take();
        self.body.enter();
        self.prim(call);
        let body = self.body.leave();
        self.wide = state;
        self.body.lanes = lanes;
        for (var, before) in around {
            match before {
                Some(before) => self.body.bindings.insert(var, before),
                None => self.body.bindings.remove(&var),
            };
        }
        self.body.push(Stmt::InTurn(Box::new(InTurn { mask, lane, taken, body })));
    }
}
