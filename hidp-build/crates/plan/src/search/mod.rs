//! The search for mappings of a nest on a device, after Lee et al. ("Locality-Aware Mapping of Nested Parallel Patterns on GPUs", MICRO 2014):
//! all that their parameters can express (`space`), pruned by constraints, ordered by predicted times (`cost`) at sizes of many shapes.

mod asked;
mod beside;
mod carry;
mod chained;
mod choice;
mod cost;
mod crossing;
mod facts;
mod known;
mod lanes;
mod own;
mod parts;
mod plan;
mod requests;
mod slots;
mod space;
#[cfg(test)]
mod tests;
mod whole;

use super::sizes::points;
use crate::Nest;
use crate::mapping::Mapping;
use crate::target::DeviceModel;
use carry::Carrier;
use facts::{Facts, Numbers};
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::place::Axis;

pub(crate) use choice::by_times;
pub use cost::Predicted;
pub use known::Predictions;
pub(crate) use plan::searched_plans;
pub use space::{Domain, Level, Row, Space, Span};
pub use whole::Whole;

/// What the search finds for a nest.
#[derive(Clone, Debug)]
pub struct Searched {
    /// What the levels are called: an iterator of the outermost map, or those of the maps inside.
    pub levels: Vec<String>,
    /// All mappings of the space.
    pub space: Space,
    /// The best of them where dimensions have these sizes, and the next best.
    pub found: Vec<Found>,
}

/// The best rows at some sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Of the function's dimensions, in order.
    pub sizes: Vec<i64>,
    /// Numbers of rows, the best first, with their times.
    pub best: Vec<(usize, Predicted)>,
}

impl Searched {
    /// A row as text: `r y(8), c x(32) span(all)`. A level without lanes that a grid takes is just named.
    pub fn print(&self, row: &Row) -> String {
        print(&self.levels, row)
    }
}

fn print(levels: &[String], row: &Row) -> String {
    let level = |(name, level): (&String, &Level)| {
        let dim = match level.dim {
            Some(Axis::X) => format!(" x({})", level.size),
            Some(Axis::Y) => format!(" y({})", level.size),
            Some(Axis::Z) => format!(" z({})", level.size),
            None => String::new(),
        };
        format!("{name}{dim}{}", level.span)
    };
    levels.iter().zip(row).map(level).collect::<Vec<_>>().join(", ")
}

/// Steps between the binary logarithms of sizes.
const STEP: usize = 4;

/// Searches the space of a nest at sizes of many shapes; why it cannot otherwise.
pub fn search(program: &Program, func: &Func, map: &Map, model: &DeviceModel) -> Result<Searched, &'static str> {
    Ok(Search::of(program, func, map, (model, Domain::PLANNED))?.all())
}

/// Whether lines are those of a mapping that the planner may find.
pub(crate) fn is_in_space(program: &Program, func: &Func, map: &Map, nest: &Nest, model: &DeviceModel) -> bool {
    let search = Search::of(program, func, map, (model, Domain::PLANNED));
    search.is_ok_and(|search| search.space.rows.iter().any(|(_, mapping)| mapping.lines(func, map) == *nest))
}

/// A nest that is searched.
struct Search<'a> {
    facts: Facts<'a>,
    space: Space,
    model: &'a DeviceModel,
    dims: usize,
}

impl<'a> Search<'a> {
    fn of(
        program: &'a Program,
        func: &'a Func,
        map: &'a Map,
        (model, domain): (&'a DeviceModel, Domain),
    ) -> Result<Self, &'static str> {
        let facts = Facts::of(program, func, map)?;
        let space = space_of(program, func, map, (model, domain), &facts);
        Ok(Search { facts, space, model, dims: func.dims.len() })
    }

    fn all(self) -> Searched {
        let found = points(self.dims, STEP).into_iter().map(|sizes| self.at(sizes)).collect();
        Searched { levels: self.facts.names(), space: self.space, found }
    }

    /// The two best rows at some sizes.
    fn at(&self, sizes: Vec<i64>) -> Found {
        let best = self.best(&self.facts.at(&sizes, &self.model.machine));
        Found { sizes, best }
    }

    fn best(&self, numbers: &Numbers) -> Vec<(usize, Predicted)> {
        best(&self.facts, &self.space, numbers, self.model)
    }
}

fn space_of(
    program: &Program,
    func: &Func,
    map: &Map,
    (model, domain): (&DeviceModel, Domain),
    facts: &Facts<'_>,
) -> Space {
    Space::of(&Carrier::of(program, func, map, facts, model), domain)
}

/// The two best rows of a nest's space.
fn best(facts: &Facts<'_>, space: &Space, numbers: &Numbers, model: &DeviceModel) -> Vec<(usize, Predicted)> {
    let predict = |(_, mapping): &(Row, Mapping)| cost::predict(facts, numbers, mapping, model);
    let mut times: Vec<Option<Predicted>> = space.rows.iter().map(predict).collect();
    let mut best = Vec::new();
    while let (Some(at), true) = (least(&times), best.len() < 2) {
        best.extend(times[at].take().map(|predicted| (at, predicted)));
    }
    best
}

/// The rows of a nest's space where its iterators have these numbers.
struct Fastest {
    /// The best: the first of [`best`].
    row: Option<usize>,
    /// The times of all; nothing of those that take longer.
    times: Vec<Option<f64>>,
}

/// A row that is likely to be the best is looked at first.
fn fastest(facts: &Facts<'_>, space: &Space, numbers: &Numbers, model: &DeviceModel, likely: usize) -> Fastest {
    let mut limit = f64::INFINITY;
    let mut times: Vec<Option<Predicted>> = vec![None; space.rows.len()];
    let first = (likely < space.rows.len()).then_some(likely);
    for at in first.into_iter().chain((0..space.rows.len()).filter(|at| Some(*at) != first)) {
        times[at] = cost::predict_within(facts, numbers, &space.rows[at].1, model, limit);
        // Sums in another order may differ in their last digits.
        let within = |time: &Predicted| time.total() * ALIKE * (1.0 + 1e-9);
        limit = times[at].as_ref().map_or(limit, |time| limit.min(within(time)));
    }
    let totals = times.iter().map(|time| time.as_ref().map(Predicted::total));
    Fastest { row: least(&times), times: totals.collect() }
}

/// Times are alike that differ by less.
const ALIKE: f64 = 1.01;

/// The least time: of those that are alike, the one with fewest lines that are looked up, then the first.
fn least(times: &[Option<Predicted>]) -> Option<usize> {
    let known = || times.iter().enumerate().filter_map(|(at, time)| Some((at, time.as_ref()?)));
    let least = known().map(|(_, time)| time.total()).min_by(f64::total_cmp)?;
    let alike = known().filter(|(_, time)| time.total() <= least * ALIKE);
    alike.min_by(|a, b| a.1.lines.total_cmp(&b.1.lines)).map(|(at, _)| at)
}
