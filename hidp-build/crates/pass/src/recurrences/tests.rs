use super::*;
use hidp_ir::par::interp::{Arg, Array, Options, run_with};
use hidp_ir::par::{StmtKind, print, read, verify, visit};
use hidp_syntax::ordered::OrdMap;

/// Sums along both indices: `d` is asked by `f`, whose body is `uses`.
fn sums(body: &str, uses: &str) -> Program {
    let window = if body == FAR || body == AHEAD { 3 } else { 2 };
    let row = match body {
        AHEAD => "2, 1",
        _ if body.starts_with(LINES) => "1, 0",
        _ => "1, 1",
    };
    let text = format!(
        "struct Best {{ v: int, at: long }}
         fn better(a, b) -> Best {{ vars {{ a: Best input; b: Best input; }} return select((field(b, 0) > field(a, 0)), b, a); }}
         fn behind(a, b) -> int {{ vars {{ a: int input; b: int input; }} return select((b > 0:int), b, a); }}
         fn tested(a, b) -> int {{ vars {{ a: int input; b: int input; }} return (a /? b); }}
         func d(x, d) dims (N) {{
           vars {{ N: long dim; x: int[N] input; d: int[N, N] output; i: long iter; j: long iter; c: int local; l: long local; }}
           system nest (1, 1) ranks (0) {{
             table d (i = 0 .. N by 1, j = 0 .. N by 1) rows (({row})) rank 0 window {window} {{ {body} }}
           }}
         }}
         func g(x, s) dims (N) {{
           vars {{ N: long dim; x: int[N] input; s: int output; T: int[N, N] local; }}
           if (N > 0) {{ declare T zero; call d(array x, array T); s = T[(N - 1), (N - 1)]; }}
         }}
         func f(x, y, s) dims (N) {{
           vars {{ N: long dim; x: int[N] input; y: int[N] output; s: int output; T: int[N, N] local; U: int[N, N] local; k: long iter; l: long local; m: long iter; v: int local; w: int local; u: long iter; r: int local; e: double local; z: double local; best: Best local; b: Best local; }}
           {uses}
         }}
         entries (f)"
    );
    let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}"));
    program
}

const SUM: &str = "if ((i == 0) || (j == 0)) { return 1:int; } return (d[(i - 1), j] + d[i, (j - 1)]);";
const FAR: &str = "if ((i == 0) || (j == 0)) { return int((i - (3 * j))); } return ((d[(i - 1), (j - 1)] - d[(i - 1), j]) + d[i, (j - 1)]);";
const AHEAD: &str =
    "if ((i == 0) || (j == (N - 1))) { return int((i + (2 * j))); } return (d[(i - 1), (j + 1)] + d[(i - 1), j]);";
const LINES: &str = "if (i == 0) { return x[j]; } declare c zero; declare l; l = 0;
    loop (l < N) { c = (c + d[(i - 1), l]); } step { l = (l + 1); }";
const COLUMN: &str = "declare c zero; declare l; l = 0; loop (l < i) { c = (c + d[l, j]); } step { l = (l + 1); }
    if (j > 0) { c = (c + d[i, (j - 1)]); } return (c + 1:int);";
const QUOTIENT: &str = "if ((i == 0) || (j == 0)) { return 1:int; } return (d[(i - 1), j] /? x[j]);";
const ONE: &str = "if (N > 0) { declare T zero; call d(array x, array T); s = T[(N - 1), (N - 1)]; }";
const ALL: &str = "declare T zero; call d(array x, array T); map (k = 0 .. N by 1) { y[k] = T[k, k]; }";
const INNER: &str = "map (k = 0 .. N by 1) { call g(array x, element y[k]); }";
const EACH: &str = "map (k = 0 .. N by 1) { declare T zero; call d(array x, array T); y[k] = T[k, k]; }";
const TABLES: &str = "map (k = 0 .. N by 1) { declare T zero; call d(array x, array T); declare l; l = 0;
    loop (l < N) { y[k] = (y[k] + T[l, k]); } step { l = (l + 1); } }";

/// After the pass, which has to mean the same as before; with what the functions do all together.
fn after(body: &str, uses: &str) -> (Program, OrdMap<&'static str, usize>) {
    after_in(None, body, uses)
}

fn pinned(mut program: Program, course: Option<Course>) -> Program {
    let user = program.funcs[program.entries[0]].span;
    let pin = |course| PinnedCourse { user, tables: vec!["d".into()], course, span: user };
    program.courses.extend(course.map(pin));
    program
}

/// The same, in a course.
fn after_in(course: Option<Course>, body: &str, uses: &str) -> (Program, OrdMap<&'static str, usize>) {
    let before = sums(body, uses);
    let mut program = pinned(before.clone(), course);
    super::run(&mut program);
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&program)));
    for size in [0, 1, 2, 5] {
        for zero in [None, Some(0), Some(3)] {
            let x: Vec<i32> = (0..size).map(|at| if Some(at) == zero { 0 } else { at + 2 }).collect();
            let outputs = [Arg::from(Array::vector(x)), Array::vector(vec![0; size as usize]).into(), Arg::Output];
            let options = Options { fuel: Some(1_000_000), races: true, ..Options::default() };
            let call = |program: &Program| run_with(program, program.entries[0], outputs.to_vec(), &options);
            assert_eq!(call(&before), call(&program), "{}", print(&program));
        }
    }
    let mut found = OrdMap::new();
    assert!(program.funcs.iter().all(|(_, func)| func.recur.is_none()));
    let mut run = vec![program.entries[0]];
    while let Some(id) = run.pop() {
        let func = &program.funcs[id];
        visit::walk_stmts(&func.body, |stmt| {
            let kind = match &stmt.kind {
                StmtKind::Map(_) => "maps",
                StmtKind::Swap(..) => "swaps",
                StmtKind::Loop(_) => "loops",
                StmtKind::Call { callee, .. } => {
                    run.push(*callee);
                    return;
                }
                StmtKind::Declare { var, .. } if func.vars[*var].shape.len() == 2 => "tables",
                _ => return,
            };
            *found.entry(kind).or_default() += 1;
        });
    }
    (program, found)
}

#[test]
fn a_cell_is_taken_from_a_window() {
    let (_, found) = after(SUM, ONE);
    assert_eq!(found, OrdMap::from([("maps", 1), ("swaps", 1), ("loops", 1)]));
}

/// Nor is a table kept for a cell that may not exist: that is tested, with the fault of the table.
#[test]
fn whether_a_cell_exists_is_tested_before_it_is_read() {
    let each = |value: &str| EACH.replace("y[k] = T[k, k]", &format!("y[k] = {value}"));
    let tables = |value: &str| after(SUM, &each(value)).1.get("tables").copied();
    for value in ["T[long(x[k])?, k]", "(x[k] - T[k, (long(x[k]) - 2)?])", "(T[long(x[k])?, k] + T[(k - 1)?, k])"] {
        assert_eq!(tables(value), None, "{value}");
    }
    // Another fault may come before, or the cell may not be looked at.
    for value in ["((x[k] /? x[0]) + T[long(x[k])?, k])", "select((x[k] < 4:int), T[long(x[k])?, k], 7:int)"] {
        assert_eq!(tables(value), Some(1), "{value}");
    }
}

#[test]
fn a_table_is_computed_in_tiles_where_it_is_wanted() {
    let (_, found) = after(SUM, ALL);
    assert_eq!(found, OrdMap::from([("maps", 2), ("loops", 3), ("tables", 1)]));
}

#[test]
fn tiles_need_cells_that_are_behind() {
    let tiles = Some(Course::Blocks { sides: [2, 3] });
    for body in [SUM, FAR] {
        assert_eq!(after_in(tiles, body, ALL).1.get("loops"), Some(&3), "{body}");
    }
    let unmet = |body| recurrences(&pinned(sums(body, ALL), tiles))[0].unmet.as_ref().map(|(_, unmet)| *unmet);
    assert_eq!([SUM, AHEAD, COLUMN].map(unmet), [None, Some(Unmet::Behind), Some(Unmet::Behind)]);
}

#[test]
fn cells_along_a_first_index_come_from_a_copy() {
    for uses in [ONE, ALL] {
        assert_eq!(
            after(COLUMN, uses).1,
            OrdMap::from([("tables", 2), ("maps", 1 + usize::from(uses == ALL)), ("loops", 2)])
        );
    }
}

#[test]
fn a_table_that_is_only_copied_is_the_copy() {
    let copy = |value: &str| {
        format!(
            "declare U zero; declare T zero; call d(array x, array T); map (k = 0 .. N by 1, m = 0 .. N by 1) {{ U[k, m] = {value}; }}
             map (u = 0 .. N by 1) {{ y[u] = U[u, u]; }}"
        )
    };
    let tables = |uses: &str| after(SUM, uses).1.get("tables").copied();
    assert_eq!(tables(&copy("T[k, m]")), Some(1));
    for uses in [copy("T[m, k]"), copy("(T[k, m] + 1:int)"), copy("T[k, m]") + " if (N > 0) { s = T[0, 0]; }"] {
        assert_eq!(tables(&uses), Some(2), "{uses}");
    }
}

#[test]
fn iterations_keep_windows() {
    for uses in [EACH, INNER] {
        // One around, and one for each of two steps.
        let (_, found) = after(SUM, uses);
        assert_eq!(found, OrdMap::from([("maps", 3), ("loops", 1)]));
    }
    let (_, found) = after(FAR, EACH);
    assert_eq!(found, OrdMap::from([("maps", 4), ("loops", 1)]));
}

/// What is folded of a table: which iterations, where, how, into what.
fn fold(ranges: &str, values: &str, folds: &str) -> String {
    format!("declare T zero; call d(array x, array T); map ({ranges}) {{ {values} }} {folds}")
}

#[test]
fn folds_need_no_table() {
    let all = "k = 0 .. N by 1, m = 0 .. N by 1";
    let cell = "declare v zero; v = T[k, m];";
    let of = |op: &str, neutral: &str, value: &str, over: &str| {
        format!("fold reduce \"{op}\" int neutral {neutral}:int value {value} over ({over}) into s;")
    };
    let (most, sum) = (of("max", "-2147483648", "v", "k, m"), of("+", "0", "v", "m, k"));
    let with_doubles = |op: &str, neutral: &str| {
        let values = "declare z zero; z = (double(T[k, m]) * 0.25:double);";
        let into = format!("fold reduce \"{op}\" double neutral {neutral}:double value z over (k, m) into e;");
        "declare e; ".to_owned() + &fold(all, values, &into)
    };
    let part = "k = 1 .. (N - 1) by 1, m = 2 .. N by 1";
    let best = |value: &str, neutral: &str, ranges: &str| {
        let value = format!("declare b zero; b = {value};");
        "declare best; ".to_owned()
            + &fold(ranges, &value, &format!("fold reduce better Best {neutral} value b over (k, m) into best;"))
    };
    let tables = |uses: &str| [SUM, FAR].map(|body| after(body, uses).1.get("tables").copied());
    for uses in [
        fold(all, cell, &most),
        fold(all, "declare v zero; v = (T[k, m] * int(((3 * k) - m)));", &sum),
        fold(all, "declare v zero; v = select((T[k, m] > 2:int), 1:int, 0:int);", &sum),
        "declare r; ".to_owned()
            + &fold(
                all,
                "declare v zero; v = T[k, m]; declare w zero; w = min(T[k, m], 3:int);",
                &format!("{sum} fold reduce \"min\" int neutral 2147483647:int value w over (k, m) into r;"),
            )
            + " s = (s + r);",
        // The least and the greatest of floats, which do not depend on how cells are grouped.
        with_doubles("max", "-inf") + " s = int(e);",
        with_doubles("min", "inf") + " s = select((e > 100.0:double), 0:int, int(e));",
        // Sums of those, in one order, and products.
        with_doubles("+", "0.0") + " s = int(e);",
        with_doubles("*", "1.0") + " s = int(e);",
        // Functions that take the first of the largest, or the last of the positive.
        best("new Best{T[k, m], (k + (7 * m))}", "neutral new Best{0:int, 0}", all)
            + " s = (field(best, 0) + int(field(best, 1)));",
        best("new Best{(T[k, m] % 5:int), (k + (7 * m))}", "neutral new Best{0:int, 0}", part)
            + " s = int(field(best, 1));",
        fold(all, "declare v zero; v = (T[k, m] - 3:int);", &of("", "4", "v", "k, m").replace("\"\"", "behind")),
        // Without a neutral element.
        format!(
            "if (N > 0) {{ {} s = int(field(best, 1)); }}",
            best("new Best{(0:int - T[k, m]), (k + (7 * m))}", "", all)
        ),
        // Of values that are held, and of scalars that are known before.
        fold(all, "declare w zero; w = T[k, m]; declare v zero; v = (w * w);", &sum),
        "declare r; r = 3:int; ".to_owned() + &fold(all, "declare v zero; v = (T[k, m] * r);", &sum),
        // The last of two values.
        fold(all, "declare v zero; v = T[k, m]; v = (T[k, m] * 3:int);", &sum),
        // Turned around, and parts, perhaps empty.
        fold("k = 0 .. N by 1, m = 0 .. N by 1", "declare v zero; v = T[m, k];", &sum),
        fold("k = 1 .. (N - 1) by 1, m = 0 .. N by 1", cell, &most),
        fold("k = 0 .. (N - 1) by 1, m = 0 .. N by 1", cell, &sum),
        fold("k = 2 .. N by 1, m = 3 .. N by 1", cell, &of("min", "2147483647", "v", "k, m")),
        format!(
            "if (N > 0) {{ {} }}",
            fold("m = 0 .. N by 1", "declare v zero; v = T[(N - 1), m];", &of("max", "-2147483648", "v", "m"))
        ),
        format!(
            "map (u = 0 .. N by 1) {{ {} y[u] = w; }}",
            fold(all, cell, &most).replace("into s;", "into w;").replace("declare T", "declare w; declare T")
        ),
    ] {
        assert_eq!(tables(&uses), [None, None], "{uses}");
    }
    for uses in [
        // The order of the iterations, and a function that may fault.
        with_doubles("+", "0.0").replace("value z", "ordered value z") + " s = int(e);",
        fold(all, "declare v zero; v = T[k, m];", &of("", "1", "v", "k, m").replace("\"\"", "tested")),
        // Another value of the cell's row is needed, only every second one, or the table is needed once more.
        fold(all, "declare v zero; v = (T[k, m] + T[m, k]);", &sum),
        fold("k = 0 .. N by 2, m = 0 .. N by 1", cell, &sum),
        fold(all, cell, &sum) + " map (u = 0 .. N by 1) { y[u] = T[u, u]; }",
        // Each twice, and values of other arrays.
        fold("k = 0 .. N by 1, m = 0 .. N by 1", "declare v zero; v = T[k, k];", &sum),
        fold(all, "declare v zero; v = (T[k, m] * x[k]);", &sum),
        // The diagonal, a column that each iteration of another index visits, and rows by themselves.
        fold("k = 0 .. N by 1", "declare v zero; v = T[k, k];", &of("+", "0", "v", "k")),
        fold(all, "declare v zero; v = T[k, 0];", &sum),
        fold(all, cell, &of("+", "0", "v", "m").replace("into s", "into y[k]")),
        // What is made of a cell may fault, or depends on more than the cell.
        fold(all, "declare v zero; v = (7:int /? T[k, m]);", &sum),
        fold(all, "declare v zero; v = (T[k, m] * r);", &sum).replace("; map", "; declare r; r = 3:int; map"),
        // The part is found out behind the call.
        fold("k = l .. N by 1, m = 0 .. N by 1", cell, &sum).replace("; map", "; declare l; l = 1; map"),
        fold("m = 1 .. N by 1", "declare v zero; v = T[l, m];", &of("+", "0", "v", "m"))
            .replace("; map", "; declare l; l = 1; map"),
        fold(all, cell, &sum).replace("; map (k", "; map (u = 0 .. N by 1) { y[u] = T[u, u]; } map (k"),
    ] {
        assert_eq!(tables(&uses), [Some(1), Some(1)], "{uses}");
    }
    // Where a cell may fault there is a table, and the map is as it was.
    assert_eq!(after(QUOTIENT, &fold(all, cell, &most)).1.get("tables"), Some(&1));
}

#[test]
fn iterations_keep_windows_of_lines_whose_cells_have_loops() {
    for end in [" return (c + x[j]);", " return (c /? x[j]);"] {
        let (_, found) = after(&(LINES.to_owned() + end), EACH);
        assert_eq!(found, OrdMap::from([("maps", 3), ("loops", 3)]), "{end}");
    }
    // Across the table there is one for each iteration.
    assert_eq!(after(&COLUMN.replace("d[l, j]", "d[(i - 1), j]"), EACH).1.get("tables"), Some(&1));
}

#[test]
fn tables_of_iterations_are_swept() {
    let (_, found) = after(SUM, TABLES);
    assert_eq!(found, OrdMap::from([("maps", 1), ("loops", 3), ("tables", 1)]));
}

#[test]
fn cells_that_fault_are_swept_in_the_order_of_the_meaning() {
    let (_, found) = after(QUOTIENT, ONE);
    assert_eq!(found, OrdMap::from([("maps", 1), ("loops", 2), ("tables", 1)]));
}

#[test]
fn cells_that_fault_in_another_order_are_computed_on_demand() {
    let text = "func d(x, d) dims (N) {
           vars { N: long dim; x: int[N] input; d: int[N] output; i: long iter; }
           system nest (-1) ranks (0) {
             table d (i = 0 .. N by 1) rows ((-1)) rank 0 window 2 {
               if (i == (N - 1)) { return 1:int; }
               return (d[(i + 1)] /? x[i]);
             }
           }
         }
         func f(x, y) dims (N) {
           vars { N: long dim; x: int[N] input; y: int[N] output; T: int[N] local; k: long iter; }
           declare T zero; call d(array x, array T); map (k = 0 .. N by 1) { y[k] = T[k]; }
         }
         entries (f)";
    let before = read(text).unwrap_or_else(|error| panic!("{error}"));
    let mut program = before.clone();
    super::run(&mut program);
    verify(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{}", print(&program)));
    assert!(print(&program).contains("waiting"), "{}", print(&program));
    for x in [vec![], vec![1], vec![3, 0, 2, 0], vec![0, 2, 0, 5], vec![4, 2, 1, 0]] {
        let args = vec![Arg::from(Array::vector(x.clone())), Array::vector(vec![0; x.len()]).into()];
        let call = |program: &Program| run_with(program, program.entries[0], args.clone(), &Options::default());
        assert_eq!(call(&before), call(&program), "{x:?}");
    }
}
