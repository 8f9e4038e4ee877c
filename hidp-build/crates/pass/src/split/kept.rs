//! Folds that cannot share a nest: their values come from a second copy of the body, or from a temporary array.

use super::Split;
use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit;
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Fold, Iter, Map, MathFn, Place, Stmt, StmtKind, Target, Var, VarId, VarKind,
};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

impl Split<'_, '_> {
    /// Whether running the body twice costs less than keeping its values, and gives the same ones: it stores nothing, loops
    /// nowhere, and reads no result of the map's folds.
    pub(super) fn is_cheap(&self, map: &Map) -> bool {
        let mut cheap = true;
        visit::walk_stmts(&map.body, |stmt| {
            cheap &= match &stmt.kind {
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::If { .. } => true,
                StmtKind::Store { .. }
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
                | StmtKind::Require { .. } => false,
            };
        });
        visit::walk_exprs(&map.body, |expr| cheap &= !matches!(expr.kind, ExprKind::Call(..)));
        let reads = Effects::of_block(self.program, self.vars, &map.body).outer_reads();
        cheap
            && map.folds.iter().all(|fold| match &fold.target {
                Target::Scalar(var) => !reads.contains(var),
                Target::Element(place) => !reads.contains(&place.array),
            })
    }

    /// The same map again, with fresh variables, for `folds`.
    pub(super) fn copy_of(&mut self, map: &Map, folds: Vec<Fold>) -> Map {
        let iters = map.iters.clone();
        let mut copy = Map { iters, body: Block::default(), folds, directives: map.directives.clone() };
        let mut fresh: OrdMap<VarId, VarId> = OrdMap::new();
        for iter in &mut copy.iters {
            let var = self.vars[iter.var].clone();
            let new = self.vars.push(var);
            fresh.insert(iter.var, new);
            iter.var = new;
        }
        let vars = self.vars.clone();
        copy.body = visit::clone_block(&map.body, &vars, self.vars, &mut fresh);
        rename_folds(&mut copy, &fresh);
        copy
    }

    /// The map without its folds, its values kept, and the maps that fold them.
    pub(super) fn keep_values(&mut self, mut map: Map, span: Span) -> Vec<Stmt> {
        let folds = std::mem::take(&mut map.folds);
        let mut stmts = Vec::new();
        let second = self.keep_some(&mut map, folds, &mut stmts);
        stmts.push(Stmt { kind: StmtKind::Map(map), span });
        stmts.extend(self.map(second, span, true));
        stmts
    }

    /// Lets `map` keep the values of `folds` in arrays declared in `before`; gives the map that folds them.
    pub(super) fn keep_some(&mut self, map: &mut Map, folds: Vec<Fold>, before: &mut Vec<Stmt>) -> Map {
        let mut second =
            Map { iters: map.iters.clone(), body: Block::default(), folds, directives: map.directives.clone() };
        let mut fresh: OrdMap<VarId, VarId> = OrdMap::new();
        for iter in &mut second.iters {
            let var = self.vars[iter.var].clone();
            let new = self.vars.push(var);
            fresh.insert(iter.var, new);
            iter.var = new;
        }
        let mut values: Vec<VarId> = second.folds.iter().map(|fold| fold.value).collect();
        values.dedup();
        for value in values {
            if fresh.contains_key(&value) {
                continue;
            }
            let (name, ty, span) = (self.name(value), self.vars[value].ty, self.vars[value].span);
            let shape = map.iters.iter().map(|iter| self.count(iter)).collect();
            let array = self.local(format!("{name}_kept"), ty, shape, span);
            before.push(Stmt { kind: StmtKind::Declare { var: array, zero: false }, span });
            let store = StmtKind::Store { place: element(array, &map.iters, span), value: Expr::read(value, ty, span) };
            map.body.stmts.push(Stmt { kind: store, span });
            let again = self.vars.push(Var { kind: VarKind::Local, ..self.vars[value].clone() });
            fresh.insert(value, again);
            let load = Expr { kind: ExprKind::Load(element(array, &second.iters, span)), ty, span };
            second.body.stmts.push(Stmt { kind: StmtKind::Declare { var: again, zero: false }, span });
            second.body.stmts.push(Stmt { kind: StmtKind::Assign { var: again, value: load }, span });
        }
        rename_folds(&mut second, &fresh);
        second
    }

    /// How often an iterator runs, never negative.
    fn count(&self, iter: &Iter) -> Expr {
        let span = iter.span;
        let from_zero = iter.lo.as_int() == Some(0);
        let is_dim = matches!(iter.hi.kind, ExprKind::Read(var) if self.vars[var].kind == VarKind::Dim);
        let length = if from_zero { iter.hi.clone() } else { Expr::long(BinOp::Sub, iter.hi.clone(), iter.lo.clone()) };
        let length = if from_zero && is_dim {
            length
        } else {
            Expr { kind: ExprKind::Math(MathFn::Max, vec![length, Expr::int(0, span)]), ty: Ty::LONG, span }
        };
        if iter.step.as_int() == Some(1) {
            return length;
        }
        let rounded = Expr::long(BinOp::Sub, Expr::long(BinOp::Add, length, iter.step.clone()), Expr::int(1, span));
        Expr::long(BinOp::Div, rounded, iter.step.clone())
    }
}

fn rename_folds(map: &mut Map, fresh: &OrdMap<VarId, VarId>) {
    let renamed = |var: VarId| fresh.get(&var).copied().unwrap_or(var);
    map.directives.pins.iter_mut().for_each(|pin| pin.rename(renamed));
    for fold in &mut map.folds {
        fold.value = renamed(fold.value);
        fold.over.iter_mut().for_each(|var| *var = renamed(*var));
        if let Target::Element(place) = &mut fold.target {
            place.index.iter_mut().for_each(|index| visit::rename_expr_vars(index, renamed));
        }
    }
}

/// The element of a kept array that belongs to an iteration.
fn element(array: VarId, iters: &[Iter], span: Span) -> Place {
    let position = |iter: &Iter| {
        let value = Expr::read(iter.var, Ty::LONG, iter.span);
        let from_low = if iter.lo.as_int() == Some(0) { value } else { Expr::long(BinOp::Sub, value, iter.lo.clone()) };
        if iter.step.as_int() == Some(1) { from_low } else { Expr::long(BinOp::Div, from_low, iter.step.clone()) }
    };
    Place {
        array,
        index: iters.iter().map(position).collect(),
        path: Vec::new(),
        unproved: every_dimension(iters.len()),
        access: Access::Exclusive,
        span,
    }
}
