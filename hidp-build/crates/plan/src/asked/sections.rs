//! Sections of arrays: what iterations reach of an array, no more and no less, is what a block keeps of it.

use super::device::Unfit;
use super::{Asked, Clash};
use crate::blame::span_of;
use crate::iterators;
use crate::near::index_offset;
use crate::refusal::SECTION;
use hidp_ir::par::visit;
use hidp_ir::par::{Func, Map, Pin, PinDim, Place, VarId};
use hidp_syntax::source::Span;

/// An array's section, and the directive.
#[derive(Clone, Debug)]
pub(super) struct SectionAsked {
    array: VarId,
    dims: Vec<PinDim>,
    span: Span,
}

/// What iterations reach along a dimension: from one offset of an iterator, or from one number, to another; nothing where that is not known.
type Reach = Option<(Option<VarId>, i64, i64)>;

/// The sections that a directive names.
pub(super) fn sections(pin: &Pin) -> impl Iterator<Item = SectionAsked> {
    let with_one = pin.args.iter().filter(|arg| !arg.section.is_empty());
    with_one.flat_map(|arg| {
        arg.vars.iter().map(|array| SectionAsked { array: *array, dims: arg.section.clone(), span: arg.span })
    })
}

impl Asked {
    /// Two directives about the section of one array.
    pub(super) fn two_sections(&self, func: &Func) -> Result<(), Clash> {
        for (at, own) in self.sections.iter().enumerate() {
            if let Some(other) = self.sections[..at].iter().find(|other| other.array == own.array) {
                return Err(Clash {
                    at: own.span,
                    headline: format!("two directives say which section of `{}` is kept", func.vars[own.array].name),
                    label: "the second of them".to_owned(),
                    other: Some((other.span, "the first of them".to_owned())),
                });
            }
        }
        Ok(())
    }

    /// Whether iterations reach what sections say.
    pub(super) fn sections_hold(&self, func: &Func, map: &Map) -> Result<(), Unfit> {
        self.sections.iter().try_for_each(|section| section.holds(func, map))
    }

    /// The sections, as the program writes them.
    pub(super) fn sections_text(&self, func: &Func) -> impl Iterator<Item = String> {
        self.sections.iter().map(|section| format!("section {}", section.text(func)))
    }
}

impl SectionAsked {
    fn holds(&self, func: &Func, map: &Map) -> Result<(), Unfit> {
        let iters = iterators(map);
        let name = &func.vars[self.array].name;
        let mut reached: Option<Vec<Reach>> = None;
        let mut outside = None;
        visit::walk_places(&map.body, |place, _| {
            if place.array != self.array {
                return;
            }
            let own = reach(place, &iters);
            if outside.is_none() && !self.dims.iter().zip(&own).all(|(dim, own)| has(dim, own)) {
                outside = Some(place.span);
            }
            reached = Some(match reached.take() {
                Some(before) => before.into_iter().zip(own).map(|(before, own)| both(before, own)).collect(),
                None => own,
            });
        });
        if let Some(at) = outside {
            let why = format!("an access to `{name}` is outside of its section, or may be");
            return Err((self.span, SECTION.refused(at, why)));
        }
        let Some(reached) = reached else { return Ok(()) };
        if self.dims.iter().zip(&reached).all(|(dim, reached)| is_all_of(dim, reached)) {
            return Ok(());
        }
        let dims = reached.iter().map(|reach| dim_text(func, &dim_of(reach)));
        let why = format!("iterations reach `{name}{}`, and a block keeps nothing else", dims.collect::<String>());
        Err((self.span, SECTION.refused(span_of(map), why)))
    }

    fn text(&self, func: &Func) -> String {
        let dims = self.dims.iter().map(|dim| dim_text(func, dim));
        format!("{}{}", func.vars[self.array].name, dims.collect::<String>())
    }
}

/// What an access reaches.
fn reach(place: &Place, iters: &[VarId]) -> Vec<Reach> {
    let one = |(iter, offset): (Option<usize>, i64)| (iter.map(|at| iters[at]), offset, offset.saturating_add(1));
    place.index.iter().map(|index| index_offset(iters, index).map(one)).collect()
}

/// What two accesses reach together.
fn both(a: Reach, b: Reach) -> Reach {
    let ((iter, low, high), (other, lower, higher)) = a.zip(b)?;
    (iter == other).then(|| (iter, low.min(lower), high.max(higher)))
}

/// Whether what is reached is in a dimension of a section.
fn has(dim: &PinDim, reach: &Reach) -> bool {
    match (dim, reach) {
        (PinDim::All, _) => true,
        (PinDim::Range { iters, low, high }, Some((iter, from, to))) => {
            is_along(iters, *iter) && low <= from && to <= high
        }
        (PinDim::Range { .. }, None) => false,
    }
}

/// Whether that is all of the dimension.
fn is_all_of(dim: &PinDim, reach: &Reach) -> bool {
    match (dim, reach) {
        (PinDim::Range { low, high, .. }, Some((_, from, to))) => low == from && to == high,
        (PinDim::Range { .. }, None) | (PinDim::All, _) => false,
    }
}

fn is_along(iters: &[VarId], iter: Option<VarId>) -> bool {
    iter.map_or(iters.is_empty(), |iter| iters.contains(&iter))
}

fn dim_of(reach: &Reach) -> PinDim {
    reach.map_or(PinDim::All, |(iter, low, high)| PinDim::Range { iters: iter.into_iter().collect(), low, high })
}

/// `[i-1:i+2)`
fn dim_text(func: &Func, dim: &PinDim) -> String {
    let PinDim::Range { iters, low, high } = dim else { return "[*]".to_owned() };
    let at = |offset: i64| match (iters.first(), offset) {
        (None, number) => number.to_string(),
        (Some(iter), 0) => func.vars[*iter].name.clone(),
        (Some(iter), offset) => format!("{}{offset:+}", func.vars[*iter].name),
    };
    if high - low == 1 { format!("[{}]", at(*low)) } else { format!("[{}:{})", at(*low), at(*high)) }
}
