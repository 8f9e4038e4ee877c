//! How many operations a launch has, as far as the host can tell before it: few of them stay on one thread.
//!
//! Ranges that depend on iterators (triangles, bands, pieces) are as long as where those are in the middle of theirs; loops that count take the
//! turns between their first value and their bound. Variables of an iteration are what they were assigned last. Ragged ranges are
//! together about as long as the array that they run through, or each as long as the mean where data choose some of them. What data say beyond that counts as `unknown_length` of the model; then
//! others join the one thread if it takes long. What an estimate takes for granted is kept for `explain`.

use hidp_ir::imp::{Assumed, Assumption, Expr, Work};
use hidp_ir::par::{self, BinOp, Block, Extent, Loop, Map, PrimCall, StmtKind, visit};
use hidp_plan as plan;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, Ty};

use super::{Binding, Lowerer, make};

/// What a variable is on average.
#[derive(Clone)]
struct Mean {
    value: par::Expr,
    /// Whether it is another one in other iterations or turns.
    varies: bool,
}

/// Means of iterators, and of variables of iterations.
type Means = OrdMap<par::VarId, Mean>;

/// What is known where an estimate has come to.
#[derive(Default)]
struct Known {
    means: Means,
    /// The iterators and counting variables around the place.
    around: Vec<par::VarId>,
    assumed: Vec<Assumed>,
}

impl Known {
    fn assume(&mut self, what: Assumption, at: Span) {
        let assumed = Assumed { what, at };
        if !self.assumed.contains(&assumed) {
            self.assumed.push(assumed);
        }
    }
    /// Bounds of what stands at a place, with means instead of variables.
    fn bounds(&mut self, bounds: [&par::Expr; 2], at: Span) -> [par::Expr; 2] {
        self.assume_middle(bounds, at);
        bounds.map(|bound| on_average(bound, &self.means))
    }
    fn assume_middle(&mut self, bounds: [&par::Expr; 2], at: Span) {
        if bounds.into_iter().any(|bound| self.varies(bound)) {
            self.assume(Assumption::Middle, at);
        }
    }
    fn varies(&self, expr: &par::Expr) -> bool {
        let mut varies = false;
        visit::walk_expr_vars(expr, |var, _| varies |= self.means.get(&var).is_some_and(|mean| mean.varies));
        varies
    }
    /// From here on a variable runs through a range.
    fn runs(&mut self, var: par::VarId, range: &[par::Expr; 2]) {
        self.means.insert(var, Mean { value: middle(range), varies: true });
        self.around.push(var);
    }
    /// From here on the iterators of a map have their means.
    fn enter(&mut self, map: &Map) {
        for iter in &map.iters {
            let range = [&iter.lo, &iter.hi].map(|bound| on_average(bound, &self.means));
            self.runs(iter.var, &range);
        }
    }
    /// What a block writes is not known after it, nor in a turn of it before it is written.
    fn forget_written(&mut self, block: &Block) {
        visit::walk_vars(block, |var, role| {
            if role == visit::Role::Write {
                self.means.remove(&var);
            }
        });
    }
}

impl Lowerer<'_> {
    /// Operations of `times` iterations of a map.
    pub(super) fn work_of(&mut self, map: &Map, times: Expr) -> Work {
        let mut known = Known::default();
        known.enter(map);
        let operations = self.work_of_block(&map.body, times, &mut known);
        Work { operations: self.body.fix("work", operations), assumed: known.assumed }
    }

    fn work_of_block(&mut self, block: &Block, times: Expr, known: &mut Known) -> Expr {
        let mut work = times.clone();
        for (at, stmt) in block.stmts.iter().enumerate() {
            let more = match &stmt.kind {
                StmtKind::Map(map) => self.work_of_map(map, times.clone(), known),
                StmtKind::Loop(node) => {
                    let around = known.around.len();
                    let turns = self.turns_of(node, &block.stmts[..at], stmt.span, known);
                    known.forget_written(&node.body);
                    let work = self.work_of_block(&node.body, make::mul(times.clone(), turns), known);
                    known.forget_written(&node.body);
                    known.around.truncate(around);
                    work
                }
                StmtKind::If { then, otherwise, .. } => {
                    let before = known.means.clone();
                    let work = self.work_of_block(then, times.clone(), known);
                    known.means = before;
                    let work = make::add(work, self.work_of_block(otherwise, times.clone(), known));
                    [then, otherwise].into_iter().for_each(|side| known.forget_written(side));
                    work
                }
                StmtKind::Scope(body) => self.work_of_block(body, times.clone(), known),
                StmtKind::Prim(call) => self.work_of_prim(call, times.clone(), stmt.span, known),
                StmtKind::Assign { var, value } => {
                    self.learn(*var, value, known);
                    times.clone()
                }
                StmtKind::Store { .. } | StmtKind::Atomic { .. } => times.clone(),
                StmtKind::Declare { .. }
                | StmtKind::AssignField { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Leave
                | StmtKind::Return(_)
                | StmtKind::Swap(..)
                | StmtKind::Call { .. }
                | StmtKind::Require { .. } => make::long(0),
            };
            work = make::add(work, more);
        }
        work
    }

    /// From here on a variable has this value, if the host knows it.
    fn learn(&self, var: par::VarId, value: &par::Expr, known: &mut Known) {
        let varies = known.varies(value);
        let value = on_average(value, &known.means);
        let mut parts: u32 = 0;
        visit::walk_subexprs(&value, |_| parts += 1);
        match value.ty == Ty::LONG && parts <= self.model.known_parts && self.is_known_throughout(&value) {
            true => known.means.insert(var, Mean { value, varies }),
            false => known.means.remove(&var),
        };
    }

    fn work_of_map(&mut self, map: &Map, times: Expr, known: &mut Known) -> Expr {
        let follow = follow_each_other(map, &known.around);
        let around = known.around.len();
        known.enter(map);
        let bounds: Vec<[par::Expr; 2]> =
            map.iters.iter().map(|iter| [&iter.lo, &iter.hi].map(|bound| on_average(bound, &known.means))).collect();
        let closed = bounds.iter().flatten().all(|bound| self.is_known_throughout(bound));
        let ragged = if closed { None } else { plan::ragged_extent(self.func, map).cloned() };
        let chosen = ragged.as_ref().and_then(|extent| self.mean_of_chosen(map, extent, &known.around[..around]));
        let turns = match (chosen, ragged) {
            (Some((mean, at)), _) => {
                known.assume(Assumption::Mean, at);
                make::mul(times, make::mul(mean, make::long(self.model.ragged_element.into())))
            }
            (None, Some(extent)) if self.is_known_throughout(&extent) => {
                let what = if follow { Assumption::Array } else { Assumption::AtLeastArray };
                known.assume(what, map.iters.last().map_or(extent.span, |iter| iter.span));
                let elements = self.expr(&extent);
                make::mul(elements, make::long(self.model.ragged_element.into()))
            }
            (None, Some(_) | None) => map.iters.iter().zip(&bounds).fold(times, |times, (iter, bounds)| {
                known.assume_middle([&iter.lo, &iter.hi], iter.span);
                make::mul(times, self.length_of(bounds, iter.span, known))
            }),
        };
        let work = self.work_of_block(&map.body, turns, known);
        known.around.truncate(around);
        work
    }

    /// How long ranges are on average, and where they stand, if data or an expression choose them out of those between neighbours of an array.
    /// How many iterations choose one is known, and may be few: a level of a triangular system, or the frontier of a search.
    fn mean_of_chosen(&mut self, map: &Map, extent: &par::Expr, around: &[par::VarId]) -> Option<(Expr, Span)> {
        let iter = map.iters.last()?;
        let (low, high) = (loaded(&iter.lo)?, loaded(&iter.hi)?);
        let [at] = low.index.as_slice() else { return None };
        let of_iterator = matches!(at.kind, par::ExprKind::Read(var) if around.contains(&var));
        let ends = self.func.vars[low.array].shape.last()?.clone();
        let is_known = [extent, &ends].into_iter().all(|size| self.is_known_throughout(size));
        if low.array != high.array || of_iterator || !is_known {
            return None;
        }
        let (elements, ends) = (self.expr(extent), self.expr(&ends));
        Some((make::ceil_div(elements, make::max(ends, make::long(1))), iter.span))
    }

    /// How often a loop runs whose variable was given its first value by one of the statements before.
    fn turns_of(&mut self, node: &Loop, before: &[par::Stmt], at: Span, known: &mut Known) -> Expr {
        let Some(counted) = Counted::of(node, before) else { return self.unknown_length(at, known) };
        let bounds = known.bounds([&counted.lo, &counted.hi], at);
        known.runs(counted.var, &bounds);
        let length = self.length_of(&bounds, at, known);
        make::ceil_div(length, make::long(counted.step))
    }

    /// All segments of an array together are about as long as the array.
    fn work_of_prim(&mut self, call: &PrimCall, times: Expr, at: Span, known: &mut Known) -> Expr {
        let (length, of_all) = match &call.extent {
            Extent::Segment { .. } => (&call.input.len, call.input.prefix.is_empty()),
            Extent::Whole { size } => (size, false),
            Extent::Regular { .. } | Extent::Vectors { .. } => (&call.input.len, false),
        };
        let length = on_average(length, &known.means);
        let elements = match self.is_known_throughout(&length) {
            true if of_all => {
                known.assume(Assumption::AtLeastArray, at);
                self.expr(&length)
            }
            true => make::mul(times, self.expr(&length)),
            false => make::mul(times, self.unknown_length(at, known)),
        };
        make::mul(elements, make::long(self.model.primitives.of_element(call.prim)))
    }

    fn unknown_length(&self, at: Span, known: &mut Known) -> Expr {
        known.assume(Assumption::Turns(self.model.unknown_length), at);
        make::long(self.model.unknown_length.into())
    }

    fn is_known_throughout(&self, expr: &par::Expr) -> bool {
        let mut known = true;
        visit::walk_subexprs(expr, |expr| known &= self.is_known(expr));
        known
    }

    fn length_of(&mut self, bounds: &[par::Expr; 2], at: Span, known: &mut Known) -> Expr {
        if !bounds.iter().all(|bound| self.is_known_throughout(bound)) {
            return self.unknown_length(at, known);
        }
        let [lo, hi] = bounds.each_ref().map(|bound| self.expr(bound));
        make::max(make::sub(hi, lo), make::long(0))
    }

    /// Whether the host can compute this part of a bound without faults.
    fn is_known(&self, expr: &par::Expr) -> bool {
        match &expr.kind {
            par::ExprKind::Const(_) => true,
            par::ExprKind::Read(var) => {
                matches!(self.body.bindings.get(var), Some(Binding::Fixed(_) | Binding::Slot { .. }))
            }
            par::ExprKind::Binary { checked, .. } => !checked,
            par::ExprKind::Convert { mode, .. } => *mode == par::ConvertMode::Cast,
            par::ExprKind::Unary(..) | par::ExprKind::Math(..) => true,
            par::ExprKind::Load(_)
            | par::ExprKind::Lazy { .. }
            | par::ExprKind::Select { .. }
            | par::ExprKind::Call(..)
            | par::ExprKind::Field(..)
            | par::ExprKind::Struct(..) => false,
        }
    }
}

/// Whether the ranges of a map in an iteration begin where those of the iteration before end, `p[i]` to `p[i+1]`, and no others are around it.
fn follow_each_other(map: &Map, around: &[par::VarId]) -> bool {
    let ([iter], [outer]) = (map.iters.as_slice(), around) else { return false };
    let (Some(low), Some(high)) = (loaded(&iter.lo), loaded(&iter.hi)) else { return false };
    let ([at], [next]) = (low.index.as_slice(), high.index.as_slice()) else { return false };
    let par::ExprKind::Binary { op: BinOp::Add, left, right, .. } = &next.kind else { return false };
    let read = par::ExprKind::Read(*outer);
    low.array == high.array && at.kind == read && left.kind == read && right.as_int() == Some(1)
}

/// The element whose value an expression is, in its type or another one.
fn loaded(expr: &par::Expr) -> Option<&par::Place> {
    if let par::ExprKind::Convert { operand, .. } = &expr.kind {
        return loaded(operand);
    }
    let par::ExprKind::Load(place) = &expr.kind else { return None };
    Some(place)
}

fn on_average(bound: &par::Expr, means: &Means) -> par::Expr {
    let mut bound = bound.clone();
    visit::substitute_expr(&mut bound, |var| means.get(&var).map(|mean| mean.value.clone()));
    bound
}

fn middle([lo, hi]: &[par::Expr; 2]) -> par::Expr {
    let sum = par::Expr::long(BinOp::Add, lo.clone(), hi.clone());
    par::Expr::long(BinOp::Div, sum, par::Expr::int(2, lo.span))
}

/// A loop that nothing leaves before its variable passes a bound.
struct Counted {
    var: par::VarId,
    /// The smallest and one past the largest value.
    lo: par::Expr,
    hi: par::Expr,
    step: i64,
}

impl Counted {
    fn of(node: &Loop, before: &[par::Stmt]) -> Option<Counted> {
        let [par::Stmt { kind: StmtKind::Assign { var, value }, .. }] = node.step.stmts.as_slice() else { return None };
        let step = step_of(*var, value)?;
        let start = before.iter().rev().find_map(|stmt| match &stmt.kind {
            StmtKind::Assign { var: set, value } if set == var => Some(value),
            _ => None,
        })?;
        let par::ExprKind::Binary { op, left, right, .. } = &node.cond.kind else { return None };
        let (op, bound) = if is_value_of(left, *var) { (*op, right) } else { (op.mirrored(), left) };
        if jumps(&node.body) || !(is_value_of(left, *var) || is_value_of(right, *var)) {
            return None;
        }
        let (start, bound) = (as_long(start)?, as_long(bound)?);
        let next = |expr: par::Expr, by: i64| {
            let by = par::Expr::int(by, expr.span);
            par::Expr::long(BinOp::Add, expr, by)
        };
        let (lo, hi) = match op {
            BinOp::Lt if step > 0 => (start, bound),
            BinOp::Le if step > 0 => (start, next(bound, 1)),
            BinOp::Gt if step < 0 => (next(bound, 1), next(start, 1)),
            BinOp::Ge if step < 0 => (bound, next(start, 1)),
            // Not until the variable passes a bound.
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => return None,
            BinOp::Add
            | BinOp::Sub
            | BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::And
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::Shr => return None,
        };
        Some(Counted { var: *var, lo, hi, step: step.abs() })
    }
}

/// Whether an expression is a variable, as it is or in a wider type.
fn is_value_of(expr: &par::Expr, var: par::VarId) -> bool {
    let read = par::ExprKind::Read(var);
    let as_long =
        |expr: &par::Expr| matches!(&expr.kind, par::ExprKind::Convert { operand, .. } if operand.kind == read);
    expr.kind == read || expr.ty == Ty::LONG && as_long(expr)
}

fn step_of(var: par::VarId, value: &par::Expr) -> Option<i64> {
    let par::ExprKind::Binary { op, left, right, .. } = &value.kind else { return None };
    let by = right.as_int().filter(|_| left.kind == par::ExprKind::Read(var))?;
    let by = i64::try_from(by).ok().filter(|by| *by > 0)?;
    match op {
        BinOp::Add => Some(by),
        BinOp::Sub => Some(-by),
        BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => None,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => None,
    }
}

fn jumps(block: &Block) -> bool {
    let mut found = false;
    visit::walk_stmts(block, |stmt| found |= matches!(stmt.kind, StmtKind::Break | StmtKind::Leave));
    found
}

/// An integer as a `long`, whether or not it fits what it is converted to on the way.
fn as_long(expr: &par::Expr) -> Option<par::Expr> {
    if let par::ExprKind::Convert { operand, .. } = &expr.kind {
        return as_long(operand);
    }
    let ty = expr.ty.scalar().filter(|ty| ty.is_integer() && ty.converts_to(Scalar::I64))?;
    if ty == Scalar::I64 {
        return Some(expr.clone());
    }
    let kind = par::ExprKind::Convert { operand: Box::new(expr.clone()), mode: par::ConvertMode::Cast };
    Some(par::Expr { kind, ty: Ty::LONG, span: expr.span })
}

#[cfg(test)]
mod tests {
    use hidp_syntax::ordered::OrdMap;

    use hidp_ir::imp::visit::each_stmt;
    use hidp_ir::imp::{self, ExprKind, Stmt, VarId};
    use hidp_ir::par::{BinOp, MathFn};
    use hidp_plan::target::Model;

    use super::super::tests::optimised;

    /// What the host of the first plan estimates for its last launch where each dimension is 100.
    fn estimate(body: &str) -> i64 {
        let text = format!(
            "static function ends input float v[K]; output float w[K]; {{ scan(\"+\", v, w, K); }}
            function f input float x[N]; input int p[M+1], n; inout float y[N], Z[N][M];
            {{ if (n > p[0]) {{ y[0] = x[0]; }} {body} }}"
        );
        let (program, func) = optimised(&text);
        let model = Model::cpu();
        let plans = hidp_plan::candidates(&program, func, &model);
        let (entry, defects) = super::super::lower(&program, func, "test_entry", &plans, &model);
        assert_eq!(defects, []);
        let host = &entry.units[0].host;
        let mut values: OrdMap<VarId, i64> = OrdMap::new();
        let mut found = None;
        each_stmt(&host.body, &mut |stmt| {
            if let Stmt::Let { var, init: Some(init) } = stmt {
                let named = |var: VarId| if host.vars[var].name == "n" { 10 } else { 100 };
                let value = value(init, &|var| values.get(&var).copied().unwrap_or_else(|| named(var)));
                if let Some(value) = value {
                    values.insert(*var, value);
                }
                if host.vars[*var].name == "work" {
                    found = value;
                }
            }
        });
        found.expect("an estimate")
    }

    fn value(expr: &imp::Expr, of: &impl Fn(VarId) -> i64) -> Option<i64> {
        Some(match &expr.kind {
            ExprKind::Int(value) => i64::try_from(*value).ok()?,
            ExprKind::Var(var) => of(*var),
            ExprKind::Cast(operand) => value(operand, of)?,
            ExprKind::Math(MathFn::Max, operands) => value(&operands[0], of)?.max(value(&operands[1], of)?),
            ExprKind::Math(MathFn::Min, operands) => value(&operands[0], of)?.min(value(&operands[1], of)?),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (value(left, of)?, value(right, of)?);
                match op {
                    BinOp::Add => left + right,
                    BinOp::Sub => left - right,
                    BinOp::Mul => left * right,
                    BinOp::Div => left.checked_div(right)?,
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    fn each(inner: &str) -> i64 {
        estimate(&format!("map {{ i := [0:N); {inner} }}"))
    }

    /// Between `times` and three times as much, for what an iteration does beside it.
    fn about(times: i64, estimate: i64) {
        assert!((times..=3 * times + 1000).contains(&estimate), "{estimate} is not about {times}");
    }

    #[test]
    fn loops_that_count_take_the_turns_to_their_bound() {
        let once = 100 * 100;
        about(once, each("for (int j = 0; j < M; j += 1) y[i] += x[i];"));
        about(once, each("for (int j = M - 1; j >= 0; j -= 1) y[i] += x[i];"));
        about(once / 4, each("for (long j = 0; j < M; j += 4) y[i] += x[i];"));
        about(once / 10, each("for (int j = 0; j < n; j += 1) y[i] += x[i];"));
        about(once / 2, each("for (int j = 0; j <= i; j += 1) y[i] += x[i];"));
        let nested = "for (int j = 0; j < M; j += 1) { for (int k = 0; k < j; k += 1) y[i] += x[i]; }";
        about(once * 50, each(nested));
    }

    #[test]
    fn triangles_are_half_of_their_squares() {
        about(100 * 50, each("map { j := [0:i); Z[i][j] = x[i]; }"));
        about(100 * 50, each("map { j := [i+1:M); _t = x[i]; } reduce(\"+\", y[i], _t, j := [*]);"));
    }

    #[test]
    fn variables_of_iterations_are_what_they_were_assigned() {
        // Nothing that an iterator has no part in stays inside.
        about(100 * 25, each("long q = (M + i / 900) / 4; map { j := [0:q); Z[i][j] = x[i]; }"));
        about(100 * 40, each("long q = (M + i / 900) / 4, r = q + 15; map { j := [0:r); Z[i][j] = x[i]; }"));
        let pieces =
            "long q = (M + 3 + i / 900) / 4; map { j := [min(i / 33 * q, M):min(i / 33 * q + q, M)); Z[i][j] = x[i]; }";
        about(100 * 25, each(pieces));
        about(100 * 50 * 4, each("long q = (M + i / 900) / 2; ends(x[0:q), Z[i][0:q));"));
        // A size that a turn or a branch changes is not known, but it is before that.
        about(
            100 * 100 * 10,
            each(
                "long q = 10; for (int k = 0; k < M; k += 1) { q = 10 + i / 900; map { j := [0:q); Z[i][j] = x[i]; } }",
            ),
        );
        let changed = each("long q = M + i / 900; if (x[i] > 0) { q = 1; } map { j := [0:q); Z[i][j] = x[i]; }");
        assert!(changed < 100 * 100, "{changed}");
        let doubled = each(
            "long q = 1 + i / 900; for (int k = 0; k < 3; k += 1) { map { j := [0:q); Z[i][j] = x[i]; } q = q * 2; }",
        );
        assert!(doubled > 100 * 3 * 16, "{doubled}");
        let long: String = "q = q - q / 1000;".repeat(8);
        about(100 * 16, each(&format!("long q = M + i / 900; {long} for (long j = 0; j < q; j += 1) y[i] += x[i];")));
    }

    #[test]
    fn ranges_that_data_choose_are_as_long_as_the_mean() {
        let of = |count: &str| {
            let body = "int r = p[i]; map { e := [p[r]:p[r+1]); _t = x[e]; } reduce(\"+\", y[i], _t, e := [*]);";
            estimate(&format!("map {{ i := [0:{count}); {body} }}"))
        };
        // All arrays have as many elements, so a range has one.
        about(100, of("N"));
        about(10, of("n"));
        assert!(of("n") < of("N") / 5, "few of them are little");
    }

    #[test]
    fn what_data_say_is_not_known() {
        let unknown = 100 * i64::from(Model::cpu().unknown_length);
        let about =
            |estimate: i64| assert!((unknown..6 * unknown).contains(&estimate), "{estimate} is not about {unknown}");
        about(each("float s = x[i]; while (s > 1) s = s / 2; y[i] = s;"));
        about(each("for (int j = 0; j < p[i % M]; j += 1) y[i] += x[i];"));
        about(each("for (int j = 0; j < M; j += 1) { if (y[i] > 3) break; y[i] += x[i]; }"));
    }
}
