//! Tiles of lanes over the iterations of a map inside: folds of each run outside of the lanes, which load neighbours.
//!
//! All threads together make the same tiles where an outer iteration is theirs, so results do not depend on how many threads there are.

use super::lanes::{Axis, Shape, Tile};
use super::space::Range;
use super::{ITERATORS, Lowerer, make};
use hidp_ir::imp::LoopKind;
use hidp_ir::par::{BinOp, Map};
use hidp_plan as plan;
use hidp_plan::notation::Property;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// A map in tiles of so many lanes.
pub(super) struct TilesInside {
    ranges: Vec<Range>,
    lanes: u32,
}

impl Lowerer<'_> {
    /// A map inside in tiles, where the plan has them and there are lanes enough; else as other maps.
    pub(super) fn in_tiles_or(
        &mut self,
        map: &Map,
        tiles: impl FnOnce(&mut Self, &TilesInside),
        others: impl FnOnce(&mut Self),
    ) {
        let most = self.mapping.number(Property::Within);
        let most = most.filter(|_| plan::key(map).is_some_and(|key| self.mapping.inside.contains(&key)));
        let Some(most) = most else { return others(self) };
        let ranges = self.ranges(map);
        let Some(range) = ranges.last() else { return self.defect(ITERATORS) };
        let count = range.count.clone();
        let few = self.few_lanes(&ranges, widest(map)).filter(|few| *few <= most);
        let lanes = TilesInside { ranges, lanes: few.unwrap_or(most) };
        let Some(fewest) = self.mapping.number(Property::Fewest) else { return tiles(self, &lanes) };
        match make::as_int(&count) {
            Some(count) if count >= fewest.into() => tiles(self, &lanes),
            Some(_) => others(self),
            None => {
                let many = make::binary(BinOp::Ge, count, make::long(fewest.into()));
                self.branch(many, |this| tiles(this, &lanes), others);
            }
        }
    }

    /// In a kernel: one tile after the other.
    pub(super) fn tiles_of_iteration(&mut self, map: &Map, TilesInside { ranges, lanes }: &TilesInside) {
        self.outer_loops(ranges, &mut |this, range| this.tiles_in_order(map, range, *lanes));
    }

    fn tiles_in_order(&mut self, map: &Map, range: &Range, lane_tile: u32) {
        let width = make::long(lane_tile.into());
        let tiles = make::ceil_div(range.count.clone(), width.clone());
        let at = self.body.enter_loop("column");
        let position = self.body.fix("lane", make::mul(make::var(at, Ty::LONG), width.clone()));
        let count = match make::as_int(&range.count) {
            Some(count) if count == i128::from(lane_tile) => width,
            Some(_) | None => {
                let left = make::sub(range.count.clone(), position.clone());
                self.body.fix("lanes", make::min(left, width))
            }
        };
        let first = self.body.fix("first", make::add(range.lo.clone(), position));
        let lanes = Axis { var: range.var, first, count: count.clone() };
        self.tile(map, &Tile { rows: None, lanes, lane_tile, size: lane_tile, folded_lanes: count });
        self.body.leave_loop(at, make::long(0), tiles, LoopKind::Seq);
    }

    /// On the host: tiles shared out over threads.
    pub(super) fn launch_tiles_of_iteration(&mut self, map: &Map, span: Span, tiles: &TilesInside) {
        let width = self.width_of_lanes(&tiles.ranges, tiles.lanes);
        let vector = self.model.vector_bytes / widest(map).max(1) as u32;
        let (ranges, lane_tile) = (tiles.ranges.clone(), tiles.lanes);
        self.launch_tiles(map, span, &Shape { ranges, rows: None, row_tile: 1, lane_tile, vector, width }, None);
    }
}

/// Bytes of the widest value that maps in this one fold.
fn widest(map: &Map) -> usize {
    let folds = plan::inner_maps(&map.body).into_iter().flat_map(|inner| &inner.folds);
    folds.filter_map(|fold| fold.op.ty.scalar()).map(|scalar| scalar.size()).max().unwrap_or(1)
}
