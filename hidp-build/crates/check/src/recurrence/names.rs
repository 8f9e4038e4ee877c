//! The names that a body uses as values or calls, before anything is known of them; without those that it declares itself. Of a map, what is done with them.

use hidp_syntax::ast::{Arg, Bind, Block, Call, Expr, ExprKind, Map, Range, Stmt, StmtKind, Subscript};
use hidp_syntax::ordered::OrdSet;

/// All names that might be recurrences.
pub(super) fn used(body: &Block) -> OrdSet<String> {
    let mut names = Names::default();
    names.block(body);
    names.found
}

/// What the body and the suffixes of a map do with names.
#[derive(Default)]
pub(super) struct Uses {
    /// What might be a recurrence, with its bindings, where no condition decides whether its statement runs.
    pub(super) cells: Vec<(String, Vec<Bind>)>,
    /// What is declared anywhere.
    pub(super) declared: OrdSet<String>,
    /// What is assigned to, or might be.
    pub(super) written: OrdSet<String>,
}

/// The uses of names in a map.
pub(super) fn uses(map: &Map) -> Uses {
    let mut names = Names::default();
    map.body.stmts.iter().for_each(|stmt| names.stmt(stmt));
    map.suffixes.iter().for_each(|call| names.call_statement(call));
    names.uses
}

#[derive(Default)]
struct Names {
    found: OrdSet<String>,
    uses: Uses,
    /// How many statements around this decide whether it runs.
    conditions: usize,
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

    fn under_condition(&mut self, inside: impl FnOnce(&mut Self)) {
        self.conditions += 1;
        inside(self);
        self.conditions -= 1;
    }

    fn declare(&mut self, name: &str) {
        self.declared.push(name.to_owned());
        self.uses.declared.insert(name.to_owned());
    }

    /// A name that might be that of a recurrence.
    fn cell(&mut self, name: &str, binds: &[Bind]) {
        if self.conditions == 0 && !self.declared.iter().any(|declared| declared == name) {
            self.uses.cells.push((name.to_owned(), binds.to_vec()));
        }
        self.used(name);
    }

    /// What is assigned to, or is given to something that may write to it.
    fn written(&mut self, target: &Expr) {
        match &target.kind {
            ExprKind::Name(name) => _ = self.uses.written.insert(name.clone()),
            ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => self.written(base),
            // Values.
            ExprKind::Literal(_)
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Select { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Call(_)
            | ExprKind::Limit { .. }
            | ExprKind::Struct { .. }
            | ExprKind::Error => {}
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare(declare) => {
                for declarator in &declare.declarators {
                    declarator.dims.iter().chain(&declarator.init).for_each(|e| self.expr(e));
                    self.declare(&declarator.name.name);
                }
            }
            StmtKind::Assign(assign) | StmtKind::Atomic(assign) => {
                self.written(&assign.target);
                self.expr(&assign.target);
                self.expr(&assign.value);
            }
            StmtKind::If { condition, then, otherwise } => {
                self.expr(condition);
                self.under_condition(|names| {
                    names.block(then);
                    otherwise.iter().for_each(|block| names.block(block));
                });
            }
            StmtKind::For { init, condition, step, body } => {
                self.scope(|names| {
                    init.iter().for_each(|stmt| names.stmt(stmt));
                    names.under_condition(|names| {
                        condition.iter().for_each(|e| names.expr(e));
                        step.iter().for_each(|stmt| names.stmt(stmt));
                        names.block(body);
                    });
                });
            }
            StmtKind::While { condition, body } => {
                self.under_condition(|names| {
                    names.expr(condition);
                    names.block(body);
                });
            }
            StmtKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Call(call) => self.call_statement(call),
            StmtKind::Map(map) => {
                map.iters.iter().for_each(|iter| self.range(&iter.range));
                // Suffixes see what the body declares.
                self.scope(|names| {
                    map.iters.iter().for_each(|iter| names.declare(&iter.name.name));
                    map.body.stmts.iter().for_each(|stmt| names.stmt(stmt));
                    map.suffixes.iter().for_each(|call| names.call_statement(call));
                });
            }
            StmtKind::Swap(left, right) => self.uses.written.extend([left.name.clone(), right.name.clone()]),
            StmtKind::Break | StmtKind::Continue => {}
        }
    }

    /// Functions, primitives and folds write some of what they are given.
    fn call_statement(&mut self, call: &Call) {
        for arg in &call.args {
            match arg {
                Arg::Expr(e) => self.written(e),
                Arg::Operator { .. } | Arg::WithNeutral { .. } | Arg::Over { .. } => {}
            }
        }
        self.call(call);
    }

    fn call(&mut self, call: &Call) {
        self.cell(&call.callee.name, &call.binds);
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
            ExprKind::Name(name) => self.cell(name, &[]),
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
