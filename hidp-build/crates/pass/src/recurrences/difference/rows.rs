//! Row by row: the differences along one row are kept, and each cell takes those before it and leaves its own.
//!
//! Many tables at once run so, one in each lane: a table needs a byte for each column, and 64 lanes a vector.

use hidp_ir::par::{Expr, ExprKind, Place, Stmt, StmtKind, Var, VarId, VarKind, visit};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::asked::Ask;
use super::super::build::{self, Builder};
use super::{Differences, Made, TY};

/// Computes the cell that is asked for.
pub(super) fn rows(builder: &mut Builder<'_>, table: &Differences, ask: &Ask) -> Made {
    let span = table.table.span;
    let size = [0, 1].map(|at| build::read(ask.index[at], span));
    let fits = builder.local("fits", Ty::BOOL, span);
    let found = tested(builder, table, fits, &size);
    let before = vec![build::declare(fits, span), build::guarded(ask.exists(builder.vars, span), found)];
    Made { before, fits: Expr::read(fits, Ty::BOOL, span), then: computed(builder, table, ask, size, span) }
}

/// Finds out whether differences fit.
fn tested(builder: &mut Builder<'_>, table: &Differences, fits: VarId, size: &[Expr; 2]) -> Vec<Stmt> {
    let mut found = vec![build::assign(fits, table.small(size.clone()))];
    found.extend(begins(builder, table, fits));
    for (along, extent) in size.iter().enumerate() {
        found.extend(keeps(builder, table, fits, (along, extent.clone())));
    }
    found
}

/// Tests the first cell, where it is not known.
pub(super) fn begins(builder: &mut Builder<'_>, table: &Differences, fits: VarId) -> Vec<Stmt> {
    let span = table.table.span;
    if table.steps[0].is_some() {
        return Vec::new();
    }
    let (mut found, first) = table.edge(builder, 0, &Expr::int(0, span));
    let is_fit = Expr::read(fits, Ty::BOOL, span);
    found.push(build::assign(fits, build::all(vec![is_fit, Differences::near(first)], span)));
    found
}

/// Tests the differences of an edge with so many of them, where they are not known.
pub(super) fn keeps(
    builder: &mut Builder<'_>,
    table: &Differences,
    fits: VarId,
    (along, extent): (usize, Expr),
) -> Vec<Stmt> {
    let span = table.table.span;
    if table.steps[along].is_some() {
        return Vec::new();
    }
    let at = builder.local("at", Ty::LONG, span);
    let (mut body, difference) = table.difference(builder, along, &build::read(at, span));
    let is_fit = Expr::read(fits, Ty::BOOL, span);
    body.push(build::assign(fits, build::all(vec![is_fit, table.within(along, &difference)], span)));
    builder.count(at, [Expr::int(0, span), extent], true, body)
}

fn computed(
    builder: &mut Builder<'_>,
    table: &Differences,
    ask: &Ask,
    [rows, columns]: [Expr; 2],
    span: Span,
) -> Vec<Stmt> {
    let (none, one) = (Expr::int(0, span), Expr::int(1, span));
    let name = builder.vars[table.table.array].name.clone();
    let row = Var { name, ty: TY, shape: vec![columns.clone()], kind: VarKind::Local, span };
    let row = builder.vars.push(row);
    let mut out = vec![build::declare(row, span)];
    let at = builder.local("at", Ty::LONG, span);
    let (mut body, difference) = table.difference(builder, 1, &build::read(at, span));
    body.push(stored(row, build::read(at, span), build::cast(difference, TY)));
    out.extend(builder.count(at, [none.clone(), columns.clone()], true, body));

    let [i, j] = ["i", "j"].map(|name| builder.local(name, Ty::LONG, span));
    let [above, beside] = table.vars.along;
    let mut cell = vec![
        build::declare(beside, span),
        build::assign(beside, loaded(row, build::read(j, span))),
        build::declare(table.vars.cell, span),
    ];
    let mut body = table.body.clone();
    let index = [0, 1].map(|at| table.table.index[at].var);
    let counted = [i, j];
    visit::substitute(&mut body, |var| {
        let at = index.iter().position(|index| *index == var)?;
        Some(build::add(build::read(counted[at], span), one.clone()))
    });
    cell.extend(body.stmts);
    cell.push(stored(row, build::read(j, span), table.after(1, span)));
    cell.push(build::assign(above, table.after(0, span)));
    let (mut each, difference) = table.difference(builder, 0, &build::read(i, span));
    each.extend([build::declare(above, span), build::assign(above, build::cast(difference, TY))]);
    each.extend(builder.count(j, [none.clone(), columns.clone()], true, cell));
    out.extend(builder.count(i, [none.clone(), rows.clone()], true, each));

    let (stmts, first) = table.edge(builder, 0, &rows);
    let total = builder.local("total", table.ty, span);
    let so_far = || Expr::read(total, table.ty, span);
    out.extend(stmts);
    out.extend([build::declare(total, span), build::assign(total, first)]);
    let at = builder.local("at", Ty::LONG, span);
    let more = table.sum(so_far(), loaded(row, build::read(at, span)));
    out.extend(builder.count(at, [none, columns], true, vec![build::assign(total, more)]));
    out.push(build::assign(ask.cell, so_far()));
    out
}

/// An element that is certainly there.
pub(super) fn element(array: VarId, index: Expr) -> Place {
    let span = index.span;
    Place { unproved: 0, ..build::place(array, vec![index], span) }
}

pub(super) fn loaded(array: VarId, index: Expr) -> Expr {
    let span = index.span;
    Expr { kind: ExprKind::Load(element(array, index)), ty: TY, span }
}

pub(super) fn stored(array: VarId, index: Expr, value: Expr) -> Stmt {
    let span = value.span;
    Stmt { kind: StmtKind::Store { place: element(array, index), value }, span }
}
