//! Narrow cells: if the values of all cells are close together, 16 bits hold their distance from a common offset, and vectors have more
//! lanes.
//!
//! Cells come from cells by `+` and `-` of *plain* values, which depend on no cell, and by `min`, `max`, conditions and comparisons. So
//! an offset that all cells share stays the same through the body, and no cell is further from those of the first steps than the sum of what
//! the steps add. How far that is depends on sizes and scalars: the narrow version runs where a test at the beginning of the function says that nothing wraps.
//!
//! Programs say "no value" by a constant that is beyond all others, in recurrences that take the largest value or the smallest one. The narrow
//! version has a value of its own for it, which is beyond what real cells are expected to be (`reach`).

mod plain;
mod reach;
mod size;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, FoldFn, MathFn, Place, Stmt, StmtKind, System, UnOp, VarId};
use hidp_syntax::ty::{Scalar, Ty};

use super::build::{self, Builder};
use super::contents::Contents;
use super::window::{self, Cells};
pub(super) use plain::low_bits;
use reach::{Far, Reach};
use size::{Bounds, End, Known, Range, Size};

/// The type of narrow cells.
pub(super) const TY: Ty = Ty::Scalar(Scalar::I16);

/// How many values it has.
const VALUES: i64 = 1 << 16;

/// What takes the place of a system where its cells fit.
pub(super) struct Narrow {
    pub(super) bodies: Vec<Block>,
    pub(super) cells: Cells,
    /// Finds what is in arrays, and the offset.
    pub(super) before: Vec<Stmt>,
    /// Whether all cells fit.
    pub(super) fits: Expr,
    /// Which values show that a cell may depend on the far value. Such a cell is of no use.
    pub(super) doubt: Option<Doubt>,
}

/// Values up to a line, or from there on.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    end: End,
    line: Expr,
}

impl Doubt {
    /// Whether this value of a cell, a `long`, shows it.
    pub(super) fn about(&self, value: Expr) -> Expr {
        let op = match self.end {
            End::Low => BinOp::Le,
            End::High => BinOp::Ge,
        };
        Expr::long(op, value, self.line.clone())
    }

    /// Whether the greatest of all cells, or the least, is on this side of the line where some cell is. Then it is the same in both versions, with
    /// its place; the other extreme is that of a cell that stands for no value.
    pub(super) fn is_about(&self, extreme: FoldFn) -> bool {
        match self.end {
            End::Low => extreme == FoldFn::Max,
            End::High => extreme == FoldFn::Min,
        }
    }
}

/// Narrow bodies of the tables of a system, whose variables are nobody else's; `first` and `last` are its first step and its last. `None`
/// where bodies do something else with cells. Only where cells that are given can be looked at, there may be a far value.
pub(super) fn of(
    builder: &mut Builder<'_>,
    system: &System,
    bodies: &[Block],
    contents: Contents,
    [first, last]: &[Expr; 2],
    may_doubt: bool,
) -> Option<Narrow> {
    if !system.tables.iter().all(|table| is_wide(builder.vars[table.array].ty)) {
        return None;
    }
    let span = system.tables[0].span;
    let shift = builder.local("shift", TY, span);
    let offset = builder.local("offset", Ty::LONG, span);
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_by_key(|at| system.order.steps[*at].rank);
    let mut made = Narrowing {
        builder,
        system,
        contents,
        at: 0,
        shift,
        cells: BTreeSet::new(),
        twins: BTreeMap::new(),
        known: Known::default(),
        stored: vec![None; bodies.len()],
        all: None,
        ints: None,
        leaves: Vec::new(),
        far: None,
        lowers: false,
        raises: false,
    };
    let mut narrow: Vec<Block> = vec![Block::default(); bodies.len()];
    for at in order {
        made.at = at;
        narrow[at] = made.body(&bodies[at])?;
    }
    let factors = system.order.steps.iter().flat_map(|steps| &steps.rows[0]).map(|factor| factor.unsigned_abs()).sum();
    let steps = Size::sum(last.clone(), factors).minus(&Size::sum(first.clone(), factors))?;
    let far = made.far.as_ref().map(|far| far.low);
    if far.is_some() && !may_doubt {
        return None;
    }
    let Reach { ends, fits, far: found, mut before } = made.reach(&steps)?;
    let middle = ends.low.plus(&Size::constant(VALUES / 2, span))?;
    before.extend([
        build::declare(offset, span),
        build::assign(offset, middle.expr),
        build::declare(shift, span),
        build::assign(shift, build::cast(build::read(offset, span), TY)),
    ]);
    let mut doubt = None;
    if let (Some(low), Some((value, found))) = (far, found) {
        let value = build::sub(value.expr, build::read(offset, span));
        before.extend([build::declare(low, span), build::assign(low, build::cast(value, TY))]);
        doubt = Some(found);
    }
    Some(Narrow { bodies: narrow, cells: Cells::Narrow { offset }, before, fits, doubt })
}

/// `left op right` on narrow values.
fn narrow(op: BinOp, left: Expr, right: Expr) -> Expr {
    let ty = if op.is_comparison() { Ty::BOOL } else { TY };
    Expr { ty, ..Expr::long(op, left, right) }
}

struct Narrowing<'a, 'b> {
    builder: &'a mut Builder<'b>,
    system: &'a System,
    contents: Contents,
    /// The table.
    at: usize,
    /// The low bits of the offset, which narrow cells are without.
    shift: VarId,
    /// Variables that hold cells.
    cells: BTreeSet<VarId>,
    /// The low bits of others, in variables of their own.
    twins: BTreeMap<VarId, VarId>,
    known: Known,
    /// The cells of each table.
    stored: Vec<Option<Bounds>>,
    /// All that is computed from cells.
    all: Option<Bounds>,
    /// What has to fit `int`, so that the program's own arithmetic does not wrap.
    ints: Option<Range>,
    /// What has to be small.
    leaves: Vec<Expr>,
    /// A constant beyond all cells.
    far: Option<Far>,
    /// Whether a smaller one of cells is taken, or which one depends on a comparison.
    lowers: bool,
    /// The same of a larger one.
    raises: bool,
}

impl Narrowing<'_, '_> {
    fn body(&mut self, body: &Block) -> Option<Block> {
        self.known = Known::default();
        loop {
            let known = self.cells.len();
            visit::walk_stmts(body, |stmt| {
                if let StmtKind::Assign { var, value } = &stmt.kind
                    && self.is_cell(value)
                {
                    self.cells.insert(*var);
                }
            });
            if self.cells.len() == known {
                return self.block(body);
            }
        }
    }

    fn is_table(&self, var: VarId) -> bool {
        self.system.tables.iter().any(|table| table.array == var)
    }

    /// Whether a value depends on a cell.
    fn is_cell(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::walk_expr_vars(expr, |var, role| match role {
            Role::Read => found |= self.is_table(var) || self.cells.contains(&var),
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
                let zero = Expr::int(0, span);
                self.known.cells.insert(*var, Bounds::plain(Range::one(Size::constant(0, span))));
                out.push(stmt.clone());
                out.push(build::assign(*var, self.less(self.low_bits(&zero))));
            }
            StmtKind::Declare { var, .. } => {
                out.push(stmt.clone());
                if is_wide(self.builder.vars[*var].ty) {
                    let twin = self.builder.local("low", TY, span);
                    self.twins.insert(*var, twin);
                    self.known.plain.insert(*var, Range::one(Size::constant(0, span)));
                    out.push(build::declare(twin, span));
                }
            }
            StmtKind::Assign { var, value } if self.cells.contains(var) => {
                let (bounds, value) = self.cell(value)?;
                self.known.cells.insert(*var, bounds);
                out.push(build::assign(*var, value));
            }
            StmtKind::Assign { var, value } => {
                out.push(stmt.clone());
                if let Some(twin) = self.twins.get(var) {
                    out.push(build::assign(*twin, self.low_bits(value)));
                }
                match self.range(value) {
                    Some(range) => self.known.plain.insert(*var, range),
                    None => self.known.plain.remove(var),
                };
            }
            StmtKind::Store { place, value } if self.is_table(place.array) && place.path.is_empty() => {
                let (bounds, value) = self.cell(value)?;
                let stored = &mut self.stored[self.at];
                *stored = Some(stored.take().map_or_else(|| bounds.clone(), |known| known.join(&bounds)));
                out.push(Stmt { kind: StmtKind::Store { place: place.clone(), value }, span });
            }
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.cond(cond)?;
                let before = self.known.clone();
                let then = self.block(then)?;
                let after = std::mem::replace(&mut self.known, before);
                let otherwise = self.block(otherwise)?;
                self.known = after.join(&self.known);
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

    /// A condition, over narrow cells.
    fn cond(&mut self, expr: &Expr) -> Option<Expr> {
        if !self.is_cell(expr) {
            return Some(expr.clone());
        }
        let kind = match &expr.kind {
            ExprKind::Binary { op, left, right, .. } if op.is_comparison() => {
                (self.lowers, self.raises) = (true, true);
                return Some(narrow(*op, self.cell(left)?.1, self.cell(right)?.1));
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

    /// A value that a cell can have, without the offset, and its bounds.
    fn cell(&mut self, expr: &Expr) -> Option<(Bounds, Expr)> {
        let (bounds, value) = if !is_wide(expr.ty) {
            return None;
        } else if self.is_cell(expr) {
            self.of_cells(expr)?
        } else if let Some(value) = reach::constant(expr) {
            (Bounds::far(expr.span), self.far_value(value, expr.span)?)
        } else {
            let range = self.range(expr)?;
            (Bounds::plain(range), self.less(self.low_bits(expr)))
        };
        self.all = Some(self.all.take().map_or_else(|| bounds.clone(), |all| all.join(&bounds)));
        Some((bounds, value))
    }

    fn of_cells(&mut self, expr: &Expr) -> Option<(Bounds, Expr)> {
        match &expr.kind {
            ExprKind::Load(place) => {
                let bounds = self.loaded(place)?;
                Some((bounds, Expr { ty: TY, ..expr.clone() }))
            }
            ExprKind::Read(var) => {
                let bounds = self.known.cells.get(var)?.clone();
                Some((bounds, Expr { ty: TY, ..expr.clone() }))
            }
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), left, right, .. } => {
                let (cell, plain) = match (self.is_cell(left), self.is_cell(right), op) {
                    (true, false, _) => (left, right),
                    (false, true, BinOp::Add) => (right, left),
                    (false | true, _, _) => return None,
                };
                let ((bounds, value), range) = (self.cell(cell)?, self.range(plain)?);
                let zero = Range::one(Size::constant(0, expr.span));
                let range = if *op == BinOp::Sub { zero.minus(&range)? } else { range };
                Some((bounds.plus(&range)?, narrow(*op, value, self.low_bits(plain))))
            }
            ExprKind::Math(function @ (MathFn::Min | MathFn::Max), operands) => {
                let [left, right] = operands.as_slice() else { return None };
                let ((left, a), (right, b)) = (self.cell(left)?, self.cell(right)?);
                let end = if *function == MathFn::Min { End::Low } else { End::High };
                match end {
                    End::Low => self.lowers = true,
                    End::High => self.raises = true,
                }
                let value = Expr { kind: ExprKind::Math(*function, vec![a, b]), ty: TY, span: expr.span };
                Some((left.extreme(&right, end), value))
            }
            ExprKind::Select { cond, then, otherwise } => {
                let cond = Box::new(self.cond(cond)?);
                let ((left, then), (right, otherwise)) = (self.cell(then)?, self.cell(otherwise)?);
                let (then, otherwise) = (Box::new(then), Box::new(otherwise));
                let value = Expr { kind: ExprKind::Select { cond, then, otherwise }, ty: TY, span: expr.span };
                Some((left.join(&right), value))
            }
            ExprKind::Convert { operand, .. } => self.cell(operand),
            ExprKind::Const(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }

    /// The bounds of a cell that is loaded: of this step or an earlier one.
    fn loaded(&self, place: &Place) -> Option<Bounds> {
        let from = self.system.tables.iter().position(|table| table.array == place.array)?;
        let row = |at: usize| self.system.order.steps[at].rows[0].as_slice();
        match window::distance(&self.system.tables[self.at], row(self.at), place, row(from))? {
            0 => self.stored[from].clone(),
            steps => Some(Bounds::earlier(steps, place.span)),
        }
    }

    /// Without the offset.
    fn less(&self, value: Expr) -> Expr {
        let span = value.span;
        narrow(BinOp::Sub, value, Expr::read(self.shift, TY, span))
    }
}

/// Whether values of this type are made narrow.
pub(super) fn is_wide(ty: Ty) -> bool {
    ty == Ty::LONG || ty == Ty::Scalar(Scalar::I32)
}
