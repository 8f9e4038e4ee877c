//! Scalar functions that can fault. They have no sites of their own: they raise the trap of whoever calls them, at the site of the
//! calling entry that has the kind and position of the operation.

use super::{Entry, Site, SiteId};
use crate::par::visit::{Visitor, look};
use crate::par::{BinOp, ConvertMode, Expr, ExprKind, FaultKind, Program, ScalarFnId, Stmt, StmtKind};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// The sites at which a scalar function, or one that it calls, can raise; each once, in order of first use. Lowering adds them to
/// [`Entry::sites`] for every function that the entry calls.
pub fn trap_sites(program: &Program, function: ScalarFnId) -> Vec<Site> {
    let mut collector = Collector { program, seen: OrdSet::new(), sites: Vec::new() };
    collector.function(function);
    collector.sites
}

/// Whether calling a scalar function can raise.
pub fn can_trap(program: &Program, function: ScalarFnId) -> bool {
    !trap_sites(program, function).is_empty()
}

impl Entry {
    /// The site of this kind and position.
    pub fn find_site(&self, kind: FaultKind, span: Span) -> Option<SiteId> {
        self.sites.iter().find(|(_, site)| site.kind == kind && site.span == span).map(|(id, _)| id)
    }
}

/// The fault that a checked operator raises and how many values it records.
fn operator_fault(op: BinOp) -> (FaultKind, usize) {
    match op {
        BinOp::Shl | BinOp::Shr => (FaultKind::Shift, 2),
        BinOp::Add
        | BinOp::Sub
        | BinOp::Mul
        | BinOp::Div
        | BinOp::Rem
        | BinOp::And
        | BinOp::Or
        | BinOp::Xor
        | BinOp::Lt
        | BinOp::Le
        | BinOp::Gt
        | BinOp::Ge
        | BinOp::Eq
        | BinOp::Ne => (FaultKind::DivisionByZero, 1),
    }
}

struct Collector<'a> {
    program: &'a Program,
    seen: OrdSet<ScalarFnId>,
    sites: Vec<Site>,
}

impl Collector<'_> {
    fn function(&mut self, function: ScalarFnId) {
        if !self.seen.insert(function) {
            return;
        }
        if let Some(body) = &self.program.scalar_fns[function].body {
            self.visit_block(body);
        }
    }
    fn add(&mut self, kind: FaultKind, span: Span, names: Vec<String>) {
        if !self.sites.iter().any(|site| site.kind == kind && site.span == span) {
            self.sites.push(Site { kind, span, names });
        }
    }
}

impl Visitor for Collector<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        look::walk_stmt(self, stmt);
        if let StmtKind::Require { fault, values, .. } = &stmt.kind {
            self.add(*fault, stmt.span, values.iter().map(|(name, _)| name.clone()).collect());
        }
    }
    fn visit_expr(&mut self, expr: &Expr) {
        look::walk_expr(self, expr);
        if let ExprKind::Binary { op, checked: true, .. } = &expr.kind {
            let (kind, values) = operator_fault(*op);
            self.add(kind, expr.span, vec![String::new(); values]);
        }
        if let ExprKind::Convert { mode: ConvertMode::Checked, .. } = &expr.kind {
            self.add(FaultKind::Narrowing, expr.span, vec![String::new()]);
        }
        if let ExprKind::Call(callee, _) = &expr.kind {
            self.function(*callee);
        }
    }
}
