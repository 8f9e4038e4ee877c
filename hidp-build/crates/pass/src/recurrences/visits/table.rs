//! Folds over a table that is kept: in the trees that they have without it.

use hidp_ir::par::visit;
use hidp_ir::par::{Expr, ExprKind, Place, Stmt, Var, VarId, VarKind};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::build::{self, Builder};
use super::{Dim, Folded, Tree, both};

impl Folded {
    /// The fold over a table that is kept.
    pub(in super::super) fn over_table(&self, builder: &mut Builder<'_>, span: Span) -> Vec<Stmt> {
        let (index, ranges) = self.visited(builder, span);
        let stmts = match self.tree {
            Tree::Any { .. } | Tree::Pick { .. } | Tree::Step { any: true } => {
                let value = self.element(builder, &index, span);
                vec![self.reduced(builder, ranges, (Vec::new(), value), false)]
            }
            Tree::Step { any: false } => {
                let value = self.element(builder, &index, span);
                vec![self.reduced(builder, ranges, (Vec::new(), value), true)]
            }
            Tree::Lines { along, up } | Tree::Rows { along, up } => {
                self.in_lines(builder, (index, ranges), (along, up), span)
            }
        };
        self.guarded(builder, stmts, span)
    }

    /// The indices of the cells that are visited, and the ranges of the iterators in them.
    pub(super) fn visited(&self, builder: &mut Builder<'_>, span: Span) -> (Vec<Expr>, Vec<(VarId, [Expr; 2])>) {
        let shape = builder.vars[self.table].shape.clone();
        let (mut ranges, mut index) = (Vec::new(), Vec::new());
        for (dim, extent) in self.part.iter().zip(shape) {
            index.push(match dim {
                Dim::All(_) | Dim::Range(..) => {
                    let at = builder.iterator("at", span);
                    ranges.push((at, dim.range(&extent)));
                    build::read(at, span)
                }
                Dim::At(at) => at.clone(),
            });
        }
        (index, ranges)
    }

    /// What is folded of an element.
    fn element(&self, builder: &Builder<'_>, index: &[Expr], span: Span) -> Expr {
        let place = Place { unproved: 0, ..build::place(self.table, index.to_vec(), span) };
        self.of(index, &Expr { kind: ExprKind::Load(place), ty: builder.vars[self.table].ty, span })
    }

    /// A map over lines, each of which is folded in a loop, and the fold of what they give.
    fn in_lines(
        &self,
        builder: &mut Builder<'_>,
        (mut index, mut ranges): (Vec<Expr>, Vec<(VarId, [Expr; 2])>),
        (along, up): (usize, bool),
        span: Span,
    ) -> Vec<Stmt> {
        let iterators = self.part[..along].iter().filter(|dim| dim.iter().is_some()).count();
        let range = match self.part[along] {
            Dim::All(_) | Dim::Range(..) => ranges.remove(iterators).1,
            Dim::At(_) => self.part[along].range(&index[along]),
        };
        let at = builder.local("at", Ty::LONG, span);
        index[along] = build::read(at, span);
        let line = self.line(builder, &index, (at, range, up), span);
        if ranges.is_empty() {
            let alone = builder.iterator("alone", span);
            let once = vec![(alone, [Expr::int(0, span), Expr::int(1, span)])];
            return vec![self.reduced(builder, once, line, true)];
        }
        let mut shape = builder.vars[self.table].shape.clone();
        shape.remove(along);
        index.remove(along);
        let var = Var { name: "lines".into(), ty: self.op.ty, shape, kind: VarKind::Local, span };
        let lines = builder.vars.push(var);
        let place = |index: &[Expr]| Place { unproved: 0, ..build::place(lines, index.to_vec(), span) };
        let (mut body, sum) = line;
        body.push(build::store(place(&index), sum));
        let iters = ranges.iter().map(|(iter, [lo, hi])| build::iter(*iter, lo.clone(), hi.clone())).collect();
        let each = build::map(iters, body);
        let (mut places, mut own) = (Vec::new(), Vec::new());
        for expr in &index {
            let iter = ranges.iter().find(|(iter, _)| matches!(expr.kind, ExprKind::Read(var) if var == *iter));
            places.push(match iter {
                Some((_, range)) => {
                    let at = builder.iterator("at", span);
                    own.push((at, range.clone()));
                    build::read(at, span)
                }
                None => expr.clone(),
            });
        }
        let sum = Expr { kind: ExprKind::Load(place(&places)), ty: self.op.ty, span };
        let all = self.reduced(builder, own, (Vec::new(), sum), true);
        vec![build::declare(lines, span), each, all]
    }

    /// Folds a line in a loop; gives the result.
    fn line(
        &self,
        builder: &mut Builder<'_>,
        index: &[Expr],
        (at, [lo, hi], up): (VarId, [Expr; 2], bool),
        span: Span,
    ) -> (Vec<Stmt>, Expr) {
        let sum = builder.local("sum", self.op.ty, span);
        let so_far = Expr::read(sum, self.op.ty, span);
        let value = self.element(builder, index, span);
        let mut out = vec![build::declare(sum, span)];
        let (ends, folded) = match self.tree {
            Tree::Rows { .. } => {
                let one = Expr::int(1, span);
                let (first, ends) = if up {
                    (lo.clone(), [build::add(lo, one), hi])
                } else {
                    let last = build::sub(hi, one);
                    (last.clone(), [lo, last])
                };
                let mut begun = value.clone();
                visit::substitute_expr(&mut begun, |var| (var == at).then(|| first.clone()));
                out.push(build::assign(sum, begun));
                let (left, right) = if up { (so_far.clone(), value) } else { (value, so_far.clone()) };
                (ends, both(self.op.func, left, right))
            }
            Tree::Any { .. } | Tree::Lines { .. } | Tree::Step { .. } | Tree::Pick { .. } => {
                let neutral = self.neutral(self.op.ty, span).expect("a built-in operator has one");
                out.push(build::assign(sum, neutral));
                ([lo, hi], both(self.op.func, so_far.clone(), value))
            }
        };
        out.extend(builder.count(at, ends, up, vec![build::assign(sum, folded)]));
        (out, so_far)
    }
}
