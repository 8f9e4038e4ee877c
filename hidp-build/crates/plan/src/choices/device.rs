//! What nests on graphics processors do by a number.

use super::{ANY, Choice, Facts, Found, NEVER, Numbers};
use crate::cuts::is_heavy;
use crate::device_levels::is_ordered;
use crate::loads;
use crate::mapping::{Exec, Mapping, Misfit, Recipe, WARP};
use crate::moved::moved_row;
use crate::notation::{FoldOption, Property};
use crate::private::launched;
use crate::target::DeviceModel;
use crate::{MOST_MOVED, inner_maps, key, splits};
use hidp_ir::par::visit;
use hidp_ir::par::{FoldKind, Func, Map, Program};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdMap;

/// Of nests.
pub(super) static OF_NESTS: [Choice<Property, DeviceModel>; 1] = [Choice {
    word: Property::WarpColumns,
    numbers: Numbers::PowersTo(WARP),
    needed: NEVER,
    expected: "the lanes of a warp fill rows and columns of the lanes of a tile",
    suits: |facts, nest| facts.lanes_of_tile(nest).is_some_and(|lanes| facts.fills(lanes)),
    usual: |facts, nest, model| {
        let (rows, columns) = facts.lanes_of_tile(nest)?;
        let across = model.warp_columns.min(columns);
        are_filled((rows, columns), across).then_some(across)
    },
}];

/// Of maps that fold.
pub(super) static OF_FOLDS: [Choice<FoldOption, DeviceModel>; 7] = [
    Choice {
        word: FoldOption::Runs,
        numbers: ANY,
        needed: |facts, map| facts.has(map, FoldOption::Most),
        expected: "`runs` are of a map that is launched, and folds in any order",
        suits: |facts, map| facts.is_cut(map),
        usual: |_, _, _| None,
    },
    Choice {
        word: FoldOption::Most,
        numbers: ANY,
        needed: |facts, map| facts.has(map, FoldOption::Runs),
        expected: "`most` is of a map that is launched, and folds in any order",
        suits: |facts, map| facts.is_cut(map),
        usual: |_, _, _| None,
    },
    Choice {
        word: FoldOption::Groups,
        numbers: ANY,
        needed: |facts, map| facts.has(map, FoldOption::Terms),
        expected: "`groups` are of a fold inside that other groups can take parts of",
        suits: |facts, map| facts.is_dealt(map),
        usual: |_, _, _| None,
    },
    Choice {
        word: FoldOption::Terms,
        numbers: ANY,
        needed: |facts, map| facts.has(map, FoldOption::Groups),
        expected: "`terms` are of a fold inside that other groups can take parts of",
        suits: |facts, map| facts.is_dealt(map),
        usual: |_, _, _| None,
    },
    Choice {
        word: FoldOption::Many,
        numbers: ANY,
        needed: NEVER,
        expected: "other groups take parts of the fold, and no tiles",
        suits: |facts, map| {
            let dealt = facts.has(map, FoldOption::Groups) || (facts.mapping.parts.is_some() && facts.is_dealt(map));
            dealt && matches!(facts.mapping.recipe, Recipe::Plain)
        },
        usual: |_, _, model| Some(model.split.many),
    },
    Choice {
        word: FoldOption::Row,
        numbers: ANY,
        needed: NEVER,
        expected: "threads take the iterations of a fold over several iterators, each of which is light",
        suits: |facts, map| {
            let threads = facts.exec(map) == Some(Exec::Device(Level::Thread));
            let leaves = facts.mapping.cut(map).is_some_and(|cut| cut.values);
            facts.is_cut(map) && threads && !leaves && map.iters.len() > 1 && !is_heavy(map)
        },
        usual: |_, _, model| Some(model.warp_row),
    },
    Choice {
        word: FoldOption::Moves,
        numbers: Numbers::PowersTo(MOST_MOVES),
        needed: NEVER,
        expected: "a single lane folds neighbours of arrays that others do not write, 16 bytes at once at most",
        suits: |facts, map| facts.is_moved(map),
        usual: |facts, map, model| {
            let row = moved_row(facts.program, facts.func, map)?;
            (row.places.len() <= model.moved_arrays as usize).then_some(model.moved_bytes / row.size)
        },
    },
];

/// Iterations that a thread may take side by side.
const ITEMS: Numbers = Numbers::PowersTo(8);
/// Threads of a multiprocessor.
const RESIDENT: Numbers = Numbers::From(2, 2048);

/// How many iterations threads take side by side, of each map that is launched.
pub(super) fn choose_loads(program: &Program, func: &Func, nest: &Map, mapping: &mut Mapping, model: &DeviceModel) {
    let facts = Facts { program, func, nest, mapping, found: &Found::default() };
    let mut items = OrdMap::new();
    for map in launched(nest, &|var| facts.mapping.exec(var)) {
        let own = if facts.is_side_by_side(map) { loads::side_by_side(func, map, model) } else { 1 };
        items.extend(key(map).filter(|_| own > 1).map(|key| (key, own)));
    }
    mapping.items = items;
}

/// Leaves registers for more threads where launches gain by it and nothing is said of them. Launches that one grid does together would lose
/// registers by it, so it is for others.
pub(crate) fn leave_registers(program: &Program, func: &Func, nest: &Map, mapping: &mut Mapping, model: &DeviceModel) {
    let facts = Facts { program, func, nest, mapping, found: &Found::default() };
    let mut resident = OrdMap::new();
    for map in launched(nest, &|var| facts.mapping.exec(var)) {
        let Some(key) = key(map).filter(|key| !facts.mapping.resident.contains_key(key)) else { continue };
        let own = facts.mapping.items.get(&key).copied().unwrap_or(1);
        let most = facts.leaves_registers(map, own).then(|| loads::resident(program, func, map, own, model)).flatten();
        resident.extend(most.map(|most| (key, most)));
    }
    mapping.resident.extend(resident);
}

/// Whether threads can take as many iterations as lines say, and registers are left for as many threads.
pub(super) fn judge_loads(facts: &Facts<'_>) -> Result<(), Misfit> {
    for map in launched(facts.nest, &|var| facts.mapping.exec(var)) {
        let Some(key) = key(map) else { continue };
        let items = facts.mapping.items.get(&key).copied();
        if let Some(items) = items {
            ITEMS.check(items).map_err(|expected| Misfit(format!("`unroll` of {expected} iterations")))?;
            if items == 1 || !facts.is_side_by_side(map) {
                return Err(Misfit("threads may take several iterations of straight code side by side".to_owned()));
            }
        }
        if let Some(threads) = facts.mapping.resident.get(&key) {
            RESIDENT.check(*threads).map_err(|expected| Misfit(format!("`resident` of {expected}")))?;
            if !facts.may_leave_registers(map) {
                let expected = "registers are left where one launch does all of a map, and makes no prefixes";
                return Err(Misfit(expected.to_owned()));
            }
        }
    }
    Ok(())
}

/// Elements that one access moves at most: those of 4 bytes.
const MOST_MOVES: u32 = MOST_MOVED / 4;

impl Facts<'_> {
    fn exec(&self, map: &Map) -> Option<Exec> {
        key(map).and_then(|key| self.mapping.exec(key))
    }

    fn has(&self, map: &Map, word: fn(u32) -> FoldOption) -> bool {
        self.mapping.cut(map).is_some_and(|cut| cut.number(word).is_some())
    }

    /// Whether a thread can take several iterations of a launched map side by side.
    fn is_side_by_side(&self, map: &Map) -> bool {
        let plain = matches!(self.mapping.recipe, Recipe::Plain) && !self.mapping.is_split();
        let threads = self.exec(map) == Some(Exec::Device(Level::Thread));
        plain && threads && loads::can_be_side_by_side(self.program, self.func, map)
    }

    /// Whether lowering can say for how many threads of a launch registers are left.
    fn may_leave_registers(&self, map: &Map) -> bool {
        let folds = || self.is_cut(map) && self.mapping.cut(map).is_some_and(|cut| !cut.values);
        match &self.mapping.recipe {
            Recipe::Plain | Recipe::Tiled(_) if self.mapping.is_split() => false,
            Recipe::Plain => map.folds.is_empty() || folds(),
            Recipe::Blocks(_) | Recipe::Tiled(_) => true,
            Recipe::Near(_) => map.folds.is_empty(),
            Recipe::Lanes(_) | Recipe::Wide(_) => false,
        }
    }

    /// Whether the planner says it.
    fn leaves_registers(&self, map: &Map, items: u32) -> bool {
        items > 1 || (self.is_cut(map) && self.mapping.cut(map).is_some_and(|cut| !cut.values))
    }

    fn is_launched(&self, map: &Map) -> bool {
        launched(self.nest, &|var| self.mapping.exec(var)).into_iter().any(|other| std::ptr::eq(other, map))
    }

    /// Whether blocks take runs of what a map folds.
    fn is_cut(&self, map: &Map) -> bool {
        let reduces = !map.folds.is_empty() && map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
        let plain = matches!(self.mapping.recipe, Recipe::Plain) && !map.folds.iter().any(is_ordered);
        reduces && plain && matches!(self.exec(map), Some(Exec::Device(_))) && self.is_launched(map)
    }

    /// Whether other groups can take parts of what a map folds.
    fn is_dealt(&self, map: &Map) -> bool {
        let inside = inner_maps(&self.nest.body).into_iter().any(|inner| std::ptr::eq(inner, map));
        inside && splits(self.program, self.func, self.nest).is_ok()
    }

    /// Rows and columns of lanes in a tile of results.
    fn lanes_of_tile(&self, nest: &Map) -> Option<(u32, u32)> {
        let (Recipe::Tiled(tiling), [.., row, column]) = (&self.mapping.recipe, &nest.iters[..]) else { return None };
        let tile = |var| self.mapping.levels.get(&var).map_or(1, |level| level.tile);
        Some((tile(row.var) / tiling.rows.max(1), tile(column.var) / tiling.columns.max(1)))
    }

    /// Whether the warps of a tile have as many columns as its line says, if it does.
    fn fills(&self, lanes: (u32, u32)) -> bool {
        self.mapping.number(Property::WarpColumns).is_none_or(|across| are_filled(lanes, across))
    }

    /// Whether a single lane folds what can move at once, as many as its line says.
    fn is_moved(&self, map: &Map) -> bool {
        let plain = matches!(self.mapping.recipe, Recipe::Plain) && !self.mapping.is_split();
        let launch = || single_lane_maps(self).into_iter().find(|(_, inner)| std::ptr::eq(*inner, map));
        let (true, Some((launch, _)), Some(row)) = (plain, launch(), moved_row(self.program, self.func, map)) else {
            return false;
        };
        let own = visit::declared(&launch.body);
        let number = self.mapping.cut(map).and_then(|cut| cut.number(FoldOption::Moves)).unwrap_or(1);
        let fits = number.saturating_mul(row.size) <= MOST_MOVED;
        fits && row.places.iter().all(|place| !own.contains(&place.array))
    }
}

/// Whether warps of so many columns of lanes make up a tile of lanes.
fn are_filled((rows, columns): (u32, u32), across: u32) -> bool {
    across > 0 && WARP.is_multiple_of(across) && columns.is_multiple_of(across) && rows.is_multiple_of(WARP / across)
}

/// What is launched, and the maps inside of it whose iterations single lanes take, each by itself.
fn single_lane_maps<'m>(facts: &Facts<'m>) -> Vec<(&'m Map, &'m Map)> {
    let mut found = Vec::new();
    for map in launched(facts.nest, &|var| facts.mapping.exec(var)) {
        let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
        let scope = match facts.exec(map) {
            Some(Exec::Device(level)) if !scans => level,
            _ => Level::Thread,
        };
        let mut inside = Vec::new();
        collect_single(facts, map, scope, &mut inside);
        found.extend(inside.into_iter().map(|inner| (map, inner)));
    }
    found
}

fn collect_single<'m>(facts: &Facts<'m>, map: &'m Map, scope: Level, found: &mut Vec<&'m Map>) {
    for inner in inner_maps(&map.body) {
        let scope = match facts.exec(inner) {
            _ if scope == Level::Thread => {
                found.push(inner);
                scope
            }
            Some(Exec::Device(over)) => over,
            _ => scope,
        };
        collect_single(facts, inner, scope, found);
    }
}
