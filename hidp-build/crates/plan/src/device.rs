//! The plans for a graphics processor: one for each execution level that suits a nest or that a directive asks for.

use std::collections::BTreeSet;
use std::fmt;

use super::device_levels::{Levels, holds_primitives, is_ordered};
use super::device_rules::rows_apart;
use super::mapping::{Exec, Mapping, Strategy};
use super::near::{Far, near_nest};
use super::private::{launched, private_arrays};
use super::split::{split_nest, splits};
use super::tiled::{TOO_LARGE, Tiled, fits, tiled, tiled_nest};
use super::variants::of_device;
use super::{Plan, inner_maps, irregular, iterators, nests};
use crate::Limits;
use crate::target::{DeviceModel, DeviceTile};
use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{Expr, ExprKind, Fold, FoldKind, Func, FuncId, Map, Program, ScalarFnId, Stmt, StmtKind, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::ty::Ty;

/// Every way to run an entry on a device that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceExplored {
    /// Those that survived, best guess first; perhaps none.
    pub plans: Vec<Plan>,
    /// What became of each level, in the order in which they were looked at.
    pub fates: Vec<(Level, DeviceFate)>,
    /// What became of the plan whose blocks keep parts of arrays in shared memory; nothing if there is no nest.
    pub near: Option<DeviceFate>,
    /// What became of tiles whose operands blocks keep in shared memory, by name.
    pub tiled: Vec<(String, DeviceFate)>,
    /// What became of the plan in which groups of their own take parts of folds; nothing if there is no nest.
    pub split: Option<DeviceFate>,
}

/// The name of the plan whose blocks keep parts of arrays in shared memory.
pub const NEAR: &str = "near";
/// The name of the plan in which groups of their own take parts of folds.
pub const SPLIT: &str = "split";

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceFate {
    /// It is one.
    Kept,
    /// It cannot be lowered.
    Excluded(Obstacle),
    /// It runs like the plan of another level.
    SameAs(Level),
    /// So many plans come before it.
    Outnumbered(usize),
}

/// Why a plan cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The entry uses something of this name that a C++ header defines, which cannot be compiled for devices.
    Native(String),
    /// The size of this is found only while an iteration runs, too late for the host to allocate it.
    UnknownSize(String),
    /// No iteration has anything inside that the lanes of a group could share.
    NothingInside,
    /// Directives name other levels for every nest.
    NotNamed,
    /// No nest suits tiles; why the one with most iterators does not.
    NoTiles(&'static str),
    /// No nest has folds to split; why the one with most iterators has none.
    Whole(&'static str),
    /// The outermost map folds what its iterations leave, so the host cannot run them one after the other.
    OuterFold,
    /// A directive asks for blocks of so many threads, and tiles make them of so many.
    BlockSize(u32, u32),
    /// Nothing is worth being kept in shared memory.
    Far(Far),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Native(name) => {
                write!(f, "`{name}` comes from a C++ header that cannot be compiled for devices")
            }
            Obstacle::UnknownSize(name) => {
                write!(f, "the size of `{name}` is found only while an iteration runs, too late to allocate it")
            }
            Obstacle::NothingInside => write!(f, "{}", Unsuited::NothingInside),
            Obstacle::NotNamed => f.write_str("directives name other levels"),
            Obstacle::Far(far) => write!(f, "{far}"),
            Obstacle::NoTiles(why) | Obstacle::Whole(why) => f.write_str(why),
            Obstacle::OuterFold => write!(f, "{}", Unsuited::OuterFold),
            Obstacle::BlockSize(asked, made) => {
                write!(f, "`block({asked})` stands before the map, and the tiles' blocks have {made} threads")
            }
        }
    }
}

impl fmt::Display for DeviceFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceFate::Kept => f.write_str("kept"),
            DeviceFate::Excluded(obstacle) => write!(f, "excluded: {obstacle}"),
            DeviceFate::SameAs(level) => write!(f, "runs like {}", level.name()),
            DeviceFate::Outnumbered(most) => write!(f, "rejected: {most} plans come before it"),
        }
    }
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

/// Looks at every level for a function after the pass pipeline.
pub fn explore_device(
    program: &Program,
    func: FuncId,
    model: &DeviceModel,
    limits: Limits,
    natives: Natives,
) -> DeviceExplored {
    let func = &program.funcs[func];
    let maps = nests(func);
    let named = maps.iter().any(|map| !map.directives.levels.is_empty());
    let most = if named { Level::ALL.len() } else { limits.most.max(1) };
    let native = match natives {
        Natives::Everywhere => None,
        Natives::Host => native_name(program, func),
    };
    let mut explored = DeviceExplored::default();
    for level in order(program, func, &maps) {
        let fate = match &native {
            Some(name) => DeviceFate::Excluded(Obstacle::Native(name.clone())),
            None => consider(program, func, &maps, level, model, &explored.plans, most),
        };
        let fate = fate_or_plan(fate, &mut explored.plans, || {
            plan(func, &maps, level.name(), &at_level(program, func, &maps, level, model))
        });
        explored.fates.push((level, fate));
    }
    let on_host = native.is_some();
    explored.near = near_fate(program, func, &maps, model, native, &mut explored.plans, most);
    if named {
        // Words for levels ask for the plain plans of these levels.
        explored.tiled.push(("tiled".to_owned(), DeviceFate::Excluded(Obstacle::NotNamed)));
        explored.split = Some(DeviceFate::Excluded(Obstacle::NotNamed));
    } else if !on_host && explored.plans.len() > 1 {
        tiled_plans(program, func, &maps, model, &mut explored);
        explored.split = split_plan(program, func, &maps, model, &mut explored.plans);
    }
    if limits.variants {
        explored.plans = of_device(program, func, &maps, explored.plans, model);
    }
    explored
}

/// Adds a plan in which every nest keeps near what is worth it, and the others run by threads.
fn near_fate(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    model: &DeviceModel,
    native: Option<String>,
    plans: &mut Vec<Plan>,
    most: usize,
) -> Option<DeviceFate> {
    let found: Vec<Result<Mapping, Far>> = maps.iter().map(|map| near_nest(program, func, map, model)).collect();
    // The nest with most iterators says why there is none.
    let reason = maps.iter().zip(&found).max_by_key(|(map, _)| iterators(map).len())?.1.clone().err();
    if found.iter().all(Result::is_err) {
        return reason.map(|far| DeviceFate::Excluded(Obstacle::Far(far)));
    }
    let named = maps.iter().any(|map| !map.directives.levels.is_empty());
    let mappings = maps.iter().zip(found).map(|(map, found)| match found {
        Ok(mapping) => mapping,
        Err(_) => mapping(program, func, map, Level::Thread, model),
    });
    let mappings: Vec<Mapping> = mappings.collect();
    let obstacle = match (native, unknown_size(program, func, maps, &mappings, model)) {
        (Some(name), _) => Some(Obstacle::Native(name)),
        (None, Some(name)) => Some(Obstacle::UnknownSize(name)),
        (None, None) if named => Some(Obstacle::NotNamed),
        (None, None) => None,
    };
    Some(match obstacle {
        Some(obstacle) => DeviceFate::Excluded(obstacle),
        None if plans.len() >= most => DeviceFate::Outnumbered(most),
        None => {
            plans.push(plan(func, maps, NEAR, &mappings));
            DeviceFate::Kept
        }
    })
}

/// Plans in which blocks keep what results share in shared memory, the largest tiles first; other nests run as threads.
fn tiled_plans(program: &Program, func: &Func, maps: &[&Map], model: &DeviceModel, explored: &mut DeviceExplored) {
    let suits: Vec<Result<Tiled, &str>> = maps.iter().map(|map| tiled(program, func, map)).collect();
    let Some(widest) = suits.iter().flatten().map(|tiled| tiled.widest).max() else {
        let deep = maps.iter().zip(&suits).max_by_key(|(map, _)| iterators(map).len());
        if let Some((_, Err(why))) = deep {
            explored.tiled.push(("tiled".to_owned(), DeviceFate::Excluded(Obstacle::NoTiles(why))));
        }
        return;
    };
    if unknown_size(program, func, maps, &at_level(program, func, maps, Level::Thread, model), model).is_some() {
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
            explored.tiled.push((name, DeviceFate::Excluded(Obstacle::NoTiles(TOO_LARGE))));
            continue;
        }
        let tiled_maps = maps.iter().zip(&suits).filter(|(_, tiled)| tiled.is_some());
        let other = tiled_maps.filter_map(|(map, _)| map.directives.block).find(|asked| *asked != tile.threads());
        if let Some(asked) = other {
            let obstacle = Obstacle::BlockSize(asked, tile.threads());
            explored.tiled.push((name, DeviceFate::Excluded(obstacle)));
            continue;
        }
        let mappings = maps.iter().zip(suits).map(|(map, tiled)| match tiled {
            Some(tiled) => tiled_nest(program, func, map, tiled, (tile, model)),
            None => mapping(program, func, map, Level::Thread, model),
        });
        let mappings: Vec<Mapping> = mappings.collect();
        explored.plans.push(plan(func, maps, &name, &mappings));
        explored.tiled.push((name, DeviceFate::Kept));
    }
}

/// The name of the plan with such tiles.
fn tiled_name(tile: &DeviceTile) -> String {
    format!("tiled{}x{}{}", tile.rows, tile.columns, if tile.split > 0 { "_split" } else { "" })
}

/// Adds a plan in which groups of their own take parts of folds; other nests run as threads.
fn split_plan(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    model: &DeviceModel,
    plans: &mut Vec<Plan>,
) -> Option<DeviceFate> {
    let suits: Vec<Result<(), &str>> = maps.iter().map(|map| splits(program, func, map)).collect();
    let (_, deep) = maps.iter().zip(&suits).max_by_key(|(map, _)| iterators(map).len())?;
    if let (true, Err(why)) = (suits.iter().all(Result::is_err), deep) {
        return Some(DeviceFate::Excluded(Obstacle::Whole(why)));
    }
    let mappings = maps.iter().zip(&suits).map(|(map, suits)| match suits {
        Ok(()) => split_nest(program, func, map, model),
        Err(_) => mapping(program, func, map, Level::Thread, model),
    });
    let mappings: Vec<Mapping> = mappings.collect();
    if let Some(name) = unknown_size(program, func, maps, &mappings, model) {
        return Some(DeviceFate::Excluded(Obstacle::UnknownSize(name)));
    }
    plans.push(plan(func, maps, SPLIT, &mappings));
    Some(DeviceFate::Kept)
}

fn fate_or_plan(fate: DeviceFate, plans: &mut Vec<Plan>, plan: impl FnOnce() -> Plan) -> DeviceFate {
    if fate == DeviceFate::Kept {
        plans.push(plan());
    }
    fate
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

fn consider(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    level: Level,
    model: &DeviceModel,
    before: &[Plan],
    most: usize,
) -> DeviceFate {
    let applies = |map: &&&Map| level == applied(map, level);
    if !maps.is_empty() && maps.iter().filter(applies).count() == 0 {
        let named = maps.iter().any(|map| !map.directives.levels.is_empty());
        let shares = maps.iter().any(|map| shares_inside(map));
        let obstacle = match (shares, named) {
            (false, _) => Obstacle::NothingInside,
            (true, true) => Obstacle::NotNamed,
            (true, false) => Obstacle::OuterFold,
        };
        // One level is always left, so that there is a plan: that of what no nest names.
        if level != Level::Thread || shares {
            return DeviceFate::Excluded(obstacle);
        }
    }
    let mappings = at_level(program, func, maps, level, model);
    let plan = plan(func, maps, level.name(), &mappings);
    if let Some(other) = before.iter().find(|other| other.same_as(&plan)) {
        let same = Level::ALL.into_iter().find(|level| level.name() == other.name);
        return DeviceFate::SameAs(same.unwrap_or(level));
    }
    if let Some(name) = unknown_size(program, func, maps, &mappings, model) {
        return DeviceFate::Excluded(Obstacle::UnknownSize(name));
    }
    if before.len() >= most { DeviceFate::Outnumbered(most) } else { DeviceFate::Kept }
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

/// Why the iterations of an outermost map cannot run at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsuited {
    /// No iteration has anything inside that the lanes of a group could share.
    NothingInside,
    /// The map folds what its iterations leave, so the host cannot run them one after the other.
    OuterFold,
    /// It folds in the order of its iterations, or makes prefixes: groups of lanes take no part in that.
    InOrder,
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsuited::NothingInside => "no iteration has a map or primitive inside that lanes could share",
            Unsuited::OuterFold => "the outermost map folds what its iterations leave",
            Unsuited::InOrder => "the outermost map folds in the order of its iterations, or makes prefixes",
        })
    }
}

/// Why the iterations of a nest's outermost map cannot run at a level, if so.
pub(super) fn unsuited(map: &Map, level: Level) -> Option<Unsuited> {
    let in_order = |fold: &Fold| fold.kind != FoldKind::Reduce || is_ordered(fold);
    match level {
        Level::Thread => None,
        _ if map.folds.iter().any(in_order) && !map.directives.levels.is_empty() => Some(Unsuited::InOrder),
        Level::Block if !map.folds.is_empty() && !map.directives.levels.is_empty() => None,
        Level::Kernel if !map.folds.is_empty() => Some(Unsuited::OuterFold),
        Level::Kernel | Level::Block | Level::Warp | Level::Subwarp | Level::Subwarp2 => {
            (!shares_inside(map)).then_some(Unsuited::NothingInside)
        }
    }
}

/// Whether an iteration has something inside that several lanes can share.
fn shares_inside(map: &Map) -> bool {
    !inner_maps(&map.body).is_empty() || holds_primitives(map)
}

/// One nest of the plan for `level`.
fn mapping(program: &Program, func: &Func, map: &Map, level: Level, model: &DeviceModel) -> Mapping {
    let level = applied(map, level);
    let mut levels = Levels { program, func, model, mapping: Mapping::new(Strategy::Device(level)) };
    levels.launched(map, level);
    levels.mapping
}

/// The name of something whose size no launch can know.
fn unknown_size(
    program: &Program,
    func: &Func,
    maps: &[&Map],
    mappings: &[Mapping],
    model: &DeviceModel,
) -> Option<String> {
    maps.iter().zip(mappings).find_map(|(map, mapping)| {
        let exec = |var| mapping.exec(var);
        launched(map, &exec).into_iter().find_map(|map| {
            let level = scope_of(map, &exec);
            private_arrays(program, func, map, level, &exec, model.small_array).err()
        })
    })
}

/// The level of the groups that take the iterations of a launched map.
fn scope_of(map: &Map, exec: &dyn Fn(VarId) -> Option<Exec>) -> Level {
    let scans = map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce);
    match map.iters.first().and_then(|iter| exec(iter.var)) {
        Some(Exec::Device(level)) if !scans => level,
        _ => Level::Thread,
    }
}

/// The name of a native function or struct that an entry uses.
pub fn native_name(program: &Program, func: &Func) -> Option<String> {
    let structure = |ty: Ty| if let Ty::Struct(id) = ty { Some(&program.structs[id]) } else { None };
    let mut structs = func.vars.iter().filter_map(|(_, var)| structure(var.ty));
    let native = structs.find(|item| item.native).map(|item| item.name.clone());
    let mut search = Native { program, seen: BTreeSet::new(), found: native };
    search.visit_block(&func.body);
    search.found
}

struct Native<'a> {
    program: &'a Program,
    seen: BTreeSet<ScalarFnId>,
    found: Option<String>,
}

impl Native<'_> {
    fn function(&mut self, function: ScalarFnId) {
        if !self.seen.insert(function) {
            return;
        }
        let function = &self.program.scalar_fns[function];
        match &function.body {
            Some(body) => self.visit_block(body),
            None => self.found = Some(function.name.clone()),
        }
    }
}

impl Visitor for Native<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Call(function, _) = &expr.kind {
            self.function(*function);
        }
        look::walk_expr(self, expr);
    }
    fn visit_fold_op(&mut self, op: &hidp_ir::par::FoldOp) {
        if let hidp_ir::par::FoldFn::Fn(function) = op.func {
            self.function(function);
        }
        look::walk_fold_op(self, op);
    }
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Prim(call) = &stmt.kind {
            call.predicate.into_iter().for_each(|function| self.function(function));
        }
        look::walk_stmt(self, stmt);
    }
}
