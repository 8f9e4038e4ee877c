//! Iterations of a map inside that share the turns of a loop (`plan::wide::jam`): each has its own values, all else is lowered once.

use super::super::build::Binding;
use super::super::space::Range;
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Stmt, VarId};
use hidp_ir::par::{self, Block, Map, StmtKind};
use hidp_plan as plan;
use hidp_plan::wide::Jam;
use hidp_plan::wide::live::{self, Jumps, Live};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

/// What the values of one of these iterations are.
#[derive(Default)]
struct Iteration {
    scalars: OrdMap<par::VarId, Binding>,
    lanes: OrdMap<par::VarId, VarId>,
}

impl Lowerer<'_> {
    /// How many iterations of a map run at once, if several do, and what each has for itself.
    pub(super) fn jam(&self, map: &Map) -> Option<(Jam, u32)> {
        let [iter] = &map.iters[..] else { return None };
        let size = self.mapping.levels.get(&iter.var).map(|level| level.tile).filter(|size| *size > 1)?;
        let classes = &self.wide.as_ref()?.classes;
        Some((plan::wide::jam(self.func, map, classes).ok()?, size))
    }

    /// Runs `size` iterations at once as long as there are as many; gives the position of the first that is left.
    pub(super) fn jammed(&mut self, map: &Map, range: &Range, (jam, size): (&Jam, u32), head: &Live) -> Expr {
        let length = || make::long(size.into());
        let tiles = self.body.fix("tiles", make::div(range.count.clone(), length()));
        let tile = self.body.enter_loop("tile");
        let first = make::add(range.lo.clone(), make::mul(make::var(tile, Ty::LONG), length()));
        let first = self.body.fix("first", first);
        let name = self.func.vars[range.var].name.clone();
        let mut all = Vec::new();
        for at in 0..size {
            let value = self.body.fix(&name, make::add(first.clone(), make::long(at.into())));
            all.push(Iteration { scalars: OrdMap::from([(range.var, Binding::Fixed(value))]), ..Iteration::default() });
        }
        self.jam_block(&map.body, jam, (head, &Jumps::default()), &mut all);
        self.body.leave_loop(tile, make::long(0), tiles.clone(), LoopKind::Seq);
        self.body.fix("left", make::mul(tiles, length()))
    }

    fn jam_block(&mut self, block: &Block, jam: &Jam, (after, jumps): (&Live, &Jumps), all: &mut [Iteration]) {
        let (afters, _) = live::in_block(block, after, jumps);
        for (stmt, after) in block.stmts.iter().zip(&afters) {
            let around = self.body.here.replace(stmt.span);
            match &stmt.kind {
                StmtKind::Loop(node) => {
                    let (head, inside) = live::of_loop(node, after, jumps);
                    self.together(node, &mut |this, is_step| match is_step {
                        false => this.jam_block(&node.body, jam, (&inside.next, &inside), all),
                        true => this.jam_block(&node.step, jam, (&head, jumps), all),
                    });
                }
                StmtKind::If { cond, then, otherwise } if plan::wide::has_loop(stmt) => {
                    let cond = self.expr(cond);
                    self.body.enter();
                    self.jam_block(then, jam, (after, jumps), all);
                    let then = self.body.leave();
                    self.body.enter();
                    self.jam_block(otherwise, jam, (after, jumps), all);
                    let otherwise = self.body.leave();
                    self.body.push(Stmt::If { cond, then, otherwise });
                }
                StmtKind::If { .. }
                | StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Store { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Require { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Scope(_)
                | StmtKind::Leave
                | StmtKind::Map(_)
                | StmtKind::Prim(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. } => self.without_loops(stmt, jam, (after, jumps), all),
            }
            self.body.here = around;
        }
    }

    /// A statement without loops: once for all iterations, or for each with its own values.
    fn without_loops(&mut self, stmt: &par::Stmt, jam: &Jam, (after, jumps): (&Live, &Jumps), all: &mut [Iteration]) {
        if jam.is_shared(stmt) {
            return self.wide_stmt(stmt, after, jumps);
        }
        for one in all {
            self.exchange(jam, one);
            self.wide_stmt(stmt, after, jumps);
            self.exchange(jam, one);
        }
    }

    /// Exchanges the values of one iteration for those that are bound.
    fn exchange(&mut self, jam: &Jam, one: &mut Iteration) {
        for var in &jam.own {
            swap(&mut self.body.bindings, &mut one.scalars, *var);
            if let Some(wide) = &mut self.wide {
                swap(&mut wide.vars, &mut one.lanes, *var);
            }
        }
    }
}

fn swap<T>(left: &mut OrdMap<par::VarId, T>, right: &mut OrdMap<par::VarId, T>, var: par::VarId) {
    let (own, other) = (left.remove(&var), right.remove(&var));
    left.extend(other.map(|value| (var, value)));
    right.extend(own.map(|value| (var, value)));
}
