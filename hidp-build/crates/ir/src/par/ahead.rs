//! Reads of elements that other iterations may write, which can be hoisted out of a map.

use super::lanes::vectorisable;
use super::once::inside;
use super::visit::{self, Role};
use super::{
    Access, BinOp, ConvertMode, Expr, ExprKind, Func, Iter, Map, Place, Program, StmtKind, VarId, VarKind, same,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// A place that is read before a map.
pub struct ReadAhead {
    /// The place.
    pub place: Place,
    /// The iterators along which it is read, in the order of its dimensions; it is the same for all others.
    pub along: Vec<VarId>,
    /// Whether it is read along all iterators but the last, and where these have the same values no other iteration writes it.
    pub of_row: bool,
}

/// What a map outside of others reads where other iterations may write, each once, if iterations write elements of their own alone, what they read
/// besides is the same for all iterators or along some of them, and the map runs in vector lanes where that is read before.
/// An iteration may find the value from before the map wherever others write, so results stay what they may be.
pub fn read_ahead(program: &Program, func: &Func, map: &Map) -> Option<Vec<ReadAhead>> {
    if !map.folds.is_empty() {
        return None;
    }
    let mut places: Vec<(Place, Role)> = Vec::new();
    visit::walk_places(&map.body, |place, role| places.push((place.clone(), role)));
    let shared: OrdSet<VarId> =
        places.iter().filter(|(place, _)| place.access == Access::Shared).map(|(place, _)| place.array).collect();
    let inside = inside(map);
    let mut ahead: Vec<ReadAhead> = Vec::new();
    for array in shared {
        let of_array = || places.iter().filter(move |(place, _)| place.array == array);
        let (own, _) = of_array().find(|(_, role)| *role != Role::Read)?;
        // What an iteration wrote itself it finds as it wrote it: reads come first.
        let mut past_reads = of_array().skip_while(|(_, role)| *role == Role::Read);
        let ordered = past_reads.all(|(place, _)| same::exprs(&place.index, &own.index));
        if !is_own(own, map) || !ordered || is_written_in_turns(map, array) {
            return None;
        }
        for (place, role) in of_array() {
            if same::exprs(&place.index, &own.index) {
                continue;
            }
            let readable = *role == Role::Read && place.unproved == 0 && place.path.is_empty();
            let along = along(place, map, &inside)?;
            if !readable || along.len() >= map.iters.len() || !can_be_copied(func, array) {
                return None;
            }
            if !ahead.iter().any(|other| same::place(&other.place, place)) {
                let of_row = is_of_row(place, own, map);
                ahead.push(ReadAhead { place: place.clone(), along, of_row });
            }
        }
    }
    let mut apart = map.clone();
    visit::map_places(&mut apart.body, |place, _| place.access = Access::Exclusive);
    (!ahead.is_empty() && vectorisable(program, func, &apart)).then_some(ahead)
}

/// Whether iterations that differ in others than the last iterator neither read nor write each other's elements: all but the last stand
/// in the dimensions in which they stand where an iteration writes its own.
fn is_of_row(place: &Place, own: &Place, map: &Map) -> bool {
    let outer = &map.iters[..map.iters.len().saturating_sub(1)];
    let stands = |place: &Place, dim: usize, iter: &Iter| place.index[dim].kind == ExprKind::Read(iter.var);
    let same = |iter: &Iter| (0..own.index.len()).any(|dim| stands(own, dim, iter) && stands(place, dim, iter));
    !outer.is_empty() && outer.iter().all(same)
}

/// Whether a loop of an iteration writes an array, so that a later turn may read what an earlier one wrote.
fn is_written_in_turns(map: &Map, array: VarId) -> bool {
    let mut found = false;
    visit::walk_stmts(&map.body, |stmt| {
        if let StmtKind::Loop(node) = &stmt.kind {
            visit::walk_places(&node.body, |place, role| found |= place.array == array && role != Role::Read);
        }
    });
    found
}

/// The iterators along which a place is read, in the order of its dimensions. `None` if it is not the same for all others.
fn along(place: &Place, map: &Map, inside: &OrdSet<VarId>) -> Option<Vec<VarId>> {
    let mut found = Vec::new();
    for index in &place.index {
        match iterator(index, map) {
            Some(var) if !found.contains(&var) => found.push(var),
            Some(_) => return None,
            None => stays(index, inside).then_some(())?,
        }
    }
    Some(found)
}

/// Whether a part of an array can be declared anywhere: of numbers, with extents that never change.
fn can_be_copied(func: &Func, array: VarId) -> bool {
    let array = &func.vars[array];
    let fixed = |extent: &Expr| match extent.kind {
        ExprKind::Read(var) => func.vars[var].kind == VarKind::Dim,
        _ => extent.as_int().is_some(),
    };
    matches!(array.ty, Ty::Scalar(_)) && array.shape.iter().all(fixed)
}

fn iterator(index: &Expr, map: &Map) -> Option<VarId> {
    map.iters.iter().map(|iter| iter.var).find(|var| index.kind == ExprKind::Read(*var))
}

fn is_own(place: &Place, map: &Map) -> bool {
    map.iters.iter().all(|iter| place.index.iter().any(|index| index.kind == ExprKind::Read(iter.var)))
}

fn stays(index: &Expr, inside: &OrdSet<VarId>) -> bool {
    let mut stays = true;
    visit::walk_subexprs(index, |node| {
        stays &= match &node.kind {
            ExprKind::Read(var) => !inside.contains(var),
            ExprKind::Load(_) | ExprKind::Call(..) => false,
            ExprKind::Convert { mode, .. } => *mode != ConvertMode::Checked,
            // A branch around it may be why it is not checked.
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr, right, checked, .. } => {
                !checked && right.as_int().is_some_and(|value| value != 0)
            }
            ExprKind::Binary { checked, .. } => !checked,
            ExprKind::Const(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => true,
        };
    });
    stays
}
