//! How long a version takes at given sizes: compositions and the entry as it is written alike, as planned, in picoseconds.
//!
//! An estimate from few numbers of the model, measured on one machine. It chooses among versions, and nothing else. Ranges that depend on
//! iterators are as long as where those are in the middle of theirs; of what data say, `unknown_length` is assumed; branches that sizes do not decide
//! count half on either side.

use std::collections::{BTreeMap, BTreeSet};

use crate::counted::counted;
use crate::shape::Stride;
use crate::target::{Estimates, Model};
use crate::work::{of_element, of_function};
use crate::{Exec, Mapping, Plan, Strategy, key, nests, stride_of};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{
    BinOp, Block, Expr, ExprKind, Extent, Func, Iter, Loop, Map, Place, PrimCall, Program, ScalarFnId, Stmt, StmtKind,
    VarId, VarKind,
};
use hidp_syntax::ty::Scalar;

#[cfg(test)]
mod tests;

/// Picoseconds.
const MICROSECOND: f64 = 1e6;

/// What a call is thought to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// How long it takes.
    pub(super) time: f64,
    /// Whether no codelet runs, for no condition of one holds.
    pub(super) declined: bool,
}

/// A call whose dimensions have these sizes, on so many threads; nothing if the plan does not fit the function.
pub(super) fn estimate(
    program: &Program,
    func: &Func,
    plan: &Plan,
    sizes: &[i64],
    (threads, model): (f64, &Model),
) -> Option<Estimate> {
    let maps = nests(func);
    let read = |(map, nest)| Mapping::read(program, func, map, nest).ok();
    let mappings: Option<Vec<Mapping>> = maps.iter().copied().zip(&plan.nests).map(read).collect();
    let mut call = Call {
        program,
        func,
        model,
        of: model.estimates,
        threads,
        nests: maps.into_iter().zip(mappings?).collect(),
        known: func.dims.iter().copied().zip(sizes.iter().copied()).collect(),
        conditions: [0, 0],
    };
    let time = call.host(&func.body);
    let [held, failed] = call.conditions;
    Some(Estimate { time, declined: failed > 0 && held == 0 })
}

struct Call<'a> {
    program: &'a Program,
    func: &'a Func,
    model: &'a Model,
    of: Estimates,
    threads: f64,
    nests: Vec<(&'a Map, Mapping)>,
    /// Dimensions, and what else is computed from sizes; iterators have their means.
    known: BTreeMap<VarId, i64>,
    /// How many conditions of codelets may hold, and how many do not.
    conditions: [usize; 2],
}

/// What is around a statement of a nest.
struct Around<'m> {
    /// None at host level.
    mapping: Option<&'m Mapping>,
    /// The iterator whose neighbours are in vector lanes.
    lanes: Option<VarId>,
    /// Variables that depend on iterations in unknown ways.
    varying: BTreeSet<VarId>,
    /// Whether other threads are in other iterations.
    shared: bool,
    /// Time that several threads spend one after the other.
    in_turn: f64,
}

impl<'a> Call<'a> {
    fn host(&mut self, block: &'a Block) -> f64 {
        block.stmts.iter().map(|stmt| self.host_stmt(stmt)).sum()
    }

    fn host_stmt(&mut self, stmt: &'a Stmt) -> f64 {
        match &stmt.kind {
            StmtKind::Map(map) => self.nest(map),
            StmtKind::Prim(call) => {
                let time = self.prim(call);
                self.launched(time, f64::INFINITY, 0.0)
            }
            StmtKind::If { cond, then, otherwise } => {
                let holds = cond.value(&self.known);
                self.note(stmt, holds);
                match holds {
                    Some(holds) => self.host(if holds != 0 { then } else { otherwise }),
                    None => (self.host(then) + self.host(otherwise)) / 2.0,
                }
            }
            StmtKind::Loop(node) => {
                let turns = self.turns(node);
                self.forget(&node.body);
                let turn = f64::from(self.of.scalar) + self.host(&node.body) + self.host(&node.step);
                self.forget(&node.body);
                turns * turn
            }
            StmtKind::Scope(block) => self.host(block),
            StmtKind::Declare { var, .. } => {
                let bytes = self.bytes(*var);
                self.known.remove(var);
                self.launched(bytes * self.moved(bytes), f64::INFINITY, 0.0)
            }
            StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Return(_)
            | StmtKind::Swap(..)
            | StmtKind::Require { .. }
            | StmtKind::Call { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Leave => {
                let varying = BTreeSet::new();
                self.stmt(stmt, &mut Around { mapping: None, lanes: None, varying, shared: false, in_turn: 0.0 })
            }
        }
    }

    /// What threads take for work that one does in `time`, of which they may take `parts`. Several of them take `in_turn` besides.
    fn launched(&self, time: f64, parts: f64, in_turn: f64) -> f64 {
        let worth = f64::from(self.model.thread_work) * MICROSECOND / f64::from(self.model.operations);
        let threads = self.threads.min(parts).min(time / worth).floor();
        if threads < 2.0 {
            return time;
        }
        f64::from(self.of.launch) + time / threads + in_turn
    }

    fn nest(&mut self, map: &'a Map) -> f64 {
        let Some(at) = self.nests.iter().position(|(known, _)| std::ptr::eq(*known, map)) else { return 0.0 };
        let (_, mapping) = self.nests[at].clone();
        let parts = self.iterations(map);
        let shared = mapping.strategy != Strategy::Serial;
        let varying = BTreeSet::new();
        let mut around = Around { mapping: Some(&mapping), lanes: None, varying, shared, in_turn: 0.0 };
        let mut time = self.map(map, &mut around);
        let whole = Block { stmts: vec![Stmt { kind: StmtKind::Map(map.clone()), span: self.func.span }] };
        let effects = Effects::of_block(self.program, &self.func.vars, &whole);
        for array in effects.outer_reads().into_iter().chain(effects.outer_writes()) {
            let bytes = self.bytes(array);
            time += bytes * self.moved(bytes);
        }
        match mapping.strategy {
            Strategy::Serial => time,
            // Threads start for each iteration.
            Strategy::Team => {
                let each = |of_all: f64| of_all / parts.max(1.0);
                parts * self.launched(each(time), f64::INFINITY, each(around.in_turn))
            }
            Strategy::Rows | Strategy::Lanes | Strategy::Wide | Strategy::Device(_) => {
                self.launched(time, parts, around.in_turn)
            }
        }
    }

    /// All iterations, one after the other.
    fn map(&mut self, map: &Map, around: &mut Around<'_>) -> f64 {
        let count = self.iterations(map);
        for iter in &map.iters {
            let middle = iter.lo.value(&self.known).zip(iter.hi.value(&self.known)).map(|(lo, hi)| lo + (hi - lo) / 2);
            match middle {
                Some(middle) => self.known.insert(iter.var, middle),
                None => self.known.remove(&iter.var),
            };
        }
        let own = key(map).filter(|key| {
            matches!(around.mapping.and_then(|mapping| mapping.exec(*key)), Some(Exec::Simd | Exec::Lanes | Exec::Wide))
                && around.lanes.is_none()
        });
        let outside = (around.lanes, around.in_turn);
        around.lanes = around.lanes.or(own);
        around.in_turn = 0.0;
        around.varying.extend(map.iters.iter().map(|iter| iter.var).filter(|var| Some(*var) != around.lanes));
        let varying = around.varying.clone();
        // What iterations compute depends on the lane; inner iterators do not.
        around.varying = visit::declared(&map.body).into_iter().collect();
        let operation = self.operation(around);
        let each = self.body(&map.body, around) + operation * (map.folds.len() + 1) as f64;
        around.varying = varying;
        let (lanes, in_turn) = outside;
        (around.lanes, around.in_turn) = (lanes, in_turn + count * around.in_turn);
        count * each
    }

    fn body(&mut self, block: &Block, around: &mut Around<'_>) -> f64 {
        block.stmts.iter().map(|stmt| self.stmt(stmt, around)).sum()
    }

    fn stmt(&mut self, stmt: &Stmt, around: &mut Around<'_>) -> f64 {
        match &stmt.kind {
            StmtKind::Map(map) => self.map(map, around),
            StmtKind::Prim(call) => self.prim(call),
            StmtKind::If { cond, then, otherwise } => {
                let decided = cond.value(&self.known).filter(|_| !self.depends(cond, around));
                self.note(stmt, decided);
                match decided {
                    Some(holds) => self.body(if holds != 0 { then } else { otherwise }, around),
                    None => {
                        let sides = self.body(then, around) + self.body(otherwise, around);
                        self.expr(cond, around) + sides / 2.0
                    }
                }
            }
            StmtKind::Loop(node) => {
                let turns = self.turns(node);
                self.forget(&node.body);
                let lanes =
                    around.lanes.filter(|_| around.mapping.is_some_and(|mapping| mapping.strategy == Strategy::Wide));
                let outside = std::mem::replace(&mut around.lanes, lanes);
                // What a bound is computed from hardly ever changes.
                let each = self.operation(around) + self.body(&node.body, around) + self.body(&node.step, around);
                around.lanes = outside;
                self.forget(&node.body);
                turns * each
            }
            StmtKind::Scope(block) => self.body(block, around),
            StmtKind::Declare { var, .. } => {
                let bytes = self.bytes(*var);
                self.known.remove(var);
                bytes * self.moved(bytes)
            }
            StmtKind::Assign { var, value } => {
                self.learn(*var, value);
                self.expr(value, around)
            }
            StmtKind::AssignField { value, .. } | StmtKind::Return(value) => self.expr(value, around),
            StmtKind::Store { place, value, .. } => self.expr(value, around) + self.access(place, around),
            StmtKind::Atomic { place, value, .. } => {
                let copied = around.mapping.is_some_and(|mapping| mapping.copied.contains(&place.array));
                let plain = !around.shared || copied && self.elements(place.array) <= f64::from(self.model.most_copied);
                // Threads meet in few lines of the caches, and hardly ever in many.
                let meet = !plain && self.bytes(place.array) < f64::from(self.model.l2);
                around.in_turn += if meet { f64::from(self.of.contended) } else { 0.0 };
                let update = if plain { 2 * self.of.scalar } else { self.of.atomic };
                f64::from(update) + self.expr(value, around)
            }
            StmtKind::Require { cond, .. } => self.expr(cond, around),
            StmtKind::Call { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Swap(..) => 0.0,
        }
    }

    /// Remembers whether a codelet runs.
    fn note(&mut self, branch: &Stmt, holds: Option<i64>) {
        if self.program.conditions.contains(&branch.span) {
            self.conditions[usize::from(holds == Some(0))] += 1;
        }
    }

    /// Whether a condition is known of the mean iteration alone.
    fn depends(&self, cond: &Expr, around: &Around<'_>) -> bool {
        let mut found = false;
        visit::walk_expr_vars(cond, |var, _| {
            let iterator = self.func.vars[var].kind == VarKind::Iter;
            found |= iterator || around.varying.contains(&var);
        });
        found
    }

    fn operation(&self, around: &Around<'_>) -> f64 {
        if around.lanes.is_some() { self.of.vector.into() } else { self.of.scalar.into() }
    }

    /// An expression; loads' positions follow from those of the lanes before.
    fn expr(&self, expr: &Expr, around: &Around<'_>) -> f64 {
        let operation = self.operation(around);
        let all = |operands: &[&Expr]| operands.iter().map(|operand| self.expr(operand, around)).sum::<f64>();
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Read(_) => 0.0,
            ExprKind::Load(place) => self.access(place, around),
            ExprKind::Unary(_, operand) => operation + all(&[operand]),
            ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => all(&[operand]),
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem, left, right, .. } => {
                f64::from(self.of.division) + all(&[left, right])
            }
            ExprKind::Binary { left, right, .. } | ExprKind::Lazy { left, right, .. } => {
                operation + all(&[left, right])
            }
            ExprKind::Select { cond, then, otherwise } => operation + all(&[cond, then, otherwise]),
            ExprKind::Math(function, operands) => {
                operation * of_function(*function) as f64 + all(&operands.iter().collect::<Vec<_>>())
            }
            ExprKind::Call(function, operands) => {
                operation * self.function(*function) + all(&operands.iter().collect::<Vec<_>>())
            }
            ExprKind::Struct(_, operands) => all(&operands.iter().collect::<Vec<_>>()),
        }
    }

    /// Operations of a scalar function: those that its text has, without those of what it calls.
    fn function(&self, function: ScalarFnId) -> f64 {
        let mut count = 1.0;
        if let Some(body) = &self.program.scalar_fns[function].body {
            visit::walk_exprs(body, |expr| {
                count += match &expr.kind {
                    ExprKind::Math(function, _) => of_function(*function) as f64,
                    ExprKind::Binary { .. } | ExprKind::Select { .. } | ExprKind::Call(..) => 1.0,
                    ExprKind::Const(_)
                    | ExprKind::Read(_)
                    | ExprKind::Load(_)
                    | ExprKind::Unary(..)
                    | ExprKind::Lazy { .. }
                    | ExprKind::Convert { .. }
                    | ExprKind::Field(..)
                    | ExprKind::Struct(..) => 0.0,
                };
            });
        }
        count
    }

    /// A load or store. Where a tile of several iterations is in registers, those for which it is the same share it.
    fn access(&self, place: &Place, around: &Around<'_>) -> f64 {
        let Some(lanes) = around.lanes else { return self.of.scalar.into() };
        let time = match stride_of(place, lanes, &around.varying) {
            Stride::Unit => f64::from(self.of.load),
            Stride::Invariant => 0.0,
            Stride::Strided | Stride::Irregular => {
                let large = self.bytes(place.array) >= f64::from(self.model.l2);
                let line = f64::from(self.model.line) * f64::from(self.of.byte);
                f64::from(self.of.gathered) + if large { line } else { 0.0 }
            }
        };
        let tiles = around
            .mapping
            .into_iter()
            .flat_map(|mapping| &mapping.levels)
            .filter(|(var, level)| level.tile > 1 && **var != lanes);
        let shared = tiles.filter(|(var, _)| stride_of(place, **var, &around.varying) == Stride::Invariant);
        time / shared.map(|(_, level)| f64::from(level.tile)).product::<f64>()
    }

    fn prim(&self, call: &PrimCall) -> f64 {
        let size = match &call.extent {
            Extent::Whole { size } => self.size(size),
            Extent::Segment { low, high } => self.size(high) - self.size(low),
            Extent::Regular { seg_size, num_seg } => self.size(seg_size) * self.size(num_seg),
            Extent::Vectors { .. } => self.size(&call.input.len),
        };
        let each = of_element(call.prim) as f64 * MICROSECOND / f64::from(self.model.operations);
        size.max(0.0) * each
    }

    fn iterations(&self, map: &Map) -> f64 {
        let range = |iter: &Iter| match iter.lo.value(&self.known).zip(iter.hi.value(&self.known)) {
            Some((lo, hi)) => ((hi - lo).max(0) as f64 / self.size(&iter.step).max(1.0)).ceil(),
            None => self.model.unknown_length.into(),
        };
        map.iters.iter().map(range).product()
    }

    /// How often a loop runs, if it counts up to what is known.
    fn turns(&self, node: &Loop) -> f64 {
        counted(node, &self.known).unwrap_or(self.model.unknown_length.into())
    }

    fn learn(&mut self, var: VarId, value: &Expr) {
        match value.value(&self.known) {
            Some(value) => self.known.insert(var, value),
            None => self.known.remove(&var),
        };
    }

    fn forget(&mut self, block: &Block) {
        visit::walk_vars(block, |var, role| {
            if role == Role::Write {
                self.known.remove(&var);
            }
        });
    }

    fn size(&self, expr: &Expr) -> f64 {
        expr.value(&self.known).map_or(self.model.unknown_length.into(), |value| value as f64)
    }

    /// Elements of an array; none of a scalar.
    fn elements(&self, var: VarId) -> f64 {
        let var = &self.func.vars[var];
        if var.is_array() { var.shape.iter().map(|extent| self.size(extent)).product() } else { 0.0 }
    }

    fn bytes(&self, var: VarId) -> f64 {
        self.elements(var) * self.func.vars[var].ty.scalar().map_or(8, Scalar::size) as f64
    }

    /// What a byte of an array of so many takes: nothing where a cache has it.
    fn moved(&self, bytes: f64) -> f64 {
        if bytes < f64::from(self.model.l2) { 0.0 } else { self.of.byte.into() }
    }
}
