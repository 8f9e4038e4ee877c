//! Checks in lanes. Where one fails, the iterations of its group are done again, one after the other, which finds the first fault.
//!
//! That is so if nothing which an iteration reads has been written by then. It is so, too, if what decides about all checks, and the values that
//! a fault names, depend on nothing that the nest writes: the check fails again, and what was written twice is that of a call that failed.

use hidp_ir::par::effects::{self, Effects, has_sure_extents};
use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{
    BinOp, Block, ConvertMode, Expr, ExprKind, Func, Map, Place, Program, Stmt, StmtKind, Target, VarId,
};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// A check of a map that iterations which are done again may not find as it was.
pub(super) fn unsteady(program: &Program, func: &Func, map: &Map) -> Option<Span> {
    let effects = Effects::of_block(program, &func.vars, &map.body);
    let array = |var: &VarId| func.vars[*var].is_array();
    let written: OrdSet<VarId> =
        effects.outer_writes().into_iter().filter(|var| array(var) && effects.reads.contains(var)).collect();
    let mut doubtful = written.clone();
    loop {
        let known = doubtful.len();
        let mut walk = Walk { program, func, written: &written, doubtful, parted: false, found: Found::default() };
        walk.visit_block(&map.body);
        doubtful = walk.doubtful;
        if doubtful.len() == known {
            let Found { late, changing, astray, .. } = walk.found;
            return late.filter(|_| astray || changing.is_some()).map(|late| changing.unwrap_or(late));
        }
    }
}

/// What is known of a map's checks.
#[derive(Default)]
struct Found {
    /// Whether something may have been written that iterations read.
    wrote: bool,
    /// A check after that.
    late: Option<Span>,
    /// A check that depends on what is written.
    changing: Option<Span>,
    /// Whether such a value decides how long a loop runs, or where iterations jump to.
    astray: bool,
}

struct Walk<'a> {
    program: &'a Program,
    func: &'a Func,
    /// Arrays that iterations write, and read or update.
    written: &'a OrdSet<VarId>,
    /// Variables whose values depend on them.
    doubtful: OrdSet<VarId>,
    /// Whether it depends on them if this is executed.
    parted: bool,
    found: Found,
}

impl Walk<'_> {
    fn is_doubtful(&self, expr: &Expr) -> bool {
        !Effects::of_expr(expr).is_disjoint(&self.doubtful)
    }

    fn check(&mut self, at: Span, deciding: &[&Expr]) {
        if self.found.wrote {
            self.found.late.get_or_insert(at);
        }
        if self.parted || deciding.iter().any(|expr| self.is_doubtful(expr)) {
            self.found.changing.get_or_insert(at);
        }
    }

    /// What is executed only where this says so.
    fn under(&mut self, doubtful: bool, visit: impl FnOnce(&mut Self)) {
        let around = self.parted;
        self.parted |= doubtful;
        visit(self);
        self.parted = around;
    }

    fn assigned(&mut self, var: VarId, doubtful: bool) {
        if self.parted || doubtful {
            self.doubtful.insert(var);
        }
    }

    fn stored(&mut self, place: &Place, value: &Expr) {
        let doubtful = place.index.iter().chain([value]).any(|expr| self.is_doubtful(expr));
        self.assigned(place.array, doubtful);
        self.found.wrote |= self.written.contains(&place.array);
    }

    /// What is in a loop comes after all of it, too.
    fn repeated(&mut self, blocks: &[&Block]) {
        for block in blocks {
            let writes = Effects::of_block(self.program, &self.func.vars, block).writes;
            self.found.wrote |= !writes.is_disjoint(self.written);
        }
    }
}

impl Visitor for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => {
                if !has_sure_extents(&self.func.vars, *var) {
                    let extents: Vec<&Expr> = self.func.vars[*var].shape.iter().collect();
                    self.check(stmt.span, &extents);
                }
                look::walk_stmt(self, stmt);
            }
            StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } => {
                look::walk_stmt(self, stmt);
                let doubtful = self.is_doubtful(value);
                self.assigned(*var, doubtful);
            }
            StmtKind::Store { place, value } | StmtKind::Atomic { place, value, .. } => {
                look::walk_stmt(self, stmt);
                self.stored(place, value);
            }
            StmtKind::If { cond, then, otherwise } => {
                self.visit_expr(cond);
                let doubtful = self.is_doubtful(cond);
                self.under(doubtful, |walk| [then, otherwise].into_iter().for_each(|side| walk.visit_block(side)));
            }
            StmtKind::Loop(node) => {
                self.repeated(&[&node.body, &node.step]);
                let doubtful = self.is_doubtful(&node.cond);
                self.found.astray |= self.parted || doubtful;
                self.under(doubtful, |walk| look::walk_loop(walk, node));
            }
            StmtKind::Map(map) => {
                self.repeated(&[&map.body]);
                let elements = map.folds.iter().filter_map(|fold| match &fold.target {
                    Target::Scalar(_) => None,
                    Target::Element(place) => Some(place.array),
                });
                self.found.wrote |= elements.into_iter().any(|array| self.written.contains(&array));
                let bounds: Vec<&Expr> = map.iters.iter().flat_map(|iter| [&iter.lo, &iter.hi, &iter.step]).collect();
                let doubtful = bounds.iter().any(|bound| self.is_doubtful(bound));
                self.found.astray |= self.parted || doubtful;
                map.iters.iter().for_each(|iter| self.assigned(iter.var, doubtful));
                self.under(doubtful, |walk| look::walk_map(walk, map));
                for fold in &map.folds {
                    if fold.op.neutral.is_none() {
                        self.check(fold.span, &bounds);
                    }
                    let doubtful = self.doubtful.contains(&fold.value) || doubtful;
                    match &fold.target {
                        Target::Scalar(var) => self.assigned(*var, doubtful),
                        Target::Element(place) => {
                            let doubtful = doubtful || place.index.iter().any(|index| self.is_doubtful(index));
                            self.assigned(place.array, doubtful);
                        }
                    }
                }
            }
            StmtKind::Require { cond, values, .. } => {
                look::walk_stmt(self, stmt);
                let named = values.iter().map(|(_, value)| value);
                self.check(stmt.span, &named.chain([cond]).collect::<Vec<_>>());
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Leave => self.found.astray |= self.parted,
            // Where one lane finds that its segment is none, lanes before it have written theirs.
            StmtKind::Prim(call) => {
                let (mut named, mut written) = (OrdSet::new(), OrdSet::new());
                visit::walk_vars(&Block { stmts: vec![stmt.clone()] }, |var, role| match role {
                    Role::Write | Role::Update => {
                        written.insert(var);
                    }
                    Role::Declare | Role::Iterate | Role::Read | Role::Argument { .. } => {
                        named.insert(var);
                    }
                });
                self.found.wrote |= !written.is_disjoint(self.written);
                let doubtful = !named.is_disjoint(&self.doubtful);
                // The array that is sorted decides nothing.
                let decides = |var: &VarId| *var != call.input.array && self.doubtful.contains(var);
                let decided = named.iter().any(decides);
                self.under(decided, |walk| walk.check(stmt.span, &[]));
                written.into_iter().for_each(|array| self.assigned(array, doubtful));
            }
            StmtKind::Scope(_) | StmtKind::Return(_) | StmtKind::Swap(..) | StmtKind::Call { .. } => {
                look::walk_stmt(self, stmt);
            }
        }
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        look::walk_place(self, place, role);
        if place.unproved != 0 {
            self.check(place.span, &place.index.iter().collect::<Vec<_>>());
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Lazy { left, right, .. } => {
                self.visit_expr(left);
                let doubtful = self.is_doubtful(left);
                return self.under(doubtful, |walk| walk.visit_expr(right));
            }
            ExprKind::Select { cond, then, otherwise } => {
                self.visit_expr(cond);
                let doubtful = self.is_doubtful(cond);
                return self.under(doubtful, |walk| {
                    walk.visit_expr(then);
                    walk.visit_expr(otherwise);
                });
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => look::walk_expr(self, expr),
        }
        match &expr.kind {
            // A fault of a division names what was to be divided.
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem, left, right, checked: true } => {
                self.check(expr.span, &[left, right]);
            }
            ExprKind::Binary { right, checked: true, .. } => self.check(expr.span, &[right]),
            ExprKind::Convert { operand, mode: ConvertMode::Checked } => self.check(expr.span, &[operand]),
            ExprKind::Call(function, operands) if effects::scalar_fn_may_fault(self.program, *function) => {
                self.check(expr.span, &operands.iter().collect::<Vec<_>>());
            }
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Load(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Select { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::testing::checked;

    /// What stands where a check may not be found as it was.
    fn of(body: &str) -> Option<String> {
        let text =
            format!("function f inout int y[N], h[M], z[N]; input int x[N], t[M]; {{ map {{ i := [0:N); {body} }} }}");
        let program = checked(&text);
        let func = &program.funcs[program.entries[0]];
        let map = *nests(func).last().expect("a nest");
        let at = unsteady(&program, func, map)?;
        Some(text[at.start as usize..at.end as usize].to_owned())
    }

    #[test]
    fn checks_before_all_that_is_written_are_done_again_as_they_were() {
        assert_eq!(of("y[i] = t[y[i]];"), None);
        assert_eq!(
            of("int s = 8 / y[i]; for (int k = 0; k < x[i]; k = k + 1) { s = s + t[y[i] + k]; } y[i] = s;"),
            None
        );
        assert_eq!(of("z[i] = 1; y[i] = t[y[i]];").as_deref(), None, "nobody reads it");
        assert_eq!(of("y[i] = 1 + y[i]; z[i] = t[y[i]];").as_deref(), Some("t[y[i]]"));
        let turns = "int s = 0; for (int k = 0; k < x[i]; k = k + 1) { s = s + t[y[i] & 7]; y[i] = s; }";
        assert_eq!(of(turns).as_deref(), Some("t[y[i] & 7]"), "in a later turn");
    }

    #[test]
    fn checks_of_what_nobody_writes_fail_again() {
        assert_eq!(of("y[i] = 1 + y[i]; z[i] = t[x[i]];"), None);
        assert_eq!(of("atomic h[x[i]] += 1; z[i] = 8 / x[i];"), None);
        assert_eq!(of("for (int k = 0; k < 9; k = k + 1) { atomic h[t[x[i] + k]] += y[i]; }"), None);
        assert_eq!(of("y[i] = 1 + y[i]; z[i] = y[i] / x[i];").as_deref(), Some("y[i] / x[i]"), "the fault names it");
    }

    #[test]
    fn segments_of_primitives_follow_nothing_that_is_written() {
        assert_eq!(of("sort(h, h, 0, x[i], 1);"), None);
        assert_eq!(of("y[i] = t[x[i]] + y[i]; reverse(t, h, 0, x[i]);"), None);
        assert!(of("y[i] = 1 + y[i]; reverse(t, h, 0, y[i]);").is_some());
        assert!(of("if (y[i] > 3) { y[i] = 1; sort(t, z, 0, x[i], 1); }").is_some());
    }

    #[test]
    fn what_is_written_decides_nothing() {
        let late = "y[i] = 1 + y[i]; z[i] = t[x[i]];";
        assert!(of(&format!("int s = t[y[i]]; {late} y[i] = s;")).is_some(), "an earlier check");
        assert!(of(&format!("if (y[i] > 3) {{ z[i] = t[x[i]]; }} {late}")).is_some(), "a branch");
        assert!(of(&format!("int s = y[i]; if (s > 3) {{ s = 1; }} else {{ s = 2; }} {late} z[i] = 7 / s;")).is_some());
        assert!(of(&format!("int s = 1; while (y[i] > s) {{ s = s * 2; }} {late} y[i] = s;")).is_some(), "a loop");
        let jump = "for (int k = 0; k < 9; k = k + 1) { if (y[i] > k) { break; } y[i] = k; z[i] = t[k + x[i]]; }";
        assert!(of(jump).is_some(), "a jump");
        assert!(of(&format!("z[i] = y[i] > 3 ? t[x[i]] : 0; {late}")).is_some(), "a choice");
    }
}
