//! Pass `recurrences`: the tables of recurrences become loops and maps.
//!
//! A function that computes tables becomes two: one for calls at host level, one for calls in maps; and a call after which only a few
//! cells are read becomes one of a function that gives these (`asked`). Where no cell can fault, tables at host level are computed in
//! *waves* (`wave`): a loop over the steps of the schedule with a map over the cells of each. They lie side by side in memory, or are
//! loaded from a `window` in which they do, with fewer bits where those are enough (`narrow`). In maps that is done where a window is enough and bodies have no loops. Otherwise a *sweep*
//! computes them, loops over all cells (`sweep`), at host level in a map of one iteration. Cells that may fault, in an order in which the first fault would not be the one that the meaning of a
//! [`Recur`] says, are computed as that says: each when it is asked for (`demand`).
//!
//! Whether a cell can fault may depend on sizes, where indices are converted to narrower types, and on data that are indices (`contents`). Then there are both, and
//! a test before them: of extents that fit `int`, and of the elements of input arrays.
//!
//! Adds the invariant: there is no [`Recur`].

mod asked;
mod build;
mod calls;
mod cell;
mod contents;
mod demand;
mod job;
mod made;
mod narrow;
mod profile;
mod sweep;
#[cfg(test)]
mod tests;
mod twin;
mod wave;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use super::Pass;
pub use made::{Kept, Made, Tests, Way, Why, recurrences, unfit};

use asked::Ask;
use calls::{Calls, Use, called, called_in_maps};
use hidp_ir::par::{Block, FuncId, Program, Recur, Stmt, System};
use hidp_prove as prove;
use job::Job;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "recurrences",
    about: "makes loops and maps of recurrences, in the order that was proved for their cells",
    run,
};

/// What a function is called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Around {
    /// Host level.
    Host,
    /// An iteration of a map.
    Map,
}

fn run(program: &mut Program) {
    transformed(program);
}

/// Transforms the program; gives what was made of each use.
fn transformed(program: &mut Program) -> Vec<Made> {
    let of_tables: BTreeSet<FuncId> =
        program.funcs.iter().filter(|(_, func)| func.recur.is_some()).map(|(id, _)| id).collect();
    if of_tables.is_empty() {
        return Vec::new();
    }
    let callers: Vec<FuncId> = program.funcs.ids().filter(|id| !of_tables.contains(id)).collect();
    let in_maps = called_in_maps(program);
    let (mut known, mut uses) = (BTreeMap::new(), Vec::new());
    for user in callers {
        if !called(&program.funcs[user].body).is_disjoint(&of_tables) {
            // Cells are given by themselves only where they certainly exist.
            prove::bounds(program, user);
            let mut vars = std::mem::take(&mut program.funcs[user].vars);
            let mut body = std::mem::take(&mut program.funcs[user].body);
            let mut calls = Calls { of_tables: &of_tables, user, known: &mut known, uses: &mut uses };
            let around = if in_maps.contains(&user) { Around::Map } else { Around::Host };
            calls.block(program, &mut vars, &mut body.stmts, around);
            program.funcs[user].vars = vars;
            program.funcs[user].body = body;
        }
    }
    let mut ways: BTreeMap<FuncId, Vec<Way>> = BTreeMap::new();
    let mut made = Vec::new();
    for Use { tables, user, id, around, asks, span } in uses {
        let ways = ways.entry(id).or_insert_with(|| compute(program, id, around, &asks));
        let cells = (!asks.is_empty()).then_some(asks.len());
        let each = ways.iter().enumerate();
        let in_map = around == Around::Map;
        made.extend(each.map(|(system, way)| Made { tables, system, user, span, in_map, cells, way: way.clone() }));
    }
    // What nobody calls is nothing.
    program.funcs.iter_mut().for_each(|(_, func)| func.recur = None);
    made
}

/// Gives a function a body instead of its tables; with `asks`, it gives these cells instead. Says how each system is computed.
fn compute(program: &mut Program, id: FuncId, around: Around, asks: &[Ask]) -> Vec<Way> {
    let Some(recur) = program.funcs[id].recur.take() else { return Vec::new() };
    let Recur { systems } = *recur;
    let (mut stmts, mut ways) = (Vec::new(), Vec::new());
    let alone = systems.len() == 1;
    let locals: Vec<Stmt> = if asks.is_empty() { Vec::new() } else { systems.iter().flat_map(declared).collect() };
    if !alone {
        // Later systems load what earlier ones leave.
        stmts.extend(locals.clone());
    }
    for system in &systems {
        let is_own = |ask: &&Ask| system.tables.iter().any(|table| table.array == ask.table);
        let job = Job {
            id,
            around,
            asks: asks.iter().filter(is_own).cloned().collect(),
            alone,
            kept: asks.is_empty(),
            locals: locals.clone(),
        };
        let (own, way) = job.system(program, system);
        stmts.extend(own);
        ways.push(way);
    }
    program.funcs[id].body = Block { stmts };
    ways
}

/// Brings the tables of a system to life.
fn declared(system: &System) -> Vec<Stmt> {
    system.tables.iter().map(|table| build::declare(table.array, table.span)).collect()
}
