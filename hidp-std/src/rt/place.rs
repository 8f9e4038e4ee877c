//! Whether the processor or the context's device runs a call.

use super::args::Arg;
use super::entry::{Codes, Entry, Rule, Version};
use crate::context::PlacedBy;
use crate::error::PlanNames;
use crate::{Context, Error};

/// What runs a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Processor,
    Device,
}

/// Where a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// There, because of that.
    One(Place, PlacedBy),
    /// Rules decide.
    Either,
}

/// Where a call of an entry may run in any plan.
pub(super) fn places(cx: &Context, entry: &'static Entry, args: &[Arg<'_>]) -> Result<Places, Error> {
    if cx.queue().is_none() {
        Ok(Places::One(Place::Processor, PlacedBy::Only))
    } else if !on_device(entry) {
        if cx.is_strict() {
            return Err(Error::NoDeviceVersion { entry: entry.name, plan: None, device: cx.device().name().into() });
        }
        cx.tell_of(entry);
        Ok(Places::One(Place::Processor, PlacedBy::NoVersion))
    } else if cx.is_strict() {
        Ok(Places::One(Place::Device, PlacedBy::Only))
    } else if args.iter().any(|arg| arg.away.is_some_and(|away| away.is_resident())) {
        Ok(Places::One(Place::Device, PlacedBy::Resident))
    } else {
        Ok(Places::Either)
    }
}

/// Where a call runs that is forced to no plan of the entry, but to a place.
pub(super) fn forced_place(cx: &Context, entry: &'static Entry, name: &str) -> Result<Places, Error> {
    match name {
        Rule::HOST_NAME if cx.is_strict() => {
            let device = cx.device().name().into();
            Err(Error::NoDeviceVersion { entry: entry.name, plan: Some(name.into()), device })
        }
        Rule::HOST_NAME => Ok(Places::One(Place::Processor, PlacedBy::Forced)),
        Rule::DEVICE_NAME if cx.queue().is_none() => {
            Err(Error::DevicePlan { entry: entry.name, plan: Rule::DEVICE_NAME, why: cx.device().why().into() })
        }
        Rule::DEVICE_NAME if on_device(entry) => Ok(Places::One(Place::Device, PlacedBy::Forced)),
        _ => Err(Error::UnknownPlan { entry: entry.name, plan: name.into(), plans: PlanNames(entry.versions) }),
    }
}

/// Where a version runs that is forced.
pub(super) fn place_of_forced(cx: &Context, entry: &'static Entry, version: &'static Version) -> Result<Place, Error> {
    match (&version.code, cx.queue()) {
        (Codes::Device(_), Some(_)) => Ok(Place::Device),
        (Codes::Device(_), None) => {
            Err(Error::DevicePlan { entry: entry.name, plan: version.plan, why: cx.device().why().into() })
        }
        (Codes::Cpu(_), Some(_)) if cx.is_strict() => {
            let device = cx.device().name().into();
            Err(Error::NoDeviceVersion { entry: entry.name, plan: Some(version.plan.into()), device })
        }
        (Codes::Cpu(_), Some(_) | None) => Ok(Place::Processor),
    }
}

fn on_device(entry: &Entry) -> bool {
    entry.versions.iter().any(|version| version.code.on_device())
}
