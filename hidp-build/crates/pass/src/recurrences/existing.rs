//! Cells that may not exist: whether they do is tested before they are read, with the fault of the table.

use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit::{Mutator, change};
use hidp_ir::par::{Block, Expr, ExprKind, Place, Program, Stmt, StmtKind, Var, VarId};
use hidp_syntax::index::Arena;

use crate::instantiate::inside_all;

/// Statements with tests before those that load elements of `arrays`, where they load them in any case and cannot fault by anything else.
pub(super) fn tested_before(
    program: &Program,
    vars: &Arena<VarId, Var>,
    arrays: &[VarId],
    stmts: &[Stmt],
) -> Vec<Stmt> {
    let mut block = Block { stmts: stmts.to_vec() };
    Tests { program, vars, arrays }.visit_block(&mut block);
    block.stmts
}

struct Tests<'a> {
    program: &'a Program,
    vars: &'a Arena<VarId, Var>,
    arrays: &'a [VarId],
}

impl Tests<'_> {
    /// The tests that may stand before a statement, and the statement without them.
    fn apart(&self, stmt: &Stmt) -> Option<(Vec<Stmt>, Stmt)> {
        let mut without = stmt.clone();
        let (StmtKind::Assign { value, .. } | StmtKind::Store { value, .. }) = &mut without.kind else { return None };
        let mut places = Vec::new();
        self.always(value, &mut places);
        if places.is_empty() || may_fault(self.program, self.vars, &Block { stmts: vec![without.clone()] }) {
            return None;
        }
        let tests = places.iter().flat_map(|place| inside_all(place, &self.vars[place.array].shape));
        Some((tests.collect(), without))
    }

    /// The loads that are evaluated whenever the expression is, in order; they lose their tests.
    fn always(&self, expr: &mut Expr, places: &mut Vec<Place>) {
        match &mut expr.kind {
            ExprKind::Load(place) if self.arrays.contains(&place.array) && place.unproved != 0 => {
                places.push(place.clone());
                place.unproved = 0;
            }
            ExprKind::Lazy { left, .. } => self.always(left, places),
            ExprKind::Select { cond, .. } => self.always(cond, places),
            ExprKind::Binary { left, right, .. } => {
                self.always(left, places);
                self.always(right, places);
            }
            ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
                self.always(operand, places);
            }
            ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
                operands.iter_mut().for_each(|operand| self.always(operand, places));
            }
            ExprKind::Load(_) | ExprKind::Const(_) | ExprKind::Read(_) => {}
        }
    }
}

impl Mutator for Tests<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Some((tests, without)) = self.apart(&stmt) {
                block.stmts.extend(tests);
                stmt = without;
            }
            change::walk_stmt(self, &mut stmt);
            block.stmts.push(stmt);
        }
    }

    fn visit_expr(&mut self, _: &mut Expr) {}
}
