//! Fourier–Motzkin elimination over the integers, with a budget.

use std::collections::{BTreeMap, BTreeSet};

use super::linear::{AtomId, Lin, Term};

/// More constraints than this, and the answer is "not proved".
const BUDGET: usize = 600;

/// Rows with larger numbers are dropped, which only loses proofs.
const LARGEST: u128 = 1 << 100;

/// `constant + Σ factor × term >= 0`, divided by the greatest common divisor of the factors.
fn tighten(lin: &Lin) -> Option<Lin> {
    let numbers = lin.terms.values().chain([&lin.constant]);
    if numbers.map(|number| number.unsigned_abs()).max() > Some(LARGEST) {
        return None;
    }
    let divisor = lin.terms.values().fold(0, |divisor, &factor| gcd(divisor, factor));
    if divisor <= 1 {
        return Some(lin.clone());
    }
    let terms = lin.terms.iter().map(|(term, &factor)| (term.clone(), factor / divisor)).collect();
    Some(Lin { constant: lin.constant.div_euclid(divisor), terms })
}

/// Greatest common divisor, never negative.
pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

/// A system of inequalities: the smallest constant for each left side.
#[derive(Default)]
struct System {
    rows: BTreeMap<BTreeMap<Term, i128>, i128>,
    contradiction: bool,
}

impl System {
    fn insert(&mut self, lin: &Lin) {
        let Some(lin) = tighten(lin) else { return };
        if lin.terms.is_empty() {
            self.contradiction |= lin.constant < 0;
            return;
        }
        let smallest = self.rows.entry(lin.terms).or_insert(lin.constant);
        *smallest = (*smallest).min(lin.constant);
    }

    /// The term whose elimination loses least: factors of 1 keep it exact for integers; then the one that adds the fewest rows.
    fn cheapest(&self) -> Option<Term> {
        let mut counts: BTreeMap<&Term, (bool, usize, usize)> = BTreeMap::new();
        for (term, &factor) in self.rows.keys().flatten() {
            let (inexact, up, down) = counts.entry(term).or_default();
            *inexact |= factor.abs() != 1;
            *(if factor > 0 { up } else { down }) += 1;
        }
        let cost = |&(inexact, up, down): &(bool, usize, usize)| (inexact, up * down);
        counts.into_iter().min_by_key(|(_, count)| cost(count)).map(|(term, _)| term.clone())
    }

    /// Eliminates `term`; rows that overflow are dropped, which only loses proofs.
    fn eliminate(&mut self, term: &Term) {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for (terms, constant) in std::mem::take(&mut self.rows) {
            let factor = terms.get(term).copied().unwrap_or(0);
            let row = Lin { constant, terms };
            match factor.signum() {
                1 => lower.push((factor, row)),
                -1 => upper.push((-factor, row)),
                _ => self.insert(&row),
            }
        }
        for (lower_factor, low) in &lower {
            for (upper_factor, high) in &upper {
                let common = gcd(*lower_factor, *upper_factor).max(1);
                let combined =
                    low.scale(upper_factor / common).and_then(|scaled| scaled.plus(high, lower_factor / common));
                if let Some(row) = combined {
                    self.insert(&row);
                }
                if self.contradiction || self.rows.len() > BUDGET {
                    return;
                }
            }
        }
    }
}

/// Whether no integers satisfy all of `rows >= 0`. `false` when it cannot tell.
pub(crate) fn infeasible<'a>(rows: impl IntoIterator<Item = &'a Lin>) -> bool {
    let mut system = System::default();
    for row in rows {
        system.insert(row);
    }
    loop {
        if system.contradiction {
            return true;
        }
        if system.rows.len() > BUDGET {
            return false;
        }
        let Some(term) = system.cheapest() else {
            return false;
        };
        system.eliminate(&term);
    }
}

/// The rows of `facts` that share atoms with `seed`, directly or through others, nearest first, at most `limit`.
pub(crate) fn relevant<'a>(seed: &Lin, facts: impl IntoIterator<Item = &'a Lin>, limit: usize) -> Vec<&'a Lin> {
    let mut atoms: BTreeSet<AtomId> = seed.atoms().collect();
    let mut chosen = Vec::new();
    let mut rest: Vec<&Lin> = facts.into_iter().collect();
    loop {
        let (near, far): (Vec<&Lin>, Vec<&Lin>) =
            rest.into_iter().partition(|fact| fact.atoms().any(|atom| atoms.contains(&atom)));
        if near.is_empty() {
            return chosen;
        }
        for fact in near {
            if chosen.len() == limit {
                return chosen;
            }
            atoms.extend(fact.atoms());
            chosen.push(fact);
        }
        rest = far;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::prove::linear::{Atoms, Interval};

    #[test]
    fn integer_tightening_finds_contradictions_between_rationals() {
        let mut atoms = Atoms::default();
        let x = Lin::atom(atoms.fresh(Interval { lo: 0, hi: 9 }));
        // 1 <= 2x <= 1 has a rational solution and no integer one.
        let low = x.scale(2).unwrap().offset(-1).unwrap();
        let high = x.scale(-2).unwrap().offset(1).unwrap();
        assert!(infeasible([&low, &high]));
        assert!(!infeasible([&low]));
    }
}
