//! Maps inside of lanes, in order, with their folds and prefixes.
//!
//! Where ranges differ from lane to lane, lanes whose range ends wait for the others.

use super::super::fold::Acc;
use super::super::map::turns;
use super::super::space::Range;
use super::super::{Lowerer, make};
use super::any;
use hidp_ir::imp::{Expr, ExprKind, LoopKind, SetLanes, Stmt, VarId, Wide, WideKind, WideStmt};
use hidp_ir::par::{self, BinOp, FaultKind, Fold, FoldFn, FoldKind, Iter, Map, MathFn, Place, Target};
use hidp_plan::wide::live::{self, Jumps, Live};
use hidp_plan::wide::{Joins, joins_of_branch};
use hidp_syntax::ty::{Scalar, Ty};

/// What a map inside folds so far: in each lane, or the same in all.
enum Sum {
    /// Its numbers, and, of an operator without neutral element, whether there is a value yet.
    Lanes(Vec<VarId>, Option<Seen>),
    Scalar(VarId, Option<VarId>),
}

/// Whether a fold has a value yet.
#[derive(Clone, Copy)]
enum Seen {
    /// All lanes together.
    Together(VarId),
    /// The lanes that have one.
    Each(VarId),
}

/// The range of an iterator.
enum Turns {
    /// The same in all lanes.
    Even(Range),
    /// From lane to lane another one.
    Ragged { var: par::VarId, lo: Wide, hi: Wide },
}

fn truth(value: bool) -> Expr {
    Expr { kind: ExprKind::Bool(value), ty: Ty::BOOL }
}

impl Lowerer<'_> {
    /// A map inside: in order, all lanes together.
    pub(super) fn wide_map(&mut self, map: &Map, after: &Live) {
        let ranges: Vec<Turns> = map.iters.iter().map(|iter| self.extent_of(iter)).collect();
        let sums: Vec<Sum> = map.folds.iter().map(|fold| self.wide_sum(map, fold)).collect();
        let head = live::of_map(map, after);
        let joins = if self.is_ragged(map) { joins_of_branch(&self.joins(), after, None) } else { self.joins() };
        self.enter_iteration(map);
        match (self.jam(map), &ranges[..]) {
            (Some((jam, size)), [Turns::Even(range)]) => {
                let first = self.jammed(map, range, (&jam, size), &head);
                let turn = &mut |this: &mut Self| this.wide_turn(map, &sums, &head);
                self.range_loop(range, first, range.count.clone(), turns(map), turn);
            }
            (Some(_) | None, _) => self.all_turns(map, &ranges, &joins, &mut |this| this.wide_turn(map, &sums, &head)),
        }
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
        self.wide_set(live, left, SetLanes::All);
        self.body.push(make::when(make::not(any(live)), vec![Stmt::Break]));
        self.with_lanes_here(live, joins.clone(), body);
        let inside = self.body.leave();
        let next = self.wide_binary(BinOp::Add, self.wide_var(at, Scalar::I64), self.wide_int(1, Scalar::I64));
        self.body.enter();
        self.with_lanes_here(live, joins.clone(), |this| this.wide_set(at, next, SetLanes::Here));
        let step = self.body.leave();
        self.body.push(Stmt::Forever { body: inside, step });
    }

    /// One iteration of a map inside, and what it adds.
    fn wide_turn(&mut self, map: &Map, sums: &[Sum], head: &Live) {
        let accs: Vec<Acc<'_>> = map
            .folds
            .iter()
            .zip(sums)
            .map(|(fold, sum)| match sum {
                Sum::Lanes(vars, _) => vars.first().map(|var| Acc { fold, var: *var, seen: None }),
                Sum::Scalar(var, seen) => Some(Acc { fold, var: *var, seen: *seen }),
            })
            .collect::<Option<_>>()
            .unwrap_or_default();
        let reduces = accs.iter().all(|acc| acc.fold.kind == FoldKind::Reduce);
        let factors = self.fused_product(map, &accs).filter(|_| reduces);
        let plain = map.body.stmts.len() - usize::from(factors.is_some());
        self.wide_plain(map, plain, head);
        match (factors, &accs[..], sums) {
            (Some((a, b)), [acc], [Sum::Scalar(..)]) => self.fold_product(acc, a, b),
            (Some((a, b)), [Acc { var, .. }], [Sum::Lanes(..)]) => {
                let (a, b) = (self.wide(a), self.wide(b));
                let ty = a.ty;
                let sum = self.wide_var(*var, ty);
                let sum = self.wide_of(WideKind::MulAdd(Box::new(a), Box::new(b), Box::new(sum)), ty);
                let lanes = self.adding(map);
                self.wide_set(*var, sum, lanes);
            }
            (Some(_), ..) => self.defect("a product that is folded as it is has one fold"),
            (None, ..) => {
                for (acc, sum) in accs.iter().zip(sums) {
                    self.wide_step(map, acc, sum);
                }
            }
        }
    }

    /// Whose sums change: lanes that have added all of theirs keep them.
    fn adding(&mut self, map: &Map) -> SetLanes {
        let kept = self.is_ragged(map);
        self.set_lanes(kept)
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
        let neutral = fold.op.neutral.as_deref();
        let empty = neutral.is_none();
        let none = truth(false);
        let ragged = self.is_ragged(map);
        let begins = neutral.is_some_and(|neutral| self.varies(neutral));
        if !self.is_varying(fold.value) && !ragged && !begins {
            let init = neutral.map(|neutral| self.expr(neutral));
            let init = init.unwrap_or_else(|| self.zero_value(fold.op.ty));
            let sum = self.body.slot("acc", fold.op.ty, Some(init));
            let seen = empty.then(|| self.body.slot("seen", Ty::BOOL, Some(none)));
            return Sum::Scalar(sum, seen);
        }
        let first = match neutral {
            Some(neutral) => self.wide_numbers(neutral),
            None => {
                self.numbers_of(fold.op.ty).iter().map(|number| self.splat(self.zero_value(number.ty.into()))).collect()
            }
        };
        let numbers = first.into_iter().map(|first| self.wide_slot("acc", first)).collect();
        let seen = empty.then(|| {
            if ragged {
                let none = self.splat(none);
                Seen::Each(self.wide_slot("seen", none))
            } else {
                Seen::Together(self.body.slot("seen", Ty::BOOL, Some(none)))
            }
        });
        Sum::Lanes(numbers, seen)
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
        let (vars, seen) = match sum {
            Sum::Lanes(vars, seen) => (vars, *seen),
            Sum::Scalar(..) => return self.fold_step(acc),
        };
        let op = &acc.fold.op;
        let values = self.folded_numbers(acc.fold);
        let before: Vec<Wide> = self.sums(vars, op.ty);
        let lanes = self.adding(map);
        match seen {
            None => {
                let Some(here) = self.here() else { return };
                let results = self.wide_applied(op.func, before, values, here);
                self.set_all(vars, results, lanes);
            }
            Some(Seen::Together(seen)) => {
                let first = values.clone();
                self.branch(
                    make::var(seen, Ty::BOOL),
                    |this| {
                        let Some(here) = this.here() else { return };
                        let results = this.wide_applied(op.func, before, values, here);
                        this.set_all(vars, results, lanes);
                    },
                    |this| {
                        this.set_all(vars, first, lanes);
                        this.body.push(make::set(seen, truth(true)));
                    },
                );
            }
            Some(Seen::Each(seen)) => {
                let Some(here) = self.here() else { return };
                let again = self.both(here, seen);
                let again = self.wide_slot("again", again);
                let results = self.wide_applied(op.func, before, values.clone(), again);
                let chosen = results.into_iter().zip(values);
                let chosen = chosen.map(|(result, first)| self.wide_select(self.mask(again), result, first)).collect();
                self.set_all(vars, chosen, lanes);
                let seen_now = self.wide_binary(BinOp::Or, self.mask(seen), self.mask(here));
                self.wide_set(seen, seen_now, SetLanes::All);
            }
        }
    }

    /// The numbers of what an iteration adds.
    fn folded_numbers(&mut self, fold: &Fold) -> Vec<Wide> {
        self.wide_numbers(&par::Expr { kind: par::ExprKind::Read(fold.value), ty: fold.op.ty, span: fold.span })
    }

    fn sums(&self, vars: &[VarId], ty: Ty) -> Vec<Wide> {
        vars.iter().zip(self.numbers_of(ty)).map(|(var, number)| self.wide_var(*var, number.ty)).collect()
    }

    fn set_all(&mut self, vars: &[VarId], values: Vec<Wide>, lanes: SetLanes) {
        let values = if vars.len() > 1 { self.all_fixed(values) } else { values };
        vars.iter().zip(values).for_each(|(var, value)| self.wide_set(*var, value, lanes));
    }

    /// What an operator makes of the numbers of two values, in the lanes of a mask.
    fn wide_applied(&mut self, op: FoldFn, before: Vec<Wide>, values: Vec<Wide>, mask: VarId) -> Vec<Wide> {
        match op {
            FoldFn::Fn(function) => {
                let args = before.into_iter().chain(values).collect();
                self.wide_call(function, args, mask)
            }
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => {
                let both = before.into_iter().zip(values);
                both.filter_map(|(before, value)| self.wide_folded(op, before, value)).collect()
            }
        }
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
        match &fold.target {
            Target::Element(place) => self.put_sum(place, sum, fold.op.ty),
            Target::Scalar(_) => self.defect("prefixes inside of lanes go to elements"),
        }
    }

    fn put_sum(&mut self, place: &Place, sum: &Sum, ty: Ty) {
        let own = self.is_of_iteration(place.array) && !self.is_varying(place.array);
        if let Sum::Scalar(var, _) = sum
            && own
        {
            let (target, _) = self.element(place);
            return self.store_element(target, make::var(*var, ty), ty);
        }
        let values = self.numbers_of_sum(sum, ty);
        let Some(mut target) = self.wide_place(place, true) else { return };
        self.body.mark_written(target.base);
        if values.len() > 1 {
            target = self.fixed_element(target);
        }
        for (number, value) in self.numbers_of(ty).into_iter().zip(values) {
            let target = self.number_at(place, &target, &number);
            self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
        }
    }

    fn numbers_of_sum(&self, sum: &Sum, ty: Ty) -> Vec<Wide> {
        match sum {
            Sum::Lanes(vars, _) => self.sums(vars, ty),
            Sum::Scalar(var, _) => {
                let value = make::var(*var, ty);
                self.numbers_of(ty).iter().map(|number| self.splat(self.field_at(&value, &number.path))).collect()
            }
        }
    }

    fn wide_deliver(&mut self, fold: &Fold, sum: &Sum) {
        if fold.kind != FoldKind::Reduce {
            return;
        }
        match sum {
            Sum::Scalar(_, Some(seen)) | Sum::Lanes(_, Some(Seen::Together(seen))) => {
                self.require(make::var(*seen, Ty::BOOL), FaultKind::EmptyFold, fold.span, Vec::new());
            }
            Sum::Lanes(_, Some(Seen::Each(seen))) => {
                let seen = self.mask(*seen);
                self.wide_require(seen);
            }
            Sum::Scalar(_, None) | Sum::Lanes(_, None) => {}
        }
        let ty = fold.op.ty;
        match (&fold.target, sum) {
            (Target::Element(place), _) => self.put_sum(place, sum, ty),
            (Target::Scalar(target), Sum::Scalar(var, _)) if !self.is_varying(*target) => {
                self.assign(*target, make::var(*var, ty));
            }
            (Target::Scalar(target), _) => {
                let values = self.numbers_of_sum(sum, ty);
                self.assign_numbers(*target, &[], values);
            }
        }
    }
}
