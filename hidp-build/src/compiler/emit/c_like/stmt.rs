//! Statements of `imp`.

use super::expr::{access_function, element, expr};
use super::text::Text;
use super::{Dialect, Scope, name};
use crate::compiler::index::Id;
use crate::compiler::ir::imp::{Block, Element, Expr, ExprKind, Loop, LoopKind, SiteId, Stmt, VarId, VarKind};
use crate::compiler::ir::par::FoldFn;
use crate::compiler::source::Span;
use crate::compiler::ty::Ty;

/// Prints the body of one function.
pub struct Printer<'a> {
    scope: Scope<'a>,
    dialect: &'a dyn Dialect,
    span: Option<Span>,
    /// For each enclosing loop, the label before its step if `continue` must go there.
    loops: Vec<Option<u32>>,
    labels: u32,
}

impl<'a> Printer<'a> {
    /// A printer for one function; `span` is where statements without a position of their own belong.
    pub fn new(scope: Scope<'a>, dialect: &'a dyn Dialect, span: Option<Span>) -> Self {
        Self { scope, dialect, span, loops: Vec::new(), labels: 0 }
    }

    /// The statements of a block, without braces.
    pub fn block(&mut self, block: &Block, out: &mut Text) {
        for stmt in &block.stmts {
            self.stmt(stmt, out);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Text) {
        match stmt {
            Stmt::Let { var, init } => self.declare(*var, init.as_ref(), out),
            Stmt::Set { var, path, value } => self.set(*var, path, value, out),
            Stmt::Store { target, value } => self.store(target, value, out),
            Stmt::Atomic { target, op, value } => self.atomic(target, *op, value, out),
            Stmt::If { cond, then, otherwise } => self.branch("if", cond, then, otherwise, out),
            Stmt::Loop(node) => self.counted_loop(node, out),
            Stmt::Forever { body, step } => self.forever(body, step, out),
            Stmt::Break => out.line("break;"),
            Stmt::Continue => self.next_iteration(out),
            Stmt::Scope { label, body } => self.labelled(*label, body, out),
            Stmt::Leave(Some(label)) => out.line(format!("goto leave_{label};")),
            Stmt::Leave(None) => out.line(self.dialect.leave()),
            Stmt::Fault { site, values } => self.fault(*site, values, out),
            Stmt::CheckTrap => {
                out.line(format!("if (HIDP_UNLIKELY({}.raised)) {}", self.dialect.trap(), self.dialect.leave()));
            }
            Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Scratch { .. }
            | Stmt::Swap(..)
            | Stmt::Launch { .. }
            | Stmt::LaunchGrid { .. }
            | Stmt::Single { .. }
            | Stmt::Sync(_)
            | Stmt::StreamOut { .. }
            | Stmt::Prim(_) => self.dialect.special(&self.scope, stmt, out),
        }
    }

    fn expr(&self, node: &Expr) -> String {
        expr(&self.scope, self.dialect, node).text
    }

    /// Lines that follow belong to the construct as a whole.
    fn back_to_span(&self, out: &mut Text) {
        if let Some(span) = self.span {
            out.at(self.scope.sources, span);
        }
    }

    fn declare(&self, var: VarId, init: Option<&Expr>, out: &mut Text) {
        let usage = self.scope.usage;
        let attribute = if usage.is_read(var) { "" } else { "[[maybe_unused]] " };
        let name = self.scope.name(var);
        let declaration = match self.scope.var(var).kind {
            VarKind::Value(ty) => {
                let ty = name::ty(self.scope.program, ty);
                let constant = if init.is_some() && !usage.is_changed(var) { "const " } else { "" };
                let init = init.map_or(String::new(), |init| format!(" = {}", self.expr(init)));
                format!("{constant}{ty} {name}{init};")
            }
            VarKind::Tile { elem, len } => {
                format!("alignas(64) {} {name}[{}];", name::ty(self.scope.program, elem), len.max(1))
            }
            VarKind::Buffer { elem, .. } | VarKind::HostCell { elem, .. } => {
                let init = init.map_or("nullptr".to_owned(), |init| self.expr(init));
                format!("{} *{name} = {init};", name::ty(self.scope.program, elem))
            }
        };
        out.line(format!("{attribute}{declaration}"));
    }

    fn set(&self, var: VarId, path: &[u32], value: &Expr, out: &mut Text) {
        let fields = match self.scope.var(var).kind {
            VarKind::Value(ty) => name::path(self.scope.program, ty, path),
            VarKind::Buffer { .. } | VarKind::HostCell { .. } | VarKind::Tile { .. } => String::new(),
        };
        out.line(format!("{}{fields} = {};", self.scope.name(var), self.expr(value)));
    }

    fn store(&self, target: &Element, value: &Expr, out: &mut Text) {
        let text = self.expr(value);
        if target.relaxed {
            let function = access_function("store_relaxed", value.ty);
            let of_type = self.cast(target, value.ty).map_or(String::new(), |ty| format!("<{ty}>"));
            out.line(format!("{function}{of_type}({}, {text});", self.address(target, value.ty)));
        } else {
            out.line(format!("{} = {text};", element(&self.scope, self.dialect, target)));
        }
    }

    /// The type to access a field of a native struct as: its own may have the same layout but another name, such as `long long`.
    fn cast(&self, target: &Element, ty: Ty) -> Option<&'static str> {
        let has_natives = self.scope.program.structs.iter().any(|(_, item)| item.native);
        ty.scalar().filter(|_| has_natives && !target.path.is_empty()).map(name::scalar)
    }

    /// Where an element lies.
    fn address(&self, target: &Element, ty: Ty) -> String {
        let place = element(&self.scope, self.dialect, target);
        self.cast(target, ty).map_or_else(|| format!("&{place}"), |ty| format!("({ty} *)&{place}"))
    }

    fn atomic(&self, target: &Element, op: FoldFn, value: &Expr, out: &mut Text) {
        let address = self.address(target, value.ty);
        let function = match op {
            FoldFn::Add => "add",
            FoldFn::Mul => "mul",
            FoldFn::Min => "min",
            FoldFn::Max => "max",
            FoldFn::And => "and",
            FoldFn::Or => "or",
            FoldFn::Xor => "xor",
            FoldFn::Fn(_) => "call",
        };
        let ty = name::ty(self.scope.program, value.ty);
        out.line(format!("hidp::atomic_{function}<{ty}>({address}, {});", self.expr(value)));
    }

    fn branch(&mut self, keyword: &str, cond: &Expr, then: &Block, otherwise: &Block, out: &mut Text) {
        let head = format!("{keyword} ({}) {{", self.expr(cond));
        if keyword == "if" {
            out.open(head)
        } else {
            out.reopen(head)
        }
        self.block(then, out);
        match otherwise.stmts.as_slice() {
            [] => out.close("}"),
            [Stmt::If { cond, then, otherwise }] => self.branch("} else if", cond, then, otherwise, out),
            _ => {
                out.reopen("} else {");
                self.block(otherwise, out);
                out.close("}");
            }
        }
    }

    /// What stands for a bound in a loop's head: evaluated once, before the loop.
    fn bound(&self, node: &Loop, bound: &Expr, role: &str, out: &mut Text) -> String {
        let text = self.expr(bound);
        let is_fixed = match &bound.kind {
            ExprKind::Int(_) => true,
            ExprKind::Var(var) => !self.scope.usage.is_changed(*var),
            _ => false,
        };
        if is_fixed {
            return text;
        }
        let name = format!("{}_{role}", self.scope.name(node.var));
        out.line(format!("const int64_t {name} = {text};"));
        name
    }

    fn counted_loop(&mut self, node: &Loop, out: &mut Text) {
        self.back_to_span(out);
        let end = self.bound(node, &node.hi, "end", out);
        let var = self.scope.name(node.var);
        let advance = match node.step.kind {
            ExprKind::Int(1) => format!("++{var}"),
            _ => format!("{var} += {}", self.bound(node, &node.step, "step", out)),
        };
        match &node.kind {
            // Spread loops are of devices, whose dialect prints them.
            LoopKind::Seq | LoopKind::Spread { .. } => {}
            LoopKind::Unroll(factor) => out.directive(format!("#pragma GCC unroll {factor}")),
            LoopKind::Simd { reductions } => out.directive(self.dialect.simd_pragma(&self.scope, reductions)),
        }
        out.open(format!("for (int64_t {var} = {}; {var} < {end}; {advance}) {{", self.expr(&node.lo)));
        self.loop_body(&node.body, None, out);
        out.close("}");
    }

    fn forever(&mut self, body: &Block, step: &Block, out: &mut Text) {
        self.back_to_span(out);
        out.open("for (;;) {");
        if step.stmts.is_empty() || !continues(body) {
            self.loop_body(body, None, out);
        } else {
            let label = self.labels;
            self.labels += 1;
            out.open("{");
            self.loop_body(body, Some(label), out);
            out.close("}");
            out.directive(format!("next_{label}:;"));
        }
        self.block(step, out);
        out.close("}");
    }

    fn loop_body(&mut self, body: &Block, continue_label: Option<u32>, out: &mut Text) {
        self.loops.push(continue_label);
        self.block(body, out);
        self.loops.pop();
    }

    fn next_iteration(&self, out: &mut Text) {
        match self.loops.last() {
            Some(Some(label)) => out.line(format!("goto next_{label};")),
            Some(None) | None => out.line("continue;"),
        }
    }

    fn labelled(&mut self, label: u32, body: &Block, out: &mut Text) {
        out.open("{");
        self.block(body, out);
        out.close("}");
        if self.scope.usage.is_left(label) {
            out.directive(format!("leave_{label}:;"));
        }
    }

    fn fault(&self, site: SiteId, values: &[Expr], out: &mut Text) {
        let mut args = vec![site.index().to_string()];
        if !values.is_empty() {
            args.push(values.len().to_string());
        }
        args.extend(values.iter().map(|value| self.expr(value)));
        if let Some(site) = self.scope.entry.sites.get(site) {
            out.at(self.scope.sources, site.span);
        }
        out.line(format!("{}.raise({});", self.dialect.trap(), args.join(", ")));
        out.line(self.dialect.leave());
        self.back_to_span(out);
    }
}

/// Whether a `continue` of this very loop is in a block.
fn continues(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match stmt {
        Stmt::Continue => true,
        Stmt::If { then, otherwise, .. } => continues(then) || continues(otherwise),
        Stmt::Scope { body, .. } => continues(body),
        _ => false,
    })
}
