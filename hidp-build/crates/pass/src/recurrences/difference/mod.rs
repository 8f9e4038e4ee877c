//! Differences of neighbouring cells, which 8 bits hold (Suzuki and Kasahara, "Introducing difference recurrence relations for faster semi-global alignment of long
//! sequences", BMC Bioinformatics 2018, found here for any body).
//!
//! Where a cell comes from the three before it by sums with plain values, `min`, `max` and conditions, it moves with its corner `d(i-1, j-1)`. So the body gives a cell less its corner from
//! `d(i, j-1)` and `d(i-1, j)` less that corner, which are differences of neighbours; and those of the next cells are what it gives less these two. Bounds that are closed under that
//! are found by looking at all pairs (`closure`). What the first row and the first column begin with is tested when the program runs. A cell is the one at the end of its row's beginning plus the differences
//! along the row.
//!
//! Cells are computed by tiles, in steps of lanes (`tiles`), or row by row from the differences of one (`rows`, `short`).

mod body;
mod closure;
mod rows;
mod short;
mod steps;
#[cfg(test)]
mod tests;
mod tiles;

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{BinOp, Block, Expr, Stmt, StmtKind, System, Table, VarId, same};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::asked::{Ask, Asks, Iterations};
use super::build::{self, Builder};
use super::narrow::is_wide;
use super::regions::{self, At};
use body::Vars;
use closure::{Bounds, Known, Step, hull};
use steps::Steps;

/// The type of differences.
pub(super) const TY: Ty = Ty::Scalar(Scalar::I8);

/// No cell is further from 0 than twice as much.
const FAR: i64 = 1 << 29;

/// A table whose cells are computed from differences.
pub(super) struct Differences {
    table: Table,
    /// What the program declares cells as.
    ty: Ty,
    body: Block,
    vars: Vars,
    bounds: Bounds,
    /// Cells along each index where the other one is 0.
    edges: [Edge; 2],
    /// How far those are apart, where that is known.
    steps: [Option<Steps>; 2],
}

/// Computes a cell of the first column, or of the first row.
struct Edge {
    index: VarId,
    body: Block,
    value: VarId,
}

/// What takes the place of a table where its differences fit.
pub(super) struct Made {
    /// Finds out whether they do.
    pub(super) before: Vec<Stmt>,
    pub(super) fits: Expr,
    pub(super) then: Vec<Stmt>,
}

impl Differences {
    /// Those of a system, whose variables and bodies are nobody else's.
    pub(super) fn of(builder: &mut Builder<'_>, system: &System, bodies: &[Block]) -> Option<Differences> {
        let ([table], [body]) = (&system.tables[..], bodies) else { return None };
        let ty = builder.vars[table.array].ty;
        let [first, second] = &table.index[..] else { return None };
        if !table.is_box() || !is_wide(ty) {
            return None;
        }
        let index = [first.var, second.var];
        let span = table.span;
        let edges = [edge(builder, table, body, 0)?, edge(builder, table, body, 1)?];
        let seeds = [edges[0].seed(), edges[1].seed()];
        let along = ["above", "beside"].map(|name| builder.local(name, TY, span));
        let vars = Vars { along, cell: builder.local("cell", TY, span) };
        let inside = regions::within(body, index.map(|index| (index, At::Later)));
        let body = body::of(builder, table, &inside, vars)?;
        let bounds = Step { body: &body, along, cell: vars.cell }.closed(seeds)?;
        let steps = [0, 1].map(|at| Steps::of(&edges[at]).filter(|steps| steps.are_within(bounds[at])));
        Some(Differences { table: table.clone(), ty, body, vars, bounds, edges, steps })
    }

    /// Computes the cell that is asked for by tiles.
    pub(super) fn tiles(&self, builder: &mut Builder<'_>, ask: &Ask, sides: [u32; 2]) -> Made {
        tiles::tiles(builder, self, ask, sides)
    }

    /// Computes it row by row, in an iteration of a map.
    pub(super) fn rows(&self, builder: &mut Builder<'_>, ask: &Ask) -> Made {
        rows::rows(builder, self, ask)
    }

    /// Computes it row by row where the table is short, so that lanes hold tables of unlike sizes. On processors these loops have no lanes of their own, so only
    /// whole iterations in lanes take them, where it is known whether they are.
    pub(super) fn short_rows(&self, builder: &mut Builder<'_>, (ask, around): (&Ask, Option<&Iterations>)) -> Made {
        let made = short::rows(builder, self, ask);
        let Some(around) = around else { return made };
        let span = made.fits.span;
        Made { fits: build::all(vec![around.in_lanes(true, span), made.fits], span), ..made }
    }

    /// The cell that is wanted, if nothing else is.
    pub(super) fn asked(asks: &Asks) -> Option<&Ask> {
        let [ask] = &asks.cells[..] else { return None };
        (asks.folds.is_empty() && asks.kept.is_empty() && ask.path.is_empty()).then_some(ask)
    }

    /// Statements that compute the cell at a place of an edge, and the cell.
    fn edge(&self, builder: &mut Builder<'_>, along: usize, at: &Expr) -> (Vec<Stmt>, Expr) {
        let edge = &self.edges[along];
        let (from, mut own) = (builder.vars.clone(), OrdMap::new());
        let mut block = visit::clone_block(&edge.body, &from, builder.vars, &mut own);
        visit::substitute(&mut block, |var| (var == edge.index).then(|| at.clone()));
        (block.stmts, Expr::read(own[&edge.value], self.ty, at.span))
    }

    /// The difference between the cell behind a place of an edge and the one there, a `long`.
    fn difference(&self, builder: &mut Builder<'_>, along: usize, at: &Expr) -> (Vec<Stmt>, Expr) {
        if let Some(Steps { first, later }) = self.steps[along] {
            let [first, later] = [first, later].map(|step| Expr::int(step, at.span));
            return (
                Vec::new(),
                if same::expr(&first, &later) { later } else { build::select(is_first(at), first, later) },
            );
        }
        let next = build::add(at.clone(), Expr::int(1, at.span));
        let (mut stmts, left) = self.edge(builder, along, at);
        let (more, right) = self.edge(builder, along, &next);
        stmts.extend(more);
        (stmts, build::sub(build::cast(right, Ty::LONG), build::cast(left, Ty::LONG)))
    }

    /// Whether a difference along an index is within the bounds.
    fn within(&self, along: usize, difference: &Expr) -> Expr {
        let [low, high] = self.bounds[along].map(|end| Expr::int(end, difference.span));
        let conds =
            vec![Expr::long(BinOp::Ge, difference.clone(), low), Expr::long(BinOp::Le, difference.clone(), high)];
        build::all(conds, difference.span)
    }

    /// Whether so many rows and columns after a first cell that is near 0 no value wraps.
    fn small(&self, [rows, columns]: [Expr; 2]) -> Expr {
        let span = rows.span;
        let most = self.bounds.iter().flatten().map(|end| end.abs()).max().unwrap_or(1).max(1);
        let limit = || Expr::int(FAR / most, span);
        let both = build::add(rows.clone(), columns.clone());
        build::all([rows, columns, both].map(|size| Expr::long(BinOp::Le, size, limit())).into(), span)
    }

    /// Whether the first cell is near 0.
    fn near(first: Expr) -> Expr {
        let span = first.span;
        let first = build::cast(first, Ty::LONG);
        let [low, high] = [-FAR, FAR].map(|end| Expr::int(end, span));
        build::all(vec![Expr::long(BinOp::Ge, first.clone(), low), Expr::long(BinOp::Le, first, high)], span)
    }

    /// A sum of values of the program's type.
    fn sum(&self, left: Expr, right: Expr) -> Expr {
        Expr { ty: self.ty, ..Expr::long(BinOp::Add, left, build::cast(right, self.ty)) }
    }

    /// What a difference is after a cell.
    fn after(&self, along: usize, span: Span) -> Expr {
        let cell = Expr::read(self.vars.cell, TY, span);
        let other = Expr::read(self.vars.along[1 - along], TY, span);
        Expr { ty: TY, ..Expr::long(BinOp::Sub, cell, other) }
    }
}

fn is_first(at: &Expr) -> Expr {
    Expr::long(BinOp::Eq, at.clone(), Expr::int(0, at.span))
}

/// What the bodies of cells along an index are, where the other one is 0. `None` where these load cells.
fn edge(builder: &mut Builder<'_>, table: &Table, body: &Block, along: usize) -> Option<Edge> {
    let span = table.span;
    let [index, other] = [along, 1 - along].map(|at| table.index[at].var);
    let mut body = regions::within(body, [(index, At::Anywhere), (other, At::First)]);
    let mut alone = true;
    visit::walk_places(&body, |place, role| match role {
        Role::Write => alone &= place.array == table.array,
        Role::Read => alone &= place.array != table.array,
        Role::Declare | Role::Iterate | Role::Update | Role::Argument { .. } => alone = false,
    });
    if !alone {
        return None;
    }
    let value = builder.local("edge", builder.vars[table.array].ty, span);
    assigned(&mut body, value)?;
    visit::substitute(&mut body, |var| (var == other).then(|| Expr::int(0, span)));
    body.stmts.insert(0, build::declare(value, span));
    Some(Edge { index, body, value })
}

/// Makes stores of the cell assignments. `None` where there are other statements than plain ones.
fn assigned(block: &mut Block, value: VarId) -> Option<()> {
    for stmt in &mut block.stmts {
        match &mut stmt.kind {
            StmtKind::Declare { .. } | StmtKind::Assign { .. } => {}
            StmtKind::Store { value: stored, .. } => *stmt = build::assign(value, stored.clone()),
            StmtKind::If { then, otherwise, .. } => {
                assigned(then, value)?;
                assigned(otherwise, value)?;
            }
            StmtKind::AssignField { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => return None,
        }
    }
    Some(())
}

impl Edge {
    /// What the first differences are, where that is seen; else 0. Bounds begin with it, and what an edge has is tested anyway.
    fn seed(&self) -> [i64; 2] {
        let at = |at: i64| closure::ran(&self.body, Known::default().with(self.index, [at; 2]))?.of(self.value);
        let more = |from: i64| {
            let ([least, most], [low, high]) = (at(from)?, at(from + 1)?);
            Some([low.checked_sub(most)?, high.checked_sub(least)?])
        };
        match (more(0), more(1)) {
            (Some(first), Some(second)) => hull(first, second),
            (None, _) | (_, None) => [0; 2],
        }
    }
}
