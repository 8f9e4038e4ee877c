//! Iterators that together number the elements of arrays one after the other run as one: rows of three channels would be loops of three turns.
//!
//! The last of them counts through all elements, and the others keep their first values: the place of an element is linear in each.

use super::build::Binding;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::par::visit;
use hidp_ir::par::{Map, Place, VarId};
use hidp_plan as plan;
use hidp_syntax::ordered::OrdSet;

impl Lowerer<'_> {
    /// Inside a kernel: the ranges of a map, as many of the last ones as possible in one. Binds the iterators of the others of those.
    pub(super) fn in_whole_rows(&mut self, map: &Map, mut ranges: Vec<Range>) -> Vec<Range> {
        let mut first = ranges.len().saturating_sub(1);
        while first > 0 && self.are_whole_rows(map, &ranges[first - 1], &ranges[first]) {
            first -= 1;
        }
        let joined = ranges.split_off(first);
        let [outer @ .., last] = &joined[..] else { return ranges };
        let mut last = last.clone();
        for range in outer {
            self.bind_position(range, make::long(0));
            last.count = make::mul(range.count.clone(), last.count);
        }
        last.count = self.body.fix("count", last.count);
        ranges.push(last);
        ranges
    }

    /// Whether a step of `outer` and all of `inner` are one distance in all arrays, and an iteration does nothing else with either.
    pub(super) fn are_whole_rows(&mut self, map: &Map, outer: &Range, inner: &Range) -> bool {
        let steps = [outer, inner].iter().all(|range| make::as_int(&range.step) == Some(1));
        if !steps || make::as_int(&inner.lo) != Some(0) {
            return false;
        }
        let mut uses = 0;
        visit::walk_vars(&map.body, |var, _| uses += usize::from(var == outer.var || var == inner.var));
        let mut rows = Vec::new();
        visit::walk_places(&map.body, |place, _| {
            if let Some(column) = column_of(place, outer.var, inner.var) {
                rows.push((place.clone(), column));
            }
        });
        let declared = visit::declared(&map.body);
        uses == 2 * rows.len()
            && rows.iter().all(|(place, column)| {
                !declared.contains(&place.array)
                    && !self.is_unproved(place, *column)
                    && !self.is_unproved(place, *column - 1)
                    && matches!(self.binding(place.array), Binding::Array(array) if array.extents.get(*column) == Some(&inner.count))
            })
    }
}

/// The dimension along which `inner` goes, if `outer` goes along the one before it, and neither elsewhere.
fn column_of(place: &Place, outer: VarId, inner: VarId) -> Option<usize> {
    let [row, column] = [outer, inner].map(|var| {
        let factors = place.index.iter().map(|index| plan::coefficient(index, var, &OrdSet::new()));
        let factors: Option<Vec<i128>> = factors.collect();
        let factors = factors?;
        let alone = factors.iter().filter(|factor| **factor != 0).count() == 1;
        factors.iter().position(|factor| alone && *factor == 1)
    });
    (column? == row? + 1).then_some(column?)
}
