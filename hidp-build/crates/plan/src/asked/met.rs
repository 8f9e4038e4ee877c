//! How much of what is asked for a nest has.

use super::{Asked, AskedLine};
use crate::mapping::Names;
use crate::notation::{Memory, Nest, Placement, Size, Step};
use hidp_ir::par::VarId;
use hidp_syntax::place::Place;

impl Asked {
    /// How much of what is asked for a nest has: lines, and arrays of which parts are staged. And whether that is all.
    pub(super) fn met_by(&self, names: &Names, nest: &Nest) -> (usize, bool) {
        let (lines, all_lines) = self.iters_met(names, nest);
        let (others, all_others) = self.others_met(names, nest);
        (lines + others, all_lines && all_others)
    }

    /// The same of iterators all of whose lines are asked for.
    fn iters_met(&self, names: &Names, nest: &Nest) -> (usize, bool) {
        let (mut met, mut all) = (0, true);
        for iter in &self.iters {
            let lines = lines_of(nest, &names.iter(iter.var));
            met += iter.lines.iter().filter(|line| lines.contains(line)).count();
            // Lines that are asked for by themselves stand among them.
            let apart = |line: &&AskedLine| self.some.iter().any(|(var, some, _)| *var == iter.var && some == *line);
            let rest: Vec<AskedLine> = lines.iter().filter(|line| !apart(line)).copied().collect();
            all &= without_parts(&rest) == without_parts(&iter.lines);
        }
        (met, all)
    }

    /// The same of all else.
    pub(super) fn others_met(&self, names: &Names, nest: &Nest) -> (usize, bool) {
        let (mut met, mut all) = (0, true);
        for (var, line, _) in &self.some {
            let lines = lines_of(nest, &names.iter(*var));
            // A single register is no line.
            let single = line.size == Some(1) && !lines.iter().any(|other| other.place == line.place);
            let has = lines.contains(line) || single;
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
        let is_streamed = |place: &Placement| place.memory == Memory::Stream;
        let streamed = |array: VarId| {
            let name = names.array(array);
            nest.places.iter().any(|place| place.array == name && is_streamed(place))
        };
        let arrays = self.stages.iter().map(|(array, _)| staged(*array));
        let arrays = arrays.chain(self.global.iter().map(|(array, _)| !staged(*array)));
        let arrays = arrays
            .chain(self.orders_met(names, nest))
            .chain(self.numbers_met(nest))
            .chain(self.launches_met(nest))
            .chain(self.options_met(names, nest))
            .chain(self.spans_met(names, nest))
            .chain(self.vecs_met(nest));
        for has in arrays.chain(self.places.iter().map(|(array, way, _)| streamed(*array) == *way)) {
            met += usize::from(has);
            all &= has;
        }
        (met, all)
    }

    /// Of several nests the one that has most of what is asked for.
    pub(super) fn nearest(&self, names: &Names, nests: impl Iterator<Item = Nest>) -> Option<Nest> {
        let scored: Vec<(usize, Nest)> = nests.map(|nest| (self.met_by(names, &nest).0, nest)).collect();
        let most = scored.iter().map(|(met, _)| *met).max()?;
        scored.into_iter().find(|(met, _)| *met == most).map(|(_, nest)| nest)
    }
}

/// Lines without the one that runs through a thread's part.
pub(super) fn without_parts(lines: &[AskedLine]) -> &[AskedLine] {
    match lines {
        [threads @ AskedLine { place: Place::Threads, size: _ }, AskedLine { place: Place::Seq, size: None }] => {
            std::slice::from_ref(threads)
        }
        other => other,
    }
}

/// The lines of an iterator, by itself or with others.
pub(super) fn lines_of(nest: &Nest, name: &str) -> Vec<AskedLine> {
    let line = |step: &Step| {
        let Step::Line(line) = step else { return None };
        let position = line.index.position(name)?;
        let size = match &line.size {
            Size::Rest | Size::Bits(_) => None,
            Size::Count(count) => Some(*count),
            Size::Extents(extents) => extents.get(position).copied(),
        };
        Some(AskedLine::new(line.place, size))
    };
    nest.steps.iter().filter_map(line).collect()
}
