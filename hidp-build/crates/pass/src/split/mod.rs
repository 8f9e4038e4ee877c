//! `split`: folds get the normal form that planning and lowering know.
//!
//! Afterwards every map has either no folds, or only `reduce` folds over all its iterators with scalar targets, or exactly one
//! iterator and only `scan` and `exscan` folds. What a fold does not run over becomes a map around it: the product
//! `{[0:M,0:N,0:K]}` with a fold over k becomes the nest `{[0:M,0:N],[0:K]}`.
//!
//! Iterations are independent, so a nest may visit them in another order than the product did, unless they can fault (the first
//! fault in the product's order is the one to report) or the operator is not commutative. Folds that do not fit into the same
//! nest get a map of their own: over a second copy of a cheap body, or over the values kept in a temporary array.

mod hoist;
mod kept;
mod nest;

use super::Pass;
use hidp_ir::par::effects::{Effects, expr_may_fault, may_fault, scalar_fn_may_fault};
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{
    BinOp, Block, Expr, ExprKind, FaultKind, Fold, FoldFn, FoldKind, FuncId, Iter, Map, Place, Program, Stmt, StmtKind,
    Target, Var, VarId, VarKind,
};
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "split",
    about: "turns folds over some of a map's iterators into nested maps whose folds run over all of theirs",
    run,
};

fn run(program: &mut Program) {
    let before = program.clone();
    for (_, func) in program.funcs.iter_mut() {
        let mut body = std::mem::take(&mut func.body);
        Split { program: &before, vars: &mut func.vars, is_host_level: true }.visit_block(&mut body);
        func.body = body;
    }
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    funcs.into_iter().for_each(|func| hoist::run(program, func));
}

struct Split<'p, 'v> {
    program: &'p Program,
    vars: &'v mut Arena<VarId, Var>,
    /// Whether the block at hand is in no map.
    is_host_level: bool,
}

impl Mutator for Split<'_, '_> {
    fn visit_block(&mut self, block: &mut Block) {
        change::walk_block(self, block);
        let stmts = std::mem::take(&mut block.stmts);
        for Stmt { kind, span } in stmts {
            match kind {
                StmtKind::Map(map) => block.stmts.extend(self.map(map, span, false)),
                kind => block.stmts.push(Stmt { kind, span }),
            }
        }
    }
    fn visit_map(&mut self, map: &mut Map) {
        let outside = std::mem::replace(&mut self.is_host_level, false);
        change::walk_map(self, map);
        self.is_host_level = outside;
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

impl Split<'_, '_> {
    /// What to put in the place of a map whose body is split already. `kept`: its body only reads values kept by another map.
    fn map(&mut self, mut map: Map, span: Span, kept: bool) -> Vec<Stmt> {
        if self.is_host_level && is_scan(&map) && self.stores(&map) {
            return self.keep_values(map, span);
        }
        if map.folds.is_empty() || is_scan(&map) {
            return vec![Stmt { kind: StmtKind::Map(map), span }];
        }
        if map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce && fold.over.len() == map.iters.len()) {
            return self.nest(map, span);
        }
        let mut before = self.settle_bounds(&mut map);
        if !kept && !self.may_be_nested(&map) {
            before.extend(self.keep_values(map, span));
            return before;
        }
        let (folds, others) = self.first_chain(&map);
        if others.is_empty() {
            before.extend(self.nest(map, span));
            return before;
        }
        let second = if self.is_cheap(&map) {
            self.copy_of(&map, others)
        } else {
            self.keep_some(&mut map, others, &mut before)
        };
        map.folds = folds;
        before.extend(self.map(map, span, kept));
        before.extend(self.map(second, span, true));
        before
    }

    /// Whether the body does more than compute values, so that a scan could not run it once for sums and again for prefixes.
    fn stores(&self, map: &Map) -> bool {
        !map.folds.is_empty() && !Effects::of_block(self.program, self.vars, &map.body).outer_writes().is_empty()
    }

    /// A fresh local.
    fn local(&mut self, name: String, ty: Ty, shape: Vec<Expr>, span: Span) -> VarId {
        self.vars.push(Var { name, ty, shape, kind: VarKind::Local, span })
    }

    fn name(&self, var: VarId) -> String {
        self.vars[var].name.clone()
    }

    /// Evaluates bounds that are more than arithmetic of scalars before the map, so that they can be evaluated again inside it.
    fn settle_bounds(&mut self, map: &mut Map) -> Vec<Stmt> {
        let mut before = Vec::new();
        for iter in &mut map.iters {
            let Iter { var, lo, hi, step, span } = iter;
            for (bound, what) in [(lo, "low"), (hi, "high")] {
                self.settle(bound, *var, what, &mut before);
            }
            if step.as_int().is_none_or(|step| step <= 0) {
                let place = step.span;
                self.settle(step, *var, "step", &mut before);
                let cond = Expr::long(BinOp::Gt, step.clone(), Expr::int(0, *span));
                let values = vec![("the stride".to_string(), step.clone())];
                before.push(Stmt { kind: StmtKind::Require { cond, fault: FaultKind::Stride, values }, span: place });
            }
        }
        before
    }

    fn settle(&mut self, bound: &mut Expr, iter: VarId, what: &str, before: &mut Vec<Stmt>) {
        let mut simple = !expr_may_fault(self.program, bound);
        visit::walk_subexprs(bound, |node| {
            simple &= !matches!(node.kind, ExprKind::Load(_) | ExprKind::Call(..));
        });
        if simple {
            return;
        }
        let span = bound.span;
        let var = self.local(format!("{}_{what}", self.name(iter)), Ty::LONG, Vec::new(), span);
        let value = std::mem::replace(bound, Expr::read(var, Ty::LONG, span));
        before.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span });
        before.push(Stmt { kind: StmtKind::Assign { var, value }, span });
    }

    /// Whether results may be delivered, and iterations visited, in the order of a nest, without an observable difference.
    fn may_be_nested(&self, map: &Map) -> bool {
        let chain = self.first_chain(map).0;
        let order: Vec<VarId> = levels(map, &chain).concat();
        let in_order = order.iter().eq(map.iters.iter().map(|iter| &iter.var));
        let body_faults =
            may_fault(self.program, self.vars, &map.body) || map.folds.iter().any(|fold| self.op_faults(fold));
        let delivery_faults = map.folds.iter().any(|fold| self.delivery_faults(fold));
        !(body_faults && (!in_order || delivery_faults)) && map.folds.iter().all(|fold| !self.result_is_seen(map, fold))
    }

    fn op_faults(&self, fold: &Fold) -> bool {
        let neutral = fold.op.neutral.as_ref().is_some_and(|neutral| expr_may_fault(self.program, neutral));
        neutral
            || match fold.op.func {
                FoldFn::Fn(id) => scalar_fn_may_fault(self.program, id),
                FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => false,
            }
    }

    /// Whether storing the result can fault.
    fn delivery_faults(&self, fold: &Fold) -> bool {
        match &fold.target {
            Target::Scalar(_) => false,
            Target::Element(place) => {
                place.unproved != 0 || place.index.iter().any(|index| expr_may_fault(self.program, index))
            }
        }
    }

    /// Whether an iteration could see the result of another one, if results were stored before all iterations have ended: the
    /// body touches other elements of the target than the one that it contributes to, or writes what the target's subscripts read.
    fn result_is_seen(&self, map: &Map, fold: &Fold) -> bool {
        let Target::Element(target) = &fold.target else { return false };
        let mut mentions = 0;
        let mut same = 0;
        let mut writes = Vec::new();
        visit::walk_vars(&map.body, |var, role| {
            mentions += usize::from(var == target.array);
            if matches!(role, Role::Write | Role::Update) {
                writes.push(var);
            }
        });
        visit::walk_places(&map.body, |place, _| same += usize::from(is_same_element(place, target)));
        for other in &map.folds {
            if let Target::Element(place) = &other.target {
                writes.push(place.array);
            }
        }
        let mut moves = false;
        for index in &target.index {
            visit::walk_expr_vars(index, |var, _| moves |= writes.contains(&var));
        }
        mentions != same || moves
    }

    /// The folds that fit into the nest that the first of them asks for, and the others, both in order.
    fn first_chain(&self, map: &Map) -> (Vec<Fold>, Vec<Fold>) {
        let (mut chain, mut others): (Vec<Fold>, Vec<Fold>) = (Vec::new(), Vec::new());
        for fold in &map.folds {
            let fits = chain.iter().all(|member| self.fit_together(map, member, fold))
                && others.iter().all(|other| !(self.is_picky(other) && self.is_picky(fold)));
            if fits { chain.push(fold.clone()) } else { others.push(fold.clone()) }
        }
        (chain, others)
    }

    /// Whether the delivery can fault, which fixes its place among those of other folds.
    fn is_picky(&self, fold: &Fold) -> bool {
        fold.op.neutral.is_none() || self.delivery_faults(fold)
    }

    fn fit_together(&self, map: &Map, a: &Fold, b: &Fold) -> bool {
        if target_array(a).is_some() && target_array(a) == target_array(b) || self.is_picky(a) && self.is_picky(b) {
            return false;
        }
        match (a.kind, b.kind) {
            (FoldKind::Reduce, FoldKind::Reduce) => {
                let (small, large) = if a.over.len() <= b.over.len() { (a, b) } else { (b, a) };
                small.over.iter().all(|var| large.over.contains(var))
                    && (small.over.len() == large.over.len() || may_fold_partially(map, small, large))
            }
            (FoldKind::Scan | FoldKind::Exscan, FoldKind::Scan | FoldKind::Exscan) => a.over == b.over,
            (FoldKind::Reduce, FoldKind::Scan | FoldKind::Exscan)
            | (FoldKind::Scan | FoldKind::Exscan, FoldKind::Reduce) => false,
        }
    }
}

/// Whether all folds of a program are in the form that this pass makes.
pub(super) fn is_normal(program: &Program) -> bool {
    let mut normal = true;
    for (_, func) in program.funcs.iter() {
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Map(map) = &stmt.kind {
                normal &= is_scan(map) || map.folds.iter().all(|fold| is_total(map, fold));
            }
        });
    }
    normal
}

fn is_total(map: &Map, fold: &Fold) -> bool {
    fold.kind == FoldKind::Reduce && fold.over.len() == map.iters.len() && matches!(fold.target, Target::Scalar(_))
}

fn is_same_element(place: &Place, target: &Place) -> bool {
    place.array == target.array && same::exprs(&place.index, &target.index)
}

fn target_array(fold: &Fold) -> Option<VarId> {
    match &fold.target {
        Target::Scalar(_) => None,
        Target::Element(place) => Some(place.array),
    }
}

/// Whether `large` may first be folded over the iterators of `small`: not if strictly left to right, and in the same sequence if
/// the operator need not be commutative.
fn may_fold_partially(map: &Map, small: &Fold, large: &Fold) -> bool {
    let commutative = match large.op.func {
        FoldFn::Fn(_) => false,
        FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => true,
    };
    let inner_last = map
        .iters
        .iter()
        .filter(|iter| large.over.contains(&iter.var))
        .is_sorted_by_key(|iter| small.over.contains(&iter.var));
    !large.op.ordered && (commutative || inner_last)
}

/// Whether a map is a scan in normal form.
fn is_scan(map: &Map) -> bool {
    map.iters.len() == 1 && map.folds.iter().all(|fold| matches!(fold.kind, FoldKind::Scan | FoldKind::Exscan))
}

/// The iterators of each map of the nest for a chain of folds, outermost map first; the first may be empty.
fn levels(map: &Map, chain: &[Fold]) -> Vec<Vec<VarId>> {
    let mut sizes: Vec<&Fold> = chain.iter().collect();
    sizes.sort_by_key(|fold| std::cmp::Reverse(fold.over.len()));
    sizes.dedup_by_key(|fold| fold.over.len());
    let all = map.iters.iter().map(|iter| iter.var);
    let outside = |outer: Option<&Fold>, inner: Option<&Fold>| -> Vec<VarId> {
        all.clone()
            .filter(|var| {
                outer.is_none_or(|fold| fold.over.contains(var)) && inner.is_none_or(|fold| !fold.over.contains(var))
            })
            .collect()
    };
    let mut levels = vec![outside(None, sizes.first().copied())];
    for (at, fold) in sizes.iter().enumerate() {
        levels.push(outside(Some(fold), sizes.get(at + 1).copied()));
    }
    levels
}
