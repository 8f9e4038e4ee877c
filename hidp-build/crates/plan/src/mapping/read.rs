//! Lines as mappings: what devices share with processors, and processors.

use super::{Cut, Exec, LevelPlan, Mapping, Misfit, Names, Recipe, Strategy, key};
use crate::choices::{self, Facts, Found};
use crate::inside;
use crate::notation::{self, Index, Memory, Nest, Place, Property, Size, StageOption, Step};
use crate::short::with_rows;
use crate::wide::{Classes, GROUPS, NOTHING_SHARED, in_lanes, tried};
use crate::{
    Blocks, WideShape, copied_by_blocks, copied_targets, gives_to_team, inner_maps, lane_shape, streamed_outputs,
    wide_shape,
};
use hidp_ir::par::{Func, Map, Program, VarId};
use hidp_syntax::ordered::OrdMap;

impl Mapping {
    /// Blocks whose lanes lines share out, whether or not the nest can have them.
    pub(crate) fn blocks_of(func: &Func, map: &Map, nest: &Nest) -> Option<Blocks> {
        Lines::of(&Names::of(func, map), nest).ok()?.only_shaped(map)
    }

    /// What the lines of a nest come to. It is an error if they do not name what the nest has, or say what nothing carries out.
    pub fn read(program: &Program, func: &Func, map: &Map, nest: &Nest) -> Result<Mapping, Misfit> {
        let names = Names::of(func, map);
        let lines = Lines::of(&names, nest)?;
        let mut mapping = if nest.is_for_device() {
            lines.on_device(program, func, map)?
        } else {
            lines.on_threads(program, func, map, nest)?
        };
        if !lines.streamed.is_empty() {
            let known = if nest.is_for_device() { Vec::new() } else { streamed_outputs(program, func, map) };
            if let Some(other) = lines.streamed.iter().find(|var| !known.contains(var)) {
                return Err(Misfit(format!("`{}` may bypass the caches", func.vars[*other].name)));
            }
        }
        if !lines.streamed.is_empty() && mapping.number(Property::Turns).is_some() {
            return Err(Misfit("only equal parts of an array bypass the caches".to_owned()));
        }
        mapping.streamed = lines.streamed.clone();
        if !lines.copied.is_empty() {
            let (who, known) = match nest.is_for_device() {
                true => ("blocks", copied_by_blocks(func, map, &mapping)),
                false => ("threads", copied_targets(func, map, mapping.strategy)),
            };
            if let Some(other) = lines.copied.iter().find(|var| !known.contains(var)) {
                return Err(Misfit(format!("{who} may have copies of `{}`", func.vars[*other].name)));
            }
        }
        mapping.copied = lines.copied.clone();
        let again = mapping.lines(func, map);
        if again == *nest { Ok(mapping) } else { Err(first_difference(nest, &again)) }
    }
}

/// Lines that mean nothing where they stand.
fn first_difference(given: &Nest, expected: &Nest) -> Misfit {
    let texts = |nest: &Nest| -> Vec<String> { nest.to_string().lines().map(|line| line.trim().to_owned()).collect() };
    let (given, expected) = (texts(given), texts(expected));
    let at = given.iter().zip(&expected).take_while(|(given, expected)| given == expected).count();
    Misfit(match (given.get(at), expected.get(at)) {
        (Some(given), Some(expected)) => format!("the line of the plan is `{expected}`, not `{given}`"),
        (None, Some(expected)) => format!("the plan has a line `{expected}`"),
        (Some(given), None) => format!("the plan has no line `{given}`"),
        (None, None) => "the plan's lines are in order".to_owned(),
    })
}

/// The strategy that the lines of a nest for processors follow.
pub(crate) fn strategy_of_threads(nest: &Nest) -> Strategy {
    let any = |wanted: fn(&notation::Line) -> bool| {
        nest.steps.iter().any(|step| matches!(step, Step::Line(line) if wanted(line)))
    };
    if any(|line| line.place == Place::Host) {
        Strategy::Team
    } else if any(|line| matches!(line.size, Size::Bits(_))) {
        Strategy::Wide
    } else if any(|line| line.place == Place::Lanes && line.size != Size::Rest) {
        Strategy::Lanes
    } else if any(|line| line.place == Place::Threads) {
        Strategy::Rows
    } else {
        Strategy::Serial
    }
}

/// The lines of a nest with variables in place of names.
pub(super) struct Lines {
    pub(super) steps: Vec<Resolved>,
    /// Arrays of which blocks share parts.
    pub(super) stages: Vec<Staged>,
    pub(super) cuts: OrdMap<VarId, Cut>,
    pub(super) blocks: Vec<u32>,
    pub(super) resident: Vec<u32>,
    pub(super) joined: bool,
    choices: Vec<Property>,
    streamed: Vec<VarId>,
    copied: Vec<VarId>,
    iters: Vec<VarId>,
}

/// A part that a block shares.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    pub(super) array: VarId,
    /// Elements that move there at once.
    pub(super) wide: u32,
    /// Elements between its rows.
    pub(super) pad: u32,
    /// Copies.
    pub(super) copies: u32,
}

impl Staged {
    /// What follows from other lines is compared when it is written again.
    fn of(array: VarId, options: &[StageOption]) -> Staged {
        let mut staged = Staged { array, wide: 1, pad: 0, copies: 1 };
        for option in options {
            match option {
                StageOption::Wide(elements) => staged.wide = *elements,
                StageOption::Pad(elements) => staged.pad = *elements,
                StageOption::Bufs(copies) => staged.copies = *copies,
                StageOption::Ring(_)
                | StageOption::Turned
                | StageOption::Swizzled
                | StageOption::Packed
                | StageOption::Interleaved
                | StageOption::Reversed
                | StageOption::Skewed
                | StageOption::Profile => {}
            }
        }
        staged
    }
}

/// A line.
pub(super) struct Resolved {
    pub(super) vars: Vec<VarId>,
    /// Whether it is about what is inside the iterations.
    pub(super) inside: bool,
    pub(super) place: Place,
    pub(super) size: Size,
}

impl Lines {
    fn of(names: &Names, nest: &Nest) -> Result<Self, Misfit> {
        let Nest { steps, folds, places, tables, narrow, assumptions, properties } = nest;
        if !tables.is_empty() || !narrow.is_empty() || !assumptions.is_empty() {
            return Err(Misfit("no line is about a recurrence".to_owned()));
        }
        let iter =
            |name: &String| names.iter_called(name).ok_or_else(|| Misfit(format!("the nest has an iterator `{name}`")));
        let array =
            |name: &String| names.array_called(name).ok_or_else(|| Misfit(format!("the nest uses an array `{name}`")));
        let mut lines = Lines {
            steps: Vec::new(),
            stages: Vec::new(),
            cuts: OrdMap::new(),
            blocks: Vec::new(),
            resident: Vec::new(),
            joined: false,
            choices: Vec::new(),
            streamed: Vec::new(),
            copied: Vec::new(),
            iters: names.iters().map(|(var, _)| var).collect(),
        };
        for step in steps {
            match step {
                Step::Stage(stage) => {
                    lines.stages.push(Staged::of(array(&stage.array)?, &stage.options));
                }
                Step::Line(line) => {
                    let (vars, inside) = match &line.index {
                        Index::Iter(name) => (vec![iter(name)?], false),
                        Index::Joined(all) => (all.iter().map(iter).collect::<Result<_, _>>()?, false),
                        Index::Inside(name) => (vec![iter(name)?], true),
                        Index::Sweep(_) => return Err(Misfit("no line is the sweep of a recurrence".to_owned())),
                    };
                    lines.steps.push(Resolved { vars, inside, place: line.place, size: line.size.clone() });
                }
            }
        }
        for fold in folds {
            let vars: Vec<VarId> = fold.iters.iter().map(iter).collect::<Result<_, _>>()?;
            let cut = Cut::of(fold.options.iter().copied());
            lines.cuts.extend(vars.last().map(|last| (*last, cut)));
        }
        for place in places {
            match place.memory {
                Memory::Stream => lines.streamed.push(array(&place.array)?),
                Memory::Copies => lines.copied.push(array(&place.array)?),
            }
        }
        for property in properties {
            match property {
                Property::Block(threads) => lines.blocks.push(*threads),
                Property::Resident(threads) => lines.resident.push(*threads),
                Property::Joined => lines.joined = true,
                Property::Together(_)
                | Property::Written(_)
                | Property::Within(_)
                | Property::Fewest(_)
                | Property::Alone(_)
                | Property::Copied(_)
                | Property::Columns(_)
                | Property::Turns(_)
                | Property::Parts(_)
                | Property::WarpColumns(_)
                | Property::Updates(_)
                | Property::Flight(_)
                | Property::Registers(_)
                | Property::FlightGroups(_)
                | Property::Last(_)
                | Property::Ends(_)
                | Property::Sorted(_) => lines.choices.push(*property),
            }
        }
        Ok(lines)
    }

    /// The lines of an iterator, by itself or with others.
    pub(super) fn lines_of(&self, var: VarId) -> impl Iterator<Item = &Resolved> {
        self.steps.iter().filter(move |line| !line.inside && line.vars.contains(&var))
    }

    /// Whether an iterator has a line for this place.
    pub(super) fn runs_at(&self, var: VarId, place: Place) -> bool {
        self.lines_of(var).any(|line| line.place == place)
    }

    /// The number of iterations that an iterator has at a place, if a line says so.
    pub(super) fn count(&self, var: VarId, place: Place) -> Option<u32> {
        self.lines_of(var).filter(|line| line.place == place).find_map(|line| match (&line.size, &line.vars[..]) {
            (Size::Count(count), _) => Some(*count),
            (Size::Extents(extents), vars) => {
                vars.iter().position(|other| *other == var).and_then(|at| extents.get(at)).copied()
            }
            (Size::Rest | Size::Bits(_), _) => None,
        })
    }

    /// Numbers, each word once, in the order in which they are written.
    pub(super) fn choices(&self) -> Vec<Property> {
        let mut choices = self.choices.clone();
        choices.sort();
        choices.dedup_by_key(|property| property.name());
        choices
    }

    /// Whether a line says how wide lanes are, not how many.
    fn has_bits(&self, var: VarId) -> bool {
        self.lines_of(var).any(|line| matches!(line.size, Size::Bits(_)))
    }

    /// Vectors that are under way together, of whole iterations in lanes.
    fn groups(&self, map: &Map) -> u8 {
        let groups = key(map).and_then(|var| self.count(var, Place::Reg)).unwrap_or(1);
        GROUPS.into_iter().find(|known| u32::from(*known) == groups).unwrap_or(1)
    }

    /// Iterations inside that have registers side by side can run so.
    fn together(&self, program: &Program, func: &Func, map: &Map, mapping: &Mapping) -> Result<(), Misfit> {
        let Recipe::Wide(_) = mapping.recipe else { return Ok(()) };
        let own = |var: &VarId| map.iters.iter().any(|iter| iter.var == *var);
        let map = &*in_lanes(program, func, map);
        let tried = tried(func, map, &Classes::of(map), u32::MAX);
        let tiles = mapping.levels.iter().filter(|(var, level)| level.tile > 1 && !own(var));
        for (var, _) in tiles {
            let known = tried.iter().find(|(tried, _)| tried == var);
            if let Err(why) = known.map_or(Err(NOTHING_SHARED), |(_, rows)| *rows) {
                return Err(Misfit(format!("iterations of `{}` {why}", func.vars[*var].name)));
            }
        }
        Ok(())
    }

    fn on_threads(&self, program: &Program, func: &Func, map: &Map, nest: &Nest) -> Result<Mapping, Misfit> {
        let strategy = strategy_of_threads(nest);
        let mut mapping = Mapping::new(strategy);
        match strategy {
            Strategy::Lanes => {
                let shape = lane_shape(program, func, map);
                mapping.recipe =
                    Recipe::Lanes(shape.map_err(|why| Misfit(format!("tiles of lanes suit it, but {why}")))?);
            }
            Strategy::Wide => {
                let shape = wide_shape(program, func, map);
                let shape = shape.map_err(|why| Misfit(format!("whole iterations in lanes suit it, but {why}")))?;
                mapping.recipe = Recipe::Wide(WideShape { groups: self.groups(map), ..shape });
            }
            Strategy::Team if !gives_to_team(map) => {
                return Err(Misfit("all threads can share what is inside of each iteration".to_owned()));
            }
            Strategy::Team | Strategy::Rows | Strategy::Serial | Strategy::Device(_) => {}
        }
        for &var in &self.iters {
            let lanes = self.count(var, Place::Lanes);
            let exec = match lanes {
                Some(_) => Exec::Lanes,
                None if self.has_bits(var) => Exec::Wide,
                None if self.runs_at(var, Place::Lanes) => Exec::Simd,
                None if self.runs_at(var, Place::Host) => Exec::Team,
                None if self.runs_at(var, Place::Threads) => Exec::Thread,
                None => Exec::Seq,
            };
            let tile = lanes.or_else(|| self.count(var, Place::Reg)).unwrap_or(1);
            mapping.levels.insert(var, LevelPlan { exec, dim: dim_of(map, var), tile });
        }
        self.together(program, func, map, &mapping)?;
        mapping.threads =
            self.steps.iter().filter(|line| line.place == Place::Threads).find_map(|line| match line.size {
                Size::Count(threads) => Some(threads),
                Size::Rest | Size::Bits(_) | Size::Extents(_) => None,
            });
        mapping.cuts = self.cuts.clone();
        mapping.choices = self.choices();
        mapping.joined = self.joined;
        choices::judge(&Facts { program, func, nest: map, mapping: &mapping, found: &Found::default() })?;
        if mapping.number(Property::Written).is_some() {
            mapping.rows = with_rows(program, func, map);
        }
        if mapping.number(Property::Within).is_some() {
            mapping.inside = inside::in_tiles(program, func, map);
        }
        Ok(mapping)
    }
}

/// The position of an iterator among those of its map, the last one 0.
pub(super) fn dim_of(map: &Map, var: VarId) -> u32 {
    let own = map.iters.iter().rev().position(|iter| iter.var == var);
    let inside = || inner_maps(&map.body).into_iter().find(|inner| crate::iterators(inner).contains(&var));
    own.map_or_else(|| inside().map_or(0, |inner| dim_of(inner, var)), |at| at as u32)
}

/// The cut of a map's range.
pub(super) fn cut_of<'l>(cuts: &'l OrdMap<VarId, Cut>, map: &Map) -> Option<&'l Cut> {
    cuts.get(&key(map)?)
}
