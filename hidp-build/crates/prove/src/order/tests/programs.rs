//! Recurrences as they stand in textbooks.

use super::{System, shown};
use crate::order::model::Work;

const BASE: &str = "if ((i == 0) || (j == 0)) { return 0.0; }";

fn table(body: &str) -> System {
    System::new("", &[("d", "i = 0 .. N; j = 0 .. M", body)])
}

#[track_caller]
fn found(system: &System, expected: &str) {
    let lines = expected.lines().map(str::trim).filter(|line| !line.is_empty());
    assert_eq!(shown(system), lines.map(|line| format!("{line}\n")).collect::<String>());
    let Work { proofs, tried, screened } = system.work();
    assert!(proofs <= 50 && tried <= 500 && screened <= 100, "{proofs} proofs, {tried} values, {screened} rows");
}

#[test]
fn edit_distance_runs_by_diagonals() {
    let body = format!("{BASE} return min(d[(i - 1)?, (j - 1)?], min(d[(i - 1)?, j?], d[i?, (j - 1)?]));");
    found(
        &table(&body),
        "d: i + j rank 0 window 3
        nest [1, 1]",
    );
}

#[test]
fn what_reads_one_corner_alone_runs_by_rows_or_columns() {
    let body = format!("{BASE} return d[(i - 1)?, (j - 1)?];");
    found(
        &table(&body),
        "d: i rank 0 window 2
        or j
        nest [1, 1]",
    );
}

#[test]
fn affine_gaps_are_three_tables_of_one_diagonal() {
    let system = System::new(
        "",
        &[
            (
                "h",
                "i = 0 .. N; j = 0 .. M",
                &format!("{BASE} return max(h[(i - 1)?, (j - 1)?], max(e[i?, j?], f[i?, j?]));"),
            ),
            (
                "e",
                "i = 0 .. N; j = 0 .. M",
                "if (j == 0) { return 0.0; } return max(e[i?, (j - 1)?], h[i?, (j - 1)?]);",
            ),
            (
                "f",
                "i = 0 .. N; j = 0 .. M",
                "if (i == 0) { return 0.0; } return max(f[(i - 1)?, j?], h[(i - 1)?, j?]);",
            ),
        ],
    );
    found(
        &system,
        "h: i + j rank 1 window 3
        e: i + j rank 0 window 2
        f: i + j rank 0 window 2
        nest [1, 1]",
    );
}

#[test]
fn a_hidden_markov_model_runs_by_time() {
    let inputs = "into: int[M] input; from: int[K] input; ";
    let body = "if (i == 0) { return 0.0; } declare v; v = 0.0; declare k; k = long(into[j?]);
        loop (k < long(into[(j + 1)?])) { v = (v + f[(i - 1)?, long(from[k?])?]); } step { k = (k + 1); } return v;";
    found(
        &System::new(inputs, &[("f", "i = 0 .. N; j = 0 .. M", body)]),
        "f: i rank 0 window 2
        nest [1, 1]",
    );
}

#[test]
fn backward_runs_against_time() {
    let body = "if (i == (N - 1)) { return 1.0; } declare v; v = 0.0; declare k; k = 0;
        loop (k < M) { v = (v + b[(i + 1)?, k?]); } step { k = (k + 1); } return v;";
    found(
        &System::new("", &[("b", "i = 0 .. N; j = 0 .. M", body)]),
        "b: -i rank 0 window 2
        nest [-1, 1]",
    );
}

#[test]
fn scaling_factors_stand_beside_the_table_that_they_scale() {
    let system = System::new(
        "",
        &[
            (
                "c",
                "t = 0 .. N",
                "declare v; v = 0.0; if (t == 0) { return 1.0; } declare k; k = 0;
            loop (k < M) { v = (v + g[(t - 1)?, k?]); } step { k = (k + 1); } return v;",
            ),
            ("g", "t = 0 .. N; j = 0 .. M", "if (t == 0) { return 1.0; } return (g[(t - 1)?, j?] * c[t?]);"),
        ],
    );
    found(
        &system,
        "c: t rank 0 window 1
        g: t rank 1 window 2",
    );
}

#[test]
fn nussinov_runs_by_length() {
    let body = "if (j <= i) { return 0.0; } declare v; v = max(d[(i + 1)?, j?], d[i?, (j - 1)?]); declare k; k = i;
        loop (k < j) { v = max(v, (d[i?, k?] + d[(k + 1)?, j?])); } step { k = (k + 1); } return v;";
    let square = System::new("", &[("d", "i = 0 .. N; j = 0 .. N", body)]);
    found(
        &square,
        "d: -i + j rank 0 window table
        nest [-1, 1]",
    );
    let triangle = System::new("", &[("d", "i = 0 .. N; j = i .. N", body)]);
    found(
        &triangle,
        "d: -i + j rank 0 window table
        nest [-1, 1]",
    );
}

#[test]
fn sums_of_two_before_keep_three() {
    let system =
        System::new("", &[("f", "i = 0 .. p", "if (i < 2) { return 1.0; } return (f[(i - 1)?] + f[(i - 2)?]);")]);
    found(
        &system,
        "f: i rank 0 window 3
        nest [1]",
    );
}

#[test]
fn reading_the_end_of_the_row_before_takes_two_rows() {
    let body = "if (i == 0) { return 0.0; } if (j == 0) { return d[(i - 1)?, (M - 1)?]; } return d[i?, (j - 1)?];";
    found(
        &table(body),
        "d: i; j rank 0 window 2
        nest [1, 1]",
    );
}

#[test]
fn three_dimensions_of_pascal_keep_two_planes() {
    let body = "if (((i == 0) || (j == 0)) || (l0 == 0)) { return 1.0; }
        return ((d[(i - 1)?, j?, l0?] + d[i?, (j - 1)?, l0?]) + d[i?, j?, (l0 - 1)?]);";
    found(
        &System::new("", &[("d", "i = 0 .. N; j = 0 .. M; l0 = 0 .. K", body)]),
        "d: i + j + l0 rank 0 window 2
        nest [1, 1, 1]",
    );
}

#[test]
fn three_sequences_keep_four_planes() {
    let calls = [
        "i - 1, j - 1, l0 - 1",
        "i - 1, j - 1, l0",
        "i - 1, j, l0 - 1",
        "i, j - 1, l0 - 1",
        "i - 1, j, l0",
        "i, j - 1, l0",
        "i, j, l0 - 1",
    ];
    let call = |text: &str| {
        let index: Vec<String> = text
            .split(", ")
            .map(|index| if index.contains('-') { format!("({index})?") } else { format!("{index}?") })
            .collect();
        format!("d[{}]", index.join(", "))
    };
    let sum = calls.iter().fold("0.0".to_owned(), |sum, text| format!("max({sum}, {})", call(text)));
    let body = format!("if (((i == 0) || (j == 0)) || (l0 == 0)) {{ return 1.0; }} return {sum};");
    found(
        &System::new("", &[("d", "i = 0 .. N; j = 0 .. M; l0 = 0 .. K", &body)]),
        "d: i + j + l0 rank 0 window 4
        nest [1, 1, 1]",
    );
}

#[test]
fn a_profile_runs_by_time_and_state() {
    let system = System::new(
        "",
        &[
            (
                "m",
                "t = 0 .. N; j = 0 .. M",
                "if ((t == 0) || (j == 0)) { return 0.0; } return max(m[(t - 1)?, (j - 1)?], max(x[(t - 1)?, (j - 1)?], y[(t - 1)?, (j - 1)?]));",
            ),
            (
                "x",
                "t = 0 .. N; j = 0 .. M",
                "if (t == 0) { return 0.0; } return max(m[(t - 1)?, j?], x[(t - 1)?, j?]);",
            ),
            (
                "y",
                "t = 0 .. N; j = 0 .. M",
                "if (j == 0) { return 0.0; } return max(m[t?, (j - 1)?], y[t?, (j - 1)?]);",
            ),
        ],
    );
    found(
        &system,
        "m: t + j rank 0 window 3
        x: t + j rank 0 window 3
        y: t + j rank 0 window 3
        nest [1, 1]",
    );
}

#[test]
fn a_knapsack_runs_by_items() {
    let body = "if (i == 0) { return 0.0; } if (j < long(w[(i - 1)?])) { return f[(i - 1)?, j?]; } return max(f[(i - 1)?, j?], f[(i - 1)?, (j - long(w[(i - 1)?]))?]);";
    found(
        &System::new("w: int[K] input; ", &[("f", "i = 0 .. N; j = 0 .. M", body)]),
        "f: i rank 0 window 2
        nest [1, 1]",
    );
}

#[test]
fn guarded_coins_run_by_the_amount() {
    let body = "declare v; v = 0.0; declare k; k = 0;
        loop (k < K) { if ((c[k?] > 0:int) && (long(c[k?]) <= i)) { v = (v + f[(i - long(c[k?]))?]); } } step { k = (k + 1); } return v;";
    found(
        &System::new("c: int[K] input; ", &[("f", "i = 0 .. p", body)]),
        "f: i rank 0 window table
        nest [1]",
    );
}

#[test]
fn a_fold_over_a_range_is_a_range_of_calls() {
    let body = "declare v; map (r = 0 .. i by 1) { declare k; k = r; v = f[k?]; } return 1.0;";
    found(
        &System::new("", &[("f", "i = 0 .. N", body)]),
        "f: i rank 0 window table
        nest [1]",
    );
}

#[test]
fn a_band_has_bounds_that_follow_its_rows() {
    let body = "if (i == 0) { return 0.0; } if (j < (i + q)) { return max(d[(i - 1)?, (j - 1)?], d[(i - 1)?, j?]); } return d[(i - 1)?, (j - 1)?];";
    let system = System::new("", &[("d", "i = 0 .. N; j = max(0, (i - q)) .. min(M, ((i + q) + 1))", body)]);
    found(
        &system,
        "d: i rank 0 window 2
        nest [1, 1]",
    );
}

#[test]
fn what_calls_nothing_is_one_step() {
    let system = System::new("", &[("f", "i = 0 .. N", "return 1.0;")]);
    found(
        &system,
        "f: 0 rank 0 window 1
        nest [1]",
    );
}

#[test]
fn what_is_far_from_the_border_has_samples_of_large_sizes() {
    let body = "if (i < 30) { return 0.0; } return f[((i - 30) - long(c[i?]))?];";
    let system = System::new("c: uint8[N] input; ", &[("f", "i = 0 .. N", body)]);
    found(
        &system,
        "f: i rank 0 window table
        nest [1]",
    );
}

#[test]
fn a_system_of_many_tables_is_not_too_much() {
    let names: Vec<String> = (0..8).map(|number| format!("d{number}")).collect();
    let body = |own: usize| {
        let calls = names.iter().enumerate().map(|(number, name)| match (own + number) % 3 {
            0 => format!("{name}[(i - 1)?, j?]"),
            1 => format!("{name}[i?, (j - 1)?]"),
            _ => format!("{name}[(i - 1)?, (j - long(c[i?]))?]"),
        });
        let sum = calls.fold("0.0".to_owned(), |sum, call| format!("({sum} + {call})"));
        format!("if ((i == 0) || (j == 0)) {{ return 0.0; }} return {sum};")
    };
    let bodies: Vec<String> = (0..8).map(body).collect();
    let tables: Vec<(&str, &str, &str)> = names
        .iter()
        .zip(&bodies)
        .map(|(name, body)| (name.as_str(), "i = 0 .. N; j = 0 .. M", body.as_str()))
        .collect();
    let order = System::new("c: uint8[N] input; ", &tables).order().expect("an order");
    assert!(order.schedules[0].tables.iter().all(|table| table.rows == [[1, 1]]));
}
