//! `ahead`: hoists reads of elements that other iterations may write out of the map, if that lets the map vectorise.
//!
//! Floyd and Warshall's `d[i][j] = min(d[i][j], d[i][k] + d[k][j])` reads a row and a column that it writes. Each value read may be the old or the
//! new one, so the value from before the map is allowed. The row is copied; an element of the column is read once per row of iterations, which
//! alone write it: copying it beforehand would move it from the cache of the thread that writes it to the one that copies, and back.

use hidp_ir::par::ahead::{ReadAhead, read_ahead};
use hidp_ir::par::doubt::every_dimension;
use hidp_ir::par::effects;
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Access, BinOp, Block, Const, Directives, Expr, ExprKind, Func, FuncId, Iter, Map, Place, Program, Stmt, StmtKind,
    Var, VarId, VarKind, same,
};
use hidp_prove as prove;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::Pass;

/// The pass.
pub(super) const PASS: Pass = Pass {
    name: "ahead",
    about: "reads before a map what its iterations may read old or new, where that gives it lanes",
    run,
};

fn run(program: &mut Program) {
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for id in funcs {
        let before = program.funcs[id].clone();
        let mut tested = OrdSet::new();
        loop {
            let body = std::mem::take(&mut program.funcs[id].body);
            let mut ahead = Ahead { func: before.clone(), tested: &tested, copies: Vec::new() };
            let body = ahead.block(program, body);
            let Ahead { func, copies, .. } = ahead;
            program.funcs[id] = Func { body, ..func };
            if copies.is_empty() {
                break;
            }
            prove::bounds(program, id);
            let doubtful = in_doubt(&program.funcs[id], &copies);
            if doubtful.is_empty() {
                break;
            }
            program.funcs[id] = before.clone();
            if !doubtful.is_disjoint(&tested) {
                break;
            }
            // What a test in an iteration shows is tested before the map as well.
            tested.extend(doubtful);
        }
    }
}

/// The numbers of the copies that are filled from elements of which it is not known that they are there.
fn in_doubt(func: &Func, copies: &[VarId]) -> OrdSet<usize> {
    let mut found = OrdSet::new();
    visit::walk_stmts(&func.body, |stmt| {
        let mut look = |filled: VarId, value: &Expr, unproved: u32| {
            if let (Some(number), ExprKind::Load(from)) = (copies.iter().position(|copy| *copy == filled), &value.kind)
                && from.unproved | unproved != 0
            {
                found.insert(number);
            }
        };
        if let StmtKind::Assign { var, value } = &stmt.kind {
            look(*var, value, 0);
        } else if let StmtKind::Store { place, value } = &stmt.kind {
            look(place.array, value, place.unproved);
        }
    });
    found
}

struct Ahead<'a> {
    func: Func,
    /// Numbers of copies that are filled from the elements that are there.
    tested: &'a OrdSet<usize>,
    /// What is read before a map or its last iterator, in order.
    copies: Vec<VarId>,
}

/// A place, and the copy that is read in its place.
struct Copied {
    read: ReadAhead,
    var: VarId,
}

impl Ahead<'_> {
    fn block(&mut self, program: &Program, block: Block) -> Block {
        let mut stmts = Vec::new();
        for mut stmt in block.stmts {
            match &mut stmt.kind {
                StmtKind::Map(map) => self.map(program, map, &mut stmts),
                StmtKind::If { then, otherwise, .. } => {
                    *then = self.block(program, std::mem::take(then));
                    *otherwise = self.block(program, std::mem::take(otherwise));
                }
                StmtKind::Loop(node) => node.body = self.block(program, std::mem::take(&mut node.body)),
                StmtKind::Scope(body) => *body = self.block(program, std::mem::take(body)),
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Leave
                | StmtKind::Return(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => {}
            }
            stmts.push(stmt);
        }
        Block { stmts }
    }

    fn map(&mut self, program: &Program, map: &mut Map, before: &mut Vec<Stmt>) {
        let Some(mut reads) = read_ahead(program, &self.func, map) else { return };
        let arrays: Vec<VarId> = reads.iter().map(|read| read.place.array).collect();
        if !has_rows(program, map) {
            reads.iter_mut().for_each(|read| read.of_row = false);
        }
        let (of_rows, of_map): (Vec<ReadAhead>, Vec<ReadAhead>) = reads.into_iter().partition(|read| read.of_row);
        let mut copies: Vec<Copied> = of_map.into_iter().map(|read| self.copy(map, read, before)).collect();
        let mut row = Vec::new();
        copies.extend(of_rows.into_iter().map(|read| self.read_of_row(read, &mut row)));
        Replace { copies: &copies }.visit_block(&mut map.body);
        visit::map_places(&mut map.body, |place, _| {
            if arrays.contains(&place.array) {
                place.access = Access::Exclusive;
            }
        });
        if !row.is_empty() {
            by_rows(map, row);
        }
    }

    /// A copy of what a map reads at a place, made before it.
    fn copy(&mut self, map: &Map, read: ReadAhead, before: &mut Vec<Stmt>) -> Copied {
        let ReadAhead { place, along, .. } = &read;
        let (array, span) = (&self.func.vars[place.array], place.span);
        let of_dim = |(index, extent): (&Expr, &Expr)| {
            along.iter().any(|var| index.kind == ExprKind::Read(*var)).then(|| extent.clone())
        };
        let shape = place.index.iter().zip(&array.shape).filter_map(of_dim).collect();
        let (var, tested) = self.declare(place, shape);
        before.push(Stmt { kind: StmtKind::Declare { var, zero: tested || along.is_empty() }, span });
        let iters: Vec<Iter> =
            along.iter().filter_map(|var| map.iters.iter().find(|iter| iter.var == *var)).cloned().collect();
        let fill = self.fill(place, var, &iters, tested);
        // Of a map without iterations nothing is read.
        let others = map.iters.iter().filter(|iter| !along.contains(&iter.var));
        let some = |iter: &Iter| Expr::long(BinOp::Lt, iter.lo.clone(), iter.hi.clone());
        before.push(others.fold(fill, |fill, iter| when(some(iter), fill)));
        Copied { read, var }
    }

    /// What each row of iterations reads before the others.
    fn read_of_row(&mut self, read: ReadAhead, row: &mut Vec<Stmt>) -> Copied {
        let (var, tested) = self.declare(&read.place, Vec::new());
        row.push(Stmt { kind: StmtKind::Declare { var, zero: true }, span: read.place.span });
        row.push(self.fill(&read.place, var, &[], tested));
        Copied { read, var }
    }

    /// The variable that takes what is at a place, and whether it is tested that there is something.
    fn declare(&mut self, place: &Place, shape: Vec<Expr>) -> (VarId, bool) {
        let array = &self.func.vars[place.array];
        let name = format!("{}_old", array.name);
        let var = self.func.vars.push(Var { name, kind: VarKind::Local, shape, ty: array.ty, span: array.span });
        self.copies.push(var);
        (var, self.tested.contains(&(self.copies.len() - 1)))
    }

    fn fill(&mut self, place: &Place, copy: VarId, iters: &[Iter], tested: bool) -> Stmt {
        let span = place.span;
        let from = Place { access: Access::Exclusive, unproved: every_dimension(place.index.len()), ..place.clone() };
        let value = Expr { kind: ExprKind::Load(from), ty: self.func.vars[copy].ty, span };
        let kind = if iters.is_empty() {
            StmtKind::Assign { var: copy, value }
        } else {
            let to = element(copy, iters.iter().map(|iter| iter.var), span, every_dimension(iters.len()));
            StmtKind::Store { place: to, value }
        };
        let fill = Stmt { kind, span };
        let fill = if tested { when(self.is_there(place), fill) } else { fill };
        if iters.is_empty() {
            return fill;
        }
        let mut body = Block { stmts: vec![fill] };
        let fresh: Vec<Iter> = iters
            .iter()
            .map(|iter| Iter { var: self.func.vars.push(self.func.vars[iter.var].clone()), ..iter.clone() })
            .collect();
        let renamed = |var: VarId| iters.iter().position(|iter| iter.var == var).map_or(var, |at| fresh[at].var);
        visit::rename_vars(&mut body, renamed);
        let map = Map { iters: fresh, body, folds: Vec::new(), directives: Directives::default() };
        Stmt { kind: StmtKind::Map(map), span }
    }

    /// That there is an element at a place.
    fn is_there(&self, place: &Place) -> Expr {
        let both = |left: Expr, right: Expr| {
            let (span, ty) = (left.span, Ty::BOOL);
            Expr { kind: ExprKind::Lazy { and: true, left: Box::new(left), right: Box::new(right) }, ty, span }
        };
        let inside = |(index, extent): (&Expr, &Expr)| {
            let from = Expr::long(BinOp::Le, Expr::int(0, place.span), index.clone());
            both(from, Expr::long(BinOp::Lt, index.clone(), extent.clone()))
        };
        let dims = place.index.iter().zip(&self.func.vars[place.array].shape).map(inside);
        let nothing = Expr { kind: ExprKind::Const(Const::Bool(true)), ty: Ty::BOOL, span: place.span };
        dims.reduce(both).unwrap_or(nothing)
    }
}

/// Whether the last iterator of a map can stand in a map of its own inside: its range is that of all rows, and nobody says how the map runs.
fn has_rows(program: &Program, map: &Map) -> bool {
    let Some(last) = map.iters.last() else { return false };
    let fixed = [&last.lo, &last.hi, &last.step].into_iter().all(|bound| {
        let mut loads = false;
        visit::walk_subexprs(bound, |node| loads |= matches!(node.kind, ExprKind::Load(_)));
        !loads && !effects::expr_may_fault(program, bound)
    });
    let step = last.step.as_int().is_some_and(|step| step > 0);
    fixed && step && map.directives == Directives::default()
}

/// The iterations of the last iterator become a map inside of those of the others, behind `row`.
fn by_rows(map: &mut Map, mut row: Vec<Stmt>) {
    let Some(last) = map.iters.pop() else { return };
    let span = last.span;
    let body = std::mem::take(&mut map.body);
    let inner = Map { iters: vec![last], body, folds: Vec::new(), directives: Directives::default() };
    row.push(Stmt { kind: StmtKind::Map(inner), span });
    map.body = Block { stmts: row };
}

fn when(cond: Expr, then: Stmt) -> Stmt {
    let span = then.span;
    let then = Block { stmts: vec![then] };
    Stmt { kind: StmtKind::If { cond, then, otherwise: Block::default() }, span }
}

fn element(array: VarId, iters: impl Iterator<Item = VarId>, span: Span, unproved: u32) -> Place {
    let index = iters.map(|var| Expr::read(var, Ty::LONG, span)).collect();
    Place { array, index, path: Vec::new(), unproved, access: Access::Exclusive, span }
}

struct Replace<'a> {
    copies: &'a [Copied],
}

impl Mutator for Replace<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Load(place) = &expr.kind
            && let Some(copy) = self.copies.iter().find(|copy| same::place(&copy.read.place, place))
        {
            let along = if copy.read.of_row { &[] } else { copy.read.along.as_slice() };
            expr.kind = match along {
                [] => ExprKind::Read(copy.var),
                along => {
                    ExprKind::Load(element(copy.var, along.iter().copied(), expr.span, every_dimension(along.len())))
                }
            };
            return;
        }
        change::walk_expr(self, expr);
    }
}
