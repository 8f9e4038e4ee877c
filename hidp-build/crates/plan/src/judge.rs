//! Whether a device can run lines that the planner would not write itself: the constraints that follow from its model.

use super::blame::span_of;
use super::blocks;
use super::mapping::{Mapping, Recipe, Staging, Tiling};
use super::refusal::{BLOCK_SHARED, BLOCK_THREADS, Refusal};
use super::tiled::fits_shares;
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program};

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
        Recipe::Plain | Recipe::Lanes(_) | Recipe::Wide(_) => None,
    }
}

fn tiles(func: &Func, map: &Map, mapping: &Mapping, tiling: &Tiling, model: &DeviceModel) -> Result<(), Refusal> {
    full_warps(map, mapping, model)?;
    fits_shares(map, mapping, tiling)?;
    shared(func, map, mapping, model)
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
