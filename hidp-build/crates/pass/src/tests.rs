use super::*;
use hidp_ir::par::{Func, FuncId, StmtKind, print, read, visit};

/// A program in its textual form.
fn program(vars: &str, body: &str) -> Program {
    let text = format!(
        "func f(x, y, n) dims (N) contract {{
           vars {{ N: long dim; x: int[N] input; y: int[N] inout; n: int inout; i: long iter; {vars} }}
           {body} }} entries (f)"
    );
    let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
    program
}

fn after(passes: &[Pass], vars: &str, body: &str) -> Program {
    let mut program = program(vars, body);
    run(&mut program, passes).unwrap_or_else(|error| panic!("{error}\n{}", print(&program)));
    program
}

/// The statements of the function, inner ones too.
fn count(program: &Program, wanted: impl Fn(&StmtKind) -> bool) -> usize {
    let mut count = 0;
    visit::walk_stmts(&body(program).body, |stmt| count += usize::from(wanted(&stmt.kind)));
    count
}

fn body(program: &Program) -> &Func {
    &program.funcs[program.entries[0]]
}

fn declares(program: &Program) -> usize {
    count(program, |kind| matches!(kind, StmtKind::Declare { .. }))
}

#[test]
fn a_pass_that_breaks_the_program_is_named() {
    let mut program = program("", "n = 1:int;");
    let broken = Pass {
        name: "broken",
        about: "writes a dimension",
        run: |program| {
            let func: FuncId = program.entries[0];
            let dim = program.funcs[func].dims[0];
            visit::rename_vars(&mut program.funcs[func].body, |_| dim);
        },
    };
    let error = run(&mut program, &[simplify::PASS, broken, cleanup::PASS]).expect_err("an ill-formed program");
    assert_eq!(error.pass, "broken");
    assert!(!error.errors.is_empty());
}

#[test]
fn every_pass_has_its_own_name() {
    for pass in PIPELINE {
        let same = |other: &&Pass| other.name == pass.name;
        assert!(PIPELINE.iter().filter(same).all(|other| std::ptr::fn_addr_eq(other.run, pass.run)));
        assert!(!pass.about.is_empty());
    }
}

#[test]
fn what_has_no_effect_goes_away() {
    let text = "if (3 < 2) { n = 1:int; } else { if (n < 4:int) { } } loop false { n = 2:int; } step { } n = n;";
    assert_eq!(count(&after(&[simplify::PASS], "", text), |_| true), 0);
}

#[test]
fn faults_stay() {
    // An element that may be outside, a division by zero, a range that cannot be evaluated, and a branch on one of them.
    let text = "n = (y[3?] * 0:int); n = (1:int /? 0:int);
                map (i = 0 .. long((1:int /? n)) by 1) { }
                if ((y[7?] < 0:int) && false) { }";
    let simple = after(&[simplify::PASS], "", text);
    assert_eq!(count(&simple, |_| true), 4, "{}", print(&simple));
    let clean = after(&[simplify::PASS, cleanup::PASS], "t: int local;", "declare t zero; t = y[3?];");
    assert_eq!(count(&clean, |_| true), 2, "{}", print(&clean));
}

#[test]
fn index_arithmetic_is_normalised() {
    let text =
        "map (i = 0 .. N by 1) { y[((i + 3) - 2)?] = x[(((2 * i) - i) + (0 * i))?]; y[((1 + i) - 1)?] = 0:int; }";
    let text = print(&after(&[simplify::PASS], "", text));
    assert!(text.contains("y[(i + 1)?] = x[((i * 2) - i)?]"), "{text}");
    assert!(text.contains("y[i?] = 0:int"), "{text}");
}

#[test]
fn copies_go_where_they_are_used_but_products_of_floats_do_not() {
    let vars = "a: long local; b: long local; p: float local; q: float local;";
    let text = "map (i = 0 .. N by 1) {
        declare a zero; a = (i * 2); declare b zero; b = (a + 1);
        declare p zero; p = (float(x[i?]) * 2.0:float); declare q zero; q = (p + 1.0:float);
        y[b?] = int(q); }";
    let program = after(&[simplify::PASS], vars, text);
    assert_eq!(declares(&program), 2, "{}", print(&program));
}

#[test]
fn a_zero_that_is_read_before_the_assignment_stays() {
    let vars = "a: int local;";
    let program = after(&[simplify::PASS], vars, "declare a zero; n = a; a = 5:int; y[0?] = a;");
    assert_eq!(declares(&program), 1, "{}", print(&program));
}

fn clears(vars: &str, body: &str) -> bool {
    let program = after(&[zero::PASS], vars, body);
    count(&program, |kind| matches!(kind, StmtKind::Declare { zero: true, .. })) == 0
}

#[test]
fn arrays_that_are_written_in_full_need_no_zeros() {
    let vars = "t: int[N] local; u: int[N] local; j: long iter;";
    let write = "map (i = 0 .. N by 1) { t[i] = x[i]; }";
    let read = "map (j = 0 .. N by 1) { y[j] = t[j]; }";
    assert!(clears(vars, &format!("declare t zero; {write} {read}")));
    assert!(!clears(vars, &format!("declare t zero; {read} {write}")));
    let part = "map (i = 1 .. N by 1) { t[i] = x[i]; }";
    assert!(!clears(vars, &format!("declare t zero; {part} {read}")));
    let sometimes = "map (i = 0 .. N by 1) { if (x[i] < 0:int) { t[i] = x[i]; } }";
    assert!(!clears(vars, &format!("declare t zero; {sometimes} {read}")));
    assert!(!clears(vars, &format!("declare t zero; if (n < 3:int) {{ {write} }} {read}")));
    assert!(!clears(vars, &format!("declare t zero; loop (n < 3:int) {{ {write} n = 4:int; }} step {{ }} {read}")));
}

#[test]
fn exchanged_arrays_need_the_same_zeros() {
    let vars = "t: int[N] local; u: int[N] local; j: long iter;";
    let text = "declare t zero; declare u zero; map (i = 0 .. N by 1) { t[i] = x[i]; } swap t, u;
                map (j = 0 .. N by 1) { y[j] = t[j]; }";
    let program = after(&[zero::PASS], vars, text);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Declare { zero: true, .. })), 2);
}

#[test]
fn sizes_of_dropped_arrays_are_still_tested() {
    let vars = "t: int[(N - 3)] local; u: int[N] local;";
    let program = after(&[forward::PASS], vars, "declare t; declare u; n = 1:int;");
    assert_eq!(declares(&program), 0);
    assert_eq!(count(&program, |kind| matches!(kind, StmtKind::Require { .. })), 2, "{}", print(&program));
}

#[test]
fn variables_are_numbered_by_appearance() {
    let vars = "unused: int[N] local; b: int local; a: int local;";
    let program = after(&[cleanup::PASS], vars, "declare a zero; a = n; declare b zero; b = a; n = (b + a);");
    let names: Vec<&str> = body(&program).vars.iter().map(|(_, var)| var.name.as_str()).collect();
    assert_eq!(names, ["N", "x", "y", "n", "a", "b"]);
}

#[test]
fn sums_of_indices_go_where_they_are_used() {
    let left = |value: &str, used: &str| {
        let text = format!("map (i = 0 .. N by 1) {{ declare j zero; j = {value}; y[i] = {used}; }}");
        declares(&after(&[simplify::PASS], "j: long local;", &text))
    };
    let twice = "(x[j?] + x[(j + 1)?])";
    assert_eq!(left("(i + 3)", twice), 0);
    assert_eq!(left("((2 * i) + N)", twice), 0);
    assert_eq!(left("(i + long(x[0?]))", twice), 1, "what is loaded is loaded once");
    assert_eq!(left("(i * N)", twice), 1, "a product of two variables is computed once");
    assert_eq!(left("((((i + N) + i) + N) + i)", twice), 1, "a long sum is computed once");
    assert_eq!(left("(i + 3)", "int((j * j))"), 1, "what is no index is computed once");
}

#[test]
fn narrow_scalars_in_sums_of_indices_go_along() {
    let text = "map (i = 0 .. N by 1) { declare s zero; s = x[i?]; declare j zero; j = (i + long(s)); y[i] = (x[j?] + x[(j + 1)?]); }";
    assert_eq!(declares(&after(&[simplify::PASS], "s: int local; j: long local;", text)), 1);
}

#[test]
fn sums_of_what_changes_stay() {
    let text = "map (i = 0 .. N by 1) { declare l zero; declare j zero; l = i; j = (l + 3); l = (l + 2); y[i] = (x[j?] + x[l?]); }";
    assert_eq!(declares(&after(&[simplify::PASS], "j: long local; l: long local;", text)), 2);
}

#[test]
fn neighbours_are_themselves_but_for_one_iteration() {
    let of = |index: &str| {
        let text = format!("map (i = 0 .. N by 1) {{ y[i] = int({index}); }}");
        let found = print(&after(&[super::neighbours::PASS], "", &text));
        found.contains("select(") && !found.contains('%') && !found.contains("max(") && !found.contains("min(")
    };
    for index in
        ["((i + 1) % N)", "(((i + N) - 1) % N)", "(((i - 1) + N) % N)", "max((i - 1), 0)", "min((N - 1), (i + 1))"]
    {
        assert!(of(index), "{index}");
    }
    for index in ["((i + 2) % N)", "((i - 1) % N)", "((i + 1) % (N - 1))", "max((i + 1), 0)", "min((i - 1), (N - 1))"] {
        assert!(!of(index), "{index}");
    }
}

#[test]
fn only_what_is_there_before_the_map_is_read_ahead() {
    let copies = |body: &str| {
        let text = format!("map (i = 0 .. N by 1) {{ {body} }}");
        declares(&after(
            &[super::ahead::PASS],
            "k: long local; z: int[N] local;",
            &format!("declare k zero; declare z; {text}"),
        )) - 2
    };
    assert_eq!(copies("y~[i] = (y~[i] + y~[0]);"), 1);
    assert_eq!(copies("z[i] = y~[0]; y~[i] = (y~[i] + 1:int);"), 1);
    let of_quotient = |by: &str| copies(&format!("y~[i] = (y~[i] + y~[max(min((k / {by}), (N - 1)), 0)]);"));
    assert_eq!((of_quotient("3"), of_quotient("k")), (1, 0), "a test inside may be why it is not checked");
    assert_eq!(copies("y~[i] = (y~[i] + 1:int); z[i] = y~[0];"), 0);
    assert_eq!(copies("y~[i] = (y~[i] + 1:int); y~[i] = (y~[i] + y~[0]);"), 0);
}

#[test]
fn narrow_elements_that_are_there_in_any_case_are_loaded_in_front_of_conditions() {
    let loaded = |value: &str| {
        let text = format!(
            "func f(x, y, b) dims (N) {{
               vars {{ N: long dim; x: int[N] input; y: int[N] inout; b: uint8[N] input; i: long iter; }}
               map (i = 0 .. N by 1) {{ y[i] = select({value}, 1:int, 0:int); }} }} entries (f)"
        );
        let mut program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&mut program, &[bounds::PASS, eager::PASS]).expect("well formed");
        (declares(&program), print(&program))
    };
    let count = |value: &str| loaded(value).0;
    assert_eq!(count("((x[i] == 2:int) && (b[i] == 1:uint8))"), 1);
    assert_eq!(count("((b[i] == 2:uint8) || (b[i] == 1:uint8))"), 1, "also loaded in front of it");
    assert_eq!(count("((i > 0) && (b[(i - 1)?] == 1:uint8))"), 0, "not there in the first iteration");
    assert_eq!(count("((i < (N - 1)) && ((b[(i + 1)?] == 1:uint8) || (b[i] == 1:uint8)))"), 1, "one is there");
    assert_eq!(count("((x[i] == 2:int) && (b[0] == 1:uint8))"), 0, "the same for all iterations");
    assert_eq!(count("((x[i] == 2:int) && (x[i] == 1:int))"), 0, "wider elements have masked loads");
    let (_, text) = loaded("((i > 0) && (b[(i - 1)?] == 1:uint8))");
    assert!(text.contains("(i > 0) && (b%3[(i - 1)] =="), "put back as it was: {text}");
}

#[test]
fn loads_that_are_put_back_are_tested_as_before() {
    let tests = |body: &str| {
        let text = format!(
            "func f(x, y, b) dims (N, M) {{
               vars {{ N: long dim; M: long dim; x: int[N] input; y: int[N] inout; b: uint8[M] input; s: uint8 local; i: long iter; }}
               map (i = 0 .. N by 1) {{ {body} }} }} entries (f)"
        );
        let mut program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&mut program, &[bounds::PASS, eager::PASS]).expect("well formed");
        print(&program).matches("?]").count()
    };
    let found = "((i < M) && (b[i?] == 1:uint8))";
    assert_eq!(tests(&format!("y[i] = select({found}, 1:int, 0:int);")), 0, "its condition shows it");
    assert_eq!(tests(&format!("y[i] = select(({found} || (b[i?] == 2:uint8)), 1:int, 0:int);")), 1, "the other");
    assert_eq!(
        tests("y[i] = select(((x[i] == 2:int) && (b[i?] == 1:uint8)), 1:int, 0:int); declare s zero; s = b[i?];"),
        2
    );
}

#[test]
fn narrow_elements_of_short_branches_are_loaded_in_front_of_them() {
    let loaded = |body: &str| {
        let text = format!(
            "func f(x, y, b, c) dims (N, M) {{
               vars {{ N: long dim; M: long dim; x: int[N] input; y: int[N] inout; b: uint8[N] input; c: uint8[N] inout; d: uint8[M] input;
                 s: uint8 local; k: long local; i: long iter; j: long iter; }}
               map (i = 0 .. N by 1) {{ declare s zero; declare k zero; {body} }} }} entries (f)"
        )
        .replace("func f(x, y, b, c)", "func f(x, y, b, c, d)");
        let mut program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&mut program, &[bounds::PASS, eager::PASS]).expect("well formed");
        declares(&program) - 2
    };
    let branch = |then: &str| loaded(&format!("if (x[i] > 2:int) {{ {then} }}"));
    assert_eq!(branch("s = b[i];"), 1);
    assert_eq!(branch("if (b[i] > 1:uint8) { s = c[i]; }"), 2, "a branch inside");
    assert_eq!(loaded("if (b[i] > 2:uint8) { y[i] = 1:int; }"), 0, "its condition is no branch");
    assert_eq!(branch("c[i] = 3:uint8; s = c[i];"), 0, "it is written in between");
    assert_eq!(branch("k = (k + 1); s = b[max(min(k, (N - 1)), 0)];"), 0, "the index changes");
    assert_eq!(branch("s = d[i?];"), 0, "not known to be there");
    assert_eq!(branch("c[i] = b[i];"), 0, "narrow elements have no masked stores either");
    assert_eq!(branch("map (j = 0 .. N by 1) { y[j] = y[j]; } s = b[i];"), 0, "a loop");
    assert_eq!(branch(&"s = b[i]; ".repeat(9)), 0, "a long one");
}

#[test]
fn what_a_test_inside_shows_is_tested_before_the_map() {
    let after_pass = |body: &str| {
        let map = format!("map (i = 0 .. N by 1) {{ {body} }}");
        let text = format!("declare k zero; {map} map (j = 0 .. N by 1) {{ y~[j] = (y~[j] + y~[0]); }}");
        after(&[super::ahead::PASS], "k: long local; j: long iter;", &text)
    };
    let tested = after_pass("if ((k >= 0) && (k < N)) { y~[i] = (y~[i] + y~[k]); }");
    assert_eq!(declares(&tested) - 1, 2, "neither is given up: {}", print(&tested));
    let conditions = count(&tested, |kind| matches!(kind, StmtKind::If { .. }));
    let plain = after_pass("y~[i] = (y~[i] + y~[0]);");
    assert_eq!(conditions, count(&plain, |kind| matches!(kind, StmtKind::If { .. })) + 2, "{}", print(&tested));
}

#[test]
fn arrays_are_swapped_by_their_elements_in_maps_alone() {
    let vars = "n0: long local; a: int[n0] local; b: int[n0] local; c: int[N] local; d: int[N] local;";
    let inside = "declare n0 zero; n0 = 4; declare a; declare b; n0 = 2; swap a, b;";
    let body = format!("declare c; declare d; swap c, d; map (i = 0 .. N by 1) {{ {inside} }}");
    let done = after(&[super::exchange::PASS], vars, &body);
    assert_eq!(count(&done, |kind| matches!(kind, StmtKind::Swap(..))), 1, "{}", print(&done));
    assert_eq!(count(&done, |kind| matches!(kind, StmtKind::Store { .. })), 2, "{}", print(&done));
    let text = print(&done);
    let (declared, changed) = (text.find("extent%10 = n0"), text.find("n0 = 2"));
    assert!(declared.is_some() && declared < changed, "as many as when they were declared: {text}");
}

#[test]
fn what_the_next_map_overwrites_is_not_stored_before() {
    let [copy, own] = ["y[i] = x[i];", "y[j] = (x[(j - 1)?] + 1:int);"];
    let kept = |first: &str, next: &str, range: &str| {
        let text = format!("declare z zero; map (i = 0 .. N by 1) {{ {first} }} map (j = {range} by 1) {{ {next} }}");
        let program = after(&[overwritten::PASS], "j: long iter; z: int[N] local;", &text);
        (count(&program, |kind| matches!(kind, StmtKind::If { .. })) > 0).then(|| print(&program))
    };
    let found = kept(copy, own, "1 .. (N - 1)").expect("a border");
    assert!(found.contains("if not(((i >= 1) && (i < (N - 1)))) {"), "{found}");
    assert!(kept("y[i] = 0:int;", own, "1 .. N").is_some_and(|text| text.contains("if not((i >= 1)) {")));
    // All of it, or little; elements that are read between, or may not be stored, or not by the iteration; what may end early.
    for range in ["0 .. N", "2 .. N", "1 .. (N - 2)", "1 .. (N + 1)", "1 .. (N / 2)"] {
        assert_eq!(kept(copy, own, range), None, "{range}");
    }
    for (first, next) in [
        (copy, "y[j] = (y[j] + 1:int);"),
        (copy, "y[j] = y[(j - 1)?];"),
        (copy, "if (x[j] > 0:int) { y[j] = 0:int; }"),
        (copy, "y[(j - 1)] = 0:int;"),
        (copy, "z[j] = 0:int;"),
        ("y[i] = x[i?];", own),
        ("y[i] = z[i];", "y[j] = 0:int; z[j] = 0:int;"),
        ("y[i] = x[i]; z[i] = x[i];", own),
    ] {
        let found = kept(first, next, "1 .. N");
        assert!(found.as_ref().is_none_or(|text| !text.contains("if not(")), "{first} {next}: {found:?}");
    }
}
