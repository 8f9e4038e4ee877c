//! Copies of what the lanes of a column of tiles load, one for all its rows: neighbours in the copy are neighbours in time.

use super::lanes::{Axis, Shape};
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Element, Expr, LoopKind, Stmt, VarId, VarKind};
use hidp_ir::par::{self, BinOp, ExprKind, FaultKind, Map, Place, StmtKind, same, visit};
use hidp_plan::{self as plan, Stride};
use hidp_syntax::ty::Ty;

/// A copy of the elements that an access reads in one tile column: `panel[(k - first) * width + lane]`.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) place: Place,
    pub(super) base: VarId,
    /// Index of the element for the current iteration.
    pub(super) index: Expr,
}

/// The copies for a column of tiles.
pub(super) struct Packed {
    /// Whether there are any: a condition.
    pub(super) fits: Expr,
    pub(super) panels: Vec<Panel>,
    /// Whether they are as wide as a tile also where lanes are missing, and folds may run over all of it: lanes load nothing else.
    pub(super) padded: bool,
}

impl Lowerer<'_> {
    /// Copies what the lanes of a column of tiles load into one place, for all rows.
    pub(super) fn pack(&mut self, map: &Map, shape: &Shape, lanes: &Axis) -> Option<Packed> {
        shape.rows?;
        let outer: Vec<par::VarId> = shape.ranges[..shape.ranges.len() - 1].iter().map(|range| range.var).collect();
        let inner = match &plan::inner_maps(&map.body)[..] {
            [inner] if inner.iters.len() == 1 => *inner,
            _ => return None,
        };
        let places = packable(inner, lanes.var, &outer);
        let written = hidp_ir::par::effects::Effects::of_block(self.program, &self.func.vars, &map.body).writes;
        if places.is_empty() || places.iter().any(|place| written.contains(&place.array)) || !uniform(inner, &outer) {
            return None;
        }
        let padded = loads_only(map, inner, lanes.var, &places);
        let ranges = self.ranges(inner);
        let range = ranges.last()?.clone();
        let bytes: usize = places.iter().map(|place| self.size_of(self.func.vars[place.array].ty)).sum();
        let most = i64::from(self.model.l2 / 2) / (i64::from(shape.lane_tile) * bytes.max(1) as i64);
        let fits = make::binary(BinOp::Le, range.count.clone(), make::long(most));
        let fits = self.body.fix("fits", fits);
        let elements = make::mul(range.count.clone(), make::long(shape.lane_tile.into()));
        let wanted = self.body.fix("wanted", make::select(fits.clone(), elements, make::long(0)));
        let mut panels = Vec::new();
        for place in places {
            let elem = self.func.vars[place.array].ty;
            let base = self.body.declare("panel", VarKind::Buffer { elem, writable: true });
            let site = self.site(FaultKind::Allocation, place.span, Vec::new());
            self.body.push(Stmt::Scratch { var: base, count: wanted.clone(), zero: false, site });
            panels.push(Panel { place, base, index: make::long(0) });
        }
        self.body.enter();
        self.fill_panels(&panels, &range, shape, lanes, padded);
        let fill = self.body.leave();
        self.body.push(make::when(fits.clone(), fill.stmts));
        Some(Packed { fits, panels, padded })
    }

    /// Fills the copies; where lanes are missing and folds run over all of them, with zeros beside.
    fn fill_panels(&mut self, panels: &[Panel], range: &Range, shape: &Shape, lanes: &Axis, padded: bool) {
        if !padded {
            let stride = make::long(shape.lane_tile.into());
            return self.fill_rows(panels, range, lanes, (stride, lanes.count.clone()));
        }
        self.for_padded_width(shape, lanes, &mut |this, width| {
            let width = make::long(width.into());
            let whole = make::binary(BinOp::Eq, lanes.count.clone(), width.clone());
            let all = Axis { count: width.clone(), ..lanes.clone() };
            this.branch(
                whole,
                |this| this.fill_rows(panels, range, &all, (width.clone(), width.clone())),
                |this| this.fill_rows(panels, range, lanes, (width.clone(), width.clone())),
            );
        });
    }

    /// Copies so many lanes for each iteration of a fold, zeros for those that are not there, `stride` apart.
    fn fill_rows(&mut self, panels: &[Panel], range: &Range, lanes: &Axis, (stride, width): (Expr, Expr)) {
        let row = self.body.enter_loop("depth");
        let depth = make::var(row, Ty::LONG);
        self.bind_position(range, depth.clone());
        let start = self.body.fix("start", make::mul(depth, stride));
        let lane = self.body.enter_loop("lane");
        let at = make::var(lane, Ty::LONG);
        self.bind_fixed(lanes.var, make::add(lanes.first.clone(), at.clone()));
        for panel in panels {
            let elem = self.func.vars[panel.place.array].ty;
            let value = make::load(self.element(&panel.place).0, elem);
            let value = if width == lanes.count {
                value
            } else {
                let there = make::binary(BinOp::Lt, at.clone(), lanes.count.clone());
                make::select(there, value, self.zero_value(elem))
            };
            let target = make::element(panel.base, make::add(start.clone(), at.clone()));
            self.body.push(Stmt::Store { target, value });
        }
        self.body.leave_loop(lane, make::long(0), width, LoopKind::Simd { reductions: Vec::new() });
        self.body.leave_loop(row, make::long(0), range.count.clone(), LoopKind::Seq);
    }

    /// The copy of an element, if there is one.
    pub(super) fn panel_element(&self, place: &Place) -> Option<Element> {
        let panel = self.panels.iter().find(|panel| same::place(&panel.place, place))?;
        Some(Element { path: place.path.clone(), ..make::element(panel.base, panel.index.clone()) })
    }

    /// Computes where the copies for this lane stand.
    pub(super) fn place_panels(&mut self, lane: &Expr) {
        if let Some(depth) = self.depth.clone() {
            self.panels.iter_mut().for_each(|panel| panel.index = make::add(depth.clone(), lane.clone()));
        }
    }
}

/// Accesses of a reduction that lanes make to neighbours and that do not depend on outer iterators.
fn packable(inner: &Map, lane: par::VarId, outer: &[par::VarId]) -> Vec<Place> {
    let none = std::collections::BTreeSet::new();
    let mut found: Vec<Place> = Vec::new();
    visit::walk_places(&inner.body, |place, _| {
        let along = plan::stride_of(place, lane, &none) == Stride::Unit;
        let fixed = outer.iter().all(|var| plan::stride_of(place, *var, &none) == Stride::Invariant);
        if along && fixed && !found.iter().any(|known| same::place(known, place)) {
            found.push(place.clone());
        }
    });
    found
}

/// Whether nothing but these loads differs from lane to lane in a reduction, which calls nothing.
fn loads_only(map: &Map, inner: &Map, lane: par::VarId, places: &[Place]) -> bool {
    let none = std::collections::BTreeSet::new();
    let of_iteration = |var: par::VarId| {
        map.body.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare { var: own, .. } if own == var))
    };
    let (mut good, mut uses, mut of_places) = (true, 0, 0);
    visit::walk_places(&inner.body, |place, _| {
        if places.iter().any(|known| same::place(known, place)) {
            place.index.iter().for_each(|index| {
                visit::walk_expr_vars(index, |var, _| of_places += usize::from(var == lane));
            });
        } else {
            good &= plan::stride_of(place, lane, &none) == Stride::Invariant;
        }
    });
    visit::walk_vars(&inner.body, |var, _| {
        uses += usize::from(var == lane);
        good &= !of_iteration(var);
    });
    visit::walk_exprs(&inner.body, |expr| good &= !matches!(expr.kind, ExprKind::Call(..)));
    good && uses == of_places
}

/// Whether the range of a reduction is the same for all outer iterations.
fn uniform(inner: &Map, outer: &[par::VarId]) -> bool {
    let none = std::collections::BTreeSet::new();
    inner.iters.iter().all(|iter| {
        outer.iter().all(|var| plan::invariant(&iter.lo, *var, &none) && plan::invariant(&iter.hi, *var, &none))
    })
}
