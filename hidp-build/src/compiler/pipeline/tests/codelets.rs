//! Codelets are compared with their functions: right ones pass, and each way to get one wrong is found.

use crate::compiler::pipeline::testing::{PRODUCT, input, optimised};
use crate::compiler::pipeline::{InputFile, Lowered, Options, alternatives, compile, front, lower_entry};
use hidp_ir::par::Choice;
use hidp_plan::Models;
use hidp_plan::target::{DeviceModel, Model};
use hidp_syntax::diag::{Code, Sink};
use hidp_syntax::ordered::OrdSet;

const SUM: &str = r#"
function sum input float x[N]; output float s; { reduce("+", x, s, N); }
codelet sum "pieces" tunable long p = {64, 7};
{
  float part[p];
  map { t := [0:p); sum(x[adjacent t of p], part[t]); }
  sum(part, s);
}
codelet sum "cyclic" tunable long p = {3};
{
  float part[p];
  map { t := [0:p); sum(x[strided t of p], part[t]); }
  sum(part, s);
}
codelet sum "bounds" tunable long q = {256};
{
  long p = (N + q - 1) / q;
  float part[p];
  map { t := [0:p); sum(x[t * q:min(N, t * q + q)), part[t]); }
  sum(part, s);
}
codelet sum "tree" when (N >= 1)
{
  float a[N], b[N];
  map { i := [0:N); a[i] = x[i]; }
  for (long w = 1; w < N; w *= 2) {
    map { i := [0:N); b[i] = i >= w ? a[i] + a[i - w] : a[i]; }
    swap(a, b);
  }
  s = a[N - 1];
}
"#;

const SCAN: &str = r#"
function running input float v[N]; output float w[N]; { scan("*", v, w, N); }
codelet running "blocks" tunable long q = {1024, 100};
{
  long blocks = (N + q - 1) / q;
  float last[blocks], before[blocks];
  map { b := [0:(N + q - 1) / q); running(v[adjacent b by q], w[adjacent b by q]); }
  map { b := [0:blocks); last[b] = w[min(b * q + q, N) - 1]; }
  exscan("*", last, before, blocks);
  map { i := [0:N); w[i] = before[i / q] * w[i]; }
}
"#;

const SPARSE: &str = r#"
function spmv input int p[R+1], col[Z]; input double v[Z], x[C]; output double y[R];
{ map { r := [0:R); map { k := [p[r]:p[r+1]); _t = v[k] * x[col[k]]; } reduce("+", y[r], _t, k := [*]); } }
codelet spmv "by hand"
{ map { r := [0:R); double t = 0; for (long k = p[r]; k < p[r+1]; k += 1) t += v[k] * x[col[k]]; y[r] = t; } }
function counts input uint8 keys[N]; output uint h[B]; { h = 0; map { i := [0:N); if (keys[i] < B) atomic h[keys[i]] += 1; } }
codelet counts "each bin"
{ map { b := [0:B); i := [0:N); _t = uint(keys[i] == b); } reduce("+", h[b], _t, i := [*]); }
"#;

const BEST: &str = r#"
struct Best { float v; int i; }
function Best better(Best a, Best b) { return b.v > a.v ? b : a; }
function largest input float x[N]; output Best b;
{ map { i := [0:N); _e = Best{v: x[i], i: int(i)}; } reduce(better: Best{v: -INFINITY, i: -1}, b, _e, i := [*]); }
codelet largest "in order"
{ b = Best{v: -INFINITY, i: -1}; for (long i = 0; i < N; i += 1) if (x[i] > b.v) b = Best{v: x[i], i: int(i)}; }
function halves input int x[N]; output int a, b;
{ map { i := [0:N); _l = 2 * i < N ? x[i] : 0; _r = 2 * i < N ? 0 : x[i]; } reduce("+", a, _l, i := [*]); reduce("+", b, _r, i := [*]); }
codelet halves "long ones" when (N >= 1000)
{ a = 0; b = 0; for (long i = 0; i < N; i += 1) { if (2 * i < N) a += x[i]; else b += x[i]; } }
"#;

const COUNTS: &str = r#"
function counts input uint8 keys[N]; output uint h[B]; { h = 0; map { i := [0:N); if (keys[i] < B) atomic h[keys[i]] += 1; } }
codelet counts "private" tunable long p = {4, 6};
{
  uint own[p][B];
  own = 0;
  map { t := [0:p); for (long i = t; i < N; i += p) if (keys[i] < B) own[t][keys[i]] += 1; }
  map { b := [0:B); t := [0:p); _c = own[t][b]; } reduce("+", h[b], _c, t := [*]);
}
"#;

const ORDER: &str = r#"
struct Line { int a; int b; }
function Line after(Line f, Line g) { return Line{a: f.a * g.a, b: g.a * f.b + g.b}; }
function walked input Line v[N]; output Line w[N]; { scan(after: Line{a: 1, b: 0}, v, w, N); }
codelet walked "blocks" tunable long q = {1024, 100};
{
  long blocks = (N + q - 1) / q;
  Line last[blocks], before[blocks];
  map { b := [0:(N + q - 1) / q); walked(v[adjacent b by q], w[adjacent b by q]); }
  map { b := [0:blocks); last[b] = w[min(b * q + q, N) - 1]; }
  exscan(after: Line{a: 1, b: 0}, last, before, blocks);
  map { i := [0:N); w[i] = after(before[i / q], w[i]); }
}
"#;

const LAST: &str = r#"
function last input int x[N]; output int s, t; { s = 0; t = 0; for (long i = 0; i < N; i += 1) { s = x[i]; t = 1; } }
codelet last "at once" { t = 0; if (N > 0) { s = x[N - 1]; t = 1; } else { s = 0; } }
"#;

const PLACED: &str = r#"
function placed input uint at[N]; input int v[N]; output int w[M];
{ w = 0; map { i := [0:N); if (at[i] < M) w[at[i]] = v[i]; } }
codelet placed "backwards"
{ w = 0; for (long i = N - 1; i >= 0; i -= 1) if (at[i] < M) w[at[i]] = v[i]; }
codelet placed "reversed"
{ w = 0; map { i := [0:N); if (at[N - 1 - i] < M) w[at[N - 1 - i]] = v[N - 1 - i]; } }
codelet placed "halves"
{ w = 0; map { h := [0:2); for (long i = h; i < N; i += 2) if (at[i] < M) w[at[i]] = v[i]; } }
"#;

const PAIRS: &str = r#"
struct Pair { int a; int b; }
function paired input uint at[N]; input Pair v[N]; output Pair w[M];
{ w = Pair{a: 0, b: 0}; map { i := [0:N); if (at[i] < M) w[at[i]] = v[i]; } }
codelet paired "backwards"
{ w = Pair{a: 0, b: 0}; for (long i = N - 1; i >= 0; i -= 1) if (at[i] < M) w[at[i]] = v[i]; }
"#;

const SCALED: &str = r#"
function scaled input float x[N]; output float y[N];
{ map { i := [0:N); y[i] = i == 0 ? 1000000000 * x[i] : x[i] / 4; } }
codelet scaled "by a product"
{ map { i := [0:N); y[i] = i == 0 ? 1000000000 * x[i] : 0.25f * x[i]; } }
"#;

/// What is reported before codelets are chosen.
fn found(text: &str) -> Vec<Code> {
    let mut sink = Sink::new();
    front(&input(text, Options::default()), &mut sink);
    sink.finish().iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn right_codelets_pass() {
    for text in [SUM, SCAN, PRODUCT, SPARSE, BEST, COUNTS, ORDER, LAST, PLACED, PAIRS, SCALED] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn wrong_codelets_are_found() {
    let mutations = [
        // Ends of tiles, by one; the last tile left out; a stride that is off by one.
        (SUM, "min(N, t * q + q)", "min(N, t * q + q - 1)"),
        (SUM, "min(N, t * q + q)", "min(N, t * q + q + 1)"),
        (SUM, "x[t * q:", "x[max(0, t * q - 1):"),
        (SUM, "long p = (N + q - 1) / q;", "long p = N / q;"),
        (SUM, "map { t := [0:p); sum(x[adjacent", "map { t := [0:p - 1); sum(x[adjacent"),
        (SUM, "x[strided t of p]", "x[strided t of p + 1]"),
        // The parts are not combined.
        (
            SUM,
            "{\n  float part[p];\n  map { t := [0:p); sum(x[adjacent t of p], part[t]); }\n  sum(part, s);",
            "{\n  float part[p];\n  map { t := [0:p); sum(x[adjacent t of p], part[t]); }\n  s = part[0];",
        ),
        // A condition that lets too much in, a step without its exchange, another operator.
        (SUM, "when (N >= 1)", "when (N >= 0)"),
        (SUM, "    swap(a, b);\n", ""),
        (SUM, "a[i] + a[i - w]", "max(a[i], a[i - w])"),
        (SCAN, "exscan(\"*\", last", "scan(\"*\", last"),
        (SCAN, "exscan(\"*\", last", "exscan(\"+\", last"),
        (SCAN, "before[i / q]", "before[0]"),
        // The last element alone.
        (SCAN, "map { i := [0:N); w[i]", "map { i := [0:N - 1); w[i]"),
        (SCAN, "min(b * q + q, N) - 1", "min(b * q + q, N) - min(2, N)"),
        (
            PRODUCT,
            "mm(A[adjacent i by mb][*], B[*][adjacent j by nb]",
            "mm(A[adjacent j by mb][*], B[*][adjacent j by nb]",
        ),
        (SPARSE, "k < p[r+1]", "k <= p[r+1]"),
        (SPARSE, "long k = p[r];", "long k = p[r] + 1;"),
        (SPARSE, "uint(keys[i] == b)", "uint(keys[i] <= b)"),
        // A stride that is off by one either way; operands in the wrong order; nothing for no elements.
        (COUNTS, "i += p)", "i += p + 1)"),
        (COUNTS, "i += p)", "i += p - 1)"),
        (ORDER, "after(before[i / q], w[i])", "after(w[i], before[i / q])"),
        (LAST, " else { s = 0; }", " else { s = 1; }"),
        (LAST, "t = 0; if", "t = 1; if"),
        (BEST, "if (x[i] > b.v)", "if (x[i] >= b.v)"),
        (BEST, "b = Best{v: -INFINITY, i: -1}; for", "b = Best{v: 0, i: 0}; for"),
        (BEST, "if (2 * i < N) a +=", "if (2 * i <= N) a +="),
        // None of the values written; one that is not the last of its iteration; one more element written.
        (
            PLACED,
            "if (at[i] < M) w[at[i]] = v[i]; }\ncodelet placed \"reversed\"",
            "if (at[i] < M) w[at[i]] = v[i] + 1; }\ncodelet placed \"reversed\"",
        ),
        (PLACED, "w[at[N - 1 - i]] = v[N - 1 - i];", "w[at[N - 1 - i]] = v[i];"),
        (PLACED, "for (long i = h; i < N; i += 2)", "for (long i = h; i < N - 1; i += 2)"),
        // Each field is one of those written, so that they may be of different iterations, but not of any.
        (
            PAIRS,
            "i -= 1) if (at[i] < M) w[at[i]] = v[i];",
            "i -= 1) if (at[i] < M) w[at[i]] = Pair{a: v[i].b, b: v[i].a};",
        ),
        // A small element beside a large one.
        (SCALED, "0.25f * x[i]", "0.5f * x[i]"),
    ];
    for (text, from, to) in mutations {
        assert!(text.contains(from), "{from}");
        let changed = text.replacen(from, to, 1);
        let codes = found(&changed);
        assert!(codes.contains(&Code::Disagreeing), "{from} -> {to}: {codes:?}");
    }
}

/// What several iterations of a codelet may write has to be what the function writes, whichever comes last.
#[test]
fn codelets_that_race_are_found() {
    let of = |function: &str, codelet: &str| {
        found(&format!(
            "function f input uint at[N]; input int v[N]; output int w[M]; {{ w = 0; {function} }}
             codelet f \"other\" {{ w = 0; {codelet} }}"
        ))
    };
    let store = "if (at[i] < M) w[at[i]] = v[i];";
    let in_order = format!("for (long i = 0; i < N; i += 1) {store}");
    let at_once = format!("map {{ i := [0:N); {store} }}");
    assert_eq!(of(&in_order, &in_order), []);
    assert_eq!(of(&at_once, &in_order), []);
    assert_eq!(of(&at_once, &at_once), []);
    // The interpreter's order of iterations is the right one.
    assert_eq!(of(&in_order, &at_once), [Code::Disagreeing]);
    // What comes after the map settles it.
    let settled = |first: &str| format!("{first} map {{ m := [0:M); w[m] = 7; }}");
    assert_eq!(of(&settled(&in_order), &settled(&at_once)), []);
}

/// Where iterations read what others write, or something is computed from it, a difference proves nothing.
#[test]
fn what_depends_on_the_order_is_a_warning() {
    let of = |function: &str, codelet: &str| {
        format!(
            "function f input uint at[N]; input int v[N]; output int w[M]; {{ {function} }}
             codelet f \"other\" {{ {codelet} }}"
        )
    };
    let local =
        "int t[M]; t = 0; map { i := [0:N); if (at[i] < M) t[at[i]] = v[i]; } map { m := [0:M); w[m] = 2 * t[m]; }";
    let backwards = local.replace("map { i := [0:N);", "for (long i = N - 1; i >= 0; i -= 1) {");
    assert_eq!(found(&of(local, &local.replace("2 * t[m]", "t[m] + t[m]"))), []);
    assert_eq!(found(&of(local, &backwards)), [Code::NotCompared]);
    let mut sink = Sink::new();
    front(&input(&of(local, &backwards), Options::default()), &mut sink);
    let label = sink.finish()[0].primary.text.clone();
    assert!(label.ends_with("; but what `t` gets depends on the order of iterations"), "{label}");
}

/// Two tiles that write one element are a race, not a disagreement.
#[test]
fn tiles_that_meet_are_races() {
    let changed = SCAN.replacen("w[adjacent b by q]", "w", 1).replacen("v[adjacent b by q]", "v", 1);
    assert!(found(&changed).contains(&Code::PrimitiveDisturbed), "{:?}", found(&changed));
}

/// As are iterations that write one element of all tiles.
#[test]
fn tiles_that_write_one_element_are_races() {
    let changed = SCAN.replacen("w[i] = before", "w[0] = before", 1);
    assert!(found(&changed).contains(&Code::SameElementWritten), "{:?}", found(&changed));
}

/// A scalar that some sizes leave unwritten has what stood there before; of arrays the text says it.
#[test]
fn outputs_that_are_not_written_are_found() {
    let changed = LAST.replacen(" else { s = 0; }", "", 1);
    assert_eq!(found(&changed), [Code::Disagreeing]);
    let changed =
        SCAN.replacen("  map { b := [0:(N + q - 1) / q); running(v[adjacent b by q], w[adjacent b by q]); }\n", "", 1);
    assert_eq!(found(&changed), [Code::CodeletOutputs]);
}

/// Tiles are compared in both ways.
#[test]
fn tiles_are_cut_in_each_way() {
    let reversed = r#"
        function same input int v[N]; output int w[N]; { w = v; }
        codelet same "tiles" tunable long p = {4};
        { w = 0; map { t := [0:p); same(v[tiles t of p], w[tiles t of p]); } }"#;
    assert_eq!(found(reversed), []);
    for (from, to, way) in [
        ("v[tiles t of p]", "v[adjacent t of p]", "where its tiles are strided"),
        ("v[tiles t of p]", "v[strided t of p]", "where its tiles are adjacent"),
    ] {
        let mut sink = Sink::new();
        front(&input(&reversed.replace(from, to), Options::default()), &mut sink);
        let diagnostics = sink.finish();
        assert_eq!(diagnostics.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::Disagreeing]);
        assert!(diagnostics[0].notes.iter().any(|note| note == way), "{:?}", diagnostics[0].notes);
    }
}

/// Values that the model says are compared like those of the program.
#[test]
fn values_of_models_are_compared() {
    for knob in ["width", "parts"] {
        let text = format!(
            "function f input int x[N]; output int s; {{ reduce(\"+\", x, s, N); }}
             codelet f \"ends\" tunable long p = {knob}; {{ reduce(\"+\", x, s, N); if (p % 2 == 0) s += 1; }}"
        );
        assert_eq!(found(&text), [Code::Disagreeing], "{knob}");
    }
}

/// Values for devices are there if the build compiles for them, and only then.
#[test]
fn values_of_devices_are_for_builds_with_them() {
    let device = DeviceModel::cuda().codelets.domains;
    let own = Model::cpu().codelets.domains;
    for (knob, of_device, own) in [("width", device.width, own.width), ("parts", device.parts, own.parts)] {
        assert!(of_device.iter().all(|value| !own.contains(value)), "the test needs values that differ");
        let text = format!(
            "function f input int x[N]; output int s; {{ reduce(\"+\", x, s, N); }}
             codelet f \"parted\" tunable long p = {knob}; {{ reduce(\"+\", x, s, N); }}"
        );
        let values = |cuda: bool| {
            let build = input(&text, Options { cuda, ..Options::default() });
            let program = front(&build, &mut Sink::new()).expect("a right program");
            program.spectra[0].codelets[0].tunables[0].values.clone()
        };
        assert_eq!(values(false), own, "{knob}");
        assert_eq!(values(true), own.iter().chain(&of_device).copied().collect::<Vec<_>>(), "{knob}");
    }
}

#[test]
fn what_cannot_be_compared_is_a_warning() {
    let large = SUM.replacen("when (N >= 1)", "when (N >= 100000000)", 1);
    assert_eq!(found(&large), [Code::NotCompared]);
    let slow = "function f input int x[N]; output int s; { s = 0; for (long i = 0; i < 100000; i += 1) s += x[0] * 0; }
                codelet f \"nothing\" { s = 0; }";
    assert_eq!(found(slow), [Code::NotCompared]);
    assert_eq!(found(&slow.replace("codelet", "#pragma hidp allow(HD0818)\ncodelet")), []);
}

/// Steps of all comparisons together are bounded: what comes last is a warning.
#[test]
fn builds_have_a_bound_of_steps() {
    let slow = |name: &str, codelets: usize| {
        let body = "{ s = 0; for (long i = 0; i < 6000; i += 1) s += x[0] * 0; }";
        let codelet = |number| format!("codelet {name} \"c{number}\" {body}\n");
        let all: String = (0..codelets).map(codelet).collect();
        format!("function {name} input int x[N]; output int s; {body}\n{all}")
    };
    assert_eq!(found(&slow("f", 16)), []);
    let text = format!("{}{}codelet g \"wrong\" {{ s = 1; }}\n", slow("f", 16), slow("g", 15));
    let build = input(&text, Options::default());
    let mut sink = Sink::new();
    assert!(front(&build, &mut sink).is_some());
    let late = sink.finish();
    assert!((2..16).contains(&late.len()), "{} are not compared", late.len());
    let last = std::iter::once("wrong".to_owned()).chain((0..15).rev().map(|number| format!("c{number}")));
    for (diagnostic, tag) in late.iter().rev().zip(last) {
        let headline = format!("codelet \"{tag}\" was not compared with `g`");
        assert_eq!((diagnostic.code, &diagnostic.headline), (Code::NotCompared, &headline));
    }
    // By itself it is found.
    assert_eq!(found(&format!("{}codelet g \"wrong\" {{ s = 1; }}\n", slow("g", 15))), [Code::Disagreeing]);
}

/// The function of a codelet may be in another file.
#[test]
fn codelets_of_imported_functions_are_compared_and_taken() {
    let files = |codelet: &str| {
        let mut build =
            input("function sum input int x[N]; output int s; { reduce(\"+\", x, s, N); }", Options::default());
        let of = build.files[0].id;
        let id = build.sources.add("of.hdp", format!("import \"k.hdp\";\n{codelet}"));
        build.files.push(InputFile { id, stem: "of".into(), imports: vec![of] });
        build
    };
    let right = "codelet sum \"parts\" tunable long p = {64};
        { int part[p]; map { t := [0:p); sum(x[adjacent t of p], part[t]); } sum(part, s); }";
    let codes = |text: &str| compile(&files(text)).diagnostics.iter().map(|found| found.code).collect::<Vec<_>>();
    assert_eq!(codes(right), []);
    let names: Vec<String> = optimised(&files(right)).alternatives.into_iter().map(|form| form.name).collect();
    assert!(names.iter().any(|name| name.starts_with("parts")), "{names:?}");
    assert_eq!(codes(&right.replace("reduce", "sum").replace("sum(part, s)", "s = part[0]")), [Code::Disagreeing]);
    // Nobody else sees the file: there is no such function without the import.
    let mut apart = files(right);
    apart.files[1].imports.clear();
    assert_eq!(compile(&apart).diagnostics.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::NoFunction]);
}

/// Of calls for which the condition does not hold the function is not asked: what it takes is left for the others.
#[test]
fn calls_that_a_codelet_is_not_for_take_no_steps() {
    let costly = r#"
        function f input int x[N], y[M]; output int s;
        { s = 0; for (long i = 0; i < 5000; i += 1) s += 0; s += N > 0 && M > 0 ? x[0] + y[0] : 0; }
        codelet f "one" when (N >= 50) { s = M > 0 ? x[0] + y[0] : 0; }"#;
    assert_eq!(found(costly), []);
    let wrong = costly.replace("{ s = M > 0 ? x[0] + y[0] : 0; }", "{ s = M > 0 ? x[0] + 1 : 0; }");
    assert_eq!(found(&wrong), [Code::Disagreeing]);
}

/// One size may be large where another one is not, as a condition asks.
#[test]
fn conditions_on_several_sizes_are_met() {
    let last = r#"
        function last input int x[N], y[M]; output int s; { s = N > 0 && M > 0 ? x[N - 1] + y[M - 1] : 0; }
        codelet last "of long" when (N >= 4096 && M > 2) { s = x[N - 1] + y[M - 1]; }"#;
    assert_eq!(found(last), []);
    assert_eq!(found(&last.replacen("{ s = x[N - 1]", "{ s = x[N - 2]", 1)), [Code::Disagreeing]);
}

/// A codelet may rely on what its tunables have in common: 4 is none of them.
#[test]
fn values_of_tunables_are_their_own() {
    let even = r#"
        function f input int x[N]; output int s; { reduce("+", x, s, N); }
        codelet f "by eights" tunable long q = {8, 16};
        { int t; reduce("+", x, t, N); s = q % 8 == 0 ? t : 0; }"#;
    assert_eq!(found(even), []);
}

/// Arrays that are much larger than the dimensions say are not made.
#[test]
fn large_arrays_are_not_made() {
    for extent in ["N * N * N", "N * 1000000000000", "3000000000000"] {
        let text = format!(
            "function f input int x[{extent}]; input int y[N]; output int s;
             {{ reduce(\"+\", y, s, N); if (N > 0) s += 0 * x[0]; }}
             codelet f \"in order\" when (N >= 4000) {{ s = 0; for (long i = 0; i < N; i += 1) s += y[i] + 0 * x[0]; }}"
        );
        assert_eq!(found(&text), [Code::NotCompared], "{extent}");
    }
}

/// More memory than is given to a comparison is no fault of the codelet.
#[test]
fn memory_is_no_disagreement() {
    let text = "function f input int x[N]; output int s; { reduce(\"+\", x, s, N); }
        codelet f \"wide\"
        { int t[N * 100000000 + 1]; t[0] = 0; for (long i = 0; i < N; i += 1) t[0] += x[i]; s = t[0]; }";
    assert_eq!(found(text), [Code::NotCompared]);
}

/// Pieces may be longer than all arrays that are compared, also where their length has no divisors.
#[test]
fn ends_of_long_pieces_are_reached() {
    for q in [4096, 5003, 8191, 16_384, 1 << 20] {
        let right = SUM.replacen("tunable long q = {256}", &format!("tunable long q = {{{q}}}"), 1);
        assert_eq!(found(&right), [], "{q}");
        let combined = "q)), part[t]); }\n  sum(part, s);";
        let wrong = right.replacen(combined, "q)), part[t]); }\n  s = p > 0 ? part[0] : 0;", 1);
        let code = if q < 5000 { Code::Disagreeing } else { Code::NotCompared };
        assert_eq!(found(&wrong), [code], "{q}");
    }
}

/// Every tunable has its first value in one comparison, and its last in another.
#[test]
fn each_tunable_has_its_ends() {
    for wrong in ["a == 8", "a == 9", "b == 3", "b == 5"] {
        let text = format!(
            "function f input int x[N]; output int s; {{ reduce(\"+\", x, s, N); }}
             codelet f \"ends\" tunable long a = {{8, 11, 9}}, b = {{3, 7, 5}};
             {{ int t; reduce(\"+\", x, t, N); s = {wrong} ? t + 1 : a + b > 0 ? t : 0; }}"
        );
        assert_eq!(found(&text), [Code::Disagreeing], "{wrong}");
    }
}

const SLOW: &str = r#"
function total input float x[N]; output float s; { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }
codelet total "lanes" when (N >= 4096) { reduce("+", x, s, N); }
"#;

/// The names of the versions of the one entry, and its rules.
fn versions(text: &str, options: Options) -> (Vec<String>, Vec<String>) {
    let build = input(text, options);
    let program = optimised(&build);
    let Lowered { entry, dispatch, .. } = lower_entry(&build, &program, program.entries[0], &Model::cpu());
    let units = entry.units.iter().map(|unit| unit.plan.clone()).collect();
    (units, dispatch.rules.iter().map(|rule| dispatch.print(rule)).collect())
}

/// Compositions run untuned where they promise much, are versions for tuners where they come near, and are none where they are slow.
#[test]
fn the_estimate_decides_over_compositions() {
    let (plans, rules) = versions(SLOW, Options::default());
    assert_eq!(plans, ["rows", "lanes_rows"]);
    assert_eq!(rules, ["size >= 4096: lanes_rows"]);
    let (plans, rules) = versions(SUM, Options::default());
    assert_eq!(plans, ["rows", "serial"], "pieces save no time, and take as much again to compile");
    assert_eq!(rules, [""; 0]);
    let mut all = Options::default();
    all.limits.compositions = true;
    let (plans, _) = versions(SUM, all);
    assert!(plans.iter().any(|plan| plan.starts_with("cyclic")), "{plans:?}");
}

/// Versions of integers give the same bits, whichever bodies they are of; those of floats are apart.
#[test]
fn versions_know_whether_bits_are_the_same() {
    let classes = |text: &str| {
        let mut all = Options::default();
        all.limits.compositions = true;
        let build = input(text, all);
        let program = optimised(&build);
        let Lowered { entry, dispatch, .. } = lower_entry(&build, &program, program.entries[0], &Model::cpu());
        assert!(entry.units.len() > 1, "there is something to select");
        assert_eq!(entry.units.len(), dispatch.classes.len());
        dispatch.classes
    };
    assert_eq!(classes(SLOW), [0, 1]);
    assert_eq!(classes(&SLOW.replace("float", "int")), [0, 0]);
    // An index that is not proved may fault, and which one does depends on the body.
    let faulting = "input int at[N], x[N]; output int s; { s = 0; for (long i = 0; i < N; i += 1) s += x[at[i]]; }";
    let lanes = r#"{ map { i := [0:N); _t = x[at[i]]; } reduce("+", s, _t, i := [*]); }"#;
    let faulting = format!("function total {faulting} codelet total \"lanes\" {lanes}");
    assert_eq!(classes(&faulting), [0, 1]);
}

/// Versions for devices run iterations at the level that their composition says, those for processors have their own compositions.
#[test]
fn compositions_of_devices_have_levels_of_devices() {
    let rows = SUM.replacen("codelet sum \"pieces\"", "codelet sum \"tiles\" tunable long p = parts;\n{ float part[p]; map { t := [0:p); sum(x[tiles t of p], part[t]); } sum(part, s); }\ncodelet sum \"pieces\"", 1);
    let build = input(&rows, Options { cuda: true, ..Options::default() });
    let program = optimised(&build);
    let entry = program.entries[0];
    let device = DeviceModel::cuda();
    let models = Models { cpu: &Model::cpu(), device: &device };
    let plans = alternatives::all_of_devices(&build, &program, entry, models);
    let mut levels = Vec::new();
    for form in program.alternatives_of(entry) {
        let known = if form.on_device { &device.calls } else { &models.cpu.calls };
        assert!(known.all.iter().any(|level| level.name == form.choice.level), "{}", form.choice.level);
        let names = plans.iter().filter(|(func, _)| *func == form.func).flat_map(|(_, plans)| plans);
        let names: Vec<&str> = names.map(|plan| plan.name.as_str()).collect();
        let inner = form.choice.calls.iter().find(|call| call.level != form.choice.level);
        match inner {
            Some(call) if form.on_device => {
                assert_eq!(names, [format!("{}_{}", form.name, call.level)]);
                levels.push(call.level.as_str());
            }
            Some(_) | None => assert_eq!(names.len(), usize::from(form.on_device), "{names:?}"),
        }
    }
    assert!(levels.contains(&"thread") && levels.contains(&"block"), "{levels:?}");
}

/// What says `ordered` has the function's bits for any floats; without it, sums that exact numbers keep are enough.
#[test]
fn ordered_codelets_have_the_bits_of_their_functions() {
    let of = |codelet: &str| {
        found(&format!("function sum input float x[N]; output float s; {{ reduce(\"+\", x, s, N); }}\n{codelet}"))
    };
    let backwards = "codelet sum \"backwards\" { s = 0; for (long i = 0; i < N; i += 1) s += x[N - 1 - i]; }";
    let forwards = backwards.replace("N - 1 - i", "i");
    let ordered = |codelet: &str| format!("#pragma hidp ordered\n{codelet}");
    assert_eq!(of(backwards), []);
    assert_eq!(of(&ordered(backwards)), [Code::Disagreeing]);
    assert_eq!(of(&ordered(&forwards)), []);
    // Of `tiles` there is one way that keeps it.
    let tiles =
        "codelet sum \"tiles\" { float part[1]; map { t := [0:1); sum(x[tiles t of 1], part[t]); } s = part[0]; }";
    assert_eq!(of(&ordered(tiles)), []);
    let two = tiles.replace("[1]", "[2]").replace("0:1", "0:2").replace("of 1", "of 2");
    assert_eq!(of(&two.replace("s = part[0]", "s = part[0] + part[1]")), []);
    assert_eq!(of(&ordered(&two.replace("s = part[0]", "s = part[0] + part[1]"))), [Code::Disagreeing]);
}

/// The codelets in a choice.
fn collect(choice: &Choice, tags: &mut OrdSet<String>) {
    tags.extend((!choice.codelet.is_empty()).then(|| choice.codelet.clone()));
    choice.calls.iter().chain(choice.otherwise.as_deref()).for_each(|inner| collect(inner, tags));
}

/// Calls that say `ordered` take only bodies that keep the order; others take any.
#[test]
fn ordered_calls_take_ordered_codelets() {
    let text = |directive: &str| {
        format!(
            "function sum input float x[N]; output float s; {{ reduce(\"+\", x, s, N); }}
             codelet sum \"parts\" {{ float part[4]; map {{ t := [0:4); sum(x[adjacent t of 4], part[t]); }} sum(part, s); }}
             #pragma hidp ordered
             codelet sum \"loop\" {{ s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }}
             function f input float x[N]; output float s; {{
             {directive}
             sum(x, s); }}"
        )
    };
    let taken = |directive: &str| {
        let mut program = front(&input(&text(directive), Options::default()), &mut Sink::new()).expect("no error");
        hidp_plan::compose(&mut program, &Model::cpu(), None, &mut Sink::new());
        let mut tags = OrdSet::new();
        program.alternatives.iter().for_each(|form| collect(&form.choice, &mut tags));
        tags.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(taken(""), ["loop", "parts"]);
    assert_eq!(taken("#pragma hidp ordered"), ["loop"]);
}
