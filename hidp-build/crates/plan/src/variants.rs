//! Plans with other tiles, from the domains that the hardware model declares.

use super::mapping::{Exec, Mapping, Recipe, key};
use super::notation::FoldOption;
use super::{Plan, cuts};
use crate::target::{DeviceModel, Model, Stage, Tunable};
use hidp_ir::par::{Func, Map, Program};

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
        let entry = Entry { program, func, maps, plan: all[at].clone() };
        for variant in entry.tiles(model).into_iter().chain(entry.blocks(model)) {
            if !all.iter().any(|other| other.same_as(&variant)) {
                all.push(variant);
            }
        }
    }
    all
}

/// The plans for a device, and all of them with blocks of other sizes, not where a directive says how large, or tiles are staged; and with
/// other numbers of groups that share folds.
pub(super) fn of_device(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: Vec<Plan>,
    model: &DeviceModel,
) -> Vec<Plan> {
    let mut all = plans;
    for at in 0..all.len() {
        let entry = Entry { program, func, maps, plan: all[at].clone() };
        for &block in domain(&model.tunables, "block") {
            all.extend(entry.changed(&format!("b{block}"), &|map, mapping| {
                if map.directives.block.is_none() && mapping.staging.is_empty() {
                    mapping.blocks.values_mut().for_each(|threads| *threads = block);
                }
            }));
        }
        for &percent in domain(&model.tunables, "split") {
            all.extend(entry.changed(&format!("s{percent}"), &|_, mapping| {
                for cut in mapping.cuts.values_mut() {
                    cut.change(FoldOption::Groups, |groups| (groups * percent / 100).max(1));
                }
            }));
        }
    }
    all
}

/// Whether a plan is another one of these with other numbers: its name begins with that one's.
pub(super) fn is_variant(plan: &Plan, plans: &[Plan]) -> bool {
    let of = |other: &Plan| plan.name.strip_prefix(&other.name).is_some_and(|rest| rest.starts_with('_'));
    plans.iter().any(of)
}

fn domain<'m>(tunables: &'m [Tunable], name: &str) -> &'m [u32] {
    let tunable = tunables.iter().find(|tunable| tunable.stage == Stage::Build && tunable.name == name);
    tunable.map_or(&[], |tunable| &tunable.domain)
}

/// A plan of an entry.
struct Entry<'a> {
    program: &'a Program,
    func: &'a Func,
    maps: &'a [&'a Map],
    plan: Plan,
}

impl Entry<'_> {
    /// Register tiles of other sides, and first-level cache tiles of other lengths.
    fn tiles(&self, model: &Model) -> Vec<Plan> {
        let mut found = Vec::new();
        for &rows in domain(&model.tunables, "tile_rows") {
            for &vectors in domain(&model.tunables, "tile_vectors") {
                // Sums, a row of vectors, and what they are multiplied with.
                if rows * vectors + vectors + model.spare_registers <= model.vector_registers {
                    found.extend(self.changed(&format!("r{rows}v{vectors}"), &|map, mapping| {
                        let Recipe::Lanes(shape) = mapping.recipe else { return };
                        let (Some(reuse), Some(last)) = (shape.reuse, key(map)) else { return };
                        let lanes = vectors * model.vector_bytes / shape.elem_size as u32;
                        mapping.levels.entry(last).and_modify(|level| level.tile = lanes);
                        mapping.levels.entry(map.iters[reuse].var).and_modify(|level| level.tile = rows);
                    }));
                }
            }
        }
        for &columns in domain(&model.tunables, "lane_tile") {
            found.extend(self.changed(&format!("c{columns}"), &|map, mapping| {
                let Recipe::Lanes(shape) = mapping.recipe else { return };
                if let (None, Some(last)) = (shape.reuse, key(map)) {
                    mapping.levels.entry(last).and_modify(|level| level.tile = columns);
                }
            }));
        }
        found
    }

    /// Folds in runs of other lengths, where iterations are light.
    fn blocks(&self, model: &Model) -> Vec<Plan> {
        let change = |&block: &u32| {
            self.changed(&format!("b{block}"), &|map, mapping| {
                let Some(key) = key(map) else { return };
                let shared = matches!(mapping.exec(key), Some(Exec::Simd | Exec::Thread));
                if let (true, Some(cut)) = (shared && !cuts::is_heavy(map), mapping.cuts.get_mut(&key)) {
                    cut.change(FoldOption::Runs, |_| block);
                }
            })
        };
        domain(&model.tunables, "fold_block").iter().filter_map(change).collect()
    }

    /// The plan with changed nests, if that changes anything; its name has this at the end.
    fn changed(&self, suffix: &str, change: &dyn Fn(&Map, &mut Mapping)) -> Option<Plan> {
        let mut nests = Vec::new();
        for (map, nest) in self.maps.iter().zip(&self.plan.nests) {
            // The planner wrote the lines; if they could not be read, lowering would report it.
            let mut mapping = Mapping::read(self.program, self.func, map, nest).ok()?;
            change(map, &mut mapping);
            nests.push(mapping.lines(self.func, map));
        }
        let name = format!("{}_{suffix}", self.plan.name);
        (nests != self.plan.nests).then(|| Plan::new(name, nests))
    }
}
