//! Windows: of a wave's tables the last steps are kept, in an array each, which change roles from step to step: by `swap` at host
//! level, in iterations of maps in as many copies of the step as there are arrays.

use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Place, Stmt, StmtKind, System, Table, UnOp, Var, VarId, VarKind,
};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

use super::Around;
use super::asked::Asks;
use super::build::{self, Builder};
use super::kept::KeptField;
use super::narrow;
use super::visits::Lines;

/// The longest window that is worth an array for each step.
const LONGEST: u32 = 8;

/// The longest one of which a step has copies.
const MOST_COPIES: u32 = 4;

/// How windows hold cells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cells {
    /// In the type that the program declares.
    Declared,
    /// In a narrow type, and less than they are by an offset.
    Narrow {
        /// The offset, a `long`.
        offset: VarId,
    },
}

/// What is kept of a table.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The index that follows from the step: the arrays have the others.
    pub(super) following: usize,
    /// Of this step, the one before, and so on; none where no cell is loaded and none is asked for.
    pub(super) steps: Vec<VarId>,
    /// Whether the table is wanted as well.
    pub(super) whole: bool,
    /// Where it goes as well, by steps.
    kept: Vec<KeptField>,
    pub(super) cells: Cells,
}

/// Arrays for the windows of all tables, if every cell is loaded a constant number of steps after it was computed.
pub(super) fn of(
    builder: &mut Builder<'_>,
    system: &System,
    bodies: &[Block],
    following: impl Fn(usize) -> Option<usize>,
    (around, whole): (Around, bool),
    (cells, asks): (Cells, &Asks),
) -> Option<OrdMap<VarId, Window>> {
    let rows: OrdMap<VarId, &[i64]> = system
        .tables
        .iter()
        .zip(&system.order.steps)
        .map(|(table, steps)| (table.array, steps.rows[0].as_slice()))
        .collect();
    for (table, body) in system.tables.iter().zip(bodies) {
        let mut constant = true;
        visit::walk_places(body, |place, _| {
            let loaded =
                rows.get(&place.array).is_none_or(|row| distance(table, rows[&table.array], place, row).is_some());
            constant &= loaded;
        });
        if !constant {
            return None;
        }
    }
    let longest = match around {
        Around::Host => LONGEST,
        Around::Map => MOST_COPIES,
    };
    // Copies of a step are as many for all tables.
    let all = system.order.steps.iter().map(|steps| steps.window).collect::<Option<Vec<u32>>>()?;
    let common = match around {
        Around::Host => 1,
        Around::Map => all.into_iter().max()?,
    };
    let mut windows = OrdMap::new();
    for (at, (table, steps)) in system.tables.iter().zip(&system.order.steps).enumerate() {
        let (following, length) = (following(at)?, steps.window.filter(|length| *length <= longest)?);
        let mut shape = builder.vars[table.array].shape.clone();
        shape.remove(following);
        if shape.is_empty() {
            return None;
        }
        let known = &builder.vars[table.array];
        let cells = if narrow::is_wide(known.ty) { cells } else { Cells::Declared };
        let ty = match cells {
            Cells::Declared => known.ty,
            Cells::Narrow { .. } => narrow::TY,
        };
        let var = Var { shape, ty, kind: VarKind::Local, ..known.clone() };
        let kept: Vec<KeptField> = asks.kept.iter().filter(|kept| kept.table == table.array).cloned().collect();
        let arrays = if is_loaded(bodies, table.array) || asks.takes(table.array) || kept.is_empty() {
            (0..length.max(common)).map(|_| builder.vars.push(var.clone())).collect()
        } else {
            Vec::new()
        };
        windows.insert(table.array, Window { following, steps: arrays, whole, kept, cells });
    }
    Some(windows)
}

/// Whether cells of a table are loaded.
fn is_loaded(bodies: &[Block], table: VarId) -> bool {
    let mut loaded = false;
    for body in bodies {
        visit::walk_places(body, |place, role| loaded |= place.array == table && role == Role::Read);
    }
    loaded
}

/// By how many steps a cell comes after one that it loads, or stores to.
pub(super) fn distance(table: &Table, own: &[i64], place: &Place, row: &[i64]) -> Option<i64> {
    let mut sum = Linear::default();
    for (factor, index) in row.iter().zip(&place.index).filter(|(factor, _)| **factor != 0) {
        sum.add(index, -factor)?;
    }
    for (factor, index) in own.iter().zip(&table.index) {
        *sum.terms.entry(index.var).or_default() += factor;
    }
    sum.terms.values().all(|factor| *factor == 0).then_some(sum.constant)
}

/// A sum of multiples of variables.
#[derive(Default)]
pub(super) struct Linear {
    constant: i64,
    terms: OrdMap<VarId, i64>,
}

impl Linear {
    pub(super) fn of(expr: &Expr) -> Option<Linear> {
        let mut sum = Linear::default();
        sum.add(expr, 1)?;
        Some(sum)
    }

    /// What is added to a variable, if that is all.
    pub(super) fn past(&self, var: VarId) -> Option<i64> {
        let is_it = |(term, factor): (&VarId, &i64)| *factor == i64::from(*term == var);
        (self.terms.contains_key(&var) && self.terms.iter().all(is_it)).then_some(self.constant)
    }

    /// `left - right`
    pub(super) fn between(left: &Expr, right: &Expr) -> Option<Linear> {
        let mut sum = Linear::of(left)?;
        sum.add(right, -1)?;
        Some(sum)
    }

    /// A factor of what one variable is more than another, and what is added to it, if that is all.
    pub(super) fn of_gap(&self, [less, more]: [VarId; 2]) -> Option<[i64; 2]> {
        let factor = |var: VarId| self.terms.get(&var).copied().unwrap_or(0);
        let others = self.terms.iter().any(|(term, factor)| *factor != 0 && *term != less && *term != more);
        (!others && factor(less) == -factor(more)).then(|| [factor(more), self.constant])
    }

    fn add(&mut self, expr: &Expr, factor: i64) -> Option<()> {
        match &expr.kind {
            ExprKind::Const(_) => {
                let more = factor.checked_mul(i64::try_from(expr.as_int()?).ok()?)?;
                self.constant = self.constant.checked_add(more)?;
                Some(())
            }
            ExprKind::Read(var) => {
                *self.terms.entry(*var).or_default() += factor;
                Some(())
            }
            ExprKind::Unary(UnOp::Neg, operand) => self.add(operand, -factor),
            ExprKind::Binary { op: BinOp::Add, left, right, .. } => {
                self.add(left, factor)?;
                self.add(right, factor)
            }
            ExprKind::Binary { op: BinOp::Sub, left, right, .. } => {
                self.add(left, factor)?;
                self.add(right, -factor)
            }
            ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => None,
        }
    }
}

/// Makes the body of a table load from windows and store into them.
pub(super) fn apply(
    builder: &mut Builder<'_>,
    system: &System,
    at: usize,
    (windows, lines, step): (&OrdMap<VarId, Window>, &[Lines<'_>], &Expr),
    body: &mut Block,
) {
    let table = &system.tables[at];
    let rows = system.tables.iter().zip(&system.order.steps).map(|(table, steps)| (table.array, steps.rows[0].clone()));
    let own = system.order.steps[at].rows[0].clone();
    Apply { builder, system, table, own, rows: rows.collect(), windows, lines, step }.visit_block(body);
}

struct Apply<'a, 'b> {
    builder: &'a mut Builder<'b>,
    system: &'a System,
    table: &'a Table,
    own: Vec<i64>,
    rows: OrdMap<VarId, Vec<i64>>,
    windows: &'a OrdMap<VarId, Window>,
    lines: &'a [Lines<'a>],
    step: &'a Expr,
}

impl Apply<'_, '_> {
    /// The place in the window.
    fn moved(&self, place: &Place) -> Option<Place> {
        let window = self.windows.get(&place.array)?;
        let back = distance(self.table, &self.own, place, self.rows.get(&place.array)?)?;
        let array = *window.steps.get(usize::try_from(back).ok()?)?;
        let mut moved = Place { array, ..place.clone() };
        moved.index.remove(window.following);
        let low = place.unproved & ((1 << window.following) - 1);
        moved.unproved = low | (place.unproved >> (window.following + 1)) << window.following;
        Some(moved)
    }
}

impl Mutator for Apply<'_, '_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            change::walk_stmt(self, &mut stmt);
            let span = stmt.span;
            let moved = match &stmt.kind {
                StmtKind::Store { place, .. } => {
                    self.windows.get(&place.array).map(|window| (self.moved(place), window))
                }
                _ => None,
            };
            match (stmt.kind, moved) {
                (StmtKind::Store { place, value }, Some((moved, window))) => {
                    let lines: Vec<&Lines<'_>> =
                        self.lines.iter().filter(|lines| lines.table() == place.array).collect();
                    let store = |place, value| Stmt { kind: StmtKind::Store { place, value }, span };
                    if !window.whole && lines.is_empty() && window.kept.is_empty() {
                        out.extend(moved.map(|moved| store(moved, value)));
                        continue;
                    }
                    let (ty, at) = (value.ty, value.span);
                    let held = self.builder.local("value", ty, at);
                    out.push(build::declare(held, at));
                    out.push(build::assign(held, value));
                    let held = Expr::read(held, ty, at);
                    let declared = window.declared(held.clone(), self.builder.vars[place.array].ty);
                    for lines in lines {
                        let cell = (held.clone(), declared.clone());
                        out.extend(lines.folded(self.builder, self.system, self.step, cell));
                    }
                    out.extend(moved.map(|moved| store(moved, held)));
                    let by_step = (&self.rows[&place.array][..], self.step);
                    let kept = window.kept.iter();
                    out.extend(kept.map(|kept| kept.stored(self.builder, by_step, &place.index, declared.clone())));
                    if window.whole {
                        out.push(store(place, declared));
                    }
                }
                (kind, _) => out.push(Stmt { kind, span }),
            }
        }
        block.stmts = out;
    }
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let ExprKind::Load(place) = &mut expr.kind
            && let Some(moved) = self.moved(place)
        {
            *place = moved;
        }
    }
}

impl Window {
    /// After a step: what was of this step is of the one before.
    pub(super) fn rotated(&self, span: hidp_syntax::source::Span) -> Vec<Stmt> {
        let pairs = self.steps.windows(2).rev();
        pairs.map(|pair| Stmt { kind: StmtKind::Swap(pair[0], pair[1]), span }).collect()
    }

    /// The roles of the arrays so many steps later.
    pub(super) fn turned(&self, steps: usize) -> Window {
        let mut turned = self.clone();
        let length = turned.steps.len();
        if length > 0 {
            turned.steps.rotate_right(steps % length);
        }
        turned
    }

    /// The cell of this step with these indices.
    pub(super) fn cell(&self, index: &[Expr], path: &[u32], ty: Ty) -> Expr {
        let span = index[0].span;
        let mut index = index.to_vec();
        index.remove(self.following);
        let place =
            Place { array: self.steps[0], index, path: path.to_vec(), unproved: 0, access: Access::Exclusive, span };
        let kept = match self.cells {
            Cells::Declared => ty,
            Cells::Narrow { .. } => narrow::TY,
        };
        self.declared(Expr { kind: ExprKind::Load(place), ty: kept, span }, ty)
    }

    /// A cell as the program declares it, from how it is kept.
    pub(super) fn declared(&self, value: Expr, ty: Ty) -> Expr {
        match self.cells {
            Cells::Declared => value,
            Cells::Narrow { offset } => {
                let offset = build::read(offset, value.span);
                build::cast(build::add(build::cast(value, Ty::LONG), offset), ty)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_syntax::index::Id;
    use hidp_syntax::source::{FileId, Span};

    #[test]
    fn constants_that_no_long_holds_together_are_no_sum() {
        let span = Span::new(FileId::new(0), 0, 1);
        let index = VarId::new(0);
        let past = |op, more: i64| {
            let far = build::add(build::read(index, span), Expr::int(i64::MAX, span));
            Linear::of(&Expr::long(op, far, Expr::int(more, span))).and_then(|sum| sum.past(index))
        };
        assert_eq!(past(BinOp::Add, 1), None);
        assert_eq!(past(BinOp::Add, 0), Some(i64::MAX));
        assert_eq!(past(BinOp::Sub, i64::MAX), Some(0));
        assert_eq!(past(BinOp::Sub, -1), None);
    }
}
