//! Which loops are around which.

use super::{Asked, Clash};
use crate::mapping::Names;
use crate::notation::{Nest, Step};
use crate::refusal::{ORDER, Refusal};
use hidp_ir::par::{Func, Pin, VarId};
use hidp_syntax::source::Span;

/// Two iterators: the loop over the first is around that over the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub(super) outer: VarId,
    pub(super) inner: VarId,
    pub(super) span: Span,
}

/// Each two of the iterators that a directive names.
pub(super) fn pairs(pin: &Pin) -> Vec<Around> {
    let mut found = Vec::new();
    for (at, outer) in pin.args.iter().enumerate() {
        for inner in pin.args[at + 1..].iter().flat_map(|arg| &arg.vars) {
            found.extend(outer.vars.iter().map(|outer| Around { outer: *outer, inner: *inner, span: pin.span }));
        }
    }
    found
}

impl Asked {
    /// Two directives that ask for opposite orders.
    pub(super) fn opposite_orders(&self, func: &Func) -> Result<(), Clash> {
        for (at, own) in self.orders.iter().enumerate() {
            let opposite = |other: &&Around| (other.outer, other.inner) == (own.inner, own.outer);
            if let Some(other) = self.orders[..at].iter().find(opposite) {
                let name = |var: VarId| &func.vars[var].name;
                return Err(Clash {
                    at: own.span,
                    headline: format!(
                        "two directives order the loops over `{}` and `{}`",
                        name(own.outer),
                        name(own.inner)
                    ),
                    label: "the other way around".to_owned(),
                    other: Some((other.span, "the first of them".to_owned())),
                });
            }
        }
        Ok(())
    }

    /// For each two iterators whether the innermost line of the first stands outside of that of the second.
    pub(super) fn orders_met(&self, names: &Names, nest: &Nest) -> impl Iterator<Item = bool> {
        self.orders.iter().map(|Around { outer, inner, .. }| {
            let (outer, inner) = (innermost(nest, &names.iter(*outer)), innermost(nest, &names.iter(*inner)));
            outer.zip(inner).is_some_and(|(outer, inner)| outer < inner)
        })
    }

    /// Iterators in the order that is asked for, else as they are.
    pub(super) fn ordered(&self, mut vars: Vec<VarId>) -> Vec<VarId> {
        let mut sorted = Vec::new();
        while !vars.is_empty() {
            let waits = |var: VarId| self.orders.iter().any(|pair| pair.inner == var && vars.contains(&pair.outer));
            let next = vars.iter().position(|var| !waits(*var)).unwrap_or(0);
            sorted.push(vars.remove(next));
        }
        sorted
    }

    /// The directive whose order a nest has not, and why.
    pub(super) fn misses_order(&self, func: &Func, names: &Names, nest: &Nest, at: Span) -> Option<(Span, Refusal)> {
        let missed = self.orders_met(names, nest).position(|met| !met)?;
        Some(self.no_order(func, &self.orders[missed], at))
    }

    /// That no nest has the order of these two.
    pub(super) fn no_order(&self, func: &Func, pair: &Around, at: Span) -> (Span, Refusal) {
        let name = |var: VarId| &func.vars[var].name;
        let why = format!(
            "no mapping with all that is asked for has the loop over `{}` around that over `{}`",
            name(pair.outer),
            name(pair.inner)
        );
        (pair.span, ORDER.refused(at, why))
    }
}

/// Where the innermost line of an iterator stands, and where it stands in a line of several.
fn innermost(nest: &Nest, name: &str) -> Option<(usize, usize)> {
    nest.steps.iter().enumerate().rev().find_map(|(at, step)| {
        let Step::Line(line) = step else { return None };
        let position = line.index.position(name)?;
        Some((at, position))
    })
}
