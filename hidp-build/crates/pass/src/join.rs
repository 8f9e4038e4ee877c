//! `join`: maps that have nothing but one map inside, down to one that folds rectangles, become one map over the iterators of all.
//!
//! Plans that keep the results of folds in vector lanes or in tiles look at the iterators of the outermost map. In nested maps the iterator of
//! the columns is not among them. Ranges that depend on iterators keep their nest, whose rows are shared out by their lengths.

use hidp_ir::par::effects::expr_may_fault;
use hidp_ir::par::visit;
use hidp_ir::par::{Block, Directives, Expr, ExprKind, Iter, Map, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

use super::Pass;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "join",
    about: "makes one map of maps that have nothing but the next one inside, if the last one folds",
    run,
};

fn run(program: &mut Program) {
    let before = program.clone();
    program.funcs.iter_mut().for_each(|(_, func)| outermost(&before, &mut func.body));
}

/// Joins the outermost maps of a block.
fn outermost(program: &Program, block: &mut Block) {
    for stmt in &mut block.stmts {
        if let StmtKind::Map(map) = &mut stmt.kind {
            if let Some(depth) = depth_of(program, map) {
                (1..depth).for_each(|_| join(map));
            }
        } else {
            visit::child_blocks_mut(stmt).into_iter().for_each(|child| outermost(program, child));
        }
    }
}

/// How many maps one inside the other make one.
fn depth_of(program: &Program, map: &Map) -> Option<usize> {
    let (mut depth, mut last) = (1, map);
    let mut iterators: OrdSet<VarId> = OrdSet::new();
    while is_plain(last) {
        iterators.extend(last.iters.iter().map(|iter| iter.var));
        let Some(inner) = only_map(&last.body).filter(|inner| is_plain(inner)) else { break };
        if !inner.iters.iter().all(|iter| is_fixed(program, iter, &iterators)) {
            return None;
        }
        (depth, last) = (depth + 1, inner);
    }
    (depth > 1 && folds_rectangles(program, &last.body, iterators)).then_some(depth)
}

fn is_plain(map: &Map) -> bool {
    map.folds.is_empty() && map.directives == Directives::default()
}

fn only_map(body: &Block) -> Option<&Map> {
    match body.stmts.as_slice() {
        [Stmt { kind: StmtKind::Map(map), .. }] => Some(map),
        _ => None,
    }
}

/// Whether a range is one for all iterations around it, and may be computed once.
fn is_fixed(program: &Program, iter: &Iter, varying: &OrdSet<VarId>) -> bool {
    let fixed = |bound: &Expr| {
        let mut fixed = !expr_may_fault(program, bound);
        visit::walk_subexprs(bound, |node| {
            fixed &= match &node.kind {
                ExprKind::Read(var) => !varying.contains(var),
                ExprKind::Load(_) | ExprKind::Call(..) => false,
                ExprKind::Const(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary { .. }
                | ExprKind::Lazy { .. }
                | ExprKind::Select { .. }
                | ExprKind::Convert { .. }
                | ExprKind::Math(..)
                | ExprKind::Field(..)
                | ExprKind::Struct(..) => true,
            }
        });
        fixed
    };
    iter.step.as_int().is_some_and(|step| step > 0) && fixed(&iter.lo) && fixed(&iter.hi)
}

/// Whether iterations have a fold, and all their maps have ranges that are the same for each of them.
fn folds_rectangles(program: &Program, body: &Block, mut varying: OrdSet<VarId>) -> bool {
    varying.extend(visit::declared(body));
    let (mut folds, mut rectangles) = (false, true);
    visit::walk_stmts(body, |stmt| match &stmt.kind {
        StmtKind::Map(map) => {
            folds |= !map.folds.is_empty();
            rectangles &= map.iters.iter().all(|iter| is_fixed(program, iter, &varying));
            varying.extend(map.iters.iter().map(|iter| iter.var));
        }
        StmtKind::Loop(_) | StmtKind::Prim(_) | StmtKind::Call { .. } => rectangles = false,
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::If { .. }
        | StmtKind::Scope(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Swap(..)
        | StmtKind::Require { .. } => {}
    });
    folds && rectangles
}

/// Gives a map the iterators and the iterations of the only map inside.
fn join(map: &mut Map) {
    for stmt in std::mem::take(&mut map.body).stmts {
        if let StmtKind::Map(inner) = stmt.kind {
            map.iters.extend(inner.iters);
            map.body = inner.body;
        }
    }
}
