//! Which maps fold what they find in a table that nothing else needs.

use hidp_ir::par::effects::{may_fault, scalar_fn_may_fault};
use hidp_ir::par::visit::{self, Role, Visitor};
use hidp_ir::par::{
    Block, Directives, Expr, ExprKind, Fold, FoldFn, FoldKind, FoldOp, Func, Iter, Map, Program, Stmt, StmtKind, Var,
    VarId, VarKind, same,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Ty;

use super::super::asked::is_known;
use super::super::build;
use super::super::wave;
use super::super::window::Linear;
use super::picks::Pick;
use super::{Dim, Found, FoundFold, Tree};

/// What is computed anew for each fold is no larger than so many expressions.
const LARGEST: usize = 100;

/// The statement that is a map over a table of this function which nothing else needs, and its folds.
pub(in super::super) fn folds(
    program: &Program,
    (func, vars): (&Func, &Arena<VarId, Var>),
    outputs: &[(VarId, VarId)],
    stmts: &[Stmt],
) -> Option<(usize, Found)> {
    let is_table = |var: VarId| outputs.iter().any(|(_, array)| *array == var);
    let mut found = Uses { is_table: &is_table, uses: Vec::new(), changed: OrdSet::new() };
    let mut at = None;
    for (number, stmt) in stmts.iter().enumerate() {
        let (known, changed) = (found.uses.len(), found.changed.clone());
        found.visit_stmt(stmt);
        if found.uses.len() > known && at.replace((number, changed)).is_some() {
            return None;
        }
    }
    let (number, changed) = at?;
    let StmtKind::Map(map) = &stmts[number].kind else { return None };
    let table = found.uses[0];
    if !found.uses.iter().all(|other| *other == table) || map.directives != Directives::default() {
        return None;
    }
    if may_fault(program, vars, &map.body) {
        return None;
    }
    let index = element(&map.body, table)?;
    let (part, past) = part(vars, map, (table, &index), &changed)?;
    let iters: Vec<VarId> = map.iters.iter().map(|iter| iter.var).collect();
    let visited: OrdSet<VarId> = part.iter().filter_map(Dim::iter).collect();
    let once = part.iter().filter_map(Dim::iter).count() == visited.len();
    if !once || iters.iter().any(|iter| !visited.contains(iter)) {
        return None;
    }
    let mut values = Values { table, index: &index, iters: &iters, changed: &changed, vars }.of(&map.body)?;
    let counted = |var: VarId| {
        let past = past.get(&var)?;
        Some(build::sub(build::read(var, map.iters[0].span), Expr::int(*past, map.iters[0].span)))
    };
    values.values_mut().for_each(|value| visit::substitute_expr(value, counted));
    let rows = rows(func, outputs.iter().find(|(_, array)| *array == table)?.0)?;
    let each = map.folds.iter().map(|fold| of_fold(program, fold, (&iters, &part, &rows), &values));
    let each = each.collect::<Option<Vec<_>>>()?;
    (!each.is_empty()).then_some((number, Found { table, part, each }))
}

/// Which indices a map visits, in each dimension of a table; and how far they are past the iterators, where they are not these.
fn part(
    vars: &Arena<VarId, Var>,
    map: &Map,
    (table, index): (VarId, &[Expr]),
    changed: &OrdSet<VarId>,
) -> Option<(Vec<Dim>, OrdMap<VarId, i64>)> {
    let is_input = |var: VarId| vars[var].kind == VarKind::Param(Direction::Input);
    let is_known = |expr: &Expr| is_known(expr, changed, &is_input);
    let mut moved = OrdMap::new();
    let dim = |(index, extent): (&Expr, &Expr)| {
        let sum = Linear::of(index);
        let of = |iter: &Iter| Some((iter.clone(), sum.as_ref()?.past(iter.var)?));
        let Some((Iter { var, lo, hi, step, .. }, past)) = map.iters.iter().find_map(of) else {
            return is_known(index).then(|| Dim::At(index.clone()));
        };
        if step.as_int() != Some(1) || !is_known(&lo) || !is_known(&hi) {
            return None;
        }
        if past != 0 {
            moved.insert(var, past);
        }
        let [lo, hi] = [lo, hi].map(|end| moved_by(end, past));
        let all = lo.as_int() == Some(0) && same::expr(&hi, extent);
        Some(if all { Dim::All(var) } else { Dim::Range(var, [lo, hi]) })
    };
    let part = index.iter().zip(&vars[table].shape).map(dim).collect::<Option<_>>()?;
    Some((part, moved))
}

/// An end of a range, so much further.
fn moved_by(end: Expr, past: i64) -> Expr {
    match end.as_int().and_then(|end| i64::try_from(end).ok()?.checked_add(past)) {
        Some(sum) => Expr::int(sum, end.span),
        None => {
            let past = Expr::int(past, end.span);
            build::add(end, past)
        }
    }
}

/// The schedule of a table.
fn rows(func: &Func, array: VarId) -> Option<Vec<Vec<i64>>> {
    let systems = func.recur.iter().flat_map(|recur| &recur.systems);
    let mut steps = systems.flat_map(|system| system.tables.iter().zip(&system.order.steps));
    steps.find(|(table, _)| table.array == array).map(|(_, steps)| steps.rows.clone())
}

fn of_fold(
    program: &Program,
    fold: &Fold,
    (iters, part, rows): (&[VarId], &[Dim], &[Vec<i64>]),
    values: &OrdMap<VarId, Expr>,
) -> Option<FoundFold> {
    let value = values.get(&fold.value)?;
    let all = fold.kind == FoldKind::Reduce && iters.iter().all(|iter| fold.over.contains(iter));
    if !all {
        return None;
    }
    let tree = tree(program, (&fold.op, value), part, rows)?;
    let (op, target) = (fold.op.clone(), fold.target.clone());
    Some(FoundFold { value: value.clone(), op, tree, target, span: fold.span })
}

/// How values of these cells meet. `None` where they cannot meet in the order of the steps.
fn tree(program: &Program, (op, value): (&FoldOp, &Expr), part: &[Dim], rows: &[Vec<i64>]) -> Option<Tree> {
    let extreme = matches!(op.func, FoldFn::Min | FoldFn::Max);
    let scalar = op.ty.scalar();
    let built_in = !matches!(op.func, FoldFn::Fn(_));
    let any = built_in && scalar.is_some_and(|ty| ty.is_integer() || ty.is_float() && extreme);
    let fits = match op.func {
        FoldFn::Fn(function) => !scalar_fn_may_fault(program, function),
        FoldFn::Add | FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Min | FoldFn::Max => {
            op.neutral.as_ref().is_some_and(|neutral| matches!(neutral.kind, ExprKind::Const(_)))
        }
    };
    if !fits || op.ordered && !any {
        return None;
    }
    let last = part.len() - 1;
    let [row] = rows else { return any.then_some(Tree::Any { along: last }) };
    if part.iter().zip(row).all(|(dim, factor)| *factor == 0 || dim.iter().is_none()) {
        return Some(Tree::Step { any });
    }
    let along = wave::following(row).unwrap_or(last);
    if any {
        return Some(Tree::Any { along });
    }
    if let (Some(along), Some(pick)) = (wave::following(row), Pick::of(program, op, value)) {
        return Some(Tree::Pick { along, pick });
    }
    if built_in {
        return Some(Tree::Lines { along, up: row[along] >= 0 });
    }
    (row[last] != 0).then_some(Tree::Rows { along: last, up: row[last] > 0 })
}

/// Whether a value is made of the element at these indices, of iterators and of scalars that are known.
struct Values<'a> {
    table: VarId,
    index: &'a [Expr],
    iters: &'a [VarId],
    /// What has another value before.
    changed: &'a OrdSet<VarId>,
    vars: &'a Arena<VarId, Var>,
}

impl Values<'_> {
    /// What variables have in the end of a body that only assigns; `None` for others.
    fn of(&self, body: &Block) -> Option<OrdMap<VarId, Expr>> {
        let mut values: OrdMap<VarId, Expr> = OrdMap::new();
        let mut own: OrdSet<VarId> = OrdSet::new();
        for stmt in &body.stmts {
            match &stmt.kind {
                StmtKind::Declare { var, .. } => {
                    own.insert(*var);
                }
                StmtKind::Assign { var, value } => {
                    let mut value = value.clone();
                    visit::substitute_expr(&mut value, |var| values.get(&var).cloned());
                    let mut size = 0;
                    if !self.is_of_cell(&value, &own, &mut size) {
                        return None;
                    }
                    values.insert(*var, value);
                }
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
                | StmtKind::Require { .. } => return None,
            }
        }
        Some(values)
    }

    fn is_of_cell(&self, expr: &Expr, own: &OrdSet<VarId>, size: &mut usize) -> bool {
        *size += 1;
        if *size > LARGEST {
            return false;
        }
        let mut is_of_cell = |expr: &Expr| self.is_of_cell(expr, own, size);
        match &expr.kind {
            ExprKind::Load(place) => {
                let same = place.index.iter().zip(self.index).all(|(a, b)| same::expr(a, b));
                same && place.array == self.table && place.path.len() <= 1 && place.unproved == 0
            }
            // Variables of the body that were not assigned are no values.
            ExprKind::Read(var) => {
                let scalar = self.vars[*var].shape.is_empty() && !self.changed.contains(var) && !own.contains(var);
                self.iters.contains(var) || scalar
            }
            ExprKind::Const(_) => true,
            ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
                is_of_cell(operand)
            }
            ExprKind::Binary { left, right, .. } | ExprKind::Lazy { left, right, .. } => {
                is_of_cell(left) && is_of_cell(right)
            }
            ExprKind::Select { cond, then, otherwise } => {
                [cond, then, otherwise].into_iter().all(|part| is_of_cell(part))
            }
            ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
                operands.iter().all(is_of_cell)
            }
        }
    }
}

/// The indices of the first element of a table that statements load.
fn element(block: &Block, table: VarId) -> Option<Vec<Expr>> {
    let mut found = None;
    visit::walk_places(block, |place, _| {
        if place.array == table && found.is_none() {
            found = Some(place.index.clone());
        }
    });
    found
}

/// Scalars that a value reads outside of indices of the table's element.
pub(super) fn scalars(value: &Expr, mut found: impl FnMut(VarId, Ty)) {
    struct Reads<'a>(&'a mut dyn FnMut(VarId, Ty));
    impl Visitor for Reads<'_> {
        fn visit_expr(&mut self, expr: &Expr) {
            match &expr.kind {
                ExprKind::Load(_) => {}
                ExprKind::Read(var) => (self.0)(*var, expr.ty),
                _ => visit::look::walk_expr(self, expr),
            }
        }
    }
    Reads(&mut found).visit_expr(value);
}

struct Uses<'a> {
    is_table: &'a dyn Fn(VarId) -> bool,
    uses: Vec<VarId>,
    changed: OrdSet<VarId>,
}

impl Visitor for Uses<'_> {
    fn visit_var(&mut self, var: &VarId, role: Role) {
        if (self.is_table)(*var) {
            self.uses.push(*var);
        }
        match role {
            Role::Read => {}
            Role::Declare | Role::Iterate | Role::Write | Role::Update | Role::Argument { .. } => {
                self.changed.insert(*var);
            }
        }
    }
}
