//! Directives and the levels that they name.

use super::{Expr, Ident, Pin};
use crate::source::Span;

/// One word of a `#pragma hidp` line.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// What it asks for.
    pub kind: DirectiveKind,
    /// The word with its arguments.
    pub span: Span,
}

/// What a directive asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum DirectiveKind {
    /// Only these execution levels for the first level of the nest; each word is one directive.
    Level(Level),
    /// Floating-point folds in iteration order.
    Ordered,
    /// Gives up same-bits: allows `atomic` float `+`.
    Unordered,
    /// Drops bounds checks and makes the wrapper `unsafe`.
    Unchecked,
    /// Forbids contraction to fused multiply-add (before a function).
    NoContract,
    /// `block(256)`: threads in a block.
    BlockSize(Expr),
    /// `unroll(4)`
    Unroll(Expr),
    /// `schedule(i + j)`: rows of the order of cells (before a recurrence).
    Schedule(Vec<Expr>),
    /// What a mapping has.
    Pin(Pin),
    /// `allow(HD0821)`: these warnings are not wanted in the statement or function.
    Allow(Vec<Ident>),
}

/// HiDP's six execution levels (HiDP, §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The whole device.
    Kernel,
    /// A thread block.
    Block,
    /// A warp.
    Warp,
    /// Eight lanes.
    Subwarp,
    /// Four lanes.
    Subwarp2,
    /// One lane.
    Thread,
}

impl Level {
    /// Every level, from the whole device to a single lane.
    pub const ALL: [Level; 6] =
        [Level::Kernel, Level::Block, Level::Warp, Level::Subwarp, Level::Subwarp2, Level::Thread];

    /// Its name in directives, plans and symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Kernel => "kernel",
            Level::Block => "block",
            Level::Warp => "warp",
            Level::Subwarp => "subwarp",
            Level::Subwarp2 => "subwarp2",
            Level::Thread => "thread",
        }
    }
}
