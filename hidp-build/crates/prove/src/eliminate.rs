//! Fourier–Motzkin elimination over the integers, with a budget.

use hidp_syntax::ordered::OrdMap;

use super::linear::Lin;
use super::solve::Columns;

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
    rows: OrdMap<Row, (i128, Origin)>,
    /// How many columns are eliminated.
    eliminated: u32,
    contradiction: bool,
}

impl System {
    /// Adds a row, divided by the greatest common divisor of its factors. Unless that rounds, which says more than the sum did, a sum
    /// of too many given rows says nothing new.
    fn insert(&mut self, mut row: Row, mut constant: i128, origin: Origin) {
        let (mut divisor, mut largest, mut rounds) = (0, constant.unsigned_abs(), false);
        for &factor in &row {
            if factor != 0 {
                largest = largest.max(factor.unsigned_abs());
                divisor = if divisor == 1 { 1 } else { gcd(divisor, factor) };
            }
        }
        if largest > LARGEST {
            return;
        }
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

    /// The columns whose elimination loses least: all that limit their rows on one side alone, else one. Factors of 1 keep it exact for
    /// integers, unless that makes so many rows that the budget would end everything; then the one that makes the fewest rows.
    fn cheapest(&self, columns: usize) -> Vec<usize> {
        let mut counts = vec![(false, 0usize, 0usize); columns];
        for row in self.rows.keys() {
            for (column, &factor) in row.iter().enumerate() {
                let (inexact, up, down) = &mut counts[column];
                match factor {
                    0 => continue,
                    1.. => *up += 1,
                    _ => *down += 1,
                }
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
            match row[column] {
                0 => return true,
                1.. => lower.push((row.clone(), *constant, *origin)),
                _ => upper.push((row.clone(), *constant, *origin)),
            }
            false
        });
        self.eliminated += u32::from(lower.len() + upper.len() > 0);
        for (low, low_constant, low_origin) in &lower {
            for (high, high_constant, high_origin) in &upper {
                let origin: Origin = std::array::from_fn(|word| low_origin[word] | high_origin[word]);
                let common = gcd(low[column], high[column]).max(1);
                let factors = [-high[column] / common, low[column] / common];
                let constant = combined([*low_constant, *high_constant], factors);
                if let (Some(row), Some(constant)) = (combined_rows([low, high], factors), constant) {
                    self.insert(row, constant, origin);
                }
                if self.contradiction || self.rows.len() > BUDGET {
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
    let mut row = vec![0; a.len()];
    for (column, sum) in row.iter_mut().enumerate() {
        if a[column] != 0 || b[column] != 0 {
            *sum = combined([a[column], b[column]], factors)?;
        }
    }
    Some(row)
}

/// Whether elimination ends in a contradiction of `rows >= 0` where each column lies in its range.
pub(crate) fn has_contradiction(rows: &[&Lin], columns: &Columns) -> bool {
    let mut system = System::default();
    let mut number = 0;
    let mut given = |factors: Row, constant: i128| {
        let mut origin = Origin::default();
        origin[(number / 64).min(2)] = 1 << if number < 192 { number % 64 } else { 63 };
        number += 1;
        system.insert(factors, constant, origin);
    };
    for row in rows {
        let mut factors = vec![0; columns.count()];
        for &(term, factor) in row.terms.iter() {
            factors[columns.place(term)] = factor;
        }
        given(factors, row.constant);
    }
    for (column, range) in columns.ranges().enumerate() {
        let Some(range) = range else { continue };
        for (factor, constant) in [(1, range.lo.saturating_neg()), (-1, range.hi)] {
            let mut factors = vec![0; columns.count()];
            factors[column] = factor;
            given(factors, constant);
        }
    }
    loop {
        if system.contradiction {
            return true;
        }
        if system.rows.len() > BUDGET {
            return false;
        }
        let cheapest = system.cheapest(columns.count());
        if cheapest.is_empty() {
            return false;
        }
        cheapest.into_iter().for_each(|column| system.eliminate(column));
    }
}
