//! Transposed copies of tables: cells that are loaded along the first index, as `f(k+1, j)` in a fold over `k`, lie side by side in a copy
//! whose indices are exchanged. Each cell is stored to both.

use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{Block, Expr, ExprKind, Place, StmtKind, System, VarId, VarKind};
use hidp_syntax::ordered::{OrdMap, OrdSet};

use super::build::{self, Builder};
use super::window::Linear;

/// Makes bodies load from copies what loops and maps in them find along a first index, and store to these. Gives the copies; none where nothing is
/// found in that way.
pub(super) fn applied(builder: &mut Builder<'_>, system: &System, bodies: &mut [Block]) -> Vec<VarId> {
    let mut copies: OrdMap<VarId, VarId> = OrdMap::new();
    let inner: Vec<OrdSet<VarId>> = bodies.iter().map(counted).collect();
    for (body, inner) in bodies.iter().zip(&inner) {
        visit::walk_places(body, |place, role| {
            let is_table = system.tables.iter().any(|table| table.array == place.array);
            if role == Role::Read && is_table && is_across(place, inner) {
                copies.entry(place.array).or_insert_with(|| {
                    let mut copy = builder.vars[place.array].clone();
                    (copy.kind, copy.name) = (VarKind::Local, format!("{}_turned", copy.name));
                    copy.shape.reverse();
                    builder.vars.push(copy)
                });
            }
        });
    }
    if !copies.is_empty() {
        for (body, inner) in bodies.iter_mut().zip(&inner) {
            Apply { builder, copies: &copies, inner }.visit_block(body);
        }
    }
    copies.into_values().collect()
}

/// What maps and loops of a body count.
fn counted(body: &Block) -> OrdSet<VarId> {
    let mut found = OrdSet::new();
    visit::walk_stmts(body, |stmt| {
        if let StmtKind::Map(map) = &stmt.kind {
            found.extend(map.iters.iter().map(|iter| iter.var));
        }
        if let StmtKind::Loop(node) = &stmt.kind {
            visit::walk_stmts(&node.step, |stmt| {
                if let StmtKind::Assign { var, .. } = &stmt.kind {
                    found.insert(*var);
                }
            });
        }
    });
    found
}

/// Whether what is counted moves the first index by one, and not the second one.
fn is_across(place: &Place, inner: &OrdSet<VarId>) -> bool {
    let [first, second] = &place.index[..] else { return false };
    let along = |expr: &Expr| {
        let sum = Linear::of(expr);
        inner.iter().any(|var| sum.as_ref().is_some_and(|sum| sum.past(*var).is_some()))
    };
    let mut steady = true;
    visit::walk_expr_vars(second, |var, _| steady &= !inner.contains(&var));
    along(first) && steady
}

struct Apply<'a, 'b> {
    builder: &'a mut Builder<'b>,
    copies: &'a OrdMap<VarId, VarId>,
    inner: &'a OrdSet<VarId>,
}

impl Apply<'_, '_> {
    fn turned(&self, place: &Place) -> Option<Place> {
        let array = *self.copies.get(&place.array)?;
        let mut turned = Place { array, ..place.clone() };
        turned.index.reverse();
        turned.unproved = (place.unproved & 1) << 1 | place.unproved >> 1;
        Some(turned)
    }
}

impl Mutator for Apply<'_, '_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            change::walk_stmt(self, &mut stmt);
            let span = stmt.span;
            if let StmtKind::Store { place, value } = &mut stmt.kind
                && let Some(turned) = self.turned(place)
            {
                let held = self.builder.local("cell", value.ty, span);
                let cell = Expr::read(held, value.ty, span);
                let value = std::mem::replace(value, cell.clone());
                out.extend([build::declare(held, span), build::assign(held, value), build::store(turned, cell)]);
            }
            out.push(stmt);
        }
        block.stmts = out;
    }
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let ExprKind::Load(place) = &mut expr.kind
            && is_across(place, self.inner)
            && let Some(turned) = self.turned(place)
        {
            *place = turned;
        }
    }
}
