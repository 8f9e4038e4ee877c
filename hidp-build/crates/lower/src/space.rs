//! Ranges of iterators, and the index spaces that launches share out.

use super::{Lowerer, make};
use hidp_ir::imp::{Expr, LoopKind, Stmt};
use hidp_ir::par::{self, BinOp, FaultKind, Map};
use hidp_syntax::ty::Ty;

/// The range of an iterator: `count` values from `lo` in steps of `step`. All fixed values.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) var: par::VarId,
    pub(super) lo: Expr,
    pub(super) step: Expr,
    pub(super) count: Expr,
}

impl Lowerer<'_> {
    /// The ranges of a map's iterators, bounds evaluated in order.
    pub(super) fn ranges(&mut self, map: &Map) -> Vec<Range> {
        let ranges: Vec<Range> = map.iters.iter().map(|iter| self.range(iter)).collect();
        self.note_ranges(&ranges);
        ranges
    }

    pub(super) fn range(&mut self, iter: &par::Iter) -> Range {
        let lo = self.fixed("lo", &iter.lo);
        let hi = self.fixed("hi", &iter.hi);
        let step = self.fixed("step", &iter.step);
        if make::as_int(&step).is_none_or(|step| step <= 0) {
            let ok = make::binary(BinOp::Gt, step.clone(), make::long(0));
            self.require(ok, FaultKind::Stride, iter.step.span, vec![step.clone()]);
        }
        let plain = make::as_int(&step) == Some(1);
        let never_empty_below = make::as_int(&lo) == Some(0) && self.is_never_negative(&iter.hi);
        let count = if plain && never_empty_below {
            hi
        } else {
            let length = make::max(make::sub(hi, lo.clone()), make::long(0));
            self.body.fix("count", make::ceil_div(length, step.clone()))
        };
        Range { var: iter.var, lo, step, count }
    }

    fn is_never_negative(&self, bound: &par::Expr) -> bool {
        match bound.kind {
            par::ExprKind::Read(var) => self.func.vars[var].kind == par::VarKind::Dim,
            _ => bound.as_int().is_some_and(|value| value >= 0),
        }
    }

    /// For each range the number of iterations of those after it, at least 1 so that it can divide; then the number of all.
    pub(super) fn strides(&mut self, ranges: &[Range]) -> (Vec<Expr>, Expr) {
        let mut strides = Vec::new();
        let mut total = make::long(1);
        for range in ranges.iter().rev() {
            strides.push(self.body.fix("stride", make::max(total.clone(), make::long(1))));
            total = self.body.fix("total", make::mul(range.count.clone(), total));
        }
        strides.reverse();
        (strides, total)
    }

    /// Inside a kernel: host-level ranges and strides as its parameters.
    pub(super) fn import_ranges(&mut self, ranges: &[Range]) -> Vec<Range> {
        let import = |this: &mut Self, range: &Range| Range {
            var: range.var,
            lo: this.import(&range.lo),
            step: this.import(&range.step),
            count: this.import(&range.count),
        };
        let ranges: Vec<Range> = ranges.iter().map(|range| import(self, range)).collect();
        self.note_ranges(&ranges);
        ranges
    }

    pub(super) fn note_ranges(&mut self, ranges: &[Range]) {
        self.known_ranges.extend(ranges.iter().map(|range| (range.var, range.clone())));
    }

    /// Loops over the part `[begin, end)` of the product of ranges: nested loops whose bounds are clipped, so that no
    /// division is needed in inner loops. `leaf` gets the positions of the last range.
    pub(super) fn clipped(
        &mut self,
        ranges: &[Range],
        strides: &[Expr],
        begin: Expr,
        end: Expr,
        leaf: &mut dyn FnMut(&mut Self, Expr, Expr),
    ) {
        let (range, rest) = match ranges {
            [] => return,
            [_] => return leaf(self, begin, end),
            [range, rest @ ..] => (range, rest),
        };
        let stride = strides[0].clone();
        let first = self.body.fix("first", make::div(begin.clone(), stride.clone()));
        let past = self.body.fix("past", make::ceil_div(end.clone(), stride.clone()));
        let at = self.body.enter_loop("at");
        let position = make::var(at, Ty::LONG);
        self.bind_position(range, position.clone());
        let start = self.body.fix("start", make::mul(position, stride.clone()));
        let low = self.body.fix("low", make::max(make::sub(begin, start.clone()), make::long(0)));
        let high = self.body.fix("high", make::min(make::sub(end, start), stride));
        self.clipped(rest, &strides[1..], low, high, leaf);
        self.body.leave_loop(at, first, past, LoopKind::Seq);
    }

    /// Makes the iterator the value at a position of its range.
    pub(super) fn bind_position(&mut self, range: &Range, position: Expr) {
        let value = make::add(range.lo.clone(), make::mul(position, range.step.clone()));
        let name = self.func.vars[range.var].name.clone();
        let value = self.body.fix(&name, value);
        self.body.bindings.insert(range.var, super::Binding::Fixed(value));
    }

    /// A loop over positions `[low, high)` of a range, whose iterator is bound in `body`.
    pub(super) fn range_loop(
        &mut self,
        range: &Range,
        low: Expr,
        high: Expr,
        kind: LoopKind,
        body: &mut dyn FnMut(&mut Self),
    ) {
        let direct = make::as_int(&range.step) == Some(1);
        let (low, high) = if direct {
            let shift = |position: Expr| make::add(range.lo.clone(), position);
            (shift(low), shift(high))
        } else {
            (low, high)
        };
        let low = self.body.fix("low", low);
        let high = self.body.fix("high", high);
        let name = self.func.vars[range.var].name.clone();
        let var = self.body.enter_loop(&name);
        let value = make::var(var, Ty::LONG);
        if direct {
            self.body.bindings.insert(range.var, super::Binding::Fixed(value));
        } else {
            self.bind_position(range, value);
        }
        let around = self.lane;
        if matches!(kind, LoopKind::Simd { .. }) {
            self.lane = Some(var);
        }
        body(self);
        self.lane = around;
        self.body.leave_loop(var, low, high, kind);
    }

    /// Sequential loops over all but the last range, `leaf` inside.
    pub(super) fn outer_loops(&mut self, ranges: &[Range], leaf: &mut dyn FnMut(&mut Self, &Range)) {
        match ranges {
            [] => {}
            [last] => leaf(self, last),
            [range, rest @ ..] => {
                let count = range.count.clone();
                self.range_loop(range, make::long(0), count, LoopKind::Seq, &mut |this| this.outer_loops(rest, leaf));
            }
        }
    }

    /// `while (low < high by block)`: a loop over blocks of at most `block` positions; `body` gets each block's positions.
    pub(super) fn block_loop(
        &mut self,
        low: Expr,
        high: Expr,
        block: Expr,
        body: &mut dyn FnMut(&mut Self, Expr, Expr),
    ) {
        let start = self.body.enter_loop("start");
        let from = make::var(start, Ty::LONG);
        let to = make::min(make::add(from.clone(), block.clone()), high.clone());
        let to = self.body.fix("stop", to);
        body(self, from, to);
        self.body.leave_loop_step(start, low, high, block, LoopKind::Seq);
    }

    /// `if (cond) then`.
    pub(super) fn branch(&mut self, cond: Expr, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        self.body.enter();
        then(self);
        let on_true = self.body.leave();
        self.body.enter();
        otherwise(self);
        let on_false = self.body.leave();
        self.body.push(Stmt::If { cond, then: on_true, otherwise: on_false });
    }
}
