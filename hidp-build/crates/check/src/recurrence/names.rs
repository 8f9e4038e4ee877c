//! The names that a body uses as values or calls, before anything is known of them.

use std::collections::BTreeSet;

use hidp_syntax::ast::{Arg, Block, Call, Expr, ExprKind, Range, Stmt, StmtKind, Subscript};

/// All names that might be recurrences.
pub(super) fn used(body: &Block) -> BTreeSet<String> {
    let mut names = Names::default();
    names.block(body);
    names.found
}

#[derive(Default)]
struct Names {
    found: BTreeSet<String>,
}

impl Names {
    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare(declare) => {
                for declarator in &declare.declarators {
                    declarator.dims.iter().chain(&declarator.init).for_each(|e| self.expr(e));
                }
            }
            StmtKind::Assign(assign) | StmtKind::Atomic(assign) => {
                self.expr(&assign.target);
                self.expr(&assign.value);
            }
            StmtKind::If { condition, then, otherwise } => {
                self.expr(condition);
                self.block(then);
                otherwise.iter().for_each(|block| self.block(block));
            }
            StmtKind::For { init, condition, step, body } => {
                init.iter().chain(step).for_each(|stmt| self.stmt(stmt));
                condition.iter().for_each(|e| self.expr(e));
                self.block(body);
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StmtKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Call(call) => self.call(call),
            StmtKind::Map(map) => {
                map.iters.iter().for_each(|iter| self.range(&iter.range));
                self.block(&map.body);
                map.suffixes.iter().for_each(|call| self.call(call));
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Swap(..) => {}
        }
    }

    fn call(&mut self, call: &Call) {
        self.found.insert(call.callee.name.clone());
        for arg in &call.args {
            match arg {
                Arg::Expr(e) | Arg::WithNeutral { neutral: e, .. } => self.expr(e),
                Arg::Operator { .. } | Arg::Over { .. } => {}
            }
        }
        call.binds.iter().for_each(|bind| self.expr(&bind.value));
    }

    fn range(&mut self, range: &Range) {
        [Some(&range.low), Some(&range.high), range.step.as_ref()].into_iter().flatten().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                self.found.insert(name.clone());
            }
            ExprKind::Index { base, subscripts } => {
                self.expr(base);
                for subscript in subscripts {
                    match subscript {
                        Subscript::At(index) => self.expr(index),
                        Subscript::Range(range) => self.range(range),
                        Subscript::All(_) => {}
                        Subscript::Piece(piece) => {
                            self.found.insert(piece.iter.name.clone());
                            self.expr(&piece.length);
                        }
                    }
                }
            }
            ExprKind::Field { base: operand, .. }
            | ExprKind::Unary { operand, .. }
            | ExprKind::Cast { operand, .. } => {
                self.expr(operand);
            }
            ExprKind::Binary { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Select { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(|e| self.expr(e));
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Struct { fields, .. } => fields.iter().for_each(|(_, e)| self.expr(e)),
            ExprKind::Literal(_) | ExprKind::Limit { .. } | ExprKind::Error => {}
        }
    }
}
