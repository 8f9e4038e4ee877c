//! Levels and what they can do are data: other models give other rules and compositions, and no code changes.

use hidp_syntax::ordered::OrdSet;

use super::space::Compositions;
use super::*;
use crate::testing::checked;

const CPU: &str = include_str!("../../targets/cpu.toml");
const CUDA: &str = include_str!("../../targets/cuda.toml");

/// The sums of TANGRAM: in order, by lanes that work together, and by parts, neighbouring or not.
const SUMS: &str = "function sum input int x[N]; output int s; { s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }
codelet sum \"together\"
{
  int a[N], b[N];
  map { i := [0:N); a[i] = x[i]; }
  for (long w = 1; w < N; w *= 2) { map { i := [0:N); b[i] = i >= w ? a[i] + a[i - w] : a[i]; } swap(a, b); }
  if (N > 0) s = a[N - 1]; else s = 0;
}
codelet sum \"adjacent\" tunable long p = {64};
{ int part[p]; map { t := [0:p); sum(x[adjacent t of p], part[t]); } sum(part, s); }
codelet sum \"strided\" tunable long p = {64};
{ int part[p]; map { t := [0:p); sum(x[strided t of p], part[t]); } sum(part, s); }\n";

/// A sum that takes as long as it has elements, where it is not dealt out.
const PARTS: &str = "function sum input int x[N]; output int s; { reduce(\"+\", x, s, N); }
codelet sum \"adjacent\" tunable long p = {64};
{ int part[p]; map { t := [0:p); sum(x[adjacent t of p], part[t]); } sum(part, s); }\n";

/// A model of nothing but levels: the name of each, what it can do, and to which it deals iterations and gives whole calls.
fn levels(all: &[(&str, &str, &str)]) -> CallLevels {
    let list = |words: &str| words.split_whitespace().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let mut text = "[codelets]\nunknown = 16\nprimitive = 4\nturn = 1\ngathered = 8\n".to_owned();
    for (at, (name, can, inner)) in all.iter().enumerate() {
        let tiles = inner.split_whitespace().map(|_| "adjacent ").collect::<String>();
        let (can, inner, tiles) = (list(can), list(inner), list(&tiles));
        text += &format!(
            "[[level]]\nname = \"{name}\"\ncan = [{can}]\ndeals = [{inner}]\ntiles = [{tiles}]\ndevolves = [{inner}]
             groups = {}\nlanes = 1\nscalar = 1\nstart = 1\nwait = 1\n",
            100_u32.pow(at as u32)
        );
    }
    CallLevels::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A processor as in TANGRAM's chapter on composition: a process, which computes nothing by itself, of threads.
fn process() -> CallLevels {
    levels(&[("P", "sync", "T"), ("T", "scalar", "")])
}

/// And a graphics processor: a grid of blocks, whose lanes work together, of threads.
fn grid(block: &str) -> CallLevels {
    levels(&[("G", "sync", "B"), ("B", block, "T"), ("T", "scalar", "")])
}

/// All derivations of the last entry, named as rules are there: 1 gives the call to a group further in, 2 computes in order, 3 in lanes, 4 and 5 deal
/// out neighbouring and other parts.
fn derivations(text: &str, levels: &CallLevels) -> Vec<String> {
    with_space(text, levels, |space| space.all(&named))
}

/// The rules that they use.
fn rules(text: &str, levels: &CallLevels) -> String {
    let rules = with_space(text, levels, |space| space.rules(&named));
    rules.into_iter().collect::<Vec<_>>().join(" ")
}

fn with_space<T>(text: &str, levels: &CallLevels, of: impl FnOnce(&Compositions<'_>) -> T) -> T {
    let program = checked(text);
    let choosing = program.choosing();
    let bodies = Bodies::new(&program, (&choosing, levels), 64);
    let entry = *program.entries.last().expect("an entry");
    let sizes = vec![100_000; program.funcs[entry].dims.len()];
    let space = Compositions::new(&bodies, entry, sizes, true);
    assert!(!space.cut);
    of(&space)
}

fn named(level: &str, codelet: &str, devolved: bool) -> String {
    let rule = match codelet {
        _ if devolved => "1",
        "" => "2",
        "together" => "3",
        "adjacent" => "4",
        "strided" => "5",
        other => panic!("{other}"),
    };
    format!("{level}{rule}")
}

#[test]
fn processors_have_the_rules_and_plans_of_the_thesis() {
    assert_eq!(rules(SUMS, &process()), "P1 P4 P5 T2");
    assert_eq!(derivations(SUMS, &process()), ["P4(T2, P1(T2))", "P5(T2, P1(T2))", "P1(T2)"]);
}

#[test]
fn graphics_processors_have_the_rules_and_plans_of_the_thesis() {
    let found = derivations(SUMS, &grid("vector sync"));
    assert_eq!(rules(SUMS, &grid("vector sync")), "B1 B3 B4 B5 G1 G4 G5 T2");
    let block = ["B3", "B4(T2, B3)", "B4(T2, B1(T2))", "B5(T2, B3)", "B5(T2, B1(T2))", "B1(T2)"];
    let one_block = block.iter().map(|one| format!("G1({one})"));
    let many = |rule: &str| {
        let parts = |inner: &&str| block.map(|outer| format!("{rule}({inner}, G1({outer}))"));
        block.iter().flat_map(parts).collect::<Vec<String>>()
    };
    let expected: OrdSet<String> = one_block.chain(many("G4")).chain(many("G5")).collect();
    assert_eq!(found.len(), 6 + 2 * 36);
    assert_eq!(found.into_iter().collect::<OrdSet<_>>(), expected);
}

/// What a level can do decides which bodies run there.
#[test]
fn capabilities_decide() {
    let of = |block: &str| rules(SUMS, &grid(block));
    assert_eq!(of("vector sync"), "B1 B3 B4 B5 G1 G4 G5 T2");
    assert_eq!(of("sync"), "B1 B4 B5 G1 G4 G5 T2", "lanes that cannot share maps do not work together");
    assert_eq!(of("vector"), "B1 G1 G4 G5 T2", "who does not wait sees no parts");
    assert_eq!(of("scalar vector sync"), "B1 B2 B3 B4 B5 G1 G4 G5 T2");
    let threads = |can: &str| rules(SUMS, &levels(&[("P", "sync", "T"), ("T", can, "")]));
    assert_eq!(threads("scalar serial"), "P1 P4 P5 T2 T4 T5");
    assert_eq!(threads("sync"), "", "nobody computes");
}

/// Codelets that none can run, with what each level lacks.
#[test]
fn codelets_that_no_level_can_run_say_why() {
    let refused = |levels: &CallLevels| {
        let program = checked(SUMS);
        let Composed { codelets, .. } = composed(&program, program.entries[0], levels);
        let refused = codelets.into_iter().filter(|fate| !fate.refused.is_empty());
        refused.map(|fate| fate.to_string()).collect::<Vec<_>>()
    };
    let none = "none, no level can run it";
    let (lanes, waiting) = ("has no lanes that share its maps and wait for one another", "cannot wait for what");
    let together = format!("sum \"together\": {none}: level `P` computes nothing by itself, level `T` {lanes}");
    assert_eq!(refused(&process()), [together.as_str()]);
    assert_eq!(refused(&grid("vector sync")), [""; 0]);
    let found = refused(&levels(&[("P", "", "T"), ("T", "scalar vector", "")]));
    let writes = format!("{waiting} the iterations of its maps write");
    let together = format!("sum \"together\": {none}: level `P` computes nothing by itself, level `T` {writes}");
    let dealt = "can neither deal out the iterations of its maps nor run them in order";
    let parts = |way: &str| format!("sum \"{way}\": {none}: level `P` {writes}, level `T` {dealt}");
    assert_eq!(found, [together, parts("adjacent"), parts("strided")]);
}

/// The same of the models that are built in.
#[test]
fn capabilities_of_built_in_models_decide() {
    let rows = format!(
        "{SUMS}function rows input int A[M][K]; output int y[M]; {{ map {{ m := [0:M); sum(A[m][*], y[m]); }} }}"
    );
    let of = |model: &str, level: &str, from: &str, to: &str| {
        let at = model.find(&format!("name = \"{level}\"")).expect("a level");
        let (before, after) = model.split_at(at);
        assert!(after.contains(from), "{from}");
        let changed = format!("{before}{}", after.replacen(from, to, 1));
        let levels = if model == CPU {
            Model::read(&changed).map(|model| model.calls)
        } else {
            DeviceModel::read(&changed).map(|model| model.calls)
        };
        rules(&rows, &levels.unwrap_or_else(|error| panic!("{error}")))
    };
    assert_eq!(of(CPU, "seq", "", ""), "host2 seq2 seq3 seq4 seq5");
    assert_eq!(of(CPU, "seq", "\"vector\", ", ""), "host2 seq2 seq4 seq5");
    assert_eq!(of(CPU, "seq", "\"serial\", ", ""), "host2 seq2 seq3");
    assert_eq!(of(CPU, "seq", "\"scalar\", ", ""), "host2 seq3 seq4 seq5");
    let blocks = of(CUDA, "kernel", "", "");
    assert_eq!(blocks, "block2 block3 block4 block5 kernel2 thread2 thread4 thread5 warp2 warp3 warp4 warp5");
    assert_eq!(of(CUDA, "block", "\"vector\", ", ""), blocks.replace(" block3", ""));
}

/// Waiting that takes long is avoided: the best compositions no longer deal out again what was dealt out.
#[test]
fn costs_of_levels_decide() {
    let program = checked(PARTS);
    let deep = |levels: &CallLevels| {
        fn depth(choice: &Choice) -> usize {
            choice.calls.iter().filter(|call| call.level != choice.level).map(|call| 1 + depth(call)).max().unwrap_or(0)
        }
        let composed = composed(&program, program.entries[0], levels);
        depth(&composed.kept[0].0)
    };
    let usual = levels(&[("far", "scalar sync", "near"), ("near", "scalar sync", "own"), ("own", "scalar", "")]);
    assert_eq!(deep(&usual), 2);
    let mut slow = usual.clone();
    slow.all[1].wait *= 100_000;
    assert_eq!(deep(&slow), 1);
}

/// A machine that nobody has thought of: its names are in the compositions.
#[test]
fn other_models_need_no_code() {
    let cluster = levels(&[
        ("cluster", "sync", "machine"),
        ("machine", "scalar sync", "core"),
        ("core", "scalar vector serial sync", ""),
    ]);
    let program = checked(PARTS);
    let kept = composed(&program, program.entries[0], &cluster).kept;
    let composition = Some(shown(&kept[0].0));
    let first = notation::Plan { composition, ..notation::Plan::new("far", Vec::new()) };
    let expected = "plan far
compose sum \"adjacent\" cluster p=64 pieces(adjacent)
  compose sum \"adjacent\" machine p=64 pieces(adjacent)
    compose sum \"\" core
    compose sum \"\" machine
  compose sum \"\" machine
";
    assert_eq!(first.to_string(), expected);
}

/// Nothing here knows a level by its name.
#[test]
fn levels_have_no_names_in_code() {
    let sources = [
        include_str!("admit.rs"),
        include_str!("bodies.rs"),
        include_str!("fates.rs"),
        include_str!("mod.rs"),
        include_str!("rules.rs"),
        include_str!("search.rs"),
        include_str!("space.rs"),
        include_str!("weigh.rs"),
    ];
    for levels in [Model::cpu().calls, DeviceModel::cuda().calls] {
        for level in levels.all {
            let word = format!("\"{}\"", level.name);
            assert!(sources.iter().all(|source| !source.contains(&word)), "{word}");
        }
    }
}
