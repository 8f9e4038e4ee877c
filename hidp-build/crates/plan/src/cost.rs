//! What a nest must do at least: bytes that move if every array is read and written once, and floating-point operations.

use super::iteration::iteration;
use super::measures::{extent_of_inner, volume};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{BinOp, Expr, ExprKind, Fold, Func, Map, Program, Stmt, StmtKind, UnOp, Var, VarId};
use hidp_syntax::source::Span;

/// Costs of one run of a nest, over sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// `None` where an array's size is known only while the program runs.
    pub bytes: Option<Expr>,
    /// Additions, multiplications, divisions and calls of maths functions on floats, branches counted as if both sides ran.
    /// `None` where the number of iterations depends on data.
    pub flops: Option<Expr>,
}

/// Costs of a nest.
pub fn cost(program: &Program, func: &Func, map: &Map) -> Cost {
    let span = map.iters.first().map_or(func.span, |iter| iter.span);
    let flops = volume(func, map).and_then(|outer| nest_flops(program, func, map, &outer, span));
    Cost { bytes: traffic(program, func, map, span), flops: flops.map(|flops| flops.unwrap_or(Expr::int(0, span))) }
}

fn traffic(program: &Program, func: &Func, map: &Map, span: Span) -> Option<Expr> {
    let whole = Stmt { kind: StmtKind::Map(map.clone()), span };
    let effects = Effects::of_stmt(program, &func.vars, &whole);
    let moved = effects.outer_reads().into_iter().chain(effects.outer_writes());
    let arrays: Vec<VarId> = moved.filter(|var| func.vars[*var].is_array()).collect();
    let sizes = arrays.iter().map(|var| array_bytes(&func.vars[*var], span));
    sizes.reduce(|sum, bytes| Some(Expr::long(BinOp::Add, sum?, bytes?))).unwrap_or(Some(Expr::int(0, span)))
}

fn array_bytes(var: &Var, span: Span) -> Option<Expr> {
    let size = i64::try_from(var.ty.scalar()?.size()).ok()?;
    let elements = var.shape.iter().cloned().reduce(|product, extent| Expr::long(BinOp::Mul, product, extent))?;
    Some(if size == 1 { elements } else { Expr::long(BinOp::Mul, Expr::int(size, span), elements) })
}

/// Operations of all iterations together, of which there are `count`; the inner `None` is zero.
fn nest_flops(program: &Program, func: &Func, map: &Map, count: &Expr, span: Span) -> Option<Option<Expr>> {
    let own = iteration(program, &map.body, float_operations)?;
    if !own.prims.is_empty() {
        return None;
    }
    let operations = own.operations + folds(&map.folds);
    let mut sum = (operations > 0).then(|| times(operations, count, span));
    for inner in own.maps {
        let iterations = extent_of_inner(func, map, inner, count)?;
        if let Some(part) = nest_flops(program, func, inner, &iterations, span)? {
            sum = Some(sum.map_or(part.clone(), |sum| Expr::long(BinOp::Add, sum, part)));
        }
    }
    Some(sum)
}

fn times(factor: i64, count: &Expr, span: Span) -> Expr {
    if factor == 1 { count.clone() } else { Expr::long(BinOp::Mul, Expr::int(factor, span), count.clone()) }
}

fn folds(folds: &[Fold]) -> i64 {
    let float = |fold: &&Fold| fold.op.ty.scalar().is_some_and(|scalar| scalar.is_float());
    folds.iter().filter(float).count() as i64
}

/// Whether an expression is an operation on floats.
fn float_operations(expr: &Expr) -> Option<i64> {
    let float = expr.ty.scalar().is_some_and(|scalar| scalar.is_float());
    Some(match &expr.kind {
        ExprKind::Binary { .. } | ExprKind::Math(..) | ExprKind::Unary(UnOp::Neg, _) => i64::from(float),
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(UnOp::Not | UnOp::BitNot, _)
        | ExprKind::Lazy { .. }
        | ExprKind::Select { .. }
        | ExprKind::Convert { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nests;
    use crate::testing::optimised;
    use hidp_ir::par::text::hidp_expr;

    /// Bytes and operations of the last nest.
    fn of(text: &str) -> (String, String) {
        let program = optimised(text);
        let func = &program.funcs[program.entries[0]];
        let Cost { bytes, flops } = cost(&program, func, nests(func).last().unwrap());
        let print = |expr: Option<Expr>| expr.map_or("?".into(), |expr| hidp_expr(&program, &func.vars, &expr));
        (print(bytes), print(flops))
    }

    #[test]
    fn products_and_sums_are_counted() {
        let text = "function f input float A[M][K], B[K][N]; output float C[M][N];
            { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
        assert_eq!(of(text), ("4 * (M * K) + 4 * (K * N) + 4 * (M * N)".into(), "2 * (M * N * K)".into()));
        let text = "function f input float x[N], _a; inout float y[N]; { y = _a * x + y; }";
        assert_eq!(of(text), ("4 * N + 4 * N + 4 * N".into(), "2 * N".into()));
    }

    #[test]
    fn ragged_nests_have_as_many_iterations_as_their_arrays_have_elements() {
        let text = "function f input int p[R+1]; input double v[Z]; output double y[R];
            { map { r := [0:R); map { k := [p[r]:p[r+1]); _t = v[k]; } reduce(\"+\", y[r], _t, k := [*]); } }";
        assert_eq!(of(text), ("4 * (R + 1) + 8 * Z + 8 * R".into(), "Z".into()));
    }

    #[test]
    fn what_depends_on_data_is_not_known() {
        let text = "function f inout float x[N];
            { map { i := [0:N); float s = x[i]; while (s > 1) { s = s / 2; } x[i] = s; } }";
        assert_eq!(of(text), ("4 * N + 4 * N".into(), "?".into()));
        let text = "function f inout int x[N]; { x = x + 1; }";
        assert_eq!(of(text).1, "0");
    }
}
