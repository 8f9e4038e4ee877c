//! The plans worth having for an entry, best guess first, and what became of the others.

use std::fmt;

use super::constraint::{LaneShape, lane_shape, team_constraint};
use super::copied::copied_targets;
use super::mapping::{Exec, LevelPlan, Mapping, Recipe, Strategy};
use super::refusal::{Refusal, TARGET};
use super::score::Score;
use super::shape::{streamed_outputs, vectorisable};
use super::ways::{Way, Ways};
use super::wide::{Classes, WideShape, in_lanes, jams, wide_shape, with_one_copy};
use super::{Nest, Plan, asked, choices, inner_maps, nests, variants};
use crate::target::Model;
use hidp_ir::par::{Func, FuncId, Map, Program, VarId};

/// How many plans an entry may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most plans that survive, variants apart; at least 1.
    pub most: usize,
    /// Whether plans come with other tiles too, from the domains of the model: more code, for the tuner.
    pub variants: bool,
    /// Whether all compositions that are kept are versions, also those that promise nothing.
    pub compositions: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { most: 4, variants: false, compositions: false }
    }
}

/// Every way to run an entry on one kind of target that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Those that survived, best guess first. Every one can run every problem; of devices there may be none.
    pub plans: Vec<Plan>,
    /// All of them, in the order in which they were looked at.
    pub candidates: Vec<Candidate>,
}

/// A way to run a nest, or an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is called, as its plan is.
    pub name: String,
    /// Which nest, in the order of the program text; nothing if it is a way to run all of them.
    pub nest: Option<usize>,
    /// How well it suits the nest; nothing if it does not apply, or scores decide nothing.
    pub score: Option<Score>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is part of the plan of its name.
    Kept,
    /// A constraint is not met.
    Excluded(Refusal),
    /// It has the lines of another one.
    SameAs(String),
    /// So many plans come before it: by their scores, or in the order of preference.
    Outnumbered(usize),
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Kept => f.write_str("kept"),
            Fate::Excluded(refusal) => write!(f, "excluded: {refusal}"),
            Fate::SameAs(other) => write!(f, "runs like {other}"),
            Fate::Outnumbered(most) => write!(f, "rejected: {most} plans come before it"),
        }
    }
}

impl Explored {
    /// What became of the candidate of this name for the whole entry.
    pub fn fate(&self, name: &str) -> Option<&Fate> {
        self.candidates.iter().find(|row| row.nest.is_none() && row.name == name).map(|row| &row.fate)
    }
}

/// The distinct plans for a function after the pass pipeline, best guess first. Every one can run every problem.
pub fn candidates(program: &Program, func: FuncId, model: &Model) -> Vec<Plan> {
    explore(program, func, model, Limits::default()).plans
}

/// A strategy for all nests, where it applies.
struct Tried {
    strategy: Strategy,
    nests: Vec<Nest>,
    score: u32,
    why: Option<Fate>,
}

/// Looks at every strategy: what hard constraints let through and no other equals is ordered by score, and cut off. Then nests get the
/// lines that directives pin.
pub fn explore(program: &Program, func: FuncId, model: &Model, limits: Limits) -> Explored {
    let explored = explore_all(program, func, model, limits);
    asked::on_threads(program, &program.funcs[func], explored, model)
}

fn explore_all(program: &Program, func: FuncId, model: &Model, limits: Limits) -> Explored {
    let func = &program.funcs[func];
    let maps = nests(func);
    let ways: Vec<Ways> = maps.iter().map(|map| Ways::of(program, func, map, model, limits)).collect();
    let mut tried: Vec<Tried> = Vec::new();
    for strategy in Strategy::ALL {
        let applied: Vec<&Way> = ways.iter().filter_map(|ways| ways.applied(strategy)).collect();
        let nests: Vec<Nest> = applied.iter().map(|way| way.lines.clone()).collect();
        let why =
            tried.iter().find(|other| other.nests == nests).map(|other| Fate::SameAs(other.strategy.name().to_owned()));
        let score = applied.iter().map(|way| way.score.total).sum();
        tried.push(Tried { strategy, nests, score, why });
    }
    let mut order: Vec<usize> = (0..tried.len()).filter(|&at| tried[at].why.is_none()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(tried[at].score));
    let most = limits.most.max(1);
    order.iter().skip(most).for_each(|&at| tried[at].why = Some(Fate::Outnumbered(most)));
    order.truncate(most);
    let plan = |&at: &usize| Plan::new(tried[at].strategy.name(), tried[at].nests.clone());
    let mut plans: Vec<Plan> = order.iter().map(plan).collect();
    if limits.variants {
        plans = variants::with_variants(program, func, &maps, plans, model);
    }
    let consider = |(number, ways): (usize, &Ways)| {
        let row = tried.iter().zip(&ways.0).map(|(tried, (_, own))| {
            let (score, fate) = match own {
                Ok(way) => (Some(way.score), tried.why.clone().unwrap_or(Fate::Kept)),
                Err(refusal) => (None, Fate::Excluded(refusal.clone())),
            };
            Candidate { name: tried.strategy.name().to_owned(), nest: Some(number), score, fate }
        });
        row.collect::<Vec<_>>()
    };
    Explored { plans, candidates: ways.iter().enumerate().flat_map(consider).collect() }
}

/// The hard constraint that keeps a nest from running under a strategy.
pub fn constraint(program: &Program, func: &Func, map: &Map, strategy: Strategy) -> Option<Refusal> {
    match strategy {
        Strategy::Rows | Strategy::Serial => None,
        Strategy::Lanes => lane_shape(program, func, map).err(),
        Strategy::Wide => wide_shape(program, func, map).err(),
        Strategy::Team => team_constraint(program, func, map),
        Strategy::Device(_) => {
            Some(TARGET.refused(super::blame::span_of(map), "that is a level of graphics processors"))
        }
    }
}

/// One nest under a strategy, or under `rows` where the strategy does not apply.
pub(super) fn mapping(program: &Program, func: &Func, map: &Map, strategy: Strategy, model: &Model) -> Mapping {
    mapping_with(program, func, map, (strategy, model), &|_| {})
}

/// The same with other levels, from which the numbers of the nest follow.
pub(super) fn mapping_with(
    program: &Program,
    func: &Func,
    map: &Map,
    (strategy, model): (Strategy, &Model),
    change: &dyn Fn(&mut Mapping),
) -> Mapping {
    let applied = constraint(program, func, map, strategy).map_or(strategy, |_| Strategy::Rows);
    let mut mapping = Mapping::new(applied);
    match applied {
        Strategy::Rows => shared_levels(program, func, map, Exec::Thread, &mut mapping),
        Strategy::Serial => shared_levels(program, func, map, Exec::Seq, &mut mapping),
        Strategy::Lanes => {
            if let Ok(shape) = lane_shape(program, func, map) {
                lane_levels(map, shape, model, &mut mapping);
            }
        }
        Strategy::Wide => {
            if let Ok(shape) = wide_shape(program, func, map) {
                let shape = with_one_copy(shape, program, func, map, model);
                wide_levels((program, func, map), shape, model, &mut mapping);
            }
        }
        Strategy::Team => {
            map.iters.iter().for_each(|iter| put(&mut mapping, map, iter.var, Exec::Team, 1));
            inner_maps(&map.body)
                .iter()
                .for_each(|inner| shared_levels(program, func, inner, Exec::Thread, &mut mapping));
        }
        // Never applied here: see `constraint`.
        Strategy::Device(_) => {}
    }
    change(&mut mapping);
    choices::choose(program, func, map, &mut mapping, model);
    mapping.streamed = streamed_outputs(program, func, map);
    mapping.copied = copied_targets(func, map, applied);
    mapping
}

fn put(mapping: &mut Mapping, map: &Map, var: VarId, exec: Exec, tile: u32) {
    let dim = map.iters.iter().rev().position(|iter| iter.var == var).unwrap_or(0) as u32;
    mapping.levels.insert(var, LevelPlan { exec, dim, tile });
}

/// The outermost iterators on `outer`, the innermost map in vector lanes where it can.
fn shared_levels(program: &Program, func: &Func, map: &Map, outer: Exec, mapping: &mut Mapping) {
    let inner = inner_maps(&map.body);
    let last = map.iters.len().saturating_sub(1);
    for (at, iter) in map.iters.iter().enumerate() {
        let unrolled = map.directives.unroll.is_some();
        let vector = at == last && inner.is_empty() && !unrolled && vectorisable(program, func, map);
        put(mapping, map, iter.var, if vector { Exec::Simd } else { outer }, 1);
    }
    for map in inner {
        shared_levels(program, func, map, Exec::Seq, mapping);
    }
}

/// Tiles of rows and lanes on threads, reductions in order outside of them.
fn lane_levels(map: &Map, shape: LaneShape, model: &Model, mapping: &mut Mapping) {
    let last = map.iters.len() - 1;
    let register_lanes = model.tile_vectors * model.vector_bytes / shape.elem_size as u32;
    for (at, iter) in map.iters.iter().enumerate() {
        let (exec, tile) = match shape.reuse {
            Some(_) if at == last => (Exec::Lanes, register_lanes),
            None if at == last => (Exec::Lanes, model.lane_tile),
            Some(rows) if at == rows => (Exec::Thread, model.tile_rows),
            Some(_) | None => (Exec::Thread, 1),
        };
        put(mapping, map, iter.var, exec, tile);
    }
    for inner in inner_maps(&map.body) {
        inner.iters.iter().for_each(|iter| put(mapping, inner, iter.var, Exec::Seq, 1));
    }
    mapping.recipe = Recipe::Lanes(shape);
}

/// Whole iterations in lanes along the last iterator, what is inside in order.
fn wide_levels((program, func, map): (&Program, &Func, &Map), shape: WideShape, model: &Model, mapping: &mut Mapping) {
    let last = map.iters.len().saturating_sub(1);
    for (at, iter) in map.iters.iter().enumerate() {
        let (exec, tile) = if at == last { (Exec::Wide, u32::from(shape.groups)) } else { (Exec::Thread, 1) };
        put(mapping, map, iter.var, exec, tile);
    }
    for inner in inner_maps(&map.body) {
        in_order(inner, mapping);
    }
    let map = &*in_lanes(program, func, map);
    for (var, rows) in jams(func, map, &Classes::of(map), model.jam_rows) {
        mapping.levels.entry(var).and_modify(|level| level.tile = rows);
    }
    mapping.recipe = Recipe::Wide(shape);
}

fn in_order(map: &Map, mapping: &mut Mapping) {
    map.iters.iter().for_each(|iter| put(mapping, map, iter.var, Exec::Seq, 1));
    inner_maps(&map.body).into_iter().for_each(|inner| in_order(inner, mapping));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    fn of(text: &str, limits: Limits) -> Explored {
        let program = optimised(text);
        explore(&program, program.entries[0], &Model::cpu(), limits)
    }
    fn names(explored: &Explored) -> Vec<&str> {
        explored.plans.iter().map(|plan| plan.name.as_str()).collect()
    }
    fn fates(explored: &Explored) -> Vec<String> {
        explored
            .candidates
            .iter()
            .filter(|row| row.nest == Some(0))
            .map(|row| format!("{}: {}", row.name, row.fate))
            .collect()
    }

    const ROWS: &str = "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
    const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";

    #[test]
    fn every_strategy_has_a_fate() {
        let explored = of(ROWS, Limits::default());
        assert_eq!(names(&explored), ["rows", "team", "serial"]);
        let without = "excluded: no load has neighbours along the lanes and distant elements along the reduction";
        let lanes = explored.candidates[1].fate.to_string();
        assert!(lanes == without || lanes.starts_with("excluded: a load takes distant elements"), "{lanes}");
        assert_eq!(fates(&explored)[2], "team: kept");
        let flat = of("function f input float x[N]; output float y[N]; { y = 2 * x; }", Limits::default());
        assert_eq!(fates(&flat)[2], "team: excluded: there is no map inside that threads could share");
    }

    #[test]
    fn scores_order_plans() {
        let explored = of(GEMM, Limits::default());
        assert_eq!(names(&explored), ["lanes", "rows", "serial"]);
        let score = |at: usize| explored.candidates[at].score.unwrap();
        let (rows, lanes, serial) = (score(0), score(1), score(3));
        assert!(lanes.total > rows.total && rows.total > serial.total);
        assert!(lanes.coalescing == Score::MOST && rows.coalescing < Score::MOST);
        assert!(lanes.reuse > rows.reuse && serial.parallelism == 0);
        assert_eq!(fates(&explored)[2], "team: excluded: the outermost map has not exactly one iterator, or folds");
    }

    /// Nearest centres, then the sum of each cluster's points.
    const CLUSTERS: &str = "function f input float point[N][D], centre[K][D]; output int cluster[N]; output float sums[K][D];
        { map { n := [0:N); float best = 1e30; int at = 0;
            for (int k = 0; k < K; k += 1) { float far;
              map { d := [0:D); _t = point[n][d] * centre[k][d]; } reduce(\"+\", far, _t, d := [*]);
              if (far < best) { best = far; at = k; } }
            cluster[n] = at; }
          map { k := [0:K); d := [0:D); n := [0:N); _s = cluster[n] == k ? point[n][d] : 0; } reduce(\"+\", sums[k][d], _s, n := [*]); }";

    #[test]
    fn nests_that_are_not_wide_run_by_what_suits_them_next() {
        let explored = of(CLUSTERS, Limits::default());
        assert_eq!(names(&explored)[0], "wide");
        let nests = |plan: usize| explored.plans[plan].nests.iter().map(ToString::to_string).collect::<Vec<_>>();
        let lanes = names(&explored).iter().position(|name| *name == "lanes").expect("a plan of lanes");
        assert_eq!(nests(0)[1], nests(lanes)[1], "tiles of lanes");
        assert!(nests(0)[0].contains("n lanes(32 bits)") && !nests(lanes)[0].contains("n lanes(32 bits)"));
        // Rows that are too long to be packed are folded in lanes.
        assert!(
            nests(0)[0].contains("d seq\n") && nests(0)[0].contains("fold d short(16) sums(16)"),
            "{}",
            nests(0)[0]
        );
        let short = of(&CLUSTERS.replace("[D]", "[4]").replace("[0:D)", "[0:4)"), Limits::default());
        assert!(!short.plans[0].nests[0].to_string().contains("fold d"), "{}", short.plans[0]);
    }

    #[test]
    fn only_so_many_survive() {
        let explored = of(ROWS, Limits { most: 2, ..Limits::default() });
        assert_eq!(names(&explored), ["rows", "team"]);
        assert_eq!(fates(&explored)[3], "serial: rejected: 2 plans come before it");
        assert_eq!(names(&of(ROWS, Limits { most: 0, ..Limits::default() })), ["rows"]);
    }

    #[test]
    fn a_directive_goes_before_scores() {
        let text = ROWS.replace("map {", "#pragma hidp kernel\n map {");
        assert_eq!(names(&of(&text, Limits::default()))[0], "team");
    }

    #[test]
    fn variants_are_distinct_and_fit_the_registers() {
        let limits = Limits { variants: true, ..Limits::default() };
        let explored = of(GEMM, limits);
        let found = names(&explored);
        assert!(found.contains(&"lanes_r4v4") && found.contains(&"lanes_r12v2"), "{found:?}");
        assert!(!found.contains(&"lanes_r8v2"), "that is what the model says: {found:?}");
        assert!(!found.contains(&"lanes_r12v4"), "48 sums are more than there are registers");
        let sum = "function f input float x[N]; output float _s; { map { i := [0:N); _t = x[i]; } reduce(\"+\", _s, _t, i := [*]); }";
        let plans: Vec<String> = of(sum, limits).plans.iter().map(ToString::to_string).collect();
        let has_runs = |runs: &str| plans.iter().any(|plan| plan.contains(runs));
        assert!(has_runs("fold i runs(16384)") && has_runs("fold i runs(8192)"), "{plans:?}");
        for (at, plan) in explored.plans.iter().enumerate() {
            assert!(explored.plans[..at].iter().all(|other| !other.same_as(plan) && other.name != plan.name));
        }
    }
}
