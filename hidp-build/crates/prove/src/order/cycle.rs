//! Cells that certainly need each other.

use super::model::{Dependence, Model};
use super::sample::{Assignment, SIZES, Sizes};
use super::{Refusal, RefusalKind, Witness};
use crate::linear::{AtomKey, Lin};
use hidp_ir::par::VarKind;
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// A cell of a table.
type Cell = (usize, Vec<i64>);
/// Calls that one call makes in all cells of some sizes.
const CALLS: usize = 512;

/// The calls that certainly run for some sizes.
#[derive(Default)]
struct Graph {
    /// What each cell calls: by which call, where, and with which values.
    edges: OrdMap<Cell, Vec<(usize, Cell, Assignment)>>,
}

impl Model<'_> {
    /// A cycle of calls that certainly run, whatever the data are.
    pub(super) fn refuse_cycle(&mut self) -> Option<Refusal> {
        for sizes in SIZES {
            let graph = self.certain_calls(sizes);
            if let Some(cycle) = graph.cycle() {
                let blamed = cycle.into_iter().map(|(call, sample)| {
                    let witness: Option<Witness> = self.witness(call, &sample);
                    self.blamed_with(call, witness)
                });
                return Some(Refusal { kind: RefusalKind::Cycle, calls: blamed.collect() });
            }
        }
        None
    }

    fn certain_calls(&mut self, sizes: Sizes) -> Graph {
        let certain: Vec<usize> = self.live().filter(|&call| self.calls[call].certain).collect();
        let mut graph = Graph::default();
        let Some(common) = self.common_sizes(&certain, sizes) else { return graph };
        for number in certain {
            let call = &self.calls[number];
            let facts: Vec<Lin> = call.path.iter().chain(&call.within).cloned().collect();
            let mut about = call.at.clone();
            about.extend(self.tables[call.caller].index.iter().map(|&atom| Lin::atom(atom)));
            for sample in self.assignments(&about, &facts, &common, sizes, CALLS) {
                let Some((from, to)) = self.pair(number, &sample) else { continue };
                let Dependence { caller, callee, .. } = self.calls[number];
                graph.edges.entry((caller, from)).or_default().push((number, (callee, to), sample));
            }
        }
        graph
    }

    /// Values of all sizes that the calls name, which all of them allow.
    fn common_sizes(&mut self, calls: &[usize], sizes: Sizes) -> Option<Assignment> {
        let facts: Vec<Lin> = calls.iter().flat_map(|&call| &self.calls[call].path).cloned().collect();
        let is_size = |lin: &Lin, model: &Self| {
            lin.atoms().all(|atom| match model.cx.atoms.key(atom) {
                AtomKey::Var(var) => match model.cx.vars[*var].kind {
                    VarKind::Dim | VarKind::Param(_) => true,
                    VarKind::Local | VarKind::Iter => false,
                },
                AtomKey::Fresh(_) | AtomKey::Extreme(..) | AtomKey::Load(..) | AtomKey::Turns(..) | AtomKey::Op(..) => {
                    false
                }
            })
        };
        let about_sizes: Vec<Lin> = facts.iter().filter(|fact| is_size(fact, self)).cloned().collect();
        let atoms: OrdSet<_> = facts.iter().flat_map(Lin::atoms).collect();
        let named: Vec<Lin> = atoms.into_iter().map(Lin::atom).filter(|atom| is_size(atom, self)).collect();
        self.assignments(&named, &about_sizes, &Assignment::new(), sizes, 1).pop()
    }
}

impl Graph {
    /// The calls of a cycle, in their order.
    fn cycle(&self) -> Option<Vec<(usize, Assignment)>> {
        let mut finished: OrdSet<&Cell> = OrdSet::new();
        for start in self.edges.keys() {
            // Each cell on the way with the number of its next call.
            let mut way: Vec<(&Cell, usize)> = vec![(start, 0)];
            while let Some((cell, next)) = way.last_mut() {
                let called = self.edges.get(*cell).and_then(|calls| calls.get(*next));
                *next += 1;
                let Some((_, callee, _)) = called.filter(|_| !finished.contains(*cell)) else {
                    finished.insert(*cell);
                    way.pop();
                    continue;
                };
                if let Some(first) = way.iter().position(|(cell, _)| *cell == callee) {
                    let call = |(cell, next): &(&Cell, usize)| {
                        let (call, _, sample) = &self.edges[*cell][next - 1];
                        (*call, sample.clone())
                    };
                    return Some(way[first..].iter().map(call).collect());
                }
                if !finished.contains(callee) {
                    way.push((callee, 0));
                }
            }
        }
        None
    }
}
