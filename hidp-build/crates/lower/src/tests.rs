//! What lowered programs look like: launches, loop kinds, where accumulators live, which checks remain.

use hidp_check as check;
use hidp_ir::imp::visit::{each_expr, each_stmt};
use hidp_ir::imp::{self, Block, Entry, Expr, ExprKind, Loop, LoopKind, NearFn, Schedule, Stmt, Unit, VarKind};
use hidp_ir::par::{BinOp, FaultKind, FuncId, MathFn, Program};
use hidp_plan::target::Model;
use hidp_syntax::diag::Sink;
use hidp_syntax::source::SourceMap;
use {hidp_pass as pass, hidp_plan as plan, hidp_syntax as syntax};

mod groups;
mod left;
mod vector_loops;
mod whole_rows;

fn lowered(text: &str) -> Entry {
    let (program, func) = optimised(text);
    let model = Model::cpu();
    let plans = plan::candidates(&program, func, &model);
    for plan in &plans {
        assert_eq!(plan::notation::read(&plan.to_string()).as_ref(), Ok(plan));
    }
    let (entry, defects) = super::lower(&program, func, "test_entry", &plans, &model);
    assert_eq!(defects, []);
    imp::verify(&program, &entry).unwrap_or_else(|errors| panic!("{errors:?}\n{}", imp::print(&program, &entry)));
    entry
}

/// The last entry of a program after all passes.
pub(super) fn optimised(text: &str) -> (Program, FuncId) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.hdp", text);
    let mut sink = Sink::new();
    let ast = syntax::parse(&sources, file, &mut sink);
    let units = [check::SourceUnit { id: file, ast, imports: Vec::new() }];
    let mut program = check::check(&sources, &units, &hidp_syntax::ast::Domains::default(), &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.finish());
    pass::run(&mut program, pass::PIPELINE).expect("passes keep programs well formed");
    let func = *program.entries.last().expect("an entry");
    (program, func)
}

fn unit<'a>(entry: &'a Entry, plan: &str) -> &'a Unit {
    entry.units.iter().find(|unit| unit.plan == plan).expect("a unit of this plan")
}

fn plans(entry: &Entry) -> Vec<&str> {
    entry.units.iter().map(|unit| unit.plan.as_str()).collect()
}

fn count(block: &Block, wanted: impl Fn(&Stmt) -> bool) -> usize {
    let mut found = 0;
    each_stmt(block, &mut |stmt| found += usize::from(wanted(stmt)));
    found
}

fn in_kernels(unit: &Unit, wanted: impl Fn(&Stmt) -> bool + Copy) -> usize {
    unit.kernels.iter().map(|(_, kernel)| count(&kernel.function.body, wanted)).sum()
}

fn is_launch(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Launch { .. })
}

fn is_fault(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Fault { .. })
}

fn is_simd(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Loop(node) if matches!(node.kind, LoopKind::Simd { .. }))
}

fn schedules(unit: &Unit) -> Vec<Schedule> {
    let mut found = Vec::new();
    each_stmt(&unit.host.body, &mut |stmt| {
        if let Stmt::Launch { schedule, .. } = stmt {
            found.push(schedule.clone());
        }
    });
    found
}

pub(super) const GEMM: &str = "
function gemm input float _alpha, _beta, A[M][K], B[K][N]; inout float C[M][N];
{
  float C1[M][N];
  map { m := [0:M); n := [0:N); k := [0:K); _c0 = A[m][k] * B[k][n]; } reduce(\"+\", C1[m][n], _c0, k := [*]);
  C = _alpha * C1 + _beta * C;
}";

#[test]
fn gemm_is_one_launch_without_checks_and_accumulates_in_a_register_tile() {
    let entry = lowered(GEMM);
    assert_eq!(plans(&entry), ["lanes", "rows", "serial"]);
    for unit in &entry.units {
        assert_eq!(in_kernels(unit, is_fault), 0, "{}", unit.plan);
        assert_eq!(count(&unit.host.body, |stmt| matches!(stmt, Stmt::Alloc { .. })), 0);
    }
    let lanes = unit(&entry, "lanes");
    assert_eq!(
        count(&lanes.host.body, is_launch),
        3,
        "tiles, lanes alone for few rows, or rows where the matrix is narrow"
    );
    assert_eq!(
        count(&lanes.host.body, |stmt| matches!(stmt, Stmt::Loop(_))),
        1,
        "tiles are launched in passes over rows"
    );
    let least = schedules(lanes).into_iter().map(|schedule| match schedule {
        Schedule::Static { least, .. } => least,
        Schedule::Serial | Schedule::Dynamic { .. } => 0,
    });
    assert_eq!(least.collect::<Vec<_>>(), [8, 1, 1], "only parts with rows of tiles make copies first");
    let (_, kernel) = lanes.kernels.iter().next().expect("a kernel");
    let tiles = kernel.function.vars.iter().filter(|(_, var)| matches!(var.kind, VarKind::Tile { len: 256, .. }));
    assert!(tiles.count() >= 2);
    let unrolled =
        |rows: u32| move |stmt: &Stmt| matches!(stmt, Stmt::Loop(node) if node.kind == LoopKind::Unroll(rows));
    assert!([8, 4, 2, 1].into_iter().all(|rows| in_kernels(lanes, unrolled(rows)) >= 2), "edges are tiles as well");
    assert!(in_kernels(lanes, |stmt| matches!(stmt, Stmt::Scratch { .. })) >= 1, "what lanes load is packed");
}

#[test]
fn rows_go_across_arrays_in_blocks() {
    let across = |stmt: &Stmt| matches!(stmt, Stmt::Loop(node) if node.kind == LoopKind::Across);
    let of = |ty: &str, columns: &str, copied: &str| {
        let text = format!(
            "function f input {ty} u[{columns}][W]; input uint8 row[{columns}]; output {ty} v[W][{columns}];
             {{ map {{ y := [0:{columns}); x := [0:W); v[x][y] = {copied}; }} }}"
        );
        ["rows", "serial"].map(|plan| in_kernels(unit(&lowered(&text), plan), across))
    };
    let found = |ty: &str, copied: &str| of(ty, "H", copied);
    for ty in ["uint8", "int8", "short", "float", "long"] {
        assert_eq!(found(ty, "u[y][x]"), [1, 1], "{ty}");
    }
    assert_eq!(found("uint8", "u[min(long(row[y]), y)][x]"), [1, 1], "rows lie anywhere");
    assert_eq!(of("uint8", "64", "u[y][x]"), [1, 1], "a known distance");
    assert_eq!(of("float", "64", "u[y][x]"), [0, 0], "a known distance of elements that are gathered");
    assert_eq!(found("uint8", "u[y][W-1-x]"), [0, 0], "backwards");
    assert_eq!(found("uint8", "u[y][x] / 2"), [0, 0], "no copy");
}

#[test]
fn lanes_take_rows_of_a_few_elements() {
    let text = "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
    let entry = lowered(text);
    let is_length = |stmt: &Stmt, length: i128| match stmt {
        Stmt::If { cond: Expr { kind: ExprKind::Binary(BinOp::Eq, _, right), .. }, then, .. } => {
            let in_lanes = then.stmts.iter().any(is_simd);
            in_lanes && right.kind == ExprKind::Int(length)
        }
        _ => false,
    };
    for length in 1..=4 {
        assert_eq!(in_kernels(unit(&entry, "rows"), |stmt| is_length(stmt, length)), 1, "{length}");
        assert_eq!(in_kernels(unit(&entry, "serial"), |stmt| is_length(stmt, length)), 0);
    }
    // Of columns the lanes are neighbours already; what a row loads by an index may be missing.
    for text in [
        "function f input float A[C][R]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[c][r]; } reduce(\"+\", y[r], _t, c := [*]); }",
        "function f input float x[N]; input int at[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = x[at[r][c]]; } reduce(\"+\", y[r], _t, c := [*]); }",
    ] {
        let entry = lowered(text);
        assert_eq!(in_kernels(unit(&entry, "rows"), |stmt| is_length(stmt, 2)), 0);
    }
}

#[test]
fn narrow_and_long_iterations_that_may_repeat_fill_their_last_vector() {
    let in_rounds = |text: &str| {
        let entry = lowered(text);
        let is_round = |stmt: &Stmt| match stmt {
            Stmt::Loop(Loop { body, hi, .. }) => {
                hi.kind == ExprKind::Int(2) && matches!(&body.stmts[..], [inner] if is_simd(inner))
            }
            _ => false,
        };
        in_kernels(unit(&entry, "serial"), is_round)
    };
    let of = |ty: &str, direction: &str, value: &str| {
        format!(
            "function f input {ty} a[N], b[N]; {direction} {ty} y[N]; output {ty} z[N];
            {{ map {{ i := [0:N); z[i] = {value}; y[i] = z[i] + a[i]; }} }}"
        )
    };
    for ty in ["uint8", "short"] {
        assert!(in_rounds(&of(ty, "output", "a[i] > b[i] ? a[i] : b[i]")) > 0, "{ty}");
        assert_eq!(in_rounds(&of(ty, "inout", "y[i] + b[i]")), 0, "y[i] is another the second time");
    }
    assert_eq!(in_rounds(&of("int", "output", "a[i] + b[i]")), 0);
    for ty in ["float", "double"] {
        assert!(in_rounds(&of(ty, "output", "sqrt(a[i]) / b[i]")) > 0, "a {ty} divides as long as a vector of them");
        assert_eq!(in_rounds(&of(ty, "inout", "sqrt(y[i]) / b[i]")), 0);
    }
    assert_eq!(in_rounds(&of("uint8", "output", "(uint8)(a[i] / 3)")), 0, "what takes long is not done twice");
    assert_eq!(in_rounds(&of("uint8", "output", "a[i] / b[i]")), 0, "a fault stops an iteration");
    let rows_of = |turns: i64| {
        format!(
            "function f input uint8 a[R][{turns}]; output uint8 y[R][{turns}];
            {{ map {{ r := [0:R); map {{ i := [0:{turns}); y[r][i] = a[r][i] + a[r][i]; }} }} }}"
        )
    };
    assert_eq!([3, 64, 128].map(|turns| in_rounds(&rows_of(turns))), [0; 3], "nothing is left");
    assert!(in_rounds(&rows_of(100)) > 0);
}

#[test]
fn a_dot_product_is_one_launch_over_runs_of_fixed_length() {
    let text = "function dot input float X[N], Y[N]; output float _s;
        { map { i := [0:N); _t = X[i] * Y[i]; } reduce(\"+\", _s, _t, i := [*]); }";
    let entry = lowered(text);
    assert_eq!(plans(&entry), ["rows", "serial"]);
    let rows = unit(&entry, "rows");
    assert_eq!(count(&rows.host.body, is_launch), 1);
    assert_eq!(in_kernels(rows, is_fault), 0);
    assert!(in_kernels(rows, is_simd) >= 2);
    assert!(matches!(schedules(rows)[0], Schedule::Static { grain: 1, least: 1, .. }));
    assert_eq!(schedules(unit(&entry, "serial")), [Schedule::Serial]);
}

#[test]
fn few_iterations_of_unequal_work_are_dealt_in_short_runs_where_none_round() {
    let short = |ty: &str, before: &str| {
        let entry = lowered(&format!(
            "function f input {ty} x[N]; output {ty} _s;
            {{ map {{ i := [0:N); _t = x[i]; {before} }} reduce(\"+\", _s, _t, i := [*]); }}"
        ));
        let host = &unit(&entry, "rows").host;
        count(&host.body, |stmt| matches!(stmt, Stmt::Let { var, .. } if host.vars[*var].name == "block")) == 1
    };
    let data = "while (_t > 1) _t = _t / 2;";
    assert!(short("int", data));
    assert!(!short("float", data));
    assert!(!short("int", ""));
}

#[test]
fn a_stencil_with_a_sum_is_one_launch_without_checks() {
    let text = "function f input float p[I][J], w[I][J]; output float _s; inout float q[I][J];
        { map { i := [1:I-2]; j := [1:J-2];
            _v = w[i][j] * (p[i+1][j] + p[i-1][j] + p[i][j+1] + p[i][j-1]); q[i][j] = _v; _d = _v * _v;
          } reduce(\"+\", _s, _d, i := [*], j := [*]); }";
    let entry = lowered(text);
    let rows = unit(&entry, "rows");
    assert_eq!(count(&rows.host.body, is_launch), 1);
    assert_eq!(in_kernels(rows, is_fault), 0);
    assert!(in_kernels(rows, is_simd) >= 1);
}

#[test]
fn large_outputs_that_are_only_written_are_streamed() {
    let triad = lowered("function f input double _s, B[N], C[N]; output double A[N]; { A = B + _s * C; }");
    assert_eq!(in_kernels(unit(&triad, "rows"), |stmt| matches!(stmt, Stmt::StreamOut { .. })), 1);
    let update = lowered("function f input double _s, C[N]; inout double A[N]; { A = A + _s * C; }");
    assert_eq!(in_kernels(unit(&update, "rows"), |stmt| matches!(stmt, Stmt::StreamOut { .. })), 0);
}

#[test]
fn a_vector_of_the_narrowest_input_is_streamed_at_once() {
    let streamed = |text: &str| {
        let entry = lowered(text);
        let mut found = Vec::new();
        for (_, kernel) in unit(&entry, "rows").kernels.iter() {
            each_stmt(&kernel.function.body, &mut |stmt| {
                if let Stmt::StreamOut { count, .. } = stmt {
                    found.push(crate::make::as_int(count));
                }
            });
        }
        found
    };
    let elements = |input: &str| {
        streamed(&format!(
            "function f input {input} a[N], t[256]; output float g[N];
            {{ map {{ i := [0:N); g[i] = (float)a[i] + (float)t[(int)(a[i] & 255)]; }} }}"
        ))
    };
    assert_eq!(elements("uint8"), [Some(64)]);
    assert_eq!(elements("short"), [Some(32)]);
    assert_eq!(elements("int"), [Some(16)]);
    assert_eq!(elements("long"), [Some(16)]);
    // Lines are whole ones whatever the size of structs.
    let colours = "struct Colour { uint8 r, g, b; }
        function f input Colour a[N]; output float g[N]; { map { i := [0:N); g[i] = (float)a[i].r + (float)a[i].b; } }";
    assert_eq!(streamed(colours), [Some(16)]);
}

const SPMV: &str = "
function spmv input int rowptr[R+1], col[Z]; input float val[Z], x[C]; output float y[R];
{ map { r := [0:R);
    map { k := [rowptr[r]:rowptr[r+1]); _t = val[k] * x[col[k]]; } reduce(\"+\", y[r], _t, k := [*]); } }";

#[test]
fn rows_of_a_sparse_matrix_are_taken_in_turn_and_tested_once() {
    let entry = lowered(SPMV);
    let rows = unit(&entry, "rows");
    assert!(matches!(schedules(rows)[0], Schedule::Dynamic { .. }));
    let (_, kernel) = rows.kernels.iter().next().expect("a kernel");
    let mut faults_in_lanes = 0;
    each_stmt(&kernel.function.body, &mut |stmt| {
        if let Stmt::Loop(node) = stmt
            && matches!(node.kind, LoopKind::Simd { .. })
        {
            faults_in_lanes += count(&node.body, is_fault);
        }
    });
    assert_eq!(faults_in_lanes, 0);
    assert!(in_kernels(rows, is_fault) > 0, "columns are checked");
    let kinds: Vec<FaultKind> = entry.sites.iter().map(|(_, site)| site.kind).collect();
    assert!(kinds.iter().all(|kind| matches!(kind, FaultKind::Index | FaultKind::Allocation)), "{kinds:?}");
}

#[test]
fn column_sums_keep_a_tile_in_the_first_level_cache() {
    let text = "function f input float A[M][N]; output float y[N];
        { map { m := [0:M); n := [0:N); _t = A[m][n]; } reduce(\"+\", y[n], _t, m := [*]); }";
    let entry = lowered(text);
    assert_eq!(plans(&entry)[0], "lanes");
    let (_, kernel) = unit(&entry, "lanes").kernels.iter().next().expect("a kernel");
    assert!(kernel.function.vars.iter().any(|(_, var)| matches!(var.kind, VarKind::Tile { len: 1024, .. })));
    let row_sums = text.replace("y[N]", "y[M]").replace("y[n], _t, m", "y[m], _t, n");
    assert_eq!(plans(&lowered(&row_sums))[0], "rows");
}

#[test]
fn few_lanes_keep_sums_in_registers_and_prefetch_their_rows() {
    let of = |lanes: &str, bound: &str| {
        let entry = lowered(&format!(
            "#pragma hidp unchecked
            function f input int start[P+1], column[S]; input float band[S][{lanes}], x[N]; output float y[P][{bound}];
            {{ map {{ p := [0:P); l := [0:{bound});
                 map {{ s := [start[p]:start[p+1]); _t = band[s][l] * x[column[s] + l]; }}
                   reduce(\"+\", y[p][l], _t, s := [*]); }} }}"
        ));
        let (_, kernel) = unit(&entry, "lanes").kernels.iter().next().expect("a kernel");
        let tiles = kernel.function.vars.iter().filter_map(|(_, var)| match var.kind {
            VarKind::Tile { len, .. } => Some(len),
            _ => None,
        });
        (tiles.max(), count(&kernel.function.body, |stmt| matches!(stmt, Stmt::Prefetch { .. })))
    };
    assert_eq!(of("16", "16"), (Some(16), 1));
    assert_eq!(of("32", "32"), (Some(32), 2), "a line has 16 elements");
    assert_eq!(of("32", "16"), (Some(16), 0), "rows have more than the lanes load");
    assert_eq!(of("64", "64"), (Some(1024), 0), "more than registers hold");
}

#[test]
fn team_runs_outer_iterations_on_the_host() {
    let entry = lowered(
        "function f input float A[M][N]; output float y[M];
        { map { m := [0:M); n := [0:N); _t = A[m][n]; } reduce(\"+\", y[m], _t, n := [*]); }",
    );
    let team = unit(&entry, "team");
    let mut launches_in_loops = 0;
    each_stmt(&team.host.body, &mut |stmt| {
        if let Stmt::Loop(node) = stmt {
            launches_in_loops += count(&node.body, is_launch);
        }
    });
    assert_eq!(launches_in_loops, 1);
}

/// Every part of the language; the verifier is the test.
pub(super) const PROGRAMS: &[&str] = &[
    GEMM,
    SPMV,
    "function bool below(uint x, uint p) { return x <= p; }
    function quicksort input uint keys[N]; output uint sorted[N];
    { uint a[N], b[N]; int lo[128], hi[128], nlo[256], nhi[256]; uint pivot[128];
      a = keys; lo[0] = 0; hi[0] = N; int segs = 1;
      while (segs < 64) {
        map { s := [0:segs); _mn = min(a, lo[s], hi[s]); _mx = max(a, lo[s], hi[s]);
          pivot[s] = _mn + (_mx - _mn) / 2; partition(a, b, pivot[s], lo[s], hi[s], nlo, nhi, below); }
        segs = segs * 2; swap(a, b); lo[0:segs) = nlo[0:segs); hi[0:segs) = nhi[0:segs);
      }
      map { s := [0:segs); sort(a, sorted, lo[s], hi[s], 1); } }",
    "function bool low(uint x, uint p) { return x / p < 3; }
    function f input float x[N], v[N]; input int lo[S], hi[S], dir; input uint k[N];
    output float s, out[N], out2[N], sv[N]; inout float segs[S], scn[N], rv[N]; output uint ks[N], part[N];
    inout int hist[16], keys[N]; output int cnt;
    { reduce(\"+\", x, s, N); scan(\"+\", x, out, N); exscan(\"max\", x, out2, N); sort(k, ks, v, sv, N, dir);
      partition(k, part, 500, N, low, cnt); reverse(x, rv, N); reduce(\"+\", x, segs, lo, hi); scan(\"+\", x, scn, lo, hi);
      histogram(\"+\", keys, keys, hist, N); reverse_inplace(rv, N); reg_sort(x, rv, dir, S, 1); }",
    "struct Best { float v; int i; }
    function Best better(Best a, Best b) { if (b.v > a.v) { return b; } return a; }
    function f input float x[N]; output float v; output int at;
    { Best b; map { i := [0:N); Best c = Best{v: x[i], i: i}; } reduce(better: Best{v: -INFINITY, i: -1}, b, c, i := [*]);
      v = b.v; at = b.i; }",
    "function int ratio(int a, int b) { return a / b; }
    function f input int idx[N], d; inout int out[M], cnt[M]; inout long total;
    { map { i := [0:N); out[idx[i]] = ratio(100, d); atomic cnt[idx[i]] += 1; }
      for (int s = 0; s < 3; s += 1) { total += s; if (total > 100) { return; } } }",
    "function f input int rp[R+1], col[Z]; input float val[Z]; inout float y[R]; output float z[R];
    { map { r := [0:R); float tmp[8]; map { j := [0:8); tmp[j] = j * 0.5f; }
        map { k := [rp[r]:rp[r+1]); _t = val[k] * tmp[col[k] % 8]; _u = val[k]; }
          reduce(\"+\", y[r], _t, k := [*]); reduce(\"max\", z[r], _u, k := [*]);
        float w[rp[r+1]-rp[r]]; map { k := [0:rp[r+1]-rp[r]); w[k] = val[rp[r]+k]; }
        long x = r; while (x > 1) { if (x % 2 == 0) { x = x / 2; } else { x = 3 * x + 1; } if (x > 1000) break; } } }",
    "function f input float x[M][N]; output float y[M][N], z[M][N];
    { map { i := [0:M); j := [0:N:2); _t = x[i][j]; } scan(\"+\", y[i][j], _t, j := [*]); exscan(\"max\", z[i][j], _t, j := [*]); }",
    "function f output int a[4]; { a[0] = 1; int i = 3; while (i > 0) { a[i] = a[i-1] + 1; i -= 1; } }",
];

fn is_log(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Prim(prim) if prim.header == "prim/segment_log.hpp")
}

#[test]
fn segments_are_noted_unless_they_are_proved_disjoint() {
    let logs = |body: &str| {
        let entry = lowered(&format!(
            "function f input float x[M][N], flat[L]; input long cut[M+1]; inout float y[M][N], z[L], w[M]; {{ {body} }}"
        ));
        let counts = entry.units.iter().map(|unit| count(&unit.host.body, is_log) + in_kernels(unit, is_log));
        counts.max().expect("a unit")
    };
    assert_eq!(logs("map { i := [0:M); sort(x[i][*], y[i][*], 0, N, 1); }"), 0);
    assert_eq!(logs("map { i := [0:M); map { j := [0:4); scan(x[i][*], y[i][*], 2 * j, 2 * j + 2); } }"), 0);
    assert_eq!(logs("map { i := [0:M); sort(flat, z, 8 * i, 8 * i + 8, 1); }"), 0);
    assert_eq!(logs("map { i := [0:M); float own[8]; scan(flat, own, 0, 8); w[i] = own[7]; }"), 0);
    // Opened, noted, closed.
    assert_eq!(logs("map { i := [0:M); sort(flat, z, cut[i], cut[i+1], 1); }"), 3);
    // Each row for itself: the rows are disjoint, but one proof is asked of all maps around.
    assert_eq!(logs("map { i := [0:M); map { j := [0:4); scan(x[i][*], y[i][*], cut[j], cut[j+1]); } }"), 5);
}

#[test]
fn rows_go_to_all_threads_only_where_one_would_fold_them_with_the_same_bits() {
    let asks = |text: &str| {
        let (program, func) = optimised(text);
        let plan = plan::candidates(&program, func, &Model::cpu()).remove(0);
        let entry = lowered(text);
        let mut workers = 0;
        imp::visit::each_expr(&entry.units[0].host.body, &mut |expr| {
            workers += usize::from(matches!(expr.kind, ExprKind::WorkerCount));
        });
        assert_eq!(workers > 0, plan.to_string().contains("  together(262144)\n"), "{plan}");
        workers > 0
    };
    let rows = "function f input float x[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = x[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
    assert!(asks(rows));
    // Runs end with the last iterator where one thread takes them, and anywhere where all do.
    let planes = "function f input float x[R][C][D]; output float y[R];
        { map { r := [0:R); c := [0:C); d := [0:D); _t = x[r][c][d]; } reduce(\"+\", y[r], _t, c := [*], d := [*]); }";
    assert!(!asks(planes));
    assert!(asks(&planes.replace("\"+\"", "\"max\"")), "the largest is the same in any order");
    assert!(asks(&planes.replace("float", "int")), "so are sums of whole numbers");
}

#[test]
fn every_unit_of_every_program_is_well_formed() {
    for text in PROGRAMS {
        let entry = lowered(text);
        let names = plans(&entry);
        assert!(!names.is_empty());
    }
}

/// What lowering a plan of another program expects, that does not hold.
fn defects(text: &str, plan: &plan::Plan) -> Vec<String> {
    let (program, func) = optimised(text);
    let (entry, defects) = super::lower(&program, func, "test_entry", std::slice::from_ref(plan), &Model::cpu());
    assert_eq!(entry.units.len(), usize::from(defects.is_empty()), "a unit with a defect is none");
    defects.into_iter().map(|defect| defect.expected).collect()
}

#[test]
fn plans_that_do_not_fit_are_defects_and_leave_nothing_out() {
    let (gemm, func) = optimised(GEMM);
    let lanes = plan::candidates(&gemm, func, &Model::cpu()).remove(0);
    assert_eq!((lanes.name.as_str(), defects(GEMM, &lanes)), ("lanes", vec![]));
    let none = plan::Plan { nests: Vec::new(), ..lanes.clone() };
    assert!(defects(GEMM, &none).contains(&"the plan has 1 nests, as the function does".to_owned()));
    let cube = "function f input float a[I][J][K]; output float b[I][J][K]; { b = 2 * a; }";
    assert_eq!(defects(cube, &lanes), ["the nest has an iterator `n`"]);
    let sums = GEMM.replace("* B[k][n]", "* B[n][k]").replace("B[K][N]", "B[N][K]");
    let [why] = &defects(&sums, &lanes)[..] else { panic!("one defect") };
    assert!(why.starts_with("tiles of lanes suit it, but "), "{why}");
    let serial = plan::candidates(&gemm, func, &Model::cpu()).remove(2);
    let text = serial.to_string();
    for (line, other, why) in [
        ("k lanes", "k reg(8)", "lanes may have parts of the fold"),
        ("  n seq\n", "", "the line of the plan is `n seq`, not `k lanes`"),
        ("  n seq\n", "  n seq\n  n seq\n", "the line of the plan is `k lanes`, not `n seq`"),
        (
            "fold k runs(8192)",
            "fold n runs(8192)",
            "`runs` are of a map that folds in any order, or of prefixes whose blocks can be summed ahead",
        ),
    ] {
        assert!(text.contains(line), "{text}");
        let other = plan::notation::read(&text.replace(line, other)).expect("a plan");
        assert_eq!(defects(GEMM, &other), [why]);
    }
}

fn is_swap(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Swap(..))
}

#[test]
fn arrays_of_the_caller_exchange_names_and_settle_at_the_end() {
    let step = |text: &str, inner: &str| {
        let text = format!("function f input int n; {text} {{ for (int k = 0; k < n; k += 1) {{ {inner} }} }}");
        let entry = lowered(&text);
        let rows = &entry.units[0];
        let elements = count(&rows.host.body, |stmt| matches!(stmt, Stmt::Store { .. }));
        (count(&rows.host.body, is_swap), elements, count(&rows.host.body, is_launch))
    };
    let text = "inout float a[N]; output float b[N];";
    assert_eq!(
        step(text, "b = 2 * a; swap(a, b);"),
        (2, 0, 2),
        "once in the loop, once with the launch that settles it"
    );
    assert_eq!(
        step(text, "if (k == 3) break; b = 2 * a; swap(a, b);"),
        (2, 0, 2),
        "what leaves the loop stays in the function"
    );
    let three = "inout float a[N]; output float b[N], c[N];";
    assert_eq!(step(three, "b = 2 * a; c = b; swap(a, b); swap(b, c);"), (0, 4, 1), "three move elements");
    let leaves = "if (k == 3) return; b = 2 * a; swap(a, b);";
    assert_eq!(step(text, leaves), (0, 2, 1), "a function that may end early moves elements");
    let local = lowered("function f inout float a[N]; { float b[N]; b = 2 * a; swap(a, b); }");
    let host = &local.units[0].host.body;
    assert_eq!((count(host, is_swap), count(host, is_launch)), (2, 2));
}

#[test]
fn threads_update_copies_of_small_arrays() {
    let is_atomic = |stmt: &Stmt| matches!(stmt, Stmt::Atomic { .. });
    let text = "function f input uint8 x[N]; inout uint counts[B]; { map { i := [0:N); atomic counts[x[i]] += 1; } }";
    let entry = lowered(text);
    let rows = unit(&entry, "rows");
    assert_eq!(count(&rows.host.body, |stmt| matches!(stmt, Stmt::Alloc { zero: true, .. })), 1);
    assert_eq!(
        count(&rows.host.body, is_launch),
        4,
        "into copies, to put them together, by one thread alone, and by atoms"
    );
    assert_eq!(in_kernels(rows, is_atomic), 1, "where there are too many bins");
    assert_eq!(in_kernels(unit(&entry, "serial"), is_atomic), 0, "one thread needs no atoms");
    let unrolled = |times: Option<u32>| {
        in_kernels(rows, |stmt| {
            let Stmt::Loop(Loop { kind: LoopKind::Unroll(own), .. }) = stmt else { return false };
            times.is_none_or(|times| times == *own)
        })
    };
    let model = Model::cpu();
    assert_eq!(unrolled(None), 2, "updates of copies alone");
    assert_eq!(
        (unrolled(Some(model.copied_turns)), unrolled(Some(model.far_copied_turns))),
        (1, 1),
        "near and far ones"
    );
    let largest = lowered(&text.replace("atomic counts[x[i]] += 1", "atomic counts[x[i]] = max(counts[x[i]], 7)"));
    assert_eq!(count(&unit(&largest, "rows").host.body, |stmt| matches!(stmt, Stmt::Alloc { zero: true, .. })), 1);
    let smallest = lowered(&text.replace("atomic counts[x[i]] += 1", "atomic counts[x[i]] = min(counts[x[i]], 7)"));
    assert_eq!(count(&unit(&smallest, "rows").host.body, |stmt| matches!(stmt, Stmt::Alloc { zero: false, .. })), 1);
}

#[test]
fn what_may_be_old_is_read_before_and_lanes_run() {
    let text = "function f inout float d[N][N];
        { for (int k = 0; k < N; k += 1) { map { i := [0:N); j := [0:N); d[i][j] = min(d[i][j], d[i][k] + d[k][j]); } } }";
    let entry = lowered(text);
    let rows = unit(&entry, "rows");
    let relaxed = |stmt: &Stmt| matches!(stmt, Stmt::Store { target, .. } if target.relaxed);
    assert_eq!(in_kernels(rows, relaxed), 0);
    assert!(in_kernels(rows, is_simd) >= 1);
    // Row k is copied, of column k each row of iterations reads its own element.
    assert_eq!(count(&rows.host.body, |stmt| matches!(stmt, Stmt::Alloc { .. })), 1);
    let turned = lowered(&text.replace("d[i][j] = min(d[i][j]", "d[j][i] = min(d[j][i]"));
    let copies = count(&unit(&turned, "rows").host.body, |stmt| matches!(stmt, Stmt::Alloc { .. }));
    assert_eq!(copies, 2, "others write what a row of iterations reads");
    let gathered = text.replace("d[k][j]", "d[(i + k) / 2][j]");
    assert_eq!(in_kernels(unit(&lowered(&gathered), "rows"), relaxed), 1, "another row for each iteration");
}
