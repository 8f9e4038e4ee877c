//! Updates of threads' private copies whose targets are expensive to compute: lanes compute the targets of a tile of iterations, which are then
//! updated one after the other.

use super::copied::copied_targets;
use super::mapping::Strategy;
use super::{inner_maps, key};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, declared};
use hidp_ir::par::{Block, Expr, ExprKind, FoldOp, Func, Map, Place, Program, Stmt, StmtKind, VarId, lanes};
use hidp_syntax::ordered::OrdSet;

/// A map of which each iteration computes, and updates one element at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<'m> {
    /// What an iteration does first.
    pub before: &'m [Stmt],
    /// When it goes on, if not always, and what it does then.
    pub taken: Option<(&'m Expr, &'m [Stmt])>,
    /// The element.
    pub place: &'m Place,
    /// How it is updated.
    pub op: &'m FoldOp,
    /// By what: the same in all iterations.
    pub value: &'m Expr,
}

/// The update of a map of one iterator, if all before it can run in vector lanes.
pub fn update<'m>(program: &Program, func: &Func, map: &'m Map) -> Option<Update<'m>> {
    let ([iter], [before @ .., last]) = (&map.iters[..], &map.body.stmts[..]) else { return None };
    let (taken, atomic) = if let StmtKind::If { cond, then, otherwise } = &last.kind {
        let (atomic, inner) = then.stmts.split_last().filter(|_| otherwise.stmts.is_empty())?;
        (Some((cond, inner)), atomic)
    } else {
        (None, last)
    };
    let StmtKind::Atomic { place, op, value } = &atomic.kind else { return None };
    let mut computed: Vec<Stmt> = before.to_vec();
    computed.extend(taken.into_iter().flat_map(|(_, inner)| inner.to_vec()));
    let computed = Block { stmts: computed };
    let own: OrdSet<VarId> = declared(&map.body).into_iter().collect();
    let cond = taken.map(|(cond, _)| cond);
    let plain = lanes::straight(program, func, &computed)
        && cond.into_iter().chain(&place.index).all(|value| lanes::straight_expr(program, func, value))
        && Effects::of_block(program, &func.vars, &computed).outer_writes().is_empty();
    let fits = map.folds.is_empty()
        && iter.step.as_int() == Some(1)
        && map.directives.unroll.is_none()
        && place.index.len() == 1
        && matches!(value.kind, ExprKind::Const(_))
        && !own.contains(&place.array);
    (plain && fits).then_some(Update { before, taken, place, op, value })
}

/// The maps of a nest whose updates are of copies that its threads have, by their last iterators.
pub fn updates(program: &Program, func: &Func, nest: &Map, strategy: Strategy) -> Vec<VarId> {
    let copied = copied_targets(func, nest, strategy);
    let mut found = Vec::new();
    collect(nest, &mut |map| {
        let of_copy = |update: Update<'_>| copied.contains(&update.place.array);
        found.extend(key(map).filter(|_| update(program, func, map).is_some_and(of_copy)));
    });
    found
}

fn collect(map: &Map, visit: &mut impl FnMut(&Map)) {
    visit(map);
    inner_maps(&map.body).into_iter().for_each(|inner| collect(inner, visit));
}

/// How many operations an iteration of a map of these has at least, before it updates an element.
pub(crate) fn operations(nest: &Map, among: &[VarId]) -> usize {
    let mut least = usize::MAX;
    collect(nest, &mut |map| {
        if key(map).is_some_and(|key| among.contains(&key)) {
            let mut found = 0;
            visit::walk_exprs(&map.body, |node| {
                found +=
                    usize::from(matches!(node.kind, ExprKind::Binary { .. } | ExprKind::Math(..) | ExprKind::Call(..)));
            });
            least = least.min(found);
        }
    });
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::testing::optimised;

    fn of(body: &str) -> usize {
        let text = format!(
            "#pragma hidp nocontract
             function int share(int v) {{ return 8 / v; }}
             function f input float x[N], y[N]; input int k[N]; inout int a[B]; {{ map {{ i := [0:N); {body} }} }}"
        );
        let program = optimised(&text);
        let func = &program.funcs[program.entries[0]];
        updates(&program, func, nests(func)[0], Strategy::Rows).len()
    }

    #[test]
    fn one_update_behind_plain_computation() {
        let place = "int b = (int)(sqrt(x[i]) * y[i]);";
        assert_eq!(of(&format!("{place} atomic a[b] += 1;")), 1);
        assert_eq!(of(&format!("{place} if (b >= 0 && b < B) atomic a[b] += 1;")), 1);
        assert_eq!(of(&format!("map {{ j := [i:N); {} }}", "int b = (int)(x[i] * x[j]); atomic a[b] += 1;")), 1);
        assert_eq!(of(&format!("{place} atomic a[b] += k[i];")), 0, "another value each time");
        assert_eq!(of(&format!("{place} atomic a[b] += 1; atomic a[0] += 1;")), 0, "two of them");
        assert_eq!(of(&format!("{place} while (b > 9) {{ b = b / 2; }} atomic a[b] += 1;")), 0, "lanes go apart");
        assert_eq!(of("if (share(k[i]) > 1) atomic a[k[i] * 3 + 1] += 1;"), 0, "a check in a function stops a tile");
        assert_eq!(of("if (x[i] > 0) atomic a[share(k[i])] += 1;"), 0);
        assert_eq!(of("if (x[i] > 0) atomic a[k[i]] += 1; else atomic a[0] += 1;"), 0);
    }
}
