//! Tables that are only copied: `T = d;` computes the cells of `d` in `T`.

use hidp_ir::par::visit;
use hidp_ir::par::{
    Block, CallArg, Directives, Expr, ExprKind, Iter, Map, Place, Program, Stmt, StmtKind, Var, VarId, VarKind, same,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;

/// Makes the call at `at` compute its tables in arrays that statements right behind it copy them to, where nothing else needs the tables; gives
/// where the call stands then.
pub(super) fn computed(program: &Program, vars: &Arena<VarId, Var>, stmts: &mut Vec<Stmt>, mut at: usize) -> usize {
    while let Some((Place { array: table, path, .. }, target)) = stmts.get(at + 1).and_then(|copy| copied(vars, copy))
        && path.is_empty()
        && let Some(declared) = free(program, vars, stmts, (at, table, target))
    {
        stmts.remove(at + 1);
        if let StmtKind::Call { args, .. } = &mut stmts[at].kind {
            args.iter_mut().filter(|arg| **arg == CallArg::Array(table)).for_each(|arg| *arg = CallArg::Array(target));
        }
        stmts.remove(declared);
        at -= 1;
    }
    at
}

/// An array of which each element, or a field of it, is copied to another one of the same shape, and that one.
pub(super) fn copied(vars: &Arena<VarId, Var>, stmt: &Stmt) -> Option<(Place, VarId)> {
    let StmtKind::Map(Map { iters, body, folds, directives }) = &stmt.kind else { return None };
    let [Stmt { kind: StmtKind::Store { place: target, value }, .. }] = &body.stmts[..] else { return None };
    let ExprKind::Load(table) = &value.kind else { return None };
    let all = |place: &Place| {
        let shape = &vars[place.array].shape;
        let is_whole = |((iter, index), extent): ((&Iter, &Expr), &Expr)| {
            let from_zero = iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1);
            from_zero && same::expr(&iter.hi, extent) && matches!(index.kind, ExprKind::Read(var) if var == iter.var)
        };
        let whole = iters.iter().zip(&place.index).zip(shape).all(is_whole);
        whole && iters.len() == shape.len() && place.unproved == 0
    };
    let plain = folds.is_empty() && *directives == Directives::default();
    let fits = value.ty == vars[target.array].ty && target.path.is_empty() && all(table) && all(target);
    (plain && fits).then(|| (table.clone(), target.array))
}

/// Where the table is declared, if it is one of the call at `at` that fills a box, and the copy behind the call alone needs it; and if the call may
/// write to the target.
fn free(
    program: &Program,
    vars: &Arena<VarId, Var>,
    stmts: &[Stmt],
    (at, table, target): (usize, VarId, VarId),
) -> Option<usize> {
    let StmtKind::Call { callee, args } = &stmts[at].kind else { return None };
    let func = &program.funcs[*callee];
    let systems = func.recur.iter().flat_map(|recur| &recur.systems);
    let boxes: Vec<VarId> =
        systems.flat_map(|system| &system.tables).filter(|table| table.is_box()).map(|table| table.array).collect();
    let mut params = func.params.iter().zip(args).filter(|(_, arg)| **arg == CallArg::Array(table));
    let is_table = params.next().is_some_and(|(param, _)| boxes.contains(param)) && params.next().is_none();
    let (mut uses, mut of_target) = (0, 0);
    visit::walk_vars(&Block { stmts: stmts.to_vec() }, |var, _| uses += usize::from(var == table));
    visit::walk_vars(&Block { stmts: vec![stmts[at].clone()] }, |var, _| of_target += usize::from(var == target));
    let is_output = matches!(vars[target].kind, VarKind::Local | VarKind::Param(Direction::Output));
    // Its declaration, the call and the copy.
    if !is_table || uses != 3 || of_target > 0 || !is_output {
        return None;
    }
    stmts[..at].iter().position(|stmt| matches!(stmt.kind, StmtKind::Declare { var, .. } if var == table))
}
