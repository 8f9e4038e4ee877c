//! Sweeps: loops over the indices as they are written, with the cells of all tables in the innermost body; over the whole tables, or in
//! tiles that threads share.

use hidp_ir::par::{BinOp, Block, Expr, Iter, Nest, Stmt, System, VarId, same, visit};
use hidp_syntax::ty::Ty;

use super::Around;
use super::build::{self, Builder};
use super::window::Linear;

/// Loops over all cells of a system.
pub(super) fn system(
    builder: &mut Builder<'_>,
    system: &System,
    nest: &Nest,
    bodies: Vec<Block>,
    around: Around,
) -> Vec<Stmt> {
    let stmts = loops(builder, system, nest, bodies, |_, range| range);
    match around {
        Around::Host => vec![builder.alone(stmts, system.tables[0].span)],
        Around::Map => stmts,
    }
}

/// Whether each cell of tables with two indices needs cells that are a constant distance back along both indices, or along one.
pub(super) fn looks_back(system: &System, nest: &Nest, bodies: &[Block]) -> bool {
    let mut back = nest.flips == [1, 1];
    for (table, body) in system.tables.iter().zip(bodies) {
        visit::walk_places(body, |place, _| {
            let is_table = system.tables.iter().any(|other| other.array == place.array);
            back &= !is_table || place.index.len() == 2 && place.index.iter().zip(&table.index).all(is_back);
        });
    }
    back
}

fn is_back((index, own): (&Expr, &Iter)) -> bool {
    Linear::of(index).and_then(|sum| sum.past(own.var)).is_some_and(|past| past <= 0)
}

/// The same in tiles: no cell needs one of a tile that is further along an index, so those of a diagonal are computed at once.
pub(super) fn in_tiles(
    builder: &mut Builder<'_>,
    system: &System,
    nest: &Nest,
    bodies: Vec<Block>,
    sides: [u32; 2],
) -> Vec<Stmt> {
    let span = system.tables[0].span;
    let one = || Expr::int(1, span);
    let side = |at: usize| Expr::int(sides[at].into(), span);
    let counts = [0, 1].map(|at| {
        let all = build::add(widest(builder, system, at)[1].clone(), build::sub(side(at), one()));
        Expr::long(BinOp::Div, all, side(at))
    });
    let wave = builder.local("wave", Ty::LONG, span);
    let tile = builder.iterator("tile", span);
    let (number, column) = (build::read(wave, span), build::read(tile, span));
    let first = build::add(build::sub(number.clone(), counts[0].clone()), one());
    let range =
        [build::max(Expr::int(0, span), first), build::min(counts[1].clone(), build::add(number.clone(), one()))];
    let starts = [build::sub(number, column.clone()), column];
    let starts = [0, 1].map(|at| Expr::long(BinOp::Mul, starts[at].clone(), side(at)));
    let cells = loops(builder, system, nest, bodies, |at, [lo, hi]| {
        [build::max(lo, starts[at].clone()), build::min(hi, build::add(starts[at].clone(), side(at)))]
    });
    let waves = build::sub(build::add(counts[0].clone(), counts[1].clone()), one());
    let [lo, hi] = range;
    let body = vec![build::map(vec![build::iter(tile, lo, hi)], cells)];
    builder.count(wave, [Expr::int(0, span), waves], true, body)
}

/// Loops over the cells of a system within what `part` leaves of each index's range.
fn loops(
    builder: &mut Builder<'_>,
    system: &System,
    nest: &Nest,
    bodies: Vec<Block>,
    part: impl Fn(usize, [Expr; 2]) -> [Expr; 2],
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
        .map(|at| part(at, if alike { own_range(&named[0].0[at]) } else { widest(builder, system, at) }))
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
    loops.fold(innermost, |body, ((var, range), flip)| builder.count(*var, range, *flip > 0, body))
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
