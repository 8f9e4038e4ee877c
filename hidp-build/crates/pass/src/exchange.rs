//! Where arrays of an iteration are swapped, elements are exchanged: an iteration may be one of a thread, a lane or a block, and
//! only the host has names of arrays to exchange.

use super::Pass;
use hidp_ir::par::{
    Access, Block, Directives, Expr, ExprKind, Func, Iter, Map, Place, Program, Stmt, StmtKind, Var, VarId, VarKind,
    visit,
};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

/// The pass.
pub(super) const PASS: Pass =
    Pass { name: "exchange", about: "exchanges the elements of arrays that are swapped in maps", run };

fn run(program: &mut Program) {
    program.funcs.iter_mut().for_each(|(_, func)| function(func));
}

/// Replaces the swaps in the maps of one function.
pub(super) fn function(func: &mut Func) {
    let swapped = swapped_in_maps(&func.body);
    if !swapped.is_empty() {
        let mut body = std::mem::take(&mut func.body);
        Exchange { vars: &mut func.vars, swapped, extents: OrdMap::new() }.block(&mut body, false);
        func.body = body;
    }
}

fn swapped_in_maps(body: &Block) -> OrdSet<VarId> {
    let mut swapped = OrdSet::new();
    visit::walk_stmts(body, |stmt| {
        if let StmtKind::Map(map) = &stmt.kind {
            visit::walk_stmts(&map.body, |stmt| {
                if let StmtKind::Swap(left, right) = stmt.kind {
                    swapped.extend([left, right]);
                }
            });
        }
    });
    swapped
}

struct Exchange<'a> {
    vars: &'a mut Arena<VarId, Var>,
    /// Arrays that are swapped in maps.
    swapped: OrdSet<VarId>,
    /// Their extents, as they were where the arrays were declared.
    extents: OrdMap<VarId, Vec<Expr>>,
}

impl Exchange<'_> {
    fn block(&mut self, block: &mut Block, in_map: bool) {
        let mut stmts = Vec::with_capacity(block.stmts.len());
        for mut stmt in block.stmts.drain(..) {
            let inside = in_map || matches!(stmt.kind, StmtKind::Map(_));
            visit::child_blocks_mut(&mut stmt).into_iter().for_each(|child| self.block(child, inside));
            if let StmtKind::Declare { var, .. } = stmt.kind
                && self.swapped.contains(&var)
            {
                let extents = self.extents_of(var, &mut stmts);
                self.extents.insert(var, extents);
            }
            if let StmtKind::Swap(left, right) = stmt.kind
                && in_map
            {
                stmt = self.exchange(left, right, stmt.span);
            }
            stmts.push(stmt);
        }
        block.stmts = stmts;
    }

    /// The extents of an array that is declared next: what they are made of may change later.
    fn extents_of(&mut self, array: VarId, stmts: &mut Vec<Stmt>) -> Vec<Expr> {
        let Var { shape, span, .. } = self.vars[array].clone();
        let mut held = Vec::with_capacity(shape.len());
        for extent in shape {
            if extent.as_int().is_some() {
                held.push(extent);
                continue;
            }
            let var = self.local("extent", Ty::LONG, span);
            stmts.push(Stmt { kind: StmtKind::Declare { var, zero: false }, span });
            stmts.push(Stmt { kind: StmtKind::Assign { var, value: extent }, span });
            held.push(Expr::read(var, Ty::LONG, span));
        }
        held
    }

    /// `map (i = 0 .. extent) { kept = left[i]; left[i] = right[i]; right[i] = kept; }`
    fn exchange(&mut self, left: VarId, right: VarId, span: Span) -> Stmt {
        let ty = self.vars[left].ty;
        let extents = self.extents.get(&left).cloned().unwrap_or_else(|| self.vars[left].shape.clone());
        let mut iters = Vec::with_capacity(extents.len());
        for (position, hi) in extents.into_iter().enumerate() {
            let name = format!("i{position}");
            let var = self.vars.push(Var { name, ty: Ty::LONG, shape: Vec::new(), kind: VarKind::Iter, span });
            iters.push(Iter { var, lo: Expr::int(0, span), hi, step: Expr::int(1, span), span });
        }
        let index: Vec<Expr> = iters.iter().map(|iter| Expr::read(iter.var, Ty::LONG, span)).collect();
        // Both have one shape: that was tested, or is known.
        let place = |array| Place {
            array,
            unproved: 0,
            index: index.clone(),
            path: Vec::new(),
            access: Access::Exclusive,
            span,
        };
        let load = |array| Expr { kind: ExprKind::Load(place(array)), ty, span };
        let kept = self.local("kept", ty, span);
        let kinds = [
            StmtKind::Declare { var: kept, zero: false },
            StmtKind::Assign { var: kept, value: load(left) },
            StmtKind::Store { place: place(left), value: load(right) },
            StmtKind::Store { place: place(right), value: Expr::read(kept, ty, span) },
        ];
        let body = Block { stmts: kinds.into_iter().map(|kind| Stmt { kind, span }).collect() };
        let map = Map { iters, body, folds: Vec::new(), directives: Directives::default() };
        Stmt { kind: StmtKind::Map(map), span }
    }

    fn local(&mut self, name: &str, ty: Ty, span: Span) -> VarId {
        self.vars.push(Var { name: name.into(), ty, shape: Vec::new(), kind: VarKind::Local, span })
    }
}
