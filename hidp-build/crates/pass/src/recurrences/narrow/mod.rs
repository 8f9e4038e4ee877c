//! Narrow cells: if the values of all cells are close together, 16 bits hold their distance from a common offset, and vectors have more
//! lanes.
//!
//! Cells come from cells by `+` and `-` of *plain* values, which depend on no cell, and by `min`, `max`, conditions and comparisons. So
//! an offset that all cells share stays the same through the body, and no cell is further from those of the first steps than the sum of what
//! the steps add. How far that is depends on sizes and scalars: the narrow version runs where a test at the beginning of the function says that nothing wraps.
//!
//! Programs say "no value" by a constant that is beyond all others, in recurrences that take the largest value or the smallest one. The narrow
//! version has a value of its own for it, which is beyond what real cells are expected to be (`reach`).

mod choices;
mod plain;
mod reach;
mod size;
#[cfg(test)]
mod tests;

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, FoldFn, MathFn, Place, Stmt, StmtKind, System, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::{Scalar, Ty};

use super::build::{self, Builder};
use super::contents::Contents;
use super::window::{self, Cells};
pub(super) use plain::low_bits;
use reach::{Far, Reach};
use size::{Bound, Bounds, End, Known, Range, Size};

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
    /// Bounds of the cells of each table, the low one and the high one, where they are known whatever other cells are.
    sure: Vec<[Option<Expr>; 2]>,
}

impl Narrow {
    /// What shows at the beginning that there is never doubt about the extreme cell of a table. `None` where nothing does.
    pub(super) fn is_sure(&self, table: usize, extreme: FoldFn) -> Option<Vec<Expr>> {
        let Some(doubt) = &self.doubt else { return Some(Vec::new()) };
        let [low, high] = &self.sure[table];
        let (op, bound) = match doubt.end {
            End::Low => (BinOp::Gt, low),
            End::High => (BinOp::Lt, high),
        };
        let bound = bound.clone().filter(|_| doubt.is_about(extreme))?;
        Some(vec![Expr::long(op, bound, doubt.line.clone())])
    }
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
    if !system.tables.iter().any(|table| is_wide(builder.vars[table.array].ty)) {
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
        cells: OrdSet::new(),
        twins: OrdMap::new(),
        known: Known::default(),
        stored: vec![None; bodies.len()],
        sure: vec![[None, None]; bodies.len()],
        retyped: OrdSet::new(),
        all: None,
        ints: None,
        leaves: Vec::new(),
        far: None,
        lowers: false,
        raises: false,
        compares: false,
        loose: false,
    };
    let narrow = made.bodies(bodies, &order)?;
    let factors = system.order.steps.iter().flat_map(|steps| &steps.rows[0]).map(|factor| factor.unsigned_abs()).sum();
    let steps = Size::sum(last.clone(), factors).minus(&Size::sum(first.clone(), factors))?;
    let plain = |bound: &Option<Bound>| {
        bound.as_ref().filter(|bound| bound.far.is_none()).and_then(|bound| Some(bound.plain.as_ref()?.expr.clone()))
    };
    let sure = made.sure.iter().map(|[low, high]| [plain(low), plain(high)]).collect();
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
    Some(Narrow { bodies: narrow, cells: Cells::Narrow { offset }, before, fits, doubt, sure })
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
    cells: OrdSet<VarId>,
    /// The low bits of others, in variables of their own.
    twins: OrdMap<VarId, VarId>,
    known: Known,
    /// The cells of each table.
    stored: Vec<Option<Bounds>>,
    /// Bounds of the cells of each table, the low one and the high one, where they are known whatever other cells are.
    sure: Vec<[Option<Bound>; 2]>,
    /// Variables that become narrow.
    retyped: OrdSet<VarId>,
    /// All that is computed from cells.
    all: Option<Bounds>,
    /// What has to fit `int`, so that the program's own arithmetic does not wrap.
    ints: Option<Range>,
    /// What has to be small.
    leaves: Vec<Expr>,
    /// A constant beyond all cells.
    far: Option<Far>,
    /// Whether a smaller one of cells is taken.
    lowers: bool,
    /// The same of a larger one.
    raises: bool,
    /// Whether cells are compared.
    compares: bool,
    /// Whether a bound of the larger one of two cells, or of the smaller one, holds only if both stand for values.
    loose: bool,
}

impl Narrowing<'_, '_> {
    /// Bodies in an order. Bounds of cells that hold whatever other cells are help in the next round, which may find more of them.
    fn bodies(&mut self, bodies: &[Block], order: &[usize]) -> Option<Vec<Block>> {
        loop {
            let far = self.far.as_ref().map(|far| far.end);
            let mut narrow: Vec<Block> = vec![Block::default(); bodies.len()];
            for &at in order {
                self.at = at;
                narrow[at] = self.body(&bodies[at])?;
            }
            let sure_of = |stored: &Option<Bounds>| {
                [End::Low, End::High].map(|end| {
                    stored.as_ref().map(|bounds| bounds.end(end)).filter(|bound| bound.more.is_empty()).cloned()
                })
            };
            let sure: Vec<[Option<Bound>; 2]> = self.stored.iter().map(sure_of).collect();
            let count = |sure: &[[Option<Bound>; 2]]| sure.iter().flatten().flatten().count();
            let is_far_known = self.far.as_ref().map(|far| far.end) == far;
            if is_far_known && count(&sure) <= count(&self.sure) {
                let vars = &mut self.builder.vars;
                self.retyped.iter().for_each(|var| vars[*var].ty = TY);
                return Some(narrow);
            }
            if is_far_known {
                self.sure = sure;
            }
            self.stored.iter_mut().for_each(|stored| *stored = None);
            (self.all, self.ints, self.loose) = (None, None, false);
            self.leaves.clear();
        }
    }

    fn body(&mut self, body: &Block) -> Option<Block> {
        self.known = Known::default();
        loop {
            let known = self.cells.len();
            visit::walk_stmts(body, |stmt| {
                if let StmtKind::Assign { var, value } = &stmt.kind
                    && is_wide(value.ty)
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

    fn table(&self, var: VarId) -> Option<usize> {
        self.system.tables.iter().position(|table| table.array == var)
    }

    /// Whether a value depends on a cell.
    fn is_cell(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::walk_expr_vars(expr, |var, role| match role {
            Role::Read => {
                let is_table = self.table(var).is_some() && is_wide(self.builder.vars[var].ty);
                found |= is_table || self.cells.contains(&var);
            }
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
                self.retyped.insert(*var);
                let zero = Expr::int(0, span);
                self.known.cells.insert(*var, Bounds::plain(Range::one(Size::constant(0, span))));
                out.push(stmt.clone());
                out.push(build::assign(*var, self.less(self.low_bits(&zero))));
            }
            StmtKind::Declare { var, .. } => {
                out.push(stmt.clone());
                if is_wide(self.builder.vars[*var].ty) {
                    let builder = &mut self.builder;
                    let twin = *self.twins.entry(*var).or_insert_with(|| builder.local("low", TY, span));
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
                out.push(build::assign(*var, self.other(value)?));
                if let Some(twin) = self.twins.get(var) {
                    out.push(build::assign(*twin, self.low_bits(value)));
                }
                match self.range(value) {
                    Some(range) => self.known.plain.insert(*var, range),
                    None => self.known.plain.remove(var),
                };
            }
            StmtKind::Store { place, value } if place.path.is_empty() => {
                let at = self.table(place.array)?;
                if !is_wide(value.ty) {
                    let value = self.other(value)?;
                    out.push(Stmt { kind: StmtKind::Store { place: place.clone(), value }, span });
                    return Some(());
                }
                let (bounds, value) = self.cell(value)?;
                let stored = &mut self.stored[at];
                *stored = Some(stored.take().map_or_else(|| bounds.clone(), |known| known.join(&bounds)));
                out.push(Stmt { kind: StmtKind::Store { place: place.clone(), value }, span });
            }
            StmtKind::If { cond, then, otherwise } => {
                let (asked, before) = (cond, self.known.clone());
                let cond = self.cond(asked)?;
                self.learn(asked, true);
                let then = self.block(then)?;
                let after = std::mem::replace(&mut self.known, before);
                self.learn(asked, false);
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
                self.loose |= left.end(end.other()).is_loose(right.end(end.other()));
                Some((left.extreme(&right, end), value))
            }
            ExprKind::Select { cond, then, otherwise } => {
                let (asked, before) = (cond, self.known.clone());
                let cond = Box::new(self.cond(asked)?);
                self.learn(asked, true);
                let (left, then) = self.cell(then)?;
                self.known = before.clone();
                self.learn(asked, false);
                let (right, otherwise) = self.cell(otherwise)?;
                self.known = before;
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
            steps => {
                let mut bounds = Bounds::earlier(steps, place.span);
                let [low, high] = &self.sure[from];
                low.iter().for_each(|low| bounds.low = low.clone());
                high.iter().for_each(|high| bounds.high = high.clone());
                Some(bounds)
            }
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
