//! Waves: a loop over the steps of the schedule, and in each a map over its cells.

use hidp_ir::par::{BinOp, Block, Expr, Iter, Stmt, System, Table, VarId, VarKind, visit};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

use super::Around;
use super::asked::{Ask, Asks};
use super::build::{self, Builder};
use super::profile::Profiles;
use super::visits::{Lines, Moment};
use super::window::{self, Window};

/// Whether a step can have more than a few cells, and one row says which.
pub(super) fn is_wide(system: &System) -> bool {
    let one_row = system.order.steps.iter().all(|steps| steps.rows.len() == 1);
    one_row && system.tables.iter().any(|table| table.index.len() > 1)
}

/// The index that follows from the others and the step.
pub(super) fn following(row: &[i64]) -> Option<usize> {
    row.iter().position(|factor| factor.abs() == 1)
}

/// Whether the cells of a step lie across the table rather than along its last index.
pub(super) fn is_skewed(system: &System) -> bool {
    system.order.steps.iter().any(|steps| {
        let others = steps.rows[0].iter().enumerate().filter(|(at, _)| Some(*at) != following(&steps.rows[0]));
        others.into_iter().any(|(_, factor)| *factor != 0)
    })
}

/// The windows of all tables, and cells that are taken when their step was computed.
pub(super) struct Windows<'a> {
    pub(super) windows: &'a OrdMap<VarId, Window>,
    pub(super) asks: &'a Asks,
    /// What the bodies load from fronts.
    pub(super) profiles: Option<&'a Profiles>,
}

/// A loop over steps with the cells of each: in maps at host level, and in maps where windows keep them side by side; else in loops.
pub(super) fn system(
    builder: &mut Builder<'_>,
    system: &System,
    bodies: Vec<Block>,
    around: Around,
    kept: Option<Windows<'_>>,
) -> Vec<Stmt> {
    let span = system.tables[0].span;
    let step = builder.local("step", Ty::LONG, span);
    let number = build::read(step, span);
    let Some(Windows { windows, asks, profiles }) = kept else {
        let waves = waves(builder, system, bodies);
        let range = steps(&waves);
        let sideways = around == Around::Host;
        let body = waves.into_iter().flat_map(|wave| wave.cells(builder, &number, sideways)).collect();
        return builder.count(step, range, true, body);
    };
    let range = steps(&waves(builder, system, bodies.clone()));
    let mut out: Vec<Stmt> =
        windows.values().flat_map(|window| &window.steps).map(|array| build::declare(*array, span)).collect();
    let whens: Vec<VarId> = asks.cells.iter().map(|ask| when(builder, system, ask, &mut out)).collect();
    let row_of = |array: VarId| {
        let at = system.tables.iter().position(|table| table.array == array).expect("a table of the system");
        &system.order.steps[at].rows[0]
    };
    let moments: Vec<Moment<'_>> =
        asks.folds.iter().filter_map(|fold| Moment::new(builder, fold, row_of(fold.table), &mut out)).collect();
    let of_fold = |fold| Lines::new(builder, fold, &windows[&fold.table], row_of(fold.table));
    let lines: Vec<Lines<'_>> = asks.folds.iter().filter_map(of_fold).collect();
    lines.iter().for_each(|lines| out.extend(lines.begun(builder, span)));
    let one_step = |builder: &mut Builder<'_>, system: &System, later: usize, mut bodies: Vec<Block>| {
        let windows: OrdMap<VarId, Window> =
            windows.iter().map(|(array, window)| (*array, window.turned(later))).collect();
        let number = build::add(number.clone(), Expr::int(i64::try_from(later).unwrap_or(0), span));
        for (at, body) in bodies.iter_mut().enumerate() {
            window::apply(builder, system, at, (&windows, &lines, &number), body);
        }
        let mut body = profiles.map_or_else(Vec::new, |profiles| profiles.of_step(builder, &number));
        let mut waves = waves(builder, system, bodies);
        // Copies of the last step go beyond it.
        waves.iter_mut().for_each(|wave| wave.alone &= later == 0);
        body.extend(waves.into_iter().flat_map(|wave| wave.cells(builder, &number, true)));
        for (ask, when) in asks.cells.iter().zip(&whens) {
            body.push(taken(builder, ask, &windows[&ask.table], (&number, *when)));
        }
        for moment in &moments {
            body.push(moment.folded(builder, &windows[&moment.table()], &number));
        }
        body
    };
    match around {
        Around::Host => {
            let mut body = one_step(builder, system, 0, bodies);
            body.extend(windows.values().flat_map(|window| window.rotated(span)));
            out.extend(builder.count(step, range, true, body));
        }
        Around::Map => {
            let copies = windows.values().map(|window| window.steps.len()).max().unwrap_or(1);
            let mut body = Vec::new();
            for later in 0..copies {
                let (system, bodies) = if later == 0 {
                    (system.clone(), bodies.clone())
                } else {
                    super::twin::copied(builder.vars, system, &bodies)
                };
                body.extend(one_step(builder, &system, later, bodies));
            }
            out.extend(builder.strides(step, range, i64::try_from(copies).unwrap_or(1), body));
        }
    }
    out.extend(lines.iter().flat_map(|lines| lines.ended(builder, &windows[&lines.table()], span)));
    out
}

/// The first step of a system and the last.
pub(super) fn ends(builder: &Builder<'_>, system: &System) -> [Expr; 2] {
    let bodies = vec![Block::default(); system.tables.len()];
    let [first, behind] = steps(&waves(builder, system, bodies));
    let one = Expr::int(1, behind.span);
    [first, build::sub(behind, one)]
}

/// The cells of each table, in the order of a step.
fn waves(builder: &Builder<'_>, system: &System, bodies: Vec<Block>) -> Vec<Wave> {
    let mut waves: Vec<Wave> = Vec::new();
    let alone = bodies.iter().filter(|body| !body.stmts.is_empty()).count() == 1;
    for (at, body) in bodies.into_iter().enumerate() {
        let (table, steps) = (system.tables[at].clone(), &system.order.steps[at]);
        let extents = builder.vars[table.array].shape.clone();
        let (row, rank) = (steps.rows[0].clone(), steps.rank);
        waves.push(Wave { table, row, rank, extents, alone, body });
    }
    waves.sort_by_key(|wave| wave.rank);
    waves
}

/// From the first step to behind the last.
fn steps(waves: &[Wave]) -> [Expr; 2] {
    let first = waves.iter().map(|wave| wave.extreme(false)).reduce(build::min).expect("a system has a table");
    let last = waves.iter().map(|wave| wave.extreme(true)).reduce(build::max).expect("a system has a table");
    let one = Expr::int(1, last.span);
    [first, build::add(last, one)]
}

/// Finds out in which step a cell is computed.
fn when(builder: &mut Builder<'_>, system: &System, ask: &Ask, out: &mut Vec<Stmt>) -> VarId {
    let at = system.tables.iter().position(|table| table.array == ask.table).expect("a table of the system");
    let span = system.tables[0].span;
    let row = &system.order.steps[at].rows[0];
    let number = row.iter().zip(&ask.index).fold(Expr::int(0, span), |sum, (factor, index)| match factor {
        0 => sum,
        _ => build::add(sum, build::times(*factor, build::read(*index, span))),
    });
    let when = builder.local("when", Ty::LONG, span);
    out.extend([build::declare(when, span), build::assign(when, number)]);
    when
}

/// Takes a cell in its step.
fn taken(builder: &Builder<'_>, ask: &Ask, window: &Window, (step, when): (&Expr, VarId)) -> Stmt {
    let span = step.span;
    let index: Vec<Expr> = ask.index.iter().map(|index| build::read(*index, span)).collect();
    let now = Expr::long(BinOp::Eq, step.clone(), build::read(when, span));
    let now = build::all(vec![now, ask.exists(builder.vars, span)], span);
    let value = window.cell(&index, &ask.path, builder.vars[ask.cell].ty);
    build::guarded(now, vec![build::assign(ask.cell, value)])
}

/// The cells of a table.
struct Wave {
    table: Table,
    /// Coefficients of the indices in the number of a cell's step.
    row: Vec<i64>,
    rank: u32,
    extents: Vec<Expr>,
    /// Whether all steps have cells of it, as there is no other table.
    alone: bool,
    body: Block,
}

impl Wave {
    /// The number of the first or the last step.
    fn extreme(&self, last: bool) -> Expr {
        let span = self.table.span;
        let most = |at: usize| build::sub(self.extents[at].clone(), Expr::int(1, span));
        let parts = self.row.iter().enumerate().filter(|(_, factor)| (**factor > 0) == last && **factor != 0);
        parts.fold(Expr::int(0, span), |sum, (at, factor)| build::add(sum, build::times(*factor, most(at))))
    }

    /// The cells of one step, in a map or in loops.
    fn cells(mut self, builder: &mut Builder<'_>, step: &Expr, sideways: bool) -> Vec<Stmt> {
        if self.body.stmts.is_empty() {
            // Another table's body computes them.
            return Vec::new();
        }
        let span = self.table.span;
        let step = step.clone();
        let following = following(&self.row);
        let (mut guards, mut outer) = (Vec::new(), Vec::new());
        let mut iters = Vec::new();
        for (at, index) in self.table.index.iter().enumerate() {
            if Some(at) == following {
                continue;
            }
            let [lo, hi] = if self.is_fixed(index) {
                [index.lo.clone(), index.hi.clone()]
            } else {
                guards.extend(self.own_range(index));
                [Expr::int(0, span), self.extents[at].clone()]
            };
            iters.push(build::iter(index.var, lo, hi));
        }
        let mut body = Vec::new();
        match following {
            Some(at) => {
                let index = &self.table.index[at];
                let tight = self.narrow(&mut iters, at, &step);
                if self.decides_alone(at) {
                    outer = self.steps_of(at, &step);
                } else if !tight || !self.is_fixed(index) {
                    guards.extend(self.own_range(index));
                }
                // Not by a variable: planners see how its accesses move.
                let value = self.value(at, &step);
                let var = index.var;
                let meant = |read: VarId| (read == var).then(|| value.clone());
                guards.iter_mut().for_each(|guard| visit::substitute_expr(guard, meant));
                visit::substitute(&mut self.body, meant);
            }
            None => {
                let sum = (0..self.row.len()).fold(Expr::int(0, span), |sum, at| build::add(sum, self.term(at)));
                guards.push(Expr::long(BinOp::Eq, sum, step));
            }
        }
        if guards.is_empty() {
            body.extend(self.body.stmts);
        } else {
            body.push(build::guarded(build::all(guards, span), self.body.stmts));
        }
        let cells = if !sideways {
            let loops = iters.into_iter().rev();
            loops.fold(body, |body, iter| {
                builder.vars[iter.var].kind = VarKind::Local;
                builder.count(iter.var, [iter.lo, iter.hi], true, body)
            })
        } else if iters.is_empty() {
            vec![builder.alone(body, span)]
        } else {
            vec![build::map(iters, body)]
        };
        if outer.is_empty() { cells } else { vec![build::guarded(build::all(outer, span), cells)] }
    }

    /// Whether a cell's step is that of this index, whatever the others are.
    fn decides_alone(&self, at: usize) -> bool {
        let others = self.row.iter().enumerate().all(|(other, factor)| other == at || *factor == 0);
        others && self.is_fixed(&self.table.index[at])
    }

    /// What holds in the steps that have cells, where one index decides. Nothing where all have.
    fn steps_of(&self, at: usize, step: &Expr) -> Vec<Expr> {
        let index = &self.table.index[at];
        if self.alone && index.lo.as_int() == Some(0) {
            return Vec::new();
        }
        let value = build::times(self.row[at], step.clone());
        build::within(&value, index.lo.clone(), index.hi.clone()).into()
    }

    /// Whether the range of an index depends on no other index.
    fn is_fixed(&self, index: &Iter) -> bool {
        let mut fixed = true;
        for bound in [&index.lo, &index.hi] {
            visit::walk_expr_vars(bound, |var, _| fixed &= !self.table.index.iter().any(|other| other.var == var));
        }
        fixed
    }

    fn own_range(&self, index: &Iter) -> [Expr; 2] {
        build::within(&build::read(index.var, self.table.span), index.lo.clone(), index.hi.clone())
    }

    fn term(&self, at: usize) -> Expr {
        build::times(self.row[at], build::read(self.table.index[at].var, self.table.span))
    }

    /// The value of the index that follows from the others.
    fn value(&self, at: usize, step: &Expr) -> Expr {
        let others = (0..self.row.len()).filter(|other| *other != at);
        let rest = others.fold(step.clone(), |rest, other| match self.row[other] {
            0 => rest,
            factor if factor < 0 => {
                build::add(rest, build::times(-factor, build::read(self.table.index[other].var, self.table.span)))
            }
            _ => build::sub(rest, self.term(other)),
        });
        build::times(self.row[at], rest)
    }

    /// Where one other index decides with it, its range is narrowed to the step's cells; says whether none is left out of range then.
    fn narrow(&self, iters: &mut [Iter], at: usize, step: &Expr) -> bool {
        let span = self.table.span;
        let others: Vec<usize> = (0..self.row.len()).filter(|other| *other != at && self.row[*other] != 0).collect();
        let [other] = others[..] else { return false };
        if self.row[other].abs() != 1 {
            return false;
        }
        let index = &self.table.index[at];
        let [lo, hi] = if self.is_fixed(index) {
            [index.lo.clone(), index.hi.clone()]
        } else {
            [Expr::int(0, span), self.extents[at].clone()]
        };
        let step = build::times(self.row[at], step.clone());
        let one = Expr::int(1, span);
        // The index is `step - sign * other`.
        let [first, stop] = if self.row[at] * self.row[other] > 0 {
            [build::add(build::sub(step.clone(), hi), one.clone()), build::add(build::sub(step, lo), one)]
        } else {
            [build::sub(lo, step.clone()), build::sub(hi, step)]
        };
        let var = self.table.index[other].var;
        for iter in iters.iter_mut().filter(|iter| iter.var == var) {
            iter.lo = build::max(iter.lo.clone(), first.clone());
            iter.hi = build::min(iter.hi.clone(), stop.clone());
        }
        true
    }
}
