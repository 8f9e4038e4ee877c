//! Parts of a table whose cells are alike: the first row, the first column, and all others.

use hidp_ir::par::visit::{Mutator, change};
use hidp_ir::par::{BinOp, Block, Const, Expr, ExprKind, Stmt, StmtKind, UnOp, VarId};

/// Where an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// At 0.
    First,
    /// Beyond it.
    Later,
    Anywhere,
}

/// A body without the branches that its part of the table decides.
pub(super) fn within(body: &Block, index: [(VarId, At); 2]) -> Block {
    let mut body = body.clone();
    Decide { index }.visit_block(&mut body);
    body
}

struct Decide {
    index: [(VarId, At); 2],
}

impl Decide {
    /// What a comparison of an index with a constant gives.
    fn compared(&self, op: BinOp, left: &Expr, right: &Expr) -> Option<bool> {
        let (ExprKind::Read(var), Some(with)) = (&left.kind, right.as_int()) else {
            let is_constant = left.as_int().is_some() && matches!(right.kind, ExprKind::Read(_));
            return if is_constant { self.compared(op.mirrored(), right, left) } else { None };
        };
        let (_, at) = self.index.iter().find(|(index, _)| index == var)?;
        let (low, high) = match at {
            At::First => (0, Some(0)),
            At::Later => (1, None),
            At::Anywhere => (0, None),
        };
        let below = high.is_some_and(|high: i128| high < with);
        let not_above = high.is_some_and(|high| high <= with);
        let outside = low > with || below;
        let decided = |yes: bool, no: bool| (yes || no).then_some(yes);
        match op {
            BinOp::Lt => decided(below, low >= with),
            BinOp::Le => decided(not_above, low > with),
            BinOp::Gt => decided(low > with, not_above),
            BinOp::Ge => decided(low >= with, below),
            BinOp::Eq => decided(low == with && high == Some(with), outside),
            BinOp::Ne => decided(outside, low == with && high == Some(with)),
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr => None,
        }
    }
}

fn constant(expr: &Expr) -> Option<bool> {
    let ExprKind::Const(Const::Bool(value)) = expr.kind else { return None };
    Some(value)
}

impl Mutator for Decide {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            change::walk_stmt(self, &mut stmt);
            match stmt {
                Stmt { kind: StmtKind::If { cond, then, otherwise }, span } => match constant(&cond) {
                    Some(true) => out.extend(then.stmts),
                    Some(false) => out.extend(otherwise.stmts),
                    None => out.push(Stmt { kind: StmtKind::If { cond, then, otherwise }, span }),
                },
                stmt => out.push(stmt),
            }
        }
        block.stmts = out;
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        let truth = |value: bool| ExprKind::Const(Const::Bool(value));
        let kind = match &expr.kind {
            ExprKind::Binary { op, left, right, .. } => self.compared(*op, left, right).map(truth),
            ExprKind::Lazy { and, left, right } => match (constant(left), constant(right)) {
                // The other operand has no part in the result.
                (Some(value), _) | (_, Some(value)) if value != *and => Some(truth(value)),
                (Some(_), _) => Some(right.kind.clone()),
                (None, Some(_)) => Some(left.kind.clone()),
                (None, None) => None,
            },
            ExprKind::Unary(UnOp::Not, operand) => constant(operand).map(|value| truth(!value)),
            ExprKind::Select { cond, then, otherwise } => {
                constant(cond).map(|value| if value { then.kind.clone() } else { otherwise.kind.clone() })
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        };
        if let Some(kind) = kind {
            expr.kind = kind;
        }
    }
}
