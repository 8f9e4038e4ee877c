//! Directives take effect, or are refused with the constraint that forbids them.

use crate::compiler::pipeline::testing::input;
use crate::compiler::pipeline::{Options, compile, front};
use hidp_ir::par::{StmtKind, visit};
use hidp_syntax::ast::PinWord;
use hidp_syntax::diag::{Code, Sink};
use hidp_syntax::ordered::OrdSet;

/// Headlines and constraints of what is refused; without and with device code the same.
fn refused(text: &str) -> Vec<String> {
    let of = |cuda: bool| {
        let output = compile(&input(text, Options { cuda, ..Options::default() }));
        let one = output.diagnostics.iter().filter(|diagnostic| diagnostic.code == Code::UnfitDirective);
        one.map(|diagnostic| format!("{} | {}", diagnostic.headline, diagnostic.notes.join(" "))).collect::<Vec<_>>()
    };
    assert_eq!(of(false), of(true), "a program is right or wrong wherever it is built");
    of(true)
}

/// C++ and CUDA.
fn text_of(text: &str) -> (String, String) {
    let output = compile(&input(text, Options { cuda: true, ..Options::default() }));
    assert!(!output.cpp.is_empty(), "{:?}", output.diagnostics);
    (output.cpp[0].text.clone(), output.cuda.first().map_or(String::new(), |file| file.text.clone()))
}

const ROWS: &str = "function f input float A[R][C]; output float y[R];
    { DIRECTIVE
      map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
const FLAT: &str = "function f input float x[N]; output float y[N];
    { DIRECTIVE
      map { i := [0:N); y[i] = 2 * x[i]; } }";
const GRID: &str = "function f input float x[H][W]; output float y[H][W];
    { DIRECTIVE
      map { i := [0:H); j := [0:W); y[i][j] = 2 * x[i][j]; } }";
const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
    { DIRECTIVE
      map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
const SUM: &str = "function f input float x[N]; output float _s;
    { DIRECTIVE
      map { i := [0:N); _t = x[i]; } reduce(\"+\", _s, _t, i := [*]); }";

fn with(text: &str, directive: &str) -> String {
    text.replace("DIRECTIVE", &format!("\n#pragma hidp {directive}\n"))
}

#[test]
fn loops_are_written_out_as_often_as_asked() {
    for (program, directive) in [(ROWS, "unroll(5)"), (FLAT, "unroll(5)"), (SUM, "unroll(5)")] {
        let (plain, _) = text_of(&program.replace("DIRECTIVE", ""));
        let (cpp, _) = text_of(&with(program, directive));
        let kernels: Vec<&str> = cpp.split("HIDP_KERNEL").skip(1).collect();
        let each = kernels.iter().all(|kernel| kernel.contains("GCC unroll 5"));
        assert!(!plain.contains("GCC unroll 5") && each && !kernels.is_empty(), "in each kernel: {cpp}");
    }
    let (_, cuda) = text_of(&with(ROWS, "thread unroll(5)"));
    assert!(cuda.contains("HIDP_UNROLL_BY(5)"), "{cuda}");
}

#[test]
fn turns_of_pinned_lanes_are_written_out() {
    let (cpp, cuda) = text_of(&with(GRID, "tblock(3, 2) thread(4, 8) unroll(j: 5)"));
    assert!(cpp.contains("GCC unroll 5"), "{cpp}");
    // With `long`s and with `int`s.
    let in_each = |cuda: &str| {
        let kernels: Vec<&str> = cuda.split("HIDP_DEVICE void").skip(1).collect();
        assert_eq!(kernels.len(), 2, "{cuda}");
        kernels.iter().all(|kernel| kernel.matches("HIDP_UNROLL_BY(5)").count() == 1)
    };
    assert!(in_each(&cuda), "the turns over `j` alone: {cuda}");
    let (_, rows) = text_of(&with(GRID, "on(i: grid.y(3) seq thread.y(4), j: grid.x seq(2) thread.x(8)) unroll(5)"));
    assert!(in_each(&rows), "{rows}");
}

#[test]
fn blocks_have_the_size_that_is_asked_for() {
    assert_eq!(refused(&with(ROWS, "block(96)")), [""; 0]);
    let (_, cuda) = text_of(&with(ROWS, "block(96)"));
    assert!(cuda.contains("96"), "{cuda}");
    let wrong = "`block(100)` cannot be honoured | constraint `block-threads`: a block has full warps of threads, and no more than the device allows";
    assert_eq!(refused(&with(ROWS, "block(100)")), [wrong]);
    // A processor folds in runs, which are no blocks.
    assert_eq!(text_of(&with(SUM, "block(64)")).0, text_of(&with(SUM, "thread")).0);
}

#[test]
fn levels_that_suit_no_map_are_refused() {
    let inside = "constraint `inside`: lanes of a group share what an iteration has inside: a map or a primitive";
    assert_eq!(refused(&with(FLAT, "warp")), [format!("`warp` cannot be honoured | {inside}")]);
    assert_eq!(refused(&with(FLAT, "warp thread")), [""; 0], "one of them suits");
    let host = "constraint `host`: the host takes iterations one after the other only where they fold nothing";
    assert_eq!(refused(&with(SUM, "kernel")), [format!("`kernel` cannot be honoured | {host}")]);
    assert_eq!(refused(&with(SUM, "block")), [""; 0], "blocks fold runs");
    let sequence = "constraint `sequence`: folds in the order of iterations, and prefixes, go by single threads";
    assert_eq!(refused(&with(SUM, "ordered block")), [format!("`block` cannot be honoured | {sequence}")]);
    assert_eq!(refused(&with(ROWS, "kernel")), [""; 0]);
}

#[test]
fn maps_inside_of_others_have_no_launch_of_their_own() {
    let text = |outer: &str, inner: &str| {
        format!(
            "function f input float A[R][C]; output float y[R];
            {{
              {outer}
              map {{ r := [0:R); float s;
                {inner}
                map {{ c := [0:C); _t = A[r][c]; }} reduce(\"+\", s, _t, c := [*]);
                y[r] = s; }} }}"
        )
    };
    let outermost = "constraint `outermost`: a launch has its shape from the outermost map of a nest";
    let inner = refused(&text("", "#pragma hidp warp"));
    assert_eq!(inner, [format!("`warp` cannot be honoured | {outermost}")]);
    let inner = refused(&text("", "#pragma hidp block(64)"));
    assert_eq!(inner, [format!("`block(64)` cannot be honoured | {outermost}")]);
    assert_eq!(refused(&text("#pragma hidp kernel", "#pragma hidp block(64)")), [""; 0], "the host launches it");
}

#[test]
fn the_library_has_no_loop_of_the_program() {
    let text = "function f input float x[N]; output float y[N]; {
        #pragma hidp unroll(2)
        sort(x, y, N, 1); }";
    let constraint = "constraint `loop`: what is written out is a loop of the program, not one of the run-time library";
    assert_eq!(refused(text), [format!("`unroll(2)` cannot be honoured | {constraint}")]);
    let folded = text.replace("sort(x, y, N, 1);", "y[0] = max(x, N);");
    assert_eq!(refused(&folded), [""; 0], "that is a map");
}

#[test]
fn schedules_are_refused_where_faults_ask_for_another_order() {
    let text = |border: &str, table: &str| {
        format!(
            "#pragma hidp schedule(i + j)
             recurrence int d(i := [0:N], j := [0:M]) input int a[N], b[M];
             {{ if (i == 0 || j == 0) return {border}; return max(d(i-1, j), d(i, j-1)) + {table}; }}
             function f input int a[N], b[M]; output int s; {{ s = d(N, M); }}
             function g input int a[N], b[M]; output int T[N+1][M+1]; {{ T = d; }}"
        )
    };
    assert_eq!(refused(&text("0", "a[i-1] * b[j-1]")), [""; 0]);
    assert_eq!(refused(&text("(int)i", "a[i-1] * b[j-1]")), [""; 0], "faults only for extents beyond `int`");
    assert_eq!(refused(&text("0", "a[i-1] / b[j-1]")), ["this schedule cannot be honoured | "]);
    assert_eq!(refused(&text("0", "a[b[j-1]]").replace("i + j", "i; j")), [""; 0], "the order of plain recursion");
}

#[test]
fn numbers_of_directives_are_in_the_code() {
    // What each version has, and what none has any more.
    let words = [
        (FLAT, "threads(3)", false, "launch_static<1, 3>", "launch_static("),
        (SUM, "threads(3)", false, "launch_static<1, 3>", "launch_static("),
        (GEMM, "threads(3)", false, ", 3>(host", "launch_static("),
        (FLAT, "chunk(77)", false, "launch_dynamic(host", "launch_static"),
        (FLAT, "threads(3) chunk(77)", false, "launch_dynamic<3>(host", "launch_static"),
        (FLAT, "at_once(3)", true, "HIDP_GLOBAL_AT_ONCE(128, 3)", "HIDP_GLOBAL("),
        (ROWS, "registers(40) warp", true, "HIDP_GLOBAL_AT_ONCE(256, 7)", "HIDP_GLOBAL("),
        (FLAT, "thread(64) at_once(5)", true, "HIDP_GLOBAL_AT_ONCE(64, 5)", "HIDP_GLOBAL("),
        (GEMM, "shared(A) at_once(2)", true, "HIDP_GLOBAL_AT_ONCE(256, 2)", "HIDP_GLOBAL("),
        (GEMM, "shared(A pad(40)), only", true, "168L", "132L"),
        (GEMM, "shared(A wide(2)), only", true, "load_several<2>", "load_several<4>"),
        (GEMM, "cuda: vec(k: 2), only", true, "load_several<2>", "load_several<4>"),
        (GRID, "span(i: 3)", true, "< 3L", "hidp::each_item<hidp::Thread"),
        (GRID, "span(i: all)", true, "< H_", "hidp::each_item<hidp::Thread"),
        (ROWS, "split(c: 37)", true, "37L", "1056L"),
        (SUM, "split(i: 77)", true, "runs(1) most(77)", "most(1024)"),
    ];
    for (program, directive, device, there, gone) in words {
        let text = |program: &str| {
            let (cpp, cuda) = text_of(program);
            if device { cuda } else { cpp }
        };
        let (plain, pinned) = (text(&program.replace("DIRECTIVE", "")), text(&with(program, directive)));
        assert!(plain.contains(gone) && !plain.contains(there), "{directive} says what is so anyway: {plain}");
        assert!(pinned.contains(there) && !pinned.contains(gone), "{directive}: {pinned}");
    }
}

#[test]
fn parts_of_operands_have_as_many_copies_as_asked_for() {
    let copies = |options: &str| {
        let (_, cuda) = text_of(&with(GEMM, &format!("shared({options}), only")));
        cuda.matches("HIDP_SHARED(float, near").count()
    };
    assert_eq!(copies("A, B"), 4);
    assert_eq!(copies("A, B bufs(2)"), 4);
    assert_eq!(copies("A, B bufs(1)"), 3);
    assert_eq!(copies("A bufs(1), B bufs(1)"), 2);
}

#[test]
fn the_product_of_hicuda_has_its_tiles_copies_and_barriers() {
    let (_, cuda) = text_of(include_str!("../../../../../examples/gemm/src/kernels/hicuda.hdp"));
    let counts = [
        // One version, one launch of 4 by 2 blocks of 16 by 16 threads.
        ("HIDP_ENTRY", 1),
        ("HIDP_GLOBAL(", 1),
        ("HIDP_GLOBAL(256)", 1),
        ("hidp::over(4L, 2L)", 1),
        // Two parts of each matrix, which all threads fill, each two elements at a time of both.
        ("HIDP_SHARED(float, near", 4),
        ("hidp::store(near", 6),
        // Barriers between who fills a part and who uses it.
        ("hidp::sync<hidp::Block>(worker)", 6),
        // Whole parts and what is left of the last one, from either buffer.
        ("< 32L; ++term", 2),
        ("< left", 2),
    ];
    for (text, count) in counts {
        assert_eq!(cuda.matches(text).count(), count, "{text}: {cuda}");
    }
}

/// The words of directives in a program.
fn words_of(text: &str) -> OrdSet<PinWord> {
    let program = front(&input(text, Options::default()), &mut Sink::new()).expect("a program without errors");
    let mut found = OrdSet::new();
    for (_, func) in program.funcs.iter() {
        visit::walk_stmts(&func.body, |stmt| {
            if let StmtKind::Map(map) = &stmt.kind {
                found.extend(map.directives.pins.iter().map(|pin| pin.word));
                found.extend(map.directives.unroll.map(|_| PinWord::Unroll));
            }
        });
    }
    found
}

#[test]
fn every_word_is_called_with_exact_and_with_random_data() {
    let all: OrdSet<PinWord> = PinWord::ALL.iter().copied().collect();
    assert_eq!(words_of(include_str!("../../../../tests/cases/run/directives.hdp")), all);
    // Parts of folds are taken in any order, so there is none to keep.
    let split = OrdSet::from([PinWord::Split]);
    assert_eq!(words_of(include_str!("../../../../tests/cases/run/directives_ordered.hdp")), &all - &split);
}
