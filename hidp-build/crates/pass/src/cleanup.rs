//! `cleanup`: dead variables and stores go away, and variables are numbered in order of appearance.
//!
//! Afterwards each local is named somewhere, and equal programs have equal numbers, whatever the passes before went through.

use super::{Pass, simplify};
use hidp_ir::par::effects::{expr_may_fault, scalar_fn_may_fault};
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{Block, Expr, Fold, FoldFn, Func, Map, Program, Stmt, StmtKind, Target, Var, VarId, VarKind};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "cleanup",
    about: "drops scalars, declarations and statements that nothing needs and renumbers variables",
    run,
};

fn run(program: &mut Program) {
    let before = program.clone();
    for (_, func) in program.funcs.iter_mut() {
        let mut body = std::mem::take(&mut func.body);
        loop {
            let size = count(&body);
            drop_unread(&before, func, &mut body);
            simplify::simplify_block(&before, &mut body);
            if count(&body) == size {
                break;
            }
        }
        func.body = body;
        renumber(func);
    }
}

/// Number of statements and folds.
fn count(block: &Block) -> usize {
    let mut count = 0;
    visit::walk_stmts(block, |stmt| {
        count += 1;
        if let StmtKind::Map(map) = &stmt.kind {
            count += map.folds.len();
        }
    });
    count
}

/// The variables that something reads, in `body` or in the extents of what it declares.
fn read(func: &Func, body: &Block) -> OrdSet<VarId> {
    struct Reads<'f>(&'f Func, OrdSet<VarId>);
    impl Visitor for Reads<'_> {
        fn visit_stmt(&mut self, stmt: &Stmt) {
            match &stmt.kind {
                StmtKind::Declare { var, .. } => {
                    self.0.vars[*var].shape.iter().for_each(|extent| self.visit_expr(extent))
                }
                // Changing a field is no reason to keep a variable that is never read.
                StmtKind::AssignField { value, .. } => self.visit_expr(value),
                _ => look::walk_stmt(self, stmt),
            }
        }
        fn visit_var(&mut self, var: &VarId, role: Role) {
            match role {
                Role::Read | Role::Update | Role::Argument { .. } => {
                    self.1.insert(*var);
                }
                Role::Write | Role::Declare | Role::Iterate => {}
            }
        }
    }
    let mut reads = Reads(func, OrdSet::new());
    reads.visit_block(body);
    reads.1
}

/// Variables that are named other than by their declaration.
fn named(func: &Func, body: &Block) -> OrdSet<VarId> {
    let mut named = read(func, body);
    visit::walk_vars(body, |var, role| {
        if role != Role::Declare {
            named.insert(var);
        }
    });
    named
}

/// Drops assignments to and folds into local scalars that are never read, and declarations of scalars that are never named.
fn drop_unread(program: &Program, func: &Func, body: &mut Block) {
    let read = read(func, body);
    let dead = |var: VarId| func.vars[var].kind == VarKind::Local && !func.vars[var].is_array() && !read.contains(&var);
    Drop { program, dead: &dead }.visit_block(body);
    let named = named(func, body);
    struct Declarations<'f>(&'f Func, OrdSet<VarId>);
    impl Mutator for Declarations<'_> {
        fn visit_block(&mut self, block: &mut Block) {
            change::walk_block(self, block);
            block.stmts.retain(|stmt| match &stmt.kind {
                StmtKind::Declare { var, .. } => self.1.contains(var) || self.0.vars[*var].is_array(),
                _ => true,
            });
        }
        fn visit_expr(&mut self, _: &mut Expr) {}
    }
    Declarations(func, named).visit_block(body);
}

struct Drop<'p, D> {
    program: &'p Program,
    dead: D,
}

impl<D: Fn(VarId) -> bool> Mutator for Drop<'_, D> {
    fn visit_map(&mut self, map: &mut Map) {
        change::walk_map(self, map);
        map.folds.retain(|fold| match &fold.target {
            Target::Scalar(var) => !(self.dead)(*var) || fold_may_fault(self.program, fold),
            Target::Element(_) => true,
        });
    }
    fn visit_block(&mut self, block: &mut Block) {
        change::walk_block(self, block);
        block.stmts.retain(|stmt| match &stmt.kind {
            StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } => {
                !(self.dead)(*var) || expr_may_fault(self.program, value)
            }
            _ => true,
        });
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

fn fold_may_fault(program: &Program, fold: &Fold) -> bool {
    fold.op.neutral.is_none()
        || match fold.op.func {
            FoldFn::Fn(id) => scalar_fn_may_fault(program, id),
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => false,
        }
}

/// Numbers the variables of `func`: parameters, dimensions, then all others in order of appearance.
fn renumber(func: &mut Func) {
    struct Order<'f> {
        func: &'f Func,
        seen: OrdSet<VarId>,
        order: Vec<VarId>,
    }
    impl Visitor for Order<'_> {
        fn visit_var(&mut self, var: &VarId, _: Role) {
            if self.seen.insert(*var) {
                self.func.vars[*var].shape.iter().for_each(|extent| self.visit_expr(extent));
                self.order.push(*var);
            }
        }
        fn visit_map(&mut self, map: &Map) {
            map.iters.iter().for_each(|iter| self.visit_var(&iter.var, Role::Iterate));
            look::walk_map(self, map);
        }
    }
    let mut order = Order { func, seen: OrdSet::new(), order: Vec::new() };
    for var in func.dims.iter().chain(&func.params) {
        order.visit_var(var, Role::Read);
    }
    order.visit_block(&func.body);
    let order = order.order;
    let mut vars: Arena<VarId, Var> = Arena::new();
    let mut numbers: OrdMap<VarId, VarId> = OrdMap::new();
    for old in order {
        let new = vars.push(func.vars[old].clone());
        numbers.insert(old, new);
    }
    let renamed = |var: VarId| numbers.get(&var).copied().unwrap_or(var);
    for (_, var) in vars.iter_mut() {
        var.shape.iter_mut().for_each(|extent| visit::rename_expr_vars(extent, renamed));
    }
    func.params.iter_mut().chain(&mut func.dims).for_each(|var| *var = renamed(*var));
    visit::rename_vars(&mut func.body, renamed);
    func.vars = vars;
}
