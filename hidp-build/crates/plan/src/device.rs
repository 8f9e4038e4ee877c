//! The plans for a graphics processor: one for each execution level that suits a nest or that a directive asks for.

use super::blame::{first_of, span_of};
use super::candidates::{Candidate, Explored, Fate};
use super::device_levels::{Levels, holds_primitives, is_ordered};
use super::device_rules::rows_apart;
use super::dispatch::{measures_of, rules_of};
use super::mapping::{Exec, Mapping, Strategy};
use super::near::{NearArray, near_nest};
use super::private::{launched, private_arrays};
use super::refusal::{BLOCK_SHARED, HOST, INSIDE, MEMORY_SIZE, NAMED, NATIVE, Refusal, SEQUENCE};
use super::search::{Predictions, searched_plans};
use super::split::{split_nest, splits};
use super::tiled::{Tiled, fits, tiled, tiled_nest};
use super::variants::of_device;
use super::{Plan, asked, choices, inner_maps, irregular, iterators, nests};
use crate::Limits;
use crate::target::{DeviceModel, DeviceTile};
use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{
    Directives, Expr, ExprKind, Fold, FoldKind, Func, FuncId, Map, Program, ScalarFnId, Stmt, StmtKind, VarId,
};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// The name of the plan whose blocks keep parts of arrays in shared memory.
pub const NEAR: &str = "near";
/// The name of the plan in which groups of their own take parts of folds.
pub const SPLIT: &str = "split";

/// The name of the plan in which each nest has the mapping that the search finds best; more of them have numbers besides.
pub const SEARCHED: &str = "searched";

/// Whether a plan is one of the search's.
pub fn is_searched(plan: &Plan) -> bool {
    plan.name.strip_prefix(SEARCHED).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// For what the C++ headers of a program are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Natives {
    /// Devices too.
    #[default]
    Everywhere,
    /// The host alone.
    Host,
}

/// Looks at every level for a function after the pass pipeline. Then nests get the lines that directives pin.
pub fn explore_device(
    program: &Program,
    func: FuncId,
    model: &DeviceModel,
    limits: Limits,
    natives: Natives,
) -> Explored {
    explore_with_times(program, func, model, limits, natives).0
}

/// The same, with what was predicted on the way: see [`crate::add_device_rules`].
pub fn explore_with_times<'p>(
    program: &'p Program,
    func: FuncId,
    model: &'p DeviceModel,
    limits: Limits,
    natives: Natives,
) -> (Explored, Predictions<'p>) {
    let mut predictions = Predictions::default();
    let explored = explore_all(program, func, (model, &mut predictions), limits, natives);
    (asked::on_device(program, func, explored, model), predictions)
}

/// The plans without what directives pin.
pub(super) fn explore_all<'p>(
    program: &'p Program,
    func: FuncId,
    (model, predictions): (&'p DeviceModel, &mut Predictions<'p>),
    limits: Limits,
    natives: Natives,
) -> Explored {
    let func = &program.funcs[func];
    let maps = nests(func);
    let named = maps.iter().any(|map| !map.directives.levels.is_empty());
    let most = if named { Level::ALL.len() } else { limits.most.max(1) };
    let native = match natives {
        Natives::Everywhere => None,
        Natives::Host => self::native(program, func),
    };
    let mut explored = Explored::default();
    for level in order(program, func, &maps) {
        let found = match &native {
            Some(native) => Err(Fate::Excluded(on_host_alone(native))),
            None => consider(program, func, &maps, level, model, &explored.plans, most),
        };
        explored.add(level.name(), found);
    }
    if let Some(found) = near_plan(program, func, &maps, model, native.as_ref()) {
        let full = explored.plans.len() >= most;
        let found =
            found.map_err(Fate::Excluded).and_then(|plan| if full { Err(Fate::Outnumbered(most)) } else { Ok(plan) });
        explored.add(NEAR, found);
    }
    if named {
        // Words for levels ask for the plain plans of these levels.
        explored.add("tiled", Err(Fate::Excluded(not_named(&maps))));
        explored.add(SPLIT, Err(Fate::Excluded(not_named(&maps))));
    } else if native.is_none() && explored.plans.len() > 1 {
        tiled_plans(program, func, &maps, model, &mut explored);
        if let Some(found) = split_plan(program, func, &maps, model) {
            explored.add(SPLIT, found.map_err(Fate::Excluded));
        }
    }
    if native.is_none() && !maps.iter().any(|map| is_asked_for(map)) {
        let measures = measures_of(func, &maps);
        let rules = rules_of(program, func, &maps, &explored.plans, &measures, model);
        match searched_plans(program, func, &maps, &explored.plans, (&measures, &rules), (model, predictions)) {
            Some(Ok(found)) => found.into_iter().for_each(|plan| explored.add(&plan.name.clone(), Ok(plan))),
            Some(Err(refusal)) => explored.add(SEARCHED, Err(Fate::Excluded(refusal))),
            None => {}
        }
    }
    if limits.variants {
        explored.plans = of_device(program, func, &maps, explored.plans, model);
    }
    explored
}

/// Whether a directive before a map of a nest says how it runs.
fn is_asked_for(map: &Map) -> bool {
    let Directives { levels, block, unroll, pins, ordered: _, unordered: _, spans: _ } = &map.directives;
    let own = !levels.is_empty() || block.is_some() || unroll.is_some() || !pins.is_empty();
    own || inner_maps(&map.body).into_iter().any(is_asked_for)
}

impl Explored {
    /// A candidate for the whole entry: its plan, or what became of it.
    fn add(&mut self, name: &str, found: Result<Plan, Fate>) {
        let fate = match found {
            Ok(plan) => {
                self.plans.push(plan);
                Fate::Kept
            }
            Err(fate) => fate,
        };
        self.candidates.push(Candidate { name: name.to_owned(), nest: None, score: None, fate });
    }
}

fn on_host_alone((name, at): &(String, Span)) -> Refusal {
    NATIVE.refused(*at, format!("`{name}` comes from a C++ header that cannot be compiled for devices"))
}

fn not_named(maps: &[&Map]) -> Refusal {
    let named = maps.iter().find_map(|map| map.directives.spans.level);
    NAMED.refused(named.unwrap_or(first_of(maps)), "directives name other levels")
}

/// The plan in which every nest keeps near what is worth it, and the others run by threads; nothing without nests.
fn near_plan(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    model: &DeviceModel,
    native: Option<&(String, Span)>,
) -> Option<Result<Plan, Refusal>> {
    let worth = |array: &NearArray| array.reads >= model.near.least_reads as usize;
    let near = |map: &&Map| near_nest(program, func, map, model, &worth);
    let found: Vec<Result<Mapping, Refusal>> = maps.iter().map(near).collect();
    // The nest with most iterators says why there is none.
    let (_, deep) = maps.iter().zip(&found).max_by_key(|(map, _)| iterators(map).len())?;
    if let (true, Err(refusal)) = (found.iter().all(Result::is_err), deep) {
        return Some(Err(refusal.clone()));
    }
    let named = maps.iter().any(|map| !map.directives.levels.is_empty());
    let mappings = maps.iter().zip(found).map(|(map, found)| match found {
        Ok(mapping) => mapping,
        Err(_) => mapping(program, func, map, Level::Thread, model),
    });
    let mappings: Vec<Mapping> = mappings.collect();
    Some(match (native, sizes_are_known(program, func, maps, &mappings, model)) {
        (Some(native), _) => Err(on_host_alone(native)),
        (None, Err(refusal)) => Err(refusal),
        (None, Ok(())) if named => Err(not_named(maps)),
        (None, Ok(())) => Ok(plan(func, maps, NEAR, &mappings)),
    })
}

/// Plans in which blocks keep what results share in shared memory, the largest tiles first; other nests run as threads.
fn tiled_plans(program: &Program, func: &Func, maps: &[&Map], model: &DeviceModel, explored: &mut Explored) {
    let suits: Vec<Result<Tiled, Refusal>> = maps.iter().map(|map| tiled(program, func, map)).collect();
    let Some(widest) = suits.iter().flatten().map(|tiled| tiled.widest).max() else {
        let deep = maps.iter().zip(&suits).max_by_key(|(map, _)| iterators(map).len());
        if let Some((_, Err(refusal))) = deep {
            explored.add("tiled", Err(Fate::Excluded(refusal.clone())));
        }
        return;
    };
    if sizes_are_known(program, func, maps, &at_level(program, func, maps, Level::Thread, model), model).is_err() {
        return;
    }
    // Where some folds can be split, the tiles of the others may stay whole.
    let whole = |map: &&Map| splits(program, func, map).is_err();
    let none = maps.iter().zip(&suits).all(|(map, suits)| suits.is_err() || whole(map));
    for tile in model.tiles.iter().filter(|tile| widest <= tile.widest && !(none && tile.split > 0)) {
        let suits = suits.iter().map(|suits| suits.as_ref().ok().filter(|tiled| fits(func, tiled, tile, model)));
        let suits: Vec<Option<&Tiled>> = suits.collect();
        let name = tiled_name(tile);
        if suits.iter().all(Option::is_none) {
            let large = BLOCK_SHARED.refused(first_of(maps), "the operands of a tile would not fit into shared memory");
            explored.add(&name, Err(Fate::Excluded(large)));
            continue;
        }
        let tiled_maps = maps.iter().zip(&suits).filter(|(_, tiled)| tiled.is_some());
        let mut asked = tiled_maps.filter_map(|(map, _)| Some((*map, map.directives.block?)));
        if let Some((map, asked)) = asked.find(|(_, asked)| *asked != tile.threads()) {
            let made = tile.threads();
            let why = format!("`block({asked})` stands before the map, and the tiles' blocks have {made} threads");
            let at = map.directives.spans.block.unwrap_or(span_of(map));
            explored.add(&name, Err(Fate::Excluded(NAMED.refused(at, why))));
            continue;
        }
        let mappings = maps.iter().zip(suits).map(|(map, tiled)| match tiled {
            Some(tiled) => tiled_nest(program, func, map, tiled, (tile, model)),
            None => mapping(program, func, map, Level::Thread, model),
        });
        let mappings: Vec<Mapping> = mappings.collect();
        explored.add(&name, Ok(plan(func, maps, &name, &mappings)));
    }
}

/// The name of the plan with such tiles.
fn tiled_name(tile: &DeviceTile) -> String {
    format!("tiled{}x{}{}", tile.rows, tile.columns, if tile.split > 0 { "_split" } else { "" })
}

/// The plan in which groups of their own take parts of folds; other nests run as threads. Nothing without nests.
fn split_plan(program: &Program, func: &Func, maps: &[&Map], model: &DeviceModel) -> Option<Result<Plan, Refusal>> {
    let suits: Vec<Result<(), Refusal>> = maps.iter().map(|map| splits(program, func, map)).collect();
    let (_, deep) = maps.iter().zip(&suits).max_by_key(|(map, _)| iterators(map).len())?;
    if let (true, Err(refusal)) = (suits.iter().all(Result::is_err), deep) {
        return Some(Err(refusal.clone()));
    }
    let mappings = maps.iter().zip(&suits).map(|(map, suits)| match suits {
        Ok(()) => split_nest(program, func, map, model),
        Err(_) => mapping(program, func, map, Level::Thread, model),
    });
    let mappings: Vec<Mapping> = mappings.collect();
    let known = sizes_are_known(program, func, maps, &mappings, model);
    Some(known.map(|()| plan(func, maps, SPLIT, &mappings)))
}

/// Levels in the order of preference without any numbers. Rows apart, or of unequal length, are worth smaller groups.
fn order(program: &Program, func: &Func, maps: &[&Map]) -> [Level; 6] {
    if !maps.iter().any(|map| shares_inside(map)) {
        [Level::Thread, Level::Warp, Level::Block, Level::Kernel, Level::Subwarp, Level::Subwarp2]
    } else if maps.iter().any(|map| irregular(map) || rows_apart(program, func, map)) {
        [Level::Warp, Level::Thread, Level::Block, Level::Subwarp, Level::Kernel, Level::Subwarp2]
    } else {
        [Level::Warp, Level::Thread, Level::Block, Level::Kernel, Level::Subwarp, Level::Subwarp2]
    }
}

/// Each nest as the plan for a level has it.
fn at_level(program: &Program, func: &Func, maps: &[&Map], level: Level, model: &DeviceModel) -> Vec<Mapping> {
    maps.iter().map(|map| mapping(program, func, map, level, model)).collect()
}

fn plan(func: &Func, maps: &[&Map], name: &str, mappings: &[Mapping]) -> Plan {
    Plan::new(name, maps.iter().zip(mappings).map(|(map, mapping)| mapping.lines(func, map)).collect())
}

/// The plan for a level, or why there is none.
fn consider(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    level: Level,
    model: &DeviceModel,
    before: &[Plan],
    most: usize,
) -> Result<Plan, Fate> {
    let applies = |map: &&&Map| level == applied(map, level);
    if !maps.is_empty() && maps.iter().filter(applies).count() == 0 {
        let named = maps.iter().any(|map| !map.directives.levels.is_empty());
        let shares = maps.iter().any(|map| shares_inside(map));
        let refusal = match (shares, named) {
            (false, _) => nothing_inside(first_of(maps)),
            (true, true) => not_named(maps),
            (true, false) => outer_fold(first_of(maps)),
        };
        // One level is always left, so that there is a plan: that of what no nest names.
        if level != Level::Thread || shares {
            return Err(Fate::Excluded(refusal));
        }
    }
    let mappings = at_level(program, func, maps, level, model);
    let plan = plan(func, maps, level.name(), &mappings);
    if let Some(other) = before.iter().find(|other| other.same_as(&plan)) {
        return Err(Fate::SameAs(other.name.clone()));
    }
    sizes_are_known(program, func, maps, &mappings, model).map_err(Fate::Excluded)?;
    if before.len() >= most { Err(Fate::Outnumbered(most)) } else { Ok(plan) }
}

/// What a nest runs at when the entry's plan is for `level`.
fn applied(map: &Map, level: Level) -> Level {
    let named = &map.directives.levels;
    let rank = |level: Level| Level::ALL.iter().position(|other| *other == level).unwrap_or(0);
    if named.is_empty() {
        return if unsuited(map, level).is_none() { level } else { Level::Thread };
    }
    let near = |other: &Level| (rank(*other).abs_diff(rank(level)), rank(*other));
    let suits = |level: &Level| unsuited(map, *level).is_none();
    named.iter().copied().filter(suits).min_by_key(near).unwrap_or(Level::Thread)
}

fn nothing_inside(at: Span) -> Refusal {
    INSIDE.refused(at, "no iteration has a map or primitive inside that lanes could share")
}

fn outer_fold(at: Span) -> Refusal {
    HOST.refused(at, "the outermost map folds what its iterations leave")
}

/// Why the iterations of a nest's outermost map cannot run at a level, if so.
pub(super) fn unsuited(map: &Map, level: Level) -> Option<Refusal> {
    let in_order = |fold: &Fold| fold.kind != FoldKind::Reduce || is_ordered(fold);
    match level {
        Level::Thread => None,
        _ if map.folds.iter().any(in_order) && !map.directives.levels.is_empty() => Some(
            SEQUENCE.refused(span_of(map), "the outermost map folds in the order of its iterations, or makes prefixes"),
        ),
        Level::Block if !map.folds.is_empty() && !map.directives.levels.is_empty() => None,
        Level::Kernel if !map.folds.is_empty() => Some(outer_fold(span_of(map))),
        Level::Kernel | Level::Block | Level::Warp | Level::Subwarp | Level::Subwarp2 => {
            (!shares_inside(map)).then(|| nothing_inside(span_of(map)))
        }
    }
}

/// Whether an iteration has something inside that several lanes can share.
fn shares_inside(map: &Map) -> bool {
    !inner_maps(&map.body).is_empty() || holds_primitives(map)
}

/// One nest of the plan for `level`.
fn mapping(program: &Program, func: &Func, map: &Map, level: Level, model: &DeviceModel) -> Mapping {
    level_nest(program, func, map, applied(map, level), model)
}

/// One nest by groups of `level`, which suits it.
pub(super) fn level_nest(program: &Program, func: &Func, map: &Map, level: Level, model: &DeviceModel) -> Mapping {
    let mut levels = Levels { program, func, model, mapping: Mapping::new(Strategy::Device(level)) };
    levels.launched(map, level);
    choices::choose_on_device(program, func, map, &mut levels.mapping, model);
    levels.mapping
}

/// Whether a launch can know the sizes of all that iterations declare.
fn sizes_are_known(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    mappings: &[Mapping],
    model: &DeviceModel,
) -> Result<(), Refusal> {
    for (map, mapping) in maps.iter().zip(mappings) {
        let exec = |var| mapping.exec(var);
        for map in launched(map, &exec) {
            let level = scope_of(map, &exec);
            private_arrays(program, func, map, level, &exec, model.small_array).map_err(|name| {
                let why =
                    format!("the size of `{name}` is found only while an iteration runs, too late to allocate it");
                let array = func.vars.iter().find(|(_, var)| var.is_array() && var.name == name);
                MEMORY_SIZE.refused(array.map_or(span_of(map), |(_, var)| var.span), why)
            })?;
        }
    }
    Ok(())
}

/// The level of the groups that take the iterations of a launched map.
pub fn scope_of(map: &Map, exec: &dyn Fn(VarId) -> Option<Exec>) -> Level {
    let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
    match map.iters.first().and_then(|iter| exec(iter.var)) {
        Some(Exec::Device(level)) if !scans => level,
        _ => Level::Thread,
    }
}

/// The name of a native function or struct that an entry uses.
pub fn native_name(program: &Program, func: &Func) -> Option<String> {
    native(program, func).map(|(name, _)| name)
}

/// That, and where it is used.
fn native(program: &Program, func: &Func) -> Option<(String, Span)> {
    let structure = |ty: Ty| if let Ty::Struct(id) = ty { Some(&program.structs[id]) } else { None };
    let mut structs = func.vars.iter().filter_map(|(_, var)| Some((structure(var.ty)?, var.span)));
    let native = structs.find(|(item, _)| item.native).map(|(item, span)| (item.name.clone(), span));
    let mut search = Native { program, seen: OrdSet::new(), at: func.span, found: native };
    search.visit_block(&func.body);
    search.found
}

struct Native<'a> {
    program: &'a Program,
    seen: OrdSet<ScalarFnId>,
    /// The statement that is looked at.
    at: Span,
    found: Option<(String, Span)>,
}

impl Native<'_> {
    fn function(&mut self, function: ScalarFnId, at: Span) {
        if !self.seen.insert(function) {
            return;
        }
        let function = &self.program.scalar_fns[function];
        match &function.body {
            Some(body) => self.visit_block(body),
            None => self.found = Some((function.name.clone(), at)),
        }
    }
}

impl Visitor for Native<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(function, _) = &expr.kind {
            self.function(*function, expr.span);
        }
        look::walk_expr(self, expr);
    }
    fn visit_fold_op(&mut self, op: &hidp_ir::par::FoldOp) {
        if let hidp_ir::par::FoldFn::Fn(function) = op.func {
            self.function(function, self.at);
        }
        look::walk_fold_op(self, op);
    }
    fn visit_stmt(&mut self, stmt: &Stmt) {
        let around = std::mem::replace(&mut self.at, stmt.span);
        if let StmtKind::Prim(call) = &stmt.kind {
            call.predicate.into_iter().for_each(|function| self.function(function, call.span));
        }
        look::walk_stmt(self, stmt);
        self.at = around;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    #[test]
    fn native_functions_are_found_wherever_they_are_used() {
        let used = |body: &str| {
            let text = format!(
                "extern function float f(float a, float b); extern function bool p(float a, float b);
                 function float g(float a) {{ return f(a, 1.0f); }}
                 function e input float x[N]; input int lo[S], hi[S]; output float y[N], z[S]; inout int a[S], b[S]; {{ y = 0.0f; z = 0.0f; {body} }}"
            );
            let program = optimised(&text);
            let found = native(&program, &program.funcs[program.entries[0]]);
            found.map(|(name, at)| (name, text[at.start as usize..at.end as usize].to_owned()))
        };
        let is = |name: &str, at: &str| Some((name.to_owned(), at.to_owned()));
        assert_eq!(used("map { i := [0:N); y[i] = f(x[i], x[0]); }"), is("f", "f(x[i], x[0])"));
        assert_eq!(used("map { i := [0:N); y[i] = g(x[i]); }"), is("f", "f(a, 1.0f)"));
        let fold = "float s; map { i := [0:N); _e = x[i]; } reduce(f: 0.0f, s, _e, i := [*]); y = s;";
        assert_eq!(used(fold).map(|(name, _)| name).as_deref(), Some("f"));
        let segments = "reduce(f: 0.0f, x, z, lo, hi);";
        assert_eq!(used(segments), is("f", segments));
        assert_eq!(used("y = x;"), None);
    }
}
