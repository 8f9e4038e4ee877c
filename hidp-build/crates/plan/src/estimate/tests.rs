//! Estimates say which of two ways is slower, and by about how much.

use super::*;
use crate::candidates;
use crate::testing::optimised;

/// The time of the only entry by its plan of this name, where all dimensions are `size`.
fn time(text: &str, name: &str, size: i64, threads: f64) -> f64 {
    let (program, model) = (optimised(text), Model::cpu());
    let id = program.entries[0];
    let func = &program.funcs[id];
    let plans = candidates(&program, id, &model);
    let plan = plans.iter().find(|plan| plan.name == name).unwrap_or_else(|| panic!("{name}: {plans:?}"));
    let found = estimate(&program, func, plan, &vec![size; func.dims.len()], (threads, &model));
    found.expect("plans fit").time
}

fn vector(body: &str) -> String {
    format!("function f input float x[N], A[N][N]; input int p[N]; inout float y[N]; {{ {body} }}")
}

/// How much slower the first is than the second.
fn ratio(first: &str, second: &str) -> f64 {
    let of = |body: &str| time(&vector(body), "rows", 1000, 1.0);
    of(first) / of(second)
}

#[test]
fn neighbours_are_loaded_together() {
    let plain = "map { i := [0:N); y[i] = x[i]; }";
    assert!(ratio("map { i := [0:N); y[i] = A[i][3]; }", plain) > 10.0);
    assert!(ratio("map { i := [0:N); y[i] = x[p[i] % N]; }", plain) > 5.0);
    let invariant = ratio("map { i := [0:N); y[i] = x[5]; }", plain);
    assert!(invariant < 1.0, "{invariant}");
}

#[test]
fn loops_and_branches_are_as_long_as_sizes_say() {
    let loops = |bound: &str| format!("map {{ i := [0:N); for (long j = 0; j < {bound}; j += 1) y[i] += x[j]; }}");
    let about = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.2, "{found} {expected}");
    about(ratio(&loops("N"), &loops("N / 4")), 4.0);
    about(ratio(&loops("N"), &loops("i")), 2.0);
    let steps = loops("N").replace("j += 1", "j += 5");
    about(ratio(&loops("N"), &steps), 5.0);
    about(ratio(&loops("p[i]"), &loops("16")), 1.0);
    // A size decides, data do not.
    let branch = |when: &str| format!("if ({when}) {{ {} }}", loops("N"));
    about(ratio(&branch("N > 10"), &loops("N")), 1.0);
    assert!(ratio(&branch("N > 10000"), &loops("N")) < 0.01);
    about(ratio(&branch("x[0] > 1"), &loops("N")), 0.5);
}

#[test]
fn tiles_in_registers_share_their_loads() {
    let product = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
    let [lanes, rows] = ["lanes", "rows"].map(|plan| time(product, plan, 512, 1.0));
    assert!(rows > 20.0 * lanes, "{rows} {lanes}");
    let each = lanes / 512_f64.powi(3);
    assert!((10.0..60.0).contains(&each), "{each} ps for a multiplication and an addition");
}

#[test]
fn threads_share_what_they_do_not_fight_for() {
    let sum = vector("map { i := [0:N); y[i] = sqrt(x[i]) / (1 + x[i] * x[i]); }");
    let gain = |text: &str, size: i64| time(text, "rows", size, 1.0) / time(text, "rows", size, 8.0);
    assert!(gain(&sum, 10_000_000) > 7.0);
    assert_eq!(gain(&sum, 1000), 1.0, "few elements are not worth a thread");
    // Two operators on one array: no thread has a copy of its own.
    let counts = |also: &str| {
        format!(
            "function f input int keys[N]; inout uint h[256];
            {{ map {{ i := [0:N); atomic h[keys[i] & 255] += 1; {also} }} }}"
        )
    };
    let both = counts("atomic h[0] |= 1;");
    assert!(gain(&both, 10_000_000) < 0.5, "all threads update the same lines");
    let spread = both.replace("h[256]", "h[N]").replace("keys[i] & 255", "keys[i]");
    assert!(gain(&spread, 10_000_000) > 7.0);
    assert!(gain(&counts(""), 10_000_000) > 7.0, "each thread has its copy");
    let serial = time(&both, "serial", 10_000_000, 8.0);
    assert_eq!(serial, time(&both, "serial", 10_000_000, 1.0));
    assert!(serial < time(&both, "rows", 10_000_000, 1.0), "one thread needs no atoms");
}
