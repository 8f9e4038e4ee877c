//! Each constraint has a nest that it keeps from running in some way; the registry has all of them, and no other.

use crate::candidates::constraint;
use crate::target::{DeviceModel, Model};
use crate::testing::optimised;
use crate::{
    CONSTRAINTS, Explored, Fate, Limits, Models, Natives, Strategy, check_directives, explore, explore_device,
    native_name, nests,
};
use hidp_syntax::ast::Level;
use hidp_syntax::diag::Sink;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

const ROWS: &str = "function f input float A[R][C]; output float y[R];
    { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
const GEMM: &str = "function f input float A[M][K], B[K][N]; input int at[K]; output float C[M][N];
    { map { m := [0:M); n := [0:N); map { k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); } }";
const FLAT: &str = "function f input float x[N]; output float y[N]; { map { i := [0:N); y[i] = 2 * x[i]; } }";
const PAIRS: &str = "function f input float a[H][W]; inout float b[H][W];
    { map { i := [1:H-2]; j := [1:W-2]; b[i][j] = a[i][j-1] + a[i][j+1]; } }";
const PREFIXES: &str = "function f input float x[N]; output float y[N];
    { map { i := [0:N); _t = x[i] * x[i]; } scan(\"+\", y[i], _t, i := [*]); }";

/// The constraints that a program does not meet in some way, and what is said of it.
fn refused(text: &str) -> OrdSet<(&'static str, String)> {
    let program = optimised(text);
    let func = *program.entries.last().expect("an entry");
    let item = &program.funcs[func];
    let limits = Limits { most: usize::MAX, ..Limits::default() };
    let small = DeviceModel { shared: 64, ..DeviceModel::cuda() };
    let natives = if native_name(&program, item).is_some() { Natives::Host } else { Natives::Everywhere };
    let all: Vec<Explored> = vec![
        explore(&program, func, &Model::cpu(), limits),
        explore_device(&program, func, &DeviceModel::cuda(), limits, natives),
        explore_device(&program, func, &small, limits, natives),
    ];
    let mut found = OrdSet::new();
    for row in all.iter().flat_map(|explored| &explored.candidates) {
        if let Fate::Excluded(refusal) = &row.fate {
            found.insert((refusal.constraint.id, refusal.to_string()));
        }
    }
    for map in nests(item) {
        let refusal = constraint(&program, item, map, Strategy::Device(Level::Warp));
        found.extend(refusal.map(|refusal| (refusal.constraint.id, refusal.to_string())));
    }
    let mut sink = Sink::new();
    check_directives(&program, Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() }, &mut sink);
    for diagnostic in sink.finish() {
        for note in &diagnostic.notes {
            let named =
                CONSTRAINTS.iter().find(|constraint| note.starts_with(&format!("constraint `{}`", constraint.id)));
            let own = || diagnostic.headline.strip_prefix("cannot be honoured: ").unwrap_or(&diagnostic.primary.text);
            found.extend(named.map(|constraint| (constraint.id, own().to_owned())));
        }
    }
    found
}

#[test]
fn each_constraint_keeps_a_nest_from_running_in_some_way() {
    let with = |text: &str, directive: &str| text.replacen("map {", &format!("\n#pragma hidp {directive}\n map {{"), 1);
    let inner = |text: &str, directive: &str| {
        let (outer, inner) = text.rsplit_once("map {").expect("a map inside");
        format!("{outer}\n#pragma hidp {directive}\n map {{{inner}")
    };
    let native = format!("extern function float twist(float x);\n{}", FLAT.replace("2 * x[i]", "twist(x[i])"));
    let folded =
        ROWS.replace("output float y[R]", "output float s").replace("y[r], _t, c := [*]); }", "_u, _t, c := [*]); }");
    let folded = folded
        .replace("map { r := [0:R); c", "map { r := [0:R); map { c")
        .replace("c := [*]); }", "c := [*]); } reduce(\"max\", s, _u, r := [*]); }");
    let cases: [(&str, String, &str); 27] = [
        (
            "aligned",
            with(GEMM, "shared(A pad(3))"),
            "rows are 3 elements longer than what they hold, of which 4 move at once",
        ),
        ("block-shared", GEMM.into(), "the operands of a tile would not fit into shared memory"),
        ("block-threads", with(ROWS, "block(100)"), "100 threads are no multiple of 32, or more than 1024"),
        (
            "cover",
            with(FLAT, "on(i: grid.x seq thread.x(32))"),
            "2 lines of `i` have no size, and one has to take what the others leave",
        ),
        ("dims", with(FLAT, "on(i: grid.y thread.x(32))"), "`grid.y` is used without `grid.x`"),
        (
            "fault-order",
            GEMM.replace("B[k][n]", "B[at[k]][n]"),
            "a check remains inside, which cannot run in the middle of a tile",
        ),
        ("gain", PAIRS.into(), "no array is read by enough neighbouring iterations, or with gaps"),
        ("gain", ROWS.replace('C', "4"), "no mapping saves 20 % of the others' predicted time at any sizes"),
        (
            "group",
            with(ROWS, "on(r: grid.x thread.y(2), c: seq thread.x(64))"),
            "groups of 64 lanes have no way to fold together: those of 4, 8 and 32 have",
        ),
        ("host", folded.clone(), "the outermost map folds what its iterations leave"),
        ("inside", FLAT.into(), "no iteration has a map or primitive inside that lanes could share"),
        (
            "lanes",
            GEMM.replace("k := [0:K)", "k := [0:min(n, K):2)"),
            "a range that differs from iteration to iteration advances by more than one",
        ),
        ("launches", with(FLAT, "joined"), "`joined` launches are those of a loop of the host"),
        ("loop", with(PREFIXES, "unroll(4)"), "the map makes prefixes"),
        (
            "memory-size",
            GEMM.replace("map { k", "float own[4]; own[m & 3] = 1.5f; map { k").replace("* B[k][n]", "* own[k & 3]"),
            "",
        ),
        ("named", with(GEMM, "warp"), "directives name other levels"),
        ("native", native, "`twist` comes from a C++ header that cannot be compiled for devices"),
        ("order", GEMM.into(), ""),
        ("outermost", inner(GEMM, "block(64)"), "this map is inside of another, which is launched as a whole"),
        ("predicted", folded.clone(), "the outermost map folds what its iterations leave: blocks take runs of them"),
        ("ragged", GEMM.replace("k := [0:K)", "k := [0:min(n, K))"), ""),
        (
            "registers",
            with(GEMM, "on(m: grid.y thread.y(8) reg(16), n: grid.x thread.x(8) reg(16), k: seq seq(8))"),
            "256 results of a lane, of 4 bytes each, are more than 128 registers hold",
        ),
        (
            "section",
            GEMM.replace("B[K][N]", "B[N][K]").replace("B[k][n]", "B[n][k]"),
            "a load takes distant elements along `n`",
        ),
        ("sequence", inner(GEMM, "ordered"), ""),
        ("shape", FLAT.into(), ""),
        (
            "shares",
            with(GEMM, "thread(16, 16), tile(k: 7)"),
            "7 terms of 16 rows, or of 16 columns, cannot be shared out equally over 256 lanes",
        ),
        ("target", FLAT.into(), "that is a level of graphics processors"),
    ];
    let mut ids: Vec<&str> = cases.iter().map(|(id, ..)| *id).collect();
    ids.dedup();
    assert_eq!(ids, CONSTRAINTS.iter().map(|constraint| constraint.id).collect::<Vec<_>>());
    let mut missing = Vec::new();
    for (id, text, why) in cases {
        let found = refused(&text);
        let said = |(other, text): &(&str, String)| *other == id && (why.is_empty() || text == why);
        if !found.iter().any(said) {
            missing.push(format!("{id} does not say so of\n{text}\nbut {found:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_directive_that_is_refused_is_shown_with_what_is_to_blame_and_what_fits() {
    let looked_up = GEMM.replace("B[k][n]", "B[at[k]][n]");
    let ragged = GEMM.replace("k := [0:K)", "k := [0:min(n, K))");
    let large = FLAT.replace("y[i] = 2 * x[i];", "float own[4096]; own[i & 7] = x[i]; y[i] = own[3];");
    let loops = PAIRS.replace("b[i][j] =", "for (int q = 0; q < 3; q += 1) { b[i][j] += a[i][j]; } b[i][j] =");
    let largest = FLAT
        .replace("output float y[N]", "output float y")
        .replace("y[i] = 2 * x[i]; }", "_t = x[i]; } reduce(\"max\", y, _t, i := [*]);");
    let in_order = ROWS.replace("map {", "\n#pragma hidp ordered\n map {");
    // The constraint, a program, a directive before its first map, and how help begins.
    let nearest = "the nearest mapping that fits is\nnest\n";
    let cases: [(&str, &str, &str, &str); 22] = [
        ("aligned", GEMM, "shared(A pad(3))", nearest),
        ("block-shared", GEMM, "shared(A pad(4096))", nearest),
        ("block-threads", FLAT, "thread(100)", nearest),
        ("block-threads", ROWS, "block(100)", "the nearest sizes are `block(96)` and `block(128)`"),
        ("cover", FLAT, "on(i: grid.x seq thread.x(32))", nearest),
        ("dims", FLAT, "on(i: grid.y thread.x(32))", nearest),
        ("fault-order", &looked_up, "thread(8, 32)", nearest),
        ("gain", GEMM, "tile(k: 8), shared(at)", nearest),
        ("group", ROWS, "on(r: grid.x thread.y(2), c: seq thread.x(64))", nearest),
        ("host", &largest, "thread(64)", nearest),
        ("inside", FLAT, "warp", "levels that suit the map: "),
        ("launches", FLAT, "joined", nearest),
        ("loop", PREFIXES, "unroll(4)", "leave the directive out"),
        ("memory-size", &large, "thread(64)", nearest),
        ("named", GEMM, "tile(k: 8), global(B)", nearest),
        ("order", &loops, "shared(a)", nearest),
        ("ragged", &ragged, "shared(A)", nearest),
        ("registers", GEMM, "on(m: grid.y thread.y(8) reg(16), n: grid.x thread.x(8) reg(16), k: seq seq(8))", nearest),
        ("section", PAIRS, "shared(a[i][j-1:j+1))", nearest),
        ("sequence", &in_order, "split(c: 4)", nearest),
        ("shape", GEMM, "span(k: 4)", nearest),
        ("shares", GEMM, "thread(16, 16), tile(k: 7)", nearest),
    ];
    let mut seen: OrdSet<&str> = cases.iter().map(|(id, ..)| *id).collect();
    for (id, text, directive, help) in cases {
        let line = format!("#pragma hidp {directive}");
        let text = text.replacen("map {", &format!("\n{line}\n map {{"), 1);
        let mut sink = Sink::new();
        let program = optimised(&text);
        check_directives(&program, Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() }, &mut sink);
        let found = sink.finish();
        let [diagnostic] = &found[..] else { panic!("{directive}: {found:?}") };
        let at = |span: Span| &text[span.start as usize..span.end as usize];
        assert!(line.contains(at(diagnostic.primary.span)), "{directive}: {diagnostic:?}");
        let blamed = diagnostic.secondary.first().unwrap_or_else(|| panic!("{directive}: {diagnostic:?}"));
        assert!(blamed.span != diagnostic.primary.span && !at(blamed.span).is_empty(), "{directive}: {diagnostic:?}");
        assert!(diagnostic.notes[0].starts_with(&format!("constraint `{id}`: ")), "{directive}: {diagnostic:?}");
        assert!(diagnostic.helps[0].starts_with(help), "{directive}: {diagnostic:?}");
    }
    // One is about maps inside of others, which the test above has; the others forbid what no directive asks for.
    seen.extend(["outermost", "lanes", "native", "predicted", "target"]);
    assert_eq!(seen, CONSTRAINTS.iter().map(|constraint| constraint.id).collect());
}

#[test]
fn the_registry_has_the_constraints_and_no_others() {
    let registry = include_str!("../../../../docs/design/plan.md");
    let (_, after) = registry.split_once("\n## Constraints\n").expect("the heading");
    let section = after.split("\n## ").next().expect("what stands below it");
    let rows: OrdSet<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> =
        CONSTRAINTS.iter().map(|constraint| format!("| `{}` | {} |", constraint.id, constraint.text)).collect();
    assert_eq!(rows, expected.iter().map(String::as_str).collect());
}
