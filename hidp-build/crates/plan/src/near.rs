//! Arrays that a block stages in shared memory: those that neighbouring iterations share (stencils), and those that lanes would load with
//! a stride (transposed ones).

use super::blame::{self, span_of};
use super::device_levels::is_ordered;
use super::mapping::{Exec, LevelPlan, Mapping, Recipe, Staging, Strategy, key};
use super::refusal::{BLOCK_SHARED, GAIN, ORDER, Refusal, SEQUENCE, SHAPE};
use super::shape::{Stride, straight, stride_of};
use crate::target::DeviceModel;
use hidp_ir::par::effects::{Effects, may_fault};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{
    Access, BinOp, Expr, ExprKind, Fold, FoldFn, FoldKind, Func, Map, Place, Program, StmtKind, UnOp, VarId, VarKind,
};
use hidp_syntax::ast::{Direction, Level};
use hidp_syntax::ty::Ty;

/// The position of an iterator, if there is one, and what is added to it.
pub(super) type Offset = (Option<usize>, i64);

/// How a nest runs with parts of arrays in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Position of the iterator that lanes next to each other take.
    pub lanes: usize,
    /// Position of the other iterator of a tile.
    pub rows: usize,
    /// Position of the third iterator, if there is one.
    pub third: Option<usize>,
    /// Offsets along the third iterator, lowest and highest, if a block takes planes one after the other.
    pub march: Option<(i64, i64)>,
    /// What is staged.
    pub arrays: Vec<NearArray>,
}

/// An array that is staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearArray {
    /// Which.
    pub var: VarId,
    /// One for each dimension.
    pub dims: Vec<NearDim>,
    /// Different elements that an iteration reads.
    pub reads: usize,
    /// Whether lanes would load it with gaps.
    pub across: bool,
}

/// What an array's dimension is indexed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearDim {
    /// An iterator and an offset.
    Along {
        /// Position of the iterator.
        iter: usize,
        /// Lowest offset.
        low: i64,
        /// Highest offset.
        high: i64,
    },
    /// A constant.
    Fixed(i64),
}

/// What a nest would keep near: what lanes would load with gaps, and those of the other arrays that neighbours share that are `worth` it.
pub fn near(program: &Program, func: &Func, map: &Map, worth: &dyn Fn(&NearArray) -> bool) -> Result<Near, Refusal> {
    if !map.folds.iter().all(is_free) {
        return Err(SEQUENCE.refused(span_of(map), "the map folds what its iterations leave in order"));
    }
    if !(2..=3).contains(&map.iters.len()) || map.iters.iter().any(|iter| iter.step.as_int() != Some(1)) {
        return Err(SHAPE.refused(span_of(map), "the map has not two or three iterators of step 1"));
    }
    if !straight(program, func, &map.body) || may_fault(program, &func.vars, &map.body) {
        return Err(
            ORDER.refused(blame::unfit(program, func, map), "an iteration has loops, inner maps, arrays or checks")
        );
    }
    let lanes = lanes_of(map)
        .ok_or_else(|| GAIN.refused(span_of(map), "lanes next to each other would not store next to each other"))?;
    let arrays = readable(program, func, map);
    let across = arrays.iter().find_map(|array| rows_across(array, lanes));
    let halo = || arrays.iter().filter(|array| worth(array)).find_map(|array| rows_along(array, lanes));
    let rows = across.or_else(halo).ok_or_else(|| no_reuse(map))?;
    let third = (0..map.iters.len()).find(|at| ![lanes, rows].contains(at));
    let mut near = Near { lanes, rows, third, march: None, arrays };
    near.arrays.retain_mut(|array| keep(array, (lanes, rows, third), across.is_some(), worth));
    if near.arrays.is_empty() {
        return Err(no_reuse(map));
    }
    near.march = near.offsets(third).filter(|(low, high)| low < high);
    if near.march.is_some() {
        near.arrays.retain(|array| third.is_some_and(|third| array.dim_of(third).is_some()));
    }
    Ok(near)
}

fn no_reuse(map: &Map) -> Refusal {
    GAIN.refused(span_of(map), "no array is read by enough neighbouring iterations, or with gaps")
}

/// Whether values of any tiles can be folded in any order.
fn is_free(fold: &Fold) -> bool {
    fold.kind == FoldKind::Reduce && !is_ordered(fold) && !matches!(fold.op.func, FoldFn::Fn(_))
}

/// Whether an array is staged with these iterators; then whether lanes would load it with gaps.
fn keep(
    array: &mut NearArray,
    (lanes, rows, third): (usize, usize, Option<usize>),
    across: bool,
    worth: &dyn Fn(&NearArray) -> bool,
) -> bool {
    let [lane_dim, row_dim] = [lanes, rows].map(|iter| array.dim_of(iter));
    let (Some(lane_dim), Some(row_dim)) = (lane_dim, row_dim) else { return false };
    array.across = row_dim + 1 == array.dims.len();
    let deep = third.and_then(|third| array.dim_of(third)).is_some_and(|dim| {
        let NearDim::Along { low, high, .. } = array.dims[dim] else { return false };
        low < high
    });
    let near = lane_dim + 1 == array.dims.len() && worth(array);
    (array.across || near) && !(deep && across)
}

impl Near {
    /// The lowest and highest offset along an iterator.
    fn offsets(&self, along: Option<usize>) -> Option<(i64, i64)> {
        let dims = self.arrays.iter().flat_map(|array| &array.dims);
        let found = dims.filter_map(|dim| match dim {
            NearDim::Along { iter, low, high } if Some(*iter) == along => Some((*low, *high)),
            NearDim::Along { .. } | NearDim::Fixed(_) => None,
        });
        found.reduce(|(low, high), (lower, higher)| (low.min(lower), high.max(higher)))
    }

    /// The parts of arrays that a block keeps for tiles of so many iterations along the lanes and across.
    pub(super) fn staging(&self, tile: (u32, u32)) -> Vec<Staging> {
        self.arrays.iter().map(|array| self.part(array, tile)).collect()
    }

    /// Planes, rows and columns of an array, in its own order.
    fn part(&self, array: &NearArray, (width, height): (u32, u32)) -> Staging {
        let side = |iter: usize, tile: u32| (array.dim_of(iter), tile.saturating_add(array.reach(iter).1 - 1));
        let mut sides = [side(self.lanes, width), side(self.rows, height)];
        sides.sort_unstable();
        let planes = self.march.map_or(1, |(low, high)| (high - low + 1) as u32);
        let tile: Vec<u32> = std::iter::once(planes).chain(sides.iter().map(|(_, extent)| *extent)).collect();
        let row = sides.last().map_or(1, |(_, extent)| *extent);
        // Lanes that go down a column meet a bank each.
        let pad = if array.across { 1 - row % 2 } else { 0 };
        Staging { array: array.var, turned: false, tile, buffers: 1, pad }
    }

    /// Iterations of a tile along the lanes and across.
    fn tile(&self, model: &DeviceModel) -> (u32, u32) {
        match self.march {
            _ if self.arrays.iter().any(|array| array.across) => model.near.across,
            Some(_) => model.near.deep,
            None => model.near.flat,
        }
    }
}

impl NearArray {
    /// The dimension that an iterator indexes.
    pub fn dim_of(&self, iter: usize) -> Option<usize> {
        self.dims.iter().position(|dim| matches!(dim, NearDim::Along { iter: other, .. } if *other == iter))
    }

    /// Lowest offset along an iterator, and how many there are.
    pub fn reach(&self, iter: usize) -> (i64, u32) {
        let dim = self.dim_of(iter).map(|dim| self.dims[dim]);
        match dim {
            Some(NearDim::Along { low, high, .. }) => (low, (high - low + 1) as u32),
            Some(NearDim::Fixed(_)) | None => (0, 1),
        }
    }
}

/// The iterator along which every store goes to the next element.
fn lanes_of(map: &Map) -> Option<usize> {
    let none = hidp_syntax::ordered::OrdSet::new();
    let all_near = |at: &usize| {
        let (mut stores, mut near) = (0, 0);
        visit::walk_places(&map.body, |place, role| {
            if role != Role::Read {
                stores += 1;
                near += usize::from(stride_of(place, map.iters[*at].var, &none) == Stride::Unit);
            }
        });
        stores > 0 && stores == near
    };
    (0..map.iters.len()).rev().find(all_near)
}

/// The iterator of the last dimension, of an array that lanes would load with gaps.
fn rows_across(array: &NearArray, lanes: usize) -> Option<usize> {
    match array.dims.last() {
        Some(NearDim::Along { iter, .. }) if *iter != lanes => array.dim_of(lanes).map(|_| *iter),
        Some(NearDim::Along { .. } | NearDim::Fixed(_)) | None => None,
    }
}

/// The iterator of the dimension before the last, of an array that neighbouring iterations share.
fn rows_along(array: &NearArray, lanes: usize) -> Option<usize> {
    match &array.dims[..] {
        [.., NearDim::Along { iter: rows, .. }, NearDim::Along { iter, .. }] if *iter == lanes => Some(*rows),
        _ => None,
    }
}

/// The arrays of scalars that a nest reads and does not write, where all elements hold something and every index is an iterator with an
/// offset or a constant.
fn readable(program: &Program, func: &Func, map: &Map) -> Vec<NearArray> {
    let written = Effects::of_block(program, &func.vars, &map.body).writes;
    let mut vars: Vec<VarId> = Vec::new();
    visit::walk_places(&map.body, |place, _| {
        if !vars.contains(&place.array) {
            vars.push(place.array);
        }
    });
    let whole = |var: &VarId| matches!(func.vars[*var].ty, Ty::Scalar(_)) && is_full(func, *var);
    let vars = vars.into_iter().filter(|var| !written.contains(var) && whole(var));
    vars.filter_map(|var| read_array(map, var)).collect()
}

/// Whether every element of an array holds something, also those that iterations leave out.
fn is_full(func: &Func, var: VarId) -> bool {
    match func.vars[var].kind {
        VarKind::Param(direction) => direction != Direction::Output,
        VarKind::Local => {
            let (mut zeros, mut swapped) = (false, false);
            visit::walk_stmts(&func.body, |stmt| {
                zeros |= matches!(stmt.kind, StmtKind::Declare { var: declared, zero: true } if declared == var);
                swapped |= matches!(stmt.kind, StmtKind::Swap(a, b) if [a, b].contains(&var));
            });
            zeros && !swapped
        }
        VarKind::Iter | VarKind::Dim => false,
    }
}

fn read_array(map: &Map, var: VarId) -> Option<NearArray> {
    let mut places: Vec<Option<Vec<Offset>>> = Vec::new();
    visit::walk_places(&map.body, |place, _| {
        if place.array == var {
            places.push(indices(map, place));
        }
    });
    let mut places: Vec<Vec<Offset>> = places.into_iter().collect::<Option<_>>()?;
    places.sort_unstable();
    places.dedup();
    let first = places.first()?.clone();
    let mut dims = Vec::new();
    for (dim, (iter, _)) in first.iter().enumerate() {
        let offsets = places.iter().map(|place| place[dim].1);
        let (low, high) = (offsets.clone().min()?, offsets.max()?);
        let same = places.iter().all(|place| place[dim].0 == *iter);
        let once = iter.is_none() || first.iter().filter(|(other, _)| other == iter).count() == 1;
        dims.push(match iter {
            _ if !same || !once => return None,
            Some(iter) => NearDim::Along { iter: *iter, low, high },
            None if low == high => NearDim::Fixed(low),
            None => return None,
        });
    }
    Some(NearArray { var, dims, reads: places.len(), across: false })
}

/// The iterator and the offset of each dimension.
fn indices(map: &Map, place: &Place) -> Option<Vec<Offset>> {
    let plain = place.access == Access::Exclusive && place.path.is_empty();
    let iters: Vec<VarId> = map.iters.iter().map(|iter| iter.var).collect();
    if plain { place.index.iter().map(|index| index_offset(&iters, index)).collect() } else { None }
}

/// The iterator in an index, if any, by its position, and what is added. `None` where there is more.
pub fn index_offset(iters: &[VarId], index: &Expr) -> Option<(Option<usize>, i64)> {
    match &index.kind {
        ExprKind::Read(var) => iters.iter().position(|iter| iter == var).map(|at| (Some(at), 0)),
        ExprKind::Const(_) => i64::try_from(index.as_int()?).ok().map(|value| (None, value)),
        ExprKind::Unary(UnOp::Neg, operand) => match index_offset(iters, operand)? {
            (None, value) => Some((None, value.checked_neg()?)),
            (Some(_), _) => None,
        },
        ExprKind::Binary { op: BinOp::Add, left, right, .. } => {
            match (index_offset(iters, left)?, index_offset(iters, right)?) {
                ((iter, a), (None, b)) | ((None, a), (iter, b)) => Some((iter, a.checked_add(b)?)),
                ((Some(_), _), (Some(_), _)) => None,
            }
        }
        ExprKind::Binary { op: BinOp::Sub, left, right, .. } => {
            match (index_offset(iters, left)?, index_offset(iters, right)?) {
                ((iter, a), (None, b)) => Some((iter, a.checked_sub(b)?)),
                (_, (Some(_), _)) => None,
            }
        }
        ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// One nest of the plan that keeps parts of arrays in shared memory: see [`near`].
pub(super) fn near_nest(
    program: &Program,
    func: &Func,
    map: &Map,
    model: &DeviceModel,
    worth: &dyn Fn(&NearArray) -> bool,
) -> Result<Mapping, Refusal> {
    let near = near(program, func, map, worth)?;
    let (width, height) = near.tile(model);
    let exec = Exec::Device(Level::Block);
    let mut mapping = Mapping::new(Strategy::Device(Level::Block));
    for (at, iter) in map.iters.iter().enumerate() {
        let (exec, dim, tile) = match at {
            _ if at == near.lanes => (exec, 0, width),
            _ if at == near.rows => (exec, 1, height),
            _ if near.march.is_some() => (Exec::Seq, 2, model.near.planes),
            _ => (exec, 2, 1),
        };
        mapping.levels.insert(iter.var, LevelPlan { exec, dim, tile });
    }
    mapping.blocks.extend(key(map).map(|key| (key, map.directives.block.unwrap_or(model.block))));
    mapping.staging = near.staging((width, height));
    let size = |array: &NearArray| func.vars[array.var].ty.scalar().map_or(0, |scalar| scalar.size() as u32);
    let taken: u32 = near.arrays.iter().zip(&mapping.staging).map(|(array, part)| part.bytes(size(array))).sum();
    mapping.recipe = Recipe::Near(near);
    if taken > model.shared {
        Err(BLOCK_SHARED.refused(span_of(map), "the part of an array would not fit into shared memory"))
    } else {
        Ok(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::testing::optimised;

    /// What the last nest of a function keeps near, as a plan says it.
    fn kept(text: &str) -> Result<String, &'static str> {
        let program = optimised(text);
        let func = &program.funcs[program.entries[0]];
        let map = *nests(func).last().unwrap();
        let model = DeviceModel::cuda();
        let worth = |array: &NearArray| array.reads >= model.near.least_reads as usize;
        let lines = near_nest(&program, func, map, &model, &worth)
            .map_err(|refusal| refusal.constraint.id)?
            .lines(func, map)
            .to_string();
        let stages = lines.lines().filter_map(|line| line.trim().strip_prefix("stage "));
        Ok(stages.collect::<Vec<_>>().join("; "))
    }

    fn flat(body: &str) -> Result<String, &'static str> {
        let head = "function f input float a[H][W]; input int at[H]; inout float b[H][W];";
        kept(&format!("{head} {{ map {{ i := [1:H-2]; j := [1:W-2]; {body} }} }}"))
    }

    #[test]
    fn what_neighbours_share_is_kept_with_its_halo() {
        let found = flat("b[i][j] = a[i-1][j] + a[i][j+1] + a[i][j];");
        assert_eq!(found.as_deref(), Ok("a shared(17x65)"));
        let deep = "function f input double a[I][J][K]; inout double b[I][J][K];
            { map { i := [2:I-2]; j := [1:J-2]; k := [0:K); b[i][j][k] = a[i-2][j][k] + a[i][j-1][k] + a[i+1][j][k]; } }";
        assert_eq!(kept(deep).as_deref(), Ok("a shared(4x17x32) ring(4)"));
    }

    #[test]
    fn what_lanes_would_load_with_gaps_is_kept_with_rows_apart() {
        let found = kept(
            "function f input short a[H][W]; output short b[W][H]; { map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }",
        );
        assert_eq!(found.as_deref(), Ok("a shared(32x32) pad(1)"));
    }

    #[test]
    fn what_is_not_worth_it_or_cannot_be_is_left() {
        assert_eq!(flat("b[i][j] = a[i][j-1] + a[i][j+1];"), Err("gain"), "two loads are few");
        assert_eq!(flat("b[i][j] = a[at[i]][j] + a[i][j+1] + a[i+1][j];"), Err("order"), "a check remains");
        let wide = "function f input float a[H][W]; inout float b[H][V];
            { map { i := [1:H-2]; j := [1:min(W-2, V/2-1)]; b[i][2*j] = a[i-1][j] + a[i][j] + a[i+1][j]; } }";
        assert_eq!(kept(wide), Err("gain"), "stores have gaps");
        let row =
            "function f input float a[N]; inout float b[N]; { map { i := [1:N-2]; b[i] = a[i-1] + a[i] + a[i+1]; } }";
        assert_eq!(kept(row), Err("shape"));
        let folded = "function f input float a[H][W]; inout float b[H][W]; output float s;
            { map { i := [1:H-2]; j := [0:W); _t = a[i-1][j] + a[i][j] + a[i+1][j]; b[i][j] = _t; }
              reduce(\"+\", s, _t, i := [*], j := [*]); }";
        assert_eq!(kept(folded).as_deref(), Ok("a shared(18x64)"), "sums may be taken by tiles");
    }
}
