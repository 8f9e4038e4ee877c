//! Packed panels: what the lanes of a column of tiles load, packed once for all its rows, in the order of use.

use super::lanes::{Axis, Shape};
use super::space::Range;
use super::{Lowerer, make};
use hidp_ir::imp::{Element, Expr, LoopKind, Stmt, VarId, VarKind};
use hidp_ir::par::{self, BinOp, ExprKind, FaultKind, Map, Place, StmtKind, same, visit};
use hidp_plan::notation::Property;
use hidp_plan::{self as plan, Stride};
use hidp_syntax::ty::Ty;

/// A copy of the elements that an access reads in one tile column: `panel[(k - first) * width + lane]`. Or what is copied otherwise, where
/// it is loaded as it is.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) place: Place,
    pub(super) base: VarId,
    /// Where it may be what is copied otherwise: its elements.
    source: Option<Source>,
    /// Index of the first lane's element for the current iteration.
    start: Expr,
    /// Index of the element for the current iteration.
    pub(super) index: Expr,
}

/// Elements that lanes load in a column of tiles, which are as far from each other in each iteration of a fold as in the next.
#[derive(Clone, Debug)]
struct Source {
    base: VarId,
    /// Index of the first lane's element in the first iteration.
    origin: Expr,
    /// From one iteration to the next.
    stride: Expr,
}

/// The copies for a column of tiles.
pub(super) struct Packed {
    /// Whether lanes load from panels: a condition.
    pub(super) fits: Expr,
    pub(super) panels: Vec<Panel>,
    /// Whether panels are what is copied otherwise, wherever tiles are whole and no copy is made.
    pub(super) always_whole: bool,
    /// Whether they are as wide as a tile also where lanes are missing, and folds may run over all of it: lanes load nothing else.
    pub(super) padded: bool,
}

impl Panel {
    /// A copy, and where in it the element for the current iteration is.
    pub(super) fn at(place: Place, base: VarId, index: Expr) -> Self {
        Self { place, base, source: None, start: index.clone(), index }
    }
}

impl Lowerer<'_> {
    /// Copies what the lanes of a column of tiles load into one place, for all rows of so many tiles, if that is worth it.
    pub(super) fn pack(&mut self, map: &Map, shape: &Shape, lanes: &Axis, tiles: Expr) -> Option<Packed> {
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
        let sources = if padded { self.sources(inner, &range, lanes, &places) } else { None };
        let (direct, copied) = match (&sources, self.mapping.number(Property::Copied)) {
            (Some(_), Some(fewest)) => {
                let few = make::binary(BinOp::Lt, tiles, make::long(fewest.into()));
                let wanted = make::binary(BinOp::Or, few, make::not(fits.clone()));
                let direct = make::binary(BinOp::And, wanted, are_whole(shape, lanes));
                let direct = self.body.fix("direct", direct);
                let copied = make::binary(BinOp::And, fits.clone(), make::not(direct.clone()));
                (Some(direct), self.body.fix("copied", copied))
            }
            (None, _) | (_, None) => (None, fits.clone()),
        };
        let elements = make::mul(range.count.clone(), make::long(shape.lane_tile.into()));
        let wanted = self.body.fix("wanted", make::select(copied.clone(), elements, make::long(0)));
        let mut panels = Vec::new();
        for place in places {
            let elem = self.func.vars[place.array].ty;
            let base = self.body.declare("panel", VarKind::Buffer { elem, writable: true });
            let site = self.site(FaultKind::Allocation, place.span, Vec::new());
            self.body.push(Stmt::Scratch { var: base, count: wanted.clone(), zero: false, site });
            panels.push(Panel::at(place, base, make::long(0)));
        }
        self.body.enter();
        self.fill_panels(&panels, &range, shape, lanes, padded);
        let fill = self.body.leave();
        self.body.push(make::when(copied, fill.stmts));
        let (Some(direct), Some(sources)) = (direct, sources) else {
            return Some(Packed { fits, panels, always_whole: false, padded });
        };
        let width = padded_width(shape, lanes);
        let panels = panels.into_iter().zip(sources);
        let panels = panels.map(|(panel, source)| self.panel_or(panel, source, &direct, &width)).collect();
        let fits = make::binary(BinOp::Or, direct, fits);
        Some(Packed { fits, panels, always_whole: true, padded })
    }

    /// What lanes load, as it is, where it is found without copies: neighbours, as far from each other in each iteration as in the next.
    fn sources(&mut self, inner: &Map, range: &Range, lanes: &Axis, places: &[Place]) -> Option<Vec<Source>> {
        let varying = visit::declared(&inner.body).into_iter().collect();
        let regular = |place: &Place| {
            let known = plan::stride_of(place, range.var, &varying) != Stride::Irregular;
            known && place.unproved == 0 && place.path.is_empty()
        };
        if !places.iter().all(regular) {
            return None;
        }
        self.bind_fixed(lanes.var, lanes.first.clone());
        let mut sources = Vec::new();
        for place in places {
            self.bind_position(range, make::long(0));
            let first = self.element(place).0;
            self.bind_position(range, make::long(1));
            let next = self.element(place).0;
            if first.relaxed || !matches!(self.body.vars[first.base].kind, VarKind::Buffer { .. }) {
                return None;
            }
            let origin = self.body.fix("origin", *first.index);
            let stride = self.body.fix("stride", make::sub(*next.index, origin.clone()));
            sources.push(Source { base: first.base, origin, stride });
        }
        Some(sources)
    }

    /// A copy, or on a condition what is copied otherwise.
    fn panel_or(&mut self, panel: Panel, source: Source, direct: &Expr, width: &Expr) -> Panel {
        let elem = self.func.vars[panel.place.array].ty;
        let base = self.body.declare("source", VarKind::Buffer { elem, writable: false });
        self.body.push(Stmt::Either { var: base, cond: direct.clone(), then: source.base, otherwise: panel.base });
        let either = |then: Expr, otherwise: Expr| make::select(direct.clone(), then, otherwise);
        let origin = self.body.fix("origin", either(source.origin, make::long(0)));
        let stride = self.body.fix("stride", either(source.stride, width.clone()));
        Panel { base, source: Some(Source { base, origin, stride }), ..panel }
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

    /// Computes where what lanes load in this iteration of a fold starts; copies have so many lanes.
    pub(super) fn start_panels(&mut self, position: &Expr, width: &Expr) {
        let mut panels = std::mem::take(&mut self.panels);
        let mut of_copies = None;
        for panel in &mut panels {
            panel.start = match &panel.source {
                Some(source) => {
                    let start = make::add(source.origin.clone(), make::mul(position.clone(), source.stride.clone()));
                    self.body.fix("depth", start)
                }
                None => {
                    let start = || self.body.fix("depth", make::mul(position.clone(), width.clone()));
                    of_copies.get_or_insert_with(start).clone()
                }
            };
        }
        self.panels = panels;
    }

    /// Computes where what this lane loads stands.
    pub(super) fn place_panels(&mut self, lane: &Expr) {
        self.panels.iter_mut().for_each(|panel| panel.index = make::add(panel.start.clone(), lane.clone()));
    }
}

/// The numbers of lanes that folds run over where copies are padded, widest first: a tile's, one vector's, and half of one.
pub(super) fn padded_widths(shape: &Shape) -> Vec<u32> {
    let narrow = [shape.vector, shape.vector / 2].into_iter().filter(|width| (1..shape.lane_tile).contains(width));
    std::iter::once(shape.lane_tile).chain(narrow).collect()
}

/// How many lanes folds run over.
fn padded_width(shape: &Shape, lanes: &Axis) -> Expr {
    let widths = padded_widths(shape);
    let (widest, narrower) = (widths[0], &widths[1..]);
    let widest = make::long(widest.into());
    narrower.iter().fold(widest, |wider, width| {
        let width = make::long((*width).into());
        let enough = make::binary(BinOp::Le, lanes.count.clone(), width.clone());
        make::select(enough, width, wider)
    })
}

/// Whether folds run over no lanes that are not there.
fn are_whole(shape: &Shape, lanes: &Axis) -> Expr {
    make::binary(BinOp::Eq, lanes.count.clone(), padded_width(shape, lanes))
}

/// Accesses of a reduction that lanes make to neighbours and that do not depend on outer iterators.
fn packable(inner: &Map, lane: par::VarId, outer: &[par::VarId]) -> Vec<Place> {
    let none = hidp_syntax::ordered::OrdSet::new();
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
    let none = hidp_syntax::ordered::OrdSet::new();
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
    let none = hidp_syntax::ordered::OrdSet::new();
    inner.iters.iter().all(|iter| {
        outer.iter().all(|var| plan::invariant(&iter.lo, *var, &none) && plan::invariant(&iter.hi, *var, &none))
    })
}
