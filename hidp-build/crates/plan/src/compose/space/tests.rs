//! The search beside an enumeration of all choices, for random spectra under random models.

use super::*;
use crate::target::{CallLevels, DeviceModel, Model};
use crate::testing::checked;
use hidp_ir::par::{Codelet, Program, sites};
use hidp_syntax::ast::PieceWay;

/// Compositions that the search gives.
const BEST: usize = 8;

struct Random(u64);
impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Bodies without calls that have a choice.
const LEAVES: [&str; 4] = [
    "{ reduce(\"+\", x, s, N); }",
    "{ s = 0; for (long i = 0; i < N; i += 1) s += x[i]; }",
    "{ map { i := [0:N); _t = x[i]; } reduce(\"+\", s, _t, i := [*]); }",
    "{ int t[N]; map { i := [0:N); t[i] = x[i] * 3 / 3; } reduce(\"+\", t, s, N); }",
];

/// A function with codelets of which some call it, and one that calls it for rows, in a map or for the first.
fn program(random: &mut Random) -> Program {
    let mut text = format!("function sum input int x[N]; output int s; {}\n", random.one(&LEAVES));
    for number in 0..1 + random.below(3) {
        let body = match random.below(3) {
            0 => random.one(&LEAVES).to_owned(),
            _ => {
                let (way, values) = (random.one(&["adjacent", "strided", "tiles"]), random.one(&["{64, 4}", "{7}"]));
                let last = random.one(&["sum(part, s);", "reduce(\"+\", part, s, p);"]);
                format!(
                    "tunable long p = {values}; {{ int part[p]; map {{ t := [0:p); sum(x[{way} t of p], part[t]); }} {last} }}"
                )
            }
        };
        text += &format!("codelet sum \"c{number}\" {body}\n");
    }
    text += "function rows input int A[M][K]; output int y[M]; { map { m := [0:M); sum(A[m][*], y[m]); } }\n";
    if random.below(2) == 0 {
        text +=
            "codelet rows \"one by one\" { for (long m = 0; m < M; m += 1) { int t; sum(A[m][*], t); y[m] = t; } }\n";
    }
    checked(&text)
}

fn model(random: &mut Random) -> CallLevels {
    let mut levels = Model::cpu().calls;
    levels.all[0].start = 1 << random.below(20);
    levels.all[0].scalar = 1 + random.below(40) as u32;
    levels.all[0].deals[0].1 = PieceWay::ALL[random.below(2)];
    levels.unknown = 1 + random.below(100) as u32;
    levels.primitive = 1 + random.below(20) as u32;
    levels.turn = 1 + random.below(40) as u32;
    levels.gathered = 1 + random.below(100) as u32;
    levels
}

/// All choices of a call, by the rules as they are written down.
struct Enumerated<'a> {
    program: &'a Program,
    choosing: &'a OrdSet<FuncId>,
    bodies: &'a Bodies<'a>,
}

impl Enumerated<'_> {
    fn all(&self, function: FuncId, in_map: bool, fuel: bool) -> Vec<Choice> {
        let mut found = self.with(function, None, &[], in_map, fuel);
        for codelet in self.program.spectrum_of(function).into_iter().flat_map(|spectrum| &spectrum.codelets) {
            // Codelets of these tests have one tunable at most.
            let values = codelet.tunables.first().map(|tunable| &tunable.values);
            match values {
                None => found.extend(self.with(function, Some(codelet), &[], in_map, fuel)),
                Some(values) => {
                    let each = values.iter().flat_map(|value| {
                        self.with(function, Some(codelet), &[("p".to_owned(), *value)], in_map, fuel)
                    });
                    found.extend(each);
                }
            }
        }
        found
    }

    fn with(
        &self,
        function: FuncId,
        codelet: Option<&Codelet>,
        tunables: &[(String, i64)],
        in_map: bool,
        fuel: bool,
    ) -> Vec<Choice> {
        let body = codelet.map_or(function, |codelet| codelet.func);
        let (calls, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        let own = |callee: FuncId| self.bodies.together(callee, function);
        if codelet.is_some() && !fuel && calls.iter().any(|site| own(site.callee)) {
            return Vec::new();
        }
        let mut all: Vec<Vec<Choice>> = vec![Vec::new()];
        for site in calls {
            let inner = in_map || site.depth > 0;
            let left = inner && !in_map || !own(site.callee) || codelet.is_none() && fuel;
            let of_call = self.all(site.callee, inner, left);
            all = all
                .iter()
                .flat_map(|known| of_call.iter().map(|next| known.iter().cloned().chain([next.clone()]).collect()))
                .collect();
        }
        let choice = |calls| Choice {
            function: self.program.funcs[function].name.clone(),
            codelet: codelet.map(|codelet| codelet.tag.clone()).unwrap_or_default(),
            level: if in_map { "seq".into() } else { "host".into() },
            tunables: tunables.to_vec(),
            tiles: codelet.and_then(|codelet| codelet.tiles),
            pieces: pieces.clone(),
            calls,
            otherwise: None,
        };
        all.into_iter().map(choice).collect()
    }
}

#[test]
fn the_best_are_those_of_all() {
    let (mut most, mut changed) = (0, 0);
    for seed in 0..30 {
        let mut random = Random(seed);
        let program = program(&mut random);
        let choosing = program.choosing();
        let usual = Model::cpu().calls;
        let bodies = Bodies::new(&program, (&choosing, &usual), 64);
        let entry = *program.entries.last().expect("an entry");
        let enumerated = Enumerated { program: &program, choosing: &choosing, bodies: &bodies };
        let all = enumerated.all(entry, false, true);
        most = most.max(all.len());
        let mut firsts = Vec::new();
        for _ in 0..3 {
            let model = model(&mut random);
            let mut size = |least: usize| (least + (random.below(3000) >> random.below(12))) as i64;
            let sizes = vec![size(1), size(0)];
            let bodies = Bodies::new(&program, (&choosing, &model), 64);
            let mut space = Compositions::new(&bodies, entry, sizes, true);
            let found = space.best();
            assert!(!space.cut);
            let price = |choice: &Choice| space.price(choice).expect("every choice has a price");
            let mut prices: Vec<f64> = all.iter().map(price).collect();
            prices.sort_by(f64::total_cmp);
            prices.truncate(BEST);
            let own: Vec<f64> = found.iter().map(price).collect();
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs();
            assert_eq!(own.len(), prices.len(), "seed {seed}");
            assert!(own.iter().zip(&prices).all(near), "seed {seed}: {own:?} and {prices:?}");
            assert!(found.iter().all(|choice| all.contains(choice)), "seed {seed}");
            firsts.push(found[0].clone());
        }
        changed += usize::from(firsts.iter().any(|first| *first != firsts[0]));
    }
    assert!(most > 100, "at most {most} choices");
    assert!(changed > 5, "models and sizes change the best in {changed} programs");
}

/// A function with codelets that have conditions, of which sizes decide some and scalars others, and one that calls it for rows.
fn conditional(random: &mut Random) -> Program {
    let mut text = format!("function sum input int x[N], k; output int s; {}\n", random.one(&LEAVES));
    for number in 0..1 + random.below(3) {
        let when = random.one(&["", "when (N >= 100)", "when (k > 0)", "when (N < 1000 && k == 1)"]);
        let body = match random.below(2) {
            0 => random.one(&LEAVES).to_owned(),
            _ => {
                let (way, last) = (
                    random.one(&["adjacent", "strided"]),
                    random.one(&["sum(part, k, s);", "reduce(\"+\", part, s, p);"]),
                );
                format!(
                    "tunable long p = {{64}}; {{ int part[p]; map {{ t := [0:p); sum(x[{way} t of p], k, part[t]); }} {last} }}"
                )
            }
        };
        text += &format!("codelet sum \"c{number}\" {when} {body}\n");
    }
    text += "function rows input int A[M][K], k; output int y[M]; { map { m := [0:M); sum(A[m][*], k, y[m]); } }\n";
    checked(&text)
}

/// Levels of a device, of which some take whole calls from levels around them.
fn device(random: &mut Random) -> CallLevels {
    let mut levels = DeviceModel::cuda().calls;
    let inner = levels.all.len() - 1;
    levels.all[0].devolves = vec![1; random.below(2)];
    levels.all[1].devolves = vec![inner; random.below(2)];
    for level in &mut levels.all {
        (level.start, level.wait) = (1 << random.below(12), 1 << random.below(12));
        level.scalar = 1 + random.below(64) as u32;
    }
    levels
}

/// All derivations of a call with what they cost: none is kept for another call, and none is left out.
struct BruteForce<'a>(&'a Bodies<'a>);

impl BruteForce<'_> {
    fn all(&self, state: &State) -> Vec<(f64, Choice)> {
        let level = &self.0.levels.all[state.level];
        let takes =
            |body: &&Body<'_>| body.needs.met_by(level) && (state.fuel || !body.recursive || body.codelet.is_none());
        let mut found = Vec::new();
        for body in self.0.of(state.function).iter().filter(takes) {
            let inner: Vec<_> = level.deals.iter().map(|(to, _)| Some(*to)).collect();
            let dealt = if body.needs.deals() && !inner.is_empty() { inner } else { vec![None] };
            let each = body.combinations.iter().flat_map(|tunables| dealt.iter().map(move |dealt| (tunables, *dealt)));
            found.extend(each.flat_map(|(tunables, dealt)| self.with(state, body, tunables, dealt)));
        }
        for to in &level.devolves {
            let inner = self.all(&State { level: *to, fuel: true, ..state.clone() });
            found.extend(inner.into_iter().map(|(cost, choice)| (cost + f64::from(level.wait), choice)));
        }
        found
    }

    fn with(
        &self,
        state: &State,
        body: &Body<'_>,
        tunables: &[(VarId, i64)],
        dealt: Option<usize>,
    ) -> Vec<(f64, Choice)> {
        let Bodies { program, choosing, levels, .. } = *self.0;
        let func = &program.funcs[body.func];
        let when = body.codelet.and_then(|codelet| codelet.when.as_ref());
        let holds = when.map(|when| holds(when, &known(func, &state.sizes, tunables)));
        let at = (state.level, dealt);
        let weighed = weigh(program, func, &state.sizes, tunables, at, (choosing, levels));
        let (Some(Weighed { own, calls }), false) =
            (weighed, when.is_some() && state.branched || holds == Some(Some(false)))
        else {
            return Vec::new();
        };
        let share = if holds == Some(None) { 0.5 } else { 1.0 };
        let mut all = vec![(own * share, Vec::new())];
        for call in calls {
            let apart = call.level != state.level || !self.0.together(call.callee, state.function);
            let inner = self.all(&State {
                function: call.callee,
                level: call.level,
                fuel: apart || body.codelet.is_none() && state.fuel,
                branched: state.branched || when.is_some(),
                sizes: call.sizes,
            });
            let longer = |(cost, calls): &(f64, Vec<Choice>)| {
                let with = |(own, choice): &(f64, Choice)| {
                    (cost + call.times * share * own, calls.iter().cloned().chain([choice.clone()]).collect())
                };
                inner.iter().map(with).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        let otherwise = when.map(|_| {
            let others = self.all(&State { branched: true, ..state.clone() });
            others.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("the function itself")
        });
        let rest = otherwise.as_ref().map_or(0.0, |(cost, _)| cost * (1.0 - share));
        let name = |var: VarId| program.funcs[body.func].vars[var].name.clone();
        let choice = |(cost, calls): (f64, Vec<Choice>)| {
            let choice = Choice {
                function: program.funcs[state.function].name.clone(),
                codelet: body.codelet.map(|codelet| codelet.tag.clone()).unwrap_or_default(),
                level: levels.all[state.level].name.clone(),
                tunables: tunables.iter().map(|(var, value)| (name(*var), *value)).collect(),
                tiles: None,
                pieces: body.pieces.clone(),
                calls,
                otherwise: otherwise.clone().map(|(_, other)| Box::new(other)),
            };
            (cost + rest, choice)
        };
        all.into_iter().map(choice).collect()
    }
}

#[test]
fn the_best_on_devices_and_with_conditions_are_those_of_all() {
    let (mut most, mut branches, mut levels_met) = (0, 0, OrdSet::new());
    for seed in 0..20 {
        let mut random = Random(seed);
        let program = conditional(&mut random);
        let choosing = program.choosing();
        let levels = if seed % 3 == 0 { model(&mut random) } else { device(&mut random) };
        let bodies = Bodies::new(&program, (&choosing, &levels), 64);
        for &function in &choosing {
            let dims = program.funcs[function].dims.len();
            let sizes: Vec<i64> = (0..dims).map(|_| (1 + (random.below(3000) >> random.below(8))) as i64).collect();
            let mut space = Compositions::new(&bodies, function, sizes.clone(), true);
            let found = space.best();
            assert!(!space.cut);
            let root = State { function, level: 0, fuel: true, branched: false, sizes };
            let mut all = BruteForce(&bodies).all(&root);
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            most = most.max(all.len());
            assert_eq!(found.len(), all.len().min(BEST), "seed {seed}");
            for (choice, (cost, _)) in found.iter().zip(&all) {
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
                let same = || all.iter().filter(|(_, other)| other == choice);
                assert!(same().any(|(own, _)| near(*own, *cost)), "seed {seed}: {cost} {choice:?}");
                // A level may be reached in several ways.
                let (least, _) = same().next().expect("one");
                let price = space.price(choice).expect("a price");
                assert!(near(price, *least), "seed {seed}: {price} and {least}");
                branches += usize::from(choice.otherwise.is_some());
                levels_met.insert(choice.calls.first().map_or(choice, |call| call).level.clone());
            }
        }
    }
    assert!(most > 300, "at most {most} choices");
    assert!(branches > 50, "{branches} with conditions");
    assert!(levels_met.len() > 4, "{levels_met:?}");
}
