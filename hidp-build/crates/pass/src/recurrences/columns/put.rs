//! The body of a cell, with what is held in the place of loads of cells.

use hidp_ir::par::visit::{Mutator, change};
use hidp_ir::par::{Expr, ExprKind, Place, Stmt, StmtKind, System, VarId};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

use super::super::build::{self, Builder};
use super::super::profile;
use super::super::window::Linear;
use super::loaded;
use super::looks::{Look, chosen, letter_of};

/// Where cells are from, seen from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// The cell itself, of another table or this one.
    Here,
    /// Of the line before.
    Line,
    /// The one before it in the line.
    Before,
    /// The one before it in the line before.
    Corner,
}

/// Makes the body of a table's cell load from what is held, and leave the cell there.
pub(super) struct Put<'a, 'b> {
    pub(super) builder: &'a Builder<'b>,
    pub(super) system: &'a System,
    pub(super) table: usize,
    pub(super) along: usize,
    /// For each table its cell, and those of the line before, before it, and before it in the line before.
    pub(super) held: OrdMap<VarId, [VarId; 4]>,
    /// What the line's letters give with others, and they themselves; in the first line, which has none, nothing.
    pub(super) of_line: Option<(&'a [Look], &'a OrdMap<VarId, VarId>)>,
}

impl Put<'_, '_> {
    /// Puts a cell into the place of its load.
    fn cell(&self, expr: &mut Expr) {
        if let ExprKind::Load(place) = &expr.kind
            && let Some(held) = self.from(place)
        {
            expr.kind = ExprKind::Read(held);
        }
    }

    fn from(&self, place: &Place) -> Option<VarId> {
        let [here, line, before, corner] = self.held.get(&place.array)?;
        let past = |at: usize| Linear::of(&place.index[at])?.past(self.system.tables[self.table].index[at].var);
        let from = match (past(self.along)?, past(1 - self.along)?) {
            (0, 0) => From::Here,
            (0, _) => From::Line,
            (_, 0) => From::Before,
            (_, _) => From::Corner,
        };
        Some(match from {
            From::Here => *here,
            From::Line => *line,
            From::Before => *before,
            From::Corner => *corner,
        })
    }
}

impl Mutator for Put<'_, '_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        change::walk_stmt(self, stmt);
        if let StmtKind::Store { place, value } = &stmt.kind
            && let Some(cell) = self.from(place)
        {
            *stmt = build::assign(cell, value.clone());
        }
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        let table = &self.system.tables[self.table];
        let lookup = profile::lookup(self.builder, table, expr);
        let letter = letter_of(self.builder, self.system, (self.table, 1 - self.along), expr);
        change::walk_expr(self, expr);
        let Some((looks, letters)) = self.of_line else { return self.cell(expr) };
        if let Some(letter) = letter.and_then(|array| letters.get(&array)) {
            expr.kind = ExprKind::Read(*letter);
            return;
        }
        if let ExprKind::Convert { operand, .. } = &expr.kind
            && let ExprKind::Convert { operand: narrow, .. } = &operand.kind
            && let ExprKind::Load(place) = &narrow.kind
            && looks.iter().any(|look| look.values == place.array)
            && narrow.ty == expr.ty
        {
            // Its wider type held all of it.
            *expr = (**narrow).clone();
            return;
        }
        self.cell(expr);
        let Some(lookup) = lookup else { return };
        if let Some(look) = looks.iter().find(|look| look.lookup.is_same(&lookup)) {
            let letter = build::cast(lookup.from.index[chosen(&lookup, self.along)].clone(), Ty::LONG);
            *expr = build::cast(loaded(self.builder, look.values, letter), expr.ty);
        }
    }
}
