//! A field that is kept of all cells where nothing else of a table is: choices, along which a loop walks back.
//!
//! It lies by steps, with the cells of a step side by side, as the lanes of a wave store them; a loop finds a cell by the number of its
//! step. Uses of a table with equal inputs are one use then, so that what a fold needs is found in the same steps.

use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Block, CallArg, Expr, ExprKind, Func, Map, Place, Program, Stmt, StmtKind, System, Table, Var, VarId, VarKind, same,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

use super::Around;
use super::asked::{self, Instead};
use super::build::{self, Builder};
use super::direct;
use super::wave;
use crate::instantiate::inside_all;

/// A field of all cells that a function gives instead of its tables.
#[derive(Clone, Debug)]
pub(super) struct KeptField {
    /// The table's array.
    pub(super) table: VarId,
    /// Which field.
    pub(super) path: Vec<u32>,
    /// The parameter that gets it.
    pub(super) array: VarId,
}

/// How the cells of a table lie by steps.
struct BySteps<'a> {
    /// Coefficients of the indices in the number of a cell's step.
    row: &'a [i64],
    /// The index that follows from the step.
    following: usize,
    /// The table's extents.
    shape: &'a [Expr],
}

impl<'a> BySteps<'a> {
    fn new(row: &'a [i64], shape: &'a [Expr]) -> Option<BySteps<'a>> {
        Some(BySteps { row, following: wave::following(row)?, shape })
    }

    /// Sums what `part` makes of the terms with these signs.
    fn sum(&self, span: Span, part: impl Fn(usize, i64) -> Option<Expr>) -> Expr {
        let parts = self.row.iter().enumerate().filter_map(|(at, factor)| part(at, *factor));
        parts.fold(Expr::int(0, span), build::add)
    }

    /// The first step.
    fn first(&self, span: Span) -> Expr {
        let last = |at: usize| build::sub(self.shape[at].clone(), Expr::int(1, span));
        self.sum(span, |at, factor| (factor < 0).then(|| build::times(factor, last(at))))
    }

    fn extents(&self, span: Span) -> Vec<Expr> {
        let last = |at: usize| build::sub(self.shape[at].clone(), Expr::int(1, span));
        let most = self.sum(span, |at, factor| (factor != 0).then(|| build::times(factor.abs(), last(at))));
        self.with_others(build::add(most, Expr::int(1, span)), self.shape)
    }

    /// Where the cell with these indices lies, which is one of step `step`.
    fn at(&self, step: Expr, index: &[Expr]) -> Vec<Expr> {
        let first = self.first(step.span);
        let number = if first.as_int() == Some(0) { step } else { build::sub(step, first) };
        self.with_others(number, index)
    }

    fn step(&self, index: &[Expr]) -> Expr {
        let span = index[0].span;
        self.sum(span, |at, factor| (factor != 0).then(|| build::times(factor, index[at].clone())))
    }

    fn with_others(&self, first: Expr, index: &[Expr]) -> Vec<Expr> {
        let others = index.iter().enumerate().filter(|(at, _)| *at != self.following).map(|(_, other)| other.clone());
        [first].into_iter().chain(others).collect()
    }
}

impl KeptField {
    /// Stores the field of the cell with these indices, which is one of step `step`.
    pub(super) fn stored(
        &self,
        builder: &Builder<'_>,
        (row, step): (&[i64], &Expr),
        index: &[Expr],
        value: Expr,
    ) -> Stmt {
        let by_steps = BySteps::new(row, &builder.vars[self.table].shape).expect("a step says an index");
        build::store(element(self.array, by_steps.at(step.clone(), index)), value)
    }

    /// Takes the field from a table.
    pub(super) fn of_table(&self, builder: &mut Builder<'_>, row: &[i64], span: Span) -> Stmt {
        let shape = builder.vars[self.table].shape.clone();
        let iters: Vec<VarId> = shape.iter().map(|_| builder.iterator("at", span)).collect();
        let index: Vec<Expr> = iters.iter().map(|iter| build::read(*iter, span)).collect();
        let place = Place { path: self.path.clone(), ..element(self.table, index.clone()) };
        let value = Expr { kind: ExprKind::Load(place), ty: builder.vars[self.array].ty, span };
        let by_steps = BySteps::new(row, &shape).expect("a step says an index");
        let store = build::store(element(self.array, by_steps.at(by_steps.step(&index), &index)), value);
        let ranges =
            iters.iter().zip(&shape).map(|(iter, extent)| build::iter(*iter, Expr::int(0, span), extent.clone()));
        build::map(ranges.collect(), vec![store])
    }
}

/// An element that certainly exists.
fn element(array: VarId, index: Vec<Expr>) -> Place {
    let span = index[0].span;
    Place { unproved: 0, ..build::place(array, index, span) }
}

/// A call of a function that gives a field of all cells, and what else is needed of them, instead of the one at `at`. `None` where loops need no
/// field, or more of the table is needed.
pub(super) fn instead(
    program: &mut Program,
    vars: &mut Arena<VarId, Var>,
    stmts: &[Stmt],
    at: usize,
) -> Option<Instead> {
    let mut list = once(program, vars, stmts, at).unwrap_or_else(|| stmts.to_vec());
    let (field, copy) = renamed(vars, &mut list, at)?;
    let StmtKind::Call { callee, args } = &list[at].kind else { return None };
    let func = &program.funcs[*callee];
    let param =
        func.params.iter().zip(args).find(|(_, arg)| **arg == CallArg::Array(field.array)).map(|(param, _)| *param)?;
    let row = row(func, param)?;
    let shape = vars[field.array].shape.clone();
    let by_steps = BySteps::new(&row, &shape)?;
    let (ty, span) = (vars[copy].ty, list[at].span);
    let name = vars[copy].name.clone();
    let kept = vars.push(Var { name: name.clone(), ty, shape: by_steps.extents(span), kind: VarKind::Local, span });
    let mut loads = Loads { field: &field, kept, by_steps: &by_steps, found: false, unfit: false };
    list[at + 1..].iter_mut().for_each(|stmt| loads.visit_stmt(stmt));
    if loads.unfit || !loads.found {
        return None;
    }
    let mut instead = asked::instead(program, vars, &list, (at, Around::Host, true))?;
    let asked = &mut program.funcs[instead.id];
    let shape = asked.vars[param].shape.clone();
    let shape = BySteps::new(&row, &shape)?.extents(span);
    let kind = VarKind::Param(Direction::Output);
    let array = asked.vars.push(Var { name, ty, shape, kind, span });
    asked.params.push(array);
    if let StmtKind::Call { args, .. } = &mut instead.call[0].kind {
        args.push(CallArg::Array(kept));
    }
    // All cells are stored.
    instead.before.push(Stmt { kind: StmtKind::Declare { var: kept, zero: false }, span });
    instead.arrays.push(copy);
    instead.asks.kept.push(KeptField { table: param, path: field.path, array });
    Some(instead)
}

/// The one row of the schedule of a table whose cells fill a box.
fn row(func: &Func, array: VarId) -> Option<Vec<i64>> {
    let systems = func.recur.iter().flat_map(|recur| &recur.systems);
    let of = |system: &System| {
        let is_it = |table: &Table| table.array == array && table.is_box();
        let at = system.tables.iter().position(is_it)?;
        Some(system.order.steps[at].rows.clone())
    };
    let rows = systems.into_iter().find_map(of)?;
    if let [row] = &rows[..] { Some(row.clone()) } else { None }
}

/// The statements without a later call that computes the same tables.
fn once(program: &Program, vars: &Arena<VarId, Var>, stmts: &[Stmt], at: usize) -> Option<Vec<Stmt>> {
    let StmtKind::Call { callee, args } = &stmts[at].kind else { return None };
    let (own, inputs) = outputs(program, vars, &stmts[at])?;
    let mut written = OrdSet::new();
    for later in at + 1..stmts.len() {
        if let StmtKind::Call { callee: other, args: others } = &stmts[later].kind
            && other == callee
        {
            let (arrays, _) = outputs(program, vars, &stmts[later])?;
            let alike = args.iter().zip(others).take(args.len() - own.len()).all(|(a, b)| is_same(a, b));
            if !alike || arrays.len() != own.len() || inputs.iter().any(|input| written.contains(input)) {
                return None;
            }
            let declared = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Declare { var, .. } if arrays.contains(&var));
            let mut list = stmts[..later].to_vec();
            let known = list.len();
            list.retain(|stmt| !declared(stmt));
            // Each is declared behind the first call, so that nothing else has it before.
            if known != list.len() + arrays.len() || stmts[..at].iter().any(declared) {
                return None;
            }
            let rename = |var: VarId| arrays.iter().position(|array| *array == var).map_or(var, |at| own[at]);
            let mut rest = Block { stmts: stmts[later + 1..].to_vec() };
            visit::rename_vars(&mut rest, rename);
            list.extend(rest.stmts);
            return Some(list);
        }
        written.extend(Effects::of_stmt(program, vars, &stmts[later]).outer_writes());
    }
    None
}

/// The tables of a call, and what its other arguments read. `None` where an argument is a part of an array.
fn outputs(program: &Program, vars: &Arena<VarId, Var>, call: &Stmt) -> Option<(Vec<VarId>, OrdSet<VarId>)> {
    let StmtKind::Call { callee, args } = &call.kind else { return None };
    let func = &program.funcs[*callee];
    let (mut arrays, mut inputs) = (Vec::new(), OrdSet::new());
    for (param, arg) in func.params.iter().zip(args) {
        match (func.vars[*param].kind, arg) {
            (VarKind::Param(Direction::Output), CallArg::Array(array)) => arrays.push(*array),
            (_, CallArg::Array(array)) => {
                inputs.insert(*array);
            }
            (_, CallArg::Value(value)) => inputs.extend(Effects::of_expr(value)),
            (_, CallArg::Scalar(_) | CallArg::Element(_) | CallArg::Section(_)) => return None,
        }
    }
    arrays.iter().all(|array| vars[*array].kind == VarKind::Local).then_some((arrays, inputs))
}

fn is_same(a: &CallArg, b: &CallArg) -> bool {
    match (a, b) {
        (CallArg::Value(a), CallArg::Value(b)) => same::expr(a, b),
        (CallArg::Array(a), CallArg::Array(b)) => a == b,
        (CallArg::Value(_) | CallArg::Array(_) | CallArg::Scalar(_) | CallArg::Element(_) | CallArg::Section(_), _) => {
            false
        }
    }
}

/// A field of a table's cells.
struct Field {
    array: VarId,
    path: Vec<u32>,
}

/// Loads from a local array that is a copy of a field of a table of the call at `at`, and nothing else, become loads from the table; with that array.
fn renamed(vars: &Arena<VarId, Var>, list: &mut Vec<Stmt>, at: usize) -> Option<(Field, VarId)> {
    let StmtKind::Call { args, .. } = &list[at].kind else { return None };
    let is_table = |array: VarId| args.contains(&CallArg::Array(array));
    let of_call = |stmt: &Stmt| direct::copied(vars, stmt).filter(|(table, _)| is_table(table.array));
    let (behind, (table, copy)) =
        list[at + 1..].iter().enumerate().find_map(|(at, stmt)| Some((at, of_call(stmt)?)))?;
    let behind = at + 1 + behind;
    let declared = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Declare { var, .. } if var == copy);
    if table.path.is_empty() || vars[copy].kind != VarKind::Local || !list[..at].iter().any(declared) {
        return None;
    }
    let (mut uses, mut loads) = (0, 0);
    for stmt in &list[..] {
        let block = Block { stmts: vec![stmt.clone()] };
        visit::walk_vars(&block, |var, _| uses += usize::from(var == copy));
    }
    let rest = Block { stmts: list[behind + 1..].to_vec() };
    let is_load = |expr: &Expr| matches!(&expr.kind, ExprKind::Load(place) if place.array == copy);
    visit::walk_exprs(&rest, |expr| loads += usize::from(is_load(expr)));
    // Its declaration, the copy and loads.
    if uses != loads + 2 || loads == 0 {
        return None;
    }
    list.remove(behind);
    for stmt in &mut list[behind..] {
        let mut block = Block { stmts: vec![stmt.clone()] };
        visit::map_exprs(&mut block, |expr| {
            if let ExprKind::Load(place) = &mut expr.kind
                && place.array == copy
            {
                *place = Place { array: table.array, path: table.path.clone(), ..place.clone() };
            }
        });
        *stmt = block.stmts.remove(0);
    }
    Some((Field { array: table.array, path: table.path }, copy))
}

/// Makes statements outside of maps load a field by steps.
struct Loads<'a> {
    field: &'a Field,
    kept: VarId,
    by_steps: &'a BySteps<'a>,
    found: bool,
    /// Whether a load may fault where that cannot be tested before.
    unfit: bool,
}

impl Loads<'_> {
    fn is_it(&self, place: &Place) -> bool {
        place.array == self.field.array && place.path == self.field.path
    }
}

impl Mutator for Loads<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let StmtKind::Assign { value: Expr { kind: ExprKind::Load(place), .. }, .. } = &mut stmt.kind
                && self.is_it(place)
            {
                out.extend(inside_all(place, self.by_steps.shape));
                place.unproved = 0;
            }
            self.visit_stmt(&mut stmt);
            out.push(stmt);
        }
        block.stmts = out;
    }
    fn visit_map(&mut self, _: &mut Map) {}
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let ExprKind::Load(place) = &mut expr.kind
            && self.is_it(place)
        {
            self.unfit |= place.unproved != 0;
            self.found = true;
            *place = element(self.kept, self.by_steps.at(self.by_steps.step(&place.index), &place.index));
        }
    }
}
