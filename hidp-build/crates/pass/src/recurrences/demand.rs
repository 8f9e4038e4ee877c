//! Cells by the definition of a recurrence: each computed on demand.
//!
//! All cells of all tables have numbers, in the order in which they are asked for. A stack holds the cells that wait for others. A
//! body that needs a cell which is not computed yet leaves, and starts again when that cell is there; so a fault is the first of plain
//! recursion. Expressions with calls are taken apart for that, so that what stands before a call is evaluated before it.

use hidp_ir::par::visit::{self, walk_subexprs};
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, FaultKind, Iter, Loop, Map, Place, Stmt, StmtKind, System, Table, UnOp, Var,
    VarId, VarKind,
};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::Around;
use super::build::{self, Builder};

/// All cells of a system.
pub(super) fn system(builder: &mut Builder<'_>, system: &System, around: Around) -> Vec<Stmt> {
    let span = system.tables[0].span;
    let mut out = Vec::new();
    let mut demand = Demand::new(builder, system, &mut out);
    let body = demand.run(system);
    match around {
        Around::Host => out.push(builder.alone(body, span)),
        Around::Map => out.extend(body),
    }
    out
}

/// What is kept of a table.
#[derive(Clone)]
struct Kept {
    /// Number of the first cell.
    first: Expr,
    extents: Vec<Expr>,
    /// For each cell whether it is computed.
    done: VarId,
}

struct Demand<'a, 'b> {
    builder: &'a mut Builder<'b>,
    tables: OrdMap<VarId, Kept>,
    /// Numbers of the cells that wait.
    stack: VarId,
    /// How many cells wait.
    top: VarId,
    /// Number of a cell that a body needs, or -1.
    need: VarId,
    /// How many cells there are.
    total: Expr,
}

impl<'a, 'b> Demand<'a, 'b> {
    fn new(builder: &'a mut Builder<'b>, system: &System, out: &mut Vec<Stmt>) -> Self {
        let span = system.tables[0].span;
        let mut first = Expr::int(0, span);
        let mut tables = OrdMap::new();
        for table in &system.tables {
            let extents = builder.vars[table.array].shape.clone();
            let done = array(builder, "done", Ty::BOOL, extents.clone(), span);
            out.push(build::declare(done, span));
            let cells = extents.iter().cloned().reduce(mul).expect("a table has an index");
            let next = build::add(first.clone(), cells);
            tables.insert(table.array, Kept { first: std::mem::replace(&mut first, next), extents, done });
        }
        let total = first;
        let stack = array(builder, "waiting", Ty::LONG, vec![total.clone()], span);
        out.push(build::declare(stack, span));
        let [top, need] = ["top", "need"].map(|name| builder.local(name, Ty::LONG, span));
        Demand { builder, tables, stack, top, need, total }
    }

    /// Asks for every cell.
    fn run(&mut self, system: &System) -> Vec<Stmt> {
        let span = system.tables[0].span;
        let [root, cell] = ["root", "cell"].map(|name| self.builder.local(name, Ty::LONG, span));
        let long = |value: i64| Expr::int(value, span);
        let read = |var: VarId| build::read(var, span);
        let mut turn = vec![
            build::assign(cell, load(self.stack, vec![build::sub(read(self.top), long(1))], Ty::LONG, span)),
            build::assign(self.need, long(-1)),
        ];
        let kept: Vec<Kept> = system.tables.iter().map(|table| self.tables[&table.array].clone()).collect();
        let mut which = Vec::new();
        for (at, table) in system.tables.iter().enumerate().rev() {
            let own = self.cell(table, cell);
            which = match kept.get(at + 1) {
                None => own,
                Some(next) => {
                    let cond = Expr::long(BinOp::Lt, read(cell), next.first.clone());
                    let (then, otherwise) = (Block { stmts: own }, Block { stmts: which });
                    vec![Stmt { kind: StmtKind::If { cond, then, otherwise }, span }]
                }
            };
        }
        turn.extend(which);
        let push = vec![
            store(self.stack, vec![read(self.top)], read(self.need)),
            build::assign(self.top, build::add(read(self.top), long(1))),
        ];
        let pop = vec![build::assign(self.top, build::sub(read(self.top), long(1)))];
        let missing = Expr::long(BinOp::Ge, read(self.need), long(0));
        let next = StmtKind::If { cond: missing, then: Block { stmts: push }, otherwise: Block { stmts: pop } };
        turn.push(Stmt { kind: next, span });
        let waits = Expr::long(BinOp::Gt, read(self.top), long(0));
        let all = Loop { cond: waits, body: Block { stmts: turn }, step: Block::default() };
        let ask = vec![
            store(self.stack, vec![long(0)], read(root)),
            build::assign(self.top, long(1)),
            Stmt { kind: StmtKind::Loop(all), span },
        ];
        let mut stmts =
            vec![build::declare(self.top, span), build::declare(self.need, span), build::declare(cell, span)];
        stmts.extend(self.builder.count(root, [long(0), self.total.clone()], true, ask));
        stmts
    }

    /// Computes the cell of this number if it is one of the domain and not computed, or says what it needs.
    fn cell(&mut self, table: &Table, cell: VarId) -> Vec<Stmt> {
        let span = table.span;
        let Kept { first, extents, done } = self.tables[&table.array].clone();
        self.builder.unbind(table);
        let rest = self.builder.local("rest", Ty::LONG, span);
        let mut stmts =
            vec![build::declare(rest, span), build::assign(rest, build::sub(build::read(cell, span), first))];
        for (index, extent) in table.index.iter().zip(&extents).rev() {
            let value = |op: BinOp| Expr {
                kind: ExprKind::Binary {
                    op,
                    left: Box::new(build::read(rest, span)),
                    right: Box::new(extent.clone()),
                    // Where an extent is 0 there is no cell.
                    checked: false,
                },
                ty: Ty::LONG,
                span,
            };
            stmts.push(build::declare(index.var, span));
            stmts.push(build::assign(index.var, value(BinOp::Rem)));
            stmts.push(build::assign(rest, value(BinOp::Div)));
        }
        let at: Vec<Expr> = table.index.iter().map(|index| build::read(index.var, span)).collect();
        let range = |index: &Iter| build::within(&build::read(index.var, span), index.lo.clone(), index.hi.clone());
        let mut conds: Vec<Expr> = table.index.iter().flat_map(range).collect();
        conds.push(not(load(done, at.clone(), Ty::BOOL, span)));
        let mut body = table.body.clone();
        visit::map_places(&mut body, |place, _| place.access = Access::Exclusive);
        let stmts_of_body = self.block(body, table, &at);
        let scope = StmtKind::Scope(Block { stmts: stmts_of_body });
        stmts.push(build::guarded(build::all(conds, span), vec![Stmt { kind: scope, span }]));
        stmts
    }

    fn block(&mut self, block: Block, table: &Table, at: &[Expr]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for stmt in block.stmts {
            self.stmt(stmt, table, at, &mut out);
        }
        out
    }

    fn stmt(&mut self, stmt: Stmt, table: &Table, at: &[Expr], out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::Assign { var, value } => StmtKind::Assign { var, value: self.expr(value, out) },
            StmtKind::AssignField { var, path, value } => {
                StmtKind::AssignField { var, path, value: self.expr(value, out) }
            }
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.expr(cond, out);
                let then = Block { stmts: self.block(then, table, at) };
                StmtKind::If { cond, then, otherwise: Block { stmts: self.block(otherwise, table, at) } }
            }
            StmtKind::Loop(node) => StmtKind::Loop(self.sequential(node, table, at)),
            StmtKind::Scope(block) => StmtKind::Scope(Block { stmts: self.block(block, table, at) }),
            StmtKind::Return(value) => {
                let value = self.expr(value, out);
                out.push(store(table.array, at.to_vec(), value));
                let done = self.tables[&table.array].done;
                out.push(store(done, at.to_vec(), build::constant(true, span)));
                StmtKind::Leave
            }
            StmtKind::Map(map) => {
                if self.calls_in(&map.body) {
                    self.try_iterations(&map, table, at, span, out);
                }
                StmtKind::Map(map)
            }
            kind @ (StmtKind::Declare { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. }) => kind,
        };
        out.push(Stmt { kind, span });
    }

    fn sequential(&mut self, node: Loop, table: &Table, at: &[Expr]) -> Loop {
        let span = node.cond.span;
        let step = Block { stmts: self.block(node.step, table, at) };
        let rest = self.block(node.body, table, at);
        if !self.calls(&node.cond) {
            return Loop { cond: node.cond, body: Block { stmts: rest }, step };
        }
        let mut body = Vec::new();
        let cond = self.expr(node.cond, &mut body);
        body.push(build::guarded(not(cond), vec![Stmt { kind: StmtKind::Break, span }]));
        body.extend(rest);
        Loop { cond: build::constant(true, span), body: Block { stmts: body }, step }
    }

    /// The iterations of a map one after the other, up to the first that needs a cell: no iteration of a map can leave it.
    fn try_iterations(&mut self, map: &Map, table: &Table, at: &[Expr], span: Span, out: &mut Vec<Stmt>) {
        let vars = &mut *self.builder.vars;
        let mut body = visit::duplicate_block(&map.body, vars);
        let counted: OrdMap<VarId, VarId> = map
            .iters
            .iter()
            .map(|iter| (iter.var, vars.push(Var { kind: VarKind::Local, ..vars[iter.var].clone() })))
            .collect();
        visit::rename_vars(&mut body, |var| counted.get(&var).copied().unwrap_or(var));
        let mut stmts = self.block(body, table, at);
        for iter in map.iters.iter().rev() {
            let var = counted[&iter.var];
            let value = build::read(var, span);
            let cond = Expr::long(BinOp::Lt, value.clone(), iter.hi.clone());
            let next = build::assign(var, Expr::long(BinOp::Add, value, iter.step.clone()));
            let node = Loop { cond, body: Block { stmts }, step: Block { stmts: vec![next] } };
            stmts = vec![build::declare(var, span), build::assign(var, iter.lo.clone())];
            if iter.step.as_int().is_none() {
                let cond = Expr::long(BinOp::Gt, iter.step.clone(), Expr::int(0, span));
                let values = vec![("stride".into(), iter.step.clone())];
                let require = StmtKind::Require { cond, fault: FaultKind::Stride, values };
                stmts.insert(0, Stmt { kind: require, span: iter.step.span });
            }
            stmts.push(Stmt { kind: StmtKind::Loop(node), span });
        }
        out.extend(stmts);
    }

    /// Whether an expression loads a cell.
    fn calls(&self, expr: &Expr) -> bool {
        let mut found = false;
        walk_subexprs(expr, |expr| {
            found |= matches!(&expr.kind, ExprKind::Load(place) if self.tables.contains_key(&place.array));
        });
        found
    }

    fn calls_in(&self, block: &Block) -> bool {
        let mut found = false;
        visit::walk_vars(block, |var, _| found |= self.tables.contains_key(&var));
        found
    }

    /// The value of an expression, where all cells that it loads are computed; before that, statements leave if one is not.
    fn expr(&mut self, expr: Expr, out: &mut Vec<Stmt>) -> Expr {
        if !self.calls(&expr) {
            return expr;
        }
        let Expr { kind, ty, span } = expr;
        let kind = match kind {
            ExprKind::Load(place) => ExprKind::Load(self.load(place, out)),
            ExprKind::Unary(op, operand) => ExprKind::Unary(op, Box::new(self.expr(*operand, out))),
            ExprKind::Convert { operand, mode } => {
                ExprKind::Convert { operand: Box::new(self.expr(*operand, out)), mode }
            }
            ExprKind::Field(operand, field) => ExprKind::Field(Box::new(self.expr(*operand, out)), field),
            ExprKind::Binary { op, left, right, checked } => {
                let mut both = self.exprs(vec![*left, *right], out).into_iter();
                let (Some(left), Some(right)) = (both.next(), both.next()) else { unreachable!("two went in") };
                ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), checked }
            }
            ExprKind::Math(function, operands) => ExprKind::Math(function, self.exprs(operands, out)),
            ExprKind::Call(function, operands) => ExprKind::Call(function, self.exprs(operands, out)),
            ExprKind::Struct(id, operands) => ExprKind::Struct(id, self.exprs(operands, out)),
            ExprKind::Lazy { and, left, right } => {
                let left = self.expr(*left, out);
                let value = self.held(left, out);
                let ExprKind::Read(var) = value.kind else { unreachable!("a variable holds it") };
                let mut then = Vec::new();
                let right = self.expr(*right, &mut then);
                then.push(build::assign(var, right));
                out.push(build::guarded(if and { value.clone() } else { not(value.clone()) }, then));
                return value;
            }
            ExprKind::Select { cond, then, otherwise } => {
                let cond = self.expr(*cond, out);
                let var = self.builder.local("value", ty, span);
                out.push(build::declare(var, span));
                let [then, otherwise] = [then, otherwise].map(|value| {
                    let mut stmts = Vec::new();
                    let value = self.expr(*value, &mut stmts);
                    stmts.push(build::assign(var, value));
                    Block { stmts }
                });
                out.push(Stmt { kind: StmtKind::If { cond, then, otherwise }, span });
                return Expr::read(var, ty, span);
            }
            kind @ (ExprKind::Const(_) | ExprKind::Read(_)) => kind,
        };
        Expr { kind, ty, span }
    }

    /// Operands in order: what comes before a call is evaluated before it.
    fn exprs(&mut self, operands: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let last = operands.iter().rposition(|operand| self.calls(operand)).unwrap_or(0);
        let each = operands.into_iter().enumerate();
        each.map(|(at, operand)| {
            let value = self.expr(operand, out);
            if at < last { self.held(value, out) } else { value }
        })
        .collect()
    }

    /// A variable with this value.
    fn held(&mut self, value: Expr, out: &mut Vec<Stmt>) -> Expr {
        let (ty, span) = (value.ty, value.span);
        let var = self.builder.local("value", ty, span);
        out.push(build::declare(var, span));
        out.push(build::assign(var, value));
        Expr::read(var, ty, span)
    }

    /// A load; of a cell, once it is computed.
    fn load(&mut self, mut place: Place, out: &mut Vec<Stmt>) -> Place {
        place.index = self.exprs(place.index, out);
        let Some(Kept { first, extents, done }) = self.tables.get(&place.array).cloned() else { return place };
        let span = place.span;
        let index: Vec<Expr> = place.index.drain(..).map(|index| self.held(index, out)).collect();
        let zero = || Expr::int(0, span);
        let in_box = index.iter().zip(&extents).flat_map(|(at, extent)| build::within(at, zero(), extent.clone()));
        let mut conds: Vec<Expr> = in_box.collect();
        conds.push(not(load(done, index.clone(), Ty::BOOL, span)));
        let number = index.iter().zip(&extents).fold(zero(), |number, (at, extent)| {
            let rows = if number.as_int() == Some(0) { number } else { mul(number, extent.clone()) };
            build::add(rows, at.clone())
        });
        let leave = vec![build::assign(self.need, build::add(first, number)), Stmt { kind: StmtKind::Leave, span }];
        out.push(build::guarded(build::all(conds, span), leave));
        place.index = index;
        place
    }
}

fn array(builder: &mut Builder<'_>, name: &str, ty: Ty, shape: Vec<Expr>, span: Span) -> VarId {
    builder.vars.push(Var { name: name.into(), ty, shape, kind: VarKind::Local, span })
}

fn load(array: VarId, index: Vec<Expr>, ty: Ty, span: Span) -> Expr {
    Expr { kind: ExprKind::Load(build::place(array, index, span)), ty, span }
}

fn store(array: VarId, index: Vec<Expr>, value: Expr) -> Stmt {
    let span = value.span;
    Stmt { kind: StmtKind::Store { place: build::place(array, index, span), value }, span }
}

fn mul(left: Expr, right: Expr) -> Expr {
    Expr::long(BinOp::Mul, left, right)
}

fn not(cond: Expr) -> Expr {
    let span = cond.span;
    Expr { kind: ExprKind::Unary(UnOp::Not, Box::new(cond)), ty: Ty::BOOL, span }
}
