//! What of a function's results depends on the order of iterations.

use crate::par::visit::{self, Role};
use crate::par::{Access, Func, Place, Program, StmtKind, VarId, VarKind};
use hidp_syntax::ast::Direction;

/// What several iterations may write.
#[derive(Clone, Debug, Default)]
pub(super) struct Racing {
    /// Parameters that nothing but stores touches, by their numbers: the interpreter lists the values that their elements may get.
    pub(super) listed: Vec<usize>,
    /// An array whose values may be others in another order, in ways that are not listed.
    pub(super) unlisted: Option<String>,
}

/// What iterations of a function's maps write of each other's elements.
pub(super) fn racing(program: &Program, function: &Func) -> Racing {
    let mut found = Racing { listed: Vec::new(), unlisted: of_callees(program, function) };
    for array in in_question(function) {
        match function.params.iter().position(|param| *param == array) {
            Some(position) if is_only_stored(function, array) => found.listed.push(position),
            Some(_) | None => found.unlisted = Some(function.vars[array].name.clone()),
        }
    }
    found
}

/// Arrays of which iterations write elements that others may write or read, atomic updates apart: those give the same in any order.
fn in_question(function: &Func) -> Vec<VarId> {
    let mut found = Vec::new();
    let mut add = |array: VarId| {
        if !found.contains(&array) {
            found.push(array);
        }
    };
    visit::walk_places(&function.body, |place, role| {
        if place.access == Access::Shared && role != Role::Update {
            add(place.array);
        }
    });
    found
}

/// Whether whole elements of an output are stored, and nothing else happens to it.
fn is_only_stored(function: &Func, array: VarId) -> bool {
    let written = matches!(function.vars[array].kind, VarKind::Param(Direction::Output | Direction::Inout));
    let (mut stores, mut uses) = (0, 0);
    visit::walk_stmts(&function.body, |stmt| {
        if let StmtKind::Store { place: Place { array: stored, path, .. }, .. } = &stmt.kind {
            stores += usize::from(*stored == array && path.is_empty());
        }
    });
    visit::walk_vars(&function.body, |var, _| uses += usize::from(var == array));
    written && stores == uses
}

/// An array of a function that this one calls.
fn of_callees(program: &Program, function: &Func) -> Option<String> {
    let mut found = None;
    visit::walk_stmts(&function.body, |stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            let callee = &program.funcs[*callee];
            let own = in_question(callee).first().map(|array| callee.vars[*array].name.clone());
            found = found.take().or(own).or_else(|| of_callees(program, callee));
        }
    });
    found
}
