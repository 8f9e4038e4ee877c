//! Copies of loops.

use hidp_ir::imp::visit::{
    child_blocks_mut, each_stmt, expr_names_mut, introduced, names_mut, operands_mut, stmt_exprs_mut,
};
use hidp_ir::imp::{Block, Expr, Loop, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;

/// The loop with variables of its own, beside the loop that it was.
pub(super) fn of(mut node: Loop, vars: &mut Arena<VarId, Var>) -> Loop {
    let mut copied = Copied { vars, renamed: OrdMap::new() };
    copied.introduce(node.var);
    each_stmt(&node.body, &mut |stmt| introduced(stmt).into_iter().for_each(|var| copied.introduce(var)));
    copied.rename(&mut node.var);
    copied.block(&mut node.body);
    node
}

struct Copied<'a> {
    vars: &'a mut Arena<VarId, Var>,
    renamed: OrdMap<VarId, VarId>,
}

impl Copied<'_> {
    fn introduce(&mut self, var: VarId) {
        let copy = self.vars.push(self.vars[var].clone());
        self.renamed.insert(var, copy);
    }

    fn rename(&self, var: &mut VarId) {
        if let Some(copy) = self.renamed.get(var) {
            *var = *copy;
        }
    }

    fn block(&self, block: &mut Block) {
        for stmt in &mut block.stmts {
            names_mut(stmt).into_iter().for_each(|var| self.rename(var));
            stmt_exprs_mut(stmt).into_iter().for_each(|expr| self.expr(expr));
            child_blocks_mut(stmt).into_iter().for_each(|child| self.block(child));
        }
    }

    fn expr(&self, expr: &mut Expr) {
        expr_names_mut(expr).into_iter().for_each(|var| self.rename(var));
        operands_mut(expr).into_iter().for_each(|operand| self.expr(operand));
    }
}
