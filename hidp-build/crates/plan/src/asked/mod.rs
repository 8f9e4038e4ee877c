//! What directives pin of a nest, as lines: for one kind of processor, all directives before the maps of the nest together.
//!
//! | file | what |
//! |---|---|
//! | `geometry` | hiCUDA's extents and partitions as lines |
//! | `device` | nests of graphics processors that have these lines |
//! | `plans` | plans of an entry in which nests have what is asked for |
//! | `shown` | directives as lines, and plans as directives |
//! | `threads` | nests of processors that have these lines |

mod device;
mod geometry;
mod plans;
mod shown;
#[cfg(test)]
mod tests;
mod threads;

pub(super) use plans::{on_device, on_threads};
pub use shown::{Shown, as_directives, expanded};

use super::candidates::Explored;
use super::mapping::Names;
use super::notation::{Index, Nest, Size, Step};
use super::refusal::Refusal;
use super::{Models, inner_maps, iterators, nests};
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
    /// Lines that some iterators have among others.
    some: Vec<(VarId, AskedLine, Span)>,
    /// Arrays of which blocks share parts.
    stages: Vec<(VarId, Span)>,
    /// Arrays of which they share nothing.
    global: Vec<(VarId, Span)>,
    /// Arrays that are written past the caches, or not.
    places: Vec<(VarId, bool, Span)>,
    /// Whether there are no other plans.
    only: bool,
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
            PinWord::Reg => asked.some.extend(sized(pin, Place::Reg)),
            PinWord::Lanes => asked.some.extend(sized(pin, Place::Lanes)),
            PinWord::Shared => asked.stages.extend(arrays(pin)),
            PinWord::Global => asked.global.extend(arrays(pin)),
            PinWord::Stream => asked.places.extend(arrays(pin).map(|(array, span)| (array, true, span))),
            PinWord::Cached => asked.places.extend(arrays(pin).map(|(array, span)| (array, false, span))),
            PinWord::Only => asked.only = true,
            // Checking has made directives of the maps of it.
            PinWord::Unroll => {}
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

/// The arrays that a directive names.
fn arrays(pin: &Pin) -> impl Iterator<Item = (VarId, Span)> {
    pin.args.iter().flat_map(|arg| arg.vars.iter().map(|var| (*var, arg.span)))
}

/// A line of this place for each iterator that a directive names.
fn sized(pin: &Pin, place: Place) -> impl Iterator<Item = (VarId, AskedLine, Span)> {
    pin.args.iter().flat_map(move |arg| {
        let size = arg.values.first().and_then(|value| value.size);
        arg.vars.iter().map(move |var| (*var, AskedLine::new(place, size), arg.span))
    })
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
        for (at, (var, line, span)) in self.some.iter().enumerate() {
            let own =
                self.lines_of(*var).map(|iter| (iter.lines.iter().find(|own| own.place == line.place), iter.span));
            let own = own.and_then(|(own, at)| Some((*own?, at)));
            let earlier = self.some[..at].iter().find(|(other, own, _)| other == var && own.place == line.place);
            let earlier = earlier.map(|(_, own, span)| (*own, *span));
            if let Some((_, before)) = own.or(earlier) {
                return Err(Clash {
                    at: *span,
                    headline: format!("`{}` has a line `{}` already", func.vars[*var].name, line.place),
                    label: "one more".to_owned(),
                    other: Some((before, "here".to_owned())),
                });
            }
        }
        let both = self.stages.iter().find_map(|(array, span)| {
            let other = self.global.iter().find(|(other, _)| other == array)?;
            Some((*array, *span, other.1))
        });
        let twice = self.places.iter().enumerate().find_map(|(at, (array, way, span))| {
            let other = self.places[..at].iter().find(|(other, before, _)| other == array && before != way)?;
            Some((*array, *span, other.2))
        });
        if let Some((array, at, other)) = both.or(twice) {
            return Err(Clash {
                at,
                headline: format!("two directives contradict each other about `{}`", func.vars[array].name),
                label: "this one".to_owned(),
                other: Some((other, "and the other one".to_owned())),
            });
        }
        let all = iterators(map);
        let named = self.iters.iter().map(|iter| (iter.var, iter.span));
        let named = named.chain(self.tiles.iter().map(|(var, _, span)| (*var, *span)));
        let named = named.chain(self.some.iter().map(|(var, _, span)| (*var, *span)));
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
            // Lines that are asked for by themselves stand among them.
            let apart = |line: &&AskedLine| self.some.iter().any(|(var, some, _)| *var == iter.var && some == *line);
            let rest: Vec<AskedLine> = lines.iter().filter(|line| !apart(line)).copied().collect();
            all &= without_parts(&rest) == without_parts(&iter.lines);
        }
        for (var, line, _) in &self.some {
            let has = lines_of(nest, &names.iter(*var)).contains(line);
            met += usize::from(has);
            all &= has;
        }
        for (var, size, _) in &self.tiles {
            let tiled = lines_of(nest, &names.iter(*var)).contains(&AskedLine::new(Place::Seq, Some(*size)));
            met += usize::from(tiled);
            all &= tiled;
        }
        let staged = |array: VarId| {
            let name = names.array(array);
            nest.steps.iter().any(|step| matches!(step, Step::Stage(stage) if stage.array == name))
        };
        let streamed = |array: VarId| nest.places.iter().any(|place| place.array == names.array(array));
        let arrays = self.stages.iter().map(|(array, _)| staged(*array));
        let arrays = arrays.chain(self.global.iter().map(|(array, _)| !staged(*array)));
        for has in arrays.chain(self.places.iter().map(|(array, way, _)| streamed(*array) == *way)) {
            met += usize::from(has);
            all &= has;
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
                PinTarget::Cpu => threads::nests(program, func, map, &asked, models.cpu).map(|_| ()),
                PinTarget::Cuda => {
                    let usual = usual.plans.iter().filter_map(|plan| plan.nests.get(number).cloned()).collect();
                    device::nest(program, func, map, &asked, usual, models.device).map(|_| ())
                }
            };
            if let Err(refused) = nest {
                found.push((map, Wrong::Refused(refused)));
            }
        }
    }
    found
}
