use super::*;
use hidp_ir::par::interp::{Arg, Array, Error, Options, Results, run_with};
use hidp_ir::par::{FaultKind, print, read, verify};

/// Functions that the programs below call. `steps` counts, `least` leaves a loop early, `sign` returns from branches, `part` divides.
const FUNCTIONS: &str = "
fn steps(n) -> int { vars { n: int input; k: int local; }
  declare k zero;
  loop (n > 1:int) { n = select(((n & 1:int) == 1:int), ((3:int * n) + 1:int), (n / 2:int)); k = (k + 1:int); } step { }
  return k;
}
fn least(n) -> int { vars { n: int input; k: int local; }
  declare k zero;
  loop (k < n) { if ((k * k) >= n) { return k; } k = (k + 1:int); } step { }
  return (0:int - n);
}
fn sign(n) -> int { vars { n: int input; }
  if (n < 0:int) { return -1:int; }
  if (n > 0:int) { return 1:int; }
  return 0:int;
}
fn part(n) -> int { vars { n: int input; } return (100:int /? n); }
fn both(n) -> int { vars { n: int input; } return (steps(n) + (2:int * sign((n - 3:int)))); }
";

/// A map over `x` with these statements inside, and a loop, so that calls are looked into.
fn program(stmts: &str) -> Program {
    let text = format!(
        "{FUNCTIONS}
func f(x, y) dims (N) {{
  vars {{ N: long dim; x: int[N] input; y: int[N] inout; i: long iter; k: long iter; t: int local; s: int local; v: int local; t2: int[3, 3] local; }}
  map (i = 0 .. N by 1) {{
    declare t zero;
    declare s zero;
    loop (t < 2:int) {{ t = (t + 1:int); }} step {{ }}
    {stmts}
  }}
}}
entries (f)"
    );
    let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
    program
}

/// What the program does with `x`, before and after the pass, which must agree; and the program after it.
fn both(stmts: &str, x: &[i32]) -> (Result<Results, Error>, Program) {
    let mut program = program(stmts);
    let array = |values: Vec<i32>| Arg::Array(Array::vector(values));
    let go = |program: &Program| {
        let options = Options { fuel: Some(100_000), ..Options::default() };
        run_with(program, program.entries[0], vec![array(x.to_vec()), array(vec![0; x.len()])], &options)
    };
    let before = go(&program);
    run(&mut program);
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&program)));
    let after = go(&program);
    assert_eq!(before, after, "{}", print(&program));
    (after, program)
}

fn ints(results: &Results) -> Vec<i32> {
    let Arg::Array(array) = &results.args[1] else { panic!("no array") };
    array.data.values().iter().map(|value| value.as_integer().expect("an integer") as i32).collect()
}

fn calls(program: &Program) -> usize {
    let mut found = 0;
    visit::walk_exprs(&program.funcs[program.entries[0]].body, |expr| found += usize::from(called(expr).is_some()));
    found
}

fn scopes(program: &Program) -> usize {
    let mut found = 0;
    let count = |stmt: &Stmt| found += usize::from(matches!(stmt.kind, StmtKind::Scope(_)));
    visit::walk_stmts(&program.funcs[program.entries[0]].body, count);
    found
}

#[test]
fn bodies_stand_where_calls_were() {
    let (results, program) = both("y[i] = (steps(x[i]) + (10:int * both((x[i] + 1:int))));", &[1, 6, 7]);
    assert_eq!(ints(&results.expect("results")), [-10, 8 + 10 * 18, 16 + 10 * 5]);
    assert_eq!((calls(&program), scopes(&program)), (0, 0));
}

#[test]
fn only_returns_from_inside_a_loop_are_jumped_over() {
    let (results, program) = both("y[i] = least(x[i]);", &[9, 10, 1, -2]);
    assert_eq!(ints(&results.expect("results")), [3, 4, -1, 2]);
    assert_eq!((calls(&program), scopes(&program)), (0, 1));
    let (results, program) = both("y[i] = sign(x[i]);", &[9, 0, -4]);
    assert_eq!(ints(&results.expect("results")), [1, 0, -1]);
    assert_eq!((calls(&program), scopes(&program)), (0, 0));
}

#[test]
fn what_stands_left_faults_first() {
    let fault = |stmts: &str| match both(stmts, &[0]).0 {
        Err(Error::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault("y[i] = (x[(i + 7)?] + part(x[i]));"), FaultKind::Index);
    assert_eq!(fault("y[i] = (part(x[i]) + x[(i + 7)?]);"), FaultKind::DivisionByZero);
    assert_eq!(fault("y[(i + 7)?] = part(x[i]);"), FaultKind::DivisionByZero);
    assert_eq!(fault("y[i] = max((5:int + x[(i + 7)?]), part(x[i]));"), FaultKind::Index);
}

/// The first index is tested before the second is evaluated.
#[test]
fn indices_are_tested_in_their_order() {
    for (stmts, fault) in [
        ("y[i] = t2[(i + 7)?, long(part(x[i]))?];", FaultKind::Index),
        ("y[i] = t2[long(part(x[i]))?, (i + 7)?];", FaultKind::DivisionByZero),
        ("t2[(i + 7)?, long(part(x[i]))?] = 1:int;", FaultKind::Index),
        ("t2[0, long(part(x[i]))?] = 1:int;", FaultKind::DivisionByZero),
    ] {
        match both(&format!("declare t2 zero; {stmts}"), &[0]).0 {
            Err(Error::Fault(found)) => assert_eq!(found.kind, fault, "{stmts}"),
            other => panic!("{stmts}: {other:?}"),
        }
    }
    assert_eq!(calls(&both("declare t2 zero; y[i] = t2[long(x[i])?, long(sign(x[i]))?];", &[1]).1), 0);
}

#[test]
fn what_is_not_needed_is_not_called() {
    let (results, program) = both("y[i] = select((x[i] == 0:int), 7:int, part(x[i]));", &[0, 5]);
    assert_eq!(ints(&results.expect("results")), [7, 20]);
    assert_eq!(calls(&program), 0);
    for (cond, expected) in [
        ("((x[i] > 0:int) && (part(x[i]) > 30:int))", [0, 1, 0]),
        ("((x[i] <= 0:int) || (part(x[i]) > 30:int))", [1, 1, 0]),
    ] {
        let (results, program) = both(&format!("if {cond} {{ y[i] = 1:int; }}"), &[0, 2, 20]);
        assert_eq!(ints(&results.expect("results")), expected, "{cond}");
        assert_eq!(calls(&program), 0);
    }
}

#[test]
fn conditions_of_loops_are_looked_into() {
    let stmts = "loop (sign((x[i] - s)) > 0:int) { s = (s + 1:int); if (s == 4:int) { continue; } } step { y[i] = s; }";
    let (results, program) = both(stmts, &[0, 3, 9]);
    assert_eq!(ints(&results.expect("results")), [0, 3, 9]);
    assert_eq!(calls(&program), 0);
}

#[test]
fn maps_without_loops_keep_their_calls_with_branches() {
    let inner = |call: &str| {
        format!(
            "map (k = 0 .. 3 by 1) {{ declare v; v = {call}; }} fold reduce \"+\" int neutral 0:int value v over (k) into s;
             y[i] = s;"
        )
    };
    assert_eq!(calls(&both(&inner("sign(x[i])"), &[5, -5]).1), 1);
    assert_eq!(calls(&both(&inner("part(x[i])"), &[5, -5]).1), 0);
    assert_eq!(calls(&both(&inner("select((x[i] > 0:int), part(x[i]), 0:int)"), &[5, -5]).1), 1);
    assert_eq!(calls(&both(&inner("least(x[i])"), &[5, -5]).1), 0);
    let text = "fn sign(n) -> int { vars { n: int input; } return select((n < 0:int), -1:int, 1:int); }
func f(x, y) dims (N) { vars { N: long dim; x: int[N] input; y: int[N] inout; i: long iter; }
  map (i = 0 .. N by 1) { y[i] = sign(x[i]); } }
entries (f)";
    let mut program = read(text).expect("a program");
    run(&mut program);
    assert_eq!(calls(&program), 1);
}

#[test]
fn what_is_contracted_otherwise_stays_a_call() {
    for (callee, caller, left) in [("contract", "", 1), ("", "contract", 1), ("contract", "contract", 0), ("", "", 0)] {
        let text = format!(
            "fn twice(n) -> int {callee} {{ vars {{ n: int input; }} return (n * 2:int); }}
func f(x, y) dims (N) {caller} {{ vars {{ N: long dim; x: int[N] input; y: int[N] inout; i: long iter; t: int local; }}
  map (i = 0 .. N by 1) {{ declare t zero; loop (t < 2:int) {{ t = (t + 1:int); }} step {{ }} y[i] = twice(x[i]); }} }}
entries (f)"
        );
        let mut program = read(&text).expect("a program");
        run(&mut program);
        assert_eq!(calls(&program), left, "{callee} in {caller}");
    }
}

/// Each calls the one before twice.
#[test]
fn chains_that_double_are_not_written_out() {
    let mut text =
        "fn g0(n) -> int { vars { n: int input; } loop (n > 5:int) { n = (n - 1:int); } step { } return n; }\n"
            .to_string();
    for k in 1..=40 {
        text +=
            &format!("fn g{k}(n) -> int {{ vars {{ n: int input; }} return (g{0}(n) + g{0}((n + 1:int))); }}\n", k - 1);
    }
    text += "func f(x, y) dims (N) { vars { N: long dim; x: int[N] input; y: int[N] inout; i: long iter; }
  map (i = 0 .. N by 1) { y[i] = (g40(x[i]) + g5(x[i])); } }
entries (f)";
    let mut program = read(&text).expect("a program");
    run(&mut program);
    verify(&program).expect("well formed");
    let mut size = 0;
    visit::walk_exprs(&program.funcs[program.entries[0]].body, |_| size += 1);
    assert_eq!(calls(&program), 1, "g40 alone is left");
    assert!(size < 2 * MOST, "{size}");
}
