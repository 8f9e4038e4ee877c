//! Iterations that a lane takes side by side: it computes and loads once what they share. Which iterator of a nest that pays along, and how.

use super::facts::{Facts, Loop, Site, reads};
use super::space::{Cut, Level, Span};
use crate::refusal::{GROUP, SHAPE};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Block, FoldKind, Iter, StmtKind, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::place::Axis;

/// Iterations of a nest that a lane may take side by side, along an iterator of the outermost map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beside {
    /// The iterator, by number.
    pub(super) iter: usize,
    /// Whether neighbours load the same from one iteration inside to the next, as windows do that move.
    pub(super) overlaps: bool,
}

impl Beside {
    /// Whether a level can be taken side by side: maps inside are the lane's own, and neighbours lie along the fastest iterator. `inner` are the
    /// levels further in, the innermost last, of which the first `outer` are other iterators of the outermost map.
    pub(super) fn fits<'l>(
        self,
        (at, level): (usize, Level),
        inner: impl Iterator<Item = &'l Level>,
        outer: usize,
    ) -> Result<(), Cut> {
        if at != self.iter {
            return Err(Cut::By(&SHAPE));
        }
        let inner: Vec<&Level> = inner.collect();
        let (others, maps) = inner.split_at(outer);
        let alone = maps.iter().all(|map| map.size == 1 && map.span == Span::All);
        let fastest = others.last().map_or(level.dim, |fastest| fastest.dim);
        if alone && fastest == Some(Axis::X) { Ok(()) } else { Err(Cut::By(&GROUP)) }
    }
}

impl Facts<'_> {
    /// Whether a lane may take iterations of an iterator side by side, and what for: maps inside load the same for them, and run alike. In `apart`
    /// is what depends on the iterator.
    pub(super) fn side_by_side(&self, iter: usize, apart: &OrdSet<VarId>) -> Option<Beside> {
        let inner = self.loops.get(1..).filter(|inner| !inner.is_empty())?;
        let differs = |iter: &Iter| apart.iter().any(|var| reads(&iter.lo, *var) || reads(&iter.hi, *var));
        let alike = |node: &Loop<'_>| {
            let folds = node.map.folds.iter().all(|fold| fold.kind == FoldKind::Reduce);
            folds && !node.map.iters.iter().any(differs)
        };
        if !inner.iter().all(alike) {
            return None;
        }
        let is_same = |site: &Site| site.moves[iter].as_ref().is_some_and(|moves| moves.iter().all(|by| *by == 0));
        let is_window = |node: &Loop<'_>, site: &Site| {
            let mut along = node.first..node.first + node.map.iters.len();
            !is_same(site) && site.moves[iter].is_some() && along.any(|inner| site.moves[inner] == site.moves[iter])
        };
        let loads = || inner.iter().flat_map(|node| node.sites.iter().map(move |site| (node, site)));
        let loads = || loads().filter(|(_, site)| site.role == Role::Read);
        let overlaps = loads().any(|(node, site)| is_window(node, site));
        let shares = overlaps || loads().any(|(_, site)| is_same(site));
        shares.then_some(Beside { iter, overlaps })
    }
}

/// Whether iterations do nothing but compute, load and store, under conditions and in maps.
pub(super) fn is_straight(block: &Block) -> bool {
    let mut straight = true;
    visit::walk_stmts(block, |stmt| {
        straight &= match &stmt.kind {
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Map(_)
            | StmtKind::If { .. } => true,
            StmtKind::Atomic { .. }
            | StmtKind::Scope(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_) => false,
        };
    });
    straight
}
