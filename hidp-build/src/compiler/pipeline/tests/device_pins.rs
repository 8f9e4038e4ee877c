//! Pinned plans for devices, from files to generated text.

use crate::compiler::pipeline::testing::{input, optimised};
use crate::compiler::pipeline::{InputFile, Options, PipelineInput, PipelineOutput, compile};
use hidp_plan::target::DeviceModel;
use hidp_plan::{Limits, Natives, PinFile, explore_device};
use hidp_syntax::diag::Diagnostic;
use hidp_syntax::source::{SourceMap, Span};

const PROGRAM: &str = "function rows input float A[R][C]; output float y[R];
{ map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }
function scale input float x[N]; output float y[N]; { y = 2 * x; }
";
const PLANS: &str = "entry rows
plan wide
nest warp
  iter r device-warp dim 0 tile 128 split
  iter c device-thread dim 0 tile 1 split
plan lone
nest thread
  iter r device-thread dim 0 tile 512 split
  iter c seq dim 0 tile 1 span
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
    assert_eq!(versions(&output), ["rows", "team", "serial", "wide", "lone", "rows", "serial", "thread"]);
    let text = &output.cuda[0].text;
    assert!(text.contains("128") && text.contains("512"), "{text}");
    // The compiler's rules know them by their levels.
    assert!(output.rust.contains("Bound::Fixed(65536)"), "{}", output.rust);
    assert_eq!(versions(&build(PLANS, false).1), ["rows", "team", "serial", "rows", "serial"]);
    let both = format!(
        "{PLANS}plan serial\nnest serial\n  iter r seq dim 0 tile 1 span\n  iter c simd dim 0 tile 8192 span\n"
    );
    assert_eq!(versions(&build(&both, true).1)[..3], ["serial", "wide", "lone"]);
}

#[test]
fn how_many_groups_share_a_fold_may_be_pinned() {
    let split = "entry rows
plan fewer
nest block
  iter r device-block dim 0 tile 256 split
  iter c device-thread dim 0 tile 4096 split(77)
";
    assert_eq!(errors(split), "");
    let (_, output) = build(split, true);
    assert!(output.cuda[0].text.contains("hidp::div<int64_t>(77L, "), "{}", output.cuda[0].text);
    let changed = |from: &str, to: &str| errors(&split.replace(from, to));
    assert_eq!(changed("tile 4096", "tile 32"), "5: `c` cannot run like this | expected `tile 4096`");
    assert_eq!(changed("split(77)", "split(0)").lines().count(), 1);
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
    assert!(text.contains("device-warp"), "{text}");
    assert_eq!(errors(&text), "");
    let (pinned, usual) = (build(&text, true).1, compile(&input));
    assert_eq!((pinned.rust, pinned.cuda), (usual.rust, usual.cuda));
}

#[test]
fn unfit_plans_say_where_with_and_without_cuda() {
    let changed = |from: &str, to: &str| errors(&PLANS.replace(from, to));
    let blocks = "expected threads of a block: a multiple of 32, at most 1024";
    assert_eq!(changed("tile 128", "tile 100"), format!("4: `r` cannot run like this | {blocks}"));
    assert_eq!(changed("tile 128", "tile 2048"), format!("4: `r` cannot run like this | {blocks}"));
    assert_eq!(
        changed("seq dim 0 tile 1 span", "seq dim 0 tile 2 span"),
        "9: `c` cannot run like this | expected `tile 1`"
    );
    assert_eq!(changed("device-warp dim", "device-block dim"), "4: `r` cannot run like this | expected `device-warp`");
    assert_eq!(
        changed("  iter c seq dim 0 tile 1 span\n", ""),
        "7: this nest of `rows` has 2 iterators, not 1 | expected lines for r, c"
    );
    assert_eq!(
        errors("entry scale\nplan warp\nnest warp\n  iter i device-warp dim 0 tile 256 split\n"),
        "3: this nest of `scale` cannot run as `warp` | excluded: no iteration has a map or primitive inside that lanes could share"
    );
    assert_eq!(
        changed("tile 1 split\n", "tile 1 split\n  stage A 0 rows 32x8 buffers 1 pad 0\n"),
        "6: arrays are not staged like this | expected the planner's `stage` lines"
    );
    let reserved = "the name of a place: `host` and `device` are where plans run";
    assert_eq!(changed("plan lone", "plan host"), format!("6: `host` cannot be the name of this plan | {reserved}"));
    assert_eq!(
        changed("plan lone", "plan team"),
        "6: `team` cannot be the name of this plan | the planner calls a plan for the processor so"
    );
}
