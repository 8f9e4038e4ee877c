//! Launches that one grid does, one after the other: those of loops of the host.

use super::Facts;
use crate::mapping::{Exec, Misfit, Recipe, key};
use hidp_ir::par::visit::child_blocks;
use hidp_ir::par::{Block, StmtKind, VarId};
use hidp_syntax::ast::Level;

/// Whether the launches of a nest can be joined to others.
pub(super) fn suits(facts: &Facts<'_>) -> Result<(), Misfit> {
    let Facts { func, nest, mapping, .. } = facts;
    let is_launched = matches!(mapping.recipe, Recipe::Plain | Recipe::Blocks(_)) && !mapping.is_split();
    let level = key(nest).and_then(|key| mapping.exec(key));
    if !is_launched || level == Some(Exec::Device(Level::Kernel)) || !mapping.copied.is_empty() {
        return Err(Misfit(
            "`joined` launches run a nest's iterations as they are, without copies of arrays".to_owned(),
        ));
    }
    if !key(nest).is_some_and(|key| is_in_loop(&func.body, key)) {
        return Err(Misfit("`joined` launches are those of a loop of the host".to_owned()));
    }
    Ok(())
}

/// Whether the nest with this iterator last is in a loop of the host.
pub(crate) fn is_in_loop(block: &Block, last: VarId) -> bool {
    is_in(block, last, false)
}

fn is_in(block: &Block, last: VarId, within: bool) -> bool {
    block.stmts.iter().any(|stmt| {
        if let StmtKind::Map(map) = &stmt.kind {
            return within && key(map) == Some(last);
        }
        let within = within || matches!(stmt.kind, StmtKind::Loop(_));
        child_blocks(stmt).into_iter().any(|child| is_in(child, last, within))
    })
}
