//! One program that is well formed, and changes that break one invariant each.

use super::super::read;
use super::{Rule, VerifyError, verify};

const GOOD: &str = r#"
struct Pair { v: float, n: int }
fn below(x, p) -> bool { vars { x: int input; p: int input; } if (x < p) { return true; } else { return false; } }
fn add(x, y) -> int { vars { x: int input; y: int input; } return (x + y); }
func inner(x, s, t) dims (n) {
  vars { n: long dim; x: int[n] inout; s: int input; t: int output; }
  t = s;
}
func f(A, b, n, s, p) dims (M, N) {
  vars { M: long dim; N: long dim; A: int[M, N] input; b: int[N] inout; n: long input; s: int output; p: Pair inout;
    i: long iter; j: long iter; k: long iter; v: int local; w: int local; t: int[N] local; u: int[N] local; q: int local; }
  declare t zero;
  declare u zero;
  declare q zero;
  loop (q < 3:int) { if (q == 1:int) { break; } continue; } step { q = (q + 1:int); }
  map (i = 0 .. M by 1, j = 0 .. N by 1) {
    declare v;
    v = (A[i, j?] * int?(n));
    loop true { scope { leave; } break; } step { }
    atomic b[j] "+" int neutral 0:int = v;
  }
  fold reduce "+" int neutral 0:int value v over (i) into t[j];
  map (k = 0 .. N by 1) { declare w; w = t[k]; u[(N - k)] = w; }
  fold reduce "max" int neutral 0:int value w over (k) into s;
  swap t, u;
  p@0 = float(s);
  call inner(array t, value 3:int, scalar q);
  prim sort whole(N) in b{; 0, N} out t{; 0, N} dir 1:int;
  prim partition whole(N) in b{; 0, N} out t{; 0, N} predicate below pivot 3:int result q;
  prim histogram whole(N) in b{; 0, N} out t{; 0, N} op "+" int neutral 0:int values b{; 0, N};
  if (s << 3) == 0:int) { leave; }
}
entries (f)
"#;

fn good() -> String {
    GOOD.replace("if (s << 3) == 0:int)", "if ((s <<? 3) == 0:int)")
}

fn errors(text: &str) -> Vec<VerifyError> {
    let program = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&program).err().unwrap_or_default()
}

/// The rules that are broken when `from` is replaced by `to`.
fn rules(from: &str, to: &str) -> Vec<Rule> {
    let text = good();
    assert_eq!(text.matches(from).count(), 1, "`{from}`");
    let mut rules: Vec<Rule> = errors(&text.replace(from, to)).into_iter().map(|error| error.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn the_program_is_well_formed() {
    assert_eq!(errors(&good()), []);
}

#[test]
fn types() {
    for (from, to) in [
        ("(q + 1:int)", "(q + 1)"),
        ("loop (q < 3:int)", "loop q"),
        ("j = 0 .. N by 1", "j = 0:int .. N by 1"),
        ("int?(n)", "n"),
        ("int?(n)", "int?(1.5)"),
        ("(q == 1:int)", "(q ==? 1:int)"),
        ("(s <<? 3)", "(s <<? 1.0)"),
        ("p@0 = float(s)", "p@1 = float(s)"),
        ("p@0 = float(s)", "p@0 = sqrt(s)"),
        ("3:int) {", "300:int8) {"),
        ("return (x + y)", "return true"),
        ("return (x + y)", "return add(x, true)"),
        ("atomic b[j] \"+\" int neutral 0:int = v", "atomic p[j] \"+\" int neutral 0:int = v"),
    ] {
        let found = rules(from, to);
        assert!(found.iter().any(|rule| matches!(rule, Rule::Types | Rule::Ranks | Rule::Tables)), "{to}: {found:?}");
    }
    assert_eq!(rules("int?(n)", "n"), [Rule::Types]);
    assert_eq!(rules("(s <<? 3)", "(s <<? 1.0)"), [Rule::Types]);
}

#[test]
fn scopes() {
    assert_eq!(rules("declare q zero;", ""), [Rule::Scopes]);
    assert_eq!(rules("declare q zero;", "declare q zero; declare q zero;"), [Rule::Scopes]);
    assert_eq!(rules("swap t, u;", "q = v;"), [Rule::Scopes]);
    assert_eq!(rules("j = 0 .. N by 1", "j = i .. N by 1"), [Rule::Scopes]);
    assert_eq!(rules("map (k = 0 .. N", "map (i = 0 .. N"), [Rule::Scopes, Rule::Folds]);
    assert_eq!(rules("b: int[N] inout", "b: int[long(q)] inout")[0], Rule::Scopes);
    assert_eq!(rules("x: int[n] inout", "x: int[long(t)] inout"), [Rule::Scopes]);
}

#[test]
fn ranks() {
    assert_eq!(rules("A[i, j?]", "A[i]"), [Rule::Ranks]);
    assert_eq!(rules("p@0 = float(s)", "s = t"), [Rule::Ranks]);
    assert_eq!(rules("swap t, u", "swap t, s"), [Rule::Ranks]);
    assert_eq!(rules("sort whole(N) in b{; 0, N}", "sort whole(N) in b{0; 0, N}"), [Rule::Ranks]);
    assert_eq!(rules("array t,", "scalar s,"), [Rule::Ranks]);
}

#[test]
fn folds() {
    assert_eq!(rules("value v over (i)", "value v over (i, i)"), [Rule::Folds]);
    assert_eq!(rules("value v over (i)", "value v over (k)")[0], Rule::Folds);
    assert_eq!(rules("value v over (i)", "value q over (i)"), [Rule::Folds]);
    assert_eq!(rules("over (i) into t[j]", "over (i) into q"), [Rule::Folds]);
    assert_eq!(rules("over (i) into t[j]", "over (j) into t[j]"), [Rule::Scopes]);
    assert_eq!(rules("over (k) into s", "over (k) into n"), [Rule::Writes, Rule::Types]);
    assert_eq!(rules("\"max\" int neutral 0:int", "\"max\" int"), [Rule::Folds]);
    assert_eq!(rules("\"max\" int neutral 0:int", "below int")[0], Rule::Folds);
    assert_eq!(rules("\"max\" int neutral 0:int", "add int"), []);
}

#[test]
fn jumps() {
    assert_eq!(rules("swap t, u;", "break;"), [Rule::Jumps]);
    assert_eq!(rules("scope { leave; } break;", "leave;"), [Rule::Jumps]);
    assert_eq!(rules("atomic b[j]", "break; atomic b[j]"), [Rule::Jumps]);
    assert_eq!(rules("step { q = (q + 1:int); }", "step { q = (q + 1:int); break; }"), [Rule::Jumps]);
    assert_eq!(rules("else { return false; }", ""), [Rule::Jumps]);
    assert_eq!(rules("swap t, u;", "return 1:int;"), [Rule::Jumps]);
    assert_eq!(rules("return (x + y);", "loop true { return x; } step { }"), []);
    assert_eq!(rules("return (x + y);", "loop true { break; } step { }"), [Rule::Jumps]);
}

#[test]
fn writes() {
    assert_eq!(rules("u[(N - k)] = w", "A[k, k] = w"), [Rule::Writes]);
    assert_eq!(rules("u[(N - k)] = w", "q = w"), [Rule::Writes]);
    assert_eq!(rules("u[(N - k)] = w", "swap t, u"), [Rule::Writes]);
    assert_eq!(rules("swap t, u", "N = 3"), [Rule::Writes]);
    assert_eq!(rules("swap t, u", "n = 3"), [Rule::Writes]);
    assert_eq!(rules("scalar q", "scalar n").iter().filter(|rule| **rule == Rule::Writes).count(), 1);
}

#[test]
fn calls() {
    assert_eq!(rules(", scalar q)", ")"), [Rule::Calls]);
    assert_eq!(rules("scalar q)", "value 1:int)"), [Rule::Calls]);
    assert_eq!(rules("array t, value 3:int, scalar q", "array t, value 3:int, element t[0]"), [Rule::Calls]);
}

#[test]
fn prims() {
    assert_eq!(rules("out t{; 0, N} dir 1:int", "out t{; 0, N}"), [Rule::Prims]);
    assert_eq!(rules("in b{; 0, N} out t{; 0, N} dir", "in b{; 0, N} dir"), [Rule::Prims]);
    assert_eq!(rules("predicate below pivot 3:int", "predicate add pivot 3:int")[0], Rule::Types);
    assert_eq!(rules("pivot 3:int result q", "pivot 3:int result q bounds (t, u)"), [Rule::Prims]);
    assert_eq!(rules("pivot 3:int", "pivots b{; 0, N}"), [Rule::Prims]);
    assert_eq!(rules("histogram whole(N)", "histogram regular(N, 1)"), [Rule::Prims]);
    assert_eq!(rules("values b{; 0, N};", "values b{; 0, N} into t{; 0, N};"), [Rule::Prims]);
}

#[test]
fn tables() {
    assert_eq!(rules("return (x + y)", "return add(x, y)"), [Rule::Tables]);
    assert_eq!(rules("t = s;", "call f(array x, array x, value 1, scalar t, scalar t);"), [Rule::Tables]);
    assert_eq!(rules("dims (n)", "dims ()"), [Rule::Scopes, Rule::Tables]);
    assert_eq!(
        rules("y: int input; } return (x + y);", "y: int input; z: int[3] local; } return (x + y);"),
        [Rule::Tables]
    );
}

#[test]
fn errors_name_function_and_statement() {
    let text = good().replace("u[(N - k)] = w", "q = w");
    let error = &errors(&text)[0];
    assert_eq!((error.function.as_str(), error.stmt), ("f", "assign"));
    assert!(error.to_string().contains("in `f`, assign at"), "{error}");
}
