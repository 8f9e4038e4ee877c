//! Whether the dependences between two maps stay inside one iteration.

use super::{Refusal, refuse, stmt_of};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Iter, Map, Place, PrimCall, Program, Stmt, StmtKind, UnOp, Var, VarId,
};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;

/// Whether no iteration of `b` touches what another iteration of `a` writes, or writes what it touches. Both run over the
/// iterators of `a`.
pub(super) fn stays_inside(program: &Program, vars: &Arena<VarId, Var>, a: &Map, b: &Map) -> Result<(), Refusal> {
    let of_a = Effects::of_stmt(program, vars, &stmt_of(a));
    let of_b = Effects::of_stmt(program, vars, &stmt_of(b));
    let mut varying: OrdSet<VarId> = of_a.writes.union(&of_b.writes).copied().collect();
    varying.extend(of_a.declares.iter().chain(&of_b.declares));
    for iter in &b.iters {
        for bound in [&iter.lo, &iter.hi, &iter.step] {
            if Effects::of_expr(bound).iter().any(|read| of_a.writes.contains(read)) {
                return refuse("the range of the second depends on what the first writes");
            }
        }
    }
    let (in_a, in_b) = (touched(a), touched(b));
    for array in of_a.free().intersection(&of_b.free()) {
        let written = of_a.writes.contains(array) || of_b.writes.contains(array);
        if !written || !vars[*array].is_array() {
            continue;
        }
        let name = &vars[*array].name;
        if in_a.whole.contains(array) || in_b.whole.contains(array) {
            return refuse(format!("a primitive works on `{name}`"));
        }
        for (place, writes) in in_a.of(*array) {
            for (other, also_writes) in in_b.of(*array) {
                let apart = || {
                    meet_in_one_iteration(a, &varying, place, other)
                        || never_meet(a, &varying, &place.index, &other.index)
                };
                if (writes || also_writes) && !apart() {
                    let verb = if also_writes { "writes" } else { "reads" };
                    return refuse(format!("the second {verb} `{name}` at another index"));
                }
            }
        }
    }
    Ok(())
}

/// What a map touches.
#[derive(Default)]
struct Touched {
    /// Elements, and whether they are written.
    places: Vec<(Place, bool)>,
    /// Arrays that primitives, swaps or atomic updates touch.
    whole: OrdSet<VarId>,
}

impl Touched {
    fn of(&self, array: VarId) -> impl Iterator<Item = (&Place, bool)> {
        self.places.iter().filter(move |(place, _)| place.array == array).map(|(place, writes)| (place, *writes))
    }
}

fn touched(map: &Map) -> Touched {
    let mut touched = Touched::default();
    touched.visit_block(&Block { stmts: vec![stmt_of(map)] });
    touched
}

impl Visitor for Touched {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Atomic { place, .. } => {
                self.whole.insert(place.array);
            }
            StmtKind::Swap(a, b) => self.whole.extend([*a, *b]),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
        look::walk_stmt(self, stmt);
    }
    fn visit_prim(&mut self, call: &PrimCall) {
        let mut copy = call.clone();
        copy.result = None;
        let stmt = Stmt { kind: StmtKind::Prim(Box::new(copy)), span: call.span };
        visit::walk_vars(&Block { stmts: vec![stmt] }, |var, _| {
            self.whole.insert(var);
        });
        look::walk_prim(self, call);
    }
    fn visit_place(&mut self, place: &Place, role: Role) {
        self.places.push((place.clone(), matches!(role, Role::Write | Role::Update)));
        look::walk_place(self, place, role);
    }
}

/// Whether `a` and `b`, subscripts of one array, can only be one element within one iteration of the map: for each iterator there
/// is a dimension in which both are that iterator plus the same unchanging amount.
fn meet_in_one_iteration(map: &Map, varying: &OrdSet<VarId>, a: &Place, b: &Place) -> bool {
    let exclusive = a.access == Access::Exclusive && b.access == Access::Exclusive;
    exclusive
        && map.iters.iter().all(|iter| {
            a.index
                .iter()
                .zip(&b.index)
                .any(|(left, right)| same::expr(left, right) && tells_apart(left, iter.var, varying))
        })
}

/// Whether two subscripts of one array are never one element: in some dimension one is an iterator, the other an unchanging
/// amount outside of the iterator's range.
fn never_meet(map: &Map, varying: &OrdSet<VarId>, a: &[Expr], b: &[Expr]) -> bool {
    let outside = |index: &Expr, other: &Expr| {
        let of_index = |iter: &&Iter| matches!(index.kind, ExprKind::Read(var) if var == iter.var);
        is_steady(other, varying) && map.iters.iter().find(of_index).is_some_and(|iter| is_outside(iter, other))
    };
    a.iter().zip(b).any(|(left, right)| outside(left, right) || outside(right, left))
}

/// Whether `index`, which is inside of some array, is before the first value of an iterator, or one past the last. A sum with an index
/// that is inside does not wrap.
fn is_outside(iter: &Iter, index: &Expr) -> bool {
    let after = matches!(&iter.lo.kind, ExprKind::Binary { op: BinOp::Add, left, right, .. }
        if same::expr(left, index) && right.as_int().is_some_and(|by| (1..=i128::from(i32::MAX)).contains(&by)));
    after || same::expr(&iter.hi, index)
}

fn is_steady(expr: &Expr, varying: &OrdSet<VarId>) -> bool {
    let mut steady = true;
    visit::walk_expr_vars(expr, |read, _| steady &= !varying.contains(&read));
    steady
}

/// Whether `index` has a different value for each value of `iter`: plus or minus the iterator, plus or minus what does not change.
fn tells_apart(index: &Expr, iter: VarId, varying: &OrdSet<VarId>) -> bool {
    let steady = |expr: &Expr| is_steady(expr, varying);
    match &index.kind {
        ExprKind::Read(var) => *var == iter,
        ExprKind::Unary(UnOp::Neg, operand) => tells_apart(operand, iter, varying),
        ExprKind::Binary { op: BinOp::Add | BinOp::Sub, left, right, .. } => {
            (tells_apart(left, iter, varying) && steady(right)) || (steady(left) && tells_apart(right, iter, varying))
        }
        _ => false,
    }
}
