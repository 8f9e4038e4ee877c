//! Whether it pays to look at the ends of sections before the nest that takes them.
//!
//! It does if the sections are long, and loops of their iterations come back to their elements: as where a section is compared with another.

use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, Expr, FaultKind, Func, Map, StmtKind, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

use super::super::extremes::elements;
use super::has_tests;
use super::worth::{Look, OFTEN, Worth, are_read, is_fixed};

/// Whether an iteration of a nest takes sections, and loops over what it takes with tests inside.
pub(super) fn are_taken(block: &Block) -> bool {
    let mut taken = false;
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::Map(map) = &stmt.kind {
            taken |= has_tested_loop(&map.body) && has_section(&map.body);
        }
    });
    taken
}

fn has_tested_loop(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::Loop(inner) = &stmt.kind {
            found |= has_tests(&inner.body);
        }
    });
    found
}

fn has_section(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Require { fault: FaultKind::Segment, .. }))
}

/// What to look at before a nest: arrays of which each iteration reads the ends of its sections. `None` where that does not pay.
pub(super) fn looks(func: &Func, nest: &Map, span: Span, arrays: &OrdSet<VarId>) -> Option<Vec<Look>> {
    if !has_tested_loop(&nest.body) || !are_read(func, nest, span, arrays) {
        return None;
    }
    let extent = section_of(&func.vars, &nest.body)?;
    let look = |array: &VarId| {
        let several = Expr::long(BinOp::Mul, Expr::int(OFTEN, span), elements(&func.vars, *array));
        Look { array: *array, worth: Worth::Often(Expr::long(BinOp::Le, several, extent.clone())) }
    };
    Some(arrays.iter().map(look).collect())
}

/// The extent of an array of which sections are taken that is known before the nest.
fn section_of(vars: &Arena<VarId, Var>, block: &Block) -> Option<Expr> {
    let mut extents = block.stmts.iter().filter_map(|stmt| {
        let StmtKind::Require { fault: FaultKind::Segment, values, .. } = &stmt.kind else { return None };
        values.iter().find(|(name, _)| name == "extent").map(|(_, extent)| extent.clone())
    });
    extents.find(|extent| is_fixed(vars, extent))
}
