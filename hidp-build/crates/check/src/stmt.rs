//! Blocks, declarations, control flow, `swap`.

use hidp_ir::par::{self, BinOp, Block, ConvertMode, Expr, ExprKind, FaultKind, Loop, Stmt, StmtKind, VarId, VarKind};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::access::stmt;
use super::convert::Purpose;
use super::cx::{BodyKind, Cx, MAX_RANK, Named};
use super::shape;

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
            match self.cells_behind(stmt) {
                Some(stmts) => stmts.iter().for_each(|stmt| self.stmt(stmt, out)),
                None => self.stmt(stmt, out),
            }
        }
    }

    fn stmt(&mut self, s: &ast::Stmt, out: &mut Vec<Stmt>) {
        let nested = self.with_tables_outside(s);
        let s = nested.as_ref().unwrap_or(s);
        self.allow_warnings(&s.directives, s.span);
        let outer = std::mem::replace(&mut self.pending, s.directives.clone());
        let level = self.level();
        let outer_before = std::mem::take(&mut self.before[level]);
        let mut own = Vec::new();
        // An error was reported where this gives nothing; the next statement is checked all the same.
        let done = self.stmt_kind(s, &mut own);
        out.extend(std::mem::replace(&mut self.before[level], outer_before));
        out.append(&mut own);
        // Those of outer levels stay until the statement ends that they come before.
        self.instances.retain(|instance| instance.level < level);
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
        let (place, code) = match self.kind {
            BodyKind::Func => return Some(()),
            BodyKind::Scalar(_) | BodyKind::Const => ("a scalar function", Code::NotInScalarFunction),
            BodyKind::Cell(_) => ("a recurrence", Code::BadRecurrence),
        };
        let what = match &s.kind {
            ast::StmtKind::Atomic(_) => "atomic updates",
            ast::StmtKind::Call(_) => "calls as statements",
            ast::StmtKind::Swap(..) => "`swap`",
            ast::StmtKind::Map(_) if code == Code::BadRecurrence => return Some(()),
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
            Diagnostic::new(code, s.span, format!("{what} cannot stand in {place}")).label("not allowed here").help(
                format!(
                    "{place} holds declarations of scalars, assignments, `if`, loops and `return`{}",
                    if code == Code::BadRecurrence { ", and maps that fold into its scalars" } else { "" }
                ),
            ),
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
            Some(condition) => {
                let outer = self.no_cells.replace("the condition of a loop");
                let checked = self.condition(condition);
                self.no_cells = outer;
                checked
            }
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
            (BodyKind::Cell(_), Some(_)) if self.in_map() => self.error(
                Diagnostic::new(Code::MisplacedReturn, span, "`return` stands inside a map")
                    .label("would leave the map")
                    .help("fold a value, and return it after the map"),
            ),
            (BodyKind::Scalar(result) | BodyKind::Cell(result), Some(value)) => {
                let value = self.expr(value)?;
                let value = self.coerce(value, result?, Purpose::new("the result"))?;
                self.assigned = None;
                out.push(stmt(StmtKind::Return(value), span));
                Some(())
            }
            (BodyKind::Scalar(_) | BodyKind::Cell(_), None) => {
                let what = if matches!(self.kind, BodyKind::Cell(_)) { "a recurrence" } else { "a scalar function" };
                self.error(
                    Diagnostic::new(Code::MisplacedReturn, span, format!("{what} returns a value"))
                        .label("`return` without a value"),
                )
            }
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

    fn swap(&mut self, a: &ast::Ident, b: &ast::Ident, span: Span, out: &mut Vec<Stmt>) -> Option<()> {
        self.swaps_own_arrays([a, b], span)?;
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

    /// In a map, arrays of others than this iteration cannot be swapped.
    fn swaps_own_arrays(&mut self, names: [&ast::Ident; 2], span: Span) -> Option<()> {
        for name in names {
            let (Some(Named::Array(array)) | Some(Named::ElementOf(array))) = self.lookup(&name.name) else { continue };
            if self.info(array).level == self.level() {
                continue;
            }
            let headline = format!("`swap` in a map takes arrays of the iteration, but `{}` is none", name.name);
            return self.error(
                Diagnostic::new(Code::MisplacedSwap, span, headline)
                    .label("all iterations would change names of the same arrays")
                    .also(self.vars[array].span, "declared outside of the map"),
            );
        }
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
