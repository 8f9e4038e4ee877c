//! Maps inside of lanes, in order, with their folds and prefixes.
//!
//! Where ranges differ from lane to lane, lanes whose range ends wait for the others.

use super::super::defect::{NEUTRAL, NUMBER};
use super::super::fold::Acc;
use super::super::map::turns;
use super::super::space::Range;
use super::super::{Lowerer, make};
use super::any;
use hidp_ir::imp::{Block, LoopKind, Stmt, VarId, Wide, WideKind, WideStmt};
use hidp_ir::par::{self, BinOp, Fold, FoldFn, FoldKind, Iter, Map, MathFn, Place, Target};
use hidp_plan::wide::live::{self, Jumps, Live};
use hidp_plan::wide::{Joins, joins_of_branch};
use hidp_syntax::ty::Scalar;

/// What a map inside folds so far: in each lane, or the same in all.
enum Sum {
    Lanes(VarId),
    Scalar(VarId),
}

/// The range of an iterator.
enum Turns {
    /// The same in all lanes.
    Even(Range),
    /// From lane to lane another one.
    Ragged { var: par::VarId, lo: Wide, hi: Wide },
}

impl Lowerer<'_> {
    /// A map inside: in order, all lanes together.
    pub(super) fn wide_map(&mut self, map: &Map, after: &Live) {
        let ranges: Vec<Turns> = map.iters.iter().map(|iter| self.extent_of(iter)).collect();
        let sums: Vec<Sum> = map.folds.iter().map(|fold| self.wide_sum(map, fold)).collect();
        let head = live::of_map(map, after);
        let joins = if self.is_ragged(map) { joins_of_branch(&self.joins(), after, None) } else { self.joins() };
        self.enter_iteration(map);
        self.all_turns(map, &ranges, &joins, &mut |this| this.wide_turn(map, &sums, &head));
        self.leave_iteration();
        for (fold, sum) in map.folds.iter().zip(&sums) {
            self.wide_deliver(fold, sum);
        }
    }

    fn is_ragged(&self, map: &Map) -> bool {
        self.wide.as_ref().is_some_and(|wide| wide.classes.is_ragged(map))
    }

    fn extent_of(&mut self, iter: &Iter) -> Turns {
        if !self.varies(&iter.lo) && !self.varies(&iter.hi) {
            let range = self.range(iter);
            self.note_ranges(std::slice::from_ref(&range));
            return Turns::Even(range);
        }
        let lo = self.wide(&iter.lo);
        let lo = self.wide_fixed("lo", lo);
        let hi = self.wide(&iter.hi);
        let hi = self.wide_fixed("hi", hi);
        Turns::Ragged { var: iter.var, lo, hi }
    }

    /// Loops over all ranges, the last one innermost.
    fn all_turns(&mut self, map: &Map, ranges: &[Turns], joins: &Joins, leaf: &mut dyn FnMut(&mut Self)) {
        let Some((range, rest)) = ranges.split_first() else { return leaf(self) };
        match range {
            Turns::Even(range) => {
                let kind = if rest.is_empty() { turns(map) } else { LoopKind::Seq };
                let count = range.count.clone();
                self.range_loop(range, make::long(0), count, kind, &mut |this| this.all_turns(map, rest, joins, leaf));
            }
            Turns::Ragged { var, lo, hi } => {
                let at = self.wide_slot(&self.func.vars[*var].name.clone(), lo.clone());
                if let Some(wide) = &mut self.wide {
                    wide.vars.insert(*var, at);
                }
                self.ragged_loop(at, hi.clone(), joins, &mut |this| this.all_turns(map, rest, joins, leaf));
            }
        }
    }

    /// Goes on while any lane is below its end. One that is not stays so.
    fn ragged_loop(&mut self, at: VarId, hi: Wide, joins: &Joins, body: &mut dyn FnMut(&mut Self)) {
        let Some(here) = self.here() else { return };
        let live = self.mask(here);
        let live = self.wide_slot("live", live);
        self.body.enter();
        let below = self.wide_binary(BinOp::Lt, self.wide_var(at, Scalar::I64), hi);
        let left = self.wide_binary(BinOp::And, self.mask(live), below);
        self.wide_set(live, left, None);
        self.body.push(make::when(make::not(any(live)), vec![Stmt::Break]));
        self.with_lanes_here(live, joins.clone(), body);
        let inside = self.body.leave();
        let next = self.wide_binary(BinOp::Add, self.wide_var(at, Scalar::I64), self.wide_int(1, Scalar::I64));
        let step = Block { stmts: vec![Stmt::Wide(WideStmt::Set { var: at, value: next, mask: None })] };
        self.body.push(Stmt::Forever { body: inside, step });
    }

    /// One iteration of a map inside, and what it adds.
    fn wide_turn(&mut self, map: &Map, sums: &[Sum], head: &Live) {
        let accs: Vec<Acc<'_>> = map
            .folds
            .iter()
            .zip(sums)
            .map(|(fold, sum)| match sum {
                Sum::Lanes(var) | Sum::Scalar(var) => Acc { fold, var: *var, seen: None },
            })
            .collect();
        let reduces = accs.iter().all(|acc| acc.fold.kind == FoldKind::Reduce);
        let factors = self.fused_product(map, &accs).filter(|_| reduces);
        let plain = map.body.stmts.len() - usize::from(factors.is_some());
        self.wide_plain(map, plain, head);
        match (factors, &accs[..], sums) {
            (Some((a, b)), [acc], [Sum::Scalar(_)]) => self.fold_product(acc, a, b),
            (Some((a, b)), [_], [Sum::Lanes(var)]) => {
                let (a, b) = (self.wide(a), self.wide(b));
                let ty = a.ty;
                let sum = self.wide_var(*var, ty);
                let sum = self.wide_of(WideKind::MulAdd(Box::new(a), Box::new(b), Box::new(sum)), ty);
                let mask = self.adding(map);
                self.wide_set(*var, sum, mask);
            }
            (Some(_), ..) => self.defect("a product that is folded as it is has one fold"),
            (None, ..) => {
                for (acc, sum) in accs.iter().zip(sums) {
                    self.wide_step(map, acc, sum);
                }
            }
        }
    }

    /// The lanes that add to their sums, if others have added all of theirs.
    fn adding(&mut self, map: &Map) -> Option<VarId> {
        if self.is_ragged(map) { self.here() } else { None }
    }

    /// The statements of an iteration but for a product that is folded as it is.
    fn wide_plain(&mut self, map: &Map, plain: usize, head: &Live) {
        // No jump leaves an iteration of a map.
        let nowhere = Jumps::default();
        let (afters, _) = live::in_block(&map.body, head, &nowhere);
        for (stmt, after) in map.body.stmts.iter().zip(&afters).take(plain) {
            self.wide_stmt(stmt, after, &nowhere);
        }
    }

    fn wide_sum(&mut self, map: &Map, fold: &Fold) -> Sum {
        let neutral = fold.op.neutral.as_deref().map(|neutral| self.expr(neutral));
        let init = neutral.unwrap_or_else(|| {
            self.defect(NEUTRAL);
            self.zero_value(fold.op.ty)
        });
        if self.is_varying(fold.value) || self.is_ragged(map) {
            let init = self.splat(init);
            return Sum::Lanes(self.wide_slot("acc", init));
        }
        Sum::Scalar(self.body.slot("acc", fold.op.ty, Some(init)))
    }

    /// Adds the value of this iteration; a prefix goes to its element before or after that.
    fn wide_step(&mut self, map: &Map, acc: &Acc<'_>, sum: &Sum) {
        match acc.fold.kind {
            FoldKind::Reduce => self.wide_add(map, acc, sum),
            FoldKind::Scan => {
                self.wide_add(map, acc, sum);
                self.wide_prefix(acc.fold, sum);
            }
            FoldKind::Exscan => {
                self.wide_prefix(acc.fold, sum);
                self.wide_add(map, acc, sum);
            }
        }
    }

    fn wide_add(&mut self, map: &Map, acc: &Acc<'_>, sum: &Sum) {
        let var = match sum {
            Sum::Lanes(var) => var,
            Sum::Scalar(_) => return self.fold_step(acc),
        };
        let Some(ty) = acc.fold.op.ty.scalar() else { return self.defect(NUMBER) };
        let value = if self.is_varying(acc.fold.value) {
            let Some(value) = self.wide_binding(acc.fold.value) else { return };
            self.wide_var(value, ty)
        } else {
            let value = self.read(acc.fold.value);
            self.splat(value)
        };
        let before = self.wide_var(*var, ty);
        let Some(result) = self.wide_folded(acc.fold.op.func, before, value) else { return };
        let mask = self.adding(map);
        self.wide_set(*var, result, mask);
    }

    /// What a built-in operator makes of two values.
    pub(super) fn wide_folded(&mut self, op: FoldFn, before: Wide, value: Wide) -> Option<Wide> {
        let ty = before.ty;
        Some(match op {
            FoldFn::Add => self.wide_binary(BinOp::Add, before, value),
            FoldFn::Mul => self.wide_binary(BinOp::Mul, before, value),
            FoldFn::Min => self.wide_of(WideKind::Math(MathFn::Min, vec![before, value]), ty),
            FoldFn::Max => self.wide_of(WideKind::Math(MathFn::Max, vec![before, value]), ty),
            FoldFn::And => self.wide_binary(BinOp::And, before, value),
            FoldFn::Or => self.wide_binary(BinOp::Or, before, value),
            FoldFn::Xor => self.wide_binary(BinOp::Xor, before, value),
            FoldFn::Fn(_) => {
                self.defect("what is folded inside of lanes has a built-in operator");
                return None;
            }
        })
    }

    /// Stores what has been folded so far.
    fn wide_prefix(&mut self, fold: &Fold, sum: &Sum) {
        let Target::Element(place) = &fold.target else {
            return self.defect("prefixes inside of lanes go to elements");
        };
        match sum {
            Sum::Scalar(var) if self.is_of_iteration(place.array) && !self.is_varying(place.array) => {
                let (target, _) = self.element(place);
                self.store_element(target, make::var(*var, fold.op.ty), fold.op.ty);
            }
            Sum::Scalar(var) => {
                let value = self.splat(make::var(*var, fold.op.ty));
                self.wide_put(place, value);
            }
            Sum::Lanes(var) => {
                let Some(ty) = fold.op.ty.scalar() else { return self.defect(NUMBER) };
                let value = self.wide_var(*var, ty);
                self.wide_put(place, value);
            }
        }
    }

    fn wide_put(&mut self, place: &Place, value: Wide) {
        let Some(target) = self.wide_place(place, true) else { return };
        self.body.mark_written(target.base);
        self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
    }

    fn wide_deliver(&mut self, fold: &Fold, sum: &Sum) {
        if fold.kind != FoldKind::Reduce {
            return;
        }
        let Target::Scalar(target) = fold.target else {
            return self.defect("folds inside of lanes give numbers of the iteration");
        };
        let ty = fold.op.ty;
        match sum {
            Sum::Scalar(var) if !self.is_varying(target) => self.assign(target, make::var(*var, ty)),
            Sum::Scalar(var) => {
                let value = self.splat(make::var(*var, ty));
                self.wide_assign(target, value);
            }
            Sum::Lanes(var) => {
                let Some(ty) = ty.scalar() else { return self.defect(NUMBER) };
                let value = self.wide_var(*var, ty);
                self.wide_assign(target, value);
            }
        }
    }
}
