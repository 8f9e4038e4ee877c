//! `ahead`: what iterations read where others may write is read before the map, where that gives the map its vector lanes.
//!
//! Floyd and Warshall's `d[i][j] = min(d[i][j], d[i][k] + d[k][j])` reads a row and a column that it writes. What it finds there may be old or
//! new, so it may be what was there before the map.

use hidp_ir::par::ahead::{ReadAhead, read_ahead};
use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{
    Access, BinOp, Block, Directives, Expr, ExprKind, Func, FuncId, Iter, Map, Place, Program, Stmt, StmtKind, Var,
    VarId, VarKind, same,
};
use hidp_prove as prove;
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
        let body = std::mem::take(&mut program.funcs[id].body);
        let mut ahead = Ahead { func: before.clone(), copies: Vec::new() };
        program.funcs[id].body = ahead.block(program, body);
        if ahead.copies.is_empty() {
            continue;
        }
        program.funcs[id].vars = ahead.func.vars;
        // A test that an iteration made first does not stand before the map.
        prove::bounds(program, id);
        if !are_proved(&program.funcs[id], &ahead.copies) {
            program.funcs[id] = before;
        }
    }
}

/// Whether the copies are filled from elements that are there.
fn are_proved(func: &Func, copies: &[VarId]) -> bool {
    let mut proved = true;
    visit::walk_stmts(&func.body, |stmt| {
        let filled = match &stmt.kind {
            StmtKind::Assign { var, value } if copies.contains(var) => Some(value),
            StmtKind::Store { place, value } if copies.contains(&place.array) => {
                proved &= place.unproved == 0;
                Some(value)
            }
            _ => None,
        };
        if let Some(ExprKind::Load(place)) = filled.map(|value| &value.kind) {
            proved &= place.unproved == 0;
        }
    });
    proved
}

struct Ahead {
    func: Func,
    copies: Vec<VarId>,
}

/// A place, and the copy that is read in its place.
struct Copied {
    read: ReadAhead,
    var: VarId,
}

impl Ahead {
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
        let Some(reads) = read_ahead(program, &self.func, map) else { return };
        let arrays: Vec<VarId> = reads.iter().map(|read| read.place.array).collect();
        let copies: Vec<Copied> = reads.into_iter().map(|read| self.copy(map, read, before)).collect();
        Replace { copies: &copies }.visit_block(&mut map.body);
        visit::map_places(&mut map.body, |place, _| {
            if arrays.contains(&place.array) {
                place.access = Access::Exclusive;
            }
        });
    }

    /// A copy of what a map reads at a place, made before it.
    fn copy(&mut self, map: &Map, read: ReadAhead, before: &mut Vec<Stmt>) -> Copied {
        let ReadAhead { place, along } = &read;
        let (array, span) = (&self.func.vars[place.array], place.span);
        let of_dim = |(index, extent): (&Expr, &Expr)| {
            along.iter().any(|var| index.kind == ExprKind::Read(*var)).then(|| extent.clone())
        };
        let shape = place.index.iter().zip(&array.shape).filter_map(of_dim).collect();
        let ty = array.ty;
        let name = format!("{}_old", array.name);
        let var = self.func.vars.push(Var { name, kind: VarKind::Local, shape, ty, ..array.clone() });
        self.copies.push(var);
        before.push(Stmt { kind: StmtKind::Declare { var, zero: along.is_empty() }, span });
        let iters: Vec<Iter> =
            along.iter().filter_map(|var| map.iters.iter().find(|iter| iter.var == *var)).cloned().collect();
        let fill = self.fill(place, var, ty, &iters);
        // Of a map without iterations nothing is read.
        let others = map.iters.iter().filter(|iter| !along.contains(&iter.var));
        let fill = others.fold(fill, |fill, iter| {
            let kind = ExprKind::Binary {
                op: BinOp::Lt,
                left: Box::new(iter.lo.clone()),
                right: Box::new(iter.hi.clone()),
                checked: false,
            };
            let cond = Expr { kind, ty: Ty::BOOL, span };
            let then = Block { stmts: vec![fill] };
            Stmt { kind: StmtKind::If { cond, then, otherwise: Block::default() }, span }
        });
        before.push(fill);
        Copied { read, var }
    }

    fn fill(&mut self, place: &Place, copy: VarId, ty: Ty, iters: &[Iter]) -> Stmt {
        let span = place.span;
        let from = Place { access: Access::Exclusive, unproved: all_bits(place.index.len()), ..place.clone() };
        let value = Expr { kind: ExprKind::Load(from), ty, span };
        if iters.is_empty() {
            return Stmt { kind: StmtKind::Assign { var: copy, value }, span };
        }
        let to = element(copy, iters.iter().map(|iter| iter.var), span, all_bits(iters.len()));
        let mut body = Block { stmts: vec![Stmt { kind: StmtKind::Store { place: to, value }, span }] };
        let fresh: Vec<Iter> = iters
            .iter()
            .map(|iter| Iter { var: self.func.vars.push(self.func.vars[iter.var].clone()), ..iter.clone() })
            .collect();
        let renamed = |var: VarId| iters.iter().position(|iter| iter.var == var).map_or(var, |at| fresh[at].var);
        visit::rename_vars(&mut body, renamed);
        let map = Map { iters: fresh, body, folds: Vec::new(), directives: Directives::default() };
        Stmt { kind: StmtKind::Map(map), span }
    }
}

fn all_bits(dims: usize) -> u32 {
    u32::MAX >> (32 - dims.clamp(1, 32))
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
            expr.kind = match copy.read.along.as_slice() {
                [] => ExprKind::Read(copy.var),
                along => ExprKind::Load(element(copy.var, along.iter().copied(), expr.span, all_bits(along.len()))),
            };
            return;
        }
        change::walk_expr(self, expr);
    }
}
