//! Calls of functions of tables: each gets a function of its own, for what it is called from and what it needs.

use hidp_ir::par::visit;
use hidp_ir::par::{Block, FuncId, Program, ScalarFn, ScalarFnId, Stmt, StmtKind, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::Around;
use super::asked::{self, Asks};
use super::build;
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
    /// Whether one map is around.
    pub(super) in_one: bool,
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
                    let mut instead = instead;
                    if let Some(instead) = instead.as_mut().filter(|instead| self.in_one && instead.asks.ragged) {
                        in_iterations(program, vars, instead);
                    }
                    at = self.call(program, stmts, at, around, callee, instead);
                }
                kind => {
                    let is_map = matches!(kind, StmtKind::Map(_));
                    let inside = if is_map { Around::Map } else { around };
                    let in_one = if is_map { around == Around::Host } else { self.in_one };
                    let known = std::mem::replace(&mut self.in_one, in_one);
                    for block in visit::child_blocks_mut(&mut stmts[at]) {
                        self.block(program, vars, &mut block.stmts, inside);
                    }
                    self.in_one = known;
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

/// Adds what is known of the iterations around a call to what it gives.
fn in_iterations(program: &mut Program, vars: &Arena<VarId, Var>, instead: &mut asked::Instead) {
    let Some(StmtKind::Call { callee, args }) = instead.call.first().map(|stmt| &stmt.kind) else { return };
    let lanes = lanes(program, instead.call[0].span);
    instead.asks.around = Some(asked::iterations(&program.funcs[*callee], args, vars, lanes));
}

/// The function that says whether iterations are in lanes.
fn lanes(program: &mut Program, span: Span) -> ScalarFnId {
    if let Some(known) = program.lanes {
        return known;
    }
    let mut vars = Arena::new();
    let kind = VarKind::Param(Direction::Input);
    let devices = vars.push(Var { name: "devices".into(), ty: Ty::BOOL, shape: Vec::new(), kind, span });
    let no = Stmt { kind: StmtKind::Return(build::constant(false, span)), span };
    let known = program.scalar_fns.push(ScalarFn {
        name: "in_lanes".into(),
        params: vec![devices],
        result: Ty::BOOL,
        vars,
        body: Some(Block { stmts: vec![no] }),
        contract: false,
        span,
    });
    program.lanes = Some(known);
    known
}
