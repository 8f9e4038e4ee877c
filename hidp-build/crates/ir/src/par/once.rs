//! Tests of indices that are the same in all iterations of a map, and can be made once, before it.

use super::effects::{self, has_sure_extents};
use super::visit::{self, Mutator, Role, change};
use super::{Block, ConvertMode, Expr, ExprKind, FoldOp, Func, Map, Place, Program, Stmt, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// A map without the tests that can be made before it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestedOnce {
    /// The tests, in the order in which an iteration would make them. A map without iterations makes none.
    pub tests: Vec<Test>,
    /// The map, in which they count as proved.
    pub map: Map,
}

/// That an index is below an extent, and not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The index. What it loads is there if the tests before hold.
    pub index: Expr,
    /// The array.
    pub array: VarId,
    /// Which of its dimensions.
    pub dim: usize,
    /// Where the access stands.
    pub span: Span,
}

/// Takes the first tests of each iteration out of a map that stands in no other one, as long as they test the same in all of them.
/// Where one fails it fails in the first iteration, before anything else does, so the fault that is reported stays.
pub fn tested_once(program: &Program, func: &Func, map: &Map) -> TestedOnce {
    let mut once = Once { program, func, inside: inside(map), first: map.folds.is_empty(), tests: Vec::new() };
    let mut map = map.clone();
    once.visit_block(&mut map.body);
    TestedOnce { tests: once.tests, map }
}

/// What a map gives values to.
pub fn inside(map: &Map) -> OrdSet<VarId> {
    let mut found: OrdSet<VarId> = map.iters.iter().map(|iter| iter.var).collect();
    visit::walk_vars(&map.body, |var, role| {
        if role != Role::Read {
            found.insert(var);
        }
    });
    found
}

struct Once<'a> {
    program: &'a Program,
    func: &'a Func,
    /// What is not the same in all iterations.
    inside: OrdSet<VarId>,
    /// Whether each iteration comes here, and all that could fail before it is in `tests`.
    first: bool,
    tests: Vec<Test>,
}

impl Once<'_> {
    /// Blocks that an iteration may leave out, or run several times.
    fn sometimes(&mut self, blocks: &[&Block]) {
        let fails = |block: &&Block| effects::may_fault(self.program, &self.func.vars, block);
        self.first &= !blocks.iter().any(|block| fails(block) || effects::may_jump(block));
    }

    /// An operand that may not be evaluated.
    fn perhaps(&mut self, operand: &Expr) {
        self.first &= !effects::expr_may_fault(self.program, operand);
    }

    /// Whether all iterations find the same value, and it is cheap to find.
    fn is_same(&self, index: &Expr) -> bool {
        let mut same = true;
        visit::walk_expr_vars(index, |var, _| same &= !self.inside.contains(&var));
        visit::walk_subexprs(index, |node| same &= !matches!(node.kind, ExprKind::Call(..)));
        same
    }
}

impl Mutator for Once<'_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. } => {
                change::walk_stmt(self, stmt);
            }
            StmtKind::Declare { var, .. } => self.first &= has_sure_extents(&self.func.vars, *var),
            StmtKind::If { cond, then, otherwise } => {
                self.visit_expr(cond);
                self.sometimes(&[then, otherwise]);
            }
            StmtKind::Loop(_) | StmtKind::Scope(_) | StmtKind::Map(_) => {
                self.sometimes(&[&Block { stmts: vec![stmt.clone()] }]);
            }
            StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => self.first = false,
        }
    }

    fn visit_place(&mut self, place: &mut Place, _: Role) {
        for dim in 0..place.index.len() {
            self.visit_expr(&mut place.index[dim]);
            let bit = 1 << dim.min(31);
            if place.unproved & bit == 0 {
                continue;
            }
            self.first &= self.is_same(&place.index[dim]);
            if self.first && dim < 31 {
                place.unproved &= !bit;
                let index = place.index[dim].clone();
                self.tests.push(Test { index, array: place.array, dim, span: place.span });
            }
        }
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Lazy { left, right, .. } => {
                self.visit_expr(left);
                self.perhaps(right);
            }
            ExprKind::Select { cond, then, otherwise } => {
                self.visit_expr(cond);
                self.perhaps(then);
                self.perhaps(otherwise);
            }
            ExprKind::Binary { .. } | ExprKind::Convert { .. } | ExprKind::Call(..) => {
                change::walk_expr(self, expr);
                self.first &= !fails_itself(self.program, expr);
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => change::walk_expr(self, expr),
        }
    }

    /// Neutral elements are not evaluated in iterations.
    fn visit_fold_op(&mut self, _: &mut FoldOp) {}
}

/// Whether an expression may fail, its operands apart.
fn fails_itself(program: &Program, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary { checked, .. } => *checked,
        ExprKind::Convert { mode, .. } => *mode == ConvertMode::Checked,
        ExprKind::Call(function, _) => effects::scalar_fn_may_fault(program, *function),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Math(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    }
}
