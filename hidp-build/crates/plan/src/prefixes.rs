//! Prefix folds at host level on processors: in blocks, each of which is summed first, or by the run-time library.

use super::inner_maps;
use super::mapping::{Mapping, Strategy};
use super::notation::Property;
use super::shape::{Stride, straight, stride_of};
use hidp_ir::par::effects::{Effects, may_fault};
use hidp_ir::par::{
    Access, ConvertMode, ExprKind, Fold, FoldFn, FoldKind, FoldOp, Func, Map, Place, Program, StmtKind, Target, visit,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

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

/// Whether the iterations of a tile can be computed before the first of their prefixes is stored, and prefixes form in vector lanes with the same
/// bits: those of integers of 4 and 8 bytes.
pub fn prefixes_in_tiles(program: &Program, func: &Func, map: &Map) -> bool {
    let [iter] = &map.iters[..] else { return false };
    let declared: OrdSet<_> = visit::declared(&map.body).into_iter().collect();
    let reads = Effects::of_block(program, &func.vars, &map.body).reads;
    let fits = |fold: &Fold| {
        let Target::Element(place) = &fold.target else { return false };
        let plain = place.unproved == 0 && place.access == Access::Exclusive && place.path.is_empty();
        let apart = stride_of(place, iter.var, &declared) == Stride::Unit && !reads.contains(&place.array);
        plain && apart && forms_in_lanes(&fold.op)
    };
    iter.step.as_int() == Some(1) && !may_fault(program, &func.vars, &map.body) && map.folds.iter().all(fits)
}

/// Whether the library has an operator on vectors. Products of 64 bits are no instruction everywhere.
fn forms_in_lanes(op: &FoldOp) -> bool {
    let wide = match op.ty.scalar() {
        Some(Scalar::I32 | Scalar::U32) => false,
        Some(Scalar::I64 | Scalar::U64) => true,
        Some(Scalar::Bool | Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 | Scalar::F32 | Scalar::F64) | None => {
            return false;
        }
    };
    match op.func {
        FoldFn::Add | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => true,
        FoldFn::Mul => !wide,
        FoldFn::Fn(_) => false,
    }
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
