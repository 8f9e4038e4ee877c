//! Loops in vector lanes, and what stands around them: tests made once before the loop instead of in every iteration, the
//! loop in order for short ranges, and the loop in order that finds the first fault after lanes met one.

use super::fold::Acc;
use super::map::turns;
use super::space::Range;
use super::{Binding, Checks, Lowerer, make};
use hidp_ir::imp::{self, Expr, LoopKind};
use hidp_ir::par::effects::{expr_may_fault, may_fault};
use hidp_ir::par::{self, BinOp, Block, ExprKind, FoldFn, Map, Place, StmtKind, visit};
use hidp_plan::notation::FoldOption;
use hidp_plan::{self as plan, Exec};

/// Factors of an iterator up to which testing the ends of a range is enough: no index between them wraps.
pub(super) const MOST_STRIDE: i128 = 1024;

impl Lowerer<'_> {
    /// The loop over positions of a map's last range.
    pub(super) fn innermost(&mut self, map: &Map, range: &Range, low: Expr, high: Expr, accs: &[Acc<'_>]) {
        if plan::key(map).and_then(|key| self.mapping.exec(key)) == Some(Exec::Wide) {
            return self.wide_loop(map, range, low, high, accs);
        }
        if !self.in_lanes(map) {
            if accs.is_empty() {
                return self.rows_in_order(map, range, low, high);
            }
            self.range_loop(range, low, high, turns(map), &mut |this| this.iteration(map, accs));
            return;
        }
        let low = self.body.fix("low", low);
        let high = self.body.fix("high", high);
        if may_fault(self.program, &self.func.vars, &map.body) {
            self.guarded_lanes(map, range, low, high, accs);
        } else {
            self.lanes_or_short(map, range, low, high, accs);
        }
    }

    /// Lanes; one after the other if a reduction is too short to fill them.
    fn lanes_or_short(&mut self, map: &Map, range: &Range, low: Expr, high: Expr, accs: &[Acc<'_>]) {
        let Some(least) = self.least_length(map, accs) else { return self.lane_loop(map, range, low, high, accs) };
        let short = make::binary(BinOp::Lt, make::sub(high.clone(), low.clone()), make::long(least.into()));
        let (low2, high2) = (low.clone(), high.clone());
        self.branch(
            short,
            |this| {
                this.prefetch_short_row(map, range, &low);
                this.range_loop(range, low, high, LoopKind::Seq, &mut |this| this.iteration(map, accs));
            },
            |this| this.lane_loop(map, range, low2, high2, accs),
        );
    }

    fn least_length(&self, map: &Map, accs: &[Acc<'_>]) -> Option<u32> {
        self.option_of(map, FoldOption::Short).filter(|_| !accs.is_empty())
    }

    /// The number behind a word of a map's `fold` line.
    pub(super) fn option_of(&self, map: &Map, word: fn(u32) -> FoldOption) -> Option<u32> {
        self.mapping.cut(map).and_then(|cut| cut.number(word))
    }

    fn lane_loop(&mut self, map: &Map, range: &Range, low: Expr, high: Expr, accs: &[Acc<'_>]) {
        match self.side_by_side(map).filter(|_| !accs.is_empty()) {
            Some(sums) => return self.lane_fold(map, range, (low, high), accs, sums),
            // Lanes of a loop would have sums of their own, as many as the compiler makes of them.
            None if accs.iter().any(|acc| plan::rounds(acc.fold)) || (!accs.is_empty() && plan::gathers(map)) => {
                return self.range_loop(range, low, high, LoopKind::Seq, &mut |this| this.iteration(map, accs));
            }
            None => {}
        }
        let kind = LoopKind::Simd { reductions: self.reductions(accs) };
        self.range_loop(range, low, high, kind, &mut |this| this.iteration(map, accs));
    }

    /// What the lanes of a loop reduce: accumulators, and the flag that checks raise.
    pub(super) fn reductions(&self, accs: &[Acc<'_>]) -> Vec<(imp::VarId, FoldFn)> {
        let mut reductions: Vec<_> = accs.iter().map(|acc| (acc.var, acc.fold.op.func)).collect();
        if let Checks::Flag(bad) = self.checks {
            reductions.push((bad, FoldFn::Or));
        }
        reductions
    }

    /// Lanes where checks remain: they only raise a flag, and the loop in order finds the fault. Short ranges run in order.
    fn guarded_lanes(&mut self, map: &Map, range: &Range, low: Expr, high: Expr, accs: &[Acc<'_>]) {
        let (inside, proved) = self.ends_inside(map, range, &low, &high);
        if self.option_of(map, FoldOption::Apart).is_some() && !accs.is_empty() {
            return self.gathering(map, &proved, inside, range, &low, &high, accs);
        }
        let in_order = |this: &mut Self, map: &Map, low: &Expr, high: &Expr| {
            this.range_loop(range, low.clone(), high.clone(), LoopKind::Seq, &mut |this| this.iteration(map, accs));
        };
        let Some(least) = self.least_length(map, accs) else {
            return self.flagged_lanes(map, &proved, inside, range, &low, &high, accs);
        };
        let short = make::binary(BinOp::Lt, make::sub(high.clone(), low.clone()), make::long(least.into()));
        self.branch(
            short,
            |this| match inside.clone() {
                Some(inside) => this.branch(
                    inside,
                    |this| in_order(this, &proved, &low, &high),
                    |this| in_order(this, map, &low, &high),
                ),
                None => in_order(this, map, &low, &high),
            },
            |this| this.flagged_lanes(map, &proved, inside.clone(), range, &low, &high, accs),
        );
    }

    /// Loads that follow indices are checked one by one: the lanes of such a reduction are no vector, see `lane_fold`.
    #[allow(clippy::too_many_arguments)]
    fn gathering(
        &mut self,
        map: &Map,
        proved: &Map,
        inside: Option<Expr>,
        range: &Range,
        low: &Expr,
        high: &Expr,
        accs: &[Acc<'_>],
    ) {
        let Some(inside) = inside else {
            return self.lanes_or_short(proved, range, low.clone(), high.clone(), accs);
        };
        self.branch(
            inside,
            |this| this.lanes_or_short(proved, range, low.clone(), high.clone(), accs),
            |this| {
                let kind = LoopKind::Seq;
                this.range_loop(range, low.clone(), high.clone(), kind, &mut |this| this.iteration(map, accs));
            },
        );
    }

    #[allow(clippy::too_many_arguments)]
    fn flagged_lanes(
        &mut self,
        map: &Map,
        proved: &Map,
        inside: Option<Expr>,
        range: &Range,
        low: &Expr,
        high: &Expr,
        accs: &[Acc<'_>],
    ) {
        self.tried(
            inside,
            &proved.body,
            |this| this.lane_loop(proved, range, low.clone(), high.clone(), accs),
            |this| {
                let kind = LoopKind::Seq;
                this.range_loop(range, low.clone(), high.clone(), kind, &mut |this| this.iteration(map, accs));
            },
        );
    }

    /// Whether indices that grow evenly with the iterator are inside at both ends of the range; and the map without the
    /// checks that this answers.
    pub(super) fn ends_inside(&mut self, map: &Map, range: &Range, low: &Expr, high: &Expr) -> (Option<Expr>, Map) {
        let mut proved = map.clone();
        let declared = visit::declared(&map.body);
        let varying = declared.iter().copied().collect();
        let mut tests: Vec<Expr> = Vec::new();
        let first = make::add(range.lo.clone(), make::mul(low.clone(), range.step.clone()));
        let first = self.body.fix("first", first);
        let last = make::mul(make::sub(high.clone(), make::long(1)), range.step.clone());
        let last = self.body.fix("last", make::add(range.lo.clone(), last));
        for place in always_evaluated(&map.body) {
            let Binding::Array(array) = self.binding(place.array) else { continue };
            let mut settled = 0;
            for (dim, index) in place.index.iter().enumerate().take(31) {
                let even = plan::coefficient(index, range.var, &varying).is_some_and(|c| c.abs() <= MOST_STRIDE);
                if place.unproved & (1 << dim) == 0 || !even || loads(index) || expr_may_fault(self.program, index) {
                    continue;
                }
                settled |= 1 << dim;
                for end in [&first, &last] {
                    self.body.bindings.insert(range.var, Binding::Fixed(end.clone()));
                    let value = self.expr(index);
                    let test = make::inside(value, array.extents[dim].clone());
                    if !tests.contains(&test) {
                        tests.push(test);
                    }
                }
            }
            visit::map_places(&mut proved.body, |other, _| {
                if *other == place {
                    other.unproved &= !settled;
                }
            });
        }
        let all = tests.into_iter().reduce(|all, test| make::binary(BinOp::And, all, test));
        (all, proved)
    }
}

fn loads(expr: &par::Expr) -> bool {
    let mut found = false;
    visit::walk_subexprs(expr, |e| found |= matches!(e.kind, ExprKind::Load(_)));
    found
}

/// The accesses of a block that every iteration makes.
fn always_evaluated(block: &Block) -> Vec<Place> {
    let mut found = Vec::new();
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Assign { value, .. } | StmtKind::AssignField { value, .. } => in_expr(value, &mut found),
            StmtKind::Store { place, value } => {
                in_place(place, &mut found);
                in_expr(value, &mut found);
            }
            StmtKind::If { cond, .. } => in_expr(cond, &mut found),
            StmtKind::Declare { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
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

fn in_place(place: &Place, found: &mut Vec<Place>) {
    place.index.iter().for_each(|index| in_expr(index, found));
    found.push(place.clone());
}

fn in_expr(expr: &par::Expr, found: &mut Vec<Place>) {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Read(_) => {}
        ExprKind::Load(place) => in_place(place, found),
        ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
            in_expr(operand, found);
        }
        ExprKind::Binary { left, right, .. } => {
            in_expr(left, found);
            in_expr(right, found);
        }
        ExprKind::Lazy { left, .. } => in_expr(left, found),
        ExprKind::Select { cond, .. } => in_expr(cond, found),
        ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
            operands.iter().for_each(|operand| in_expr(operand, found));
        }
    }
}
