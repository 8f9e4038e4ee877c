//! Folds of single lanes along rows of their own: which loads of a row may move several elements at a time into registers. A lane's row is
//! apart from its neighbours' rows, so the cost is the number of line look-ups, not of bytes.

use super::shape::{Stride, stride_of};
use hidp_ir::par::effects::may_fault;
use hidp_ir::par::lanes::straight;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Access, FoldFn, FoldKind, Func, Map, Place, Program};
use hidp_syntax::ordered::OrdSet;

/// What moves along a row.
#[derive(Clone, Debug)]
pub struct MovedRow {
    /// The loads whose neighbours are those of the iteration.
    pub places: Vec<Place>,
    /// Bytes of the largest element.
    pub size: u32,
}

/// The loads of a fold that can move at once: contiguous numbers that are not written in the meantime.
pub fn moved_row(program: &Program, func: &Func, map: &Map) -> Option<MovedRow> {
    let [iter] = &map.iters[..] else { return None };
    let folds = map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce && !matches!(fold.op.func, FoldFn::Fn(_)));
    let straight = straight(program, func, &map.body);
    let steady = iter.step.as_int() == Some(1) && !may_fault(program, &func.vars, &map.body);
    if map.folds.is_empty() || !folds || !straight || !steady || map.directives.unroll.is_some() {
        return None;
    }
    let varying: OrdSet<_> = visit::declared(&map.body).into_iter().collect();
    let mut places: Vec<Place> = Vec::new();
    let mut good = true;
    visit::walk_places(&map.body, |place, role| {
        good &= role == Role::Read;
        if stride_of(place, iter.var, &varying) == Stride::Unit && !places.contains(place) {
            places.push(place.clone());
        }
    });
    let sizes: Option<Vec<u32>> = places.iter().map(|place| movable(func, place)).collect();
    let size = sizes?.into_iter().max()?;
    good.then_some(MovedRow { places, size })
}

/// Bytes of a place's elements, if several can move at once.
fn movable(func: &Func, place: &Place) -> Option<u32> {
    let plain = place.path.is_empty() && place.access != Access::Shared;
    let size = func.vars[place.array].ty.scalar()?.size() as u32;
    (plain && matches!(size, 4 | 8)).then_some(size)
}
