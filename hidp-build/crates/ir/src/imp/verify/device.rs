//! Kernels of devices: which lanes run a statement together, and what that allows it to do.

use super::{Checker, Surroundings, holds};
use crate::imp::visit::{accessed, each_expr, each_stmt, each_subexpr, operands, stmt_exprs};
use crate::imp::{
    Block, BlockCopy, Element, Expr, ExprKind, FoldFn, Grid, Level, Loop, LoopKind, Reduction, Share, Stmt, VarId,
    VarKind,
};
use crate::par::MathFn;
use hidp_syntax::ty::{Scalar, Ty};

/// Threads of a warp.
const WARP: u32 = 32;
/// Items of a thread at most.
const MOST_ITEMS: u32 = 8;
/// Threads of the largest block.
const MOST_THREADS: u32 = 1024;

/// Who runs a statement together.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// The level of the group.
    pub(super) level: Level,
    /// Only its first lane is here.
    pub(super) single: bool,
    /// How many of the visible variables live outside of the innermost `Spread` or `Single`.
    pub(super) outside: usize,
    /// Those of them that are its reductions.
    pub(super) reductions: Vec<VarId>,
    /// In the body of `Lanes`.
    pub(super) lanes: bool,
    /// A lane is alone, and it is known which one: registers are its own.
    pub(super) own: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self { level: Level::Thread, single: false, outside: 0, reductions: Vec::new(), lanes: false, own: false }
    }
}

impl Scope {
    /// Whether several lanes run it on the same values.
    fn is_shared(&self) -> bool {
        self.level != Level::Thread && !self.single
    }
}

impl Checker<'_> {
    pub(super) fn grid(&mut self, grid: Grid) {
        let fits = grid.block > 0 && grid.block.is_multiple_of(WARP) && grid.block <= MOST_THREADS;
        self.require(fits, "a block has a positive multiple of 32 threads, at most 1024");
        self.require(grid.level != Level::Kernel, "groups of a grid are parts of it");
        let alone = grid.items == 1 || (grid.level == Level::Thread && (2..=MOST_ITEMS).contains(&grid.items));
        self.require(alone, "threads alone take several items side by side, at most 8");
    }

    /// What blocks have copies of is an array of integers that one operator updates and nothing else touches.
    pub(super) fn block_copy(&mut self, BlockCopy { all, count, op, most }: BlockCopy) {
        let are_params = [all, count].iter().all(|var| self.function.params.contains(var));
        let integers = match self.kind(all) {
            VarKind::Buffer { elem, writable: true } => elem.scalar().is_some_and(Scalar::is_integer),
            _ => false,
        };
        let counts = self.kind(count) == VarKind::Value(Ty::LONG);
        self.require(
            are_params && integers && counts && most > 0,
            "blocks have copies of arrays of integers that they get",
        );
        let mut others = 0;
        each_stmt(&self.function.body, &mut |stmt| {
            let updates = matches!(stmt, Stmt::Atomic { op: own, .. } if *own == op);
            others += usize::from(accessed(stmt).contains(&all) && !updates);
        });
        each_expr(&self.function.body, &mut |expr| {
            others += usize::from(matches!(&expr.kind, ExprKind::Load(element) if element.base == all));
        });
        self.require(others == 0, "what blocks have copies of is updated by one operator, and else not touched");
    }

    /// What a statement may do where it stands; `around` says who runs it.
    pub(super) fn at_scope(&mut self, stmt: &Stmt, around: &Surroundings) {
        self.broadcasts(stmt, around);
        let Some(scope) = &around.scope else { return };
        if scope.is_shared() {
            let loads = stmt_exprs(stmt).into_iter().any(|node| self.loads_written(node));
            self.require(!loads, "what all lanes of a group load is not written, or broadcast");
        }
        let jumps = matches!(stmt, Stmt::Fault { .. } | Stmt::CheckTrap | Stmt::Leave(None));
        self.require(!((scope.single || scope.lanes) && jumps), "nothing faults in `single` or `lanes`");
        self.registers(stmt, scope);
        match stmt {
            Stmt::Set { var, .. } => self.set_inside(*var, scope),
            Stmt::Store { target, .. } | Stmt::Atomic { target, .. } | Stmt::Move { to: target, .. } => {
                self.written_inside(target, scope);
            }
            Stmt::Prim(_) => self.require(!scope.single, "all lanes of a group call a primitive"),
            Stmt::Leave(None) => self.require(scope.outside == 0, "no jump leaves a `spread`"),
            Stmt::At(_)
            | Stmt::Let { .. }
            | Stmt::If { .. }
            | Stmt::Loop(_)
            | Stmt::Forever { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Scope { .. }
            | Stmt::Leave(Some(_))
            | Stmt::Fault { .. }
            | Stmt::CheckTrap
            | Stmt::Alloc { .. }
            | Stmt::Free(_)
            | Stmt::Scratch { .. }
            | Stmt::Part { .. }
            | Stmt::Either { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Swap(..)
            | Stmt::Run { .. }
            | Stmt::Launch { .. }
            | Stmt::LaunchGrid { .. }
            | Stmt::Single { .. }
            | Stmt::Sync(_)
            | Stmt::Lanes { .. }
            | Stmt::Shuffle(_)
            | Stmt::StreamOut { .. }
            | Stmt::Group(_)
            | Stmt::InTurn(_)
            | Stmt::Wide(_) => {}
        }
    }

    /// A broadcast is a whole value, of the group whose scope this is.
    fn broadcasts(&mut self, stmt: &Stmt, around: &Surroundings) {
        let whole = match stmt {
            Stmt::Let { init: Some(value), .. } | Stmt::Set { value, .. } => match &value.kind {
                ExprKind::Broadcast(group, inner) => Some((*group, &**inner)),
                _ => None,
            },
            _ => None,
        };
        if let Some((group, inner)) = whole {
            self.collective(group, around, "`broadcast`");
            self.require(!mentions_broadcast(inner), "a broadcast is the whole value of a variable");
            return;
        }
        let inside = stmt_exprs(stmt).into_iter().any(mentions_broadcast);
        self.require(!inside, "a broadcast is the whole value of a variable");
    }

    /// Whether an expression loads from a buffer that this kernel writes, other than by a broadcast.
    fn loads_written(&self, node: &Expr) -> bool {
        let here = match &node.kind {
            ExprKind::Broadcast(..) => return false,
            ExprKind::Load(element) => {
                matches!(self.kind(element.base), VarKind::Buffer { writable: true, .. } | VarKind::Shared { .. })
            }
            _ => false,
        };
        here || operands(node).into_iter().any(|operand| self.loads_written(operand))
    }

    /// Whether a variable lives outside of the innermost `spread` or `single`.
    fn is_outside(&self, var: VarId, scope: &Scope) -> bool {
        self.visible.iter().take(scope.outside).any(|known| *known == var)
    }

    fn set_inside(&mut self, var: VarId, scope: &Scope) {
        let fits = !self.is_outside(var, scope) || scope.reductions.contains(&var);
        self.require(fits, "a value that outlives a `spread` or `single` is one of its reductions");
    }

    fn written_inside(&mut self, target: &Element, scope: &Scope) {
        match self.kind(target.base) {
            VarKind::Tile { .. } => {
                let inside = !self.is_outside(target.base, scope);
                self.require(inside, "a tile is written where it lives, not in a `spread` or `single` inside");
            }
            VarKind::Buffer { .. } | VarKind::Shared { .. } => {
                self.require(
                    !scope.is_shared(),
                    "a buffer is written by one lane: in `single`, or in a thread's scope",
                );
            }
            VarKind::Value(_)
            | VarKind::HostCell { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { .. } => {}
        }
    }

    /// Something that all lanes of a group come to together.
    pub(super) fn collective(&mut self, group: Level, around: &Surroundings, what: &str) {
        match &around.scope {
            Some(scope) => {
                let fits = scope.level == group && !scope.single;
                self.require(fits, &format!("{what} names the level of its scope and is not in `single`"));
            }
            None => self.fail(format!("{what} stands in kernels of device units only")),
        }
    }

    pub(super) fn single(&mut self, group: Level, body: &Block, around: &Surroundings) {
        self.collective(group, around, "`single`");
        let collective = |stmt: &Stmt| {
            matches!(
                stmt,
                Stmt::Forever { .. } | Stmt::Scope { .. } | Stmt::Alloc { .. } | Stmt::Swap(..) | Stmt::Lanes { .. }
            )
        };
        self.require(!holds(body, collective), "`single` holds values, stores, branches and counted loops");
        let scope = around.scope.as_ref().map(|scope| Scope {
            level: scope.level,
            single: true,
            outside: self.visible.len(),
            reductions: Vec::new(),
            lanes: false,
            own: false,
        });
        self.block(body, &Surroundings { scope, in_loop: false, labels: Vec::new(), in_simd: false, lanes: None });
    }

    pub(super) fn spread(
        &mut self,
        node: &Loop,
        group: Level,
        over: Level,
        reductions: &[Reduction],
        around: &Surroundings,
    ) {
        self.collective(group, around, "`spread`");
        self.require(over > group && over != Level::Kernel, "a `spread` goes to a lower level");
        for reduction in reductions {
            self.reduction(reduction, around);
        }
        let vars = reductions.iter().flat_map(|reduction| [Some(reduction.var), reduction.seen]).flatten();
        let scope = around.scope.as_ref().map(|_| Scope {
            level: over,
            single: false,
            // The loop's own variable is the last one.
            outside: self.visible.len().saturating_sub(1),
            reductions: vars.collect(),
            lanes: false,
            own: one_each(node, group, over),
        });
        self.block(
            &node.body,
            &Surroundings { scope, in_loop: false, labels: Vec::new(), in_simd: false, lanes: None },
        );
    }

    fn reduction(&mut self, reduction: &Reduction, around: &Surroundings) {
        self.use_var(reduction.var);
        let fits = self.kind(reduction.var) == VarKind::Value(reduction.ty);
        self.require(fits, "a reduction folds a value of its type");
        if let FoldFn::Fn(function) = reduction.op {
            self.sites_of_function(function);
        }
        if let Some(seen) = reduction.seen {
            self.use_var(seen);
            self.require(self.kind(seen) == VarKind::Value(Ty::BOOL), "whether there is a value is a `bool`");
        }
        if let Some(scope) = &around.scope {
            self.set_inside(reduction.var, scope);
            reduction.seen.into_iter().for_each(|seen| self.set_inside(seen, scope));
        }
    }
}

/// Lanes of a group that can exchange values.
pub(super) const fn lanes_of(group: Level) -> Option<i128> {
    match group {
        Level::Kernel | Level::Block => None,
        Level::Warp => Some(WARP as i128),
        Level::Subwarp => Some(8),
        Level::Subwarp2 => Some(4),
        Level::Thread => Some(1),
    }
}

/// Whether iteration 0 of a shared loop is lane 0's, and so on, and each lane has one at most.
fn one_each(node: &Loop, group: Level, over: Level) -> bool {
    let Some(lanes) = lanes_of(group) else { return false };
    let cyclic = matches!(node.kind, LoopKind::Spread { share: Share::Cyclic, .. });
    let by_one = node.lo.kind == ExprKind::Int(0) && node.step.kind == ExprKind::Int(1);
    over == Level::Thread && cyclic && by_one && is_at_most(&node.hi, lanes)
}

fn is_at_most(value: &Expr, most: i128) -> bool {
    match &value.kind {
        ExprKind::Int(value) => *value <= most,
        ExprKind::Math(MathFn::Min, operands) => operands.iter().any(|operand| is_at_most(operand, most)),
        _ => false,
    }
}

fn mentions_broadcast(node: &Expr) -> bool {
    let mut found = false;
    each_subexpr(node, &mut |sub| found |= matches!(sub.kind, ExprKind::Broadcast(..)));
    found
}
