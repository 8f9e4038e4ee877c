//! Copies of what the cells of a step load next to each other from sections of unlike lengths.
//!
//! Where a section is accessed in place, an index counts from the start of the array, and whether it is inside is tested for each cell, since the section's ends
//! come from data: such loops have no lanes. An index of a copy needs no test.

use hidp_ir::par::visit;
use hidp_ir::par::{Block, Expr, ExprKind, Place, Stmt, System, Var, VarId, VarKind};
use hidp_syntax::ast::Direction;
use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::Around;
use super::asked::Asks;
use super::build::{self, Builder};
use super::wave;
use super::window::Linear;

/// Makes bodies in a map load from copies, where the cells of a step lie across the table, and gives the statements that make these.
pub(super) fn taken(
    builder: &mut Builder<'_>,
    system: &System,
    (around, asks): (Around, &Asks),
    bodies: &mut [Block],
) -> Vec<Stmt> {
    let mut out = Vec::new();
    if around == Around::Host || !asks.ragged || !wave::is_skewed(system) {
        return out;
    }
    let mut copies: OrdMap<VarId, VarId> = OrdMap::new();
    for from in letters(builder, system, asks, bodies) {
        let copy = Var { kind: VarKind::Local, ..builder.vars[from].clone() };
        let copy = builder.vars.push(copy);
        copies.insert(from, copy);
        out.extend(copied(builder, from, copy));
    }
    let own = |var: VarId| copies.get(&var).copied().unwrap_or(var);
    bodies.iter_mut().for_each(|body| visit::rename_vars(body, own));
    out
}

/// Inputs with an element for each of several cells, which are not as long in all iterations.
fn letters(builder: &Builder<'_>, system: &System, asks: &Asks, bodies: &[Block]) -> OrdSet<VarId> {
    let (mut found, mut others) = (OrdSet::new(), OrdSet::new());
    for (table, body) in system.tables.iter().zip(bodies) {
        visit::walk_places(body, |place, _| {
            let Var { shape, ty, kind, .. } = &builder.vars[place.array];
            let ([at], [extent]) = (&place.index[..], &shape[..]) else { return };
            let is_even = asks.around.as_ref().is_some_and(|around| around.share(extent));
            let is_input = *kind == VarKind::Param(Direction::Input) && ty.scalar().is_some();
            if is_even || !is_input {
                return;
            }
            let linear = Linear::of(at);
            let near = table.index.iter().any(|index| linear.as_ref().is_some_and(|at| at.past(index.var).is_some()));
            let own = if near && place.unproved == 0 { &mut found } else { &mut others };
            own.insert(place.array);
        });
    }
    found.into_iter().filter(|array| !others.contains(array)).collect()
}

fn copied(builder: &mut Builder<'_>, from: VarId, copy: VarId) -> [Stmt; 2] {
    let Var { ty, ref shape, span, .. } = builder.vars[copy];
    let extent = shape[0].clone();
    let at = builder.iterator("at", span);
    let element = |array: VarId| Place { unproved: 0, ..build::place(array, vec![build::read(at, span)], span) };
    let value = Expr { kind: ExprKind::Load(element(from)), ty, span };
    let stored = build::store(element(copy), value);
    [build::declare(copy, span), build::map(vec![build::iter(at, Expr::int(0, span), extent)], vec![stored])]
}
