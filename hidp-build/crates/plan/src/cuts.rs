//! How the ranges of folds are cut. The tree of a fold follows from that and from sizes alone, so the numbers are part of the plan.

use super::mapping::{Cut, Strategy};
use super::notation::FoldOption;
use super::{gives_to_team, inner_maps, irregular};
use crate::target::DeviceModel;
use hidp_ir::par::{Fold, FoldFn, Map};

/// The cut of a map that a device folds: each block takes a run, and one block what they leave.
pub(super) fn on_device(map: &Map, values: bool, model: &DeviceModel) -> Cut {
    let runs = if !values && is_heavy(map) { model.heavy_run } else { model.run };
    Cut { values, ..Cut::of([FoldOption::Runs(runs), FoldOption::Most(model.most_runs)]) }
}

/// Whether the result of a fold depends on how its range is cut.
pub fn rounds(fold: &Fold) -> bool {
    let float = fold.op.ty.scalar().is_none_or(|scalar| scalar.is_float());
    let inexact = matches!(fold.op.func, FoldFn::Add | FoldFn::Mul | FoldFn::Fn(_));
    float && inexact && !fold.op.ordered
}

/// Whether all threads may share what is inside of each iteration, one after the other, or one thread of each iteration, with the same
/// bits: folds of ranges of several iterators are cut at the end of the last one where one thread takes them.
pub(super) fn may_be_together(map: &Map) -> bool {
    let alike = |inner: &Map| inner.iters.len() == 1 || !inner.folds.iter().any(rounds);
    gives_to_team(map) && !irregular(map) && inner_maps(&map.body).into_iter().all(alike)
}

/// Whether iterations that threads share are unequal: then parts of them are taken in turn.
pub(super) fn are_unequal(map: &Map, strategy: Strategy) -> bool {
    let unequal = |map: &Map| map.folds.is_empty() && irregular(map);
    match strategy {
        Strategy::Rows | Strategy::Lanes | Strategy::Wide => unequal(map),
        Strategy::Team => inner_maps(&map.body).into_iter().any(unequal),
        Strategy::Serial | Strategy::Device(_) => false,
    }
}

/// Whether iterations have maps inside, or work that depends on data.
pub(super) fn is_heavy(map: &Map) -> bool {
    !inner_maps(&map.body).is_empty() || irregular(map)
}
