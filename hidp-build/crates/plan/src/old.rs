//! Plans as they were written before lines, with a level for each iterator. Files that pin such plans are read still.

use std::str::SplitWhitespace;

use super::constraint::lane_shape;
use super::mapping::{Cut, Exec, LevelPlan, Mapping, Recipe, Staging, Strategy, Tiling, key};
use super::notation::FoldOption;
use super::pins::Models;
use super::{device_levels, inner_maps, iterators, near, streamed_outputs, tiled};
use crate::notation;
use hidp_ir::par::{Func, Map, Program, VarId};
use hidp_syntax::ast;

/// A plan.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) nests: Vec<Nest>,
}

/// One nest of a plan.
#[derive(Debug)]
pub(super) struct Nest {
    strategy: Strategy,
    levels: Vec<Level>,
    /// Arrays that bypass the caches.
    streamed: Vec<String>,
    stages: Vec<Stage>,
}

#[derive(Debug)]
struct Level {
    iter: String,
    exec: Exec,
    dim: u32,
    tile: u32,
    groups: Option<u32>,
}

#[derive(Debug)]
struct Stage {
    kind: Kind,
    tile: Vec<u32>,
    buffers: u32,
    pad: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rows,
    Transposed,
    Halo,
    Registers,
}

const KINDS: [(&str, Kind); 4] =
    [("rows", Kind::Rows), ("transposed", Kind::Transposed), ("halo", Kind::Halo), ("registers", Kind::Registers)];

const EXECS: [(&str, Exec); 11] = [
    ("team", Exec::Team),
    ("thread", Exec::Thread),
    ("lanes", Exec::Lanes),
    ("simd", Exec::Simd),
    ("seq", Exec::Seq),
    ("device-kernel", Exec::Device(ast::Level::Kernel)),
    ("device-block", Exec::Device(ast::Level::Block)),
    ("device-warp", Exec::Device(ast::Level::Warp)),
    ("device-subwarp", Exec::Device(ast::Level::Subwarp)),
    ("device-subwarp2", Exec::Device(ast::Level::Subwarp2)),
    ("device-thread", Exec::Device(ast::Level::Thread)),
];

/// Whether a line is one of the old form alone: `nest rows`, or what an iterator does.
pub(super) fn is_old(line: &str) -> bool {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("nest"), Some(_), _) => true,
        (Some("iter"), Some(_), Some(word)) => EXECS.iter().any(|(name, _)| *name == word),
        _ => false,
    }
}

/// Adds a line to a plan. Says what was expected otherwise.
pub(super) fn read_line(plan: &mut Option<Plan>, line: &str) -> Result<(), &'static str> {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    let Some(first) = words.next() else { return Ok(()) };
    match (first, &mut *plan) {
        ("plan", None) => *plan = Some(Plan { name: word(&mut words)?, nests: Vec::new() }),
        ("nest", Some(plan)) => plan.nests.push(read_nest(&mut words)?),
        ("iter", Some(plan)) => read_level(&mut words, plan.nests.last_mut())?,
        ("place", Some(plan)) => read_place(&mut words, plan.nests.last_mut())?,
        ("stage", Some(plan)) => read_stage(&mut words, plan.nests.last_mut())?,
        _ => return Err("`plan` once, then `nest`, `iter`, `place` and `stage` lines"),
    }
    words.next().map_or(Ok(()), |_| Err("the end of the line"))
}

fn word(words: &mut SplitWhitespace<'_>) -> Result<String, &'static str> {
    words.next().map(str::to_string).ok_or("a name")
}

fn number(words: &mut SplitWhitespace<'_>) -> Result<u32, &'static str> {
    words.next().and_then(|word| word.parse().ok()).ok_or("a number")
}

fn keyed(words: &mut SplitWhitespace<'_>, key: &'static str) -> Result<u32, &'static str> {
    if words.next() == Some(key) { number(words) } else { Err(key) }
}

fn read_nest(words: &mut SplitWhitespace<'_>) -> Result<Nest, &'static str> {
    let name = word(words)?;
    let of_devices = ast::Level::ALL.into_iter().map(Strategy::Device);
    let mut all = Strategy::ALL.into_iter().chain(of_devices);
    let strategy = all.find(|strategy| strategy.name() == name).ok_or("a strategy")?;
    Ok(Nest { strategy, levels: Vec::new(), streamed: Vec::new(), stages: Vec::new() })
}

fn read_level(words: &mut SplitWhitespace<'_>, nest: Option<&mut Nest>) -> Result<(), &'static str> {
    let nest = nest.ok_or("a `nest` line before")?;
    let iter = word(words)?;
    let exec = word(words)?;
    let (_, exec) = *EXECS.iter().find(|(name, _)| *name == exec).ok_or("a level")?;
    let dim = keyed(words, "dim")?;
    let tile = keyed(words, "tile")?;
    let groups = |word: &str| word.strip_prefix("split(")?.strip_suffix(')')?.parse().ok().filter(|groups| *groups > 0);
    let groups = match words.next() {
        Some("span" | "split") => Some(None),
        Some(word) => groups(word).map(Some),
        None => None,
    };
    let groups = groups.ok_or("`span`, `split` or `split(` and a number of groups `)`")?;
    nest.levels.push(Level { iter, exec, dim, tile, groups });
    Ok(())
}

fn read_place(words: &mut SplitWhitespace<'_>, nest: Option<&mut Nest>) -> Result<(), &'static str> {
    let nest = nest.ok_or("a `nest` line before")?;
    let array = word(words)?;
    number(words)?;
    match words.next() {
        Some("stream") => nest.streamed.push(array),
        Some(_) | None => return Err("a memory"),
    }
    Ok(())
}

fn read_stage(words: &mut SplitWhitespace<'_>, nest: Option<&mut Nest>) -> Result<(), &'static str> {
    let nest = nest.ok_or("a `nest` line before")?;
    word(words)?;
    number(words)?;
    let kind = word(words)?;
    let (_, kind) = *KINDS.iter().find(|(name, _)| *name == kind).ok_or("what is kept: `rows`, for example")?;
    let tile: Option<Vec<u32>> = word(words)?.split('x').map(|extent| extent.parse().ok()).collect();
    let tile = tile.filter(|tile| !tile.contains(&0)).ok_or("extents such as `8x128`")?;
    let buffers = keyed(words, "buffers")?;
    let pad = keyed(words, "pad")?;
    nest.stages.push(Stage { kind, tile, buffers, pad });
    Ok(())
}

impl Nest {
    /// The same as lines, if it is about this nest; else what was expected.
    pub(super) fn lines(
        &self,
        program: &Program,
        func: &Func,
        map: &Map,
        models: Models<'_>,
    ) -> Result<notation::Nest, String> {
        let iterators = iterators(map);
        let names: Vec<&str> = iterators.iter().map(|var| func.vars[*var].name.as_str()).collect();
        if names != self.levels.iter().map(|level| level.iter.as_str()).collect::<Vec<_>>() {
            return Err(format!("`iter` lines for {}", names.join(", ")));
        }
        let mut mapping = Mapping::new(self.strategy);
        for (var, level) in iterators.iter().zip(&self.levels) {
            mapping.levels.insert(*var, LevelPlan { exec: level.exec, dim: level.dim, tile: 1 });
        }
        let streamed = streamed_outputs(program, func, map);
        mapping.streamed = streamed.into_iter().filter(|var| self.streamed.contains(&func.vars[*var].name)).collect();
        match self.strategy {
            Strategy::Rows | Strategy::Lanes | Strategy::Team | Strategy::Serial | Strategy::Wide => {
                self.on_threads(program, func, map, models, &mut mapping)?;
            }
            Strategy::Device(_) => {
                self.on_device(program, func, map, models, &mut mapping)?;
                super::choices::choose_on_device(program, func, map, &mut mapping, models.device);
            }
        }
        Ok(mapping.lines(func, map))
    }

    fn tile_of(&self, map: &Map, var: VarId) -> u32 {
        let at = iterators(map).into_iter().position(|other| other == var);
        at.and_then(|at| self.levels.get(at)).map_or(1, |level| level.tile)
    }

    /// `tile` is that of a tile of lanes, or the run of a fold.
    fn on_threads(
        &self,
        program: &Program,
        func: &Func,
        map: &Map,
        models: Models<'_>,
        mapping: &mut Mapping,
    ) -> Result<(), String> {
        if self.strategy == Strategy::Lanes {
            mapping.recipe = Recipe::Lanes(lane_shape(program, func, map).map_err(|why| why.to_string())?);
            for iter in &map.iters {
                let tile = self.tile_of(map, iter.var);
                mapping.levels.entry(iter.var).and_modify(|level| level.tile = tile);
            }
        }
        mapping.cuts.clear();
        mapping.choices.clear();
        super::choices::choose(program, func, map, mapping, models.cpu);
        if let Some(cut) = key(map).and_then(|key| mapping.cuts.get_mut(&key)) {
            let run = key(map).map_or(1, |key| self.tile_of(map, key));
            // It was the run's length where iterations are light.
            if run > 1 && !super::cuts::is_heavy(map) {
                cut.change(FoldOption::Runs, |_| run);
            }
        }
        Ok(())
    }

    /// `tile` is the threads of a block, the side of a tile, or the least terms of a part.
    fn on_device(
        &self,
        program: &Program,
        func: &Func,
        map: &Map,
        models: Models<'_>,
        mapping: &mut Mapping,
    ) -> Result<(), String> {
        let has = |kind: Kind| self.stages.iter().any(|stage| stage.kind == kind);
        let groups = self.levels.iter().find_map(|level| level.groups);
        let inner = inner_maps(&map.body).first().copied();
        let Some(last) = key(map) else { return Err("an iterator".to_owned()) };
        if self.stages.is_empty() && groups.is_none() {
            device_levels::usual_cuts(func, map, models.device, mapping);
            let exec = |var| mapping.exec(var);
            let launches = super::private::launched(map, &exec);
            let blocks: Vec<(VarId, u32)> =
                launches.into_iter().filter_map(key).map(|key| (key, self.tile_of(map, key))).collect();
            mapping.blocks.extend(blocks);
            return Ok(());
        }
        if let (Some(groups), Some(inner), Some(deep)) = (groups, inner, inner.and_then(key)) {
            let tile = self.tile_of(map, deep);
            let terms = if has(Kind::Registers) { tile.saturating_mul(models.device.split.depths) } else { tile };
            let cut = Cut::of([FoldOption::Groups(groups), FoldOption::Terms(terms)]);
            mapping.cuts.extend(key(inner).map(|key| (key, cut)));
        }
        if self.stages.is_empty() {
            mapping.blocks.insert(last, self.tile_of(map, last));
            return Ok(());
        }
        for var in iterators(map) {
            let tile = self.tile_of(map, var);
            mapping.levels.entry(var).and_modify(|level| level.tile = tile.max(1));
        }
        let shared = self.stages.iter().filter(|stage| stage.kind != Kind::Registers);
        if let Some(own) = self.stages.iter().find(|stage| stage.kind == Kind::Registers) {
            let [rows, columns] = own.tile[..] else { return Err("registers such as `8x8`".to_owned()) };
            let tiled = tiled(program, func, map).map_err(|why| why.to_string())?;
            let array = tiled.operands.iter().map(|operand| operand.place.array);
            mapping.staging =
                array.zip(shared).map(|(array, stage)| stage.staging(array, stage.kind == Kind::Transposed)).collect();
            let side = |at: usize| map.iters.len().checked_sub(at).map_or(1, |at| self.tile_of(map, map.iters[at].var));
            mapping.blocks.insert(last, (side(2) / rows).saturating_mul(side(1) / columns));
            let vector = tiled.vector(models.device);
            mapping.recipe = Recipe::Tiled(Tiling { tiled, rows, columns, vector, blocks: [None; 2] });
        } else {
            let near = near(program, func, map, &|array| array.reads >= models.device.near.least_reads as usize)
                .map_err(|why| why.to_string())?;
            let array = near.arrays.iter().map(|array| array.var);
            mapping.staging = array.zip(shared).map(|(array, stage)| stage.staging(array, false)).collect();
            mapping.blocks.insert(last, map.directives.block.unwrap_or(models.device.block));
            mapping.recipe = Recipe::Near(near);
        }
        Ok(())
    }
}

impl Stage {
    fn staging(&self, array: VarId, turned: bool) -> Staging {
        Staging { array, turned, tile: self.tile.clone(), buffers: self.buffers, pad: self.pad }
    }
}
