//! Folds over the places where an interval can be split, as of `f(i, k) + f(k+1, j)` over `k`, by square tiles of the table, those of a diagonal at once.
//!
//! Most splits of a tile's cells have both operands in tiles that are finished. They are folded as a product of matrices is computed, with `+` and `*` of
//! another kind: lanes are cells of a row, and several `k` share a load and a store of what is folded so far. What is left of a cell are splits whose left
//! operand is in the first tile of its row, which the cells of a row fold together as well, and those whose right operand is in the last tile of its column. These follow each
//! other; the right operands come from a transposed copy of the tiles on the diagonal.

mod cell;
mod executed;
mod tiles;

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Access, Block, Expr, ExprKind, Fold, FoldFn, FoldKind, Iter, Map, Place, StmtKind, System, Table, Target, VarId,
    VarKind, same,
};
use hidp_syntax::ordered::OrdSet;

use super::build::Builder;
use super::window::Linear;
use executed::executed;

/// Constants that are added to indices are not further from 0.
const FARTHEST: i64 = 2;

/// A table whose cells fold over intervals.
pub(super) struct Intervals<'a> {
    table: &'a Table,
    index: [&'a Iter; 2],
    body: &'a Block,
    map: Map,
    fold: Fold,
    neutral: Expr,
    /// What the range of a fold begins with, more than the first index.
    begin: i64,
    /// Where it ends, more than the second index.
    end: i64,
}

/// What indices of cells are more than a split is.
#[derive(Default)]
struct Operands {
    /// Second indices of those with the first index of the cell.
    left: OrdSet<i64>,
    /// First indices of those with its second index.
    right: OrdSet<i64>,
    /// Whether other arrays are loaded.
    others: bool,
    /// Whether other cells are.
    strange: bool,
}

impl<'a> Intervals<'a> {
    /// The system as such a table.
    pub(super) fn of(builder: &Builder<'_>, system: &'a System, bodies: &'a [Block]) -> Option<Intervals<'a>> {
        let ([table], [body]) = (&system.tables[..], bodies) else { return None };
        let [first, second] = &table.index[..] else { return None };
        let upwards = system.order.nest.as_ref().is_some_and(|nest| nest.flips == [-1, 1]);
        let triangle = first.lo.as_int() == Some(0) && same::expr(&first.hi, &second.hi);
        if !upwards || !triangle || !(0..=1).contains(&Linear::of(&second.lo)?.past(first.var)?) {
            return None;
        }
        let mut maps: Vec<Map> = Vec::new();
        visit::walk_stmts(body, |stmt| {
            if let StmtKind::Map(map) = &stmt.kind {
                maps.push(map.clone());
            }
        });
        let [map] = &maps[..] else { return None };
        let ([iter], [fold]) = (&map.iters[..], &map.folds[..]) else { return None };
        let neutral = neutral(fold)?;
        let [begin, end] = [(&iter.lo, first.var), (&iter.hi, second.var)].map(|(end, var)| Linear::of(end)?.past(var));
        let (begin, end) = (begin?, end?);
        let intervals = Intervals {
            table,
            index: [first, second],
            body,
            map: map.clone(),
            fold: fold.clone(),
            neutral,
            begin,
            end,
        };
        let operands = intervals.operands(builder)?;
        let fits = iter.step.as_int() == Some(1) && intervals.fit(&operands) && intervals.looks_back();
        // Where it is not known that a cell folds, operands are loaded that nobody may have asked for.
        let always = executed(body, [first.var, second.var]).unwrap_or_else(|| intervals.are_cells(&operands));
        (fits && always).then_some(intervals)
    }

    fn index_vars(&self) -> [VarId; 2] {
        self.index.map(|index| index.var)
    }

    fn split(&self) -> VarId {
        self.map.iters[0].var
    }

    /// What a split is folded from, if it is made of cells, of inputs and of indices alone.
    fn operands(&self, builder: &Builder<'_>) -> Option<Operands> {
        let [i, j] = self.index_vars();
        let (mut own, mut plain) = (OrdSet::from([i, j, self.split()]), true);
        for stmt in &self.map.body.stmts {
            match &stmt.kind {
                StmtKind::Declare { var, .. } => {
                    own.insert(*var);
                }
                StmtKind::Assign { .. } => {}
                StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::If { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Map(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => plain = false,
            }
        }
        let mut operands = Operands::default();
        visit::walk_vars(&self.map.body, |var, _| {
            let known = match builder.vars[var].kind {
                VarKind::Dim | VarKind::Param(hidp_syntax::ast::Direction::Input) => true,
                VarKind::Param(_) | VarKind::Local | VarKind::Iter => own.contains(&var) || var == self.table.array,
            };
            plain &= known;
        });
        visit::walk_places(&self.map.body, |place, _| {
            if place.array != self.table.array {
                operands.others = true;
                return;
            }
            match self.operand(place) {
                Some((0, more)) => operands.left.insert(more),
                Some((_, more)) => operands.right.insert(more),
                None => {
                    operands.strange = true;
                    false
                }
            };
        });
        (plain && !operands.strange).then_some(operands)
    }

    /// Whether a cell is a left operand (0) or a right one (1), and what its other index is more than the split.
    fn operand(&self, place: &Place) -> Option<(usize, i64)> {
        let [first, second] = &place.index[..] else { return None };
        let [i, j] = self.index_vars();
        let past = |index: &Expr, var: VarId| Linear::of(index).and_then(|sum| sum.past(var));
        if !place.path.is_empty() {
            return None;
        }
        match (past(first, i), past(second, j)) {
            (Some(0), _) => Some((0, past(second, self.split())?)),
            (_, Some(0)) => Some((1, past(first, self.split())?)),
            (_, _) => None,
        }
    }

    /// Whether each part of a fold finds its operands where it looks for them.
    fn fit(&self, operands: &Operands) -> bool {
        let Intervals { begin, end, .. } = *self;
        let near = |more: &i64| more.abs() <= FARTHEST;
        let left = |more: &i64| near(more) && begin + more <= 1 && end + more <= 0;
        let right = |more: &i64| near(more) && begin + more >= 1 && end + more >= 0 && end + more <= 1;
        let found = !operands.left.is_empty() && !operands.right.is_empty();
        let ends = near(&begin) && near(&end) && end + 1 >= begin;
        found && ends && operands.left.iter().all(left) && operands.right.iter().all(right)
    }

    /// Whether a fold loads cells alone, and such that there certainly are.
    fn are_cells(&self, operands: &Operands) -> bool {
        !operands.others && operands.left.iter().all(|more| self.begin + more >= 0)
    }

    /// Whether all other cells that a cell needs are further down, and not to the right of it.
    fn looks_back(&self) -> bool {
        let [i, j] = self.index_vars();
        let past = |index: &Expr, var: VarId| Linear::of(index).and_then(|sum| sum.past(var));
        let mut body = self.body.clone();
        Without.visit_block(&mut body);
        let mut back = true;
        visit::walk_places(&body, |place, _| {
            let [first, second] = &place.index[..] else { return };
            if place.array == self.table.array {
                let down = past(first, i).is_some_and(|more| more >= 0);
                back &= down && past(second, j).is_some_and(|more| more <= 0);
            }
        });
        back
    }
}

/// The neutral element of a fold whose values may meet in any order.
fn neutral(fold: &Fold) -> Option<Expr> {
    let scalar = fold.op.ty.scalar()?;
    let any = match fold.op.func {
        FoldFn::Fn(_) => false,
        FoldFn::Min | FoldFn::Max => true,
        FoldFn::Add | FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor => scalar.is_integer(),
    };
    let neutral = fold.op.neutral.as_deref().filter(|neutral| matches!(neutral.kind, ExprKind::Const(_)))?;
    let fits = any && fold.kind == FoldKind::Reduce && matches!(fold.target, Target::Scalar(_));
    fits.then(|| neutral.clone())
}

/// Takes maps out.
struct Without;

impl Mutator for Without {
    fn visit_block(&mut self, block: &mut Block) {
        block.stmts.retain(|stmt| !matches!(stmt.kind, StmtKind::Map(_)));
        change::walk_block(self, block);
    }
}

/// An element that is certainly there.
fn element(array: VarId, index: Vec<Expr>) -> Place {
    let span = index[0].span;
    Place { array, index, path: Vec::new(), unproved: 0, access: Access::Exclusive, span }
}
