//! Numbers of what the lanes of a kernel do together, in the order of its text: accesses, and calls that make some. Where the executor of
//! device code counts requests it tells places apart by them, and so does the model of what kernels ask of memory.

use hidp_syntax::ordered::OrdMap;

use super::visit::{child_blocks, operands, stmt_exprs};
use super::{Block, Element, Expr, ExprKind, Function, LoopKind, Prim, Reduction, Shuffle, Stmt};

/// The numbers of a kernel: from 1 on, a node's after those of what is evaluated before it.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// By the address of the node, which stays where it is as long as the kernel does.
    nodes: OrdMap<usize, u32>,
    /// Of bodies of loops: the numbers before and after what is inside.
    bodies: OrdMap<usize, (u32, u32)>,
    last: u32,
}

/// Where a node lies: never two at one address, since all that are numbered have memory of their own.
fn address<T>(node: &T) -> usize {
    std::ptr::from_ref(node).addr()
}

impl Numbers {
    /// Numbers a kernel.
    pub fn of(kernel: &Function) -> Self {
        let mut numbers = Self::default();
        numbers.block(&kernel.body);
        numbers
    }
    /// Of the access to an element of this very kernel.
    pub fn access(&self, element: &Element) -> Option<u32> {
        self.nodes.get(&address(&*element.index)).copied()
    }
    /// Of the broadcast of this value.
    pub fn broadcast(&self, value: &Expr) -> Option<u32> {
        self.nodes.get(&address(value)).copied()
    }
    /// Of the call of a primitive.
    pub fn prim(&self, prim: &Prim) -> Option<u32> {
        self.nodes.get(&address(prim)).copied()
    }
    /// Of values that go from lane to lane.
    pub fn shuffle(&self, shuffle: &Shuffle) -> Option<u32> {
        self.nodes.get(&address(shuffle)).copied()
    }
    /// Of putting together what lanes found.
    pub fn reduction(&self, reduction: &Reduction) -> Option<u32> {
        self.nodes.get(&address(reduction)).copied()
    }
    /// Of a loop's body: numbers before and after all of what is inside.
    pub fn body(&self, body: &Block) -> Option<(u32, u32)> {
        self.bodies.get(&address(body)).copied()
    }

    fn next(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn node<T>(&mut self, node: &T) {
        let number = self.next();
        self.nodes.insert(address(node), number);
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        stmt_exprs(stmt).into_iter().for_each(|expr| self.expr(expr));
        match stmt {
            Stmt::Store { target, .. } | Stmt::Atomic { target, .. } => self.node(&*target.index),
            Stmt::Move { to, from, count: _ } => {
                self.node(&*from.index);
                self.node(&*to.index);
            }
            Stmt::Loop(node) => {
                self.iterated(&node.body, None);
                if let LoopKind::Spread { reductions, .. } = &node.kind {
                    reductions.iter().for_each(|reduction| self.node(reduction));
                }
            }
            Stmt::Forever { body, step } => self.iterated(body, Some(step)),
            Stmt::Prim(prim) => self.node(prim),
            Stmt::Shuffle(shuffle) => self.node(&**shuffle),
            Stmt::At(_)
            | Stmt::Let { .. }
            | Stmt::Set { .. }
            | Stmt::If { .. }
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Scope { .. }
            | Stmt::Leave(_)
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
            | Stmt::StreamOut { .. }
            | Stmt::Group(_)
            | Stmt::InTurn(_)
            | Stmt::Wide(_) => child_blocks(stmt).into_iter().for_each(|block| self.block(block)),
        }
    }

    fn iterated(&mut self, body: &Block, step: Option<&Block>) {
        let begin = self.next();
        self.block(body);
        step.into_iter().for_each(|step| self.block(step));
        let end = self.next();
        self.bodies.insert(address(body), (begin, end));
    }

    fn expr(&mut self, expr: &Expr) {
        operands(expr).into_iter().for_each(|operand| self.expr(operand));
        match &expr.kind {
            ExprKind::Load(element) => self.node(&*element.index),
            ExprKind::Broadcast(_, value) => self.node(&**value),
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Gather(..)
            | ExprKind::Lazy(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Any(_)
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters => {}
        }
    }
}
