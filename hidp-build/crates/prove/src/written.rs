//! What a block may assign, and how it may be left.

use hidp_ir::par::visit::child_blocks;
use hidp_ir::par::{Block, CallArg, Map, PrimCall, Stmt, StmtKind, Target, VarId};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::prim::Prim;

/// Shows `visit` every statement of `block`, inner ones too.
fn each(block: &Block, visit: &mut dyn FnMut(&Stmt)) {
    for stmt in &block.stmts {
        visit(stmt);
        for inner in child_blocks(stmt) {
            each(inner, visit);
        }
    }
}

/// Scalars that `block` may assign.
pub(crate) fn scalars(block: &Block) -> OrdSet<VarId> {
    scalars_with_repetition(block).into_iter().collect()
}

/// Scalars that `block` may assign, once for each declaration and assignment.
pub(crate) fn scalars_with_repetition(block: &Block) -> Vec<VarId> {
    let mut found = Vec::new();
    each(block, &mut |stmt| scalars_of(stmt, &mut found));
    found
}

/// Scalars that a map may assign, its folds included.
pub(crate) fn scalars_of_map(map: &Map) -> OrdSet<VarId> {
    let mut found = scalars(&map.body);
    found.extend(map.folds.iter().filter_map(|fold| scalar_target(&fold.target)));
    found
}

fn scalar_target(target: &Target) -> Option<VarId> {
    match target {
        Target::Scalar(var) => Some(*var),
        Target::Element(_) => None,
    }
}

fn scalars_of(stmt: &Stmt, found: &mut Vec<VarId>) {
    match &stmt.kind {
        StmtKind::Declare { var, .. } | StmtKind::Assign { var, .. } | StmtKind::AssignField { var, .. } => {
            found.push(*var);
        }
        StmtKind::Map(map) => found.extend(map.folds.iter().filter_map(|fold| scalar_target(&fold.target))),
        StmtKind::Prim(call) => found.extend(call.result.as_ref().and_then(scalar_target)),
        StmtKind::Call { args, .. } => {
            for arg in args {
                if let CallArg::Scalar(var) = arg {
                    found.push(*var);
                }
            }
        }
        StmtKind::Store { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Swap(..)
        | StmtKind::Require { .. } => {}
    }
}

/// Arrays that `block` may write or exchange. Every array that is passed to a function counts.
pub(crate) fn arrays(block: &Block) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    each(block, &mut |stmt| arrays_of(stmt, &mut found));
    found
}

fn arrays_of(stmt: &Stmt, found: &mut OrdSet<VarId>) {
    match &stmt.kind {
        StmtKind::Store { place, .. } | StmtKind::Atomic { place, .. } => {
            found.insert(place.array);
        }
        StmtKind::Map(map) => found.extend(map.folds.iter().filter_map(|fold| element_target(&fold.target))),
        StmtKind::Prim(call) => found.extend(prim_outputs(call)),
        StmtKind::Swap(a, b) => found.extend([*a, *b]),
        StmtKind::Call { args, .. } => found.extend(args.iter().filter_map(|arg| match arg {
            CallArg::Element(place) => Some(place.array),
            CallArg::Array(array) => Some(*array),
            CallArg::Section(section) => Some(section.array),
            CallArg::Value(_) | CallArg::Scalar(_) => None,
        })),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AssignField { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Scope(_)
        | StmtKind::Leave
        | StmtKind::Return(_)
        | StmtKind::Require { .. } => {}
    }
}

fn element_target(target: &Target) -> Option<VarId> {
    match target {
        Target::Scalar(_) => None,
        Target::Element(place) => Some(place.array),
    }
}

/// Arrays that a primitive may write.
pub(crate) fn prim_outputs(call: &PrimCall) -> Vec<VarId> {
    let mut found = Vec::new();
    let in_place = call.output.is_none() && call.result.is_none();
    if in_place || call.prim == Prim::ReverseInplace {
        found.push(call.input.array);
    }
    found.extend(call.output.as_ref().map(|output| output.array));
    found.extend(call.values.as_ref().and_then(|(_, out)| out.as_ref()).map(|out| out.array));
    found.extend(call.result.as_ref().and_then(element_target));
    found.extend(call.new_bounds.into_iter().flat_map(|(low, high)| [low, high]));
    found
}

/// Whether some statement of `block`, inner ones too, is such.
fn any(block: &Block, test: fn(&StmtKind) -> bool) -> bool {
    let mut found = false;
    each(block, &mut |stmt| found |= test(&stmt.kind));
    found
}

/// Whether it may end its loop, scope or function early.
pub(crate) fn jumps(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Return(_)))
}

/// Whether it holds a `continue`, perhaps of an inner loop.
pub(crate) fn continues(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Continue))
}

/// Whether it may leave its loop other than by the condition.
pub(crate) fn breaks(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Break | StmtKind::Leave | StmtKind::Return(_)))
}

/// Whether it may leave its scope or function.
pub(crate) fn leaves(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Leave | StmtKind::Return(_)))
}

/// Whether it exchanges arrays.
pub(crate) fn swaps(block: &Block) -> bool {
    any(block, |kind| matches!(kind, StmtKind::Swap(..)))
}
