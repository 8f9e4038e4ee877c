//! What nests on threads do by a number.

use super::{ALWAYS, ANY, Choice, Facts, NEVER, Numbers};
use crate::cuts::{are_unequal, is_heavy, may_be_together};
use crate::device_levels::is_ordered;
use crate::mapping::{Exec, Misfit, Recipe, Strategy, key};
use crate::notation::{FoldOption, Property};
use crate::packed::packed;
use crate::prefixes::{can_be_in_blocks, is_started, prefixes_of_library};
use crate::shape::{gathers, vectorisable};
use crate::target::Model;
use crate::updates::{operations, updates};
use crate::{inner_maps, inside, short, wide};
use hidp_ir::par::visit;
use hidp_ir::par::{FoldKind, Map};
use hidp_syntax::ty::Scalar;

/// Of rows that are written out: each length has code of its own.
const WRITTEN: Numbers = Numbers::From(1, 16);
/// Of iterations of a run.
const RUN: Numbers = Numbers::From(2, 1 << 20);
/// Of results side by side: each is code, and they are folded by halves.
const SIDE_BY_SIDE: Numbers = Numbers::PowersTo(256);
/// Of iterations at once: each is code.
const REPEATED: Numbers = Numbers::From(2, 64);
/// Of threads that share a nest.
const THREADS: Numbers = Numbers::From(1, 1 << 16);
/// Of elements that are gathered in a tile, or places.
const PACKED: Numbers = Numbers::PowersTo(1 << 13);
/// Of vectors in flight together.
const FLIGHT: Numbers = Numbers::PowersTo(8);
/// Of vector registers.
const REGISTERS: Numbers = Numbers::PowersTo(32);
/// Of groups of lanes in a range.
const WHOLE: Numbers = Numbers::From(1, 1 << 16);
/// Of how many times narrower lanes are than something else.
const NARROWER: Numbers = Numbers::PowersTo(8);
/// Of iterations that are sorted at once.
const SORTED: Numbers = Numbers::PowersTo(1 << 14);
/// Most elements in a tile of lanes.
const MOST_TILE: u64 = 1 << 14;
/// Of lanes of a tile.
const COLUMNS: Numbers = Numbers::From(1, 1 << 14);

/// Of nests on threads. A row may ask for those before it.
pub(super) static OF_NESTS: [Choice<Property, Model>; 16] = [
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
        word: Property::Within,
        numbers: COLUMNS,
        needed: NEVER,
        expected: "maps inside have folds that load neighbours along them",
        suits: |facts, nest| {
            let iterations = matches!(facts.mapping.strategy, Strategy::Rows | Strategy::Serial);
            iterations && !inside::in_tiles(facts.program, facts.func, nest).is_empty()
        },
        usual: |_, _, model| Some(model.lane_tile),
    },
    Choice {
        word: Property::Fewest,
        numbers: ANY,
        needed: NEVER,
        expected: "there are tiles of lanes, which may be too narrow",
        suits: |facts, _| facts.has_lane_tiles() || facts.mapping.number(Property::Within).is_some(),
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
        word: Property::Copied,
        numbers: ANY,
        needed: NEVER,
        expected: "there are tiles of rows, which share what their lanes load",
        suits: |facts, nest| facts.has_lane_tiles() && facts.mapping.rows_of_tile(nest).is_some(),
        usual: |_, _, model| Some(model.copied_tiles),
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
        expected: "iterations that threads share are unequal, or are taken by themselves, without tiles and without a team inside",
        // Of a nest of tiles threads share rows, in turn or not, where `fewest` says that there are too few lanes.
        suits: |facts, nest| {
            let shared = !facts.has_lane_tiles() || facts.mapping.number(Property::Fewest).is_some();
            shared && (are_unequal(nest, facts.mapping.strategy) || facts.may_be_in_turn(nest))
        },
        usual: |facts, nest, model| {
            let most = if wide::has_lengths(facts, nest) { model.sorted_rows } else { model.irregular_rows };
            are_unequal(nest, facts.mapping.strategy).then_some(most)
        },
    },
    Choice {
        word: Property::Parts,
        numbers: ANY,
        needed: NEVER,
        expected: "parts are taken in turn",
        suits: |facts, _| facts.mapping.number(Property::Turns).is_some(),
        usual: |facts, nest, model| {
            Some(if wide::has_lengths(facts, nest) { model.sorted_parts } else { model.irregular_parts })
        },
    },
    Choice {
        word: Property::Updates,
        numbers: PACKED,
        needed: NEVER,
        expected: "iterations compute which element of a copy they update",
        suits: |facts, nest| !updates(facts.program, facts.func, nest, facts.mapping.strategy).is_empty(),
        usual: |facts, nest, model| {
            let maps = updates(facts.program, facts.func, nest, facts.mapping.strategy);
            (operations(nest, &maps) >= model.update_operations as usize).then_some(model.update_tile)
        },
    },
    Choice {
        word: Property::Flight,
        numbers: FLIGHT,
        needed: NEVER,
        expected: "whole iterations are in lanes",
        suits: |facts, _| facts.mapping.strategy == Strategy::Wide,
        usual: |facts, nest, model| wide::comes_first(facts.program, facts.func, nest, model).then_some(model.flight),
    },
    Choice {
        word: Property::Registers,
        numbers: REGISTERS,
        needed: NEVER,
        expected: "more vectors may be in flight together",
        suits: |facts, _| facts.mapping.number(Property::Flight).is_some(),
        usual: |facts, nest, model| {
            (!wide::suits_few_registers(facts.program, facts.func, nest, model)).then_some(model.flight_registers)
        },
    },
    Choice {
        word: Property::FlightGroups,
        numbers: WHOLE,
        needed: NEVER,
        expected: "more vectors may be in flight together",
        suits: |facts, _| facts.mapping.number(Property::Flight).is_some(),
        usual: |facts, nest, model| wide::part_early(facts.program, facts.func, nest).then_some(model.flight_groups),
    },
    Choice {
        word: Property::Last,
        numbers: FLIGHT,
        needed: NEVER,
        expected: "whole iterations are in lanes",
        suits: |facts, _| facts.mapping.strategy == Strategy::Wide,
        usual: |facts, nest, model| {
            wide::ends_apart(facts.program, facts.func, nest, model).then_some(model.flight_last)
        },
    },
    Choice {
        word: Property::Ends,
        numbers: NARROWER,
        needed: NEVER,
        expected: "whole iterations are in lanes, and count to an end of each lane",
        suits: |facts, nest| wide::has_ends(facts, nest),
        usual: |facts, nest, model| wide::has_wide_ends(facts, nest, model).then_some(model.narrow_lanes),
    },
    Choice {
        word: Property::Sorted,
        numbers: SORTED,
        needed: NEVER,
        expected: "whole iterations are in lanes, with loops of different lengths that are known before them, and read nothing that others write",
        suits: |facts, nest| wide::has_lengths(facts, nest),
        usual: |_, _, model| Some(model.sorted_rows),
    },
];

/// Of maps of nests on threads that fold.
pub(super) static OF_FOLDS: [Choice<FoldOption, Model>; 7] = [
    Choice {
        word: FoldOption::Runs,
        numbers: RUN,
        needed: NEVER,
        expected: "`runs` are of a map that folds in any order, or of prefixes whose blocks can be summed ahead",
        suits: |facts, map| {
            let reduces = !map.folds.is_empty() && map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
            let in_lanes = facts.mapping.strategy == Strategy::Wide && !std::ptr::eq(map, facts.nest);
            let in_order = in_lanes || map.folds.iter().any(is_ordered);
            (reduces && !in_order) || facts.has_blocks(map)
        },
        usual: |facts, map, model| match (facts.has_blocks(map), is_heavy(map)) {
            (true, _) => prefixes_of_library(facts.program, facts.func, map).is_none().then_some(model.scan_block),
            (false, true) if facts.mapping.strategy == Strategy::Wide => Some(model.wide_block),
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
            let tiles = facts.has_lane_tiles() && without || facts.is_in_tile_inside(map);
            tiles && !map.folds.is_empty() && map.directives.unroll.is_none()
        },
        usual: |_, map, model| {
            (map.body.stmts.len() <= model.repeated_statements as usize).then_some(model.lane_unroll)
        },
    },
    Choice {
        word: FoldOption::Packs,
        numbers: PACKED,
        needed: NEVER,
        expected: "prefixes in blocks count how often a condition holds, and the next nest alone makes places of them",
        suits: |facts, map| {
            let blocks = facts.mapping.cut(map).is_some_and(|cut| cut.number(FoldOption::Runs).is_some());
            blocks && facts.has_blocks(map) && packed(facts.program, facts.func, map).is_some()
        },
        usual: |_, _, model| Some(model.packed_tile),
    },
];

/// Whether lines of iterators can be carried out: what runs in vector lanes, and the sides of tiles.
pub(super) fn judge_lines(facts: &Facts<'_>, maps: &[&Map]) -> Result<(), Misfit> {
    facts.judge_threads(maps)?;
    maps.iter().try_for_each(|map| facts.judge_lanes(map))?;
    facts.judge_tile()
}

impl Facts<'_> {
    /// Whether threads can take parts of equal iterations in turn.
    fn may_be_in_turn(&self, nest: &Map) -> bool {
        let alone = self.mapping.number(Property::Together).is_none();
        nest.folds.is_empty() && self.mapping.strategy == Strategy::Rows && alone
    }

    /// Whether a map is directly in one that has tiles inside of iterations.
    fn is_in_tile_inside(&self, map: &Map) -> bool {
        let tiles = self.mapping.number(Property::Within).is_some();
        tiles
            && inside::folds_in_tiles(self.program, self.func, self.nest)
                .into_iter()
                .any(|fold| std::ptr::eq(fold, map))
    }

    fn has_lane_tiles(&self) -> bool {
        matches!(self.mapping.recipe, Recipe::Lanes(_))
    }

    /// The library takes all threads for the prefixes that it makes.
    fn judge_threads(&self, maps: &[&Map]) -> Result<(), Misfit> {
        let Some(threads) = self.mapping.threads else { return Ok(()) };
        THREADS.check(threads).map_err(|expected| Misfit(format!("`threads` of {expected}")))?;
        let of_library = |map: &&&Map| {
            let cut = self.mapping.cut(map).is_some_and(|cut| cut.number(FoldOption::Runs).is_some());
            let started = is_started(self.nest, self.mapping, map);
            started && !cut && prefixes_of_library(self.program, self.func, map).is_some()
        };
        match maps.iter().find(of_library) {
            Some(_) => Err(Misfit(
                "prefixes of neighbouring elements have a line `runs`: else all threads make them".to_owned(),
            )),
            None => Ok(()),
        }
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

    /// Whether iterations in lanes may turn out to be too long for it. Then maps inside have the lanes.
    fn is_in_order_at_times(&self) -> bool {
        let may_be = || wide::may_be_in_order(self.program, self.func, self.nest);
        self.mapping.strategy == Strategy::Wide && *self.found.may_be_in_order.get_or_init(may_be)
    }

    /// Whether vector lanes may have parts of a fold: as its line says, where tiles of lanes are too narrow, iterations in lanes too long,
    /// or in blocks of prefixes, which are summed ahead.
    fn folds_in_lanes(&self, map: &Map) -> bool {
        let has_runs = || self.mapping.cut(map).is_some_and(|cut| cut.number(FoldOption::Runs).is_some());
        if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            let mut sums = map.clone();
            sums.folds.iter_mut().for_each(|fold| fold.kind = FoldKind::Reduce);
            return self.has_blocks(map) && has_runs() && vectorisable(self.program, self.func, &sums);
        }
        let row = || inner_maps(&self.nest.body).into_iter().any(|inner| std::ptr::eq(inner, map));
        let may_be_narrow = self.has_lane_tiles() && self.mapping.number(Property::Fewest).is_some();
        let narrow = || may_be_narrow && row() && map.directives.unroll.is_none();
        let lanes = || self.has_lanes(map) || narrow() || row() && self.is_in_order_at_times();
        !map.folds.is_empty() && vectorisable(self.program, self.func, map) && lanes()
    }
}
