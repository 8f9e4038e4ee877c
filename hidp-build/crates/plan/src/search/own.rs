//! The work of one iteration of a map: operations, accesses and maps inside, each weighted by its expected count.

use super::chained;
use crate::work::lane_operations;
use hidp_ir::par::visit::{self, Role, Visitor, look};
use hidp_ir::par::{Block, Expr, ExprKind, Map, Place, Program, Stmt, StmtKind, Target, VarId};
use hidp_syntax::ordered::{OrdMap, OrdSet};

/// How often a side of a branch runs, and the body of a loop, where sizes do not say.
const OF_BRANCH: f64 = 0.5;
const OF_LOOP: f64 = 8.0;

/// Accesses, and how often an iteration makes each.
pub(super) type Places = Vec<(Place, Role, f64)>;

/// What an iteration does by itself.
pub(super) struct Own<'a, 'n> {
    program: &'a Program,
    /// Of each number of the map's iterators: what depends on the last of them and on none further in, so that compilers compute it outside of the loops over those.
    pub(super) operations: Vec<f64>,
    /// Those of them that are the same for all iterations of the nest that differ in the fastest iterator alone.
    pub(super) alike: Vec<f64>,
    pub(super) places: Places,
    /// Loads that wait for one of the turn before of a loop.
    pub(super) chained: f64,
    /// Maps inside, and how often each runs.
    pub(super) maps: Vec<(&'a Map, f64)>,
    weight: f64,
    in_index: bool,
    /// On how many of the iterators a variable depends; on none otherwise.
    depths: OrdMap<VarId, usize>,
    /// On how many it depends what runs.
    control: usize,
    /// What depends on the fastest iterator of the nest.
    apart: &'n mut OrdSet<VarId>,
}

impl<'a, 'n> Own<'a, 'n> {
    /// What maps around have found to depend on the nest's fastest iterator, that iterator among it, is in `apart`.
    pub(super) fn of(program: &'a Program, map: &'a Map, apart: &'n mut OrdSet<VarId>) -> Self {
        let depths = map.iters.iter().enumerate().map(|(at, iter)| (iter.var, at + 1)).collect();
        let mut operations = vec![0.0; map.iters.len() + 1];
        operations[map.iters.len()] = map.folds.len() as f64;
        let alike = vec![0.0; map.iters.len() + 1];
        let (places, maps) = (Vec::new(), Vec::new());
        let (weight, in_index, control) = (1.0, false, 0);
        let mut own =
            Own { program, operations, alike, places, chained: 0.0, maps, weight, in_index, depths, control, apart };
        own.block(&map.body);
        own
    }

    fn block(&mut self, block: &'a Block) {
        block.stmts.iter().for_each(|stmt| self.statement(stmt));
    }

    fn within(&mut self, (weight, control): (f64, usize), inside: impl FnOnce(&mut Self)) {
        let around = (self.weight, self.control);
        (self.weight, self.control) = (self.weight * weight, self.control.max(control));
        inside(self);
        (self.weight, self.control) = around;
    }

    /// On all iterators.
    fn deepest(&self) -> usize {
        self.operations.len() - 1
    }

    fn depth(&self, expr: &Expr) -> usize {
        let mut depth = self.control;
        visit::walk_expr_vars(expr, |var, _| depth = depth.max(self.depths.get(&var).copied().unwrap_or(0)));
        depth
    }

    fn is_apart(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::walk_expr_vars(expr, |var, _| found |= self.apart.contains(&var));
        found
    }

    fn assigned(&mut self, var: VarId, depth: usize) {
        let own = self.depths.entry(var).or_insert(0);
        *own = (*own).max(depth);
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Map(map) => {
                self.maps.push((map, self.weight));
                for iter in &map.iters {
                    [&iter.lo, &iter.hi, &iter.step].into_iter().for_each(|bound| self.visit_expr(bound));
                }
                for fold in &map.folds {
                    match &fold.target {
                        Target::Element(place) => self.visit_place(place, Role::Write),
                        Target::Scalar(var) => {
                            self.apart.insert(*var);
                            self.assigned(*var, self.deepest());
                        }
                    }
                }
            }
            StmtKind::If { cond, then, otherwise } => {
                self.visit_expr(cond);
                let of_branch = (OF_BRANCH, self.depth(cond));
                self.within(of_branch, |own| own.block(then));
                self.within(of_branch, |own| own.block(otherwise));
            }
            StmtKind::Loop(node) => {
                let turns = self.deepest();
                self.chained += self.weight * OF_LOOP * chained::loads(node) as f64;
                self.within((1.0, turns), |own| own.visit_expr(&node.cond));
                self.within((OF_LOOP, turns), |own| own.block(&node.body));
                self.within((OF_LOOP, turns), |own| own.block(&node.step));
            }
            StmtKind::Scope(block) => self.block(block),
            StmtKind::Assign { var, value } | StmtKind::AssignField { var, value, .. } => {
                look::walk_stmt(self, stmt);
                self.assigned(*var, self.depth(value));
                if self.is_apart(value) {
                    self.apart.insert(*var);
                }
            }
            StmtKind::Declare { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_) => look::walk_stmt(self, stmt),
        }
    }
}

impl Visitor for Own<'_, '_> {
    fn visit_expr(&mut self, expr: &Expr) {
        let mut operations = if self.in_index { 0 } else { lane_operations(expr).unwrap_or(0) };
        if let ExprKind::Call(function, _) = &expr.kind
            && let Some(body) = &self.program.scalar_fns[*function].body
        {
            // What its text has, without those that it calls.
            visit::walk_exprs(body, |expr| operations += lane_operations(expr).unwrap_or(0));
        }
        if operations > 0 {
            let depth = self.depth(expr);
            self.operations[depth] += self.weight * operations as f64;
            if !self.is_apart(expr) {
                self.alike[depth] += self.weight * operations as f64;
            }
        }
        look::walk_expr(self, expr);
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        self.places.push((place.clone(), role, self.weight));
        if role != Role::Read {
            self.assigned(place.array, self.deepest());
            self.apart.insert(place.array);
        }
        let around = std::mem::replace(&mut self.in_index, true);
        look::walk_place(self, place, role);
        self.in_index = around;
    }
}
