//! When one thread rather runs a nest whose iterations update arrays: where they are too few for copies of these, or for a second thread, so
//! that the plan for threads would update by atoms.

use super::copied::COPY_PADDING;
use super::mapping::{Mapping, strategy_of_threads};
use super::measures::{Measure, PARALLEL, of_nest};
use super::work::operations_of_one;
use super::{Bound, Condition, Plan, Rule, Strategy};
use crate::target::Model;
use hidp_ir::par::visit;
use hidp_ir::par::{Func, Map, Program, StmtKind, VarId, same};
use hidp_syntax::ordered::OrdMap;

/// The rule for the nest at `dominant`, of an entry with these nests and plans. Nothing else in the entry may be worth more threads.
pub(super) fn alone_rule(
    (program, func): (&Program, &Func),
    (maps, plans): (&[&Map], &[Plan]),
    dominant: usize,
    measures: &[Measure],
    model: &Model,
) -> Option<Rule> {
    let (map, nest) = (maps[dominant], plans.first()?.nests.get(dominant)?);
    let alone = |plan: &&Plan| plan.nests.iter().all(|nest| strategy_of_threads(nest) == Strategy::Serial);
    let shared = strategy_of_threads(nest) == Strategy::Rows && updates_outside(map) && !has_primitives(func);
    let alone = plans.iter().find(alone).filter(|_| shared)?;
    let measure = measures.iter().position(|measure| measure.name == PARALLEL)?;
    let copied = Mapping::read(program, func, map, nest).ok()?.copied;
    let each = operations_of_one(program, func, map, model)?.max(1);
    let most = 2 * i64::from(model.thread_work) / each;
    let bound = match &copied[..] {
        [] => Bound::Fixed(most),
        copied => Bound::PerThread(
            copied.iter().map(|array| padded(func, *array)).sum::<i64>() * i64::from(model.copied_element) / each,
        ),
    };
    let small = |other: &&Map| {
        let count = of_nest(func, other).into_iter().find(|own| own.name == PARALLEL);
        let known = |count: &Measure| count.at(&OrdMap::new()).is_some_and(|known| known < most);
        count.is_some_and(|count| known(&count) || same::expr(&count.value, &measures[measure].value))
    };
    let conditions = vec![Condition { measure, least: false, bound }];
    maps.iter().all(small).then(|| Rule { conditions, plan: alone.name.clone() })
}

/// Elements of a thread's copy, at least.
fn padded(func: &Func, array: VarId) -> i64 {
    let extents = func.vars[array].shape.iter().map(|extent| extent.as_int().and_then(|extent| extent.try_into().ok()));
    let count: i64 = extents.map(|extent: Option<i64>| extent.unwrap_or(1)).fold(1, i64::saturating_mul);
    count.max(1).saturating_add(COPY_PADDING - 1) / COPY_PADDING * COPY_PADDING + COPY_PADDING
}

/// Whether iterations update, by themselves, an array that is not theirs.
fn updates_outside(map: &Map) -> bool {
    let own = visit::declared(&map.body);
    let mut found = false;
    visit::walk_stmts(&map.body, |stmt| {
        found |= matches!(&stmt.kind, StmtKind::Atomic { place, .. } if !own.contains(&place.array));
    });
    found
}

fn has_primitives(func: &Func) -> bool {
    let mut found = false;
    visit::walk_stmts(&func.body, |stmt| found |= matches!(stmt.kind, StmtKind::Prim(_)));
    found
}
