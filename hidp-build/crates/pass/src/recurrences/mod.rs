//! Pass `recurrences`: the tables of recurrences become loops and maps.
//!
//! A function that computes tables becomes two: one for calls at host level, one for calls in maps; and a call after which only a few
//! cells are read becomes one of a function that gives these (`asked`). Where no cell can fault, tables at host level are computed in
//! *waves* (`wave`): a loop over the steps of the schedule with a map over the cells of each. They lie side by side in memory, or are
//! loaded from a `window` in which they do, with fewer bits where those are enough (`narrow`). In maps that is done where a window is enough and bodies have no loops. Otherwise a *sweep*
//! computes them, loops over all cells (`sweep`), at host level in a map of one iteration. Cells that may fault, in an order in which the first fault would not be the one that the meaning of a
//! [`Recur`] says, are computed as that says: each when it is asked for (`demand`).
//!
//! Whether a cell can fault may depend on sizes, where indices are converted to narrower types. Then there are both: for tables whose
//! extents fit `int`, and for others.
//!
//! Adds the invariant: there is no [`Recur`].

mod asked;
mod build;
mod cell;
mod demand;
mod made;
mod narrow;
mod sweep;
#[cfg(test)]
mod tests;
mod twin;
mod wave;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use super::Pass;
pub use made::{Kept, Made, Way, Why, recurrences, unfit};

use asked::Ask;
use build::Builder;
use hidp_ir::par::effects::may_fault;
use hidp_ir::par::visit;
use hidp_ir::par::{Access, Block, Expr, ExprKind, FuncId, Place, Program, Recur, Stmt, StmtKind, System, Var, VarId};
use hidp_prove as prove;
use hidp_syntax::index::Arena;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;
use narrow::Narrow;
use twin::{copied, fit_int, twin};
use window::{Cells, Window};

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
        made.extend(each.map(|(system, way)| Made { tables, system, user, span, cells, way: way.clone() }));
    }
    // What nobody calls is nothing.
    program.funcs.iter_mut().for_each(|(_, func)| func.recur = None);
    made
}

/// A call of a function of tables.
struct Use {
    /// The function as it was.
    tables: FuncId,
    /// The function that calls it.
    user: FuncId,
    /// What it calls instead.
    id: FuncId,
    around: Around,
    /// Cells that it gives; none where it fills tables.
    asks: Vec<Ask>,
    /// The call.
    span: Span,
}

/// Functions that run in iterations of maps, at least sometimes.
fn called_in_maps(program: &Program) -> BTreeSet<FuncId> {
    let mut found: BTreeSet<FuncId> = BTreeSet::new();
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

fn called(block: &Block) -> BTreeSet<FuncId> {
    let mut found = BTreeSet::new();
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            found.insert(*callee);
        }
    });
    found
}

/// The calls of functions of tables in a function.
struct Calls<'a> {
    of_tables: &'a BTreeSet<FuncId>,
    /// The function that calls them.
    user: FuncId,
    /// Functions that fill tables.
    known: &'a mut BTreeMap<(FuncId, Around), FuncId>,
    uses: &'a mut Vec<Use>,
}

impl Calls<'_> {
    /// Gives each call its function.
    fn block(&mut self, program: &mut Program, vars: &mut Arena<VarId, Var>, stmts: &mut Vec<Stmt>, around: Around) {
        let mut at = 0;
        while at < stmts.len() {
            match &mut stmts[at].kind {
                StmtKind::Call { callee, .. } if self.of_tables.contains(callee) => {
                    let callee = *callee;
                    let instead = asked::instead(program, vars, stmts, at);
                    at = self.call(program, stmts, at, around, callee, instead);
                }
                kind => self.inner(program, vars, kind, around),
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
            let id = *self.known.entry((tables, around)).or_insert_with(clone);
            if let StmtKind::Call { callee, .. } = &mut stmts[at].kind {
                *callee = id;
            }
            self.uses.push(Use { tables, user, id, around, asks: Vec::new(), span });
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

    fn inner(&mut self, program: &mut Program, vars: &mut Arena<VarId, Var>, kind: &mut StmtKind, around: Around) {
        match kind {
            StmtKind::If { then, otherwise, .. } => {
                self.block(program, vars, &mut then.stmts, around);
                self.block(program, vars, &mut otherwise.stmts, around);
            }
            StmtKind::Loop(node) => {
                self.block(program, vars, &mut node.body.stmts, around);
                self.block(program, vars, &mut node.step.stmts, around);
            }
            StmtKind::Scope(block) => self.block(program, vars, &mut block.stmts, around),
            StmtKind::Map(map) => self.block(program, vars, &mut map.body.stmts, Around::Map),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
    }
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

/// What is to be made of a system.
struct Job {
    id: FuncId,
    around: Around,
    /// Cells of it that the function gives.
    asks: Vec<Ask>,
    /// Whether the function has no other system.
    alone: bool,
    /// Whether the tables are outputs.
    kept: bool,
    /// Brings tables that are no outputs to life.
    locals: Vec<Stmt>,
}

impl Job {
    fn system(&self, program: &mut Program, system: &System) -> (Vec<Stmt>, Way) {
        let (bodies, faults) = self.proved(program, system, None);
        if !faults {
            return self.without_faults(program, system, bodies);
        }
        let sideways = self.around == Around::Host || !self.whole(system);
        if sideways && wave::is_wide(system) {
            let small = fit_int(program, self.id, system);
            let twin = twin(program, self.id, system);
            let (twins, faults) = self.proved(program, &twin, Some(small.clone()));
            if !faults {
                let (then, fits) = self.without_faults(program, &twin, twins);
                let (otherwise, other) = self.with_faults(program, system, bodies);
                let [then, otherwise] = [then, otherwise].map(|stmts| Block { stmts });
                let both = Stmt { span: small.span, kind: StmtKind::If { cond: small, then, otherwise } };
                return (vec![both], Way::BySize(Box::new(fits), Box::new(other)));
            }
        }
        self.with_faults(program, system, bodies)
    }

    /// Whether all of the table is needed, and not only cells that are asked for.
    fn whole(&self, system: &System) -> bool {
        self.kept || !self.alone || !self.asks.iter().all(|ask| asks_box(ask, system))
    }

    /// Tables of cells that cannot fault: in any order.
    fn without_faults(&self, program: &mut Program, system: &System, bodies: Vec<Block>) -> (Vec<Stmt>, Way) {
        let mut builder = Builder::new(&mut program.funcs[self.id]);
        let whole = self.whole(system);
        // Inside of a map, a loop over others does not run in lanes, and steps cost more than they save.
        let apart = self.around == Around::Map && (whole || bodies.iter().any(has_loop));
        if apart || !wave::is_wide(system) {
            let why = if self.around == Around::Map { Why::Iteration } else { Why::Narrow };
            return (self.swept(&mut builder, system, bodies), Way::Sweep(why));
        }
        let skewed = wave::is_skewed(system);
        let rows: Vec<&[i64]> = system.order.steps.iter().map(|steps| steps.rows[0].as_slice()).collect();
        let windows = if whole && !skewed {
            None
        } else {
            let kept = (self.around, whole);
            window::of(&mut builder, system, &bodies, |at| wave::following(rows[at]), kept, Cells::Declared)
        };
        match windows {
            Some(windows) => {
                let narrow = self.narrow(&mut builder, system, &bodies);
                let wide = self.in_windows(&mut builder, system, bodies, &windows);
                let way = Way::Wave(if whole { Kept::Both } else { Kept::Window });
                match narrow {
                    Some(narrow) => (self.narrow_or(&mut builder, narrow, wide), Way::Narrow(Box::new(way))),
                    None => (wide, way),
                }
            }
            None if self.around == Around::Map => {
                (self.swept(&mut builder, system, bodies), Way::Sweep(Why::Iteration))
            }
            // Across a table, cells that do little each are computed sooner one after the other.
            None if skewed && system.order.pinned.is_none() && !bodies.iter().any(has_loop) => {
                (self.swept(&mut builder, system, bodies), Way::Sweep(Why::Across))
            }
            None => {
                let stmts = wave::system(&mut builder, system, bodies, self.around, None);
                (self.around_tables(&builder, system, stmts), Way::Wave(Kept::Table))
            }
        }
    }

    /// A wave that keeps windows.
    fn in_windows(
        &self,
        builder: &mut Builder<'_>,
        system: &System,
        bodies: Vec<Block>,
        windows: &BTreeMap<VarId, Window>,
    ) -> Vec<Stmt> {
        let whole = self.whole(system);
        let asks = if whole { &[] } else { self.asks.as_slice() };
        let stmts = wave::system(builder, system, bodies, self.around, Some(wave::Windows { windows, asks }));
        if whole { self.around_tables(builder, system, stmts) } else { stmts }
    }

    /// The same with narrow cells, behind what it needs and the condition under which they fit.
    fn narrow(&self, builder: &mut Builder<'_>, system: &System, bodies: &[Block]) -> Option<(Narrow, Vec<Stmt>)> {
        let (system, bodies) = copied(builder.vars, system, bodies);
        let ends = wave::ends(builder, &system);
        let whole = self.whole(&system);
        let mut narrow = narrow::of(builder, &system, &bodies, &ends, !whole)?;
        let bodies = std::mem::take(&mut narrow.bodies);
        let rows: Vec<&[i64]> = system.order.steps.iter().map(|steps| steps.rows[0].as_slice()).collect();
        let kept = (self.around, whole);
        let windows = window::of(builder, &system, &bodies, |at| wave::following(rows[at]), kept, narrow.cells)?;
        let stmts = self.in_windows(builder, &system, bodies, &windows);
        Some((narrow, stmts))
    }

    /// Narrow cells where they fit; wide ones elsewhere, and where there is doubt about a narrow one that is given.
    fn narrow_or(
        &self,
        builder: &mut Builder<'_>,
        (narrow, mut then): (Narrow, Vec<Stmt>),
        wide: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let span = narrow.fits.span;
        let either = |cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>| Stmt {
            kind: StmtKind::If { cond, then: Block { stmts: then }, otherwise: Block { stmts: otherwise } },
            span,
        };
        let mut out = narrow.before;
        let Some(doubt) = narrow.doubt else {
            out.push(either(narrow.fits, then, wide));
            return out;
        };
        let narrow_is_right = builder.local("right", Ty::BOOL, span);
        out.extend([build::declare(narrow_is_right, span), build::assign(narrow_is_right, narrow.fits)]);
        let right = || Expr::read(narrow_is_right, Ty::BOOL, span);
        for ask in &self.asks {
            let cell = build::cast(Expr::read(ask.cell, builder.vars[ask.cell].ty, span), Ty::LONG);
            let doubted = build::all(vec![ask.exists(builder.vars, span), doubt.about(cell)], span);
            then.push(build::guarded(doubted, vec![build::assign(narrow_is_right, build::constant(false, span))]));
        }
        out.push(build::guarded(right(), then));
        out.push(either(right(), Vec::new(), wide));
        out
    }

    /// Tables of cells that may fault: in the order of the meaning.
    fn with_faults(&self, program: &mut Program, system: &System, bodies: Vec<Block>) -> (Vec<Stmt>, Way) {
        let mut builder = Builder::new(&mut program.funcs[self.id]);
        let upwards = system.order.nest.as_ref().is_some_and(|nest| nest.flips.iter().all(|flip| *flip > 0));
        if upwards && system.tables.len() == 1 {
            return (self.swept(&mut builder, system, bodies), Way::Sweep(Why::Fault));
        }
        let stmts = demand::system(&mut builder, system, self.around);
        (self.around_tables(&builder, system, stmts), Way::Demand)
    }

    /// Cells one after the other.
    fn swept(&self, builder: &mut Builder<'_>, system: &System, bodies: Vec<Block>) -> Vec<Stmt> {
        let stmts = match &system.order.nest {
            Some(nest) => sweep::system(builder, system, nest, bodies, self.around),
            None => wave::system(builder, system, bodies, self.around, None),
        };
        self.around_tables(builder, system, stmts)
    }

    /// Where tables are no outputs: their declarations, and the cells that are taken from them.
    fn around_tables(&self, builder: &Builder<'_>, system: &System, stmts: Vec<Stmt>) -> Vec<Stmt> {
        if self.kept {
            return stmts;
        }
        let mut out = if self.alone { declared(system) } else { Vec::new() };
        out.extend(stmts);
        for ask in &self.asks {
            let span = builder.vars[ask.cell].span;
            let index = ask.index.iter().map(|index| build::read(*index, span)).collect();
            let place =
                Place { array: ask.table, index, path: ask.path.clone(), unproved: 0, access: Access::Exclusive, span };
            let value = Expr { kind: ExprKind::Load(place), ty: builder.vars[ask.cell].ty, span };
            out.push(build::guarded(ask.exists(builder.vars, span), vec![build::assign(ask.cell, value)]));
        }
        out
    }

    /// Bodies that store their cells, without the tests that are proved to pass, and whether any test is left; if so wanted, where a
    /// condition holds.
    fn proved(&self, program: &mut Program, system: &System, cond: Option<Expr>) -> (Vec<Block>, bool) {
        let stored = system.tables.iter().map(|table| build::nest_of_maps(&table.index, cell::stored(table)));
        let (stored, guarded) = (stored.collect(), cond.is_some());
        let mut stmts = self.locals.clone();
        match cond {
            Some(cond) => stmts.push(build::guarded(cond, stored)),
            None => stmts.extend(stored),
        }
        program.funcs[self.id].body = Block { stmts };
        prove::bounds(program, self.id);
        let mut body = std::mem::take(&mut program.funcs[self.id].body);
        body.stmts.drain(..self.locals.len());
        if guarded && let Some(StmtKind::If { then, .. }) = body.stmts.pop().map(|stmt| stmt.kind) {
            body = then;
        }
        let faults = may_fault(program, &program.funcs[self.id].vars, &body);
        let tables = body.stmts.into_iter().zip(&system.tables);
        (tables.map(|(stmt, table)| build::inside(stmt, table.index.len())).collect(), faults)
    }
}

/// Whether each element of the table that is asked is a cell.
fn asks_box(ask: &Ask, system: &System) -> bool {
    system.tables.iter().any(|table| table.array == ask.table && table.is_box())
}

fn has_loop(body: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(body, |stmt| found |= matches!(stmt.kind, StmtKind::Loop(_) | StmtKind::Map(_)));
    found
}
