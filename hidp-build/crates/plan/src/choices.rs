//! What a nest does by a number, beside its lines: rows of a table for each kind of line. A row says of what nests it can be, which numbers
//! it may have, and which one the planner takes. The planner writes by these rows, and what reads lines, or judges pinned ones, asks them.

use super::cuts::{are_unequal, is_heavy, may_be_together};
use super::device_levels::is_ordered;
use super::mapping::{Mapping, Misfit, Recipe, Strategy, key};
use super::notation::{FoldOption, Property};
use super::{inner_maps, short};
use crate::target::Model;
use hidp_ir::par::{FoldKind, Func, Map, Program};

/// A nest and how it runs, as far as that is known.
pub(crate) struct Facts<'a> {
    pub(crate) program: &'a Program,
    pub(crate) func: &'a Func,
    pub(crate) nest: &'a Map,
    pub(crate) mapping: &'a Mapping,
}

/// A word with a number.
pub(super) struct Choice<W: 'static> {
    word: fn(u32) -> W,
    /// The least number that makes sense, and the largest.
    numbers: (u32, u32),
    /// Of what nests, or folds, it can be: what is said of others.
    expected: &'static str,
    /// Whether it can be of this one. Of a nest's own words it is the nest that is given.
    suits: fn(&Facts<'_>, &Map) -> bool,
    /// What the planner takes where it can be, if anything.
    usual: fn(&Facts<'_>, &Map, &Model) -> Option<u32>,
}

/// Any number.
const ANY: (u32, u32) = (1, u32::MAX);
/// Longest rows that are written out: each length has code of its own.
const MOST_WRITTEN: u32 = 16;
/// Longest run of a fold.
const MOST_RUN: u32 = 1 << 20;

/// Of nests on threads. A row may ask for those before it.
pub(super) static OF_NESTS: [Choice<Property>; 6] = [
    Choice {
        word: Property::Together,
        numbers: ANY,
        expected: "all threads may share what is inside of each iteration",
        suits: |facts, nest| facts.mapping.strategy == Strategy::Rows && may_be_together(nest),
        usual: |_, _, model| Some(model.team_row),
    },
    Choice {
        word: Property::Written,
        numbers: (1, MOST_WRITTEN),
        expected: "iterations have rows that can be written out",
        suits: |facts, nest| {
            facts.mapping.strategy == Strategy::Rows && !short::with_rows(facts.program, facts.func, nest).is_empty()
        },
        usual: |facts, nest, model| {
            short::are_light(facts.program, facts.func, nest, model).then_some(model.written_row)
        },
    },
    Choice {
        word: Property::Fewest,
        numbers: ANY,
        expected: "there are tiles of lanes, which may be too narrow",
        suits: |facts, _| facts.has_lane_tiles(),
        usual: |_, _, model| Some(model.fewest_lanes),
    },
    Choice {
        word: Property::Alone,
        numbers: ANY,
        expected: "there are tiles of rows, which may be few",
        suits: |facts, nest| facts.has_lane_tiles() && facts.mapping.rows_of_tile(nest).is_some(),
        usual: |_, _, model| Some(model.few_rows),
    },
    Choice {
        word: Property::Turns,
        numbers: ANY,
        expected: "iterations that threads share are unequal",
        // Of a nest of tiles threads share rows, in turn or not, where `fewest` says that there are too few lanes.
        suits: |facts, nest| {
            let shared = !facts.has_lane_tiles() || facts.mapping.number(Property::Fewest).is_some();
            shared && are_unequal(nest, facts.mapping.strategy)
        },
        usual: |_, _, model| Some(model.irregular_rows),
    },
    Choice {
        word: Property::Parts,
        numbers: ANY,
        expected: "parts are taken in turn",
        suits: |facts, _| facts.mapping.number(Property::Turns).is_some(),
        usual: |_, _, model| Some(model.irregular_parts),
    },
];

/// Of maps of nests on threads that fold.
pub(super) static OF_FOLDS: [Choice<FoldOption>; 1] = [Choice {
    word: FoldOption::Runs,
    numbers: (2, MOST_RUN),
    expected: "a `fold` line cuts the range of a map that folds, in any order",
    suits: |_, map| {
        let reduces = !map.folds.is_empty() && map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
        reduces && !map.folds.iter().any(is_ordered)
    },
    // Long, or short where each iteration has much to do.
    usual: |_, map, model| Some(if is_heavy(map) { model.heavy_block } else { model.fold_block }),
}];

impl Facts<'_> {
    fn has_lane_tiles(&self) -> bool {
        matches!(self.mapping.recipe, Recipe::Lanes(_))
    }
}

/// The numbers that a property of a nest on threads may have; none if it is not of threads.
pub(super) fn numbers_of_property(property: Property) -> Option<(u32, u32)> {
    OF_NESTS.iter().find(|row| Property::number_of(&[property], row.word).is_some()).map(|row| row.numbers)
}

/// The same of an option of a fold.
pub(super) fn numbers_of_option(option: FoldOption) -> Option<(u32, u32)> {
    OF_FOLDS.iter().find(|row| FoldOption::number_of(&[option], row.word).is_some()).map(|row| row.numbers)
}

/// The maps of a nest, outer ones first.
fn maps_of(nest: &Map) -> Vec<&Map> {
    let inside = inner_maps(&nest.body).into_iter().flat_map(maps_of);
    std::iter::once(nest).chain(inside).collect()
}

/// What the planner takes for a nest on threads of which all else is decided.
pub(super) fn choose(program: &Program, func: &Func, nest: &Map, mapping: &mut Mapping, model: &Model) {
    for choice in &OF_NESTS {
        let facts = Facts { program, func, nest, mapping };
        let chosen = (choice.suits)(&facts, nest).then(|| (choice.usual)(&facts, nest, model)).flatten();
        mapping.choices.extend(chosen.map(choice.word));
    }
    for map in maps_of(nest) {
        for choice in &OF_FOLDS {
            let facts = Facts { program, func, nest, mapping };
            let chosen = (choice.suits)(&facts, map).then(|| (choice.usual)(&facts, map, model)).flatten();
            if let (Some(number), Some(key)) = (chosen, key(map)) {
                mapping.cuts.entry(key).or_default().options.push((choice.word)(number));
            }
        }
    }
}

/// Whether a nest on threads can do all that its lines choose.
pub(crate) fn judge(facts: &Facts<'_>) -> Result<(), Misfit> {
    for choice in &OF_NESTS {
        let asked = facts.mapping.number(choice.word).is_some();
        if asked && !(choice.suits)(facts, facts.nest) {
            return Err(Misfit(choice.expected.to_owned()));
        }
    }
    for map in maps_of(facts.nest) {
        let Some(cut) = facts.mapping.cut(map) else { continue };
        if let Some(other) = cut.options.iter().find(|option| numbers_of_option(**option).is_none()) {
            return Err(Misfit(format!("folds on threads have no `{}`", other.name())));
        }
        for choice in &OF_FOLDS {
            if cut.number(choice.word).is_some() && !(choice.suits)(facts, map) {
                return Err(Misfit(choice.expected.to_owned()));
            }
        }
    }
    Ok(())
}
