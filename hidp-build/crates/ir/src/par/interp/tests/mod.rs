use super::*;
use crate::par::{read, verify};

mod prims;

/// Reads and verifies a program.
fn program(text: &str) -> Program {
    let program = read(text).unwrap_or_else(|error| panic!("{error}"));
    verify(&program)
        .unwrap_or_else(|errors| panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")));
    program
}

/// Runs the first entry.
fn try_run(text: &str, args: Vec<Arg>) -> Result<Vec<Arg>, Error> {
    let program = program(text);
    run(&program, program.entries[0], args).map(|results| results.args)
}

fn run_ok(text: &str, args: Vec<Arg>) -> Vec<Arg> {
    try_run(text, args).unwrap_or_else(|error| panic!("{error}"))
}

fn fault(text: &str, args: Vec<Arg>) -> (FaultKind, Vec<i64>) {
    match try_run(text, args) {
        Err(Error::Fault(fault)) => (fault.kind, fault.values),
        other => panic!("no fault but {other:?}"),
    }
}

fn vector(data: impl Into<Data>) -> Arg {
    Arg::Array(Array::vector(data))
}

fn matrix(rows: i64, columns: i64, data: impl Into<Data>) -> Arg {
    Arg::Array(Array::new(vec![rows, columns], data))
}

fn data(arg: &Arg) -> &Data {
    match arg {
        Arg::Array(array) => &array.data,
        Arg::Scalar(_) | Arg::Output => panic!("{arg:?} is no array"),
    }
}

fn floats(arg: &Arg) -> Vec<f64> {
    data(arg).values().iter().map(|value| value.as_float().expect("a float")).collect()
}

fn integers(arg: &Arg) -> Vec<i128> {
    data(arg).values().iter().map(|value| value.as_integer().expect("an integer")).collect()
}

const GEMM: &str = r#"
func gemm(alpha, beta, A, B, C) dims (M, K, N) contract {
  vars {
    M: long dim; K: long dim; N: long dim; alpha: float input; beta: float input;
    A: float[M, K] input; B: float[K, N] input; C: float[M, N] inout; C1: float[M, N] local;
    m: long iter; n: long iter; k: long iter; c0: float local; i: long iter; j: long iter;
  }
  declare C1 zero;
  map (m = 0 .. M by 1, n = 0 .. N by 1, k = 0 .. K by 1) {
    declare c0;
    c0 = (A[m?, k?] * B[k?, n?]);
  }
  fold reduce "+" float neutral 0.0:float value c0 over (k) into C1[m?, n?];
  map (i = 0 .. M by 1, j = 0 .. N by 1) { C[i, j] = ((alpha * C1[i, j]) + (beta * C[i, j])); }
}
entries (gemm)
"#;

#[test]
fn gemm() {
    let args = vec![
        2.0_f32.into(),
        0.5_f32.into(),
        matrix(2, 3, vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]),
        matrix(3, 2, vec![1.0_f32, 0.0, 0.0, 1.0, 2.0, -1.0]),
        matrix(2, 2, vec![10.0_f32, 20.0, 30.0, 40.0]),
    ];
    assert_eq!(floats(&run_ok(GEMM, args)[4]), [19.0, 8.0, 47.0, 18.0]);
}

#[test]
fn sizes_that_disagree_name_both_arrays() {
    let args = vec![
        2.0_f32.into(),
        0.5_f32.into(),
        matrix(2, 3, vec![0.0_f32; 6]),
        matrix(2, 2, vec![0.0_f32; 4]),
        matrix(2, 2, vec![0.0_f32; 4]),
    ];
    let Err(Error::Call(what)) = try_run(GEMM, args) else { panic!("accepted") };
    assert_eq!(what, "dimension 0 of `B` is 2, not 3 (from `A`)");
}

#[test]
fn empty_extents_fold_to_the_neutral_element() {
    let args = vec![
        1.0_f32.into(),
        0.0_f32.into(),
        matrix(2, 0, Vec::<f32>::new()),
        matrix(0, 1, Vec::<f32>::new()),
        matrix(2, 1, vec![7.0_f32; 2]),
    ];
    assert_eq!(floats(&run_ok(GEMM, args)[4]), [0.0, 0.0]);
}

#[test]
fn ragged_maps_and_the_first_fault() {
    let text = r#"
func spmv(rowptr, col, val, x, y) dims (R, Z, C) contract {
  vars {
    R: long dim; Z: long dim; C: long dim; rowptr: int[(R + 1)] input; col: int[Z] input; val: float[Z] input;
    x: float[C] input; y: float[R] output; r: long iter; k: long iter; t: float local;
  }
  map (r = 0 .. R by 1) {
    map (k = long(rowptr[r?]) .. long(rowptr[(r + 1)?]) by 1) { declare t; t = (val[k?] * x[long(col[k?])?]); }
    fold reduce "+" float neutral 0.0:float value t over (k) into y[r?];
  }
}
entries (spmv)
"#;
    let args = |col: Vec<i32>| {
        vec![
            vector(vec![0_i32, 2, 2, 3]),
            vector(col),
            vector(vec![1.0_f32, 2.0, 3.0]),
            vector(vec![10.0_f32, 20.0]),
            vector(vec![-1.0_f32; 3]),
        ]
    };
    assert_eq!(floats(&run_ok(text, args(vec![0, 1, 1]))[4]), [50.0, 0.0, 60.0]);
    assert_eq!(fault(text, args(vec![0, 2, 9])), (FaultKind::Index, vec![2, 2, 0]));
}

#[test]
fn scans_run_along_any_iterator() {
    let text = r#"
func f(A, S, E) dims (M, N) {
  vars { M: long dim; N: long dim; A: int[M, N] input; S: int[N, M] output; E: int[M, N] output;
    i: long iter; j: long iter; v: int local; w: int local; }
  map (i = 0 .. M by 1, j = 0 .. N by 1) { declare v; declare w; v = A[i, j]; w = A[i, j]; }
  fold scan "+" int neutral 0:int value v over (i) into S[j, i];
  fold exscan "max" int neutral -99:int value w over (j) into E[i, j];
}
entries (f)
"#;
    let args =
        vec![matrix(2, 3, vec![1_i32, 5, 3, 4, 2, 6]), matrix(3, 2, vec![0_i32; 6]), matrix(2, 3, vec![0_i32; 6])];
    let results = run_ok(text, args);
    assert_eq!(integers(&results[1]), [1, 5, 5, 7, 3, 9]);
    assert_eq!(integers(&results[2]), [-99, 1, 5, -99, 4, 4]);
}

#[test]
fn functions_fold_structs_and_empty_folds_without_neutral_fault() {
    let text = r#"
struct Best { v: float, i: long }
fn better(a, b) -> Best { vars { a: Best input; b: Best input; } if (field(b, 0) > field(a, 0)) { return b; } return a; }
func argmax(x, n, at) dims (N) {
  vars { N: long dim; x: float[N] input; n: long input; at: long output; k: long iter; c: Best local; best: Best local; }
  declare best zero;
  map (k = 0 .. n by 2) { declare c; c = new Best{0.0:float, k}; c@0 = x[k?]; }
  fold reduce better Best value c over (k) into best;
  at = field(best, 1);
}
entries (argmax)
"#;
    let args = |n: i64| vec![vector(vec![1.0_f32, 9.0, 4.0, 9.0, 4.0]), n.into(), Arg::Output];
    assert_eq!(run_ok(text, args(5))[2], Arg::Scalar(Value::I64(2)));
    assert_eq!(fault(text, args(0)), (FaultKind::EmptyFold, vec![]));
    assert_eq!(fault(text, args(7)), (FaultKind::Index, vec![6, 5, 0]));
}

#[test]
fn calls_pass_sections_elements_and_scalars() {
    let text = r#"
func inner(x, s, total) dims (n) {
  vars { n: long dim; x: int[n] inout; s: int input; total: int output; i: long iter; v: int local; tmp: int[n] local; }
  if (n == 0) { leave; }
  declare tmp zero;
  map (i = 0 .. n by 1) { declare v; v = (x[i] * s); tmp[i] = v; }
  fold reduce "+" int neutral 0:int value v over (i) into total;
  swap tmp, x;
}
func outer(A, sums, last) dims (M, N) {
  vars { M: long dim; N: long dim; A: int[M, N] inout; sums: int[M] output; last: int output; r: long iter; t: int local; }
  map (r = 0 .. M by 1) { call inner(section A{at r, range 0 .. N by 2}, value 10:int, element sums[r?]); }
  call inner(section A{range 0 .. M by 1, at 1}, scalar last, scalar last%6);
}
entries (outer)
"#;
    let text = text.replace("scalar last, scalar last%6", "value 100:int, scalar last");
    let args = vec![matrix(2, 3, vec![1_i32, 2, 3, 4, 5, 6]), vector(vec![0_i32; 2]), Arg::Output];
    let results = run_ok(&text, args);
    assert_eq!(integers(&results[0]), [10, 200, 30, 40, 500, 60]);
    assert_eq!(integers(&results[1]), [40, 100]);
    assert_eq!(results[2], Arg::Scalar(Value::I32(700)));
    let bad = text.replace("range 0 .. N by 2", "range 0 .. (N + 1) by 2");
    let args = vec![matrix(2, 3, vec![1_i32, 2, 3, 4, 5, 6]), vector(vec![0_i32; 2]), Arg::Output];
    assert_eq!(fault(&bad, args), (FaultKind::Segment, vec![0, 4, 3]));
}

#[test]
fn dimensions_are_solved_and_checked() {
    let text = r#"
func f(a, b, n) dims (N) {
  vars { N: long dim; a: int[((2 * N) - 1)] input; b: int[(N + 1)] input; n: long output; }
  n = N;
}
entries (f)
"#;
    let args = |a: usize, b: usize| vec![vector(vec![0_i32; a]), vector(vec![0_i32; b]), Arg::Output];
    assert_eq!(run_ok(text, args(5, 4))[2], Arg::Scalar(Value::I64(3)));
    for (a, b) in [(5, 5), (4, 4)] {
        assert!(matches!(try_run(text, args(a, b)), Err(Error::Call(_))), "{a} {b}");
    }
    let negative = text.replace("((2 * N) - 1)", "(N + 3)").replace("(N + 1)", "(N + 3)");
    let Err(Error::Call(what)) = try_run(&negative, args(1, 1)) else { panic!("accepted") };
    assert_eq!(what, "dimension 0 of `a` makes a dimension -2");
}

#[test]
fn loops_break_and_continue() {
    let text = r#"
func f(n, s) dims () {
  vars { n: int input; s: int output; i: int local; }
  declare i zero;
  loop true {
    if (i == n) { break; }
    if ((i %? 2:int) == 0:int) { continue; }
    s = (s + i);
    scope { loop true { leave; } step { } }
  } step { i = (i + 1:int); }
}
entries (f)
"#;
    assert_eq!(run_ok(text, vec![10_i32.into(), Arg::Output])[1], Arg::Scalar(Value::I32(25)));
    let program = program(text);
    let options = Options { fuel: Some(1000), ..Options::default() };
    let endless = run_with(&program, program.entries[0], vec![(-1_i32).into(), Arg::Output], &options);
    assert_eq!(endless, Err(Error::OutOfFuel));
}

#[test]
fn a_fault_where_none_can_be_is_a_defect() {
    let text = r#"
func f(a, i) dims (N) { vars { N: long dim; a: int[N] inout; i: long input; } a[i] = (a[0?] / int(i)); }
entries (f)
"#;
    let run = |i: i64| try_run(text, vec![vector(vec![8_i32, 9]), i.into()]);
    assert!(matches!(run(2), Err(Error::Unsound(Fault { kind: FaultKind::Index, .. }))));
    assert!(matches!(run(0), Err(Error::Unsound(Fault { kind: FaultKind::DivisionByZero, .. }))));
    assert!(run(1).is_ok());
}

#[test]
fn locals_fault_on_their_sizes() {
    let text = r#"
func f(n, m) dims () { vars { n: long input; m: long input; a: double[n, m] local; } declare a zero; }
entries (f)
"#;
    let sizes = |n: i64, m: i64| vec![n.into(), m.into()];
    assert_eq!(fault(text, sizes(3, -2)), (FaultKind::NegativeSize, vec![-2]));
    assert_eq!(fault(text, sizes(1 << 40, 1 << 40)), (FaultKind::SizeOverflow, vec![1 << 40, 1 << 40]));
    assert_eq!(fault(text, sizes(1 << 20, 1 << 20)), (FaultKind::Allocation, vec![8 << 40]));
    assert!(try_run(text, sizes(0, 1 << 40)).is_ok());
}

#[test]
fn locals_are_fresh_in_every_iteration_and_poisoned_when_zero_is_not_needed() {
    let text = r#"
func f(out, p) dims (N) {
  vars { N: long dim; out: int[N] output; p: float output; i: long iter; a: int[2] local; s: int local; q: float[1] local; }
  map (i = 0 .. N by 1) { declare a zero; declare s zero; a[1] = (a[1] + int(i)); s = (s + a[1]); out[i] = s; }
  declare q;
  p = q[0];
}
entries (f)
"#;
    let results = run_ok(text, vec![vector(vec![7_i32; 3]), Arg::Output]);
    assert_eq!(integers(&results[0]), [0, 1, 2]);
    assert!(matches!(results[1], Arg::Scalar(Value::F32(p)) if p.is_nan()));
}

#[test]
fn pairwise_sums_are_accurate_and_ordered_ones_are_sequential() {
    let text = |ordered: &str| {
        format!(
            r#"
func f(x, s) dims (N) {{
  vars {{ N: long dim; x: float[N] input; s: float output; i: long iter; t: float local; }}
  map (i = 0 .. N by 1) {{ declare t; t = x[i]; }}
  fold reduce "+" float neutral 0.0:float {ordered} value t over (i) into s;
}}
entries (f)
"#
        )
    };
    let x: Vec<f32> = (0..100_003).map(|i| 0.1 + (i % 7) as f32).collect();
    let exact: f64 = x.iter().map(|x| f64::from(*x)).sum();
    let sequential = x.iter().fold(0.0_f32, |sum, x| sum + x);
    let run = |ordered| run_ok(&text(ordered), vec![vector(x.clone()), Arg::Output])[1].clone();
    let Arg::Scalar(Value::F32(pairwise)) = run("") else { panic!("no float") };
    assert!((f64::from(pairwise) / exact - 1.0).abs() < 3e-7, "{pairwise} {exact}");
    assert_eq!(run("ordered"), Arg::Scalar(Value::F32(sequential)));
}

#[test]
fn atomics_count_and_conflicts_keep_the_last_value() {
    let text = r#"
func f(key, count, last) dims (N, B) {
  vars { N: long dim; B: long dim; key: int[N] input; count: uint[B] inout; last: long[B] output; i: long iter; }
  map (i = 0 .. N by 1) {
    atomic count[long(key[i])?] "+" uint neutral 0:uint = 1:uint;
    last~[long(key[i])?] = i;
  }
}
entries (f)
"#;
    let args = vec![vector(vec![2_i32, 0, 2, 2]), vector(vec![5_u32, 0, 0]), vector(vec![-1_i64; 3])];
    let results = run_ok(text, args);
    assert_eq!(integers(&results[1]), [6, 0, 3]);
    assert_eq!(integers(&results[2]), [1, -1, 3]);
}

#[test]
fn a_million_elements_take_about_a_second() {
    let text = r#"
func saxpy(a, x, y) dims (n) {
  vars { n: long dim; a: float input; x: float[n] input; y: float[n] inout; i: long iter; }
  map (i = 0 .. n by 1) { y[i?] = ((a * x[i?]) + y[i?]); }
}
entries (saxpy)
"#;
    let n = 1_000_000;
    let args = vec![2.0_f32.into(), vector(vec![1.5_f32; n]), vector(vec![1.0_f32; n])];
    assert_eq!(floats(&run_ok(text, args)[2])[n - 1], 4.0);
}

#[test]
fn wrong_claims_of_exclusive_access_are_caught() {
    let text = |body: &str| {
        format!(
            r#"
func f(a, b) dims (N) {{
  vars {{ N: long dim; a: int[N] inout; b: int[N] inout; i: long iter; j: long iter; k: long iter;
    t: int local; own: int[2] local; }}
  {body}
}}
entries (f)"#
        )
    };
    let race = |body: &str| {
        let program = program(&text(body));
        let options = Options { races: true, ..Options::default() };
        let args = vec![vector(vec![1_i32; 6]), vector(vec![1_i32; 6])];
        match run_with(&program, program.entries[0], args, &options) {
            Ok(_) => false,
            Err(Error::Race { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    };
    // Every iteration its own element.
    assert!(!race("map (i = 0 .. N by 1) { a[i] = (a[i] + b[i]); }"));
    // A neighbour is written and read.
    assert!(race("map (i = 1 .. N by 1) { a[i] = a[(i - 1)]; }"));
    assert!(race("map (i = 1 .. N by 1) { a~[i] = a[(i - 1)]; }"));
    assert!(race("map (i = 1 .. N by 1) { a[(i - 1)] = a~[i]; }"));
    assert!(!race("map (i = 1 .. N by 1) { a~[i] = a~[(i - 1)]; }"));
    // One element by all.
    assert!(race("map (i = 0 .. N by 1) { a[0] = int(i); }"));
    assert!(!race("map (i = 0 .. N by 1) { a~[0] = int(i); }"));
    assert!(!race("map (i = 0 .. N by 1) { atomic a[0] \"+\" int neutral 0:int = 1:int; }"));
    assert!(race("map (i = 0 .. N by 1) { atomic a[0] \"+\" int neutral 0:int = 1:int; b[i] = a[0]; }"));
    // Reading together is fine, and so are maps one after the other, loops and locals of an iteration.
    assert!(!race("map (i = 0 .. N by 1) { b[i] = a[0]; } map (j = 0 .. N by 1) { a[j] = b[0]; }"));
    let loops = "map (i = 0 .. 3 by 1) { declare t zero; declare own zero; loop (t < 2:int) {
        map (j = 0 .. 2 by 1) { own[j] = a[((2 * i) + j)]; }
        map (k = 0 .. 2 by 1) { a[((2 * i) + k)] = own[(1 - k)]; }
      } step { t = (t + 1:int); } }";
    assert!(!race(loops));
    assert!(race(&loops.replace("own[j] = a[((2 * i) + j)]", "own[0] = a[((2 * i) + j)]")));
    assert!(race(&loops.replace("own[j] = a[((2 * i) + j)]", "own[j] = a[(i + j)]")));
}
