use super::as_directives;
use crate::target::{DeviceModel, Model};
use crate::testing::optimised;
use crate::{Limits, Models, Natives, Plan, check_directives, expanded, explore, explore_device};
use hidp_ir::par::Program;
use hidp_syntax::diag::Sink;

const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
    { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
const ROWS: &str = "function f input float A[R][C]; output float y[R];
    { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
const FLAT: &str =
    "function f input float x[H][W]; output float y[H][W]; { map { i := [0:H); j := [0:W); y[i][j] = 2 * x[i][j]; } }";

fn with(text: &str, directives: &str) -> String {
    text.replacen("map {", &format!("\n{directives}\n map {{"), 1)
}
fn plans(program: &Program) -> Vec<Plan> {
    let entry = program.entries[0];
    let mut plans = explore(program, entry, &Model::cpu(), Limits::default()).plans;
    plans.extend(explore_device(program, entry, &DeviceModel::cuda(), Limits::default(), Natives::default()).plans);
    plans
}

#[test]
fn directives_of_a_plan_give_that_plan() {
    let (cpu, device) = (Model::cpu(), DeviceModel::cuda());
    let models = Models { cpu: &cpu, device: &device };
    let mut said = Vec::new();
    for text in [GEMM, ROWS, FLAT] {
        let program = optimised(text);
        for plan in plans(&program) {
            let shown = as_directives(&program, program.entries[0], &plan, models);
            let line = &shown[0].lines[0];
            if !line.starts_with("#pragma") {
                continue;
            }
            said.push(plan.name.clone());
            let again = optimised(&with(text, line));
            let mut sink = Sink::new();
            check_directives(&again, models, &mut sink);
            assert!(!sink.has_errors(), "{line}: {:?}", sink.finish());
            let same = |other: &&Plan| other.is_for_device() == plan.is_for_device();
            let found = plans(&again);
            for other in found.iter().filter(same) {
                assert_eq!(other.nests, plan.nests, "{line}");
            }
            assert!(found.iter().any(|other| same(&other)), "{line}: no plan is left");
        }
    }
    for name in ["lanes", "rows", "serial", "tiled128x128", "thread", "warp", "block"] {
        assert!(said.iter().any(|said| said == name), "{name} has no directives: {said:?}");
    }
}

#[test]
fn extents_of_hicuda_become_lines() {
    let lines = |directives: &str| {
        let program = optimised(&with(FLAT, directives));
        expanded(&program, program.entries[0]).into_iter().flat_map(|shown| shown.lines).collect::<Vec<_>>().join(", ")
    };
    let both = "#pragma hidp tblock(4, 2) thread(8, 16)";
    assert_eq!(
        lines(both),
        "i grid.y(4), i seq, i thread.y(8), j grid.x(2), j seq, j thread.x(16)",
        "blocks have neighbours, threads take turns"
    );
    let other = "#pragma hidp tblock(4, 2) thread(8, 16) partition(j: tblock(cyclic) thread, i: tblock thread(block))";
    assert_eq!(lines(other), "j seq, j grid.y(4), j thread.y(8), i grid.x(2), i thread.x(16), i seq");
    assert_eq!(lines("#pragma hidp thread(8, 32)"), "i grid.y, i thread.y(8), j grid.x, j thread.x(32)");
    assert_eq!(lines("#pragma hidp cuda: only"), "no other plan");
}

#[test]
fn only_leaves_one_plan() {
    let count = |directives: &str| plans(&optimised(&with(GEMM, directives))).len();
    assert!(count("#pragma hidp shared(A)") > 2, "tiles of all sizes stage it");
    assert_eq!(count("#pragma hidp shared(A), only"), 2, "one for each target");
}

#[test]
fn words_change_every_plan_of_their_target() {
    const WRITTEN: &str = "function f input int x[H][W]; output int y[H][W];
        { map { i := [0:H); j := [0:W); y[i][j] = x[i][j] * 3; } }";
    // `stream` is refused wherever the planner does not write so by itself.
    let texts = |program: &str, directives: &str, device: bool| -> Vec<String> {
        let plans = plans(&optimised(&with(program, directives)));
        plans.iter().filter(|plan| plan.is_for_device() == device).map(Plan::to_string).collect()
    };
    let words = [
        (GEMM, "reg(m: 3)", false, "m reg(3)", true),
        (GEMM, "lanes(n: 24)", false, "n lanes(24)", true),
        (GEMM, "cuda: reg(m: 2)", true, "m reg(2)", true),
        (GEMM, "tile(k: 16)", true, "k seq(16)", true),
        (GEMM, "shared(A)", true, "stage A", true),
        (GEMM, "global(A)", true, "stage A", false),
        (WRITTEN, "cached(y)", false, "place y", false),
    ];
    for (program, word, device, line, there) in words {
        let pinned = texts(program, &format!("#pragma hidp {word}"), device);
        assert!(!pinned.is_empty(), "{word}");
        assert!(pinned.iter().all(|plan| plan.contains(line) == there), "{word}: {pinned:#?}");
        let usual = texts(program, "", device);
        assert!(usual.iter().any(|plan| plan.contains(line) != there), "{word} says what is so anyway: {usual:#?}");
    }
}
