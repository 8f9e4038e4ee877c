//! Rows that lanes go along, packed: `plan::wide::packed` says which.

use super::super::build::Binding;
use super::super::defect::NUMBER;
use super::super::space::Range;
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Stmt, VarId, VarKind, WideElement, WideIndex, WideKind, WideStmt};
use hidp_ir::par::{self, BinOp, Place};
use hidp_plan as plan;
use hidp_plan::wide::Packed;
use hidp_syntax::ty::Ty;

impl Lowerer<'_> {
    /// An array, how many rows it has, and the extents of each.
    fn rows(&mut self, array: par::VarId) -> Option<(VarId, Expr, Vec<Expr>)> {
        if let Binding::Array(binding) = self.binding(array)
            && binding.window.is_none()
            && binding.stride.is_none()
            && let [rows, row @ ..] = &binding.extents[..]
        {
            return Some((binding.base, rows.clone(), row.to_vec()));
        }
        self.defect("arrays whose rows are packed are whole");
        None
    }

    fn row_length(&mut self, extents: Vec<Expr>) -> Expr {
        let length = extents.into_iter().fold(make::long(1), make::mul);
        self.body.compute_ahead(length)
    }

    /// What must hold for the rows of these arrays to be short enough, and for each iteration to have one.
    pub(super) fn rows_fit(&mut self, packed: &[Packed], range: &Range) -> Vec<Expr> {
        let mut all = Vec::new();
        for Packed { array, most, is_walked } in packed {
            let Some((_, rows, extents)) = self.rows(*array) else { continue };
            if !extents.is_empty() {
                let length = self.row_length(extents);
                all.push(make::binary(BinOp::Le, length, make::long((*most).into())));
            }
            if !is_walked {
                let past = make::add(range.lo.clone(), range.count.clone());
                all.push(make::binary(BinOp::Ge, range.lo.clone(), make::long(0)));
                all.push(make::binary(BinOp::Le, past, rows));
            }
        }
        all
    }

    /// Packs the rows of a group.
    pub(super) fn pack_rows(&mut self, Packed { array, most, is_walked: _ }: &Packed, first: VarId) {
        let Some((base, _, extents)) = self.rows(*array) else { return };
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
        self.body.leave_loop(at, make::long(0), length, LoopKind::Pack);
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
        let (_, _, extents) = self.rows(place.array)?;
        let columns = (1..).zip(&extents).map(|(dim, extent)| self.even_index(place, dim, extent, 0)).collect();
        let index = WideIndex::Own(Box::new(self.linear(&extents, columns)));
        Some(WideElement { base, index, path: Vec::new(), relaxed: false, mask: None })
    }
}
