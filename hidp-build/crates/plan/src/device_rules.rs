//! When which level of a device runs an entry, untuned: HiDP's thresholds on the degree of parallelism, and the length of what is
//! inside an iteration. The plan of the first level in the order of preference runs where no rule holds.

use super::mapping::{Mapping, Recipe, Strategy};
use super::measures::{INNER, Measure, PARALLEL};
use super::shape::{Stride, coefficient, stride_of};
use super::tiled::has_tile;
use super::{Bound, Condition, Plan, Rule, inner_maps};
use crate::target::DeviceModel;
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit;
use hidp_ir::par::{Func, Map, Program, VarId, VarKind};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;

/// Rules for the plans of an entry whose dominant nest is `map`, number `dominant`.
pub(super) fn device_rules(
    program: &Program,
    func: &Func,
    (dominant, map): (usize, &Map),
    plans: &[Plan],
    measures: &[Measure],
    model: &DeviceModel,
) -> Vec<Rule> {
    let find = |name: &str| measures.iter().position(|measure| measure.name == name);
    let (parallel, inner) = (find(PARALLEL), find(INNER));
    let at_least = |measure: Option<usize>, level: Level| {
        let (_, bound) = model.thresholds.iter().find(|(other, _)| *other == level)?;
        Some(Condition { measure: measure?, least: true, bound: Bound::Fixed((*bound).into()) })
    };
    let below = |measure: Option<usize>, bound: i64| {
        Some(Condition { measure: measure?, least: false, bound: Bound::Fixed(bound) })
    };
    let fewer = |level: Level| at_least(parallel, level).map(|condition| Condition { least: false, ..condition });
    let long = |turns: u32| Some(Condition { measure: inner?, least: true, bound: Bound::Fixed(turns.into()) });
    let mut rules = Vec::new();
    let mapped = plans.iter().filter_map(|plan| {
        let mapping = Mapping::read(program, func, map, plan.nests.get(dominant)?);
        // What cannot be read is a defect, which lowering reports.
        Some((plan, mapping.ok()?))
    });
    let mapped: Vec<(&Plan, Mapping)> = mapped.collect();
    let find_plan = |wanted: &dyn Fn(&Mapping) -> bool| mapped.iter().find(|(_, mapping)| wanted(mapping));
    for tile in &model.tiles {
        let planned = find_plan(&|mapping| has_tile(map, mapping, tile));
        if let (Some((plan, _)), Some(measure)) = (planned, parallel) {
            let mut conditions = vec![Condition { measure, least: true, bound: Bound::Fixed(tile.from.into()) }];
            if tile.split > 0 {
                // Two parts at least; and it is not known to be worth it if the folds' length is not.
                let two_parts = i64::from(tile.rows * tile.columns) * i64::from(tile.split / 2);
                let (Some(two_parts), Some(long)) = (below(parallel, two_parts), long(tile.terms)) else { continue };
                conditions.extend([two_parts, long]);
            }
            rules.push(Rule { conditions, plan: plan.name.clone() });
        }
    }
    // Tiles of transposed arrays cost little, and what lanes load with gaps costs several times its bytes. What neighbouring iterations
    // share may come from the caches as well: only measurements choose that.
    let across = |mapping: &Mapping| matches!(&mapping.recipe, Recipe::Near(near) if near.arrays.iter().any(|array| array.across));
    if let (Some((plan, _)), Some(condition)) = (find_plan(&across), at_least(parallel, Level::Thread)) {
        rules.push(Rule { conditions: vec![condition], plan: plan.name.clone() });
    }
    if let Some((plan, mapping)) = find_plan(&|mapping| mapping.is_split() && mapping.staging.is_empty()) {
        let by_threads = mapping.strategy == Strategy::Device(Level::Thread);
        let few = if by_threads { fewer(Level::Thread) } else { below(parallel, (model.split.blocks / 2).into()) };
        let several = below(parallel, model.split.several.into()).map(|few| Condition { least: true, ..few });
        let shorter = by_threads.then(|| vec![several, few, long(model.split.short)]);
        for conditions in [Some(vec![few, long(model.split.long)]), shorter].into_iter().flatten() {
            if let Some(conditions) = conditions.into_iter().collect() {
                rules.push(Rule { conditions, plan: plan.name.clone() });
            }
        }
    }
    if mapped.iter().filter(|(_, mapping)| is_plain(mapping)).count() < 2 {
        return rules;
    }
    let mut rule = |level: Level, conditions: Vec<Option<Condition>>| {
        let known: Option<Vec<Condition>> = conditions.into_iter().collect();
        let planned = find_plan(&|mapping| mapping.strategy == Strategy::Device(level) && is_plain(mapping));
        if let (Some(conditions), Some((plan, _))) = (known, planned) {
            rules.push(Rule { conditions, plan: plan.name.clone() });
        }
    };
    let lanes = |level: Level| i64::from(model.lanes(level, model.block));
    if rows_apart(program, func, map) {
        // Threads next to each other read rows apart: as many lines at a time as a row has elements, of which the cache looks for one a
        // cycle. Groups ask for whole sectors, but have few loads under way in a row: the shorter rows are, the more rows at a time a
        // warp needs.
        for (level, row) in &model.short_rows {
            rule(*level, vec![at_least(parallel, *level), below(inner, (*row).into())]);
        }
    } else {
        rule(Level::Thread, vec![at_least(parallel, Level::Thread)]);
        rule(Level::Subwarp, vec![at_least(parallel, Level::Subwarp), below(inner, lanes(Level::Warp))]);
    }
    rule(Level::Kernel, vec![fewer(Level::Block), long(model.block * model.most_runs)]);
    rule(Level::Block, vec![fewer(Level::Warp)]);
    rules
}

/// Whether groups of one level run a nest, and keep nothing near.
fn is_plain(mapping: &Mapping) -> bool {
    mapping.staging.is_empty() && !mapping.is_split()
}

/// Whether most accesses inside are to neighbours along the inner iterators rather than along the outermost map's last one.
pub(super) fn rows_apart(program: &Program, func: &Func, map: &Map) -> bool {
    let Some(outer) = map.iters.last() else { return false };
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let varying: OrdSet<VarId> = declared.into_iter().filter(|var| func.vars[*var].kind != VarKind::Iter).collect();
    let (mut across, mut along) = (0, 0);
    let near = |stride: Stride| matches!(stride, Stride::Unit | Stride::Invariant);
    for inner in inner_maps(&map.body) {
        let Some(own) = inner.iters.last() else { continue };
        // A range that begins elsewhere for each outer iteration: what moves along it is elsewhere too.
        let moves = coefficient(&own.lo, outer.var, &varying) != Some(0);
        visit::walk_places(&inner.body, |place, _| {
            let apart = moves && stride_of(place, own.var, &varying) != Stride::Invariant;
            across += usize::from(!apart && near(stride_of(place, outer.var, &varying)));
            along += usize::from(near(stride_of(place, own.var, &varying)));
        });
    }
    along > across
}
