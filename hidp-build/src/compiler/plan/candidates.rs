//! The plans worth having for an entry, best guess first.

use super::shape::{lane_iterator, streamed_outputs, vectorisable};
use super::{Exec, LevelPlan, Memory, Nest, Placement, Plan, Share, Strategy, inner_maps, nests};
use crate::compiler::index::Id;
use crate::compiler::ir::par::{Func, FuncId, Map, Program};
use crate::compiler::syntax::ast::Level;
use crate::compiler::target::Model;

/// The distinct plans for a function after the pass pipeline, best guess first. Every one can run every problem.
pub fn candidates(program: &Program, func: FuncId, model: &Model) -> Vec<Plan> {
    let func = &program.funcs[func];
    let maps = nests(func);
    let mut plans: Vec<Plan> = Vec::new();
    for strategy in choose(program, func, &maps) {
        let nests = maps.iter().map(|map| nest(program, func, map, strategy, model)).collect();
        let plan = Plan { name: strategy.name().to_string(), nests };
        if !plans.iter().any(|other| other.same_as(&plan)) {
            plans.push(plan);
        }
    }
    plans
}

/// The order of preference by shape: tiles where a nest gains from them, threads over rows otherwise.
pub fn choose(program: &Program, func: &Func, maps: &[&Map]) -> Vec<Strategy> {
    let gains = maps.iter().any(|map| lane_iterator(program, func, map).is_some());
    let whole_device = maps.iter().any(|map| map.directives.levels == [Level::Kernel]);
    let mut order = match (whole_device, gains) {
        (true, _) => vec![Strategy::Team, Strategy::Lanes, Strategy::Rows],
        (false, true) => vec![Strategy::Lanes, Strategy::Rows, Strategy::Team],
        (false, false) => vec![Strategy::Rows, Strategy::Lanes, Strategy::Team],
    };
    order.push(Strategy::Serial);
    order
}

/// One nest under a strategy, or under `rows` where the strategy does not apply.
fn nest(program: &Program, func: &Func, map: &Map, strategy: Strategy, model: &Model) -> Nest {
    let applied = match strategy {
        Strategy::Rows => Strategy::Rows,
        Strategy::Serial => Strategy::Serial,
        Strategy::Lanes => lane_iterator(program, func, map).map_or(Strategy::Rows, |_| Strategy::Lanes),
        Strategy::Team if gives_to_team(map) && lane_iterator(program, func, map).is_none() => Strategy::Team,
        Strategy::Team => Strategy::Rows,
    };
    let mut levels = Vec::new();
    match applied {
        Strategy::Rows => shared_levels(program, func, map, Exec::Thread, model, &mut levels),
        Strategy::Serial => shared_levels(program, func, map, Exec::Seq, model, &mut levels),
        Strategy::Lanes => lane_levels(program, func, map, model, &mut levels),
        Strategy::Team => {
            levels.extend(map.iters.iter().enumerate().map(|(at, iter)| LevelPlan {
                dim: (map.iters.len() - 1 - at) as u32,
                ..level(func, iter.var, Exec::Team)
            }));
            inner_maps(&map.body)
                .iter()
                .for_each(|inner| shared_levels(program, func, inner, Exec::Thread, model, &mut levels));
        }
    }
    let places = streamed_outputs(program, func, map).into_iter().map(|var| Placement {
        array: func.vars[var].name.clone(),
        var: var.index() as u32,
        memory: Memory::Stream,
    });
    Nest { strategy: applied, levels, places: places.collect() }
}

/// Whether all threads could share what is inside one iteration: a row after the other.
pub fn gives_to_team(map: &Map) -> bool {
    map.folds.is_empty() && map.iters.len() == 1 && !inner_maps(&map.body).is_empty()
}

fn level(func: &Func, var: crate::compiler::ir::par::VarId, exec: Exec) -> LevelPlan {
    LevelPlan { iter: func.vars[var].name.clone(), exec, dim: 0, tile: 1, share: Share::Span }
}

/// The outermost iterators on `outer`, the innermost map in vector lanes where it can.
fn shared_levels(program: &Program, func: &Func, map: &Map, outer: Exec, model: &Model, levels: &mut Vec<LevelPlan>) {
    let inner = inner_maps(&map.body);
    let last = map.iters.len().saturating_sub(1);
    for (at, iter) in map.iters.iter().enumerate() {
        let vector = at == last && inner.is_empty() && vectorisable(program, func, map);
        let exec = if vector { Exec::Simd } else { outer };
        let tile = if map.folds.is_empty() { 1 } else { map.directives.block.unwrap_or(model.fold_block) };
        let share = if outer == Exec::Thread { Share::Split } else { Share::Span };
        levels.push(LevelPlan { dim: (last - at) as u32, tile, share, ..level(func, iter.var, exec) });
    }
    for map in inner {
        shared_levels(program, func, map, Exec::Seq, model, levels);
    }
}

/// Tiles of rows and lanes on threads, reductions in order outside of them.
fn lane_levels(program: &Program, func: &Func, map: &Map, model: &Model, levels: &mut Vec<LevelPlan>) {
    let Some(shape) = lane_iterator(program, func, map) else { return };
    let last = map.iters.len() - 1;
    let register_lanes = model.tile_vectors * model.vector_bytes / shape.elem_size as u32;
    for (at, iter) in map.iters.iter().enumerate() {
        let (exec, tile) = match shape.reuse {
            Some(_) if at == last => (Exec::Lanes, register_lanes),
            None if at == last => (Exec::Lanes, model.lane_tile),
            Some(rows) if at == rows => (Exec::Thread, model.tile_rows),
            Some(_) | None => (Exec::Thread, 1),
        };
        levels.push(LevelPlan { dim: (last - at) as u32, tile, share: Share::Split, ..level(func, iter.var, exec) });
    }
    for inner in inner_maps(&map.body) {
        let own = inner.iters.len().saturating_sub(1);
        levels.extend(
            inner
                .iters
                .iter()
                .enumerate()
                .map(|(at, iter)| LevelPlan { dim: (own - at) as u32, ..level(func, iter.var, Exec::Seq) }),
        );
    }
}
