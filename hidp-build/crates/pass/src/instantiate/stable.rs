//! Which expressions mean the same wherever they stand.

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, ConvertMode, Expr, ExprKind, MathFn, StmtKind, UnOp, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// Locals that get their only value right where they are declared.
pub(super) fn stable_scalars(vars: &Arena<VarId, Var>, body: &Block) -> OrdSet<VarId> {
    let mut writes: OrdMap<VarId, usize> = OrdMap::new();
    visit::walk_vars(body, |var, role| match role {
        Role::Write | Role::Update | Role::Argument { .. } => *writes.entry(var).or_default() += 1,
        Role::Declare | Role::Iterate | Role::Read => {}
    });
    let mut stable = OrdSet::new();
    blocks(body, &mut |block| {
        for pair in block.stmts.windows(2) {
            if let (StmtKind::Declare { var: declared, .. }, StmtKind::Assign { var, .. }) =
                (&pair[0].kind, &pair[1].kind)
                && declared == var
                && !vars[*var].is_array()
                && writes.get(var) == Some(&1)
            {
                stable.insert(*var);
            }
        }
    });
    stable
}

/// Shows every block.
fn blocks(block: &Block, show: &mut impl FnMut(&Block)) {
    show(block);
    for stmt in &block.stmts {
        visit::child_blocks(stmt).into_iter().for_each(|child| blocks(child, show));
    }
}

/// At most so many nodes are computed again instead of being kept in a variable.
const MAX_NODES: usize = 12;

/// Whether an expression may be evaluated later, and several times, instead of now: it is short, cannot fault, and reads only
/// what never changes.
pub(super) fn may_move(vars: &Arena<VarId, Var>, stable: &OrdSet<VarId>, expr: &Expr) -> bool {
    let mut nodes = 0;
    let mut moves = true;
    visit::walk_subexprs(expr, |expr| {
        nodes += 1;
        moves &= node_moves(vars, stable, expr);
    });
    moves && nodes <= MAX_NODES
}

fn node_moves(vars: &Arena<VarId, Var>, stable: &OrdSet<VarId>, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(var) => match vars[*var].kind {
            VarKind::Dim | VarKind::Iter | VarKind::Param(Direction::Input) => true,
            VarKind::Param(Direction::Output | Direction::Inout) => false,
            VarKind::Local => stable.contains(var),
        },
        ExprKind::Unary(UnOp::Neg, _) => true,
        ExprKind::Binary { op, .. } => matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul),
        ExprKind::Convert { mode, .. } => *mode == ConvertMode::Cast,
        ExprKind::Math(function, _) => matches!(function, MathFn::Min | MathFn::Max),
        ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}
