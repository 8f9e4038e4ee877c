//! The statements that a call becomes.

use super::*;
use hidp_ir::par::VarKind;
use hidp_syntax::source::Span;

impl Inliner<'_> {
    /// Appends the body of `function` for these arguments. The variable that holds its result.
    pub(super) fn put(&mut self, function: ScalarFnId, args: Vec<Expr>, span: Span, out: &mut Vec<Stmt>) -> VarId {
        let callee: &ScalarFn = &self.program.scalar_fns[function];
        let original = callee.body.as_ref().expect("`takes` asks for a body");
        self.left = self.left.saturating_sub(1 + own_size(original));
        let mut names = OrdMap::new();
        for (param, arg) in callee.params.iter().zip(args) {
            let var = self.local(&callee.vars[*param].name, arg.ty, span);
            self.give(var, arg, out);
            names.insert(*param, var);
        }
        let result = self.local(&callee.name, callee.result, span);
        out.push(Stmt { kind: StmtKind::Declare { var: result, zero: false }, span });
        let mut body = visit::clone_block(original, &callee.vars, self.vars, &mut names);
        sink(&mut body);
        let (last, _) = at_the_end(&body);
        let leave = last < returns(&body);
        Results { result, leave }.visit_block(&mut body);
        body.stmts.pop_if(|last| matches!(last.kind, StmtKind::Leave));
        self.block(&mut body);
        if leave {
            out.push(Stmt { kind: StmtKind::Scope(body), span });
        } else {
            out.extend(body.stmts);
        }
        result
    }

    pub(super) fn local(&mut self, name: &str, ty: Ty, span: Span) -> VarId {
        self.vars.push(Var { name: name.into(), ty, shape: Vec::new(), kind: VarKind::Local, span })
    }

    /// Appends the declaration of `var` with its value.
    pub(super) fn give(&mut self, var: VarId, value: Expr, out: &mut Vec<Stmt>) {
        let span = value.span;
        out.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span });
        out.push(Stmt { kind: StmtKind::Assign { var, value }, span });
    }
}

/// Expressions of a block, without what it calls.
fn own_size(block: &Block) -> usize {
    let mut size = 0;
    visit::walk_exprs(block, |_| size += 1);
    size
}

/// What follows a branch of which one side always returns goes into its other side, so that nobody has to jump over it.
fn sink(block: &mut Block) {
    let mut stmts = std::mem::take(&mut block.stmts).into_iter();
    while let Some(mut stmt) = stmts.next() {
        if let StmtKind::If { then, otherwise, .. } = &mut stmt.kind {
            match (at_the_end(then).1, at_the_end(otherwise).1) {
                (true, false) => otherwise.stmts.extend(stmts.by_ref()),
                (false, true) => then.stmts.extend(stmts.by_ref()),
                (true, true) | (false, false) => {}
            }
            sink(then);
            sink(otherwise);
        }
        block.stmts.push(stmt);
    }
}

fn returns(block: &Block) -> usize {
    let mut found = 0;
    visit::walk_stmts(block, |stmt| found += usize::from(matches!(stmt.kind, StmtKind::Return(_))));
    found
}

/// How many returns stand where nothing of the block follows, and whether every way through it meets one of them.
fn at_the_end(block: &Block) -> (usize, bool) {
    block.stmts.last().map_or((0, false), |last| match &last.kind {
        StmtKind::Return(_) => (1, true),
        StmtKind::If { then, otherwise, .. } => {
            let ((yes, always), (no, either)) = (at_the_end(then), at_the_end(otherwise));
            (yes + no, always && either)
        }
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
        | StmtKind::Require { .. } => (0, false),
    })
}

/// Turns returns into assignments to `result`.
struct Results {
    result: VarId,
    /// Whether something may follow, which has to be left.
    leave: bool,
}

impl Mutator for Results {
    fn visit_block(&mut self, block: &mut Block) {
        let mut stmts = Vec::with_capacity(block.stmts.len());
        for Stmt { kind, span } in std::mem::take(&mut block.stmts) {
            if let StmtKind::Return(value) = kind {
                stmts.push(Stmt { kind: StmtKind::Assign { var: self.result, value }, span });
                if self.leave {
                    stmts.push(Stmt { kind: StmtKind::Leave, span });
                }
            } else {
                let mut stmt = Stmt { kind, span };
                change::walk_stmt(self, &mut stmt);
                stmts.push(stmt);
            }
        }
        block.stmts = stmts;
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}
