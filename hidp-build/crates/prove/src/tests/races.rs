use crate::races;
use hidp_ir::par::visit::walk_places;
use hidp_ir::par::{Access, FuncId, Program, read, verify};
use hidp_syntax::diag::Sink;
use hidp_syntax::ordered::OrdSet;

const VARS: &str = "
    N: long dim; M: long dim; K: long dim; s: float[1] inout; p: float[N] inout; q: float[N] inout; x: float[N] input;
    A: float[N, N] inout; B: float[M, N] inout; W: float[(2 * N)] inout; F: float[(M * N)] inout; idx: int[N] input;
    rowptr: int[(N + 1)] input; y: float[N] inout; c: long input; n: long local; t: float local; u: float local;
    i: long iter; j: long iter; k: long iter; h: long iter; r: long iter; l: float[4] local; hist: int[M] inout;
    lo: int[N] input; hi: int[N] input;
";
const PARAMS: &str = "s, p, q, x, A, B, W, F, idx, rowptr, y, c, hist, lo, hi";

fn program(body: &str) -> (Program, FuncId) {
    let text = format!("func f({PARAMS}) dims (N, M, K) {{ vars {{ {VARS} }} {body} }} entries (f)");
    let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let func = program.entries[0];
    (program, func)
}

/// Codes reported, and arrays with shared accesses.
fn judged(body: &str) -> (Vec<&'static str>, Vec<String>) {
    let (mut program, func) = program(body);
    let mut sink = Sink::new();
    races(&mut program, func, &mut sink);
    let codes = sink.finish().iter().map(|diagnostic| diagnostic.code.info().name).collect();
    let function = &program.funcs[func];
    let mut shared = OrdSet::new();
    walk_places(&function.body, |place, _| {
        if place.access == Access::Shared {
            shared.insert(function.vars[place.array].name.clone());
        }
    });
    (codes, shared.into_iter().collect())
}

fn accepted(body: &str) {
    assert_eq!(judged(body), (vec![], vec![]), "{body}");
}

fn shares(array: &str, body: &str) {
    assert_eq!(judged(body), (vec![], vec![array.to_owned()]), "{body}");
}

fn rejected(code: &'static str, body: &str) {
    assert_eq!(judged(body).0, [code], "{body}");
}

#[test]
fn one_element_an_iteration() {
    accepted("map (i = 0 .. N by 1) { p[i?] = (p[i?] * x[i?]); }");
    accepted("map (i = 0 .. N by 1, j = 0 .. N by 1) { A[i?, j?] = (A[i?, j?] * x[i?]); }");
    accepted("map (i = 0 .. N by 1) { map (j = 0 .. i by 1) { A[i?, j?] = (A[i?, j?] * x[j?]); } }");
    accepted("map (i = 0 .. N by 1) { p[((N - 1) - i)?] = x[i?]; }");
    accepted("map (i = 0 .. N by 1) { W[((2 * i) + 1)?] = x[i?]; }");
}

#[test]
fn even_and_odd_elements() {
    accepted("map (i = 0 .. N by 1) { W[(2 * i)?] = x[i?]; W[((2 * i) + 1)?] = x[i?]; }");
    accepted("map (i = 0 .. N by 1) { W[(2 * i)?] = W[((2 * i) + 1)?]; }");
    accepted("map (i = 1 .. N by 2) { p[i?] = p[(i - 1)?]; }");
    accepted("map (i = 0 .. N by 4) { map (k = 0 .. 4 by 1) { W[(i + k)?] = x[i?]; } }");
    shares("W", "map (i = 0 .. N by 4) { map (k = 0 .. 5 by 1) { if (k < c) { W[(i + k)?] = x[i?]; } } }");
}

#[test]
fn lu_updates_in_place() {
    accepted("map (i = (c + 1) .. N by 1) { A[i?, c?] = (A[i?, c?] / A[c?, c?]); }");
    accepted(
        "map (i = (c + 1) .. N by 1, j = (c + 1) .. N by 1) { A[i?, j?] = (A[i?, j?] - (A[i?, c?] * A[c?, j?])); }",
    );
}

#[test]
fn elements_that_are_the_same_for_all_iterations() {
    // From k itself the pivot row is written while it is read.
    shares("A", "map (i = c .. N by 1, j = c .. N by 1) { A[i?, j?] = (A[i?, j?] - (A[i?, c?] * A[c?, j?])); }");
    let certain = |body: &str| {
        let (mut program, func) = program(body);
        races(&mut program, func, &mut Sink::new()).iter().map(|doubt| doubt.is_certain).collect::<Vec<bool>>()
    };
    assert_eq!(certain("map (i = c .. N by 1, j = c .. N by 1) { A[i?, j?] = (A[i?, c?] * A[c?, j?]); }"), [true]);
    assert_eq!(certain("map (i = 0 .. N by 1) { p[i?] = (p[i?] * p[0?]); }"), [true]);
    assert_eq!(certain("map (i = 0 .. N by 1) { p[i?] = (p[i?] * p[3?]); }"), [true]);
    assert_eq!(certain("map (i = 0 .. N by 1) { W[(2 * i)?] = W[6?]; }"), [true]);
    assert_eq!(certain("map (i = 0 .. N by 1) { W[(2 * i)?] = W[5?]; }"), [false; 0]);
    assert_eq!(certain("map (i = 0 .. N by 1) { p[i?] = (p[i?] * p[c?]); }"), [false]);
    assert_eq!(certain("map (i = 0 .. N by 1) { p[i?] = (p[c?] * p[0?]); }"), [true]);
    assert_eq!(certain("map (i = 1 .. N by 1) { p[i?] = (p[i?] * p[0?]); }"), [false; 0]);
    rejected("HD0402", "map (i = 1 .. N by 1) { p[i?] = (p[(i - 1)?] * p[1?]); }");
}

#[test]
fn flattened_rows() {
    accepted("map (i = 0 .. M by 1, j = 0 .. N by 1) { F[((i * N) + j)?] = x[j?]; }");
    accepted("map (i = 0 .. M by 1) { map (j = 0 .. N by 1) { F[((i * N) + j)?] = x[j?]; } }");
    shares("F", "map (i = 0 .. M by 1, j = 0 .. (N + 1) by 1) { F[((i * N) + j)?] = x[i?]; }");
}

#[test]
fn transposes() {
    accepted("map (i = 0 .. N by 1, j = 0 .. M by 1) { B[j?, i?] = A[i?, j?]; }");
    rejected("HD0402", "map (i = 0 .. N by 1, j = 0 .. N by 1) { A[j?, i?] = A[i?, j?]; }");
    // Pairs below the diagonal exchange their values.
    accepted(
        "map (i = 0 .. N by 1) { map (j = 0 .. i by 1) {
            declare t; t = A[i?, j?]; A[i?, j?] = A[j?, i?]; A[j?, i?] = t; } }",
    );
}

#[test]
fn every_iteration_writes_one_element() {
    rejected("HD0401", "map (i = 0 .. N by 1) { s[0?] = x[i?]; }");
    rejected("HD0401", "map (i = 0 .. N by 1, j = 0 .. M by 1) { p[i?] = x[i?]; }");
    rejected("HD0401", "map (i = 0 .. N by 1) { map (j = 0 .. M by 1) { p[i?] = x[i?]; } }");
    rejected("HD0401", "map (i = 0 .. N by 1) { map (j = 0 .. M by 1) { B[j?, 0?] = x[i?]; } }");
    rejected("HD0401", "map (i = 0 .. N by 1) { p[i?] = x[i?]; p[(i + 1)?] = 0.0:float; }");
    // Ranges of at most one iteration are fine.
    accepted("map (i = 0 .. 1 by 1) { s[0?] = x[i?]; }");
    accepted("map (i = c .. (c + 1) by 1) { s[0?] = x[i?]; }");
    accepted("map (i = 0 .. 8 by 8) { s[0?] = x[i?]; }");
}

#[test]
fn neighbours_in_place() {
    rejected("HD0402", "map (i = 1 .. N by 1) { p[i?] = p[(i - 1)?]; }");
    rejected("HD0402", "map (i = 2 .. N by 1) { p[i?] = p[(i - 2)?]; }");
    rejected("HD0402", "map (i = 0 .. (N - 7) by 1) { p[i?] = (p[(i + 7)?] * 0.5:float); }");
    rejected(
        "HD0402",
        "map (i = 1 .. (N - 1) by 1, j = 1 .. (N - 1) by 1) { A[i?, j?] = (A[(i - 1)?, j?] + A[(i + 1)?, j?]); }",
    );
    accepted("map (i = 1 .. (N - 1) by 1) { q[i?] = (p[(i - 1)?] + p[(i + 1)?]); }");
    // A scalar may keep the range shorter than the distance, if that is more than one.
    shares("p", "map (i = 0 .. c by 1) { p[i?] = p[(i + 7)?]; }");
    rejected("HD0402", "map (i = 0 .. c by 1) { p[i?] = p[(i + 1)?]; }");
    // Seven apart never meet in six iterations.
    accepted("map (i = 0 .. 6 by 1) { p[i?] = p[(i + 7)?]; }");
    // Nor do the halves.
    accepted("map (i = 0 .. c by 1) { p[i?] = p[(i + c)?]; }");
    shares("p", "map (i = 0 .. N by 1) { p[i?] = p[(i + c)?]; }");
}

#[test]
fn what_depends_on_data_is_shared() {
    shares("q", "map (i = 0 .. N by 1) { q[long(idx[i?])?] = x[i?]; }");
    shares("p", "map (i = 0 .. N by 1) { p[i?] = p[long(idx[i?])?]; }");
    shares("p", "map (i = 0 .. N by 1) { if (x[i?] < 0.0:float) { p[0?] = x[i?]; } }");
    shares("p", "map (i = 1 .. N by 1) { if (x[i?] < 0.0:float) { p[i?] = p[(i - 1)?]; } }");
    shares("p", "map (i = 1 .. N by 1) { p[i?] = select((x[i?] < 0.0:float), p[(i - 1)?], 0.0:float); }");
    shares(
        "p",
        "map (i = 0 .. N by 1) { map (k = long(rowptr[i?]) .. long(rowptr[(i + 1)?]) by 1) { p[k?] = x[i?]; } }",
    );
    // Other arrays of the map stay exclusive: only q is listed.
    shares("q", "map (i = 0 .. N by 1) { p[i?] = x[i?]; q[long(idx[i?])?] = p[i?]; }");
}

#[test]
fn guards_separate() {
    // The first half reads what the second writes.
    accepted("map (i = 0 .. N by 1) { if (i < c) { p[i?] = x[i?]; } else { q[i?] = p[i?]; } }");
    shares("p", "map (i = 0 .. N by 1) { if (i < c) { p[i?] = x[i?]; } else { q[i?] = p[(i - c)?]; } }");
    shares("p", "map (i = 0 .. N by 1) { if (i >= c) { p[i?] = p[(i - c)?]; } }");
    accepted("map (i = 0 .. N by 1) { if (i == 0) { s[0?] = x[i?]; } }");
    rejected("HD0401", "map (i = 0 .. N by 1) { declare t; t = s[0?]; if (i >= 0) { } s[0?] = t; }");
}

#[test]
fn arrays_of_an_iteration_belong_to_it() {
    accepted("map (i = 0 .. N by 1) { declare l zero; l[0?] = x[i?]; p[i?] = l[0?]; }");
    rejected(
        "HD0401",
        "map (i = 0 .. N by 1) { declare l zero; map (j = 0 .. N by 1) { l[0?] = x[j?]; } p[i?] = l[0?]; }",
    );
}

#[test]
fn siblings_in_one_iteration_follow_each_other() {
    accepted(
        "map (i = 0 .. N by 1) {
            map (j = 0 .. N by 1) { A[i?, j?] = x[j?]; }
            map (k = 1 .. N by 1) { A[i?, k?] = A[i?, k?]; }
        }",
    );
}

#[test]
fn folds_write_their_target() {
    let fold = |target: &str, over: &str| {
        format!(
            "map (i = 0 .. N by 1, j = 0 .. M by 1) {{ declare t; t = x[i?]; }}
             fold reduce \"+\" float neutral 0.0:float value t over ({over}) into {target};"
        )
    };
    accepted(&fold("p[i?]", "j"));
    accepted(&fold("B[j?, 0?]", "i"));
    rejected("HD0401", &fold("s[0?]", "j"));
    accepted(
        "map (i = 0 .. N by 1) { declare t; t = x[i?]; } fold scan \"+\" float neutral 0.0:float value t over (i) into p[i?];",
    );
    // The body reads what the fold writes.
    shares(
        "p",
        "map (i = 0 .. N by 1, j = 0 .. N by 1) { declare t; t = p[j?]; }
         fold reduce \"+\" float neutral 0.0:float value t over (j) into p[i?];",
    );
    // GEMM's inner fold in an outer map.
    accepted(
        "map (i = 0 .. N by 1) { map (k = long(rowptr[i?]) .. long(rowptr[(i + 1)?]) by 1) { declare t; t = x[k?]; }
         fold reduce \"+\" float neutral 0.0:float value t over (k) into y[i?]; }",
    );
}

#[test]
fn atomic_excludes_other_accesses() {
    shares("hist", "map (i = 0 .. N by 1) { atomic hist[long(idx[i?])?] \"+\" int neutral 0:int = 1:int; }");
    rejected(
        "HD0403",
        "map (i = 0 .. N by 1) { atomic hist[long(idx[i?])?] \"+\" int neutral 0:int = 1:int; hist[i?] = 0:int; }",
    );
    rejected("HD0403", "map (i = 0 .. N by 1) { atomic hist[0?] \"+\" int neutral 0:int = hist[1?]; }");
    // In another map it may.
    shares(
        "hist",
        "map (i = 0 .. M by 1) { hist[i?] = 0:int; }
         map (j = 0 .. N by 1) { atomic hist[long(idx[j?])?] \"+\" int neutral 0:int = 1:int; }",
    );
}

#[test]
fn primitives_work_undisturbed() {
    let sort = "prim sort segment(long(lo[i?]), long(hi[i?])) in p{; 0, N} out q{; 0, N} dir 1:int;";
    accepted(&format!("map (i = 0 .. N by 1) {{ {sort} }}"));
    rejected("HD0404", &format!("map (i = 0 .. N by 1) {{ {sort} q[i?] = 0.0:float; }}"));
    rejected("HD0404", &format!("map (i = 0 .. N by 1) {{ {sort} p[i?] = 0.0:float; }}"));
    let in_place = "prim sort segment(long(lo[i?]), long(hi[i?])) in p{; 0, N} out p{; 0, N} dir 1:int;";
    accepted(&format!("map (i = 0 .. N by 1) {{ {in_place} }}"));
    let row = "prim sort segment(0, N) in A{i; 0, N} out A{i; 0, N} dir 1:int;";
    accepted(&format!("map (i = 0 .. N by 1) {{ {row} A[i?, 0?] = 0.0:float; }}"));
}

/// Once everything is shared, a pair is judged for the report alone: a map of many scattered writes takes its time per
/// statement, not per pair.
#[test]
fn many_accesses_that_depend_on_data() {
    let scattered: String = (0..300).map(|k| format!("p[(long(idx[i?]) + {k})?] = x[i?]; ")).collect();
    shares("p", &format!("map (i = 0 .. N by 1) {{ {scattered} }}"));
    // Each array has pairs of its own.
    rejected("HD0401", &format!("map (i = 0 .. N by 1) {{ {scattered} s[0?] = x[i?]; }}"));
    // What is certain is found among pairs of shared accesses, too.
    let few: String = (0..20).map(|k| format!("p[(long(idx[i?]) + {k})?] = x[i?]; ")).collect();
    rejected("HD0401", &format!("map (i = 0 .. N by 1) {{ {few} p[0?] = x[i?]; }}"));
}

#[test]
fn more_pairs_than_are_looked_at() {
    let separate = |count: u32| {
        let writes: String = (0..count).map(|k| format!("W[(({count} * i) + {k})?] = x[i?]; ")).collect();
        format!("map (i = 0 .. N by 1) {{ {writes} }}")
    };
    accepted(&separate(60));
    shares("W", &separate(95));
}

#[test]
fn messages_name_the_other_iteration() {
    let (mut program, func) = program("map (i = 1 .. N by 1) { p[i?] = p[(i - 1)?]; }");
    let mut sink = Sink::new();
    races(&mut program, func, &mut sink);
    let found = sink.finish();
    assert_eq!(found[0].primary.text, "read by iteration `i`");
    assert_eq!(found[0].secondary[0].text, "written by iteration `i - 1`");
}

#[test]
fn functions_that_iterations_call() {
    let text = |arg: &str, body: &str| {
        format!(
            "func inner(v) dims (n) {{ vars {{ n: long dim; v: float[n] inout; }} {body} }}
             func f(A, p) dims (N) {{
               vars {{ N: long dim; A: float[N, N] inout; p: float[N] inout; i: long iter; }}
               map (i = 0 .. N by 1) {{ call inner({arg}); }}
             }} entries (f)"
        )
    };
    let codes = |arg: &str, body: &str| {
        let mut program = read(&text(arg, body)).unwrap_or_else(|error| panic!("{error}"));
        let (func, mut sink) = (program.entries[0], Sink::new());
        races(&mut program, func, &mut sink);
        sink.finish().iter().map(|diagnostic| diagnostic.code.info().name).collect::<Vec<_>>()
    };
    let sort = "prim sort whole(n) in v{; 0, n} out v{; 0, n} dir 1:int;";
    assert_eq!(codes("section A{at i, range 0 .. N by 1}", sort), Vec::<&str>::new());
    assert_eq!(codes("section A{range 0 .. N by 1, at i}", sort), Vec::<&str>::new());
    assert_eq!(codes("section A{at 0, range 0 .. N by 1}", sort), ["HD0404"]);
    assert_eq!(codes("array p", sort), ["HD0404"]);
    assert_eq!(codes("array p", "v[0?] = 1.0:float;"), Vec::<&str>::new());
}

#[test]
fn butterflies_write_elements_of_their_own() {
    let butterfly = |first: &str, second: &str| {
        format!(
            "map (i = 0 .. (N / 2:long) by 1) {{
               declare n; n = (i %? c);
               p[{first}?] = x[i?]; p[{second}?] = x[(i + (N / 2:long))?]; }}"
        )
    };
    accepted(&butterfly("((((i /? c) * c) * 2) + n)", "(((((i /? c) * c) * 2) + n) + c)"));
    accepted(&butterfly("((2 * (i - n)) + n)", "(((2 * (i - n)) + n) + c)"));
    shares("p", &butterfly("((2 * (i - n)) + n)", "(((2 * (i - n)) + n) + (2 * c))"));
    // Where `c` is 0 all lanes of a vector write one element before the call fails. What one of them loads could become an index.
    let loads = butterfly("((2 * (i - n)) + n)", "(((2 * (i - n)) + n) + c)");
    shares("p", &loads.replace("x[(i + (N / 2:long))?]", "p[(((2 * (i - n)) + n) + c)?]"));
    let loads_of_other = loads.replace("x[(i + (N / 2:long))?]", "q[(i + (N / 2:long))?]");
    accepted(&loads_of_other);
    shares("p", &butterfly("((i - n) + n)", "(((i - n) + n) + c)"));
    shares("p", &butterfly("((2 * (i - n)) + n)", "((((2 * (i - n)) + n) + c) - 1)"));
}
