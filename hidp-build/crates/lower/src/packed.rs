//! Compaction: elements that a prefix sum of conditions selects. Each thread counts the selected elements of its block, packs them into a tile
//! without branches (in vector lanes unless the condition has operands to skip), and moves the tile to the block's position. The prefixes are
//! never stored.

use super::space::Range;
use super::{Binding, ITERATORS, Lowerer, make};
use hidp_ir::imp::{Expr, KernelId, LoopKind, Prim, PrimArg, Stmt, VarId};
use hidp_ir::par::{self, BinOp, ExprKind, Map, visit};
use hidp_plan::notation::FoldOption;
use hidp_plan::{self as plan, Packed, PackedStore};
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

/// A block of iterations.
struct Part {
    range: Range,
    from: Expr,
    to: Expr,
    /// How many iterations before it count.
    before: Expr,
    /// Elements of a tile.
    tile: u32,
}

/// What is left to do of the next nest.
pub(super) enum Rest {
    Nothing,
    Of(Map),
}

impl<'a> Lowerer<'a> {
    /// What the next nest stores at the prefixes of this map, and elements of a tile, where the plan gathers it.
    pub(super) fn packed(&self, map: &Map) -> Option<(Packed<'a>, u32)> {
        let tile = self.option_of(map, FoldOption::Packs)?;
        Some((plan::packed(self.program, self.func, map)?, tile))
    }

    /// The second pass over blocks, of which `partial` holds the prefixes.
    pub(super) fn pack_blocks(
        &mut self,
        (packed, tile): (&Packed<'_>, u32),
        map: &Map,
        span: Span,
        ranges: &[Range],
        (block, total): (&Expr, &Expr),
        partial: VarId,
    ) -> (KernelId, Vec<Expr>) {
        self.kernel("pack", span, |this, begin, end| {
            let (range, total) = (this.import_ranges(ranges), this.import(total));
            let Some(range) = range.last().cloned() else { return this.defect(ITERATORS) };
            let partial = this.capture(partial);
            this.runs_loop(begin, end, (block, &total), &mut |this, run, from, to| {
                let before = make::load(make::element(partial, run), Ty::Scalar(packed.sum));
                let before = this.body.fix("before", make::cast(before, Scalar::I64));
                let part = Part { range: range.clone(), from, to, before, tile };
                this.pack_part(packed, map, &part);
            });
        })
    }

    /// What is left of the next nest, where the sum of all blocks is what its folds make.
    pub(super) fn leave_rest(&mut self, packed: &Packed<'_>, sum: VarId) {
        self.rest = Some(packed.rest().map_or(Rest::Nothing, Rest::Of));
        for total in &packed.totals {
            self.assign(*total, make::var(sum, Ty::Scalar(packed.sum)));
        }
    }

    fn pack_part(&mut self, packed: &Packed<'_>, map: &Map, part: &Part) {
        let tile = part.tile;
        let tiles: Vec<VarId> =
            packed.stores.iter().map(|store| self.body.tile("kept", store.value.ty, tile)).collect();
        let at = self.body.slot("at", Ty::LONG, Some(part.before.clone()));
        let turn = self.body.enter_loop("start");
        let start = make::var(turn, Ty::LONG);
        let stop = make::min(make::add(start.clone(), make::long(tile.into())), part.to.clone());
        let stop = self.body.fix("stop", stop);
        let count = self.body.slot("count", Ty::LONG, Some(make::long(0)));
        // Shorter tiles, which only pins ask for, fill no vector of bytes.
        if tile >= self.model.vector_bytes && is_eager(packed, map) {
            self.pack_in_lanes(packed, map, part, (&start, &stop), &tiles, count);
        } else {
            self.range_loop(&part.range, start.clone(), stop.clone(), LoopKind::Seq, &mut |this| {
                this.gather(packed, map, &tiles, count);
            });
        }
        let count = self.body.fix("kept", make::var(count, Ty::LONG));
        let first = self.body.fix("first", make::var(at, Ty::LONG));
        let Some(fits) = self.fit(packed, &first, &count) else { return };
        self.branch(
            fits,
            |this| this.move_tiles(packed, &tiles, &first, &count),
            |this| this.pack_in_order(packed, map, part, (start, stop), &first),
        );
        self.body.push(make::set(at, make::add(first, count)));
        self.body.leave_loop_step(turn, part.from.clone(), part.to.clone(), make::long(tile.into()), LoopKind::Seq);
    }

    /// What each iteration of a tile would store, and whether it counts; then what counts moves to the front.
    fn pack_in_lanes(
        &mut self,
        packed: &Packed<'_>,
        map: &Map,
        part: &Part,
        (start, stop): (&Expr, &Expr),
        tiles: &[VarId],
        count: VarId,
    ) {
        let length = self.body.fix("length", make::sub(stop.clone(), start.clone()));
        let marks = self.body.tile("marks", Ty::BOOL, part.tile);
        let first = self.body.fix("first", make::add(part.range.lo.clone(), start.clone()));
        let past = self.body.fix("past", make::add(first.clone(), length.clone()));
        // The loop counts in the range, so that borders can be found.
        let iteration = self.body.enter_loop("at");
        let value = make::var(iteration, Ty::LONG);
        let at = make::sub(value.clone(), first.clone());
        self.body.bindings.insert(part.range.var, Binding::Fixed(value));
        self.same_iteration(packed, map);
        for (store, tile) in packed.stores.iter().zip(tiles) {
            let value = self.expr(store.value);
            self.body.push(Stmt::Store { target: make::element(*tile, at.clone()), value });
        }
        let counts = self.expr(packed.condition);
        self.body.push(Stmt::Store { target: make::element(marks, at), value: counts });
        self.body.leave_loop(iteration, first, past, LoopKind::Simd { reductions: Vec::new() });
        tiles.iter().for_each(|tile| self.pack_tile(*tile, marks, &length, count));
    }

    /// Moves a tile's marked elements to its front.
    fn pack_tile(&mut self, tile: VarId, marks: VarId, length: &Expr, count: VarId) {
        let address = |base: VarId| PrimArg::Address { base, offset: make::long(0) };
        self.body.push(Stmt::Prim(Prim {
            function: "pack_marked".into(),
            header: "prim/pack.hpp".into(),
            template: Vec::new(),
            args: vec![address(tile), address(marks), PrimArg::Value(length.clone()), PrimArg::Out(count)],
            sites: Vec::new(),
        }));
    }

    /// An iteration: what it would store goes behind what is kept, and stays there if it counts.
    fn gather(&mut self, packed: &Packed<'_>, map: &Map, tiles: &[VarId], count: VarId) {
        self.same_iteration(packed, map);
        let place = self.body.fix("place", make::var(count, Ty::LONG));
        for (store, tile) in packed.stores.iter().zip(tiles) {
            let value = self.expr(store.value);
            self.body.push(Stmt::Store { target: make::element(*tile, place.clone()), value });
        }
        let counts = self.expr(packed.condition);
        let counts = make::select(counts, make::long(1), make::long(0));
        self.body.push(make::set(count, make::add(place, counts)));
    }

    /// The next nest's iterator is the map's.
    fn same_iteration(&mut self, packed: &Packed<'_>, map: &Map) {
        if let (Some(own), Some(next)) = (map.iters.last(), packed.next.iters.last()) {
            let value = self.read(own.var);
            self.body.bindings.insert(next.var, Binding::Fixed(value));
        }
    }

    /// Whether a tile keeps nothing, or all its places are inside of their arrays.
    fn fit(&mut self, packed: &Packed<'_>, first: &Expr, count: &Expr) -> Option<Expr> {
        let past = make::add(first.clone(), count.clone());
        let mut inside = Vec::new();
        for store in &packed.stores {
            let Binding::Array(array) = self.binding(store.place.array) else {
                self.defect("what is indexed is an array");
                return None;
            };
            inside.push(make::binary(BinOp::Le, past.clone(), array.extents[0].clone()));
        }
        inside.extend(as_counted(packed.sum, first, &past));
        let nothing = make::binary(BinOp::Eq, count.clone(), make::long(0));
        let all = inside.into_iter().reduce(|all, inside| make::binary(BinOp::And, all, inside))?;
        Some(make::binary(BinOp::Or, nothing, all))
    }

    fn move_tiles(&mut self, packed: &Packed<'_>, tiles: &[VarId], first: &Expr, count: &Expr) {
        for (PackedStore { place, value }, tile) in packed.stores.iter().zip(tiles) {
            let Binding::Array(array) = self.binding(place.array) else {
                return self.defect("what is indexed is an array");
            };
            self.body.mark_written(array.base);
            let lane = self.body.enter_loop("lane");
            let at = make::var(lane, Ty::LONG);
            let target = make::element(array.base, make::add(first.clone(), at.clone()));
            let value = make::load(make::element(*tile, at), value.ty);
            self.body.push(Stmt::Store { target, value });
            self.body.leave_loop(lane, make::long(0), count.clone(), LoopKind::Simd { reductions: Vec::new() });
        }
    }

    /// Iterations one after the other, up to the first place that is outside.
    fn pack_in_order(
        &mut self,
        packed: &Packed<'_>,
        map: &Map,
        part: &Part,
        (start, stop): (Expr, Expr),
        first: &Expr,
    ) {
        let at = self.body.slot("at", Ty::LONG, Some(first.clone()));
        self.range_loop(&part.range, start, stop, LoopKind::Seq, &mut |this| {
            this.same_iteration(packed, map);
            let counts = this.expr(packed.condition);
            this.body.enter();
            for PackedStore { place, value } in &packed.stores {
                let Binding::Array(array) = this.binding(place.array) else {
                    return this.defect("what is indexed is an array");
                };
                // Where it counts in 32 bits, the place wraps.
                let index = make::cast(make::cast(make::var(at, Ty::LONG), packed.sum), Scalar::I64);
                let index = this.body.fix("index", index);
                let value = this.expr(value);
                this.require_index(index.clone(), array.extents[0].clone(), 0, place.span);
                let target = make::element(array.base, index);
                this.body.push(Stmt::Store { target, value });
            }
            this.body.push(make::set(at, make::add(make::var(at, Ty::LONG), make::long(1))));
            let taken = this.body.leave();
            this.body.push(make::when(counts, taken.stmts));
        });
    }
}

/// That places from `first` to `past` are what a sum of this type gives.
fn as_counted(sum: Scalar, first: &Expr, past: &Expr) -> Vec<Expr> {
    if sum == Scalar::I64 {
        return Vec::new();
    }
    let not_negative = make::binary(BinOp::Ge, first.clone(), make::long(0));
    vec![not_negative, make::binary(BinOp::Le, past.clone(), make::long(i32::MAX.into()))]
}

/// Whether the condition computes all of its operands, but for borders, where the loop is cut. The compiler takes branches for others, and no
/// lanes. (Values have no such operands.)
fn is_eager(packed: &Packed<'_>, map: &Map) -> bool {
    let at_border = |left: &par::Expr| map.iters.last().is_some_and(|iter| is_border(left, iter.var));
    let mut eager = true;
    visit::walk_subexprs(packed.condition, |node| {
        eager &= !matches!(&node.kind, ExprKind::Lazy { left, .. } if !at_border(left));
    });
    eager
}

/// Whether a condition compares an iterator with a number.
fn is_border(cond: &par::Expr, iter: par::VarId) -> bool {
    let ExprKind::Binary { op, left, right, .. } = &cond.kind else { return false };
    let is = |expr: &par::Expr| expr.kind == ExprKind::Read(iter);
    op.is_comparison() && (is(left) && right.as_int().is_some() || is(right) && left.as_int().is_some())
}
