//! Split folds: if results are few and folds long, one group per result leaves most of a device idle. So groups of their own take parts of a
//! fold and store partial results in an array, which another launch folds in order.

use super::blame::{self, span_of};
use super::device_levels::{Levels, holds_primitives, is_ordered};
use super::device_rules::rows_apart;
use super::mapping::{Cut, Mapping, Strategy, key};
use super::notation::FoldOption;
use super::refusal::{FAULT_ORDER, MEMORY_SIZE, ORDER, RAGGED, Refusal, SEQUENCE, SHAPE};
use super::shape::straight;
use super::{choices, inner_maps};
use crate::target::DeviceModel;
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::visit;
use hidp_ir::par::{Block, ExprKind, FoldKind, Func, Map, Program, StmtKind, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;

/// Iterators of the outermost map at most: a launch has three dimensions, and the parts share the first one.
const MOST_ITERATORS: usize = 3;

/// Whether the folds inside a map's iterations can be split; why not otherwise.
pub fn splits(program: &Program, func: &Func, map: &Map) -> Result<(), Refusal> {
    if !map.folds.is_empty() {
        return Err(SHAPE.refused(span_of(map), "the outermost map folds what its iterations leave"));
    }
    if map.iters.len() > MOST_ITERATORS {
        return Err(SHAPE.refused(span_of(map), "the outermost map has too many iterators"));
    }
    let at = map.body.stmts.iter().position(|stmt| matches!(stmt.kind, StmtKind::Map(_)));
    let ([inner], Some(at)) = (&inner_maps(&map.body)[..], at) else {
        return Err(SHAPE.refused(span_of(map), "an iteration has not exactly one map inside"));
    };
    let reduces = |map: &Map| map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce && !is_ordered(fold));
    if inner.folds.is_empty() || !reduces(inner) {
        return Err(SEQUENCE.refused(span_of(inner), "the map inside folds nothing, or prefixes, or in a fixed order"));
    }
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let array = declared.iter().find(|var| func.vars[**var].is_array());
    if holds_primitives(map) || array.is_some() {
        let at = array.map_or(span_of(map), |var| func.vars[*var].span);
        return Err(MEMORY_SIZE.refused(at, "an iteration declares an array or calls a primitive"));
    }
    let before = Block { stmts: map.body.stmts[..at].to_vec() };
    for block in [&before, &inner.body] {
        if effects::may_fault(program, &func.vars, block) {
            return Err(FAULT_ORDER
                .refused(blame::check(program, func, map), "a check remains inside of the fold, or before it"));
        }
        let writes = Effects::of_block(program, &func.vars, block).outer_writes();
        if !straight(program, func, block) || !writes.is_empty() {
            return Err(ORDER.refused(
                blame::plain(program, func, block, map),
                "a statement of the fold, or before it, is no plain computation",
            ));
        }
    }
    if !bounds_are_fixed(inner, map, &declared) {
        return Err(RAGGED.refused(span_of(inner), "the length of the folds is not the same for all results"));
    }
    Ok(())
}

/// Whether the host knows the ranges of `inner`: they depend on nothing of the iterations around it, nor on elements of arrays.
fn bounds_are_fixed(inner: &Map, outer: &Map, declared: &OrdSet<VarId>) -> bool {
    let mut fixed = true;
    for iter in &inner.iters {
        fixed &= iter.step.as_int().is_some_and(|step| step > 0);
        for bound in [&iter.lo, &iter.hi] {
            visit::walk_subexprs(bound, |e| fixed &= !matches!(e.kind, ExprKind::Load(_) | ExprKind::Call(..)));
            visit::walk_expr_vars(bound, |read, _| {
                fixed &= !declared.contains(&read) && outer.iters.iter().all(|iter| iter.var != read);
            });
        }
    }
    fixed
}

/// The nest with split folds: threads take parts where neighbouring results are neighbours in memory, else blocks.
pub(super) fn split_nest(program: &Program, func: &Func, map: &Map, model: &DeviceModel) -> Mapping {
    let level = if rows_apart(program, func, map) { Level::Block } else { Level::Thread };
    split_at(program, func, map, level, model)
}

/// The same by groups of a level: blocks, or threads.
pub(super) fn split_at(program: &Program, func: &Func, map: &Map, level: Level, model: &DeviceModel) -> Mapping {
    let mut levels = Levels { program, func, model, mapping: Mapping::new(Strategy::Device(level)) };
    levels.launched(map, level);
    let (groups, terms) = match level {
        Level::Block => {
            // As many terms to each lane as loads are under way together.
            (model.split.blocks, model.block * model.machine.under_way)
        }
        Level::Thread | Level::Subwarp2 | Level::Subwarp | Level::Warp | Level::Kernel => {
            (model.split.threads, model.split.thread_terms)
        }
    };
    let mut mapping = levels.mapping;
    if map.directives.block.is_none() {
        // Blocks of the other launch, which are as large, fold parts together.
        mapping.blocks.values_mut().for_each(|threads| *threads = model.block);
    }
    deal(map, &mut mapping, groups, terms);
    choices::choose_on_device(program, func, map, &mut mapping, model);
    mapping
}

/// The same with so many parts of each fold.
pub(super) fn split_in(mut mapping: Mapping, parts: u32) -> Mapping {
    for cut in mapping.cuts.values_mut() {
        cut.options.retain(|option| match option {
            FoldOption::Groups(_) | FoldOption::Terms(_) => false,
            FoldOption::Runs(_)
            | FoldOption::Most(_)
            | FoldOption::Many(_)
            | FoldOption::Row(_)
            | FoldOption::Moves(_)
            | FoldOption::Short(_)
            | FoldOption::Sums(_)
            | FoldOption::Vectors(_)
            | FoldOption::Apart(_)
            | FoldOption::Repeat(_)
            | FoldOption::Packs(_) => true,
        });
    }
    mapping.parts = Some(parts);
    mapping
}

/// Makes the folds of a nest split ones.
pub(super) fn deal(map: &Map, mapping: &mut Mapping, groups: u32, terms: u32) {
    let cut = Cut::of([FoldOption::Groups(groups), FoldOption::Terms(terms)]);
    mapping.cuts.extend(inner_maps(&map.body).into_iter().filter_map(key).map(|key| (key, cut.clone())));
}

#[cfg(test)]
mod tests {
    use crate::target::DeviceModel;
    use crate::testing::optimised;
    use crate::{Limits, Natives, Plan, SEARCHED, SPLIT, explore_device};

    const SUMS: &str = "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";

    /// The plans with split folds, and what became of the one without tiles.
    fn of(text: &str) -> (Vec<Plan>, String) {
        let program = optimised(text);
        let explored =
            explore_device(&program, program.entries[0], &DeviceModel::cuda(), Limits::default(), Natives::default());
        let own = explored.candidates.iter().find(|row| row.name == SPLIT);
        let fate = own.map_or(String::new(), |row| row.fate.to_string());
        let split = |plan: &Plan| plan.to_string().contains("groups(");
        (explored.plans.into_iter().filter(split).collect(), fate)
    }

    #[test]
    fn blocks_take_parts_of_rows_and_threads_parts_of_columns() {
        let (plans, fate) = of(SUMS);
        assert_eq!((plans.len(), fate.as_str()), (1, "kept"));
        let text = plans[0].to_string();
        let expected = "plan split
nest
  c grid.y
  r grid.x
  c seq
  c thread.x
  fold c groups(1056) terms(1024) many(512)
  block(256)
";
        assert_eq!(text, expected);
        let (plans, _) = of(&SUMS.replace("y[R]", "y[C]").replace("y[r], _t, c", "y[c], _t, r"));
        let expected = "plan split
nest
  r seq
  r grid.y
  c grid.x
  fold r groups(196608) terms(8) many(512)
  block(256)
";
        assert_eq!(plans[0].to_string(), expected);
    }

    #[test]
    fn tiles_are_split_too() {
        let (plans, fate) = of("function f input float A[M][K], B[K][N]; output float C[M][N];
            { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }");
        let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        assert_eq!((names, fate.as_str()), (vec!["tiled64x64_split", "tiled32x32_split", SPLIT, SEARCHED], "kept"));
        assert!(plans[1].to_string().contains("fold k groups(792) terms(32)"), "{}", plans[1]);
    }

    #[test]
    fn what_cannot_be_split_says_why() {
        let why = |from: &str, to: &str| {
            assert!(SUMS.contains(from));
            of(&SUMS.replace(from, to)).1
        };
        let length = "excluded: the length of the folds is not the same for all results";
        let ragged = SUMS.replace("c := [0:C);", "map { c := [r:C);").replace("c := [*]); }", "c := [*]); } }");
        assert_eq!(of(&ragged).1, length);
        let checked = SUMS.replace("float A[R][C]", "float A[R][C]; inout int at[C]").replace("A[r][c]", "A[r][at[c]]");
        assert_eq!(of(&checked).1, "excluded: a check remains inside of the fold, or before it");
        let prefixes = SUMS.replace("y[R]", "y[R][C]").replace("reduce(\"+\", y[r]", "scan(\"+\", y[r][c]");
        let fold = "excluded: the map inside folds nothing, or prefixes, or in a fixed order";
        assert_eq!(of(&prefixes).1, fold);
        assert_eq!(why("map {", "\n#pragma hidp ordered\n map {"), fold);
        let flat = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        assert_eq!(of(flat).1, "", "one plan is all");
    }
}
