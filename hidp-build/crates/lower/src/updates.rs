//! Updates of threads' copies: lanes compute the places of a tile of iterations, those that update nothing a place between two copies, then
//! the elements are updated one after the other. Where a place is none the tile is done in order, which finds the first fault.

use super::build::{ArrayBinding, Binding};
use super::flagged::flag_is;
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{self, Element, Expr, LoopKind, Stmt};
use hidp_ir::par::{BinOp, Map, Place};
use hidp_plan::notation::Property;
use hidp_plan::{self as plan, Update};
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// How many iterations a tile of updates has, if the plan has those for a map and threads have copies here.
    pub(super) fn update_tile(&self, map: &Map) -> Option<u32> {
        let tile = self.mapping.number(Property::Updates)?;
        let update = plan::update(self.program, self.func, map)?;
        let own = match self.body.bindings.get(&update.place.array) {
            Some(Binding::Array(array)) => self.body.alone.contains(&array.base),
            Some(Binding::Fixed(_) | Binding::Slot { .. } | Binding::Lane(_)) | None => false,
        };
        own.then_some(tile)
    }

    /// Iterations at `[low, high)`, in tiles of so many.
    pub(super) fn updates_in_tiles(&mut self, map: &Map, range: &Range, (low, high): (Expr, Expr), tile: u32) {
        let Some(update) = plan::update(self.program, self.func, map) else {
            return self.defect("iterations of a tile of updates compute, and update an element");
        };
        let Binding::Array(copy) = self.binding(update.place.array) else {
            return self.defect("what is indexed is an array");
        };
        let places = self.body.tile("places", Ty::LONG, tile);
        let turn = self.body.enter_loop("start");
        let start = make::var(turn, Ty::LONG);
        let stop = make::min(make::add(start.clone(), make::long(tile.into())), high.clone());
        let stop = self.body.fix("stop", stop);
        let bad = self
            .flagged(&map.body, &[], |this| this.updated_places(map, &update, &copy, range, (&start, &stop), places));
        let count = make::sub(stop.clone(), start.clone());
        self.branch(
            flag_is(BinOp::Eq, bad),
            |this| this.update_all(&update, &copy, places, count),
            |this| {
                this.range_loop(range, start, stop, LoopKind::Seq, &mut |this| this.iteration(map, &[]));
            },
        );
        self.body.leave_loop_step(turn, low, high, make::long(tile.into()), LoopKind::Seq);
    }

    /// Computes in lanes which elements iterations update.
    fn updated_places(
        &mut self,
        map: &Map,
        update: &Update<'_>,
        copy: &ArrayBinding,
        range: &Range,
        (start, stop): (&Expr, &Expr),
        places: imp::VarId,
    ) {
        let first = self.body.fix("first", make::add(range.lo.clone(), start.clone()));
        // No copy begins where another one ends.
        let nowhere = copy.extents[0].clone();
        let kind = LoopKind::Simd { reductions: self.reductions(&[]) };
        self.range_loop(range, start.clone(), stop.clone(), kind, &mut |this| {
            this.enter_iteration(map);
            this.stmts(update.before);
            let found = this.body.slot("place", Ty::LONG, Some(nowhere.clone()));
            match update.taken {
                Some((cond, inner)) => {
                    let cond = this.expr(cond);
                    this.body.enter();
                    this.stmts(inner);
                    this.updated_place(update.place, copy, found);
                    let then = this.body.leave();
                    this.body.push(make::when(cond, then.stmts));
                }
                None => this.updated_place(update.place, copy, found),
            }
            let lane = make::sub(this.read(range.var), first.clone());
            let value = make::var(found, Ty::LONG);
            this.body.push(Stmt::Store { target: make::element(places, lane), value });
            this.leave_iteration();
        });
    }

    /// Where an iteration updates, unless there is no such element.
    fn updated_place(&mut self, place: &Place, copy: &ArrayBinding, found: imp::VarId) {
        let index = self.expr(&place.index[0]);
        let index = self.body.fix("index", index);
        if !self.is_unproved(place, 0) {
            return self.body.push(make::set(found, index));
        }
        let extent = copy.extents[0].clone();
        let inside = self.require_index(index.clone(), extent.clone(), 0, place.span);
        let index = inside.map_or(index.clone(), |inside| make::select(inside, index.clone(), extent));
        self.body.push(make::set(found, index));
    }

    fn update_all(&mut self, update: &Update<'_>, copy: &ArrayBinding, places: imp::VarId, count: Expr) {
        let lane = self.body.enter_loop("lane");
        let place = make::load(make::element(places, make::var(lane, Ty::LONG)), Ty::LONG);
        let window = copy.window.clone().unwrap_or_else(|| make::long(0));
        let target: Element = make::element(copy.base, make::add(window, place));
        let value = self.expr(update.value);
        self.update_alone(target, update.op, value);
        self.body.leave_loop(lane, make::long(0), count, LoopKind::Unroll(self.model.copied_turns));
    }
}
