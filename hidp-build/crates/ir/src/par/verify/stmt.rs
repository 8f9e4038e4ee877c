//! Statements.

use super::super::{
    Block, CallArg, Expr, Fold, FoldFn, FoldKind, FoldOp, FuncId, Iter, Loop, Map, Place, Stmt, StmtKind, Target,
    VarId, VarKind,
};
use super::{Check, Rule};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{Scalar, Ty};

/// The kind of a statement, for messages.
pub(super) fn stmt_name(kind: &StmtKind) -> &'static str {
    match kind {
        StmtKind::Declare { .. } => "declare",
        StmtKind::Assign { .. } => "assign",
        StmtKind::AssignField { .. } => "assign field",
        StmtKind::Store { .. } => "store",
        StmtKind::Atomic { .. } => "atomic",
        StmtKind::If { .. } => "if",
        StmtKind::Loop(_) => "loop",
        StmtKind::Break => "break",
        StmtKind::Continue => "continue",
        StmtKind::Scope(_) => "scope",
        StmtKind::Leave => "leave",
        StmtKind::Return(_) => "return",
        StmtKind::Map(_) => "map",
        StmtKind::Prim(_) => "primitive",
        StmtKind::Swap(..) => "swap",
        StmtKind::Call { .. } => "call",
        StmtKind::Require { .. } => "require",
    }
}

impl Check<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        self.scoped(|check| block.stmts.iter().for_each(|stmt| check.stmt(stmt)));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let (stmt_before, span_before) = (self.stmt, self.span);
        self.stmt = stmt_name(&stmt.kind);
        self.span = Some(stmt.span);
        if self.result.is_some() {
            self.only_scalar(&stmt.kind);
        }
        if self.cell.is_some() {
            self.only_of_cell(&stmt.kind);
        }
        match &stmt.kind {
            StmtKind::Declare { var, zero: _ } => self.declare(*var),
            StmtKind::Assign { var, value } => self.assign(*var, &[], value),
            StmtKind::AssignField { var, path, value } => {
                self.require(!path.is_empty(), Rule::Types, || "no field is named".into());
                self.assign(*var, path, value);
            }
            StmtKind::Store { place, value } => self.store(place, value),
            StmtKind::Atomic { place, op, value } => self.atomic(place, op, value),
            StmtKind::If { cond, then, otherwise } => {
                self.typed("a condition", cond, Ty::BOOL);
                self.block(then);
                self.block(otherwise);
            }
            StmtKind::Loop(node) => self.loop_stmt(node),
            StmtKind::Break | StmtKind::Continue => {
                let inside = self.loops > 0;
                self.require(inside, Rule::Jumps, || "is not inside a loop of its map level".into());
            }
            StmtKind::Scope(block) => {
                self.scopes += 1;
                self.block(block);
                self.scopes -= 1;
            }
            StmtKind::Leave => {
                let inside = self.scopes > 0 || self.depth == 0;
                self.require(inside, Rule::Jumps, || "would leave a map".into());
            }
            StmtKind::Return(value) => match self.result.or(self.cell) {
                Some(result) => self.typed("the result", value, result),
                None => self.report(Rule::Jumps, "stands in a function over arrays"),
            },
            StmtKind::Map(map) => self.map(map),
            StmtKind::Prim(call) => self.prim(call),
            StmtKind::Swap(left, right) => self.swap(*left, *right),
            StmtKind::Call { callee, args } => self.call(*callee, args),
            StmtKind::Require { cond, fault: _, values } => {
                self.typed("a condition", cond, Ty::BOOL);
                values.iter().for_each(|(_, value)| self.long("a fault's value", value));
            }
        }
        (self.stmt, self.span) = (stmt_before, span_before);
    }

    /// Scalar functions hold a part of the statements only.
    fn only_scalar(&mut self, kind: &StmtKind) {
        let allowed = match kind {
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => true,
            // `for` is a block of its initialiser and the loop.
            StmtKind::Scope(_) => true,
            StmtKind::Leave
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Map(_)
            | StmtKind::Prim(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => false,
        };
        self.require(allowed, Rule::Tables, || "cannot stand in a scalar function".into());
    }

    fn declare(&mut self, var: VarId) {
        let Some(known) = self.vars.get(var) else {
            self.report(Rule::Scopes, format!("{var:?} does not exist"));
            return;
        };
        let local = known.kind == VarKind::Local;
        self.require(local, Rule::Scopes, || format!("`{}` ({var:?}) is not a local", known.name));
        self.introduce(var);
        self.live[var.index()] = None;
        known.shape.iter().for_each(|extent| self.long("an extent", extent));
        self.live[var.index()] = Some(self.depth);
    }

    /// The one place where a local or an iterator comes to life.
    fn introduce(&mut self, var: VarId) {
        let first = self.declared.insert(var);
        let name = self.name(var);
        self.require(first, Rule::Scopes, || format!("{name} is declared in two places"));
    }

    /// Whether this statement may overwrite a scalar.
    pub(super) fn writable_scalar(&mut self, var: VarId) -> Option<Ty> {
        let known = self.use_var(var)?;
        let name = self.name(var);
        self.require(!known.is_array(), Rule::Ranks, || format!("array {name} is assigned"));
        self.writable(var);
        let outer = self.is_outer(var);
        self.require(!outer, Rule::Writes, || format!("{name} lives outside the map that assigns it"));
        Some(known.ty)
    }

    /// Reports what is never written.
    pub(super) fn writable(&mut self, var: VarId) {
        let Some(known) = self.vars.get(var) else { return };
        let writable = match known.kind {
            VarKind::Param(Direction::Output | Direction::Inout) | VarKind::Local => true,
            // The parameters of a scalar function are its own.
            VarKind::Param(Direction::Input) => self.result.is_some(),
            VarKind::Dim | VarKind::Iter => false,
        };
        self.require(writable, Rule::Writes, || format!("`{}` ({var:?}) is read only", known.name));
    }

    fn assign(&mut self, var: VarId, path: &[u32], value: &Expr) {
        self.expr(value);
        if let Some(ty) = self.writable_scalar(var)
            && let Some(field) = self.field_ty(ty, path)
        {
            self.same_ty("the value", value.ty, field);
        }
    }

    fn store(&mut self, place: &Place, value: &Expr) {
        self.expr(value);
        self.writable(place.array);
        if let Some(ty) = self.place(place) {
            self.same_ty("the value", value.ty, ty);
        }
    }

    fn atomic(&mut self, place: &Place, op: &FoldOp, value: &Expr) {
        self.expr(value);
        self.writable(place.array);
        if let Some(ty) = self.place(place) {
            self.same_ty("the value", value.ty, ty);
            self.same_ty("the operator's type", op.ty, ty);
        }
        let fits = match (op.func, op.ty.scalar()) {
            (FoldFn::Fn(_), _) | (_, None) => false,
            (FoldFn::And | FoldFn::Or | FoldFn::Xor, Some(scalar)) => scalar.is_integer() && scalar.size() >= 4,
            (FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max, Some(scalar)) => scalar.size() >= 4,
        };
        let name = self.ty_name(op.ty);
        self.require(fits, Rule::Types, || format!("an atomic {:?} of `{name}`", op.func));
    }

    fn loop_stmt(&mut self, node: &Loop) {
        self.typed("a condition", &node.cond, Ty::BOOL);
        self.loops += 1;
        self.block(&node.body);
        self.loops -= 1;
        let outer = std::mem::take(&mut self.loops);
        self.block(&node.step);
        self.loops = outer;
    }

    fn swap(&mut self, left: VarId, right: VarId) {
        let (Some(a), Some(b)) = (self.use_var(left), self.use_var(right)) else { return };
        self.require(a.is_array() && a.shape.len() == b.shape.len(), Rule::Ranks, || {
            format!("`{}` and `{}` are not arrays of one rank", a.name, b.name)
        });
        self.same_ty("the second array", b.ty, a.ty);
        for var in [left, right] {
            self.writable(var);
            let (outer, name) = (self.is_outer(var), self.name(var));
            self.require(!outer, Rule::Writes, || format!("{name} lives outside the map that swaps it"));
        }
    }

    fn map(&mut self, map: &Map) {
        self.require(!map.iters.is_empty(), Rule::Folds, || "a map without iterators".into());
        map.iters.iter().for_each(|iter| self.bounds(iter));
        let outer_jumps = (std::mem::take(&mut self.loops), std::mem::take(&mut self.scopes));
        self.scoped(|check| {
            check.depth += 1;
            map.iters.iter().for_each(|iter| check.iterator(iter.var));
            map.body.stmts.iter().for_each(|stmt| check.stmt(stmt));
            map.folds.iter().for_each(|fold| check.fold_value(map, fold));
            check.depth -= 1;
        });
        (self.loops, self.scopes) = outer_jumps;
        map.folds.iter().for_each(|fold| self.fold_target(map, fold));
    }

    fn bounds(&mut self, iter: &Iter) {
        self.long("a bound", &iter.lo);
        self.long("a bound", &iter.hi);
        self.long("a stride", &iter.step);
    }

    pub(super) fn iterator(&mut self, var: VarId) {
        match self.vars.get(var) {
            Some(known) => {
                let fits = known.kind == VarKind::Iter;
                self.require(fits, Rule::Scopes, || format!("`{}` ({var:?}) is no iterator", known.name));
                self.introduce(var);
                self.live[var.index()] = Some(self.depth);
            }
            None => self.report(Rule::Scopes, format!("{var:?} does not exist")),
        }
    }

    /// What a fold says about the inside of its map: checked where the body's own locals are in scope.
    fn fold_value(&mut self, map: &Map, fold: &Fold) {
        let mut seen = OrdSet::new();
        for over in &fold.over {
            let own = map.iters.iter().any(|iter| iter.var == *over);
            self.require(own, Rule::Folds, || format!("{over:?} is no iterator of the fold's map"));
            self.require(seen.insert(*over), Rule::Folds, || format!("{over:?} is folded over twice"));
        }
        let one = match fold.kind {
            FoldKind::Reduce => !fold.over.is_empty(),
            FoldKind::Scan | FoldKind::Exscan => fold.over.len() == 1,
        };
        self.require(one, Rule::Folds, || format!("{:?} over {} iterators", fold.kind, fold.over.len()));
        let Some(value) = self.use_var(fold.value) else { return };
        let own = value.kind == VarKind::Local && !value.is_array() && self.depth_of(fold.value) == self.depth;
        self.require(own, Rule::Folds, || format!("`{}` is no scalar of the map's body", value.name));
        self.same_ty("the folded value", value.ty, fold.op.ty);
    }

    /// What a fold says about the outside of its map.
    fn fold_target(&mut self, map: &Map, fold: &Fold) {
        self.fold_op(&fold.op, true);
        match &fold.target {
            Target::Scalar(var) => {
                let all = fold.kind == FoldKind::Reduce && fold.over.len() == map.iters.len();
                self.require(all, Rule::Folds, || "folds into a scalar without folding over all iterators".into());
                if let Some(ty) = self.writable_scalar(*var) {
                    self.same_ty("the target", ty, fold.op.ty);
                }
            }
            Target::Element(place) => self.scoped(|check| {
                let free = map.iters.iter().map(|iter| iter.var);
                let folded = |var: &VarId| fold.kind == FoldKind::Reduce && fold.over.contains(var);
                for var in free.filter(|var| !folded(var)) {
                    if let Some(live) = check.live.get_mut(var.index()) {
                        *live = Some(check.depth + 1);
                    }
                }
                check.writable(place.array);
                if let Some(ty) = check.place(place) {
                    check.same_ty("the target", ty, fold.op.ty);
                }
            }),
        }
    }

    /// An operator.
    pub(super) fn fold_op(&mut self, op: &FoldOp, needs_neutral: bool) {
        if let Some(neutral) = &op.neutral {
            self.typed("the neutral element", neutral, op.ty);
        }
        let scalar = op.ty.scalar();
        let fits = match op.func {
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max => scalar.is_some_and(|s| s != Scalar::Bool),
            FoldFn::And | FoldFn::Or | FoldFn::Xor => scalar.is_some_and(|s| !s.is_float()),
            FoldFn::Fn(id) => match self.program.scalar_fns.get(id) {
                Some(f) => f.result == op.ty && f.params.len() == 2 && f.params.iter().all(|p| f.vars[*p].ty == op.ty),
                None => false,
            },
        };
        let name = self.ty_name(op.ty);
        self.require(fits, Rule::Folds, || format!("{:?} does not fold `{name}`", op.func));
        let built_in = !matches!(op.func, FoldFn::Fn(_));
        self.require(!(needs_neutral && built_in && op.neutral.is_none()), Rule::Folds, || {
            "a built-in operator without its neutral element".into()
        });
    }

    /// Where one result goes: an element or a scalar of this level.
    pub(super) fn target(&mut self, target: &Target) -> Option<Ty> {
        match target {
            Target::Scalar(var) => self.writable_scalar(*var),
            Target::Element(place) => {
                self.writable(place.array);
                self.place(place)
            }
        }
    }

    fn call(&mut self, callee: FuncId, args: &[CallArg]) {
        let Some(func) = self.program.funcs.get(callee) else {
            self.report(Rule::Tables, format!("{callee:?} does not exist"));
            return;
        };
        if args.len() != func.params.len() {
            self.report(
                Rule::Calls,
                format!("`{}` takes {} arguments, not {}", func.name, func.params.len(), args.len()),
            );
            return;
        }
        for (param, arg) in func.params.iter().zip(args) {
            let param = &func.vars[*param];
            let direction = match param.kind {
                VarKind::Param(direction) => direction,
                VarKind::Dim | VarKind::Local | VarKind::Iter => continue,
            };
            self.call_arg(arg, param.ty, param.shape.len(), direction);
        }
        self.aliases(callee, args);
    }

    fn call_arg(&mut self, arg: &CallArg, ty: Ty, rank: usize, direction: Direction) {
        let written = direction != Direction::Input;
        let found = match arg {
            CallArg::Value(value) => {
                self.expr(value);
                self.require(!written, Rule::Calls, || "a value is passed to a parameter that is written".into());
                Some((value.ty, 0))
            }
            CallArg::Scalar(var) if written => self.writable_scalar(*var).map(|ty| (ty, 0)),
            CallArg::Scalar(var) | CallArg::Array(var) => {
                if written {
                    self.writable(*var);
                }
                self.use_var(*var).map(|var| (var.ty, var.shape.len()))
            }
            CallArg::Element(place) => {
                if written {
                    self.writable(place.array);
                }
                self.place(place).map(|ty| (ty, 0))
            }
            CallArg::Section(section) => {
                if written {
                    self.writable(section.array);
                }
                self.section(section)
            }
        };
        if let Some((found, found_rank)) = found {
            self.same_ty("an argument", found, ty);
            let array = matches!(arg, CallArg::Array(_) | CallArg::Section(_));
            self.require(found_rank == rank && array == (rank > 0), Rule::Ranks, || {
                format!("an argument of rank {found_rank} for a parameter of rank {rank}")
            });
        }
    }

    /// One variable as two arguments of which one is written.
    fn aliases(&mut self, callee: FuncId, args: &[CallArg]) {
        let mut uses: Vec<(VarId, bool)> = Vec::new();
        for (position, arg) in args.iter().enumerate() {
            let direction = super::super::effects::argument_direction(self.program, callee, position);
            let var = match arg {
                CallArg::Value(_) => continue,
                CallArg::Scalar(var) | CallArg::Array(var) => *var,
                CallArg::Element(place) => place.array,
                CallArg::Section(section) => section.array,
            };
            uses.push((var, direction != Some(Direction::Input)));
        }
        for (at, (var, written)) in uses.iter().enumerate() {
            let clash =
                uses[at + 1..].iter().any(|(other, other_written)| other == var && (*written || *other_written));
            let name = self.name(*var);
            self.require(!clash, Rule::Calls, || format!("{name} is passed twice and written"));
        }
    }
}
