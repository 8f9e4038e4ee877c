//! Ways of recurrences, from files of plans to programs.

use crate::compiler::pipeline::testing::optimised;
use crate::compiler::pipeline::{InputFile, Options, PipelineInput, compile, front, optimise};
use hidp_ir::par::{Block, StmtKind, visit};
use hidp_pass::recurrences::{Fate, Unmet, lines, recurrences};
use hidp_plan::PinFile;
use hidp_syntax::diag::{Code, Sink};
use hidp_syntax::source::SourceMap;

const DISTANCE: &str = "recurrence long d(i := [0:N], j := [0:M]) input uint8 s[N], t[M];
{ if (i == 0) return j; if (j == 0) return i;
  return min(d(i-1, j-1) + (s[i-1] == t[j-1] ? 0 : 1), min(d(i-1, j), d(i, j-1)) + 1); }
function g input uint8 s[N], t[M]; output long score; { score = d(N, M) + d(0, 0); }
";
const SHARED: &str = "static function inner input uint8 s[N], t[M]; output long score; { score = d(N, M); }
function f input uint8 s[N], t[M]; output long score; { inner(s, t, score); }
function h input uint8 s[N], t[M]; output long score; { inner(s, t, score); }
";
const OTHERS: &str = r#"recurrence int by(i := [0:N], j := [0:M]) input int a[N], b[M];
{ if (i == 0 || j == 0) return 0; return max(by(i-1, j), by(i, j-1)) / b[j-1] + a[i-1]; }
recurrence long sum(i := [0:N)) input int a[N];
{ if (i == 0) return a[0]; return sum(i-1) + a[i]; }
recurrence double half(i := [0:N), j := [0:N)) input double c[N];
{ if (i == 0 || j == 0) return c[i]; return 0.5 * half(i-1, j) + half(i, j-1); }
recurrence long chain(i := [0:N), j := [i:N)) input double c[N];
{ if (i == j) return 0; long most; map { k := [i:j); _v = chain(i, k) + chain(k+1, j); } reduce("max", most, _v, k := [*]);
  return most + (c[i] < c[j] ? 1 : 0); }
recurrence long pairs(i := [0:N), j := [i:N)) input double c[N];
{ if (i == j) return 0; return max(pairs(i+1, j), pairs(i, j-1)) + (c[i] < c[j] ? 1 : 0); }
recurrence long most(i := [0:N)) input int a[N];
{ if (i == 0) return a[0]; return max(most(i-1), a[i]); }
function faults input int a[N], b[M]; output int score; { score = by(N, M); }
function halves input double c[N]; output double y[N]; { map { i := [0:N); y[i] = half(i, N - 1); } }
function chains input double c[N]; output long most; { most = N > 0 ? chain(0, N - 1) : 0; }
function paired input double c[N]; output long most; { most = pairs(0, N - 1); }
function sums input int a[N]; output long y[N]; { y = sum; }
function mosts input int a[N]; output long y[N]; { y = most; }
function each input uint8 s[R][N], t[M]; output long y[R]; { map { r := [0:R); y[r] = d(N, M; s = s[r][*]); } }
"#;

fn pinned(more: &str, plans: &str) -> PipelineInput {
    let mut sources = SourceMap::new();
    let program = sources.add("k.hdp", format!("{DISTANCE}{more}"));
    let plans = sources.add("k.plan", plans);
    let files = vec![InputFile { id: program, stem: "k".into(), imports: Vec::new() }];
    PipelineInput { sources, files, options: Options { pins: vec![PinFile { program, plans }], ..Options::default() } }
}

/// Line, code and headline of what is wrong.
fn wrong(plans: &str) -> Vec<String> {
    let input = pinned(SHARED, plans);
    let shown = compile(&input).diagnostics.into_iter().map(|diagnostic| {
        let line = input.sources.position(diagnostic.primary.span).line;
        let constraint = diagnostic.notes.first().and_then(|note| note.split('`').nth(1)).unwrap_or("-");
        format!("{line} {:?} {constraint}: {}", diagnostic.code, diagnostic.headline)
    });
    shown.collect()
}

const WINDOW: &str = "  i + j seq\n  j lanes\n  keep d window(3)\n";
const TABLE: &str = "  i + j seq\n  j lanes\n  keep d table\n";
const LOOPS: &str = "  i seq\n  j seq\n  keep d table\n";

/// How many maps and loops an entry has.
fn counted(plans: &str, entry: &str) -> [usize; 2] {
    let program = optimised(&pinned(SHARED, plans));
    let func = program.entries.iter().find(|id| program.funcs[**id].name == entry).expect("the entry");
    let body: &Block = &program.funcs[*func].body;
    let mut found = [0, 0];
    visit::walk_stmts(body, |stmt| match &stmt.kind {
        StmtKind::Map(_) => found[0] += 1,
        StmtKind::Loop(_) => found[1] += 1,
        _ => {}
    });
    found
}

#[test]
fn pinned_ways_are_those_that_run() {
    let of = |lines: &str| counted(&format!("entry g\nrecurrence d\n{lines}"), "g");
    let loops = of(LOOPS);
    let [window, table, chosen] = [WINDOW, TABLE, ""].map(|lines| match lines {
        "" => counted("", "g"),
        lines => of(lines),
    });
    assert_eq!(loops, [1, 2], "a map of one iteration with two loops in it");
    assert!(window[1] == 1 && table[1] == 1, "{window:?} {table:?}: one loop, over steps");
    assert!(chosen[0] > window[0], "narrow cells and wide ones: {chosen:?} {window:?}");
    // Others keep what they have.
    assert_eq!(counted(&format!("entry g\nrecurrence d\n{LOOPS}"), "f"), counted("", "f"));
}

#[test]
fn what_cannot_be_pinned_is_said() {
    let of = |entry: &str, name: &str, lines: &str| wrong(&format!("entry {entry}\nrecurrence {name}\n{lines}"));
    assert_eq!(of("g", "d", WINDOW), Vec::<String>::new());
    assert_eq!(of("g", "d", "  i + j seq\n"), ["2 UnfitPlan -: `d` has no way with these lines"]);
    assert_eq!(of("g", "e", WINDOW), ["2 UnfitPlan -: `g` does not use the recurrence `e`"]);
    let profile = format!("{WINDOW}  stage profile\n");
    assert_eq!(of("g", "d", &profile), ["2 UnfitPlan profile: `d` cannot be computed in this way"]);
    // Tiles have the sides that lines say.
    let tiles = |sides: &str| {
        format!("  i + j seq\n  i + j seq({sides})\n  j lanes\n  keep d window(2)\n  narrow d int8 difference\n")
    };
    let both = |lines: &str| wrong(&format!("entry f\nrecurrence d\n{lines}entry h\nrecurrence d\n{lines}"));
    assert_eq!(both(&tiles("64x32")), Vec::<String>::new());
    assert_eq!(both(&tiles("64x0")).len(), 2);
    assert_eq!(of("f", "d", &tiles("32768x32")), ["2 UnfitPlan -: `d` has no way with these lines"]);
    // Two cells are asked for.
    assert_eq!(of("g", "d", &tiles("64x32")), ["2 UnfitPlan difference: `d` cannot be computed in this way"]);
    // A function of two entries.
    assert_eq!(of("f", "d", LOOPS), ["2 UnfitPlan -: this way of `d` is not that of all entries"]);
    assert_eq!(both(LOOPS), Vec::<String>::new());
    // Files.
    let twice = format!("entry g\nrecurrence d\n{LOOPS}recurrence d\n{WINDOW}");
    assert_eq!(wrong(&twice), ["6 MalformedPlan -: `d` has two ways"]);
    assert_eq!(
        wrong("entry g\nrecurrence\n"),
        ["1 MalformedPlan -: no plan is given for `g`", "2 MalformedPlan -: this is no line of a plan"]
    );
    assert_eq!(wrong("entry g\ni + j seq\n").len(), 2);
}

#[test]
fn fates_of_ways_are_what_becomes_of_pins() {
    let program = front(&pinned(OTHERS, ""), &mut Sink::new()).expect("it is right");
    let mut seen = Vec::new();
    for made in recurrences(&program) {
        let func = &program.funcs[made.tables];
        let system = &func.recur.as_ref().expect("tables").systems[made.system];
        let entry = &program.funcs[made.user].name;
        let name = hidp_pass::recurrences::name(func, system);
        for (course, fate) in &made.fates {
            let lines = lines(func, system, *course).join("\n");
            let build = pinned(OTHERS, &format!("entry {entry}\nrecurrence {name}\n{lines}\n"));
            let mut sink = Sink::new();
            let program = front(&build, &mut sink);
            if *fate == Fate::Possible
                && let Some(program) = program
            {
                optimise(program, false, &mut sink);
            }
            let found: Vec<(Code, String)> =
                sink.finish().iter().map(|diagnostic| (diagnostic.code, diagnostic.notes.concat())).collect();
            match (fate, &found[..]) {
                (Fate::Forbidden(unmet), [(Code::UnfitPlan, note)]) => {
                    assert!(note.starts_with(&format!("constraint `{}`: ", unmet.id())), "{note}");
                    seen.push(*unmet);
                }
                (Fate::Chosen | Fate::Possible, []) => {}
                _ => panic!("{entry} {course:?} {fate:?}: {found:?}"),
            }
        }
        assert_eq!(
            made.fates.iter().filter(|(_, fate)| *fate == Fate::Chosen).count(),
            usize::from(made.way.course().is_some())
        );
    }
    let missing: Vec<Unmet> = Unmet::ALL.into_iter().filter(|unmet| !seen.contains(unmet)).collect();
    assert_eq!(missing, []);
}

/// The ends of a section say to which map its table belongs, wherever they are written.
#[test]
fn ragged_sections_have_a_table_for_each_iteration_that_has_one() {
    let text = "function f input uint8 l[Z], t[M]; input long first[R+1]; output long y[R];
        { map { r := [0:R);
            map { j := [0:M]; _v = d(0, j; s = l[first[r]:first[r+1])); } reduce(\"max\", y[r], _v, j := [*]); } }";
    let program = front(&pinned(text, ""), &mut Sink::new()).expect("it is right");
    let f = program.entries.iter().find(|id| program.funcs[**id].name == "f").expect("the entry");
    let StmtKind::Map(outer) = &program.funcs[*f].body.stmts[0].kind else { panic!("a map") };
    let calls = outer.body.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Call { .. }));
    assert_eq!(calls.count(), 1, "not in the map inside");
}
