//! Sweeps: loops over the indices as they are written, with the cells of all tables in the innermost body.

use hidp_ir::par::{Block, Expr, Iter, Nest, Stmt, System, VarId, same, visit};

use super::Around;
use super::build::{self, Builder};

/// Loops over all cells of a system.
pub(super) fn system(
    builder: &mut Builder<'_>,
    system: &System,
    nest: &Nest,
    bodies: Vec<Block>,
    around: Around,
) -> Vec<Stmt> {
    let first = &system.tables[0];
    let span = first.span;
    let counted: Vec<VarId> = first.index.iter().map(|iter| iter.var).collect();
    system.tables.iter().for_each(|table| builder.unbind(table));
    // All tables are written with the indices of the first.
    let named: Vec<(Vec<Iter>, Block)> = system
        .tables
        .iter()
        .zip(bodies)
        .map(|(table, body)| {
            let own: Vec<VarId> = table.index.iter().map(|iter| iter.var).collect();
            renamed(table.index.clone(), body, &own, &counted)
        })
        .collect();
    let alike = named.iter().all(|(index, _)| same_ranges(index, &named[0].0));
    let ranges: Vec<[Expr; 2]> = (0..counted.len())
        .map(|at| if alike { own_range(&named[0].0[at]) } else { widest(builder, system, at) })
        .collect();
    let mut tables: Vec<usize> = (0..named.len()).collect();
    tables.sort_by_key(|table| nest.ranks[*table]);
    let mut innermost = Vec::new();
    for table in tables {
        let (index, body) = &named[table];
        if alike {
            innermost.extend(body.stmts.clone());
        } else {
            let inside = index
                .iter()
                .flat_map(|iter| build::within(&build::read(iter.var, span), iter.lo.clone(), iter.hi.clone()));
            innermost.push(build::guarded(build::all(inside.collect(), span), body.stmts.clone()));
        }
    }
    let loops = counted.iter().zip(ranges).zip(&nest.flips).rev();
    let stmts = loops.fold(innermost, |body, ((var, range), flip)| builder.count(*var, range, *flip > 0, body));
    match around {
        Around::Host => vec![builder.alone(stmts, span)],
        Around::Map => stmts,
    }
}

fn renamed(mut index: Vec<Iter>, mut body: Block, own: &[VarId], counted: &[VarId]) -> (Vec<Iter>, Block) {
    let rename = |var: VarId| own.iter().position(|index| *index == var).map_or(var, |at| counted[at]);
    visit::rename_vars(&mut body, rename);
    for iter in &mut index {
        iter.var = rename(iter.var);
        visit::rename_expr_vars(&mut iter.lo, rename);
        visit::rename_expr_vars(&mut iter.hi, rename);
    }
    (index, body)
}

fn same_ranges(left: &[Iter], right: &[Iter]) -> bool {
    left.iter().zip(right).all(|(a, b)| same::expr(&a.lo, &b.lo) && same::expr(&a.hi, &b.hi))
}

fn own_range(iter: &Iter) -> [Expr; 2] {
    [iter.lo.clone(), iter.hi.clone()]
}

/// All that an index of some table can be.
fn widest(builder: &Builder<'_>, system: &System, at: usize) -> [Expr; 2] {
    let extents = system.tables.iter().map(|table| builder.vars[table.array].shape[at].clone());
    let most = extents.reduce(build::max).expect("a system has a table");
    [Expr::int(0, most.span), most]
}
