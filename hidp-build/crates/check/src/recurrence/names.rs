//! The names that a body uses as values or calls, before anything is known of them; without those that it declares itself.

use hidp_syntax::ast::{Arg, Block, Call, Expr, ExprKind, Range, Stmt, StmtKind, Subscript};
use hidp_syntax::ordered::OrdSet;

/// All names that might be recurrences.
pub(super) fn used(body: &Block) -> OrdSet<String> {
    let mut names = Names::default();
    names.block(body);
    names.found
}

#[derive(Default)]
struct Names {
    found: OrdSet<String>,
    /// What is declared so far, in blocks that are not closed yet.
    declared: Vec<String>,
}

impl Names {
    fn block(&mut self, block: &Block) {
        self.scope(|names| block.stmts.iter().for_each(|stmt| names.stmt(stmt)));
    }

    fn scope(&mut self, inside: impl FnOnce(&mut Self)) {
        let outside = self.declared.len();
        inside(self);
        self.declared.truncate(outside);
    }

    fn used(&mut self, name: &str) {
        if !self.declared.iter().any(|declared| declared == name) {
            self.found.insert(name.to_owned());
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare(declare) => {
                for declarator in &declare.declarators {
                    declarator.dims.iter().chain(&declarator.init).for_each(|e| self.expr(e));
                    self.declared.push(declarator.name.name.clone());
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
                self.scope(|names| {
                    init.iter().for_each(|stmt| names.stmt(stmt));
                    condition.iter().for_each(|e| names.expr(e));
                    step.iter().for_each(|stmt| names.stmt(stmt));
                    names.block(body);
                });
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
                // Suffixes see what the body declares.
                self.scope(|names| {
                    names.declared.extend(map.iters.iter().map(|iter| iter.name.name.clone()));
                    map.body.stmts.iter().for_each(|stmt| names.stmt(stmt));
                    map.suffixes.iter().for_each(|call| names.call(call));
                });
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Swap(..) => {}
        }
    }

    fn call(&mut self, call: &Call) {
        self.used(&call.callee.name);
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
            ExprKind::Name(name) => self.used(name),
            ExprKind::Index { base, subscripts } => {
                self.expr(base);
                for subscript in subscripts {
                    match subscript {
                        Subscript::At(index) => self.expr(index),
                        Subscript::Range(range) => self.range(range),
                        Subscript::All(_) => {}
                        Subscript::Piece(piece) => {
                            self.used(&piece.iter.name);
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
