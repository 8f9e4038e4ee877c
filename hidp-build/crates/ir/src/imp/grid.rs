//! Who takes the items of a launch.

use super::{Level, VarId};
use crate::par::FoldFn;

/// How a device runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The level of the groups that take items.
    pub level: Level,
    /// Threads of a block: a positive multiple of 32, at most 1024.
    pub block: u32,
    /// Items that a group takes side by side, along the dimension that varies fastest, where there are enough: more than one only
    /// of threads, in launches without limit.
    pub items: u32,
    /// Blocks that a multiprocessor's registers are to be enough for: more than one only where none is spilled for it.
    pub at_once: u32,
    /// Whether one grid may do the launch and others of blocks of this size, with a barrier over the grid between. Such a kernel has no
    /// copies of arrays.
    pub joined: bool,
}

impl Grid {
    /// Groups that take one item at a time.
    pub const fn new(level: Level, block: u32) -> Grid {
        Grid { level, block, items: 1, at_once: 1, joined: false }
    }
}

/// An array that all blocks of a kernel update by one operator, and touch in no other way. Each block has a copy, if that is not empty: it begins
/// with what changes nothing, takes the block's updates, and goes to the array when the block has no items left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCopy {
    /// The array: a parameter.
    pub all: VarId,
    /// A `long` parameter: as many elements as the array has, or 0 where it is updated itself.
    pub count: VarId,
    /// Built-in, on integers.
    pub op: FoldFn,
    /// Elements that a copy has room for.
    pub most: u32,
}
