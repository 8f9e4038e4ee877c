//! Soft constraints: how well a plan suits a nest, after Lee et al. (MICRO 2014). Accesses weigh more the deeper they stand.
//!
//! Sizes are not known here. What depends on them, above all whether there is enough parallelism for the threads, is left to
//! the rules of [`super::Dispatch`]; the score only says which version comes first.

use std::fmt;

use super::constraint::lane_iterator;
use super::mapping::{Mapping, Strategy};
use super::shape::{Stride, irregular, stride_of};
use crate::target::{Model, Weights};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{Func, Map, Place, Program, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ordered::OrdSet;

/// The parts of a score, each from 0 to [`Score::MOST`], and their weighted mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// The mean of the parts, plus [`Score::MOST`] if a directive asks for the strategy. First, as scores compare by it.
    pub total: u32,
    /// Accesses that neighbouring lanes make to neighbouring elements, or all to one.
    pub coalescing: u32,
    /// How directly iterations are shared out over threads.
    pub parallelism: u32,
    /// How evenly.
    pub divergence: u32,
    /// Loads that several iterations share.
    pub reuse: u32,
}

impl Score {
    /// The best that a part can be.
    pub const MOST: u32 = 100;

    /// Names and values of the parts.
    pub fn parts(&self) -> [(&'static str, u32); 4] {
        let Self { total: _, coalescing, parallelism, divergence, reuse } = *self;
        [("coalescing", coalescing), ("parallelism", parallelism), ("divergence", divergence), ("reuse", reuse)]
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.total)?;
        for (at, (name, value)) in self.parts().into_iter().enumerate() {
            write!(f, "{}{name} {value}", if at == 0 { " (" } else { ", " })?;
        }
        f.write_str(")")
    }
}

/// The score of a nest that runs as planned.
pub(super) fn score(program: &Program, func: &Func, map: &Map, mapping: &Mapping, asked: bool, model: &Model) -> Score {
    let declared = Effects::of_block(program, &func.vars, &map.body).declares;
    let locals = declared.into_iter().filter(|var| func.vars[*var].kind != VarKind::Iter).collect();
    let lanes = (mapping.strategy == Strategy::Lanes).then(|| map.iters.last().map(|iter| iter.var)).flatten();
    let rows = lane_iterator(program, func, map).and_then(|shape| shape.reuse).map(|at| map.iters[at].var);
    let mut walk = Accesses { locals, lanes, rows, fastest: None, weight: 1, all: 0, near: 0, loads: 0, shared: 0 };
    walk.map(map);
    let percent = |part: u64, of: u64| (part * u64::from(Score::MOST)).checked_div(of).unwrap_or(0) as u32;
    let score = Score {
        total: 0,
        coalescing: if walk.all == 0 { Score::MOST } else { percent(walk.near, walk.all * NEAR) },
        parallelism: parallelism(mapping.strategy),
        divergence: divergence(map, mapping.strategy),
        reuse: percent(walk.shared, walk.loads),
    };
    let asked = if asked { Score::MOST } else { 0 };
    Score { total: mean(&score, &model.weights) + asked, ..score }
}

fn mean(score: &Score, weights: &Weights) -> u32 {
    let parts = [
        (score.coalescing, weights.coalescing),
        (score.parallelism, weights.parallelism),
        (score.divergence, weights.divergence),
        (score.reuse, weights.reuse),
    ];
    let sum: u32 = parts.iter().map(|(part, weight)| part * weight).sum();
    sum / parts.iter().map(|(_, weight)| weight).sum::<u32>().max(1)
}

/// Threads that start once for all iterations suffer less than those that start for each outer one.
fn parallelism(strategy: Strategy) -> u32 {
    match strategy {
        Strategy::Serial => 0,
        Strategy::Team => Score::MOST / 2,
        Strategy::Rows | Strategy::Lanes | Strategy::Wide | Strategy::Device(_) => Score::MOST,
    }
}

/// Iterations whose work depends on data keep threads waiting for one another, or not: rows are taken in turn, and a team is
/// together in each.
fn divergence(map: &Map, strategy: Strategy) -> u32 {
    match strategy {
        _ if !irregular(map) => Score::MOST,
        Strategy::Rows => Score::MOST * 3 / 4,
        Strategy::Lanes | Strategy::Wide => Score::MOST / 2,
        Strategy::Team | Strategy::Serial | Strategy::Device(_) => Score::MOST,
    }
}

/// What an access of neighbours counts; one of distant elements counts 1, for the rest of its line is of no use.
const NEAR: u64 = 8;
/// Assumed iterations of an inner map for each outer one.
const DEEPER: u64 = 64;
/// Deeper than this the weights are large enough.
const HEAVIEST: u64 = DEEPER * DEEPER * DEEPER;

/// Weighs the accesses of a nest.
struct Accesses {
    locals: OrdSet<VarId>,
    /// The iterator whose neighbours are in lanes, if reductions run outside of them.
    lanes: Option<VarId>,
    /// The iterator several of whose values a tile takes.
    rows: Option<VarId>,
    /// The innermost iterator around.
    fastest: Option<VarId>,
    weight: u64,
    all: u64,
    near: u64,
    loads: u64,
    shared: u64,
}

impl Accesses {
    fn map(&mut self, map: &Map) {
        let outer = (self.fastest, self.weight);
        self.fastest = map.iters.last().map(|iter| iter.var).or(self.fastest);
        self.visit_block(&map.body);
        (self.fastest, self.weight) = outer;
    }
}

impl Visitor for Accesses {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Map(inner) => {
                let weight = self.weight;
                self.weight = (weight * DEEPER).min(HEAVIEST);
                self.map(inner);
                self.weight = weight;
            }
            _ => look::walk_stmt(self, stmt),
        }
    }
    fn visit_place(&mut self, place: &Place, role: Role) {
        let Some(along) = self.lanes.or(self.fastest) else { return };
        let stride = stride_of(place, along, &self.locals);
        self.all += self.weight;
        self.near += self.weight
            * match stride {
                Stride::Invariant | Stride::Unit => NEAR,
                Stride::Strided | Stride::Irregular => 1,
            };
        if role == Role::Read {
            let tiled = self.lanes.and(self.rows);
            let for_rows = tiled.is_some_and(|rows| stride_of(place, rows, &self.locals) == Stride::Invariant);
            self.loads += self.weight;
            self.shared += if stride == Stride::Invariant || for_rows { self.weight } else { 0 };
        }
        look::walk_place(self, place, role);
    }
}
