//! Tiles of results whose folds are split: a block computes a tile of partial results.

use super::super::space::Range;
use super::super::{Lowerer, POSITIONS, make};
use super::grid::MOST_DIMENSIONS;
use super::split::{Dealt, Parts, Scratch};
use super::tiled::{Place, Tiling};
use hidp_ir::imp::{Expr, Grid, Level, Stmt, VarId};
use hidp_ir::par::Map;
use hidp_syntax::source::Span;

impl Lowerer<'_> {
    /// One block a tile and part.
    pub(super) fn split_tiles(&mut self, map: &Map, tiling: &Tiling, dealt: &Dealt<'_>, span: Span) {
        let ranges = self.ranges(map);
        let (_, results) = self.strides(&ranges);
        let terms = self.ranges(dealt.inner);
        let (_, total) = self.strides(&terms);
        let tiles = self.tiles(tiling, &ranges);
        let (run, parts) = self.runs_of_tiles(tiling, dealt, &tiles, &total);
        let scratch = self.scratch_of_parts(dealt.inner, results, parts, true);
        let shared = tiles.len() == MOST_DIMENSIONS;
        let dimensions = tiles.len() + usize::from(!shared);
        let grid = Grid::new(Level::Block, tiling.threads());
        let (kernel, args) = self.grid_kernel("part", span, grid, dimensions, Vec::new(), |this, positions| {
            let ranges = this.import_ranges(&ranges);
            let Some((first, rest)) = positions.split_first() else { return this.defect(POSITIONS) };
            let (part, positions) = if shared {
                let (part, own) = this.part_and_rest(first, ranges[0].count.clone());
                (part, std::iter::once(own).chain(rest.iter().cloned()).collect())
            } else {
                (first.clone(), rest.to_vec())
            };
            let run = this.import(&run);
            let from = this.body.fix("from", make::mul(part.clone(), run.clone()));
            if let Some(place) = this.tile_of_results(map, tiling, &ranges, &positions, Some((from, run))) {
                this.leave_results(&place, dealt.inner, &ranges, (&scratch, &part));
            }
        });
        let mut extents = tiles;
        if shared {
            extents[0] = self.body.fix("tiles", make::mul(scratch.parts.clone(), extents[0].clone()));
        } else {
            extents.insert(0, scratch.parts.clone());
        }
        self.body.push(Stmt::LaunchGrid { kernel, args, extents, most: None });
        // Results lie next to each other, and their parts are few: eight lanes fold those of one.
        self.combine_parts(map, dealt.inner, &ranges, &scratch, Level::Subwarp, span);
        scratch.partials.iter().for_each(|partial| self.body.push(Stmt::Free(*partial)));
    }

    /// The length of parts, a multiple of the tiles' depth, and how many there are.
    fn runs_of_tiles(&mut self, tiling: &Tiling, dealt: &Dealt<'_>, tiles: &[Expr], total: &Expr) -> (Expr, Expr) {
        let depth = make::long(tiling.depth.into());
        let all = tiles.iter().cloned().reduce(make::mul).unwrap_or(make::long(1));
        let (wanted, least) = match dealt.parts {
            Parts::Of { groups, terms } => {
                (make::div(make::long(groups.into()), make::max(all, make::long(1))), terms / tiling.depth.max(1))
            }
            Parts::Most(parts) => (make::long(parts.into()), 1),
        };
        let wanted = self.body.fix("wanted", make::max(wanted, make::long(1)));
        let equal = make::ceil_div(make::ceil_div(total.clone(), wanted), depth.clone());
        let depths = make::max(equal, make::long(least.into()));
        let run = self.body.fix("run", make::mul(depths, depth));
        let parts = self.body.fix("parts", make::ceil_div(total.clone(), run.clone()));
        (run, parts)
    }

    /// What lanes have of a part's results goes to its place.
    fn leave_results(&mut self, place: &Place, inner: &Map, ranges: &[Range], (scratch, part): (&Scratch, &Expr)) {
        let partials: Vec<VarId> = scratch.partials.iter().map(|partial| self.capture(*partial)).collect();
        partials.iter().for_each(|partial| self.body.mark_written(*partial));
        let results = self.import(&scratch.results);
        let first = self.body.fix("first", make::mul(part.clone(), results));
        self.each_result_there(place, |this, at| {
            let number = this.number_of(ranges);
            let to = this.body.fix("to", make::add(first, number));
            for ((fold, result), partial) in inner.folds.iter().zip(&place.results).zip(&partials) {
                let value = make::load(make::element(*result, at.clone()), fold.op.ty);
                this.body.push(Stmt::Store { target: make::element(*partial, to.clone()), value });
            }
        });
    }
}
