//! What lanes skip where none of them asks for it.

use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, MathFn, Stmt, StmtKind};
use hidp_syntax::ty::Scalar;

/// A side of a branch with so many operations is skipped where no lane takes it: a test costs about that.
const COSTLY: usize = 12;

/// Whether statements cost more than the test whether any lane executes them, or ask for one that does: what is the same in all lanes is
/// loaded, and divided by, without a mask.
pub fn is_costly_block(stmts: &[Stmt]) -> bool {
    let mut operations = 0;
    let mut needs_lane = false;
    let block = Block { stmts: stmts.to_vec() };
    visit::walk_exprs(&block, |expr| {
        operations += 1;
        needs_lane |= needs(expr);
    });
    visit::walk_stmts(&block, |stmt| {
        needs_lane |= matches!(
            stmt.kind,
            StmtKind::Loop(_)
                | StmtKind::Map(_)
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Require { .. }
                | StmtKind::Prim(_)
        );
    });
    needs_lane || operations >= COSTLY
}

/// The same of an expression.
pub fn is_costly(expr: &Expr) -> bool {
    let mut operations = 0;
    let mut needs_lane = false;
    visit::walk_subexprs(expr, |expr| {
        operations += 1;
        needs_lane |= needs(expr);
    });
    needs_lane || operations >= COSTLY
}

/// Whether it is better, or must be, that some lane evaluates this.
fn needs(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Load(_) | ExprKind::Call(..) => true,
        ExprKind::Binary { op: BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr, right, .. } => {
            expr.ty.scalar().is_some_and(Scalar::is_integer) && right.as_int().is_none()
        }
        // One that fails has all lanes begin anew.
        ExprKind::Convert { mode, .. } => *mode == ConvertMode::Checked,
        ExprKind::Math(function, _) => is_in_each(*function),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

/// Whether a maths function is the scalar one in each lane, rather than an instruction for all.
pub(super) fn is_in_each(function: MathFn) -> bool {
    !matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max | MathFn::Sqrt)
}
