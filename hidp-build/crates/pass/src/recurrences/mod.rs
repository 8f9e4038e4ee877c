//! Pass `recurrences`: the tables of recurrences become loops and maps.
//!
//! A function that computes tables becomes two: one for calls at host level, one for calls in maps; and a call after which only a few
//! cells are read becomes one of a function that gives these (`asked`), or a field that loops walk along (`kept`). Where no cell can fault, tables at host level are computed in
//! *waves* (`wave`): a loop over the steps of the schedule with a map over the cells of each. They lie side by side in memory, or are
//! loaded from a `window` in which they do, a table per field of structs (`separate`), with fewer bits where those are enough (`narrow`), or made from `difference`s of neighbours, by tiles that threads share. In maps that is done where a window is enough and bodies have no loops. Otherwise a *sweep*
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
mod columns;
mod contents;
mod courses;
mod demand;
mod difference;
mod direct;
mod existing;
mod intervals;
mod job;
mod kept;
mod letters;
mod made;
mod narrow;
mod prefix;
mod profile;
mod regions;
mod separate;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;
mod transposed;
mod twin;
mod visits;
mod wave;
mod window;

use super::Pass;
pub use courses::{lines, name, pin, reached, shared, unfit};
pub use made::{Fate, Kept, Made, Tests, Unmet, Wants, Way, Why};

use asked::Asks;
use calls::{Calls, Use, called, called_in_maps};
use hidp_ir::par::{Block, Course, FuncId, PinnedCourse, Program, Recur, Stmt, System, VarId, interp};
use hidp_prove as prove;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use job::{Built, Job};

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
    transformed(program, false);
}

/// What the pass makes of each use in a program that `check` gave, and what could be made of it.
pub fn recurrences(program: &Program) -> Vec<Made> {
    transformed(&mut program.clone(), true)
}

/// Transforms the program; gives what was made of each use, if so wanted with the fates of all courses.
fn transformed(program: &mut Program, fates: bool) -> Vec<Made> {
    let of_tables: OrdSet<FuncId> =
        program.funcs.iter().filter(|(_, func)| func.recur.is_some()).map(|(id, _)| id).collect();
    if of_tables.is_empty() {
        return Vec::new();
    }
    let callers: Vec<FuncId> = program.funcs.ids().filter(|id| !of_tables.contains(id)).collect();
    let in_maps = called_in_maps(program);
    let (mut known, mut uses) = (OrdMap::new(), Vec::new());
    for user in callers {
        if !called(&program.funcs[user].body).is_disjoint(&of_tables) {
            // Cells are given by themselves only where they certainly exist.
            prove::bounds(program, user);
            let mut vars = std::mem::take(&mut program.funcs[user].vars);
            let mut body = std::mem::take(&mut program.funcs[user].body);
            let mut calls =
                Calls { of_tables: &of_tables, user, known: &mut known, uses: &mut uses, alone: None, in_one: false };
            let around = if in_maps.contains(&user) { Around::Map } else { Around::Host };
            let has_pins = program.courses.iter().any(|pinned| pinned.user == program.funcs[user].span);
            calls.alone = has_pins.then_some(user);
            let before = calls.uses.len();
            calls.block(program, &mut vars, &mut body.stmts, around);
            // Its own sizes are those of a call in an iteration.
            uses[before..].iter_mut().for_each(|each| each.asks.ragged |= around == Around::Map);
            program.funcs[user].vars = vars;
            program.funcs[user].body = body;
        }
    }
    let mut done: OrdMap<FuncId, Vec<Computed>> = OrdMap::new();
    let mut made = Vec::new();
    for Use { tables, user, id, around, asks, span } in uses {
        let computed = done.entry(id).or_insert_with(|| compute(program, (id, user), around, &asks, fates));
        let wants = match (asks.kept.len(), asks.cells.len(), asks.folds.len()) {
            (0, 0, 0) => Wants::Tables,
            (0, 0, folds) => Wants::Folds(folds),
            (0, cells, _) => Wants::Cells(cells),
            (_, cells, folds) => {
                let func = &program.funcs[id];
                let bytes = asks.kept.iter().map(|kept| interp::size_of(program, func.vars[kept.array].ty)).sum();
                Wants::Field { bytes, cells, folds }
            }
        };
        let in_map = around == Around::Map;
        made.extend(computed.iter().cloned().enumerate().map(|(system, Computed { way, fates, unmet })| Made {
            tables,
            system,
            user,
            span,
            in_map,
            wants,
            way,
            fates,
            unmet,
        }));
    }
    // A function that is never called is dropped.
    program.funcs.iter_mut().for_each(|(_, func)| func.recur = None);
    program.courses.clear();
    made
}

/// How a system is computed.
#[derive(Clone)]
struct Computed {
    way: Way,
    fates: Vec<(Course, Fate)>,
    unmet: Option<(PinnedCourse, Unmet)>,
}

/// Gives a function a body instead of its tables; with `asks`, it gives these cells instead. Says how each system is computed.
fn compute(
    program: &mut Program,
    (id, user): (FuncId, FuncId),
    around: Around,
    asks: &Asks,
    fates: bool,
) -> Vec<Computed> {
    let Some(recur) = program.funcs[id].recur.take() else { return Vec::new() };
    let Recur { systems } = *recur;
    let (mut stmts, mut all) = (Vec::new(), Vec::new());
    let alone = systems.len() == 1;
    let locals: Vec<Stmt> = if asks.is_empty() { Vec::new() } else { systems.iter().flat_map(declared).collect() };
    if !alone {
        // Later systems load what earlier ones leave.
        stmts.extend(locals.clone());
    }
    for system in &systems {
        let tables: Vec<VarId> = system.tables.iter().map(|table| table.array).collect();
        let job = Job { id, around, asks: asks.of(&tables), alone, kept: asks.is_empty(), locals: locals.clone() };
        let pinned = courses::pinned(program, (id, user), system);
        let unmet_of = |course: Course| job.system(&mut program.clone(), system, Some(course)).unmet;
        let courses = if fates { courses::all(&program.funcs[id], system) } else { Vec::new() };
        let unmets: Vec<_> = courses.into_iter().map(|course| (course, unmet_of(course))).collect();
        let Built { stmts: own, way, unmet } = job.system(program, system, pinned.as_ref().map(|pinned| pinned.course));
        stmts.extend(own);
        let fate = |(course, unmet)| {
            let fate = match unmet {
                Some(unmet) => Fate::Forbidden(unmet),
                None if way.course() == Some(course) => Fate::Chosen,
                None => Fate::Possible,
            };
            (course, fate)
        };
        let fates = unmets.into_iter().map(fate).collect();
        all.push(Computed { way, fates, unmet: pinned.zip(unmet) });
    }
    program.funcs[id].body = Block { stmts };
    all
}

/// Brings the tables of a system to life.
fn declared(system: &System) -> Vec<Stmt> {
    system.tables.iter().map(|table| build::declare(table.array, table.span)).collect()
}
