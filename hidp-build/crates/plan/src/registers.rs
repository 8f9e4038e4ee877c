//! Arrays of iterations that the lanes of a group hold in registers, an element each. What a lane reads of another's, it gets by a shuffle.

use super::bounded;
use super::mapping::Exec;
use hidp_ir::par::visit::{Role, child_blocks, walk_places, walk_stmt_vars, walk_stmts, walk_vars};
use hidp_ir::par::{
    BinOp, Block, ConvertMode, Expr, ExprKind, Fold, FoldFn, FoldKind, Func, Iter, Map, Place, Stmt, StmtKind, Target,
    VarId,
};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;

/// Those of some arrays of `map`'s iterations that can be held by groups of so many lanes. Lanes share inner maps from 0 on, each has one
/// element, and stores that alone. What they load of others has an index that all know before.
pub(super) fn held(
    func: &Func,
    map: &Map,
    exec: &dyn Fn(VarId) -> Option<Exec>,
    lanes: u32,
    arrays: OrdSet<VarId>,
) -> OrdSet<VarId> {
    let mut search = Search { func, exec, lanes, held: arrays };
    search.group(&map.body);
    search.held
}

/// Whether an access of an iteration along `iter` is to the element that the iteration's lane has.
pub fn is_own(place: &Place, iter: VarId) -> bool {
    matches!(&place.index[..], [Expr { kind: ExprKind::Read(var), .. }] if *var == iter)
}

struct Search<'a> {
    func: &'a Func,
    exec: &'a dyn Fn(VarId) -> Option<Exec>,
    lanes: u32,
    /// Nothing was found against these.
    held: OrdSet<VarId>,
}

impl Search<'_> {
    /// What all lanes run together.
    fn group(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Store { place, .. } | StmtKind::Atomic { place, .. } => {
                self.held.remove(&place.array);
            }
            StmtKind::Prim(_) | StmtKind::Call { .. } | StmtKind::Swap(..) => self.refuse(&mentioned(stmt)),
            StmtKind::Map(map) => self.map(map, stmt),
            StmtKind::If { .. } | StmtKind::Loop(_) | StmtKind::Scope(_) => {
                child_blocks(stmt).into_iter().for_each(|block| self.group(block));
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Require { .. } => {}
        }
    }

    fn refuse(&mut self, arrays: &OrdSet<VarId>) {
        arrays.iter().for_each(|array| {
            self.held.remove(array);
        });
    }

    fn map(&mut self, map: &Map, stmt: &Stmt) {
        for fold in &map.folds {
            if let Target::Element(place) = &fold.target {
                self.held.remove(&place.array);
            }
        }
        let among: OrdSet<VarId> = mentioned(stmt).intersection(&self.held).copied().collect();
        match map.iters.last().and_then(|iter| (self.exec)(iter.var)) {
            Some(Exec::Device(Level::Thread)) => self.shared(map, &among),
            Some(Exec::Device(_)) => self.refuse(&among),
            Some(Exec::Team | Exec::Thread | Exec::Lanes | Exec::Simd | Exec::Wide | Exec::Seq) | None => {
                self.group(&map.body)
            }
        }
    }

    /// A map whose iterations the lanes share.
    fn shared(&mut self, map: &Map, among: &OrdSet<VarId>) {
        let plain = |fold: &Fold| fold.kind == FoldKind::Reduce && !matches!(fold.op.func, FoldFn::Fn(_));
        let [iter] = &map.iters[..] else { return self.refuse(among) };
        let changed = changed(&map.body);
        for array in among {
            let fits = map.folds.iter().all(plain)
                && self.one_each(iter, *array)
                && is_exchanged(&map.body, *array, iter.var, &changed);
            if !fits {
                self.held.remove(array);
            }
        }
    }

    /// Whether iteration 0 is lane 0's, and so on, and each lane has one at most, where an array is declared.
    fn one_each(&self, iter: &Iter, array: VarId) -> bool {
        let most = bounded::most(self.func, array, &iter.hi);
        iter.lo.as_int() == Some(0)
            && iter.step.as_int() == Some(1)
            && most.is_some_and(|most| most <= self.lanes.into())
    }
}

fn mentioned(stmt: &Stmt) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    walk_stmt_vars(stmt, |var, _| {
        found.insert(var);
    });
    found
}

/// What an iteration declares or writes.
fn changed(body: &Block) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    walk_vars(body, |var, role| {
        if role != Role::Read {
            found.insert(var);
        }
    });
    found
}

/// Whether iterations along `iter` store their own element of an array, and what they load of it is known before: their own, or one
/// that none of them stores, whose number follows from what is known outside.
fn is_exchanged(body: &Block, array: VarId, iter: VarId, changed: &OrdSet<VarId>) -> bool {
    let (mut others, mut written, mut fits) = (false, false, true);
    walk_places(body, |place, role| {
        if place.array != array {
            return;
        }
        let own = is_own(place, iter);
        written |= role != Role::Read;
        others |= !own;
        fits &= own || role == Role::Read && place.index.iter().all(|index| is_known(index, iter, changed));
    });
    walk_stmts(body, |stmt| {
        let whole = matches!(
            stmt.kind,
            StmtKind::Prim(_) | StmtKind::Call { .. } | StmtKind::Swap(..) | StmtKind::Atomic { .. }
        );
        fits &= !whole || !mentioned(stmt).contains(&array);
    });
    fits && !(others && written)
}

/// Whether every lane can compute an integer, of any iteration, before any of them runs.
fn is_known(expr: &Expr, iter: VarId, changed: &OrdSet<VarId>) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(var) => *var == iter || !changed.contains(var),
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
            is_known(operand, iter, changed)
        }
        ExprKind::Binary {
            op: BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor,
            left,
            right,
            ..
        } => is_known(left, iter, changed) && is_known(right, iter, changed),
        // What may fault, or costs much.
        ExprKind::Binary { .. }
        | ExprKind::Load(_)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { mode: ConvertMode::Checked, .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}
