//! The best derivations of a space of choices, exactly.
//!
//! A state is a call whose body is open; it has options, each with a cost of its own and calls, which are states again. No state reaches
//! itself. Costs of calls are multiplied by a weight and added, so the best derivations of a state follow from the best of its calls.

/// How many derivations of a state are kept.
pub(super) const BEST: usize = 8;
/// Evaluations of an entry beyond which the search is cut.
const EVALUATIONS: usize = 400_000;

/// A space of choices. Options of later states are those of calls of earlier ones, or the other way round; no cycles.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// Options of each state, in the order of the text.
    pub(super) states: Vec<Vec<Alternative>>,
}

/// A way to run the calls of a state.
#[derive(Clone, Debug)]
pub(super) struct Alternative {
    /// Without its calls.
    pub(super) own: f64,
    /// States of its calls and how often each counts.
    pub(super) calls: Vec<(usize, f64)>,
}

/// An option of a state, and derivations of its calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Derivation {
    /// Its cost.
    pub(super) cost: f64,
    /// Number of the option.
    pub(super) option: usize,
    /// One a call.
    pub(super) calls: Vec<Derivation>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The best first; of equal ones the first in the order of the text.
    pub(super) best: Vec<Derivation>,
    /// Whether the search was cut.
    pub(super) cut: bool,
}

/// The best derivations of a state.
pub(super) fn best(space: &Space, root: usize) -> Found {
    let mut search = Search { space, known: vec![None; space.states.len()], evaluations: 0 };
    let best = search.state(root);
    Found { best, cut: search.evaluations > EVALUATIONS }
}

struct Search<'a> {
    space: &'a Space,
    known: Vec<Option<Vec<Derivation>>>,
    evaluations: usize,
}

impl Search<'_> {
    fn state(&mut self, state: usize) -> Vec<Derivation> {
        if let Some(known) = &self.known[state] {
            return known.clone();
        }
        let mut all: Vec<Derivation> = Vec::new();
        for (option, alternative) in self.space.states[state].iter().enumerate() {
            let mut partial = vec![Derivation { cost: alternative.own, option, calls: Vec::new() }];
            for &(call, weight) in &alternative.calls {
                let of_call = self.state(call);
                let mut longer = Vec::new();
                for known in &partial {
                    for next in &of_call {
                        self.evaluations += 1;
                        // What comes later costs more, in the order of the calls.
                        if self.evaluations > EVALUATIONS && !longer.is_empty() {
                            break;
                        }
                        let mut calls = known.calls.clone();
                        calls.push(next.clone());
                        longer.push(Derivation { cost: known.cost + weight * next.cost, option, calls });
                    }
                }
                partial = least(longer);
            }
            all.extend(partial);
        }
        let best = least(all);
        self.known[state] = Some(best.clone());
        best
    }
}

/// The cheapest ones, in order; equal ones stay as they were.
fn least(mut all: Vec<Derivation>) -> Vec<Derivation> {
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    all.truncate(BEST);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All derivations of a state.
    fn all(space: &Space, state: usize) -> Vec<Derivation> {
        let mut found = Vec::new();
        for (option, alternative) in space.states[state].iter().enumerate() {
            let mut partial = vec![Derivation { cost: alternative.own, option, calls: Vec::new() }];
            for &(call, weight) in &alternative.calls {
                let of_call = all(space, call);
                partial = partial
                    .iter()
                    .flat_map(|known| {
                        of_call.iter().map(|next| {
                            let mut calls = known.calls.clone();
                            calls.push(next.clone());
                            Derivation { cost: known.cost + weight * next.cost, option, calls }
                        })
                    })
                    .collect();
            }
            found.extend(partial);
        }
        found
    }

    struct Random(u64);
    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    /// Whole costs, so that sums are exact in any order, with many that are equal.
    fn random(seed: u64) -> Space {
        let mut random = Random(seed);
        let states = 1 + random.below(5) as usize;
        let mut space = Space::default();
        for state in 0..states {
            let options = 1 + random.below(3);
            let mut of_state = Vec::new();
            for _ in 0..options {
                let calls = if state + 1 < states { random.below(3) } else { 0 };
                let mut call = || {
                    let callee = state + 1 + random.below((states - state - 1) as u64) as usize;
                    (callee, random.below(4) as f64)
                };
                let calls: Vec<(usize, f64)> = (0..calls).map(|_| call()).collect();
                of_state.push(Alternative { own: random.below(6) as f64, calls });
            }
            space.states.push(of_state);
        }
        space
    }

    #[test]
    fn searches_equal_enumeration() {
        let mut large = 0;
        for seed in 0..1000 {
            let space = random(seed);
            let enumerated = all(&space, 0);
            large += usize::from(enumerated.len() > BEST);
            let found = best(&space, 0);
            assert!(!found.cut);
            let costs = |derivations: &[Derivation]| derivations.iter().map(|one| one.cost).collect::<Vec<_>>();
            assert_eq!(costs(&found.best), costs(&least(enumerated.clone())), "seed {seed}");
            assert!(found.best.iter().all(|one| enumerated.contains(one)), "seed {seed}");
            assert!(found.best.iter().enumerate().all(|(at, one)| !found.best[..at].contains(one)), "seed {seed}");
        }
        assert!(large > 100, "{large} spaces had more derivations than are kept");
    }
}
