//! Fourier–Motzkin elimination over the integers, with a budget.

use std::cell::RefCell;
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

/// The inequalities that were given of which a row is a sum, by number; those from the last one on count as one.
type Origin = [u64; 3];

/// A system of inequalities `row + constant >= 0`: the smallest constant for each row.
#[derive(Default)]
struct System {
    rows: BTreeMap<Row, (i128, Origin)>,
    /// How many columns are eliminated.
    eliminated: u32,
    contradiction: bool,
}

impl System {
    /// Adds a row, divided by the greatest common divisor of its factors. Unless that rounds, which says more than the sum did, a sum
    /// of too many given rows says nothing new.
    fn insert(&mut self, mut row: Row, mut constant: i128, origin: Origin) {
        let mut rounds = false;
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
            rounds = constant % divisor != 0;
            constant = constant.div_euclid(divisor);
        }
        // Černikov's rule: such a row follows from others that are sums of fewer.
        if !rounds && origin.iter().map(|word| word.count_ones()).sum::<u32>() > self.eliminated + 1 {
            return;
        }
        let smallest = self.rows.entry(row).or_insert((constant, origin));
        if constant < smallest.0 {
            *smallest = (constant, origin);
        }
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
        self.eliminated += 1;
        self.rows.retain(|row, (constant, origin)| {
            match row[column].signum() {
                1 => lower.push((row.clone(), *constant, *origin)),
                -1 => upper.push((row.clone(), *constant, *origin)),
                _ => return true,
            }
            false
        });
        for (low, low_constant, low_origin) in &lower {
            for (high, high_constant, high_origin) in &upper {
                let origin: Origin = std::array::from_fn(|word| low_origin[word] | high_origin[word]);
                let common = gcd(low[column], high[column]).max(1);
                let (low_factor, high_factor) = (-high[column] / common, low[column] / common);
                let sum = |a: i128, b: i128| a.checked_mul(low_factor)?.checked_add(b.checked_mul(high_factor)?);
                let row: Option<Row> = low.iter().zip(high).map(|(&a, &b)| sum(a, b)).collect();
                if let (Some(row), Some(constant)) = (row, sum(*low_constant, *high_constant)) {
                    self.insert(row, constant, origin);
                }
                if self.contradiction || self.rows.len() > BUDGET {
                    return;
                }
            }
        }
    }
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// What came of systems that were solved before. Of a program's nineteen in twenty differ from an earlier one in their atoms at most: each
/// pass asks again what it can rely on.
#[derive(Default)]
struct Known {
    outcomes: BTreeMap<Vec<u8>, bool>,
    /// Of all keys.
    bytes: usize,
}

impl Known {
    /// More bytes than this, and all is forgotten.
    const MOST: usize = 8 << 20;

    fn note(&mut self, key: Vec<u8>, outcome: bool) {
        if self.bytes + key.len() > Self::MOST {
            *self = Known::default();
        }
        self.bytes += key.len();
        self.outcomes.insert(key, outcome);
    }
}

/// Whether no integers satisfy all of `rows >= 0`. `false` when it cannot tell.
pub(crate) fn infeasible<'a>(rows: impl IntoIterator<Item = &'a Lin>) -> bool {
    let rows: Vec<&Lin> = rows.into_iter().collect();
    let terms: BTreeSet<&Term> = rows.iter().flat_map(|row| row.terms.keys()).collect();
    let columns: BTreeMap<&Term, usize> = terms.into_iter().enumerate().map(|(column, term)| (term, column)).collect();
    let key = key(&rows, &columns);
    if let Some(outcome) = KNOWN.with_borrow(|known| known.outcomes.get(&key).copied()) {
        return outcome;
    }
    let outcome = has_contradiction(&rows, &columns);
    KNOWN.with_borrow_mut(|known| known.note(key, outcome));
    outcome
}

/// All that the outcome depends on: of each row the factors with their columns, how many these are, and the constant.
fn key(rows: &[&Lin], columns: &BTreeMap<&Term, usize>) -> Vec<u8> {
    let mut key = Vec::with_capacity(rows.len() * 8);
    for row in rows {
        number(row.terms.len() as u128, &mut key);
        for (term, &factor) in &row.terms {
            number(columns[term] as u128, &mut key);
            signed(factor, &mut key);
        }
        signed(row.constant, &mut key);
    }
    key
}

/// The sign is the lowest bit.
fn signed(value: i128, key: &mut Vec<u8>) {
    number((value << 1 ^ value >> 127).cast_unsigned(), key);
}

/// Seven bits a byte, the lowest first; the eighth says that there are more.
fn number(mut value: u128, key: &mut Vec<u8>) {
    while value > 0x7f {
        key.push(value as u8 | 0x80);
        value >>= 7;
    }
    key.push(value as u8);
}

fn has_contradiction(rows: &[&Lin], columns: &BTreeMap<&Term, usize>) -> bool {
    let mut system = System::default();
    for (number, row) in rows.iter().enumerate() {
        let mut factors = vec![0; columns.len()];
        for (term, &factor) in &row.terms {
            factors[columns[term]] = factor;
        }
        let mut origin = Origin::default();
        origin[(number / 64).min(2)] = 1 << if number < 192 { number % 64 } else { 63 };
        system.insert(factors, row.constant, origin);
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

    /// Eliminating a column of a system without structure makes some hundred rows, and again from these, unless rows that
    /// say nothing new are left out.
    #[test]
    fn dense_systems_stay_small() {
        let mut atoms = Atoms::default();
        let xs: Vec<Lin> = (0..6).map(|_| Lin::atom(atoms.fresh(Interval { lo: 0, hi: 9 }))).collect();
        let mut number = 7u64;
        let mut rows = Vec::new();
        for constant in 0..10 {
            let mut row = Lin::constant(40 + constant);
            for x in &xs {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                row = row.plus(x, i128::from((number >> 33) % 5) - 2).unwrap();
            }
            rows.push(row);
        }
        let impossible = xs.iter().fold(Lin::constant(-1), |sum, x| sum.plus(x, -1).unwrap());
        rows.extend(xs.iter().cloned());
        assert!(!infeasible(&rows));
        rows.push(impossible);
        assert!(infeasible(&rows));
    }

    /// Systems of a row in two columns and one with opposite factors, of the same columns or of exchanged ones: some contradict each other.
    #[test]
    fn what_is_known_of_a_system_is_of_no_other() {
        let mut atoms = Atoms::default();
        let [x, y] = [(); 2].map(|()| Lin::atom(atoms.fresh(Interval { lo: 0, hi: 9 })));
        let factors = [-128, -3, -1, 0, 1, 3, 128];
        let row = |[x, y]: [&Lin; 2], number: usize| {
            let row = Lin::constant(factors[number % 7]).plus(x, factors[number / 7 % 7]);
            row.and_then(|row| row.plus(y, factors[number / 49 % 7])).unwrap()
        };
        let mut outcomes = [0, 0];
        for (number, opposite) in (0..343).flat_map(|number| [(number, 684), (number, 685), (number, 686)]) {
            for columns in [[&x, &y], [&y, &x]] {
                let system = [&row([&x, &y], number), &row(columns, opposite - number)];
                let terms: BTreeSet<&Term> = system.iter().flat_map(|row| row.terms.keys()).collect();
                let outcome = has_contradiction(&system, &terms.into_iter().zip(0..).collect());
                assert_eq!(infeasible(system), outcome, "{system:?}");
                outcomes[usize::from(outcome)] += 1;
            }
        }
        assert!(outcomes.iter().all(|&count| count > 250), "{outcomes:?}");
    }

    #[test]
    fn what_is_known_stays_small() {
        let mut known = Known::default();
        for number in 0..40u8 {
            known.note(vec![number; Known::MOST / 16], true);
            assert!(known.bytes <= Known::MOST);
            assert_eq!(known.outcomes.keys().map(Vec::len).sum::<usize>(), known.bytes);
        }
        assert!(known.outcomes.contains_key(&vec![39; Known::MOST / 16]));
    }

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
