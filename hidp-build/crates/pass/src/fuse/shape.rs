//! Which maps run over the same iterations.

use super::{Refusal, is_flat, refuse};
use hidp_ir::par::same;
use hidp_ir::par::{Block, Directives, Expr, Func, Iter, Map, Stmt, StmtKind};
use hidp_prove::Facts;

/// Two maps with as many iterators that run over the same ranges. If one runs over a product that begins with the ranges of the
/// other, its further iterators become a map inside.
pub(super) fn align(func: &Func, a: &Map, b: &Map) -> Result<(Map, Map), Refusal> {
    let shared = a.iters.len().min(b.iters.len());
    if !a.iters.iter().zip(&b.iters).all(|(of_a, of_b)| same_range(func, of_a, of_b)) {
        return refuse("their ranges differ");
    }
    Ok((outer(a, shared)?, outer(b, shared)?))
}

/// Whether two iterators run over the same values. Their bounds are evaluated at one point.
fn same_range(func: &Func, a: &Iter, b: &Iter) -> bool {
    let same_value = |a: &Expr, b: &Expr| same::expr(a, b) || Facts::new(func).same_extent(a, b);
    same_value(&a.lo, &b.lo) && same_value(&a.hi, &b.hi) && same_value(&a.step, &b.step)
}

/// `map` with only its first `count` iterators; the others become a map inside.
fn outer(map: &Map, count: usize) -> Result<Map, Refusal> {
    if map.iters.len() == count {
        return Ok(map.clone());
    }
    if !map.folds.is_empty() {
        return refuse("a fold runs over more iterators than the two maps share");
    }
    if !map.body.stmts.iter().all(is_flat) {
        return refuse("one of them is a nest over more iterators, which are better kept together");
    }
    let (shared, rest) = map.iters.split_at(count);
    let span = rest[0].span;
    let inner = Map {
        iters: rest.to_vec(),
        body: map.body.clone(),
        folds: Vec::new(),
        directives: Directives { levels: Vec::new(), block: None, pins: Vec::new(), ..map.directives.clone() },
    };
    Ok(Map {
        iters: shared.to_vec(),
        body: Block { stmts: vec![Stmt { kind: StmtKind::Map(inner), span }] },
        folds: Vec::new(),
        directives: Directives { unroll: None, ..map.directives.clone() },
    })
}
