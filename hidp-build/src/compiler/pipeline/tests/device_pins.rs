//! Pinned plans for devices, from files to generated text.

use crate::compiler::pipeline::testing::{input, optimised};
use crate::compiler::pipeline::{InputFile, Options, PipelineInput, PipelineOutput, compile};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{Limits, Natives, PinFile, explore, explore_device};
use hidp_syntax::diag::{Diagnostic, Severity};
use hidp_syntax::source::{SourceMap, Span};

const PROGRAM: &str = "function rows input float A[R][C]; output float y[R];
{ map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }
function scale input float x[N]; output float y[N]; { y = 2 * x; }
";
const PLANS: &str = "entry rows
plan broad
nest
  r grid.x
  c seq
  c thread.x(32)
  block(128)
plan lone
nest
  r grid.x
  c seq
  block(512)
";
/// The same as it was written before lines.
const OLD_PLANS: &str = "entry rows
plan broad
nest warp
  iter r device-warp dim 0 tile 128 split
  iter c device-thread dim 0 tile 1 split
plan lone
nest thread
  iter r device-thread dim 0 tile 512 split
  iter c seq dim 0 tile 1 span
plan fewer
nest block
  iter r device-block dim 0 tile 256 split
  iter c device-thread dim 0 tile 1024 split(77)
";

fn build(plans: &str, cuda: bool) -> (SourceMap, PipelineOutput) {
    let mut sources = SourceMap::new();
    let program = sources.add("k.hdp", PROGRAM);
    let plans = sources.add("k.plan", plans);
    let files = vec![InputFile { id: program, stem: "k".into(), imports: Vec::new() }];
    let options = Options { pins: vec![PinFile { program, plans }], cuda, ..Options::default() };
    (sources.clone(), compile(&PipelineInput { sources, files, options }))
}
fn errors(plans: &str) -> String {
    let (sources, output) = build(plans, false);
    let line = |span: Span| sources.position(span).line;
    let text = |d: &Diagnostic| format!("{}: {} | {}", line(d.primary.span), d.headline, d.primary.text);
    output.diagnostics.iter().map(text).collect::<Vec<_>>().join("\n")
}
fn versions(output: &PipelineOutput) -> Vec<&str> {
    output.rust.split("plan: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn pinned_plans_of_devices_are_the_versions_there() {
    assert_eq!(errors(PLANS), "");
    let (_, output) = build(PLANS, true);
    assert_eq!(versions(&output), ["rows", "team", "serial", "broad", "lone", "rows", "serial", "thread"]);
    let text = &output.cuda[0].text;
    assert!(text.contains("128") && text.contains("512"), "{text}");
    // Rules between them are fitted to predicted times.
    assert!(output.rust.contains("Bound::Fixed(11586)"), "{}", output.rust);
    assert_eq!(versions(&build(PLANS, false).1), ["rows", "team", "serial", "rows", "serial"]);
    let both = format!("{PLANS}plan serial\nnest\n  r seq\n  c lanes\n  fold c runs(8192) sums(16)\n");
    assert_eq!(versions(&build(&both, true).1)[..3], ["serial", "broad", "lone"]);
}

#[test]
fn how_many_groups_share_a_fold_may_be_pinned() {
    let split = "entry rows
plan fewer
nest
  c grid.y
  r grid.x
  c seq
  c thread.x
  fold c groups(77) terms(1024)
  block(256)
";
    assert_eq!(errors(split), "");
    let (_, output) = build(split, true);
    assert!(output.cuda[0].text.contains("hidp::div<int64_t>(77L, "), "{}", output.cuda[0].text);
    let changed = |from: &str, to: &str| errors(&split.replace(from, to));
    let like_this = "this nest of `rows` cannot run like this | expected";
    assert_eq!(
        changed("terms(1024)", "terms(32)"),
        format!("8: {like_this} `fold c groups(1056) terms(1024) many(512)`")
    );
    assert_eq!(changed("groups(77)", "groups(0)"), "8: this is no line of a plan | expected a number from 1");
}

#[test]
fn plans_of_the_old_form_become_lines_and_say_so() {
    let (sources, output) = build(OLD_PLANS, true);
    assert_eq!(output.diagnostics.len(), 3);
    assert!(output.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning));
    assert_eq!(sources.position(output.diagnostics[2].primary.span).line, 10);
    assert!(output.diagnostics[2].helps.join("\n").contains("fold c groups(77) terms(1024)"));
    let lines = format!(
        "{PLANS}plan fewer\nnest\n  c grid.y\n  r grid.x\n  c seq\n  c thread.x\n  fold c groups(77) terms(1024) many(512)\n  block(256)\n"
    );
    let lines = lines.replace("  c seq\n  block(512)", "  c seq\n  fold c moves(4)\n  block(512)");
    assert_eq!(output.cuda[0].text, build(&lines, true).1.cuda[0].text);
}

#[test]
fn what_the_planner_prints_fits() {
    let options = Options { cuda: true, ..Options::default() };
    let input = input(PROGRAM, options);
    let program = optimised(&input);
    let mut text = String::new();
    for &func in &program.entries {
        text.push_str(&format!("entry {}\n", program.funcs[func].name));
        let explored = explore_device(&program, func, &DeviceModel::cuda(), Limits::default(), Natives::Everywhere);
        explored.plans.iter().for_each(|plan| text.push_str(&plan.to_string()));
    }
    assert!(text.contains("c thread.x(32)"), "{text}");
    assert_eq!(errors(&text), "");
    let (pinned, usual) = (build(&text, true).1, compile(&input));
    assert_eq!((pinned.rust, pinned.cuda), (usual.rust, usual.cuda));
}

#[test]
fn unfit_plans_say_where_with_and_without_cuda() {
    let changed = |from: &str, to: &str| errors(&PLANS.replace(from, to));
    let like_this = "this nest of `rows` cannot run like this | expected";
    let blocks = "threads of a block: a multiple of 32, at most 1024";
    assert_eq!(changed("block(128)", "block(100)"), format!("7: {like_this} {blocks}"));
    assert_eq!(changed("block(128)", "block(2048)"), format!("7: {like_this} {blocks}"));
    assert_eq!(
        changed("block(128)", "block(128)\n  block(64)"),
        format!("8: {like_this} one `block` line for each size, before other properties")
    );
    assert_eq!(changed("c thread.x(32)", "c thread.x(16)"), format!("6: {like_this} `c thread.x(32)`"));
    assert_eq!(
        changed("  block(512)\n", ""),
        "9: a line for this nest of `rows` is missing | expected a line `block(128)`"
    );
    assert_eq!(
        errors("entry scale\nplan warp\nnest\n  i grid.x\n  inside i thread.x(32)\n  block(256)\n"),
        "3: this nest of `scale` cannot run as `warp` | no iteration has a map or primitive inside that lanes could share"
    );
    assert_eq!(
        changed("  c seq\n  c thread", "  stage A shared(32x8)\n  c seq\n  c thread"),
        "3: this nest of `rows` cannot run as `near` | the map has not two or three iterators of step 1"
    );
    let reserved = "the name of a place: `host` and `device` are where plans run";
    assert_eq!(changed("plan lone", "plan host"), format!("8: `host` cannot be the name of this plan | {reserved}"));
    assert_eq!(
        changed("plan lone", "plan team"),
        "8: `team` cannot be the name of this plan | the planner calls a plan for the processor so"
    );
}

#[test]
fn what_a_thread_takes_side_by_side_may_be_pinned() {
    let program = "function f input float x[N]; output float y[N]; { y = 2 * x; }";
    let built = |lines: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("k.hdp", program);
        let plans = sources.add("k.plan", format!("entry f\nplan one\nnest\n{lines}  block(256)\n"));
        let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
        let options = Options { pins: vec![PinFile { program: id, plans }], cuda: true, ..Options::default() };
        let output = compile(&PipelineInput { sources, files, options });
        match output.diagnostics.first() {
            Some(diagnostic) => Err(diagnostic.primary.text.clone()),
            None => Ok(output.cuda[0].text.clone()),
        }
    };
    for items in [2, 4, 8] {
        let text = built(&format!("  i0 unroll({items})\n  i0 grid.x\n")).expect("lines that fit");
        assert!(text.contains(&format!("each_item<hidp::Thread, 1, {items}>")), "{text}");
    }
    let alone = built("  i0 grid.x\n").expect("lines that fit");
    assert!(alone.contains("each_item<hidp::Thread, 1>"), "{alone}");
    assert_eq!(
        built("  i0 unroll(3)\n  i0 grid.x\n"),
        Err("expected that `unroll` of a power of two up to 8 iterations".into())
    );
}

const GEMM: &str = "function f input float A[M][K], B[K][N]; output float C[M][N]; {
WORDS
map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }";
const ROWS: &str = "function f input float A[R][C]; output float y[R]; {
WORDS
map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
const FLAT: &str = "function f input float x[H][W]; output float y[H][W]; {
WORDS
map { i := [0:H); j := [0:W); y[i][j] = 2 * x[i][j]; } }";
const SUM: &str = "function f input float x[N]; output float s; {
WORDS
map { i := [0:N); _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }";

const PAIRS: &str = "function f input float u[H][W]; inout float v[H][W]; {
WORDS
map { i := [1:H-1); j := [0:W); v[i][j] = u[i-1][j] + u[i+1][j]; } }";

/// The program with directives, or with a file of plans instead.
fn pinned(program: &str, words: &str, plans: &str) -> PipelineOutput {
    let mut sources = SourceMap::new();
    let line = if words.is_empty() { "#".to_owned() } else { format!("#pragma hidp {words}") };
    let id = sources.add("k.hdp", program.replace("WORDS", &line));
    let file = sources.add("k.plan", plans);
    let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
    let pins = if plans.is_empty() { Vec::new() } else { vec![PinFile { program: id, plans: file }] };
    let options = Options { pins, cuda: true, ..Options::default() };
    compile(&PipelineInput { sources, files, options })
}

#[test]
fn what_directives_pin_may_be_pinned_by_files() {
    let words = [
        (FLAT, "cuda: order(j, i)"),
        (FLAT, "threads(3), chunk(7), at_once(3)"),
        (FLAT, "registers(40), tblock(4, 2), thread(8, 16)"),
        (FLAT, "span(i: 3)"),
        (FLAT, "span(i: all, j: 2)"),
        (ROWS, "split(c: 24)"),
        (ROWS, "at_once(2)"),
        (ROWS, "on(r: grid.x thread.y(16), c: seq thread.x(8)), cpu: on(r: threads, c: lanes)"),
        (SUM, "split(i: 24)"),
        (GEMM, "cpu: vec(n: 24), cuda: vec(k: 2)"),
        (GEMM, "shared(A pad(8), B wide(2)), order(k, m, n), threads(2)"),
        (GEMM, "shared(A[m][k] bufs(1), B), only"),
        (PAIRS, "shared(u[i-1:i+1][j])"),
    ];
    for (program, words) in words {
        let own = pinned(program, words, "");
        assert!(own.diagnostics.is_empty(), "{words}: {}", own.diagnostics[0].headline);
        let line = format!("#pragma hidp {words}");
        let optimised = optimised(&input(&program.replace("WORDS", &line), Options::default()));
        let entry = optimised.entries[0];
        let mut plans = explore(&optimised, entry, &Model::cpu(), Limits::default()).plans;
        plans.extend(
            explore_device(&optimised, entry, &DeviceModel::cuda(), Limits::default(), Natives::default()).plans,
        );
        let file: String = plans.iter().map(ToString::to_string).collect();
        let again = pinned(program, "", &format!("entry f\n{file}"));
        let why = |d: &Diagnostic| format!("{}: {} | {:?}", d.headline, d.primary.text, d.notes);
        assert!(again.diagnostics.is_empty(), "{words}: {}\n{file}", why(&again.diagnostics[0]));
        let lines = |output: &PipelineOutput| -> Vec<String> {
            let text = output.cuda[0].text.lines().chain(output.cpp[0].text.lines());
            text.filter(|line| line.contains("// plan ")).map(str::to_owned).collect()
        };
        assert_eq!(lines(&again), lines(&own), "{words}");
    }
}

#[test]
fn what_no_directive_can_pin_no_file_can() {
    let lines = |program: &str, words: &str, from: &str, to: &str| -> Vec<String> {
        let line = format!("#pragma hidp {words}");
        let optimised = optimised(&input(&program.replace("WORDS", &line), Options::default()));
        let explored = explore_device(
            &optimised,
            optimised.entries[0],
            &DeviceModel::cuda(),
            Limits::default(),
            Natives::default(),
        );
        let plan = explored.plans[0].to_string();
        assert!(plan.contains(from), "{words}: {plan}");
        let output = pinned(program, "", &format!("entry f\n{}", plan.replacen(from, to, 1)));
        output.diagnostics.iter().map(|d| format!("{} {}", d.code.info().name, d.primary.text)).collect()
    };
    let refused = |found: Vec<String>, why: &str| {
        assert!(found.len() == 1 && found[0].starts_with("HD0920 ") && found[0].contains(why), "{found:?}");
    };
    refused(lines(FLAT, "at_once(3), thread", "resident(384)", "resident(4096)"), "a number from 2 to 2048");
    refused(lines(GEMM, "shared(A pad(8))", "pad(8)", "pad(3)"), "a multiple of 4 elements");
    refused(lines(GEMM, "shared(A pad(8))", "pad(8)", "pad(4096)"), "it has 49152");
    refused(lines(GEMM, "shared(A wide(2))", "wide(2)", "wide(8)"), "16 bytes at most");
    refused(lines(FLAT, "span(i: 3)", "thread.x(256)", "thread.x(100)"), "no multiple of 32");
    refused(lines(ROWS, "split(c: 24)", "c grid.y(24)", "c grid.z(24)"), "expected");
    refused(lines(GEMM, "shared(A bufs(1)), only", "bufs(2)", "bufs(3)"), "expected");
    refused(lines(FLAT, "thread(8, 32)", "i grid.y", "i grid.z"), "`grid.z` is used without `grid.y`");
    refused(lines(FLAT, "thread(8, 32)", "i thread.y(8)", "i seq"), "2 lines of `i` have no size");
    refused(lines(PAIRS, "shared(u)", "stage u shared", "stage v shared"), "no array is read by enough");
}
