//! Folds of single lanes over rows of their own: aligned neighbours along a row move 16 bytes at a time into registers, which the
//! iterations read. A lane's row is apart from its neighbours' rows, so the cost is the number of line look-ups, not of bytes. The
//! order of iterations is the same either way.

use super::super::fold::Acc;
use super::super::space::Range;
use super::super::{Binding, Lowerer, make};
use hidp_ir::imp::{Element, Expr, ExprKind, LoopKind, Stmt, VarId, VarKind};
use hidp_ir::par::{BinOp, Map, Place};
use hidp_plan as plan;
use hidp_plan::notation::FoldOption;
use hidp_syntax::ty::Ty;

/// An element's neighbours in registers.
#[derive(Clone, Debug)]
pub(in super::super) struct Moved {
    place: Place,
    own: VarId,
    /// Which of them the iteration at hand reads.
    at: i64,
}

/// What moves: the loads along a row, and how many neighbours of each.
pub(super) struct Row {
    places: Vec<Place>,
    count: u32,
}

impl Lowerer<'_> {
    /// What moves at once, if the plan has it so.
    pub(super) fn row_of(&mut self, map: &Map) -> Option<Row> {
        let count = self.option_of(map, FoldOption::Moves)?;
        let Some(row) = plan::moved_row(self.program, self.func, map) else {
            self.defect("a single lane folds neighbours that can move at once");
            return None;
        };
        let places = row.places;
        if !places.iter().all(|place| self.is_in_memory(place)) {
            self.defect("what moves at once lies next to each other in a device's memory");
            return None;
        }
        Some(Row { places, count })
    }

    fn is_in_memory(&mut self, place: &Place) -> bool {
        let Binding::Array(array) = self.binding(place.array) else { return false };
        array.stride.is_none() && matches!(self.body.vars[array.base].kind, VarKind::Buffer { .. })
    }

    /// The fold over a row, by one lane.
    pub(super) fn fold_row(&mut self, map: &Map, range: &Range, row: &Row, accs: &[Acc<'_>]) {
        let count = self.body.fix("count", range.count.clone());
        let step = i64::from(row.count);
        let (starts, aligned) = self.starts(range, row);
        let whole = make::binary(BinOp::And, count.clone(), make::long(-step));
        let whole = self.body.fix("whole", make::select(aligned, whole, make::long(0)));
        let own: Vec<VarId> = row.places.iter().map(|place| self.registers_for(place, row.count)).collect();
        let at = self.body.enter_loop("at");
        let first = make::var(at, Ty::LONG);
        for (own, (base, start)) in own.iter().zip(&starts) {
            let from = make::element(*base, make::add(start.clone(), first.clone()));
            self.body.push(Stmt::Move { to: make::element(*own, make::long(0)), from, count: row.count });
        }
        for at in 0..step {
            let moved = |(place, own): (&Place, &VarId)| Moved { place: place.clone(), own: *own, at };
            self.moved = row.places.iter().zip(&own).map(moved).collect();
            self.bind_position(range, make::add(first.clone(), make::long(at)));
            self.iteration(map, accs);
        }
        self.moved.clear();
        self.body.leave_loop_step(at, make::long(0), whole.clone(), make::long(step), LoopKind::Seq);
        self.range_loop(range, whole, count, LoopKind::Seq, &mut |this| this.iteration(map, accs));
    }

    /// Where the row begins in each array, and whether all can move.
    fn starts(&mut self, range: &Range, row: &Row) -> (Vec<(VarId, Expr)>, Expr) {
        let mut starts = Vec::new();
        let mut aligned: Option<Expr> = None;
        self.body.bindings.insert(range.var, Binding::Fixed(range.lo.clone()));
        for place in &row.places {
            let size = self.func.vars[place.array].ty.scalar().map_or(1, |scalar| scalar.size() as u32);
            let (element, _) = self.element(place);
            let start = self.body.fix("start", *element.index);
            let base = Expr { kind: ExprKind::IsAligned(element.base, size * row.count), ty: Ty::BOOL };
            let rest = make::binary(BinOp::And, start.clone(), make::long(i64::from(row.count) - 1));
            let own = make::binary(BinOp::And, base, make::binary(BinOp::Eq, rest, make::long(0)));
            aligned = Some(aligned.map_or(own.clone(), |all| make::binary(BinOp::And, all, own)));
            starts.push((element.base, start));
        }
        self.body.bindings.remove(&range.var);
        let never = Expr { kind: ExprKind::Bool(false), ty: Ty::BOOL };
        (starts, self.body.fix("aligned", aligned.unwrap_or(never)))
    }

    fn registers_for(&mut self, place: &Place, count: u32) -> VarId {
        let elem = self.func.vars[place.array].ty;
        let own = self.body.declare("own", VarKind::Tile { elem, len: count });
        self.body.push(Stmt::Let { var: own, init: None });
        own
    }

    /// In a fold over a row: the copy of an element.
    pub(in super::super) fn moved_element(&self, place: &Place) -> Option<Element> {
        let moved = self.moved.iter().find(|moved| moved.place == *place)?;
        Some(make::element(moved.own, make::long(moved.at)))
    }
}
