//! Lee et al.'s words: iterations that one group takes, and parts of folds that groups of their own take.

use super::met::lines_of;
use super::{Asked, AskedLine, Clash};
use crate::mapping::Names;
use crate::notation::{FoldOption, FoldRange, Nest};
use hidp_ir::par::{Func, Pin};
use hidp_syntax::place::Place;

/// Whether the number of a fold's parts follows from sizes.
pub(super) fn follows(cut: &FoldRange) -> bool {
    FoldOption::number_of(&cut.options, FoldOption::Groups).is_some()
}

impl Asked {
    /// `span(i: 4)` is `i seq(4)` below the grid, `span(i: all)` an iterator without a line of the grid.
    pub(super) fn add_spans(&mut self, pin: &Pin) {
        for arg in &pin.args {
            let Some(value) = arg.values.first() else { continue };
            for var in &arg.vars {
                match value.size {
                    // The usual.
                    Some(1) => {}
                    Some(size) => self.some.push((*var, AskedLine::new(Place::Seq, Some(size)), arg.span)),
                    None => self.whole.push((*var, arg.span)),
                }
            }
        }
    }

    /// `split(k: 24)` is 24 parts of a fold, `split(k: any)` as many as sizes ask for.
    pub(super) fn add_splits(&mut self, pin: &Pin) {
        for arg in &pin.args {
            let Some(value) = arg.values.first() else { continue };
            self.splits.extend(arg.vars.iter().map(|var| (*var, value.size, arg.span)));
        }
    }

    /// Two directives about one iterator.
    pub(super) fn two_spans(&self, func: &Func) -> Result<(), Clash> {
        let whole = self.whole.iter().map(|(var, span)| (*var, *span));
        let parts = self.splits.iter().map(|(var, _, span)| (*var, *span));
        let turns =
            self.some.iter().filter(|(_, line, _)| line.place == Place::Seq).map(|(var, _, span)| (*var, *span));
        let mut all: Vec<_> = whole.chain(parts).chain(turns).collect();
        all.sort_by_key(|(_, span)| span.start);
        for (at, (var, span)) in all.iter().enumerate() {
            if let Some((_, other)) = all[..at].iter().find(|(other, _)| other == var) {
                return Err(Clash {
                    at: *span,
                    headline: format!("two directives say how groups share `{}`", func.vars[*var].name),
                    label: "the second of them".to_owned(),
                    other: Some((*other, "the first of them".to_owned())),
                });
            }
        }
        Ok(())
    }

    /// Whether groups have of each iterator what is asked for.
    pub(super) fn spans_met(&self, names: &Names, nest: &Nest) -> impl Iterator<Item = bool> {
        let on_grid = |line: &AskedLine| matches!(line.place, Place::Grid(_) | Place::Host);
        let whole = move |name: String| !lines_of(nest, &name).iter().any(on_grid);
        let parts = move |name: String, parts: Option<u32>| {
            let cut = nest.folds.iter().find(|fold| fold.iters.contains(&name));
            let Some(parts) = parts else { return cut.is_some_and(follows) };
            let runs = cut.is_some_and(|cut| {
                cut.options.contains(&FoldOption::Most(parts)) && cut.options.contains(&FoldOption::Runs(1))
            });
            runs || lines_of(nest, &name).iter().any(|line| on_grid(line) && line.size == Some(parts))
        };
        let all = self.whole.iter().map(move |(var, _)| whole(names.iter(*var)));
        all.chain(self.splits.iter().map(move |(var, size, _)| parts(names.iter(*var), *size)))
    }
}
