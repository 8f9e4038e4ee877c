//! All mappings of a nest that Lee et al.'s parameters can say, for tools that judge what the planner chooses.

use super::{Domain, Predicted, Search, cost, print};
use crate::Nest;
use crate::mapping::Mapping;
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program};

/// A nest, with all of its mappings.
pub struct Whole<'a> {
    program: &'a Program,
    func: &'a Func,
    map: &'a Map,
    search: Search<'a>,
}

impl<'a> Whole<'a> {
    /// Enumerates them; why there are none otherwise.
    pub fn of(
        program: &'a Program,
        func: &'a Func,
        map: &'a Map,
        model: &'a DeviceModel,
    ) -> Result<Whole<'a>, &'static str> {
        Ok(Whole { program, func, map, search: Search::of(program, func, map, (model, Domain::WHOLE))? })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.search.space.rows.len()
    }

    /// One as text: how each level runs.
    pub fn print(&self, at: usize) -> String {
        print(&self.search.facts.names(), &self.search.space.rows[at].0)
    }

    /// The lines of one.
    pub fn nest(&self, at: usize) -> Nest {
        self.search.space.rows[at].1.lines(self.func, self.map)
    }

    /// The times of all where dimensions have these sizes.
    pub fn times(&self, sizes: &[i64]) -> Vec<Option<Predicted>> {
        let numbers = self.search.facts.at(sizes, &self.search.model.machine);
        let time = |mapping: &Mapping| cost::predict(&self.search.facts, &numbers, mapping, self.search.model);
        self.search.space.rows.iter().map(|(_, mapping)| time(mapping)).collect()
    }

    /// The time of the nest as lines have it; nothing where they keep parts of arrays near, or are none of the nest's.
    pub fn time(&self, nest: &Nest, sizes: &[i64]) -> Option<Predicted> {
        let mapping = Mapping::read(self.program, self.func, self.map, nest).ok()?;
        let numbers = self.search.facts.at(sizes, &self.search.model.machine);
        cost::predict(&self.search.facts, &numbers, &mapping, self.search.model)
    }
}
