//! Facts of an iteration: elements that it stored or loaded into a scalar, and tests that it passed; and dead stores.

use hidp_ir::par::effects::{Effects, expr_may_fault};
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{Access, Block, Const, Expr, ExprKind, Func, Place, Program, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::index::Arena;

/// Forwards stored values to loads inside the maps of `func`.
pub(super) fn forward(program: &Program, func: &mut Func) {
    let mut body = std::mem::take(&mut func.body);
    Maps { forward: Forward { program, vars: &mut func.vars } }.visit_block(&mut body);
    func.body = body;
}

/// Finds the outermost maps.
struct Maps<'p, 'v> {
    forward: Forward<'p, 'v>,
}

impl Mutator for Maps<'_, '_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        if let StmtKind::Map(map) = &mut stmt.kind {
            self.forward.block(&mut map.body, Vec::new());
        } else {
            change::walk_stmt(self, stmt);
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// An expression whose value this iteration knows.
#[derive(Clone)]
struct Known {
    /// A scalar, a load, perhaps converted, or a condition.
    expr: Expr,
    /// A constant or a scalar.
    value: Expr,
}

struct Forward<'p, 'v> {
    program: &'p Program,
    vars: &'v mut Arena<VarId, Var>,
}

impl Forward<'_, '_> {
    fn block(&mut self, block: &mut Block, mut known: Vec<Known>) {
        let stmts = std::mem::take(&mut block.stmts);
        let mut rest = stmts.into_iter().collect::<std::collections::VecDeque<_>>();
        while let Some(mut stmt) = rest.pop_front() {
            self.stmt(&mut stmt, &known);
            if let StmtKind::Store { place, value } = &mut stmt.kind
                && !is_simple(value)
                && rest.iter().any(|later| loads(later, place))
            {
                block.stmts.extend(self.name_value(place, value));
            }
            forget(&mut known, &Effects::of_stmt(self.program, self.vars, &stmt));
            known.extend(learned(&stmt));
            block.stmts.push(stmt);
        }
        self.drop_overwritten(block);
    }

    /// Replaces loads in one statement, its nested blocks included.
    fn stmt(&mut self, stmt: &mut Stmt, known: &[Known]) {
        match &mut stmt.kind {
            StmtKind::If { cond, then, otherwise } => {
                replace(cond, known);
                self.block(then, known.to_vec());
                self.block(otherwise, known.to_vec());
            }
            StmtKind::Scope(inner) => self.block(inner, known.to_vec()),
            StmtKind::Loop(_) | StmtKind::Map(_) => self.repeated(stmt, known),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => Replace(known).visit_stmt(stmt),
        }
    }

    /// A loop or map: only what none of its iterations changes is known in each of them.
    fn repeated(&mut self, stmt: &mut Stmt, known: &[Known]) {
        let mut lasting = known.to_vec();
        forget(&mut lasting, &Effects::of_stmt(self.program, self.vars, stmt));
        match &mut stmt.kind {
            StmtKind::Loop(node) => {
                replace(&mut node.cond, &lasting);
                self.block(&mut node.body, lasting.clone());
                self.block(&mut node.step, lasting);
            }
            StmtKind::Map(map) => {
                for iter in &mut map.iters {
                    [&mut iter.lo, &mut iter.hi, &mut iter.step].into_iter().for_each(|bound| replace(bound, known));
                }
                self.block(&mut map.body, lasting);
            }
            _ => {}
        }
    }

    /// Gives the stored value a name: the statements that do so.
    fn name_value(&mut self, place: &Place, value: &mut Expr) -> [Stmt; 2] {
        let (ty, span) = (value.ty, value.span);
        let name = self.vars[place.array].name.clone();
        let var = self.vars.push(Var { name, ty, shape: Vec::new(), kind: VarKind::Local, span });
        let value = std::mem::replace(value, Expr::read(var, ty, span));
        [StmtKind::Declare { var, zero: false }, StmtKind::Assign { var, value }].map(|kind| Stmt { kind, span })
    }

    /// Drops stores that a later one of the same block overwrites before anything can load the element.
    fn drop_overwritten(&self, block: &mut Block) {
        let mut at = 0;
        while at < block.stmts.len() {
            if self.is_overwritten(&block.stmts[at], &block.stmts[at + 1..]) {
                block.stmts.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn is_overwritten(&self, stmt: &Stmt, later: &[Stmt]) -> bool {
        let StmtKind::Store { place, value } = &stmt.kind else { return false };
        let faults = place.unproved != 0
            || expr_may_fault(self.program, value)
            || place.index.iter().any(|index| expr_may_fault(self.program, index));
        if faults || place.access != Access::Exclusive {
            return false;
        }
        let index_reads: Vec<VarId> = place.index.iter().flat_map(Effects::of_expr).collect();
        for next in later {
            let effects = Effects::of_stmt(self.program, self.vars, next);
            if let StmtKind::Store { place: other, .. } = &next.kind
                && same::place(place, other)
            {
                return !effects.reads.contains(&place.array);
            }
            let straight = matches!(
                next.kind,
                StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::Store { .. } | StmtKind::Map(_)
            );
            let looks = effects.reads.contains(&place.array) || effects.writes.contains(&place.array);
            if !straight || looks || index_reads.iter().any(|read| effects.writes.contains(read)) {
                return false;
            }
        }
        false
    }
}

/// What is known once a statement has run.
fn learned(stmt: &Stmt) -> Option<Known> {
    let span = stmt.span;
    match &stmt.kind {
        StmtKind::Store { place, value } if place.access == Access::Exclusive && is_simple(value) => {
            let expr = Expr { kind: ExprKind::Load(place.clone()), ty: value.ty, span };
            Some(Known { expr, value: value.clone() })
        }
        StmtKind::Assign { var, value } if is_simple(value) && !Effects::of_expr(value).contains(var) => {
            Some(Known { expr: Expr::read(*var, value.ty, span), value: value.clone() })
        }
        // Larger expressions stay together: a product may be contracted with the sum it stands in.
        StmtKind::Assign { var, value } if is_loaded(value) && !Effects::of_expr(value).contains(var) => {
            Some(Known { expr: value.clone(), value: Expr::read(*var, value.ty, span) })
        }
        StmtKind::Require { cond, .. } => {
            let value = Expr { kind: ExprKind::Const(Const::Bool(true)), ty: cond.ty, span };
            Some(Known { expr: cond.clone(), value })
        }
        StmtKind::Store { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Declare { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. } => None,
    }
}

/// Whether an expression is a load, perhaps converted, that others do not disturb.
fn is_loaded(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Load(place) => place.access == Access::Exclusive,
        ExprKind::Convert { operand, .. } => is_loaded(operand),
        _ => false,
    }
}

fn is_simple(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Const(_) | ExprKind::Read(_))
}

/// Whether a statement, or one inside it, loads the element as it is written here.
fn loads(stmt: &Stmt, place: &Place) -> bool {
    let mut found = false;
    visit::walk_exprs(&Block { stmts: vec![stmt.clone()] }, |expr| {
        if let ExprKind::Load(other) = &expr.kind {
            found |= same::place(place, other);
        }
    });
    found
}

/// Drops what a statement with these effects may change.
fn forget(known: &mut Vec<Known>, effects: &Effects) {
    let changed = |var: &VarId| effects.writes.contains(var) || effects.declares.contains(var);
    known.retain(|fact| ![&fact.expr, &fact.value].into_iter().any(|expr| Effects::of_expr(expr).iter().any(changed)));
}

fn replace(expr: &mut Expr, known: &[Known]) {
    Replace(known).visit_expr(expr);
}

struct Replace<'k>(&'k [Known]);

impl Mutator for Replace<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let Some(fact) = self.0.iter().find(|fact| same::expr(&fact.expr, expr)) {
            expr.kind = fact.value.kind.clone();
        }
    }
}
