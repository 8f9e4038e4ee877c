//! Maps that visit every cell of a table and fold what they find, where nothing else needs the table: what is folded is found while the
//! cells are computed, for each place in a step by itself, and put together in the end. So the last steps are all that is kept.
//!
//! That groups values in another way than the map does, and is done where the result does not depend on it: of integers, and for the least
//! and the greatest of floats, which pass over NaN.

use std::collections::{BTreeMap, BTreeSet};

use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change};
use hidp_ir::par::{
    BinOp, Block, CallArg, Directives, Expr, ExprKind, Fold, FoldFn, FoldKind, FoldOp, Func, Iter, Map, MathFn, Place,
    Program, Stmt, StmtKind, System, Target, Var, VarId, VarKind, same,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::asked::{Asks, Instead, is_known, parameter};
use super::build::{self, Builder};
use super::narrow;
use super::window::{Cells, Window};

/// A fold over all cells of a table that a function gives instead of it.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    /// The table's array.
    pub(super) table: VarId,
    /// Which of its cells.
    part: Vec<Dim>,
    /// What is folded, made of the element at these iterators, of them and of constants.
    value: Expr,
    op: FoldOp,
    /// The parameter that gets the result.
    pub(super) cell: VarId,
}

/// Which indices a map visits in a dimension of a table.
#[derive(Clone, Debug)]
enum Dim {
    /// All.
    All(VarId),
    /// From one to behind another.
    Range(VarId, [Expr; 2]),
    /// One.
    At(Expr),
}

impl Dim {
    fn iter(&self) -> Option<VarId> {
        match self {
            Dim::All(iter) | Dim::Range(iter, _) => Some(*iter),
            Dim::At(_) => None,
        }
    }
}

/// Folds of a map over a table, as the program has them.
pub(super) struct Found {
    table: VarId,
    part: Vec<Dim>,
    /// What is folded, how, and where it goes.
    each: Vec<(Expr, FoldOp, Target)>,
}

/// The statement that is a map over a table which nothing else needs, and its folds.
pub(super) fn folds(
    program: &Program,
    vars: &Arena<VarId, Var>,
    outputs: &[(VarId, VarId)],
    stmts: &[Stmt],
) -> Option<(usize, Found)> {
    let is_table = |var: VarId| outputs.iter().any(|(_, array)| *array == var);
    let mut found = Uses { is_table: &is_table, uses: Vec::new(), changed: BTreeSet::new() };
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
    let is_input = |var: VarId| vars[var].kind == VarKind::Param(Direction::Input);
    let is_known = |expr: &Expr| is_known(expr, &changed, &is_input);
    let dim = |(index, extent): (&Expr, &Expr)| {
        let iter = map.iters.iter().find(|iter| matches!(index.kind, ExprKind::Read(var) if var == iter.var));
        let Some(Iter { var, lo, hi, step, .. }) = iter else {
            return is_known(index).then(|| Dim::At(index.clone()));
        };
        if step.as_int() != Some(1) || !is_known(lo) || !is_known(hi) {
            return None;
        }
        let all = lo.as_int() == Some(0) && same::expr(hi, extent);
        Some(if all { Dim::All(*var) } else { Dim::Range(*var, [lo.clone(), hi.clone()]) })
    };
    let part: Vec<Dim> = index.iter().zip(&vars[table].shape).map(dim).collect::<Option<_>>()?;
    let iters: Vec<VarId> = map.iters.iter().map(|iter| iter.var).collect();
    let visited: BTreeSet<VarId> = part.iter().filter_map(Dim::iter).collect();
    let once = part.iter().filter_map(Dim::iter).count() == visited.len();
    if !once || iters.iter().any(|iter| !visited.contains(iter)) {
        return None;
    }
    let mut values: BTreeMap<VarId, &Expr> = BTreeMap::new();
    for stmt in &map.body.stmts {
        match &stmt.kind {
            StmtKind::Declare { .. } => {}
            StmtKind::Assign { var, value } if is_of_cell(value, (table, &index), &iters) => {
                values.insert(*var, value);
            }
            _ => return None,
        }
    }
    let each = map.folds.iter().map(|fold| of_fold(fold, &iters, &values)).collect::<Option<Vec<_>>>()?;
    (!each.is_empty()).then_some((number, Found { table, part, each }))
}

fn of_fold(fold: &Fold, iters: &[VarId], values: &BTreeMap<VarId, &Expr>) -> Option<(Expr, FoldOp, Target)> {
    let extreme = matches!(fold.op.func, FoldFn::Min | FoldFn::Max);
    let grouped_anyhow = fold.op.ty.scalar().is_some_and(|ty| ty.is_integer() || ty.is_float() && extreme);
    let built_in = !matches!(fold.op.func, FoldFn::Fn(_));
    let neutral = fold.op.neutral.as_ref().is_some_and(|neutral| matches!(neutral.kind, ExprKind::Const(_)));
    let value = values.get(&fold.value)?;
    let all = fold.kind == FoldKind::Reduce && iters.iter().all(|iter| fold.over.contains(iter));
    let fits = all && grouped_anyhow && built_in && neutral;
    fits.then(|| ((*value).clone(), fold.op.clone(), fold.target.clone()))
}

/// Whether a value is made of the element at these indices, of iterators and of constants.
fn is_of_cell(expr: &Expr, (table, index): (VarId, &[Expr]), iters: &[VarId]) -> bool {
    let is_of_cell = |expr: &Expr| is_of_cell(expr, (table, index), iters);
    match &expr.kind {
        ExprKind::Load(place) => {
            let same = place.index.iter().zip(index).all(|(a, b)| same::expr(a, b));
            same && place.array == table && place.path.is_empty() && place.unproved == 0
        }
        ExprKind::Read(var) => iters.contains(var),
        ExprKind::Const(_) => true,
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } => is_of_cell(operand),
        ExprKind::Binary { left, right, .. } | ExprKind::Lazy { left, right, .. } => {
            is_of_cell(left) && is_of_cell(right)
        }
        ExprKind::Select { cond, then, otherwise } => [cond, then, otherwise].into_iter().all(|part| is_of_cell(part)),
        ExprKind::Math(_, operands) => operands.iter().all(is_of_cell),
        ExprKind::Call(..) | ExprKind::Field(..) | ExprKind::Struct(..) => false,
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

struct Uses<'a> {
    is_table: &'a dyn Fn(VarId) -> bool,
    uses: Vec<VarId>,
    changed: BTreeSet<VarId>,
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

/// A call of a function that gives what the map folds, and the statements behind it with that instead of the map.
pub(super) fn instead(
    program: &mut Program,
    (vars, rest): (&mut Arena<VarId, Var>, &[Stmt]),
    (mut asked, mut args, span): (Func, Vec<CallArg>, Span),
    outputs: &[(VarId, VarId)],
    (number, found): (usize, Found),
) -> Instead {
    let of_caller = |array: VarId| outputs.iter().find(|(_, other)| *other == array).map(|(param, _)| *param);
    let table = of_caller(found.table).expect("the table is one of the outputs");
    let (mut folds, mut before, mut assigns) = (Vec::new(), Vec::new(), Vec::new());
    let mut own: BTreeMap<VarId, VarId> = BTreeMap::from([(found.table, table)]);
    let mut given = |asked: &mut Func, value: Expr| {
        let param = parameter(asked, "bound", Ty::LONG, Direction::Input);
        args.push(CallArg::Value(value));
        build::read(param, span)
    };
    let mut part = Vec::new();
    for dim in found.part {
        if let Some(iter) = dim.iter() {
            own.insert(iter, asked.vars.push(vars[iter].clone()));
        }
        part.push(match dim {
            Dim::All(iter) => Dim::All(own[&iter]),
            Dim::Range(iter, ends) => Dim::Range(own[&iter], ends.map(|end| given(&mut asked, end))),
            Dim::At(index) => Dim::At(given(&mut asked, index)),
        });
    }
    for (mut value, op, target) in found.each {
        visit::rename_expr_vars(&mut value, |var| own.get(&var).copied().unwrap_or(var));
        let cell = parameter(&mut asked, "folded", op.ty, Direction::Output);
        let result = vars.push(Var { name: "folded".into(), ty: op.ty, shape: Vec::new(), kind: VarKind::Local, span });
        before.push(Stmt { kind: StmtKind::Declare { var: result, zero: true }, span });
        args.push(CallArg::Scalar(result));
        let value_of_all = Expr::read(result, op.ty, span);
        assigns.push(match target {
            Target::Scalar(var) => build::assign(var, value_of_all),
            Target::Element(place) => Stmt { kind: StmtKind::Store { place, value: value_of_all }, span },
        });
        folds.push(Folded { table, part: part.clone(), value, op, cell });
    }
    let id = program.funcs.push(asked);
    let mut call = vec![Stmt { kind: StmtKind::Call { callee: id, args }, span }];
    call.extend(rest[..number].iter().cloned());
    call.extend(assigns);
    call.extend(rest[number + 1..].iter().cloned());
    let arrays = outputs.iter().map(|(_, array)| *array).collect();
    Instead { id, asks: Asks { cells: Vec::new(), folds }, arrays, before, call }
}

impl Folded {
    /// The fold over a table that is kept.
    pub(super) fn over_table(&self, builder: &mut Builder<'_>, span: Span) -> Stmt {
        let shape = builder.vars[self.table].shape.clone();
        let (mut own, mut ranges, mut index) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (dim, extent) in self.part.iter().zip(shape) {
            let (iter, range) = match dim {
                Dim::All(iter) => (iter, [Expr::int(0, span), extent]),
                Dim::Range(iter, range) => (iter, range.clone()),
                Dim::At(at) => {
                    index.push(at.clone());
                    continue;
                }
            };
            let at = builder.iterator("at", span);
            own.insert(*iter, at);
            ranges.push((at, range));
            index.push(build::read(at, span));
        }
        let mut value = self.value.clone();
        visit::rename_expr_vars(&mut value, |var| own.get(&var).copied().unwrap_or(var));
        let place = Place { unproved: 0, ..build::place(self.table, index, span) };
        let cell = Expr { kind: ExprKind::Load(place), ty: builder.vars[self.table].ty, span };
        InCell { table: self.table, cell: &cell }.visit_expr(&mut value);
        self.reduced(builder, ranges, value, span)
    }

    /// A map over a box that folds a value.
    fn reduced(&self, builder: &mut Builder<'_>, ranges: Vec<(VarId, [Expr; 2])>, value: Expr, span: Span) -> Stmt {
        let found = builder.local("value", self.op.ty, span);
        let body = vec![build::declare(found, span), build::assign(found, value)];
        let fold = Fold {
            kind: FoldKind::Reduce,
            op: self.op.clone(),
            target: Target::Scalar(self.cell),
            value: found,
            over: ranges.iter().map(|(iter, _)| *iter).collect(),
            span,
        };
        let iters = ranges.into_iter().map(|(iter, [lo, hi])| build::iter(iter, lo, hi)).collect();
        let body = Block { stmts: body };
        let map = Map { iters, body, folds: vec![fold], directives: Directives::default() };
        Stmt { kind: StmtKind::Map(map), span }
    }

    /// Whether the cells themselves are folded, so that the result is one of them.
    fn is_a_cell(&self) -> bool {
        matches!(self.op.func, FoldFn::Min | FoldFn::Max) && matches!(self.value.kind, ExprKind::Load(_))
    }
}

/// What was folded so far, for each place in a step.
pub(super) struct Sums<'a> {
    fold: &'a Folded,
    array: VarId,
    /// Whether it has cells as windows keep them.
    as_kept: bool,
}

impl<'a> Sums<'a> {
    pub(super) fn new(builder: &mut Builder<'_>, fold: &'a Folded, window: &Window) -> Sums<'a> {
        let kept = &builder.vars[window.steps[0]];
        let narrow = matches!(window.cells, Cells::Narrow { .. });
        let as_kept = narrow && fold.is_a_cell();
        let ty = if as_kept { narrow::TY } else { fold.op.ty };
        let var = Var { name: "sums".into(), ty, ..kept.clone() };
        Sums { fold, array: builder.vars.push(var), as_kept }
    }

    pub(super) fn table(&self) -> VarId {
        self.fold.table
    }

    /// Nothing is folded yet.
    pub(super) fn begun(&self, builder: &mut Builder<'_>, span: Span) -> Vec<Stmt> {
        let ty = builder.vars[self.array].ty;
        let scalar = ty.scalar().expect("numbers are folded");
        let neutral = self.fold.op.func.neutral(scalar).expect("a built-in operator");
        let shape = builder.vars[self.array].shape.clone();
        let iters: Vec<VarId> = shape.iter().map(|_| builder.iterator("at", span)).collect();
        let place = self.place(iters.iter().map(|iter| build::read(*iter, span)).collect(), span);
        let value = Expr { kind: ExprKind::Const(neutral), ty, span };
        let ranges = iters.iter().zip(shape).map(|(iter, extent)| build::iter(*iter, Expr::int(0, span), extent));
        let store = Stmt { kind: StmtKind::Store { place, value }, span };
        vec![build::declare(self.array, span), build::map(ranges.collect(), vec![store])]
    }

    fn place(&self, index: Vec<Expr>, span: Span) -> Place {
        Place { unproved: 0, ..build::place(self.array, index, span) }
    }

    fn element(&self, builder: &Builder<'_>, index: Vec<Expr>, span: Span) -> Expr {
        let ty = builder.vars[self.array].ty;
        Expr { kind: ExprKind::Load(self.place(index, span)), ty, span }
    }

    /// Folds a cell that is stored at `index` of its window: `kept` as that has it, `declared` as the program says.
    pub(super) fn folded(
        &self,
        builder: &Builder<'_>,
        system: &System,
        (index, kept, declared): (Vec<Expr>, Expr, Expr),
    ) -> Stmt {
        let span = kept.span;
        let table = system.tables.iter().find(|table| table.array == self.fold.table).expect("a table of the system");
        let value = if self.as_kept {
            kept
        } else {
            let mut value = self.fold.value.clone();
            InCell { table: table.array, cell: &declared }.visit_expr(&mut value);
            let own = |var: VarId| self.fold.part.iter().position(|dim| dim.iter() == Some(var));
            visit::rename_expr_vars(&mut value, |var| own(var).map_or(var, |at| table.index[at].var));
            value
        };
        let visited = self.fold.part.iter().zip(&table.index).flat_map(|(dim, index)| {
            let at = build::read(index.var, span);
            match dim {
                Dim::All(_) => Vec::new(),
                Dim::Range(_, [lo, hi]) => build::within(&at, lo.clone(), hi.clone()).to_vec(),
                Dim::At(index) => vec![Expr::long(BinOp::Eq, at, index.clone())],
            }
        });
        let visited: Vec<Expr> = visited.collect();
        let so_far = self.element(builder, index.clone(), span);
        let value = both(self.fold.op.func, so_far, value);
        let store = Stmt { kind: StmtKind::Store { place: self.place(index, span), value }, span };
        if visited.is_empty() { store } else { build::guarded(build::all(visited, span), vec![store]) }
    }

    /// All together. Where no cell is visited, the operator's neutral element, which narrow cells cannot hold.
    pub(super) fn ended(&self, builder: &mut Builder<'_>, window: &Window, span: Span) -> Stmt {
        let shape = builder.vars[self.array].shape.clone();
        let iters: Vec<VarId> = shape.iter().map(|_| builder.iterator("at", span)).collect();
        let index = iters.iter().map(|iter| build::read(*iter, span)).collect();
        let ranges = iters.into_iter().zip(shape).map(|(iter, extent)| (iter, [Expr::int(0, span), extent])).collect();
        let element = self.element(builder, index, span);
        let value = if self.as_kept { window.declared(element, self.fold.op.ty) } else { element };
        let all = self.fold.reduced(builder, ranges, value, span);
        if !self.as_kept {
            return all;
        }
        let some =
            self.fold.part.iter().zip(&builder.vars[self.fold.table].shape).filter_map(|(dim, extent)| match dim {
                Dim::All(_) => Some(Expr::long(BinOp::Lt, Expr::int(0, span), extent.clone())),
                Dim::Range(_, [lo, hi]) => Some(Expr::long(BinOp::Lt, lo.clone(), hi.clone())),
                Dim::At(_) => None,
            });
        let some = some.collect();
        let neutral = self.fold.op.neutral.as_deref().expect("a built-in operator has one").clone();
        build::either(build::all(some, span), vec![all], vec![build::assign(self.fold.cell, neutral)])
    }
}

/// Puts a cell into the place of its load.
struct InCell<'a> {
    table: VarId,
    cell: &'a Expr,
}

impl Mutator for InCell<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        if matches!(&expr.kind, ExprKind::Load(place) if place.array == self.table) {
            *expr = self.cell.clone();
            return;
        }
        change::walk_expr(self, expr);
    }
}

/// Two values, folded.
fn both(func: FoldFn, left: Expr, right: Expr) -> Expr {
    let (ty, span) = (left.ty, left.span);
    let binary = |op: BinOp, left: Expr, right: Expr| ExprKind::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
        checked: false,
    };
    let kind = match func {
        FoldFn::Add => binary(BinOp::Add, left, right),
        FoldFn::Mul => binary(BinOp::Mul, left, right),
        FoldFn::And => binary(BinOp::And, left, right),
        FoldFn::Or => binary(BinOp::Or, left, right),
        FoldFn::Xor => binary(BinOp::Xor, left, right),
        FoldFn::Min => ExprKind::Math(MathFn::Min, vec![left, right]),
        FoldFn::Max => ExprKind::Math(MathFn::Max, vec![left, right]),
        FoldFn::Fn(_) => unreachable!("functions of the program are not folded here"),
    };
    Expr { kind, ty, span }
}
