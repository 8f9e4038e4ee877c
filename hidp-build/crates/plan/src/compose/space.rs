//! The space of compositions of an entry at given sizes, and what a composition costs in it.
//!
//! A call's state is its function, its place (host level, or an iteration of a map), sizes, and two bits. *Fuel* makes recursion end: a
//! call into its own component (functions whose bodies, codelets included, call one another) at the same place takes the unit of fuel
//! of the body around, a call further inside has one again; without fuel only bodies without such calls are left. *Branched*: of
//! codelets with an open condition there is one on a path.

use std::collections::{BTreeMap, BTreeSet};

use super::is_second_way;
use super::search::{self, Alternative, Derivation, Space};
use super::weigh::{Weighed, holds, known, weigh};
use crate::target::Model;
use hidp_ir::par::{Choice, Codelet, FuncId, Program, VarId, sites};

#[cfg(test)]
mod tests;

/// States of an entry beyond which calls take the function itself.
const STATES: usize = 4096;
/// Combinations of values of a codelet's tunables.
const COMBINATIONS: usize = 64;

/// A call whose body is open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    function: FuncId,
    in_map: bool,
    fuel: bool,
    branched: bool,
    sizes: Vec<i64>,
}

/// A body that a call could take.
#[derive(Clone, Debug)]
struct Taken<'a> {
    /// The function itself, if it is none.
    codelet: Option<&'a Codelet>,
    tunables: Vec<(VarId, i64)>,
    /// The best that runs where the codelet's condition does not hold.
    otherwise: Option<Choice>,
}

/// The compositions of an entry at given sizes.
pub(super) struct Compositions<'a> {
    program: &'a Program,
    choosing: &'a BTreeSet<FuncId>,
    model: &'a Model,
    /// Functions that reach one another, by the number of their component.
    component: &'a BTreeMap<FuncId, usize>,
    space: Space,
    taken: Vec<Vec<Taken<'a>>>,
    states: Vec<State>,
    numbers: BTreeMap<State, usize>,
    root: usize,
    /// Whether something was left out.
    pub(super) cut: bool,
}

impl<'a> Compositions<'a> {
    pub(super) fn new(
        program: &'a Program,
        entry: FuncId,
        sizes: Vec<i64>,
        (choosing, component, model): (&'a BTreeSet<FuncId>, &'a BTreeMap<FuncId, usize>, &'a Model),
    ) -> Self {
        let (space, taken, states, numbers) = (Space::default(), Vec::new(), Vec::new(), BTreeMap::new());
        let mut made =
            Compositions { program, choosing, model, component, space, taken, states, numbers, root: 0, cut: false };
        made.root = made.state(State { function: entry, in_map: false, fuel: true, branched: false, sizes });
        made
    }

    /// The best compositions.
    pub(super) fn best(&mut self) -> Vec<Choice> {
        let found = search::best(&self.space, self.root);
        self.cut |= found.cut;
        found.best.iter().map(|derivation| self.choice(self.root, derivation)).collect()
    }

    /// The number of a state, whose options are found first.
    fn state(&mut self, state: State) -> usize {
        if let Some(number) = self.numbers.get(&state) {
            return *number;
        }
        let number = self.states.len();
        self.numbers.insert(state.clone(), number);
        self.states.push(state.clone());
        self.space.states.push(Vec::new());
        self.taken.push(Vec::new());
        let (mut options, mut all) = (Vec::new(), Vec::new());
        for taken in self.bodies(&state) {
            let Some((option, taken)) = self.option(&state, taken) else { continue };
            options.push(option);
            all.push(taken);
        }
        self.space.states[number] = options;
        self.taken[number] = all;
        number
    }

    /// Every body that a call could take, the function's first.
    fn bodies(&mut self, state: &State) -> Vec<Taken<'a>> {
        let mut found = vec![Taken { codelet: None, tunables: Vec::new(), otherwise: None }];
        let program = self.program;
        let spectrum = program.spectrum_of(state.function);
        let mut codelets: Vec<&Codelet> = spectrum.into_iter().flat_map(|spectrum| &spectrum.codelets).collect();
        codelets.sort_by_key(|codelet| is_second_way(codelet, self.model));
        for codelet in codelets {
            let mut combinations: Vec<Vec<(VarId, i64)>> = vec![Vec::new()];
            for tunable in &codelet.tunables {
                let longer = combinations.iter().flat_map(|known| {
                    tunable.values.iter().map(|value| known.iter().copied().chain([(tunable.var, *value)]).collect())
                });
                combinations = longer.collect();
            }
            self.cut |= combinations.len() > COMBINATIONS;
            combinations.truncate(COMBINATIONS);
            let of = |tunables| Taken { codelet: Some(codelet), tunables, otherwise: None };
            found.extend(combinations.into_iter().map(of));
        }
        found
    }

    /// The option that takes a body, if rules admit it.
    fn option(&mut self, state: &State, mut taken: Taken<'a>) -> Option<(Alternative, Taken<'a>)> {
        let program = self.program;
        let body = &program.funcs[taken.codelet.map_or(state.function, |codelet| codelet.func)];
        let own = |callee: FuncId| self.component.get(&callee) == self.component.get(&state.function);
        let (calls, _) = sites(&body.body, self.choosing);
        if taken.codelet.is_some() && calls.iter().any(|site| own(site.callee)) && !state.fuel {
            return None;
        }
        let when = taken.codelet.and_then(|codelet| codelet.when.as_ref());
        let holds = when.map(|when| holds(when, &known(body, &state.sizes, &taken.tunables)));
        if when.is_some() && (state.branched || holds == Some(Some(false))) || self.states.len() > STATES {
            self.cut |= self.states.len() > STATES;
            if taken.codelet.is_some() {
                return None;
            }
        }
        let branched = state.branched || when.is_some();
        let Weighed { own: cost, calls } =
            weigh(program, body, &state.sizes, &taken.tunables, state.in_map, (self.choosing, self.model));
        let share = if holds == Some(None) { 0.5 } else { 1.0 };
        let mut option = Alternative { own: cost * share, calls: Vec::new() };
        for call in calls {
            let further_in = call.in_map && !state.in_map;
            // Functions by themselves are never recursive.
            let fuel = further_in || !own(call.callee) || taken.codelet.is_none() && state.fuel;
            let (function, in_map) = (call.callee, call.in_map);
            let callee = self.state(State { function, in_map, fuel, branched, sizes: call.sizes });
            option.calls.push((callee, call.times * share));
        }
        if when.is_some() {
            let other = self.state(State { branched: true, ..state.clone() });
            let found = search::best(&self.space, other).best;
            let best = found.first()?;
            option.own += best.cost * (1.0 - share);
            taken.otherwise = Some(self.choice(other, best));
        }
        Some((option, taken))
    }

    fn choice(&self, state: usize, derivation: &Derivation) -> Choice {
        let State { function, in_map, .. } = self.states[state];
        let taken = &self.taken[state][derivation.option];
        let body = taken.codelet.map_or(function, |codelet| codelet.func);
        let calls = &self.space.states[state][derivation.option].calls;
        let (_, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        Choice {
            function: self.program.funcs[function].name.clone(),
            codelet: taken.codelet.map(|codelet| codelet.tag.clone()).unwrap_or_default(),
            tiles: taken.codelet.and_then(|codelet| codelet.tiles),
            in_map,
            tunables: self.named(body, &taken.tunables),
            pieces,
            calls: calls.iter().zip(&derivation.calls).map(|((call, _), of)| self.choice(*call, of)).collect(),
            otherwise: taken.otherwise.clone().map(Box::new),
        }
    }

    fn named(&self, body: FuncId, tunables: &[(VarId, i64)]) -> Vec<(String, i64)> {
        let vars = &self.program.funcs[body].vars;
        tunables.iter().map(|(var, value)| (vars[*var].name.clone(), *value)).collect()
    }

    /// What a composition costs here.
    pub(super) fn price(&self, choice: &Choice) -> Option<f64> {
        self.price_of(self.root, choice)
    }

    fn price_of(&self, state: usize, choice: &Choice) -> Option<f64> {
        let function = self.states[state].function;
        let fits = |taken: &&Taken<'_>| {
            let body = taken.codelet.map_or(function, |codelet| codelet.func);
            taken.codelet.map_or("", |codelet| &codelet.tag) == choice.codelet
                && taken.codelet.and_then(|codelet| codelet.tiles) == choice.tiles
                && self.named(body, &taken.tunables) == choice.tunables
        };
        let Some(option) = self.taken[state].iter().position(|taken| fits(&taken)) else {
            // Where the condition does not hold, the other body runs.
            return self.price_of(state, choice.otherwise.as_deref()?);
        };
        let Alternative { own, calls } = &self.space.states[state][option];
        let each = calls.iter().zip(&choice.calls).map(|((call, weight), of)| Some(weight * self.price_of(*call, of)?));
        Some(own + each.sum::<Option<f64>>()?)
    }
}

/// Functions that reach one another, codelets included, have the same number.
pub(super) fn components(program: &Program, choosing: &BTreeSet<FuncId>) -> BTreeMap<FuncId, usize> {
    let callees = |function: FuncId| -> BTreeSet<FuncId> {
        let codelets = program.spectrum_of(function).into_iter().flat_map(|spectrum| &spectrum.codelets);
        let bodies = codelets.map(|codelet| codelet.func).chain([function]);
        bodies.flat_map(|body| sites(&program.funcs[body].body, choosing).0).map(|site| site.callee).collect()
    };
    let mut reached: BTreeMap<FuncId, BTreeSet<FuncId>> = choosing.iter().map(|id| (*id, callees(*id))).collect();
    loop {
        let before: usize = reached.values().map(BTreeSet::len).sum();
        for id in choosing {
            let further: Vec<FuncId> =
                reached[id].iter().filter_map(|next| reached.get(next)).flatten().copied().collect();
            reached.entry(*id).or_default().extend(further);
        }
        if reached.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    let reaches = |a: &FuncId, b: &FuncId| a == b || reached[a].contains(b) && reached[b].contains(a);
    let first = |id: &FuncId| choosing.iter().position(|other| reaches(id, other)).unwrap_or(0);
    choosing.iter().map(|id| (*id, first(id))).collect()
}
