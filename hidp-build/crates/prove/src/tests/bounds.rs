use crate::testing::*;
use crate::{Facts, RemainingKind, bounds, remaining};
use hidp_ir::par::*;
use hidp_ir::par::{read, verify};
use hidp_syntax::ast::Direction;
use hidp_syntax::ty::Scalar::{F32, I32, I64};

/// The kinds of tests that remain, in order.
fn left((mut program, func): (Program, FuncId)) -> Vec<RemainingKind> {
    bounds(&mut program, func);
    remaining(&program, func).into_iter().map(|check| check.kind).collect()
}

/// `map { i := [lo:hi) } out[index(i)] = 0` over `out[N]`.
fn one_store(
    lo: impl Fn(&mut Build, VarId) -> Expr,
    hi: impl Fn(&mut Build, VarId) -> Expr,
    index: impl Fn(&mut Build, VarId, VarId) -> Expr,
) -> Vec<RemainingKind> {
    let mut b = Build::new();
    let n = b.dim("N");
    let shape = vec![b.read(n)];
    let out = b.inout("out", I64, shape);
    let i = b.iter("i");
    let (lo, hi) = (lo(&mut b, n), hi(&mut b, n));
    let iter = b.range(i, lo, hi);
    let index = index(&mut b, i, n);
    let zero = b.int(0);
    let store = b.store(out, vec![index], zero);
    let map = b.map(vec![iter], vec![store], vec![]);
    left(b.program(vec![map]))
}

const INDEX: RemainingKind = RemainingKind::Index(0);

#[test]
fn whole_range_is_inside() {
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), |b, i, _| b.read(i)), []);
}

#[test]
fn one_too_many_is_not() {
    assert_eq!(one_store(|b, _| b.int(0), |b, n| add(b.read(n), b.int(1)), |b, i, _| b.read(i)), [INDEX]);
    assert_eq!(one_store(|b, _| b.int(-1), |b, n| b.read(n), |b, i, _| b.read(i)), [INDEX]);
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), |b, i, _| add(b.read(i), b.int(1))), [INDEX]);
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), |b, i, _| sub(b.read(i), b.int(1))), [INDEX]);
}

#[test]
fn a_constant_index_needs_a_large_enough_array() {
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), |b, _, _| b.int(0)), []);
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), |b, _, _| b.int(1)), [INDEX]);
    assert_eq!(one_store(|b, _| b.int(0), |b, _| b.int(3), |b, _, _| b.int(0)), [INDEX]);
}

#[test]
fn reflection_and_division_and_remainder() {
    let all = |index: fn(&mut Build, VarId, VarId) -> Expr| one_store(|b, _| b.int(0), |b, n| b.read(n), index);
    assert_eq!(all(|b, i, n| sub(sub(b.read(n), b.int(1)), b.read(i))), []);
    assert_eq!(all(|b, i, _| div(b.read(i), b.int(2))), []);
    assert_eq!(all(|b, i, n| rem(add(b.read(i), b.int(1)), b.read(n))), []);
    assert_eq!(all(|b, i, n| rem(sub(b.read(i), b.int(1)), b.read(n))), [INDEX]);
    assert_eq!(all(|b, i, _| mul(b.read(i), b.int(2))), [INDEX]);
    let half =
        one_store(|b, _| b.int(0), |b, n| div(b.read(n), b.int(2)), |b, i, _| add(mul(b.read(i), b.int(2)), b.int(1)));
    assert_eq!(half, []);
}

#[test]
fn an_index_of_no_array_goes_with_the_condition_that_always_holds() {
    let index_of = |less: i64| {
        let mut b = Build::new();
        let n = b.dim("N");
        let shape = vec![b.read(n)];
        let out = b.inout("out", I64, shape);
        let i = b.iter("i");
        let (lo, hi) = (b.int(0), b.read(n));
        let iter = b.range(i, lo, hi);
        let cond = lt(b.read(i), sub(b.read(n), b.int(less)));
        let index = select(cond, b.read(i), b.int(-1));
        let zero = b.int(0);
        let store = b.store(out, vec![index], zero);
        let map = b.map(vec![iter], vec![store], vec![]);
        let (mut program, func) = b.program(vec![map]);
        bounds(&mut program, func);
        let left = remaining(&program, func).len();
        let mut plain = false;
        visit::walk_places(&program.funcs[func].body, |place, _| {
            plain = matches!(place.index[0].kind, ExprKind::Read(_))
        });
        (plain, left)
    };
    assert_eq!(index_of(0), (true, 0));
    assert_eq!(index_of(1), (false, 1));
}

#[test]
fn clamped_and_selected_indices() {
    let all = |index: fn(&mut Build, VarId, VarId) -> Expr| one_store(|b, _| b.int(0), |b, n| b.read(n), index);
    assert_eq!(all(|b, i, _| math(MathFn::Max, vec![sub(b.read(i), b.int(1)), b.int(0)])), []);
    let last = |b: &mut Build, n| sub(b.read(n), b.int(1));
    let up = move |b: &mut Build, i, n| math(MathFn::Min, vec![add(b.read(i), b.int(1)), last(b, n)]);
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), up), []);
    let wrapped = |b: &mut Build, i, n| {
        let cond = lt(add(b.read(i), b.int(1)), b.read(n));
        select(cond, add(b.read(i), b.int(1)), b.int(0))
    };
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), wrapped), []);
    let wrong = |b: &mut Build, i, n| {
        let cond = lt(b.read(i), b.read(n));
        select(cond, add(b.read(i), b.int(1)), b.int(0))
    };
    assert_eq!(one_store(|b, _| b.int(0), |b, n| b.read(n), wrong), [INDEX]);
}

#[test]
fn arithmetic_that_may_wrap_is_no_proof() {
    // i * 2^62 is 0 modulo 2^63 for every second i: in range for some, but nothing may be concluded.
    let huge = one_store(|b, _| b.int(0), |b, n| b.read(n), |b, i, _| mul(b.read(i), b.int(1 << 62)));
    assert_eq!(huge, [INDEX]);
    // The bound wraps: 2^56 * 2^8 = 2^64 = 0.
    let bound = one_store(|b, _| b.int(0), |b, n| mul(b.read(n), b.int(1 << 10)), |b, i, _| b.read(i));
    assert_eq!(bound, [INDEX]);
}

#[test]
fn narrow_arithmetic_wraps_at_its_own_width() {
    let mut b = Build::new();
    let n = b.dim("N");
    let shape = vec![b.read(n)];
    let out = b.inout("out", I64, shape);
    let k = b.input("_k", I32, vec![]);
    // if (k + 1 > 0 && k + 1 < N) out[k + 1]: the sum is an opaque value, equal to itself.
    let one = |b: &mut Build| convert(b.int(1), I32, ConvertMode::Cast);
    let sum = |b: &mut Build| convert(add(b.read(k), one(b)), I64, ConvertMode::Cast);
    let cond = and(ge(sum(&mut b), b.int(0)), lt(sum(&mut b), b.read(n)));
    let (index, zero) = (sum(&mut b), b.int(0));
    let guarded = b.store(out, vec![index], zero);
    let guarded = b.if_(cond, vec![guarded], vec![]);
    // if (k >= 0 && k < N) out[k + 1 - 1 in int]: k + 1 might wrap, but minus 1 undoes it ... not proved, rightly modest.
    let cond = and(
        ge(convert(b.read(k), I64, ConvertMode::Cast), b.int(0)),
        lt(convert(b.read(k), I64, ConvertMode::Cast), b.read(n)),
    );
    let (index, zero) = (sum(&mut b), b.int(0));
    let beyond = b.store(out, vec![index], zero);
    let beyond = b.if_(cond, vec![beyond], vec![]);
    assert_eq!(left(b.program(vec![guarded, beyond])), [INDEX]);
}

#[test]
fn gemm_has_no_tests() {
    let mut b = Build::new();
    let [m, n, k] = ["M", "N", "K"].map(|name| b.dim(name));
    let shape = |b: &mut Build, x, y| vec![b.read(x), b.read(y)];
    let (sa, sb, sc) = (shape(&mut b, m, k), shape(&mut b, k, n), shape(&mut b, m, n));
    let (a, bb) = (b.input("A", F32, sa), b.input("B", F32, sb));
    let c = b.inout("C", F32, sc);
    let sc1 = shape(&mut b, m, n);
    let c1 = b.local("C1", F32, sc1);
    let [im, in_, ik] = ["m", "n", "k"].map(|name| b.iter(name));
    let iters = [(im, m), (in_, n), (ik, k)].map(|(iter, dim)| {
        let (lo, hi) = (b.int(0), b.read(dim));
        b.range(iter, lo, hi)
    });
    let t = b.local("_c0", F32, vec![]);
    let (ia, ib) = (shape(&mut b, im, ik), shape(&mut b, ik, in_));
    let product = mul(b.load(a, ia), b.load(bb, ib));
    let body = vec![b.declare(t), b.assign(t, product)];
    let it = shape(&mut b, im, in_);
    let target = Target::Element(b.place(c1, it));
    let fold = b.reduce(target, t, vec![ik]);
    let product = b.map(iters.to_vec(), body, vec![fold]);
    let iters = [(im, m), (in_, n)].map(|(iter, dim)| {
        let (lo, hi) = (b.int(0), b.read(dim));
        b.range(iter, lo, hi)
    });
    let (i1, i2, i3) = (shape(&mut b, im, in_), shape(&mut b, im, in_), shape(&mut b, im, in_));
    let sum = add(b.load(c1, i1), b.load(c, i2));
    let store = b.store(c, i3, sum);
    let update = b.map(iters.to_vec(), vec![store], vec![]);
    let body = vec![b.declare(c1), product, update];
    assert_eq!(left(b.program(body)), []);
}

#[test]
fn a_fold_over_an_empty_range_still_writes() {
    // map { i := [0:N); k := [0:0); t = 0; } reduce("+", out[i + 5], t, k := [*])
    let mut b = Build::new();
    let n = b.dim("N");
    let shape = vec![b.read(n)];
    let out = b.inout("out", F32, shape);
    let (i, k) = (b.iter("i"), b.iter("k"));
    let (lo, hi) = (b.int(0), b.read(n));
    let ri = b.range(i, lo, hi);
    let (lo, hi) = (b.int(0), b.int(0));
    let rk = b.range(k, lo, hi);
    let t = b.local("t", F32, vec![]);
    let index = add(b.read(i), b.int(5));
    let target = Target::Element(b.place(out, vec![index]));
    let fold = b.reduce(target, t, vec![k]);
    let declare = b.declare(t);
    let map = b.map(vec![ri, rk], vec![declare], vec![fold]);
    assert_eq!(left(b.program(vec![map])), [INDEX]);
}

#[test]
fn spmv_keeps_what_depends_on_data() {
    let mut b = Build::new();
    let [r, z, c] = ["R", "Z", "C"].map(|name| b.dim(name));
    let shape = vec![add(b.read(r), b.int(1))];
    let rowptr = b.input("rowptr", I32, shape);
    let shape = vec![b.read(z)];
    let col = b.input("col", I32, shape);
    let shape = vec![b.read(z)];
    let val = b.input("val", F32, shape);
    let shape = vec![b.read(c)];
    let x = b.input("x", F32, shape);
    let shape = vec![b.read(r)];
    let y = b.param("y", Direction::Output, F32, shape);
    let (ir, ik) = (b.iter("r"), b.iter("k"));
    let (lo, hi) = (b.int(0), b.read(r));
    let rows = b.range(ir, lo, hi);
    let index = b.read(ir);
    let lo = convert(b.load(rowptr, vec![index]), I64, ConvertMode::Cast);
    let index = add(b.read(ir), b.int(1));
    let hi = convert(b.load(rowptr, vec![index]), I64, ConvertMode::Cast);
    let entries = b.range(ik, lo, hi);
    let t = b.local("_t", F32, vec![]);
    let (k1, k2) = (b.read(ik), b.read(ik));
    let column = convert(b.load(col, vec![k2]), I64, ConvertMode::Cast);
    let product = mul(b.load(val, vec![k1]), b.load(x, vec![column]));
    let body = vec![b.declare(t), b.assign(t, product)];
    let index = b.read(ir);
    let target = Target::Element(b.place(y, vec![index]));
    let fold = b.reduce(target, t, vec![ik]);
    let inner = b.map(vec![entries], body, vec![fold]);
    let outer = b.map(vec![rows], vec![inner], vec![]);
    let (mut program, func) = b.program(vec![outer]);
    bounds(&mut program, func);
    let checks = remaining(&program, func);
    assert_eq!(checks.iter().map(|check| check.kind).collect::<Vec<_>>(), [INDEX; 3]);
    assert!(checks.iter().any(|check| check.reason.contains("`rowptr`") || check.reason.contains("bounds")));
}

#[test]
fn flattened_matrices_are_inside() {
    // A[M * N], map { i := [0:M); j := [0:N) } A[i * N + j] = 0
    let mut b = Build::new();
    let (m, n) = (b.dim("M"), b.dim("N"));
    let shape = vec![mul(b.read(m), b.read(n))];
    let a = b.inout("A", F32, shape);
    let (i, j) = (b.iter("i"), b.iter("j"));
    let (lo, hi) = (b.int(0), b.read(m));
    let ri = b.range(i, lo, hi);
    let (lo, hi) = (b.int(0), b.read(n));
    let rj = b.range(j, lo, hi);
    let index = add(mul(b.read(i), b.read(n)), b.read(j));
    let value = convert(b.int(0), F32, ConvertMode::Cast);
    let store = b.store(a, vec![index], value);
    let map = b.map(vec![ri, rj], vec![store], vec![]);
    assert_eq!(left(b.program(vec![map])), []);
}

#[test]
fn local_extents_are_those_of_the_declaration() {
    // long n = N; float t[n]; n = n + 1; map { i := [0:n) } t[i] = 0
    for grow in [false, true] {
        let mut b = Build::new();
        let dim = b.dim("N");
        let shape = vec![b.read(dim)];
        b.inout("A", I64, shape);
        let n = b.local("n", I64, vec![]);
        let shape = vec![b.read(n)];
        let t = b.local("t", I64, shape);
        let value = b.read(dim);
        let mut body = vec![b.declare(n), b.assign(n, value), b.declare(t)];
        if grow {
            let value = add(b.read(n), b.int(1));
            body.push(b.assign(n, value));
        }
        let i = b.iter("i");
        let (lo, hi) = (b.int(0), b.read(n));
        let iter = b.range(i, lo, hi);
        let (index, zero) = (b.read(i), b.int(0));
        let store = b.store(t, vec![index], zero);
        body.push(b.map(vec![iter], vec![store], vec![]));
        assert_eq!(left(b.program(body)).is_empty(), !grow);
    }
}

#[test]
fn loops_forget_what_they_change() {
    // long s = 0; while (s < N) { A[s] = 0; s = s + 1 }: s >= 0 is an invariant; with s = s - 1 it is none.
    for down in [false, true] {
        let mut b = Build::new();
        let n = b.dim("N");
        let shape = vec![b.read(n)];
        let a = b.inout("A", I64, shape);
        let s = b.local("s", I64, vec![]);
        let zero = b.int(0);
        let mut body = vec![b.declare(s), b.assign(s, zero)];
        let cond = lt(b.read(s), b.read(n));
        let (index, zero) = (b.read(s), b.int(0));
        let store = b.store(a, vec![index], zero);
        let next = if down { sub(b.read(s), b.int(1)) } else { add(b.read(s), b.int(1)) };
        let step = b.assign(s, next);
        body.push(b.while_(cond, vec![store], vec![step]));
        assert_eq!(left(b.program(body)), if down { vec![INDEX] } else { vec![] });
    }
}

#[test]
fn a_guard_that_leaves_proves_what_follows() {
    // map { i := [0:M); if (i >= N) ... in a loop: continue; A[i] = 0 }
    let mut b = Build::new();
    let n = b.dim("N");
    let shape = vec![b.read(n)];
    let a = b.inout("A", I64, shape);
    let k = b.input("_k", I64, vec![]);
    let zero = b.int(0);
    let outside = lt(b.read(k), zero);
    let leave = b.stmt(StmtKind::Leave);
    let negative = b.if_(outside, vec![leave], vec![]);
    let beyond = ge(b.read(k), b.read(n));
    let leave = b.stmt(StmtKind::Leave);
    let beyond = b.if_(beyond, vec![leave], vec![]);
    let (index, zero) = (b.read(k), b.int(0));
    let store = b.store(a, vec![index], zero);
    let scope = b.stmt(StmtKind::Scope(Block { stmts: vec![negative, beyond, store] }));
    // Outside the scope nothing is known.
    let (index, zero) = (b.read(k), b.int(0));
    let after = b.store(a, vec![index], zero);
    assert_eq!(left(b.program(vec![scope, after])), [INDEX]);
}

#[test]
fn divisors_and_narrowing() {
    let mut b = Build::new();
    let n = b.dim("N");
    let shape = vec![b.read(n)];
    let a = b.inout("A", I64, shape);
    let i = b.iter("i");
    let (lo, hi) = (b.int(0), b.read(n));
    let iter = b.range(i, lo, hi);
    // N > i >= 0, so N is no zero here.
    let quotient = div(b.read(i), b.read(n));
    let index = b.read(i);
    let fine = b.store(a, vec![index], quotient);
    let quotient = div(b.read(n), b.read(i));
    let index = b.read(i);
    let fault = b.store(a, vec![index], quotient);
    let narrow = convert(convert(b.read(i), I32, ConvertMode::Checked), I64, ConvertMode::Cast);
    let index = b.read(i);
    let narrow = b.store(a, vec![index], narrow);
    let map = b.map(vec![iter], vec![fine, fault, narrow], vec![]);
    assert_eq!(left(b.program(vec![map])), [RemainingKind::Division, RemainingKind::Narrowing]);
}

#[test]
fn questions_about_extents() {
    let mut b = Build::new();
    let (n, m) = (b.dim("N"), b.dim("M"));
    let shape = vec![b.read(n), b.read(m)];
    b.inout("A", I64, shape);
    let n_plus_one = add(b.read(n), b.int(1));
    let one_plus_n = add(b.int(1), b.read(n));
    let (n_read, m_read) = (b.read(n), b.read(m));
    let (program, func) = b.program(vec![]);
    let facts = Facts::new(&program.funcs[func]);
    assert!(facts.same_extent(&n_plus_one, &one_plus_n));
    assert!(!facts.same_extent(&n_read, &m_read));
    assert!(facts.proves_le(&n_read, &one_plus_n));
    assert!(!facts.proves_le(&one_plus_n, &n_read));
}

/// What remains of the function `f` of a program in textual form.
fn remains(text: &str) -> Vec<RemainingKind> {
    let program = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let func = program.entries[0];
    left((program, func))
}

#[test]
fn a_required_segment_is_inside_where_it_is_not_empty() {
    let text = |cond: &str| {
        format!(
            "func f(a, lo, hi, y) dims (N, S) {{
               vars {{ N: long dim; S: long dim; a: float[N] input; lo: int[S] input; hi: int[S] input; y: float[S] inout;
                      s: long iter; k: long iter; v: float local; l: long local; h: long local; }}
               map (s = 0 .. S by 1) {{
                 declare l; l = long(lo[s?]); declare h; h = long(hi[s?]);
                 require {cond} fault Segment (\"\" l, \"\" h, \"\" N);
                 map (k = l .. h by 1) {{ declare v; v = a[k?]; }}
                 fold reduce \"+\" float neutral 0.0:float value v over (k) into y[s?];
               }}
             }} entries (f)"
        )
    };
    assert_eq!(remains(&text("((h <= l) || ((l >= 0) && (h <= N)))")), []);
    assert_eq!(remains(&text("((h <= l) || (h <= N))")), [INDEX]);
    assert_eq!(remains(&text("((h <= (l + 1)) || ((l >= 0) && (h <= N)))")), [INDEX]);
}
