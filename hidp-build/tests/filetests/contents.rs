//! What a block holds.

use hidp_build::compiler::index::Arena;
use hidp_build::compiler::ir::par::{Block, Map, Stmt, StmtKind, Var, VarId, visit};

/// The maps of a block that stand in no other map.
pub(crate) fn outermost(block: &Block) -> Vec<&Map> {
    let mut found = Vec::new();
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Map(map) => found.push(map),
            StmtKind::If { then, otherwise, .. } => {
                found.extend(outermost(then));
                found.extend(outermost(otherwise));
            }
            StmtKind::Loop(node) => {
                found.extend(outermost(&node.body));
                found.extend(outermost(&node.step));
            }
            StmtKind::Scope(inner) => found.extend(outermost(inner)),
            _ => {}
        }
    }
    found
}

/// The names of the arrays that a block declares.
pub(crate) fn arrays(vars: &Arena<VarId, Var>, block: &Block) -> Vec<String> {
    let mut found = Vec::new();
    visit::walk_stmts(block, |Stmt { kind, .. }| {
        if let StmtKind::Declare { var, .. } = kind
            && vars[*var].is_array()
        {
            found.push(vars[*var].name.clone());
        }
    });
    found
}
