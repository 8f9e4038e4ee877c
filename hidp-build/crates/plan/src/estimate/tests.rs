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
    let version = Version::new(&program, func, plan, &model).expect("plans fit");
    version.at(&vec![size; func.dims.len()], threads).time
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
fn each_nest_of_a_loop_has_an_overhead() {
    let turns = |width: u32| format!("for (long i = 0; i < N; i += 1) {{ map {{ j := [0:{width}); y[j] += x[j]; }} }}");
    // Short ones take little else, long ones hide it.
    let (short, long) = (ratio(&turns(4), &turns(1)), ratio(&turns(80000), &turns(10000)));
    assert!(short < 1.5 && long > 7.0, "{short} {long}");
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
fn integers_are_rarely_equal() {
    let branch =
        |when: &str| format!("map {{ i := [0:N); if ({when}) {{ for (long j = 0; j < N; j += 1) y[i] += x[j]; }} }}");
    let [equal, different, less] =
        ["p[i] == 3", "p[i] != 3", "p[i] < 3"].map(|when| ratio(&branch(when), &branch("0 < 1")));
    assert!((0.05..0.08).contains(&equal) && (0.92..0.95).contains(&different), "{equal} {different}");
    assert!((0.49..0.52).contains(&less), "{less}");
    let floats = ratio(&branch("x[i] == 3"), &branch("0 < 1"));
    assert!((0.49..0.52).contains(&floats), "{floats}");
}

#[test]
fn iterations_in_lanes_pack_rows_that_are_short_enough() {
    let nearest = "function f input float point[N][D], centre[K][D]; output int at[N];
        { map { n := [0:N); float best = 1e30; int found = 0;
            for (int k = 0; k < K; k += 1) { float far;
              map { d := [0:D); _t = point[n][d] * centre[k][d]; } reduce(\"+\", far, _t, d := [*]);
              if (far < best) { best = far; found = k; } }
            at[n] = found; } }";
    let [short, long] = [100, 1000].map(|size| time(nearest, "wide", size, 1.0) / f64::from(size as i32).powi(3));
    // Else they run in order, with lanes inside, whose ends count where rows are short.
    let rows = time(nearest, "rows", 1000, 1.0) / 1e9;
    assert!(short < 100.0 && (long / rows - 1.0).abs() < 0.01, "{short} {long} {rows} ps for a product");
    let ends = time(nearest, "rows", 32, 1.0) / 32_f64.powi(3);
    assert!(ends > 2.0 * rows && ends < 1000.0, "{ends} ps for one of a short row");
}

#[test]
fn loops_that_compilers_put_into_lanes_are_quick() {
    let add = |row: &str| format!("for (long n = 0; n < N; n += 1) {{ map {{ i := [0:N); A[{row}][i] += 1; }} }}");
    let text =
        |row: &str| vector(&add(row)).replace("float x[N], A[N][N]; input", "float x[N]; inout float A[N][N]; input");
    // A test in each turn keeps compilers from it.
    let tested = text("n").replace("A[n][i]", "A[n][i + p[0]]");
    let [known, tested] = [text("n"), tested].map(|text| time(&text, "rows", 1000, 1.0));
    assert!(tested > 3.0 * known, "{known} {tested}");
    let [known, data, scattered] = ["n", "p[n]", "p[i]"].map(|row| time(&text(row), "rows", 1000, 1.0));
    assert!(data < 1.2 * known && scattered > 5.0 * known, "{known} {data} {scattered}");
}

#[test]
fn nobody_has_what_data_point_to() {
    let pointed = |size: i64| {
        let at = |index: &str| format!("for (long n = 0; n < N; n += 1) {{ long k = p[n]; y[{index}] += 1; }}");
        let of = |index: &str| time(&vector(&at(index)).replace(", A[N][N]", ""), "rows", size, 1.0);
        of("k") / of("n")
    };
    assert!((0.9..1.3).contains(&pointed(1000)), "{}", pointed(1000));
    assert!(pointed(10_000_000) > 3.0, "{}", pointed(10_000_000));
    // A cache has most of an array that is little larger.
    let elements = i64::from(Model::cpu().l2) / 4;
    let [little, much] = [elements * 9 / 8, elements * 8].map(pointed);
    assert!(little < much / 3.0, "{little} {much}");
    // What follows it is there.
    let loops = |from: &str| {
        let text = format!("map {{ i := [0:N); for (long k = {from}; k < {from} + 16; k += 1) y[i] += x[k]; }}");
        time(&vector(&text).replace(", A[N][N]", ""), "rows", 10_000_000, 1.0)
    };
    let ratio = loops("p[i]") / loops("i");
    assert!((0.9..1.5).contains(&ratio), "{ratio}");
}

#[test]
fn arrays_come_from_memory_as_far_as_they_are_touched() {
    let text = |body: &str| format!("function f input float A[N][64]; inout float y[64]; {{ {body} }}");
    let of = |body: &str| time(&text(body), "rows", 10_000_000, 1.0) / 1e7;
    let all = of("map { i := [0:64); k := [0:N); _t = A[k][i]; } reduce(\"+\", y[i], _t, k := [*]);");
    let each = of("for (long n = 0; n < N; n += 1) { map { i := [0:64); y[i] += A[n][i]; } }");
    let row = f64::from(Model::cpu().estimates.byte) * 256.0;
    assert!(all > row && each > row && each < 2.0 * row, "{all} {each} {row}");
}

#[test]
fn tiles_in_registers_share_their_loads() {
    let product = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
    let [lanes, rows] = ["lanes", "rows"].map(|plan| time(product, plan, 512, 1.0));
    assert!(rows > 15.0 * lanes, "{rows} {lanes}");
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

/// How much slower the first is than the second on eight threads.
fn ratio_of_eight(first: &str, second: &str) -> f64 {
    let of = |body: &str| time(&vector(body), "rows", 100_000, 8.0);
    of(first) / of(second)
}

#[test]
fn vectors_that_are_not_full_cost_as_much() {
    let text = "function f input float x[N][D]; input int g[N]; output float s[16][D];
        { map { k := [0:16); d := [0:D); n := [0:N); _t = g[n] == k ? x[n][d] : 0; } reduce(\"+\", s[k][d], _t, n := [*]); }";
    let (program, model) = (optimised(text), Model::cpu());
    let func = &program.funcs[program.entries[0]];
    let plans = candidates(&program, program.entries[0], &model);
    let lanes = plans.iter().find(|plan| plan.name == "lanes").expect("columns are neighbours");
    let version = Version::new(&program, func, lanes, &model).expect("plans fit");
    let columns = |count: i64| version.at(&[1000, count], 1.0).time;
    let [few, full] = [columns(16) / columns(1), columns(64) / columns(16)];
    assert!(few < 3.0 && (3.0..5.0).contains(&full), "{few} {full}");
}

#[test]
fn threads_meet_at_each_turn_of_a_loop() {
    let turns = |count: u32| {
        format!(
            "int c[4]; map {{ i := [0:N); for (long k = 0; k < {count}; k += 1) atomic c[p[i] & 3] += 1; }} y[0] = c[0];"
        )
    };
    let found = ratio_of_eight(&turns(100), &turns(10));
    assert!((8.0..12.0).contains(&found), "{found}");
}

#[test]
fn threads_wait_for_lines_that_they_share() {
    let sums = |extent: u32| {
        format!(
            "float a[16]; float c[{extent}];
             map {{ t := [0:16); for (long i = t; i < N; i += 16) {{ a[t] += x[i]; c[t] += 1; }} }}
             map {{ t := [0:16); y[t] = a[t] + c[t]; }}"
        )
    };
    let found = ratio_of_eight(&sums(16), &sums(32));
    assert!(found > 5.0, "{found}");
}
