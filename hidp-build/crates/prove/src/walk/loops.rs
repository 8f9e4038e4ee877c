//! Sequential loops: what no iteration changes, and the invariants that hold in all of them.

use super::super::written;
use super::{Invariant, Walker};
use hidp_ir::par::{Block, Loop, VarId};
use hidp_syntax::ordered::OrdSet;

impl Walker<'_, '_> {
    /// Loops know that a variable only grows, or only shrinks, where every iteration can be proved to keep that.
    pub(super) fn sequential(&mut self, sequential: &mut Loop) {
        let mut assigned = written::scalars(&sequential.body);
        assigned.extend(written::scalars(&sequential.step));
        if self.loops == 0 {
            self.found.clear();
        }
        self.loops += 1;
        let invariants = self.invariants(sequential, &assigned);
        self.havoc(&assigned);
        self.assume_invariants(&invariants);
        let facts = self.iteration(sequential);
        self.loops -= 1;
        self.cx.facts.truncate(facts);
        self.havoc(&assigned);
        if !written::breaks(&sequential.body) {
            self.assume_invariants(&invariants);
            self.cx.assume(&sequential.cond, false);
        }
        if written::leaves(&sequential.body) {
            self.conditions += 1;
            self.cx.vague += 1;
        }
    }

    /// One iteration; what its condition taught still holds after it, from the returned fact on.
    pub(super) fn iteration(&mut self, Loop { cond, body, step }: &mut Loop) -> usize {
        self.conditions += 1;
        // Of a variable that changes it is not known which values it takes.
        self.cx.vague += 1;
        self.expr(cond);
        let facts = self.cx.facts.len();
        self.cx.assume(cond, true);
        self.block(body);
        if written::continues(body) {
            self.havoc(&written::scalars(body));
        }
        self.block(step);
        self.conditions -= 1;
        self.cx.vague -= 1;
        facts
    }

    pub(super) fn assume_invariants(&mut self, invariants: &[Invariant]) {
        for Invariant { var, bound, grows } in invariants {
            let value = self.cx.value(*var);
            self.cx.fact_opt(if *grows { value.sub(bound) } else { bound.sub(&value) });
        }
    }

    /// Every assigned integer whose value before the loop is known might only grow, or only shrink.
    fn guesses(&self, sequential: &Loop, assigned: &OrdSet<VarId>) -> Vec<Invariant> {
        let mut guesses = Vec::new();
        for &var in assigned {
            let is_integer = self.cx.vars[var].ty.scalar().is_some_and(|ty| ty.is_integer());
            if let (Some(bound), true) = (self.cx.env.get(&var), is_integer) {
                // What a counter does not need not be tried.
                let known = written::grows(sequential, var);
                let tried = [true, false].into_iter().filter(|grows| known.is_none_or(|known| known == *grows));
                guesses.extend(tried.map(|grows| Invariant { var, bound: bound.clone(), grows }));
            }
        }
        guesses
    }

    /// Starts from every guess and drops what some iteration might break, until nothing is dropped. What was dropped before is not tried
    /// again: each time that a loop around is walked, fewer guesses about that one hold.
    pub(super) fn invariants(&mut self, sequential: &mut Loop, assigned: &OrdSet<VarId>) -> Vec<Invariant> {
        let mut guesses = self.guesses(sequential, assigned);
        let address = std::ptr::from_ref(sequential).addr();
        if let Some(found) = self.found.get(&address) {
            guesses.retain(|guess| found.contains(&(guess.var, guess.grows)));
        }
        while !guesses.is_empty() {
            let count = guesses.len();
            let (env, extents, facts) = (self.cx.env.clone(), self.cx.extents.clone(), self.cx.facts.len());
            self.havoc(assigned);
            self.assume_invariants(&guesses);
            self.dry += 1;
            self.iteration(sequential);
            self.dry -= 1;
            guesses.retain(|Invariant { var, bound, grows }| {
                let value = self.cx.value(*var);
                if *grows { self.cx.proves_le(bound, &value) } else { self.cx.proves_le(&value, bound) }
            });
            self.cx.facts.truncate(facts);
            (self.cx.env, self.cx.extents) = (env, extents);
            if guesses.len() == count {
                break;
            }
        }
        self.found.insert(address, guesses.iter().map(|guess| (guess.var, guess.grows)).collect());
        guesses
    }

    pub(super) fn scope(&mut self, body: &mut Block) {
        self.block(body);
        if written::leaves(body) {
            self.havoc(&written::scalars(body));
            self.cx.vague += 1;
        }
    }
}
