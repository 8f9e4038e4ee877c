//! What a nest does by a number, beside its lines: rows of a table for each kind of line. A row says of what nests it can be, which numbers
//! it may have, and which one the planner takes. The planner writes by these rows, and what reads lines, or judges pinned ones, asks them.

mod device;
mod joined;
mod threads;

pub(crate) use device::leave_registers;
pub(crate) use joined::is_in_loop;

use super::mapping::{Mapping, Misfit, key};
use super::notation::{FoldOption, Property};
use super::{copied_by_blocks, inner_maps, inside, short};
use crate::target::{DeviceModel, Model};
use hidp_ir::par::{Func, Map, Program};
use std::cell::OnceCell;

/// A nest and how it runs, as far as that is known.
pub(crate) struct Facts<'a> {
    pub(crate) program: &'a Program,
    pub(crate) func: &'a Func,
    pub(crate) nest: &'a Map,
    pub(crate) mapping: &'a Mapping,
    pub(crate) found: &'a Found,
}

/// What is found once for a nest, when a row asks for it.
#[derive(Default)]
pub(crate) struct Found {
    /// Whether its iterations run in order at times, if they run in lanes.
    may_be_in_order: OnceCell<bool>,
}

/// A word with a number.
pub(super) struct Choice<W: 'static, M: 'static> {
    word: fn(u32) -> W,
    numbers: Numbers,
    /// Whether lines that could have it need it.
    needed: fn(&Facts<'_>, &Map) -> bool,
    /// Of what nests, or folds, it can be: what is said of others.
    expected: &'static str,
    /// Whether it can be of this one. Of a nest's own words it is the nest that is given.
    suits: fn(&Facts<'_>, &Map) -> bool,
    /// What the planner takes where it can be, if anything.
    usual: fn(&Facts<'_>, &Map, &M) -> Option<u32>,
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
const ALWAYS: fn(&Facts<'_>, &Map) -> bool = |_, _| true;
const NEVER: fn(&Facts<'_>, &Map) -> bool = |_, _| false;

/// The rows for one kind of target.
struct Table<M: 'static> {
    /// What the target is called.
    target: &'static str,
    /// Of nests. A row may ask for those before it.
    of_nests: &'static [Choice<Property, M>],
    /// Of maps that fold.
    of_folds: &'static [Choice<FoldOption, M>],
}

static THREADS: Table<Model> =
    Table { target: "processors", of_nests: &threads::OF_NESTS, of_folds: &threads::OF_FOLDS };
static DEVICE: Table<DeviceModel> =
    Table { target: "graphics processors", of_nests: &device::OF_NESTS, of_folds: &device::OF_FOLDS };

impl<W, M> Choice<W, M> {
    /// What the planner takes, if anything.
    fn chosen(&self, facts: &Facts<'_>, map: &Map, model: &M) -> Option<u32> {
        if (self.suits)(facts, map) { (self.usual)(facts, map, model) } else { None }
    }

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

impl<M> Table<M> {
    /// What the planner takes for a nest of which all else is decided.
    fn choose(&self, program: &Program, func: &Func, nest: &Map, mapping: &mut Mapping, model: &M) {
        let found = &Found::default();
        for choice in self.of_nests {
            let number = choice.chosen(&Facts { program, func, nest, mapping, found }, nest, model);
            mapping.choices.extend(number.map(choice.word));
        }
        for map in maps_of(nest) {
            for choice in self.of_folds {
                let number = choice.chosen(&Facts { program, func, nest, mapping, found }, map, model);
                if let (Some(number), Some(key)) = (number, key(map)) {
                    let options = &mut mapping.cuts.entry(key).or_default().options;
                    options.push((choice.word)(number));
                    options.sort();
                }
            }
        }
    }

    /// Whether a nest can do all that its lines choose.
    fn judge(&self, facts: &Facts<'_>) -> Result<(), Misfit> {
        let known = |property: &&Property| self.numbers_of_property(**property).is_some();
        if let Some(other) = facts.mapping.choices.iter().find(|property| !known(property)) {
            return Err(Misfit(format!("nests on {} have no `{}`", self.target, other.name())));
        }
        for choice in self.of_nests {
            choice.judge(facts, facts.nest, facts.mapping.number(choice.word), (choice.word)(1).name())?;
        }
        for map in maps_of(facts.nest) {
            let options = facts.mapping.cut(map).map_or(&[][..], |cut| &cut.options[..]);
            if let Some(other) = options.iter().find(|option| self.numbers_of_option(**option).is_none()) {
                return Err(Misfit(format!("folds on {} have no `{}`", self.target, other.name())));
            }
            for choice in self.of_folds {
                choice.judge(facts, map, FoldOption::number_of(options, choice.word), (choice.word)(1).name())?;
            }
        }
        Ok(())
    }

    fn numbers_of_property(&self, property: Property) -> Option<Numbers> {
        let row = self.of_nests.iter().find(|row| Property::number_of(&[property], row.word).is_some());
        row.map(|row| row.numbers)
    }

    fn numbers_of_option(&self, option: FoldOption) -> Option<Numbers> {
        let row = self.of_folds.iter().find(|row| FoldOption::number_of(&[option], row.word).is_some());
        row.map(|row| row.numbers)
    }
}

/// The numbers that a property may have of a nest on threads, or on a device; none if it cannot be there.
pub(super) fn numbers_of_property(property: Property, on_device: bool) -> Option<Numbers> {
    if on_device { DEVICE.numbers_of_property(property) } else { THREADS.numbers_of_property(property) }
}

/// The same of an option of a fold.
pub(super) fn numbers_of_option(option: FoldOption, on_device: bool) -> Option<Numbers> {
    if on_device { DEVICE.numbers_of_option(option) } else { THREADS.numbers_of_option(option) }
}

/// The maps of a nest, outer ones first.
fn maps_of(nest: &Map) -> Vec<&Map> {
    let inside = inner_maps(&nest.body).into_iter().flat_map(maps_of);
    std::iter::once(nest).chain(inside).collect()
}

/// What the planner takes for a nest on threads of which all else is decided.
pub(super) fn choose(program: &Program, func: &Func, nest: &Map, mapping: &mut Mapping, model: &Model) {
    THREADS.choose(program, func, nest, mapping, model);
    if mapping.number(Property::Written).is_some() {
        mapping.rows = short::with_rows(program, func, nest);
    }
    if mapping.number(Property::Within).is_some() {
        mapping.inside = inside::in_tiles(program, func, nest);
    }
}

/// The same on a device.
pub(super) fn choose_on_device(program: &Program, func: &Func, nest: &Map, mapping: &mut Mapping, model: &DeviceModel) {
    DEVICE.choose(program, func, nest, mapping, model);
    device::choose_loads(program, func, nest, mapping, model);
    mapping.copied = copied_by_blocks(func, nest, mapping);
    mapping.joined = is_joined(program, func, nest, mapping);
    mapping.resident.clear();
    if !mapping.joined {
        leave_registers(program, func, nest, mapping, model);
    }
}

/// Why the launches of a nest cannot be joined to others.
pub(super) fn joined_misfit(program: &Program, func: &Func, nest: &Map, mapping: &Mapping) -> Option<Misfit> {
    joined::suits(&Facts { program, func, nest, mapping, found: &Found::default() }).err()
}

/// Whether the launches of a nest are joined to others where they can be.
pub(super) fn is_joined(program: &Program, func: &Func, nest: &Map, mapping: &Mapping) -> bool {
    joined_misfit(program, func, nest, mapping).is_none()
}

/// Whether a nest on threads can do all that its lines choose.
pub(super) fn judge(facts: &Facts<'_>) -> Result<(), Misfit> {
    if facts.mapping.joined {
        return Err(Misfit("launches of devices can be `joined`".to_owned()));
    }
    threads::judge_lines(facts, &maps_of(facts.nest))?;
    THREADS.judge(facts)
}

/// The same on a device.
pub(super) fn judge_on_device(facts: &Facts<'_>) -> Result<(), Misfit> {
    DEVICE.judge(facts)?;
    if facts.mapping.joined {
        joined::suits(facts)?;
    }
    device::judge_loads(facts)
}
