//! What groups of lanes do together: loops that they share, statements of one lane, barriers.

use super::name;
use super::prim::functor;
use super::stmt::Printer;
use super::text::Text;
use hidp_ir::imp::visit::each_stmt;
use hidp_ir::imp::{Block, ExprKind, Level, Loop, LoopKind, Reduction, Share, Shuffle, Stmt, VarId, can_trap};
use hidp_ir::par::{FoldFn, Program};

/// The run time's type for a level.
pub const fn level(level: Level) -> &'static str {
    match level {
        // No group is the whole device: the verifier sees to it.
        Level::Kernel | Level::Block => "hidp::Block",
        Level::Warp => "hidp::Warp",
        Level::Subwarp => "hidp::Subwarp",
        Level::Subwarp2 => "hidp::Subwarp2",
        Level::Thread => "hidp::Thread",
    }
}

/// Whether running a block can raise the worker's trap.
pub fn raises(program: &Program, block: &Block) -> bool {
    let mut found = false;
    each_stmt(block, &mut |stmt| found |= raises_itself(program, stmt));
    found
}

fn raises_itself(program: &Program, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Fault { .. } | Stmt::Run { .. } | Stmt::CheckTrap => true,
        Stmt::Prim(prim) => !prim.sites.is_empty(),
        Stmt::Loop(Loop { kind: LoopKind::Spread { reductions, .. }, .. }) => combining_raises(program, reductions),
        Stmt::At(_)
        | Stmt::Let { .. }
        | Stmt::Set { .. }
        | Stmt::Store { .. }
        | Stmt::Atomic { .. }
        | Stmt::If { .. }
        | Stmt::Loop(_)
        | Stmt::Forever { .. }
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Scope { .. }
        | Stmt::Leave(_)
        | Stmt::Alloc { .. }
        | Stmt::Free(_)
        | Stmt::Scratch { .. }
        | Stmt::Part { .. }
        | Stmt::Either { .. }
        | Stmt::Prefetch { .. }
        | Stmt::Swap(..)
        | Stmt::Launch { .. }
        | Stmt::LaunchGrid { .. }
        | Stmt::Single { .. }
        | Stmt::Sync(_)
        | Stmt::Lanes { .. }
        | Stmt::Shuffle(_)
        | Stmt::Move { .. }
        | Stmt::StreamOut { .. }
        | Stmt::Group(_)
        | Stmt::InTurn(_)
        | Stmt::Wide(_) => false,
    }
}

fn combining_raises(program: &Program, reductions: &[Reduction]) -> bool {
    reductions.iter().any(|reduction| matches!(reduction.op, FoldFn::Fn(function) if can_trap(program, function)))
}

impl Printer<'_> {
    /// A loop whose iterations the parts of a group share.
    pub(super) fn spread(
        &mut self,
        node: &Loop,
        (group, over, share): (Level, Level, Share),
        reductions: &[Reduction],
        out: &mut Text,
    ) {
        let program = self.scope.program;
        let body_raises = raises(program, &node.body);
        let var = self.scope.name(node.var);
        let head = self.spread_head(node, group, over, share, out);
        out.open(head);
        if body_raises {
            out.line(format!("worker.at<{}>({var});", level(group)));
        }
        self.levels.push(over);
        self.ends.push(format!("end_of_{var}"));
        self.loop_body(&node.body, None, out);
        self.ends.pop();
        self.levels.pop();
        out.close("}");
        if body_raises {
            out.directive(format!("end_of_{var}:;"));
        }
        reductions.iter().for_each(|reduction| self.combine(group, over, reduction, out));
        if body_raises || combining_raises(program, reductions) {
            out.line(format!("if (hidp::settle<{}>(worker)) {}", level(group), self.leave()));
        }
    }

    fn spread_head(&self, node: &Loop, group: Level, over: Level, share: Share, out: &mut Text) -> String {
        let var = self.scope.name(node.var);
        let parts = format!("<{}, {}>(worker", level(group), level(over));
        let (lo, end) = (self.expr(&node.lo), self.bound(node, &node.hi, "end", out));
        let is_one = node.step.kind == ExprKind::Int(1);
        let step = if is_one { "1".to_owned() } else { self.bound(node, &node.step, "step", out) };
        match share {
            Share::Cyclic => {
                let by_step = if is_one { String::new() } else { format!(" * {step}") };
                let first = format!("int64_t(hidp::rank{parts})){by_step}");
                let from = if node.lo.kind == ExprKind::Int(0) { first } else { format!("({lo}) + {first}") };
                let advance = format!("{var} += int64_t(hidp::count{parts})){by_step}");
                format!("for (int64_t {var} = {from}; {var} < {end}; {advance}) {{")
            }
            Share::Blocked => {
                out.line(format!("const hidp::Part {var}_part = hidp::part{parts}, {lo}, {end}, {step});"));
                format!("for (int64_t {var} = {var}_part.begin; {var} < {var}_part.end; {var} += {step}) {{")
            }
        }
    }

    fn combine(&self, group: Level, over: Level, reduction: &Reduction, out: &mut Text) {
        let var = self.scope.name(reduction.var);
        let op = functor(&self.scope, reduction.op, name::ty(self.scope.program, reduction.ty));
        let template = format!("<{}, {}, {op}>", level(group), level(over));
        let number = self.scope.site(|numbers| numbers.reduction(reduction));
        match reduction.seen {
            None => out.line(format!("{var} = hidp::reduce_over{template}(worker, {var}{number});")),
            Some(seen) => {
                let seen = self.scope.name(seen);
                out.line(format!("{var} = hidp::reduce_seen{template}(worker, {var}, {seen}{number});"));
            }
        }
    }

    /// What the first lane does alone.
    pub(super) fn single(&mut self, group: Level, body: &Block, out: &mut Text) {
        out.open(format!("if (hidp::is_first<{}>(worker)) {{", level(group)));
        self.block(body, out);
        out.close("}");
    }

    /// What each lane does as a thread of its own.
    pub(super) fn lanes(&mut self, group: Level, lane: VarId, body: &Block, out: &mut Text) {
        out.open("{");
        let name = self.scope.name(lane);
        let attribute = if self.scope.usage.is_read(lane) { "" } else { "[[maybe_unused]] " };
        let ty = name::ty(self.scope.program, self.scope.var(lane).kind.element());
        out.line(format!("{attribute}const {ty} {name} = hidp::rank<{}, hidp::Thread>(worker);", level(group)));
        self.levels.push(Level::Thread);
        self.once(body, out);
        self.levels.pop();
        out.close("}");
    }

    /// Each lane gets a value of another one.
    pub(super) fn shuffle(&self, shuffle: &Shuffle, out: &mut Text) {
        let [to, from, of] = [shuffle.to, shuffle.from, shuffle.of].map(|var| self.scope.name(var));
        let (group, number) = (level(shuffle.group), self.scope.site(|numbers| numbers.shuffle(shuffle)));
        out.line(format!("{to}[0] = hidp::shuffle_from<{group}>(worker, {from}[0], uint32_t({of}[0]){number});"));
    }

    /// Leaves if a function has raised: all lanes of the group if one of them has.
    pub(super) fn check_trap(&self, out: &mut Text) {
        let condition = match self.levels.last() {
            None | Some(Level::Thread) => format!("HIDP_UNLIKELY({}.raised)", self.dialect.trap()),
            Some(group) => format!("hidp::settle<{}>(worker)", level(*group)),
        };
        out.line(format!("if ({condition}) {}", self.leave()));
    }
}
