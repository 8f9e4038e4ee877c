//! Expressions: scalars, and structs of them.

use super::{Grid, Lanes, NearFn, VarId};
use crate::par::{BinOp, MathFn, ScalarFnId, UnOp};
use hidp_syntax::ast::Level;
use hidp_syntax::ty::{StructId, Ty};

/// An element of a buffer or tile, or a field of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Buffer or tile.
    pub base: VarId,
    /// Linear index, `long`.
    pub index: Box<Expr>,
    /// Field positions.
    pub path: Vec<u32>,
    /// Relaxed atomic rather than plain.
    pub relaxed: bool,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Type of the value; for buffers their element type.
    pub ty: Ty,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Integer constant of the expression's type.
    Int(i128),
    /// Floating constant.
    Float(f64),
    /// `bool`
    Bool(bool),
    /// A value, or (in launch arguments) a buffer.
    Var(VarId),
    /// Load.
    Load(Element),
    /// CPU units, for loops in lanes: such a load of an integer of 8 or 16 bits, from a buffer that nothing writes and that has so many
    /// elements, `long`: 4 bytes or more, and fewer elements than 2^31.
    Gather(Box<Expr>, Box<Expr>),
    /// Prefix.
    Unary(UnOp, Box<Expr>),
    /// Infix; integers wrap.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `a * b + c`, fused where the machine does that in one instruction.
    MulAdd(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Device: `|a - b| + c` of `int`s, where the difference does not wrap; the sum does.
    AbsDiffAdd(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `&&` (true) or `||`.
    Lazy(bool, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Rust's `as`.
    Cast(Box<Expr>),
    /// Maths.
    Math(MathFn, Vec<Expr>),
    /// Maths of an angle that is likely to be small.
    Near(NearFn, Box<Expr>),
    /// Scalar function.
    Call(ScalarFnId, Vec<Expr>),
    /// Field of a struct value.
    Field(Box<Expr>, u32),
    /// Struct value.
    Struct(StructId, Vec<Expr>),
    /// Kernel: number of this worker's part (static schedule) or thread (dynamic), below the worker count, `long`. On a device:
    /// number of this group among those that run at a time.
    WorkerIndex,
    /// Host: how many workers a launch may use at most, `long`.
    WorkerCount,
    /// Host of a device unit: how many groups of such a grid the device runs at a time at most, `long`, positive.
    GroupCount(Grid),
    /// Device: whether a buffer's first element is at a multiple of so many bytes, `bool`.
    IsAligned(VarId, u32),
    /// Device: the first lane of the group evaluates it, and all get that value.
    Broadcast(Level, Box<Expr>),
    /// Whether a mask has any lane, `bool`.
    Any(VarId),
    /// The least of a wide `long` value in the lanes of a mask, `long`; the least `long` of none.
    Least {
        /// The value.
        of: VarId,
        /// The lanes.
        mask: VarId,
    },
    /// How many lanes a group has, `long`.
    LaneCount(Lanes),
    /// How many vector registers the instruction set has, `long`.
    VectorRegisters,
}
