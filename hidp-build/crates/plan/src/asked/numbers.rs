//! Numbers of a nest that directives pin: threads of processors and their chunks, registers of devices.

use super::{Asked, Clash};
use crate::blame::span_of;
use crate::mapping::Mapping;
use crate::notation::{Nest, Property, Size, Step};
use crate::refusal::{REGISTERS, Refusal};
use crate::target::DeviceModel;
use hidp_ir::par::{Map, Pin};
use hidp_syntax::ast::PinWord;
use hidp_syntax::place::Place;
use hidp_syntax::source::Span;

/// What a number is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// Threads of a processor at most.
    Threads,
    /// Iterations that a thread takes in turn.
    Chunk,
    /// Blocks that a multiprocessor has registers for.
    AtOnce,
    /// Registers of a lane at most.
    Registers,
}

/// A number, and the directive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) about: About,
    pub(super) number: u32,
    pub(super) span: Span,
}

/// A lane has no more registers, whatever a bound says.
const MOST_REGISTERS: u32 = 255;

impl About {
    /// The directive's word.
    fn word(self) -> PinWord {
        match self {
            About::Threads => PinWord::Threads,
            About::Chunk => PinWord::Chunk,
            About::AtOnce => PinWord::AtOnce,
            About::Registers => PinWord::Registers,
        }
    }

    /// Whether both bound the registers of a launch.
    fn is_same(self, other: About) -> bool {
        let registers = |about: About| matches!(about, About::AtOnce | About::Registers);
        self == other || (registers(self) && registers(other))
    }
}

impl Number {
    /// What a directive says.
    pub(super) fn of(pin: &Pin, about: About) -> Option<Number> {
        let number = pin.args.first()?.values.first()?.size?;
        Some(Number { about, number, span: pin.span })
    }

    /// `chunk(64)`
    pub(super) fn text(&self) -> String {
        format!("{}({})", self.about.word().name(), self.number)
    }
}

impl Asked {
    fn number(&self, about: About) -> Option<u32> {
        self.numbers.iter().find(|own| own.about == about).map(|own| own.number)
    }

    /// Two directives about one number.
    pub(super) fn two_numbers(&self) -> Result<(), Clash> {
        for (at, own) in self.numbers.iter().enumerate() {
            if let Some(other) = self.numbers[..at].iter().find(|other| other.about.is_same(own.about)) {
                return Err(Clash {
                    at: own.span,
                    headline: format!("`{}` comes after `{}`, which is about the same", own.text(), other.text()),
                    label: "the second of them".to_owned(),
                    other: Some((other.span, "the first of them".to_owned())),
                });
            }
        }
        Ok(())
    }

    /// Whether a nest has each number.
    pub(super) fn numbers_met(&self, nest: &Nest) -> impl Iterator<Item = bool> {
        self.numbers.iter().map(|own| match own.about {
            About::Threads => has_threads(nest, own.number),
            About::Chunk => has_chunks(nest, own.number),
            About::AtOnce | About::Registers => {
                let mut launches = launches(nest).peekable();
                launches.peek().is_some() && launches.all(|(block, resident)| self.resident(block) == Some(resident))
            }
        })
    }

    /// Whether directives bound the registers of a launch.
    pub(super) fn bounds_registers(&self) -> bool {
        self.number(About::AtOnce).or(self.number(About::Registers)).is_some()
    }

    /// For how many threads of a multiprocessor the launches of a block's size leave registers.
    fn resident(&self, block: u32) -> Option<u32> {
        // As few blocks as there can be with no more registers for each lane.
        let needed = |registers: u32| self.registers.div_ceil(registers + 1).div_ceil(block.max(1));
        let at_once = |registers: u32| if registers >= MOST_REGISTERS { 1 } else { needed(registers) };
        let blocks = self.number(About::AtOnce).or_else(|| self.number(About::Registers).map(at_once))?;
        Some(blocks.saturating_mul(block))
    }

    /// Gives a nest of a processor its numbers. Whether it can have them is judged when its lines are read.
    pub(super) fn give_threads(&self, mapping: &mut Mapping) {
        mapping.threads = self.number(About::Threads).or(mapping.threads);
        if let Some(chunk) = self.number(About::Chunk) {
            // All of them are that long, and none is another thread's before it begins.
            let others = |property: &Property| match property {
                Property::Together(_) | Property::Turns(_) | Property::Parts(_) => false,
                Property::Block(_)
                | Property::Resident(_)
                | Property::Written(_)
                | Property::Within(_)
                | Property::Fewest(_)
                | Property::Alone(_)
                | Property::Copied(_)
                | Property::Columns(_)
                | Property::WarpColumns(_)
                | Property::Joined
                | Property::Updates(_)
                | Property::Flight(_)
                | Property::Registers(_)
                | Property::FlightGroups(_)
                | Property::Last(_)
                | Property::Ends(_)
                | Property::Sorted(_) => true,
            };
            mapping.choices.retain(others);
            mapping.choices.push(Property::Turns(chunk));
            mapping.choices.sort();
            mapping.streamed.clear();
        }
    }

    /// Gives the launches of a nest of a device their registers.
    pub(super) fn give_registers(
        &self,
        map: &Map,
        mapping: &mut Mapping,
        model: &DeviceModel,
    ) -> Result<(), (Span, Refusal)> {
        let Some(own) = self.numbers.iter().find(|own| own.about.is_same(About::Registers)) else { return Ok(()) };
        for (launch, block) in &mapping.blocks {
            let resident = self.resident(*block).unwrap_or(0);
            if resident > model.resident || resident / block.max(&1) > model.resident_blocks {
                let why = format!(
                    "`{}` of blocks of {block} threads leaves registers for {resident} threads of a multiprocessor, which has {} in {} blocks at most",
                    own.text(),
                    model.resident,
                    model.resident_blocks
                );
                return Err((own.span, REGISTERS.refused(span_of(map), why)));
            }
            mapping.resident.insert(*launch, resident);
        }
        Ok(())
    }

    /// That a nest's launches have no bound for their registers.
    pub(super) fn without_bound(&self, map: &Map) -> Option<(Span, Refusal)> {
        let own = self.numbers.iter().find(|own| own.about.is_same(About::Registers))?;
        let why = "the nest scans, or leaves parts of folds, by launches of which nobody bounds the registers";
        Some((own.span, REGISTERS.refused(span_of(map), why)))
    }

    /// The directive about threads whose number no nest of a processor has.
    pub(super) fn without_number(&self, map: &Map) -> Option<(Span, Refusal)> {
        let own = self.numbers.iter().find(|own| matches!(own.about, About::Threads | About::Chunk))?;
        let why = match own.about {
            About::Chunk => {
                "threads take chunks of iterations of a map that folds nothing, without tiles, and nothing else is asked for that such maps have not"
            }
            About::Threads | About::AtOnce | About::Registers => {
                "no mapping with all that is asked for has threads, or has so many"
            }
        };
        Some((own.span, crate::refusal::SHAPE.refused(span_of(map), why)))
    }
}

/// Whether so many threads share the iterations of a nest.
fn has_threads(nest: &Nest, threads: u32) -> bool {
    let mut shared = nest.steps.iter().filter_map(|step| match step {
        Step::Line(line) if line.place == Place::Threads => Some(line.size == Size::Count(threads)),
        Step::Line(_) | Step::Stage(_) => None,
    });
    shared.next().is_some_and(|first| first && shared.all(|other| other))
}

/// Whether threads take so many iterations in turn, and no tiles.
fn has_chunks(nest: &Nest, chunk: u32) -> bool {
    let tile = |step: &Step| match step {
        Step::Line(line) => line.place == Place::Lanes && line.size != Size::Rest,
        Step::Stage(_) => false,
    };
    let others = [
        Property::number_of(&nest.properties, Property::Parts),
        Property::number_of(&nest.properties, Property::Together),
    ];
    let chunks = Property::number_of(&nest.properties, Property::Turns) == Some(chunk);
    chunks && others.iter().all(Option::is_none) && !nest.steps.iter().any(tile)
}

/// Threads of a block of each launch, and for how many registers are left.
fn launches(nest: &Nest) -> impl Iterator<Item = (u32, u32)> {
    let all = |of: fn(&Property) -> Option<u32>| nest.properties.iter().filter_map(of).collect::<Vec<u32>>();
    let blocks = all(|property| Property::number_of(std::slice::from_ref(property), Property::Block));
    let resident = all(|property| Property::number_of(std::slice::from_ref(property), Property::Resident));
    let count = blocks.len().max(resident.len());
    let at = |numbers: &[u32], at: usize| numbers.get(at).or(numbers.first()).copied().unwrap_or(0);
    (0..count).map(move |launch| (at(&blocks, launch), at(&resident, launch)))
}
