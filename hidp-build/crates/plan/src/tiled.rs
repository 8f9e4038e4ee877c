//! Products of matrices and what looks like them: nests whose folds load operands that all columns, or all rows, of a tile of results
//! share. A block keeps the operands in shared memory, a lane several results in registers.

use super::blame::{self, span_of};
use super::constraint::bounds_do_not_depend;
use super::mapping::{Exec, LevelPlan, Mapping, Recipe, Staging, Strategy, Tiling, key};
use super::refusal::{
    BLOCK_SHARED, BLOCK_THREADS, FAULT_ORDER, GAIN, MEMORY_SIZE, NAMED, ORDER, RAGGED, REGISTERS, Refusal, SECTION,
    SEQUENCE, SHAPE, SHARES,
};
use super::shape::{Stride, straight, stride_of};
use super::split::{deal, splits};
use super::{choices, inner_maps};
use crate::target::{DeviceModel, DeviceTile};
use hidp_ir::par::effects::{self, Effects};
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{FoldKind, Func, Map, Place, Program, StmtKind, Target, VarId, VarKind};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Scalar;

/// Iterators that tiles leave as they are, at most: the third dimension of a grid.
const MOST_OUTER: usize = 1;

/// A nest that tiles suit.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiled {
    /// What lanes share, in the order of their first use.
    pub operands: Vec<Operand>,
    /// Bytes of the largest element that is kept or folded.
    pub widest: u32,
}

/// Elements that a fold loads and that several results share.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The access.
    pub place: Place,
    /// Whether there is one for each row of results, and all columns share it; or the other way round.
    pub of_rows: bool,
    /// Whether neighbours in memory belong to neighbouring results rather than to neighbouring terms of a fold.
    pub along_results: bool,
}

/// How a nest suits tiles; why not otherwise.
pub fn tiled(program: &Program, func: &Func, map: &Map) -> Result<Tiled, Refusal> {
    let ([.., row, column], true) = (&map.iters[..], map.folds.is_empty()) else {
        return Err(SHAPE.refused(span_of(map), "the outermost map has not rows and columns of results"));
    };
    if map.iters.len() > 2 + MOST_OUTER {
        return Err(SHAPE.refused(span_of(map), "the outermost map has too many iterators"));
    }
    let [inner] = inner_maps(&map.body)[..] else {
        return Err(SHAPE.refused(span_of(map), "an iteration has not exactly one map inside"));
    };
    let [depth] = &inner.iters[..] else {
        return Err(SHAPE.refused(span_of(inner), "the map inside has not exactly one iterator"));
    };
    if let Some(of) = [map, inner].into_iter().find(|map| map.directives.unroll.is_some()) {
        let at = of.directives.spans.unroll.unwrap_or(span_of(of));
        return Err(NAMED
            .refused(at, "a directive says how often the fold's loop is written out, which tiles decide themselves"));
    }
    if let Some(iter) = map.iters.iter().chain([depth]).find(|iter| iter.step.as_int() != Some(1)) {
        return Err(SHAPE.refused(iter.span, "an iterator does not advance by one"));
    }
    if effects::may_fault(program, &func.vars, &map.body) {
        return Err(FAULT_ORDER.refused(
            blame::check(program, func, map),
            "a check remains inside, which cannot run in the middle of a tile",
        ));
    }
    let plain = map.body.stmts.iter().skip_while(|stmt| matches!(stmt.kind, StmtKind::Declare { .. }));
    let plain: Vec<_> = plain.cloned().collect();
    let Some(StmtKind::Map(first)) = plain.first().map(|stmt| &stmt.kind) else {
        return Err(ORDER.refused(
            plain.first().map_or(span_of(map), |stmt| stmt.span),
            "something other than declarations stands before the fold",
        ));
    };
    let rest = hidp_ir::par::Block { stmts: plain[1..].to_vec() };
    if first != inner || !straight(program, func, &inner.body) || !straight(program, func, &rest) {
        let at = if straight(program, func, &rest) { &inner.body } else { &rest };
        return Err(ORDER.refused(blame::plain(program, func, at, inner), "a statement inside is no plain computation"));
    }
    if ![row, column].iter().all(|iter| bounds_do_not_depend(inner, iter.var)) {
        return Err(RAGGED.refused(depth.span, "the length of the folds is not the same for all results"));
    }
    let mut widest = folded(func, map, inner)?;
    let operands = operands(program, func, map, inner)?;
    let of_rows = operands.iter().filter(|operand| operand.of_rows).count();
    if of_rows == 0 || of_rows == operands.len() {
        return Err(GAIN.refused(span_of(inner), "no elements are shared by rows and others by columns of results"));
    }
    for operand in &operands {
        widest = widest.max(size_of(func, operand.place.array).unwrap_or(0));
    }
    Ok(Tiled { operands, widest })
}

/// Bytes of the widest fold. Folds leave scalars of the iteration.
fn folded(func: &Func, map: &Map, inner: &Map) -> Result<u32, Refusal> {
    let locals: OrdSet<VarId> = visit::declared(&map.body).into_iter().collect();
    let mut widest = 0;
    for fold in &inner.folds {
        let (Target::Scalar(target), Some(scalar)) = (&fold.target, fold.op.ty.scalar()) else {
            return Err(ORDER.refused(fold.span, "a fold does not leave a scalar"));
        };
        let read = reads(inner).contains(target);
        if fold.kind != FoldKind::Reduce || fold.op.neutral.is_none() || !locals.contains(target) || read {
            return Err(SEQUENCE.refused(fold.span, "a fold has no neutral element, or is one of prefixes"));
        }
        widest = widest.max(scalar.size() as u32);
    }
    let array = locals.iter().map(|var| &func.vars[*var]).find(|var| var.is_array());
    match (array, widest) {
        (Some(array), _) => Err(MEMORY_SIZE.refused(array.span, "an iteration declares an array")),
        (None, 0) => Err(SHAPE.refused(span_of(inner), "the map inside folds nothing")),
        (None, _) => Ok(widest),
    }
}

fn reads(map: &Map) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    visit::walk_vars(&map.body, |var, role| {
        if role == Role::Read {
            found.insert(var);
        }
    });
    found
}

/// The accesses that results share; those that depend on neither rows nor columns stay as they are.
fn operands(program: &Program, func: &Func, map: &Map, inner: &Map) -> Result<Vec<Operand>, Refusal> {
    let [.., row, column] = &map.iters[..] else { return Ok(Vec::new()) };
    let Some(depth) = inner.iters.last() else { return Ok(Vec::new()) };
    let written = Effects::of_block(program, &func.vars, &map.body).writes;
    let declared = Effects::of_block(program, &func.vars, &inner.body).declares;
    let outer: OrdSet<VarId> = visit::declared(&map.body).into_iter().collect();
    let is_iterator = |var: &VarId| func.vars[*var].kind == VarKind::Iter;
    let varying: OrdSet<VarId> = declared.union(&outer).copied().filter(|var| !is_iterator(var)).collect();
    let mut found: Vec<Operand> = Vec::new();
    let mut wrong = None;
    visit::walk_places(&inner.body, |place, role| {
        let stride = |var: VarId| stride_of(place, var, &varying);
        let (rows, columns, terms) = (stride(row.var), stride(column.var), stride(depth.var));
        if role != Role::Read || written.contains(&place.array) {
            wrong = Some(SECTION.refused(place.span, "a fold loads what the nest writes"));
        } else if [rows, columns, terms].contains(&Stride::Irregular) {
            wrong = Some(SECTION.refused(place.span, "a load inside a fold goes where data says"));
        } else if rows != Stride::Invariant && columns != Stride::Invariant {
            wrong = Some(GAIN.refused(place.span, "a load inside a fold is of one result alone"));
        } else if (rows, columns) != (Stride::Invariant, Stride::Invariant)
            && !found.iter().any(|known| same::place(&known.place, place))
        {
            if size_of(func, place.array).is_none() || !place.path.is_empty() {
                wrong = Some(SECTION.refused(place.span, "a fold loads structs"));
            }
            let own = if rows == Stride::Invariant { columns } else { rows };
            let along_results = own == Stride::Unit || terms != Stride::Unit;
            found.push(Operand { place: place.clone(), of_rows: rows != Stride::Invariant, along_results });
        }
    });
    wrong.map_or(Ok(found), Err)
}

fn size_of(func: &Func, array: VarId) -> Option<u32> {
    func.vars[array].ty.scalar().map(Scalar::size).map(|size| size as u32)
}

/// The nest with such tiles.
pub(super) fn tiled_nest(
    program: &Program,
    func: &Func,
    map: &Map,
    tiled: &Tiled,
    (tile, model): (&DeviceTile, &DeviceModel),
) -> Mapping {
    tiled_nest_with(program, func, map, tiled, (tile, model), (tiled.vector(model), [None; 2]))
}

/// The same with accesses of so many elements, and so many blocks along rows and columns.
fn tiled_nest_with(
    program: &Program,
    func: &Func,
    map: &Map,
    tiled: &Tiled,
    (tile, model): (&DeviceTile, &DeviceModel),
    (vector, blocks): (u32, [Option<u32>; 2]),
) -> Mapping {
    let mut mapping = Mapping::new(Strategy::Device(Level::Block));
    for (at, iter) in map.iters.iter().rev().enumerate() {
        let side = match at {
            0 => tile.columns,
            1 => tile.rows,
            _ => 1,
        };
        let level = LevelPlan { exec: Exec::Device(Level::Block), dim: at as u32, tile: side };
        mapping.levels.insert(iter.var, level);
    }
    for iter in inner_maps(&map.body).into_iter().flat_map(|inner| &inner.iters) {
        mapping.levels.insert(iter.var, LevelPlan { exec: Exec::Seq, dim: 0, tile: tile.depth });
    }
    mapping.staging = tiled.staging([tile.rows, tile.columns], tile.depth, vector);

    mapping.blocks.extend(key(map).map(|key| (key, tile.threads())));
    if tile.split > 0 && splits(program, func, map).is_ok() {
        deal(map, &mut mapping, tile.split, tile.depth * model.split.depths);
    }
    let (rows, columns) = (tile.lane_rows, tile.lane_columns);
    mapping.recipe = Recipe::Tiled(Tiling { tiled: tiled.clone(), rows, columns, vector, blocks });
    choices::choose_on_device(program, func, map, &mut mapping, model);
    mapping
}

/// Rows or columns of tiles, as far as they are pinned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    /// Blocks that share the tiles.
    pub(super) blocks: Option<u32>,
    /// Lanes.
    pub(super) lanes: Option<u32>,
    /// Results of a lane.
    pub(super) own: Option<u32>,
}

/// Tiles, as far as they are pinned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub(super) rows: Side,
    pub(super) columns: Side,
    /// Terms of the folds at a time.
    pub(super) depth: Option<u32>,
    /// Copies of the parts of operands, at least.
    pub(super) copies: u32,
}

/// Copies of the part of an operand: while lanes use one, the next one comes to the other.
pub(super) const MOST_COPIES: u32 = 2;

/// Most elements of 4 bytes that a lane keeps in registers for results.
const MOST_RESULTS: u32 = 128;

/// The nest with such tiles. What is not said is as in the first tile of the model with which the rest goes.
pub(super) fn tiled_with(
    program: &Program,
    func: &Func,
    map: &Map,
    tiled: &Tiled,
    sides: &Sides,
    model: &DeviceModel,
) -> Result<Mapping, Refusal> {
    let mut first = None;
    for usual in model.tiles.iter().filter(|tile| tile.split == 0 && tiled.widest <= tile.widest) {
        let tile = DeviceTile {
            rows: sides.rows.tile(usual.rows, usual.lane_rows),
            columns: sides.columns.tile(usual.columns, usual.lane_columns),
            lane_rows: sides.rows.own.unwrap_or(usual.lane_rows),
            lane_columns: sides.columns.own.unwrap_or(usual.lane_columns),
            ..*usual
        };
        for depth in sides.depth.map_or(vec![usual.depth, 16, 32], |depth| vec![depth]) {
            match fitting(func, map, tiled, (&DeviceTile { depth, ..tile }, sides.copies), model) {
                Ok(vector) => {
                    let tile = DeviceTile { depth, ..tile };
                    let blocks = [sides.rows.blocks, sides.columns.blocks];
                    return Ok(tiled_nest_with(program, func, map, tiled, (&tile, model), (vector, blocks)));
                }
                Err(why) => {
                    first.get_or_insert(why);
                }
            }
        }
    }
    Err(first.unwrap_or_else(|| REGISTERS.refused(span_of(map), "elements are wider than those of any tile")))
}

impl Side {
    /// Results of a block along this side.
    fn tile(self, usual: u32, usual_own: u32) -> u32 {
        let lanes = self.lanes.unwrap_or(usual / usual_own.max(1));
        lanes.saturating_mul(self.own.unwrap_or(usual_own))
    }
}

/// Elements that one access moves in such a tile; why the nest cannot have it otherwise.
pub(super) fn fitting(
    func: &Func,
    map: &Map,
    tiled: &Tiled,
    (tile, copies): (&DeviceTile, u32),
    model: &DeviceModel,
) -> Result<u32, Refusal> {
    let at = span_of(map);
    let part = u64::from(tile.rows.max(tile.columns)) * u64::from(tile.depth);
    if part > u64::from(model.shared) {
        let why = format!("{part} elements of an operand do not fit into the {} bytes of a block", model.shared);
        return Err(BLOCK_SHARED.refused(at, why));
    }
    let lanes = |side: u32, own: u32| side / own.max(1);
    let threads = lanes(tile.rows, tile.lane_rows).saturating_mul(lanes(tile.columns, tile.lane_columns));
    if !model.is_block(threads) {
        let (warp, most) = (model.warp, model.most_threads);
        let why = format!("{threads} threads are no multiple of {warp}, or more than {most}");
        return Err(BLOCK_THREADS.refused(at, why));
    }
    results_fit(map, tile.lane_rows, tile.lane_columns, tiled.widest)?;
    let mut vector = tiled.vector(model);
    while vector > 1 && !has_equal_shares(tile, threads, vector) {
        vector /= 2;
    }
    if tile.depth == 0 || !has_equal_shares(tile, threads, vector) {
        return Err(no_equal_shares(map, (tile.rows, tile.columns, tile.depth), threads));
    }
    let bytes = |staging: &Staging| {
        let staging = Staging { buffers: copies, ..staging.clone() };
        size_of(func, staging.array).map_or(0, |size| u64::from(staging.bytes(size)))
    };
    let staging = tiled.staging([tile.rows, tile.columns], tile.depth, vector);
    let taken: u64 = staging.iter().map(bytes).sum();
    if taken > u64::from(model.shared) {
        let why =
            format!("the parts of a tile, {copies} of each, take {taken} bytes, and a block has {}", model.shared);
        return Err(BLOCK_SHARED.refused(at, why));
    }
    Ok(vector)
}

/// The same of lines that say all of it.
pub(super) fn fits_shares(map: &Map, mapping: &Mapping, tiling: &Tiling) -> Result<(), Refusal> {
    let tile = |var: VarId| mapping.levels.get(&var).map_or(0, |level| level.tile);
    let ([.., row, column], [inner]) = (&map.iters[..], &inner_maps(&map.body)[..]) else { return Ok(()) };
    let (rows, columns) = (tile(row.var), tile(column.var));
    let depth = key(inner).map_or(0, tile);
    let threads = mapping.blocks.values().next().copied().unwrap_or(0);
    results_fit(map, tiling.rows, tiling.columns, tiling.tiled.widest)?;
    let equal = |side: u32, own: u32| has_equal_share(side, own, depth, threads, tiling.vector);
    if depth > 0 && threads > 0 && equal(rows, tiling.rows) && equal(columns, tiling.columns) {
        return Ok(());
    }
    Err(no_equal_shares(map, (rows, columns, depth), threads))
}

fn results_fit(map: &Map, rows: u32, columns: u32, widest: u32) -> Result<(), Refusal> {
    let results = rows.saturating_mul(columns);
    if results.saturating_mul(widest.div_ceil(4)) <= MOST_RESULTS {
        return Ok(());
    }
    let why =
        format!("{results} results of a lane, of {widest} bytes each, are more than {MOST_RESULTS} registers hold");
    Err(REGISTERS.refused(span_of(map), why))
}

fn no_equal_shares(map: &Map, (rows, columns, depth): (u32, u32, u32), threads: u32) -> Refusal {
    let why = format!(
        "{depth} terms of {rows} rows, or of {columns} columns, cannot be shared out equally over {threads} lanes"
    );
    SHARES.refused(span_of(map), why)
}

/// Whether the lanes load as much of each operand, so many neighbours at once.
fn has_equal_shares(tile: &DeviceTile, threads: u32, vector: u32) -> bool {
    let equal = |side: u32, own: u32| has_equal_share(side, own, tile.depth, threads, vector);
    equal(tile.rows, tile.lane_rows) && equal(tile.columns, tile.lane_columns)
}

fn has_equal_share(side: u32, own: u32, depth: u32, threads: u32, vector: u32) -> bool {
    let (elements, at_once) = (u64::from(side) * u64::from(depth), u64::from(threads) * u64::from(vector));
    own > 0 && own.is_multiple_of(vector) && side.is_multiple_of(own) && elements.is_multiple_of(at_once)
}

/// Whether the operands of such a tile fit into shared memory.
pub(super) fn fits(func: &Func, tiled: &Tiled, tile: &DeviceTile, model: &DeviceModel) -> bool {
    let bytes = |staging: &Staging| size_of(func, staging.array).map(|size| staging.bytes(size));
    let all: Option<u32> =
        tiled.staging([tile.rows, tile.columns], tile.depth, tiled.vector(model)).iter().map(bytes).sum();
    all.is_some_and(|bytes| bytes <= model.shared)
}

/// Whether a nest runs in such tiles.
pub(super) fn has_tile(map: &Map, mapping: &Mapping, tile: &DeviceTile) -> bool {
    let sides = map.iters.iter().map(|iter| mapping.levels.get(&iter.var).map_or(1, |level| level.tile));
    let sides: Vec<u32> = sides.collect();
    let tiled = matches!(mapping.recipe, Recipe::Tiled(_));
    tiled && sides.ends_with(&[tile.rows, tile.columns]) && mapping.is_split() == (tile.split > 0)
}

impl Tiled {
    /// Elements that one access moves, where they are neighbours.
    pub(super) fn vector(&self, model: &DeviceModel) -> u32 {
        (model.moved_bytes / self.widest).min(model.moved_elements).max(1)
    }

    /// The parts of operands that a block keeps for tiles of so many rows and columns, and so many terms of the fold. They are stored with
    /// neighbouring results next to each other, so that a lane loads those of its own at once. Where that turns them around, rows are moved
    /// against each other so that lanes which store neighbouring terms meet different banks.
    pub(super) fn staging(&self, [rows, columns]: [u32; 2], terms: u32, vector: u32) -> Vec<Staging> {
        let part = |operand: &Operand| Staging {
            array: operand.place.array,
            turned: !operand.along_results,
            tile: vec![terms, if operand.of_rows { rows } else { columns }],
            buffers: MOST_COPIES,
            pad: if operand.along_results { 0 } else { vector },
        };
        self.operands.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::target::DeviceModel;
    use crate::testing::optimised;
    use crate::{Limits, Natives, Plan, explore_device};

    const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";

    /// The plan with the smallest tiles, and what became of all tiles.
    fn of(text: &str) -> (Option<Plan>, String) {
        let program = optimised(text);
        let explored =
            explore_device(&program, program.entries[0], &DeviceModel::cuda(), Limits::default(), Natives::default());
        let fates: Vec<String> = explored
            .candidates
            .iter()
            .filter(|row| row.name.starts_with("tiled"))
            .map(|row| format!("{} {}", row.name, row.fate))
            .collect();
        (explored.plans.into_iter().rfind(|plan| plan.name.starts_with("tiled")), fates.join(", "))
    }

    #[test]
    fn what_results_share_is_staged() {
        let (plan, fates) = of(GEMM);
        assert_eq!(
            fates,
            "tiled128x128 kept, tiled64x64_split kept, tiled64x64 kept, tiled32x32_split kept, tiled32x32 kept"
        );
        let text = plan.unwrap().to_string();
        let expected = "plan tiled32x32
nest
  m grid.y
  n grid.x
  k seq
  stage A shared(8x32) pad(4) bufs(2) wide(4) turned
  stage B shared(8x32) bufs(2) wide(4)
  k seq(8)
  m thread.y(8)
  n thread.x(8)
  m reg(4)
  n reg(4)
  block(64)
  warp_columns(8)
";
        assert_eq!(text, expected);
        let (plan, _) = of(&GEMM.replace("A[M][K]", "A[K][M]").replace("A[m][k]", "A[k][m]"));
        assert!(!plan.unwrap().to_string().contains("turned"), "rows of it are what the lanes want");
    }

    #[test]
    fn equal_loads_are_staged_once() {
        let (plan, fates) = of(&GEMM.replace("A[m][k] *", "A[m][k] * A[m][k] * A[m][k] * A[m][k] * A[m][k] *"));
        let stages = |plan: Option<Plan>| plan.unwrap().to_string().matches("  stage ").count();
        assert_eq!(stages(plan), stages(of(GEMM).0));
        assert!(fates.starts_with("tiled128x128 kept"), "{fates}");
    }

    #[test]
    fn operands_that_do_not_fit_exclude_a_tile() {
        let header = GEMM.replace("float", "double").replace("A[M][K]", "A[M][K], D[M][K], E[M][K], F[M][K], G[M][K]");
        let text = header.replace("A[m][k] *", "A[m][k] * D[m][k] * E[m][k] * F[m][k] * G[m][k] *");
        let why = "tiled32x32_split excluded: the operands of a tile would not fit into shared memory";
        assert_eq!(of(&text).1, format!("{why}, tiled32x32 kept"));
    }

    #[test]
    fn what_does_not_suit_says_why() {
        let why = |from: &str, to: &str| {
            assert!(GEMM.contains(from));
            of(&GEMM.replace(from, to)).1
        };
        let own = GEMM.replace("B[K][N]", "B[M][N]").replace("B[k][n]", "B[m][n]");
        assert_eq!(of(&own).1, "tiled excluded: a load inside a fold is of one result alone");
        assert_eq!(
            why("* B[k][n]", "* 2"),
            "tiled excluded: no elements are shared by rows and others by columns of results"
        );
        let ragged = GEMM.replace("k := [0:K);", "map { k := [m:K);").replace("_t, k := [*]); }", "_t, k := [*]); } }");
        assert_eq!(of(&ragged).1, "tiled excluded: the length of the folds is not the same for all results");
        assert_eq!(why("k := [0:K);", "k := [0:K:2);"), "tiled excluded: an iterator does not advance by one");
        let flat = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
        assert_eq!(of(flat).1, "");
    }
}
