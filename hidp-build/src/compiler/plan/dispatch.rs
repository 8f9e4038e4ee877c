//! Which version of an entry runs when: measures of a call that its shapes give, and rules over them.
//!
//! The nest with most iterators speaks for the entry. Its degree of parallelism is the number of iterations of its outermost
//! map; `inner` is the number of iterations inside each of them, or their mean where it depends on data and the extent of an
//! array that is read in order tells the sum.

use std::collections::BTreeSet;
use std::fmt;

use super::{Nest, Plan, Record, Strategy, index_vars, inner_maps, iterators, nests};
use crate::compiler::ir::par::visit::{self, substitute_expr};
use crate::compiler::ir::par::{
    BinOp, ConvertMode, Expr, ExprKind, Extent, Func, Iter, Map, MathFn, PrimCall, StmtKind, UnOp, VarId, VarKind,
};
use crate::compiler::target::{Model, Stage, Tunable};

/// How a call finds its version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dispatch {
    /// Numbers that a call's shapes give.
    pub measures: Vec<Measure>,
    /// The first whose conditions all hold decides; the first version where none does.
    pub rules: Vec<Rule>,
    /// Parameters that hold positions in arrays or sizes: tools cannot make them up.
    pub positions: BTreeSet<VarId>,
    /// A hash of what the entry is compiled to.
    pub source: String,
    /// Rules that were measured for just this.
    pub records: Vec<Record>,
    /// What a tuner may vary from call to call.
    pub tunables: Vec<Tunable>,
}

/// A number that the shapes of a call give.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// `parallel` or `inner`.
    pub name: &'static str,
    /// Over dimensions and scalar parameters.
    pub value: Expr,
}

/// A version and when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// Name of the plan.
    pub plan: String,
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
        format!("{}: {}", conditions.collect::<Vec<_>>().join(" and "), rule.plan)
    }
}

/// Iterations of the outermost map for each thread below which threads rather share the work inside each iteration.
const TEAM_PARALLEL: i64 = 2;

/// What the shapes of `func` tell, and when another version than the first of `plans` promises more.
pub fn dispatch(func: &Func, plans: &[Plan], model: &Model) -> Dispatch {
    let positions = index_vars(func).into_iter().filter(|var| func.params.contains(var)).collect();
    Dispatch { positions, tunables: tunables(func, model), ..by_shape(func, plans, model) }
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

fn by_shape(func: &Func, plans: &[Plan], model: &Model) -> Dispatch {
    let maps = nests(func);
    let depth = |at: &usize| (levels(maps[*at]), usize::MAX - at);
    let Some(dominant) = (0..maps.len()).max_by_key(depth) else { return of_primitive(func) };
    let Some(parallel) = volume(func, maps[dominant]) else { return Dispatch::default() };
    let inner = inside(func, maps[dominant], &parallel);
    let mut measures = vec![Measure { name: "parallel", value: parallel }];
    measures.extend(inner.map(|value| Measure { name: "inner", value }));
    let rules = team_rule(plans, dominant, measures.len(), model).into_iter().collect();
    Dispatch { measures, rules, ..Dispatch::default() }
}

/// What the first primitive of a function without nests tells. It has one version, but tuners may vary how it runs.
fn of_primitive(func: &Func) -> Dispatch {
    let mut found: Option<PrimCall> = None;
    visit::walk_stmts(&func.body, |stmt| {
        if let (StmtKind::Prim(call), None) = (&stmt.kind, &found) {
            found = Some(call.as_ref().clone());
        }
    });
    let Some(call) = found else { return Dispatch::default() };
    let (parallel, inner) = match &call.extent {
        Extent::Whole { size } => (Some(size.clone()), None),
        Extent::Segment { .. } => (Some(call.input.len.clone()), None),
        Extent::Vectors { low, high: _ } => (Some(low.len.clone()), mean(call.input.len.clone(), &low.len)),
        Extent::Regular { seg_size, num_seg } => (Some(num_seg.clone()), Some(seg_size.clone())),
    };
    let Some(parallel) = parallel.and_then(|value| closed(func, value)) else { return Dispatch::default() };
    let mut measures = vec![Measure { name: "parallel", value: parallel }];
    measures.extend(inner.and_then(|value| closed(func, value)).map(|value| Measure { name: "inner", value }));
    Dispatch { measures, ..Dispatch::default() }
}

/// Iterators of a nest; the elements that a primitive works on count as one more.
fn levels(map: &Map) -> usize {
    let mut primitives = false;
    visit::walk_stmts(&map.body, |stmt| primitives |= matches!(stmt.kind, StmtKind::Prim(_)));
    iterators(map).len() + usize::from(primitives)
}

/// Few outer iterations that are worth sharing out each.
fn team_rule(plans: &[Plan], dominant: usize, measures: usize, model: &Model) -> Option<Rule> {
    let is_team = |plan: &&Plan| plan.nests.get(dominant).is_some_and(|nest: &Nest| nest.strategy == Strategy::Team);
    let team = plans.iter().skip(1).find(is_team).filter(|_| measures == 2)?;
    let conditions = vec![
        Condition { measure: 0, least: false, bound: Bound::PerThread(TEAM_PARALLEL) },
        Condition { measure: 1, least: true, bound: Bound::Fixed(2 * i64::from(model.thread_work)) },
    ];
    Some(Rule { conditions, plan: team.name.clone() })
}

/// Number of iterations of a map whose ranges depend on nothing but sizes.
pub(super) fn volume(func: &Func, map: &Map) -> Option<Expr> {
    product(map.iters.iter().map(|iter| closed(func, length(iter))))
}

/// Number of iterations of what is inside an iteration of `map`, which itself has `parallel`. `None` if there is nothing
/// inside, or nothing is known of it.
fn inside(func: &Func, map: &Map, parallel: &Expr) -> Option<Expr> {
    let deepest = |(at, map): &(usize, &Map)| (levels(map), usize::MAX - at);
    let Some((_, inner)) = inner_maps(&map.body).into_iter().enumerate().max_by_key(deepest) else {
        return segments(func, map, parallel);
    };
    let own = product(inner.iters.iter().map(|iter| closed(func, at_middle(map, length(iter)))));
    match own {
        None => ragged(func, inner, parallel),
        Some(own) => match inside(func, inner, parallel) {
            Some(rest) => Some(Expr::long(BinOp::Mul, own, rest)),
            None => Some(own),
        },
    }
}

/// Number of iterations of `inner` in all `count` iterations of the map `outer` around it.
pub(super) fn extent_of_inner(func: &Func, outer: &Map, inner: &Map, count: &Expr) -> Option<Expr> {
    match product(inner.iters.iter().map(|iter| closed(func, at_middle(outer, length(iter))))) {
        Some(own) => Some(Expr::long(BinOp::Mul, count.clone(), own)),
        None => closed(func, ragged_extent(func, inner)?.clone()),
    }
}

/// The length that a range has halfway through the iterations of `outer`.
fn at_middle(outer: &Map, mut length: Expr) -> Expr {
    for iter in &outer.iters {
        let sum = Expr::long(BinOp::Add, iter.lo.clone(), iter.hi.clone());
        let middle = Expr::long(BinOp::Div, sum, Expr::int(2, iter.span));
        substitute_expr(&mut length, |var| (var == iter.var).then(|| middle.clone()));
    }
    length
}

/// Mean length of ranges that depend on data.
fn ragged(func: &Func, map: &Map, parallel: &Expr) -> Option<Expr> {
    mean(closed(func, ragged_extent(func, map)?.clone())?, parallel)
}

/// The extent of the first array that the map's last iterator runs through: about as many iterations as all instances of a
/// map with ranges that depend on data have together.
pub fn ragged_extent<'f>(func: &'f Func, map: &Map) -> Option<&'f Expr> {
    let iter = map.iters.last()?.var;
    let mut extent = None;
    visit::walk_places(&map.body, |place, _| {
        let direct = matches!(place.index.last().map(|index| &index.kind), Some(ExprKind::Read(var)) if *var == iter);
        if direct && place.index.len() == 1 && extent.is_none() {
            extent = func.vars[place.array].shape.last();
        }
    });
    extent
}

/// Mean length of the segments that a primitive inside the map works on.
fn segments(func: &Func, map: &Map, parallel: &Expr) -> Option<Expr> {
    let mut found = None;
    visit::walk_stmts(&map.body, |stmt| {
        if let (StmtKind::Prim(call), None) = (&stmt.kind, &found) {
            found = match &call.extent {
                Extent::Segment { .. } => {
                    closed(func, call.input.len.clone()).and_then(|elements| mean(elements, parallel))
                }
                Extent::Whole { size } => closed(func, size.clone()),
                Extent::Vectors { .. } | Extent::Regular { .. } => None,
            };
        }
    });
    found
}

fn mean(elements: Expr, parallel: &Expr) -> Option<Expr> {
    Some(Expr::long(BinOp::Div, elements, parallel.clone()))
}

fn product(factors: impl Iterator<Item = Option<Expr>>) -> Option<Expr> {
    factors.reduce(|left, right| Some(Expr::long(BinOp::Mul, left?, right?))).flatten()
}

fn length(iter: &Iter) -> Expr {
    let range = match iter.lo.as_int() {
        Some(0) => iter.hi.clone(),
        Some(_) | None => Expr::long(BinOp::Sub, iter.hi.clone(), iter.lo.clone()),
    };
    match iter.step.as_int() {
        Some(1) => range,
        Some(_) | None => Expr::long(BinOp::Div, range, iter.step.clone()),
    }
}

/// The expression, if it is made of dimensions, integer parameters that are scalars, and constants, by integer arithmetic.
fn closed(func: &Func, expr: Expr) -> Option<Expr> {
    is_closed(func, &expr).then_some(expr)
}

fn is_closed(func: &Func, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => expr.as_int().is_some(),
        ExprKind::Read(var) => is_size(func, *var),
        ExprKind::Unary(UnOp::Neg, operand) | ExprKind::Convert { operand, mode: ConvertMode::Checked } => {
            is_closed(func, operand)
        }
        ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
            operand.ty.scalar().is_some_and(|scalar| scalar.is_integer()) && is_closed(func, operand)
        }
        ExprKind::Binary { op, left, right, checked: _ } => {
            !op.is_comparison() && is_closed(func, left) && is_closed(func, right)
        }
        ExprKind::Math(MathFn::Min | MathFn::Max, operands) => {
            expr.ty.scalar().is_some_and(|scalar| scalar.is_integer())
                && operands.iter().all(|operand| is_closed(func, operand))
        }
        ExprKind::Math(..)
        | ExprKind::Load(_)
        | ExprKind::Unary(UnOp::Not | UnOp::BitNot, _)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

fn is_size(func: &Func, var: VarId) -> bool {
    let item = &func.vars[var];
    match item.kind {
        VarKind::Dim => true,
        VarKind::Param(_) => item.shape.is_empty() && item.ty.scalar().is_some_and(|scalar| scalar.is_integer()),
        VarKind::Local | VarKind::Iter => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::diag::Sink;
    use crate::compiler::ir::par::Program;
    use crate::compiler::ir::par::text::hidp_expr;
    use crate::compiler::pipeline::{InputFile, Options, PipelineInput, front, optimise};
    use crate::compiler::plan::candidates;
    use crate::compiler::source::SourceMap;

    /// The measures as text and the rules of the only entry.
    fn of(text: &str) -> (Vec<String>, Vec<String>) {
        let mut sources = SourceMap::new();
        let id = sources.add("k.hdp", text);
        let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
        let input = PipelineInput { sources, files, options: Options::default() };
        let mut sink = Sink::new();
        let program: Program = front(&input, &mut sink).and_then(|program| optimise(program, &mut sink)).unwrap();
        let (func, model) = (program.entries[0], Model::cpu());
        let item = &program.funcs[func];
        let dispatch = dispatch(item, &candidates(&program, func, &model), &model);
        let measures = dispatch.measures.iter();
        (
            measures.map(|m| format!("{} = {}", m.name, hidp_expr(&program, &item.vars, &m.value))).collect(),
            dispatch.rules.iter().map(|rule| dispatch.print(rule)).collect(),
        )
    }

    const TEAM: &str = "parallel < 2 * threads and inner >= 131072: team";

    #[test]
    fn long_rows_go_to_the_team() {
        let text = "function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
        assert_eq!(of(text), (vec!["parallel = R".into(), "inner = C".into()], vec![TEAM.into()]));
        let text = "function f input float A[M][K], B[K][N]; output float C[M][N];
            { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
        assert_eq!(of(text), (vec!["parallel = M * N".into(), "inner = K".into()], vec![]), "no plan is for the team");
    }

    #[test]
    fn ragged_rows_have_a_mean() {
        let text = "function f input int p[R+1]; input double v[Z]; output double y[R];
            { map { r := [0:R); map { k := [p[r]:p[r+1]); _t = v[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
        assert_eq!(of(text), (vec!["parallel = R".into(), "inner = Z / R".into()], vec![TEAM.into()]));
        let text = "function f input uint v[Z]; input int lo[S], hi[S]; output uint w[Z];
            { w = v; map { s := [0:S); sort(v, w, lo[s], hi[s], 1); } }";
        assert_eq!(of(text).0, ["parallel = S", "inner = Z / S"]);
    }

    #[test]
    fn triangles_are_measured_at_their_middle() {
        let text = "function f input float A[N][N]; output float y[N];
            { map { i := [0:N); map { j := [0:i); _t = A[i][j]; } reduce(\"+\", y[i], _t, j := [*]); } }";
        assert_eq!(of(text).0, ["parallel = N", "inner = (0 + N) / 2"]);
    }

    #[test]
    fn primitives_are_measured_by_their_segments() {
        let text = "function f inout uint a[N]; input int cut[S+1]; { sort(a, a, cut[0:S), cut[1:S], 1); }";
        assert_eq!(of(text).0, ["parallel = S", "inner = N / S"]);
        assert_eq!(of("function f inout uint a[N]; { sort(a, a, N, 1); }").0, ["parallel = N"]);
    }

    #[test]
    fn flat_maps_have_one_measure_and_no_rule() {
        let text = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        assert_eq!(of(text), (vec!["parallel = N".into()], vec![]));
        let text = "function f inout int x[N]; input int n; { while (x[0] < n) { x[0] = x[0] + 1; } }";
        assert_eq!(of(text), (vec![], vec![]));
    }
}
