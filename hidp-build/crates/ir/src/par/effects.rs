//! What a piece of program reads, writes and may do.

use super::visit::{self, Role, Visitor, look};
use super::{Block, ConvertMode, Expr, ExprKind, Place, Program, ScalarFnId, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;

/// The variables that a piece of program touches. Of an array, all elements count as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Variables whose value, or the value of some element, may be read; the extents of declared arrays included.
    pub reads: OrdSet<VarId>,
    /// Variables that may be assigned, or some element of which may be stored to.
    pub writes: OrdSet<VarId>,
    /// Variables declared inside, iterators included.
    pub declares: OrdSet<VarId>,
}

impl Effects {
    /// Of a block.
    pub fn of_block(program: &Program, vars: &Arena<VarId, Var>, block: &Block) -> Effects {
        let mut collect = Collect { program, vars, effects: Effects::default() };
        collect.visit_block(block);
        collect.effects
    }
    /// Of one statement.
    pub fn of_stmt(program: &Program, vars: &Arena<VarId, Var>, stmt: &Stmt) -> Effects {
        let mut collect = Collect { program, vars, effects: Effects::default() };
        collect.visit_stmt(stmt);
        collect.effects
    }
    /// What an expression reads.
    pub fn of_expr(expr: &Expr) -> OrdSet<VarId> {
        let mut reads = OrdSet::new();
        visit::walk_expr_vars(expr, |var, _| {
            reads.insert(var);
        });
        reads
    }
    /// Read or written, and not declared inside.
    pub fn free(&self) -> OrdSet<VarId> {
        self.reads.union(&self.writes).filter(|var| !self.declares.contains(var)).copied().collect()
    }
    /// Read inside and alive outside.
    pub fn outer_reads(&self) -> OrdSet<VarId> {
        self.reads.difference(&self.declares).copied().collect()
    }
    /// Written inside and alive outside.
    pub fn outer_writes(&self) -> OrdSet<VarId> {
        self.writes.difference(&self.declares).copied().collect()
    }
    /// Whether `self` and `other` may change places: neither writes what the other touches, neither declares what the
    /// other uses. Faults and leaving the block are another matter: [`may_fault`], [`may_jump`].
    pub fn independent_of(&self, other: &Effects) -> bool {
        let touches = |e: &Effects, var: &VarId| e.reads.contains(var) || e.writes.contains(var);
        !self.writes.iter().chain(&self.declares).any(|var| touches(other, var))
            && !other.writes.iter().chain(&other.declares).any(|var| touches(self, var))
    }
}

struct Collect<'a> {
    program: &'a Program,
    vars: &'a Arena<VarId, Var>,
    effects: Effects,
}

impl Collect<'_> {
    fn declare(&mut self, var: VarId) {
        self.effects.declares.insert(var);
        if let Some(declared) = self.vars.get(var) {
            for extent in &declared.shape {
                self.visit_expr(extent);
            }
        }
    }
    fn update(&mut self, var: VarId) {
        self.effects.reads.insert(var);
        self.effects.writes.insert(var);
    }
}

impl Visitor for Collect<'_> {
    fn visit_var(&mut self, var: &VarId, role: Role) {
        match role {
            Role::Declare | Role::Iterate => self.declare(*var),
            Role::Read => {
                self.effects.reads.insert(*var);
            }
            Role::Write => {
                self.effects.writes.insert(*var);
            }
            Role::Update => self.update(*var),
            Role::Argument { callee, position } => {
                match argument_direction(self.program, callee, position) {
                    Some(Direction::Input) => {
                        self.effects.reads.insert(*var);
                    }
                    // What an output does not write stays, so it counts as read.
                    Some(Direction::Output | Direction::Inout) | None => self.update(*var),
                }
            }
        }
    }
}

/// How a function takes one of its arguments; `None` if there is no such parameter.
pub fn argument_direction(program: &Program, callee: super::FuncId, position: usize) -> Option<Direction> {
    let func = program.funcs.get(callee)?;
    match func.vars.get(*func.params.get(position)?)?.kind {
        VarKind::Param(direction) => Some(direction),
        VarKind::Dim | VarKind::Local | VarKind::Iter => None,
    }
}

/// Whether evaluating an expression may raise a fault that has not been proved away.
pub fn expr_may_fault(program: &Program, expr: &Expr) -> bool {
    let mut search = Faults::new(program, None);
    search.visit_expr(expr);
    search.found
}

/// Whether running a block over the variables `vars` may raise a fault that has not been proved away.
pub fn may_fault(program: &Program, vars: &Arena<VarId, Var>, block: &Block) -> bool {
    let mut search = Faults::new(program, Some(vars));
    search.visit_block(block);
    search.found
}

/// Whether a scalar function may raise a fault. Native ones do not.
pub fn scalar_fn_may_fault(program: &Program, function: ScalarFnId) -> bool {
    let mut search = Faults::new(program, None);
    search.function(function);
    search.found
}

/// Whether every extent of `var` is a constant or a dimension, so that none can be negative. (Storage is a resource: which of
/// two requests finds it exhausted is not a property of the program.)
pub fn has_sure_extents(vars: &Arena<VarId, Var>, var: VarId) -> bool {
    vars[var].shape.iter().all(|extent| match extent.kind {
        ExprKind::Const(_) => extent.as_int().is_some_and(|value| value >= 0),
        ExprKind::Read(read) => vars[read].kind == VarKind::Dim,
        ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => false,
    })
}

struct Faults<'a> {
    program: &'a Program,
    vars: Option<&'a Arena<VarId, Var>>,
    /// Scalar functions that were looked into: once each, however often they are called.
    seen: OrdSet<ScalarFnId>,
    found: bool,
}

impl<'a> Faults<'a> {
    fn new(program: &'a Program, vars: Option<&'a Arena<VarId, Var>>) -> Self {
        Faults { program, vars, seen: OrdSet::new(), found: false }
    }

    fn function(&mut self, function: ScalarFnId) {
        let called = &self.program.scalar_fns[function];
        if let Some(body) = &called.body
            && self.seen.insert(function)
        {
            let outer = self.vars.replace(&called.vars);
            self.visit_block(body);
            self.vars = outer;
        }
    }
}

impl Visitor for Faults<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        self.found |= match &stmt.kind {
            StmtKind::Declare { var, .. } => self.vars.is_some_and(|vars| !has_sure_extents(vars, *var)),
            StmtKind::Require { .. } | StmtKind::Prim(_) | StmtKind::Call { .. } => true,
            StmtKind::Map(map) => map.iters.iter().any(|iter| iter.step.as_int().is_none_or(|step| step <= 0)),
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Swap(..) => false,
        };
        look::walk_stmt(self, stmt);
    }
    fn visit_fold(&mut self, fold: &super::Fold) {
        self.found |= fold.op.neutral.is_none();
        look::walk_fold(self, fold);
    }
    fn visit_fold_op(&mut self, op: &super::FoldOp) {
        if let super::FoldFn::Fn(function) = op.func {
            self.function(function);
        }
        look::walk_fold_op(self, op);
    }
    fn visit_place(&mut self, place: &Place, role: Role) {
        self.found |= place.unproved != 0;
        look::walk_place(self, place, role);
    }
    fn visit_expr(&mut self, expr: &Expr) {
        self.found |= match &expr.kind {
            ExprKind::Binary { checked, .. } => *checked,
            ExprKind::Convert { mode, .. } => *mode == ConvertMode::Checked,
            ExprKind::Call(function, _) => {
                self.function(*function);
                false
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Math(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => false,
        };
        look::walk_expr(self, expr);
    }
}

/// Whether running a block may leave it before its end: by `Leave`, `Return`, or `Break` and `Continue` of a loop outside.
pub fn may_jump(block: &Block) -> bool {
    let mut search = Jumps { loops: 0, scopes: 0, found: false };
    search.visit_block(block);
    search.found
}

struct Jumps {
    loops: usize,
    scopes: usize,
    found: bool,
}

impl Visitor for Jumps {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Break | StmtKind::Continue => self.found |= self.loops == 0,
            StmtKind::Leave => self.found |= self.scopes == 0,
            StmtKind::Return(_) => self.found = true,
            StmtKind::Loop(node) => {
                self.loops += 1;
                look::walk_loop(self, node);
                self.loops -= 1;
            }
            StmtKind::Scope(block) => {
                self.scopes += 1;
                look::walk_block(self, block);
                self.scopes -= 1;
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::If { .. }
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => look::walk_stmt(self, stmt),
        }
    }
    fn visit_expr(&mut self, _: &Expr) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::par::Loop;
    use hidp_syntax::index::Id;
    use hidp_syntax::source::{FileId, Span};

    fn stmt(kind: StmtKind) -> Stmt {
        Stmt { kind, span: Span::new(FileId::new(0), 0, 0) }
    }

    #[test]
    fn jumps_out_of_a_block_are_found_and_jumps_inside_are_not() {
        let cond = Expr {
            kind: ExprKind::Const(super::super::Const::Bool(true)),
            ty: hidp_syntax::ty::Ty::BOOL,
            span: Span::new(FileId::new(0), 0, 0),
        };
        let inside = Loop { cond, body: Block { stmts: vec![stmt(StmtKind::Break)] }, step: Block::default() };
        assert!(!may_jump(&Block { stmts: vec![stmt(StmtKind::Loop(inside))] }));
        assert!(may_jump(&Block { stmts: vec![stmt(StmtKind::Break)] }));
        let scope = StmtKind::Scope(Block { stmts: vec![stmt(StmtKind::Leave)] });
        assert!(!may_jump(&Block { stmts: vec![stmt(scope)] }));
        assert!(may_jump(&Block { stmts: vec![stmt(StmtKind::Leave)] }));
    }

    #[test]
    fn assignments_are_dependent_in_either_order() {
        let program = Program::default();
        let vars = Arena::new();
        let span = Span::new(FileId::new(0), 0, 0);
        let assign = |to: usize, from: usize| {
            let value = Expr::read(VarId::new(from), hidp_syntax::ty::Ty::LONG, span);
            Effects::of_stmt(&program, &vars, &stmt(StmtKind::Assign { var: VarId::new(to), value }))
        };
        assert!(!assign(0, 1).independent_of(&assign(1, 2)));
        assert!(!assign(1, 2).independent_of(&assign(0, 1)));
        assert!(!assign(0, 1).independent_of(&assign(0, 2)));
        assert!(assign(0, 1).independent_of(&assign(2, 1)));
    }
}
