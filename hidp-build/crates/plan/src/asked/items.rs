//! Iterations that a thread takes at a time, a constant distance apart: `on(j: unroll(4) grid.x)`.

use super::device::{Builder, Unfit};
use super::{AskedLine, lines_of};
use crate::blame::span_of;
use crate::device::level_nest;
use crate::key;
use crate::mapping::{Mapping, Names};
use crate::refusal::SHAPE;
use hidp_syntax::ast::Level;
use hidp_syntax::place::{Axis, Place};

/// Iterators of a launch that have a dimension each.
const OWN_DIMENSIONS: usize = Axis::ALL.len();

impl Builder<'_> {
    /// How many iterations a thread takes at a time, if a line above the grid says it.
    pub(super) fn at_a_time(&self) -> Option<u32> {
        let own = self.map.iters.iter().filter_map(|iter| self.asked.lines_of(iter.var));
        own.into_iter().find_map(|asked| {
            if let [AskedLine { place: Place::Unroll, size }, AskedLine { place: Place::Grid(_), size: None }] =
                asked.lines[..]
            {
                size
            } else {
                None
            }
        })
    }

    /// Single threads that take so many.
    pub(super) fn items(&self, count: u32) -> Result<Mapping, Unfit> {
        let mut mapping = level_nest(self.program, self.func, self.map, Level::Thread, self.model);
        if self.map.iters.len() <= OWN_DIMENSIONS {
            for iter in &self.map.iters {
                let lines = self.asked.lines_of(iter.var).map_or(&[][..], |asked| &asked.lines);
                for line in lines {
                    if let Place::Grid(axis) = line.place {
                        mapping.levels.entry(iter.var).and_modify(|level| level.dim = axis as u32);
                    }
                }
            }
        }
        let own = key(self.map);
        if own.is_some_and(|key| mapping.items.get(&key) != Some(&count)) {
            // How many registers another number leaves is up to nvcc.
            mapping.items.extend(own.map(|key| (key, count)));
            mapping.resident.clear();
        }
        self.has_lines(&mapping)?;
        Ok(mapping)
    }

    /// Whether the iterators of a launch have the lines that are asked for.
    fn has_lines(&self, mapping: &Mapping) -> Result<(), Unfit> {
        let names = Names::of(self.func, self.map);
        let lines = mapping.lines(self.func, self.map);
        for iter in &self.map.iters {
            let Some(asked) = self.asked.lines_of(iter.var) else { continue };
            let (name, own) = (names.iter(iter.var), lines_of(&lines, &names.iter(iter.var)));
            if own != asked.lines {
                let own: Vec<String> = own.iter().map(|line| format!("`{name} {}`", line.text())).collect();
                let why = format!(
                    "threads take several iterations of the iterator along which neighbours are, and all others of the grid: `{name}` would have {}",
                    own.join(", ")
                );
                return Err((asked.span, SHAPE.refused(span_of(self.map), why)));
            }
        }
        Ok(())
    }
}
