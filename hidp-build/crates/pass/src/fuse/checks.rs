//! Checks that two maps have in common: where the first makes them, the second cannot be the first to fail.

use hidp_ir::par::effects::Effects;
use hidp_ir::par::same;
use hidp_ir::par::visit::{Mutator, Role, change};
use hidp_ir::par::{Block, Expr, ExprKind, Map, Place, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// The body of `b` without the checks of subscripts that each iteration of `a` makes before. Both run over the iterators of
/// `a`, and iteration by iteration what the subscripts read is the same in both.
pub(super) fn not_made_by(a: &Map, b: &Map, of_a: &Effects, of_b: &Effects) -> Block {
    let own: OrdSet<VarId> = a.iters.iter().map(|iter| iter.var).collect();
    let changing: OrdSet<VarId> = of_a
        .writes
        .iter()
        .chain(&of_b.writes)
        .chain(of_a.declares.iter().chain(&of_b.declares).filter(|var| !own.contains(var)))
        .copied()
        .collect();
    let mut made = Vec::new();
    a.body.stmts.iter().for_each(|stmt| always_checked(stmt, &mut made));
    made.retain(|place| !place.index.iter().any(|index| !Effects::of_expr(index).is_disjoint(&changing)));
    let mut body = b.body.clone();
    Drop(&made).visit_block(&mut body);
    body
}

/// The subscripts that a statement checks whatever happens.
fn always_checked(stmt: &Stmt, made: &mut Vec<Place>) {
    match &stmt.kind {
        StmtKind::Assign { value, .. } | StmtKind::AssignField { value, .. } => in_expr(value, made),
        StmtKind::Store { place, value } => {
            in_expr(value, made);
            place.index.iter().for_each(|index| in_expr(index, made));
            made.push(place.clone());
        }
        StmtKind::If { cond, .. } => in_expr(cond, made),
        StmtKind::Declare { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => {}
    }
}

fn in_expr(expr: &Expr, made: &mut Vec<Place>) {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Read(_) => {}
        ExprKind::Load(place) => {
            place.index.iter().for_each(|index| in_expr(index, made));
            made.push(place.clone());
        }
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
            in_expr(operand, made);
        }
        ExprKind::Binary { left, right, .. } => {
            in_expr(left, made);
            in_expr(right, made);
        }
        // Only the first operand is always evaluated.
        ExprKind::Lazy { left, .. } => in_expr(left, made),
        ExprKind::Select { cond, .. } => in_expr(cond, made),
        ExprKind::Math(_, args) | ExprKind::Call(_, args) | ExprKind::Struct(_, args) => {
            args.iter().for_each(|arg| in_expr(arg, made));
        }
    }
}

/// Takes the subscripts of these elements to be inside.
struct Drop<'m>(&'m [Place]);

impl Mutator for Drop<'_> {
    fn visit_place(&mut self, place: &mut Place, role: Role) {
        change::walk_place(self, place, role);
        if self.0.iter().any(|made| made.array == place.array && same::exprs(&made.index, &place.index)) {
            place.unproved = 0;
        }
    }
}
