//! Compaction: elements that a prefix sum of conditions selects and the next nest stores are packed in tiles in the pass that computes the sum.
//!
//! ```text
//! map { i := [0:N); _f = x[i] > 0 ? 1l : 0l; } exscan("+", place[i], _f, i := [*])
//! map { i := [0:N); if (x[i] > 0) y[place[i]] = x[i]; }
//! ```

use super::key;
use super::prefixes::can_be_in_blocks;
use hidp_ir::par::effects::{Effects, expr_may_fault, may_fault};
use hidp_ir::par::once::inside;
use hidp_ir::par::visit::{self, child_blocks};
use hidp_ir::par::{
    BinOp, Block, ConvertMode, Expr, ExprKind, Fold, FoldFn, FoldKind, Func, Map, Place, Program, Stmt, StmtKind,
    Target, VarId, VarKind, same,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{Scalar, Ty};

/// Prefix sums of 1 and 0 that another nest uses as positions, and that have no other use.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed<'m> {
    /// When an iteration counts, as the prefix sum's map says it.
    pub condition: &'m Expr,
    /// In which integers it counts.
    pub sum: Scalar,
    /// The next nest.
    pub next: &'m Map,
    /// The statement of it that stores where an iteration counts.
    pub at: usize,
    /// What it stores; places are one array's each.
    pub stores: Vec<PackedStore<'m>>,
    /// What its folds make, where all of them count the same iterations.
    pub totals: Vec<VarId>,
}

/// A store at the place that the prefix sum of an iteration gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedStore<'m> {
    /// The array and the index.
    pub place: &'m Place,
    /// What is stored: it can be computed in every iteration.
    pub value: &'m Expr,
}

impl Packed<'_> {
    /// What is left of the next nest: nothing if all its folds are known.
    pub fn rest(&self) -> Option<Map> {
        let rest = Map { body: self.body_left(), ..self.next.clone() };
        (rest.folds.len() > self.totals.len()).then_some(rest)
    }

    fn body_left(&self) -> Block {
        let mut body = self.next.body.clone();
        body.stmts.remove(self.at);
        body
    }
}

/// What the next nest keeps by the prefix sums of `nest`, if that is all that they are for.
pub fn packed<'f>(program: &Program, func: &'f Func, nest: &Map) -> Option<Packed<'f>> {
    let (first, next) = with_next(&func.body, key(nest)?)?;
    let (condition, places) = sum_of_condition(program, func, first)?;
    let [iter] = &next.iters[..] else { return None };
    let own = &first.iters[0];
    let same_range =
        same::expr(&own.lo, &iter.lo) && same::expr(&own.hi, &iter.hi) && same::expr(&own.step, &iter.step);
    let reduces = next.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
    let (at, then) = taken(next, condition, own.var)?;
    if !same_range || !reduces {
        return None;
    }
    let exclusive = first.folds[0].kind == FoldKind::Exscan;
    let stores: Option<Vec<PackedStore<'f>>> =
        then.stmts.iter().map(|stmt| store(func, next, (places, exclusive), stmt)).collect();
    let totals: Option<Vec<VarId>> =
        next.folds.iter().map(|fold| total(next, condition, &first.folds[0], (own.var, fold))).collect();
    let sum = added(&first.folds[0])?;
    let found = Packed { condition, sum, next, at, stores: stores?, totals: totals.unwrap_or_default() };
    (is_all(program, func, places, &found) && are_apart(program, func, &found)).then_some(found)
}

/// The map with this key at host level, and the one right behind it.
fn with_next(block: &Block, wanted: VarId) -> Option<(&Map, &Map)> {
    let of = |stmt: &'_ Stmt| matches!(&stmt.kind, StmtKind::Map(map) if key(map) == Some(wanted));
    if let Some(at) = block.stmts.iter().position(of) {
        let (StmtKind::Map(first), StmtKind::Map(next)) = (&block.stmts[at].kind, &block.stmts.get(at + 1)?.kind)
        else {
            return None;
        };
        return Some((first, next));
    }
    let outside = |stmt: &&Stmt| !matches!(stmt.kind, StmtKind::Map(_));
    block.stmts.iter().filter(outside).flat_map(child_blocks).find_map(|block| with_next(block, wanted))
}

/// The condition that a map sums up, and the array that takes the prefixes.
fn sum_of_condition<'f>(program: &Program, func: &Func, map: &'f Map) -> Option<(&'f Expr, VarId)> {
    let ([fold], [iter], [declare, assign]) = (&map.folds[..], &map.iters[..], &map.body.stmts[..]) else {
        return None;
    };
    let (StmtKind::Declare { .. }, StmtKind::Assign { var, value }) = (&declare.kind, &assign.kind) else {
        return None;
    };
    let cond = value.as_flag()?;
    let Target::Element(place) = &fold.target else { return None };
    let array = &func.vars[place.array];
    let sums = fold.kind != FoldKind::Reduce && added(fold).is_some() && *var == fold.value;
    let own = matches!(&place.index[..], [index] if index.kind == ExprKind::Read(iter.var)) && place.unproved == 0;
    let fits = sums && own && array.kind == VarKind::Local && iter.step.as_int() == Some(1);
    let sure = !expr_may_fault(program, cond) && can_be_in_blocks(program, func, map);
    (fits && sure).then_some((cond, place.array))
}

/// In which integers a fold of 1 and 0 counts: those of 32 bits wrap where they no longer are places.
fn added(fold: &Fold) -> Option<Scalar> {
    match fold.op.ty {
        Ty::Scalar(sum @ (Scalar::I32 | Scalar::I64)) if fold.op.func == FoldFn::Add => Some(sum),
        Ty::Scalar(_) | Ty::Struct(_) => None,
    }
}

/// A condition on the iterations of the nest before, as this one says it.
fn in_next(map: &Map, condition: &Expr, iter: VarId) -> Expr {
    let own = map.iters[0].var;
    let mut wanted = condition.clone();
    visit::map_subexprs(&mut wanted, |node| {
        if node.kind == ExprKind::Read(iter) {
            node.kind = ExprKind::Read(own);
        }
    });
    wanted
}

/// What a fold makes, if that is how many iterations count.
fn total(map: &Map, condition: &Expr, prefix: &Fold, (iter, fold): (VarId, &Fold)) -> Option<VarId> {
    let Target::Scalar(var) = &fold.target else { return None };
    let mut mentions = 0;
    visit::walk_vars(&map.body, |var, _| mentions += usize::from(var == fold.value));
    let wanted = in_next(map, condition, iter);
    let counts = map.body.stmts.iter().any(|stmt| {
        let StmtKind::Assign { var, value } = &stmt.kind else { return false };
        *var == fold.value && value.as_flag().is_some_and(|cond| same::expr(cond, &wanted))
    });
    // Its declaration and that assignment.
    (added(fold) == added(prefix) && counts && mentions == 2).then_some(*var)
}

/// The only statement of a map that its iterations take on this condition, and what it does then.
fn taken<'f>(map: &'f Map, condition: &Expr, iter: VarId) -> Option<(usize, &'f Block)> {
    let wanted = in_next(map, condition, iter);
    map.body.stmts.iter().enumerate().find_map(|(at, stmt)| match &stmt.kind {
        StmtKind::If { cond, then, otherwise } => {
            (otherwise.stmts.is_empty() && same::expr(cond, &wanted)).then_some((at, then))
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
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
        | StmtKind::Require { .. } => None,
    })
}

/// A store at how many iterations before this one count.
fn store<'f>(func: &Func, next: &Map, (places, exclusive): (VarId, bool), stmt: &'f Stmt) -> Option<PackedStore<'f>> {
    let StmtKind::Store { place, value } = &stmt.kind else { return None };
    let ([index], [], Ty::Scalar(_)) = (&place.index[..], &place.path[..], value.ty) else { return None };
    let index = widened(index);
    let before = if exclusive { index } else { one_less(index)? };
    let ExprKind::Load(prefix) = &before.kind else { return None };
    let iter = next.iters[0].var;
    let own = prefix.array == places && prefix.index.len() == 1 && prefix.index[0].kind == ExprKind::Read(iter);
    let inside = inside(next);
    (own && is_always_there(func, next, &inside, value)).then_some(PackedStore { place, value })
}

/// What an index is made of.
fn widened(index: &Expr) -> &Expr {
    match &index.kind {
        ExprKind::Convert { operand, mode: ConvertMode::Cast } if operand.ty == Ty::Scalar(Scalar::I32) => operand,
        _ => index,
    }
}

/// What an expression is one less than.
fn one_less(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Binary { op: BinOp::Sub, left, right, .. } = &expr.kind else { return None };
    (right.as_int() == Some(1)).then_some(left)
}

/// Whether a value can be computed in every iteration of a map, also where its condition does not hold, and soon.
fn is_always_there(func: &Func, map: &Map, inside: &OrdSet<VarId>, value: &Expr) -> bool {
    let iter = &map.iters[0];
    let there = |place: &Place| {
        let ([index], [extent]) = (&place.index[..], &func.vars[place.array].shape[..]) else { return false };
        let all = iter.lo.as_int().is_some_and(|lo| lo >= 0) && same::expr(&iter.hi, extent);
        all && index.kind == ExprKind::Read(iter.var) && place.unproved == 0
    };
    let mut good = true;
    visit::walk_subexprs(value, |node| {
        good &= match &node.kind {
            ExprKind::Read(var) => *var == iter.var || !inside.contains(var),
            ExprKind::Load(place) => there(place),
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr, .. } => false,
            ExprKind::Binary { checked, .. } => !checked,
            ExprKind::Convert { mode, .. } => *mode != ConvertMode::Checked,
            ExprKind::Const(_) | ExprKind::Unary(..) | ExprKind::Select { .. } => true,
            ExprKind::Lazy { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        };
    });
    good
}

/// Whether the prefixes have no other use.
fn is_all(program: &Program, func: &Func, places: VarId, found: &Packed<'_>) -> bool {
    let mut others = 0;
    visit::walk_vars(&func.body, |var, _| others += usize::from(var == places));
    // Its declaration, the fold, and the stores.
    let known = others == 2 + found.stores.len();
    let reads = |expr: &Expr| Effects::of_expr(expr).contains(&places);
    let extents = func.vars.iter().all(|(_, var)| !var.shape.iter().any(reads));
    known && extents && !may_fault(program, &func.vars, &found.body_left())
}

/// Whether stores are the only accesses to their arrays, and nothing else of the nest has effects.
fn are_apart(program: &Program, func: &Func, found: &Packed<'_>) -> bool {
    let arrays: OrdSet<VarId> = found.stores.iter().map(|store| store.place.array).collect();
    let effects = Effects::of_block(program, &func.vars, &found.body_left());
    let targets = found.next.folds.iter().all(|fold| matches!(fold.target, Target::Scalar(_)));
    let reads = |expr: &Expr| !Effects::of_expr(expr).is_disjoint(&arrays);
    let read = reads(found.condition) || found.stores.iter().any(|store| reads(store.value));
    arrays.len() == found.stores.len()
        && !found.stores.is_empty()
        && !read
        && targets
        && effects.outer_writes().is_empty()
        && effects.reads.is_disjoint(&arrays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    /// How many stores of the second nest are gathered.
    fn stores(flag: &str, second: &str) -> usize {
        let text = format!(
            "function f input float x[N], w[M]; inout float y[N], z[N]; output long count;
            {{ long place[N];
              map {{ i := [0:N); _f = {flag}; }} exscan(\"+\", place[i], _f, i := [*]); reduce(\"+\", count, _f, i := [*]);
              {second} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        packed(&program, func, crate::nests(func)[0]).map_or(0, |packed| packed.stores.len())
    }

    #[test]
    fn nothing_is_left_of_a_nest_whose_folds_count_what_is_kept() {
        let left = |flag: &str, fold: &str| {
            let text = format!(
                "function f input float x[N]; inout float y[N]; output long count;
                {{ long place[N];
                  map {{ i := [0:N); _f = x[i] > 0 ? 1l : 0l; }} exscan(\"+\", place[i], _f, i := [*]);
                  map {{ i := [0:N); _g = {flag}; if (x[i] > 0) y[place[i]] = x[i]; }} reduce(\"{fold}\", count, _g, i := [*]); }}"
            );
            let program = optimised(&text);
            let func = &program.funcs[program.entries[0]];
            packed(&program, func, crate::nests(func)[0]).expect("it is gathered").rest().is_some()
        };
        assert!(!left("x[i] > 0 ? 1l : 0l", "+"));
        assert!(left("x[i] >= 0 ? 1l : 0l", "+"), "another condition");
        assert!(left("x[i] > 0 ? 2l : 0l", "+"), "twice as much");
        assert!(left("x[i] > 0 ? 1l : 0l", "max"), "another fold");
    }

    #[test]
    fn what_a_prefix_sum_keeps_is_gathered() {
        let of = |second: &str| stores("x[i] > 0 ? 1l : 0l", second);
        let kept = |body: &str| of(&format!("map {{ i := [0:N); if (x[i] > 0) {{ {body} }} }}"));
        assert_eq!(kept("y[place[i]] = x[i];"), 1);
        assert_eq!(kept("y[place[i]] = 2 * x[i]; z[place[i]] = i;"), 2);
        assert_eq!(kept("y[place[i]] = x[i]; y[place[i]] = i;"), 0, "one after the other");
        assert_eq!(kept("y[place[i]] = z[i]; z[place[i]] = x[i];"), 0, "what is stored is read");
        assert_eq!(kept("y[place[i]] = x[i]; z[i] = place[i];"), 0, "another use of the prefix");
        assert_eq!(kept("y[place[i] + 1] = x[i];"), 0);
        assert_eq!(kept("y[place[i]] = x[i] / w[0];"), 0, "there may be nothing to divide by");
        assert_eq!(of("map { i := [0:N); if (x[i] >= 0) y[place[i]] = x[i]; }"), 0, "another condition");
        assert_eq!(of("map { i := [1:N); if (x[i] > 0) y[place[i]] = x[i]; }"), 0, "another range");
        assert_eq!(
            of("map { i := [0:N); if (x[i] > 0) y[place[i]] = x[i]; } y[0] = place[0];"),
            0,
            "a use behind both"
        );
        assert_eq!(stores("x[i] > 0 ? 2l : 0l", "map { i := [0:N); if (x[i] > 0) y[place[i]] = x[i]; }"), 0);
    }

    #[test]
    fn positions_of_stored_flags_are_prefixes_of_conditions() {
        let of = |int: &str, set: &str, between: &str, test: &str, kept: &str| {
            let text = format!(
                "function f input float x[N]; inout float y[N], z[N]; output long count; {{ {int} flag[N], at[N];
                  map {{ i := [0:N); flag[i] = {set}; }} exscan(\"+\", flag, at, N); {between}
                  map {{ i := [0:N); if ({test}) {{ {kept} }} }} if (N > 0) count = at[N-1] + flag[N-1]; }}"
            );
            let program = optimised(&text);
            let func = &program.funcs[program.entries[0]];
            packed(&program, func, crate::nests(func)[0]).map_or(0, |packed| packed.stores.len())
        };
        let set = "x[i] > 0 ? 1 : 0";
        let kept = "y[at[i]] = x[i];";
        for int in ["int", "long"] {
            for test in ["flag[i] == 1", "flag[i] != 0", "flag[i] > 0"] {
                assert_eq!(of(int, set, "", test, kept), 1, "{int} {test}");
            }
        }
        assert_eq!(of("long", set, "count = N;", "flag[i] == 1", kept), 1, "a statement that can wait");
        let pragma = "\n#pragma hidp unroll(4)\n";
        assert_eq!(of("long", set, pragma, "flag[i] == 1", kept), 0, "a directive of the map that places");
        assert_eq!(of("long", set, "y[0] = 1;", "flag[i] == 1", kept), 0, "a statement that is in the way");
        assert_eq!(of("long", set, "count = at[0];", "flag[i] == 1", kept), 0, "another use of the places");
        assert_eq!(of("long", set, "", "flag[i] == 0", kept), 0, "what is left out");
        assert_eq!(of("long", "y[i] > 0 ? 1 : 0", "", "flag[i] == 1", kept), 0, "what is stored sets the flags");
        assert_eq!(of("long", "x[i] > 0 ? 2 : 0", "", "flag[i] == 2", kept), 0, "twice as much");
        assert_eq!(of("long", set, "", "flag[i] == 1", "y[at[i]] = x[i]; z[i] = flag[i];"), 0, "another use of flags");
    }
}
