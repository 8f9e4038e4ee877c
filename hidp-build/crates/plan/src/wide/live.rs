//! Liveness: at each point in the body of a map, the variables whose value an iteration reads before it assigns them again.

use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit;
use hidp_ir::par::{Block, Expr, Loop, Map, Place, Stmt, StmtKind, Target, VarId};
use hidp_syntax::ordered::OrdSet;

/// Variables that are read later. An array is one of them if any of its elements may be.
pub type Live = OrdSet<VarId>;

/// What is live where jumps go.
#[derive(Clone, Debug, Default)]
pub struct Jumps {
    /// Behind the innermost loop.
    pub past: Live,
    /// At its step.
    pub next: Live,
    /// Behind the innermost scope.
    pub left: Live,
}

/// What is live after each statement of a block, and before the first, if `after` is live at its end.
pub fn in_block(block: &Block, after: &Live, jumps: &Jumps) -> (Vec<Live>, Live) {
    let mut live = after.clone();
    let mut afters = Vec::with_capacity(block.stmts.len());
    for stmt in block.stmts.iter().rev() {
        let before = before_stmt(stmt, &live, jumps);
        afters.push(std::mem::replace(&mut live, before));
    }
    afters.reverse();
    (afters, live)
}

/// What is live before a block.
pub fn before_block(block: &Block, after: &Live, jumps: &Jumps) -> Live {
    in_block(block, after, jumps).1
}

/// What is live before the test of a loop, if `after` is live behind it; and where its jumps go.
pub fn of_loop(node: &Loop, after: &Live, jumps: &Jumps) -> (Live, Jumps) {
    let mut head = after.clone();
    head.extend(Effects::of_expr(&node.cond));
    loop {
        let next = before_block(&node.step, &head, jumps);
        let inside = Jumps { past: after.clone(), next: next.clone(), left: jumps.left.clone() };
        let before = before_block(&node.body, &next, &inside);
        let known = head.len();
        head.extend(before);
        if head.len() == known {
            return (head, inside);
        }
    }
}

/// What is live before the first and after each iteration of a map inside, if `after` is live behind it: what the folds read of an
/// iteration, too.
pub fn of_map(map: &Map, after: &Live) -> Live {
    let mut head = after.clone();
    for fold in &map.folds {
        head.insert(fold.value);
        match &fold.target {
            Target::Scalar(_) => {}
            Target::Element(place) => reads_of(place, &mut head),
        }
    }
    // No jump leaves the iterations of a map.
    let nowhere = Jumps::default();
    loop {
        let known = head.len();
        head.extend(before_block(&map.body, &head, &nowhere));
        if head.len() == known {
            return head;
        }
    }
}

/// What is live at the end of an iteration of the outermost map: what it folds, and what the last of it is computed from, since a product is
/// added as it is.
pub fn folded(map: &Map) -> Live {
    let values: Live = map.folds.iter().map(|fold| fold.value).collect();
    let last = map.body.stmts.last().filter(|_| !values.is_empty());
    let operands = last.map(|last| before_stmt(last, &values, &Jumps::default()));
    values.into_iter().chain(operands.into_iter().flatten()).collect()
}

fn reads_of(place: &Place, live: &mut Live) {
    place.index.iter().for_each(|index| live.extend(Effects::of_expr(index)));
}

fn reads(exprs: &[&Expr], live: &mut Live) {
    exprs.iter().for_each(|expr| live.extend(Effects::of_expr(expr)));
}

fn before_stmt(stmt: &Stmt, after: &Live, jumps: &Jumps) -> Live {
    let mut live = after.clone();
    match &stmt.kind {
        StmtKind::Declare { var, .. } => {
            live.remove(var);
        }
        StmtKind::Assign { var, value } => {
            live.remove(var);
            reads(&[value], &mut live);
        }
        StmtKind::AssignField { var, value, .. } => {
            live.insert(*var);
            reads(&[value], &mut live);
        }
        StmtKind::Store { place, value } => {
            reads_of(place, &mut live);
            reads(&[value], &mut live);
        }
        StmtKind::Atomic { place, value, .. } => {
            live.insert(place.array);
            reads_of(place, &mut live);
            reads(&[value], &mut live);
        }
        StmtKind::If { cond, then, otherwise } => {
            live = before_block(then, after, jumps);
            live.extend(before_block(otherwise, after, jumps));
            reads(&[cond], &mut live);
        }
        StmtKind::Loop(node) => live = of_loop(node, after, jumps).0,
        StmtKind::Break => live = jumps.past.clone(),
        StmtKind::Continue => live = jumps.next.clone(),
        StmtKind::Leave => live = jumps.left.clone(),
        StmtKind::Scope(body) => {
            let inside = Jumps { left: after.clone(), ..jumps.clone() };
            live = before_block(body, after, &inside);
        }
        StmtKind::Map(map) => {
            live = of_map(map, after);
            for iter in &map.iters {
                reads(&[&iter.lo, &iter.hi, &iter.step], &mut live);
            }
            map.folds
                .iter()
                .filter_map(|fold| fold.op.neutral.as_deref())
                .for_each(|neutral| reads(&[neutral], &mut live));
        }
        StmtKind::Return(value) => {
            live.clear();
            reads(&[value], &mut live);
        }
        // What it writes are arrays from outside.
        StmtKind::Prim(_) => visit::walk_vars(&Block { stmts: vec![stmt.clone()] }, |var, _| {
            live.insert(var);
        }),
        // No iteration in lanes has one.
        StmtKind::Swap(..) | StmtKind::Call { .. } => {}
        StmtKind::Require { cond, values, .. } => {
            reads(&[cond], &mut live);
            values.iter().for_each(|(_, value)| reads(&[value], &mut live));
        }
    }
    live
}
