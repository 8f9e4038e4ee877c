//! Loops over the indices as they are written.

use super::model::{Level, Model};
use super::{Nest, Row};

impl Model<'_> {
    /// Directions of the loops, if there are any that meet every called cell earlier.
    pub(super) fn nest(&mut self) -> Option<Nest> {
        let arity = self.tables.first()?.index.len();
        if self.tables.iter().any(|table| table.index.len() != arity) {
            return None;
        }
        let (flips, ranks) = directions(arity).iter().find_map(|flips| self.in_order(flips))?;
        Some(Nest { flips, ranks })
    }

    fn levels(&self, flips: &Row) -> Vec<Level> {
        let unit = |index: usize| {
            let mut row = vec![0; flips.len()];
            row[index] = flips[index];
            row
        };
        (0..flips.len()).map(|index| vec![unit(index); self.tables.len()]).collect()
    }

    /// The ranks of tables if loops in these directions meet every called cell earlier.
    fn in_order(&mut self, flips: &Row) -> Option<(Row, Vec<u32>)> {
        let levels = self.levels(flips);
        let possible = self.live().all(|call| {
            let samples: Vec<Vec<i64>> = levels.iter().map(|level| self.sampled(call, level)).collect();
            let count = samples.iter().map(Vec::len).min().unwrap_or(0);
            (0..count).all(|sample| {
                samples.iter().map(|level| level[sample]).find(|ahead| *ahead != 0).is_none_or(|ahead| ahead > 0)
            })
        });
        let ranks = possible.then(|| self.ranks(&levels).ok())?;
        ranks.map(|ranks| (flips.clone(), ranks))
    }
}

/// All directions of so many loops, upwards first.
fn directions(arity: usize) -> Vec<Row> {
    let mut all: Vec<Row> = vec![Vec::new()];
    for _ in 0..arity {
        all = all.iter().flat_map(|row| [1, -1].map(|flip| [row.as_slice(), &[flip]].concat())).collect();
    }
    all
}
