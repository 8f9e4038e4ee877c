//! Rows of a handful of elements: an iteration folds one, or writes it, and does little else. A plan may have them written out, with
//! vector lanes over the iterations around.

use super::inner_maps;
use super::mapping::key;
use super::shape::{Stride, irregular, straight, stride_of, vectorisable};
use crate::target::Model;
use hidp_ir::par::effects::{Effects, may_fault};
use hidp_ir::par::visit;
use hidp_ir::par::{Block, Expr, Func, Map, Program, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;

/// The map over a row, if that is what an iteration of `map` has inside: all that it accesses are neighbours, and nothing can fault.
pub(crate) fn row_of<'m>(program: &Program, func: &Func, map: &'m Map) -> Option<&'m Map> {
    let looped = |map: &Map| map.directives.unroll.is_some();
    let inner = match &inner_maps(&map.body)[..] {
        [inner] if inner.iters.len() == 1 && map.folds.is_empty() && !looped(map) && !looped(inner) => *inner,
        _ => return None,
    };
    let column = inner.iters.first()?;
    let none = OrdSet::new();
    let mut neighbours = true;
    visit::walk_places(&inner.body, |place, _| neighbours &= stride_of(place, column.var, &none) == Stride::Unit);
    let others: Vec<_> = map.body.stmts.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Map(_))).cloned().collect();
    let good = others.len() < map.body.stmts.len()
        && neighbours
        && accesses(inner) > 0
        && inner.folds.iter().all(|fold| fold.op.neutral.is_some())
        && column.step.as_int() == Some(1)
        && !irregular(map)
        && ![&column.lo, &column.hi].into_iter().any(|bound| reads_locals(program, func, map, bound))
        && !may_fault(program, &func.vars, &map.body)
        && vectorisable(program, func, inner)
        && straight(program, func, &Block { stmts: others });
    good.then_some(inner)
}

/// Every map of a nest whose iterations have a row.
pub(crate) fn with_rows(program: &Program, func: &Func, map: &Map) -> Vec<VarId> {
    let own = row_of(program, func, map).and_then(|_| key(map));
    let inside = inner_maps(&map.body).into_iter().flat_map(|inner| with_rows(program, func, inner));
    own.into_iter().chain(inside).collect()
}

/// Whether all rows of a nest are so light that loops over them cost more than they do.
pub(super) fn are_light(program: &Program, func: &Func, map: &Map, model: &Model) -> bool {
    let light = |row: &Map| {
        accesses(row) <= model.written_loads as usize && row.body.stmts.len() <= model.written_statements as usize
    };
    row_of(program, func, map).is_none_or(light)
        && inner_maps(&map.body).into_iter().all(|inner| are_light(program, func, inner, model))
}

fn accesses(map: &Map) -> usize {
    let mut found = 0;
    visit::walk_places(&map.body, |_, _| found += 1);
    found
}

fn reads_locals(program: &Program, func: &Func, map: &Map, bound: &Expr) -> bool {
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let mut found = false;
    visit::walk_expr_vars(bound, |var, _| found |= declared.contains(&var));
    found
}
