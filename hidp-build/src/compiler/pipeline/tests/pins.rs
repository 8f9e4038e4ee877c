//! Pinned plans, from files to generated text.

use crate::compiler::pipeline::testing::{PRODUCT, input, optimised};
use crate::compiler::pipeline::{InputFile, Options, PipelineInput, PipelineOutput, compile};
use hidp_plan::PinFile;
use hidp_plan::target::Model;
use hidp_syntax::diag::{Code, Diagnostic, Severity};
use hidp_syntax::source::{SourceMap, Span};

const PROGRAM: &str = "function GEMM input float A[M][K], B[K][N]; output float C[M][N];
{ map { m := [0:M); n := [0:N); k := [0:K); _t = A[m][k] * B[k][n]; } reduce(\"+\", C[m][n], _t, k := [*]); }
function scale input float x[N]; output float y[N]; { y = 2 * x; }
";
const PLANS: &str = "# measured
entry GEMM
plan wide
nest
  n, m threads
  k seq
  m reg(12)
  n lanes(32)
  fold k runs(8192)
  alone(2)
  columns(1024)
plan serial   # for small ones
nest
  m seq
  n seq
  k seq       # not in lanes
  fold k runs(4096)
";
/// The same as it was written before lines.
const OLD_PLANS: &str = "entry GEMM
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
    assert!(output.cpp[0].text.contains("| m reg(12) | n lanes(32) |"), "{}", output.cpp[0].text);
    assert!(output.cpp[0].text.contains("4096L"), "runs of folds are as long as planned: {}", output.cpp[0].text);
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
fn plans_of_the_old_form_become_lines_and_say_so() {
    let errors = errors(OLD_PLANS);
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0], "2: plan `wide` is written in the old form | a level for each iterator, instead of lines");
    let output = build(OLD_PLANS);
    let [first, _] = &output.diagnostics[..] else { panic!("{:?}", output.diagnostics) };
    assert_eq!(first.severity, Severity::Warning, "a build goes on");
    let help = first.helps.join("\n");
    let lines = "plan wide\nnest\n  n, m threads\n  k seq\n  m reg(12)\n  n lanes(32)\n  fold k runs(8192)";
    assert!(help.contains(lines), "{help}");
    let lines = PLANS.replace("runs(4096)", "runs(8192)").replace("  alone(2)", "  fewest(8)\n  alone(2)\n  copied(3)");
    let lines =
        lines.replace("32)\n  fold k runs(8192)", "32)\n  fold k runs(8192) short(16) sums(16) vectors(4) repeat(8)");
    assert_eq!(output.rust, build(&lines).rust);
    assert_eq!(output.cpp[0].text, build(&lines).cpp[0].text);
}

#[test]
fn unfit_plans_of_the_old_form_say_where_and_why() {
    let changed = |from: &str, to: &str| {
        assert!(OLD_PLANS.contains(from));
        let errors = errors(&OLD_PLANS.replace(from, to));
        errors.into_iter().find(|error| !error.contains("old form")).expect("an error")
    };
    let levels = "3: these levels are none of this nest of `GEMM` | expected";
    assert_eq!(
        changed("iter k seq dim 0 tile 1", "iter l seq dim 0 tile 1"),
        format!("{levels} `iter` lines for m, n, k")
    );
    assert_eq!(changed("  iter k seq dim 0 tile 1 span\n", ""), format!("{levels} `iter` lines for m, n, k"));
    assert_eq!(
        changed("nest serial", "nest team"),
        "8: this nest of `GEMM` cannot run as `team` | the outermost map has not exactly one iterator, or folds"
    );
    assert_eq!(changed("tile 12 split", "tile x split"), "4: this is no line of a plan | expected a number");
    assert_eq!(changed("nest lanes", "nest what"), "3: this is no line of a plan | expected a strategy");
}

#[test]
fn plans_that_do_not_fit_say_where_and_why() {
    let changed = |from: &str, to: &str| {
        assert!(PLANS.contains(from));
        errors(&PLANS.replace(from, to)).join("\n")
    };
    assert_eq!(changed("entry GEMM", "entry GEMMM"), "2: `k.hdp` has no entry `GEMMM` | plans for nothing");
    let like_this = "this nest of `GEMM` cannot run like this | expected";
    assert_eq!(changed("  k seq\n  m reg", "  l seq\n  m reg"), format!("6: {like_this} `k seq`"));
    assert_eq!(changed("n, m threads", "m, n threads"), format!("5: {like_this} `n, m threads`"));
    assert_eq!(changed("reg(12)", "reg(1)"), format!("7: {like_this} `m reg(8)`, or a number from 2 to 16384 in it"));
    assert_eq!(
        changed("reg(12)", "reg(16000)"),
        format!("8: {like_this} at most 16384 elements in a tile, not 512000")
    );
    assert_eq!(changed("n lanes(32)", "n reg(32)"), format!("8: {like_this} `n lanes(32)`"));
    assert_eq!(changed("runs(4096)", "runs(1)"), format!("17: {like_this} `runs` of a number from 2 to 1048576"));
    assert_eq!(
        changed("fold k runs(4096)", "fold m runs(4096)"),
        format!("17: {like_this} no line for this fold: its range is not cut")
    );
    assert_eq!(
        changed("runs(4096)", "groups(4096)"),
        format!("17: {like_this} `fold k runs(8192) short(16) sums(16) vectors(4)`")
    );
    assert_eq!(
        changed("  k seq       # not in lanes\n", ""),
        "13: a line for this nest of `GEMM` is missing | expected a line `k lanes` at the end"
    );
    assert_eq!(
        changed("  k seq       # not in lanes\n", "  k seq\n  k seq\n"),
        format!("17: {like_this} no more lines for iterators")
    );
    assert_eq!(changed("plan serial ", "nest\nplan serial "), "3: `GEMM` has 1 nests, but the plan 2 | this plan");
    assert_eq!(
        changed("nest\n  m seq", "nest\n  m host"),
        "13: this nest of `GEMM` cannot run as `team` | the outermost map has not exactly one iterator, or folds"
    );
    assert_eq!(
        changed("nest\n  m seq", "nest\n  place C stream\n  m seq"),
        format!("14: {like_this} an array among the planner's `place` lines")
    );
    assert_eq!(
        changed("nest\n  m seq", "nest\n  assume K <= 7\n  m seq"),
        "13: a line for this nest of `GEMM` is missing | expected no lines about recurrences"
    );
    assert_eq!(
        changed("plan serial", "plan serial\ncompose GEMM \"\" host #"),
        "12: `GEMM` has no codelets to choose from | `compose` lines are for codelets"
    );
}

/// A codelet that the program does not have any more, and one with a value that it never had.
#[test]
fn compositions_that_are_gone_are_errors() {
    let found = |compose: &str| {
        let mut sources = SourceMap::new();
        let program = sources.add("k.hdp", PRODUCT);
        let plans = sources.add("k.plan", format!("entry mm\nplan gone\n{compose}nest\n  m host\n"));
        let files = vec![InputFile { id: program, stem: "k".into(), imports: Vec::new() }];
        let options = Options { pins: vec![PinFile { program, plans }], ..Options::default() };
        let output = compile(&PipelineInput { sources, files, options });
        output.diagnostics.first().map(|diagnostic| (diagnostic.code, diagnostic.headline.clone()))
    };
    let gone = Some((Code::UnfitPlan, "`mm` has no such composition".to_owned()));
    assert_eq!(found("compose mm \"gone\" host\n"), gone);
    assert_eq!(found("compose mm \"blocks\" host mb=65 nb=32 pieces(adjacent)\n  compose mm \"\" threads\n"), gone);
}

#[test]
fn what_a_plan_does_where_sizes_allow_it_may_be_changed_or_left_out() {
    let program = "function f input float A[R][C]; output float y[R];
        { map { r := [0:R); c := [0:C); _t = A[r][c]; } reduce(\"+\", y[r], _t, c := [*]); }";
    let plan =
        "entry f\nplan one\nnest\n  r threads\n  r seq\n  c lanes\n  fold c runs(8192) short(16) sums(16) vectors(4)\n";
    let lines = |more: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("k.hdp", program);
        let plans = sources.add("k.plan", format!("{plan}{more}"));
        let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
        let options = Options { pins: vec![PinFile { program: id, plans }], ..Options::default() };
        let output = compile(&PipelineInput { sources, files, options });
        match output.diagnostics.first() {
            Some(diagnostic) => Err(diagnostic.primary.text.clone()),
            None => Ok(output.cpp[0].text.clone()),
        }
    };
    let usual = lines("  together(262144)\n  written(4)\n").expect("the planner's lines");
    let shorter = lines("  together(100000)\n  written(2)\n").expect("other numbers");
    assert!(usual.contains("262144L") && !shorter.contains("262144L") && shorter.contains("100000L"), "{shorter}");
    let without = lines("").expect("left out");
    assert!(without.len() < shorter.len() && shorter.len() < usual.len(), "each length of a row has code of its own");
    assert_eq!(lines("  written(17)\n"), Err("expected `written` of a number from 1 to 16".into()));
    assert_eq!(lines("  block(64)\n"), Err("expected `r grid.x`".into()), "with blocks it is for devices");
    assert!(lines("  turns(8)\n").expect("parts in turn").contains("hidp::launch_dynamic"));
    let both = lines("  together(262144)\n  turns(8)\n");
    assert_eq!(both, Err("expected no line `turns`: it is not for this nest".into()));
    for word in ["fewest", "alone", "copied", "columns", "parts"] {
        let expected = format!("expected no line `{word}`: it is not for this nest");
        assert_eq!(lines(&format!("  {word}(8)\n")), Err(expected));
    }
}

#[test]
fn refusals_name_their_constraint() {
    let output = build(&PLANS.replace("nest\n  m seq", "nest\n  m host"));
    let [diagnostic] = &output.diagnostics[..] else { panic!("{:?}", output.diagnostics) };
    assert_eq!(
        diagnostic.notes,
        [
            "constraint `shape`: a nest has as many iterators, maps and folds as the mapping has lines for, and they advance by one"
        ]
    );
}

#[test]
fn malformed_files_say_where() {
    let changed = |from: &str, to: &str| errors(&PLANS.replace(from, to)).join("\n");
    assert_eq!(errors("plan a"), ["1: this is no line of a plan | expected `entry` and a name before anything else"]);
    assert_eq!(errors("entry GEMM"), ["1: no plan is given for `GEMM` | expected `plan` lines below"]);
    assert_eq!(
        errors("entry GEMM\nnest")[1],
        "2: this is no line of a plan | expected `plan` and a name before `nest`"
    );
    assert_eq!(changed("reg(12)", "reg(x)"), "7: this is no line of a plan | expected a number from 1");
    assert_eq!(
        changed("m reg(12)", "m registers"),
        "7: this is no line of a plan | expected where it runs: host, grid.z, grid.y, grid.x, thread.z, thread.y, thread.x, threads, lanes, seq, unroll, reg, vec"
    );
    assert_eq!(
        changed("plan serial ", "plan wide "),
        "12: `wide` cannot be the name of this plan | another plan is called so"
    );
    assert_eq!(changed("plan wide", "plan w-1"), "3: this is no line of a plan | expected the end of the line");
    assert_eq!(changed("plan wide", "plan 1"), "3: this is no line of a plan | expected a name");
    for name in ["_", "_wide", "`w-1`"] {
        let [error] = &errors(&PLANS.replace("plan wide", &format!("plan {name}")))[..] else { panic!("{name}") };
        let name = name.trim_matches('`');
        let why = "cannot be the name of this plan | a name is a letter, and then letters, digits and `_`";
        assert_eq!(*error, format!("3: `{name}` {why}"));
    }
    let twice = format!("{PLANS}{PLANS}");
    assert_eq!(errors(&twice), ["19: `GEMM` stands in the file twice | again"]);
    assert!(errors(&PLANS.replacen("nest", "what", 1)).iter().any(|error| error.starts_with("4: this is no line")));
}
