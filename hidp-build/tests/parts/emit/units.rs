//! Entries built by hand, each for one corner of `imp`.

use hidp_build::compiler::index::{Arena, Id};
use hidp_build::compiler::ir::imp::*;
use hidp_build::compiler::ir::par::{
    self, BinOp, FaultKind, FoldFn, MathFn, Program, ScalarFn, ScalarFnId, Struct, UnOp,
};
use hidp_build::compiler::ty::{Scalar, StructId, Ty};

use super::dsl::*;

const F32: Scalar = Scalar::F32;
const F64: Scalar = Scalar::F64;
const I32: Scalar = Scalar::I32;

/// `struct Best { float v; int i; }`
pub(crate) fn best() -> StructId {
    StructId::new(0)
}
/// `struct Pair { Best int; double class; }`: names are words of C++.
pub(crate) fn pair() -> StructId {
    StructId::new(1)
}
/// `long ratio(long a, long b) { return a / b; }`
pub(crate) fn ratio() -> ScalarFnId {
    ScalarFnId::new(0)
}
/// `uint mid(uint a, uint b) { return a + (b - a) / 2; }`
pub(crate) fn mid() -> ScalarFnId {
    ScalarFnId::new(1)
}
/// Steps of a division loop, calling `ratio`; would run for ever if it went on after a fault.
pub(crate) fn steps() -> ScalarFnId {
    ScalarFnId::new(2)
}

pub(crate) fn program() -> Program {
    let mut program = Program::default();
    program.structs.push(Struct {
        name: "Best".into(),
        fields: vec![("v".into(), F32.into()), ("i".into(), I32.into())],
        native: false,
        doc: Vec::new(),
        span: span(0),
    });
    program.structs.push(Struct {
        name: "class".into(),
        fields: vec![("int".into(), Ty::Struct(best())), ("double".into(), F64.into())],
        native: false,
        doc: Vec::new(),
        span: span(0),
    });
    program.scalar_fns.push(ratio_fn());
    program.scalar_fns.push(mid_fn());
    program.scalar_fns.push(steps_fn());
    program
}

fn par_expr(kind: par::ExprKind, ty: impl Into<Ty>, at: usize) -> par::Expr {
    par::Expr { kind, ty: ty.into(), span: span(at) }
}
fn par_binary(op: BinOp, left: par::Expr, right: par::Expr, checked: bool, at: usize) -> par::Expr {
    let ty = if op.is_comparison() { Ty::BOOL } else { left.ty };
    par_expr(par::ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), checked }, ty, at)
}
fn par_stmt(kind: par::StmtKind) -> par::Stmt {
    par::Stmt { kind, span: span(0) }
}
fn par_var(name: &str, ty: Scalar) -> par::Var {
    par::Var { name: name.into(), ty: ty.into(), shape: Vec::new(), kind: par::VarKind::Local, span: span(0) }
}

fn scalar_fn(name: &str, params: usize, vars: Vec<par::Var>, result: Scalar, stmts: Vec<par::StmtKind>) -> ScalarFn {
    let mut arena = Arena::new();
    let ids: Vec<par::VarId> = vars.into_iter().map(|var| arena.push(var)).collect();
    ScalarFn {
        name: name.into(),
        params: ids[..params].to_vec(),
        result: result.into(),
        vars: arena,
        body: Some(par::Block { stmts: stmts.into_iter().map(par_stmt).collect() }),
        contract: true,
        span: span(0),
    }
}

fn ratio_fn() -> ScalarFn {
    let read = |at| par::Expr::read(par::VarId::new(at), LONG.into(), span(0));
    let body = par::StmtKind::Return(par_binary(BinOp::Div, read(0), read(1), true, 2));
    scalar_fn("ratio", 2, vec![par_var("a", LONG), par_var("b", LONG)], LONG, vec![body])
}

fn mid_fn() -> ScalarFn {
    let u32_ty = Scalar::U32;
    let read = |at| par::Expr::read(par::VarId::new(at), u32_ty.into(), span(0));
    let two = par_expr(par::ExprKind::Const(par::Const::Int(2)), u32_ty, 0);
    let half = par_binary(BinOp::Div, par_binary(BinOp::Sub, read(1), read(0), false, 0), two, false, 0);
    let body = par::StmtKind::Return(par_binary(BinOp::Add, read(0), half, false, 0));
    scalar_fn("mid", 2, vec![par_var("a", u32_ty), par_var("b", u32_ty)], u32_ty, vec![body])
}

/// `long steps(long a, long b) { long n; for (; a != 1; n += 1) { if (a == 7) continue…; a = ratio(a, b); } return n; }`
fn steps_fn() -> ScalarFn {
    let id = par::VarId::new;
    let read = |at| par::Expr::read(id(at), LONG.into(), span(0));
    let one = || par::Expr::int(1, span(0));
    let assign = |var: usize, value| par_stmt(par::StmtKind::Assign { var: id(var), value });
    let shrink = par_expr(par::ExprKind::Call(ratio(), vec![read(0), read(1)]), LONG, 0);
    let is_seven = par_binary(BinOp::Eq, read(0), par::Expr::int(7, span(0)), false, 0);
    let skip = par::StmtKind::If {
        cond: is_seven,
        then: par::Block { stmts: vec![assign(0, one()), par_stmt(par::StmtKind::Continue)] },
        otherwise: par::Block::default(),
    };
    let body = par::Block { stmts: vec![par_stmt(skip), assign(0, shrink)] };
    let step = par::Block { stmts: vec![assign(2, par_binary(BinOp::Add, read(2), one(), false, 0))] };
    let cond = par_binary(BinOp::Ne, read(0), one(), false, 0);
    let declare = par::StmtKind::Declare { var: id(2), zero: true };
    let repeat = par::StmtKind::Loop(par::Loop { cond, body, step });
    let vars = vec![par_var("a", LONG), par_var("b", LONG), par_var("n", LONG)];
    scalar_fn("steps", 2, vars, LONG, vec![declare, repeat, par::StmtKind::Return(read(2))])
}

/// Every entry; each function's comment says what the host function takes.
pub(crate) fn entries() -> Vec<Entry> {
    let mut entries = vec![
        saxpy(),
        dot(),
        gather("gather_static", shared(1)),
        gather("gather_dynamic", dynamic(3)),
        gather("gather_serial", Schedule::Serial),
        rows(),
        counts(),
        scatter(),
        bests(),
        host_flow(),
        stream(),
        traps(),
        huge(),
        workers(),
        extremes(),
        primitive(),
    ];
    entries.extend(Scalar::ALL.map(casts));
    entries.extend(Scalar::ALL.into_iter().filter(|s| s.is_integer()).map(arithmetic));
    entries
}

/// `a, x[n], y[n]; n`: `y = a * x + y`
fn saxpy() -> Entry {
    let mut entry = E::new("saxpy");
    let mut k = F::new();
    let (a, x, y) = (k.scalar("_a", F32), k.input("x", F32), k.output("double", F32));
    let (begin, end) = k.range();
    let i = k.local("i", LONG);
    let sum = mul_add(v(a, F32), load(at(x, l(i)), F32), load(at(y, l(i)), F32));
    let kernel = entry.kernel("map0", k.body(vec![simd(i, l(begin), l(end), vec![store(at(y, l(i)), sum)])]));
    let mut h = F::new();
    let (a, x, y, n) = (h.input("a", F32), h.input("x", F32), h.output("y", F32), h.scalar("N", LONG));
    let args = vec![load(at(a, int(0)), F32), v(x, F32), v(y, F32)];
    let host = h.body(vec![launch(kernel, args, l(n), shared(16))]);
    entry.finish(host)
}

const DOT_BLOCK: i64 = 1000;

/// `x[n], y[n], out; n`: one partial sum for each block of 1000, then the sum of those in order.
fn dot() -> Entry {
    let mut entry = E::new("dot");
    let site = entry.site(FaultKind::Allocation, 1);
    let mut k = F::new();
    let (x, y, partial, n) = (k.input("x", F32), k.input("y", F32), k.output("partial", F32), k.scalar("n", LONG));
    let (begin, end) = k.range();
    let (b, i, acc) = (k.local("b", LONG), k.local("i", LONG), k.local("sum", F32));
    let stop = k.local("stop", LONG);
    let lo = mul(l(b), int(DOT_BLOCK));
    let body = vec![
        define(acc, float(0.0, F32)),
        define(stop, math(MathFn::Min, vec![l(n), add(lo.clone(), int(DOT_BLOCK))])),
        for_each(
            LoopKind::Simd { reductions: vec![(acc, FoldFn::Add)] },
            i,
            lo,
            l(stop),
            vec![set(acc, mul_add(load(at(x, l(i)), F32), load(at(y, l(i)), F32), v(acc, F32)))],
        ),
        store(at(partial, l(b)), v(acc, F32)),
    ];
    let kernel = entry.kernel("fold", k.body(vec![seq(b, l(begin), l(end), body)]));
    let mut h = F::new();
    let (x, y, out, n) = (h.input("x", F32), h.input("y", F32), h.output("out", F32), h.scalar("N", LONG));
    let (partial, blocks, b, total) =
        (h.buffer("partial", F32), h.local("blocks", LONG), h.local("b", LONG), h.local("total", F32));
    let args = vec![v(x, F32), v(y, F32), v(partial, F32), l(n)];
    let host = h.body(vec![
        define(blocks, bin(BinOp::Div, add(l(n), int(DOT_BLOCK - 1)), int(DOT_BLOCK))),
        Stmt::Alloc { var: partial, count: l(blocks), zero: false, site },
        launch(kernel, args, l(blocks), shared(1)),
        define(total, float(0.0, F32)),
        for_each(
            LoopKind::Unroll(4),
            b,
            int(0),
            l(blocks),
            vec![set(total, add(v(total, F32), load(at(partial, l(b)), F32)))],
        ),
        Stmt::Free(partial),
        store(at(out, int(0)), v(total, F32)),
    ]);
    entry.finish(host)
}

/// `x[m], idx[n], out[n]; m, n`: `out[i] = x[idx[i]]`, a fault with the index and `m` where that is outside.
fn gather(name: &str, schedule: Schedule) -> Entry {
    let mut entry = E::new(name);
    let site = entry.site(FaultKind::Index, 3);
    let mut k = F::new();
    let (x, idx, out, m) = (k.input("x", F64), k.input("idx", I32), k.output("out", F64), k.scalar("m", LONG));
    let (begin, end) = k.range();
    let (i, j) = (k.local("i", LONG), k.local("j", LONG));
    let inside = and(bin(BinOp::Ge, l(j), int(0)), lt(l(j), l(m)));
    let body = vec![
        define(j, cast(LONG, load(at(idx, l(i)), I32))),
        when(not(inside), vec![fault(site, vec![l(j), l(m), int(0)])]),
        store(at(out, l(i)), load(at(x, l(j)), F64)),
    ];
    let kernel = entry.kernel("map0", k.body(vec![seq(i, l(begin), l(end), body)]));
    let mut h = F::new();
    let (x, idx, out) = (h.input("x", F64), h.input("idx", I32), h.output("out", F64));
    let (m, n) = (h.scalar("M", LONG), h.scalar("N", LONG));
    let host = h.body(vec![launch(kernel, vec![v(x, F64), v(idx, I32), v(out, F64), l(m)], l(n), schedule)]);
    entry.finish(host)
}

/// `out[n]; n, c`: for each row, zeroed scratch of `c` elements, and in it a nested one; sums of what is written there.
fn rows() -> Entry {
    let mut entry = E::new("rows");
    let site = entry.site(FaultKind::Allocation, 1);
    let mut k = F::new();
    let (out, c) = (k.output("out", LONG), k.scalar("c", LONG));
    let (begin, end) = k.range();
    let (r, i, j) = (k.local("r", LONG), k.local("i", LONG), k.local("j", LONG));
    let (a, b, sum) = (k.buffer("a", LONG), k.buffer("b", LONG), k.local("sum", LONG));
    let inner = vec![
        Stmt::Scratch { var: b, count: add(l(c), l(r)), zero: true, site },
        store(at(b, add(l(c), sub(l(r), int(1)))), l(j)),
        set(sum, add(l(sum), add(load(at(b, int(0)), LONG), load(at(b, add(l(c), sub(l(r), int(1)))), LONG)))),
    ];
    let body = vec![
        Stmt::Scratch { var: a, count: l(c), zero: true, site },
        define(sum, int(0)),
        seq(i, int(1), l(c), vec![set(sum, add(l(sum), load(at(a, l(i)), LONG))), store(at(a, l(i)), l(r))]),
        seq(j, int(0), int(4), inner),
        store(at(out, l(r)), add(l(sum), load(at(a, sub(l(c), int(1))), LONG))),
    ];
    let kernel = entry.kernel("map0", k.body(vec![seq(r, l(begin), l(end), body)]));
    let mut h = F::new();
    let (out, n, c) = (h.output("out", LONG), h.scalar("N", LONG), h.scalar("C", LONG));
    let host = h.body(vec![launch(kernel, vec![v(out, LONG), l(c)], l(n), dynamic(2))]);
    entry.finish(host)
}

/// `keys[n], bins[4], low, product; n`: atomic counts, the atomic minimum of `float(key)`, the atomic product.
fn counts() -> Entry {
    let mut entry = E::new("counts");
    let mut k = F::new();
    let (keys, bins) = (k.input("keys", I32), k.output("bins", I32));
    let (low, product) = (k.output("low", F32), k.output("product", Scalar::U64));
    let (begin, end) = k.range();
    let (i, key) = (k.local("i", LONG), k.local("key", I32));
    let atomic = |target, op, value| Stmt::Atomic { target, op, value };
    let bin_of = bin(BinOp::And, cast(LONG, v(key, I32)), int(3));
    let body = vec![
        define(key, load(at(keys, l(i)), I32)),
        atomic(at(bins, bin_of), FoldFn::Add, constant(1, I32)),
        atomic(at(low, int(0)), FoldFn::Min, cast(F32, v(key, I32))),
        atomic(at(product, int(0)), FoldFn::Mul, constant(3, Scalar::U64)),
        atomic(at(product, int(1)), FoldFn::Xor, cast(Scalar::U64, v(key, I32))),
        atomic(at(product, int(2)), FoldFn::Max, cast(Scalar::U64, v(key, I32))),
        atomic(at(product, int(3)), FoldFn::Or, cast(Scalar::U64, v(key, I32))),
    ];
    let kernel = entry.kernel("map0", k.body(vec![seq(i, l(begin), l(end), body)]));
    let mut h = F::new();
    let (keys, bins) = (h.input("keys", I32), h.output("bins", I32));
    let (low, product, n) = (h.output("low", F32), h.output("product", Scalar::U64), h.scalar("N", LONG));
    let args = vec![v(keys, I32), v(bins, I32), v(low, F32), v(product, Scalar::U64)];
    entry.finish(h.body(vec![launch(kernel, args, l(n), dynamic(64))]))
}

/// `idx[n], out[m], flags[m]; n`: conflicting relaxed stores of pairs whose halves must agree, and of flags.
fn scatter() -> Entry {
    let mut entry = E::new("scatter");
    let ty = Ty::Struct(best());
    let mut k = F::new();
    let (idx, out, flags) = (k.input("idx", I32), k.output("out", ty), k.output("flags", Scalar::Bool));
    let (begin, end) = k.range();
    let (i, j, old) = (k.local("i", LONG), k.local("j", LONG), k.local("old", ty));
    let value = structure(best(), vec![cast(F32, load(at(idx, l(i)), I32)), load(at(idx, l(i)), I32)]);
    let body = vec![
        define(j, cast(LONG, load(at(idx, l(i)), I32))),
        define(old, load(relaxed(out, l(j)), ty)),
        when(
            bin(BinOp::Ge, get(v(old, ty), 1, I32), constant(-1, I32)),
            vec![store(relaxed(out, l(j)), value), store(relaxed(flags, l(j)), e(ExprKind::Bool(true), Scalar::Bool))],
        ),
    ];
    let kernel = entry.kernel("map0", k.body(vec![seq(i, l(begin), l(end), body)]));
    let mut h = F::new();
    let (idx, out) = (h.input("idx", I32), h.output("out", ty));
    let (flags, n) = (h.output("flags", Scalar::Bool), h.scalar("N", LONG));
    let args = vec![v(idx, I32), v(out, ty), v(flags, Scalar::Bool)];
    entry.finish(h.body(vec![launch(kernel, args, l(n), shared(1))]))
}

/// `pairs[n]; n`: fields of fields of elements and of a local struct.
fn bests() -> Entry {
    let mut entry = E::new("bests");
    let (best_ty, pair_ty) = (Ty::Struct(best()), Ty::Struct(pair()));
    let mut k = F::new();
    let pairs = k.output("pairs", pair_ty);
    let (begin, end) = k.range();
    let (i, local) = (k.local("i", LONG), k.local("local", pair_ty));
    let inner = structure(best(), vec![float(0.5, F32), cast(I32, l(i))]);
    let body = vec![
        define(local, structure(pair(), vec![inner, load(field(pairs, l(i), &[1]), F64)])),
        Stmt::Set { var: local, path: vec![0, 0], value: float(1.5, F32) },
        store(field(pairs, l(i), &[0]), get(v(local, pair_ty), 0, best_ty)),
        store(field(pairs, l(i), &[1]), add(get(v(local, pair_ty), 1, F64), float(0.1, F64))),
        store(
            field(pairs, l(i), &[0, 1]),
            add(load(field(pairs, l(i), &[0, 1]), I32), get(get(v(local, pair_ty), 0, best_ty), 1, I32)),
        ),
    ];
    let kernel = entry.kernel("map0", k.body(vec![simd(i, l(begin), l(end), body)]));
    let mut h = F::new();
    let (pairs, n) = (h.output("pairs", pair_ty), h.scalar("N", LONG));
    entry.finish(h.body(vec![launch(kernel, vec![v(pairs, pair_ty)], l(n), shared(4))]))
}

/// `x[n], out[4]; n`: control flow of the host: loops with steps, `continue`, scopes left early, exchanged buffers.
fn host_flow() -> Entry {
    let mut entry = E::new("host_flow");
    let allocation = entry.site(FaultKind::Allocation, 1);
    let odd = entry.site(FaultKind::Narrowing, 1);
    let mut h = F::new();
    let (x, out, n) = (h.input("x", LONG), h.output("out", LONG), h.scalar("N", LONG));
    let (a, b) = (h.buffer("a", LONG), h.buffer("b", LONG));
    let (s, sum, i, at_x) = (h.local("s", LONG), h.local("sum", LONG), h.local("i", LONG), h.local("at", LONG));
    let increase = |var, by| set(var, add(l(var), by));
    let is = |var, value| bin(BinOp::Eq, l(var), int(value));
    let step = vec![increase(s, int(1))];
    let body = vec![
        when(bin(BinOp::Ge, l(s), int(10)), vec![Stmt::Break]),
        when(is(s, 3), vec![Stmt::Continue]),
        seq(
            i,
            int(0),
            int(5),
            vec![when(is(i, 2), vec![Stmt::Continue]), when(is(i, 4), vec![Stmt::Break]), increase(sum, int(1))],
        ),
        Stmt::If {
            cond: is(s, 4),
            then: block(vec![increase(sum, int(1000))]),
            otherwise: block(vec![Stmt::If {
                cond: is(s, 5),
                then: block(vec![increase(sum, int(2000))]),
                otherwise: block(vec![increase(sum, l(s))]),
            }]),
        },
    ];
    let scope = Stmt::Scope {
        label: 7,
        body: block(vec![
            seq(
                at_x,
                int(0),
                l(n),
                vec![when(bin(BinOp::Lt, load(at(x, l(at_x)), LONG), int(0)), vec![Stmt::Leave(Some(7))])],
            ),
            store(at(out, int(1)), int(1)),
        ]),
    };
    let host = h.body(vec![
        Stmt::Alloc { var: a, count: l(n), zero: true, site: allocation },
        Stmt::Alloc { var: b, count: add(l(n), int(0)), zero: false, site: allocation },
        store(at(b, int(0)), int(42)),
        Stmt::Swap(a, b),
        store(at(out, int(2)), add(load(at(a, int(0)), LONG), load(at(b, int(0)), LONG))),
        Stmt::Free(b),
        define(sum, int(0)),
        define(s, int(0)),
        Stmt::Forever { body: block(body), step: block(step) },
        store(at(out, int(0)), l(sum)),
        store(at(out, int(1)), int(0)),
        scope,
        when(bin(BinOp::Eq, load(at(x, int(0)), LONG), int(77)), vec![fault(odd, vec![int(i64::MIN)])]),
        when(bin(BinOp::Eq, load(at(x, int(0)), LONG), int(78)), vec![Stmt::Leave(None)]),
        store(at(out, int(3)), int(99)),
    ]);
    entry.finish(host)
}

/// `x[n], out[n]; n`: blocks of 100 doubled in a tile, then streamed out.
fn stream() -> Entry {
    let mut entry = E::new("stream");
    let mut k = F::new();
    let (x, out, n) = (k.input("x", F32), k.output("out", F32), k.scalar("n", LONG));
    let (begin, end) = k.range();
    let (b, i, count, tile) = (k.local("b", LONG), k.local("i", LONG), k.local("count", LONG), k.tile("row", F32, 100));
    let first = mul(l(b), int(100));
    let body = vec![
        Stmt::Let { var: tile, init: None },
        define(count, math(MathFn::Min, vec![int(100), sub(l(n), first.clone())])),
        simd(
            i,
            int(0),
            l(count),
            vec![store(at(tile, l(i)), mul(float(2.0, F32), load(at(x, add(first.clone(), l(i))), F32)))],
        ),
        Stmt::StreamOut { target: at(out, first), tile, count: l(count) },
    ];
    let kernel = entry.kernel("map0", k.body(vec![seq(b, l(begin), l(end), body)]));
    let mut h = F::new();
    let (x, out, n) = (h.input("x", F32), h.output("out", F32), h.scalar("N", LONG));
    let blocks = bin(BinOp::Div, add(l(n), int(99)), int(100));
    entry.finish(h.body(vec![launch(kernel, vec![v(x, F32), v(out, F32), l(n)], blocks, shared(1))]))
}

/// `a[n], b[n], out[n], m[n]; n`: scalar functions, one of which raises.
fn traps() -> Entry {
    let mut entry = E::new("traps");
    let program = program();
    entry.site(FaultKind::Index, 3);
    trap_sites(&program, steps()).into_iter().for_each(|site| {
        entry.site_at(site);
    });
    let u32_ty = Scalar::U32;
    let mut k = F::new();
    let (a, b, out, m) = (k.input("a", LONG), k.input("b", LONG), k.output("out", LONG), k.output("m", u32_ty));
    let (begin, end) = k.range();
    let i = k.local("i", LONG);
    let middle = call(mid(), u32_ty, vec![constant(4_000_000_000, u32_ty), constant(4_200_000_000, u32_ty)]);
    let body = vec![
        store(at(out, l(i)), call(steps(), LONG, vec![load(at(a, l(i)), LONG), load(at(b, l(i)), LONG)])),
        Stmt::CheckTrap,
        store(at(m, l(i)), middle),
    ];
    let kernel = entry.kernel("map0", k.body(vec![seq(i, l(begin), l(end), body)]));
    let mut h = F::new();
    let (a, b) = (h.input("a", LONG), h.input("b", LONG));
    let (out, m, n) = (h.output("out", LONG), h.output("m", u32_ty), h.scalar("N", LONG));
    let args = vec![v(a, LONG), v(b, LONG), v(out, LONG), v(m, u32_ty)];
    entry.finish(h.body(vec![launch(kernel, args, l(n), shared(1))]))
}

/// `out; n`: allocations that cannot succeed, on the host for `n = 0`, in a kernel for `n = 1`.
fn huge() -> Entry {
    let mut entry = E::new("huge");
    let on_host = entry.site(FaultKind::Allocation, 1);
    let in_kernel = entry.site(FaultKind::Allocation, 1);
    let mut k = F::new();
    let out = k.output("out", LONG);
    let _ = k.range();
    let scratch = k.buffer("scratch", LONG);
    let kernel = entry.kernel(
        "map0",
        k.body(vec![
            Stmt::Scratch { var: scratch, count: int(1 << 62), zero: false, site: in_kernel },
            store(at(out, int(0)), int(1)),
        ]),
    );
    let mut h = F::new();
    let (out, n) = (h.output("out", LONG), h.scalar("N", LONG));
    let buffers: Vec<VarId> = (0..40).map(|_| h.buffer("small", LONG)).collect();
    let big = h.buffer("big", LONG);
    let mut body: Vec<Stmt> =
        buffers.into_iter().map(|var| Stmt::Alloc { var, count: int(0), zero: true, site: on_host }).collect();
    body.push(when(
        bin(BinOp::Eq, l(n), int(0)),
        vec![Stmt::Alloc { var: big, count: int(1 << 50), zero: true, site: on_host }, store(at(out, int(0)), int(1))],
    ));
    body.push(launch(kernel, vec![v(out, LONG)], l(n), shared(1)));
    entry.finish(h.body(body))
}

/// `count, index[n]; n`
fn workers() -> Entry {
    let mut entry = E::new("workers");
    let mut k = F::new();
    let out = k.output("index", LONG);
    let (begin, end) = k.range();
    let i = k.local("i", LONG);
    let index = e(ExprKind::WorkerIndex, LONG);
    let kernel = entry.kernel("map0", k.body(vec![simd(i, l(begin), l(end), vec![store(at(out, l(i)), index)])]));
    let mut h = F::new();
    let (count, out, n) = (h.output("count", LONG), h.output("index", LONG), h.scalar("N", LONG));
    let host = h.body(vec![
        store(at(count, int(0)), e(ExprKind::WorkerCount, LONG)),
        launch(kernel, vec![v(out, LONG)], l(n), shared(4)),
    ]);
    entry.finish(host)
}

/// `x[n], out[2], any, sums[2]; n`: reductions of every kind in one simd loop.
fn extremes() -> Entry {
    let mut entry = E::new("extremes");
    let mut k = F::new();
    let (x, out, any) = (k.input("x", F32), k.output("out", F32), k.output("any", Scalar::Bool));
    let sums = k.output("sums", I32);
    let (begin, end) = k.range();
    let (i, low, high, some) =
        (k.local("i", LONG), k.local("low", F32), k.local("high", F32), k.local("some", Scalar::Bool));
    let (least, all) = (k.local("least", I32), k.local("all", I32));
    let value = || load(at(x, l(i)), F32);
    let whole = || cast(I32, value());
    let body = vec![
        set(low, math(MathFn::Min, vec![v(low, F32), value()])),
        set(high, math(MathFn::Max, vec![v(high, F32), value()])),
        set(some, bin(BinOp::Or, v(some, Scalar::Bool), lt(value(), float(-1e9, F32)))),
        set(least, math(MathFn::Min, vec![v(least, I32), whole()])),
        set(all, bin(BinOp::And, v(all, I32), whole())),
    ];
    let reductions =
        vec![(low, FoldFn::Min), (high, FoldFn::Max), (some, FoldFn::Or), (least, FoldFn::Min), (all, FoldFn::And)];
    let kernel = entry.kernel(
        "fold",
        k.body(vec![
            define(low, load(at(x, int(0)), F32)),
            define(high, load(at(x, int(0)), F32)),
            define(some, e(ExprKind::Bool(false), Scalar::Bool)),
            define(least, constant(i32::MAX.into(), I32)),
            define(all, constant(-1, I32)),
            for_each(LoopKind::Simd { reductions }, i, l(begin), l(end), body),
            store(at(out, int(0)), v(low, F32)),
            store(at(out, int(1)), v(high, F32)),
            store(at(any, int(0)), v(some, Scalar::Bool)),
            store(at(sums, int(0)), v(least, I32)),
            store(at(sums, int(1)), v(all, I32)),
        ]),
    );
    let mut h = F::new();
    let (x, out, any) = (h.input("x", F32), h.output("out", F32), h.output("any", Scalar::Bool));
    let (sums, n) = (h.output("sums", I32), h.scalar("N", LONG));
    let args = vec![v(x, F32), v(out, F32), v(any, Scalar::Bool), v(sums, I32)];
    entry.finish(h.body(vec![launch(kernel, args, l(n), Schedule::Serial)]))
}

/// `x[n], out[3]; n`: a primitive with operators of all kinds, which faults where `n` is odd.
fn primitive() -> Entry {
    let mut entry = E::new("primitive");
    let odd = entry.site(FaultKind::Segment, 1);
    trap_sites(&program(), ratio()).into_iter().for_each(|site| {
        entry.site_at(site);
    });
    let mut h = F::new();
    let (x, out, n) = (h.input("x", LONG), h.output("out", LONG), h.scalar("N", LONG));
    let (sum, quotient) = (h.local("sum", LONG), h.local("quotient", LONG));
    let fold = |op, result| {
        let base = PrimArg::Address { base: x, offset: int(1) };
        Stmt::Prim(Prim {
            function: "test_fold".into(),
            header: "prim/test_fold.hpp".into(),
            template: vec![TemplateArg::Ty(LONG.into()), op],
            args: vec![base, PrimArg::Value(sub(l(n), int(1))), PrimArg::Out(result)],
            sites: vec![odd],
        })
    };
    let host = h.body(vec![
        Stmt::Let { var: sum, init: None },
        fold(TemplateArg::Op(FoldFn::Add, LONG.into()), sum),
        store(at(out, int(0)), l(sum)),
        define(quotient, int(0)),
        fold(TemplateArg::Fn(ratio()), quotient),
        Stmt::CheckTrap,
        store(at(out, int(1)), l(quotient)),
    ]);
    entry.finish(host)
}

/// `x[n], out_0[n] … out_10[n]; n`: casts to every type.
fn casts(from: Scalar) -> Entry {
    let mut entry = E::new(&format!("cast_{}", from.rust_name()));
    let mut k = F::new();
    let x = k.input("x", from);
    let outs = Scalar::ALL.map(|to| (k.output(to.rust_name(), to), to));
    let (begin, end) = k.range();
    let loops = outs.map(|(out, to)| {
        let i = k.local("i", LONG);
        simd(i, l(begin), l(end), vec![store(at(out, l(i)), cast(to, load(at(x, l(i)), from)))])
    });
    let kernel = entry.kernel("map0", k.body(loops.into()));
    let mut h = F::new();
    let x = h.input("x", from);
    let outs = Scalar::ALL.map(|to| (h.output(to.rust_name(), to), to));
    let n = h.scalar("N", LONG);
    let args = std::iter::once(v(x, from)).chain(outs.map(|(out, to)| v(out, to))).collect();
    entry.finish(h.body(vec![launch(kernel, args, l(n), shared(8))]))
}

/// The operators that [`arithmetic`] applies, in the order of its outputs.
pub(crate) const OPERATORS: [&str; 15] =
    ["add", "sub", "mul", "div", "rem", "and", "or", "xor", "shl", "shr", "min", "max", "neg", "not", "abs"];

/// `a[n], b[n], s[n] (uint8 shift counts), out[15 n]; n`
fn arithmetic(ty: Scalar) -> Entry {
    let mut entry = E::new(&format!("arith_{}", ty.rust_name()));
    let mut k = F::new();
    let (a, b, s, out) = (k.input("a", ty), k.input("b", ty), k.input("s", Scalar::U8), k.output("out", ty));
    let n = k.scalar("n", LONG);
    let (begin, end) = k.range();
    let i = k.local("i", LONG);
    let (x, y) = (|| load(at(a, l(i)), ty), || load(at(b, l(i)), ty));
    let shift = || load(at(s, l(i)), Scalar::U8);
    let unary = |op| e(ExprKind::Unary(op, Box::new(x())), ty);
    let values = [
        add(x(), y()),
        sub(x(), y()),
        mul(x(), y()),
        bin(BinOp::Div, x(), y()),
        bin(BinOp::Rem, x(), y()),
        bin(BinOp::And, x(), y()),
        bin(BinOp::Or, x(), y()),
        bin(BinOp::Xor, x(), y()),
        bin(BinOp::Shl, x(), shift()),
        bin(BinOp::Shr, x(), shift()),
        math(MathFn::Min, vec![x(), y()]),
        math(MathFn::Max, vec![x(), y()]),
        unary(UnOp::Neg),
        unary(UnOp::BitNot),
        math(MathFn::Abs, vec![x()]),
    ];
    let stores =
        values.into_iter().zip(0..).map(|(value, at_op)| store(at(out, add(l(i), mul(l(n), int(at_op)))), value));
    let body = vec![seq(i, l(begin), l(end), stores.collect())];
    let kernel = entry.kernel("map0", k.body(body));
    let mut h = F::new();
    let (a, b, s, out) = (h.input("a", ty), h.input("b", ty), h.input("s", Scalar::U8), h.output("out", ty));
    let n = h.scalar("N", LONG);
    let args = vec![v(a, ty), v(b, ty), v(s, Scalar::U8), v(out, ty), l(n)];
    entry.finish(h.body(vec![launch(kernel, args, l(n), shared(1))]))
}

/// What the header of the primitive of [`primitive`] holds.
pub(crate) const TEST_FOLD: &str = r"
#pragma once
#include <hidp/host.hpp>
#include <hidp/ops.hpp>
HIDP_NAMESPACE_BEGIN
template <class T, class Op>
bool test_fold(Host &host, uint32_t odd, const T *in, int64_t size, T *result) {
  if (size % 2 == 0) return host.trap.raise(odd, 1, size), false;
  Op op(host.trap);
  T value = in[0];
  for (int64_t i = 1; i < size; ++i) value = op(value, in[i]);
  *result = value;
  return true;
}
HIDP_NAMESPACE_END
";
