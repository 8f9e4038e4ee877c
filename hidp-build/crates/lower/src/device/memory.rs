//! Loads, stores and atomic updates: in code that several lanes run together, one lane makes the access.

use super::super::{Lowerer, make};
use hidp_ir::imp::{Block, Element, Expr, ExprKind, Stmt, VarId, VarKind};
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// A store; of a group by its first lane.
    pub(in super::super) fn push_store(&mut self, target: Element, value: Expr) {
        let stmt = Stmt::Store { target, value };
        self.push_write(stmt);
    }

    /// A write; of a group by its first lane.
    pub(in super::super) fn push_write(&mut self, stmt: Stmt) {
        match self.shared_scope() {
            Some(group) => self.body.push(Stmt::Single { group, body: Block { stmts: vec![stmt] } }),
            None => self.body.push(stmt),
        }
    }

    /// The value of an element. Where a group's lanes run together and the memory may change, one lane loads it for all.
    pub(in super::super) fn loaded(&mut self, element: Element, ty: Ty) -> Expr {
        let changes = matches!(
            self.body.vars[element.base].kind,
            VarKind::Buffer { writable: true, .. } | VarKind::Shared { .. }
        );
        let value = make::load(element, ty);
        match self.shared_scope() {
            Some(group) if changes => {
                let kind = ExprKind::Broadcast(group, Box::new(value));
                self.body.fix("value", Expr { kind, ty })
            }
            Some(_) | None => value,
        }
    }

    /// On the host: two parameters exchange their elements.
    pub(in super::super) fn swap_elements(&mut self, (first, second): (VarId, VarId), ty: Ty, count: &Expr) {
        self.launch_over_elements("swap", count, |this, at| {
            let (first, second) = (this.capture(first), this.capture(second));
            this.body.mark_written(first);
            this.body.mark_written(second);
            this.exchange_element((first, second), ty, at);
        });
    }

    /// A launch of threads for so many elements, which belongs to no nest: no plan says how.
    pub(in super::super) fn launch_over_elements(
        &mut self,
        role: &str,
        count: &Expr,
        build: impl FnOnce(&mut Self, &Expr),
    ) {
        let block = self.of_model(|model| model.block);
        self.launch_over(role, self.func.span, (count, block), build);
    }
}
