//! Cells of a tile, one after the other.

use hidp_ir::par::visit::{Mutator, change};
use hidp_ir::par::{Block, Expr, ExprKind, Place, StmtKind, Target, VarId};

use super::super::build;
use super::super::build::Builder;
use super::super::visits::both;
use super::element;
use super::tiles::Tiles;

/// Makes the body of a cell load right operands from the copy.
pub(super) struct Cell<'a, 'b, 'c> {
    pub(super) tiles: &'a Tiles<'a>,
    pub(super) builder: &'a mut Builder<'b>,
    pub(super) folded: Option<&'c (VarId, Expr)>,
}

impl Cell<'_, '_, '_> {
    /// Where the cell of a column is in the copy.
    fn turned(&self, row: Expr, column: Expr) -> Place {
        // On the diagonal both begin with the same number.
        element(self.tiles.turned, vec![column, build::sub(row, self.tiles.starts[1].clone())])
    }
}

impl Mutator for Cell<'_, '_, '_> {
    fn visit_block(&mut self, block: &mut Block) {
        let of = self.tiles.of;
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            let span = stmt.span;
            match (&mut stmt.kind, self.folded) {
                (StmtKind::Map(map), folded) => {
                    let mut right = Right { cell: self };
                    right.visit_block(&mut map.body);
                    let (op, target) = (map.folds[0].op.clone(), map.folds[0].target.clone());
                    if let Some((_, first)) = folded {
                        map.iters[0].lo = first.clone();
                    }
                    out.push(stmt);
                    if let (Some((folded, _)), Target::Scalar(split)) = (folded, target) {
                        let [i, j] = of.index_vars().map(|index| build::read(index, span));
                        let starts = &self.tiles.starts;
                        let at = vec![build::sub(i, starts[0].clone()), build::sub(j, starts[1].clone())];
                        let before = Expr { kind: ExprKind::Load(element(*folded, at)), ty: op.ty, span };
                        out.push(build::assign(split, both(op.func, Expr::read(split, op.ty, span), before)));
                    }
                }
                (StmtKind::Store { place, value }, None) => {
                    let held = self.builder.local("cell", value.ty, span);
                    let cell = Expr::read(held, value.ty, span);
                    let value = std::mem::replace(value, cell.clone());
                    let turned = self.turned(place.index[0].clone(), place.index[1].clone());
                    out.extend([
                        build::declare(held, span),
                        build::assign(held, value),
                        build::store(turned, cell),
                        stmt,
                    ]);
                }
                (
                    StmtKind::Store { .. }
                    | StmtKind::Declare { .. }
                    | StmtKind::Assign { .. }
                    | StmtKind::AssignField { .. }
                    | StmtKind::Atomic { .. }
                    | StmtKind::If { .. }
                    | StmtKind::Loop(_)
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Return(_)
                    | StmtKind::Scope(_)
                    | StmtKind::Leave
                    | StmtKind::Prim(_)
                    | StmtKind::Swap(..)
                    | StmtKind::Call { .. }
                    | StmtKind::Require { .. },
                    _,
                ) => {
                    change::walk_stmt(self, &mut stmt);
                    out.push(stmt);
                }
            }
        }
        block.stmts = out;
    }
}

/// The same of a fold.
struct Right<'a, 'b, 'c, 'd> {
    cell: &'d Cell<'a, 'b, 'c>,
}

impl Mutator for Right<'_, '_, '_, '_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        let of = self.cell.tiles.of;
        if let ExprKind::Load(place) = &mut expr.kind
            && place.array == of.table.array
            && matches!(of.operand(place), Some((1, _)))
        {
            *place = self.cell.turned(place.index[0].clone(), place.index[1].clone());
        }
    }
}
