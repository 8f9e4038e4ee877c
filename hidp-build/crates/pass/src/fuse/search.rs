//! Which maps of a block are joined: the first pair that can be, again and again.

use super::{Fuse, REACH};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{Map, Stmt, StmtKind};
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// A statement, however it moves. What comes from a joined pair has a new one.
type Name = usize;

/// Joins maps of one block until no pair is left that can be joined.
pub(super) fn join_all(fuse: &mut Fuse<'_, '_>, stmts: &mut Vec<Stmt>) {
    let mut search = Search {
        fuse,
        names: (0..stmts.len()).collect(),
        next: stmts.len(),
        never: OrdSet::new(),
        effects: OrdMap::new(),
    };
    let mut from = 0;
    while let Some((first, last, joined)) = search.find(stmts, from) {
        let names: Vec<Name> = (search.next..search.next + joined.len()).collect();
        search.next += joined.len();
        search.names.splice(first..=last, names);
        stmts.splice(first..=last, joined);
        // Maps that reach to here may be joined now; those before them saw nothing change.
        from = maps_before(stmts, first);
    }
}

/// Where the first map stands that reaches the statement at `at`.
fn maps_before(stmts: &[Stmt], at: usize) -> usize {
    let maps = (0..at).rev().filter(|at| map_of(&stmts[*at]).is_some());
    maps.take(REACH).last().unwrap_or(at)
}

struct Search<'f, 'p, 'v> {
    fuse: &'f mut Fuse<'p, 'v>,
    /// Of the block's statements.
    names: Vec<Name>,
    next: Name,
    /// Pairs that cannot be joined whatever stands between them.
    never: OrdSet<(Name, Name)>,
    effects: OrdMap<Name, Effects>,
}

impl Search<'_, '_, '_> {
    /// The first pair of maps from `from` on that can be joined, and what it becomes with all between.
    fn find(&mut self, stmts: &[Stmt], from: usize) -> Option<(usize, usize, Vec<Stmt>)> {
        for first in from..stmts.len() {
            let Some(a) = map_of(&stmts[first]) else { continue };
            let behind = (first + 1..stmts.len()).filter_map(|last| map_of(&stmts[last]).map(|b| (last, b)));
            for (last, b) in behind.take(REACH) {
                if let Some(joined) = self.join(&stmts[first..=last], (first, a), (last, b)) {
                    return Some((first, last, joined));
                }
            }
        }
        None
    }

    fn join(&mut self, stmts: &[Stmt], (first, a): (usize, &Map), (last, b): (usize, &Map)) -> Option<Vec<Stmt>> {
        let names = (self.names[first], self.names[last]);
        if self.never.contains(&names) {
            return None;
        }
        for (name, map) in [(names.0, a), (names.1, b)] {
            self.effects.entry(name).or_insert_with(|| self.fuse.effects(map));
        }
        match self.fuse.pair((a, &self.effects[&names.0]), (b, &self.effects[&names.1])) {
            Ok(pair) => self.fuse.join_pair(pair, stmts).ok(),
            Err(_) => {
                self.never.insert(names);
                None
            }
        }
    }
}

fn map_of(stmt: &Stmt) -> Option<&Map> {
    if let StmtKind::Map(map) = &stmt.kind { Some(map) } else { None }
}
