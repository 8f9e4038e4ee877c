//! Prefix folds at host level on processors: in blocks, each of which is summed first, or by the run-time library.

use super::inner_maps;
use super::mapping::{Mapping, Strategy};
use super::notation::Property;
use super::shape::{Stride, straight, stride_of};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{Access, ConvertMode, ExprKind, Fold, FoldKind, Func, Map, Place, Program, StmtKind, Target};
use hidp_syntax::ordered::OrdSet;

/// Whether blocks of prefixes can be summed ahead: the body has no effect but its values, and prefixes may be reassociated.
pub(crate) fn can_be_in_blocks(program: &Program, func: &Func, map: &Map) -> bool {
    let effects = Effects::of_block(program, &func.vars, &map.body);
    let float = |fold: &Fold| fold.op.ty.scalar().is_none_or(|scalar| scalar.is_float());
    map.iters.len() == 1
        && !map.folds.is_empty()
        && straight(program, func, &map.body)
        && effects.outer_writes().is_empty()
        && map
            .folds
            .iter()
            .all(|fold| fold.kind != FoldKind::Reduce && fold.op.neutral.is_some() && !(fold.op.ordered && float(fold)))
}

/// Where values come from and prefixes go, if the map does nothing but the prefix fold of neighbouring elements: the library reads
/// them once.
pub fn prefixes_of_library<'m>(program: &Program, func: &Func, map: &'m Map) -> Option<(&'m Place, &'m Place)> {
    let ([fold], [iter], [declare, assign]) = (&map.folds[..], &map.iters[..], &map.body.stmts[..]) else {
        return None;
    };
    let (StmtKind::Declare { .. }, StmtKind::Assign { var, value }) = (&declare.kind, &assign.kind) else {
        return None;
    };
    let value = match &value.kind {
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => operand,
        _ => value,
    };
    let (ExprKind::Load(from), Target::Element(to)) = (&value.kind, &fold.target) else { return None };
    let none = OrdSet::new();
    let neighbours = |place: &Place| {
        let plain = place.unproved == 0 && place.access == Access::Exclusive && place.path.is_empty();
        plain && stride_of(place, iter.var, &none) == Stride::Unit
    };
    let fits = *var == fold.value && iter.step.as_int() == Some(1) && neighbours(from) && neighbours(to);
    (fits && can_be_in_blocks(program, func, map)).then_some((from, to))
}

/// Whether threads of the host are started for a map of a nest that runs like this.
pub(crate) fn is_started(nest: &Map, mapping: &Mapping, map: &Map) -> bool {
    let same = |other: &Map| std::ptr::eq(other, map);
    let inside = || inner_maps(&nest.body).into_iter().any(same);
    match mapping.strategy {
        Strategy::Rows => same(nest) || (mapping.number(Property::Together).is_some() && inside()),
        Strategy::Lanes | Strategy::Wide => same(nest),
        Strategy::Team => inside(),
        Strategy::Serial | Strategy::Device(_) => false,
    }
}
