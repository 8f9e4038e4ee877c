use super::*;
use crate::testing::checked;

/// The compositions of the last entry.
fn of(text: &str) -> Composed {
    let program = checked(text);
    composed(&program, *program.entries.last().expect("an entry"), &Model::cpu())
}

/// `pieces(4)[sum, sum]`: codelets with their tunables, and those of their calls.
fn short(choice: &Choice) -> String {
    let Choice { function, codelet, tunables, calls, otherwise, .. } = choice;
    let name = if codelet.is_empty() { function } else { codelet };
    let values: Vec<String> = tunables.iter().map(|(_, value)| value.to_string()).collect();
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    let calls: Vec<String> = calls.iter().map(short).collect();
    let calls = if calls.is_empty() { String::new() } else { format!("[{}]", calls.join(", ")) };
    let other = otherwise.as_deref().map(|other| format!(" or {}", short(other))).unwrap_or_default();
    format!("{name}{values}{calls}{other}")
}

fn kept(composed: &Composed) -> Vec<String> {
    composed.kept.iter().map(|(choice, _)| short(choice)).collect()
}

/// A function that takes its elements one after the other, and a codelet whose parts are computed side by side.
const SLOW: &str = "function sum input int x[N]; output int s; { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }
codelet sum \"lanes\" { map { i := [0:N); _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }
codelet sum \"pieces\" tunable long p = {64, 4};
{ int part[p]; map { t := [0:p); sum(x[adjacent t of p], part[t]); } sum(part, s); }\n";

#[test]
fn entries_without_codelets_have_no_compositions() {
    assert_eq!(of("function f inout int x[N]; { x = 2 * x; }"), Composed::default());
}

#[test]
fn each_codelet_has_a_version_and_a_fate() {
    let composed = of(SLOW);
    assert_eq!(composed.codelets.len(), 2);
    assert!(composed.codelets.iter().all(|fate| fate.kept > 0), "{:?}", composed.codelets);
    assert!(!composed.cut && composed.kept.len() <= MOST);
    // Predicted times are beside the best one's.
    assert!(composed.kept.iter().all(|(_, ratios)| ratios.iter().all(|ratio| *ratio >= 1.0)));
}

#[test]
fn recursion_ends() {
    let composed = of(SLOW);
    fn depth(choice: &Choice) -> usize {
        let own = usize::from(choice.codelet == "pieces");
        own + choice.calls.iter().map(depth).max().unwrap_or(0)
    }
    // One unit of fuel at host level and one in iterations: each may be taken, and once more where it is there from the start.
    assert!(composed.kept.iter().all(|(choice, _)| depth(choice) <= 4), "{:?}", kept(&composed));
}

#[test]
fn calls_have_the_choice_too() {
    let composed = of(&format!(
        "{SLOW}function rows input int A[M][K]; output int y[M]; {{ map {{ m := [0:M); sum(A[m][*], y[m]); }} }}"
    ));
    let kept = kept(&composed);
    assert!(kept.iter().any(|text| text.starts_with("rows[lanes")), "{kept:?}");
    assert!(composed.kept.iter().all(|(choice, _)| choice.calls.iter().all(|call| call.in_map)));
}

#[test]
fn conditions_leave_another_body() {
    let composed = of("function f input int x[N]; output int s; { reduce(\"+\", x, s, N); }
        codelet f \"few\" when (N < 100) { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }");
    assert_eq!(kept(&composed), ["few or f"]);
    assert_eq!(composed.codelets[0].ratio, Some(1.0), "where it does not hold the function runs");
}

#[test]
fn many_codelets_are_bounded() {
    let values: Vec<String> = (1..=16).map(|value| value.to_string()).collect();
    let values = format!("{{{}}}", values.join(", "));
    let mut text = "function sum input int x[N]; output int s; { reduce(\"+\", x, s, N); }\n".to_owned();
    for number in 0..16 {
        text += &format!(
            "codelet sum \"c{number}\" tunable long p = {values}, q = {values}, r = {values}, o = {values};
             {{ int part[p]; map {{ t := [0:p); sum(x[adjacent t of p], part[t]); }} sum(part, s); s += (q + r + o) * 0; }}\n"
        );
    }
    let composed = of(&text);
    assert!(composed.cut);
    assert_eq!((composed.kept.len(), composed.codelets.len()), (MOST, 16));
}

/// What a codelet costs changes which compositions are kept.
#[test]
fn costs_decide() {
    let slow = SLOW.replace("_t = x[i]; }", "_t = int(sin(float(x[i]))); }");
    let ratio = |text: &str| of(text).codelets[0].ratio.expect("it runs");
    assert!(ratio(&slow) > ratio(SLOW), "{} {}", ratio(&slow), ratio(SLOW));
}

#[test]
fn names_are_identifiers() {
    let mut choice = of(SLOW).kept[0].0.clone();
    choice.codelet = "2 parts-by lanes".into();
    choice.calls.clear();
    assert_eq!(name_of(&choice), "c2_parts_by_lanes");
    assert_eq!(unlike("a", |name| name == "a" || name == "a2"), "a3");
}
