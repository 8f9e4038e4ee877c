//! What pairs of letters choose, and the letters of lines.

use hidp_ir::par::visit;
use hidp_ir::par::{Block, Expr, ExprKind, System, Var, VarId, VarKind, same};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::OrdSet;

use super::super::build::{self, Builder};
use super::super::contents::Contents;
use super::super::narrow;
use super::super::profile::{self, Lookup};
use super::super::window::Linear;

/// A load that pairs of letters choose: what it gives for one letter of a line's, by the letters along the line.
pub(super) struct Look {
    pub(super) lookup: Lookup,
    pub(super) values: VarId,
}

/// The loads that pairs of letters choose, with what must hold for them in `contents`.
pub(super) fn looks(
    builder: &mut Builder<'_>,
    (system, bodies, along): (&System, &[Block], usize),
    contents: &mut Contents,
) -> Option<Vec<Look>> {
    let mut found: Vec<Lookup> = Vec::new();
    for (table, body) in system.tables.iter().zip(bodies) {
        visit::walk_exprs(body, |expr| {
            found.extend(
                profile::lookup(builder, table, expr)
                    .filter(|lookup| before_each(builder, system, lookup, 1 - along))
                    .filter(|lookup| !found.iter().any(|known| known.is_same(lookup))),
            );
        });
    }
    if found.len() > profile::MOST {
        return None;
    }
    let mut looks = Vec::new();
    for lookup in found {
        let [letters, from] = [own(&lookup, along).array, lookup.from.array];
        let count = builder.vars[from].shape[chosen(&lookup, along)].clone();
        let length = builder.vars[letters].shape[0].clone();
        lookup.required(builder, contents, [i16::MIN.into(), i16::MAX.into()], (count.clone(), length))?;
        let span = lookup.from.span;
        let values = Var { name: "chosen".into(), ty: narrow::TY, shape: vec![count], kind: VarKind::Local, span };
        looks.push(Look { lookup, values: builder.vars.push(values) });
    }
    Some(looks)
}

/// What an index of the cell says.
pub(super) fn own(lookup: &Lookup, index: usize) -> &profile::Letters {
    if index == 0 { &lookup.following } else { &lookup.other }
}

/// Which index of the load it says.
pub(super) fn chosen(lookup: &Lookup, index: usize) -> usize {
    if index == 0 { 1 - lookup.row } else { lookup.row }
}

/// Whether there is a letter before each cell but the first, along an index.
fn before_each(builder: &Builder<'_>, system: &System, lookup: &Lookup, index: usize) -> bool {
    let letters = own(lookup, index);
    letters.more == -1 && is_before_each(builder, system, letters.array, index)
}

fn is_before_each(builder: &Builder<'_>, system: &System, array: VarId, index: usize) -> bool {
    let [count] = &builder.vars[array].shape[..] else { return false };
    let cells = &builder.vars[system.tables[0].array].shape[index];
    same::expr(&build::add(count.clone(), Expr::int(1, count.span)), cells)
}

/// The array of which a load takes the letter before its cell along an index, where there is one for each cell but the first.
pub(super) fn letter_of(
    builder: &Builder<'_>,
    system: &System,
    (table, index): (usize, usize),
    expr: &Expr,
) -> Option<VarId> {
    let ExprKind::Load(place) = &expr.kind else { return None };
    let [at] = &place.index[..] else { return None };
    let var = &builder.vars[place.array];
    let is_letter = var.kind == VarKind::Param(Direction::Input) && var.ty.scalar().is_some() && place.unproved == 0;
    let past = Linear::of(at)?.past(system.tables[table].index[index].var)?;
    (is_letter && past == -1 && is_before_each(builder, system, place.array, index)).then_some(place.array)
}

/// All such arrays.
pub(super) fn letters(builder: &Builder<'_>, system: &System, bodies: &[Block], index: usize) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    for (table, body) in bodies.iter().enumerate() {
        visit::walk_exprs(body, |expr| found.extend(letter_of(builder, system, (table, index), expr)));
    }
    found
}
