//! Columns: many tables that have one side in common, each in a lane of its own.
//!
//! Along that side a line of cells is kept for each table, in 16 bits, and replaced line after line. All lanes are at the same place of it, whatever the other
//! side's length is, so that loads and stores are those of whole vectors. What a pair of letters costs is looked up once per line for each letter there is.
//!
//! One table alone does better in steps of many cells, so only lanes take this way.

mod looks;
mod put;

use hidp_ir::par::visit::{self, Mutator};
use hidp_ir::par::{BinOp, Block, Expr, ExprKind, FoldFn, Place, Stmt, StmtKind, System, Var, VarId, VarKind, same};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::asked::{Asks, Iterations};
use super::build::{self, Builder};
use super::contents::Contents;
use super::narrow::{self, Narrow};
use super::regions::{self, At};
use super::sweep;
use super::twin::copied;
use super::visits::{self, Folded};
use super::wave;
use super::window::{Cells, Linear};
use looks::{Look, chosen, letters, looks, own};
use put::Put;

/// What takes the place of tables in lanes.
pub(super) struct Made {
    pub(super) before: Vec<Stmt>,
    pub(super) fits: Expr,
    pub(super) then: Vec<Stmt>,
}

/// A system whose extreme cells are all that is wanted. `None` where it has no such lines.
pub(super) fn of(
    builder: &mut Builder<'_>,
    system: &System,
    bodies: &[Block],
    contents: &Contents,
    asks: &Asks,
) -> Option<Made> {
    let around = asks.around.as_ref()?;
    let only_folds = asks.cells.is_empty() && asks.kept.is_empty();
    let extremes: Option<Vec<FoldFn>> = asks.folds.iter().map(Folded::extreme_cell).collect();
    let nest = system.order.nest.as_ref()?;
    if !only_folds || !sweep::looks_back(system, nest, bodies) || !are_near(system, bodies) {
        return None;
    }
    let along = common(builder, system, around)?;
    let (system, bodies) = &copied(builder.vars, system, bodies);
    let mut contents = contents.inside();
    let looks = looks(builder, (system, bodies, along), &mut contents)?;
    let ends = wave::ends(builder, system);
    let mut narrow = narrow::of(builder, system, bodies, contents, &ends, true)?;
    let span = system.tables[0].span;
    let mut conds = vec![around.in_lanes(false, span)];
    let extents = builder.vars[system.tables[0].array].shape.clone();
    conds.extend(extents.into_iter().map(|extent| Expr::long(BinOp::Ge, extent, Expr::int(1, span))));
    let mut sure = Vec::new();
    for (fold, extreme) in asks.folds.iter().zip(extremes?) {
        let table = system.tables.iter().position(|table| table.array == fold.table)?;
        sure.extend(narrow.is_sure(table, extreme)?);
    }
    conds.push(narrow.fits.clone());
    conds.extend(sure);
    let before = std::mem::take(&mut narrow.before);
    let then = Columns::new(builder, (system, narrow, along), looks, asks)?.computed(&nest.ranks);
    Some(Made { before, fits: build::all(conds, span), then })
}

/// Whether cells need none but their neighbours and those of the same indices, whole.
fn are_near(system: &System, bodies: &[Block]) -> bool {
    let mut near = system.tables.iter().all(|table| table.is_box() && table.index.len() == 2);
    for (table, body) in system.tables.iter().zip(bodies) {
        visit::walk_places(body, |place, _| {
            if system.tables.iter().any(|other| other.array == place.array) {
                let steps = place.index.iter().zip(&table.index).map(|(index, own)| Linear::of(index)?.past(own.var));
                near &= place.path.is_empty() && steps.into_iter().all(|past| matches!(past, Some(-1 | 0)));
            }
        });
    }
    near
}

/// The index along which all iterations have as many cells, where they have not along the other one; in all tables.
fn common(builder: &Builder<'_>, system: &System, around: &Iterations) -> Option<usize> {
    let shapes = system.tables.iter().map(|table| &builder.vars[table.array].shape);
    let first = &builder.vars[system.tables[0].array].shape;
    let alike = shapes.into_iter().all(|shape| shape.iter().zip(first).all(|(left, right)| same::expr(left, right)));
    match [0, 1].map(|at| around.share(&first[at])) {
        [true, false] if alike => Some(0),
        [false, true] if alike => Some(1),
        [true | false, true | false] => None,
    }
}

/// What is kept of a table.
struct Held {
    ty: Ty,
    /// The line before; where a cell needs none of it, nothing.
    line: Option<VarId>,
    /// Of the line that is computed; the last cell, and what stood there in the line before.
    before: VarId,
    corner: VarId,
}

/// Whether cells are loaded of the line before.
fn needs_line(system: &System, bodies: &[Block], (array, along): (VarId, usize)) -> bool {
    let mut found = false;
    for (table, body) in system.tables.iter().zip(bodies) {
        let across = 1 - along;
        visit::walk_places(body, |place, _| {
            let past = || Linear::of(&place.index[across])?.past(table.index[across].var);
            found |= place.array == array && past() != Some(0);
        });
    }
    found
}

struct Columns<'a, 'b> {
    builder: &'a mut Builder<'b>,
    system: &'a System,
    bodies: Vec<Block>,
    /// Converts cells back.
    offset: VarId,
    /// The index along lines.
    along: usize,
    held: Vec<Held>,
    looks: Vec<Look>,
    /// Arrays with a letter for each line, and that of the line.
    letters: OrdMap<VarId, VarId>,
    /// Each fold, with what it has of all lines before, and of this one.
    folds: Vec<(&'a Folded, [VarId; 2])>,
}

impl<'a, 'b> Columns<'a, 'b> {
    fn new(
        builder: &'a mut Builder<'b>,
        (system, narrow, along): (&'a System, Narrow, usize),
        looks: Vec<Look>,
        asks: &'a Asks,
    ) -> Option<Self> {
        let Cells::Narrow { offset } = narrow.cells else { return None };
        let span = system.tables[0].span;
        let mut held = Vec::new();
        for table in &system.tables {
            let Var { name, ty, shape, .. } = builder.vars[table.array].clone();
            let ty = if narrow::is_wide(ty) { narrow::TY } else { ty };
            let line = Var { name, ty, shape: vec![shape[along].clone()], kind: VarKind::Local, span };
            let line = needs_line(system, &narrow.bodies, (table.array, along)).then(|| builder.vars.push(line));
            let [before, corner] = ["before", "corner"].map(|name| builder.local(name, ty, span));
            held.push(Held { ty, line, before, corner });
        }
        let mut folds = Vec::new();
        for fold in &asks.folds {
            let at = system.tables.iter().position(|table| table.array == fold.table)?;
            folds.push((fold, ["best", "of_line"].map(|name| builder.local(name, held[at].ty, span))));
        }
        let found = letters(builder, system, &narrow.bodies, 1 - along);
        let letter = |array: VarId| (array, builder.local("letter", builder.vars[array].ty, span));
        let letters = found.into_iter().map(letter).collect();
        Some(Columns { letters, builder, system, bodies: narrow.bodies, offset, along, held, looks, folds })
    }

    fn extent(&self, index: usize) -> Expr {
        self.builder.vars[self.system.tables[0].array].shape[index].clone()
    }

    fn computed(mut self, ranks: &[u32]) -> Vec<Stmt> {
        let span = self.system.tables[0].span;
        let (none, one) = (Expr::int(0, span), Expr::int(1, span));
        let mut order: Vec<usize> = (0..self.bodies.len()).collect();
        order.sort_by_key(|at| ranks[*at]);
        let mut out: Vec<Stmt> = self.held.iter().filter_map(|held| Some(written(held.line?, span))).collect();
        out.extend(self.looks.iter().map(|look| written(look.values, span)));
        for (fold, [best, _]) in &self.folds {
            let neutral = fold.neutral(self.builder.vars[*best].ty, span).expect("an extreme has one");
            out.extend([build::declare(*best, span), build::assign(*best, neutral)]);
        }
        let [at, line] = ["at", "line"].map(|name| self.builder.local(name, Ty::LONG, span));
        let length = self.extent(self.along);
        out.extend(self.line(None));
        let first = self.cell(&order, [(At::Anywhere, build::read(at, span)), (At::First, none.clone())]);
        out.extend(self.builder.count(at, [none.clone(), length.clone()], true, first));
        out.extend(self.folded());

        let in_line = (At::Later, build::read(line, span));
        let mut each = self.line(Some(&in_line.1));
        each.extend(self.cell(&order, [(At::First, none), in_line.clone()]));
        let next = self.builder.local("at", Ty::LONG, span);
        let others = self.cell(&order, [(At::Later, build::read(next, span)), in_line]);
        each.extend(self.builder.count(next, [one.clone(), length], true, others));
        each.extend(self.folded());
        out.extend(self.builder.count(line, [one, self.extent(1 - self.along)], true, each));
        for (fold, [best, _]) in &self.folds {
            let ty = self.builder.vars[fold.cell].ty;
            let kept = self.builder.vars[*best].ty;
            let best = Expr::read(*best, kept, span);
            let value = if kept == narrow::TY && ty != kept { self.declared(best, ty) } else { best };
            out.push(build::assign(fold.cell, value));
        }
        out
    }

    /// A cell as the program declares it.
    fn declared(&self, value: Expr, ty: Ty) -> Expr {
        let offset = build::read(self.offset, value.span);
        build::cast(build::add(build::cast(value, Ty::LONG), offset), ty)
    }

    /// Behind a line, what all lines up to it have.
    fn folded(&self) -> Vec<Stmt> {
        let span = self.system.tables[0].span;
        let all = self.folds.iter().filter_map(|(fold, [best, of_line])| {
            let [so_far, more] = [*best, *of_line].map(|var| Expr::read(var, self.builder.vars[var].ty, span));
            Some(build::assign(*best, visits::both(fold.extreme_cell()?, so_far, more)))
        });
        all.collect()
    }

    /// Before the first cell of a line, and what its letter gives with each of the others.
    fn line(&mut self, line: Option<&Expr>) -> Vec<Stmt> {
        let span = self.system.tables[0].span;
        let mut out = Vec::new();
        for at in 0..self.held.len() {
            let ty = self.held[at].ty;
            let [before, corner] = ["before", "corner"].map(|name| self.builder.local(name, ty, span));
            (self.held[at].before, self.held[at].corner) = (before, corner);
            out.extend([build::declare(before, span), build::declare(corner, span)]);
        }
        for (_, [best, of_line]) in &mut self.folds {
            let ty = self.builder.vars[*best].ty;
            *of_line = self.builder.local("of_line", ty, span);
            out.extend([build::declare(*of_line, span), build::assign(*of_line, Expr::read(*best, ty, span))]);
        }
        let Some(line) = line else { return out };
        let before = build::sub(line.clone(), Expr::int(1, span));
        for (array, letter) in &mut self.letters {
            let value = loaded(self.builder, *array, before.clone());
            *letter = self.builder.local("letter", value.ty, span);
            out.extend([build::declare(*letter, span), build::assign(*letter, value)]);
        }
        for look in &self.looks {
            let lookup = &look.lookup;
            let [letter, at] = ["letter", "at"].map(|name| self.builder.local(name, Ty::LONG, span));
            let from = own(lookup, 1 - self.along).array;
            let of_line = match self.letters.get(&from) {
                Some(letter) => Expr::read(*letter, self.builder.vars[from].ty, span),
                None => loaded(self.builder, from, before.clone()),
            };
            out.extend([build::declare(letter, span), build::assign(letter, build::cast(of_line, Ty::LONG))]);
            let chosen = chosen(lookup, self.along);
            let index = [0, 1].map(|index| build::read(if index == chosen { at } else { letter }, span));
            let place = Place { index: index.into(), ..lookup.from.clone() };
            let ty = self.builder.vars[lookup.from.array].ty;
            let value = build::cast(Expr { kind: ExprKind::Load(place), ty, span }, narrow::TY);
            let store = build::store(element(look.values, build::read(at, span)), value);
            let count = self.builder.vars[look.values].shape[0].clone();
            out.extend(self.builder.count(at, [Expr::int(0, span), count], true, vec![store]));
        }
        out
    }

    /// The cells of all tables at a place: along the line, and across it.
    fn cell(&mut self, order: &[usize], places: [(At, Expr); 2]) -> Vec<Stmt> {
        let span = self.system.tables[0].span;
        let [(at, along), (across, _)] = &places;
        let regions = if self.along == 0 { [*at, *across] } else { [*across, *at] };
        let mut indices = places.clone().map(|(_, index)| index);
        if self.along == 1 {
            indices.reverse();
        }
        let mut out = Vec::new();
        let (mut cells, mut lines) = (Vec::new(), Vec::new());
        for held in &self.held {
            let [cell, line] = ["cell", "beside"].map(|name| self.builder.local(name, held.ty, span));
            out.extend([build::declare(line, span), build::declare(cell, span)]);
            if let Some(kept) = held.line.filter(|_| *across == At::Later) {
                out.push(build::assign(line, loaded(self.builder, kept, along.clone())));
            }
            cells.push(cell);
            lines.push(line);
        }
        for &table in order {
            let index = [0, 1].map(|at| self.system.tables[table].index[at].var);
            let body = regions::within(&self.bodies[table], [0, 1].map(|at| (index[at], regions[at])));
            let mut body = visit::duplicate_block(&body, self.builder.vars);
            let of_line = (*across == At::Later).then_some((&self.looks[..], &self.letters));
            let held = self.held.iter().enumerate();
            let held =
                held.map(|(at, held)| (self.system.tables[at].array, [cells[at], lines[at], held.before, held.corner]));
            let held = held.collect();
            let (builder, system, along) = (&*self.builder, self.system, self.along);
            Put { builder, system, table, along, held, of_line }.visit_block(&mut body);
            visit::substitute(&mut body, |var| Some(indices[index.iter().position(|own| *own == var)?].clone()));
            out.extend(body.stmts);
            for (fold, [_, of_line]) in &self.folds {
                let [so_far, cell] =
                    [*of_line, cells[table]].map(|var| Expr::read(var, self.builder.vars[var].ty, span));
                let func = fold.extreme_cell().filter(|_| fold.table == self.system.tables[table].array);
                out.extend(func.map(|func| build::assign(*of_line, visits::both(func, so_far, cell))));
            }
        }
        for (at, held) in self.held.iter().enumerate() {
            let [cell, line] = [cells[at], lines[at]].map(|var| Expr::read(var, held.ty, span));
            out.extend(held.line.map(|kept| build::store(element(kept, along.clone()), cell.clone())));
            out.extend([build::assign(held.corner, line), build::assign(held.before, cell)]);
        }
        out
    }
}

/// An element that is certainly there.
fn element(array: VarId, index: Expr) -> Place {
    let span = index.span;
    Place { unproved: 0, ..build::place(array, vec![index], span) }
}

fn loaded(builder: &Builder<'_>, array: VarId, index: Expr) -> Expr {
    let span = index.span;
    Expr { kind: ExprKind::Load(element(array, index)), ty: builder.vars[array].ty, span }
}

/// Brings an array to life of which no element is loaded before it is stored.
fn written(array: VarId, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Declare { var: array, zero: false }, span }
}
