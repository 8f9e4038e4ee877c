//! Looks for integers that satisfy a system of inequalities: where there are some, elimination would take long to find no contradiction.

use super::eliminate::Given;
use super::linear::Interval;
use super::solve::Columns;

/// Changes that a search makes before it gives up. With four times as many it finds no more solutions of the systems of `codelets::ascending`.
const STEPS: usize = 30;

/// Whether integers were found that satisfy all that is given. No column equals others: to change one of these alone would only move the
/// contradiction to the opposite row.
pub(crate) fn is_found(given: &[Given], columns: &Columns) -> bool {
    Search::new(given, columns).is_some_and(Search::succeeds)
}

/// A value for each column, and what the rows are with these.
struct Search {
    rows: Vec<Row>,
    columns: Vec<Column>,
}

struct Row {
    /// The columns in it, with their factors.
    summands: Vec<(usize, i128)>,
    sum: i128,
}

struct Column {
    range: Interval,
    value: i128,
    /// The rows that it is in, with its factors there.
    occurs: Vec<(usize, i128)>,
    /// The last step that changed it.
    changed: usize,
}

impl Search {
    /// Each column has the value in its range that is nearest to 0. `None` where a number is too large, or a range is empty.
    fn new(given: &[Given], columns: &Columns) -> Option<Search> {
        let mut search = Search { rows: Vec::with_capacity(given.len()), columns: Vec::with_capacity(columns.count()) };
        for range in columns.ranges() {
            // Nothing limits what has no range: these are values that it may have.
            let range = range.unwrap_or(Interval { lo: i64::MIN.into(), hi: i64::MAX.into() });
            if range.lo > range.hi {
                return None;
            }
            let value = 0i128.clamp(range.lo, range.hi);
            search.columns.push(Column { range, value, occurs: Vec::new(), changed: 0 });
        }
        for (number, (row, constant)) in given.iter().enumerate() {
            let mut sum = *constant;
            for &(at, factor) in &row.0 {
                let column = &mut search.columns[at];
                column.occurs.push((number, factor));
                sum = sum.checked_add(factor.checked_mul(column.value)?)?;
            }
            search.rows.push(Row { summands: row.0.clone(), sum });
        }
        Some(search)
    }

    /// Changes values until no row is negative.
    fn succeeds(mut self) -> bool {
        let mut from = 0;
        for step in 1..=STEPS {
            let Some(violated) = self.violated(from) else { return true };
            let Some((column, value)) = self.repair(violated) else { return false };
            if self.set(column, value).is_none() {
                return false;
            }
            self.columns[column].changed = step;
            from = violated;
        }
        false
    }

    /// The next row that is negative, from this one on and around.
    fn violated(&self, from: usize) -> Option<usize> {
        for at in from..self.rows.len() {
            if self.rows[at].sum < 0 {
                return Some(at);
            }
        }
        (0..from).find(|&at| self.rows[at].sum < 0)
    }

    /// The change of one column that makes a row positive, or less negative, and the fewest others negative; of several the one
    /// of the column that was not changed for longest.
    fn repair(&self, row: usize) -> Option<(usize, i128)> {
        let mut best: Option<((usize, usize), (usize, i128))> = None;
        for &(number, factor) in &self.rows[row].summands {
            let column = &self.columns[number];
            let strides = -(self.rows[row].sum.div_euclid(factor.checked_abs()?));
            let value = column.value.checked_add(strides.checked_mul(factor.signum())?)?;
            let value = value.clamp(column.range.lo, column.range.hi);
            if value == column.value {
                continue;
            }
            let rank = (self.negative_with(column, value)?, column.changed);
            if best.is_none_or(|(other, _)| rank < other) {
                best = Some((rank, (number, value)));
            }
        }
        best.map(|(_, change)| change)
    }

    /// How many of the rows with this column would be negative if it had this value.
    fn negative_with(&self, column: &Column, value: i128) -> Option<usize> {
        let mut negative = 0;
        for &(row, factor) in &column.occurs {
            let change = value.checked_sub(column.value)?.checked_mul(factor)?;
            negative += usize::from(self.rows[row].sum.checked_add(change)? < 0);
        }
        Some(negative)
    }

    fn set(&mut self, number: usize, value: i128) -> Option<()> {
        let column = &mut self.columns[number];
        for &(row, factor) in &column.occurs {
            let change = value.checked_sub(column.value)?.checked_mul(factor)?;
            self.rows[row].sum = self.rows[row].sum.checked_add(change)?;
        }
        column.value = value;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eliminate::given;
    use crate::linear::{Atoms, Lin};

    fn is_found(rows: &[&Lin], atoms: &Atoms) -> bool {
        let columns = Columns::of(rows, |term| atoms.term_range(term));
        super::is_found(&given(rows, &columns), &columns)
    }

    #[test]
    fn values_are_changed_until_all_rows_hold() {
        let mut atoms = Atoms::default();
        let [x, y, z] = [(); 3].map(|()| Lin::atom(atoms.fresh(Interval { lo: 0, hi: 1000 })));
        // x >= 10, y >= 2x + 1, z >= x + y, z <= 31.
        let rows = [
            x.offset(-10),
            y.plus(&x, -2).and_then(|row| row.offset(-1)),
            z.sub(&x).and_then(|row| row.sub(&y)),
            Lin::constant(31).sub(&z),
        ];
        let rows = rows.map(Option::unwrap);
        let rows: Vec<&Lin> = rows.iter().collect();
        assert!(is_found(&rows, &atoms), "10, 21, 31");
        let low = Lin::constant(30).sub(&z).unwrap();
        assert!(!is_found(&[rows.as_slice(), &[&low]].concat(), &atoms), "there is none");
    }

    /// More equal values than a search changes one after the other.
    #[test]
    fn equal_values_move_together() {
        let mut atoms = Atoms::default();
        let values = [(); 2 * STEPS].map(|()| Lin::atom(atoms.fresh(Interval { lo: -1000, hi: 1000 })));
        let mut rows = vec![values[0].offset(-7).unwrap()];
        for pair in values.windows(2) {
            rows.extend([pair[0].sub(&pair[1]).unwrap(), pair[1].sub(&pair[0]).unwrap()]);
        }
        assert!(is_found(&rows.iter().collect::<Vec<_>>(), &atoms), "all are 7");
        rows.push(Lin::constant(6).sub(&values[9]).unwrap());
        assert!(!is_found(&rows.iter().collect::<Vec<_>>(), &atoms), "one is at most 6");
    }

    #[test]
    fn values_stay_in_their_ranges() {
        let mut atoms = Atoms::default();
        let x = Lin::atom(atoms.fresh(Interval { lo: -9, hi: -3 }));
        let [high, low] = [x.offset(3), x.offset(2)].map(Option::unwrap);
        assert!(is_found(&[&high], &atoms) && !is_found(&[&low], &atoms));
        let nothing = Lin::atom(atoms.fresh(Interval { lo: 1, hi: 0 }));
        assert!(!is_found(&[&nothing], &atoms));
        let most = Lin::atom(atoms.fresh(Interval { lo: i128::MAX - 1, hi: i128::MAX }));
        assert!(!is_found(&[&most.scale(2).unwrap()], &atoms), "what is too large is given up");
    }
}
