//! Memory that the threads of a block share, and what each of them has for itself.

use super::device::{Scope, lanes_of};
use super::{Checker, INT, Surroundings, size_of_ty};
use crate::imp::visit::{accessed, each_expr, each_stmt, each_subexpr, stmt_exprs};
use crate::imp::{
    Block, Element, ExprKind, Function, Level, Loop, LoopKind, Prim, PrimArg, Shuffle, Stmt, VarId, VarKind,
};
use crate::par::Program;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::Ty;

/// Bytes that a block may have without asking for more.
pub(super) const MOST_SHARED: usize = 48 << 10;
/// Bytes that one access moves at most.
const MOST_MOVED: usize = 16;

impl Checker<'_> {
    /// A shared array or registers are introduced by all lanes of a group together.
    pub(super) fn of_group(&mut self, var: VarId, around: &Surroundings) {
        let level = around.scope.as_ref().filter(|scope| !scope.single).map(|scope| scope.level);
        let of_group = level.is_some_and(|level| level != Level::Thread);
        match self.kind(var) {
            VarKind::Shared { declared: true, .. } => {
                let of_item =
                    of_group && level == self.kernel.and_then(|id| self.unit.kernels[id].grid).map(|grid| grid.level);
                self.require(
                    of_item,
                    "a shared array that the program declares is introduced in the scope of an item's group",
                );
            }
            VarKind::Shared { declared: false, .. } => {
                self.require(level == Some(Level::Block), "a shared array is introduced in the scope of a block");
            }
            VarKind::Value(_)
            | VarKind::Buffer { .. }
            | VarKind::HostCell { .. }
            | VarKind::Tile { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { .. } => self.require(of_group, "registers are introduced in the scope of a group"),
        }
    }

    pub(super) fn lanes(&mut self, group: Level, lane: VarId, body: &Block, around: &Surroundings) {
        self.collective(group, around, "`lanes`");
        self.require(group != Level::Thread, "`lanes` goes to the threads of a group");
        let before = self.visible.len();
        let is_number = matches!(self.kind(lane), VarKind::Value(ty) if [Ty::LONG, INT].contains(&ty));
        self.require(is_number, "the number of a lane is a `long` value, or an `int`");
        self.introduce(lane);
        self.read_only.insert(lane);
        let scope = around.scope.as_ref().map(|_| Scope {
            level: Level::Thread,
            single: false,
            outside: before,
            reductions: Vec::new(),
            lanes: true,
            own: true,
        });
        self.block(body, &Surroundings { scope, in_loop: false, labels: Vec::new(), in_simd: false, lanes: None });
        self.visible.truncate(before);
    }

    /// Registers hold something else in each lane.
    pub(super) fn registers(&mut self, stmt: &Stmt, scope: &Scope) {
        let mut used: Vec<VarId> = if let Stmt::Shuffle(_) = stmt { Vec::new() } else { accessed(stmt) };
        // What is broadcast, one lane evaluates.
        let nodes = stmt_exprs(stmt).into_iter().filter(|node| !matches!(node.kind, ExprKind::Broadcast(..)));
        nodes.for_each(|node| each_subexpr(node, &mut |sub| used.extend(loaded(&sub.kind))));
        let any = used.into_iter().any(|var| matches!(self.kind(var), VarKind::Registers { .. }));
        self.require(!any || scope.own, "registers are accessed where it is known which lane is alone");
    }

    pub(super) fn shuffle(&mut self, shuffle: &Shuffle, around: &Surroundings) {
        self.collective(shuffle.group, around, "`shuffle`");
        self.require(lanes_of(shuffle.group).is_some(), "lanes of a warp or less exchange values");
        let mut element = |var: VarId| {
            self.use_var(var);
            match self.kind(var) {
                VarKind::Registers { elem, len: 1 } => Some(elem),
                VarKind::Registers { .. }
                | VarKind::Value(_)
                | VarKind::Buffer { .. }
                | VarKind::HostCell { .. }
                | VarKind::Tile { .. }
                | VarKind::Shared { .. }
                | VarKind::Divisor(_)
                | VarKind::Wide { .. }
                | VarKind::WideTile { .. } => None,
            }
        };
        let (to, from, of) = (element(shuffle.to), element(shuffle.from), element(shuffle.of));
        let fits = to.is_some() && to == from && of == Some(Ty::LONG);
        self.require(fits, "lanes exchange what registers of one element hold, and say in a `long` of whom");
    }

    pub(super) fn moved(&mut self, to: &Element, from: &Element, count: u32) {
        let (written, read) = (self.element(to), self.element(from));
        self.writable(to);
        self.require(self.on_device() && !self.is_host(), "`move` stands in kernels of device units only");
        let whole = to.path.is_empty() && from.path.is_empty() && !to.relaxed && !from.relaxed;
        self.require(written == read && whole, "whole elements of one type are moved");
        let bytes = count as usize * size_of_ty(self.program, read);
        let fits = count > 1 && bytes.is_power_of_two() && bytes <= MOST_MOVED;
        self.require(fits, "a power of two of bytes is moved, at most 16");
        let own = |kind| matches!(kind, VarKind::Tile { .. } | VarKind::Registers { .. });
        let memory = |kind| matches!(kind, VarKind::Buffer { .. } | VarKind::Shared { .. });
        let (to, from) = (self.kind(to.base), self.kind(from.base));
        let crosses = (own(to) && memory(from)) || (memory(to) && own(from));
        self.require(crosses, "elements are moved between memory and a lane's own");
    }

    /// The size of shared arrays, and barriers between accesses of different lanes.
    pub(super) fn shared_arrays(&mut self) {
        let is_shared = |kind| matches!(kind, VarKind::Shared { .. });
        let vars = self.function.vars.iter();
        let arrays: OrdSet<VarId> = vars.filter(|(_, var)| is_shared(var.kind)).map(|(id, _)| id).collect();
        if arrays.is_empty() {
            return;
        }
        self.statement.clear();
        let bytes = shared_bytes(self.program, self.function);
        self.require(bytes <= MOST_SHARED, "the shared arrays of a kernel have at most 48 KiB");
        let declared = |var: &VarId| matches!(self.kind(*var), VarKind::Shared { declared: true, .. });
        let declared = arrays.iter().copied().filter(declared).collect();
        let mut walk = Walk {
            arrays,
            declared,
            pending: Pending::default(),
            left: Pending::default(),
            jumped: Pending::default(),
            wrong: Vec::new(),
        };
        // One item after the other.
        walk.block(&self.function.body);
        walk.pending.join(&std::mem::take(&mut walk.left));
        walk.block(&self.function.body);
        for stmt in walk.wrong {
            self.at(stmt);
            self.fail("a `sync` stands between accesses of different lanes to a shared array");
        }
    }
}

/// Bytes of a kernel's shared arrays, each as aligned as the widest access.
pub fn shared_bytes(program: &Program, function: &Function) -> usize {
    let bytes = |kind: VarKind| match kind {
        VarKind::Shared { elem, len, declared: _ } => {
            (len as usize * size_of_ty(program, elem)).next_multiple_of(MOST_MOVED)
        }
        VarKind::Value(_)
        | VarKind::Buffer { .. }
        | VarKind::HostCell { .. }
        | VarKind::Tile { .. }
        | VarKind::Registers { .. }
        | VarKind::Divisor(_)
        | VarKind::Wide { .. }
        | VarKind::WideTile { .. } => 0,
    };
    function.vars.iter().map(|(_, var)| bytes(var.kind)).sum()
}

fn loaded(kind: &ExprKind) -> Option<VarId> {
    match kind {
        ExprKind::Load(element) => Some(element.base),
        _ => None,
    }
}

/// Accesses since the last barrier: of the first lane, and of any.
#[derive(Clone, Default)]
struct Pending {
    first: Touched,
    all: Touched,
}

#[derive(Clone, Default)]
struct Touched {
    reads: OrdSet<VarId>,
    writes: OrdSet<VarId>,
}

impl Touched {
    fn join(&mut self, other: &Touched) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }
    fn conflicts(&self, later: &Touched) -> bool {
        let meets = |a: &OrdSet<VarId>, b: &OrdSet<VarId>| !a.is_disjoint(b);
        meets(&self.writes, &later.reads) || meets(&self.writes, &later.writes) || meets(&self.reads, &later.writes)
    }
}

impl Pending {
    fn join(&mut self, other: &Pending) {
        self.first.join(&other.first);
        self.all.join(&other.all);
    }
}

struct Walk<'a> {
    arrays: OrdSet<VarId>,
    /// Those of the program, whose accesses in one map do not conflict.
    declared: OrdSet<VarId>,
    pending: Pending,
    /// What was pending where a scope is left.
    left: Pending,
    /// The same where a loop is, or its turn.
    jumped: Pending,
    wrong: Vec<&'a Stmt>,
}

impl<'a> Walk<'a> {
    fn block(&mut self, block: &'a Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // Of the scope that is walked.
            Stmt::Sync(_) => self.pending = Pending::default(),
            Stmt::Single { body, .. } => {
                let touched = self.touched(body);
                self.access(stmt, true, touched);
            }
            Stmt::Lanes { body, .. } | Stmt::Loop(Loop { kind: LoopKind::Spread { .. }, body, .. }) => {
                let touched = self.touched(body);
                let both = touched.reads.intersection(&touched.writes);
                if both.into_iter().any(|var| !self.declared.contains(var)) {
                    self.wrong.push(stmt);
                }
                self.parts(stmt);
                self.access(stmt, false, touched);
            }
            // It ends in a barrier of its own.
            Stmt::Prim(prim) => {
                let touched = self.of_prim(prim);
                self.access(stmt, false, touched);
                self.pending = Pending::default();
            }
            Stmt::Loop(node) => self.repeated(&[&node.body]),
            Stmt::Forever { body, step } => self.repeated(&[body, step]),
            Stmt::If { then, otherwise, .. } => {
                let before = self.pending.clone();
                self.block(then);
                let after = std::mem::replace(&mut self.pending, before);
                self.block(otherwise);
                self.pending.join(&after);
            }
            Stmt::Scope { body, .. } => {
                let around = std::mem::take(&mut self.left);
                self.block(body);
                self.pending.join(&std::mem::replace(&mut self.left, around));
            }
            Stmt::Break | Stmt::Continue => self.jumped.join(&self.pending),
            Stmt::Leave(_) => self.left.join(&self.pending),
            // The first lane loads what all get.
            _ => {
                let mut touched = Touched::default();
                for node in stmt_exprs(stmt) {
                    each_subexpr(node, &mut |sub| self.read(loaded(&sub.kind), &mut touched));
                }
                self.access(stmt, true, touched);
            }
        }
    }

    /// Groups below that share iterations have barriers of their own.
    fn parts(&mut self, stmt: &'a Stmt) {
        if let Stmt::Loop(Loop { kind: LoopKind::Spread { over, .. }, body, .. }) = stmt
            && *over != Level::Thread
        {
            let around = (std::mem::take(&mut self.pending), std::mem::take(&mut self.left));
            self.repeated(&[body]);
            (self.pending, self.left) = around;
        }
    }

    /// A primitive may read and write whatever it gets.
    fn of_prim(&self, prim: &Prim) -> Touched {
        let mut touched = Touched::default();
        for arg in &prim.args {
            match arg {
                PrimArg::Address { base, .. } => {
                    self.read(Some(*base), &mut touched);
                    self.write(*base, &mut touched);
                }
                PrimArg::Value(value) => each_subexpr(value, &mut |sub| self.read(loaded(&sub.kind), &mut touched)),
                PrimArg::Out(_) => {}
            }
        }
        touched
    }

    fn access(&mut self, stmt: &'a Stmt, first: bool, touched: Touched) {
        let Pending { first: by_first, all } = &mut self.pending;
        if all.conflicts(&touched) || (!first && by_first.conflicts(&touched)) {
            self.wrong.push(stmt);
        }
        if first { by_first.join(&touched) } else { all.join(&touched) }
    }

    /// What is pending at the end is so at the start.
    fn repeated(&mut self, blocks: &[&'a Block]) {
        let before = self.pending.clone();
        let around = std::mem::take(&mut self.jumped);
        for _ in 0..2 {
            blocks.iter().for_each(|block| self.block(block));
            self.pending.join(&self.jumped.clone());
        }
        self.jumped = around;
        self.pending.join(&before);
    }

    fn touched(&self, block: &Block) -> Touched {
        let mut touched = Touched::default();
        each_stmt(block, &mut |stmt| match stmt {
            Stmt::Store { target, .. } | Stmt::Atomic { target, .. } => self.write(target.base, &mut touched),
            Stmt::Move { to, from, .. } => {
                self.write(to.base, &mut touched);
                self.read(Some(from.base), &mut touched);
            }
            Stmt::Prim(prim) => touched.join(&self.of_prim(prim)),
            _ => {}
        });
        each_expr(block, &mut |node| self.read(loaded(&node.kind), &mut touched));
        touched
    }

    fn read(&self, var: Option<VarId>, touched: &mut Touched) {
        touched.reads.extend(var.filter(|var| self.arrays.contains(var)));
    }

    fn write(&self, var: VarId, touched: &mut Touched) {
        if self.arrays.contains(&var) {
            touched.writes.insert(var);
        }
    }
}
