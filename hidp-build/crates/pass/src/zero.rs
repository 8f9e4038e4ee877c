//! `zero`: storage whose elements are all written before they are read need not be cleared.
//!
//! Afterwards `zero` of an array's declaration says whether some element may be read that the program has not written.

use super::Pass;
use hidp_ir::par::same;
use hidp_ir::par::visit::{self, Mutator, Role, Visitor, change, look};
use hidp_ir::par::{
    ArrayRef, Block, Expr, ExprKind, Extent, FoldKind, Func, Iter, Loop, Map, Place, PrimCall, Program, Stmt, StmtKind,
    Target, VarId, VarKind,
};
use hidp_prove::Facts;
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::prim::{Form, Prim};

/// The pass.
pub(super) const PASS: Pass =
    Pass { name: "zero", about: "finds the arrays that are written in full before they are read", run };

fn run(program: &mut Program) {
    for (_, func) in program.funcs.iter_mut() {
        clear(func);
    }
}

/// Clears `zero` in the declarations of `func` whose elements are written before they are read.
pub(super) fn clear(func: &mut Func) {
    let mut body = std::mem::take(&mut func.body);
    let needed = read_early(func, &body, &OrdSet::new());
    struct Clear<'f>(&'f Func, OrdSet<VarId>);
    impl Mutator for Clear<'_> {
        fn visit_stmt(&mut self, stmt: &mut Stmt) {
            if let StmtKind::Declare { var, zero } = &mut stmt.kind {
                *zero &= !self.0.vars[*var].is_array() || self.1.contains(var);
            }
            change::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &mut Expr) {}
    }
    Clear(func, needed).visit_block(&mut body);
    func.body = body;
}

/// The arrays of `func` of which `block` may read an unwritten element, if those in `fresh` and locals come
/// without values and all others with theirs.
pub(super) fn read_early(func: &Func, block: &Block, fresh: &OrdSet<VarId>) -> OrdSet<VarId> {
    let mut search =
        Search { func, facts: Facts::new(func), full: OrdSet::new(), partial: Vec::new(), early: OrdSet::new() };
    search.full = func.vars.ids().filter(|var| !fresh.contains(var)).collect();
    visit::declared(block).iter().for_each(|var| {
        search.full.remove(var);
    });
    search.visit_block(block);
    let mut early = search.early;
    close_over_swaps(block, &mut early);
    early
}

/// Arrays that exchange names exchange what is known of them.
fn close_over_swaps(block: &Block, early: &mut OrdSet<VarId>) {
    let pairs = swaps(block);
    while let Some((a, b)) = pairs.iter().find(|(a, b)| early.contains(a) != early.contains(b)) {
        early.extend([*a, *b]);
    }
}

fn swaps(block: &Block) -> Vec<(VarId, VarId)> {
    let mut pairs = Vec::new();
    visit::walk_stmts(block, |stmt| {
        if let StmtKind::Swap(a, b) = stmt.kind {
            pairs.push((a, b));
        }
    });
    pairs
}

struct Search<'f> {
    func: &'f Func,
    facts: Facts<'f>,
    /// Arrays that have all their values here.
    full: OrdSet<VarId>,
    /// Elements that this iteration has written; their subscripts never change within it.
    partial: Vec<Place>,
    /// Arrays that were read too early.
    early: OrdSet<VarId>,
}

impl Visitor for Search<'_> {
    fn visit_block(&mut self, block: &Block) {
        let elements = self.partial.len();
        look::walk_block(self, block);
        self.partial.truncate(elements);
    }

    fn visit_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare { var, .. } => {
                self.func.vars[*var].shape.iter().for_each(|extent| self.visit_expr(extent));
                self.full.remove(var);
            }
            StmtKind::Store { place, .. } => {
                look::walk_stmt(self, stmt);
                if place.path.is_empty() && place.index.iter().all(|index| self.is_iterator(index)) {
                    self.partial.push(place.clone());
                }
            }
            StmtKind::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            StmtKind::Scope(inner) => self.perhaps(|search| search.visit_block(inner)),
            StmtKind::Swap(a, b) => {
                if !(self.full.contains(a) && self.full.contains(b)) {
                    self.full.remove(a);
                    self.full.remove(b);
                }
            }
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => look::walk_stmt(self, stmt),
        }
    }

    /// The loop may run not at all, and may be left anywhere.
    fn visit_loop(&mut self, node: &Loop) {
        for (a, b) in swaps(&node.body).into_iter().chain(swaps(&node.step)) {
            if !(self.full.contains(&a) && self.full.contains(&b)) {
                self.full.remove(&a);
                self.full.remove(&b);
            }
        }
        self.visit_expr(&node.cond);
        self.perhaps(|search| {
            search.visit_block(&node.body);
        });
        self.perhaps(|search| {
            if !may_continue(&node.body) {
                search.assume_written_by(&node.body);
            }
            search.visit_block(&node.step);
        });
    }

    fn visit_map(&mut self, map: &Map) {
        map.iters.iter().for_each(|iter| self.visit_iter(iter));
        self.perhaps(|search| {
            search.visit_block(&map.body);
        });
        map.folds.iter().for_each(|fold| self.visit_fold(fold));
        let written = self.covered(map, &[]);
        self.full.extend(written);
    }

    fn visit_prim(&mut self, call: &PrimCall) {
        look::walk_prim(self, call);
        self.full.extend(self.covered_by_prim(call));
    }

    fn visit_place(&mut self, place: &Place, role: Role) {
        place.index.iter().for_each(|index| self.visit_expr(index));
        let known = || {
            self.partial.iter().any(|written| same::exprs(&written.index, &place.index) && written.array == place.array)
        };
        match role {
            Role::Write => {}
            Role::Read | Role::Update | Role::Argument { .. } | Role::Declare | Role::Iterate => {
                if !known() {
                    self.read(place.array);
                }
            }
        }
    }

    fn visit_var(&mut self, var: &VarId, role: Role) {
        match role {
            Role::Write | Role::Declare | Role::Iterate => {}
            Role::Read | Role::Update | Role::Argument { .. } => self.read(*var),
        }
    }
}

impl Search<'_> {
    fn read(&mut self, var: VarId) {
        if self.func.vars[var].is_array() && !self.full.contains(&var) {
            self.early.insert(var);
        }
    }

    fn is_iterator(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Read(var) if self.func.vars[var].kind == VarKind::Iter)
    }

    /// Runs `inner`, which may not happen or not to its end: what it writes does not count afterwards.
    fn perhaps(&mut self, inner: impl FnOnce(&mut Self)) {
        let before = self.full.clone();
        let elements = self.partial.len();
        inner(self);
        self.partial.truncate(elements);
        let lost: Vec<VarId> = before.difference(&self.full).copied().collect();
        self.full = before;
        lost.iter().for_each(|var| {
            self.full.remove(var);
        });
    }

    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: &Block) {
        self.visit_expr(cond);
        let before = self.full.clone();
        self.visit_block(then);
        let after_then = std::mem::replace(&mut self.full, before);
        self.visit_block(otherwise);
        self.full.retain(|var| after_then.contains(var));
    }

    /// Adds what `body` has written in full when it has run to its end.
    fn assume_written_by(&mut self, body: &Block) {
        let early = self.early.clone();
        self.visit_block(body);
        self.early = early;
    }

    /// The arrays of which a map, inside maps over `outer`, writes every element.
    fn covered(&self, map: &Map, outer: &[&Iter]) -> OrdSet<VarId> {
        let iters: Vec<&Iter> = outer.iter().copied().chain(&map.iters).collect();
        let mut found = OrdSet::new();
        for stmt in &map.body.stmts {
            match &stmt.kind {
                StmtKind::Store { place, .. } if self.covers(place, &iters) => {
                    found.insert(place.array);
                }
                StmtKind::Map(inner) => found.extend(self.covered(inner, &iters)),
                _ => {}
            }
        }
        for fold in &map.folds {
            if let Target::Element(place) = &fold.target {
                let free: Vec<&Iter> = match fold.kind {
                    FoldKind::Reduce => iters.iter().copied().filter(|iter| !fold.over.contains(&iter.var)).collect(),
                    FoldKind::Scan | FoldKind::Exscan => iters.clone(),
                };
                if self.covers(place, &free) {
                    found.insert(place.array);
                }
            }
        }
        found
    }

    /// Whether `place`, written once for all values of `iters`, is every element of its array.
    fn covers(&self, place: &Place, iters: &[&Iter]) -> bool {
        covers(self.func, &self.facts, place, iters)
    }

    fn covered_by_prim(&self, call: &PrimCall) -> Vec<VarId> {
        let keeps_length = match call.prim {
            Prim::Scan | Prim::Exscan | Prim::Sort | Prim::Partition | Prim::Reverse => true,
            Prim::Min | Prim::Max | Prim::Reduce | Prim::ReverseInplace | Prim::Histogram => false,
        };
        let Extent::Whole { size } = &call.extent else { return Vec::new() };
        if !keeps_length || call.form != Form::Whole {
            return Vec::new();
        }
        let values = call.values.as_ref().and_then(|(_, output)| output.as_ref());
        let outputs = call.output.iter().chain(values);
        let whole = |array: &&ArrayRef| {
            let [extent] = &self.func.vars[array.array].shape[..] else { return false };
            array.offset.as_int() == Some(0) && self.facts.same_extent(extent, size)
        };
        outputs.filter(whole).map(|array| array.array).collect()
    }
}

/// Whether `place`, written once for all values of `iters`, is every element of its array: its subscripts are the iterators, each
/// once, and each runs over its whole dimension.
pub(super) fn covers(func: &Func, facts: &Facts<'_>, place: &Place, iters: &[&Iter]) -> bool {
    let mut used = OrdMap::new();
    let in_full = place.index.iter().zip(&func.vars[place.array].shape).all(|(index, extent)| {
        let ExprKind::Read(var) = index.kind else { return false };
        let Some(iter) = iters.iter().find(|iter| iter.var == var) else { return false };
        let whole = iter.lo.as_int() == Some(0) && iter.step.as_int() == Some(1) && facts.same_extent(&iter.hi, extent);
        whole && used.insert(var, ()).is_none()
    });
    in_full && place.path.is_empty() && place.index.len() == iters.len()
}

fn may_continue(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Continue));
    found
}
