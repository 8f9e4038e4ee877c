//! Fourier–Motzkin elimination over the integers, with a budget.

use std::cmp::Ordering;

use hidp_syntax::ordered::OrdMap;

use super::linear::Lin;
use super::solve::Columns;

/// More constraints than this, and the answer is "not proved".
const BUDGET: usize = 400;
/// Sums of two rows, and the answer is "not proved" after more. Proofs for the kernels of all examples take at most 3500.
const SUMS: usize = 6000;
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

/// `Σ factor × column`: the columns in ascending order, with their factors, none of which is 0. A row has few of the columns.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Row(pub Vec<(usize, i128)>);

impl Row {
    fn factor(&self, column: usize) -> i128 {
        self.0.iter().find(|(at, _)| *at == column).map_or(0, |(_, factor)| *factor)
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Row) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the factor of the first column in which two rows differ.
impl Ord for Row {
    fn cmp(&self, other: &Row) -> Ordering {
        for (one, other) in self.0.iter().zip(&other.0) {
            let order = match one.0.cmp(&other.0) {
                Ordering::Less => one.1.cmp(&0),
                Ordering::Equal => one.1.cmp(&other.1),
                Ordering::Greater => 0.cmp(&other.1),
            };
            if order.is_ne() {
                return order;
            }
        }
        match self.0.len().cmp(&other.0.len()) {
            Ordering::Less => 0.cmp(&other.0[self.0.len()].1),
            Ordering::Equal => Ordering::Equal,
            Ordering::Greater => self.0[other.0.len()].1.cmp(&0),
        }
    }
}

/// The inequalities that were given of which a row is a sum, by number; those from the last one on count as one.
type Origin = [u64; 3];

/// A system of inequalities `row + constant >= 0`: the smallest constant for each row.
#[derive(Default)]
struct System {
    rows: OrdMap<Row, (i128, Origin)>,
    /// How many columns are eliminated.
    eliminated: u32,
    /// How many rows were inserted, given ones and sums.
    inserted: usize,
    contradiction: bool,
}

impl System {
    /// Whether going on would take too long.
    fn is_spent(&self) -> bool {
        self.rows.len() > BUDGET || self.inserted > SUMS
    }

    /// Adds a row, divided by the greatest common divisor of its factors. Unless that rounds, which says more than the sum did, a sum
    /// of too many given rows says nothing new.
    fn insert(&mut self, mut row: Row, mut constant: i128, origin: Origin) {
        self.inserted += 1;
        let (mut divisor, mut largest, mut rounds) = (0, constant.unsigned_abs(), false);
        for &(_, factor) in &row.0 {
            largest = largest.max(factor.unsigned_abs());
            divisor = if divisor == 1 { 1 } else { gcd(divisor, factor) };
        }
        if largest > LARGEST {
            return;
        }
        if divisor == 0 {
            self.contradiction |= constant < 0;
            return;
        }
        if divisor > 1 {
            row.0.iter_mut().for_each(|(_, factor)| *factor /= divisor);
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

    /// The columns whose elimination loses least: all that limit their rows on one side alone, else one. Factors of 1 keep it exact for
    /// integers, unless that makes so many rows that the budget would end everything; then the one that makes the fewest rows.
    fn cheapest(&self, columns: usize) -> Vec<usize> {
        let mut counts = vec![(false, 0usize, 0usize); columns];
        for row in self.rows.keys() {
            for &(column, factor) in &row.0 {
                let (inexact, up, down) = &mut counts[column];
                *(if factor > 0 { up } else { down }) += 1;
                *inexact |= factor.unsigned_abs() > 1;
            }
        }
        let occurs = |&column: &usize| counts[column].1 + counts[column].2 > 0;
        let one_sided = |&column: &usize| matches!(counts[column], (false, _, 0) | (false, 0, _));
        let free: Vec<usize> = (0..columns).filter(occurs).filter(one_sided).collect();
        if !free.is_empty() {
            return free;
        }
        let cheapest = (0..columns).filter(occurs).min_by_key(|&column| {
            let (inexact, up, down) = counts[column];
            (up * down > MANY, inexact, up * down)
        });
        cheapest.into_iter().collect()
    }

    /// Eliminates a column, if it still occurs.
    fn eliminate(&mut self, column: usize) {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        self.rows.retain(|row, (constant, origin)| {
            let factor = row.factor(column);
            match factor {
                0 => return true,
                1.. => lower.push((row.clone(), factor, *constant, *origin)),
                _ => upper.push((row.clone(), factor, *constant, *origin)),
            }
            false
        });
        self.eliminated += u32::from(lower.len() + upper.len() > 0);
        for (low, low_factor, low_constant, low_origin) in &lower {
            for (high, high_factor, high_constant, high_origin) in &upper {
                let origin: Origin = std::array::from_fn(|word| low_origin[word] | high_origin[word]);
                let common = gcd(*low_factor, *high_factor).max(1);
                let factors = [-high_factor / common, low_factor / common];
                let constant = combined([*low_constant, *high_constant], factors);
                if let (Some(row), Some(constant)) = (combined_rows([low, high], factors), constant) {
                    self.insert(row, constant, origin);
                }
                if self.contradiction || self.is_spent() {
                    return;
                }
            }
        }
    }
}

fn combined([a, b]: [i128; 2], [a_factor, b_factor]: [i128; 2]) -> Option<i128> {
    a.checked_mul(a_factor)?.checked_add(b.checked_mul(b_factor)?)
}

fn combined_rows([a, b]: [&Row; 2], factors: [i128; 2]) -> Option<Row> {
    let mut row = Vec::with_capacity(a.0.len() + b.0.len());
    let (mut a, mut b) = (a.0.as_slice(), b.0.as_slice());
    loop {
        let (column, both) = match (a.first(), b.first()) {
            (None, None) => return Some(Row(row)),
            (Some(&(column, factor)), None) => (column, [factor, 0]),
            (None, Some(&(column, factor))) => (column, [0, factor]),
            (Some(&(of_a, factor)), Some(&(of_b, other))) => match of_a.cmp(&of_b) {
                Ordering::Less => (of_a, [factor, 0]),
                Ordering::Equal => (of_a, [factor, other]),
                Ordering::Greater => (of_b, [0, other]),
            },
        };
        a = &a[usize::from(both[0] != 0)..];
        b = &b[usize::from(both[1] != 0)..];
        let sum = combined(both, factors)?;
        if sum != 0 {
            row.push((column, sum));
        }
    }
}

/// `row + constant >= 0`
pub(crate) type Given = (Row, i128);

/// Puts what a column equals in its place, where two rows say so with a factor of 1. This is exact for integers, and elimination would
/// combine every two rows of the column.
fn without_equalities(mut given: Vec<Given>) -> Vec<Given> {
    let mut at = 0;
    while at < given.len() {
        let Some((other, column, factor)) = equality(&given[at], &given[at + 1..]) else {
            at += 1;
            continue;
        };
        given.remove(at + 1 + other);
        let equal = given.remove(at);
        given.retain_mut(|row| replaces(row, column, &equal, factor));
    }
    given
}

/// The row that makes one an equality, and the last column there that has a factor of 1 or -1.
fn equality(row: &Given, others: &[Given]) -> Option<(usize, usize, i128)> {
    let &(column, factor) = row.0.0.iter().rev().find(|(_, factor)| factor.unsigned_abs() == 1)?;
    let other = others.iter().position(|other| are_opposite(row, other))?;
    Some((other, column, factor))
}

/// Whether both say that their sums are 0.
fn are_opposite((one, constant): &Given, (other, negated): &Given) -> bool {
    let opposite =
        |(one, other): (&(usize, i128), &(usize, i128))| one.0 == other.0 && one.1.checked_neg() == Some(other.1);
    constant.checked_neg() == Some(*negated) && one.0.len() == other.0.len() && one.0.iter().zip(&other.0).all(opposite)
}

/// Takes a column out of a row by what it equals, where it has this factor of 1 or -1. `false` if a number becomes too large.
fn replaces((row, constant): &mut Given, column: usize, (equal, value): &Given, factor: i128) -> bool {
    let own = row.factor(column);
    if own == 0 {
        return true;
    }
    let Some(times) = own.checked_mul(-factor) else { return false };
    let sums = (combined_rows([row, equal], [1, times]), combined([*constant, *value], [1, times]));
    let (Some(sum), Some(sum_constant)) = sums else { return false };
    (*row, *constant) = (sum, sum_constant);
    true
}

/// What says that `rows >= 0` and that each column lies in its range, without columns that others equal.
pub(crate) fn given(rows: &[&Lin], columns: &Columns) -> Vec<Given> {
    let mut given: Vec<Given> = Vec::with_capacity(rows.len() + 2 * columns.count());
    for row in rows {
        // Columns are in the order of terms, as the terms of a sum are.
        let factors = row.terms.iter().map(|&(term, factor)| (columns.place(term), factor)).collect();
        given.push((Row(factors), row.constant));
    }
    for (column, range) in columns.ranges().enumerate() {
        let Some(range) = range else { continue };
        for (factor, constant) in [(1, range.lo.saturating_neg()), (-1, range.hi)] {
            given.push((Row(vec![(column, factor)]), constant));
        }
    }
    without_equalities(given)
}

/// Whether elimination of so many columns ends in a contradiction.
pub(crate) fn has_contradiction(given: Vec<Given>, columns: usize) -> bool {
    let mut system = System::default();
    for (number, (row, constant)) in given.into_iter().enumerate() {
        let mut origin = Origin::default();
        origin[(number / 64).min(2)] = 1 << if number < 192 { number % 64 } else { 63 };
        system.insert(row, constant, origin);
    }
    loop {
        if system.contradiction {
            return true;
        }
        if system.is_spent() {
            return false;
        }
        let cheapest = system.cheapest(columns);
        if cheapest.is_empty() {
            return false;
        }
        cheapest.into_iter().for_each(|column| system.eliminate(column));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(factors: [i128; 4]) -> Row {
        Row(factors.into_iter().enumerate().filter(|(_, factor)| *factor != 0).collect())
    }

    /// All rows of four columns with factors of -1 to 1 beside one another.
    fn pairs() -> impl Iterator<Item = [[i128; 4]; 2]> {
        let factors = |number: u32| std::array::from_fn(|column| i128::from(number / 3u32.pow(column as u32) % 3) - 1);
        (0..81 * 81).map(move |pair| [factors(pair / 81), factors(pair % 81)])
    }

    #[test]
    fn rows_are_ordered_as_all_their_factors_are() {
        for [a, b] in pairs() {
            assert_eq!(row(a).cmp(&row(b)), a.cmp(&b), "{a:?} {b:?}");
        }
    }

    /// `x = y + z`, `y = 3 - z`: `x` is 3, and nothing is left to eliminate.
    #[test]
    fn equal_values_are_put_in_place() {
        let equal = |factors: [i128; 4], constant: i128| {
            [(row(factors), constant), (row(factors.map(|factor| -factor)), -constant)]
        };
        let given = [equal([1, -1, -1, 0], 0), equal([0, 1, 1, 0], -3)].concat();
        let with = |extra: (Row, i128)| without_equalities([given.clone(), vec![extra]].concat());
        assert!(with((row([2, 0, 0, 1]), -5)) == [(row([0, 0, 0, 1]), 1)], "2x + w - 5");
        assert!(with((row([-1, 0, 0, 0]), 2)) == [(row([0; 4]), -1)], "2 - x");
        let twice = equal([2, 0, 0, 0], -3).to_vec();
        assert!(without_equalities(twice.clone()) == twice, "no integer is 3/2, which is not what this finds");
    }

    #[test]
    fn sums_of_rows_hold_no_zeros() {
        for [a, b] in pairs() {
            let sum = combined_rows([&row(a), &row(b)], [2, 1]);
            assert!(sum == Some(row(std::array::from_fn(|column| 2 * a[column] + b[column]))), "{a:?} {b:?}");
        }
    }
}
