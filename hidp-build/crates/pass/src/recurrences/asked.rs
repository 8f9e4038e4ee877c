//! Calls of which only a few cells are read: the function returns these, and need not keep its tables.

use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{
    BinOp, CallArg, ConvertMode, Expr, ExprKind, Func, FuncId, MathFn, Place, Program, ScalarFnId, SectionDim, Stmt,
    StmtKind, UnOp, Var, VarId, VarKind, same,
};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::Around;
use super::build;
use super::existing;
use super::kept::KeptField;
use super::visits::{self, Folded};

/// More cells than this are read from the table.
const MOST: usize = 4;

/// A cell that a function gives instead of its tables.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The table's array.
    pub(super) table: VarId,
    /// Parameters with its indices.
    pub(super) index: Vec<VarId>,
    /// Which field of it.
    pub(super) path: Vec<u32>,
    /// The parameter that gets it.
    pub(super) cell: VarId,
}

impl Ask {
    /// Whether there is such a cell. Where there is none, nobody looks at what is given: an expression reads a cell only where
    /// it is proved to exist, perhaps under a condition.
    pub(super) fn exists(&self, vars: &Arena<VarId, Var>, span: Span) -> Expr {
        let each = self.index.iter().zip(&vars[self.table].shape);
        let inside = each
            .flat_map(|(index, extent)| build::within(&build::read(*index, span), Expr::int(0, span), extent.clone()));
        build::all(inside.collect(), span)
    }
}

/// What a function gives instead of its tables; nothing, where it gives these.
#[derive(Clone, Debug, Default)]
pub(super) struct Asks {
    pub(super) cells: Vec<Ask>,
    pub(super) folds: Vec<Folded>,
    pub(super) kept: Vec<KeptField>,
    /// Whether data or iterations say how long sequences are, so that tables of neighbouring iterations may have other sizes.
    pub(super) ragged: bool,
    /// What is known of the iterations of the map around.
    pub(super) around: Option<Iterations>,
}

/// The iterations of the outermost map, in which a call stands.
#[derive(Clone, Debug)]
pub(super) struct Iterations {
    /// Whether they are in lanes.
    pub(super) lanes: ScalarFnId,
    /// Parameters and dimensions that are the same in all of them.
    pub(super) even: OrdSet<VarId>,
}

/// What the iterations around a call of a function that gives cells have in common.
pub(super) fn iterations(func: &Func, args: &[CallArg], vars: &Arena<VarId, Var>, lanes: ScalarFnId) -> Iterations {
    let (mut even, mut others) = (OrdSet::new(), OrdSet::new());
    for (param, arg) in func.params.iter().zip(args) {
        let is_even = match arg {
            CallArg::Value(value) => is_even(vars, value),
            CallArg::Array(_) | CallArg::Section(_) => has_even_sizes(arg, &|expr| is_even(vars, expr)),
            CallArg::Scalar(_) | CallArg::Element(_) => false,
        };
        let own = if is_even { &mut even } else { &mut others };
        own.insert(*param);
        own.extend(func.vars[*param].shape.iter().flat_map(read));
    }
    let even = even.into_iter().filter(|var| !others.contains(var)).collect();
    Iterations { lanes, even }
}

/// The variables of an expression.
fn read(expr: &Expr) -> Vec<VarId> {
    let mut found = Vec::new();
    visit::walk_expr_vars(expr, |var, _| found.push(var));
    found
}

impl Iterations {
    /// Whether they are in lanes, or on a device if that is asked too.
    pub(super) fn in_lanes(&self, or_on_device: bool, span: Span) -> Expr {
        let devices = build::constant(or_on_device, span);
        Expr { kind: ExprKind::Call(self.lanes, vec![devices]), ty: Ty::BOOL, span }
    }

    /// Whether a value is the same in all of them.
    pub(super) fn share(&self, expr: &Expr) -> bool {
        read(expr).iter().all(|var| self.even.contains(var))
    }
}

impl Asks {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.folds.is_empty() && self.kept.is_empty()
    }
    /// Whether a cell of a table is taken, or cells are folded.
    pub(super) fn takes(&self, table: VarId) -> bool {
        self.cells.iter().any(|ask| ask.table == table) || self.folds.iter().any(|fold| fold.table == table)
    }
    /// Those of these tables.
    pub(super) fn of(&self, tables: &[VarId]) -> Asks {
        let cells = self.cells.iter().filter(|ask| tables.contains(&ask.table)).cloned();
        let folds = self.folds.iter().filter(|fold| tables.contains(&fold.table)).cloned();
        let kept = self.kept.iter().filter(|kept| tables.contains(&kept.table)).cloned();
        Asks {
            cells: cells.collect(),
            folds: folds.collect(),
            kept: kept.collect(),
            ragged: self.ragged,
            around: self.around.clone(),
        }
    }
}

/// What takes the place of a call of a function of tables.
pub(super) struct Instead {
    /// A function that gives cells, or what all cells are together.
    pub(super) id: FuncId,
    pub(super) asks: Asks,
    /// The tables, which are not needed any more.
    pub(super) arrays: Vec<VarId>,
    /// What comes before the call.
    pub(super) before: Vec<Stmt>,
    /// The call, and what comes after it.
    pub(super) call: Vec<Stmt>,
}

/// A call of a function that gives cells instead of the one at `at`, or at least `something` if none is needed. `None` where the tables are needed.
pub(super) fn instead(
    program: &mut Program,
    vars: &mut Arena<VarId, Var>,
    stmts: &[Stmt],
    (at, around, something): (usize, Around, bool),
) -> Option<Instead> {
    let StmtKind::Call { callee, args } = &stmts[at].kind else { return None };
    let rest = &stmts[at + 1..];
    let func = &program.funcs[*callee];
    let outputs: Vec<(VarId, VarId)> = func
        .params
        .iter()
        .zip(args)
        .filter(|(param, _)| func.vars[**param].kind == VarKind::Param(Direction::Output))
        .map(|(param, arg)| match arg {
            CallArg::Array(array) => Some((*param, *array)),
            CallArg::Value(_) | CallArg::Scalar(_) | CallArg::Element(_) | CallArg::Section(_) => None,
        })
        .collect::<Option<_>>()?;
    let mut args: Vec<CallArg> = args[..args.len() - outputs.len()].to_vec();
    let mut asked = func.clone();
    asked.params.truncate(args.len());
    for (param, _) in &outputs {
        asked.vars[*param].kind = VarKind::Local;
    }
    let span = stmts[at].span;
    let even = |expr: &Expr| is_even(vars, expr);
    let ragged = !args.iter().all(|arg| has_even_sizes(arg, &even));
    let tables: Vec<VarId> = outputs.iter().map(|(_, array)| *array).collect();
    // A table at host level is named by what uses it, where there is no memory for it.
    let tested = match around {
        Around::Map => existing::tested_before(program, vars, &tables, rest),
        Around::Host => rest.to_vec(),
    };
    let Some(places) = cells(vars, &outputs, &tested).filter(|places| something || !places.is_empty()) else {
        let (which, folds) = visits::folds(program, (func, vars), &outputs, rest)?;
        let mut instead = visits::instead(program, (vars, rest), (asked, args, span), &outputs, (which, folds));
        instead.asks.ragged = ragged;
        return Some(instead);
    };
    let ragged = ragged || !places.iter().flat_map(|(place, _)| &place.index).all(even);
    let (mut asks, mut values, mut declares) = (Vec::new(), Vec::new(), Vec::new());
    for (place, ty) in &places {
        let table = outputs.iter().find(|(_, array)| *array == place.array).map(|(param, _)| *param)?;
        let mut index = Vec::new();
        for value in &place.index {
            index.push(parameter(&mut asked, "index", Ty::LONG, Direction::Input));
            args.push(CallArg::Value(value.clone()));
        }
        let cell = parameter(&mut asked, "cell", *ty, Direction::Output);
        let value = vars.push(Var { name: "cell".into(), ty: *ty, shape: Vec::new(), kind: VarKind::Local, span });
        declares.push(Stmt { kind: StmtKind::Declare { var: value, zero: true }, span });
        args.push(CallArg::Scalar(value));
        values.push(value);
        asks.push(Ask { table, index, path: place.path.clone(), cell });
    }
    let id = program.funcs.push(asked);
    let mut call = vec![Stmt { kind: StmtKind::Call { callee: id, args }, span }];
    call.extend(tested);
    let mut replace = Replace { places: &places, values: &values };
    call[1..].iter_mut().for_each(|stmt| replace.visit_stmt(stmt));
    let arrays = outputs.into_iter().map(|(_, array)| array).collect();
    let asks = Asks { cells: asks, ragged, ..Asks::default() };
    Some(Instead { id, asks, arrays, before: declares, call })
}

/// Whether a value is the same wherever the function is, as sizes and scalar inputs are.
fn is_even(vars: &Arena<VarId, Var>, expr: &Expr) -> bool {
    let mut even = true;
    visit::walk_subexprs(expr, |part| {
        even &= match &part.kind {
            ExprKind::Load(_) => false,
            ExprKind::Read(var) => matches!(vars[*var].kind, VarKind::Dim | VarKind::Param(Direction::Input)),
            ExprKind::Const(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => true,
        };
    });
    even
}

/// Whether what is left of an array has the same extents everywhere.
fn has_even_sizes(arg: &CallArg, even: &dyn Fn(&Expr) -> bool) -> bool {
    match arg {
        CallArg::Section(section) => section.dims.iter().all(|dim| match dim {
            SectionDim::At(_) => true,
            SectionDim::Range { low, high, step } => [low, high, step].into_iter().all(even),
            SectionDim::Piece(_) => false,
        }),
        CallArg::Value(_) | CallArg::Scalar(_) | CallArg::Array(_) | CallArg::Element(_) => true,
    }
}

pub(super) fn parameter(func: &mut Func, name: &str, ty: Ty, direction: Direction) -> VarId {
    let var = Var { name: name.into(), ty, shape: Vec::new(), kind: VarKind::Param(direction), span: func.span };
    let param = func.vars.push(var);
    func.params.push(param);
    param
}

/// The cells that statements load, each once, if they do nothing else with the arrays and the indices have their values before already.
fn cells(vars: &Arena<VarId, Var>, outputs: &[(VarId, VarId)], stmts: &[Stmt]) -> Option<Vec<(Place, Ty)>> {
    let is_table = |var: VarId| outputs.iter().any(|(_, array)| *array == var);
    let is_input = |array: VarId| vars[array].kind == VarKind::Param(Direction::Input);
    let mut found = Loads { is_table: &is_table, places: Vec::new(), uses: 0, changed: OrdSet::new() };
    stmts.iter().for_each(|stmt| found.visit_stmt(stmt));
    if found.uses != found.places.len() {
        return None;
    }
    let mut places: Vec<(Place, Ty)> = Vec::new();
    for (place, ty) in found.places {
        let known = place.index.iter().all(|index| is_known(index, &found.changed, &is_input));
        if place.unproved != 0 || !known {
            return None;
        }
        if !places.iter().any(|(other, _)| same::place(other, &place)) {
            places.push((place, ty));
        }
    }
    (places.len() <= MOST).then_some(places)
}

/// Whether an expression cannot fault, and means the same before statements that change these variables; of arrays only constant ones.
pub(super) fn is_known(expr: &Expr, changed: &OrdSet<VarId>, is_constant: &dyn Fn(VarId) -> bool) -> bool {
    let is_known = |expr: &Expr| is_known(expr, changed, is_constant);
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(var) => !changed.contains(var),
        ExprKind::Unary(UnOp::Neg, operand) | ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
            is_known(operand)
        }
        ExprKind::Binary { op: BinOp::Add | BinOp::Sub | BinOp::Mul, left, right, .. } => {
            is_known(left) && is_known(right)
        }
        ExprKind::Math(MathFn::Min | MathFn::Max, operands) => operands.iter().all(is_known),
        ExprKind::Load(place) => is_constant(place.array) && place.unproved == 0 && place.index.iter().all(is_known),
        ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}

struct Loads<'a> {
    is_table: &'a dyn Fn(VarId) -> bool,
    places: Vec<(Place, Ty)>,
    /// How often a table occurs.
    uses: usize,
    changed: OrdSet<VarId>,
}

impl Visitor for Loads<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        if let ExprKind::Load(place) = &expr.kind
            && (self.is_table)(place.array)
        {
            self.places.push((place.clone(), expr.ty));
        }
        look::walk_expr(self, expr);
    }
    fn visit_var(&mut self, var: &VarId, role: Role) {
        self.uses += usize::from((self.is_table)(*var));
        match role {
            Role::Read => {}
            Role::Declare | Role::Iterate | Role::Write | Role::Update | Role::Argument { .. } => {
                self.changed.insert(*var);
            }
        }
    }
}

/// Puts values into the places of loads.
struct Replace<'a> {
    places: &'a [(Place, Ty)],
    values: &'a [VarId],
}

impl Mutator for Replace<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Load(place) = &expr.kind
            && let Some(at) = self.places.iter().position(|(other, _)| same::place(other, place))
        {
            expr.kind = ExprKind::Read(self.values[at]);
            return;
        }
        change::walk_expr(self, expr);
    }
}
