//! The ways to run a nest on a processor, each found once.

use super::candidates::{Limits, constraint, mapping};
use super::mapping::Strategy;
use super::refusal::Refusal;
use super::score::{Score, score};
use crate::Nest;
use crate::target::Model;
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::ast::Level;

/// A nest under a strategy.
pub(super) struct Way {
    pub(super) lines: Nest,
    pub(super) score: Score,
}

/// A nest under each strategy, in the order of [`Strategy::ALL`], or why it does not run so.
pub(super) struct Ways(pub(super) Vec<(Strategy, Result<Way, Refusal>)>);

impl Ways {
    pub(super) fn of(program: &Program, func: &Func, map: &Map, model: &Model, limits: Limits) -> Ways {
        let way = |strategy: Strategy| {
            if let Some(refusal) = constraint(program, func, map, strategy) {
                return Err(refusal);
            }
            let no_gain = gain(program, func, map, strategy, model);
            let gains = no_gain.is_none();
            match no_gain.filter(|_| !limits.variants) {
                Some(refusal) => Err(refusal),
                None => {
                    let mapping = mapping(program, func, map, strategy, model);
                    let score = score(program, func, map, &mapping, preferred(map, strategy, gains), model);
                    Ok(Way { lines: mapping.lines(func, map), score })
                }
            }
        };
        Ways(Strategy::ALL.into_iter().map(|strategy| (strategy, way(strategy))).collect())
    }

    fn under(&self, strategy: Strategy) -> Option<&Way> {
        self.0.iter().find(|(other, _)| *other == strategy).and_then(|(_, way)| way.as_ref().ok())
    }

    /// The nest under a strategy, or another one where that does not apply: one always does.
    pub(super) fn applied(&self, strategy: Strategy) -> Option<&Way> {
        let others = || instead_of(strategy).iter().filter_map(|other| self.under(*other));
        self.under(strategy).or_else(|| others().max_by_key(|way| way.score.total))
    }
}

/// How nests run, one of these, to which a strategy for all of them does not apply.
fn instead_of(strategy: Strategy) -> &'static [Strategy] {
    match strategy {
        // Lanes of another kind beside whole iterations in lanes.
        Strategy::Wide => &[Strategy::Lanes, Strategy::Rows],
        Strategy::Rows | Strategy::Lanes | Strategy::Team | Strategy::Serial | Strategy::Device(_) => &[Strategy::Rows],
    }
}

/// Whether this goes before all others: a directive asks for it, a level that is the whole device gets every thread into each outer
/// iteration; or loops that compilers make no vectors of run in lanes, where that gains.
fn preferred(map: &Map, strategy: Strategy, gains: bool) -> bool {
    match strategy {
        Strategy::Team => map.directives.levels == [Level::Kernel],
        Strategy::Wide => gains,
        Strategy::Rows | Strategy::Lanes | Strategy::Serial | Strategy::Device(_) => false,
    }
}

/// What a strategy that could run a nest would have to save.
fn gain(program: &Program, func: &Func, map: &Map, strategy: Strategy, model: &Model) -> Option<Refusal> {
    match strategy {
        Strategy::Wide => super::wide::gain(program, func, map, model).err(),
        Strategy::Rows | Strategy::Lanes | Strategy::Team | Strategy::Serial | Strategy::Device(_) => None,
    }
}
