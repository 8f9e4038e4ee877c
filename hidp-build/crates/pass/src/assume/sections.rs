//! Whether it pays to look at the ends of sections before the nest that takes them.
//!
//! It does if the sections are long, and loops of their iterations come back to their elements: as where a section is compared with another.

use hidp_ir::par::visit;
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, FaultKind, Func, Map, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

use super::super::extremes::elements;
use super::has_tests;
use super::worth::{Look, OFTEN, Worth, are_read, is_fixed};

/// Whether an iteration of a nest takes sections, and loops over what it takes with tests inside.
pub(super) fn are_taken(func: &Func) -> bool {
    let mut taken = false;
    visit::walk_stmts(&func.body, |stmt| {
        if let StmtKind::Map(map) = &stmt.kind {
            taken |= has_tested_loop(&func.vars, &map.body) && has_section(&map.body);
        }
    });
    taken
}

/// Whether an innermost loop has tests, and does not just copy to an array of the iteration: others take longer than theirs.
fn has_tested_loop(vars: &Arena<VarId, Var>, block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::Loop(inner) = &stmt.kind {
            let mut body = inner.body.clone();
            body.stmts.retain(|stmt| !is_copy(vars, stmt));
            let mut is_innermost = true;
            visit::walk_stmts(&body, |stmt| is_innermost &= !matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
            found |= is_innermost && has_tests(&body);
        }
    });
    found
}

fn is_copy(vars: &Arena<VarId, Var>, stmt: &Stmt) -> bool {
    let StmtKind::Store { place, value } = &stmt.kind else { return false };
    place.unproved == 0 && vars[place.array].kind == VarKind::Local && matches!(value.kind, ExprKind::Load(_))
}

fn has_section(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Require { fault: FaultKind::Segment, .. }))
}

/// What to look at before a nest: arrays of which each iteration reads the ends of its sections. `None` where that does not pay.
pub(super) fn looks(func: &Func, nest: &Map, span: Span, arrays: &OrdSet<VarId>) -> Option<Vec<Look>> {
    if !has_tested_loop(&func.vars, &nest.body) || !are_read(func, nest, span, arrays) {
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
