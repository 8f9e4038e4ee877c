//! How long a version takes at given sizes: compositions and the entry as it is written alike, as planned, in picoseconds.
//!
//! An estimate from few numbers of the model, measured on one machine. It chooses among versions, and nothing else. Ranges that depend on
//! iterators are as long as where those are in the middle of theirs; of what data say, `unknown_length` is assumed; branches that sizes do not decide
//! count half on either side, but for comparisons of integers.

use crate::counted::counted;
use crate::target::{Estimates, Model};
use crate::work::of_function;
use crate::{Mapping, Strategy, key};
use hidp_ir::par::visit;
use hidp_ir::par::{
    BinOp, Block, Expr, ExprKind, Extent, Func, Iter, Loop, Map, PrimCall, Program, ScalarFnId, Stmt, StmtKind, VarId,
    VarKind, same,
};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Scalar;

mod access;
#[cfg(test)]
mod tests;
mod version;

use version::Nest;
pub(super) use version::Version;

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

struct Call<'a> {
    program: &'a Program,
    func: &'a Func,
    model: &'a Model,
    of: Estimates,
    threads: f64,
    nests: &'a [Nest<'a>],
    /// Dimensions, and what else is computed from sizes; iterators have their means.
    known: OrdMap<VarId, i64>,
    /// Variables that have what was loaded.
    loaded: OrdSet<VarId>,
    /// How many conditions of codelets may hold, and how many do not.
    conditions: [usize; 2],
}

/// What is around a statement of a nest.
#[derive(Clone, Default)]
struct Around<'m> {
    /// None at host level.
    mapping: Option<&'m Mapping>,
    /// The iterator whose neighbours are in vector lanes.
    lanes: Option<VarId>,
    /// Variables that depend on iterations in unknown ways.
    varying: OrdSet<VarId>,
    /// Arrays whose rows are packed for lanes, at most so long.
    packed: Vec<VarId>,
    /// Whether this is an iteration of a nest.
    inside: bool,
    /// Whether other threads are in other iterations.
    shared: bool,
    /// Arrays of one line each, of which iterations on several threads store elements again and again.
    crowded: Vec<VarId>,
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
                    None => {
                        let often = self.holds(cond);
                        often * self.host(then) + (1.0 - often) * self.host(otherwise)
                    }
                }
            }
            StmtKind::Loop(node) => {
                let turns = self.turns(node);
                self.count(node);
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
            | StmtKind::Leave => self.stmt(stmt, &mut Around::default()),
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
        let nests = self.nests;
        let Some(nest) = nests.iter().find(|nest| std::ptr::eq(nest.map, map)) else { return 0.0 };
        let (mapping, packed) = self.runs(nest);
        let parts = self.iterations(map);
        let shared = mapping.strategy != Strategy::Serial;
        let copies: f64 = packed.iter().map(|array| self.elements(*array)).sum();
        let crowded = if shared { self.crowded(nest) } else { Vec::new() };
        let mut around = Around { mapping: Some(mapping), packed, shared, crowded, ..Around::default() };
        let mut time = self.map(map, &mut around) + copies * f64::from(self.of.scalar);
        time += self.transferred(nest) + f64::from(self.of.nest);
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
        let own = key(map).filter(|key| around.lanes.is_none() && self.has_lanes(map, *key, around));
        let Some(own) = own else { return self.all_of(map, (count, None), around) };
        // Lanes of its own, or none where it turns out to be short. Of a vector that is not full the others count, too.
        let (before, inside, unfilled) = (around.in_turn, around.inside, self.unfilled(map, own));
        let ends = match (inside, map.folds.is_empty()) {
            (false, _) => 0,
            (true, true) => self.of.ends,
            (true, false) => self.of.folded_ends,
        };
        let in_lanes = unfilled * self.all_of(map, (count, Some(own)), around) + f64::from(ends);
        if !inside && unfilled < 2.0 {
            return in_lanes;
        }
        around.in_turn = before;
        self.all_of(map, (count, None), around).min(in_lanes)
    }

    /// So many iterations of a map, neighbours along `own` in lanes.
    fn all_of(&mut self, map: &Map, (count, own): (f64, Option<VarId>), around: &mut Around<'_>) -> f64 {
        let outside = (around.lanes, around.in_turn, around.inside);
        around.lanes = around.lanes.or(own);
        around.in_turn = 0.0;
        around.inside = true;
        around.varying.extend(map.iters.iter().map(|iter| iter.var).filter(|var| Some(*var) != around.lanes));
        let varying = around.varying.clone();
        // What iterations compute depends on the lane; inner iterators do not.
        around.varying = visit::declared(&map.body).into_iter().collect();
        let operation = self.operation(around);
        let each = self.body(&map.body, around) + operation * (map.folds.len() + 1) as f64;
        around.varying = varying;
        let in_turn = outside.1 + count * around.in_turn;
        (around.lanes, around.in_turn, around.inside) = (outside.0, in_turn, outside.2);
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
                        let often = self.holds(cond);
                        let sides = [self.body(then, around), self.body(otherwise, around)];
                        self.expr(cond, around) + often * sides[0] + (1.0 - often) * sides[1]
                    }
                }
            }
            StmtKind::Loop(node) => {
                let turns = self.turns(node);
                self.count(node);
                self.forget(&node.body);
                let lanes =
                    around.lanes.filter(|_| around.mapping.is_some_and(|mapping| mapping.strategy == Strategy::Wide));
                let outside = (std::mem::replace(&mut around.lanes, lanes), std::mem::take(&mut around.in_turn));
                // What a bound is computed from hardly ever changes.
                let each = self.operation(around) + self.body(&node.body, around) + self.body(&node.step, around);
                around.lanes = outside.0;
                around.in_turn = outside.1 + turns * around.in_turn;
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
            StmtKind::Store { place, value, .. } => {
                let crowded = around.crowded.contains(&place.array);
                around.in_turn += if crowded { f64::from(self.of.contended) } else { 0.0 };
                self.expr(value, around) + self.access(place, around)
            }
            StmtKind::Atomic { place, value, .. } => {
                let copied = around.mapping.is_some_and(|mapping| mapping.copied.contains(&place.array));
                let plain = !around.shared || copied && self.elements(place.array) <= f64::from(self.model.most_copied);
                // Threads meet in few lines of the caches, and hardly ever in many.
                let meet = !plain && self.bytes(place.array) < f64::from(self.model.l2);
                around.in_turn += if meet { f64::from(self.of.contended) } else { 0.0 };
                let update = if plain { 2 * self.of.scalar } else { self.of.atomic };
                f64::from(update) + self.missed(place) + self.expr(value, around)
            }
            StmtKind::Require { cond, .. } => self.expr(cond, around),
            StmtKind::Call { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Leave | StmtKind::Swap(..) => 0.0,
        }
    }

    /// How often a condition on data holds. Integers are one of several; compilers guess that two of them differ (Ball and Larus, PLDI 1993).
    fn holds(&self, cond: &Expr) -> f64 {
        let one = 1.0 / f64::from(self.model.unknown_length);
        let ExprKind::Binary { op, left, .. } = &cond.kind else { return 0.5 };
        let integers = left.ty.scalar().is_some_and(Scalar::is_integer);
        match (integers && *op == BinOp::Eq, integers && *op == BinOp::Ne) {
            (true, _) => one,
            (_, true) => 1.0 - one,
            (false, false) => 0.5,
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
            ExprKind::Binary { left, right, .. } if same::expr(left, right) => operation + all(&[left]),
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

    fn prim(&self, call: &PrimCall) -> f64 {
        let size = match &call.extent {
            Extent::Whole { size } => self.size(size),
            Extent::Segment { low, high } => self.size(high) - self.size(low),
            Extent::Regular { seg_size, num_seg } => self.size(seg_size) * self.size(num_seg),
            Extent::Vectors { .. } => self.size(&call.input.len),
        };
        let each = self.model.primitives.of_element(call.prim) as f64 * MICROSECOND / f64::from(self.model.operations);
        size.max(0.0) * each
    }

    fn iterations(&self, map: &Map) -> f64 {
        map.iters.iter().map(|iter| self.range(iter)).product()
    }

    fn range(&self, iter: &Iter) -> f64 {
        self.known_range(iter).unwrap_or(self.model.unknown_length.into())
    }

    fn known_range(&self, iter: &Iter) -> Option<f64> {
        let (lo, hi) = iter.lo.value(&self.known).zip(iter.hi.value(&self.known))?;
        Some(((hi - lo).max(0) as f64 / self.size(&iter.step).max(1.0)).ceil())
    }

    /// How many lanes there are for each iteration along one that runs in vectors.
    fn unfilled(&self, map: &Map, lanes: VarId) -> f64 {
        let width = f64::from(self.model.vector_bytes) / 4.0;
        let range = map.iters.iter().find(|iter| iter.var == lanes).and_then(|iter| self.known_range(iter));
        range.filter(|range| *range >= 1.0).map_or(1.0, |range| (range / width).ceil() * width / range)
    }

    /// How often a loop runs, if it counts up to what is known.
    fn turns(&self, node: &Loop) -> f64 {
        counted(node, &self.known).unwrap_or(self.model.unknown_length.into())
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
        self.elements(var) * self.element(var)
    }

    /// Bytes of an element.
    fn element(&self, var: VarId) -> f64 {
        self.func.vars[var].ty.scalar().map_or(8, Scalar::size) as f64
    }
}
