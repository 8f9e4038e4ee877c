//! The best derivations of a space of choices, exactly.
//!
//! A state is a call whose body is open; it has options, each with a cost of its own and calls, which are states again. No state reaches
//! itself. Costs of calls are multiplied by a weight and added, so the best derivations of a state follow from the best of its calls.

use hidp_syntax::ordered::OrdMap;
use std::rc::Rc;

/// How many derivations of a state are kept.
pub(super) const BEST: usize = 8;
/// Evaluations of an entry beyond which the search is cut.
const EVALUATIONS: usize = 400_000;

/// A space of choices. Options of later states are those of calls of earlier ones, or the other way round; no cycles.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// Options of each state, in the order of the text.
    pub(super) states: Vec<Vec<Alternative>>,
    /// The best of states whose options are all there.
    known: OrdMap<usize, Rc<[Rc<Derivation>]>>,
    evaluations: usize,
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
    pub(super) calls: Vec<Rc<Derivation>>,
}

impl Space {
    /// The best derivations of a state whose options are all there, those of its calls too: the best first, of equal ones the first in
    /// the order of the text.
    pub(super) fn best(&mut self, state: usize) -> Rc<[Rc<Derivation>]> {
        if let Some(known) = self.known.get(&state) {
            return known.clone();
        }
        let mut all: Vec<Derivation> = Vec::new();
        for option in 0..self.states[state].len() {
            let Alternative { own, calls } = self.states[state][option].clone();
            let of_calls: Vec<Rc<[Rc<Derivation>]>> = calls.iter().map(|(call, _)| self.best(*call)).collect();
            let Some(least) = least(own, &calls, &of_calls) else { continue };
            if all.get(BEST - 1).is_some_and(|last| last.cost <= least) {
                continue;
            }
            let mut partial = vec![Derivation { cost: own, option, calls: Vec::new() }];
            for (of_call, (_, weight)) in of_calls.iter().zip(calls) {
                partial = self.longer(&partial, of_call, weight);
            }
            all.extend(partial);
            all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            all.truncate(BEST);
        }
        let best: Rc<[Rc<Derivation>]> = all.into_iter().map(Rc::new).collect();
        self.known.insert(state, best.clone());
        best
    }

    /// Whether derivations were left out unseen.
    pub(super) fn is_cut(&self) -> bool {
        self.evaluations > EVALUATIONS
    }

    /// How many combinations were looked at.
    pub(super) fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// The best derivations with one call more.
    fn longer(&mut self, partial: &[Derivation], of_call: &[Rc<Derivation>], weight: f64) -> Vec<Derivation> {
        let mut costs = Vec::new();
        for (at, known) in partial.iter().enumerate() {
            // Both are in order: one behind whose parts there are as many others is none of the best.
            for (with, next) in of_call.iter().enumerate().take(BEST / (at + 1)) {
                self.evaluations += 1;
                // What comes later costs more, in the order of the calls.
                if self.is_cut() && !costs.is_empty() {
                    break;
                }
                costs.push((known.cost + weight * next.cost, at, with));
            }
        }
        costs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let made = |(cost, at, with): (f64, usize, usize)| {
            let Derivation { option, calls, .. } = &partial[at];
            let calls = calls.iter().chain([&of_call[with]]).cloned().collect();
            Derivation { cost, option: *option, calls }
        };
        costs.into_iter().take(BEST).map(made).collect()
    }
}

/// What the best derivation of an option costs; nothing if a call has none.
fn least(own: f64, calls: &[(usize, f64)], of_calls: &[Rc<[Rc<Derivation>]>]) -> Option<f64> {
    let each = calls.iter().zip(of_calls);
    // In the order in which `longer` adds, so that equal costs are equal.
    each.map(|((_, weight), of_call)| Some((weight, of_call.first()?)))
        .try_fold(own, |sum, next| next.map(|(weight, best)| sum + weight * best.cost))
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
                            calls.push(Rc::new(next.clone()));
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
            let mut space = random(seed);
            let enumerated = all(&space, 0);
            large += usize::from(enumerated.len() > BEST);
            let found = space.best(0);
            assert!(!space.is_cut());
            let mut costs: Vec<f64> = enumerated.iter().map(|one| one.cost).collect();
            costs.sort_by(f64::total_cmp);
            costs.truncate(BEST);
            assert_eq!(found.iter().map(|one| one.cost).collect::<Vec<_>>(), costs, "seed {seed}");
            assert!(found.iter().all(|one| enumerated.contains(one)), "seed {seed}");
            assert!(found.iter().enumerate().all(|(at, one)| !found[..at].contains(one)), "seed {seed}");
        }
        assert!(large > 100, "{large} spaces had more derivations than are kept");
    }

    /// A body that costs less makes none that calls it worse.
    #[test]
    fn better_calls_make_no_worse_bodies() {
        let mut gained = 0;
        for seed in 0..1000 {
            let (before, mut random) = (random(seed), Random(seed + 1000));
            let mut after = before.clone();
            let state = random.below(after.states.len() as u64) as usize;
            let option = random.below(after.states[state].len() as u64) as usize;
            after.states[state][option].own -= 1.0;
            let costs = |mut space: Space| space.best(0).iter().map(|one| one.cost).collect::<Vec<_>>();
            let (before, after) = (costs(before), costs(after));
            assert_eq!(before.len(), after.len(), "seed {seed}");
            assert!(
                before.iter().zip(&after).all(|(before, after)| after <= before),
                "seed {seed}: {before:?} {after:?}"
            );
            gained += usize::from(before != after);
        }
        assert!(gained > 300, "{gained} of 1000 spaces gain");
    }
}
