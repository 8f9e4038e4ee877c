//! Plans with other tiles, from the domains that the hardware model declares.

use super::{Exec, LevelPlan, Nest, Plan, Share, Strategy, lane_iterator};
use crate::target::{DeviceModel, Model, Stage, Tunable};
use hidp_ir::par::{Func, Map, Program};

/// A vector register for what a tile's rows are multiplied with, and one for addresses that spill.
const SPARE_REGISTERS: u32 = 2;

/// The plans, each followed by its variants: one tunable at a time but for the two sides of a register tile.
pub(super) fn with_variants(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: Vec<Plan>,
    model: &Model,
) -> Vec<Plan> {
    let mut all: Vec<Plan> = plans;
    for at in 0..all.len() {
        let plan = all[at].clone();
        for variant in tiles(program, func, maps, &plan, model).into_iter().chain(blocks(maps, &plan, model)) {
            if !all.iter().any(|other| other.same_as(&variant)) {
                all.push(variant);
            }
        }
    }
    all
}

/// The plans for a device, and all of them with blocks of other sizes, not where a directive says how large, or tiles are staged; and with
/// other numbers of groups that share folds.
pub(super) fn of_device(maps: &[&Map], plans: Vec<Plan>, model: &DeviceModel) -> Vec<Plan> {
    let usual = |level: &LevelPlan| {
        level.tile > 1 && level.tile.is_multiple_of(model.warp) && !matches!(level.share, Share::Dealt(_))
    };
    let mut all = plans;
    for at in 0..all.len() {
        for &block in domain(&model.tunables, "block") {
            let name = format!("{}_b{block}", all[at].name);
            let variant = changed(maps, &all[at], name, &|map, nest| {
                if map.directives.block.is_none() && nest.staging.is_empty() {
                    nest.levels.iter_mut().filter(|level| usual(level)).for_each(|level| level.tile = block);
                }
            });
            all.extend(variant);
        }
        for &percent in domain(&model.tunables, "split") {
            let name = format!("{}_s{percent}", all[at].name);
            let variant = changed(maps, &all[at], name, &|_, nest| {
                for level in &mut nest.levels {
                    if let Share::Dealt(groups) = &mut level.share {
                        *groups = (*groups * percent / 100).max(1);
                    }
                }
            });
            all.extend(variant);
        }
    }
    all
}

fn domain<'m>(tunables: &'m [Tunable], name: &str) -> &'m [u32] {
    let tunable = tunables.iter().find(|tunable| tunable.stage == Stage::Build && tunable.name == name);
    tunable.map_or(&[], |tunable| &tunable.domain)
}

/// Register tiles of other sides, and first-level cache tiles of other lengths.
fn tiles(program: &Program, func: &Func, maps: &[&Map], plan: &Plan, model: &Model) -> Vec<Plan> {
    let mut found = Vec::new();
    for &rows in domain(&model.tunables, "tile_rows") {
        for &vectors in domain(&model.tunables, "tile_vectors") {
            // Sums, a row of vectors, and what they are multiplied with.
            if rows * vectors + vectors + SPARE_REGISTERS <= model.vector_registers {
                let name = format!("{}_r{rows}v{vectors}", plan.name);
                found.extend(changed(maps, plan, name, &|map, nest| {
                    let Some(shape) = lane_iterator(program, func, map).filter(|_| nest.strategy == Strategy::Lanes)
                    else {
                        return;
                    };
                    let Some(reuse) = shape.reuse else { return };
                    let last = map.iters.len() - 1;
                    nest.levels[last].tile = vectors * model.vector_bytes / shape.elem_size as u32;
                    nest.levels[reuse].tile = rows;
                }));
            }
        }
    }
    for &columns in domain(&model.tunables, "lane_tile") {
        let name = format!("{}_c{columns}", plan.name);
        found.extend(changed(maps, plan, name, &|map, nest| {
            let shape = lane_iterator(program, func, map).filter(|_| nest.strategy == Strategy::Lanes);
            if shape.is_some_and(|shape| shape.reuse.is_none()) {
                nest.levels[map.iters.len() - 1].tile = columns;
            }
        }));
    }
    found
}

/// Folds in runs of other lengths.
fn blocks(maps: &[&Map], plan: &Plan, model: &Model) -> Vec<Plan> {
    let change = |&block: &u32| {
        changed(maps, plan, format!("{}_b{block}", plan.name), &|map, nest| {
            if !map.folds.is_empty() {
                let last = map.iters.len().saturating_sub(1);
                let shared = |exec: Exec| exec == Exec::Simd || exec == Exec::Thread;
                nest.levels
                    .iter_mut()
                    .skip(last)
                    .take(1)
                    .filter(|level| shared(level.exec))
                    .for_each(|level| level.tile = block);
            }
        })
    };
    domain(&model.tunables, "fold_block").iter().filter_map(change).collect()
}

/// The plan with changed nests, if that changes anything.
fn changed(maps: &[&Map], plan: &Plan, name: String, change: &dyn Fn(&Map, &mut Nest)) -> Option<Plan> {
    let mut nests = plan.nests.clone();
    maps.iter().zip(&mut nests).for_each(|(map, nest)| change(map, nest));
    (nests != plan.nests).then_some(Plan { name, nests })
}
