//! Mappings as lines: for processors, and what devices share with them.

use super::{Cut, Exec, Mapping, Names, Recipe, Strategy, key};
use crate::notation::{FoldRange, Index, Line, Memory, Nest, Place, Placement, Property, Size, Step};
use crate::{WideShape, inner_maps};
use hidp_ir::par::{Func, Map, VarId};

impl Mapping {
    /// The lines of a nest that runs like this.
    pub fn lines(&self, func: &Func, map: &Map) -> Nest {
        let mut writer = Writer { mapping: self, names: Names::of(func, map), nest: Nest::default() };
        match self.strategy {
            Strategy::Rows => writer.shared(map, Place::Threads),
            Strategy::Serial => writer.shared(map, Place::Seq),
            Strategy::Lanes => writer.tiles_of_lanes(map),
            Strategy::Wide => writer.whole_iterations(map),
            Strategy::Team => {
                map.iters.iter().for_each(|iter| writer.line(&[iter.var], Place::Host, Size::Rest));
                inner_maps(&map.body).into_iter().for_each(|inner| writer.shared(inner, Place::Threads));
            }
            Strategy::Device(_) => writer.on_device(map),
        }
        let place = |memory: Memory| {
            let names = &writer.names;
            move |var: &VarId| Placement { array: names.array(*var), memory }
        };
        let streamed = self.streamed.iter().map(place(Memory::Stream));
        let places = streamed.chain(self.copied.iter().map(place(Memory::Copies))).collect();
        writer.nest.places = places;
        writer.folds(map);
        writer.nest.properties.extend(&self.choices);
        writer.nest.properties.extend(self.joined.then_some(Property::Joined));
        writer.nest
    }
}

/// A nest of which the lines so far are written.
pub(super) struct Writer<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) names: Names,
    pub(super) nest: Nest,
}

impl Writer<'_> {
    /// A line of one iterator, or of several as one.
    pub(super) fn line(&mut self, vars: &[VarId], place: Place, size: Size) {
        let mut names: Vec<String> = vars.iter().map(|var| self.names.iter(*var)).collect();
        let index = if names.len() == 1 { Index::Iter(names.remove(0)) } else { Index::Joined(names) };
        self.nest.steps.push(Step::Line(Line { index, place, size }));
    }

    /// Iterations that threads share, perhaps only some of the threads.
    fn on_threads(&mut self, vars: &[VarId]) {
        self.line(vars, Place::Threads, self.mapping.threads.map_or(Size::Rest, Size::Count));
    }

    pub(super) fn exec_of(&self, map: &Map) -> Option<Exec> {
        self.mapping.exec(key(map)?)
    }

    /// Threads take parts of all iterations, or one thread takes all of them; what is inside runs in order.
    fn shared(&mut self, map: &Map, outer: Place) {
        let vars = iters(map);
        if outer == Place::Threads {
            self.on_threads(&vars);
        }
        if let Some((last, others)) = vars.split_last() {
            if outer == Place::Seq {
                others.iter().for_each(|var| self.line(&[*var], Place::Seq, Size::Rest));
            }
            let vector = self.mapping.exec(*last) == Some(Exec::Simd);
            self.line(&[*last], if vector { Place::Lanes } else { Place::Seq }, Size::Rest);
            let tile = self.mapping.levels.get(last).map_or(1, |level| level.tile);
            if tile > 1 {
                self.line(&[*last], Place::Reg, Size::Count(tile));
            }
        }
        inner_maps(&map.body).into_iter().for_each(|inner| self.shared(inner, Place::Seq));
    }

    /// Threads take parts of all iterations, lanes hold neighbouring ones; what is inside runs in order.
    fn whole_iterations(&mut self, map: &Map) {
        let Recipe::Wide(WideShape { bits, groups }) = self.mapping.recipe else { return };
        let vars = iters(map);
        let Some(last) = vars.last().copied() else { return };
        self.on_threads(&vars);
        if groups > 1 {
            self.line(&[last], Place::Reg, Size::Count(groups.into()));
        }
        self.line(&[last], Place::Lanes, Size::Bits(bits.into()));
        inner_maps(&map.body).into_iter().for_each(|inner| self.shared(inner, Place::Seq));
    }

    /// Tiles of rows and lanes, columns of tiles outermost, with reductions around the iterations of each.
    fn tiles_of_lanes(&mut self, map: &Map) {
        let vars = iters(map);
        let Some((last, others)) = vars.split_last() else { return };
        let columns_first: Vec<VarId> = [*last].into_iter().chain(others.iter().copied()).collect();
        self.on_threads(&columns_first);
        for inner in inner_maps(&map.body) {
            iters(inner).iter().for_each(|var| self.line(&[*var], Place::Seq, Size::Rest));
        }
        let tile = |var: &VarId| self.mapping.levels.get(var).map_or(1, |level| level.tile);
        let rows = others.iter().map(|var| (*var, tile(var))).find(|(_, tile)| *tile > 1);
        let lanes = tile(last);
        if let Some((var, rows)) = rows {
            self.line(&[var], Place::Reg, Size::Count(rows));
        }
        self.line(&[*last], Place::Lanes, Size::Count(lanes));
    }

    /// How ranges of folds are cut, outer maps first.
    fn folds(&mut self, map: &Map) {
        if let Some(cut) = self.mapping.cut(map) {
            // `values` is no word: the lines of the map say so.
            let Cut { options, values: _ } = cut;
            let iters = iters(map).into_iter().map(|var| self.names.iter(var)).collect();
            self.nest.folds.push(FoldRange { iters, options: options.clone() });
        }
        inner_maps(&map.body).into_iter().for_each(|inner| self.folds(inner));
    }
}

/// The iterators of a map.
pub(super) fn iters(map: &Map) -> Vec<VarId> {
    map.iters.iter().map(|iter| iter.var).collect()
}
