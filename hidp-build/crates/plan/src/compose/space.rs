//! The space of compositions of an entry at given sizes, and what a composition costs in it.
//!
//! A call's state is its function, its level, sizes, and two bits. *Fuel* makes recursion end: a call into its own component (functions
//! whose bodies, codelets included, call one another) at the same level takes the unit of fuel of the body around, a call at a level
//! further in has one again; without fuel only bodies without such calls are left. *Branched*: of codelets with an open condition there
//! is one on a path.
//!
//! What levels can do is the model's. The rules: a call takes a body that its level can run (select, compute), or goes to one group of a
//! level further in (devolve); a map that makes calls is dealt to a level further in (distribute), or runs in order (serialise).

use hidp_syntax::ordered::OrdMap;
#[cfg(test)]
use hidp_syntax::ordered::OrdSet;

use super::bodies::{Bodies, Body};
use super::search::{Alternative, Derivation, Space};
use super::weigh::{Weighed, holds, known, weigh};
use hidp_ir::par::{Choice, FuncId, VarId};

#[cfg(test)]
mod tests;

/// Bodies that are weighed at given sizes, each once for a state; beyond, calls take the function itself, up to as many again.
pub(super) const BODIES: usize = 2048;

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
#[derive(Clone)]
struct Taken<'a> {
    body: &'a Body<'a>,
    tunables: &'a [(VarId, i64)],
    /// The level that iterations of its outermost maps with calls are dealt to.
    dealt: Option<usize>,
    /// Whether one group of a level further in takes the call, and no body is chosen here.
    devolved: bool,
    /// The best that runs where the codelet's condition does not hold.
    otherwise: Option<Choice>,
}

/// The compositions of an entry at given sizes.
pub(super) struct Compositions<'a> {
    bodies: &'a Bodies<'a>,
    space: Space,
    taken: Vec<Vec<Taken<'a>>>,
    states: Vec<State>,
    numbers: OrdMap<State, usize>,
    root: usize,
    /// How many bodies were weighed.
    pub(super) weighed: usize,
    /// Whether more bodies could have been weighed.
    pub(super) exceeded: bool,
    /// Whether something was left out.
    pub(super) cut: bool,
    /// Whether what is beyond is left out; else nothing is looked at any more.
    goes_on: bool,
}

impl<'a> Compositions<'a> {
    /// The compositions; some where there are too many bodies, unless it `goes_on` with the functions alone then.
    pub(super) fn new(bodies: &'a Bodies<'a>, entry: FuncId, sizes: Vec<i64>, goes_on: bool) -> Self {
        let (space, taken, states, numbers) = (Space::default(), Vec::new(), Vec::new(), OrdMap::new());
        let (root, weighed, exceeded, cut) = (0, 0, false, false);
        let mut made = Compositions { bodies, space, taken, states, numbers, root, weighed, exceeded, cut, goes_on };
        made.root = made.state(State { function: entry, level: 0, fuel: true, branched: false, sizes });
        made
    }

    /// The best compositions.
    pub(super) fn best(&mut self) -> Vec<Choice> {
        let best = self.space.best(self.root);
        self.cut |= self.space.is_cut();
        best.iter().map(|derivation| self.choice(self.root, derivation)).collect()
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
        let (bodies, level) = (self.bodies, &self.bodies.levels.all[state.level]);
        let mut found = Vec::new();
        if self.exceeded && !self.goes_on {
            return found;
        }
        for body in bodies.of(state.function) {
            if body.codelet.is_some() && body.recursive && !state.fuel || !body.needs.met_by(level) {
                continue;
            }
            self.cut |= !body.all;
            let inner: Vec<Option<usize>> = level.deals.iter().map(|(to, _)| Some(*to)).collect();
            let dealt = if body.needs.deals() && !inner.is_empty() { inner } else { vec![None] };
            for tunables in &body.combinations {
                let of =
                    |dealt: &Option<usize>| Taken { body, tunables, dealt: *dealt, devolved: false, otherwise: None };
                found.extend(dealt.iter().map(of));
            }
        }
        let body = &bodies.of(state.function)[0];
        let devolved = level.devolves.iter().map(|to| {
            let (tunables, otherwise) = (&[][..], None);
            Taken { body, tunables, dealt: Some(*to), devolved: true, otherwise }
        });
        found.extend(devolved);
        found
    }

    /// The option that takes a body, if rules admit it.
    fn option(&mut self, state: &State, mut taken: Taken<'a>) -> Option<(Alternative, Taken<'a>)> {
        let (bodies, levels) = (self.bodies, self.bodies.levels);
        if taken.devolved {
            let level = taken.dealt?;
            let callee = self.state(State { level, fuel: true, ..state.clone() });
            let own = f64::from(levels.all[state.level].wait);
            return self.runs(callee).then_some((Alternative { own, calls: vec![(callee, 1.0)] }, taken));
        }
        let Body { codelet, func, .. } = *taken.body;
        let body = &bodies.program.funcs[func];
        let when = codelet.and_then(|codelet| codelet.when.as_ref());
        let holds = when.map(|when| holds(when, &known(body, &state.sizes, taken.tunables)));
        if when.is_some() && (state.branched || holds == Some(Some(false))) {
            return None;
        }
        if self.exceeded && !self.goes_on {
            return None;
        }
        if self.weighed >= if codelet.is_some() { BODIES } else { 2 * BODIES } {
            (self.exceeded, self.cut) = (true, true);
            return None;
        }
        self.weighed += 1;
        let branched = state.branched || when.is_some();
        let at = (state.level, taken.dealt);
        let Weighed { own: cost, calls } =
            weigh(bodies.program, body, &state.sizes, taken.tunables, at, (bodies.choosing, levels))?;
        let share = if holds == Some(None) { 0.5 } else { 1.0 };
        let mut option = Alternative { own: cost * share, calls: Vec::new() };
        for call in calls {
            let further_in = call.level != state.level;
            // Functions by themselves are never recursive.
            let fuel = further_in || !bodies.together(call.callee, state.function) || codelet.is_none() && state.fuel;
            let (function, level) = (call.callee, call.level);
            let callee = self.state(State { function, level, fuel, branched, sizes: call.sizes });
            if !self.runs(callee) {
                return None;
            }
            option.calls.push((callee, call.times * share));
        }
        if when.is_some() {
            let other = self.state(State { branched: true, ..state.clone() });
            let found = self.space.best(other);
            let best = found.first()?;
            option.own += best.cost * (1.0 - share);
            taken.otherwise = Some(self.choice(other, best));
        }
        Some((option, taken))
    }

    /// How many combinations of calls were looked at.
    pub(super) fn evaluations(&self) -> usize {
        self.space.evaluations()
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.states.len()
    }

    /// All rules that derivations use, as `name` says them.
    #[cfg(test)]
    pub(super) fn rules(&self, name: &dyn Fn(&str, &str, bool) -> String) -> hidp_syntax::ordered::OrdSet<String> {
        let (mut found, mut open, mut seen) = (OrdSet::new(), vec![self.root], OrdSet::new());
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
        let level = &self.bodies.levels.all[self.states[state].level].name;
        name(level, taken.body.codelet.map_or("", |codelet| &codelet.tag), taken.devolved)
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
        let Body { codelet, ref pieces, .. } = *taken.body;
        let calls = &self.space.states[state][derivation.option].calls;
        Choice {
            function: self.bodies.program.funcs[function].name.clone(),
            codelet: codelet.map(|codelet| codelet.tag.clone()).unwrap_or_default(),
            tiles: codelet.and_then(|codelet| codelet.tiles),
            level: self.bodies.levels.all[level].name.clone(),
            tunables: self.named(taken),
            pieces: pieces.clone(),
            calls: calls.iter().zip(&derivation.calls).map(|((call, _), of)| self.choice(*call, of)).collect(),
            otherwise: taken.otherwise.clone().map(Box::new),
        }
    }

    /// Values of the tunables that a version fixes.
    fn named(&self, taken: &Taken<'_>) -> Vec<(String, i64)> {
        let Body { codelet, func, .. } = *taken.body;
        let vars = &self.bodies.program.funcs[func].vars;
        let fixed = |(var, _): &&(VarId, i64)| codelet.is_some_and(|codelet| codelet.fixes(*var));
        taken.tunables.iter().filter(fixed).map(|(var, value)| (vars[*var].name.clone(), *value)).collect()
    }

    /// What a composition costs here; nothing if rules do not admit it.
    pub(super) fn price(&self, choice: &Choice) -> Option<f64> {
        self.price_of(self.root, choice)
    }

    fn price_of(&self, state: usize, choice: &Choice) -> Option<f64> {
        let level = self.states[state].level;
        let each = |at: usize, of: &[Choice]| -> Option<f64> {
            let Alternative { own, calls } = &self.space.states[state][at];
            let each = calls.iter().zip(of).map(|((call, weight), of)| Some(weight * self.price_of(*call, of)?));
            Some(own + each.sum::<Option<f64>>()?)
        };
        let options = || self.taken[state].iter().enumerate();
        if self.bodies.levels.all[level].name != choice.level {
            let devolved = options().filter(|(_, taken)| taken.devolved);
            return devolved.filter_map(|(at, _)| each(at, std::slice::from_ref(choice))).min_by(f64::total_cmp);
        }
        let fits = |(_, taken): &(usize, &Taken<'_>)| {
            let codelet = taken.body.codelet;
            !taken.devolved
                && codelet.map_or("", |codelet| &codelet.tag) == choice.codelet
                && codelet.and_then(|codelet| codelet.tiles) == choice.tiles
                && self.named(taken) == choice.tunables
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
