//! Statements, except maps, primitives and calls.

use crate::compiler::diag::{Code, Diagnostic};
use crate::compiler::ir::par::{
    self, BinOp, Block, ConvertMode, Expr, ExprKind, FaultKind, FoldFn, FoldOp, Loop, Stmt, StmtKind, UnOp, VarId,
    VarKind,
};
use crate::compiler::source::Span;
use crate::compiler::syntax::ast;
use crate::compiler::ty::{Scalar, Ty};

use super::access::{TargetRef, stmt};
use super::convert::Purpose;
use super::cx::{BodyKind, Cx, MAX_RANK, Named};
use super::expr::arithmetic_op;
use super::parallel::ParallelTarget;
use super::shape;
use super::value::Val;

impl Cx<'_> {
    /// The statements of a block, in a scope of their own.
    pub(super) fn block(&mut self, block: &ast::Block) -> Block {
        self.push_scope();
        let mut out = Vec::new();
        self.stmts(&block.stmts, &mut out);
        self.pop_scope();
        Block { stmts: out }
    }

    /// Statements in the scope that is open.
    pub(super) fn stmts(&mut self, stmts: &[ast::Stmt], out: &mut Vec<Stmt>) {
        for stmt in stmts {
            self.stmt(stmt, out);
        }
    }

    fn stmt(&mut self, s: &ast::Stmt, out: &mut Vec<Stmt>) {
        let outer = std::mem::replace(&mut self.pending, s.directives.clone());
        // An error was reported where this gives nothing; the next statement is checked all the same.
        let done = self.stmt_kind(s, out);
        let unused = std::mem::replace(&mut self.pending, outer);
        if done.is_some() {
            self.unused_directives(&unused);
        }
    }

    fn stmt_kind(&mut self, s: &ast::Stmt, out: &mut Vec<Stmt>) -> Option<()> {
        self.allowed_in_scalar_function(s)?;
        match &s.kind {
            ast::StmtKind::Declare(declare) => self.declaration(declare, out),
            ast::StmtKind::Assign(assign) => self.assign(assign, s.span, out),
            ast::StmtKind::Atomic(assign) => self.atomic(assign, s.span, out),
            ast::StmtKind::If { condition, then, otherwise } => {
                self.if_stmt(condition, then, otherwise.as_ref(), s.span, out)
            }
            ast::StmtKind::For { init, condition, step, body } => {
                self.push_scope();
                if let Some(init) = init {
                    self.stmt(init, out);
                }
                let done = self.loop_stmt(condition.as_ref(), step.as_deref(), body, s.span, out);
                self.pop_scope();
                done
            }
            ast::StmtKind::While { condition, body } => self.loop_stmt(Some(condition), None, body, s.span, out),
            ast::StmtKind::Break => self.jump(StmtKind::Break, "break", s.span, out),
            ast::StmtKind::Continue => self.jump(StmtKind::Continue, "continue", s.span, out),
            ast::StmtKind::Return(value) => self.return_stmt(value.as_ref(), s.span, out),
            ast::StmtKind::Block(block) => {
                let inner = self.block(block);
                out.extend(inner.stmts);
                Some(())
            }
            ast::StmtKind::Call(call) => self.call_stmt(call, s.span, out),
            ast::StmtKind::Swap(a, b) => self.swap(a, b, s.span, out),
            ast::StmtKind::Map(map) => self.map_stmt(map, s.span, out),
        }
    }

    fn allowed_in_scalar_function(&mut self, s: &ast::Stmt) -> Option<()> {
        let what = match &s.kind {
            _ if self.kind == BodyKind::Func => return Some(()),
            ast::StmtKind::Atomic(_) => "atomic updates",
            ast::StmtKind::Call(_) => "calls as statements",
            ast::StmtKind::Swap(..) => "`swap`",
            ast::StmtKind::Map(_) => "maps",
            ast::StmtKind::Declare(d) if d.declarators.iter().any(|d| !d.dims.is_empty()) => "arrays",
            ast::StmtKind::Declare(_)
            | ast::StmtKind::Assign(_)
            | ast::StmtKind::If { .. }
            | ast::StmtKind::For { .. }
            | ast::StmtKind::While { .. }
            | ast::StmtKind::Break
            | ast::StmtKind::Continue
            | ast::StmtKind::Return(_)
            | ast::StmtKind::Block(_) => return Some(()),
        };
        if let ast::StmtKind::Declare(declare) = &s.kind {
            for declarator in &declare.declarators {
                let name = &declarator.name;
                let var = self.new_var(&name.name, Ty::LONG, Vec::new(), VarKind::Local, name.span);
                self.info_mut(var).poisoned = true;
                self.declare(name, var);
            }
        }
        self.error(
            Diagnostic::new(Code::NotInScalarFunction, s.span, format!("{what} cannot stand in a scalar function"))
                .label("not allowed here")
                .help("a scalar function holds declarations of scalars, assignments, `if`, loops and `return`"),
        )
    }

    fn declaration(&mut self, declare: &ast::Declare, out: &mut Vec<Stmt>) -> Option<()> {
        let ty = self.type_name(&declare.ty);
        for declarator in &declare.declarators {
            self.declarator(ty, declarator, out);
        }
        ty.map(|_| ())
    }

    fn declarator(&mut self, ty: Option<Ty>, d: &ast::Declarator, out: &mut Vec<Stmt>) {
        let mut poisoned = ty.is_none();
        let mut shape = Vec::new();
        for dim in &d.dims {
            match self.long(dim, "a size", ConvertMode::Checked) {
                Some(extent) => {
                    let extent = shape::simplified(extent);
                    self.refuse_negative(&extent);
                    let stable = self.stable(extent, out);
                    shape.push(stable);
                }
                None => poisoned = true,
            }
        }
        if d.dims.len() > MAX_RANK {
            let diagnostic = too_many_dimensions(&d.name);
            let _: Option<()> = self.error(diagnostic);
            poisoned = true;
        }
        let init = d.init.as_ref().map(|init| self.initial_value(ty, d, init));
        let var = self.new_var(&d.name.name, ty.unwrap_or(Ty::LONG), shape, VarKind::Local, d.name.span);
        self.info_mut(var).poisoned = poisoned;
        self.declare(&d.name, var);
        out.push(stmt(StmtKind::Declare { var, zero: true }, d.name.span));
        if let Some(Some(value)) = init {
            self.info_mut(var).written = true;
            let span = d.name.span.to(value.span);
            out.push(stmt(StmtKind::Assign { var, value }, span));
        }
    }

    fn initial_value(&mut self, ty: Option<Ty>, d: &ast::Declarator, init: &ast::Expr) -> Option<Expr> {
        let value = self.expr(init);
        if !d.dims.is_empty() {
            // The parser reports initial values of arrays.
            return self.silent();
        }
        let what = format!("`{}`", d.name.name);
        self.coerce(value?, ty?, Purpose::since(&what, d.name.span))
    }

    fn refuse_negative(&mut self, extent: &Expr) {
        if extent.as_int().is_some_and(|size| size < 0) {
            let _: Option<()> = self
                .error(Diagnostic::new(Code::BadDimension, extent.span, "a size cannot be negative").label("negative"));
        }
    }

    // ---- assignments

    fn assign(&mut self, assign: &ast::Assign, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        if let Some(call) = self.primitive_value(assign) {
            return self.assign_primitive(&assign.target, call, span, out);
        }
        let Some(target) = self.target(&assign.target) else {
            // A second look at the value finds its own errors; sections on it are fine only if the target was one.
            return self.value_of_bad_target(&assign.value);
        };
        let op = assign.op.map(|op| (op, self.operator_span(assign)));
        match target {
            TargetRef::Parallel { array, subs, path, ty } => {
                let directives = self.take_directives();
                let target = ParallelTarget { array, subs, path, ty, span: assign.target.span };
                self.parallel_assign(target, op, &assign.value, directives, out)
            }
            TargetRef::New => self.first_assignment(assign, span, out),
            TargetRef::Scalar { var, path, ty } => {
                let value = self.expr(&assign.value)?;
                let declared = self.vars[var].span;
                let value = match op {
                    None => value,
                    Some((op, op_span)) => {
                        self.mark_read(var, assign.target.span)?;
                        let mut old = Expr::read(var, self.vars[var].ty, assign.target.span);
                        for field in &path {
                            let ty = self.field_ty(old.ty, *field);
                            let kind = ExprKind::Field(Box::new(old), *field);
                            old = Expr { kind, ty, span: assign.target.span };
                        }
                        self.compound(op, Val::typed(old), value, op_span, span)?
                    }
                };
                let what = format!("`{}`", self.text(assign.target.span));
                let value = self.coerce(value, ty, Purpose::since(&what, declared))?;
                if path.is_empty() {
                    self.mark_assigned(var);
                    out.push(stmt(StmtKind::Assign { var, value }, span));
                } else {
                    out.push(stmt(StmtKind::AssignField { var, path, value }, span));
                }
                Some(())
            }
            TargetRef::Element { place, ty } => {
                let value = self.expr(&assign.value)?;
                let declared = self.vars[place.array].span;
                let value = match op {
                    None => value,
                    Some((op, op_span)) => {
                        self.info_mut(place.array).read = true;
                        let old = Expr { kind: ExprKind::Load(place.clone()), ty, span: place.span };
                        self.compound(op, Val::typed(old), value, op_span, span)?
                    }
                };
                let what = format!("`{}`", self.text(assign.target.span));
                let value = self.coerce(value, ty, Purpose::since(&what, declared))?;
                out.push(stmt(StmtKind::Store { place, value }, span));
                Some(())
            }
        }
    }

    /// The target is wrong; the value's own errors are worth having where no data-parallel statement can be meant.
    fn value_of_bad_target(&mut self, value: &ast::Expr) -> Option<()> {
        if self.in_map() {
            let _ = self.expr(value);
        }
        None
    }

    pub(super) fn field_ty(&self, ty: Ty, field: u32) -> Ty {
        match ty {
            Ty::Struct(id) => self.globals.structs[id].fields[field as usize].1,
            Ty::Scalar(_) => ty,
        }
    }

    /// `_x = e;` where nothing is called `_x`: makes a scalar of this iteration.
    fn first_assignment(&mut self, assign: &ast::Assign, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let name = self.text(assign.target.span);
        if assign.op.is_some() {
            return self.unknown_name(name, assign.target.span);
        }
        let value = self.expr(&assign.value).and_then(|value| self.settle(value));
        let var = self.make_implicit(name, value.as_ref().map(|v| v.ty), assign.target.span);
        self.mark_assigned(var);
        out.push(stmt(StmtKind::Assign { var, value: value? }, span));
        Some(())
    }

    /// The characters of the operator of a compound assignment.
    fn operator_span(&self, assign: &ast::Assign) -> Span {
        let gap = Span { start: assign.target.span.end, end: assign.value.span.start, ..assign.target.span };
        let text = self.text(gap);
        let trimmed = text.trim();
        let start = gap.start + (text.len() - text.trim_start().len()) as u32;
        Span { start, end: start + trimmed.len() as u32, ..gap }
    }

    /// The value of `old op= right`: the right side converts to the target's type, in which the operation is done.
    pub(super) fn compound(
        &mut self,
        op: ast::BinaryOp,
        old: Val,
        right: Val,
        op_span: Span,
        span: Span,
    ) -> Option<Val> {
        let op = arithmetic_op(op);
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return self.shift(op, old, right, span);
        }
        let ty = old.default_ty();
        let old_span = old.span();
        let what = format!("`{}`", self.text(old_span));
        let right = self.coerce(right, ty, Purpose::since(&what, old_span))?;
        let value = self.operate(op, old, Val::typed(right), op_span, span)?;
        match value.default_ty() {
            result if result == ty => Some(value),
            // `+=` on a bool gives an int.
            result => {
                let (result, ty) = (self.show_ty(result), self.show_ty(ty));
                self.error(
                    Diagnostic::new(
                        Code::BadOperand,
                        op_span,
                        format!("`{}=` on `{ty}` gives `{result}`", shape::bin_op(op)),
                    )
                    .label(format!("the result is no `{ty}`"))
                    .help("use `|=`, `&=` or `^=` on truth values"),
                )
            }
        }
    }

    // ---- atomic updates

    fn atomic(&mut self, assign: &ast::Assign, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        let (op, value) = self.atomic_parts(assign)?;
        let target = self.target(&assign.target)?;
        let TargetRef::Element { place, ty } = target else {
            return self.error(
                Diagnostic::new(Code::BadAtomic, assign.target.span, "`atomic` updates an element of an array")
                    .label("not an element")
                    .help("fold scalars with `reduce`"),
            );
        };
        if !place.path.is_empty() {
            return self.error(
                Diagnostic::new(Code::BadAtomic, assign.target.span, "`atomic` cannot update a field of a struct")
                    .label("a field"),
            );
        }
        self.info_mut(place.array).read = true;
        let what = format!("`{}`", self.text(assign.target.span));
        let mut value = self.expr_of(value, ty, Purpose::since(&what, self.vars[place.array].span))?;
        if op == AtomicOp::Sub {
            let span = value.span;
            value = super::convert::folded(Expr { kind: ExprKind::Unary(UnOp::Neg, Box::new(value)), ty, span });
        }
        let func = self.atomic_fn(op, ty, assign.target.span, span)?;
        let op = FoldOp { func, ty, neutral: None, ordered: false };
        out.push(stmt(StmtKind::Atomic { place, op, value }, span));
        Some(())
    }

    fn atomic_parts<'e>(&mut self, assign: &'e ast::Assign) -> Option<(AtomicOp, &'e ast::Expr)> {
        if let Some(op) = assign.op {
            let op = match op {
                ast::BinaryOp::Add => AtomicOp::Fold(FoldFn::Add),
                ast::BinaryOp::Sub => AtomicOp::Sub,
                ast::BinaryOp::Mul => AtomicOp::Fold(FoldFn::Mul),
                ast::BinaryOp::BitAnd => AtomicOp::Fold(FoldFn::And),
                ast::BinaryOp::BitOr => AtomicOp::Fold(FoldFn::Or),
                ast::BinaryOp::BitXor => AtomicOp::Fold(FoldFn::Xor),
                _ => return self.bad_atomic_form(self.operator_span(assign)),
            };
            return Some((op, &assign.value));
        }
        if let ast::ExprKind::Call(call) = &assign.value.kind {
            let func = match call.callee.name.as_str() {
                "min" => Some(FoldFn::Min),
                "max" => Some(FoldFn::Max),
                _ => None,
            };
            if let (Some(func), [ast::Arg::Expr(first), ast::Arg::Expr(second)]) = (func, call.args.as_slice()) {
                let squeeze = |span| self.text(span).split_whitespace().collect::<String>();
                let target = squeeze(assign.target.span);
                if squeeze(first.span) == target {
                    return Some((AtomicOp::Fold(func), second));
                }
                if squeeze(second.span) == target {
                    return Some((AtomicOp::Fold(func), first));
                }
            }
        }
        self.bad_atomic_form(assign.value.span)
    }

    fn bad_atomic_form<T>(&mut self, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::BadAtomic, span, "this is not an atomic update")
                .label("cannot be done indivisibly")
                .help("`atomic` takes `x += e`, `-=`, `*=`, `&=`, `|=`, `^=`, `x = min(x, e)` and `x = max(x, e)`"),
        )
    }

    fn atomic_fn(&mut self, op: AtomicOp, ty: Ty, target: Span, span: Span) -> Option<FoldFn> {
        let func = match op {
            AtomicOp::Sub => FoldFn::Add,
            AtomicOp::Fold(func) => func,
        };
        let wide = ty.scalar().is_some_and(|s| s.size() >= 4);
        let float = ty.scalar().is_some_and(Scalar::is_float);
        if !wide {
            let name = self.show_ty(ty);
            return self.error(
                Diagnostic::new(Code::BadAtomic, target, format!("`atomic` does not work on `{name}`"))
                    .label("not a type of 32 or 64 bits"),
            );
        }
        match func {
            FoldFn::Min | FoldFn::Max => Some(func),
            FoldFn::Add if float && !self.is_unordered() => self.error(
                Diagnostic::new(Code::AtomicFloat, span, "an atomic sum of floats gives other bits from run to run")
                    .label("the order of the additions is not fixed")
                    .help("use a `reduce` suffix or `histogram`, or write `#pragma hidp unordered` before the map"),
            ),
            FoldFn::Add => Some(func),
            FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Fn(_) if float => self.error(
                Diagnostic::new(Code::BadAtomic, span, "this atomic update works on integers only")
                    .label("on a floating-point type"),
            ),
            FoldFn::Mul | FoldFn::And | FoldFn::Or | FoldFn::Xor | FoldFn::Fn(_) => Some(func),
        }
    }

    // ---- control flow

    fn if_stmt(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Block,
        otherwise: Option<&ast::Block>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let cond = self.condition(condition);
        let before = self.assigned.clone();
        let then = self.block(then);
        let after_then = std::mem::replace(&mut self.assigned, before);
        let otherwise = otherwise.map(|block| self.block(block)).unwrap_or_default();
        let after_otherwise = self.assigned.take();
        self.assigned = Cx::join(after_then, after_otherwise);
        out.push(stmt(StmtKind::If { cond: cond?, then, otherwise }, span));
        Some(())
    }

    fn loop_stmt(
        &mut self,
        condition: Option<&ast::Expr>,
        step: Option<&ast::Stmt>,
        body: &ast::Block,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let cond = match condition {
            Some(condition) => self.condition(condition),
            None => Some(Expr { kind: ExprKind::Const(par::Const::Bool(true)), ty: Ty::BOOL, span }),
        };
        let before = self.assigned.clone();
        self.loops += 1;
        let body = self.block(body);
        self.loops -= 1;
        self.assigned.clone_from(&before);
        let mut after = Vec::new();
        if let Some(step) = step {
            self.stmt(step, &mut after);
        }
        let endless = cond.as_ref().is_some_and(|c| matches!(c.kind, ExprKind::Const(par::Const::Bool(true))));
        // Nothing comes after a loop that only `return` leaves.
        self.assigned = if endless && !breaks(&body) { None } else { before };
        let node = Loop { cond: cond?, body, step: Block { stmts: after } };
        out.push(stmt(StmtKind::Loop(node), span));
        Some(())
    }

    fn jump(&mut self, kind: StmtKind, word: &str, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        if self.loops == 0 {
            let mut diagnostic =
                Diagnostic::new(Code::MisplacedJump, span, format!("`{word}` stands outside of a loop"))
                    .label("not in a `for` or `while`");
            if self.in_map() {
                diagnostic = diagnostic.note("the iterations of a map are independent: none can end the others");
            }
            return self.error(diagnostic);
        }
        self.assigned = None;
        out.push(stmt(kind, span));
        Some(())
    }

    fn return_stmt(&mut self, value: Option<&ast::Expr>, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        match (self.kind, value) {
            (BodyKind::Scalar(result), Some(value)) => {
                let value = self.expr(value)?;
                let value = self.coerce(value, result?, Purpose::new("the result"))?;
                self.assigned = None;
                out.push(stmt(StmtKind::Return(value), span));
                Some(())
            }
            (BodyKind::Scalar(_), None) => self.error(
                Diagnostic::new(Code::MisplacedReturn, span, "a scalar function returns a value")
                    .label("`return` without a value"),
            ),
            (_, Some(value)) => self.error(
                Diagnostic::new(Code::MisplacedReturn, value.span, "a function over arrays returns no value")
                    .label("cannot be returned")
                    .help("assign it to an `output`"),
            ),
            (_, None) if self.in_map() => self.error(
                Diagnostic::new(Code::MisplacedReturn, span, "`return` stands inside a map")
                    .label("would leave the map")
                    .note("the iterations of a map are independent: none can end the others")
                    .help("put the rest of the iteration into an `if`"),
            ),
            (_, None) => {
                self.assigned = None;
                out.push(stmt(StmtKind::Leave, span));
                Some(())
            }
        }
    }

    // ---- swap

    fn swap(&mut self, a: &ast::Ident, b: &ast::Ident, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        if self.in_map() {
            return self.error(
                Diagnostic::new(Code::MisplacedSwap, span, "`swap` stands inside a map")
                    .label("whole arrays change names at host level only"),
            );
        }
        let (x, y) = (self.swapped(a), self.swapped(b));
        let (x, y) = (x?, y?);
        if x == y {
            return self.error(
                Diagnostic::new(Code::MisplacedSwap, b.span, format!("`{}` is swapped with itself", b.name))
                    .label("the same array"),
            );
        }
        if self.vars[x].ty != self.vars[y].ty {
            let (tx, ty) = (self.show_ty(self.vars[x].ty), self.show_ty(self.vars[y].ty));
            return self.error(
                Diagnostic::new(Code::MismatchedTypes, span, "`swap` takes two arrays of one type")
                    .also(a.span, format!("`{tx}`"))
                    .also(b.span, format!("`{ty}`")),
            );
        }
        let (shape_x, shape_y) = (self.vars[x].shape.clone(), self.vars[y].shape.clone());
        let differ = shape_x.len() != shape_y.len()
            || shape_x.iter().zip(&shape_y).any(|(p, q)| shape::difference(p, q).is_some_and(|d| d != 0));
        if differ {
            let (text_x, text_y) = (shape::show_shape(&shape_x, &self.vars), shape::show_shape(&shape_y, &self.vars));
            return self.error(
                Diagnostic::new(Code::ShapeMismatch, span, "`swap` takes two arrays of one shape")
                    .also(a.span, format!("shape {text_x}"))
                    .also(b.span, format!("shape {text_y}")),
            );
        }
        for (p, q) in shape_x.iter().zip(&shape_y) {
            if !shape::same(p, q) {
                let cond = Expr::long(BinOp::Eq, Expr { span, ..p.clone() }, q.clone());
                let values = vec![(format!("`{}`", a.name), p.clone()), (format!("`{}`", b.name), q.clone())];
                out.push(stmt(StmtKind::Require { cond, fault: FaultKind::Shape, values }, span));
            }
        }
        out.push(stmt(StmtKind::Swap(x, y), span));
        Some(())
    }

    fn swapped(&mut self, name: &ast::Ident) -> Option<VarId> {
        let array = self.array_named(&name.name, name.span, "`swap`")?;
        self.check_writable(array, name.span)?;
        self.info_mut(array).read = true;
        Some(array)
    }

    /// The array of this name, or an error that says who wants one.
    pub(super) fn array_named(&mut self, name: &str, span: Span, who: &str) -> Option<VarId> {
        match self.lookup(name) {
            Some(Named::Array(array)) => Some(array),
            Some(Named::ElementOf(array)) => {
                let plain = self.vars[array].name.clone();
                self.error(
                    Diagnostic::new(
                        Code::NotAnArray,
                        span,
                        format!("{who} takes an array, but `{name}` is one element"),
                    )
                    .label("this iteration's element")
                    .suggest(span, plain, "name the array"),
                )
            }
            Some(Named::Poisoned | Named::Global(super::items::Global::Poisoned)) => self.silent(),
            Some(Named::Scalar(_) | Named::Global(_)) => self.error(
                Diagnostic::new(Code::NotAnArray, span, format!("{who} takes an array, but `{name}` is none"))
                    .label("not an array"),
            ),
            None => self.unknown_name(name, span),
        }
    }
}

/// The operation of an atomic update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtomicOp {
    Fold(FoldFn),
    /// Adds the negated value.
    Sub,
}

/// Whether a `break` of the loop itself stands in its body.
fn breaks(body: &Block) -> bool {
    body.stmts.iter().any(|s| match &s.kind {
        StmtKind::Break => true,
        StmtKind::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        StmtKind::Scope(block) => breaks(block),
        _ => false,
    })
}

/// Reports an array of too high a rank.
pub(super) fn too_many_dimensions(name: &ast::Ident) -> Diagnostic {
    Diagnostic::new(Code::BadDimension, name.span, format!("`{}` has more than {MAX_RANK} dimensions", name.name))
        .label(format!("at most {MAX_RANK}"))
}
