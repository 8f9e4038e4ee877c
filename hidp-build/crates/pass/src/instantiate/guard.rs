//! Tests of what a section's own checks would find, where its elements are accessed in the array.
//!
//! An access behind a test of its own is as good as one that is proved, if the test may stand before the statement: the access is
//! certainly made, and nothing that is evaluated before it may fault otherwise, so that the first fault stays the first.

use super::section::inside_all;
use hidp_ir::par::effects::{expr_may_fault, scalar_fn_may_fault};
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{Block, ConvertMode, Expr, ExprKind, Place, Program, Stmt, StmtKind, VarId};

/// Whether each access of a body to `array` is proved to be inside, or can have a test before its statement. In a map inside that goes
/// for elements that data name alone: neighbours are loaded together, which a test of each would end, at more than the price of a copy.
pub(super) fn can_be_tested(program: &Program, body: &Block, array: VarId) -> bool {
    let of = |other: VarId| other == array;
    let mut all = Unproved { of: &of, count: 0 };
    all.visit_block(body);
    let mut tested = 0;
    let mut blocks = vec![(body, false)];
    while let Some((block, in_map)) = blocks.pop() {
        for stmt in &block.stmts {
            let may_be = |place: &&Place| !in_map || place.index.iter().any(loads);
            tested += leading(program, stmt, &of).into_iter().filter(may_be).count();
            let in_map = in_map || matches!(stmt.kind, StmtKind::Map(_));
            blocks.extend(visit::child_blocks(stmt).into_iter().map(|inner| (inner, in_map)));
        }
    }
    all.count == tested
}

/// Puts the tests of accesses to sections before their statements. `extents` are those of the sections.
pub(super) fn add_tests(program: &Program, body: &mut Block, extents: impl Fn(VarId) -> Option<Vec<Expr>>) {
    Tests { program, extents: &extents }.visit_block(body);
}

fn loads(index: &Expr) -> bool {
    let mut found = false;
    visit::walk_subexprs(index, |expr| found |= matches!(expr.kind, ExprKind::Load(_)));
    found
}

struct Unproved<'a> {
    of: &'a dyn Fn(VarId) -> bool,
    count: usize,
}

impl Visitor for Unproved<'_> {
    fn visit_place(&mut self, place: &Place, role: Role) {
        self.count += usize::from((self.of)(place.array) && place.unproved != 0);
        look::walk_place(self, place, role);
    }
}

struct Tests<'a, F> {
    program: &'a Program,
    extents: &'a F,
}

impl<F: Fn(VarId) -> Option<Vec<Expr>>> Mutator for Tests<'_, F> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            for place in leading(self.program, &stmt, &|array| (self.extents)(array).is_some()) {
                let extents = (self.extents)(place.array).expect("only accesses to sections are looked for");
                out.extend(inside_all(place, &extents));
            }
            change::walk_stmt(self, &mut stmt);
            out.push(stmt);
        }
        block.stmts = out;
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// The unproved accesses to some arrays that a statement makes before anything else in it may fault, in order.
fn leading<'s>(program: &Program, stmt: &'s Stmt, of: &dyn Fn(VarId) -> bool) -> Vec<&'s Place> {
    let mut search = Leading { program, of, found: Vec::new() };
    match &stmt.kind {
        StmtKind::Assign { value, .. } | StmtKind::AssignField { value, .. } | StmtKind::Return(value) => {
            search.expr(value);
        }
        StmtKind::Store { place, value } | StmtKind::Atomic { place, value, .. } => {
            let _ = search.expr(value) && search.place(place);
        }
        StmtKind::If { cond, .. } => {
            search.expr(cond);
        }
        // What these evaluate they may evaluate several times, or never.
        StmtKind::Declare { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Map(_)
        | StmtKind::Prim(_)
        | StmtKind::Call { .. }
        | StmtKind::Swap(..)
        | StmtKind::Require { .. } => {}
    }
    search.found
}

/// Follows an evaluation, as long as nothing may fault but what was found.
struct Leading<'a, 's> {
    program: &'a Program,
    of: &'a dyn Fn(VarId) -> bool,
    found: Vec<&'s Place>,
}

impl<'s> Leading<'_, 's> {
    /// Whether what is evaluated next comes before any other fault, too.
    fn expr(&mut self, expr: &'s Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Read(_) => true,
            ExprKind::Load(place) => self.place(place),
            ExprKind::Unary(_, of) | ExprKind::Field(of, _) => self.expr(of),
            ExprKind::Convert { operand, mode } => self.expr(operand) && *mode == ConvertMode::Cast,
            ExprKind::Binary { left, right, checked, .. } => self.expr(left) && self.expr(right) && !checked,
            ExprKind::Math(_, of) | ExprKind::Struct(_, of) => of.iter().all(|of| self.expr(of)),
            ExprKind::Call(function, args) => {
                args.iter().all(|arg| self.expr(arg)) && !scalar_fn_may_fault(self.program, *function)
            }
            // Only one of two sides is evaluated.
            ExprKind::Lazy { left, right, .. } => self.expr(left) && !expr_may_fault(self.program, right),
            ExprKind::Select { cond, then, otherwise } => {
                self.expr(cond) && ![then, otherwise].into_iter().any(|side| expr_may_fault(self.program, side))
            }
        }
    }

    fn place(&mut self, place: &'s Place) -> bool {
        let Some((first, others)) = place.index.split_first() else { return true };
        let before = self.expr(first);
        // The first index is tested before the others are evaluated.
        if others.iter().any(|index| expr_may_fault(self.program, index)) {
            return false;
        }
        let tested = (self.of)(place.array) && place.unproved != 0;
        if tested {
            // The test evaluates the index, and finds what is wrong with it.
            self.found.push(place);
        }
        tested || before && place.unproved == 0
    }
}
