//! The number of operations of an entry, as a function of sizes: to weigh a call against the copies that a device would need for it.
//!
//! The unit is an operation on one lane of a vector; scalar operations are weighted by a factor of the model. An estimate: branches count
//! as if both sides ran, loads not at all.

use super::iteration::iteration;
use super::measures::{closed, extent_of_inner, volume};
use super::notation::{Place, Step};
use super::{Nest, Plan, nests};
use crate::target::Model;
use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, Extent, Func, Map, MathFn, PrimCall, Program, Stmt, StmtKind, UnOp};
use hidp_syntax::source::Span;

/// What one operation of each kind costs.
const SIMPLE: i64 = 1;
const DIVISION: i64 = 8;
pub(super) const FUNCTION: i64 = 16;

/// The operations of a call whose nests run as `plan` says. `None` where they depend on data: on how often a loop runs, say.
pub(super) fn work(program: &Program, func: &Func, plan: &Plan, model: &Model) -> Option<Expr> {
    let on_host = of_host(func)?;
    let maps = nests(func);
    let of_nests = maps.iter().zip(&plan.nests).map(|(map, nest)| {
        let each = if in_vectors(nest) { 1 } else { model.scalar_operation.into() };
        let span = map.iters.first().map_or(func.span, |iter| iter.span);
        let count = volume(func, map)?;
        Some(times(each, nest_work((program, func), map, &count, span, model)?))
    });
    let of_prims = on_host.iter().map(|call| prim_work(func, call, model));
    let parts: Option<Vec<Expr>> = of_nests.chain(of_prims).collect();
    parts?.into_iter().reduce(plus)
}

fn in_vectors(nest: &Nest) -> bool {
    nest.steps.iter().any(|step| matches!(step, Step::Line(line) if line.place == Place::Lanes))
}

fn plus(left: Expr, right: Expr) -> Expr {
    Expr::long(BinOp::Add, left, right)
}

fn times(factor: i64, expr: Expr) -> Expr {
    let span = expr.span;
    if factor == 1 { expr } else { Expr::long(BinOp::Mul, Expr::int(factor, span), expr) }
}

/// The primitives that the host calls; `None` if a loop there has a nest or primitive inside.
fn of_host(func: &Func) -> Option<Vec<PrimCall>> {
    let mut found = Vec::new();
    of_block(&func.body, &mut found).then_some(found)
}

fn of_block(block: &Block, found: &mut Vec<PrimCall>) -> bool {
    block.stmts.iter().all(|stmt| match &stmt.kind {
        StmtKind::Prim(call) => {
            found.push(call.as_ref().clone());
            true
        }
        StmtKind::If { then, otherwise, .. } => of_block(then, found) && of_block(otherwise, found),
        StmtKind::Scope(body) => of_block(body, found),
        StmtKind::Loop(_) => !has_parallel(stmt),
        StmtKind::Call { .. } => false,
        StmtKind::Map(_)
        | StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Swap(..)
        | StmtKind::Require { .. } => true,
    })
}

fn has_parallel(stmt: &Stmt) -> bool {
    let mut found = false;
    let block = Block { stmts: vec![stmt.clone()] };
    visit::walk_stmts(&block, |stmt| {
        found |= matches!(stmt.kind, StmtKind::Map(_) | StmtKind::Prim(_) | StmtKind::Call { .. });
    });
    found
}

/// Of a primitive that works on all of its array: outside of maps, or on the segments of a map's iterations together.
fn prim_work(func: &Func, call: &PrimCall, model: &Model) -> Option<Expr> {
    let size = match &call.extent {
        Extent::Whole { size } => closed(func, size.clone()),
        Extent::Segment { .. } | Extent::Vectors { .. } | Extent::Regular { .. } => None,
    };
    let array = || {
        let shape = &func.vars[call.input.array].shape;
        let extents: Option<Vec<Expr>> = shape.iter().map(|extent| closed(func, extent.clone())).collect();
        extents?.into_iter().reduce(|product, extent| Expr::long(BinOp::Mul, product, extent))
    };
    Some(times(model.primitives.of_element(call.prim), size.or_else(array)?))
}

/// Of all iterations of a nest together, of which there are `count`.
fn nest_work((program, func): (&Program, &Func), map: &Map, count: &Expr, span: Span, model: &Model) -> Option<Expr> {
    let own = iteration(program, &map.body, lane_operations)?;
    let operations = own.operations + map.folds.len() as i64;
    let mut sum = times(operations.max(1), Expr { span, ..count.clone() });
    for inner in own.maps {
        let iterations = extent_of_inner(func, map, inner, count)?;
        sum = plus(sum, nest_work((program, func), inner, &iterations, span, model)?);
    }
    for call in own.prims {
        sum = plus(sum, prim_work(func, call, model)?);
    }
    Some(sum)
}

/// Of one iteration of a nest whose iterations have no maps of unknown length inside.
pub(super) fn operations_of_one(program: &Program, func: &Func, map: &Map, model: &Model) -> Option<i64> {
    let span = map.iters.first().map_or(func.span, |iter| iter.span);
    let work = nest_work((program, func), map, &Expr::int(1, span), span, model)?;
    i64::try_from(work.as_int()?).ok()
}

/// What an expression takes. Positions of loads are found on the way.
pub(super) fn lane_operations(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Binary { op: BinOp::Div | BinOp::Rem, .. } => Some(DIVISION),
        ExprKind::Math(function, _) => Some(of_function(*function)),
        ExprKind::Binary { .. }
        | ExprKind::Select { .. }
        | ExprKind::Lazy { .. }
        | ExprKind::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot, _) => Some(SIMPLE),
        ExprKind::Load(_) => None,
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::Convert { .. }
        | ExprKind::Call(..)
        | ExprKind::Field(..)
        | ExprKind::Struct(..) => Some(0),
    }
}

pub(super) fn of_function(function: MathFn) -> i64 {
    match function {
        MathFn::Abs
        | MathFn::Min
        | MathFn::Max
        | MathFn::Fma
        | MathFn::Floor
        | MathFn::Ceil
        | MathFn::Trunc
        | MathFn::Round
        | MathFn::Rint
        | MathFn::Copysign
        | MathFn::Isnan
        | MathFn::Isinf
        | MathFn::Isfinite => SIMPLE,
        MathFn::Sqrt => DIVISION,
        MathFn::Cbrt
        | MathFn::Hypot
        | MathFn::Exp
        | MathFn::Exp2
        | MathFn::Expm1
        | MathFn::Log
        | MathFn::Log2
        | MathFn::Log10
        | MathFn::Log1p
        | MathFn::Pow
        | MathFn::Sin
        | MathFn::Cos
        | MathFn::Tan
        | MathFn::Asin
        | MathFn::Acos
        | MathFn::Atan
        | MathFn::Atan2
        | MathFn::Sinh
        | MathFn::Cosh
        | MathFn::Tanh
        | MathFn::Asinh
        | MathFn::Acosh
        | MathFn::Atanh
        | MathFn::Fmod
        | MathFn::Erf
        | MathFn::Erfc
        | MathFn::Tgamma
        | MathFn::Lgamma => FUNCTION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates;
    use crate::testing::optimised;
    use hidp_ir::par::text::hidp_expr;

    fn of(text: &str) -> String {
        let program = optimised(text);
        let (id, model) = (program.entries[0], Model::cpu());
        let (func, plan) = (&program.funcs[id], &candidates(&program, id, &model)[0]);
        work(&program, func, plan, &model).map_or("?".into(), |expr| hidp_expr(&program, &func.vars, &expr))
    }

    #[test]
    fn operations_are_counted_by_what_they_take() {
        let gemm = "function f input float A[M][K], B[K][N]; output float C[M][N];
            { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
        assert_eq!(of(gemm), "M * N + 2 * (M * N * K)");
        let text = "function f input float x[N]; output float y[N]; { y = 1 / sqrt(x) + exp(x); }";
        assert_eq!(of(text), "33 * N");
        let text = "function f input int x[N]; output int y[N]; { y = x; }";
        assert_eq!(of(text), "N", "an iteration is something");
        let text = "function f inout uint a[N]; { sort(a, a, N, 1); }";
        assert_eq!(of(text), "32 * N");
        let text = "function f input uint v[Z]; input int lo[S], hi[S]; output uint w[Z];
            { w = v; map { s := [0:S); sort(v, w, lo[s], hi[s], 1); } }";
        assert_eq!(of(text), "Z + 16 * (S + 32 * Z)", "the second nest has no vectors");
    }

    #[test]
    fn what_depends_on_data_is_not_known() {
        let text = "function f inout float x[N];
            { map { i := [0:N); float s = x[i]; while (s > 1) { s = s / 2; } x[i] = s; } }";
        assert_eq!(of(text), "?");
        let text = "function f inout float x[N]; input int n;
            { int i = 0; while (i < n) { x = x + 1; i = i + 1; } }";
        assert_eq!(of(text), "?");
        let text = "function f inout int x[N]; { while (x[0] < N) { x[0] = x[0] + 1; } }";
        assert_eq!(of(text), "?", "there is nothing to share out");
    }
}
