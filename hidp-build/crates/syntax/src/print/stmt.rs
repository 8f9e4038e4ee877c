//! Statements.

use super::Printer;
use crate::ast::{Assign, Block, Call, Declare, Expr, Iter, Map, Stmt, StmtKind};

impl Printer {
    /// From the opening to the closing brace.
    pub(super) fn block(&mut self, block: &Block) {
        if block.stmts.is_empty() {
            return self.push("{ }");
        }
        self.push("{\n");
        self.indented(|printer| printer.stmts(&block.stmts));
        self.start_line();
        self.push("}");
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.directives(&stmt.directives);
            self.start_line();
            self.stmt(&stmt.kind);
            self.push("\n");
        }
    }

    fn stmt(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Declare(declare) => self.with_semicolon(|printer| printer.declare(declare)),
            StmtKind::Assign(assign) => self.with_semicolon(|printer| printer.assign(assign)),
            StmtKind::Atomic(assign) => {
                self.push("atomic ");
                self.with_semicolon(|printer| printer.assign(assign));
            }
            StmtKind::If { condition, then, otherwise } => self.if_stmt(condition, then, otherwise.as_ref()),
            StmtKind::For { init, condition, step, body } => {
                self.for_stmt(init.as_deref(), condition.as_ref(), step.as_deref(), body);
            }
            StmtKind::While { condition, body } => {
                self.head("while", condition);
                self.block(body);
            }
            StmtKind::Break => self.push("break;"),
            StmtKind::Continue => self.push("continue;"),
            StmtKind::Return(None) => self.push("return;"),
            StmtKind::Return(Some(value)) => {
                self.push("return ");
                self.with_semicolon(|printer| printer.expr(value));
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::Call(call) => self.with_semicolon(|printer| printer.call(call)),
            StmtKind::Swap(first, second) => self.push(&format!("swap({}, {});", first.name, second.name)),
            StmtKind::Map(map) => self.map(map),
        }
    }

    fn with_semicolon(&mut self, print: impl FnOnce(&mut Self)) {
        print(self);
        self.push(";");
    }

    fn declare(&mut self, declare: &Declare) {
        self.push(&declare.ty.name);
        self.push(" ");
        self.separated(&declare.declarators, ", ", |printer, declarator| {
            printer.push(&declarator.name.name);
            printer.dims(&declarator.dims);
            if let Some(init) = &declarator.init {
                printer.push(" = ");
                printer.expr(init);
            }
        });
    }

    fn assign(&mut self, assign: &Assign) {
        self.expr(&assign.target);
        let op = assign.op.map(super::expr::operator).unwrap_or("");
        self.push(&format!(" {op}= "));
        self.expr(&assign.value);
    }

    fn head(&mut self, word: &str, condition: &Expr) {
        self.push(word);
        self.push(" (");
        self.expr(condition);
        self.push(") ");
    }

    fn if_stmt(&mut self, condition: &Expr, then: &Block, otherwise: Option<&Block>) {
        self.head("if", condition);
        self.block(then);
        if let Some(otherwise) = otherwise {
            self.push(" else ");
            match otherwise.stmts.as_slice() {
                [Stmt { directives, kind: chained @ StmtKind::If { .. }, .. }] if directives.is_empty() => {
                    self.stmt(chained);
                }
                _ => self.block(otherwise),
            }
        }
    }

    fn for_stmt(&mut self, init: Option<&Stmt>, condition: Option<&Expr>, step: Option<&Stmt>, body: &Block) {
        self.push("for (");
        match init.map(|init| &init.kind) {
            Some(kind) => self.stmt(kind),
            None => self.push(";"),
        }
        if let Some(condition) = condition {
            self.push(" ");
            self.expr(condition);
        }
        self.push(";");
        if let Some(StmtKind::Assign(assign)) = step.map(|step| &step.kind) {
            self.push(" ");
            self.assign(assign);
        }
        self.push(") ");
        self.block(body);
    }

    fn map(&mut self, map: &Map) {
        self.push("map {\n");
        self.indented(|printer| {
            for Iter { name, range, .. } in &map.iters {
                printer.start_line();
                printer.push(&format!("{} := ", name.name));
                printer.range(range);
                printer.push(";\n");
            }
            printer.stmts(&map.body.stmts);
        });
        self.start_line();
        self.push("}");
        for suffix in &map.suffixes {
            self.push(" ");
            self.suffix(suffix);
        }
    }

    fn suffix(&mut self, suffix: &Call) {
        self.with_semicolon(|printer| printer.call(suffix));
    }
}
