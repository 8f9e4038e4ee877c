//! Walks for a single purpose: callbacks, renaming, substitution, cloning.
//!
//! The walks see the callbacks as `dyn`: each walk is some thirty functions, compiled once here and not once per closure.

use super::{Mutator, Role, Visitor, change, look};
use crate::par::{Block, Expr, ExprKind, Map, Place, Stmt, StmtKind, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdMap;

/// The blocks directly inside a statement.
pub fn child_blocks(stmt: &Stmt) -> Vec<&Block> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Loop(node) => vec![&node.body, &node.step],
        StmtKind::Scope(body) => vec![body],
        StmtKind::Map(map) => vec![&map.body],
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => Vec::new(),
    }
}

/// As [`child_blocks`], to be changed.
pub fn child_blocks_mut(stmt: &mut Stmt) -> Vec<&mut Block> {
    match &mut stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Loop(node) => vec![&mut node.body, &mut node.step],
        StmtKind::Scope(body) => vec![body],
        StmtKind::Map(map) => vec![&mut map.body],
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Prim(_)
        | StmtKind::Swap(..)
        | StmtKind::Call { .. }
        | StmtKind::Require { .. } => Vec::new(),
    }
}

struct EachExpr<'f>(&'f mut dyn FnMut(&Expr));

impl Visitor for EachExpr<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        (self.0)(expr);
        look::walk_expr(self, expr);
    }
}

/// Shows every expression of a block, operands after the expression they belong to.
pub fn walk_exprs(block: &Block, mut visit: impl FnMut(&Expr)) {
    EachExpr(&mut visit).visit_block(block);
}

/// Shows an expression and all expressions inside it, operands after the expression they belong to.
pub fn walk_subexprs(expr: &Expr, mut visit: impl FnMut(&Expr)) {
    EachExpr(&mut visit).visit_expr(expr);
}

struct EachExprMut<'f>(&'f mut dyn FnMut(&mut Expr));

impl Mutator for EachExprMut<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        (self.0)(expr);
    }
}

/// Changes every expression of a block, operands before the expression they belong to.
pub fn map_exprs(block: &mut Block, mut change: impl FnMut(&mut Expr)) {
    EachExprMut(&mut change).visit_block(block);
}

/// Changes an expression and all expressions inside it, operands first.
pub fn map_subexprs(expr: &mut Expr, mut change: impl FnMut(&mut Expr)) {
    EachExprMut(&mut change).visit_expr(expr);
}

struct EachStmt<'f>(&'f mut dyn FnMut(&Stmt));

impl Visitor for EachStmt<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        (self.0)(stmt);
        look::walk_stmt(self, stmt);
    }
    fn visit_expr(&mut self, _: &Expr) {}
}

/// Shows every statement of a block, inner ones after the statement they belong to.
pub fn walk_stmts(block: &Block, mut visit: impl FnMut(&Stmt)) {
    EachStmt(&mut visit).visit_block(block);
}

struct EachPlace<'f>(&'f mut dyn FnMut(&Place, Role));

impl Visitor for EachPlace<'_> {
    fn visit_place(&mut self, place: &Place, role: Role) {
        look::walk_place(self, place, role);
        (self.0)(place, role);
    }
}

/// Shows every element access of a block, those inside an index first.
pub fn walk_places(block: &Block, mut visit: impl FnMut(&Place, Role)) {
    EachPlace(&mut visit).visit_block(block);
}

struct EachPlaceMut<'f>(&'f mut dyn FnMut(&mut Place, Role));

impl Mutator for EachPlaceMut<'_> {
    fn visit_place(&mut self, place: &mut Place, role: Role) {
        change::walk_place(self, place, role);
        (self.0)(place, role);
    }
}

/// Changes every element access of a block, those inside an index first.
pub fn map_places(block: &mut Block, mut change: impl FnMut(&mut Place, Role)) {
    EachPlaceMut(&mut change).visit_block(block);
}

struct EachVar<'f>(&'f mut dyn FnMut(VarId, Role));

impl Visitor for EachVar<'_> {
    fn visit_var(&mut self, var: &VarId, role: Role) {
        (self.0)(*var, role);
    }
}

/// Shows every occurrence of a variable in a block.
pub fn walk_vars(block: &Block, mut visit: impl FnMut(VarId, Role)) {
    EachVar(&mut visit).visit_block(block);
}

/// Shows every occurrence of a variable in a statement.
pub fn walk_stmt_vars(stmt: &Stmt, mut visit: impl FnMut(VarId, Role)) {
    EachVar(&mut visit).visit_stmt(stmt);
}

/// Shows every occurrence of a variable in an expression.
pub fn walk_expr_vars(expr: &Expr, mut visit: impl FnMut(VarId, Role)) {
    EachVar(&mut visit).visit_expr(expr);
}

struct Rename<'f>(&'f mut dyn FnMut(VarId) -> VarId);

impl Mutator for Rename<'_> {
    fn visit_var(&mut self, var: &mut VarId, _: Role) {
        *var = (self.0)(*var);
    }
    fn visit_map(&mut self, map: &mut Map) {
        map.directives.pins.iter_mut().for_each(|pin| pin.rename(&mut *self.0));
        change::walk_map(self, map);
    }
}

/// Replaces every variable of a block, declarations included.
pub fn rename_vars(block: &mut Block, mut rename: impl FnMut(VarId) -> VarId) {
    Rename(&mut rename).visit_block(block);
}

/// Replaces every variable of an expression.
pub fn rename_expr_vars(expr: &mut Expr, mut rename: impl FnMut(VarId) -> VarId) {
    Rename(&mut rename).visit_expr(expr);
}

struct Substitute<'f>(&'f mut dyn FnMut(VarId) -> Option<Expr>);

impl Mutator for Substitute<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        match expr.kind {
            ExprKind::Read(var) => {
                if let Some(value) = (self.0)(var) {
                    *expr = value;
                }
            }
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => change::walk_expr(self, expr),
        }
    }
}

/// Replaces reads of variables by expressions. What stands in the place of a read is not looked at again. Assignments
/// and the values of folds are no reads in this sense.
pub fn substitute(block: &mut Block, mut value_of: impl FnMut(VarId) -> Option<Expr>) {
    Substitute(&mut value_of).visit_block(block);
}

/// Replaces reads of variables in one expression.
pub fn substitute_expr(expr: &mut Expr, mut value_of: impl FnMut(VarId) -> Option<Expr>) {
    Substitute(&mut value_of).visit_expr(expr);
}

/// The variables that a block itself brings to life, nested blocks and iterators included, in order.
pub fn declared(block: &Block) -> Vec<VarId> {
    let mut found = Vec::new();
    walk_vars(block, |var, role| match role {
        Role::Declare | Role::Iterate => found.push(var),
        Role::Read | Role::Write | Role::Update | Role::Argument { .. } => {}
    });
    found
}

/// A copy of `block`, a block over the variables `from`, for a place over the variables `into`. What the block declares
/// gets fresh variables; all others are replaced as `map` says, and stay as they are where it is silent. `map` afterwards
/// holds the fresh variables too.
pub fn clone_block(
    block: &Block,
    from: &Arena<VarId, Var>,
    into: &mut Arena<VarId, Var>,
    map: &mut OrdMap<VarId, VarId>,
) -> Block {
    let fresh: Vec<(VarId, Var)> = declared(block).into_iter().map(|var| (var, from[var].clone())).collect();
    clone_with(block, fresh, into, map)
}

/// A copy of `block` beside the original, with fresh variables for what it declares.
pub fn duplicate_block(block: &Block, vars: &mut Arena<VarId, Var>) -> Block {
    let fresh: Vec<(VarId, Var)> = declared(block).into_iter().map(|var| (var, vars[var].clone())).collect();
    clone_with(block, fresh, vars, &mut OrdMap::new())
}

fn clone_with(
    block: &Block,
    declared: Vec<(VarId, Var)>,
    into: &mut Arena<VarId, Var>,
    map: &mut OrdMap<VarId, VarId>,
) -> Block {
    let mut fresh = Vec::new();
    for (old, var) in declared {
        let new = into.push(var);
        map.insert(old, new);
        fresh.push(new);
    }
    let renamed = |var: VarId| map.get(&var).copied().unwrap_or(var);
    for new in fresh {
        for extent in &mut into[new].shape {
            rename_expr_vars(extent, renamed);
        }
    }
    let mut copy = block.clone();
    rename_vars(&mut copy, renamed);
    copy
}
