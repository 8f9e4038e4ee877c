//! How far back calls reach.

use super::model::{Level, Model};
use crate::linear::Lin;

/// Larger windows count as unknown.
pub(super) const LARGEST: u32 = 16;

impl Model<'_> {
    /// For each table: 1 and the most by which a caller's value of the row exceeds that of a called cell of it.
    pub(super) fn windows(&mut self, level: &Level) -> Vec<Option<u32>> {
        let mut windows = vec![Some(1); self.tables.len()];
        for call in self.live() {
            let callee = self.calls[call].callee;
            if windows[callee].is_some() {
                let reach = self.reach(call, level).map(|reach| reach + 1);
                windows[callee] = windows[callee].max(reach).filter(|_| reach.is_some());
            }
        }
        windows
    }

    /// The most by which a caller's value of the row exceeds the called cell's, at least 0.
    fn reach(&mut self, call: usize, level: &Level) -> Option<u32> {
        let difference = self.difference(call, level)?;
        let largest = i128::from(LARGEST) - 1;
        if let Some(exact) = difference.as_constant() {
            return u32::try_from(exact.clamp(0, largest + 1)).ok().filter(|reach| *reach < LARGEST);
        }
        let seen = self.sampled(call, level).iter().copied().max().unwrap_or(0);
        let mut least = i128::from(seen).max(0);
        if least > largest || !self.at_most(call, &difference, largest) {
            return None;
        }
        let mut most = largest;
        // What samples show is nearly always the answer.
        if self.at_most(call, &difference, least) {
            most = least;
        }
        while least < most {
            let middle = (least + most) / 2;
            if self.at_most(call, &difference, middle) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        u32::try_from(most).ok()
    }

    fn at_most(&mut self, call: usize, lin: &Lin, limit: i128) -> bool {
        Lin::constant(limit).sub(lin).is_some_and(|goal| self.proves(call, &[], &goal))
    }
}
