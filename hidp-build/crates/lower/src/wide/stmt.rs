//! Statements of lanes: declarations, assignments, stores, and maps inside with their folds.

use super::super::defect::{NEUTRAL, NUMBER};
use super::super::fold::Acc;
use super::super::map::turns;
use super::super::{Lowerer, make};
use super::control::Jump;
use hidp_ir::imp::{Expr, Stmt, VarId, Wide, WideElement, WideKind, WideStmt};
use hidp_ir::par::{self, BinOp, Fold, FoldFn, FoldOp, Map, MathFn, Place, StmtKind, Target};
use hidp_plan::wide::live::{self, Jumps, Live};
use hidp_syntax::ty::Scalar;

/// What a map inside folds so far: in each lane, or the same in all.
enum Sum {
    Lanes(VarId),
    Scalar(VarId),
}

impl Lowerer<'_> {
    pub(super) fn wide_stmt(&mut self, stmt: &par::Stmt, after: &Live, jumps: &Jumps) {
        let around = self.body.here.replace(stmt.span);
        match &stmt.kind {
            StmtKind::Declare { var, zero } if self.is_varying(*var) => self.wide_declare(*var, *zero),
            StmtKind::Assign { var, value } if self.is_varying(*var) && value.ty.scalar().is_none() => {
                self.wide_assign_struct(*var, &[], value);
            }
            StmtKind::AssignField { var, path, value } if self.is_varying(*var) => {
                self.wide_assign_struct(*var, path, value);
            }
            StmtKind::Assign { var, value } if self.is_varying(*var) => {
                let lanes = self.wide(value);
                self.wide_assign(*var, lanes);
                self.count_on(*var, value);
            }
            StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::AssignField { .. } => self.stmt(stmt),
            StmtKind::Store { place, value } => self.wide_store(stmt, place, value),
            StmtKind::Atomic { place, op, value } => self.wide_update(stmt, place, op, value),
            StmtKind::If { cond, then, otherwise } => self.wide_if(cond, (then, otherwise), after, jumps),
            StmtKind::Loop(node) => self.wide_sequential(node, after, jumps),
            StmtKind::Break => self.wide_jump(Jump::Break),
            StmtKind::Continue => self.wide_jump(Jump::Continue),
            StmtKind::Leave => self.wide_jump(Jump::Leave),
            StmtKind::Scope(body) => self.wide_scope(body, after, jumps),
            StmtKind::Map(map) => self.wide_map(map, after),
            StmtKind::Require { cond, fault, .. } => {
                if self.varies(cond) {
                    let cond = self.wide(cond);
                    self.wide_require(cond);
                } else {
                    let cond = self.expr(cond);
                    self.require(cond, *fault, stmt.span, Vec::new());
                }
            }
            StmtKind::Return(_) | StmtKind::Prim(_) | StmtKind::Swap(..) | StmtKind::Call { .. } => {
                self.defect("iterations in lanes are plain computations on numbers")
            }
        }
        self.body.here = around;
    }

    fn wide_declare(&mut self, var: par::VarId, zero: bool) {
        let declared = &self.func.vars[var];
        if declared.is_array() {
            return self.wide_array(var, zero);
        }
        if declared.ty.scalar().is_none() {
            return self.wide_declare_struct(var);
        }
        let none = self.splat(self.zero_value(declared.ty));
        let slot = self.wide_slot(&declared.name, none);
        if let Some(wide) = &mut self.wide {
            wide.vars.insert(var, slot);
        }
    }

    /// What a variable is in lanes.
    pub(super) fn wide_binding(&mut self, var: par::VarId) -> Option<VarId> {
        let found = self.wide.as_ref().and_then(|wide| wide.vars.get(&var)).copied();
        if found.is_none() {
            self.defect(format!("`{}` is something in each lane", self.func.vars[var].name));
        }
        found
    }

    fn wide_assign(&mut self, var: par::VarId, value: Wide) {
        let Some(slot) = self.wide_binding(var) else { return };
        let mask = self.here().filter(|_| self.is_joined(var));
        self.wide_set(slot, value, mask);
    }

    fn wide_store(&mut self, stmt: &par::Stmt, place: &Place, value: &par::Expr) {
        let own = self.func.vars[place.array].is_array() && self.is_of_iteration(place.array);
        if own && !self.is_varying(place.array) {
            return self.stmt(stmt);
        }
        if value.ty.scalar().is_none() {
            return self.wide_store_struct(place, value);
        }
        let value = self.wide(value);
        let Some(target) = self.wide_place(place, true) else { return };
        self.body.mark_written(target.base);
        self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
    }

    /// An update, of elements from outside by one lane after the other.
    fn wide_update(&mut self, stmt: &par::Stmt, place: &Place, op: &FoldOp, value: &par::Expr) {
        let own = self.is_of_iteration(place.array);
        if own && !self.is_varying(place.array) {
            return self.stmt(stmt);
        }
        let value = self.wide(value);
        let Some(target) = self.wide_place(place, true) else { return };
        if !own {
            self.body.mark_written(target.base);
            let relaxed = !self.updates_alone(target.base);
            let target = WideElement { relaxed, ..target };
            return self.body.push(Stmt::Wide(WideStmt::Update { target, op: op.func, value }));
        }
        let target = self.fixed_element(target);
        let before = self.wide_of(WideKind::Load(target.clone()), value.ty);
        let Some(value) = self.wide_folded(op.func, before, value) else { return };
        self.body.push(Stmt::Wide(WideStmt::Store { target, value }));
    }

    /// A map inside: in order, all lanes together.
    fn wide_map(&mut self, map: &Map, after: &Live) {
        let ranges = self.ranges(map);
        let sums: Vec<Sum> = map.folds.iter().map(|fold| self.wide_sum(fold)).collect();
        let head = live::of_map(map, after);
        self.enter_iteration(map);
        self.outer_loops(&ranges, &mut |this, range| {
            let count = range.count.clone();
            this.range_loop(range, make::long(0), count, turns(map), &mut |this| this.wide_turn(map, &sums, &head));
        });
        self.leave_iteration();
        for (fold, sum) in map.folds.iter().zip(&sums) {
            self.wide_deliver(fold, sum);
        }
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
        let factors = self.fused_product(map, &accs);
        let plain = map.body.stmts.len() - usize::from(factors.is_some());
        self.wide_plain(map, plain, head);
        match (factors, &accs[..], sums) {
            (Some((a, b)), [acc], [Sum::Scalar(_)]) => self.fold_product(acc, a, b),
            (Some((a, b)), [_], [Sum::Lanes(var)]) => {
                let (a, b) = (self.wide(a), self.wide(b));
                let ty = a.ty;
                let sum = self.wide_var(*var, ty);
                let sum = self.wide_of(WideKind::MulAdd(Box::new(a), Box::new(b), Box::new(sum)), ty);
                self.wide_set(*var, sum, None);
            }
            (Some(_), ..) => self.defect("a product that is folded as it is has one fold"),
            (None, ..) => {
                for (acc, sum) in accs.iter().zip(sums) {
                    self.wide_step(acc, sum);
                }
            }
        }
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

    fn wide_sum(&mut self, fold: &Fold) -> Sum {
        let neutral = fold.op.neutral.as_deref().map(|neutral| self.expr(neutral));
        let init = neutral.unwrap_or_else(|| {
            self.defect(NEUTRAL);
            self.zero_value(fold.op.ty)
        });
        if self.is_varying(fold.value) {
            let init = self.splat(init);
            return Sum::Lanes(self.wide_slot("acc", init));
        }
        Sum::Scalar(self.body.slot("acc", fold.op.ty, Some(init)))
    }

    fn wide_step(&mut self, acc: &Acc<'_>, sum: &Sum) {
        let var = match sum {
            Sum::Lanes(var) => var,
            Sum::Scalar(_) => return self.fold_step(acc),
        };
        let Some(ty) = acc.fold.op.ty.scalar() else { return self.defect(NUMBER) };
        let Some(value) = self.wide_binding(acc.fold.value) else { return };
        let value = self.wide_var(value, ty);
        let before = self.wide_var(*var, ty);
        let Some(result) = self.wide_folded(acc.fold.op.func, before, value) else { return };
        self.wide_set(*var, result, None);
    }

    /// What a built-in operator makes of two values.
    fn wide_folded(&mut self, op: FoldFn, before: Wide, value: Wide) -> Option<Wide> {
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

    fn wide_deliver(&mut self, fold: &Fold, sum: &Sum) {
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

    /// Whether a variable is declared by iterations.
    pub(super) fn is_of_iteration(&self, var: par::VarId) -> bool {
        self.enclosing.iter().any(|frame| frame.declares.contains(&var))
    }

    /// Zero in all lanes, or what stands for a value of another type.
    pub(super) fn wide_int(&self, value: i128, ty: Scalar) -> Wide {
        self.splat(Expr { kind: hidp_ir::imp::ExprKind::Int(value), ty: ty.into() })
    }
}
