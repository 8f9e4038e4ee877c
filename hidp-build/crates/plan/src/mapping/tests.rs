//! What the planner writes reads back, for every plan of many programs, and lines that nothing carries out are refused.

use super::{Mapping, Misfit};
use crate::target::{DeviceModel, Model};
use crate::testing::optimised;
use crate::{Limits, Natives, Plan, explore, explore_device, nests, notation};
use hidp_ir::par::{FuncId, Program};

const PROGRAMS: [&str; 12] = [
    "function f input float x[N]; output float y[N]; { y = 2 * x; }",
    "function f input float a[I][J][K][L]; output float b[I][J][K][L]; { b = 2 * a; }",
    "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }",
    "function f input float A[R][C]; output float y[C];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[c], _t, r := [*]); }",
    "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }",
    "function f input float A[P][M][K], B[P][K][N]; output float C[P][M][N];
        { map { p := [0:P); m := [0:M); n := [0:N); k := [0:K); _t = A[p][m][k] * B[p][k][n]; }
          reduce(\"+\", C[p][m][n], _t, k := [*]); }",
    "function f input float a[I][J][K]; inout float b[I][J][K];
        { map { i := [1:I-1); j := [1:J-1); k := [0:K); b[i][j][k] = a[i-1][j][k] + a[i+1][j][k] + a[i][j-1][k] + a[i][j+1][k]; } }",
    "function f input float a[H][W]; output float b[W][H], s;
        { map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; _t = a[i][j]; } reduce(\"+\", s, _t, i := [*], j := [*]); }",
    "function f input int rp[R+1], col[Z]; input float val[Z], x[C]; output float y[R];
        { map { r := [0:R); _s = 0.0f; map { k := [rp[r]:rp[r+1]); _t = val[k] * x[col[k]]; } reduce(\"+\", y[r], _t, k := [*]); } }",
    "function f input float A[M][N][K]; output float y[M];
        { map { m := [0:M);
            map { n := [0:N); map { k := [0:K); _t = A[m][n][k]; } reduce(\"+\", _s, _t, k := [*]); _u = _s * _s; }
            reduce(\"max\", y[m], _u, n := [*]); } }",
    "function f input float x[M][N]; output float y[M][N], z[M], w;
        { map { i := [0:M); j := [0:N); _t = x[i][j]; } scan(\"+\", y[i][j], _t, j := [*]);
          map { i := [0:M); float own[N]; sort(x[i][*], own, 0, N, 1); z[i] = own[0]; }
          map { i := [0:M); float own[8]; scan(x[i][*], own, 0, 8); _u = own[7]; } reduce(\"+\", w, _u, i := [*]); }",
    "function float larger(float a, float b) { return a > b ? a : b; }
        function f input float A[R][C]; output float y[R], s;
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(larger: 0.0f, y[r], _t, c := [*]);
          map { r := [0:R); _u = y[r]; } reduce(larger: 0.0f, s, _u, r := [*]); }",
];

fn plans(program: &Program, func: FuncId) -> Vec<Plan> {
    let limits = Limits { most: usize::MAX, variants: true, compositions: true };
    let mut plans = explore(program, func, &Model::cpu(), limits).plans;
    plans.extend(explore_device(program, func, &DeviceModel::cuda(), limits, Natives::Everywhere).plans);
    plans
}

#[test]
fn what_the_planner_writes_reads_back() {
    let mut seen = 0;
    for text in PROGRAMS {
        let program = optimised(text);
        let func = *program.entries.last().expect("an entry");
        let item = &program.funcs[func];
        for plan in plans(&program, func) {
            assert_eq!(notation::read(&plan.to_string()).as_ref(), Ok(&plan));
            for (map, nest) in nests(item).into_iter().zip(&plan.nests) {
                let mapping = Mapping::read(&program, item, map, nest);
                let mapping = mapping.unwrap_or_else(|why| panic!("expected that {why}\n{plan}\n{text}"));
                assert_eq!(mapping.lines(item, map), *nest);
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen} nests");
}

/// Why a changed plan of the product is none.
fn refused(name: &str, from: &str, to: &str) -> String {
    let program = optimised(PROGRAMS[4]);
    let func = program.entries[0];
    let plan = plans(&program, func).into_iter().find(|plan| plan.name == name).expect("a plan of this name");
    let text = plan.to_string();
    assert!(text.contains(from), "{text}");
    let other = notation::read(&text.replace(from, to)).expect("a plan");
    let item = &program.funcs[func];
    match Mapping::read(&program, item, nests(item)[0], &other.nests[0]) {
        Ok(mapping) => format!("{mapping:?}"),
        Err(Misfit(why)) => why,
    }
}

#[test]
fn lines_that_nothing_carries_out_are_refused() {
    let table = [
        ("warp", "m grid.y", "q grid.y", "the nest has an iterator `q`"),
        ("warp", "m grid.y", "m grid.z", "the line of the plan is `m grid.y`, not `m grid.z`"),
        ("warp", "k thread.x(32)", "k thread.x(64)", "the line of the plan is `block(256)`, not `k thread.x(64)`"),
        ("warp", "  block(256)\n", "", "a line `block(n)` says how many threads a block has"),
        ("warp", "block(256)", "block(256)\n  block(64)", "`block` lines are for 1 launches"),
        (
            "warp",
            "nest\n",
            "nest\n  stage A shared(8x8)\n",
            "what a plan keeps near suit the nest, but an iteration has loops, inner maps, arrays or checks",
        ),
        ("warp", "  block", "  place C stream\n  block", "`C` may bypass the caches"),
        ("warp", "nest\n", "nest\n  assume K <= 7\n", "no line is about a recurrence"),
        ("warp", "nest\n", "nest\n  m + n seq\n", "no line is the sweep of a recurrence"),
        ("rows", "  fold", "  warp_columns(8)\n  fold", "nests on processors have no `warp_columns`"),
        ("warp", "  block(256)", "  block(256)\n  turns(9)", "nests on graphics processors have no `turns`"),
        (
            "thread",
            "  m grid.y",
            "  n unroll(4)\n  m grid.y",
            "threads may take several iterations of straight code side by side",
        ),
        (
            "split",
            "block(256)",
            "block(256)\n  resident(512)",
            "registers are left where one launch does all of a map, and makes no prefixes",
        ),
        ("thread", "block(128)", "block(128)\n  resident(512)\n  resident(1)", "`resident` lines are for 1 launches"),
        ("split", "many(512)", "sums(4)", "folds on graphics processors have no `sums`"),
        (
            "split",
            " terms(8)",
            "",
            "a line has the word `terms`: `terms` are of a fold inside that other groups can take parts of",
        ),
        ("split", "many(512)", "many(512) runs(4)", "`runs` are of a map that is launched, and folds in any order"),
        ("tiled64x64_split", "terms(16)", "terms(16) many(4)", "other groups take parts of the fold, and no tiles"),
        (
            "tiled64x64",
            "warp_columns(8)",
            "warp_columns(6)",
            "the lanes of a warp fill rows and columns of the lanes of a tile",
        ),
        (
            "tiled64x64",
            "warp_columns(8)",
            "warp_columns(16)",
            "the lanes of a warp fill rows and columns of the lanes of a tile",
        ),
        (
            "warp",
            "  block",
            "  fold k moves(4)\n  block",
            "a single lane folds neighbours of arrays that others do not write, 16 bytes at once at most",
        ),
        ("tiled64x64", "pad(4)", "pad(6)", "`pad` is a multiple of 4 elements, which move at once"),
        ("warp", "block(256)", "block(256)\n  joined", "`joined` launches are those of a loop of the host"),
        ("rows", "k lanes", "k lanes\n  joined", "launches of devices can be `joined`"),
        ("rows", "threads", "threads(100000)", "`threads` of a number from 1 to 65536"),
        ("tiled64x64", "bufs(2) wide(4) turned", "bufs(2) wide(4) turned swizzled", ""),
        ("tiled64x64", "n reg(8)", "n reg(4294967295)", "a line says how large the tiles are"),
        ("lanes", "m reg(8)", "m reg(8)\n  block(64)", ""),
        ("rows", "m, n threads", "n, m threads", "the line of the plan is `m, n threads`, not `n, m threads`"),
        ("rows", "k lanes", "k lanes(32 bits)", ""),
        ("rows", "runs(8192)", "runs(8192) groups(7)", "folds on processors have no `groups`"),
        ("rows", "vectors(4)", "vectors(4)\n  together(9)", "all threads may share what is inside of each iteration"),
        ("rows", "vectors(4)", "vectors(4)\n  fewest(9)", "there are tiles of lanes, which may be too narrow"),
        ("rows", "vectors(4)", "vectors(4)\n  alone(9)", "there are tiles of rows, which may be few"),
        (
            "serial",
            "vectors(4)",
            "vectors(4)\n  turns(9)",
            "iterations that threads share are unequal, or are taken by themselves, without tiles and without a team inside",
        ),
        ("rows", "vectors(4)", "vectors(4)\n  parts(9)", "parts are taken in turn"),
        ("serial", "vectors(4)", "vectors(4)\n  written(4)", "iterations have rows that can be written out"),
        ("rows", "sums(16)", "sums(12)", "`sums` of a power of two up to 256"),
        (
            "rows",
            "sums(16)",
            "apart(16)",
            "a line has the word `sums`: lanes have parts of a fold of floats, and what it loads follows no indices",
        ),
        ("rows", "vectors(4)", "vectors(4) apart(16)", "lanes have parts of a fold that loads what indices say"),
        ("rows", "vectors(4)", "vectors(4) repeat(8)", "tiles of lanes without rows fold outside of them"),
        ("lanes", "m reg(8)", "m reg(8000)", "a tile has at most 16384 elements, not 256000"),
        (
            "lanes",
            "  columns(1024)\n",
            "",
            "a line has the word `columns`: there may be tiles without rows among those that have some",
        ),
    ];
    for (name, from, to, expected) in table {
        let why = refused(name, from, to);
        assert!(
            !why.starts_with("Mapping") && (expected.is_empty() || why == expected),
            "{name}: {from} -> {to}: {why}"
        );
    }
}
