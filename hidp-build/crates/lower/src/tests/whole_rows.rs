//! Iterators that run as one, and those of few iterations.

use super::*;

/// Loops around the innermost one of a launch of all `iterators`, each iteration of which does `body`.
fn outer_loops(iterators: &str, body: &str) -> usize {
    let text = format!(
        "function f input int a[H][W][3], v[W], wide[H][W+1]; input int n; inout int b[H][W][3], m[H][W], t[W][H];
        {{ map {{ {iterators} {body} }} }}"
    );
    around(&text)
}

fn around(text: &str) -> usize {
    let entry = lowered(text);
    let [kernel] = &unit(&entry, "rows").kernels.iter().map(|(_, kernel)| kernel).collect::<Vec<_>>()[..] else {
        panic!("one launch");
    };
    let vars = &kernel.function.vars;
    count(&kernel.function.body, |stmt| matches!(stmt, Stmt::Loop(node) if vars[node.var].name == "at"))
}

#[test]
fn iterators_that_number_all_elements_run_as_one() {
    let all = "y := [0:H); x := [0:W); c := [0:3);";
    assert_eq!(outer_loops(all, "b[y][x][c] = a[y][x][c] + n;"), 0);
    assert_eq!(outer_loops(all, "if (a[y][x][c] > n) b[y][x][c] -= a[y][x][c];"), 0);
    assert_eq!(outer_loops("y := [0:H); x := [0:W);", "m[y][x] += n;"), 0);
    // The outermost of them may leave some out, and what they start at may differ.
    assert_eq!(outer_loops("y := [1:H); x := [0:W); c := [0:3);", "b[y][x][c] = a[y-1][x][c];"), 0);
    let fold = "function f input float a[H][W][3]; output float s; { map { y := [0:H); x := [0:W); c := [0:3); _t = a[y][x][c]; } reduce(\"+\", s, _t, y := [*], x := [*], c := [*]); }";
    assert_eq!(around(fold), 0);
    assert_eq!(outer_loops("y := [1:H); x := [1:W); c := [0:3);", "b[y][x][c] = a[y-1][x-1][c];"), 1);
}

#[test]
fn iterators_that_do_not_or_mean_something_else_run_by_themselves() {
    let all = "y := [0:H); x := [0:W);";
    assert_eq!(outer_loops(all, "m[y][x] = (int)x;"), 1);
    assert_eq!(outer_loops(all, "m[y][x] = (int)y;"), 1);
    assert_eq!(outer_loops(all, "m[y][x] = v[x];"), 1);
    assert_eq!(outer_loops(all, "m[y][x] = m[y][x] * t[x][y];"), 1);
    assert_eq!(outer_loops(all, "m[y][x] = wide[y][x];"), 1);
    assert_eq!(outer_loops(all, "m[y][x] = a[y][x][2];"), 0);
    assert_eq!(outer_loops(all, "m[y][x] = m[y][x] + a[y][x][x % 3];"), 1);
    assert_eq!(outer_loops("y := [0:H); x := [1:W);", "m[y][x] += n;"), 1);
    assert_eq!(outer_loops("y := [0:H); x := [0:W-1);", "m[y][x] += n;"), 1);
    assert_eq!(outer_loops("y := [0:H); x := [0:W:2);", "m[y][x] += n;"), 1);
    assert_eq!(outer_loops("y := [0:H:2); x := [0:W);", "m[y][x] += n;"), 1);
    assert_eq!(outer_loops("x := [0:W); y := [0:H);", "m[y][x] += n;"), 1);
    // What is tested is tested by itself.
    assert_eq!(outer_loops(all, "m[y][x] = wide[y+n][x];"), 1);
}

/// Loops in lanes, and stores in them, of a map whose last iterator has so many values.
fn lanes_and_stores(channels: usize, body: &str) -> [usize; 2] {
    let text = format!(
        "function f input int a[H][W][{channels}], p[H][W], g[{channels}]; input long n; inout int b[H][W][{channels}], t[{channels}][H][W];
        {{ map {{ y := [0:H); x := [0:W); c := [0:{channels}); {body} }} }}"
    );
    let entry = lowered(&text);
    let serial = unit(&entry, "serial");
    let stores = in_kernels(serial, |stmt| matches!(stmt, Stmt::Store { .. }));
    [in_kernels(serial, is_simd), stores]
}

#[test]
fn a_few_iterations_are_written_out_in_lanes_of_others() {
    for body in ["b[y][x][c] += a[y][x][c] * g[c];", "b[y][x][c] += a[y][W-1-x][c];", "t[c][y][x] += p[y][x] - g[c];"] {
        assert_eq!(lanes_and_stores(3, body), [1, 3], "{body}");
        assert_eq!(lanes_and_stores(4, body), [1, 4], "{body}");
        assert_eq!(lanes_and_stores(5, body), [1, 1], "{body}");
    }
    // All elements are one row; tests remain; long iterations.
    assert_eq!(lanes_and_stores(3, "b[y][x][c] += 2 * a[y][x][c];"), [1, 1]);
    assert_eq!(lanes_and_stores(3, "b[y][x][c] += a[y][x][c] / g[c];"), [0, 1]);
    let long = "int s = g[c]; s += a[y][x][c]; s *= g[c]; s += p[y][x]; s *= g[c]; b[y][x][c] += s;";
    assert_eq!(lanes_and_stores(3, long)[1], 1);
}
