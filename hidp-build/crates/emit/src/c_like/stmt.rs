//! Statements of `imp`.

use super::expr::expr;
use super::group::level;
use super::memory::{self, Memory};
use super::text::Text;
use super::{Dialect, Scope, name, prim};
use hidp_ir::imp::visit::{each_subexpr, stmt_exprs};
use hidp_ir::imp::{Block, CopiedRow, Expr, ExprKind, Level, Loop, LoopKind, PackedRows, SiteId, Stmt, VarId, VarKind};
use hidp_syntax::index::Id;
use hidp_syntax::source::Span;

/// Prints the body of one function.
pub struct Printer<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) dialect: &'a dyn Dialect,
    /// The levels of the groups that run what is printed, where groups of lanes do.
    pub(super) levels: Vec<Level>,
    /// For each enclosing loop that lanes share, the label behind it.
    pub(super) ends: Vec<String>,
    /// Where the statement comes from that is being printed.
    span: Option<Span>,
    /// For each enclosing loop, the label before its step if `continue` must go there.
    loops: Vec<Option<u32>>,
    labels: u32,
}

impl<'a> Printer<'a> {
    /// A printer for one function; `span` is where statements without a position of their own belong.
    pub fn new(scope: Scope<'a>, dialect: &'a dyn Dialect, span: Option<Span>) -> Self {
        let levels = dialect.group().into_iter().collect();
        Self { scope, dialect, levels, ends: Vec::new(), span, loops: Vec::new(), labels: 0 }
    }

    /// The statements of a block, without braces.
    pub fn block(&mut self, block: &Block, out: &mut Text) {
        let around = self.span;
        for stmt in &block.stmts {
            self.stmt(stmt, out);
        }
        self.span = around;
        self.back_to_span(out);
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Text) {
        self.print(stmt, out);
        // Blocks look before they begin, and a fault leaves anyhow.
        let leaves = matches!(stmt, Stmt::If { .. } | Stmt::Loop(_) | Stmt::Fault { .. });
        if !leaves && stmt_exprs(stmt).into_iter().any(|node| self.waits(node)) {
            self.look(out);
        }
    }

    fn print(&mut self, stmt: &Stmt, out: &mut Text) {
        match stmt {
            Stmt::At(span) => self.move_to(*span, out),
            Stmt::Let { var, init } => self.declare(*var, init.as_ref(), out),
            Stmt::Set { var, path, value } => self.set(*var, path, value, out),
            Stmt::Store { target, value } => {
                out.line(memory::store(&self.scope, self.dialect, target, value.ty, &self.expr(value)));
            }
            Stmt::Atomic { target, op, value } => {
                out.line(memory::atomic(&self.scope, self.dialect, target, *op, value));
            }
            Stmt::If { cond, then, otherwise } => self.branch("if", cond, then, otherwise, out),
            Stmt::Loop(node) => self.counted_loop(node, out),
            Stmt::Forever { body, step } => self.forever(body, step, out),
            Stmt::Break => out.line("break;"),
            Stmt::Continue => self.next_iteration(out),
            Stmt::Scope { label, body } => self.labelled(*label, body, out),
            Stmt::Leave(Some(label)) => out.line(format!("goto leave_{label};")),
            Stmt::Leave(None) => out.line(self.dialect.leave()),
            Stmt::Fault { site, values } => self.fault(*site, values, out),
            Stmt::CheckTrap => self.check_trap(out),
            Stmt::Single { group, body } => self.single(*group, body, out),
            Stmt::Sync(group) => out.line(format!("hidp::sync<{}>(worker);", level(*group))),
            Stmt::Lanes { group, lane, body } => self.lanes(*group, *lane, body, out),
            Stmt::Shuffle(shuffle) => self.shuffle(shuffle, out),
            Stmt::Move { to, from, count } => {
                out.line(memory::moved(&self.scope, self.dialect, to, from, *count));
            }
            Stmt::Group(group) => self.group_of_lanes(group, out),
            Stmt::InTurn(turn) => self.in_turn(turn, out),
            Stmt::Wide(stmt) => self.wide_stmt(stmt, out),
            Stmt::Prim(prim) => prim::call(&self.scope, self.dialect, prim, &self.leave(), out),
            Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Scratch { .. }
            | Stmt::Part { .. }
            | Stmt::Either { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Swap(..)
            | Stmt::Run { .. }
            | Stmt::Launch { .. }
            | Stmt::LaunchGrid { .. }
            | Stmt::StreamOut { .. } => self.dialect.special(&self.scope, stmt, &self.leave(), out),
        }
    }

    pub(super) fn expr(&self, node: &Expr) -> String {
        expr(&self.scope, self.dialect, node).text
    }

    /// The statement that ends what is being done after a fault: the iterations that this lane has of a shared loop, or all.
    pub(super) fn leave(&self) -> String {
        self.ends.last().map_or_else(|| self.dialect.leave().to_owned(), |end| format!("goto {end};"))
    }

    /// Whether evaluating an expression waits for a device, which may have failed by then.
    fn waits(&self, node: &Expr) -> bool {
        let mut found = false;
        each_subexpr(node, &mut |inner| {
            if let ExprKind::Load(element) = &inner.kind {
                found |= self.dialect.memory(self.scope.var(element.base).kind) == Memory::Remote;
            }
        });
        found
    }

    /// Leaves if the device has failed.
    fn look(&self, out: &mut Text) {
        out.line(format!("if (HIDP_UNLIKELY({}.failed())) {}", self.dialect.frame(), self.leave()));
    }

    /// An expression, evaluated before what depends on it if the device has to be waited for.
    fn settled(&mut self, node: &Expr, out: &mut Text) -> String {
        let text = self.expr(node);
        if !self.waits(node) {
            return text;
        }
        let name = format!("settled_{}", self.labels);
        self.labels += 1;
        out.line(format!("const {} {name} = {text};", name::ty(self.scope.program, node.ty)));
        self.look(out);
        name
    }

    /// Lines that follow belong to this place.
    fn move_to(&mut self, span: Span, out: &mut Text) {
        self.span = Some(span);
        out.at(self.scope.sources, span);
    }

    /// Lines that follow belong to the statement that is being printed, or to no place of the source.
    fn back_to_span(&self, out: &mut Text) {
        match self.span {
            Some(span) => out.at(self.scope.sources, span),
            None => out.here(),
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
                format!("[[maybe_unused]] alignas(64) {} {name}[{}];", name::ty(self.scope.program, elem), len.max(1))
            }
            VarKind::Divisor(ty) => {
                let ty = format!("hidp::Divisor<{}>", name::scalar(ty));
                let value = init.map_or(String::new(), |init| self.expr(init));
                format!("const {ty} {name} = {ty}({value});")
            }
            // Introduced by statements of their own.
            VarKind::Wide { .. } | VarKind::WideTile { .. } => return,
            VarKind::Registers { elem, len } => {
                format!("{} {name}[{}];", name::ty(self.scope.program, elem), len.max(1))
            }
            VarKind::Shared { elem, len, declared: _ } => {
                let elem = name::ty(self.scope.program, elem);
                return out.line(format!("HIDP_SHARED({elem}, {name}, {});", len.max(1)));
            }
            VarKind::Buffer { elem, writable } | VarKind::HostCell { elem, writable } => {
                let init = init.map_or("{}".to_owned(), |init| format!(" = {}", self.expr(init)));
                format!("{}{name}{init};", self.dialect.buffer(&self.scope, elem, writable))
            }
        };
        out.line(format!("{attribute}{declaration}"));
    }

    fn set(&self, var: VarId, path: &[u32], value: &Expr, out: &mut Text) {
        let fields = match self.scope.var(var).kind {
            VarKind::Value(ty) => name::path(self.scope.program, ty, path),
            VarKind::Buffer { .. }
            | VarKind::HostCell { .. }
            | VarKind::Tile { .. }
            | VarKind::Shared { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { .. } => String::new(),
        };
        out.line(format!("{}{fields} = {};", self.scope.name(var), self.expr(value)));
    }

    fn branch(&mut self, keyword: &str, cond: &Expr, then: &Block, otherwise: &Block, out: &mut Text) {
        let head = format!("{keyword} ({}) {{", self.settled(cond, out));
        if keyword == "if" {
            out.open(head)
        } else {
            out.reopen(head)
        }
        self.block(then, out);
        match otherwise.stmts.as_slice() {
            [] => out.close("}"),
            [Stmt::At(span), Stmt::If { cond, then, otherwise }] if !self.waits(cond) => {
                let around = self.span;
                self.move_to(*span, out);
                self.branch("} else if", cond, then, otherwise, out);
                self.span = around;
                self.back_to_span(out);
            }
            [Stmt::If { cond, then, otherwise }] if !self.waits(cond) => {
                self.branch("} else if", cond, then, otherwise, out)
            }
            _ => {
                out.reopen("} else {");
                self.block(otherwise, out);
                out.close("}");
            }
        }
    }

    /// What stands for a bound in a loop's head: evaluated once, before the loop.
    pub(super) fn bound(&self, node: &Loop, bound: &Expr, role: &str, out: &mut Text) -> String {
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
        out.line(format!("const {} {name} = {text};", name::ty(self.scope.program, bound.ty)));
        if self.waits(bound) {
            self.look(out);
        }
        name
    }

    fn counted_loop(&mut self, node: &Loop, out: &mut Text) {
        if let LoopKind::Spread { group, over, share, reductions } = &node.kind {
            return self.spread(node, (*group, *over, *share), reductions, out);
        }
        if node.kind == LoopKind::Across
            && let Some(row) = CopiedRow::of(&node.body)
        {
            return self.across(node, &row, out);
        }
        if node.kind == LoopKind::Pack
            && let Some(rows) = PackedRows::of(node)
        {
            return self.pack(&rows, out);
        }
        let lo = self.settled(&node.lo, out);
        let end = self.bound(node, &node.hi, "end", out);
        let var = self.scope.name(node.var);
        let advance = match node.step.kind {
            ExprKind::Int(1) => format!("++{var}"),
            _ => format!("{var} += {}", self.bound(node, &node.step, "step", out)),
        };
        match &node.kind {
            LoopKind::Seq | LoopKind::Across | LoopKind::Pack | LoopKind::Spread { .. } => {}
            LoopKind::Unroll(factor) => out.directive(self.dialect.unroll(*factor)),
            LoopKind::Simd { reductions } => out.directive(self.dialect.simd_pragma(&self.scope, reductions)),
        }
        let ty = name::ty(self.scope.program, node.lo.ty);
        out.open(format!("for ({ty} {var} = {lo}; {var} < {end}; {advance}) {{"));
        self.loop_body(&node.body, None, out);
        out.close("}");
    }

    fn forever(&mut self, body: &Block, step: &Block, out: &mut Text) {
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

    pub(super) fn loop_body(&mut self, body: &Block, continue_label: Option<u32>, out: &mut Text) {
        if let Some((begin, end)) = self.scope.numbers.and_then(|numbers| numbers.body(body)) {
            out.line(format!("HIDP_ITERATION({begin}, {end});"));
        }
        self.loops.push(continue_label);
        self.block(body, out);
        self.loops.pop();
    }

    /// What is no loop, but out of which no loop around is left.
    pub(super) fn once(&mut self, body: &Block, out: &mut Text) {
        self.loops.push(None);
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
        out.line(self.leave());
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
