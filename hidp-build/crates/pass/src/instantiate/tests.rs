use super::*;
use hidp_ir::par::interp::{Arg, Array, Error, Options, Results, Value, run_with};
use hidp_ir::par::{FaultKind, read, verify};

/// What the first entry does before and after the pass; they must agree.
fn both(text: &str, args: &[Arg]) -> Result<Results, Error> {
    let mut program = read(text).unwrap_or_else(|error| panic!("{error}"));
    let check = |program: &Program| {
        verify(program).unwrap_or_else(|errors| {
            let text = hidp_ir::par::print(program);
            panic!("{}\n{text}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        });
    };
    check(&program);
    let options = Options { fuel: Some(1_000_000), ..Options::default() };
    let before = run_with(&program, program.entries[0], args.to_vec(), &options);
    super::run(&mut program);
    check(&program);
    assert!(calls_of(&program.funcs[program.entries[0]].body).all.is_empty());
    assert_eq!(program.funcs.len(), program.entries.len());
    let after = run_with(&program, program.entries[0], args.to_vec(), &options);
    assert_eq!(before, after, "{}", hidp_ir::par::print(&program));
    after
}

/// The pass's result.
fn instantiated(text: &str) -> Program {
    let mut program = read(text).unwrap_or_else(|error| panic!("{error}"));
    super::run(&mut program);
    program
}

fn count(program: &Program, which: impl Fn(&StmtKind) -> bool) -> usize {
    let mut found = 0;
    let body = &program.funcs[program.entries[0]].body;
    visit::walk_stmts(body, |stmt| found += usize::from(which(&stmt.kind)));
    found
}

fn ints(values: &[i32]) -> Arg {
    Arg::Array(Array::vector(values.to_vec()))
}

fn matrix(rows: i64, columns: i64, values: &[i32]) -> Arg {
    Arg::Array(Array::new(vec![rows, columns], values.to_vec()))
}

fn int_data(arg: &Arg) -> Vec<i32> {
    match arg {
        Arg::Array(array) => array.data.values().iter().map(|v| v.as_integer().expect("an integer") as i32).collect(),
        Arg::Scalar(_) | Arg::Output => panic!("{arg:?} is no array"),
    }
}

const SAXPY: &str = r#"
func saxpy(a, x, y) dims (n) contract {
  vars { n: long dim; a: int input; x: int[n] input; y: int[n] inout; i: long iter; }
  map (i = 0 .. n by 1) { y[i?] = ((a * x[i?]) + y[i?]); }
}
"#;

#[test]
fn whole_arrays_of_one_dimension_need_no_test() {
    let text = format!(
        "{SAXPY}
func twice(x, y) dims (N) contract {{
  vars {{ N: long dim; x: int[(N + 1)] input; y: int[(N + 1)] inout; }}
  call saxpy(value 3:int, array x, array y);
  call saxpy(value int(N), array x, array y);
}}
entries (twice)"
    );
    let results = both(&text, &[ints(&[1, 2, 3]), ints(&[10, 20, 30])]).expect("results");
    assert_eq!(int_data(&results.args[1]), [15, 30, 45]);
    let program = instantiated(&text);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Require { .. })), 0);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Map(_))), 2);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Scope(_))), 0);
}

#[test]
fn shapes_that_may_differ_are_tested() {
    let text = format!(
        "{SAXPY}
func f(x, y) dims (N, M) {{
  vars {{ N: long dim; M: long dim; x: int[N] input; y: int[M] inout; }}
  call saxpy(value 2:int, array x, array y);
}}
entries (f)"
    );
    assert!(both(&text, &[ints(&[1, 2]), ints(&[3, 4])]).is_ok());
    let Err(Error::Fault(fault)) = both(&text, &[ints(&[1, 2]), ints(&[3])]) else { panic!("no fault") };
    assert_eq!(fault.values, [2, 1]);
    let program = instantiated(&text);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Require { .. })), 1);
    assert!(!program.funcs[program.entries[0]].contract);
}

#[test]
fn dimensions_of_callees_are_solved() {
    let text = "
func inner(a, b, n) dims (N) {
  vars { N: long dim; a: int[((2 * N) - 1)] input; b: int[(3 + N)] input; n: int output; }
  n = int(N);
}
func f(a, b, n) dims (A, B) {
  vars { A: long dim; B: long dim; a: int[A] input; b: int[B] input; n: int output; }
  call inner(array a, array b, scalar n);
}
entries (f)";
    let run = |a: usize, b: usize| both(text, &[ints(&vec![0; a]), ints(&vec![0; b]), Arg::Output]);
    assert_eq!(run(5, 6).expect("results").args[2], Arg::Scalar(Value::I32(3)));
    for (a, b) in [(5, 5), (4, 5), (0, 0)] {
        assert!(matches!(run(a, b), Err(Error::Fault(_))), "{a} {b}");
    }
}

#[test]
fn rows_are_accessed_in_place_in_a_map() {
    let text = format!(
        "{SAXPY}
func rows(A, x) dims (M, N) {{
  vars {{ M: long dim; N: long dim; A: int[M, N] inout; x: int[N] input; r: long iter; }}
  map (r = 0 .. M by 1) {{ call saxpy(value int(r), array x, section A{{at r, range 0 .. N by 1}}); }}
}}
entries (rows)"
    );
    let results = both(&text, &[matrix(3, 2, &[1, 2, 3, 4, 5, 6]), ints(&[10, 20])]).expect("results");
    assert_eq!(int_data(&results.args[0]), [1, 2, 13, 24, 25, 46]);
    let program = instantiated(&text);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Declare { .. })), 0, "a copy was made");
}

const INNER: &str = "
func inner(x, s, total) dims (n) {
  vars { n: long dim; x: int[n] inout; s: int input; total: int output; i: long iter; v: int local; tmp: int[n] local; }
  total = 7:int;
  if (n == 0) { leave; }
  declare tmp zero;
  map (i = 0 .. n by 1) { declare v; v = (x[i?] * s); tmp[i?] = v; }
  fold reduce \"+\" int neutral 0:int value v over (i) into total;
  swap tmp, x;
}
";

#[test]
fn what_cannot_be_accessed_in_place_is_copied_in_and_out() {
    let text = format!(
        "{INNER}
func outer(A, sums, last, low, high, step) dims (M, N) {{
  vars {{ M: long dim; N: long dim; A: int[M, N] inout; sums: int[M] output; last: int output; r: long iter;
    low: long inout; high: long inout; step: long inout; }}
  map (r = 0 .. M by 1) {{ call inner(section A{{at r, range low .. high by step}}, value 10:int, element sums[r?]); }}
  call inner(section A{{range 0 .. M by 1, at 1}}, value 100:int, scalar last);
}}
entries (outer)"
    );
    let run = |low: i64, high: i64, step: i64| {
        let a = matrix(2, 3, &[1, 2, 3, 4, 5, 6]);
        both(&text, &[a, ints(&[0, 0]), Arg::Output, low.into(), high.into(), step.into()])
    };
    let results = run(0, 3, 2).expect("results");
    assert_eq!(int_data(&results.args[0]), [10, 200, 30, 40, 500, 60]);
    assert_eq!(int_data(&results.args[1]), [40, 100]);
    assert_eq!(results.args[2], Arg::Scalar(Value::I32(700)));
    let results = run(2, 1, 1).expect("an empty section");
    assert_eq!(int_data(&results.args[1]), [7, 7]);
    for (low, high, step) in [(0, 4, 1), (-1, 3, 1), (0, 3, 0), (0, 3, -1)] {
        assert!(matches!(run(low, high, step), Err(Error::Fault(_))), "{low} {high} {step}");
    }
}

#[test]
fn arrays_swapped_by_a_callee_in_a_map_are_copied() {
    let text = format!(
        "{INNER}
func outer(a, t) dims (N) {{
  vars {{ N: long dim; a: int[N] inout; t: int output; i: long iter; t1: int local; }}
  map (i = 0 .. 1 by 1) {{ declare t1; call inner(array a, value 2:int, scalar t1); }}
  fold reduce \"+\" int neutral 0:int value t1 over (i) into t;
}}
entries (outer)"
    );
    let results = both(&text, &[ints(&[1, 2, 3]), Arg::Output]).expect("results");
    assert_eq!(int_data(&results.args[0]), [2, 4, 6]);
    assert_eq!(results.args[1], Arg::Scalar(Value::I32(12)));
}

#[test]
fn early_returns_leave_the_callee_only() {
    let text = format!(
        "{INNER}
func middle(x, t) dims (n) {{
  vars {{ n: long dim; x: int[n] inout; t: int output; k: int local; }}
  declare k zero;
  loop (k < 3:int) {{
    call inner(array x, value k, scalar t);
    if (t == 0:int) {{ k = (k + 1:int); continue; }}
    leave;
  }} step {{ }}
}}
func outer(x, t, after) dims (N) {{
  vars {{ N: long dim; x: int[N] inout; t: int output; after: int output; }}
  call middle(array x, scalar t);
  after = (t + 1:int);
}}
entries (outer)"
    );
    let results = both(&text, &[ints(&[]), Arg::Output, Arg::Output]).expect("results");
    assert_eq!(results.args[2], Arg::Scalar(Value::I32(8)));
    let results = both(&text, &[ints(&[4, 5]), Arg::Output, Arg::Output]).expect("results");
    assert_eq!(results.args[2], Arg::Scalar(Value::I32(1)));
}

#[test]
fn extents_keep_the_value_they_had() {
    let text = format!(
        "{SAXPY}
func f(n, out) dims () {{
  vars {{ n: long inout; out: int output; a: int[n] local; b: int[(n + 1)] local; }}
  declare a zero;
  n = (n + 1);
  declare b zero;
  n = (n - 2);
  call saxpy(value 1:int, array a, array a%9);
}}
entries (f)"
    );
    let text = text.replace("array a, array a%9", "section b{range 0 .. (n + 1) by 1}, array a");
    assert!(both(&text, &[3_i64.into(), Arg::Output]).is_ok());
    let wrong = text.replace("0 .. (n + 1)", "0 .. (n + 2)");
    assert!(matches!(both(&wrong, &[3_i64.into(), Arg::Output]), Err(Error::Fault(_))));
}

#[test]
fn outputs_start_at_zero_and_elements_are_tested_before_the_body_runs() {
    let text = "
func count(x, t) dims (n) {
  vars { n: long dim; x: int[n] input; t: int output; i: long local; }
  declare i zero;
  loop (i < n) { t = (t + x[i?]); } step { i = (i + 1); }
}
func f(x, out, at) dims (N, M) {
  vars { N: long dim; M: long dim; x: int[N] input; out: int[M] inout; at: long inout; }
  call count(array x, element out[at?]);
  call count(array x, element out[at?]);
}
entries (f)";
    let run = |at: i64| both(text, &[ints(&[5, 6]), ints(&[1, 2, 3]), at.into()]);
    assert_eq!(int_data(&run(1).expect("results").args[1]), [1, 11, 3]);
    let Err(Error::Fault(fault)) = run(3) else { panic!("no fault") };
    assert_eq!(fault.values, [3, 3, 0]);
}

#[test]
fn an_index_beyond_its_section_faults_although_the_array_goes_on() {
    let text = "
func at(x, k, v) dims (n) { vars { n: long dim; x: int[n] input; k: long input; v: int output; } v = x[k?]; }
func f(x, k, v) dims (N) {
  vars { N: long dim; x: int[N] input; k: long input; v: int output; }
  call at(section x{range 2 .. 4 by 1}, value k, scalar v);
}
entries (f)";
    let run = |k: i64| both(text, &[ints(&[1, 2, 3, 4, 5, 6]), k.into(), Arg::Output]);
    assert_eq!(run(1).expect("results").args[2], Arg::Scalar(Value::I32(4)));
    let Err(Error::Fault(fault)) = run(2) else { panic!("no fault") };
    assert_eq!(fault.values, [2, 2, 0]);
}

/// A call of `callee` for each row, with three elements of it and as many of another array. Its body stands for `BODY`.
fn picked(body: &str, at_host_level: bool) -> String {
    let call = |row: &str| {
        format!(
            "call callee(section at{{range 0 .. 3 by 1}}, section x{{at {row}, range 1 .. 4 by 1}}, section y{{at {row}, range 0 .. 3 by 1}});"
        )
    };
    let calls = match at_host_level {
        true => call("0"),
        false => format!("map (r = 0 .. 2 by 1) {{ {} }}", call("r")),
    };
    format!(
        "func callee(at, x, y) dims (n) {{
           vars {{ n: long dim; at: int[n] input; x: int[n] input; y: int[n] inout; i: long iter; }}
           map (i = 0 .. n by 1) {{ {body} }} }}
         func rows(at, x, y) dims (m) {{
           vars {{ m: long dim; at: int[m] input; x: int[2, 4] input; y: int[2, 4] inout; r: long iter; }}
           {calls} }}
         entries (rows)"
    )
}

/// How many arrays are copied, and how many tests there are for elements of sections of `x`.
fn copies_and_tests(text: &str) -> (usize, usize) {
    let program = instantiated(text);
    let func = &program.funcs[program.entries[0]];
    let copies = count(&program, |kind| matches!(kind, StmtKind::Declare { var, .. } if func.vars[*var].is_array()));
    let of_section = |kind: &StmtKind| match kind {
        StmtKind::Require { fault: FaultKind::Index, values, .. } => values[1].1.as_int() == Some(3),
        _ => false,
    };
    (copies, count(&program, of_section))
}

#[test]
fn elements_that_data_names_are_tested_where_they_are() {
    let text = picked("y[i?] = (x[long(at[i?])?] + 1:int);", false);
    assert_eq!(copies_and_tests(&text), (0, 1));
    for (at, fault) in [([2, 0, 1], None), ([0, 3, 1], Some(3)), ([0, 1, -1], Some(-1))] {
        let results = both(&text, &[ints(&at), matrix(2, 4, &[0, 1, 2, 3, 4, 5, 6, 7]), matrix(2, 4, &[0; 8])]);
        match (results, fault) {
            (Ok(results), None) => assert_eq!(int_data(&results.args[2]), [4, 2, 3, 0, 8, 6, 7, 0]),
            // The array has this element, its section does not.
            (Err(Error::Fault(found)), Some(index)) => assert_eq!(found.values, [index, 3, 0]),
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[test]
fn accesses_that_may_not_be_made_are_to_copies() {
    let conditional = "y[i?] = select((at[i?] > 0:int), x[long(at[i?])?], 0:int);";
    let after_another_fault = "y[i?] = ((1:int /? at[i?]) + x[long(at[i?])?]);";
    for body in [conditional, after_another_fault] {
        let text = picked(body, false);
        let (copies, _) = copies_and_tests(&text);
        assert!(copies >= 1, "{body}");
        for at in [[0, 1, 2], [1, 0, 3], [1, 3, 0], [-1, 1, 1]] {
            let _ = both(&text, &[ints(&at), matrix(2, 4, &[0, 1, 2, 3, 4, 5, 6, 7]), matrix(2, 4, &[0; 8])]);
        }
    }
    // Where a call is made once a copy costs less than lanes that are lost.
    assert_eq!(copies_and_tests(&picked("y[i?] = x[long(at[i?])?];", true)), (1, 0));
}
