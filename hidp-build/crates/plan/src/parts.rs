//! Whether a call is as good as several calls of the same entry, each with some of the rows: then versions can be compared within a call.
//!
//! Rows are numbered by one dimension. A call can be cut if every map over them stands at host level, every array that has them is accessed
//! at the iteration's own row (inputs also at a few rows behind it), and neither a row's number nor how many there are matters otherwise.
//! So no result and no value of a fault tells where a part begins. Codelets need no look: they compute what the function does.

use hidp_ir::par::visit::{Role, Visitor, look};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, Func, Iter, Map, Place, PrimCall, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdMap;

/// How a call can be cut into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Position of the dimension that numbers rows.
    pub dim: usize,
    /// For each parameter how many rows a part has of it besides its own: none if it has all of the parameter.
    pub besides: Vec<Option<i64>>,
    /// Whether rows may differ in what they cost. Then a part is computed by one version after the other; it reads nothing that it writes.
    pub uneven: bool,
}

/// How calls of an entry can be cut, by its first dimension that allows it.
pub fn parts(func: &Func, may_fault: bool) -> Option<Parts> {
    func.dims.iter().enumerate().find_map(|(position, dim)| {
        let mut rows = Rows::of(func, *dim)?;
        rows.host(&func.body);
        let ordered = rows.maps <= 1 || !may_fault;
        let compared = !rows.uneven || !rows.reads_outputs;
        let besides = func.params.iter().map(|param| rows.besides.get(param).copied()).collect();
        (rows.apart && ordered && compared && rows.maps > 0).then_some(Parts {
            dim: position,
            besides,
            uneven: rows.uneven,
        })
    })
}

/// What is known of the iterations over a dimension.
struct Rows<'a> {
    func: &'a Func,
    dim: VarId,
    /// Parameters that have its rows, and how many more.
    besides: OrdMap<VarId, i64>,
    /// The iterator over them, inside of a map that has it.
    row: Option<VarId>,
    /// Nothing was found that tells a part from the whole.
    apart: bool,
    uneven: bool,
    reads_outputs: bool,
    /// How many maps stand at host level.
    maps: u32,
}

impl<'a> Rows<'a> {
    /// Nothing if a parameter is written that does not have the rows, or has them elsewhere than outermost.
    fn of(func: &'a Func, dim: VarId) -> Option<Rows<'a>> {
        let mut besides = OrdMap::new();
        for &param in &func.params {
            let shape = &func.vars[param].shape;
            let first = shape.first().and_then(|extent| behind(extent, dim)).filter(|more| *more >= 0);
            let others = &shape[usize::from(first.is_some()).min(shape.len())..];
            if others.iter().any(|extent| mentions(extent, dim)) || (is_written(func, param) && first != Some(0)) {
                return None;
            }
            besides.extend(first.map(|more| (param, more)));
        }
        let (apart, uneven) = (!besides.is_empty() && !func.vars[dim].is_setting(), false);
        Some(Rows { func, dim, besides, row: None, apart, uneven, reads_outputs: false, maps: 0 })
    }

    /// Statements at host level: maps over rows, and scalars.
    fn host(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Map(map) => self.rows(map),
                StmtKind::Declare { var, zero: _ } => {
                    self.apart &= !self.func.vars[*var].is_array();
                }
                StmtKind::Assign { .. } | StmtKind::AssignField { .. } | StmtKind::Require { .. } => {
                    self.visit_stmt(stmt);
                }
                StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::If { .. }
                | StmtKind::Loop(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Return(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. } => self.apart = false,
            }
        }
    }

    /// A map at host level, whose outermost iterator runs over all rows.
    fn rows(&mut self, map: &Map) {
        let Some((row, others)) = map.iters.split_first() else { return self.apart = false };
        let is_dim = matches!(row.hi.kind, ExprKind::Read(var) if var == self.dim);
        self.apart &= row.lo.as_int() == Some(0) && row.step.as_int() == Some(1) && is_dim;
        self.maps += 1;
        self.row = Some(row.var);
        others.iter().for_each(|iter| self.visit_iter(iter));
        self.visit_block(&map.body);
        map.folds.iter().for_each(|fold| self.visit_fold(fold));
        self.row = None;
    }

    /// An access to an array that has the rows.
    fn access(&mut self, place: &Place, role: Role, most: i64) {
        let [first, others @ ..] = &place.index[..] else { return self.apart = false };
        let at = self.row.and_then(|row| behind(first, row));
        self.apart &= at.is_some_and(|at| (0..=most).contains(&at)) && place.unproved & 1 == 0;
        self.reads_outputs |= role != Role::Write && is_written(self.func, place.array);
        others.iter().for_each(|index| self.visit_expr(index));
    }

    /// Whether all rows have the same value, whatever the data.
    fn is_steady(&self, expr: &Expr) -> bool {
        let mut look = Steady { func: self.func, found: true };
        look.visit_expr(expr);
        look.found
    }
}

impl Visitor for Rows<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare { var, zero: _ } => {
                let shape = &self.func.vars[*var].shape;
                self.uneven |= !shape.iter().all(|extent| self.is_steady(extent));
                shape.iter().for_each(|extent| self.visit_expr(extent));
            }
            StmtKind::If { then, otherwise, .. } => {
                let holds_maps =
                    |block: &Block| block.stmts.iter().any(|stmt| !hidp_ir::par::visit::child_blocks(stmt).is_empty());
                self.uneven |= holds_maps(then) || holds_maps(otherwise);
                look::walk_stmt(self, stmt);
            }
            StmtKind::Loop(_) => {
                self.uneven = true;
                look::walk_stmt(self, stmt);
            }
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => look::walk_stmt(self, stmt),
        }
    }
    fn visit_iter(&mut self, iter: &Iter) {
        self.uneven |= ![&iter.lo, &iter.hi, &iter.step].into_iter().all(|bound| self.is_steady(bound));
        look::walk_iter(self, iter);
    }
    fn visit_prim(&mut self, _: &PrimCall) {
        self.apart = false;
    }
    fn visit_place(&mut self, place: &Place, role: Role) {
        match self.besides.get(&place.array) {
            Some(&most) => self.access(place, role, most),
            None => look::walk_place(self, place, role),
        }
    }
    fn visit_expr(&mut self, expr: &Expr) {
        // What a function of the program takes nobody knows.
        self.uneven |= matches!(expr.kind, ExprKind::Call(..));
        look::walk_expr(self, expr);
    }
    fn visit_var(&mut self, var: &VarId, _: Role) {
        let tells = *var == self.dim || Some(*var) == self.row || self.besides.contains_key(var);
        self.apart &= !tells;
    }
}

/// Looks whether an expression has dimensions, iterators, inputs and constants alone.
struct Steady<'a> {
    func: &'a Func,
    found: bool,
}

impl Visitor for Steady<'_> {
    fn visit_place(&mut self, _: &Place, _: Role) {
        self.found = false;
    }
    fn visit_var(&mut self, var: &VarId, _: Role) {
        self.found &= match self.func.vars[*var].kind {
            VarKind::Dim | VarKind::Iter | VarKind::Param(Direction::Input) => true,
            VarKind::Param(Direction::Output | Direction::Inout) | VarKind::Local => false,
        };
    }
}

/// By how much an expression is more than a variable, if it is that and a constant.
fn behind(expr: &Expr, var: VarId) -> Option<i64> {
    match &expr.kind {
        ExprKind::Read(other) => (*other == var).then_some(0),
        ExprKind::Binary { op: BinOp::Add, left, right, checked: _ } => {
            let (more, of) = left.as_int().map_or_else(|| (right.as_int(), left), |more| (Some(more), right));
            behind(of, var)?.checked_add(i64::try_from(more?).ok()?)
        }
        ExprKind::Binary { .. }
        | ExprKind::Const(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Math(..)
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => None,
    }
}

fn mentions(expr: &Expr, var: VarId) -> bool {
    struct Look(VarId, bool);
    impl Visitor for Look {
        fn visit_var(&mut self, var: &VarId, _: Role) {
            self.1 |= *var == self.0;
        }
    }
    let mut look = Look(var, false);
    look.visit_expr(expr);
    look.1
}

fn is_written(func: &Func, var: VarId) -> bool {
    matches!(func.vars[var].kind, VarKind::Param(Direction::Output | Direction::Inout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;

    fn of(text: &str, may_fault: bool) -> Option<Parts> {
        let program = optimised(text);
        parts(&program.funcs[*program.entries.last().expect("an entry")], may_fault)
    }

    #[test]
    fn rows_that_are_by_themselves_are_parts() {
        let even = |dim: usize, besides: &[Option<i64>]| Some(Parts { dim, besides: besides.into(), uneven: false });
        assert_eq!(of("function f inout int x[N]; { map { i := [0:N); x[i] += 1; } }", true), even(0, &[Some(0)]));
        let gemv = "function f input float A[M][K], x[K]; output float y[M];
            { map { m := [0:M); k := [0:K); _t = A[m][k] * x[k]; } reduce(\"+\", y[m], _t, k := [*]); }";
        assert_eq!(of(gemv, false), even(0, &[Some(0), None, Some(0)]));
        let sparse = "function f input int first[R+1], col[Z]; input double val[Z], x[C]; output double y[R];
            { map { r := [0:R); map { k := [first[r]:first[r+1]); _t = val[k] * x[col[k]]; } reduce(\"+\", y[r], _t, k := [*]); } }";
        let besides = vec![Some(1), None, None, None, Some(0)];
        assert_eq!(of(sparse, true), Some(Parts { dim: 0, besides, uneven: true }));
        // Calls in rows, columns of the second parameter, scalars that all rows have.
        let second = "static function half input int a[K]; input int s; output int b[K]; { b = a / 2 + s; }
            function f input int B[K][2], A[M][K], s; output int C[M][K]; { map { m := [0:M); half(A[m][*], s + B[0][1], C[m][*]); } }";
        assert_eq!(of(second, true), even(1, &[None, Some(0), None, Some(0)]));
    }

    #[test]
    fn what_tells_a_part_from_the_whole_is_found() {
        for whole in [
            // A row's number, how many rows there are, another row, a result of all rows.
            "function f inout int x[N]; { map { i := [0:N); x[i] += int(i); } }",
            "function f inout int x[N]; { map { i := [0:N); x[i] += int(N); } }",
            "function f input int x[N]; output int y[N]; { map { i := [0:N); y[i] = x[N - 1 - i]; } }",
            "function f input int x[N], at[N]; output int y[N]; { map { i := [0:N); y[i] = x[at[i]]; } }",
            "function f input int x[N]; output int s; { reduce(\"+\", x, s, N); }",
            "function f input int x[N]; output int y[N]; { scan(\"+\", x, y, N); }",
            "function f input int x[N]; output int y[N], s; { map { i := [0:N); y[i] = x[i]; _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }",
            // Primitives are not looked into.
            "function f input int x[N][4]; output int y[N]; { map { i := [0:N); int row[4]; map { k := [0:4); row[k] = x[i][k]; } sort(row, row, 0, 4, 1); y[i] = row[0]; } }",
            // Rows in front, of inputs; rows behind, of outputs; rows that are columns, too.
            "function f input int x[N+1]; output int y[N]; { map { i := [0:N); y[i] = x[i] + x[i+1] + x[0]; } }",
            "function f input int x[N+1]; output int y[N]; { map { i := [0:N); y[i] = x[i+2]; } }",
            "function f inout int x[N+1]; { map { i := [0:N); x[i] += 1; } }",
            "function f inout int x[N][N]; { map { i := [0:N); x[i][0] += 1; } }",
            "function f input int x[N]; inout int counts[8]; { map { i := [0:N); atomic counts[x[i] & 7] += 1; } }",
            // Not all of them, in order of columns first, and an array of the function itself.
            "function f inout int x[N]; { map { i := [0:N:2); x[i] += 1; } }",
            "function f inout int x[N][3]; { map { j := [0:3); i := [0:N); x[i][j] += 1; } }",
            "function f input int x[N]; output int y[N]; { int t[N]; map { i := [0:N); y[i] = x[i] + t[0]; } }",
            "function f input int x[N], k; output int y[N]; { int t[N]; t = x; for (int i = 0; i < k; i += 1) { map { j := [0:N); t[j] = 3 * t[j] + 1; } } y = t; }",
        ] {
            assert_eq!(of(whole, false), None, "{whole}");
        }
    }

    #[test]
    fn faults_and_uneven_rows_are_kept_in_order() {
        let two = "function f input int x[N], y[N][K]; output int v[N], w[N][K];
            { map { i := [0:N); v[i] = x[i] / x[i]; } map { i := [0:N); k := [0:K); w[i][k] = y[i][k] + 1; } }";
        assert_eq!(
            (of(two, true), of(two, false).is_some()),
            (None, true),
            "the second map's rows come after all of the first's"
        );
        // Twice the same rows would add twice.
        let uneven = |direction: &str, op: &str| {
            format!(
                "function f input int n[N]; {direction} int x[N]; {{ map {{ i := [0:N); int s = 0; for (int k = 0; k < n[i]; k += 1) s = 3 * s + k; x[i] {op} s; }} }}"
            )
        };
        let is_uneven = |text: &str| of(text, false).is_some_and(|parts| parts.uneven);
        assert!(is_uneven(&uneven("output", "=")));
        assert!(is_uneven(
            "extern function int far(int a); function f input int x[N]; output int y[N]; { map { i := [0:N); y[i] = far(x[i]); } }"
        ));
        assert!(is_uneven(
            "function f input int x[N], z[K]; output int y[N]; { map { i := [0:N); int s = 0;
            if (x[i] > 0) { map { k := [0:K); _t = z[k]; } reduce(\"+\", s, _t, k := [*]); } y[i] = s; } }"
        ));
        assert_eq!(of(&uneven("inout", "+="), false), None);
    }
}
