//! Memory that belongs to one iteration of a map that a device runs: arrays declared inside, and copies that primitives work on.
//! The host allocates it before the launch, so it must find out how much before any iteration runs.

use super::inner_maps;
use super::mapping::Exec;
use hidp_ir::par::doubt::doubt;
use hidp_ir::par::effects::{Effects, expr_may_fault, scalar_fn_may_fault};
use hidp_ir::par::visit;
use hidp_ir::par::{
    Access, BinOp, Block, Expr, ExprKind, Extent, Func, Map, PrimCall, Program, Stmt, StmtKind, VarId, VarKind,
};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::prim::Prim;
use hidp_syntax::source::Span;

/// What the memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// An array that iterations declare.
    Array(VarId),
    /// Copies that the primitive called here works on: its elements, and values if it has such.
    Copies(Span),
}

/// Memory of one iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Private {
    /// What for.
    pub store: Store,
    /// Its extents.
    pub extents: Vec<Expr>,
    /// Whether the extents hold values of an iteration: then the largest product of all iterations is what is needed.
    pub varies: bool,
    /// What of an iteration computes those values: scalars that are declared and assigned once. As in the extents nothing counts as
    /// proved here, since what stood around or before may be missing.
    pub slice: Block,
    /// Whether its elements must be neighbours, as primitives want them.
    pub contiguous: bool,
    /// The level of the groups that have one each.
    pub scope: Level,
}

impl Private {
    /// The array that it is of, if it is one.
    pub(super) fn array(&self) -> Option<VarId> {
        match self.store {
            Store::Array(var) => Some(var),
            Store::Copies(_) => None,
        }
    }
}

/// The memory of an iteration of `map`, run by groups of `level`: none for small arrays of a single lane. An error is the name of
/// what has a size that only the iteration itself finds.
pub fn private_arrays(
    program: &Program,
    func: &Func,
    map: &Map,
    level: Level,
    levels: &dyn Fn(VarId) -> Option<Exec>,
    small: u32,
) -> Result<Vec<Private>, String> {
    let whole = Block { stmts: vec![Stmt { kind: StmtKind::Map(map.clone()), span: func.span }] };
    let effects = Effects::of_block(program, &func.vars, &whole);
    let mut search = Search { program, func, map, effects, levels, small, found: Vec::new(), passed: OrdSet::new() };
    search.block(&map.body, level)?;
    let Search { mut found, passed, .. } = search;
    for private in &mut found {
        private.contiguous |= matches!(private.store, Store::Array(var) if passed.contains(&var));
    }
    Ok(found)
}

/// Whether an array is small and its size constant, so that each lane can have one of its own.
pub(super) fn is_small(func: &Func, var: VarId, small: u32) -> bool {
    let size = func.vars[var].ty.scalar().map_or(i128::from(small), |scalar| scalar.size() as i128);
    let count = func.vars[var].shape.iter().try_fold(size, |count, extent| {
        let extent = extent.as_int().filter(|extent| (0..=i128::from(small)).contains(extent))?;
        count.checked_mul(extent)
    });
    count.is_some_and(|bytes| bytes <= i128::from(small))
}

/// The calls directly in the iterations of a map whose segments those of other iterations may overlap, and the arrays that live
/// outside of the iterations that they write.
pub fn direct_segments(map: &Map) -> Vec<(Span, VarId)> {
    let own = visit::declared(&map.body);
    let mut found = Vec::new();
    for call in shared_calls(&map.body, false) {
        let keys = call.output.as_ref().unwrap_or(&call.input);
        let values = call.values.as_ref().and_then(|(_, out)| out.as_ref());
        let arrays = [Some(keys), values].into_iter().flatten().map(|array| array.array);
        found.extend(arrays.filter(|array| !own.contains(array)).map(|array| (call.span, array)));
    }
    found
}

/// Whether a primitive whose segments other iterations may overlap stands in a loop or inner map of an iteration, or in a map that
/// folds: then an iteration may write any number of segments, and a log takes them.
pub fn repeated_segments(map: &Map) -> bool {
    let once = if map.folds.is_empty() { shared_calls(&map.body, false) } else { Vec::new() };
    shared_calls(&map.body, true).into_iter().any(|call| !once.contains(&call))
}

/// Calls of a block that write segments which may overlap; those in loops and maps inside only if `deep`.
fn shared_calls(block: &Block, deep: bool) -> Vec<&PrimCall> {
    let mut found = Vec::new();
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Prim(call) if call.prim.writes_segments() && call.access == Access::Shared => {
                found.push(&**call);
            }
            StmtKind::If { then, otherwise, .. } => {
                found.extend(shared_calls(then, deep));
                found.extend(shared_calls(otherwise, deep));
            }
            StmtKind::Scope(body) => found.extend(shared_calls(body, deep)),
            StmtKind::Loop(node) if deep => {
                found.extend(shared_calls(&node.body, deep));
                found.extend(shared_calls(&node.step, deep));
            }
            StmtKind::Map(inner) if deep => found.extend(shared_calls(&inner.body, deep)),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        }
    }
    found
}

struct Search<'a> {
    program: &'a Program,
    func: &'a Func,
    map: &'a Map,
    effects: Effects,
    levels: &'a dyn Fn(VarId) -> Option<Exec>,
    small: u32,
    found: Vec<Private>,
    /// Arrays that primitives get.
    passed: OrdSet<VarId>,
}

impl Search<'_> {
    fn block(&mut self, block: &Block, scope: Level) -> Result<(), String> {
        block.stmts.iter().try_for_each(|stmt| self.stmt(stmt, scope))
    }

    fn stmt(&mut self, stmt: &Stmt, scope: Level) -> Result<(), String> {
        match &stmt.kind {
            StmtKind::Declare { var, .. } if self.func.vars[*var].is_array() => {
                if scope == Level::Thread && is_small(self.func, *var, self.small) {
                    return Ok(());
                }
                let extents = self.func.vars[*var].shape.clone();
                let name = &self.func.vars[*var].name;
                let found = self.private(Store::Array(*var), extents, scope);
                self.found.push(found.ok_or_else(|| name.clone())?);
                Ok(())
            }
            StmtKind::Prim(call) => self.prim(call, scope),
            StmtKind::Map(inner) => {
                let exec = inner.iters.last().and_then(|iter| (self.levels)(iter.var));
                let below = if let Some(Exec::Device(level)) = exec { level } else { scope };
                self.block(&inner.body, below)
            }
            StmtKind::If { then, otherwise, .. } => {
                self.block(then, scope)?;
                self.block(otherwise, scope)
            }
            StmtKind::Loop(node) => {
                self.block(&node.body, scope)?;
                self.block(&node.step, scope)
            }
            StmtKind::Scope(body) => self.block(body, scope),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => Ok(()),
        }
    }

    fn prim(&mut self, call: &PrimCall, scope: Level) -> Result<(), String> {
        let outputs = call.values.iter().flat_map(|(values, out)| [Some(values), out.as_ref()]).flatten();
        let arrays = [Some(&call.input), call.output.as_ref()].into_iter().flatten().chain(outputs);
        self.passed.extend(arrays.map(|array| array.array));
        if call.prim != Prim::Sort {
            return Ok(());
        }
        let length = match &call.extent {
            Extent::Segment { low, high } => Expr::long(BinOp::Sub, high.clone(), low.clone()),
            // Of a function that sorts all of a row, called in a map.
            Extent::Whole { size } => size.clone(),
            Extent::Vectors { .. } | Extent::Regular { .. } => return Ok(()),
        };
        let store = Store::Copies(call.span);
        let whole = || self.func.vars[call.input.array].shape.last().cloned();
        let found = self.private(store, vec![length], scope).or_else(|| self.private(store, vec![whole()?], scope));
        self.found.push(found.ok_or_else(|| call.prim.row().name.to_owned())?);
        Ok(())
    }

    /// What it takes to know the extents, if that can be done ahead.
    fn private(&self, store: Store, extents: Vec<Expr>, scope: Level) -> Option<Private> {
        let mut slice = Block { stmts: Vec::new() };
        let mut varies = false;
        let extents: Vec<Expr> = extents.into_iter().map(unproved).collect();
        for extent in &extents {
            varies |= self.needs(extent, &mut slice.stmts)?;
        }
        let contiguous = matches!(store, Store::Copies(_));
        Some(Private { store, extents, varies, slice, contiguous, scope })
    }

    /// Adds what computes the scalars that an expression reads; whether the host cannot compute it by itself.
    fn needs(&self, expr: &Expr, slice: &mut Vec<Stmt>) -> Option<bool> {
        let mut varies = expr_may_fault(self.program, expr);
        let mut known = true;
        visit::walk_subexprs(expr, |part| match &part.kind {
            ExprKind::Load(place) => {
                varies = true;
                known &= !self.effects.writes.contains(&place.array) && !self.effects.declares.contains(&place.array);
            }
            ExprKind::Call(function, _) => known &= !scalar_fn_may_fault(self.program, *function),
            _ => {}
        });
        for var in Effects::of_expr(expr) {
            if !self.effects.declares.contains(&var) || self.func.vars[var].is_array() {
                continue;
            }
            varies = true;
            match self.func.vars[var].kind {
                VarKind::Iter => known &= self.map.iters.iter().any(|iter| iter.var == var),
                VarKind::Local => known &= self.scalar(var, slice).is_some(),
                VarKind::Dim | VarKind::Param(_) => {}
            }
        }
        known.then_some(varies)
    }

    /// Adds what computes a scalar: its declaration and the one assignment to it, both directly in the map's body.
    fn scalar(&self, var: VarId, slice: &mut Vec<Stmt>) -> Option<()> {
        let is_declare = |stmt: &&Stmt| matches!(stmt.kind, StmtKind::Declare { var: declared, .. } if declared == var);
        if slice.iter().any(|stmt| is_declare(&stmt)) {
            return Some(());
        }
        let mut writes = 0;
        visit::walk_vars(&self.map.body, |written, role| {
            writes += usize::from(written == var && !matches!(role, visit::Role::Read | visit::Role::Declare));
        });
        let own = &self.map.body.stmts;
        let declare = own.iter().find(is_declare)?;
        let assign = own.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Assign { var: assigned, value } if *assigned == var => Some((stmt, value)),
            _ => None,
        });
        match (writes, assign) {
            (0, _) => slice.push(zeroed(declare)),
            (1, Some((stmt, value))) => {
                let value = unproved(value.clone());
                self.needs(&value, slice)?;
                slice.push(zeroed(declare));
                slice.push(Stmt { kind: StmtKind::Assign { var, value }, span: stmt.span });
            }
            _ => return None,
        }
        Some(())
    }
}

/// The value where nothing is known of what it is made from.
fn unproved(mut value: Expr) -> Expr {
    doubt(&mut value);
    value
}

/// A declaration that leaves zero: what else initialises the variable may not be in the slice yet.
fn zeroed(declare: &Stmt) -> Stmt {
    let kind = match &declare.kind {
        StmtKind::Declare { var, .. } => StmtKind::Declare { var: *var, zero: true },
        other => other.clone(),
    };
    Stmt { kind, span: declare.span }
}

/// The maps that become launches: those inside, if the host runs the iterations around.
pub(super) fn launched<'m>(map: &'m Map, exec: &dyn Fn(VarId) -> Option<Exec>) -> Vec<&'m Map> {
    let first = map.iters.first().and_then(|iter| exec(iter.var));
    if first == Some(Exec::Device(Level::Kernel)) { inner_maps(&map.body) } else { vec![map] }
}
