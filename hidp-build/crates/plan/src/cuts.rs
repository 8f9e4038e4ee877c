//! How the ranges of folds are cut. The tree of a fold follows from that and from sizes alone, so the numbers are part of the plan.

use std::collections::BTreeMap;

use super::device_levels::is_ordered;
use super::mapping::{Cut, key};
use super::{inner_maps, irregular};
use crate::target::{DeviceModel, Model};
use hidp_ir::par::{FoldKind, Map, VarId};

/// The cuts of a nest on threads: runs of a fold are long, or short where each iteration has much to do.
pub(super) fn on_threads(map: &Map, model: &Model) -> BTreeMap<VarId, Cut> {
    let mut cuts = BTreeMap::new();
    collect(map, model, &mut cuts);
    cuts
}

fn collect(map: &Map, model: &Model, cuts: &mut BTreeMap<VarId, Cut>) {
    let reduces = !map.folds.is_empty() && map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
    if reduces && !map.folds.iter().any(is_ordered) {
        let runs = if is_heavy(map) { model.heavy_block } else { model.fold_block };
        cuts.extend(key(map).map(|key| (key, Cut { runs: Some(runs), ..Cut::default() })));
    }
    inner_maps(&map.body).into_iter().for_each(|inner| collect(inner, model, cuts));
}

/// The cut of a map that a device folds: each block takes a run, and one block what they leave.
pub(super) fn on_device(map: &Map, values: bool, model: &DeviceModel) -> Cut {
    let runs = if !values && is_heavy(map) { model.heavy_run } else { model.run };
    Cut { runs: Some(runs), most: Some(model.most_runs), values, ..Cut::default() }
}

/// Whether iterations have maps inside, or work that depends on data.
pub(super) fn is_heavy(map: &Map) -> bool {
    !inner_maps(&map.body).is_empty() || irregular(map)
}
