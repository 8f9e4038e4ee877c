//! Drops stores that the next map overwrites: of a copy of an array, followed by a map over its inside.
//!
//! ```text
//! b = a;                                                   // map { i := [0:N); if (!(i >= 1 && i < N - 1)) b[i] = a[i]; }
//! map { i := [1:N-1); b[i] = a[i-1] + a[i+1]; }
//! ```
//!
//! Only the border of the first map is left, which loops in lanes run apart.

use super::Pass;
use hidp_ir::par::effects::{Effects, may_fault, may_jump};
use hidp_ir::par::visit::child_blocks_mut;
use hidp_ir::par::{
    BinOp, Block, Directives, Expr, ExprKind, Func, Iter, Map, Place, Program, Stmt, StmtKind, UnOp, VarId, same,
};
use hidp_syntax::ty::Ty;

/// The pass.
pub(super) const PASS: Pass =
    Pass { name: "overwritten", about: "leaves out stores of elements that the next map overwrites", run };

/// Widest border. Along lanes, where more than one iteration at an end would be tested one by one, and along other iterators.
const WIDEST: [i128; 2] = [1, 16];

fn run(program: &mut Program) {
    let ids: Vec<_> = program.funcs.iter().map(|(id, _)| id).collect();
    for id in ids {
        let mut body = std::mem::take(&mut program.funcs[id].body);
        in_block(program, &program.funcs[id], &mut body);
        program.funcs[id].body = body;
    }
}

fn in_block(program: &Program, func: &Func, block: &mut Block) {
    for at in 1..block.stmts.len() {
        let (before, behind) = block.stmts.split_at_mut(at);
        if let (Some(Stmt { kind: StmtKind::Map(first), .. }), Some(Stmt { kind: StmtKind::Map(next), .. })) =
            (before.last_mut(), behind.first())
            && let Some(inside) = inside(program, func, first, next)
        {
            outside_alone(first, inside);
        }
    }
    let outer = block.stmts.iter_mut().filter(|stmt| !matches!(stmt.kind, StmtKind::Map(_)));
    outer.flat_map(child_blocks_mut).for_each(|child| in_block(program, func, child));
}

/// When an iteration of the first map stores an element that the next one overwrites, if that can be said of its iterators.
fn inside(program: &Program, func: &Func, first: &Map, next: &Map) -> Option<Expr> {
    let [Stmt { kind: StmtKind::Store { place, .. }, .. }] = &first.body.stmts[..] else { return None };
    let array = place.array;
    let plain = |map: &Map| map.folds.is_empty() && map.directives == Directives::default();
    let same_shape = first.iters.len() == next.iters.len() && is_own(first, place);
    if !plain(first) || !plain(next) || !same_shape || may_fault(program, &func.vars, &first.body) {
        return None;
    }
    let [of_value, of_next] = [&first.body, &next.body].map(|body| Effects::of_block(program, &func.vars, body));
    let alone = !of_value.reads.contains(&array) && !of_next.reads.contains(&array);
    let stays = of_next.outer_writes().is_disjoint(&of_value.reads);
    if !alone || !stays || !overwrites(next, array) {
        return None;
    }
    let last = first.iters.len() - 1;
    let mut conditions = Vec::new();
    for (at, (outer, inner)) in first.iters.iter().zip(&next.iters).enumerate() {
        conditions.extend(within(outer, inner, WIDEST[usize::from(at < last)])?);
    }
    let and = |left: Expr, right: Expr| {
        let span = left.span;
        let kind = ExprKind::Lazy { and: true, left: left.into(), right: right.into() };
        Expr { kind, ty: Ty::BOOL, span }
    };
    conditions.into_iter().reduce(and)
}

/// Whether a place is the element of an iteration, of iterators that count from 0 by one.
fn is_own(map: &Map, place: &Place) -> bool {
    let counts = |iter: &Iter| iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1);
    map.iters.iter().all(counts) && is_at(map, place)
}

fn is_at(map: &Map, place: &Place) -> bool {
    let vars = map.iters.iter().map(|iter| ExprKind::Read(iter.var));
    place.path.is_empty() && vars.eq(place.index.iter().map(|index| index.kind.clone()))
}

/// Whether each iteration stores its element, whatever else it does.
fn overwrites(map: &Map, array: VarId) -> bool {
    let stores =
        |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Store { place, .. } if place.array == array && is_at(map, place));
    map.body.stmts.iter().any(stores) && !may_jump(&map.body)
}

/// What says of an iteration of `outer` that `inner` has it too, where that is all but a border.
fn within(outer: &Iter, inner: &Iter, widest: i128) -> Option<Vec<Expr>> {
    let at = || Expr::read(outer.var, Ty::LONG, inner.span);
    let lo = inner.lo.as_int().filter(|lo| (0..=widest).contains(lo))?;
    if inner.step.as_int() != Some(1) {
        return None;
    }
    let mut conditions = Vec::new();
    if lo > 0 {
        conditions.push(Expr::long(BinOp::Ge, at(), inner.lo.clone()));
    }
    if !same::expr(&inner.hi, &outer.hi) {
        let ExprKind::Binary { op: BinOp::Sub, left, right, .. } = &inner.hi.kind else { return None };
        right.as_int().filter(|width| same::expr(left, &outer.hi) && (0..=widest).contains(width))?;
        conditions.push(Expr::long(BinOp::Lt, at(), inner.hi.clone()));
    }
    Some(conditions)
}

/// Leaves the iterations that are not inside.
fn outside_alone(map: &mut Map, inside: Expr) {
    let then = std::mem::take(&mut map.body);
    let span = inside.span;
    let cond = Expr { kind: ExprKind::Unary(UnOp::Not, inside.into()), ty: Ty::BOOL, span };
    map.body.stmts = vec![Stmt { kind: StmtKind::If { cond, then, otherwise: Block::default() }, span }];
}
