//! Fourier–Motzkin elimination over the integers, with a budget.

use std::collections::{BTreeMap, BTreeSet};

use super::linear::{AtomId, Lin, Term};

/// More constraints than this, and the answer is "not proved".
const BUDGET: usize = 400;
/// An elimination that makes more rows than this comes after all that make fewer.
const MANY: usize = 64;
/// Rows with larger numbers are dropped, which only loses proofs.
const LARGEST: u128 = 1 << 100;

/// Greatest common divisor, never negative.
pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

/// `Σ factor × column`, one factor a column.
type Row = Vec<i128>;

/// A system of inequalities `row + constant >= 0`: the smallest constant for each row.
#[derive(Default)]
struct System {
    rows: BTreeMap<Row, i128>,
    contradiction: bool,
}

impl System {
    /// Adds a row, divided by the greatest common divisor of its factors.
    fn insert(&mut self, mut row: Row, mut constant: i128) {
        if row.iter().chain([&constant]).any(|number| number.unsigned_abs() > LARGEST) {
            return;
        }
        let divisor = row.iter().fold(0, |divisor, &factor| if divisor == 1 { 1 } else { gcd(divisor, factor) });
        if divisor == 0 {
            self.contradiction |= constant < 0;
            return;
        }
        if divisor > 1 {
            row.iter_mut().for_each(|factor| *factor /= divisor);
            constant = constant.div_euclid(divisor);
        }
        let smallest = self.rows.entry(row).or_insert(constant);
        *smallest = (*smallest).min(constant);
    }

    /// The column whose elimination loses least: factors of 1 keep it exact for integers, unless that makes so many rows that
    /// the budget would end everything; then the one that makes the fewest rows.
    fn cheapest(&self, columns: usize) -> Option<usize> {
        let mut counts = vec![(false, 0usize, 0usize); columns];
        for row in self.rows.keys() {
            for ((inexact, up, down), &factor) in counts.iter_mut().zip(row) {
                *inexact |= factor.unsigned_abs() > 1;
                *up += usize::from(factor > 0);
                *down += usize::from(factor < 0);
            }
        }
        let occurring = (0..columns).filter(|&column| counts[column].1 + counts[column].2 > 0);
        occurring.min_by_key(|&column| {
            let (inexact, up, down) = counts[column];
            (up * down > MANY, inexact, up * down)
        })
    }

    /// Eliminates a column.
    fn eliminate(&mut self, column: usize) {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        self.rows.retain(|row, constant| {
            match row[column].signum() {
                1 => lower.push((row.clone(), *constant)),
                -1 => upper.push((row.clone(), *constant)),
                _ => return true,
            }
            false
        });
        for (low, low_constant) in &lower {
            for (high, high_constant) in &upper {
                let common = gcd(low[column], high[column]).max(1);
                let (low_factor, high_factor) = (-high[column] / common, low[column] / common);
                let sum = |a: i128, b: i128| a.checked_mul(low_factor)?.checked_add(b.checked_mul(high_factor)?);
                let row: Option<Row> = low.iter().zip(high).map(|(&a, &b)| sum(a, b)).collect();
                if let (Some(row), Some(constant)) = (row, sum(*low_constant, *high_constant)) {
                    self.insert(row, constant);
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
    let rows: Vec<&Lin> = rows.into_iter().collect();
    let terms: BTreeSet<&Term> = rows.iter().flat_map(|row| row.terms.keys()).collect();
    let columns: BTreeMap<&Term, usize> = terms.into_iter().enumerate().map(|(column, term)| (term, column)).collect();
    let mut system = System::default();
    for row in rows {
        let mut factors = vec![0; columns.len()];
        for (term, &factor) in &row.terms {
            factors[columns[term]] = factor;
        }
        system.insert(factors, row.constant);
    }
    loop {
        if system.contradiction {
            return true;
        }
        if system.rows.len() > BUDGET {
            return false;
        }
        let Some(column) = system.cheapest(columns.len()) else { return false };
        system.eliminate(column);
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
    use crate::linear::{Atoms, Interval};

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
