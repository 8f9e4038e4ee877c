//! Which version of an entry runs when: measures of a call that its shapes give, and rules over them.
//!
//! The nest with most iterators speaks for the entry, of several the first whose iterations do most.

use std::fmt;

use super::alone::alone_rule;
use super::device_rules::device_rules;
use super::host_rules::host_rules;
use super::mapping::strategy_of_threads;
use super::measures::{
    BALANCE, INNER, LONGEST, Measure, PARALLEL, TOTAL, WIDTH, levels, of_copies, of_nest, of_primitive, of_sections,
    of_size,
};
use super::search::{Predictions, by_times};
use super::variants::is_variant;
use super::wide;
use super::work::work;
use super::{Parts, Plan, Record, Strategy, index_vars, is_searched, nests};
use crate::target::{DeviceModel, Model, Stage, Tunable};
use hidp_ir::par::visit;
use hidp_ir::par::{ExprKind, Extent, Func, Map, Program, Setting, StmtKind, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// How a call finds its version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dispatch {
    /// Numbers that a call's shapes give.
    pub measures: Vec<Measure>,
    /// The first whose conditions all hold decides; the first version where none does.
    pub rules: Vec<Rule>,
    /// For each version a number: equal ones give the same bits.
    pub classes: Vec<u32>,
    /// How calls can be cut into parts.
    pub parts: Option<Parts>,
    /// Parameters that hold positions in arrays or sizes: tools cannot make them up.
    pub positions: OrdSet<VarId>,
    /// For each version a hash of what it is compiled to.
    pub hashes: Vec<String>,
    /// A hash of what the entry is compiled to.
    pub source: String,
    /// The same of its versions for devices; empty if it has none.
    pub device_source: String,
    /// Rules that were measured for just this.
    pub records: Vec<Record>,
    /// What a tuner may vary from call to call.
    pub tunables: Vec<Tunable>,
    /// The same of codelets: a call has their values after its dimensions.
    pub settings: Vec<VersionsSet>,
}

/// A `run` tunable of codelets, and the plans of the forms that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionsSet {
    /// Its name and values.
    pub setting: Setting,
    /// Names of plans that it changes.
    pub plans: Vec<String>,
}

/// A version and when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// Name of the plan, or [`Rule::HOST`].
    pub plan: String,
}

impl Rule {
    /// Stands for a plan in rules for contexts with a device: the processor runs the call, in the version that its own rules say.
    pub const HOST: &'static str = "host";
    /// What a call is forced to that runs on the context's device, in the version that its rules say.
    pub const DEVICE: &'static str = "device";
}

/// A comparison of a measure with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Position among the measures.
    pub measure: usize,
    /// `>=` rather than `<`.
    pub least: bool,
    /// What it is compared with.
    pub bound: Bound,
}

impl Condition {
    /// Whether a value of the measure meets it.
    pub(super) fn holds(&self, value: i64, threads: i64) -> bool {
        let bound = match self.bound {
            Bound::Fixed(bound) => bound,
            Bound::PerThread(bound) => bound.saturating_mul(threads),
        };
        (value >= bound) == self.least
    }
}

/// What a measure is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A number.
    Fixed(i64),
    /// A multiple of the number of threads.
    PerThread(i64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Fixed(value) => write!(f, "{value}"),
            Bound::PerThread(value) => write!(f, "{value} * threads"),
        }
    }
}

impl Dispatch {
    /// `parallel < 2 * threads and inner >= 131072: team`
    pub fn print(&self, rule: &Rule) -> String {
        let conditions = rule.conditions.iter().map(|condition| {
            let sign = if condition.least { ">=" } else { "<" };
            format!("{} {sign} {}", self.measures[condition.measure].name, condition.bound)
        });
        let conditions = conditions.collect::<Vec<_>>().join(" and ");
        format!("{}: {}", if conditions.is_empty() { "otherwise" } else { &conditions }, rule.plan)
    }
}

/// The rule that decides on so many threads, where measures have these values. What has none meets no condition.
pub(crate) fn deciding<'r>(rules: &'r [Rule], values: &[Option<i64>], threads: i64) -> Option<&'r Rule> {
    let holds = |when: &Condition| values[when.measure].is_some_and(|value| when.holds(value, threads));
    rules.iter().find(|rule| rule.conditions.iter().all(holds))
}

impl Dispatch {
    /// Which of an entry's versions for devices runs untuned where dimensions have these sizes, if arguments are on the device.
    pub fn on_device<'p>(&self, func: &Func, plans: &'p [Plan], sizes: &[i64]) -> Option<&'p Plan> {
        let known = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
        let values: Vec<Option<i64>> = self.measures.iter().map(|measure| measure.at(&known)).collect();
        let named = |rule: &Rule| plans.iter().position(|plan| plan.name == rule.plan);
        let rules: Vec<Rule> = self.rules.iter().filter(|rule| named(rule).is_some()).cloned().collect();
        plans.get(deciding(&rules, &values, 1).and_then(named).unwrap_or(0))
    }
}

/// What the shapes of `func` tell, and when another version than the first of `plans` promises more.
pub fn dispatch(program: &Program, func: &Func, plans: &[Plan], model: &Model) -> Dispatch {
    let positions = index_vars(func).into_iter().filter(|var| func.params.contains(var)).collect();
    Dispatch { positions, tunables: tunables(func, model), ..by_shape(program, func, plans, model) }
}

/// Adds a measure of the whole call, which rules for compositions look at: the nest that speaks for an entry may be a small one.
pub fn add_size(dispatch: &mut Dispatch, func: &Func) {
    dispatch.measures.extend(of_size(func));
}

/// Tunables that only primitives over segments look at.
const OF_SEGMENTS: [&str; 2] = ["segment_work", "team_segment"];

/// What of the model's domains calls of `func` can make use of.
fn tunables(func: &Func, model: &Model) -> Vec<Tunable> {
    let mut segments = false;
    visit::walk_stmts(&func.body, |stmt| {
        if let StmtKind::Prim(call) = &stmt.kind {
            segments |= !matches!(call.extent, Extent::Whole { .. });
        }
    });
    let matters =
        |tunable: &&Tunable| tunable.stage == Stage::Run && (segments || !OF_SEGMENTS.contains(&tunable.name.as_str()));
    model.tunables.iter().filter(matters).cloned().collect()
}

/// Adds when which of the plans for a device runs, and when rather the processor, where it can: see [`Rule::HOST`]. These rules
/// hold on devices only, those of other plans only elsewhere. `host` is what the processor prefers. What was predicted to explore the plans is not
/// predicted again.
pub fn add_device_rules(
    dispatch: &mut Dispatch,
    program: &Program,
    func: &Func,
    (host, plans): (&Plan, &[Plan]),
    (cpu, model): (&Model, &DeviceModel),
    predictions: Predictions<'_>,
) {
    if plans.is_empty() {
        return;
    }
    let maps = nests(func);
    dispatch.measures.extend(of_copies(func, work(program, func, host, cpu)));
    dispatch.rules.extend(host_rules(func, &dispatch.measures, cpu, model));
    let usual: Vec<Plan> = plans.iter().filter(|plan| !is_searched(plan)).cloned().collect();
    let rules = rules_of(program, func, &maps, &usual, &dispatch.measures, model);
    // Whether variants pay is for tuners to find out.
    let own: Vec<Plan> = plans.iter().filter(|plan| !is_variant(plan, plans)).cloned().collect();
    dispatch.rules.extend(by_times(program, func, &maps, &own, (&dispatch.measures, rules), (model, predictions)));
}

/// The measures of the nest that speaks for an entry.
pub(super) fn measures_of(func: &Func, maps: &[&Map]) -> Vec<Measure> {
    dominant(func, maps).map_or(Vec::new(), |at| of_nest(func, maps[at]))
}

/// The rules between plans for devices, without that of the search.
pub(super) fn rules_of(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    plans: &[Plan],
    measures: &[Measure],
    model: &DeviceModel,
) -> Vec<Rule> {
    dominant(func, maps).map_or(Vec::new(), |at| device_rules(program, func, (at, maps[at]), plans, measures, model))
}

/// The nest that speaks for an entry: of the deepest ones with most to do the first. One whose size no argument changes only does if all are so.
fn dominant(func: &Func, maps: &[&Map]) -> Option<usize> {
    let rank = |at: &usize| {
        let map = maps[*at];
        (!is_constant(&of_nest(func, map)), levels(map), Effort::of(map), usize::MAX - at)
    };
    (0..maps.len()).max_by_key(rank)
}

fn is_constant(measures: &[Measure]) -> bool {
    !measures.is_empty() && measures.iter().all(|measure| measure.at(&OrdMap::new()).is_some())
}

/// What the iterations of a nest do, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effort {
    /// They store what is known before: `counts = 0`.
    Fill,
    /// They store elements as they are.
    Copy,
    Compute,
    /// They have loops.
    Repeat,
}

impl Effort {
    fn of(map: &Map) -> Effort {
        let mut effort = if map.folds.is_empty() { Effort::Fill } else { Effort::Compute };
        visit::walk_stmts(&map.body, |stmt| effort = effort.max(Effort::of_stmt(&stmt.kind)));
        visit::walk_exprs(&map.body, |expr| effort = effort.max(Effort::of_expr(&expr.kind)));
        effort
    }

    fn of_stmt(stmt: &StmtKind) -> Effort {
        if matches!(stmt, StmtKind::Loop(_)) {
            return Effort::Repeat;
        }
        if matches!(stmt, StmtKind::Store { .. }) { Effort::Fill } else { Effort::Compute }
    }

    fn of_expr(expr: &ExprKind) -> Effort {
        if matches!(expr, ExprKind::Load(_)) {
            return Effort::Copy;
        }
        let is_known = matches!(expr, ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::Convert { .. });
        if is_known { Effort::Fill } else { Effort::Compute }
    }
}

fn by_shape(program: &Program, func: &Func, plans: &[Plan], model: &Model) -> Dispatch {
    let maps = nests(func);
    let Some(dominant) = dominant(func, &maps) else {
        return Dispatch { measures: of_primitive(func), ..Dispatch::default() };
    };
    let mut measures = of_nest(func, maps[dominant]);
    let mut rules = team_rules(plans, dominant, &measures, model);
    let of_dominant = (maps[dominant], dominant);
    if let Some((without, rule)) = narrow_rule((program, func), of_dominant, plans, &measures, model) {
        rules.push(rule);
        rules.extend(left_rule((program, func), maps[dominant], without, &mut measures, model));
    }
    rules.extend(alone_rule((program, func), (&maps, plans), dominant, &measures, model));
    Dispatch { measures, rules, ..Dispatch::default() }
}

/// When all threads should share what is inside each iteration: few outer iterations that are worth sharing out, or one that
/// has more to do than all others together.
fn team_rules(plans: &[Plan], dominant: usize, measures: &[Measure], model: &Model) -> Vec<Rule> {
    let strategy = |plan: &Plan| plan.nests.get(dominant).map(strategy_of_threads);
    let is_team = |plan: &&Plan| strategy(plan) == Some(Strategy::Team);
    let Some(team) = plans.iter().skip(1).find(is_team) else { return Vec::new() };
    let find = |name: &str| measures.iter().position(|measure| measure.name == name);
    let rules_of = model.dispatch;
    let worth = Bound::Fixed(i64::from(rules_of.worth) * i64::from(model.thread_work));
    let mut rules = Vec::new();
    if let (Some(parallel), Some(inner)) = (find(PARALLEL), find(INNER)) {
        let conditions = vec![
            Condition { measure: parallel, least: false, bound: Bound::PerThread(rules_of.parallel.into()) },
            Condition { measure: inner, least: true, bound: worth },
        ];
        rules.push(Rule { conditions, plan: team.name.clone() });
    }
    if let (Some(longest), Some(balance)) = (find(LONGEST), find(BALANCE)) {
        // No segment is longer than all elements: small calls do not look for the longest.
        let total = find(TOTAL).map(|measure| Condition { measure, least: true, bound: worth });
        let longest = [
            Condition { measure: longest, least: true, bound: worth },
            Condition { measure: balance, least: false, bound: Bound::Fixed(rules_of.balance.into()) },
        ];
        let conditions = total.into_iter().chain(longest).collect();
        rules.push(Rule { conditions, plan: team.name.clone() });
    }
    rules
}

/// When a nest that prefers lanes has too few of them: the next plan that does without, unless other nests would lose whole iterations in lanes.
fn narrow_rule<'p>(
    (program, func): (&Program, &Func),
    (map, dominant): (&Map, usize),
    plans: &'p [Plan],
    measures: &[Measure],
    model: &Model,
) -> Option<(&'p Plan, Rule)> {
    let strategy = |plan: &Plan| plan.nests.get(dominant).map(strategy_of_threads);
    let lanes = strategy(plans.first()?).filter(|first| matches!(first, Strategy::Lanes | Strategy::Wide))?;
    let without = plans.iter().find(|plan| strategy(plan) == Some(Strategy::Rows))?;
    let mut others = plans.iter().take(1).flat_map(|plan| &plan.nests).enumerate().filter(|(at, _)| *at != dominant);
    if others.any(|(_, nest)| strategy_of_threads(nest) == Strategy::Wide) {
        return None;
    }
    // A nest of one iterator has all of it in lanes.
    let width = measures.iter().position(|measure| measure.name == WIDTH).unwrap_or(0);
    let bound = if wide::asks_for_lanes(program, map) {
        Bound::PerThread(model.own_way.into())
    } else if lanes == Strategy::Wide && wide::has_rivals(program, func, map, model) {
        Bound::Fixed(model.narrow.into())
    } else if lanes == Strategy::Wide && wide::goes_together(program, func, map, model) {
        Bound::Fixed(model.narrow_together.into())
    } else if lanes == Strategy::Wide {
        Bound::Fixed(model.narrow_whole.into())
    } else {
        Bound::Fixed(model.narrow.into())
    };
    let conditions = vec![Condition { measure: width, least: false, bound }];
    (!measures.is_empty()).then(|| (without, Rule { conditions, plan: without.name.clone() }))
}

/// When groups of lanes would be left for what is too long for them, and be fewer than threads: one thread has all iterations of a group, which
/// has a lane per byte of a vector at most.
fn left_rule(
    (program, func): (&Program, &Func),
    map: &Map,
    without: &Plan,
    measures: &mut Vec<Measure>,
    model: &Model,
) -> Option<Rule> {
    let held = wide::held(program, func, map)?;
    let parallel = measures.iter().position(|measure| measure.name == PARALLEL)?;
    measures.push(of_sections(func, map, &measures[parallel].value)?);
    let long = Condition { measure: measures.len() - 1, least: true, bound: Bound::Fixed(held) };
    let few = Condition { measure: parallel, least: false, bound: Bound::PerThread(model.vector_bytes.into()) };
    Some(Rule { conditions: vec![few, long], plan: without.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates;
    use crate::testing::optimised;
    use hidp_ir::par::text::hidp_expr;

    #[test]
    fn few_tables_have_steps_of_many_cells() {
        let text = "recurrence int d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
            { if (i == 0 || j == 0) return 0; return max(d(i-1, j-1) + (s[i-1] == t[j-1] ? 2 : -1), max(d(i-1, j), d(i, j-1)) - 1); }
            function f input uint8 s[N], t[R][M]; input long first[R]; output int best[R];
            { map { r := [0:R); reduce(\"max\", best[r], d(; s = s, t = t[r][0:first[r])), i := [*], j := [*]); } }";
        let pairs = text.replace(
            "reduce(\"max\", best[r], d(; s = s, t = t[r][0:first[r])), i := [*], j := [*])",
            "best[r] = d(N, first[r]; s = s, t = t[r][0:first[r]))",
        );
        let edit = pairs
            .replace("max(d", "min(d")
            .replace("? 2 : -1", "? 0 : 1")
            .replace(" - 1);", " + 1);")
            .replace("return 0", "return int(i + j)");
        for text in [text, &edit] {
            let (_, rules) = of(text);
            assert!(rules.contains(&"parallel < 8 * threads: rows".to_owned()), "{text}: {rules:?}");
        }
    }

    #[test]
    fn groups_that_are_left_are_shared_where_they_are_few() {
        let text = "recurrence int d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
            { if (i == 0) return int(j); if (j == 0) return int(i);
              return min(d(i-1, j-1) + (s[i-1] == t[j-1] ? 0 : 1), min(d(i-1, j), d(i, j-1)) + 1); }
            function f input uint8 s[Y], t[Z]; input long a[R+1], b[R+1]; output int y[R];
            { map { r := [0:R); y[r] = d(a[r+1]-a[r], b[r+1]-b[r]; s = s[a[r]:a[r+1]), t = t[b[r]:b[r+1])); } }";
        let (measures, rules) = of(text);
        assert_eq!(measures, ["parallel = R", "section = max(Y, Z) / R"]);
        assert_eq!(rules, ["parallel < 8 * threads: rows", "parallel < 64 * threads and section >= 255: rows"]);
        let one_side = text
            .replace("s[Y]", "s[N]")
            .replace("a[R+1], ", "")
            .replace("a[r+1]-a[r]", "N")
            .replace("s = s[a[r]:a[r+1])", "s = s");
        assert_eq!(of(&one_side).0, ["parallel = R", "section = Z / R"], "one that all have is no section");
    }

    #[test]
    fn few_whole_iterations_fill_lanes() {
        let text = |turn: &str| {
            format!(
                "function f input float x[N]; input int turns; output float y[N];
                {{ map {{ i := [0:N); float v = x[i]; {turn} y[i] = v; }} }}"
            )
        };
        let of = |turn: &str| of(&text(turn)).1;
        let turns = |turn: &str| of(&format!("for (int k = 0; k < turns; k = k + 1) {{ {turn} }}"));
        assert_eq!(turns("v = v * v - 2;"), ["parallel < 3: rows"]);
        let gathers = "for (int n = 0; n < 4; n = n + 1) { v = v * v - 2; } v = v * x[N - 1 - i];";
        assert_eq!(turns(gathers), ["parallel < 3: rows"]);
        assert_eq!(of("while (v * v < 9) { v = v * v - 2; }"), ["parallel < 4: rows"], "the others wait");
        let neighbours = "map { j := [0:99); t[j] = t[j] * v + j; }";
        let text =
            text(&format!("float t[99]; for (int k = 0; k < turns; k = k + 1) {{ {neighbours} }} v = v + t[3];"));
        let last = super::tests::of(&text).1.pop();
        assert_eq!(last.as_deref(), Some("parallel < 8: rows"), "neighbours have lanes, too");
    }

    #[test]
    fn iterations_too_few_for_two_threads_update_without_atoms() {
        let counts = "function f input uint8 k[N]; input int w[M]; output uint c[256]; output int v[M];
            { v = 0; c = 0; map { i := [0:N); atomic c[k[i]] += 1; } }";
        assert_eq!(of(counts).1, [""; 0], "another nest may be large");
        assert_eq!(of(&counts.replace("output int v[M]", "output int v[9]")).1, ["parallel < 1280 * threads: serial"]);
        assert_eq!(of(&counts.replace("output int v[M]", "output int v[N]")).1, ["parallel < 1280 * threads: serial"]);
        let large = counts.replace("output int v[M]", "output int v[9]").replace("c[256]", "c[M]");
        assert_eq!(of(&large).1, [""; 0], "its first nest may be large");
        let plain = "function f input int k[N]; output int c[N]; { map { i := [0:N); c[i] = 2 * k[i]; } }";
        assert_eq!(of(plain).1, [""; 0], "nothing is updated");
    }

    /// The measures as text and the rules of the only entry.
    fn of(text: &str) -> (Vec<String>, Vec<String>) {
        let program = optimised(text);
        let (func, model) = (program.entries[0], Model::cpu());
        let item = &program.funcs[func];
        let dispatch = dispatch(&program, item, &candidates(&program, func, &model), &model);
        let measures = dispatch.measures.iter();
        (
            measures.map(|m| format!("{} = {}", m.name, hidp_expr(&program, &item.vars, &m.value))).collect(),
            dispatch.rules.iter().map(|rule| dispatch.print(rule)).collect(),
        )
    }

    const ONE_LONG: &str = "total >= 131072 and longest >= 131072 and balance < 2: team";
    const TEAM: &str = "parallel < 2 * threads and inner >= 131072: team";

    #[test]
    fn long_rows_go_to_the_team() {
        let text = "function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
        assert_eq!(
            of(text),
            (["parallel = R", "inner = C", "total = R * C"].map(String::from).into(), vec![TEAM.into()])
        );
        let text = "function f input float A[M][K], B[K][N]; output float C[M][N];
            { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
        assert_eq!(
            of(text),
            (
                ["parallel = M * N", "inner = K", "total = M * N * K", "width = N"].map(String::from).into(),
                vec!["width < 8: rows".into()]
            ),
            "no plan is for the team"
        );
    }

    #[test]
    fn few_columns_do_not_take_the_lanes_of_other_nests() {
        let product =
            "map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]);";
        let loops = "map { i := [0:M); float z = 0; while (z * z < x[i]) z = z * z + x[i]; w[i] = z; }";
        let text = |body: &str| {
            format!("function f input float x[M], A[M][K], B[K][N]; output float C[M][N], w[M]; {{ {body} }}")
        };
        let narrow = |body: &str| of(&text(body)).1.contains(&"width < 8: rows".to_owned());
        assert!(narrow(&format!("{product} w = 0;")));
        assert!(!narrow(&format!("{product} {loops}")), "`rows` has no iterations in lanes");
    }

    #[test]
    fn ragged_rows_have_a_mean() {
        let text = "function f input int p[R+1]; input double v[Z]; output double y[R];
            { map { r := [0:R); map { k := [p[r]:p[r+1]); _t = v[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
        let measures = ["parallel = R", "inner = Z / R", "total = Z", "longest = R", "balance = R"].map(String::from);
        assert_eq!(of(text), (measures.into(), vec![TEAM.into(), ONE_LONG.into()]));
        let text = "function f input uint v[Z]; input int lo[S], hi[S]; output uint w[Z];
            { w = v; map { s := [0:S); sort(v, w, lo[s], hi[s], 1); } }";
        assert_eq!(of(text).0, ["parallel = S", "inner = Z / S", "total = Z", "longest = S", "balance = S"]);
    }

    #[test]
    fn triangles_are_measured_at_their_middle() {
        let text = "function f input float A[N][N]; output float y[N];
            { map { i := [0:N); map { j := [0:i); _t = A[i][j]; } reduce(\"+\", y[i], _t, j := [*]); } }";
        assert_eq!(of(text).0, ["parallel = N", "inner = (0 + N) / 2", "total = N * ((0 + N) / 2)"]);
    }

    #[test]
    fn primitives_are_measured_by_their_segments() {
        let text = "function f inout uint a[N]; input int cut[S+1]; { sort(a, a, cut[0:S), cut[1:S], 1); }";
        assert_eq!(of(text).0, ["parallel = S", "inner = N / S", "total = N", "longest = S", "balance = S"]);
        assert_eq!(of("function f inout uint a[N]; { sort(a, a, N, 1); }").0, ["parallel = N"]);
    }

    #[test]
    fn fills_do_not_speak_for_what_follows() {
        let text = "function f input uint8 x[N]; output uint counts[256];
            { counts = 0; map { i := [0:N); atomic counts[x[i]] += 1; } }";
        assert_eq!(of(text).0, ["parallel = N"]);
        let text = "function f input float x[N]; output float y[M], z[N]; { y = 1; map { i := [0:N); z[i] = i + 1; } }";
        assert_eq!(of(text).0, ["parallel = N"], "what iterations compute is work");
        let text = "function f output float y[M], z[N]; { y = 1; z = 2; }";
        assert_eq!(of(text).0, ["parallel = M"], "there is nothing else");
    }

    #[test]
    fn small_preparations_do_not_speak_for_what_follows() {
        let function = |before: &str, work: &str| {
            format!(
                "function f input float x[N], w[M]; output float y[N]; input int terms;
                {{ float t[M], k[3][3]; k = 1; {before} map {{ i := [0:N); {work} }} }}"
            )
        };
        let long =
            "float s = 0; for (int n = 0; n < terms; n += 1) s += sin(x[i] * n) + t[n % M] * k[n % 3][1]; y[i] = s;";
        let rules = of(&function("map { j := [0:M); t[j] = w[j]; }", long));
        assert_eq!(rules, (vec!["parallel = N".into()], vec!["parallel < 3: rows".into()]), "a copy");
        assert_eq!(of(&function("map { j := [0:M); t[j] = w[j] * 2; }", long)), rules, "what has no loop");
        let short = "y[i] = x[i] * t[i % M] + k[i % 3][1];";
        assert_eq!(of(&function("map { j := [0:M); t[j] = w[j]; }", short)).0, ["parallel = N"]);
        let fixed = "map { a := [0:3); b := [0:3); k[a][b] = w[a] * b; } t = w;";
        assert_eq!(of(&function(fixed, short)).0, ["parallel = N"], "more iterators, but always nine iterations");
        let text = "function f output float k[3][3]; { map { a := [0:3); b := [0:3); k[a][b] = a * b; } }";
        assert_eq!(of(text).0, ["parallel = 3 * 3", "width = 3"], "there is nothing else");
    }

    #[test]
    fn flat_maps_have_one_measure_and_no_rule() {
        let text = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        assert_eq!(of(text), (vec!["parallel = N".into()], vec![]));
        let text = "function f inout int x[N]; input int n; { while (x[0] < n) { x[0] = x[0] + 1; } }";
        assert_eq!(of(text), (vec![], vec![]));
    }
}
