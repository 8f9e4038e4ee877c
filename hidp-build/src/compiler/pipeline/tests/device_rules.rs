//! Rules between plans for devices, as lowering asks for them.

use crate::compiler::pipeline::testing::{input, optimised};
use crate::compiler::pipeline::{Options, lower_entry};
use hidp_plan::Limits;
use hidp_plan::target::Model;

/// The plans for a device, best guess first, and the rules for them.
fn of(text: &str) -> (Vec<String>, Vec<String>) {
    of_limits(text, Limits::default())
}
fn of_limits(text: &str, limits: Limits) -> (Vec<String>, Vec<String>) {
    let input = input(text, Options { cuda: true, limits, ..Options::default() });
    let program = optimised(&input);
    let lowered = lower_entry(&input, &program, program.entries[0], &Model::cpu());
    let of_devices = hidp_ir::imp::UnitTarget::Device;
    let plans: Vec<String> = lowered.entry.units_for(of_devices).map(|unit| unit.plan.clone()).collect();
    let rules = lowered.dispatch.rules.iter().filter(|rule| plans.contains(&rule.plan));
    let rules = rules.map(|rule| lowered.dispatch.print(rule)).collect();
    (plans, rules)
}

const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
        { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";

#[test]
fn gemm_chooses_by_the_degree_of_parallelism() {
    let (plans, rules) = of(&GEMM.replace("map {", "\n#pragma hidp block warp thread\n map {"));
    assert_eq!(plans, ["warp", "thread", "block"]);
    // As in the paper, but for numbers and folds of a few terms, which predicted times give.
    let expected = [
        "parallel < 640 and inner < 10: thread",
        "parallel < 640: block",
        "parallel < 21609: warp",
        "otherwise: thread",
    ];
    assert_eq!(rules, expected);
}

#[test]
fn large_products_of_matrices_are_tiled() {
    let (plans, rules) = of(GEMM);
    let last =
        ["tiled128x128", "tiled64x64_split", "tiled64x64", "tiled32x32_split", "tiled32x32", "split", "searched"];
    assert_eq!(plans[plans.len() - 8..plans.len() - 1], last);
    let expected = [
        "parallel >= 2097152: tiled128x128",
        "parallel >= 131072 and parallel < 1081344 and inner >= 1024: tiled64x64_split",
        "parallel >= 524288: tiled64x64",
        "parallel >= 1024 and parallel < 405504 and inner >= 512: tiled32x32_split",
        "parallel >= 65536: tiled32x32",
    ];
    assert_eq!(rules[..5], expected);
    // What tiles leave goes by predicted times.
    assert_eq!(rules[5], "inner < 10: thread");
    assert_eq!(rules.last().map(String::as_str), Some("otherwise: split"));
    let (double, _) = of(&GEMM.replace("float", "double"));
    assert_eq!(double.iter().filter(|plan| plan.starts_with("tiled")).count(), 2, "registers are enough for one");
}

#[test]
fn rows_go_to_groups_as_wide_as_they_are_long() {
    let (plans, rules) = of("function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }");
    assert_eq!(plans, ["warp", "thread", "block", "subwarp", "split", "searched"]);
    let expected = [
        "parallel < 32 and inner < 46: thread",
        "parallel < 32 and inner < 46341: searched",
        "parallel < 32: split",
        "inner < 32: thread",
        "otherwise: block",
    ];
    assert_eq!(rules, expected);
}

#[test]
fn variants_have_blocks_of_other_sizes_and_rules_do_not_choose_them() {
    let text = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
    let limits = Limits { variants: true, ..Limits::default() };
    let (plans, rules) = of_limits(text, limits);
    assert_eq!(plans, ["thread", "thread_b64", "thread_b256", "thread_b512", "thread_b1024"]);
    assert!(rules.iter().all(|rule| rule.ends_with(": thread")), "{rules:?}");
    let rows = "function f input float A[R][C]; output float y[R];
            { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
    let (plans, rules) = of_limits(rows, limits);
    assert_eq!((plans.len(), rules.len()), (33, 5), "{plans:?} {rules:?}");
    assert_eq!(rules, of(rows).1);
    let (plans, _) = of_limits(&rows.replace("map {", "\n#pragma hidp block(64)\n map {"), limits);
    assert!(plans.iter().all(|plan| !plan.contains("_b")), "a directive says how large: {plans:?}");
}

#[test]
fn many_elements_are_transposed_through_tiles_and_stencils_only_when_measured() {
    let (plans, rules) = of("function f input float a[H][W]; output float b[W][H];
            { map { i := [0:H); j := [0:W); b[j][i] = a[i][j]; } }");
    assert_eq!((plans, rules), (vec!["thread".to_owned(), "near".into()], vec!["parallel >= 65536: near".to_owned()]));
    let (plans, rules) = of("function f input float a[H][W]; inout float b[H][W];
            { map { i := [1:H-2]; j := [0:W); b[i][j] = a[i-1][j] + a[i][j] + a[i+1][j]; } }");
    assert_eq!((plans, rules), (vec!["thread".to_owned(), "near".into()], vec![]));
}

#[test]
fn flat_maps_have_one_plan() {
    let (plans, rules) = of("function f input float x[N]; output float y[N]; { y = 2 * x; }");
    assert_eq!((plans, rules), (vec!["thread".to_owned()], vec![]));
}
