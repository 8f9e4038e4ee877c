//! Divisions by the constant 0 and shifts by constants that are too large, which always fault.

use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{BinOp, Block, Const, Expr, ExprKind, Stmt, StmtKind, Var, VarId};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Scalar;

use super::super::fold;
use super::or_allow;

/// Warns of operations that fault whenever they are evaluated. What constants say is never evaluated may fault.
pub(super) fn lint(vars: &Arena<VarId, Var>, body: &Block, sink: &mut Sink) {
    let mut faults = Faults::default();
    for (_, var) in vars.iter() {
        var.shape.iter().for_each(|extent| faults.visit_expr(extent));
    }
    faults.visit_block(body);
    for Fault { span, what, label } in faults.0 {
        let headline = format!("this {what} has no result: it ends the call with an error");
        sink.push(or_allow(Diagnostic::new(Code::CertainFault, span, headline).label(label)));
    }
}

/// Refuses a constant whose value such an operation would be.
pub(crate) fn refuse(name: &str, value: &Expr, sink: &mut Sink) {
    let mut faults = Faults::default();
    faults.visit_expr(value);
    for Fault { span, what, label } in faults.0 {
        let headline = format!("constant `{name}` has no value, as this {what} has no result");
        sink.push(Diagnostic::new(Code::NotConstant, span, headline).label(label));
    }
}

/// An operation that always faults.
struct Fault {
    span: Span,
    what: &'static str,
    label: String,
}

#[derive(Default)]
struct Faults(Vec<Fault>);

/// What a condition of constants is.
fn known(cond: &Expr) -> Option<bool> {
    match fold::eval(cond)? {
        Const::Bool(value) => Some(value),
        Const::Int(_) | Const::Float(_) => None,
    }
}

impl Visitor for Faults {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::If { cond, then, otherwise } => match known(cond) {
                Some(true) => self.visit_block(then),
                Some(false) => self.visit_block(otherwise),
                None => look::walk_stmt(self, stmt),
            },
            StmtKind::Loop(node) if known(&node.cond) == Some(false) => {}
            StmtKind::Loop(_)
            | StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Scope(_)
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => look::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Select { cond, then, otherwise } => match known(cond) {
                Some(true) => self.visit_expr(then),
                Some(false) => self.visit_expr(otherwise),
                None => look::walk_expr(self, expr),
            },
            ExprKind::Lazy { and, left, right: _ } if known(left) == Some(!and) => self.visit_expr(left),
            ExprKind::Binary { op, left, right, checked: true } => {
                if let (Some(Const::Int(value)), Some(scalar)) = (fold::eval(right), left.ty.scalar()) {
                    self.operation(*op, value, scalar, expr.span);
                }
                look::walk_expr(self, expr);
            }
            ExprKind::Lazy { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => look::walk_expr(self, expr),
        }
    }
}

impl Faults {
    fn operation(&mut self, op: BinOp, right: i128, left: Scalar, span: Span) {
        let bits = 8 * left.size() as i128;
        let (what, label) = match op {
            BinOp::Div if right == 0 => ("division", "divided by 0".to_owned()),
            BinOp::Rem if right == 0 => ("remainder", "divided by 0".to_owned()),
            BinOp::Shl | BinOp::Shr if !(0..bits).contains(&right) => {
                ("shift", format!("`{left}` has {bits} bits, and this shifts by {right}"))
            }
            BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr => return,
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => return,
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => return,
        };
        self.0.push(Fault { span, what, label });
    }
}
