//! Short tables row by row, in arrays of constant size: lanes hold tables of unlike sizes then.
//!
//! The cell is the end of the first row and what each row adds to it in the last column. So there are three loops: each costs compilers as much as many lanes have vectors of ends.

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{BinOp, Expr, ExprKind, Place, Stmt, StmtKind, Var, VarId, VarKind, same};
use hidp_syntax::ast::Direction;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::super::asked::Ask;
use super::super::build::{self, Builder};
use super::rows::{begins, keeps, loaded, stored};
use super::{Differences, Made, TY};

/// Rows and columns of a table that is short. A longer one in its group has all of them computed in order, in steps of many cells, which takes many times as
/// long: so as many are short as the type of a sum of differences allows.
const SHORT: i64 = i16::MAX as i64 / -(i8::MIN as i64);

/// The type of numbers of rows and columns, which holds [`SHORT`]: lanes compare them in each turn.
const COUNT: Ty = Ty::Scalar(Scalar::U8);

const _: () = assert!(SHORT <= u8::MAX as i64);

/// The type of a sum of differences.
const SUM: Ty = Ty::Scalar(Scalar::I16);

/// Computes the cell that is asked for.
pub(super) fn rows(builder: &mut Builder<'_>, table: &Differences, ask: &Ask) -> Made {
    let span = table.table.span;
    let letters = letters(builder, table);
    let fits = builder.local("fits", Ty::BOOL, span);
    let asked = [0, 1].map(|at| build::read(ask.index[at], span));
    let mut before = vec![build::declare(fits, span)];
    // A branch on a variable: what else holds where a table is long would be a case for each condition to those who prove bounds there.
    let mut found = vec![build::assign(fits, build::constant(true, span))];
    found.extend(begins(builder, table, fits));
    for (along, extent) in asked.iter().enumerate() {
        found.extend(keeps(builder, table, fits, (along, extent.clone())));
    }
    before.push(build::guarded(is_short(builder, ask, &asked, &letters), found));
    let is_fit = Expr::read(fits, Ty::BOOL, span);
    let (mut then, counts) = counts(builder, &asked);
    then.extend(Short { builder, table, letters, counts }.computed(ask, &asked[1]));
    Made { before, fits: is_fit, then }
}

/// Whether the table is short, and the cell and all letters before it exist.
fn is_short(builder: &Builder<'_>, ask: &Ask, asked: &[Expr; 2], letters: &[Letters]) -> Expr {
    let span = asked[0].span;
    let at_most = |value: &Expr, limit: Expr| Expr::long(BinOp::Le, value.clone(), limit);
    let mut conds: Vec<Expr> = asked.iter().map(|size| at_most(size, Expr::int(SHORT, span))).collect();
    let extents = &builder.vars[ask.table].shape;
    for own in letters {
        let count = &builder.vars[own.from].shape[0];
        let next = build::add(count.clone(), Expr::int(1, span));
        // A cell exists where there are letters before it.
        if !same::expr(&next, &extents[own.along]) {
            conds.push(at_most(&asked[own.along], count.clone()));
        }
    }
    let inside = |(index, extent): (&Expr, &Expr)| build::within(index, Expr::int(0, span), extent.clone());
    conds.extend(asked.iter().zip(extents).flat_map(inside));
    build::all(conds, span)
}

/// Rows and columns of a short table, as variables that are compared again and again.
fn counts(builder: &mut Builder<'_>, asked: &[Expr; 2]) -> (Vec<Stmt>, [VarId; 2]) {
    let span = asked[0].span;
    let counts = ["rows", "columns"].map(|name| builder.local(name, COUNT, span));
    let stmts = counts.iter().zip(asked).flat_map(|(var, size)| {
        // As they are known to be: this says it to those who prove bounds.
        let known = build::max(build::min(size.clone(), Expr::int(SHORT, span)), Expr::int(0, span));
        [build::declare(*var, span), build::assign(*var, build::cast(known, COUNT))]
    });
    (stmts.collect(), counts)
}

/// What an index selects of an input, before it: a copy of all that for the second index, one letter for the first.
#[derive(Clone, Copy)]
struct Letters {
    from: VarId,
    own: VarId,
    /// Which index.
    along: usize,
}

/// What the cells of a short table load.
fn letters(builder: &mut Builder<'_>, table: &Differences) -> Vec<Letters> {
    let span = table.table.span;
    let mut found: Vec<(VarId, usize)> = Vec::new();
    visit::walk_places(&table.body, |place, _| {
        if let Some(along) = along(builder, table, place)
            && !found.contains(&(place.array, along))
        {
            found.push((place.array, along));
        }
    });
    let copy = |(from, along): (VarId, usize)| {
        let Var { name, ty, .. } = builder.vars[from].clone();
        let shape = if along == 0 { Vec::new() } else { vec![Expr::int(SHORT, span)] };
        Letters { from, own: builder.vars.push(Var { name, ty, shape, kind: VarKind::Local, span }), along }
    };
    found.into_iter().map(copy).collect()
}

/// The index of a cell before which it loads an element of an input.
fn along(builder: &Builder<'_>, table: &Differences, place: &Place) -> Option<usize> {
    let [index] = &place.index[..] else { return None };
    let ExprKind::Binary { op: BinOp::Sub, left, right, .. } = &index.kind else { return None };
    let ExprKind::Read(read) = left.kind else { return None };
    let var = &builder.vars[place.array];
    let is_input = matches!(var.kind, VarKind::Param(Direction::Input));
    let is_letter = right.as_int() == Some(1) && is_input && var.ty.scalar().is_some() && place.unproved == 0;
    table.table.index.iter().position(|index| index.var == read).filter(|_| is_letter)
}

struct Short<'a, 'b> {
    builder: &'a mut Builder<'b>,
    table: &'a Differences,
    letters: Vec<Letters>,
    /// Rows and columns.
    counts: [VarId; 2],
}

impl Short<'_, '_> {
    fn computed(mut self, ask: &Ask, columns: &Expr) -> Vec<Stmt> {
        let (table, span) = (self.table, self.table.table.span);
        let name = self.builder.vars[table.table.array].name.clone();
        let shape = vec![Expr::int(SHORT, span)];
        let row = self.builder.vars.push(Var { name, ty: TY, shape, kind: VarKind::Local, span });
        let sum = self.builder.local("sum", SUM, span);
        let mut out = vec![written(row, span), build::declare(sum, span)];
        out.extend(self.begun(row));
        out.extend(self.all(row, sum));
        let (stmts, first) = table.edge(self.builder, 1, columns);
        out.extend(stmts);
        out.push(build::assign(ask.cell, table.sum(first, Expr::read(sum, SUM, span))));
        out
    }

    /// A loop over one index.
    fn counted(&self, at: VarId, along: usize, body: Vec<Stmt>) -> Vec<Stmt> {
        let span = self.table.table.span;
        let past = build::cast(Expr::read(self.counts[along], COUNT, span), Ty::LONG);
        self.builder.count(at, [Expr::int(0, span), past], true, body)
    }

    /// The letter before a cell.
    fn letter(&self, letters: Letters, at: VarId) -> Expr {
        let place = build::read(at, self.table.table.span);
        Expr { ty: self.builder.vars[letters.from].ty, ..loaded(letters.from, place) }
    }

    /// The first row, and the letters along it.
    fn begun(&mut self, row: VarId) -> Vec<Stmt> {
        let span = self.table.table.span;
        let at = self.builder.local("at", Ty::LONG, span);
        let place = || build::read(at, span);
        let (mut body, difference) = self.table.difference(self.builder, 1, &place());
        body.push(stored(row, place(), build::cast(difference, TY)));
        let mut out = Vec::new();
        for &letters in self.letters.iter().filter(|letters| letters.along == 1) {
            out.push(written(letters.own, span));
            body.push(stored(letters.own, place(), self.letter(letters, at)));
        }
        out.extend(self.counted(at, 1, body));
        out
    }

    /// All rows after it, and the sum of what they add to the last column.
    fn all(&mut self, row: VarId, sum: VarId) -> Vec<Stmt> {
        let (table, span) = (self.table, self.table.table.span);
        let [i, j] = ["i", "j"].map(|name| self.builder.local(name, Ty::LONG, span));
        let [above, beside] = table.vars.along;
        let mut cell = vec![
            build::declare(beside, span),
            build::assign(beside, loaded(row, build::read(j, span))),
            build::declare(table.vars.cell, span),
        ];
        cell.extend(self.body([i, j]));
        cell.push(stored(row, build::read(j, span), table.after(1, span)));
        cell.push(build::assign(above, table.after(0, span)));
        let (mut each, difference) = table.difference(self.builder, 0, &build::read(i, span));
        each.extend([build::declare(above, span), build::assign(above, build::cast(difference, TY))]);
        for &letters in self.letters.iter().filter(|letters| letters.along == 0) {
            each.extend([build::declare(letters.own, span), build::assign(letters.own, self.letter(letters, i))]);
        }
        each.extend(self.counted(j, 1, cell));
        let more = build::cast(Expr::read(above, TY, span), SUM);
        let more = Expr { ty: SUM, ..Expr::long(BinOp::Add, Expr::read(sum, SUM, span), more) };
        each.push(build::assign(sum, more));
        self.counted(i, 0, each)
    }

    /// What the body of a cell is, from letters and differences.
    fn body(&self, counted: [VarId; 2]) -> Vec<Stmt> {
        let mut body = self.table.body.clone();
        Copied(self).visit_block(&mut body);
        let (index, span) = ([0, 1].map(|at| self.table.table.index[at].var), self.table.table.span);
        visit::substitute(&mut body, |var| {
            let at = index.iter().position(|index| *index == var)?;
            Some(build::add(build::read(counted[at], span), Expr::int(1, span)))
        });
        body.stmts
    }
}

/// Brings an array to life of which no element is loaded before it is stored.
fn written(array: VarId, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Declare { var: array, zero: false }, span }
}

/// Loads what is copied from there.
struct Copied<'a, 'b, 'c>(&'a Short<'b, 'c>);

impl Mutator for Copied<'_, '_, '_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        let Copied(short) = self;
        if let ExprKind::Load(place) = &mut expr.kind {
            let at = along(short.builder, short.table, place);
            let own = short.letters.iter().find(|own| own.from == place.array && Some(own.along) == at);
            match own {
                Some(Letters { own, along: 0, .. }) => expr.kind = ExprKind::Read(*own),
                Some(Letters { own, .. }) => place.array = *own,
                None => {}
            }
        }
        change::walk_expr(self, expr);
    }
}
