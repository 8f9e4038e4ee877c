//! Domains that begin below 0: their orders are proved as they are written, and then indices count from the first cell.

use hidp_ir::par::visit;
use hidp_ir::par::{Expr, System, VarId};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

use super::super::shape;

/// The indices of the first element of each table.
pub(super) type First = OrdMap<VarId, Vec<i64>>;

/// Lets the indices of all tables count from their first element on.
pub(super) fn at_zero(systems: &mut [System], first: &First) {
    for table in systems.iter_mut().flat_map(|system| &mut system.tables) {
        let own = first.get(&table.array).into_iter().flatten();
        let moved: OrdMap<VarId, i64> =
            table.index.iter().map(|iter| iter.var).zip(own.copied()).filter(|(_, first)| *first != 0).collect();
        let span = table.span;
        let meant = |var: VarId| {
            let first = moved.get(&var)?;
            Some(shape::add(&Expr::read(var, Ty::LONG, span), &Expr::int(*first, span)))
        };
        for iter in &mut table.index {
            let first = moved.get(&iter.var).copied().unwrap_or(0);
            for bound in [&mut iter.lo, &mut iter.hi] {
                visit::substitute_expr(bound, meant);
                *bound = from_first(bound.clone(), first);
            }
        }
        visit::substitute(&mut table.body, meant);
        visit::map_places(&mut table.body, |place, _| {
            if let Some(first) = first.get(&place.array) {
                place.index =
                    place.index.drain(..).zip(first).map(|(index, first)| from_first(index, *first)).collect();
            }
        });
    }
}

/// An index as it counts from the first one on.
pub(super) fn from_first(index: Expr, first: i64) -> Expr {
    if first == 0 {
        return index;
    }
    shape::sub(&index, &Expr::int(first, index.span))
}
