//! The body of a cell in differences: the cell less its corner, from how much the cells above and on the left are more than that corner.

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, MathFn, Place, Stmt, StmtKind, Table, UnOp, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::super::build::{self, Builder};
use super::super::narrow::{is_wide, low_bits};
use super::super::window::Linear;
use super::TY;

/// The variables of a body in differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vars {
    /// How much the cells before this one along each index are more than the corner: at `(i, j-1)` and `(i-1, j)`.
    pub(super) along: [VarId; 2],
    /// The cell less its corner.
    pub(super) cell: VarId,
}

/// A body in differences. `None` where cells do something else than to move with their corner.
pub(super) fn of(builder: &mut Builder<'_>, table: &Table, body: &Block, vars: Vars) -> Option<Block> {
    let (cells, twins) = (OrdSet::new(), OrdMap::new());
    let mut made = Translation { builder, table, vars, cells, twins, set: OrdSet::new() };
    loop {
        let known = made.cells.len();
        visit::walk_stmts(body, |stmt| {
            if let StmtKind::Assign { var, value } = &stmt.kind
                && made.is_cell(value)
            {
                made.cells.insert(*var);
            }
        });
        if made.cells.len() == known {
            return made.block(body);
        }
    }
}

struct Translation<'a, 'b> {
    builder: &'a mut Builder<'b>,
    table: &'a Table,
    vars: Vars,
    /// Variables that hold cells.
    cells: OrdSet<VarId>,
    /// The low bits of others.
    twins: OrdMap<VarId, VarId>,
    /// Variables of cells that hold one by now.
    set: OrdSet<VarId>,
}

fn narrow(op: BinOp, left: Expr, right: Expr) -> Expr {
    let ty = if op.is_comparison() { hidp_syntax::ty::Ty::BOOL } else { TY };
    Expr { ty, ..Expr::long(op, left, right) }
}

impl Translation<'_, '_> {
    /// Whether a value depends on a cell.
    fn is_cell(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::walk_expr_vars(expr, |var, role| match role {
            Role::Read => found |= var == self.table.array || self.cells.contains(&var),
            Role::Declare | Role::Iterate | Role::Write | Role::Update | Role::Argument { .. } => {}
        });
        found
    }

    fn block(&mut self, block: &Block) -> Option<Block> {
        let mut stmts = Vec::new();
        for stmt in &block.stmts {
            self.stmt(stmt, &mut stmts)?;
        }
        Some(Block { stmts })
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<()> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Declare { var, .. } if self.cells.contains(var) => {
                self.builder.vars[*var].ty = TY;
                out.push(stmt.clone());
            }
            StmtKind::Declare { var, .. } => {
                out.push(stmt.clone());
                if is_wide(self.builder.vars[*var].ty) {
                    let twin = self.builder.local("low", TY, span);
                    self.twins.insert(*var, twin);
                    out.push(build::declare(twin, span));
                }
            }
            StmtKind::Assign { var, value } if self.cells.contains(var) => {
                let value = self.cell(value)?;
                self.set.insert(*var);
                out.push(build::assign(*var, value));
            }
            StmtKind::Assign { var, value } => {
                out.push(stmt.clone());
                if let Some(twin) = self.twins.get(var) {
                    out.push(build::assign(*twin, low_bits(value, TY, &self.twins)));
                }
            }
            StmtKind::Store { place, value } if place.array == self.table.array && place.path.is_empty() => {
                let value = self.cell(value)?;
                out.push(build::assign(self.vars.cell, value));
            }
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.cond(cond)?;
                let before = self.set.clone();
                let then = self.block(then)?;
                let after = std::mem::replace(&mut self.set, before);
                let otherwise = self.block(otherwise)?;
                self.set.retain(|var| after.contains(var));
                out.push(Stmt { kind: StmtKind::If { cond, then, otherwise }, span });
            }
            StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
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
            | StmtKind::Require { .. } => return None,
        }
        Some(())
    }

    /// A condition: cells are compared with cells alone.
    fn cond(&mut self, expr: &Expr) -> Option<Expr> {
        if !self.is_cell(expr) {
            return Some(expr.clone());
        }
        let kind = match &expr.kind {
            ExprKind::Binary { op, left, right, .. } if op.is_comparison() => {
                return Some(narrow(*op, self.cell(left)?, self.cell(right)?));
            }
            ExprKind::Lazy { and, left, right } => {
                let (left, right) = (Box::new(self.cond(left)?), Box::new(self.cond(right)?));
                ExprKind::Lazy { and: *and, left, right }
            }
            ExprKind::Unary(op @ UnOp::Not, operand) => ExprKind::Unary(*op, Box::new(self.cond(operand)?)),
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => return None,
        };
        Some(Expr { kind, ..expr.clone() })
    }

    /// A value that moves with the corner, less it.
    fn cell(&mut self, expr: &Expr) -> Option<Expr> {
        if !is_wide(expr.ty) || !self.is_cell(expr) {
            return None;
        }
        let span = expr.span;
        let kind = match &expr.kind {
            ExprKind::Load(place) => return self.neighbour(place),
            ExprKind::Read(var) => {
                self.set.contains(var).then_some(())?;
                ExprKind::Read(*var)
            }
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), left, right, .. } => {
                let (cell, plain) = match (self.is_cell(left), self.is_cell(right), op) {
                    (true, false, _) => (left, right),
                    (false, true, BinOp::Add) => (right, left),
                    (false | true, _, _) => return None,
                };
                return Some(narrow(*op, self.cell(cell)?, low_bits(plain, TY, &self.twins)));
            }
            ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
                let [left, right] = operands.as_slice() else { return None };
                ExprKind::Math(*function, vec![self.cell(left)?, self.cell(right)?])
            }
            ExprKind::Select { cond, then, otherwise } => {
                let cond = Box::new(self.cond(cond)?);
                let (then, otherwise) = (Box::new(self.cell(then)?), Box::new(self.cell(otherwise)?));
                ExprKind::Select { cond, then, otherwise }
            }
            ExprKind::Convert { operand, .. } => return self.cell(operand),
            ExprKind::Const(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => return None,
        };
        Some(Expr { kind, ty: TY, span })
    }

    /// A cell that is loaded: the corner itself, or one of the two beside it.
    fn neighbour(&self, place: &Place) -> Option<Expr> {
        let span = place.span;
        let back = |at: usize| Linear::of(&place.index[at])?.past(self.table.index[at].var);
        match (back(0)?, back(1)?) {
            (-1, -1) => Some(Expr { ty: TY, ..Expr::int(0, span) }),
            (0, -1) => Some(Expr::read(self.vars.along[0], TY, span)),
            (-1, 0) => Some(Expr::read(self.vars.along[1], TY, span)),
            (_, _) => None,
        }
    }
}
