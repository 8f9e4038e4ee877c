//! Sections as arguments: accessed in place where the callee only touches elements that are proved or tested to be inside, else
//! copied into a temporary array and, if they are written, back.

use super::bind::require;
use super::linear::{add, mul, same, sub};
use super::{Inliner, Instance, guard};
use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{
    Access, ArrayRef, BinOp, Block, Directives, Expr, ExprKind, FaultKind, Func, Iter, Map, MathFn, Piece, Place,
    Section, SectionDim, Stmt, StmtKind, Var, VarId, VarKind,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// A section whose bounds hold wherever they stand.
#[derive(Clone, Debug)]
pub(super) struct View {
    array: VarId,
    dims: Vec<Dim>,
}

/// One dimension of the array.
#[derive(Clone, Debug)]
enum Dim {
    At(Expr),
    Range(Box<Strided>),
}

/// `low, low + step, …`
#[derive(Clone, Debug)]
pub(super) struct Strided {
    pub(super) low: Expr,
    pub(super) step: Expr,
    pub(super) count: Expr,
}

impl View {
    /// The index of the array for an index of the section.
    fn index(&self, inner: &[Expr], span: Span) -> Vec<Expr> {
        let mut inner = inner.iter();
        let outer = |dim: &Dim| match dim {
            Dim::At(at) => at.clone(),
            Dim::Range(range) => {
                let index = inner.next().cloned().unwrap_or_else(|| Expr::int(0, span));
                add(range.low.clone(), mul(index, range.step.clone(), span), span)
            }
        };
        self.dims.iter().map(outer).collect()
    }

    /// Extents of the section.
    pub(super) fn extents(&self) -> Vec<Expr> {
        let count = |dim: &Dim| match dim {
            Dim::At(_) => None,
            Dim::Range(range) => Some(range.count.clone()),
        };
        self.dims.iter().filter_map(count).collect()
    }

    /// The range of a row: only the last dimension is one, and it is contiguous.
    fn row(&self) -> Option<&Expr> {
        let (last, outer) = self.dims.split_last()?;
        match last {
            Dim::Range(range) if range.step.as_int() == Some(1) => {
                outer.iter().all(|dim| matches!(dim, Dim::At(_))).then_some(&range.low)
            }
            Dim::Range(_) | Dim::At(_) => None,
        }
    }
}

/// A whole array as a section.
pub(super) fn whole(extents: &[Expr], array: VarId, span: Span) -> Section {
    let dim =
        |extent: &Expr| SectionDim::Range { low: Expr::int(0, span), high: extent.clone(), step: Expr::int(1, span) };
    Section { array, dims: extents.iter().map(dim).collect(), span }
}

impl Inliner<'_> {
    pub(super) fn section(
        &mut self,
        function: &Func,
        param: VarId,
        section: Section,
        direction: Direction,
        instance: &mut Instance,
        out: &mut Vec<Stmt>,
    ) {
        let span = section.span;
        let view = self.checked(section, out);
        let extents = view.extents();
        instance.extents.insert(param, extents.clone());
        // A test is a statement, which keeps a map from vector lanes; a copy for each iteration costs more than that.
        let tested = self.depth > 0 && guard::can_be_tested(self.program, &function.body, param);
        if fits_in_place(function, param, &view, tested) {
            instance.views.insert(param, view);
            return;
        }
        let known = &function.vars[param];
        let copy = Var { name: known.name.clone(), ty: known.ty, shape: extents, kind: VarKind::Local, span };
        let copy = self.func.vars.push(copy);
        self.born.insert(copy, self.depth);
        out.push(Stmt { kind: StmtKind::Declare { var: copy, zero: true }, span });
        out.push(self.copy(copy, &view, true, span));
        if direction != Direction::Input {
            let back = self.copy(copy, &view, false, span);
            instance.after.push(back);
        }
        instance.vars.insert(param, copy);
    }

    /// The section with its bounds evaluated and tested, dimension after dimension.
    fn checked(&mut self, section: Section, out: &mut Vec<Stmt>) -> View {
        let span = section.span;
        let extents = self.extents_of(section.array);
        let mut dims = Vec::with_capacity(section.dims.len());
        for (position, (dim, extent)) in section.dims.into_iter().zip(extents).enumerate() {
            dims.push(match dim {
                SectionDim::At(index) => {
                    let index = self.held(index, "index", out);
                    out.extend(inside(&index, &extent, position, span));
                    Dim::At(index)
                }
                SectionDim::Range { low, high, step } => {
                    let (low, high) = (self.held(low, "low", out), self.held(high, "high", out));
                    let step = self.held(step, "stride", out);
                    out.extend(positive(&step, span));
                    out.extend(within(&low, &high, &extent, span));
                    let count = self.count(&low, &high, &step, &extent, span, out);
                    Dim::Range(Box::new(Strided { low, step, count }))
                }
                SectionDim::Piece(piece) => {
                    let at = self.held(piece.at, "piece", out);
                    let length = self.held(piece.length, "length", out);
                    out.extend(positive(&length, span));
                    let piece = Piece { at, length, ..piece };
                    Dim::Range(Box::new(self.piece(piece, &extent, span, out)))
                }
            });
        }
        View { array: section.array, dims }
    }

    /// How many indices a range has.
    fn count(&mut self, low: &Expr, high: &Expr, step: &Expr, extent: &Expr, span: Span, out: &mut Vec<Stmt>) -> Expr {
        let unit = step.as_int() == Some(1);
        let all = low.as_int() == Some(0) && same(high, extent);
        if all && unit {
            return extent.clone();
        }
        let length = sub(high.clone(), low.clone(), span);
        let length = match length.as_int() {
            // Extents are not negative.
            None if all => extent.clone(),
            Some(length) => Expr::int((length as i64).max(0), span),
            None => Expr { kind: ExprKind::Math(MathFn::Max, vec![length, Expr::int(0, span)]), ty: Ty::LONG, span },
        };
        if unit {
            return self.held(length, "count", out);
        }
        // The stride is positive here, and a length above it is below the array's extent, so nothing overflows.
        let less = Expr::int(1, span);
        let rounded = add(length, sub(step.clone(), less, span), span);
        let (left, right) = (Box::new(rounded), Box::new(step.clone()));
        let kind = ExprKind::Binary { op: BinOp::Div, left, right, checked: false };
        self.held(Expr { kind, ty: Ty::LONG, span }, "count", out)
    }

    /// A map that copies a section to its temporary, or back.
    fn copy(&mut self, copy: VarId, view: &View, into_copy: bool, span: Span) -> Stmt {
        let ty = self.func.vars[copy].ty;
        let mut iters = Vec::new();
        for (position, count) in view.extents().into_iter().enumerate() {
            let name = format!("i{position}");
            let var = Var { name, ty: Ty::LONG, shape: Vec::new(), kind: VarKind::Iter, span };
            let var = self.func.vars.push(var);
            iters.push(Iter { var, lo: Expr::int(0, span), hi: count, step: Expr::int(1, span), span });
        }
        let index: Vec<Expr> = iters.iter().map(|iter| Expr::read(iter.var, Ty::LONG, span)).collect();
        let place = |array: VarId, index: Vec<Expr>| Place {
            array,
            unproved: every_dimension(index.len()),
            index,
            path: Vec::new(),
            access: Access::Exclusive,
            span,
        };
        let (inner, outer) = (place(copy, index.clone()), place(view.array, view.index(&index, span)));
        let (from, to) = if into_copy { (outer, inner) } else { (inner, outer) };
        let value = Expr { kind: ExprKind::Load(from), ty, span };
        let body = Block { stmts: vec![Stmt { kind: StmtKind::Store { place: to, value }, span }] };
        let map = Map { iters, body, folds: Vec::new(), directives: Directives::default() };
        Stmt { kind: StmtKind::Map(map), span }
    }
}

/// Tests of all unproved indices of an access that comes later.
pub(in super::super) fn inside_all(place: &Place, extents: &[Expr]) -> Vec<Stmt> {
    let dims = place.index.iter().zip(extents).enumerate();
    dims.filter(|(dim, _)| *dim >= 32 || place.unproved >> dim & 1 == 1)
        .filter_map(|(dim, (index, extent))| inside(index, extent, dim, place.span))
        .collect()
}

/// `0 <= index < extent`, unless that is plain.
fn inside(index: &Expr, extent: &Expr, position: usize, span: Span) -> Option<Stmt> {
    if let (Some(index), Some(extent)) = (index.as_int(), extent.as_int())
        && 0 <= index
        && index < extent
    {
        return None;
    }
    let not_negative = Expr::long(BinOp::Ge, index.clone(), Expr::int(0, span));
    let cond = both(not_negative, Expr::long(BinOp::Lt, index.clone(), extent.clone()), span);
    let values = vec![
        ("index".to_string(), index.clone()),
        ("extent".to_string(), extent.clone()),
        ("dimension".to_string(), Expr::int(position as i64, span)),
    ];
    Some(require(cond, FaultKind::Index, values, span))
}

/// `step > 0`, unless that is plain.
fn positive(step: &Expr, span: Span) -> Option<Stmt> {
    if step.as_int().is_some_and(|step| step > 0) {
        return None;
    }
    let cond = Expr::long(BinOp::Gt, step.clone(), Expr::int(0, span));
    Some(require(cond, FaultKind::Stride, vec![("stride".to_string(), step.clone())], span))
}

/// An empty range, or one inside the extent; unless that is plain.
fn within(low: &Expr, high: &Expr, extent: &Expr, span: Span) -> Option<Stmt> {
    let low_inside = low.as_int().is_some_and(|low| low >= 0);
    let high_inside =
        same(high, extent) || matches!((high.as_int(), extent.as_int()), (Some(high), Some(extent)) if high <= extent);
    if low_inside && high_inside {
        return None;
    }
    let empty = Expr::long(BinOp::Le, high.clone(), low.clone());
    let low_fits = Expr::long(BinOp::Ge, low.clone(), Expr::int(0, span));
    let high_fits = Expr::long(BinOp::Le, high.clone(), extent.clone());
    let fits = both(low_fits, high_fits, span);
    let kind = ExprKind::Lazy { and: false, left: Box::new(empty), right: Box::new(fits) };
    let values = vec![
        ("low".to_string(), low.clone()),
        ("high".to_string(), high.clone()),
        ("extent".to_string(), extent.clone()),
    ];
    Some(require(Expr { kind, ty: Ty::BOOL, span }, FaultKind::Segment, values, span))
}

fn both(left: Expr, right: Expr, span: Span) -> Expr {
    let kind = ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) };
    Expr { kind, ty: Ty::BOOL, span }
}

/// Whether the callee exchanges this parameter with another array.
pub(super) fn is_swapped(function: &Func, param: VarId) -> bool {
    let mut swapped = false;
    visit::walk_stmts(&function.body, |stmt| {
        if let StmtKind::Swap(left, right) = stmt.kind {
            swapped |= left == param || right == param;
        }
    });
    swapped
}

/// Whether every use of the parameter can be one of the array instead: elements that are proved or tested to be inside, and, for a
/// row, whole rows of primitives.
fn fits_in_place(function: &Func, param: VarId, view: &View, tested: bool) -> bool {
    let mut uses = Uses { function, tested, param, row: view.row().is_some(), fits: true };
    uses.visit_block(&function.body);
    uses.fits
}

struct Uses<'a> {
    function: &'a Func,
    param: VarId,
    row: bool,
    /// Whether tests stand before all accesses that are not proved.
    tested: bool,
    fits: bool,
}

impl Visitor for Uses<'_> {
    fn visit_place(&mut self, place: &Place, _: Role) {
        if place.array == self.param {
            self.fits &= self.tested || place.unproved == 0;
            place.index.iter().for_each(|index| self.visit_expr(index));
        } else {
            look::walk_place(self, place, Role::Read);
        }
    }
    fn visit_array_ref(&mut self, array: &ArrayRef, role: Role) {
        if array.array == self.param {
            let whole = array.offset.as_int() == Some(0)
                && self.function.vars[self.param].shape.first().is_some_and(|extent| same(extent, &array.len));
            self.fits &= self.row && array.prefix.is_empty() && whole;
        } else {
            look::walk_array_ref(self, array, role);
        }
    }
    fn visit_var(&mut self, var: &VarId, _: Role) {
        self.fits &= *var != self.param;
    }
}

/// Makes accesses to the stand-ins of sections accesses to their arrays.
pub(super) fn access_in_place(body: &mut Block, views: &OrdMap<VarId, &View>) {
    if !views.is_empty() {
        InPlace { views }.visit_block(body);
    }
}

struct InPlace<'a> {
    views: &'a OrdMap<VarId, &'a View>,
}

impl Mutator for InPlace<'_> {
    fn visit_place(&mut self, place: &mut Place, role: Role) {
        change::walk_place(self, place, role);
        if let Some(view) = self.views.get(&place.array) {
            place.array = view.array;
            place.index = view.index(&place.index, place.span);
            // They are inside, but the proof of the bounds finds that out by itself: where a test inside a map stops nothing but
            // its own iteration, accesses may run ahead of it.
            place.unproved = every_dimension(place.index.len());
        }
    }
    fn visit_array_ref(&mut self, array: &mut ArrayRef, role: Role) {
        change::walk_array_ref(self, array, role);
        if let Some(view) = self.views.get(&array.array)
            && let Some(low) = view.row()
        {
            let mut prefix = view.index(&[Expr::int(0, array.span)], array.span);
            prefix.pop();
            array.array = view.array;
            array.prefix = prefix;
            array.offset = low.clone();
        }
    }
}
