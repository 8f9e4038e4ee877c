//! Pass `inline`: scalar functions that maps with loops call are replaced by their bodies.
//!
//! Whole iterations run in vector lanes if every lane executes each statement together with its neighbours; a call runs one lane after the
//! other. And whether an iteration has loops is known only with its calls inlined. In maps without loops calls stay: C++ compilers inline those
//! themselves.
//!
//! Results and the order of faults are preserved: operands left of a call that may fault are computed before the call's statements
//! ([`expr`]). A body counts as statements of its own, so nothing is contracted across its edge.

mod body;
mod expr;
#[cfg(test)]
mod tests;

use super::Pass;
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Block, Const, Expr, ExprKind, Loop, Map, Place, Program, ScalarFn, ScalarFnId, Stmt, StmtKind, UnOp, Var, VarId,
};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "inline",
    about: "replaces calls of scalar functions by their bodies, in maps whose iterations have loops",
    run,
};

/// So many expressions may be put into a function over arrays. A chain of functions that call the one before twice doubles with each.
const MOST: usize = 4000;

fn run(program: &mut Program) {
    let bodies = Bodies::of(program);
    let mut funcs = std::mem::take(&mut program.funcs);
    for (_, func) in funcs.iter_mut() {
        let mut pass = Outermost {
            inliner: Inliner {
                program,
                bodies: &bodies,
                vars: &mut func.vars,
                contract: func.contract,
                left: MOST,
                branchless: false,
            },
        };
        pass.visit_block(&mut func.body);
    }
    program.funcs = funcs;
}

/// What putting a function in the place of a call comes to, calls inside of it included.
#[derive(Clone, Copy, Debug)]
struct Body {
    /// Expressions.
    size: usize,
    /// Whether a loop runs inside.
    loops: bool,
}

/// Of each function that has a body.
struct Bodies(OrdMap<ScalarFnId, Body>);

impl Bodies {
    fn of(program: &Program) -> Bodies {
        let mut bodies = Bodies(OrdMap::new());
        program.scalar_fns.ids().for_each(|id| bodies.add(program, id));
        bodies
    }

    fn add(&mut self, program: &Program, id: ScalarFnId) {
        let Some(block) = &program.scalar_fns[id].body else { return };
        if self.0.contains_key(&id) {
            return;
        }
        let mut found = Body { size: 0, loops: has_loop(block) };
        let mut calls = Vec::new();
        visit::walk_exprs(block, |expr| {
            found.size += 1;
            calls.extend(called(expr));
        });
        for call in calls {
            self.add(program, call);
            if let Some(inner) = self.0.get(&call) {
                found.size = found.size.saturating_add(inner.size);
                found.loops |= inner.loops;
            }
        }
        self.0.insert(id, found);
    }
}

fn called(expr: &Expr) -> Option<ScalarFnId> {
    match &expr.kind {
        ExprKind::Call(function, _) => Some(*function),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

/// Whether a loop stands in `block`, however deep.
pub(super) fn has_loop(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Loop(_)));
    found
}

/// Looks for the outermost maps.
struct Outermost<'a> {
    inliner: Inliner<'a>,
}

impl Mutator for Outermost<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        if self.inliner.loops_in(&map.body) {
            self.inliner.block(&mut map.body);
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// Puts bodies into one function over arrays.
struct Inliner<'a> {
    program: &'a Program,
    bodies: &'a Bodies,
    vars: &'a mut Arena<VarId, Var>,
    /// Whether the function allows contraction.
    contract: bool,
    /// Expressions that may still be put in.
    left: usize,
    /// In an inner map without loops, which may be a vector loop by itself: only what has no branches is put in.
    branchless: bool,
}

impl Inliner<'_> {
    /// Whether running `block` runs a loop, in it or in what it calls.
    fn loops_in(&self, block: &Block) -> bool {
        let mut found = has_loop(block);
        visit::walk_exprs(block, |expr| {
            found |= called(expr).and_then(|call| self.bodies.0.get(&call)).is_some_and(|body| body.loops);
        });
        found
    }

    fn block(&mut self, block: &mut Block) {
        let mut stmts = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.stmt(stmt, &mut stmts);
        }
        block.stmts = stmts;
    }

    /// Appends `stmt`, after the bodies of what it calls.
    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        match &mut stmt.kind {
            StmtKind::Assign { value, .. } | StmtKind::AssignField { value, .. } => self.expr(value, out),
            StmtKind::Store { place, value } | StmtKind::Atomic { place, value, .. } => {
                self.operands(std::iter::once(value).chain(self.movable(place)).collect(), out);
            }
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond, out);
                self.block(then);
                self.block(otherwise);
            }
            StmtKind::Loop(node) => self.in_loop(node),
            StmtKind::Scope(body) => self.block(body),
            StmtKind::Map(map) => {
                let branchless = !self.loops_in(&map.body);
                let around = std::mem::replace(&mut self.branchless, branchless);
                self.block(&mut map.body);
                self.branchless = around;
            }
            StmtKind::Declare { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
        out.push(stmt);
    }

    /// A condition that calls becomes the first statements of the body: `while (true) { …; if (!cond) break; … }`.
    fn in_loop(&mut self, node: &mut Loop) {
        if self.calls(&node.cond) {
            let span = node.cond.span;
            let stmt = |kind| Stmt { kind, span };
            let forever = Expr { kind: ExprKind::Const(Const::Bool(true)), ty: Ty::BOOL, span };
            let cond = Box::new(std::mem::replace(&mut node.cond, forever));
            let ended = Expr { kind: ExprKind::Unary(UnOp::Not, cond), ty: Ty::BOOL, span };
            let leave = Block { stmts: vec![stmt(StmtKind::Break)] };
            let test = StmtKind::If { cond: ended, then: leave, otherwise: Block::default() };
            node.body.stmts.insert(0, stmt(test));
        }
        self.block(&mut node.body);
        self.block(&mut node.step);
    }

    /// Whether a call stands in `expr` that is replaced.
    fn calls(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::walk_subexprs(expr, |inner| found |= called(inner).is_some_and(|call| self.takes(call)));
        found
    }

    /// Whether a call of `function` is replaced.
    fn takes(&self, function: ScalarFnId) -> bool {
        let callee = &self.program.scalar_fns[function];
        let (Some(body), Some(found)) = (&callee.body, self.bodies.0.get(&function)) else { return false };
        found.size <= self.left && callee.contract == self.contract && !(self.branchless && branches(body))
    }
}

/// Whether a body is more than one statement after the other.
fn branches(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| {
        found |= matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Loop(_) | StmtKind::Scope(_));
    });
    found
}
