use super::device::{self, Usual};
use super::{as_directives, asked};
use crate::target::{DeviceModel, Model};
use crate::testing::optimised;
use crate::{Limits, Models, Natives, Plan, SPLIT, check_directives, expanded, explore, explore_device, nests};
use hidp_ir::par::Program;
use hidp_syntax::ast::PinTarget;
use hidp_syntax::diag::Sink;

const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N];
    { map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
const ROWS: &str = "function f input float A[R][C]; output float y[R];
    { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
const SUM: &str = "function f input float x[N]; output float s;
    { map { i := [0:N); _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }";
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
    for name in ["lanes", "rows", "serial", "tiled128x128", "thread", "warp", "block", "split"] {
        assert!(said.iter().any(|said| said == name), "{name} has no directives: {said:?}");
    }
}

#[test]
fn directives_say_how_many_iterations_a_thread_takes_at_a_time() {
    let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
    let of_device = |directives: &str| -> Vec<String> {
        let found = plans(&optimised(&with(FLAT, directives)));
        found.iter().filter(|plan| plan.is_for_device()).map(Plan::to_string).collect()
    };
    let usual = &of_device("")[0];
    assert!(usual.contains("j unroll(4)\n  i grid.y\n  j grid.x"), "{usual}");
    let pinned = |words: &str| of_device(&format!("#pragma hidp cuda: on({words}) only"));
    assert_eq!(pinned("i: grid.y, j: unroll(4) grid.x"), std::slice::from_ref(usual), "as the planner has it");
    let other = pinned("i: grid.y, j: unroll(2) grid.x");
    assert!(other.iter().all(|plan| plan.contains("j unroll(2)") && !plan.contains("resident")), "{other:?}");
    let turned = pinned("j: grid.y, i: unroll(4) grid.x");
    assert!(turned.iter().all(|plan| plan.contains("i unroll(4)\n  j grid.y\n  i grid.x")), "{turned:?}");
    let wrong = |program: &str, words: &str| {
        let mut sink = Sink::new();
        check_directives(&optimised(&with(program, &format!("#pragma hidp cuda: on({words})"))), models, &mut sink);
        sink.finish()
            .iter()
            .map(|found| format!("{} {}", found.headline, found.primary.text))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let lines = wrong(FLAT, "i: unroll(4) grid.y, j: grid.x");
    assert!(lines.contains("`i` would have `i grid.y`"), "{lines}");
    let loops = wrong(ROWS, "r: unroll(4) grid.x");
    assert!(loops.contains("several iterations of straight code"), "{loops}");
    let many = wrong(FLAT, "i: grid.y, j: unroll(16) grid.x");
    assert!(many.contains("`unroll` of a power of two"), "{many}");
}

#[test]
fn directives_say_that_parts_of_a_fold_follow_from_sizes() {
    let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
    let of_device = |directives: &str| -> Vec<Plan> {
        let found = plans(&optimised(&with(ROWS, directives)));
        found.into_iter().filter(Plan::is_for_device).collect()
    };
    let usual = of_device("").into_iter().find(|plan| plan.name == SPLIT).expect("folds of rows can be split");
    let program = optimised(ROWS);
    let shown = as_directives(&program, program.entries[0], &usual, models);
    assert_eq!(shown[0].lines, ["#pragma hidp split(c: any)"]);
    let pinned = of_device("#pragma hidp split(c: any), only");
    assert!(!pinned.is_empty() && pinned.iter().all(|plan| plan.nests == usual.nests), "{pinned:?}");
    assert!(of_device("#pragma hidp split(c: 24)").iter().all(|plan| plan.nests != usual.nests), "a number of its own");
    let shown = |text: &str, words: &str| {
        let program = optimised(&with(text, words));
        expanded(&program, program.entries[0]).into_iter().flat_map(|shown| shown.lines).collect::<Vec<_>>()
    };
    assert_eq!(shown(ROWS, "#pragma hidp split(c: any)"), ["c in parts"]);
    let mut sink = Sink::new();
    check_directives(&optimised(&with(SUM, "#pragma hidp split(i: any)")), models, &mut sink);
    let found = sink.finish();
    assert!(found.iter().any(|found| found.headline.ends_with("`split` has a number there")), "{found:?}");
}

#[test]
fn directives_of_a_plan_say_whether_launches_are_joined() {
    const STEPS: &str = "function f input float A[R][C]; output float y[R]; { for (int k = 0; k < 9; k += 1) {
        map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); } }";
    let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
    let of_devices = |program: &Program| plans(program).into_iter().filter(Plan::is_for_device).collect::<Vec<_>>();
    let plain = optimised(STEPS);
    for (asked, is_said) in [("joined", false), ("separate", true)] {
        let mut said = Vec::new();
        for plan in of_devices(&optimised(&with(STEPS, &format!("#pragma hidp {asked}")))) {
            let shown = as_directives(&plain, plain.entries[0], &plan, models);
            let line = &shown[0].lines[0];
            if !line.starts_with("#pragma") {
                continue;
            }
            // Launches for parts of folds are never joined.
            let is_said = is_said && plan.name != SPLIT;
            assert_eq!(line.ends_with(", cuda: separate"), is_said, "{asked}: {line}");
            let again = of_devices(&optimised(&with(STEPS, line)));
            assert!(!again.is_empty() && again.iter().all(|other| other.nests == plan.nests), "{asked}: {line}");
            said.push(plan.name);
        }
        assert!(["thread", "warp"].iter().all(|name| said.iter().any(|said| said == name)), "{asked}: {said:?}");
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
fn staged_arrays_are_shown_with_their_options() {
    let program = optimised(&with(GEMM, "#pragma hidp shared(A pad(4) wide(4), B)"));
    let shown = expanded(&program, program.entries[0]).into_iter().flat_map(|shown| shown.lines);
    assert_eq!(shown.collect::<Vec<_>>().join(", "), "stage A shared pad(4) wide(4), stage B shared");
}

#[test]
fn sections_are_what_a_block_keeps() {
    const STENCIL: &str = "function f input float u[H][W]; output float v[H][W];
        { map { i := [1:H-1); j := [0:W); v[i][j] = u[i-1][j] + u[i+1][j]; } }";
    let (cpu, device) = (Model::cpu(), DeviceModel::cuda());
    let refused = |text: &str, directives: &str| {
        let mut sink = Sink::new();
        let program = optimised(&with(text, directives));
        check_directives(&program, Models { cpu: &cpu, device: &device }, &mut sink);
        sink.finish().into_iter().map(|diagnostic| diagnostic.headline).collect::<Vec<_>>()
    };
    let staged = |directives: &str| {
        assert_eq!(refused(STENCIL, directives), [""; 0]);
        let plans = plans(&optimised(&with(STENCIL, directives)));
        plans.iter().filter(|plan| plan.is_for_device()).all(|plan| plan.to_string().contains("stage u shared"))
    };
    assert!(staged("#pragma hidp shared(u)") && staged("#pragma hidp shared(u[i-1:i+1][j])"));
    assert!(!staged(""), "the planner finds two reads of an element too few");
    for section in ["[i-1:i][j]", "[i:i+1][j]", "[j-1:j+1][j]", "[0:2][j]"] {
        let headline = "cannot be honoured: an access to `u` is outside of its section, or may be";
        assert_eq!(refused(STENCIL, &format!("#pragma hidp shared(u{section})")), [headline]);
    }
    for section in ["[i-2:i+1][j]", "[i-1:i+1][j:j+2)", "[*][j]", "[i-1:i+1][*]"] {
        let headline = "cannot be honoured: iterations reach `u[i-1:i+2)[j]`, and a block keeps nothing else";
        assert_eq!(refused(STENCIL, &format!("#pragma hidp shared(u{section})")), [headline]);
    }
    let program = optimised(&with(STENCIL, "#pragma hidp shared(u[i-1:i+1][j])"));
    let shown = expanded(&program, program.entries[0]).into_iter().flat_map(|shown| shown.lines);
    assert_eq!(shown.collect::<Vec<_>>(), ["stage u shared", "section u[i-1:i+2)[j]"]);
}

#[test]
fn lines_that_say_how_a_nest_runs_need_no_plans_of_the_planner() {
    let model = DeviceModel::cuda();
    let explored = |text: &str, words: &str| {
        let program = optimised(&with(text, &format!("#pragma hidp {words}")));
        let (id, func) = (program.entries[0], &program.funcs[program.entries[0]]);
        let map = nests(func)[0];
        let asked = asked(func, map, PinTarget::Cuda, Some(&model)).expect("no clash").expect("words for devices");
        let usual = Usual::new(&program, id, &model);
        assert!(device::nest(&program, func, map, &asked, (&usual, 0), &model).is_ok(), "{words}");
        usual.are_explored()
    };
    for words in ["thread(8, 16)", "tblock(4, 2), thread(16, 16), tile(k: 32)", "split(k: 4)"] {
        assert!(!explored(GEMM, words), "{words}");
    }
    assert!(explored(GEMM, "shared(A)"), "of tiles that stage it, any may be meant");
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
        (WRITTEN, "threads(3)", false, "threads(3)", true),
        (WRITTEN, "chunk(5)", false, "turns(5)", true),
        (ROWS, "threads(3), chunk(7)", false, "r threads(3)", true),
        (GEMM, "chunk(7)", false, "turns(7)", true),
        (WRITTEN, "at_once(3)", true, "resident(384)", true),
        (ROWS, "at_once(2), thread", true, "resident(256)", true),
        (GEMM, "registers(40), warp", true, "resident(1792)", true),
        (GEMM, "cpu: order(k, n)", false, "n lanes(", true),
        (GEMM, "cpu: order(n, k)", false, "m reg(", false),
        (WRITTEN, "cuda: order(j, i)", true, "i grid.x", true),
        (GEMM, "shared(A wide(2))", true, "wide(2)", true),
        (GEMM, "shared(A pad(8))", true, "pad(8)", true),
        (GEMM, "shared(A bufs(1))", true, "bufs(2) wide(4) turned", false),
        (GEMM, "cuda: vec(k: 2)", true, "wide(2)", true),
        (GEMM, "cpu: vec(n: 24)", false, "n lanes(24)", true),
        (ROWS, "split(c: 24)", true, "c grid.y(24)", true),
        (ROWS, "split(c: any)", true, "groups(", true),
        (ROWS, "span(c: all)", true, "groups(", false),
        (SUM, "split(i: 24)", true, "runs(1) most(24)", true),
        (WRITTEN, "span(i: 3)", true, "i seq(3)", true),
        (WRITTEN, "span(j: all)", true, "j seq", true),
    ];
    for (program, word, device, line, there) in words {
        let pinned = texts(program, &format!("#pragma hidp {word}"), device);
        assert!(!pinned.is_empty(), "{word}");
        assert!(pinned.iter().all(|plan| plan.contains(line) == there), "{word}: {pinned:#?}");
        let usual = texts(program, "", device);
        assert!(usual.iter().any(|plan| plan.contains(line) != there), "{word} says what is so anyway: {usual:#?}");
    }
}

#[test]
fn loops_stand_in_the_order_that_is_asked_for() {
    let lines = |text: &str, directives: &str| -> String {
        let program = optimised(&with(text, directives));
        let models = Models { cpu: &Model::cpu(), device: &DeviceModel::cuda() };
        let mut sink = Sink::new();
        check_directives(&program, models, &mut sink);
        assert!(!sink.has_errors(), "{directives}: {:?}", sink.finish());
        plans(&program).iter().map(Plan::to_string).collect()
    };
    let turned = lines(FLAT, "#pragma hidp cuda: order(j, i)");
    assert!(turned.contains("j grid.y") && !turned.contains("i grid.y"), "{turned}");
    let turns = "#pragma hidp cuda: order(j, i), cuda: on(i: grid.y thread.y(8) seq(3), j: grid.x thread.x(8) seq(2))";
    let turned = lines(FLAT, turns);
    let at = |line: &str| turned.find(line).unwrap_or_else(|| panic!("no {line}: {turned}"));
    assert!(at("j seq(2)") < at("i seq(3)"), "{turned}");
    let usual = lines(FLAT, &turns.replace("cuda: order(j, i), ", ""));
    assert!(usual.find("i seq(3)") < usual.find("j seq(2)"), "{usual}");
}

#[test]
fn launches_of_loops_are_joined_as_asked_for() {
    const STEPS: &str = "function f input int x[N]; output int c[8];
        { c = 0; for (int k = 0; k < 9; k += 1) { map { i := [0:N); atomic c[x[i] & 7] += k; } } }";
    // Of the nest in the loop: whether launches are joined, and whether blocks have copies.
    let lines = |directives: &str| {
        let plans = plans(&optimised(&with(STEPS, directives)));
        let of_devices = plans.iter().filter(|plan| plan.is_for_device());
        let lines = |plan: &Plan| {
            let nest = plan.nests.last().map(ToString::to_string).unwrap_or_default();
            (nest.contains("joined"), nest.contains("copies"))
        };
        of_devices.map(lines).collect::<Vec<_>>()
    };
    let all = |directives: &str, expected: (bool, bool)| {
        let found = lines(directives);
        assert!(!found.is_empty() && found.iter().all(|own| *own == expected), "{directives}: {found:?}");
    };
    assert!(lines("").contains(&(false, true)), "{:?}", lines(""));
    all("#pragma hidp joined", (true, false));
    all("#pragma hidp separate", (false, true));
    let flat = |directives: &str| {
        STEPS.replace("atomic c[x[i] & 7] += k", "x[i] += k").replace("input int x", "inout int x").replacen(
            "map {",
            &format!("\n{directives}\n map {{"),
            1,
        )
    };
    let joined = |directives: &str| {
        let plans = plans(&optimised(&flat(directives)));
        let of_devices = plans.iter().filter(|plan| plan.is_for_device());
        of_devices.map(|plan| plan.nests.iter().any(|nest| nest.to_string().contains("joined"))).collect::<Vec<_>>()
    };
    assert!(joined("").iter().all(|joined| *joined));
    assert!(joined("#pragma hidp separate").iter().all(|joined| !joined));
}

#[test]
fn joined_launches_leave_registers_where_asked_for() {
    const STEPS: &str = "function f input float x[N]; output float y[N];
        { y = 0; for (int k = 0; k < 9; k += 1) { map { i := [2:N-2); y[i] = x[i-2] + x[i-1] + x[i] + x[i+1] + x[i+2]; } } }";
    let leaves = |directives: &str| {
        let plans = plans(&optimised(&with(STEPS, directives)));
        let nests = plans.iter().filter(|plan| plan.is_for_device()).flat_map(|plan| &plan.nests);
        nests.map(ToString::to_string).filter(|nest| nest.contains("resident")).count()
    };
    assert_eq!(leaves(""), 0);
    assert_eq!(leaves("#pragma hidp joined"), 0);
    assert!(leaves("#pragma hidp separate") > 0);
    assert!(leaves("#pragma hidp cuda: at_once(3)") > 0);
    assert!(leaves("#pragma hidp joined cuda: at_once(3)") > 0);
}

#[test]
fn registers_of_a_launch_are_no_more_than_asked_for() {
    let model = DeviceModel::cuda();
    for registers in [24, 32, 40, 64, 100, 128, 200] {
        for threads in [64, 96, 256] {
            let words = format!("#pragma hidp registers({registers}), block({threads}), thread");
            let program = optimised(&with(FLAT, &words));
            let mut sink = Sink::new();
            check_directives(&program, Models { cpu: &Model::cpu(), device: &model }, &mut sink);
            let device: Vec<String> =
                plans(&program).iter().filter(|plan| plan.is_for_device()).map(Plan::to_string).collect();
            let resident =
                |plan: &String| -> Option<u32> { plan.split("resident(").nth(1)?.split(')').next()?.parse().ok() };
            let found: Vec<Option<u32>> = device.iter().map(resident).collect();
            if sink.has_errors() {
                assert!(model.registers / registers + threads > model.resident.min(32 * threads), "{words}: {found:?}");
                continue;
            }
            for resident in found {
                let resident = resident.unwrap_or_else(|| panic!("{words}: {device:?}"));
                let blocks = resident / threads;
                assert!(model.registers / (blocks * threads) <= registers, "{words}: {resident}");
                assert!(blocks == 1 || model.registers / ((blocks - 1) * threads) > registers, "{words}: {resident}");
            }
        }
    }
}
