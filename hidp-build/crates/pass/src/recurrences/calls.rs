//! Calls of functions of tables: each gets a function of its own, for what it is called from and what it needs.

use hidp_ir::par::visit;
use hidp_ir::par::{Block, FuncId, Program, Stmt, StmtKind, Var, VarId};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;

use super::Around;
use super::asked::{self, Asks};
use super::direct;
use super::kept;

/// A call of a function of tables.
pub(super) struct Use {
    /// The function as it was.
    pub(super) tables: FuncId,
    /// The function that calls it.
    pub(super) user: FuncId,
    /// What it calls instead.
    pub(super) id: FuncId,
    pub(super) around: Around,
    /// What it gives; nothing where it fills tables.
    pub(super) asks: Asks,
    /// The call.
    pub(super) span: Span,
}

/// Functions that run in iterations of maps, at least sometimes.
pub(super) fn called_in_maps(program: &Program) -> OrdSet<FuncId> {
    let mut found: OrdSet<FuncId> = OrdSet::new();
    loop {
        let known = found.len();
        for (id, func) in program.funcs.iter() {
            if found.contains(&id) {
                found.extend(called(&func.body));
            }
            visit::walk_stmts(&func.body, |stmt| {
                if let StmtKind::Map(map) = &stmt.kind {
                    found.extend(called(&map.body));
                }
            });
        }
        if found.len() == known {
            return found;
        }
    }
}

pub(super) fn called(block: &Block) -> OrdSet<FuncId> {
    let mut found = OrdSet::new();
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            found.insert(*callee);
        }
    });
    found
}

/// The calls of functions of tables in a function.
pub(super) struct Calls<'a> {
    pub(super) of_tables: &'a OrdSet<FuncId>,
    /// The function that calls them.
    pub(super) user: FuncId,
    /// Functions that fill tables.
    pub(super) known: &'a mut OrdMap<(FuncId, Around, Option<FuncId>), FuncId>,
    /// The function, if it has courses of its own.
    pub(super) alone: Option<FuncId>,
    pub(super) uses: &'a mut Vec<Use>,
}

impl Calls<'_> {
    /// Gives each call its function.
    pub(super) fn block(
        &mut self,
        program: &mut Program,
        vars: &mut Arena<VarId, Var>,
        stmts: &mut Vec<Stmt>,
        around: Around,
    ) {
        let mut at = 0;
        while at < stmts.len() {
            match &mut stmts[at].kind {
                StmtKind::Call { callee, .. } if self.of_tables.contains(callee) => {
                    let callee = *callee;
                    let by_steps = (around == Around::Host).then(|| kept::instead(program, vars, stmts, at)).flatten();
                    let instead = by_steps.or_else(|| asked::instead(program, vars, stmts, (at, around, false)));
                    if instead.is_none() {
                        at = direct::computed(program, vars, stmts, at);
                    }
                    at = self.call(program, stmts, at, around, callee, instead);
                }
                kind => {
                    let inside = if matches!(kind, StmtKind::Map(_)) { Around::Map } else { around };
                    for block in visit::child_blocks_mut(&mut stmts[at]) {
                        self.block(program, vars, &mut block.stmts, inside);
                    }
                }
            }
            at += 1;
        }
    }

    /// Changes the call at `at`; gives where it stands then.
    fn call(
        &mut self,
        program: &mut Program,
        stmts: &mut Vec<Stmt>,
        at: usize,
        around: Around,
        tables: FuncId,
        instead: Option<asked::Instead>,
    ) -> usize {
        let user = self.user;
        let span = stmts[at].span;
        let Some(asked::Instead { id, asks, arrays, before, call }) = instead else {
            let clone = || program.funcs.push(program.funcs[tables].clone());
            let id = *self.known.entry((tables, around, self.alone)).or_insert_with(clone);
            if let StmtKind::Call { callee, .. } = &mut stmts[at].kind {
                *callee = id;
            }
            self.uses.push(Use { tables, user, id, around, asks: Asks::default(), span });
            return at;
        };
        self.uses.push(Use { tables, user, id, around, asks, span });
        stmts.truncate(at);
        stmts.retain(|stmt| !matches!(&stmt.kind, StmtKind::Declare { var, .. } if arrays.contains(var)));
        stmts.extend(before);
        let at = stmts.len();
        stmts.extend(call);
        at
    }
}
