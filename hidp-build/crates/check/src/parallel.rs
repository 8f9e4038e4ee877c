//! Data-parallel statements: `C = _alpha * C1 + _beta * C;` becomes a map over the target's indices.

use hidp_ir::par::{
    Access, BinOp, Block, Directives, Expr, ExprKind, FaultKind, Iter, Map, MathFn, Place, Stmt, StmtKind, VarId,
    VarKind,
};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::{Sub, stmt};
use super::convert::Purpose;
use super::cx::Cx;
use super::shape;
use super::value::Val;

/// One dimension that a data-parallel statement runs over.
#[derive(Clone, Debug)]
struct Dim {
    iter: VarId,
    /// First value of the iterator.
    base: Expr,
    /// How many values it takes.
    count: Expr,
}

/// The state while the right side of a data-parallel statement is checked.
#[derive(Clone, Debug)]
pub(super) struct Parallel {
    dims: Vec<Dim>,
    target: VarId,
    target_index: Vec<Expr>,
    target_span: Span,
    /// Statements that come before the map.
    before: Vec<Stmt>,
    /// Whether the right side reads elements of the target that other iterations write.
    overlaps: bool,
}

impl Parallel {
    /// A single element of `array` is read.
    pub(super) fn note_element(&mut self, array: VarId) {
        self.overlaps |= array == self.target;
    }
}

/// What a data-parallel statement writes.
pub(super) struct ParallelTarget {
    pub(super) array: VarId,
    pub(super) subs: Vec<Sub>,
    pub(super) path: Vec<u32>,
    pub(super) ty: Ty,
    pub(super) span: Span,
}

impl Cx<'_> {
    /// `target op= value;` for an array or a section.
    pub(super) fn parallel_assign(
        &mut self,
        target: ParallelTarget,
        op: Option<(ast::BinaryOp, Span)>,
        value: &ast::Expr,
        directives: Directives,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let span = target.span.to(value.span);
        let (parallel, place) = self.parallel_over(&target, out)?;
        self.parallel = Some(parallel);
        let right = self.expr(value);
        let mut parallel = self.parallel.take().expect("put there above");
        let mut right = right?;
        if let Some((op, op_span)) = op {
            let old = self.load(place.clone());
            right = self.compound(op, old, right, op_span, span)?;
        }
        let name = self.vars[target.array].name.clone();
        let declared = self.vars[target.array].span;
        let value = self.coerce(right, target.ty, Purpose::since(&format!("`{name}`"), declared))?;
        out.append(&mut parallel.before);
        if parallel.overlaps {
            self.store_through_copy(&parallel, place, value, directives, span, out);
        } else {
            let body = vec![stmt(StmtKind::Store { place, value }, span)];
            out.push(map_over(&parallel.dims, body, directives, span));
        }
        Some(())
    }

    /// The iterators over a target, and the element that each iteration writes.
    fn parallel_over(&mut self, target: &ParallelTarget, out: &mut Vec<Stmt>) -> Option<(Parallel, Place)> {
        let unit = target.subs.iter().all(|sub| match sub {
            Sub::At(_) => true,
            Sub::Range { step, .. } => step.as_int() == Some(1),
        });
        let mut dims = Vec::new();
        let mut index = Vec::new();
        for sub in target.subs.clone() {
            match sub {
                Sub::At(at) => index.push(self.hoisted(at, out)),
                Sub::Range { lo, hi, step } => {
                    let (lo, hi, step) = self.hoisted_range(lo, hi, step, out);
                    let count = count_of(&lo, &hi, &step);
                    let name = format!("i{}", dims.len());
                    let iter = self.new_var(&name, Ty::LONG, Vec::new(), VarKind::Iter, target.span);
                    let base = if unit { lo.clone() } else { Expr::int(0, target.span) };
                    let dim = Dim { iter, base, count };
                    index.push(element_index(&dim, &lo, &step, target.span));
                    dims.push(dim);
                }
            }
        }
        let mut place = self.place(target.array, index.clone(), target.span);
        place.path.clone_from(&target.path);
        place.access = Access::Exclusive;
        let parallel = Parallel {
            dims,
            target: target.array,
            target_index: index,
            target_span: target.span,
            before: Vec::new(),
            overlaps: false,
        };
        Some((parallel, place))
    }

    fn hoisted_range(&mut self, lo: Expr, hi: Expr, step: Expr, out: &mut Vec<Stmt>) -> (Expr, Expr, Expr) {
        let (lo, hi) = (self.hoisted(lo, out), self.hoisted(hi, out));
        let step = self.hoisted(step, out);
        if step.as_int().is_none() {
            let span = step.span;
            let cond = Expr::long(BinOp::Gt, step.clone(), Expr::int(0, span));
            let values = vec![("stride".to_string(), step.clone())];
            out.push(stmt(StmtKind::Require { cond, fault: FaultKind::Stride, values }, span));
        }
        (lo, hi, step)
    }

    /// An array or a section on the right side: this iteration's element of it.
    pub(super) fn parallel_leaf(&mut self, array: VarId, subs: Vec<Sub>, span: Span) -> Option<Val> {
        let mut parallel = self.parallel.take().expect("only called inside data-parallel statements");
        let value = self.leaf(&mut parallel, array, subs, span);
        self.parallel = Some(parallel);
        value
    }

    fn leaf(&mut self, parallel: &mut Parallel, array: VarId, subs: Vec<Sub>, span: Span) -> Option<Val> {
        let mut ranges = Vec::new();
        let mut hoisted = Vec::new();
        for sub in subs {
            match sub {
                Sub::At(at) => hoisted.push(Sub::At(self.hoisted(at, &mut parallel.before))),
                Sub::Range { lo, hi, step } => {
                    let (lo, hi, step) = self.hoisted_range(lo, hi, step, &mut parallel.before);
                    ranges.push(count_of(&lo, &hi, &step));
                    hoisted.push(Sub::Range { lo, hi, step });
                }
            }
        }
        self.same_shape(parallel, array, &ranges, span)?;
        let mut dims = parallel.dims.iter();
        let mut index = Vec::new();
        for sub in &hoisted {
            index.push(match sub {
                Sub::At(at) => at.clone(),
                Sub::Range { lo, step, .. } => element_index(dims.next().expect("the ranks are equal"), lo, step, span),
            });
        }
        if array == parallel.target {
            let same = index.iter().zip(&parallel.target_index).all(|(a, b)| shape::same(a, b));
            parallel.overlaps |= !same;
        }
        let mut place = self.place(array, index, span);
        place.access = Access::Exclusive;
        Some(self.load(place))
    }

    /// Reports shapes that certainly differ; asks at run time where it is not known.
    fn same_shape(&mut self, parallel: &mut Parallel, array: VarId, counts: &[Expr], span: Span) -> Option<()> {
        let differ = counts.len() != parallel.dims.len()
            || counts.iter().zip(&parallel.dims).any(|(count, dim)| known_different(count, &dim.count));
        if differ {
            let shape_of_target = shape::show_shape(parallel.dims.iter().map(|dim| &dim.count), &self.vars);
            let shape_of_this = shape::show_shape(counts, &self.vars);
            let (name, target) = (self.vars[array].name.clone(), self.vars[parallel.target].name.clone());
            return self.error(
                Diagnostic::new(
                    Code::ShapeMismatch,
                    span,
                    format!("shapes differ: `{target}` is {shape_of_target}, `{name}` is {shape_of_this}"),
                )
                .label(format!("shape {shape_of_this}"))
                .also(parallel.target_span, format!("shape {shape_of_target}")),
            );
        }
        for (count, dim) in counts.iter().zip(&parallel.dims) {
            if shape::same(count, &dim.count) {
                continue;
            }
            let cond = Expr::long(BinOp::Eq, Expr { span, ..count.clone() }, dim.count.clone());
            let names = [parallel.target, array].map(|var| format!("`{}`", self.vars[var].name));
            let [target, this] = names;
            let values = vec![(target, dim.count.clone()), (this, count.clone())];
            parallel.before.push(stmt(StmtKind::Require { cond, fault: FaultKind::Shape, values }, span));
        }
        Some(())
    }

    /// The right side reads what other iterations write: it is computed into a temporary array first.
    fn store_through_copy(
        &mut self,
        parallel: &Parallel,
        place: Place,
        value: Expr,
        directives: Directives,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let mut extents = Vec::new();
        for dim in &parallel.dims {
            let zero = Expr::int(0, span);
            let not_negative = match dim.count.as_int() {
                Some(_) => dim.count.clone(),
                None if self.is_extent(place.array, &dim.count) => dim.count.clone(),
                None => Expr { kind: ExprKind::Math(MathFn::Max, vec![dim.count.clone(), zero]), ty: Ty::LONG, span },
            };
            extents.push(self.stable(not_negative, out));
        }
        let copy = self.new_var("copy", value.ty, extents, VarKind::Local, span);
        let info = self.info_mut(copy);
        (info.read, info.written) = (true, true);
        out.push(stmt(StmtKind::Declare { var: copy, zero: true }, span));
        let index: Vec<Expr> =
            parallel.dims.iter().map(|dim| shape::sub(&Expr::read(dim.iter, Ty::LONG, span), &dim.base)).collect();
        let mut copy_place = self.place(copy, index, span);
        copy_place.access = Access::Exclusive;
        let fill = stmt(StmtKind::Store { place: copy_place.clone(), value: value.clone() }, span);
        out.push(map_over(&parallel.dims, vec![fill], directives.clone(), span));
        // The second map has iterators of its own.
        let mut dims = parallel.dims.clone();
        let mut renamed = Vec::new();
        for dim in &mut dims {
            let name = self.vars[dim.iter].name.clone();
            let iter = self.new_var(&name, Ty::LONG, Vec::new(), VarKind::Iter, span);
            renamed.push((dim.iter, iter));
            dim.iter = iter;
        }
        let rename = |exprs: &[Expr]| -> Vec<Expr> {
            exprs
                .iter()
                .map(|expr| {
                    let mut expr = expr.clone();
                    hidp_ir::par::visit::rename_expr_vars(&mut expr, |var| {
                        renamed.iter().find(|(old, _)| *old == var).map_or(var, |(_, new)| *new)
                    });
                    expr
                })
                .collect()
        };
        let from = Place { index: rename(&copy_place.index), ..copy_place };
        let to = Place { index: rename(&place.index), ..place };
        let load = Expr { ty: value.ty, kind: ExprKind::Load(from), span };
        let store = stmt(StmtKind::Store { place: to, value: load }, span);
        out.push(map_over(&dims, vec![store], directives, span));
    }

    fn is_extent(&self, array: VarId, count: &Expr) -> bool {
        self.vars[array].shape.iter().any(|extent| shape::same(extent, count))
    }
}

fn known_different(a: &Expr, b: &Expr) -> bool {
    shape::difference(a, b).is_some_and(|difference| difference != 0)
}

/// How many indices a range has; negative counts run nothing.
pub(super) fn count_of(lo: &Expr, hi: &Expr, step: &Expr) -> Expr {
    let length = shape::sub(hi, lo);
    if step.as_int() == Some(1) {
        return length;
    }
    let span = hi.span;
    let rounded = shape::add(&length, &shape::sub(step, &Expr::int(1, span)));
    let kind = ExprKind::Binary {
        op: BinOp::Div,
        left: Box::new(rounded),
        right: Box::new(step.clone()),
        checked: step.as_int().is_none(),
    };
    super::convert::folded(Expr { kind, ty: Ty::LONG, span })
}

/// `lo + (iterator - base) * step`
fn element_index(dim: &Dim, lo: &Expr, step: &Expr, span: Span) -> Expr {
    let distance = Expr::long(BinOp::Sub, Expr::read(dim.iter, Ty::LONG, span), dim.base.clone());
    let scaled = Expr::long(BinOp::Mul, distance, step.clone());
    let mut index = shape::simplified(Expr::long(BinOp::Add, lo.clone(), scaled));
    index.span = span;
    index
}

fn map_over(dims: &[Dim], body: Vec<Stmt>, directives: Directives, span: Span) -> Stmt {
    let iters = dims
        .iter()
        .map(|dim| Iter {
            var: dim.iter,
            lo: dim.base.clone(),
            hi: shape::add(&dim.base, &dim.count),
            step: Expr::int(1, span),
            span,
        })
        .collect();
    let map = Map { iters, body: Block { stmts: body }, folds: Vec::new(), directives };
    stmt(StmtKind::Map(map), span)
}
