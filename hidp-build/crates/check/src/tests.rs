//! The canonical programs of the language, and helpers for the tests of this phase.

use super::*;
use hidp_ir::par::{FoldFn, FoldKind, StmtKind, Target, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::diag::{Diagnostic, RenderStyle, Severity, render};

/// Checks one file; its parser must have no complaint.
fn checked(text: &str) -> (par::Program, Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.hdp", text);
    let mut sink = Sink::new();
    let ast = hidp_syntax::parse(&sources, file, &mut sink);
    assert!(!sink.has_errors(), "{}", shown(&sources, &sink.finish()));
    let units = [SourceUnit { id: file, ast, imports: Vec::new() }];
    let program = check(&sources, &units, &ast::Domains::default(), &mut sink);
    (program, sink.finish(), sources)
}

fn shown(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let style = RenderStyle { color: false, explain: false };
    diagnostics.iter().map(|d| render(sources, d, style)).collect::<Vec<_>>().join("\n")
}

/// Checks one file that must be free of errors, verifies its program, and gives it with its warnings' headlines.
fn accepted(text: &str) -> (par::Program, Vec<String>) {
    let (program, diagnostics, sources) = checked(text);
    let errors = diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert!(!errors, "{}", shown(&sources, &diagnostics));
    if let Err(violations) = par::verify(&program) {
        let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
        panic!("{}\n{}", list.join("\n"), par::print(&program));
    }
    (program, diagnostics.into_iter().map(|d| d.headline).collect())
}

const GEMM: &str = "function GEMM
input float _alpha, _beta, A[M][K], B[K][N];
inout float C[M][N];
{
  float C1[M][N];
  map {
    m := [0:M); n := [0:N); k := [0:K);
    _c0 = A[m][k] * B[k][n];
  } reduce(\"+\", C1[m][n], _c0, k := [*]);
  C = _alpha * C1 + _beta * C;
}";

#[test]
fn gemm_is_one_map_with_a_fold_and_one_data_parallel_map() {
    let (program, warnings) = accepted(GEMM);
    assert_eq!(warnings, Vec::<String>::new());
    let func = &program.funcs[program.entries[0]];
    let names: Vec<&str> = func.dims.iter().map(|dim| func.vars[*dim].name.as_str()).collect();
    assert_eq!(names, ["M", "K", "N"]);
    let maps: Vec<&par::Map> = func
        .body
        .stmts
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Map(map) => Some(map),
            _ => None,
        })
        .collect();
    let [product, sum] = maps.as_slice() else { panic!("two maps") };
    assert_eq!(product.iters.len(), 3);
    let [fold] = product.folds.as_slice() else { panic!("one fold") };
    assert_eq!((fold.kind, fold.op.func, fold.over.len()), (FoldKind::Reduce, FoldFn::Add, 1));
    assert!(matches!(&fold.target, Target::Element(place) if place.index.len() == 2));
    assert_eq!((sum.iters.len(), sum.folds.len()), (2, 0));
}

const HIMENO: &str = "function himeno
input float a0[I][J][K], a1[I][J][K], a2[I][J][K], a3[I][J][K], b0[I][J][K], b1[I][J][K], b2[I][J][K],
      c0[I][J][K], c1[I][J][K], c2[I][J][K], p[I][J][K], wrk1[I][J][K], bnd[I][J][K], _omega;
output float _gosa, wrk2[I][J][K];
{
  map {
    i := [1:I-2]; j := [1:J-2]; k := [1:K-2];
    _s0 = _a0 * p[i+1][j][k] + _a1 * p[i][j+1][k] + _a2 * p[i][j][k+1]
        + _b0 * (p[i+1][j+1][k] - p[i+1][j-1][k] - p[i-1][j+1][k] + p[i-1][j-1][k])
        + _b1 * (p[i][j+1][k+1] - p[i][j-1][k+1] - p[i][j+1][k-1] + p[i][j-1][k-1])
        + _b2 * (p[i+1][j][k+1] - p[i-1][j][k+1] - p[i+1][j][k-1] + p[i-1][j][k-1])
        + _c0 * p[i-1][j][k] + _c1 * p[i][j-1][k] + _c2 * p[i][j][k-1] + _wrk1;
    _ss = (_s0 * _a3 - _p) * _bnd;
    _wrk2 = _p + _omega * _ss;
    _ss2 = _ss * _ss;
  } reduce(\"+\", _gosa, _ss2, i := [*], j := [*], k := [*]);
}";

#[test]
fn himeno_reads_elements_of_the_iteration_and_keeps_the_rim_of_its_output() {
    let (program, warnings) = accepted(HIMENO);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`wrk2`"), "{warnings:?}");
    let func = &program.funcs[program.entries[0]];
    let kind = |name: &str| func.vars.iter().find(|(_, var)| var.name == name).map(|(_, var)| var.kind);
    assert_eq!(kind("wrk2"), Some(VarKind::Param(Direction::Inout)));
    assert_eq!(kind("_gosa"), Some(VarKind::Param(Direction::Output)));
}

const SPMV: &str = "function spmv_csr
input int rowptr[R+1], col[Z]; input float val[Z], x[C]; output float y[R];
{
  map { r := [0:R);
    map { k := [rowptr[r]:rowptr[r+1]); _t = val[k] * x[col[k]]; } reduce(\"+\", y[r], _t, k := [*]);
  }
}";

#[test]
fn spmv_folds_in_an_inner_map_and_writes_its_output_in_full() {
    let (program, warnings) = accepted(SPMV);
    assert_eq!(warnings, Vec::<String>::new());
    let func = &program.funcs[program.entries[0]];
    let StmtKind::Map(outer) = &func.body.stmts[0].kind else { panic!("a map") };
    let StmtKind::Map(inner) = &outer.body.stmts[0].kind else { panic!("a map in the map") };
    assert_eq!(inner.folds.len(), 1);
    assert!(func.params.iter().all(|p| func.vars[*p].kind != VarKind::Param(Direction::Inout)));
}

#[test]
fn saxpy() {
    let (_, warnings) = accepted("function saxpy input float _a, X[N]; inout float Y[N]; { Y = _a * X + Y; }");
    assert_eq!(warnings, Vec::<String>::new());
}

const QUICKSORT: &str = "function bool below(uint x, uint p) { return x <= p; }
function quicksort
input uint keys[N]; output uint sorted[N];
{
  uint a[N], b[N]; int lo[128], hi[128], nlo[256], nhi[256]; uint pivot[128];
  a = keys; lo[0] = 0; hi[0] = N; int segs = 1;
  while (segs < 64) {
    map { s := [0:segs);
      _mn = min(a, lo[s], hi[s]); _mx = max(a, lo[s], hi[s]);
      pivot[s] = _mn + (_mx - _mn) / 2;
      partition(a, b, pivot[s], lo[s], hi[s], nlo, nhi, below);
    }
    segs = segs * 2;
    swap(a, b); lo[0:segs) = nlo[0:segs); hi[0:segs) = nhi[0:segs);
  }
  map { s := [0:segs); sort(a, sorted, lo[s], hi[s], 1); }
}";

#[test]
fn quicksort_narrows_a_dimension_and_keeps_its_output() {
    let (program, warnings) = accepted(QUICKSORT);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`sorted`"), "{warnings:?}");
    let mut narrowed = 0;
    par::visit::walk_exprs(&program.funcs[program.entries[0]].body, |e| {
        let checked = par::ConvertMode::Checked;
        narrowed += usize::from(matches!(&e.kind, par::ExprKind::Convert { mode, .. } if *mode == checked));
    });
    assert_eq!(narrowed, 1, "`hi[0] = N` alone");
}

/// The statements of the only entry.
fn body(text: &str) -> (Vec<par::Stmt>, par::Func) {
    let (program, _) = accepted(text);
    let func = program.funcs[program.entries[0]].clone();
    (func.body.stmts.clone(), func)
}

fn maps(stmts: &[par::Stmt]) -> usize {
    stmts.iter().filter(|s| matches!(s.kind, StmtKind::Map(_))).count()
}

#[test]
fn a_statement_that_reads_what_it_writes_elsewhere_goes_through_a_copy() {
    for (statement, copies) in [
        ("y[1:N) = y[0:N-1);", 1),
        ("y = y[0] * y;", 1),
        ("y[0:N:2) = y[1:N:2);", 1),
        ("y = 2 * y + x;", 0),
        ("y += x;", 0),
        ("y[1:N) = y[1:N) + x[0:N-1);", 0),
        ("y[0:N:2) = y[0:N:2);", 0),
        ("y = x;", 0),
    ] {
        let (stmts, func) = body(&format!(
            "function f input float x[N]; inout float y[N]; {{ x2(x, y); {statement} }}
            static function x2 input float x[N]; inout float y[N]; {{ y[0] = x[0]; }}"
        ));
        let found = func.vars.iter().filter(|(_, var)| var.name == "copy").count();
        assert_eq!((found, maps(&stmts)), (copies, 1 + copies), "{statement}");
    }
}

#[test]
fn shapes_that_may_differ_are_compared_at_run_time() {
    let requires = |statement: &str| {
        let (stmts, _) = body(&format!(
            "function f input float x[N], z[K]; input int n; inout float y[N]; {{ z2(z, x, n, y); {statement} }}
            static function z2 input float z[K], x[N]; input int n; inout float y[N]; {{ y[0] = z[0] + x[0] + n; }}"
        ));
        stmts.iter().filter(|s| matches!(s.kind, StmtKind::Require { .. })).count()
    };
    assert_eq!(requires("y = x;"), 0);
    assert_eq!(requires("y = z;"), 1);
    assert_eq!(requires("y[0:n) = x[1:n];"), 0);
    assert_eq!(requires("y[0:n) = z;"), 1);
    assert_eq!(requires("y[0:N:n) = 0;"), 1, "the stride must be positive");
}

#[test]
fn what_a_narrow_variable_counts_to_has_to_fit() {
    let tests = |header: &str| {
        let (stmts, func) = body(&format!(
            "function f input int n; input long m; inout float y[N]; {{ map {{ i := [0:N); for ({header}) y[i] += 1; }} }}"
        ));
        let conds = stmts.iter().filter_map(|s| match &s.kind {
            StmtKind::Require { cond, .. } => Some(crate::shape::show(cond, &func.vars)),
            _ => None,
        });
        conds.collect::<Vec<_>>()
    };
    assert_eq!(tests("int j = 0; j < N; j += 1"), ["N<=2147483647"]);
    assert_eq!(tests("int j = 0; N >= j; j += 1"), ["N<=2147483646"]);
    assert_eq!(tests("uint8 j = 0; n > 0 && j < N - 2; j += 3"), ["(N-2)<=253"]);
    assert_eq!(tests("int j = 0; N > j; j += 4"), ["N<=2147483644"]);
    assert_eq!(tests("int j = 0; j <= i; j += 1"), ["(N-1)<=2147483646"]);
    assert_eq!(tests("int j = 0; j < min(i + 1, 100); j += 1").len(), 1);
    assert_eq!(tests("int j = 0; j < 2 * N; j += 1"), ["(N*2)<=2147483647"]);
    assert_eq!(tests("int j = 0; j < N / 2; j += 1"), ["(N/2)<=2147483647"]);
    assert_eq!(tests("int j = 0; j < N - i; j += 1"), ["N<=2147483647"]);
    assert_eq!(tests("int j = 0; j < N - i * 2; j += 1"), ["N<=2147483647"]);
    assert_eq!(tests("int j = 0; j < N + i * -2; j += 1"), ["N<=2147483647"]);
    let fits: [&str; 8] = [
        "long j = 0; j < N; j += 1",
        "int j = 0; j < n; j += 1",
        "int j = 0; j < m; j += 1",
        "int j = 0; j < 100; j += 1",
        "int j = 0; j < N * N; j += 1",
        "int j = 0; j != N; j += 1",
        "int j = n; j >= 0; j -= 1",
        "int j = 1; j < N; j *= 2",
    ];
    fits.into_iter().for_each(|header| assert_eq!(tests(header), Vec::<String>::new(), "{header}"));
}

#[test]
fn implicit_scalars_are_declared_at_the_start_of_the_map() {
    let (stmts, func) =
        body("function f inout float y[N]; { map { i := [0:N); if (y[i] > 0) _t = 1.5f; else _t = 2; y[i] = _t; } }");
    let StmtKind::Map(map) = &stmts[0].kind else { panic!("a map") };
    let StmtKind::Declare { var, .. } = map.body.stmts[0].kind else { panic!("a declaration") };
    assert_eq!(func.vars[var].name, "_t");
    assert_eq!(func.vars[var].ty, hidp_syntax::ty::Scalar::F32.into());
}

#[test]
fn extents_that_may_change_are_computed_once() {
    let (_, func) = body(
        "function f input int n; inout float y[N]; { int m = n; float t[m], u[n]; m = 3; t = 1; u = 2; y[0] = t[0] + u[0]; }",
    );
    let shape = |name: &str| {
        let (_, var) = func.vars.iter().find(|(_, var)| var.name == name).expect("declared");
        shape::show(&var.shape[0], &func.vars)
    };
    assert_eq!((shape("t").as_str(), shape("u").as_str()), ("extent", "n"));
}

/// Iterators around the call that computes tables.
fn iterators_around_tables(stmts: &[par::Stmt]) -> Option<usize> {
    stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Call { .. } => Some(0),
        StmtKind::Map(map) => Some(map.iters.len() + iterators_around_tables(&map.body.stmts)?),
        StmtKind::If { then, .. } => iterators_around_tables(&then.stmts),
        _ => None,
    })
}

#[test]
fn a_table_is_computed_for_the_iterators_that_its_inputs_use() {
    let of = |body: &str| {
        let (program, _) = accepted(&format!(
            "recurrence float y(k := [0:N)) input float x[N], by; {{ if (k == 0) return x[0]; return by * y(k-1) + x[k]; }}
             function f input float X[R][N], A[R], B[R][N], by; inout float Y[R][N], Z[N][R], W[R], V[N]; {{ {body} }}"
        ));
        let func = program.entries[0];
        iterators_around_tables(&program.funcs[func].body.stmts).expect("a call")
    };
    let first = [
        "map { r := [0:R); i := [0:N); Y[r][i] = y(i; x = X[r][*]); }",
        "map { r := [0:R); i := [0:N); Y[r][i] = y(i; x = X[r][*], by = A[r] * 2.0f); }",
        "map { r := [0:R); i := [0:N); _v = y(i; x = X[r][*]); } reduce(\"max\", W[r], _v, i := [*]);",
        "map { r := [0:R); i := [0:N); _v = i > 0 ? y(i; x = X[r][*]) : 0.0f; Y[r][i] = _v; }",
    ];
    first.into_iter().for_each(|body| assert_eq!(of(body), 1, "{body}"));
    assert_eq!(of("map { r := [0:R); i := [0:N); Y[r][i] = y(i; x = X[0][*]); }"), 0);
    let all = [
        "map { i := [0:N); r := [0:R); Z[i][r] = y(i; x = X[r][*]); }",
        "map { r := [0:R); i := [0:N); Y[r][i] = y(i; x = X[r][*], by = B[r][i]); }",
        "map { r := [0:R); i := [0:N); long q = r; Y[r][i] = y(i; x = X[q][*]); }",
        "map { r := [0:R); i := [0:N); Y[r][i] = y(i; x = X[r][*], by = _B); }",
        // A condition may keep a table from being computed at all.
        "map { r := [0:R); i := [0:N); if (A[r] > 0.0f) { Y[r][i] = y(i; x = X[r][*]); } }",
        "map { r := [0:R); i := [0:N); _v = y(i; x = X[r][*]); } reduce(\"max\", V[i], _v, r := [*]);",
        "#pragma hidp unordered
         map { r := [0:R); i := [0:N); Y[r][i] = y(i; x = X[r][*]); }",
    ];
    all.into_iter().for_each(|body| assert_eq!(of(body), 2, "{body}"));
}

#[test]
fn a_fold_converts_its_value_in_the_body() {
    let (stmts, func) = body(
        "function f input int k[N]; output long s; { map { i := [0:N); _v = k[i]; } reduce(\"+\", s, _v, i := [*]); }",
    );
    let StmtKind::Map(map) = &stmts[0].kind else { panic!("a map") };
    assert_eq!(func.vars[map.folds[0].value].ty, hidp_syntax::ty::Ty::LONG);
    assert_eq!(map.folds[0].op.neutral.as_ref().and_then(|e| e.as_int()), Some(0));
}

#[test]
fn only_functions_that_nobody_calls_are_entries() {
    let (program, _) = accepted(
        "function a inout float x[N]; { b(x); } function b inout float x[N]; { x = 0; }
         static function c inout float x[N]; { x = 1; } function d inout float x[N]; { x = 2; }",
    );
    let names: Vec<&str> = program.entries.iter().map(|id| program.funcs[*id].name.as_str()).collect();
    assert_eq!(names, ["a", "d"]);
}

/// Every suggestion of an error makes the program better: applied, the error is gone.
#[test]
fn suggestions_compile() {
    for text in [
        "function f input float x; inout int n; { n = 2 * x; }",
        "function f input long l; input ulong u; inout double d; { d = l + u; }",
        "function f inout uint8 b[N]; { b[0] = b[0] + 300; }",
        "function f inout float x; { x = x % 2; }",
        "function f inout float x[N]; { x[1.5] = 1; }",
        "function f input int n; inout float x; { if (n) x = 1; }",
        "function f inout bool b; { b = 1; }",
        "function f inout float x; { x = sqr(x); }",
        "function f input float value; inout float x; { x = valeu; }",
        "function f input int x[N]; inout int y[N]; { map { i := [0:N); _m = min(x, N); y[i] = _m; } }",
        "function f input float A[N][M]; inout float r[N]; { map { i := [0:N); _t = 0; map { j := [0:M); r[i] = _A[j]; } } }",
        "function f inout float x[N]; { map { i := [0:N); t = 1; x[i] = 0; } }",
        "function f inout int x[N]; { sort(_x, x, N, 1); }",
    ] {
        let (_, diagnostics, _) = checked(text);
        let first = diagnostics.iter().find(|d| d.severity == Severity::Error).expect("an error");
        let suggestion = first.suggestions.first().unwrap_or_else(|| panic!("no suggestion: {text}"));
        let mut fixed = text.to_string();
        fixed.replace_range(suggestion.span.start as usize..suggestion.span.end as usize, &suggestion.replacement);
        let (_, after, _) = checked(&fixed);
        assert!(!after.iter().any(|d| d.headline == first.headline), "{fixed}");
    }
}

#[test]
fn long_expressions_do_not_exhaust_the_stack() {
    for (first, more) in [("x[0]", " + x[0]"), ("1", " + 1"), ("x[0]", " * 2")] {
        let sum = format!("{first}{}", more.repeat(20_000));
        let text = format!("function f inout float x[N]; {{ x[0] = {sum}; }}");
        let mut sources = SourceMap::new();
        let file = sources.add("test.hdp", text);
        let mut sink = Sink::new();
        let ast = hidp_syntax::parse(&sources, file, &mut sink);
        if !sink.has_errors() {
            check(&sources, &[SourceUnit { id: file, ast, imports: Vec::new() }], &ast::Domains::default(), &mut sink);
        }
    }
}

/// Runs the first entry on the interpreter.
fn run(text: &str, args: Vec<par::interp::Arg>) -> Vec<par::interp::Arg> {
    let (program, _) = accepted(text);
    let results = par::interp::run(&program, program.entries[0], args);
    results.unwrap_or_else(|error| panic!("{error}")).args
}

fn vector(data: impl Into<par::interp::Data>) -> par::interp::Arg {
    par::interp::Arg::Array(par::interp::Array::vector(data))
}

fn numbers(arg: &par::interp::Arg) -> Vec<f64> {
    let par::interp::Arg::Array(array) = arg else { panic!("an array") };
    let number = |v: &par::interp::Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
    array.data.values().iter().map(|v| number(v).expect("a number")).collect()
}

#[test]
fn data_parallel_statements_read_before_they_write() {
    let shifted = run("function f inout int y[N]; { y[1:N) = y[0:N-1); }", vec![vector(vec![1i32, 2, 3, 4])]);
    assert_eq!(numbers(&shifted[0]), [1.0, 1.0, 2.0, 3.0]);
    let scaled = run("function f inout int y[N]; { y = y[0] * y; }", vec![vector(vec![2i32, 3, 4])]);
    assert_eq!(numbers(&scaled[0]), [4.0, 6.0, 8.0]);
    let strided =
        run("function f inout int y[N]; { y[N-1:N) = 9; y[0:N:2) = y[1:N:2); }", vec![vector(vec![1i32, 2, 3, 4])]);
    assert_eq!(numbers(&strided[0]), [2.0, 2.0, 9.0, 9.0]);
}

#[test]
fn literals_take_the_type_of_their_surroundings() {
    let text = "function f inout double d[N]; { float third = 1 / 3.0; d[0] = third; d[1] = 1 / 2; int n = 1 / 2; d[2] = n; d[3] = 7 % 4;
        d[4] = (uint8)300; d[5] = 1 << 4; uint u = 1; d[6] = u - 2; d[7] = (int)-1.5; d[8] = 2 * 0.5; }";
    let result = run(text, vec![vector(vec![0f64; 9])]);
    let expected = [f64::from(1f32 / 3f32), 0.5, 0.0, 3.0, 44.0, 16.0, f64::from(u32::MAX), -1.0, 1.0];
    assert_eq!(numbers(&result[0]), expected);
}

#[test]
fn quicksort_sorts() {
    let keys: Vec<u32> = (0..50u32).map(|i| i.wrapping_mul(2_654_435_761) % 97).collect();
    let mut sorted: Vec<f64> = keys.iter().map(|k| f64::from(*k)).collect();
    sorted.sort_by(f64::total_cmp);
    let result = run(QUICKSORT, vec![vector(keys), vector(vec![0u32; 50])]);
    assert_eq!(numbers(&result[1]), sorted);
}

#[test]
fn spmv_multiplies() {
    let args = vec![
        vector(vec![0i32, 2, 2, 3]),
        vector(vec![0i32, 2, 1]),
        vector(vec![1f32, 2.0, 3.0]),
        vector(vec![10f32, 20.0, 30.0]),
        vector(vec![7f32; 3]),
    ];
    assert_eq!(numbers(&run(SPMV, args)[4]), [70.0, 0.0, 60.0]);
}

/// Words of the canonical programs, taken out, doubled and exchanged: whatever comes out is checked without a panic, and what
/// is accepted is well formed.
#[test]
fn damaged_programs_do_no_harm() {
    let mut seed = 1u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let words = |text: &str| -> Vec<String> {
        let mut words = vec![String::new()];
        for c in text.chars() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            if !words.last().is_some_and(|w| w.chars().all(word) && word(c)) {
                words.push(String::new());
            }
            words.last_mut().expect("not empty").push(c);
        }
        words
    };
    for text in [GEMM, HIMENO, SPMV, QUICKSORT] {
        let words = words(text);
        for _ in 0..150 {
            let mut damaged = words.clone();
            for _ in 0..1 + next(2) {
                let (a, b) = (next(damaged.len()), next(damaged.len()));
                match next(3) {
                    0 => drop(damaged.remove(a)),
                    1 => damaged[a] = damaged[b].clone(),
                    _ => damaged.swap(a, b),
                }
            }
            let text = damaged.concat();
            let mut sources = SourceMap::new();
            let file = sources.add("test.hdp", text.clone());
            let mut sink = Sink::new();
            let ast = hidp_syntax::parse(&sources, file, &mut sink);
            if sink.has_errors() {
                continue;
            }
            let program = check(
                &sources,
                &[SourceUnit { id: file, ast, imports: Vec::new() }],
                &ast::Domains::default(),
                &mut sink,
            );
            if !sink.has_errors() {
                let verified = par::verify(&program);
                assert!(verified.is_ok(), "{text}\n{verified:?}");
            }
        }
    }
}

/// The headlines of a program's errors.
fn errors(text: &str) -> Vec<String> {
    let errors = checked(text).1.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.map(|diagnostic| diagnostic.headline).collect()
}

/// Structs of which each lies in the next, from the innermost on.
fn nested_structs(count: usize, fields: &str) -> Vec<String> {
    let inner = |at: usize| if at == 0 { "float".to_owned() } else { format!("S{}", at - 1) };
    (0..count).map(|at| format!("struct S{at} {{ {} {fields}; }}\n", inner(at))).collect()
}

#[test]
fn structs_have_a_depth_and_a_size() {
    assert_eq!(errors(&nested_structs(64, "a").concat()), [""; 0]);
    let mut towers = nested_structs(4000, "a");
    assert_eq!(errors(&towers.concat()), ["structs are nested too deeply"]);
    towers.reverse();
    assert_eq!(errors(&towers.concat()), ["structs are nested too deeply"]);
    assert_eq!(errors(&nested_structs(12, "a, b").concat()), [""; 0]);
    assert_eq!(errors(&nested_structs(60, "a, b").concat()), ["struct `S12` has 8192 numbers"]);
}

/// Functions of which each calls the one before `calls` times.
fn chain(count: usize, calls: usize) -> String {
    let mut text = "function h0 inout float x[N]; { x = x + 1; }\n".to_owned();
    for at in 1..count {
        text += &format!("function h{at} inout float x[N]; {{ {} }}\n", format!("h{}(x); ", at - 1).repeat(calls));
    }
    text
}

#[test]
fn what_calls_put_into_a_function_has_an_end() {
    assert_eq!(errors(&chain(12, 2)), [""; 0]);
    let found = errors(&chain(40, 2));
    assert_eq!((found.len(), found[0].starts_with("the calls in `h12` make ")), (1, true), "{found:?}");
}

#[test]
fn chains_of_calls_have_an_end() {
    assert_eq!(errors(&chain(64, 1)), [""; 0]);
    assert_eq!(errors(&chain(65, 1)), ["a chain of calls is too long"]);
    assert_eq!(errors(&chain(4000, 1)), ["a chain of calls is too long"]);
    let scalar = |count: usize, reversed: bool| {
        let call = |at: usize| format!("function float g{at}(float v) {{ return g{}(v); }}\n", at - 1);
        let mut list: Vec<String> = (1..count).map(call).collect();
        list.push("function float g0(float v) { return v; }\n".into());
        if reversed {
            list.reverse();
        }
        list.concat()
    };
    for reversed in [false, true] {
        assert_eq!(errors(&scalar(64, reversed)), [""; 0]);
        assert_eq!(errors(&scalar(65, reversed)), ["a chain of calls is too long"]);
        assert_eq!(errors(&scalar(4000, reversed)), ["a chain of calls is too long"]);
    }
}
