//! Arrays of iterations: on the stack, or, as `plan::wide::allocated` says, in memory that a part of a launch has for all its groups.

use super::super::defect::{KEPT, NUMBER};
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, Lanes, LoopKind, Stmt, VarId, VarKind, WideElement, WideIndex, WideStmt};
use hidp_ir::par::{self, BinOp, FaultKind, Place};
use hidp_plan as plan;
use hidp_plan::wide::{Allocated, Number};
use hidp_syntax::ty::Ty;

/// An array with a row of lanes for each element; of structs, one for each of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Own {
    tiles: Vec<VarId>,
    extents: Vec<Expr>,
}

impl Lowerer<'_> {
    /// What must hold for arrays to be short enough; nothing of those with constant sizes, which the plan has looked at.
    pub(super) fn arrays_fit(&mut self, allocated: &[Allocated]) -> Vec<Expr> {
        let mut all = Vec::new();
        for Allocated { array, most, .. } in allocated {
            let most = i64::from(*most);
            let shape = &self.func.vars[*array].shape;
            if shape.iter().all(|extent| extent.as_int().is_some()) {
                continue;
            }
            let mut count = make::long(1);
            for extent in shape {
                let extent = self.fixed("extent", extent);
                all.push(make::inside(extent.clone(), make::long(most + 1)));
                // Both are small wherever the product counts.
                count = self.body.fix("count", make::mul(count, extent));
                all.push(make::binary(BinOp::Le, count.clone(), make::long(most)));
            }
        }
        all
    }

    /// Memory for the arrays of all lanes.
    pub(super) fn allocate_array(&mut self, allocated: &Allocated, lanes: Lanes) -> (par::VarId, Own) {
        let Allocated { array, at, .. } = *allocated;
        let declared = &self.func.vars[array];
        let extents: Vec<Expr> = declared.shape.iter().map(|extent| self.fixed("extent", extent)).collect();
        let count = self.length(&extents);
        let mut tiles = Vec::new();
        for number in self.numbers_of(declared.ty) {
            let tile = self.body.declare(&declared.name, VarKind::WideTile { elem: number.ty, len: None, lanes });
            let site = self.site(FaultKind::Allocation, at, Vec::new());
            self.body.push(Stmt::Scratch { var: tile, count: count.clone(), zero: false, site });
            tiles.push(tile);
        }
        (array, Own { tiles, extents })
    }

    /// An array of an iteration comes to life.
    pub(super) fn wide_array(&mut self, var: par::VarId, zero: bool) {
        let allocated = self.wide.as_ref().and_then(|wide| wide.own.get(&var)).cloned();
        let old = allocated.iter().flat_map(|own| &own.tiles);
        old.for_each(|tile| self.body.push(Stmt::Wide(WideStmt::Anew(*tile))));
        let Some(Own { tiles, extents }) = allocated.or_else(|| self.array_on_stack(var)) else {
            return self.defect(KEPT);
        };
        if zero {
            let count = self.length(&extents);
            let at = self.body.enter_loop("at");
            let index = WideIndex::Own(Box::new(make::var(at, Ty::LONG)));
            for (tile, number) in tiles.iter().zip(self.numbers_of(self.func.vars[var].ty)) {
                let none = self.splat(self.zero_value(number.ty.into()));
                let index = index.clone();
                let target = WideElement { base: *tile, index, path: Vec::new(), relaxed: false, mask: None };
                self.body.push(Stmt::Wide(WideStmt::Store { target, value: none }));
            }
            self.body.leave_loop(at, make::long(0), count, LoopKind::Seq);
        }
        if let Some(wide) = &mut self.wide {
            wide.own.insert(var, Own { tiles, extents });
        }
    }

    /// One that has a small constant size.
    fn array_on_stack(&mut self, var: par::VarId) -> Option<Own> {
        let declared = &self.func.vars[var];
        let constant = |extent: &par::Expr| extent.as_int().and_then(|count| i64::try_from(count).ok());
        let extents = declared.shape.iter().map(constant).collect::<Option<Vec<i64>>>()?;
        let len = extents.iter().try_fold(1, |all: i64, extent| all.checked_mul(*extent))?;
        let len = Some(u32::try_from(len).ok()?.max(1));
        let mut tiles = Vec::new();
        for number in self.numbers_of(declared.ty) {
            let kind = VarKind::WideTile { elem: number.ty, len, lanes: self.lanes() };
            let tile = self.body.declare(&declared.name, kind);
            self.body.push(Stmt::Wide(WideStmt::Let { var: tile, init: None }));
            tiles.push(tile);
        }
        Some(Own { tiles, extents: extents.into_iter().map(make::long).collect() })
    }

    fn length(&mut self, extents: &[Expr]) -> Expr {
        let length = extents.iter().cloned().fold(make::long(1), make::mul);
        self.body.fix("length", length)
    }

    /// Where a number is of the elements at a place.
    pub(super) fn number_at(&self, place: &Place, element: &WideElement, number: &Number) -> WideElement {
        let own = self.wide.as_ref().and_then(|wide| wide.own.get(&place.array));
        let Some(Own { tiles, .. }) = own.filter(|_| self.is_of_iteration(place.array)) else {
            return WideElement { path: [&element.path[..], &number.path].concat(), ..element.clone() };
        };
        let path = [&place.path[..], &number.path].concat();
        let at = plan::wide::numbers_at(self.program, self.func.vars[place.array].ty, &path).start;
        WideElement { base: tiles.get(at).copied().unwrap_or(element.base), ..element.clone() }
    }

    /// An element of an iteration's array: each lane has its own. Of structs, the first number.
    pub(super) fn own_place(&mut self, place: &Place, stored: bool) -> Option<WideElement> {
        let here = self.here()?;
        let Some(Own { tiles, extents }) = self.wide.as_ref()?.own.get(&place.array).cloned() else {
            self.defect(KEPT);
            return None;
        };
        let first = plan::wide::numbers_at(self.program, self.func.vars[place.array].ty, &place.path).start;
        let Some(tile) = tiles.get(first).copied() else {
            self.defect(NUMBER);
            return None;
        };
        if place.index.iter().any(|index| self.differs(index)) {
            let index = WideIndex::Each(Box::new(self.wide_linear(place, &extents)));
            return Some(WideElement { base: tile, index, path: Vec::new(), relaxed: false, mask: Some(here) });
        }
        let indices = (0..extents.len()).map(|dim| self.even_index(place, dim, &extents[dim], 0)).collect();
        let index = WideIndex::Own(Box::new(self.linear(&extents, indices)));
        let mask = Some(here).filter(|_| stored && self.is_joined(place.array));
        Some(WideElement { base: tile, index, path: Vec::new(), relaxed: false, mask })
    }
}
