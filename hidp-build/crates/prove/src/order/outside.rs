//! Calls that certainly leave the domain: a base case is missing.
//!
//! That is claimed of a corner of the domain, or a cell near one: if the cell exists, whatever the sizes, then the call certainly
//! runs there, and some index is certainly outside. Everything else is tested at run time.

use super::model::{Dependence, Model};
use super::sample::{Assignment, SIZES, value};
use super::{Refusal, RefusalKind};
use crate::linear::Lin;
use crate::rename::Renamer;

/// How far from a corner cells are looked at.
const NEAR: i128 = 3;
/// Corners of a call that are looked at.
const CORNERS: usize = 24;

impl Model<'_> {
    /// Looks for calls that leave the domain.
    pub(super) fn refuse_outside(&mut self) -> Result<(), Refusal> {
        let suspects: Vec<usize> =
            self.live().filter(|&call| self.calls[call].certain && !self.calls[call].inside).collect();
        let mut blamed = Vec::new();
        for call in suspects {
            if let Some(sample) = self.outside(call) {
                let witness = self.witness(call, &sample);
                blamed.push(self.blamed_with(call, witness));
            }
        }
        if blamed.is_empty() { Ok(()) } else { Err(Refusal { kind: RefusalKind::Outside, calls: blamed }) }
    }

    /// An example of a call that certainly leaves the domain.
    fn outside(&mut self, number: usize) -> Option<Assignment> {
        let call = self.calls[number].clone();
        let mut about = call.at.clone();
        about.extend(call.within.iter().cloned());
        for sizes in SIZES {
            let mut tried = Vec::new();
            for sample in self.assignments(&about, &call.path, &Assignment::new(), sizes, 400) {
                let leaves = call.within.iter().any(|bound| value(bound, &sample).is_some_and(|value| value < 0));
                let corners = if leaves { self.corners(number, &sample) } else { Vec::new() };
                for corner in corners {
                    if tried.len() < CORNERS && !tried.contains(&corner) {
                        if self.leaves_at(&call, number, &corner) {
                            return Some(sample);
                        }
                        tried.push(corner);
                    }
                }
            }
        }
        None
    }

    /// The cell of a sample as corners of the domain and distances to them, if it is near some.
    fn corners(&self, number: usize, sample: &Assignment) -> Vec<Vec<Lin>> {
        let table = &self.tables[self.calls[number].caller];
        let mut corners: Vec<Vec<Lin>> = vec![Vec::new()];
        for (atom, [low, last]) in table.index.iter().zip(&table.bounds) {
            let Some(&index) = sample.get(atom) else { return Vec::new() };
            let near = |bound: &Lin| {
                let apart = index - value(bound, sample)?;
                if apart.abs() < NEAR { bound.offset(apart) } else { None }
            };
            let ends: Vec<Lin> = [near(low), near(last)].into_iter().flatten().collect();
            let longer = |corner: &Vec<Lin>| {
                ends.iter().map(|end| [corner.as_slice(), std::slice::from_ref(end)].concat()).collect()
            };
            corners = corners.iter().flat_map(|corner| -> Vec<Vec<Lin>> { longer(corner) }).collect();
        }
        corners
    }

    /// Whether the call runs in this cell and leaves the domain, if the cell exists.
    fn leaves_at(&mut self, call: &Dependence, number: usize, corner: &[Lin]) -> bool {
        let table = self.tables[call.caller].clone();
        let mut renamer = Renamer::new(table.first_atom, []);
        for (&index, end) in table.index.iter().zip(corner) {
            let Some(end) = renamer.lin(&mut self.cx, end) else { return false };
            renamer.set(index, end);
        }
        let mut at = |lin: &Lin| renamer.lin(&mut self.cx, lin);
        let exists: Option<Vec<Lin>> = table.facts.iter().map(&mut at).collect();
        let path: Option<Vec<Lin>> = call.path.iter().map(&mut at).collect();
        let bounds: Vec<Lin> = call.within.iter().filter_map(&mut at).collect();
        let (Some(exists), Some(path)) = (exists, path) else { return false };
        let stand_in = Dependence { path: exists, within: Vec::new(), ..call.clone() };
        let before = std::mem::replace(&mut self.calls[number], stand_in);
        let runs = path.iter().all(|fact| self.proves(number, &[], fact));
        let leaves = runs
            && bounds.iter().any(|bound| {
                let outside = bound.scale(-1).and_then(|lin| lin.offset(-1));
                outside.is_some_and(|outside| self.proves(number, &[], &outside))
            });
        self.calls[number] = before;
        leaves
    }
}
