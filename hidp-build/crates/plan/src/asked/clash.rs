//! Directives that contradict each other, or are about what the nest has not.

use super::{Asked, AskedIter, Clash};
use crate::iterators;
use hidp_ir::par::{Func, Map};

impl Asked {
    pub(super) fn all_lines(&mut self, func: &Func, iter: AskedIter) -> Result<(), Clash> {
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

    pub(super) fn is_consistent(&self, func: &Func, map: &Map) -> Result<(), Clash> {
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
        self.opposite_orders(func)?;
        self.two_numbers()?;
        self.two_launches()?;
        self.two_options(func)?;
        self.two_sections(func)?;
        self.two_spans(func)?;
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
        let ordered = self.orders.iter().flat_map(|pair| [(pair.outer, pair.span), (pair.inner, pair.span)]);
        let named = named.chain(ordered).chain(self.whole.iter().copied());
        let named = named.chain(self.vecs.iter().map(|(var, _, span)| (*var, *span)));
        let named = named.chain(self.splits.iter().map(|(var, _, span)| (*var, *span)));
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
}
