//! Maps that visit every cell of a table and fold what they find, where nothing else needs the table: what is folded is found while the
//! cells are computed (`sums`), and the last steps are all that is kept.
//!
//! Values of integers, and the least and the greatest of floats, meet in any grouping. Other folds have one tree, whatever way the cells are computed
//! in: sums and products of floats go along the index that follows from the step, and what these lines give is folded in their order. The
//! program's functions need not be commutative, so that they go along the rows of the table, and then over the rows. Where all visited
//! cells are of one step, they are folded in their order when it was computed.

mod found;
mod picks;
mod sums;
mod table;

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    BinOp, Block, CallArg, Directives, Expr, ExprKind, FaultKind, Fold, FoldFn, FoldKind, FoldOp, Func, Map, MathFn,
    Program, Stmt, StmtKind, System, Target, Var, VarId, VarKind,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::asked::{Asks, Instead, parameter};
use super::build::{self, Builder};
use super::window::Window;

use picks::{Pick, Picks};
use sums::Sums;

pub(super) use found::folds;
pub(super) use sums::Moment;

/// A fold over cells of a table that a function gives instead of it.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    /// The table's array.
    pub(super) table: VarId,
    /// Which of its cells.
    part: Vec<Dim>,
    /// What is folded, made of the element at these iterators, of them and of scalars.
    value: Expr,
    op: FoldOp,
    tree: Tree,
    /// The parameter that gets the result; nothing is known of it where no cell is visited and the operator has no neutral element.
    pub(super) cell: VarId,
}

/// How values meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tree {
    /// In any grouping.
    Any { along: usize },
    /// Along an index, upwards or downwards, beginning with the neutral element; then in the order of the other indices.
    Lines { along: usize, up: bool },
    /// Along the last index, beginning with the first value; if cells come downwards, later values stand in front. Then in the
    /// order of the other indices.
    Rows { along: usize, up: bool },
    /// In the order of the indices: all are of one step.
    Step { any: bool },
    /// In any grouping: one of them is taken.
    Pick { along: usize, pick: Pick },
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

    /// The indices that are visited, of so many.
    fn range(&self, extent: &Expr) -> [Expr; 2] {
        match self {
            Dim::All(_) => [Expr::int(0, extent.span), extent.clone()],
            Dim::Range(_, range) => range.clone(),
            Dim::At(index) => [index.clone(), build::add(index.clone(), Expr::int(1, extent.span))],
        }
    }
}

/// That some cell is visited.
fn some(part: &[Dim], shape: &[Expr], span: Span) -> Expr {
    let dims = part.iter().zip(shape).filter(|(dim, _)| dim.iter().is_some());
    let each = dims.map(|(dim, extent)| {
        let [lo, hi] = dim.range(extent);
        Expr::long(BinOp::Lt, lo, hi)
    });
    build::all(each.collect(), span)
}

/// Folds of a map over a table, as the program has them.
pub(super) struct Found {
    table: VarId,
    part: Vec<Dim>,
    each: Vec<FoundFold>,
}

struct FoundFold {
    value: Expr,
    op: FoldOp,
    tree: Tree,
    target: Target,
    span: Span,
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
    let some = some(&found.part, &vars[found.table].shape, span);
    let (mut folds, mut before, mut assigns) = (Vec::new(), Vec::new(), Vec::new());
    let mut own: OrdMap<VarId, VarId> = OrdMap::from([(found.table, table)]);
    let mut given = |asked: &mut Func, value: Expr| {
        let (ty, span) = (value.ty, value.span);
        let param = parameter(asked, "bound", ty, Direction::Input);
        args.push(CallArg::Value(value));
        Expr::read(param, ty, span)
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
    let mut more = Vec::new();
    for FoundFold { mut value, op, tree, target, span: at } in found.each {
        found::scalars(&value, |var, ty| {
            own.entry(var).or_insert_with(|| {
                let param = parameter(&mut asked, &vars[var].name, ty, Direction::Input);
                more.push(CallArg::Value(Expr::read(var, ty, span)));
                param
            });
        });
        visit::rename_expr_vars(&mut value, |var| own.get(&var).copied().unwrap_or(var));
        let cell = parameter(&mut asked, "folded", op.ty, Direction::Output);
        let result = vars.push(Var { name: "folded".into(), ty: op.ty, shape: Vec::new(), kind: VarKind::Local, span });
        before.push(Stmt { kind: StmtKind::Declare { var: result, zero: true }, span });
        more.push(CallArg::Scalar(result));
        let assigned = |value: Expr| match target.clone() {
            Target::Scalar(var) => build::assign(var, value),
            Target::Element(place) => Stmt { kind: StmtKind::Store { place, value }, span },
        };
        let all = assigned(Expr::read(result, op.ty, span));
        assigns.extend(match (tree.has_neutral(&op), &op.neutral) {
            (true, _) => vec![all],
            (false, Some(neutral)) => {
                let none = assigned((**neutral).clone());
                vec![build::either(some.clone(), vec![all], vec![none])]
            }
            (false, None) => {
                let kind = StmtKind::Require { cond: some.clone(), fault: FaultKind::EmptyFold, values: Vec::new() };
                vec![Stmt { kind, span: at }, all]
            }
        });
        folds.push(Folded { table, part: part.clone(), value, op, tree, cell });
    }
    args.extend(more);
    let id = program.funcs.push(asked);
    let mut call = vec![Stmt { kind: StmtKind::Call { callee: id, args }, span }];
    call.extend(rest[..number].iter().cloned());
    call.extend(assigns);
    call.extend(rest[number + 1..].iter().cloned());
    let arrays = outputs.iter().map(|(_, array)| *array).collect();
    Instead { id, asks: Asks { folds, ..Asks::default() }, arrays, before, call }
}

impl Tree {
    /// Whether the result where no cell is visited is that of an operator which has one.
    fn has_neutral(self, op: &FoldOp) -> bool {
        !matches!(op.func, FoldFn::Fn(_))
    }
}

impl Folded {
    /// Whether the cells themselves are folded, so that the result is one of them.
    fn is_a_cell(&self) -> bool {
        matches!(self.op.func, FoldFn::Min | FoldFn::Max)
            && matches!(&self.value.kind, ExprKind::Load(place) if place.path.is_empty())
    }

    /// The function that takes the extreme one of all cells, if that is what it does.
    pub(super) fn extreme_cell(&self) -> Option<FoldFn> {
        let all = self.part.iter().all(|dim| matches!(dim, Dim::All(_)));
        let any = matches!(self.tree, Tree::Any { .. });
        (all && any && self.is_a_cell()).then_some(self.op.func)
    }

    /// The field of a cell that it is made of; nothing where that is all of it. `None` where it is made of several.
    pub(super) fn field(&self) -> Option<Vec<u32>> {
        let mut paths: Vec<Vec<u32>> = Vec::new();
        visit::walk_subexprs(&self.value, |part| {
            if let ExprKind::Load(place) = &part.kind
                && !paths.contains(&place.path)
            {
                paths.push(place.path.clone());
            }
        });
        if paths.len() == 1 { paths.pop() } else { None }
    }

    /// Folds the table of that field instead.
    pub(super) fn take_field(&mut self, array: VarId) {
        let table = std::mem::replace(&mut self.table, array);
        visit::map_subexprs(&mut self.value, |part| {
            if let ExprKind::Load(place) = &mut part.kind
                && place.array == table
            {
                (place.array, place.path) = (array, Vec::new());
            }
        });
    }

    /// The cell whose value is the least or the greatest, as the result has it, and which of both; of other folds nothing.
    pub(super) fn extreme(&self, builder: &Builder<'_>) -> Option<(FoldFn, Expr)> {
        let result = Expr::read(self.cell, self.op.ty, builder.vars[self.cell].span);
        match self.tree {
            Tree::Pick { pick, .. } => Some((pick.extreme(), pick.key_of_value(&self.value, result))),
            Tree::Any { .. } | Tree::Step { .. } if self.is_a_cell() => Some((self.op.func, result)),
            Tree::Any { .. } | Tree::Step { .. } | Tree::Lines { .. } | Tree::Rows { .. } => None,
        }
    }

    /// The operator's neutral element.
    pub(super) fn neutral(&self, ty: Ty, span: Span) -> Option<Expr> {
        let neutral = self.op.func.neutral(ty.scalar()?)?;
        Some(Expr { kind: ExprKind::Const(neutral), ty, span })
    }

    /// What is folded, of the cell with these indices.
    fn of(&self, index: &[Expr], cell: &Expr) -> Expr {
        self.made_of(index, cell, false)
    }

    /// The same, perhaps of the one field of the cell that it is made of.
    fn made_of(&self, index: &[Expr], cell: &Expr, is_field: bool) -> Expr {
        let mut value = self.value.clone();
        InCell { table: self.table, cell, is_field }.visit_expr(&mut value);
        let at = |var: VarId| self.part.iter().position(|dim| dim.iter() == Some(var)).map(|at| index[at].clone());
        visit::substitute_expr(&mut value, at);
        value
    }

    /// A map over a box that folds a value, which statements compute.
    fn reduced(
        &self,
        builder: &mut Builder<'_>,
        ranges: Vec<(VarId, [Expr; 2])>,
        (body, value): (Vec<Stmt>, Expr),
        ordered: bool,
    ) -> Stmt {
        let op = FoldOp { ordered, ..self.op.clone() };
        folding(builder, (op, self.cell), ranges, (body, value))
    }

    /// The indices of a cell in its body.
    fn index(&self, system: &System, span: Span) -> Vec<Expr> {
        let table = system.tables.iter().find(|table| table.array == self.table).expect("a table of the system");
        table.index.iter().map(|index| build::read(index.var, span)).collect()
    }

    /// What holds where the cell with these indices is visited. Nothing where all are.
    fn visited_cell(&self, index: &[Expr]) -> Vec<Expr> {
        let conds = self.part.iter().zip(index).flat_map(|(dim, at)| match dim {
            Dim::All(_) => Vec::new(),
            Dim::Range(_, [lo, hi]) => build::within(at, lo.clone(), hi.clone()).to_vec(),
            Dim::At(index) => vec![Expr::long(BinOp::Eq, at.clone(), index.clone())],
        });
        conds.collect()
    }

    /// Statements under the condition that a cell is visited, where the operator has no neutral element.
    fn guarded(&self, builder: &Builder<'_>, stmts: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        if self.tree.has_neutral(&self.op) {
            return stmts;
        }
        vec![build::guarded(some(&self.part, &builder.vars[self.table].shape, span), stmts)]
    }
}

/// What was folded so far, of each line of cells by itself.
pub(super) enum Lines<'a> {
    Sums(Sums<'a>),
    Picks(Picks<'a>),
}

impl<'a> Lines<'a> {
    /// `None` where all that is folded is of one step.
    pub(super) fn new(
        builder: &mut Builder<'_>,
        fold: &'a Folded,
        window: &Window,
        row: &'a [i64],
    ) -> Option<Lines<'a>> {
        match fold.tree {
            Tree::Pick { .. } => Picks::new(builder, fold, window, row).map(Lines::Picks),
            Tree::Any { .. } | Tree::Lines { .. } | Tree::Rows { .. } | Tree::Step { .. } => {
                Sums::new(builder, fold, window).map(Lines::Sums)
            }
        }
    }

    pub(super) fn table(&self) -> VarId {
        match self {
            Lines::Sums(sums) => sums.table(),
            Lines::Picks(picks) => picks.table(),
        }
    }

    /// Nothing is folded yet.
    pub(super) fn begun(&self, builder: &mut Builder<'_>, span: Span) -> Vec<Stmt> {
        match self {
            Lines::Sums(sums) => sums.begun(builder, span),
            Lines::Picks(picks) => picks.begun(builder, span),
        }
    }

    /// Folds the cell with these indices in its step: `kept` as its window has it, `declared` as the program says.
    pub(super) fn folded(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        step: &Expr,
        (kept, declared): (Expr, Expr),
    ) -> Vec<Stmt> {
        match self {
            Lines::Sums(sums) => vec![sums.folded(builder, system, (kept, declared))],
            Lines::Picks(picks) => picks.folded(builder, system, step, (kept, declared)),
        }
    }

    /// All together.
    pub(super) fn ended(&self, builder: &mut Builder<'_>, window: &Window, span: Span) -> Vec<Stmt> {
        match self {
            Lines::Sums(sums) => sums.ended(builder, window, span),
            Lines::Picks(picks) => picks.ended(builder, window, span),
        }
    }
}

/// Puts a cell into the place of its load.
struct InCell<'a> {
    table: VarId,
    cell: &'a Expr,
    /// Whether it is the field that is loaded.
    is_field: bool,
}

impl Mutator for InCell<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        let ExprKind::Load(place) = &expr.kind else { return change::walk_expr(self, expr) };
        if place.array != self.table {
            return change::walk_expr(self, expr);
        }
        let cell = self.cell.clone();
        match place.path[..] {
            [_] if self.is_field => *expr = cell,
            [] => *expr = cell,
            [ref outer @ .., last] => {
                assert!(outer.is_empty(), "fields of fields are not folded");
                expr.kind = ExprKind::Field(Box::new(cell), last);
            }
        }
    }
}

/// Two values, folded.
pub(super) fn both(func: FoldFn, left: Expr, right: Expr) -> Expr {
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
        FoldFn::Fn(function) => ExprKind::Call(function, vec![left, right]),
    };
    Expr { kind, ty, span }
}

/// A map over a box that folds a value, which statements compute, into a scalar.
fn folding(
    builder: &mut Builder<'_>,
    (op, target): (FoldOp, VarId),
    ranges: Vec<(VarId, [Expr; 2])>,
    (mut body, value): (Vec<Stmt>, Expr),
) -> Stmt {
    let span = value.span;
    let found = builder.local("value", op.ty, span);
    body.extend([build::declare(found, span), build::assign(found, value)]);
    let over = ranges.iter().map(|(iter, _)| *iter).collect();
    let fold = Fold { kind: FoldKind::Reduce, op, target: Target::Scalar(target), value: found, over, span };
    let iters = ranges.into_iter().map(|(iter, [lo, hi])| build::iter(iter, lo, hi)).collect();
    let map = Map { iters, body: Block { stmts: body }, folds: vec![fold], directives: Directives::default() };
    Stmt { kind: StmtKind::Map(map), span }
}
