//! What directives pin of a nest, as lines: for one kind of processor, all directives before the maps of the nest together.
//!
//! | file | what |
//! |---|---|
//! | `clash` | directives that contradict each other |
//! | `geometry` | hiCUDA's extents and partitions as lines |
//! | `launches` | launches that one grid does |
//! | `met` | how much of what is asked for a nest has |
//! | `device` | nests of graphics processors that have these lines |
//! | `numbers` | threads, chunks and registers |
//! | `order` | which loops are around which |
//! | `plans` | plans of an entry in which nests have what is asked for |
//! | `sections` | what of arrays iterations reach |
//! | `shown` | directives as lines, and plans as directives |
//! | `spans` | iterators that one group has whole, and folds of which groups have parts |
//! | `stages` | how parts of arrays are staged |
//! | `threads` | nests of processors that have these lines |
//! | `tiles` | tiles of results, and parts of folds |

mod clash;
mod device;
mod geometry;
mod items;
mod launches;
mod met;
mod numbers;
mod order;
mod plans;
mod sections;
mod shown;
mod spans;
mod stages;
#[cfg(test)]
mod tests;
mod threads;
mod tiles;

pub(super) use plans::{on_device, on_threads};
pub use shown::{Shown, as_directives, expanded};

use super::notation::Nest;
use super::refusal::Refusal;
use super::{Models, inner_maps, nests};
use crate::target::DeviceModel;
use hidp_ir::par::{Func, FuncId, Map, Pin, Program, VarId};
use hidp_syntax::ast::{PinTarget, PinWord};
use hidp_syntax::place::Place;
use hidp_syntax::source::Span;
use launches::Launches;
use met::{lines_of, without_parts};
use numbers::{About, Number};
use sections::SectionAsked;
use stages::StageAsked;

/// What the directives of a nest ask of one kind of processor.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// All lines of some iterators.
    iters: Vec<AskedIter>,
    /// Iterations of some others that are taken one after the other by a block.
    tiles: Vec<(VarId, u32, Span)>,
    /// Lines that some iterators have among others.
    some: Vec<(VarId, AskedLine, Span)>,
    /// Iterators whose loops are around those of others.
    orders: Vec<order::Around>,
    /// Arrays of which blocks share parts.
    stages: Vec<(VarId, Span)>,
    /// Which parts of them.
    sections: Vec<SectionAsked>,
    /// How parts of arrays are staged.
    options: Vec<StageAsked>,
    /// Neighbours along an iterator that move at once.
    vecs: Vec<(VarId, u32, Span)>,
    /// Arrays of which they share nothing.
    global: Vec<(VarId, Span)>,
    /// Arrays that are written past the caches, or not.
    places: Vec<(VarId, bool, Span)>,
    /// Iterators of which no group has a part.
    whole: Vec<(VarId, Span)>,
    /// Folds of which groups have parts, and how many parts; none where that follows from sizes.
    splits: Vec<(VarId, Option<u32>, Span)>,
    /// Numbers of threads, and of registers.
    numbers: Vec<Number>,
    /// Whether one grid may do several launches.
    launches: Vec<Launches>,
    /// Registers of a multiprocessor.
    registers: u32,
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

/// What directives ask of a nest; nothing if there are none.
pub(super) fn asked(
    func: &Func,
    map: &Map,
    target: PinTarget,
    device: Option<&DeviceModel>,
) -> Result<Option<Asked>, Clash> {
    let pins = pins_of(map, target);
    let registers = device.map_or(0, |model| model.registers);
    let mut asked = Asked { first: pins.first().map(|pin| pin.span), registers, ..Asked::default() };
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
            PinWord::Tile => asked.tiles.extend(numbers_of(pin)),
            PinWord::Reg => asked.some.extend(sized(pin, Place::Reg)),
            PinWord::Lanes => asked.some.extend(sized(pin, Place::Lanes)),
            PinWord::Span => asked.add_spans(pin),
            PinWord::Split => asked.add_splits(pin),
            PinWord::Threads => asked.numbers.extend(Number::of(pin, About::Threads)),
            PinWord::Chunk => asked.numbers.extend(Number::of(pin, About::Chunk)),
            PinWord::AtOnce => asked.numbers.extend(Number::of(pin, About::AtOnce)),
            PinWord::Registers => asked.numbers.extend(Number::of(pin, About::Registers)),
            PinWord::Joined => asked.launches.push(Launches { joined: true, span: pin.span }),
            PinWord::Separate => asked.launches.push(Launches { joined: false, span: pin.span }),
            PinWord::Vec => match target {
                PinTarget::Cpu => asked.some.extend(sized(pin, Place::Lanes)),
                PinTarget::Cuda => asked.vecs.extend(numbers_of(pin)),
            },
            PinWord::Order => asked.orders.extend(order::pairs(pin)),
            PinWord::Shared => {
                asked.stages.extend(arrays(pin));
                asked.options.extend(stages::options(pin));
                asked.sections.extend(sections::sections(pin));
            }
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

/// The iterators that a directive names, each with a number.
fn numbers_of(pin: &Pin) -> impl Iterator<Item = (VarId, u32, Span)> {
    pin.args.iter().flat_map(|arg| {
        let size = arg.values.first().and_then(|value| value.size);
        arg.vars.iter().filter_map(move |var| Some((*var, size?, arg.span)))
    })
}

/// A line of this place for each iterator that a directive names.
fn sized(pin: &Pin, place: Place) -> impl Iterator<Item = (VarId, AskedLine, Span)> {
    pin.args.iter().flat_map(move |arg| {
        let size = arg.values.first().and_then(|value| value.size);
        arg.vars.iter().map(move |var| (*var, AskedLine::new(place, size), arg.span))
    })
}

impl Asked {
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
}

/// What of the directives before the maps of an entry cannot be honoured.
pub(super) fn wrong<'p>(program: &'p Program, id: FuncId, models: Models<'_>) -> Vec<(&'p Map, Wrong)> {
    let func = &program.funcs[id];
    let mut found = Vec::new();
    let maps = nests(func);
    let usual = device::Usual::new(program, id, models.device);
    for (number, map) in maps.iter().copied().enumerate() {
        for target in PinTarget::ALL {
            let asked = match asked(func, map, target, Some(models.device)) {
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
                    device::nest(program, func, map, &asked, (&usual, number), models.device).map(|_| ())
                }
            };
            if let Err(refused) = nest {
                found.push((map, Wrong::Refused(refused)));
            }
        }
    }
    found
}
