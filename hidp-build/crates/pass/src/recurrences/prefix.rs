//! Linear recurrences of integers in parts that threads share.
//!
//! A cell is a sum of the few cells before it, each times a plain value, and of a plain value. So the last cells of a part are linear in those before
//! the part. What the part makes of them is found by computing it several times, once from zeros and once from each cell being 1; these results are composed
//! from part to part, and each part is computed again from the cells that it really follows. Sums and products wrap, so that any grouping gives the same
//! cells. Sums of floats would not.
//!
//! This is a scan of linear maps, in the two passes over the parts that Ladner and Fischer describe ("Parallel Prefix Computation", J. ACM 1980).

use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{
    BinOp, Block, ConvertMode, Expr, ExprKind, Place, Stmt, StmtKind, System, Table, UnOp, Var, VarId, VarKind,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::build::{self, Builder};
use super::{twin, window};

/// The most cells before it that a cell is made of.
const LONGEST: i64 = 4;

/// A table of fewer cells is computed one cell after the other.
pub(super) const FEWEST: i64 = 1 << 15;

/// A system that is one linear recurrence.
pub(super) struct Prefix<'a> {
    system: &'a System,
    body: &'a Block,
    ty: Ty,
    /// How many cells before it a cell is made of.
    order: usize,
    extent: Expr,
    span: Span,
}

/// Cells before the next one, the last one first, and the next one itself.
struct Chain {
    cells: Vec<VarId>,
    next: VarId,
}

impl<'a> Prefix<'a> {
    /// `None` where cells are something else than linear in the cells before them.
    pub(super) fn of(builder: &Builder<'_>, system: &'a System, bodies: &'a [Block]) -> Option<Prefix<'a>> {
        let ([table], [body], [steps]) = (&system.tables[..], bodies, &system.order.steps[..]) else { return None };
        let ty = builder.vars[table.array].ty;
        let is_integer = ty.scalar().is_some_and(Scalar::is_integer);
        if table.index.len() != 1 || !table.is_box() || steps.rows != [[1]] || !is_integer {
            return None;
        }
        let mut found = Linear { table, ty, cells: OrdSet::new(), order: 0 };
        found.variables(body);
        if !found.block(body) || found.order == 0 {
            return None;
        }
        let extent = builder.vars[table.array].shape[0].clone();
        Some(Prefix { system, body, ty, order: found.order, extent, span: table.span })
    }

    /// Whether the table is large enough for parts.
    pub(super) fn is_long(&self) -> Expr {
        Expr::long(BinOp::Ge, self.extent.clone(), Expr::int(FEWEST, self.span))
    }

    /// The cells, in parts of so many.
    pub(super) fn made(&self, builder: &mut Builder<'_>, part: u32) -> Vec<Stmt> {
        let span = self.span;
        let part = Expr::int(i64::from(part), span);
        let up = build::sub(build::add(self.extent.clone(), part.clone()), Expr::int(1, span));
        let parts = Expr::long(BinOp::Div, up, part.clone());
        let mut array = |name: &str| {
            let shape = vec![parts.clone()];
            builder.vars.push(Var { name: name.into(), ty: self.ty, shape, kind: VarKind::Local, span })
        };
        // What a part leads to from zeros, and from each cell before it being 1; and what is before it.
        let results: Vec<Vec<VarId>> =
            (0..=self.order).map(|_| (0..self.order).map(|_| array("result")).collect()).collect();
        let before: Vec<VarId> = (0..self.order).map(|_| array("before")).collect();
        let all = results.iter().flatten().chain(&before);
        let mut out: Vec<Stmt> = all.map(|array| build::declare(*array, span)).collect();
        let lengths = (parts, part);
        out.push(self.tried(builder, &lengths, &results));
        out.push(self.composed(builder, &lengths.0, &results, &before));
        out.push(self.computed(builder, &lengths, &before));
        out
    }

    /// All parts, from zeros and ones.
    fn tried(&self, builder: &mut Builder<'_>, lengths: &(Expr, Expr), results: &[Vec<VarId>]) -> Stmt {
        let number = builder.iterator("part", self.span);
        let chains: Vec<Chain> = results.iter().map(|_| self.chain(builder)).collect();
        let mut body = Vec::new();
        for (from, chain) in chains.iter().enumerate() {
            let begin = |at: usize| Expr { ty: self.ty, ..Expr::int(i64::from(at + 1 == from), self.span) };
            body.extend(self.begun(chain, begin));
        }
        body.extend(self.cells(builder, lengths, number, &chains, false));
        for (chain, results) in chains.iter().zip(results) {
            let stores = chain.cells.iter().zip(results);
            body.extend(stores.map(|(cell, result)| build::store(self.at(*result, number), self.read(*cell))));
        }
        self.each(number, &lengths.0, body)
    }

    /// What is before each part.
    fn composed(&self, builder: &mut Builder<'_>, parts: &Expr, results: &[Vec<VarId>], before: &[VarId]) -> Stmt {
        let span = self.span;
        let number = builder.local("part", Ty::LONG, span);
        let (now, next) = (self.chain(builder).cells, self.chain(builder).cells);
        let mut out: Vec<Stmt> = now.iter().chain(&next).map(|cell| build::declare(*cell, span)).collect();
        let mut body: Vec<Stmt> = now
            .iter()
            .zip(before)
            .map(|(cell, array)| build::store(self.at(*array, number), self.read(*cell)))
            .collect();
        let result = |array: VarId| Expr { kind: ExprKind::Load(self.at(array, number)), ty: self.ty, span };
        for (at, next) in next.iter().enumerate() {
            let zeros = result(results[0][at]);
            let more = now.iter().zip(&results[1..]).map(|(cell, results)| {
                let factor = self.binary(BinOp::Sub, result(results[at]), zeros.clone());
                self.binary(BinOp::Mul, factor, self.read(*cell))
            });
            let sum = more.fold(zeros.clone(), |sum, more| self.binary(BinOp::Add, sum, more));
            body.push(build::assign(*next, sum));
        }
        body.extend(now.iter().zip(&next).map(|(cell, next)| build::assign(*cell, self.read(*next))));
        out.extend(builder.count(number, [Expr::int(0, span), parts.clone()], true, body));
        builder.alone(out, span)
    }

    /// All parts, from what is before them.
    fn computed(&self, builder: &mut Builder<'_>, lengths: &(Expr, Expr), before: &[VarId]) -> Stmt {
        let number = builder.iterator("part", self.span);
        let chain = self.chain(builder);
        let begin =
            |at: usize| Expr { kind: ExprKind::Load(self.at(before[at], number)), ty: self.ty, span: self.span };
        let mut body = self.begun(&chain, begin);
        body.extend(self.cells(builder, lengths, number, &[chain], true));
        self.each(number, &lengths.0, body)
    }

    fn chain(&self, builder: &mut Builder<'_>) -> Chain {
        let cells = (0..self.order).map(|_| builder.local("before", self.ty, self.span)).collect();
        Chain { cells, next: builder.local("next", self.ty, self.span) }
    }

    fn begun(&self, chain: &Chain, begin: impl Fn(usize) -> Expr) -> Vec<Stmt> {
        let mut out = vec![build::declare(chain.next, self.span)];
        for (at, cell) in chain.cells.iter().enumerate() {
            out.extend([build::declare(*cell, self.span), build::assign(*cell, begin(at))]);
        }
        out
    }

    /// A loop over the cells of a part, in which each chain takes its next cell.
    fn cells(
        &self,
        builder: &mut Builder<'_>,
        (_, part): &(Expr, Expr),
        number: VarId,
        chains: &[Chain],
        stored: bool,
    ) -> Vec<Stmt> {
        let span = self.span;
        let index = builder.local("index", Ty::LONG, span);
        let mut body = Vec::new();
        for chain in chains {
            let (system, mut bodies) = twin::copied(builder.vars, self.system, std::slice::from_ref(self.body));
            let table = &system.tables[0];
            let mut own = bodies.pop().expect("a body of the table");
            Chained { table, chain, stored }.visit_block(&mut own);
            let counted = table.index[0].var;
            visit::rename_vars(&mut own, |var| if var == counted { index } else { var });
            body.extend(own.stmts);
            let pairs = chain.cells.windows(2).rev();
            body.extend(pairs.map(|pair| build::assign(pair[1], self.read(pair[0]))));
            body.push(build::assign(chain.cells[0], self.read(chain.next)));
        }
        let first = Expr::long(BinOp::Mul, build::read(number, span), part.clone());
        let behind = build::min(build::add(first.clone(), part.clone()), self.extent.clone());
        builder.count(index, [first, behind], true, body)
    }

    fn each(&self, number: VarId, parts: &Expr, body: Vec<Stmt>) -> Stmt {
        build::map(vec![build::iter(number, Expr::int(0, self.span), parts.clone())], body)
    }

    fn at(&self, array: VarId, number: VarId) -> Place {
        Place { unproved: 0, ..build::place(array, vec![build::read(number, self.span)], self.span) }
    }

    fn read(&self, cell: VarId) -> Expr {
        Expr::read(cell, self.ty, self.span)
    }

    fn binary(&self, op: BinOp, left: Expr, right: Expr) -> Expr {
        Expr { ty: self.ty, ..Expr::long(op, left, right) }
    }
}

/// By how many cells a load comes before the cell that it is for.
fn back(table: &Table, place: &Place) -> Option<i64> {
    window::distance(table, &[1], place, &[1]).filter(|back| (1..=LONGEST).contains(back))
}

/// Whether a body is linear in cells.
struct Linear<'a> {
    table: &'a Table,
    ty: Ty,
    /// Variables that depend on cells.
    cells: OrdSet<VarId>,
    order: usize,
}

impl Linear<'_> {
    fn variables(&mut self, body: &Block) {
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
                return;
            }
        }
    }

    /// Whether a value depends on a cell.
    fn is_cell(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::walk_expr_vars(expr, |var, role| match role {
            Role::Read => found |= var == self.table.array || self.cells.contains(&var),
            Role::Declare | Role::Iterate | Role::Write | Role::Update | Role::Argument { .. } => {}
        });
        found
    }

    fn block(&mut self, block: &Block) -> bool {
        block.stmts.iter().all(|stmt| match &stmt.kind {
            StmtKind::Declare { .. } => true,
            StmtKind::Assign { value, .. } => self.value(value),
            StmtKind::Store { place, value } => {
                place.array == self.table.array && place.path.is_empty() && self.value(value)
            }
            StmtKind::If { cond, then, otherwise } => !self.is_cell(cond) && self.block(then) && self.block(otherwise),
            StmtKind::AssignField { .. }
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
            | StmtKind::Require { .. } => false,
        })
    }

    /// Whether a value is plain or linear in cells, in as many bits as these at least: what is more wraps away.
    fn value(&mut self, expr: &Expr) -> bool {
        if !self.is_cell(expr) {
            return true;
        }
        let size = |ty: Ty| ty.scalar().filter(|scalar| scalar.is_integer()).map(Scalar::size);
        if size(expr.ty) < size(self.ty) {
            return false;
        }
        match &expr.kind {
            ExprKind::Load(place) => {
                let found = (place.array == self.table.array).then(|| back(self.table, place)).flatten();
                let back = found.and_then(|back| usize::try_from(back).ok());
                self.order = self.order.max(back.unwrap_or(0));
                back.is_some()
            }
            ExprKind::Read(_) => true,
            ExprKind::Unary(UnOp::Neg, operand) | ExprKind::Convert { operand, mode: ConvertMode::Cast } => {
                self.value(operand)
            }
            ExprKind::Binary { op: BinOp::Add | BinOp::Sub, left, right, .. } => self.value(left) && self.value(right),
            ExprKind::Binary { op: BinOp::Mul, left, right, .. } => {
                !(self.is_cell(left) && self.is_cell(right)) && self.value(left) && self.value(right)
            }
            ExprKind::Select { cond, then, otherwise } => {
                !self.is_cell(cond) && self.value(then) && self.value(otherwise)
            }
            ExprKind::Const(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        }
    }
}

/// Makes a body take cells from a chain, and give its next one.
struct Chained<'a> {
    table: &'a Table,
    chain: &'a Chain,
    /// Whether the table gets the cell as well.
    stored: bool,
}

impl Mutator for Chained<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            change::walk_stmt(self, &mut stmt);
            let span = stmt.span;
            match stmt.kind {
                StmtKind::Store { place, value } => {
                    let ty = value.ty;
                    out.push(build::assign(self.chain.next, value));
                    let value = Expr::read(self.chain.next, ty, span);
                    out.extend(self.stored.then_some(Stmt { kind: StmtKind::Store { place, value }, span }));
                }
                kind => out.push(Stmt { kind, span }),
            }
        }
        block.stmts = out;
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let ExprKind::Load(place) = &expr.kind
            && place.array == self.table.array
        {
            let back = back(self.table, place).and_then(|back| usize::try_from(back).ok()).expect("it was looked at");
            expr.kind = ExprKind::Read(self.chain.cells[back - 1]);
        }
    }
}
