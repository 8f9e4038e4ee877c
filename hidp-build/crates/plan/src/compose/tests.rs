use super::search::BEST;
use super::space::BODIES;
use super::*;
use crate::dispatch::Rule;
use crate::notation::Plan;
use crate::testing::{checked, checked_files};
use crate::{add_size, candidates, dispatch};

/// The compositions of the last entry.
fn of(text: &str) -> Composed {
    let program = checked(text);
    composed(&program, *program.entries.last().expect("an entry"), &Model::cpu().calls)
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

/// What the search says of itself is what it did.
#[test]
fn searches_are_counted() {
    let program = checked(SLOW);
    let (levels, choosing, entry) = (Model::cpu().calls, program.choosing(), program.entries[0]);
    let bodies = Bodies::new(&program, (&choosing, &levels), COMBINATIONS[0]);
    let mut expected = Searched::default();
    let mut found = 0;
    for size in POINTS {
        let mut point = Compositions::new(&bodies, entry, vec![size as i64], false);
        found += point.best().len();
        expected.states += point.states();
        expected.bodies += point.weighed;
        expected.combinations += point.evaluations();
    }
    let Composed { searched, codelets, .. } = composed(&program, entry, &levels);
    // The entry as it is written, and one more for each codelet.
    found += 1 + codelets.len();
    let Searched { compared, merged, .. } = searched;
    assert_eq!(searched, Searched { compared, merged, ..expected });
    assert_eq!(compared + merged, found);
    assert!(compared > 1 && merged > 0 && expected.combinations > 0, "{searched}");
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
    assert!(composed.kept.iter().all(|(choice, _)| choice.calls.iter().all(|call| call.level == "seq")));
}

#[test]
fn conditions_leave_another_body() {
    let composed = of("function f input int x[N]; output int s; { reduce(\"+\", x, s, N); }
        codelet f \"few\" when (N < 100) { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }");
    assert_eq!(kept(&composed), ["few or f"]);
    assert_eq!(composed.codelets[0].ratio, Some(1.0), "where it does not hold the function runs");
}

/// As many codelets as a function may have, with as many tunables and values, that call themselves.
fn largest() -> String {
    let values: Vec<String> = (1..=16).map(|value| value.to_string()).collect();
    let values = format!("{{{}}}", values.join(", "));
    let mut text = "function sum input int x[N]; output int s; { reduce(\"+\", x, s, N); }\n".to_owned();
    for number in 0..16 {
        text += &format!(
            "codelet sum \"c{number}\" tunable long p = {values}, q = {values}, r = {values}, o = {values};
             {{ int part[p]; map {{ t := [0:p); sum(x[adjacent t of p], part[t]); }} sum(part, s); s += (q + r + o) * 0; }}\n"
        );
    }
    text
}

#[test]
fn many_codelets_are_bounded() {
    let composed = of(&largest());
    assert!(composed.cut);
    assert_eq!((composed.kept.len(), composed.codelets.len()), (MOST, 16));
}

/// What cannot be among the best is not combined: else each body has its eight derivations of calls made.
#[test]
fn the_largest_spectra_are_searched_in_few_steps() {
    let program = checked(&largest());
    let (levels, choosing, entry) = (Model::cpu().calls, program.choosing(), program.entries[0]);
    let bodies = Bodies::new(&program, (&choosing, &levels), COMBINATIONS[1]);
    let mut point = Compositions::new(&bodies, entry, vec![262_144], true);
    let best = point.best().len();
    assert_eq!(best, BEST);
    assert!(point.evaluations() < point.weighed, "{} evaluations for {} bodies", point.evaluations(), point.weighed);
    // Where there are too many bodies for all values, nothing more is looked at.
    let bodies = Bodies::new(&program, (&choosing, &levels), COMBINATIONS[0]);
    let given_up = Compositions::new(&bodies, entry, vec![262_144], false);
    assert!(given_up.exceeded && given_up.weighed <= BODIES, "{} bodies", given_up.weighed);
}

/// Codelets that call themselves for pieces, whose number takes two tunables.
fn recursive(codelets: usize) -> String {
    let values: Vec<String> = (1..=16).map(|value| value.to_string()).collect();
    let values = format!("{{{}}}", values.join(", "));
    let codelet = |number: usize| {
        format!(
            "codelet sum \"c{number}\" tunable long p = {values}, q = {values};
             {{ int part[p * q]; map {{ t := [0:p * q); sum(x[adjacent t of p * q], part[t]); }} sum(part, s); }}\n"
        )
    };
    let function = "function sum input int x[N]; output int s; { reduce(\"+\", x, s, N); }\n";
    (0..codelets).fold(function.to_owned(), |text, number| text + &codelet(number))
}

/// Where codelets have more values of tunables than can be looked at, calls in all states have fewer.
#[test]
fn bodies_are_bounded() {
    let program = checked(&recursive(16));
    let (levels, choosing, entry) = (Model::cpu().calls, program.choosing(), program.entries[0]);
    let weighed = |most: usize, size: i64| {
        let bodies = Bodies::new(&program, (&choosing, &levels), most);
        let Compositions { weighed, exceeded, .. } = Compositions::new(&bodies, entry, vec![size], true);
        assert!(weighed <= 2 * BODIES, "{weighed} bodies at {size}");
        assert!(exceeded || weighed <= BODIES, "{weighed} bodies at {size}");
        exceeded
    };
    let exceeded = COMBINATIONS.map(|most| POINTS.map(|size| weighed(most, size as i64)).contains(&true));
    assert_eq!(exceeded, [true, true, false]);
    let composed = composed(&program, entry, &levels);
    assert!(composed.cut && composed.codelets.iter().all(|fate| fate.ratio.is_some()), "{:?}", composed.codelets);
    // Each tunable has several values.
    let point = Bodies::new(&program, (&choosing, &levels), COMBINATIONS[2]);
    let values: Vec<Vec<i64>> =
        point.of(entry)[1].combinations.iter().map(|of| of.iter().map(|(_, value)| *value).collect()).collect();
    assert_eq!(values, [[1, 1], [1, 2], [2, 1], [2, 2]]);
}

/// A long chain of functions, each with a codelet that calls the next one twice: 2^30 bodies, were they looked at one by one.
#[test]
fn long_chains_end() {
    let mut text = "function f0 input int x[N]; output int s; { reduce(\"+\", x, s, N); }\n".to_owned();
    for at in 1..=30 {
        let call = |to: &str| format!("f{}(x, {to});", at - 1);
        text += &format!(
            "function f{at} input int x[N]; output int s; {{ {} }}
             codelet f{at} \"twice\" {{ int a, b; {} {} s = (a + b) / 2; }}\n",
            call("s"),
            call("a"),
            call("b")
        );
    }
    let Composed { kept, codelets, cut, searched } = of(&text);
    assert!(!cut && kept.len() == MOST && codelets.len() == 30, "{}", kept.len());
    assert!(searched.states <= 31 * 4 * POINTS.len() && searched.combinations <= 400_000, "{searched}");
}

/// Compositions do not depend on which file comes first.
#[test]
fn files_in_another_order_have_the_same_compositions() {
    let (function, codelets) = SLOW.split_once("codelet").expect("codelets");
    let (lanes, pieces) = codelets.split_once("codelet").expect("two");
    let rows = "function rows input int A[M][K]; output int y[M]; { map { m := [0:M); sum(A[m][*], y[m]); } }\n";
    let codelet = |text: &str| format!("import \"function.hdp\";\ncodelet{text}");
    let texts = [format!("{function}{rows}"), codelet(lanes), codelet(pieces)];
    let names = ["function.hdp", "lanes.hdp", "pieces.hdp"];
    let composed = |order: [usize; 3]| {
        let program = checked_files(&order.map(|at| (names[at], texts[at].as_str())));
        let Composed { kept, codelets, searched, .. } = composed(&program, program.entries[0], &Model::cpu().calls);
        let mut kept: Vec<String> =
            kept.iter().map(|(choice, ratios)| format!("{:?} {ratios:?}", shown(choice))).collect();
        let mut fates: Vec<String> = codelets.iter().map(ToString::to_string).collect();
        kept.sort_unstable();
        fates.sort_unstable();
        (kept, fates, searched)
    };
    let expected = composed([0, 1, 2]);
    assert_eq!((expected.0.len(), expected.1.len()), (2, 2), "{expected:?}");
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(composed(order), expected, "{order:?}");
    }
}

/// Which way of cutting is looked at first, and taken.
#[test]
fn models_say_how_tiles_are_cut() {
    let program = checked(&SLOW.replace("adjacent", "tiles"));
    let first = |way: PieceWay| {
        let mut levels = Model::cpu().calls;
        levels.all[0].deals[0].1 = way;
        let composed = composed(&program, program.entries[0], &levels);
        let ways = composed.kept.iter().filter(|(choice, _)| choice.codelet == "pieces");
        ways.map(|(choice, _)| (choice.tiles, choice.pieces.clone())).next().expect("pieces are kept")
    };
    for way in PieceWay::ALL {
        assert_eq!(first(way), (Some(way), vec![way]));
    }
}

/// What a codelet costs changes which compositions are kept.
#[test]
fn costs_decide() {
    let fast = SLOW.replace("s = 0; for (long i = 0; i < N; i += 1) s += x[i];", "reduce(\"+\", x, s, N);");
    let slow = fast.replace("_t = x[i]; }", "_t = int(sin(float(x[i]))); }");
    let ratio = |text: &str| of(text).codelets[0].ratio.expect("it runs");
    assert!(ratio(&slow) > ratio(&fast), "{} {}", ratio(&slow), ratio(&fast));
}

/// Loops count their turns where sizes say them.
#[test]
fn loops_in_order_cost_what_sizes_say() {
    let ratios = |head: &str| {
        let composed = of(&format!(
            "function f input int x[N]; output int s; {{ reduce(\"+\", x, s, N); }}
             codelet f \"loop\" {{ reduce(\"+\", x, s, N); for ({head}) s += 0 * x[0]; }}"
        ));
        composed.kept[0].1.clone()
    };
    let (all, few) = (ratios("long i = 0; i < N; i += 1"), ratios("long i = 1; i < N; i *= 2"));
    assert!(all.iter().all(|ratio| *ratio > 2.0), "{all:?}");
    assert!(few[2] < 1.01, "{few:?}");
}

#[test]
fn names_are_identifiers() {
    let mut choice = of(SLOW).kept[0].0.clone();
    choice.codelet = "2 parts-by lanes".into();
    choice.calls.clear();
    assert_eq!(name_of(&choice), "c2_parts_by_lanes");
    assert_eq!(unlike("a", |name| name == "a" || name == "a2"), "a3");
}

/// The rules of the last entry's compositions, and what each promises at best.
fn promised(text: &str) -> (Vec<String>, Vec<(String, Option<f64>)>) {
    let (mut program, model) = (checked(text), Model::cpu());
    compose(&mut program, &model, None, &mut Sink::new());
    hidp_pass::run(&mut program, hidp_pass::PIPELINE).expect("no pass breaks a program");
    let entry = *program.entries.last().expect("an entry");
    let plans = candidates(&program, entry, &model);
    let form = |form: &Alternative| {
        let plan = candidates(&program, form.func, &model).swap_remove(0);
        (form.func, Plan { name: form.name.clone(), ..plan })
    };
    let forms: Vec<(FuncId, Plan)> = program.alternatives_of(entry).map(form).collect();
    let mut own = dispatch(&program, &program.funcs[entry], &plans, &model);
    add_size(&mut own, &program.funcs[entry]);
    let Promise { rules, least } = promise(&program, entry, (&plans, &forms), &own, &model);
    let names = forms.into_iter().map(|(_, plan)| plan.name);
    (rules.iter().map(|rule| own.print(rule)).collect(), names.zip(least).collect())
}

#[test]
fn rules_are_for_the_sizes_that_gain() {
    let slow = "function sum input float x[N]; output float s; { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }\n";
    let lanes = "{ map { i := [0:N); _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }\n";
    let (rules, least) = promised(&format!("{slow} codelet sum \"lanes\" {lanes}"));
    assert_eq!(rules, ["size >= 256: lanes"]);
    assert!(least[0].1.is_some_and(|ratio| ratio < 0.2), "{least:?}");
    let (rules, _) = promised(&format!("{slow} codelet sum \"many\" when (N >= 100000) {lanes}"));
    assert_eq!(rules, ["size >= 262144: many"]);
    let (rules, _) = promised(&format!("{slow} codelet sum \"few\" when (N <= 4096) {lanes}"));
    assert_eq!(rules, ["size < 16384: few"]);
}

#[test]
fn what_gains_nothing_has_no_rule() {
    let fast = "function sum input float x[N]; output float s; { reduce(\"+\", x, s, N); }\n";
    let of = |codelet: &str| promised(&format!("{fast} codelet sum {codelet}"));
    let (rules, least) = of("\"slow\" { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }");
    assert_eq!((rules.len(), least[0].1.is_some_and(|ratio| ratio > 1.25)), (0, true), "{least:?}");
    let never = "\"never\" when (N >= 1000000000000) { s = 0; }";
    let (rules, least) = of(never);
    assert_eq!((rules.len(), least[0].1), (0, None), "{least:?}");
    // Nor where another function calls the one with codelets.
    let caller = "function rows input float A[M][K]; output float y[M]; { map { m := [0:M); sum(A[m][*], y[m]); } }";
    let (rules, least) = promised(&format!("{fast} codelet sum {never} {caller}"));
    assert_eq!((rules.len(), least[0].1), (0, None), "{least:?}");
}

/// Where a codelet's condition does not hold, its composition is as good as the entry, so one comparison can choose it for all sizes.
#[test]
fn rules_may_be_for_sizes_at_which_no_codelet_runs() {
    let (rules, least) = promised(
        "function rows input float x[N][K]; output float s[N];
         { map { n := [0:N); float t = 0; for (long k = 0; k < K; k += 1) t += x[n][k]; s[n] = t; } }
         codelet rows \"long\" when (K >= 4096)
         { map { n := [0:N); map { k := [0:K); _t = x[n][k]; } reduce(\"+\", s[n], _t, k := [*]); } }",
    );
    assert_eq!(rules, ["size >= 65536: long"]);
    assert!(least[0].1.is_some_and(|ratio| ratio < 0.5), "{least:?}");
}

/// What comes near is a version as long as all make few loops more; what has a rule is one in any case.
#[test]
fn versions_that_only_come_near_are_few() {
    let promise = Promise { rules: Vec::new(), least: vec![Some(1.1), Some(1.0), None, Some(2.0), Some(1.2)] };
    let names = ["a", "b", "c", "d", "e"];
    let of = |promise: &Promise, loops: [usize; 5]| promise.left_out(&names, (&loops, 8), &Model::cpu());
    let (never, slow) = (Some(LeftOut::Never), Some(LeftOut::Slow(2.0)));
    assert_eq!(of(&promise, [2, 2, 1, 1, 1]), [None, None, never, slow, Some(LeftOut::Large(1.2))]);
    assert_eq!(of(&promise, [3, 2, 1, 1, 2]), [Some(LeftOut::Large(1.1)), None, never, slow, None]);
    let rule = Rule { conditions: Vec::new(), plan: "a".into() };
    let ruled = Promise { rules: vec![rule], ..promise };
    assert_eq!(of(&ruled, [2, 2, 1, 1, 1])[..2], [None, None]);
    assert_eq!(of(&ruled, [9, 4, 1, 1, 1])[..2], [None, Some(LeftOut::Large(1.0))]);
}

#[test]
fn loops_are_counted_where_they_are_innermost() {
    let of = |body: &str| {
        let program = checked(&format!("function f input float x[N]; output float s, y[N]; {{ {body} }}"));
        loops(&program.funcs[program.entries[0]])
    };
    assert_eq!(of("s = 0; y = x;"), 1);
    assert_eq!(of("reduce(\"+\", x, s, N); y = 0; if (N > 1) { y = x; } else { y = 2 * x; }"), 4);
    assert_eq!(of("s = 0; map { i := [0:N); float t = 0; for (long k = 0; k < i; k += 1) t += x[k]; y[i] = t; }"), 1);
}
