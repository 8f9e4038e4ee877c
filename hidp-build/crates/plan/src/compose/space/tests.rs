//! The search beside an enumeration of all choices, for random spectra under random models.

use super::*;
use crate::target::{CallLevels, Model};
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
