//! Launches of loops of the host: several that one grid may do, or each a grid of its own.

use super::{Asked, Clash};
use crate::blame::span_of;
use crate::choices::{joined_misfit, leave_registers};
use crate::mapping::{Mapping, Misfit};
use crate::notation::{Nest, Property};
use crate::refusal::{LAUNCHES, Refusal};
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::source::Span;

/// Whether one grid may do several launches of a nest, as a directive says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launches {
    pub(super) joined: bool,
    pub(super) span: Span,
}

impl Launches {
    /// As a word of a directive.
    pub(super) fn word(&self) -> &'static str {
        if self.joined { "joined" } else { "separate" }
    }

    /// As a line: the property, or that there is none.
    pub(super) fn text(&self) -> &'static str {
        if self.joined { "joined" } else { "not joined" }
    }
}

impl Asked {
    /// Two directives that contradict each other.
    pub(super) fn two_launches(&self) -> Result<(), Clash> {
        let Some(first) = self.launches.first() else { return Ok(()) };
        match self.launches.iter().find(|other| other.joined != first.joined) {
            Some(other) => Err(Clash {
                at: other.span,
                headline: "launches are `joined` or `separate`".to_owned(),
                label: "this one contradicts".to_owned(),
                other: Some((first.span, "the first of them".to_owned())),
            }),
            None => Ok(()),
        }
    }

    /// Whether the launches of a nest are as each directive says.
    pub(super) fn launches_met(&self, nest: &Nest) -> impl Iterator<Item = bool> {
        let joined = nest.properties.contains(&Property::Joined);
        self.launches.iter().map(move |own| own.joined == joined)
    }

    /// Makes the launches of a nest of a device as directives say.
    pub(super) fn give_launches(
        &self,
        program: &Program,
        (func, map): (&Func, &Map),
        mapping: &mut Mapping,
        model: &DeviceModel,
    ) -> Result<(), (Span, Refusal)> {
        let Some(own) = self.launches.first() else { return Ok(()) };
        mapping.joined = own.joined;
        if !own.joined {
            leave_registers(program, func, map, mapping, model);
            return Ok(());
        }
        // Blocks with copies of arrays combine them in another launch.
        mapping.copied.clear();
        if !self.bounds_registers() {
            mapping.resident.clear();
        }
        match joined_misfit(program, func, map, mapping) {
            Some(Misfit(why)) => Err((own.span, LAUNCHES.refused(span_of(map), why))),
            None => Ok(()),
        }
    }
}
