//! Rows that lanes go along, packed: `plan::wide::packed` says which.

use super::super::build::Binding;
use super::super::defect::NUMBER;
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Stmt, VarId, VarKind, WideElement, WideIndex, WideKind, WideStmt};
use hidp_ir::par::{self, BinOp, Place};
use hidp_plan as plan;
use hidp_plan::wide::Packed;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// The extents of an array behind its first, which are those of a row.
    fn row_extents(&mut self, array: par::VarId) -> Option<(VarId, Vec<Expr>)> {
        match self.binding(array) {
            Binding::Array(binding) if binding.window.is_none() && binding.stride.is_none() => {
                Some((binding.base, binding.extents[1..].to_vec()))
            }
            Binding::Array(_) | Binding::Fixed(_) | Binding::Slot { .. } | Binding::Lane(_) => {
                self.defect("arrays whose rows are packed are whole");
                None
            }
        }
    }

    fn row_length(&mut self, extents: Vec<Expr>) -> Expr {
        let length = extents.into_iter().fold(make::long(1), make::mul);
        self.body.compute_ahead(length)
    }

    /// What must hold for the rows of these arrays to be short enough.
    pub(super) fn rows_fit(&mut self, packed: &[Packed]) -> Vec<Expr> {
        let mut all = Vec::new();
        for Packed { array, most } in packed {
            if let Some((_, extents)) = self.row_extents(*array).filter(|(_, extents)| !extents.is_empty()) {
                let length = self.row_length(extents);
                all.push(make::binary(BinOp::Le, length, make::long((*most).into())));
            }
        }
        all
    }

    /// Packs the rows of a group.
    pub(super) fn pack_rows(&mut self, Packed { array, most }: &Packed, first: VarId) {
        let Some((base, extents)) = self.row_extents(*array) else { return };
        let declared = &self.func.vars[*array];
        let Some(elem) = declared.ty.scalar() else { return self.defect(NUMBER) };
        let name = format!("{}_rows", declared.name);
        let tile = self.body.declare(&name, VarKind::WideTile { elem, len: Some(*most), lanes: self.lanes() });
        self.body.push(Stmt::Wide(WideStmt::Let { var: tile, init: None }));
        let length = self.row_length(extents);
        let length = self.body.fix("length", length);
        let start = self.body.fix("start", make::mul(make::var(first, Ty::LONG), length.clone()));
        let at = self.body.enter_loop("at");
        let column = make::var(at, Ty::LONG);
        let from =
            WideIndex::Every { first: Box::new(make::add(start, column.clone())), stride: Box::new(length.clone()) };
        let mask = self.here();
        let value = self
            .wide_of(WideKind::Load(WideElement { base, index: from, path: Vec::new(), relaxed: false, mask }), elem);
        let target = WideElement {
            base: tile,
            index: WideIndex::Own(Box::new(column)),
            path: Vec::new(),
            relaxed: false,
            mask: None,
        };
        self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
        self.body.leave_loop(at, make::long(0), length, LoopKind::Seq);
        if let Some(wide) = &mut self.wide {
            wide.packed.insert(*array, tile);
        }
    }

    /// An element of a packed row.
    pub(super) fn packed_element(&mut self, place: &Place) -> Option<WideElement> {
        let wide = self.wide.as_ref()?;
        let base = *wide.packed.get(&place.array)?;
        if !plan::wide::is_row(wide.lane?, |column| self.differs(column), place) {
            return None;
        }
        let (_, extents) = self.row_extents(place.array)?;
        let columns = (1..).zip(&extents).map(|(dim, extent)| self.even_index(place, dim, extent, 0)).collect();
        let index = WideIndex::Own(Box::new(self.linear(&extents, columns)));
        Some(WideElement { base, index, path: Vec::new(), relaxed: false, mask: None })
    }
}
