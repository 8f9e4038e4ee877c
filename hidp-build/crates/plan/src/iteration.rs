//! What one iteration of a nest does by itself: operations, counted in one way or another, and the maps and primitives directly inside.

use hidp_ir::par::visit::{Visitor, look};
use hidp_ir::par::{Block, Expr, ExprKind, Map, PrimCall, Program, ScalarFnId, Stmt, StmtKind};
use hidp_syntax::ordered::OrdMap;

/// Counts stop here. Functions that call others twice double them, and some of these added up must fit still.
const MOST: i64 = 1 << 48;

/// What an expression counts without its operands; `None` if nothing inside counts either.
pub(super) type Counting = fn(&Expr) -> Option<i64>;

/// What an iteration does. Branches count as if both sides ran.
#[derive(Default)]
pub(super) struct Iteration<'a> {
    pub(super) operations: i64,
    pub(super) maps: Vec<&'a Map>,
    pub(super) prims: Vec<&'a PrimCall>,
}

/// What an iteration with this body does; `None` where that depends on data: on how often a loop runs, say.
pub(super) fn iteration<'a>(program: &Program, body: &'a Block, counting: Counting) -> Option<Iteration<'a>> {
    let mut found = Iteration::default();
    found.block(program, body, counting).then_some(found)
}

impl<'a> Iteration<'a> {
    fn block(&mut self, program: &Program, block: &'a Block, counting: Counting) -> bool {
        block.stmts.iter().all(|stmt| self.stmt(program, stmt, counting))
    }

    fn stmt(&mut self, program: &Program, stmt: &'a Stmt, counting: Counting) -> bool {
        let mut count = Count { program, counting, functions: OrdMap::new(), sum: 0, known: true };
        let known = match &stmt.kind {
            StmtKind::Map(map) => {
                self.maps.push(map);
                true
            }
            StmtKind::Prim(call) => {
                self.prims.push(call);
                true
            }
            StmtKind::If { cond, then, otherwise } => {
                count.visit_expr(cond);
                self.block(program, then, counting) && self.block(program, otherwise, counting)
            }
            StmtKind::Scope(body) => self.block(program, body, counting),
            StmtKind::Loop(_) | StmtKind::Call { .. } => false,
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Swap(..)
            | StmtKind::Require { .. } => {
                count.visit_stmt(stmt);
                true
            }
        };
        self.operations = MOST.min(self.operations + count.sum);
        known && count.known
    }
}

struct Count<'a> {
    program: &'a Program,
    counting: Counting,
    /// What a call counts, and whether that is known.
    functions: OrdMap<ScalarFnId, (i64, bool)>,
    sum: i64,
    known: bool,
}

impl Count<'_> {
    fn function(&mut self, function: ScalarFnId) -> (i64, bool) {
        if let Some(found) = self.functions.get(&function) {
            return *found;
        }
        let found = match &self.program.scalar_fns[function].body {
            Some(body) => {
                let outer = (std::mem::take(&mut self.sum), std::mem::replace(&mut self.known, true));
                self.visit_block(body);
                let found = (self.sum, self.known);
                (self.sum, self.known) = outer;
                found
            }
            None => (0, false),
        };
        self.functions.insert(function, found);
        found
    }
}

impl Visitor for Count<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        let Some(own) = (self.counting)(expr) else { return };
        self.sum = MOST.min(self.sum + own);
        if let ExprKind::Call(function, _) = &expr.kind {
            let (sum, known) = self.function(*function);
            self.sum = MOST.min(self.sum + sum);
            self.known &= known;
        }
        look::walk_expr(self, expr);
    }
    fn visit_stmt(&mut self, stmt: &Stmt) {
        self.known &= !matches!(stmt.kind, StmtKind::Loop(_));
        look::walk_stmt(self, stmt);
    }
}
