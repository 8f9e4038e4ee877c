//! Statements: scopes, targets, control flow, and where each kind may stand.

use super::expr::{is_float, is_integer, traps};
use super::{Checker, Surroundings};
use crate::imp::visit::stmt_exprs;
use crate::imp::{Block, CopiedRow, Element, Expr, ExprKind, Loop, LoopKind, PackedRows, SiteId, Stmt, VarId, VarKind};
use crate::par::FoldFn;
use hidp_syntax::index::Id;
use hidp_syntax::ty::Ty;

impl Checker<'_> {
    pub(super) fn block(&mut self, block: &Block, around: &Surroundings) {
        let before = self.visible.len();
        for (position, stmt) in block.stmts.iter().enumerate() {
            self.at(stmt);
            self.check_follows(stmt, block.stmts.get(position + 1));
            self.stmt(stmt, around);
        }
        self.visible.truncate(before);
    }

    /// Calls that can raise stand in simple statements, with a check right after.
    fn check_follows(&mut self, stmt: &Stmt, next: Option<&Stmt>) {
        let in_values = stmt_exprs(stmt).into_iter().any(|node| traps(self, node));
        let simple = matches!(
            stmt,
            Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Store { .. } | Stmt::Atomic { .. } | Stmt::Prim(_)
        );
        self.require(
            !in_values || simple,
            "no scalar function that can raise is called in a condition, bound or argument",
        );
        let raises = in_values || self.passes_raising_function(stmt) || matches!(stmt, Stmt::Run { .. });
        self.require(!raises || next == Some(&Stmt::CheckTrap), "a call that can raise is followed by check_trap");
    }

    fn stmt(&mut self, stmt: &Stmt, around: &Surroundings) {
        if around.in_simd {
            self.in_simd(stmt);
        }
        if around.lanes.is_some() {
            self.in_lanes(stmt);
        }
        self.at_scope(stmt, around);
        match stmt {
            Stmt::At(_) => {}
            Stmt::Let { var, init } => self.declare(*var, init.as_ref(), around),
            Stmt::Set { var, path, value } => self.set(*var, path, value),
            Stmt::Store { target, value } => {
                let ty = self.element(target);
                self.typed(value, ty);
                self.writable(target);
            }
            Stmt::Atomic { target, op, value } => self.atomic(target, *op, value),
            Stmt::If { cond, then, otherwise } => {
                self.typed(cond, Ty::BOOL);
                self.block(then, around);
                self.block(otherwise, around);
            }
            Stmt::Loop(node) => self.counted(node, around),
            Stmt::Forever { body, step } => {
                let inside = Surroundings { in_loop: true, ..around.clone() };
                self.block(body, &inside);
                self.block(step, &Surroundings { in_loop: false, ..around.clone() });
            }
            Stmt::Break | Stmt::Continue => self.require(around.in_loop, "`break` and `continue` stand in a loop"),
            Stmt::Scope { label, body } => self.scope(*label, body, around),
            Stmt::Leave(Some(label)) => self.require(around.labels.contains(label), "`leave` names an enclosing scope"),
            Stmt::Leave(None) | Stmt::CheckTrap => {}
            Stmt::Fault { site, values } => self.fault(*site, values),
            Stmt::Alloc { var, count, site, .. } => {
                self.require(self.is_host(), "`alloc` stands in host functions only");
                self.storage(*var, count, *site);
            }
            Stmt::Scratch { var, count, site, .. } => {
                self.require(!self.is_host() && !self.on_device(), "`scratch` stands in kernels of CPU units only");
                self.storage(*var, count, *site);
            }
            Stmt::Part { var, of, first } => {
                self.require(!self.is_host() && !self.on_device(), "`part` stands in kernels of CPU units only");
                self.typed(first, Ty::LONG);
                self.buffer(*of);
                self.introduce(*var);
                self.require(self.kind(*var) == self.kind(*of), "a part of a buffer is of its kind");
            }
            Stmt::Either { var, cond, then, otherwise } => {
                self.require(!self.is_host() && !self.on_device(), "`either` stands in kernels of CPU units only");
                self.typed(cond, Ty::BOOL);
                self.buffer(*then);
                self.buffer(*otherwise);
                self.introduce(*var);
                let wanted = VarKind::Buffer { elem: self.kind(*then).element(), writable: false };
                let fits = self.kind(*var) == wanted && self.kind(*otherwise).element() == wanted.element();
                self.require(fits, "one of two buffers has their elements and is read only");
            }
            Stmt::Prefetch { of, index } => {
                self.require(!self.is_host() && !self.on_device(), "`prefetch` stands in kernels of CPU units only");
                self.typed(index, Ty::LONG);
                self.buffer(*of);
            }
            Stmt::Free(var) => {
                self.require(self.is_host(), "`free` stands in host functions only");
                self.buffer(*var);
            }
            Stmt::Swap(a, b) => {
                self.require(self.is_host(), "`swap` stands in host functions only");
                self.buffer(*a);
                self.buffer(*b);
                self.require(self.kind(*a) == self.kind(*b), "exchanged buffers are of one kind");
            }
            Stmt::Run { kernel, args, begin, end } => self.run(*kernel, args, [begin, end]),
            Stmt::Launch { kernel, args, extent, schedule } => self.launch(*kernel, args, extent, schedule),
            Stmt::LaunchGrid { kernel, args, extents, most } => {
                self.launch_grid(*kernel, args, extents, most.as_ref());
            }
            Stmt::Single { group, body } => self.single(*group, body, around),
            Stmt::Sync(group) => self.collective(*group, around, "`sync`"),
            Stmt::Lanes { group, lane, body } => self.lanes(*group, *lane, body, around),
            Stmt::Shuffle(shuffle) => self.shuffle(shuffle, around),
            Stmt::Move { to, from, count } => self.moved(to, from, *count),
            Stmt::StreamOut { target, tile, count } => self.stream(target, *tile, count),
            Stmt::Prim(prim) => self.prim(prim),
            Stmt::Group(group) => self.group_of_lanes(group, around),
            Stmt::InTurn(turn) => self.in_turn(turn, around),
            Stmt::Wide(stmt) => self.wide_stmt(stmt, around),
        }
    }

    fn declare(&mut self, var: VarId, init: Option<&Expr>, around: &Surroundings) {
        match (self.kind(var), init) {
            (VarKind::Value(ty), Some(init)) => self.typed(init, ty),
            (VarKind::Value(_), None) | (VarKind::Tile { .. }, None) => {}
            (VarKind::Divisor(by), Some(init)) => {
                self.typed(init, by.into());
                self.require(by.is_integer() && by.size() >= 4, "a divisor is an integer of 32 or 64 bits");
                self.of_processors();
            }
            (VarKind::Divisor(_), None) => self.fail("a divisor has its value from the beginning"),
            (VarKind::Shared { .. } | VarKind::Registers { .. }, None) => self.of_group(var, around),
            (VarKind::Tile { .. } | VarKind::Shared { .. } | VarKind::Registers { .. }, Some(_)) => {
                self.fail("a tile, shared array or registers have no initial value");
            }
            (VarKind::Buffer { .. } | VarKind::HostCell { .. }, _) => {
                self.fail("buffers are introduced by `alloc` and `scratch`")
            }
            (VarKind::Wide { .. } | VarKind::WideTile { .. }, _) => {
                self.fail("what differs from lane to lane is introduced by a statement about wide values");
            }
        }
        self.introduce(var);
    }

    fn set(&mut self, var: VarId, path: &[u32], value: &Expr) {
        self.use_var(var);
        self.require(!self.read_only.contains(&var), "a loop's variable is read only");
        match self.kind(var) {
            VarKind::Value(ty) => {
                let ty = self.path(ty, path);
                self.typed(value, ty);
            }
            VarKind::Buffer { .. }
            | VarKind::HostCell { .. }
            | VarKind::Tile { .. }
            | VarKind::Shared { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { .. } => self.fail("only values are set"),
        }
    }

    pub(super) fn writable(&mut self, target: &Element) {
        let is_read_only = matches!(
            self.kind(target.base),
            VarKind::Buffer { writable: false, .. } | VarKind::HostCell { writable: false, .. }
        );
        self.require(!is_read_only, "a read-only buffer is not written");
    }

    fn atomic(&mut self, target: &Element, op: FoldFn, value: &Expr) {
        let ty = self.element(target);
        self.typed(value, ty);
        self.writable(target);
        let is_shared =
            matches!(self.kind(target.base), VarKind::Buffer { .. } | VarKind::Shared { declared: true, .. });
        let wide = ty.scalar().is_some_and(|scalar| scalar.size() >= 4);
        let fits = match op {
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max => is_float(ty) || is_integer(ty),
            FoldFn::And | FoldFn::Or | FoldFn::Xor => is_integer(ty),
            FoldFn::Fn(_) => false,
        };
        self.require(
            is_shared && wide && fits,
            "atomic updates are built-in ones of 32- and 64-bit elements of buffers and of shared arrays of the program",
        );
    }

    fn counted(&mut self, node: &Loop, around: &Surroundings) {
        for bound in [&node.lo, &node.hi, &node.step] {
            self.counting(bound);
        }
        let positive = !matches!(node.step.kind, ExprKind::Int(step) if step <= 0);
        self.require(positive, "a loop's step is positive");
        let before = self.visible.len();
        let of_bounds =
            [&node.lo, &node.hi, &node.step].iter().all(|bound| self.kind(node.var) == VarKind::Value(bound.ty));
        self.require(of_bounds, "a loop's variable is a `long` value");
        self.introduce(node.var);
        self.read_only.insert(node.var);
        match &node.kind {
            LoopKind::Simd { reductions } => {
                self.require(!around.in_simd, "simd loops do not nest");
                self.require(!self.on_device(), "simd loops are in CPU units only");
                self.simd(node, reductions);
                let inside = Surroundings { in_loop: false, labels: Vec::new(), in_simd: true, ..around.clone() };
                self.block(&node.body, &inside);
            }
            LoopKind::Spread { group, over, reductions, .. } => {
                self.spread(node, *group, *over, reductions, around);
            }
            LoopKind::Across => {
                self.require(
                    !around.in_simd && !self.on_device(),
                    "rows go across an array in CPU units, and not in lanes",
                );
                self.require(node.step.kind == ExprKind::Int(1), "rows go across an array one after the other");
                let copies = CopiedRow::of(&node.body).is_some_and(|row| row.inner.kind == LoopKind::Seq);
                self.require(copies, "an iteration that goes across an array copies a row");
                self.block(&node.body, &Surroundings { in_loop: false, labels: Vec::new(), ..around.clone() });
            }
            LoopKind::Pack => {
                self.require(PackedRows::of(node).is_some(), "a loop that packs copies columns of rows");
                self.block(&node.body, &Surroundings { in_loop: false, labels: Vec::new(), ..around.clone() });
            }
            LoopKind::Seq | LoopKind::Unroll(_) => {
                self.block(&node.body, &Surroundings { in_loop: true, ..around.clone() });
            }
        }
        self.visible.truncate(before);
    }

    fn scope(&mut self, label: u32, body: &Block, around: &Surroundings) {
        let mut inside = around.clone();
        inside.labels.push(self.new_label(label));
        self.block(body, &inside);
    }

    pub(super) fn new_label(&mut self, label: u32) -> u32 {
        let is_new = self.labels.insert(label);
        self.require(is_new, "labels of a function differ");
        label
    }

    fn site(&mut self, site: SiteId) {
        self.require(site.index() < self.entry.sites.len(), "a site is one of the entry");
    }

    fn fault(&mut self, site: SiteId, values: &[Expr]) {
        self.site(site);
        let names = self.entry.sites.get(site).map_or(0, |site| site.names.len());
        self.require(values.len() <= 4 && values.len() == names, "a fault has a value for each name, at most four");
        values.iter().for_each(|value| self.typed(value, Ty::LONG));
    }

    fn storage(&mut self, var: VarId, count: &Expr, site: SiteId) {
        self.typed(count, Ty::LONG);
        self.site(site);
        self.introduce(var);
        let fits = match self.kind(var) {
            VarKind::Buffer { writable, .. } => writable,
            VarKind::WideTile { len, .. } => len.is_none() && !self.is_host(),
            VarKind::Value(_)
            | VarKind::HostCell { .. }
            | VarKind::Tile { .. }
            | VarKind::Shared { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. } => false,
        };
        self.require(
            fits,
            "storage is introduced as a writable buffer, or in kernels as an array of lanes without a length",
        );
    }

    fn buffer(&mut self, var: VarId) {
        self.use_var(var);
        let is_buffer = matches!(self.kind(var), VarKind::Buffer { .. });
        self.require(is_buffer, "this takes a buffer");
    }

    fn stream(&mut self, target: &Element, tile: VarId, count: &Expr) {
        self.require(!self.is_host() && !self.on_device(), "`stream` stands in kernels of CPU units only");
        let ty = self.element(target);
        self.writable(target);
        self.typed(count, Ty::LONG);
        self.use_var(tile);
        let fits = matches!(self.kind(tile), VarKind::Tile { elem, .. } if elem == ty) && target.path.is_empty();
        self.require(fits, "a tile is streamed to elements of its type");
    }
}
