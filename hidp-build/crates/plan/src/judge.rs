//! Whether a device can run lines that the planner would not write itself: the constraints that follow from its model.

use super::blame::span_of;
use super::blocks;
use super::mapping::{Mapping, Recipe, Staging, Strategy, Tiling};
use super::refusal::{ALIGNED, BLOCK_SHARED, BLOCK_THREADS, Refusal};
use super::tiled::fits_shares;
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program};
use hidp_syntax::ast::Level;

/// Whether the nest can run so; nothing where its lines are those of levels, which are compared with the planner's.
pub(super) fn judge(
    program: &Program,
    func: &Func,
    map: &Map,
    mapping: &Mapping,
    model: &DeviceModel,
) -> Option<Result<(), Refusal>> {
    match &mapping.recipe {
        Recipe::Blocks(own) => Some(blocks::judge(program, func, map, own, model)),
        Recipe::Tiled(tiling) => Some(tiles(func, map, mapping, tiling, model)),
        Recipe::Near(_) => Some(shared(func, map, mapping, model).and_then(|()| full_warps(map, mapping, model))),
        Recipe::Plain if mapping.parts.is_some() || is_turned(program, func, map, mapping, model) => {
            Some(full_warps(map, mapping, model))
        }
        Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) => None,
    }
}

/// Whether single lanes take iterations along other dimensions of the grid than those of the program, which the nest allows.
fn is_turned(program: &Program, func: &Func, map: &Map, mapping: &Mapping, model: &DeviceModel) -> bool {
    let dims = map.iters.iter().rev().map(|iter| mapping.levels.get(&iter.var).map_or(0, |level| level.dim));
    mapping.strategy == Strategy::Device(Level::Thread)
        && dims.enumerate().any(|(at, dim)| dim != at as u32)
        && blocks::suits(program, func, map, model.small_array).is_ok()
}

fn tiles(func: &Func, map: &Map, mapping: &Mapping, tiling: &Tiling, model: &DeviceModel) -> Result<(), Refusal> {
    full_warps(map, mapping, model)?;
    aligned(map, mapping, tiling)?;
    fits_shares(map, mapping, tiling)?;
    shared(func, map, mapping, model)
}

/// Rows of what is staged begin where elements that move at once do.
fn aligned(map: &Map, mapping: &Mapping, tiling: &Tiling) -> Result<(), Refusal> {
    match mapping.staging.iter().find(|staging| !staging.pad.is_multiple_of(tiling.vector.max(1))) {
        Some(staging) => {
            let (pad, wide) = (staging.pad, tiling.vector);
            let why = format!("rows are {pad} elements longer than what they hold, of which {wide} move at once");
            Err(ALIGNED.refused(span_of(map), why))
        }
        None => Ok(()),
    }
}

/// What is staged fits into the memory of a block.
fn shared(func: &Func, map: &Map, mapping: &Mapping, model: &DeviceModel) -> Result<(), Refusal> {
    let bytes = |staging: &Staging| {
        let elements = staging.tile.iter().try_fold(1u64, |all, extent| all.checked_mul(u64::from(*extent)));
        let size = func.vars[staging.array].ty.scalar().map_or(1, |scalar| scalar.size() as u64);
        // Beyond what fits without padding its bytes do not matter.
        match elements.and_then(|elements| elements.checked_mul(size)) {
            Some(bytes) if bytes <= u64::from(model.shared) => u64::from(staging.bytes(size as u32)),
            Some(bytes) => bytes,
            None => u64::MAX,
        }
    };
    let taken = mapping.staging.iter().map(bytes).fold(0, u64::saturating_add);
    if taken <= u64::from(model.shared) {
        return Ok(());
    }
    let why = format!("what a block stages takes {taken} bytes, and it has {}", model.shared);
    Err(BLOCK_SHARED.refused(span_of(map), why))
}

fn full_warps(map: &Map, mapping: &Mapping, model: &DeviceModel) -> Result<(), Refusal> {
    match mapping.blocks.values().find(|threads| !model.is_block(**threads)) {
        Some(threads) => {
            let (warp, most) = (model.warp, model.most_threads);
            let why = format!("{threads} threads are no multiple of {warp}, or more than {most}");
            Err(BLOCK_THREADS.refused(span_of(map), why))
        }
        None => Ok(()),
    }
}
