//! What a nest does by a number, beside its lines: rows of a table for each kind of line. A row says of what nests it can be, which numbers
//! it may have, and which one the planner takes. The planner writes by these rows, and what reads lines, or judges pinned ones, asks them.

use super::cuts::{are_unequal, is_heavy, may_be_together};
use super::device_levels::is_ordered;
use super::mapping::{Exec, Mapping, Misfit, Recipe, Strategy, key};
use super::notation::{FoldOption, Property};
use super::prefixes::{can_be_in_blocks, is_started, prefixes_of_library};
use super::shape::{gathers, vectorisable};
use super::{inner_maps, short};
use crate::target::Model;
use hidp_ir::par::visit;
use hidp_ir::par::{FoldKind, Func, Map, Program};
use hidp_syntax::ty::Scalar;

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
    numbers: Numbers,
    /// Whether lines that could have it need it.
    needed: fn(&Facts<'_>, &Map) -> bool,
    /// Of what nests, or folds, it can be: what is said of others.
    expected: &'static str,
    /// Whether it can be of this one. Of a nest's own words it is the nest that is given.
    suits: fn(&Facts<'_>, &Map) -> bool,
    /// What the planner takes where it can be, if anything.
    usual: fn(&Facts<'_>, &Map, &Model) -> Option<u32>,
}

/// The numbers that make sense.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers {
    /// From one to another.
    From(u32, u32),
    /// Powers of two, up to this one.
    PowersTo(u32),
}

impl Numbers {
    /// What is expected instead of a number that is none of these.
    pub(super) fn check(self, number: u32) -> Result<(), String> {
        match self {
            Numbers::From(least, most) if (least..=most).contains(&number) => Ok(()),
            Numbers::From(least, most) => Err(format!("a number from {least} to {most}")),
            Numbers::PowersTo(most) if number.is_power_of_two() && number <= most => Ok(()),
            Numbers::PowersTo(most) => Err(format!("a power of two up to {most}")),
        }
    }
}

const ANY: Numbers = Numbers::From(1, u32::MAX);
/// Of rows that are written out: each length has code of its own.
const WRITTEN: Numbers = Numbers::From(1, 16);
/// Of iterations of a run.
const RUN: Numbers = Numbers::From(2, 1 << 20);
/// Of results side by side: each is code, and they are folded by halves.
const SIDE_BY_SIDE: Numbers = Numbers::PowersTo(256);
/// Of iterations at once: each is code.
const REPEATED: Numbers = Numbers::From(2, 64);
/// Most elements in a tile of lanes.
const MOST_TILE: u64 = 1 << 14;
/// Of lanes of a tile.
const COLUMNS: Numbers = Numbers::From(1, 1 << 14);

const ALWAYS: fn(&Facts<'_>, &Map) -> bool = |_, _| true;
const NEVER: fn(&Facts<'_>, &Map) -> bool = |_, _| false;

/// Of nests on threads. A row may ask for those before it.
pub(super) static OF_NESTS: [Choice<Property>; 7] = [
    Choice {
        word: Property::Together,
        numbers: ANY,
        needed: NEVER,
        expected: "all threads may share what is inside of each iteration",
        suits: |facts, nest| facts.mapping.strategy == Strategy::Rows && may_be_together(nest),
        usual: |_, _, model| Some(model.team_row),
    },
    Choice {
        word: Property::Written,
        numbers: WRITTEN,
        needed: NEVER,
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
        needed: NEVER,
        expected: "there are tiles of lanes, which may be too narrow",
        suits: |facts, _| facts.has_lane_tiles(),
        usual: |_, _, model| Some(model.fewest_lanes),
    },
    Choice {
        word: Property::Alone,
        numbers: ANY,
        needed: NEVER,
        expected: "there are tiles of rows, which may be few",
        suits: |facts, nest| facts.has_lane_tiles() && facts.mapping.rows_of_tile(nest).is_some(),
        usual: |_, _, model| Some(model.few_rows),
    },
    Choice {
        word: Property::Columns,
        numbers: COLUMNS,
        needed: ALWAYS,
        expected: "there may be tiles without rows among those that have some",
        suits: |facts, _| facts.mapping.number(Property::Alone).is_some(),
        usual: |_, _, model| Some(model.lane_tile),
    },
    Choice {
        word: Property::Turns,
        numbers: ANY,
        needed: NEVER,
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
        needed: NEVER,
        expected: "parts are taken in turn",
        suits: |facts, _| facts.mapping.number(Property::Turns).is_some(),
        usual: |_, _, model| Some(model.irregular_parts),
    },
];

/// Of maps of nests on threads that fold.
pub(super) static OF_FOLDS: [Choice<FoldOption>; 6] = [
    Choice {
        word: FoldOption::Runs,
        numbers: RUN,
        needed: NEVER,
        expected: "`runs` are of a map that folds in any order, or of prefixes whose blocks can be summed ahead",
        suits: |facts, map| {
            let reduces = !map.folds.is_empty() && map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
            (reduces && !map.folds.iter().any(is_ordered)) || facts.has_blocks(map)
        },
        usual: |facts, map, model| match (facts.has_blocks(map), is_heavy(map)) {
            (true, _) => prefixes_of_library(facts.program, facts.func, map).is_none().then_some(model.scan_block),
            (false, true) => Some(model.heavy_block),
            (false, false) => Some(model.fold_block),
        },
    },
    Choice {
        word: FoldOption::Short,
        numbers: ANY,
        needed: NEVER,
        expected: "lanes may have parts of the fold",
        suits: |facts, map| facts.folds_in_lanes(map),
        usual: |_, map, model| Some(if gathers(map) { model.short_gather } else { model.short_row }),
    },
    Choice {
        word: FoldOption::Sums,
        numbers: SIDE_BY_SIDE,
        needed: |facts, map| facts.has_lanes(map),
        expected: "lanes have parts of a fold of floats, and what it loads follows no indices",
        suits: |facts, map| {
            let floats = map.folds.iter().any(|fold| fold.op.ty.scalar().is_some_and(Scalar::is_float));
            facts.folds_in_lanes(map) && floats && !gathers(map)
        },
        usual: |_, map, model| {
            let sizes = map.folds.iter().filter_map(|fold| fold.op.ty.scalar()).map(|scalar| scalar.size() as u32);
            Some((model.vector_bytes / sizes.max().unwrap_or(1).max(1)).max(1))
        },
    },
    Choice {
        word: FoldOption::Vectors,
        numbers: SIDE_BY_SIDE,
        needed: NEVER,
        expected: "there are vectors of sums",
        suits: |facts, map| facts.mapping.cut(map).is_some_and(|cut| cut.number(FoldOption::Sums).is_some()),
        usual: |_, map, model| {
            let mut accesses = 0;
            visit::walk_places(&map.body, |_, _| accesses += 1);
            (accesses <= model.fold_accesses).then_some(model.fold_vectors)
        },
    },
    Choice {
        word: FoldOption::Apart,
        numbers: SIDE_BY_SIDE,
        needed: |facts, map| facts.has_lanes(map),
        expected: "lanes have parts of a fold that loads what indices say",
        suits: |facts, map| facts.folds_in_lanes(map) && gathers(map),
        usual: |_, _, model| Some(model.gathered_sums),
    },
    Choice {
        word: FoldOption::Repeat,
        numbers: REPEATED,
        needed: NEVER,
        expected: "tiles of lanes without rows fold outside of them",
        suits: |facts, map| {
            let rows = facts.mapping.rows_of_tile(facts.nest).is_some();
            let without = !rows || facts.mapping.number(Property::Alone).is_some();
            facts.has_lane_tiles() && without && !map.folds.is_empty() && map.directives.unroll.is_none()
        },
        usual: |_, map, model| {
            (map.body.stmts.len() <= model.repeated_statements as usize).then_some(model.lane_unroll)
        },
    },
];

impl Facts<'_> {
    fn has_lane_tiles(&self) -> bool {
        matches!(self.mapping.recipe, Recipe::Lanes(_))
    }

    /// Iterations in vector lanes are those of a map that can be vectorised, along its last iterator.
    fn judge_lanes(&self, map: &Map) -> Result<(), Misfit> {
        let simd = |at: &usize| self.mapping.exec(map.iters[*at].var) == Some(Exec::Simd);
        let Some(at) = (0..map.iters.len()).find(simd) else { return Ok(()) };
        let last = at + 1 == map.iters.len() && inner_maps(&map.body).is_empty() && map.directives.unroll.is_none();
        if last && vectorisable(self.program, self.func, map) {
            return Ok(());
        }
        let name = &self.func.vars[map.iters[at].var].name;
        Err(Misfit(format!("iterations of `{name}` may run in vector lanes")))
    }

    /// Rows of a tile share what lanes load, and a tile has an end.
    fn judge_tile(&self) -> Result<(), Misfit> {
        let Recipe::Lanes(shape) = self.mapping.recipe else { return Ok(()) };
        if let Some(rows) = self.mapping.rows_of_tile(self.nest)
            && shape.reuse != Some(rows)
        {
            let name = &self.func.vars[self.nest.iters[rows].var].name;
            return Err(Misfit(format!("neighbouring iterations of `{name}` fold the same range of what lanes load")));
        }
        let tile = |var| self.mapping.levels.get(&var).map_or(1, |level| u64::from(level.tile));
        let elements = self.nest.iters.iter().map(|iter| tile(iter.var)).fold(1, u64::saturating_mul);
        if elements <= MOST_TILE {
            return Ok(());
        }
        Err(Misfit(format!("a tile has at most {MOST_TILE} elements, not {elements}")))
    }

    /// Whether prefixes are made in blocks, where the plan wants it.
    fn has_blocks(&self, map: &Map) -> bool {
        is_started(self.nest, self.mapping, map) && can_be_in_blocks(self.program, self.func, map)
    }

    /// Whether a line says that a map runs in vector lanes.
    fn has_lanes(&self, map: &Map) -> bool {
        key(map).and_then(|key| self.mapping.exec(key)) == Some(Exec::Simd)
    }

    /// Whether vector lanes may have parts of a fold: as its line says, where tiles of lanes are too narrow, or in blocks of prefixes,
    /// which are summed ahead.
    fn folds_in_lanes(&self, map: &Map) -> bool {
        let has_runs = || self.mapping.cut(map).is_some_and(|cut| cut.number(FoldOption::Runs).is_some());
        if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            let mut sums = map.clone();
            sums.folds.iter_mut().for_each(|fold| fold.kind = FoldKind::Reduce);
            return self.has_blocks(map) && has_runs() && vectorisable(self.program, self.func, &sums);
        }
        let row = || inner_maps(&self.nest.body).into_iter().any(|inner| std::ptr::eq(inner, map));
        let narrow = || self.mapping.number(Property::Fewest).is_some() && row() && map.directives.unroll.is_none();
        !map.folds.is_empty() && (self.has_lanes(map) || narrow()) && vectorisable(self.program, self.func, map)
    }
}

impl<W> Choice<W> {
    /// Whether a nest, or a fold of it, can have this number, or none.
    fn judge(&self, facts: &Facts<'_>, map: &Map, number: Option<u32>, word: &str) -> Result<(), Misfit> {
        match (number, (self.suits)(facts, map)) {
            (Some(number), true) => {
                self.numbers.check(number).map_err(|expected| Misfit(format!("`{word}` of {expected}")))
            }
            (Some(_), false) => Err(Misfit(self.expected.to_owned())),
            (None, true) if (self.needed)(facts, map) => {
                Err(Misfit(format!("a line has the word `{word}`: {}", self.expected)))
            }
            (None, _) => Ok(()),
        }
    }
}

/// The numbers that a property of a nest on threads may have; none if it is not of threads.
pub(super) fn numbers_of_property(property: Property) -> Option<Numbers> {
    OF_NESTS.iter().find(|row| Property::number_of(&[property], row.word).is_some()).map(|row| row.numbers)
}

/// The same of an option of a fold.
pub(super) fn numbers_of_option(option: FoldOption) -> Option<Numbers> {
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
    if mapping.number(Property::Written).is_some() {
        mapping.rows = short::with_rows(program, func, nest);
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
    maps_of(facts.nest).into_iter().try_for_each(|map| facts.judge_lanes(map))?;
    facts.judge_tile()?;
    for choice in &OF_NESTS {
        choice.judge(facts, facts.nest, facts.mapping.number(choice.word), (choice.word)(1).name())?;
    }
    for map in maps_of(facts.nest) {
        let options = facts.mapping.cut(map).map_or(&[][..], |cut| &cut.options[..]);
        if let Some(other) = options.iter().find(|option| numbers_of_option(**option).is_none()) {
            return Err(Misfit(format!("folds on threads have no `{}`", other.name())));
        }
        for choice in &OF_FOLDS {
            choice.judge(facts, map, FoldOption::number_of(options, choice.word), (choice.word)(1).name())?;
        }
    }
    Ok(())
}
