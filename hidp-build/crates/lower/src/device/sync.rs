//! Barriers: inserted where lanes of a group read or overwrite what other lanes wrote, or overwrite what others read, since the last
//! barrier. The first lane runs `single` code and loads broadcast values, so it needs no barrier for its own accesses.

use hidp_ir::imp::visit::{each_expr, each_stmt, each_subexpr};
use hidp_ir::imp::{Block, Expr, ExprKind, Function, Level, Loop, LoopKind, Prim, PrimArg, Stmt, VarId, VarKind};
use hidp_syntax::ordered::OrdSet;

/// Puts barriers into a kernel that groups of this level run. The parameters `private` hold memory that a group uses for one item
/// after the other.
pub(super) fn insert(function: &mut Function, level: Level, private: &OrdSet<VarId>) {
    if level == Level::Thread {
        return;
    }
    let kept: OrdSet<VarId> = function.params.iter().copied().collect();
    let is_shared = |var: VarId| matches!(function.vars[var].kind, VarKind::Shared { .. });
    let buffer = |var: VarId| {
        is_shared(var) || (kept.contains(&var) && matches!(function.vars[var].kind, VarKind::Buffer { .. }))
    };
    let shared = function.vars.iter().map(|(var, _)| var).filter(|var| is_shared(*var));
    let private = &private.iter().copied().chain(shared).collect();
    let pass = Pass { private, is_buffer: &buffer };
    let mut pending = Pending::default();
    let mut escaped = Pending::default();
    let mut body = std::mem::take(&mut function.body);
    pass.block(&mut body, level, &mut pending, &mut escaped);
    pending.join(&escaped);
    if pending.touches(private) {
        body.stmts.push(Stmt::Sync(level));
    }
    function.body = body;
}

/// Buffers that a piece of code accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Touched {
    reads: OrdSet<VarId>,
    writes: OrdSet<VarId>,
}

impl Touched {
    fn join(&mut self, other: &Touched) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }
    /// Whether the order of the two matters.
    fn conflicts(&self, later: &Touched) -> bool {
        let meets = |a: &OrdSet<VarId>, b: &OrdSet<VarId>| !a.is_disjoint(b);
        meets(&self.writes, &later.reads) || meets(&self.writes, &later.writes) || meets(&self.reads, &later.writes)
    }
}

/// Who runs a piece of code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    First,
    All,
}

/// What happened since the last barrier.
#[derive(Clone, Debug, Default)]
struct Pending {
    first: Touched,
    all: Touched,
}

impl Pending {
    fn join(&mut self, other: &Pending) {
        self.first.join(&other.first);
        self.all.join(&other.all);
    }
    fn conflicts(&self, who: Who, later: &Touched) -> bool {
        self.all.conflicts(later) || (who == Who::All && self.first.conflicts(later))
    }
    fn add(&mut self, who: Who, touched: &Touched) {
        match who {
            Who::First => self.first.join(touched),
            Who::All => self.all.join(touched),
        }
    }
    fn keep(&mut self, vars: &OrdSet<VarId>) {
        for touched in [&mut self.first, &mut self.all] {
            touched.reads.retain(|var| vars.contains(var));
            touched.writes.retain(|var| vars.contains(var));
        }
    }
    fn touches(&self, vars: &OrdSet<VarId>) -> bool {
        let Pending { first, all } = self;
        [&first.reads, &first.writes, &all.reads, &all.writes].into_iter().any(|touched| !touched.is_disjoint(vars))
    }
}

struct Pass<'a> {
    private: &'a OrdSet<VarId>,
    is_buffer: &'a dyn Fn(VarId) -> bool,
}

impl Pass<'_> {
    /// `escaped` collects what was pending at jumps.
    fn block(&self, block: &mut Block, scope: Level, pending: &mut Pending, escaped: &mut Pending) {
        let mut done = Vec::new();
        // Where what comes next is from: said before it, unless it becomes part of what was before.
        let mut place = None;
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Stmt::At(_) = stmt {
                place = Some(stmt);
                continue;
            }
            if let Some((who, touched)) = self.own(&stmt) {
                if pending.conflicts(who, &touched) {
                    done.extend(place.take());
                    done.push(Stmt::Sync(scope));
                    *pending = Pending::default();
                }
                pending.add(who, &touched);
                if matches!(stmt, Stmt::Prim(_)) {
                    // It ends in a barrier of its own.
                    *pending = Pending::default();
                }
            }
            self.inside(&mut stmt, scope, pending, escaped);
            match (done.last_mut(), stmt) {
                (Some(Stmt::Single { group, body }), Stmt::Single { group: same, body: more }) if *group == same => {
                    body.stmts.extend(place.clone());
                    body.stmts.extend(more.stmts);
                }
                (_, stmt) => {
                    done.extend(place.take());
                    done.push(stmt);
                }
            }
        }
        block.stmts = done;
    }

    /// What a statement itself does to memory, and who.
    fn own(&self, stmt: &Stmt) -> Option<(Who, Touched)> {
        match stmt {
            Stmt::Single { body, .. } => Some((Who::First, self.touched(body))),
            Stmt::Loop(Loop { kind: LoopKind::Spread { .. }, body, .. }) | Stmt::Lanes { body, .. } => {
                Some((Who::All, self.touched(body)))
            }
            Stmt::Prim(prim) => Some((Who::All, self.of_prim(prim))),
            Stmt::Let { init: Some(value), .. } | Stmt::Set { value, .. } => match &value.kind {
                ExprKind::Broadcast(_, inner) => {
                    let mut touched = Touched::default();
                    self.loads(inner, &mut touched);
                    Some((Who::First, touched))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn inside(&self, stmt: &mut Stmt, scope: Level, pending: &mut Pending, escaped: &mut Pending) {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                let mut other = pending.clone();
                self.block(then, scope, pending, escaped);
                self.block(otherwise, scope, &mut other, escaped);
                pending.join(&other);
            }
            Stmt::Loop(Loop { kind: LoopKind::Spread { over: Level::Thread, .. }, .. }) => {}
            Stmt::Loop(Loop { kind: LoopKind::Spread { over, .. }, body, .. }) => {
                self.repeated(&mut [body], *over, &mut Pending::default(), true);
            }
            Stmt::Loop(node) => self.repeated(&mut [&mut node.body], scope, pending, true),
            Stmt::Forever { body, step } => self.repeated(&mut [body, step], scope, pending, false),
            Stmt::Scope { body, .. } => {
                let mut left = Pending::default();
                self.block(body, scope, pending, &mut left);
                pending.join(&left);
                escaped.join(&left);
            }
            Stmt::Break | Stmt::Continue | Stmt::Leave(_) => escaped.join(pending),
            _ => {}
        }
    }

    /// Blocks that run again and again: what is pending at their end is so at their start. Iterations of a map, which counted
    /// loops run, share elements of the memory that the group uses again and again, and no others.
    fn repeated(&self, blocks: &mut [&mut Block], scope: Level, pending: &mut Pending, of_map: bool) {
        // Counted loops may have no iteration.
        let before = if of_map { pending.clone() } else { Pending::default() };
        let mut around = pending.clone();
        for block in blocks.iter() {
            self.block(&mut (*block).clone(), scope, &mut around, &mut Pending::default());
        }
        let mut jumps = Pending::default();
        for block in blocks.iter() {
            self.block(&mut (*block).clone(), scope, &mut around.clone(), &mut jumps);
        }
        let mut carried = around.clone();
        carried.join(&jumps);
        if of_map {
            carried.keep(self.private);
        }
        pending.join(&carried);
        let mut left = Pending::default();
        for block in blocks.iter_mut() {
            self.block(block, scope, pending, &mut left);
        }
        pending.join(&left);
        pending.join(&around);
        pending.join(&before);
    }

    /// Everything that a block loads and stores.
    fn touched(&self, block: &Block) -> Touched {
        let mut touched = Touched::default();
        each_stmt(block, &mut |stmt| match stmt {
            Stmt::Store { target, .. } => self.write(target.base, &mut touched),
            Stmt::Move { to, from, .. } => {
                self.write(to.base, &mut touched);
                self.read(from.base, &mut touched);
            }
            Stmt::Atomic { target, .. } => {
                self.read(target.base, &mut touched);
                self.write(target.base, &mut touched);
            }
            Stmt::Prim(prim) => touched.join(&self.of_prim(prim)),
            _ => {}
        });
        each_expr(block, &mut |expr| {
            if let ExprKind::Load(element) = &expr.kind {
                self.read(element.base, &mut touched);
            }
        });
        touched
    }

    /// A primitive may read and write whatever it gets.
    fn of_prim(&self, prim: &Prim) -> Touched {
        let mut touched = Touched::default();
        for arg in &prim.args {
            match arg {
                PrimArg::Address { base, .. } => {
                    self.read(*base, &mut touched);
                    self.write(*base, &mut touched);
                }
                PrimArg::Value(value) => self.loads(value, &mut touched),
                PrimArg::Out(_) => {}
            }
        }
        touched
    }

    fn loads(&self, expr: &Expr, touched: &mut Touched) {
        each_subexpr(expr, &mut |sub| {
            if let ExprKind::Load(element) = &sub.kind {
                self.read(element.base, touched);
            }
        });
    }

    fn read(&self, var: VarId, touched: &mut Touched) {
        if (self.is_buffer)(var) {
            touched.reads.insert(var);
        }
    }

    fn write(&self, var: VarId, touched: &mut Touched) {
        if (self.is_buffer)(var) {
            touched.writes.insert(var);
        }
    }
}
