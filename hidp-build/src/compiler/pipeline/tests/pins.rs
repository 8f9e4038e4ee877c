//! Pinned plans, from files to generated text.

use crate::compiler::pipeline::testing::{input, optimised};
use crate::compiler::pipeline::{InputFile, Options, PipelineInput, PipelineOutput, compile};
use hidp_plan::PinFile;
use hidp_plan::target::Model;
use hidp_syntax::diag::Diagnostic;
use hidp_syntax::source::{SourceMap, Span};

const PROGRAM: &str = "function GEMM input float A[M][K], B[K][N]; output float C[M][N];
{ map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }
function scale input float x[N]; output float y[N]; { y = 2 * x; }
";
const PLANS: &str = "# measured
entry GEMM
plan wide
nest lanes
  iter m thread dim 1 tile 12 split
  iter n lanes dim 0 tile 32 split
  iter k seq dim 0 tile 1 span
plan serial   # for small ones
nest serial
  iter m seq dim 1 tile 1 span
  iter n seq dim 0 tile 1 span
  iter k seq dim 0 tile 8192 span
";

fn build(plans: &str) -> PipelineOutput {
    let mut sources = SourceMap::new();
    let program = sources.add("k.hdp", PROGRAM);
    let plans = sources.add("k.plan", plans);
    let files = vec![InputFile { id: program, stem: "k".into(), imports: Vec::new() }];
    let options = Options { pins: vec![PinFile { program, plans }], ..Options::default() };
    compile(&PipelineInput { sources, files, options })
}
/// Headlines, labels and lines.
fn errors(plans: &str) -> Vec<String> {
    let mut sources = SourceMap::new();
    sources.add("k.hdp", PROGRAM);
    sources.add("k.plan", plans);
    let output = build(plans);
    let line = |span: Span| sources.position(span).line;
    let text = |d: &Diagnostic| format!("{}: {} | {}", line(d.primary.span), d.headline, d.primary.text);
    output.diagnostics.iter().map(text).collect()
}

#[test]
fn pinned_plans_are_the_versions() {
    let output = build(PLANS);
    assert_eq!(errors(PLANS), [""; 0]);
    let versions: Vec<&str> = output.rust.split("plan: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(versions, ["wide", "serial", "rows", "serial"], "the second entry is planned as usual");
    assert!(output.cpp[0].text.contains("iter m thread dim 1 tile 12 split"), "{}", output.cpp[0].text);
}

#[test]
fn what_the_planner_prints_fits() {
    let input = input(PROGRAM, Options::default());
    let program = optimised(&input);
    let mut text = String::new();
    for &func in &program.entries {
        text.push_str(&format!("entry {}\n", program.funcs[func].name));
        let plans = hidp_plan::candidates(&program, func, &Model::cpu());
        plans.iter().for_each(|plan| text.push_str(&plan.to_string()));
    }
    assert!(text.contains("place y"), "{text}");
    assert_eq!(errors(&text), [""; 0]);
    assert_eq!(build(&text).rust, compile(&input).rust);
}

#[test]
fn plans_that_do_not_fit_say_where_and_why() {
    let changed = |from: &str, to: &str| {
        assert!(PLANS.contains(from));
        errors(&PLANS.replace(from, to)).join("\n")
    };
    assert_eq!(changed("entry GEMM", "entry GEMMM"), "2: `k.hdp` has no entry `GEMMM` | plans for nothing");
    assert_eq!(
        changed("iter k seq dim 0 tile 1 span", "iter l seq dim 0 tile 1 span"),
        "7: `l` cannot run like this | expected the line of `k`"
    );
    assert_eq!(changed("m thread", "m seq"), "5: `m` cannot run like this | expected `thread`");
    assert_eq!(changed("tile 12", "tile 1"), "5: `m` cannot run like this | expected a tile from 2 to 16384");
    assert_eq!(
        changed("tile 12", "tile 16000"),
        "4: a tile of 512000 elements is too large | the tiles below make more than 16384 elements"
    );
    assert_eq!(changed("tile 32 split", "tile 32 span"), "6: `n` cannot run like this | expected `split`");
    assert_eq!(changed("dim 1 tile 12", "dim 2 tile 12"), "5: `m` cannot run like this | expected `dim 1`");
    assert_eq!(
        changed("  iter k seq dim 0 tile 1 span\n", ""),
        "4: this nest of `GEMM` has 3 iterators, not 2 | expected lines for m, n, k"
    );
    assert_eq!(changed("plan serial ", "nest rows\nplan serial "), "3: `GEMM` has 1 nests, but the plan 2 | this plan");
    assert_eq!(
        changed("nest lanes", "nest team"),
        "4: this nest of `GEMM` cannot run as `team` | the outermost map has not exactly one iterator, or folds"
    );
    assert_eq!(
        changed("nest serial\n", "nest serial\n  place C 9 stream\n"),
        "10: `C` cannot be placed like this | not among the planner's placements"
    );
}

#[test]
fn malformed_files_say_where() {
    let changed = |from: &str, to: &str| errors(&PLANS.replace(from, to)).join("\n");
    assert_eq!(errors("plan a"), ["1: this is no line of a plan | expected `entry` and a name before anything else"]);
    assert_eq!(errors("entry GEMM"), ["1: no plan is given for `GEMM` | expected `plan` lines below"]);
    assert_eq!(
        errors("entry GEMM\nnest rows")[1],
        "2: this is no line of a plan | expected `plan` and a name before `nest`"
    );
    assert_eq!(
        changed("tile 12 split", "tile x split").lines().next(),
        Some("5: this is no line of a plan | expected a number")
    );
    assert_eq!(
        changed("plan serial ", "plan wide "),
        "8: `wide` cannot be the name of this plan | another plan is called so"
    );
    assert_eq!(
        changed("plan wide", "plan w-1"),
        "3: `w-1` cannot be the name of this plan | a name is a letter, and then letters, digits and `_`"
    );
    for name in ["_", "_wide", "1"] {
        let [error] = &errors(&PLANS.replace("plan wide", &format!("plan {name}")))[..] else { panic!("{name}") };
        assert!(error.starts_with(&format!("3: `{name}` cannot be the name of this plan")), "{error}");
    }
    let twice = format!("{PLANS}{PLANS}");
    assert_eq!(errors(&twice), ["14: `GEMM` stands in the file twice | again"]);
    assert!(errors(&PLANS.replace("nest lanes", "what")).iter().any(|error| error.starts_with("4: this is no line")));
}
