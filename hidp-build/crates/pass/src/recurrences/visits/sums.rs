//! Folds over cells while they are computed, step by step.

use hidp_ir::par::{BinOp, Expr, ExprKind, Place, Stmt, System, Var, VarId, VarKind};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::build::{self, Builder};
use super::super::narrow;
use super::super::window::{Cells, Window};
use super::{Dim, Folded, Tree, both, some};

/// What was folded so far, of each line of cells by itself.
pub(in super::super) struct Sums<'a> {
    fold: &'a Folded,
    array: VarId,
    /// The index that the lines go along.
    along: usize,
    /// Whether it has cells as windows keep them.
    as_kept: bool,
}

impl<'a> Sums<'a> {
    /// `None` where all that is folded is of one step.
    pub(in super::super) fn new(builder: &mut Builder<'_>, fold: &'a Folded, window: &Window) -> Option<Sums<'a>> {
        let (Tree::Any { along } | Tree::Lines { along, .. } | Tree::Rows { along, .. }) = fold.tree else {
            return None;
        };
        let narrow = matches!(window.cells, Cells::Narrow { .. });
        let as_kept = narrow && fold.is_a_cell();
        let ty = if as_kept { narrow::TY } else { fold.op.ty };
        let table = &builder.vars[fold.table];
        let mut shape = table.shape.clone();
        shape.remove(along);
        let var = Var { name: "sums".into(), ty, shape, kind: VarKind::Local, span: table.span };
        Some(Sums { fold, array: builder.vars.push(var), along, as_kept })
    }

    pub(in super::super) fn table(&self) -> VarId {
        self.fold.table
    }

    /// Nothing is folded yet.
    pub(in super::super) fn begun(&self, builder: &mut Builder<'_>, span: Span) -> Vec<Stmt> {
        let declare = build::declare(self.array, span);
        let ty = builder.vars[self.array].ty;
        let Some(neutral) = self.fold.neutral(ty, span) else { return vec![declare] };
        let shape = builder.vars[self.array].shape.clone();
        let iters: Vec<VarId> = shape.iter().map(|_| builder.iterator("at", span)).collect();
        let place = self.place(iters.iter().map(|iter| build::read(*iter, span)).collect(), span);
        let ranges = iters.iter().zip(shape).map(|(iter, extent)| build::iter(*iter, Expr::int(0, span), extent));
        vec![declare, build::map(ranges.collect(), vec![build::store(place, neutral)])]
    }

    fn place(&self, index: Vec<Expr>, span: Span) -> Place {
        Place { unproved: 0, ..build::place(self.array, index, span) }
    }

    fn element(&self, builder: &Builder<'_>, index: Vec<Expr>, span: Span) -> Expr {
        let ty = builder.vars[self.array].ty;
        Expr { kind: ExprKind::Load(self.place(index, span)), ty, span }
    }

    /// Folds the cell with these indices: `kept` as its window has it, `declared` as the program says.
    pub(in super::super) fn folded(
        &self,
        builder: &Builder<'_>,
        system: &System,
        (kept, declared): (Expr, Expr),
    ) -> Stmt {
        let span = kept.span;
        let index = self.fold.index(system, span);
        let value = if self.as_kept { kept } else { self.fold.of(&index, &declared) };
        let visited = self.fold.visited_cell(&index);
        let mut line = index.clone();
        line.remove(self.along);
        let so_far = self.element(builder, line.clone(), span);
        let value = match self.fold.tree {
            Tree::Any { .. } | Tree::Lines { .. } | Tree::Step { .. } | Tree::Pick { .. } => {
                both(self.fold.op.func, so_far, value)
            }
            Tree::Rows { along, up } => {
                let [lo, hi] = self.fold.part[along].range(&builder.vars[self.fold.table].shape[along]);
                let first = if up { lo } else { build::sub(hi, Expr::int(1, span)) };
                let (left, right) = if up { (so_far, value.clone()) } else { (value.clone(), so_far) };
                let more = both(self.fold.op.func, left, right);
                let is_first = Expr::long(BinOp::Eq, index[along].clone(), first);
                let (cond, then, otherwise) = (Box::new(is_first), Box::new(value), Box::new(more));
                let ty = self.fold.op.ty;
                Expr { kind: ExprKind::Select { cond, then, otherwise }, ty, span }
            }
        };
        let store = build::store(self.place(line, span), value);
        if visited.is_empty() { store } else { build::guarded(build::all(visited, span), vec![store]) }
    }

    /// All together. Where no cell is visited, the operator's neutral element, which narrow cells cannot hold.
    pub(in super::super) fn ended(&self, builder: &mut Builder<'_>, window: &Window, span: Span) -> Vec<Stmt> {
        let shape = builder.vars[self.array].shape.clone();
        let dims: Vec<&Dim> =
            self.fold.part.iter().enumerate().filter(|(at, _)| *at != self.along).map(|(_, dim)| dim).collect();
        let (mut index, mut ranges) = (Vec::new(), Vec::new());
        for (dim, extent) in dims.into_iter().zip(&shape) {
            let at = builder.iterator("at", span);
            let range = match self.fold.tree {
                Tree::Rows { .. } => dim.range(extent),
                Tree::Any { .. } | Tree::Lines { .. } | Tree::Step { .. } | Tree::Pick { .. } => {
                    [Expr::int(0, span), extent.clone()]
                }
            };
            index.push(build::read(at, span));
            ranges.push((at, range));
        }
        let element = self.element(builder, index, span);
        let value = if self.as_kept { window.declared(element, self.fold.op.ty) } else { element };
        let ordered = !matches!(self.fold.tree, Tree::Any { .. });
        let all = self.fold.reduced(builder, ranges, (Vec::new(), value), ordered);
        if !self.as_kept {
            return self.fold.guarded(builder, vec![all], span);
        }
        let some = some(&self.fold.part, &builder.vars[self.fold.table].shape, span);
        let neutral = self.fold.neutral(self.fold.op.ty, span).expect("a built-in operator has one");
        vec![build::either(some, vec![all], vec![build::assign(self.fold.cell, neutral)])]
    }
}

/// A fold over cells of one step.
pub(in super::super) struct Moment<'a> {
    fold: &'a Folded,
    any: bool,
    /// The number of the step.
    when: VarId,
}

impl<'a> Moment<'a> {
    /// Finds out which step it is. `None` where cells of many are folded.
    pub(in super::super) fn new(
        builder: &mut Builder<'_>,
        fold: &'a Folded,
        row: &[i64],
        out: &mut Vec<Stmt>,
    ) -> Option<Moment<'a>> {
        let Tree::Step { any } = fold.tree else { return None };
        let span = builder.vars[fold.cell].span;
        let number = row.iter().zip(&fold.part).fold(Expr::int(0, span), |sum, (factor, dim)| match dim {
            Dim::At(index) if *factor != 0 => build::add(sum, build::times(*factor, index.clone())),
            Dim::At(_) | Dim::All(_) | Dim::Range(..) => sum,
        });
        let when = builder.local("when", Ty::LONG, span);
        out.extend([build::declare(when, span), build::assign(when, number)]);
        let neutral = fold.neutral(fold.op.ty, span).filter(|_| fold.tree.has_neutral(&fold.op));
        out.extend(neutral.map(|neutral| build::assign(fold.cell, neutral)));
        Some(Moment { fold, any, when })
    }

    pub(in super::super) fn table(&self) -> VarId {
        self.fold.table
    }

    /// Behind the cells of a step: folds them, if they are those.
    pub(in super::super) fn folded(&self, builder: &mut Builder<'_>, window: &Window, step: &Expr) -> Stmt {
        let span = step.span;
        let (index, ranges) = self.fold.visited(builder, span);
        let cell = window.cell(&index, &[], builder.vars[self.fold.table].ty);
        let value = self.fold.of(&index, &cell);
        let all = self.fold.reduced(builder, ranges, (Vec::new(), value), !self.any);
        let now = Expr::long(BinOp::Eq, step.clone(), build::read(self.when, span));
        let stmts = self.fold.guarded(builder, vec![all], span);
        build::guarded(now, stmts)
    }
}
