//! Pass `recurrences`: the tables of recurrences become loops and maps.
//!
//! A function that computes tables becomes two: one for calls at host level, one for calls in maps. Where cells of a step of the
//! schedule are independent and none can fault, the first is a *wave*: a loop over the steps at host level with a map over the cells
//! of each ([`wave`]). Otherwise, and in maps, it is a *sweep*: loops over all cells ([`sweep`]), at host level in a map of one
//! iteration. Cells that may fault, in an order in which the first fault would not be the one that the meaning of a
//! [`Recur`] says, are computed as that says: each when it is asked for ([`demand`]).
//!
//! Adds the invariant: there is no [`Recur`].

mod build;
mod cell;
mod demand;
mod sweep;
mod wave;

use std::collections::BTreeMap;

use super::Pass;
use build::Builder;
use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit::{Mutator, change};
use hidp_ir::par::{Block, Expr, FuncId, Program, Recur, Stmt, StmtKind, System};
use hidp_prove as prove;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "recurrences",
    about: "makes loops and maps of recurrences, in the order that was proved for their cells",
    run,
};

/// What a function is called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    /// Host level.
    Host,
    /// An iteration of a map.
    Map,
}

fn run(program: &mut Program) {
    let of_tables: Vec<FuncId> =
        program.funcs.iter().filter(|(_, func)| func.recur.is_some()).map(|(id, _)| id).collect();
    let mut in_maps = BTreeMap::new();
    for id in of_tables {
        let twin = program.funcs.push(program.funcs[id].clone());
        compute(program, id, Around::Host);
        compute(program, twin, Around::Map);
        in_maps.insert(id, twin);
    }
    if in_maps.is_empty() {
        return;
    }
    for (_, func) in program.funcs.iter_mut() {
        Redirect { in_maps: &in_maps, maps: 0 }.visit_block(&mut func.body);
    }
}

/// Makes calls in maps those of the functions that are for them.
struct Redirect<'a> {
    in_maps: &'a BTreeMap<FuncId, FuncId>,
    maps: usize,
}

impl Mutator for Redirect<'_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Call { callee, .. } if self.maps > 0 => {
                *callee = self.in_maps.get(callee).copied().unwrap_or(*callee);
            }
            StmtKind::Map(map) => {
                self.maps += 1;
                self.visit_block(&mut map.body);
                self.maps -= 1;
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => change::walk_stmt(self, stmt),
        }
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// Gives a function a body instead of its tables.
fn compute(program: &mut Program, id: FuncId, around: Around) {
    let Some(recur) = program.funcs[id].recur.take() else { return };
    let Recur { systems } = *recur;
    let mut stmts = Vec::new();
    for system in systems {
        stmts.extend(computed(program, id, &system, around));
    }
    program.funcs[id].body = Block { stmts };
}

fn computed(program: &mut Program, id: FuncId, system: &System, around: Around) -> Vec<Stmt> {
    let Some((bodies, faults)) = proved(program, id, system) else {
        return demand::system(&mut Builder::new(&mut program.funcs[id]), system, around);
    };
    let in_order = system.tables.len() == 1
        && system.order.nest.as_ref().is_some_and(|nest| nest.flips.iter().all(|flip| *flip > 0));
    if faults && !in_order {
        return demand::system(&mut Builder::new(&mut program.funcs[id]), system, around);
    }
    let mut builder = Builder::new(&mut program.funcs[id]);
    match &system.order.nest {
        Some(_) if around == Around::Host && !faults && wave::is_wide(system) => {
            wave::system(&mut builder, system, bodies, around)
        }
        Some(nest) => sweep::system(&mut builder, system, nest, bodies, around),
        None => wave::system(&mut builder, system, bodies, around),
    }
}

/// Bodies that store their cells, without the tests that are proved to pass, and whether any test is left.
fn proved(program: &mut Program, id: FuncId, system: &System) -> Option<(Vec<Block>, bool)> {
    let stored: Vec<Block> = system.tables.iter().map(cell::stored).collect();
    let stmts = system.tables.iter().zip(stored).map(|(table, body)| build::nest_of_maps(&table.index, body)).collect();
    program.funcs[id].body = Block { stmts };
    prove::bounds(program, id);
    let body = std::mem::take(&mut program.funcs[id].body);
    let faults = may_fault(program, &program.funcs[id].vars, &body);
    let bodies: Option<Vec<Block>> = body
        .stmts
        .into_iter()
        .zip(&system.tables)
        .map(|(stmt, table)| build::inside(stmt, table.index.len()))
        .collect();
    bodies.map(|bodies| (bodies, faults))
}
