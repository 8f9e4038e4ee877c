//! Which tests remain in the canonical programs after all passes, and which accesses other iterations may touch.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hidp_build::compiler::check::{SourceUnit, check};
use hidp_build::compiler::diag::{Severity, Sink};
use hidp_build::compiler::ir::par::visit::walk_places;
use hidp_build::compiler::ir::par::{Access, Program, print};
use hidp_build::compiler::pass;
use hidp_build::compiler::prove::{RemainingKind, races, remaining};
use hidp_build::compiler::source::SourceMap;
use hidp_build::compiler::syntax::ast::Domains;
use hidp_build::compiler::syntax::parse;

fn compiled(text: &str) -> (SourceMap, Program) {
    let mut sources = SourceMap::new();
    let mut sink = Sink::new();
    let id = sources.add("case.hdp", text);
    let ast = parse(&sources, id, &mut sink);
    let mut program = check(&sources, &[SourceUnit { id, ast, imports: Vec::new() }], &Domains::default(), &mut sink);
    let errors: Vec<_> =
        sink.finish().into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    pass::run(&mut program, pass::PIPELINE).unwrap_or_else(|error| panic!("{error}"));
    (sources, program)
}

fn case(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/check").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Source texts of the tests that remain; those of primitives are not among them.
fn remains(text: &str) -> BTreeSet<String> {
    let (sources, program) = compiled(text);
    let all = program.entries.iter().flat_map(|&entry| remaining(&program, entry));
    let tests = all.filter(|test| test.kind != RemainingKind::Segment);
    tests.map(|test| sources.snippet(test.span).to_owned()).collect()
}

/// Arrays with accesses that other iterations may touch at the same time.
fn shared(program: &Program) -> BTreeSet<String> {
    let mut arrays = BTreeSet::new();
    for (_, func) in program.funcs.iter() {
        walk_places(&func.body, |place, _| {
            if place.access == Access::Shared {
                arrays.insert(func.vars[place.array].name.clone());
            }
        });
    }
    arrays
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn narrow_variables_that_count_need_no_tests() {
    let loops = "
        for (int j = 1; j < M; j += 1) x[i][j] += x[i][j-1];
        for (int j = M - 2; j >= 0; j -= 1) x[i][j] += x[i][j+1];
        for (int j = 0; j <= i && j < M; j += 2) { for (uint8 k = 0; k < M; k += 1) x[i][j] += x[i][k]; }";
    let text = format!("function f inout double x[N][M]; {{ map {{ i := [0:N); {loops} }} }}");
    assert_eq!(remains(&text), set(&[]));
    let by_long = text.replace("j < M; j += 1", "j < m; j += 1");
    let by_long = by_long.replace("inout double x", "input long m; inout double x");
    assert_eq!(remains(&by_long), set(&["x[i][j]", "x[i][j-1]"]), "nothing is said of a bound that is no dimension");
}

/// What stands behind `require`s of sizes is the same text.
#[test]
fn narrow_variables_of_loops_become_long() {
    let body = |ty: &str| {
        let text = format!(
            "function f input int n; inout double x[N][M]; {{ map {{ i := [0:N);
               for ({ty} j = 1; j < M; j += 1) x[i][j] += x[i][j-1] * j;
               for ({ty} j = 3; j > 0 && j < n; j -= 1) {{ if (j < M - 1) x[i][j + 1] = 0; }} }} }}"
        );
        let (_, program) = compiled(&text);
        let printed = print(&program);
        printed.lines().filter(|line| !line.contains("require")).collect::<Vec<_>>().join("\n")
    };
    let narrow = body("int");
    assert!(narrow.contains("double(int(j%5))"), "what is no index is as wide as it was: {narrow}");
    assert_eq!(narrow.replace("int(j%5)", "j%5"), body("long"));
}

#[test]
fn regular_programs_need_no_tests() {
    for name in ["gemm.hdp", "himeno.hdp", "heat.hdp", "lu.hdp"] {
        assert_eq!(remains(&case(name)), set(&[]), "{name}");
        assert_eq!(shared(&compiled(&case(name)).1), set(&[]), "{name}");
    }
}

#[test]
fn sparse_rows_test_what_depends_on_data() {
    assert_eq!(remains(&case("spmv_csr.hdp")), set(&["val[k]", "col[k]", "x[col[k]]"]));
    assert_eq!(shared(&compiled(&case("spmv_csr.hdp")).1), set(&[]));
}

#[test]
fn sums_over_segments_test_their_bounds_once() {
    let text = "function sums
        input int lo[S], hi[S]; input float a[N]; output float y[S];
        { map { s := [0:S); y[s] = reduce(\"+\", a, lo[s], hi[s]); } }";
    let text = text.replace("y[s] = reduce(\"+\", a, lo[s], hi[s]);", "_m = min(a, lo[s], hi[s]); y[s] = _m;");
    assert_eq!(remains(&text).into_iter().filter(|test| test == "a").collect::<Vec<_>>(), Vec::<String>::new());
}

/// The passes keep what `races` found out: deriving it again finds no further accesses to share.
#[test]
fn passes_keep_exclusive_accesses_exclusive() {
    for name in ["gemm.hdp", "himeno.hdp", "heat.hdp", "lu.hdp", "spmv_csr.hdp", "quicksort.hdp", "races_disjoint.hdp"]
    {
        let (_, mut program) = compiled(&case(name));
        let before = shared(&program);
        for func in program.funcs.ids().collect::<Vec<_>>() {
            races(&mut program, func, &mut Sink::new());
        }
        assert_eq!(shared(&program), before, "{name}");
    }
}
