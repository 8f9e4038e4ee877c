//! The space of compositions of an entry at given sizes, and what a composition costs in it.
//!
//! A call's state is its function, its level, sizes, and two bits. *Fuel* makes recursion end: a call into its own component (functions
//! whose bodies, codelets included, call one another) at the same level takes the unit of fuel of the body around, a call at a level
//! further in has one again; without fuel only bodies without such calls are left. *Branched*: of codelets with an open condition there
//! is one on a path.
//!
//! What levels can do is the model's. The rules: a call takes a body that its level can run (select, compute), or goes to one group of a
//! level further in (devolve); a map that makes calls is dealt to a level further in (distribute), or runs in order (serialise).

use std::collections::{BTreeMap, BTreeSet};

use super::admit::Needs;
use super::is_second_way;
use super::search::{self, Alternative, Derivation, Space};
use super::weigh::{Weighed, holds, known, weigh};
use crate::target::CallLevels;
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
    level: usize,
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
    /// The level that iterations of its outermost maps with calls are dealt to.
    dealt: Option<usize>,
    /// Whether one group of a level further in takes the call, and no body is chosen here.
    devolved: bool,
    /// The best that runs where the codelet's condition does not hold.
    otherwise: Option<Choice>,
}

/// The compositions of an entry at given sizes.
pub(super) struct Compositions<'a> {
    program: &'a Program,
    choosing: &'a BTreeSet<FuncId>,
    levels: &'a CallLevels,
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
        (choosing, component, levels): (&'a BTreeSet<FuncId>, &'a BTreeMap<FuncId, usize>, &'a CallLevels),
    ) -> Self {
        let (space, taken, states, numbers) = (Space::default(), Vec::new(), Vec::new(), BTreeMap::new());
        let mut made =
            Compositions { program, choosing, levels, component, space, taken, states, numbers, root: 0, cut: false };
        made.root = made.state(State { function: entry, level: 0, fuel: true, branched: false, sizes });
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

    /// Every body that a call could take, the function's first, and the levels that could take it as a whole.
    fn bodies(&mut self, state: &State) -> Vec<Taken<'a>> {
        let program = self.program;
        let spectrum = program.spectrum_of(state.function);
        let mut codelets: Vec<&Codelet> = spectrum.into_iter().flat_map(|spectrum| &spectrum.codelets).collect();
        codelets.sort_by_key(|codelet| is_second_way(codelet, self.levels));
        let mut found = Vec::new();
        for codelet in std::iter::once(None).chain(codelets.into_iter().map(Some)) {
            let (combinations, all) = combinations(codelet);
            self.cut |= !all;
            let dealt = self.dealt(state.level, codelet.map_or(state.function, |codelet| codelet.func));
            for tunables in combinations {
                let of = |dealt: &Option<usize>| {
                    let (tunables, dealt) = (tunables.clone(), *dealt);
                    Taken { codelet, tunables, dealt, devolved: false, otherwise: None }
                };
                found.extend(dealt.iter().map(of));
            }
        }
        let devolved = self.levels.all[state.level].devolves.iter().map(|to| {
            let (codelet, tunables, otherwise) = (None, Vec::new(), None);
            Taken { codelet, tunables, dealt: Some(*to), devolved: true, otherwise }
        });
        found.extend(devolved);
        found
    }

    /// The levels that iterations of a body's maps could be dealt to, or none; empty if its level cannot run it.
    fn dealt(&self, level: usize, body: FuncId) -> Vec<Option<usize>> {
        let level = &self.levels.all[level];
        let needs = Needs::of(self.program, &self.program.funcs[body], self.choosing);
        if !needs.met_by(level) {
            return Vec::new();
        }
        let inner = level.deals.iter().map(|(to, _)| Some(*to));
        if needs.deals() && !level.deals.is_empty() { inner.collect() } else { vec![None] }
    }

    /// The option that takes a body, if rules admit it.
    fn option(&mut self, state: &State, mut taken: Taken<'a>) -> Option<(Alternative, Taken<'a>)> {
        if taken.devolved {
            let level = taken.dealt?;
            let callee = self.state(State { level, fuel: true, ..state.clone() });
            let own = f64::from(self.levels.all[state.level].wait);
            return self.runs(callee).then_some((Alternative { own, calls: vec![(callee, 1.0)] }, taken));
        }
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
        let at = (state.level, taken.dealt);
        let Weighed { own: cost, calls } =
            weigh(program, body, &state.sizes, &taken.tunables, at, (self.choosing, self.levels))?;
        let share = if holds == Some(None) { 0.5 } else { 1.0 };
        let mut option = Alternative { own: cost * share, calls: Vec::new() };
        for call in calls {
            let further_in = call.level != state.level;
            // Functions by themselves are never recursive.
            let fuel = further_in || !own(call.callee) || taken.codelet.is_none() && state.fuel;
            let (function, level) = (call.callee, call.level);
            let callee = self.state(State { function, level, fuel, branched, sizes: call.sizes });
            if !self.runs(callee) {
                return None;
            }
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

    /// All rules that derivations use, as `name` says them.
    #[cfg(test)]
    pub(super) fn rules(&self, name: &dyn Fn(&str, &str, bool) -> String) -> std::collections::BTreeSet<String> {
        let (mut found, mut open, mut seen) = (BTreeSet::new(), vec![self.root], BTreeSet::new());
        while let Some(state) = open.pop() {
            if !seen.insert(state) {
                continue;
            }
            for (taken, option) in self.taken[state].iter().zip(&self.space.states[state]) {
                found.insert(self.rule(state, taken, name));
                open.extend(option.calls.iter().map(|(call, _)| *call));
            }
        }
        found
    }

    #[cfg(test)]
    fn rule(&self, state: usize, taken: &Taken<'_>, name: &dyn Fn(&str, &str, bool) -> String) -> String {
        let level = &self.levels.all[self.states[state].level].name;
        name(level, taken.codelet.map_or("", |codelet| &codelet.tag), taken.devolved)
    }

    /// All derivations, however much they cost: rules, with those of calls in parentheses.
    #[cfg(test)]
    pub(super) fn all(&self, name: &dyn Fn(&str, &str, bool) -> String) -> Vec<String> {
        self.all_of(self.root, name)
    }

    #[cfg(test)]
    fn all_of(&self, state: usize, name: &dyn Fn(&str, &str, bool) -> String) -> Vec<String> {
        let mut found = Vec::new();
        for (taken, option) in self.taken[state].iter().zip(&self.space.states[state]) {
            let rule = self.rule(state, taken, name);
            let mut all = vec![String::new()];
            for (call, _) in &option.calls {
                let inner = self.all_of(*call, name);
                let longer = |known: &String| {
                    let comma = if known.is_empty() { "" } else { ", " };
                    inner.iter().map(|next| format!("{known}{comma}{next}")).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(longer).collect();
            }
            let calls = |all: String| if all.is_empty() { rule.clone() } else { format!("{rule}({all})") };
            found.extend(all.into_iter().map(calls));
        }
        found
    }

    /// Whether some level can run a call.
    fn runs(&self, state: usize) -> bool {
        !self.space.states[state].is_empty()
    }

    fn choice(&self, state: usize, derivation: &Derivation) -> Choice {
        let State { function, level, .. } = self.states[state];
        let taken = &self.taken[state][derivation.option];
        if taken.devolved {
            let (to, _) = self.space.states[state][derivation.option].calls[0];
            return self.choice(to, &derivation.calls[0]);
        }
        let body = taken.codelet.map_or(function, |codelet| codelet.func);
        let calls = &self.space.states[state][derivation.option].calls;
        let (_, pieces) = sites(&self.program.funcs[body].body, self.choosing);
        Choice {
            function: self.program.funcs[function].name.clone(),
            codelet: taken.codelet.map(|codelet| codelet.tag.clone()).unwrap_or_default(),
            tiles: taken.codelet.and_then(|codelet| codelet.tiles),
            level: self.levels.all[level].name.clone(),
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

    /// What a composition costs here; nothing if rules do not admit it.
    pub(super) fn price(&self, choice: &Choice) -> Option<f64> {
        self.price_of(self.root, choice)
    }

    fn price_of(&self, state: usize, choice: &Choice) -> Option<f64> {
        let State { function, level, .. } = self.states[state];
        let each = |at: usize, of: &[Choice]| -> Option<f64> {
            let Alternative { own, calls } = &self.space.states[state][at];
            let each = calls.iter().zip(of).map(|((call, weight), of)| Some(weight * self.price_of(*call, of)?));
            Some(own + each.sum::<Option<f64>>()?)
        };
        let options = || self.taken[state].iter().enumerate();
        if self.levels.all[level].name != choice.level {
            let devolved = options().filter(|(_, taken)| taken.devolved);
            return devolved.filter_map(|(at, _)| each(at, std::slice::from_ref(choice))).min_by(f64::total_cmp);
        }
        let fits = |(_, taken): &(usize, &Taken<'_>)| {
            let body = taken.codelet.map_or(function, |codelet| codelet.func);
            !taken.devolved
                && taken.codelet.map_or("", |codelet| &codelet.tag) == choice.codelet
                && taken.codelet.and_then(|codelet| codelet.tiles) == choice.tiles
                && self.named(body, &taken.tunables) == choice.tunables
        };
        let mut fitting = options().filter(fits).peekable();
        if fitting.peek().is_none() {
            // Where the condition does not hold, the other body runs.
            return self.price_of(state, choice.otherwise.as_deref()?);
        }
        // Options that differ in levels alone have calls at those levels.
        fitting.filter_map(|(at, _)| each(at, &choice.calls)).min_by(f64::total_cmp)
    }
}

/// The first combinations of values of a codelet's tunables, the last one's values next to each other, and whether these are all.
fn combinations(codelet: Option<&Codelet>) -> (Vec<Vec<(VarId, i64)>>, bool) {
    let (mut found, mut all) = (vec![Vec::new()], true);
    for tunable in codelet.iter().flat_map(|codelet| &codelet.tunables) {
        let longer =
            |known: &Vec<(VarId, i64)>, value: i64| known.iter().copied().chain([(tunable.var, value)]).collect();
        all &= found.len() * tunable.values.len() <= COMBINATIONS;
        // Those cut here would follow the ones that are kept: each of these has a value of every further tunable.
        let each = found.iter().flat_map(|known| tunable.values.iter().map(move |value| longer(known, *value)));
        found = each.take(COMBINATIONS).collect();
    }
    (found, all)
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
