//! What directives pin of a nest, as lines: for one kind of processor, all directives before the maps of the nest together.
//!
//! | file | what |
//! |---|---|
//! | `geometry` | hiCUDA's extents and partitions as lines |
//! | `device` | nests of graphics processors that have these lines |
//! | `threads` | nests of processors that have these lines |

mod device;
mod geometry;
mod threads;

use super::candidates::{Candidate, Explored, Fate};
use super::mapping::Names;
use super::notation::{Index, Nest, Size, Step};
use super::refusal::{NAMED, Refusal};
use super::{Models, Plan, inner_maps, iterators, nests};
use crate::target::{DeviceModel, Model};
use hidp_ir::par::{Func, FuncId, Map, Pin, Program, VarId};
use hidp_syntax::ast::{PinTarget, PinWord};
use hidp_syntax::place::Place;
use hidp_syntax::source::Span;

/// What the directives of a nest ask of one kind of processor.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// All lines of some iterators.
    iters: Vec<AskedIter>,
    /// Iterations of some others that are taken one after the other by a block.
    tiles: Vec<(VarId, u32, Span)>,
    /// Arrays of which blocks share parts.
    stages: Vec<(VarId, Span)>,
    /// The directive to name where it cannot be said which one is to blame.
    first: Option<Span>,
}

/// The lines of an iterator, outermost first.
#[derive(Clone, Debug)]
struct AskedIter {
    var: VarId,
    lines: Vec<AskedLine>,
    span: Span,
}

/// A line of a known iterator; without size it takes what the others leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AskedLine {
    place: Place,
    size: Option<u32>,
}

impl AskedLine {
    fn new(place: Place, size: Option<u32>) -> Self {
        AskedLine { place, size }
    }
}

/// Directives that contradict each other, or the program, whatever the target.
#[derive(Debug)]
pub(super) struct Clash {
    pub(super) at: Span,
    pub(super) headline: String,
    pub(super) label: String,
    pub(super) other: Option<(Span, String)>,
}

/// Why directives cannot be honoured.
#[derive(Debug)]
pub(super) enum Wrong {
    /// They contradict each other.
    Clash(Clash),
    /// The nest does not meet a constraint.
    Refused(Refused),
}

/// A constraint that a nest does not meet, and the directive that asks for it.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) at: Span,
    pub(super) refusal: Refusal,
    /// Lines that the nest can have, and that are nearest to what was asked for.
    pub(super) nearest: Option<Box<Nest>>,
}

impl From<Clash> for Wrong {
    fn from(clash: Clash) -> Self {
        Wrong::Clash(clash)
    }
}

/// The directives before the maps of a nest for one kind of processor, outer maps first.
fn pins_of(map: &Map, target: PinTarget) -> Vec<&Pin> {
    let own = map.directives.pins.iter().filter(|pin| pin.target.is_none_or(|of| of == target));
    let inside = inner_maps(&map.body).into_iter().flat_map(|inner| pins_of(inner, target));
    own.chain(inside).collect()
}

/// What is asked of a nest; nothing if nobody asks for anything.
pub(super) fn asked(func: &Func, map: &Map, target: PinTarget) -> Result<Option<Asked>, Clash> {
    let pins = pins_of(map, target);
    let mut asked = Asked { first: pins.first().map(|pin| pin.span), ..Asked::default() };
    for pin in &pins {
        match pin.word {
            PinWord::On => {
                for arg in &pin.args {
                    let lines: Vec<AskedLine> = arg
                        .values
                        .iter()
                        .filter_map(|value| Some(AskedLine::new(Place::called(&value.word)?, value.size)))
                        .collect();
                    for &var in &arg.vars {
                        asked.all_lines(func, AskedIter { var, lines: lines.clone(), span: arg.span })?;
                    }
                }
            }
            PinWord::Tile => {
                for arg in &pin.args {
                    let size = arg.values.first().and_then(|value| value.size).unwrap_or(1);
                    asked.tiles.extend(arg.vars.iter().map(|var| (*var, size, arg.span)));
                }
            }
            PinWord::Shared => {
                let arrays = pin.args.iter().flat_map(|arg| arg.vars.iter().map(|var| (*var, arg.span)));
                asked.stages.extend(arrays);
            }
            // All of them together make lines.
            PinWord::Tblock | PinWord::Thread | PinWord::Partition => {}
        }
    }
    for iter in geometry::lines(func, map, &pins)? {
        asked.all_lines(func, iter)?;
    }
    asked.is_consistent(func, map)?;
    Ok((!pins.is_empty()).then_some(asked))
}

impl Asked {
    fn all_lines(&mut self, func: &Func, iter: AskedIter) -> Result<(), Clash> {
        if let Some(other) = self.iters.iter().find(|other| other.var == iter.var) {
            let name = &func.vars[iter.var].name;
            return Err(Clash {
                at: iter.span,
                headline: format!("two directives say where `{name}` runs"),
                label: "all of its lines, once more".to_owned(),
                other: Some((other.span, "the first of them".to_owned())),
            });
        }
        self.iters.push(iter);
        Ok(())
    }

    fn is_consistent(&self, func: &Func, map: &Map) -> Result<(), Clash> {
        for (at, (var, size, span)) in self.tiles.iter().enumerate() {
            if let Some((_, other, before)) = self.tiles[..at].iter().find(|(other, _, _)| other == var) {
                let name = &func.vars[*var].name;
                return Err(Clash {
                    at: *span,
                    headline: format!("tiles of `{name}` have {other} iterations, and {size}"),
                    label: "another size".to_owned(),
                    other: Some((*before, "the first one".to_owned())),
                });
            }
        }
        let all = iterators(map);
        let named = self.iters.iter().map(|iter| (iter.var, iter.span));
        let named = named.chain(self.tiles.iter().map(|(var, _, span)| (*var, *span)));
        let gone = named.into_iter().find(|(var, _)| !all.contains(var));
        match gone {
            Some((var, span)) => Err(Clash {
                at: span,
                headline: format!("`{}` is no iterator of the nest any more", func.vars[var].name),
                label: "the compiler has made other loops of it".to_owned(),
                other: None,
            }),
            None => Ok(()),
        }
    }

    fn lines_of(&self, var: VarId) -> Option<&AskedIter> {
        self.iters.iter().find(|iter| iter.var == var)
    }

    /// The directive about an iterator, or the first one.
    fn span_of(&self, var: VarId) -> Option<Span> {
        let tile = || self.tiles.iter().find(|(other, _, _)| *other == var).map(|(_, _, span)| *span);
        self.lines_of(var).map(|iter| iter.span).or_else(tile).or(self.first)
    }

    /// The first directive.
    fn first(&self, map: &Map) -> Span {
        self.first.unwrap_or_else(|| super::blame::span_of(map))
    }

    /// How much of what is asked for a nest has: lines, and arrays of which parts are staged. And whether that is all.
    fn met_by(&self, names: &Names, nest: &Nest) -> (usize, bool) {
        let (mut met, mut all) = (0, true);
        for iter in &self.iters {
            let lines = lines_of(nest, &names.iter(iter.var));
            met += iter.lines.iter().filter(|line| lines.contains(line)).count();
            all &= without_parts(&lines) == without_parts(&iter.lines);
        }
        for (var, size, _) in &self.tiles {
            let tiled = lines_of(nest, &names.iter(*var)).contains(&AskedLine::new(Place::Seq, Some(*size)));
            met += usize::from(tiled);
            all &= tiled;
        }
        for (array, _) in &self.stages {
            let name = names.array(*array);
            let staged = nest.steps.iter().any(|step| matches!(step, Step::Stage(stage) if stage.array == name));
            met += usize::from(staged);
            all &= staged;
        }
        (met, all)
    }

    /// Of several nests the one that has most of what is asked for.
    fn nearest(&self, names: &Names, nests: impl Iterator<Item = Nest>) -> Option<Nest> {
        let scored: Vec<(usize, Nest)> = nests.map(|nest| (self.met_by(names, &nest).0, nest)).collect();
        let most = scored.iter().map(|(met, _)| *met).max()?;
        scored.into_iter().find(|(met, _)| *met == most).map(|(_, nest)| nest)
    }
}

/// Lines without the one that runs through a thread's part.
fn without_parts(lines: &[AskedLine]) -> &[AskedLine] {
    match lines {
        [threads @ AskedLine { place: Place::Threads, size: None }, AskedLine { place: Place::Seq, size: None }] => {
            std::slice::from_ref(threads)
        }
        other => other,
    }
}

/// The lines of an iterator, by itself or with others.
fn lines_of(nest: &Nest, name: &str) -> Vec<AskedLine> {
    let line = |step: &Step| {
        let Step::Line(line) = step else { return None };
        let position = match &line.index {
            Index::Iter(own) => (own == name).then_some(0),
            Index::Joined(all) => all.iter().position(|own| own == name),
            Index::Sweep(_) | Index::Inside(_) => None,
        }?;
        let size = match &line.size {
            Size::Rest | Size::Bits(_) => None,
            Size::Count(count) => Some(*count),
            Size::Extents(extents) => extents.get(position).copied(),
        };
        Some(AskedLine::new(line.place, size))
    };
    nest.steps.iter().filter_map(line).collect()
}

/// Plans in which every nest has what directives ask of it. What they ask for and cannot have is reported by
/// [`super::check_directives`].
pub(super) fn on_device(program: &Program, id: FuncId, explored: Explored, model: &DeviceModel) -> Explored {
    let func = &program.funcs[id];
    if nests(func).into_iter().all(|map| pins_of(map, PinTarget::Cuda).is_empty()) {
        return explored;
    }
    let all = device::usual(program, id, model);
    let nest = |number: usize, map: &Map| {
        let asked = asked(func, map, PinTarget::Cuda).ok()??;
        let usual = all.plans.iter().filter_map(|plan| plan.nests.get(number).cloned()).collect();
        device::nest(program, func, map, &asked, usual, model).ok()
    };
    pinned(func, explored, PinTarget::Cuda, &nest)
}

/// The same on processors.
pub(super) fn on_threads(program: &Program, func: &Func, explored: Explored, model: &Model) -> Explored {
    let nest = |_: usize, map: &Map| {
        let asked = asked(func, map, PinTarget::Cpu).ok()??;
        threads::nest(program, func, map, &asked, model).ok()
    };
    pinned(func, explored, PinTarget::Cpu, &nest)
}

/// Puts nests in the place of those that do not have what is asked for.
fn pinned(func: &Func, explored: Explored, target: PinTarget, nest: &dyn Fn(usize, &Map) -> Option<Nest>) -> Explored {
    let maps = nests(func);
    let nests: Vec<Option<Nest>> = maps.iter().enumerate().map(|(number, map)| nest(number, map)).collect();
    if nests.iter().all(Option::is_none) {
        return explored;
    }
    let at = maps.iter().find_map(|map| pins_of(map, target).first().map(|pin| pin.span));
    let name = match target {
        PinTarget::Cpu => "pinned_cpu",
        PinTarget::Cuda => "pinned_cuda",
    };
    let Explored { plans, mut candidates } = explored;
    let mut kept: Vec<Plan> = Vec::new();
    for mut plan in plans {
        let mut replaced = 0;
        for (own, pinned) in plan.nests.iter_mut().zip(&nests) {
            if let Some(pinned) = pinned
                && own != pinned
            {
                *own = pinned.clone();
                replaced += 1;
            }
        }
        if replaced == plan.nests.len() {
            name.clone_into(&mut plan.name);
        }
        if !kept.iter().any(|other| other.same_as(&plan)) {
            kept.push(plan);
        }
    }
    // Where a plan of the planner's runs like the pinned one, that is its name.
    for candidate in &mut candidates {
        let gone = !kept.iter().any(|plan| plan.name == candidate.name);
        if let (true, Fate::Kept, Some(at)) = (gone, &candidate.fate, at) {
            candidate.fate = Fate::Excluded(NAMED.refused(at, "directives pin other lines"));
        }
    }
    if kept.iter().any(|plan| plan.name == name) {
        candidates.push(Candidate { name: name.to_owned(), nest: None, score: None, fate: Fate::Kept });
    }
    Explored { plans: kept, candidates }
}

/// What of the directives before the maps of an entry cannot be honoured.
pub(super) fn wrong<'p>(program: &'p Program, id: FuncId, models: Models<'_>) -> Vec<(&'p Map, Wrong)> {
    let func = &program.funcs[id];
    let mut found = Vec::new();
    let maps = nests(func);
    let pinned = |target: PinTarget| maps.iter().any(|map| !pins_of(map, target).is_empty());
    let usual = if pinned(PinTarget::Cuda) { device::usual(program, id, models.device) } else { Explored::default() };
    for (number, map) in maps.iter().copied().enumerate() {
        for target in PinTarget::ALL {
            let asked = match asked(func, map, target) {
                Ok(Some(asked)) => asked,
                Ok(None) => continue,
                Err(clash) => {
                    found.push((map, clash.into()));
                    break;
                }
            };
            let nest = match target {
                PinTarget::Cpu => threads::nest(program, func, map, &asked, models.cpu),
                PinTarget::Cuda => {
                    let usual = usual.plans.iter().filter_map(|plan| plan.nests.get(number).cloned()).collect();
                    device::nest(program, func, map, &asked, usual, models.device)
                }
            };
            if let Err(refused) = nest {
                found.push((map, Wrong::Refused(refused)));
            }
        }
    }
    found
}
