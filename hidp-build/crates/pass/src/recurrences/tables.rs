//! Tables that are kept at host level: waves beside transposed copies, and tiles.

use hidp_ir::par::{Block, Stmt, StmtKind, System};

use super::build::Builder;
use super::intervals::Intervals;
use super::job::Job;
use super::made::{Kept, Way};
use super::{Around, sweep, transposed, wave};

impl Job {
    /// A wave over tables that are kept, with transposed copies of what cells are loaded from along the first index.
    pub(super) fn with_copies(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
    ) -> Option<(Vec<Stmt>, Way)> {
        let mut bodies = bodies.to_vec();
        let copies = transposed::applied(builder, system, &mut bodies);
        if copies.is_empty() {
            return None;
        }
        let span = system.tables[0].span;
        // Cells that bodies load are stored before.
        let declared = |var| Stmt { kind: StmtKind::Declare { var, zero: false }, span };
        let mut stmts: Vec<Stmt> = copies.into_iter().map(declared).collect();
        stmts.extend(wave::system(builder, system, bodies, self.around, None));
        Some((self.around_tables(builder, system, stmts), Way::Wave(Kept::Twin)))
    }

    /// A table of intervals at host level, in tiles whose folds are products of tiles.
    pub(super) fn by_intervals(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        side: u32,
    ) -> Option<(Vec<Stmt>, Way)> {
        let intervals = Intervals::of(builder, system, bodies).filter(|_| self.around == Around::Host)?;
        let stmts = intervals.made(builder, side);
        Some((self.around_tables(builder, system, stmts), Way::Intervals { side }))
    }

    /// Tables that are kept at host level, in tiles.
    pub(super) fn in_blocks(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: &[Block],
        sides: [u32; 2],
    ) -> Option<(Vec<Stmt>, Way)> {
        let nest = system.order.nest.as_ref().filter(|_| self.around == Around::Host)?;
        if !sweep::looks_back(system, nest, bodies) {
            return None;
        }
        let stmts = sweep::in_tiles(builder, system, nest, bodies.to_vec(), sides);
        Some((self.around_tables(builder, system, stmts), Way::Blocks { sides }))
    }
}
