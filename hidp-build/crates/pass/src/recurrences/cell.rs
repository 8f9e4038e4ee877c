//! Bodies of cells, with returns turned into stores.

use super::build;
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{Access, Block, Expr, ExprKind, Stmt, StmtKind, Table};
use hidp_syntax::ty::Ty;

/// The body of a table, each `return` of which stores the cell and ends. Nothing else touches what it loads meanwhile.
pub(super) fn stored(table: &Table) -> Block {
    let mut body = table.body.clone();
    visit::map_places(&mut body, |place, _| place.access = Access::Exclusive);
    Choices.visit_block(&mut body);
    let branches = Ending { table, leave: false }.branches(body.stmts.clone());
    branches.map_or_else(|| scope(table, body), |stmts| Block { stmts })
}

/// Where loops return, or branches return on some of their paths only.
fn scope(table: &Table, mut body: Block) -> Block {
    Ending { table, leave: true }.visit_block(&mut body);
    Block { stmts: vec![Stmt { kind: StmtKind::Scope(body), span: table.span }] }
}

/// Makes branches of returns that choose between structs: what a cell has in each field is known where a struct is made.
struct Choices;

impl Mutator for Choices {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        if let StmtKind::Return(value) = &stmt.kind
            && value.ty.scalar().is_none()
        {
            *stmt = chosen(value.clone());
        }
        change::walk_stmt(self, stmt);
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

fn chosen(value: Expr) -> Stmt {
    let span = value.span;
    match value.kind {
        ExprKind::Select { cond, then, otherwise } => {
            build::either(*cond, vec![chosen(*then)], vec![chosen(*otherwise)])
        }
        kind => Stmt { kind: StmtKind::Return(Expr { kind, ..value }), span },
    }
}

struct Ending<'a> {
    table: &'a Table,
    /// Whether to leave the scope after the store.
    leave: bool,
}

impl Ending<'_> {
    fn store(&self, value: Expr) -> Stmt {
        let span = value.span;
        let index: Vec<Expr> = self.table.index.iter().map(|iter| Expr::read(iter.var, Ty::LONG, span)).collect();
        let place = build::place(self.table.array, index, span);
        Stmt { kind: StmtKind::Store { place, value }, span }
    }

    /// The statements with what follows a branch that returns in its other one. `None` where that is not possible.
    fn branches(&self, stmts: Vec<Stmt>) -> Option<Vec<Stmt>> {
        let mut out = Vec::new();
        let mut stmts = stmts.into_iter();
        while let Some(stmt) = stmts.next() {
            let span = stmt.span;
            match stmt.kind {
                StmtKind::Return(value) => {
                    out.push(self.store(value));
                    return Some(out);
                }
                StmtKind::If { cond, then, otherwise } if returns(&then) || returns(&otherwise) => {
                    let rest: Vec<Stmt> = stmts.collect();
                    let (then, otherwise) = match (ends(&then), ends(&otherwise)) {
                        (true, _) => (then.stmts, joined(otherwise, rest)),
                        (false, true) => (joined(then, rest), otherwise.stmts),
                        (false, false) => return None,
                    };
                    let then = Block { stmts: self.branches(then)? };
                    let otherwise = Block { stmts: self.branches(otherwise)? };
                    out.push(Stmt { kind: StmtKind::If { cond, then, otherwise }, span });
                    return Some(out);
                }
                kind => {
                    let stmt = Stmt { kind, span };
                    if returns(&Block { stmts: vec![stmt.clone()] }) {
                        return None;
                    }
                    out.push(stmt);
                }
            }
        }
        Some(out)
    }
}

impl Mutator for Ending<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let StmtKind::Return(value) = stmt.kind {
                let span = stmt.span;
                out.push(self.store(value));
                if self.leave {
                    out.push(Stmt { kind: StmtKind::Leave, span });
                }
                continue;
            }
            change::walk_stmt(self, &mut stmt);
            out.push(stmt);
        }
        block.stmts = out;
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

fn joined(block: Block, rest: Vec<Stmt>) -> Vec<Stmt> {
    let mut stmts = block.stmts;
    stmts.extend(rest);
    stmts
}

/// Whether some path returns.
fn returns(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Return(_)));
    found
}

/// Whether the last statement certainly returns.
fn ends(block: &Block) -> bool {
    block.stmts.last().is_some_and(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { then, otherwise, .. } => ends(then) && ends(otherwise),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => false,
    })
}
