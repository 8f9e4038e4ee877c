use super::{print, read};
use crate::par::{StmtKind, verify};

/// One of everything.
const ALL: &str = r#"
struct Pair doc "two numbers" { v: float, n: long }
struct Nested native { p: Pair, b: bool }
fn mid(a, b) -> uint contract { vars { a: uint input; b: uint input; } return (a + ((b - a) /? 2:uint)); }
fn better(a, b) -> Pair {
  vars { a: Pair input; b: Pair input; best: Pair local; }
  declare best zero;
  best = a;
  best@1 = 3;
  loop true { if (field(best, 0) < field(b, 0)) { best = b; } else { break; } } step { best@0 = neg(field(a, 0)); }
  return new Pair{field(best, 0), 7};
}
fn below(x, p) -> bool native { vars { x: uint input; p: uint input; } }
func cells(x, d, e) dims (n) {
  vars { n: long dim; x: int[n] input; d: int[(n + 1), n] output; e: int[n] output; i: long iter; j: long iter; k: long iter; }
  system nest (1, -1) ranks (0) {
    table d (i = 0 .. (n + 1) by 1, j = i .. n by 1) rows ((1, -1), (0, 1)) rank 0 window 3 {
      if (i == 0) { return x[j]; }
      return d[(i - 1), j];
    }
  }
  system { table e (k = 0 .. n by 1) rows ((1)) rank 1 { return d[k, k]; } }
}
func inner(x, s, c) dims (n) {
  vars { n: long dim; x: float[n] inout; s: float output; c: int input; }
  if (c > 3:int) { leave; }
  s = 1.5:float;
}
func all(A, keys, out, total, lo, hi) dims (M, N) contract unchecked doc "everything" doc "\"twice\"" {
  vars {
    M: long dim; N: long dim;
    A: float[M, (N + 1)] input; keys: uint[N] inout; out: float[M] output; total: float output;
    lo: int[M] input; hi: int[M] input;
    i: long iter; j: long iter; "a b"%10: float local; t%11: float local; t%12: float[M, 3] local;
    best: Pair local; pairs: Pair[2] local; k: long iter; count: long local;
  }
  declare t%12;
  declare pairs zero;
  declare best zero;
  declare "count"%16 zero;
  call inner(section t%12{at 1, range 0 .. 3 by 2}, scalar total, value 4:int);
  map (i = 0 .. M by 1, j = int?(0) .. N by 2) levels(block, warp) ordered unordered block(256) unroll(4) {
    declare "a b"%10 zero;
    declare t%11;
    "a b"%10 = (A[i, j?] * select((i < j), inf:float, -inf:float));
    t%11 = fma(0.1:float, nan:float, -0.0:float);
    if isnan(t%11) { atomic keys~[j?] "+" uint neutral 0:uint = uint(-1); }
    t%11 = float((double(t%11) + 1e300));
  }
  fold reduce "+" float neutral 0.0:float ordered value "a b"%10 over (j) into out[i?];
  fold scan "max" float neutral -inf:float value t%11 over (i) into t%12[j?, 0];
  map (k = 0 .. 2 by 1) { pairs[k?]@1 = (k %? 2); best%13 = best%13; }
  scope { loop (total < 1.0:float) { if not((true && false)) { continue; } leave; } step { } }
  require (M == N) fault Shape ("M" M, "" N);
  swap t%12, t%12;
  prim min whole(N) in keys{; 0, N} op "min" uint neutral 4294967295:uint result keys[0?];
  prim scan segment(0, 3) in A{0; 1, N} out out{; 0, M} op "+" float neutral 0.0:float;
  prim partition vectors(lo{; 0, M}, hi{; 0, M}) in keys{; 0, N} out keys{; 0, N} predicate below pivots keys{; 0, N} bounds (lo, hi);
  prim sort regular(2, 3) in keys{; 0, N} out keys{; 0, N} dir -1:int values A{0; 0, N} into out{; 0, M} levels(thread);
  prim reduce whole(2) in pairs{; 0, 2} op better Pair result best;
}
entries (all)
"#;

#[test]
fn reading_what_was_printed_prints_the_same() {
    let program = read(ALL).expect("a program");
    let text = print(&program);
    let again = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&again), text);
    // By its debug form, because NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{program:?}"));
}

#[test]
fn the_printed_form_keeps_every_statement() {
    let program = read(ALL).expect("a program");
    let mut kinds = Vec::new();
    crate::par::visit::walk_stmts(&program.funcs.iter().last().expect("a function").1.body, |stmt| {
        kinds.push(std::mem::discriminant(&stmt.kind));
    });
    assert_eq!(kinds.iter().filter(|kind| **kind == std::mem::discriminant(&StmtKind::Leave)).count(), 1);
    assert_eq!(kinds.len(), 28);
}

#[test]
fn errors_name_the_line() {
    for (text, line, part) in [
        ("func f() dims () { vars { } x = 1; }", 1, "`x` is unknown"),
        ("\nfunc f() dims () {\n vars { x: long local; }\n x = (1 +; }", 4, "expected an expression"),
        ("struct S { v: floot }", 1, "`floot` is unknown"),
        ("entries (f)", 1, "function `f` is unknown"),
        ("func f() dims () { vars { x: long local;", 1, "expected a name"),
        ("func f() dims () { vars { } ", 1, "found the end"),
        ("\"open", 1, "does not end"),
        ("func f() dims () { vars { x: long local; x: long local; } x = 1; }", 1, "needs its number"),
        ("func f() dims () { vars { } $ }", 1, "means nothing"),
        ("func f() dims () { vars { x: long local; } x = 99999999999999999999999999999999999999999; }", 1, "no number"),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.line, line, "{error}");
        assert!(error.what.contains(part), "{error}");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let text = format!("func f() dims () {{ vars {{ x: long local; }} x = {}1; }}", "(".repeat(100_000));
    assert!(read(&text).expect_err("too deep").what.contains("too deeply"));
}

#[test]
fn cut_texts_are_errors_not_panics() {
    for end in (0..ALL.len()).filter(|end| ALL.is_char_boundary(*end)) {
        let _ = read(&ALL[..end]);
    }
}

#[test]
fn a_verified_program_stays_verified() {
    let text = r#"
func saxpy(a, x, y) dims (n) contract {
  vars { n: long dim; a: float input; x: float[n] input; y: float[n] inout; i: long iter; }
  map (i = 0 .. n by 1) { y[i] = ((a * x[i]) + y[i]); }
}
entries (saxpy)
"#;
    let program = read(text).expect("a program");
    verify(&program).expect("well formed");
    verify(&read(&print(&program)).expect("a program")).expect("well formed");
}
