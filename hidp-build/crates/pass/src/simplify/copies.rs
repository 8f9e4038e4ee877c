//! Forwards copies and single-use integer expressions of unchanging scalars to their uses; also short sums in indices, however often
//! they are used: an index is visibly linear in an iterator only if it contains the iterator.

use super::expr::is_plain;
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, Fold, Func, Place, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::{Scalar, Ty};

/// A sum of more operands is not computed more than once.
const SHORT: usize = 4;

/// How often each variable is read and written.
#[derive(Default)]
struct Uses {
    reads: OrdMap<VarId, usize>,
    writes: OrdMap<VarId, usize>,
    /// Scalars that are named where no expression can stand.
    pinned: OrdSet<VarId>,
    /// Scalars that stand in the index of an access.
    in_indices: OrdSet<VarId>,
}

impl Visitor for Uses {
    fn visit_var(&mut self, var: &VarId, role: Role) {
        match role {
            Role::Declare | Role::Iterate => {}
            Role::Read => *self.reads.entry(*var).or_default() += 1,
            Role::Write => *self.writes.entry(*var).or_default() += 1,
            Role::Update | Role::Argument { .. } => {
                self.pinned.insert(*var);
            }
        }
    }
    fn visit_place(&mut self, place: &Place, role: Role) {
        for index in &place.index {
            visit::walk_expr_vars(index, |var, _| {
                self.in_indices.insert(var);
            });
        }
        look::walk_place(self, place, role);
    }
    fn visit_fold(&mut self, fold: &Fold) {
        self.pinned.insert(fold.value);
        look::walk_fold(self, fold);
    }
}

/// Replaces what can be replaced in `func`. Whether anything was.
pub(super) fn propagate(func: &mut Func) -> bool {
    let mut uses = Uses::default();
    uses.visit_block(&func.body);
    for (_, var) in func.vars.iter() {
        var.shape.iter().for_each(|extent| uses.visit_expr(extent));
    }
    let mut settled: OrdSet<VarId> = OrdSet::new();
    for (id, var) in func.vars.iter() {
        let constant = match var.kind {
            VarKind::Dim | VarKind::Iter => true,
            VarKind::Param(Direction::Input) => !var.is_array(),
            VarKind::Param(Direction::Output | Direction::Inout) | VarKind::Local => false,
        };
        if constant {
            settled.insert(id);
        }
    }
    let mut body = std::mem::take(&mut func.body);
    let mut pass = Propagate { func, uses, settled, seen: OrdSet::new(), values: OrdMap::new() };
    pass.visit_block(&mut body);
    let values = pass.values;
    for (_, var) in func.vars.iter_mut() {
        var.shape.iter_mut().for_each(|extent| visit::substitute_expr(extent, |read| values.get(&read).cloned()));
    }
    func.body = body;
    remove(&mut func.body, &values);
    !values.is_empty()
}

struct Propagate<'f> {
    func: &'f Func,
    uses: Uses,
    /// Variables that keep their value from here to the end of their lives.
    settled: OrdSet<VarId>,
    /// Variables that have been read.
    seen: OrdSet<VarId>,
    /// What to put in the place of a variable.
    values: OrdMap<VarId, Expr>,
}

impl Mutator for Propagate<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut declared = OrdSet::new();
        for stmt in &mut block.stmts {
            self.visit_stmt(stmt);
            match &stmt.kind {
                StmtKind::Declare { var, .. } => {
                    for extent in &self.func.vars[*var].shape {
                        visit::walk_expr_vars(extent, |read, _| {
                            self.seen.insert(read);
                        });
                    }
                    declared.insert(*var);
                }
                StmtKind::Assign { var, value } if declared.contains(var) && self.written_once(*var) => {
                    if self.goes_where_used(*var, value) {
                        self.values.insert(*var, value.clone());
                    }
                    self.settled.insert(*var);
                }
                _ => {}
            }
        }
    }

    fn visit_expr(&mut self, expr: &mut Expr) {
        visit::substitute_expr(expr, |read| self.values.get(&read).cloned());
        visit::walk_expr_vars(expr, |read, _| {
            self.seen.insert(read);
        });
    }
}

impl Propagate<'_> {
    fn written_once(&self, var: VarId) -> bool {
        self.uses.writes.get(&var) == Some(&1) && !self.uses.pinned.contains(&var)
    }

    /// Whether `var`, which is assigned here and nowhere else, can be replaced by `value`: nobody has read the zero before, and
    /// whatever `value` reads stays as it is.
    fn goes_where_used(&self, var: VarId, value: &Expr) -> bool {
        let mut settled = !self.seen.contains(&var);
        visit::walk_expr_vars(value, |read, _| settled &= self.settled.contains(&read));
        let is_copy = matches!(value.kind, ExprKind::Const(_) | ExprKind::Read(_));
        let reads = self.uses.reads.get(&var).copied().unwrap_or(0);
        let is_integer = value.ty.scalar().is_some_and(|ty| !ty.is_float());
        let of_index = self.uses.in_indices.contains(&var) && operands(value).is_some_and(|count| count <= SHORT);
        settled && (is_copy || of_index || (reads == 1 && is_integer && is_plain(value)))
    }
}

/// How many operands a sum of `long`s has, with constant factors.
fn operands(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        _ if expr.ty != Ty::LONG => None,
        ExprKind::Const(_) | ExprKind::Read(_) => Some(1),
        // A narrower scalar, as `int d` in `i + d`.
        ExprKind::Convert { operand, .. } if matches!(operand.kind, ExprKind::Read(_)) => {
            operand.ty.scalar().filter(|ty| ty.is_integer() && ty.converts_to(Scalar::I64)).map(|_| 1)
        }
        ExprKind::Binary { op: BinOp::Add | BinOp::Sub, left, right, .. } => Some(operands(left)? + operands(right)?),
        ExprKind::Binary { op: BinOp::Mul, left, right, .. } => {
            (left.as_int().is_some() || right.as_int().is_some()).then_some(())?;
            Some(operands(left)? + operands(right)?)
        }
        _ => None,
    }
}

/// Drops the declarations and assignments of dead variables.
fn remove(block: &mut Block, values: &OrdMap<VarId, Expr>) {
    struct Remove<'v>(&'v OrdMap<VarId, Expr>);
    impl Mutator for Remove<'_> {
        fn visit_block(&mut self, block: &mut Block) {
            change::walk_block(self, block);
            block.stmts.retain(|stmt: &Stmt| match &stmt.kind {
                StmtKind::Declare { var, .. } | StmtKind::Assign { var, .. } => !self.0.contains_key(var),
                _ => true,
            });
        }
    }
    Remove(values).visit_block(block);
}
